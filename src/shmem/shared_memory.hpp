// The shared memory of belay: pieces that the parts of belay add, one after the other.
//
// Preloaded, the pieces lie in the server's own shared memory. PostgreSQL 17 and later give them a
// segment of their own at the first use, without preloading. Otherwise there is none: every part
// has to do without.
#pragma once

#include "pg/pg.hpp"

namespace belay::shmem {

struct Piece {
    // How many bytes the piece needs.
    Size (*bytes)();
    // Fills a new piece; called once per server start.
    void (*init)(void* piece);
    // Sets where the piece is for this process.
    void (*use)(void* piece);
};

// Adds a piece. Called from _PG_init, before install_shared_memory.
void add_piece(const Piece& piece);

// Installs the hooks that reserve and initialise the pieces. Called from _PG_init while the
// postmaster loads its libraries.
void install();

// Whether the postmaster has loaded the library.
bool is_preloaded();

// Whether the pieces are there. Asks for a segment if the server can give one later.
bool attach();

// Since when there are pieces. A crash of a backend clears them without a new postmaster.
TimestampTz since();

// The tranche of belay's LWLocks, for the piece's init.
int lock_tranche();

}  // namespace belay::shmem
