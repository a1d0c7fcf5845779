// Tables tasks and attempts: locking, and the writers of each transition.
//
// The functions here and acquire (store/task_claims.hpp) are the only writers of states, leases and
// attempts. What a transition makes of a row is in core/transitions/task.hpp. They note what
// waiting sessions have to know; events are the caller's.
#pragma once

#include "core/transitions/task.hpp"
#include "pg/pg.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/hub.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

// An id as text, in the current memory context.
const char* uuid_text(const pg_uuid_t& id);

// belay:<task>:<attempt>:<epoch>. Names a lease; proves nothing.
const char* lease_id(const pg_uuid_t& task, int32 attempt_index, int64 epoch);

// The same, and :<incarnation>:<nonce>, at most 117 bytes: only the claim returns it.
struct LeaseName {
    pg_uuid_t task;
    int32 attempt_index;
    int64 epoch;
    pg_uuid_t nonce;
};
const char* secret_lease_id(const Hub& hub, const LeaseName& lease);

// ---- Creating ----

struct NewTask {
    pg_uuid_t id;
    bool own_id;  // made by the server: no other task can have it
    std::string_view queue;
    std::string_view kind;
    int32 cap_set;
    int32 priority;
    int64 now;
    int64 available_at;
    std::optional<int64> deadline;
    std::optional<std::string_view> dedup_key;
    Jsonb* payload;  // null for NULL
    Jsonb* tags;
    Jsonb* policy;
};

// Inserts the task, ready or delayed. False if the id is taken; waits for a call that is taking it.
bool insert_task(Tables& tables, const NewTask& task);
// The same for many whose ids the server has made. Rows that share a page share a WAL record.
void insert_own_tasks(Tables& tables, std::span<const NewTask> tasks);

// Whether this is the result that is stored of a task that is held; null for NULL.
bool has_result(Tables& tables, const pg_uuid_t& id, Jsonb* result);

// A task as it is now.
std::optional<core::TaskLife> read_life(Tables& tables, const pg_uuid_t& id);

// Whether a task belongs to a flow, as it is now, and where it lies; no value if there is no such
// task.
struct Membership {
    std::optional<pg_uuid_t> flow_id;
    ItemPointerData tid;
};
std::optional<Membership> read_membership(Tables& tables, const pg_uuid_t& id);
// The same of many.
std::span<const std::optional<Membership>> read_memberships(Tables& tables,
                                                            std::span<const pg_uuid_t> ids);

// What never changes of a task.
struct TaskKey {
    std::string_view queue;
    std::optional<std::string_view> key;  // dedup key
};
std::optional<TaskKey> read_task_key(Tables& tables, const pg_uuid_t& id);

// ---- What waiting sessions have to know ----

// Which sessions are woken when a lease is gone: those that wait for the task, with to_owner also
// those that wait as its owner.
struct Notice {
    wakeups::Reason reason;
    bool to_owner;
};

// ---- A task that is held ----

struct Task : core::TaskLife {
    pg_uuid_t id;
    ItemPointerData tid;  // where it lay when it was held
    std::optional<pg_uuid_t> flow_id;
    std::string_view queue;
    std::string_view kind;
    std::optional<std::string_view> dedup_key;
    int16 slot;
    int32 cap_set;
    std::optional<pg_uuid_t> lease_nonce;  // of the lease that is, or was last, held
    std::optional<std::string_view> lease_owner;
    std::optional<std::string_view> attempt_worker;
    std::optional<std::string_view> attempt_instance;
    std::optional<std::string_view> cancel_reason;
    Jsonb* policy;
};

// Holds the task until the transaction ends: only if it is free; after waiting.
std::optional<Task> try_lock_task(Tables& tables, const pg_uuid_t& id);
// The same for many, in that order, as far as the first that is not there or that another
// transaction has. Most lie where they were seen.
struct SeenTask {
    pg_uuid_t id;
    ItemPointerData tid;
};
std::span<const Task> try_lock_tasks(Tables& tables, std::span<const SeenTask> seen);
std::optional<Task> lock_task(Tables& tables, const pg_uuid_t& id);
// Only if it is free, and it belongs to no flow.
std::optional<Task> try_lock_lone_task(Tables& tables, const pg_uuid_t& id);
// Only with this lease: a task that has lost it is not held.
std::optional<Task> try_lock_lease(Tables& tables, const pg_uuid_t& id, int64 epoch);
std::optional<Task> lock_lease(Tables& tables, const pg_uuid_t& id, int64 epoch);
// The same as lock_task, against deletion too.
std::optional<Task> lock_task_to_delete(Tables& tables, const pg_uuid_t& id);

// ---- A lease continues ----

void set_lease_until(Tables& tables, const Task& task, int64 lease_until);
// Has the duty look at the lease when it ends now.
void move_lease_check(Tables& tables, const Task& task);

struct Progress {
    std::optional<Datum> percent;  // numeric
    std::optional<std::string_view> message;
    Jsonb* checkpoint;  // null: as it is
    int64 lease_until;
};
void set_progress(Tables& tables, const Task& task, const Progress& progress, int64 now);

// ---- A lease ends ----

struct Failure {
    core::FailureClass failure_class;
    std::optional<std::string_view> message;
    Jsonb* details;  // null for NULL
};

// Back to the queue.
struct Requeue {
    core::Pending pending;
    int64 available_at;
    int64 now;
    std::optional<core::AttemptOutcome> outcome = std::nullopt;  // none: the attempt is paused
    std::optional<Failure> failure = std::nullopt;
    int32 retries = 0;   // to be added
    int32 reclaims = 0;  // to be added
    Jsonb* checkpoint = nullptr;
    Notice notice = {wakeups::Reason::kChanged, false};
};

// Takes the lease away and puts the task back: ready, or delayed. Returns its state.
core::TaskState requeue(Tables& tables, const Task& task, const Requeue& how);

// Takes the lease away and lets the task wait for signals.
void suspend(Tables& tables, const Task& task, int64 now);
// Ends the wait: ready, or delayed. Returns its state.
core::TaskState resume(Tables& tables, const Task& task, int64 available_at, int64 now);

// Marks the task as changed, for what is stored elsewhere: a transaction with an older snapshot
// must not decide without it.
void touch(Tables& tables, const Task& task, int64 now);

// The end of a task.
struct Finish {
    core::TaskState state;
    int64 now;
    core::AttemptOutcome outcome;  // of the attempt that runs or is paused, if there is one
    std::optional<Failure> failure = std::nullopt;
    Jsonb* result = nullptr;
    std::optional<std::string_view> cancel_reason = std::nullopt;  // the first one counts
    std::optional<std::string_view> cancelled_by = std::nullopt;
    Notice notice = {wakeups::Reason::kChanged, false};
};
// Returns the epoch afterwards. A suspension is closed.
int64 finish(Tables& tables, const Task& task, const Finish& how);

// ---- Operators ----

void set_priority(Tables& tables, const Task& task, int32 priority, int64 now);

// Lets a terminal task begin anew: ready, or blocked; what it waited for in its life before goes.
// Returns the epoch afterwards.
int64 reopen(Tables& tables, const Task& task, core::TaskState state, int64 now);

// Deletes the task, its attempts and suspensions; its dedup key, if that is still the task's.
void delete_task(Tables& tables, const Task& task);

}  // namespace belay::store
