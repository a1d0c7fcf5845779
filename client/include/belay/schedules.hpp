// Schedules: tasks that are created by the clock.
//
//     hub.schedules().create({.name = "nightly", .cron = "30 2 * * *",
//                             .task = {.queue = "reports"}, .time_zone = "Europe/Berlin"});
//
// Thread-safety: none; as the hub's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/tasks.hpp"

namespace belay {

// What is made up for after a downtime.
enum class CatchUp { kOne, kAll, kNone, kOther };
template <>
struct Words<CatchUp> {
    static constexpr std::string_view kTexts[] = {"one", "all", "none"};
};

struct NewSchedule {
    std::string name;
    std::string cron;  // minute, hour, day, month, weekday
    NewTask task;      // without id, key, deadline and available_at
    std::string time_zone = "UTC";
    CatchUp catch_up = CatchUp::kOne;
};

struct ScheduleInfo {
    std::string name;
    std::string cron;
    std::string time_zone;
    Word<CatchUp> catch_up;
    Json task;
    bool paused = false;
    OptionalTime next_due;
    OptionalTime last_due;
    OptionalText last_error;
    OptionalTime created_at;
};

// hub.schedules()
class Schedules : public HubPart {
 public:
    using HubPart::HubPart;

    // Creating and resuming return the next due time.
    Time create(const NewSchedule& schedule, Where where = Where::current());
    void drop(std::string_view name, Where where = Where::current());
    void pause(std::string_view name, Where where = Where::current());
    Time resume(std::string_view name, Where where = Where::current());
    std::vector<ScheduleInfo> list(Where where = Where::current());
};

}  // namespace belay
