// task_duties.cpp — what tasks need done from time to time.
//
// Calls    settle, promote_tasks, store::delete_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.dedup_keys, <hub>.outbox_events, <hub>.suspensions,
//          <hub>.waitpoints, <hub>.signals, <hub>.waitpoint_keys, and the tables of flows
// Locks    tasks and their flows, always skipping what others hold
// Raises   nothing itself
#include "ops/duties/duties.hpp"
#include "ops/enter.hpp"
#include "ops/flow/flow.hpp"
#include "ops/task/task.hpp"
#include "store/flows.hpp"
#include "store/suspensions.hpp"

namespace belay::ops {

namespace {

constexpr int kPortion = 500;

// Settles a portion of what has fallen due. If others hold all of it, the next portion has its
// turn: find(offset) reads one.
template <typename Find>
int64 settle_portion(store::Tables& tables, pg::Clock* clock, Find find) {
    for (int offset = 0;; offset += kPortion) {
        const std::span<const store::DueTask> due = find(offset);
        const int64 changed = settle_all(tables, due, clock->now());
        if (changed > 0 || due.size() < kPortion) {
            return changed;
        }
    }
}

}  // namespace

int64 expire_task_leases(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    int64 changed = settle_portion(tables, clock, [&tables, clock](int offset) {
        return store::expired_leases(tables, clock->now(), kPortion, offset);
    });
    if (may_have_void_leases(tables)) {
        changed += settle_portion(tables, clock, [&tables](int offset) {
            return store::void_leases(tables, kPortion, offset);
        });
        if (changed == 0) {
            find_void_leases(tables);
        }
    }
    return changed;
}

int64 expire_tasks(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    int64 changed = settle_portion(tables, clock, [&tables, clock](int offset) {
        return store::past_deadline(tables, clock->now(), kPortion, offset);
    });
    changed += settle_portion(tables, clock, [&tables, clock](int offset) {
        return store::timed_out(tables, clock->now(), kPortion, offset);
    });
    return changed;
}

int64 promote_due_tasks(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    // Claims cannot have what it holds until it commits.
    constexpr int kAtOnce = 100;
    return promote_tasks(tables, clock->now(), kAtOnce);
}

int64 retire_tasks(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true, .attempts = true})) {
        return 0;
    }
    if (const int64 flows = retire_flows(tables, clock)) {
        return flows;
    }
    const auto ids = store::hold_outdated(
        tables, clock->now(), tables.hub.options[store::Option::kTaskRetention], kPortion);
    int64 deleted = store::forget_waitpoint_keys(tables, clock->now());
    for (const pg_uuid_t& id : ids) {
        if (const auto task = store::try_lock_task(tables, id)) {
            store::delete_task(tables, *task);
            ++deleted;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return deleted;
}

}  // namespace belay::ops
