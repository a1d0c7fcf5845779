// What an ack of a turn says, checked; for the files that check and apply it.
#pragma once

#include "ops/intents/intents.hpp"
#include "ops/orchestration/orchestration.hpp"

namespace belay::ops {

enum class KvAction { kSet, kClear, kClearAll };

struct KvChange {
    KvAction action;
    std::string_view key;
    std::string_view value;
    std::optional<int64> updated_at;  // absent: now
};

// The last change of the custom status, if there is one.
struct StatusChange {
    bool present;
    std::optional<std::string_view> value;  // absent: clear
};

// What the caller keeps of the instance in its memory.
struct CachedBy {
    std::string_view owner;
    int64 event;
};

// Checked arguments.
struct Ack {
    int64 execution_id;
    CheckedEvents events;
    CheckedActivity* worker_items;
    std::size_t worker_count;
    CheckedMessage* messages;
    std::size_t message_count;
    CheckedIntent* intents;  // of both lists, in their order
    std::size_t intent_count;
    std::span<const ActivityIdentity> cancelled;
    std::optional<std::string_view> name;
    std::optional<std::string_view> version;
    std::optional<std::string_view> parent;
    store::ExecutionChange execution;
    StatusChange custom_status;
    std::optional<CachedBy> cached;
    KvChange* kv;
    std::size_t kv_count;

    bool ends() const { return execution.status && core::is_end(*execution.status); }
};

// Reads the arguments. QB006 for what is wrong with them. Reads no table.
Ack checked_ack(const AckArgs& args);

}  // namespace belay::ops
