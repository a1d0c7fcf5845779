// turn_lock.cpp — from a turn's token to its lock; abandon and renew a turn.
//
// Calls    store::try_hold_turn, store::hold_turn, store::release_leased, store::release_turn
// Touches  <hub>.instance_locks, <hub>.orchestrator_queue
// Locks    the instance lock; then its messages
// Raises   QB001 lock lost
#include "core/time.hpp"
#include "ops/guard/guard.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/counters.hpp"

namespace belay::ops {

namespace {

HeldTurn find_turn(const store::Hub& hub, std::optional<std::string_view> token, pg::Clock* clock) {
    const auto parsed = token ? core::decode_turn_token(*token) : std::nullopt;
    if (!parsed) {
        return {std::nullopt, core::LeaseFault::kUnknown, 0};
    }
    if (parsed->incarnation != hub.incarnation) {
        return {std::nullopt, core::LeaseFault::kOtherIncarnation, 0};
    }
    auto lock = store::try_hold_turn(hub, *parsed);
    if (!lock) {
        clock->mark_waited();
        lock = store::hold_turn(hub, *parsed);
    }
    if (!lock) {
        return {std::nullopt, core::LeaseFault::kGone, 0};
    }
    if (!core::matches(lock->lease, parsed->incarnation, parsed->nonce_hi, parsed->nonce_lo)) {
        return {std::nullopt, core::LeaseFault::kUnknown, 0};
    }
    const bool live = core::is_live(lock->lease, hub.incarnation, clock->now());
    return {lock, live ? core::LeaseFault::kNone : core::LeaseFault::kExpired,
            lock->lease.locked_until};
}

}  // namespace

HeldTurn hold_turn(const store::Hub& hub, std::optional<std::string_view> token, pg::Clock* clock) {
    const HeldTurn held = find_turn(hub, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kLostLeases);
    }
    return held;
}

std::string_view abandon_orchestration_item(const store::Hub& hub,
                                            std::optional<std::string_view> token,
                                            std::optional<int64> delay_ms, bool ignore_attempt,
                                            pg::Clock* clock) {
    enter(hub, {.orchestrator_queue = true, .instance_locks = true}, clock);
    const HeldTurn held = hold_turn(hub, token, clock);
    if (!held.lock) {
        raise_lock_lost("Invalid lock token", token.value_or(""), held.fault, held.locked_until);
    }
    store::release_leased(
        hub, held.lock->instance_key, held.lock->lock_no, ignore_attempt,
        delay_ms ? std::optional(core::add_ms(clock->now(), *delay_ms)) : std::nullopt);
    store::release_turn(hub, *held.lock);
    if (held.fault == core::LeaseFault::kNone) {
        note_finished(held.lock->lease);
    }
    pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kAbandoned);
    return held.lock->instance_id;
}

void renew_orchestration_item_lock(const store::Hub& hub, std::optional<std::string_view> token,
                                   const Extension& extension, pg::Clock* clock) {
    enter(hub, {.instance_locks = true}, clock);
    const HeldTurn held = hold_turn(hub, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost("Lock token invalid, expired, or already released", token.value_or(""),
                        held.fault, held.locked_until);
    }
    store::set_turn_deadline(hub, *held.lock, extension.deadline(clock->now(), held.locked_until));
    pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kRenewed);
}

}  // namespace belay::ops
