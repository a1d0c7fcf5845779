// Transactions that have drawn positions of a hub's events and not ended yet.
//
// Positions are drawn in one order and committed in another. A transaction registers the last
// position drawn before its own first one; a reader who delivers no position above the lowest that
// is registered skips nothing. Without shared memory nobody is registered.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The last position drawn from the sequence; 0 if none was.
int64 last_position(Oid sequence);

// Registers this transaction, once. Call it before the first position of the hub is drawn.
void register_event_writer(Oid hub, Oid sequence);

struct EventHorizon {
    bool exact;        // else some writer is not registered: only xids tell what has ended
    int64 position;    // all writers up to it have ended
    int32 writer_pid;  // who holds it back; 0: nobody, or a prepared transaction
};

// Take the snapshot that is to see the events afterwards. Writers that were prepared before the
// server's start are not known here.
EventHorizon event_horizon(Oid hub, Oid sequence);

// Makes the shared piece and the callback, which runs before anybody is woken by the commit. Called
// once, from _PG_init.
void install_event_writers();

}  // namespace belay::pg
