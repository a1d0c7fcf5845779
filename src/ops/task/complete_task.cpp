// complete_task.cpp — finish a task and store its result.
//
// Calls    end_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001, QB002, QB006, QB007, QB012, QB013
#include "ops/task/task.hpp"
#include "pg/counters.hpp"

namespace belay::ops {

CompletedTask complete_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                            Jsonb* result, pg::Clock* clock) {
    const auto task = hold_task_and_flow(hub, id, clock);
    const int64 now = clock->now();
    // The same lease has said so before: perhaps its answer was lost.
    if (task.state == core::TaskState::kCompleted && fence.epoch &&
        task.lease_epoch == core::add_ms(*fence.epoch, 1)) {
        return {true, task.lease_epoch};
    }
    check_fence(hub, task, fence, now);
    note_own_end(task, fence);
    const int64 epoch = end_task(hub, task,
                                 {.state = core::TaskState::kCompleted,
                                  .now = now,
                                  .outcome = core::AttemptOutcome::kSuccess,
                                  .result = result,
                                  .notice = {pg::WakeReason::kChanged, fence.override}});
    pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kAcked);
    return {false, epoch};
}

}  // namespace belay::ops
