#include "store/worker_queue.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/counters.hpp"
#include "pg/list.hpp"
#include "store/fast/direct_table.hpp"
#include "store/fast/worker_queue.hpp"
#include "store/listing.hpp"
#include "store/outbox.hpp"
#include "store/plan.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.worker_queue
           (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc,
            attempt_count, execution_id, activity_id, tag, session_id, instance_id, locked_by,
            work_item)
    VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, $7, $8, $9, $10, $11, NULL, $12)
)sql",
              INT4OID, INT2OID, INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT8OID,
              TEXTOID, TEXTOID, TEXTOID, TEXTOID);

// $1 lane, $2 slot, $3 now, $4 incarnation, $5 locked_until, $6 owner, $7 limit, $8 tag, $9 look at
// the session lane too. Here and below rows that were just locked are changed by ctid: a version
// that this statement's snapshot does not see is left alone, as if somebody else still had it.
constexpr Statement kTakeHeads =
    statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET locked_until = $5,
           nonce_hi = belay.random_int8(),
           nonce_lo = belay.random_int8(),
           lease_inc = $4,
           attempt_count = CASE WHEN w.attempt_count {<} 2147483647
                                THEN w.attempt_count {+} 1 ELSE w.attempt_count END,
           locked_by = $6
     WHERE w.ctid {=} ANY (ARRAY(
        SELECT c.ctid
          FROM {hub}.worker_queue AS c
         WHERE c.lane {=} $1 AND c.slot {=} $2 AND c.due {=} 0
           AND (c.locked_until {<=} $3 OR c.lease_inc {<>} $4)
           AND (c.tag {=} $8 OR (c.tag IS NULL AND $8 IS NULL))
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.worker_queue AS d
                            WHERE d.lane {=} $1 AND d.slot {=} $2 AND d.due {>} 0 AND d.due {<=} $3
                              AND (d.locked_until {<=} $3 OR d.lease_inc {<>} $4))
           AND NOT ($9 AND EXISTS (SELECT 1
                                     FROM {hub}.worker_queue AS s
                                    WHERE s.lane {=} ($1 {+} 1) AND s.slot {=} $2 AND s.due {<=} $3
                                      AND (s.locked_until {<=} $3 OR s.lease_inc {<>} $4)))
         ORDER BY c.id
         LIMIT $7
           FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING w.lane, w.slot, w.due, w.id, w.nonce_hi, w.nonce_lo, w.attempt_count, w.work_item,
              w.visible_at
)sql",
              INT4OID, INT2OID, INT8OID, INT4OID, INT8OID, TEXTOID, INT8OID, TEXTOID, BOOLOID);

constexpr Statement kNextLane = statement(R"sql(
    SELECT w.lane
      FROM {hub}.worker_queue AS w
     WHERE w.lane {>} $1
     ORDER BY w.lane, w.slot, w.due, w.id
     LIMIT 1
)sql",
                                          INT4OID);

// $1 lane, $2 slots, $3 after id, $4 now, $5 incarnation, $6 limit.
constexpr Statement kPeekReady =
    statement(R"sql(
    SELECT w.lane, w.slot, w.due, w.id, w.session_id, w.tag
      FROM pg_catalog.unnest($2) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT q.lane, q.slot, q.due, q.id, q.session_id, q.tag
          FROM {hub}.worker_queue AS q
         WHERE q.lane {=} $1 AND q.slot {=} s.slot AND q.due {=} 0 AND q.id {>} $3
           AND (q.locked_until {<=} $4 OR q.lease_inc {<>} $5)
         ORDER BY q.id
         LIMIT $6) AS w
)sql",
              INT4OID, INT2ARRAYOID, INT8OID, INT8OID, INT4OID, INT8OID);

// $1 lane, $2 slots, $3 after due, $4 after id, $5 now, $6 incarnation, $7 limit.
constexpr Statement kPeekDelayed =
    statement(R"sql(
    SELECT w.lane, w.slot, w.due, w.id, w.session_id, w.tag
      FROM pg_catalog.unnest($2) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT q.lane, q.slot, q.due, q.id, q.session_id, q.tag
          FROM {hub}.worker_queue AS q
         WHERE q.lane {=} $1 AND q.slot {=} s.slot AND q.due {>} 0 AND q.due {<=} $5
           AND ROW(q.due, q.id) {>} ROW($3, $4)
           AND (q.locked_until {<=} $5 OR q.lease_inc {<>} $6)
         ORDER BY q.due, q.id
         LIMIT $7) AS w
)sql",
              INT4OID, INT2ARRAYOID, INT8OID, INT8OID, INT8OID, INT4OID, INT8OID);

// $1 session, $2 lane, $3 slot, $4 after id, $5 now, $6 incarnation, $7 limit.
constexpr Statement kPeekSessionReady =
    statement(R"sql(
    SELECT q.lane, q.slot, q.due, q.id, q.session_id, q.tag
      FROM {hub}.worker_queue AS q
     WHERE q.session_id {=} $1 AND q.due {=} 0 AND q.id {>} $4 AND q.lane {=} $2 AND q.slot {=} $3
       AND (q.locked_until {<=} $5 OR q.lease_inc {<>} $6)
     ORDER BY q.id
     LIMIT $7
)sql",
              TEXTOID, INT4OID, INT2OID, INT8OID, INT8OID, INT4OID, INT8OID);

// $1 session, $2 lane, $3 slot, $4 after due, $5 after id, $6 now, $7 incarnation, $8 limit.
constexpr Statement kPeekSessionDelayed =
    statement(R"sql(
    SELECT q.lane, q.slot, q.due, q.id, q.session_id, q.tag
      FROM {hub}.worker_queue AS q
     WHERE q.session_id {=} $1 AND q.due {>} 0 AND q.due {<=} $6
       AND ROW(q.due, q.id) {>} ROW($4, $5) AND q.lane {=} $2 AND q.slot {=} $3
       AND (q.locked_until {<=} $6 OR q.lease_inc {<>} $7)
     ORDER BY q.due, q.id
     LIMIT $8
)sql",
              TEXTOID, INT4OID, INT2OID, INT8OID, INT8OID, INT8OID, INT4OID, INT8OID);

// $1 owner, $2 lane, $3 slot, $4 delayed, $5 after due, $6 after id, $7 now, $8 incarnation. The
// recursion steps from one session id to the next in the index.
constexpr Statement kPeekSessions = statement(R"sql(
    WITH RECURSIVE known AS (
        (SELECT f.session_id
           FROM {hub}.worker_queue AS f
          WHERE f.session_id IS NOT NULL
          ORDER BY f.session_id
          LIMIT 1)
        UNION ALL
        SELECT (SELECT n.session_id
                  FROM {hub}.worker_queue AS n
                 WHERE n.session_id {>} k.session_id
                 ORDER BY n.session_id
                 LIMIT 1)
          FROM known AS k
         WHERE k.session_id IS NOT NULL
    )
    SELECT w.lane, w.slot, w.due, w.id, w.session_id, w.tag
      FROM known AS k
     CROSS JOIN LATERAL (
        SELECT q.lane, q.slot, q.due, q.id, q.session_id, q.tag
          FROM {hub}.worker_queue AS q
         WHERE q.session_id {=} k.session_id AND q.lane {=} $2 AND q.slot {=} $3
           AND q.due {<=} $7 AND (q.due {>} 0) {=} $4
           AND ROW(q.due, q.id) {>} ROW($5, $6)
           AND (q.locked_until {<=} $7 OR q.lease_inc {<>} $8)
         ORDER BY q.due, q.id
         LIMIT 1) AS w
     WHERE NOT EXISTS (SELECT 1
                         FROM {hub}.sessions AS s
                        WHERE s.session_id {=} k.session_id AND s.locked_until {>} $7
                          AND s.lease_inc {=} $8 AND s.worker_id {<>} $1)
)sql",
                                              TEXTOID, INT4OID, INT2OID, BOOLOID, INT8OID, INT8OID,
                                              INT8OID, INT4OID, TIMESTAMPTZOID);

// $1 to $4 key, $5 now, $6 incarnation, $7 locked_until, $8 owner.
constexpr Statement kTake =
    statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET locked_until = $7,
           nonce_hi = belay.random_int8(),
           nonce_lo = belay.random_int8(),
           lease_inc = $6,
           attempt_count = CASE WHEN w.attempt_count {<} 2147483647
                                THEN w.attempt_count {+} 1 ELSE w.attempt_count END,
           locked_by = $8
     WHERE w.ctid {=} (
        SELECT c.ctid
          FROM {hub}.worker_queue AS c
         WHERE c.lane {=} $1 AND c.slot {=} $2 AND c.due {=} $3 AND c.id {=} $4
           AND (c.locked_until {<=} $5 OR c.lease_inc {<>} $6)
           FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING w.lane, w.slot, w.due, w.id, w.nonce_hi, w.nonce_lo, w.attempt_count, w.work_item,
              w.visible_at
)sql",
              INT4OID, INT2OID, INT8OID, INT8OID, INT8OID, INT4OID, INT8OID, TEXTOID);

constexpr Statement kTryHoldFree = statement(R"sql(
    SELECT w.attempt_count
      FROM {hub}.worker_queue AS w
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
       AND (w.locked_until {<=} $5 OR w.lease_inc {<>} $6)
       FOR NO KEY UPDATE SKIP LOCKED
)sql",
                                             INT4OID, INT2OID, INT8OID, INT8OID, INT8OID, INT4OID);

// $1 to $4 key, $5 nonce_hi, $6 nonce_lo, $7 incarnation, $8 now.
constexpr Statement kDeleteLive =
    statement(R"sql(
    DELETE FROM {hub}.worker_queue AS w
     WHERE w.ctid {=} (
        SELECT c.ctid
          FROM {hub}.worker_queue AS c
         WHERE c.lane {=} $1 AND c.slot {=} $2 AND c.due {=} $3 AND c.id {=} $4
           AND c.nonce_hi {=} $5 AND c.nonce_lo {=} $6 AND c.lease_inc {=} $7
           AND c.locked_until {>} $8
           FOR UPDATE SKIP LOCKED)
    RETURNING w.lane, w.slot, w.due, w.id, w.locked_until, w.nonce_hi, w.nonce_lo, w.lease_inc,
              w.attempt_count, w.session_id, w.locked_by
)sql",
              INT4OID, INT2OID, INT8OID, INT8OID, INT8OID, INT8OID, INT4OID, INT8OID);

constexpr Statement kTryLock = statement(R"sql(
    SELECT w.lane, w.slot, w.due, w.id, w.locked_until, w.nonce_hi, w.nonce_lo, w.lease_inc,
           w.attempt_count, w.session_id, w.locked_by
      FROM {hub}.worker_queue AS w
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
       FOR UPDATE SKIP LOCKED
)sql",
                                         INT4OID, INT2OID, INT8OID, INT8OID);

constexpr Statement kLock = statement(R"sql(
    SELECT w.lane, w.slot, w.due, w.id, w.locked_until, w.nonce_hi, w.nonce_lo, w.lease_inc,
           w.attempt_count, w.session_id, w.locked_by
      FROM {hub}.worker_queue AS w
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
       FOR UPDATE
)sql",
                                      INT4OID, INT2OID, INT8OID, INT8OID);

constexpr Statement kPlace = statement(R"sql(
    SELECT w.ctid
      FROM {hub}.worker_queue AS w
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
                                       INT4OID, INT2OID, INT8OID, INT8OID);

constexpr Statement kExists = statement(R"sql(
    SELECT w.id
      FROM {hub}.worker_queue AS w
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
                                        INT4OID, INT2OID, INT8OID, INT8OID);

constexpr Statement kDelete = statement(R"sql(
    DELETE FROM {hub}.worker_queue AS w
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
                                        INT4OID, INT2OID, INT8OID, INT8OID);

constexpr Statement kSetDeadline = statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET locked_until = $5
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
                                             INT4OID, INT2OID, INT8OID, INT8OID, INT8OID);

constexpr Statement kRelease = statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET locked_until = 0, nonce_hi = 0, nonce_lo = 0, lease_inc = 0, attempt_count = $5,
           locked_by = NULL
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
                                         INT4OID, INT2OID, INT8OID, INT8OID, INT4OID);

// Both of them with $6 reason; the item keeps its place if $7 is null.
constexpr Statement kReleaseWithReason =
    statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET locked_until = 0, nonce_hi = 0, nonce_lo = 0, lease_inc = 0, attempt_count = $5,
           locked_by = NULL, last_error = $6, due = coalesce($7, w.due),
           visible_at = coalesce($8, w.visible_at)
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
              INT4OID, INT2OID, INT8OID, INT8OID, INT4OID, TEXTOID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kReleaseDelayed =
    statement(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET locked_until = 0, nonce_hi = 0, nonce_lo = 0, lease_inc = 0, attempt_count = $5,
           locked_by = NULL, due = $6, visible_at = $7
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql",
              INT4OID, INT2OID, INT8OID, INT8OID, INT4OID, INT8OID, TIMESTAMPTZOID);

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
// $9 to $12 key to continue behind (null at first), $13 limit.
constexpr Statement kList =
    query(R"sql(
    SELECT w.id, x.state, w.work_item, w.instance_id, w.execution_id, w.activity_id, w.session_id,
           w.tag, w.visible_at, x.locked_until, x.locked_by, w.attempt_count, w.created_at,
           pg_catalog.concat_ws('/', w.lane, w.slot, w.due, w.id)
      FROM {hub}.worker_queue AS w
     CROSS JOIN LATERAL (
        SELECT CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN 'leased'
                    WHEN w.due {>} $1 THEN 'delayed'
                    ELSE 'ready' END AS state,
               CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN w.locked_until END
                   AS locked_until,
               CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN w.locked_by END
                   AS locked_by) AS x
     WHERE ROW(w.lane, w.slot, w.due, w.id) {>} ROW($9, $10, $11, $12)
       AND ($3 IS NULL OR x.state {=} $3)
       AND ($4 IS NULL OR w.instance_id {=} $4)
       AND ($5 IS NULL OR w.session_id {=} $5)
       AND ($6 IS NULL OR w.tag {=} $6)
       AND ($7 IS NULL OR x.locked_by {=} $7)
       AND ($8 IS NULL OR w.attempt_count {>=} $8)
     ORDER BY w.lane, w.slot, w.due, w.id
     LIMIT $13
)sql",
          INT8OID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, INT4OID, INT2OID,
          INT8OID, INT8OID, INT8OID, TIMESTAMPTZOID);

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

Leased read_leased(const Hub& hub, const Rows& rows, uint64 row) {
    const WorkKey key = read_key(rows, row);
    return {.key = key,
            .token = {.lane = key.lane,
                      .slot = key.slot,
                      .due = key.due,
                      .id = key.id,
                      .incarnation = hub.incarnation,
                      .nonce_hi = static_cast<uint64_t>(rows.int8(row, 5)),
                      .nonce_lo = static_cast<uint64_t>(rows.int8(row, 6))},
            .attempt = rows.int4(row, 7),
            .work_item = rows.text(row, 8),
            .visible_at = rows.optional_ms(row, 9).value_or(0),
            .hint = {}};
}

std::optional<WorkRow> read_row(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    return WorkRow{.key = read_key(rows, 0),
                   .lease = {.locked_until = rows.int8(0, 5),
                             .incarnation = rows.int4(0, 8),
                             .nonce_hi = static_cast<uint64_t>(rows.int8(0, 6)),
                             .nonce_lo = static_cast<uint64_t>(rows.int8(0, 7))},
                   .attempt = rows.int4(0, 9),
                   .session_id = rows.optional_text(0, 10),
                   .locked_by = rows.optional_text(0, 11)};
}

Candidates read_candidates(const Rows& rows) {
    if (rows.count == 0) {
        rows.release();  // a fetch looks at many lanes
        return {nullptr, 0};
    }
    auto* found = static_cast<Candidate*>(palloc(sizeof(Candidate) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        found[i] = {.key = read_key(rows, i),
                    .session_id = rows.optional_text(i, 5),
                    .tag = rows.optional_text(i, 6)};
    }
    return {found, static_cast<int>(rows.count)};
}

int16 slot_for(int32 slot_count, std::optional<std::string_view> instance_id,
               std::optional<std::string_view> session_id, int64 id) {
    if (instance_id) {
        return static_cast<int16>(core::slot_of(*instance_id, slot_count));
    }
    return static_cast<int16>(session_id ? core::slot_of(*session_id, slot_count)
                                         : core::slot_of_id(id, slot_count));
}

// ---------------------------------------------------------------- new rows

WorkKey new_key(const Hub& hub, const NewWork& work) {
    const int64 id = nextval_internal(hub.relations.worker_queue_id, false);
    const auto slot_count = static_cast<int32>(hub.options[Option::kSlotCount]);
    return {.lane = core::lane_of(work.tag.has_value(), work.tag.value_or(""),
                                  work.session_id.has_value()),
            .slot = slot_for(slot_count, work.instance_id, work.session_id, id),
            .due = work.delayed ? delayed_due(work.visible_at) : 0,
            .id = id};
}

void insert_by_sql(const Hub& hub, const WorkKey& key, const NewWork& work) {
    run(hub, kInsert,
        key_params(key)
            .timestamp(work.visible_at)
            .timestamp(work.created_at)
            .optional_int8(work.execution_id)
            .optional_int8(work.activity_id)
            .optional_text(work.tag)
            .optional_text(work.session_id)
            .optional_text(work.instance_id)
            .text(work.work_item));
}

void note_inserted_work(const Hub& hub, const WorkKey& key, const pg::RowHint& hint) {
    pg::note_inserted(cursor_of(hub, key), place_of(key), hint);
    note_item(worker_channel(hub), key.due);
}

}  // namespace

int64 insert_work(const Hub& hub, const NewWork& work) {
    const WorkKey key = new_key(hub, work);
    pg::RowHint hint{};
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        hint = insert_directly(hub, heap, key, work);
    } else {
        insert_by_sql(hub, key, work);
    }
    note_inserted_work(hub, key, hint);
    pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kEnqueued);
    return key.id;
}

void insert_works(const Hub& hub, std::span<const NewWork> works) {
    Relation heap = works.empty() ? nullptr : open_for_direct_access(hub, DirectId::kWorkerQueue);
    if (heap == nullptr) {
        for (const NewWork& work : works) {
            (void)insert_work(hub, work);
        }
        return;
    }
    auto* keys = static_cast<WorkKey*>(palloc(sizeof(WorkKey) * works.size()));
    auto* hints = static_cast<pg::RowHint*>(palloc(sizeof(pg::RowHint) * works.size()));
    for (std::size_t i = 0; i < works.size(); ++i) {
        keys[i] = new_key(hub, works[i]);
    }
    insert_many_directly(hub, heap, {keys, works.size()}, works, hints);
    for (std::size_t i = 0; i < works.size(); ++i) {
        note_inserted_work(hub, keys[i], hints[i]);
    }
    pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kEnqueued,
              static_cast<int64>(works.size()));
}

bool note_granted(const Hub& hub, const Leased& leased, const Grant& grant) {
    pg::count_duration(hub.schema, pg::CountedQueue::kWorker, pg::Duration::kWait,
                       grant.now - leased.visible_at);
    pg::note_new_lease(worker_channel(hub), lease_key_of_work(leased.key.id), grant.locked_until,
                       grant.owner ? owner_channel(hub, *grant.owner).name : 0);
    return pg::note_claimed(cursor_of(hub, leased.key), place_of(leased.key), grant.locked_until,
                            leased.hint);
}

int64 last_work_id(const Hub& hub) {
    LOCAL_FCINFO(call, 1);
    InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
    call->args[0] = {ObjectIdGetDatum(hub.relations.worker_queue_id), false};
    const Datum last = pg_sequence_last_value(call);
    return call->isnull ? 0 : DatumGetInt64(last);
}

LeasedRows take_heads(const Hub& hub, int32 lane, int16 slot, std::optional<std::string_view> tag,
                      bool with_sessions, const LeaseTerms& terms, int limit) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return take_heads_directly(hub, heap, lane, slot, tag, with_sessions, terms, limit);
    }
    const Grant grant = terms.grant();
    const Rows rows = run(hub, kTakeHeads,
                          Params()
                              .int4(lane)
                              .int2(slot)
                              .int8(grant.now)
                              .int4(hub.incarnation)
                              .int8(grant.locked_until)
                              .optional_text(grant.owner)
                              .int8(limit)
                              .optional_text(tag)
                              .boolean(with_sessions));
    auto* leased = static_cast<Leased*>(palloc(sizeof(Leased) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        leased[i] = read_leased(hub, rows, i);
        (void)note_granted(hub, leased[i], grant);
    }
    std::sort(leased, leased + rows.count,
              [](const Leased& a, const Leased& b) { return a.key.id < b.key.id; });
    return {leased, static_cast<int>(rows.count)};
}

std::optional<int32> next_lane(const Hub& hub, int32 lane) {
    const Rows rows = run(hub, kNextLane, Params().int4(lane));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int4(0, 1));
}

std::span<const int32> lanes_to_fetch(const Hub& hub, int32 after, int32 up_to, bool with_sessions,
                                      int limit) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return lanes_to_fetch_directly(hub, heap, after, up_to, with_sessions, limit);
    }
    pg::List<int32> lanes;
    for (auto lane = next_lane(hub, after); lane && *lane <= up_to && lanes.count < limit;
         lane = next_lane(hub, *lane)) {
        if (with_sessions || !is_session_lane(*lane)) {
            lanes.add(*lane);
        }
    }
    return lanes.span();
}

Candidates peek_lanes(const Hub& hub, std::span<const int32> lanes, std::span<const int16> slots,
                      const pg::Clock& clock) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return peek_lanes_directly(hub, heap, lanes, slots, clock);
    }
    pg::List<Candidate> found;
    for (const int32 lane : lanes) {
        for (const bool delayed : {false, true}) {
            const auto heads = look_at_lane(hub, lane, slots, delayed, 0,
                                            delayed ? PG_INT64_MAX : 0, clock.now(), 1);
            for (int i = 0; i < heads.count; ++i) {
                found.add(heads.rows[i]);
            }
        }
    }
    return {found.items, found.count};
}

Candidates peek_lane(const Hub& hub, int32 lane, std::span<const int16> slots, bool delayed,
                     int64 after_due, int64 after_id, const pg::Clock& clock, int limit) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return peek_lane_directly(hub, heap, lane, slots, delayed, after_due, after_id, clock,
                                  limit);
    }
    return look_at_lane(hub, lane, slots, delayed, after_due, after_id, clock.now(), limit);
}

Candidates look_at_lane(const Hub& hub, int32 lane, std::span<const int16> slots, bool delayed,
                        int64 after_due, int64 after_id, int64 now, int limit) {
    Params params;
    params.int4(lane).datum(int2_array(slots));
    if (delayed) {
        params.int8(after_due);
    }
    params.int8(after_id).int8(now).int4(hub.incarnation).int8(limit);
    return read_candidates(run(hub, delayed ? kPeekDelayed : kPeekReady, params));
}

Candidates peek_session(const Hub& hub, std::string_view session_id, int32 lane, int16 slot,
                        bool delayed, int64 after_due, int64 after_id, int64 now, int limit) {
    Params params;
    params.text(session_id).int4(lane).int2(slot);
    if (delayed) {
        params.int8(after_due);
    }
    params.int8(after_id).int8(now).int4(hub.incarnation).int8(limit);
    return read_candidates(run(hub, delayed ? kPeekSessionDelayed : kPeekSessionReady, params));
}

Candidates peek_sessions(const Hub& hub, std::string_view owner, int32 lane, int16 slot,
                         bool delayed, int64 after_due, int64 after_id, int64 now) {
    return read_candidates(run(hub, kPeekSessions,
                               Params()
                                   .text(owner)
                                   .int4(lane)
                                   .int2(slot)
                                   .boolean(delayed)
                                   .int8(after_due)
                                   .int8(after_id)
                                   .int8(now)
                                   .int4(hub.incarnation)));
}

std::optional<Leased> take(const Hub& hub, const WorkKey& key, const Grant& grant) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return take_directly(hub, heap, key, grant);
    }
    const Rows rows = run(hub, kTake,
                          key_params(key)
                              .int8(grant.now)
                              .int4(hub.incarnation)
                              .int8(grant.locked_until)
                              .optional_text(grant.owner));
    if (rows.count == 0) {
        return std::nullopt;
    }
    const Leased leased = read_leased(hub, rows, 0);
    (void)note_granted(hub, leased, grant);
    return leased;
}

std::optional<int32> try_hold_free(const Hub& hub, const WorkKey& key, int64 now) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return try_hold_free_directly(hub, heap, key, now);
    }
    const Rows rows = run(hub, kTryHoldFree, key_params(key).int8(now).int4(hub.incarnation));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int4(0, 1));
}

bool seems_free(const Hub& hub, const WorkKey& key) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return seems_free_directly(hub, heap, key);
    }
    const Rows places = run(hub, kPlace, key_params(key));
    return places.count > 0 && !holder_of(hub.relations.worker_queue, places).held;
}

namespace {

// The row is gone when the transaction commits.
void note_gone(const Hub& hub, const WorkKey& key) {
    pg::note_lease_over(worker_channel(hub), lease_key_of_work(key.id));
    pg::note_deleted(cursor_of(hub, key), place_of(key));
}

void note_moved_deadline(const Hub& hub, const WorkKey& key, int64 locked_until,
                         const pg::RowHint& hint) {
    pg::note_lease(worker_channel(hub), lease_key_of_work(key.id), locked_until);
    pg::note_free(cursor_of(hub, key), place_of(key), locked_until, hint);
}

std::optional<WorkRow> lock_by_key(const Hub& hub, const WorkKey& key, const Statement& statement,
                                   LockWaitPolicy policy) {
    pg::note_held(worker_channel(hub));
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return lock_directly(hub, heap, key, policy);
    }
    return read_row(run(hub, statement, key_params(key)));
}

}  // namespace

std::optional<WorkRow> delete_live(const Hub& hub, const core::WorkToken& token, int64 now) {
    std::optional<WorkRow> row;
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        row = delete_live_directly(hub, heap, token, now);
    } else {
        row = read_row(run(hub, kDeleteLive,
                           key_params(key_of(token))
                               .int8(static_cast<int64>(token.nonce_hi))
                               .int8(static_cast<int64>(token.nonce_lo))
                               .int4(token.incarnation)
                               .int8(now)));
    }
    if (row) {
        note_gone(hub, row->key);
    }
    return row;
}

std::optional<WorkRow> renew_live(const Hub& hub, const core::WorkToken& token, int64 now,
                                  const core::Extension& extension) {
    Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue);
    const auto renewed =
        heap != nullptr ? renew_live_directly(hub, heap, token, now, extension) : std::nullopt;
    if (!renewed) {
        return std::nullopt;
    }
    note_moved_deadline(hub, renewed->row.key, renewed->locked_until, renewed->hint);
    return renewed->row;
}

std::optional<WorkRow> try_lock_work(const Hub& hub, const WorkKey& key) {
    return lock_by_key(hub, key, kTryLock, LockWaitSkip);
}

std::optional<WorkRow> lock_work(const Hub& hub, const WorkKey& key) {
    return lock_by_key(hub, key, kLock, LockWaitBlock);
}

bool work_exists(const Hub& hub, const WorkKey& key) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        return exists_directly(hub, heap, key);
    }
    return run(hub, kExists, key_params(key)).count > 0;
}

void delete_work(const Hub& hub, const WorkKey& key) {
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        delete_directly(hub, heap, key);
    } else {
        run(hub, kDelete, key_params(key));
    }
    note_gone(hub, key);
}

void set_deadline(const Hub& hub, const WorkKey& key, int64 locked_until) {
    pg::RowHint hint{};
    if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        hint = set_deadline_directly(hub, heap, key, locked_until);
    } else {
        run(hub, kSetDeadline, key_params(key).int8(locked_until));
    }
    note_moved_deadline(hub, key, locked_until, hint);
}

void release_work(const Hub& hub, const WorkKey& key, int32 attempt,
                  std::optional<int64> visible_at, std::optional<std::string_view> reason) {
    pg::note_lease_over(worker_channel(hub), lease_key_of_work(key.id));
    note_item(worker_channel(hub), visible_at.value_or(0));
    if (reason) {
        run(hub, kReleaseWithReason,
            key_params(key)
                .int4(attempt)
                .text(*reason)
                .optional_int8(visible_at ? std::optional(delayed_due(*visible_at)) : std::nullopt)
                .optional_timestamp(visible_at));
    } else if (Relation heap = open_for_direct_access(hub, DirectId::kWorkerQueue)) {
        release_directly(hub, heap, key, attempt, visible_at);
    } else if (!visible_at) {
        run(hub, kRelease, key_params(key).int4(attempt));
    } else {
        run(hub, kReleaseDelayed,
            key_params(key).int4(attempt).int8(delayed_due(*visible_at)).timestamp(*visible_at));
    }
    WorkKey released = key;
    if (visible_at) {
        pg::note_deleted(cursor_of(hub, key), place_of(key));
        released.due = delayed_due(*visible_at);
    }
    pg::note_free(cursor_of(hub, released), place_of(released), 0, {});
}

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
    pg::note_deleted(cursor_of(hub, key), place_of(key));
    pg::count(hub.schema, pg::CountedQueue::kWorker, pg::Counter::kDeadLettered);
    tell_dead_letter(hub, id, "worker", "max_attempts", rows.optional_text(0, 1), attempts, now);
    return {.dead_letter_id = id,
            .instance_id = rows.optional_text(0, 1),
            .execution_id = rows.optional_int8(0, 2),
            .activity_id = rows.optional_int8(0, 3),
            .work_item = rows.text(0, 4),
            .attempt = attempts};
}

Rows list_work(const Hub& hub, const WorkFilter& filter, std::optional<WorkKey> after, int limit,
               int64 now) {
    const WorkKey from = after.value_or(WorkKey{PG_INT32_MIN, PG_INT16_MIN, 0, 0});
    return run(hub, kList,
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
                   .int8(limit));
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
            slot_for(slot_count, rows.optional_text(i, 5), rows.optional_text(i, 6), key.id);
        if (slot != key.slot) {
            run(hub, kSetSlot, key_params(key).int2(slot));
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
    pg::note_moved(hub.relations.worker_queue);
}

int64 count_live_work(const Hub& hub, int64 now) {
    return run(hub, kCountLive, Params().int8(now).int4(hub.incarnation)).int8(0, 1);
}

}  // namespace belay::store
