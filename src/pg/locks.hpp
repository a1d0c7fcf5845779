// Locks on hashed keys, for what has no row yet.
//
// They live in PostgreSQL's lock table with a sub-id of our own, so they never meet the advisory
// locks of an application. They are held until the transaction ends, unless
// they are given back.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

enum class LockSpace : uint16 {
    kHubName = 0xbe01,
    kSession = 0xbe02,
    kInstance = 0xbe03,
};

// Waits for the lock on a name.
void lock_name(LockSpace space, std::string_view name);

// Takes the lock on a key of a hub: if nobody has it; or after waiting.
bool try_lock_key(LockSpace space, Oid hub, uint64 key);
void lock_key(LockSpace space, Oid hub, uint64 key);

// Gives a lock on a key back before the transaction ends.
void unlock_key(LockSpace space, Oid hub, uint64 key);

}  // namespace belay::pg
