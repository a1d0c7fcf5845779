// The hot statements of tasks that stand alone, and finding tasks for a claim, without SQL: the
// same rows and locks. False, or no value of an Answer: SQL has to serve.
#pragma once

#include "pg/queue_gaps.hpp"
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

// ---- Finding tasks ----

// The gaps of a stream of ready tasks, and of all delayed ones; and places there.
pg::GapKey ready_gaps(const Hub& hub, const TaskStream& stream);
pg::GapKey delayed_gaps(const Hub& hub);
core::QueuePlace ready_place(const TaskPlace& place);
core::QueuePlace delayed_place(const TaskPlace& place);
// Looks for tasks in gaps that were not looked at for so long; returns how many were found.
int64 repair_task_gaps(const Hub& hub, int64 age_ms);

// Holds up to limit tasks from the head of the stream that nobody else holds.
struct HeldHeads {
    std::span<const pg_uuid_t> ids;
    std::span<const HeldTask> tasks;  // in the same order; none if SQL has to read them
    bool lost;                        // somebody else had one
};
Answer<HeldHeads> hold_heads(const Hub& hub, const TaskStream& stream, int64 now, int limit);
// Looks at up to limit due tasks.
Answer<DueLook> peek_due(const Hub& hub, const std::optional<TaskPlace>& after, int64 now,
                         int limit);
Answer<std::span<const TaskPeek>> peek_heads(const Hub& hub, std::span<const TaskStream> streams,
                                             int64 now, int limit);
Answer<std::span<const TaskPlace>> peek_behind(const Hub& hub, const TaskStream& stream,
                                               const TaskPlace& after, int64 now, int limit);
// Lanes in the claim index, also those whose entries are all dead.
Answer<std::span<const std::string_view>> ready_lanes(const Hub& hub, std::string_view after,
                                                      std::optional<std::string_view> up_to,
                                                      int limit);
// When the first delayed task is due; none if there is none.
Answer<std::optional<int64>> first_delayed(const Hub& hub);

}  // namespace belay::store::direct
