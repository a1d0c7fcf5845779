// When an intent that could not be delivered is tried again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace belay::core {

// No pause between two attempts is longer, so what was away is found again within it.
inline constexpr std::int64_t kLongestIntentPauseMs = 60 * 1000;

// The pause after an attempt that failed; attempts is the number of those that failed before it.
// first_ms, then twice as long each time. Never 0: a failure that repeats must not spin.
constexpr std::int64_t intent_pause_ms(std::int64_t attempts, std::int64_t first_ms) {
    constexpr std::int64_t kShortest = 100;
    constexpr std::int64_t kMostDoublings = 20;
    const std::int64_t first = std::clamp<std::int64_t>(first_ms, kShortest, kLongestIntentPauseMs);
    const auto doublings = static_cast<int>(std::clamp<std::int64_t>(attempts, 0, kMostDoublings));
    return std::min(kLongestIntentPauseMs, first << doublings);
}

}  // namespace belay::core
