// The insides of leases: their state, and how a call uses or ends one. For the sources of leases.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include "lease.hpp"

namespace belay {

struct LeaseState : std::enable_shared_from_this<LeaseState> {
    enum class Kind { kItem, kTurn, kTask };
    using SteadyTime = std::chrono::steady_clock::time_point;

    Kind kind = Kind::kItem;
    std::string token;
    const std::string* hub = nullptr;   // the keeper's
    TaskFence fence = {};               // of a task
    std::atomic<Pool*> pool = nullptr;  // whose connections the calls of the lease use
    std::atomic<bool> settled = false;  // its owner ends it, or has
    // The call that ends it was sent: it is extended no more.
    std::atomic<bool> sent = false;
    std::atomic<bool> unknown = false;  // settled, or perhaps not
    std::atomic<bool> lost = false;
    std::atomic<bool> ended = false;  // lost because the task has ended
    // By this clock of ours the lease is certainly over.
    std::atomic<SteadyTime> deadline = {};
    OptionalTime task_deadline = {};  // of the task or its attempt, whichever comes first

    // Notes the loss, unless the lease was ended by its owner meanwhile.
    void lose(StopReason why, std::string text) {
        if (!sent) {
            lost = true;
            request_stop(why, std::move(text));
        }
    }

    // An end that has not happened.
    void reopen() {
        sent = false;
        settled = false;
    }

    // The first reason stays.
    void request_stop(StopReason why, std::string text) {
        std::stop_source source(std::nostopstate);
        {
            const std::lock_guard lock(mutex);
            if (reason == StopReason::kNone) {
                reason = why;
                reason_text = std::move(text);
            }
            source = stop;
        }
        source.request_stop();
    }

    std::stop_token stop_token() {
        const std::lock_guard lock(mutex);
        if (!stop.stop_possible()) {
            stop = std::stop_source();
            if (reason != StopReason::kNone) {
                stop.request_stop();
            }
        }
        return stop.get_token();
    }

    mutable std::mutex mutex = {};
    StopReason reason = StopReason::kNone;  // guarded by mutex, as are the next two
    std::string reason_text = {};
    std::stop_source stop{std::nostopstate};  // most handlers do not ask for it

    // Its place among the leases of the keeper, whose mutex guards it.
    bool is_kept = false;
    LeaseState* previous = nullptr;
    LeaseState* next = nullptr;
};

inline std::shared_ptr<LeaseState> state_of(LeaseState::Kind kind, std::string token) {
    auto state = std::make_shared<LeaseState>();
    state->kind = kind;
    state->token = std::move(token);
    return state;
}

std::unique_ptr<HeldLease> task_lease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state,
                                      ClaimedTask task);
std::unique_ptr<HeldLease> activity_lease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state,
                                          const WorkItem& item);

template <typename Call>
auto LeaseBase::use(Call call) {
    auto connection = state_->pool.load()->take();
    Hub hub(*connection, *state_->hub, keeper_->options_.clock);
    try {
        return call(hub);
    } catch (const Error& error) {
        if (error.lock_lost()) {
            keeper_->find_out_why(hub, *state_, error);
        }
        throw;
    }
}

template <typename Call>
auto LeaseBase::settle_by(Call call) {
    claim_end();
    return note_failures([&] {
        return use([&](Hub& hub) {
            state_->sent = true;
            return call(hub);
        });
    });
}

template <typename Ending>
void LeaseBase::settle_with(const std::function<void(Connection&)>& body, Ending ending,
                            const Where& where) {
    claim_end();
    note_failures([&] {
        use([&](Hub& hub) {
            hub.connection().with_transaction(
                [&] {
                    state_->sent = false;  // also if the transaction is run again
                    body(hub.connection());
                    state_->sent = true;
                    ending(hub);
                },
                where);
        });
    });
}

template <typename Call>
void LeaseBase::settle_elsewhere(Call call) {
    claim_end();
    note_failures([&] {
        state_->sent = true;
        try {
            call();
        } catch (const Error& error) {
            if (error.lock_lost()) {
                use([&](Hub& hub) { keeper_->find_out_why(hub, *state_, error); });
            }
            throw;
        }
    });
}

template <typename Call>
auto LeaseBase::note_failures(Call call) {
    try {
        return call();
    } catch (const Error& error) {
        if (error.outcome_unknown()) {
            state_->unknown = true;
        } else if (!error.lock_lost()) {
            state_->reopen();
        }
        throw;
    } catch (...) {
        state_->reopen();
        throw;
    }
}

template <typename GiveBack>
void LeaseBase::end(GiveBack give_back) noexcept {
    if (!state_ || state_->lost || (state_->settled && !state_->unknown)) {
        return;
    }
    try {
        use([&](Hub& hub) {
            if (!state_->unknown) {
                return give_back(hub, false);
            }
            hub.connection().with_transaction([&] {
                // A server that has not noticed yet may hold the lease for long, until then or
                // until the lease ends the work has to wait.
                hub.connection().exec("SET LOCAL lock_timeout = 5000");
                give_back(hub, true);
            });
        });
    } catch (const Error& error) {
        // Of an unknown end: it has happened.
        if (!state_->unknown || !error.lock_lost()) {
            keeper_->report(error);
        }
    } catch (const std::exception& error) {
        keeper_->report(error);
    }
}

}  // namespace belay
