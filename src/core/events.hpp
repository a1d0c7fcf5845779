// The events that a hub can write to its outbox, as bits of one word.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::core {

struct EventType {
    std::string_view topic;
    std::string_view type;
};

// The bit of an event is its place in this table. Bits are kept in memory only, so the order may
// change between releases.
inline constexpr EventType kEventTypes[] = {
    {"lease", "acquired"},
    {"lease", "reclaimed"},
    {"lease", "renewed"},
    {"lease", "expired"},
    {"lease", "revoked"},
    {"lease", "released"},
    {"operator", "priority_changed"},
    {"operator", "replayed"},
    {"operator", "flow_cancel_requested"},
    {"operator", "resumed"},
    {"operator", "escalated"},
    {"operator", "activities_cancelled"},
    {"operator", "approved"},
    {"operator", "dead_letters_discarded"},
    {"operator", "dead_letters_redriven"},
    {"operator", "executions_pruned"},
    {"operator", "flow_deleted"},
    {"operator", "hub_paused"},
    {"operator", "hub_resumed"},
    {"operator", "instance_terminated"},
    {"operator", "instances_cancelled"},
    {"operator", "instances_deleted"},
    {"operator", "lease_revoked"},
    {"operator", "option_changed"},
    {"operator", "queue_changed"},
    {"operator", "schedule_created"},
    {"operator", "schedule_dropped"},
    {"operator", "schedule_paused"},
    {"operator", "schedule_resumed"},
    {"operator", "subscription_dropped"},
    {"operator", "task_cancelled"},
    {"operator", "task_deleted"},
    {"operator", "task_overridden"},
    {"operator", "tasks_cancelled"},
    {"operator", "tasks_replayed"},
    {"completion", "success"},
    {"completion", "failed"},
    {"completion", "cancelled"},
    {"completion", "expired"},
    {"completion", "skipped"},
    {"completion", "flow_completed"},
    {"completion", "flow_failed"},
    {"completion", "flow_cancelled"},
    {"instance", "started"},
    {"instance", "completed"},
    {"instance", "failed"},
    {"instance", "continued_as_new"},
    {"instance", "deleted"},
    {"instance", "dead_lettered"},
};

// Never defined: that it is called in a constant expression is the compiler's complaint.
int no_such_event();

// The place of an event in the table.
consteval int event_place(std::string_view topic, std::string_view type) {
    int place = 0;
    for (const auto& event : kEventTypes) {
        if (event.topic == topic && event.type == type) {
            return place;
        }
        ++place;
    }
    return no_such_event();
}

// Whether a subscription can name the topic.
constexpr bool is_topic(std::string_view word) {
    for (const auto& event : kEventTypes) {
        if (event.topic == word) {
            return true;
        }
    }
    return false;
}

// Reads a list like "operator,lease.expired": topics, or single types of a topic, separated by
// commas; blanks around a word are ignored. The empty list is no events. An unknown word gives no
// value.
std::optional<uint64_t> parse_events(std::string_view list);

}  // namespace belay::core
