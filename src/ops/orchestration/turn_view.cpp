// turn_view.cpp — what a turn is made of, read in one view: the instance, its visible messages, the
// history and the state; and the context that they give.
//
// Calls    store::read_instance, store::visible_messages, store::read_turns, store::read_arrivals
// Touches  nothing; reads <hub>.instances, <hub>.orchestrator_queue, <hub>.history_turns and
//          <hub>.kv_store
// Locks    nothing
// Raises   nothing itself
#include "ops/orchestration/turn_view.hpp"

#include <algorithm>

#include "core/name_pins.hpp"
#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/history.hpp"
#include "store/kv.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr int64 kMaxHistoryBytes = int64{64} << 20;
constexpr int kHistoryPage = 256;  // rows
constexpr std::size_t kMaxStringElement = std::size_t{32} << 20;
constexpr std::size_t kCutStringElement = std::size_t{1} << 20;
constexpr int64 kMaxSnapshotBytes = int64{64} << 20;

// The bytes of jsonb that elements handed out as they stand may take in one array. What does not
// find room goes as a string, which takes its own length: for that the rest of an array is left.
struct Room {
    std::size_t bytes;

    explicit Room(store::Api api)
        : bytes(api == store::Api::kDuroxidePg ? json::kMaxJsonbBytes - kMaxHistoryBytes
                                               : SIZE_MAX) {}
};

// A text as an element of a JSON array: as it stands if jsonb could hold it, else as a string. Of a
// text that no string could hold only the beginning is handed out: what follows would not be JSON
// for a client either, and its messages must not be stuck.
void append_element(StringInfo out, std::string_view text, Room* room) {
    const auto bound = json::jsonb_bound(text);
    if (bound && *bound <= room->bytes) {
        room->bytes -= *bound;
        appendBinaryStringInfo(out, text.data(), static_cast<int>(text.size()));
    } else if (text.size() > kMaxStringElement) {
        append_json(out, clip(text, kCutStringElement));
    } else {
        append_json(out, text);
    }
}

std::optional<std::string_view> string_member(json::Value object, const char* name) {
    const auto value = json::find(object, name);
    if (!value || value->kind != json::Kind::kString || json::inspect(*value).has_nul) {
        return std::nullopt;
    }
    return decode(*value);
}

// Notes name and version of an OrchestrationStarted event that can be read.
void read_started(View* view, std::string_view text) {
    if (view->started_name) {
        return;
    }
    const auto event = json::parse(text);
    if (!event || event->kind != json::Kind::kObject ||
        string_member(*event, "type") != "OrchestrationStarted") {
        return;
    }
    view->started_name = string_member(*event, "name");
    view->started_version = string_member(*event, "version");
}

// A history on its way into one JSON array.
struct HistoryJson {
    StringInfo out;
    Room room;
    int64 bytes;  // of its events
    bool too_large;
    bool find_start;
};

// Whether the events of a row go as they stand, which was found when they were stored.
bool takes_room(const store::StoredTurn& turn, Room* room) {
    const auto bytes = static_cast<std::size_t>(turn.jsonb_bytes.value_or(0));
    if (!turn.jsonb_bytes || bytes > room->bytes) {
        return false;
    }
    room->bytes -= bytes;
    return true;
}

// The events of a row behind one, unless they do not fit any more.
void append_events(const store::StoredTurn& turn, int64 behind, HistoryJson* json, View* view) {
    // By the stored length, so that a huge history is not read at all.
    json->too_large = json->too_large || (turn.first_event_id > behind &&
                                          json->bytes + turn.least_bytes() > kMaxHistoryBytes);
    if (json->too_large && !json->find_start) {
        return;
    }
    const auto events = turn.events();
    const bool as_they_stand = takes_room(turn, &json->room);
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (turn.first_event_id + static_cast<int64>(i) <= behind) {
            continue;
        }
        const std::string_view text = events[i];
        json->bytes += static_cast<int64>(text.size());
        json->too_large = json->too_large || json->bytes > kMaxHistoryBytes;
        if (json->find_start) {
            read_started(view, text);
        }
        if (!json->too_large) {
            if (json->out->len > 1) {
                appendStringInfoChar(json->out, ',');
            }
            if (as_they_stand) {
                appendBinaryStringInfo(json->out, text.data(), static_cast<int>(text.size()));
            } else {
                append_element(json->out, text, &json->room);
            }
        }
    }
}

// Copies the history, or what comes behind an event, into one JSON array, unless that is too large
// to be handed out.
void read_history_json(store::Tables& tables, std::string_view instance_id, int64 execution_id,
                       int64 behind, bool find_start, View* view) {
    HistoryJson json{.out = makeStringInfo(),
                     .room = Room(tables.hub.api),
                     .bytes = 0,
                     .too_large = false,
                     .find_start = find_start};
    appendStringInfoChar(json.out, '[');
    int64 after = behind > 0 ? behind : PG_INT64_MIN;
    const auto is_done = [&] { return json.too_large && (!find_start || view->started_name); };
    for (bool more = true; more && !is_done();) {
        const auto page = store::read_turns(tables, instance_id, execution_id, after, kHistoryPage);
        for (const store::StoredTurn& turn : page) {
            append_events(turn, after, &json, view);
            after = turn.last_event_id;
            if (is_done()) {
                break;
            }
        }
        more = page.size() == static_cast<std::size_t>(kHistoryPage);
    }
    appendStringInfoChar(json.out, ']');
    if (json.too_large) {
        view->last_event_id = store::last_event_id(tables, instance_id, execution_id);
        return;
    }
    if (after != PG_INT64_MIN) {
        view->last_event_id = after;
    }
    view->history = std::string_view(json.out->data, static_cast<std::size_t>(json.out->len));
}

// No value for a snapshot that is too large to be handed out whole: a client then reads it with
// get_kv_all_values.
std::optional<std::string_view> kv_json(store::Tables& tables, std::string_view instance_id) {
    const auto values = store::read_store(tables, instance_id);
    int64 bytes = 0;
    for (const store::KeptValue& value : values) {
        constexpr int64 kAround = 64;  // names, brackets and the time
        bytes += kAround + VARHDRSZ + static_cast<int64>(value.key.size()) +
                 static_cast<int64>(toast_raw_datum_size(value.value));
    }
    if (bytes > kMaxSnapshotBytes) {
        return std::nullopt;
    }
    StringInfo out = makeStringInfo();
    appendStringInfoChar(out, '{');
    for (const store::KeptValue& value : values) {
        if (out->len > 1) {
            appendStringInfoChar(out, ',');
        }
        append_json(out, value.key);
        appendStringInfoString(out, ":{\"value\":");
        append_json(out, pg::text_view(value.value));
        appendStringInfo(out, ",\"last_updated_at_ms\":" INT64_FORMAT "}", value.updated_at);
    }
    appendStringInfoChar(out, '}');
    return std::string_view(out->data, static_cast<std::size_t>(out->len));
}

// The history of the current execution, without what the caller has cached. Unless the lock's hint
// is exact, it is believed only if the history reaches as far as it says.
void read_current_history(const TurnSource& from, std::string_view instance_id,
                          const core::CacheHint& cache, View* view) {
    const int64 execution_id = view->instance->current_execution_id;
    const auto& owner = from.request.cache_owner;
    if (owner && cache.event > 0 &&
        cache.is_of(core::cache_owner(*owner, from.tables.hub.incarnation, execution_id))) {
        view->last_event_id = cache.is_exact()
                                  ? cache.event
                                  : store::last_event_id(from.tables, instance_id, execution_id);
        if (view->last_event_id == cache.event) {
            view->history = "[]";
            view->history_after = cache.event;
            return;
        }
        view->history_after = view->last_event_id > cache.event ? cache.event : 0;
    }
    read_history_json(from.tables, instance_id, execution_id, view->history_after, false, view);
}

}  // namespace

bool InstanceFilter::includes(const std::optional<store::Pin>& pin,
                              std::optional<std::string_view> name) const {
    if (pin || !name) {
        return passes(request.versions, pin) && (!name || request.names.has(*name));
    }
    const auto found = std::find_if(
        name_pins.begin(), name_pins.end(),
        [&name](const PatternPin& pinned) { return core::matches_pattern(pinned.pattern, *name); });
    return request.names.has(*name) &&
           (found == name_pins.end() || passes(request.versions, found->pin));
}

InstanceFilter filter_of(const store::Hub& hub, const TurnRequest& request) {
    if (hub.name_pins == nullptr || !asks_for_pins(request.versions)) {
        return {request, {}};
    }
    core::NamePin pins[core::kMaxNamePins];
    const std::size_t count = core::read_name_pins(hub.name_pins, pins);
    pg::List<PatternPin> found;
    for (const core::NamePin& pin : std::span(pins, count)) {
        found.add({decode(pin.pattern), {pin.parts[0], pin.parts[1], pin.parts[2]}});
    }
    return {request, found.span()};
}

std::span<const store::BatchMessage> visible_page(const TurnSource& from,
                                                  std::string_view instance_id, int64 after_id) {
    return store::visible_messages(from.tables, instance_id, from.clock->now(), after_id,
                                   from.tables.hub.options[store::Option::kBatchMessages]);
}

View read_view(const TurnSource& from, std::string_view instance_id, const core::CacheHint& cache) {
    View view{};
    view.instance =
        store::read_instance(from.tables, instance_id, asks_for_pins(from.request.versions));
    view.messages = visible_page(from, instance_id, PG_INT64_MIN);
    if (view.instance) {
        if (passes(from.request.versions, view.instance->pin)) {
            read_current_history(from, instance_id, cache, &view);
        }
    } else {
        view.history_execution = store::latest_execution_with_history(from.tables, instance_id);
        view.arrived = store::read_arrivals(from.tables, instance_id, from.clock->now());
        if (view.history_execution) {
            read_history_json(from.tables, instance_id, *view.history_execution, 0, true, &view);
        } else {
            view.history = "[]";
        }
    }
    view.kv_snapshot = kv_json(from.tables, instance_id);
    return view;
}

Context start_context(const std::optional<store::StartMessage>& start, int64 execution_id) {
    Context context{"Unknown", "unknown", execution_id};
    const auto item = start ? core::parse_work_item(start->work_item, nullptr) : std::nullopt;
    if (item) {
        context.name = string_member(item->body, "orchestration").value_or(context.name);
        context.version = string_member(item->body, "version").value_or(context.version);
    }
    return context;
}

std::optional<Context> find_context(const View& view) {
    if (view.instance) {
        return Context{view.instance->name, view.instance->version.value_or("unknown"),
                       view.instance->current_execution_id};
    }
    if (view.history_execution) {
        if (view.started_name) {
            return Context{*view.started_name, view.started_version.value_or("unknown"),
                           *view.history_execution};
        }
        return start_context(view.arrived.start, *view.history_execution);
    }
    return view.arrived.start ? std::optional(start_context(view.arrived.start, 1)) : std::nullopt;
}

std::string_view messages_json(store::Tables& tables,
                               std::span<const store::LeasedMessage> messages) {
    StringInfo out = makeStringInfo();
    Room room(tables.hub.api);
    appendStringInfoChar(out, '[');
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i > 0) {
            appendStringInfoChar(out, ',');
        }
        append_element(out, messages[i].work_item, &room);
    }
    appendStringInfoChar(out, ']');
    return {out->data, static_cast<std::size_t>(out->len)};
}

}  // namespace belay::ops
