// terminate.cpp — ask a running orchestration to end.
//
// Calls    store::instance_info, store::has_start, cancel_instance
// Touches  <hub>.orchestrator_queue, <hub>.outbox_events
// Locks    nothing: inserts never wait
// Raises   QB002 no such instance, QB007
//
// An instance that ends while this runs gets a message that its next turn would drop.
#include "ops/audit.hpp"
#include "ops/front_door/front_door.hpp"
#include "ops/management/management.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/errors.hpp"
#include "store/listing.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::ops {

bool terminate(store::Tables& tables, std::string_view id, std::string_view reason,
               pg::Clock* clock) {
    constexpr int kStatus = 6;
    const auto rows = store::instance_info(tables, id);
    if (rows.count == 0 && !store::has_start(tables, id)) {
        raise_unknown_instance(
            psprintf("orchestration instance \"%s\" does not exist", pg::excerpt(id)), id);
    }
    if (rows.count > 0 && !is_running(std::get<kStatus>(rows[0]))) {
        return false;
    }
    cancel_instance(tables, id, reason, clock);
    constexpr int kTerminated = core::event_place("operator", "instance_terminated");
    emit_operator_event(tables, {.event = kTerminated, .subject = id, .reason = reason},
                        clock->now());
    return true;
}

}  // namespace belay::ops
