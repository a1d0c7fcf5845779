// How many leases of a hub are live, over all of its tables.
//
// Touches  nothing; counts rows of the worker queue, instance locks, slot owners and tasks
// Must not fail because a table was dropped by hand: such a hub can still be dropped
#include "store/leases.hpp"

#include "pg/clock.hpp"
#include "store/instance_locks.hpp"
#include "store/slots.hpp"
#include "store/due_tasks.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

int64 count_live_leases(const Hub& hub) {
    // A hub of which a table was dropped by hand can be dropped: the leases of that table are gone.
    const auto count = [&hub, now = pg::server_now_ms()](Oid table, auto count_live) {
        return OidIsValid(table) ? count_live(hub, now) : 0;
    };
    return count(hub.relations.worker_queue, count_live_work) +
           count(hub.relations.instance_locks, count_live_turns) +
           count(hub.relations.slot_owners, count_live_slot_owners) +
           count(hub.relations.tasks, count_live_tasks);
}

}  // namespace belay::store
