// The calls of a hub that are about tasks.
#include <algorithm>

#include "belay/hub.hpp"
#include "rows.hpp"
#include "task_text.hpp"

namespace belay {
namespace {

// Created again, it would be the same task.
bool is_created_once(const NewTask& task) {
    return task.task_id || (task.dedup_key && task.dedup_window != Milliseconds(0));
}

// Without an epoch a repetition could meet the next lease.
Effect effect_of(const TaskFence& fence) {
    return fence.epoch ? Effect::kAck : Effect::kWrite;
}

void read_created(Reader& from, CreatedTask& to) {
    from >> to.task_id >> to.state >> to.created;
}

void read_claimed(Reader& from, ClaimedTask& to) {
    from >> to.task_id >> to.lane >> to.kind >> to.payload >> to.tags >> to.priority >>
        to.attempt_index >> to.attempt_kind >> to.retry_count >> to.reclaim_count >>
        to.replay_count >> to.lease_epoch >> to.lease_id >> to.lease_until_ms >>
        to.attempt_deadline_ms >> to.deadline_ms >> to.checkpoint >> to.last_failure >>
        to.flow_id >> to.flow_key >> to.upstream >> to.signals;
}

void read_paused(Reader& from, PausedTask& to) {
    from >> to.state >> to.available_at_ms;
}

void append_claim(Params& params, const ClaimOptions& options, const OptionalNumber& now) {
    params.insert(params.end(),
                  {options.worker, options.worker_instance, options.lanes, options.capabilities,
                   count_of(options.lease), options.max_tasks, options.slots, now});
}

}  // namespace

// ---- Creating. ----

CreatedTask Hub::create_task(const NewTask& task, Where where) {
    if (task.deadline_in) {
        return create_tasks({task}, where).at(0);  // create_task takes instants only
    }
    return first_row<CreatedTask>(
               call(is_created_once(task) ? Effect::kRepeatable : Effect::kWrite, kAll,
                    "create_task",
                    {task.lane, json_of(task.payload), optional_uuid(task.task_id), task.kind,
                     task.priority, count_of(task.delay), task.available_at_ms, task.deadline_ms,
                     task.capabilities,
                     json_of(task.policy ? OptionalText(task.policy->json()) : std::nullopt),
                     task.dedup_key, count_of(task.dedup_window), Json{task.tags.value_or("{}")},
                     clock_()},
                    where),
               read_created)
        .value();
}

std::vector<CreatedTask> Hub::create_tasks(const std::vector<NewTask>& tasks, Where where) {
    std::string array = "[";
    for (const auto& task : tasks) {
        array.append(array.size() == 1 ? "" : ",").append(task_text(task, where));
    }
    const bool repeatable = std::ranges::all_of(tasks, is_created_once);
    return all_rows<CreatedTask>(
        call(repeatable ? Effect::kRepeatable : Effect::kWrite, "task_id, state, created",
             "create_tasks", {Json{array + "]"}, clock_()}, where),
        read_created);
}

bool Hub::delete_task(std::string_view task_id, Where where) {
    return call(Effect::kWrite, kAll, "delete_task", {uuid_of(task_id)}, where).get<bool>(0, 0);
}

// ---- Working. ----

std::vector<ClaimedTask> Hub::claim_tasks(const ClaimOptions& options, Where where) {
    Params params;
    append_claim(params, options, clock_());
    return all_rows<ClaimedTask>(call(Effect::kRepeatable, kAll, "claim_tasks", params, where),
                                 read_claimed);
}

RenewedTask Hub::renew_task(const TaskFence& fence, Milliseconds lease, Where where) {
    return first_row<RenewedTask>(
               call(Effect::kRepeatable, kAll, "renew_task",
                    {uuid_of(fence.task_id), fence.epoch, count_of(lease), clock_()}, where),
               [](Reader& from, RenewedTask& to) { from >> to.lease_until_ms >> to.capped; })
        .value();
}

std::vector<TaskRenewal> Hub::renew_tasks(const std::vector<TaskFence>& fences, Milliseconds lease,
                                          Where where) {
    std::vector<Uuid> ids;
    std::vector<std::int64_t> epochs;
    for (const auto& fence : fences) {
        ids.push_back(uuid_of(fence.task_id));
        epochs.push_back(fence.epoch.value_or(0));
    }
    return all_rows<TaskRenewal>(call(Effect::kRepeatable, kAll, "renew_tasks",
                                      {ids, epochs, count_of(lease), clock_()}, where),
                                 [](Reader& from, TaskRenewal& to) {
                                     from >> to.task_id >> to.renewed >> to.lease_until_ms >>
                                         to.reason;
                                 });
}

std::int64_t Hub::progress_task(const TaskFence& fence, const TaskProgress& progress, Where where) {
    return number_of(connection_->call(
        Effect::kRepeatable,
        "SELECT * FROM " + schema_ + ".progress_task($1, $2, $3::numeric, $4, $5, $6, $7)",
        {uuid_of(fence.task_id), fence.epoch, progress.percent, progress.message,
         json_of(progress.checkpoint), count_of(progress.lease), clock_()},
        where));
}

namespace {

constexpr const char* kAlreadyCompleted = "already_completed";

// Whether a repetition has found that the run whose answer was lost had completed the task.
bool is_done(const Error& error) {
    return error.outcome_unknown() && error.code_detail() == kAlreadyCompleted;
}

}  // namespace

CompletedTask Hub::complete_task(const TaskFence& fence, const OptionalText& result,
                                 std::string_view source, Where where) {
    try {
        return first_row<CompletedTask>(
                   call(effect_of(fence), kAll, "complete_task",
                        {uuid_of(fence.task_id), fence.epoch, json_of(result), source, clock_()},
                        where),
                   [](Reader& from, CompletedTask& to) {
                       from >> to.result >> to.task_id >> to.state >> to.lease_epoch;
                   })
            .value();
    } catch (const Error& error) {
        if (!is_done(error)) {
            throw;
        }
        return {.result = kAlreadyCompleted,
                .task_id = std::string(fence.task_id),
                .state = "completed",
                .lease_epoch = fence.epoch.value_or(0) + 1};
    }
}

std::vector<ClaimedTask> Hub::complete_and_claim(const TaskFence& fence, const OptionalText& result,
                                                 const ClaimOptions& options, Where where) {
    Params params = {uuid_of(fence.task_id), fence.epoch, json_of(result)};
    append_claim(params, options, clock_());
    try {
        return all_rows<ClaimedTask>(call(Effect::kAck, kAll, "complete_and_claim", params, where),
                                     read_claimed);
    } catch (const Error& error) {
        if (!is_done(error)) {
            throw;
        }
        return {};  // what the first run has claimed is unknown here: its leases lapse
    }
}

FailedTask Hub::fail_task(const TaskFence& fence, const TaskFailure& failure,
                          std::string_view source, Where where) {
    return first_row<FailedTask>(
               call(effect_of(fence), kAll, "fail_task",
                    {uuid_of(fence.task_id), fence.epoch, failure.failure_class, failure.message,
                     json_of(failure.details), count_of(failure.retry_after), source, clock_()},
                    where),
               [](Reader& from, FailedTask& to) {
                   from >> to.result >> to.state >> to.available_at_ms >> to.next_attempt_index;
               })
        .value();
}

PausedTask Hub::delay_task(const TaskFence& fence, Milliseconds delay,
                           const OptionalText& checkpoint, Where where) {
    return first_row<PausedTask>(call(Effect::kAck, kAll, "delay_task",
                                      {uuid_of(fence.task_id), fence.epoch, count_of(delay),
                                       json_of(checkpoint), clock_()},
                                      where),
                                 read_paused)
        .value();
}

std::optional<PausedTask> Hub::release_task(const TaskFence& fence, Milliseconds delay,
                                            Where where) {
    return first_row<PausedTask>(
        call(Effect::kGiveBack, kAll, "release_task",
             {uuid_of(fence.task_id), fence.epoch, count_of(delay), clock_()}, where),
        read_paused);
}

void Hub::guard_task(const TaskFence& fence, Where where) {
    call(Effect::kRepeatable, kAll, "guard_task", {uuid_of(fence.task_id), fence.epoch}, where);
}

// ---- Steering. ----

CancelledTask Hub::cancel_task(std::string_view task_id, std::string_view reason,
                               std::string_view source, OptionalNumber lease_epoch, Where where) {
    return first_row<CancelledTask>(
               call(Effect::kRepeatable, kAll, "cancel_task",
                    {uuid_of(task_id), reason, source, lease_epoch, clock_()}, where),
               [](Reader& from, CancelledTask& to) {
                   from >> to.result >> to.task_id >> to.public_state >> to.previous_state >>
                       to.effective;
               })
        .value();
}

RevokedLease Hub::revoke_lease(std::string_view task_id, std::string_view reason,
                               const RevokeTarget& target, Where where) {
    // Repeated without an aim, it could take the lease of the next worker.
    const bool aimed = target.epoch || !target.lease_id.empty();
    return first_row<RevokedLease>(
               call(aimed ? Effect::kRepeatable : Effect::kWrite, kAll, "revoke_lease",
                    {uuid_of(task_id), reason, target.worker_instance, target.lease_id,
                     target.epoch, clock_()},
                    where),
               [](Reader& from, RevokedLease& to) {
                   from >> to.result >> to.reason >> to.lease_id >> to.lease_epoch;
               })
        .value();
}

ChangedPriority Hub::change_priority(std::string_view task_id, int priority, Where where) {
    return first_row<ChangedPriority>(call(Effect::kWrite, kAll, "change_priority",
                                           {uuid_of(task_id), priority, clock_()}, where),
                                      [](Reader& from, ChangedPriority& to) {
                                          from >> to.result >> to.task_id >> to.old_priority >>
                                              to.new_priority;
                                      })
        .value();
}

ReplayedTask Hub::replay_task(std::string_view task_id, bool cascade, Where where) {
    return first_row<ReplayedTask>(
               call(Effect::kWrite,
                    "result, task_id, public_state, replay_count, array_to_string(reopened, ','), "
                    "array_to_string(waiting_on, ',')",
                    "replay_task", {uuid_of(task_id), cascade, clock_()}, where),
               [](Reader& from, ReplayedTask& to) {
                   OptionalText reopened;
                   OptionalText waiting_on;
                   from >> to.result >> to.task_id >> to.public_state >> to.replay_count >>
                       reopened >> waiting_on;
                   to.reopened = ids_of(reopened.value_or(""));
                   to.waiting_on = ids_of(waiting_on.value_or(""));
               })
        .value();
}

void Hub::set_lane(std::string_view lane, const QueueSettings& settings, Where where) {
    set_lane(lane, settings.json(), where);
}

void Hub::set_lane(std::string_view lane, std::string_view settings, Where where) {
    call(Effect::kRepeatable, kAll, "set_lane", {lane, Json{std::string(settings)}}, where);
}

void Hub::pause_lane(std::string_view lane, Where where) {
    call(Effect::kRepeatable, kAll, "pause_lane", {lane}, where);
}

void Hub::resume_lane(std::string_view lane, Where where) {
    call(Effect::kRepeatable, kAll, "resume_lane", {lane}, where);
}

// ---- Reading. ----

OptionalText Hub::get_task(std::string_view task_id, Where where) {
    return call(Effect::kRepeatable, kAll, "get_task", {uuid_of(task_id)}, where)
        .get<OptionalText>(0, 0);
}

std::vector<TaskInfo> Hub::list_tasks(std::string_view filter, const OptionalText& after, int limit,
                                      Where where) {
    return all_rows<TaskInfo>(
        call(Effect::kRepeatable, kAll, "list_tasks",
             {Json{std::string(filter)}, optional_uuid(after), limit}, where),
        [](Reader& from, TaskInfo& to) {
            from >> to.task_id >> to.state >> to.lane >> to.kind >> to.priority >> to.flow_id >>
                to.flow_key >> to.pending_attempt >> to.attempt_index >> to.retry_count >>
                to.reclaim_count >> to.replay_count >> to.available_at_ms >> to.deadline_ms >>
                to.worker >> to.worker_instance >> to.lease_epoch >> to.lease_until_ms >>
                to.failure_class >> to.cancel_reason >> to.tags >> to.created_at_ms >>
                to.updated_at_ms >> to.terminal_at_ms;
        });
}

std::vector<ExpiredLease> Hub::list_expired_leases(const ExpiredLeasePage& page, Where where) {
    return all_rows<ExpiredLease>(call(Effect::kRepeatable, kAll, "list_expired_leases",
                                       {page.as_of_ms ? page.as_of_ms : clock_(), page.lane,
                                        page.after_ms, optional_uuid(page.after_id), page.limit},
                                       where),
                                  [](Reader& from, ExpiredLease& to) {
                                      from >> to.task_id >> to.lane >> to.lease_id >>
                                          to.lease_epoch >> to.lease_until_ms >> to.worker >>
                                          to.worker_instance >> to.attempt_index;
                                  });
}

std::vector<ClaimReason> Hub::explain_claim(
    std::string_view task_id, const std::optional<std::vector<std::string>>& capabilities,
    const std::optional<std::vector<std::int32_t>>& slots, Where where) {
    return all_rows<ClaimReason>(
        call(Effect::kRepeatable, kAll, "explain_claim",
             {uuid_of(task_id), capabilities, slots, clock_()}, where),
        [](Reader& from, ClaimReason& to) { from >> to.reason >> to.detail; });
}

std::vector<Problem> Hub::check_tasks(const OptionalText& flow_id, Where where) {
    return all_rows<Problem>(
        call(Effect::kRepeatable, kAll, "check_tasks", {optional_uuid(flow_id)}, where),
        [](Reader& from, Problem& to) { from >> to.object >> to.problem; });
}

std::vector<LaneDepth> Hub::lane_depths(Where where) {
    return all_rows<LaneDepth>(
        connection_->call(Effect::kRepeatable,
                          "SELECT lane, paused, ready, delayed, blocked, active, suspended, "
                          "overdue_leases, oldest_ready_age_ms FROM " +
                              schema_ + ".lane_depths ORDER BY lane",
                          {}, where),
        [](Reader& from, LaneDepth& to) {
            from >> to.lane >> to.paused >> to.ready >> to.delayed >> to.blocked >> to.active >>
                to.suspended >> to.overdue_leases >> to.oldest_ready_age_ms;
        });
}

}  // namespace belay
