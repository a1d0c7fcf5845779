// belay instances, history, start, raise; and show, explain, cancel, which are for tasks, too.
#include <iostream>
#include <limits>

#include "flows.hpp"
#include "tasks.hpp"

namespace belay::tool {
namespace {

Json instance_json(const InstanceInfo& info) {
    return {{"instance_id", info.instance_id},
            {"orchestration_name", json_of(info.orchestration_name)},
            {"orchestration_version", json_of(info.orchestration_version)},
            {"current_execution_id", json_of(info.current_execution_id)},
            {"status", json_of(info.status)},
            {"output", json_of(info.output)},
            {"parent_instance_id", json_of(info.parent_instance_id)},
            {"created_at", json_of(info.created_at)},
            {"updated_at", json_of(info.updated_at)}};
}

// An instance that is not there yet, with a status in words.
Json started_json(const PendingStart& start) {
    return {{"instance_id", start.instance_id},
            {"orchestration_name", json_of(start.orchestration_name)},
            {"orchestration_version", json_of(start.orchestration_version)},
            {"current_execution_id", nullptr},
            {"status", "started, waiting for a dispatcher" +
                           (start.orchestration_name ? " of " + *start.orchestration_name : "")},
            {"output", nullptr},
            {"parent_instance_id", nullptr},
            {"created_at", json_of(start.created_at)},
            {"updated_at", json_of(start.created_at)},
            {"visible_at", json_of(start.visible_at)}};
}

// Started instances that no dispatcher has picked up; none if the role may not see them, or if the
// hub is of a version that does not report it.
std::vector<PendingStart> pending_starts(Hub& hub, const OptionalText& id, int limit) {
    try {
        return hub.orchestrations().pending_starts(id, limit);
    } catch (const Error& error) {
        if (error.sqlstate() != "42501" && error.sqlstate() != "42P01") {
            throw;
        }
        return {};
    }
}

Json started_json(Hub& hub, const std::string& id) {
    const auto found = pending_starts(hub, id, 1);
    PendingStart unnamed;
    unnamed.instance_id = id;
    return started_json(found.empty() ? unnamed : found[0]);
}

struct InstanceArguments {
    OptionalText status;
    OptionalText name;
    OptionalText prefix;
    OptionalNumber created_from_ms;
    OptionalNumber created_before_ms;
    OptionalText after;
    int limit = 100;
};

Json filter_of(const InstanceArguments& given) {
    Json filter = Json::object();
    if (given.status) {
        filter["status"] = text_of(enum_of<InstanceStatus>(*given.status));
    }
    put(filter, "name", given.name);
    put(filter, "prefix", given.prefix);
    put(filter, "created_from_ms", given.created_from_ms);
    if (given.created_before_ms) {
        filter["created_to_ms"] = *given.created_before_ms - 1;
    }
    return filter;
}

void list_instances(Tool& tool, const InstanceArguments& given) {
    const Json filter = filter_of(given);
    Json rows = Json::array();
    Hub hub = tool.hub();
    // They have no status and no place in the order yet: only the first page of all has them.
    if (!given.status && !given.after && !given.created_from_ms && !given.created_before_ms) {
        for (const auto& start : pending_starts(hub, {}, given.limit)) {
            if ((!given.name || start.orchestration_name == given.name) &&
                start.instance_id.starts_with(given.prefix.value_or(""))) {
                rows.push_back(started_json(start));
            }
        }
    }
    const auto found = browse(hub, {.function = "browse_instances",
                                    .filter = filter,
                                    .order = "created",
                                    .after = given.after,
                                    .limit = given.limit,
                                    .preview = kMostPreview});
    for (const auto& instance : found.rows) {
        rows.push_back(fields_of(instance, {"instance_id",
                                            {"name", "orchestration_name"},
                                            {"version", "orchestration_version"},
                                            {"execution_id", "current_execution_id"},
                                            "status",
                                            "output_bytes",
                                            "output",
                                            {"parent_id", "parent_instance_id"},
                                            {"created_at_ms", "created_at"},
                                            {"updated_at_ms", "updated_at"}}));
    }
    tool.print_page(rows, found.next,
                    {{"instance_id", "INSTANCE"},
                     {"orchestration_name", "ORCHESTRATION"},
                     {"status", "STATUS"},
                     {"current_execution_id", "EXEC", Show::kNumber},
                     {"updated_at", "UPDATED", Show::kTime},
                     {"output", "OUTPUT"}});
}

Json executions_json(Hub& hub, const std::string& id) {
    Json rows = Json::array();
    for (const auto number : hub.orchestrations().executions(id)) {
        if (const auto execution = hub.orchestrations().execution(id, number)) {
            rows.push_back({{"execution_id", execution->execution_id},
                            {"status", json_of(execution->status)},
                            {"output", json_of(execution->output)},
                            {"started_at", json_of(execution->started_at)},
                            {"completed_at", json_of(execution->completed_at)},
                            {"event_count", execution->event_count}});
        }
    }
    return rows;
}

// What there is of an instance.
enum class Being {
    kUnknown,   // nothing, or messages that came before a start
    kStarted,   // a start is queued, and no dispatcher has taken it yet
    kInstance,  // it has had a turn
};

Being being_of(Hub& hub, const std::string& id) {
    if (hub.orchestrations().get(id)) {
        return Being::kInstance;
    }
    for (const auto& reason : hub.orchestrations().explain(id)) {
        if (reason.reason == FetchCase::kNoMessages || reason.reason == FetchCase::kNeverStarted) {
            return Being::kUnknown;
        }
    }
    return Being::kStarted;
}

// Refuses to send to an instance that is not there: the message would wait for its start.
void require_instance(Tool& tool, const std::string& id, bool early) {
    if (early) {
        return;
    }
    const std::string hint =
        "--early sends it all the same; it then waits for the start of " + id + ".";
    try {
        Hub hub = tool.hub();
        if (being_of(hub, id) == Being::kUnknown) {
            throw UnknownId("no instance or task " + id, hint);
        }
    } catch (const Error& error) {
        if (error.sqlstate() != "42501") {
            throw;
        }
        throw UnknownId("this role may not see whether there is an instance " + id,
                        "belay.grant_hub with level monitor lets it; " + hint);
    }
}

void show_instance(Tool& tool, const std::string& id) {
    Hub hub = tool.hub();
    const auto info = hub.orchestrations().get(id);
    if (!info) {
        if (being_of(hub, id) == Being::kUnknown) {
            throw UnknownId("no instance or task " + id);
        }
        const Json started = started_json(hub, id);
        tool.say(started, id + ": " + started["status"].get<std::string>());
        return;
    }
    Json object = instance_json(*info);
    const auto status = hub.orchestrations().custom_status(id);
    object["custom_status"] = status ? json_of(status->value) : Json(nullptr);
    if (const auto stats = hub.orchestrations().stats(id)) {
        object["history_events"] = stats->history_event_count;
        object["history_bytes"] = stats->history_size_bytes;
        object["pending_messages"] = stats->queue_pending_count;
    }
    object["children"] = hub.orchestrations().children(id);
    Json state = Json::object();
    for (const auto& [key, value] : hub.orchestrations().values(id)) {
        state[key] = json_of(value);
    }
    object["state"] = state;
    object["executions"] = executions_json(hub, id);
    if (tool.json) {
        std::cout << json_text(object) << "\n";
        return;
    }
    std::cout << list(object, {{"instance_id", "instance"},
                               {"orchestration_name", "orchestration"},
                               {"orchestration_version", "version"},
                               {"status", "status"},
                               {"output", "output"},
                               {"custom_status", "custom status"},
                               {"parent_instance_id", "parent"},
                               {"created_at", "created", Show::kTime},
                               {"updated_at", "updated", Show::kTime},
                               {"history_events", "events"},
                               {"history_bytes", "history", Show::kBytes},
                               {"pending_messages", "messages"},
                               {"children", "children"},
                               {"state", "state"}})
              << "\n"
              << table(object["executions"],
                       {{"execution_id", "EXEC", Show::kNumber},
                        {"status", "STATUS"},
                        {"event_count", "EVENTS", Show::kNumber},
                        {"started_at", "STARTED", Show::kTime},
                        {"completed_at", "ENDED", Show::kTime},
                        {"output", "OUTPUT"}},
                       terminal_width());
}

struct HistoryRange {
    std::string instance_id;
    OptionalNumber execution_id;
    OptionalNumber after;
    std::optional<int> limit;
};

void show_history(Tool& tool, const HistoryRange& range) {
    Json rows = Json::array();
    for (const auto& event : tool.hub().orchestrations().history(
             range.instance_id, range.execution_id, range.after, range.limit)) {
        rows.push_back({{"execution_id", event.execution_id},
                        {"event_id", event.event_id},
                        {"event_type", json_of(event.event_type)},
                        {"created_at", json_of(event.created_at)},
                        {"event_data", event.event_data}});
    }
    tool.print(rows, {{"execution_id", "EXEC", Show::kNumber},
                      {"event_id", "EVENT", Show::kNumber},
                      {"event_type", "TYPE"},
                      {"created_at", "TIME", Show::kTime},
                      {"event_data", "DATA"}});
}

Json rows_of(const std::vector<FetchReason>& reasons) {
    Json rows = Json::array();
    for (const auto& reason : reasons) {
        rows.push_back({{"reason", reason.reason},
                        {"detail", json_of(reason.detail)},
                        {"until_at", json_of(reason.until)}});
    }
    return rows;
}

void print_reasons(const Tool& tool, const Json& rows) {
    tool.print(rows,
               {{"reason", "REASON"}, {"until_at", "UNTIL", Show::kTime}, {"detail", "DETAIL"}});
}

void explain(Tool& tool, const std::string& id) {
    Hub hub = tool.hub();
    const Being being = being_of(hub, id);
    if (being == Being::kUnknown) {
        throw UnknownId("no instance or task " + id);
    }
    Json rows = rows_of(hub.orchestrations().explain(id));
    if (rows.empty() && being == Being::kStarted) {
        rows.push_back({{"reason", "waiting_for_dispatcher"},
                        {"detail", started_json(hub, id)["status"]},
                        {"until_at", nullptr}});
    }
    if (rows.empty() && !tool.json) {
        std::cout << "nothing keeps " << printable(id) << " from its next turn\n";
        return;
    }
    print_reasons(tool, rows);
}

void explain_item(Tool& tool, const std::string& text) {
    std::int64_t id = 0;
    try {
        id = parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
    } catch (const Error&) {
        throw UsageError("the id of a work item is a number");
    }
    const auto reasons = tool.hub().provider().explain_work_item(id);
    if (!reasons.empty() && reasons[0].reason == FetchCase::kNotFound) {
        throw UnknownId("no work item " + text,
                        "It was acked, cancelled or set aside: belay dead-letters list.");
    }
    print_reasons(tool, rows_of(reasons));
}

void add_instance_reading(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<InstanceArguments>();
    auto* instances = app.add_subcommand("instances", "list instances, newest first");
    instances->add_option("--status", given->status,
                          "Running, Completed, Failed or ContinuedAsNew");
    instances->add_option("--name", given->name, "of this orchestration");
    instances->add_option("--prefix", given->prefix, "whose id begins so");
    instances->add_option("--created-from", given->created_from_ms, "in ms since 1970");
    instances->add_option("--created-before", given->created_before_ms, "in ms since 1970");
    instances->add_option("--after", given->after,
                          "where the list ended before, with the same filters");
    instances->add_option("--limit", given->limit, "at most so many")->capture_default_str();
    on_run(tool, instances, [&tool, given] { list_instances(tool, *given); });

    auto target = std::make_shared<Target>();
    auto* show = app.add_subcommand("show", "all about one instance or task");
    add_target(show, target);
    on_run(tool, show, [&tool, target] {
        means_task(tool, *target) ? show_task(tool, target->id) : show_instance(tool, target->id);
    });

    auto range = std::make_shared<HistoryRange>();
    auto* history = app.add_subcommand("history", "the events of an instance");
    history->add_option("ID", range->instance_id, "the instance")->required();
    history->add_option("--execution", range->execution_id, "of this execution, not the current");
    history->add_option("--after", range->after, "with a greater event id");
    history->add_option("--limit", range->limit, "at most so many");
    on_run(tool, history, [&tool, range] { show_history(tool, *range); });

    auto* why = app.add_subcommand(
        "explain", "what keeps an instance from its next turn, or a task from being claimed");
    add_target(why, target);
    auto is_item = std::make_shared<bool>(false);
    why->add_flag("--item", *is_item, "the ID is a work item's, as belay queue lists them")
        ->excludes("--task")
        ->excludes("--instance");
    on_run(tool, why, [&tool, target, is_item] {
        if (*is_item) {
            return explain_item(tool, target->id);
        }
        means_task(tool, *target) ? explain_task(tool, target->id) : explain(tool, target->id);
    });
}

struct Message {
    std::string target;  // an orchestration or an instance
    std::string event;
    std::string text;
    bool queued = false;
    bool early = false;
    OptionalText instance_id;
    OptionalText version;
    std::int64_t delay_ms = 0;
};

constexpr const char* kEarly = "also to an instance that was not started yet";

void add_sending(CLI::App& app, Tool& tool) {
    auto message = std::make_shared<Message>();
    auto* start = app.add_subcommand("start", "start an orchestration; prints the instance id");
    start->add_option("NAME", message->target, "the orchestration")->required();
    start->add_option("--input", message->text, "its input");
    start->add_option("--id", message->instance_id, "the instance id; one is made up otherwise");
    start->add_option("--version", message->version, "the orchestration's version");
    add_duration(start, "--delay", message->delay_ms, "start it so much later");
    on_run(tool, start, [&tool, message] {
        const std::string id =
            tool.hub().orchestrations().start_text(message->target, message->text,
                                                   {.instance_id = message->instance_id,
                                                    .version = message->version,
                                                    .delay = Milliseconds(message->delay_ms)});
        tool.say({{"instance_id", id}}, id);
    });

    auto* raise = app.add_subcommand("raise", "raise an event for an instance");
    raise->add_option("ID", message->target, "the instance")->required();
    raise->add_option("EVENT", message->event, "the event's name")->required();
    raise->add_option("--data", message->text, "what comes with it");
    raise->add_flag("--queued", message->queued, "keep it until it is read");
    raise->add_flag("--early", message->early, kEarly);
    on_run(tool, raise, [&tool, message] {
        require_instance(tool, message->target, message->early);
        tool.hub().orchestrations().raise_text(message->target, message->event, message->text,
                                               message->queued);
        tool.say({{"instance_id", message->target}, {"event", message->event}},
                 "raised " + message->event + " for " + message->target);
    });

    auto target = std::make_shared<Target>();
    auto* cancel = app.add_subcommand(
        "cancel",
        "ask an instance to end, or cancel a task or a flow; workers lose their leases at once");
    add_target(cancel, target);
    cancel->add_option("--reason", message->text, "why");
    cancel->add_flag("--early", message->early, kEarly);
    auto flow = std::make_shared<FlowCancel>();
    auto policy = std::make_shared<std::string>("cancel_all");
    auto is_flow = std::make_shared<bool>(false);
    auto* flag = cancel->add_flag("--flow", *is_flow, "the ID is a flow's")
                     ->excludes("--task")
                     ->excludes("--instance");
    cancel
        ->add_option("--policy", *policy,
                     "of a flow: cancel_all (default), cancel_pending or flow_only")
        ->needs(flag);
    on_run(tool, cancel, [&tool, target, message, flow, policy, is_flow] {
        if (*is_flow) {
            flow->policy = enum_of<CancelPolicy>(*policy);
            flow->reason = message->text;
            return cancel_flow(tool, target->id, *flow);
        }
        if (means_task(tool, *target)) {
            return cancel_task(tool, target->id, message->text);
        }
        require_instance(tool, target->id, message->early);
        tool.hub().orchestrations().cancel(target->id, message->text);
        tool.say({{"instance_id", target->id}, {"cancel_requested", true}},
                 "asked " + target->id + " to end");
    });

    auto ending = std::make_shared<Message>();
    auto* terminate = app.add_subcommand(
        "terminate", "ask a running instance to end, as an operator; the call is recorded");
    terminate->add_option("ID", ending->target, "the instance")->required();
    terminate->add_option("--reason", ending->text, "why");
    on_run(tool, terminate, [&tool, ending] {
        const bool asked = tool.hub().orchestrations().terminate(ending->target, ending->text);
        tool.say(
            {{"instance_id", ending->target}, {"terminate_requested", asked}},
            asked ? "asked " + ending->target + " to end" : ending->target + " had ended before");
    });
}

}  // namespace

void add_instances(CLI::App& app, Tool& tool) {
    add_instance_reading(app, tool);
    add_sending(app, tool);
}

}  // namespace belay::tool
