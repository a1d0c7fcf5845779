// Transactions that have drawn positions of a hub's events and not ended yet.
//
// Positions are drawn in one order and committed in another. A transaction registers the last
// position drawn before its own first one; a reader that delivers no position above the lowest that
// is registered skips nothing. Without shared memory no transaction is registered.
#pragma once

#include "pg/pg.hpp"
#include "pg/transactions.hpp"

namespace belay::event_writers {

// The last position drawn from the sequence; 0 if none was.
int64 last_position(Oid sequence);

// Registers this transaction, once. Call it before the first position of the hub is drawn.
void add(Oid hub, Oid sequence);

struct Horizon {
    bool exact;        // else some writer is not registered: only xids show what has ended
    int64 position;    // all writers up to it have ended
    int32 writer_pid;  // which process holds it back; 0: none, or a prepared transaction
};

// Take the snapshot that is to see the events afterwards. Writers that were prepared before the
// server's start are not known here.
Horizon horizon(Oid hub, Oid sequence);

// Adds the shared piece. Called once, from _PG_init.
void install();

// Takes the transaction off the list when it has ended.
extern const pg::Participant kParticipant;

}  // namespace belay::event_writers
