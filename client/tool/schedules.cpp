// belay schedules, and of suspended tasks: waitpoints, signal, approve.
#include "tool.hpp"

namespace belay::tool {
namespace {

void list_schedules(Tool& tool) {
    Json rows = Json::array();
    for (const auto& schedule : tool.hub().schedules().list()) {
        rows.push_back({{"name", schedule.name},
                        {"cron", schedule.cron},
                        {"time_zone", schedule.time_zone},
                        {"catch_up", schedule.catch_up},
                        {"task", schedule.task},
                        {"paused", schedule.paused},
                        {"next_due_ms", json_of(schedule.next_due)},
                        {"last_due_ms", json_of(schedule.last_due)},
                        {"last_error", json_of(schedule.last_error)},
                        {"created_at_ms", json_of(schedule.created_at)}});
    }
    tool.print(rows, {{"name", "NAME"},
                      {"cron", "CRON"},
                      {"time_zone", "ZONE"},
                      {"next_due_ms", "NEXT", Show::kTime},
                      {"last_due_ms", "LAST", Show::kTime},
                      {"paused", "PAUSED", Show::kFlag},
                      {"last_error", "ERROR"}});
}

void list_waitpoints(Tool& tool, const std::string& task_id) {
    Json rows = Json::array();
    for (const auto& waitpoint : tool.hub().signals().waitpoints(id_of(task_id))) {
        rows.push_back({{"waitpoint_id", waitpoint.id},
                        {"key", waitpoint.key},
                        {"state", waitpoint.state},
                        {"suspension_id", json_of(waitpoint.suspension_id)},
                        {"signals", waitpoint.signals},
                        {"created_at_ms", json_of(waitpoint.created_at)},
                        {"expires_at_ms", json_of(waitpoint.expires_at)},
                        {"closed_at_ms", json_of(waitpoint.closed_at)}});
    }
    tool.print(rows, {{"waitpoint_id", "WAITPOINT"},
                      {"state", "STATE"},
                      {"signals", "SIGNALS", Show::kNumber},
                      {"created_at_ms", "CREATED", Show::kTime},
                      {"key", "KEY"}});
}

struct Sending {
    std::string task_id;
    std::string waitpoint_id;
    std::string token;
    NewSignal signal;
    OptionalText payload;  // JSON
};

void tell(Tool& tool, const DeliveredSignal& delivered) {
    const std::string result = delivered.duplicate ? "duplicate" : "accepted";
    tool.say(
        {{"result", result}, {"effect", json_of(delivered.effect)}, {"state", delivered.state}},
        result + (delivered.effect ? ": " + text_of(*delivered.effect) : "") + "; the task is " +
            text_of(delivered.state));
}

void add_signals(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<Sending>();
    auto* waitpoints = app.add_subcommand("waitpoints", "where a task waits for signals");
    waitpoints->add_option("ID", given->task_id, "the task")->required();
    on_run(tool, waitpoints, [&tool, given] { list_waitpoints(tool, given->task_id); });

    const auto add = [&](const char* name, const char* help) {
        auto* command = app.add_subcommand(name, help);
        command->add_option("ID", given->task_id, "the task")->required();
        command->add_option("WAITPOINT", given->waitpoint_id, "the waitpoint's id")->required();
        command->add_option("NAME", given->signal.name, "the signal's name")->required();
        command->add_option("--key", given->signal.idempotency_key,
                            "sent again with this key it counts once");
        return command;
    };
    auto* signal = add("signal", "send a signal to a task that waits for one");
    signal->add_option("--token", given->token, "the waitpoint's token")->required();
    signal->add_option("--payload", given->payload, "what comes with it; JSON");
    signal->add_option("--source", given->signal.source, "who sends it");
    on_run(tool, signal, [&tool, given] {
        if (given->payload) {
            given->signal.payload = parse_json(*given->payload);
        }
        tell(tool, tool.hub().signals().deliver(id_of(given->task_id), id_of(given->waitpoint_id),
                                                given->token, given->signal));
    });
    auto* approve = add("approve", "send a signal as an operator, without a token");
    on_run(tool, approve, [&tool, given] {
        const auto& signal = given->signal;
        tell(tool, tool.hub().signals().approve(id_of(given->task_id), id_of(given->waitpoint_id),
                                                signal.name,
                                                signal.idempotency_key.value_or(signal.name)));
    });
}

}  // namespace

void add_schedules(CLI::App& app, Tool& tool) {
    auto* schedules = app.add_subcommand("schedules", "list and pause schedules");
    schedules->require_subcommand(1);
    on_run(tool, schedules->add_subcommand("list", "what creates tasks, and when"),
           [&tool] { list_schedules(tool); });
    auto name = std::make_shared<std::string>();
    for (const bool paused : {true, false}) {
        const char* word = paused ? "pause" : "resume";
        auto* command = schedules->add_subcommand(
            word, paused ? "let one rest" : "go on with its next due time");
        command->add_option("NAME", *name, "the schedule")->required();
        on_run(tool, command, [&tool, name, paused] {
            if (paused) {
                tool.hub().schedules().pause(*name);
            } else {
                tool.hub().schedules().resume(*name);
            }
            tool.say({{"name", *name}, {"paused", paused}},
                     (paused ? "paused schedule " : "resumed schedule ") + *name);
        });
    }
    add_signals(app, tool);
}

}  // namespace belay::tool
