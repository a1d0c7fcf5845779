// What any session may say to the background worker of its database, and to the launcher.
//
// Without shared memory it is not heard; the worker then finds out by itself, within
// belay.reconcile_interval. Must not decide about rows: a bell is a hint.
#pragma once

#include "pg/pg.hpp"
#include "pg/transactions.hpp"

namespace belay::signals {

// Why the worker is woken: bits.
enum class Bell : uint32 {
    kHubs = 1 << 0,       // hubs came or went, or the extension did
    kReady = 1 << 1,      // something may be ready: with belay.notify the worker notifies listeners
    kLinks = 1 << 2,      // links to hubs of other databases were made or dropped
    kSchedules = 1 << 3,  // a schedule was made or resumed
    kCascade = 1 << 4,    // a flow has left something to duties
};

// Wakes the worker of this database: now, or when the transaction has committed.
void wake_worker(Bell bell);
void wake_worker_at_commit(Bell bell);

// Notifies the worker of this database, when the transaction has committed, that the hub has
// something to deliver to other hubs.
void wake_relay_at_commit(Oid hub);

// Asks the launcher, when the transaction has committed, to look whether the database needs a
// worker.
void want_worker_at_commit(Oid database);

// Rings the worker and the launcher, and lets databases go, when the transaction's locks are gone.
extern const pg::Participant kParticipant;

}  // namespace belay::signals
