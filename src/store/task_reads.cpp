// What readers ask of tasks: with the caller's snapshot, without locks.
// May touch: the tables of tasks, to read them. Must not: write or lock.
#include "store/task_reads.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/list.hpp"
#include "store/flow_reads.hpp"
#include "store/queues.hpp"
#include "store/limits.hpp"
#include "store/listing.hpp"
#include "store/sparse.hpp"
#include "store/suspensions.hpp"
#include "store/tasks.hpp"

namespace belay::store {

namespace {

// The last attempts; the details of their errors as far as 1 MiB reaches, from the last one on.
constexpr auto kJson = query<In<pg_uuid_t>, Out<Jsonb*>>(R"sql(
    SELECT pg_catalog.jsonb_build_object(
               'task_id', t.id, 'state', t.state, 'queue', t.queue, 'kind', t.kind,
               'priority', t.priority, 'flow_id', t.flow_id, 'flow_key', t.flow_key,
               'lifecycle_phase', s.lifecycle_phase, 'ownership_state', s.ownership_state,
               'eligibility_state', s.eligibility_state, 'public_state', s.public_state,
               'attempt_state', s.attempt_state, 'blocking_reason', s.blocking_reason,
               'terminal_outcome', s.terminal_outcome, 'pending_attempt', t.pending_attempt,
               'available_at_ms', t.available_at_ms, 'deadline_ms', t.deadline_ms,
               'attempt_index', t.attempt_index, 'retry_count', t.retry_count,
               'reclaim_count', t.reclaim_count, 'replay_count', t.replay_count,
               'lease_epoch', t.lease_epoch, 'dedup_key', t.dedup_key,
               'capabilities', COALESCE((SELECT pg_catalog.to_jsonb(c.tokens)
                                           FROM {hub}.capability_sets AS c
                                          WHERE c.id {=} t.cap_set),
                                        pg_catalog.jsonb_build_array()))
           {||} pg_catalog.jsonb_build_object(
               'lease', CASE WHEN t.state {=} 'active' THEN pg_catalog.jsonb_build_object(
                    'lease_id', pg_catalog.concat('belay:', t.id, ':', t.attempt_index, ':',
                                                  t.lease_epoch),
                    'epoch', t.lease_epoch, 'worker', t.lease_worker,
                    'worker_instance', t.lease_owner, 'until_ms', t.lease_until_ms,
                    'live', s.ownership_state {=} 'leased') END,
               'progress', CASE WHEN t.progress_at_ms IS NOT NULL
                    THEN pg_catalog.jsonb_build_object('percent', t.progress_pct, 'message',
                             t.progress_message, 'at_ms', t.progress_at_ms) END,
               'failure', CASE WHEN t.failure_class IS NOT NULL
                    THEN pg_catalog.jsonb_build_object('class', t.failure_class, 'message',
                             t.failure_message, 'details', t.failure_details) END,
               'cancel_reason', t.cancel_reason, 'cancelled_by', t.cancelled_by,
               'payload', t.payload, 'result', t.result, 'checkpoint', t.checkpoint,
               'tags', t.tags, 'policy', t.policy, 'created_at_ms', t.created_at_ms,
               'started_at_ms', t.started_at_ms, 'updated_at_ms', t.updated_at_ms,
               'terminal_at_ms', t.terminal_at_ms,
               'attempts', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'attempt_index', a.attempt_index, 'kind', a.kind, 'outcome', a.outcome,
                        'epoch', a.lease_epoch, 'lease_count', a.lease_count, 'worker', a.worker,
                        'worker_instance', a.worker_instance, 'started_ms', a.started_ms,
                        'ended_ms', a.ended_ms,
                        'error', CASE WHEN a.bytes {>} 1048576
                            THEN (a.error {-} CAST('details' AS pg_catalog.text))
                                 {||} pg_catalog.jsonb_build_object('truncated', true)
                            ELSE a.error END) ORDER BY a.attempt_index)
                   FROM (SELECT x.attempt_index, x.kind, x.outcome, x.lease_epoch, x.lease_count,
                                x.worker,
                                x.worker_instance, x.started_ms, x.ended_ms, x.error,
                                pg_catalog.sum(COALESCE(pg_catalog.pg_column_size(x.error), 0))
                                    OVER (ORDER BY x.attempt_index DESC) AS bytes
                           FROM {hub}.task_attempts AS x
                          WHERE x.task_id {=} t.id
                          ORDER BY x.attempt_index DESC
                          LIMIT 1000) AS a), pg_catalog.jsonb_build_array()))
      FROM {hub}.tasks AS t
      JOIN {hub}.task_states AS s ON s.task_id {=} t.id
     WHERE t.id {=} $1
)sql");

// $1 id, $2 now. A delayed task that is due can be claimed.
constexpr auto kStatus = query<In<pg_uuid_t, int64>, TaskStatus>(R"sql(
    SELECT t.id, t.queue, t.kind,
           CASE WHEN t.state {=} 'delayed' AND t.available_at_ms {<=} $2 THEN 'ready'
                ELSE t.state END,
           t.attempt_index, t.result,
           CASE WHEN t.state {=} 'cancelled' THEN t.cancel_reason ELSE t.failure_message END,
           CASE WHEN t.state {=} 'cancelled' THEN 'cancelled' ELSE t.failure_class END,
           t.progress_pct, t.progress_message, t.lease_worker, t.created_at_ms,
           CASE WHEN t.terminal_at_ms IS NULL THEN t.available_at_ms END,
           t.started_at_ms, t.lease_until_ms, t.deadline_ms, t.terminal_at_ms
      FROM {hub}.tasks AS t
     WHERE t.id {=} $1
)sql");

// $1 after, $2 limit, $3 queue, $4 states, $5 flow, $6 kind, $7 tags, $8 worker, $9 instance,
// $10 and $11 created, $12 pending.
#define BELAY_LISTED_TASK                                                                          \
    "SELECT t.id, t.state, t.queue, t.kind, t.priority, t.flow_id, t.flow_key, t.pending_attempt," \
    "       t.attempt_index, t.retry_count, t.reclaim_count, t.replay_count, t.available_at_ms,"   \
    "       t.deadline_ms, t.lease_worker, t.lease_owner, t.lease_epoch, t.lease_until_ms,"        \
    "       t.failure_class, t.cancel_reason, t.tags, t.created_at_ms, t.updated_at_ms,"           \
    "       t.terminal_at_ms"
#define BELAY_LISTED_FITS                              \
    "   ($3 IS NULL OR t.queue {=} $3)"                \
    "   AND ($4 IS NULL OR t.state {=} ANY ($4))"      \
    "   AND ($5 IS NULL OR t.flow_id {=} $5)"          \
    "   AND ($6 IS NULL OR t.kind {=} $6)"             \
    "   AND ($7 IS NULL OR t.tags {@>} $7)"            \
    "   AND ($8 IS NULL OR t.lease_worker {=} $8)"     \
    "   AND ($9 IS NULL OR t.lease_owner {=} $9)"      \
    "   AND ($10 IS NULL OR t.created_at_ms {>=} $10)" \
    "   AND ($11 IS NULL OR t.created_at_ms {<=} $11)" \
    "   AND ($12 IS NULL OR t.pending_attempt {=} $12)"
template <typename Last>
using ListIn = In<pg_uuid_t, int64, Maybe<Text>, Maybe<ListOf<Text>>, Maybe<pg_uuid_t>, Maybe<Text>,
                  Jsonb*, Maybe<Text>, Maybe<Text>, Maybe<int64>, Maybe<int64>, Maybe<Text>, Last>;

// $13 how many tasks are looked at.
constexpr auto kList = query<ListIn<int64>, Listing>(
    BELAY_LISTED_TASK
    "  FROM (SELECT x.* FROM {hub}.tasks AS x WHERE x.id {>} $1 ORDER BY x.id LIMIT $13) AS t"
    " WHERE " BELAY_LISTED_FITS " ORDER BY t.id LIMIT $2");

// $13 ids.
constexpr auto kListAmong = query<ListIn<ListOf<pg_uuid_t>>, Listing>(
    BELAY_LISTED_TASK
    "  FROM {hub}.tasks AS t WHERE t.id {=} ANY ($13) AND t.id {>} $1 AND " BELAY_LISTED_FITS
    " ORDER BY t.id LIMIT $2");

// $1 id, $2 how many.
constexpr auto kHasBehind = query<In<pg_uuid_t, int64>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.tasks AS t
     WHERE t.id {>} $1
     ORDER BY t.id
    OFFSET $2
     LIMIT 1
)sql");

// $1 states, $2 most. Tasks in states that have an index.
constexpr auto kInStates = query<In<ListOf<Text>, int64>, Out<pg_uuid_t>>(R"sql(
    SELECT u.id
      FROM ((SELECT t.id FROM {hub}.tasks AS t
              WHERE t.state {=} 'ready' AND 'ready' {=} ANY ($1)
              ORDER BY t.queue, t.slot, t.cap_set, t.priority DESC LIMIT $2)
            UNION ALL
            (SELECT t.id FROM {hub}.tasks AS t
              WHERE t.state {=} 'delayed' AND 'delayed' {=} ANY ($1)
              ORDER BY t.available_at_ms LIMIT $2)
            UNION ALL
            (SELECT t.id FROM {hub}.tasks AS t
              WHERE t.state {=} 'active' AND 'active' {=} ANY ($1)
              ORDER BY t.lease_check_ms LIMIT $2)
            UNION ALL
            (SELECT t.id FROM {hub}.tasks AS t
              WHERE t.state {=} ANY (ARRAY['blocked', 'suspended']) AND t.state {=} ANY ($1)
              ORDER BY t.state, t.queue LIMIT $2)
            UNION ALL
            (SELECT t.id FROM {hub}.tasks AS t
              WHERE t.state {=} ANY (ARRAY['failed', 'expired']) AND t.state {=} ANY ($1)
              ORDER BY t.terminal_at_ms LIMIT $2)) AS u
     LIMIT $2
)sql");

// $1 as of, $2 queue, $3 and $4 after, $5 limit. lease_check_ms is never after lease_until_ms.
constexpr auto kExpired = report<In<int64, Maybe<Text>, int64, pg_uuid_t, int64>, Listing>(R"sql(
    SELECT t.id, t.queue,
           pg_catalog.concat('belay:', t.id, ':', t.attempt_index, ':', t.lease_epoch),
           t.lease_epoch, t.lease_until_ms, t.lease_worker, t.lease_owner, t.attempt_index
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_check_ms {<=} $1 AND t.lease_until_ms {<=} $1
       AND ($2 IS NULL OR t.queue {=} $2)
       AND ROW(t.lease_until_ms, t.id) {>} ROW($3, $4)
     ORDER BY t.lease_until_ms, t.id
     LIMIT $5
)sql");

// $1 id, $2 capabilities.
constexpr auto kView =
    query<In<pg_uuid_t, ListOf<Text>>,
          Out<Text, Text, Text, bool, bool, int16, int64, int32, int32, Maybe<int64>, Maybe<int64>,
              Maybe<int64>, Maybe<int64>, Maybe<Text>, Maybe<Text>, Jsonb*, bool>>(R"sql(
    SELECT t.state, t.queue, t.pending_attempt, t.held, COALESCE(l.paused, false), t.slot,
           t.lease_epoch, t.priority, t.cap_set, t.available_at_ms, t.deadline_ms,
           t.lease_until_ms, t.terminal_at_ms, t.lease_worker, t.lease_owner,
           pg_catalog.to_jsonb(ARRAY(SELECT u.token
                                       FROM pg_catalog.unnest(c.tokens) AS u(token)
                                      WHERE NOT u.token {=} ANY ($2))),
           t.flow_id IS NOT NULL
      FROM {hub}.tasks AS t
      LEFT JOIN {hub}.queues AS l ON l.name {=} t.queue
      LEFT JOIN {hub}.capability_sets AS c ON c.id {=} t.cap_set
     WHERE t.id {=} $1
)sql");

// $1 queue, $2 priority, $3 available_at, $4 id, $5 limit, $6 now. What is due counts as ready.
// From stream to stream of the queue: of each, what comes first is a range of the index.
constexpr auto kBefore = query<In<Text, int32, int64, pg_uuid_t, int64, int64>, Out<int64>>(R"sql(
    WITH RECURSIVE streams AS (
        (SELECT t.slot, t.cap_set
           FROM {hub}.tasks AS t
          WHERE t.state {=} 'ready' AND t.queue {=} $1
          ORDER BY t.queue, t.slot, t.cap_set, t.priority DESC, t.available_at_ms, t.id
          LIMIT 1)
        UNION ALL
        SELECT n.slot, n.cap_set
          FROM streams AS s
         CROSS JOIN LATERAL (
            SELECT a.slot, a.cap_set
              FROM {hub}.tasks AS a
             WHERE a.state {=} 'ready' AND a.queue {=} $1
               AND ROW(a.slot, a.cap_set) {>} ROW(s.slot, s.cap_set)
             ORDER BY a.queue, a.slot, a.cap_set, a.priority DESC, a.available_at_ms, a.id
             LIMIT 1) AS n)
    SELECT pg_catalog.count(*)
      FROM (SELECT 1
              FROM streams AS s
             CROSS JOIN LATERAL (
                SELECT 1
                  FROM {hub}.tasks AS h
                 WHERE h.state {=} 'ready' AND h.queue {=} $1 AND h.slot {=} s.slot
                   AND h.cap_set {=} s.cap_set AND h.priority {>} $2
                UNION ALL
                SELECT 1
                  FROM {hub}.tasks AS e
                 WHERE e.state {=} 'ready' AND e.queue {=} $1 AND e.slot {=} s.slot
                   AND e.cap_set {=} s.cap_set AND e.priority {=} $2
                   AND ROW(e.available_at_ms, e.id) {<} ROW($3, $4)) AS c
             UNION ALL
            SELECT 1
              FROM {hub}.tasks AS d
             WHERE d.state {=} 'delayed' AND d.available_at_ms {<=} $6 AND d.queue {=} $1
               AND (d.priority {>} $2
                    OR (d.priority {=} $2 AND ROW(d.available_at_ms, d.id) {<} ROW($3, $4)))
             LIMIT $5) AS x
)sql");

constexpr auto kPlace = query<In<pg_uuid_t>, Places>(R"sql(
    SELECT t.ctid FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql");

// What the CHECKs of the table cannot see: $1 flow, $2 how many tasks, the newest ones (null: all).
constexpr auto kCheck = report<In<Maybe<pg_uuid_t>, Maybe<int64>>, ProblemRows>(R"sql(
    SELECT pg_catalog.concat('task ', t.id), p.problem
      FROM (SELECT x.* FROM {hub}.tasks AS x WHERE $1 IS NULL OR x.flow_id {=} $1
             ORDER BY x.id DESC LIMIT $2) AS t
      LEFT JOIN {hub}.capability_sets AS c ON c.id {=} t.cap_set
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS ended, COALESCE(pg_catalog.max(a.attempt_index), 0) AS last,
               pg_catalog.count(*) FILTER (WHERE a.outcome {=} 'success') AS successes,
               COALESCE(pg_catalog.max(a.epoch), 0) AS epoch
          FROM {hub}.attempts AS a
         WHERE a.task_id {=} t.id) AS n
     CROSS JOIN LATERAL (VALUES
        ('attempts do not add up',
         n.ended {<>} (t.attempt_index {-} CASE WHEN t.attempt_started_ms IS NULL THEN 0 ELSE 1 END)
         OR n.last {<>} n.ended),
        ('is past its last attempt''s epoch', n.epoch {>=} t.lease_epoch AND n.ended {>} 0),
        ('has an attempt without a lease', t.attempt_started_ms IS NOT NULL AND t.attempt_leases {<} 1),
        ('was started without an attempt',
         (t.started_at_ms IS NULL) {<>} (t.attempt_index {=} 0)),
        ('has more retries than attempts', t.retry_count {>} t.attempt_index),
        ('is completed without a successful attempt',
         t.state {=} 'completed' AND t.attempt_started_ms IS NULL),
        ('has a successful attempt that was not replayed', n.successes {>} t.replay_count),
        ('is cancelled without a source', (t.state {=} 'cancelled') {<>} (t.cancelled_by IS NOT NULL)),
        ('failed without a failure', t.state {=} 'failed' AND t.failure_class IS NULL),
        ('has a lease beyond a deadline',
         t.lease_until_ms {>} t.deadline_ms OR t.lease_until_ms {>} t.attempt_deadline_ms),
        ('has a lease that is looked at too late', t.lease_check_ms {>} t.lease_until_ms),
        ('has a capability set of another queue',
         t.cap_set {<>} 0 AND (c.queue IS NULL OR c.queue {<>} t.queue))
        ) AS p(problem, found)
     WHERE p.found
    UNION ALL
    SELECT pg_catalog.concat('attempt ', a.task_id, ' ', a.attempt_index), 'has no task'
      FROM {hub}.attempts AS a
     WHERE $1 IS NULL AND $2 IS NULL AND NOT EXISTS (SELECT 1 FROM {hub}.tasks AS t WHERE t.id {=} a.task_id)
    UNION ALL
    SELECT pg_catalog.concat('dedup key ', k.queue, ' ', k.key), 'names a task without it'
      FROM {hub}.dedup_keys AS k
      JOIN {hub}.tasks AS t ON t.id {=} k.task_id
     WHERE $1 IS NULL AND $2 IS NULL AND (t.queue {<>} k.queue OR t.dedup_key IS NULL OR t.dedup_key {<>} k.key)
    UNION ALL
    SELECT pg_catalog.concat('task ', t.id), 'has lost its dedup key'
      FROM {hub}.tasks AS t
     WHERE $1 IS NULL AND $2 IS NULL AND t.dedup_key IS NOT NULL AND t.terminal_at_ms IS NULL AND t.replay_count {=} 0
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.dedup_keys AS k
                        WHERE k.queue {=} t.queue AND k.key {=} t.dedup_key AND k.task_id {=} t.id)
)sql");

// The same of suspensions: $1 flow.
constexpr auto kCheckSuspensions = report<In<Maybe<pg_uuid_t>, Maybe<int64>>, ProblemRows>(R"sql(
    SELECT pg_catalog.concat('task ', t.id), p.problem
      FROM (SELECT x.* FROM {hub}.tasks AS x WHERE $1 IS NULL OR x.flow_id {=} $1
             ORDER BY x.id DESC LIMIT $2) AS t
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) FILTER (WHERE s.closed_at_ms IS NULL) AS open,
               pg_catalog.count(*) FILTER (
                   WHERE s.closed_at_ms IS NULL AND s.attempt_index {<>} t.attempt_index) AS other
          FROM {hub}.suspensions AS s
         WHERE s.task_id {=} t.id) AS n
     CROSS JOIN LATERAL (VALUES
        ('is suspended without a suspension, or has one without being so',
         n.open {<>} CASE WHEN t.state {=} 'suspended' THEN 1 ELSE 0 END),
        ('waits in another attempt than its own', n.other {>} 0),
        ('has an open waitpoint outside of its suspension',
         EXISTS (SELECT 1
                   FROM {hub}.waitpoints AS w
                  WHERE w.task_id {=} t.id AND w.suspension_nr IS NOT NULL
                    AND w.closed_at_ms IS NULL
                    AND NOT EXISTS (SELECT 1
                                      FROM {hub}.suspensions AS s
                                     WHERE s.task_id {=} w.task_id AND s.nr {=} w.suspension_nr
                                       AND s.closed_at_ms IS NULL)))
        ) AS p(problem, found)
     WHERE p.found
    UNION ALL
    SELECT pg_catalog.concat(x.kind, ' ', x.task_id, ' ', x.nr), 'has no task'
      FROM (SELECT 'suspension' AS kind, s.task_id, CAST(s.nr AS pg_catalog.text) AS nr
              FROM {hub}.suspensions AS s
            UNION ALL
            SELECT 'waitpoint', w.task_id, w.key FROM {hub}.waitpoints AS w
            UNION ALL
            SELECT 'signal', g.task_id, CAST(g.nr AS pg_catalog.text)
              FROM {hub}.signals AS g) AS x
     WHERE $1 IS NULL AND $2 IS NULL AND NOT EXISTS (SELECT 1 FROM {hub}.tasks AS t WHERE t.id {=} x.task_id)
)sql");

// The same of limits: places that are taken, counted anew.
constexpr auto kCheckLimits = report<In<Maybe<pg_uuid_t>>, ProblemRows>(R"sql(
    SELECT pg_catalog.concat('queue ', l.queue),
           pg_catalog.concat('counts ', l.active {+} r.moved, ' active tasks, there are ',
                             t.active)
      FROM {hub}.queue_limits AS l
     CROSS JOIN LATERAL (SELECT COALESCE(pg_catalog.sum(x.places), 0) AS moved
                           FROM {hub}.queue_moves AS x
                          WHERE x.queue {=} l.queue) AS r
     CROSS JOIN LATERAL (SELECT pg_catalog.count(*) AS active
                           FROM {hub}.tasks AS y
                          WHERE y.queue {=} l.queue AND y.state {=} 'active') AS t
     WHERE $1 IS NULL AND (l.active {+} r.moved) {<>} t.active
)sql");

// $1 queue (null: all), $2 limit.
constexpr auto kReadyInQueue = query<In<Text, int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.tasks AS t WHERE t.state {=} 'ready' AND t.queue {=} $1 LIMIT $2) AS x
)sql");

// $1 behind which, $2 limit. The queues with ready tasks, and whether they are paused: steps from
// one to the next in the claim index.
constexpr auto kReadyQueues = query<In<Text, int64>, Out<Text, bool>>(R"sql(
    WITH RECURSIVE known AS (
        (SELECT f.queue
           FROM {hub}.tasks AS f
          WHERE f.state {=} 'ready' AND f.queue {>} $1
          ORDER BY f.queue
          LIMIT 1)
        UNION ALL
        SELECT (SELECT n.queue
                  FROM {hub}.tasks AS n
                 WHERE n.state {=} 'ready' AND n.queue {>} k.queue
                 ORDER BY n.queue
                 LIMIT 1)
          FROM known AS k
         WHERE k.queue IS NOT NULL
    )
    SELECT k.queue,
           EXISTS (SELECT 1 FROM {hub}.queues AS l WHERE l.name {=} k.queue AND l.paused)
      FROM known AS k
     WHERE k.queue IS NOT NULL
     LIMIT $2
)sql");

constexpr auto kQueuePaused = query<In<Text>, Out<bool>>(R"sql(
    SELECT l.paused FROM {hub}.queues AS l WHERE l.name {=} $1 AND l.paused
)sql");

// $1 queue (null: all), $2 now, $3 limit. The queues of those that are due, unless they are paused.
constexpr auto kDueQueues = query<In<Maybe<Text>, int64, int64>, Out<Text>>(R"sql(
    SELECT t.queue
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed' AND t.available_at_ms {<=} $2 AND ($1 IS NULL OR t.queue {=} $1)
       AND NOT EXISTS (SELECT 1 FROM {hub}.queues AS l WHERE l.name {=} t.queue AND l.paused)
     ORDER BY t.available_at_ms, t.id
     LIMIT $3
)sql");

// $1 now, $2 limit. The next to fall due; those of other queues bound how soon to look again.
constexpr auto kDelayed = query<In<int64, int64>, Out<Text, int64>>(R"sql(
    SELECT t.queue, t.available_at_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed' AND t.available_at_ms {>} $1
     ORDER BY t.available_at_ms, t.id
     LIMIT $2
)sql");

// $1 limit. Leases in the order in which they are looked at, which is never after their end.
constexpr auto kLeaseEnds = query<In<int64>, Out<Text, int64, int64>>(R"sql(
    SELECT t.queue, t.lease_check_ms, t.lease_until_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active'
     ORDER BY t.lease_check_ms
     LIMIT $1
)sql");

// $1 now. What is due counts as ready.
// From head to head in the order of claims: a queue, slot, capability set and priority has its
// oldest task first. However many tasks there are, up to 1000 heads are read.
constexpr auto kOldestReady = query<In<int64>, Out<Maybe<int64>>>(R"sql(
    WITH RECURSIVE heads AS (
        (SELECT t.queue, t.slot, t.cap_set, t.priority, t.available_at_ms
           FROM {hub}.tasks AS t
          WHERE t.state {=} 'ready'
          ORDER BY t.queue, t.slot, t.cap_set, t.priority DESC, t.available_at_ms, t.id
          LIMIT 1)
        UNION ALL
        SELECT n.queue, n.slot, n.cap_set, n.priority, n.available_at_ms
          FROM heads AS h
         CROSS JOIN LATERAL (
            (SELECT a.queue, a.slot, a.cap_set, a.priority, a.available_at_ms
               FROM {hub}.tasks AS a
              WHERE a.state {=} 'ready' AND a.queue {=} h.queue AND a.slot {=} h.slot
                AND a.cap_set {=} h.cap_set AND a.priority {<} h.priority
              ORDER BY a.queue, a.slot, a.cap_set, a.priority DESC, a.available_at_ms, a.id
              LIMIT 1)
            UNION ALL
            (SELECT b.queue, b.slot, b.cap_set, b.priority, b.available_at_ms
               FROM {hub}.tasks AS b
              WHERE b.state {=} 'ready'
                AND ROW(b.queue, b.slot, b.cap_set) {>} ROW(h.queue, h.slot, h.cap_set)
              ORDER BY b.queue, b.slot, b.cap_set, b.priority DESC, b.available_at_ms, b.id
              LIMIT 1)
            LIMIT 1) AS n)
    SELECT LEAST((SELECT pg_catalog.min(f.available_at_ms)
                    FROM (SELECT e.available_at_ms FROM heads AS e LIMIT 1000) AS f),
                 (SELECT pg_catalog.min(d.available_at_ms)
                    FROM {hub}.tasks AS d
                   WHERE d.state {=} 'delayed' AND d.available_at_ms {<=} $1))
)sql");

constexpr auto kGauges = query<In<int64, int64>, Out<int64, int64, int64, int64>>(R"sql(
    SELECT (SELECT pg_catalog.count(*)
              FROM (SELECT 1 FROM {hub}.tasks AS r WHERE r.state {=} 'ready' LIMIT $2) AS a),
           (SELECT pg_catalog.count(*)
              FROM (SELECT 1 FROM {hub}.tasks AS d WHERE d.state {=} 'delayed' LIMIT $2) AS b),
           (SELECT pg_catalog.count(*)
              FROM (SELECT 1 FROM {hub}.tasks AS l WHERE l.state {=} 'active' LIMIT $2) AS c),
           (SELECT pg_catalog.count(*)
              FROM (SELECT 1
                      FROM {hub}.tasks AS o
                     WHERE o.state {=} 'active' AND o.lease_check_ms {<} $1 LIMIT $2) AS d)
)sql");

constexpr auto kMark = query<In<Text>, Out<Text, int64>>(R"sql(
    SELECT t.state, t.lease_epoch
      FROM {hub}.tasks AS t
     WHERE t.id {=} CAST($1 AS pg_catalog.uuid)
)sql");

// Below every id: no uuid is made like that, and callers' are checked.
constexpr pg_uuid_t kLowest{};

// A JSON array as text; null if there is none, or if it is empty.
const char* text_of_list(Jsonb* list) {
    if (list == nullptr || JB_ROOT_COUNT(list) == 0) {
        return nullptr;
    }
    return JsonbToCString(makeStringInfo(), &list->root, VARSIZE(list));
}

}  // namespace

TaskStatus read_task_status(const Hub& hub, const pg_uuid_t& id, int64 now) {
    return run(hub, kStatus, id, now);
}

Jsonb* read_task_json(const Hub& hub, const pg_uuid_t& id) {
    return run_one(hub, kJson, id).value_or(nullptr);
}

namespace {

bool has_index(std::string_view state) {
    return state != "completed" && state != "cancelled" && state != "skipped";
}

}  // namespace

TaskList list_tasks(const Hub& hub, const TaskFilter& filter, std::optional<pg_uuid_t> after,
                    int limit) {
    // Looking one up by its id costs as much as passing over so many more in their order.
    constexpr int64 kMostLookups = 1000;
    const pg_uuid_t behind = after ? *after : kLowest;
    const auto list = [&](const auto& statement, const auto& last) {
        return run(hub, statement, behind, limit, filter.queue, filter.states, filter.flow_id,
                   filter.kind, filter.tags, filter.worker, filter.worker_instance,
                   filter.created_from, filter.created_to, filter.pending, last);
    };
    if (filter.states && std::all_of(filter.states->begin(), filter.states->end(), has_index)) {
        const auto ids = run(hub, kInStates, *filter.states, kMostLookups + 1).values();
        if (ids.size() <= static_cast<std::size_t>(kMostLookups)) {
            return {list(kListAmong, std::span<const pg_uuid_t>(ids)), true};
        }
    }
    const Listing rows = list(kList, kMostListed);
    const bool whole =
        rows.count == static_cast<uint64>(limit) || !run_any(hub, kHasBehind, behind, kMostListed);
    return {rows, whole};
}

Listing list_expired_leases(const Hub& hub, int64 as_of, std::optional<std::string_view> queue,
                            std::optional<int64> after_ms, std::optional<pg_uuid_t> after_id,
                            int limit) {
    return run(hub, kExpired, as_of, queue, after_ms.value_or(PG_INT64_MIN),
               after_id ? *after_id : kLowest, limit);
}

std::optional<TaskView> view_task(const Hub& hub, const pg_uuid_t& id,
                                  std::optional<std::span<const std::string_view>> capabilities) {
    const auto row =
        run_one(hub, kView, id, capabilities.value_or(std::span<const std::string_view>()));
    if (!row) {
        return std::nullopt;
    }
    const auto& [state, queue, pending, held, queue_paused, slot, lease_epoch, priority, cap_set,
                 available_at, deadline, lease_until, terminal_at, worker, worker_instance, missing,
                 in_flow] = *row;
    return TaskView{.id = id,
                    .state = state,
                    .queue = queue,
                    .pending = pending,
                    .held = held,
                    .in_flow = in_flow,
                    .queue_paused = queue_paused,
                    .slot = slot,
                    .lease_epoch = lease_epoch,
                    .priority = priority,
                    .cap_set = cap_set,
                    .available_at = available_at,
                    .deadline = deadline,
                    .lease_until = lease_until,
                    .terminal_at = terminal_at,
                    .worker = worker,
                    .worker_instance = worker_instance,
                    .missing = capabilities ? text_of_list(missing) : nullptr};
}

int64 count_before(const Hub& hub, const pg_uuid_t& id, const TaskView& view, int64 now,
                   int64 limit) {
    return run_for_one(hub, kBefore, view.queue, view.priority, view.available_at.value_or(0), id,
                       limit, now);
}

std::optional<OpenTransaction> task_holder(const Hub& hub, const pg_uuid_t& id) {
    return row_holder(hub, hub.relations.tasks, run(hub, kPlace, id));
}

std::span<const TaskProblem> check_tasks(const Hub& hub, const CheckedTasks& checked) {
    const auto& [flow, newest, flows] = checked;
    pg::List<TaskProblem> problems;
    const auto add = [&problems](const ProblemRows& rows) {
        for (const auto [object, problem] : rows) {
            problems.add({object, problem});
        }
    };
    add(run(hub, kCheck, flow, newest));
    add(run(hub, kCheckSuspensions, flow, newest));
    add(run(hub, kCheckLimits, flow));
    if (flows) {
        add(check_flows(hub, flow));
    }
    return problems.span();
}

namespace {

constexpr int64 kRecheckMs = 1000;

// Adds the ready tasks of queues, each named once, in order, and those that are due, as far as
// limits let them be claimed.
void add_ready(const Hub& hub, std::span<const std::string_view> queues,
               std::span<const std::string_view> due, int64 now, int limit,
               QueueReadiness* result) {
    const auto limits = read_limits(hub, queues);
    const NamedLimit* next = limits.data();
    for (const std::string_view queue : queues) {
        const bool limited = next != limits.data() + limits.size() && next->queue == queue;
        const NamedLimit* bounds = limited ? next++ : nullptr;
        if (result->items >= limit || (limited && core::is_crowded(bounds->limit))) {
            continue;
        }
        const int64 ready = std::count(due.begin(), due.end(), queue) +
                            run_for_one(hub, kReadyInQueue, queue, limit);
        const int64 places = limited ? core::free_places(bounds->limit, now) : ready;
        result->items += std::min(ready, places);
        if (ready > 0 && places == 0) {
            result->next_due = std::min(result->next_due, core::next_token_at(bounds->limit, now));
        }
        CHECK_FOR_INTERRUPTS();
    }
}

// Adds the tasks whose lease is over, which the next claim takes back, and when the next one ends.
void add_leases(const Hub& hub, std::string_view queue, int64 now, int limit,
                QueueReadiness* result) {
    const auto leases = run(hub, kLeaseEnds, limit);
    int64 last_check = 0;
    for (const auto [of_queue, check, end] : leases) {
        last_check = check;
        if (queue.empty() || of_queue == queue) {
            result->items += end <= now ? 1 : 0;
            result->next_due = end > now ? std::min(result->next_due, end) : result->next_due;
        }
    }
    if (leases.count == static_cast<uint64>(limit)) {
        // Of those behind, none ends before this.
        result->next_due = std::min(result->next_due, std::max(last_check, now + kRecheckMs));
    }
}

}  // namespace

QueueReadiness queue_readiness(const Hub& hub, std::string_view queue, int64 now, int limit) {
    constexpr int kLookAhead = 100;
    QueueReadiness result{0, core::kNever};
    if (!queue.empty() && run_any(hub, kQueuePaused, queue)) {
        return result;
    }
    const auto of = queue.empty() ? std::nullopt : std::optional(queue);
    const auto due = run(hub, kDueQueues, of, now, kLookAhead).values();
    pg::List<std::string_view> queues;
    std::for_each(due.begin(), due.end(), [&](std::string_view name) { queues.add(name); });
    if (!queue.empty()) {
        queues.add(queue);
    }
    std::sort(queues.begin(), queues.end());
    queues.count = static_cast<int>(std::unique(queues.begin(), queues.end()) - queues.begin());
    add_ready(hub, queues.span(), due, now, limit, &result);
    // Of all queues, as many as it takes.
    std::string_view last;
    bool more = queue.empty();
    while (more && result.items < limit) {
        const auto page = run(hub, kReadyQueues, last, limit);
        pg::List<std::string_view> others;
        for (const auto [name, paused] : page) {
            last = name;
            if (!paused && !std::binary_search(queues.begin(), queues.end(), last)) {
                others.add(last);
            }
        }
        add_ready(hub, others.span(), due, now, limit, &result);
        more = page.count == static_cast<uint64>(limit);
    }
    // Of queues not looked at; and behind tasks of a queue that is full, others may be due.
    if ((more && result.items >= limit) || due.size() == kLookAhead) {
        result.next_due = std::min(result.next_due, now + kRecheckMs);
    }
    int seen = 0;
    for (const auto [name, available_at] : run(hub, kDelayed, now, kLookAhead)) {
        if (queue.empty() || name == queue || ++seen == kLookAhead) {
            result.next_due = std::min(result.next_due, available_at);
            break;
        }
    }
    add_leases(hub, queue, now, kLookAhead, &result);
    return result;
}

std::optional<int64> oldest_ready_task(const Hub& hub, int64 now) {
    return may_have_rows(hub, Sparse::kTasks) ? run_for_one(hub, kOldestReady, now) : std::nullopt;
}

TaskGauges read_task_gauges(const Hub& hub, int64 now, int64 limit) {
    return may_have_rows(hub, Sparse::kTasks)
               ? run(hub, kGauges, now, limit).first<TaskGauges>().value_or(TaskGauges{})
               : TaskGauges{};
}

std::optional<TaskMark> read_task_mark(const Hub& hub, std::string_view id) {
    return run(hub, kMark, id).first<TaskMark>();
}

}  // namespace belay::store
