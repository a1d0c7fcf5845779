// Sequences, read and moved without taking a number.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The last number that a sequence has given, 0 if it has given none.
int64 last_number(Oid sequence);

// Lets the next number be above floor, if the sequence has not come that far yet. As for every
// number of a sequence, a rollback does not undo it.
void raise_sequence(Oid sequence, int64 floor);

}  // namespace belay::pg
