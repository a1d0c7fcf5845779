// Reads the header of a row, and the server's own record of transactions and subtransactions.
//
// Touches  nothing: it reads
// Must not wait, or lock the row: callers ask why something else waits
#include "pg/row_holder.hpp"

#include "pg/compat.hpp"

namespace belay::pg {

TransactionId row_holder(HeapTupleHeader row) {
    if ((row->t_infomask & HEAP_XMAX_INVALID) != 0) {
        return InvalidTransactionId;
    }
    const TransactionId holder = HeapTupleHeaderGetRawXmax(row);
    const auto open = [](TransactionId id) {
        return !TransactionIdIsCurrentTransactionId(id) && TransactionIdIsInProgress(id);
    };
    if ((row->t_infomask & HEAP_XMAX_IS_MULTI) == 0) {
        return open(holder) ? holder : InvalidTransactionId;
    }
    MultiXactMember* members = nullptr;
    const int count =
        GetMultiXactIdMembers(holder, &members, false, HEAP_XMAX_IS_LOCKED_ONLY(row->t_infomask));
    for (int i = 0; i < count; ++i) {
        if (open(members[i].xid)) {
            return members[i].xid;
        }
    }
    return InvalidTransactionId;
}

TransactionId top_transaction(TransactionId open) {
    return TransactionIdIsNormal(open) ? SubTransGetTopmostTransaction(open) : open;
}

}  // namespace belay::pg
