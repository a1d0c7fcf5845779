// Tables tasks and attempts: locking, and the writers of each transition.
//
// acquire, requeue, suspend, resume and finish are the only writers of states, leases and attempts.
// They note what waiting sessions have to know; events are the caller's.
#pragma once

#include "core/task.hpp"
#include "pg/pg.hpp"
#include "pg/wakeups.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"

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
    bool own_id;  // made by the server: nobody else can have it
    std::string_view lane;
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

// Inserts the task, ready or delayed. False if the id is taken; waits for whoever is taking it.
bool insert_task(const Hub& hub, const NewTask& task);

// The state of a task, as it is now.
std::optional<core::TaskState> task_state(const Hub& hub, const pg_uuid_t& id);

// Whether this is the result that is stored of a task that is held; null for NULL.
bool has_result(const Hub& hub, const pg_uuid_t& id, Jsonb* result);

// What tells whether a lease may still be there, as it is now.
struct LeaseState {
    core::TaskState state;
    int64 epoch;
};
std::optional<LeaseState> read_lease_state(const Hub& hub, const pg_uuid_t& id);

// Whether a task belongs to a flow, as it is now; no value if there is no such task.
struct Membership {
    std::optional<pg_uuid_t> flow_id;
};
std::optional<Membership> read_membership(const Hub& hub, const pg_uuid_t& id);

// What never changes of a task.
struct TaskKey {
    std::string_view lane;
    std::optional<std::string_view> key;  // dedup key
};
std::optional<TaskKey> read_task_key(const Hub& hub, const pg_uuid_t& id);

// ---- What waiting sessions have to know ----

// Who has to know that a lease is gone: nobody but those who wait for the task, or its owner, too.
struct Notice {
    pg::WakeReason reason;
    bool to_owner;
};

struct Task;
// A task of the lane can be claimed, now or later.
void note_claimable(const Hub& hub, std::string_view lane, bool ready, int64 available_at);
// A task now lies there, among those that are ready or delayed: for the cursors. Rows are those
// that a statement returns: state, lane, slot, cap_set, priority, available_at_ms, id.
struct TaskStream;
struct TaskPlace;
void note_place(const Hub& hub, core::TaskState state, const TaskStream& stream,
                const TaskPlace& place);
void note_places(const Hub& hub, const Rows& rows);
// The state of a task has changed; with a notice, that of one that had a lease.
void note_state(const Hub& hub, const pg_uuid_t& task);
void note_state(const Hub& hub, const Task& task, const Notice& notice);

// ---- A task that is held ----

struct Task {
    pg_uuid_t id;
    std::optional<pg_uuid_t> flow_id;
    std::string_view lane;
    std::string_view kind;
    std::optional<std::string_view> dedup_key;
    core::TaskState state;
    core::Pending pending;
    int32 priority;
    int32 attempt_index;
    int32 attempt_leases;
    int32 retry_count;
    int32 reclaim_count;
    int32 replay_count;
    int64 lease_epoch;
    std::optional<int64> lease_until;
    std::optional<int64> lease_check;
    std::optional<pg_uuid_t> lease_nonce;  // of the lease that is, or was last, held
    std::optional<int64> available_at;
    std::optional<int64> deadline;
    std::optional<int64> attempt_started;
    std::optional<int64> attempt_deadline;
    std::optional<std::string_view> lease_owner;
    std::optional<std::string_view> lease_worker;
    std::optional<std::string_view> attempt_kind;
    std::optional<std::string_view> attempt_worker;
    std::optional<std::string_view> attempt_instance;
    std::optional<std::string_view> cancel_reason;
    std::optional<std::string_view> cancelled_by;
    Jsonb* policy;
    bool held;  // blocked until its flow is sealed

    bool is_active() const { return state == core::TaskState::kActive; }
    bool has_attempt() const { return attempt_started.has_value(); }  // running or paused
    // Ready, or delayed and due.
    bool is_eligible(int64 now) const {
        return state == core::TaskState::kReady ||
               (state == core::TaskState::kDelayed && available_at.value_or(0) <= now);
    }
    // The epoch of the lease that is, or was last, held.
    int64 last_lease_epoch() const { return is_active() ? lease_epoch : lease_epoch - 1; }
    core::TaskTimes times(const Hub& hub) const {
        return {state, deadline, attempt_deadline, lease_until, lease_epoch < hub.epoch_floor};
    }
    bool is_lease_live(const Hub& hub, int64 now) const {
        return is_active() && lease_epoch >= hub.epoch_floor && *lease_until > now;
    }
};

// Holds the task until the transaction ends: if nobody has it; after waiting.
std::optional<Task> try_lock_task(const Hub& hub, const pg_uuid_t& id);
std::optional<Task> lock_task(const Hub& hub, const pg_uuid_t& id);
// If nobody has it, and it belongs to no flow.
std::optional<Task> try_lock_lone_task(const Hub& hub, const pg_uuid_t& id);
// Only with this lease: a task that has lost it is not held.
std::optional<Task> try_lock_lease(const Hub& hub, const pg_uuid_t& id, int64 epoch);
std::optional<Task> lock_lease(const Hub& hub, const pg_uuid_t& id, int64 epoch);
// The same as lock_task, against deletion too.
std::optional<Task> lock_task_to_delete(const Hub& hub, const pg_uuid_t& id);

// ---- Claiming ----

// A range of the claim index.
struct TaskStream {
    std::string_view lane;
    int16 slot;
    int32 cap_set;

    auto operator<=>(const TaskStream&) const = default;
};

// A task, and its place in the order.
struct TaskPlace {
    int32 priority;
    int64 available_at;
    pg_uuid_t id;

    // Whether it is claimed before the other.
    bool before(const TaskPlace& other) const;
};

// A task that a claim holds.
struct HeldTask {
    pg_uuid_t id;
    core::Pending pending;
    std::optional<int64> attempt_deadline;
    std::optional<int64> deadline;
    std::optional<int64> attempt_timeout;  // of its policy, or its lane's
    std::string_view lane;
    int64 lease_epoch;
};

// Holds up to limit tasks from the head of one stream, skipping what others hold: lost tells of it.
std::span<const HeldTask> hold_heads(const Hub& hub, const TaskStream& stream, int64 now, int limit,
                                     bool* lost);

// Looks at up to limit tasks from the head of each stream; stream is the index of theirs.
struct TaskPeek {
    int stream;
    TaskPlace place;
};
std::span<const TaskPeek> peek_heads(const Hub& hub, std::span<const TaskStream> streams, int64 now,
                                     int limit);
// Looks at those of one stream behind a place.
std::span<const TaskPlace> peek_behind(const Hub& hub, const TaskStream& stream,
                                       const TaskPlace& after, int64 now, int limit);
// Looks at up to limit delayed tasks that are due, in the order in which they fell due, behind a
// place. They are not held, and stay as they are until somebody claims them.
struct DueTaskPeek {
    TaskStream stream;
    TaskPlace place;
    bool over;  // its deadline has passed
};
struct DueLook {
    std::span<const DueTaskPeek> tasks;
    bool more;   // are due
    int64 next;  // when the next falls due; core::kNever if there is none
};
DueLook peek_due(const Hub& hub, const std::optional<TaskPlace>& after, int64 now, int limit);

// Holds those of these tasks that are still ready, or delayed and due, and that nobody else holds.
std::span<const HeldTask> hold_eligible(const Hub& hub, std::span<const pg_uuid_t> ids, int64 now);

// Up to limit lanes that may have ready tasks, in order, behind one and as far as up_to if that is
// given.
std::span<const std::string_view> ready_lanes(const Hub& hub, std::string_view after,
                                              std::optional<std::string_view> up_to, int limit);

// The streams that fit: those of the lanes, each named once, that are not paused, for each slot and
// each set that lies within the capabilities.
std::span<const TaskStream> fitting_streams(const Hub& hub, std::span<const std::string_view> lanes,
                                            std::span<const std::string_view> capabilities,
                                            std::span<const int16> slots);

// What a claim writes into a task.
struct LeaseGrant {
    pg_uuid_t id;
    std::optional<int64> attempt_deadline;
    int64 lease_until;
    int64 epoch;
    pg_uuid_t nonce;
};

// Gives the leases, and has the transaction wait for the disk when it commits. The rows have the
// columns of claim_tasks and, as the last, whether an attempt began; they come in no particular
// order.
Rows acquire(const Hub& hub, std::span<const LeaseGrant> grants, std::string_view worker,
             std::string_view worker_instance, int64 now);

// Makes up to limit delayed tasks ready that are due. Returns how many.
int64 promote_due(const Hub& hub, int64 now, int limit);
// When the next delayed task falls due; core::kNever if there is none.
int64 next_delayed(const Hub& hub, int64 now);

// ---- A lease goes on ----

void set_lease_until(const Hub& hub, const pg_uuid_t& id, int64 lease_until);
void move_lease_check(const Hub& hub, const pg_uuid_t& id);

struct Progress {
    std::optional<Datum> percent;  // numeric
    std::optional<std::string_view> message;
    Jsonb* checkpoint;  // null: as it is
    int64 lease_until;
};
void set_progress(const Hub& hub, const pg_uuid_t& id, const Progress& progress, int64 now);

// ---- A lease ends ----

// What every end of a lease does beside the row: the place in a limited lane is free.
void lose(const Hub& hub, const Task& task);

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
    Notice notice = {pg::WakeReason::kChanged, false};
};

// Counts the end of a task, and how long its attempt took.
void count_end(const Hub& hub, const Task& task, core::TaskState state, int64 now);

// Takes the lease away and puts the task back: ready, or delayed. Returns its state.
core::TaskState requeue(const Hub& hub, const Task& task, const Requeue& how);

// Takes the lease away and lets the task wait for signals.
void suspend(const Hub& hub, const Task& task, int64 now);
// Ends the wait: ready, or delayed. Returns its state.
core::TaskState resume(const Hub& hub, const Task& task, int64 available_at, int64 now);

// Marks the task as changed, for what is stored elsewhere: a transaction with an older snapshot
// must not decide without it.
void touch(const Hub& hub, const pg_uuid_t& id, int64 now);

// The end of a task.
struct Finish {
    core::TaskState state;
    int64 now;
    core::AttemptOutcome outcome;  // of the attempt that runs or is paused, if there is one
    std::optional<Failure> failure = std::nullopt;
    Jsonb* result = nullptr;
    std::optional<std::string_view> cancel_reason = std::nullopt;  // the first one counts
    std::optional<std::string_view> cancelled_by = std::nullopt;
    Notice notice = {pg::WakeReason::kChanged, false};
};
// Returns the epoch afterwards. A suspension is closed.
int64 finish(const Hub& hub, const Task& task, const Finish& how);

// ---- Operators ----

void set_priority(const Hub& hub, const Task& task, int32 priority, int64 now);

// Lets a terminal task begin anew: ready, or blocked; what it waited for in its life before goes.
// Returns the epoch afterwards.
int64 reopen(const Hub& hub, const Task& task, core::TaskState state, int64 now);

// Deletes the task, its attempts and suspensions; its dedup key, if that is still the task's.
void delete_task(const Hub& hub, const Task& task);

// ---- Duties ----

// Tasks that have fallen due, limit of them after the first offset. They are not held: the flow of
// a member comes first.
struct DueTask {
    pg_uuid_t id;
    std::optional<pg_uuid_t> flow_id;
};
std::span<const DueTask> expired_leases(const Hub& hub, int64 now, int limit, int offset);
// When the first lease has to be looked at; kNever without one.
int64 next_lease_check(const Hub& hub);
std::span<const DueTask> void_leases(const Hub& hub, int limit, int offset);
std::span<const DueTask> past_deadline(const Hub& hub, int64 now, int limit, int offset);
// Terminal, without a flow, and older than their lane's retention or the hub's.
std::span<const pg_uuid_t> hold_outdated(const Hub& hub, int64 now, int64 retention_ms, int limit);
// Whether a lease of an earlier incarnation is left, held by others or not.
bool has_void_leases(const Hub& hub);

// Gives every task the slot that a new slot_count asks for.
void reslot_tasks(const Hub& hub, int32 slot_count);
int64 count_live_tasks(const Hub& hub, int64 now);

}  // namespace belay::store
