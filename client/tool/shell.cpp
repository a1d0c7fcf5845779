// Running a shell command: its pipes, its process group, and its end.
//
// May touch: the process group of the command. Must not: return while the command runs.
#include "shell.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

extern char** environ;

namespace belay::tool {
namespace {

using Steady = std::chrono::steady_clock;

void check(int error, const char* what) {
    if (error != 0) {
        throw std::system_error(error, std::generic_category(), what);
    }
}

// A file descriptor that closes itself.
class Descriptor {
 public:
    explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return descriptor_; }
    void reset(int descriptor) {
        close();
        descriptor_ = descriptor;
    }
    void close() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
            descriptor_ = -1;
        }
    }

 private:
    int descriptor_;
};

struct Pipe {
    Descriptor read;
    Descriptor write;
    Pipe() {
        int ends[2];
        check(pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno, "pipe");
        read.reset(ends[0]);
        write.reset(ends[1]);
    }
};

struct SpawnSettings {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    SpawnSettings(int input, int output) {
        check(posix_spawn_file_actions_init(&actions), "posix_spawn");
        check(posix_spawnattr_init(&attributes), "posix_spawn");
        check(posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO), "posix_spawn");
        check(posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO), "posix_spawn");
        sigset_t defaults;
        sigemptyset(&defaults);
        for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) {
            sigaddset(&defaults, signal);
        }
        check(posix_spawnattr_setsigdefault(&attributes, &defaults), "posix_spawn");
        check(posix_spawnattr_setpgroup(&attributes, 0), "posix_spawn");
        check(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF),
              "posix_spawn");
    }
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;
};

pid_t spawn(const std::string& command, int input, int output,
            const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables) {
        texts.push_back(name + "=" + value);
    }
    std::vector<char*> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        environment.push_back(*variable);
    }
    for (auto& text : texts) {
        environment.push_back(text.data());
    }
    environment.push_back(nullptr);
    std::string words[] = {"sh", "-c", command};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    const SpawnSettings settings(input, output);
    pid_t pid = 0;
    check(posix_spawn(&pid, "/bin/sh", &settings.actions, &settings.attributes, arguments,
                      environment.data()),
          "cannot start the command");
    return pid;
}

// The time has come to terminate the group, or to kill it.
class Ending {
 public:
    Ending(pid_t pid, const std::stop_token& stop, std::chrono::milliseconds grace)
        : pid_(pid), stop_(stop), grace_(grace) {}

    void look() {
        if (!asked_ && stop_.stop_requested()) {
            asked_ = true;
            kill_at_ = Steady::now() + grace_;
            kill(-pid_, SIGTERM);
        } else if (Steady::now() > kill_at_) {
            kill(-pid_, SIGKILL);
        }
    }

 private:
    pid_t pid_;
    const std::stop_token& stop_;
    std::chrono::milliseconds grace_;
    bool asked_ = false;
    Steady::time_point kill_at_ = Steady::time_point::max();
};

}  // namespace

ShellResult run_shell(const std::string& command, const std::string& input,
                      const std::vector<std::pair<std::string, std::string>>& variables,
                      const std::stop_token& stop, std::chrono::milliseconds grace) {
    Pipe in;
    Pipe out;
    const pid_t pid = spawn(command, in.read.get(), out.write.get(), variables);
    in.read.close();
    out.write.close();
    fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
    Ending ending(pid, stop, grace);
    ShellResult result;
    std::size_t written = 0;
    // Until the command has closed its output; it need not read its input.
    while (out.read.get() >= 0) {
        if (written == input.size()) {
            in.write.close();
        }
        pollfd ready[] = {{.fd = out.read.get(), .events = POLLIN, .revents = 0},
                          {.fd = in.write.get(), .events = POLLOUT, .revents = 0}};
        poll(ready, 2, 50);
        ending.look();
        if (ready[1].revents != 0) {
            const ssize_t count =
                write(in.write.get(), input.data() + written, input.size() - written);
            if (count > 0) {
                written += static_cast<std::size_t>(count);
            } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
                written = input.size();  // it does not want more
            }
        }
        if (ready[0].revents != 0) {
            char buffer[65536];
            const ssize_t count = ::read(out.read.get(), buffer, sizeof buffer);
            if (count > 0) {
                result.output.append(buffer, static_cast<std::size_t>(count));
            } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
                out.read.close();
            }
        }
    }
    in.write.close();
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        ending.look();
        poll(nullptr, 0, 5);
    }
    result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}

}  // namespace belay::tool
