// How often and after which pauses a failed statement is run again.
#pragma once

#include <algorithm>
#include <chrono>

namespace belay {

constexpr int kMaxRuns = 3;
// How many servers a call follows that name another one.
constexpr int kMaxHops = 3;

// The pause after the failed run number `run` (1, 2, ...), for a random number from 0 to 1: 5 ms
// and 10 ms, give or take a half.
constexpr std::chrono::microseconds retry_pause(int run, double random) {
    const double base_us = 5000.0 * static_cast<double>(1 << (run - 1));
    return std::chrono::microseconds(static_cast<long>(base_us * (0.5 + random)));
}

// The pause before a connection is tried again for the n-th time (0, 1, ...): 10 ms, doubled up to
// 500 ms.
constexpr std::chrono::milliseconds reconnect_pause(int n) {
    return std::chrono::milliseconds(n < 6 ? 10 << n : 500);
}

// The pause after the failed attempt number `attempt` (1, 2, ...) of a handler: doubled each time.
constexpr std::chrono::milliseconds growing_delay(std::chrono::milliseconds first,
                                                  std::chrono::milliseconds most, int attempt) {
    auto delay = first;
    for (int i = 1; i < attempt && delay < most; ++i) {
        delay *= 2;
    }
    return std::min(delay, most);
}

}  // namespace belay
