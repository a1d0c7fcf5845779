// What is rare or works on many rows of table worker_queue, by SQL: listings, the rows of an
// activity, a change of the slots, dead letters.
//
// Touches  <hub>.worker_queue, <hub>.dead_letters; reads <hub>.sessions
// Locks    all worker rows, for a change of the slots
#include <algorithm>

#include "shmem/counters.hpp"
#include "store/listing.hpp"
#include "store/outbox.hpp"
#include "store/plan.hpp"
#include "store/work_rows.hpp"

namespace belay::store {

namespace {

constexpr Statement kFindActivity = statement(R"sql(
    SELECT w.lane, w.slot, w.due, w.id
      FROM {hub}.worker_queue AS w
     WHERE w.instance_id {=} $1 AND w.execution_id {=} $2 AND w.activity_id {=} $3
)sql",
                                              TEXTOID, INT8OID, INT8OID);

// $1 to $4 key, $5 dead letter id, $6 attempts, $7 now.
constexpr Statement kBury =
    statement(R"sql(
    WITH gone AS (
        DELETE FROM {hub}.worker_queue AS w
         WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
        RETURNING w.id, w.instance_id, w.execution_id, w.activity_id, w.session_id, w.tag,
                  w.work_item, w.created_at, w.last_error
    )
    INSERT INTO {hub}.dead_letters
           (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item,
            attempt_count, reason, detail, enqueued_at, dead_at)
    SELECT $5, 'worker', g.id, g.instance_id, g.execution_id, g.activity_id, g.session_id, g.tag,
           g.work_item, $6, 'max_attempts', g.last_error, g.created_at, $7
      FROM gone AS g
    RETURNING instance_id, execution_id, activity_id, work_item
)sql",
              INT4OID, INT2OID, INT8OID, INT8OID, INT8OID, INT4OID, TIMESTAMPTZOID);

// $1 now, $2 incarnation, $3 state, $4 instance, $5 session, $6 tag, $7 owner, $8 min attempts,
// $9 to $12 key to continue behind (null at first), $13 limit, $14 how many are looked at.
constexpr Statement kList = query(R"sql(
    SELECT w.id, x.state, w.work_item, w.instance_id, w.execution_id, w.activity_id, w.session_id,
           w.tag, w.visible_at, x.locked_until, x.locked_by, w.attempt_count, w.created_at,
           pg_catalog.concat_ws('/', w.lane, w.slot, w.due, w.id)
      FROM (SELECT q.*
              FROM {hub}.worker_queue AS q
             WHERE ROW(q.lane, q.slot, q.due, q.id) {>} ROW($9, $10, $11, $12)
             ORDER BY q.lane, q.slot, q.due, q.id
             LIMIT $14) AS w
     CROSS JOIN LATERAL (
        SELECT CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN 'leased'
                    WHEN w.due {>} $1 THEN 'delayed'
                    ELSE 'ready' END AS state,
               CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN w.locked_until END
                   AS locked_until,
               CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN w.locked_by END
                   AS locked_by) AS x
     WHERE ($3 IS NULL OR x.state {=} $3)
       AND ($4 IS NULL OR w.instance_id {=} $4)
       AND ($5 IS NULL OR w.session_id {=} $5)
       AND ($6 IS NULL OR w.tag {=} $6)
       AND ($7 IS NULL OR x.locked_by {=} $7)
       AND ($8 IS NULL OR w.attempt_count {>=} $8)
     ORDER BY w.lane, w.slot, w.due, w.id
     LIMIT $13
)sql",
                                  INT8OID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
                                  INT8OID, INT4OID, INT2OID, INT8OID, INT8OID, INT8OID, INT8OID);

// $1 to $4 key, $5 how many.
constexpr Statement kHasBehind = query(R"sql(
    SELECT 1
      FROM {hub}.worker_queue AS w
     WHERE ROW(w.lane, w.slot, w.due, w.id) {>} ROW($1, $2, $3, $4)
     ORDER BY w.lane, w.slot, w.due, w.id
    OFFSET $5
     LIMIT 1
)sql",
                                       INT4OID, INT2OID, INT8OID, INT8OID, INT8OID);

// $1 id, $2 now, $3 incarnation.
constexpr Statement kView = query(R"sql(
    SELECT w.visible_at,
           CASE WHEN w.locked_until {>} $2 AND w.lease_inc {=} $3 THEN w.locked_until END,
           w.locked_by, w.attempt_count, w.tag, w.session_id,
           CASE WHEN s.locked_until {>} $2 AND s.lease_inc {=} $3 THEN s.locked_until END,
           s.worker_id
      FROM {hub}.worker_queue AS w
      LEFT JOIN {hub}.sessions AS s ON s.session_id {=} w.session_id
     WHERE w.id {=} $1
)sql",
                                  INT8OID, INT8OID, INT4OID);

constexpr Statement kAllForSlots = statement(R"sql(
    SELECT w.lane, w.slot, w.due, w.id, w.instance_id, w.session_id
      FROM {hub}.worker_queue AS w
     ORDER BY w.lane, w.slot, w.due, w.id
       FOR UPDATE
)sql");

constexpr Statement kSetSlot = statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET slot = $5
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
                                         INT4OID, INT2OID, INT8OID, INT8OID, INT2OID);

constexpr Statement kCountLive = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.worker_queue AS w
     WHERE w.locked_until {>} $1 AND w.lease_inc {=} $2
)sql",
                                           INT8OID, INT4OID);

Params key_params(const WorkKey& key) {
    return Params().int4(key.lane).int2(key.slot).int8(key.due).int8(key.id);
}

WorkKey read_key(const Rows& rows, uint64 row) {
    return {.lane = rows.int4(row, 1),
            .slot = rows.int2(row, 2),
            .due = rows.int8(row, 3),
            .id = rows.int8(row, 4)};
}

}  // namespace

std::span<const WorkKey> find_activity(const Hub& hub, std::string_view instance_id,
                                       int64 execution_id, int64 activity_id) {
    const Rows rows =
        run(hub, kFindActivity, Params().text(instance_id).int8(execution_id).int8(activity_id));
    auto* keys = static_cast<WorkKey*>(palloc(sizeof(WorkKey) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        keys[i] = read_key(rows, i);
    }
    std::sort(keys, keys + rows.count);
    return {keys, static_cast<std::size_t>(rows.count)};
}

DeadWork bury_work(const Hub& hub, const WorkKey& key, int32 attempts, int64 now) {
    const int64 id = nextval_internal(hub.relations.dead_letters_id, false);
    const Rows rows = run(hub, kBury, key_params(key).int8(id).int4(attempts).timestamp(now));
    if (rows.count != 1) {
        elog(ERROR, "a work item vanished while it was held");
    }
    cursors::deleted(cursor_of(hub, key), place_of(key));
    counters::add(hub.schema, counters::Queue::kWorker, counters::Counter::kDeadLettered);
    tell_dead_letter(hub, id, "worker", "max_attempts", rows.optional_text(0, 1), attempts, now);
    return {.dead_letter_id = id,
            .instance_id = rows.optional_text(0, 1),
            .execution_id = rows.optional_int8(0, 2),
            .activity_id = rows.optional_int8(0, 3),
            .work_item = rows.text(0, 4),
            .attempt = attempts};
}

Rows list_work(const Hub& hub, const WorkFilter& filter, std::optional<WorkKey> after, int limit,
               int64 now, bool* whole) {
    constexpr int64 kMost = 10000;
    const WorkKey from = after.value_or(WorkKey{PG_INT32_MIN, PG_INT16_MIN, 0, 0});
    const Rows rows = run(hub, kList,
                          Params()
                              .int8(now)
                              .int4(live_incarnation(hub))
                              .optional_text(filter.state)
                              .optional_text(filter.instance_id)
                              .optional_text(filter.session_id)
                              .optional_text(filter.tag)
                              .optional_text(filter.locked_by)
                              .optional_int8(filter.min_attempts)
                              .int4(from.lane)
                              .int2(from.slot)
                              .int8(from.due)
                              .int8(from.id)
                              .int8(limit)
                              .int8(kMost));
    *whole = rows.count == static_cast<uint64>(limit) ||
             run(hub, kHasBehind, key_params(from).int8(kMost)).count == 0;
    return rows;
}

std::optional<WorkView> view_work(const Hub& hub, int64 id, int64 now) {
    const Rows rows = run(hub, kView, Params().int8(id).int8(now).int4(live_incarnation(hub)));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return WorkView{.visible_at = rows.optional_ms(0, 1).value_or(0),
                    .leased_until = rows.optional_int8(0, 2),
                    .owner = rows.optional_text(0, 3),
                    .attempts = rows.int4(0, 4),
                    .tag = rows.optional_text(0, 5),
                    .session_id = rows.optional_text(0, 6),
                    .session_until = rows.optional_int8(0, 7),
                    .session_owner = rows.optional_text(0, 8)};
}

void reslot_work(const Hub& hub, int32 slot_count) {
    const Rows rows = run(hub, kAllForSlots);
    for (uint64 i = 0; i < rows.count; ++i) {
        const WorkKey key = read_key(rows, i);
        const int16 slot =
            work_slot(slot_count, rows.optional_text(i, 5), rows.optional_text(i, 6), key.id);
        if (slot != key.slot) {
            run(hub, kSetSlot, key_params(key).int2(slot));
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
    cursors::moved(hub.relations.worker_queue);
}

int64 count_live_work(const Hub& hub, int64 now) {
    return run(hub, kCountLive, Params().int8(now).int4(hub.incarnation)).int8(0, 1);
}

}  // namespace belay::store
