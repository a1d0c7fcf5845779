// The shared memory that belay asks for when it is preloaded.
#pragma once

namespace belay::pg {

// Installs the hooks that reserve and initialise belay's shared memory. Called from _PG_init while
// the postmaster loads its libraries.
void request_shared_memory();

}  // namespace belay::pg
