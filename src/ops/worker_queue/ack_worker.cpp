// ack_worker.cpp — finish leased activities and send their completions.
//
// Calls    store::delete_live, store::delete_work, settle_work
// Touches  <hub>.worker_queue, <hub>.orchestrator_queue, <hub>.sessions
// Locks    worker rows by key, then sessions by id
// Raises   QB001 lock lost (ack_workers reports it instead), QB006 bad completion
#include "ops/guard/guard.hpp"
#include "ops/lost_lease.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

constexpr const char* kDuroxideText = "Worker queue item not found or already processed";

store::WorkRow finish(store::Tables& tables, std::optional<std::string_view> token,
                      const std::optional<core::WorkToken>& parsed, pg::Clock* clock) {
    const HeldWork held = delete_or_hold(tables, token, parsed, clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost(tables, store::Queue::kWorker, kDuroxideText, token.value_or(""),
                        held.fault, held.locked_until);
    }
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kAcked);
    return *held.row;
}

constexpr std::string_view kAckKeys[] = {"lock_token", "instance_id", "completion_json"};

// One element of p_acks.
WorkOutcome checked_ack(core::json::Value element, std::size_t index) {
    const Path path("p_acks", index);
    if (element.kind != core::json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path.text(),
                          psprintf("%s is not a JSON object", path.text()),
                          "Pass objects that have a key lock_token.");
    }
    WorkOutcome ack{};
    std::optional<core::json::Value> found[std::size(kAckKeys)];
    (void)core::json::find_each(element, kAckKeys, found);
    const auto& [lock_token, instance, completion] = found;
    if (!lock_token) {
        const char* token_path = path.member("lock_token").text();
        pg::raise_invalid("missing_field", token_path, psprintf("%s is missing", token_path),
                          "Pass objects that have a key lock_token.");
    }
    ack.token = string_of(lock_token, "lock_token", path);
    const auto instance_id = string_of(instance, "instance_id", path);
    if (completion && completion->kind != core::json::Kind::kNull) {
        ack.completion = checked_completion(path.member("completion_json"), Item(*completion),
                                            path.member("instance_id"), instance_id);
    }
    return ack;
}

}  // namespace

HeldWork delete_or_hold(store::Tables& tables, std::optional<std::string_view> token,
                        const std::optional<core::WorkToken>& parsed, pg::Clock* clock) {
    if (parsed && parsed->incarnation == tables.hub.incarnation) {
        if (const auto row = store::delete_live(tables, *parsed, clock->now())) {
            return {row, core::LeaseFault::kNone, row->lease.locked_until};
        }
    }
    const HeldWork held = hold_work(tables, token, clock);
    if (held.fault == core::LeaseFault::kNone) {
        store::delete_work(tables, held.row->key);
    }
    return held;
}

void ack_worker(store::Tables& tables, std::optional<std::string_view> token,
                std::optional<Completion> completion, pg::Clock* clock) {
    const auto parsed = token ? core::decode_work_token(*token) : std::nullopt;
    enter(tables,
          {.worker_queue = true,
           .orchestrator_queue = completion.has_value(),
           .sessions = names_session(parsed)},
          clock);
    const store::WorkRow row = finish(tables, token, parsed, clock);
    allow_ended_lease(row.lease);
    touch_session(tables, row, clock);
    if (completion) {
        send_completion(tables, *completion, clock->now());
    }
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
}

std::span<const WorkOutcome> ack_workers(store::Tables& tables, const JsonArray& input,
                                         std::optional<int64> now) {
    auto* acks = static_cast<WorkOutcome*>(palloc(sizeof(WorkOutcome) * (input.count + 1)));
    core::json::Elements elements(input.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        acks[i] = checked_ack(element, i);
    }
    auto clock = pg::start_clock(now, tables.hub.options[store::Option::kMaxClockSkew]);
    settle_work(tables, {acks, input.count}, &clock);
    return {acks, input.count};
}

}  // namespace belay::ops
