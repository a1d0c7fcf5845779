// belay run-worker.
#include <csignal>
#include <iostream>
#include <mutex>

#include "belay/worker.hpp"
#include "shell.hpp"
#include "tool.hpp"

namespace belay::tool {
namespace {

// As sysexits.h has it: try again later.
constexpr int kTryAgain = 75;

struct WorkerArguments {
    std::string command;
    std::vector<std::string> names;
    int concurrency = 1;
    std::int64_t lock_timeout_ms = 30000;
    std::int64_t retry_delay_ms = 1000;
    std::vector<std::string> tags;
    std::int64_t count = 0;  // 0: until a signal
    bool quiet = false;
};

// The worker that a signal stops.
Worker* signalled = nullptr;

extern "C" void stop_worker(int) {
    signalled->stop();
}

std::string number_text(const OptionalNumber& number) {
    return number ? std::to_string(*number) : "";
}

Outcome run_item(const WorkerArguments& arguments, Activity& activity) {
    const ShellResult result =
        run_shell(arguments.command, activity.input(),
                  {{"BELAY_ACTIVITY", activity.name()},
                   {"BELAY_INSTANCE", activity.instance().value_or("")},
                   {"BELAY_EXECUTION_ID", number_text(activity.execution_id())},
                   {"BELAY_ACTIVITY_ID", number_text(activity.id())},
                   {"BELAY_ATTEMPT", std::to_string(activity.attempt())}},
                  activity.stop_token(), Milliseconds(2000));
    if (result.code == 0) {
        std::string text = result.output;
        if (text.ends_with('\n')) {
            text.pop_back();
        }
        return Outcome::completed(std::move(text));
    }
    if (result.code == kTryAgain) {
        return Outcome::retry(Milliseconds(arguments.retry_delay_ms));
    }
    return Outcome::failed("the command ended with code " + std::to_string(result.code));
}

const char* word_of(WorkerEvent::Kind kind) {
    using Kind = WorkerEvent::Kind;
    switch (kind) {
        case Kind::kFetched:
            return "fetched";
        case Kind::kCompleted:
            return "completed";
        case Kind::kFailed:
            return "failed";
        case Kind::kRetried:
            return "retried";
        case Kind::kLost:
            return "lost";
        case Kind::kUnknown:
            return "unknown";
        case Kind::kAbandoned:
            return "abandoned";
        case Kind::kNoHandler:
            return "no handler";
        case Kind::kError:
            return "error";
    }
    return "?";
}

void run_worker(Tool& tool, const WorkerArguments& arguments) {
    using Kind = WorkerEvent::Kind;
    std::mutex mutex;
    std::int64_t settled = 0;
    Worker* running = nullptr;
    WorkerOptions options{.connection = tool.connection_options(), .hub = tool.chosen_hub()};
    options.connection.reconnect_timeout = Milliseconds(30000);
    options.concurrency = arguments.concurrency;
    options.connections = std::min(arguments.concurrency, 3);
    options.lock_timeout = Milliseconds(arguments.lock_timeout_ms);
    options.retry_delay = Milliseconds(arguments.retry_delay_ms);
    if (!arguments.tags.empty()) {
        options.tag_filter = arguments.tags;
        options.tag_mode = "default_and";
    }
    // One line per item, to standard error: standard output may be of use to the commands.
    options.on_event = [&](const WorkerEvent& event) {
        if (event.kind == Kind::kFetched) {
            return;
        }
        const std::lock_guard lock(mutex);
        if (!arguments.quiet) {
            std::cerr << word_of(event.kind);
            if (event.activity != nullptr) {
                std::cerr << " " << printable(event.activity->name()) << " "
                          << printable(event.activity->instance().value_or("-")) << " "
                          << duration_text(event.elapsed / Milliseconds(1));
            }
            std::cerr << (event.message.empty() ? "" : ": " + printable(event.message)) << "\n";
        }
        settled += event.kind == Kind::kCompleted || event.kind == Kind::kFailed;
        if (arguments.count > 0 && settled >= arguments.count) {
            running->stop();
        }
    };
    Worker worker(options);
    running = &worker;
    const Handler handler = [&](Activity& activity) { return run_item(arguments, activity); };
    for (const auto& name : arguments.names) {
        worker.on(name, handler);
    }
    if (arguments.names.empty()) {
        worker.on("", handler);
    }
    signalled = &worker;
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGINT, stop_worker);
    std::signal(SIGTERM, stop_worker);
    worker.run();
    tool.say({{"settled", settled}}, std::to_string(settled) + " items settled");
}

}  // namespace

void add_run_worker(CLI::App& app, Tool& tool) {
    auto arguments = std::make_shared<WorkerArguments>();
    auto* command = app.add_subcommand(
        "run-worker",
        "run a command for each work item: its input comes on standard input, what it prints is "
        "the\n"
        "result. Exit code 0: completed; 75: to be tried again; else failed. The environment has\n"
        "BELAY_ACTIVITY, BELAY_INSTANCE, BELAY_EXECUTION_ID, BELAY_ACTIVITY_ID and BELAY_ATTEMPT.");
    command->add_option("--shell", arguments->command, "the command, for sh -c")->required();
    command->add_option("--name", arguments->names, "only activities of this name; repeatable");
    command->add_option("--concurrency", arguments->concurrency, "commands at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command->add_option("--lock-timeout-ms", arguments->lock_timeout_ms, "of a lease")
        ->capture_default_str()
        ->check(CLI::Range(100, 86400000));
    command->add_option("--retry-delay-ms", arguments->retry_delay_ms, "before another attempt")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    command->add_option("--tag", arguments->tags, "also items with this tag; repeatable");
    command->add_option("--count", arguments->count, "stop after so many items")
        ->check(CLI::PositiveNumber);
    command->add_flag("--quiet", arguments->quiet, "no line per item");
    on_run(tool, command, [&tool, arguments] { run_worker(tool, *arguments); });
}

}  // namespace belay::tool
