// Who works in the background: a piece of shared memory with a slot per worker, the databases that
// must be left alone for a while, and those that the launcher is to look at.
//
// Nothing here decides about rows: an empty registry only means that nobody knows of a worker.
// All functions but attach are harmless without shared memory.
#pragma once

#include "pg/pg.hpp"
#include "pg/worker_signal.hpp"

namespace belay::pg {

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
};
const char* state_name(WorkerState state);

// How a worker ended.
enum class WorkerEnd : uint8 { kFailed, kStopped, kNoExtension };

// What a duty did in a database, all hubs together.
struct DutyTotals {
    int64 runs;
    int64 rows;
    int64 errors;
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
    DutyTotals duties[kMostDuties];
};

// Adds the piece of shared memory and the callback of transactions. Called once, from _PG_init.
void share_worker_registry();

// ---- Starting and stopping, from any session ----

// Starts a worker process for the database. Null: max_worker_processes is too small.
BackgroundWorkerHandle* launch_worker(Oid database);

// The live slots, copied.
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

// ---- The worker's own slot ----

// Takes a slot for this process. False: the database has a worker, or must be left alone, or was
// dropped since forget_end.
bool take_slot(Oid database);
void set_state(WorkerState state);
void set_end(WorkerEnd end);
bool stop_requested();
uint32 take_bells();
RelayCalls take_relay_calls();
void note_loop();
void note_duty(int duty, int64 rows);
void note_duty_error(int duty, const char* hub, const char* message);

// ---- The launcher's side ----

// Makes this process the one that is told.
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
    TimestampTz started_at;
};
Sighting sight(Oid database);

// Forgets how the last worker of the database ended, and that a database of this number was
// dropped. Call it before you look whether the database is there.
void forget_end(Oid database);

// Asks the worker of the database to end.
void stop_worker_of(Oid database);

}  // namespace belay::pg
