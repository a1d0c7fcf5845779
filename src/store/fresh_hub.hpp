// A hub as its row says now.
//
// Whoever is woken by a commit may be faster than the commit's invalidations: its callbacks run
// before they are sent. What was woken for the end of a pause must not believe the cache.
#pragma once

#include "store/hub.hpp"

namespace belay::store {

// The hub, read again; null if it is gone.
inline const Hub* fresh_hub(const Hub& hub) {
    const_cast<Hub&>(hub).stale = true;
    return find_hub(hub.schema, true);
}

}  // namespace belay::store
