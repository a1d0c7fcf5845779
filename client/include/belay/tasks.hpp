// Tasks: created in detail, watched and steered, by clients and operators.
//
//     const belay::Uuid id = belay::Queue(hub, "mail").send(payload);
//     const auto done = hub.tasks().await(id, 30s);   // state and result
//
// Times are instants; durations are measured by the hub's clock.
//
// Thread-safety: none; as the hub's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/queue.hpp"

namespace belay {

// ---- Creating. ----

struct NewTask {
    std::string queue;
    Json payload = nullptr;
    // With an id or a key the call may be repeated: the task is created once.
    std::optional<Uuid> id = {};  // one is made up otherwise
    std::string kind = {};
    int priority = 0;
    Milliseconds delay{0};
    OptionalTime available_at = {};
    // An instant, or a time from the creation on. Of two the earlier counts.
    OptionalTime deadline = {};
    std::optional<Milliseconds> deadline_in = {};
    std::vector<std::string> capabilities = {};
    std::optional<TaskPolicy> policy = {};
    OptionalText key = {};
    std::optional<Milliseconds> key_window = {};
    std::optional<Json> headers = {};  // an object
};

struct CreatedTask {
    Uuid id;
    Word<TaskState> state;
    bool created = false;  // false: it existed before, or a run whose answer was lost has made it
};

// ---- Watching. ----

struct TaskStatus {
    Uuid id;
    std::string queue;
    std::string kind;
    Word<TaskState> state;
    int attempt = 0;
    std::optional<Json> result;
    OptionalText error;
    std::optional<Word<FailureClass>> error_class;
    std::optional<double> percent;
    OptionalText message;
    OptionalText worker;
    Time created_at;
    OptionalTime available_at;
    OptionalTime started_at;
    OptionalTime lease_until;
    OptionalTime deadline;
    OptionalTime finished_at;
};

struct TaskResult {
    Word<TaskState> state;
    std::optional<Json> result;

    bool ended() const { return has_ended(state); }
};

// How the next attempt of a task begins.
enum class PendingAttempt { kInitial, kRetry, kReplay, kReclaim, kSnooze, kResume, kOther };
template <>
struct Words<PendingAttempt> {
    static constexpr std::string_view kTexts[] = {"initial", "retry",  "replay",
                                                  "reclaim", "snooze", "resume"};
};

struct TaskInfo {
    Uuid id;
    Word<TaskState> state;
    std::string queue;
    std::string kind;
    int priority = 0;
    std::optional<Uuid> flow_id;
    OptionalText flow_key;
    std::optional<Word<PendingAttempt>> pending_attempt;
    int attempt = 0;
    int retry_count = 0;
    int reclaim_count = 0;
    int replay_count = 0;
    OptionalTime available_at;
    OptionalTime deadline;
    OptionalText worker;
    OptionalText worker_instance;
    std::int64_t lease_epoch = 0;
    OptionalTime lease_until;
    std::optional<Word<FailureClass>> failure_class;
    OptionalText cancel_reason;
    Json headers;
    OptionalTime created_at;
    OptionalTime updated_at;
    OptionalTime ended_at;
};

struct TaskFilter {
    OptionalText queue = {};
    std::vector<TaskState> states = {};
    OptionalText kind = {};
    OptionalText worker = {};
    OptionalText worker_instance = {};
    std::optional<Json> headers = {};  // those that have all of these
    OptionalTime created_from = {};
    OptionalTime created_before = {};
    std::optional<Uuid> after = {};  // the last id of the page before
    int limit = 100;

    Json json() const;
};

struct ExpiredLease {
    Uuid task_id;
    std::string queue;
    std::string lease_id;
    std::int64_t lease_epoch = 0;
    Time lease_until;
    std::string worker;
    std::string worker_instance;
    int attempt = 0;
};

// Both keys of a page are those of the last row of the page before.
struct ExpiredLeasePage {
    OptionalTime as_of = {};  // the hub's clock otherwise
    OptionalText queue = {};
    OptionalTime after = {};
    std::optional<Uuid> after_id = {};
    int limit = 1000;
};

// Why workers do not receive a task, or kClaimable; docs/sql-reference.md has what each means.
enum class ClaimCase {
    kClaimable,
    kBehind,
    kNotFound,
    kTerminal,
    kLeased,
    kLeaseOverUnsettled,
    kNotDue,
    kDeadlinePassed,
    kSuspended,
    kHubPaused,
    kQueuePaused,
    kQueueConcurrency,
    kQueueRate,
    kQueueLimitsLocked,
    kCapabilitiesMissing,
    kCapabilitiesNeeded,
    kSlotNotGiven,
    kRowLocked,
    kBlockedByUpstream,
    kUpstreamNeedsReplay,
    kHeldUntilSeal,
    kOther
};
template <>
struct Words<ClaimCase> {
    static constexpr std::string_view kTexts[] = {"claimable",
                                                  "behind",
                                                  "not_found",
                                                  "terminal",
                                                  "leased",
                                                  "lease_over_unsettled",
                                                  "not_due",
                                                  "deadline_passed",
                                                  "suspended",
                                                  "hub_paused",
                                                  "queue_paused",
                                                  "queue_concurrency",
                                                  "queue_rate",
                                                  "queue_limits_locked",
                                                  "capabilities_missing",
                                                  "capabilities_needed",
                                                  "slot_not_given",
                                                  "row_locked",
                                                  "blocked_by_upstream",
                                                  "upstream_needs_replay",
                                                  "held_until_seal"};
};

struct ClaimReason {
    Word<ClaimCase> reason;
    std::optional<Json> detail;
};

// A finding of a check.
struct Problem {
    std::string object;
    std::string problem;
};

// ---- Steering. ----

// The state for users.
enum class PublicState {
    kWaiting,
    kWaitingChildren,
    kDelayed,
    kRateLimited,
    kResumable,
    kActive,
    kSuspended,
    kCompleted,
    kFailed,
    kCancelled,
    kExpired,
    kSkipped,
    kOther
};
template <>
struct Words<PublicState> {
    static constexpr std::string_view kTexts[] = {
        "waiting",   "waiting_children", "delayed", "rate_limited", "resumable", "active",
        "suspended", "completed",        "failed",  "cancelled",    "expired",   "skipped"};
};

struct CancelledTask {
    Uuid id;
    Word<PublicState> public_state;  // the state for users
    Word<TaskState> previous_state;
    bool effective = false;  // false: it was cancelled before, perhaps by a run of this call
};

// The lease to revoke; without a value, the one that the task has now.
struct RevokeTarget {
    std::string worker_instance = {};
    std::string lease_id = {};
    OptionalNumber epoch = {};
};

enum class NotRevoked { kNoActiveLease, kOtherWorkerInstance, kOtherLease, kEpochMoved, kOther };
template <>
struct Words<NotRevoked> {
    static constexpr std::string_view kTexts[] = {"no_active_lease", "different_worker_instance_id",
                                                  "lease_id_mismatch", "epoch_moved"};
};

struct RevokedLease {
    bool revoked = false;  // false: there was nothing to revoke, for this reason
    std::optional<Word<NotRevoked>> reason;
    OptionalText lease_id;
    OptionalNumber lease_epoch;
};

struct ChangedPriority {
    Uuid id;
    int old_priority = 0;
    int new_priority = 0;
};

struct ReplayedTask {
    Uuid id;
    Word<PublicState> public_state;
    int replay_count = 0;
    std::vector<Uuid> reopened;
    std::vector<Uuid> waiting_on;
};

// hub.tasks()
class Tasks : public HubPart {
 public:
    using HubPart::HubPart;

    CreatedTask create(const NewTask& task, Where where = Where::current());
    // In the order of the tasks; all or none.
    std::vector<CreatedTask> create_many(const std::vector<NewTask>& tasks,
                                         Where where = Where::current());

    // None: there is no such task.
    std::optional<TaskStatus> status(const Uuid& id, Where where = Where::current());
    // Waits until the task has ended, at most for the timeout, and returns how it is then. Not
    // inside a transaction. Throws Error with not_found() if there is none.
    TaskResult await(const Uuid& id, Milliseconds timeout = Milliseconds(30000),
                     Where where = Where::current());
    // Cancels the task; a worker that has it loses the lease. False: it had ended already.
    bool cancel(const Uuid& id, std::string_view reason = "", Where where = Where::current());

    // For operators.
    // Runs a task again that failed permanently, expired or was cancelled.
    void retry(const Uuid& id, Where where = Where::current());
    // Cancels the task in any state, and returns what was changed.
    CancelledTask force_cancel(const Uuid& id, std::string_view reason = "",
                               Where where = Where::current());
    RevokedLease revoke_lease(const Uuid& id, std::string_view reason = "",
                              const RevokeTarget& target = {}, Where where = Where::current());
    ChangedPriority change_priority(const Uuid& id, int priority, Where where = Where::current());
    // Runs an ended task once more; cascade: also the members of its flow that follow it.
    ReplayedTask replay(const Uuid& id, bool cascade = false, Where where = Where::current());
    bool remove(const Uuid& id, Where where = Where::current());

    // All about a task, as JSON; none if there is none.
    std::optional<Json> get(const Uuid& id, Where where = Where::current());
    std::vector<TaskInfo> list(const TaskFilter& filter = {}, Where where = Where::current());
    std::vector<ExpiredLease> expired_leases(const ExpiredLeasePage& page = {},
                                             Where where = Where::current());
    // Why workers do not receive a task.
    std::vector<ClaimReason> explain(
        const Uuid& id, const std::optional<std::vector<std::string>>& capabilities = {},
        const std::optional<std::vector<std::int32_t>>& slots = {}, Where where = Where::current());
    std::vector<Problem> check(const std::optional<Uuid>& flow_id = {},
                               Where where = Where::current());
};

}  // namespace belay
