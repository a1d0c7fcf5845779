#include "shmem/cursors.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/settings.hpp"
#include "pg/transaction_levels.hpp"
#include "shmem/open_lanes.hpp"
#include "shmem/prepared_marks.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::cursors {

namespace {

// ---------------------------------------------------------------- shared memory

constexpr int kPartitions = 16;
constexpr int kRing = 64;
constexpr int kHolds = 64;  // per partition
constexpr int32 kNone = -1;
constexpr int64 kHeld = core::kNever;  // a transaction that runs has leased the row

struct Cursor {
    CursorKey key;
    int32 next;   // in its bucket, or in the list of free ones
    int32 first;  // entry
    bool settled;
    TimestampTz made;
    TimestampTz checked;
    pg_atomic_uint64 used;
    Place position;
    uint64 version;  // ring[version % kRing] comes next
    uint64 changes;
    int64 next_free;
    int32 held;
    RowHint head;  // of the row at the position
    Place ring[kRing];
};

// A live row below the position, or one that was.
struct Entry {
    Place place;
    int64 free_at;
    uint64 stamp;  // changes with everything that is done to the entry
    int32 cursor;
    int32 next;  // in its bucket, or in the list of free ones
    int32 later;
    int32 earlier;  // of the same cursor
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
    int32 free_cursor;
    int32 hand;  // which cursors are looked at next for one to give back
    int hold_count;
    uint64 stamps;
    Hold holds[kHolds];
};

struct Shared {
    pg_atomic_uint64 clock;  // counts uses and births
    slock_t free_lock;
    int32 free_entry;
    int32 entry_count;
    int cursors;         // per partition
    int cursor_buckets;  // per partition
    int entries;
    int entry_buckets;  // per partition
    Partition partitions[kPartitions];
    // Cursor[kPartitions * cursors], Entry[entries], int32 cursor buckets, int32 entry buckets
};

constinit Shared* shared = nullptr;

int cursors_per_partition() {
    return std::max(4, pg::settings.cursor_slots / kPartitions);
}

int entry_buckets_per_partition() {
    int buckets = 64;
    while (buckets < pg::settings.lease_slots / kPartitions) {
        buckets *= 2;
    }
    return buckets;
}

Cursor* cursor_table() {
    return reinterpret_cast<Cursor*>(reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)));
}

Entry* entry_table() {
    return reinterpret_cast<Entry*>(cursor_table() +
                                    static_cast<std::ptrdiff_t>(kPartitions) * shared->cursors);
}

int32* cursor_buckets() {
    return reinterpret_cast<int32*>(entry_table() + shared->entries);
}

int32* entry_buckets() {
    return cursor_buckets() + static_cast<std::ptrdiff_t>(kPartitions) * shared->cursor_buckets;
}

Size cursor_bytes() {
    const auto cursors = static_cast<Size>(kPartitions * cursors_per_partition());
    return MAXALIGN(sizeof(Shared)) + sizeof(Cursor) * cursors +
           sizeof(Entry) * static_cast<Size>(pg::settings.lease_slots) + sizeof(int32) * cursors +
           sizeof(int32) * static_cast<Size>(kPartitions * entry_buckets_per_partition());
}

void init_cursors(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, cursor_bytes());
    pg_atomic_init_u64(&shared->clock, 1);
    SpinLockInit(&shared->free_lock);
    shared->cursors = cursors_per_partition();
    shared->cursor_buckets = cursors_per_partition();
    shared->entries = pg::settings.lease_slots;
    shared->entry_buckets = entry_buckets_per_partition();
    for (int p = 0; p < kPartitions; ++p) {
        Partition* partition = &shared->partitions[p];
        LWLockInitialize(&partition->lock, shmem::lock_tranche());
        const int32 base = p * shared->cursors;
        partition->free_cursor = base;
        for (int i = 0; i < shared->cursors; ++i) {
            Cursor* cursor = &cursor_table()[base + i];
            cursor->next = i + 1 < shared->cursors ? base + i + 1 : kNone;
            pg_atomic_init_u64(&cursor->used, 0);
        }
    }
    for (int i = 0; i < shared->entries; ++i) {
        entry_table()[i].next = i + 1 < shared->entries ? i + 1 : kNone;
    }
    std::fill_n(cursor_buckets(), kPartitions * shared->cursor_buckets, kNone);
    std::fill_n(entry_buckets(), kPartitions * shared->entry_buckets, kNone);
}

void use_cursors(void* piece) {
    shared = static_cast<Shared*>(piece);
}

bool is_shared() {
    return shared != nullptr || shmem::attach();
}

// ---------------------------------------------------------------- cursors and entries

// Where a cursor is. The lock of the partition is held by everybody who looks at it.
struct Spot {
    Partition* partition;
    int number;
    int32* bucket;
};

// The name is what stands before the life, without gaps.
static_assert(offsetof(CursorKey, life) == 2 * sizeof(Oid) + sizeof(int32) + 2 * sizeof(int16));

bool same_part(const CursorKey& a, const CursorKey& b) {
    return memcmp(&a, &b, offsetof(CursorKey, life)) == 0;
}

Spot spot_of(const CursorKey& key) {
    const uint64 hash =
        core::fnv1a64({reinterpret_cast<const char*>(&key), offsetof(CursorKey, life)});
    const auto number = static_cast<int>(hash % kPartitions);
    const auto bucket = static_cast<int>((hash >> 8) % static_cast<uint64>(shared->cursor_buckets));
    return {&shared->partitions[number], number,
            &cursor_buckets()[number * shared->cursor_buckets + bucket]};
}

Cursor* find_cursor(const Spot& spot, const CursorKey& key) {
    for (int32 at = *spot.bucket; at != kNone; at = cursor_table()[at].next) {
        if (same_part(cursor_table()[at].key, key)) {
            return &cursor_table()[at];
        }
    }
    return nullptr;
}

int32 number_of(const Cursor* cursor) {
    return static_cast<int32>(cursor - cursor_table());
}

int32* entry_bucket(const Spot& spot, const Cursor* cursor, const Place& place) {
    const uint64 hash = (static_cast<uint64>(place.id) * 0x9e3779b97f4a7c15ULL ^
                         static_cast<uint64>(place.due) * 0xc2b2ae3d27d4eb4fULL) +
                        static_cast<uint64>(number_of(cursor)) * 0x165667b19e3779f9ULL;
    const auto bucket =
        static_cast<int>((hash >> 32) & static_cast<uint64>(shared->entry_buckets - 1));
    return &entry_buckets()[spot.number * shared->entry_buckets + bucket];
}

Entry* find_entry(const Spot& spot, const Cursor* cursor, const Place& place) {
    const int32 number = number_of(cursor);
    for (int32 at = *entry_bucket(spot, cursor, place); at != kNone; at = entry_table()[at].next) {
        if (entry_table()[at].cursor == number && entry_table()[at].place == place) {
            return &entry_table()[at];
        }
    }
    return nullptr;
}

Entry* add_entry(const Spot& spot, Cursor* cursor, const Place& place, int64 free_at,
                 const RowHint& hint) {
    SpinLockAcquire(&shared->free_lock);
    const int32 at = shared->free_entry;
    if (at != kNone) {
        shared->free_entry = entry_table()[at].next;
        ++shared->entry_count;
    }
    SpinLockRelease(&shared->free_lock);
    if (at == kNone) {
        return nullptr;
    }
    int32* bucket = entry_bucket(spot, cursor, place);
    entry_table()[at] = {.place = place,
                         .free_at = free_at,
                         .stamp = ++spot.partition->stamps,
                         .cursor = number_of(cursor),
                         .next = *bucket,
                         .later = cursor->first,
                         .earlier = kNone,
                         .hint = hint};
    *bucket = at;
    if (cursor->first != kNone) {
        entry_table()[cursor->first].earlier = at;
    }
    cursor->first = at;
    cursor->held += free_at == kHeld ? 1 : 0;
    cursor->next_free = std::min(cursor->next_free, free_at);
    return &entry_table()[at];
}

void drop_entry(const Spot& spot, Cursor* cursor, Entry* entry) {
    const auto at = static_cast<int32>(entry - entry_table());
    cursor->held -= entry->free_at == kHeld ? 1 : 0;
    int32* link = entry_bucket(spot, cursor, entry->place);
    while (*link != at) {
        link = &entry_table()[*link].next;
    }
    *link = entry->next;
    (entry->earlier == kNone ? cursor->first : entry_table()[entry->earlier].later) = entry->later;
    if (entry->later != kNone) {
        entry_table()[entry->later].earlier = entry->earlier;
    }
    SpinLockAcquire(&shared->free_lock);
    entry->next = shared->free_entry;
    shared->free_entry = at;
    --shared->entry_count;
    SpinLockRelease(&shared->free_lock);
}

void set_entry(const Spot& spot, Cursor* cursor, Entry* entry, int64 free_at) {
    cursor->held += (free_at == kHeld ? 1 : 0) - (entry->free_at == kHeld ? 1 : 0);
    entry->free_at = free_at;
    entry->stamp = ++spot.partition->stamps;
    cursor->next_free = std::min(cursor->next_free, free_at);
}

// Forgets what is known. A new version is none that an earlier view can have.
void reset_cursor(const Spot& spot, Cursor* cursor) {
    while (cursor->first != kNone) {
        drop_entry(spot, cursor, &entry_table()[cursor->first]);
    }
    cursor->position = kFirstPlace;
    cursor->head = {};
    cursor->version = pg_atomic_add_fetch_u64(&shared->clock, 1) << 24;
    cursor->next_free = core::kNever;
    ++cursor->changes;
}

// Gives back the one of a few cursors that was used longest ago.
void evict(const Spot& spot) {
    constexpr int kLooks = 8;
    const int32 base = spot.number * shared->cursors;
    Cursor* oldest = nullptr;
    for (int i = 0; i < kLooks; ++i) {
        Cursor* cursor = &cursor_table()[base + spot.partition->hand];
        spot.partition->hand = (spot.partition->hand + 1) % shared->cursors;
        if (oldest == nullptr ||
            pg_atomic_read_u64(&cursor->used) < pg_atomic_read_u64(&oldest->used)) {
            oldest = cursor;
        }
    }
    reset_cursor(spot, oldest);
    const int32 number = number_of(oldest);
    Partition* partition = spot.partition;
    for (int i = 0; i < partition->hold_count;) {
        if (partition->holds[i].cursor == number) {
            partition->holds[i] = partition->holds[--partition->hold_count];
        } else {
            ++i;
        }
    }
    int32* link = spot_of(oldest->key).bucket;
    while (*link != number) {
        link = &cursor_table()[*link].next;
    }
    *link = oldest->next;
    oldest->next = partition->free_cursor;
    partition->free_cursor = number;
}

Cursor* make_cursor(const Spot& spot, const CursorKey& key) {
    Partition* partition = spot.partition;
    if (partition->free_cursor == kNone) {
        evict(spot);
    }
    Cursor* cursor = &cursor_table()[partition->free_cursor];
    partition->free_cursor = cursor->next;
    cursor->key = key;
    cursor->next = *spot.bucket;
    *spot.bucket = number_of(cursor);
    cursor->first = kNone;
    cursor->held = 0;
    cursor->settled = prepared_marks::is_none_open();
    cursor->made = GetCurrentTimestamp();
    cursor->checked = cursor->made;
    reset_cursor(spot, cursor);
    return cursor;
}

// Puts the position back, and keeps those who are on their way from passing that place.
void rewind(Cursor* cursor, const Place& place, const RowHint& hint = {}) {
    if (place <= cursor->position) {
        cursor->position = place;
        cursor->head = hint;
    }
    cursor->ring[cursor->version++ % kRing] = place;
    ++cursor->changes;
}

// How far somebody may move the cursor who has read it at that version.
Place limit_since(const Cursor& cursor, uint64 version, Place place) {
    if (version > cursor.version || cursor.version - version > kRing) {
        return kFirstPlace;
    }
    for (uint64 i = version; i < cursor.version; ++i) {
        place = std::min(place, cursor.ring[i % kRing]);
    }
    return place;
}

// The row may be taken at that time, or earlier than its entry says.
void set_free(const Spot& spot, Cursor* cursor, const Place& place, int64 free_at) {
    if (Entry* entry = find_entry(spot, cursor, place)) {
        if (free_at < entry->free_at) {
            set_entry(spot, cursor, entry, free_at);
            ++cursor->changes;
        }
    } else {
        rewind(cursor, place);
    }
}

// Ends the holds of transactions that have ended. The position is not above their places; whoever
// took his snapshot before must not pass them either.
void end_holds(Partition* partition) {
    for (int i = 0; i < partition->hold_count;) {
        const Hold hold = partition->holds[i];
        if (TransactionIdIsInProgress(hold.xid)) {
            ++i;
            continue;
        }
        rewind(&cursor_table()[hold.cursor], hold.place);
        partition->holds[i] = partition->holds[--partition->hold_count];
    }
}

void hold_at(const Spot& spot, Cursor* cursor, TransactionId xid, const Place& place) {
    rewind(cursor, place);
    Partition* partition = spot.partition;
    const int32 number = number_of(cursor);
    for (int i = 0; i < partition->hold_count; ++i) {
        Hold* hold = &partition->holds[i];
        if (hold->xid == xid && hold->cursor == number) {
            hold->place = std::min(hold->place, place);
            return;
        }
    }
    if (partition->hold_count == kHolds) {
        end_holds(partition);
    }
    if (partition->hold_count < kHolds) {
        partition->holds[partition->hold_count++] = {xid, number, place};
        return;
    }
    // As if the cursor were new: it stays where it is until nothing prepared before is left.
    cursor->settled = false;
    cursor->made = GetCurrentTimestamp();
}

// Lends body the cursor, if there is one, under the lock of its partition.
template <typename Body>
void with_part(const CursorKey& key, LWLockMode mode, Body body) {
    if (!is_shared()) {
        return;
    }
    const Spot spot = spot_of(key);
    LWLockAcquire(&spot.partition->lock, mode);
    if (Cursor* cursor = find_cursor(spot, key)) {
        body(spot, cursor);
    }
    LWLockRelease(&spot.partition->lock);
}

// The same, if its life is ours.
template <typename Body>
void with_cursor(const CursorKey& key, LWLockMode mode, Body body) {
    with_part(key, mode, [&](const Spot& spot, Cursor* cursor) {
        if (cursor->key.life == key.life) {
            body(spot, cursor);
        }
    });
}

// ---------------------------------------------------------------- notes

enum class NoteKind : uint8 { kClaimed, kInserted, kFree, kDeleted, kMoved, kRemoved };

struct Note {
    CursorKey key;
    Place place;
    int64 at;
    uint64 stamp;
    RowHint hint;
    int32 level;
    NoteKind kind;
};

// Kept for the session, so that a commit allocates nothing.
constinit Note* notes = nullptr;
constinit int note_count = 0;
constinit int note_size = 0;

// What only this transaction can see of its own rows: whether it has inserted any, and when the
// first that it has leased or given back may be taken. Both may be more than is left of them.
constinit bool own_inserted = false;
constinit int64 own_free = core::kNever;

// A lowest place is enough for the rows that a transaction inserts into one part.
bool merge_inserted(const CursorKey& key, const Place& place, const RowHint& hint, int level) {
    constexpr int kLookBack = 4;
    for (int i = note_count - 1; i >= 0 && i >= note_count - kLookBack; --i) {
        Note* note = &notes[i];
        if (note->kind == NoteKind::kInserted && note->level == level &&
            same_part(note->key, key)) {
            if (place < note->place) {
                note->place = place;
                note->hint = hint;
            }
            return true;
        }
    }
    return false;
}

void add_note(NoteKind kind, const CursorKey& key, const Place& place, int64 at, uint64 stamp,
              const RowHint& hint = {}) {
    const int level = GetCurrentTransactionNestLevel();
    if (kind == NoteKind::kInserted && merge_inserted(key, place, hint, level)) {
        return;
    }
    if (note_count == note_size) {
        const int size = note_size == 0 ? 64 : note_size * 2;
        const Size bytes = sizeof(Note) * static_cast<Size>(size);
        notes = static_cast<Note*>(notes == nullptr ? MemoryContextAlloc(TopMemoryContext, bytes)
                                                    : repalloc_huge(notes, bytes));
        note_size = size;
    }
    notes[note_count++] = {key, place, at, stamp, hint, level, kind};
    own_inserted = own_inserted || kind == NoteKind::kInserted || kind == NoteKind::kMoved;
    if (kind == NoteKind::kClaimed || kind == NoteKind::kFree) {
        own_free = std::min(own_free, at);
    }
}

Place lowest_own(const CursorKey& key) {
    Place lowest = kLastPlace;
    for (int i = 0; own_inserted && i < note_count; ++i) {
        if (notes[i].kind == NoteKind::kMoved && notes[i].key.table == key.table) {
            lowest = kFirstPlace;
        } else if (notes[i].kind == NoteKind::kInserted && same_part(notes[i].key, key)) {
            lowest = std::min(lowest, notes[i].place);
        }
    }
    return lowest;
}

// Forgets all that is known of a table. A prepared transaction may still move its rows: then no
// cursor of it moves until that has ended.
void reset_table(const CursorKey& key, bool prepared) {
    for (int p = 0; p < kPartitions; ++p) {
        Partition* partition = &shared->partitions[p];
        const Spot spot{partition, p, nullptr};
        LWLockAcquire(&partition->lock, LW_EXCLUSIVE);
        for (int b = 0; b < shared->cursor_buckets; ++b) {
            for (int32 at = cursor_buckets()[p * shared->cursor_buckets + b]; at != kNone;
                 at = cursor_table()[at].next) {
                Cursor* cursor = &cursor_table()[at];
                if (cursor->key.database == key.database && cursor->key.table == key.table) {
                    reset_cursor(spot, cursor);
                    cursor->settled = cursor->settled && !prepared;
                    cursor->made = prepared ? GetCurrentTimestamp() : cursor->made;
                }
            }
        }
        LWLockRelease(&partition->lock);
    }
}

void commit(const Note& note) {
    if (note.kind == NoteKind::kMoved) {
        reset_table(note.key, false);
        open_lanes::forget(note.key.table);
    } else if (note.kind == NoteKind::kInserted) {
        open_lanes::opened(note.key.table, note.key.lane);
    } else if (note.kind == NoteKind::kClaimed || note.kind == NoteKind::kFree) {
        open_lanes::opens_at({note.key.table, note.key.life}, note.key.lane, note.at);
    }
    if (note.kind == NoteKind::kMoved || note.kind == NoteKind::kRemoved) {
        return;
    }
    with_part(note.key, LW_EXCLUSIVE, [&note](const Spot& spot, Cursor* cursor) {
        if (note.kind == NoteKind::kInserted) {
            rewind(cursor, note.place, note.hint);
            return;
        }
        Entry* entry = find_entry(spot, cursor, note.place);
        if (note.kind == NoteKind::kDeleted) {
            if (entry != nullptr) {
                drop_entry(spot, cursor, entry);
            }
            return;
        }
        if (entry != nullptr) {
            entry->hint = note.hint;
        }
        if (entry != nullptr && note.stamp == entry->stamp) {
            set_entry(spot, cursor, entry, note.at);
        } else {
            // A lease of an earlier life is none.
            set_free(spot, cursor, note.place, note.key.life == cursor->key.life ? note.at : 0);
        }
    });
}

// A fetch of the transaction itself may have believed what is undone now: that a row was gone, or
// leased for longer. The row is looked at again.
void abort(const Note& note) {
    if (note.kind == NoteKind::kMoved || note.kind == NoteKind::kRemoved) {
        reset_table(note.key, false);
        open_lanes::forget(note.key.table);
    } else if (note.kind != NoteKind::kInserted) {
        with_part(note.key, LW_EXCLUSIVE, [&note](const Spot& spot, Cursor* cursor) {
            set_free(spot, cursor, note.place, 0);
        });
        open_lanes::opened(note.key.table, note.key.lane);
    }
}

void prepare(const Note& note, TransactionId xid) {
    open_lanes::forget(note.key.table);
    if (note.kind == NoteKind::kMoved || note.kind == NoteKind::kRemoved) {
        reset_table(note.key, true);
        return;
    }
    with_part(note.key, LW_EXCLUSIVE, [&note, xid](const Spot& spot, Cursor* cursor) {
        if (Entry* entry = find_entry(spot, cursor, note.place)) {
            set_entry(spot, cursor, entry, 0);
        }
        hold_at(spot, cursor, xid, note.place);
    });
}

void at_end(pg::Ending ending) {
    if (note_count == 0) {
        return;
    }
    if (ending == pg::Ending::kCommit) {
        std::for_each_n(notes, note_count, commit);
    } else if (ending == pg::Ending::kAbort) {
        std::for_each_n(notes, note_count, abort);
    } else {
        prepared_marks::add();
        std::for_each_n(notes, note_count,
                        [](const Note& note) { prepare(note, GetTopTransactionIdIfAny()); });
    }
    note_count = 0;
    own_inserted = false;
    own_free = core::kNever;
}

void at_subtransaction_end(bool commits) {
    note_count = pg::end_level(notes, note_count, commits, abort);
}

CursorView view_of(const Cursor& cursor) {
    return {.known = true,
            .settled = cursor.settled,
            .made = cursor.made,
            .position = cursor.position,
            .version = cursor.version,
            .changes = cursor.changes,
            .next_free = std::min(cursor.next_free, own_free),
            .held = cursor.held,
            .own = kLastPlace,
            .head = cursor.head};
}

// The lowest of the due rows, in order.
struct DueList {
    DueRow* rows;
    int limit;
    int count = 0;

    void add(const DueRow& row) {
        if (count == limit && row.place > rows[limit - 1].place) {
            return;
        }
        for (int i = 0; i < count; ++i) {
            if (rows[i].place == row.place) {
                return;
            }
        }
        int where = count < limit ? count++ : limit - 1;
        for (; where > 0 && rows[where - 1].place > row.place; --where) {
            rows[where] = rows[where - 1];
        }
        rows[where] = row;
    }
};

}  // namespace

CursorView read_cursor(const CursorKey& key) {
    CursorView view = kNoCursor;
    if (!is_shared()) {
        return view;
    }
    const Spot spot = spot_of(key);
    LWLockAcquire(&spot.partition->lock, LW_SHARED);
    Cursor* cursor = find_cursor(spot, key);
    if (cursor == nullptr || spot.partition->hold_count > 0 || cursor->key.life < key.life) {
        LWLockRelease(&spot.partition->lock);
        LWLockAcquire(&spot.partition->lock, LW_EXCLUSIVE);
        end_holds(spot.partition);
        cursor = find_cursor(spot, key);
        if (cursor == nullptr) {
            cursor = make_cursor(spot, key);
        } else if (cursor->key.life < key.life) {
            reset_cursor(spot, cursor);
            cursor->key.life = key.life;
        }
    }
    pg_atomic_write_u64(&cursor->used, pg_atomic_add_fetch_u64(&shared->clock, 1));
    if (cursor->key.life == key.life) {
        view = view_of(*cursor);
    }
    LWLockRelease(&spot.partition->lock);
    view.own = lowest_own(key);
    return view;
}

bool cursor_changed(const CursorKey& key, const CursorView& view) {
    bool changed = false;
    with_cursor(key, LW_SHARED, [&](const Spot&, Cursor* cursor) {
        changed = view.known && cursor->changes != view.changes;
    });
    return changed;
}

int due_rows(const CursorKey& key, const CursorView& view, int64 now, bool with_held,
             const Place& after, DueRow* rows, int limit) {
    DueList list{rows, limit};
    const auto wanted = [&](const Place& place, int64 free_at) {
        return free_at <= now && place > after && place < std::min(view.position, view.own);
    };
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot&, Cursor* cursor) {
        cursor->next_free = core::kNever;
        for (int32 at = cursor->first; at != kNone; at = entry_table()[at].later) {
            const Entry& entry = entry_table()[at];
            cursor->next_free = std::min(cursor->next_free, entry.free_at);
            if (wanted(entry.place, entry.free_at)) {
                list.add({entry.place, entry.stamp});
            } else if (with_held && entry.free_at == kHeld && wanted(entry.place, now)) {
                list.add({entry.place, 0});  // a probe has nothing to correct
            }
        }
    });
    // Others must not look at what this transaction has leased or given back, but it may.
    for (int i = 0; own_free <= now && i < note_count; ++i) {
        const bool taken = notes[i].kind == NoteKind::kClaimed || notes[i].kind == NoteKind::kFree;
        if (taken && same_part(notes[i].key, key) && wanted(notes[i].place, notes[i].at)) {
            list.add({notes[i].place, 0});
        }
    }
    return list.count;
}

void correct_entry(const CursorKey& key, const DueRow& row, std::optional<int64> free_at) {
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        Entry* entry = find_entry(spot, cursor, row.place);
        if (entry == nullptr || entry->stamp != row.stamp) {
            return;
        }
        if (free_at) {
            set_entry(spot, cursor, entry, *free_at);
        } else {
            drop_entry(spot, cursor, entry);
        }
    });
}

bool enter_row(const CursorKey& key, const CursorView& view, const Place& place, int64 free_at) {
    bool entered = false;
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        // What the view's snapshot showed may be older than what somebody has noted since.
        entered = find_entry(spot, cursor, place) != nullptr ||
                  (limit_since(*cursor, view.version, kLastPlace) > place &&
                   add_entry(spot, cursor, place, free_at, {}) != nullptr);
    });
    return entered;
}

bool has_entry(const CursorKey& key, const Place& place) {
    bool found = false;
    with_cursor(key, LW_SHARED, [&](const Spot& spot, Cursor* cursor) {
        found = find_entry(spot, cursor, place) != nullptr;
    });
    return found;
}

std::optional<RowHint> row_hint(const CursorKey& key, const Place& place) {
    std::optional<RowHint> hint;
    with_cursor(key, LW_SHARED, [&](const Spot& spot, Cursor* cursor) {
        if (const Entry* entry = find_entry(spot, cursor, place)) {
            hint = entry->hint;
        }
    });
    return hint && hint->buffer != InvalidBuffer ? hint : std::nullopt;
}

void advance_cursor(const CursorKey& key, const CursorView& view, const Place& place) {
    if (!view.known || !view.settled || place <= view.position) {
        return;
    }
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        Place limit = limit_since(*cursor, view.version, place);
        const int32 number = number_of(cursor);
        for (int i = 0; i < spot.partition->hold_count; ++i) {
            if (spot.partition->holds[i].cursor == number) {
                limit = std::min(limit, spot.partition->holds[i].place);
            }
        }
        if (cursor->settled && limit > cursor->position) {
            cursor->position = limit;
            cursor->head = {};
        }
    });
}

void settle_cursor(const CursorKey& key, const CursorView& view) {
    with_cursor(key, LW_EXCLUSIVE, [&view](const Spot&, Cursor* cursor) {
        cursor->settled = cursor->settled || cursor->made == view.made;
    });
}

bool claimed(const CursorKey& key, const Place& place, int64 deadline, const RowHint& hint) {
    uint64 stamp = 0;
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        Entry* entry = find_entry(spot, cursor, place);
        if (entry != nullptr) {
            set_entry(spot, cursor, entry, kHeld);
            entry->hint = hint;
        } else {
            entry = add_entry(spot, cursor, place, kHeld, hint);
        }
        stamp = entry != nullptr ? entry->stamp : 0;
    });
    if (is_shared()) {
        add_note(NoteKind::kClaimed, key, place, deadline, stamp, hint);
    }
    return stamp != 0;
}

void inserted(const CursorKey& key, const Place& place, const RowHint& hint) {
    if (is_shared()) {
        add_note(NoteKind::kInserted, key, place, 0, 0, hint);
    }
}

void freed(const CursorKey& key, const Place& place, int64 free_at, const RowHint& hint) {
    if (is_shared()) {
        add_note(NoteKind::kFree, key, place, free_at, 0, hint);
    }
}

void deleted(const CursorKey& key, const Place& place) {
    if (is_shared()) {
        add_note(NoteKind::kDeleted, key, place, 0, 0);
    }
}

void moved(Oid table) {
    if (is_shared()) {
        add_note(NoteKind::kMoved, {MyDatabaseId, table, 0, 0, 0, 0}, kFirstPlace, 0, 0);
    }
}

void removed(Oid table) {
    if (is_shared()) {
        add_note(NoteKind::kRemoved, {MyDatabaseId, table, 0, 0, 0, 0}, kFirstPlace, 0, 0);
    }
}

bool own_lanes(Oid table, pg::List<int32>* lanes) {
    for (int i = 0; i < note_count; ++i) {
        const Note& note = notes[i];
        if (note.key.table != table || note.kind == NoteKind::kDeleted ||
            note.kind == NoteKind::kRemoved) {
            continue;
        }
        if (note.kind == NoteKind::kMoved || i > kMostOwn) {
            return false;
        }
        if (std::find(lanes->begin(), lanes->end(), note.key.lane) == lanes->end()) {
            lanes->add(note.key.lane);
        }
    }
    return true;
}

bool repair_cursor(const CursorKey& key, const Place& place, int64 free_at) {
    bool repaired = false;
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        const Entry* entry = find_entry(spot, cursor, place);
        if (entry == nullptr && place < cursor->position) {
            rewind(cursor, place);
            repaired = true;
        } else if (entry != nullptr && entry->free_at != kHeld) {
            set_free(spot, cursor, place, free_at);
        }
    });
    if (repaired) {
        open_lanes::opened(key.table, key.lane);
    }
    return repaired;
}

namespace {

// Calls visit(cursor) for every cursor of this database, under the lock of its partition.
template <typename Visit>
void each_cursor(LWLockMode mode, Visit visit) {
    for (int p = 0; is_shared() && p < kPartitions; ++p) {
        LWLockAcquire(&shared->partitions[p].lock, mode);
        for (int b = 0; b < shared->cursor_buckets; ++b) {
            for (int32 at = cursor_buckets()[p * shared->cursor_buckets + b]; at != kNone;
                 at = cursor_table()[at].next) {
                if (cursor_table()[at].key.database == MyDatabaseId) {
                    visit(&cursor_table()[at]);
                }
            }
        }
        LWLockRelease(&shared->partitions[p].lock);
    }
}

}  // namespace

int cursors_to_check(Oid table, int64 age_ms, CursorKey* keys, int limit) {
    const TimestampTz now = GetCurrentTimestamp();
    int count = 0;
    each_cursor(LW_EXCLUSIVE, [&](Cursor* cursor) {
        if (cursor->key.table == table && count < limit && now - cursor->checked >= age_ms * 1000) {
            cursor->checked = now;
            keys[count++] = cursor->key;
        }
    });
    return count;
}

int64 cursor_check_age() {
    constexpr int64 kPaces = 60;
    return kPaces * std::max(pg::settings.reconcile_interval_ms, 1);
}

bool has_cursors_to_check() {
    const TimestampTz before = GetCurrentTimestamp() - cursor_check_age() * 1000;
    bool found = false;
    each_cursor(LW_SHARED,
                [&](const Cursor* cursor) { found = found || cursor->checked <= before; });
    return found;
}

CursorCounts count_cursors() {
    CursorCounts counts{};
    each_cursor(LW_SHARED, [&counts](const Cursor*) { ++counts.cursors; });
    counts.entries = shared != nullptr ? shared->entry_count : 0;
    return counts;
}

void install() {
    shmem::add_piece({cursor_bytes, init_cursors, use_cursors});
}

constinit const pg::Participant kParticipant{
    .before_end = nullptr,
    .at_end = at_end,
    .at_subtransaction_end = at_subtransaction_end,
    .after_locks = nullptr,
};

}  // namespace belay::cursors
