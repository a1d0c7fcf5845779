// Runs turns of one instance by hand: messages in, events and items out.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "belay/durable.hpp"
#include "turn.hpp"

namespace driver {

using nlohmann::json;

inline std::string start(const std::string& name, const std::string& input = "",
                         const json& version = nullptr) {
    return json{{"StartOrchestration",
                 {{"instance", "ord-7"},
                  {"orchestration", name},
                  {"input", input},
                  {"version", version},
                  {"parent_instance", nullptr},
                  {"parent_id", nullptr},
                  {"execution_id", 1}}}}
        .dump();
}

inline std::string outcome(const std::string& kind, int id, const json& fields, int execution = 1) {
    json item = {{"instance", "ord-7"}, {"execution_id", execution}, {"id", id}};
    item.update(fields);
    return json{{kind, item}}.dump();
}

inline std::string completed(int id, const std::string& result, int execution = 1) {
    return outcome("ActivityCompleted", id, {{"result", result}}, execution);
}

inline std::string failed(int id, const std::string& message, bool retryable = true) {
    return outcome(
        "ActivityFailed", id,
        {{"details",
          {{"Application",
            {{"kind", "ActivityFailed"}, {"message", message}, {"retryable", retryable}}}}}});
}

inline std::string fired(int id, int execution = 1) {
    return outcome("TimerFired", id, {{"fire_at_ms", 1}}, execution);
}

inline std::string child_completed(int id, const std::string& result) {
    return json{{"SubOrchCompleted",
                 {{"parent_instance", "ord-7"},
                  {"parent_execution_id", 1},
                  {"parent_id", id},
                  {"result", result}}}}
        .dump();
}

inline std::string child_failed(int id, const json& details) {
    return json{{"SubOrchFailed",
                 {{"parent_instance", "ord-7"},
                  {"parent_execution_id", 1},
                  {"parent_id", id},
                  {"details", details}}}}
        .dump();
}

inline std::string raised(const std::string& name, const std::string& data) {
    return json{{"ExternalRaised", {{"instance", "ord-7"}, {"name", name}, {"data", data}}}}.dump();
}

inline std::string queued(const std::string& name, const std::string& data) {
    return json{{"QueueMessage", {{"instance", "ord-7"}, {"name", name}, {"data", data}}}}.dump();
}

inline std::string cancel(const std::string& reason) {
    return json{{"CancelInstance", {{"instance", "ord-7"}, {"reason", reason}}}}.dump();
}

// An instance, by default "ord-7". Turns replay from the stored history; with `cached` they
// continue in memory.
class Driver {
 public:
    belay::Registry registry;
    belay::engine::TurnOptions options;
    bool cached = false;
    std::string instance = "ord-7";
    std::int64_t now_ms = 1000;
    std::int64_t execution = 1;
    belay::engine::Values values;
    std::vector<std::string> history;
    belay::engine::TurnResult last;
    belay::engine::Resumptions* resumptions = nullptr;

    Driver() { options.verify = true; }

    // The types of the new events, a comma between.
    std::string turn(std::vector<std::string> messages, int attempt = 1) {
        belay::engine::TurnRequest request;
        request.instance_id = instance;
        request.execution_id = execution;
        request.attempt = attempt;
        request.now_ms = now_ms;
        request.history = {history.begin(), history.end()};
        request.messages = {messages.begin(), messages.end()};
        request.values = values;
        request.resumptions = resumptions;
        last = belay::engine::run_turn(request, registry, options, std::move(live_));
        if (last.kind != belay::engine::TurnResult::Kind::kAck) {
            return "given back";
        }
        if (last.decision.execution_id != execution) {
            execution = last.decision.execution_id;
            history.clear();
        }
        std::string types;
        for (const auto& event : last.decision.events) {
            history.push_back(event.text);
            types += (types.empty() ? "" : ",") + std::string(belay::engine::name_of(event.kind));
        }
        if (cached) {
            live_ = std::move(last.execution);
        }
        return types;
    }

    void crash() { live_.reset(); }
    // Of the execution in memory.
    std::size_t bytes() const { return live_->bytes(); }

    // Event by its place in the delta, or by its id in the history.
    json event(std::size_t index) const { return json::parse(last.decision.events.at(index).text); }
    json stored(std::size_t id) const { return json::parse(history.at(id - 1)); }
    json metadata() const { return json::parse(last.decision.metadata); }
    json item(std::size_t index) const {
        return json::parse(last.decision.orchestrator_items.at(index));
    }
    json work(std::size_t index) const { return json::parse(last.decision.worker_items.at(index)); }

    // Changes a stored event.
    void edit(std::size_t id, const json& change) {
        json event = stored(id);
        event.update(change);
        history.at(id - 1) = event.dump();
    }

 private:
    std::unique_ptr<belay::engine::Execution> live_;
};

}  // namespace driver
