// What the entry functions of tasks have in common.
#pragma once

#include "entry/answers.hpp"
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
        pg::raise_invalid("fence_required", "p_lease_epoch", "p_lease_epoch must not be null",
                          "Pass the lease_epoch that claim_tasks returned.");
    }
    return {value, false};
}

inline Datum state_datum(core::TaskState state) {
    return pg::text_datum(core::name_of(state));
}

// A task that was put back.
inline Datum answer_requeued(const Call& call, const ops::RequeuedTask& task) {
    return answer_row(call, [&task](Datum* values, bool* nulls) {
        values[0] = state_datum(task.state);
        values[1] = Int64GetDatum(task.available_at.value_or(0));
        nulls[1] = !task.available_at;
    });
}

}  // namespace belay::entry
