// The fault points that every direct access passes.
#pragma once

#include "pg/faults.hpp"

namespace belay::store {

inline void pass_faults(pg::FaultPoint point) {
    pg::fail_here(point);
    pg::pass_store_faults();
}

}  // namespace belay::store
