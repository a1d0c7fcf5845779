// status.cpp — the state of one task.
//
// Calls    store::read_task_status
// Touches  nothing
// Locks    nothing
// Raises   nothing
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

store::TaskStatus status(store::Tables& tables, const pg_uuid_t& id, const pg::Clock& clock) {
    return store::read_task_status(tables, id, clock.now());
}

}  // namespace belay::ops
