// What Worker, TaskWorker and Dispatcher have in common: a thread that waits and fetches, threads
// that run handlers, and the way they stop.
//
// The thread of run() waits on a connection of its own and fetches for handlers that are free. A
// handler's thread goes on with what its ack brought, until that is nothing. Nothing is fetched
// that no handler is free for, so leases are held only by work that runs.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "belay/hub.hpp"
#include "belay/lease.hpp"
#include "belay/pool.hpp"

namespace belay {

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

// Gives back what a lease holds, if nobody has settled it. The attempt of a task is never counted.
template <typename Lease>
void give_up(Lease& lease, std::optional<Milliseconds> delay, bool ignore_attempt) {
    if (lease.settled() || lease.lost()) {
        return;
    }
    if constexpr (std::is_same_v<Lease, TaskLease>) {
        lease.release(delay.value_or(Milliseconds(0)));
    } else {
        lease.abandon(delay, ignore_attempt);
    }
}

// Item is what a fetch returns, Lease what LeaseKeeper::keep makes of it.
template <typename Item, typename Lease>
class WorkLoop {
 public:
    virtual ~WorkLoop() = default;

    // Works until stop(), then drains.
    void run() {
        Pool pool(options_.connection, static_cast<std::size_t>(options_.connections));
        Connection waiting(options_.connection);
        // Counted when all threads have ended: declared before them.
        struct Count {
            std::atomic<std::uint64_t>& sum;
            const Pool& pool;
            const Connection& waiting;
            ~Count() { sum += pool.round_trips() + waiting.round_trips(); }
        } count{round_trips_, pool, waiting};
        LeaseKeeper keeper(pool, options_.keeper);
        std::vector<std::jthread> threads;
        for (int i = 0; i < options_.concurrency; ++i) {
            threads.emplace_back([&] { serve(keeper, pool); });
        }
        try {
            wait_and_fetch(waiting, keeper);
        } catch (...) {
            // The threads must end before this frame does.
            stop();
            drain(pool);
            throw;
        }
        drain(pool);
    }

    void stop() noexcept {
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
        options_ = std::move(options);
    }

    Hub hub_on(Connection& connection) const {
        return Hub(connection, options_.keeper.hub, options_.keeper.clock);
    }

    // At most `free` items; called by the thread of run().
    virtual std::vector<Item> fetch(Hub& hub, int free) = 0;

    // Runs one item; returns the next, if it got one. Called by the handlers' threads.
    virtual std::optional<Item> handle(LeaseKeeper& keeper, Pool& pool, Item item) = 0;

    // What to wait for; nothing while no handler is free and only that is waited for.
    virtual std::vector<std::string> queues(bool has_free_handler) const = 0;

    // Gives back an item that no handler has begun.
    virtual void give_back(Hub& hub, const Item& item) = 0;

    // Called with a new connection, before its first fetch.
    virtual void begin(Hub&, LeaseKeeper&) {}

    // Deals with a wake-up. False: there may be work.
    virtual bool is_dealt_with(const Wake&, LeaseKeeper&) { return false; }

    // Reports what no caller sees.
    virtual void tell_error(const std::exception& error) const noexcept = 0;

    // Gives back, after a delay, what is still held though its handling has failed.
    void give_back_later(Lease& lease, Milliseconds delay, bool ignore_attempt) const noexcept {
        try {
            give_up(lease, delay, ignore_attempt);
        } catch (const std::exception& error) {
            tell_error(error);
        }
    }

    // Runs what a handler's thread does with an item; report(kind, message) is told how it failed.
    // Returns true if the infrastructure is to blame.
    template <typename Kind, typename Body, typename Report>
    bool report_failures(const Lease& lease, Body body, const Report& report) const {
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

    // Makes a lease known to the drain, which gives it back if its handler takes too long.
    class Active {
     public:
        Active(WorkLoop& loop, Lease& lease) : loop_(loop), lease_(&lease) {
            const std::lock_guard lock(loop_.mutex_);
            loop_.active_.insert(lease_);
        }
        ~Active() {
            const std::lock_guard lock(loop_.mutex_);
            loop_.active_.erase(lease_);
        }
        Active(const Active&) = delete;
        Active& operator=(const Active&) = delete;

     private:
        WorkLoop& loop_;
        Lease* lease_;
    };

 private:
    // The next item for a handler's thread; none if it is time to go.
    std::optional<Item> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (stopping_) {
            return std::nullopt;
        }
        std::optional<Item> item(std::move(queue_.front()));
        queue_.pop_front();
        return item;
    }

    void become_free() {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            --busy_;
            wake = waits_for_handlers_;
            waits_for_handlers_ = false;
        }
        changed_.notify_all();
        if (wake) {
            interrupt_.signal();
        }
    }

    // A handler's thread.
    void serve(LeaseKeeper& keeper, Pool& pool) {
        while (auto item = pop()) {
            while (item) {
                try {
                    item = handle(keeper, pool, std::move(*item));
                } catch (const std::exception& error) {
                    tell_error(error);
                    item.reset();
                }
            }
            become_free();
        }
    }

    // Fetches for the free handlers. Returns how many items that were.
    int fetch_some(Hub& hub, int free) {
        auto items = fetch(hub, free);
        const int count = static_cast<int>(items.size());
        {
            const std::lock_guard lock(mutex_);
            busy_ += count;
            for (auto& item : items) {
                queue_.push_back(std::move(item));
            }
        }
        changed_.notify_all();
        return count;
    }

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
            int free = 0;
            {
                const std::lock_guard lock(mutex_);
                free = options_.concurrency - busy_;
                waits_for_handlers_ = free == 0;
            }
            try {
                if (session != waiting.backend_pid()) {
                    session = waiting.backend_pid();
                    begin(hub, keeper);
                }
                if (free > 0) {
                    const int count = fetch_some(hub, free);
                    vain = count == 0 && woken_for_work ? vain + 1 : 0;
                    woken_for_work = false;
                    if (count == free) {
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
                if (const auto wake = hub.wait_for_work(names, options_.wait_timeout, interrupt_)) {
                    woken_for_work = !is_dealt_with(*wake, keeper) && wake->queue;
                }
            } catch (const Error& error) {
                tell_error(error);
                pause(Milliseconds(100));
            }
        }
    }

    // Sleeps, unless the loop is to stop.
    void pause(Milliseconds time) {
        using Steady = std::chrono::steady_clock;
        const auto end = Steady::now() + time;
        while (!stopping_ && Steady::now() < end) {
            std::this_thread::sleep_for(
                std::min<Steady::duration>(end - Steady::now(), Milliseconds(10)));
        }
    }

    // Gives back what no handler has begun, and after the deadline also the rest.
    void drain(Pool& pool) {
        std::deque<Item> unused;
        {
            const std::lock_guard lock(mutex_);
            unused.swap(queue_);
            busy_ -= static_cast<int>(unused.size());
        }
        changed_.notify_all();
        for (const auto& item : unused) {
            try {
                auto connection = pool.take();
                Hub hub = hub_on(*connection);
                give_back(hub, item);
            } catch (const Error& error) {
                if (!error.lock_lost()) {
                    tell_error(error);
                }
            }
        }
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, options_.drain_timeout, [this] { return busy_ == 0; })) {
            return;
        }
        for (Lease* lease : active_) {
            lease->request_stop();
            try {
                give_up(*lease, {}, true);
            } catch (const std::exception& error) {
                tell_error(error);
            }
        }
    }

    LoopOptions options_ = {};
    std::atomic<bool> stopping_ = false;
    std::atomic<std::uint64_t> round_trips_ = 0;
    Interrupt interrupt_;  // ends the wait: of stop(), and of a handler that became free
    std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_:
    std::deque<Item> queue_;
    int busy_ = 0;  // items in the queue and in handlers
    bool waits_for_handlers_ = false;
    std::set<Lease*> active_;
};

// A loop that is told, as an owner of leases, when one of them is cancelled.
template <typename Item, typename Lease>
class OwnerLoop : public WorkLoop<Item, Lease> {
 protected:
    // Who it is, and what it waits for when a handler is free.
    void set_queues(const std::string& owner_id, std::vector<std::string> work_queues) {
        owner_queue_ = "owner:" + owner_id;
        work_queues_ = std::move(work_queues);
        // First, so that no work keeps the loop from a cancellation.
        work_queues_.insert(work_queues_.begin(), owner_queue_);
    }

    std::vector<std::string> queues(bool has_free_handler) const override {
        return has_free_handler ? work_queues_ : std::vector<std::string>{owner_queue_};
    }

    // From its first wait on a session is told of every cancellation, be it waiting or not. What
    // was cancelled while there was no session shows in a renewal.
    void begin(Hub& hub, LeaseKeeper& keeper) override {
        hub.wait_for_work({owner_queue_}, Milliseconds(0));
        keeper.renew_now();
    }

    bool is_dealt_with(const Wake& wake, LeaseKeeper& keeper) override {
        if (wake.queue != owner_queue_) {
            return false;
        }
        keeper.renew_now();
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

// The time since then, as events tell it.
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

// Text as the server takes it, of whatever an exception says: bytes that are no UTF-8 are replaced.
inline std::string clean(std::string text) {
    using nlohmann::json;
    std::ranges::replace(text, '\0', ' ');
    return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
        .get<std::string>();
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
