// hold_work.cpp — from a token to its row, and the error if it does not lead there.
//
// Calls    store::try_lock_work, store::lock_work
// Touches  <hub>.worker_queue
// Locks    the worker row; waits for it
// Raises   QB001 lock lost
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/counters.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"

namespace belay::ops {

void raise_lock_lost(const char* message, std::string_view token, core::LeaseFault fault,
                     int64 locked_until) {
    pg::Facts facts(core::code_detail(fault));
    facts.add_token("lock_token", token);
    if (fault == core::LeaseFault::kExpired) {
        facts.add("locked_until", locked_until);
    }
    pg::raise(pg::kLockLost, message, facts,
              "Stop working on this item: if work remains it is delivered again.");
}

namespace {

HeldWork find_work(const store::Hub& hub, std::optional<std::string_view> token, pg::Clock* clock) {
    const auto parsed = token ? core::decode_work_token(*token) : std::nullopt;
    if (!parsed) {
        return {std::nullopt, core::LeaseFault::kUnknown, 0};
    }
    if (parsed->incarnation != hub.incarnation) {
        return {std::nullopt, core::LeaseFault::kOtherIncarnation, 0};
    }
    const store::WorkKey key = store::key_of(parsed);
    auto row = store::try_lock_work(hub, key);
    if (!row && store::work_exists(hub, key)) {
        clock->mark_waited();
        row = store::lock_work(hub, key);
    }
    if (!row) {
        return {std::nullopt, core::LeaseFault::kGone, 0};
    }
    if (!core::matches(row->lease, parsed->incarnation, parsed->nonce_hi, parsed->nonce_lo)) {
        if (pg::fault(pg::FaultPoint::kLeaseAnyToken)) {
            return {row, core::LeaseFault::kNone, row->lease.locked_until};
        }
        const bool leased = row->lease.locked_until != 0;
        return {std::nullopt, leased ? core::LeaseFault::kLeasedAgain : core::LeaseFault::kUnknown,
                0};
    }
    const bool live = core::is_live(row->lease, hub.incarnation, clock->now()) ||
                      pg::fault(pg::FaultPoint::kLeaseAnyToken);
    return {row, live ? core::LeaseFault::kNone : core::LeaseFault::kExpired,
            row->lease.locked_until};
}

}  // namespace

HeldWork hold_work(const store::Hub& hub, std::optional<std::string_view> token, pg::Clock* clock) {
    const HeldWork held = find_work(hub, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kLostLeases);
    }
    return held;
}

}  // namespace belay::ops
