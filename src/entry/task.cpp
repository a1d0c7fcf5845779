// Entry functions of tasks: decode, call the operation, encode.
#include "ops/task/task.hpp"

#include <algorithm>

#include "entry/task_arguments.hpp"
#include "entry/task_call.hpp"
#include "entry/verbs.hpp"
#include "ops/input.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxBatch = 10000;

int64 required_int8(const Call& call, int i, const char* name) {
    const auto value = call.int8(i);
    if (!value) {
        refuse_null(name);
    }
    return *value;
}

int64 required_delay(const Call& call, int i, int64 fallback) {
    return ops::checked_delay("p_delay_ms", call.int8(i)).value_or(fallback);
}

bool is_operator(const Call& call) {
    return ops::is_operator(call.tables, call.caller);
}

[[noreturn]] void refuse_override(const char* what) {
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for %s", what),
             errhint("Ask the hub's owner to grant level operator with belay.grant_hub.")));
    pg_unreachable();
}

// The fence of a call that has a source.
ops::Fence sourced_fence(const Call& call, int epoch, int source) {
    const auto word = call.text(source).value_or("lease_holder");
    if (word == "operator_override") {
        if (!is_operator(call)) {
            refuse_override("source operator_override");
        }
        return {call.int8(epoch), true};
    }
    if (word != "lease_holder") {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized source \"%s\"", pg::excerpt(word)),
                  pg::Facts("bad_value").add("path", "p_source").add("value", word),
                  "Sources are lease_holder and operator_override.");
    }
    return lease_fence(call, epoch);
}

}  // namespace

Datum create_task(const Call& call) {
    const auto window = call.int8(11);
    ops::TaskRequest request{
        .path = std::nullopt,
        .id = call.uuid(2),
        .queue = ops::checked_queue("p_queue", call.text(0)),
        .kind = call.text(3).value_or(""),
        .priority = core::clamp_priority(call.int4(4).value_or(0)),
        .delay_ms = call.int8(5).value_or(0),
        .available_at = call.int8(6),
        .deadline = call.int8(7),
        .deadline_in_ms = std::nullopt,
        .capabilities =
            ops::checked_capabilities("p_capabilities", words(call, 8, "p_capabilities")),
        .dedup_key = call.text(10),
        .dedup_window_ms = window.value_or(ops::kDedupWindowMs),
        .payload = call.jsonb(1),
        .tags = call.has(12) ? call.jsonb(12) : DatumGetJsonbP(pg::jsonb_datum("{}")),
        .policy = call.jsonb(9)};
    ops::check_request(call.tables, request);
    auto clock = call.clock(13);
    const auto created = ops::create_tasks(call.tables, {&request, 1}, &clock)[0];
    return answer_row(call, [&created](Datum* values, bool*) {
        values[0] = uuid_datum(created.id);
        values[1] = state_datum(created.state);
        values[2] = BoolGetDatum(created.created);
    });
}

Datum create_tasks(const Call& call) {
    const auto requests =
        ops::read_requests(call.tables, ops::checked_array("p_tasks", call.jsonb(0), kMaxBatch));
    auto clock = call.clock(1);
    const auto created = ops::create_tasks(call.tables, requests, &clock);
    const auto set = call.set();
    int32 item = 0;
    for (const auto& task : created) {
        const Datum values[] = {Int32GetDatum(++item), UUIDPGetDatum(&task.id),
                                state_datum(task.state), BoolGetDatum(task.created)};
        const bool nulls[4] = {};
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum delete_task(const Call& call) {
    return BoolGetDatum(ops::delete_task(call.tables, call.required_uuid(0, "p_task_id")));
}

Datum claim_tasks(const Call& call) {
    const auto request = claim_request(call, 0);
    auto clock = call.clock(7);
    const auto set = call.set();
    // Waits for the disk: after a crash that forgot it, the next claim would get the same epoch.
    const auto claimed = ops::claim_tasks(call.tables, request, &clock);
    add_claimed(call, set, claimed);
    return call.nothing();
}

Datum renew_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    const int64 lease_ms = ops::checked_lease_ms(call.int8(2));
    auto clock = call.unchecked_clock(3);
    pg::begin_lease_write();
    const auto renewed = ops::renew_task(call.tables, id, fence, lease_ms, &clock);
    pg::end_lease_write();
    return answer_row(call, [&renewed](Datum* values, bool*) {
        values[0] = Int64GetDatum(renewed.lease_until);
        values[1] = BoolGetDatum(renewed.capped);
    });
}

Datum renew_tasks(const Call& call) {
    const int64 lease_ms = ops::checked_lease_ms(call.int8(2));
    pg::List<pg_uuid_t> ids;
    pg::List<int64> epochs;
    for (const int argument : {0, 1}) {
        const char* path = argument == 0 ? "p_task_ids" : "p_lease_epochs";
        if (!call.has(argument)) {
            refuse_null(path);
        }
        Datum* values = nullptr;
        bool* nulls = nullptr;
        int count = 0;
        ArrayType* array = DatumGetArrayTypeP(call.fcinfo->args[argument].value);
        if (argument == 0) {
            deconstruct_array(array, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR, &values, &nulls,
                              &count);
        } else {
            deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
                              &values, &nulls, &count);
        }
        for (int i = 0; i < count; ++i) {
            if (nulls[i]) {
                refuse_null(psprintf("%s[%d]", path, i));
            }
            if (argument == 0) {
                ids.add(*DatumGetUUIDP(values[i]));
            } else {
                epochs.add(DatumGetInt64(values[i]));
            }
        }
    }
    if (ids.count != epochs.count || static_cast<std::size_t>(ids.count) > kMaxBatch) {
        pg::raise(pg::kInvalidArgument,
                  "p_task_ids and p_lease_epochs must have the same length, at most 10000",
                  pg::Facts(ids.count != epochs.count ? "bad_value" : "too_many")
                      .add("path", "p_lease_epochs")
                      .add("task_ids", ids.count)
                      .add("epochs", epochs.count),
                  "Pass one epoch for each task.");
    }
    auto clock = call.clock(3);
    const auto set = call.set();
    pg::begin_lease_write();
    const auto results = ops::renew_tasks(call.tables, ids.span(), epochs.span(), lease_ms, &clock);
    pg::end_lease_write();
    for (const auto& result : results) {
        const Datum values[] = {UUIDPGetDatum(&result.id), BoolGetDatum(result.renewed),
                                Int64GetDatum(result.lease_until),
                                result.renewed ? 0 : CStringGetTextDatum(result.reason)};
        const bool nulls[] = {false, false, !result.renewed, result.renewed};
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum progress_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    ops::ProgressReport report{};
    if (call.has(2)) {
        report.percent = ops::checked_percent("p_percent", call.fcinfo->args[2].value);
    }
    if (const auto message = call.text(3)) {
        report.message = ops::clip(*message, ops::kMaxMessage);
    }
    report.checkpoint = ops::checked_body(call.tables, "p_checkpoint", call.jsonb(4));
    if (call.has(5)) {
        report.lease_ms = ops::checked_lease_ms(call.int8(5));
    }
    auto clock = call.unchecked_clock(6);
    const int64 until = ops::progress_task(call.tables, id, fence, report, &clock);
    const auto set = call.set();
    const Datum values[] = {Int64GetDatum(until)};
    const bool nulls[] = {false};
    set.add(values, nulls);
    return call.nothing();
}

Datum complete_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = sourced_fence(call, 1, 3);
    Jsonb* result = ops::checked_body(call.tables, "p_result", call.jsonb(2));
    auto clock = call.unchecked_clock(4);
    const int64 epoch = ops::complete_task(call.tables, id, fence, result, &clock);
    return answer_row(call, [epoch, &id](Datum* values, bool*) {
        values[0] = CStringGetTextDatum("completed");
        values[1] = uuid_datum(id);
        values[2] = state_datum(core::TaskState::kCompleted);
        values[3] = Int64GetDatum(epoch);
    });
}

Datum complete_and_claim(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    Jsonb* result = ops::checked_body(call.tables, "p_result", call.jsonb(2));
    const auto request = claim_request(call, 3);
    auto clock = call.unchecked_clock(10);
    const auto set = call.set();
    (void)ops::complete_task(call.tables, id, fence, result, &clock);
    add_claimed(call, set, ops::claim_tasks(call.tables, request, &clock));
    return call.nothing();
}

Datum fail_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = sourced_fence(call, 1, 6);
    const auto word = call.required_text(2, "p_class");
    const auto failure_class = core::parse_failure_class(word);
    if (!failure_class) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized class \"%s\"", pg::excerpt(word)),
                  pg::Facts("bad_value").add("path", "p_class").add("value", word),
                  "Classes are transient, permanent, timeout, infra_crash and cancelled.");
    }
    store::Failure failure{*failure_class, std::nullopt,
                           ops::checked_body(call.tables, "p_details", call.jsonb(4))};
    if (const auto message = call.text(3)) {
        failure.message = ops::clip(*message, ops::kMaxMessage);
    }
    const auto retry_after = ops::checked_delay("p_retry_after_ms", call.int8(5));
    auto clock = call.unchecked_clock(7);
    const auto failed = ops::fail_task(call.tables, id, fence, failure, retry_after, &clock);
    return answer_row(call, [&failed](Datum* values, bool* nulls) {
        values[0] = CStringGetTextDatum(failed.result);
        values[1] = state_datum(failed.state);
        values[2] = Int64GetDatum(failed.available_at.value_or(0));
        values[3] = Int32GetDatum(failed.next_attempt_index.value_or(0));
        nulls[2] = !failed.available_at;
        nulls[3] = !failed.next_attempt_index;
    });
}

Datum delay_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    (void)required_int8(call, 2, "p_delay_ms");
    const int64 delay = required_delay(call, 2, 0);
    Jsonb* checkpoint = ops::checked_body(call.tables, "p_checkpoint", call.jsonb(3));
    auto clock = call.unchecked_clock(4);
    return answer_requeued(call,
                           ops::delay_task(call.tables, id, fence, delay, checkpoint, &clock));
}

Datum release_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    const int64 delay = required_delay(call, 2, 0);
    auto clock = call.unchecked_clock(3);
    return answer_requeued(call, ops::release_task(call.tables, id, fence, delay, &clock));
}

Datum cancel_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const ops::CancelRequest request{
        .reason = ops::clip(call.text(1).value_or(""), ops::kMaxMessage),
        .source = ops::checked_word("p_source", call.text(2).value_or("operator_override")),
        .epoch = call.int8(3),
        .is_operator = is_operator(call)};
    if (!request.is_operator && (request.source != "lease_holder" || !request.epoch)) {
        refuse_override("cancel_task without the lease of the task");
    }
    auto clock = call.unchecked_clock(4);
    const auto cancelled = ops::cancel_task(call.tables, id, request, &clock);
    return answer_row(call, [&cancelled, &id](Datum* values, bool*) {
        values[0] = CStringGetTextDatum("cancelled");
        values[1] = uuid_datum(id);
        values[2] = CStringGetTextDatum("cancelled");
        values[3] = state_datum(cancelled.previous);
        values[4] = BoolGetDatum(cancelled.effective);
    });
}

Datum revoke_lease(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const ops::RevokeRequest request{
        .reason = ops::clip(call.text(1).value_or(""), ops::kMaxMessage),
        .worker_instance = call.text(2).value_or(""),
        .lease_id = call.text(3).value_or(""),
        .epoch = call.int8(4)};
    auto clock = call.unchecked_clock(5);
    const auto revoked = ops::revoke_lease(call.tables, id, request, &clock);
    return answer_row(call, [&revoked](Datum* values, bool* nulls) {
        const bool done = revoked.why_not == nullptr;
        values[0] = CStringGetTextDatum(done ? "revoked" : "already_satisfied");
        values[1] = done ? 0 : CStringGetTextDatum(revoked.why_not);
        values[2] = revoked.lease_id == nullptr ? 0 : CStringGetTextDatum(revoked.lease_id);
        values[3] = Int64GetDatum(revoked.lease_epoch);
        nulls[1] = done;
        nulls[2] = revoked.lease_id == nullptr;
    });
}

Datum change_priority(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto priority = call.int4(1);
    if (!priority) {
        refuse_null("p_priority");
    }
    auto clock = call.unchecked_clock(2);
    const auto changed = ops::change_priority(call.tables, id, *priority, &clock);
    return answer_row(call, [&changed, &id](Datum* values, bool*) {
        values[0] = CStringGetTextDatum("changed");
        values[1] = uuid_datum(id);
        values[2] = Int32GetDatum(changed.before);
        values[3] = Int32GetDatum(changed.after);
    });
}

Datum replay_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    auto clock = call.unchecked_clock(3);
    const auto replayed =
        ops::replay_task(call.tables, id, call.boolean(1).value_or(false), call.int4(2), &clock);
    return answer_row(call, [&replayed, &id](Datum* values, bool*) {
        values[0] = CStringGetTextDatum("replayed");
        values[1] = uuid_datum(id);
        values[2] = CStringGetTextDatum(
            replayed.state == core::TaskState::kBlocked ? "waiting_children" : "waiting");
        values[3] = Int32GetDatum(replayed.replay_count);
        values[4] = store::make_array_of<pg_uuid_t>(replayed.reopened).value;
        values[5] = store::make_array_of<pg_uuid_t>(replayed.waiting_on).value;
    });
}

Datum set_queue(const Call& call) {
    ops::set_queue(call.tables, ops::checked_queue("p_queue", call.text(0)),
                   ops::checked_object("p_settings", call.jsonb(1)));
    return call.nothing();
}

Datum pause_queue(const Call& call) {
    ops::set_queue_paused(call.tables, ops::checked_queue("p_queue", call.text(0)), true);
    return call.nothing();
}

Datum resume_queue(const Call& call) {
    ops::set_queue_paused(call.tables, ops::checked_queue("p_queue", call.text(0)), false);
    return call.nothing();
}

Datum get_task(const Call& call) {
    const auto id = call.uuid(0);
    Jsonb* task = id ? ops::get_task(call.tables, *id) : nullptr;
    return answer_jsonb(call, task);
}

Datum list_tasks(const Call& call) {
    const auto filter = ops::checked_object("p_filter", call.jsonb(0));
    call.set().add_rows(ops::list_tasks(call.tables, filter, call.uuid(1), page_limit(call, 2)));
    return call.nothing();
}

Datum list_expired_leases(const Call& call) {
    const int limit = ops::checked_limit("p_limit", call.int4(3), 1000, 10000);
    call.set().add_rows(ops::list_expired_leases(call.tables, call.int8(4), call.text(0),
                                                 call.int8(1), call.uuid(2), limit));
    return call.nothing();
}

Datum explain_claim(const Call& call) {
    const auto capabilities = call.has(1) ? std::optional(ops::checked_capabilities(
                                                "p_capabilities", words(call, 1, "p_capabilities")))
                                          : std::nullopt;
    const auto clock = call.clock(3);
    const auto set = call.set();
    for (const auto& reason : ops::explain_claim(call.tables, call.required_uuid(0, "p_task_id"),
                                                 capabilities, call.slots(2), clock.now())) {
        const Datum values[] = {CStringGetTextDatum(reason.reason),
                                reason.detail == nullptr ? 0 : pg::jsonb_datum(reason.detail)};
        const bool nulls[] = {false, reason.detail == nullptr};
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum check_tasks(const Call& call) {
    const auto set = call.set();
    for (const auto& [object, problem] : ops::check_tasks(call.tables, call.uuid(0))) {
        const Datum values[] = {pg::text_datum(object), pg::text_datum(problem)};
        const bool nulls[2] = {};
        set.add(values, nulls);
    }
    return call.nothing();
}

}  // namespace belay::entry
