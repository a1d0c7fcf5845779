// Schedules.
#include "belay/schedules.hpp"

#include "rows.hpp"
#include "task_json.hpp"

namespace belay {

Time Schedules::create(const NewSchedule& schedule, Where where) {
    return from_ms(number_of(
        hub().call(Effect::kWrite, kAll, "create_schedule",
                   {schedule.name, schedule.cron, task_json(schedule.task), schedule.time_zone,
                    text_of(schedule.catch_up), OptionalText(), hub().now()},
                   where)));
}

void Schedules::drop(std::string_view name, Where where) {
    hub().call(Effect::kWrite, kAll, "drop_schedule", {name}, where);
}

void Schedules::pause(std::string_view name, Where where) {
    hub().call(Effect::kRepeatable, kAll, "pause_schedule", {name}, where);
}

Time Schedules::resume(std::string_view name, Where where) {
    return from_ms(number_of(
        hub().call(Effect::kRepeatable, kAll, "resume_schedule", {name, hub().now()}, where)));
}

std::vector<ScheduleInfo> Schedules::list(Where where) {
    return all_rows<ScheduleInfo>(
        hub().call(Effect::kRepeatable, kAll, "list_schedules", {}, where),
        [](Reader& from, ScheduleInfo& to) {
            from >> to.name >> to.cron >> to.time_zone >> to.catch_up >> to.task >> to.paused >>
                to.next_due >> to.last_due >> to.last_error >> to.created_at;
        });
}

}  // namespace belay
