// Rotation: where the last look at a queue's streams ended, so that the next one goes on there.
//
// A fetch or claim that serves everything looks at a bounded number of streams. All sessions share
// one position per table, in shared memory; without it each session has its own. A position is a
// hint: one that was overwritten by another table's, or that names a stream that is gone, costs
// fairness for a moment and nothing else. Reading and writing it takes constant time.
#pragma once

#include "pg/pg.hpp"

namespace belay::rotation {

struct Position {
    static constexpr int kMost = 64;

    uint8 size;  // 0: before the first stream
    char bytes[kMost];

    std::string_view text() const { return {bytes, size}; }
};

// The stream that the last look at the table ended with.
Position position_of(Oid table);
// A name that is too long moves the position to the beginning.
void move_to(Oid table, std::string_view stream);

// Makes the shared piece. Called once, from _PG_init.
void install();

}  // namespace belay::rotation
