// settle.cpp — the end of an attempt by failure, and the one precedence for all that falls due.
//
// Calls    put_back, end_task, time_out_suspension
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    nothing: the task and its flow are held
// Raises   nothing of its own
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/suspension/suspension.hpp"
#include "ops/task/task.hpp"
#include "pg/counters.hpp"

namespace belay::ops {

namespace {

constexpr int kExpired = core::event_place("lease", "expired");

LeaseEvent expired(const store::Task& task, const char* cause) {
    return {.event = kExpired,
            .epoch = task.lease_epoch,
            .key = "cause",
            .value = std::string_view(cause)};
}

constexpr store::Notice kLost{pg::WakeReason::kLeaseExpired, true};

void expire_by_deadline(const store::Hub& hub, const store::Task& task, int64 now) {
    if (task.is_active()) {
        tell_lease(hub, task, expired(task, "deadline"), now);
    }
    (void)end_task(hub, task,
                   {.state = core::TaskState::kExpired,
                    .now = now,
                    .outcome = core::AttemptOutcome::kExpired,
                    .notice = kLost});
}

void time_out_attempt(const store::Hub& hub, const store::Task& task, int64 now) {
    (void)fail_attempt(hub, task,
                       {.failure = {core::FailureClass::kTimeout,
                                    std::string_view("the attempt took too long"), nullptr},
                        .retry_outcome = core::AttemptOutcome::kTimedOut,
                        .last_outcome = core::AttemptOutcome::kTimedOut,
                        .last_state = core::TaskState::kExpired,
                        .retry_after = std::nullopt,
                        .retry_event = expired(task, "attempt_timeout"),
                        .last_event = expired(task, "attempt_timeout"),
                        .notice = kLost},
                       now);
}

void expire_lease(const store::Hub& hub, const store::Task& task, int64 now) {
    const core::Policy policy = policy_of(hub, task);
    const store::Failure crash{core::FailureClass::kInfraCrash,
                               std::string_view("the lease expired"), nullptr};
    if (policy.expiry_fails) {
        (void)fail_attempt(hub, task,
                           {.failure = crash,
                            .retry_outcome = core::AttemptOutcome::kRetry,
                            .last_outcome = core::AttemptOutcome::kFailed,
                            .last_state = core::TaskState::kFailed,
                            .retry_after = std::nullopt,
                            .retry_event = expired(task, "lease"),
                            .last_event = expired(task, "lease"),
                            .notice = kLost},
                           now);
        return;
    }
    tell_lease(hub, task, expired(task, "lease"), now);
    if (task.reclaim_count >= policy.max_reclaims) {
        (void)end_task(hub, task,
                       {.state = core::TaskState::kFailed,
                        .now = now,
                        .outcome = core::AttemptOutcome::kFailed,
                        .failure = crash,
                        .notice = kLost});
        return;
    }
    (void)put_back(hub, task,
                   {.pending = core::Pending::kReclaim,
                    .available_at = *task.available_at,
                    .now = now,
                    .reclaims = 1,
                    .notice = kLost});
}

}  // namespace

FailureResult fail_attempt(const store::Hub& hub, const store::Task& task, const FailedAttempt& how,
                           int64 now) {
    const core::Policy policy = policy_of(hub, task);
    if (core::may_retry(policy, how.failure.failure_class, task.retry_count)) {
        const int64 wait = how.retry_after.value_or(
            core::backoff_ms(policy, task.retry_count, pg_prng_double(&pg_global_prng_state)));
        const int64 available_at = core::add_ms(now, wait);
        if (how.retry_event) {
            tell_lease(hub, task, *how.retry_event, now);
        }
        const auto state = put_back(hub, task,
                                    {.pending = core::Pending::kRetry,
                                     .available_at = available_at,
                                     .now = now,
                                     .outcome = how.retry_outcome,
                                     .failure = how.failure,
                                     .retries = 1,
                                     .notice = how.notice});
        return {true, state, available_at};  // or cancelled with its flow
    }
    if (how.last_event) {
        tell_lease(hub, task, *how.last_event, now);
    }
    (void)end_task(hub, task,
                   {.state = how.last_state,
                    .now = now,
                    .outcome = how.last_outcome,
                    .failure = how.failure,
                    .notice = how.notice});
    return {false, how.last_state, std::nullopt};
}

bool settle(const store::Hub& hub, const store::Task& task, int64 now) {
    auto times = task.times(hub);
    std::optional<store::Suspension> suspension;
    if (task.state == core::TaskState::kSuspended) {
        suspension = store::open_suspension(hub, task.id);
        if (suspension) {
            times.suspension_timeout = suspension->timeout_at;
        }
    }
    const auto due = core::first_due(times, now);
    if (due != core::Due::kNothing && task.is_active()) {
        pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kExpired);
    }
    switch (due) {
        case core::Due::kNothing:
            return false;
        case core::Due::kDeadline:
            expire_by_deadline(hub, task, now);
            return true;
        case core::Due::kAttemptDeadline:
            time_out_attempt(hub, task, now);
            return true;
        case core::Due::kLease:
            expire_lease(hub, task, now);
            return true;
        case core::Due::kSuspension:
            time_out_suspension(hub, task, *suspension, now);
            return true;
    }
    return false;
}

}  // namespace belay::ops
