// Bells: what a transaction says to the background worker of its database, and to the launcher.
//
// Touches the registry in shared memory, and latches of workers and of the launcher. Locks: the
// registry's. Must not raise after the end of a transaction.
#include "shmem/signals.hpp"

#include "shmem/registry_state.hpp"

namespace belay::signals {

namespace {

using registry::RelayCalls;
using registry::ring;
using registry::serves_here;
using registry::shared;
using registry::Wanted;
using registry::WorkerSlot;

// What the current transaction says when it ends.
constinit uint32 pending_bells = 0;
constexpr int kMostPending = 8;
constinit Oid pending_wanted[kMostPending] = {};
constinit int pending_count = 0;
constinit RelayCalls pending_relay{};

// Where the slot of this database's worker was last found.
constinit std::size_t last_found = 0;

// The slot of this database's worker, or null. The lock is held.
WorkerSlot* worker_here() {
    const auto slots = registry::slots();
    if (last_found < slots.size() && serves_here(slots[last_found])) {
        return &slots[last_found];
    }
    for (WorkerSlot& slot : slots) {
        if (serves_here(slot)) {
            last_found = static_cast<std::size_t>(&slot - slots.data());
            return &slot;
        }
    }
    return nullptr;
}

// The lock is held.
void add_wanted(Oid database) {
    Wanted& wanted = shared->wanted;
    for (int i = 0; i < wanted.count; ++i) {
        if (wanted.databases[i] == database) {
            return;
        }
    }
    if (wanted.count == lengthof(wanted.databases)) {
        wanted.all = true;
        return;
    }
    wanted.databases[wanted.count++] = database;
}

void add_call(RelayCalls* calls, Oid hub) {
    for (int i = 0; i < calls->count; ++i) {
        if (calls->hubs[i] == hub) {
            return;
        }
    }
    if (calls->count == lengthof(calls->hubs)) {
        calls->all = true;
        return;
    }
    calls->hubs[calls->count++] = hub;
}

// Lets the launcher know that the database without a worker has something to do. The lock is held.
void call_launcher() {
    for (int i = 0; i < shared->waiting_count; ++i) {
        if (shared->waiting[i].database == MyDatabaseId) {
            pg_atomic_write_u32(&shared->waiting[i].called, 1);
        }
    }
}

// Passes on what the transaction has for other hubs. The lock is held.
void call_relay() {
    WorkerSlot* slot = worker_here();
    if (slot == nullptr) {
        call_launcher();
        return;
    }
    for (int i = 0; i < pending_relay.count; ++i) {
        add_call(&slot->relay_calls, pending_relay.hubs[i]);
    }
    slot->relay_calls.all = slot->relay_calls.all || pending_relay.all;
    ring(slot->procno);
}

void after_locks(pg::Ending ending) {
    if (ending == pg::Ending::kSubtransactionAbort || shared == nullptr ||
        (pending_bells == 0 && pending_count == 0 && !registry::has_holds() &&
         pending_relay.count == 0)) {
        return;
    }
    const bool commits = ending != pg::Ending::kAbort;
    const uint32 bells = pending_bells;
    if (commits && pending_relay.count > 0) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        call_relay();
        LWLockRelease(&shared->lock);
    }
    pending_relay = {};
    if (registry::has_holds() || (commits && pending_count > 0)) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        registry::release_holds(commits);
        for (int i = 0; commits && i < pending_count; ++i) {
            add_wanted(pending_wanted[i]);
        }
        const int launcher = shared->launcher_procno;
        LWLockRelease(&shared->lock);
        ring(launcher);
    }
    pending_bells = 0;
    pending_count = 0;
    if (commits && bells != 0) {
        wake_worker(static_cast<Bell>(bells));
    }
}

}  // namespace

constinit const pg::Participant kParticipant{
    .before_end = nullptr,
    .at_end = nullptr,
    .at_subtransaction_end = nullptr,
    .after_locks = after_locks,
};

void wake_worker(Bell bell) {
    if (shared == nullptr) {
        return;
    }
    LWLockAcquire(&shared->lock, LW_SHARED);
    if (WorkerSlot* slot = worker_here()) {
        pg_atomic_fetch_or_u32(&slot->bells, static_cast<uint32>(bell));
        ring(slot->procno);
    } else {
        call_launcher();
    }
    LWLockRelease(&shared->lock);
}

void wake_worker_at_commit(Bell bell) {
    pending_bells |= static_cast<uint32>(bell);
}

void wake_relay_at_commit(Oid hub) {
    add_call(&pending_relay, hub);
}

void want_worker_at_commit(Oid database) {
    for (int i = 0; i < pending_count; ++i) {
        if (pending_wanted[i] == database) {
            return;
        }
    }
    if (pending_count < kMostPending) {
        pending_wanted[pending_count++] = database;
    }
}

}  // namespace belay::signals
