// Kills and signals at random moments.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
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
    pid_t pid() const { return pid_; }
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
        is_long_ = is_long != nullptr && std::string(is_long) == "1";
        const char* given = std::getenv("BELAY_SEED");
        seed_ = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10))
                                 : std::random_device{}();
        random_.seed(seed_);
        std::cout << "seed " << seed_ << " (BELAY_SEED repeats it)\n";
    }
    bool is_long() const { return is_long_; }
    int rounds() const { return is_long_ ? 200 : 20; }
    unsigned seed() const { return seed_; }
    int below(int limit) { return std::uniform_int_distribution<>(0, limit - 1)(random_); }

 private:
    bool is_long_ = false;
    unsigned seed_ = 0;
    std::mt19937 random_;
};

// Kills a process, backends of it and the server in the middle of their work, at random moments: 5
// times, or 40 times in the long form, for which there has to be kLongWork times as much work.
// `left_in` has the rows that are still to be worked on; some of it is done before each kill. Each
// of these rows needs a handler that passes the turnstile, so that there is work left for the last
// kill. Then waits for the end.
constexpr int kLongWork = 8;
inline void kill_in_the_middle(Cluster& cluster, Process& process, Turnstile& turnstile,
                               const std::string& application, const std::string& left_in,
                               RandomRounds& random) {
    // None while the server recovers.
    const auto left = [&]() -> std::optional<int> {
        try {
            return std::stoi(cluster.connect().value("SELECT count(*) FROM " + left_in));
        } catch (const std::runtime_error&) {
            return std::nullopt;
        }
    };
    const std::array<std::string, 3> victims{"process", "backend", "server"};
    std::map<std::string, int> killed;
    const int number = left().value();
    int before = number;
    const int kills = random.is_long() ? 40 : 5;
    for (int n = 0; n < kills; ++n) {
        const std::string& victim =
            victims.at(static_cast<std::size_t>(n < 3 ? n : random.below(3)));
        turnstile.allow((n + 1) * number / (kills + 1));
        // Something was done since the last kill.
        ASSERT_TRUE(wait_until([&] {
            const auto now = left();
            return now && *now < before;
        })) << victim
            << ", " << before << " left, seed " << random.seed();
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(20000)));
        if (victim == "process") {
            process.kill();
            process.start();
        } else if (victim == "server") {
            cluster.kill9();
            cluster.start();
        } else {
            Conn other = cluster.connect();
            std::string pid;
            ASSERT_TRUE(wait_until([&] {
                pid = other.value(
                    "SELECT (SELECT pid FROM pg_stat_activity WHERE application_name = '" +
                    application + "' ORDER BY random() LIMIT 1)");
                return !pid.empty();
            }));
            ::kill(std::stoi(pid), SIGKILL);
            // The server notices, and restarts.
            ASSERT_TRUE(wait_until([&] { return !other.error_of("SELECT 1").empty(); }));
        }
        ++killed[victim];
        ASSERT_TRUE(wait_until([&] { return left().has_value(); })) << victim;
        before = left().value_or(before);
    }
    for (const auto& [victim, times] : killed) {
        std::cout << victim << " killed " << times << " times, ";
    }
    std::cout << before << " left after the last kill\n";
    EXPECT_GT(before, 0);
    turnstile.open();
    EXPECT_TRUE(wait_until([&] { return left() == 0; }, std::chrono::seconds(120)))
        << left().value_or(-1) << " left, seed " << random.seed();
}

}  // namespace belay::test
