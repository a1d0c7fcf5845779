// Runs the programs that lie beside this one, against a server with a hub `app`.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "belay/flows.hpp"
#include "belay/orchestrations.hpp"
#include "belay/provider.hpp"
#include "belay/schedules.hpp"
#include "belay/tasks.hpp"
#include "cluster.hpp"
#include "shell.hpp"
#include "task_calls.hpp"

namespace belay::test {

struct Ran {
    int code = 0;
    std::string out;
    std::string err;
};

inline std::string shell_quoted(const std::string& word) {
    std::string quoted = "'";
    for (const char c : word) {
        quoted += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return quoted + "'";
}

// Until the condition holds; no test waits longer than a minute for what it expects.
template <typename Condition>
void await(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

class WithPrograms : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        std::signal(SIGPIPE, SIG_IGN);
        cluster = std::make_unique<Cluster>(Cluster::Options{.preload = true});
        cluster->connect().exec("CREATE EXTENSION belay");
    }
    static void TearDownTestSuite() { cluster.reset(); }
    void SetUp() override { cluster->connect().exec("SELECT belay.create_hub('app')"); }
    void TearDown() override { cluster->connect().exec("SELECT belay.drop_hub('app', true)"); }

    // A file beside this program.
    static std::string beside(const std::string& name) {
        return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    }

    // The command line of a program, with its process id in the file `pid`.
    static std::string command(const std::vector<std::string>& words) {
        std::string line = "echo $$ >" + shell_quoted(cluster->file("pid")) + "; exec " +
                           shell_quoted(beside(words[0]));
        for (std::size_t i = 1; i < words.size(); ++i) {
            line += " " + shell_quoted(words[i]);
        }
        return line + " 2>" + shell_quoted(cluster->file("err"));
    }

    static Ran run(const std::vector<std::string>& words, const std::string& input = "") {
        std::filesystem::remove(cluster->file("pid"));
        // All of libpq's settings that a program needs are in this one.
        const auto result = tool::run_shell(command(words), input,
                                            {{"BELAY_DSN", cluster->conninfo()},
                                             {"PGHOST", socket_directory()},
                                             {"PGUSER", "postgres"},
                                             {"PGDATABASE", "postgres"}},
                                            {}, std::chrono::seconds(1));
        std::stringstream errors;
        errors << std::ifstream(cluster->file("err")).rdbuf();
        return {result.code, result.output, errors.str()};
    }

    // The process id of the program that runs; 0 before it has one.
    static pid_t running_pid() {
        pid_t pid = 0;
        std::ifstream(cluster->file("pid")) >> pid;
        return pid;
    }

    static std::string socket_directory() {
        return cluster->connect().value("SELECT current_setting('unix_socket_directories')");
    }

    static inline std::unique_ptr<Cluster> cluster;

    Connection connection_{{.conninfo = cluster->conninfo()}};
    Hub hub_{connection_, "app"};
};

}  // namespace belay::test
