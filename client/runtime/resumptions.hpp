// How long the code of a turn holds its thread: from each resumption to the next suspension. A
// replay has many resumptions, each of which is timed on its own.
//
// Thread-safety: begin() and end() belong to the thread that runs the turn; running() may be called
// by any other meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace belay::engine {

class Resumptions {
 public:
    using Duration = std::chrono::nanoseconds;
    using Now = std::function<Duration()>;

    explicit Resumptions(Duration slow, Now now = &steady) : slow_(slow), now_(std::move(now)) {}
    Resumptions(const Resumptions&) = delete;
    Resumptions& operator=(const Resumptions&) = delete;

    void begin(std::int64_t last_event_id) {
        last_event_id_.store(last_event_id, std::memory_order_relaxed);
        began_.store(now_().count(), std::memory_order_release);
    }
    // How long it took, if that is slow.
    std::optional<Duration> end() {
        const Duration took = now_() - Duration(began_.exchange(0, std::memory_order_relaxed));
        total_ += took;
        return took > slow_ ? std::optional(took) : std::nullopt;
    }
    // Of all that have ended.
    Duration total() const { return total_; }

    struct Running {
        Duration began;  // differs from that of any other
        Duration lasts;
        std::int64_t last_event_id;
    };
    std::optional<Running> running() const {
        const Duration began(began_.load(std::memory_order_acquire));
        if (began == Duration::zero()) {
            return std::nullopt;
        }
        return Running{began, now_() - began, last_event_id_.load(std::memory_order_relaxed)};
    }

 private:
    static Duration steady() { return std::chrono::steady_clock::now().time_since_epoch(); }

    const Duration slow_;
    const Now now_;
    std::atomic<std::int64_t> began_{0};  // 0: no code runs
    std::atomic<std::int64_t> last_event_id_{0};
    Duration total_{0};
};

}  // namespace belay::engine
