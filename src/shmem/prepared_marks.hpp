// Prepared marks: whether a cursor that is made now can have missed a prepared transaction.
//
// A prepared transaction ends where no callback runs, so a cursor must know of it from PREPARE on.
// A cursor that was made later does not. The number of transactions that were prepared with
// something to report says whether there can be one: if a look found none open in the database, and
// none was prepared since, a new cursor has missed nothing.
//
// Order: a transaction counts itself, then notifies the cursors that exist. A look reads the number
// before it asks for open transactions. So a cursor that is made before the number moves is
// notified, and one that is made later sees the number.
#pragma once

#include "pg/pg.hpp"

namespace belay::prepared_marks {

// The number of prepared transactions with something to report, to be read before a look.
uint64 current();
// A look at that mark found none open in this database.
void none_open_at(uint64 mark);
// Whether none is open, as far as that is known without a look.
bool is_none_open();

// The current transaction is being prepared with something to report. Called before it reports.
void add();

// Makes the shared piece. Called once, from _PG_init.
void install();

}  // namespace belay::prepared_marks
