#include "store/task_reads.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/list.hpp"
#include "store/flow_reads.hpp"
#include "store/lanes.hpp"
#include "store/limits.hpp"
#include "store/listing.hpp"
#include "store/suspensions.hpp"
#include "store/tasks.hpp"

namespace belay::store {

namespace {

// The last attempts; the details of their errors as far as 1 MiB reaches, from the last one on.
constexpr Statement kJson = query(R"sql(
    SELECT pg_catalog.jsonb_build_object(
               'task_id', t.id, 'state', t.state, 'lane', t.lane, 'kind', t.kind,
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
                        'epoch', a.epoch, 'lease_count', a.lease_count, 'worker', a.worker,
                        'worker_instance', a.worker_instance, 'started_ms', a.started_ms,
                        'ended_ms', a.ended_ms,
                        'error', CASE WHEN a.bytes {>} 1048576
                            THEN (a.error {-} CAST('details' AS pg_catalog.text))
                                 {||} pg_catalog.jsonb_build_object('truncated', true)
                            ELSE a.error END) ORDER BY a.attempt_index)
                   FROM (SELECT x.attempt_index, x.kind, x.outcome, x.epoch, x.lease_count, x.worker,
                                x.worker_instance, x.started_ms, x.ended_ms, x.error,
                                pg_catalog.sum(COALESCE(pg_catalog.pg_column_size(x.error), 0))
                                    OVER (ORDER BY x.attempt_index DESC) AS bytes
                           FROM {hub}.task_attempts AS x
                          WHERE x.task_id {=} t.id
                          ORDER BY x.attempt_index DESC
                          LIMIT 1000) AS a), pg_catalog.jsonb_build_array())),
           t.state, t.lease_epoch
      FROM {hub}.tasks AS t
      JOIN {hub}.task_states AS s ON s.task_id {=} t.id
     WHERE t.id {=} $1
)sql",
                                  UUIDOID);

// $1 after, $2 limit, $3 lane, $4 states, $5 flow, $6 kind, $7 tags, $8 worker, $9 instance,
// $10 and $11 created, $12 pending.
constexpr Statement kList = query(R"sql(
    SELECT t.id, t.state, t.lane, t.kind, t.priority, t.flow_id, t.flow_key, t.pending_attempt,
           t.attempt_index, t.retry_count, t.reclaim_count, t.replay_count, t.available_at_ms,
           t.deadline_ms, t.lease_worker, t.lease_owner, t.lease_epoch, t.lease_until_ms,
           t.failure_class, t.cancel_reason, t.tags, t.created_at_ms, t.updated_at_ms,
           t.terminal_at_ms
      FROM {hub}.tasks AS t
     WHERE t.id {>} $1
       AND ($3 IS NULL OR t.lane {=} $3)
       AND ($4 IS NULL OR t.state {=} ANY ($4))
       AND ($5 IS NULL OR t.flow_id {=} $5)
       AND ($6 IS NULL OR t.kind {=} $6)
       AND ($7 IS NULL OR t.tags {@>} $7)
       AND ($8 IS NULL OR t.lease_worker {=} $8)
       AND ($9 IS NULL OR t.lease_owner {=} $9)
       AND ($10 IS NULL OR t.created_at_ms {>=} $10)
       AND ($11 IS NULL OR t.created_at_ms {<=} $11)
       AND ($12 IS NULL OR t.pending_attempt {=} $12)
     ORDER BY t.id
     LIMIT $2
)sql",
                                  UUIDOID, INT8OID, TEXTOID, TEXTARRAYOID, UUIDOID, TEXTOID,
                                  JSONBOID, TEXTOID, TEXTOID, INT8OID, INT8OID, TEXTOID);

// $1 as of, $2 lane, $3 and $4 after, $5 limit. lease_check_ms is never after lease_until_ms.
constexpr Statement kExpired = report(R"sql(
    SELECT t.id, t.lane,
           pg_catalog.concat('belay:', t.id, ':', t.attempt_index, ':', t.lease_epoch),
           t.lease_epoch, t.lease_until_ms, t.lease_worker, t.lease_owner, t.attempt_index
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_check_ms {<=} $1 AND t.lease_until_ms {<=} $1
       AND ($2 IS NULL OR t.lane {=} $2)
       AND ROW(t.lease_until_ms, t.id) {>} ROW($3, $4)
     ORDER BY t.lease_until_ms, t.id
     LIMIT $5
)sql",
                                      INT8OID, TEXTOID, INT8OID, UUIDOID, INT8OID);

// $1 id, $2 capabilities.
constexpr Statement kView = query(R"sql(
    SELECT t.state, t.lane, t.pending_attempt, t.held, COALESCE(l.paused, false), t.slot,
           t.lease_epoch, t.priority, t.cap_set, t.available_at_ms, t.deadline_ms,
           t.lease_until_ms, t.terminal_at_ms, t.lease_worker, t.lease_owner,
           pg_catalog.to_jsonb(ARRAY(SELECT u.token
                                       FROM pg_catalog.unnest(c.tokens) AS u(token)
                                      WHERE NOT u.token {=} ANY ($2))),
           t.flow_id IS NOT NULL
      FROM {hub}.tasks AS t
      LEFT JOIN {hub}.lanes AS l ON l.name {=} t.lane
      LEFT JOIN {hub}.capability_sets AS c ON c.id {=} t.cap_set
     WHERE t.id {=} $1
)sql",
                                  UUIDOID, TEXTARRAYOID);

// $1 lane, $2 priority, $3 available_at, $4 id, $5 limit, $6 now. What is due counts as ready.
constexpr Statement kBefore = report(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1
              FROM (SELECT t.priority, t.available_at_ms, t.id
                      FROM {hub}.tasks AS t
                     WHERE t.state {=} 'ready' AND t.lane {=} $1
                     UNION ALL
                    SELECT d.priority, d.available_at_ms, d.id
                      FROM {hub}.tasks AS d
                     WHERE d.state {=} 'delayed' AND d.available_at_ms {<=} $6 AND d.lane {=} $1)
                   AS c
             WHERE c.priority {>} $2
                OR (c.priority {=} $2 AND ROW(c.available_at_ms, c.id) {<} ROW($3, $4))
             LIMIT $5) AS x
)sql",
                                     TEXTOID, INT4OID, INT8OID, UUIDOID, INT8OID, INT8OID);

constexpr Statement kPlace = query(R"sql(
    SELECT t.ctid FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql",
                                   UUIDOID);

// What the CHECKs of the table cannot see: $1 flow.
constexpr Statement kCheck = report(R"sql(
    SELECT pg_catalog.concat('task ', t.id), p.problem
      FROM {hub}.tasks AS t
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
         t.state {=} 'completed' AND n.successes {=} 0),
        ('has a successful attempt that was not replayed',
         n.successes {>} (t.replay_count {+} CASE WHEN t.state {=} 'completed' THEN 1
                                              ELSE 0 END)),
        ('is cancelled by nobody', (t.state {=} 'cancelled') {<>} (t.cancelled_by IS NOT NULL)),
        ('failed without a failure', t.state {=} 'failed' AND t.failure_class IS NULL),
        ('has a lease beyond a deadline',
         t.lease_until_ms {>} t.deadline_ms OR t.lease_until_ms {>} t.attempt_deadline_ms),
        ('has a lease that is looked at too late', t.lease_check_ms {>} t.lease_until_ms),
        ('has a capability set of another lane',
         t.cap_set {<>} 0 AND (c.lane IS NULL OR c.lane {<>} t.lane))
        ) AS p(problem, found)
     WHERE p.found AND ($1 IS NULL OR t.flow_id {=} $1) AND ($2 IS NULL OR t.id {>} $2)
    UNION ALL
    SELECT pg_catalog.concat('attempt ', a.task_id, ' ', a.attempt_index), 'has no task'
      FROM {hub}.attempts AS a
     WHERE $1 IS NULL AND $2 IS NULL AND NOT EXISTS (SELECT 1 FROM {hub}.tasks AS t WHERE t.id {=} a.task_id)
    UNION ALL
    SELECT pg_catalog.concat('dedup key ', k.lane, ' ', k.key), 'names a task without it'
      FROM {hub}.dedup_keys AS k
      JOIN {hub}.tasks AS t ON t.id {=} k.task_id
     WHERE $1 IS NULL AND $2 IS NULL AND (t.lane {<>} k.lane OR t.dedup_key IS NULL OR t.dedup_key {<>} k.key)
    UNION ALL
    SELECT pg_catalog.concat('task ', t.id), 'has lost its dedup key'
      FROM {hub}.tasks AS t
     WHERE $1 IS NULL AND $2 IS NULL AND t.dedup_key IS NOT NULL AND t.terminal_at_ms IS NULL AND t.replay_count {=} 0
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.dedup_keys AS k
                        WHERE k.lane {=} t.lane AND k.key {=} t.dedup_key AND k.task_id {=} t.id)
)sql",
                                    UUIDOID, UUIDOID);

// The same of suspensions: $1 flow.
constexpr Statement kCheckSuspensions = report(R"sql(
    SELECT pg_catalog.concat('task ', t.id), p.problem
      FROM {hub}.tasks AS t
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
     WHERE p.found AND ($1 IS NULL OR t.flow_id {=} $1) AND ($2 IS NULL OR t.id {>} $2)
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
)sql",
                                               UUIDOID, UUIDOID);

// $1 how many of the newest tasks are above the id.
constexpr Statement kNewestAbove = query(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     ORDER BY t.id DESC
    OFFSET $1
     LIMIT 1
)sql",
                                         INT8OID);

// The same of limits: places that are taken, counted anew.
constexpr Statement kCheckLimits = report(R"sql(
    SELECT pg_catalog.concat('lane ', l.lane),
           pg_catalog.concat('counts ', l.active {-} r.returned, ' active tasks, there are ',
                             t.active)
      FROM {hub}.lane_limits AS l
     CROSS JOIN LATERAL (SELECT pg_catalog.count(*) AS returned
                           FROM {hub}.lane_returns AS x
                          WHERE x.lane {=} l.lane) AS r
     CROSS JOIN LATERAL (SELECT pg_catalog.count(*) AS active
                           FROM {hub}.tasks AS y
                          WHERE y.lane {=} l.lane AND y.state {=} 'active') AS t
     WHERE $1 IS NULL AND (l.active {-} r.returned) {<>} t.active
)sql",
                                          UUIDOID);

// $1 lane (null: all), $2 limit.
constexpr Statement kReadyInLane = query(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.tasks AS t WHERE t.state {=} 'ready' AND t.lane {=} $1 LIMIT $2) AS x
)sql",
                                         TEXTOID, INT8OID);

// $1 behind which, $2 limit. The lanes with ready tasks, and whether they are paused: steps from
// one to the next in the claim index.
constexpr Statement kReadyLanes = query(R"sql(
    WITH RECURSIVE known AS (
        (SELECT f.lane
           FROM {hub}.tasks AS f
          WHERE f.state {=} 'ready' AND f.lane {>} $1
          ORDER BY f.lane
          LIMIT 1)
        UNION ALL
        SELECT (SELECT n.lane
                  FROM {hub}.tasks AS n
                 WHERE n.state {=} 'ready' AND n.lane {>} k.lane
                 ORDER BY n.lane
                 LIMIT 1)
          FROM known AS k
         WHERE k.lane IS NOT NULL
    )
    SELECT k.lane,
           EXISTS (SELECT 1 FROM {hub}.lanes AS l WHERE l.name {=} k.lane AND l.paused)
      FROM known AS k
     WHERE k.lane IS NOT NULL
     LIMIT $2
)sql",
                                        TEXTOID, INT8OID);

constexpr Statement kLanePaused = query(R"sql(
    SELECT l.paused FROM {hub}.lanes AS l WHERE l.name {=} $1 AND l.paused
)sql",
                                        TEXTOID);

// $1 lane (null: all), $2 now, $3 limit. The lanes of those that are due, unless they are paused.
constexpr Statement kDueLanes = query(R"sql(
    SELECT t.lane
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed' AND t.available_at_ms {<=} $2 AND ($1 IS NULL OR t.lane {=} $1)
       AND NOT EXISTS (SELECT 1 FROM {hub}.lanes AS l WHERE l.name {=} t.lane AND l.paused)
     ORDER BY t.available_at_ms, t.id
     LIMIT $3
)sql",
                                      TEXTOID, INT8OID, INT8OID);

// $1 now, $2 limit. The next to fall due; those of other lanes bound how soon to look again.
constexpr Statement kDelayed = query(R"sql(
    SELECT t.lane, t.available_at_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed' AND t.available_at_ms {>} $1
     ORDER BY t.available_at_ms, t.id
     LIMIT $2
)sql",
                                     INT8OID, INT8OID);

// $1 now. What is due counts as ready.
// From head to head in the order of claims: a lane, slot, capability set and priority has its
// oldest task first. However many tasks there are, up to 1000 heads are read.
constexpr Statement kOldestReady = query(R"sql(
    WITH RECURSIVE heads AS (
        (SELECT t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms
           FROM {hub}.tasks AS t
          WHERE t.state {=} 'ready'
          ORDER BY t.lane, t.slot, t.cap_set, t.priority DESC, t.available_at_ms, t.id
          LIMIT 1)
        UNION ALL
        SELECT n.lane, n.slot, n.cap_set, n.priority, n.available_at_ms
          FROM heads AS h
         CROSS JOIN LATERAL (
            (SELECT a.lane, a.slot, a.cap_set, a.priority, a.available_at_ms
               FROM {hub}.tasks AS a
              WHERE a.state {=} 'ready' AND a.lane {=} h.lane AND a.slot {=} h.slot
                AND a.cap_set {=} h.cap_set AND a.priority {<} h.priority
              ORDER BY a.lane, a.slot, a.cap_set, a.priority DESC, a.available_at_ms, a.id
              LIMIT 1)
            UNION ALL
            (SELECT b.lane, b.slot, b.cap_set, b.priority, b.available_at_ms
               FROM {hub}.tasks AS b
              WHERE b.state {=} 'ready'
                AND ROW(b.lane, b.slot, b.cap_set) {>} ROW(h.lane, h.slot, h.cap_set)
              ORDER BY b.lane, b.slot, b.cap_set, b.priority DESC, b.available_at_ms, b.id
              LIMIT 1)
            LIMIT 1) AS n)
    SELECT LEAST((SELECT pg_catalog.min(f.available_at_ms)
                    FROM (SELECT e.available_at_ms FROM heads AS e LIMIT 1000) AS f),
                 (SELECT pg_catalog.min(d.available_at_ms)
                    FROM {hub}.tasks AS d
                   WHERE d.state {=} 'delayed' AND d.available_at_ms {<=} $1))
)sql",
                                         INT8OID);

constexpr Statement kGauges = query(R"sql(
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
)sql",
                                    INT8OID, INT8OID);

constexpr Statement kMark = query(R"sql(
    SELECT t.state, t.lease_epoch
      FROM {hub}.tasks AS t
     WHERE t.id {=} CAST($1 AS pg_catalog.uuid)
)sql",
                                  TEXTOID);

Params& add_uuid(Params* params, const std::optional<pg_uuid_t>& id) {
    return id ? params->uuid(*id) : params->null();
}

// Below every id.
constexpr pg_uuid_t kLowest{};

}  // namespace

Jsonb* read_task_json(const Hub& hub, const pg_uuid_t& id) {
    const Rows rows = run(hub, kJson, Params().uuid(id));
    return rows.count == 0 ? nullptr : rows.optional_jsonb(0, 1);
}

Rows list_tasks(const Hub& hub, const TaskFilter& filter, std::optional<pg_uuid_t> after,
                int limit) {
    Params params;
    // No task has the lowest id: it is no uuid that anybody makes.
    params.uuid(after ? *after : kLowest)
        .int8(limit)
        .optional_text(filter.lane)
        .optional_datum(filter.states ? std::optional(text_array(*filter.states)) : std::nullopt);
    add_uuid(&params, filter.flow_id)
        .optional_text(filter.kind)
        .jsonb(filter.tags)
        .optional_text(filter.worker)
        .optional_text(filter.worker_instance)
        .optional_int8(filter.created_from)
        .optional_int8(filter.created_to)
        .optional_text(filter.pending);
    return run(hub, kList, params);
}

Rows list_expired_leases(const Hub& hub, int64 as_of, std::optional<std::string_view> lane,
                         std::optional<int64> after_ms, std::optional<pg_uuid_t> after_id,
                         int limit) {
    return run(hub, kExpired,
               Params()
                   .int8(as_of)
                   .optional_text(lane)
                   .int8(after_ms.value_or(PG_INT64_MIN))
                   .uuid(after_id ? *after_id : kLowest)
                   .int8(limit));
}

std::optional<TaskView> view_task(const Hub& hub, const pg_uuid_t& id,
                                  std::optional<std::span<const std::string_view>> capabilities) {
    Params params;
    params.uuid(id).datum(text_array(capabilities.value_or(std::span<const std::string_view>())));
    const Rows rows = run(hub, kView, params);
    if (rows.count == 0) {
        return std::nullopt;
    }
    TaskView view{.id = id,
                  .state = rows.text(0, 1),
                  .lane = rows.text(0, 2),
                  .pending = rows.text(0, 3),
                  .held = rows.boolean(0, 4),
                  .in_flow = rows.boolean(0, 17),
                  .lane_paused = rows.boolean(0, 5),
                  .slot = rows.int2(0, 6),
                  .lease_epoch = rows.int8(0, 7),
                  .priority = rows.int4(0, 8),
                  .cap_set = rows.int4(0, 9),
                  .available_at = rows.optional_int8(0, 10),
                  .deadline = rows.optional_int8(0, 11),
                  .lease_until = rows.optional_int8(0, 12),
                  .terminal_at = rows.optional_int8(0, 13),
                  .worker = rows.optional_text(0, 14),
                  .worker_instance = rows.optional_text(0, 15),
                  .missing = nullptr};
    Jsonb* missing = rows.optional_jsonb(0, 16);
    if (capabilities && missing != nullptr && JB_ROOT_COUNT(missing) > 0) {
        StringInfo text = makeStringInfo();
        view.missing = JsonbToCString(text, &missing->root, VARSIZE(missing));
    }
    return view;
}

int64 count_before(const Hub& hub, const pg_uuid_t& id, const TaskView& view, int64 now,
                   int64 limit) {
    return run(hub, kBefore,
               Params()
                   .text(view.lane)
                   .int4(view.priority)
                   .int8(view.available_at.value_or(0))
                   .uuid(id)
                   .int8(limit)
                   .int8(now))
        .int8(0, 1);
}

RowHolder row_holder(const Hub& hub, const pg_uuid_t& id) {
    return holder_of(hub.relations.tasks, run(hub, kPlace, Params().uuid(id)));
}

std::span<const TaskProblem> check_tasks(const Hub& hub, std::optional<pg_uuid_t> flow,
                                         std::optional<int64> newest) {
    std::optional<pg_uuid_t> above;
    if (newest) {
        if (const Rows rows = run(hub, kNewestAbove, Params().int8(*newest)); rows.count > 0) {
            above = rows.uuid(0, 1);
        }
    }
    pg::List<TaskProblem> problems;
    const auto add = [&problems](const Rows& rows) {
        for (uint64 i = 0; i < rows.count; ++i) {
            problems.add({rows.text(i, 1), rows.text(i, 2)});
        }
    };
    Params of_flow;
    add_uuid(&of_flow, flow);
    Params params = of_flow;
    add_uuid(&params, above);
    add(run(hub, kCheck, params));
    add(run(hub, kCheckSuspensions, params));
    add(run(hub, kCheckLimits, of_flow));
    if (!above) {
        add(check_flows(hub, flow));
    }
    return problems.span();
}

namespace {

// Adds the ready tasks of a lane and those that are due, as far as its limits let them be claimed.
void add_ready(const Hub& hub, std::string_view lane, int64 due, int64 now, int limit,
               LaneReadiness* result) {
    const int64 ready = due + run(hub, kReadyInLane, Params().text(lane).int8(limit)).int8(0, 1);
    const auto bounds = is_limited(hub, lane) ? read_limit(hub, lane) : std::nullopt;
    if (ready == 0 || !bounds) {
        result->items += ready;
        return;
    }
    const int64 places = core::free_places(*bounds, now);
    result->items += std::min(ready, places);
    if (places == 0 && !core::is_crowded(*bounds)) {
        result->next_due = std::min(result->next_due, core::next_token_at(*bounds, now));
    }
}

}  // namespace

LaneReadiness lane_readiness(const Hub& hub, std::string_view lane, int64 now, int limit) {
    constexpr int kLookAhead = 100;
    constexpr int64 kRecheckMs = 1000;
    LaneReadiness result{0, core::kNever};
    if (!lane.empty() && run(hub, kLanePaused, Params().text(lane)).count > 0) {
        return result;
    }
    const auto due = run(hub, kDueLanes,
                         Params()
                             .optional_text(lane.empty() ? std::nullopt : std::optional(lane))
                             .int8(now)
                             .int8(kLookAhead))
                         .texts(1);
    pg::List<std::string_view> lanes;
    for (const auto name : due) {
        lanes.add(name);
    }
    if (!lane.empty()) {
        lanes.add(lane);
    }
    std::sort(lanes.begin(), lanes.end());
    lanes.count = static_cast<int>(std::unique(lanes.begin(), lanes.end()) - lanes.begin());
    const auto look_at = [&](std::string_view name) {
        if (result.items < limit) {
            add_ready(hub, name, std::count(due.begin(), due.end(), name), now, limit, &result);
        }
        CHECK_FOR_INTERRUPTS();
    };
    std::for_each(lanes.begin(), lanes.end(), look_at);
    // Of all lanes, as many as it takes.
    std::string_view last;
    bool more = lane.empty();
    while (more && result.items < limit) {
        const Rows page = run(hub, kReadyLanes, Params().text(last).int8(limit));
        for (uint64 i = 0; i < page.count; ++i) {
            last = page.text(i, 1);
            if (!page.boolean(i, 2) && !std::binary_search(lanes.begin(), lanes.end(), last)) {
                look_at(last);
            }
        }
        more = page.count == static_cast<uint64>(limit);
    }
    if (more && result.items >= limit) {
        result.next_due = std::min(result.next_due, now + kRecheckMs);  // of lanes not looked at
    }
    if (due.size() == kLookAhead) {
        // Behind tasks of a lane that is full, those of another may be due.
        result.next_due = std::min(result.next_due, now + kRecheckMs);
    }
    const Rows delayed = run(hub, kDelayed, Params().int8(now).int8(kLookAhead));
    for (uint64 i = 0; i < delayed.count; ++i) {
        if (lane.empty() || delayed.text(i, 1) == lane || i + 1 == kLookAhead) {
            result.next_due = std::min(result.next_due, delayed.int8(i, 2));
            break;
        }
    }
    return result;
}

std::optional<int64> oldest_ready_task(const Hub& hub, int64 now) {
    return run(hub, kOldestReady, Params().int8(now)).optional_int8(0, 1);
}

TaskGauges read_task_gauges(const Hub& hub, int64 now, int64 limit) {
    const Rows rows = run(hub, kGauges, Params().int8(now).int8(limit));
    return {.ready = rows.int8(0, 1),
            .delayed = rows.int8(0, 2),
            .leases = rows.int8(0, 3),
            .overdue = rows.int8(0, 4)};
}

std::optional<TaskMark> read_task_mark(const Hub& hub, std::string_view id) {
    const Rows rows = run(hub, kMark, Params().text(id));
    return rows.count == 0 ? std::nullopt
                           : std::optional(TaskMark{rows.text(0, 1), rows.int8(0, 2)});
}

}  // namespace belay::store
