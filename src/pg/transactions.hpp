// The one registration with PostgreSQL's transaction manager.
//
// A subsystem that has something to do when a transaction ends is a participant. belay.cpp holds
// the array of all of them, in the order in which they run, with the reason for each place.
//
// This file must not know any participant, and nothing else in belay may register callbacks of
// transactions: test/lint/layers.sh checks it.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

enum class Ending { kCommit, kPrepare, kAbort, kSubtransactionAbort };

// What a participant does, and when; null: nothing.
struct Participant {
    // The transaction is about to commit or to be prepared; deferred triggers have run. An ERROR
    // aborts it.
    void (*before_end)(Ending ending);
    // It has committed, was prepared, or has aborted. Its rows are visible, its heavyweight locks
    // are still held, and invalidations are not sent yet. Must not raise.
    void (*at_end)(Ending ending);
    // A subtransaction ends. The nest level is still its own. Must not raise.
    void (*at_subtransaction_end)(bool commits);
    // The locks are gone. This is the place to wake other sessions: woken earlier, they could find
    // a key still taken or a queue still paused, and go back to sleep. Also called when a
    // subtransaction has aborted, at its nest level. Must not raise.
    void (*after_locks)(Ending ending);
};

// Registers the participants, permanently. Called once, from _PG_init.
void install_participants(std::span<const Participant* const> in_order);

}  // namespace belay::pg
