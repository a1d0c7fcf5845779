// Tasks, as clients and operators see them.
#include "belay/tasks.hpp"

#include "rows.hpp"
#include "task_calls.hpp"
#include "task_json.hpp"

namespace belay {
namespace {

// Created again, it would be the same task.
bool is_created_once(const NewTask& task) {
    return task.id || (task.key && task.key_window != Milliseconds(0));
}

void read_created_task(Reader& from, CreatedTask& to) {
    from >> to.id >> to.state >> to.created;
}

}  // namespace

Json task_json(const NewTask& task) {
    Json object = {{"queue", task.queue},
                   {"payload", task.payload},
                   {"kind", task.kind},
                   {"priority", task.priority},
                   {"delay_ms", count_of(task.delay)},
                   {"capabilities", task.capabilities}};
    if (task.id) {
        object["task_id"] = task.id->text();
    }
    put(object, "available_at_ms", count_of(task.available_at));
    put(object, "deadline_ms", count_of(task.deadline));
    put(object, "deadline_in_ms", count_of(task.deadline_in));
    put(object, "dedup_key", task.key);
    put(object, "dedup_window_ms", count_of(task.key_window));
    put(object, "tags", task.headers);
    if (task.policy) {
        object["policy"] = task.policy->json();
    }
    return object;
}

Json TaskFilter::json() const {
    Json object = Json::object();
    put(object, "queue", queue);
    put(object, "kind", kind);
    put(object, "worker", worker);
    put(object, "worker_instance", worker_instance);
    put(object, "tags", headers);
    put(object, "created_from_ms", count_of(created_from));
    put(object, "created_to_ms", count_of(created_before));
    for (const auto state : states) {
        object["state"].push_back(text_of(state));
    }
    return object;
}

// ---- Creating. ----

CreatedTask Tasks::create(const NewTask& task, Where where) {
    return create_many({task}, where).at(0);
}

std::vector<CreatedTask> Tasks::create_many(const std::vector<NewTask>& tasks, Where where) {
    Json array = Json::array();
    for (const auto& task : tasks) {
        array.push_back(task_json(task));
    }
    const bool repeatable = std::ranges::all_of(tasks, is_created_once);
    return all_rows<CreatedTask>(
        hub().call(repeatable ? Effect::kRepeatable : Effect::kWrite, "task_id, state, created",
                   "create_tasks", {array, hub().now()}, where),
        read_created_task);
}

// ---- Watching. ----

std::optional<TaskStatus> Tasks::status(const Uuid& id, Where where) {
    const std::string sql =
        "SELECT id, queue, kind, state, attempt, result, error, error_class, percent, message, "
        "worker, " BELAY_MS("created_at") ", " BELAY_MS("available_at") ", " BELAY_MS(
            "started_at") ", " BELAY_MS("lease_until") ", " BELAY_MS("deadline") ", " BELAY_MS(
            "finished_at") " FROM " +
        hub().schema() + ".status($1) WHERE id IS NOT NULL";
    return first_row<TaskStatus>(
        hub().query_at_clock(Effect::kRepeatable, sql, {id}, where),
        [](Reader& from, TaskStatus& to) {
            OptionalText kind;
            from >> to.id >> to.queue >> kind >> to.state >> to.attempt >> to.result >> to.error >>
                to.error_class >> to.percent >> to.message >> to.worker >> to.created_at >>
                to.available_at >> to.started_at >> to.lease_until >> to.deadline >> to.finished_at;
            to.kind = kind.value_or("");
        });
}

TaskResult Tasks::await(const Uuid& id, Milliseconds timeout, Where where) {
    hub().check_can_wait(where);
    const Result result = hub().connection().call(
        Effect::kRepeatable, "CALL " + hub().schema() + ".await_result($1, $2 * interval '1 ms')",
        {id, count_of(timeout)}, where);
    return {.state = result.get<Word<TaskState>>(0, 0),
            .result = result.get<std::optional<Json>>(0, 1)};
}

// ---- Steering. ----

bool Tasks::cancel(const Uuid& id, std::string_view reason, Where where) {
    return hub()
        .query_at_clock(Effect::kRepeatable, "SELECT " + hub().schema() + ".cancel($1, $2)",
                        {id, reason}, where)
        .get<bool>(0, 0);
}

void Tasks::retry(const Uuid& id, Where where) {
    hub().query_at_clock(Effect::kWrite, "SELECT " + hub().schema() + ".retry($1)", {id}, where);
}

bool Tasks::remove(const Uuid& id, Where where) {
    return hub().call(Effect::kWrite, kAll, "delete_task", {id}, where).get<bool>(0, 0);
}

CancelledTask Tasks::force_cancel(const Uuid& id, std::string_view reason, Where where) {
    return first_row<CancelledTask>(
               hub().call(Effect::kRepeatable, "task_id, public_state, previous_state, effective",
                          "cancel_task",
                          {id, reason, kOperatorOverride, OptionalNumber(), hub().now()}, where),
               [](Reader& from, CancelledTask& to) {
                   from >> to.id >> to.public_state >> to.previous_state >> to.effective;
               })
        .value();
}

RevokedLease Tasks::revoke_lease(const Uuid& id, std::string_view reason,
                                 const RevokeTarget& target, Where where) {
    // Repeated without an aim, it could take the lease of the next worker.
    const bool aimed = target.epoch || !target.lease_id.empty();
    return first_row<RevokedLease>(
               hub().call(
                   aimed ? Effect::kRepeatable : Effect::kWrite, kAll, "revoke_lease",
                   {id, reason, target.worker_instance, target.lease_id, target.epoch, hub().now()},
                   where),
               [](Reader& from, RevokedLease& to) {
                   std::string result;
                   from >> result >> to.reason >> to.lease_id >> to.lease_epoch;
                   to.revoked = result == "revoked";
               })
        .value();
}

ChangedPriority Tasks::change_priority(const Uuid& id, int priority, Where where) {
    return first_row<ChangedPriority>(
               hub().call(Effect::kWrite, "task_id, old_priority, new_priority", "change_priority",
                          {id, priority, hub().now()}, where),
               [](Reader& from, ChangedPriority& to) {
                   from >> to.id >> to.old_priority >> to.new_priority;
               })
        .value();
}

ReplayedTask Tasks::replay(const Uuid& id, bool cascade, Where where) {
    return first_row<ReplayedTask>(
               hub().call(Effect::kWrite,
                          "task_id, public_state, replay_count, array_to_string(reopened, ','), "
                          "array_to_string(waiting_on, ',')",
                          "replay_task", {id, cascade, std::optional<int>(), hub().now()}, where),
               [](Reader& from, ReplayedTask& to) {
                   OptionalText reopened;
                   OptionalText waiting_on;
                   from >> to.id >> to.public_state >> to.replay_count >> reopened >> waiting_on;
                   to.reopened = ids_of(reopened.value_or(""));
                   to.waiting_on = ids_of(waiting_on.value_or(""));
               })
        .value();
}

// ---- Reading. ----

std::optional<Json> Tasks::get(const Uuid& id, Where where) {
    return hub()
        .call(Effect::kRepeatable, kAll, "get_task", {id}, where)
        .get<std::optional<Json>>(0, 0);
}

std::vector<TaskInfo> Tasks::list(const TaskFilter& filter, Where where) {
    return all_rows<TaskInfo>(hub().call(Effect::kRepeatable, kAll, "list_tasks",
                                         {filter.json(), filter.after, filter.limit}, where),
                              [](Reader& from, TaskInfo& to) {
                                  from >> to.id >> to.state >> to.queue >> to.kind >> to.priority >>
                                      to.flow_id >> to.flow_key >> to.pending_attempt >>
                                      to.attempt >> to.retry_count >> to.reclaim_count >>
                                      to.replay_count >> to.available_at >> to.deadline >>
                                      to.worker >> to.worker_instance >> to.lease_epoch >>
                                      to.lease_until >> to.failure_class >> to.cancel_reason >>
                                      to.headers >> to.created_at >> to.updated_at >> to.ended_at;
                              });
}

std::vector<ExpiredLease> Tasks::expired_leases(const ExpiredLeasePage& page, Where where) {
    return all_rows<ExpiredLease>(hub().call(Effect::kRepeatable, kAll, "list_expired_leases",
                                             {page.queue, page.after, page.after_id, page.limit,
                                              page.as_of ? page.as_of : hub().now()},
                                             where),
                                  [](Reader& from, ExpiredLease& to) {
                                      from >> to.task_id >> to.queue >> to.lease_id >>
                                          to.lease_epoch >> to.lease_until >> to.worker >>
                                          to.worker_instance >> to.attempt;
                                  });
}

std::vector<ClaimReason> Tasks::explain(const Uuid& id,
                                        const std::optional<std::vector<std::string>>& capabilities,
                                        const std::optional<std::vector<std::int32_t>>& slots,
                                        Where where) {
    return all_rows<ClaimReason>(
        hub().call(Effect::kRepeatable, kAll, "explain_claim",
                   {id, capabilities, slots, hub().now()}, where),
        [](Reader& from, ClaimReason& to) { from >> to.reason >> to.detail; });
}

std::vector<Problem> Tasks::check(const std::optional<Uuid>& flow_id, Where where) {
    return all_rows<Problem>(hub().call(Effect::kRepeatable, kAll, "check_tasks", {flow_id}, where),
                             [](Reader& from, Problem& to) { from >> to.object >> to.problem; });
}

}  // namespace belay
