// Table attempts: attempts of tasks that have ended.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::attempt {

inline constexpr Column<UUIDOID> kTaskId{1, "task_id"};
inline constexpr Column<INT4OID> kIndex{2, "attempt_index"};
inline constexpr Column<INT4OID> kLeaseCount{3, "lease_count"};
inline constexpr Column<INT8OID> kEpoch{4, "epoch"};
inline constexpr Column<INT8OID> kStarted{5, "started_ms"};
inline constexpr Column<INT8OID> kEnded{6, "ended_ms"};
inline constexpr Column<TEXTOID> kKind{7, "kind", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kOutcome{8, "outcome", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kWorker{9, "worker", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kWorkerInstance{10, "worker_instance", C_COLLATION_OID};
inline constexpr Column<JSONBOID, kNullable> kError{11, "error"};
inline constexpr auto kColumns = in_order(kTaskId, kIndex, kLeaseCount, kEpoch, kStarted, kEnded,
                                          kKind, kOutcome, kWorker, kWorkerInstance, kError);

inline constexpr const char* kChecks[] = {
    "(outcome = ANY (ARRAY['success'::text, 'retry'::text, 'failed'::text, 'timed_out'::text, "
    "'cancelled'::text, 'expired'::text]))"};

inline constexpr IndexShape kIndexes[] = {
    {"attempts_pkey", true, nullptr, nullptr, 2, {kTaskId, kIndex}},
};

inline constexpr TableShape kTable{"attempts", &Relations::attempts, kColumns, kChecks, kIndexes};

}  // namespace belay::store::attempt
