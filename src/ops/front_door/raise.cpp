// raise.cpp — raise an event of an orchestration.
//
// Calls    raise_event
// Touches  <hub>.orchestrator_queue
// Locks    nothing: inserts never wait
// Raises   QB007
#include "ops/front_door/front_door.hpp"
#include "ops/orchestration/orchestration.hpp"

namespace belay::ops {

void raise(store::Tables& tables, std::string_view id, std::string_view event,
           std::string_view data, pg::Clock* clock) {
    raise_event(tables, id, event, data, false, clock);
}

}  // namespace belay::ops
