// Table history: events of executions.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::event {

inline constexpr Column<TEXTOID> kInstanceId{1, "instance_id", C_COLLATION_OID};
inline constexpr Column<INT8OID> kExecutionId{2, "execution_id"};
inline constexpr Column<INT8OID> kEventId{3, "event_id"};
inline constexpr Column<TEXTOID> kType{4, "event_type"};
inline constexpr Column<TEXTOID> kData{5, "event_data"};
inline constexpr Column<TIMESTAMPTZOID> kCreatedAt{6, "created_at"};
inline constexpr auto kColumns =
    in_order(kInstanceId, kExecutionId, kEventId, kType, kData, kCreatedAt);

inline constexpr IndexShape kIndexes[] = {
    {"history_pkey", true, nullptr, nullptr, 3, {kInstanceId, kExecutionId, kEventId}},
};

inline constexpr TableShape kTable{"history", &Relations::history, kColumns, {}, kIndexes};

}  // namespace belay::store::event
