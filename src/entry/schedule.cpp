// Entry functions of schedules: decode, call the operation, encode.
#include "ops/schedule/schedule.hpp"

#include "entry/verbs.hpp"

namespace belay::entry {

Datum create_schedule(const Call& call) {
    const ops::ScheduleRequest request{.name = call.required_text(0, "p_name"),
                                       .cron = call.required_text(1, "p_cron"),
                                       .task = call.jsonb(2),
                                       .time_zone = call.text(3).value_or("UTC"),
                                       .catch_up = call.text(4).value_or("one")};
    auto clock = call.clock(5);
    return Int64GetDatum(ops::create_schedule(call.hub, request, &clock));
}

Datum drop_schedule(const Call& call) {
    ops::drop_schedule(call.hub, call.required_text(0, "p_name"));
    return call.nothing();
}

Datum pause_schedule(const Call& call) {
    ops::pause_schedule(call.hub, call.required_text(0, "p_name"));
    return call.nothing();
}

Datum resume_schedule(const Call& call) {
    auto clock = call.clock(1);
    return Int64GetDatum(ops::resume_schedule(call.hub, call.required_text(0, "p_name"), &clock));
}

Datum list_schedules(const Call& call) {
    call.set().add_rows(ops::list_schedules(call.hub));
    return call.nothing();
}

}  // namespace belay::entry
