// The tables that can be accessed directly, as the hub files make them.
#include "pg/datum.hpp"
#include "store/fast/columns.hpp"
#include "store/fast/direct_table.hpp"

namespace belay::store {

namespace {

constexpr Oid kNoCollation = InvalidOid;

constexpr const char* kCountsUpwards[] = {"(attempt_count >= 0)"};

// ---------------------------------------------------------------- worker_queue

constexpr ColumnShape kWorkColumns[] = {
    {"lane", INT4OID, kNoCollation, true},
    {"slot", INT2OID, kNoCollation, true},
    {"due", INT8OID, kNoCollation, true},
    {"id", INT8OID, kNoCollation, true},
    {"visible_at", TIMESTAMPTZOID, kNoCollation, true},
    {"created_at", TIMESTAMPTZOID, kNoCollation, true},
    {"locked_until", INT8OID, kNoCollation, true},
    {"nonce_hi", INT8OID, kNoCollation, true},
    {"nonce_lo", INT8OID, kNoCollation, true},
    {"lease_inc", INT4OID, kNoCollation, true},
    {"attempt_count", INT4OID, kNoCollation, true},
    {"execution_id", INT8OID, kNoCollation, false},
    {"activity_id", INT8OID, kNoCollation, false},
    {"tag", TEXTOID, C_COLLATION_OID, false},
    {"session_id", TEXTOID, C_COLLATION_OID, false},
    {"instance_id", TEXTOID, C_COLLATION_OID, false},
    {"locked_by", TEXTOID, C_COLLATION_OID, false},
    {"work_item", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"last_error", TEXTOID, DEFAULT_COLLATION_OID, false},
};
static_assert(std::size(kWorkColumns) == work::kColumns);

constexpr IndexShape kWorkIndexes[] = {
    {"worker_queue_pkey",
     true,
     nullptr,
     nullptr,
     4,
     {work::kLane, work::kSlot, work::kDue, work::kId}},
    {"worker_queue_activity",
     false,
     "(instance_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[work::kInstanceId - 1]; },
     3,
     {work::kInstanceId, work::kExecutionId, work::kActivityId}},
    {"worker_queue_session",
     false,
     "(session_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[work::kSessionId - 1]; },
     5,
     {work::kSessionId, work::kLane, work::kSlot, work::kDue, work::kId}},
};

// ---------------------------------------------------------------- orchestrator_queue

constexpr ColumnShape kMessageColumns[] = {
    {"instance_key", INT8OID, kNoCollation, true},
    {"id", INT8OID, kNoCollation, true},
    {"visible_at", TIMESTAMPTZOID, kNoCollation, true},
    {"created_at", TIMESTAMPTZOID, kNoCollation, true},
    {"lock_no", INT8OID, kNoCollation, true},
    {"attempt_count", INT4OID, kNoCollation, true},
    {"slot", INT2OID, kNoCollation, true},
    {"kind", CHAROID, kNoCollation, true},
    {"parked", BOOLOID, kNoCollation, true},
    {"instance_id", TEXTOID, C_COLLATION_OID, true},
    {"parent_id", TEXTOID, C_COLLATION_OID, false},
    {"work_item", TEXTOID, DEFAULT_COLLATION_OID, true},
};
static_assert(std::size(kMessageColumns) == message::kColumns);

constexpr IndexShape kMessageIndexes[] = {
    {"orchestrator_queue_pkey", true, nullptr, nullptr, 2, {message::kInstanceKey, message::kId}},
    {"orchestrator_queue_claim",
     false,
     "(NOT parked)",
     [](const Datum* values, const bool*) { return !DatumGetBool(values[message::kParked - 1]); },
     3,
     {message::kSlot, message::kVisibleAt, message::kId}},
    {"orchestrator_queue_parked",
     false,
     "parked",
     [](const Datum* values, const bool*) { return DatumGetBool(values[message::kParked - 1]); },
     1,
     {message::kCreatedAt}},
    {"orchestrator_queue_parent",
     false,
     "(parent_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[message::kParentId - 1]; },
     1,
     {message::kParentId}},
};

// ---------------------------------------------------------------- instance_locks

constexpr ColumnShape kLockColumns[] = {
    {"instance_key", INT8OID, kNoCollation, true}, {"locked_until", INT8OID, kNoCollation, true},
    {"locked_at", INT8OID, kNoCollation, true},    {"lock_no", INT8OID, kNoCollation, true},
    {"nonce_hi", INT8OID, kNoCollation, true},     {"nonce_lo", INT8OID, kNoCollation, true},
    {"lease_inc", INT4OID, kNoCollation, true},    {"instance_id", TEXTOID, C_COLLATION_OID, true},
};
static_assert(std::size(kLockColumns) == lock::kColumns);

constexpr IndexShape kLockIndexes[] = {
    {"instance_locks_pkey", true, nullptr, nullptr, 2, {lock::kInstanceKey, lock::kInstanceId}},
};

// ---------------------------------------------------------------- instances, executions, history

constexpr ColumnShape kInstanceColumns[] = {
    {"instance_id", TEXTOID, C_COLLATION_OID, true},
    {"orchestration_name", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"orchestration_version", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"current_execution_id", INT8OID, kNoCollation, true},
    {"parent_instance_id", TEXTOID, C_COLLATION_OID, false},
    {"custom_status", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"custom_status_version", INT8OID, kNoCollation, true},
    {"created_at", TIMESTAMPTZOID, kNoCollation, true},
    {"updated_at", TIMESTAMPTZOID, kNoCollation, true},
};
static_assert(std::size(kInstanceColumns) == instance::kColumns);

constexpr IndexShape kInstanceIndexes[] = {
    {"instances_pkey", true, nullptr, nullptr, 1, {instance::kInstanceId}},
    {"instances_parent",
     false,
     "(parent_instance_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[instance::kParentId - 1]; },
     1,
     {instance::kParentId}},
    {"instances_created",
     false,
     nullptr,
     nullptr,
     2,
     {instance::kCreatedAt, instance::kInstanceId}},
};

constexpr ColumnShape kExecutionColumns[] = {
    {"instance_id", TEXTOID, C_COLLATION_OID, true},
    {"execution_id", INT8OID, kNoCollation, true},
    {"status", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"output", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"started_at", TIMESTAMPTZOID, kNoCollation, true},
    {"completed_at", TIMESTAMPTZOID, kNoCollation, false},
    {"duroxide_version_major", INT4OID, kNoCollation, false},
    {"duroxide_version_minor", INT4OID, kNoCollation, false},
    {"duroxide_version_patch", INT4OID, kNoCollation, false},
    {"event_count", INT8OID, kNoCollation, true},
};
static_assert(std::size(kExecutionColumns) == execution::kColumns);

constexpr const char* kStatuses[] = {
    "(status = ANY (ARRAY['Running'::text, 'Completed'::text, 'Failed'::text, "
    "'ContinuedAsNew'::text]))"};

constexpr IndexShape kExecutionIndexes[] = {
    {"executions_pkey",
     true,
     nullptr,
     nullptr,
     2,
     {execution::kInstanceId, execution::kExecutionId}},
    {"executions_completed",
     false,
     "(completed_at IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[execution::kCompletedAt - 1]; },
     3,
     {execution::kCompletedAt, execution::kInstanceId, execution::kExecutionId}},
};

constexpr ColumnShape kHistoryColumns[] = {
    {"instance_id", TEXTOID, C_COLLATION_OID, true},
    {"execution_id", INT8OID, kNoCollation, true},
    {"event_id", INT8OID, kNoCollation, true},
    {"event_type", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"event_data", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"created_at", TIMESTAMPTZOID, kNoCollation, true},
};
static_assert(std::size(kHistoryColumns) == event::kColumns);

constexpr IndexShape kHistoryIndexes[] = {
    {"history_pkey",
     true,
     nullptr,
     nullptr,
     3,
     {event::kInstanceId, event::kExecutionId, event::kEventId}},
};

// ---------------------------------------------------------------- tasks, attempts

constexpr ColumnShape kTaskColumns[] = {
    {"id", UUIDOID, kNoCollation, true},
    {"flow_id", UUIDOID, kNoCollation, false},
    {"lease_epoch", INT8OID, kNoCollation, true},
    {"lease_until_ms", INT8OID, kNoCollation, false},
    {"lease_check_ms", INT8OID, kNoCollation, false},
    {"lease_nonce", UUIDOID, kNoCollation, false},
    {"available_at_ms", INT8OID, kNoCollation, false},
    {"start_delay_ms", INT8OID, kNoCollation, true},
    {"deadline_ms", INT8OID, kNoCollation, false},
    {"attempt_started_ms", INT8OID, kNoCollation, false},
    {"attempt_deadline_ms", INT8OID, kNoCollation, false},
    {"created_at_ms", INT8OID, kNoCollation, true},
    {"started_at_ms", INT8OID, kNoCollation, false},
    {"updated_at_ms", INT8OID, kNoCollation, true},
    {"terminal_at_ms", INT8OID, kNoCollation, false},
    {"progress_at_ms", INT8OID, kNoCollation, false},
    {"cap_set", INT4OID, kNoCollation, true},
    {"priority", INT4OID, kNoCollation, true},
    {"attempt_index", INT4OID, kNoCollation, true},
    {"attempt_leases", INT4OID, kNoCollation, true},
    {"retry_count", INT4OID, kNoCollation, true},
    {"reclaim_count", INT4OID, kNoCollation, true},
    {"replay_count", INT4OID, kNoCollation, true},
    {"slot", INT2OID, kNoCollation, true},
    {"held", BOOLOID, kNoCollation, true},
    {"state", TEXTOID, C_COLLATION_OID, true},
    {"pending_attempt", TEXTOID, C_COLLATION_OID, true},
    {"attempt_kind", TEXTOID, C_COLLATION_OID, false},
    {"lane", TEXTOID, C_COLLATION_OID, true},
    {"kind", TEXTOID, C_COLLATION_OID, true},
    {"flow_key", TEXTOID, C_COLLATION_OID, false},
    {"dedup_key", TEXTOID, C_COLLATION_OID, false},
    {"lease_owner", TEXTOID, C_COLLATION_OID, false},
    {"lease_worker", TEXTOID, C_COLLATION_OID, false},
    {"attempt_worker", TEXTOID, C_COLLATION_OID, false},
    {"attempt_worker_instance", TEXTOID, C_COLLATION_OID, false},
    {"failure_class", TEXTOID, C_COLLATION_OID, false},
    {"failure_message", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"cancel_reason", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"cancelled_by", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"progress_pct", NUMERICOID, kNoCollation, false},
    {"progress_message", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"payload", JSONBOID, kNoCollation, false},
    {"result", JSONBOID, kNoCollation, false},
    {"checkpoint", JSONBOID, kNoCollation, false},
    {"tags", JSONBOID, kNoCollation, true},
    {"policy", JSONBOID, kNoCollation, false},
    {"failure_details", JSONBOID, kNoCollation, false},
};
static_assert(std::size(kTaskColumns) == task::kColumns);

constexpr const char* kSound[] = {
    "belay.task_is_sound(state, pending_attempt, attempt_kind, lease_owner, lease_worker, "
    "lease_until_ms, lease_check_ms, available_at_ms, terminal_at_ms, attempt_started_ms, "
    "attempt_deadline_ms, attempt_worker, attempt_worker_instance, attempt_leases, attempt_index, "
    "retry_count, reclaim_count, replay_count, priority, lease_epoch, start_delay_ms)"};

bool in_state(const Datum* values, std::string_view state) {
    return pg::text_view(values[task::kState - 1]) == state;
}

constexpr IndexShape kTaskIndexes[] = {
    {"tasks_pkey", true, nullptr, nullptr, 1, {task::kId}},
    {"tasks_claim",
     false,
     "(state = 'ready'::text)",
     [](const Datum* values, const bool*) { return in_state(values, "ready"); },
     6,
     {task::kLane, task::kSlot, task::kCapSet, task::kPriority, task::kAvailableAt, task::kId},
     1 << 3},
    {"tasks_due",
     false,
     "(state = 'delayed'::text)",
     [](const Datum* values, const bool*) { return in_state(values, "delayed"); },
     2,
     {task::kAvailableAt, task::kId}},
    {"tasks_expiry",
     false,
     "(state = 'active'::text)",
     [](const Datum* values, const bool*) { return in_state(values, "active"); },
     1,
     {task::kLeaseCheck}},
    {"tasks_deadline",
     false,
     "((deadline_ms IS NOT NULL) AND (state <> 'active'::text) AND (terminal_at_ms IS NULL))",
     [](const Datum* values, const bool* nulls) {
         return !nulls[task::kDeadline - 1] && !in_state(values, "active") &&
                nulls[task::kTerminalAt - 1];
     },
     1,
     {task::kDeadline}},
    {"tasks_flow",
     false,
     "(flow_id IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[task::kFlowId - 1]; },
     2,
     {task::kFlowId, task::kId}},
    {"tasks_terminal_at",
     false,
     "(terminal_at_ms IS NOT NULL)",
     [](const Datum*, const bool* nulls) { return !nulls[task::kTerminalAt - 1]; },
     1,
     {task::kTerminalAt}},
};

constexpr ColumnShape kAttemptColumns[] = {
    {"task_id", UUIDOID, kNoCollation, true},
    {"attempt_index", INT4OID, kNoCollation, true},
    {"lease_count", INT4OID, kNoCollation, true},
    {"epoch", INT8OID, kNoCollation, true},
    {"started_ms", INT8OID, kNoCollation, true},
    {"ended_ms", INT8OID, kNoCollation, true},
    {"kind", TEXTOID, C_COLLATION_OID, true},
    {"outcome", TEXTOID, C_COLLATION_OID, true},
    {"worker", TEXTOID, C_COLLATION_OID, true},
    {"worker_instance", TEXTOID, C_COLLATION_OID, true},
    {"error", JSONBOID, kNoCollation, false},
};
static_assert(std::size(kAttemptColumns) == attempt::kColumns);

constexpr const char* kOutcomes[] = {
    "(outcome = ANY (ARRAY['success'::text, 'retry'::text, 'failed'::text, 'timed_out'::text, "
    "'cancelled'::text, 'expired'::text]))"};

constexpr IndexShape kAttemptIndexes[] = {
    {"attempts_pkey", true, nullptr, nullptr, 2, {attempt::kTaskId, attempt::kIndex}},
};

// ---------------------------------------------------------------- kv_store, kv_delta

constexpr ColumnShape kKvStoreColumns[] = {
    {"instance_id", TEXTOID, C_COLLATION_OID, true},
    {"key", TEXTOID, C_COLLATION_OID, true},
    {"value", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"execution_id", INT8OID, kNoCollation, false},
    {"last_updated_at_ms", INT8OID, kNoCollation, true},
};

constexpr ColumnShape kKvDeltaColumns[] = {
    {"instance_id", TEXTOID, C_COLLATION_OID, true},
    {"key", TEXTOID, C_COLLATION_OID, true},
    {"value", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"last_updated_at_ms", INT8OID, kNoCollation, true},
};

constexpr IndexShape kKvStoreIndexes[] = {
    {"kv_store_pkey", true, nullptr, nullptr, 2, {kept::kInstanceId, kept::kKey}},
};

constexpr IndexShape kKvDeltaIndexes[] = {
    {"kv_delta_pkey", true, nullptr, nullptr, 2, {kept::kInstanceId, kept::kKey}},
};

// ---------------------------------------------------------------- outbox_events

constexpr ColumnShape kOutboxColumns[] = {
    {"incarnation", INT4OID, kNoCollation, true},
    {"position", INT8OID, kNoCollation, true},
    {"xid", XID8OID, kNoCollation, true},
    {"topic", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"type", TEXTOID, DEFAULT_COLLATION_OID, true},
    {"subject", TEXTOID, DEFAULT_COLLATION_OID, false},
    {"details", JSONBOID, kNoCollation, true},
    {"occurred_at_ms", INT8OID, kNoCollation, true},
};
static_assert(std::size(kOutboxColumns) == outbox::kColumns);

constexpr IndexShape kOutboxIndexes[] = {
    {"outbox_events_pkey", true, nullptr, nullptr, 2, {outbox::kIncarnation, outbox::kPosition}},
};

// ---------------------------------------------------------------- lanes

constexpr ColumnShape kLaneColumns[] = {
    {"name", TEXTOID, C_COLLATION_OID, true},       {"paused", BOOLOID, kNoCollation, true},
    {"retention_ms", INT8OID, kNoCollation, false}, {"created_at_ms", INT8OID, kNoCollation, true},
    {"policy", JSONBOID, kNoCollation, false},
};
static_assert(std::size(kLaneColumns) == lane::kColumns);

constexpr const char* kLaneChecks[] = {"(retention_ms >= 0)"};

constexpr IndexShape kLaneIndexes[] = {
    {"lanes_pkey", true, nullptr, nullptr, 1, {lane::kName}},
};

constexpr TableShape kShapes[] = {
    {&Relations::worker_queue, kWorkColumns, kCountsUpwards, kWorkIndexes},
    {&Relations::orchestrator_queue, kMessageColumns, kCountsUpwards, kMessageIndexes},
    {&Relations::instance_locks, kLockColumns, {}, kLockIndexes},
    {&Relations::instances, kInstanceColumns, {}, kInstanceIndexes},
    {&Relations::executions, kExecutionColumns, kStatuses, kExecutionIndexes},
    {&Relations::history, kHistoryColumns, {}, kHistoryIndexes},
    {&Relations::tasks, kTaskColumns, kSound, kTaskIndexes},
    {&Relations::attempts, kAttemptColumns, kOutcomes, kAttemptIndexes},
    {&Relations::kv_store, kKvStoreColumns, {}, kKvStoreIndexes},
    {&Relations::kv_delta, kKvDeltaColumns, {}, kKvDeltaIndexes},
    {&Relations::outbox_events, kOutboxColumns, {}, kOutboxIndexes},
    {&Relations::lanes, kLaneColumns, kLaneChecks, kLaneIndexes},
};
static_assert(std::size(kShapes) == static_cast<std::size_t>(DirectId::kCount));

}  // namespace

const TableShape& shape_of(DirectId id) {
    return kShapes[static_cast<int>(id)];
}

}  // namespace belay::store
