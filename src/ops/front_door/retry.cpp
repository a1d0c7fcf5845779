// retry.cpp — run a task once more that has ended without success.
//
// Calls    replay_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.flows, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB002, QB007, QB011 not ended, QB012 completed, QB016 as often as the policy allows
#include "ops/front_door/front_door.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

void retry(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock);
    if (task.state == core::TaskState::kCompleted) {
        const char* text = store::uuid_text(id);
        pg::raise(pg::kAlreadyTerminal, psprintf("task %s is completed already", text),
                  pg::Facts("already_terminal").add("task_id", text).add("state", "completed"),
                  "Use replay_task to run a completed task again.");
    }
    (void)replay_task(tables, id, false, std::nullopt, clock);
}

}  // namespace belay::ops
