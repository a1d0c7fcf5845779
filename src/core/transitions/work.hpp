// The rules of a work item's row: when it may be taken, which token opens its lease, and what a
// lease, a renewal and a release make of it.
//
// Pure: rows in, rows out. The store reads a row, asks here, and writes the answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/lease.hpp"
#include "core/token.hpp"

namespace belay::core {

// What the rules know of a row. due is 0 for an item that was never delayed, else the time from
// which it may be taken.
struct WorkState {
    int64_t due = 0;
    Lease lease;
    int32_t attempt = 0;

    bool operator==(const WorkState&) const = default;
};

// The due time that a delay writes. It is part of the row's key: 0 would mean never delayed.
constexpr int64_t delayed_due(int64_t visible_at) {
    return std::max<int64_t>(visible_at, 1);
}

// From when on the row may be taken: it is due, and no lease of this incarnation is live.
constexpr int64_t free_at(const WorkState& row, int32_t incarnation) {
    return row.lease.incarnation == incarnation ? std::max(row.due, row.lease.locked_until)
                                                : row.due;
}

// Whether the row has no live lease. It may not be due yet.
constexpr bool is_unleased(const WorkState& row, int32_t incarnation, int64_t now) {
    return !is_live(row.lease, incarnation, now);
}

// Why the token does not open the row's lease; kNone if it does. A token of another incarnation
// opens nothing, regardless of the row.
constexpr LeaseFault fault_of(const WorkToken& token, const WorkState& row, int32_t incarnation,
                              int64_t now) {
    if (token.incarnation != incarnation) {
        return LeaseFault::kOtherIncarnation;
    }
    if (!matches(row.lease, token.incarnation, token.nonce_hi, token.nonce_lo)) {
        return row.lease.locked_until != 0 ? LeaseFault::kLeasedAgain : LeaseFault::kUnknown;
    }
    return is_live(row.lease, incarnation, now) ? LeaseFault::kNone : LeaseFault::kExpired;
}

// A fetch: the row is leased once more.
constexpr WorkState leased(const WorkState& row, const Lease& lease) {
    return {.due = row.due, .lease = lease, .attempt = next_attempt(row.attempt)};
}

// A renewal: only the deadline moves.
constexpr WorkState renewed(const WorkState& row, int64_t locked_until) {
    WorkState after = row;
    after.lease.locked_until = locked_until;
    return after;
}

// An abandon: the row is free, and with a delay it is due later.
constexpr WorkState released(const WorkState& row, int32_t attempt,
                             std::optional<int64_t> visible_at) {
    return {.due = visible_at ? delayed_due(*visible_at) : row.due,
            .lease = Lease{},
            .attempt = attempt};
}

}  // namespace belay::core
