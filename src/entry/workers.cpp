// The functions of schema belay that concern the background worker.
//
// Touches  the registry of workers in shared memory
// Must not start or stop a worker where a launcher keeps one
#include <algorithm>

#include "entry/call.hpp"
#include "ops/duties/duties.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/settings.hpp"
#include "shmem/registry.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::entry {

namespace {

constexpr int kPatienceMs = 10 * 1000;

void refuse_if_launched(const char* function) {
    if (shmem::is_preloaded()) {
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("%s is for servers that do not preload belay", function),
                 errdetail("The launcher of this server keeps a worker in every database that has "
                           "the extension."),
                 errhint("Set belay.reconcile_interval = 0 to disable background maintenance.")));
    }
}

// Waits until ready() is true. False after a while.
template <typename Ready>
bool wait_until(Ready ready) {
    constexpr int kStepMs = 10;
    for (int waited = 0; !ready(); waited += kStepMs) {
        if (waited >= kPatienceMs) {
            return false;
        }
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kStepMs,
                        PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
    return true;
}

// Whether the process is in the database, or has ended: another one was there first.
bool has_arrived(BackgroundWorkerHandle* handle) {
    pid_t pid = 0;
    const auto status = GetBackgroundWorkerPid(handle, &pid);
    return status == BGWH_STOPPED || (status == BGWH_STARTED && registry::worker_is_here(pid));
}

Datum text_or_null(const char* text, bool* null) {
    *null = text == nullptr || *text == '\0';
    return *null ? 0 : CStringGetTextDatum(text);
}

Datum time_or_null(TimestampTz time, bool* null) {
    *null = time == 0;
    return TimestampTzGetDatum(time);
}

void add_worker(const registry::WorkerSlot& slot, int duty, const Call::Set& answer) {
    constexpr int kColumns = 14;
    Datum values[kColumns] = {ObjectIdGetDatum(slot.database), Int32GetDatum(slot.pid),
                              CStringGetTextDatum(registry::state_name(slot.state))};
    bool nulls[kColumns] = {};
    nulls[1] = slot.pid == 0;
    values[3] = time_or_null(slot.pid == 0 ? 0 : slot.started_at, &nulls[3]);
    values[4] = time_or_null(slot.last_loop_at, &nulls[4]);
    if (duty < 0) {
        for (int i = 5; i < kColumns; ++i) {
            nulls[i] = true;
        }
    } else {
        const registry::DutyTotals& totals = slot.duties[duty];
        values[5] = CStringGetTextDatum(ops::duties()[static_cast<std::size_t>(duty)].name);
        values[6] = time_or_null(totals.last_run, &nulls[6]);
        values[7] = Int64GetDatum(totals.runs);
        values[8] = Int64GetDatum(totals.rows);
        values[9] = Int64GetDatum(totals.errors);
        values[10] = text_or_null(totals.last_error, &nulls[10]);
        values[11] = text_or_null(NameStr(totals.last_error_hub), &nulls[11]);
        values[12] = time_or_null(totals.last_error_at, &nulls[12]);
        values[13] = Int64GetDatum(totals.timeouts);
    }
    answer.add(values, nulls);
}

}  // namespace

}  // namespace belay::entry

using namespace belay;

BELAY_FUNCTION(belay_start_worker) {
    entry::refuse_if_launched("belay.start_worker");
    PreventCommandDuringRecovery("belay.start_worker");
    if (registry::worker_is_here()) {
        ereport(NOTICE, (errmsg("the background worker of this database is running already")));
        PG_RETURN_BOOL(false);
    }
    BackgroundWorkerHandle* handle = registry::launch_worker(MyDatabaseId);
    if (handle == nullptr) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                        errmsg("could not register a background worker"),
                        errhint("Increase max_worker_processes.")));
    }
    (void)entry::wait_until([handle] { return entry::has_arrived(handle); });
    if (!registry::worker_is_here()) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("the background worker did not start"),
                        errhint("See the server's log for the reason.")));
    }
    PG_RETURN_BOOL(true);
}

BELAY_FUNCTION(belay_stop_worker) {
    entry::refuse_if_launched("belay.stop_worker");
    if (registry::stop_workers_here() == 0) {
        ereport(NOTICE, (errmsg("no background worker is running in this database")));
        PG_RETURN_BOOL(false);
    }
    if (!entry::wait_until([] { return registry::stop_workers_here() == 0; })) {
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_IN_USE), errmsg("the background worker has not ended yet"),
                 errhint("Wait until it has finished its current duty, and call again.")));
    }
    PG_RETURN_BOOL(true);
}

BELAY_FUNCTION(belay_worker_rows) {
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& slot : registry::live_workers()) {
        bool any = false;
        for (int i = 0; i < static_cast<int>(ops::duties().size()); ++i) {
            // The totals of a process that was given up are with its successor.
            if (slot.duties[i].runs > 0 && slot.state != registry::WorkerState::kStuck) {
                any = true;
                entry::add_worker(slot, i, answer);
            }
        }
        if (!any) {
            entry::add_worker(slot, -1, answer);
        }
    }
    return 0;
}

BELAY_FUNCTION(belay_quarantined_hubs) {
    const auto answer = entry::answer_rows(fcinfo);
    const TimestampTz now = GetCurrentTimestamp();
    const int64 now_ms = pg::monotonic_ms();
    for (const auto& hub : registry::quarantined_hubs()) {
        NameData name = hub.name;
        const int64 rest_ms = std::max<int64>(0, hub.rest.until_ms - now_ms);
        const Datum values[] = {NameGetDatum(&name),
                                CStringGetTextDatum(hub.what),
                                Int32GetDatum(hub.rest.times),
                                TimestampTzGetDatum(hub.since),
                                TimestampTzGetDatum(TimestampTzPlusMilliseconds(now, rest_ms)),
                                Int32GetDatum(hub.stuck)};
        const bool nulls[lengthof(values)] = {false, false, false, false, false, hub.stuck == 0};
        answer.add(values, nulls);
    }
    return 0;
}
