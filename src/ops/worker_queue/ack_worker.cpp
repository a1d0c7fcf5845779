// ack_worker.cpp — finish leased activities and send their completions.
//
// Calls    store::delete_live, store::delete_work, store::insert_message, store::touch_session
// Touches  <hub>.worker_queue, <hub>.orchestrator_queue, <hub>.sessions
// Locks    worker rows by key, then sessions by id
// Raises   QB001 lock lost (ack_workers reports it instead), QB006 bad completion
#include <algorithm>

#include "ops/guard/guard.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/counters.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::ops {

namespace {

constexpr const char* kMessage = "Worker queue item not found or already processed";

void send(const store::Hub& hub, const Completion& completion, int64 now) {
    (void)store::insert_message(hub, {.instance_id = completion.instance_id,
                                      .work_item = completion.text,
                                      .kind = completion.kind,
                                      .visible_at = now,
                                      .created_at = now});
}

// The quick way: a live lease that nobody else holds goes in one statement. The slow way waits for
// the row and finds out what is wrong.
HeldWork delete_or_hold(const store::Hub& hub, std::optional<std::string_view> token,
                        const std::optional<core::WorkToken>& parsed, pg::Clock* clock) {
    if (parsed && parsed->incarnation == hub.incarnation) {
        if (const auto row = store::delete_live(hub, *parsed, clock->now())) {
            return {row, core::LeaseFault::kNone, row->lease.locked_until};
        }
    }
    const HeldWork held = hold_work(hub, token, clock);
    if (held.fault == core::LeaseFault::kNone) {
        store::delete_work(hub, held.row->key);
    }
    return held;
}

store::WorkRow finish(const store::Hub& hub, std::optional<std::string_view> token,
                      const std::optional<core::WorkToken>& parsed, pg::Clock* clock) {
    const HeldWork held = delete_or_hold(hub, token, parsed, clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost(kMessage, token.value_or(""), held.fault, held.locked_until);
    }
    pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kAcked);
    return *held.row;
}

// One element of p_acks.
struct Ack {
    std::size_t index;
    std::optional<std::string_view> token;
    std::optional<core::WorkToken> parsed;
    std::optional<Completion> completion;
    std::optional<store::WorkRow> row;
    bool acked;
};

constexpr std::string_view kAckKeys[] = {"lock_token", "instance_id", "completion_json"};

Ack checked_ack(core::json::Value element, std::size_t index) {
    const Path path("p_acks", index);
    if (element.kind != core::json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path.text(),
                          psprintf("%s is not a JSON object", path.text()),
                          "Each element is an object with a key lock_token.");
    }
    Ack ack{};
    ack.index = index;
    std::optional<core::json::Value> found[std::size(kAckKeys)];
    (void)core::json::find_each(element, kAckKeys, found);
    const auto& [lock_token, instance, completion] = found;
    if (!lock_token) {
        const char* token_path = path.member("lock_token").text();
        pg::raise_invalid("missing_field", token_path, psprintf("%s is missing", token_path),
                          "Each element is an object with a key lock_token.");
    }
    ack.token = string_of(lock_token, "lock_token", path);
    ack.parsed = ack.token ? core::decode_work_token(*ack.token) : std::nullopt;
    const auto instance_id = string_of(instance, "instance_id", path);
    if (completion && completion->kind != core::json::Kind::kNull) {
        ack.completion = checked_completion(path.member("completion_json"), Item(*completion),
                                            path.member("instance_id"), instance_id);
    }
    return ack;
}

// Rows are locked in key order, whatever the input order; equal tokens stay in input order.
bool by_key(const Ack* a, const Ack* b) {
    const auto order = store::key_of(a->parsed) <=> store::key_of(b->parsed);
    return order != 0 ? order < 0 : a->index < b->index;
}

// Notes activity of the sessions whose rows were acked, each once, in the order of their ids.
void touch_sessions(const store::Hub& hub, std::span<Ack> acks, pg::Clock* clock) {
    auto** touched = static_cast<Ack**>(palloc(sizeof(Ack*) * (acks.size() + 1)));
    std::size_t count = 0;
    for (auto& ack : acks) {
        if (ack.acked && ack.row->session_id && ack.row->locked_by) {
            touched[count++] = &ack;
        }
    }
    std::sort(touched, touched + count, [](const Ack* a, const Ack* b) {
        return std::pair(*a->row->session_id, *a->row->locked_by) <
               std::pair(*b->row->session_id, *b->row->locked_by);
    });
    for (std::size_t i = 0; i < count; ++i) {
        const auto& row = *touched[i]->row;
        if (i == 0 || row.session_id != touched[i - 1]->row->session_id ||
            row.locked_by != touched[i - 1]->row->locked_by) {
            touch_session(hub, row, clock);
        }
    }
}

}  // namespace

void ack_worker(const store::Hub& hub, std::optional<std::string_view> token,
                std::optional<Completion> completion, pg::Clock* clock) {
    const auto parsed = token ? core::decode_work_token(*token) : std::nullopt;
    enter(hub,
          {.worker_queue = true,
           .orchestrator_queue = completion.has_value(),
           .sessions = names_session(parsed)},
          clock);
    const store::WorkRow row = finish(hub, token, parsed, clock);
    note_finished(row.lease);
    touch_session(hub, row, clock);
    if (completion) {
        send(hub, *completion, clock->now());
    }
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
}

std::span<const AckResult> ack_workers(const store::Hub& hub, const JsonArray& input,
                                       std::optional<int64> now) {
    auto* acks = static_cast<Ack*>(palloc(sizeof(Ack) * (input.count + 1)));
    auto** ordered = static_cast<Ack**>(palloc(sizeof(Ack*) * (input.count + 1)));
    core::json::Elements elements(input.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        acks[i] = checked_ack(element, i);
        ordered[i] = &acks[i];
    }
    auto clock = pg::start_clock(now, hub.options[store::Option::kMaxClockSkew]);
    enter(hub, {.worker_queue = true, .orchestrator_queue = true, .sessions = true}, &clock);
    std::sort(ordered, ordered + input.count, by_key);
    for (std::size_t i = 0; i < input.count; ++i) {
        const HeldWork held = delete_or_hold(hub, ordered[i]->token, ordered[i]->parsed, &clock);
        ordered[i]->acked = held.fault == core::LeaseFault::kNone;
        ordered[i]->row = held.row;
        if (ordered[i]->acked) {
            pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kAcked);
            note_finished(held.row->lease);
        }
    }
    touch_sessions(hub, {acks, input.count}, &clock);
    auto* results = static_cast<AckResult*>(palloc(sizeof(AckResult) * (input.count + 1)));
    for (std::size_t i = 0; i < input.count; ++i) {
        if (acks[i].acked && acks[i].completion) {
            send(hub, *acks[i].completion, clock.now());
        }
        results[i] = {acks[i].token, acks[i].acked};
    }
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
    return {results, input.count};
}

}  // namespace belay::ops
