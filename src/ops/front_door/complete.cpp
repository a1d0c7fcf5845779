// complete.cpp — end a lease with success.
//
// Calls    complete_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001 lease lost or used before, QB007
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

void complete(store::Tables& tables, const core::TaskLease& lease, Jsonb* result,
              pg::Clock* clock) {
    (void)complete_task(tables, task_of(lease), fence_of(lease), result, clock);
}

}  // namespace belay::ops
