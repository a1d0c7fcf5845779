// Grant levels of a hub, as bits, so that a function or view can belong to several.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::core {

enum Level : uint8_t {
    kNoLevel = 0,
    kClient = 1,
    kWorker = 2,
    kOperator = 4,
    kMonitor = 8,
};

// What a level contains, seen from the function: a client function is also a worker's and an
// operator's, and an operator has all that a monitor has.
inline constexpr uint8_t kForClient = kClient | kWorker | kOperator;
inline constexpr uint8_t kForWorker = kWorker | kOperator;
inline constexpr uint8_t kForOperator = kOperator;
inline constexpr uint8_t kForMonitor = kMonitor | kOperator;

constexpr std::optional<Level> parse_level(std::string_view word) {
    if (word == "client")
        return kClient;
    if (word == "worker")
        return kWorker;
    if (word == "operator")
        return kOperator;
    if (word == "monitor")
        return kMonitor;
    return std::nullopt;
}

}  // namespace belay::core
