// Commits the turns that a dispatcher's handlers have decided, many in one call, and fetches the
// next ones with it.
//
// There is no thread and no timer: a handler's thread that has a decision makes the call itself,
// unless a call is under way already. Then it waits, and when that call ends the first one that
// waits takes all decisions that have come meanwhile with the next call. So a lone turn is
// committed at once, and busy handlers share a commit. A call is made beside those that are under
// way, on another connection, only if it pays off: enough decisions wait, or one has waited for
// long.
//
// Each decision has its own fate. If a call is refused as a whole because of something in it, each
// of its decisions is committed by a call of its own.
//
// Thread-safety: may be used by many threads at once. mutex_ is the innermost lock: no call is made
// while it is held.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "belay/provider.hpp"

namespace belay {

struct TurnSettlerOptions {
    int connections = 1;
    // Makes a call with a connection of the pool.
    std::function<AckedTurns(const std::vector<TurnAck>& acks, int max_turns)> call;
    // Whether turns are to be fetched with a call, for the handlers that have decided; and where
    // they go.
    std::function<bool()> fetches;
    std::function<void(std::vector<Turn> turns)> deliver;
};

class TurnSettler {
 public:
    explicit TurnSettler(TurnSettlerOptions options) : options_(std::move(options)) {}

    // Commits the decision about a turn, and throws what Provider::ack_orchestration_item does.
    // next is the next turn of the instance, if the call has brought it: the caller's thread
    // handles it, when it has ended with this one. False: the decision cannot be committed together
    // with others, and nothing has happened.
    bool ack(const Turn& turn, const Decision& decision, const Where& where,
             std::optional<Turn>& next);

 private:
    using SteadyTime = std::chrono::steady_clock::time_point;

    struct Waiting {
        const Turn& turn;
        TurnAck ack;
        std::optional<Turn>& next;
        SteadyTime since;
        std::condition_variable changed = {};
        bool taken = false;  // a call that is under way has it
        bool done = false;
        bool alone = false;
        std::optional<ErrorFacts> error = {};
    };
    using Portion = std::vector<Waiting*>;

    // Called with mutex_ held.
    bool may_call() const;
    void wait(Waiting& mine, std::unique_lock<std::mutex>& lock) const;
    Portion take_portion();
    void end_call(const Portion& portion);
    // Called without it.
    void settle(const Portion& portion);
    void deliver(const Portion& portion, std::vector<Turn> turns);

    const TurnSettlerOptions options_;
    std::mutex mutex_;
    // Guarded by mutex_:
    std::deque<Waiting*> waiting_;  // in the order in which they came
    int calls_ = 0;
};

}  // namespace belay
