// The search of a claim: which tasks it takes. claim_tasks decides when to search, and again.
#pragma once

#include "ops/task/task.hpp"
#include "shmem/rotation.hpp"

namespace belay::ops {

// The way of a session around all queues, over several claims that found nothing: each looks at a
// bounded number of queues, and the next one continues where it has ended.
struct Sweep {
    bool on;  // a claim has ended before it was around
    bool around;
    rotation::Position start;
    rotation::Position last;
};

struct Found {
    std::span<const store::ClaimedTask> claimed;  // in the order of claims
    bool lost;                                    // others had what it tried
    bool unfinished;                              // of all queues: some are left for the next claim
    int64 next_due;                               // of what was not due yet
    uint64 due_moves;                             // before it looked; 0: not known
};
// Leases up to request.max tasks. The sweep is gone on with if the request names no queue.
Found search_tasks(store::Tables& tables, const ClaimRequest& request, const pg::Clock& clock,
                   bool without_limited, Sweep* sweep);

}  // namespace belay::ops
