// Locks on hashed keys, in PostgreSQL's lock table.
//
// Touches  the lock table
// Must not use the sub-ids of advisory locks: an application has those
#include "pg/locks.hpp"

#include "core/hash.hpp"
#include "pg/compat.hpp"

namespace belay::pg {

namespace {

LOCKTAG make_tag(LockSpace space, uint64 key) {
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(key >> 32),
                         static_cast<uint32>(key), static_cast<uint16>(space));
    return tag;
}

LOCKTAG hub_tag(LockSpace space, Oid hub, uint64 key) {
    return make_tag(space, key ^ (static_cast<uint64>(hub) * 0x9e3779b97f4a7c15ULL));
}

}  // namespace

void lock_name(LockSpace space, std::string_view name) {
    const LOCKTAG tag = make_tag(space, core::fnv1a64(name));
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    // What the former holder committed is seen from here on.
    AcceptInvalidationMessages();
}

bool try_lock_for_session(LockSpace space) {
    const LOCKTAG tag = make_tag(space, 0);
    return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

bool try_lock_key(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

void lock_key(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
}

bool is_key_locked(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    int holders = 0;
    (void)GetLockConflicts(&tag, ExclusiveLock, &holders);
    return holders > 0;
}

LockKey key_of_lock(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    return {tag.locktag_field2, tag.locktag_field3, tag.locktag_field4};
}

bool try_lock_key_for_session(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

void unlock_key_of_session(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    (void)LockRelease(&tag, ExclusiveLock, true);
}

void unlock_key(LockSpace space, Oid hub, uint64 key) {
    const LOCKTAG tag = hub_tag(space, hub, key);
    (void)LockRelease(&tag, ExclusiveLock, false);
}

bool try_lock_instance(Oid hub, int64 instance_key) {
    if (!try_lock_key(LockSpace::kInstance, hub, static_cast<uint64>(instance_key))) {
        return false;
    }
    const LOCKTAG all = hub_tag(LockSpace::kAllInstances, hub, 0);
    if (LockAcquire(&all, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL) {
        unlock_key(LockSpace::kInstance, hub, static_cast<uint64>(instance_key));
        return false;
    }
    return true;
}

void lock_instance(Oid hub, int64 instance_key) {
    lock_key(LockSpace::kInstance, hub, static_cast<uint64>(instance_key));
    const LOCKTAG all = hub_tag(LockSpace::kAllInstances, hub, 0);
    (void)LockAcquire(&all, ShareLock, false, false);
}

void unlock_instance(Oid hub, int64 instance_key) {
    const LOCKTAG all = hub_tag(LockSpace::kAllInstances, hub, 0);
    (void)LockRelease(&all, ShareLock, false);
    unlock_key(LockSpace::kInstance, hub, static_cast<uint64>(instance_key));
}

void lock_all_instances(Oid hub) {
    const LOCKTAG all = hub_tag(LockSpace::kAllInstances, hub, 0);
    (void)LockAcquire(&all, ExclusiveLock, false, false);
}

bool try_lock_all_instances(Oid hub) {
    const LOCKTAG all = hub_tag(LockSpace::kAllInstances, hub, 0);
    return LockAcquire(&all, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

namespace {

// Citus uses sub-ids of its own beside those of advisory locks: 8 for the metadata of the shards
// of a colocation group. A schema has one shard of each table, number 0.
LOCKTAG tag_of_placements(uint32 colocation) {
    constexpr uint16 kColocatedShardsMetadata = 8;
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, colocation, kColocatedShardsMetadata);
    return tag;
}

}  // namespace

bool hold_placements(uint32 colocation, bool wait) {
    const LOCKTAG tag = tag_of_placements(colocation);
    return LockAcquire(&tag, ShareLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

bool hold_placements_alone(uint32 colocation, bool wait) {
    const LOCKTAG tag = tag_of_placements(colocation);
    return LockAcquire(&tag, ExclusiveLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

bool are_placements_free(uint32 colocation) {
    const LOCKTAG tag = tag_of_placements(colocation);
    int holders = 0;
    (void)GetLockConflicts(&tag, ShareLock, &holders);
    return holders == 0;
}

bool holds_placements(uint32 colocation) {
    const LOCKTAG tag = tag_of_placements(colocation);
    return holds_lock(tag, ShareLock);
}

}  // namespace belay::pg
