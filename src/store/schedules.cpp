#include "store/schedules.hpp"

#include "core/time.hpp"
#include "pg/list.hpp"

namespace belay::store {

namespace {

// $1 name, $2 cron, $3 time zone, $4 catch up, $5 task, $6 next due, $7 now.
constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.schedules
           (name, cron, time_zone, catch_up, task, next_due_ms, next_run_ms, paused, created_at_ms)
    VALUES ($1, $2, $3, $4, CAST($5 AS pg_catalog.jsonb), $6, $6, false, $7)
        ON CONFLICT (name) DO NOTHING
)sql",
              TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, INT8OID);

constexpr Statement kDelete = statement(R"sql(
    DELETE FROM {hub}.schedules AS s WHERE s.name {=} $1
)sql",
                                        TEXTOID);

constexpr Statement kLock = statement(R"sql(
    SELECT s.name, s.cron, s.time_zone, s.catch_up, CAST(s.task AS pg_catalog.text), s.next_due_ms,
           s.paused
      FROM {hub}.schedules AS s
     WHERE s.name {=} $1
       FOR NO KEY UPDATE
)sql",
                                      TEXTOID);

constexpr Statement kPause = statement(R"sql(
    UPDATE {hub}.schedules AS s SET paused = true WHERE s.name {=} $1
)sql",
                                       TEXTOID);

constexpr Statement kResume = statement(R"sql(
    UPDATE {hub}.schedules AS s
       SET paused = false, next_due_ms = $2, next_run_ms = $2, last_error = NULL
     WHERE s.name {=} $1
)sql",
                                        TEXTOID, INT8OID);

constexpr Statement kHoldDue = statement(R"sql(
    SELECT s.name, s.cron, s.time_zone, s.catch_up, CAST(s.task AS pg_catalog.text), s.next_due_ms,
           s.paused
      FROM {hub}.schedules AS s
     WHERE NOT s.paused AND s.next_run_ms {<=} $1
     ORDER BY s.next_run_ms
     LIMIT $2
       FOR NO KEY UPDATE SKIP LOCKED
)sql",
                                         INT8OID, INT8OID);

// $1 name, $2 last due, $3 next due.
constexpr Statement kNoteRun = statement(R"sql(
    UPDATE {hub}.schedules AS s
       SET last_due_ms = COALESCE($2, s.last_due_ms), next_due_ms = $3, next_run_ms = $3,
           last_error = NULL
     WHERE s.name {=} $1
)sql",
                                         TEXTOID, INT8OID, INT8OID);

constexpr Statement kNoteFailure = statement(R"sql(
    UPDATE {hub}.schedules AS s SET last_error = $2, next_run_ms = $3 WHERE s.name {=} $1
)sql",
                                             TEXTOID, TEXTOID, INT8OID);

constexpr Statement kNext = statement(R"sql(
    SELECT s.next_run_ms
      FROM {hub}.schedules AS s
     WHERE NOT s.paused
     ORDER BY s.next_run_ms
     LIMIT 1
)sql");

constexpr Statement kList = query(R"sql(
    SELECT s.name, s.cron, s.time_zone, s.catch_up, s.task, s.paused, s.next_due_ms, s.last_due_ms,
           s.last_error, s.created_at_ms
      FROM {hub}.schedules AS s
     ORDER BY s.name
)sql");

Schedule read_row(const Rows& rows, uint64 row) {
    return {.name = rows.text(row, 1),
            .cron = rows.text(row, 2),
            .time_zone = rows.text(row, 3),
            .catch_up = rows.text(row, 4),
            .task = rows.text(row, 5),
            .next_due = rows.int8(row, 6)};
}

}  // namespace

bool insert_schedule(const Hub& hub, const Schedule& schedule, int64 now) {
    return run(hub, kInsert,
               Params()
                   .text(schedule.name)
                   .text(schedule.cron)
                   .text(schedule.time_zone)
                   .text(schedule.catch_up)
                   .text(schedule.task)
                   .int8(schedule.next_due)
                   .int8(now))
               .count == 1;
}

bool delete_schedule(const Hub& hub, std::string_view name) {
    return run(hub, kDelete, Params().text(name)).count == 1;
}

std::optional<HeldSchedule> lock_schedule(const Hub& hub, std::string_view name) {
    const Rows rows = run(hub, kLock, Params().text(name));
    return rows.count == 0 ? std::nullopt
                           : std::optional(HeldSchedule{read_row(rows, 0), rows.boolean(0, 7)});
}

void pause_schedule(const Hub& hub, std::string_view name) {
    run_for_one(hub, kPause, Params().text(name));
}

void resume_schedule(const Hub& hub, std::string_view name, int64 next_due) {
    run_for_one(hub, kResume, Params().text(name).int8(next_due));
}

std::span<const Schedule> hold_due_schedules(const Hub& hub, int64 now, int limit) {
    const Rows rows = run(hub, kHoldDue, Params().int8(now).int8(limit));
    pg::List<Schedule> due;
    for (uint64 i = 0; i < rows.count; ++i) {
        due.add(read_row(rows, i));
    }
    return due.span();
}

void note_run(const Hub& hub, std::string_view name, std::optional<int64> last_due,
              int64 next_due) {
    run_for_one(hub, kNoteRun, Params().text(name).optional_int8(last_due).int8(next_due));
}

void note_failure(const Hub& hub, std::string_view name, std::string_view error, int64 again_at) {
    run_for_one(hub, kNoteFailure, Params().text(name).text(error).int8(again_at));
}

int64 next_schedule(const Hub& hub) {
    const Rows rows = run(hub, kNext);
    return rows.count == 0 ? core::kNever : rows.int8(0, 1);
}

Rows list_schedules(const Hub& hub) {
    return run(hub, kList);
}

}  // namespace belay::store
