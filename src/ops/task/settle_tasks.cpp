// settle_tasks.cpp — end the leases of many tasks in one unit, each with its own fate.
//
// Calls    complete_held_task, fail_held_task, delay_held_task, release_held_task, suspend_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.suspensions, <hub>.outbox_events, and the tables of
//          flows
// Locks    all flows of the tasks by id, then the tasks by id, for any order of the outcomes
// Raises   QB007; what concerns one outcome is its refusal
#include "ops/own_fault.hpp"
#include "ops/suspension/suspension.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "pg/subtransaction.hpp"
#include "shmem/counters.hpp"
#include "store/deferred.hpp"

namespace belay::ops {

namespace {

// A suspension says what is wrong by raising it, so it can be undone by itself. Its task is held.
void suspend(store::Tables& tables, TaskOutcome* outcome, pg::Clock* clock) {
    const auto end = pg::try_in_subtransaction([&tables, outcome, clock] {
        store::with_tables(tables.hub, [outcome, clock](store::Tables& own) {
            const auto suspension = checked_object(
                "p_suspensions", checked_body(own, "p_suspensions", outcome->suspension));
            const auto suspended =
                suspend_task(own, outcome->id, outcome->fence, suspension, clock);
            outcome->answer = suspended.result;
            outcome->suspension_id = suspended.suspension_id;
            outcome->waitpoints = suspended.waitpoints;
        });
        return true;
    });
    if (end.error == nullptr) {
        return;
    }
    if (!is_its_own_fault(end.error)) {
        ReThrowError(end.error);
    }
    outcome->refusal = Refusal{end.error->sqlerrcode, code_detail_of(end.error)};
}

// Why the outcome cannot be: the lease is gone, or has completed the task before.
std::optional<Refusal> find_refusal(store::Tables& tables, const store::Task& task,
                                    TaskOutcome* outcome, int64 now) {
    if (outcome->end == TaskEnd::kComplete && has_completed(task, outcome->fence)) {
        outcome->same_result = store::has_result(tables, task.id, outcome->result);
        return Refusal{pg::kLockLost, "already_completed"};
    }
    const auto refusal = refusal_of(tables, task, outcome->fence, now);
    if (refusal && refusal->sqlstate == pg::kLockLost) {
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kLostLeases);
    }
    return refusal;
}

// There is no such task.
Refusal refuse_absent(store::Tables& tables, const Fence& fence) {
    if (fence.lease == nullptr) {
        return {pg::kNotFound, "unknown_task"};
    }
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kLostLeases);
    return {pg::kLockLost, "unknown_task"};
}

void answer_requeued(const RequeuedTask& requeued, TaskOutcome* outcome) {
    outcome->state = requeued.state;
    outcome->available_at = requeued.available_at;
}

// Ends the lease of a task that is held and that its caller may end.
void end_lease(store::Tables& tables, const store::Task& task, TaskOutcome* outcome, int64 now) {
    const Fence& fence = outcome->fence;
    const int64 delay = outcome->delay_ms.value_or(0);
    switch (outcome->end) {
        case TaskEnd::kComplete:
            outcome->lease_epoch = complete_held_task(tables, task, fence, outcome->result, now);
            outcome->answer = "completed";
            outcome->state = core::TaskState::kCompleted;
            break;
        case TaskEnd::kFail: {
            const auto failed =
                fail_held_task(tables, task, fence, outcome->failure, outcome->delay_ms, now);
            outcome->answer = failed.result;
            outcome->state = failed.state;
            outcome->available_at = failed.available_at;
            outcome->next_attempt_index = failed.next_attempt_index;
            break;
        }
        case TaskEnd::kDelay:
            answer_requeued(delay_held_task(tables, task, fence, delay, outcome->checkpoint, now),
                            outcome);
            break;
        case TaskEnd::kRelease:
            answer_requeued(release_held_task(tables, task, fence, delay, now), outcome);
            break;
        case TaskEnd::kSuspend:
            break;  // suspend, above
    }
}

void settle(store::Tables& tables, TaskHold* hold, TaskOutcome* outcome, pg::Clock* clock) {
    if (outcome->end == TaskEnd::kSuspend) {
        suspend(tables, outcome, clock);
        hold->changed = true;
        return;
    }
    // What another outcome made of it: of the same task, or of a sibling in its flow.
    if (hold->task && (hold->changed || hold->task->flow_id)) {
        hold->task = store::try_lock_task(tables, hold->id);
    }
    if (!hold->task) {
        outcome->refusal = refuse_absent(tables, outcome->fence);
        return;
    }
    const int64 now = clock->now();
    outcome->refusal = find_refusal(tables, *hold->task, outcome, now);
    if (outcome->refusal) {
        outcome->state = hold->task->state;
        return;
    }
    end_lease(tables, *hold->task, outcome, now);
    hold->changed = true;
}

}  // namespace

void settle_tasks(store::Tables& tables, std::span<TaskOutcome> outcomes, pg::Clock* clock) {
    pg::List<pg_uuid_t> ids;
    for (const TaskOutcome& outcome : outcomes) {
        if (!outcome.refusal) {
            ids.add(outcome.id);
        }
    }
    const auto held = hold_tasks_and_flows(tables, ids.span(), clock);
    pg::check_skew(*clock, tables.hub.options[store::Option::kMaxClockSkew]);
    store::deferring_rows(tables, [&tables, outcomes, held, clock] {
        for (TaskOutcome& outcome : outcomes) {
            if (!outcome.refusal) {
                settle(tables, find_hold(held, outcome.id), &outcome, clock);
            }
            CHECK_FOR_INTERRUPTS();
        }
    });
}

}  // namespace belay::ops
