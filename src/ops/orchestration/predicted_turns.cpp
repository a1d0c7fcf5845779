// predicted_turns.cpp — commit turns that a process has run ahead, with the outcomes they are
// about.
//
// Calls    end_work_leases, send_completions, apply_acks, store::try_hold_instance,
//          store::visible_messages, store::read_instance
// Touches  what settle_work and ack_turns do
// Locks    the instance locks, without waiting; then as settle_work; then as ack_turns, but of no
//          parent. Who has rows of an instance has its lock, so we wait for none of them
// Raises   QB006 an ack that belongs to no outcome; else nothing: a turn that is not committed is
//          refused
#include <algorithm>

#include "ops/orchestration/ack.hpp"
#include "ops/orchestration/turn_view.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "shmem/counters.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

// A turn on its way.
struct Predicted {
    TurnAck* given;
    Ack ack;
    WorkOutcome* outcome;
    std::optional<store::InstanceLock> lock;  // held, and nothing speaks against the turn yet
    std::optional<int64> last_event_id;       // as in Accepted

    std::string_view instance_id() const { return outcome->completion->instance_id; }
};

struct Settling {
    TurnSource from;
    InstanceFilter filter;
    std::span<const int16> slots;
    std::span<const std::string_view> instances;  // of all completions of the call, sorted
    bool holds_in_vain;
};

void refuse_prediction(Predicted* predicted) {
    predicted->lock = std::nullopt;
    predicted->outcome->delivered = false;
    refuse(predicted->given, pg::kLockLost, "mispredicted",
           "the instance has another turn, other messages or another history than was predicted");
}

[[noreturn]] void raise_without_outcome(std::size_t at) {
    const char* path = Path("p_predicted_after", at).text();
    pg::raise_invalid(
        "conflict", path,
        psprintf("%s is of a turn whose token is that of no outcome with a completion", path),
        "Pass the token of the activity in p_work_tokens, too.");
}

// The outcome that a turn is about. Both are in the same order most often, so the search begins
// behind the last one found.
WorkOutcome* outcome_of(const TurnAck& ack, std::span<WorkOutcome> outcomes, std::size_t* last) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const std::size_t at = (*last + i) % outcomes.size();
        WorkOutcome& outcome = outcomes[at];
        if (ack.args.token && outcome.token == ack.args.token && !outcome.delivered &&
            outcome.kind == OutcomeKind::kAck && (outcome.completion || outcome.refused)) {
            *last = at + 1;
            return &outcome;
        }
    }
    return nullptr;
}

void find_turns(std::span<TurnAck> acks, std::span<WorkOutcome> outcomes,
                pg::List<Predicted>* all) {
    std::size_t last = 0;
    check_each(
        acks, [](const TurnAck& ack) { return ack.predicted_after.has_value(); },
        [&](std::size_t at, const Ack& ack) {
            all->add({&acks[at], ack, nullptr, std::nullopt, std::nullopt});
        });
    for (Predicted& predicted : *all) {
        predicted.outcome = outcome_of(*predicted.given, outcomes, &last);
        if (predicted.outcome == nullptr) {
            raise_without_outcome(static_cast<std::size_t>(predicted.given - acks.data()));
        }
        predicted.outcome->delivered = predicted.outcome->completion.has_value();
    }
}

std::span<const std::string_view> instances_of(std::span<const WorkOutcome> outcomes) {
    pg::List<std::string_view> instances;
    for (const WorkOutcome& outcome : outcomes) {
        if (outcome.completion) {
            instances.add(outcome.completion->instance_id);
        }
    }
    std::sort(instances.begin(), instances.end());
    return instances.span();
}

// Whether nothing else of this call is for the instance.
bool is_only_one(const Settling& settling, std::string_view instance_id) {
    const auto [first, last] =
        std::equal_range(settling.instances.begin(), settling.instances.end(), instance_id);
    return last - first == 1;
}

// Whether a fetch would look at messages of the instance at all.
bool is_in_slots(const Settling& settling, std::string_view instance_id) {
    const auto count =
        static_cast<int32>(settling.from.tables.hub.options[store::Option::kSlotCount]);
    const auto slot = static_cast<int16>(core::slot_of(instance_id, count));
    return std::find(settling.slots.begin(), settling.slots.end(), slot) != settling.slots.end();
}

// Whether a fetch would hand out the instance, and no message but the outcome. Its lock is held:
// what is committed later comes later.
bool has_nothing_else(const Settling& settling, const Predicted& predicted) {
    const TurnSource& from = settling.from;
    return pg::with_one_view([&]() -> bool {
        const auto instance = store::read_instance(from.tables, predicted.instance_id(),
                                                   asks_for_pins(from.request.versions));
        return instance && instance->current_execution_id == predicted.ack.execution_id &&
               settling.filter.includes(instance->pin, instance->name) &&
               store::visible_messages(from.tables, predicted.instance_id(), from.clock->now(),
                                       PG_INT64_MIN, 1)
                   .empty();
    });
}

// Whether the turn may be committed, as far as is known before the lease of its activity has ended.
bool hold(Settling* settling, Predicted* predicted) {
    const TurnSource& from = settling->from;
    const auto& owner = from.request.cache_owner;
    const auto after = predicted->given->predicted_after;
    if (!predicted->outcome->completion || !owner || IsolationUsesXactSnapshot() ||
        is_empty(from.request.versions) || from.tables.hub.is_paused(store::Queue::kOrchestrator) ||
        !is_only_one(*settling, predicted->instance_id()) ||
        !is_in_slots(*settling, predicted->instance_id())) {
        return false;
    }
    const std::string_view id = predicted->instance_id();
    const auto held = store::try_hold_instance(from.tables, id, std::nullopt, from.clock->now());
    if (!held) {
        return false;
    }
    wakeups::held(store::orchestrator_channel(from.tables));
    settling->holds_in_vain = true;
    const auto cached = core::CacheHint::of(
        core::cache_owner(*owner, from.tables.hub.incarnation, predicted->ack.execution_id), *after,
        after);
    if (*after <= 0 || held->cache != cached || !has_nothing_else(*settling, *predicted)) {
        return false;
    }
    const Addition addition = examine_addition(from.tables, id, predicted->ack.execution_id,
                                               predicted->ack.events, after);
    if (addition.duplicates > 0) {
        return false;
    }
    settling->holds_in_vain = false;
    // The instance exists, with its parent if it has one: there is no parent's row to hold.
    predicted->ack.parent = std::nullopt;
    predicted->last_event_id = addition.last_event_id;
    predicted->lock = store::InstanceLock{.instance_key = core::instance_key(id),
                                          .instance_id = id,
                                          .lock_no = 0,
                                          .lease = core::Lease{},
                                          .cache = held->cache,
                                          .row = held->row};
    return true;
}

// As the message and the fetch would have been counted.
void count_turn(const store::Hub& hub) {
    using counters::Queue::kOrchestrator;
    counters::add(hub.schema, kOrchestrator, counters::Counter::kEnqueued);
    counters::add(hub.schema, kOrchestrator, counters::Counter::kFetched);
    counters::add_duration(hub.schema, kOrchestrator, counters::Duration::kWait, 0);
}

void commit(store::Tables& tables, std::span<Predicted> all, pg::Clock* clock) {
    pg::List<Accepted> accepted;
    for (const Predicted& predicted : all) {
        if (predicted.lock) {
            accepted.add({&predicted.ack, *predicted.lock, predicted.last_event_id, true});
            count_turn(tables.hub);
        }
    }
    if (accepted.count > 0) {
        apply_acks(tables, accepted.span(), clock);
    }
}

}  // namespace

void settle_predicted(store::Tables& tables, std::span<TurnAck> acks, const TurnRequest& request,
                      std::span<WorkOutcome> outcomes, pg::Clock* clock) {
    const wakeups::Channel channel = store::orchestrator_channel(tables);
    const uint64 version = wakeups::queue_version(channel);
    pg::List<Predicted> all;
    find_turns(acks, outcomes, &all);
    Settling settling{.from = {tables, request, clock},
                      .filter = filter_of(tables, request),
                      .slots = slots_of(tables, request.slots),
                      .instances = instances_of(outcomes),
                      .holds_in_vain = false};
    bool in_vain = false;
    for (Predicted& predicted : all) {
        if (!hold(&settling, &predicted)) {
            refuse_prediction(&predicted);
        }
        in_vain = in_vain || settling.holds_in_vain;
        CHECK_FOR_INTERRUPTS();
    }
    end_work_leases(tables, outcomes, clock);
    for (Predicted& predicted : all) {
        if (predicted.lock && !predicted.outcome->is_settled()) {
            refuse_prediction(&predicted);
            in_vain = true;
        }
    }
    commit(tables, {all.items, static_cast<std::size_t>(all.count)}, clock);
    send_completions(tables, outcomes, clock->now());
    // Who has sent a message meanwhile woke a session that met our lock.
    if (in_vain) {
        wakeups::ready(channel);
    } else {
        wakeups::freed(channel, version);
    }
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
}

}  // namespace belay::ops
