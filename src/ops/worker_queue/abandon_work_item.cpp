// abandon_work_item.cpp — give a leased activity back.
//
// Calls    hold_work, release_held
// Touches  <hub>.worker_queue
// Locks    the worker row
// Raises   QB001 unknown token; an expired lease is accepted until the item is leased again
#include "ops/lost_lease.hpp"
#include "ops/worker_queue/worker_queue.hpp"

namespace belay::ops {

void abandon_work_item(store::Tables& tables, std::optional<std::string_view> token,
                       std::optional<int64> delay_ms, bool ignore_attempt,
                       std::optional<std::string_view> reason, pg::Clock* clock) {
    enter(tables, {.worker_queue = true}, clock);
    const HeldWork held = hold_work(tables, token, clock);
    if (!held.row) {
        raise_lock_lost(tables, store::Queue::kWorker, "Invalid lock token or already acked",
                        token.value_or(""), held.fault, held.locked_until);
    }
    release_held(tables, held, delay_ms, ignore_attempt, reason, clock);
}

}  // namespace belay::ops
