// Direct access to the worker queue: whether the table allows it, and the pieces of it.
//
// The SQL store is the reference. It serves whenever the table is not exactly what the hub files
// make: a plain, permanent heap with our columns, our check and our three indexes, and without
// triggers, rules, row security, children or other owners.
#pragma once

#include "pg/boundary.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

// The columns of table worker_queue, by number.
enum QueueColumn : AttrNumber {
    kLane = 1,
    kSlot,
    kDue,
    kId,
    kVisibleAt,
    kCreatedAt,
    kLockedUntil,
    kNonceHi,
    kNonceLo,
    kLeaseInc,
    kAttemptCount,
    kExecutionId,
    kActivityId,
    kTag,
    kSessionId,
    kInstanceId,
    kLockedBy,
    kWorkItem,
    kQueueColumns = kWorkItem,
};

// The opened table. snapshot, if there is one, is active: what is found is what it sees.
struct QueueTable {
    const Hub& hub;
    Relation heap;
    Relation key;  // the index of the primary key
    TupleTableSlot* row;
    Snapshot snapshot;
};

// Opens the table with RowExclusiveLock if the fast path may serve it, else returns null. The heap
// is to be closed without giving up the lock.
Relation open_for_direct_access(const Hub& hub);

// Takes a new snapshot; what this transaction has written up to now is seen.
void renew_snapshot(QueueTable* table);

// Ends the access: the next command sees what it wrote. Locks stay.
void close_queue(QueueTable* table);

// Whether a row with that key is visible; it is in table.row then.
bool find_row(const QueueTable& table, const WorkKey& key);

// A scan of the key in one lane and slot, from a place on: of the rows never delayed in the order
// of their ids, or of the delayed ones in the order (due, id).
IndexScanDesc scan_lane(const QueueTable& table, int32 lane, int16 slot, bool delayed, int64 due,
                        int64 id);

// The next row of the scan, in table.row.
inline bool next_row(const QueueTable& table, IndexScanDesc scan) {
    return index_getnext_slot(scan, ForwardScanDirection, table.row);
}

// Columns of table.row.
inline Datum column(const QueueTable& table, QueueColumn number) {
    bool null = false;
    return slot_getattr(table.row, number, &null);
}
WorkKey row_key(const QueueTable& table);
// A text of the row, copied out of the page; none for null.
std::optional<std::string_view> row_text(const QueueTable& table, QueueColumn number);

// Inserts a row and its index entries.
void insert_row(Relation heap, const DirectAccess& indexes, Datum* values, bool* nulls);

// A change of some columns of table.row.
struct Change {
    int count = 0;
    int columns[8];
    Datum values[8];
    bool nulls[8];
    bool moves = false;  // changes a column of an index

    Change& set(QueueColumn number, Datum value, bool null = false) {
        columns[count] = number;
        values[count] = value;
        nulls[count++] = null;
        return *this;
    }
};

// Changes table.row, without waiting for anybody. False: somebody else has it, or had it since the
// snapshot was taken.
bool try_change_row(const QueueTable& table, const Change& change);
// Changes table.row, which this transaction has locked.
void change_held_row(const QueueTable& table, const Change& change);

// Locks table.row; the version that was found, or none.
TM_Result lock_row(const QueueTable& table, LockTupleMode mode, LockWaitPolicy policy);

// Deletes table.row. wait: this transaction has locked it. False as in try_change_row.
bool delete_row(const QueueTable& table, bool wait);

// Lends body the table; the first snapshot is up to renew_snapshot.
template <pg::JumpSafe Body>
auto with_queue(const Hub& hub, Relation heap, Body body) {
    QueueTable table{
        .hub = hub,
        .heap = heap,
        .key = index_open(hub.worker_queue_access.key, RowExclusiveLock),
        .row = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsBufferHeapTuple),
        .snapshot = nullptr};
    if constexpr (std::is_void_v<std::invoke_result_t<Body, QueueTable&>>) {
        body(table);
        close_queue(&table);
    } else {
        auto result = body(table);
        static_assert(pg::JumpSafe<decltype(result)>);
        close_queue(&table);
        return result;
    }
}

}  // namespace belay::store
