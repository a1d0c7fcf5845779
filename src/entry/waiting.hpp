// What the procedures that wait have in common.
#pragma once

#include "entry/call.hpp"
#include "ops/wait/wait_for_work.hpp"

namespace belay::entry {

// A wait must end its transaction, or it would hold a snapshot for as long as it sleeps.
void refuse_in_transaction(const Call& call, const char* procedure);

// The queue, or NULL after a timeout, and the reason.
Datum answer_wait(const Call& call, const ops::WaitResult& result);

}  // namespace belay::entry
