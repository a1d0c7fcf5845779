// fail_task.cpp — end an attempt by failure, or give the task back without ending it.
//
// Calls    fail_attempt, end_task, put_back
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001, QB002, QB006, QB007, QB012, QB013
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/task/task.hpp"
#include "pg/counters.hpp"

namespace belay::ops {

namespace {

constexpr int kReleased = core::event_place("lease", "released");

LeaseEvent released(const store::Task& task, const char* cause) {
    return {.event = kReleased,
            .epoch = task.lease_epoch,
            .key = "cause",
            .value = std::string_view(cause)};
}

FailedTask cancel_by_holder(const store::Hub& hub, const store::Task& task, const Fence& fence,
                            const store::Failure& failure, int64 now) {
    (void)end_task(
        hub, task,
        {.state = core::TaskState::kCancelled,
         .now = now,
         .outcome = core::AttemptOutcome::kCancelled,
         .failure = failure,
         .cancel_reason = failure.message.value_or(""),
         .cancelled_by = std::string_view(fence.override ? "operator_override" : "lease_holder"),
         .notice = {pg::WakeReason::kCancelled, fence.override}});
    return {"cancelled", core::TaskState::kCancelled, std::nullopt, std::nullopt};
}

// Back to the queue, the attempt paused.
RequeuedTask give_back(const store::Hub& hub, const store::Task& task, core::Pending pending,
                       const char* cause, int64 available_at, Jsonb* checkpoint, int64 now) {
    tell_lease(hub, task, released(task, cause), now);
    const auto state = put_back(
        hub, task,
        {.pending = pending, .available_at = available_at, .now = now, .checkpoint = checkpoint});
    pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kAbandoned);
    return {state,
            state == core::TaskState::kCancelled ? std::nullopt : std::optional(available_at)};
}

}  // namespace

FailedTask fail_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                     const store::Failure& failure, std::optional<int64> retry_after,
                     pg::Clock* clock) {
    const auto task = hold_task_and_flow(hub, id, clock);
    const int64 now = clock->now();
    check_fence(hub, task, fence, now);
    note_own_end(task, fence);
    if (failure.failure_class == core::FailureClass::kCancelled) {
        return cancel_by_holder(hub, task, fence, failure, now);
    }
    const auto result = fail_attempt(hub, task,
                                     {.failure = failure,
                                      .retry_outcome = core::AttemptOutcome::kRetry,
                                      .last_outcome = core::AttemptOutcome::kFailed,
                                      .last_state = core::TaskState::kFailed,
                                      .retry_after = retry_after,
                                      .retry_event = released(task, "retry"),
                                      .last_event = std::nullopt,
                                      .notice = {pg::WakeReason::kChanged, fence.override}},
                                     now);
    if (result.state == core::TaskState::kCancelled) {
        return {"cancelled", result.state, std::nullopt, std::nullopt};
    }
    if (result.retried) {
        return {"retry_scheduled", result.state, result.available_at, task.attempt_index + 1};
    }
    return {"terminal_failed", result.state, std::nullopt, std::nullopt};
}

RequeuedTask delay_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                        int64 delay_ms, Jsonb* checkpoint, pg::Clock* clock) {
    const auto task = hold_task_and_flow(hub, id, clock);
    const int64 now = clock->now();
    check_fence(hub, task, fence, now);
    note_own_end(task, fence);
    return give_back(hub, task, core::Pending::kSnooze, "delay", core::add_ms(now, delay_ms),
                     checkpoint, now);
}

RequeuedTask release_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                          int64 delay_ms, pg::Clock* clock) {
    const auto task = hold_task_and_flow(hub, id, clock);
    const int64 now = clock->now();
    check_fence(hub, task, fence, now);
    note_own_end(task, fence);
    // Without a delay it keeps its place in the queue.
    const int64 available_at = delay_ms == 0 ? *task.available_at : core::add_ms(now, delay_ms);
    return give_back(hub, task, core::Pending::kReclaim, "release", available_at, nullptr, now);
}

}  // namespace belay::ops
