// The end of a transaction, after its locks are gone.
//
// Callbacks of transactions run when the rows are visible, but before heavyweight locks are
// released and invalidations are sent. Whoever were woken there could find a key still taken or a
// queue still paused, and sleep on.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

enum class Ending { kCommit, kPrepare, kAbort, kSubtransactionAbort };

using EndHandler = void (*)(Ending ending);

// Has the handler called at each end, in the order of registration. It must not raise. At the end
// of a subtransaction the nest level is still the one that ends.
void call_after_locks(EndHandler handler);

}  // namespace belay::pg
