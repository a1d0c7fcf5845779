// Kills and signals at random moments.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "server.hpp"

namespace belay::test {

// A process of its own that runs a body, so that it can be killed.
class Process {
 public:
    explicit Process(std::function<void()> body) : body_(std::move(body)) { start(); }
    ~Process() { kill(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void kill() {
        ::kill(pid_, SIGKILL);
        int status = 0;
        ::waitpid(pid_, &status, 0);
    }
    void start() {
        pid_ = ::fork();
        if (pid_ == 0) {
            try {
                body_();
            } catch (const std::exception& error) {
                std::cerr << "process: " << error.what() << "\n";
            }
            ::_exit(1);
        }
    }

 private:
    std::function<void()> body_;
    pid_t pid_ = -1;
};

// The loop that SIGTERM stops.
inline std::atomic<void (*)()> stop_signalled = nullptr;
template <typename Loop>
inline std::atomic<Loop*> signalled = nullptr;

extern "C" inline void on_sigterm(int) {
    if (auto* const stop = stop_signalled.load()) {
        stop();
    }
}

// Lets SIGTERM stop a loop, for as long as the object lives.
template <typename Loop>
class StopsAtSigterm {
 public:
    explicit StopsAtSigterm(Loop& loop) {
        signalled<Loop> = &loop;
        stop_signalled = +[] { signalled<Loop>.load()->stop(); };
        struct sigaction action = {};
        action.sa_handler = on_sigterm;
        ::sigaction(SIGTERM, &action, &before_);
    }
    ~StopsAtSigterm() {
        ::sigaction(SIGTERM, &before_, nullptr);
        stop_signalled = nullptr;
    }
    StopsAtSigterm(const StopsAtSigterm&) = delete;
    StopsAtSigterm& operator=(const StopsAtSigterm&) = delete;

 private:
    struct sigaction before_ = {};
};

// How often a test at random moments repeats itself, and what it draws. Prints the seed.
class RandomRounds {
 public:
    RandomRounds() {
        const char* is_long = std::getenv("BELAY_LONG");
        rounds_ = is_long != nullptr && std::string(is_long) == "1" ? 200 : 20;
        const char* given = std::getenv("BELAY_SEED");
        seed_ = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10))
                                 : std::random_device{}();
        random_.seed(seed_);
        std::cout << "seed " << seed_ << " (BELAY_SEED repeats it)\n";
    }
    int rounds() const { return rounds_; }
    unsigned seed() const { return seed_; }
    int below(int limit) { return std::uniform_int_distribution<>(0, limit - 1)(random_); }

 private:
    int rounds_ = 0;
    unsigned seed_ = 0;
    std::mt19937 random_;
};

// Kills a process, a backend of it and the server in the middle of their work: `left` counts
// the rows that are still to be worked on, and must fall before each kill. Then waits for the
// end.
inline void kill_in_the_middle(Cluster& cluster, Process& process, const std::string& application,
                               const std::string& left_in) {
    // None while the server recovers.
    const auto left = [&]() -> std::optional<int> {
        try {
            return std::stoi(cluster.connect().value("SELECT count(*) FROM " + left_in));
        } catch (const std::runtime_error&) {
            return std::nullopt;
        }
    };
    int before = left().value();
    for (const std::string victim : {"process", "backend", "server", "process", "backend"}) {
        // Something was done since the last kill.
        ASSERT_TRUE(wait_until([&] {
            const auto now = left();
            return now && *now < before;
        })) << victim;
        if (victim == "process") {
            process.kill();
            process.start();
        } else if (victim == "server") {
            cluster.kill9();
            cluster.start();
        } else {
            const std::string pid = cluster.connect().value(
                "SELECT max(pid) FROM pg_stat_activity WHERE application_name = '" + application +
                "'");
            if (!pid.empty()) {
                ::kill(std::stoi(pid), SIGKILL);
            }
        }
        ASSERT_TRUE(wait_until([&] { return left().has_value(); })) << victim;
        before = left().value_or(before);
        std::cout << before << " left after the end of a " << victim << "\n";
    }
    EXPECT_TRUE(wait_until([&] { return left() == 0; }, std::chrono::seconds(120)));
}

}  // namespace belay::test
