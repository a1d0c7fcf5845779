// Table queues: settings of the queues of tasks.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::queue {

inline constexpr Column<TEXTOID> kName{1, "name", C_COLLATION_OID};
inline constexpr Column<BOOLOID> kPaused{2, "paused"};
inline constexpr Column<INT8OID, kNullable> kRetention{3, "retention_ms"};
inline constexpr Column<INT8OID> kCreatedAt{4, "created_at_ms"};
inline constexpr Column<JSONBOID, kNullable> kPolicy{5, "policy"};
inline constexpr auto kColumns = in_order(kName, kPaused, kRetention, kCreatedAt, kPolicy);

inline constexpr const char* kChecks[] = {"(retention_ms >= 0)"};

inline constexpr IndexShape kIndexes[] = {
    {"queues_pkey", true, nullptr, nullptr, 1, {kName}},
};

inline constexpr TableShape kTable{"queues", &Relations::queues, kColumns, kChecks, kIndexes};

}  // namespace belay::store::queue
