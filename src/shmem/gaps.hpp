// Gap cursors: where in the claim indexes of turns and tasks no live row lies, so that finding work
// does not walk over the dead ones again.
//
// A gap is a hint; the rows decide. It is recorded by a walk that met none but dead rows there, and
// it ends when a row appears in it. A row that is leased is a live row like any other: it lies
// between two gaps. So nothing has to be known of leases, and nothing has to be said when one ends,
// or when a transaction that took or deleted rows is rolled back.
//
// A walk reads the gaps, then takes its snapshot. A transaction that lets a row appear at a place
// says so when its rows are visible, in the commit callback: the gaps are cut there, and a ring of
// the last such places keeps walks that have read the gaps before from recording what was true
// before. The proof is in shmem/README.md. Nothing here reads a row.
#pragma once

#include "core/gaps.hpp"
#include "pg/pg.hpp"
#include "pg/transactions.hpp"

namespace belay::gaps {

// A stream of a queue: the rows of one range of its claim index.
struct Key {
    static constexpr int kMaxQueue = 64;

    Oid database;
    Oid table;
    int32 set;
    int16 slot;
    uint8 stream;  // which index of the table
    uint8 queue_size;
    char queue[kMaxQueue];
};
Key key_of(Oid table, uint8 stream, int16 slot, std::string_view queue = {}, int32 set = 0);

// What a walk reads before it takes its snapshot.
struct View {
    bool known;    // there is shared memory
    bool settled;  // no transaction prepared before the cursor was made can still add rows
    TimestampTz made;
    uint64 version;
    core::Gaps gaps;  // without the places where this transaction has put rows itself
};
View read(const Key& key);

// Whether a row has appeared since in a gap of the view, or up to that place: a walk that was there
// before looks again.
bool missed(const Key& key, const View& view, const core::QueuePlace& up_to);

// A walk met no live row in the gap, by a snapshot that is younger than the view, and that does not
// see what this transaction has done.
void record(const Key& key, const View& view, const core::Gap& gap);

// No transaction that was prepared before the cursor was made is open any more.
void settle(const Key& key, const View& view);

// ---- Notes of the current transaction ----

// A row appears at a place: it is new, or was elsewhere, or out of the index.
void appeared(const Key& key, const core::QueuePlace& place);
// Rows appear anywhere in the table.
void rearranged(Oid table);

// ---- Rows written by hand ----

// A live row that a walk without gaps has found. True if it lay in a gap, which is cut there.
bool repair(const Key& key, const core::QueuePlace& place);
// The cursors of a table that were not checked for so long, up to limit; they count as checked.
int to_check(Oid table, int64 age_ms, Key* keys, int limit);
bool has_to_check(int64 age_ms);

// Adds the shared piece. Called once, from _PG_init.
void install();

// Cuts the gaps when the rows of a transaction are visible.
extern const pg::Participant kParticipant;

}  // namespace belay::gaps
