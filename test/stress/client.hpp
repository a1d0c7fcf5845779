// What stress tests share: a connection that may be lost at any moment, chance, the log.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace belay::test::stress {

using Text = std::optional<std::string>;

// What a statement gave: rows, an error, or nothing because the connection was lost.
struct Answer {
    std::vector<std::vector<Text>> rows;
    std::string sqlstate;
    std::string message;
    bool lost = false;

    bool ok() const { return sqlstate.empty() && !lost; }
};

// Runs one or more statements; the rows are those of the last. If the connection is lost, the
// outcome is not known.
Answer ask(Conn& conn, const std::string& sql);

class Client {
 public:
    // Every connection begins with these statements. give_up ends attempts to connect.
    Client(Cluster* cluster, std::string greeting, const std::atomic<bool>* give_up)
        : cluster_(cluster), greeting_(std::move(greeting)), give_up_(give_up) {}

    // Runs one or more statements as one transaction; the rows are those of the last. Connects
    // first if there is no connection. After a loss the outcome is not known.
    Answer ask(const std::string& sql);

    // Breaks the connection without a word, as a dying process does.
    void drop();

    // How often a connection was lost against our will.
    int losses() const { return losses_; }

 private:
    bool connect();

    Cluster* cluster_;
    std::string greeting_;
    const std::atomic<bool>* give_up_;
    std::optional<Conn> conn_;
    int losses_ = 0;
};

// What went wrong, told by many threads. Only the first of it is of interest.
struct Complaints {
    void complain(const std::string& text);
    bool has_complaints();

    std::mutex mutex;
    std::vector<std::string> complaints;
};

// What the players of a game with tasks share.
struct TaskGame : Complaints {
    // Some refusals are part of the game; everything else is not.
    Answer ask(Client* client, const std::string& sql);

    std::atomic<int64_t> clock = 1'000'000'000'000;
    std::atomic<int64_t> calls = 0;
    std::atomic<int64_t> refused = 0;
};

// Milliseconds, for messages about speed only.
class Stopwatch {
 public:
    Stopwatch();
    double seconds() const;

 private:
    int64_t began_;
};

// The same numbers for the same seed, on every machine.
class Random {
 public:
    explicit Random(uint64_t seed) : engine_(seed) {}
    int64_t number(int64_t least, int64_t most) {
        return least + static_cast<int64_t>(engine_() % static_cast<uint64_t>(most - least + 1));
    }
    bool in_thousand(int chance) { return number(1, 1000) <= chance; }

 private:
    std::mt19937_64 engine_;
};

// BELAY_SEED, or a new seed; printed once.
uint64_t run_seed();
// BELAY_LONG=1 asks for the long form.
bool is_long();

// The lines of a server's log that tell of errors, but for those with these SQLSTATEs. The server
// must have been started with kLogPrefix.
inline const std::string kLogPrefix = "log_line_prefix = '%m [%p] %b SQLSTATE=%e '";
std::vector<std::string> unexpected_errors(const std::string& log,
                                           const std::vector<std::string>& expected);

}  // namespace belay::test::stress
