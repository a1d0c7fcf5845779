// belay subscriptions, belay events.
#include <iostream>

#include "tool.hpp"

namespace belay::tool {
namespace {

void list_subscriptions(Tool& tool) {
    Json rows = Json::array();
    for (const auto& info : tool.hub().events().subscriptions()) {
        rows.push_back({{"name", info.name},
                        {"topics", json_of(info.topics)},
                        {"lag_rows", info.lag_rows},
                        {"lag_seconds", static_cast<double>(info.lag.count()) / 1000},
                        {"lag", duration_text(info.lag.count())},
                        {"lease_until", json_of(info.lease_until)},
                        {"horizon_pid", json_of(info.horizon_pid)},
                        {"created_at", json_of(info.created_at)}});
    }
    tool.print(rows, {{"name", "NAME"},
                      {"lag_rows", "UNREAD", Show::kNumber},
                      {"lag", "OLDEST", Show::kNumber},
                      {"lease_until", "LEASED UNTIL", Show::kTime},
                      {"horizon_pid", "HELD BY", Show::kNumber},
                      {"topics", "TOPICS"}});
}

struct Reading {
    std::string subscription;
    int limit = 100;
    Milliseconds::rep lease_ms = 1000;
    bool ack = false;
};

void read(Tool& tool, const Reading& given) {
    Hub hub = tool.hub();
    const auto events =
        hub.events().read(given.subscription, given.limit, Milliseconds(given.lease_ms));
    Json rows = Json::array();
    for (const auto& event : events) {
        rows.push_back({{"event_id", event.id},
                        {"occurred_at_ms", to_ms(event.occurred_at)},
                        {"topic", event.topic},
                        {"type", event.type},
                        {"subject", json_of(event.subject)},
                        {"details", event.details}});
    }
    tool.print(rows, {{"event_id", "ID"},
                      {"occurred_at_ms", "TIME", Show::kTime},
                      {"topic", "TOPIC"},
                      {"type", "TYPE"},
                      {"subject", "SUBJECT"},
                      {"details", "DETAILS"}});
    // What could not be written has not been read.
    std::cout.flush();
    if (given.ack && !events.empty() && std::cout) {
        hub.events().ack(given.subscription, events.back().upto);
    }
}

}  // namespace

void add_events(CLI::App& app, Tool& tool) {
    auto* subscriptions =
        app.add_subcommand("subscriptions", "list subscriptions, and how far behind they are");
    on_run(tool, subscriptions, [&tool] { list_subscriptions(tool); });

    auto given = std::make_shared<Reading>();
    auto* events = app.add_subcommand("events", "read the next events of a subscription");
    events->add_option("subscription", given->subscription, "its name")->required();
    events->add_option("--limit", given->limit, "at most so many")->capture_default_str();
    add_duration(events, "--lease", given->lease_ms,
                 "for how long other readers get nothing, unless --ack")
        ->default_str("1s");
    events->add_flag("--ack", given->ack, "take them as read; otherwise they come again");
    on_run(tool, events, [&tool, given] { read(tool, *given); });
}

}  // namespace belay::tool
