// drop_hub.cpp — remove a hub and everything in it.
//
// Calls    store::drop_hub_objects; functions of Citus
// Touches  the hub's schema; of an adopted schema only the hub's objects
// Locks    the hub row; of a hub that Citus has distributed its name and its place, as a move does
// Raises   QB002 unknown hub, QB003 live leases, 42501; 0A000 for a distributed hub, not on the
//          coordinator
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "shmem/counters.hpp"
#include "store/hub_files.hpp"
#include "store/hub_row.hpp"
#include "store/leases.hpp"
#include "store/plan.hpp"

namespace belay::ops {

namespace {

void refuse_live_leases(const char* name, int64 live) {
    if (live > 0) {
        pg::raise(pg::kStillRunning, psprintf("hub \"%s\" has live leases", name),
                  pg::Facts("live_leases").add("hub", name).add("leases", live),
                  "Let the leases end, or pass p_force => true to drop them.");
    }
}

// On the coordinator: Citus drops the shards, and what the other nodes know of the hub.
void drop_distributed_hub(const char* name, bool force) {
    refuse_on_other_nodes("belay.drop_hub");
    pg::lock_name(pg::LockSpace::kHubName, name);
    const store::Hub& hub = store::own_hub_left_here(name);
    if (hub.shards == nullptr) {
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("hub \"%s\" was brought back at the same time", name),
                        errhint("Call again.")));
    }
    store::with_pinned_settings(
        [&hub, name, force] {
            pg::with_spi([&hub, name, force] {
                store::hold_shards_there(hub);
                const auto there = store::read_hub_there(hub);
                if (!force) {
                    refuse_live_leases(name, there.live_leases);
                }
                const Oid schema = hub.schema;
                store::drop_hub_objects(hub, there.adopted);
                counters::forget_at_commit(schema);
            });
        },
        store::Reach::kAllNodes);
}

}  // namespace

int64 live_leases(const char* name) {
    const store::Hub& hub = store::own_hub_by_name(name);
    return pg::with_spi([&hub] {
        return pg::as_role(hub.owner, [&hub] { return store::count_live_leases(hub); });
    });
}

void drop_hub(const char* name, bool force) {
    refuse_in_extension_script("belay.drop_hub");
    const store::Hub& hub = store::own_hub_left_here(name);
    PreventCommandIfReadOnly("belay.drop_hub");
    if (hub.shards != nullptr) {
        drop_distributed_hub(name, force);
        return;
    }
    // A hub that was distributed once has left its functions on other nodes of Citus.
    const auto reach =
        store::own_group().value_or(-1) == 0 ? store::Reach::kAllNodes : store::Reach::kThisNode;
    store::with_pinned_settings(
        [&hub, name, force] {
            pg::with_spi([&hub, name, force] {
                pg::as_role(hub.owner, [&hub] { store::lock_hub_row(hub); });
                // Transactions that hold a lease must have ended before leases are counted.
                for (const Oid table :
                     {hub.relations.worker_queue, hub.relations.orchestrator_queue,
                      hub.relations.instance_locks, hub.relations.sessions,
                      hub.relations.slot_owners, hub.relations.tasks}) {
                    if (OidIsValid(table)) {
                        LockRelationOid(table, AccessExclusiveLock);
                    }
                }
                // Leases of a hub that is elsewhere are not kept here.
                if (!force && !hub.elsewhere) {
                    refuse_live_leases(name, pg::as_role(hub.owner, [&hub] {
                                           return store::count_live_leases(hub);
                                       }));
                }
                const Oid schema = hub.schema;
                store::drop_hub_objects(hub, hub.adopted);
                counters::forget_at_commit(schema);
            });
        },
        reach);
}

void cleanup_schema(const store::Hub& hub) {
    refuse_distributed(hub, "cleanup_schema");
    store::with_pinned_settings([&hub] {
        store::lock_hub_row(hub);
        store::drop_hub_objects(hub, true);
    });
}

}  // namespace belay::ops
