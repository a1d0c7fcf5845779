#include "store/fast/direct_table.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/faults.hpp"
#include "pg/settings.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- the shape

bool columns_fit(TupleDesc columns, const TableShape& shape) {
    if (columns->natts != static_cast<int>(shape.columns.size())) {
        return false;
    }
    for (int i = 0; i < columns->natts; ++i) {
        const auto* column = TupleDescAttr(columns, i);
        const ColumnShape& wanted = shape.columns[static_cast<std::size_t>(i)];
        if (column->attisdropped || strcmp(NameStr(column->attname), wanted.name) != 0 ||
            column->atttypid != wanted.type || column->atttypmod != -1 ||
            column->attcollation != wanted.collation || column->attnotnull != wanted.required ||
            column->attgenerated != '\0' || column->attidentity != '\0' || column->atthasmissing) {
            return false;
        }
    }
    return true;
}

// An expression over the table's columns as the server prints it, with pg_catalog alone in the
// path.
const char* printed(Relation heap, Node* expression) {
    return deparse_expression(
        expression, deparse_context_for(RelationGetRelationName(heap), RelationGetRelid(heap)),
        false, false);
}

// The checks of the table are those that every row we write meets, in any order.
bool checks_fit(Relation heap, const TableShape& shape) {
    const TupleConstr* constraints = RelationGetDescr(heap)->constr;
    const int count = constraints == nullptr ? 0 : constraints->num_check;
    if (count != static_cast<int>(shape.checks.size())) {
        return false;
    }
    for (int i = 0; i < count; ++i) {
        const char* check =
            printed(heap, static_cast<Node*>(stringToNode(constraints->check[i].ccbin)));
        if (std::none_of(shape.checks.begin(), shape.checks.end(),
                         [check](const char* wanted) { return strcmp(check, wanted) == 0; })) {
            return false;
        }
    }
    return true;
}

bool predicate_fits(Relation heap, Relation index, const char* only) {
    List* predicate = RelationGetIndexPredicate(index);
    if (only == nullptr || predicate == NIL) {
        return only == nullptr && predicate == NIL;
    }
    return strcmp(printed(heap, reinterpret_cast<Node*>(make_ands_explicit(predicate))), only) == 0;
}

bool index_fits(Relation heap, Relation index, const TableShape& shape, const IndexShape& wanted) {
    const auto* form = index->rd_index;
    if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || !form->indisready ||
        !form->indislive || form->indcheckxmin || form->indisprimary != wanted.primary ||
        form->indisunique != wanted.primary || !form->indimmediate || form->indisexclusion ||
        form->indnkeyatts != wanted.count || form->indnatts != wanted.count ||
        RelationGetIndexExpressions(index) != NIL || !predicate_fits(heap, index, wanted.only)) {
        return false;
    }
    for (int i = 0; i < wanted.count; ++i) {
        const ColumnShape& column = shape.columns[static_cast<std::size_t>(wanted.columns[i] - 1)];
        const Oid standard = GetDefaultOpClass(column.type, BTREE_AM_OID);
        const int16 option =
            (wanted.descending >> i & 1) != 0 ? INDOPTION_DESC | INDOPTION_NULLS_FIRST : 0;
        if (form->indkey.values[i] != wanted.columns[i] || index->rd_indoption[i] != option ||
            index->rd_opfamily[i] != get_opclass_family(standard) ||
            index->rd_opcintype[i] != column.type ||
            index->rd_indcollation[i] != column.collation) {
            return false;
        }
    }
    return true;
}

bool table_fits(const Hub& hub, Relation heap, const TableShape& shape) {
    const auto* form = heap->rd_rel;
    return form->relkind == RELKIND_RELATION && form->relpersistence == RELPERSISTENCE_PERMANENT &&
           heap->rd_tableam == GetHeapamTableAmRoutine() && !form->relispartition &&
           !form->relhassubclass && !form->relhasrules && !form->relhastriggers &&
           !form->relrowsecurity && !form->relforcerowsecurity && form->relowner == hub.owner &&
           pg_class_aclcheck(RelationGetRelid(heap), hub.owner,
                             ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE) == ACLCHECK_OK &&
           columns_fit(RelationGetDescr(heap), shape) && checks_fit(heap, shape);
}

bool indexes_fit(Relation heap, const TableShape& shape, DirectAccess* access) {
    List* indexes = RelationGetIndexList(heap);
    bool fits = list_length(indexes) == static_cast<int>(shape.indexes.size());
    for (int i = 0; fits && i < list_length(indexes); ++i) {
        Relation index = index_open(list_nth_oid(indexes, i), AccessShareLock);
        fits = false;
        for (std::size_t k = 0; k < shape.indexes.size(); ++k) {
            if (strcmp(RelationGetRelationName(index), shape.indexes[k].name) == 0 &&
                index_fits(heap, index, shape, shape.indexes[k])) {
                access->indexes[k] = RelationGetRelid(index);
                fits = true;
            }
        }
        index_close(index, AccessShareLock);
    }
    list_free(indexes);
    return fits;
}

DirectAccess examine(const Hub& hub, Relation heap, const TableShape& shape) {
    // An operator prints without its schema if a caller's path leads to it: then it could be one
    // that only looks like ours.
    const int level = NewGUCNestLevel();
    (void)set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    DirectAccess access{};
    access.state = table_fits(hub, heap, shape) && indexes_fit(heap, shape, &access)
                       ? DirectAccess::State::kPlain
                       : DirectAccess::State::kOther;
    AtEOXact_GUC(false, level);
    return access;
}

// ---------------------------------------------------------------- writing

void insert_entry(DirectTable* table, int number, const Datum* values, const bool* nulls,
                  ItemPointer tid, bool unchanged) {
    const IndexShape& shape = table->shape.indexes[static_cast<std::size_t>(number)];
    Relation index = index_at(table, number);
    Datum keys[kMaxKeys];
    bool key_nulls[kMaxKeys];
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
    (void)index_insert(index, keys, key_nulls, tid, table->heap,
                       shape.primary ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, unchanged, info);
    pfree(info);
}

void insert_entries(DirectTable* table, const Datum* values, const bool* nulls, ItemPointer tid,
                    bool unchanged) {
    for (std::size_t i = 0; i < table->shape.indexes.size(); ++i) {
        const auto holds = table->shape.indexes[i].holds;
        if (holds == nullptr || holds(values, nulls)) {
            insert_entry(table, static_cast<int>(i), values, nulls, tid, unchanged);
        }
    }
}

TM_Result change_row(DirectTable* table, HeapTuple version, bool moved, bool wait) {
    pg::pass_store_faults();
    CheckCmdReplicaIdentity(table->heap, CMD_UPDATE);
    ItemPointerData tid = table->row->tts_tid;
    TM_FailureData failure;
    const TM_Result result =
        pg::update_heap_row(table->heap, &tid, version, GetCurrentCommandId(true), wait, &failure);
    if (result == TM_Ok && !HeapTupleIsHeapOnly(version)) {
        NewRow row;
        heap_deform_tuple(version, RelationGetDescr(table->heap), row.values, row.nulls);
        insert_entries(table, row.values, row.nulls, &version->t_self, !moved);
    }
    return result;
}

[[noreturn]] void raise_unexpected(const char* what, TM_Result result) {
    elog(ERROR, "unexpected result %d of %s of a row", static_cast<int>(result), what);
    pg_unreachable();
}

}  // namespace

Relation open_for_direct_access(const Hub& hub, DirectId id, LOCKMODE mode) {
    if (!pg::settings.fast_path || IsolationUsesXactSnapshot() || RecoveryInProgress()) {
        return nullptr;
    }
    const TableShape& shape = shape_of(id);
    const Oid relation = hub.relations.*shape.relation;
    Relation heap = OidIsValid(relation) ? try_table_open(relation, mode) : nullptr;
    if (heap == nullptr) {
        return nullptr;
    }
    // The access is a cache inside the hub's cache entry. A stale entry is filled anew soon; until
    // then every call looks for itself.
    auto* access = const_cast<DirectAccess*>(&hub.direct[static_cast<int>(id)]);
    if (access->state == DirectAccess::State::kUnknown || hub.stale) {
        *access = examine(hub, heap, shape);
    }
    if (access->state == DirectAccess::State::kPlain) {
        return heap;
    }
    table_close(heap, NoLock);
    return nullptr;
}

DirectTable make_access(const Hub& hub, DirectId id, Relation heap, LOCKMODE mode) {
    return {.hub = hub,
            .shape = shape_of(id),
            .access = hub.direct[static_cast<int>(id)],
            .heap = heap,
            .indexes = {},
            .row = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsBufferHeapTuple),
            .snapshot = nullptr,
            .pushed = false,
            .mode = mode};
}

void renew_snapshot(DirectTable* table) {
    if (table->pushed) {
        ExecClearTuple(table->row);
        PopActiveSnapshot();
    }
    CommandCounterIncrement();
    PushActiveSnapshot(GetTransactionSnapshot());
    table->snapshot = GetActiveSnapshot();
    table->pushed = true;
}

void use_active_snapshot(DirectTable* table) {
    table->snapshot = GetActiveSnapshot();
}

void close_access(DirectTable* table) {
    ExecDropSingleTupleTableSlot(table->row);
    for (Relation index : table->indexes) {
        if (index != nullptr) {
            index_close(index, NoLock);
        }
    }
    table_close(table->heap, NoLock);
    if (table->pushed) {
        PopActiveSnapshot();
    }
    CommandCounterIncrement();
}

Relation index_at(DirectTable* table, int index) {
    if (table->indexes[index] == nullptr) {
        table->indexes[index] = index_open(table->access.indexes[index], table->mode);
    }
    return table->indexes[index];
}

ScanKeys& ScanKeys::text(std::string_view value) {
    return add(BTEqualStrategyNumber, F_TEXTEQ, pg::text_datum(value));
}

IndexScanDesc begin_scan(DirectTable* table, int index, const ScanKeys& keys) {
    IndexScanDesc scan =
        pg::begin_index_scan(table->heap, index_at(table, index), table->snapshot, keys.count);
    index_rescan(scan, const_cast<ScanKey>(keys.keys), keys.count, nullptr, 0);
    return scan;
}

bool find_one(DirectTable* table, int index, const ScanKeys& keys) {
    IndexScanDesc scan = begin_scan(table, index, keys);
    const bool found = next_row(*table, scan);
    index_endscan(scan);
    return found;
}

int64 int8_column(const DirectTable& table, AttrNumber number) {
    bool null = false;
    return DatumGetInt64(column(table, number, &null));
}

std::optional<std::string_view> text_column(const DirectTable& table, AttrNumber number) {
    bool null = false;
    const Datum value = column(table, number, &null);
    if (null) {
        return std::nullopt;
    }
    const text* copy = DatumGetTextPCopy(value);
    return std::string_view(VARDATA_ANY(copy), VARSIZE_ANY_EXHDR(copy));
}

bool text_is(const DirectTable& table, AttrNumber number, std::string_view value) {
    bool null = false;
    const Datum stored = column(table, number, &null);
    return !null && pg::text_view(stored) == value;
}

NewRow& NewRow::timestamp(AttrNumber number, int64 ms) {
    return set(number, TimestampTzGetDatum(core::ms_to_pg_us(ms)));
}

NewRow& NewRow::text(AttrNumber number, std::string_view value) {
    return set(number, pg::text_datum(value));
}

ItemPointerData insert_row(DirectTable* table, NewRow* row) {
    pg::pass_store_faults();
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table->heap), row->values, row->nulls);
    tuple->t_tableOid = RelationGetRelid(table->heap);
    heap_insert(table->heap, tuple, GetCurrentCommandId(true), 0, nullptr);
    insert_entries(table, row->values, row->nulls, &tuple->t_self, false);
    const ItemPointerData tid = tuple->t_self;
    heap_freetuple(tuple);
    return tid;
}

RowSet make_row_set(const DirectTable& table, std::size_t count) {
    const std::size_t slots = std::min(count, kRowsAtOnce);
    RowSet set{.rows = static_cast<NewRow*>(palloc(sizeof(NewRow) * slots)),
               .slots = static_cast<TupleTableSlot**>(palloc(sizeof(TupleTableSlot*) * slots)),
               .slot_count = static_cast<int>(slots)};
    for (std::size_t i = 0; i < slots; ++i) {
        set.slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(table.heap), &TTSOpsHeapTuple);
    }
    return set;
}

void insert_set(DirectTable* table, RowSet* set, int count) {
    for (int i = 0; i < count; ++i) {
        NewRow& row = set->rows[i];
        ExecStoreHeapTuple(heap_form_tuple(RelationGetDescr(table->heap), row.values, row.nulls),
                           set->slots[i], true);
    }
    heap_multi_insert(table->heap, set->slots, count, GetCurrentCommandId(true), 0, nullptr);
    for (int i = 0; i < count; ++i) {
        insert_entries(table, set->rows[i].values, set->rows[i].nulls, &set->slots[i]->tts_tid,
                       false);
    }
}

void drop_row_set(RowSet* set) {
    for (int i = 0; i < set->slot_count; ++i) {
        ExecDropSingleTupleTableSlot(set->slots[i]);
    }
}

HeapTuple changed_row(const DirectTable& table, Changes* changes) {
    return heap_modify_tuple_by_cols(reinterpret_cast<const HeapTupleTableSlot*>(table.row)->tuple,
                                     RelationGetDescr(table.heap), changes->count, changes->numbers,
                                     changes->values, changes->nulls);
}

HeapTuple copy_row(const DirectTable& table) {
    return heap_copytuple(reinterpret_cast<const HeapTupleTableSlot*>(table.row)->tuple);
}

bool try_change_row(DirectTable* table, HeapTuple version, bool moved) {
    // The server's assertions forbid an update that does not wait; the server does not mind.
#ifndef USE_ASSERT_CHECKING
    const TM_Result result = change_row(table, version, moved, false);
    if (result != TM_BeingModified) {
        return result == TM_Ok;
    }
#endif
    // Perhaps only a lock of our own, or one that an update does not conflict with.
    if (lock_row(*table, LockTupleNoKeyExclusive, LockWaitSkip) != TM_Ok) {
        return false;
    }
    change_held_row(table, version, moved);
    return true;
}

void change_held_row(DirectTable* table, HeapTuple version, bool moved) {
    const TM_Result result = change_row(table, version, moved, true);
    if (result != TM_Ok) {
        raise_unexpected("an update", result);
    }
}

TM_Result lock_row(const DirectTable& table, LockTupleMode mode, LockWaitPolicy policy) {
    pg::pass_store_faults();
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

bool delete_row(const DirectTable& table, bool wait) {
    pg::pass_store_faults();
    CheckCmdReplicaIdentity(table.heap, CMD_DELETE);
    ItemPointerData tid = table.row->tts_tid;
    TM_FailureData failure;
    const TM_Result result = heap_delete(table.heap, &tid, GetCurrentCommandId(true),
                                         InvalidSnapshot, wait, &failure, false);
    return result == TM_Ok;
}

}  // namespace belay::store
