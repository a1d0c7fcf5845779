// send.cpp — create tasks of one queue that are alike but for payload and key.
//
// Calls    create_tasks
// Touches  <hub>.tasks, <hub>.dedup_keys, <hub>.queues
// Locks    as create_tasks
// Raises   QB006, QB007, QB016
#include "ops/front_door/front_door.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

void check(store::Tables& tables, const SendRequest& request) {
    if (request.kind) {
        (void)checked_word("kind", *request.kind);
    }
    if (request.priority < 0 || request.priority > core::kMaxPriority) {
        pg::raise(pg::kInvalidArgument, "priority must be from 0 to 9000",
                  pg::Facts("out_of_range").add("path", "priority").add("value", request.priority),
                  "Pass 0 for the default; tasks with a higher priority are received first.");
    }
    if (request.headers != nullptr) {
        check_tags("headers", checked_body(tables, "headers", request.headers));
    }
    check_policy("policy", checked_body(tables, "policy", request.policy));
}

}  // namespace

std::span<const CreatedTask> send(store::Tables& tables, const SendRequest& request,
                                  std::span<const SentPayload> payloads, pg::Clock* clock) {
    check(tables, request);
    Jsonb* headers =
        request.headers != nullptr ? request.headers : DatumGetJsonbP(pg::jsonb_datum("{}"));
    auto* requests = static_cast<TaskRequest*>(palloc(sizeof(TaskRequest) * (payloads.size() + 1)));
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        const SentPayload& sent = payloads[i];
        (void)checked_body(tables, sent.path, sent.payload);
        if (sent.key) {
            (void)checked_word(sent.key_path, *sent.key);
        }
        requests[i] = {.path = std::nullopt,
                       .id = std::nullopt,
                       .queue = request.queue,
                       .kind = request.kind.value_or(""),
                       .priority = request.priority,
                       .delay_ms = request.delay_ms,
                       .available_at = request.at,
                       .deadline = std::nullopt,
                       .deadline_in_ms = std::nullopt,
                       .capabilities = {},
                       .dedup_key = sent.key,
                       .dedup_window_ms = kDedupWindowMs,
                       .payload = sent.payload,
                       .tags = headers,
                       .policy = request.policy};
    }
    return create_tasks(tables, {requests, payloads.size()}, clock);
}

}  // namespace belay::ops
