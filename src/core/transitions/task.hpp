// The rules of a task's row: when it may be claimed, which lease opens it, what falls due, and what
// a claim, a renewal, a return to the queue, a suspension, an end and a replay make of it.
//
// Pure: rows in, rows out. The store reads a row, asks here, and writes the answer. Columns that no
// rule reads (names of workers, results, failures) follow from it: see store/task_rows.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/task.hpp"
#include "core/time.hpp"

namespace belay::core {

// What the rules know of a row.
struct TaskLife {
    TaskState state = TaskState::kReady;
    Pending pending = Pending::kInitial;
    // Of the attempt that runs or is paused, or that has completed the task.
    std::optional<Pending> attempt_kind = std::nullopt;
    int64_t lease_epoch = 0;
    std::optional<int64_t> lease_until = std::nullopt;
    std::optional<int64_t> lease_check = std::nullopt;  // when a duty looks at the lease
    std::optional<int64_t> available_at = std::nullopt;
    int64_t start_delay = 0;
    std::optional<int64_t> deadline = std::nullopt;
    std::optional<int64_t> attempt_started = std::nullopt;
    std::optional<int64_t> attempt_deadline = std::nullopt;
    std::optional<int64_t> started_at = std::nullopt;
    int64_t updated_at = 0;
    std::optional<int64_t> terminal_at = std::nullopt;
    int32_t priority = 0;
    int32_t attempt_index = 0;
    int32_t attempt_leases = 0;
    int32_t retry_count = 0;
    int32_t reclaim_count = 0;
    int32_t replay_count = 0;
    bool held = false;  // blocked until its flow is sealed

    constexpr bool is_active() const { return state == TaskState::kActive; }
    // Running or paused.
    constexpr bool has_attempt() const { return attempt_started && !is_terminal(state); }
    // The epoch of the lease that is, or was last, held.
    constexpr int64_t last_lease_epoch() const {
        return is_active() ? lease_epoch : lease_epoch - 1;
    }

    bool operator==(const TaskLife&) const = default;
};

// ---- The queue ----

// Where a task waits that may be claimed from then on.
constexpr TaskState queue_state(int64_t available_at, int64_t now) {
    return available_at <= now ? TaskState::kReady : TaskState::kDelayed;
}

// Ready, or delayed and due.
constexpr bool is_eligible(const TaskLife& row, int64_t now) {
    return row.state == TaskState::kReady ||
           (row.state == TaskState::kDelayed && row.available_at.value_or(0) <= now);
}

constexpr bool is_past_deadline(const TaskLife& row, int64_t now) {
    return row.deadline && *row.deadline <= now;
}

// Whether a claim may take the row.
constexpr bool is_claimable(const TaskLife& row, int64_t now) {
    return is_eligible(row, now) && !is_past_deadline(row, now);
}

// A new task.
constexpr TaskLife created(int32_t priority, int64_t available_at, std::optional<int64_t> deadline,
                           int64_t now) {
    return {.state = queue_state(available_at, now),
            .available_at = available_at,
            .deadline = deadline,
            .updated_at = now,
            .priority = priority};
}

// A delayed task that is due.
constexpr TaskLife promoted(const TaskLife& row, int64_t now) {
    TaskLife after = row;
    after.state = TaskState::kReady;
    after.updated_at = now;
    return after;
}

// A blocked member of a flow that waits for nothing any more: its delay begins now.
constexpr TaskLife unblocked(const TaskLife& row, int64_t now) {
    TaskLife after = row;
    const int64_t begins = add_ms(now, row.start_delay);
    after.available_at = std::max(begins, row.available_at.value_or(begins));
    after.state = queue_state(*after.available_at, now);
    after.updated_at = now;
    return after;
}

constexpr TaskLife blocked(const TaskLife& row, int64_t now) {
    TaskLife after = row;
    after.state = TaskState::kBlocked;
    after.updated_at = now;
    return after;
}

constexpr TaskLife unheld(const TaskLife& row, int64_t now) {
    TaskLife after = row;
    after.held = false;
    after.updated_at = now;
    return after;
}

constexpr TaskLife with_priority(const TaskLife& row, int32_t priority, int64_t now) {
    TaskLife after = row;
    after.priority = priority;
    after.updated_at = now;
    return after;
}

// Changed, for what is stored elsewhere.
constexpr TaskLife touched(const TaskLife& row, int64_t now) {
    TaskLife after = row;
    after.updated_at = now;
    return after;
}

// ---- Leases ----

// Whether a claim begins an attempt, or continues with one.
constexpr bool begins_attempt(const TaskLife& row) {
    return !continues_attempt(row.pending);
}

// A lease that is granted.
struct LeaseTerms {
    int64_t epoch;
    int64_t until;
    std::optional<int64_t> attempt_deadline;
};

// The lease that a claim grants. An attempt whose deadline passed while it was paused gets a new
// one.
constexpr LeaseTerms lease_terms(const TaskLife& row, std::optional<int64_t> attempt_timeout,
                                 int64_t lease_ms, int64_t epoch, int64_t now) {
    const bool anew = begins_attempt(row) || (row.attempt_deadline && *row.attempt_deadline <= now);
    std::optional<int64_t> attempt_deadline = row.attempt_deadline;
    if (anew) {
        attempt_deadline =
            attempt_timeout ? std::optional(add_ms(now, *attempt_timeout)) : std::nullopt;
    }
    if (attempt_deadline == kNever) {
        attempt_deadline = std::nullopt;
    }
    return {.epoch = epoch,
            .until = cap_deadline(add_ms(now, lease_ms), attempt_deadline, row.deadline).until,
            .attempt_deadline = attempt_deadline};
}

// A claim.
constexpr TaskLife claimed(const TaskLife& row, const LeaseTerms& terms, int64_t now) {
    TaskLife after = row;
    after.state = TaskState::kActive;
    after.lease_epoch = terms.epoch;
    after.lease_until = terms.until;
    after.lease_check = terms.until;
    after.attempt_deadline = terms.attempt_deadline;
    after.attempt_leases = row.attempt_leases + 1;
    if (begins_attempt(row)) {
        after.attempt_index = row.attempt_index + 1;
        after.attempt_kind = row.pending;
        after.attempt_started = now;
    }
    after.started_at = row.started_at.value_or(now);
    after.updated_at = now;
    return after;
}

// The deadline of a lease that is renewed. A renewal never takes time away; the task's deadlines
// do.
constexpr CappedDeadline renewal(const TaskLife& row, int64_t lease_ms, int64_t now) {
    return cap_deadline(std::max(add_ms(now, lease_ms), *row.lease_until), row.attempt_deadline,
                        row.deadline);
}

// A renewal moves the deadline only: a duty looks at the lease when it would have ended first.
constexpr TaskLife renewed(const TaskLife& row, int64_t until) {
    TaskLife after = row;
    after.lease_until = until;
    return after;
}

// The duty has looked: next when the lease ends now.
constexpr TaskLife checked(const TaskLife& row) {
    TaskLife after = row;
    after.lease_check = row.lease_until;
    return after;
}

constexpr bool is_lease_live(const TaskLife& row, int64_t epoch_floor, int64_t now) {
    return row.is_active() && row.lease_epoch >= epoch_floor &&
           row.lease_until.value_or(kBeforeAll) > now;
}

// Why a lease does not open a task.
enum class TaskFault { kNone, kTerminal, kNotActive, kOtherEpoch, kUnknown, kExpired };

// Of a lease of which the epoch is known: whether it is the task's, live or not.
constexpr TaskFault fault_of_epoch(const TaskLife& row, int64_t epoch) {
    if (is_terminal(row.state)) {
        return TaskFault::kTerminal;
    }
    if (!row.is_active()) {
        return TaskFault::kNotActive;
    }
    return row.lease_epoch == epoch ? TaskFault::kNone : TaskFault::kOtherEpoch;
}

// The same, and it has to be live.
constexpr TaskFault fault_of_live_epoch(const TaskLife& row, int64_t epoch, int64_t epoch_floor,
                                        int64_t now) {
    const TaskFault fault = fault_of_epoch(row, epoch);
    return fault == TaskFault::kNone && !is_lease_live(row, epoch_floor, now) ? TaskFault::kExpired
                                                                              : fault;
}

// Whether the task was completed under this epoch.
constexpr bool was_completed_under(const TaskLife& row, int64_t epoch) {
    return row.state == TaskState::kCompleted && row.lease_epoch == add_ms(epoch, 1);
}

// Of a lease with its secret: has_secret says whether incarnation and nonce are those of the row.
constexpr TaskFault fault_of_lease(const TaskLife& row, int64_t epoch, bool has_secret,
                                   int64_t epoch_floor, int64_t now) {
    const TaskFault fault = fault_of_epoch(row, epoch);
    if (fault == TaskFault::kNotActive) {
        return TaskFault::kOtherEpoch;
    }
    if (fault != TaskFault::kNone) {
        return fault;
    }
    if (!has_secret) {
        return TaskFault::kUnknown;
    }
    return is_lease_live(row, epoch_floor, now) ? TaskFault::kNone : TaskFault::kExpired;
}

// ---- A lease ends ----

constexpr TaskLife without_lease(const TaskLife& row, TaskState state, int64_t now) {
    TaskLife after = row;
    after.state = state;
    after.updated_at = now;
    after.lease_epoch = row.lease_epoch + (row.is_active() ? 1 : 0);
    after.lease_until = std::nullopt;
    after.lease_check = std::nullopt;
    return after;
}

constexpr TaskLife without_attempt(const TaskLife& row) {
    TaskLife after = row;
    after.attempt_kind = std::nullopt;
    after.attempt_started = std::nullopt;
    after.attempt_deadline = std::nullopt;
    after.attempt_leases = 0;
    return after;
}

// Back to the queue.
struct Return {
    Pending pending;
    int64_t available_at;
    bool ends_attempt;  // otherwise it is paused
    int32_t retries = 0;
    int32_t reclaims = 0;
};
constexpr TaskLife returned(const TaskLife& row, const Return& how, int64_t now) {
    TaskLife after = without_lease(row, queue_state(how.available_at, now), now);
    after.pending = how.pending;
    after.available_at = how.available_at;
    after.retry_count += how.retries;
    after.reclaim_count += how.reclaims;
    return how.ends_attempt ? without_attempt(after) : after;
}

// Waits for signals, the attempt paused.
constexpr TaskLife suspended(const TaskLife& row, int64_t now) {
    TaskLife after = without_lease(row, TaskState::kSuspended, now);
    after.pending = Pending::kResume;
    after.available_at = std::nullopt;
    return after;
}

constexpr TaskLife resumed(const TaskLife& row, int64_t available_at, int64_t now) {
    TaskLife after = row;
    after.state = queue_state(available_at, now);
    after.available_at = available_at;
    after.updated_at = now;
    return after;
}

// The end. A completed task keeps the attempt that completed it.
constexpr TaskLife finished(const TaskLife& row, TaskState state, int64_t now) {
    TaskLife after = without_lease(row, state, now);
    if (state == TaskState::kCompleted) {
        after.attempt_deadline = std::nullopt;
    } else {
        after = without_attempt(after);
    }
    after.available_at = std::nullopt;
    after.terminal_at = now;
    return after;
}

// A replay: ready, or blocked. A deadline that has passed is gone.
constexpr TaskLife reopened(const TaskLife& row, TaskState state, int64_t now) {
    TaskLife after = without_attempt(row);
    after.state = state;
    after.pending = Pending::kReplay;
    after.available_at = state == TaskState::kReady ? std::optional(now) : std::nullopt;
    after.deadline = is_past_deadline(row, now) ? std::nullopt : row.deadline;
    after.updated_at = now;
    after.terminal_at = std::nullopt;
    after.lease_epoch = row.lease_epoch + 1;
    after.retry_count = 0;
    after.reclaim_count = 0;
    after.replay_count = row.replay_count + 1;
    return after;
}

// ---- What falls due ----

enum class Due { kNothing, kDeadline, kAttemptDeadline, kLease, kSuspension };

// The first of the things that have fallen due, in the one order for all calls: execution deadline,
// attempt deadline, lease, timeout of a suspension. A lease with an epoch below the floor was
// granted in an earlier incarnation, and is over.
constexpr Due first_due(const TaskLife& row, int64_t epoch_floor,
                        std::optional<int64_t> suspension_timeout, int64_t now) {
    if (is_terminal(row.state)) {
        return Due::kNothing;
    }
    if (is_past_deadline(row, now)) {
        return Due::kDeadline;
    }
    if (row.state == TaskState::kSuspended) {
        return suspension_timeout && *suspension_timeout <= now ? Due::kSuspension : Due::kNothing;
    }
    if (!row.is_active()) {
        return Due::kNothing;
    }
    if (row.attempt_deadline && *row.attempt_deadline <= now) {
        return Due::kAttemptDeadline;
    }
    return is_lease_live(row, epoch_floor, now) ? Due::kNothing : Due::kLease;
}

}  // namespace belay::core
