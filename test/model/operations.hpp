// The calls that the model test makes, and what it compares.
//
// To add an operation: write its rules in Hub, in the operations_*.cpp of its subject a function
// that makes up a call, and a line in the table there. Shared pieces of calls are in made_up.hpp.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cluster.hpp"
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

// What the server answers to a statement.
Answer ask(Conn& conn, const std::string& sql);

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
        std::deque<std::string> tokens;       // the last of work items, dead or not
        std::deque<std::string> turn_tokens;  // the last of turns
        std::set<std::string> all_tokens;
        std::deque<std::tuple<std::string, int64_t, std::string>> task_leases;  // of receive
        std::vector<std::pair<std::string, decltype(Item{}.key())>> cursors;  // of list_work_items
        int64_t serial = 0;
        int64_t first_instance = 0;  // of those that calls are about
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

// All but those of tasks.
std::span<const Operation> operations();

std::span<const Operation> worker_operations();
std::span<const Operation> message_operations();
std::span<const Operation> turn_operations();
std::span<const Operation> state_operations();
std::span<const Operation> dead_letter_operations();
std::span<const Operation> hub_operations();
std::span<const Operation> management_operations();
std::span<const Operation> removal_operations();
std::span<const Operation> task_operations();

// ---- Showing what is compared ----

// Statements that make the functions with which the test's queries show values:
// shown_time(timestamptz), those of the server's clock being all alike; shown_item(text), where the
// engine's own messages are described; shown_elements(json) and shown_values(json);
// shown_reconcile(bigint, text[], bigint), what duties did and, by source, the orphans that came
// behind a dead letter; index_faults(text), where a partial index of a hub has not the rows that
// its condition says.
const char* showing_functions();
// A statement that registers the queues and the sets of capabilities of tasks, and leaves no task.
const char* registering_tasks();
std::string shown_time(int64_t ms);

// What a client sees of the hub, as the tables show it and as the model has it.
struct Picture {
    const char* name;
    const char* sql;
    Expected (*expected)(const Hub&, int client);
};
std::span<const Picture> pictures();
std::span<const Picture> task_pictures();

// What an episode is about.
struct Subject {
    std::span<const Operation> operations;
    std::span<const Picture> pictures;
};

}  // namespace belay::test::model
