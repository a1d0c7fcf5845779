// Typed calls of the SQL functions of a hub, and of schema belay.
//
// A method is called as its function, does what docs/sql-reference.md says of it, and is one round
// trip. p_now_ms is the hub's clock. JSON goes in and comes out as text. Times are milliseconds
// since the Unix epoch. Calls run in the connection's transaction if there is one, otherwise each
// is one of its own; then lost connections and retries are dealt with as connection.hpp says:
// - fetches, renewals and reads are repeated;
// - acks are repeated with the same token; if the token is then unknown, the first run may have
//   done it: the error says outcome_unknown();
// - abandons are repeated until the token is gone;
// - what ends the lease of a task is repeated with the same epoch, as an ack is; a completion then
//   answers already_completed, which is a success;
// - a task that has an id or a dedup key is created once, however often the call is repeated; so
// are
//   flows with an id, signals with an id or a key, and suspensions with a key;
// - what sends messages or changes the hub is not repeated, and says outcome_unknown().
//
// Thread-safety: none; as the connection's, of which a Hub is a view. It does not own it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/clock.hpp"
#include "belay/connection.hpp"

namespace belay {

using Milliseconds = std::chrono::milliseconds;
using OptionalText = std::optional<std::string>;
using OptionalNumber = std::optional<std::int64_t>;

// ---- Worker queue. ----

// A leased item.
struct WorkItem {
    std::string work_item;  // JSON, as it was enqueued
    std::string lock_token;
    int attempt_count = 0;
};

struct NewWorkItem {
    std::string work_item;  // JSON; stored byte for byte
    OptionalText instance_id = {};
    OptionalNumber execution_id = {};
    OptionalNumber activity_id = {};
    OptionalText session_id = {};
    OptionalText tag = {};
    OptionalNumber delay_ms = {};  // of enqueue_worker_items only
};

struct FetchOptions {
    Milliseconds lock_timeout{30000};
    OptionalText owner_id = {};
    std::optional<Milliseconds> session_lock_timeout = {};
    std::optional<std::vector<std::string>> tag_filter = {};
    std::string tag_mode = "default_only";
    std::optional<std::vector<std::int32_t>> slots = {};
    // Of fetch_work_items only.
    int max_items = 1;
    std::optional<int> max_new_sessions = {};
};

struct Ack {
    std::string lock_token;
    OptionalText instance_id = {};
    OptionalText completion = {};  // JSON
};

struct AckResult {
    std::string lock_token;
    bool acked = false;
    OptionalText error = {};       // a SQLSTATE
    bool outcome_unknown = false;  // not acked now, but perhaps by a run whose answer was lost
};

struct Renewal {
    std::string lock_token;
    bool renewed = false;
    OptionalNumber locked_until = {};
    OptionalText error = {};  // a SQLSTATE
};

struct QueuedWorkItem {
    std::int64_t id = 0;
    std::string state;  // ready, delayed, leased
    std::string work_item;
    OptionalText instance_id;
    OptionalNumber execution_id;
    OptionalNumber activity_id;
    OptionalText session_id;
    OptionalText tag;
    OptionalNumber visible_at;
    OptionalNumber locked_until;
    OptionalText locked_by;
    int attempt_count = 0;
    OptionalNumber created_at;
    std::string cursor;  // for the next page
};

struct DeadLetter {
    std::int64_t id = 0;
    std::string queue;
    OptionalNumber source_id;
    OptionalText instance_id;
    OptionalNumber execution_id;
    OptionalNumber activity_id;
    OptionalText session_id;
    OptionalText tag;
    std::string work_item;
    int attempt_count = 0;
    std::string reason;
    OptionalText detail;
    OptionalNumber enqueued_at;
    OptionalNumber dead_at;
};

struct DeadLetterFilter {
    OptionalText queue = {};
    OptionalText reason = {};
    OptionalText instance_id = {};
    OptionalNumber after = {};
    int limit = 100;
};

// ---- Orchestrations. ----

// A leased turn of an instance.
struct Turn {
    std::string instance_id;
    std::string orchestration_name;
    std::string orchestration_version;
    std::int64_t execution_id = 0;
    OptionalText history;  // JSON array; none if it is larger than 64 MiB: use read_history
    std::string messages;  // JSON array
    std::string lock_token;
    int attempt_count = 0;
    OptionalText kv_snapshot;  // JSON object
};

struct TurnOptions {
    Milliseconds lock_timeout{30000};
    OptionalNumber min_version_packed = {};
    OptionalNumber max_version_packed = {};
    std::optional<std::vector<std::int32_t>> slots = {};
};

struct NewEvent {
    std::int64_t event_id = 0;
    std::string event_data;  // JSON object; stored byte for byte
    OptionalText event_type = {};
};

struct ActivityKey {
    std::string instance;
    std::int64_t execution_id = 1;
    std::int64_t activity_id = 0;
};

// What a turn decided.
struct Decision {
    std::int64_t execution_id = 1;
    std::vector<NewEvent> history_delta = {};
    std::vector<std::string> worker_items = {};        // JSON objects
    std::vector<std::string> orchestrator_items = {};  // JSON objects
    std::string metadata = "{}";                       // JSON object
    std::vector<ActivityKey> cancelled_activities = {};
};

struct NewMessage {
    std::string work_item;  // JSON; stored byte for byte
    OptionalText instance_id = {};
    OptionalNumber visible_at_ms = {};  // of enqueue_orchestrator_items only
};

struct StartOptions {
    OptionalText instance_id = {};
    OptionalText version = {};
    Milliseconds delay{0};
};

struct HistoryEvent {
    std::int64_t execution_id = 0;
    std::int64_t event_id = 0;
    OptionalText event_type;
    std::string event_data;
    OptionalNumber created_at;
};

struct CustomStatus {
    OptionalText value;
    std::int64_t version = 0;
};

struct KeyValue {
    std::string key;
    OptionalText value;
};

// ---- Tasks. ----

struct NewTask {
    std::string lane;
    OptionalText payload = {};  // JSON, as are policy and tags
    // With an id or a dedup key the call may be repeated: the task is created once.
    OptionalText task_id = {};  // a UUID; one is made up otherwise
    std::string kind = {};
    int priority = 0;
    Milliseconds delay{0};
    OptionalNumber available_at_ms = {};
    OptionalNumber deadline_ms = {};
    std::vector<std::string> capabilities = {};
    OptionalText policy = {};
    OptionalText dedup_key = {};
    std::optional<Milliseconds> dedup_window = {};
    OptionalText tags = {};
};

struct CreatedTask {
    std::string task_id;
    std::string state;
    bool created = false;  // false: it existed before, or a run whose answer was lost has made it
};

struct ClaimOptions {
    std::string worker;           // the kind of worker
    std::string worker_instance;  // this process of it; "owner:<it>" is told of lost leases
    std::optional<std::vector<std::string>> lanes = {};  // none: all
    std::vector<std::string> capabilities = {};
    Milliseconds lease{30000};
    int max_tasks = 1;
    std::optional<std::vector<std::int32_t>> slots = {};
};

// A leased task.
struct ClaimedTask {
    std::string task_id;
    std::string lane;
    std::string kind;
    OptionalText payload;  // JSON
    std::string tags;      // JSON object
    int priority = 0;
    int attempt_index = 0;     // 1 for the first
    std::string attempt_kind;  // initial, retry, replay; reclaim, snooze, resume go on with one
    int retry_count = 0;
    int reclaim_count = 0;
    int replay_count = 0;
    std::int64_t lease_epoch = 0;
    std::string lease_id;
    std::int64_t lease_until_ms = 0;
    OptionalNumber attempt_deadline_ms;
    OptionalNumber deadline_ms;
    OptionalText checkpoint;    // JSON
    OptionalText last_failure;  // JSON object
    OptionalText flow_id;
    OptionalText flow_key;
    OptionalText upstream;  // JSON array
    OptionalText signals;   // JSON array
};

// The lease that a call of a worker names. An operator's call may do without the epoch.
struct TaskFence {
    std::string task_id;
    OptionalNumber epoch = {};
};

inline TaskFence fence_of(const ClaimedTask& task) {
    return {task.task_id, task.lease_epoch};
}

constexpr std::string_view kLeaseHolder = "lease_holder";
constexpr std::string_view kOperatorOverride = "operator_override";

struct RenewedTask {
    std::int64_t lease_until_ms = 0;
    bool capped = false;  // a deadline of the task cut it
};

struct TaskRenewal {
    std::string task_id;
    bool renewed = false;
    OptionalNumber lease_until_ms;
    OptionalText reason;  // not_found, terminal, not_active, stale_epoch, lease_expired
};

// What is given is stored.
struct TaskProgress {
    std::optional<double> percent = {};
    OptionalText message = {};
    OptionalText checkpoint = {};            // JSON
    std::optional<Milliseconds> lease = {};  // renews, too
};

struct CompletedTask {
    std::string result;  // completed, already_completed
    std::string task_id;
    std::string state;
    std::int64_t lease_epoch = 0;
};

// Why an attempt has failed.
struct TaskFailure {
    // transient, permanent, timeout, infra_crash, cancelled: the policy says which are retried.
    std::string failure_class = "transient";
    std::string message = {};
    OptionalText details = {};                     // JSON
    std::optional<Milliseconds> retry_after = {};  // instead of the policy's wait
};

struct FailedTask {
    std::string result;  // retry_scheduled, terminal_failed, cancelled
    std::string state;
    OptionalNumber available_at_ms;
    std::optional<int> next_attempt_index;
};

struct PausedTask {
    std::string state;
    OptionalNumber available_at_ms;
};

struct CancelledTask {
    std::string result;
    std::string task_id;
    std::string public_state;
    std::string previous_state;
    bool effective = false;  // false: it was cancelled before, perhaps by a run of this call
};

// Which lease is meant; nothing means whichever there is.
struct RevokeTarget {
    std::string worker_instance = {};
    std::string lease_id = {};
    OptionalNumber epoch = {};
};

struct RevokedLease {
    std::string result;  // revoked, already_satisfied
    OptionalText reason;
    OptionalText lease_id;
    OptionalNumber lease_epoch;
};

struct ChangedPriority {
    std::string result;
    std::string task_id;
    int old_priority = 0;
    int new_priority = 0;
};

struct ReplayedTask {
    std::string result;
    std::string task_id;
    std::string public_state;
    int replay_count = 0;
    std::vector<std::string> reopened;
    std::vector<std::string> waiting_on;
};

struct TaskInfo {
    std::string task_id;
    std::string state;
    std::string lane;
    std::string kind;
    int priority = 0;
    OptionalText flow_id;
    OptionalText flow_key;
    OptionalText pending_attempt;
    int attempt_index = 0;
    int retry_count = 0;
    int reclaim_count = 0;
    int replay_count = 0;
    OptionalNumber available_at_ms;
    OptionalNumber deadline_ms;
    OptionalText worker;
    OptionalText worker_instance;
    std::int64_t lease_epoch = 0;
    OptionalNumber lease_until_ms;
    OptionalText failure_class;
    OptionalText cancel_reason;
    std::string tags;  // JSON object
    OptionalNumber created_at_ms;
    OptionalNumber updated_at_ms;
    OptionalNumber terminal_at_ms;
};

struct ExpiredLease {
    std::string task_id;
    std::string lane;
    std::string lease_id;
    std::int64_t lease_epoch = 0;
    std::int64_t lease_until_ms = 0;
    std::string worker;
    std::string worker_instance;
    int attempt_index = 0;
};

// Both keys of a page are those of the last row of the page before.
struct ExpiredLeasePage {
    OptionalNumber as_of_ms = {};  // the hub's clock otherwise
    OptionalText lane = {};
    OptionalNumber after_ms = {};
    OptionalText after_id = {};
    int limit = 1000;
};

struct ClaimReason {
    std::string reason;
    OptionalText detail;  // JSON object
};

// A row of view lane_depths.
struct LaneDepth {
    std::string lane = {};
    bool paused = false;
    std::int64_t ready = 0;
    std::int64_t delayed = 0;
    std::int64_t blocked = 0;
    std::int64_t active = 0;
    std::int64_t suspended = 0;
    std::int64_t overdue_leases = 0;
    OptionalNumber oldest_ready_age_ms = {};
};

struct Problem {
    std::string object;
    std::string problem;
};

// ---- Flows. ----

// How the edges into a task are joined.
struct FlowJoin {
    std::string kind = "all_of";     // all_of, any_of, quorum
    std::optional<int> k = {};       // of a quorum
    OptionalText on_satisfied = {};  // cancel_remaining, let_run; not of all_of

    static FlowJoin any_of(OptionalText on_satisfied = {}) {
        return {"any_of", {}, std::move(on_satisfied)};
    }
    static FlowJoin quorum(int k, OptionalText on_satisfied = {}) {
        return {"quorum", k, std::move(on_satisfied)};
    }
};

// The task that another one comes after, and the name under which that gets its result.
struct FlowEdge {
    std::string key;
    OptionalText pass_as;

    FlowEdge(const char* upstream) : key(upstream) {}
    FlowEdge(std::string upstream) : key(std::move(upstream)) {}
    FlowEdge(std::string upstream, std::string name)
        : key(std::move(upstream)), pass_as(std::move(name)) {}
};

// A task of a flow.
struct FlowItem {
    std::string key;  // its name in the flow
    NewTask task;     // without a dedup key
    std::vector<FlowEdge> after = {};
    std::optional<FlowJoin> join = {};  // all_of otherwise
    bool hold = false;                  // waits until the flow is sealed
};

//     hub.create_flow({.tasks = {{.key = "fetch", .task = {.lane = "io"}},
//                                {.key = "small", .task = {.lane = "img"}, .after = {"fetch"}},
//                                {.key = "large", .task = {.lane = "img"}, .after = {"fetch"}},
//                                {.key = "notify",
//                                 .task = {.lane = "io"},
//                                 .after = {"small", "large"},
//                                 .join = belay::FlowJoin::quorum(1)}}});
struct NewFlow {
    // With an id the call may be repeated: the flow is created once.
    OptionalText flow_id = {};  // a UUID; one is made up otherwise
    std::string kind = {};
    OptionalText tags = {};                // JSON object
    std::string fail_policy = "continue";  // or fail_fast
    bool seal = true;                      // false: it can grow
    std::vector<FlowItem> tasks = {};
};

struct CreatedFlow {
    std::string flow_id;
    std::string state;
    std::int64_t graph_revision = 0;
    bool created = false;  // false: it existed before, or a run whose answer was lost has made it
    std::map<std::string, std::string> task_ids;  // by key
};

struct AddedTask {
    std::string result;  // added, already_member
    std::string task_id;
    std::string state;
    std::int64_t graph_revision = 0;
    std::int64_t node_count = 0;
};

struct AddedEdge {
    std::string result;
    std::string edge_state;  // pending, satisfied, impossible
    std::string downstream_state;
    int unsatisfied = 0;
    std::int64_t graph_revision = 0;
};

struct SetJoin {
    std::string result;
    std::int64_t graph_revision = 0;
};

struct SealedFlow {
    std::string state;
    std::int64_t graph_revision = 0;
};

struct FlowCancel {
    std::string reason = {};
    std::string policy = "cancel_all";  // cancel_pending, flow_only
    Milliseconds grace{30000};          // for workers to say that they have stopped
    std::string requester = {};
};

struct CancelledFlow {
    std::string result;  // cancelled, already_terminal
    OptionalText cancellation_policy;
    OptionalText reason;
    std::int64_t member_count = 0;
    std::vector<std::string> member_ids;
};

struct FlowInfo {
    std::string flow_id;
    std::string kind;
    std::string state;
    bool sealed = false;
    std::int64_t graph_revision = 0;
    std::string fail_policy;
    std::int64_t member_count = 0;
    std::int64_t open_count = 0;
    std::int64_t edge_count = 0;
    std::string tags;  // JSON object
    OptionalText cancel_reason;
    OptionalNumber created_at_ms;
    OptionalNumber updated_at_ms;
    OptionalNumber terminal_at_ms;
};

// A task that another one has waited for.
struct UpstreamResult {
    std::string task_id;
    OptionalText key;
    OptionalText pass_as;
    std::string state;
    OptionalText result;  // JSON
};

// ---- Suspensions. ----

// What has to come before a suspended task goes on. At most four deep.
//
//     Condition::all({Condition::single("approval", {"approved"}), Condition::count(2, "sources")})
struct Condition {
    std::string text;  // JSON

    // A signal of one of these names at this waitpoint; no names: of any.
    static Condition single(std::string_view key, const std::vector<std::string>& names = {});
    static Condition all(const std::vector<Condition>& conditions);
    // n waitpoints, signals or sources of these waitpoints; no keys: of all.
    static Condition count(int n, std::string_view of, const std::vector<std::string>& keys = {});
    static Condition operator_only();
    static Condition timeout_only();
};

struct NewWaitpoint {
    std::string key;
    OptionalText waitpoint_id = {};  // of create_waitpoint; a new one otherwise
};

struct NewSuspension {
    std::vector<NewWaitpoint> waitpoints;
    Condition condition;
    // waiting_for_signal, waiting_for_approval, waiting_for_callback, waiting_for_tool_result
    std::string reason_code = "waiting_for_signal";
    OptionalNumber timeout_at_ms = {};
    OptionalText on_timeout = {};  // fail, cancel, expire, auto_resume, escalate
    Milliseconds resume_delay{0};
    // With a key the call may be repeated: it returns what the first run has returned.
    OptionalText idempotency_key = {};
};

// What came to a waitpoint.
struct Signal {
    std::string key;  // the waitpoint's
    std::string name;
    OptionalText payload;  // JSON
    OptionalText source;
    std::string signal_id;
    std::string waitpoint_id;
    std::int64_t accepted_at_ms = 0;
    std::int64_t nr = 0;  // its place, if list_signals returned it
};

struct SuspendedWaitpoint {
    std::string key;
    std::string waitpoint_id;
    OptionalText token;           // for whoever is to send a signal
    std::vector<Signal> signals;  // if the condition was met at once
};

struct SuspendedTask {
    // suspended; already_satisfied: signals that came early meet the condition, the lease goes on
    std::string result;
    OptionalText suspension_id;
    std::vector<SuspendedWaitpoint> waitpoints;
};

struct CreatedWaitpoint {
    std::string waitpoint_id;
    std::string token;
};

struct NewSignal {
    std::string name;
    OptionalText payload = {};  // JSON
    OptionalText source = {};
    // With an id or a key the call may be repeated: the signal is taken once.
    OptionalText signal_id = {};
    OptionalText idempotency_key = {};
};

struct DeliveredSignal {
    std::string result;   // accepted, duplicate
    OptionalText effect;  // buffered, appended_to_waitpoint, resume_condition_satisfied
    std::string state;    // of the task
};

struct WaitpointInfo {
    std::string waitpoint_id;
    std::string key;
    std::string state;
    OptionalText suspension_id;
    OptionalText kid;
    OptionalText token_hash;
    std::int64_t signals = 0;
    OptionalNumber created_at_ms;
    OptionalNumber expires_at_ms;
    OptionalNumber closed_at_ms;
};

// ---- Schedules. ----

struct NewSchedule {
    std::string name;
    std::string cron;  // minute, hour, day, month, weekday
    NewTask task;      // without id, key, deadline and available time
    std::string time_zone = "UTC";
    std::string catch_up = "one";  // after a downtime: one, all, none
};

struct ScheduleInfo {
    std::string name;
    std::string cron;
    std::string time_zone;
    std::string catch_up;
    std::string task;  // JSON
    bool paused = false;
    OptionalNumber next_due_ms;
    OptionalNumber last_due_ms;
    OptionalText last_error;
    OptionalNumber created_at_ms;
};

// ---- Events. ----

struct Event {
    std::string event_id;  // the same each time the event is delivered
    std::string topic;
    std::string type;
    OptionalText subject;
    std::string details;  // JSON object
    std::int64_t occurred_at_ms = 0;
    std::string upto;  // what ack_events takes
};

struct SubscriptionInfo {
    std::string name;
    OptionalText topics;  // with commas; none: all
    std::int64_t lag_rows = 0;
    double lag_seconds = 0;
    OptionalNumber lease_until;
    OptionalNumber horizon_pid;
    OptionalNumber created_at;
};

// ---- Management. ----

struct InstanceFilter {
    OptionalText status = {};
    OptionalText name = {};
    OptionalText prefix = {};
    OptionalNumber created_from_ms = {};
    OptionalNumber created_before_ms = {};
    OptionalText after = {};
    std::optional<int> limit = {};
};

struct InstanceInfo {
    std::string instance_id;
    OptionalText orchestration_name;
    OptionalText orchestration_version;
    OptionalNumber current_execution_id;
    OptionalNumber created_at;
    OptionalNumber updated_at;
    OptionalText status;
    OptionalText output;
    OptionalText parent_instance_id;
};

struct ExecutionInfo {
    std::int64_t execution_id = 0;
    OptionalText status;
    OptionalText output;
    OptionalNumber started_at;
    OptionalNumber completed_at;
    std::int64_t event_count = 0;
};

struct InstanceStats {
    std::int64_t history_event_count = 0;
    std::int64_t history_size_bytes = 0;
    std::int64_t queue_pending_count = 0;
    std::int64_t kv_user_key_count = 0;
    std::int64_t kv_total_value_bytes = 0;
};

struct SystemMetrics {
    std::int64_t total_instances = 0;
    std::int64_t total_executions = 0;
    std::int64_t running_instances = 0;
    std::int64_t completed_instances = 0;
    std::int64_t failed_instances = 0;
    std::int64_t total_events = 0;
};

struct QueueDepths {
    std::int64_t orchestrator_queue = 0;
    std::int64_t worker_queue = 0;
    std::int64_t timer_queue = 0;
};

struct TreeNode {
    std::string instance_id;
    OptionalText parent_instance_id;
    int depth = 0;
};

struct FetchReason {
    std::string reason;
    OptionalText detail;
    OptionalNumber until_at;
};

struct Deleted {
    std::int64_t instances = 0;
    std::int64_t executions = 0;
    std::int64_t events = 0;
    std::int64_t queue_messages = 0;
};

struct Pruned {
    std::int64_t instances_processed = 0;
    std::int64_t executions_deleted = 0;
    std::int64_t events_deleted = 0;
};

struct DutyRun {
    std::string duty;
    std::int64_t rows = 0;
    std::int64_t elapsed_ms = 0;
};

struct Wake {
    OptionalText queue;
    std::string reason;  // work, timer, lease_expired, cancelled, changed, timeout, shutdown
};

class Hub {
 public:
    Hub(Connection& connection, std::string_view name, Clock clock = server_clock());

    Connection& connection() const { return *connection_; }
    const std::string& name() const { return name_; }

    // Worker queue.
    void enqueue_worker_work(const NewWorkItem& item, Where where = Where::current());
    std::int64_t enqueue_worker_items(const std::vector<NewWorkItem>& items,
                                      Where where = Where::current());
    std::optional<WorkItem> fetch_work_item(const FetchOptions& options,
                                            Where where = Where::current());
    std::vector<WorkItem> fetch_work_items(const FetchOptions& options,
                                           Where where = Where::current());
    void ack_worker(const Ack& ack, Where where = Where::current());
    std::vector<AckResult> ack_workers(const std::vector<Ack>& acks,
                                       Where where = Where::current());
    std::optional<WorkItem> ack_and_fetch_work_item(const Ack& ack, const FetchOptions& options,
                                                    Where where = Where::current());
    void renew_work_item_lock(std::string_view lock_token, Milliseconds extend,
                              Where where = Where::current());
    std::vector<Renewal> renew_work_item_locks(const std::vector<std::string>& lock_tokens,
                                               Milliseconds extend, Where where = Where::current());
    void abandon_work_item(std::string_view lock_token, std::optional<Milliseconds> delay = {},
                           bool ignore_attempt = false, Where where = Where::current());
    std::int64_t renew_session_lock(const std::vector<std::string>& owner_ids, Milliseconds extend,
                                    Milliseconds idle_timeout, Where where = Where::current());
    std::int64_t cleanup_orphaned_sessions(Where where = Where::current());
    std::int64_t cancel_activities(const std::vector<ActivityKey>& activities,
                                   Where where = Where::current());
    std::vector<QueuedWorkItem> list_work_items(std::string_view filter = "{}",
                                                const OptionalText& after = {}, int limit = 100,
                                                Where where = Where::current());

    // Dead letters. The filter of redrive_dead_letters is JSON.
    std::vector<DeadLetter> list_dead_letters(const DeadLetterFilter& filter = {},
                                              Where where = Where::current());
    std::int64_t redrive_dead_letter(std::int64_t id, Where where = Where::current());
    std::int64_t redrive_dead_letters(std::string_view filter, Where where = Where::current());
    void discard_dead_letter(std::int64_t id, Where where = Where::current());

    // Orchestrations.
    std::string start_orchestration(std::string_view orchestration, std::string_view input = "",
                                    const StartOptions& options = {},
                                    Where where = Where::current());
    void raise_event(std::string_view instance_id, std::string_view event,
                     std::string_view data = "", bool queued = false,
                     Where where = Where::current());
    void cancel_instance(std::string_view instance_id, std::string_view reason = "",
                         Where where = Where::current());
    void enqueue_orchestrator_work(const NewMessage& message, Where where = Where::current());
    std::int64_t enqueue_orchestrator_items(const std::vector<NewMessage>& messages,
                                            Where where = Where::current());
    std::optional<Turn> fetch_orchestration_item(const TurnOptions& options,
                                                 Where where = Where::current());
    void ack_orchestration_item(std::string_view lock_token, const Decision& decision,
                                Where where = Where::current());
    void renew_orchestration_item_lock(std::string_view lock_token, Milliseconds extend,
                                       Where where = Where::current());
    // The instance id; none if the answer to an earlier run was lost.
    OptionalText abandon_orchestration_item(std::string_view lock_token,
                                            std::optional<Milliseconds> delay = {},
                                            bool ignore_attempt = false,
                                            Where where = Where::current());

    // History and state.
    std::vector<std::string> fetch_history(std::string_view instance_id,
                                           Where where = Where::current());
    std::vector<std::string> fetch_history_with_execution(std::string_view instance_id,
                                                          std::int64_t execution_id,
                                                          Where where = Where::current());
    std::vector<HistoryEvent> read_history(std::string_view instance_id,
                                           OptionalNumber execution_id = {},
                                           OptionalNumber after_event_id = {},
                                           std::optional<int> limit = {},
                                           Where where = Where::current());
    void append_history(std::string_view instance_id, std::int64_t execution_id,
                        const std::vector<NewEvent>& events, Where where = Where::current());
    std::optional<CustomStatus> get_custom_status(std::string_view instance_id,
                                                  std::int64_t last_seen_version = 0,
                                                  Where where = Where::current());
    OptionalText get_kv_value(std::string_view instance_id, std::string_view key,
                              Where where = Where::current());
    std::vector<KeyValue> get_kv_all_values(std::string_view instance_id,
                                            Where where = Where::current());

    // Management. Filters and options of the bulk functions are JSON.
    std::vector<std::string> list_instances(const InstanceFilter& filter = {},
                                            Where where = Where::current());
    // list_instances and get_instance_info of each, together.
    std::vector<InstanceInfo> list_instance_infos(const InstanceFilter& filter = {},
                                                  Where where = Where::current());
    std::vector<std::string> list_instances_by_status(std::string_view status,
                                                      Where where = Where::current());
    std::vector<std::int64_t> list_executions(std::string_view instance_id,
                                              Where where = Where::current());
    OptionalNumber latest_execution_id(std::string_view instance_id,
                                       Where where = Where::current());
    std::optional<InstanceInfo> get_instance_info(std::string_view instance_id,
                                                  Where where = Where::current());
    std::optional<ExecutionInfo> get_execution_info(std::string_view instance_id,
                                                    std::int64_t execution_id,
                                                    Where where = Where::current());
    std::optional<InstanceStats> get_instance_stats(std::string_view instance_id,
                                                    Where where = Where::current());
    SystemMetrics get_system_metrics(Where where = Where::current());
    QueueDepths get_queue_depths(Where where = Where::current());
    std::vector<std::string> list_children(std::string_view instance_id,
                                           Where where = Where::current());
    OptionalText get_parent_id(std::string_view instance_id, Where where = Where::current());
    std::vector<TreeNode> get_instance_tree(std::string_view instance_id,
                                            Where where = Where::current());
    std::vector<FetchReason> explain_fetch(std::string_view instance_id,
                                           OptionalNumber min_version_packed = {},
                                           OptionalNumber max_version_packed = {},
                                           Where where = Where::current());
    Deleted delete_instance(std::string_view instance_id, bool force = false,
                            Where where = Where::current());
    Deleted delete_instances_atomic(const std::vector<std::string>& instance_ids,
                                    bool force = false, Where where = Where::current());
    Deleted delete_instances_bulk(std::string_view filter, Where where = Where::current());
    Pruned prune_executions(std::string_view instance_id, std::optional<int> keep_last = {},
                            OptionalNumber completed_before_ms = {},
                            Where where = Where::current());
    Pruned prune_executions_bulk(std::string_view filter, std::string_view options = "{}",
                                 Where where = Where::current());
    std::vector<DutyRun> reconcile(const std::optional<std::vector<std::string>>& duties = {},
                                   Where where = Where::current());
    void pause_hub(const OptionalText& queue = {}, std::string_view reason = "",
                   Where where = Where::current());
    void resume_hub(const OptionalText& queue = {}, Where where = Where::current());

    // Tasks: creating.
    CreatedTask create_task(const NewTask& task, Where where = Where::current());
    // In the order of the tasks; all or none.
    std::vector<CreatedTask> create_tasks(const std::vector<NewTask>& tasks,
                                          Where where = Where::current());
    bool delete_task(std::string_view task_id, Where where = Where::current());

    // Tasks: working. Results, details and checkpoints are JSON.
    std::vector<ClaimedTask> claim_tasks(const ClaimOptions& options,
                                         Where where = Where::current());
    RenewedTask renew_task(const TaskFence& fence, Milliseconds lease,
                           Where where = Where::current());
    std::vector<TaskRenewal> renew_tasks(const std::vector<TaskFence>& fences, Milliseconds lease,
                                         Where where = Where::current());
    std::int64_t progress_task(const TaskFence& fence, const TaskProgress& progress,
                               Where where = Where::current());
    CompletedTask complete_task(const TaskFence& fence, const OptionalText& result = {},
                                std::string_view source = kLeaseHolder,
                                Where where = Where::current());
    std::vector<ClaimedTask> complete_and_claim(const TaskFence& fence, const OptionalText& result,
                                                const ClaimOptions& options,
                                                Where where = Where::current());
    FailedTask fail_task(const TaskFence& fence, const TaskFailure& failure,
                         std::string_view source = kLeaseHolder, Where where = Where::current());
    PausedTask delay_task(const TaskFence& fence, Milliseconds delay,
                          const OptionalText& checkpoint = {}, Where where = Where::current());
    // None: the lease is gone, and the answer of the run that may have done it was lost.
    std::optional<PausedTask> release_task(const TaskFence& fence,
                                           Milliseconds delay = Milliseconds(0),
                                           Where where = Where::current());
    // Binds the caller's transaction to the lease of a task, as guard() does.
    void guard_task(const TaskFence& fence, Where where = Where::current());

    // Tasks: steering. The settings of a lane are JSON.
    CancelledTask cancel_task(std::string_view task_id, std::string_view reason = "",
                              std::string_view source = kOperatorOverride,
                              OptionalNumber lease_epoch = {}, Where where = Where::current());
    RevokedLease revoke_lease(std::string_view task_id, std::string_view reason = "",
                              const RevokeTarget& target = {}, Where where = Where::current());
    ChangedPriority change_priority(std::string_view task_id, int priority,
                                    Where where = Where::current());
    ReplayedTask replay_task(std::string_view task_id, bool cascade = false,
                             Where where = Where::current());
    void set_lane(std::string_view lane, std::string_view settings, Where where = Where::current());
    void pause_lane(std::string_view lane, Where where = Where::current());
    void resume_lane(std::string_view lane, Where where = Where::current());

    // Tasks: reading. The filter is JSON; get_task returns a JSON object, or none.
    OptionalText get_task(std::string_view task_id, Where where = Where::current());
    std::vector<TaskInfo> list_tasks(std::string_view filter = "{}", const OptionalText& after = {},
                                     int limit = 100, Where where = Where::current());
    std::vector<ExpiredLease> list_expired_leases(const ExpiredLeasePage& page = {},
                                                  Where where = Where::current());
    std::vector<ClaimReason> explain_claim(
        std::string_view task_id, const std::optional<std::vector<std::string>>& capabilities = {},
        const std::optional<std::vector<std::int32_t>>& slots = {}, Where where = Where::current());
    std::vector<Problem> check_tasks(const OptionalText& flow_id = {},
                                     Where where = Where::current());
    std::vector<LaneDepth> lane_depths(Where where = Where::current());

    // Flows: building. What lets a flow grow is not repeated after a lost connection, unless it
    // adds a task that exists and expects no revision.
    CreatedFlow create_flow(const NewFlow& flow, Where where = Where::current());
    AddedTask add_task_to_flow(std::string_view flow_id, const FlowItem& item,
                               OptionalNumber expected_revision = {},
                               Where where = Where::current());
    AddedTask add_task_to_flow(std::string_view flow_id, std::string_view task_id,
                               OptionalNumber expected_revision = {},
                               Where where = Where::current());
    AddedEdge add_edge(std::string_view flow_id, std::string_view upstream_id,
                       std::string_view downstream_id, const OptionalText& pass_as = {},
                       OptionalNumber expected_revision = {}, Where where = Where::current());
    SetJoin set_join(std::string_view flow_id, std::string_view task_id, const FlowJoin& join,
                     OptionalNumber expected_revision = {}, Where where = Where::current());
    SealedFlow seal_flow(std::string_view flow_id, OptionalNumber expected_revision = {},
                         Where where = Where::current());

    // Flows: steering and reading. The filter is JSON; get_flow returns a JSON object, or none.
    CancelledFlow cancel_flow(std::string_view flow_id, const FlowCancel& cancel = {},
                              Where where = Where::current());
    // A worker says that it has stopped working on a member. TaskWorker does it.
    void ack_cancel_member(std::string_view flow_id, std::string_view task_id,
                           Where where = Where::current());
    bool delete_flow(std::string_view flow_id, Where where = Where::current());
    OptionalText get_flow(std::string_view flow_id, Where where = Where::current());
    std::vector<FlowInfo> list_flows(std::string_view filter = "{}", const OptionalText& after = {},
                                     int limit = 100, Where where = Where::current());
    std::vector<UpstreamResult> upstream_results(std::string_view task_id,
                                                 Where where = Where::current());

    // Suspensions and signals. Secrets are bytes.
    SuspendedTask suspend_task(const TaskFence& fence, const NewSuspension& suspension,
                               Where where = Where::current());
    CreatedWaitpoint create_waitpoint(const TaskFence& fence, std::string_view key,
                                      Milliseconds expires_in, Where where = Where::current());
    DeliveredSignal deliver_signal(std::string_view task_id, std::string_view waitpoint_id,
                                   std::string_view token, const NewSignal& signal,
                                   Where where = Where::current());
    DeliveredSignal approve_task(std::string_view task_id, std::string_view waitpoint_id,
                                 std::string_view name, std::string_view idempotency_key,
                                 Where where = Where::current());
    PausedTask resume_task(std::string_view task_id, std::string_view trigger = "operator",
                           Milliseconds delay = Milliseconds(0), Where where = Where::current());
    std::vector<WaitpointInfo> list_waitpoints(std::string_view task_id,
                                               const OptionalText& after = {}, int limit = 100,
                                               Where where = Where::current());
    // Signals of the suspension that the task's attempt is in or left last, behind a number.
    std::vector<Signal> list_signals(std::string_view task_id, std::int64_t after = 0,
                                     int limit = 100, Where where = Where::current());
    std::string seed_waitpoint_key(std::string_view kid, std::string_view secret,
                                   Where where = Where::current());
    std::string rotate_waitpoint_key(std::string_view kid, std::string_view secret,
                                     Milliseconds grace, Where where = Where::current());

    // Schedules. Creating and resuming return the next due time.
    std::int64_t create_schedule(const NewSchedule& schedule, Where where = Where::current());
    void drop_schedule(std::string_view name, Where where = Where::current());
    void pause_schedule(std::string_view name, Where where = Where::current());
    std::int64_t resume_schedule(std::string_view name, Where where = Where::current());
    std::vector<ScheduleInfo> list_schedules(Where where = Where::current());

    // The share of this owner of the slots of queue orchestrator or worker; slots: what the caller
    // believes slot_count to be. dispatcher.hpp keeps a share.
    std::vector<std::int32_t> acquire_slots(std::string_view owner, std::string_view queue,
                                            std::optional<int> slots = {},
                                            Milliseconds lease = Milliseconds(30000),
                                            Where where = Where::current());
    void release_slots(std::string_view owner, std::string_view queue,
                       Where where = Where::current());
    // Binds the caller's transaction to a lease: its commit fails with lock_lost() if the lease is
    // lost by then.
    void guard(std::string_view lock_token, Where where = Where::current());
    // Sends an item to queue orchestrator or worker of another hub, exactly once. Returns the id of
    // the intent.
    std::int64_t send_to_hub(std::string_view target_hub, std::string_view queue,
                             std::string_view work_item, OptionalNumber visible_at_ms = {},
                             Where where = Where::current());

    // from: now, start, or an upto of another subscription.
    void create_subscription(std::string_view name,
                             const std::optional<std::vector<std::string>>& topics = {},
                             std::string_view from = "now", Where where = Where::current());
    void drop_subscription(std::string_view name, Where where = Where::current());
    // outbox.hpp has a loop around these two.
    std::vector<Event> read_events(std::string_view subscription, int limit = 100,
                                   Milliseconds lease = Milliseconds(30000),
                                   Where where = Where::current());
    void ack_events(std::string_view subscription, std::string_view upto,
                    Where where = Where::current());
    std::vector<SubscriptionInfo> subscriptions(Where where = Where::current());

    // Waits until there may be work on one of the queues. Not inside a transaction. With an
    // interrupt: comes back with nothing once it is signalled.
    Wake wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout,
                       Where where = Where::current());
    std::optional<Wake> wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout,
                                      const Interrupt& interrupt, Where where = Where::current());

 private:
    Result call(Effect effect, std::string_view columns, std::string_view function,
                const Params& params, const Where& where);

    Connection* connection_;
    std::string name_;
    std::string schema_;  // quoted
    Clock clock_;
};

struct HubInfo {
    std::string name = {};
    std::string owner = {};
    std::string api = {};
    std::string version = {};
    bool is_current = false;
    bool paused = false;
    OptionalNumber created_at = {};
    OptionalNumber size_bytes = {};
    std::string paused_queues = {};  // with commas; "" if none is
};

struct HubOption {
    std::string option;
    OptionalText value;
    bool is_default = false;
};

// A row of pg_stat_belay_queue.
struct QueueStats {
    std::string hub = {};
    std::string queue = {};
    std::int64_t enqueued = 0;
    std::int64_t fetched = 0;
    std::int64_t empty_fetches = 0;
    std::int64_t acked = 0;
    std::int64_t abandoned = 0;
    std::int64_t renewed = 0;
    std::int64_t lost_leases = 0;
    std::int64_t expired = 0;
    std::int64_t dead_lettered = 0;
    std::int64_t wake_ups = 0;
    std::int64_t waiters = 0;
    std::int64_t leases = 0;
    OptionalNumber oldest_ready_ms = {};
};

// A background worker of the server, of any database: a row of view belay.workers, which has one
// for each duty that has run.
struct BackgroundWorker {
    OptionalText database;
    std::int64_t pid = 0;
    std::string state;
    OptionalNumber last_loop_at;
    OptionalText duty;
    OptionalNumber last_run;
    OptionalNumber runs;
    OptionalNumber errors;
    OptionalText last_error;
};

// The functions and views of schema belay.
//
// Thread-safety: none; as the connection's.
class Admin {
 public:
    explicit Admin(Connection& connection) : connection_(&connection) {}

    std::string version(Where where = Where::current());
    void create_hub(std::string_view name, std::string_view api = "belay", bool adopt = false,
                    Where where = Where::current());
    void drop_hub(std::string_view name, bool force = false, Where where = Where::current());
    void upgrade_hub(std::string_view name, Where where = Where::current());
    std::vector<Problem> check_hub(std::string_view name, Where where = Where::current());
    // No value restores the default.
    void set_hub_option(std::string_view name, std::string_view option, const OptionalText& value,
                        Where where = Where::current());
    void grant_hub(std::string_view name, std::string_view role, std::string_view level,
                   Where where = Where::current());
    void revoke_hub(std::string_view name, std::string_view role, std::string_view level,
                    Where where = Where::current());
    int new_incarnation(const OptionalText& name = {}, Where where = Where::current());
    // The way to a hub of another database: a foreign server, with a user mapping.
    void create_hub_link(std::string_view hub, std::string_view target_hub, std::string_view server,
                         Where where = Where::current());
    void drop_hub_link(std::string_view hub, std::string_view target_hub,
                       Where where = Where::current());
    bool start_worker(Where where = Where::current());
    bool stop_worker(Where where = Where::current());
    std::string metrics(Where where = Where::current());
    void stat_reset(Where where = Where::current());
    std::vector<HubInfo> hubs(Where where = Where::current());
    std::vector<HubOption> hub_options(std::string_view name, Where where = Where::current());
    std::vector<QueueStats> queue_stats(Where where = Where::current());
    // For members of pg_monitor.
    std::vector<BackgroundWorker> workers(Where where = Where::current());

 private:
    Connection* connection_;
};

// An identifier as SQL has it: in double quotes.
std::string quoted_identifier(std::string_view name);

}  // namespace belay
