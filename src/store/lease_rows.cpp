#include "store/lease_rows.hpp"

#include "pg/faults.hpp"

namespace belay::store {

namespace {

constexpr int kMostColumns = 4;

// A column that a row is found by.
struct Wanted {
    const char* column;
    Oid type;
    RegProcedure equal;
    Datum value;
};

// Where the row of a lease is. The first `keys` columns are a prefix of the primary key.
struct Place {
    Oid table;
    Wanted wanted[kMostColumns];
    int count;
    int keys;
    core::Lease (*read)(Relation table, HeapTuple row);
};

// A version of the row.
struct Version {
    ItemPointerData at;
    core::Lease lease;
};

// Columns are found by name and checked: the owner of a hub can alter its tables.
AttrNumber find_column(Relation table, const char* name, Oid type) {
    const AttrNumber number = get_attnum(RelationGetRelid(table), name);
    if (number == InvalidAttrNumber || get_atttype(RelationGetRelid(table), number) != type) {
        ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                        errmsg("table \"%s\" has no column \"%s\" of type %s",
                               RelationGetRelationName(table), name, format_type_be(type)),
                        errhint("A table of the hub was altered; belay.check_hub shows more.")));
    }
    return number;
}

Datum read_column(Relation table, HeapTuple row, const char* name, Oid type) {
    bool null = false;
    const Datum value =
        heap_getattr(row, find_column(table, name, type), RelationGetDescr(table), &null);
    if (null) {
        elog(ERROR, "unexpected null in column \"%s\" of table \"%s\"", name,
             RelationGetRelationName(table));
    }
    return value;
}

int64 read_int8(Relation table, HeapTuple row, const char* name) {
    return DatumGetInt64(read_column(table, row, name, INT8OID));
}

// Whether the version is still the row that is wanted: an abandon with a delay, or the next turn,
// makes another of it.
bool fits(Relation table, HeapTuple row, const Place& place) {
    for (int i = 0; i < place.count; ++i) {
        const Wanted& wanted = place.wanted[i];
        const Datum found = read_column(table, row, wanted.column, wanted.type);
        if (!DatumGetBool(OidFunctionCall2(wanted.equal, found, wanted.value))) {
            return false;
        }
    }
    return true;
}

core::Lease read_lease(Relation table, HeapTuple row) {
    return {.locked_until = read_int8(table, row, "locked_until"),
            .incarnation = DatumGetInt32(read_column(table, row, "lease_inc", INT4OID)),
            .nonce_hi = static_cast<uint64_t>(read_int8(table, row, "nonce_hi")),
            .nonce_lo = static_cast<uint64_t>(read_int8(table, row, "nonce_lo"))};
}

// A task that is not active has an epoch, but no deadline.
core::Lease read_task_lease(Relation table, HeapTuple row) {
    bool null = false;
    const Datum until = heap_getattr(row, find_column(table, "lease_until_ms", INT8OID),
                                     RelationGetDescr(table), &null);
    return {.locked_until = null ? 0 : DatumGetInt64(until),
            .incarnation = 0,
            .nonce_hi = 0,
            .nonce_lo = static_cast<uint64_t>(read_int8(table, row, "lease_epoch"))};
}

std::optional<Version> find_version(Relation table, const Place& place, Snapshot snapshot) {
    list_free(RelationGetIndexList(table));  // fills rd_pkindex
    ScanKeyData keys[kMostColumns];
    for (int i = 0; i < place.keys; ++i) {
        const Wanted& wanted = place.wanted[i];
        ScanKeyInit(&keys[i], find_column(table, wanted.column, wanted.type), BTEqualStrategyNumber,
                    wanted.equal, wanted.value);
    }
    SysScanDesc scan = systable_beginscan(table, table->rd_pkindex, OidIsValid(table->rd_pkindex),
                                          snapshot, place.keys, keys);
    std::optional<Version> found;
    while (HeapTuple row = systable_getnext(scan)) {
        if (fits(table, row, place)) {
            found = Version{row->t_self, place.read(table, row)};
        }
    }
    systable_endscan(scan);
    return found;
}

// Keeps the newest version of the row, whoever has changed it meanwhile; waits for those who are
// changing it. Unlike SELECT FOR UPDATE this raises no 40001 at REPEATABLE READ.
std::optional<core::Lease> keep(Relation table, const Place& place, Version version) {
    TupleTableSlot* slot = table_slot_create(table, nullptr);
    TM_FailureData failure;
    const TM_Result result = table_tuple_lock(
        table, &version.at, GetActiveSnapshot(), slot, GetCurrentCommandId(false),
        LockTupleNoKeyExclusive, LockWaitBlock, TUPLE_LOCK_FLAG_FIND_LAST_VERSION, &failure);
    std::optional<core::Lease> lease;
    if (result == TM_Ok) {
        bool copied = false;
        HeapTuple row = ExecFetchSlotHeapTuple(slot, false, &copied);
        if (fits(table, row, place)) {
            lease = place.read(table, row);
        }
        if (copied) {
            heap_freetuple(row);
        }
    } else if (result != TM_Deleted) {
        elog(ERROR, "could not lock the row of a lease: %d", static_cast<int>(result));
    }
    ExecDropSingleTupleTableSlot(slot);
    return lease;
}

std::optional<core::Lease> latest(const Place& place, Hold hold) {
    pg::pass_store_faults();
    const LOCKMODE mode = hold == Hold::kKeep ? RowShareLock : AccessShareLock;
    Relation table = OidIsValid(place.table) ? try_table_open(place.table, mode) : nullptr;
    if (table == nullptr) {
        return std::nullopt;  // the hub is gone
    }
    // Our own last changes count. The snapshot keeps vacuum away from the version that is found.
    CommandCounterIncrement();
    PushActiveSnapshot(GetLatestSnapshot());
    // Not with that snapshot: reads by it would take part in the conflicts of a SERIALIZABLE
    // transaction. A scan that meets a change as it commits may see neither version; then the
    // snapshot decides.
    auto version = find_version(table, place, SnapshotSelf);
    if (!version) {
        version = find_version(table, place, GetActiveSnapshot());
    }
    std::optional<core::Lease> lease;
    if (version) {
        lease = hold == Hold::kKeep ? keep(table, place, *version) : std::optional(version->lease);
    }
    PopActiveSnapshot();
    table_close(table, hold == Hold::kKeep ? NoLock : mode);
    return lease;
}

}  // namespace

void lock_lease_tables(const Hub& hub, bool work, bool turns, bool tasks) {
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

std::optional<core::Lease> latest_lease(const Hub& hub, const WorkKey& key, Hold hold) {
    const Place place{.table = hub.relations.worker_queue,
                      .wanted = {{"lane", INT4OID, F_INT4EQ, Int32GetDatum(key.lane)},
                                 {"slot", INT2OID, F_INT2EQ, Int16GetDatum(key.slot)},
                                 {"due", INT8OID, F_INT8EQ, Int64GetDatum(key.due)},
                                 {"id", INT8OID, F_INT8EQ, Int64GetDatum(key.id)}},
                      .count = 4,
                      .keys = 4,
                      .read = read_lease};
    return latest(place, hold);
}

std::optional<core::Lease> latest_lease(const Hub& hub, const core::TurnToken& token, Hold hold) {
    const Place place{
        .table = hub.relations.instance_locks,
        .wanted = {{"instance_key", INT8OID, F_INT8EQ, Int64GetDatum(token.instance_key)},
                   {"lock_no", INT8OID, F_INT8EQ, Int64GetDatum(token.lock_no)}},
        .count = 2,
        .keys = 1,
        .read = read_lease};
    return latest(place, hold);
}

std::optional<core::Lease> latest_lease(const Hub& hub, const pg_uuid_t& task_id, Hold hold) {
    const Place place{.table = hub.relations.tasks,
                      .wanted = {{"id", UUIDOID, F_UUID_EQ, UUIDPGetDatum(&task_id)}},
                      .count = 1,
                      .keys = 1,
                      .read = read_task_lease};
    return latest(place, hold);
}

}  // namespace belay::store
