// The words for what is wrong with a lease: for the DETAIL and the message of an error.
//
// Touches  nothing
// Must not decide whether a lease is live; core/transitions/ does
#include "core/lease.hpp"

namespace belay::core {

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

const char* clause(LeaseFault fault) {
    switch (fault) {
        case LeaseFault::kNone:
            return "it is held";
        case LeaseFault::kUnknown:
            return "it was abandoned, or never granted";
        case LeaseFault::kExpired:
            return "it has expired";
        case LeaseFault::kLeasedAgain:
            return "its work has been leased again";
        case LeaseFault::kGone:
            return "its work was acked, cancelled, deleted or leased again";
        case LeaseFault::kOtherIncarnation:
            return "it is of another incarnation of the hub";
    }
    return "it was never granted";
}

}  // namespace belay::core
