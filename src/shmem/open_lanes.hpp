// Open lanes: the lanes of a worker queue that may have free rows, while all others are known to
// have none. A fetch of every tag looks at these instead of at every lane that has rows.
//
// It begins with a look at all lanes: begin() before its first snapshot, complete() after its last.
// In between, and from then on, every transaction that adds a row, frees one or lets a lease end
// earlier says so when its rows are visible: the lane is added, or the time until which the others
// stay empty is lowered. So a row that may be taken is in a lane that was found open by the look,
// or was visible to none of its snapshots; then its transaction has added its lane since, or has
// not completed its commit callback yet, and its caller has no answer.
//
// A prepared transaction ends where no callback runs: what is known is forgotten at PREPARE, and
// nothing is known while one may be open (prepared_marks). Rows that were written by hand are not
// announced: what is known is forgotten after a minute. If the lanes do not fit, or another table
// takes the place, the next fetch looks at all lanes again.
#pragma once

#include "pg/pg.hpp"

namespace belay::open_lanes {

inline constexpr int kMost = 128;

struct Lane {
    int32 lane;
    uint32 stamp;  // a lane that is added again has another
};

// A table in a life of its hub: what leases of an earlier life say does not count.
struct Key {
    Oid table;
    int32 life;
};

struct View {
    bool complete;      // all lanes that may have free rows are here
    int64 empty_until;  // when another one may have one, at the earliest, in ms
    int count;
    Lane lanes[kMost];  // those looked at longest ago come first
};
// What is known at that time, in ms. with_sessions: of the lanes with sessions, too.
View read(const Key& key, bool with_sessions, int64 now);
// The lane has no row that is free before that time; without a time: it had one. Does nothing if
// the lane has been added again since.
void looked_at(const Key& key, const Lane& lane, std::optional<int64> empty_until);

// A look at all lanes begins: from here on, what is announced is kept. 0: no use.
uint64 begin(const Key& key, int64 now);
// It has seen these lanes with free rows, and in the others none that is free before that time.
void complete(const Key& key, uint64 look, bool with_sessions, std::span<const int32> lanes,
              int64 empty_until);

// ---- Announcements, by transactions whose rows are visible ----

// A lane may have a free row.
void opened(Oid table, int32 lane);
// A row of the lane is free from that time on, in ms.
void opens_at(const Key& key, int32 lane, int64 at);
// Anything may have changed.
void forget(Oid table);

// Adds the shared piece. Called once, from _PG_init.
void install();

}  // namespace belay::open_lanes
