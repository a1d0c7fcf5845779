// list_hubs.cpp — visit the hubs of this database, and the shards that they have here.
//
// Calls    store::all_hubs, store::read_hub_row, store::shard_sizes
// Touches  nothing
// Locks    nothing
// Raises   nothing itself
#include "ops/admin/admin.hpp"

namespace belay::ops {

void list_hubs(void (*visit)(const store::HubRow& row, const void* context), const void* context) {
    AcceptInvalidationMessages();
    for (const Oid schema : store::all_hubs()) {
        // A hub that is being dropped, or whose owner broke its row, must not hide the others.
        if (const auto row = store::read_hub_row(schema)) {
            visit(*row, context);
        }
    }
}

std::span<const store::ShardSize> list_shards() {
    AcceptInvalidationMessages();
    return store::shard_sizes();
}

}  // namespace belay::ops
