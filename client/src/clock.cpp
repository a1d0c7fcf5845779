#include "belay/clock.hpp"

#include <chrono>

namespace belay {

Clock server_clock() {
    return [] { return std::nullopt; };
}

Clock system_clock() {
    return [] {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    };
}

TestClock::TestClock(std::int64_t now_ms)
    : now_ms_(std::make_shared<std::atomic<std::int64_t>>(now_ms)) {}

Clock TestClock::clock() const {
    return [time = now_ms_] { return time->load(); };
}

}  // namespace belay
