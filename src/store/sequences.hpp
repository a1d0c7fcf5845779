// The sequences of a hub, compared with the rows that were numbered by them.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// Lets the numbers of an incarnation begin above all earlier ones. Rows can come to a place whose
// sequences know nothing of them: a copy of the tables alone, or a move. Inside with_spi, by the
// transaction that begins the incarnation.
void raise_sequences(const Hub& hub, int32 incarnation);

// A sequence whose next number may belong to a row already.
struct LateSequence {
    const char* name;
    int64 last;
    int64 largest;  // of the rows
};
struct SequenceCheck {
    std::span<const LateSequence> late;
    std::span<const char* const> skipped;
};
// Of three tables the largest number is known only to a scan. Unless all are to be read, those with
// more than 500 pages are skipped.
SequenceCheck check_sequences(const Hub& hub, bool all);

}  // namespace belay::store
