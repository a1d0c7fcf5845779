// The hot statements of tasks that stand alone, without SQL: the same rows and locks. False: SQL
// has to serve.
#pragma once

#include "store/fast/lend.hpp"
#include "store/plan.hpp"
#include "store/tasks.hpp"

namespace belay::store::direct {

// A task with an id that the server has made: nobody else can have it.
bool try_insert_task(const Hub& hub, const NewTask& task, int16 slot, core::TaskState state);

// Whether the lane has a row.
Answer<bool> has_lane(const Hub& hub, std::string_view name);

// Holds a task that is in no flow, without waiting; its answer is empty if it cannot.
Answer<std::optional<Task>> try_lock_lone(const Hub& hub, const pg_uuid_t& id);

// These are for tasks that this transaction holds.
// Leases them; the rows have the columns of the statement that does it in SQL.
Answer<Rows> acquire(const Hub& hub, std::span<const LeaseGrant> grants, std::string_view worker,
                     std::string_view worker_instance, int64 now);
bool try_set_lease_until(const Hub& hub, const pg_uuid_t& id, int64 lease_until);
bool try_finish(const Hub& hub, const Task& task, const Finish& how);
bool try_end_attempt(const Hub& hub, const Task& task, core::AttemptOutcome outcome, int64 now,
                     const std::optional<Failure>& failure);

}  // namespace belay::store::direct
