// A worker whose handler is a shell command: its options, the command's variables, and its report.
//
// May touch: the error stream, signals of the process. Must not: start the command; shell.cpp does.
#include "exec_worker.hpp"

#include <csignal>
#include <iostream>
#include <mutex>

#include "shell.hpp"

namespace belay::tool {
namespace {

// As sysexits.h has it: try again later.
constexpr int kTryAgain = 75;

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string number_text(const OptionalNumber& number) {
    return number ? std::to_string(*number) : "";
}

Variables variables_of(const Task& task) {
    Variables variables = {{"BELAY_ATTEMPT", std::to_string(task.attempt())}};
    if (task.is_activity()) {
        variables.insert(variables.end(), {{"BELAY_ACTIVITY", task.kind()},
                                           {"BELAY_INSTANCE", task.instance().value_or("")},
                                           {"BELAY_EXECUTION_ID", number_text(task.execution_id())},
                                           {"BELAY_ACTIVITY_ID", number_text(task.activity_id())}});
    } else {
        variables.insert(variables.end(), {{"BELAY_TASK_ID", task.id().text()},
                                           {"BELAY_QUEUE", task.queue()},
                                           {"BELAY_KIND", task.kind()}});
    }
    return variables;
}

// What the command has printed, without the last line break.
std::string printed(const ShellResult& result) {
    std::string text = result.output;
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    return text;
}

// Of an activity the text as it is; of a task JSON as it is, other text as a string.
Outcome completed_by(const Task& task, std::string text) {
    if (task.is_activity()) {
        return completed_text(std::move(text));
    }
    if (text.empty()) {
        return completed();
    }
    return completed_text(Json::accept(text) ? text : json_text(text));
}

const char* word_of(WorkerEvent::Kind kind) {
    using Kind = WorkerEvent::Kind;
    switch (kind) {
        case Kind::kReceived:
            return "received";
        case Kind::kCompleted:
            return "completed";
        case Kind::kFailed:
            return "failed";
        case Kind::kRetried:
            return "retried";
        case Kind::kDelayed:
            return "delayed";
        case Kind::kReleased:
            return "released";
        case Kind::kSuspended:
            return "suspended";
        case Kind::kCancelled:
            return "cancelled";
        case Kind::kDeadline:
            return "past its deadline";
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

std::string name_of(const Task& task) {
    return task.is_activity()
               ? printable(task.kind()) + " " + printable(task.instance().value_or("-"))
               : printable(task.queue()) + " " + task.id().text();
}

// Counts what is settled, and reports it: one line each, to standard error, because standard
// output may be of use to the commands.
class Report {
 public:
    explicit Report(const ExecArguments& arguments) : arguments_(arguments) {}

    // True: it is time to stop.
    bool note(const WorkerEvent& event) {
        using Kind = WorkerEvent::Kind;
        if (event.kind == Kind::kReceived) {
            return false;
        }
        const std::lock_guard lock(mutex_);
        if (!arguments_.quiet) {
            std::cerr << word_of(event.kind)
                      << (event.task == nullptr
                              ? ""
                              : " " + name_of(*event.task) + " " +
                                    duration_text(event.elapsed / Milliseconds(1)))
                      << (event.message.empty() ? "" : ": " + printable(event.message)) << "\n";
        }
        settled_ += event.kind == Kind::kCompleted || event.kind == Kind::kFailed;
        return arguments_.count > 0 && settled_ >= arguments_.count;
    }

    std::int64_t settled() const { return settled_; }

 private:
    const ExecArguments& arguments_;
    std::mutex mutex_;
    std::int64_t settled_ = 0;
};

Worker* signalled = nullptr;  // the worker that a signal stops

}  // namespace

void add_exec_options(CLI::App* command, ExecArguments& arguments, const char* what) {
    command->add_option(what, arguments.command, "the command, for sh -c")->required();
    command->add_option("--concurrency", arguments.concurrency, "commands at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    add_duration(command, "--lease", arguments.lease_ms,
                 "how long a lease lasts; it is extended while the command runs")
        ->default_str("30s")
        ->check(CLI::Range(100, 86400000));
    command->add_option("--count", arguments.count, "stop after so many")
        ->check(CLI::PositiveNumber);
    command->add_flag("--quiet", arguments.quiet, "no line for each");
}

WorkerOptions exec_options(Tool& tool, const ExecArguments& arguments) {
    WorkerOptions options{.connection = tool.connection_options(), .hub = tool.chosen_hub()};
    options.connection.reconnect_timeout = Milliseconds(30000);
    options.name = "belay-tool";
    options.concurrency = arguments.concurrency;
    options.connections = std::min(arguments.concurrency, 3);
    options.lease = Milliseconds(arguments.lease_ms);
    return options;
}

Outcome exec_for(Task& task, const ExecArguments& arguments, Milliseconds activity_retry_delay) {
    const ShellResult result = run_shell(arguments.command, task.payload_text(), variables_of(task),
                                         task.stop_token(), Milliseconds(2000));
    if (result.code == 0) {
        return completed_by(task, printed(result));
    }
    const std::string message = "the command ended with code " + std::to_string(result.code);
    if (result.code != kTryAgain) {
        return failed(message, FailureClass::kPermanent);
    }
    return task.is_activity() ? retry_in(activity_retry_delay, message) : failed(message);
}

void run_exec_worker(Tool& tool, const ExecArguments& arguments, WorkerOptions options,
                     const std::function<void(Worker&)>& set_up) {
    tool.check_can_work();
    Report report(arguments);
    Worker* running = nullptr;
    options.on_event = [&](const WorkerEvent& event) {
        if (report.note(event)) {
            running->stop();
        }
    };
    Worker worker(std::move(options));
    running = &worker;
    set_up(worker);
    signalled = &worker;
    std::signal(SIGPIPE, SIG_IGN);
    for (const int signal : {SIGINT, SIGTERM}) {
        std::signal(signal, [](int) { signalled->stop(); });
    }
    worker.run();
    tool.say({{"settled", report.settled()}}, std::to_string(report.settled()) + " settled");
}

}  // namespace belay::tool
