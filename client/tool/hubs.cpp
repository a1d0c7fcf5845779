// belay hubs, pause, resume.
#include "tool.hpp"

namespace belay::tool {

std::string queue_names(const std::vector<Word<HubQueue>>& words) {
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : ",") + text_of(word);
    }
    return text;
}

namespace {

void list_hubs(Tool& tool) {
    Json rows = Json::array();
    for (const auto& hub : tool.admin().hubs()) {
        rows.push_back(
            {{"name", hub.name},
             {"owner", hub.owner},
             {"api", json_of(hub.api)},
             {"version", json_of(hub.version)},
             {"is_current", json_of(hub.is_current)},
             {"paused", json_of(hub.paused)},
             {"paused_queues", hub.paused ? Json(queue_names(hub.paused_queues)) : Json()},
             {"created_at", json_of(hub.created_at)},
             {"size_bytes", json_of(hub.size_bytes)},
             {"place", json_of(hub.place)},
             {"is_here", hub.is_here}});
    }
    tool.print(rows, {{"name", "NAME"},
                      {"owner", "OWNER"},
                      {"api", "API"},
                      {"version", "VERSION"},
                      {"is_current", "CURRENT", Show::kFlag},
                      {"size_bytes", "SIZE", Show::kBytes},
                      {"created_at", "CREATED", Show::kTime},
                      {"is_here", "HERE", Show::kFlag},
                      {"place", "PLACE"},
                      {"paused_queues", "PAUSED"}});
}

struct Pausing {
    OptionalText queue;  // as typed; the server knows which there are
    OptionalText task_queue;
    std::string reason;

    std::optional<Word<HubQueue>> word() const {
        return queue ? std::optional(Word<HubQueue>(*queue)) : std::nullopt;
    }
};

void tell(Tool& tool, const Pausing& given, bool paused) {
    const std::string& hub = tool.chosen_hub();
    tool.say({{"hub", hub},
              {"queue", json_of(given.queue)},
              {"task_queue", json_of(given.task_queue)},
              {"paused", paused}},
             (paused ? "paused " : "resumed ") +
                 (given.task_queue ? "queue " + *given.task_queue + " of tasks of "
                  : given.queue    ? "queue " + *given.queue + " of "
                                   : "") +
                 "hub " + hub);
}

CLI::App* add_pausing(CLI::App& app, const char* name, const char* help,
                      const std::shared_ptr<Pausing>& given) {
    auto* command = app.add_subcommand(name, help);
    auto* queue = command->add_option("QUEUE", given->queue,
                                      "orchestrator, worker, tasks or intents; all if left out");
    command->add_option("--queue", given->task_queue, "only this queue of tasks")->excludes(queue);
    return command;
}

}  // namespace

void add_hubs(CLI::App& app, Tool& tool) {
    on_run(tool, app.add_subcommand("hubs", "list the hubs of the database"),
           [&tool] { list_hubs(tool); });

    auto given = std::make_shared<Pausing>();
    auto* pause =
        add_pausing(app, "pause", "stop the delivery of work; what runs may finish", given);
    pause->add_option("--reason", given->reason, "why, shown in the list of hubs; not with --queue")
        ->excludes("--queue");
    on_run(tool, pause, [&tool, given] {
        given->task_queue ? tool.hub().queues()[*given->task_queue].pause()
                          : tool.hub().maintenance().pause(given->word(), given->reason);
        tell(tool, *given, true);
    });
    auto* resume = add_pausing(app, "resume", "deliver work again", given);
    on_run(tool, resume, [&tool, given] {
        given->task_queue ? tool.hub().queues()[*given->task_queue].resume()
                          : tool.hub().maintenance().resume(given->word());
        tell(tool, *given, false);
    });
}

}  // namespace belay::tool
