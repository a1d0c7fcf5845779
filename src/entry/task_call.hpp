// What the entry functions of tasks have in common.
#pragma once

#include "entry/call.hpp"
#include "ops/task/task.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

[[noreturn]] inline void refuse_null(const char* path) {
    pg::raise_invalid("null", path, psprintf("%s must not be null", path), "Pass a value.");
}

// The fence of a worker's call.
inline ops::Fence lease_fence(const Call& call, int epoch) {
    const auto value = call.int8(epoch);
    if (!value) {
        pg::raise_invalid("fence_required", "p_epoch", "p_epoch must not be null",
                          "Pass the lease_epoch that claim_tasks returned.");
    }
    return {value, false};
}

inline Datum uuid_datum(const pg_uuid_t& id) {
    auto* copy = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t)));
    *copy = id;
    return UUIDPGetDatum(copy);
}

inline Datum state_datum(core::TaskState state) {
    return pg::text_datum(core::name_of(state));
}

// Forms one row in memory that outlives the call.
template <typename Fill>
Datum answer_row(const Call& call, Fill fill) {
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    Datum values[8] = {};
    bool nulls[8] = {};
    fill(values, nulls);
    const Datum row = call.one_row(values, nulls);
    MemoryContextSwitchTo(old);
    return row;
}

}  // namespace belay::entry
