#include "hub.hpp"

#include <set>

namespace belay::test::model {

// ---- History ----

std::optional<int64_t> Hub::latest_execution(int client, const std::string& instance) const {
    std::optional<int64_t> latest;
    for (const Execution* execution : executions.seen_by(client)) {
        if (execution->instance == instance) {
            latest = std::max(latest.value_or(0), execution->id);
        }
    }
    return latest;
}

std::vector<const StoredEvent*> Hub::history_of(int client, const std::string& instance,
                                                int64_t execution) const {
    std::vector<const StoredEvent*> found;
    for (const StoredEvent* stored : history.seen_by(client)) {
        if (stored->instance == instance && stored->execution == execution) {
            found.push_back(stored);
        }
    }
    return found;
}

// AO-11.
void Hub::refuse_duplicates(int client, const std::string& instance, int64_t execution,
                            const std::vector<Event>& events) const {
    std::set<int64_t> ids;
    for (const Event& event : events) {
        if (!ids.insert(event.id).second ||
            history.find({instance, execution, event.id}, client) != nullptr) {
            throw Refused{"QB005", "Duplicate history event: ", "duplicate_event",
                          "\"instance_id\":\"" + instance +
                              "\",\"execution_id\":" + std::to_string(execution)};
        }
    }
}

void Hub::add_events(int client, const std::string& instance, int64_t execution,
                     const std::vector<Event>& events, int64_t now) {
    refuse_duplicates(client, instance, execution, events);
    for (const Event& event : events) {
        history.hold({instance, execution, event.id}, client) =
            StoredEvent{instance, execution, event, now};
    }
}

// RH-8.
void Hub::append_history(int client, const std::string& instance, int64_t execution,
                         const std::vector<Event>& events) {
    locks.hold(instance, client);
    // Without events an execution that is there is not touched.
    if (executions.find({instance, execution}, client) == nullptr || !events.empty()) {
        auto& row = executions.hold({instance, execution}, client);
        if (!row) {
            row.emplace();
            row->instance = instance;
            row->id = execution;
            row->started_at = kServerClock;
        }
    }
    add_events(client, instance, execution, events, kServerClock);
    settle_aside(client, instance, "");
}

// ---- Custom status ----

// CU-2 to CU-6.
void Hub::change_custom_status(int client, const std::string& instance, const TurnAck& ack) {
    std::optional<StatusChange> change = ack.custom_status;
    if (!change) {
        for (const Event& event : ack.events) {
            change = event.status ? event.status : change;
        }
    }
    const bool exists = instances.find(instance, client) != nullptr;
    meet(Case::kStatusLost, change && !exists);
    if (change && exists) {
        Instance& row = *instances.hold(instance, client);
        row.custom_status = change->value;
        ++row.custom_status_version;
    }
}

// ---- Key/value state ----

// KV-1 to KV-5, KV-13.
void Hub::change_values(int client, const std::string& instance, const TurnAck& ack) {
    std::vector<KvChange> changes;
    if (ack.kv) {
        changes = *ack.kv;
    } else {
        for (const Event& event : ack.events) {
            if (event.kv) {
                changes.push_back(*event.kv);
            }
        }
    }
    for (const KvChange& change : changes) {
        const auto bury_key = [&](const std::string& key) {
            kv_delta.hold({instance, key}, client) = Value{instance, key, std::nullopt, ack.now};
        };
        switch (change.action) {
            case KvChange::Action::kSet:
                kv_delta.hold({instance, change.key}, client) =
                    Value{instance, change.key, change.value, change.updated_at.value_or(ack.now)};
                break;
            case KvChange::Action::kClear:
                bury_key(change.key);
                break;
            case KvChange::Action::kClearAll:
                for (const auto* table : {&kv_store, &kv_delta}) {
                    for (const Value* value : table->seen_by(client)) {
                        if (value->instance == instance) {
                            bury_key(std::string(value->key));
                        }
                    }
                }
                break;
        }
    }
    if (ack.is_terminal()) {
        merge_values(client, instance);
    }
}

void Hub::merge_values(int client, const std::string& instance) {
    for (const Value* seen : kv_delta.seen_by(client)) {
        const Value value = *seen;
        if (value.instance != instance) {
            continue;
        }
        if (value.value) {
            meet(Case::kMerged);
            kv_store.hold({instance, value.key}, client) = value;
        } else if (kv_store.find({instance, value.key}, client) != nullptr) {
            meet(Case::kMergedTombstone);
            kv_store.hold({instance, value.key}, client) = std::nullopt;
        }
        kv_delta.hold({instance, value.key}, client) = std::nullopt;
    }
}

// KV-7.
std::vector<Value> Hub::values_of(int client, const std::string& instance) const {
    std::map<std::string, Value> values;
    for (const auto* table : {&kv_store, &kv_delta}) {
        for (const Value* value : table->seen_by(client)) {
            if (value->instance == instance) {
                values[value->key] = *value;
            }
        }
    }
    std::vector<Value> found;
    for (const auto& [key, value] : values) {
        if (value.value) {
            found.push_back(value);
        }
    }
    return found;
}

}  // namespace belay::test::model
