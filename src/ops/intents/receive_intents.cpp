// receive_intents.cpp — take in what another hub sends, each key once.
//
// Calls    store::record_received, send_message, enqueue_activity
// Touches  <hub>.intents_received, <hub>.orchestrator_queue, <hub>.worker_queue
// Locks    the keys, in their order: two relays that repeat one delivery wait, they do not deadlock
// Raises   QB006 bad element or item
#include <algorithm>

#include "ops/intents/intents.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/durable.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr const char* kKeys[] = {"source_uuid", "intent_id", "queue", "work_item", "visible_at_ms"};

// 32 hexadecimal digits, with hyphens as PostgreSQL prints them.
std::optional<pg_uuid_t> read_uuid(std::string_view text) {
    pg_uuid_t uuid{};
    constexpr std::size_t kPrinted = 36;
    if (text.size() != kPrinted) {
        return std::nullopt;
    }
    int digits = 0;
    for (std::size_t i = 0; i < kPrinted; ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        const auto c = static_cast<unsigned char>(text[i]);
        if (hyphen ? c != '-' : isxdigit(c) == 0) {
            return std::nullopt;
        }
        if (!hyphen) {
            const int value = isdigit(c) != 0 ? c - '0' : (c | 0x20) - 'a' + 10;
            uuid.data[digits / 2] = static_cast<unsigned char>(uuid.data[digits / 2] << 4 | value);
            ++digits;
        }
    }
    return uuid;
}

store::Intent checked_element(json::Value element, std::size_t index) {
    const char* path = psprintf("p_intents[%zu]", index);
    if (element.kind != json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                          "Pass objects of the form {source_uuid, intent_id, queue, work_item}.");
    }
    check_members(element, path, kKeys);
    const auto uuid = read_uuid(required_string(element, "source_uuid", path));
    if (!uuid) {
        raise_member("bad_value", path, "source_uuid");
    }
    const auto id = optional_int(element, "intent_id", path);
    if (!id || *id < 1) {
        raise_member(id ? "bad_value" : "missing_field", path, "intent_id");
    }
    const std::string_view queue = required_string(element, "queue", path);
    if (queue != "orchestrator" && queue != "worker") {
        raise_member("bad_value", path, "queue");
    }
    const auto item = json::find(element, "work_item");
    if (!item || item->kind == json::Kind::kNull) {
        raise_member("missing_field", path, "work_item");
    }
    return {.key = {*uuid, *id},
            .pair = {},
            .target_hub = {},
            .queue = queue,
            .work_item = Item(*item).text,
            .visible_at = optional_int(element, "visible_at_ms", path),
            .created_at = 0,
            .attempts = 0,
            .last_error = std::nullopt};
}

// Ids first: a hub changes its uuid with its incarnation, and continues counting.
bool by_id(const store::Intent& a, const store::Intent& b) {
    return a.key.id != b.key.id
               ? a.key.id < b.key.id
               : memcmp(a.key.source_uuid.data, b.key.source_uuid.data, UUID_LEN) < 0;
}

// The item as the target queue takes it; the source may be of another release, or its owner may
// have changed the row.
struct Arriving {
    bool is_activity;
    CheckedMessage message;
    CheckedActivity activity;
};

Arriving checked_item(const store::Intent& intent) {
    const char* path = psprintf("intent " INT64_FORMAT ": work_item", intent.key.id);
    Arriving arriving{};
    arriving.is_activity = intent.queue == "worker";
    if (arriving.is_activity) {
        arriving.activity = checked_activity(intent.work_item, {}, path, "");
    } else {
        arriving.message = checked_message(intent.work_item, std::nullopt, path, path);
    }
    return arriving;
}

}  // namespace

int64 take_in(store::Tables& tables, std::span<const store::Intent> intents, int64 now) {
    auto* sorted =
        static_cast<store::Intent*>(palloc(sizeof(store::Intent) * (intents.size() + 1)));
    std::copy(intents.begin(), intents.end(), sorted);
    // Of one source the order of ids is the order of delivery. A call that brings the same keys
    // inserts them in this order, too, so no transactions wait in a circle.
    std::sort(sorted, sorted + intents.size(), by_id);
    int64 taken = 0;
    for (std::size_t i = 0; i < intents.size(); ++i) {
        const store::Intent& intent = sorted[i];
        const Arriving arriving = checked_item(intent);
        if (!store::record_received(tables, intent.key, now)) {
            continue;
        }
        const int64 visible_at = std::max(intent.visible_at.value_or(now), now);
        if (arriving.is_activity) {
            enqueue_activity(tables, arriving.activity, now, visible_at);
        } else {
            send_message(tables, arriving.message, visible_at, now);
        }
        ++taken;
    }
    return taken;
}

int64 receive_intents(store::Tables& tables, const JsonArray& intents) {
    auto* checked =
        static_cast<store::Intent*>(palloc(sizeof(store::Intent) * (intents.count + 1)));
    json::Elements elements(intents.array);
    json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        checked[i] = checked_element(element, i);
    }
    // The source deletes what has arrived.
    pg::flush_at_commit();
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.worker_queue = true, .orchestrator_queue = true}, &clock);
    return take_in(tables, {checked, intents.count}, clock.now());
}

}  // namespace belay::ops
