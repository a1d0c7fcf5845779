// How long a hub rests after one of its portions took longer than it may. Times are milliseconds of
// any steady clock.
#pragma once

#include <cstdint>

namespace belay::core {

// The longest pause.
inline constexpr std::int64_t kMostQuarantineMs = std::int64_t{3600} * 1000;
// A hub that kept its limit for so long after a pause begins with the first pause again.
inline constexpr std::int64_t kProbationMs = std::int64_t{3600} * 1000;

struct Quarantine {
    std::int64_t until_ms;
    std::int32_t times;  // in a row

    bool is_on(std::int64_t now_ms) const { return now_ms < until_ms; }

    // A portion took longer than limit_ms. The pause is as long as the limit, then twice, four
    // times as long.
    void exceeded(std::int64_t now_ms, std::int64_t limit_ms);
};

}  // namespace belay::core
