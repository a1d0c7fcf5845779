// The time that calls pass as p_now_ms.
//
// The server's clock is the rule: it is sent as NULL and read by the server when the call starts.
// Another clock is for tests, and for programs that must agree with a clock of their own; the
// server refuses one that is too far from its own (QB007; both times are in the detail).
//
// Thread-safety: clocks may be used by many threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace belay {

// Milliseconds since the Unix epoch, or nothing for the server's clock.
using Clock = std::function<std::optional<std::int64_t>()>;

// The default: the server reads its own clock.
Clock server_clock();

// This machine's clock.
Clock system_clock();

// A clock that stands still until it is told otherwise. Copies, and the Clocks made from it, share
// one time.
class TestClock {
 public:
    explicit TestClock(std::int64_t now_ms);

    void set(std::int64_t now_ms) { *now_ms_ = now_ms; }
    void advance(std::int64_t ms) { *now_ms_ += ms; }
    std::int64_t now_ms() const { return *now_ms_; }

    Clock clock() const;

 private:
    std::shared_ptr<std::atomic<std::int64_t>> now_ms_;
};

}  // namespace belay
