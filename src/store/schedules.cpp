// Table schedules.
//
// May touch: schedules. Must not: create a task; ops/schedule does.
#include "store/schedules.hpp"

#include "core/time.hpp"

namespace belay::store {

namespace {

using ScheduleRows = Out<Text, Text, Text, Text, Text, int64, bool>;

// $1 name, $2 cron, $3 time zone, $4 catch up, $5 task, $6 next due, $7 now.
constexpr auto kInsert = statement<In<Text, Text, Text, Text, Text, int64, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.schedules
           (name, cron, time_zone, catch_up, task, next_due_ms, next_run_ms, paused, created_at_ms)
    VALUES ($1, $2, $3, $4, CAST($5 AS pg_catalog.jsonb), $6, $6, false, $7)
        ON CONFLICT (name) DO NOTHING
)sql");

// The same parameters up to $6. Last due time, pause and creation stay.
constexpr auto kReplace = statement<In<Text, Text, Text, Text, Text, int64>, Out<>>(R"sql(
    UPDATE {hub}.schedules AS s
       SET cron = $2, time_zone = $3, catch_up = $4, task = CAST($5 AS pg_catalog.jsonb),
           next_due_ms = $6, next_run_ms = $6, last_error = NULL
     WHERE s.name {=} $1
       AND (s.cron {<>} $2 OR s.time_zone {<>} $3 OR s.catch_up {<>} $4
            OR s.task {<>} CAST($5 AS pg_catalog.jsonb))
)sql");

constexpr auto kDelete = statement<In<Text>, Out<>>(R"sql(
    DELETE FROM {hub}.schedules AS s WHERE s.name {=} $1
)sql");

constexpr auto kLock = statement<In<Text>, ScheduleRows>(R"sql(
    SELECT s.name, s.cron, s.time_zone, s.catch_up, CAST(s.task AS pg_catalog.text), s.next_due_ms,
           s.paused
      FROM {hub}.schedules AS s
     WHERE s.name {=} $1
       FOR NO KEY UPDATE
)sql");

constexpr auto kPause = statement<In<Text>, Out<>>(R"sql(
    UPDATE {hub}.schedules AS s SET paused = true WHERE s.name {=} $1
)sql");

constexpr auto kResume = statement<In<Text, int64>, Out<>>(R"sql(
    UPDATE {hub}.schedules AS s
       SET paused = false, next_due_ms = $2, next_run_ms = $2, last_error = NULL
     WHERE s.name {=} $1
)sql");

constexpr auto kHoldDue = statement<In<int64, int64>, ScheduleRows>(R"sql(
    SELECT s.name, s.cron, s.time_zone, s.catch_up, CAST(s.task AS pg_catalog.text), s.next_due_ms,
           s.paused
      FROM {hub}.schedules AS s
     WHERE NOT s.paused AND s.next_run_ms {<=} $1
     ORDER BY s.next_run_ms
     LIMIT $2
       FOR NO KEY UPDATE SKIP LOCKED
)sql");

// $1 name, $2 last due, $3 next due.
constexpr auto kRecordRun = statement<In<Text, Maybe<int64>, int64>, Out<>>(R"sql(
    UPDATE {hub}.schedules AS s
       SET last_due_ms = COALESCE($2, s.last_due_ms), next_due_ms = $3, next_run_ms = $3,
           last_error = NULL
     WHERE s.name {=} $1
)sql");

constexpr auto kRecordFailure = statement<In<Text, Text, int64>, Out<>>(R"sql(
    UPDATE {hub}.schedules AS s SET last_error = $2, next_run_ms = $3 WHERE s.name {=} $1
)sql");

constexpr auto kNext = statement<In<>, Out<int64>>(R"sql(
    SELECT s.next_run_ms
      FROM {hub}.schedules AS s
     WHERE NOT s.paused
     ORDER BY s.next_run_ms
     LIMIT 1
)sql");

constexpr auto kList = query<In<>, Listing>(R"sql(
    SELECT s.name, s.cron, s.time_zone, s.catch_up, s.task, s.paused, s.next_due_ms, s.last_due_ms,
           s.last_error, s.created_at_ms
      FROM {hub}.schedules AS s
     ORDER BY s.name
)sql");

HeldSchedule schedule_of(std::string_view name, std::string_view cron, std::string_view time_zone,
                         std::string_view catch_up, std::string_view task, int64 next_due,
                         bool paused) {
    return {{.name = name,
             .cron = cron,
             .time_zone = time_zone,
             .catch_up = catch_up,
             .task = task,
             .next_due = next_due},
            paused};
}

}  // namespace

bool insert_schedule(const Hub& hub, const Schedule& schedule, int64 now) {
    return run(hub, kInsert, schedule.name, schedule.cron, schedule.time_zone, schedule.catch_up,
               schedule.task, schedule.next_due, now)
               .count == 1;
}

bool replace_schedule(const Hub& hub, const Schedule& schedule) {
    return run(hub, kReplace, schedule.name, schedule.cron, schedule.time_zone, schedule.catch_up,
               schedule.task, schedule.next_due)
               .count == 1;
}

bool delete_schedule(const Hub& hub, std::string_view name) {
    return run(hub, kDelete, name).count == 1;
}

std::optional<HeldSchedule> lock_schedule(const Hub& hub, std::string_view name) {
    return run(hub, kLock, name).first(schedule_of);
}

void pause_schedule(const Hub& hub, std::string_view name) {
    run_for_one(hub, kPause, name);
}

void resume_schedule(const Hub& hub, std::string_view name, int64 next_due) {
    run_for_one(hub, kResume, name, next_due);
}

std::span<const Schedule> hold_due_schedules(const Hub& hub, int64 now, int limit) {
    return column(
        std::span<const HeldSchedule>(run(hub, kHoldDue, now, limit).collect(schedule_of)),
        [](const HeldSchedule& held) { return held.schedule; });
}

void record_run(const Hub& hub, std::string_view name, std::optional<int64> last_due,
                int64 next_due) {
    run_for_one(hub, kRecordRun, name, last_due, next_due);
}

void record_failure(const Hub& hub, std::string_view name, std::string_view error, int64 again_at) {
    run_for_one(hub, kRecordFailure, name, error, again_at);
}

int64 next_schedule(const Hub& hub) {
    return run_one(hub, kNext).value_or(core::kNever);
}

Listing list_schedules(const Hub& hub) {
    return run(hub, kList);
}

}  // namespace belay::store
