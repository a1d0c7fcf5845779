// Table orchestrator_queue: messages to instances.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::message {

inline constexpr Column<INT8OID> kInstanceKey{1, "instance_key"};
inline constexpr Column<INT8OID> kId{2, "id"};
inline constexpr Column<TIMESTAMPTZOID> kVisibleAt{3, "visible_at"};
inline constexpr Column<TIMESTAMPTZOID> kCreatedAt{4, "created_at"};
inline constexpr Column<INT8OID> kLockNo{5, "lock_no"};
inline constexpr Column<INT4OID> kAttemptCount{6, "attempt_count"};
inline constexpr Column<INT2OID> kSlot{7, "slot"};
inline constexpr Column<CHAROID> kKind{8, "kind"};
inline constexpr Column<BOOLOID> kParked{9, "parked"};
inline constexpr Column<TEXTOID> kInstanceId{10, "instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kParentId{11, "parent_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kWorkItem{12, "work_item"};
inline constexpr auto kColumns =
    in_order(kInstanceKey, kId, kVisibleAt, kCreatedAt, kLockNo, kAttemptCount, kSlot, kKind,
             kParked, kInstanceId, kParentId, kWorkItem);

// The columns at the beginning of a row, as they lie there: never null and of fixed length.
struct Row {
    int64 instance_key;
    int64 id;
    TimestampTz visible_at;
    TimestampTz created_at;
    int64 lock_no;
    int32 attempt_count;
    int16 slot;
    char kind;
    bool parked;
};
static_assert(offsetof(Row, parked) == 47);

inline constexpr const char* kChecks[] = {"(attempt_count >= 0)"};

inline constexpr IndexShape kIndexes[] = {
    {"orchestrator_queue_pkey", true, nullptr, nullptr, 2, {kInstanceKey, kId}},
    {"orchestrator_queue_claim",
     false,
     "(NOT parked)",
     [](const Datum* values, const bool*) { return !DatumGetBool(values[kParked - 1]); },
     3,
     {kSlot, kVisibleAt, kId}},
    {"orchestrator_queue_parked",
     false,
     "parked",
     [](const Datum* values, const bool*) { return DatumGetBool(values[kParked - 1]); },
     1,
     {kCreatedAt}},
    {"orchestrator_queue_parent",
     false,
     "(parent_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kParentId - 1]; },
     1,
     {kParentId}},
};

// kByKey, and this.
inline constexpr int kByClaim = 1;

inline constexpr TableShape kTable{"orchestrator_queue", &Relations::orchestrator_queue, kColumns,
                                   kChecks, kIndexes};

}  // namespace belay::store::message
