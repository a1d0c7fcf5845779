// The background workers: a piece of shared memory with a slot per worker, the databases that must
// be left alone for a while, and those that the launcher is to look at.
//
// Nothing here decides about rows: an empty registry only means that no worker is known. What a
// session or a worker calls is harmless without shared memory; the launcher has it.
#pragma once

#include "core/quarantine.hpp"
#include "pg/pg.hpp"
#include "shmem/signals.hpp"

namespace belay::registry {

inline constexpr int kMostDuties = 32;
inline constexpr const char* kWorkerType = "belay worker";
inline constexpr const char* kLauncherType = "belay launcher";

enum class WorkerState : uint8 {
    kNone,
    kStarting,  // connecting, and looking whether the extension is there
    kIdle,
    kWorking,
    kResting,  // belay.reconcile_interval is 0
    kEnded,
    kStuck,    // does not end although its portion is over its limit; another one has its place
    kWaiting,  // the database waits for a process
};
const char* state_name(WorkerState state);

// How a worker ended.
enum class WorkerEnd : uint8 { kFailed, kStopped, kNoExtension, kOverLimit };

// What a duty did in a database, all hubs together.
struct DutyTotals {
    int64 runs;
    int64 rows;
    int64 errors;
    int64 timeouts;  // portions over their limit; errors, too
    TimestampTz last_run;
    TimestampTz last_error_at;
    NameData last_error_hub;
    char last_error[192];
};

// Hubs that have something to deliver to others.
struct RelayCalls {
    Oid hubs[16];
    int count;
    bool all;  // more than there was room for
};

inline constexpr int kMostWhat = 32;

// What a worker is doing in a transaction of its own, for how long, and whose code may run in it.
struct Portion {
    char what[kMostWhat];
    int duty;           // -1: no duty
    int64 limit_ms;     // how long it may take
    int64 deadline_ms;  // of the steady clock; 0: nothing is being done
    Oid hub;            // invalid: of no hub
    Oid owner;
    NameData hub_name;

    bool is_over(int64 now_ms) const { return deadline_ms != 0 && now_ms >= deadline_ms; }
};

struct WorkerSlot {
    Oid database;
    pid_t pid;  // 0: not connected any more
    int procno;
    WorkerState state;
    WorkerEnd end;
    bool stop;  // asked to end
    pg_atomic_uint32 bells;
    RelayCalls relay_calls;
    TimestampTz started_at;
    TimestampTz last_loop_at;
    bool found_work;  // since it started
    bool stuck;       // see WorkerState::kStuck
    Portion portion;
    DutyTotals duties[kMostDuties];
};

// Adds the shared piece. Called once, from _PG_init.
void install();

// ---- Starting and stopping, from any session ----

// Starts a worker process for the database. Null: max_worker_processes is too small.
BackgroundWorkerHandle* launch_worker(Oid database);

// The live slots, copied; then those of databases that wait for a process.
std::span<const WorkerSlot> live_workers();

// Asks the workers of this database to end, with shared memory or without. Returns how many.
int stop_workers_here();

// Whether a worker process, that one or any, is in this database.
bool worker_is_here(pid_t which = 0);

// Keeps workers out of a database until the transaction ends, and asks the one there to end. If the
// transaction drops it, a worker that is only starting does not come after the commit either.
enum class HoldFor : uint8 { kChange, kDrop };
void hold_database(Oid database, HoldFor purpose);

// Waits until no worker is in the database. False after timeout_ms.
bool wait_until_left(Oid database, int timeout_ms);

// ---- Quarantine: hubs whose portions took longer than they may ----

struct QuarantinedHub {
    Oid database;
    Oid hub;
    NameData name;
    char what[kMostWhat];
    core::Quarantine rest;
    TimestampTz since;
    pid_t stuck;  // a process that does not end; 0: none
};

// The hubs of this database that rest, copied.
std::span<const QuarantinedHub> quarantined_hubs();

// ---- The worker's own slot ----

// Takes a slot for this process. False: the database has a worker, or must be left alone, or was
// dropped since forget_end.
bool take_slot(Oid database);
void set_state(WorkerState state);
void set_end(WorkerEnd end);
bool stop_requested();
uint32 take_bells();
RelayCalls take_relay_calls();
void looped();
void duty_ran(int duty, int64 rows);
void duty_failed(int duty, const char* hub, const char* message);

// Between these the process has a portion under way. The name and owner are known later.
void begin_portion(const char* what, int duty, Oid hub, int64 limit_ms);
void name_portion(Oid owner, const NameData& name);
// Puts the hub into quarantine if the portion took longer than it may. True: it did.
bool end_portion();

// Says whose code runs in the portion from now on: the hub that answers for its length. Harmless
// outside of a worker.
struct Blame {
    Oid hub;
    Oid owner;
    NameData name;
};
void blame(const Blame& hub);

// How long the worker has to leave a hub alone, in ms; 0: not at all. Always 0 outside of a worker.
// If the owner is known, one of its processes that does not end counts for all its hubs.
int64 rest_of(Oid hub, Oid owner = InvalidOid);

// ---- The launcher's side ----

// Makes this process the one that is rung.
void become_launcher();

// What the sessions want looked at.
struct Wanted {
    Oid databases[64];
    int count;
    bool all;  // more than there was room for
};
Wanted take_wanted();

// What is known of a database's worker.
struct Sighting {
    bool live;
    bool held;
    WorkerState state;
    WorkerEnd end;
    bool found_work;
    bool called;  // a session of the database has rung while no worker was there
};
Sighting sight(Oid database);

// Forgets how the last worker of the database ended, and that a database of this number was
// dropped. Call it before you look whether the database is there.
void forget_end(Oid database);

// Asks the worker of the database to end.
void stop_worker_of(Oid database);

// Ends workers whose portion is over its limit, and gives those up that do not end. Returns the ms
// until it has to be called again, or a negative number if no worker has a portion under way.
int64 watch_portions();

// Workers that were given up and still live.
int stuck_workers();
bool is_stuck(pid_t pid);

// The databases that wait for a process, as others see them.
void show_waiting(std::span<const Oid> databases);

}  // namespace belay::registry
