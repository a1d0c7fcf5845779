// Lends pg/faults counts in shared memory. Touches nothing else.
#include "shmem/fault_counts.hpp"

#include "pg/faults.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::fault_counts {

namespace {

Size fault_bytes() {
    return sizeof(pg::FaultCounts);
}

void init_fault_counts(void* piece) {
    auto* counts = static_cast<pg::FaultCounts*>(piece);
    pg_atomic_init_u32(&counts->armed, 0);
    for (int i = 0; i < pg::kFaultPoints; ++i) {
        pg_atomic_init_u32(&counts->counts[i], 0);
        pg_atomic_init_u32(&counts->skips[i], 0);
    }
}

// A segment that is attached after the server's start is not used: a session keeps the counts that
// it has set.
void use_fault_counts(void* piece) {
    if (!IsUnderPostmaster) {
        pg::use_fault_counts(static_cast<pg::FaultCounts*>(piece));
    }
}

}  // namespace

void install() {
    shmem::add_piece({fault_bytes, init_fault_counts, use_fault_counts});
}

}  // namespace belay::fault_counts
