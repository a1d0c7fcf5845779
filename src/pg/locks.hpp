// Locks on hashed keys, for what has no row yet.
//
// They live in PostgreSQL's lock table with a sub-id of our own, so they never meet the advisory
// locks of an application. They are held until the transaction ends, unless
// they are released.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

enum class LockSpace : uint16 {
    kHubName = 0xbe01,
    kSession = 0xbe02,
    kInstance = 0xbe03,
    kAllInstances = 0xbe04,  // shared: one instance's key is held; alone: all of them
    kRemoval = 0xbe05,       // one removal of instances at a time
    kSubscription = 0xbe06,
    kSlots = 0xbe07,             // the slots of a queue
    kIntentTarget = 0xbe08,      // delivery of a hub's intents to one target
    kQueue = 0xbe09,             // of a queue that has no row yet
    kQueueLimit = 0xbe0b,        // the places of a queue, while they are counted
    kTask = 0xbe0a,              // the id of a task that is about to be inserted
    kStatMinutes = 0xbe0c,       // the recording of what happened in a hub
    kBackgroundWorker = 0xbe10,  // one in a database
};

// Waits for the lock on a name.
void lock_name(LockSpace space, std::string_view name);

// Takes the database's one lock of that space until the session ends, if no other session has it.
bool try_lock_for_session(LockSpace space);

// Takes the lock on a key of a hub: only if it is free; or after waiting.
bool try_lock_key(LockSpace space, Oid hub, uint64 key);
void lock_key(LockSpace space, Oid hub, uint64 key);
// Whether another session has it now. Takes nothing.
bool is_key_locked(LockSpace space, Oid hub, uint64 key);

// How view pg_locks names the lock on a key: it is of type advisory.
struct LockKey {
    Oid classid;
    Oid objid;
    uint16 objsubid;
};
LockKey key_of_lock(LockSpace space, Oid hub, uint64 key);

// The same until the session ends or releases it, over transactions. Needs no transaction to be
// released.
bool try_lock_key_for_session(LockSpace space, Oid hub, uint64 key);
void unlock_key_of_session(LockSpace space, Oid hub, uint64 key);

// Gives a lock on a key back before the transaction ends.
void unlock_key(LockSpace space, Oid hub, uint64 key);

// The exclusion of an instance that has no lock row: its key, and the hub's own shared. A call that
// needs very many keys takes the hub's alone instead.
bool try_lock_instance(Oid hub, int64 instance_key);
void lock_instance(Oid hub, int64 instance_key);
void unlock_instance(Oid hub, int64 instance_key);
void lock_all_instances(Oid hub);
bool try_lock_all_instances(Oid hub);

// The lock by which Citus holds off writers of colocated shards while it changes where they are;
// shared, as its own writers take it.
bool hold_placements(uint32 colocation, bool wait);
bool holds_placements(uint32 colocation);
// The same lock as Citus takes it.
bool hold_placements_alone(uint32 colocation, bool wait);
// Whether it could be had now, shared. Takes nothing.
bool are_placements_free(uint32 colocation);

}  // namespace belay::pg
