// start.cpp — start an orchestration.
//
// Calls    start_orchestration
// Touches  <hub>.orchestrator_queue
// Locks    nothing: inserts never wait
// Raises   QB007
#include "ops/front_door/front_door.hpp"
#include "ops/orchestration/orchestration.hpp"

namespace belay::ops {

std::string_view start(store::Tables& tables, std::string_view orchestration,
                       std::string_view input, std::optional<std::string_view> id,
                       std::optional<std::string_view> version, pg::Clock* clock) {
    return start_orchestration(tables, orchestration, input, id, version, 0, clock);
}

}  // namespace belay::ops
