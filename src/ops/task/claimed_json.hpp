// What a claim returns of a task besides its row. For claim_tasks.cpp.
#pragma once

#include "ops/task/task.hpp"

namespace belay::ops {

// Columns of the answer of a claim, a jsonb for each claimed task, 0 for none. What they take is
// subtracted from what is left of the answer's size.
//
// The results of the tasks upstream of those that are members of flows.
Datum* upstream_of(store::Tables& tables, std::span<const store::ClaimedTask> claimed,
                   int64* left_of_claim);
// The signals for tasks whose attempt continues after a suspension.
Datum* signals_of(store::Tables& tables, std::span<const store::ClaimedTask> claimed,
                  int64* left_of_claim);

}  // namespace belay::ops
