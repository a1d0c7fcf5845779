// The thread that keeps a dispatcher's share of slots.
//
// May touch: a connection of its own. Must not: count a share as kept beyond what the last answered
// call allows.
#include "slot_keeper.hpp"

#include <poll.h>

namespace belay {

SlotKeeper::SlotKeeper(SlotKeeperOptions options)
    : options_(std::move(options)), thread_([this] { run(); }) {}

SlotKeeper::~SlotKeeper() {
    stop_.signal();
    thread_.join();
}

std::vector<std::int32_t> SlotKeeper::slots() const {
    const std::lock_guard lock(mutex_);
    return Steady::now() < until_ ? slots_ : std::vector<std::int32_t>{};
}

void SlotKeeper::renew(std::optional<Connection>& connection) {
    if (!connection) {
        connection.emplace(options_.connection);
    }
    // Counted from before the call: the server's lease ends later.
    const auto until = Steady::now() + options_.lease;
    auto slots = Hub(*connection, options_.hub, options_.clock)
                     .provider()
                     .acquire_slots(options_.owner, options_.queue, {}, options_.lease);
    bool changed = false;
    {
        const std::lock_guard lock(mutex_);
        changed = slots != slots_ || Steady::now() >= until_;
        slots_ = std::move(slots);
        until_ = until;
    }
    if (changed && options_.on_change) {
        options_.on_change();
    }
}

void SlotKeeper::run() {
    std::optional<Connection> connection;
    pollfd stopped{.fd = stop_.descriptor(), .events = POLLIN, .revents = 0};
    do {
        try {
            renew(connection);
        } catch (const std::exception& error) {
            if (options_.on_error) {
                options_.on_error(error);
            }
        }
    } while (::poll(&stopped, 1, static_cast<int>(options_.lease.count() / 3)) == 0);
    try {
        if (connection) {
            Hub(*connection, options_.hub, options_.clock)
                .provider()
                .release_slots(options_.owner, options_.queue);
        }
    } catch (const std::exception& error) {
        if (options_.on_error) {
            options_.on_error(error);
        }
    }
}

}  // namespace belay
