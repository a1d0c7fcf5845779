#include "store/fast/queue_table.hpp"

#include <algorithm>

#include "pg/compat.hpp"
#include "pg/datum.hpp"
#include "pg/settings.hpp"
#include "store/fast/worker_queue.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- the shape

struct ColumnShape {
    const char* name;
    Oid type;
    Oid collation;
    bool required;
};

constexpr ColumnShape kColumns[] = {
    {"lane", INT4OID, InvalidOid, true},
    {"slot", INT2OID, InvalidOid, true},
    {"due", INT8OID, InvalidOid, true},
    {"id", INT8OID, InvalidOid, true},
    {"visible_at", TIMESTAMPTZOID, InvalidOid, true},
    {"created_at", TIMESTAMPTZOID, InvalidOid, true},
    {"locked_until", INT8OID, InvalidOid, true},
    {"nonce_hi", INT8OID, InvalidOid, true},
    {"nonce_lo", INT8OID, InvalidOid, true},
    {"lease_inc", INT4OID, InvalidOid, true},
    {"attempt_count", INT4OID, InvalidOid, true},
    {"execution_id", INT8OID, InvalidOid, false},
    {"activity_id", INT8OID, InvalidOid, false},
    {"tag", TEXTOID, C_COLLATION_OID, false},
    {"session_id", TEXTOID, C_COLLATION_OID, false},
    {"instance_id", TEXTOID, C_COLLATION_OID, false},
    {"locked_by", TEXTOID, C_COLLATION_OID, false},
    {"work_item", TEXTOID, DEFAULT_COLLATION_OID, true},
};
static_assert(std::size(kColumns) == kQueueColumns);

struct IndexShape {
    const char* name;
    bool primary;
    QueueColumn only_with;  // the column of WHERE … IS NOT NULL; 0: all rows
    int count;
    QueueColumn columns[5];
};

constexpr IndexShape kIndexes[] = {
    {"worker_queue_pkey", true, QueueColumn{}, 4, {kLane, kSlot, kDue, kId}},
    {"worker_queue_activity", false, kInstanceId, 3, {kInstanceId, kExecutionId, kActivityId}},
    {"worker_queue_session", false, kSessionId, 5, {kSessionId, kLane, kSlot, kDue, kId}},
};

bool columns_fit(TupleDesc columns) {
    if (columns->natts != kQueueColumns) {
        return false;
    }
    for (int i = 0; i < columns->natts; ++i) {
        const auto* column = TupleDescAttr(columns, i);
        const ColumnShape& wanted = kColumns[i];
        if (column->attisdropped || strcmp(NameStr(column->attname), wanted.name) != 0 ||
            column->atttypid != wanted.type || column->atttypmod != -1 ||
            column->attcollation != wanted.collation || column->attnotnull != wanted.required ||
            column->attgenerated != '\0' || column->attidentity != '\0' ||
            column->atthasmissing) {
            return false;
        }
    }
    return true;
}

// The one check of the table, attempt_count >= 0, which every row that we write meets.
bool check_fits(const TupleConstr* constraints) {
    if (constraints == nullptr || constraints->num_check != 1) {
        return false;
    }
    Node* node = static_cast<Node*>(stringToNode(constraints->check[0].ccbin));
    if (!IsA(node, OpExpr)) {
        return false;
    }
    const auto* comparison = reinterpret_cast<OpExpr*>(node);
    const auto* left = static_cast<Node*>(linitial(comparison->args));
    const auto* right = static_cast<Node*>(lsecond(comparison->args));
    if (get_opcode(comparison->opno) != F_INT4GE || !IsA(left, Var) || !IsA(right, Const)) {
        return false;
    }
    const auto* zero = reinterpret_cast<const Const*>(right);
    return reinterpret_cast<const Var*>(left)->varattno == kAttemptCount && !zero->constisnull &&
           DatumGetInt32(zero->constvalue) == 0;
}

bool predicate_fits(Relation index, QueueColumn only_with) {
    List* predicate = RelationGetIndexPredicate(index);
    if (only_with == QueueColumn{}) {
        return predicate == NIL;
    }
    if (list_length(predicate) != 1 || !IsA(linitial(predicate), NullTest)) {
        return false;
    }
    const auto* test = static_cast<NullTest*>(linitial(predicate));
    return test->nulltesttype == IS_NOT_NULL && !test->argisrow && IsA(test->arg, Var) &&
           reinterpret_cast<Var*>(test->arg)->varattno == only_with;
}

bool index_fits(Relation index, const IndexShape& wanted) {
    const auto* form = index->rd_index;
    if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || !form->indisready ||
        !form->indislive || form->indcheckxmin || form->indisprimary != wanted.primary ||
        form->indisunique != wanted.primary || !form->indimmediate || form->indisexclusion ||
        form->indnkeyatts != wanted.count || form->indnatts != wanted.count ||
        RelationGetIndexExpressions(index) != NIL || !predicate_fits(index, wanted.only_with)) {
        return false;
    }
    for (int i = 0; i < wanted.count; ++i) {
        const ColumnShape& column = kColumns[wanted.columns[i] - 1];
        const bool text = column.type == TEXTOID;
        if (form->indkey.values[i] != wanted.columns[i] || index->rd_indoption[i] != 0 ||
            index->rd_opfamily[i] != (text ? TEXT_BTREE_FAM_OID : INTEGER_BTREE_FAM_OID) ||
            index->rd_opcintype[i] != column.type ||
            index->rd_indcollation[i] != column.collation) {
            return false;
        }
    }
    return true;
}

bool table_fits(const Hub& hub, Relation heap) {
    const auto* form = heap->rd_rel;
    return form->relkind == RELKIND_RELATION && form->relpersistence == RELPERSISTENCE_PERMANENT &&
           heap->rd_tableam == GetHeapamTableAmRoutine() && !form->relispartition &&
           !form->relhassubclass && !form->relhasrules && !form->relhastriggers &&
           !form->relrowsecurity && !form->relforcerowsecurity && form->relowner == hub.owner &&
           pg_class_aclcheck(RelationGetRelid(heap), hub.owner,
                             ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE) == ACLCHECK_OK &&
           columns_fit(RelationGetDescr(heap)) && check_fits(RelationGetDescr(heap)->constr);
}

DirectAccess examine(const Hub& hub, Relation heap) {
    DirectAccess access{};
    access.state = DirectAccess::State::kOther;
    if (!table_fits(hub, heap)) {
        return access;
    }
    Oid* const found[] = {&access.key, &access.activity, &access.session};
    List* indexes = RelationGetIndexList(heap);
    bool fits = list_length(indexes) == static_cast<int>(std::size(kIndexes));
    for (int i = 0; fits && i < list_length(indexes); ++i) {
        Relation index = index_open(list_nth_oid(indexes, i), AccessShareLock);
        fits = false;
        for (std::size_t k = 0; k < std::size(kIndexes); ++k) {
            if (strcmp(RelationGetRelationName(index), kIndexes[k].name) == 0 &&
                index_fits(index, kIndexes[k])) {
                *found[k] = RelationGetRelid(index);
                fits = true;
            }
        }
        index_close(index, AccessShareLock);
    }
    list_free(indexes);
    access.state = fits ? DirectAccess::State::kPlain : DirectAccess::State::kOther;
    return access;
}

// ---------------------------------------------------------------- writing

void insert_entry(Relation heap, Oid index_id, const IndexShape& shape, const Datum* values,
                  const bool* nulls, ItemPointer tid, bool unchanged) {
    Relation index = index_open(index_id, RowExclusiveLock);
    Datum keys[5];
    bool key_nulls[5];
    auto* info = makeNode(IndexInfo);
    info->ii_NumIndexAttrs = shape.count;
    info->ii_NumIndexKeyAttrs = shape.count;
    info->ii_Unique = shape.primary;
    info->ii_ReadyForInserts = true;
    for (int i = 0; i < shape.count; ++i) {
        keys[i] = values[shape.columns[i] - 1];
        key_nulls[i] = nulls[shape.columns[i] - 1];
        info->ii_IndexAttrNumbers[i] = shape.columns[i];
    }
    (void)index_insert(index, keys, key_nulls, tid, heap,
                       shape.primary ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, unchanged, info);
    index_close(index, NoLock);
}

// Gives a new version its entries. moved: due has changed, which two of the indexes contain.
void insert_entries(Relation heap, const DirectAccess& access, const Datum* values,
                    const bool* nulls, ItemPointer tid, bool update, bool moved) {
    insert_entry(heap, access.key, kIndexes[0], values, nulls, tid, update && !moved);
    if (!nulls[kInstanceId - 1]) {
        insert_entry(heap, access.activity, kIndexes[1], values, nulls, tid, update);
    }
    if (!nulls[kSessionId - 1]) {
        insert_entry(heap, access.session, kIndexes[2], values, nulls, tid, update && !moved);
    }
}

TM_Result change_row(const QueueTable& table, const NewVersion& version, bool wait) {
    CheckCmdReplicaIdentity(table.heap, CMD_UPDATE);
    HeapTuple row = version.row;
    // A row that moves to another place of the key needs new entries even on the same page.
    const bool moved = version.columns->due != columns(table).due;
    ItemPointerData tid = table.row->tts_tid;
    TM_FailureData failure;
    const TM_Result result =
        pg::update_heap_row(table.heap, &tid, row, GetCurrentCommandId(true), wait, &failure);
    if (result == TM_Ok && !HeapTupleIsHeapOnly(row)) {
        Datum values[kQueueColumns];
        bool nulls[kQueueColumns];
        heap_deform_tuple(row, RelationGetDescr(table.heap), values, nulls);
        insert_entries(table.heap, table.hub.worker_queue_access, values, nulls, &row->t_self, true,
                       moved);
    }
    return result;
}

[[noreturn]] void raise_unexpected(const char* what, TM_Result result) {
    elog(ERROR, "unexpected result %d of %s of a work item", static_cast<int>(result), what);
    pg_unreachable();
}

}  // namespace

Relation open_for_direct_access(const Hub& hub) {
    if (!pg::settings.fast_path || IsolationUsesXactSnapshot() || RecoveryInProgress()) {
        return nullptr;
    }
    Relation heap = try_table_open(hub.relations.worker_queue, RowExclusiveLock);
    if (heap == nullptr) {
        return nullptr;
    }
    // The access is a cache inside the hub's cache entry. A stale entry is filled anew soon; until
    // then every call looks for itself.
    auto* access = const_cast<DirectAccess*>(&hub.worker_queue_access);
    if (access->state == DirectAccess::State::kUnknown || hub.stale) {
        *access = examine(hub, heap);
    }
    if (access->state == DirectAccess::State::kPlain) {
        return heap;
    }
    table_close(heap, NoLock);
    return nullptr;
}

void renew_snapshot(QueueTable* table) {
    if (table->snapshot != nullptr) {
        ExecClearTuple(table->row);
        PopActiveSnapshot();
    }
    CommandCounterIncrement();
    PushActiveSnapshot(GetTransactionSnapshot());
    table->snapshot = GetActiveSnapshot();
}

void close_queue(QueueTable* table) {
    ExecDropSingleTupleTableSlot(table->row);
    if (table->key != nullptr) {
        index_close(table->key, NoLock);
    }
    table_close(table->heap, NoLock);
    if (table->snapshot != nullptr) {
        PopActiveSnapshot();
    }
    CommandCounterIncrement();
}

Relation key_index(QueueTable* table) {
    if (table->key == nullptr) {
        table->key = index_open(table->hub.worker_queue_access.key, RowExclusiveLock);
    }
    return table->key;
}

bool find_at(const QueueTable& table, const pg::RowHint& hint, const WorkKey& key) {
    // The pin says that the block is there; whatever lies in it now is looked at as in any scan. A
    // row with that key is the row: the key is unique among what a snapshot sees.
    if (hint.buffer == InvalidBuffer ||
        !pg::pin_recent_buffer(table.heap, ItemPointerGetBlockNumber(&hint.tid), hint.buffer)) {
        return false;
    }
    ItemPointerData tid = hint.tid;
    const bool found =
        table_tuple_fetch_row_version(table.heap, &tid, table.snapshot, table.row) &&
        row_key(table) == key;
    ReleaseBuffer(hint.buffer);
    if (!found) {
        ExecClearTuple(table.row);
    }
    return found;
}

bool find_row(QueueTable* table, const WorkKey& key) {
    const auto hint = pg::row_hint(cursor_of(table->hub, key), place_of(key));
    if (hint && find_at(*table, *hint, key)) {
        return true;
    }
    ScanKeyData keys[4];
    ScanKeyInit(&keys[0], kLane, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(key.lane));
    ScanKeyInit(&keys[1], kSlot, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(key.slot));
    ScanKeyInit(&keys[2], kDue, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(key.due));
    ScanKeyInit(&keys[3], kId, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(key.id));
    IndexScanDesc scan =
        pg::begin_index_scan(table->heap, key_index(table), table->snapshot, 4);
    index_rescan(scan, keys, 4, nullptr, 0);
    const bool found = next_row(*table, scan);
    index_endscan(scan);
    return found;
}

IndexScanDesc scan_lane(QueueTable* table, int32 lane, int16 slot, bool delayed, int64 due,
                        int64 id) {
    ScanKeyData keys[4];
    ScanKeyInit(&keys[0], kLane, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(lane));
    ScanKeyInit(&keys[1], kSlot, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(slot));
    int count = 2;
    if (!delayed) {
        ScanKeyInit(&keys[count++], kDue, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(0));
        ScanKeyInit(&keys[count++], kId, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(id));
    } else {
        // ROW(due, id) >= ROW($due, $id), in the form in which the executor passes it. The scan
        // copies the keys but not the parts of a row key: they live as long as it does. It begins
        // where this key says, so the key must not name a row that was never delayed.
        auto* parts = static_cast<ScanKey>(palloc0(sizeof(ScanKeyData) * 2));
        ScanKeyEntryInitialize(&parts[0], SK_ROW_MEMBER, kDue, BTGreaterEqualStrategyNumber,
                               INT8OID, InvalidOid, F_BTINT8CMP,
                               Int64GetDatum(std::max<int64>(due, 1)));
        ScanKeyEntryInitialize(&parts[1], SK_ROW_MEMBER | SK_ROW_END, kId,
                               BTGreaterEqualStrategyNumber, INT8OID, InvalidOid, F_BTINT8CMP,
                               Int64GetDatum(due < 1 ? PG_INT64_MIN : id));
        ScanKeyData* row = &keys[count++];
        *row = {};
        row->sk_flags = SK_ROW_HEADER;
        row->sk_attno = kDue;
        row->sk_strategy = BTGreaterEqualStrategyNumber;
        row->sk_argument = PointerGetDatum(parts);
    }
    IndexScanDesc scan =
        pg::begin_index_scan(table->heap, key_index(table), table->snapshot, count);
    index_rescan(scan, keys, count, nullptr, 0);
    return scan;
}

std::optional<std::string_view> row_text(const QueueTable& table, QueueColumn number) {
    bool null = false;
    const Datum value = slot_getattr(table.row, number, &null);
    if (null) {
        return std::nullopt;
    }
    const text* copy = DatumGetTextPCopy(value);
    return std::string_view(VARDATA_ANY(copy), VARSIZE_ANY_EXHDR(copy));
}

pg::RowHint insert_row(Relation heap, const DirectAccess& indexes, Datum* values, bool* nulls) {
    HeapTuple row = heap_form_tuple(RelationGetDescr(heap), values, nulls);
    row->t_tableOid = RelationGetRelid(heap);
    heap_insert(heap, row, GetCurrentCommandId(true), 0, nullptr);
    insert_entries(heap, indexes, values, nulls, &row->t_self, false, false);
    const Buffer buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(&row->t_self));
    ReleaseBuffer(buffer);
    const pg::RowHint hint{row->t_self, buffer};
    heap_freetuple(row);
    return hint;
}

NewVersion copy_row(const QueueTable& table, Owner change, std::optional<std::string_view> owner) {
    HeapTuple old_row = reinterpret_cast<const HeapTupleTableSlot*>(table.row)->tuple;
    TupleDesc columns = RelationGetDescr(table.heap);
    const bool same = change == Owner::kKeep ||
                      (!owner && heap_attisnull(old_row, kLockedBy, columns));
    HeapTuple row = nullptr;
    if (same) {
        row = heap_copytuple(old_row);
    } else {
        int number = kLockedBy;
        Datum value = owner ? pg::text_datum(*owner) : 0;
        bool null = !owner;
        row = heap_modify_tuple_by_cols(old_row, columns, 1, &number, &value, &null);
    }
    return {row, reinterpret_cast<QueueRow*>(GETSTRUCT(row))};
}

pg::RowHint place_in_heap(const QueueTable& table, const NewVersion& version) {
    const auto* slot = reinterpret_cast<const BufferHeapTupleTableSlot*>(table.row);
    const bool same_page = ItemPointerGetBlockNumber(&version.row->t_self) ==
                           ItemPointerGetBlockNumber(&table.row->tts_tid);
    return {version.row->t_self, same_page ? slot->buffer : InvalidBuffer};
}

bool try_change_row(const QueueTable& table, const NewVersion& version) {
    // The server's assertions forbid an update that does not wait; the server does not mind.
#ifndef USE_ASSERT_CHECKING
    const TM_Result result = change_row(table, version, false);
    if (result != TM_BeingModified) {
        return result == TM_Ok;
    }
#endif
    // Perhaps only a lock of our own, or one that an update does not conflict with.
    if (lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip) != TM_Ok) {
        return false;
    }
    change_held_row(table, version);
    return true;
}

void change_held_row(const QueueTable& table, const NewVersion& version) {
    const TM_Result result = change_row(table, version, true);
    if (result != TM_Ok) {
        raise_unexpected("an update", result);
    }
}

TM_Result lock_row(const QueueTable& table, LockTupleMode mode, LockWaitPolicy policy) {
    ItemPointerData tid = table.row->tts_tid;
    TM_FailureData failure;
    // Without flags: newer versions are neither followed nor locked, so nothing can wait for them.
    const TM_Result result =
        table_tuple_lock(table.heap, &tid, table.snapshot, table.row, GetCurrentCommandId(false),
                         mode, policy, 0, &failure);
    switch (result) {
        case TM_Ok:
        case TM_Updated:
        case TM_Deleted:
        case TM_WouldBlock:
            return result;
        default:
            raise_unexpected("a lock", result);
    }
}

bool delete_row(const QueueTable& table, bool wait) {
    CheckCmdReplicaIdentity(table.heap, CMD_DELETE);
    ItemPointerData tid = table.row->tts_tid;
    TM_FailureData failure;
    const TM_Result result = heap_delete(table.heap, &tid, GetCurrentCommandId(true),
                                         InvalidSnapshot, wait, &failure, false);
    if (wait && result != TM_Ok) {
        raise_unexpected("a deletion", result);
    }
    return result == TM_Ok;
}

}  // namespace belay::store
