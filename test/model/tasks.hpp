// The tasks of a hub in memory: their rules, written as plainly as possible.
//
// As in Hub, a call that throws may leave it half changed: callers work on a copy.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace belay::test::model {

// Cases of the rules that a run is to meet.
enum class TaskCase {
    kPassedHeld,
    kPassedPaused,
    kPassedIncapable,
    kPassedDeadline,
    kTookDueDelayed,
    kReclaimed,
    kReclaimsExhausted,
    kExpiryRetried,
    kExpiryFailed,
    kAttemptTimedOut,
    kCheckMoved,
    kDeadlinePassed,
    kLeaseCapped,
    kRetried,
    kRetriedAfter,
    kRetriesExhausted,
    kKeyKnown,
    kKeyTakenOver,
    kIdKnown,
    kCompletedTwice,
    kStaleEpoch,
    kOtherSecret,
    kExpiredLease,
    kCancelledActive,
    kCancelledAgain,
    kReplayed,
    kDeadlineCleared,
    kRevoked,
    kReordered,
    kPromoted,
    kDeleted,
    kCount
};

constexpr std::array<const char*, static_cast<std::size_t>(TaskCase::kCount)> kTaskCaseNames = {
    "claim that passed over a task that another transaction holds",
    "claim that passed over a paused queue",
    "claim that passed over a task that needs more capabilities (TQ-2)",
    "claim that passed over a task whose deadline has passed (TS-2)",
    "claim of a delayed task that was due (TQ-5)",
    "expired lease, the attempt goes on (TR-3)",
    "expired lease, reclaims exhausted (TR-3)",
    "expired lease, the attempt retried (TR-3)",
    "expired lease, the task failed (TR-3)",
    "attempt timed out (TS-1)",
    "check of a renewed lease moved (TD-2)",
    "execution deadline passed (TS-2)",
    "lease capped by a deadline (TL-4)",
    "failure retried after a backoff (TR-1)",
    "failure retried at a chosen time (TR-1)",
    "failure that ended the task (TR-2)",
    "dedup key known (TC-5)",
    "dedup key taken over (TC-5)",
    "task id known (TC-4)",
    "completion repeated (TW-3)",
    "call with an old epoch (TW-1)",
    "lease of a claim that was rolled back, its epoch given again (LE-4, LE-5)",
    "call with an expired lease (TW-1)",
    "active task cancelled (TO-1)",
    "cancel repeated (TO-2)",
    "task replayed (TO-8)",
    "deadline cleared by a replay (TO-9)",
    "lease revoked (TO-6)",
    "priority changed (TO-7)",
    "delayed task promoted by the duty (TD-3)",
    "task deleted",
};

// ---- What is stored ----

struct TaskPolicy {
    int64_t max_attempts = 4;
    int64_t first_wait = 1000;  // doubled for each further retry
    int64_t longest_wait = 60000;
    std::optional<int64_t> attempt_timeout;
    bool expiry_retries = false;
    int64_t max_reclaims = 100;
    int64_t max_replays = 10;
};

struct Task {
    std::string id;
    std::string queue;
    std::set<std::string> needs;  // capabilities
    TaskPolicy policy;
    Text dedup_key;
    int64_t created = 0;

    std::string state = "ready";
    std::string pending = "initial";
    int priority = 0;
    int64_t epoch = 0;
    std::optional<int64_t> lease_until;
    std::optional<int64_t> lease_check;
    Text worker;  // of the lease
    Text lease;   // as a text, if receive has told it: of the last lease
    std::optional<int64_t> available;
    std::optional<int64_t> deadline;
    std::optional<int64_t> attempt_started;
    std::optional<int64_t> attempt_deadline;
    Text attempt_kind;
    Text attempt_worker;
    std::optional<int64_t> started;
    int64_t updated = 0;
    std::optional<int64_t> ended;
    int attempt = 0;
    int leases = 0;  // of the attempt
    int retries = 0;
    int reclaims = 0;
    int replays = 0;
    Text result;
    Text failure_class;
    Text failure_message;
    Text cancel_reason;
    Text cancelled_by;

    bool is_active() const { return state == "active"; }
    bool is_over() const { return ended.has_value(); }
    bool is_past_deadline(int64_t now) const { return deadline && *deadline <= now; }
    bool is_eligible(int64_t now) const {
        return state == "ready" || (state == "delayed" && *available <= now);
    }
    bool is_live(int64_t now) const { return is_active() && *lease_until > now; }
};

struct Attempt {
    std::string task;
    int index = 0;
    int leases = 0;
    int64_t epoch = 0;
    int64_t started = 0;
    int64_t ended = 0;
    std::string kind;
    std::string outcome;
    std::string worker;
    Text error_class;
};

struct DedupKey {
    std::string task;
    int64_t window_until = 0;
};

// ---- What calls ask for ----

struct NewTask {
    Task task;  // id, queue, needs, policy, dedup_key, priority, deadline
    int64_t delay = 0;
    std::optional<int64_t> available;
    int64_t window = 0;
};
struct CreatedTask {
    std::string id;
    std::string state;
    bool created;
};

struct Claim {
    std::optional<std::set<std::string>> queues;
    std::set<std::string> capabilities;
    std::string worker;
    int64_t lease_ms = 0;
    int max = 1;
    int64_t now = 0;
    int64_t server_now = 0;
};

// With its epoch alone, or as the text of the front door.
struct LeaseOf {
    std::string task;
    int64_t epoch = 0;
    Text text = std::nullopt;
};

struct TaskFailure {
    std::string failure_class;
    Text message;
    std::optional<int64_t> retry_after;
};

class Tasks {
 public:
    Table<std::string, Task> rows;
    Table<std::pair<std::string, int>, Attempt> attempts;
    Table<std::pair<std::string, std::string>, DedupKey> keys;
    std::set<std::string> paused;

    std::array<int, kTaskCaseNames.size()> met{};

    void end(int client, bool commit);

    CreatedTask create(int client, const NewTask& wanted, int64_t now);
    // In the order of the answer.
    std::vector<Task> claim(int client, const Claim& claim);
    // The end of the lease, and whether a deadline has limited it.
    std::pair<int64_t, bool> renew(int client, const LeaseOf& lease, int64_t lease_ms, int64_t now);
    Task complete(int client, const LeaseOf& lease, const Text& result, int64_t now);
    Task fail(int client, const LeaseOf& lease, const TaskFailure& failure, int64_t now);
    Task delay(int client, const LeaseOf& lease, int64_t delay, int64_t now);
    Task release(int client, const LeaseOf& lease, int64_t delay, int64_t now);
    // The state before. source: whom the row names.
    std::string cancel(int client, const std::string& id, const std::string& reason,
                       const std::string& source, int64_t now);
    // The task, and whether it had a lease.
    std::pair<Task, bool> revoke(int client, const std::string& id, int64_t now);
    int change_priority(int client, const std::string& id, int priority, int64_t now);
    Task replay(int client, const std::string& id, int64_t now);
    bool remove(int client, const std::string& id);

    // How many rows the duty changed.
    int64_t expire_leases(int client, int64_t now, int limit = 500);
    int64_t expire_deadlines(int client, int64_t now);
    int64_t promote(int client, int64_t now);

 private:
    void meet(TaskCase which, bool condition = true) {
        met[static_cast<std::size_t>(which)] += condition ? 1 : 0;
    }

    // Holds a task that the client sees. Raises QB002.
    Task& hold(int client, const std::string& id);
    Task& hold_leased(int client, const LeaseOf& lease, int64_t now);
    Task& hold_by_text(int client, const LeaseOf& lease, int64_t now);
    void end_lease(Task* task, const std::string& state, int64_t now);
    void end_attempt(int client, Task* task, const std::string& outcome,
                     const std::optional<TaskFailure>& failure, int64_t now);
    void put_back(Task* task, const std::string& pending, int64_t available, int64_t now);
    void finish(int client, Task* task, const std::string& state, const std::string& outcome,
                const std::optional<TaskFailure>& failure, int64_t now);
    // Retries the attempt, or ends the task in that state. Returns whether it is retried.
    bool fail_attempt(int client, Task* task, const TaskFailure& failure,
                      const std::string& retry_outcome, const std::string& last_outcome,
                      const std::string& last_state, int64_t now);
    // What has fallen due of a held task. False: nothing.
    bool settle(int client, Task* task, int64_t now);
};

}  // namespace belay::test::model
