// cancel_instances.cpp — ask many running orchestrations to end: one portion of a list.
//
// Calls    choose_instances, store::instance_info, cancel_instance
// Touches  <hub>.orchestrator_queue, <hub>.outbox_events
// Locks    nothing: inserts never wait
// Raises   QB006, QB007
// Races    none: an instance that ends while this runs gets a message that its next turn drops
#include "ops/audit.hpp"
#include "ops/browse/browse.hpp"
#include "ops/front_door/front_door.hpp"
#include "ops/management/management.hpp"
#include "ops/orchestration/orchestration.hpp"

namespace belay::ops {

Jsonb* cancel_instances(store::Tables& tables, const BulkArguments& arguments,
                        std::string_view reason, pg::Clock* clock) {
    constexpr int kStatus = 6;
    const auto chosen = choose_instances(tables, "cancel_instances", arguments);
    Tally tally;
    for (const auto id : chosen.ids) {
        const auto rows = store::instance_info(tables, id);
        if (rows.count > 0 && is_running(std::get<kStatus>(rows[0]))) {
            cancel_instance(tables, id, reason, clock);
            ++tally.done;
        } else {
            ++tally.skipped;
        }
        CHECK_FOR_INTERRUPTS();
    }
    if (tally.done > 0) {
        constexpr int kCancelled = core::event_place("operator", "instances_cancelled");
        emit_operator_event(
            tables,
            {.event = kCancelled,
             .subject = std::nullopt,
             .details = store::Details()
                            .add("count", tally.done)
                            .add_json("filter", checked_object("p_filter", arguments.filter).text),
             .reason = reason},
            clock->now());
    }
    return tally.answer(chosen.next);
}

}  // namespace belay::ops
