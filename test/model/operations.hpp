// The calls that the model test makes: one entry per operation in the table kOperations.
//
// To add an operation: write its rules in Hub, a function here that makes up a call, and a line in
// the table.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "hub.hpp"

namespace belay::test::model {

// The answer of the server: rows, or an error.
struct Answer {
    std::vector<std::vector<Text>> rows;
    std::string sqlstate;
    std::string message;
    std::string detail;
    std::string hint;
};

// The rows that an answer must have.
using Expected = std::vector<std::vector<Text>>;

// Stands for a field that only the server can know; the call's learn looks at it.
inline const Text kAnything = "\x01";

struct Call {
    std::string sql;
    // Does the call in the model. Throws Blocked or Refused.
    std::function<Expected(Hub*)> apply;
    // Takes what only the server can know into the model. Returns what is wrong with it, or "".
    std::function<std::string(Hub*, const Answer&)> learn = nullptr;
};

class Random {
 public:
    explicit Random(uint64_t seed) : engine_(seed) {}

    // Between least and most, both included.
    int64_t number(int64_t least, int64_t most) {
        return least + static_cast<int64_t>(engine_() % static_cast<uint64_t>(most - least + 1));
    }
    bool percent(int chance) { return number(1, 100) <= chance; }
    template <typename List>
    auto pick(const List& list) {
        return list[static_cast<std::size_t>(number(0, static_cast<int64_t>(list.size()) - 1))];
    }

 private:
    std::mt19937_64 engine_;
};

// What a call is made up from.
struct Scene {
    Random& random;
    const Hub& hub;
    int client;
    int64_t now;  // of the test's clock, as this client has it
    // What earlier calls brought to light.
    struct Memory {
        std::deque<std::string> tokens;  // the last ones, dead or not
        std::vector<std::pair<std::string, decltype(Item{}.key())>> cursors;  // of list_work_items
        int64_t serial = 0;
        bool token_seen_twice = false;
        std::map<std::string, bool> all_tokens;
    } & memory;
};

struct Operation {
    const char* name;
    int weight;
    // Only outside of a transaction, and only while no other client has one, respectively.
    enum class When { kAlways, kOwnTransaction, kAlone } when;
    // Makes up a call; nothing if it makes no sense now.
    std::optional<Call> (*make)(Scene*);
};

std::span<const Operation> operations();

// How the queries of the comparison show instants: those of the server's clock are all alike.
std::string show_time(int64_t ms);
// The SQL for the same.
std::string time_sql(const std::string& column);

// What a client sees of the hub, as the tables show it and as the model has it.
struct Picture {
    const char* name;
    std::string sql;
    Expected (*expected)(const Hub&, int client);
};
std::span<const Picture> pictures();

}  // namespace belay::test::model
