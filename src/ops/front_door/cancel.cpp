// cancel.cpp — cancel a task that has not ended; its worker loses the lease.
//
// Calls    cancel_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB002, QB007
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

bool cancel(store::Tables& tables, const pg_uuid_t& id, std::string_view reason, pg::Clock* clock) {
    if (core::is_terminal(hold_task_and_flow(tables, id, clock).state)) {
        return false;
    }
    return cancel_task(tables, id,
                       {.reason = reason,
                        .source = kCancelByClient,
                        .epoch = std::nullopt,
                        .is_operator = true},
                       clock)
        .effective;
}

}  // namespace belay::ops
