// What Worker and Dispatcher have in common: a thread that waits for work and fetches it, and what
// is notified of work that fails.
//
// The thread of run() waits on a connection of its own, and fetches for handlers that are free. It
// is interrupted by stop(), and by look_again() when a handler became free that no other thread
// gives work to.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "belay/hub.hpp"
#include "belay/pool.hpp"
#include "lease.hpp"

namespace belay {

// The connections of a loop, made when they are needed. None of the three waits for another one:
// what handlers do in transactions of their own delays neither portions nor the extension of
// leases.
struct Pools {
    Pools(const ConnectionOptions& options, int size)
        : portions(options, static_cast<std::size_t>(size)),
          leases(options, 1),
          handlers(options, static_cast<std::size_t>(size)) {}

    std::uint64_t round_trips() const {
        return portions.round_trips() + leases.round_trips() + handlers.round_trips();
    }

    Pool portions;
    Pool leases;    // of the keeper
    Pool handlers;  // of the calls that handlers make
};

struct LoopOptions {
    ConnectionOptions connection = {};
    int concurrency = 1;
    int connections = 1;
    Milliseconds wait_timeout{0};
    Milliseconds drain_timeout{0};
    KeeperOptions keeper;  // also has the hub and the clock
};

// What the loss of a lease is called in events. Not every kind of work has a deadline, or can be
// cancelled.
template <typename Kind>
Kind kind_of(StopReason reason) {
    if constexpr (requires { Kind::kCancelled; }) {
        if (reason == StopReason::kCancelled) {
            return Kind::kCancelled;
        }
    }
    if constexpr (requires { Kind::kDeadline; }) {
        if (reason == StopReason::kDeadline) {
            return Kind::kDeadline;
        }
    }
    return Kind::kLost;
}

// What a handler's failed call means, as a kind of event.
template <typename Kind>
Kind kind_of(const Error& error, StopReason reason = StopReason::kLost) {
    return error.outcome_unknown() ? Kind::kUnknown
           : error.lock_lost()     ? kind_of<Kind>(reason)
                                   : Kind::kError;
}

// Releases what a lease holds, unless it was settled. The attempt of a task is never counted.
inline void give_up(LeaseBase& lease, std::optional<Milliseconds> delay, bool ignore_attempt) {
    if (!lease.settled() && !lease.lost()) {
        lease.give_back(delay, ignore_attempt);
    }
}

class WaitLoop {
 public:
    virtual ~WaitLoop() = default;

    void stop() noexcept {
        // A server that is gone is waited for no longer than handlers are. First, because the drain
        // reads it.
        options_.connection.reconnect_limit->set(std::chrono::steady_clock::now() +
                                                 options_.drain_timeout);
        stopping_ = true;
        interrupt_.signal();
    }

    bool stopping() const { return stopping_; }

    std::uint64_t round_trips() const { return round_trips_; }

 protected:
    void set_up(LoopOptions options) {
        if (options.concurrency < 1 || options.connections < 1) {
            throw Error({.message = "at least one handler thread and one connection are needed",
                         .sqlstate = "QB006"});
        }
        options.keeper.on_error = [this](const std::exception& error) { tell_error(error); };
        if (!options.connection.reconnect_limit) {
            options.connection.reconnect_limit = std::make_shared<ReconnectLimit>();
        }
        options_ = std::move(options);
    }

    Hub hub_on(Connection& connection) const {
        return Hub(connection, options_.keeper.hub, options_.keeper.clock);
    }

    // Extends the session locks of this owner, too.
    void keep_sessions(const std::string& owner, std::optional<Milliseconds> lock_timeout,
                       Milliseconds idle_timeout) {
        options_.keeper.session_owner = owner;
        options_.keeper.session_lock_timeout = lock_timeout;
        options_.keeper.session_idle_timeout = idle_timeout;
    }

    // How many handlers have nothing to do. If none, look_again() is called when there is one.
    virtual int free_handlers() = 0;

    // Fetches for the free handlers. Returns how much it was.
    virtual int fetch_some(Hub& hub, int free) = 0;

    // What to wait for; nothing while no handler is free and only that is waited for.
    virtual std::vector<std::string> queues(bool has_free_handler) const = 0;

    // Called with a new connection, before its first fetch.
    virtual void begin(Hub&, LeaseKeeper&) {}

    // Deals with a wake-up. False: there may be work.
    virtual bool is_dealt_with(const Wake&, LeaseKeeper&) { return false; }

    // Reports what no caller sees.
    virtual void tell_error(const std::exception& error) const noexcept = 0;

    // Releases, after a delay, what is still held though its handling has failed.
    void give_back_later(LeaseBase& lease, Milliseconds delay, bool ignore_attempt) const noexcept {
        try {
            give_up(lease, delay, ignore_attempt);
        } catch (const std::exception& error) {
            tell_error(error);
        }
    }

    // Runs what a handler's thread does with an item; report(kind, message) receives how it failed.
    // Returns true if the infrastructure is to blame.
    template <typename Kind, typename Body, typename Report>
    bool report_failures(const LeaseBase& lease, Body body, const Report& report) const {
        try {
            body();
        } catch (const Error& error) {
            report(kind_of<Kind>(error, lease.stop_reason()), error.what());
            return error.infrastructure();
        } catch (const std::logic_error& error) {
            // The drain was faster.
            report(stopping() ? Kind::kAbandoned : Kind::kError, error.what());
        }
        return false;
    }

    // Fetches again, though nothing has woken the loop.
    void look_again() noexcept { interrupt_.signal(); }

    // For a loop that waits in threads of its own: sleeps until stop().
    void await_stop() {
        pollfd ready{.fd = interrupt_.descriptor(), .events = POLLIN, .revents = 0};
        while (!stopping_) {
            poll(&ready, 1, -1);
        }
    }

    void count_round_trips(std::uint64_t more) { round_trips_ += more; }

    // Until stop().
    void wait_and_fetch(Connection& waiting, LeaseKeeper& keeper) {
        Hub hub = hub_on(waiting);
        int session = 0;
        int vain = 0;  // wake-ups in a row that brought nothing
        bool woken_for_work = false;
        for (;;) {
            interrupt_.reset();
            if (stopping_) {
                return;
            }
            const int free = free_handlers();
            try {
                if (session != waiting.backend_pid()) {
                    session = waiting.backend_pid();
                    begin(hub, keeper);
                }
                if (free > 0) {
                    const int count = fetch_some(hub, free);
                    vain = count == 0 && woken_for_work ? vain + 1 : 0;
                    woken_for_work = false;
                    if (count >= free) {
                        continue;
                    }
                    // Others were faster, again and again.
                    if (vain > 4) {
                        pause(Milliseconds(std::min(50, vain)));
                    }
                }
                const auto names = queues(free > 0);
                if (names.empty()) {
                    pollfd ready{.fd = interrupt_.descriptor(), .events = POLLIN, .revents = 0};
                    poll(&ready, 1, static_cast<int>(options_.wait_timeout.count()));
                    continue;
                }
                if (const auto wake =
                        hub.provider().wait_for_work(names, options_.wait_timeout, interrupt_)) {
                    woken_for_work = !is_dealt_with(*wake, keeper) && wake->queue;
                }
            } catch (const Error& error) {
                tell_error(error);
                pause(Milliseconds(100));
            }
        }
    }

    // Counts the round trips of connections when this object goes: declared before the threads that
    // use them.
    struct Count {
        WaitLoop& loop;
        const Pools& pools;
        const Connection& waiting;
        ~Count() { loop.round_trips_ += pools.round_trips() + waiting.round_trips(); }
    };

    const LoopOptions& loop_options() const { return options_; }

    // When the drain takes their work from handlers; known after stop().
    std::chrono::steady_clock::time_point end_of_drain() const {
        return options_.connection.reconnect_limit->time();
    }

 private:
    // Sleeps, unless the loop is to stop.
    void pause(Milliseconds time) {
        using Steady = std::chrono::steady_clock;
        const auto end = Steady::now() + time;
        while (!stopping_ && Steady::now() < end) {
            std::this_thread::sleep_for(
                std::min<Steady::duration>(end - Steady::now(), Milliseconds(10)));
        }
    }

    LoopOptions options_ = {};
    std::atomic<bool> stopping_ = false;
    std::atomic<std::uint64_t> round_trips_ = 0;
    Interrupt interrupt_;  // ends the wait: of stop(), and of a handler that became free
};

// A loop that is notified, as an owner of leases, when one of them is cancelled.
class OwnerLoop : public WaitLoop {
 protected:
    // Who it is, and what it waits for when a handler is free.
    void set_queues(const std::string& owner_id, std::vector<std::string> work_queues) {
        owner_queue_ = "owner:" + owner_id;
        work_queues_ = std::move(work_queues);
        // First, so that no work keeps the loop from a cancellation.
        work_queues_.insert(work_queues_.begin(), owner_queue_);
    }

    const std::string& owner_queue() const { return owner_queue_; }

    std::vector<std::string> queues(bool has_free_handler) const override {
        return has_free_handler ? work_queues_ : std::vector<std::string>{owner_queue_};
    }

    // From its first wait on a session is notified of every cancellation, be it waiting or not.
    // What was cancelled while there was no session shows when leases are extended.
    void begin(Hub& hub, LeaseKeeper& keeper) override {
        hub.provider().wait_for_work({owner_queue_}, Milliseconds(0));
        keeper.extend_now();
    }

    bool is_dealt_with(const Wake& wake, LeaseKeeper& keeper) override {
        if (wake.queue != owner_queue_) {
            return false;
        }
        keeper.extend_now();
        return true;
    }

 private:
    std::string owner_queue_ = {};
    std::vector<std::string> work_queues_ = {};  // after the owner's
};

// What the event of a lease says whose end is unknown: what the handler says, else in our words.
inline std::string unknown_text(const std::string& message) {
    return message.empty() ? "the connection broke while the lease was being ended" : message;
}

// Calls a hook of the application. One that throws must not stop the work.
template <typename Event>
void tell(const std::function<void(const Event&)>& hook, const Event& event) noexcept {
    try {
        if (hook) {
            hook(event);
        }
    } catch (...) {
        // The hook has had its chance.
    }
}

// The time since then, as events report it.
inline std::chrono::microseconds elapsed_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                 then);
}

// An exception that has left a handler.
struct HandlerFailure {
    std::string message = "unrecognized exception";
    bool infrastructure = false;  // it does not count as an attempt
};

// Runs a handler; an exception that leaves it becomes or_else(failure).
template <typename Outcome, typename Handler, typename OrElse>
Outcome run_guarded(const Handler& handler, const OrElse& or_else) {
    HandlerFailure failure;
    try {
        return handler();
    } catch (const Error& error) {
        failure = {error.what(), error.infrastructure()};
    } catch (const std::exception& error) {
        failure.message = error.what();
    } catch (...) {
        // Not even a message.
    }
    return or_else(std::move(failure));
}

// An id that no other process has.
inline std::string made_up_owner(std::string_view prefix) {
    std::random_device random;
    return std::string(prefix) + "-" + std::to_string(::getpid()) + "-" + std::to_string(random());
}

// The handler of a name, else the one of "", else none.
template <typename Handler>
const Handler* find_handler(const std::map<std::string, Handler>& handlers,
                            const std::string& name) {
    auto found = handlers.find(name);
    if (found == handlers.end()) {
        found = handlers.find("");
    }
    return found == handlers.end() ? nullptr : &found->second;
}

}  // namespace belay
