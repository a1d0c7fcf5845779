// Schedules: tasks that are created when a clock shows certain times.
#pragma once

#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"

namespace belay::ops {

struct ScheduleRequest {
    std::string_view name;
    std::string_view cron;
    Jsonb* task;
    std::string_view time_zone;
    std::string_view catch_up;
};
// Return the next due time. QB006 for what is no schedule, and for a name that is taken.
int64 create_schedule(const store::Hub& hub, const ScheduleRequest& request, pg::Clock* clock);
// QB002 if there is none.
void drop_schedule(const store::Hub& hub, std::string_view name);
void pause_schedule(const store::Hub& hub, std::string_view name);
int64 resume_schedule(const store::Hub& hub, std::string_view name, pg::Clock* clock);

store::Rows list_schedules(const store::Hub& hub);

}  // namespace belay::ops
