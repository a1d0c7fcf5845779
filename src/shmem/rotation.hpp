// Rotation: where the last look at a queue's streams ended, so that the next one continues there.
//
// A fetch or claim that serves everything looks at a bounded number of streams. All sessions share
// one position per table, in shared memory; without it each session has its own. A position is a
// hint: one that was overwritten by another table's, or that names a stream that is gone, costs
// fairness for a moment and nothing else. Reading and writing it takes constant time.
//
// Beside it the last streams are remembered that may have something new, for a look that finds
// nothing where the rotation has come to.
#pragma once

#include "pg/pg.hpp"

namespace belay::rotation {

struct Position {
    static constexpr int kMost = 64;

    uint8 size;  // 0: before the first stream
    char bytes[kMost];

    std::string_view text() const { return {bytes, size}; }
};

// A name as a position; one that is too long stands for the beginning.
Position position_at(std::string_view stream);
// The stream that the last look at the table ended with.
Position position_of(Oid table);
// A name that is too long moves the position to the beginning.
void move_to(Oid table, std::string_view stream);

// A stream may have something that a look could take, or will have at the end of this transaction.
// One whose name is too long is not remembered.
void prefer(Oid table, std::string_view stream);
// The last such streams, each once, the latest first. Returns how many.
inline constexpr int kPreferred = 8;
int preferred(Oid table, Position* streams);

// Makes the shared piece. Called once, from _PG_init.
void install();

}  // namespace belay::rotation
