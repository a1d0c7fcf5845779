#include "core/lease.hpp"

namespace belay::core {

bool matches(const Lease& lease, int32_t incarnation, uint64_t nonce_hi, uint64_t nonce_lo) {
    bool has_lease = lease.locked_until != 0 && (lease.nonce_hi != 0 || lease.nonce_lo != 0);
    // Without a branch between the halves: how long it takes tells nothing of the nonce.
    const uint64_t difference = (lease.nonce_hi ^ nonce_hi) | (lease.nonce_lo ^ nonce_lo);
    return has_lease && lease.incarnation == incarnation && difference == 0;
}

const char* code_detail(LeaseFault fault) {
    switch (fault) {
        case LeaseFault::kNone:
            return "none";
        case LeaseFault::kUnknown:
            return "unknown";
        case LeaseFault::kExpired:
            return "expired";
        case LeaseFault::kLeasedAgain:
            return "leased_again";
        case LeaseFault::kGone:
            return "gone";
        case LeaseFault::kOtherIncarnation:
            return "other_incarnation";
    }
    return "unknown";
}

}  // namespace belay::core
