// Table executions: executions: status, output, pinned version.
//
// Touches  nothing: constants only
#pragma once

#include "pg/datum.hpp"
#include "store/table/shape.hpp"

namespace belay::store::execution {

inline constexpr Column<TEXTOID> kInstanceId{1, "instance_id", C_COLLATION_OID};
inline constexpr Column<INT8OID> kExecutionId{2, "execution_id"};
inline constexpr Column<TEXTOID> kStatus{3, "status"};
inline constexpr Column<TEXTOID, kNullable> kOutput{4, "output"};
inline constexpr Column<TIMESTAMPTZOID> kStartedAt{5, "started_at"};
inline constexpr Column<TIMESTAMPTZOID, kNullable> kCompletedAt{6, "completed_at"};
inline constexpr Column<INT4OID, kNullable> kMajor{7, "duroxide_version_major"};
inline constexpr Column<INT4OID, kNullable> kMinor{8, "duroxide_version_minor"};
inline constexpr Column<INT4OID, kNullable> kPatch{9, "duroxide_version_patch"};
inline constexpr auto kColumns = in_order(kInstanceId, kExecutionId, kStatus, kOutput, kStartedAt,
                                          kCompletedAt, kMajor, kMinor, kPatch);

inline constexpr const char* kChecks[] = {
    "(status = ANY (ARRAY['Running'::text, 'Completed'::text, 'Failed'::text, "
    "'ContinuedAsNew'::text]))"};

inline constexpr IndexShape kIndexes[] = {
    {"executions_pkey", true, nullptr, nullptr, 2, {kInstanceId, kExecutionId}},
    {"executions_completed",
     false,
     "(completed_at IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kCompletedAt - 1]; },
     3,
     {kCompletedAt, kInstanceId, kExecutionId}},
    {"executions_failed",
     false,
     "(status = 'Failed'::text)",
     [](const Datum* values, const bool*) {
         return pg::text_view(values[kStatus - 1]) == "Failed";
     },
     2,
     {kCompletedAt, kInstanceId}},
    {"executions_running",
     false,
     "(status = 'Running'::text)",
     [](const Datum* values, const bool*) {
         return pg::text_view(values[kStatus - 1]) == "Running";
     },
     2,
     {kStartedAt, kInstanceId}},
};

inline constexpr TableShape kTable{"executions", &Relations::executions, kColumns, kChecks,
                                   kIndexes};

}  // namespace belay::store::execution
