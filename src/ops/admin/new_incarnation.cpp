// new_incarnation.cpp — declare every lease lost, after a copy that cannot be distinguished.
//
// Calls    store::settle_incarnation
// Touches  <hub>.belay_hub
// Locks    the hub row
// Raises   QB002 unknown hub, 42501
#include "ops/admin/admin.hpp"
#include "pg/compat.hpp"
#include "pg/durable.hpp"

namespace belay::ops {

int32 new_incarnation(const char* name) {
    PreventCommandIfReadOnly("belay.new_incarnation");
    PreventCommandDuringRecovery("belay.new_incarnation");
    // Work that the old leases stood for is given to others: a crash must not bring them back.
    pg::flush_at_commit();
    if (name != nullptr) {
        const store::Hub& hub = store::own_hub_by_name(name);
        (void)store::hold_place(hub, true);
        (void)store::settle_incarnation(hub, true);
        return 1;
    }
    int32 count = 0;
    for (const Oid schema : store::all_hubs()) {
        const store::Hub* hub = store::find_hub(schema, true);
        if (hub != nullptr && pg::owns_relation(hub->relations.belay_hub, GetUserId())) {
            (void)store::hold_place(*hub, true);
            (void)store::settle_incarnation(*hub, true);
            ++count;
        }
    }
    return count;
}

}  // namespace belay::ops
