// The fault points that every direct access passes.
#pragma once

#include "pg/faults.hpp"

namespace belay::store {

inline void pass_faults(pg::FaultPoint point) {
    pg::fail_here(point);
    pg::fail_here(pg::FaultPoint::kStoreCall);
}

}  // namespace belay::store
