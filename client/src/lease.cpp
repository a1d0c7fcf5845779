// What all leases have in common, and the leases of turns.
#include "lease_state.hpp"
#include "turn_settler.hpp"

namespace belay {

// ---- Leases. ----

LeaseBase::LeaseBase(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state)
    : keeper_(&keeper), state_(std::move(state)) {}

LeaseBase::~LeaseBase() {
    if (state_) {
        keeper_->remove(state_);
    }
}

const std::string& LeaseBase::token() const {
    return state_->token;
}

const std::string& LeaseBase::hub() const {
    return *state_->hub;
}

std::stop_token LeaseBase::stop_token() const {
    return state_->stop_token();
}

void LeaseBase::call_through(Pool& pool) {
    state_->pool = &pool;
}

void LeaseBase::claim_end() {
    if (state_->settled.exchange(true)) {
        throw std::logic_error("the lease was ended before");
    }
}

void LeaseBase::request_stop() {
    state_->request_stop(StopReason::kRequested, "asked to stop");
}

StopReason LeaseBase::stop_reason() const {
    const std::lock_guard lock(state_->mutex);
    return state_->reason;
}

std::string LeaseBase::stop_text() const {
    const std::lock_guard lock(state_->mutex);
    return state_->reason_text;
}

bool LeaseBase::lost() const {
    return state_->lost;
}

bool LeaseBase::settled() const {
    return state_->settled;
}

bool LeaseBase::unknown() const {
    return state_->unknown;
}

void HeldLease::settle_in_portion(Outcome outcome) {
    if (outcome.kind() == Outcome::Kind::kSuspended || outcome.kind() == Outcome::Kind::kSettled) {
        throw std::logic_error("a portion neither suspends a task nor ends it twice");
    }
    if (settled()) {
        throw std::logic_error("the lease was ended before");
    }
    portions_(std::move(outcome));
}

bool HeldLease::begin_settling() {
    if (state_->settled.exchange(true)) {
        return false;
    }
    state_->sent = true;
    return true;
}

void HeldLease::leave_open() {
    state_->reopen();
}

void HeldLease::leave_unknown() {
    state_->unknown = true;
}

void HeldLease::leave_settled() {
    state_->settled = true;
    state_->unknown = false;
}

void HeldLease::leave_to_lapse() {
    state_->lost = true;
}

TurnLease::~TurnLease() {
    end([this](Hub& hub, bool ignore_attempt) {
        hub.provider().abandon_orchestration_item(turn_.lock_token, {}, ignore_attempt);
    });
}

void TurnLease::ack(const Decision& decision, Where where) {
    const auto alone = [&](Hub& hub) {
        hub.provider().ack_orchestration_item(turn_.lock_token, decision, where);
    };
    if (settler_ == nullptr) {
        settle_by(alone);
        return;
    }
    settle_elsewhere([&] {
        // Also if this ack is refused.
        has_fetched_ = true;
        if (!settler_->ack(turn_, decision, where, next_)) {
            has_fetched_ = false;
            use(alone);
        }
    });
}

void TurnLease::ack_with(const std::function<void(Connection&)>& body, const Decision& decision,
                         Where where) {
    settle_with(
        body,
        [&](Hub& hub) { hub.provider().ack_orchestration_item(turn_.lock_token, decision, where); },
        where);
}

void TurnLease::give_back(std::optional<Milliseconds> delay, bool ignore_attempt) {
    settle_by([&](Hub& hub) {
        hub.provider().abandon_orchestration_item(turn_.lock_token, delay, ignore_attempt);
    });
}

}  // namespace belay
