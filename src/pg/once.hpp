// What a session says once only.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// Whether this session is asked for the key for the first time. It remembers 64 keys; when they
// are used up, every other key counts as known.
bool is_first(uint64 key);

}  // namespace belay::pg
