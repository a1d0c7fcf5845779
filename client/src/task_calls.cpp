// The detailed calls of a worker of tasks.
#include "task_calls.hpp"

#include "rows.hpp"
#include "signal_list.hpp"

namespace belay {
namespace {

// Without an epoch a repetition could meet the next lease.
Effect effect_of(const TaskFence& fence) {
    return fence.epoch ? Effect::kAck : Effect::kWrite;
}

void read_claimed(Reader& from, ClaimedTask& to) {
    from >> to.id >> to.queue >> to.kind >> to.payload >> to.headers >> to.priority >> to.attempt >>
        to.attempt_kind >> to.retry_count >> to.reclaim_count >> to.replay_count >> to.epoch >>
        to.lease_id >> to.lease_until >> to.attempt_deadline >> to.deadline >> to.checkpoint >>
        to.last_failure >> to.flow_id >> to.flow_key >> to.upstream >> to.signals;
}

// What the lease of a worker needs of a claimed task; a worker reads many of them.
void read_for_handler(const Result& result, int row, int first, ClaimedTask& to) {
    constexpr int kEpoch = 11;
    constexpr int kAttemptDeadline = 14;
    constexpr int kFlowId = 18;
    constexpr int kUpstream = 20;
    Reader(result, row, first) >> to.id >> to.queue >> to.kind >> to.payload >> to.headers >>
        to.priority >> to.attempt;
    Reader(result, row, first + kEpoch) >> to.epoch >> to.lease_id;
    Reader(result, row, first + kAttemptDeadline) >> to.attempt_deadline >> to.deadline >>
        to.checkpoint;
    Reader(result, row, first + kFlowId) >> to.flow_id;
    Reader(result, row, first + kUpstream) >> to.upstream >> to.signals;
}

void read_paused(Reader& from, ResumedTask& to) {
    from >> to.state >> to.available_at;
}

void append_claim(Params& params, const ClaimOptions& options, const OptionalTime& now) {
    params.insert(params.end(),
                  {options.worker, options.worker_instance, options.queues, options.capabilities,
                   count_of(options.lease), options.max_tasks, options.slots, now});
}

Json suspension_json(const NewSuspension& given) {
    Json waitpoints = Json::array();
    for (const auto& waitpoint : given.waitpoints) {
        Json object = {{"key", waitpoint.key}};
        if (waitpoint.id) {
            object["waitpoint_id"] = waitpoint.id->text();
        }
        waitpoints.push_back(std::move(object));
    }
    Json object = {{"waitpoints", std::move(waitpoints)},
                   {"condition", given.condition.json},
                   {"reason_code", text_of(given.reason)},
                   {"resume_delay_ms", count_of(given.resume_delay)}};
    put(object, "timeout_at_ms", count_of(given.timeout_at));
    put(object, "timeout_in_ms", count_of(given.timeout_in));
    put(object, "on_timeout", text_of(given.on_timeout));
    put(object, "idempotency_key", given.idempotency_key);
    return object;
}

// An answer, and behind which number more signals came than it has.
struct Suspended {
    SuspendedTask task;
    OptionalNumber cut_after;
};

void read_suspended(Reader& from, Suspended& to) {
    std::optional<Json> waitpoints;
    from >> to.task.result >> to.task.suspension_id >> waitpoints;
    for (const Json& part : waitpoints.value_or(Json::array())) {
        SignalList list = signals_of(json_member(part, "signals").value_or(Json::array()));
        to.cut_after = list.cut_after;
        to.task.waitpoints.push_back({.key = text_member(part, "key").value_or(""),
                                      .id = Uuid(text_member(part, "waitpoint_id").value_or("")),
                                      .token = text_member(part, "token"),
                                      .signals = std::move(list.signals)});
    }
}

}  // namespace

std::vector<ClaimedTask> TaskCalls::claim(const ClaimOptions& options, Where where) {
    Params params;
    append_claim(params, options, hub().now());
    return all_rows<ClaimedTask>(
        hub().call(Effect::kRepeatable, kAll, "claim_tasks", params, where), read_claimed);
}

ExtendedLease TaskCalls::extend(const TaskFence& fence, Milliseconds lease, Where where) {
    return first_row<ExtendedLease>(
               hub().call(Effect::kRepeatable, kAll, "renew_task",
                          {fence.id, fence.epoch, count_of(lease), hub().now()}, where),
               [](Reader& from, ExtendedLease& to) { from >> to.lease_until >> to.capped; })
        .value();
}

std::vector<TaskExtension> TaskCalls::extend_many(const std::vector<TaskFence>& fences,
                                                  Milliseconds lease, Where where) {
    std::vector<Uuid> ids;
    std::vector<std::int64_t> epochs;
    for (const auto& fence : fences) {
        ids.push_back(fence.id);
        epochs.push_back(fence.epoch.value_or(0));
    }
    return all_rows<TaskExtension>(hub().call(Effect::kRepeatable, kAll, "renew_tasks",
                                              {ids, epochs, count_of(lease), hub().now()}, where),
                                   [](Reader& from, TaskExtension& to) {
                                       from >> to.id >> to.extended >> to.lease_until >> to.reason;
                                   });
}

Time TaskCalls::progress(const TaskFence& fence, const TaskProgress& progress, Where where) {
    return hub()
        .query(Effect::kRepeatable,
               "SELECT * FROM " + hub().schema() +
                   ".progress_task($1, $2, $3::numeric, $4, $5, $6, $7)",
               {fence.id, fence.epoch, progress.percent, progress.message,
                json_param(progress.checkpoint), count_of(progress.lease), hub().now()},
               where)
        .get<Time>(0, 0);
}

bool TaskCalls::complete(const TaskFence& fence, const OptionalText& result,
                         std::string_view source, Where where) {
    try {
        hub().call(effect_of(fence), kAll, "complete_task",
                   {fence.id, fence.epoch, json_param(result), source, hub().now()}, where);
        return true;
    } catch (const Error& error) {
        if (!was_done_before(error)) {
            throw;
        }
        return false;
    }
}

std::vector<ClaimedTask> TaskCalls::complete_and_claim(const TaskFence& fence,
                                                       const OptionalText& result,
                                                       const ClaimOptions& options, Where where) {
    Params params = {fence.id, fence.epoch, json_param(result)};
    append_claim(params, options, hub().now());
    try {
        return all_rows<ClaimedTask>(
            hub().call(Effect::kAck, kAll, "complete_and_claim", params, where), read_claimed);
    } catch (const Error& error) {
        if (!was_done_before(error)) {
            throw;
        }
        return {};  // what the first run has claimed is unknown here: its leases lapse
    }
}

SettledTasks TaskCalls::settle_and_claim(const std::vector<TaskOutcome>& outcomes,
                                         const ClaimOptions& options, const Prefetch& prefetch,
                                         Where where) {
    std::vector<Uuid> ids;
    std::vector<OptionalNumber> epochs;
    std::vector<std::string> words;
    std::vector<std::optional<JsonText>> results;
    std::vector<OptionalText> classes;
    std::vector<OptionalText> messages;
    std::vector<std::optional<JsonText>> details;
    std::vector<OptionalNumber> delays;
    std::vector<std::optional<JsonText>> checkpoints;
    for (const auto& outcome : outcomes) {
        ids.push_back(outcome.fence.id);
        epochs.push_back(outcome.fence.epoch);
        words.push_back(outcome.word);
        results.push_back(json_param(outcome.result));
        classes.push_back(outcome.failure_class);
        messages.push_back(outcome.message);
        details.push_back(json_param(outcome.details));
        delays.push_back(count_of(outcome.delay));
        checkpoints.push_back(json_param(outcome.checkpoint));
    }
    const Result result = hub().call(Effect::kAck, kAll, "settle_and_claim_tasks",
                                     {ids,
                                      epochs,
                                      words,
                                      results,
                                      classes,
                                      messages,
                                      details,
                                      delays,
                                      checkpoints,
                                      std::optional<std::vector<JsonText>>(),
                                      options.worker,
                                      options.worker_instance,
                                      options.queues,
                                      options.capabilities,
                                      count_of(options.lease),
                                      options.max_tasks,
                                      options.slots,
                                      prefetch.most,
                                      prefetch.threshold,
                                      hub().now()},
                                     where);
    SettledTasks settled;
    const bool repeated = hub().connection().was_repeated();
    for (int row = 0; row < result.size(); ++row) {
        constexpr int kResult = 3;
        constexpr int kTask = 10;  // the first column of a claimed task
        if (result.is_null(row, 0)) {
            read_for_handler(result, row, kTask, settled.claimed.emplace_back());
            continue;
        }
        SettledOutcome outcome = read_outcome(result, row, repeated);
        if (repeated && outcome.reason == "already_completed") {
            outcome = {};
        } else {
            outcome.result = result.get<OptionalText>(row, kResult);
        }
        settled.outcomes.push_back(std::move(outcome));
    }
    return settled;
}

FailedTask TaskCalls::fail(const TaskFence& fence, const TaskFailure& failure,
                           std::string_view source, Where where) {
    return first_row<FailedTask>(
               hub().call(effect_of(fence), kAll, "fail_task",
                          {fence.id, fence.epoch, text_of(failure.failure_class), failure.message,
                           failure.details, count_of(failure.retry_after), source, hub().now()},
                          where),
               [](Reader& from, FailedTask& to) {
                   from >> to.result >> to.state >> to.available_at >> to.next_attempt;
               })
        .value();
}

ResumedTask TaskCalls::delay(const TaskFence& fence, Milliseconds delay,
                             const OptionalText& checkpoint, Where where) {
    return first_row<ResumedTask>(hub().call(Effect::kAck, kAll, "delay_task",
                                             {fence.id, fence.epoch, count_of(delay),
                                              json_param(checkpoint), hub().now()},
                                             where),
                                  read_paused)
        .value();
}

std::optional<ResumedTask> TaskCalls::release(const TaskFence& fence, Milliseconds delay,
                                              Where where) {
    return first_row<ResumedTask>(
        hub().call(Effect::kGiveBack, kAll, "release_task",
                   {fence.id, fence.epoch, count_of(delay), hub().now()}, where),
        read_paused);
}

void TaskCalls::guard(const TaskFence& fence, Where where) {
    hub().call(Effect::kRepeatable, kAll, "guard_task", {fence.id, fence.epoch}, where);
}

SuspendedTask TaskCalls::suspend(const TaskFence& fence, const NewSuspension& suspension,
                                 Where where) {
    Suspended suspended =
        first_row<Suspended>(
            hub().call(suspension.idempotency_key ? Effect::kRepeatable : Effect::kAck, kAll,
                       "suspend_task",
                       {fence.id, fence.epoch, suspension_json(suspension), hub().now()}, where),
            read_suspended)
            .value();
    if (suspended.cut_after) {
        for (auto& signal : signals_behind(hub(), fence.id, *suspended.cut_after, where)) {
            for (auto& waitpoint : suspended.task.waitpoints) {
                if (waitpoint.id == signal.waitpoint_id) {
                    waitpoint.signals.push_back(signal);
                }
            }
        }
    }
    return std::move(suspended.task);
}

CreatedWaitpoint TaskCalls::create_waitpoint(const TaskFence& fence, std::string_view key,
                                             Milliseconds expires_in, Where where) {
    return first_row<CreatedWaitpoint>(
               hub().call(Effect::kWrite, kAll, "create_waitpoint",
                          {fence.id, fence.epoch, key, count_of(expires_in), hub().now()}, where),
               [](Reader& from, CreatedWaitpoint& to) { from >> to.id >> to.token; })
        .value();
}

}  // namespace belay
