// The shared memory of the claim cursors: a table of cursors per partition, the entries of a cursor
// as a search tree, and a pool of entries. For the files of cursors alone.
//
// Everything takes constant or logarithmic time. A cursor that is forgotten releases its entries
// as the tree that they are: the pool is a list of trees, and who takes an entry takes a root and
// leaves its subtrees.
//
// Touches belay's shared memory only. Locks: one partition at a time, held for a moment; the pool
// is under a spinlock of its own, below it. A prepared transaction is asked for under a
// partition's lock, which takes ProcArrayLock.
#pragma once

#include "core/time.hpp"
#include "shmem/cursors.hpp"
#include "shmem/shared_memory.hpp"
#include "shmem/table.hpp"
#include "shmem/tree.hpp"

namespace belay::cursors {

inline constexpr int kPartitions = 16;
inline constexpr int kRing = 64;
inline constexpr int kHolds = 64;             // per partition
inline constexpr int64 kHeld = core::kNever;  // a transaction that runs has leased the row
using shmem::kNone;

// What a cursor is known by: its key without the life.
struct Name {
    Oid database;
    Oid table;
    int32 lane;
    int16 slot;
    int16 delayed;
};
inline Name name_of(const CursorKey& key) {
    return {key.database, key.table, key.lane, key.slot, key.delayed};
}

struct Cursor {
    int32 life;
    int32 root;  // of its entries
    bool settled;
    TimestampTz made;
    TimestampTz checked;
    Place position;
    uint64 version;  // ring[version % kRing] comes next
    uint64 changes;
    RowHint head;  // of the row at the position
    Place ring[kRing];
};
using Cursors = shmem::Table<Name, Cursor>;

// A live row below the position, or one that was. Its weight in the tree is free_at.
struct Entry {
    Place place;
    int64 free_at;
    uint64 stamp;  // changes with everything that is done to the entry
    shmem::TreeLinks links;
    RowHint hint;
};

// A prepared transaction ends where no callback runs: no cursor passes its rows before that.
struct Hold {
    TransactionId xid;
    int32 cursor;
    Place place;
};

struct Partition {
    LWLock lock;
    TimestampTz last_made;  // of its cursors: none has the same time as another
    int hold_count;
    uint64 stamps;
    Hold holds[kHolds];
};

// Where a cursor is, or would be. The partition's lock is held while it is looked at.
struct Spot {
    Partition* partition;
    Cursors* cursors;
    uint64 hash;
};

// Whether there is shared memory. Nothing below is called without.
bool is_shared();

Spot spot_of(const Name& name);
// The partition of that number.
Spot spot_at(int partition);
inline Cursor* find_cursor(const Spot& spot, const Name& name) {
    return spot.cursors->find(name, spot.hash);
}
// Forgets one that was not used for long, if there is no room.
Cursor* make_cursor(const Spot& spot, const CursorKey& key);
// Forgets what is known. New numbers are none that an earlier view can have.
void reset_cursor(Cursor* cursor);
// As if it were new: it stays where it is until nothing that was prepared before is left.
void unsettle(const Spot& spot, Cursor* cursor);

// ---- Entries ----

Entry* find_entry(const Cursor& cursor, const Place& place);
// Null: there is no room.
Entry* add_entry(const Spot& spot, Cursor* cursor, const Place& place, int64 free_at,
                 const RowHint& hint);
void drop_entry(Cursor* cursor, Entry* entry);
void set_entry(const Spot& spot, Entry* entry, int64 free_at);
// When the first row with an entry may be taken; whether a transaction that runs has leased one.
int64 next_free(const Cursor& cursor);
bool has_held(const Cursor& cursor);
// The first entry behind a place whose row may be taken at that time, or with_held is leased by a
// transaction that runs; null if there is none.
const Entry* next_entry(const Cursor& cursor, const Place& after, int64 now, bool with_held);

// ---- The position ----

// Puts the position back, and keeps those who are on their way from passing that place.
void rewind(Cursor* cursor, const Place& place, const RowHint& hint = {});
// How far a walk may move the cursor that has read it at that version.
Place limit_since(const Cursor& cursor, uint64 version, Place place);
// The row may be taken at that time, or earlier than its entry says.
void set_free(const Spot& spot, Cursor* cursor, const Place& place, int64 free_at);

// Ends the holds of transactions that have ended. The position is not above their places; walks
// with an earlier snapshot must not pass them either.
void end_holds(const Spot& spot);
void hold_at(const Spot& spot, Cursor* cursor, TransactionId xid, const Place& place);

// ---- Locking ----

// Lends body(spot, cursor) the cursor, if there is one, under the lock of its partition.
template <typename Body>
void with_part(const CursorKey& key, LWLockMode mode, Body body) {
    if (!is_shared()) {
        return;
    }
    const Name name = name_of(key);
    const Spot spot = spot_of(name);
    LWLockAcquire(&spot.partition->lock, mode);
    if (Cursor* cursor = find_cursor(spot, name)) {
        body(spot, cursor);
    }
    LWLockRelease(&spot.partition->lock);
}

// The same, if its life is ours.
template <typename Body>
void with_cursor(const CursorKey& key, LWLockMode mode, Body body) {
    with_part(key, mode, [&](const Spot& spot, Cursor* cursor) {
        if (cursor->life == key.life) {
            body(spot, cursor);
        }
    });
}

// Calls visit(spot, name, cursor) for every cursor of this database, for what is rare.
template <typename Visit>
void each_cursor(LWLockMode mode, Visit visit) {
    for (int i = 0; is_shared() && i < kPartitions; ++i) {
        const Spot spot = spot_at(i);
        LWLockAcquire(&spot.partition->lock, mode);
        spot.cursors->each([&](const Name& name, Cursor* cursor) {
            if (name.database == MyDatabaseId) {
                visit(spot, name, cursor);
            }
        });
        LWLockRelease(&spot.partition->lock);
    }
}

}  // namespace belay::cursors
