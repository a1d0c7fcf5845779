// Who holds a row: told from the row itself, without a lock.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The transaction that is still open, is not ours, and has locked or changed the row; else none.
TransactionId row_holder(HeapTupleHeader row);

}  // namespace belay::pg
