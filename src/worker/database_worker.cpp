// database_worker.cpp — the process that does a database's duties.
//
// Calls    worker/duties
// Must not end with code 0 unless it was asked to end, or the extension is gone.
#include <algorithm>

#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/locks.hpp"
#include "pg/settings.hpp"
#include "shmem/registry.hpp"
#include "shmem/shared_memory.hpp"
#include "worker/duties.hpp"
#include "worker/notify.hpp"
#include "worker/relay.hpp"

namespace belay::worker {

namespace {

// Without duties to do, the worker still looks so often whether the extension is there.
constexpr int64 kRestMs = 60 * 1000;

// What users and databases may have set must not change what the duties do; as autovacuum does.
struct Pinned {
    const char* name;
    const char* value;
};
constexpr Pinned kPinned[] = {
    {"application_name", registry::kWorkerType},
    {"default_transaction_deferrable", "off"},
    {"default_transaction_isolation", "read committed"},
    {"default_transaction_read_only", "off"},
    {"idle_in_transaction_session_timeout", "0"},
    {"lock_timeout", "1s"},  // a duty that has to wait does not keep other hubs waiting
    {"row_security", "on"},
    {"search_path", ""},
    {"session_replication_role", "origin"},
    {"statement_timeout", "0"},
    {"stats_fetch_consistency", "none"},
    {"transaction_timeout", "0"},
    {"zero_damaged_pages", "off"},
};

void pin_settings() {
    for (const auto& [name, value] : kPinned) {
        if (GetConfigOption(name, true, false) != nullptr) {
            SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
        }
    }
    // A standby that does not answer must not stop the housekeeping of the primary.
    if (synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH) {
        SetConfigOption("synchronous_commit", "local", PGC_SUSET, PGC_S_OVERRIDE);
    }
}

// Whether this is the only worker of the database. The registry knows, if there is one: a process
// that it has given up may still hold the lock.
bool is_only_one() {
    if (shmem::attach()) {
        return true;
    }
    StartTransactionCommand();
    const bool alone = pg::try_lock_for_session(pg::LockSpace::kBackgroundWorker);
    CommitTransactionCommand();
    return alone;
}

// Between duties there is nothing to cancel, and an end needs no words.
void check_interrupts() {
    QueryCancelPending = false;
    if (ProcDiePending) {
        proc_exit(1);
    }
    CHECK_FOR_INTERRUPTS();
}

void sleep_for(int64 ms) {
    static constinit uint32 event = 0;
    if (event == 0) {
        event = pg::wait_event("BelayWorkerMain");
    }
    sleep_on_links(ms, event);
}

// Until the worker is asked to end, or the extension is gone.
void loop() {
    int64 listed_ms = 0;
    bool list_now = true;
    while (true) {
        ResetLatch(MyLatch);
        check_interrupts();
        if (registry::stop_requested()) {
            registry::set_end(registry::WorkerEnd::kStopped);
            return;
        }
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            const int before = pg::settings.reconcile_interval_ms;
            ProcessConfigFile(PGC_SIGHUP);
            if (before != pg::settings.reconcile_interval_ms) {
                make_all_due();
                list_now = true;
            }
        }
        const bool rests = pg::settings.reconcile_interval_ms == 0;
        const int64 interval = rests ? kRestMs : pg::settings.reconcile_interval_ms;
        const uint32 bells = registry::take_bells();
        list_now = list_now || (bells & static_cast<uint32>(signals::Bell::kHubs)) != 0;
        if (list_now || pg::monotonic_ms() - listed_ms >= interval) {
            list_now = false;
            if (!find_hubs()) {
                registry::set_end(registry::WorkerEnd::kNoExtension);
                return;
            }
            listed_ms = pg::monotonic_ms();
            forget_links();
        }
        hear_relay_calls();
        if ((bells & static_cast<uint32>(signals::Bell::kLinks)) != 0) {
            check_links();
        }
        if ((bells & static_cast<uint32>(signals::Bell::kCascade)) != 0) {
            make_due("dispatch_sweep");
            make_due("sibling_cancel");
        }
        if ((bells & static_cast<uint32>(signals::Bell::kSchedules)) != 0) {
            make_due("schedules");
        }
        if (!rests) {
            run_relay();
            run_round();
        }
        int64 next_item = PG_INT64_MAX;
        if (pg::settings.notify) {
            next_item = send_notifications(known_hubs());
        }
        registry::looped();
        registry::set_state(rests ? registry::WorkerState::kResting : registry::WorkerState::kIdle);
        const int64 due =
            std::min(next_item,
                     rests ? interval : std::min({interval, until_next_due(), until_relay_due()}));
        if (due > 0) {
            pgstat_report_stat(true);
            pgstat_report_activity(STATE_IDLE, nullptr);
            sleep_for(due);
        }
    }
}

void run(Oid database) {
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, die);
    pqsignal(SIGUSR2, SignalHandlerForShutdownRequest);
    BackgroundWorkerUnblockSignals();
    if (!registry::take_slot(database)) {
        return;
    }
    pin_settings();
    BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
    if (!is_only_one()) {
        registry::set_end(registry::WorkerEnd::kStopped);
        return;
    }
    begin_duties();
    begin_relay();
    loop();
}

}  // namespace

}  // namespace belay::worker

extern "C" {
BELAY_EXPORT void belay_worker_main(Datum database);
}

void belay_worker_main(Datum database) {
    belay::pg::at_boundary([database] { belay::worker::run(DatumGetObjectId(database)); });
}
