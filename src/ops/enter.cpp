#include "ops/enter.hpp"

namespace belay::ops {

namespace {

struct Chosen {
    Oid ids[7];
    int count;
};

Chosen choose(const store::Hub& hub, const Tables& tables) {
    Chosen chosen{};
    const auto add = [&chosen](bool wanted, Oid id) {
        if (wanted && OidIsValid(id)) {  // a hub of an older release may lack it
            chosen.ids[chosen.count++] = id;
        }
    };
    add(tables.worker_queue, hub.relations.worker_queue);
    add(tables.orchestrator_queue, hub.relations.orchestrator_queue);
    add(tables.instance_locks, hub.relations.instance_locks);
    add(tables.sessions, hub.relations.sessions);
    add(tables.intents, hub.relations.intent_queue);
    add(tables.slots, hub.relations.slot_owners);
    add(tables.tasks, hub.relations.tasks);
    return chosen;
}

}  // namespace

void enter(const store::Hub& hub, const Tables& tables, pg::Clock* clock) {
    const Chosen chosen = choose(hub, tables);
    for (int i = 0; i < chosen.count; ++i) {
        if (!ConditionalLockRelationOid(chosen.ids[i], RowExclusiveLock)) {
            LockRelationOid(chosen.ids[i], RowExclusiveLock);
            clock->mark_waited();
        }
    }
    store::refresh_hub(hub);  // a lock that was just granted has let invalidations in
}

bool try_enter(const store::Hub& hub, const Tables& tables) {
    const Chosen chosen = choose(hub, tables);
    for (int i = 0; i < chosen.count; ++i) {
        if (!ConditionalLockRelationOid(chosen.ids[i], RowExclusiveLock)) {
            return false;
        }
    }
    if (tables.turn_reads) {
        for (const Oid table : {hub.relations.instances, hub.relations.executions,
                                hub.relations.history, hub.relations.kv_store}) {
            if (!ConditionalLockRelationOid(table, AccessShareLock)) {
                return false;
            }
        }
    }
    store::refresh_hub(hub);  // a lock that was just granted has let invalidations in
    return true;
}

void require_table(const store::Hub& hub, Oid table, const char* what) {
    if (!OidIsValid(table)) {
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("hub \"%s\" was made by a release without %s", NameStr(hub.name), what),
                 errhint("Its owner upgrades it with belay.upgrade_hub.")));
    }
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
