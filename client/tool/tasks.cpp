// belay tasks, task, revoke, retry, replay, priority, queues.
#include "tasks.hpp"

#include <algorithm>
#include <iostream>

namespace belay::tool {
namespace {

// The task of this id as JSON; none if there is none, or if the hub is of a version without tasks.
// As the server spells it: numbers keep their digits.
OptionalText find_task(Tool& tool, const std::string& id) {
    const auto uuid = Uuid::parse(id);
    if (!uuid) {
        return std::nullopt;
    }
    try {
        Hub hub = tool.hub();
        return hub.query(Effect::kRepeatable, "SELECT " + hub.schema() + ".get_task($1)", {*uuid})
            .get<OptionalText>(0, 0);
    } catch (const Error& error) {
        if (error.sqlstate() != "42883") {
            throw;
        }
        return std::nullopt;
    }
}

using TaskArguments = ListArguments<TaskFilter, TaskState>;

void list_tasks(Tool& tool, const TaskArguments& given) {
    const TaskFilter parsed = filter_of(given);
    Hub hub = tool.hub();
    const auto found = browse(hub, {.function = "browse_tasks",
                                    .filter = parsed.json(),
                                    .order = "created",
                                    .after = given.after,
                                    .limit = parsed.limit,
                                    .preview = 0});
    Json rows = Json::array();
    for (const auto& task : found.rows) {
        rows.push_back(fields_of(task, {"task_id",
                                        "state",
                                        "queue",
                                        "kind",
                                        "priority",
                                        "flow_id",
                                        "flow_key",
                                        "pending_attempt",
                                        "attempt_index",
                                        "retry_count",
                                        "reclaim_count",
                                        "replay_count",
                                        "available_at_ms",
                                        "deadline_ms",
                                        "worker",
                                        "worker_instance",
                                        "lease_epoch",
                                        "lease_until_ms",
                                        "failure_class",
                                        "cancel_reason",
                                        "tags",
                                        "created_at_ms",
                                        "updated_at_ms",
                                        "terminal_at_ms"}));
    }
    tool.print_page(rows, found.next,
                    {{"task_id", "TASK"},
                     {"state", "STATE"},
                     {"queue", "QUEUE"},
                     {"kind", "KIND"},
                     {"priority", "PRIO", Show::kNumber},
                     {"attempt_index", "ATT", Show::kNumber},
                     {"updated_at_ms", "UPDATED", Show::kTime},
                     {"worker_instance", "WORKER"}});
}

void list_queues(Tool& tool) {
    Json rows = Json::array();
    for (const auto& queue : tool.hub().queues().depths()) {
        const auto& age = queue.oldest_ready_age;
        rows.push_back({{"queue", queue.queue},
                        {"paused", queue.paused},
                        {"ready", queue.ready},
                        {"delayed", queue.delayed},
                        {"blocked", queue.blocked},
                        {"active", queue.active},
                        {"suspended", queue.suspended},
                        {"overdue_leases", queue.overdue_leases},
                        {"oldest_ready_age_ms", json_of(age)},
                        {"oldest", age ? Json(duration_text(age->count())) : Json(nullptr)}});
    }
    tool.print(rows, {{"queue", "QUEUE"},
                      {"ready", "READY", Show::kNumber},
                      {"delayed", "DELAYED", Show::kNumber},
                      {"blocked", "BLOCKED", Show::kNumber},
                      {"active", "ACTIVE", Show::kNumber},
                      {"suspended", "SUSPENDED", Show::kNumber},
                      {"overdue_leases", "OVERDUE", Show::kNumber},
                      {"oldest", "OLDEST", Show::kNumber},
                      {"paused", "PAUSED", Show::kFlag}});
}

void add_task_reading(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<TaskArguments>();
    auto* filter = &given->filter;
    auto* tasks = app.add_subcommand("tasks", "list tasks, newest first");
    tasks->add_option("--queue", filter->queue, "of this queue");
    tasks->add_option("--state", given->states,
                      "blocked, delayed, ready, active, suspended, completed, failed, cancelled, "
                      "expired or skipped; repeatable");
    tasks->add_option("--kind", filter->kind, "of this kind");
    tasks->add_option("--header", given->tags, "with this header, KEY=VALUE; repeatable");
    tasks->add_option("--worker", filter->worker, "leased by this kind of worker");
    tasks->add_option("--worker-instance", filter->worker_instance, "leased by this worker");
    tasks->add_option("--created-from", given->created_from_ms, "in ms since 1970");
    tasks->add_option("--created-before", given->created_to_ms, "in ms since 1970");
    tasks->add_option("--after", given->after,
                      "where the list ended before, with the same filters");
    tasks->add_option("--limit", filter->limit, "at most so many")->capture_default_str();
    on_run(tool, tasks, [&tool, given] { list_tasks(tool, *given); });

    auto id = std::make_shared<std::string>();
    auto* show = app.add_subcommand("task", "all about one task");
    show->add_option("ID", *id, "the task")->required();
    on_run(tool, show, [&tool, id] { show_task(tool, *id); });

    on_run(tool, app.add_subcommand("queues", "list queues of tasks, and how many tasks they have"),
           [&tool] { list_queues(tool); });
}

struct Steering {
    std::string id;
    TaskArguments many;  // of replay, instead of an id
    std::string reason;
    RevokeTarget target;
    int priority = 0;
    bool cascade = false;
};

void revoke(Tool& tool, const Steering& given) {
    const auto revoked =
        tool.hub().tasks().revoke_lease(id_of(given.id), given.reason, given.target);
    tool.say({{"result", revoked.revoked ? "revoked" : "already_satisfied"},
              {"reason", json_of(revoked.reason)},
              {"lease_id", json_of(revoked.lease_id)},
              {"lease_epoch", json_of(revoked.lease_epoch)}},
             revoked.revoked
                 ? "revoked lease " + revoked.lease_id.value_or("")
                 : "nothing to revoke: " + (revoked.reason ? text_of(*revoked.reason) : ""));
}

// What was done to many tasks so far.
struct Replayed {
    std::int64_t done = 0;
    std::int64_t skipped = 0;
    Json failed = Json::array();
    bool more = false;

    std::string text() const {
        std::string all =
            std::to_string(done) + (done == 1 ? " task runs" : " tasks run") + " once more";
        if (skipped > 0) {
            all += ", " + std::to_string(skipped) + " skipped";
        }
        if (!failed.empty()) {
            all += ", " + std::to_string(failed.size()) + " cannot";
        }
        return all + (more ? "; there are more, raise --limit" : "");
    }
};

// Replays one portion of at most so many, from a cursor on; returns that of the next one.
OptionalText replay_portion(Hub& hub, const Json& filter, const Steering& given, int most,
                            const OptionalText& after, Replayed* sum) {
    const auto& states = given.many.states;
    const bool failed_only = std::all_of(
        states.begin(), states.end(),
        [](const std::string& state) { return state == "failed" || state == "expired"; });
    const auto portion =
        Json::parse(hub.query(Effect::kWrite,
                              "SELECT " + hub.schema() +
                                  ".replay_tasks(CAST($1 AS jsonb), $2, $3, $4, $5, 100000)",
                              {filter.dump(), given.cascade,
                               std::string(failed_only ? "failed" : "ended"), after, most})
                        .get<std::string>(0, 0));
    sum->done += portion["done"].get<std::int64_t>();
    sum->skipped += portion["skipped"].get<std::int64_t>();
    for (const auto& one : portion["failed"]) {
        sum->failed.push_back(one);
        std::cerr << "belay: task " << printable(one["id"].get<std::string>()) << ": "
                  << printable(one["code"].get<std::string>()) << " "
                  << printable(one["word"].get<std::string>()) << "\n";
    }
    return portion["next"].is_null() ? OptionalText()
                                     : OptionalText(portion["next"].get<std::string>());
}

// Replays all tasks that fit, portion by portion, each in a transaction of its own.
void replay_many(Tool& tool, const Steering& given) {
    constexpr int kPortion = 500;
    TaskFilter wanted = filter_of(given.many);
    if (wanted.states.empty()) {
        wanted.states = {TaskState::kFailed};
    }
    const Json filter = wanted.json();
    Hub hub = tool.hub();
    Replayed sum;
    OptionalText next;
    try {
        int left = wanted.limit;
        do {
            const std::int64_t before = sum.done + sum.skipped;
            const std::size_t failed_before = sum.failed.size();
            next = replay_portion(hub, filter, given, std::min(left, kPortion), next, &sum);
            left -= static_cast<int>(sum.done + sum.skipped - before) +
                    static_cast<int>(sum.failed.size() - failed_before);
            if (next && left > 0) {
                std::cerr << "belay: so far " << sum.text() << "\n";
            }
        } while (next && left > 0);
    } catch (const Error&) {
        std::cerr << "belay: before the error " << sum.text() << "\n";
        throw;
    }
    sum.more = next.has_value();
    tool.say({{"replayed", sum.done},
              {"skipped", sum.skipped},
              {"failed", sum.failed},
              {"more", sum.more}},
             sum.text());
    if (!sum.failed.empty()) {
        throw std::runtime_error("not all of these tasks can run once more");
    }
}

void replay(Tool& tool, const Steering& given) {
    const bool many = given.many.filter.queue || given.many.filter.kind ||
                      !given.many.states.empty() || !given.many.tags.empty();
    if (given.id.empty() != many) {
        throw UsageError(
            "name a task, or else which ones with --queue, --state, --kind or --header");
    }
    if (many) {
        return replay_many(tool, given);
    }
    const auto replayed = tool.hub().tasks().replay(id_of(given.id), given.cascade);
    tool.say(
        {{"result", "replayed"},
         {"task_id", replayed.id},
         {"public_state", replayed.public_state},
         {"replay_count", replayed.replay_count},
         {"reopened", replayed.reopened},
         {"waiting_on", replayed.waiting_on}},
        "task " + replayed.id.text() + " runs once more; it is " + text_of(replayed.public_state));
}

void retry(Tool& tool, const Steering& given) {
    const Uuid id = id_of(given.id);
    tool.hub().tasks().retry(id);
    tool.say({{"task_id", id}, {"retried", true}}, "task " + id.text() + " runs once more");
}

void change_priority(Tool& tool, const Steering& given) {
    const auto changed = tool.hub().tasks().change_priority(id_of(given.id), given.priority);
    tool.say({{"result", "changed"},
              {"task_id", changed.id},
              {"old_priority", changed.old_priority},
              {"new_priority", changed.new_priority}},
             "task " + changed.id.text() + " has priority " + std::to_string(changed.new_priority) +
                 ", it had " + std::to_string(changed.old_priority));
}

void add_steering(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<Steering>();
    const auto add = [&](const char* name, const char* help, void (*body)(Tool&, const Steering&)) {
        auto* command = app.add_subcommand(name, help);
        command->add_option("ID", given->id, "the task")->required(body != replay);
        on_run(tool, command, [&tool, given, body] { body(tool, *given); });
        return command;
    };
    auto* revoking =
        add("revoke", "take the lease of a task away; its attempt goes on elsewhere", revoke);
    revoking->add_option("--reason", given->reason, "why");
    revoking->add_option("--worker-instance", given->target.worker_instance,
                         "only if this worker holds it");
    revoking->add_option("--lease-id", given->target.lease_id, "only if it is this lease");
    revoking->add_option("--epoch", given->target.epoch, "only if it has this epoch");
    add("retry", "run a task once more that has ended without success", retry);
    auto* replaying = add("replay", "run a task that has ended once more, or many", replay);
    replaying->footer(
        "Code of durable functions is run against stored histories by: belay replay-history");
    replaying->add_option("--queue", given->many.filter.queue, "those of this queue");
    replaying->add_option("--state", given->many.states,
                          "those in this state: failed (default), completed, cancelled, expired or "
                          "skipped; repeatable");
    replaying->add_option("--kind", given->many.filter.kind, "those of this kind");
    replaying->add_option("--header", given->many.tags,
                          "those with this header, KEY=VALUE; repeatable");
    given->many.filter.limit = 1000;
    replaying->add_option("--limit", given->many.filter.limit, "at most so many")
        ->capture_default_str();
    replaying->add_flag("--cascade", given->cascade, "and those that were skipped because of it");
    auto* changing =
        add("priority", "give a task that waits for a worker another priority", change_priority);
    changing->add_option("PRIORITY", given->priority, "0 to 9000; higher comes first")->required();
}

}  // namespace

void add_target(CLI::App* command, const std::shared_ptr<Target>& target) {
    command->add_option("ID", target->id, "the instance or the task")->required();
    auto* task = command->add_flag("--task", target->is_task, "the ID is a task's");
    command->add_flag("--instance", target->is_instance, "the ID is an instance's")->excludes(task);
    command->footer(
        "Without --task and --instance: the task of this ID if there is one, else the "
        "instance.");
}

bool means_task(Tool& tool, const Target& target) {
    if (target.is_task || target.is_instance) {
        return target.is_task;
    }
    if (!find_task(tool, target.id)) {
        return false;
    }
    if (tool.hub().orchestrations().get(target.id)) {
        throw UsageError("there is a task and an instance of this id: say --task or --instance");
    }
    return true;
}

void show_task(Tool& tool, const std::string& id) {
    const auto found = find_task(tool, id);
    if (!found) {
        throw std::runtime_error("no task " + id);
    }
    Json task = Json::parse(*found);
    if (tool.json) {
        std::cout << *found << "\n";
        return;
    }
    for (const auto& [part, fields] :
         {std::pair("lease", std::vector<const char*>{"worker_instance", "until_ms"}),
          std::pair("progress", std::vector<const char*>{"percent", "message"}),
          std::pair("failure", std::vector<const char*>{"class", "message"})}) {
        for (const char* field : fields) {
            const Json& whole = task[part];
            task[std::string(part) + "_" + field] = whole.is_null() ? Json(nullptr) : whole[field];
        }
    }
    for (auto& attempt : task["attempts"]) {
        const Json& error = attempt["error"];
        attempt["message"] = error.is_null() ? Json(nullptr) : error["message"];
    }
    std::cout << list(task, {{"task_id", "task"},
                             {"state", "state"},
                             {"public_state", "public state"},
                             {"blocking_reason", "blocked by"},
                             {"queue", "queue"},
                             {"kind", "kind"},
                             {"priority", "priority"},
                             {"capabilities", "capabilities"},
                             {"tags", "headers"},
                             {"payload", "payload"},
                             {"policy", "policy"},
                             {"lease_worker_instance", "leased by"},
                             {"lease_until_ms", "leased until", Show::kTime},
                             {"progress_percent", "percent"},
                             {"progress_message", "progress"},
                             {"checkpoint", "checkpoint"},
                             {"result", "result"},
                             {"failure_class", "failure"},
                             {"failure_message", "message"},
                             {"cancelled_by", "cancelled by"},
                             {"cancel_reason", "cancel reason"},
                             {"retry_count", "retries"},
                             {"reclaim_count", "reclaims"},
                             {"replay_count", "replays"},
                             {"available_at_ms", "available", Show::kTime},
                             {"deadline_ms", "deadline", Show::kTime},
                             {"created_at_ms", "created", Show::kTime},
                             {"updated_at_ms", "updated", Show::kTime},
                             {"terminal_at_ms", "ended", Show::kTime}})
              << "\n"
              << table(task["attempts"],
                       {{"attempt_index", "ATT", Show::kNumber},
                        {"kind", "KIND"},
                        {"outcome", "OUTCOME"},
                        {"lease_count", "LEASES", Show::kNumber},
                        {"started_ms", "STARTED", Show::kTime},
                        {"ended_ms", "ENDED", Show::kTime},
                        {"worker_instance", "WORKER"},
                        {"message", "MESSAGE"}},
                       terminal_width());
}

void explain_task(Tool& tool, const std::string& id) {
    Json rows = Json::array();
    for (const auto& reason : tool.hub().tasks().explain(id_of(id))) {
        if (reason.reason == ClaimCase::kNotFound) {
            throw UnknownId("no task " + id);
        }
        rows.push_back({{"reason", reason.reason}, {"detail", json_of(reason.detail)}});
    }
    tool.print(rows, {{"reason", "REASON"}, {"detail", "DETAIL"}});
}

void cancel_task(Tool& tool, const std::string& id, const std::string& reason) {
    const Uuid task = id_of(id);
    const bool cancelled = tool.hub().tasks().cancel(task, reason);
    tool.say({{"task_id", task}, {"cancelled", cancelled}},
             "task " + task.text() + (cancelled ? " is cancelled" : " had ended before"));
}

void add_tasks(CLI::App& app, Tool& tool) {
    add_task_reading(app, tool);
    add_steering(app, tool);
}

}  // namespace belay::tool
