// Entry functions of the worker queue and of dead letters: decode, call the operation, encode.
#include "ops/worker_queue/worker_queue.hpp"

#include "entry/verbs.hpp"
#include "ops/input.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxBatch = 10000;
constexpr int32 kMaxFetch = 1000;
constexpr int32 kMaxPage = 1000;

// Arguments of a fetch, from p_lock_timeout_ms on; the slots come later.
ops::FetchRequest fetch_request(const Call& call, int first, int slots) {
    ops::FetchRequest request{};
    request.lock_timeout_ms = ops::checked_timeout("p_lock_timeout_ms", call.int8(first));
    request.owner = call.text(first + 1);
    ops::check_label("p_owner_id", request.owner);
    request.session_timeout_ms =
        call.has(first + 2)
            ? ops::checked_timeout("p_session_lock_timeout_ms", call.int8(first + 2))
            : request.lock_timeout_ms;
    request.tags = call.texts(first + 3, "p_tag_filter");
    const auto word = call.text(first + 4).value_or("default_only");
    const auto mode = core::parse_tag_mode(word);
    if (!mode) {
        pg::raise(pg::kInvalidArgument, psprintf("unknown tag mode \"%s\"", pg::excerpt(word)),
                  pg::Facts("unknown_tag_mode").add("path", "p_tag_mode").add("value", word),
                  "Tag modes are default_only, tags, default_and, any and none.");
    }
    request.mode = *mode;
    request.slots = call.slots(slots);
    request.max_items = 1;
    return request;
}

struct LeasedColumns {
    Datum values[3];
    bool nulls[3];
};

// The columns of a leased row, in the memory of the answer.
LeasedColumns leased_columns(const Call& call, const store::Leased& leased) {
    char token[core::kWorkTokenChars];
    core::encode(leased.token, token);
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    const LeasedColumns columns{
        {pg::text_datum(leased.work_item), pg::text_datum({token, sizeof token}),
         Int32GetDatum(leased.attempt)},
        {}};
    MemoryContextSwitchTo(old);
    return columns;
}

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
                                                {.instance_id = call.text(2),
                                                 .execution_id = call.int8(3),
                                                 .activity_id = call.int8(4),
                                                 .session_id = call.text(5),
                                                 .tag = call.text(6)},
                                                "p_work_item", "p_");
    auto clock = call.clock(1);
    ops::enqueue_worker_work(call.hub, activity, &clock);
    return call.nothing();
}

Datum enqueue_worker_items(const Call& call) {
    return Int64GetDatum(ops::enqueue_worker_items(
        call.hub, ops::checked_array("p_items", call.jsonb(0), kMaxBatch), call.int8(1)));
}

Datum fetch_work_item(const Call& call) {
    const auto request = fetch_request(call, 1, 6);
    auto clock = call.clock(0);
    pg::begin_lease_write();
    const auto leased = ops::fetch_work_items(call.hub, request, &clock);
    pg::end_lease_write();
    return answer_one(call, leased);
}

Datum fetch_work_items(const Call& call) {
    auto request = fetch_request(call, 1, 8);
    request.max_items = ops::checked_limit("p_max_items", call.int4(6), 1, kMaxFetch);
    request.max_new_sessions = call.int4(7);
    if (request.max_new_sessions.value_or(0) < 0) {
        pg::raise_invalid("out_of_range", "p_max_new_sessions",
                          "p_max_new_sessions must not be negative", "NULL means no limit.");
    }
    auto clock = call.clock(0);
    pg::begin_lease_write();
    const auto leased = ops::fetch_work_items(call.hub, request, &clock);
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
    ops::ack_worker(call.hub, call.text(0), done, &clock);
    return call.nothing();
}

Datum ack_workers(const Call& call) {
    const auto results = ops::ack_workers(
        call.hub, ops::checked_array("p_acks", call.jsonb(0), kMaxBatch), call.int8(1));
    const auto set = call.set();
    int32 index = 0;
    for (const auto& result : results) {
        const Datum values[] = {Int32GetDatum(index++), optional_datum(result.token),
                                BoolGetDatum(result.acked), CStringGetTextDatum("QB001")};
        const bool nulls[] = {false, !result.token, false, result.acked};
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum ack_and_fetch_work_item(const Call& call) {
    const auto done = completion(call, 1, 2);
    const auto request = fetch_request(call, 4, 9);
    auto clock = call.clock(3);
    ops::ack_worker(call.hub, call.text(0), done, &clock);
    return answer_one(call, ops::fetch_work_items(call.hub, request, &clock));
}

namespace {

Datum renew_lease(const Call& call, const ops::Extension& extension) {
    auto clock = call.clock(1);
    pg::begin_lease_write();
    ops::renew_work_item_lock(call.hub, call.text(0), extension, &clock);
    pg::end_lease_write();
    return call.nothing();
}

}  // namespace

Datum renew_work_item_lock(const Call& call) {
    return renew_lease(call, ops::extension_ms(call.int8(2)));
}

Datum renew_work_item_lock_secs(const Call& call) {
    return renew_lease(call, ops::extension_secs(call.int8(2)));
}

Datum renew_work_item_locks(const Call& call) {
    const int64 extend = ops::checked_timeout("p_extend_ms", call.int8(2));
    const auto tokens = call.texts(0, "p_lock_tokens");
    auto clock = call.clock(1);
    pg::begin_lease_write();
    const auto results = ops::renew_work_item_locks(call.hub, tokens, extend, &clock);
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

Datum abandon(const Call& call, std::optional<std::string_view> reason) {
    const auto delay = ops::checked_delay("p_delay_ms", call.int8(2));
    auto clock = call.clock(1);
    ops::abandon_work_item(call.hub, call.text(0), delay, call.boolean(3).value_or(false), reason,
                           &clock);
    return call.nothing();
}

}  // namespace

Datum abandon_work_item(const Call& call) {
    return abandon(call, call.text(4));
}

Datum abandon_work_item_without_reason(const Call& call) {
    return abandon(call, std::nullopt);
}

Datum renew_session_lock(const Call& call) {
    const int64 extend = ops::checked_timeout("p_extend_ms", call.int8(2));
    const auto idle = ops::checked_delay("p_idle_timeout_ms", call.int8(3));
    if (!idle) {
        pg::raise_invalid("null", "p_idle_timeout_ms", "p_idle_timeout_ms must not be null",
                          "Pass a number of milliseconds.");
    }
    auto clock = call.clock(1);
    return Int64GetDatum(
        ops::renew_session_lock(call.hub, call.texts(0, "p_owner_ids"), extend, *idle, &clock));
}

Datum cleanup_orphaned_sessions(const Call& call) {
    auto clock = call.clock(0);
    return Int64GetDatum(ops::cleanup_orphaned_sessions(call.hub, &clock));
}

Datum cancel_activities(const Call& call) {
    return Int64GetDatum(ops::cancel_activities(
        call.hub, ops::checked_array("p_cancelled_activities", call.jsonb(0), kMaxBatch)));
}

Datum list_work_items(const Call& call) {
    const auto filter = ops::checked_object("p_filter", call.jsonb(0));
    const int limit = ops::checked_limit("p_limit", call.int4(2), 100, kMaxPage);
    call.set().add_rows(ops::list_work_items(call.hub, filter, call.text(1), limit, call.int8(3)));
    return call.nothing();
}

Datum list_dead_letters(const Call& call) {
    const int limit = ops::checked_limit("p_limit", call.int4(4), 100, kMaxPage);
    call.set().add_rows(ops::list_dead_letters(call.hub, call.text(0), call.text(1), call.text(2),
                                               call.int8(3).value_or(0), limit));
    return call.nothing();
}

Datum redrive_dead_letter(const Call& call) {
    return Int64GetDatum(ops::redrive_dead_letter(call.hub, required_id(call)));
}

Datum redrive_dead_letters(const Call& call) {
    return Int64GetDatum(
        ops::redrive_dead_letters(call.hub, ops::checked_object("p_filter", call.jsonb(0))));
}

Datum discard_dead_letter(const Call& call) {
    ops::discard_dead_letter(call.hub, required_id(call));
    return call.nothing();
}

}  // namespace belay::entry
