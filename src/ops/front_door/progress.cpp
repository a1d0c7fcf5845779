// progress.cpp — store how far a leased task is, and what its next attempt needs.
//
// Calls    progress_task
// Touches  <hub>.tasks
// Locks    the task
// Raises   QB001, QB007
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

void progress(store::Tables& tables, const core::TaskLease& lease, const ProgressReport& report,
              pg::Clock* clock) {
    (void)progress_task(tables, task_of(lease), fence_of(lease), report, clock);
}

}  // namespace belay::ops
