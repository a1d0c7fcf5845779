// The module's table of contents: what happens when PostgreSQL loads the library.
#include "core/version.hpp"
#include "ops/guard/guard.hpp"
#include "pg/async_commit.hpp"
#include "pg/boundary.hpp"
#include "pg/settings.hpp"
#include "pg/transactions.hpp"
#include "shmem/counters.hpp"
#include "shmem/cursors.hpp"
#include "shmem/event_writers.hpp"
#include "shmem/fault_counts.hpp"
#include "shmem/gaps.hpp"
#include "shmem/mutants.hpp"
#include "shmem/open_lanes.hpp"
#include "shmem/prepared_marks.hpp"
#include "shmem/registry.hpp"
#include "shmem/rotation.hpp"
#include "shmem/shared_memory.hpp"
#include "shmem/signals.hpp"
#include "shmem/task_stats.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/hub.hpp"
#include "worker/worker.hpp"

extern "C" {
#pragma GCC visibility push(default)
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "belay", .version = BELAY_VERSION);
#else
PG_MODULE_MAGIC;
#endif
void _PG_init(void);
#pragma GCC visibility pop
}

namespace {

// What takes part in the end of a transaction, in the order in which it runs. Each phase of
// pg::Participant goes through the whole array before the next one begins.
constexpr const belay::pg::Participant* kParticipants[] = {
    // May refuse the commit, so nothing else has been done for it yet.
    &belay::ops::kGuardParticipant,
    // Asks whether the transaction has written anything but leases: after the guards, whose row
    // locks are writes.
    &belay::pg::kAsyncCommitParticipant,
    // Sessions that are woken for events, gaps and cursors below must find them up to date. Waking
    // is a later phase; these come before it in the array, too.
    &belay::event_writers::kParticipant,
    &belay::gaps::kParticipant,
    &belay::cursors::kParticipant,
    // The counts of the transaction are published before what its wake-ups add to them.
    // Before the counters of hubs, which free the slots of a dropped hub in both.
    &belay::task_stats::kParticipant,
    &belay::counters::kParticipant,
    &belay::wakeups::kParticipant,
    // Wakes the background worker and the launcher, after the sessions that wait.
    &belay::signals::kParticipant,
    // Frees plans and hubs that an earlier participant may still use: the guards do.
    &belay::store::kHubParticipant,
};

}  // namespace

void _PG_init(void) {
    belay::pg::at_boundary([] {
        belay::pg::define_settings();
        belay::pg::install_participants(kParticipants);
        belay::store::watch_hubs();
        belay::fault_counts::install();
        belay::mutants::install();
        belay::wakeups::install();
        belay::cursors::install();
        belay::gaps::install();
        belay::rotation::install();
        belay::open_lanes::install();
        belay::prepared_marks::install();
        belay::event_writers::install();
        belay::counters::install();
        belay::task_stats::install();
        belay::registry::install();
        if (process_shared_preload_libraries_in_progress && !IsBinaryUpgrade) {
            belay::shmem::install();
            belay::worker::install_launcher();
            belay::worker::install_drop_guard();
        }
    });
}
