// Gap cursors: where in the claim indexes of turns and tasks no live row lies, so that finding work
// does not walk over the dead ones again.
//
// A gap is a hint; the rows decide. It is recorded by a walk that met none but dead rows there, and
// it ends when a row appears in it. A row that is leased is a live row like any other: it lies
// between two gaps. So nothing has to be known of leases, and nothing is to be told when one ends,
// or when a transaction that took or deleted rows is rolled back.
//
// A walk reads the gaps, then takes its snapshot. Whoever lets a row appear at a place tells so
// when his rows are visible, in the commit callback: the gaps are cut there, and a ring of the last
// such places keeps those who read the gaps before from recording what was true before.
#pragma once

#include "core/gaps.hpp"
#include "pg/pg.hpp"

namespace belay::pg {

// A stream of a queue: the rows of one range of its claim index.
struct GapKey {
    static constexpr int kMaxLane = 64;

    Oid database;
    Oid table;
    int32 set;
    int16 slot;
    uint8 stream;  // which index of the table
    uint8 lane_size;
    char lane[kMaxLane];
};
GapKey gap_key(Oid table, uint8 stream, int16 slot, std::string_view lane = {}, int32 set = 0);

// What a walk reads before it takes its snapshot.
struct GapView {
    bool known;    // there is shared memory
    bool settled;  // no transaction prepared before the cursor was made can still add rows
    TimestampTz made;
    uint64 version;
    core::Gaps gaps;  // without the places where this transaction has put rows itself
};
GapView read_gaps(const GapKey& key);

// Whether a row has appeared since in a gap of the view, or up to that place: a walk that was there
// before looks again.
bool gaps_missed(const GapKey& key, const GapView& view, const core::QueuePlace& up_to);

// A walk met no live row in the gap, by a snapshot that is younger than the view, and that does not
// see what this transaction has done.
void record_gap(const GapKey& key, const GapView& view, const core::Gap& gap);

// No transaction that was prepared before the cursor was made is open any more.
void settle_gaps(const GapKey& key, const GapView& view);

// ---- Notes of the current transaction ----

// A row appears at a place: it is new, or was elsewhere, or out of the index.
void note_appeared(const GapKey& key, const core::QueuePlace& place);
// Rows appear anywhere in the table.
void note_rearranged(Oid table);

// ---- Rows written by hand ----

// A live row in a gap, found by somebody who does not trust it. True if it was in one.
bool repair_gap(const GapKey& key, const core::QueuePlace& place);
// The cursors of a table that nobody has checked for so long, up to limit; they count as checked.
int gaps_to_check(Oid table, int64 age_ms, GapKey* keys, int limit);
bool has_gaps_to_check(int64 age_ms);

// Makes the shared piece and the callbacks. Called once, from _PG_init, after install_wakeups: the
// callbacks that come last run first, and a waiter must not be woken before the gaps are cut.
void install_queue_gaps();

}  // namespace belay::pg
