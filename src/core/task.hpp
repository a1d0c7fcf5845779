// Words of a task, policies and retries, epochs, and which rows may be stored. What happens to a
// row is in core/transitions/task.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/json.hpp"
#include "core/time.hpp"
#include "core/words.hpp"

namespace belay::core {

// ---- States ----

enum class TaskState : int {
    kBlocked,
    kDelayed,
    kReady,
    kActive,
    kSuspended,
    kCompleted,
    kFailed,
    kCancelled,
    kExpired,
    kSkipped,
};
inline constexpr std::string_view kTaskStateNames[] = {
    "blocked",   "delayed", "ready",     "active",  "suspended",
    "completed", "failed",  "cancelled", "expired", "skipped",
};

constexpr std::string_view name_of(TaskState state) {
    return kTaskStateNames[static_cast<int>(state)];
}

constexpr bool is_terminal(TaskState state) {
    return state >= TaskState::kCompleted;
}

// The outcome of a terminal state; "none" of any other.
constexpr std::string_view outcome_of(TaskState state) {
    return state == TaskState::kCompleted ? "success"
           : is_terminal(state)           ? name_of(state)
                                          : "none";
}

constexpr std::optional<TaskState> parse_task_state(std::string_view word) {
    return parse_word<TaskState>(kTaskStateNames, word);
}

// What the next claim begins (the first three), or continues with.
enum class Pending : int { kInitial, kRetry, kReplay, kReclaim, kSnooze, kResume };
inline constexpr std::string_view kPendingNames[] = {"initial", "retry",  "replay",
                                                     "reclaim", "snooze", "resume"};

constexpr std::string_view name_of(Pending pending) {
    return kPendingNames[static_cast<int>(pending)];
}

constexpr std::optional<Pending> parse_pending(std::string_view word) {
    return parse_word<Pending>(kPendingNames, word);
}

constexpr bool continues_attempt(Pending pending) {
    return pending >= Pending::kReclaim;
}

// How an attempt ended.
enum class AttemptOutcome : int { kSuccess, kRetry, kFailed, kTimedOut, kCancelled, kExpired };
inline constexpr std::string_view kAttemptOutcomeNames[] = {"success",   "retry",     "failed",
                                                            "timed_out", "cancelled", "expired"};

constexpr std::string_view name_of(AttemptOutcome outcome) {
    return kAttemptOutcomeNames[static_cast<int>(outcome)];
}

// Why an attempt failed.
enum class FailureClass : int { kTransient, kPermanent, kTimeout, kInfraCrash, kCancelled };
inline constexpr std::string_view kFailureClassNames[] = {"transient", "permanent", "timeout",
                                                          "infra_crash", "cancelled"};

constexpr std::string_view name_of(FailureClass failure) {
    return kFailureClassNames[static_cast<int>(failure)];
}

constexpr std::optional<FailureClass> parse_failure_class(std::string_view word) {
    return parse_word<FailureClass>(kFailureClassNames, word);
}

// ---- Priorities ----

inline constexpr int32_t kMaxPriority = 9000;

constexpr int32_t clamp_priority(int32_t priority) {
    return priority < 0 ? 0 : priority > kMaxPriority ? kMaxPriority : priority;
}

// ---- Policies ----

struct Policy {
    int64_t max_attempts = 4;  // 0: no limit
    bool exponential = true;
    int64_t delay_ms = 1000;  // the first wait, or each
    int64_t max_delay_ms = 60000;
    double multiplier = 2.0;
    double jitter = 0.0;
    uint32_t retryable = 1U << static_cast<int>(FailureClass::kTransient) |
                         1U << static_cast<int>(FailureClass::kTimeout) |
                         1U << static_cast<int>(FailureClass::kInfraCrash);
    std::optional<int64_t> attempt_timeout_ms;
    bool expiry_fails = false;  // on_lease_expiry = retry
    int64_t max_reclaims = 100;
    int64_t max_replays = 10;
    int64_t max_signals = 10000;
};

// Where a policy is not one: the key, or key.key, and a word for the problem.
struct PolicyFault {
    const char* path;
    const char* code_detail;
    std::string_view unknown;  // the raw key, quotes included, if that is the problem
};

// Lays the keys of the object over the policy. A key that is null stands for the built-in value. A
// fault leaves the policy in an undefined state.
std::optional<PolicyFault> lay_over(json::Value object, Policy* policy);

// Whether a failure of this class may be retried, with so many retries made.
constexpr bool may_retry(const Policy& policy, FailureClass failure, int64_t retry_count) {
    return (policy.retryable >> static_cast<int>(failure) & 1U) != 0 &&
           (policy.max_attempts == 0 || retry_count + 1 < policy.max_attempts);
}

// The wait before retry number n, from 0. random is from [0, 1).
int64_t backoff_ms(const Policy& policy, int64_t n, double random);

// ---- Leases ----

inline constexpr int64_t kMaxLeaseMs = 86'400'000;

// The deadline of a lease that is asked to last until wanted.
struct CappedDeadline {
    int64_t until;
    bool capped;
};
constexpr CappedDeadline cap_deadline(int64_t wanted, std::optional<int64_t> attempt_deadline,
                                      std::optional<int64_t> deadline) {
    int64_t until = wanted;
    if (attempt_deadline && *attempt_deadline < until) {
        until = *attempt_deadline;
    }
    if (deadline && *deadline < until) {
        until = *deadline;
    }
    return {until, until < wanted};
}

// ---- Epochs ----

// Epochs of one incarnation of a hub: the floor of the next one lies so much higher.
inline constexpr int64_t kEpochsPerIncarnation = int64_t{1} << 46;

// The epoch of the next lease, from the epoch in the row: at least one more, and by a random step
// of up to 2^24. So an epoch that was handed out and then forgotten, by a rollback or a crash, is
// not given to another lease. The steps shrink when an incarnation's epochs run short: after four
// million claims of one task.
int64_t next_epoch(int64_t epoch, int64_t floor, uint32_t random);

// ---- Rows ----

// What of a task's row depends on each other: which columns are null, and a few values.
struct TaskRow {
    std::string_view state;
    std::string_view pending;
    std::string_view attempt_kind;  // empty for null
    bool has_lease_owner;
    bool has_lease_worker;
    bool has_lease_until;
    bool has_lease_check;
    bool has_available_at;
    bool has_terminal_at;
    bool has_attempt_started;
    bool has_attempt_deadline;
    bool has_attempt_worker;
    bool has_attempt_instance;
    int64_t attempt_leases;
    int64_t priority;
    int64_t least;  // of all that must not be negative
};

// Whether such a row may be stored: the CHECK of table tasks.
bool is_sound(const TaskRow& row);

}  // namespace belay::core
