// Direct access to the worker queue: whether the table allows it, and the pieces of it.
//
// The SQL store is the reference. It serves whenever the table is not exactly what the hub files
// make: a plain, permanent heap with our columns, our check and our three indexes, and without
// triggers, rules, row security, children or other owners.
#pragma once

#include "pg/boundary.hpp"
#include "pg/claim_cursors.hpp"
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

// The columns that every row has, as they lie in a stored row: none is null, none has a variable
// length, and none was added to the table later.
struct QueueRow {
    int32 lane;
    int16 slot;
    int64 due;
    int64 id;
    TimestampTz visible_at;
    TimestampTz created_at;
    int64 locked_until;
    uint64 nonce_hi;
    uint64 nonce_lo;
    int32 lease_inc;
    int32 attempt_count;
};
static_assert(offsetof(QueueRow, due) == 8 && offsetof(QueueRow, attempt_count) == 68);

// The opened table. snapshot, if there is one, is active: what is found is what it sees.
struct QueueTable {
    const Hub& hub;
    Relation heap;
    Relation key;  // the index of the primary key, once somebody needs it
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

// Whether a row with that key is visible; it is in table.row then. What the cursors remember of
// its place saves the way through the index.
bool find_row(QueueTable* table, const WorkKey& key);
// The same, only by a place that is remembered: false means nothing.
bool find_at(const QueueTable& table, const pg::RowHint& hint, const WorkKey& key);

// A scan of the key in one lane and slot, from a place on: of the rows never delayed in the order
// of their ids, or of the delayed ones in the order (due, id).
IndexScanDesc scan_lane(QueueTable* table, int32 lane, int16 slot, bool delayed, int64 due,
                        int64 id);

Relation key_index(QueueTable* table);

// The next row of the scan, in table.row.
inline bool next_row(const QueueTable& table, IndexScanDesc scan) {
    return index_getnext_slot(scan, ForwardScanDirection, table.row);
}

// Columns of table.row.
inline const QueueRow& columns(const QueueTable& table) {
    const auto* slot = reinterpret_cast<const HeapTupleTableSlot*>(table.row);
    return *reinterpret_cast<const QueueRow*>(GETSTRUCT(slot->tuple));
}
inline WorkKey row_key(const QueueTable& table) {
    const QueueRow& row = columns(table);
    return {.lane = row.lane, .slot = row.slot, .due = row.due, .id = row.id};
}
// A text of the row, copied out of the page; none for null.
std::optional<std::string_view> row_text(const QueueTable& table, QueueColumn number);

// Inserts a row and its index entries. Where it lies, for those who will look for it.
pg::RowHint insert_row(Relation heap, const DirectAccess& indexes, Datum* values, bool* nulls);

// A new version of table.row with these columns, and another owner if one is given or taken away.
struct NewVersion {
    HeapTuple row;
    QueueRow* columns;
};
enum class Owner : uint8 { kKeep, kSet };
NewVersion copy_row(const QueueTable& table, Owner change, std::optional<std::string_view> owner);

// Puts the new version in the place of table.row, without waiting for anybody. False: somebody else
// has it, or had it since the snapshot was taken.
bool try_change_row(const QueueTable& table, const NewVersion& version);
// The same for a row that this transaction has locked.
void change_held_row(const QueueTable& table, const NewVersion& version);
// Where the new version lies.
pg::RowHint place_in_heap(const QueueTable& table, const NewVersion& version);

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
        .key = nullptr,
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
