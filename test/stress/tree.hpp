// A small runtime for orchestrations, as stress tests drive it: fan-out with joins, cancelled
// activities, timers, sub-orchestrations and continue-as-new.
//
// A turn replays the history, takes in the messages and decides what comes next, from nothing but
// these two. What a whole tree of instances comes to, a plain function computes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client.hpp"

namespace belay::test::stress::tree {

// What the whole tree of an instance should come to, without running it.
struct Outcome {
    int64_t output;
    int64_t instances;
    int64_t executions;
};
Outcome expected_outcome(int64_t n, int64_t depth);

// The input of root n.
std::string root_input(int64_t n);

// The result of an activity with this input.
int64_t activity_result(const std::string& input);

struct Event {
    int64_t id;
    std::string type;
    int64_t source;  // the event that this one answers
    std::string value;
};

struct Message {
    std::string kind;
    int64_t execution;
    int64_t id;
    std::string value;
};

struct Fetched {
    std::string instance;
    int64_t execution;
    std::string token;
    std::vector<Event> history;
    std::vector<Message> messages;

    // Event ids count from 1 without a gap.
    bool has_gap() const;
};

// Fetches a turn; read_turn understands the row.
std::string fetch_turn_sql(const std::string& hub, const std::string& lease_ms);
Fetched read_turn(const std::vector<Text>& row);

// What a turn decides: from what was fetched to what is acked.
struct Decision {
    bool completes = false;
    bool is_root = false;
    int64_t execution = 0;
    std::vector<std::string> delta;
    std::vector<std::string> activities;
    std::vector<std::string> messages;
    std::vector<std::string> cancelled;
    std::string metadata = "{}";

    std::string ack_sql(const std::string& hub, const std::string& token) const;
};
Decision decide(const Fetched& fetched);

// Fetches an activity: its token, instance, execution, id and input.
std::string fetch_activity_sql(const std::string& hub, const std::string& lease_ms);
// Acks it, with the result as completion.
std::string ack_activity_sql(const std::string& hub, const std::vector<Text>& row);

}  // namespace belay::test::stress::tree
