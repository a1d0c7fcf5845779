// Gap cursors in shared memory, one per stream, in tables that forget the least used one.
//
// Touches belay's shared memory only. Locks: one partition at a time, held for a moment; nothing is
// allocated and no row is read under it. A prepared transaction is asked for under it, which takes
// ProcArrayLock.
#include "shmem/gaps.hpp"

#include <algorithm>

#include "pg/settings.hpp"
#include "pg/transaction_levels.hpp"
#include "shmem/prepared_marks.hpp"
#include "shmem/shared_memory.hpp"
#include "shmem/table.hpp"

namespace belay::gaps {

namespace {

// ---------------------------------------------------------------- shared memory

constexpr int kPartitions = 16;
constexpr int kRing = 16;
constexpr int kHolds = 8;

// A prepared transaction ends where no callback runs: no gap holds its rows before that.
struct Hold {
    TransactionId xid;
    core::PlaceRange range;
};

struct Cursor {
    bool settled;
    TimestampTz made;
    TimestampTz checked;
    uint64 version;  // ring[version % kRing] comes next
    int hold_count;
    core::PlaceRange ring[kRing];
    Hold holds[kHolds];
    core::Gaps gaps;
};
using Cursors = shmem::Table<Key, Cursor>;

struct Partition {
    LWLock lock;
    TimestampTz last_made;  // of its cursors: none has the same time as another
};

struct Shared {
    pg_atomic_uint64 births;  // of cursors, and of cursors that were reset
    int cursors;              // per partition
    Partition partitions[kPartitions];
    // Cursors, one per partition
};

constinit Shared* shared = nullptr;

int cursor_count() {
    return std::max(4, pg::settings.cursor_slots / 4 / kPartitions);
}

Size gap_bytes() {
    return MAXALIGN(sizeof(Shared)) + kPartitions * Cursors::bytes(cursor_count());
}

void* table_at(int partition) {
    return reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)) +
           static_cast<Size>(partition) * Cursors::bytes(shared->cursors);
}

void init_gaps(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, sizeof(Shared));
    pg_atomic_init_u64(&shared->births, 1);
    shared->cursors = cursor_count();
    for (int i = 0; i < kPartitions; ++i) {
        LWLockInitialize(&shared->partitions[i].lock, shmem::lock_tranche());
        (void)Cursors::make(table_at(i), shared->cursors);
    }
}

void use_gaps(void* piece) {
    shared = static_cast<Shared*>(piece);
}

bool is_shared() {
    return shared != nullptr || shmem::attach();
}

// ---------------------------------------------------------------- cursors

// A queue with such a name can only have been inserted by hand. It has no cursor.
constexpr uint8 kTooLong = 255;

bool same_key(const Key& a, const Key& b) {
    return memcmp(&a, &b, sizeof(Key)) == 0;
}

// Where the cursor of a key is, or would be. The partition's lock is held while it is looked at.
struct Spot {
    Partition* partition;
    Cursors* cursors;
    uint64 hash;
};

Spot spot_of(const Key& key) {
    const uint64 hash = Cursors::hash(key);
    const auto number = static_cast<int>(hash % kPartitions);
    return {&shared->partitions[number], static_cast<Cursors*>(table_at(number)), hash};
}

// Forgets what is known. A new version is none that an earlier view can have.
void reset_cursor(Cursor* cursor) {
    cursor->gaps.count = 0;
    cursor->version = pg_atomic_add_fetch_u64(&shared->births, 1) << 24;
}

// As a new one: it records nothing until nothing prepared before is left.
void unsettle(Partition* partition, Cursor* cursor) {
    reset_cursor(cursor);
    cursor->settled = prepared_marks::is_none_open();
    cursor->made = std::max(GetCurrentTimestamp(), partition->last_made + 1);
    partition->last_made = cursor->made;
}

// Takes the place of a cursor that was not used for long, if there is no room.
Cursor* make_cursor(const Spot& spot, const Key& key) {
    Cursor* cursor = spot.cursors->insert(key, spot.hash, shmem::WhenFull::kForget);
    unsettle(spot.partition, cursor);
    cursor->checked = cursor->made;
    return cursor;
}

// Live rows may lie there from now on, and sessions that have read the gaps before must know.
void cut(Cursor* cursor, const core::PlaceRange& range) {
    cursor->gaps.cut(range);
    cursor->ring[cursor->version++ % kRing] = range;
}

bool is_in_ring(const Cursor& cursor, uint64 version) {
    return version <= cursor.version && cursor.version - version <= kRing;
}

// Lets those transactions go that have ended. No gap holds their places; sessions that took their
// snapshots before must not record one either.
void end_holds(Cursor* cursor) {
    for (int i = 0; i < cursor->hold_count;) {
        const Hold hold = cursor->holds[i];
        if (TransactionIdIsInProgress(hold.xid)) {
            ++i;
            continue;
        }
        cut(cursor, hold.range);
        cursor->holds[i] = cursor->holds[--cursor->hold_count];
    }
}

void hold(Partition* partition, Cursor* cursor, TransactionId xid, const core::PlaceRange& range) {
    cut(cursor, range);
    if (cursor->hold_count == kHolds) {
        end_holds(cursor);
    }
    if (cursor->hold_count < kHolds) {
        cursor->holds[cursor->hold_count++] = {xid, range};
    } else {
        unsettle(partition, cursor);
    }
}

// Lends body(partition, cursor) the cursor, if there is one.
template <typename Body>
void with_cursor(const Key& key, LWLockMode mode, Body body) {
    if (!is_shared()) {
        return;
    }
    const Spot spot = spot_of(key);
    LWLockAcquire(&spot.partition->lock, mode);
    if (Cursor* cursor = spot.cursors->find(key, spot.hash)) {
        body(spot.partition, cursor);
    }
    LWLockRelease(&spot.partition->lock);
}

// Calls visit(partition, key, cursor) for every cursor of this database, for what is rare.
template <typename Visit>
void each_cursor(LWLockMode mode, Visit visit) {
    for (int i = 0; is_shared() && i < kPartitions; ++i) {
        Partition* partition = &shared->partitions[i];
        LWLockAcquire(&partition->lock, mode);
        static_cast<Cursors*>(table_at(i))->each([&](const Key& key, Cursor* cursor) {
            if (key.database == MyDatabaseId) {
                visit(partition, key, cursor);
            }
        });
        LWLockRelease(&partition->lock);
    }
}

// ---------------------------------------------------------------- notes

struct Note {
    Key key;
    core::PlaceRange range;
    int32 level;
    bool everywhere;  // in the table
};

// Kept for the session, so that a commit allocates nothing.
constinit Note* notes = nullptr;
constinit int note_count = 0;
constinit int note_size = 0;

void add_note(const Note& note) {
    if (note_count == note_size) {
        const int size = note_size == 0 ? 64 : note_size * 2;
        const Size bytes = sizeof(Note) * static_cast<Size>(size);
        notes = static_cast<Note*>(notes == nullptr ? MemoryContextAlloc(TopMemoryContext, bytes)
                                                    : repalloc_huge(notes, bytes));
        note_size = size;
    }
    notes[note_count++] = note;
}

// Rows that a transaction puts side by side are one range: those of one time, or one priority.
bool widen_note(const Key& key, const core::QueuePlace& place, int level) {
    constexpr int kLookBack = 4;
    for (int i = note_count - 1; i >= 0 && i >= note_count - kLookBack; --i) {
        Note* note = &notes[i];
        if (!note->everywhere && note->level == level && same_key(note->key, key) &&
            note->range.first.parts[0] == place.parts[0]) {
            note->range.first = std::min(note->range.first, place);
            note->range.last = std::max(note->range.last, place);
            return true;
        }
    }
    return false;
}

void commit(const Note& note) {
    if (note.everywhere) {
        each_cursor(LW_EXCLUSIVE, [&note](Partition*, const Key& key, Cursor* cursor) {
            if (key.table == note.key.table) {
                reset_cursor(cursor);
            }
        });
    } else {
        with_cursor(note.key, LW_EXCLUSIVE,
                    [&note](Partition*, Cursor* cursor) { cut(cursor, note.range); });
    }
}

void prepare(const Note& note, TransactionId xid) {
    if (note.everywhere) {
        each_cursor(LW_EXCLUSIVE, [&note](Partition* partition, const Key& key, Cursor* cursor) {
            if (key.table == note.key.table) {
                unsettle(partition, cursor);
            }
        });
    } else {
        with_cursor(note.key, LW_EXCLUSIVE, [&note, xid](Partition* partition, Cursor* cursor) {
            hold(partition, cursor, xid, note.range);
        });
    }
}

void at_end(pg::Ending ending) {
    if (note_count == 0) {
        return;
    }
    if (ending == pg::Ending::kCommit) {
        std::for_each_n(notes, note_count, commit);
    } else if (ending == pg::Ending::kPrepare) {
        prepared_marks::add();
        std::for_each_n(notes, note_count,
                        [](const Note& note) { prepare(note, GetTopTransactionIdIfAny()); });
    }
    note_count = 0;  // after an abort nothing has appeared
}

void at_subtransaction_end(bool commits) {
    note_count = pg::end_level(notes, note_count, commits, [](const Note&) {});
}

}  // namespace

Key key_of(Oid table, uint8 stream, int16 slot, std::string_view queue, int32 set) {
    const bool fits = queue.size() <= Key::kMaxQueue;
    Key key{.database = MyDatabaseId,
            .table = table,
            .set = set,
            .slot = slot,
            .stream = stream,
            .queue_size = fits ? static_cast<uint8>(queue.size()) : kTooLong,
            .queue = {}};
    (void)queue.copy(key.queue, sizeof key.queue);
    return key;
}

View read(const Key& key) {
    View view;
    view.known = is_shared() && key.queue_size != kTooLong;
    view.settled = false;
    view.made = 0;
    view.version = 0;
    view.gaps.count = 0;
    if (!view.known) {
        return view;
    }
    const Spot spot = spot_of(key);
    LWLockAcquire(&spot.partition->lock, LW_SHARED);
    Cursor* cursor = spot.cursors->find(key, spot.hash);
    if (cursor == nullptr || cursor->hold_count > 0) {
        LWLockRelease(&spot.partition->lock);
        LWLockAcquire(&spot.partition->lock, LW_EXCLUSIVE);
        cursor = spot.cursors->find(key, spot.hash);
        if (cursor == nullptr) {
            cursor = make_cursor(spot, key);
        }
        end_holds(cursor);
    }
    spot.cursors->touch(cursor);
    view.settled = cursor->settled;
    view.made = cursor->made;
    view.version = cursor->version;
    view.gaps.count = cursor->gaps.count;
    std::copy(cursor->gaps.list, cursor->gaps.list + cursor->gaps.count, view.gaps.list);
    LWLockRelease(&spot.partition->lock);
    for (int i = 0; i < note_count; ++i) {
        if (notes[i].everywhere && notes[i].key.table == key.table) {
            view.gaps.count = 0;
        } else if (same_key(notes[i].key, key)) {
            view.gaps.cut(notes[i].range);
        }
    }
    return view;
}

bool missed(const Key& key, const View& view, const core::QueuePlace& up_to) {
    if (view.gaps.count == 0 && up_to == core::kQueueStart) {
        return false;
    }
    bool missed = true;  // if it is gone
    with_cursor(key, LW_SHARED, [&](Partition*, const Cursor* cursor) {
        missed = !is_in_ring(*cursor, view.version);
        for (uint64 at = view.version; !missed && at < cursor->version; ++at) {
            const core::PlaceRange& range = cursor->ring[at % kRing];
            missed = range.first <= up_to ||
                     std::any_of(view.gaps.list, view.gaps.list + view.gaps.count,
                                 [&range](const core::Gap& gap) { return gap.meets(range); });
        }
    });
    return missed;
}

void record(const Key& key, const View& view, const core::Gap& gap) {
    if (!view.known || !view.settled || gap.to <= gap.from) {
        return;
    }
    with_cursor(key, LW_EXCLUSIVE, [&](Partition*, Cursor* cursor) {
        if (!cursor->settled || !is_in_ring(*cursor, view.version)) {
            return;
        }
        core::Gaps left;
        left.count = 1;
        left.list[0] = gap;
        for (uint64 at = view.version; at < cursor->version; ++at) {
            left.cut(cursor->ring[at % kRing]);
        }
        for (int i = 0; i < cursor->hold_count; ++i) {
            left.cut(cursor->holds[i].range);
        }
        for (int i = 0; i < left.count; ++i) {
            cursor->gaps.add(left.list[i]);
        }
    });
}

void settle(const Key& key, const View& view) {
    with_cursor(key, LW_EXCLUSIVE, [&view](Partition*, Cursor* cursor) {
        cursor->settled = cursor->settled || cursor->made == view.made;
    });
}

void appeared(const Key& key, const core::QueuePlace& place) {
    constexpr int kMany = 4096;
    if (!is_shared() || key.queue_size == kTooLong) {
        return;
    }
    const int level = GetCurrentTransactionNestLevel();
    if (widen_note(key, place, level)) {
        return;
    }
    if (note_count >= kMany) {
        rearranged(key.table);
    } else {
        add_note({key, {place, place}, level, false});
    }
}

void rearranged(Oid table) {
    if (!is_shared()) {
        return;
    }
    const int level = GetCurrentTransactionNestLevel();
    for (int i = 0; i < note_count; ++i) {
        if (notes[i].everywhere && notes[i].key.table == table && notes[i].level == level) {
            return;
        }
    }
    add_note({key_of(table, 0, 0), {}, level, true});
}

bool repair(const Key& key, const core::QueuePlace& place) {
    bool repaired = false;
    with_cursor(key, LW_EXCLUSIVE, [&](Partition*, Cursor* cursor) {
        const core::Gap* end = cursor->gaps.list + cursor->gaps.count;
        repaired = std::any_of(static_cast<const core::Gap*>(cursor->gaps.list), end,
                               [&place](const core::Gap& gap) { return gap.holds(place); });
        if (repaired) {
            cut(cursor, {place, place});
        }
    });
    return repaired;
}

int to_check(Oid table, int64 age_ms, Key* keys, int limit) {
    const TimestampTz now = GetCurrentTimestamp();
    int count = 0;
    each_cursor(LW_EXCLUSIVE, [&](Partition*, const Key& key, Cursor* cursor) {
        if (key.table == table && count < limit && now - cursor->checked >= age_ms * 1000) {
            cursor->checked = now;
            keys[count++] = key;
        }
    });
    return count;
}

bool has_to_check(int64 age_ms) {
    const TimestampTz before = GetCurrentTimestamp() - age_ms * 1000;
    bool found = false;
    each_cursor(LW_SHARED, [&](Partition*, const Key&, const Cursor* cursor) {
        found = found || cursor->checked <= before;
    });
    return found;
}

void install() {
    shmem::add_piece({gap_bytes, init_gaps, use_gaps});
}

constinit const pg::Participant kParticipant{
    .before_end = nullptr,
    .at_end = at_end,
    .at_subtransaction_end = at_subtransaction_end,
    .after_locks = nullptr,
};

}  // namespace belay::gaps
