// Table worker_queue: work items: the activities that workers run.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::work {

inline constexpr Column<INT4OID> kLane{1, "lane"};
inline constexpr Column<INT2OID> kSlot{2, "slot"};
inline constexpr Column<INT8OID> kDue{3, "due"};
inline constexpr Column<INT8OID> kId{4, "id"};
inline constexpr Column<TIMESTAMPTZOID> kVisibleAt{5, "visible_at"};
inline constexpr Column<TIMESTAMPTZOID> kCreatedAt{6, "created_at"};
inline constexpr Column<INT8OID> kLockedUntil{7, "locked_until"};
inline constexpr Column<INT8OID> kNonceHi{8, "nonce_hi"};
inline constexpr Column<INT8OID> kNonceLo{9, "nonce_lo"};
inline constexpr Column<INT4OID> kLeaseInc{10, "lease_inc"};
inline constexpr Column<INT4OID> kAttemptCount{11, "attempt_count"};
inline constexpr Column<INT8OID, kNullable> kExecutionId{12, "execution_id"};
inline constexpr Column<INT8OID, kNullable> kActivityId{13, "activity_id"};
inline constexpr Column<TEXTOID, kNullable> kTag{14, "tag", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kSessionId{15, "session_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kInstanceId{16, "instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kLockedBy{17, "locked_by", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kWorkItem{18, "work_item"};
inline constexpr Column<TEXTOID, kNullable> kLastError{19, "last_error"};
inline constexpr auto kColumns =
    in_order(kLane, kSlot, kDue, kId, kVisibleAt, kCreatedAt, kLockedUntil, kNonceHi, kNonceLo,
             kLeaseInc, kAttemptCount, kExecutionId, kActivityId, kTag, kSessionId, kInstanceId,
             kLockedBy, kWorkItem, kLastError);

// The columns at the beginning of a row, as they lie there: never null and of fixed length.
struct Row {
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
static_assert(offsetof(Row, due) == 8 && offsetof(Row, attempt_count) == 68);

inline constexpr const char* kChecks[] = {"(attempt_count >= 0)"};

inline constexpr IndexShape kIndexes[] = {
    {"worker_queue_pkey", true, nullptr, nullptr, 4, {kLane, kSlot, kDue, kId}},
    {"worker_queue_activity",
     false,
     "(instance_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kInstanceId - 1]; },
     3,
     {kInstanceId, kExecutionId, kActivityId}},
    {"worker_queue_session",
     false,
     "(session_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kSessionId - 1]; },
     5,
     {kSessionId, kLane, kSlot, kDue, kId}},
};

// kByKey, and these.
inline constexpr int kByActivity = 1;
inline constexpr int kBySession = 2;

inline constexpr TableShape kTable{"worker_queue", &Relations::worker_queue, kColumns, kChecks,
                                   kIndexes};

}  // namespace belay::store::work
