// belay instances, history, start, raise; and show, explain, cancel, which are for tasks, too.
#include <iostream>

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

void list_instances(Tool& tool, const InstanceFilter& filter) {
    Json rows = Json::array();
    for (const auto& info : tool.hub().list_instance_infos(filter)) {
        rows.push_back(instance_json(info));
    }
    tool.print(rows, {{"instance_id", "INSTANCE"},
                      {"orchestration_name", "ORCHESTRATION"},
                      {"status", "STATUS"},
                      {"current_execution_id", "EXEC", Show::kNumber},
                      {"updated_at", "UPDATED", Show::kTime},
                      {"output", "OUTPUT"}});
}

Json executions_json(Hub& hub, const std::string& id) {
    Json rows = Json::array();
    for (const auto number : hub.list_executions(id)) {
        if (const auto execution = hub.get_execution_info(id, number)) {
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

void show_instance(Tool& tool, const std::string& id) {
    Hub hub = tool.hub();
    const auto info = hub.get_instance_info(id);
    if (!info) {
        throw std::runtime_error("no instance " + id + " (belay explain says what there is of it)");
    }
    Json object = instance_json(*info);
    const auto status = hub.get_custom_status(id);
    object["custom_status"] = status ? json_of(status->value) : Json(nullptr);
    if (const auto stats = hub.get_instance_stats(id)) {
        object["history_events"] = stats->history_event_count;
        object["history_bytes"] = stats->history_size_bytes;
        object["pending_messages"] = stats->queue_pending_count;
    }
    object["children"] = hub.list_children(id);
    Json state = Json::object();
    for (const auto& [key, value] : hub.get_kv_all_values(id)) {
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
    for (const auto& event :
         tool.hub().read_history(range.instance_id, range.execution_id, range.after, range.limit)) {
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

void explain(Tool& tool, const std::string& id) {
    Json rows = Json::array();
    for (const auto& reason : tool.hub().explain_fetch(id)) {
        rows.push_back({{"reason", reason.reason},
                        {"detail", json_of(reason.detail)},
                        {"until_at", json_of(reason.until_at)}});
    }
    if (rows.empty() && !tool.json) {
        std::cout << "nothing keeps " << printable(id) << " from its next turn\n";
        return;
    }
    tool.print(rows,
               {{"reason", "REASON"}, {"until_at", "UNTIL", Show::kTime}, {"detail", "DETAIL"}});
}

void add_reading(CLI::App& app, Tool& tool) {
    auto filter = std::make_shared<InstanceFilter>();
    filter->limit = 100;
    auto* instances = app.add_subcommand("instances", "list instances of orchestrations");
    instances->add_option("--status", filter->status,
                          "Running, Completed, Failed or ContinuedAsNew");
    instances->add_option("--name", filter->name, "of this orchestration");
    instances->add_option("--prefix", filter->prefix, "whose id begins so");
    instances->add_option("--created-from", filter->created_from_ms, "in ms since 1970");
    instances->add_option("--created-before", filter->created_before_ms, "in ms since 1970");
    instances->add_option("--after", filter->after, "the last id of the page before");
    instances->add_option("--limit", filter->limit, "at most so many (100)");
    on_run(tool, instances, [&tool, filter] { list_instances(tool, *filter); });

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
    on_run(tool, why, [&tool, target] {
        means_task(tool, *target) ? explain_task(tool, target->id) : explain(tool, target->id);
    });
}

struct Message {
    std::string target;  // an orchestration or an instance
    std::string event;
    std::string text;
    bool queued = false;
    OptionalText instance_id;
    OptionalText version;
    std::int64_t delay_ms = 0;
};

void add_sending(CLI::App& app, Tool& tool) {
    auto message = std::make_shared<Message>();
    auto* start = app.add_subcommand("start", "start an orchestration; prints the instance id");
    start->add_option("NAME", message->target, "the orchestration")->required();
    start->add_option("--input", message->text, "its input");
    start->add_option("--id", message->instance_id, "the instance id; one is made up otherwise");
    start->add_option("--version", message->version, "the orchestration's version");
    start->add_option("--delay-ms", message->delay_ms, "start it later");
    on_run(tool, start, [&tool, message] {
        const std::string id =
            tool.hub().start_orchestration(message->target, message->text,
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
    on_run(tool, raise, [&tool, message] {
        tool.hub().raise_event(message->target, message->event, message->text, message->queued);
        tool.say({{"instance_id", message->target}, {"event", message->event}},
                 "raised " + message->event + " for " + message->target);
    });

    auto target = std::make_shared<Target>();
    auto* cancel = app.add_subcommand(
        "cancel",
        "ask an instance to end, or cancel a task or a flow; workers lose their leases at once");
    add_target(cancel, target);
    cancel->add_option("--reason", message->text, "why");
    auto flow = std::make_shared<FlowCancel>();
    auto is_flow = std::make_shared<bool>(false);
    auto* flag = cancel->add_flag("--flow", *is_flow, "the ID is a flow's")
                     ->excludes("--task")
                     ->excludes("--instance");
    cancel
        ->add_option("--policy", flow->policy,
                     "of a flow: cancel_all (default), cancel_pending or flow_only")
        ->needs(flag);
    on_run(tool, cancel, [&tool, target, message, flow, is_flow] {
        if (*is_flow) {
            flow->reason = message->text;
            return cancel_flow(tool, target->id, *flow);
        }
        if (means_task(tool, *target)) {
            return cancel_task(tool, target->id, message->text);
        }
        tool.hub().cancel_instance(target->id, message->text);
        tool.say({{"instance_id", target->id}, {"cancel_requested", true}},
                 "asked " + target->id + " to end");
    });
}

}  // namespace

void add_instances(CLI::App& app, Tool& tool) {
    add_reading(app, tool);
    add_sending(app, tool);
}

}  // namespace belay::tool
