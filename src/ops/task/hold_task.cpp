// hold_task.cpp — hold a task, and find out whether the caller still has its lease.
//
// Calls    store::try_lock_task, store::try_lock_tasks, store::lock_task, store::lock_flow
// Touches  <hub>.tasks, <hub>.flows
// Locks    the flow of the task, if asked for, then the task; of many, all flows by id, then the
//          tasks by id
// Raises   QB001 lease lost, QB002 no such task, QB007 clock skew, QB012 terminal, QB013 not active
#include <algorithm>

#include "ops/guard/guard.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "shmem/counters.hpp"
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

// A lease of the front door names a task that the hub does not have.
[[noreturn]] void raise_foreign(const store::Hub& hub, const pg_uuid_t& id) {
    const char* text = store::uuid_text(id);
    counters::add(hub.schema, counters::Queue::kTasks, counters::Counter::kLostLeases);
    pg::raise(pg::kLockLost, psprintf("the lease of task %s is lost", text),
              pg::Facts("unknown_task").add("task_id", text),
              "Stop working on this task: it belongs to another hub, or retention has deleted it.");
}

[[noreturn]] void raise_absent(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence) {
    if (fence.lease != nullptr) {
        raise_foreign(hub, id);
    }
    raise_no_task(id);
}

// Why a lease of the front door is not the task's live one; null if it is.
const char* why_refused(const store::Hub& hub, const store::Task& task, const Fence& fence,
                        int64 now) {
    if (has_completed(task, fence)) {
        return "already_completed";
    }
    const core::TaskLease& lease = *fence.lease;
    const bool has_secret = lease.incarnation == hub.incarnation && task.lease_nonce &&
                            core::has_nonce(lease, task.lease_nonce->data);
    switch (core::fault_of_lease(task, lease.epoch, has_secret, hub.epoch_floor, now)) {
        case core::TaskFault::kTerminal:
            return "already_terminal";
        case core::TaskFault::kNotActive:
        case core::TaskFault::kOtherEpoch:
            return "stale_epoch";
        case core::TaskFault::kUnknown:
            return "unknown_lease";
        case core::TaskFault::kExpired:
            return "lease_expired";
        case core::TaskFault::kNone:
            break;
    }
    return nullptr;
}

void wait_for_flow(store::Tables& tables, const pg_uuid_t& flow, pg::Clock* clock) {
    if (!store::try_lock_flow(tables, flow)) {
        clock->mark_waited();
        (void)store::lock_flow(tables, flow);
    }
}

void check_membership(const store::Task& task, const store::Membership& membership) {
    if (!is_same(task.flow_id, membership.flow_id)) {
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("task %s has joined a flow meanwhile", store::uuid_text(task.id)),
                        errhint("Repeat the transaction.")));
    }
}

// Holds a task whose flow, if it has one, is held. Nothing if it was deleted meanwhile.
std::optional<store::Task> wait_for_task(store::Tables& tables, const pg_uuid_t& id,
                                         const store::Membership& membership, pg::Clock* clock) {
    auto task = store::try_lock_task(tables, id);
    if (!task) {
        clock->mark_waited();
        task = store::lock_task(tables, id);
    }
    if (task) {
        check_membership(*task, membership);
    }
    return task;
}

// A member of a flow, or a task that another transaction holds: the flow is held first.
store::Task hold_after_flow(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock,
                            const Fence& fence) {
    const auto membership = store::read_membership(tables, id);
    if (!membership) {
        raise_absent(tables, id, fence);
    }
    if (membership->flow_id) {
        wait_for_flow(tables, *membership->flow_id, clock);
    }
    const auto task = wait_for_task(tables, id, *membership, clock);
    if (!task) {
        raise_absent(tables, id, fence);
    }
    return *task;
}

bool less(const pg_uuid_t& a, const pg_uuid_t& b) {
    return memcmp(a.data, b.data, UUID_LEN) < 0;
}

// Sorts the ids and leaves each once.
void sort_once(pg::List<pg_uuid_t>* ids) {
    std::sort(ids->begin(), ids->end(), less);
    const pg_uuid_t* end =
        std::unique(ids->begin(), ids->end(), [](const pg_uuid_t& a, const pg_uuid_t& b) {
            return memcmp(a.data, b.data, UUID_LEN) == 0;
        });
    ids->count = static_cast<int>(end - ids->begin());
}

}  // namespace

void raise_no_task(const pg_uuid_t& id) {
    const char* text = store::uuid_text(id);
    pg::raise(pg::kNotFound, psprintf("task %s does not exist", text),
              pg::Facts("unknown_task").add("entity", "task").add("id", text),
              "Check the id; retention may have deleted what it named.");
}

void raise_terminal(const store::Task& task) {
    pg::raise(pg::kAlreadyTerminal,
              psprintf("task %s is %s already", store::uuid_text(task.id),
                       core::name_of(task.state).data()),
              task_facts("already_terminal", task),
              "Stop working on this task. replay_task runs it again.");
}

namespace {

// What became of a lease that is not the task's live one.
const char* fate_of(const store::Task& task, std::string_view code_detail) {
    const char* id = store::uuid_text(task.id);
    if (code_detail == "lease_expired") {
        return psprintf("the lease of task %s has expired", id);
    }
    if (code_detail == "unknown_lease") {
        return psprintf("this lease of task %s was never granted", id);
    }
    if (core::is_terminal(task.state)) {
        return psprintf("task %s is %s already", id, core::name_of(task.state).data());
    }
    return task.is_active() ? psprintf("task %s has been leased again", id)
                            : psprintf("the lease of task %s has ended", id);
}

[[noreturn]] void raise_lease_lost(store::Tables& tables, const store::Task& task,
                                   const char* code_detail) {
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kLostLeases);
    pg::raise(pg::kLockLost, fate_of(task, code_detail), task_facts(code_detail, task), kStop);
}

}  // namespace

void raise_stale_epoch(store::Tables& tables, const store::Task& task, int64 epoch) {
    if (epoch < task.lease_epoch) {
        raise_lease_lost(tables, task, "stale_epoch");
    }
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kLostLeases);
    pg::raise(pg::kLockLost,
              psprintf("a lease of task %s with epoch %lld was never granted",
                       store::uuid_text(task.id), static_cast<long long>(epoch)),
              task_facts("stale_epoch", task), kStop);
}

bool has_completed(const store::Task& task, const Fence& fence) {
    return fence.epoch && core::was_completed_under(task, *fence.epoch) &&
           (fence.lease == nullptr ||
            (task.lease_nonce && core::has_nonce(*fence.lease, task.lease_nonce->data)));
}

store::Task hold_task(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock,
                      const Fence& fence) {
    enter(tables, {.tasks = true}, clock);
    auto task = store::try_lock_task(tables, id);
    if (!task && store::read_life(tables, id)) {
        clock->mark_waited();
        task = store::lock_task(tables, id);
    }
    if (!task) {
        raise_absent(tables, id, fence);
    }
    pg::check_skew(*clock, tables.hub.options[store::Option::kMaxClockSkew]);
    return *task;
}

store::Task hold_task_and_flow(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock,
                               const Fence& fence) {
    enter(tables, {.tasks = true}, clock);
    auto task = store::try_lock_lone_task(tables, id);
    if (!task) {
        task = hold_after_flow(tables, id, clock, fence);
    }
    pg::check_skew(*clock, tables.hub.options[store::Option::kMaxClockSkew]);
    return *task;
}

namespace {

// Holds tasks, in that order, whose flows are held.
std::span<TaskHold> hold_in_order(store::Tables& tables, std::span<const pg_uuid_t> ids,
                                  std::span<const std::optional<store::Membership>> memberships,
                                  pg::Clock* clock) {
    auto* held = static_cast<TaskHold*>(palloc(sizeof(TaskHold) * (ids.size() + 1)));
    pg::List<store::SeenTask> present;
    pg::List<int> places;  // of those in held
    for (std::size_t i = 0; i < ids.size(); ++i) {
        held[i] = {ids[i], std::nullopt};
        if (memberships[i]) {
            present.add({ids[i], memberships[i]->tid});
            places.add(static_cast<int>(i));
        }
    }
    for (int next = 0; next < present.count;) {
        const auto some =
            store::try_lock_tasks(tables, present.span().subspan(static_cast<std::size_t>(next)));
        for (const store::Task& task : some) {
            const int place = places.items[next++];
            check_membership(task, *memberships[static_cast<std::size_t>(place)]);
            held[place].task = task;
        }
        if (next < present.count) {
            // Another transaction has the next one, or has deleted it.
            const int place = places.items[next++];
            held[place].task = wait_for_task(tables, held[place].id,
                                             *memberships[static_cast<std::size_t>(place)], clock);
        }
    }
    return {held, ids.size()};
}

}  // namespace

std::span<TaskHold> hold_tasks_and_flows(store::Tables& tables, std::span<const pg_uuid_t> ids,
                                         pg::Clock* clock) {
    enter(tables, {.tasks = true}, clock);
    pg::List<pg_uuid_t> sorted;
    for (const pg_uuid_t& id : ids) {
        sorted.add(id);
    }
    sort_once(&sorted);
    const auto memberships = store::read_memberships(tables, sorted.span());
    pg::List<pg_uuid_t> flows;
    for (const auto& membership : memberships) {
        if (membership && membership->flow_id) {
            flows.add(*membership->flow_id);
        }
    }
    sort_once(&flows);
    for (const pg_uuid_t& flow : flows) {
        wait_for_flow(tables, flow, clock);
        CHECK_FOR_INTERRUPTS();
    }
    return hold_in_order(tables, sorted.span(), memberships, clock);
}

TaskHold* find_hold(std::span<TaskHold> held, const pg_uuid_t& id) {
    return &*std::lower_bound(
        held.begin(), held.end(), id,
        [](const TaskHold& hold, const pg_uuid_t& wanted) { return less(hold.id, wanted); });
}

std::optional<Refusal> refusal_of(const store::Hub& hub, const store::Task& task,
                                  const Fence& fence, int64 now) {
    if (fence.lease != nullptr) {
        const char* why = why_refused(hub, task, fence, now);
        return why == nullptr ? std::nullopt : std::optional(Refusal{pg::kLockLost, why});
    }
    // An operator needs no lease: the task's own will do, unless the call names an epoch.
    const int64 epoch = fence.override ? fence.epoch.value_or(task.lease_epoch) : *fence.epoch;
    switch (core::fault_of_live_epoch(task, epoch, hub.epoch_floor, now)) {
        case core::TaskFault::kTerminal:
            return Refusal{pg::kAlreadyTerminal, "already_terminal"};
        case core::TaskFault::kNotActive:
            return Refusal{pg::kNotActive, "not_active"};
        case core::TaskFault::kOtherEpoch:
            return Refusal{pg::kLockLost, "stale_epoch"};
        case core::TaskFault::kExpired:
            return fence.override ? std::nullopt
                                  : std::optional(Refusal{pg::kLockLost, "lease_expired"});
        case core::TaskFault::kUnknown:
        case core::TaskFault::kNone:
            break;
    }
    return std::nullopt;
}

void check_fence(store::Tables& tables, const store::Task& task, const Fence& fence, int64 now) {
    const auto refusal = refusal_of(tables, task, fence, now);
    if (!refusal) {
        return;
    }
    switch (refusal->sqlstate) {
        case pg::kAlreadyTerminal:
            raise_terminal(task);
        case pg::kNotActive:
            pg::raise(pg::kNotActive,
                      psprintf("task %s is %s, not active", store::uuid_text(task.id),
                               core::name_of(task.state).data()),
                      task_facts(refusal->code_detail, task), kStop);
        default:
            break;
    }
    if (fence.lease == nullptr && *fence.epoch != task.lease_epoch) {
        raise_stale_epoch(tables, task, *fence.epoch);
    }
    raise_lease_lost(tables, task, refusal->code_detail);
}

void allow_own_end(const store::Task& task, const Fence& fence) {
    if (!fence.override) {
        allow_ended_task(task.id, *fence.epoch);
    }
}

}  // namespace belay::ops
