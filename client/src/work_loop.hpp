// The loop of a dispatcher: the thread of run() fetches into a buffer, threads run handlers, and
// the way they stop.
//
// A handler's thread continues with what its ack brought, until that is nothing. Nothing is fetched
// that no handler is free for, or about to be free for, so leases are held only by work that runs.
// Calls of another loop may lease for free handlers, too: each of them, and each fetch, reserves
// them first.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "wait_loop.hpp"

namespace belay {

// Item is what a fetch returns.
template <typename Item>
class WorkLoop : public WaitLoop {
 public:
    // Works until stop(), then drains.
    void run() {
        const LoopOptions& options = loop_options();
        Pools pools(options.connection, options.connections);
        Connection waiting(options.connection);
        const Count count{*this, pools, waiting};
        LeaseKeeper keeper(pools.leases, options.keeper);
        draining_ = false;
        begin_run(pools.portions);
        struct EndRun {
            WorkLoop& loop;
            ~EndRun() { loop.end_run(); }
        } end_run{*this};
        std::vector<std::jthread> threads;
        for (int i = 0; i < options.concurrency; ++i) {
            threads.emplace_back([&] { serve(keeper, pools); });
        }
        try {
            wait_and_fetch(waiting, keeper);
        } catch (...) {
            // The threads must end before this frame does.
            stop();
            drain(pools.portions);
            throw;
        }
        drain(pools.portions);
    }

 protected:
    // Called before anything is fetched. The pool lives until run() ends.
    virtual void begin_run(Pool&) {}
    // Called when no handler runs any more; the pool is still there.
    virtual void end_run() noexcept {}

    // Appends at most `free` items; called by the thread of run(). What it has appended counts,
    // even if it throws.
    virtual void fetch(Hub& hub, int free, std::vector<Item>& items) = 0;

    // Runs one item; returns the next, if it got one. Called by the handlers' threads.
    virtual std::optional<Item> handle(LeaseKeeper& keeper, Pools& pools, Item item) = 0;

    // Releases an item that no handler has begun.
    virtual void give_back(Hub& hub, const Item& item) = 0;

    // Gives items that were leased to the handlers. False: they get no more, and the caller gives
    // the items back.
    bool pass_on(std::vector<Item>& items) {
        {
            const std::lock_guard lock(mutex_);
            if (draining_) {
                return items.empty();
            }
            busy_ += static_cast<int>(items.size());
            for (auto& item : items) {
                buffer_.push_back(std::move(item));
            }
        }
        // A handler's thread that is on its way may take the item, too.
        for (std::size_t i = 0; i < items.size(); ++i) {
            changed_.notify_one();
        }
        return true;
    }

    // Takes the handlers that are free: what is leased for them follows with pass_on(), and then
    // end_reservation().
    int reserve_handlers(int most = std::numeric_limits<int>::max()) {
        const std::lock_guard lock(mutex_);
        const int count = draining_ || stopping() ? 0 : std::min(most, idle_handlers());
        reserved_ += count;
        return count;
    }
    void end_reservation(int count) noexcept {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            reserved_ -= count;
            wake = idle_handlers() > 0 && std::exchange(waits_for_handlers_, false);
        }
        if (wake) {
            look_again();
        }
    }

    // Releases items that no handler has begun.
    void give_back_unused(Pool& pool, const std::deque<Item>& unused) {
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
    }

    // Makes a lease known to the drain, which releases it if its handler takes too long.
    class Active {
     public:
        Active(WorkLoop& loop, LeaseBase& lease) : loop_(loop), lease_(&lease) {
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
        LeaseBase* lease_;
    };

 private:
    // The next item for a handler's thread; none if it is time to go.
    std::optional<Item> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping() || !buffer_.empty(); });
        if (stopping()) {
            return std::nullopt;
        }
        std::optional<Item> item(std::move(buffer_.front()));
        buffer_.pop_front();
        return item;
    }

    void become_free() {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            --busy_;
            // The buffer may have something for this handler.
            if (idle_handlers() > 0) {
                wake = std::exchange(waits_for_handlers_, false);
            }
        }
        idle_.notify_all();
        if (wake) {
            look_again();
        }
    }

    // A handler's thread.
    void serve(LeaseKeeper& keeper, Pools& pools) {
        while (auto item = pop()) {
            while (item) {
                try {
                    item = handle(keeper, pools, std::move(*item));
                } catch (const std::exception& error) {
                    tell_error(error);
                    item.reset();
                }
            }
            become_free();
        }
    }

    // With mutex_ held. A handler that has just acked is still busy, though its next item may be
    // there.
    int idle_handlers() const {
        return std::max(0, loop_options().concurrency - busy_ - reserved_);
    }

    int free_handlers() override {
        const std::lock_guard lock(mutex_);
        const int free = idle_handlers();
        waits_for_handlers_ = free == 0;
        return free;
    }

    int fetch_some(Hub& hub, int free) override {
        const int reserved = reserve_handlers(free);
        if (reserved == 0) {
            return free;  // another loop's call has taken them: how many are free is asked again
        }
        std::vector<Item> items;
        // What was leased goes to the handlers, even if a later part of the fetch has failed.
        struct PassOn {
            WorkLoop& loop;
            std::vector<Item>& items;
            int reserved;
            ~PassOn() {
                (void)loop.pass_on(items);  // The drain comes after it.
                loop.end_reservation(reserved);
            }
        } pass_on{*this, items, reserved};
        fetch(hub, reserved, items);
        return reserved < free ? free : static_cast<int>(items.size());
    }

    // Releases what no handler has begun, and after the deadline also the rest.
    void drain(Pool& pool) {
        std::deque<Item> unused;
        {
            const std::lock_guard lock(mutex_);
            draining_ = true;
            unused.swap(buffer_);
            busy_ -= static_cast<int>(unused.size());
        }
        changed_.notify_all();
        give_back_unused(pool, unused);
        std::unique_lock lock(mutex_);
        if (idle_.wait_until(lock, end_of_drain(), [this] { return busy_ == 0; })) {
            return;
        }
        for (LeaseBase* lease : active_) {
            lease->request_stop();
            lease->call_through(pool);  // its handler may never let go of a connection
            try {
                give_up(*lease, {}, true);
            } catch (const std::exception& error) {
                tell_error(error);
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;  // the buffer, for handlers' threads
    std::condition_variable idle_;     // a handler, for the drain
    // Guarded by mutex_:
    std::deque<Item> buffer_;
    int busy_ = 0;      // items in the queue and in handlers
    int reserved_ = 0;  // handlers that calls under way lease for
    bool waits_for_handlers_ = false;
    bool draining_ = false;
    std::set<LeaseBase*> active_;
};

}  // namespace belay
