// The time that calls pass as p_now_ms.
//
// The server's clock is the rule: it is sent as NULL and read by the server when the call starts.
// Another clock is for tests, and for programs that must agree with a clock of their own; the
// server refuses one that is too far from its own (QB007; both times are in the detail).
//
// Thread-safety: clocks may be used by many threads at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "belay/types.hpp"

namespace belay {

// The time, or nothing for the server's clock.
using Clock = std::function<std::optional<Time>()>;

// The default: the server reads its own clock.
Clock server_clock();

// This machine's clock.
Clock system_clock();

// A clock that changes only by set() and advance(). Copies, and the Clocks made from it, share
// one time.
class TestClock {
 public:
    explicit TestClock(Time now);

    void set(Time now) { *now_ = now; }
    void advance(Milliseconds by) { *now_ = now_->load() + by; }
    Time now() const { return *now_; }

    Clock clock() const;

 private:
    std::shared_ptr<std::atomic<Time>> now_;
};

}  // namespace belay
