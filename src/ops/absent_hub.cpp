// absent_hub.cpp — what a function raises whose schema has no hub.
//
// Calls    store::raise_if_brought_back
// Touches  nothing
// Locks    nothing
// Raises   QB017, or 42P13 where Citus cannot have taken the hub away
#include "ops/absent_hub.hpp"

#include "pg/errors.hpp"
#include "store/places.hpp"

namespace belay::ops {

void raise_absent_hub(Oid schema) {
    const char* name = get_namespace_name(schema);
    if (name != nullptr) {
        store::raise_if_brought_back(name);
    }
    ereport(ERROR, (errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                    errmsg("schema \"%s\" is not a hub", name == nullptr ? "" : name),
                    errhint("Make hubs with belay.create_hub.")));
}

}  // namespace belay::ops
