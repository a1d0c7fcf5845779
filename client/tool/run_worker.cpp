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
    std::vector<std::string> lanes;  // of tasks, instead of work items
    std::vector<std::string> kinds;
    std::vector<std::string> capabilities;
    std::int64_t count = 0;  // 0: until a signal
    bool quiet = false;
};

std::string number_text(const OptionalNumber& number) {
    return number ? std::to_string(*number) : "";
}

// What the command has printed, without the last line break.
std::string result_text(const ShellResult& result) {
    std::string text = result.output;
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    return text;
}

std::string failure_text(const ShellResult& result) {
    return "the command ended with code " + std::to_string(result.code);
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
        return Outcome::completed(result_text(result));
    }
    if (result.code == kTryAgain) {
        return Outcome::retry(Milliseconds(arguments.retry_delay_ms));
    }
    return Outcome::failed(failure_text(result));
}

// JSON is the result as it is, other text as a string.
OptionalText json_result(const std::string& text) {
    if (text.empty()) {
        return std::nullopt;
    }
    return Json::accept(text) ? text : json_text(text);
}

TaskOutcome run_task(const WorkerArguments& arguments, Task& task) {
    const ShellResult result = run_shell(arguments.command, task.claimed().payload.value_or(""),
                                         {{"BELAY_TASK_ID", task.id()},
                                          {"BELAY_LANE", task.lane()},
                                          {"BELAY_KIND", task.kind()},
                                          {"BELAY_ATTEMPT", std::to_string(task.attempt())}},
                                         task.stop_token(), Milliseconds(2000));
    if (result.code == 0) {
        return TaskOutcome::completed(json_result(result_text(result)));
    }
    return TaskOutcome::failed(
        {.failure_class = result.code == kTryAgain ? "transient" : "permanent",
         .message = failure_text(result)});
}

// What both kinds of events may say.
template <typename Kind>
const char* common_word(Kind kind) {
    switch (kind) {
        case Kind::kCompleted:
            return "completed";
        case Kind::kFailed:
            return "failed";
        case Kind::kRetried:
            return "retried";
        case Kind::kCancelled:
            return "cancelled";
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
        default:
            return "?";
    }
}

const char* word_of(WorkerEvent::Kind kind) {
    return kind == WorkerEvent::Kind::kFetched ? "fetched" : common_word(kind);
}

const char* word_of(TaskEvent::Kind kind) {
    using Kind = TaskEvent::Kind;
    switch (kind) {
        case Kind::kClaimed:
            return "claimed";
        case Kind::kDelayed:
            return "delayed";
        case Kind::kReleased:
            return "released";
        case Kind::kSuspended:
            return "suspended";
        case Kind::kDeadline:
            return "past its deadline";
        default:
            return common_word(kind);
    }
}

std::string name_of(const WorkerEvent& event) {
    return event.activity == nullptr ? ""
                                     : " " + printable(event.activity->name()) + " " +
                                           printable(event.activity->instance().value_or("-"));
}

std::string name_of(const TaskEvent& event) {
    return event.task == nullptr ? ""
                                 : " " + printable(event.task->lane()) + " " + event.task->id();
}

// Counts what is settled, and tells of it: one line each, to standard error, because standard
// output may be of use to the commands.
class Report {
 public:
    explicit Report(const WorkerArguments& arguments) : arguments_(arguments) {}

    // True: it is time to stop.
    template <typename Event>
    bool note(const Event& event) {
        const std::lock_guard lock(mutex_);
        if (!arguments_.quiet) {
            const std::string name = name_of(event);
            std::cerr << word_of(event.kind) << name
                      << (name.empty() ? "" : " " + duration_text(event.elapsed / Milliseconds(1)))
                      << (event.message.empty() ? "" : ": " + printable(event.message)) << "\n";
        }
        settled_ += event.kind == Event::Kind::kCompleted || event.kind == Event::Kind::kFailed;
        return arguments_.count > 0 && settled_ >= arguments_.count;
    }

    std::int64_t settled() const { return settled_; }

 private:
    const WorkerArguments& arguments_;
    std::mutex mutex_;
    std::int64_t settled_ = 0;
};

// The worker that a signal stops.
template <typename Loop>
Loop* signalled = nullptr;

template <typename Loop>
void run_until_signalled(Loop& worker) {
    signalled<Loop> = &worker;
    std::signal(SIGPIPE, SIG_IGN);
    for (const int signal : {SIGINT, SIGTERM}) {
        std::signal(signal, [](int) { signalled<Loop>->stop(); });
    }
    worker.run();
}

// What options of both workers have in common.
template <typename Options>
Options options_for(Tool& tool, const WorkerArguments& arguments) {
    Options options{.connection = tool.connection_options(), .hub = tool.chosen_hub()};
    options.connection.reconnect_timeout = Milliseconds(30000);
    options.concurrency = arguments.concurrency;
    options.connections = std::min(arguments.concurrency, 3);
    return options;
}

void run_items(Tool& tool, const WorkerArguments& arguments, Report& report) {
    Worker* running = nullptr;
    auto options = options_for<WorkerOptions>(tool, arguments);
    options.lock_timeout = Milliseconds(arguments.lock_timeout_ms);
    options.retry_delay = Milliseconds(arguments.retry_delay_ms);
    if (!arguments.tags.empty()) {
        options.tag_filter = arguments.tags;
        options.tag_mode = "default_and";
    }
    options.on_event = [&](const WorkerEvent& event) {
        if (event.kind != WorkerEvent::Kind::kFetched && report.note(event)) {
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
    run_until_signalled(worker);
}

void run_tasks(Tool& tool, const WorkerArguments& arguments, Report& report) {
    TaskWorker* running = nullptr;
    auto options = options_for<TaskWorkerOptions>(tool, arguments);
    options.worker = "belay-tool";
    options.lease = Milliseconds(arguments.lock_timeout_ms);
    options.capabilities = arguments.capabilities;
    options.on_event = [&](const TaskEvent& event) {
        if (event.kind != TaskEvent::Kind::kClaimed && report.note(event)) {
            running->stop();
        }
    };
    TaskWorker worker(options);
    running = &worker;
    const TaskHandler handler = [&](Task& task) { return run_task(arguments, task); };
    for (const auto& lane : arguments.lanes) {
        for (const auto& kind : arguments.kinds) {
            worker.on(lane, kind, handler);
        }
        if (arguments.kinds.empty()) {
            worker.on(lane, handler);
        }
    }
    run_until_signalled(worker);
}

void run_worker(Tool& tool, const WorkerArguments& arguments) {
    Report report(arguments);
    arguments.lanes.empty() ? run_items(tool, arguments, report)
                            : run_tasks(tool, arguments, report);
    tool.say({{"settled", report.settled()}},
             std::to_string(report.settled()) +
                 (report.settled() == 1 ? " item settled" : " items settled"));
}

}  // namespace

void add_run_worker(CLI::App& app, Tool& tool) {
    auto arguments = std::make_shared<WorkerArguments>();
    auto* command = app.add_subcommand(
        "run-worker",
        "run a command for each work item, or with --lane for each task: its input or payload\n"
        "comes on standard input, what it prints is the result. Exit code 0: completed; 75: to be\n"
        "tried again; else failed. The environment has BELAY_ATTEMPT, and BELAY_ACTIVITY,\n"
        "BELAY_INSTANCE, BELAY_EXECUTION_ID and BELAY_ACTIVITY_ID, or BELAY_TASK_ID, BELAY_LANE\n"
        "and BELAY_KIND.");
    command->add_option("--shell", arguments->command, "the command, for sh -c")->required();
    auto* name =
        command->add_option("--name", arguments->names, "only activities of this name; repeatable");
    command->add_option("--concurrency", arguments->concurrency, "commands at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command->add_option("--lock-timeout-ms", arguments->lock_timeout_ms, "of a lease")
        ->capture_default_str()
        ->check(CLI::Range(100, 86400000));
    auto* delay = command
                      ->add_option("--retry-delay-ms", arguments->retry_delay_ms,
                                   "before another attempt; of tasks says their policy")
                      ->capture_default_str()
                      ->check(CLI::NonNegativeNumber);
    auto* tag =
        command->add_option("--tag", arguments->tags, "also items with this tag; repeatable");
    auto* lane = command
                     ->add_option("--lane", arguments->lanes,
                                  "tasks of this lane instead of work items; repeatable")
                     ->excludes(name)
                     ->excludes(tag)
                     ->excludes(delay);
    command->add_option("--kind", arguments->kinds, "only tasks of this kind; repeatable")
        ->needs(lane);
    command->add_option("--capability", arguments->capabilities, "what it can do; repeatable")
        ->needs(lane);
    command->add_option("--count", arguments->count, "stop after so many items")
        ->check(CLI::PositiveNumber);
    command->add_flag("--quiet", arguments->quiet, "no line per item");
    on_run(tool, command, [&tool, arguments] { run_worker(tool, *arguments); });
}

}  // namespace belay::tool
