// The registry of background workers: their slots, holds on databases, and what the launcher knows.
//
// Touches the registry in shared memory, and signals processes of workers. Locks: the registry's,
// for a moment; nothing is allocated or raised under it. What it says of workers is a hint for
// people and for the launcher; no rule about rows depends on it.
#include "shmem/registry.hpp"

#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/list.hpp"
#include "shmem/counters.hpp"
#include "shmem/registry_state.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::registry {

constinit Registry* shared = nullptr;
constinit WorkerSlot* mine = nullptr;

namespace {

constinit int held_count = 0;  // holds of the current transaction

Size registry_bytes() {
    return add_size(offsetof(Registry, slots),
                    mul_size(static_cast<Size>(max_worker_processes), sizeof(WorkerSlot)));
}

void init_registry(void* piece) {
    memset(piece, 0, registry_bytes());
    auto* made = static_cast<Registry*>(piece);
    LWLockInitialize(&made->lock, shmem::lock_tranche());
    ConditionVariableInit(&made->left);
    made->launcher_procno = -1;
    made->slot_count = max_worker_processes;
    for (int i = 0; i < made->slot_count; ++i) {
        pg_atomic_init_u32(&made->slots[i].bells, 0);
    }
    for (auto& waiting : made->waiting) {
        pg_atomic_init_u32(&waiting.called, 0);
    }
}

void use_registry(void* piece) {
    shared = static_cast<Registry*>(piece);
}

// The slot of a database's worker, live or ended, or null. One that is stuck is not the database's
// any more. The lock is held.
WorkerSlot* slot_of(Oid database) {
    WorkerSlot* found = nullptr;
    for (auto& slot : slots()) {
        if (slot.database == database && !slot.stuck && (found == nullptr || is_live(slot))) {
            found = &slot;
        }
    }
    return found;
}

bool is_held(Oid database) {
    for (const auto& hold : shared->holds) {
        if (hold.database == database) {
            return true;
        }
    }
    return false;
}

bool was_dropped(Oid database) {
    return std::ranges::find(shared->dropped, database) != std::end(shared->dropped);
}

void ask_to_end(WorkerSlot* slot, int signal) {
    slot->stop = true;
    if (is_live(*slot)) {
        (void)kill(slot->pid, signal);
    }
}

extern "C" void belay_leave_slot(int, Datum) {
    if (mine == nullptr) {
        return;
    }
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    mine->pid = 0;
    mine->procno = -1;
    mine->state = WorkerState::kEnded;
    if (mine->stop && mine->end == WorkerEnd::kFailed) {
        mine->end = WorkerEnd::kStopped;
    }
    const Portion portion = mine->portion;
    const bool over = portion.is_over(pg::monotonic_ms());
    int64 rest_ms = 0;
    if (mine->stuck) {
        // The hub rests as long as when it was given up.
        for (auto& entry : shared->quarantined) {
            entry.stuck = entry.stuck == MyProcPid ? 0 : entry.stuck;
        }
        mine->database = InvalidOid;
        mine->stuck = false;
    } else if (over) {
        if (portion.duty >= 0) {
            ++mine->duties[portion.duty].runs;
            ++mine->duties[portion.duty].errors;
        }
        rest_ms = quarantine(mine, 0);
        mine->end = WorkerEnd::kOverLimit;
    }
    mine->portion.deadline_ms = 0;
    mine = nullptr;
    const int launcher = shared->launcher_procno;
    LWLockRelease(&shared->lock);
    if (rest_ms > 0) {
        log_quarantine(portion, rest_ms);
    }
    ConditionVariableBroadcast(&shared->left);
    ring(launcher);
}

// Calls visit(pid) for each process that is a worker in this database, as the statistics show.
template <typename Visit>
void each_worker_here(Visit visit) {
    pgstat_clear_backend_activity_snapshot();
    const int count = pgstat_fetch_stat_numbackends();
    for (int i = 1; i <= count; ++i) {
        const LocalPgBackendStatus* local = pg::backend_status(i);
        if (local == nullptr || local->backendStatus.st_backendType != B_BG_WORKER ||
            local->backendStatus.st_databaseid != MyDatabaseId) {
            continue;
        }
        const pid_t pid = local->backendStatus.st_procpid;
        const char* type = GetBackgroundWorkerTypeByPid(pid);
        if (type != nullptr && strcmp(type, kWorkerType) == 0) {
            visit(pid);
        }
    }
    pgstat_clear_backend_activity_snapshot();
}

uint32 left_wait_event() {
    static constinit uint32 event = 0;
    if (event == 0) {
        event = pg::wait_event("BelayWorkerLeaves");
    }
    return event;
}

// The slot that a new worker of the database gets: the one of its last worker, or else of the
// worker that ended longest ago, whose totals go. Null: none is free, which cannot be, because
// there are as many slots as there can be workers. The lock is held.
WorkerSlot* free_slot_for(Oid database) {
    WorkerSlot* slot = slot_of(database);
    if (slot != nullptr) {
        return slot;
    }
    for (auto& other : slots()) {
        if (!is_live(other) && (slot == nullptr || other.started_at < slot->started_at)) {
            slot = &other;
        }
    }
    if (slot == nullptr) {
        return nullptr;
    }
    memset(static_cast<void*>(slot->duties), 0, sizeof slot->duties);
    // The totals of a process that was given up continue with its successor.
    for (const auto& other : slots()) {
        if (other.stuck && other.database == database) {
            memcpy(static_cast<void*>(slot->duties), other.duties, sizeof slot->duties);
        }
    }
    return slot;
}

}  // namespace

void ring(int procno) {
    if (procno >= 0) {
        SetLatch(&GetPGProcByNumber(procno)->procLatch);
    }
}

// The launcher remembers which workers it has to start again. It may have asked for one just before
// the database was dropped; that one finds the database among the dropped.
void release_holds(bool commits) {
    for (auto& hold : shared->holds) {
        if (OidIsValid(hold.database) && hold.holder == MyProcPid) {
            if (commits && hold.purpose == HoldFor::kDrop) {
                counters::forget_database(hold.database);
                shared->dropped[shared->next_dropped] = hold.database;
                shared->next_dropped = (shared->next_dropped + 1) % kMostDropped;
            }
            hold = {};
        }
    }
    held_count = 0;
}

bool has_holds() {
    return held_count > 0;
}

void copy_message(char* to, std::size_t size, const char* message) {
    const int length =
        pg_mbcliplen(message, static_cast<int>(strlen(message)), static_cast<int>(size) - 1);
    memcpy(to, message, static_cast<Size>(length));
    to[length] = '\0';
}

const char* state_name(WorkerState state) {
    switch (state) {
        case WorkerState::kNone:
            return "none";
        case WorkerState::kStarting:
            return "starting";
        case WorkerState::kIdle:
            return "idle";
        case WorkerState::kWorking:
            return "working";
        case WorkerState::kResting:
            return "resting";
        case WorkerState::kEnded:
            return "ended";
        case WorkerState::kStuck:
            return "stuck";
        case WorkerState::kWaiting:
            return "waiting";
    }
    return "unknown";
}

void install() {
    shmem::add_piece({registry_bytes, init_registry, use_registry});
}

BackgroundWorkerHandle* launch_worker(Oid database) {
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    strlcpy(worker.bgw_library_name, "belay", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "belay_worker_main", sizeof worker.bgw_function_name);
    strlcpy(worker.bgw_name, kWorkerType, sizeof worker.bgw_name);
    strlcpy(worker.bgw_type, kWorkerType, sizeof worker.bgw_type);
    worker.bgw_main_arg = ObjectIdGetDatum(database);
    worker.bgw_notify_pid = MyProcPid;
    BackgroundWorkerHandle* handle = nullptr;
    return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : nullptr;
}

std::span<const WorkerSlot> live_workers() {
    pg::List<WorkerSlot> found;
    if (!shmem::attach()) {
        return found.span();
    }
    // Nothing is allocated under the lock.
    const auto bytes = sizeof(WorkerSlot) * static_cast<Size>(shared->slot_count);
    auto* copies = static_cast<WorkerSlot*>(palloc(bytes));
    Oid waiting[kMostWaiting];
    LWLockAcquire(&shared->lock, LW_SHARED);
    memcpy(static_cast<void*>(copies), shared->slots, bytes);
    const int count = shared->slot_count;
    const int waiting_count = shared->waiting_count;
    for (int i = 0; i < waiting_count; ++i) {
        waiting[i] = shared->waiting[i].database;
    }
    LWLockRelease(&shared->lock);
    for (int i = 0; i < count; ++i) {
        if (is_live(copies[i])) {
            found.add(copies[i]);
        }
    }
    for (int i = 0; i < waiting_count; ++i) {
        // What its last worker did is known until the slot is taken.
        WorkerSlot slot{};
        for (int j = 0; j < count; ++j) {
            if (copies[j].database == waiting[i] && !is_live(copies[j])) {
                memcpy(static_cast<void*>(&slot), &copies[j], sizeof slot);
            }
        }
        slot.database = waiting[i];
        slot.pid = 0;
        slot.state = WorkerState::kWaiting;
        found.add(slot);
    }
    return found.span();
}

int stop_workers_here() {
    int count = 0;
    each_worker_here([&count](pid_t pid) {
        (void)kill(pid, SIGUSR2);
        ++count;
    });
    if (shmem::attach()) {
        stop_worker_of(MyDatabaseId);  // one that is only starting
    }
    return count;
}

bool worker_is_here(pid_t which) {
    bool found = false;
    each_worker_here([&found, which](pid_t pid) { found = found || which == 0 || pid == which; });
    return found;
}

void hold_database(Oid database, HoldFor purpose) {
    if (shared == nullptr) {
        return;
    }
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (auto& hold : shared->holds) {
        if (!OidIsValid(hold.database)) {
            hold = {.database = database, .holder = MyProcPid, .purpose = purpose};
            ++held_count;
            break;
        }
    }
    LWLockRelease(&shared->lock);
    stop_worker_of(database);
}

bool wait_until_left(Oid database, int timeout_ms) {
    // A worker that is busy is ended the hard way when half of the time is over.
    const int patience_ms = timeout_ms / 2;
    if (shared == nullptr) {
        return true;
    }
    const TimestampTz begin = GetCurrentTimestamp();
    bool urged = false;
    ConditionVariablePrepareToSleep(&shared->left);
    while (true) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        WorkerSlot* slot = slot_of(database);
        const bool left = slot == nullptr || !is_live(*slot);
        const int64 waited = std::max<int64>(0, (GetCurrentTimestamp() - begin) / INT64CONST(1000));
        if (!left && !urged && waited >= patience_ms) {
            urged = true;
            ask_to_end(slot, SIGTERM);
        }
        LWLockRelease(&shared->lock);
        if (left || waited >= timeout_ms) {
            ConditionVariableCancelSleep();
            return left;
        }
        const int64 until = urged ? timeout_ms : patience_ms;
        (void)ConditionVariableTimedSleep(&shared->left,
                                          static_cast<long>(std::max<int64>(1, until - waited)),
                                          left_wait_event());
    }
}

bool take_slot(Oid database) {
    if (!shmem::attach()) {
        return true;
    }
    before_shmem_exit(belay_leave_slot, 0);
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const WorkerSlot* last = slot_of(database);
    const bool may_run =
        !is_held(database) && !was_dropped(database) && (last == nullptr || !is_live(*last));
    WorkerSlot* slot = may_run ? free_slot_for(database) : nullptr;
    if (slot != nullptr) {
        slot->database = database;
        slot->pid = MyProcPid;
        slot->procno = pg::my_proc_number();
        slot->state = WorkerState::kStarting;
        slot->end = WorkerEnd::kFailed;
        slot->stop = false;
        slot->started_at = GetCurrentTimestamp();
        slot->last_loop_at = 0;
        slot->found_work = false;
        slot->stuck = false;
        slot->portion = {};
        pg_atomic_write_u32(&slot->bells, 0);
        slot->relay_calls = {};
        mine = slot;
    }
    LWLockRelease(&shared->lock);
    return slot != nullptr;
}

void set_state(WorkerState state) {
    if (mine != nullptr && mine->state != state) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        const bool started = mine->state == WorkerState::kStarting;
        mine->state = state;
        const int launcher = shared->launcher_procno;
        LWLockRelease(&shared->lock);
        if (started) {
            ring(launcher);  // it may look at the next database
        }
    }
}

void set_end(WorkerEnd end) {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        mine->end = end;
        LWLockRelease(&shared->lock);
    }
}

bool stop_requested() {
    // A bool that only ever turns true while this process lives.
    return ShutdownRequestPending || (mine != nullptr && mine->stop);
}

uint32 take_bells() {
    return mine == nullptr ? 0 : pg_atomic_exchange_u32(&mine->bells, 0);
}

RelayCalls take_relay_calls() {
    RelayCalls calls{};
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        calls = mine->relay_calls;
        mine->relay_calls = {};
        LWLockRelease(&shared->lock);
    }
    return calls;
}

void looped() {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        mine->last_loop_at = GetCurrentTimestamp();
        LWLockRelease(&shared->lock);
    }
}

void duty_ran(int duty, int64 rows) {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        DutyTotals& totals = mine->duties[duty];
        ++totals.runs;
        totals.rows += rows;
        mine->found_work = mine->found_work || rows > 0;
        totals.last_run = GetCurrentTimestamp();
        LWLockRelease(&shared->lock);
    }
}

void duty_failed(int duty, const char* hub, const char* message) {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        DutyTotals& totals = mine->duties[duty];
        ++totals.runs;
        ++totals.errors;
        totals.last_run = GetCurrentTimestamp();
        totals.last_error_at = totals.last_run;
        namestrcpy(&totals.last_error_hub, hub);
        copy_message(totals.last_error, sizeof totals.last_error, message);
        LWLockRelease(&shared->lock);
    }
}

void become_launcher() {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    shared->launcher_procno = pg::my_proc_number();
    LWLockRelease(&shared->lock);
}

Wanted take_wanted() {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const Wanted wanted = shared->wanted;
    shared->wanted = {};
    LWLockRelease(&shared->lock);
    return wanted;
}

Sighting sight(Oid database) {
    Sighting result{};
    LWLockAcquire(&shared->lock, LW_SHARED);
    result.held = is_held(database);
    if (const WorkerSlot* slot = slot_of(database)) {
        result.live = is_live(*slot);
        result.state = slot->state;
        result.end = slot->end;
        result.found_work = slot->found_work;
    }
    for (int i = 0; i < shared->waiting_count; ++i) {
        if (shared->waiting[i].database == database) {
            result.called = pg_atomic_read_u32(&shared->waiting[i].called) != 0;
        }
    }
    LWLockRelease(&shared->lock);
    return result;
}

void forget_end(Oid database) {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    if (WorkerSlot* slot = slot_of(database); slot != nullptr && !is_live(*slot)) {
        slot->end = WorkerEnd::kFailed;
        slot->stop = false;
    }
    std::ranges::replace(shared->dropped, database, InvalidOid);
    LWLockRelease(&shared->lock);
}

void stop_worker_of(Oid database) {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    if (WorkerSlot* slot = slot_of(database); slot != nullptr && is_live(*slot)) {
        ask_to_end(slot, SIGUSR2);
    }
    LWLockRelease(&shared->lock);
}

void show_waiting(std::span<const Oid> databases) {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    Waiting before[kMostWaiting];
    memcpy(static_cast<void*>(before), shared->waiting, sizeof before);
    const int before_count = shared->waiting_count;
    const auto count = std::min<std::size_t>(databases.size(), kMostWaiting);
    for (std::size_t i = 0; i < count; ++i) {
        uint32 called = 0;
        for (int j = 0; j < before_count; ++j) {
            if (before[j].database == databases[i]) {
                called = pg_atomic_read_u32(&before[j].called);
            }
        }
        shared->waiting[i].database = databases[i];
        pg_atomic_write_u32(&shared->waiting[i].called, called);
    }
    shared->waiting_count = static_cast<int>(count);
    LWLockRelease(&shared->lock);
}

}  // namespace belay::registry
