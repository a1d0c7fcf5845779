#include "store/listing.hpp"

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/row_holder.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- instances and executions

constexpr Statement kPlace = query(R"sql(
    SELECT i.created_at
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
)sql",
                                   TEXTOID);

// $1 created from, $2 and $3 the place before, $4 name, $5 prefix, $6 limit. The place says all
// about the end of the range: with a second condition on created_at a page would begin at the
// newest.
constexpr Statement kList =
    query(R"sql(
    SELECT i.instance_id
      FROM {hub}.instances AS i
     WHERE i.created_at {>=} $1
       AND ROW(i.created_at, i.instance_id) {<} ROW($2, $3)
       AND ($4 IS NULL OR i.orchestration_name {=} $4)
       AND ($5 IS NULL OR pg_catalog.starts_with(i.instance_id, $5))
     ORDER BY i.created_at DESC, i.instance_id DESC
     LIMIT $6
)sql",
          TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, INT8OID);

// The same, $7 status.
constexpr Statement kListByStatus =
    query(R"sql(
    SELECT i.instance_id
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.created_at {>=} $1
       AND ROW(i.created_at, i.instance_id) {<} ROW($2, $3)
       AND ($4 IS NULL OR i.orchestration_name {=} $4)
       AND ($5 IS NULL OR pg_catalog.starts_with(i.instance_id, $5))
       AND COALESCE(e.status, 'Running') {=} $7
     ORDER BY i.created_at DESC, i.instance_id DESC
     LIMIT $6
)sql",
          TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, TEXTOID);

constexpr Statement kExecutions = query(R"sql(
    SELECT e.execution_id
      FROM {hub}.executions AS e
     WHERE e.instance_id {=} $1
     ORDER BY e.execution_id
)sql",
                                        TEXTOID);

constexpr Statement kInstanceInfo = query(R"sql(
    SELECT i.instance_id, i.orchestration_name, COALESCE(i.orchestration_version, 'unknown'),
           i.current_execution_id, i.created_at, i.updated_at, COALESCE(e.status, 'Running'),
           e.output, i.parent_instance_id
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.instance_id {=} $1
)sql",
                                          TEXTOID);

constexpr Statement kExecutionInfo = query(R"sql(
    SELECT e.execution_id, e.status, e.output, e.started_at, e.completed_at,
           (SELECT pg_catalog.count(*)
              FROM {hub}.history AS h
             WHERE h.instance_id {=} e.instance_id AND h.execution_id {=} e.execution_id)
      FROM {hub}.executions AS e
     WHERE e.instance_id {=} $1 AND e.execution_id {=} $2
)sql",
                                           TEXTOID, INT8OID);

// Events are counted per execution, so history is not read.
constexpr Statement kMetrics = report(R"sql(
    SELECT c.instances, x.executions, c.running, c.completed, c.failed, x.events
      FROM (SELECT pg_catalog.count(*) AS instances,
                   pg_catalog.count(*) FILTER (WHERE COALESCE(e.status, 'Running') {=} 'Running')
                       AS running,
                   pg_catalog.count(*) FILTER (WHERE e.status {=} 'Completed') AS completed,
                   pg_catalog.count(*) FILTER (WHERE e.status {=} 'Failed') AS failed
              FROM {hub}.instances AS i
              LEFT JOIN {hub}.executions AS e
                ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
           ) AS c
     CROSS JOIN (SELECT pg_catalog.count(*) AS executions,
                        CAST(COALESCE(pg_catalog.sum(e.event_count), 0) AS pg_catalog.int8)
                            AS events
                   FROM {hub}.executions AS e) AS x
)sql");

// $1 now, $2 now in ms, $3 incarnation.
constexpr Statement kDepths = report(R"sql(
    SELECT m.visible, w.visible, m.hidden
      FROM (SELECT pg_catalog.count(*) FILTER (WHERE q.visible_at {<=} $1) AS visible,
                   pg_catalog.count(*) FILTER (WHERE q.visible_at {>} $1) AS hidden
              FROM {hub}.orchestrator_queue AS q
              LEFT JOIN {hub}.instance_locks AS l
                ON l.instance_key {=} q.instance_key AND l.instance_id {=} q.instance_id
               AND l.lock_no {=} q.lock_no AND q.lock_no {<>} 0
               AND l.locked_until {>} $2 AND l.lease_inc {=} $3
             WHERE l.instance_key IS NULL) AS m
     CROSS JOIN (SELECT pg_catalog.count(*) AS visible
                   FROM {hub}.worker_queue AS q
                  WHERE q.due {<=} $2
                    AND NOT (q.locked_until {>} $2 AND q.lease_inc {=} $3)) AS w
)sql",
                                     TIMESTAMPTZOID, INT8OID, INT4OID);

// ---------------------------------------------------------------- trees

// In two steps, or the order would be had from a walk along the index of all instances.
constexpr Statement kChildren = query(R"sql(
    WITH c AS MATERIALIZED (
        SELECT i.instance_id
          FROM {hub}.instances AS i
         WHERE i.parent_instance_id {=} $1
    )
    SELECT c.instance_id
      FROM c
     ORDER BY c.instance_id
)sql",
                                      TEXTOID);

// An instance has one parent, so a walk downwards meets each one once; only the instance it began
// with can come back, if the links form a ring.
constexpr Statement kTree = query(R"sql(
    WITH RECURSIVE t(instance_id, parent_instance_id, depth) AS (
        SELECT i.instance_id, i.parent_instance_id, 0
          FROM {hub}.instances AS i
         WHERE i.instance_id {=} $1
        UNION ALL
        SELECT i.instance_id, i.parent_instance_id, t.depth {+} 1
          FROM t
          JOIN {hub}.instances AS i ON i.parent_instance_id {=} t.instance_id
         WHERE i.instance_id {<>} $1
    )
    SELECT t.instance_id, t.parent_instance_id, t.depth
      FROM t
     ORDER BY t.depth, t.instance_id
)sql",
                                  TEXTOID);

constexpr Statement kParent = query(R"sql(
    SELECT i.parent_instance_id
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
)sql",
                                    TEXTOID);

// ---------------------------------------------------------------- one instance

constexpr Statement kHistorySize = query(R"sql(
    SELECT pg_catalog.count(*),
           CAST(COALESCE(pg_catalog.sum(pg_catalog.octet_length(h.event_data)), 0)
                AS pg_catalog.int8)
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2
)sql",
                                         TEXTOID, INT8OID);

constexpr Statement kFirstEvent = query(R"sql(
    SELECT h.event_data
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2 AND h.event_id {=} 1
)sql",
                                        TEXTOID, INT8OID);

constexpr Statement kKvSize = query(R"sql(
    SELECT pg_catalog.count(*),
           CAST(COALESCE(pg_catalog.sum(pg_catalog.octet_length(v.value)), 0) AS pg_catalog.int8)
      FROM (SELECT d.value
              FROM {hub}.kv_delta AS d
             WHERE d.instance_id {=} $1 AND d.value IS NOT NULL
            UNION ALL
            SELECT s.value
              FROM {hub}.kv_store AS s
             WHERE s.instance_id {=} $1
               AND NOT EXISTS (SELECT 1
                                 FROM {hub}.kv_delta AS d
                                WHERE d.instance_id {=} $1 AND d.key {=} s.key)) AS v
)sql",
                                    TEXTOID);

// $1 instance key, $2 instance id, $3 now, $4 max_attempts.
constexpr Statement kMessages = query(R"sql(
    SELECT pg_catalog.count(*) FILTER (WHERE m.visible_at {<=} $3),
           pg_catalog.count(*) FILTER (WHERE m.visible_at {>} $3),
           pg_catalog.count(*) FILTER (WHERE m.visible_at {<=} $3 AND m.attempt_count {>=} $4),
           pg_catalog.count(*) FILTER (WHERE m.visible_at {<=} $3 AND m.kind {=} 'q'),
           pg_catalog.min(m.visible_at) FILTER (WHERE m.visible_at {>} $3),
           pg_catalog.min(m.visible_at)
               FILTER (WHERE m.visible_at {>} $3 AND (m.kind {=} 's' OR m.kind {=} 'n')),
           pg_catalog.count(*)
               FILTER (WHERE m.visible_at {<=} $3 AND (m.kind {=} 's' OR m.kind {=} 'n')),
           pg_catalog.min(m.created_at)
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2
)sql",
                                      INT8OID, TEXTOID, TIMESTAMPTZOID, INT8OID);

constexpr Statement kLiveUntil = query(R"sql(
    SELECT l.locked_until
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
       AND l.locked_until {>} $3 AND l.lease_inc {=} $4
)sql",
                                       INT8OID, TEXTOID, INT8OID, INT4OID);

constexpr Statement kLockPlace = query(R"sql(
    SELECT l.ctid
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
                                       INT8OID, TEXTOID);

constexpr Statement kMessagePlaces = query(R"sql(
    SELECT m.ctid
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2
)sql",
                                           INT8OID, TEXTOID);

// $1 instance, $2 now, $3 incarnation.
constexpr Statement kActivities = query(R"sql(
    SELECT pg_catalog.count(*) FILTER (WHERE NOT a.leased AND NOT a.hidden),
           pg_catalog.count(*) FILTER (WHERE a.leased),
           pg_catalog.count(*) FILTER (WHERE NOT a.leased AND a.hidden)
      FROM (SELECT w.due {>} $2 AS hidden,
                   w.locked_until {>} $2 AND w.lease_inc {=} $3 AS leased
              FROM {hub}.worker_queue AS w
             WHERE w.instance_id {=} $1) AS a
)sql",
                                        TEXTOID, INT8OID, INT4OID);

constexpr Statement kUnfinishedChildren = query(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.parent_instance_id {=} $1 AND COALESCE(e.status, 'Running') {=} 'Running'
)sql",
                                                TEXTOID);

constexpr Statement kDeadLetters = query(R"sql(
    SELECT d.reason, pg_catalog.count(*)
      FROM {hub}.dead_letters AS d
     WHERE d.instance_id {=} $1 AND d.queue {<>} 'intent'
     GROUP BY d.reason
     ORDER BY d.reason
)sql",
                                         TEXTOID);

Params key_params(std::string_view instance_id) {
    return Params().int8(core::instance_key(instance_id)).text(instance_id);
}

}  // namespace

RowHolder holder_of(Oid table, const Rows& places) {
    Relation relation = table_open(table, AccessShareLock);
    TransactionId holder = InvalidTransactionId;
    if (relation->rd_tableam == GetHeapamTableAmRoutine()) {
        for (uint64 i = 0; i < places.count && !TransactionIdIsValid(holder); ++i) {
            HeapTupleData tuple;
            Buffer buffer = InvalidBuffer;
            tuple.t_self =
                *reinterpret_cast<ItemPointer>(DatumGetPointer(places.datum(i, 1, TIDOID)));
            // Whoever found the place has seen the row.
            if (heap_fetch(relation, SnapshotAny, &tuple, &buffer, false)) {
                holder = pg::row_holder(tuple.t_data);
                ReleaseBuffer(buffer);
            }
        }
    }
    table_close(relation, AccessShareLock);
    const bool held = TransactionIdIsValid(holder);
    return {held, held ? BackendXidGetPid(holder) : 0};
}

std::optional<InstancePlace> place_of_instance(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kPlace, Params().text(instance_id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return InstancePlace{DatumGetTimestampTz(rows.datum(0, 1, TIMESTAMPTZOID)), instance_id};
}

Rows list_instances(const Hub& hub, const InstanceFilter& filter,
                    const std::optional<InstancePlace>& after, std::optional<int64> limit) {
    InstancePlace place{core::ms_to_pg_us(filter.created_before.value_or(core::kNever)), ""};
    if (after && after->created_at < place.created_at) {
        place = *after;
    }
    Params params;
    params.timestamp(filter.created_from.value_or(core::kBeforeAll))
        .datum(TimestampTzGetDatum(place.created_at))
        .text(place.instance_id)
        .optional_text(filter.name)
        .optional_text(filter.prefix)
        .optional_int8(limit);
    return filter.status ? run(hub, kListByStatus, params.text(*filter.status))
                         : run(hub, kList, params);
}

Rows list_executions(const Hub& hub, std::string_view instance_id) {
    return run(hub, kExecutions, Params().text(instance_id));
}

Rows instance_info(const Hub& hub, std::string_view instance_id) {
    return run(hub, kInstanceInfo, Params().text(instance_id));
}

Rows execution_info(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    return run(hub, kExecutionInfo, Params().text(instance_id).int8(execution_id));
}

Rows system_metrics(const Hub& hub) {
    return run(hub, kMetrics);
}

Rows queue_depths(const Hub& hub, int64 now) {
    return run(hub, kDepths, Params().timestamp(now).int8(now).int4(live_incarnation(hub)));
}

Rows list_children(const Hub& hub, std::string_view instance_id) {
    return run(hub, kChildren, Params().text(instance_id));
}

Rows instance_tree(const Hub& hub, std::string_view instance_id) {
    return run(hub, kTree, Params().text(instance_id));
}

std::optional<Parent> read_parent(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kParent, Params().text(instance_id));
    return rows.count == 0 ? std::nullopt : std::optional(Parent{rows.optional_text(0, 1)});
}

HistorySize history_size(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    const Rows rows = run(hub, kHistorySize, Params().text(instance_id).int8(execution_id));
    return {rows.int8(0, 1), rows.int8(0, 2)};
}

std::optional<std::string_view> first_event(const Hub& hub, std::string_view instance_id,
                                            int64 execution_id) {
    const Rows rows = run(hub, kFirstEvent, Params().text(instance_id).int8(execution_id));
    return rows.count == 0 ? std::nullopt : std::optional(rows.text(0, 1));
}

KvSize kv_size(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kKvSize, Params().text(instance_id));
    return {rows.int8(0, 1), rows.int8(0, 2)};
}

MessageCounts count_messages(const Hub& hub, std::string_view instance_id, int64 now,
                             int64 max_attempts) {
    const Rows rows =
        run(hub, kMessages, key_params(instance_id).timestamp(now).int8(max_attempts));
    return {.visible = rows.int8(0, 1),
            .hidden = rows.int8(0, 2),
            .exhausted = rows.int8(0, 3),
            .visible_queue_messages = rows.int8(0, 4),
            .next_visible = rows.optional_ms(0, 5),
            .next_start = rows.optional_ms(0, 6),
            .start_visible = rows.int8(0, 7) > 0,
            .oldest_created = rows.optional_ms(0, 8)};
}

std::optional<int64> live_until(const Hub& hub, std::string_view instance_id, int64 now) {
    const Rows rows =
        run(hub, kLiveUntil, key_params(instance_id).int8(now).int4(live_incarnation(hub)));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int8(0, 1));
}

bool is_held(const Hub& hub, std::string_view instance_id) {
    return holder_of(hub.relations.instance_locks, run(hub, kLockPlace, key_params(instance_id)))
               .held ||
           holder_of(hub.relations.orchestrator_queue,
                     run(hub, kMessagePlaces, key_params(instance_id)))
               .held;
}

ActivityCounts count_activities(const Hub& hub, std::string_view instance_id, int64 now) {
    const Rows rows =
        run(hub, kActivities, Params().text(instance_id).int8(now).int4(live_incarnation(hub)));
    return {rows.int8(0, 1), rows.int8(0, 2), rows.int8(0, 3)};
}

int64 count_unfinished_children(const Hub& hub, std::string_view instance_id) {
    return run(hub, kUnfinishedChildren, Params().text(instance_id)).int8(0, 1);
}

Rows count_dead_letters(const Hub& hub, std::string_view instance_id) {
    return run(hub, kDeadLetters, Params().text(instance_id));
}

}  // namespace belay::store
