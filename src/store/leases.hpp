// Leases of a whole hub.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// How many leases are live by the server's clock.
int64 count_live_leases(const Hub& hub);

}  // namespace belay::store
