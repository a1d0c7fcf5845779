// history.cpp — check, append and read events.
//
// Calls    store::insert_events, store::upsert_execution, store::unpark_messages
// Touches  <hub>.history_turns, <hub>.executions, <hub>.orchestrator_queue
// Locks    the instance's exclusion (append_history)
// Raises   QB005 duplicate event, QB006 bad event
#include <algorithm>

#include "core/hash.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"
#include "pg/locks.hpp"
#include "store/history.hpp"
#include "store/instances.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr std::size_t kMaxEvents = 100000;

struct Event {
    int64 id;
    std::string_view type;
    std::string_view text;
    json::Value body;
    std::string_view own_type;
    std::optional<int64> jsonb_bytes;
};

// A positive id, given as a whole number.
int64 checked_event_id(const JsonbValue& event, const Path& path) {
    const auto given = pg::member(event, "event_id");
    core::Problem problem;
    if (given && given->type != jbvNumeric) {
        core::set_problem(&problem, "wrong_type", "event_id");
        raise_problem(path, problem);
    }
    const auto id =
        given ? json::as_int64({json::Kind::kNumber, pg::print_number(*given)}) : std::nullopt;
    if (given && !id) {
        core::set_problem(&problem, "bad_value", "event_id");
        raise_problem(path, problem);
    }
    if (!id || *id <= 0) {
        const char* id_path = path.member("event_id").text();
        pg::raise_invalid(id ? "out_of_range" : "missing_field", id_path,
                          psprintf("%s must be greater than 0", id_path),
                          "Pass an event id of at least 1.");
    }
    return *id;
}

Event checked_event(const JsonbValue& element, const Path& path) {
    if (element.type != jbvBinary || !JsonContainerIsObject(element.val.binary.data)) {
        pg::raise_invalid("not_an_object", path.text(),
                          psprintf("%s is not a JSON object", path.text()),
                          "Pass objects of the form {event_id, event_type, event_data}.");
    }
    const int64 id = checked_event_id(element, path);
    const auto data = pg::any_member(element, "event_data");
    if (!data || data->type != jbvString) {
        const char* data_path = path.member("event_data").text();
        pg::raise_invalid(data ? "wrong_type" : "missing_field", data_path,
                          psprintf("%s must be a string that holds the event's JSON", data_path),
                          "Send the event as text.");
    }
    const std::string_view text = pg::string_view_of(*data);
    const auto as_jsonb = json::parse_jsonb(text, "type");
    const auto body = as_jsonb ? std::optional(as_jsonb->value) : json::parse(text);
    if (!body || body->kind != json::Kind::kObject) {
        const char* data_path = path.member("event_data").text();
        pg::raise_invalid(body ? "not_an_object" : "not_json", data_path,
                          psprintf("%s is not a JSON object", data_path), "Send one JSON object.");
    }
    const auto bytes = as_jsonb ? std::optional(static_cast<int64>(as_jsonb->bound)) : std::nullopt;
    // The event's own type counts; the caller's word only if the event has none that is readable.
    const auto own = as_jsonb ? as_jsonb->member : json::find(*body, "type");
    if (own && own->kind == json::Kind::kString && !json::inspect(*own).has_nul) {
        const std::string_view type = decode(*own);
        return {id, type, text, *body, type, bytes};
    }
    const auto type = pg::member(element, "event_type");
    if (type && type->type != jbvString) {
        core::Problem problem;
        core::set_problem(&problem, "wrong_type", "event_type");
        raise_problem(path, problem);
    }
    return {id, type ? pg::string_view_of(*type) : "", text, *body, "", bytes};
}

}  // namespace

CheckedEvents checked_events(const char* path, Jsonb* value) {
    const std::size_t count = checked_count(path, value, kMaxEvents);
    auto* ids = static_cast<int64*>(palloc(sizeof(int64) * (count + 1)));
    auto* types = static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (count + 1)));
    auto* texts = static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (count + 1)));
    auto* own_types =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (count + 1)));
    auto* bodies = static_cast<json::Value*>(palloc(sizeof(json::Value) * (count + 1)));
    auto* bytes =
        static_cast<std::optional<int64>*>(palloc(sizeof(std::optional<int64>) * (count + 1)));
    if (count > 0) {
        pg::each_element(value, [&](const JsonbValue& element, std::size_t i) {
            const Event event = checked_event(element, Path(path, i));
            ids[i] = event.id;
            types[i] = event.type;
            texts[i] = event.text;
            bodies[i] = event.body;
            own_types[i] = event.own_type;
            bytes[i] = event.jsonb_bytes;
        });
    }
    int64 repeated = 0;
    auto* sorted = static_cast<int64*>(palloc(sizeof(int64) * (count + 1)));
    std::copy(ids, ids + count, sorted);
    std::sort(sorted, sorted + count);
    for (std::size_t i = 1; i < count; ++i) {
        repeated += sorted[i] == sorted[i - 1] ? 1 : 0;
    }
    return {.count = count,
            .sorted_ids = {sorted, count},
            .repeated = repeated,
            .rows = {{ids, count}, {types, count}, {texts, count}, {bytes, count}},
            .events = bodies,
            .own_types = own_types};
}

Addition examine_addition(store::Tables& tables, std::string_view instance_id, int64 execution_id,
                          const CheckedEvents& events, std::optional<int64> known_end) {
    if (events.count == 0) {
        return {0, known_end};
    }
    const int64 last = events.sorted_ids.back();
    if (known_end && events.sorted_ids.front() > *known_end) {
        return {events.repeated, last};
    }
    const auto stored = store::find_stored(tables, instance_id, execution_id, events.sorted_ids);
    return {events.repeated + stored.same, stored.reach ? std::nullopt : std::optional(last)};
}

void raise_duplicates(std::string_view instance_id, int64 execution_id, int64 duplicates) {
    pg::raise(pg::kDuplicateEvent,
              psprintf("Duplicate history event: instance %s, execution " INT64_FORMAT,
                       pg::c_string(instance_id.substr(0, 256)), execution_id),
              pg::Facts("duplicate_event")
                  .add("instance_id", instance_id)
                  .add("execution_id", execution_id)
                  .add("duplicates", duplicates),
              "Use event ids that this execution does not have yet.");
}

void append_history(store::Tables& tables, std::string_view instance_id, int64 execution_id,
                    const CheckedEvents& events) {
    // A fetch that finds the instance without history may set its messages aside. The exclusion
    // keeps it from doing so while the history is being written.
    pg::lock_instance(tables.hub.schema, core::instance_key(instance_id));
    store::extend_instance(
        tables, instance_id,
        events.count > 0 ? std::optional(events.sorted_ids.front()) : std::nullopt);
    const int64 now = pg::server_now_ms();
    (void)store::upsert_execution(tables, instance_id, execution_id,
                                  {.status = std::nullopt,
                                   .output = std::nullopt,
                                   .pin = std::nullopt,
                                   .renew = events.count > 0},  // against its removal
                                  now);
    const Addition addition =
        examine_addition(tables, instance_id, execution_id, events, std::nullopt);
    if (addition.duplicates > 0) {
        raise_duplicates(instance_id, execution_id, addition.duplicates);
    }
    if (events.count > 0) {
        store::insert_events(tables, instance_id, execution_id, events.rows, now);
    }
    store::settle_parked(tables, instance_id, -1);
}

store::Listing fetch_history(store::Tables& tables, std::string_view instance_id,
                             std::optional<int64> execution_id) {
    const int64 execution =
        execution_id ? *execution_id : store::latest_execution(tables, instance_id).value_or(1);
    return store::event_texts(tables, instance_id, execution);
}

store::Listing read_history(store::Tables& tables, std::string_view instance_id,
                            std::optional<int64> execution_id, std::optional<int64> after_event_id,
                            std::optional<int32> limit) {
    const auto most = checked_list_limit(limit, "events");
    const int64 execution =
        execution_id ? *execution_id : store::latest_execution(tables, instance_id).value_or(1);
    return store::list_events(tables, instance_id, execution, after_event_id.value_or(PG_INT64_MIN),
                              most);
}

}  // namespace belay::ops
