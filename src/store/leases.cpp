#include "store/leases.hpp"

#include "pg/clock.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

int64 count_live_leases(const Hub& hub) {
    if (!OidIsValid(hub.relations.worker_queue)) {
        return 0;  // a hub of an older version
    }
    return count_live_work(hub, pg::server_now_ms());
}

}  // namespace belay::store
