// xmin_watch.cpp — warn of an old snapshot that keeps a hub's dead rows.
//
// Calls    no function of the store
// Touches  the statistics of the hub's queues and of the server's processes
// Locks    nothing
// Raises   nothing
#include "core/time.hpp"
#include "ops/duties/duties.hpp"
#include "pg/compat.hpp"

namespace belay::ops {

namespace {

// Below these an old snapshot does no harm worth a warning.
constexpr int64 kOldMs = 10 * 60 * 1000;
constexpr int64 kManyDeadRows = 1000;

// What was warned of: once per hub and transaction.
struct Warned {
    Oid tables;
    pid_t pid;
    TimestampTz since;

    bool operator==(const Warned&) const = default;
};
constexpr int kMostWarned = 64;
constinit Warned warned[kMostWarned] = {};
constinit int next_warned = 0;

bool is_new(const Warned& found) {
    for (const auto& known : warned) {
        if (known == found) {
            return false;
        }
    }
    warned[next_warned] = found;
    next_warned = (next_warned + 1) % kMostWarned;
    return true;
}

int64 dead_rows_of(store::Tables& tables) {
    int64 sum = 0;
    for (const Oid table :
         {tables.hub.relations.worker_queue, tables.hub.relations.orchestrator_queue,
          tables.hub.relations.instance_locks, tables.hub.relations.sessions}) {
        sum += OidIsValid(table) ? pg::dead_rows(table) : 0;
    }
    return sum;
}

// Whether vacuum has to keep rows of this database for the process.
bool keeps_rows(const LocalPgBackendStatus& local) {
    const auto& status = local.backendStatus;
    if (!TransactionIdIsValid(local.backend_xmin) || status.st_procpid == MyProcPid ||
        (status.st_databaseid != MyDatabaseId && status.st_backendType != B_WAL_SENDER)) {
        return false;
    }
    const PGPROC* process = BackendPidGetProc(status.st_procpid);
    return process != nullptr &&
           (process->statusFlags & (PROC_IN_VACUUM | PROC_IN_LOGICAL_DECODING)) == 0;
}

}  // namespace

int64 watch_snapshots(store::Tables& tables, pg::Clock* clock) {
    const int64 dead = dead_rows_of(tables);
    if (dead < kManyDeadRows) {
        return 0;
    }
    int64 found = 0;
    const int count = pgstat_fetch_stat_numbackends();
    for (int i = 1; i <= count; ++i) {
        const LocalPgBackendStatus* local = pg::backend_status(i);
        if (local == nullptr || !keeps_rows(*local)) {
            continue;
        }
        const auto& status = local->backendStatus;
        const TimestampTz since = status.st_xact_start_timestamp;
        const int64 age_ms = since == 0 ? 0 : clock->now() - core::pg_us_to_ms(since);
        if (age_ms >= kOldMs && is_new({tables.hub.schema, status.st_procpid, since})) {
            ++found;
            ereport(WARNING,
                    (errmsg("process %d holds an old snapshot that keeps the dead rows of hub "
                            "\"%s\"",
                            status.st_procpid, NameStr(tables.hub.name)),
                     errdetail("Its transaction is " INT64_FORMAT
                               " s old; the queues have about " INT64_FORMAT " dead rows.",
                               age_ms / 1000, dead),
                     errhint("End the transaction, or the process with pg_terminate_backend(%d).",
                             status.st_procpid)));
        }
    }
    return found;
}

}  // namespace belay::ops
