// The setting belay.now: the time of a transaction, for tests.
//
// It holds for the transaction that sets it, as SET LOCAL says. A value that SET left behind for
// the session is an error at the next call, rather than a clock that silently stands still.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// Hooks of the setting.
extern "C" bool belay_check_now(char** value, void** parsed, GucSource source);
extern "C" void belay_assign_now(const char* value, void* parsed);

// The time that this transaction has set, in ms; none: the server's clock. QB006 if another
// transaction has set it.
std::optional<int64> transaction_now();

}  // namespace belay::pg
