// ack_orchestration_item.cpp — commit a turn: all of it, or nothing and the lock is kept.
//
// Calls    store::upsert_instance, store::upsert_execution, append_events, store::put_delta,
//          enqueue_activities, cancel_activities, send_message, send_intent, store::delete_leased
// Touches  every table of orchestrations, <hub>.worker_queue, <hub>.outbox_events,
//          <hub>.intent_queue
// Locks    the instance lock; the parent's row; the instance's own rows; its messages; worker rows
// Raises   QB001 lock lost, QB005 duplicate event, QB006 bad argument, QB007 clock skew
#include "ops/orchestration/orchestration.hpp"

#include "ops/guard/guard.hpp"
#include "ops/intents/intents.hpp"
#include "pg/counters.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "store/instances.hpp"
#include "store/kv.hpp"
#include "store/outbox.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr std::size_t kMaxItems = 100000;

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
    JsonArray cancelled;
    std::optional<std::string_view> name;
    std::optional<std::string_view> version;
    std::optional<std::string_view> parent;
    store::ExecutionChange execution;
    StatusChange custom_status;
    KvChange* kv;
    std::size_t kv_count;
};

[[noreturn]] void raise_member(const char* code, const char* path, const char* member) {
    core::Problem problem;
    core::set_problem(&problem, code, member);
    raise_problem(path, problem);
}

std::string_view required_string(json::Value object, const char* member, const char* path) {
    const auto value = optional_string(object, member, path);
    if (!value) {
        raise_member("missing_field", path, member);
    }
    return *value;
}

std::string_view required_key(json::Value object, const char* path) {
    const std::string_view key = required_string(object, "key", path);
    check_label(psprintf("%s.key", path), key);
    return key;
}

// ---------------------------------------------------------------- metadata

std::optional<store::Pin> checked_pin(json::Value metadata) {
    const auto pin = json::find(metadata, "pinned_duroxide_version");
    if (!pin || pin->kind == json::Kind::kNull) {
        return std::nullopt;
    }
    constexpr const char* kPath = "p_metadata.pinned_duroxide_version";
    if (pin->kind != json::Kind::kObject) {
        raise_member("wrong_type", "p_metadata", "pinned_duroxide_version");
    }
    int32 parts[3];
    int at = 0;
    for (const char* member : {"major", "minor", "patch"}) {
        const auto value = optional_int(*pin, member, kPath);
        if (!value) {
            raise_member("missing_field", kPath, member);
        }
        if (*value < 0 || *value > PG_INT32_MAX) {
            raise_member("bad_value", kPath, member);
        }
        parts[at++] = static_cast<int32>(*value);
    }
    return store::Pin{parts[0], parts[1], parts[2]};
}

store::ExecutionChange checked_execution(json::Value metadata) {
    const auto status = optional_string(metadata, "status", "p_metadata");
    if (status && *status != "Running" && *status != "Completed" && *status != "Failed" &&
        *status != "ContinuedAsNew") {
        pg::raise(pg::kInvalidArgument, "p_metadata.status is not a status",
                  pg::Facts("bad_value").add("path", "p_metadata.status").add("value", *status),
                  "Statuses are Running, Completed, Failed and ContinuedAsNew.");
    }
    return {.status = status,
            .output = optional_string(metadata, "output", "p_metadata"),
            .terminal = status && *status != "Running",
            .pin = checked_pin(metadata),
            .new_events = 0};
}

StatusChange status_from_metadata(json::Value metadata) {
    const auto action = optional_string(metadata, "custom_status_action", "p_metadata");
    const auto value = optional_string(metadata, "custom_status_value", "p_metadata");
    if (!action) {
        return {value.has_value(), value};
    }
    if (*action == "clear") {
        return {true, std::nullopt};
    }
    if (*action != "set") {
        raise_member("bad_value", "p_metadata", "custom_status_action");
    }
    if (!value) {
        raise_member("missing_field", "p_metadata", "custom_status_value");
    }
    return {true, value};
}

KvChange checked_mutation(json::Value element, const char* path) {
    if (element.kind != json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                          "Each element is {action, key, value, last_updated_at_ms}.");
    }
    const std::string_view action = required_string(element, "action", path);
    if (action == "set") {
        return {.action = KvAction::kSet,
                .key = required_key(element, path),
                .value = required_string(element, "value", path),
                .updated_at = optional_int(element, "last_updated_at_ms", path)};
    }
    if (action == "clear_key") {
        return {.action = KvAction::kClear,
                .key = required_key(element, path),
                .value = {},
                .updated_at = std::nullopt};
    }
    if (action != "clear_all") {
        raise_member("bad_value", path, "action");
    }
    return {.action = KvAction::kClearAll, .key = {}, .value = {}, .updated_at = std::nullopt};
}

// ---------------------------------------------------------------- derived from the delta

StatusChange status_from_events(const CheckedEvents& events) {
    StatusChange change{false, std::nullopt};
    for (std::size_t i = 0; i < events.count; ++i) {
        if (events.own_types[i] == "CustomStatusUpdated") {
            change = {true, optional_string(events.events[i], "status",
                                            psprintf("p_history_delta[%zu].event_data", i))};
        }
    }
    return change;
}

std::size_t kv_from_events(const CheckedEvents& events, KvChange* out) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < events.count; ++i) {
        const json::Value event = events.events[i];
        if (events.own_types[i] == "KeyValueSet") {
            const char* path = psprintf("p_history_delta[%zu].event_data", i);
            out[count++] = {
                .action = KvAction::kSet,
                .key = required_key(event, path),
                .value = required_string(event, "value", path),
                .updated_at = optional_int(event, "last_updated_at_ms", path).value_or(0)};
        } else if (events.own_types[i] == "KeyValueCleared") {
            const char* path = psprintf("p_history_delta[%zu].event_data", i);
            out[count++] = {.action = KvAction::kClear,
                            .key = required_key(event, path),
                            .value = {},
                            .updated_at = std::nullopt};
        } else if (events.own_types[i] == "KeyValuesCleared") {
            out[count++] = {
                .action = KvAction::kClearAll, .key = {}, .value = {}, .updated_at = std::nullopt};
        }
    }
    return count;
}

// ---------------------------------------------------------------- checking the arguments

void check_items(const AckArgs& args, Ack* ack) {
    const JsonArray worker = checked_array("p_worker_items", args.worker_items, kMaxItems);
    ack->worker_items =
        static_cast<CheckedActivity*>(palloc(sizeof(CheckedActivity) * (worker.count + 1)));
    const JsonArray messages =
        checked_array("p_orchestrator_items", args.orchestrator_items, kMaxItems);
    ack->messages =
        static_cast<CheckedMessage*>(palloc(sizeof(CheckedMessage) * (messages.count + 1)));
    ack->intents = static_cast<CheckedIntent*>(
        palloc(sizeof(CheckedIntent) * (worker.count + messages.count + 1)));
    json::Elements worker_elements(worker.array);
    json::Value element;
    for (std::size_t i = 0; worker_elements.next(element); ++i) {
        const Path path("p_worker_items", i);
        const Item item(element);
        if (const auto intent = checked_wrapped(item, "worker", path)) {
            ack->intents[ack->intent_count++] = *intent;
        } else {
            ack->worker_items[ack->worker_count++] =
                checked_activity(item, {}, path, path.member(""));
        }
    }
    json::Elements message_elements(messages.array);
    for (std::size_t i = 0; message_elements.next(element); ++i) {
        const Path path("p_orchestrator_items", i);
        const Item item(element);
        if (const auto intent = checked_wrapped(item, "orchestrator", path)) {
            ack->intents[ack->intent_count++] = *intent;
        } else {
            ack->messages[ack->message_count++] = checked_message(item, std::nullopt, path, path);
        }
    }
    ack->cancelled = checked_array("p_cancelled_activities", args.cancelled_activities, kMaxItems);
}

void check_metadata(const AckArgs& args, Ack* ack) {
    const auto metadata = args.metadata == nullptr ? json::Value{json::Kind::kObject, "{}"}
                                                   : checked_object("p_metadata", args.metadata);
    ack->name = optional_string(metadata, "orchestration_name", "p_metadata");
    check_label("p_metadata.orchestration_name", ack->name);
    ack->version = optional_string(metadata, "orchestration_version", "p_metadata");
    ack->parent = optional_string(metadata, "parent_instance_id", "p_metadata");
    if (ack->parent) {
        check_instance_id("p_metadata.parent_instance_id", *ack->parent);
    }
    ack->execution = checked_execution(metadata);
    ack->execution.new_events = static_cast<int64>(ack->events.count);
    ack->custom_status = status_from_metadata(metadata);
    if (!ack->custom_status.present) {
        ack->custom_status = status_from_events(ack->events);
    }
    const auto mutations = json::find(metadata, "kv_mutations");
    if (!mutations || mutations->kind == json::Kind::kNull) {
        ack->kv = static_cast<KvChange*>(palloc(sizeof(KvChange) * (ack->events.count + 1)));
        ack->kv_count = kv_from_events(ack->events, ack->kv);
        return;
    }
    if (mutations->kind != json::Kind::kArray) {
        raise_member("wrong_type", "p_metadata", "kv_mutations");
    }
    ack->kv = static_cast<KvChange*>(palloc(sizeof(KvChange) * (json::count(*mutations) + 1)));
    json::Elements elements(*mutations);
    json::Value element;
    while (elements.next(element)) {
        ack->kv[ack->kv_count] =
            checked_mutation(element, psprintf("p_metadata.kv_mutations[%zu]", ack->kv_count));
        ++ack->kv_count;
    }
}

Ack checked_ack(const AckArgs& args) {
    Ack ack{};
    if (!args.execution_id || *args.execution_id <= 0) {
        pg::raise_invalid(args.execution_id ? "out_of_range" : "null", "p_execution_id",
                          "p_execution_id must be greater than 0", "Execution ids begin with 1.");
    }
    ack.execution_id = *args.execution_id;
    ack.events = checked_events("p_history_delta", args.history_delta);
    check_items(args, &ack);
    check_metadata(args, &ack);
    return ack;
}

// ---------------------------------------------------------------- applying them

constexpr int kStarted = core::event_place("instance", "started");

// The event of an execution that ends with this status; none for Running.
std::optional<int> end_event(std::optional<std::string_view> status) {
    if (status == "Completed") {
        return core::event_place("instance", "completed");
    }
    if (status == "Failed") {
        return core::event_place("instance", "failed");
    }
    return status == "ContinuedAsNew"
               ? std::optional(core::event_place("instance", "continued_as_new"))
               : std::nullopt;
}

void tell_start(const store::Hub& hub, std::string_view instance_id, const Ack& ack, int64 now) {
    if (store::wants_event(hub, kStarted)) {
        store::write_event(hub, kStarted, instance_id,
                           store::Details()
                               .add("execution_id", ack.execution_id)
                               .add("orchestration_name", ack.name)
                               .add("orchestration_version", ack.version)
                               .add("parent_instance_id", ack.parent),
                           now);
    }
}

// Before the execution is changed: only a change of the current one's status is an event.
void tell_end(const store::Hub& hub, std::string_view instance_id, const Ack& ack, int64 now) {
    const auto event = end_event(ack.execution.status);
    if (!event || !store::wants_event(hub, *event)) {
        return;
    }
    const auto mark = store::read_execution_mark(hub, instance_id, ack.execution_id);
    if (mark && mark->current_execution_id == ack.execution_id &&
        mark->status != ack.execution.status) {
        store::write_event(hub, *event, instance_id,
                           store::Details()
                               .add("execution_id", ack.execution_id)
                               .add("orchestration_name", mark->name),
                           now);
    }
}

void apply_instance(const store::Hub& hub, const store::InstanceLock& lock, const Ack& ack,
                    int64 now) {
    const std::string_view instance_id = lock.instance_id;
    bool exists = true;
    bool created = false;
    if (ack.name && ack.version) {
        if (ack.parent) {
            store::hold_parent(hub, *ack.parent);
        }
        created = store::upsert_instance(hub, instance_id, *ack.name, *ack.version, ack.parent,
                                         ack.execution_id, now);
    } else {
        exists = store::touch_instance(hub, instance_id, ack.execution_id, now);
    }
    if (created) {
        tell_start(hub, instance_id, ack, now);
    }
    tell_end(hub, instance_id, ack, now);
    // Whoever took the instance for one that never started may just be setting messages aside.
    if (created || (!exists && ack.events.count > 0)) {
        store::settle_parked(hub, instance_id, lock.lock_no);
    }
    // An empty ack of an instance that does not exist leaves nothing behind.
    if (exists || ack.events.count > 0 || ack.execution.status || ack.execution.pin) {
        store::upsert_execution(hub, instance_id, ack.execution_id, ack.execution, now);
    }
}

void apply_kv(const store::Hub& hub, std::string_view instance_id, const Ack& ack, int64 now) {
    for (std::size_t i = 0; i < ack.kv_count; ++i) {
        const KvChange& change = ack.kv[i];
        switch (change.action) {
            case KvAction::kSet:
                store::put_delta(hub, instance_id, change.key, change.value,
                                 change.updated_at.value_or(now));
                break;
            case KvAction::kClear:
                store::put_delta(hub, instance_id, change.key, std::nullopt, now);
                break;
            case KvAction::kClearAll:
                store::clear_delta(hub, instance_id, now);
                break;
        }
    }
    if (ack.execution.terminal) {
        store::merge_delta(hub, instance_id, ack.execution_id);
    }
}

}  // namespace

void ack_orchestration_item(const store::Hub& hub, const AckArgs& args) {
    const Ack ack = checked_ack(args);
    if (ack.intent_count > 0) {
        require_intents(hub);
    }
    auto clock = pg::start_clock(args.now, hub.options[store::Option::kMaxClockSkew]);
    enter(hub,
          {.worker_queue = ack.worker_count > 0 || ack.cancelled.count > 0,
           .orchestrator_queue = true,
           .instance_locks = true,
           .intents = ack.intent_count > 0},
          &clock);
    const HeldTurn held = hold_turn(hub, args.token, &clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost("Invalid lock token", args.token.value_or(""), held.fault,
                        held.locked_until);
    }
    const std::string_view instance_id = held.lock->instance_id;
    const int64 now = clock.now();
    apply_instance(hub, *held.lock, ack, now);
    append_events(hub, instance_id, ack.execution_id, ack.events, now);
    if (ack.custom_status.present) {
        store::set_custom_status(hub, instance_id, ack.custom_status.value);
    }
    apply_kv(hub, instance_id, ack, now);
    store::delete_leased(hub, held.lock->instance_key, held.lock->lock_no, now);
    enqueue_activities(hub, {ack.worker_items, ack.worker_count}, &clock);
    // After the inserts: an activity both scheduled and cancelled ends absent.
    (void)cancel_activities(hub, ack.cancelled);
    for (std::size_t i = 0; i < ack.message_count; ++i) {
        send_message(hub, ack.messages[i], now, now);
    }
    for (std::size_t i = 0; i < ack.intent_count; ++i) {
        (void)send_intent(hub, ack.intents[i], instance_id, std::nullopt, now);
    }
    if (ack.execution.status || ack.custom_status.present) {
        pg::note_changed(store::instance_channel(hub, instance_id), pg::WakeReason::kChanged);
    }
    if (ack.execution.terminal) {
        store::delete_turn(hub, *held.lock);
    } else {
        store::release_turn(hub, *held.lock);
    }
    note_finished(held.lock->lease);
    pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kAcked);
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
}

}  // namespace belay::ops
