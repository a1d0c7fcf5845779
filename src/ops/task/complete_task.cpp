// complete_task.cpp — finish a task and store its result.
//
// Calls    end_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001 lease lost or used before, QB002, QB006, QB007, QB012, QB013
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

// The lease has completed the task before, and perhaps the answer was lost. No success: a
// transaction that is run once more must not commit its effects once more.
[[noreturn]] void raise_completed(store::Tables& tables, const store::Task& task, Jsonb* result) {
    pg::raise(pg::kLockLost,
              psprintf("task %s was completed by this lease already", store::uuid_text(task.id)),
              pg::Facts("already_completed")
                  .add("task_id", store::uuid_text(task.id))
                  .add("lease_epoch", task.lease_epoch)
                  .add_flag("same_result", store::has_result(tables, task.id, result)),
              "Do not write the results again: the first completion counts, and what was written "
              "with it is committed.");
}

}  // namespace

int64 complete_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                         Jsonb* result, int64 now) {
    allow_own_end(task, fence);
    const int64 epoch = end_task(tables, task,
                                 {.state = core::TaskState::kCompleted,
                                  .now = now,
                                  .outcome = core::AttemptOutcome::kSuccess,
                                  .result = result,
                                  .notice = {wakeups::Reason::kChanged, fence.override}});
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kAcked);
    return epoch;
}

int64 complete_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence, Jsonb* result,
                    pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock, fence);
    const int64 now = clock->now();
    if (has_completed(task, fence)) {
        raise_completed(tables, task, result);
    }
    check_fence(tables, task, fence, now);
    const int64 epoch = complete_held_task(tables, task, fence, result, now);
    emit_override(tables, task, fence, core::TaskState::kCompleted, now);
    return epoch;
}

}  // namespace belay::ops
