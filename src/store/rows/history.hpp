// Table history_turns: events of executions, those of a turn in one row.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::history {

inline constexpr Column<INT8OID> kExecutionId{1, "execution_id"};
inline constexpr Column<INT8OID> kFirstEventId{2, "first_event_id"};
inline constexpr Column<INT8OID> kLastEventId{3, "last_event_id"};
inline constexpr Column<TIMESTAMPTZOID> kCreatedAt{4, "created_at"};
inline constexpr Column<TEXTOID> kInstanceId{5, "instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTARRAYOID> kTypes{6, "event_types", DEFAULT_COLLATION_OID};
inline constexpr Column<TEXTARRAYOID> kData{7, "event_data", DEFAULT_COLLATION_OID};
inline constexpr Column<INT8OID, kNullable> kJsonbBytes{8, "jsonb_bytes"};
inline constexpr auto kColumns = in_order(kExecutionId, kFirstEventId, kLastEventId, kCreatedAt,
                                          kInstanceId, kTypes, kData, kJsonbBytes);

struct Row {
    int64 execution_id;
    int64 first_event_id;
    int64 last_event_id;
    TimestampTz created_at;
};
static_assert(sizeof(Row) == 32);

inline constexpr const char* kChecks[] = {
    "((first_event_id <= last_event_id) AND (cardinality(event_types) = ((last_event_id - "
    "first_event_id) + 1)) AND (cardinality(event_data) = ((last_event_id - first_event_id) + 1)) "
    "AND (array_position(event_types, NULL::text) IS NULL) AND (array_position(event_data, "
    "NULL::text) IS NULL))",
};

inline constexpr IndexShape kIndexes[] = {
    {"history_turns_pkey", true, nullptr, nullptr, 3, {kInstanceId, kExecutionId, kLastEventId}},
};

inline constexpr TableShape kTable{"history_turns", &Relations::history_turns, kColumns, kChecks,
                                   kIndexes};

}  // namespace belay::store::history
