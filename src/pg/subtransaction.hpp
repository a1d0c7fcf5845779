// A part of a call that can be undone by itself: row locks and lock-table entries included.
#pragma once

#include "pg/boundary.hpp"
#include "pg/pg.hpp"

namespace belay::pg {

// How a subtransaction ended: kept, undone, or undone because of an error.
struct SubtransactionEnd {
    bool kept;
    ErrorData* error;  // in the caller's memory; null: none
};

// Runs body in a subtransaction and keeps what it did if it returns true, else undoes it. An ERROR
// undoes it too and is returned: the caller decides what it means, and must not drop it.
template <JumpSafe Body>
SubtransactionEnd try_in_subtransaction(Body body) {
    MemoryContext outer_memory = CurrentMemoryContext;
    ResourceOwner outer_owner = CurrentResourceOwner;
    ErrorData* volatile error = nullptr;
    volatile bool keep = false;

    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(outer_memory);
    PG_TRY();
    {
        keep = at_boundary(body);
        if (keep) {
            ReleaseCurrentSubTransaction();
        } else {
            RollbackAndReleaseCurrentSubTransaction();
        }
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(outer_memory);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
        keep = false;
    }
    PG_END_TRY();

    MemoryContextSwitchTo(outer_memory);
    CurrentResourceOwner = outer_owner;
    return {keep, error};
}

// The same, but an ERROR propagates: the code that catches it further up must not find our
// subtransaction open.
template <JumpSafe Body>
bool keep_if(Body body) {
    const SubtransactionEnd end = try_in_subtransaction(body);
    if (end.error != nullptr) {
        ReThrowError(end.error);
    }
    return end.kept;
}

}  // namespace belay::pg
