// schedules.cpp — make and remove schedules, and create the tasks that are due.
//
// Calls    store::insert_schedule, store::replace_schedule, store::hold_due_schedules, create_tasks
// Touches  <hub>.schedules, <hub>.outbox_events; the duty <hub>.tasks, <hub>.dedup_keys,
// <hub>.queues,
//          <hub>.capability_sets
// Locks    the schedule; the duty skips those that others hold
// Raises   QB002 no such schedule, QB006, QB007
#include "core/cron.hpp"
#include "ops/audit.hpp"
#include "ops/duties/duties.hpp"
#include "ops/schedule/schedule.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "pg/subtransaction.hpp"
#include "pg/time_zone.hpp"
#include "shmem/signals.hpp"
#include "store/schedules.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr int kPortion = 100;
constexpr int kMostMissed = 1000;
// A due time that is older was missed.
constexpr int64 kOnTimeMs = 60'000;
constexpr int64 kAgainMs = 60'000;
// The name is part of a dedup key.
constexpr std::size_t kMaxName = 150;
constexpr std::size_t kMaxCron = 1000;

// What a task of a schedule cannot say: each has its own id and key, and its time is the
// schedule's.
constexpr const char* kForbidden[] = {"task_id", "dedup_key", "dedup_window_ms", "available_at_ms",
                                      "deadline_ms"};

core::Cron checked_cron(std::string_view text) {
    core::Cron cron{};
    if (text.size() > kMaxCron) {
        pg::raise_invalid("too_long", "p_cron", "p_cron is longer than 1000 bytes",
                          "Use ranges and steps.");
    }
    if (const auto fault = core::parse_cron(text, &cron)) {
        pg::raise(
            pg::kInvalidArgument,
            psprintf("p_cron is not a schedule: see its field %s", fault->field),
            pg::Facts(fault->code_detail)
                .add("path", "p_cron")
                .add("field", fault->field)
                .add("value", pg::excerpt(text)),
            "Pass five fields, minute hour day month weekday, for example */15 8-17 * * mon-fri, "
            "or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually.");
    }
    return cron;
}

pg::TimeZone checked_zone(std::string_view name) {
    const auto zone = pg::find_time_zone(name);
    if (!zone) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized time zone \"%s\"", pg::excerpt(name)),
                  pg::Facts("unknown_time_zone").add("path", "p_time_zone").add("value", name),
                  "SELECT name FROM pg_timezone_names lists them.");
    }
    return *zone;
}

std::string_view checked_task(store::Tables& tables, Jsonb* task) {
    const auto item = checked_object("p_task", task);
    for (const char* member : kForbidden) {
        if (json::find(item, member)) {
            pg::raise(pg::kInvalidArgument, psprintf("p_task must not have a %s", member),
                      pg::Facts("not_allowed")
                          .add("path", psprintf("p_task.%s", member))
                          .add("key", member),
                      "Leave it out: the schedule decides on time and dedup key of its tasks.");
        }
    }
    (void)read_request(tables, item, "p_task");
    return item.text;
}

int64 next_due(const core::Cron& cron, const pg::TimeZone& zone, int64 now) {
    const auto next = core::next_time(cron, now, zone);
    if (!next) {
        pg::raise_invalid("never_due", "p_cron", "p_cron names a day that never comes",
                          "Check day and month.");
    }
    return *next;
}

[[noreturn]] void refuse_unknown(std::string_view name) {
    pg::raise(pg::kNotFound, psprintf("schedule \"%s\" does not exist", pg::excerpt(name)),
              pg::Facts("unknown_schedule").add("entity", "schedule").add("id", name),
              "list_schedules shows the schedules.");
}

// The due times that ask for a task now.
std::span<const int64> due_times(const store::Schedule& schedule, const core::Cron& cron,
                                 const pg::TimeZone& zone, int64 now) {
    pg::List<int64> times;
    const int most = schedule.catch_up == "all" ? kMostMissed : 1;
    core::last_times(cron, schedule.next_due, now, most, zone,
                     [&times](int64 at) { times.add(at); });
    if (schedule.catch_up == "none" && times.count > 0 && times.items[0] <= now - kOnTimeMs) {
        return {};
    }
    return times.span();
}

void run_schedule(store::Tables& tables, const store::Schedule& schedule, pg::Clock* clock) {
    const int64 now = clock->now();
    const auto cron = checked_cron(schedule.cron);
    const auto zone = checked_zone(schedule.time_zone);
    const auto times = due_times(schedule, cron, zone, now);
    const auto item = read_request(tables, *json::parse(schedule.task), "p_task");
    pg::List<TaskRequest> requests;
    for (const int64 at : times) {
        TaskRequest request = item;
        request.dedup_key = psprintf("schedule:%s:" INT64_FORMAT, pg::c_string(schedule.name), at);
        requests.add(request);
    }
    if (requests.count > 0) {
        (void)create_tasks(tables, requests.span(), clock);
    }
    store::record_run(tables, schedule.name,
                      times.empty() ? std::nullopt : std::optional(times[times.size() - 1]),
                      next_due(cron, zone, now));
}

// Whether belay itself has refused the task. Any other error is of the moment, and not for us to
// drop.
bool is_its_own_fault(const ErrorData* error) {
    return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TO_CATEGORY(pg::kInvalidArgument);
}

}  // namespace

int64 create_schedule(store::Tables& tables, const ScheduleRequest& request, pg::Clock* clock) {
    (void)checked_word("p_name", request.name, kMaxName);
    const auto cron = checked_cron(request.cron);
    const auto zone = checked_zone(request.time_zone);
    if (request.catch_up != "one" && request.catch_up != "all" && request.catch_up != "none") {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized p_catch_up \"%s\"", pg::excerpt(request.catch_up)),
                  pg::Facts("bad_value").add("path", "p_catch_up").add("value", request.catch_up),
                  "Pass one, all or none: how many of the tasks that were missed in a downtime are "
                  "created.");
    }
    const auto task = checked_task(tables, request.task);
    const int64 now = clock->now();
    const int64 due = next_due(cron, zone, now);
    const store::Schedule wanted{.name = request.name,
                                 .cron = request.cron,
                                 .time_zone = request.time_zone,
                                 .catch_up = request.catch_up,
                                 .task = task,
                                 .next_due = due};
    while (!store::insert_schedule(tables, wanted, now)) {
        if (!request.replace) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("schedule \"%s\" already exists", pg::excerpt(request.name)),
                      pg::Facts("name_taken").add("path", "p_name").add("value", request.name),
                      "Drop it first, choose another name, or pass p_if_exists => 'replace'.");
        }
        // One that is dropped meanwhile is inserted after all.
        if (const auto held = store::lock_schedule(tables, request.name)) {
            if (!store::replace_schedule(tables, wanted)) {
                return held->schedule.next_due;  // it is defined like this already
            }
            break;
        }
        CHECK_FOR_INTERRUPTS();
    }
    signals::wake_worker_at_commit(signals::Bell::kSchedules);
    constexpr int kCreated = core::event_place("operator", "schedule_created");
    emit_operator_event(tables,
                        {.event = kCreated,
                         .subject = request.name,
                         .details = store::Details()
                                        .add("cron", request.cron)
                                        .add("time_zone", request.time_zone)
                                        .add("catch_up", request.catch_up)
                                        .add_json("task", task)},
                        now);
    return due;
}

void drop_schedule(store::Tables& tables, std::string_view name) {
    if (!store::delete_schedule(tables, name)) {
        refuse_unknown(name);
    }
    constexpr int kDropped = core::event_place("operator", "schedule_dropped");
    emit_operator_event(tables, {.event = kDropped, .subject = name});
}

void pause_schedule(store::Tables& tables, std::string_view name) {
    const auto held = store::lock_schedule(tables, name);
    if (!held) {
        refuse_unknown(name);
    }
    if (held->paused) {
        return;
    }
    store::pause_schedule(tables, name);
    constexpr int kPaused = core::event_place("operator", "schedule_paused");
    emit_operator_event(tables, {.event = kPaused, .subject = name});
}

int64 resume_schedule(store::Tables& tables, std::string_view name, pg::Clock* clock) {
    const auto held = store::lock_schedule(tables, name);
    if (!held) {
        refuse_unknown(name);
    }
    if (!held->paused) {
        return held->schedule.next_due;
    }
    const int64 due = next_due(checked_cron(held->schedule.cron),
                               checked_zone(held->schedule.time_zone), clock->now());
    store::resume_schedule(tables, name, due);
    constexpr int kResumed = core::event_place("operator", "schedule_resumed");
    emit_operator_event(tables, {.event = kResumed, .subject = name}, clock->now());
    signals::wake_worker_at_commit(signals::Bell::kSchedules);
    return due;
}

std::span<const int64> next_times(std::string_view cron, std::string_view time_zone, int32 count,
                                  int64 after) {
    constexpr int32 kMost = 100;
    if (count < 1 || count > kMost) {
        pg::raise(pg::kInvalidArgument, "p_limit must be from 1 to 100",
                  pg::Facts("out_of_range").add("path", "p_limit").add("value", count),
                  "Call again with the last time for more.");
    }
    const auto parsed = checked_cron(cron);
    const auto zone = checked_zone(time_zone);
    pg::List<int64> times;
    for (int64 at = after; times.count < count;) {
        at = next_due(parsed, zone, at);
        times.add(at);
        CHECK_FOR_INTERRUPTS();
    }
    return times.span();
}

store::Listing list_schedules(store::Tables& tables) {
    return store::list_schedules(tables);
}

int64 run_schedules(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    const auto due = store::hold_due_schedules(tables, clock->now(), kPortion);
    for (const auto& schedule : due) {
        // One that cannot run must not keep the others from it.
        const auto end = pg::try_in_subtransaction([&tables, &schedule, clock] {
            store::with_tables(tables.hub, [&schedule, clock](store::Tables& own) {
                run_schedule(own, schedule, clock);
            });
            return true;
        });
        if (end.error != nullptr) {
            if (!is_its_own_fault(end.error)) {
                ReThrowError(end.error);
            }
            ereport(WARNING, (errmsg("schedule \"%s\" of hub \"%s\" could not create its task: %s",
                                     pg::c_string(schedule.name), NameStr(tables.hub.name),
                                     end.error->message)));
            store::record_failure(tables, schedule.name, end.error->message,
                                  core::add_ms(clock->now(), kAgainMs));
        }
        CHECK_FOR_INTERRUPTS();
    }
    return static_cast<int64>(due.size());
}

int64 next_schedule(store::Tables& tables) {
    return store::may_have_rows(tables, store::Sparse::kSchedules) ? store::next_schedule(tables)
                                                                   : core::kNever;
}

}  // namespace belay::ops
