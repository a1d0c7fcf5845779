// hold_work.cpp — from a token to its row.
//
// Calls    store::lock_work
// Touches  <hub>.worker_queue
// Locks    the worker row; waits for it
// Raises   nothing: the result says why a lease is lost
#include "core/transitions/work.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "shmem/counters.hpp"
#include "shmem/mutants.hpp"

namespace belay::ops {

namespace {

HeldWork find_work(store::Tables& tables, std::optional<std::string_view> token, pg::Clock* clock) {
    const auto parsed = token ? core::decode_work_token(*token) : std::nullopt;
    if (!parsed) {
        return {std::nullopt, core::LeaseFault::kUnknown, 0};
    }
    if (parsed->incarnation != tables.hub.incarnation) {
        return {std::nullopt, core::LeaseFault::kOtherIncarnation, 0};
    }
    const auto row = store::lock_work(tables, store::key_of(parsed), clock);
    if (!row) {
        return {std::nullopt, core::LeaseFault::kGone, 0};
    }
    const auto fault = core::fault_of(*parsed, row->state(), tables.hub.incarnation, clock->now());
    if (fault != core::LeaseFault::kNone && mutants::strikes(mutants::Mutant::kLeaseAnyToken)) {
        return {row, core::LeaseFault::kNone, row->lease.locked_until};
    }
    if (fault == core::LeaseFault::kLeasedAgain || fault == core::LeaseFault::kUnknown) {
        return {std::nullopt, fault, 0};
    }
    return {row, fault, row->lease.locked_until};
}

}  // namespace

HeldWork hold_work(store::Tables& tables, std::optional<std::string_view> token, pg::Clock* clock) {
    const HeldWork held = find_work(tables, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kLostLeases);
    }
    return held;
}

}  // namespace belay::ops
