// The counts of fault points in shared memory: a test arms a point in one session, and any session
// passes it. The points themselves are in pg/faults.
#pragma once

namespace belay::fault_counts {

// Adds the shared piece. Called once, from _PG_init.
void install();

}  // namespace belay::fault_counts
