// Tables, trees and the pool of claim cursors, as cursor_table.hpp describes them.
//
// Touches belay's shared memory only. Must not: read tables, or raise while it holds a lock.
#include "shmem/cursor_table.hpp"

#include <algorithm>

#include "pg/settings.hpp"
#include "shmem/prepared_marks.hpp"

namespace belay::cursors {

namespace {

struct Shared {
    pg_atomic_uint64 births;  // of cursors, and of cursors that were reset
    slock_t pool_lock;
    int32 pool;   // the first of a list of trees, linked by the parents of their roots
    int cursors;  // per partition
    int entries;
    Partition partitions[kPartitions];
    // Cursors, one per partition; Entry[entries]
};

constinit Shared* shared = nullptr;

int cursors_per_partition() {
    return std::max(4, pg::settings.cursor_slots / kPartitions);
}

Size entries_at(int cursors) {
    return MAXALIGN(sizeof(Shared)) + kPartitions * Cursors::bytes(cursors);
}

Size cursor_bytes() {
    return entries_at(cursors_per_partition()) +
           sizeof(Entry) * static_cast<Size>(pg::settings.lease_slots);
}

Entry* entry_at(int32 number) {
    return reinterpret_cast<Entry*>(reinterpret_cast<char*>(shared) + entries_at(shared->cursors)) +
           number;
}

void* cursors_at(int partition) {
    return reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)) +
           static_cast<Size>(partition) * Cursors::bytes(shared->cursors);
}

void init_cursors(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, sizeof(Shared));
    pg_atomic_init_u64(&shared->births, 1);
    SpinLockInit(&shared->pool_lock);
    shared->cursors = cursors_per_partition();
    shared->entries = pg::settings.lease_slots;
    for (int i = 0; i < kPartitions; ++i) {
        LWLockInitialize(&shared->partitions[i].lock, shmem::lock_tranche());
        (void)Cursors::make(cursors_at(i), shared->cursors);
    }
    for (int32 i = 0; i < shared->entries; ++i) {
        *entry_at(i) = {};
        entry_at(i)->links = {kNone, kNone, i + 1 < shared->entries ? i + 1 : kNone, 0, 0};
    }
    shared->pool = 0;
}

void use_cursors(void* piece) {
    shared = static_cast<Shared*>(piece);
}

// ---------------------------------------------------------------- entries

// The entries as nodes of a tree.
struct Entries {
    shmem::TreeLinks& links(int32 entry) const { return entry_at(entry)->links; }
    bool before(int32 a, int32 b) const { return entry_at(a)->place < entry_at(b)->place; }
    int64 weight(int32 entry) const { return entry_at(entry)->free_at; }
};

int32 number_of(const Entry* entry) {
    return static_cast<int32>(entry - entry_at(0));
}

// The pool's lock is held by those who call these two.
void push_tree(int32 root) {
    entry_at(root)->links.parent = shared->pool;
    shared->pool = root;
}

int32 pop_entry() {
    const int32 entry = shared->pool;
    if (entry != kNone) {
        const shmem::TreeLinks links = entry_at(entry)->links;
        shared->pool = links.parent;
        for (const int32 subtree : {links.left, links.right}) {
            if (subtree != kNone) {
                push_tree(subtree);
            }
        }
    }
    return entry;
}

void give_back(int32 root) {
    SpinLockAcquire(&shared->pool_lock);
    push_tree(root);
    SpinLockRelease(&shared->pool_lock);
}

void drop_entries(Cursor* cursor) {
    if (cursor->root != kNone) {
        give_back(cursor->root);
        cursor->root = kNone;
    }
}

void drop_holds(Partition* partition, int32 cursor) {
    for (int i = 0; i < partition->hold_count;) {
        if (partition->holds[i].cursor == cursor) {
            partition->holds[i] = partition->holds[--partition->hold_count];
        } else {
            ++i;
        }
    }
}

}  // namespace

bool is_shared() {
    return shared != nullptr || shmem::attach();
}

Spot spot_at(int partition) {
    return {&shared->partitions[partition], static_cast<Cursors*>(cursors_at(partition)), 0};
}

Spot spot_of(const Name& name) {
    const uint64 hash = Cursors::hash(name);
    Spot spot = spot_at(static_cast<int>(hash % kPartitions));
    spot.hash = hash;
    return spot;
}

void reset_cursor(Cursor* cursor) {
    drop_entries(cursor);
    cursor->position = kFirstPlace;
    cursor->head = {};
    cursor->version = pg_atomic_add_fetch_u64(&shared->births, 1) << 24;
    cursor->changes = cursor->version;
}

void unsettle(const Spot& spot, Cursor* cursor) {
    cursor->settled = prepared_marks::is_none_open();
    cursor->made = std::max(GetCurrentTimestamp(), spot.partition->last_made + 1);
    spot.partition->last_made = cursor->made;
}

Cursor* make_cursor(const Spot& spot, const CursorKey& key) {
    Cursor* cursor = spot.cursors->insert(
        name_of(key), spot.hash, shmem::WhenFull::kForget, [&spot](const Name&, Cursor* forgotten) {
            drop_entries(forgotten);
            drop_holds(spot.partition, spot.cursors->number_of(forgotten));
        });
    cursor->life = key.life;
    cursor->root = kNone;
    unsettle(spot, cursor);
    cursor->checked = cursor->made;
    reset_cursor(cursor);
    return cursor;
}

Entry* find_entry(const Cursor& cursor, const Place& place) {
    const int32 found = shmem::tree_find(
        Entries{}, cursor.root, [&place](int32 entry) { return entry_at(entry)->place <=> place; });
    return found == kNone ? nullptr : entry_at(found);
}

Entry* add_entry(const Spot& spot, Cursor* cursor, const Place& place, int64 free_at,
                 const RowHint& hint) {
    SpinLockAcquire(&shared->pool_lock);
    const int32 number = pop_entry();
    SpinLockRelease(&shared->pool_lock);
    if (number == kNone) {
        return nullptr;
    }
    Entry* entry = entry_at(number);
    entry->place = place;
    entry->free_at = free_at;
    entry->stamp = ++spot.partition->stamps;
    entry->hint = hint;
    cursor->root = shmem::tree_insert(Entries{}, cursor->root, number);
    return entry;
}

void drop_entry(Cursor* cursor, Entry* entry) {
    const int32 number = number_of(entry);
    cursor->root = shmem::tree_remove(Entries{}, cursor->root, number);
    entry->links = {kNone, kNone, kNone, 0, 0};
    give_back(number);
}

void set_entry(const Spot& spot, Entry* entry, int64 free_at) {
    entry->free_at = free_at;
    entry->stamp = ++spot.partition->stamps;
    shmem::tree_reweigh(Entries{}, number_of(entry));
}

int64 next_free(const Cursor& cursor) {
    return cursor.root == kNone ? core::kNever : entry_at(cursor.root)->links.least;
}

bool has_held(const Cursor& cursor) {
    return cursor.root != kNone && entry_at(cursor.root)->links.most == kHeld;
}

const Entry* next_entry(const Cursor& cursor, const Place& after, int64 now, bool with_held) {
    const int32 found =
        shmem::tree_next(Entries{}, cursor.root, {now, with_held},
                         [&after](int32 entry) { return entry_at(entry)->place > after; });
    return found == kNone ? nullptr : entry_at(found);
}

// ---------------------------------------------------------------- the position

void rewind(Cursor* cursor, const Place& place, const RowHint& hint) {
    if (place <= cursor->position) {
        cursor->position = place;
        cursor->head = hint;
    }
    cursor->ring[cursor->version++ % kRing] = place;
    ++cursor->changes;
}

Place limit_since(const Cursor& cursor, uint64 version, Place place) {
    if (version > cursor.version || cursor.version - version > kRing) {
        return kFirstPlace;
    }
    for (uint64 i = version; i < cursor.version; ++i) {
        place = std::min(place, cursor.ring[i % kRing]);
    }
    return place;
}

void set_free(const Spot& spot, Cursor* cursor, const Place& place, int64 free_at) {
    if (Entry* entry = find_entry(*cursor, place)) {
        if (free_at < entry->free_at) {
            set_entry(spot, entry, free_at);
            ++cursor->changes;
        }
    } else {
        rewind(cursor, place);
    }
}

void end_holds(const Spot& spot) {
    Partition* partition = spot.partition;
    for (int i = 0; i < partition->hold_count;) {
        const Hold hold = partition->holds[i];
        if (TransactionIdIsInProgress(hold.xid)) {
            ++i;
            continue;
        }
        rewind(spot.cursors->at(hold.cursor), hold.place);
        partition->holds[i] = partition->holds[--partition->hold_count];
    }
}

void hold_at(const Spot& spot, Cursor* cursor, TransactionId xid, const Place& place) {
    rewind(cursor, place);
    Partition* partition = spot.partition;
    const int32 number = spot.cursors->number_of(cursor);
    for (int i = 0; i < partition->hold_count; ++i) {
        Hold* hold = &partition->holds[i];
        if (hold->xid == xid && hold->cursor == number) {
            hold->place = std::min(hold->place, place);
            return;
        }
    }
    if (partition->hold_count == kHolds) {
        end_holds(spot);
    }
    if (partition->hold_count < kHolds) {
        partition->holds[partition->hold_count++] = {xid, number, place};
        return;
    }
    unsettle(spot, cursor);
}

void install() {
    shmem::add_piece({cursor_bytes, init_cursors, use_cursors});
}

}  // namespace belay::cursors
