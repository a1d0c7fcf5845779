// orphan_messages.cpp — set messages aside whose instance never started.
//
// Calls    store::orphaned_instances, store::dead_letter_orphans
// Touches  <hub>.orchestrator_queue, <hub>.dead_letters
// Locks    the instance's exclusion, then its messages, always without waiting
// Raises   nothing
#include "core/hash.hpp"
#include "ops/duties/duties.hpp"
#include "ops/enter.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "pg/subtransaction.hpp"
#include "store/history.hpp"
#include "store/instance_locks.hpp"
#include "store/instances.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::ops {

namespace {

constexpr int kPortion = 100;
constexpr int kLookAt = 1000;  // messages that were not set aside

// Whether the instance has neither a row nor history nor a start. Its exclusion is held.
bool never_started(store::Tables& tables, std::string_view instance_id) {
    return pg::with_one_view([&tables, instance_id] {
        return !store::read_instance(tables, instance_id) &&
               !store::latest_execution_with_history(tables, instance_id) &&
               !store::has_start(tables, instance_id);
    });
}

int64 dead_letter_orphans_of(store::Tables& tables, std::string_view instance_id,
                             int64 created_before, int64 now) {
    int64 moved = 0;
    (void)pg::keep_if([&tables, instance_id, created_before, now, &moved] {
        if (!pg::try_lock_instance(tables.hub.schema, core::instance_key(instance_id)) ||
            (store::has_lock_row(tables, instance_id) &&
             !store::try_hold_instance(tables, instance_id, std::nullopt, now)) ||
            !never_started(tables, instance_id)) {
            return false;
        }
        moved = store::dead_letter_orphans(tables, instance_id, created_before, now);
        return moved > 0;
    });
    return moved;
}

}  // namespace

int64 dead_letter_orphan_messages(store::Tables& tables, pg::Clock* clock) {
    const int64 retention = tables.hub.options[store::Option::kOrphanRetention];
    if (retention == store::kOff ||
        !try_enter(tables, {.orchestrator_queue = true, .instance_locks = true})) {
        return 0;
    }
    const int64 now = clock->now();
    int64 moved = 0;
    for (const auto instance_id : store::orphaned_instances(tables, now - retention, kPortion)) {
        moved += dead_letter_orphans_of(tables, instance_id, now - retention, now);
        CHECK_FOR_INTERRUPTS();
    }
    // If no session fetches from these slots, none has set the messages aside.
    for (const auto instance_id :
         store::unmet_orphans(tables, slots_of(tables, {true, {}}), now - retention, kLookAt)) {
        moved += dead_letter_orphans_of(tables, instance_id, now - retention, now);
        CHECK_FOR_INTERRUPTS();
    }
    return moved;
}

}  // namespace belay::ops
