// What a stored lease means, and how attempts are counted.
#pragma once

#include <cstdint>

#include "core/time.hpp"
#include <limits>

namespace belay::core {

// The lease columns of a row. No lease: locked_until is 0 and both halves of the nonce are 0.
struct Lease {
    int64_t locked_until = 0;
    int32_t incarnation = 0;
    uint64_t nonce_hi = 0;
    uint64_t nonce_lo = 0;

    bool operator==(const Lease&) const = default;
};

// True while the deadline lies ahead and the lease was granted in this incarnation. Not live is
// expired: there is no third state, so a row is either ackable or fetchable.
constexpr bool is_live(const Lease& lease, int32_t incarnation, int64_t now_ms) {
    return lease.locked_until > now_ms && lease.incarnation == incarnation;
}

// True if there is a lease and a token with these numbers is the one it was granted with. A
// released row matches nothing, not even a forged token full of zeros. Says nothing about the
// deadline.
constexpr bool matches(const Lease& lease, int32_t incarnation, uint64_t nonce_hi,
                       uint64_t nonce_lo) {
    const bool has_lease = lease.locked_until != 0 && (lease.nonce_hi != 0 || lease.nonce_lo != 0);
    // Without a branch between the halves: how long it takes reveals nothing about the nonce.
    const uint64_t difference = (lease.nonce_hi ^ nonce_hi) | (lease.nonce_lo ^ nonce_lo);
    return has_lease && lease.incarnation == incarnation && difference == 0;
}

// Why a token does not open its lease.
enum class LeaseFault { kNone, kUnknown, kExpired, kLeasedAgain, kGone, kOtherIncarnation };

// The word for the fault in the DETAIL of an error; "none" for kNone.
const char* code_detail(LeaseFault fault);

// The same as a clause, for a message that names the lease: "it has expired".
const char* clause(LeaseFault fault);

// The attempt count after a fetch. It stops at the largest integer.
constexpr int32_t next_attempt(int32_t attempt) {
    return attempt == std::numeric_limits<int32_t>::max() ? attempt : attempt + 1;
}

// The attempt count after an abandon that ignores the attempt. It is never below 0.
constexpr int32_t previous_attempt(int32_t attempt) {
    return attempt > 0 ? attempt - 1 : 0;
}

// By how much a renewal moves a deadline.
struct Extension {
    int64_t ms;
    bool never_earlier;  // the later of the old deadline and the new one counts

    constexpr int64_t deadline(int64_t now, int64_t locked_until) const {
        const int64_t moved = add_ms(now, ms);
        return never_earlier && locked_until > moved ? locked_until : moved;
    }
};

}  // namespace belay::core
