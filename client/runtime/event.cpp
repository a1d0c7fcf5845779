// Events of a history: the table of their kinds, parsing, and their stored form.
//
// May touch: nothing outside. Must not: decide what an event means for an execution; execution.cpp
// does. Must not change the stored form.
#include "event.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "belay/durable/payload.hpp"

namespace belay::engine {
namespace {

// Which JSON field holds Event::text.
enum class TextField : std::uint8_t {
    kNone,
    kInput,
    kOutput,
    kDetails,
    kReason,
    kResult,
    kData,
    kStatus,
    kValue
};

constexpr std::array<std::string_view, 9> kTextFields = {
    "", "input", "output", "details", "reason", "result", "data", "status", "value"};

struct KindFacts {
    std::string_view name;
    TextField text;
    bool has_name;
    bool has_source;  // an outcome or a breadcrumb of a decision
};

using T = TextField;
constexpr std::array<KindFacts, 26> kKinds = {{
    {"OrchestrationStarted", T::kInput, true, false},
    {"OrchestrationCompleted", T::kOutput, false, false},
    {"OrchestrationFailed", T::kDetails, false, false},
    {"OrchestrationContinuedAsNew", T::kInput, false, false},
    {"OrchestrationCancelRequested", T::kReason, false, false},
    {"OrchestrationChained", T::kInput, true, false},
    {"ActivityScheduled", T::kInput, true, false},
    {"ActivityCompleted", T::kResult, false, true},
    {"ActivityFailed", T::kDetails, false, true},
    {"ActivityCancelRequested", T::kReason, false, true},
    {"TimerCreated", T::kNone, false, false},
    {"TimerFired", T::kNone, false, true},
    {"ExternalSubscribed", T::kNone, true, false},
    {"ExternalEvent", T::kData, true, false},
    {"ExternalSubscribedCancelled", T::kReason, false, true},
    {"SubOrchestrationScheduled", T::kInput, true, false},
    {"SubOrchestrationCompleted", T::kResult, false, true},
    {"SubOrchestrationFailed", T::kDetails, false, true},
    {"SubOrchestrationCancelRequested", T::kReason, false, true},
    {"ExternalSubscribedPersistent", T::kNone, true, false},
    {"ExternalEventPersistent", T::kData, true, false},
    {"ExternalSubscribedPersistentCancelled", T::kReason, false, true},
    {"CustomStatusUpdated", T::kStatus, false, false},
    {"KeyValueSet", T::kValue, true, false},
    {"KeyValueCleared", T::kNone, true, false},
    {"KeyValuesCleared", T::kNone, false, false},
}};

const KindFacts& facts_of(EventKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

// Whether the event names the instance that it starts.
bool starts_instance(EventKind kind) {
    return kind == EventKind::kSubOrchestrationScheduled ||
           kind == EventKind::kOrchestrationChained;
}

bool is_key_kind(EventKind kind) {
    return kind == EventKind::kKeyValueSet || kind == EventKind::kKeyValueCleared;
}

EventKind kind_of(const std::string& name) {
    static const auto* const kinds = [] {
        auto* const map = new std::unordered_map<std::string_view, EventKind>();
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
            map->emplace(kKinds[i].name, static_cast<EventKind>(i));
        }
        return map;
    }();
    const auto found = kinds->find(name);
    if (found == kinds->end()) {
        throw Corrupt("unrecognized event type \"" + name + "\"");
    }
    return found->second;
}

OptionalText optional_string(const ObjectReader& reader) {
    return reader.is_null() ? OptionalText() : reader.string();
}

std::int64_t optional_number(const ObjectReader& reader) {
    return reader.is_null() ? 0 : reader.number();
}

Carried parse_carried(std::string_view text) {
    Carried carried;
    if (text == "null") {
        return carried;
    }
    for (const auto element : array_elements(text)) {
        const auto pair = array_elements(element);
        if (pair.size() != 2) {
            throw Corrupt("a carried message has no name and text");
        }
        carried.emplace_back(decode_json_string(pair[0]), decode_json_string(pair[1]));
    }
    return carried;
}

// The text of an element that came as a JSON string.
std::string_view unwrapped(std::string_view text, std::string& buffer) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '"') {
        buffer = decode_json_string(text.substr(first));
        return buffer;
    }
    return text;
}

// Fields that are common to all events, and those of one kind only. `text` fields are in raw form
// until the kind is known.
struct RawEvent {
    Event event;
    std::string type;
    std::array<std::string_view, kTextFields.size()> texts = {};
    bool has_id = false;
    bool has_name = false;
};

bool read_field(RawEvent& raw, const ObjectReader& reader) {
    Event& event = raw.event;
    const std::string_view key = reader.key();
    if (key == "event_id") {
        event.id = reader.number();
        raw.has_id = true;
    } else if (key == "source_event_id") {
        event.source = optional_number(reader);
    } else if (key == "timestamp_ms") {
        event.timestamp_ms = reader.number();
    } else if (key == "type") {
        raw.type = reader.string();
    } else if (key == "name" || key == "key") {
        event.name = reader.string();
        raw.has_name = true;
    } else if (key == "fire_at_ms" || key == "last_updated_at_ms") {
        event.number = reader.number();
    } else if (key == "instance" || key == "parent_instance") {
        event.instance = optional_string(reader);
    } else if (key == "version") {
        event.version = optional_string(reader);
    } else if (key == "session_id") {
        event.session = optional_string(reader);
    } else if (key == "tag") {
        event.tag = optional_string(reader);
    } else if (key == "parent_id") {
        event.parent_id = optional_number(reader);
    } else if (key == "parent_execution_id") {
        event.parent_execution_id = optional_number(reader);
    } else if (key == "initial_custom_status") {
        event.initial_status = optional_string(reader);
    } else if (key == "carry_forward_events") {
        event.carried = parse_carried(reader.raw());
    } else {
        return false;
    }
    return true;
}

void take_text(RawEvent& raw) {
    const auto field = static_cast<std::size_t>(facts_of(raw.event.kind).text);
    if (field == 0) {
        return;
    }
    const std::string_view text = raw.texts[field];
    if (text.empty()) {
        throw Corrupt("event " + std::to_string(raw.event.id) + " has no field \"" +
                      std::string(kTextFields[field]) + "\"");
    }
    if (static_cast<TextField>(field) == TextField::kDetails) {
        raw.event.text = std::string(text);
    } else if (text == "null" && static_cast<TextField>(field) == TextField::kStatus) {
        raw.event.text = std::nullopt;
    } else {
        raw.event.text = decode_json_string(text);
    }
}

}  // namespace

std::string_view name_of(EventKind kind) {
    return facts_of(kind).name;
}

bool is_decision(EventKind kind) {
    switch (kind) {
        case EventKind::kActivityScheduled:
        case EventKind::kTimerCreated:
        case EventKind::kSubOrchestrationScheduled:
        case EventKind::kOrchestrationChained:
        case EventKind::kExternalSubscribed:
        case EventKind::kExternalSubscribedPersistent:
        case EventKind::kCustomStatusUpdated:
        case EventKind::kKeyValueSet:
        case EventKind::kKeyValueCleared:
        case EventKind::kKeyValuesCleared:
            return true;
        default:
            return false;
    }
}

bool is_breadcrumb(EventKind kind) {
    return kind == EventKind::kActivityCancelRequested ||
           kind == EventKind::kSubOrchestrationCancelRequested ||
           kind == EventKind::kExternalSubscribedCancelled ||
           kind == EventKind::kExternalSubscribedPersistentCancelled;
}

bool is_terminal(EventKind kind) {
    return kind == EventKind::kOrchestrationCompleted || kind == EventKind::kOrchestrationFailed ||
           kind == EventKind::kOrchestrationContinuedAsNew;
}

Event parse_event(std::string_view text) {
    std::string buffer;
    ObjectReader reader(unwrapped(text, buffer));
    RawEvent raw;
    while (reader.next()) {
        if (read_field(raw, reader)) {
            continue;
        }
        const auto found = std::find(kTextFields.begin() + 1, kTextFields.end(), reader.key());
        if (found != kTextFields.end()) {
            raw.texts[static_cast<std::size_t>(found - kTextFields.begin())] = reader.raw();
        }
    }
    if (!raw.has_id || raw.type.empty()) {
        throw Corrupt("an event has no event_id or type");
    }
    if (raw.event.id <= 0) {
        throw Corrupt("an event has the id " + std::to_string(raw.event.id));
    }
    raw.event.kind = kind_of(raw.type);
    const KindFacts& facts = facts_of(raw.event.kind);
    if ((facts.has_name && !raw.has_name) || (facts.has_source && raw.event.source <= 0) ||
        (starts_instance(raw.event.kind) && raw.event.instance.value_or("").empty())) {
        throw Corrupt("event " + std::to_string(raw.event.id) + ", " + raw.type +
                      ", lacks a field");
    }
    take_text(raw);
    return std::move(raw.event);
}

std::string carried_text(const Carried& carried) {
    std::string text = "[";
    for (const auto& [name, data] : carried) {
        text += text.size() > 1 ? ",[" : "[";
        append_string(text, name);
        text += ',';
        append_string(text, data);
        text += ']';
    }
    text += ']';
    return text;
}

namespace {

void write_start(ObjectWriter& writer, const Event& event) {
    writer.string("version", event.version.value_or("")).string("input", event.text.value_or(""));
    writer.string_or_null("parent_instance", event.instance);
    writer.number_or_null("parent_id", event.parent_id);
    if (!event.carried.empty()) {
        writer.raw("carry_forward_events", carried_text(event.carried));
    }
    if (event.initial_status) {
        writer.string("initial_custom_status", *event.initial_status);
    }
    if (event.parent_execution_id != 0) {
        writer.number("parent_execution_id", event.parent_execution_id);
    }
}

void write_own_fields(ObjectWriter& writer, const Event& event) {
    const KindFacts& facts = facts_of(event.kind);
    if (facts.has_name) {
        writer.string(is_key_kind(event.kind) ? "key" : "name", event.name);
    }
    if (event.kind == EventKind::kOrchestrationStarted) {
        write_start(writer, event);
        return;
    }
    if (event.instance) {
        writer.string("instance", *event.instance);
    }
    const std::string_view field = kTextFields[static_cast<std::size_t>(facts.text)];
    if (facts.text == TextField::kDetails) {
        writer.raw(field, event.text.value());
    } else if (facts.text == TextField::kStatus) {
        writer.string_or_null(field, event.text);
    } else if (facts.text != TextField::kNone) {
        writer.string(field, event.text.value_or(""));
    }
    if (event.kind == EventKind::kTimerCreated || event.kind == EventKind::kTimerFired) {
        writer.number("fire_at_ms", event.number);
    } else if (event.kind == EventKind::kKeyValueSet) {
        writer.number("last_updated_at_ms", event.number);
    }
    if (event.session) {
        writer.string("session_id", *event.session);
    }
    if (event.tag) {
        writer.string("tag", *event.tag);
    }
}

}  // namespace

std::string event_text(const Event& event, const EventOwner& owner) {
    ObjectWriter writer;
    writer.number("event_id", event.id).number_or_null("source_event_id", event.source);
    writer.string("instance_id", owner.instance_id).number("execution_id", owner.execution_id);
    writer.number("timestamp_ms", event.timestamp_ms);
    writer.string("duroxide_version", owner.history_version);
    writer.string("type", name_of(event.kind));
    write_own_fields(writer, event);
    return writer.take();
}

std::string shortened(std::string_view text) {
    const std::string_view kept = detail::cut_text(text, 200);
    return std::string(kept) + (kept.size() < text.size() ? "..." : "");
}

std::string describe(const Event& event) {
    std::string text(name_of(event.kind));
    if (facts_of(event.kind).has_name) {
        text += " \"" + event.name + "\"";
    }
    if (event.source != 0) {
        text += " of event " + std::to_string(event.source);
    }
    if (starts_instance(event.kind)) {
        text += " as \"" + event.instance.value_or("") + "\"";
    }
    if (event.session) {
        text += " session \"" + *event.session + "\"";
    }
    if (event.tag) {
        text += " tag \"" + *event.tag + "\"";
    }
    if (event.text && !event.text->empty()) {
        text += " " + shortened(*event.text);
    }
    return text;
}

}  // namespace belay::engine
