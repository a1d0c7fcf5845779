// fail_task.cpp — end an attempt by failure, or give the task back without ending it.
//
// Calls    fail_attempt, end_task, put_back
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001, QB002, QB006, QB007, QB012, QB013
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/task/task.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

constexpr int kReleased = core::event_place("lease", "released");

LeaseEvent released(const store::Task& task, const char* cause) {
    return {.event = kReleased,
            .epoch = task.lease_epoch,
            .key = "cause",
            .value = std::string_view(cause)};
}

FailedTask cancel_by_holder(store::Tables& tables, const store::Task& task, const Fence& fence,
                            const store::Failure& failure, int64 now) {
    (void)end_task(
        tables, task,
        {.state = core::TaskState::kCancelled,
         .now = now,
         .outcome = core::AttemptOutcome::kCancelled,
         .failure = failure,
         .cancel_reason = failure.message.value_or(""),
         .cancelled_by = std::string_view(fence.override ? "operator_override" : "lease_holder"),
         .notice = {wakeups::Reason::kCancelled, fence.override}});
    return {"cancelled", core::TaskState::kCancelled, std::nullopt, std::nullopt};
}

// Back to the queue, the attempt paused.
RequeuedTask give_back(store::Tables& tables, const store::Task& task, core::Pending pending,
                       const char* cause, int64 available_at, Jsonb* checkpoint, int64 now) {
    emit_lease_event(tables, task, released(task, cause), now);
    const auto state = put_back(
        tables, task,
        {.pending = pending, .available_at = available_at, .now = now, .checkpoint = checkpoint});
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kAbandoned);
    return {state,
            state == core::TaskState::kCancelled ? std::nullopt : std::optional(available_at)};
}

}  // namespace

FailedTask fail_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                          const store::Failure& failure, std::optional<int64> retry_after,
                          int64 now) {
    allow_own_end(task, fence);
    if (failure.failure_class == core::FailureClass::kCancelled) {
        return cancel_by_holder(tables, task, fence, failure, now);
    }
    const auto result = fail_attempt(tables, task,
                                     {.failure = failure,
                                      .retry_outcome = core::AttemptOutcome::kRetry,
                                      .last_outcome = core::AttemptOutcome::kFailed,
                                      .last_state = core::TaskState::kFailed,
                                      .retry_after = retry_after,
                                      .retry_event = released(task, "retry"),
                                      .last_event = std::nullopt,
                                      .notice = {wakeups::Reason::kChanged, fence.override}},
                                     now);
    if (result.state == core::TaskState::kCancelled) {
        return {"cancelled", result.state, std::nullopt, std::nullopt};
    }
    if (result.retried) {
        return {"retry_scheduled", result.state, result.available_at, task.attempt_index + 1};
    }
    return {"terminal_failed", result.state, std::nullopt, std::nullopt};
}

RequeuedTask delay_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                             int64 delay_ms, Jsonb* checkpoint, int64 now) {
    allow_own_end(task, fence);
    return give_back(tables, task, core::Pending::kSnooze, "delay", core::add_ms(now, delay_ms),
                     checkpoint, now);
}

RequeuedTask release_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                               int64 delay_ms, int64 now) {
    allow_own_end(task, fence);
    // Without a delay it keeps its place in the queue.
    const int64 available_at = delay_ms == 0 ? *task.available_at : core::add_ms(now, delay_ms);
    return give_back(tables, task, core::Pending::kReclaim, "release", available_at, nullptr, now);
}

FailedTask fail_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                     const store::Failure& failure, std::optional<int64> retry_after,
                     pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock, fence);
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    const FailedTask failed = fail_held_task(tables, task, fence, failure, retry_after, now);
    emit_override(tables, task, fence, failed.state, now);
    return failed;
}

RequeuedTask delay_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                        int64 delay_ms, Jsonb* checkpoint, pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock, fence);
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    return delay_held_task(tables, task, fence, delay_ms, checkpoint, now);
}

RequeuedTask release_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                          int64 delay_ms, pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock, fence);
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    return release_held_task(tables, task, fence, delay_ms, now);
}

}  // namespace belay::ops
