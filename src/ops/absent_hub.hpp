// A function whose schema has no hub.
#pragma once

#include "pg/pg.hpp"

namespace belay::ops {

// Raises QB017 on a node of Citus that is not the coordinator: what has left the functions there is
// a hub that was brought back, and the coordinator has it, or knows. Raises 42P13 elsewhere.
[[noreturn]] void raise_absent_hub(Oid schema);

}  // namespace belay::ops
