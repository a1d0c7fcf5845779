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
#include "pg/counters.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

constexpr int kRenewed = core::event_place("lease", "renewed");

// A renewal never takes time away; the task's deadlines do.
Renewed extension(const store::Task& task, int64 lease_ms, int64 now) {
    const int64 wanted = std::max(core::add_ms(now, lease_ms), *task.lease_until);
    const auto capped = core::cap_deadline(wanted, task.attempt_deadline, task.deadline);
    return {capped.until, capped.capped};
}

void tell(const store::Hub& hub, const store::Task& task, int64 now) {
    tell_lease(hub, task, {.event = kRenewed, .epoch = task.lease_epoch}, now);
    pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kRenewed);
}

Renewed renew(const store::Hub& hub, const store::Task& task, int64 lease_ms, int64 now) {
    const Renewed renewed = extension(task, lease_ms, now);
    if (renewed.lease_until != *task.lease_until) {
        store::set_lease_until(hub, task.id, renewed.lease_until);
    }
    tell(hub, task, now);
    return renewed;
}

// Why a lease is gone; null if it is there, however old.
const char* why_lost(const std::optional<store::LeaseState>& found, int64 epoch) {
    if (!found) {
        return "not_found";
    }
    if (core::is_terminal(found->state)) {
        return "terminal";
    }
    if (found->state != core::TaskState::kActive) {
        return "not_active";
    }
    return found->epoch != epoch ? "stale_epoch" : nullptr;
}

// A task with its lease, held, or why it has none. Epochs only grow: what is gone stays gone, and
// needs no lock. One who renews many must not hold a task without a lease while it waits for the
// next: only flows decide in which order those are taken.
struct HeldLease {
    std::optional<store::Task> task;
    const char* lost;
};

HeldLease hold_lease(const store::Hub& hub, const pg_uuid_t& id, int64 epoch, pg::Clock* clock) {
    if (const auto task = store::try_lock_lease(hub, id, epoch)) {
        return {task, nullptr};
    }
    if (const char* lost = why_lost(store::read_lease_state(hub, id), epoch)) {
        return {std::nullopt, lost};
    }
    clock->mark_waited();
    if (const auto task = store::lock_lease(hub, id, epoch)) {
        return {task, nullptr};
    }
    const char* lost = why_lost(store::read_lease_state(hub, id), epoch);
    return {std::nullopt, lost != nullptr ? lost : "stale_epoch"};
}

}  // namespace

Renewed renew_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence, int64 lease_ms,
                   pg::Clock* clock) {
    const auto task = hold_task(hub, id, clock);
    const int64 now = clock->now();
    check_fence(hub, task, fence, now);
    return renew(hub, task, lease_ms, now);
}

std::span<const RenewedTask> renew_tasks(const store::Hub& hub, std::span<const pg_uuid_t> ids,
                                         std::span<const int64> epochs, int64 lease_ms,
                                         pg::Clock* clock) {
    enter(hub, {.tasks = true}, clock);
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
        held[order[i]] = hold_lease(hub, ids[order[i]], epochs[order[i]], clock);
        CHECK_FOR_INTERRUPTS();
    }
    auto* results = static_cast<RenewedTask*>(palloc(sizeof(RenewedTask) * (count + 1)));
    const int64 now = clock->now();
    for (std::size_t i = 0; i < count; ++i) {
        const auto& task = held[i].task;
        const bool live = task && task->is_lease_live(hub, now);
        results[i] = {ids[i], live, 0, task && !live ? "lease_expired" : held[i].lost};
        if (live) {
            results[i].lease_until = renew(hub, *task, lease_ms, now).lease_until;
        } else {
            pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kLostLeases);
        }
    }
    return {results, count};
}

int64 progress_task(const store::Hub& hub, const pg_uuid_t& id, const Fence& fence,
                    const ProgressReport& report, pg::Clock* clock) {
    const auto task = hold_task(hub, id, clock);
    const int64 now = clock->now();
    check_fence(hub, task, fence, now);
    const int64 lease_until =
        report.lease_ms ? extension(task, *report.lease_ms, now).lease_until : *task.lease_until;
    store::set_progress(hub, id,
                        {.percent = report.percent,
                         .message = report.message,
                         .checkpoint = report.checkpoint,
                         .lease_until = lease_until},
                        now);
    if (report.lease_ms) {
        tell(hub, task, now);
    }
    return lease_until;
}

}  // namespace belay::ops
