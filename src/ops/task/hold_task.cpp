// hold_task.cpp — hold a task, and find out whether the caller still has its lease.
//
// Calls    store::try_lock_task, store::lock_task, store::lock_flow
// Touches  <hub>.tasks, <hub>.flows
// Locks    the flow of the task, if asked for, then the task
// Raises   QB001 lease lost, QB002 no such task, QB007 clock skew, QB012 terminal, QB013 not active
#include "ops/guard/guard.hpp"
#include "ops/task/task.hpp"
#include "pg/counters.hpp"
#include "pg/errors.hpp"
#include "store/flows.hpp"

namespace belay::ops {

namespace {

pg::Facts task_facts(const char* code_detail, const store::Task& task) {
    pg::Facts facts(code_detail);
    facts.add("task_id", store::uuid_text(task.id))
        .add("state", core::name_of(task.state))
        .add("outcome", core::outcome_of(task.state))
        .add("lease_epoch", task.lease_epoch)
        .add("attempt_index", task.attempt_index)
        .add_optional("cancel_reason", task.cancel_reason);
    return facts;
}

constexpr const char* kStop = "Stop working on this task: its lease is gone.";

}  // namespace

namespace {

bool is_same(const std::optional<pg_uuid_t>& a, const std::optional<pg_uuid_t>& b) {
    return a.has_value() == b.has_value() && (!a || memcmp(a->data, b->data, UUID_LEN) == 0);
}

// A member of a flow, or a task that somebody holds: the flow is held first.
store::Task hold_after_flow(const store::Hub& hub, const pg_uuid_t& id, pg::Clock* clock) {
    const auto membership = store::read_membership(hub, id);
    if (!membership) {
        raise_no_task(id);
    }
    if (membership->flow_id && !store::try_lock_flow(hub, *membership->flow_id)) {
        clock->mark_waited();
        (void)store::lock_flow(hub, *membership->flow_id);
    }
    auto task = store::try_lock_task(hub, id);
    if (!task) {
        clock->mark_waited();
        task = store::lock_task(hub, id);
    }
    if (!task) {
        raise_no_task(id);  // deleted meanwhile
    }
    if (!is_same(task->flow_id, membership->flow_id)) {
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("task %s has joined a flow meanwhile", store::uuid_text(id)),
                        errhint("Repeat the transaction.")));
    }
    return *task;
}

}  // namespace

void raise_no_task(const pg_uuid_t& id) {
    const char* text = store::uuid_text(id);
    pg::raise(pg::kNotFound, psprintf("Task not found: %s", text),
              pg::Facts("unknown_task").add("entity", "task").add("id", text),
              "It was never created here, or retention has deleted it.");
}

void raise_terminal(const store::Task& task) {
    pg::raise(pg::kAlreadyTerminal,
              psprintf("task %s is %s already", store::uuid_text(task.id),
                       core::name_of(task.state).data()),
              task_facts("already_terminal", task),
              "Stop working on this task. replay_task runs it again.");
}

void raise_lease_lost(const store::Hub& hub, const store::Task& task, const char* code_detail) {
    pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kLostLeases);
    pg::raise(pg::kLockLost, psprintf("the lease of task %s is lost", store::uuid_text(task.id)),
              task_facts(code_detail, task), kStop);
}

store::Task hold_task(const store::Hub& hub, const pg_uuid_t& id, pg::Clock* clock) {
    enter(hub, {.tasks = true}, clock);
    auto task = store::try_lock_task(hub, id);
    if (!task && store::task_state(hub, id)) {
        clock->mark_waited();
        task = store::lock_task(hub, id);
    }
    if (!task) {
        raise_no_task(id);
    }
    pg::check_skew(*clock, hub.options[store::Option::kMaxClockSkew]);
    return *task;
}

store::Task hold_task_and_flow(const store::Hub& hub, const pg_uuid_t& id, pg::Clock* clock) {
    enter(hub, {.tasks = true}, clock);
    auto task = store::try_lock_lone_task(hub, id);
    if (!task) {
        task = hold_after_flow(hub, id, clock);
    }
    pg::check_skew(*clock, hub.options[store::Option::kMaxClockSkew]);
    return *task;
}

void check_fence(const store::Hub& hub, const store::Task& task, const Fence& fence, int64 now) {
    if (core::is_terminal(task.state)) {
        raise_terminal(task);
    }
    if (!task.is_active()) {
        pg::raise(pg::kNotActive,
                  psprintf("task %s is %s, not active", store::uuid_text(task.id),
                           core::name_of(task.state).data()),
                  task_facts("not_active", task), kStop);
    }
    if (fence.override) {
        return;
    }
    if (*fence.epoch != task.lease_epoch) {
        raise_lease_lost(hub, task, "stale_epoch");
    }
    if (!task.is_lease_live(hub, now)) {
        raise_lease_lost(hub, task, "lease_expired");
    }
}

void note_own_end(const store::Task& task, const Fence& fence) {
    if (!fence.override) {
        note_finished_task(task.id, *fence.epoch);
    }
}

}  // namespace belay::ops
