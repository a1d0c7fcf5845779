// turn_lock.cpp — from a turn's token to its lock; abandon and renew a turn.
//
// Calls    store::hold_turn, store::release_leased, store::release_turn
// Touches  <hub>.instance_locks, <hub>.orchestrator_queue
// Locks    the instance lock; then its messages
// Raises   QB001 lock lost
#include "core/time.hpp"
#include "ops/guard/guard.hpp"
#include "ops/lost_lease.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

HeldTurn find_turn(store::Tables& tables, std::optional<std::string_view> token, pg::Clock* clock) {
    const auto parsed = token ? core::decode_turn_token(*token) : std::nullopt;
    if (!parsed) {
        return {std::nullopt, core::LeaseFault::kUnknown, 0};
    }
    if (parsed->incarnation != tables.hub.incarnation) {
        return {std::nullopt, core::LeaseFault::kOtherIncarnation, 0};
    }
    const auto lock = store::hold_turn(tables, *parsed, clock);
    if (!lock) {
        return {std::nullopt, core::LeaseFault::kGone, 0};
    }
    const auto fault = core::fault_of(*parsed, lock->lease, tables.hub.incarnation, clock->now());
    if (fault == core::LeaseFault::kUnknown) {
        return {std::nullopt, fault, 0};
    }
    return {lock, fault, lock->lease.locked_until};
}

}  // namespace

HeldTurn hold_turn(store::Tables& tables, std::optional<std::string_view> token, pg::Clock* clock) {
    const HeldTurn held = find_turn(tables, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        counters::add(tables.hub.schema, counters::Queue::kOrchestrator,
                      counters::Counter::kLostLeases);
    }
    return held;
}

std::string_view abandon_orchestration_item(store::Tables& tables,
                                            std::optional<std::string_view> token,
                                            std::optional<int64> delay_ms, bool ignore_attempt,
                                            pg::Clock* clock) {
    enter(tables, {.orchestrator_queue = true, .instance_locks = true}, clock);
    const HeldTurn held = hold_turn(tables, token, clock);
    if (!held.lock) {
        raise_lock_lost(tables, store::Queue::kOrchestrator, "Invalid lock token",
                        token.value_or(""), held.fault, held.locked_until);
    }
    store::release_leased(
        tables, held.lock->instance_key, held.lock->lock_no, ignore_attempt,
        delay_ms ? std::optional(core::add_ms(clock->now(), *delay_ms)) : std::nullopt);
    store::release_turn(tables, *held.lock);
    if (held.fault == core::LeaseFault::kNone) {
        allow_ended_lease(held.lock->lease);
    }
    counters::add(tables.hub.schema, counters::Queue::kOrchestrator, counters::Counter::kAbandoned);
    return held.lock->instance_id;
}

void renew_orchestration_item_lock(store::Tables& tables, std::optional<std::string_view> token,
                                   const Extension& extension, pg::Clock* clock) {
    enter(tables, {.instance_locks = true}, clock);
    const HeldTurn held = hold_turn(tables, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost(tables, store::Queue::kOrchestrator,
                        "Lock token invalid, expired, or already released", token.value_or(""),
                        held.fault, held.locked_until);
    }
    store::set_turn_deadline(tables, *held.lock,
                             extension.deadline(clock->now(), held.locked_until));
    counters::add(tables.hub.schema, counters::Queue::kOrchestrator, counters::Counter::kRenewed);
}

}  // namespace belay::ops
