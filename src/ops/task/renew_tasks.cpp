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

// Why a lease cannot be renewed; null if it can.
const char* why_lost(const store::Hub& hub, const std::optional<store::Task>& task, int64 epoch,
                     int64 now) {
    if (!task) {
        return "not_found";
    }
    if (core::is_terminal(task->state)) {
        return "terminal";
    }
    if (!task->is_active()) {
        return "not_active";
    }
    if (task->lease_epoch != epoch) {
        return "stale_epoch";
    }
    return task->is_lease_live(hub, now) ? nullptr : "lease_expired";
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
    auto* held = static_cast<std::optional<store::Task>*>(
        palloc(sizeof(std::optional<store::Task>) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        order[i] = i;
    }
    std::sort(order, order + count, [ids](std::size_t a, std::size_t b) {
        const int result = memcmp(ids[a].data, ids[b].data, UUID_LEN);
        return result != 0 ? result < 0 : a < b;
    });
    for (std::size_t i = 0; i < count; ++i) {
        const pg_uuid_t& id = ids[order[i]];
        auto task = store::try_lock_task(hub, id);
        if (!task && store::task_state(hub, id)) {
            clock->mark_waited();
            task = store::lock_task(hub, id);
        }
        held[order[i]] = task;
        CHECK_FOR_INTERRUPTS();
    }
    auto* results = static_cast<RenewedTask*>(palloc(sizeof(RenewedTask) * (count + 1)));
    const int64 now = clock->now();
    for (std::size_t i = 0; i < count; ++i) {
        results[i] = {ids[i], false, 0, why_lost(hub, held[i], epochs[i], now)};
        if (results[i].reason == nullptr) {
            results[i].renewed = true;
            results[i].lease_until = renew(hub, *held[i], lease_ms, now).lease_until;
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
