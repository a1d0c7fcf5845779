// browse_queues.cpp — work items, messages and dead letters, page by page.
//
// Calls    store::browse_work_items, store::browse_messages, store::browse_dead_letters
// Touches  nothing
// Locks    nothing
// Raises   QB006
// Races    none: one query with the caller's snapshot
// Faults   none: it only reads
#include "ops/browse/browse.hpp"
#include "ops/input.hpp"
#include "pg/clock.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

constexpr const char* kDirections[] = {"newest", "oldest"};
constexpr const char* kWorkKeys[] = {"instance_id", "session_id", "tag",         "name",
                                     "state",       "owner",      "min_attempts"};
constexpr const char* kMessageKeys[] = {"instance_id", "name"};
constexpr const char* kMessageOrders[] = {"newest", "oldest", "parked"};
// The last one is only of the call that discards.
constexpr const char* kDeadKeys[] = {"queue", "reason", "instance_id", "name",
                                     "tag",   "max_id", "ids"};

store::PageRows read_dead_letters(store::Tables& tables, const PageRequest& request) {
    const auto text = [&request](const char* key) {
        return optional_string(request.filter, key, "p_filter");
    };
    return store::browse_dead_letters(
        tables, static_cast<store::Direction>(request.order),
        {.queue = text("queue"),
         .reason = text("reason"),
         .instance_id = text("instance_id"),
         .name = text("name"),
         .tag = text("tag"),
         .max_id = optional_int(request.filter, "max_id", "p_filter")},
        request.range);
}

std::optional<std::string_view> checked_state(core::json::Value filter) {
    const auto state = optional_string(filter, "state", "p_filter");
    if (state && *state != "ready" && *state != "delayed" && *state != "leased") {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized p_filter.state \"%s\"", pg::excerpt(*state)),
                  pg::Facts("bad_value").add("path", "p_filter.state").add("value", *state),
                  "States are ready, delayed and leased.");
    }
    return state;
}

}  // namespace

Jsonb* browse_work_items(store::Tables& tables, const PageArguments& arguments) {
    const auto request = open_page(arguments, kWorkKeys, kDirections);
    const auto text = [&request](const char* key) {
        return optional_string(request.filter, key, "p_filter");
    };
    const auto rows = store::browse_work_items(
        tables, static_cast<store::Direction>(request.order),
        {.instance_id = text("instance_id"),
         .session_id = text("session_id"),
         .tag = text("tag"),
         .name = text("name"),
         .state = checked_state(request.filter),
         .owner = text("owner"),
         .min_attempts = optional_int(request.filter, "min_attempts", "p_filter")},
        pg::server_now_ms(), request.range);
    return page_answer(request, rows,
                       {.documents = {nullptr, nullptr}, .texts = {"work_item", "last_error"}});
}

Jsonb* browse_messages(store::Tables& tables, const PageArguments& arguments) {
    const auto request = open_page(arguments, kMessageKeys, kMessageOrders);
    const auto rows = store::browse_messages(
        tables, static_cast<store::MessageOrder>(request.order),
        {.instance_id = optional_string(request.filter, "instance_id", "p_filter"),
         .session_id = std::nullopt,
         .tag = std::nullopt,
         .name = optional_string(request.filter, "name", "p_filter"),
         .state = std::nullopt,
         .owner = std::nullopt,
         .min_attempts = std::nullopt},
        request.range);
    return page_answer(request, rows,
                       {.documents = {nullptr, nullptr}, .texts = {"work_item", nullptr}});
}

Jsonb* browse_dead_letters(store::Tables& tables, const PageArguments& arguments) {
    const auto request =
        open_page(arguments, std::span(kDeadKeys).first(std::size(kDeadKeys) - 1), kDirections);
    return page_answer(request, read_dead_letters(tables, request),
                       {.documents = {nullptr, nullptr}, .texts = {"work_item", "detail"}});
}

ChosenDeadLetters choose_dead_letters(store::Tables& tables, const char* function,
                                      const BulkArguments& arguments) {
    const auto request = open_portion(function, arguments, kDeadKeys, kDirections);
    ChosenDeadLetters chosen{};
    if (names_objects(request)) {
        const auto ids = optional_ints(request.filter, "ids", "p_filter");
        check_named(ids ? ids->size() : 0);
        for (const int64 id : ids.value_or(std::span<const int64>())) {
            chosen.ids.add(id);
        }
        return chosen;
    }
    const auto rows = chosen_rows(request, read_dead_letters(tables, request));
    for (const auto& row : rows.rows) {
        chosen.ids.add(*optional_int(row, "id", "row"));
    }
    chosen.next = rows.next;
    return chosen;
}

}  // namespace belay::ops
