// Runs a shell command with input on its standard input.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace belay::tool {

struct ShellResult {
    int code = 0;  // its exit code; 128 and the signal's number if a signal ended it
    std::string output;
};

// Runs `sh -c command` in a process group of its own, with variables added to the environment.
// Standard error is ours. When a stop is requested the group gets SIGTERM, and SIGKILL after the
// grace time. Throws std::system_error if the command cannot be started. May be called by many
// threads at once; SIGPIPE has to be ignored.
ShellResult run_shell(const std::string& command, const std::string& input,
                      const std::vector<std::pair<std::string, std::string>>& variables,
                      const std::stop_token& stop, std::chrono::milliseconds grace);

}  // namespace belay::tool
