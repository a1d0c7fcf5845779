// The rows that leases stand in, as they are now: looked at, or kept.
//
// Touches  <hub>.worker_queue, <hub>.instance_locks, <hub>.tasks, to read
// Locks    if it keeps a row: the row, and waits for it
// Must not decide whether a lease stands: core/transitions does
#include "store/lease_rows.hpp"

#include "store/rows/task.hpp"
#include "store/turn_rows.hpp"
#include "store/work_rows.hpp"

namespace belay::store {

namespace {

// A version of the row of a lease.
struct Version {
    ItemPointerData tid;
    core::Lease lease;
};

// Keeps the newest version of a row, also if it was changed meanwhile; waits for those who are
// changing it. Unlike SELECT FOR UPDATE this raises no 40001 at REPEATABLE READ. It is in table.row
// then. False: it is gone.
bool keep(const Table& table, Version version) {
    TM_FailureData failure;
    const TM_Result result = table_tuple_lock(
        table.heap, &version.tid, GetActiveSnapshot(), table.row, GetCurrentCommandId(false),
        LockTupleNoKeyExclusive, LockWaitBlock, TUPLE_LOCK_FLAG_FIND_LAST_VERSION, &failure);
    if (result != TM_Ok && result != TM_Deleted) {
        elog(ERROR, "could not lock the row of a lease: %d", static_cast<int>(result));
    }
    return result == TM_Ok;
}

// The last version that a snapshot sees of the row with these keys that is_wanted().
template <typename IsWanted, typename Read>
std::optional<Version> find_version(Table* table, Snapshot snapshot, const ScanKeys& keys,
                                    IsWanted is_wanted, Read read) {
    table->snapshot = snapshot;
    IndexScanDesc scan = begin_scan(table, kByKey, keys);
    std::optional<Version> found;
    while (next_row(*table, scan)) {
        if (is_wanted(*table)) {
            found = Version{table->row->tts_tid, read(*table)};
        }
    }
    index_endscan(scan);
    return found;
}

// Whether the table is there: the hub may just have been dropped.
bool exists(Oid table, LOCKMODE mode) {
    Relation opened = OidIsValid(table) ? try_table_open(table, mode) : nullptr;
    if (opened == nullptr) {
        return false;
    }
    table_close(opened, NoLock);
    return true;
}

// What read() makes of the row with these keys that is_wanted(), as of the latest commit and this
// transaction's own changes. An abandon with a delay, or the next turn, makes another row of it.
template <typename IsWanted, typename Read>
std::optional<core::Lease> read_latest(Tables& tables, TableId id, LOCKMODE mode,
                                       const ScanKeys& keys, Hold hold, IsWanted is_wanted,
                                       Read read) {
    return with_table(tables, id, mode, [&](Table& table) -> std::optional<core::Lease> {
        // Our own last changes count. The snapshot keeps vacuum away from the version that is
        // found.
        CommandCounterIncrement();
        PushActiveSnapshot(GetLatestSnapshot());
        table.pushed = true;
        // Not with that snapshot: reads by it would take part in the conflicts of a SERIALIZABLE
        // transaction. A scan that meets a change as it commits may see neither version; then the
        // snapshot decides.
        auto version = find_version(&table, SnapshotSelf, keys, is_wanted, read);
        if (!version) {
            version = find_version(&table, GetActiveSnapshot(), keys, is_wanted, read);
        }
        if (!version) {
            return std::nullopt;
        }
        if (hold == Hold::kLook) {
            return version->lease;
        }
        return keep(table, *version) && is_wanted(table) ? std::optional(read(table))
                                                         : std::nullopt;
    });
}

// The same, if the table is there. To look keeps no lock: a session that binds a transaction to a
// lease and then hangs must not be in the way of others.
template <typename IsWanted, typename Read>
std::optional<core::Lease> latest(Tables& tables, TableId id, const ScanKeys& keys, Hold hold,
                                  IsWanted is_wanted, Read read) {
    pg::pass_store_faults();
    const LOCKMODE mode = hold == Hold::kKeep ? RowShareLock : AccessShareLock;
    const Oid relation = tables.hub.relations.*shape_of(id).relation;
    if (!exists(relation, mode)) {
        return std::nullopt;
    }
    if (hold == Hold::kKeep) {
        return read_latest(tables, id, mode, keys, hold, is_wanted, read);
    }
    Oid index = InvalidOid;
    const auto lease = with_tables(tables.hub, [&](Tables& brief) {
        const auto found = read_latest(brief, id, mode, keys, hold, is_wanted, read);
        index = brief.open(id, mode).state.indexes[kByKey];
        return found;
    });
    UnlockRelationOid(index, mode);
    UnlockRelationOid(relation, mode);  // of the opening
    UnlockRelationOid(relation, mode);  // of exists()
    return lease;
}

}  // namespace

void lock_lease_tables(const Hub& hub, bool work, bool turns, bool tasks) {
    // A table that was dropped by hand has no leases: the checks find none.
    if (work && OidIsValid(hub.relations.worker_queue)) {
        LockRelationOid(hub.relations.worker_queue, RowShareLock);
    }
    if (turns && OidIsValid(hub.relations.instance_locks)) {
        LockRelationOid(hub.relations.instance_locks, RowShareLock);
    }
    if (tasks && OidIsValid(hub.relations.tasks)) {
        LockRelationOid(hub.relations.tasks, RowShareLock);
    }
}

std::optional<core::Lease> latest_lease(Tables& tables, const WorkKey& key, Hold hold) {
    return latest(
        tables, TableId::kWorkerQueue,
        ScanKeys().int4(key.lane).int2(key.slot).int8(key.due).int8(key.id), hold,
        [&key](const Table& table) { return key_of_row(table) == key; },
        [](const Table& table) { return state_of(table).lease; });
}

std::optional<core::Lease> latest_lease(Tables& tables, const core::TurnToken& token, Hold hold) {
    return latest(
        tables, TableId::kInstanceLocks, ScanKeys().int8(token.instance_key), hold,
        [&token](const Table& table) { return lock_of(table).lock_no == token.lock_no; },
        [](const Table& table) { return lock_of(table).lease; });
}

std::optional<core::Lease> latest_lease(Tables& tables, const pg_uuid_t& task_id, Hold hold) {
    // A task that is not active has an epoch, but no deadline.
    return latest(
        tables, TableId::kTasks, ScanKeys().uuid(task_id), hold, [](const Table&) { return true; },
        [](const Table& table) {
            return core::Lease{.locked_until = get(table, task::kLeaseUntil).value_or(0),
                               .incarnation = 0,
                               .nonce_hi = 0,
                               .nonce_lo = static_cast<uint64_t>(get(table, task::kLeaseEpoch))};
        });
}

}  // namespace belay::store
