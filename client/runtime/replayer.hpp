// Replays of histories that come as JSON, for Replayer and World.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "belay/durable/registry.hpp"
#include "execution.hpp"

namespace belay::engine {

struct RecordedExecution {
    std::string instance_id;
    std::int64_t execution_id = 1;
    std::vector<std::string> events;
    std::vector<std::string> messages;
    Values values;
};

// Throws Corrupt.
std::vector<RecordedExecution> parse_recorded(std::string_view json);

std::vector<std::string_view> views(const std::vector<std::string>& texts);

// Replays every prefix and destroys it. Throws Nondeterminism and Corrupt.
void torture(const RecordedExecution& recorded, const Registry& registry);

}  // namespace belay::engine
