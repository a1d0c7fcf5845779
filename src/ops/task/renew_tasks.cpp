// renew_tasks.cpp — move the deadlines of live leases; report progress.
//
// Calls    store::set_lease_until, store::set_progress
// Touches  <hub>.tasks
// Locks    tasks by id
// Raises   QB001, QB002, QB006, QB007, QB012, QB013 (renew_tasks reports a lost lease instead)
#include <algorithm>

#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

constexpr int kRenewed = core::event_place("lease", "renewed");

void tell(store::Tables& tables, const store::Task& task, int64 now) {
    emit_lease_event(tables, task, {.event = kRenewed, .epoch = task.lease_epoch}, now);
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kRenewed);
}

Renewed renew(store::Tables& tables, const store::Task& task, int64 lease_ms, int64 now) {
    const auto [until, capped] = core::renewal(task, lease_ms, now);
    if (until != *task.lease_until) {
        store::set_lease_until(tables, task, until);
    }
    tell(tables, task, now);
    return {until, capped};
}

// Why a lease is gone; null if it is there, however old.
const char* why_lost(const std::optional<core::TaskLife>& found, int64 epoch) {
    if (!found) {
        return "not_found";
    }
    switch (core::fault_of_epoch(*found, epoch)) {
        case core::TaskFault::kTerminal:
            return "terminal";
        case core::TaskFault::kNotActive:
            return "not_active";
        case core::TaskFault::kOtherEpoch:
            return "stale_epoch";
        default:
            return nullptr;
    }
}

// A task with its lease, held, or why it has none. Epochs only grow: what is gone stays gone, and
// needs no lock. One who renews many must not hold a task without a lease while it waits for the
// next: only flows decide in which order those are taken.
struct HeldLease {
    std::optional<store::Task> task;
    const char* lost;
};

HeldLease hold_lease(store::Tables& tables, const pg_uuid_t& id, int64 epoch, pg::Clock* clock) {
    if (const auto task = store::try_lock_lease(tables, id, epoch)) {
        return {task, nullptr};
    }
    if (const char* lost = why_lost(store::read_life(tables, id), epoch)) {
        return {std::nullopt, lost};
    }
    clock->mark_waited();
    if (const auto task = store::lock_lease(tables, id, epoch)) {
        return {task, nullptr};
    }
    const char* lost = why_lost(store::read_life(tables, id), epoch);
    return {std::nullopt, lost != nullptr ? lost : "stale_epoch"};
}

}  // namespace

Renewed renew_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence, int64 lease_ms,
                   pg::Clock* clock) {
    const auto task = hold_task(tables, id, clock, fence);
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    return renew(tables, task, lease_ms, now);
}

std::span<const RenewedTask> renew_tasks(store::Tables& tables, std::span<const pg_uuid_t> ids,
                                         std::span<const int64> epochs, int64 lease_ms,
                                         pg::Clock* clock) {
    enter(tables, {.tasks = true}, clock);
    const std::size_t count = ids.size();
    auto* order = static_cast<std::size_t*>(palloc(sizeof(std::size_t) * (count + 1)));
    auto* held = static_cast<HeldLease*>(palloc(sizeof(HeldLease) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        order[i] = i;
    }
    std::sort(order, order + count, [ids](std::size_t a, std::size_t b) {
        const int result = memcmp(ids[a].data, ids[b].data, UUID_LEN);
        return result != 0 ? result < 0 : a < b;
    });
    for (std::size_t i = 0; i < count; ++i) {
        held[order[i]] = hold_lease(tables, ids[order[i]], epochs[order[i]], clock);
        CHECK_FOR_INTERRUPTS();
    }
    auto* results = static_cast<RenewedTask*>(palloc(sizeof(RenewedTask) * (count + 1)));
    const int64 now = clock->now();
    for (std::size_t i = 0; i < count; ++i) {
        const auto& task = held[i].task;
        const bool live = task && core::is_lease_live(*task, tables.hub.epoch_floor, now);
        results[i] = {ids[i], live, 0, task && !live ? "lease_expired" : held[i].lost};
        if (live) {
            results[i].lease_until = renew(tables, *task, lease_ms, now).lease_until;
        } else {
            counters::add(tables.hub.schema, counters::Queue::kTasks,
                          counters::Counter::kLostLeases);
        }
    }
    return {results, count};
}

int64 progress_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                    const ProgressReport& report, pg::Clock* clock) {
    const auto task = hold_task(tables, id, clock, fence);
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    const int64 lease_until =
        report.lease_ms ? core::renewal(task, *report.lease_ms, now).until : *task.lease_until;
    store::set_progress(tables, task,
                        {.percent = report.percent,
                         .message = report.message,
                         .checkpoint = report.checkpoint,
                         .lease_until = lease_until},
                        now);
    if (report.lease_ms) {
        tell(tables, task, now);
    }
    return lease_until;
}

}  // namespace belay::ops
