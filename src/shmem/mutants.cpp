// The counts of mutants in shared memory. Empty unless BELAY_MUTANTS is defined.
//
// Touches  belay's shared memory
// Must not leave a name of a mutant in a library that users install; the lint no_mutants looks
#include "shmem/mutants.hpp"

#ifdef BELAY_MUTANTS

#include "pg/faults.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::mutants {

namespace {

constexpr int kMutants = static_cast<int>(Mutant::kCount);

constexpr const char* kNames[kMutants] = {
    "delete.keeps_state", "end.writes_no_event", "enqueue.drops_item",
    "lease.any_token",    "wake.skip",
};

struct Counts {
    pg_atomic_uint32 counts[kMutants];
    pg_atomic_uint32 skips[kMutants];
};

constinit Counts session_counts{};
constinit Counts* current = &session_counts;

}  // namespace

bool strikes(Mutant mutant) {
    const int at = static_cast<int>(mutant);
    return pg_atomic_read_u32(&current->counts[at]) != 0 && !pg::take_one(&current->skips[at]) &&
           pg::take_one(&current->counts[at]);
}

bool set(std::string_view name, uint32 count, uint32 skip) {
    for (int i = 0; i < kMutants; ++i) {
        if (name == kNames[i]) {
            pg_atomic_write_u32(&current->skips[i], skip);
            pg_atomic_write_u32(&current->counts[i], count);
            return true;
        }
    }
    return false;
}

void install() {
    shmem::add_piece({[] { return Size{sizeof(Counts)}; },
                      [](void* piece) {
                          auto* counts = static_cast<Counts*>(piece);
                          for (int i = 0; i < kMutants; ++i) {
                              pg_atomic_init_u32(&counts->counts[i], 0);
                              pg_atomic_init_u32(&counts->skips[i], 0);
                          }
                      },
                      [](void* piece) {
                          if (!IsUnderPostmaster) {
                              current = static_cast<Counts*>(piece);
                          }
                      }});
}

}  // namespace belay::mutants

#endif
