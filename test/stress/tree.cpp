#include "tree.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace belay::test::stress::tree {

using std::to_string;

namespace {

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

int64_t result_of(int64_t n, int64_t round, int64_t activity) {
    return (n * 31 + round * 7 + activity) % 1000;
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

    Decision decision() const {
        Decision made{.completes = status_ == "Completed",
                      .is_root = input_.depth == 0,
                      .execution = execution_,
                      .delta = delta_,
                      .activities = activities_,
                      .messages = messages_,
                      .cancelled = cancelled_};
        if (!events_.empty()) {
            made.metadata = "{\"orchestration_name\":\"Tree\",\"orchestration_version\":\"1\"";
            if (input_.parent != "-") {
                made.metadata += ",\"parent_instance_id\":" + json_text(input_.parent);
            }
            if (!status_.empty()) {
                made.metadata +=
                    ",\"status\":" + json_text(status_) + ",\"output\":" + json_text(output_);
            }
            made.metadata += "}";
        }
        return made;
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

    // The program: continues as far as the history allows.
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

}  // namespace

Outcome expected_outcome(int64_t n, int64_t depth) {
    Outcome outcome{0, 1, 0};
    for (int64_t round = 0; round < rounds_of(n, depth); ++round) {
        const Round plan = round_of(n, depth, round);
        ++outcome.executions;
        for (int64_t activity = 0; activity < plan.activities; ++activity) {
            outcome.output += result_of(n, round, activity);
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

std::string root_input(int64_t n) {
    Input input;
    input.n = n;
    return input.text();
}

int64_t activity_result(const std::string& input) {
    const auto parts = split(input, ',');
    return result_of(std::stoll(parts.at(0)), std::stoll(parts.at(1)), std::stoll(parts.at(2)));
}

bool Fetched::has_gap() const {
    for (std::size_t i = 0; i < history.size(); ++i) {
        if (history[i].id != static_cast<int64_t>(i) + 1) {
            return true;
        }
    }
    return false;
}

std::string fetch_turn_sql(const std::string& hub, const std::string& lease_ms) {
    return "WITH f AS MATERIALIZED (SELECT * FROM " + hub + ".fetch_orchestration_item(" +
           lease_ms +
           ")) SELECT instance_id, execution_id, lock_token, (SELECT "
           "string_agg(concat_ws('|', e ->> 'event_id', e ->> 'type', e ->> 'source_event_id', "
           "e ->> 'value'), ';' ORDER BY at) FROM json_array_elements(history) WITH "
           "ORDINALITY AS h(e, at)), (SELECT string_agg(concat_ws('|', key, "
           "coalesce(value ->> 'execution_id', value ->> 'parent_execution_id', '0'), "
           "coalesce(value ->> 'id', value ->> 'parent_id', '0'), coalesce(value ->> 'result', "
           "value ->> 'input', value ->> 'data', '')), ';' ORDER BY at) FROM "
           "json_array_elements(messages) WITH ORDINALITY AS m(item, at), json_each(item)) "
           "FROM f";
}

Fetched read_turn(const std::vector<Text>& row) {
    Fetched fetched{.instance = row.at(0).value_or(""),
                    .execution = number_of(row.at(1).value_or("")),
                    .token = row.at(2).value_or(""),
                    .history = {},
                    .messages = {}};
    for (const auto& text : split(row.at(3).value_or(""), ';')) {
        const auto parts = split(text + "|", '|');
        fetched.history.push_back({std::stoll(parts.at(0)), parts.at(1), number_of(parts.at(2)),
                                   parts.size() > 3 ? parts[3] : ""});
    }
    for (const auto& text : split(row.at(4).value_or(""), ';')) {
        const auto parts = split(text + "|", '|');
        fetched.messages.push_back({parts.at(0), std::stoll(parts.at(1)), std::stoll(parts.at(2)),
                                    parts.size() > 3 ? parts[3] : ""});
    }
    return fetched;
}

std::string Decision::ack_sql(const std::string& hub, const std::string& token) const {
    return "SELECT " + hub + ".ack_orchestration_item('" + token + "', " + to_string(execution) +
           ", '" + array_of(delta) + "', '" + array_of(activities) + "', '" + array_of(messages) +
           "', '" + metadata + "', '" + array_of(cancelled) + "')";
}

Decision decide(const Fetched& fetched) {
    Turn turn(fetched.instance, fetched.execution, fetched.history);
    turn.run(fetched.messages);
    return turn.decision();
}

std::string fetch_activity_sql(const std::string& hub, const std::string& lease_ms) {
    return "WITH f AS MATERIALIZED (SELECT lock_token, work_item::json -> "
           "'ActivityExecute' AS a FROM " +
           hub + ".fetch_work_item(" + lease_ms +
           ")) SELECT lock_token, a ->> 'instance', a ->> 'execution_id', a ->> 'id', "
           "a ->> 'input' FROM f";
}

std::string ack_activity_sql(const std::string& hub, const std::vector<Text>& row) {
    const std::string completion =
        "{\"ActivityCompleted\":{\"instance\":" + json_text(row.at(1).value_or("")) +
        ",\"execution_id\":" + row.at(2).value_or("") + ",\"id\":" + row.at(3).value_or("") +
        ",\"result\":\"" + to_string(activity_result(row.at(4).value_or(""))) + "\"}}";
    return "SELECT " + hub + ".ack_worker('" + row.at(0).value_or("") + "', NULL, '" + completion +
           "')";
}

}  // namespace belay::test::stress::tree
