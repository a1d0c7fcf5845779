// Tasks: the calls of clients, workers and operators.
//
// Every call that changes a task holds its row first and decides by what it finds then. What ends
// the ownership of a task goes through requeue and finish of the store; what has fallen due goes
// through settle.
#pragma once

#include "core/task.hpp"
#include "ops/enter.hpp"
#include "ops/input.hpp"
#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"
#include "store/task_reads.hpp"
#include "store/tasks.hpp"

namespace belay::ops {

// ---- Checks of arguments ----

inline constexpr std::size_t kMaxWord = 200;
inline constexpr std::size_t kMaxLane = 64;
inline constexpr std::size_t kMaxMessage = 8192;

// A lane, a worker or the like: bytes within the limits, no control characters. QB006.
std::string_view checked_word(const char* path, std::string_view word, std::size_t most = kMaxWord);
std::string_view checked_lane(const char* path, std::optional<std::string_view> lane);
// Capabilities, sorted and each once: at most 256 with 4096 bytes, no comma, no blank.
std::span<const std::string_view> checked_capabilities(const char* path,
                                                       std::span<const std::string_view> tokens);
// A body within the hub's max_body_bytes.
Jsonb* checked_body(const store::Hub& hub, const char* path, Jsonb* body);
int64 checked_lease_ms(std::optional<int64> value);

// Whether the role has level operator, as far as tasks are concerned: it may revoke leases.
bool is_operator(const store::Hub& hub, Oid role);

// ---- Policies ----

// Refuses what is no policy. QB006.
void check_policy(const char* path, Jsonb* policy);
// The policy of a task: its own over its lane's over the built-in one.
core::Policy policy_of(const store::Hub& hub, const store::Task& task);

// ---- Holding a task ----

// Holds the task; QB002 if there is none, QB007 for a clock that is off.
store::Task hold_task(const store::Hub& hub, const pg_uuid_t& id, pg::Clock* clock);
// The same for calls that may end it or put it back: if it belongs to a flow, that is held first.
store::Task hold_task_and_flow(const store::Hub& hub, const pg_uuid_t& id, pg::Clock* clock);

// Who calls: with an epoch as the holder of the lease, or as an operator who needs none.
struct Fence {
    std::optional<int64> epoch;
    bool override;  // source operator_override
};
// QB012 terminal, QB013 not active, QB001 another epoch or a lease that is over.
void check_fence(const store::Hub& hub, const store::Task& task, const Fence& fence, int64 now);

// The holder of the lease is about to end it: a guard of his transaction on it passes.
void note_own_end(const store::Task& task, const Fence& fence);

[[noreturn]] void raise_terminal(const store::Task& task);
[[noreturn]] void raise_lease_lost(const store::Hub& hub, const store::Task& task,
                                   const char* code_detail);
[[noreturn]] void raise_no_task(const pg_uuid_t& id);

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
void tell_lease(const store::Hub& hub, const store::Task& task, const LeaseEvent& event, int64 now);
// Of topic completion; epoch is the one afterwards.
void tell_completion(const store::Hub& hub, const store::Task& task, core::TaskState state,
                     int64 epoch, std::optional<std::string_view> reason,
                     std::optional<core::FailureClass> failure, int64 now);

// ---- Ends ----

// Ends a task, tells of it, and lets its flow go on. A silent end tells nobody and leaves the edges
// as they are: the caller deals with the whole flow. Returns the epoch afterwards.
enum class EndKind { kTold, kSilent };
int64 end_task(const store::Hub& hub, const store::Task& task, const store::Finish& how,
               EndKind kind = EndKind::kTold);

// Whether a task that loses its lease goes back to the queue: not if it belongs to a flow that
// takes nothing back. Then it is cancelled with its flow.
bool may_go_back(const store::Hub& hub, const store::Task& task);
void cancel_with_flow(const store::Hub& hub, const store::Task& task,
                      const std::optional<store::Failure>& failure, const store::Notice& notice,
                      int64 now);

// Puts a leased task back, and returns its state. A member of a flow that takes nothing back is
// cancelled instead.
core::TaskState put_back(const store::Hub& hub, const store::Task& task, const store::Requeue& how);

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
FailureResult fail_attempt(const store::Hub& hub, const store::Task& task, const FailedAttempt& how,
                           int64 now);

// Does the first thing that has fallen due of a task that is held: execution deadline, attempt
// deadline, lease, timeout of its suspension. False if nothing has.
bool settle(const store::Hub& hub, const store::Task& task, int64 now);

// Settles those of the tasks that nobody else holds, and moves the check of leases that were
// renewed. Returns how many it changed.
int64 settle_all(const store::Hub& hub, std::span<const store::DueTask> all, int64 now);

// Takes back up to limit leases that are over. Asks the tables only if one may be. Returns how many
// tasks it changed.
int64 settle_leases(const store::Hub& hub, pg::Clock* clock, int limit);

// Whether a lease of an earlier incarnation may be left; looks for one.
bool may_have_void_leases(const store::Hub& hub);
void look_for_void_leases(const store::Hub& hub);

// ---- Clients ----

// A random uuid of version 7: ids that a session makes one after the other sort that way.
pg_uuid_t make_id(int64 now);

struct TaskRequest {
    const char* path;  // of the item; empty for arguments
    std::optional<pg_uuid_t> id;
    std::string_view lane;
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

// Reads an item that has at most these keys; those that are not a task's are the caller's.
TaskRequest read_request(core::json::Value item, const char* path,
                         std::span<const char* const> keys);
// Tags are a flat object of strings. QB006.
void check_tags(const char* path, Jsonb* tags);
void check_deadline(const TaskRequest& request, int64 now);
// The deadline of a task that is created now; of two, the earlier.
std::optional<int64> deadline_of(const TaskRequest& request, int64 now);
// Registers the lanes of the requests and finds their capability sets, in one order for everybody.
std::span<const int32> prepare_lanes(const store::Hub& hub,
                                     std::span<const TaskRequest* const> requests, int64 now);

// Checks what does not need the clock. QB006.
void check_request(const store::Hub& hub, const TaskRequest& request);
// An item of create_tasks, checked.
TaskRequest read_request(const store::Hub& hub, core::json::Value item, const char* path);
// The items of create_tasks.
std::span<const TaskRequest> read_requests(const store::Hub& hub, const JsonArray& items);

struct CreatedTask {
    pg_uuid_t id;
    core::TaskState state;
    bool created;
};
// Creates them all, or none; the answers are in the order of the requests.
std::span<const CreatedTask> create_tasks(const store::Hub& hub,
                                          std::span<const TaskRequest> requests, pg::Clock* clock);

// True if there was such a task. QB003 if it has not ended or belongs to a flow.
bool delete_task(const store::Hub& hub, const pg_uuid_t& id);

// ---- Workers ----

struct ClaimRequest {
    std::string_view worker;
    std::string_view worker_instance;
    std::optional<std::span<const std::string_view>> lanes;
    std::span<const std::string_view> capabilities;
    int64 lease_ms;
    int max;
    SlotFilter slots;
};
// Makes up to limit tasks ready whose time has come, and remembers when to look again. Returns how
// many.
int64 promote_tasks(const store::Hub& hub, int64 now, int limit);

// The claimed tasks: rows of store::acquire, and the order in which they are to be returned.
struct Claimed {
    store::Rows rows;
    std::span<const uint64> order;
    Datum* upstream;  // of each row, jsonb; 0: no edges
    Datum* signals;   // of each row, jsonb; 0: none
};
Claimed claim_tasks(const store::Hub& hub, const ClaimRequest& request, pg::Clock* clock);

struct Renewed {
    int64 lease_until;
    bool capped;
};
Renewed renew_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence, int64 lease_ms,
                   pg::Clock* clock);

struct RenewedTask {
    pg_uuid_t id;
    bool renewed;
    int64 lease_until;
    const char* reason;
};
std::span<const RenewedTask> renew_tasks(const store::Hub& hub, std::span<const pg_uuid_t> ids,
                                         std::span<const int64> epochs, int64 lease_ms,
                                         pg::Clock* clock);

struct ProgressReport {
    std::optional<Datum> percent;
    std::optional<std::string_view> message;
    Jsonb* checkpoint;
    std::optional<int64> lease_ms;
};
int64 progress_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                    const ProgressReport& report, pg::Clock* clock);

// Returns the epoch afterwards. QB001 already_completed if the lease has done so before.
int64 complete_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence, Jsonb* result,
                    pg::Clock* clock);

struct FailedTask {
    const char* result;
    core::TaskState state;
    std::optional<int64> available_at;
    std::optional<int32> next_attempt_index;
};
FailedTask fail_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                     const store::Failure& failure, std::optional<int64> retry_after,
                     pg::Clock* clock);

struct RequeuedTask {
    core::TaskState state;
    std::optional<int64> available_at;
};
RequeuedTask delay_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                        int64 delay_ms, Jsonb* checkpoint, pg::Clock* clock);
RequeuedTask release_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                          int64 delay_ms, pg::Clock* clock);

// ---- Operators ----

struct CancelRequest {
    std::string_view reason;
    std::string_view source;
    std::optional<int64> epoch;
    bool is_operator;  // others may only cancel what they hold
};
struct CancelledTask {
    core::TaskState previous;
    bool effective;
};
CancelledTask cancel_task(const store::Hub& hub, const pg_uuid_t& id, const CancelRequest& request,
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
RevokedLease revoke_lease(const store::Hub& hub, const pg_uuid_t& id, const RevokeRequest& request,
                          pg::Clock* clock);

struct ChangedPriority {
    int32 before;
    int32 after;
};
ChangedPriority change_priority(const store::Hub& hub, const pg_uuid_t& id, int32 priority,
                                pg::Clock* clock);

struct ReplayedTask {
    int32 replay_count;
    core::TaskState state;
    std::span<const pg_uuid_t> reopened;    // skipped members behind it
    std::span<const pg_uuid_t> waiting_on;  // ended upstreams that it still needs
};
ReplayedTask replay_task(const store::Hub& hub, const pg_uuid_t& id, bool cascade,
                         pg::Clock* clock);
// Lets a task that is held begin anew; QB011 if it has not ended, QB016 at its limit.
void check_replay(const store::Hub& hub, const store::Task& task);
void tell_replay(const store::Hub& hub, const store::Task& task, bool was_skipped_member,
                 int64 groups_reset, int64 now);

// The event of a lease that is taken away.
LeaseEvent revoked_event(const store::Task& task, std::string_view reason, std::string_view source);

void set_lane(const store::Hub& hub, std::string_view lane, core::json::Value settings);
void set_lane_paused(const store::Hub& hub, std::string_view lane, bool paused);

// ---- Reads ----

Jsonb* get_task(const store::Hub& hub, const pg_uuid_t& id);
store::Rows list_tasks(const store::Hub& hub, core::json::Value filter,
                       std::optional<pg_uuid_t> after, int limit);
store::Rows list_expired_leases(const store::Hub& hub, std::optional<int64> as_of,
                                std::optional<std::string_view> lane, std::optional<int64> after_ms,
                                std::optional<pg_uuid_t> after_id, int limit);

struct Reason {
    const char* reason;
    const char* detail;  // JSON, or null
};
std::span<const Reason> explain_claim(const store::Hub& hub, const pg_uuid_t& id,
                                      std::optional<std::span<const std::string_view>> capabilities,
                                      const SlotFilter& slots, int64 now);

// What is wrong with the tasks and flows.
std::span<const store::TaskProblem> check_tasks(const store::Hub& hub,
                                                std::optional<pg_uuid_t> flow);

}  // namespace belay::ops
