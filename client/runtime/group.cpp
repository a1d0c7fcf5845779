// Groups of calls that are awaited together: which member decides, and what happens to the others.
//
// May touch: the calls and coroutines of its instance. Must not: resume a coroutine itself, or
// decide by anything but the order of the history: a replay has to choose the same winner.
#include "belay/durable/group.hpp"

#include <algorithm>
#include <limits>

namespace belay::detail {

GroupState::~GroupState() = default;

bool GroupState::begin(PromiseBase& promise_of_waiter) {
    if (begun_) {
        throw std::logic_error("a group is awaited once");
    }
    begun_ = true;
    collect();
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const Member& member = members_[i];
        if (member.coroutine != nullptr) {
            ++open_;
            ++open_coroutines_;
        } else if (!member.call->done) {
            if (member.call->waiter != nullptr) {
                throw std::logic_error("a call is awaited by one coroutine");
            }
            ++open_;
        } else if (winner_ == kNone && (mode_ != GroupMode::kTry || member.call->failed)) {
            winner_ = i;
        }
    }
    if (open_coroutines_ == 0 && is_over()) {
        return false;
    }
    if (!promise_of_waiter.instance->add_wait(*this, promise_of_waiter)) {
        return false;
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (PromiseBase* const coroutine = members_[i].coroutine) {
            coroutine->parent = &promise_of_waiter;
            coroutine->group = this;
            coroutine->index = static_cast<std::uint32_t>(i);
            coroutine->instance->wake(*coroutine);
        } else if (CallState* const call = members_[i].call; !call->done) {
            call->waiter = this;
            call->index = static_cast<std::uint32_t>(i);
        }
    }
    if (is_over()) {
        // After the coroutines have begun.
        wake();
    }
    return true;
}

void GroupState::settled(CallState& call) {
    call.waiter = nullptr;
    member_done(call.index, call.failed);
}

void GroupState::coroutine_finished(std::uint32_t index) {
    --open_coroutines_;
    member_done(index, members_[index].coroutine->error != nullptr);
}

void GroupState::member_done(std::size_t index, bool failed) {
    --open_;
    if (winner_ == kNone && (mode_ != GroupMode::kTry || failed)) {
        winner_ = index;
    }
    if (is_over()) {
        wake();
    }
}

void GroupState::cancel() {
    if (open_coroutines_ > 0) {
        // They are cancelled at their own waits. The group then ends with them, if it also waits
        // for calls, which nothing would end.
        cancelled = open_ > open_coroutines_;
        return;
    }
    cancelled = true;
    wake();
}

std::uint64_t GroupState::order() const {
    auto order = std::numeric_limits<std::uint64_t>::max();
    for (const Member& member : members_) {
        if (member.call != nullptr && !member.call->done) {
            order = std::min(order, member.call->sequence);
        }
    }
    return order;
}

bool GroupState::is_over() const {
    if (cancelled) {
        return open_coroutines_ == 0;
    }
    if (mode_ == GroupMode::kAll) {
        return open_ == 0;
    }
    return open_ == 0 || winner_ != kNone;
}

void GroupState::wake() {
    if (!woken_ && promise != nullptr) {
        woken_ = true;
        PromiseBase* const waiting = promise;
        waiting->instance->remove_wait(*this);
        waiting->instance->wake(*waiting);
    }
}

void GroupState::let_go() {
    for (const Member& member : members_) {
        if (member.call != nullptr && member.call->waiter == this) {
            member.call->waiter = nullptr;
        }
        if (member.coroutine != nullptr && member.coroutine->group == this) {
            member.coroutine->group = nullptr;
        }
    }
    members_.clear();
}

}  // namespace belay::detail
