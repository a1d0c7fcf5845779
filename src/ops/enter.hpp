// The way into a hub's tables.
//
// A call first takes the locks on the tables it needs, in one order for all calls, so that no later
// step waits for them and no deadline is computed before such a wait. A change of slot_count holds
// the queues against writers: after the locks the hub's options are those in force.
#pragma once

#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// Which tables a call needs. Later ones are taken after earlier ones.
struct Needs {
    bool worker_queue = false;
    bool orchestrator_queue = false;
    bool instance_locks = false;
    bool sessions = false;
    bool intents = false;
    bool slots = false;
    bool tasks = false;
    // Tables that the call changes by statements; direct access looks at them by itself.
    bool attempts = false;
    bool executions = false;  // and history
    bool instances = false;   // and kv_delta, kv_store
    bool events = false;
    bool turn_reads = false;  // what a turn fetch reads: instances, executions, history, kv_store
};

// Takes the locks, waiting if it must. Refuses the call (QB018) if the owner has altered one of the
// tables in a way that is not served, before anything is written.
void enter(store::Tables& tables, const Needs& needs, pg::Clock* clock);

// The same without waiting. False: a session is changing the tables, or waits to do so.
bool try_enter(store::Tables& tables, const Needs& needs);
// Only takes the locks, for a caller that writes into another hub later, and finds it again: it may
// have gone, or to another server, before they were taken.
bool try_lock_tables(const store::Hub& hub, const Needs& needs);

// The slots that a fetch may take from: those of the caller's list that the hub has, each once; no
// list means all.
struct SlotFilter {
    bool all;
    std::span<const int32> wanted;
};
std::span<const int16> slots_of(const store::Hub& hub, const SlotFilter& filter);

}  // namespace belay::ops
