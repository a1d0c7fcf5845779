// Tables kv_store and kv_delta: the state of instances, as of the last execution that ended and as
// changed by the current one.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store {

namespace kept {

inline constexpr Column<TEXTOID> kInstanceId{1, "instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kKey{2, "key", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kValue{3, "value"};
inline constexpr Column<INT8OID, kNullable> kExecutionId{4, "execution_id"};
inline constexpr Column<INT8OID> kLastUpdatedAt{5, "last_updated_at_ms"};
inline constexpr auto kColumns = in_order(kInstanceId, kKey, kValue, kExecutionId, kLastUpdatedAt);

inline constexpr IndexShape kIndexes[] = {
    {"kv_store_pkey", true, nullptr, nullptr, 2, {kInstanceId, kKey}},
};

inline constexpr TableShape kTable{"kv_store", &Relations::kv_store, kColumns, {}, kIndexes};

}  // namespace kept

namespace changed {

inline constexpr Column<TEXTOID> kInstanceId{1, "instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kKey{2, "key", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kValue{3, "value"};
inline constexpr Column<INT8OID> kLastUpdatedAt{4, "last_updated_at_ms"};
inline constexpr auto kColumns = in_order(kInstanceId, kKey, kValue, kLastUpdatedAt);

inline constexpr IndexShape kIndexes[] = {
    {"kv_delta_pkey", true, nullptr, nullptr, 2, {kInstanceId, kKey}},
};

inline constexpr TableShape kTable{"kv_delta", &Relations::kv_delta, kColumns, {}, kIndexes};

}  // namespace changed

}  // namespace belay::store
