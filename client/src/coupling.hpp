// What a dispatcher and a worker of one process do for each other: a call of one of them also
// leases for the handlers of the other that are free.
//
// An activity that a turn schedules comes with the ack of the turn, and a turn that an outcome
// makes ready with the settlement of the outcome: in the transaction that makes it ready, so that
// there is no wake-up, no fetch and no commit between the two. What is leased so goes to the other
// loop, which keeps, runs and settles it as what it has fetched itself. No more is leased than
// there are free handlers, so that other processes get the rest.
//
// The turn that an outcome makes ready may even be run before the outcome is settled, if the
// dispatcher can: both are then committed together, and no message, lease or call is between them.
//
// Each loop opens its slot while it runs. Closing waits for the calls that lease for it.
//
// Thread-safety: all of it may be used by many threads at once.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "belay/dispatcher.hpp"
#include "belay/hub.hpp"
#include "belay/provider.hpp"

namespace belay {

// A dispatcher that runs. What was reserved is ended by receive_turns, with what has come of it.
class TurnSide {
 public:
    virtual int reserve_turns() = 0;
    virtual TurnOptions turn_options(int max_turns) const = 0;
    virtual void receive_turns(std::vector<Turn> turns, int reserved) noexcept = 0;
    // Runs the turn that a completion is about to make ready. Null: it is to be leased.
    virtual std::unique_ptr<PredictedTurn> predict(const ActivityCompletion& completion) const = 0;

 protected:
    ~TurnSide() = default;
};

// A worker that runs. As above.
class WorkSide {
 public:
    virtual int reserve_work() = 0;
    virtual FetchOptions work_options(int max_items) const = 0;
    virtual void receive_work(std::vector<WorkItem> items, int reserved) noexcept = 0;

 protected:
    ~WorkSide() = default;
};

// Where a loop is found while it runs.
template <typename Side>
class SideSlot {
 public:
    void open(Side& side) {
        const std::lock_guard lock(mutex_);
        side_ = &side;
    }
    void close() noexcept {
        std::unique_lock lock(mutex_);
        side_ = nullptr;
        unused_.wait(lock, [this] { return uses_ == 0; });
    }
    // Null if it does not run; else it is there until end_use().
    Side* begin_use() {
        const std::lock_guard lock(mutex_);
        uses_ += side_ == nullptr ? 0 : 1;
        return side_;
    }
    void end_use() noexcept {
        const std::lock_guard lock(mutex_);
        --uses_;
        unused_.notify_all();
    }

 private:
    std::mutex mutex_;
    std::condition_variable unused_;
    // Guarded by mutex_:
    Side* side_ = nullptr;
    int uses_ = 0;
};

struct Coupling {
    SideSlot<TurnSide> turns;
    SideSlot<WorkSide> work;
};

inline int reserve(TurnSide& side) {
    return side.reserve_turns();
}
inline int reserve(WorkSide& side) {
    return side.reserve_work();
}
inline void receive(TurnSide& side, std::vector<Turn> turns, int reserved) noexcept {
    side.receive_turns(std::move(turns), reserved);
}
inline void receive(WorkSide& side, std::vector<WorkItem> items, int reserved) noexcept {
    side.receive_work(std::move(items), reserved);
}

// Free handlers of the other loop, for the duration of a call.
template <typename Side, typename Item>
class Borrowed {
 public:
    // Null: the loop is not coupled.
    explicit Borrowed(SideSlot<Side>* slot, bool reserves = true)
        : slot_(slot), side_(slot == nullptr ? nullptr : slot->begin_use()) {
        reserved_ = side_ == nullptr || !reserves ? 0 : reserve(*side_);
    }
    ~Borrowed() {
        deliver({});
        if (side_ != nullptr) {
            slot_->end_use();
        }
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    int handlers() const { return reserved_; }
    // Null if the loop does not run.
    const Side* side() const { return side_; }
    // Once.
    void deliver(std::vector<Item> items) noexcept {
        if (reserved_ > 0) {
            receive(*side_, std::move(items), std::exchange(reserved_, 0));
        }
    }

 private:
    SideSlot<Side>* slot_;
    Side* side_;
    int reserved_ = 0;
};
using BorrowedExecutors = Borrowed<TurnSide, Turn>;
using BorrowedHandlers = Borrowed<WorkSide, WorkItem>;

struct SettledTurnsAndWork {
    std::vector<AckedTurn> acks = {};
    std::vector<Turn> turns = {};
    std::vector<SettledOutcome> outcomes = {};
    std::vector<WorkItem> items = {};
    bool predictions = true;  // the hub has predicted turns
};

// The calls settle_turns_and_work. In hubs of api duroxide-pg, which lack it, nothing is leased for
// the other loop.
SettledTurnsAndWork ack_turns_and_fetch(Hub& hub, const std::vector<TurnAck>& acks,
                                        const TurnOptions& turns, const FetchOptions& work,
                                        Where where = Where::current());
// acks has one for each predicted turn.
SettledTurnsAndWork settle_work_and_fetch(Hub& hub, const std::vector<WorkOutcome>& outcomes,
                                          const std::vector<TurnAck>& predicted,
                                          const TurnOptions& turns, const FetchOptions& work,
                                          const Prefetch& prefetch, Where where = Where::current());

}  // namespace belay
