// Whether a table may have rows, by its size.
//
// Touches  the length of the table's file
// Locks    the table, against nothing but its change by DDL, without waiting
// Must not read a row
#include "store/sparse.hpp"

#include "pg/compat.hpp"
#include "store/shards.hpp"

namespace belay::store {

namespace {

constexpr const char* kNames[] = {
    "cancel_backlog",
    "cascade_queue",
    "dead_letters",
    "flows",
    "instance_locks",
    "instances",
    "intent_queue",
    "intents_received",
    "orchestrator_queue",
    "outbox_events",
    "outbox_subscriptions",
    "schedules",
    "sessions",
    "stat_marks",
    "stat_minutes",
    "suspensions",
    "tasks",
    "waitpoint_keys",
    "worker_queue",
};
static_assert(lengthof(kNames) == static_cast<int>(Sparse::kCount));

// What the owner may have made of it is left to the statements that use it.
bool is_plain(Relation relation) {
    return relation->rd_rel->relkind == RELKIND_RELATION && !relation->rd_rel->relhassubclass;
}

}  // namespace

bool may_have_rows(const Hub& hub, Sparse table) {
    const Oid id = relation_named(hub, kNames[static_cast<int>(table)]);
    if (!OidIsValid(id) || !ConditionalLockRelationOid(id, AccessShareLock)) {
        return true;
    }
    Relation relation = try_relation_open(id, NoLock);
    if (relation == nullptr) {
        UnlockRelationOid(id, AccessShareLock);
        return true;
    }
    const bool may = !is_plain(relation) || RelationGetNumberOfBlocks(relation) > 0;
    relation_close(relation, AccessShareLock);
    return may;
}

}  // namespace belay::store
