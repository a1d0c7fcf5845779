// task_duties.cpp — what tasks need done from time to time.
//
// Calls    settle, promote_tasks, store::delete_task
// Touches  <hub>.tasks, <hub>.attempts, <hub>.dedup_keys, <hub>.outbox_events, <hub>.suspensions,
//          <hub>.waitpoints, <hub>.signals, <hub>.waitpoint_keys, and the tables of flows
// Locks    tasks and their flows, always skipping what others hold
// Raises   nothing of its own
#include "ops/duties/duties.hpp"
#include "ops/enter.hpp"
#include "ops/flow/flow.hpp"
#include "ops/task/task.hpp"
#include "store/flows.hpp"
#include "store/suspensions.hpp"

namespace belay::ops {

namespace {

constexpr int kPortion = 500;

// Up to which floor this process has seen that no lease of an earlier incarnation is left. None can
// come back: whoever claims takes an epoch from the floor on.
struct Swept {
    Oid schema;
    int64 floor;
};
constinit HTAB* swept = nullptr;

Swept* swept_of(const store::Hub& hub) {
    if (swept == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(Oid);
        control.entrysize = sizeof(Swept);
        control.hcxt = TopMemoryContext;
        swept =
            hash_create("belay swept leases", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    bool found = false;
    auto* entry = static_cast<Swept*>(hash_search(swept, &hub.schema, HASH_ENTER, &found));
    if (!found) {
        entry->floor = 0;
    }
    return entry;
}

// Holds the task, its flow first; nothing if others have one of them, or if it is another flow now.
std::optional<store::Task> try_hold(const store::Hub& hub, const store::DueTask& due) {
    if (due.flow_id && !store::try_lock_flow(hub, *due.flow_id)) {
        return std::nullopt;
    }
    const auto task = store::try_lock_task(hub, due.id);
    return task && task->flow_id.has_value() == due.flow_id.has_value() ? task : std::nullopt;
}

int64 settle_all(const store::Hub& hub, std::span<const store::DueTask> all, pg::Clock* clock) {
    int64 changed = 0;
    for (const store::DueTask& due : all) {
        const auto task = try_hold(hub, due);
        if (!task) {
            continue;
        }
        if (settle(hub, *task, clock->now())) {
            ++changed;
        } else if (task->is_active() && *task->lease_check < *task->lease_until) {
            store::move_lease_check(hub, due.id);  // renewed: look again when it ends
            ++changed;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return changed;
}

// Settles a portion of what has fallen due. If others hold all of it, the next portion has its
// turn: find(offset) reads one.
template <typename Find>
int64 settle_portion(const store::Hub& hub, pg::Clock* clock, Find find) {
    for (int offset = 0;; offset += kPortion) {
        const std::span<const store::DueTask> due = find(offset);
        const int64 changed = settle_all(hub, due, clock);
        if (changed > 0 || due.size() < kPortion) {
            return changed;
        }
    }
}

}  // namespace

int64 expire_task_leases(const store::Hub& hub, pg::Clock* clock) {
    if (!try_enter(hub, {.tasks = true})) {
        return 0;
    }
    int64 changed = settle_portion(hub, clock, [&hub, clock](int offset) {
        return store::expired_leases(hub, clock->now(), kPortion, offset);
    });
    Swept* known = swept_of(hub);
    if (hub.epoch_floor > known->floor) {
        const int64 floor = hub.epoch_floor;
        changed += settle_portion(
            hub, clock, [&hub](int offset) { return store::void_leases(hub, kPortion, offset); });
        if (changed == 0 && !store::has_void_leases(hub)) {
            known->floor = floor;
        }
    }
    return changed;
}

int64 expire_tasks(const store::Hub& hub, pg::Clock* clock) {
    if (!try_enter(hub, {.tasks = true})) {
        return 0;
    }
    int64 changed = settle_portion(hub, clock, [&hub, clock](int offset) {
        return store::past_deadline(hub, clock->now(), kPortion, offset);
    });
    if (store::has_suspensions(hub)) {
        changed += settle_portion(hub, clock, [&hub, clock](int offset) {
            return store::timed_out(hub, clock->now(), kPortion, offset);
        });
    }
    return changed;
}

int64 promote_due_tasks(const store::Hub& hub, pg::Clock* clock) {
    if (!try_enter(hub, {.tasks = true})) {
        return 0;
    }
    // Claims cannot have what it holds until it commits.
    constexpr int kAtOnce = 100;
    return promote_tasks(hub, clock->now(), kAtOnce);
}

int64 retire_tasks(const store::Hub& hub, pg::Clock* clock) {
    if (!try_enter(hub, {.tasks = true})) {
        return 0;
    }
    if (const int64 flows = OidIsValid(hub.relations.flows) ? retire_flows(hub, clock) : 0) {
        return flows;
    }
    const auto ids = store::hold_outdated(hub, clock->now(),
                                          hub.options[store::Option::kTaskRetention], kPortion);
    int64 deleted =
        store::has_suspensions(hub) ? store::forget_waitpoint_keys(hub, clock->now()) : 0;
    for (const pg_uuid_t& id : ids) {
        if (const auto task = store::try_lock_task(hub, id)) {
            store::delete_task(hub, *task);
            ++deleted;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return deleted;
}

}  // namespace belay::ops
