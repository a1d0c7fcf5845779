// launcher.cpp — keep one worker in every database that has the extension.
//
// Calls    shmem/registry
// Touches  pg_database
// Must not connect to a database: it cannot see whether one has the extension, so it sends a worker
//          to look, which ends if there is none. Databases that were not visited yet are
//          visited one at a time.
#include <algorithm>

#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/settings.hpp"
#include "shmem/registry.hpp"
#include "worker/worker.hpp"

namespace belay::worker {

namespace {

// A worker that failed is started again after 1, 2, 4, … seconds.
constexpr int64 kFirstRetryMs = 1000;
constexpr int64 kLastRetryMs = 60 * 1000;
// One that ran so long had nothing wrong with it.
constexpr int64 kProvenMs = 60 * 1000;
// A visit that takes longer does not keep the other databases waiting.
constexpr int64 kVisitMs = 10 * 1000;
// How many reconcile intervals a worker may stay while another database waits for its place: one
// that has something to do, and one that has not.
constexpr int64 kTurn = 5;
constexpr int64 kIdleTurn = 1;
constexpr int64 kLeastTurnMs = 1000;
// How much sooner a database is served whose sessions have rung, or whose last worker had work.
constexpr int64 kCalledWeight = 4;
constexpr int64 kBusyWeight = 2;

struct Database {
    Oid id;
    BackgroundWorkerHandle* handle;  // null: started by an earlier launcher
    bool active;                     // a worker was started, and its end has not been seen
    bool has_extension;              // a worker found it
    bool probe_again;                // a session asked while a worker was there
    bool had_work;                   // its last worker found something to do
    int failures;
    int64 started_ms;
    int64 ready_ms;    // not to be started before
    int64 waiting_ms;  // since when it waits
};

constinit HTAB* databases = nullptr;
constinit bool said_crowded = false;

void make_table() {
    HASHCTL control{};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(Database);
    control.hcxt = TopMemoryContext;
    databases = hash_create("belay databases", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

Database* add(Oid id) {
    bool found = false;
    auto* database = static_cast<Database*>(hash_search(databases, &id, HASH_ENTER, &found));
    if (!found) {
        *database = {};
        database->id = id;
        database->waiting_ms = pg::monotonic_ms();
    }
    return database;
}

void forget(Database* database) {
    if (database->handle != nullptr) {
        pfree(database->handle);
    }
    (void)hash_search(databases, &database->id, HASH_REMOVE, nullptr);
}

template <typename Visit>
void each_database(Visit visit) {
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, databases);
    while (auto* database = static_cast<Database*>(hash_seq_search(&scan))) {
        visit(database);
    }
}

bool takes_connections(Form_pg_database row) {
    constexpr int32 kHalfDropped = -2;
    return row->datallowconn && row->datconnlimit != kHalfDropped;
}

void add_all_databases() {
    StartTransactionCommand();
    Relation catalog = table_open(DatabaseRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, nullptr, 0, nullptr);
    while (HeapTuple row = systable_getnext(scan)) {
        auto* form = reinterpret_cast<Form_pg_database>(GETSTRUCT(row));
        if (takes_connections(form)) {
            (void)add(form->oid);
        }
    }
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
    CommitTransactionCommand();
}

bool can_connect(Oid id) {
    StartTransactionCommand();
    HeapTuple row = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(id));
    const bool can = HeapTupleIsValid(row) &&
                     takes_connections(reinterpret_cast<Form_pg_database>(GETSTRUCT(row)));
    if (HeapTupleIsValid(row)) {
        ReleaseSysCache(row);
    }
    CommitTransactionCommand();
    return can;
}

// Workers that an earlier launcher started are there already.
void adopt_workers() {
    MemoryContext memory =
        AllocSetContextCreate(TopMemoryContext, "belay launcher", ALLOCSET_SMALL_SIZES);
    MemoryContext old = MemoryContextSwitchTo(memory);
    for (const auto& slot : registry::live_workers()) {
        Database* database = add(slot.database);
        database->active = true;
        database->started_ms = pg::monotonic_ms();
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(memory);
}

void hear_requests() {
    const registry::Wanted wanted = registry::take_wanted();
    if (wanted.all) {
        add_all_databases();
    }
    for (int i = 0; i < wanted.count; ++i) {
        Database* database = add(wanted.databases[i]);
        database->probe_again = true;
        database->failures = 0;
        database->ready_ms = 0;
    }
}

bool has_process(const Database& database) {
    pid_t pid = 0;
    if (database.handle == nullptr) {
        return false;
    }
    const auto status = GetBackgroundWorkerPid(database.handle, &pid);
    return status == BGWH_STARTED || status == BGWH_NOT_YET_STARTED;
}

// Whether its process was given up.
bool is_stuck(const Database& database) {
    pid_t pid = 0;
    return database.handle != nullptr &&
           GetBackgroundWorkerPid(database.handle, &pid) == BGWH_STARTED && registry::is_stuck(pid);
}

// Takes note of how its worker does. False: there is nothing more to do for it.
bool follow(Database* database) {
    if (!database->active) {
        return true;
    }
    const int64 now = pg::monotonic_ms();
    const registry::Sighting seen = registry::sight(database->id);
    if (seen.live) {
        if (seen.state != registry::WorkerState::kStarting) {
            database->has_extension = true;
        }
        return true;
    }
    const bool stuck = is_stuck(*database);
    if (!stuck && has_process(*database)) {
        return true;
    }
    database->active = false;
    database->had_work = seen.found_work;
    database->waiting_ms = now;
    if (database->handle != nullptr) {
        pfree(database->handle);
        database->handle = nullptr;
    }
    switch (stuck ? registry::WorkerEnd::kOverLimit : seen.end) {
        case registry::WorkerEnd::kNoExtension:
            database->has_extension = false;
            database->ready_ms = 0;
            return database->probe_again;
        case registry::WorkerEnd::kStopped:
        case registry::WorkerEnd::kOverLimit:  // the hub rests, the others continue at once
            database->ready_ms = 0;
            return true;
        case registry::WorkerEnd::kFailed:
            break;
    }
    if (now - database->started_ms >= kProvenMs) {
        database->failures = 0;
    }
    database->ready_ms =
        now + std::min(kLastRetryMs, kFirstRetryMs << std::min(database->failures, 10));
    ++database->failures;
    return true;
}

bool is_visit(const Database& database, int64 now) {
    return database.active && !database.has_extension && now - database.started_ms < kVisitMs;
}

// How long a database has waited, by need.
int64 urgency(const Database& database, const registry::Sighting& seen, int64 now) {
    const int64 weight = seen.called ? kCalledWeight : database.had_work ? kBusyWeight : 1;
    return (now - database.waiting_ms + 1) * weight;
}

// The database that needs a worker most, or null.
Database* next_to_start() {
    const int64 now = pg::monotonic_ms();
    bool visiting = false;
    each_database([&visiting, now](const Database* database) {
        visiting = visiting || is_visit(*database, now);
    });
    Database* next = nullptr;
    int64 most = 0;
    each_database([&next, &most, visiting, now](Database* database) {
        if (database->active || database->ready_ms > now ||
            (!database->has_extension && visiting)) {
            return;
        }
        const registry::Sighting seen = registry::sight(database->id);
        if (!seen.held && urgency(*database, seen, now) > most) {
            next = database;
            most = urgency(*database, seen, now);
        }
    });
    return next;
}

int active_workers() {
    int count = 0;
    each_database([&count](const Database* database) { count += database->active ? 1 : 0; });
    return count;
}

// A process that does not end keeps its place, but never the last one.
bool has_room() {
    return active_workers() < std::max(1, pg::settings.max_workers - registry::stuck_workers());
}

// Ends a worker whose turn is over, because another database waits: one without work rather than
// one with work, and of these the one that has been there longest.
void end_a_turn() {
    const int64 interval = std::min(pg::settings.reconcile_interval_ms, 10 * 1000);
    const int64 now = pg::monotonic_ms();
    Database* chosen = nullptr;
    bool chosen_idle = false;
    each_database([&chosen, &chosen_idle, interval, now](Database* database) {
        if (!database->active) {
            return;
        }
        const bool idle = registry::sight(database->id).state == registry::WorkerState::kIdle;
        const int64 turn = std::max(kLeastTurnMs, (idle ? kIdleTurn : kTurn) * interval);
        if (now - database->started_ms < turn) {
            return;
        }
        if (chosen == nullptr || idle != chosen_idle ? idle || chosen == nullptr
                                                     : database->started_ms < chosen->started_ms) {
            chosen = database;
            chosen_idle = idle;
        }
    });
    if (chosen != nullptr) {
        registry::stop_worker_of(chosen->id);
    }
}

// Says once that databases with the extension have to wait for each other. One that may not have it
// is only visited.
void say_crowded(const Database& waiting) {
    if (said_crowded || !waiting.has_extension) {
        return;
    }
    said_crowded = true;
    ereport(WARNING, (errmsg("there are not enough background workers for belay"),
                      errdetail("Databases are served in turn."),
                      errhint("Increase belay.max_workers (now %d) to the number of databases with "
                              "the extension, and max_worker_processes (now %d) if it does not "
                              "leave room for them.",
                              pg::settings.max_workers, max_worker_processes)));
}

// Lets others see who waits.
void show_waiting() {
    constexpr int kMost = 256;
    Oid waiting[kMost];
    int count = 0;
    each_database([&waiting, &count](const Database* database) {
        if (!database->active && database->has_extension && count < kMost) {
            waiting[count++] = database->id;
        }
    });
    registry::show_waiting({waiting, static_cast<std::size_t>(count)});
}

// Starts workers where they are missing. False: there was no room for one.
bool start_workers() {
    while (Database* database = next_to_start()) {
        registry::forget_end(database->id);
        if (!can_connect(database->id)) {
            forget(database);
            continue;
        }
        MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
        database->handle = has_room() ? registry::launch_worker(database->id) : nullptr;
        MemoryContextSwitchTo(old);
        if (database->handle == nullptr) {
            say_crowded(*database);
            end_a_turn();
            return false;
        }
        database->active = true;
        database->probe_again = false;
        database->started_ms = pg::monotonic_ms();
    }
    return true;
}

// Ends portions that are over their limit. Returns ms until it has to look again: no portion that
// begins until then can be over its limit before.
int64 watch_portions() {
    const int64 next = registry::watch_portions();
    const int64 limit = pg::settings.duty_timeout_ms;
    return next < 0 ? limit : std::min(next, limit);
}

// How long nothing happens by itself.
int64 sleep_ms(bool crowded, int64 watch_ms) {
    const int64 now = pg::monotonic_ms();
    int64 next = now + std::min<int64>(60 * 1000, watch_ms);
    each_database([&next, now](const Database* database) {
        if (!database->active && database->ready_ms > now) {
            next = std::min(next, database->ready_ms);
        }
        if (is_visit(*database, now)) {
            next = std::min(next, database->started_ms + kVisitMs);
        }
    });
    return crowded ? std::min<int64>(next - now, 500) : std::max<int64>(1, next - now);
}

void loop() {
    const uint32 event = pg::wait_event("BelayLauncherMain");
    while (true) {
        ResetLatch(MyLatch);
        if (ProcDiePending) {
            proc_exit(1);
        }
        CHECK_FOR_INTERRUPTS();
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
        hear_requests();
        const int64 watch_ms = watch_portions();
        each_database([](Database* database) {
            if (!follow(database)) {
                forget(database);
            }
        });
        const bool enough = start_workers();
        show_waiting();
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                        static_cast<long>(sleep_ms(!enough, watch_ms)), event);
    }
}

void run() {
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, die);
    pqsignal(SIGINT, SIG_IGN);
    BackgroundWorkerUnblockSignals();
    SetConfigOption("application_name", registry::kLauncherType, PGC_SUSET, PGC_S_OVERRIDE);
    BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
    make_table();
    registry::become_launcher();
    adopt_workers();
    add_all_databases();
    loop();
}

}  // namespace

void install_launcher() {
    BackgroundWorker launcher{};
    launcher.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    launcher.bgw_start_time = BgWorkerStart_RecoveryFinished;
    launcher.bgw_restart_time = 1;
    strlcpy(launcher.bgw_library_name, "belay", sizeof launcher.bgw_library_name);
    strlcpy(launcher.bgw_function_name, "belay_launcher_main", sizeof launcher.bgw_function_name);
    strlcpy(launcher.bgw_name, registry::kLauncherType, sizeof launcher.bgw_name);
    strlcpy(launcher.bgw_type, registry::kLauncherType, sizeof launcher.bgw_type);
    RegisterBackgroundWorker(&launcher);
}

}  // namespace belay::worker

extern "C" {
BELAY_EXPORT void belay_launcher_main(Datum unused);
}

void belay_launcher_main(Datum) {
    belay::pg::at_boundary([] { belay::worker::run(); });
}
