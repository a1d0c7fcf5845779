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
    const auto request = open_page(arguments, kKeys, kOrders);
    const auto rows = store::browse_tasks(tables.hub, static_cast<store::TaskOrder>(request.order),
                                          task_page_filter(request.filter), request.range);
    return page_answer(
        request, rows,
        {.documents = {"payload", "result"}, .texts = {"failure_message", "progress_message"}});
}

}  // namespace belay::ops
