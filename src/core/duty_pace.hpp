// When a duty of a hub is due again. Times are milliseconds of any steady clock.
#pragma once

#include <cstdint>

namespace belay::core {

// Failures push a duty back by 1, 2, 4, … intervals, at most by this many.
inline constexpr std::int64_t kMostIntervalsBack = 300;

struct DutyPace {
    std::int64_t due_ms;
    std::int32_t failures;  // in a row

    bool is_due(std::int64_t now_ms) const { return now_ms >= due_ms; }

    // A portion went well. One that found something is followed by the next at once.
    void succeeded(std::int64_t rows, std::int64_t now_ms, std::int64_t interval_ms, int pace);

    // A portion failed.
    void failed(std::int64_t now_ms, std::int64_t interval_ms);
};

}  // namespace belay::core
