// Portions of workers: how long they may take, and hubs whose portions took longer.
//
// Touches the registry in shared memory, and signals processes of workers. Locks: the registry's;
// warnings are raised after it is released.
#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "shmem/registry_state.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::registry {

namespace {

// After its limit a portion's process has ended itself within a second. The launcher signals it
// after two, and gives it up after five.
constexpr int64 kUrgeAfterMs = 2000;
constexpr int64 kGiveUpAfterMs = 5000;

// The entry of a hub, or the one that is needed least. The lock is held.
QuarantinedHub* quarantine_entry(Oid database, Oid hub) {
    QuarantinedHub* spare = &shared->quarantined[0];
    for (auto& entry : shared->quarantined) {
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

// The launcher gives a process up. The lock is held; it is released for the warning.
void give_up(WorkerSlot* slot) {
    const Portion portion = slot->portion;
    const pid_t pid = slot->pid;
    (void)quarantine(slot, pid);
    slot->stuck = true;
    slot->state = WorkerState::kStuck;
    LWLockRelease(&shared->lock);
    ereport(
        WARNING,
        (errmsg("background worker with PID %d does not end", static_cast<int>(pid)),
         errdetail("%s of hub \"%s\" took longer than belay.duty_timeout. Another worker takes "
                   "its place. The hubs of the same owner rest until the process has ended.",
                   portion.what, NameStr(portion.hub_name)),
         errhint("Code of the hub's owner may wait where PostgreSQL cannot interrupt it. If the "
                 "process stays, restart the server.")));
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
}

}  // namespace

int64 quarantine(WorkerSlot* slot, pid_t stuck) {
    const Portion& portion = slot->portion;
    const int64 now = pg::monotonic_ms();
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

void begin_portion(const char* what, int duty, Oid hub, int64 limit_ms) {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        mine->portion = {};
        strlcpy(mine->portion.what, what, sizeof mine->portion.what);
        mine->portion.duty = duty;
        mine->portion.hub = hub;
        mine->portion.limit_ms = limit_ms;
        mine->portion.deadline_ms = pg::monotonic_ms() + limit_ms;
        LWLockRelease(&shared->lock);
    }
}

void name_portion(Oid owner, const NameData& name) {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        mine->portion.owner = owner;
        mine->portion.hub_name = name;
        LWLockRelease(&shared->lock);
    }
}

bool end_portion() {
    if (mine == nullptr) {
        return false;
    }
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const Portion portion = mine->portion;
    const bool over = portion.is_over(pg::monotonic_ms());
    const int64 rest_ms = over ? quarantine(mine, 0) : 0;
    mine->portion.deadline_ms = 0;
    LWLockRelease(&shared->lock);
    if (rest_ms > 0) {
        log_quarantine(portion, rest_ms);
    }
    return over;
}

void blame(const Blame& hub) {
    if (mine != nullptr) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        mine->portion.hub = hub.hub;
        mine->portion.owner = hub.owner;
        mine->portion.hub_name = hub.name;
        LWLockRelease(&shared->lock);
    }
}

int64 rest_of(Oid hub, Oid owner) {
    if (mine == nullptr) {
        return 0;
    }
    int64 rest_ms = 0;
    LWLockAcquire(&shared->lock, LW_SHARED);
    for (const auto& entry : shared->quarantined) {
        if (entry.hub == hub && entry.database == MyDatabaseId) {
            rest_ms = std::max<int64>(0, entry.rest.until_ms - pg::monotonic_ms());
        }
    }
    for (const auto& slot : slots()) {
        if (slot.stuck && slot.database == MyDatabaseId &&
            (slot.portion.hub == hub || (OidIsValid(owner) && slot.portion.owner == owner))) {
            rest_ms = std::max<int64>(rest_ms, 1000);  // look again
        }
    }
    LWLockRelease(&shared->lock);
    return rest_ms;
}

std::span<const QuarantinedHub> quarantined_hubs() {
    pg::List<QuarantinedHub> found;
    if (!shmem::attach()) {
        return found.span();
    }
    auto* copies = static_cast<QuarantinedHub*>(palloc(sizeof shared->quarantined));
    LWLockAcquire(&shared->lock, LW_SHARED);
    memcpy(static_cast<void*>(copies), shared->quarantined, sizeof shared->quarantined);
    LWLockRelease(&shared->lock);
    const int64 now = pg::monotonic_ms();
    for (int i = 0; i < kMostQuarantined; ++i) {
        if (copies[i].database == MyDatabaseId &&
            (copies[i].rest.is_on(now) || copies[i].stuck != 0)) {
            found.add(copies[i]);
        }
    }
    return found.span();
}

int64 watch_portions() {
    int64 next = -1;
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const int64 now = pg::monotonic_ms();
    for (auto& slot : slots()) {
        if (!is_live(slot) || slot.stuck || slot.portion.deadline_ms == 0) {
            continue;
        }
        const int64 late = now - slot.portion.deadline_ms;
        if (late >= kGiveUpAfterMs) {
            give_up(&slot);
            continue;
        }
        if (late >= kUrgeAfterMs) {
            (void)kill(slot.pid, SIGTERM);
        }
        const int64 wait = late >= kUrgeAfterMs ? kGiveUpAfterMs - late : kUrgeAfterMs - late;
        next = next < 0 ? wait : std::min(next, wait);
    }
    LWLockRelease(&shared->lock);
    return next;
}

int stuck_workers() {
    int count = 0;
    LWLockAcquire(&shared->lock, LW_SHARED);
    for (const auto& slot : slots()) {
        count += slot.stuck ? 1 : 0;
    }
    LWLockRelease(&shared->lock);
    return count;
}

bool is_stuck(pid_t pid) {
    bool found = false;
    LWLockAcquire(&shared->lock, LW_SHARED);
    for (const auto& slot : slots()) {
        found = found || (slot.stuck && slot.pid == pid);
    }
    LWLockRelease(&shared->lock);
    return found;
}

}  // namespace belay::registry
