// The versions that a client supports, against the version that an execution is pinned to.
#pragma once

#include <algorithm>

#include "pg/pg.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::ops {

// Both ends included, packed as major · 10^6 + minor · 10^3 + patch; absent: open on that side.
struct VersionRange {
    std::optional<int64> min;
    std::optional<int64> max;
};

// The empty range lets no instance pass, not even one without a pin.
inline bool is_empty(const VersionRange& range) {
    return range.min && range.max && *range.min > *range.max;
}

// Whether a pin matters at all.
inline bool asks_for_pins(const VersionRange& range) {
    return range.min || range.max;
}

// A negative bound is below every version.
inline store::Pin unpack_version(int64 packed) {
    if (packed < 0) {
        return {-1, 0, 0};
    }
    const int64 major = std::min<int64>(packed / 1000000, PG_INT32_MAX);
    return {static_cast<int32>(major), static_cast<int32>(packed / 1000 % 1000),
            static_cast<int32>(packed % 1000)};
}

inline bool passes(const VersionRange& range, const std::optional<store::Pin>& pin) {
    if (!pin) {
        return true;
    }
    return (!range.min || *pin >= unpack_version(*range.min)) &&
           (!range.max || *pin <= unpack_version(*range.max));
}

}  // namespace belay::ops
