// Claim cursors: where the live rows of a queue begin, so that finding work does not walk over the
// dead ones again.
//
// A cursor is a hint; the rows decide. Per part of a queue it holds a position, and of every live
// row below the position an entry that says when the row may be taken again. A cursor passes a row
// only if the row is dead or has an entry; if there is no room for entries, it stays.
//
// A fetch reads the cursor, then takes its snapshot, then reads the clock. Rows that commit
// meanwhile are noted in the cursor by the committing transaction, after its rows are visible: the
// position goes back to the lowest new row, and a ring of the last such places limits how far
// sessions that read the cursor before may move it.
#pragma once

#include "pg/list.hpp"
#include "pg/pg.hpp"
#include "pg/transactions.hpp"

namespace belay::cursors {

// A part of a queue, and the incarnation of the hub in which its leases count.
struct CursorKey {
    Oid database;
    Oid table;
    int32 lane;
    int16 slot;
    int16 delayed;  // 1: the rows that were delayed
    int32 life;     // not part of the name: what was known in an earlier life is forgotten
};

// A row's place within its part.
struct Place {
    int64 due;
    int64 id;

    auto operator<=>(const Place&) const = default;
};
inline constexpr Place kFirstPlace{PG_INT64_MIN, PG_INT64_MIN};
inline constexpr Place kLastPlace{PG_INT64_MAX, PG_INT64_MAX};

// Where a row lay when it was last written. It may have gone since, or the whole table may have
// been rewritten: the reader checks that the row is there.
struct RowHint {
    ItemPointerData tid;
    Buffer buffer;  // InvalidBuffer: nothing is known
};

// What a fetch reads before it takes its snapshot. Without shared memory, or in a life that is
// over, known is false and the position the first.
struct CursorView {
    bool known;
    bool settled;  // no transaction prepared before the cursor was made can still add rows
    TimestampTz made;
    Place position;
    uint64 version;   // of the ring
    uint64 changes;   // of anything that may give a fetch something to take
    int64 next_free;  // no row with an entry may be taken before, in ms
    bool held;        // there are rows that transactions have leased which still run
    Place own;        // the lowest row that this transaction has inserted: only it can see it
    RowHint head;     // of the row at the position
};
CursorView read_cursor(const CursorKey& key);
// The view of a walk that has to look at every row.
inline constexpr CursorView kNoCursor{.known = false,
                                      .settled = false,
                                      .made = 0,
                                      .position = kFirstPlace,
                                      .version = 0,
                                      .changes = 0,
                                      .next_free = PG_INT64_MAX,
                                      .held = false,
                                      .own = kLastPlace,
                                      .head = {}};

// The entries below the position whose rows may be taken now, in order, behind a place; with_held,
// also those of rows that a running transaction has leased: to all other transactions they are
// still free.
struct DueRow {
    Place place;
    uint64 stamp;
};
int due_rows(const CursorKey& key, const CursorView& view, int64 now, bool with_held,
             const Place& after, DueRow* rows, int limit);
// What the row of such an entry turned out to be: not to be taken before free_at, or gone. Does
// nothing if the entry has changed since.
void correct_entry(const CursorKey& key, const DueRow& row, std::optional<int64> free_at);

// Gives a live row that may not be taken before free_at an entry, if it has none. False: the cursor
// must not pass it.
bool enter_row(const CursorKey& key, const CursorView& view, const Place& place, int64 free_at);
bool has_entry(const CursorKey& key, const Place& place);
// Where the row of an entry lies, if it has one.
std::optional<RowHint> row_hint(const CursorKey& key, const Place& place);

// Moves the cursor: all live rows from the view's position to that place have entries.
void advance_cursor(const CursorKey& key, const CursorView& view, const Place& place);

// No transaction that was prepared before the cursor was made is open any more.
void settle_cursor(const CursorKey& key, const CursorView& view);

// ---- Notes of the current transaction ----

// A row was leased: others need not look at it while the transaction runs. False: no room.
bool claimed(const CursorKey& key, const Place& place, int64 deadline, const RowHint& hint);
// A row was inserted.
void inserted(const CursorKey& key, const Place& place, const RowHint& hint);
// A row that was there may be taken from that time on, earlier than its entry may say.
void freed(const CursorKey& key, const Place& place, int64 free_at, const RowHint& hint);
// A row was deleted.
void deleted(const CursorKey& key, const Place& place);
// Rows of the table were moved, or deleted without being named.
void moved(Oid table);
void removed(Oid table);

// Adds the lanes of the table in which this transaction has inserted, leased or freed rows: other
// sessions cannot see yet that they may have free rows. False: all may, or there are too many.
inline constexpr int kMostOwn = 1024;  // notes that are looked at
bool own_lanes(Oid table, pg::List<int32>* lanes);

// A live row below the position, found by a scan that does not trust the cursor. True: it had no
// entry, and the position is put back to it.
bool repair_cursor(const CursorKey& key, const Place& place, int64 free_at);
// The cursors of a table that were not checked for so long, up to limit; they count as checked.
int cursors_to_check(Oid table, int64 age_ms, CursorKey* keys, int limit);
// Whether the background worker has cursors of its database to check, and how old they are then.
int64 cursor_check_age();
bool has_cursors_to_check();

// Adds the shared piece. Called once, from _PG_init.
void install();

// Brings the cursors up to date when a transaction has ended.
extern const pg::Participant kParticipant;

}  // namespace belay::cursors
