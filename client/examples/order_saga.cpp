// A saga: charge the card, then ship; if shipping takes too long or the customer changes his mind,
// stop shipping and refund. Dispatcher and worker run in this one program; they need not.
//
//     order_saga [HUB]
//
// Three orders: one goes well, one is not shipped in time, one is cancelled by the customer.
//
// How it works. Each turn gets the history, which is all that was decided and has happened, and the
// messages that came since. The state is computed from both, never kept in memory; so a turn can
// run in any process, and again after a crash.
#include <belay/dispatcher.hpp>
#include <belay/worker.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

namespace {

using nlohmann::json;

constexpr std::int64_t kShippingDeadlineMs = 700;

void say(const std::string& line) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::cout << line << std::endl;
}

// What the history says.
struct Order {
    std::int64_t last_event = 0;
    std::map<std::string, std::int64_t> scheduled;  // activity -> its event
    std::map<std::string, std::string> results;     // activity -> what it returned
    std::string trouble;                            // why the order is to be undone

    bool ended = false;

    bool is_done(const std::string& activity) const { return results.contains(activity); }
    bool is_running(const std::string& activity) const {
        return scheduled.contains(activity) && !is_done(activity);
    }

    void apply(const json& event) {
        last_event = event.at("event_id");
        const std::string type = event.at("type");
        ended = ended || type == "OrchestrationCompleted" || type == "OrchestrationFailed";
        if (type == "ActivityScheduled") {
            scheduled[event.at("name")] = last_event;
        } else if (type == "ActivityCompleted") {
            for (const auto& [name, id] : scheduled) {
                if (id == event.at("source_event_id")) {
                    results[name] = event.at("result");
                }
            }
        } else if (!trouble.empty() || is_done("Ship")) {
            return;  // too late to change anything
        } else if (type == "TimerFired") {
            trouble = "not shipped in time";
        } else if (type == "OrchestrationCancelRequested") {
            trouble = "cancelled: " + event.at("reason").get<std::string>();
        }
    }
};

// One turn: what is new becomes events, and what is next is decided.
class Turn {
 public:
    explicit Turn(const belay::TurnContext& turn) : turn_(turn), decision_(turn.decision()) {
        for (const auto& event : turn.history()) {
            order_.apply(json::parse(event.text));
        }
    }

    belay::Decision decide() {
        if (order_.ended) {
            return decision_;  // the timer, or a cancel that came too late: nothing is decided
        }
        if (turn_.history().empty()) {
            record("OrchestrationStarted", {{"name", turn_.name()}, {"version", "1.0.0"}});
            metadata_["orchestration_name"] = turn_.name();
            metadata_["orchestration_version"] = "1.0.0";
        }
        for (const auto& message : turn_.messages()) {
            read(json::parse(message.text));
        }
        if (order_.trouble.empty()) {
            go_on();
        } else {
            undo();
        }
        decision_.metadata = metadata_.dump();
        return decision_;
    }

 private:
    void read(const json& message) {
        const std::string kind = message.begin().key();
        const json& fields = *message.begin();
        if (kind == "ActivityCompleted") {
            record(kind, {{"source_event_id", fields.at("id")}, {"result", fields.at("result")}});
        } else if (kind == "TimerFired") {
            record(kind, {{"source_event_id", fields.at("id")}});
        } else if (kind == "CancelInstance") {
            record("OrchestrationCancelRequested", {{"reason", fields.at("reason")}});
        }
    }

    void go_on() {
        if (!order_.scheduled.contains("Charge")) {
            schedule("Charge");
        } else if (order_.is_done("Charge") && !order_.scheduled.contains("Ship")) {
            schedule("Ship");
            start_timer(kShippingDeadlineMs);
        } else if (order_.is_done("Ship")) {
            end("Completed", order_.results["Ship"]);
        }
    }

    void undo() {
        for (const char* activity : {"Charge", "Ship"}) {
            if (order_.is_running(activity)) {
                decision_.cancelled_activities.push_back(
                    {turn_.instance_id(), turn_.execution_id(), order_.scheduled[activity]});
            }
        }
        if (order_.is_done("Charge") && !order_.scheduled.contains("Refund")) {
            schedule("Refund");
        } else if (!order_.is_running("Refund")) {
            end("Failed", order_.trouble);
        }
    }

    std::int64_t record(const std::string& type, json event) {
        event["event_id"] = order_.last_event + 1;
        event["type"] = type;
        order_.apply(event);
        decision_.history_delta.push_back(
            {.event_id = order_.last_event, .event_data = event.dump(), .event_type = type});
        return order_.last_event;
    }

    json address(std::int64_t id) const {
        return {
            {"instance", turn_.instance_id()}, {"execution_id", turn_.execution_id()}, {"id", id}};
    }

    void schedule(const std::string& name) {
        json fields = address(record("ActivityScheduled", {{"name", name}}));
        fields["name"] = name;
        fields["input"] = turn_.instance_id();
        decision_.worker_items.push_back(json{{"ActivityExecute", fields}}.dump());
    }

    void start_timer(std::int64_t ms) {
        json fields = address(record("TimerCreated", json::object()));
        fields["fire_at_ms"] = *belay::system_clock()() + ms;
        decision_.orchestrator_items.push_back(json{{"TimerFired", fields}}.dump());
    }

    void end(const std::string& status, const std::string& output) {
        record("Orchestration" + status, {{"output", output}});
        metadata_["status"] = status;
        metadata_["output"] = output;
    }

    const belay::TurnContext& turn_;
    belay::Decision decision_;
    json metadata_ = json::object();
    Order order_;
};

// The second and the third parcel go nowhere, until somebody stops the handler.
belay::Outcome ship(belay::Activity& activity) {
    if (activity.input() == "order-1") {
        return belay::Outcome::completed("shipped");
    }
    while (!activity.stop_token().stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    say("  worker:  " + activity.input() + " shipping is stopped");
    return belay::Outcome::completed("never used");
}

// Waits until the instance has ended.
belay::InstanceInfo wait_for_end(belay::Hub& hub, const std::string& id) {
    for (;;) {
        const auto info = hub.get_instance_info(id);
        if (info && info->status != "Running") {
            return *info;
        }
        hub.wait_for_work({"instance:" + id}, belay::Milliseconds(1000));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string hub_name = argc > 1 ? argv[1] : "app";
    belay::Connection connection;
    belay::Hub hub(connection, hub_name);

    belay::Dispatcher dispatcher({.hub = hub_name});
    dispatcher.on("OrderSaga", [](belay::TurnContext& turn) {
        return belay::TurnOutcome::decided(Turn(turn).decide());
    });
    belay::Worker worker({.hub = hub_name});
    worker.on("Charge", [](belay::Activity& activity) {
        say("  worker:  " + activity.input() + " card is charged");
        return belay::Outcome::completed("charged");
    });
    worker.on("Ship", ship);
    worker.on("Refund", [](belay::Activity& activity) {
        say("  worker:  " + activity.input() + " money is refunded");
        return belay::Outcome::completed("refunded");
    });
    std::thread deciding([&] { dispatcher.run(); });
    std::thread working([&] { worker.run(); });

    // So that the example can be run again.
    const std::vector<std::string> orders = {"order-1", "order-2", "order-3"};
    hub.delete_instances_atomic(orders, true);
    for (const auto& order : orders) {
        hub.start_orchestration("OrderSaga", "", {.instance_id = order});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kShippingDeadlineMs / 2));
    say("customer:  order-3 I have changed my mind");
    hub.cancel_instance("order-3", "changed my mind");

    std::map<std::string, std::string> ends;
    for (const auto& order : orders) {
        const auto info = wait_for_end(hub, order);
        ends[order] = info.status.value_or("") + ", " + info.output.value_or("");
        say(order + ": " + ends[order]);
    }
    dispatcher.stop();
    worker.stop();
    deciding.join();
    working.join();
    return ends["order-1"] == "Completed, shipped" &&
                   ends["order-2"] == "Failed, not shipped in time" &&
                   ends["order-3"] == "Failed, cancelled: changed my mind"
               ? 0
               : 1;
}
