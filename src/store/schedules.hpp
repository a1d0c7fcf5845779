// Table schedules.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

struct Schedule {
    std::string_view name;
    std::string_view cron;
    std::string_view time_zone;
    std::string_view catch_up;
    std::string_view task;  // JSON
    int64 next_due;
};

// False if the name is taken; waits for a call that is taking it.
bool insert_schedule(const Hub& hub, const Schedule& schedule, int64 now);
// Gives a schedule that is held another definition; false if it is defined like that already.
bool replace_schedule(const Hub& hub, const Schedule& schedule);
// False if there is none.
bool delete_schedule(const Hub& hub, std::string_view name);

// Holds a schedule, after waiting.
struct HeldSchedule {
    Schedule schedule;
    bool paused;
};
std::optional<HeldSchedule> lock_schedule(const Hub& hub, std::string_view name);
void pause_schedule(const Hub& hub, std::string_view name);
void resume_schedule(const Hub& hub, std::string_view name, int64 next_due);

// Up to limit schedules that are due, held; others' are skipped.
std::span<const Schedule> hold_due_schedules(const Hub& hub, int64 now, int limit);
// It has run: last_due is the last time for which a task was created, if any.
void record_run(const Hub& hub, std::string_view name, std::optional<int64> last_due,
                int64 next_due);
// It could not run, and is tried again at that time.
void record_failure(const Hub& hub, std::string_view name, std::string_view error, int64 again_at);

// When the next one runs; core::kNever if none does.
int64 next_schedule(const Hub& hub);

// With the columns of list_schedules.
Listing list_schedules(const Hub& hub);

}  // namespace belay::store
