// Opening a table, and access to its rows: the part of table.hpp that need not be inline.
//
// Touches  the table that it is given, and the hub's cache entry, where it keeps what it found out
// Must not know which table it is, or what a column means: descriptions say it
#include "store/table/table.hpp"

#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/settings.hpp"

namespace belay::store {

void raise_changed() {
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not serialize access due to concurrent update")));
    pg_unreachable();
}

namespace {

// ---------------------------------------------------------------- opening

[[noreturn]] void raise_altered(const Hub& hub, const TableShape& shape, const Alteration& found) {
    pg::raise(pg::kTableAltered,
              psprintf("table \"%s.%s\" %s", NameStr(hub.name), shape.name, found.problem),
              pg::Facts("table_altered").add("table", shape.name).add("object", found.object),
              psprintf("%s belay.check_hub('%s') lists all that was altered.", found.remedy,
                       NameStr(hub.name)));
}

// Opens the table, which is not open yet.
Relation open_heap(const Hub& hub, const TableShape& shape, LOCKMODE mode) {
    const Oid relation = hub.relations.*shape.relation;
    Relation heap = OidIsValid(relation) ? try_table_open(relation, mode) : nullptr;
    if (heap == nullptr) {
        check_is_here(hub);
        raise_altered(hub, shape, {shape.name, "is missing", "Restore the hub from a backup."});
    }
    return heap;
}

// What examine has found out about the table, cached in the hub's cache entry. Raises an error if
// the table differs from its description. While the entry is stale, each call examines again.
TableState checked_state(const Hub& hub, TableId id, Relation heap) {
    auto* state = const_cast<TableState*>(&hub.tables[static_cast<int>(id)]);
    if (!state->known || hub.stale) {
        const auto found = examine(hub, heap, shape_of(id), state);
        if (!found.empty()) {
            raise_altered(hub, shape_of(id), found.front());
        }
    }
    return *state;
}

Table make_table(const Hub& hub, TableId id, Relation heap, LOCKMODE mode) {
    return {.hub = hub,
            .shape = shape_of(id),
            .state = checked_state(hub, id, heap),
            .heap = heap,
            .indexes = {},
            .entries = {},
            .executor = {},
            .row = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsBufferHeapTuple),
            .snapshot = nullptr,
            .pushed = false,
            .mode = mode,
            .owner = CurrentResourceOwner,
            .memory = CurrentMemoryContext};
}

// Runs body with the resource owner and the memory context of the open table.
template <typename Body>
auto as_owner(Table* table, Body body) {
    ResourceOwner owner = CurrentResourceOwner;
    MemoryContext memory = MemoryContextSwitchTo(table->memory);
    CurrentResourceOwner = table->owner;
    auto result = body();
    CurrentResourceOwner = owner;
    MemoryContextSwitchTo(memory);
    return result;
}

void close_table(Table* table) {
    if (table->executor.state != nullptr) {
        ExecCloseIndices(table->executor.result);
        ExecDropSingleTupleTableSlot(table->executor.row);
        FreeExecutorState(table->executor.state);
    }
    ExecDropSingleTupleTableSlot(table->row);
    for (Relation index : table->indexes) {
        if (index != nullptr) {
            index_close(index, NoLock);
        }
    }
    table_close(table->heap, NoLock);
}

// An index that was made after the transaction's snapshot may lack rows that the snapshot sees.
void check_age(Relation index) {
    if (index->rd_index->indcheckxmin && IsolationUsesXactSnapshot() &&
        !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
                               TransactionXmin)) {
        raise_changed();
    }
}

// ---------------------------------------------------------------- what owners have added

ExprState** prepare_defaults(Table* table, EState* state) {
    TupleDesc columns = RelationGetDescr(table->heap);
    const int ours = static_cast<int>(table->shape.columns.size());
    auto** defaults = static_cast<ExprState**>(
        palloc0(sizeof(ExprState*) * static_cast<Size>(columns->natts - ours + 1)));
    for (int i = ours; i < columns->natts; ++i) {
        const auto* column = TupleDescAttr(columns, i);
        if (!column->attisdropped && column->atthasdef) {
            auto* expression = reinterpret_cast<Expr*>(build_column_default(table->heap, i + 1));
            defaults[i - ours] = ExecPrepareExpr(expression, state);
        }
    }
    return defaults;
}

Executor& executor_of(Table* table) {
    if (table->executor.state == nullptr) {
        table->executor = as_owner(table, [table] {
            Executor made{
                .state = CreateExecutorState(),
                .result = makeNode(ResultRelInfo),
                .row = MakeSingleTupleTableSlot(RelationGetDescr(table->heap), &TTSOpsHeapTuple),
                .defaults = nullptr};
            InitResultRelInfo(made.result, table->heap, 0, nullptr, 0);
            ExecOpenIndices(made.result, false);
            made.defaults = prepare_defaults(table, made.state);
            return made;
        });
    }
    return table->executor;
}

// Runs body with an active snapshot, which expressions of the hub's owner need.
template <typename Body>
void with_some_snapshot(Body body) {
    const bool none = !ActiveSnapshotSet();
    if (none) {
        PushActiveSnapshot(GetTransactionSnapshot());
    }
    body();
    if (none) {
        PopActiveSnapshot();
    }
}

Columns column_space(TupleDesc columns) {
    const auto count = static_cast<Size>(columns->natts);
    return {.values = static_cast<Datum*>(palloc(sizeof(Datum) * count)),
            .nulls = static_cast<bool*>(palloc(sizeof(bool) * count))};
}

// A tuple of the new row, with the defaults of the columns that the owner has added behind ours.
HeapTuple form_row(Table* table, NewRow* row) {
    TupleDesc columns = RelationGetDescr(table->heap);
    if (!table->state.more_columns) {
        return heap_form_tuple(columns, row->values, row->nulls);
    }
    HeapTuple tuple = nullptr;
    with_some_snapshot([&] {
        const Executor& executor = executor_of(table);
        ExprContext* context = GetPerTupleExprContext(executor.state);
        const int ours = static_cast<int>(table->shape.columns.size());
        const auto [values, nulls] = column_space(columns);
        std::copy_n(row->values, ours, values);
        std::copy_n(row->nulls, ours, nulls);
        for (int i = ours; i < columns->natts; ++i) {
            ExprState* expression = executor.defaults[i - ours];
            nulls[i] = true;
            values[i] = expression == nullptr
                            ? 0
                            : ExecEvalExprSwitchContext(expression, context, &nulls[i]);
            const auto* column = TupleDescAttr(columns, i);
            if (nulls[i] && column->attnotnull && !column->attisdropped) {
                ereport(ERROR,
                        (errcode(ERRCODE_NOT_NULL_VIOLATION),
                         errmsg("null value in column \"%s\" of relation \"%s\" violates not-null "
                                "constraint",
                                NameStr(column->attname), RelationGetRelationName(table->heap)),
                         errtablecol(table->heap, i + 1)));
            }
        }
        tuple = heap_form_tuple(columns, values, nulls);
        ResetPerTupleExprContext(executor.state);
    });
    return tuple;
}

void insert_all_entries(Table* table, HeapTuple tuple, pg::NewEntries entries) {
    with_some_snapshot([=] {
        const Executor& executor = executor_of(table);
        ExecForceStoreHeapTuple(tuple, executor.row, false);
        executor.row->tts_tid = tuple->t_self;
        executor.row->tts_tableOid = RelationGetRelid(table->heap);
        pg::insert_index_tuples(executor.result, executor.row, executor.state, entries);
        ResetPerTupleExprContext(executor.state);
        ExecClearTuple(executor.row);
    });
}

// ---------------------------------------------------------------- writing

IndexInfo* entry_info(Table* table, int number) {
    if (table->entries[number] == nullptr) {
        const IndexShape& shape = table->shape.indexes[static_cast<std::size_t>(number)];
        MemoryContext memory = MemoryContextSwitchTo(table->memory);
        auto* info = makeNode(IndexInfo);
        info->ii_NumIndexAttrs = shape.count;
        info->ii_NumIndexKeyAttrs = shape.count;
        info->ii_Unique = shape.primary;
        info->ii_ReadyForInserts = true;
        std::copy_n(shape.columns, shape.count, info->ii_IndexAttrNumbers);
        table->entries[number] = info;
        MemoryContextSwitchTo(memory);
    }
    return table->entries[number];
}

// Callers check that a key does not exist before they insert it. At REPEATABLE READ and
// SERIALIZABLE a row that another transaction has inserted since the snapshot is 40001, without a
// wait for it.
IndexUniqueCheck check_of(const IndexShape& shape) {
    if (!shape.primary) {
        return UNIQUE_CHECK_NO;
    }
    return IsolationUsesXactSnapshot() ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES;
}

// Whether a new version has the key of the row that it replaces, table.row.
bool keeps_key(const Table& table, const Datum* values, const bool* nulls) {
    const IndexShape& shape = table.shape.indexes[kByKey];
    for (int k = 0; k < shape.count; ++k) {
        const AttrNumber number = shape.columns[k];
        const auto* column = TupleDescAttr(RelationGetDescr(table.heap), number - 1);
        bool null = false;
        const Datum before = slot_getattr(table.row, number, &null);
        if (null || nulls[number - 1] ||
            !datumIsEqual(before, values[number - 1], column->attbyval, column->attlen)) {
            return false;
        }
    }
    return true;
}

// What an entry for a row says to its index.
struct NewEntry {
    IndexUniqueCheck check;
    bool unchanged;  // the row that it replaces has an entry with the same columns
};

// Entries in our own indexes, as of(shape) says of each.
template <typename Of>
void insert_entries(Table* table, const Datum* values, const bool* nulls, ItemPointer tid, Of of) {
    for (std::size_t i = 0; i < table->shape.indexes.size(); ++i) {
        const IndexShape& shape = table->shape.indexes[i];
        if (shape.holds != nullptr && !shape.holds(values, nulls)) {
            continue;
        }
        const int number = static_cast<int>(i);
        Relation index = index_at(table, number);
        Datum keys[kMaxKeys];
        bool key_nulls[kMaxKeys];
        for (int k = 0; k < shape.count; ++k) {
            keys[k] = values[shape.columns[k] - 1];
            key_nulls[k] = nulls[shape.columns[k] - 1];
        }
        const NewEntry entry = of(shape);
        const bool unique = index_insert(index, keys, key_nulls, tid, table->heap, entry.check,
                                         entry.unchanged, entry_info(table, number));
        if (entry.check == UNIQUE_CHECK_PARTIAL && !unique) {
            raise_changed();
        }
    }
}

NewEntry new_entry(const IndexShape& shape) {
    return {check_of(shape), false};
}

// Entries for a new version of a row.
void insert_entries_again(Table* table, HeapTuple version, pg::NewEntries entries, bool moved,
                          Columns* wanted, const Columns* known) {
    const bool ours = entries != pg::NewEntries::kNone && !table->state.more_indexes;
    if (entries != pg::NewEntries::kNone && !ours) {
        insert_all_entries(table, version, entries);
    }
    if (!ours && wanted == nullptr) {
        return;
    }
    const Columns columns = known != nullptr ? *known : columns_of(*table, version);
    if (ours) {
        // A key that stays is unique already. To check it means to look at every version that it
        // has.
        const bool same_key = keeps_key(*table, columns.values, columns.nulls);
        insert_entries(table, columns.values, columns.nulls, &version->t_self,
                       [=](const IndexShape& shape) {
                           return shape.primary && same_key ? NewEntry{UNIQUE_CHECK_NO, true}
                                                            : NewEntry{check_of(shape), !moved};
                       });
    }
    if (wanted != nullptr) {
        *wanted = columns;
    } else if (known == nullptr) {
        pfree(columns.values);
        pfree(columns.nulls);
    }
}

[[noreturn]] void raise_unexpected(const char* what, TM_Result result) {
    elog(ERROR, "unexpected result %d of %s of a row", static_cast<int>(result), what);
    pg_unreachable();
}

// Whether a lock, change or deletion of a row has succeeded. At REPEATABLE READ and SERIALIZABLE it
// is an error if the row has changed since the snapshot.
bool is_ours(TM_Result result) {
    if ((result == TM_Updated || result == TM_Deleted) && IsolationUsesXactSnapshot()) {
        raise_changed();
    }
    return result == TM_Ok;
}

HeapTuple tuple_of(const Table& table) {
    return reinterpret_cast<const HeapTupleTableSlot*>(table.row)->tuple;
}

// Waits if another transaction has locked or changed table.row.
TM_Result update_row(Table* table, HeapTuple version, bool moved, Columns* columns = nullptr,
                     const Columns* known = nullptr) {
    pg::pass_store_faults();
    CheckCmdReplicaIdentity(table->heap, CMD_UPDATE);
    ItemPointerData tid = table->row->tts_tid;
    TM_FailureData failure;
    pg::NewEntries entries = pg::NewEntries::kNone;
    const TM_Result result = pg::update_heap_row(table->heap, &tid, version,
                                                 GetCurrentCommandId(true), &failure, &entries);
    if (result == TM_Ok) {
        insert_entries_again(table, version, entries, moved, columns, known);
    }
    return result;
}

}  // namespace

Table& Tables::open(TableId id, LOCKMODE mode) {
    Table*& table = open_[static_cast<int>(id)];
    if (table != nullptr && table->mode >= mode) [[likely]] {
        return *table;
    }
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = owner_;
    if (table == nullptr) {
        MemoryContext memory = MemoryContextSwitchTo(memory_);
        Relation heap = open_heap(hub, shape_of(id), mode);
        table = static_cast<Table*>(palloc(sizeof(Table)));
        std::construct_at(table, make_table(hub, id, heap, mode));
        MemoryContextSwitchTo(memory);
    } else {
        LockRelationOid(RelationGetRelid(table->heap), mode);
        for (Relation index : table->indexes) {
            if (index != nullptr) {
                LockRelationOid(RelationGetRelid(index), mode);
            }
        }
        table->mode = mode;
    }
    CurrentResourceOwner = owner;
    if (hub.stale && mode > AccessShareLock) [[unlikely]] {
        // It may have waited for the table while the hub went to another server.
        check_is_here(hub);
    }
    return *table;
}

void Tables::close() {
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = owner_;
    for (Table*& table : open_) {
        if (table != nullptr) {
            close_table(table);
            pfree(table);
            table = nullptr;
        }
    }
    CurrentResourceOwner = owner;
}

void renew_snapshot(Table* table) {
    if (table->pushed) {
        ExecClearTuple(table->row);
        PopActiveSnapshot();
    }
    CommandCounterIncrement();
    PushActiveSnapshot(GetTransactionSnapshot());
    table->snapshot = GetActiveSnapshot();
    table->pushed = true;
}

void use_active_snapshot(Table* table) {
    table->snapshot = GetActiveSnapshot();
}

void end_operation(Table* table) {
    ExecClearTuple(table->row);
    if (table->pushed) {
        PopActiveSnapshot();
        table->pushed = false;
    }
    table->snapshot = nullptr;
    CommandCounterIncrement();
}

Relation index_at(Table* table, int index) {
    if (table->indexes[index] == nullptr) {
        table->indexes[index] =
            as_owner(table, [=] { return index_open(table->state.indexes[index], table->mode); });
        check_age(table->indexes[index]);
    }
    return table->indexes[index];
}

ScanKeys& ScanKeys::text(std::string_view value) {
    return add(BTEqualStrategyNumber, F_TEXTEQ, pg::text_datum(value));
}

IndexScanDesc begin_scan(Table* table, int index, const ScanKeys& keys) {
    IndexScanDesc scan =
        pg::begin_index_scan(table->heap, index_at(table, index), table->snapshot, keys.count);
    index_rescan(scan, const_cast<ScanKey>(keys.keys), keys.count, nullptr, 0);
    return scan;
}

bool find_one(Table* table, int index, const ScanKeys& keys) {
    IndexScanDesc scan = begin_scan(table, index, keys);
    const bool found = next_row(*table, scan);
    index_endscan(scan);
    return found;
}

bool find_last(Table* table, int index, const ScanKeys& keys) {
    IndexScanDesc scan = begin_scan(table, index, keys);
    const bool found = index_getnext_slot(scan, BackwardScanDirection, table->row);
    index_endscan(scan);
    return found;
}

KeyUse use_of_key(Table* table, const ScanKeys& keys) {
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    IndexScanDesc scan =
        pg::begin_index_scan(table->heap, index_at(table, kByKey), &dirty, keys.count);
    index_rescan(scan, const_cast<ScanKey>(keys.keys), keys.count, nullptr, 0);
    KeyUse use{next_row(*table, scan), InvalidTransactionId};
    if (use.taken) {
        use.open = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
        if (!TransactionIdIsValid(use.open) && IsolationUsesXactSnapshot() &&
            !table_tuple_satisfies_snapshot(table->heap, table->row, table->snapshot)) {
            raise_changed();
        }
    }
    ExecClearTuple(table->row);
    index_endscan(scan);
    return use;
}

bool find_at(const Table& table, const ItemPointerData& tid) {
    ItemPointerData place = tid;
    return table_tuple_fetch_row_version(table.heap, &place, table.snapshot, table.row);
}

int64 int8_column(const Table& table, AttrNumber number) {
    bool null = false;
    return DatumGetInt64(column(table, number, &null));
}

std::optional<std::string_view> text_column(const Table& table, AttrNumber number) {
    bool null = false;
    const Datum value = column(table, number, &null);
    return null ? std::nullopt : std::optional(ValueOf<TEXTOID>::load(value));
}

bool text_is(const Table& table, AttrNumber number, std::string_view value) {
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

Columns columns_of(const Table& table, HeapTuple version) {
    TupleDesc columns = RelationGetDescr(table.heap);
    const Columns found = column_space(columns);
    heap_deform_tuple(version, columns, found.values, found.nulls);
    return found;
}

ItemPointerData insert_row(Table* table, NewRow* row) {
    pg::pass_store_faults();
    HeapTuple tuple = form_row(table, row);
    tuple->t_tableOid = RelationGetRelid(table->heap);
    heap_insert(table->heap, tuple, GetCurrentCommandId(true), 0, nullptr);
    if (table->state.more_indexes) {
        insert_all_entries(table, tuple, pg::NewEntries::kAll);
    } else {
        insert_entries(table, row->values, row->nulls, &tuple->t_self, new_entry);
    }
    const ItemPointerData tid = tuple->t_self;
    heap_freetuple(tuple);
    return tid;
}

RowSet make_row_set(const Table& table, std::size_t count) {
    const std::size_t slots = std::min(count, kRowsAtOnce);
    RowSet set{.rows = static_cast<NewRow*>(palloc(sizeof(NewRow) * slots)),
               .slots = static_cast<TupleTableSlot**>(palloc(sizeof(TupleTableSlot*) * slots)),
               .slot_count = static_cast<int>(slots)};
    for (std::size_t i = 0; i < slots; ++i) {
        set.slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(table.heap), &TTSOpsHeapTuple);
    }
    return set;
}

void insert_set(Table* table, RowSet* set, int count) {
    for (int i = 0; i < count; ++i) {
        ExecStoreHeapTuple(form_row(table, &set->rows[i]), set->slots[i], true);
    }
    heap_multi_insert(table->heap, set->slots, count, GetCurrentCommandId(true), 0, nullptr);
    for (int i = 0; i < count; ++i) {
        TupleTableSlot* slot = set->slots[i];
        if (table->state.more_indexes) {
            HeapTuple tuple = reinterpret_cast<HeapTupleTableSlot*>(slot)->tuple;
            tuple->t_self = slot->tts_tid;
            insert_all_entries(table, tuple, pg::NewEntries::kAll);
        } else {
            insert_entries(table, set->rows[i].values, set->rows[i].nulls, &slot->tts_tid,
                           new_entry);
        }
    }
}

void drop_row_set(RowSet* set) {
    for (int i = 0; i < set->slot_count; ++i) {
        ExecDropSingleTupleTableSlot(set->slots[i]);
    }
}

HeapTuple changed_row(const Table& table, Changes* changes, Columns* columns) {
    // The slot has most columns at hand already.
    slot_getallattrs(table.row);
    TupleDesc shape = RelationGetDescr(table.heap);
    const Columns next = column_space(shape);
    std::copy_n(table.row->tts_values, shape->natts, next.values);
    std::copy_n(table.row->tts_isnull, shape->natts, next.nulls);
    for (int i = 0; i < changes->count; ++i) {
        next.values[changes->numbers[i] - 1] = changes->values[i];
        next.nulls[changes->numbers[i] - 1] = changes->nulls[i];
    }
    HeapTuple version = heap_form_tuple(shape, next.values, next.nulls);
    if (columns != nullptr) {
        *columns = next;
    } else {
        pfree(next.values);
        pfree(next.nulls);
    }
    return version;
}

HeapTuple copy_row(const Table& table) {
    return heap_copytuple(tuple_of(table));
}

TM_Result try_change_row(Table* table, HeapTuple version, bool moved, Columns* columns) {
    const TM_Result result = lock_row(*table, LockTupleNoKeyExclusive, LockWaitSkip);
    if (result == TM_Ok) {
        change_held_row(table, version, moved, columns);
    }
    return result;
}

void change_held_row(Table* table, HeapTuple version, bool moved, Columns* columns,
                     const Columns* known) {
    const TM_Result result = update_row(table, version, moved, columns, known);
    if (result != TM_Ok) {
        raise_unexpected("an update", result);
    }
}

TM_Result change_row(Table* table, HeapTuple version, bool moved) {
    const TM_Result result = update_row(table, version, moved);
    if (!is_ours(result) && result != TM_Updated && result != TM_Deleted) {
        raise_unexpected("an update", result);
    }
    return result;
}

TM_Result lock_row(const Table& table, LockTupleMode mode, LockWaitPolicy policy) {
    pg::pass_store_faults();
    ItemPointerData tid = table.row->tts_tid;
    TM_FailureData failure;
    // Newer versions are not followed, so the lock does not wait for them. A key-share lock is the
    // exception: an update in progress does not stop it, so the new version must be locked too;
    // otherwise a deletion of that version would not wait for this lock.
    const uint8 flags = mode == LockTupleKeyShare ? TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS : 0;
    const TM_Result result =
        table_tuple_lock(table.heap, &tid, table.snapshot, table.row, GetCurrentCommandId(false),
                         mode, policy, flags, &failure);
    if (!is_ours(result) && result != TM_Updated && result != TM_Deleted &&
        result != TM_WouldBlock) {
        raise_unexpected("a lock", result);
    }
    return result;
}

bool delete_row(const Table& table, bool wait) {
    pg::pass_store_faults();
    CheckCmdReplicaIdentity(table.heap, CMD_DELETE);
    const auto attempt = [&table](bool waits) {
        ItemPointerData tid = table.row->tts_tid;
        TM_FailureData failure;
        return heap_delete(table.heap, &tid, GetCurrentCommandId(true), InvalidSnapshot, waits,
                           &failure, false);
    };
    TM_Result result = attempt(wait);
    // To a deletion that does not wait, a lock that our own transaction holds looks like that of
    // another one. Locking the row distinguishes them, and a locked row is deleted without a wait.
    if (result == TM_BeingModified && !wait &&
        lock_row(table, LockTupleExclusive, LockWaitSkip) == TM_Ok) {
        result = attempt(true);
    }
    return is_ours(result);
}

}  // namespace belay::store
