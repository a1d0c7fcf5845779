// list_hubs.cpp — visit the hubs of this database.
//
// Calls    store::all_hubs, store::read_hub_row
// Touches  nothing
// Locks    nothing
// Raises   nothing of its own
#include "ops/admin/admin.hpp"

namespace belay::ops {

void list_hubs(void (*visit)(const HubEntry& hub, const void* context), const void* context) {
    AcceptInvalidationMessages();
    for (const Oid schema : store::all_hubs()) {
        // A hub that is being dropped, or whose owner broke its row, must not hide the others.
        const store::Hub* hub = store::find_hub_left_here(schema);
        if (hub != nullptr && hub->shards != nullptr && hub->elsewhere) {
            visit({hub, nullptr, 0}, context);
            continue;
        }
        const auto row = hub == nullptr ? std::nullopt : store::read_hub_row(*hub);
        if (row) {
            visit({hub, row->options, row->created_at}, context);
        }
    }
}

}  // namespace belay::ops
