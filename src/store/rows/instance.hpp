// Table instances: instances: name, version, current execution.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::instance {

inline constexpr Column<TEXTOID> kInstanceId{1, "instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kName{2, "orchestration_name"};
inline constexpr Column<TEXTOID, kNullable> kVersion{3, "orchestration_version"};
inline constexpr Column<INT8OID> kCurrentExecutionId{4, "current_execution_id"};
inline constexpr Column<TEXTOID, kNullable> kParentId{5, "parent_instance_id", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kCustomStatus{6, "custom_status"};
inline constexpr Column<INT8OID> kCustomStatusVersion{7, "custom_status_version"};
inline constexpr Column<TIMESTAMPTZOID> kCreatedAt{8, "created_at"};
inline constexpr Column<TIMESTAMPTZOID> kUpdatedAt{9, "updated_at"};
inline constexpr auto kColumns =
    in_order(kInstanceId, kName, kVersion, kCurrentExecutionId, kParentId, kCustomStatus,
             kCustomStatusVersion, kCreatedAt, kUpdatedAt);

inline constexpr IndexShape kIndexes[] = {
    {"instances_pkey", true, nullptr, nullptr, 1, {kInstanceId}},
    {"instances_parent",
     false,
     "(parent_instance_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kParentId - 1]; },
     1,
     {kParentId}},
    {"instances_created", false, nullptr, nullptr, 2, {kCreatedAt, kInstanceId}},
};

inline constexpr TableShape kTable{"instances", &Relations::instances, kColumns, {}, kIndexes};

}  // namespace belay::store::instance
