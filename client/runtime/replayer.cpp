// Replays of recorded histories: reading a recording, running the code against it, and the report
// of differences.
//
// May touch: the file that it is given. Must not: reach a hub, or store what a replay decides.
#include "replayer.hpp"

#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "belay/testing.hpp"
#include "turn.hpp"

namespace belay {
namespace engine {
namespace {

using nlohmann::json;

// A row of fetch_history holds its event as text or as an object.
std::string event_of(const json& element) {
    if (element.is_string()) {
        return element.get<std::string>();
    }
    if (element.is_object() && element.contains("event_data")) {
        return event_of(element.at("event_data"));
    }
    return element.dump();
}

std::int64_t execution_of(const json& element, const std::string& text) {
    if (element.is_object() && element.contains("execution_id")) {
        return element.at("execution_id").get<std::int64_t>();
    }
    const json event = json::parse(text, nullptr, false);
    return event.is_object() ? event.value("execution_id", std::int64_t{1}) : 1;
}

std::string instance_of(const std::string& text) {
    const json event = json::parse(text, nullptr, false);
    return event.is_object() ? event.value("instance_id", "") : "";
}

const detail::Registered& code_of(const Registry& registry, const Event& start) {
    const detail::Registered* const code = registry.find(start.name, start.version);
    if (code == nullptr) {
        throw Corrupt("orchestration \"" + start.name + "\" version " + start.version.value_or("") +
                      " is not registered");
    }
    return *code;
}

ExecutionFacts facts_of(const RecordedExecution& recorded, bool strict) {
    ExecutionFacts facts;
    facts.instance_id = recorded.instance_id;
    facts.execution_id = recorded.execution_id;
    if (strict) {
        facts.strict_from = 0;
    }
    return facts;
}

}  // namespace

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

std::vector<RecordedExecution> parse_recorded(std::string_view text) {
    const json document = json::parse(text, nullptr, false);
    if (document.is_discarded()) {
        throw Corrupt("not JSON");
    }
    const json& history =
        document.is_object() && document.contains("history") ? document.at("history") : document;
    if (!history.is_array()) {
        throw Corrupt("neither an array of events nor an object with a history");
    }
    std::map<std::int64_t, RecordedExecution> executions;
    for (const json& element : history) {
        std::string event = event_of(element);
        const std::int64_t id = execution_of(element, event);
        RecordedExecution& execution = executions[id];
        execution.execution_id = id;
        if (execution.events.empty()) {
            execution.instance_id = instance_of(event);
        }
        execution.events.push_back(std::move(event));
    }
    if (executions.empty()) {
        throw Corrupt("the history is empty");
    }
    std::vector<RecordedExecution> in_order;
    for (auto& [id, execution] : executions) {
        in_order.push_back(std::move(execution));
    }
    chain_values(in_order, {});
    RecordedExecution& last = in_order.back();
    if (document.is_object()) {
        for (const json& message : document.value("messages", json::array())) {
            last.messages.push_back(message.is_string() ? message.get<std::string>()
                                                        : message.dump());
        }
        if (document.contains("kv_snapshot")) {
            last.values = parse_values(document.at("kv_snapshot").dump());
        }
    }
    return in_order;
}

namespace {

bool changes_value(const Event& event) {
    return (event.kind == EventKind::kKeyValueSet || event.kind == EventKind::kKeyValueCleared) &&
           !std::string_view(event.name).starts_with(kReservedPrefix);
}

void apply_change(const Event& event, Values& values) {
    if (event.kind == EventKind::kKeyValuesCleared) {
        values.clear();
    } else if (changes_value(event) && event.kind == EventKind::kKeyValueSet) {
        values.insert_or_assign(event.name, event.text.value_or(""));
    } else if (changes_value(event)) {
        values.erase(event.name);
    }
}

}  // namespace

void chain_values(std::vector<RecordedExecution>& executions, Values now) {
    std::vector<std::vector<Event>> changes;
    for (const RecordedExecution& execution : executions) {
        changes.emplace_back();
        for (const std::string& text : execution.events) {
            // Most events are no changes of values: they need not be parsed twice.
            if (text.find("KeyValue") != std::string::npos) {
                changes.back().push_back(parse_event(text));
            }
        }
        for (const Event& event : changes.back()) {
            if (changes_value(event)) {
                now.erase(event.name);
            }
        }
    }
    if (!executions.empty() && executions.front().execution_id == 1) {
        now.clear();
    }
    for (std::size_t i = 0; i < executions.size(); ++i) {
        executions[i].values = now;
        for (const Event& event : changes[i]) {
            apply_change(event, now);
        }
    }
}

std::string recorded_text(const RecordedExecution& recorded) {
    std::string text = "{\"history\":[";
    for (const std::string& event : recorded.events) {
        text += text.back() == '[' ? "\n  " : ",\n  ";
        text += event;
    }
    text += "\n]";
    if (!recorded.values.empty()) {
        json values = json::object();
        for (const auto& [key, value] : recorded.values) {
            values[key] = {{"value", value}};
        }
        text += ",\"kv_snapshot\":" + values.dump();
    }
    text += "}\n";
    return text;
}

namespace {

bool comes_from_message(EventKind kind) {
    return !is_decision(kind) && !is_breadcrumb(kind) && !is_terminal(kind);
}

// Whether a turn is known to end before the event at this index: messages come first in a turn.
bool ends_turn(const std::vector<Event>& history, std::size_t index) {
    return index == history.size() || (comes_from_message(history[index].kind) &&
                                       !comes_from_message(history[index - 1].kind));
}

}  // namespace

void torture(const RecordedExecution& recorded, const Registry& registry) {
    const std::vector<Event> history = parse_history(views(recorded.events));
    if (history.empty()) {
        return;
    }
    const detail::Registered& code = code_of(registry, history.front());
    for (std::size_t length = 1; length <= history.size(); ++length) {
        const std::vector<Event> prefix(history.begin(),
                                        history.begin() + static_cast<std::ptrdiff_t>(length));
        Execution execution(facts_of(recorded, false), code, recorded.values);
        try {
            execution.replay(prefix);
            execution.boundary();
        } catch (const Nondeterminism&) {
            // A prefix that ends within a turn lacks what the code asked for in that turn.
            if (ends_turn(history, length)) {
                throw;
            }
        }
    }
}

namespace {

// Replays it and calls look with the execution.
template <class F>
void with_replayed(const RecordedExecution& recorded, const Registry& registry, F look) {
    const std::vector<Event> history = parse_history(views(recorded.events));
    if (history.empty()) {
        throw Corrupt("the history is empty");
    }
    Execution execution(facts_of(recorded, false), code_of(registry, history.front()),
                        recorded.values);
    execution.replay(history);
    execution.boundary();
    look(execution);
}

}  // namespace

std::string waiting_for(const RecordedExecution& recorded, const Registry& registry) {
    std::string what;
    with_replayed(recorded, registry,
                  [&](const Execution& execution) { what = execution.waiting_for(); });
    return what;
}

void inspect(const RecordedExecution& recorded, const Registry& registry,
             const std::function<void(Context)>& look) {
    with_replayed(recorded, registry, [&](Execution& execution) {
        const detail::InstanceScope scope(&execution);
        look(detail::ContextMaker::make(execution));
    });
}

namespace {

// What a replay of one execution finds.
void replay_one(const RecordedExecution& recorded, const Registry& registry, bool strict,
                testing::ReplayReport& report) {
    const std::vector<Event> history = parse_history(views(recorded.events));
    report.events += history.size();
    Execution execution(facts_of(recorded, strict), code_of(registry, history.front()),
                        recorded.values);
    execution.replay(history);
    execution.boundary();
    report.ended = execution.ended();
    report.open = execution.open_calls();
    report.waiting_for = execution.waiting_for();
    if (recorded.messages.empty()) {
        return;
    }
    TurnRequest request;
    request.instance_id = recorded.instance_id;
    request.execution_id = recorded.execution_id;
    request.history = views(recorded.events);
    request.messages = views(recorded.messages);
    request.values = recorded.values;
    const TurnResult result = run_turn(request, registry, {});
    if (result.kind != TurnResult::Kind::kAck) {
        throw Nondeterminism(result.text, result.event_id);
    }
    report.ended = result.ended;
}

}  // namespace
}  // namespace engine

namespace testing {
namespace {

template <class F>
ReplayReport reported(F replay) {
    ReplayReport report;
    try {
        replay(report);
        report.ok = true;
    } catch (const Nondeterminism& difference) {
        report.text = difference.what();
        report.event_id = difference.event_id();
    } catch (const std::exception& error) {
        report.text = error.what();
    }
    return report;
}

}  // namespace

ReplayReport Replayer::replay(std::string_view json) const {
    return reported([&](ReplayReport& report) {
        for (const auto& recorded : engine::parse_recorded(json)) {
            engine::replay_one(recorded, registry_, strict_, report);
        }
    });
}

ReplayReport Replayer::replay_file(const std::string& path) const {
    std::ifstream file(path);
    if (!file) {
        ReplayReport report;
        report.text = "cannot read " + path;
        return report;
    }
    std::ostringstream text;
    text << file.rdbuf();
    return replay(text.str());
}

ReplayReport Replayer::torture(std::string_view json) const {
    return reported([&](ReplayReport& report) {
        for (const auto& recorded : engine::parse_recorded(json)) {
            engine::torture(recorded, registry_);
            report.events += recorded.events.size();
        }
    });
}

}  // namespace testing
}  // namespace belay
