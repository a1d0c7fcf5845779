// ack_orchestration_item.cpp — commit turns: one with all that belongs to it, or nothing and the
// lock is kept; or many, each with its own fate (ack_turns).
//
// Calls    store::upsert_instance, store::upsert_execution, store::insert_events, store::put_delta,
//          enqueue_activities, cancel_activities, send_message, send_intent, store::delete_leased,
//          store::ack_turn, store::delete_turn
// Touches  every table of orchestrations, <hub>.worker_queue, <hub>.outbox_events,
//          <hub>.intent_queue
// Locks    the instance locks by key; the parents' rows by id; the instances' own rows; their
//          messages; worker rows by key
// Raises   QB001 lock lost, QB005 duplicate event, QB006 bad argument, QB007 clock skew; of many
//          acks, what concerns one is its refusal
#include <algorithm>
#include <tuple>

#include "ops/guard/guard.hpp"
#include "ops/lost_lease.hpp"
#include "ops/orchestration/ack.hpp"
#include "ops/own_fault.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "shmem/counters.hpp"
#include "store/history.hpp"
#include "store/instances.hpp"
#include "store/kv.hpp"
#include "store/outbox.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

// The text of a lost lock that applications of duroxide-pg match.
constexpr const char* kLostText = "Invalid lock token";

// ---------------------------------------------------------------- the instance

constexpr int kStarted = core::event_place("instance", "started");

// The event of an execution that ends with this status; none for Running.
std::optional<int> end_event(std::optional<std::string_view> status) {
    if (status == "Completed") {
        return core::event_place("instance", "completed");
    }
    if (status == "Failed") {
        return core::event_place("instance", "failed");
    }
    return status == "ContinuedAsNew"
               ? std::optional(core::event_place("instance", "continued_as_new"))
               : std::nullopt;
}

void emit_start(store::Tables& tables, std::string_view instance_id, const Ack& ack, int64 now) {
    if (store::wants_event(tables, kStarted)) {
        store::write_event(tables, kStarted, instance_id,
                           store::Details()
                               .add("execution_id", ack.execution_id)
                               .add("orchestration_name", ack.name)
                               .add("orchestration_version", ack.version)
                               .add("parent_instance_id", ack.parent),
                           now);
    }
}

// Only a change of the current execution's status is an event.
void emit_end(store::Tables& tables, std::string_view instance_id, const Ack& ack,
              const store::NotedInstance& instance, const store::NotedExecution& execution,
              int64 now) {
    const auto event = end_event(ack.execution.status);
    if (!event || !instance.exists || !instance.is_latest ||
        execution.status == ack.execution.status || !store::wants_event(tables, *event)) {
        return;
    }
    store::write_event(tables, *event, instance_id,
                       store::Details()
                           .add("execution_id", ack.execution_id)
                           .add("orchestration_name", instance.name),
                       now);
}

store::NotedInstance note_instance(store::Tables& tables, std::string_view instance_id,
                                   const Ack& ack, int64 now) {
    return ack.name && ack.version
               ? store::upsert_instance(tables, instance_id, *ack.name, *ack.version, ack.parent,
                                        ack.execution_id, now)
               : store::touch_instance(tables, instance_id, ack.execution_id, now);
}

// True: the instance or the execution is new.
bool apply_instance(store::Tables& tables, const store::InstanceLock& lock, const Ack& ack,
                    int64 now) {
    const std::string_view instance_id = lock.instance_id;
    const store::NotedInstance instance = note_instance(tables, instance_id, ack, now);
    if (instance.created) {
        emit_start(tables, instance_id, ack, now);
    }
    // A fetch that took the instance for one that never started may be setting messages aside.
    if (instance.created || (!instance.exists && ack.events.count > 0)) {
        store::settle_parked(tables, instance_id, lock.lock_no);
    }
    const bool changes = ack.execution.status || ack.execution.pin;
    // An empty ack of an instance that does not exist leaves nothing behind.
    if ((!instance.exists && ack.events.count == 0 && !changes) ||
        (instance.has_execution && !changes)) {
        return false;
    }
    const auto execution =
        store::upsert_execution(tables, instance_id, ack.execution_id, ack.execution, now);
    emit_end(tables, instance_id, ack, instance, execution, now);
    return instance.created || execution.created;
}

void apply_kv(store::Tables& tables, std::string_view instance_id, const Ack& ack, int64 now) {
    for (std::size_t i = 0; i < ack.kv_count; ++i) {
        const KvChange& change = ack.kv[i];
        switch (change.action) {
            case KvAction::kSet:
                store::put_delta(tables, instance_id, change.key, change.value,
                                 change.updated_at.value_or(now));
                break;
            case KvAction::kClear:
                store::put_delta(tables, instance_id, change.key, std::nullopt, now);
                break;
            case KvAction::kClearAll:
                store::clear_delta(tables, instance_id, now);
                break;
        }
    }
    if (ack.ends()) {
        store::merge_delta(tables, instance_id, ack.execution_id);
    }
}

// ---------------------------------------------------------------- acks that are accepted

// What the cache of the caller's process is called in the lock row.
int64 cache_owner(const store::Hub& hub, const Ack& ack) {
    return core::cache_owner(ack.cached->owner, hub.incarnation, ack.execution_id);
}

// Looks at the events of an ack whose lock is held. Where the history ends is known if the process
// that acks had the turn before in its memory, too.
Addition examine_events(store::Tables& tables, const store::InstanceLock& lock, const Ack& ack) {
    const bool known =
        ack.cached && lock.cache.is_exact() && lock.cache.is_of(cache_owner(tables, ack));
    return examine_addition(tables, lock.instance_id, ack.execution_id, ack.events,
                            known ? std::optional(lock.cache.event) : std::nullopt);
}

// Parents are held in the order of their ids, as a removal holds them.
void hold_parents(store::Tables& tables, std::span<const Accepted> all) {
    pg::List<std::string_view> parents;
    for (const auto& [ack, lock, last, predicted] : all) {
        if (ack->name && ack->version && ack->parent) {
            parents.add(*ack->parent);
        }
    }
    std::sort(parents.begin(), parents.end());
    const auto* end = std::unique(parents.begin(), parents.end());
    for (const auto* parent = parents.begin(); parent != end; ++parent) {
        store::hold_parent(tables, *parent);
    }
}

void write_instance(store::Tables& tables, const Accepted& accepted, int64 now) {
    const auto& [ack, lock, last, predicted] = accepted;
    const bool begun = apply_instance(tables, lock, *ack, now);
    if (ack->events.count > 0) {
        store::insert_events(tables, lock.instance_id, ack->execution_id, ack->events.rows, now);
    }
    if (ack->custom_status.present) {
        store::set_custom_status(tables, lock.instance_id, ack->custom_status.value);
    }
    apply_kv(tables, lock.instance_id, *ack, now);
    if (begun || ack->execution.status || ack->custom_status.present) {
        wakeups::changed(store::instance_channel(tables, lock.instance_id),
                         wakeups::Reason::kChanged);
    }
}

void send_items(store::Tables& tables, const Accepted& accepted, int64 now) {
    const auto& [ack, lock, last, predicted] = accepted;
    for (std::size_t i = 0; i < ack->message_count; ++i) {
        send_message(tables, ack->messages[i], now, now);
    }
    for (std::size_t i = 0; i < ack->intent_count; ++i) {
        (void)send_intent(tables, ack->intents[i], lock.instance_id, std::nullopt, now);
    }
}

void end_turn(store::Tables& tables, const Accepted& accepted, int64 now) {
    const auto& [ack, lock, last_event_id, predicted] = accepted;
    const auto cache = ack->cached ? core::CacheHint::of(cache_owner(tables, *ack),
                                                         ack->cached->event, last_event_id)
                                   : core::CacheHint{};
    if (ack->ends()) {
        store::delete_turn(tables, lock);
    } else if (predicted) {
        store::note_turn(tables, lock, now, cache);
    } else {
        store::ack_turn(tables, lock, cache);
    }
    if (!predicted) {
        allow_ended_lease(lock.lease);
    }
    counters::add(tables.hub.schema, counters::Queue::kOrchestrator, counters::Counter::kAcked);
}

// All of them together: rows that are inserted in one go share pages and WAL records.
void schedule_activities(store::Tables& tables, std::span<const Accepted> all, pg::Clock* clock) {
    if (all.size() == 1) {
        const Ack& ack = *all.front().ack;
        enqueue_activities(tables, {ack.worker_items, ack.worker_count}, clock);
        return;
    }
    pg::List<CheckedActivity> activities;
    for (const Accepted& accepted : all) {
        for (const auto& activity :
             std::span(accepted.ack->worker_items, accepted.ack->worker_count)) {
            activities.add(activity);
        }
    }
    enqueue_activities(tables, activities.span(), clock);
}

// The tables that an ack writes to.
void add_needs(const Ack& ack, Needs* needs) {
    needs->worker_queue = needs->worker_queue || ack.worker_count > 0 || !ack.cancelled.empty();
    needs->intents = needs->intents || ack.intent_count > 0;
}

void enter_for_acks(store::Tables& tables, Needs needs, pg::Clock* clock) {
    needs.orchestrator_queue = true;
    needs.instance_locks = true;
    enter(tables, needs, clock);
}

// ---------------------------------------------------------------- many acks

// An ack of a portion on its way.
struct Settling {
    TurnAck* given;
    std::size_t index;
    Ack ack;
    std::optional<core::TurnToken> token;
    std::optional<store::InstanceLock> lock;  // held, and the token opens it
    std::optional<int64> last_event_id;       // as in Accepted
};

void refuse_lost(store::Tables& tables, TurnAck* ack, core::LeaseFault fault) {
    refuse(ack, pg::kLockLost, core::code_detail(fault),
           tables.hub.api == store::Api::kDuroxidePg
               ? kLostText
               : lost_reason(tables, store::Queue::kOrchestrator, ack->args.token.value_or(""),
                             fault));
}

// Reads the arguments of all but predicted turns.
void check_acks(std::span<TurnAck> acks, pg::List<Settling>* all) {
    check_each(
        acks, [](const TurnAck& ack) { return !ack.predicted_after; },
        [acks, all](std::size_t at, const Ack& ack) {
            const auto token = acks[at].args.token;
            all->add({&acks[at], at, ack, token ? core::decode_turn_token(*token) : std::nullopt,
                      std::nullopt, std::nullopt});
        });
}

// Locks are taken in key order, regardless of the order of the acks; equal tokens stay in theirs.
bool by_key(const Settling& a, const Settling& b) {
    const auto key = [](const Settling& settling) {
        return settling.token ? std::tuple(true, settling.token->instance_key,
                                           settling.token->lock_no, settling.index)
                              : std::tuple(false, int64{0}, int64{0}, settling.index);
    };
    return key(a) < key(b);
}

void hold_locks(store::Tables& tables, std::span<Settling> all, pg::Clock* clock) {
    std::sort(all.begin(), all.end(), by_key);
    for (Settling& settling : all) {
        const HeldTurn held = hold_turn(tables, settling.given->args.token, clock);
        if (held.fault == core::LeaseFault::kNone) {
            settling.lock = held.lock;
        } else {
            refuse_lost(tables, settling.given, held.fault);
        }
        CHECK_FOR_INTERRUPTS();
    }
}

// What speaks against an ack once all locks are held; null if nothing does. A lease may have
// expired while the call waited for another lock.
void check_held(store::Tables& tables, Settling* settling, const Settling* previous, int64 now) {
    if (!settling->lock) {
        return;
    }
    const std::string_view id = settling->lock->instance_id;
    if (!core::is_live(settling->lock->lease, tables.hub.incarnation, now)) {
        counters::add(tables.hub.schema, counters::Queue::kOrchestrator,
                      counters::Counter::kLostLeases);
        refuse_lost(tables, settling->given, core::LeaseFault::kExpired);
    } else if (previous != nullptr && previous->lock->instance_id == id) {
        counters::add(tables.hub.schema, counters::Queue::kOrchestrator,
                      counters::Counter::kLostLeases);
        refuse(settling->given, pg::kLockLost, core::code_detail(core::LeaseFault::kGone),
               tables.hub.api == store::Api::kDuroxidePg
                   ? kLostText
                   : "the turn was already acked by the same call");
    } else if (const Addition addition = examine_events(tables, *settling->lock, settling->ack);
               addition.duplicates > 0) {
        // What the single call would raise, undone.
        const auto end = pg::try_in_subtransaction([settling, &addition]() -> bool {
            raise_duplicates(settling->lock->instance_id, settling->ack.execution_id,
                             addition.duplicates);
        });
        refuse(settling->given, end.error);
    } else {
        settling->last_event_id = addition.last_event_id;
    }
    if (settling->given->refused != 0) {
        settling->lock = std::nullopt;
    }
}

}  // namespace

void refuse(TurnAck* ack, int sqlstate, const char* reason, const char* message) {
    ack->refused = sqlstate;
    ack->reason = reason;
    ack->message = message;
}

void refuse(TurnAck* ack, const ErrorData* error) {
    if (!is_its_own_fault(error)) {
        ReThrowError(const_cast<ErrorData*>(error));
    }
    refuse(ack, error->sqlerrcode, code_detail_of(error), error->message);
}

// Class by class, in the hub's lock order.
void apply_acks(store::Tables& tables, std::span<const Accepted> all, pg::Clock* clock) {
    const int64 now = clock->now();
    hold_parents(tables, all);
    for (const Accepted& accepted : all) {
        write_instance(tables, accepted, now);
        CHECK_FOR_INTERRUPTS();
    }
    for (const Accepted& accepted : all) {
        if (!accepted.predicted) {
            store::delete_leased(tables, accepted.lock.instance_key, accepted.lock.lock_no, now);
        }
    }
    schedule_activities(tables, all, clock);
    pg::List<ActivityIdentity> cancelled;
    for (const Accepted& accepted : all) {
        for (const ActivityIdentity& activity : accepted.ack->cancelled) {
            cancelled.add(activity);
        }
    }
    // After the inserts: an activity both scheduled and cancelled ends absent.
    (void)cancel_activities(tables, cancelled.span());
    for (const Accepted& accepted : all) {
        send_items(tables, accepted, now);
    }
    for (const Accepted& accepted : all) {
        end_turn(tables, accepted, now);
    }
    pg::fail_here(pg::FaultPoint::kAckBeforeCommit);
}

void ack_orchestration_item(store::Tables& tables, const AckArgs& args, std::optional<int64> now) {
    const Ack ack = checked_ack(args);
    Needs needs{};
    add_needs(ack, &needs);
    auto clock = pg::start_clock(now, tables.hub.options[store::Option::kMaxClockSkew]);
    enter_for_acks(tables, needs, &clock);
    const HeldTurn held = hold_turn(tables, args.token, &clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost(tables, store::Queue::kOrchestrator, kLostText, args.token.value_or(""),
                        held.fault, held.locked_until);
    }
    const Addition addition = examine_events(tables, *held.lock, ack);
    if (addition.duplicates > 0) {
        raise_duplicates(held.lock->instance_id, ack.execution_id, addition.duplicates);
    }
    const Accepted accepted{&ack, *held.lock, addition.last_event_id, false};
    apply_acks(tables, {&accepted, 1}, &clock);
}

void ack_turns(store::Tables& tables, std::span<TurnAck> acks, pg::Clock* clock) {
    pg::List<Settling> all;
    check_acks(acks, &all);
    if (all.count == 0) {
        return;
    }
    Needs needs{};
    for (const Settling& settling : all) {
        add_needs(settling.ack, &needs);
    }
    enter_for_acks(tables, needs, clock);
    hold_locks(tables, {all.items, static_cast<std::size_t>(all.count)}, clock);
    const int64 now = clock->now();
    const Settling* previous = nullptr;  // the last one that is accepted
    for (Settling& settling : all) {
        check_held(tables, &settling, previous, now);
        previous = settling.lock ? &settling : previous;
    }
    // What is sent is sent in the order of the acks.
    std::sort(all.begin(), all.end(),
              [](const Settling& a, const Settling& b) { return a.index < b.index; });
    pg::List<Accepted> accepted;
    for (const Settling& settling : all) {
        if (settling.lock) {
            accepted.add({&settling.ack, *settling.lock, settling.last_event_id, false});
        }
    }
    if (accepted.count > 0) {
        apply_acks(tables, accepted.span(), clock);
    }
}

}  // namespace belay::ops
