// Replays of histories that come as JSON, for Replayer and World.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/durable/registry.hpp"
#include "execution.hpp"

namespace belay {
class Hub;
}

namespace belay::engine {

struct RecordedExecution {
    std::string instance_id;
    std::int64_t execution_id = 1;
    std::vector<std::string> events;
    std::vector<std::string> messages;
    Values values;  // at its beginning
};

// Throws Corrupt.
std::vector<RecordedExecution> parse_recorded(std::string_view json);

// The executions of an instance that are stored, in order; none if there is no history.
std::vector<RecordedExecution> read_instance(Hub& hub, const std::string& instance_id);

// As parse_recorded reads it.
std::string recorded_text(const RecordedExecution& recorded);

// Sets the values of each execution from those before it. `now` are the values after the last one:
// what no stored execution has changed was there before the first.
void chain_values(std::vector<RecordedExecution>& executions, Values now);

std::vector<std::string_view> views(const std::vector<std::string>& texts);

// Replays every prefix and destroys it. Throws Nondeterminism and Corrupt.
void torture(const RecordedExecution& recorded, const Registry& registry);

// What its code waits for at the end; "" if nothing. Throws Nondeterminism and Corrupt.
std::string waiting_for(const RecordedExecution& recorded, const Registry& registry);

// Replays it and calls look as its code. Throws Nondeterminism and Corrupt.
void inspect(const RecordedExecution& recorded, const Registry& registry,
             const std::function<void(Context)>& look);

}  // namespace belay::engine
