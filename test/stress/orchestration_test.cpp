// A small runtime drives thousands of orchestrations while its connections die at any moment:
// fan-out with joins, cancelled activities, timers, sub-orchestrations and continue-as-new. Every
// instance completes exactly once, with the output that a plain function computes.
//
// A turn replays the history, takes in the messages and decides what comes next, from nothing but
// these two. Table done is written in the transaction of the ack that completes an instance: it
// tells what happened even where a client lost its connection and does not know.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

int64_t number_of(const std::string& text) {
    return text.empty() ? 0 : std::stoll(text);
}

// ---------------------------------------------------------------- what the programs do

// One round of an orchestration: a run of the program between two continue-as-new.
struct Round {
    int64_t activities;
    bool has_extra;  // one activity more, which is cancelled when the others are done
    bool has_timer;
    int64_t children;
};

constexpr int kMostDepth = 2;

int64_t rounds_of(int64_t n, int64_t depth) {
    return depth == 0 ? 1 + n % 3 : 1 + (n % 5 == 0 ? 1 : 0);
}

Round round_of(int64_t n, int64_t depth, int64_t round) {
    return {.activities = depth == 0 ? 1 + (n + round) % 4 : 1 + n % 2,
            .has_extra = depth == 0 && (n + round) % 2 == 0,
            .has_timer = (n + round) % 3 != 0,
            .children = depth == 0           ? (n + round) % 3
                        : depth < kMostDepth ? (n % 4 == 0 ? 1 : 0)
                                             : 0};
}

int64_t child_number(int64_t n, int64_t round, int64_t child) {
    return n * 7 + round * 3 + child + 1;
}

int64_t activity_result(int64_t n, int64_t round, int64_t activity) {
    return (n * 31 + round * 7 + activity) % 1000;
}

// What the whole tree of an instance should come to, without running it.
struct Outcome {
    int64_t output;
    int64_t instances;
    int64_t executions;
};

Outcome expected_outcome(int64_t n, int64_t depth) {
    Outcome outcome{0, 1, 0};
    for (int64_t round = 0; round < rounds_of(n, depth); ++round) {
        const Round plan = round_of(n, depth, round);
        ++outcome.executions;
        for (int64_t activity = 0; activity < plan.activities; ++activity) {
            outcome.output += activity_result(n, round, activity);
        }
        for (int64_t child = 0; child < plan.children; ++child) {
            const Outcome part = expected_outcome(child_number(n, round, child), depth + 1);
            outcome.output += part.output;
            outcome.instances += part.instances;
            outcome.executions += part.executions;
        }
    }
    return outcome;
}

// ---------------------------------------------------------------- the runtime

// Quoted for JSON; our texts have nothing to escape but quotes.
std::string json_text(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return out + "\"";
}

std::string array_of(const std::vector<std::string>& elements) {
    std::string out;
    for (const auto& element : elements) {
        out += (out.empty() ? "" : ",") + element;
    }
    return "[" + out + "]";
}

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

// The input of an execution, carried through continue-as-new.
struct Input {
    int64_t n = 0;
    int64_t depth = 0;
    int64_t round = 0;
    int64_t sum = 0;
    int64_t parent_execution = 0;
    int64_t parent_event = 0;
    std::string parent = "-";

    std::string text() const {
        return to_string(n) + "," + to_string(depth) + "," + to_string(round) + "," +
               to_string(sum) + "," + to_string(parent_execution) + "," + to_string(parent_event) +
               "," + parent;
    }
    static Input read(const std::string& text) {
        const auto parts = split(text, ',');
        return {std::stoll(parts.at(0)),
                std::stoll(parts.at(1)),
                std::stoll(parts.at(2)),
                std::stoll(parts.at(3)),
                std::stoll(parts.at(4)),
                std::stoll(parts.at(5)),
                parts.at(6)};
    }
};

// One turn: from what was fetched to what is acked.
class Turn {
 public:
    Turn(std::string instance, int64_t execution, std::vector<Event> history)
        : instance_(std::move(instance)), execution_(execution), events_(std::move(history)) {}

    void run(const std::vector<Message>& messages) {
        for (const auto& message : messages) {
            take_in(message);
        }
        if (!events_.empty() && !is_over()) {
            advance();
        }
    }

    bool completes() const { return status_ == "Completed"; }

    std::string ack_sql(const std::string& token) const {
        std::string metadata = "{}";
        if (!events_.empty()) {
            metadata = "{\"orchestration_name\":\"Tree\",\"orchestration_version\":\"1\"";
            if (input_.parent != "-") {
                metadata += ",\"parent_instance_id\":" + json_text(input_.parent);
            }
            if (!status_.empty()) {
                metadata +=
                    ",\"status\":" + json_text(status_) + ",\"output\":" + json_text(output_);
            }
            metadata += "}";
        }
        return "SELECT app.ack_orchestration_item('" + token + "', NULL, " + to_string(execution_) +
               ", '" + array_of(delta_) + "', '" + array_of(activities_) + "', '" +
               array_of(messages_) + "', '" + metadata + "', '" + array_of(cancelled_) + "')";
    }

 private:
    bool is_over() const {
        return !events_.empty() && (events_.back().type == "OrchestrationCompleted" ||
                                    events_.back().type == "OrchestrationContinuedAsNew");
    }

    int64_t add(const std::string& type, int64_t source, const std::string& value) {
        const int64_t id = static_cast<int64_t>(events_.size()) + 1;
        events_.push_back({id, type, source, value});
        const std::string text = "{\"event_id\":" + to_string(id) + ",\"type\":" + json_text(type) +
                                 ",\"source_event_id\":" + to_string(source) +
                                 ",\"value\":" + json_text(value) + "}";
        delta_.push_back("{\"event_id\":" + to_string(id) + ",\"event_type\":" + json_text(type) +
                         ",\"event_data\":" + json_text(text) + "}");
        return id;
    }

    std::vector<Event> all(const std::string& type) const {
        std::vector<Event> found;
        std::copy_if(events_.begin(), events_.end(), std::back_inserter(found),
                     [&type](const Event& event) { return event.type == type; });
        return found;
    }
    bool is_answered(int64_t id) const {
        return std::any_of(events_.begin(), events_.end(),
                           [id](const Event& event) { return event.source == id; });
    }
    bool is_open(int64_t id, const std::string& type) const {
        return id >= 1 && id <= static_cast<int64_t>(events_.size()) &&
               events_[static_cast<std::size_t>(id) - 1].type == type && !is_answered(id);
    }

    // Late and repeated messages, and those of other executions, change nothing.
    void take_in(const Message& message) {
        if (message.kind == "StartOrchestration") {
            if (events_.empty()) {
                add("OrchestrationStarted", 0, message.value);
            }
        } else if (message.kind == "ContinueAsNew") {
            if (!events_.empty() && events_.back().type == "OrchestrationContinuedAsNew") {
                ++execution_;
                events_.clear();
                add("OrchestrationStarted", 0, message.value);
            }
        } else if (message.execution == execution_ && !is_over()) {
            if (message.kind == "ActivityCompleted" && is_open(message.id, "ActivityScheduled")) {
                add("ActivityCompleted", message.id, message.value);
            } else if (message.kind == "TimerFired" && is_open(message.id, "TimerCreated")) {
                add("TimerFired", message.id, "");
            } else if (message.kind == "SubOrchCompleted" &&
                       is_open(message.id, "SubOrchestrationScheduled")) {
                add("SubOrchestrationCompleted", message.id, message.value);
            }
        }
    }

    // The program: goes on as far as the history allows.
    void advance() {
        input_ = Input::read(events_[0].value);
        const Round plan = round_of(input_.n, input_.depth, input_.round);

        const auto scheduled = all("ActivityScheduled");
        if (scheduled.empty()) {
            for (int64_t i = 0; i < plan.activities + (plan.has_extra ? 1 : 0); ++i) {
                schedule(i);
            }
            return;
        }
        int64_t sum = 0;
        for (int64_t i = 0; i < plan.activities; ++i) {
            const auto result = answer_to(scheduled.at(static_cast<std::size_t>(i)).id);
            if (!result) {
                return;
            }
            sum += number_of(*result);
        }
        if (plan.has_extra && is_open(scheduled.back().id, "ActivityScheduled")) {
            cancel(scheduled.back().id);
        }

        const auto timers = all("TimerCreated");
        if (plan.has_timer && timers.empty()) {
            create_timer();
            return;
        }
        if (plan.has_timer && !is_answered(timers[0].id)) {
            return;
        }

        const auto children = all("SubOrchestrationScheduled");
        if (plan.children > 0 && children.empty()) {
            for (int64_t i = 0; i < plan.children; ++i) {
                start_child(i);
            }
            return;
        }
        for (const auto& child : children) {
            const auto result = answer_to(child.id);
            if (!result) {
                return;
            }
            sum += number_of(*result);
        }
        finish(input_.sum + sum);
    }

    Text answer_to(int64_t id) const {
        for (const auto& event : events_) {
            if (event.source == id) {
                return event.value;
            }
        }
        return std::nullopt;
    }

    void schedule(int64_t activity) {
        const std::string input =
            to_string(input_.n) + "," + to_string(input_.round) + "," + to_string(activity);
        const int64_t id = add("ActivityScheduled", 0, input);
        activities_.push_back("{\"ActivityExecute\":{\"instance\":" + json_text(instance_) +
                              ",\"execution_id\":" + to_string(execution_) +
                              ",\"id\":" + to_string(id) +
                              ",\"name\":\"Act\",\"input\":" + json_text(input) + "}}");
    }

    void cancel(int64_t id) {
        add("ActivityCancelRequested", id, "");
        cancelled_.push_back("{\"instance\":" + json_text(instance_) + ",\"execution_id\":" +
                             to_string(execution_) + ",\"activity_id\":" + to_string(id) + "}");
    }

    void create_timer() {
        const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
        const std::string fire_at = to_string(now + 1 + input_.n % 7);
        const int64_t id = add("TimerCreated", 0, fire_at);
        messages_.push_back("{\"TimerFired\":{\"instance\":" + json_text(instance_) +
                            ",\"execution_id\":" + to_string(execution_) +
                            ",\"id\":" + to_string(id) + ",\"fire_at_ms\":" + fire_at + "}}");
    }

    void start_child(int64_t child) {
        const int64_t id = static_cast<int64_t>(events_.size()) + 1;
        const std::string name = instance_ + "::" + to_string(execution_) + "_" + to_string(id);
        Input input;
        input.n = child_number(input_.n, input_.round, child);
        input.depth = input_.depth + 1;
        input.parent_execution = execution_;
        input.parent_event = id;
        input.parent = instance_;
        add("SubOrchestrationScheduled", 0, name);
        messages_.push_back("{\"StartOrchestration\":{\"instance\":" + json_text(name) +
                            ",\"orchestration\":\"Tree\",\"input\":" + json_text(input.text()) +
                            ",\"version\":\"1\",\"parent_instance\":" + json_text(instance_) +
                            ",\"parent_id\":" + to_string(id) + ",\"execution_id\":1}}");
    }

    void finish(int64_t sum) {
        if (input_.round + 1 < rounds_of(input_.n, input_.depth)) {
            Input next = input_;
            ++next.round;
            next.sum = sum;
            add("OrchestrationContinuedAsNew", 0, next.text());
            status_ = "ContinuedAsNew";
            messages_.push_back("{\"ContinueAsNew\":{\"instance\":" + json_text(instance_) +
                                ",\"orchestration\":\"Tree\",\"input\":" + json_text(next.text()) +
                                ",\"version\":\"1\",\"carry_forward_events\":[]}}");
            return;
        }
        add("OrchestrationCompleted", 0, to_string(sum));
        status_ = "Completed";
        output_ = to_string(sum);
        if (input_.parent != "-") {
            messages_.push_back(
                "{\"SubOrchCompleted\":{\"parent_instance\":" + json_text(input_.parent) +
                ",\"parent_execution_id\":" + to_string(input_.parent_execution) +
                ",\"parent_id\":" + to_string(input_.parent_event) +
                ",\"result\":" + json_text(output_) + "}}");
        }
    }

    std::string instance_;
    int64_t execution_;
    std::vector<Event> events_;
    Input input_;
    std::vector<std::string> delta_;
    std::vector<std::string> activities_;
    std::vector<std::string> messages_;
    std::vector<std::string> cancelled_;
    std::string status_;
    std::string output_;
};

// ---------------------------------------------------------------- its threads

// What the clients know, gathered from all threads.
struct Ledger : Complaints {
    std::atomic<int64_t> turns = 0;       // turns whose ack succeeded
    std::atomic<int64_t> activities = 0;  // activities likewise
    std::atomic<int64_t> lost_leases = 0;
    std::atomic<int64_t> unknown = 0;  // acks whose connection was lost
    std::atomic<int64_t> drops = 0;
    std::atomic<int64_t> losses = 0;

    void complete(const std::string& instance) {
        const std::lock_guard lock(mutex);
        ++completed[instance];
    }
    std::map<std::string, int> completed;  // acks that completed it, as far as clients know
};

class Dispatcher {
 public:
    Dispatcher(Cluster* cluster, Ledger* ledger, uint64_t seed, const std::atomic<bool>* stop)
        : client_(cluster, "SET application_name = 'runtime'", stop),
          ledger_(*ledger),
          random_(seed),
          stop_(*stop) {}

    void run_turns() {
        loop([this] { return turn(); });
    }
    void run_activities() {
        loop([this] { return activity(); });
    }

 private:
    template <typename Step>
    void loop(Step step) {
        while (!stop_) {
            if (!step()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(1, 10)));
            }
        }
        ledger_.losses += client_.losses();
    }

    // Runs statements that may fail only because the connection or a lease was lost.
    Answer ask(const std::string& sql) {
        Answer answer = client_.ask(sql);
        if (!answer.ok() && !answer.lost) {
            if (answer.sqlstate == "QB001") {
                ++ledger_.lost_leases;
            } else {
                ledger_.complain(answer.sqlstate + " " + answer.message + " in " + sql);
            }
        }
        return answer;
    }

    // Leases are short: whoever dies leaves his work to the others.
    std::string lease() { return to_string(random_.number(200, 900)); }

    bool turn() {
        const Answer answer = ask(
            "WITH f AS MATERIALIZED (SELECT * FROM app.fetch_orchestration_item(NULL, " + lease() +
            ")) SELECT out_instance_id, out_execution_id, out_lock_token, (SELECT "
            "string_agg(concat_ws('|', e ->> 'event_id', e ->> 'type', e ->> 'source_event_id', "
            "e ->> 'value'), ';' ORDER BY at) FROM json_array_elements(out_history) WITH "
            "ORDINALITY AS h(e, at)), (SELECT string_agg(concat_ws('|', key, "
            "coalesce(value ->> 'execution_id', value ->> 'parent_execution_id', '0'), "
            "coalesce(value ->> 'id', value ->> 'parent_id', '0'), coalesce(value ->> 'result', "
            "value ->> 'input', '')), ';' ORDER BY at) FROM json_array_elements(out_messages) WITH "
            "ORDINALITY AS m(item, at), json_each(item)) FROM f");
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        const auto& row = answer.rows[0];
        const std::string instance = row.at(0).value_or("");
        const std::string token = row.at(2).value_or("");
        std::vector<Event> history;
        for (const auto& text : split(row.at(3).value_or(""), ';')) {
            const auto parts = split(text + "|", '|');
            history.push_back({std::stoll(parts.at(0)), parts.at(1), number_of(parts.at(2)),
                               parts.size() > 3 ? parts[3] : ""});
            if (history.back().id != static_cast<int64_t>(history.size())) {
                ledger_.complain("history of " + instance + " has a gap: " + text);
            }
        }
        std::vector<Message> messages;
        for (const auto& text : split(row.at(4).value_or(""), ';')) {
            const auto parts = split(text + "|", '|');
            messages.push_back({parts.at(0), std::stoll(parts.at(1)), std::stoll(parts.at(2)),
                                parts.size() > 3 ? parts[3] : ""});
        }
        Turn turn(instance, number_of(row.at(1).value_or("")), history);
        turn.run(messages);

        std::string sql = turn.ack_sql(token);
        if (turn.completes()) {
            sql += "; INSERT INTO done VALUES ('" + instance + "')";
        }
        if (!survives(token, sql, "orchestration_item", "orchestration_item_lock")) {
            return true;
        }
        const Answer acked = ask(sql);
        ledger_.unknown += acked.lost ? 1 : 0;
        if (acked.ok()) {
            ++ledger_.turns;
            if (turn.completes()) {
                ledger_.complete(instance);
            }
            expect_dead(token, turn.ack_sql(token));
        }
        return true;
    }

    bool activity() {
        const Answer answer =
            ask("WITH f AS MATERIALIZED (SELECT out_lock_token, out_work_item::json -> "
                "'ActivityExecute' AS a FROM app.fetch_work_item(NULL, " +
                lease() +
                ")) SELECT out_lock_token, a ->> 'instance', a ->> 'execution_id', a ->> 'id', "
                "a ->> 'input' FROM f");
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        const auto& row = answer.rows[0];
        const std::string token = row.at(0).value_or("");
        const auto input = split(row.at(4).value_or(""), ',');
        const int64_t result = activity_result(std::stoll(input.at(0)), std::stoll(input.at(1)),
                                               std::stoll(input.at(2)));
        const std::string completion =
            "{\"ActivityCompleted\":{\"instance\":" + json_text(row.at(1).value_or("")) +
            ",\"execution_id\":" + row.at(2).value_or("") + ",\"id\":" + row.at(3).value_or("") +
            ",\"result\":\"" + to_string(result) + "\"}}";
        const std::string sql =
            "SELECT app.ack_worker('" + token + "', NULL, '" + completion + "')";
        if (!survives(token, sql, "work_item", "work_item_lock")) {
            return true;
        }
        const Answer acked = ask(sql);
        ledger_.unknown += acked.lost ? 1 : 0;
        if (acked.ok()) {
            ++ledger_.activities;
            expect_dead(token, sql);
        }
        return true;
    }

    // What may happen between fetch and ack. False if the ack is not to be sent.
    bool survives(const std::string& token, const std::string& ack_sql, const std::string& what,
                  const std::string& lock) {
        const std::string quoted_token = "'" + token + "'";
        if (random_.in_thousand(5)) {  // the process dies
            ++ledger_.drops;
            client_.drop();
            return false;
        }
        if (random_.in_thousand(5)) {  // it dies in the transaction of the ack
            ++ledger_.drops;
            (void)ask("BEGIN; " + ack_sql);
            client_.drop();
            return false;
        }
        if (random_.in_thousand(5)) {  // the application changes its mind
            (void)ask("BEGIN; " + ack_sql);
            (void)ask("ROLLBACK");
        }
        if (random_.in_thousand(20)) {
            static constexpr const char* kHow[] = {"", ", 5", ", 30, true", ", NULL, true"};
            (void)ask("SELECT app.abandon_" + what + "(" + quoted_token + ", NULL" +
                      kHow[random_.number(0, 3)] + ")");
            return false;
        }
        if (random_.in_thousand(20)) {
            return ask("SELECT app.renew_" + lock + "(" + quoted_token + ", NULL, 500)").ok();
        }
        if (random_.in_thousand(3)) {  // it sleeps through its lease; whether it lost it, it learns
            std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(100, 1000)));
        }
        return true;
    }

    // A token opens once.
    void expect_dead(const std::string& token, const std::string& ack_sql) {
        if (random_.in_thousand(10)) {
            const Answer again = client_.ask(ack_sql);
            if (again.ok()) {
                ledger_.complain("acked twice with token " + token);
            } else if (!again.lost && again.sqlstate != "QB001") {
                ledger_.complain(again.sqlstate + " " + again.message + " in " + ack_sql);
            }
        }
    }

    Client client_;
    Ledger& ledger_;
    Random random_;
    const std::atomic<bool>& stop_;
};

// ---------------------------------------------------------------- the test

class Orchestrations : public testing::Test {
 protected:
    Orchestrations()
        : cluster_({.preload = true, .conf = {"max_connections = 120", kLogPrefix}}),
          random_(run_seed()) {
        Conn conn = cluster_.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("CREATE TABLE done (instance_id text NOT NULL)");
    }

    // Starts the roots, some with a message ahead of their start: it waits aside and comes along.
    void start_roots(int64_t first, int64_t end) {
        const std::atomic<bool> never = false;
        Client client(&cluster_, "SELECT 1", &never);
        for (; first < end; first += 100) {
            const std::string series = "generate_series(" + to_string(first) + ", " +
                                       to_string(std::min(end, first + 100) - 1) + ") AS n";
            for (const std::string& sql :
                 {"SELECT count(app.raise_event('i' || n, 'early')) FROM " + series +
                      " WHERE n % 10 = 0",
                  "SELECT count(app.start_orchestration('Tree', n || ',0,0,0,0,0,-', 'i' || n, "
                  "'1')) FROM " +
                      series}) {
                const Answer answer = client.ask(sql);
                if (!answer.ok()) {
                    ledger_.complain(answer.message + " in " + sql);
                }
            }
        }
    }

    // Kills connections of the runtime, and sends events that nobody waits for.
    void disturb(Client* client, int64_t roots) {
        if (random_.in_thousand(500)) {
            (void)client->ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                "'runtime' ORDER BY random() LIMIT 1");
        }
        (void)client->ask("SELECT app.raise_event('i' || " +
                          to_string(random_.number(0, roots - 1)) + ", 'poke', '', " +
                          (random_.in_thousand(500) ? "true" : "false") + ")");
        std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(20, 120)));
    }

    // True while something happens. A run that stands still for long is stuck.
    bool is_moving(const std::string& progress) {
        if (progress != last_progress_) {
            last_progress_ = progress;
            still_ = Stopwatch();
        }
        return still_.seconds() < 60;
    }

    void run_all(int64_t roots, int dispatchers, int workers) {
        Outcome total{0, 0, 0};
        for (int64_t n = 0; n < roots; ++n) {
            const Outcome one = expected_outcome(n, 0);
            total = {0, total.instances + one.instances, total.executions + one.executions};
        }
        start_roots(0, roots / 2);

        const Stopwatch watch;
        std::atomic<bool> stop = false;
        std::vector<std::thread> threads;
        for (int i = 0; i < dispatchers + workers; ++i) {
            threads.emplace_back([&, i, seed = run_seed() + 1 + static_cast<uint64_t>(i)] {
                Dispatcher dispatcher(&cluster_, &ledger_, seed, &stop);
                if (i < dispatchers) {
                    dispatcher.run_turns();
                } else {
                    dispatcher.run_activities();
                }
            });
        }
        // The other half comes while the first is at work.
        std::thread starting([&] { start_roots(roots / 2, roots); });

        const std::atomic<bool> never = false;
        Client client(&cluster_, "SELECT 1", &never);
        bool all_done = false;
        while (!all_done && !ledger_.has_complaints()) {
            const Answer left = client.ask(
                "SELECT count(*), (SELECT count(*) FROM app.messages), (SELECT count(*) FROM "
                "app.work_items), (SELECT last_value FROM app.instance_locks_no) FROM done");
            if (!left.ok()) {
                continue;
            }
            const auto& row = left.rows[0];
            all_done = row[0] == to_string(total.instances) && row[1] == "0" && row[2] == "0";
            if (!all_done && row[0] != to_string(total.instances)) {
                disturb(&client, roots);
            }
            std::string progress;
            for (int i = 0; i < 3; ++i) {
                progress += *row[static_cast<std::size_t>(i)] + " ";
            }
            if (!is_moving(progress)) {
                ledger_.complain(
                    "stuck: completed, messages, activities, locks granted: " + progress + *row[3]);
            }
        }
        stop = true;
        starting.join();
        for (auto& thread : threads) {
            thread.join();
        }
        const double seconds = watch.seconds();
        check(roots, total);
        std::cout << "  " << roots << " roots, " << total.instances << " instances, "
                  << total.executions << " executions; " << ledger_.turns << " turns, "
                  << ledger_.activities << " activities, "
                  << static_cast<int64_t>(static_cast<double>(ledger_.turns) / seconds)
                  << " turns/s; leases lost " << ledger_.lost_leases << ", connections killed "
                  << ledger_.losses << ", dropped " << ledger_.drops << ", acks of unknown outcome "
                  << ledger_.unknown << "\n";
    }

    void check(int64_t roots, const Outcome& total) {
        for (const auto& complaint : ledger_.complaints) {
            ADD_FAILURE() << complaint;
        }
        Conn conn = cluster_.connect();
        const auto expect_none = [&conn](const char* what, const std::string& sql) {
            const Rows rows = conn.exec(sql + " LIMIT 5");
            for (int i = 0; i < rows.size(); ++i) {
                ADD_FAILURE() << what << ": " << rows.at(i, 0).value_or("NULL");
            }
        };
        expect_none("left message", "SELECT instance_id || ' ' || work_item FROM app.messages");
        expect_none("left activity", "SELECT work_item FROM app.work_items");
        expect_none("dead letter", "SELECT work_item FROM app.dead_letters");
        expect_none("not completed",
                    "SELECT instance_id FROM app.instances JOIN app.executions USING (instance_id) "
                    "WHERE execution_id = current_execution_id AND status <> 'Completed'");
        expect_none("not continued",
                    "SELECT instance_id FROM app.instances JOIN app.executions USING (instance_id) "
                    "WHERE execution_id < current_execution_id AND status <> 'ContinuedAsNew'");
        expect_none("history with gaps",
                    "SELECT instance_id FROM app.history GROUP BY instance_id, execution_id "
                    "HAVING min(event_id) <> 1 OR max(event_id) <> count(*)");
        expect_none("not one terminal event",
                    "SELECT instance_id FROM app.history GROUP BY instance_id HAVING count(*) "
                    "FILTER (WHERE event_type = 'OrchestrationCompleted') <> 1");
        expect_none("not one end of an execution",
                    "SELECT instance_id FROM app.history GROUP BY instance_id, execution_id HAVING "
                    "count(*) FILTER (WHERE event_type IN ('OrchestrationCompleted', "
                    "'OrchestrationContinuedAsNew')) <> 1");
        expect_none("answered twice",
                    "SELECT instance_id FROM app.history WHERE event_data::json ->> "
                    "'source_event_id' <> '0' GROUP BY instance_id, execution_id, "
                    "event_data::json ->> 'source_event_id' HAVING count(*) <> 1");
        expect_none("wrong parent",
                    "SELECT instance_id FROM app.instances WHERE parent_instance_id IS DISTINCT "
                    "FROM substring(instance_id from '^(.*)::')");
        expect_none("completed twice",
                    "SELECT instance_id FROM done GROUP BY 1 HAVING count(*) <> 1");
        expect_none("live lock",
                    "SELECT instance_id FROM app.instance_lock_states WHERE locked_until > "
                    "extract(epoch FROM clock_timestamp()) * 1000 + 2000");
        EXPECT_EQ(conn.value("SELECT count(*) FROM done"), to_string(total.instances));
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.instances"), to_string(total.instances));
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.executions"), to_string(total.executions));
        for (const auto& [instance, acks] : ledger_.completed) {
            EXPECT_EQ(acks, 1) << instance;
        }

        const Rows outputs = conn.exec(
            "SELECT substring(instance_id from 2), output FROM app.executions WHERE instance_id "
            "NOT LIKE '%::%' AND status = 'Completed'");
        EXPECT_EQ(outputs.size(), roots);
        for (int i = 0; i < outputs.size(); ++i) {
            const int64_t n = std::stoll(outputs.at(i, 0).value_or(""));
            EXPECT_EQ(outputs.at(i, 1).value_or(""), to_string(expected_outcome(n, 0).output))
                << "instance i" << n;
        }
        for (const auto& line : unexpected_errors(cluster_.log(), {"QB001", "57P01", "08006"})) {
            ADD_FAILURE() << line;
        }
    }

    Cluster cluster_;
    Random random_;
    Ledger ledger_;
    std::string last_progress_;
    Stopwatch still_;
};

// A root has 2.6 descendants on average: 500 instances over 8 connections, or 10,000 over 32.
TEST_F(Orchestrations, EveryInstanceCompletesOnce) {
    if (is_long()) {
        run_all(2800, 18, 14);
    } else {
        run_all(140, 5, 3);
    }
}

}  // namespace
}  // namespace belay::test::stress
