// The background processes: a launcher for the server, a worker for each database.
#pragma once

#include "pg/pg.hpp"

namespace belay::worker {

// Registers the launcher and the hook that makes room for commands on databases. Called from
// _PG_init while the postmaster loads its libraries.
void install_launcher();
void install_drop_guard();

}  // namespace belay::worker
