// Who holds a row: read from the row itself, without a lock.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The transaction that is still open, is not ours, and has locked or changed the row; else none.
TransactionId row_holder(HeapTupleHeader row);

// The transaction that an open one is a part of: a row names the subtransaction that has changed
// it, and only whole transactions can be found among locks and prepared ones.
TransactionId top_transaction(TransactionId open);

}  // namespace belay::pg
