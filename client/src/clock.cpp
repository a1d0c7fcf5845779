// The clocks.
#include "belay/clock.hpp"

namespace belay {

Clock server_clock() {
    return [] { return std::nullopt; };
}

Clock system_clock() {
    return
        [] { return std::chrono::time_point_cast<Milliseconds>(std::chrono::system_clock::now()); };
}

TestClock::TestClock(Time now) : now_(std::make_shared<std::atomic<Time>>(now)) {}

Clock TestClock::clock() const {
    return [time = now_] { return time->load(); };
}

}  // namespace belay
