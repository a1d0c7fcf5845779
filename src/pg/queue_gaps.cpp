#include "pg/queue_gaps.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "pg/prepared_marks.hpp"
#include "pg/settings.hpp"
#include "pg/shared_memory.hpp"
#include "pg/transaction_levels.hpp"

namespace belay::pg {

namespace {

// ---------------------------------------------------------------- shared memory

constexpr int kLocks = 16;
constexpr int kWays = 4;  // cursors that share a bucket
constexpr int kRing = 16;
constexpr int kHolds = 8;

// A prepared transaction ends where no callback runs: no gap holds its rows before that.
struct Hold {
    TransactionId xid;
    core::PlaceRange range;
};

struct Cursor {
    GapKey key;
    bool used;
    bool settled;
    TimestampTz made;
    TimestampTz checked;
    pg_atomic_uint64 last_use;
    uint64 version;  // ring[version % kRing] comes next
    int hold_count;
    core::PlaceRange ring[kRing];
    Hold holds[kHolds];
    core::Gaps gaps;
};

struct Shared {
    pg_atomic_uint64 clock;  // counts uses and births
    int buckets;
    LWLock locks[kLocks];
    // Cursor[kWays * buckets]
};

constinit Shared* shared = nullptr;

int bucket_count() {
    return std::max(kLocks, settings.cursor_slots / 4 / kWays);
}

Size gap_bytes() {
    return MAXALIGN(sizeof(Shared)) + sizeof(Cursor) * static_cast<Size>(kWays * bucket_count());
}

Cursor* bucket_at(int bucket) {
    return reinterpret_cast<Cursor*>(reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared))) +
           static_cast<std::ptrdiff_t>(kWays) * bucket;
}

void init_gaps(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, gap_bytes());
    pg_atomic_init_u64(&shared->clock, 1);
    shared->buckets = bucket_count();
    for (LWLock& lock : shared->locks) {
        LWLockInitialize(&lock, shared_lock_tranche());
    }
    for (int i = 0; i < shared->buckets; ++i) {
        for (int way = 0; way < kWays; ++way) {
            pg_atomic_init_u64(&bucket_at(i)[way].last_use, 0);
        }
    }
}

void use_gaps(void* piece) {
    shared = static_cast<Shared*>(piece);
}

bool is_shared() {
    return shared != nullptr || attach_shared_memory();
}

// ---------------------------------------------------------------- cursors

// The key is compared as bytes.
static_assert(sizeof(GapKey) ==
              2 * sizeof(Oid) + sizeof(int32) + sizeof(int16) + 2 + GapKey::kMaxLane);

// Only somebody who writes by hand can make a lane with such a name. It has no cursor.
constexpr uint8 kTooLong = 255;

bool same_key(const GapKey& a, const GapKey& b) {
    return memcmp(&a, &b, sizeof(GapKey)) == 0;
}

// Where a cursor is, if there is one. The lock is held by everybody who looks at it.
struct Spot {
    LWLock* lock;
    Cursor* ways;

    Cursor* find(const GapKey& key) const {
        for (int i = 0; i < kWays; ++i) {
            if (ways[i].used && same_key(ways[i].key, key)) {
                return &ways[i];
            }
        }
        return nullptr;
    }
};

Spot spot_of(const GapKey& key) {
    const uint64 hash = core::fnv1a64({reinterpret_cast<const char*>(&key), sizeof(GapKey)});
    const auto bucket = static_cast<int>(hash % static_cast<uint64>(shared->buckets));
    return {&shared->locks[bucket % kLocks], bucket_at(bucket)};
}

// Forgets what is known. A new version is none that an earlier view can have.
void reset_cursor(Cursor* cursor) {
    cursor->gaps.count = 0;
    cursor->version = pg_atomic_add_fetch_u64(&shared->clock, 1) << 24;
}

// As a new one: it records nothing until nothing prepared before is left.
void unsettle(Cursor* cursor) {
    reset_cursor(cursor);
    cursor->settled = is_none_prepared();
    cursor->made = std::max(GetCurrentTimestamp(), cursor->made + 1);
}

// Takes the place of the cursor that was used longest ago.
Cursor* make_cursor(const Spot& spot, const GapKey& key) {
    Cursor* cursor = &spot.ways[0];
    for (int i = 0; i < kWays && cursor->used; ++i) {
        if (!spot.ways[i].used ||
            pg_atomic_read_u64(&spot.ways[i].last_use) < pg_atomic_read_u64(&cursor->last_use)) {
            cursor = &spot.ways[i];
        }
    }
    cursor->key = key;
    cursor->used = true;
    cursor->hold_count = 0;
    unsettle(cursor);
    cursor->checked = cursor->made;
    return cursor;
}

// Live rows may lie there from now on, and whoever read the gaps before must know.
void cut(Cursor* cursor, const core::PlaceRange& range) {
    cursor->gaps.cut(range);
    cursor->ring[cursor->version++ % kRing] = range;
}

bool is_in_ring(const Cursor& cursor, uint64 version) {
    return version <= cursor.version && cursor.version - version <= kRing;
}

// Lets those transactions go that have ended. No gap holds their places; those who took their
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

void hold(Cursor* cursor, TransactionId xid, const core::PlaceRange& range) {
    cut(cursor, range);
    if (cursor->hold_count == kHolds) {
        end_holds(cursor);
    }
    if (cursor->hold_count < kHolds) {
        cursor->holds[cursor->hold_count++] = {xid, range};
    } else {
        unsettle(cursor);
    }
}

// Lends body the cursor, if there is one.
template <typename Body>
void with_cursor(const GapKey& key, LWLockMode mode, Body body) {
    if (!is_shared()) {
        return;
    }
    const Spot spot = spot_of(key);
    LWLockAcquire(spot.lock, mode);
    if (Cursor* cursor = spot.find(key)) {
        body(cursor);
    }
    LWLockRelease(spot.lock);
}

// Calls visit(cursor) for every cursor of this database.
template <typename Visit>
void each_cursor(LWLockMode mode, Visit visit) {
    for (int i = 0; is_shared() && i < kLocks; ++i) {
        LWLockAcquire(&shared->locks[i], mode);
        for (int bucket = i; bucket < shared->buckets; bucket += kLocks) {
            for (int way = 0; way < kWays; ++way) {
                Cursor* cursor = &bucket_at(bucket)[way];
                if (cursor->used && cursor->key.database == MyDatabaseId) {
                    visit(cursor);
                }
            }
        }
        LWLockRelease(&shared->locks[i]);
    }
}

// ---------------------------------------------------------------- notes

struct Note {
    GapKey key;
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
bool widen_note(const GapKey& key, const core::QueuePlace& place, int level) {
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
        each_cursor(LW_EXCLUSIVE, [&note](Cursor* cursor) {
            if (cursor->key.table == note.key.table) {
                reset_cursor(cursor);
            }
        });
    } else {
        with_cursor(note.key, LW_EXCLUSIVE, [&note](Cursor* cursor) { cut(cursor, note.range); });
    }
}

void prepare(const Note& note, TransactionId xid) {
    if (note.everywhere) {
        each_cursor(LW_EXCLUSIVE, [&note](Cursor* cursor) {
            if (cursor->key.table == note.key.table) {
                unsettle(cursor);
            }
        });
    } else {
        with_cursor(note.key, LW_EXCLUSIVE,
                    [&note, xid](Cursor* cursor) { hold(cursor, xid, note.range); });
    }
}

extern "C" void belay_gaps_at_end(XactEvent event, void*) {
    if (note_count == 0) {
        return;
    }
    switch (event) {
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_PARALLEL_COMMIT:
            for (int i = 0; i < note_count; ++i) {
                commit(notes[i]);
            }
            break;
        case XACT_EVENT_PREPARE:
            count_prepared();
            for (int i = 0; i < note_count; ++i) {
                prepare(notes[i], GetTopTransactionIdIfAny());
            }
            break;
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PARALLEL_ABORT:
            break;  // nothing has appeared
        default:
            return;  // before the end
    }
    note_count = 0;
}

extern "C" void belay_gaps_at_sub_end(SubXactEvent event, SubTransactionId, SubTransactionId,
                                      void*) {
    if (event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB) {
        note_count =
            end_level(notes, note_count, event == SUBXACT_EVENT_COMMIT_SUB, [](const Note&) {});
    }
}

}  // namespace

GapKey gap_key(Oid table, uint8 stream, int16 slot, std::string_view lane, int32 set) {
    const bool fits = lane.size() <= GapKey::kMaxLane;
    GapKey key{.database = MyDatabaseId,
               .table = table,
               .set = set,
               .slot = slot,
               .stream = stream,
               .lane_size = fits ? static_cast<uint8>(lane.size()) : kTooLong,
               .lane = {}};
    (void)lane.copy(key.lane, sizeof key.lane);
    return key;
}

GapView read_gaps(const GapKey& key) {
    GapView view;
    view.known = is_shared() && key.lane_size != kTooLong;
    view.settled = false;
    view.made = 0;
    view.version = 0;
    view.gaps.count = 0;
    if (!view.known) {
        return view;
    }
    const Spot spot = spot_of(key);
    LWLockAcquire(spot.lock, LW_SHARED);
    Cursor* cursor = spot.find(key);
    if (cursor == nullptr || cursor->hold_count > 0) {
        LWLockRelease(spot.lock);
        LWLockAcquire(spot.lock, LW_EXCLUSIVE);
        cursor = spot.find(key);
        if (cursor == nullptr) {
            cursor = make_cursor(spot, key);
        }
        end_holds(cursor);
    }
    pg_atomic_write_u64(&cursor->last_use, pg_atomic_add_fetch_u64(&shared->clock, 1));
    view.settled = cursor->settled;
    view.made = cursor->made;
    view.version = cursor->version;
    view.gaps.count = cursor->gaps.count;
    std::copy(cursor->gaps.list, cursor->gaps.list + cursor->gaps.count, view.gaps.list);
    LWLockRelease(spot.lock);
    for (int i = 0; i < note_count; ++i) {
        if (notes[i].everywhere && notes[i].key.table == key.table) {
            view.gaps.count = 0;
        } else if (same_key(notes[i].key, key)) {
            view.gaps.cut(notes[i].range);
        }
    }
    return view;
}

bool gaps_missed(const GapKey& key, const GapView& view, const core::QueuePlace& up_to) {
    if (view.gaps.count == 0 && up_to == core::kQueueStart) {
        return false;
    }
    bool missed = true;  // if it is gone
    with_cursor(key, LW_SHARED, [&](const Cursor* cursor) {
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

void record_gap(const GapKey& key, const GapView& view, const core::Gap& gap) {
    if (!view.known || !view.settled || gap.to <= gap.from) {
        return;
    }
    with_cursor(key, LW_EXCLUSIVE, [&](Cursor* cursor) {
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

void settle_gaps(const GapKey& key, const GapView& view) {
    with_cursor(key, LW_EXCLUSIVE, [&view](Cursor* cursor) {
        cursor->settled = cursor->settled || cursor->made == view.made;
    });
}

void note_appeared(const GapKey& key, const core::QueuePlace& place) {
    constexpr int kMany = 4096;
    if (!is_shared() || key.lane_size == kTooLong) {
        return;
    }
    const int level = GetCurrentTransactionNestLevel();
    if (widen_note(key, place, level)) {
        return;
    }
    if (note_count >= kMany) {
        note_rearranged(key.table);
    } else {
        add_note({key, {place, place}, level, false});
    }
}

void note_rearranged(Oid table) {
    if (!is_shared()) {
        return;
    }
    const int level = GetCurrentTransactionNestLevel();
    for (int i = 0; i < note_count; ++i) {
        if (notes[i].everywhere && notes[i].key.table == table && notes[i].level == level) {
            return;
        }
    }
    add_note({gap_key(table, 0, 0), {}, level, true});
}

bool repair_gap(const GapKey& key, const core::QueuePlace& place) {
    bool repaired = false;
    with_cursor(key, LW_EXCLUSIVE, [&](Cursor* cursor) {
        const core::Gap* end = cursor->gaps.list + cursor->gaps.count;
        repaired = std::any_of(static_cast<const core::Gap*>(cursor->gaps.list), end,
                               [&place](const core::Gap& gap) { return gap.holds(place); });
        if (repaired) {
            cut(cursor, {place, place});
        }
    });
    return repaired;
}

int gaps_to_check(Oid table, int64 age_ms, GapKey* keys, int limit) {
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

bool has_gaps_to_check(int64 age_ms) {
    const TimestampTz before = GetCurrentTimestamp() - age_ms * 1000;
    bool found = false;
    each_cursor(LW_SHARED,
                [&](const Cursor* cursor) { found = found || cursor->checked <= before; });
    return found;
}

void install_queue_gaps() {
    add_shared_piece({gap_bytes, init_gaps, use_gaps});
    RegisterXactCallback(belay_gaps_at_end, nullptr);
    RegisterSubXactCallback(belay_gaps_at_sub_end, nullptr);
}

}  // namespace belay::pg
