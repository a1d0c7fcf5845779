// Messages of the orchestrator queue: the table of their kinds, parsing, and their stored form.
//
// May touch: nothing outside. Must not: decide what a message means for an execution; decisions.cpp
// does. Must not change the stored form.
#include <array>

#include "event.hpp"

namespace belay::engine {
namespace {

struct MessageFacts {
    std::string_view name;
    std::string_view text;  // the field that holds Message::text
    bool to_call;           // an outcome: it has an execution and an id
};

constexpr std::array<MessageFacts, 10> kMessages = {{
    {"StartOrchestration", "input", false},
    {"ActivityCompleted", "result", true},
    {"ActivityFailed", "details", true},
    {"TimerFired", "", true},
    {"ExternalRaised", "data", false},
    {"SubOrchCompleted", "result", true},
    {"SubOrchFailed", "details", true},
    {"CancelInstance", "reason", false},
    {"ContinueAsNew", "input", false},
    {"QueueMessage", "data", false},
}};

bool is_answer_of_child(MessageKind kind) {
    return kind == MessageKind::kSubOrchCompleted || kind == MessageKind::kSubOrchFailed;
}

Carried parse_pairs(std::string_view text) {
    Carried carried;
    for (const auto element : array_elements(text)) {
        const auto pair = array_elements(element);
        if (pair.size() != 2) {
            throw Corrupt("a carried message has no name and text");
        }
        carried.emplace_back(decode_json_string(pair[0]), decode_json_string(pair[1]));
    }
    return carried;
}

// The parent's fields are the address of an answer, and the origin of a start.
void read_parent(Message& message, const ObjectReader& reader) {
    const std::string_view key = reader.key();
    const bool answer = is_answer_of_child(message.kind);
    if (key == "parent_instance") {
        if (answer) {
            message.instance = reader.string();
        } else {
            message.parent_instance = reader.string();
        }
    } else if (key == "parent_id") {
        (answer ? message.id : message.parent_id) = reader.number();
    } else {
        (answer ? message.execution_id : message.parent_execution_id) = reader.number();
    }
}

void read_field(Message& message, const ObjectReader& reader) {
    const std::string_view key = reader.key();
    const MessageFacts& facts = kMessages[static_cast<std::size_t>(message.kind)];
    if (reader.is_null()) {
        return;
    }
    if (key == facts.text) {
        message.text = key == "details" ? std::string(reader.raw()) : reader.string();
    } else if (key.starts_with("parent_")) {
        read_parent(message, reader);
    } else if (key == "instance") {
        message.instance = reader.string();
    } else if (key == "execution_id") {
        message.execution_id = reader.number();
    } else if (key == "id") {
        message.id = reader.number();
    } else if (key == "orchestration" || key == "name") {
        message.name = reader.string();
    } else if (key == "version") {
        message.version = reader.string();
    } else if (key == "fire_at_ms") {
        message.fire_at_ms = reader.number();
    } else if (key == "initial_custom_status") {
        message.initial_status = reader.string();
    } else if (key == "carry_forward_events") {
        message.carried = parse_pairs(reader.raw());
    }
}

}  // namespace

Message parse_message(std::string_view text) {
    std::string buffer;
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '"') {
        buffer = decode_json_string(text.substr(first));
        text = buffer;
    }
    ObjectReader outer(text);
    if (!outer.next()) {
        throw Corrupt("a message without a kind");
    }
    Message message;
    std::size_t kind = 0;
    while (kind < kMessages.size() && kMessages[kind].name != outer.key()) {
        ++kind;
    }
    if (kind == kMessages.size()) {
        throw Corrupt("unrecognized message \"" + std::string(outer.key()) + "\"");
    }
    message.kind = static_cast<MessageKind>(kind);
    ObjectReader fields(outer.raw());
    while (fields.next()) {
        read_field(message, fields);
    }
    if (message.instance.empty() ||
        (kMessages[kind].to_call && (message.id <= 0 || message.execution_id <= 0)) ||
        (kMessages[kind].text == "details" && message.text.empty())) {
        throw Corrupt("a message \"" + std::string(kMessages[kind].name) + "\" lacks a field");
    }
    return message;
}

}  // namespace belay::engine
