// Tasks: the calls of clients, workers and operators.
//
// Every call that changes a task holds its row first and decides by what it finds then. What ends
// the ownership of a task goes through requeue and finish of the store; what has fallen due goes
// through settle.
#pragma once

#include "core/task.hpp"
#include "core/token.hpp"
#include "ops/enter.hpp"
#include "ops/input.hpp"
#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "pg/pg.hpp"
#include "store/plan.hpp"
#include "store/table/tables.hpp"
#include "store/task_reads.hpp"
#include "store/due_tasks.hpp"
#include "store/task_claims.hpp"
#include "store/tasks.hpp"

namespace belay::ops {

// ---- Checks of arguments ----

inline constexpr std::size_t kMaxWord = 200;
inline constexpr std::size_t kMaxQueue = 64;
inline constexpr std::size_t kMaxMessage = 8192;

// A queue, a worker or the like: bytes within the limits, no control characters. QB006.
std::string_view checked_word(const Path& path, std::string_view word, std::size_t most = kMaxWord);
std::string_view checked_queue(const Path& path, std::optional<std::string_view> queue);
// Capabilities, sorted and each once: at most 256 with 4096 bytes, no comma, no blank.
std::span<const std::string_view> checked_capabilities(const char* path,
                                                       std::span<const std::string_view> tokens);
// A body within the hub's max_body_bytes, that can be printed. QB006.
bool is_body_too_long(const store::Hub& hub, Jsonb* body);
Jsonb* checked_body(store::Tables& tables, const Path& path, Jsonb* body);
int64 checked_lease_ms(std::optional<int64> value);
// A numeric from 0 to 100.
Datum checked_percent(const char* path, Datum value);

// Whether the role has level operator, as far as tasks are concerned: it may revoke leases.
bool is_operator(store::Tables& tables, Oid role);

// ---- Policies ----

// Refuses what is no policy. QB006.
void check_policy(const Path& path, Jsonb* policy);
// The policy of a task: its own over its queue's over the built-in one.
core::Policy policy_of(store::Tables& tables, const store::Task& task);

// ---- Holding a task ----

// The caller: the holder of the lease, with its epoch, or an operator, for whom the epoch is
// optional. If an epoch is given, the task must still be at it.
struct Fence {
    std::optional<int64> epoch;
    bool override;  // source operator_override
    // The lease that the front door was given, with that epoch: every refusal is then QB001.
    const core::TaskLease* lease = nullptr;
};

// Holds the task; QB002 if there is none (QB001 for a lease), QB007 for a clock that is off.
store::Task hold_task(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock,
                      const Fence& fence = {});
// The same for calls that may end it or put it back: if it belongs to a flow, that is held first.
store::Task hold_task_and_flow(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock,
                               const Fence& fence = {});

// Many tasks, each once, by id. All their flows are held first, then the tasks, in the order of
// their ids: two calls with the same tasks in different orders do not deadlock. QB007 is not
// checked.
struct TaskHold {
    pg_uuid_t id;
    std::optional<store::Task> task;  // none: no such task
    bool changed = false;             // by the call itself since: read it again
};
std::span<TaskHold> hold_tasks_and_flows(store::Tables& tables, std::span<const pg_uuid_t> ids,
                                         pg::Clock* clock);
// One of those.
TaskHold* find_hold(std::span<TaskHold> held, const pg_uuid_t& id);

// Whether this lease has completed the task.
bool has_completed(const store::Task& task, const Fence& fence);
// Why a call is refused: the error, and the word for its reason.
struct Refusal {
    int sqlstate;
    const char* code_detail;
};
// QB012 terminal, QB013 not active, QB001 another epoch or a lease that is over; nothing if the
// caller may continue.
std::optional<Refusal> refusal_of(const store::Hub& hub, const store::Task& task,
                                  const Fence& fence, int64 now);
// The same, raised.
void check_fence(store::Tables& tables, const store::Task& task, const Fence& fence, int64 now);

// The holder of the lease is about to end it: a guard of its transaction on the lease passes.
void allow_own_end(const store::Task& task, const Fence& fence);

[[noreturn]] void raise_terminal(const store::Task& task);
// QB001 for an epoch that is not the one of the task's lease.
[[noreturn]] void raise_stale_epoch(store::Tables& tables, const store::Task& task, int64 epoch);
[[noreturn]] void raise_no_task(const pg_uuid_t& id);

// Warns the session, once for each queue, that a queue that it serves never had a task: its name
// may be misspelled, or its first task is yet to come.
void notice_unused_queues(store::Tables& tables, std::span<const std::string_view> queues);

// ---- Events ----

// An event of topic lease about the lease with that epoch.
struct LeaseEvent {
    int event;
    int64 epoch;
    const char* key = nullptr;  // cause, or source with a reason
    std::optional<std::string_view> value = std::nullopt;
    bool with_reason = false;
    std::optional<std::string_view> reason = std::nullopt;
};
void emit_lease_event(store::Tables& tables, const store::Task& task, const LeaseEvent& event,
                      int64 now);
// What an operator ended without a lease; nothing for those who held it.
void emit_override(store::Tables& tables, const store::Task& task, const Fence& fence,
                   core::TaskState state, int64 now);
// Of topic completion; epoch is the one afterwards.
void emit_completion(store::Tables& tables, const store::Task& task, core::TaskState state,
                     int64 epoch, std::optional<std::string_view> reason,
                     std::optional<core::FailureClass> failure, int64 now);

// ---- Ends ----

// Ends a task, publishes that, and lets its flow continue. A silent end publishes nothing and
// leaves the edges as they are: the caller deals with the whole flow. Returns the epoch afterwards.
enum class EndKind { kPublished, kSilent };
int64 end_task(store::Tables& tables, const store::Task& task, const store::Finish& how,
               EndKind kind = EndKind::kPublished);

// Whether a task that loses its lease goes back to the queue: not if it belongs to a flow that
// takes nothing back. Then it is cancelled with its flow.
bool may_go_back(store::Tables& tables, const store::Task& task);
void cancel_with_flow(store::Tables& tables, const store::Task& task,
                      const std::optional<store::Failure>& failure, const store::Notice& notice,
                      int64 now);

// Puts a leased task back, and returns its state. A member of a flow that takes nothing back is
// cancelled instead.
core::TaskState put_back(store::Tables& tables, const store::Task& task, const store::Requeue& how);

// The end of an attempt by a failure: a retry, or the end of the task.
struct FailedAttempt {
    store::Failure failure;
    core::AttemptOutcome retry_outcome;
    core::AttemptOutcome last_outcome;
    core::TaskState last_state;
    std::optional<int64> retry_after;
    std::optional<LeaseEvent> retry_event;
    std::optional<LeaseEvent> last_event;
    store::Notice notice;
};
struct FailureResult {
    bool retried;
    core::TaskState state;
    std::optional<int64> available_at;
};
FailureResult fail_attempt(store::Tables& tables, const store::Task& task, const FailedAttempt& how,
                           int64 now);

// Does the first thing that has fallen due of a task that is held: execution deadline, attempt
// deadline, lease, timeout of its suspension. False if nothing has.
bool settle(store::Tables& tables, const store::Task& task, int64 now);

// Settles those of the tasks that no other transaction holds, and moves the check of leases that
// were renewed. Returns how many it changed.
int64 settle_all(store::Tables& tables, std::span<const store::DueTask> all, int64 now);

// Takes back up to limit leases that are over. Asks the tables only if one may be. Returns how many
// tasks it changed.
int64 settle_leases(store::Tables& tables, pg::Clock* clock, int limit);

// Whether a lease of an earlier incarnation may be left; looks for one.
bool may_have_void_leases(store::Tables& tables);
void find_void_leases(store::Tables& tables);

// ---- Clients ----

// A random uuid of version 7: ids that a session makes one after the other sort that way.
pg_uuid_t make_id(int64 now);

struct TaskRequest {
    std::optional<Path> path;  // of the item; none for arguments
    std::optional<pg_uuid_t> id;
    std::string_view queue;
    std::string_view kind;
    int32 priority;
    int64 delay_ms;
    std::optional<int64> available_at;
    std::optional<int64> deadline;
    std::optional<int64> deadline_in_ms;  // from the creation
    std::span<const std::string_view> capabilities;
    std::optional<std::string_view> dedup_key;
    int64 dedup_window_ms;
    Jsonb* payload;
    Jsonb* tags;
    Jsonb* policy;
};
inline constexpr int64 kDedupWindowMs = int64{24} * 3600 * 1000;

// Reads an item that has at most these keys; those that are not a task's are the caller's. Bodies
// are taken from the item as it is stored, if that is known.
TaskRequest read_request(core::json::Value item, const Path& path,
                         std::span<const std::string_view> keys,
                         const JsonbValue* stored = nullptr);
// Tags are a flat object of strings. QB006.
void check_tags(const Path& path, Jsonb* tags);
void check_deadline(const TaskRequest& request, int64 now);
// The deadline of a task that is created now; of two, the earlier.
std::optional<int64> deadline_of(const TaskRequest& request, int64 now);
// Registers the queues of the requests and finds their capability sets, in one order for all calls.
std::span<const int32> prepare_queues(store::Tables& tables,
                                      std::span<const TaskRequest* const> requests, int64 now);

// Checks what does not need the clock. QB006.
void check_request(store::Tables& tables, const TaskRequest& request);
// An item of create_tasks, checked.
TaskRequest read_request(store::Tables& tables, core::json::Value item, const Path& path,
                         const JsonbValue* stored = nullptr);
// The items of create_tasks.
std::span<const TaskRequest> read_requests(store::Tables& tables, const JsonArray& items);

struct CreatedTask {
    pg_uuid_t id;
    core::TaskState state;
    bool created;
};
// Creates them all, or none; the answers are in the order of the requests.
std::span<const CreatedTask> create_tasks(store::Tables& tables,
                                          std::span<const TaskRequest> requests, pg::Clock* clock);

// True if there was such a task. QB003 if it has not ended or belongs to a flow.
bool delete_task(store::Tables& tables, const pg_uuid_t& id);

// ---- Workers ----

struct ClaimRequest {
    std::string_view worker;
    std::string_view worker_instance;
    std::optional<std::span<const std::string_view>> queues;
    std::span<const std::string_view> capabilities;
    int64 lease_ms;
    int max;
    SlotFilter slots;
    // What the worker would buffer, of queues without limits: so many beside max, if at least
    // threshold are ready.
    struct {
        int most = 0;
        int threshold = 1;
    } ahead{};
};
// Makes up to limit tasks ready whose time has come, and remembers when to look again. Returns how
// many.
int64 promote_tasks(store::Tables& tables, int64 now, int limit);

// The claimed tasks, in the order of claims.
struct Claimed {
    std::span<const store::ClaimedTask> tasks;
    Datum* upstream;  // of each task, jsonb; 0: no edges
    Datum* signals;   // of each task, jsonb; 0: none
};
Claimed claim_tasks(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock);

// Whether the last claim of all queues of this session has left queues for the next one; true once.
bool take_unfinished_claim(Oid hub);

struct Renewed {
    int64 lease_until;
    bool capped;
};
Renewed renew_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence, int64 lease_ms,
                   pg::Clock* clock);

struct RenewedTask {
    pg_uuid_t id;
    bool renewed;
    int64 lease_until;
    const char* reason;
};
std::span<const RenewedTask> renew_tasks(store::Tables& tables, std::span<const pg_uuid_t> ids,
                                         std::span<const int64> epochs, int64 lease_ms,
                                         pg::Clock* clock);

struct ProgressReport {
    std::optional<Datum> percent;
    std::optional<std::string_view> message;
    Jsonb* checkpoint;
    std::optional<int64> lease_ms;
};
int64 progress_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                    const ProgressReport& report, pg::Clock* clock);

// Returns the epoch afterwards. QB001 already_completed if the lease has done so before.
int64 complete_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence, Jsonb* result,
                    pg::Clock* clock);

struct FailedTask {
    const char* result;
    core::TaskState state;
    std::optional<int64> available_at;
    std::optional<int32> next_attempt_index;
};
FailedTask fail_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                     const store::Failure& failure, std::optional<int64> retry_after,
                     pg::Clock* clock);

struct RequeuedTask {
    core::TaskState state;
    std::optional<int64> available_at;
};
RequeuedTask delay_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                        int64 delay_ms, Jsonb* checkpoint, pg::Clock* clock);
RequeuedTask release_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                          int64 delay_ms, pg::Clock* clock);

// The same for a task that is held, by its flow too, and that the caller may end (refusal_of).
int64 complete_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                         Jsonb* result, int64 now);
FailedTask fail_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                          const store::Failure& failure, std::optional<int64> retry_after,
                          int64 now);
RequeuedTask delay_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                             int64 delay_ms, Jsonb* checkpoint, int64 now);
RequeuedTask release_held_task(store::Tables& tables, const store::Task& task, const Fence& fence,
                               int64 delay_ms, int64 now);

// How a lease of a task ends, of many in one call.
enum class TaskEnd : uint8 { kComplete, kFail, kDelay, kRelease, kSuspend };
struct TaskOutcome {
    pg_uuid_t id;
    Fence fence;
    TaskEnd end;
    Jsonb* result;                  // of a completion; null for NULL
    store::Failure failure;         // of a failure
    std::optional<int64> delay_ms;  // of a failure, a delay or a release
    Jsonb* checkpoint;              // of a delay; null: as it is
    Jsonb* suspension;              // of a suspension

    // What has become of it: refused, before or by settle_tasks, or what the single call answers.
    std::optional<Refusal> refusal;
    const char* answer;  // its word for the result; null: it has none
    std::optional<core::TaskState> state;
    std::optional<int64> lease_epoch;
    std::optional<int64> available_at;
    std::optional<int32> next_attempt_index;
    std::optional<bool> same_result;  // of a completion that was repeated
    std::optional<pg_uuid_t> suspension_id;
    const char* waitpoints;  // JSON, of a suspension
};

// Ends the leases in one unit, in their order. One that is refused does not undo the others.
void settle_tasks(store::Tables& tables, std::span<TaskOutcome> outcomes, pg::Clock* clock);

// ---- Operators ----

inline constexpr std::string_view kCancelByClient = "client";  // source of the front door

struct CancelRequest {
    std::string_view reason;
    std::string_view source;
    std::optional<int64> epoch;
    bool is_operator;          // others may only cancel what they hold
    bool one_of_many = false;  // the call has an event of its own
};
struct CancelledTask {
    core::TaskState previous;
    bool effective;
};
CancelledTask cancel_task(store::Tables& tables, const pg_uuid_t& id, const CancelRequest& request,
                          pg::Clock* clock);

struct RevokeRequest {
    std::string_view reason;
    std::string_view worker_instance;
    std::string_view lease_id;
    std::optional<int64> epoch;
};
struct RevokedLease {
    const char* why_not;   // null: revoked
    const char* lease_id;  // null if there is none
    int64 lease_epoch;
};
RevokedLease revoke_lease(store::Tables& tables, const pg_uuid_t& id, const RevokeRequest& request,
                          pg::Clock* clock);

struct ChangedPriority {
    int32 before;
    int32 after;
};
ChangedPriority change_priority(store::Tables& tables, const pg_uuid_t& id, int32 priority,
                                pg::Clock* clock);

struct ReplayedTask {
    int32 replay_count;
    core::TaskState state;
    std::span<const pg_uuid_t> reopened;    // skipped members behind it
    std::span<const pg_uuid_t> waiting_on;  // ended upstreams that it still needs
};
// expected: how often it was replayed when the caller saw it; QB010 if it was replayed since.
ReplayedTask replay_task(store::Tables& tables, const pg_uuid_t& id, bool cascade,
                         std::optional<int32> expected, pg::Clock* clock);
// Lets a task that is held begin anew; QB011 if it has not ended, QB016 at its limit.
void check_replay(store::Tables& tables, const store::Task& task);
void emit_replay(store::Tables& tables, const store::Task& task, bool was_skipped_member,
                 int64 groups_reset, int64 now);

// The same for one portion of a list (BulkArguments in ops/browse/page.hpp), with one event of the
// call.
struct BulkArguments;
Jsonb* cancel_tasks(store::Tables& tables, const BulkArguments& arguments, std::string_view reason,
                    pg::Clock* clock);
Jsonb* replay_tasks(store::Tables& tables, const BulkArguments& arguments, bool cascade,
                    pg::Clock* clock);

// The event of a lease that is taken away.
LeaseEvent revoked_event(const store::Task& task, std::string_view reason, std::string_view source);

void set_queue(store::Tables& tables, std::string_view queue, core::json::Value settings);
void set_queue_paused(store::Tables& tables, std::string_view queue, bool paused);

// ---- Reads ----

// p_filter.state, a state or an array of them, and p_filter.pending_attempt; QB006 for other words.
std::optional<std::span<const std::string_view>> checked_states(core::json::Value filter);
std::optional<std::string_view> checked_pending(core::json::Value filter);

Jsonb* get_task(store::Tables& tables, const pg_uuid_t& id);
store::Listing list_tasks(store::Tables& tables, core::json::Value filter,
                          std::optional<pg_uuid_t> after, int limit);
store::Listing list_expired_leases(store::Tables& tables, std::optional<int64> as_of,
                                   std::optional<std::string_view> queue,
                                   std::optional<int64> after_ms, std::optional<pg_uuid_t> after_id,
                                   int limit);

struct Reason {
    const char* reason;
    const char* detail;  // JSON, or null
};
std::span<const Reason> explain_claim(store::Tables& tables, const pg_uuid_t& id,
                                      std::optional<std::span<const std::string_view>> capabilities,
                                      const SlotFilter& slots, int64 now);

// What is wrong with the tasks and flows.
std::span<const store::TaskProblem> check_tasks(store::Tables& tables,
                                                std::optional<pg_uuid_t> flow);

}  // namespace belay::ops
