// absent_hub.cpp — what a function raises whose schema has no hub.
//
// Calls    store::raise_elsewhere
// Touches  nothing
// Locks    nothing
// Raises   QB017, or 42P13 where Citus cannot have taken the hub away
#include "ops/absent_hub.hpp"

#include "pg/errors.hpp"
#include "store/places.hpp"
#include "store/shards.hpp"

namespace belay::ops {

void raise_absent_hub(Oid schema) {
    constexpr int32 kCoordinator = 0;
    const char* name = get_namespace_name(schema);
    const bool is_node = store::own_group().value_or(kCoordinator) != kCoordinator;
    const auto place = is_node ? store::place_of_group(kCoordinator) : std::nullopt;
    if (name != nullptr && place) {
        store::raise_elsewhere(name, *place);
    }
    ereport(ERROR, (errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                    errmsg("schema \"%s\" is not a hub", name == nullptr ? "" : name),
                    errhint("Make hubs with belay.create_hub.")));
}

}  // namespace belay::ops
