// Keeps a dispatcher's share of the slots of a queue: takes it, renews it, releases it.
//
// A thread with a connection of its own. What it cannot renew in time counts as lost: two owners
// never serve one slot.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "belay/connection.hpp"
#include "belay/provider.hpp"

namespace belay {

struct SlotKeeperOptions {
    ConnectionOptions connection = {};
    std::string hub;
    Word<ProviderQueue> queue;
    std::string owner;
    Milliseconds lease{30000};
    Clock clock = server_clock();
    std::function<void()> on_change = {};                      // the share is another one
    std::function<void(const std::exception&)> on_error = {};  // of a call; it is repeated
};

class SlotKeeper {
 public:
    explicit SlotKeeper(SlotKeeperOptions options);
    ~SlotKeeper();  // gives the slots back
    SlotKeeper(const SlotKeeper&) = delete;
    SlotKeeper& operator=(const SlotKeeper&) = delete;

    // The slots that are ours now; none before the first call has come back.
    std::vector<std::int32_t> slots() const;

 private:
    using Steady = std::chrono::steady_clock;

    void run();
    void renew(std::optional<Connection>& connection);

    SlotKeeperOptions options_;
    Interrupt stop_;
    mutable std::mutex mutex_;
    // Guarded by mutex_:
    std::vector<std::int32_t> slots_;
    Steady::time_point until_{};
    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace belay
