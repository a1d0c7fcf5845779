// settle.cpp — the end of an attempt by failure, and the one precedence for all that falls due.
//
// Calls    put_back, end_task, time_out_suspension, store::expired_leases, store::void_leases
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    tasks and their flows, skipping what others hold
// Raises   nothing itself
#include <algorithm>

#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/suspension/suspension.hpp"
#include "ops/task/task.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
#include "store/flows.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kExpired = core::event_place("lease", "expired");

LeaseEvent expired(const store::Task& task, const char* cause) {
    return {.event = kExpired,
            .epoch = task.lease_epoch,
            .key = "cause",
            .value = std::string_view(cause)};
}

constexpr store::Notice kLost{wakeups::Reason::kLeaseExpired, true};

void expire_by_deadline(store::Tables& tables, const store::Task& task, int64 now) {
    if (task.is_active()) {
        emit_lease_event(tables, task, expired(task, "deadline"), now);
    }
    (void)end_task(tables, task,
                   {.state = core::TaskState::kExpired,
                    .now = now,
                    .outcome = core::AttemptOutcome::kExpired,
                    .notice = kLost});
}

void time_out_attempt(store::Tables& tables, const store::Task& task, int64 now) {
    (void)fail_attempt(tables, task,
                       {.failure = {core::FailureClass::kTimeout,
                                    std::string_view("the attempt took too long"), nullptr},
                        .retry_outcome = core::AttemptOutcome::kTimedOut,
                        .last_outcome = core::AttemptOutcome::kTimedOut,
                        .last_state = core::TaskState::kExpired,
                        .retry_after = std::nullopt,
                        .retry_event = expired(task, "attempt_timeout"),
                        .last_event = expired(task, "attempt_timeout"),
                        .notice = kLost},
                       now);
}

void expire_lease(store::Tables& tables, const store::Task& task, int64 now) {
    const core::Policy policy = policy_of(tables, task);
    const store::Failure crash{core::FailureClass::kInfraCrash,
                               std::string_view("the lease expired"), nullptr};
    if (policy.expiry_fails) {
        (void)fail_attempt(tables, task,
                           {.failure = crash,
                            .retry_outcome = core::AttemptOutcome::kRetry,
                            .last_outcome = core::AttemptOutcome::kFailed,
                            .last_state = core::TaskState::kFailed,
                            .retry_after = std::nullopt,
                            .retry_event = expired(task, "lease"),
                            .last_event = expired(task, "lease"),
                            .notice = kLost},
                           now);
        return;
    }
    emit_lease_event(tables, task, expired(task, "lease"), now);
    if (task.reclaim_count >= policy.max_reclaims) {
        (void)end_task(tables, task,
                       {.state = core::TaskState::kFailed,
                        .now = now,
                        .outcome = core::AttemptOutcome::kFailed,
                        .failure = crash,
                        .notice = kLost});
        return;
    }
    (void)put_back(tables, task,
                   {.pending = core::Pending::kReclaim,
                    .available_at = *task.available_at,
                    .now = now,
                    .reclaims = 1,
                    .notice = kLost});
}

// Up to which floor this process has seen that no lease of an earlier incarnation is left. None can
// come back: a claim takes an epoch from the floor on.
struct Swept {
    Oid schema;
    int64 floor;
};
constinit HTAB* swept = nullptr;

Swept* swept_of(store::Tables& tables) {
    if (swept == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(Oid);
        control.entrysize = sizeof(Swept);
        control.hcxt = TopMemoryContext;
        swept =
            hash_create("belay swept leases", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    bool found = false;
    auto* entry = static_cast<Swept*>(hash_search(swept, &tables.hub.schema, HASH_ENTER, &found));
    if (!found) {
        entry->floor = 0;
    }
    return entry;
}

// Holds the task, its flow first; nothing if others have one of them, or if it is another flow now.
std::optional<store::Task> try_hold(store::Tables& tables, const store::DueTask& due) {
    if (due.flow_id && !store::try_lock_flow(tables, *due.flow_id)) {
        return std::nullopt;
    }
    const auto task = store::try_lock_task(tables, due.id);
    return task && task->flow_id.has_value() == due.flow_id.has_value() ? task : std::nullopt;
}

}  // namespace

FailureResult fail_attempt(store::Tables& tables, const store::Task& task, const FailedAttempt& how,
                           int64 now) {
    const core::Policy policy = policy_of(tables, task);
    if (core::may_retry(policy, how.failure.failure_class, task.retry_count)) {
        const int64 wait = how.retry_after.value_or(
            core::backoff_ms(policy, task.retry_count, pg_prng_double(&pg_global_prng_state)));
        const int64 available_at = core::add_ms(now, wait);
        if (how.retry_event) {
            emit_lease_event(tables, task, *how.retry_event, now);
        }
        const auto state = put_back(tables, task,
                                    {.pending = core::Pending::kRetry,
                                     .available_at = available_at,
                                     .now = now,
                                     .outcome = how.retry_outcome,
                                     .failure = how.failure,
                                     .retries = 1,
                                     .notice = how.notice});
        return {true, state, available_at};  // or cancelled with its flow
    }
    if (how.last_event) {
        emit_lease_event(tables, task, *how.last_event, now);
    }
    (void)end_task(tables, task,
                   {.state = how.last_state,
                    .now = now,
                    .outcome = how.last_outcome,
                    .failure = how.failure,
                    .notice = how.notice});
    return {false, how.last_state, std::nullopt};
}

bool settle(store::Tables& tables, const store::Task& task, int64 now) {
    std::optional<store::Suspension> suspension;
    if (task.state == core::TaskState::kSuspended) {
        suspension = store::open_suspension(tables, task.id);
    }
    const auto due = core::first_due(task, tables.hub.epoch_floor,
                                     suspension ? suspension->timeout_at : std::nullopt, now);
    if (due != core::Due::kNothing && task.is_active()) {
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kExpired);
        task_stats::add(tables.hub.schema, {task.queue, task.kind}, task_stats::Counter::kLost);
    }
    switch (due) {
        case core::Due::kNothing:
            return false;
        case core::Due::kDeadline:
            expire_by_deadline(tables, task, now);
            return true;
        case core::Due::kAttemptDeadline:
            time_out_attempt(tables, task, now);
            return true;
        case core::Due::kLease:
            expire_lease(tables, task, now);
            return true;
        case core::Due::kSuspension:
            time_out_suspension(tables, task, *suspension, now);
            return true;
    }
    return false;
}

int64 settle_all(store::Tables& tables, std::span<const store::DueTask> all, int64 now) {
    int64 changed = 0;
    for (const store::DueTask& due : all) {
        const auto task = try_hold(tables, due);
        if (!task) {
            continue;
        }
        if (settle(tables, *task, now)) {
            ++changed;
        } else if (task->is_active() && *task->lease_check < *task->lease_until) {
            store::move_lease_check(tables, *task);  // renewed: look again when it ends
            ++changed;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return changed;
}

bool may_have_void_leases(store::Tables& tables) {
    return tables.hub.epoch_floor > swept_of(tables)->floor;
}

void find_void_leases(store::Tables& tables) {
    const int64 floor = tables.hub.epoch_floor;
    if (!store::has_void_leases(tables)) {
        swept_of(tables)->floor = floor;
    }
}

int64 settle_leases(store::Tables& tables, pg::Clock* clock, int limit) {
    const wakeups::Channel channel = store::task_lease_channel(tables);
    const auto hint = wakeups::due_hint(channel);
    // A caller whose clock is ahead must not end the leases of others.
    const int64 now = std::min(clock->now(), pg::server_now_ms());
    if (hint.known && hint.due > now) {
        return 0;
    }
    const auto expired = store::expired_leases(tables, now, limit, 0);
    int64 changed = settle_all(tables, expired, now);
    if (may_have_void_leases(tables)) {
        changed += settle_all(tables, store::void_leases(tables, limit, 0), now);
        find_void_leases(tables);
    }
    if (expired.size() < static_cast<std::size_t>(limit) && !may_have_void_leases(tables) &&
        !store::has_old_prepared()) {
        wakeups::due_known(channel, hint, store::next_lease_check(tables));
    }
    return changed;
}

}  // namespace belay::ops
