// How long a hub rests: twice as long each time, up to a limit, until it has behaved for a while.
//
// Touches  the quarantine that it is given
// Must not read a clock: the caller passes the time
#include "core/quarantine.hpp"

#include <algorithm>

namespace belay::core {

void Quarantine::exceeded(std::int64_t now_ms, std::int64_t limit_ms) {
    constexpr std::int32_t kMostDoublings = 20;
    if (times > 0 && now_ms - until_ms >= kProbationMs) {
        times = 0;
    }
    const std::int64_t factor = std::int64_t{1} << std::min(times, kMostDoublings);
    until_ms = now_ms + std::min(kMostQuarantineMs, std::max<std::int64_t>(1, limit_ms) * factor);
    ++times;
}

}  // namespace belay::core
