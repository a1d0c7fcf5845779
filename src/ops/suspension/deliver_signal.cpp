// deliver_signal.cpp — bring a signal to a waitpoint, with a token or as an operator.
//
// Calls    store::insert_signal, store::count_signals, leave_suspension
// Touches  <hub>.tasks, <hub>.suspensions, <hub>.waitpoints, <hub>.signals, <hub>.outbox_events
// Locks    the task
// Raises   QB002, QB006, QB007, QB010, QB012, QB016
//
// The token is checked before an error can reveal anything about the task or the waitpoint, and all
// invalid tokens raise the same error.
#include "core/condition.hpp"
#include "ops/audit.hpp"
#include "ops/suspension/suspension.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr const char* kSignalKeys[] = {"signal_id", "idempotency_key", "name", "source", "payload"};

[[noreturn]] void refuse_token() {
    pg::raise_invalid("invalid_token", "p_token", "the token does not fit this waitpoint",
                      "Pass task, waitpoint and token as suspend_task or create_waitpoint "
                      "returned them; after a rotation of keys a token ends with the grace.");
}

[[noreturn]] void refuse_closed(const store::Task& task, const pg_uuid_t& waitpoint,
                                const char* code_detail) {
    pg::raise(pg::kNotEligible,
              psprintf("waitpoint %s takes no signals any more", store::uuid_text(waitpoint)),
              pg::Facts(code_detail)
                  .add("task_id", store::uuid_text(task.id))
                  .add("waitpoint_id", store::uuid_text(waitpoint))
                  .add("state", core::name_of(task.state)),
              "Send no more signals to this waitpoint.");
}

void check_limit(store::Tables& tables, const store::Task& task, int64 signals) {
    const int64 limit = policy_of(tables, task).max_signals;
    if (signals >= limit) {
        pg::raise(pg::kLimitExceeded,
                  psprintf("task %s has got as many signals as its policy allows",
                           store::uuid_text(task.id)),
                  pg::Facts("signals")
                      .add("task_id", store::uuid_text(task.id))
                      .add("limit", limit)
                      .add("value", signals),
                  "Raise max_signals in the policy of the task or of its queue.");
    }
}

// The gates behind the token, and the effect.
DeliveredSignal deliver(store::Tables& tables, const store::Task& task,
                        const store::Waitpoint& waitpoint, const SignalRequest& request,
                        int64 now) {
    const std::string_view signal_id =
        request.signal_id ? *request.signal_id : std::string_view(store::uuid_text(make_id(now)));
    if (store::has_signal(tables, task.id, waitpoint.id, signal_id, request.idempotency_key)) {
        return {"duplicate", nullptr, task.state};
    }
    const int64 last = store::last_signal(tables, task.id);
    check_limit(tables, task, last);
    const bool pending = !waitpoint.suspension_nr;
    // What the end of the task has closed says so below.
    if (waitpoint.closed && waitpoint.closed_by != "end") {
        refuse_closed(task, waitpoint.id, "waitpoint_closed");
    }
    if (pending && waitpoint.expires_at && *waitpoint.expires_at <= now) {
        refuse_closed(task, waitpoint.id, "waitpoint_expired");
    }
    if (core::is_terminal(task.state)) {
        raise_terminal(task);
    }
    const auto suspension =
        pending ? std::nullopt : std::optional(hold_suspension(tables, task, now));
    store::insert_signal(tables, {.task_id = task.id,
                                  .nr = last + 1,
                                  .waitpoint_id = waitpoint.id,
                                  .suspension_nr = waitpoint.suspension_nr,
                                  .signal_id = signal_id,
                                  .idempotency_key = request.idempotency_key,
                                  .name = request.name,
                                  .source = request.source,
                                  .payload = request.payload,
                                  .now = now});
    store::touch(tables, task, now);
    if (!suspension) {
        return {"accepted", "buffered", task.state};
    }
    if (!core::is_met(*json::parse(suspension->condition),
                      store::count_signals(tables, task.id, suspension->nr))) {
        return {"accepted", "appended_to_waitpoint", task.state};
    }
    const auto resumed = leave_suspension(tables, task, *suspension, "condition", "condition",
                                          suspension->resume_delay_ms, now);
    return {"accepted", "resume_condition_satisfied", resumed.state};
}

}  // namespace

SignalRequest read_signal(store::Tables& tables, json::Value signal) {
    check_members(signal, "p_signal", kSignalKeys);
    SignalRequest request{.signal_id = optional_string(signal, "signal_id", "p_signal"),
                          .idempotency_key = optional_string(signal, "idempotency_key", "p_signal"),
                          .name = optional_string(signal, "name", "p_signal").value_or(""),
                          .source = optional_string(signal, "source", "p_signal"),
                          .payload = nullptr};
    (void)checked_word("p_signal.name", request.name);
    if (request.signal_id) {
        (void)checked_word("p_signal.signal_id", *request.signal_id);
    }
    if (request.idempotency_key) {
        (void)checked_word("p_signal.idempotency_key", *request.idempotency_key);
    }
    if (request.source) {
        (void)checked_word("p_signal.source", *request.source);
    }
    if (const auto payload = json::find(signal, "payload")) {
        request.payload = checked_body(tables, "p_signal.payload",
                                       DatumGetJsonbP(pg::jsonb_datum(payload->text)));
    }
    return request;
}

DeliveredSignal deliver_signal(store::Tables& tables, const pg_uuid_t& id,
                               const pg_uuid_t& waitpoint, std::optional<std::string_view> token,
                               const SignalRequest& signal, pg::Clock* clock) {
    if (!is_token_good(tables, token, id, waitpoint, clock->now()) ||
        !store::read_waitpoint(tables, id, waitpoint)) {
        refuse_token();
    }
    const auto task = hold_task_and_flow(tables, id, clock);
    const auto held = store::read_waitpoint(tables, id, waitpoint);
    if (!held) {
        refuse_token();  // a replay has begun the task anew
    }
    return deliver(tables, task, *held, signal, clock->now());
}

DeliveredSignal approve_task(store::Tables& tables, const pg_uuid_t& id, const pg_uuid_t& waitpoint,
                             const SignalRequest& signal, pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock);
    const auto held = store::read_waitpoint(tables, id, waitpoint);
    if (!held) {
        pg::raise(pg::kNotFound,
                  psprintf("waitpoint %s does not exist", store::uuid_text(waitpoint)),
                  pg::Facts("unknown_waitpoint")
                      .add("entity", "waitpoint")
                      .add("id", store::uuid_text(waitpoint)),
                  "list_waitpoints shows the waitpoints of a task.");
    }
    const int64 now = clock->now();
    const auto delivered = deliver(tables, task, *held, signal, now);
    if (delivered.effect != nullptr) {
        constexpr int kApproved = core::event_place("operator", "approved");
        emit_operator_event(
            tables,
            {.event = kApproved,
             .subject = store::uuid_text(id),
             .details = store::Details()
                            .add("waitpoint_id", std::string_view(store::uuid_text(waitpoint)))
                            .add("signal", signal.name)
                            .add("effect", std::string_view(delivered.effect))},
            now);
    }
    return delivered;
}

}  // namespace belay::ops
