#include "pg/worker_registry.hpp"

#include <algorithm>

#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/counters.hpp"
#include "pg/list.hpp"
#include "pg/shared_memory.hpp"
#include "pg/transaction_end.hpp"

namespace belay::pg {

namespace {

constexpr int kMostHolds = 64;
constexpr int kMostDropped = 64;
constexpr int kMostQuarantined = 256;
constexpr int kMostWaiting = 256;

// After its limit a portion's process has ended itself within a second. The launcher signals it
// after two, and gives it up after five.
constexpr int64 kUrgeAfterMs = 2000;
constexpr int64 kGiveUpAfterMs = 5000;

// A database that waits for a process.
struct Waiting {
    Oid database;
    pg_atomic_uint32 called;  // a session of the database has rung
};

// A database that workers must leave alone, because a command of that process needs it.
struct Hold {
    Oid database;
    pid_t holder;
    HoldFor purpose;
};

struct Registry {
    LWLock lock;  // guards everything below but the bells
    ConditionVariable left;
    int launcher_procno;  // -1: none
    Wanted wanted;
    Hold holds[kMostHolds];
    Oid dropped[kMostDropped];  // the last ones
    int next_dropped;
    QuarantinedHub quarantined[kMostQuarantined];
    Waiting waiting[kMostWaiting];
    int waiting_count;
    int slot_count;
    WorkerSlot slots[FLEXIBLE_ARRAY_MEMBER];
};

constinit Registry* registry = nullptr;
constinit WorkerSlot* mine = nullptr;

// What the current transaction says when it ends.
constinit uint32 pending_bells = 0;
constexpr int kMostPending = 8;
constinit Oid pending_wanted[kMostPending] = {};
constinit int pending_count = 0;
constinit RelayCalls pending_relay{};
constinit int held_count = 0;

Size registry_bytes() {
    return add_size(offsetof(Registry, slots),
                    mul_size(static_cast<Size>(max_worker_processes), sizeof(WorkerSlot)));
}

void init_registry(void* piece) {
    memset(piece, 0, registry_bytes());
    auto* made = static_cast<Registry*>(piece);
    LWLockInitialize(&made->lock, shared_lock_tranche());
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
    registry = static_cast<Registry*>(piece);
}

std::span<WorkerSlot> slots() {
    return {registry->slots, static_cast<std::size_t>(registry->slot_count)};
}

bool is_live(const WorkerSlot& slot) {
    return slot.pid != 0;
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
    for (const auto& hold : registry->holds) {
        if (hold.database == database) {
            return true;
        }
    }
    return false;
}

bool was_dropped(Oid database) {
    return std::ranges::find(registry->dropped, database) != std::end(registry->dropped);
}

void ring(int procno) {
    if (procno >= 0) {
        SetLatch(&GetPGProcByNumber(procno)->procLatch);
    }
}

void ask_to_end(WorkerSlot* slot, int signal) {
    slot->stop = true;
    if (is_live(*slot)) {
        (void)kill(slot->pid, signal);
    }
}

// The lock is held.
void add_wanted(Oid database) {
    Wanted& wanted = registry->wanted;
    for (int i = 0; i < wanted.count; ++i) {
        if (wanted.databases[i] == database) {
            return;
        }
    }
    if (wanted.count == lengthof(wanted.databases)) {
        wanted.all = true;
        return;
    }
    wanted.databases[wanted.count++] = database;
}

void add_call(RelayCalls* calls, Oid hub) {
    for (int i = 0; i < calls->count; ++i) {
        if (calls->hubs[i] == hub) {
            return;
        }
    }
    if (calls->count == lengthof(calls->hubs)) {
        calls->all = true;
        return;
    }
    calls->hubs[calls->count++] = hub;
}

// Lets the launcher know that the database without a worker has something to do. The lock is held.
void call_launcher() {
    for (int i = 0; i < registry->waiting_count; ++i) {
        if (registry->waiting[i].database == MyDatabaseId) {
            pg_atomic_write_u32(&registry->waiting[i].called, 1);
        }
    }
}

// Passes on what the transaction has for other hubs. The lock is held.
void call_relay() {
    bool heard = false;
    for (auto& slot : slots()) {
        if (slot.database == MyDatabaseId && is_live(slot) && !slot.stuck) {
            heard = true;
            for (int i = 0; i < pending_relay.count; ++i) {
                add_call(&slot.relay_calls, pending_relay.hubs[i]);
            }
            slot.relay_calls.all = slot.relay_calls.all || pending_relay.all;
            ring(slot.procno);
        }
    }
    if (!heard) {
        call_launcher();
    }
}

// The launcher remembers whom it has to start again. It may have asked for a worker just before a
// drop; that one is told here.
void release_holds(bool commits) {
    for (auto& hold : registry->holds) {
        if (OidIsValid(hold.database) && hold.holder == MyProcPid) {
            if (commits && hold.purpose == HoldFor::kDrop) {
                forget_counts_of_database(hold.database);
                registry->dropped[registry->next_dropped] = hold.database;
                registry->next_dropped = (registry->next_dropped + 1) % kMostDropped;
            }
            hold = {};
        }
    }
}

void at_end(Ending ending) {
    if (ending == Ending::kSubtransactionAbort || registry == nullptr ||
        (pending_bells == 0 && pending_count == 0 && held_count == 0 && pending_relay.count == 0)) {
        return;
    }
    const bool commits = ending != Ending::kAbort;
    const uint32 bells = pending_bells;
    if (commits && pending_relay.count > 0) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        call_relay();
        LWLockRelease(&registry->lock);
    }
    pending_relay = {};
    if (commits ? pending_count + held_count > 0 : held_count > 0) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        release_holds(commits);
        for (int i = 0; commits && i < pending_count; ++i) {
            add_wanted(pending_wanted[i]);
        }
        const int launcher = registry->launcher_procno;
        LWLockRelease(&registry->lock);
        ring(launcher);
    }
    pending_bells = 0;
    pending_count = 0;
    held_count = 0;
    if (commits && bells != 0) {
        wake_worker(static_cast<Bell>(bells));
    }
}

// The entry of a hub, or the one that is needed least. The lock is held.
QuarantinedHub* quarantine_entry(Oid database, Oid hub) {
    QuarantinedHub* spare = &registry->quarantined[0];
    for (auto& entry : registry->quarantined) {
        if (entry.database == database && entry.hub == hub) {
            return &entry;
        }
        if (entry.rest.until_ms < spare->rest.until_ms) {
            spare = &entry;
        }
    }
    *spare = {};
    spare->database = database;
    spare->hub = hub;
    return spare;
}

void copy_message(char* to, std::size_t size, const char* message) {
    const int length =
        pg_mbcliplen(message, static_cast<int>(strlen(message)), static_cast<int>(size) - 1);
    memcpy(to, message, static_cast<Size>(length));
    to[length] = '\0';
}

// Puts the hub that answers for the portion into quarantine. Returns how long it rests. The lock is
// held.
int64 quarantine(WorkerSlot* slot, pid_t stuck) {
    const Portion& portion = slot->portion;
    const int64 now = monotonic_ms();
    const TimestampTz at = GetCurrentTimestamp();
    if (portion.duty >= 0) {
        DutyTotals& totals = slot->duties[portion.duty];
        ++totals.timeouts;
        totals.last_error_at = at;
        totals.last_error_hub = portion.hub_name;
        copy_message(totals.last_error, sizeof totals.last_error,
                     "took longer than belay.duty_timeout");
    }
    if (!OidIsValid(portion.hub)) {
        return 0;
    }
    QuarantinedHub* entry = quarantine_entry(slot->database, portion.hub);
    entry->name = portion.hub_name;
    memcpy(entry->what, portion.what, sizeof entry->what);
    entry->rest.exceeded(now, portion.limit_ms);
    entry->since = at;
    entry->stuck = stuck;
    return entry->rest.until_ms - now;
}

void log_quarantine(const Portion& portion, int64 rest_ms) {
    ereport(
        WARNING,
        (errmsg("%s of hub \"%s\" took longer than belay.duty_timeout", portion.what,
                NameStr(portion.hub_name)),
         errdetail("The background worker leaves the hub alone for " INT64_FORMAT " ms.", rest_ms),
         errhint("Look for triggers, policies and index expressions on the tables of the hub: "
                 "SELECT * FROM belay.check_hub('%s').",
                 NameStr(portion.hub_name))));
}

extern "C" void belay_leave_slot(int, Datum) {
    if (mine == nullptr) {
        return;
    }
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    mine->pid = 0;
    mine->procno = -1;
    mine->state = WorkerState::kEnded;
    if (mine->stop && mine->end == WorkerEnd::kFailed) {
        mine->end = WorkerEnd::kStopped;
    }
    const Portion portion = mine->portion;
    const bool over = portion.is_over(monotonic_ms());
    int64 rest_ms = 0;
    if (mine->stuck) {
        // The hub rests as long as when it was given up.
        for (auto& entry : registry->quarantined) {
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
    const int launcher = registry->launcher_procno;
    LWLockRelease(&registry->lock);
    if (rest_ms > 0) {
        log_quarantine(portion, rest_ms);
    }
    ConditionVariableBroadcast(&registry->left);
    ring(launcher);
}

// Calls visit(pid) for each process that is a worker in this database, as the statistics tell.
template <typename Visit>
void each_worker_here(Visit visit) {
    pgstat_clear_backend_activity_snapshot();
    const int count = pgstat_fetch_stat_numbackends();
    for (int i = 1; i <= count; ++i) {
        const LocalPgBackendStatus* local = backend_status(i);
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
        event = wait_event("BelayWorkerLeaves");
    }
    return event;
}

}  // namespace

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

void share_worker_registry() {
    add_shared_piece({registry_bytes, init_registry, use_registry});
    call_after_locks(at_end);
}

void wake_worker(Bell bell) {
    if (registry == nullptr) {
        return;
    }
    LWLockAcquire(&registry->lock, LW_SHARED);
    bool heard = false;
    for (auto& slot : slots()) {
        if (slot.database == MyDatabaseId && is_live(slot) && !slot.stuck) {
            heard = true;
            pg_atomic_fetch_or_u32(&slot.bells, static_cast<uint32>(bell));
            ring(slot.procno);
        }
    }
    if (!heard) {
        call_launcher();
    }
    LWLockRelease(&registry->lock);
}

void wake_worker_at_commit(Bell bell) {
    pending_bells |= static_cast<uint32>(bell);
}

void wake_relay_at_commit(Oid hub) {
    add_call(&pending_relay, hub);
}

void want_worker_at_commit(Oid database) {
    for (int i = 0; i < pending_count; ++i) {
        if (pending_wanted[i] == database) {
            return;
        }
    }
    if (pending_count < kMostPending) {
        pending_wanted[pending_count++] = database;
    }
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
    List<WorkerSlot> found;
    if (!attach_shared_memory()) {
        return found.span();
    }
    // Nothing is allocated under the lock.
    const auto bytes = sizeof(WorkerSlot) * static_cast<Size>(registry->slot_count);
    auto* copies = static_cast<WorkerSlot*>(palloc(bytes));
    Oid waiting[kMostWaiting];
    LWLockAcquire(&registry->lock, LW_SHARED);
    memcpy(static_cast<void*>(copies), registry->slots, bytes);
    const int count = registry->slot_count;
    const int waiting_count = registry->waiting_count;
    for (int i = 0; i < waiting_count; ++i) {
        waiting[i] = registry->waiting[i].database;
    }
    LWLockRelease(&registry->lock);
    for (int i = 0; i < count; ++i) {
        if (is_live(copies[i])) {
            found.add(copies[i]);
        }
    }
    for (int i = 0; i < waiting_count; ++i) {
        // What its last worker did is known as long as nobody has taken the slot.
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
    if (attach_shared_memory()) {
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
    if (registry == nullptr) {
        return;
    }
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    for (auto& hold : registry->holds) {
        if (!OidIsValid(hold.database)) {
            hold = {.database = database, .holder = MyProcPid, .purpose = purpose};
            ++held_count;
            break;
        }
    }
    LWLockRelease(&registry->lock);
    stop_worker_of(database);
}

bool wait_until_left(Oid database, int timeout_ms) {
    // A worker that is busy is ended the hard way when half of the time is over.
    const int patience_ms = timeout_ms / 2;
    if (registry == nullptr) {
        return true;
    }
    const TimestampTz begin = GetCurrentTimestamp();
    bool urged = false;
    ConditionVariablePrepareToSleep(&registry->left);
    while (true) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        WorkerSlot* slot = slot_of(database);
        const bool left = slot == nullptr || !is_live(*slot);
        const int64 waited = std::max<int64>(0, (GetCurrentTimestamp() - begin) / INT64CONST(1000));
        if (!left && !urged && waited >= patience_ms) {
            urged = true;
            ask_to_end(slot, SIGTERM);
        }
        LWLockRelease(&registry->lock);
        if (left || waited >= timeout_ms) {
            ConditionVariableCancelSleep();
            return left;
        }
        const int64 until = urged ? timeout_ms : patience_ms;
        (void)ConditionVariableTimedSleep(&registry->left,
                                          static_cast<long>(std::max<int64>(1, until - waited)),
                                          left_wait_event());
    }
}

bool take_slot(Oid database) {
    if (!attach_shared_memory()) {
        return true;
    }
    before_shmem_exit(belay_leave_slot, 0);
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    WorkerSlot* slot = slot_of(database);
    bool good =
        !is_held(database) && !was_dropped(database) && (slot == nullptr || !is_live(*slot));
    if (good && slot == nullptr) {
        // A worker that ended long ago gives its place, and its totals, up. There are as many
        // slots as there can be workers.
        for (auto& other : slots()) {
            if (!is_live(other) && (slot == nullptr || other.started_at < slot->started_at)) {
                slot = &other;
            }
        }
        good = slot != nullptr;
        if (good) {
            memset(static_cast<void*>(slot->duties), 0, sizeof slot->duties);
            // The totals of a process that was given up go on with its successor.
            for (const auto& other : slots()) {
                if (other.stuck && other.database == database) {
                    memcpy(static_cast<void*>(slot->duties), other.duties, sizeof slot->duties);
                }
            }
        }
    }
    if (good) {
        slot->database = database;
        slot->pid = MyProcPid;
        slot->procno = my_proc_number();
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
    LWLockRelease(&registry->lock);
    return good;
}

void set_state(WorkerState state) {
    if (mine != nullptr && mine->state != state) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        const bool started = mine->state == WorkerState::kStarting;
        mine->state = state;
        const int launcher = registry->launcher_procno;
        LWLockRelease(&registry->lock);
        if (started) {
            ring(launcher);  // it may look at the next database
        }
    }
}

void set_end(WorkerEnd end) {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        mine->end = end;
        LWLockRelease(&registry->lock);
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
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        calls = mine->relay_calls;
        mine->relay_calls = {};
        LWLockRelease(&registry->lock);
    }
    return calls;
}

void note_loop() {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        mine->last_loop_at = GetCurrentTimestamp();
        LWLockRelease(&registry->lock);
    }
}

void note_duty(int duty, int64 rows) {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        DutyTotals& totals = mine->duties[duty];
        ++totals.runs;
        totals.rows += rows;
        mine->found_work = mine->found_work || rows > 0;
        totals.last_run = GetCurrentTimestamp();
        LWLockRelease(&registry->lock);
    }
}

void note_duty_error(int duty, const char* hub, const char* message) {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        DutyTotals& totals = mine->duties[duty];
        ++totals.runs;
        ++totals.errors;
        totals.last_run = GetCurrentTimestamp();
        totals.last_error_at = totals.last_run;
        namestrcpy(&totals.last_error_hub, hub);
        copy_message(totals.last_error, sizeof totals.last_error, message);
        LWLockRelease(&registry->lock);
    }
}

void begin_portion(const char* what, int duty, Oid hub, int64 limit_ms) {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        mine->portion = {};
        strlcpy(mine->portion.what, what, sizeof mine->portion.what);
        mine->portion.duty = duty;
        mine->portion.hub = hub;
        mine->portion.limit_ms = limit_ms;
        mine->portion.deadline_ms = monotonic_ms() + limit_ms;
        LWLockRelease(&registry->lock);
    }
}

void name_portion(Oid owner, const NameData& name) {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        mine->portion.owner = owner;
        mine->portion.hub_name = name;
        LWLockRelease(&registry->lock);
    }
}

bool end_portion() {
    if (mine == nullptr) {
        return false;
    }
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    const Portion portion = mine->portion;
    const bool over = portion.is_over(monotonic_ms());
    const int64 rest_ms = over ? quarantine(mine, 0) : 0;
    mine->portion.deadline_ms = 0;
    LWLockRelease(&registry->lock);
    if (rest_ms > 0) {
        log_quarantine(portion, rest_ms);
    }
    return over;
}

void blame(const Blame& hub) {
    if (mine != nullptr) {
        LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
        mine->portion.hub = hub.hub;
        mine->portion.owner = hub.owner;
        mine->portion.hub_name = hub.name;
        LWLockRelease(&registry->lock);
    }
}

int64 rest_of(Oid hub, Oid owner) {
    if (mine == nullptr) {
        return 0;
    }
    int64 rest_ms = 0;
    LWLockAcquire(&registry->lock, LW_SHARED);
    for (const auto& entry : registry->quarantined) {
        if (entry.hub == hub && entry.database == MyDatabaseId) {
            rest_ms = std::max<int64>(0, entry.rest.until_ms - monotonic_ms());
        }
    }
    for (const auto& slot : slots()) {
        if (slot.stuck && slot.database == MyDatabaseId &&
            (slot.portion.hub == hub || (OidIsValid(owner) && slot.portion.owner == owner))) {
            rest_ms = std::max<int64>(rest_ms, 1000);  // look again
        }
    }
    LWLockRelease(&registry->lock);
    return rest_ms;
}

std::span<const QuarantinedHub> quarantined_hubs() {
    List<QuarantinedHub> found;
    if (!attach_shared_memory()) {
        return found.span();
    }
    auto* copies = static_cast<QuarantinedHub*>(palloc(sizeof registry->quarantined));
    LWLockAcquire(&registry->lock, LW_SHARED);
    memcpy(static_cast<void*>(copies), registry->quarantined, sizeof registry->quarantined);
    LWLockRelease(&registry->lock);
    const int64 now = monotonic_ms();
    for (int i = 0; i < kMostQuarantined; ++i) {
        if (copies[i].database == MyDatabaseId &&
            (copies[i].rest.is_on(now) || copies[i].stuck != 0)) {
            found.add(copies[i]);
        }
    }
    return found.span();
}

void become_launcher() {
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    registry->launcher_procno = my_proc_number();
    LWLockRelease(&registry->lock);
}

Wanted take_wanted() {
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    const Wanted wanted = registry->wanted;
    registry->wanted = {};
    LWLockRelease(&registry->lock);
    return wanted;
}

Sighting sight(Oid database) {
    Sighting result{};
    LWLockAcquire(&registry->lock, LW_SHARED);
    result.held = is_held(database);
    if (const WorkerSlot* slot = slot_of(database)) {
        result.live = is_live(*slot);
        result.state = slot->state;
        result.end = slot->end;
        result.found_work = slot->found_work;
    }
    for (int i = 0; i < registry->waiting_count; ++i) {
        if (registry->waiting[i].database == database) {
            result.called = pg_atomic_read_u32(&registry->waiting[i].called) != 0;
        }
    }
    LWLockRelease(&registry->lock);
    return result;
}

void forget_end(Oid database) {
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    if (WorkerSlot* slot = slot_of(database); slot != nullptr && !is_live(*slot)) {
        slot->end = WorkerEnd::kFailed;
        slot->stop = false;
    }
    std::ranges::replace(registry->dropped, database, InvalidOid);
    LWLockRelease(&registry->lock);
}

void stop_worker_of(Oid database) {
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    if (WorkerSlot* slot = slot_of(database); slot != nullptr && is_live(*slot)) {
        ask_to_end(slot, SIGUSR2);
    }
    LWLockRelease(&registry->lock);
}

int64 watch_portions() {
    int64 next = -1;
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    const int64 now = monotonic_ms();
    for (auto& slot : slots()) {
        if (!is_live(slot) || slot.stuck || slot.portion.deadline_ms == 0) {
            continue;
        }
        const int64 late = now - slot.portion.deadline_ms;
        if (late >= kGiveUpAfterMs) {
            const Portion portion = slot.portion;
            const pid_t pid = slot.pid;
            (void)quarantine(&slot, pid);
            slot.stuck = true;
            slot.state = WorkerState::kStuck;
            LWLockRelease(&registry->lock);
            ereport(WARNING,
                    (errmsg("background worker with PID %d does not end", static_cast<int>(pid)),
                     errdetail("%s of hub \"%s\" took longer than belay.duty_timeout. Another "
                               "worker takes its place. The hubs of the same owner rest until "
                               "the process has ended.",
                               portion.what, NameStr(portion.hub_name)),
                     errhint("Code of the hub's owner may wait where PostgreSQL cannot interrupt "
                             "it. If the process stays, restart the server.")));
            LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
            continue;
        }
        if (late >= kUrgeAfterMs) {
            (void)kill(slot.pid, SIGTERM);
        }
        const int64 wait = late >= kUrgeAfterMs ? kGiveUpAfterMs - late : kUrgeAfterMs - late;
        next = next < 0 ? wait : std::min(next, wait);
    }
    LWLockRelease(&registry->lock);
    return next;
}

int stuck_workers() {
    int count = 0;
    LWLockAcquire(&registry->lock, LW_SHARED);
    for (const auto& slot : slots()) {
        count += slot.stuck ? 1 : 0;
    }
    LWLockRelease(&registry->lock);
    return count;
}

bool is_stuck(pid_t pid) {
    bool found = false;
    LWLockAcquire(&registry->lock, LW_SHARED);
    for (const auto& slot : slots()) {
        found = found || (slot.stuck && slot.pid == pid);
    }
    LWLockRelease(&registry->lock);
    return found;
}

void show_waiting(std::span<const Oid> databases) {
    LWLockAcquire(&registry->lock, LW_EXCLUSIVE);
    Waiting before[kMostWaiting];
    memcpy(static_cast<void*>(before), registry->waiting, sizeof before);
    const int before_count = registry->waiting_count;
    const auto count = std::min<std::size_t>(databases.size(), kMostWaiting);
    for (std::size_t i = 0; i < count; ++i) {
        uint32 called = 0;
        for (int j = 0; j < before_count; ++j) {
            if (before[j].database == databases[i]) {
                called = pg_atomic_read_u32(&before[j].called);
            }
        }
        registry->waiting[i].database = databases[i];
        pg_atomic_write_u32(&registry->waiting[i].called, called);
    }
    registry->waiting_count = static_cast<int>(count);
    LWLockRelease(&registry->lock);
}

}  // namespace belay::pg
