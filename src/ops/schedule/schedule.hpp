// Schedules: tasks that are created when a clock shows certain times.
#pragma once

#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/plan.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

struct ScheduleRequest {
    std::string_view name;
    std::string_view cron;
    Jsonb* task;
    std::string_view time_zone;
    std::string_view catch_up;
    bool replace;  // a schedule of that name; else it is QB006
};
// Return the next due time. QB006 for what is no schedule. A schedule that is replaced keeps its
// last due time and its pause; if its definition is the same, nothing changes.
int64 create_schedule(store::Tables& tables, const ScheduleRequest& request, pg::Clock* clock);
// QB002 if there is none.
void drop_schedule(store::Tables& tables, std::string_view name);
void pause_schedule(store::Tables& tables, std::string_view name);
int64 resume_schedule(store::Tables& tables, std::string_view name, pg::Clock* clock);

// The next times of a schedule, in ms. QB006 for what is no schedule.
std::span<const int64> next_times(std::string_view cron, std::string_view time_zone, int32 count,
                                  int64 after);

store::Listing list_schedules(store::Tables& tables);

}  // namespace belay::ops
