#include "replayer.hpp"

#include <fstream>
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
    RecordedExecution& last = executions.rbegin()->second;
    if (document.is_object()) {
        for (const json& message : document.value("messages", json::array())) {
            last.messages.push_back(message.is_string() ? message.get<std::string>()
                                                        : message.dump());
        }
        if (document.contains("kv_snapshot")) {
            last.values = parse_values(document.at("kv_snapshot").dump());
        }
    }
    std::vector<RecordedExecution> in_order;
    for (auto& [id, execution] : executions) {
        in_order.push_back(std::move(execution));
    }
    return in_order;
}

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
        execution.replay(prefix);
    }
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
    if (!execution.ended()) {
        execution.boundary();
    } else if (!is_terminal(history.back().kind) && !is_breadcrumb(history.back().kind)) {
        // It ends where the stored part does not.
        execution.boundary();
    }
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
        throw Nondeterminism(result.text);
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
