// Events of a history and messages of a queue, read from and written to their stored form, which
// is that of duroxide 0.1.26 to 0.1.30.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/durable/options.hpp"
#include "json_text.hpp"

namespace belay::engine {

enum class EventKind : std::uint8_t {
    kOrchestrationStarted,
    kOrchestrationCompleted,
    kOrchestrationFailed,
    kOrchestrationContinuedAsNew,
    kOrchestrationCancelRequested,
    kOrchestrationChained,
    kActivityScheduled,
    kActivityCompleted,
    kActivityFailed,
    kActivityCancelRequested,
    kTimerCreated,
    kTimerFired,
    kExternalSubscribed,
    kExternalEvent,
    kExternalSubscribedCancelled,
    kSubOrchestrationScheduled,
    kSubOrchestrationCompleted,
    kSubOrchestrationFailed,
    kSubOrchestrationCancelRequested,
    kExternalSubscribedPersistent,
    kExternalEventPersistent,
    kExternalSubscribedPersistentCancelled,
    kCustomStatusUpdated,
    kKeyValueSet,
    kKeyValueCleared,
    kKeyValuesCleared,
};

std::string_view name_of(EventKind kind);
bool is_decision(EventKind kind);
bool is_breadcrumb(EventKind kind);
bool is_terminal(EventKind kind);

// Names and texts of messages that no execution has taken.
using Carried = std::vector<std::pair<std::string, std::string>>;

struct Event {
    EventKind kind = EventKind::kOrchestrationStarted;
    std::int64_t id = 0;
    std::int64_t source = 0;  // 0 for null
    std::int64_t timestamp_ms = 0;
    std::string name = {};  // of a call or a queue; key of a value
    // Input, result, output, data, value, reason, status; details as JSON.
    OptionalText text = {};
    std::int64_t number = 0;     // fire_at_ms, last_updated_at_ms
    OptionalText instance = {};  // of a child or a chained instance; the parent's, of a start
    OptionalText version = {};
    OptionalText session = {};
    OptionalText tag = {};
    std::int64_t parent_id = 0;
    std::int64_t parent_execution_id = 0;  // 0 if absent
    OptionalText initial_status = {};
    Carried carried = {};
};

// Throws Corrupt. An element that is a JSON string holds the text of the event.
Event parse_event(std::string_view text);

struct EventOwner {
    std::string_view instance_id;
    std::int64_t execution_id;
    std::string_view history_version;
};

std::string event_text(const Event& event, const EventOwner& owner);

// For people: kind, name and the beginning of the text.
std::string describe(const Event& event);

enum class MessageKind : std::uint8_t {
    kStartOrchestration,
    kActivityCompleted,
    kActivityFailed,
    kTimerFired,
    kExternalRaised,
    kSubOrchCompleted,
    kSubOrchFailed,
    kCancelInstance,
    kContinueAsNew,
    kQueueMessage,
};

struct Message {
    MessageKind kind = MessageKind::kStartOrchestration;
    std::string instance = {};
    std::int64_t execution_id = 0;  // that the message is for; 0 if it does not say
    std::int64_t id = 0;            // of the decision event
    std::string name = {};
    std::string text = {};  // input, result, data, reason; details as JSON
    std::int64_t fire_at_ms = 0;
    OptionalText version = {};
    OptionalText parent_instance = {};
    std::int64_t parent_id = 0;
    std::int64_t parent_execution_id = 0;
    OptionalText initial_status = {};
    Carried carried = {};
};

Message parse_message(std::string_view text);

std::string carried_text(const Carried& carried);

// Cut at 200 bytes, not inside of a character.
std::string shortened(std::string_view text);

}  // namespace belay::engine
