// The entry function of fenced transactions.
#include "entry/verbs.hpp"
#include "ops/guard/guard.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

Datum guard(const Call& call) {
    ops::guard(call.tables, call.text(0));
    return call.nothing();
}

Datum guard_task(const Call& call) {
    const auto epoch = call.int8(1);
    if (!epoch) {
        pg::raise_invalid("null", "p_lease_epoch", "p_lease_epoch must not be null",
                          "Pass the lease_epoch that claim_tasks returned.");
    }
    ops::guard_task(call.tables, call.required_uuid(0, "p_task_id"), *epoch);
    return call.nothing();
}

}  // namespace belay::entry
