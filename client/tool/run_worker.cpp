// belay run-worker: a command for each activity.
#include "exec_worker.hpp"

namespace belay::tool {
namespace {

struct WorkerArguments {
    ExecArguments exec;
    std::vector<std::string> names;
    std::int64_t retry_delay_ms = 1000;
    std::vector<std::string> tags;
};

void run_worker(Tool& tool, const WorkerArguments& arguments) {
    WorkerOptions options = exec_options(tool, arguments.exec);
    const Milliseconds retry_delay(arguments.retry_delay_ms);
    options.retry_delay = retry_delay;
    if (!arguments.tags.empty()) {
        options.tag_filter = arguments.tags;
        options.tag_mode = TagMode::kDefaultAnd;
    }
    run_exec_worker(tool, arguments.exec, std::move(options), [&](Worker& worker) {
        const Handler handler = [&arguments, retry_delay](Task& task) {
            return exec_for(task, arguments.exec, retry_delay);
        };
        for (const auto& name : arguments.names) {
            worker.on_activity(name, handler);
        }
        if (arguments.names.empty()) {
            worker.on_activity("", handler);
        }
    });
}

}  // namespace

void add_run_worker(CLI::App& app, Tool& tool) {
    auto arguments = std::make_shared<WorkerArguments>();
    auto* command = app.add_subcommand(
        "run-worker",
        "run a command for each activity: its input comes on standard input, what it prints is\n"
        "the result. Exit code 0: completed; 75: to be tried again; else failed. The environment\n"
        "has BELAY_ATTEMPT, BELAY_ACTIVITY, BELAY_INSTANCE, BELAY_EXECUTION_ID and\n"
        "BELAY_ACTIVITY_ID.");
    add_exec_options(command, arguments->exec, "--shell");
    command->add_option("--name", arguments->names, "only activities of this name; repeatable");
    add_duration(command, "--retry-delay", arguments->retry_delay_ms, "before another attempt")
        ->default_str("1s");
    command->add_option("--tag", arguments->tags, "also items with this tag; repeatable");
    on_run(tool, command, [&tool, arguments] { run_worker(tool, *arguments); });
}

}  // namespace belay::tool
