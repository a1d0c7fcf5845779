// fail.cpp — end a lease with a failure; the policy decides whether another attempt follows.
//
// Calls    fail_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB001, QB007
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

std::optional<int64> fail(store::Tables& tables, const core::TaskLease& lease,
                          const store::Failure& failure, std::optional<int64> retry_in_ms,
                          pg::Clock* clock) {
    return fail_task(tables, task_of(lease), fence_of(lease), failure, retry_in_ms, clock)
        .available_at;
}

}  // namespace belay::ops
