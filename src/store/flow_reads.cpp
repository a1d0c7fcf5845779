// What readers ask of flows and of members in them: with the caller's snapshot, without locks.
//
// May touch: the tables of flows and tasks, to read them. Must not: write or lock.
#include "store/flow_reads.hpp"

namespace belay::store {

namespace {

// What changes with everything that get_flow returns, but for edges: their changes are those of the
// groups behind them.
constexpr auto kRevision = query<In<pg_uuid_t>, Out<Text>>(R"sql(
    SELECT pg_catalog.md5(pg_catalog.concat_ws(' ', f.state, f.sealed, f.graph_revision, f.open_count,
               f.member_count, f.edge_count, f.bad_sink_count, f.updated_at_ms, f.terminal_at_ms,
               f.cancellation_policy, m.n, m.hash, g.n, g.hash, b.n))
      FROM {hub}.flows AS f
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS n,
               pg_catalog.sum(pg_catalog.hashtextextended(pg_catalog.concat_ws(' ', t.id, t.state,
                   t.updated_at_ms, t.started_at_ms, t.terminal_at_ms, t.lease_epoch,
                   t.attempt_index, t.progress_at_ms, t.progress_pct), 0)) AS hash
          FROM {hub}.tasks AS t
         WHERE t.flow_id {=} f.id) AS m
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS n,
               pg_catalog.sum(pg_catalog.hashtextextended(pg_catalog.concat_ws(' ', g.downstream_id,
                   g.state, g.total, g.satisfied, g.failed, g.skipped), 0)) AS hash
          FROM {hub}.groups AS g
         WHERE g.flow_id {=} f.id) AS g
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS n
          FROM {hub}.cancel_backlog_members AS b
         WHERE b.flow_id {=} f.id) AS b
     WHERE f.id {=} $1
)sql");

// $1 flow, $2 how many members at most, $3 its revision, $4 how many edges at most.
constexpr auto kJson = query<In<pg_uuid_t, int64, Text, int64>, Out<Jsonb*>>(R"sql(
    SELECT pg_catalog.jsonb_build_object(
               'revision', $3, 'flow_id', f.id, 'kind', f.kind, 'state', f.state, 'sealed', f.sealed,
               'graph_revision', f.graph_revision, 'fail_policy', f.fail_policy, 'tags', f.tags,
               'member_count', f.member_count, 'open_count', f.open_count,
               'bad_sink_count', f.bad_sink_count, 'edge_count', f.edge_count,
               'created_at_ms', f.created_at_ms, 'updated_at_ms', f.updated_at_ms,
               'terminal_at_ms', f.terminal_at_ms, 'cancellation_policy', f.cancellation_policy,
               'cancel_reason', f.cancel_reason, 'cancelled_by', f.cancelled_by,
               'truncated', f.member_count {>} $2 OR f.edge_count {>} $4,
               'counts', COALESCE((SELECT pg_catalog.jsonb_object_agg(c.state, c.n)
                    FROM (SELECT t.state, pg_catalog.count(*) AS n
                            FROM {hub}.tasks AS t
                           WHERE t.flow_id {=} f.id
                           GROUP BY t.state) AS c), pg_catalog.jsonb_build_object()),
               'members', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'task_id', m.id, 'key', m.flow_key, 'state', m.state, 'queue', m.queue,
                        'kind', m.kind, 'started_at_ms', m.started_at_ms,
                        'terminal_at_ms', m.terminal_at_ms, 'attempt_index', m.attempt_index,
                        'failure_class', m.failure_class, 'worker', m.lease_worker,
                        'progress', CASE WHEN m.progress_at_ms IS NOT NULL
                             THEN pg_catalog.jsonb_build_object('percent', m.progress_pct,
                                      'message', m.progress_message,
                                      'at_ms', m.progress_at_ms) END) ORDER BY m.id)
                    FROM (SELECT t.id, t.flow_key, t.state, t.queue, t.kind, t.started_at_ms,
                                 t.terminal_at_ms, t.attempt_index, t.failure_class,
                                 t.lease_worker, t.progress_at_ms, t.progress_pct,
                                 t.progress_message
                            FROM {hub}.tasks AS t
                           WHERE t.flow_id {=} f.id
                           ORDER BY t.id
                           LIMIT $2) AS m), pg_catalog.jsonb_build_array()),
               'edges', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'upstream_id', x.upstream_id, 'downstream_id', x.downstream_id,
                        'state', x.state, 'pass_as', x.pass_as)
                        ORDER BY x.downstream_id, x.upstream_id)
                    FROM (SELECT e.upstream_id, e.downstream_id, e.state, e.pass_as
                            FROM {hub}.edges AS e
                           WHERE e.flow_id {=} f.id
                           ORDER BY e.downstream_id, e.upstream_id
                           LIMIT $4) AS x), pg_catalog.jsonb_build_array()),
               'groups', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'task_id', y.downstream_id, 'kind', y.policy,
                        'k', CASE WHEN y.policy {=} 'quorum' THEN y.k END,
                        'on_satisfied', y.on_satisfied, 'state', y.state, 'total', y.total,
                        'satisfied', y.satisfied, 'failed', y.failed, 'skipped', y.skipped)
                        ORDER BY y.downstream_id)
                    FROM (SELECT g.downstream_id, g.policy, g.k, g.on_satisfied, g.state, g.total,
                                 g.satisfied, g.failed, g.skipped
                            FROM {hub}.groups AS g
                           WHERE g.flow_id {=} f.id
                           ORDER BY g.downstream_id
                           LIMIT $2) AS y), pg_catalog.jsonb_build_array()),
               'backlog', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'task_id', b.task_id, 'worker', b.worker,
                        'worker_instance', b.worker_instance, 'lease_epoch', b.lease_epoch)
                        ORDER BY b.task_id)
                    FROM {hub}.cancel_backlog_members AS b
                   WHERE b.flow_id {=} f.id), pg_catalog.jsonb_build_array()))
      FROM {hub}.flows AS f
     WHERE f.id {=} $1
)sql");

constexpr auto kMemberJson = query<In<pg_uuid_t>, Out<Jsonb*>>(R"sql(
    SELECT pg_catalog.jsonb_build_object(
               'held', t.held,
               'group', (SELECT pg_catalog.jsonb_build_object(
                        'kind', g.policy, 'k', CASE WHEN g.policy {=} 'quorum' THEN g.k END,
                        'on_satisfied', g.on_satisfied, 'state', g.state, 'total', g.total,
                        'satisfied', g.satisfied, 'failed', g.failed, 'skipped', g.skipped)
                   FROM {hub}.groups AS g
                  WHERE g.downstream_id {=} t.id),
               'upstream', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'task_id', e.upstream_id, 'state', e.state, 'pass_as', e.pass_as,
                        'key', u.flow_key, 'task_state', u.state) ORDER BY e.upstream_id)
                   FROM {hub}.edges AS e
                   JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
                  WHERE e.flow_id {=} t.flow_id AND e.downstream_id {=} t.id),
                  pg_catalog.jsonb_build_array()),
               'downstream', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'task_id', e.downstream_id, 'state', e.state, 'pass_as', e.pass_as,
                        'key', d.flow_key, 'task_state', d.state) ORDER BY e.downstream_id)
                   FROM {hub}.edges AS e
                   JOIN {hub}.tasks AS d ON d.id {=} e.downstream_id
                  WHERE e.upstream_id {=} t.id), pg_catalog.jsonb_build_array()))
      FROM {hub}.tasks AS t
     WHERE t.id {=} $1 AND t.flow_id IS NOT NULL
)sql");

// $1 after, $2 limit, $3 states, $4 kind, $5 tags, $6 and $7 created, $8 how many are looked at.
constexpr auto kList = query<In<pg_uuid_t, int64, Maybe<ListOf<Text>>, Maybe<Text>, Jsonb*,
                                Maybe<int64>, Maybe<int64>, int64>,
                             Listing>(R"sql(
    SELECT f.id, f.kind, f.state, f.sealed, f.graph_revision, f.fail_policy, f.member_count,
           f.open_count, f.edge_count, f.tags, f.cancel_reason, f.created_at_ms, f.updated_at_ms,
           f.terminal_at_ms
      FROM (SELECT x.* FROM {hub}.flows AS x WHERE x.id {>} $1 ORDER BY x.id LIMIT $8) AS f
     WHERE ($3 IS NULL OR f.state {=} ANY ($3))
       AND ($4 IS NULL OR f.kind {=} $4)
       AND ($5 IS NULL OR f.tags {@>} $5)
       AND ($6 IS NULL OR f.created_at_ms {>=} $6)
       AND ($7 IS NULL OR f.created_at_ms {<=} $7)
     ORDER BY f.id
     LIMIT $2
)sql");

// $1 id, $2 how many.
constexpr auto kHasBehind = query<In<pg_uuid_t, int64>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.flows AS f
     WHERE f.id {>} $1
     ORDER BY f.id
    OFFSET $2
     LIMIT 1
)sql");

constexpr auto kUpstream = query<In<pg_uuid_t>, Listing>(R"sql(
    SELECT u.id, u.flow_key, e.pass_as, u.state, u.result
      FROM {hub}.tasks AS t
      JOIN {hub}.edges AS e ON e.flow_id {=} t.flow_id AND e.downstream_id {=} t.id
      JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
     WHERE t.id {=} $1
     ORDER BY u.flow_key, u.id
)sql");

// Only resolved edges.
constexpr auto kOfClaim = statement<In<ListOf<pg_uuid_t>>, UpstreamRows>(R"sql(
    SELECT e.downstream_id, u.id, u.flow_key, e.pass_as, u.state, u.result
      FROM {hub}.tasks AS t
      JOIN {hub}.edges AS e ON e.flow_id {=} t.flow_id AND e.downstream_id {=} t.id
      JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
     WHERE t.id {=} ANY ($1) AND e.state {<>} 'unsatisfied'
     ORDER BY e.downstream_id, u.flow_key, u.id
)sql");

// An upstream whose end is still to be dispatched counts as one that has not ended.
constexpr auto kHindrances = query<In<pg_uuid_t>, Out<Jsonb*, Jsonb*>>(R"sql(
    SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('task_id', u.id, 'state', u.state)
               ORDER BY u.id) FILTER (WHERE NOT x.ended),
           pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('task_id', u.id, 'state', u.state)
               ORDER BY u.id) FILTER (WHERE x.ended)
      FROM {hub}.tasks AS t
      JOIN {hub}.edges AS e ON e.flow_id {=} t.flow_id AND e.downstream_id {=} t.id
      JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
     CROSS JOIN LATERAL (
        SELECT u.terminal_at_ms IS NOT NULL AND u.state {<>} 'completed'
               AND NOT EXISTS (SELECT 1
                                 FROM {hub}.cascade_queue AS q
                                WHERE q.task_id {=} u.id AND q.what {=} 'dispatch') AS ended) AS x
     WHERE t.id {=} $1 AND e.state {=} 'unsatisfied'
)sql");

// $1 flow.
constexpr auto kCheck = report<In<Maybe<pg_uuid_t>>, ProblemRows>(R"sql(
    SELECT pg_catalog.concat('flow ', f.id), p.problem
      FROM {hub}.flows AS f
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS members,
               pg_catalog.count(*) FILTER (WHERE t.terminal_at_ms IS NULL) AS open,
               pg_catalog.count(*) FILTER (
                   WHERE t.terminal_at_ms IS NOT NULL AND t.state {<>} 'completed'
                     AND NOT EXISTS (SELECT 1
                                       FROM {hub}.edges AS o
                                      WHERE o.upstream_id {=} t.id)) AS bad
          FROM {hub}.tasks AS t
         WHERE t.flow_id {=} f.id) AS n
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS edges FROM {hub}.edges AS e WHERE e.flow_id {=} f.id) AS m
     CROSS JOIN LATERAL (VALUES
        ('has another number of members', n.members {<>} f.member_count),
        ('has another number of open members', n.open {<>} f.open_count),
        ('has another number of bad sinks', n.bad {<>} f.bad_sink_count),
        ('has another number of edges', m.edges {<>} f.edge_count),
        ('should have ended', f.state {=} 'running' AND n.open {=} 0),
        ('has ended too early',
         f.state {=} ANY (ARRAY['completed', 'failed']) AND NOT f.struck AND n.open {>} 0),
        ('is completed in spite of a bad sink', f.state {=} 'completed' AND n.bad {>} 0),
        ('has failed without a bad sink', f.state {=} 'failed' AND n.bad {=} 0),
        ('was cancelled with all its members and has open ones',
         f.cancellation_policy {=} 'cancel_all' AND n.open {>} 0)
        ) AS p(problem, found)
     WHERE p.found AND ($1 IS NULL OR f.id {=} $1)
    UNION ALL
    SELECT pg_catalog.concat('group ', g.downstream_id), p.problem
      FROM {hub}.groups AS g
      LEFT JOIN {hub}.flows AS f ON f.id {=} g.flow_id
      LEFT JOIN {hub}.tasks AS t ON t.id {=} g.downstream_id
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS total,
               pg_catalog.count(*) FILTER (WHERE e.state {=} 'satisfied') AS satisfied,
               pg_catalog.count(*) FILTER (WHERE e.state {=} 'impossible'
                                             AND u.state {<>} 'skipped') AS failed,
               pg_catalog.count(*) FILTER (WHERE e.state {=} 'impossible'
                                             AND u.state {=} 'skipped') AS skipped,
               pg_catalog.count(*) FILTER (WHERE e.state {=} 'impossible'
                                             AND (u.terminal_at_ms IS NULL
                                                  OR u.state {=} 'completed')) AS wrong
          FROM {hub}.edges AS e
          JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
         WHERE e.flow_id {=} g.flow_id AND e.downstream_id {=} g.downstream_id) AS n
     CROSS JOIN LATERAL (VALUES
        ('has no flow', f.id IS NULL),
        ('has no task', t.id IS NULL OR t.flow_id IS NULL OR t.flow_id {<>} g.flow_id),
        ('has other counts than its edges',
         n.total {<>} g.total OR n.satisfied {<>} g.satisfied OR n.failed {<>} g.failed
         OR n.skipped {<>} g.skipped),
        ('has an edge that is not impossible', n.wrong {>} 0),
        ('is open and its task is not blocked',
         g.state {=} 'open' AND g.total {>} 0 AND t.terminal_at_ms IS NULL
         AND t.state {<>} 'blocked'),
        ('is satisfied and its task is blocked',
         g.state {=} 'satisfied' AND t.state {=} 'blocked' AND NOT f.struck),
        ('is impossible and its task is blocked',
         g.state {=} 'impossible' AND t.state {=} 'blocked' AND NOT f.struck)
        ) AS p(problem, found)
     WHERE p.found AND ($1 IS NULL OR g.flow_id {=} $1)
    UNION ALL
    SELECT pg_catalog.concat('edge ', e.upstream_id, ' ', e.downstream_id), 'has no group'
      FROM {hub}.edges AS e
     WHERE ($1 IS NULL OR e.flow_id {=} $1)
       AND NOT EXISTS (SELECT 1 FROM {hub}.groups AS g WHERE g.downstream_id {=} e.downstream_id)
    UNION ALL
    SELECT pg_catalog.concat('task ', t.id), p.problem
      FROM {hub}.tasks AS t
      LEFT JOIN {hub}.flows AS f ON f.id {=} t.flow_id
     CROSS JOIN LATERAL (VALUES
        ('has no flow', f.id IS NULL),
        ('is held in a sealed flow', t.held AND f.sealed),
        ('is blocked by nothing',
         t.state {=} 'blocked' AND NOT t.held
         AND NOT EXISTS (SELECT 1 FROM {hub}.groups AS g WHERE g.downstream_id {=} t.id))
        ) AS p(problem, found)
     WHERE t.flow_id IS NOT NULL AND p.found AND ($1 IS NULL OR t.flow_id {=} $1)
    UNION ALL
    SELECT pg_catalog.concat('backlog ', b.flow_id), 'has no member'
      FROM {hub}.cancel_backlog AS b
     WHERE ($1 IS NULL OR b.flow_id {=} $1)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.cancel_backlog_members AS m
                        WHERE m.flow_id {=} b.flow_id)
    UNION ALL
    SELECT pg_catalog.concat('backlog member ', m.task_id), 'has no header'
      FROM {hub}.cancel_backlog_members AS m
     WHERE ($1 IS NULL OR m.flow_id {=} $1)
       AND NOT EXISTS (SELECT 1 FROM {hub}.cancel_backlog AS b WHERE b.flow_id {=} m.flow_id)
)sql");

constexpr int64 kMostListed = 10000;
constexpr int64 kMostEdges = 100000;  // as many as a flow of so many members can be made with
constexpr pg_uuid_t kLowest{};

const char* json_text(Jsonb* value) {
    return value == nullptr ? nullptr : JsonbToCString(nullptr, &value->root, VARSIZE(value));
}

}  // namespace

std::optional<std::string_view> flow_revision(const Hub& hub, const pg_uuid_t& id) {
    return run_one(hub, kRevision, id);
}

Jsonb* read_flow_json(const Hub& hub, const pg_uuid_t& id, std::string_view revision) {
    return run_one(hub, kJson, id, kMostListed, revision, kMostEdges).value_or(nullptr);
}

Jsonb* read_member_json(const Hub& hub, const pg_uuid_t& task) {
    return run_one(hub, kMemberJson, task).value_or(nullptr);
}

FlowList list_flows(const Hub& hub, const FlowFilter& filter, std::optional<pg_uuid_t> after,
                    int limit) {
    const pg_uuid_t behind = after ? *after : kLowest;
    const Listing rows = run(hub, kList, behind, limit, filter.states, filter.kind, filter.tags,
                             filter.created_from, filter.created_to, kMostListed);
    const bool whole =
        rows.count == static_cast<uint64>(limit) || !run_any(hub, kHasBehind, behind, kMostListed);
    return {rows, whole};
}

Listing upstream_results(const Hub& hub, const pg_uuid_t& task) {
    return run(hub, kUpstream, task);
}

UpstreamRows upstream_of_claim(const Hub& hub, std::span<const pg_uuid_t> tasks) {
    return run(hub, kOfClaim, tasks);
}

Hindrances hindrances(const Hub& hub, const pg_uuid_t& task) {
    const auto [unfinished, failed] = run_for_one(hub, kHindrances, task);
    return {json_text(unfinished), json_text(failed)};
}

ProblemRows check_flows(const Hub& hub, std::optional<pg_uuid_t> flow) {
    return run(hub, kCheck, flow);
}

}  // namespace belay::store
