// enter.cpp — lock the tables that a call needs, and look whether they may be used.
//
// Calls    store::refresh_hub, Tables::check
// Touches  nothing
// Locks    tables, in the one order of all calls
// Raises   QB018 altered table; what refresh_hub raises if the hub is gone or elsewhere
#include "ops/enter.hpp"

namespace belay::ops {

namespace {

struct Chosen {
    Oid ids[14];
    int count;
};

Chosen choose(const store::Hub& hub, const Needs& needs) {
    Chosen chosen{};
    const auto add = [&chosen](bool wanted, Oid id) {
        if (wanted &&
            OidIsValid(id)) {  // one that was dropped by hand is refused when it is opened
            chosen.ids[chosen.count++] = id;
        }
    };
    add(needs.worker_queue, hub.relations.worker_queue);
    add(needs.orchestrator_queue, hub.relations.orchestrator_queue);
    add(needs.instance_locks, hub.relations.instance_locks);
    add(needs.sessions, hub.relations.sessions);
    add(needs.intents, hub.relations.intent_queue);
    add(needs.slots, hub.relations.slot_owners);
    add(needs.tasks, hub.relations.tasks);
    // As lock_whole_hub, by name.
    add(needs.attempts, hub.relations.attempts);
    add(needs.executions, hub.relations.executions);
    add(needs.executions, hub.relations.history_turns);
    add(needs.instances, hub.relations.instances);
    add(needs.instances, hub.relations.kv_delta);
    add(needs.instances, hub.relations.kv_store);
    add(needs.events, hub.relations.outbox_events);
    return chosen;
}

// The locks have let invalidations in, and the hub was read again.
void check_tables(store::Tables& tables, const Needs& needs) {
    using store::TableId;
    const auto check = [&tables](bool wanted, TableId id) {
        if (wanted) {
            tables.check(id);
        }
    };
    check(needs.worker_queue, TableId::kWorkerQueue);
    check(needs.orchestrator_queue, TableId::kOrchestratorQueue);
    check(needs.instance_locks, TableId::kInstanceLocks);
    check(needs.tasks, TableId::kTasks);
    check(needs.attempts, TableId::kAttempts);
    check(needs.executions, TableId::kExecutions);
    check(needs.executions, TableId::kHistory);
    check(needs.instances, TableId::kInstances);
    check(needs.instances, TableId::kKvDelta);
    check(needs.instances, TableId::kKvStore);
    check(needs.events, TableId::kOutboxEvents);
}

}  // namespace

void enter(store::Tables& tables, const Needs& needs, pg::Clock* clock) {
    Assert(store::holds_place(tables.hub));
    const Chosen chosen = choose(tables, needs);
    for (int i = 0; i < chosen.count; ++i) {
        if (!ConditionalLockRelationOid(chosen.ids[i], RowExclusiveLock)) {
            LockRelationOid(chosen.ids[i], RowExclusiveLock);
            clock->mark_waited();
        }
    }
    store::refresh_hub(tables.hub);
    check_tables(tables, needs);
}

bool try_lock_tables(const store::Hub& hub, const Needs& needs) {
    if (!store::holds_place(hub)) {
        return false;  // Citus is moving it, or another node has it by now
    }
    const Chosen chosen = choose(hub, needs);
    for (int i = 0; i < chosen.count; ++i) {
        if (!ConditionalLockRelationOid(chosen.ids[i], RowExclusiveLock)) {
            return false;
        }
    }
    if (needs.turn_reads) {
        for (const Oid table : {hub.relations.instances, hub.relations.executions,
                                hub.relations.history_turns, hub.relations.kv_store}) {
            if (!ConditionalLockRelationOid(table, AccessShareLock)) {
                return false;
            }
        }
    }
    return true;
}

bool try_enter(store::Tables& tables, const Needs& needs) {
    if (!try_lock_tables(tables, needs)) {
        return false;
    }
    store::refresh_hub(tables.hub);
    check_tables(tables, needs);
    return true;
}

std::span<const int16> slots_of(const store::Hub& hub, const SlotFilter& filter) {
    const auto count = static_cast<int32>(hub.options[store::Option::kSlotCount]);
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * static_cast<Size>(count)));
    auto* wanted = static_cast<bool*>(palloc0(sizeof(bool) * static_cast<Size>(count)));
    for (const int32 slot : filter.wanted) {
        if (slot >= 0 && slot < count) {
            wanted[slot] = true;
        }
    }
    std::size_t found = 0;
    for (int32 slot = 0; slot < count; ++slot) {
        if (filter.all || wanted[slot]) {
            slots[found++] = static_cast<int16>(slot);
        }
    }
    return {slots, found};
}

}  // namespace belay::ops
