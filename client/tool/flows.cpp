// belay flows, flow.
#include "flows.hpp"

#include <iostream>
#include <map>
#include <string_view>

namespace belay::tool {
namespace {

using FlowArguments = ListArguments<FlowFilter, FlowState>;

void list_flows(Tool& tool, const FlowArguments& given) {
    const FlowFilter parsed = filter_of(given);
    Hub hub = tool.hub();
    const auto found = browse(hub, {.function = "browse_flows",
                                    .filter = parsed.json(),
                                    .order = "created",
                                    .after = given.after,
                                    .limit = parsed.limit});
    Json rows = Json::array();
    for (const auto& flow : found.rows) {
        rows.push_back(
            fields_of(flow, {"flow_id", "kind", "state", "sealed", "graph_revision", "fail_policy",
                             "member_count", "open_count", "edge_count", "tags", "cancel_reason",
                             "created_at_ms", "updated_at_ms", "terminal_at_ms"}));
    }
    tool.print_page(rows, found.next,
                    {{"flow_id", "FLOW"},
                     {"state", "STATE"},
                     {"member_count", "TASKS", Show::kNumber},
                     {"open_count", "OPEN", Show::kNumber},
                     {"updated_at_ms", "UPDATED", Show::kTime},
                     {"kind", "KIND"}});
}

// ---- The graph. ----

// A string of the language dot.
std::string dot_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
        }
        quoted += c;
    }
    return quoted + "\"";
}

// Lines of text in one box.
std::string dot_label(const std::vector<std::string>& lines) {
    std::string label;
    for (const auto& line : lines) {
        const std::string quoted = dot_string(line);
        label += (label.empty() ? "" : "\\n") + quoted.substr(1, quoted.size() - 2);
    }
    return "\"" + label + "\"";
}

const char* fill_of(const std::string& state) {
    static const std::map<std::string, const char*> kFills = {
        {"blocked", "lightgray"}, {"delayed", "lightyellow"}, {"ready", "lightblue"},
        {"active", "gold"},       {"suspended", "plum"},      {"completed", "palegreen"},
        {"failed", "salmon"},     {"cancelled", "orange"},    {"expired", "tan"},
        {"skipped", "white"},
    };
    const auto found = kFills.find(state);
    return found == kFills.end() ? "white" : found->second;
}

const char* style_of(const std::string& edge_state) {
    return edge_state == "satisfied"    ? "color=forestgreen"
           : edge_state == "impossible" ? "color=red, style=dashed"
                                        : "color=gray40";
}

std::string text_of(const Json& value) {
    return value.is_string() ? value.get<std::string>() : "";
}

// How many of how many, of joins that need not all; by task.
std::map<std::string, std::string> joins_of(const Json& flow) {
    std::map<std::string, std::string> joins;
    for (const auto& group : flow["groups"]) {
        if (group["kind"] != "all_of") {
            joins[text_of(group["task_id"])] =
                (group["k"].is_null() ? "1" : group["k"].dump()) + " of " + group["total"].dump();
        }
    }
    return joins;
}

void draw(const Json& flow) {
    const auto joins = joins_of(flow);
    std::cout << "digraph " << dot_string(text_of(flow["flow_id"])) << " {\n"
              << "    rankdir=LR;\n"
              << "    label=" << dot_label({text_of(flow["kind"]), text_of(flow["state"])}) << ";\n"
              << "    node [shape=box, style=\"rounded,filled\"];\n";
    if (flow["truncated"] == true) {
        std::cout << "    // Too large to be shown whole.\n";
    }
    for (const auto& member : flow["members"]) {
        const std::string id = text_of(member["task_id"]);
        const std::string key = text_of(member["key"]);
        const std::string state = text_of(member["state"]);
        std::vector<std::string> lines = {key.empty() ? id : key, state};
        if (const auto join = joins.find(id); join != joins.end()) {
            lines.insert(lines.begin(), join->second);
        }
        std::cout << "    " << dot_string(id) << " [label=" << dot_label(lines)
                  << ", fillcolor=" << fill_of(state) << "];\n";
    }
    for (const auto& edge : flow["edges"]) {
        std::cout << "    " << dot_string(text_of(edge["upstream_id"])) << " -> "
                  << dot_string(text_of(edge["downstream_id"])) << " ["
                  << style_of(text_of(edge["state"]));
        if (!edge["pass_as"].is_null()) {
            std::cout << ", label=" << dot_string(text_of(edge["pass_as"]));
        }
        std::cout << "];\n";
    }
    std::cout << "}\n";
}

// Members with the keys of those that they wait for.
Json members_of(const Json& flow) {
    std::map<std::string, std::string> names;
    for (const auto& member : flow["members"]) {
        const std::string key = text_of(member["key"]);
        names[text_of(member["task_id"])] = key.empty() ? text_of(member["task_id"]) : key;
    }
    std::map<std::string, std::string> before;
    for (const auto& edge : flow["edges"]) {
        std::string& keys = before[text_of(edge["downstream_id"])];
        keys += (keys.empty() ? "" : " ") + names[text_of(edge["upstream_id"])];
    }
    Json rows = flow["members"];
    for (auto& row : rows) {
        row["after"] = before[text_of(row["task_id"])];
    }
    return rows;
}

void show_flow(Tool& tool, const std::string& id, bool dot) {
    // As the server spells it: numbers keep their digits.
    Hub hub = tool.hub();
    const auto found =
        hub.query(Effect::kRepeatable, "SELECT " + hub.schema() + ".get_flow($1)", {id_of(id)})
            .get<OptionalText>(0, 0);
    if (!found) {
        throw std::runtime_error("no flow " + id);
    }
    const Json flow = Json::parse(*found);
    if (dot) {
        return draw(flow);
    }
    if (tool.json) {
        std::cout << *found << "\n";
        return;
    }
    std::cout << list(flow, {{"flow_id", "flow"},
                             {"kind", "kind"},
                             {"state", "state"},
                             {"sealed", "sealed"},
                             {"fail_policy", "fail policy"},
                             {"tags", "tags"},
                             {"counts", "tasks"},
                             {"graph_revision", "revision"},
                             {"cancellation_policy", "cancelled with"},
                             {"cancel_reason", "cancel reason"},
                             {"cancelled_by", "cancelled by"},
                             {"created_at_ms", "created", Show::kTime},
                             {"updated_at_ms", "updated", Show::kTime},
                             {"terminal_at_ms", "ended", Show::kTime}})
              << "\n"
              << table(members_of(flow),
                       {{"key", "KEY"},
                        {"state", "STATE"},
                        {"queue", "QUEUE"},
                        {"task_id", "TASK"},
                        {"after", "AFTER"}},
                       terminal_width());
}

}  // namespace

void cancel_flow(Tool& tool, const std::string& id, const FlowCancel& cancel) {
    const auto cancelled = tool.hub().flows().cancel(id_of(id), cancel);
    tool.say({{"result", cancelled.cancelled ? "cancelled" : "already_terminal"},
              {"cancellation_policy", json_of(cancelled.policy)},
              {"reason", json_of(cancelled.reason)},
              {"member_count", cancelled.member_count},
              {"member_ids", cancelled.member_ids}},
             !cancelled.cancelled ? "flow " + id + " had ended before"
                                  : "flow " + id + " is cancelled, with " +
                                        std::to_string(cancelled.member_count) + " tasks");
}

void add_flows(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<FlowArguments>();
    auto* filter = &given->filter;
    auto* flows = app.add_subcommand("flows", "list flows, newest first");
    flows->add_option("--state", given->states,
                      "open, running, completed, failed or cancelled; repeatable");
    flows->add_option("--kind", filter->kind, "of this kind");
    flows->add_option("--header", given->tags, "with this header, KEY=VALUE; repeatable");
    flows->add_option("--created-from", given->created_from_ms, "in ms since 1970");
    flows->add_option("--created-before", given->created_to_ms, "in ms since 1970");
    flows->add_option("--after", given->after,
                      "where the list ended before, with the same filters");
    flows->add_option("--limit", filter->limit, "at most so many")->capture_default_str();
    on_run(tool, flows, [&tool, given] { list_flows(tool, *given); });

    struct Shown {
        std::string id;
        bool dot = false;
    };
    auto shown = std::make_shared<Shown>();
    auto* show = app.add_subcommand("flow", "all about one flow");
    show->add_option("ID", shown->id, "the flow")->required();
    show->add_flag("--dot", shown->dot, "as a graph for Graphviz, coloured by state");
    on_run(tool, show, [&tool, shown] { show_flow(tool, shown->id, shown->dot); });
}

}  // namespace belay::tool
