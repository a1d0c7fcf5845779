#include "tasks.hpp"

#include <algorithm>
#include <tuple>

namespace belay::test::model {

namespace {

std::string queued(int64_t available, int64_t now) {
    return available <= now ? "ready" : "delayed";
}

int64_t capped(const Task& task, int64_t until) {
    return std::min({until, task.attempt_deadline.value_or(until), task.deadline.value_or(until)});
}

// TR-1.
int64_t backoff(const Task& task) {
    int64_t wait = task.policy.first_wait;
    for (int i = 0; i < task.retries && wait < task.policy.longest_wait; ++i) {
        wait *= 2;
    }
    return std::min(wait, task.policy.longest_wait);
}

[[noreturn]] void refuse(const std::string& sqlstate, const std::string& code_detail,
                         const std::string& message = "") {
    throw Refused{sqlstate, message, code_detail, ""};
}

}  // namespace

void Tasks::end(int client, bool commit) {
    rows.end(client, commit);
    attempts.end(client, commit);
    keys.end(client, commit);
}

// ---- Creating ----

// TC-1, TC-4, TC-5.
CreatedTask Tasks::create(int client, const NewTask& wanted, int64_t now) {
    const Task* known = rows.find(wanted.task.id, client);
    bool takes_over = false;
    if (wanted.task.dedup_key) {
        const std::pair key(wanted.task.queue, *wanted.task.dedup_key);
        if (known == nullptr || keys.find(key, client) != nullptr) {
            std::optional<DedupKey>& row = keys.hold(key, client);
            const Task* holder = row ? rows.find(row->task, client) : nullptr;
            if (holder != nullptr && (!holder->is_over() || row->window_until > now)) {
                meet(TaskCase::kKeyKnown);
                return {holder->id, holder->state, false};
            }
            takes_over = row.has_value();
            if (known == nullptr) {
                row = DedupKey{wanted.task.id, now + wanted.window};
            }
        }
    }
    if (known != nullptr) {
        meet(TaskCase::kIdKnown);
        return {known->id, known->state, false};
    }
    meet(TaskCase::kKeyTakenOver, takes_over);
    std::optional<Task>& row = rows.hold(wanted.task.id, client);
    row = wanted.task;
    row->available = std::max({now, wanted.available.value_or(now), now + wanted.delay});
    row->state = queued(*row->available, now);
    row->created = row->updated = now;
    return {row->id, row->state, true};
}

// ---- Claiming ----

// TQ-1 to TQ-3, TQ-5, TQ-7, TS-2.
std::vector<Task> Tasks::claim(int client, const Claim& claim) {
    constexpr int kMostSettled = 32;
    (void)expire_leases(client, std::min(claim.now, claim.server_now), kMostSettled);
    std::vector<std::tuple<int, int64_t, std::string>> found;
    for (const Task* task : rows.seen_by(client)) {
        if (!task->is_eligible(claim.now) ||
            (claim.queues && !claim.queues->contains(task->queue))) {
            continue;
        }
        const bool capable = std::includes(claim.capabilities.begin(), claim.capabilities.end(),
                                           task->needs.begin(), task->needs.end());
        const bool held = rows.held_from(task->id, client);
        const bool late = task->is_past_deadline(claim.now);
        meet(TaskCase::kPassedPaused, paused.contains(task->queue));
        meet(TaskCase::kPassedIncapable, !capable);
        meet(TaskCase::kPassedHeld, held);
        meet(TaskCase::kPassedDeadline, late);
        if (!paused.contains(task->queue) && capable && !held && !late) {
            found.emplace_back(-task->priority, *task->available, task->id);
        }
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), static_cast<std::size_t>(claim.max)));
    std::vector<Task> claimed;
    for (const auto& [priority, available, id] : found) {
        Task& task = *rows.hold(id, client);
        meet(TaskCase::kTookDueDelayed, task.state == "delayed");
        const bool begins =
            task.pending == "initial" || task.pending == "retry" || task.pending == "replay";
        if (begins || (task.attempt_deadline && *task.attempt_deadline <= claim.now)) {
            task.attempt_deadline = task.policy.attempt_timeout
                                        ? std::optional(claim.now + *task.policy.attempt_timeout)
                                        : std::nullopt;
        }
        if (begins) {
            ++task.attempt;
            task.attempt_kind = task.pending;
            task.attempt_started = claim.now;
        }
        task.state = "active";
        ++task.epoch;
        task.lease_until = task.lease_check = capped(task, claim.now + claim.lease_ms);
        meet(TaskCase::kLeaseCapped, *task.lease_until < claim.now + claim.lease_ms);
        ++task.leases;
        task.worker = task.attempt_worker = claim.worker;
        task.lease = std::nullopt;
        task.started = task.started.value_or(claim.now);
        task.updated = claim.now;
        claimed.push_back(task);
    }
    return claimed;
}

// ---- Leases ----

Task& Tasks::hold(int client, const std::string& id) {
    if (rows.find(id, client) == nullptr) {
        refuse("QB002", "unknown_task", "task " + id + " does not exist");
    }
    return *rows.hold(id, client);
}

// DR-2, LE-3 to LE-5.
Task& Tasks::hold_by_text(int client, const LeaseOf& lease, int64_t now) {
    if (rows.find(lease.task, client) == nullptr) {
        refuse("QB001", "unknown_task");
    }
    Task& task = hold(client, lease.task);
    const bool same = task.lease == lease.text;
    if (same && task.state == "completed" && task.epoch == lease.epoch + 1) {
        meet(TaskCase::kCompletedTwice);
        refuse("QB001", "already_completed");
    }
    if (task.is_over()) {
        refuse("QB001", "already_terminal");
    }
    if (!task.is_active() || task.epoch != lease.epoch) {
        meet(TaskCase::kStaleEpoch);
        refuse("QB001", "stale_epoch");
    }
    if (!same) {
        meet(TaskCase::kOtherSecret);
        refuse("QB001", "unknown_lease");
    }
    if (!task.is_live(now)) {
        meet(TaskCase::kExpiredLease);
        refuse("QB001", "lease_expired");
    }
    return task;
}

// TW-1.
Task& Tasks::hold_leased(int client, const LeaseOf& lease, int64_t now) {
    if (lease.text) {
        return hold_by_text(client, lease, now);
    }
    Task& task = hold(client, lease.task);
    if (task.is_over()) {
        refuse("QB012", "already_terminal");
    }
    if (!task.is_active()) {
        refuse("QB013", "not_active");
    }
    if (task.epoch != lease.epoch) {
        meet(TaskCase::kStaleEpoch);
        refuse("QB001", "stale_epoch");
    }
    if (!task.is_live(now)) {
        meet(TaskCase::kExpiredLease);
        refuse("QB001", "lease_expired");
    }
    return task;
}

// TL-4.
std::pair<int64_t, bool> Tasks::renew(int client, const LeaseOf& lease, int64_t lease_ms,
                                      int64_t now) {
    Task& task = hold_leased(client, lease, now);
    const int64_t wanted = std::max(now + lease_ms, *task.lease_until);
    const int64_t until = capped(task, wanted);
    task.lease_until = until;
    return {until, until < wanted};
}

void Tasks::end_lease(Task* task, const std::string& state, int64_t now) {
    task->epoch += task->is_active() ? 1 : 0;
    task->state = state;
    task->updated = now;
    task->lease_until = task->lease_check = std::nullopt;
    task->worker = std::nullopt;
}

void Tasks::end_attempt(int client, Task* task, const std::string& outcome,
                        const std::optional<TaskFailure>& failure, int64_t now) {
    if (!task->attempt_started) {
        return;
    }
    attempts.hold({task->id, task->attempt}, client) =
        Attempt{.task = task->id,
                .index = task->attempt,
                .leases = task->leases,
                .epoch = task->is_active() ? task->epoch : task->epoch - 1,
                .started = *task->attempt_started,
                .ended = now,
                .kind = *task->attempt_kind,
                .outcome = outcome,
                .worker = *task->attempt_worker,
                .error_class = failure ? Text(failure->failure_class) : std::nullopt};
    task->attempt_started = task->attempt_deadline = std::nullopt;
    task->attempt_kind = task->attempt_worker = std::nullopt;
    task->leases = 0;
}

void Tasks::put_back(Task* task, const std::string& pending, int64_t available, int64_t now) {
    end_lease(task, queued(available, now), now);
    task->pending = pending;
    task->available = available;
}

void Tasks::finish(int client, Task* task, const std::string& state, const std::string& outcome,
                   const std::optional<TaskFailure>& failure, int64_t now) {
    end_attempt(client, task, outcome, failure, now);
    end_lease(task, state, now);
    task->available = std::nullopt;
    task->ended = now;
    if (failure) {
        task->failure_class = failure->failure_class;
        task->failure_message = failure->message;
    }
}

// TW-3.
Task Tasks::complete(int client, const LeaseOf& lease, const Text& result, int64_t now) {
    if (!lease.text) {
        const Task& held = hold(client, lease.task);
        if (held.state == "completed" && held.epoch == lease.epoch + 1) {
            meet(TaskCase::kCompletedTwice);
            refuse("QB001", "already_completed");
        }
    }
    Task& task = hold_leased(client, lease, now);
    finish(client, &task, "completed", "success", std::nullopt, now);
    task.result = result;
    return task;
}

// TR-2.
bool Tasks::fail_attempt(int client, Task* task, const TaskFailure& failure,
                         const std::string& retry_outcome, const std::string& last_outcome,
                         const std::string& last_state, int64_t now) {
    const bool retryable =
        failure.failure_class != "permanent" && failure.failure_class != "cancelled";
    if (!retryable ||
        (task->policy.max_attempts != 0 && task->retries + 1 >= task->policy.max_attempts)) {
        finish(client, task, last_state, last_outcome, failure, now);
        return false;
    }
    const int64_t available = now + failure.retry_after.value_or(backoff(*task));
    end_attempt(client, task, retry_outcome, failure, now);
    put_back(task, "retry", available, now);
    ++task->retries;
    task->failure_class = failure.failure_class;
    task->failure_message = failure.message;
    return true;
}

Task Tasks::fail(int client, const LeaseOf& lease, const TaskFailure& failure, int64_t now) {
    Task& task = hold_leased(client, lease, now);
    if (failure.failure_class == "cancelled") {
        finish(client, &task, "cancelled", "cancelled", failure, now);
        task.cancel_reason = failure.message.value_or("");
        task.cancelled_by = "lease_holder";
        return task;
    }
    const bool retried = fail_attempt(client, &task, failure, "retry", "failed", "failed", now);
    meet(TaskCase::kRetried, retried && !failure.retry_after);
    meet(TaskCase::kRetriedAfter, retried && failure.retry_after);
    meet(TaskCase::kRetriesExhausted, !retried);
    return task;
}

// TW-6.
Task Tasks::delay(int client, const LeaseOf& lease, int64_t delay, int64_t now) {
    Task& task = hold_leased(client, lease, now);
    put_back(&task, "snooze", now + delay, now);
    return task;
}

Task Tasks::release(int client, const LeaseOf& lease, int64_t delay, int64_t now) {
    Task& task = hold_leased(client, lease, now);
    put_back(&task, "reclaim", delay == 0 ? *task.available : now + delay, now);
    return task;
}

// ---- Operators ----

// TO-1, TO-2.
std::string Tasks::cancel(int client, const std::string& id, const std::string& reason,
                          const std::string& source, int64_t now) {
    Task& task = hold(client, id);
    const std::string before = task.state;
    if (before == "cancelled") {
        meet(TaskCase::kCancelledAgain);
        return before;
    }
    if (task.is_over()) {
        refuse("QB012", "already_terminal");
    }
    meet(TaskCase::kCancelledActive, task.is_active());
    finish(client, &task, "cancelled", "cancelled", std::nullopt, now);
    task.cancel_reason = reason;
    task.cancelled_by = source;
    return before;
}

// TO-5, TO-6.
std::pair<Task, bool> Tasks::revoke(int client, const std::string& id, int64_t now) {
    Task& task = hold(client, id);
    if (!task.is_active()) {
        return {task, false};
    }
    meet(TaskCase::kRevoked);
    put_back(&task, "reclaim", *task.available, now);
    return {task, true};
}

// TO-7.
int Tasks::change_priority(int client, const std::string& id, int priority, int64_t now) {
    Task& task = hold(client, id);
    if (!task.is_eligible(now)) {
        refuse("QB010", "not_eligible");
    }
    meet(TaskCase::kReordered);
    const int before = task.priority;
    task.priority = priority;
    task.updated = now;
    return before;
}

// TO-8 to TO-10.
Task Tasks::replay(int client, const std::string& id, int64_t now) {
    Task& task = hold(client, id);
    if (!task.is_over()) {
        refuse("QB011", "not_terminal");
    }
    if (task.replays >= task.policy.max_replays) {
        refuse("QB016", "replay_limit");
    }
    meet(TaskCase::kReplayed);
    meet(TaskCase::kDeadlineCleared, task.is_past_deadline(now));
    task.deadline = task.is_past_deadline(now) ? std::nullopt : task.deadline;
    task.state = "ready";
    task.pending = "replay";
    task.available = task.updated = now;
    task.ended = std::nullopt;
    ++task.epoch;
    task.retries = task.reclaims = 0;
    ++task.replays;
    task.result = task.failure_class = task.failure_message = std::nullopt;
    task.cancel_reason = task.cancelled_by = std::nullopt;
    return task;
}

bool Tasks::remove(int client, const std::string& id) {
    const Task* seen = rows.find(id, client);
    if (seen == nullptr) {
        return false;
    }
    const std::optional key =
        seen->dedup_key ? std::optional(std::pair(seen->queue, *seen->dedup_key)) : std::nullopt;
    const bool has_key = key && keys.find(*key, client) != nullptr;
    if (has_key) {
        keys.hold(*key, client);
    }
    Task& task = hold(client, id);
    if (!task.is_over()) {
        refuse("QB003", "running");
    }
    meet(TaskCase::kDeleted);
    for (int i = 1; i <= task.attempt; ++i) {
        if (attempts.find({id, i}, client) != nullptr) {
            attempts.take_away({id, i}, client);
        }
    }
    if (has_key && keys.find(*key, client)->task == id) {
        keys.take_away(*key, client);
    }
    rows.take_away(id, client);
    return true;
}

// ---- What falls due ----

// TS-1, TR-3.
bool Tasks::settle(int client, Task* task, int64_t now) {
    if (task->is_over()) {
        return false;
    }
    if (task->is_past_deadline(now)) {
        meet(TaskCase::kDeadlinePassed);
        finish(client, task, "expired", "expired", std::nullopt, now);
        return true;
    }
    if (!task->is_active()) {
        return false;
    }
    if (task->attempt_deadline && *task->attempt_deadline <= now) {
        meet(TaskCase::kAttemptTimedOut);
        (void)fail_attempt(client, task, {"timeout", "the attempt took too long", std::nullopt},
                           "timed_out", "timed_out", "expired", now);
        return true;
    }
    if (task->is_live(now)) {
        return false;
    }
    const TaskFailure crash{"infra_crash", "the lease expired", std::nullopt};
    if (task->policy.expiry_retries) {
        const bool retried = fail_attempt(client, task, crash, "retry", "failed", "failed", now);
        meet(retried ? TaskCase::kExpiryRetried : TaskCase::kExpiryFailed);
    } else if (task->reclaims >= task->policy.max_reclaims) {
        meet(TaskCase::kReclaimsExhausted);
        finish(client, task, "failed", "failed", crash, now);
    } else {
        meet(TaskCase::kReclaimed);
        put_back(task, "reclaim", *task->available, now);
        ++task->reclaims;
    }
    return true;
}

// TD-1, TD-2. Passes over what others hold.
int64_t Tasks::expire_leases(int client, int64_t now, int limit) {
    std::vector<std::pair<int64_t, std::string>> due;
    for (const Task* task : rows.seen_by(client)) {
        if (task->is_active() && *task->lease_check <= now) {
            due.emplace_back(*task->lease_check, task->id);
        }
    }
    std::sort(due.begin(), due.end());
    due.resize(std::min(due.size(), static_cast<std::size_t>(limit)));
    int64_t changed = 0;
    for (const auto& [check, id] : due) {
        if (rows.held_from(id, client)) {
            continue;
        }
        Task& task = *rows.hold(id, client);
        if (!settle(client, &task, now)) {
            meet(TaskCase::kCheckMoved);
            task.lease_check = task.lease_until;
        }
        ++changed;
    }
    return changed;
}

int64_t Tasks::expire_deadlines(int client, int64_t now) {
    int64_t changed = 0;
    for (const Task* seen : rows.seen_by(client)) {
        if (!seen->is_active() && !seen->is_over() && seen->is_past_deadline(now) &&
            !rows.held_from(seen->id, client)) {
            changed += settle(client, &*rows.hold(seen->id, client), now) ? 1 : 0;
        }
    }
    return changed;
}

int64_t Tasks::promote(int client, int64_t now) {
    int64_t changed = 0;
    for (const Task* seen : rows.seen_by(client)) {
        if (seen->state == "delayed" && *seen->available <= now &&
            !rows.held_from(seen->id, client)) {
            Task& task = *rows.hold(seen->id, client);
            task.state = "ready";
            task.updated = now;
            meet(TaskCase::kPromoted);
            ++changed;
        }
    }
    return changed;
}

}  // namespace belay::test::model
