// enqueue_orchestrator_work.cpp — send messages to instances, and the short forms that build them.
//
// Calls    store::insert_message
// Touches  <hub>.orchestrator_queue
// Locks    nothing: inserts never wait
// Raises   QB006 bad item or argument, QB007 clock skew
#include <algorithm>

#include "core/time.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/errors.hpp"
#include "pg/random.hpp"

namespace belay::ops {

namespace {

constexpr std::string_view kItemKeys[] = {"work_item", "instance_id", "visible_at_ms"};

// One item: {"Kind":{"instance":..., fields...}}. Fields come as pairs of name and JSON text.
struct ItemBuilder {
    StringInfo out;

    ItemBuilder(const char* kind, std::string_view instance_id) : out(makeStringInfo()) {
        appendStringInfo(out, "{\"%s\":{\"instance\":", kind);
        append_json(out, instance_id);
    }
    ItemBuilder& text(const char* name, std::string_view value) {
        appendStringInfo(out, ",\"%s\":", name);
        append_json(out, value);
        return *this;
    }
    ItemBuilder& raw(const char* name, const char* value) {
        appendStringInfo(out, ",\"%s\":%s", name, value);
        return *this;
    }
    std::string_view done() {
        appendStringInfoString(out, "}}");
        return {out->data, static_cast<std::size_t>(out->len)};
    }
};

void send(store::Tables& tables, core::ItemKind kind, std::string_view instance_id,
          std::string_view work_item, int64 visible_at, int64 now) {
    (void)store::insert_message(tables, {.instance_id = instance_id,
                                         .work_item = work_item,
                                         .kind = kind,
                                         .visible_at = visible_at,
                                         .created_at = now});
}

// A version-7 uuid: its order is that of the clock.
std::string_view new_instance_id(int64 now) {
    uint8 bytes[UUID_LEN];
    pg::fill_random(bytes, sizeof bytes);
    for (int i = 0; i < 6; ++i) {
        bytes[i] = static_cast<uint8>(now >> (40 - 8 * i));
    }
    bytes[6] = static_cast<uint8>(0x70 | (bytes[6] & 0x0f));
    bytes[8] = static_cast<uint8>(0x80 | (bytes[8] & 0x3f));
    StringInfo out = makeStringInfo();
    for (int i = 0; i < UUID_LEN; ++i) {
        appendStringInfo(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
    }
    return {out->data, static_cast<std::size_t>(out->len)};
}

struct ListedMessage {
    CheckedMessage message;
    std::optional<int64> visible_at;
};

ListedMessage checked_item(core::json::Value element, std::size_t index) {
    const Path path("p_items", index);
    std::optional<core::json::Value> found[std::size(kItemKeys)];
    check_element(element, path, kItemKeys, found);
    const auto& [item, instance_id, visible_at_ms] = found;
    const auto visible_at =
        checked_delay(path.member("visible_at_ms"), int_of(visible_at_ms, "visible_at_ms", path));
    return {checked_message(Item(*item), string_of(instance_id, "instance_id", path),
                            path.member("work_item"), path.member("instance_id")),
            visible_at};
}

}  // namespace

CheckedMessage checked_message(const Item& given, std::optional<std::string_view> instance_id,
                               const Path& item_path, const Path& instance_path) {
    core::Problem problem;
    const auto item = given.read(&problem);
    if (!item) {
        raise_problem(item_path, problem);
    }
    if (!core::for_orchestrator(item->kind) || item->kind == core::ItemKind::kToHub) {
        core::set_problem(&problem, "wrong_kind");
        raise_problem(item_path, problem);
    }
    const auto target = core::routing(*item, &problem);
    if (!target) {
        raise_problem(item_path, problem);
    }
    CheckedMessage message{
        given.text, item->kind, decode(*target), std::nullopt,
        item->kind == core::ItemKind::kOther ? item->raw_kind : std::string_view()};
    if (!is_instance_id(message.instance_id)) {
        const bool sub = item->kind == core::ItemKind::kSubOrchCompleted ||
                         item->kind == core::ItemKind::kSubOrchFailed;
        core::set_problem(&problem, "", item->raw_kind.substr(1, item->raw_kind.size() - 2),
                          sub ? "parent_instance" : "instance");
        check_instance_id(psprintf("%s%s", item_path.text(), problem.path), message.instance_id);
    }
    if (instance_id && *instance_id != message.instance_id) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s is not the target of the item", instance_path.text()),
                  pg::Facts("instance_mismatch")
                      .add("path", instance_path.text())
                      .add("value", *instance_id)
                      .add("item_instance", message.instance_id),
                  "Pass the instance that the item names, or NULL.");
    }
    if (item->kind == core::ItemKind::kTimerFired) {
        int64_t fire_at = 0;
        if (!core::read_timer(*item, &fire_at, &problem)) {
            raise_problem(item_path, problem);
        }
        message.fire_at_ms = fire_at;
    }
    return message;
}

void send_message(store::Tables& tables, const CheckedMessage& message, int64 visible_at,
                  int64 now) {
    if (!message.unknown_kind.empty()) {
        warn_of_unknown_kind(tables, message.unknown_kind);
    }
    send(
        tables, message.kind, message.instance_id, message.work_item,
        message.fire_at_ms.value_or(0) > 0 ? std::max(visible_at, *message.fire_at_ms) : visible_at,
        now);
}

void enqueue_orchestrator_work(store::Tables& tables, const CheckedMessage& message,
                               std::optional<int64> visible_at) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.orchestrator_queue = true}, &clock);
    const int64 now = clock.now();
    send_message(tables, message, visible_at.value_or(now), now);
}

int64 enqueue_orchestrator_items(store::Tables& tables, const JsonArray& items,
                                 std::optional<int64> now) {
    auto* checked = static_cast<ListedMessage*>(palloc(sizeof(ListedMessage) * (items.count + 1)));
    core::json::Elements elements(items.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        checked[i] = checked_item(element, i);
    }
    auto clock = pg::start_clock(now, tables.hub.options[store::Option::kMaxClockSkew]);
    enter(tables, {.orchestrator_queue = true}, &clock);
    for (std::size_t i = 0; i < items.count; ++i) {
        const int64 at = clock.now();
        send_message(tables, checked[i].message, checked[i].visible_at.value_or(at), at);
    }
    return static_cast<int64>(items.count);
}

std::string_view start_orchestration(store::Tables& tables, std::string_view name,
                                     std::string_view input,
                                     std::optional<std::string_view> instance_id,
                                     std::optional<std::string_view> version, int64 delay_ms,
                                     pg::Clock* clock) {
    enter(tables, {.orchestrator_queue = true}, clock);
    const int64 now = clock->now();
    const std::string_view id = instance_id ? *instance_id : new_instance_id(now);
    ItemBuilder item("StartOrchestration", id);
    item.text("orchestration", name).text("input", input);
    if (version) {
        item.text("version", *version);
    } else {
        item.raw("version", "null");
    }
    item.raw("parent_instance", "null").raw("parent_id", "null").raw("execution_id", "1");
    send(tables, core::ItemKind::kStartOrchestration, id, item.done(), core::add_ms(now, delay_ms),
         now);
    return id;
}

void raise_event(store::Tables& tables, std::string_view instance_id, std::string_view name,
                 std::string_view data, bool queued, pg::Clock* clock) {
    enter(tables, {.orchestrator_queue = true}, clock);
    ItemBuilder item(queued ? "QueueMessage" : "ExternalRaised", instance_id);
    item.text("name", name).text("data", data);
    const int64 now = clock->now();
    send(tables, queued ? core::ItemKind::kQueueMessage : core::ItemKind::kExternalRaised,
         instance_id, item.done(), now, now);
}

void cancel_instance(store::Tables& tables, std::string_view instance_id, std::string_view reason,
                     pg::Clock* clock) {
    enter(tables, {.orchestrator_queue = true}, clock);
    ItemBuilder item("CancelInstance", instance_id);
    item.text("reason", reason);
    const int64 now = clock->now();
    send(tables, core::ItemKind::kCancelInstance, instance_id, item.done(), now, now);
}

}  // namespace belay::ops
