// list_hubs.cpp — visit the hubs of this database.
//
// Calls    store::all_hubs, store::read_hub_row
// Touches  nothing
// Locks    nothing
// Raises   nothing of its own
// Races    none: reads with one snapshot
// Faults   none: changes nothing
#include "ops/admin/admin.hpp"
#include "pg/scopes.hpp"
#include "store/hub_row.hpp"

namespace belay::ops {

void list_hubs(void (*visit)(const HubEntry& hub, const void* context), const void* context) {
    AcceptInvalidationMessages();
    pg::with_spi(true, [visit, context] {
        for (const Oid schema : store::all_hubs()) {
            const store::Hub* hub = store::find_hub(schema);
            const store::HubRow row =
                pg::as_role(hub->owner, [hub] { return store::read_hub_row(*hub); });
            visit({hub, row.options, row.created_at}, context);
        }
    });
}

}  // namespace belay::ops
