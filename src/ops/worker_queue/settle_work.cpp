// settle_work.cpp — end many leases in one unit, each with its own fate.
//
// Calls    store::delete_live, store::delete_work, store::release_work, store::insert_message,
//          store::touch_session
// Touches  <hub>.worker_queue, <hub>.orchestrator_queue, <hub>.sessions
// Locks    worker rows by key, then sessions by id
// Raises   nothing: the fault of each outcome says why its lease is lost
#include <algorithm>

#include "core/time.hpp"
#include "ops/guard/guard.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/faults.hpp"
#include "shmem/counters.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::ops {

namespace {

// How much of a reason is kept with the item.
constexpr std::size_t kMaxReason = 8192;

struct Settling {
    WorkOutcome* outcome;
    std::optional<core::WorkToken> parsed;
    std::size_t index;
    std::optional<store::WorkRow> acked;
};

// Rows are locked in key order, regardless of the order of the outcomes; equal tokens stay in
// theirs.
bool by_key(const Settling& a, const Settling& b) {
    const auto order = store::key_of(a.parsed) <=> store::key_of(b.parsed);
    return order != 0 ? order < 0 : a.index < b.index;
}

void settle(store::Tables& tables, Settling* settling, pg::Clock* clock) {
    WorkOutcome& outcome = *settling->outcome;
    if (outcome.kind == OutcomeKind::kAck) {
        const HeldWork held = delete_or_hold(tables, outcome.token, settling->parsed, clock);
        outcome.fault = held.fault;
        if (held.fault == core::LeaseFault::kNone) {
            counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kAcked);
            allow_ended_lease(held.row->lease);
            settling->acked = held.row;
        }
        return;
    }
    const HeldWork held = hold_work(tables, outcome.token, clock);
    outcome.fault = held.row ? core::LeaseFault::kNone : held.fault;
    if (held.row) {
        release_held(tables, held, outcome.delay_ms, outcome.ignore_attempt, outcome.reason, clock);
    }
}

// Notes activity of the sessions whose rows were acked, each once, in the order of their ids.
void touch_sessions(store::Tables& tables, std::span<const Settling> all, pg::Clock* clock) {
    auto** touched =
        static_cast<const store::WorkRow**>(palloc(sizeof(store::WorkRow*) * (all.size() + 1)));
    std::size_t count = 0;
    for (const auto& settling : all) {
        if (settling.acked && settling.acked->session_id && settling.acked->locked_by) {
            touched[count++] = &*settling.acked;
        }
    }
    const auto session = [](const store::WorkRow* row) {
        return std::pair(*row->session_id, *row->locked_by);
    };
    std::sort(touched, touched + count,
              [session](const auto* a, const auto* b) { return session(a) < session(b); });
    for (std::size_t i = 0; i < count; ++i) {
        if (i == 0 || session(touched[i]) != session(touched[i - 1])) {
            touch_session(tables, *touched[i], clock);
        }
    }
}

}  // namespace

void release_held(store::Tables& tables, const HeldWork& held, std::optional<int64> delay_ms,
                  bool ignore_attempt, std::optional<std::string_view> reason, pg::Clock* clock) {
    const int32 attempt =
        ignore_attempt ? core::previous_attempt(held.row->attempt) : held.row->attempt;
    const auto visible_at =
        delay_ms ? std::optional(core::add_ms(clock->now(), *delay_ms)) : std::nullopt;
    store::release_work(tables, held.row->key, attempt, visible_at,
                        reason ? std::optional(clip(*reason, kMaxReason)) : std::nullopt);
    if (held.fault == core::LeaseFault::kNone) {
        allow_ended_lease(held.row->lease);
    }
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kAbandoned);
}

void send_completion(store::Tables& tables, const Completion& completion, int64 now) {
    (void)store::insert_message(tables, {.instance_id = completion.instance_id,
                                         .work_item = completion.text,
                                         .kind = completion.kind,
                                         .visible_at = now,
                                         .created_at = now});
}

void end_work_leases(store::Tables& tables, std::span<WorkOutcome> outcomes, pg::Clock* clock) {
    auto* all = static_cast<Settling*>(palloc(sizeof(Settling) * (outcomes.size() + 1)));
    std::size_t count = 0;
    bool completions = false;
    bool sessions = false;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        WorkOutcome& outcome = outcomes[i];
        if (outcome.refused != nullptr) {
            continue;
        }
        const auto parsed = outcome.token ? core::decode_work_token(*outcome.token) : std::nullopt;
        all[count++] = {&outcome, parsed, i, std::nullopt};
        completions = completions || outcome.completion;
        sessions = sessions || names_session(parsed);
    }
    enter(tables, {.worker_queue = true, .orchestrator_queue = completions, .sessions = sessions},
          clock);
    std::sort(all, all + count, by_key);
    for (std::size_t i = 0; i < count; ++i) {
        settle(tables, &all[i], clock);
        CHECK_FOR_INTERRUPTS();
    }
    touch_sessions(tables, {all, count}, clock);
}

void send_completions(store::Tables& tables, std::span<const WorkOutcome> outcomes, int64 now) {
    for (const WorkOutcome& outcome : outcomes) {
        if (outcome.is_settled() && outcome.completion && !outcome.delivered) {
            send_completion(tables, *outcome.completion, now);
        }
    }
}

void settle_work(store::Tables& tables, std::span<WorkOutcome> outcomes, pg::Clock* clock) {
    end_work_leases(tables, outcomes, clock);
    send_completions(tables, outcomes, clock->now());
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
}

}  // namespace belay::ops
