// When a duty runs again: at once while it finds rows, at its pace otherwise, later after failures.
//
// Touches  the pace that it is given
// Must not read a clock: the caller passes the time
#include "core/duty_pace.hpp"

#include <algorithm>

namespace belay::core {

void DutyPace::succeeded(std::int64_t rows, std::int64_t now_ms, std::int64_t interval_ms,
                         int pace) {
    failures = 0;
    due_ms = rows > 0 ? now_ms : now_ms + pace * interval_ms;
}

void DutyPace::failed(std::int64_t now_ms, std::int64_t interval_ms) {
    constexpr std::int32_t kMostDoublings = 20;
    const std::int64_t back = std::int64_t{1} << std::min(failures, kMostDoublings);
    due_ms = now_ms + interval_ms * std::min(back, kMostIntervalsBack);
    ++failures;
}

}  // namespace belay::core
