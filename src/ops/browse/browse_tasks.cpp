// browse_tasks.cpp — tasks, page by page, in the order of one index.
//
// Calls    store::browse_tasks
// Touches  nothing
// Locks    nothing
// Raises   QB006
// Races    none: one query with the caller's snapshot
// Faults   none: it only reads
#include "ops/browse/browse.hpp"
#include "ops/input.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

// The last one is only of calls that act on tasks.
constexpr const char* kKeys[] = {
    "queue",
    "state",
    "flow_id",
    "kind",
    "tags",
    "worker",
    "worker_instance",
    "payload",
    "result",
    "failure",
    "created_from_ms",
    "created_to_ms",
    "pending_attempt",
    "message",
    "dedup_key",
    "flow_key",
    "upto",
    "ids",
};
// As store::TaskOrder.
constexpr const char* kOrders[] = {"created", "ended", "failed", "due", "lease", "claim", "parked"};

}  // namespace

store::TaskPageFilter task_page_filter(core::json::Value filter) {
    return {.queue = optional_string(filter, "queue", "p_filter"),
            .states = checked_states(filter),
            .flow_id = optional_uuid(filter, "flow_id", "p_filter"),
            .kind = optional_string(filter, "kind", "p_filter"),
            .tags = object_member(filter, "tags", "p_filter"),
            .worker = optional_string(filter, "worker", "p_filter"),
            .worker_instance = optional_string(filter, "worker_instance", "p_filter"),
            .created_from = optional_int(filter, "created_from_ms", "p_filter"),
            .created_to = optional_int(filter, "created_to_ms", "p_filter"),
            .pending = checked_pending(filter),
            .payload = jsonb_member(filter, "payload"),
            .result = jsonb_member(filter, "result"),
            .failure = jsonb_member(filter, "failure"),
            .message = optional_string(filter, "message", "p_filter"),
            .dedup_key = optional_string(filter, "dedup_key", "p_filter"),
            .flow_key = optional_string(filter, "flow_key", "p_filter"),
            .upto = optional_uuid(filter, "upto", "p_filter")};
}

Jsonb* browse_tasks(store::Tables& tables, const PageArguments& arguments) {
    const auto request =
        open_page(arguments, std::span(kKeys).first(std::size(kKeys) - 1), kOrders);
    const auto rows = store::browse_tasks(tables.hub, static_cast<store::TaskOrder>(request.order),
                                          task_page_filter(request.filter), request.range);
    return page_answer(
        request, rows,
        {.documents = {"payload", "result"}, .texts = {"failure_message", "progress_message"}});
}

ChosenTasks choose_tasks(store::Tables& tables, const char* function,
                         const BulkArguments& arguments) {
    const auto request = open_portion(function, arguments, kKeys, kOrders);
    const auto add = [](ChosenTasks* chosen, std::string_view text) {
        const auto id = parse_uuid(text);
        if (!id) {
            pg::raise_invalid("bad_value", "p_filter.ids",
                              "p_filter.ids has an element that is no uuid",
                              "Pass the ids of tasks.");
        }
        chosen->ids.add(*id);
    };
    ChosenTasks chosen{};
    if (names_objects(request)) {
        const auto ids = optional_texts(request.filter, "ids", "p_filter");
        check_named(ids ? ids->size() : 0);
        for (const auto id : ids.value_or(std::span<const std::string_view>())) {
            add(&chosen, id);
        }
        return chosen;
    }
    const auto filter = task_page_filter(request.filter);
    const auto rows = chosen_rows(
        request, store::browse_tasks(tables.hub, static_cast<store::TaskOrder>(request.order),
                                     filter, request.range));
    for (const auto& row : rows.rows) {
        add(&chosen, required_string(row, "task_id", "row"));
    }
    chosen.states = filter.states;
    chosen.next = rows.next;
    return chosen;
}

}  // namespace belay::ops
