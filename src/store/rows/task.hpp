// Table tasks: tasks, with the attempt that runs, is paused, or has completed the task.
//
// Touches  nothing: constants only
#pragma once

#include <tuple>

#include "core/transitions/task.hpp"
#include "pg/datum.hpp"
#include "store/table/shape.hpp"

namespace belay::store::task {

inline constexpr Column<UUIDOID> kId{1, "id"};
inline constexpr Column<INT4OID> kCapSet{2, "cap_set"};
inline constexpr Column<INT4OID> kPriority{3, "priority"};
inline constexpr Column<INT4OID> kAttemptIndex{4, "attempt_index"};
inline constexpr Column<INT2OID> kSlot{5, "slot"};
inline constexpr Column<BOOLOID> kHeld{6, "held"};
inline constexpr Column<INT8OID, kNullable> kAvailableAt{7, "available_at_ms"};
inline constexpr Column<INT8OID, kNullable> kLeaseCheck{8, "lease_check_ms"};
inline constexpr Column<INT8OID, kNullable> kDeadline{9, "deadline_ms"};
inline constexpr Column<INT8OID, kNullable> kTerminalAt{10, "terminal_at_ms"};
inline constexpr Column<TEXTOID> kState{11, "state", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kQueue{12, "queue", C_COLLATION_OID};
inline constexpr Column<UUIDOID, kNullable> kFlowId{13, "flow_id"};
inline constexpr Column<INT8OID> kLeaseEpoch{14, "lease_epoch"};
inline constexpr Column<INT8OID> kStartDelay{15, "start_delay_ms"};
inline constexpr Column<INT8OID> kCreatedAt{16, "created_at_ms"};
inline constexpr Column<INT8OID> kUpdatedAt{17, "updated_at_ms"};
inline constexpr Column<INT8OID, kNullable> kLeaseUntil{18, "lease_until_ms"};
inline constexpr Column<INT8OID, kNullable> kAttemptStarted{19, "attempt_started_ms"};
inline constexpr Column<INT8OID, kNullable> kAttemptDeadline{20, "attempt_deadline_ms"};
inline constexpr Column<INT8OID, kNullable> kStartedAt{21, "started_at_ms"};
inline constexpr Column<INT8OID, kNullable> kProgressAt{22, "progress_at_ms"};
inline constexpr Column<UUIDOID, kNullable> kLeaseNonce{23, "lease_nonce"};
inline constexpr Column<INT4OID> kAttemptLeases{24, "attempt_leases"};
inline constexpr Column<INT4OID> kRetryCount{25, "retry_count"};
inline constexpr Column<INT4OID> kReclaimCount{26, "reclaim_count"};
inline constexpr Column<INT4OID> kReplayCount{27, "replay_count"};
inline constexpr Column<TEXTOID> kPending{28, "pending_attempt", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kAttemptKind{29, "attempt_kind", C_COLLATION_OID};
inline constexpr Column<TEXTOID> kKind{30, "kind", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kFlowKey{31, "flow_key", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kDedupKey{32, "dedup_key", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kLeaseOwner{33, "lease_owner", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kLeaseWorker{34, "lease_worker", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kAttemptWorker{35, "attempt_worker", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kAttemptInstance{36, "attempt_worker_instance",
                                                             C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kFailureClass{37, "failure_class", C_COLLATION_OID};
inline constexpr Column<TEXTOID, kNullable> kFailureMessage{38, "failure_message"};
inline constexpr Column<TEXTOID, kNullable> kCancelReason{39, "cancel_reason"};
inline constexpr Column<TEXTOID, kNullable> kCancelledBy{40, "cancelled_by"};
inline constexpr Column<NUMERICOID, kNullable> kProgressPct{41, "progress_pct"};
inline constexpr Column<TEXTOID, kNullable> kProgressMessage{42, "progress_message"};
inline constexpr Column<JSONBOID, kNullable> kPayload{43, "payload"};
inline constexpr Column<JSONBOID, kNullable> kResult{44, "result"};
inline constexpr Column<JSONBOID, kNullable> kCheckpoint{45, "checkpoint"};
inline constexpr Column<JSONBOID> kTags{46, "tags"};
inline constexpr Column<JSONBOID, kNullable> kPolicy{47, "policy"};
inline constexpr Column<JSONBOID, kNullable> kFailureDetails{48, "failure_details"};
inline constexpr auto kColumns = in_order(
    kId, kCapSet, kPriority, kAttemptIndex, kSlot, kHeld, kAvailableAt, kLeaseCheck, kDeadline,
    kTerminalAt, kState, kQueue, kFlowId, kLeaseEpoch, kStartDelay, kCreatedAt, kUpdatedAt,
    kLeaseUntil, kAttemptStarted, kAttemptDeadline, kStartedAt, kProgressAt, kLeaseNonce,
    kAttemptLeases, kRetryCount, kReclaimCount, kReplayCount, kPending, kAttemptKind, kKind,
    kFlowKey, kDedupKey, kLeaseOwner, kLeaseWorker, kAttemptWorker, kAttemptInstance, kFailureClass,
    kFailureMessage, kCancelReason, kCancelledBy, kProgressPct, kProgressMessage, kPayload, kResult,
    kCheckpoint, kTags, kPolicy, kFailureDetails);

// The columns that the rules know, and their place in what they know.
template <typename Column, typename Value>
struct LifeColumn {
    Column column;
    Value core::TaskLife::*member;
};
template <typename Column, typename Value>
constexpr LifeColumn<Column, Value> known(const Column& column, Value core::TaskLife::*member) {
    return {column, member};
}
inline constexpr auto kLife = std::make_tuple(
    known(kLeaseEpoch, &core::TaskLife::lease_epoch),
    known(kLeaseUntil, &core::TaskLife::lease_until),
    known(kLeaseCheck, &core::TaskLife::lease_check),
    known(kAvailableAt, &core::TaskLife::available_at),
    known(kStartDelay, &core::TaskLife::start_delay), known(kDeadline, &core::TaskLife::deadline),
    known(kAttemptStarted, &core::TaskLife::attempt_started),
    known(kAttemptDeadline, &core::TaskLife::attempt_deadline),
    known(kStartedAt, &core::TaskLife::started_at), known(kUpdatedAt, &core::TaskLife::updated_at),
    known(kTerminalAt, &core::TaskLife::terminal_at), known(kPriority, &core::TaskLife::priority),
    known(kAttemptIndex, &core::TaskLife::attempt_index),
    known(kAttemptLeases, &core::TaskLife::attempt_leases),
    known(kRetryCount, &core::TaskLife::retry_count),
    known(kReclaimCount, &core::TaskLife::reclaim_count),
    known(kReplayCount, &core::TaskLife::replay_count), known(kHeld, &core::TaskLife::held),
    known(kState, &core::TaskLife::state), known(kPending, &core::TaskLife::pending),
    known(kAttemptKind, &core::TaskLife::attempt_kind));

inline constexpr const char* kChecks[] = {
    "belay.task_is_sound(state, pending_attempt, attempt_kind, lease_owner, lease_worker, "
    "lease_until_ms, lease_check_ms, available_at_ms, terminal_at_ms, attempt_started_ms, "
    "attempt_deadline_ms, attempt_worker, attempt_worker_instance, attempt_leases, attempt_index, "
    "retry_count, reclaim_count, replay_count, priority, lease_epoch, start_delay_ms)"};

inline bool is_in_state(const Datum* values, std::string_view state) {
    return pg::text_view(values[kState - 1]) == state;
}

inline constexpr IndexShape kIndexes[] = {
    {"tasks_pkey", true, nullptr, nullptr, 1, {kId}},
    {"tasks_claim",
     false,
     "(state = 'ready'::text)",
     [](const Datum* values, const bool*) { return is_in_state(values, "ready"); },
     6,
     {kQueue, kSlot, kCapSet, kPriority, kAvailableAt, kId},
     1 << 3},
    {"tasks_due",
     false,
     "(state = 'delayed'::text)",
     [](const Datum* values, const bool*) { return is_in_state(values, "delayed"); },
     2,
     {kAvailableAt, kId}},
    {"tasks_expiry",
     false,
     "(state = 'active'::text)",
     [](const Datum* values, const bool*) { return is_in_state(values, "active"); },
     1,
     {kLeaseCheck}},
    {"tasks_deadline",
     false,
     "((deadline_ms IS NOT NULL) AND (state <> 'active'::text) AND (terminal_at_ms IS NULL))",
     [](const Datum* values, const bool* nulls) {
         return !nulls[kDeadline - 1] && !is_in_state(values, "active") && nulls[kTerminalAt - 1];
     },
     1,
     {kDeadline}},
    {"tasks_flow",
     false,
     "(flow_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kFlowId - 1]; },
     2,
     {kFlowId, kId}},
    {"tasks_terminal_at",
     false,
     "(terminal_at_ms IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[kTerminalAt - 1]; },
     2,
     {kTerminalAt, kId}},
    {"tasks_failed",
     false,
     "(state = ANY ('{failed,expired}'::text[]))",
     [](const Datum* values, const bool*) {
         return is_in_state(values, "failed") || is_in_state(values, "expired");
     },
     2,
     {kTerminalAt, kId}},
    {"tasks_parked",
     false,
     "(state = ANY ('{blocked,suspended}'::text[]))",
     [](const Datum* values, const bool*) {
         return is_in_state(values, "blocked") || is_in_state(values, "suspended");
     },
     3,
     {kState, kQueue, kId}},
};

// kByKey, and these.
inline constexpr int kByClaim = 1;
inline constexpr int kByDue = 2;
inline constexpr int kByExpiry = 3;
inline constexpr int kByDeadline = 4;

inline constexpr TableShape kTable{"tasks", &Relations::tasks, kColumns, kChecks, kIndexes};

}  // namespace belay::store::task
