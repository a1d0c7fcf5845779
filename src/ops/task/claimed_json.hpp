// What a worker is told of a claimed task besides its row. For claim_tasks.cpp.
#pragma once

#include "ops/task/task.hpp"

namespace belay::ops {

// Columns of the answer of a claim, a jsonb for each claimed task, 0 for none. What they take is
// subtracted from what is left of the answer's size.
//
// What the members of flows among the tasks are told of the tasks before them.
Datum* upstream_of(store::Tables& tables, std::span<const store::ClaimedTask> claimed,
                   int64* left_of_claim);
// The signals for tasks whose attempt goes on after a suspension.
Datum* signals_of(store::Tables& tables, std::span<const store::ClaimedTask> claimed,
                  int64* left_of_claim);

}  // namespace belay::ops
