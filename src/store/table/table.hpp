// Access to the rows of a hot table: find, lock, insert, change and delete them by its description,
// directly on heap and btree.
//
// Every isolation level is served. At READ COMMITTED each operation takes a new snapshot, and a row
// that has changed since is not ours: it is looked for again, or left alone. At REPEATABLE READ and
// SERIALIZABLE the transaction's snapshot is used, and such a row raises 40001; a row that another
// transaction holds is left alone where a caller does not wait. Scans take predicate locks.
//
// Further indexes and columns of the owner's are served through the executor's routines.
//
// Touches  the table, its indexes
// Locks    the table and its indexes; rows as each function says
// Must not wait for a row unless its contract says so, or run outside of a Tables
#pragma once

#include <algorithm>

#include "pg/boundary.hpp"
#include "pg/compat.hpp"
#include "pg/faults.hpp"
#include "pg/pg.hpp"
#include "store/table/shape.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

// What the executor needs to serve the owner's own columns and indexes.
struct Executor {
    EState* state;  // null: not needed yet
    ResultRelInfo* result;
    TupleTableSlot* row;
    ExprState** defaults;  // of the columns behind ours; null: none
};

// The opened table. snapshot, if there is one, is active: what is found is what it sees.
struct Table {
    const Hub& hub;
    const TableShape& shape;
    TableState state;  // as it was found: the hub's may be read anew while we wait for a row
    Relation heap;
    Relation indexes[kMaxIndexes];  // those that were needed
    IndexInfo* entries[kMaxIndexes];
    Executor executor;  // for further columns and indexes
    TupleTableSlot* row;
    Snapshot snapshot;
    bool pushed;    // the snapshot is ours
    LOCKMODE mode;  // of the table and its indexes
    ResourceOwner owner;
    MemoryContext memory;
};

// ---- Operations ----

// Raises 40001: what is to be changed is not as the transaction's snapshot sees it.
[[noreturn]] void raise_changed();
// Takes a new snapshot, or at the higher isolation levels the transaction's; what this transaction
// has written up to now is seen.
void renew_snapshot(Table* table);
// Uses the snapshot that is active.
void use_active_snapshot(Table* table);
// Ends an operation: the row is let go, and the next operation sees what was written.
void end_operation(Table* table);

// Whether rows may be skipped because shared memory says that none lies there (claim cursors,
// gaps): it knows the latest state of a primary, and a serializable transaction has to read what it
// decides by.
inline bool may_skip_by_memory() {
    return !IsolationUsesXactSnapshot() && !RecoveryInProgress();
}

namespace detail {

template <pg::JumpSafe Body>
auto in_operation(Table& table, Body body) {
    Assert(table.snapshot == nullptr);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, Table&>>) {
        body(table);
        end_operation(&table);
    } else {
        auto result = body(table);
        static_assert(pg::JumpSafe<decltype(result)>);
        end_operation(&table);
        return result;
    }
}

}  // namespace detail

// An operation on a table of the call; body takes its snapshots itself.
template <pg::JumpSafe Body>
auto with_table(Tables& tables, TableId id, LOCKMODE mode, Body body) {
    return detail::in_operation(tables.open(id, mode), body);
}

// Writes, with a new snapshot.
template <pg::JumpSafe Body>
auto writing(Tables& tables, TableId id, Body body) {
    return with_table(tables, id, RowExclusiveLock, [&body](Table& table) {
        renew_snapshot(&table);
        return body(table);
    });
}

// Reads the latest state.
template <pg::JumpSafe Body>
auto looking(Tables& tables, TableId id, Body body) {
    return with_table(tables, id, AccessShareLock, [&body](Table& table) {
        renew_snapshot(&table);
        return body(table);
    });
}

// Reads what the active snapshot sees.
template <pg::JumpSafe Body>
auto reading(Tables& tables, TableId id, Body body) {
    return with_table(tables, id, AccessShareLock, [&body](Table& table) {
        use_active_snapshot(&table);
        return body(table);
    });
}

// The opened index, by its place in the description.
Relation index_at(Table* table, int index);

// ---- Finding rows ----

// Conditions on the leading columns of an index, in their order.
struct ScanKeys {
    ScanKeyData keys[5];
    int count = 0;

    ScanKeys& add(StrategyNumber strategy, RegProcedure function, Datum value) {
        ScanKeyInit(&keys[count], static_cast<AttrNumber>(count + 1), strategy, function, value);
        ++count;
        return *this;
    }
    ScanKeys& int2(int16 value) {
        return add(BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(value));
    }
    ScanKeys& int4(int32 value) {
        return add(BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(value));
    }
    ScanKeys& int8(int64 value) {
        return add(BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(value));
    }
    ScanKeys& int8_from(int64 value) {
        return add(BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(value));
    }
    ScanKeys& uuid(const pg_uuid_t& value) {
        return add(BTEqualStrategyNumber, F_UUID_EQ, UUIDPGetDatum(&value));
    }
    ScanKeys& text(std::string_view value);  // of collation "C"
};

IndexScanDesc begin_scan(Table* table, int index, const ScanKeys& keys);

// The next row of the scan, in table.row.
inline bool next_row(const Table& table, IndexScanDesc scan) {
    return index_getnext_slot(scan, ForwardScanDirection, table.row);
}

// Whether there is a row with that key; it is in table.row then.
bool find_one(Table* table, int index, const ScanKeys& keys);

// Finds rows by the primary key, one after the other, in one scan and with one snapshot.
struct KeyFinder {
    Table* table;
    IndexScanDesc scan = nullptr;

    bool find(const ScanKeys& keys) {
        if (scan == nullptr) {
            scan = begin_scan(table, kByKey, keys);
        } else {
            index_rescan(scan, const_cast<ScanKey>(keys.keys), keys.count, nullptr, 0);
        }
        return next_row(*table, scan);
    }
    void end() {
        if (scan != nullptr) {
            index_endscan(scan);
        }
    }
};

// The same for the last of the rows with the leading columns of a key.
bool find_last(Table* table, int index, const ScanKeys& keys);

// Whether a key of the primary key's index is in use, as it is now: also by a row that an open
// transaction has inserted or is deleting.
struct KeyUse {
    bool taken;
    TransactionId open;  // who decides it; none of this transaction
};
// At the higher isolation levels a row that the snapshot does not see raises 40001.
KeyUse use_of_key(Table* table, const ScanKeys& keys);

// Whether table.row can be found where a row was seen before, and is visible; no scan is needed.
bool find_at(const Table& table, const ItemPointerData& tid);

// A column of table.row; texts, documents and ids are copied out of the page.
template <Oid Type, bool Nullable>
auto get(const Table& table, const Column<Type, Nullable>& column) {
    using Of = ValueOf<Type>;
    bool null = false;
    const Datum value = slot_getattr(table.row, column, &null);
    if constexpr (!Nullable) {
        return Of::load(value);
    } else if constexpr (std::is_pointer_v<typename Of::Type>) {
        return null ? nullptr : Of::load(value);
    } else {
        return null ? std::nullopt : std::optional(Of::load(value));
    }
}

inline Datum column(const Table& table, AttrNumber number, bool* null) {
    return slot_getattr(table.row, number, null);
}
int64 int8_column(const Table& table, AttrNumber number);
// A text of the row, copied out of the page; none for null.
std::optional<std::string_view> text_column(const Table& table, AttrNumber number);
// Whether a text of the row is that one.
bool text_is(const Table& table, AttrNumber number, std::string_view value);

// The columns at the beginning of a row that are never null and of fixed length, as they lie there:
// Row is a struct of them.
template <typename Row>
const Row& fixed_columns(const Table& table) {
    const auto* slot = reinterpret_cast<const HeapTupleTableSlot*>(table.row);
    return *reinterpret_cast<const Row*>(GETSTRUCT(slot->tuple));
}

// ---- Writing ----

// A row to be inserted: the columns of the description, all null at first.
struct NewRow {
    static constexpr int kMost = 48;
    Datum values[kMost];
    bool nulls[kMost];

    NewRow() { std::fill_n(nulls, kMost, true); }
    NewRow& set(AttrNumber number, Datum value) {
        values[number - 1] = value;
        nulls[number - 1] = false;
        return *this;
    }
    template <Oid Type, bool Nullable, typename Value>
    NewRow& put(const Column<Type, Nullable>& column, const Value& value) {
        const auto datum = stored<Type, Nullable>(value);
        return datum ? set(column, *datum) : *this;
    }
    NewRow& int2(AttrNumber number, int16 value) { return set(number, Int16GetDatum(value)); }
    NewRow& int4(AttrNumber number, int32 value) { return set(number, Int32GetDatum(value)); }
    NewRow& int8(AttrNumber number, int64 value) { return set(number, Int64GetDatum(value)); }
    NewRow& int8(AttrNumber number, std::optional<int64> value) {
        return value ? int8(number, *value) : *this;
    }
    NewRow& jsonb(AttrNumber number, Jsonb* value) {
        return value == nullptr ? *this : set(number, JsonbPGetDatum(value));
    }
    NewRow& timestamp(AttrNumber number, int64 ms);
    NewRow& text(AttrNumber number, std::string_view value);
    NewRow& text(AttrNumber number, std::optional<std::string_view> value) {
        return value ? text(number, *value) : *this;
    }
};

// Inserts a row and its index entries; where it lies.
ItemPointerData insert_row(Table* table, NewRow* row);

// Inserts several rows and their index entries: fill(i, row) says what row i is, placed(i, tid)
// receives where it lies. Rows that share a page share a WAL record.
inline constexpr std::size_t kRowsAtOnce = 32;
struct RowSet {
    NewRow* rows;
    TupleTableSlot** slots;
    int slot_count;
};
RowSet make_row_set(const Table& table, std::size_t count);
void insert_set(Table* table, RowSet* set, int count);
void drop_row_set(RowSet* set);

template <typename Fill, typename Placed>
void insert_rows(Table* table, std::size_t count, Fill fill, Placed placed) {
    RowSet set = make_row_set(*table, count);
    for (std::size_t from = 0; from < count; from += kRowsAtOnce) {
        const std::size_t some = std::min(count - from, kRowsAtOnce);
        for (std::size_t i = 0; i < some; ++i) {
            set.rows[i] = NewRow();
            fill(from + i, &set.rows[i]);
        }
        insert_set(table, &set, static_cast<int>(some));
        for (std::size_t i = 0; i < some; ++i) {
            placed(from + i, set.slots[i]->tts_tid);
        }
        CHECK_FOR_INTERRUPTS();
    }
    drop_row_set(&set);
}

// New values of some columns.
struct Changes {
    static constexpr int kMost = 24;
    int count = 0;
    int numbers[kMost];
    Datum values[kMost];
    bool nulls[kMost];

    Changes& set(AttrNumber number, Datum value, bool null = false) {
        Assert(count < kMost);
        numbers[count] = number;
        values[count] = value;
        nulls[count++] = null;
        return *this;
    }
    template <Oid Type, bool Nullable, typename Value>
    Changes& put(const Column<Type, Nullable>& column, const Value& value) {
        const auto datum = stored<Type, Nullable>(value);
        return set(column, datum.value_or(0), !datum);
    }
    Changes& clear(AttrNumber number) { return set(number, 0, true); }
};
// The columns of a version, also those of the owner's.
struct Columns {
    Datum* values;
    bool* nulls;
};
Columns columns_of(const Table& table, HeapTuple version);

// table.row with other values. columns, if given, become those of the new version; they are valid
// while table.row is.
HeapTuple changed_row(const Table& table, Changes* changes, Columns* columns = nullptr);

// A copy of table.row, whose fixed columns can be changed in place.
HeapTuple copy_row(const Table& table);
template <typename Row>
Row* fixed_columns(HeapTuple row) {
    return reinterpret_cast<Row*>(GETSTRUCT(row));
}

// Puts the new version in the place of table.row, without waiting: TM_Ok, or TM_WouldBlock if
// another transaction has the row, TM_Updated or TM_Deleted if at READ COMMITTED one had it since
// the snapshot was taken. moved: a column of an index has changed. columns, if given, become those
// of the version that was written.
TM_Result try_change_row(Table* table, HeapTuple version, bool moved = false,
                         Columns* columns = nullptr);
// The same for a row that this transaction has locked. known, if given, are the columns of version.
void change_held_row(Table* table, HeapTuple version, bool moved = false,
                     Columns* columns = nullptr, const Columns* known = nullptr);
// The same, waiting for a transaction that has the row: TM_Ok, or at READ COMMITTED TM_Updated or
// TM_Deleted if one had it since the snapshot was taken.
TM_Result change_row(Table* table, HeapTuple version, bool moved);

// Locks table.row; the version that was found, or none.
TM_Result lock_row(const Table& table, LockTupleMode mode, LockWaitPolicy policy);

// Deletes table.row, waiting for a transaction that has it or not. False: another transaction has
// it, or at READ COMMITTED has changed it since the snapshot was taken.
bool delete_row(const Table& table, bool wait);

// Locks the row that find() finds. A version that was replaced since the snapshot is not followed
// but looked for again: to follow it could mean to wait, against the policy. False: there is
// none, or another transaction has it and the policy is not to wait.
template <typename Find>
bool lock_found(Table* table, LockTupleMode mode, LockWaitPolicy policy, Find find) {
    while (true) {
        renew_snapshot(table);
        if (!find()) {
            return false;
        }
        switch (lock_row(*table, mode, policy)) {
            case TM_Ok:
                return true;
            case TM_WouldBlock:
                return false;
            default:
                CHECK_FOR_INTERRUPTS();
        }
    }
}

// Changes the row that find() finds to what version() makes of it, and waits for a transaction that
// has it. The update is the lock. False: there is none.
struct NewVersion {
    HeapTuple row;
    bool moved;  // a column of an index has changed
};
template <typename Find, typename MakeVersion>
bool change_found(Table* table, Find find, MakeVersion version) {
    while (true) {
        renew_snapshot(table);
        if (!find()) {
            return false;
        }
        const NewVersion next = version();
        if (change_row(table, next.row, next.moved) == TM_Ok) {
            return true;
        }
        CHECK_FOR_INTERRUPTS();
    }
}

// Locks the row that find() finds, and waits for a transaction that has it; before it waits it
// calls on_wait. False: there is none.
template <typename Find, typename OnWait>
bool lock_waiting(Table* table, LockTupleMode mode, Find find, OnWait on_wait) {
    LockWaitPolicy policy = LockWaitSkip;
    while (true) {
        renew_snapshot(table);
        if (!find()) {
            return false;
        }
        switch (lock_row(*table, mode, policy)) {
            case TM_Ok:
                return true;
            case TM_WouldBlock:
                on_wait();
                policy = LockWaitBlock;
                break;
            default:
                CHECK_FOR_INTERRUPTS();
        }
    }
}

// Visits the rows with that beginning of their key that wanted() picks, in order, each held; waits
// for transactions that have one. Begins again if one has changed since the snapshot: what was
// visited must not be wanted any more, or be visited twice without harm.
template <typename Wanted, typename Visit>
void hold_each(Table* table, LockTupleMode mode, const ScanKeys& keys, Wanted wanted, Visit visit) {
    while (true) {
        bool changed = false;
        IndexScanDesc scan = begin_scan(table, kByKey, keys);
        while (!changed && next_row(*table, scan)) {
            CHECK_FOR_INTERRUPTS();
            if (wanted()) {
                changed = lock_row(*table, mode, LockWaitBlock) != TM_Ok;
                if (!changed) {
                    visit();
                }
            }
        }
        index_endscan(scan);
        if (!changed) {
            return;
        }
        renew_snapshot(table);
    }
}

}  // namespace belay::store
