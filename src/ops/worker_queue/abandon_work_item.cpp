// abandon_work_item.cpp — give a leased activity back.
//
// Calls    store::release_work
// Touches  <hub>.worker_queue
// Locks    the worker row
// Raises   QB001 unknown token; an expired lease that nobody took is accepted
#include "core/time.hpp"
#include "ops/guard/guard.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/counters.hpp"

namespace belay::ops {

namespace {

// How much of a reason is kept with the item.
constexpr std::size_t kMaxReason = 8192;

}  // namespace

void abandon_work_item(const store::Hub& hub, std::optional<std::string_view> token,
                       std::optional<int64> delay_ms, bool ignore_attempt,
                       std::optional<std::string_view> reason, pg::Clock* clock) {
    enter(hub, {.worker_queue = true}, clock);
    const HeldWork held = hold_work(hub, token, clock);
    if (!held.row) {
        raise_lock_lost("Invalid lock token or already acked", token.value_or(""), held.fault,
                        held.locked_until);
    }
    const int32 attempt =
        ignore_attempt ? core::previous_attempt(held.row->attempt) : held.row->attempt;
    const auto visible_at =
        delay_ms ? std::optional(core::add_ms(clock->now(), *delay_ms)) : std::nullopt;
    store::release_work(hub, held.row->key, attempt, visible_at,
                        reason ? std::optional(clip(*reason, kMaxReason)) : std::nullopt);
    if (held.fault == core::LeaseFault::kNone) {
        note_finished(held.row->lease);
    }
    pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kAbandoned);
}

}  // namespace belay::ops
