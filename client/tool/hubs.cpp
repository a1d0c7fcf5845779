// belay hubs, pause, resume.
#include "tool.hpp"

namespace belay::tool {
namespace {

void list_hubs(Tool& tool) {
    Json rows = Json::array();
    for (const auto& hub : tool.admin().hubs()) {
        rows.push_back({{"name", hub.name},
                        {"owner", hub.owner},
                        {"api", hub.api},
                        {"version", hub.version},
                        {"is_current", hub.is_current},
                        {"paused", hub.paused},
                        {"paused_queues", hub.paused_queues},
                        {"created_at", json_of(hub.created_at)},
                        {"size_bytes", json_of(hub.size_bytes)}});
    }
    tool.print(rows, {{"name", "NAME"},
                      {"owner", "OWNER"},
                      {"api", "API"},
                      {"version", "VERSION"},
                      {"is_current", "CURRENT", Show::kFlag},
                      {"size_bytes", "SIZE", Show::kBytes},
                      {"created_at", "CREATED", Show::kTime},
                      {"paused_queues", "PAUSED"}});
}

std::string what(const OptionalText& queue, const std::string& hub) {
    return queue ? "queue " + *queue + " of hub " + hub : "hub " + hub;
}

}  // namespace

void add_hubs(CLI::App& app, Tool& tool) {
    on_run(tool, app.add_subcommand("hubs", "list the hubs of the database"),
           [&tool] { list_hubs(tool); });

    auto queue = std::make_shared<OptionalText>();
    auto reason = std::make_shared<std::string>();
    auto* pause = app.add_subcommand("pause", "hand out no more work; what runs may finish");
    pause->add_option("QUEUE", *queue, "orchestrator or worker; both if left out");
    pause->add_option("--reason", *reason, "why, for whoever looks");
    on_run(tool, pause, [&tool, queue, reason] {
        tool.hub().pause_hub(*queue, *reason);
        tool.say({{"hub", tool.chosen_hub()}, {"queue", json_of(*queue)}, {"paused", true}},
                 "paused " + what(*queue, tool.chosen_hub()));
    });
    auto* resume = app.add_subcommand("resume", "hand out work again");
    resume->add_option("QUEUE", *queue, "orchestrator or worker; both if left out");
    on_run(tool, resume, [&tool, queue] {
        tool.hub().resume_hub(*queue);
        tool.say({{"hub", tool.chosen_hub()}, {"queue", json_of(*queue)}, {"paused", false}},
                 "resumed " + what(*queue, tool.chosen_hub()));
    });
}

}  // namespace belay::tool
