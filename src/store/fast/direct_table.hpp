// Direct access to a table: whether it allows it, and the pieces of it.
//
// The SQL store is the reference. It serves whenever a table is not exactly what the hub files
// make: a plain, permanent heap with our columns, checks and indexes, and without triggers, rules,
// row security, children or other owners.
#pragma once

#include <algorithm>

#include "pg/boundary.hpp"
#include "pg/compat.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// ---- Shapes ----

struct ColumnShape {
    const char* name;
    Oid type;
    Oid collation;
    bool required;
};

inline constexpr int kMaxKeys = 6;

struct IndexShape {
    const char* name;
    bool primary;
    const char* only;  // the condition of a partial index as the server prints it; null: none
    // Whether a row has an entry, by its columns from 0 on; null: each.
    bool (*holds)(const Datum* values, const bool* nulls);
    int count;
    AttrNumber columns[kMaxKeys];
    uint8 descending = 0;  // a bit per column
};

struct TableShape {
    Oid Relations::*relation;
    std::span<const ColumnShape> columns;
    std::span<const char* const> checks;  // as the server prints them; what we write meets them
    std::span<const IndexShape> indexes;  // that of the primary key first
};

const TableShape& shape_of(DirectId id);

// ---- Access ----

// The opened table. snapshot, if there is one, is active: what is found is what it sees.
struct DirectTable {
    const Hub& hub;
    const TableShape& shape;
    DirectAccess access;  // as it was found: the hub's may be read anew while we wait for a row
    Relation heap;
    Relation indexes[kMaxDirectIndexes];  // those that somebody has needed
    TupleTableSlot* row;
    Snapshot snapshot;
    bool pushed;    // the snapshot is ours
    LOCKMODE mode;  // of the table and its indexes
};

// Opens the table if the fast path may serve it, else returns null. RowExclusiveLock is for
// writing, AccessShareLock for reading. The heap is to be closed without giving up the lock.
Relation open_for_direct_access(const Hub& hub, DirectId id, LOCKMODE mode = RowExclusiveLock);

DirectTable make_access(const Hub& hub, DirectId id, Relation heap, LOCKMODE mode);

// Takes a new snapshot; what this transaction has written up to now is seen.
void renew_snapshot(DirectTable* table);
// Uses the snapshot that is active.
void use_active_snapshot(DirectTable* table);

// Ends the access: the next command sees what it wrote. Locks stay.
void close_access(DirectTable* table);

// The opened index, by its place in the shape.
Relation index_at(DirectTable* table, int index);

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

IndexScanDesc begin_scan(DirectTable* table, int index, const ScanKeys& keys);

// The next row of the scan, in table.row.
inline bool next_row(const DirectTable& table, IndexScanDesc scan) {
    return index_getnext_slot(scan, ForwardScanDirection, table.row);
}

// Whether there is a row with that key; it is in table.row then.
bool find_one(DirectTable* table, int index, const ScanKeys& keys);

// Columns of table.row.
inline Datum column(const DirectTable& table, AttrNumber number, bool* null) {
    return slot_getattr(table.row, number, null);
}
int64 int8_column(const DirectTable& table, AttrNumber number);
// A text of the row, copied out of the page; none for null.
std::optional<std::string_view> text_column(const DirectTable& table, AttrNumber number);
// Whether a text of the row is that one.
bool text_is(const DirectTable& table, AttrNumber number, std::string_view value);

// The columns at the beginning of a row that are never null and of fixed length, as they lie there:
// Row is a struct of them.
template <typename Row>
const Row& fixed_columns(const DirectTable& table) {
    const auto* slot = reinterpret_cast<const HeapTupleTableSlot*>(table.row);
    return *reinterpret_cast<const Row*>(GETSTRUCT(slot->tuple));
}

// ---- Writing ----

// A row to be inserted: all columns null at first.
struct NewRow {
    static constexpr int kMost = 64;
    Datum values[kMost];
    bool nulls[kMost];

    NewRow() { std::fill_n(nulls, kMost, true); }
    NewRow& set(AttrNumber number, Datum value) {
        values[number - 1] = value;
        nulls[number - 1] = false;
        return *this;
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
ItemPointerData insert_row(DirectTable* table, NewRow* row);

// Inserts several rows and their index entries: fill(i, row) says what row i is, placed(i, tid)
// is told where it lies. Rows that share a page share a WAL record.
inline constexpr std::size_t kRowsAtOnce = 64;
struct RowSet {
    NewRow* rows;
    TupleTableSlot** slots;
    int slot_count;
};
RowSet make_row_set(const DirectTable& table, std::size_t count);
void insert_set(DirectTable* table, RowSet* set, int count);
void drop_row_set(RowSet* set);

template <typename Fill, typename Placed>
void insert_rows(DirectTable* table, std::size_t count, Fill fill, Placed placed) {
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
    Changes& clear(AttrNumber number) { return set(number, 0, true); }
};
// table.row with other values.
HeapTuple changed_row(const DirectTable& table, Changes* changes);

// A copy of table.row, whose fixed columns can be changed in place.
HeapTuple copy_row(const DirectTable& table);
template <typename Row>
Row* fixed_columns(HeapTuple row) {
    return reinterpret_cast<Row*>(GETSTRUCT(row));
}

// Puts the new version in the place of table.row, without waiting for anybody. False: somebody else
// has it, or had it since the snapshot was taken. moved: a column of an index has changed.
bool try_change_row(DirectTable* table, HeapTuple version, bool moved = false);
// The same for a row that this transaction has locked.
void change_held_row(DirectTable* table, HeapTuple version, bool moved = false);

// Locks table.row; the version that was found, or none.
TM_Result lock_row(const DirectTable& table, LockTupleMode mode, LockWaitPolicy policy);

// Deletes table.row: wait, or without waiting for anybody. False: somebody else has it, or has
// changed it since the snapshot was taken.
bool delete_row(const DirectTable& table, bool wait);

// Locks the row that find() finds. A version that was replaced since the snapshot is not followed
// but looked for again: to follow could mean to wait, whatever the policy says. False: there is
// none, or somebody has it and the policy is not to wait.
template <typename Find>
bool lock_found(DirectTable* table, LockTupleMode mode, LockWaitPolicy policy, Find find) {
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

// Lends body the table; the first snapshot is up to body.
template <pg::JumpSafe Body>
auto with_direct(const Hub& hub, DirectId id, Relation heap, Body body,
                 LOCKMODE mode = RowExclusiveLock) {
    DirectTable table = make_access(hub, id, heap, mode);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, DirectTable&>>) {
        body(table);
        close_access(&table);
    } else {
        auto result = body(table);
        static_assert(pg::JumpSafe<decltype(result)>);
        close_access(&table);
        return result;
    }
}

}  // namespace belay::store
