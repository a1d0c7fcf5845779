// Entry functions of schedules: decode, call the operation, encode.
#include "ops/schedule/schedule.hpp"

#include "entry/verbs.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

// What becomes of a schedule that exists.
bool is_replaced(std::string_view word) {
    if (word != "replace" && word != "error") {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized p_if_exists \"%s\"", pg::excerpt(word)),
                  pg::Facts("bad_value").add("path", "p_if_exists").add("value", word),
                  "Pass replace or error.");
    }
    return word == "replace";
}

}  // namespace

Datum create_schedule(const Call& call) {
    const ops::ScheduleRequest request{.name = call.required_text(0, "p_name"),
                                       .cron = call.required_text(1, "p_cron"),
                                       .task = call.jsonb(2),
                                       .time_zone = call.text(3).value_or("UTC"),
                                       .catch_up = call.text(4).value_or("one"),
                                       .replace = is_replaced(call.text(5).value_or("replace"))};
    auto clock = call.clock(6);
    return Int64GetDatum(ops::create_schedule(call.tables, request, &clock));
}

Datum drop_schedule(const Call& call) {
    ops::drop_schedule(call.tables, call.required_text(0, "p_name"));
    return call.nothing();
}

Datum pause_schedule(const Call& call) {
    ops::pause_schedule(call.tables, call.required_text(0, "p_name"));
    return call.nothing();
}

Datum resume_schedule(const Call& call) {
    auto clock = call.clock(1);
    return Int64GetDatum(
        ops::resume_schedule(call.tables, call.required_text(0, "p_name"), &clock));
}

Datum next_times(const Call& call) {
    const auto clock = call.unchecked_clock(3);
    const auto set = call.set();
    for (const int64 at :
         ops::next_times(call.required_text(0, "p_cron"), call.text(1).value_or("UTC"),
                         call.int4(2).value_or(5), clock.now())) {
        const Datum value = Int64GetDatum(at);
        const bool null = false;
        set.add(&value, &null);
    }
    return call.nothing();
}

Datum list_schedules(const Call& call) {
    call.set().add_rows(ops::list_schedules(call.tables));
    return call.nothing();
}

}  // namespace belay::entry
