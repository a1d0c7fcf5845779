// A worker whose handler is a shell command: what `belay receive` and `belay run-worker` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "belay/worker.hpp"
#include "tool.hpp"

namespace belay::tool {

struct ExecArguments {
    std::string command;  // for sh -c
    int concurrency = 1;
    std::int64_t lease_ms = 30000;
    std::int64_t count = 0;  // 0: until a signal
    bool quiet = false;
};

// Declares the options that both commands have; what is the name of the command's option.
void add_exec_options(CLI::App* command, ExecArguments& arguments, const char* what);

// The options of the worker that runs the command.
WorkerOptions exec_options(Tool& tool, const ExecArguments& arguments);

// Runs the command for a task or an activity; its exit code decides: 0 completes, 75 is a transient
// failure, others are permanent ones.
Outcome exec_for(Task& task, const ExecArguments& arguments, Milliseconds activity_retry_delay);

// Runs a worker that set_up gives its handlers, until a signal or until enough was settled. Prints
// a line for each, unless they are not wanted.
void run_exec_worker(Tool& tool, const ExecArguments& arguments, WorkerOptions options,
                     const std::function<void(Worker&)>& set_up);

}  // namespace belay::tool
