// extend.cpp — heartbeat: move the end of a lease.
//
// Calls    renew_task
// Touches  <hub>.tasks
// Locks    the task
// Raises   QB001, QB007
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

int64 extend(store::Tables& tables, const core::TaskLease& lease, int64 by_ms, pg::Clock* clock) {
    return renew_task(tables, task_of(lease), fence_of(lease), by_ms, clock).lease_until;
}

}  // namespace belay::ops
