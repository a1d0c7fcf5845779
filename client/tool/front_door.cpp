// belay send, receive, status, await: tasks and orchestrations from the command line.
#include <iostream>
#include <iterator>

#include "belay/orchestrations.hpp"
#include "exec_worker.hpp"

namespace belay::tool {
namespace {

// ---- send ----

struct SendArguments {
    std::string queue;
    OptionalText payload;
    OptionalText kind;
    OptionalText key;
    OptionalNumber delay_ms;
    OptionalText at;
    int priority = 0;
    OptionalText policy;
    std::vector<std::string> headers;
};

// JSON as it is, other text as a string.
belay::Json payload_of(const SendArguments& given) {
    if (!given.payload) {
        return nullptr;
    }
    std::string text = *given.payload;
    if (text == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
        while (text.ends_with('\n')) {
            text.pop_back();
        }
    }
    const belay::Json value = belay::Json::parse(text, nullptr, false);
    return value.is_discarded() ? belay::Json(text) : value;
}

// A policy as SQL has it.
TaskPolicy policy_of(const std::string& text) {
    const belay::Json json = belay::Json::parse(text, nullptr, false);
    const std::string keys =
        "max_attempts, attempt_timeout_ms, backoff, retryable, on_lease_expiry, max_reclaims, "
        "max_replays and max_signals";
    if (!json.is_object()) {
        throw UsageError("the policy must be a JSON object",
                         "It has any of the keys " + keys + ".");
    }
    TaskPolicy policy;
    for (const auto& [key, value] : json.items()) {
        try {
            if (key == "max_attempts") {
                policy.max_attempts = value.get<int>();
            } else if (key == "attempt_timeout_ms") {
                policy.attempt_timeout = Milliseconds(value.get<std::int64_t>());
            } else if (key == "backoff") {
                policy.backoff = Backoff{value};
            } else if (key == "retryable") {
                policy.retryable.emplace();
                for (const auto& word : value) {
                    policy.retryable->push_back(enum_of<FailureClass>(word.get<std::string>()));
                }
            } else if (key == "on_lease_expiry") {
                policy.on_lease_expiry = enum_of<OnLeaseExpiry>(value.get<std::string>());
            } else if (key == "max_reclaims") {
                policy.max_reclaims = value.get<int>();
            } else if (key == "max_replays") {
                policy.max_replays = value.get<int>();
            } else if (key == "max_signals") {
                policy.max_signals = value.get<int>();
            } else {
                throw UsageError("the policy has an unrecognized key \"" + key + "\"",
                                 "The keys are " + keys + ".");
            }
        } catch (const belay::Json::exception&) {
            throw UsageError("the policy's " + key + " has a wrong type");
        }
    }
    return policy;
}

// A time in any form that PostgreSQL reads, in the session's time zone if it names none.
Time time_at(Tool& tool, const std::string& text) {
    return from_ms(
        tool.connection()
            .exec("SELECT floor(extract(epoch FROM $1::timestamptz) * 1000)::bigint", {text})
            .get<std::int64_t>(0, 0));
}

void send(Tool& tool, const SendArguments& given) {
    SendOptions options;
    options.priority(given.priority);
    if (given.kind) {
        options.kind(*given.kind);
    }
    if (given.key) {
        options.key(*given.key);
    }
    if (given.delay_ms) {
        options.delay(Milliseconds(*given.delay_ms));
    }
    if (given.at) {
        options.at(time_at(tool, *given.at));
    }
    if (given.policy) {
        options.policy(policy_of(*given.policy));
    }
    if (!given.headers.empty()) {
        options.headers(tags_of(given.headers));
    }
    Hub hub = tool.hub();
    const Uuid id = Queue(hub, given.queue).send(payload_of(given), options);
    tool.say({{"id", id.text()}}, id.text());
}

void add_send(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<SendArguments>();
    auto* command = app.add_subcommand("send", "send a task to a queue; prints its id");
    command->add_option("QUEUE", given->queue, "the queue")->required();
    command->add_option("PAYLOAD", given->payload,
                        "JSON, or text, which is sent as a string; - reads standard input");
    command->add_option("--kind", given->kind, "of this kind");
    command->add_option("--key", given->key, "once per queue and key");
    auto* delay = add_duration(command, "--delay", given->delay_ms,
                               "workers receive it so much later, for example 5min");
    command
        ->add_option("--at", given->at,
                     "workers receive it from this time on, for example 2027-03-01T08:00Z")
        ->excludes(delay);
    command->add_option("--priority", given->priority, "higher ones are received first")
        ->capture_default_str();
    command->add_option("--policy", given->policy,
                        "retries as JSON, for example {\"max_attempts\": 5}");
    command->add_option("--header", given->headers, "KEY=VALUE; repeatable");
    on_run(tool, command, [&tool, given] { send(tool, *given); });
}

// ---- receive ----

struct ReceiveArguments {
    ExecArguments exec;
    std::vector<std::string> queues;
    std::vector<std::string> kinds;
    std::vector<std::string> capabilities;
};

void receive(Tool& tool, const ReceiveArguments& arguments) {
    WorkerOptions options = exec_options(tool, arguments.exec);
    options.capabilities = arguments.capabilities;
    run_exec_worker(tool, arguments.exec, std::move(options), [&](Worker& worker) {
        const Handler handler = [&arguments](Task& task) {
            return exec_for(task, arguments.exec, Milliseconds(0));
        };
        for (const auto& queue : arguments.queues) {
            for (const auto& kind : arguments.kinds) {
                worker.on(queue, kind, handler);
            }
            if (arguments.kinds.empty()) {
                worker.on(queue, handler);
            }
        }
    });
}

void add_receive(CLI::App& app, Tool& tool) {
    auto arguments = std::make_shared<ReceiveArguments>();
    auto* command = app.add_subcommand(
        "receive",
        "run a command for each task of some queues: the payload comes on standard input, what\n"
        "the command prints is the result. Exit code 0: completed; 75: a transient failure, which\n"
        "the task's policy retries; else failed for good. The lease is extended while the command\n"
        "runs. The environment has BELAY_ATTEMPT, BELAY_TASK_ID, BELAY_QUEUE and BELAY_KIND.");
    command->add_option("QUEUE", arguments->queues, "the queues")->required();
    add_exec_options(command, arguments->exec, "--exec");
    command->add_option("--kind", arguments->kinds, "only tasks of this kind; repeatable");
    command->add_option("--capability", arguments->capabilities, "what it can do; repeatable");
    on_run(tool, command, [&tool, arguments] { receive(tool, *arguments); });
}

// ---- status ----

void show_status(Tool& tool, const std::string& id) {
    const auto uuid = Uuid::parse(id);
    if (!uuid) {
        throw UsageError("\"" + id + "\" is not the id of a task");
    }
    const auto status = tool.hub().tasks().status(*uuid);
    if (!status) {
        throw UnknownId("no task " + id);
    }
    const Json object = {{"id", id},
                         {"queue", status->queue},
                         {"kind", status->kind},
                         {"state", status->state.text()},
                         {"attempt", status->attempt},
                         {"result", status->result ? Json(*status->result) : Json(nullptr)},
                         {"error", json_of(status->error)},
                         {"error_class", json_of(status->error_class)},
                         {"percent", json_of(status->percent)},
                         {"message", json_of(status->message)},
                         {"worker", json_of(status->worker)},
                         {"created_at_ms", to_ms(status->created_at)},
                         {"available_at_ms", json_of(status->available_at)},
                         {"started_at_ms", json_of(status->started_at)},
                         {"lease_until_ms", json_of(status->lease_until)},
                         {"deadline_ms", json_of(status->deadline)},
                         {"finished_at_ms", json_of(status->finished_at)}};
    if (tool.json) {
        std::cout << json_text(object) << "\n";
        return;
    }
    std::cout << list(object, {{"id", "task"},
                               {"queue", "queue"},
                               {"kind", "kind"},
                               {"state", "state"},
                               {"attempt", "attempt"},
                               {"result", "result"},
                               {"error", "error"},
                               {"error_class", "error class"},
                               {"percent", "percent"},
                               {"message", "message"},
                               {"worker", "worker"},
                               {"created_at_ms", "created", Show::kTime},
                               {"available_at_ms", "available", Show::kTime},
                               {"started_at_ms", "started", Show::kTime},
                               {"lease_until_ms", "leased until", Show::kTime},
                               {"deadline_ms", "deadline", Show::kTime},
                               {"finished_at_ms", "finished", Show::kTime}});
}

void add_status(CLI::App& app, Tool& tool) {
    auto id = std::make_shared<std::string>();
    auto* command = app.add_subcommand("status", "state, result and times of a task");
    command->add_option("ID", *id, "the task")->required();
    on_run(tool, command, [&tool, id] { show_status(tool, *id); });
}

// ---- await ----

struct AwaitArguments {
    std::string id;
    std::int64_t timeout_ms = 30000;
};

void report_end(const Tool& tool, const std::string& id, std::string_view state, bool ended,
                bool success, const std::optional<belay::Json>& result) {
    const Json value = result ? Json(*result) : Json(nullptr);
    tool.say({{"id", id}, {"state", state}, {"result", value}},
             std::string(state) + (result ? " " + json_text(value) : ""));
    if (!ended) {
        throw std::runtime_error(id + " has not ended in time");
    }
    if (!success) {
        throw std::runtime_error(id + " has ended without success");
    }
}

void await(Tool& tool, const AwaitArguments& given) {
    Hub hub = tool.hub();
    const Milliseconds timeout(given.timeout_ms);
    // The id of a task is a UUID; so may be that of an instance.
    if (const auto uuid = Uuid::parse(given.id); uuid && hub.tasks().status(*uuid)) {
        const TaskResult done = hub.tasks().await(*uuid, timeout);
        return report_end(tool, given.id, done.state.text(), done.ended(),
                          done.state == TaskState::kCompleted, done.result);
    }
    const InstanceResult done = hub.orchestrations().await(given.id, timeout);
    report_end(tool, given.id, done.state.text(), done.ended(),
               done.state == InstanceState::kCompleted, done.result);
}

void add_await(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<AwaitArguments>();
    auto* command = app.add_subcommand(
        "await",
        "wait until a task or an orchestration has ended; prints its state and result. The exit\n"
        "code is 0 if it was completed, else 1.");
    command->add_option("ID", given->id, "the task or instance")->required();
    add_duration(command, "--timeout", given->timeout_ms, "wait no longer")->default_str("30s");
    on_run(tool, command, [&tool, given] { await(tool, *given); });
}

}  // namespace

void add_front_door(CLI::App& app, Tool& tool) {
    add_send(app, tool);
    add_receive(app, tool);
    add_status(app, tool);
    add_await(app, tool);
}

}  // namespace belay::tool
