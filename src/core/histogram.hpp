// The buckets of durations: from 1 ms to 1 day, and what is longer.
#pragma once

#include <array>
#include <cstdint>

namespace belay::core {

// Upper bounds in ms, inclusive.
inline constexpr std::array<std::int64_t, 21> kDurationBounds = {
    1,    2,     5,     10,    20,     50,     100,     200,     500,      1000,    2000,
    5000, 10000, 30000, 60000, 300000, 600000, 1800000, 3600000, 21600000, 86400000};

// One more than bounds: the last one has no bound.
inline constexpr int kDurationBuckets = static_cast<int>(kDurationBounds.size()) + 1;

// The bucket of a duration; a clock that went back makes it 0.
constexpr int duration_bucket(std::int64_t ms) {
    int bucket = 0;
    while (bucket < kDurationBuckets - 1 &&
           ms > kDurationBounds[static_cast<std::size_t>(bucket)]) {
        ++bucket;
    }
    return bucket;
}

}  // namespace belay::core
