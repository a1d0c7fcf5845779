// release.cpp — end a lease without an outcome: the attempt continues at the next receive.
//
// Calls    release_task
// Touches  <hub>.tasks, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001, QB007
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

void release(store::Tables& tables, const core::TaskLease& lease, int64 delay_ms,
             pg::Clock* clock) {
    (void)release_task(tables, task_of(lease), fence_of(lease), delay_ms, clock);
}

}  // namespace belay::ops
