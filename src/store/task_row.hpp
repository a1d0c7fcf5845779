// The columns of a task that is held, for the statements that hold one or many.
#pragma once

#include "store/plan.hpp"
#include "store/tasks.hpp"

namespace belay::store {

inline constexpr char kTaskColumns[] = R"sql(
    SELECT t.id, t.flow_id, t.lane, t.kind, t.dedup_key, t.state, t.pending_attempt, t.priority,
           t.attempt_index, t.attempt_leases, t.retry_count, t.reclaim_count, t.replay_count,
           t.lease_epoch, t.lease_until_ms, t.lease_check_ms, t.available_at_ms, t.deadline_ms,
           t.attempt_started_ms, t.attempt_deadline_ms, t.lease_owner, t.lease_worker,
           t.attempt_kind, t.attempt_worker, t.attempt_worker_instance, t.cancel_reason,
           t.cancelled_by, t.policy, t.held, t.lease_nonce
      FROM {hub}.tasks AS t
)sql";

// The task of a row with these columns.
Task read_task(const Rows& rows, uint64 row);
std::span<const Task> read_tasks(const Rows& rows);

std::span<const pg_uuid_t> read_ids(const Rows& rows);
// Of rows (id, flow).
std::span<const DueTask> read_due(const Rows& rows);

int16 task_slot(const Hub& hub, const pg_uuid_t& id);

}  // namespace belay::store
