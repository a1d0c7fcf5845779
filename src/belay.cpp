// The module's table of contents: what happens when PostgreSQL loads the library.
#include "core/version.hpp"
#include "ops/guard/guard.hpp"
#include "pg/async_commit.hpp"
#include "pg/boundary.hpp"
#include "pg/claim_cursors.hpp"
#include "pg/counters.hpp"
#include "pg/event_writers.hpp"
#include "pg/faults.hpp"
#include "pg/prepared_marks.hpp"
#include "pg/queue_gaps.hpp"
#include "pg/rotation.hpp"
#include "pg/settings.hpp"
#include "pg/shared_memory.hpp"
#include "pg/wakeups.hpp"
#include "pg/worker_registry.hpp"
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

void _PG_init(void) {
    belay::pg::at_boundary([] {
        belay::pg::define_settings();
        belay::ops::watch_guards();
        belay::pg::watch_commits();
        belay::store::watch_hubs();
        belay::pg::share_fault_counts();
        belay::pg::install_wakeups();
        belay::pg::install_claim_cursors();
        belay::pg::install_queue_gaps();
        belay::pg::install_rotation();
        belay::pg::install_prepared_marks();
        belay::pg::install_event_writers();
        belay::pg::install_counters();
        belay::pg::share_worker_registry();
        if (process_shared_preload_libraries_in_progress && !IsBinaryUpgrade) {
            belay::pg::install_shared_memory();
            belay::worker::install_launcher();
            belay::worker::install_drop_guard();
        }
    });
}
