// Entry functions of the worker queue and of dead letters: decode, call the operation, encode.
#include "ops/worker_queue/worker_queue.hpp"

#include "entry/verbs.hpp"
#include "entry/work_arguments.hpp"
#include "ops/input.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxBatch = 10000;
constexpr int32 kMaxPage = 1000;

Datum answer_one(const Call& call, const store::LeasedRows& leased) {
    if (leased.count == 0) {
        return call.no_row();
    }
    const LeasedColumns columns = leased_columns(call, leased.rows[0]);
    return call.one_row(columns.values, columns.nulls);
}

std::optional<ops::Completion> completion(const Call& call, int instance_id, int completion_json) {
    const auto text = call.text(completion_json);
    if (!text) {
        return std::nullopt;
    }
    return ops::checked_completion("p_completion_json", *text, "p_instance_id",
                                   call.text(instance_id));
}

Datum optional_datum(std::optional<std::string_view> text) {
    return text ? pg::text_datum(*text) : 0;
}

int64 required_id(const Call& call) {
    const auto id = call.int8(0);
    if (!id) {
        pg::raise_invalid("null", "p_id", "p_id must not be null",
                          "Pass the id of a dead letter; list_dead_letters shows them.");
    }
    return *id;
}

}  // namespace

Datum enqueue_worker_work(const Call& call) {
    const auto activity = ops::checked_activity(call.required_text(0, "p_work_item"),
                                                {.instance_id = call.text(1),
                                                 .execution_id = call.int8(2),
                                                 .activity_id = call.int8(3),
                                                 .session_id = call.text(4),
                                                 .tag = call.text(5)},
                                                "p_work_item", "p_");
    auto clock = call.clock(6);
    ops::enqueue_worker_work(call.tables, activity, &clock);
    return call.nothing();
}

Datum enqueue_worker_items(const Call& call) {
    return Int64GetDatum(ops::enqueue_worker_items(
        call.tables, ops::checked_array("p_items", call.jsonb(0), kMaxBatch), call.int8(1)));
}

Datum fetch_work_item(const Call& call) {
    const auto request = fetch_request(call, 0, 1, 5);
    auto clock = call.clock(6);
    pg::begin_lease_write();
    const auto leased = ops::fetch_work_items(call.tables, request, &clock);
    pg::end_lease_write();
    return answer_one(call, leased);
}

Datum fetch_work_items(const Call& call) {
    auto request = fetch_request(call, 0, 1, 7);
    request.max_items = ops::checked_limit("p_max_items", call.int4(5), 1, kMaxFetch);
    request.max_new_sessions = checked_new_sessions(call.int4(6));
    auto clock = call.clock(8);
    pg::begin_lease_write();
    const auto leased = ops::fetch_work_items(call.tables, request, &clock);
    pg::end_lease_write();
    const auto set = call.set();
    for (int i = 0; i < leased.count; ++i) {
        const LeasedColumns columns = leased_columns(call, leased.rows[i]);
        set.add(columns.values, columns.nulls);
    }
    return call.nothing();
}

Datum ack_worker(const Call& call) {
    const auto done = completion(call, 1, 2);
    auto clock = call.clock(3);
    ops::ack_worker(call.tables, call.text(0), done, &clock);
    return call.nothing();
}

Datum ack_workers(const Call& call) {
    const auto results = ops::ack_workers(
        call.tables, ops::checked_array("p_acks", call.jsonb(0), kMaxBatch), call.int8(1));
    const auto set = call.set();
    int32 index = 0;
    for (const auto& result : results) {
        const bool acked = result.fault == core::LeaseFault::kNone;
        const Datum values[] = {Int32GetDatum(index++), optional_datum(result.token),
                                BoolGetDatum(acked), CStringGetTextDatum("QB001")};
        const bool nulls[] = {false, !result.token, false, acked};
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum ack_and_fetch_work_item(const Call& call) {
    const auto done = completion(call, 1, 2);
    const auto request = fetch_request(call, 3, 4, 8);
    auto clock = call.clock(9);
    ops::ack_worker(call.tables, call.text(0), done, &clock);
    return answer_one(call, ops::fetch_work_items(call.tables, request, &clock));
}

namespace {

Datum renew_lease(const Call& call, const ops::Extension& extension) {
    auto clock = call.clock(2);
    pg::begin_lease_write();
    ops::renew_work_item_lock(call.tables, call.text(0), extension, &clock);
    pg::end_lease_write();
    return call.nothing();
}

}  // namespace

Datum renew_work_item_lock(const Call& call) {
    return renew_lease(call, ops::extension_ms(call.int8(1)));
}

Datum renew_work_item_lock_secs(const Call& call) {
    return renew_lease(call, ops::extension_secs(call.int8(1)));
}

Datum renew_work_item_locks(const Call& call) {
    const int64 extend = ops::checked_timeout("p_extend_ms", call.int8(1));
    const auto tokens = call.texts(0, "p_lock_tokens");
    auto clock = call.clock(2);
    pg::begin_lease_write();
    const auto results = ops::renew_work_item_locks(call.tables, tokens, extend, &clock);
    pg::end_lease_write();
    const auto set = call.set();
    int32 index = 0;
    for (const auto& result : results) {
        const Datum values[] = {Int32GetDatum(index++), optional_datum(result.token),
                                BoolGetDatum(result.renewed), Int64GetDatum(result.locked_until),
                                CStringGetTextDatum("QB001")};
        const bool nulls[] = {false, !result.token, false, !result.renewed, result.renewed};
        set.add(values, nulls);
    }
    return call.nothing();
}

namespace {

Datum abandon(const Call& call, std::optional<std::string_view> reason, pg::Clock clock) {
    const auto delay = ops::checked_delay("p_delay_ms", call.int8(1));
    ops::abandon_work_item(call.tables, call.text(0), delay, call.boolean(2).value_or(false),
                           reason, &clock);
    return call.nothing();
}

}  // namespace

Datum abandon_work_item(const Call& call) {
    return abandon(call, call.text(3), call.clock(4));
}

Datum abandon_work_item_without_reason(const Call& call) {
    return abandon(call, std::nullopt, call.clock(3));
}

Datum renew_session_lock(const Call& call) {
    const int64 extend = ops::checked_timeout("p_extend_ms", call.int8(1));
    const auto idle = ops::checked_delay("p_idle_timeout_ms", call.int8(2));
    if (!idle) {
        pg::raise_invalid("null", "p_idle_timeout_ms", "p_idle_timeout_ms must not be null",
                          "Pass a number of milliseconds.");
    }
    auto clock = call.clock(3);
    return Int64GetDatum(
        ops::renew_session_lock(call.tables, call.texts(0, "p_owner_ids"), extend, *idle, &clock));
}

Datum cleanup_orphaned_sessions(const Call& call) {
    auto clock = call.clock(0);
    return Int64GetDatum(ops::cleanup_orphaned_sessions(call.tables, &clock));
}

Datum cancel_activities(const Call& call) {
    const auto activities = ops::checked_array("p_cancelled_activities", call.jsonb(0), kMaxBatch);
    return Int64GetDatum(
        ops::cancel_activities_as_operator(call.tables, ops::checked_identities(activities)));
}

Datum list_work_items(const Call& call) {
    const auto filter = ops::checked_object("p_filter", call.jsonb(0));
    const int limit = ops::checked_limit("p_limit", call.int4(2), 100, kMaxPage);
    call.set().add_rows(
        ops::list_work_items(call.tables, filter, call.text(1), limit, call.int8(3)));
    return call.nothing();
}

Datum list_dead_letters(const Call& call) {
    const int limit = ops::checked_limit("p_limit", call.int4(4), 100, kMaxPage);
    call.set().add_rows(ops::list_dead_letters(call.tables, call.text(0), call.text(1),
                                               call.text(2), call.int8(3).value_or(0), limit));
    return call.nothing();
}

Datum redrive_dead_letter(const Call& call) {
    return Int64GetDatum(ops::redrive_dead_letter(call.tables, required_id(call)));
}

Datum discard_dead_letter(const Call& call) {
    ops::discard_dead_letter(call.tables, required_id(call));
    return call.nothing();
}

}  // namespace belay::entry
