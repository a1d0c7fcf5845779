// The hot statements of tasks that stand alone, without SQL: the same rows and locks. False: SQL
// has to serve.
#pragma once

#include "store/tasks.hpp"

namespace belay::store::direct {

// A task with an id that the server has made: nobody else can have it.
bool try_insert_task(const Hub& hub, const NewTask& task, int16 slot, core::TaskState state);

// These are for tasks that this transaction holds.
bool try_set_lease_until(const Hub& hub, const pg_uuid_t& id, int64 lease_until);
bool try_finish(const Hub& hub, const Task& task, const Finish& how);
// The end of an attempt without an error.
bool try_end_attempt(const Hub& hub, const Task& task, core::AttemptOutcome outcome, int64 now);

}  // namespace belay::store::direct
