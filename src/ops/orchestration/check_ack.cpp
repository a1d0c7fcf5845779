// check_ack.cpp — read and check the arguments of an ack.
//
// Calls    no function of the store
// Touches  nothing
// Locks    none
// Raises   QB006 bad argument
#include <algorithm>

#include "ops/orchestration/ack.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr std::size_t kMaxItems = 100000;

std::string_view required_key(json::Value object, const char* path) {
    const std::string_view key = required_string(object, "key", path);
    check_label(psprintf("%s.key", path), key);
    return key;
}

// ---------------------------------------------------------------- metadata

// The members of p_metadata, found in one walk.
constexpr std::string_view kMembers[] = {"orchestration_name",
                                         "orchestration_version",
                                         "parent_instance_id",
                                         "status",
                                         "output",
                                         "pinned_duroxide_version",
                                         "custom_status_action",
                                         "custom_status_value",
                                         "cache",
                                         "kv_mutations"};
struct Metadata {
    std::optional<json::Value> members[std::size(kMembers)];

    explicit Metadata(json::Value object) { (void)json::find_each(object, kMembers, members); }

    // Absent, too, if it is null.
    std::optional<json::Value> get(std::string_view name) const {
        const auto& value = members[std::find(std::begin(kMembers), std::end(kMembers), name) -
                                    std::begin(kMembers)];
        return value && value->kind != json::Kind::kNull ? value : std::nullopt;
    }
    std::optional<std::string_view> text(const char* name) const {
        return string_of(get(name), name, "p_metadata");
    }
};

std::optional<store::Pin> checked_pin(const Metadata& metadata) {
    const auto pin = metadata.get("pinned_duroxide_version");
    if (!pin) {
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

store::ExecutionChange checked_execution(const Metadata& metadata) {
    const auto status = metadata.text("status");
    if (status && *status != "Running" && *status != "Completed" && *status != "Failed" &&
        *status != "ContinuedAsNew") {
        pg::raise(pg::kInvalidArgument, "p_metadata.status is not a status",
                  pg::Facts("bad_value").add("path", "p_metadata.status").add("value", *status),
                  "Statuses are Running, Completed, Failed and ContinuedAsNew.");
    }
    return {.status = status,
            .output = metadata.text("output"),
            .pin = checked_pin(metadata),
            .renew = false};
}

StatusChange status_from_metadata(const Metadata& metadata) {
    const auto action = metadata.text("custom_status_action");
    const auto value = metadata.text("custom_status_value");
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
                          "Pass objects of the form {action, key, value, last_updated_at_ms}.");
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
    ack->cancelled = checked_identities(
        checked_array("p_cancelled_activities", args.cancelled_activities, kMaxItems));
}

std::optional<CachedBy> checked_cache(const Metadata& metadata) {
    constexpr const char* kPath = "p_metadata.cache";
    const auto cache = metadata.get("cache");
    if (!cache) {
        return std::nullopt;
    }
    if (cache->kind != json::Kind::kObject) {
        raise_member("wrong_type", "p_metadata", "cache");
    }
    const std::string_view owner = required_string(*cache, "owner", kPath);
    check_label("p_metadata.cache.owner", owner);
    const auto event = optional_int(*cache, "events", kPath);
    if (!event || *event < 0) {
        raise_member(event ? "bad_value" : "missing_field", kPath, "events");
    }
    return CachedBy{owner, *event};
}

void check_metadata(const AckArgs& args, Ack* ack) {
    const Metadata metadata(args.metadata == nullptr ? json::Value{json::Kind::kObject, "{}"}
                                                     : checked_object("p_metadata", args.metadata));
    ack->name = metadata.text("orchestration_name");
    check_label("p_metadata.orchestration_name", ack->name);
    ack->version = metadata.text("orchestration_version");
    ack->parent = metadata.text("parent_instance_id");
    if (ack->parent) {
        check_instance_id("p_metadata.parent_instance_id", *ack->parent);
    }
    ack->execution = checked_execution(metadata);
    ack->custom_status = status_from_metadata(metadata);
    if (!ack->custom_status.present) {
        ack->custom_status = status_from_events(ack->events);
    }
    ack->cached = checked_cache(metadata);
    const auto mutations = metadata.get("kv_mutations");
    if (!mutations) {
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

}  // namespace

Ack checked_ack(const AckArgs& args) {
    Ack ack{};
    if (!args.execution_id || *args.execution_id <= 0) {
        pg::raise_invalid(args.execution_id ? "out_of_range" : "null", "p_execution_id",
                          "p_execution_id must be greater than 0",
                          "Pass an execution id of at least 1.");
    }
    ack.execution_id = *args.execution_id;
    ack.events = checked_events("p_history_delta", args.history_delta);
    check_items(args, &ack);
    check_metadata(args, &ack);
    return ack;
}

}  // namespace belay::ops
