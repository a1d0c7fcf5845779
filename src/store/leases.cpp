#include "store/leases.hpp"

#include "pg/clock.hpp"
#include "store/instance_locks.hpp"
#include "store/slots.hpp"
#include "store/due_tasks.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

int64 count_live_leases(const Hub& hub) {
    if (!OidIsValid(hub.relations.worker_queue)) {
        return 0;  // a hub of an older version
    }
    const int64 now = pg::server_now_ms();
    const int64 turns = OidIsValid(hub.relations.instance_locks) ? count_live_turns(hub, now) : 0;
    const int64 owners =
        OidIsValid(hub.relations.slot_owners) ? count_live_slot_owners(hub, now) : 0;
    const int64 tasks = OidIsValid(hub.relations.tasks) ? count_live_tasks(hub, now) : 0;
    return turns + owners + tasks + count_live_work(hub, now);
}

}  // namespace belay::store
