// What operators read of instances.
//
// May touch: the tables of orchestrations, to read them with the caller's snapshot. Must not: write
// or lock.
#include "store/listing.hpp"

#include "core/hash.hpp"
#include "core/time.hpp"
#include "store/work_of_id.hpp"

namespace belay::store {

namespace {

// Where counts stop.
constexpr int64 kMostCounted = 10000;

// ---------------------------------------------------------------- instances and executions

constexpr auto kPlace = query<In<Text>, Out<Us>>(R"sql(
    SELECT i.created_at FROM {hub}.instances AS i WHERE i.instance_id {=} $1
)sql");

// $1 created from, $2 and $3 the place before, $4 name, $5 prefix, $6 how many are looked at (null:
// all), $7 limit. The place says all about the end of the range: with a second condition on
// created_at a page would begin at the newest.
#define BELAY_NEWEST_INSTANCES                                          \
    "  FROM (SELECT x.instance_id, x.created_at, x.orchestration_name," \
    "               x.current_execution_id"                             \
    "          FROM {hub}.instances AS x"                               \
    "         WHERE x.created_at {>=} $1"                               \
    "           AND ROW(x.created_at, x.instance_id) {<} ROW($2, $3)"   \
    "         ORDER BY x.created_at DESC, x.instance_id DESC LIMIT $6) AS i"
#define BELAY_NAMED_INSTANCE                              \
    "       ($4 IS NULL OR i.orchestration_name {=} $4) " \
    "   AND ($5 IS NULL OR pg_catalog.starts_with(i.instance_id, $5))"
#define BELAY_PRESENT_EXECUTION         \
    "  LEFT JOIN {hub}.executions AS e" \
    "    ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id"
#define BELAY_NEWEST_FIRST " ORDER BY i.created_at DESC, i.instance_id DESC LIMIT $7"

constexpr auto kList =
    query<In<Ms, Us, Text, Maybe<Text>, Maybe<Text>, Maybe<int64>, Maybe<int64>>, Listing>(
        "SELECT i.instance_id" BELAY_NEWEST_INSTANCES
        " WHERE" BELAY_NAMED_INSTANCE BELAY_NEWEST_FIRST);

// The same, $8 status.
constexpr auto kListByStatus =
    query<In<Ms, Us, Text, Maybe<Text>, Maybe<Text>, Maybe<int64>, Maybe<int64>, Text>, Listing>(
        "SELECT i.instance_id" BELAY_NEWEST_INSTANCES BELAY_PRESENT_EXECUTION
        " WHERE" BELAY_NAMED_INSTANCE
        " AND COALESCE(e.status, 'Running') {=} $8" BELAY_NEWEST_FIRST);

// The same of some, $6 their ids, $8 status or null.
constexpr auto kListAmong =
    query<In<Ms, Us, Text, Maybe<Text>, Maybe<Text>, ListOf<Text>, Maybe<int64>, Maybe<Text>>,
          Listing>(
        "WITH i AS MATERIALIZED ("
        "    SELECT x.instance_id, x.created_at, x.orchestration_name, x.current_execution_id"
        "      FROM {hub}.instances AS x"
        "     WHERE x.instance_id {=} ANY ($6)"
        ")"
        "SELECT i.instance_id FROM i" BELAY_PRESENT_EXECUTION " WHERE" BELAY_NAMED_INSTANCE
        " AND i.created_at {>=} $1"
        "   AND ROW(i.created_at, i.instance_id) {<} ROW($2, $3)"
        "   AND ($8 IS NULL OR COALESCE(e.status, 'Running') {=} $8)" BELAY_NEWEST_FIRST);

// $1 created from, $2 and $3 the place before, $4 how many.
constexpr auto kHasBehind = query<In<Ms, Us, Text, int64>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.instances AS i
     WHERE i.created_at {>=} $1 AND ROW(i.created_at, i.instance_id) {<} ROW($2, $3)
     ORDER BY i.created_at DESC, i.instance_id DESC
    OFFSET $4
     LIMIT 1
)sql");

// $1 limit.
#define BELAY_OF_STATUS(STATUS, TIME)                                             \
    "SELECT e.instance_id FROM {hub}.executions AS e WHERE e.status {=} '" STATUS \
    "' ORDER BY " TIME ", e.instance_id LIMIT $1"
constexpr auto kFailed = query<In<int64>, Out<Text>>(BELAY_OF_STATUS("Failed", "e.completed_at"));
constexpr auto kRunning = query<In<int64>, Out<Text>>(BELAY_OF_STATUS("Running", "e.started_at"));

// $1 prefix, $2 limit. Ids with one prefix stand side by side.
constexpr auto kWithPrefix = query<In<Text, int64>, Out<Text>>(R"sql(
    SELECT i.instance_id
      FROM (SELECT x.instance_id
              FROM {hub}.instances AS x
             WHERE x.instance_id {>=} $1
             ORDER BY x.instance_id
             LIMIT $2) AS i
     WHERE pg_catalog.starts_with(i.instance_id, $1)
)sql");

constexpr auto kExecutions = query<In<Text>, Listing>(R"sql(
    SELECT e.execution_id
      FROM {hub}.executions AS e
     WHERE e.instance_id {=} $1
     ORDER BY e.execution_id
)sql");

constexpr auto kInstanceInfo = query<In<Text>, InstanceInfo>(R"sql(
    SELECT i.instance_id, i.orchestration_name, COALESCE(i.orchestration_version, 'unknown'),
           i.current_execution_id, i.created_at, i.updated_at, COALESCE(e.status, 'Running'),
           e.output, i.parent_instance_id
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.instance_id {=} $1
)sql");

constexpr auto kExecutionInfo = query<In<Text, int64>, Listing>(R"sql(
    SELECT e.execution_id, e.status, e.output, e.started_at, e.completed_at,
           (SELECT CAST(COALESCE(pg_catalog.sum((t.last_event_id {-} t.first_event_id) {+} 1), 0)
                        AS pg_catalog.int8)
              FROM {hub}.history_turns AS t
             WHERE t.instance_id {=} e.instance_id AND t.execution_id {=} e.execution_id)
      FROM {hub}.executions AS e
     WHERE e.instance_id {=} $1 AND e.execution_id {=} $2
)sql");

// $1 the table of turns of histories, $2 how many of its rows are read at most. Of more, totals are
// as the last vacuum or analyze found them. Of arrays the server notes last how many different
// elements they have on average, and no two events of a turn are the same.
constexpr auto kMetrics = report<In<ObjectId, int64>, Listing>(R"sql(
    SELECT c.instances, x.executions, c.running, c.completed, c.failed,
           CASE WHEN EXISTS (SELECT 1 FROM {hub}.history_turns AS t
                              ORDER BY t.instance_id, t.execution_id, t.last_event_id
                             OFFSET $2 LIMIT 1)
                THEN (SELECT CAST(GREATEST($2, h.reltuples
                                 {*} COALESCE(s.elem_count_histogram[
                                         pg_catalog.cardinality(s.elem_count_histogram)], 1))
                                  AS pg_catalog.int8)
                        FROM pg_catalog.pg_class AS h
                        JOIN pg_catalog.pg_namespace AS n ON n.oid {=} h.relnamespace
                        LEFT JOIN pg_catalog.pg_stats AS s
                          ON s.schemaname {=} n.nspname AND s.tablename {=} h.relname
                         AND s.attname {=} 'event_data'
                       WHERE h.oid {=} $1)
                ELSE (SELECT CAST(COALESCE(pg_catalog.sum((t.last_event_id {-} t.first_event_id)
                                                          {+} 1), 0) AS pg_catalog.int8)
                        FROM {hub}.history_turns AS t) END
      FROM (SELECT pg_catalog.count(*) AS instances,
                   pg_catalog.count(*) FILTER (WHERE COALESCE(e.status, 'Running') {=} 'Running')
                       AS running,
                   pg_catalog.count(*) FILTER (WHERE e.status {=} 'Completed') AS completed,
                   pg_catalog.count(*) FILTER (WHERE e.status {=} 'Failed') AS failed
              FROM {hub}.instances AS i
              LEFT JOIN {hub}.executions AS e
                ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
           ) AS c
     CROSS JOIN (SELECT pg_catalog.count(*) AS executions FROM {hub}.executions AS e) AS x
)sql");

// Whether there are more than $1 instances, or executions.
constexpr auto kAreMany = query<In<int64>, Out<bool>>(R"sql(
    SELECT EXISTS (SELECT 1 FROM {hub}.instances AS i ORDER BY i.instance_id OFFSET $1 LIMIT 1)
        OR EXISTS (SELECT 1 FROM {hub}.executions AS e
                    ORDER BY e.instance_id, e.execution_id OFFSET $1 LIMIT 1)
)sql");

// $1, $2 and $3 the tables of instances, executions and turns of histories, $4 where counts stop.
// Totals as the last vacuum or analyze found them, events as above; of each status the count, or
// above the limit its share among the executions that were sampled.
constexpr auto kEstimatedMetrics = query<In<ObjectId, ObjectId, ObjectId, int64>, Listing>(R"sql(
    WITH sampled AS MATERIALIZED (
        SELECT v.status, v.share
          FROM pg_catalog.pg_stats AS s
          JOIN pg_catalog.pg_class AS c ON c.relname {=} s.tablename
          JOIN pg_catalog.pg_namespace AS n
            ON n.oid {=} c.relnamespace AND n.nspname {=} s.schemaname
         CROSS JOIN LATERAL ROWS FROM (
            pg_catalog.unnest(CAST(CAST(s.most_common_vals AS pg_catalog.text)
                                   AS pg_catalog.text[])),
            pg_catalog.unnest(s.most_common_freqs)) AS v(status, share)
         WHERE c.oid {=} $2 AND s.attname {=} 'status'
    ), total AS MATERIALIZED (
        SELECT GREATEST(i.reltuples, $4) AS instances, GREATEST(x.reltuples, $4) AS executions,
               GREATEST(h.reltuples, 0)
                   {*} COALESCE((SELECT s.elem_count_histogram[
                                            pg_catalog.cardinality(s.elem_count_histogram)]
                                   FROM pg_catalog.pg_stats AS s
                                  WHERE s.schemaname {=} n.nspname AND s.tablename {=} h.relname
                                    AND s.attname {=} 'event_data'), 1) AS events
          FROM pg_catalog.pg_class AS i
         CROSS JOIN pg_catalog.pg_class AS x
         CROSS JOIN pg_catalog.pg_class AS h
          JOIN pg_catalog.pg_namespace AS n ON n.oid {=} h.relnamespace
         WHERE i.oid {=} $1 AND x.oid {=} $2 AND h.oid {=} $3
    ), estimate AS MATERIALIZED (
        SELECT COALESCE(pg_catalog.sum(s.share) FILTER (WHERE s.status {=} 'Running'), 0)
                   {*} t.executions AS running,
               COALESCE(pg_catalog.sum(s.share) FILTER (WHERE s.status {=} 'Completed'), 0)
                   {*} t.executions AS completed,
               COALESCE(pg_catalog.sum(s.share) FILTER (WHERE s.status {=} 'Failed'), 0)
                   {*} t.executions AS failed
          FROM total AS t
          LEFT JOIN sampled AS s ON true
         GROUP BY t.executions
    )
    SELECT CAST(t.instances AS pg_catalog.int8), CAST(t.executions AS pg_catalog.int8),
           CASE WHEN r.rows {<} $4 THEN r.rows
                ELSE CAST(GREATEST($4, e.running) AS pg_catalog.int8) END,
           CAST(e.completed AS pg_catalog.int8),
           CASE WHEN f.rows {<} $4 THEN f.rows
                ELSE CAST(GREATEST($4, e.failed) AS pg_catalog.int8) END,
           CAST(t.events AS pg_catalog.int8)
      FROM total AS t
     CROSS JOIN estimate AS e
     CROSS JOIN (SELECT pg_catalog.count(*) AS rows
                   FROM (SELECT 1 FROM {hub}.executions AS y WHERE y.status {=} 'Running'
                          ORDER BY y.started_at LIMIT $4) AS a) AS r
     CROSS JOIN (SELECT pg_catalog.count(*) AS rows
                   FROM (SELECT 1 FROM {hub}.executions AS y WHERE y.status {=} 'Failed'
                          ORDER BY y.completed_at LIMIT $4) AS a) AS f
)sql");

// $1 now, $2 now in ms, $3 incarnation, $4 where counts stop, $5 slots.
constexpr auto kDepths = query<In<Ms, int64, int32, int64, ListOf<int16>>, Listing>(R"sql(
    SELECT m.visible, w.items, m.hidden
      FROM (SELECT pg_catalog.count(*) FILTER (WHERE u.visible_at {<=} $1) AS visible,
                   pg_catalog.count(*) FILTER (WHERE u.visible_at {>} $1) AS hidden
              FROM ((SELECT q.instance_key, q.instance_id, q.lock_no, q.visible_at
                       FROM {hub}.orchestrator_queue AS q
                      WHERE NOT q.parked AND q.slot {=} ANY ($5) AND q.visible_at {<=} $1
                      LIMIT $4)
                    UNION ALL
                    (SELECT q.instance_key, q.instance_id, q.lock_no, q.visible_at
                       FROM {hub}.orchestrator_queue AS q
                      WHERE NOT q.parked AND q.slot {=} ANY ($5) AND q.visible_at {>} $1
                      LIMIT $4)
                    UNION ALL
                    (SELECT q.instance_key, q.instance_id, q.lock_no, q.visible_at
                       FROM {hub}.orchestrator_queue AS q
                      WHERE q.parked
                      ORDER BY q.created_at
                      LIMIT $4)) AS u
             WHERE u.lock_no {=} 0
                OR NOT EXISTS (SELECT 1
                                 FROM {hub}.instance_locks AS l
                                WHERE l.instance_key {=} u.instance_key
                                  AND l.instance_id {=} u.instance_id AND l.lock_no {=} u.lock_no
                                  AND l.locked_until {>} $2 AND l.lease_inc {=} $3)) AS m
     CROSS JOIN (SELECT pg_catalog.count(*) FILTER (
                            WHERE x.due {<=} $2
                              AND NOT (x.locked_until {>} $2 AND x.lease_inc {=} $3)) AS items
                   FROM (SELECT q.due, q.locked_until, q.lease_inc
                           FROM {hub}.worker_queue AS q
                          ORDER BY q.lane, q.slot, q.due, q.id
                          LIMIT $4) AS x) AS w
)sql");

// ---------------------------------------------------------------- trees

// In two steps, or the order would be had from a walk along the index of all instances.
constexpr auto kChildren = query<In<Text>, Listing>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT i.instance_id
          FROM {hub}.instances AS i
         WHERE i.parent_instance_id {=} $1
    )
    SELECT c.instance_id FROM c ORDER BY c.instance_id
)sql");

// An instance has one parent, so a walk downwards meets each one once; only the instance it began
// with can come back, if the links form a ring.
constexpr auto kTree = query<In<Text>, Listing>(R"sql(
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
)sql");

constexpr auto kParent = query<In<Text>, Out<Maybe<Text>>>(R"sql(
    SELECT i.parent_instance_id FROM {hub}.instances AS i WHERE i.instance_id {=} $1
)sql");

// ---------------------------------------------------------------- one instance

constexpr auto kHistorySize = query<In<Text, int64>, Out<int64, int64>>(R"sql(
    SELECT pg_catalog.count(*),
           CAST(COALESCE(pg_catalog.sum(pg_catalog.octet_length(e.event_data)), 0)
                AS pg_catalog.int8)
      FROM {hub}.history_turns AS t
     CROSS JOIN LATERAL pg_catalog.unnest(t.event_data) AS e (event_data)
     WHERE t.instance_id {=} $1 AND t.execution_id {=} $2
)sql");

constexpr auto kFirstEvent = query<In<Text, int64>, Out<Text>>(R"sql(
    SELECT h.event_data[1]
      FROM (SELECT t.first_event_id, t.event_data
              FROM {hub}.history_turns AS t
             WHERE t.instance_id {=} $1 AND t.execution_id {=} $2
             ORDER BY t.last_event_id
             LIMIT 1) AS h
     WHERE h.first_event_id {=} 1
)sql");

constexpr auto kKvSize = query<In<Text>, Out<int64, int64>>(R"sql(
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
)sql");

// $1 instance key, $2 instance id, $3 now, $4 max_attempts.
constexpr auto kMessages =
    query<In<int64, Text, Ms, int64>,
          Out<int64, int64, int64, int64, Maybe<Ms>, Maybe<Ms>, int64, Maybe<Ms>>>(
        R"sql(
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
)sql");

constexpr auto kLiveUntil = query<In<int64, Text, int64, int32>, Out<int64>>(R"sql(
    SELECT l.locked_until
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
       AND l.locked_until {>} $3 AND l.lease_inc {=} $4
)sql");

constexpr auto kLockPlace = query<In<int64, Text>, Places>(R"sql(
    SELECT l.ctid
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql");

constexpr auto kMessagePlaces = query<In<int64, Text>, Places>(R"sql(
    SELECT m.ctid
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2
)sql");

// $1 instance, $2 now, $3 incarnation.
constexpr auto kActivities = query<In<Text, int64, int32>, Out<int64, int64, int64>>(R"sql(
    SELECT pg_catalog.count(*) FILTER (WHERE NOT a.leased AND NOT a.hidden),
           pg_catalog.count(*) FILTER (WHERE a.leased),
           pg_catalog.count(*) FILTER (WHERE NOT a.leased AND a.hidden)
      FROM (SELECT w.due {>} $2 AS hidden,
                   w.locked_until {>} $2 AND w.lease_inc {=} $3 AS leased
              FROM {hub}.worker_queue AS w
             WHERE w.instance_id {=} $1) AS a
)sql");

constexpr auto kUnfinishedChildren = query<In<Text>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.parent_instance_id {=} $1 AND COALESCE(e.status, 'Running') {=} 'Running'
)sql");

// $1 instance, $2 now, $3 incarnation, $4 limit.
constexpr auto kAwaitedActivities = query<In<Text, int64, int32, int64>, AwaitedActivities>(R"sql(
    SELECT a.activity_id, a.work_item, CASE WHEN a.leased THEN a.locked_by END, a.attempt_count,
           CASE WHEN a.leased THEN a.locked_until END,
           CASE WHEN NOT a.leased AND a.due {>} $2 THEN a.due END
      FROM (SELECT w.activity_id, w.id, w.work_item, w.locked_by, w.attempt_count, w.locked_until,
                   w.due, w.locked_until {>} $2 AND w.lease_inc {=} $3 AS leased
              FROM {hub}.worker_queue AS w
             WHERE w.instance_id {=} $1
             LIMIT $4) AS a
     ORDER BY a.activity_id, a.id
)sql");

// Sets of one instance are small, and found by its key; the order of the whole is not to tempt the
// planner into walking over all messages, or all instances.
// $1 key, $2 instance, $3 now, $4 limit.
constexpr auto kAwaitedMessages = query<In<int64, Text, Ms, int64>, AwaitedMessages>(R"sql(
    WITH own AS MATERIALIZED (
        SELECT m.work_item, m.visible_at, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.instance_id {=} $2
    )
    SELECT o.work_item, o.visible_at
      FROM own AS o
     WHERE o.visible_at {>} $3
     ORDER BY o.visible_at, o.id
     LIMIT $4
)sql");

// $1 instance, $2 limit.
constexpr auto kRunningChildren = query<In<Text, int64>, Out<Text>>(R"sql(
    WITH child AS MATERIALIZED (
        SELECT i.instance_id, i.current_execution_id
          FROM {hub}.instances AS i
         WHERE i.parent_instance_id {=} $1
    )
    SELECT c.instance_id
      FROM child AS c
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} c.instance_id AND e.execution_id {=} c.current_execution_id
     WHERE COALESCE(e.status, 'Running') {=} 'Running'
     ORDER BY c.instance_id
     LIMIT $2
)sql");

// $1 instance, $2 limit. Events answer the subscriptions of their name in order; a cancelled
// subscription is named by what cancels it. Looks at the last 1,000 events of the execution.
constexpr auto kAwaitedEvents = query<In<Text, int64>, Out<Text>>(R"sql(
    WITH h AS MATERIALIZED (
        SELECT y.event_id, y.event_type, y.event_data
          FROM {hub}.instances AS i
         CROSS JOIN LATERAL (
            SELECT t.first_event_id {+} (e.place {-} 1) AS event_id, e.event_type, e.event_data
              FROM {hub}.history_turns AS t
             CROSS JOIN LATERAL ROWS FROM (
                pg_catalog.unnest(t.event_types), pg_catalog.unnest(t.event_data))
              WITH ORDINALITY AS e (event_type, event_data, place)
             WHERE t.instance_id {=} i.instance_id AND t.execution_id {=} i.current_execution_id
             ORDER BY t.last_event_id DESC, e.place DESC
             LIMIT 1000) AS y
         WHERE i.instance_id {=} $1
    ), named AS MATERIALIZED (
        SELECT h.event_id, h.event_type {=} ANY (ARRAY['ExternalSubscribed',
                   'ExternalSubscribedPersistent']) AS subscribed,
               (pg_catalog.regexp_match(h.event_data, '"name"\s*:\s*"([^"\\]*)"'))[1] AS name
          FROM h
         WHERE h.event_type {=} ANY (ARRAY['ExternalSubscribed', 'ExternalSubscribedPersistent',
                   'ExternalEvent', 'ExternalEventPersistent'])
           AND NOT EXISTS (
                SELECT 1
                  FROM h AS c
                 WHERE c.event_type {=} ANY (ARRAY['ExternalSubscribedCancelled',
                           'ExternalSubscribedPersistentCancelled'])
                   AND (pg_catalog.regexp_match(c.event_data,
                           '"source_event_id"\s*:\s*(\d+)'))[1]
                       {=} CAST(h.event_id AS pg_catalog.text))
    )
    SELECT s.name
      FROM (SELECT n.name, n.event_id,
                   pg_catalog.row_number() OVER (PARTITION BY n.name ORDER BY n.event_id) AS place
              FROM named AS n
             WHERE n.subscribed AND n.name IS NOT NULL) AS s
     WHERE s.place {>} (SELECT pg_catalog.count(*)
                          FROM named AS e
                         WHERE NOT e.subscribed AND e.name {=} s.name)
     ORDER BY s.event_id
     LIMIT $2
)sql");

constexpr auto kDeadLetters = query<In<Text>, DeadLetterCounts>(R"sql(
    SELECT d.reason, pg_catalog.count(*)
      FROM {hub}.dead_letters AS d
     WHERE d.instance_id {=} $1 AND d.queue {<>} 'intent'
     GROUP BY d.reason
     ORDER BY d.reason
)sql");

constexpr auto kWorkPlace =
    query<In<int64>, Places>(BELAY_WORK_OF_ID "SELECT w.ctid" BELAY_FROM_FOUND);

}  // namespace

std::optional<InstancePlace> place_of_instance(const Hub& hub, std::string_view instance_id) {
    return run(hub, kPlace, instance_id).first([instance_id](Us created_at) {
        return InstancePlace{created_at.value, instance_id};
    });
}

namespace {

// Looking one up by its id costs as much as passing over so many more in their order.
constexpr int64 kMostLookups = 1000;
constexpr int64 kMostExamined = 10000;

// The ids that an index has for the filter, if these are few. Only a walk finds what runs without
// an execution row; where there are few instances it does.
std::optional<std::span<const std::string_view>> find_candidates(const Hub& hub,
                                                                 const InstanceFilter& filter,
                                                                 bool many) {
    const auto few = [](std::span<const std::string_view> ids) {
        return ids.size() <= static_cast<std::size_t>(kMostLookups) ? std::optional(ids)
                                                                    : std::nullopt;
    };
    if (filter.prefix) {
        if (const auto ids =
                few(run(hub, kWithPrefix, *filter.prefix, kMostLookups + 1).values())) {
            return ids;
        }
    }
    if (filter.status && *filter.status == "Failed") {
        return few(run(hub, kFailed, kMostLookups + 1).values());
    }
    if (filter.status && *filter.status == "Running" && many) {
        return few(run(hub, kRunning, kMostLookups + 1).values());
    }
    return std::nullopt;
}

}  // namespace

InstanceList list_instances(const Hub& hub, const InstanceFilter& filter,
                            const std::optional<InstancePlace>& after, std::optional<int64> limit,
                            bool bounded) {
    InstancePlace place{core::ms_to_pg_us(filter.created_before.value_or(core::kNever)), ""};
    if (after && after->created_at < place.created_at) {
        place = *after;
    }
    const Ms from{filter.created_from.value_or(core::kBeforeAll)};
    const auto list = [&](const auto& statement, const auto& looked_at, const auto&... status) {
        return run(hub, statement, from, Us{place.created_at}, place.instance_id, filter.name,
                   filter.prefix, looked_at, limit, status...);
    };
    const auto has_behind = [&](int64 count) {
        return run_any(hub, kHasBehind, from, Us{place.created_at}, place.instance_id, count);
    };
    if (!filter.status && !filter.name && !filter.prefix) {
        return {list(kList, std::optional<int64>()), true};
    }
    if (const auto ids = find_candidates(hub, filter, bounded && has_behind(kMostLookups))) {
        return {list(kListAmong, *ids, filter.status), true};
    }
    const auto most = bounded ? std::optional(kMostExamined) : std::nullopt;
    const Listing rows =
        filter.status ? list(kListByStatus, most, *filter.status) : list(kList, most);
    const bool whole = !bounded || (limit && rows.count == static_cast<uint64>(*limit)) ||
                       !has_behind(kMostExamined);
    return {rows, whole};
}

Listing list_executions(const Hub& hub, std::string_view instance_id) {
    return run(hub, kExecutions, instance_id);
}

InstanceInfo instance_info(const Hub& hub, std::string_view instance_id) {
    return run(hub, kInstanceInfo, instance_id);
}

Listing execution_info(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    return run(hub, kExecutionInfo, instance_id, execution_id);
}

Listing system_metrics(const Hub& hub) {
    if (!run_for_one(hub, kAreMany, kMostCounted)) {
        return run(hub, kMetrics, ObjectId{hub.relations.history_turns}, kMostCounted);
    }
    return run(hub, kEstimatedMetrics, ObjectId{hub.relations.instances},
               ObjectId{hub.relations.executions}, ObjectId{hub.relations.history_turns},
               kMostCounted);
}

Listing queue_depths(const Hub& hub, int64 now) {
    const auto count = static_cast<std::size_t>(hub.options[Option::kSlotCount]);
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * count));
    for (std::size_t i = 0; i < count; ++i) {
        slots[i] = static_cast<int16>(i);
    }
    return run(hub, kDepths, Ms{now}, now, live_incarnation(hub), kMostCounted,
               std::span<const int16>(slots, count));
}

Listing list_children(const Hub& hub, std::string_view instance_id) {
    return run(hub, kChildren, instance_id);
}

Listing instance_tree(const Hub& hub, std::string_view instance_id) {
    return run(hub, kTree, instance_id);
}

std::optional<Parent> read_parent(const Hub& hub, std::string_view instance_id) {
    return run(hub, kParent, instance_id).first<Parent>();
}

HistorySize history_size(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    const auto [events, bytes] = run_for_one(hub, kHistorySize, instance_id, execution_id);
    return {events, bytes};
}

std::optional<std::string_view> first_event(const Hub& hub, std::string_view instance_id,
                                            int64 execution_id) {
    return run_one(hub, kFirstEvent, instance_id, execution_id);
}

KvSize kv_size(const Hub& hub, std::string_view instance_id) {
    const auto [keys, bytes] = run_for_one(hub, kKvSize, instance_id);
    return {keys, bytes};
}

MessageCounts count_messages(const Hub& hub, std::string_view instance_id, int64 now,
                             int64 max_attempts) {
    const auto [visible, hidden, exhausted, queued, next_visible, next_start, starts, oldest] =
        run_for_one(hub, kMessages, core::instance_key(instance_id), instance_id, Ms{now},
                    max_attempts);
    return {.visible = visible,
            .hidden = hidden,
            .exhausted = exhausted,
            .visible_queue_messages = queued,
            .next_visible = value_of(next_visible),
            .next_start = value_of(next_start),
            .start_visible = starts > 0,
            .oldest_created = value_of(oldest)};
}

std::optional<int64> live_until(const Hub& hub, std::string_view instance_id, int64 now) {
    return run_one(hub, kLiveUntil, core::instance_key(instance_id), instance_id, now,
                   live_incarnation(hub));
}

std::optional<OpenTransaction> instance_holder(const Hub& hub, std::string_view instance_id) {
    const int64 key = core::instance_key(instance_id);
    if (const auto holder = key_holder(hub, pg::LockSpace::kInstance, static_cast<uint64>(key))) {
        return holder;
    }
    if (const auto holder = key_holder(hub, pg::LockSpace::kAllInstances, 0)) {
        // Shared it is held with the key of one instance; alone it holds all of them.
        if (!pg::try_lock_instance(hub.schema, key)) {
            return holder;
        }
        pg::unlock_instance(hub.schema, key);
    }
    if (const auto holder =
            row_holder(hub, hub.relations.instance_locks, run(hub, kLockPlace, key, instance_id))) {
        return holder;
    }
    return row_holder(hub, hub.relations.orchestrator_queue,
                      run(hub, kMessagePlaces, key, instance_id));
}

std::optional<OpenTransaction> work_holder(const Hub& hub, int64 id,
                                           std::optional<std::string_view> session_id) {
    if (const auto holder = row_holder(hub, hub.relations.worker_queue, run(hub, kWorkPlace, id))) {
        return holder;
    }
    return session_id ? key_holder(hub, pg::LockSpace::kSession, core::fnv1a64(*session_id))
                      : std::nullopt;
}

ActivityCounts count_activities(const Hub& hub, std::string_view instance_id, int64 now) {
    const auto [ready, leased, delayed] =
        run_for_one(hub, kActivities, instance_id, now, live_incarnation(hub));
    return {ready, leased, delayed};
}

int64 count_unfinished_children(const Hub& hub, std::string_view instance_id) {
    return run_for_one(hub, kUnfinishedChildren, instance_id);
}

AwaitedActivities awaited_activities(const Hub& hub, std::string_view instance_id, int64 now,
                                     int limit) {
    return run(hub, kAwaitedActivities, instance_id, now, live_incarnation(hub), limit);
}

AwaitedMessages awaited_messages(const Hub& hub, std::string_view instance_id, int64 now,
                                 int limit) {
    return run(hub, kAwaitedMessages, core::instance_key(instance_id), instance_id, Ms{now}, limit);
}

Out<Text> running_children(const Hub& hub, std::string_view instance_id, int limit) {
    return run(hub, kRunningChildren, instance_id, limit);
}

Out<Text> awaited_events(const Hub& hub, std::string_view instance_id, int limit) {
    return run(hub, kAwaitedEvents, instance_id, limit);
}

DeadLetterCounts count_dead_letters(const Hub& hub, std::string_view instance_id) {
    return run(hub, kDeadLetters, instance_id);
}

}  // namespace belay::store
