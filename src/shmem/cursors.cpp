// Claim cursors: what a walk reads and writes, and the notes of a transaction.
//
// Touches belay's shared memory, through cursor_table.hpp. At the end of a transaction nothing is
// allocated or raised.
#include "shmem/cursors.hpp"

#include <algorithm>

#include "pg/settings.hpp"
#include "pg/transaction_levels.hpp"
#include "shmem/cursor_table.hpp"
#include "shmem/open_lanes.hpp"
#include "shmem/prepared_marks.hpp"

namespace belay::cursors {

namespace {

bool same_part(const CursorKey& a, const CursorKey& b) {
    const Name first = name_of(a);
    const Name second = name_of(b);
    return memcmp(&first, &second, sizeof first) == 0;
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
// first that it has leased or released may be taken. Both may be more than is left of them.
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
void reset_table(Oid table, bool prepared) {
    each_cursor(LW_EXCLUSIVE, [=](const Spot& spot, const Name& name, Cursor* cursor) {
        if (name.table == table) {
            reset_cursor(cursor);
            if (prepared) {
                unsettle(spot, cursor);
            }
        }
    });
}

void commit(const Note& note) {
    if (note.kind == NoteKind::kMoved) {
        reset_table(note.key.table, false);
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
        Entry* entry = find_entry(*cursor, note.place);
        if (note.kind == NoteKind::kDeleted) {
            if (entry != nullptr) {
                drop_entry(cursor, entry);
            }
            return;
        }
        if (entry != nullptr) {
            entry->hint = note.hint;
        }
        if (entry != nullptr && note.stamp == entry->stamp) {
            set_entry(spot, entry, note.at);
        } else {
            // A lease of an earlier life is none.
            set_free(spot, cursor, note.place, note.key.life == cursor->life ? note.at : 0);
        }
    });
}

// A fetch of the transaction itself may have believed what is undone now: that a row was gone, or
// leased for longer. The row is looked at again.
void abort(const Note& note) {
    if (note.kind == NoteKind::kMoved || note.kind == NoteKind::kRemoved) {
        reset_table(note.key.table, false);
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
        reset_table(note.key.table, true);
        return;
    }
    with_part(note.key, LW_EXCLUSIVE, [&note, xid](const Spot& spot, Cursor* cursor) {
        if (Entry* entry = find_entry(*cursor, note.place)) {
            set_entry(spot, entry, 0);
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
            .next_free = std::min(next_free(cursor), own_free),
            .held = has_held(cursor),
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
    const Name name = name_of(key);
    const Spot spot = spot_of(name);
    LWLockAcquire(&spot.partition->lock, LW_SHARED);
    Cursor* cursor = find_cursor(spot, name);
    if (cursor == nullptr || spot.partition->hold_count > 0 || cursor->life < key.life) {
        LWLockRelease(&spot.partition->lock);
        LWLockAcquire(&spot.partition->lock, LW_EXCLUSIVE);
        end_holds(spot);
        cursor = find_cursor(spot, name);
        if (cursor == nullptr) {
            cursor = make_cursor(spot, key);
        } else if (cursor->life < key.life) {
            reset_cursor(cursor);
            cursor->life = key.life;
        }
    }
    spot.cursors->touch(cursor);
    if (cursor->life == key.life) {
        view = view_of(*cursor);
    }
    LWLockRelease(&spot.partition->lock);
    view.own = lowest_own(key);
    return view;
}

int due_rows(const CursorKey& key, const CursorView& view, int64 now, bool with_held,
             const Place& after, DueRow* rows, int limit) {
    DueList list{rows, limit};
    const Place end = std::min(view.position, view.own);
    with_cursor(key, LW_SHARED, [&](const Spot&, const Cursor* cursor) {
        const Entry* entry = next_entry(*cursor, after, now, with_held);
        while (list.count < limit && entry != nullptr && entry->place < end) {
            // A probe of a row that a running transaction has leased has nothing to correct.
            list.add({entry->place, entry->free_at == kHeld ? 0 : entry->stamp});
            entry = next_entry(*cursor, entry->place, now, with_held);
        }
    });
    // Others must not look at what this transaction has leased or released, but it may.
    for (int i = 0; own_free <= now && i < note_count; ++i) {
        const bool taken = notes[i].kind == NoteKind::kClaimed || notes[i].kind == NoteKind::kFree;
        if (taken && same_part(notes[i].key, key) && notes[i].at <= now && notes[i].place > after &&
            notes[i].place < end) {
            list.add({notes[i].place, 0});
        }
    }
    return list.count;
}

void correct_entry(const CursorKey& key, const DueRow& row, std::optional<int64> free_at) {
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        Entry* entry = find_entry(*cursor, row.place);
        if (entry == nullptr || entry->stamp != row.stamp) {
            return;
        }
        if (free_at) {
            set_entry(spot, entry, *free_at);
        } else {
            drop_entry(cursor, entry);
        }
    });
}

bool enter_row(const CursorKey& key, const CursorView& view, const Place& place, int64 free_at) {
    bool entered = false;
    with_cursor(key, LW_EXCLUSIVE, [&](const Spot& spot, Cursor* cursor) {
        // What the view's snapshot showed may be older than what was noted since.
        entered = find_entry(*cursor, place) != nullptr ||
                  (limit_since(*cursor, view.version, kLastPlace) > place &&
                   add_entry(spot, cursor, place, free_at, {}) != nullptr);
    });
    return entered;
}

bool has_entry(const CursorKey& key, const Place& place) {
    bool found = false;
    with_cursor(key, LW_SHARED, [&](const Spot&, const Cursor* cursor) {
        found = find_entry(*cursor, place) != nullptr;
    });
    return found;
}

std::optional<RowHint> row_hint(const CursorKey& key, const Place& place) {
    std::optional<RowHint> hint;
    with_cursor(key, LW_SHARED, [&](const Spot&, const Cursor* cursor) {
        if (const Entry* entry = find_entry(*cursor, place)) {
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
        const int32 number = spot.cursors->number_of(cursor);
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
        Entry* entry = find_entry(*cursor, place);
        if (entry != nullptr) {
            set_entry(spot, entry, kHeld);
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
        const Entry* entry = find_entry(*cursor, place);
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

int cursors_to_check(Oid table, int64 age_ms, CursorKey* keys, int limit) {
    const TimestampTz now = GetCurrentTimestamp();
    int count = 0;
    each_cursor(LW_EXCLUSIVE, [&](const Spot&, const Name& name, Cursor* cursor) {
        if (name.table == table && count < limit && now - cursor->checked >= age_ms * 1000) {
            cursor->checked = now;
            keys[count++] = {name.database, name.table,   name.lane,
                             name.slot,     name.delayed, cursor->life};
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
    each_cursor(LW_SHARED, [&](const Spot&, const Name&, const Cursor* cursor) {
        found = found || cursor->checked <= before;
    });
    return found;
}

constinit const pg::Participant kParticipant{
    .before_end = nullptr,
    .at_end = at_end,
    .at_subtransaction_end = at_subtransaction_end,
    .after_locks = nullptr,
};

}  // namespace belay::cursors
