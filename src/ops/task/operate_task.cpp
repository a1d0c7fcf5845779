// operate_task.cpp — what operators do to a task: cancel, revoke, change its priority, replay.
//
// Calls    store::finish, store::requeue, store::set_priority, store::reopen
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events
// Locks    the task
// Raises   QB001, QB002, QB006, QB007, QB010, QB011, QB012, QB016, 42501
//
// The gates stand in the order of their answers. A refusal writes nothing.
#include "core/events.hpp"
#include "ops/audit.hpp"
#include "ops/flow/flow.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "pg/hmac.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

constexpr int kRevoked = core::event_place("lease", "revoked");
constexpr int kPriorityChanged = core::event_place("operator", "priority_changed");
constexpr int kReplayed = core::event_place("operator", "replayed");
constexpr int kCancelled = core::event_place("operator", "task_cancelled");
constexpr int kLeaseRevoked = core::event_place("operator", "lease_revoked");
constexpr std::string_view kOverride = "operator_override";
constexpr std::string_view kCascade = "flow_cascade";

// Gates 4 and 5 of a cancel: a caller that is neither an operator nor a client of the front door
// has to hold the lease.
void check_cancel_fence(store::Tables& tables, const store::Task& task,
                        const CancelRequest& request) {
    // An operator who names an epoch means the task as it was then.
    if (request.source == kOverride && request.epoch && *request.epoch != task.lease_epoch) {
        raise_stale_epoch(tables, task, *request.epoch);
    }
    if (request.source == kOverride || request.source == kCancelByClient || !task.is_active()) {
        return;
    }
    if (!request.epoch) {
        pg::raise(pg::kInvalidArgument, "p_lease_epoch is required to cancel an active task",
                  pg::Facts("lease_epoch_required")
                      .add("path", "p_lease_epoch")
                      .add("task_id", store::uuid_text(task.id)),
                  "Pass the epoch of the lease, or cancel with source operator_override.");
    }
    if (*request.epoch != task.lease_epoch) {
        raise_stale_epoch(tables, task, *request.epoch);
    }
}

}  // namespace

LeaseEvent revoked_event(const store::Task& task, std::string_view reason,
                         std::string_view source) {
    return {.event = kRevoked,
            .epoch = task.lease_epoch,
            .key = "source",
            .value = source,
            .with_reason = true,
            .reason = reason};
}

CancelledTask cancel_task(store::Tables& tables, const pg_uuid_t& id, const CancelRequest& request,
                          pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock);
    if (task.state == core::TaskState::kCancelled) {
        return {task.state, false};
    }
    if (core::is_terminal(task.state)) {
        raise_terminal(task);
    }
    if (!request.is_operator && !task.is_active()) {
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                 errmsg("permission denied to cancel task %s", store::uuid_text(id)),
                 errdetail("A worker may cancel only a task whose lease it holds."),
                 errhint("Ask the hub's owner to grant level operator with belay.grant_hub.")));
    }
    check_cancel_fence(tables, task, request);
    const int64 now = clock->now();
    if (task.is_active()) {
        emit_lease_event(tables, task, revoked_event(task, request.reason, request.source), now);
    }
    (void)end_task(tables, task,
                   {.state = core::TaskState::kCancelled,
                    .now = now,
                    .outcome = core::AttemptOutcome::kCancelled,
                    .cancel_reason = request.reason,
                    .cancelled_by = request.source,
                    .notice = {wakeups::Reason::kCancelled, true}},
                   request.source == kCascade ? EndKind::kSilent : EndKind::kPublished);
    if (request.source == kOverride && !request.one_of_many) {
        emit_operator_event(tables,
                            {.event = kCancelled,
                             .subject = store::uuid_text(id),
                             .details = store::Details()
                                            .add("queue", task.queue)
                                            .add("previous_state", core::name_of(task.state)),
                             .reason = request.reason},
                            now);
    }
    return {task.state, true};
}

namespace {

// Whether the text is the lease's id, with or without what only its claim returned.
bool names_lease(store::Tables& tables, const store::Task& task, std::string_view text) {
    return text == store::lease_id(task.id, task.attempt_index, task.lease_epoch) ||
           (task.lease_nonce &&
            pg::equal_in_constant_time(
                text, store::secret_lease_id(tables, {.task = task.id,
                                                      .attempt_index = task.attempt_index,
                                                      .epoch = task.lease_epoch,
                                                      .nonce = *task.lease_nonce})));
}

}  // namespace

RevokedLease revoke_lease(store::Tables& tables, const pg_uuid_t& id, const RevokeRequest& request,
                          pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock);
    if (!task.is_active()) {
        return {"no_active_lease", nullptr, task.lease_epoch};
    }
    const char* lease_id = store::lease_id(id, task.attempt_index, task.lease_epoch);
    if (!request.worker_instance.empty() && request.worker_instance != *task.lease_owner) {
        return {"different_worker_instance_id", lease_id, task.lease_epoch};
    }
    if (!request.lease_id.empty() && !names_lease(tables, task, request.lease_id)) {
        return {"lease_id_mismatch", lease_id, task.lease_epoch};
    }
    if (request.epoch && *request.epoch != task.lease_epoch) {
        return {"epoch_moved", lease_id, task.lease_epoch};
    }
    const int64 now = clock->now();
    emit_lease_event(tables, task, revoked_event(task, request.reason, "revoke_lease"), now);
    (void)put_back(tables, task,
                   {.pending = core::Pending::kReclaim,
                    .available_at = *task.available_at,
                    .now = now,
                    .notice = {wakeups::Reason::kLeaseExpired, true}});
    emit_operator_event(tables,
                        {.event = kLeaseRevoked,
                         .subject = store::uuid_text(id),
                         .details = store::Details()
                                        .add("queue", task.queue)
                                        .add("lease_epoch", task.lease_epoch)
                                        .add("worker_instance", task.lease_owner),
                         .reason = request.reason},
                        now);
    return {nullptr, lease_id, task.lease_epoch + 1};
}

ChangedPriority change_priority(store::Tables& tables, const pg_uuid_t& id, int32 priority,
                                pg::Clock* clock) {
    const auto task = hold_task(tables, id, clock);
    const int64 now = clock->now();
    if (!core::is_eligible(task, now)) {
        pg::raise(pg::kNotEligible,
                  psprintf("task %s is %s, not waiting for a worker", store::uuid_text(id),
                           core::name_of(task.state).data()),
                  pg::Facts("not_eligible")
                      .add("task_id", store::uuid_text(id))
                      .add("state", core::name_of(task.state)),
                  "Change the priority only while the task can be claimed.");
    }
    const int32 clamped = core::clamp_priority(priority);
    store::set_priority(tables, task, clamped, now);
    emit_operator_event(tables,
                        {.event = kPriorityChanged,
                         .subject = store::uuid_text(id),
                         .details = store::Details()
                                        .add("old_priority", int64{task.priority})
                                        .add("new_priority", int64{clamped})},
                        now);
    return {task.priority, clamped};
}

void check_replay(store::Tables& tables, const store::Task& task) {
    if (!core::is_terminal(task.state)) {
        pg::raise(pg::kNotTerminal,
                  psprintf("task %s has not ended, it is %s", store::uuid_text(task.id),
                           core::name_of(task.state).data()),
                  pg::Facts("not_terminal")
                      .add("task_id", store::uuid_text(task.id))
                      .add("state", core::name_of(task.state)),
                  "Wait until the task has ended, or cancel it.");
    }
    const core::Policy policy = policy_of(tables, task);
    if (task.replay_count >= policy.max_replays) {
        pg::raise(pg::kLimitExceeded,
                  psprintf("task %s was replayed as often as its policy allows",
                           store::uuid_text(task.id)),
                  pg::Facts("replay_limit")
                      .add("task_id", store::uuid_text(task.id))
                      .add("limit", policy.max_replays)
                      .add("value", task.replay_count),
                  "Raise max_replays in the policy of the task or of its queue.");
    }
}

void emit_replay(store::Tables& tables, const store::Task& task, bool was_skipped_member,
                 int64 groups_reset, int64 now) {
    if (!store::wants_event(tables, kReplayed)) {
        return;
    }
    store::Details details;
    details.add("branch", std::string_view(was_skipped_member ? "skipped_flow_member" : "normal"));
    if (was_skipped_member) {
        details.add("groups_reset", groups_reset);
    }
    emit_operator_event(
        tables, {.event = kReplayed, .subject = store::uuid_text(task.id), .details = details},
        now);
}

ReplayedTask replay_task(store::Tables& tables, const pg_uuid_t& id, bool cascade,
                         std::optional<int32> expected, pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock);
    if (expected && *expected != task.replay_count) {
        pg::raise(pg::kNotEligible,
                  psprintf("task %s was replayed meanwhile", store::uuid_text(id)),
                  pg::Facts("replayed_meanwhile")
                      .add("task_id", store::uuid_text(id))
                      .add("state", core::name_of(task.state))
                      .add("replay_count", task.replay_count),
                  "Look at the task again before you replay it once more.");
    }
    check_replay(tables, task);
    const int64 now = clock->now();
    if (task.flow_id) {
        return replay_member(tables, task, cascade, now);
    }
    (void)store::reopen(tables, task, core::TaskState::kReady, now);
    emit_replay(tables, task, false, 0, now);
    return {task.replay_count + 1, core::TaskState::kReady, {}, {}};
}

}  // namespace belay::ops
