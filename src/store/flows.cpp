#include "store/flows.hpp"

#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/worker_signal.hpp"
#include "store/suspensions.hpp"
#include "store/task_row.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- flows

constexpr char kFlowColumns[] = R"sql(
    SELECT f.id, f.state, f.sealed, f.fail_policy, f.struck, f.graph_revision, f.member_count,
           f.open_count, f.bad_sink_count, f.edge_count, f.terminal_at_ms, f.cancellation_policy,
           f.cancel_reason, f.cancelled_by
      FROM {hub}.flows AS f
     WHERE f.id {=} $1
)sql";
constexpr char kWaiting[] = R"sql( FOR NO KEY UPDATE )sql";
constexpr char kSkipping[] = R"sql( FOR NO KEY UPDATE SKIP LOCKED )sql";
constexpr char kToDelete[] = R"sql( FOR UPDATE )sql";

constexpr Statement kLockFlow = statement(joined<kFlowColumns, kWaiting>, UUIDOID);
constexpr Statement kTryLockFlow = statement(joined<kFlowColumns, kSkipping>, UUIDOID);
constexpr Statement kLockFlowToDelete = statement(joined<kFlowColumns, kToDelete>, UUIDOID);
constexpr Statement kReadFlow = statement(kFlowColumns, UUIDOID);

// $1 id, $2 now, $3 state, $4 sealed, $5 fail policy, $6 members, $7 open, $8 edges, $9 kind,
// $10 tags, $11 terminal_at.
constexpr Statement kInsertFlow = statement(R"sql(
    INSERT INTO {hub}.flows
           (id, graph_revision, member_count, open_count, bad_sink_count, edge_count, created_at_ms,
            updated_at_ms, terminal_at_ms, sealed, struck, state, fail_policy, kind, tags)
    VALUES ($1, 1, $6, $7, 0, $8, $2, $2, $11, $4, false, $3, $5, $9, $10)
        ON CONFLICT (id) DO NOTHING
)sql",
                                            UUIDOID, INT8OID, TEXTOID, BOOLOID, TEXTOID, INT8OID,
                                            INT8OID, INT8OID, TEXTOID, JSONBOID, INT8OID);

constexpr Statement kWriteFlow =
    statement(R"sql(
    UPDATE {hub}.flows AS f
       SET updated_at_ms = $2,
           state = $3,
           sealed = $4,
           struck = $5,
           graph_revision = $6,
           member_count = $7,
           open_count = $8,
           bad_sink_count = $9,
           edge_count = $10,
           terminal_at_ms = $11,
           cancellation_policy = $12,
           cancel_reason = $13,
           cancelled_by = $14
     WHERE f.id {=} $1
)sql",
              UUIDOID, INT8OID, TEXTOID, BOOLOID, BOOLOID, INT8OID, INT8OID, INT8OID, INT8OID,
              INT8OID, INT8OID, TEXTOID, TEXTOID, TEXTOID);

constexpr Statement kDeleteAttempts = statement(R"sql(
    DELETE FROM {hub}.attempts AS a
     USING {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND a.task_id {=} t.id
)sql",
                                                UUIDOID);
constexpr Statement kDeleteMembers = statement(R"sql(
    DELETE FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 RETURNING t.id
)sql",
                                               UUIDOID);
constexpr Statement kDeleteEdges = statement(R"sql(
    DELETE FROM {hub}.edges AS e WHERE e.flow_id {=} $1
)sql",
                                             UUIDOID);
constexpr Statement kDeleteGroups = statement(R"sql(
    DELETE FROM {hub}.groups AS g WHERE g.flow_id {=} $1
)sql",
                                              UUIDOID);
constexpr Statement kDeleteLeftOfFlow = statement(R"sql(
    DELETE FROM {hub}.cascade_queue AS q WHERE q.flow_id {=} $1
)sql",
                                                  UUIDOID);
constexpr Statement kDeleteFlow = statement(R"sql(
    DELETE FROM {hub}.flows AS f WHERE f.id {=} $1
)sql",
                                            UUIDOID);

// $1 the latest end, $2 limit.
constexpr Statement kHoldOutdatedFlows = statement(R"sql(
    SELECT f.id
      FROM {hub}.flows AS f
     WHERE f.terminal_at_ms IS NOT NULL AND f.terminal_at_ms {<=} $1 AND f.open_count {=} 0
       AND NOT EXISTS (SELECT 1 FROM {hub}.cancel_backlog AS b WHERE b.flow_id {=} f.id)
     ORDER BY f.terminal_at_ms
     LIMIT $2
       FOR UPDATE SKIP LOCKED
)sql",
                                                   INT8OID, INT8OID);

// ---------------------------------------------------------------- edges

// $1 flow, $2 downstreams, $3 upstreams, $4 names ('' for none), $5 states, $6 now.
constexpr Statement kInsertEdges =
    statement(R"sql(
    INSERT INTO {hub}.edges (flow_id, downstream_id, upstream_id, pass_as, state, resolved_at_ms)
    SELECT $1, n.downstream, n.upstream, CASE WHEN n.pass_as {<>} '' THEN n.pass_as END, n.state,
           CASE WHEN n.state {<>} 'unsatisfied' THEN $6 END
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                      pg_catalog.unnest($5)) AS n(downstream, upstream, pass_as, state)
)sql",
              UUIDOID, UUIDARRAYOID, UUIDARRAYOID, TEXTARRAYOID, TEXTARRAYOID, INT8OID);

constexpr Statement kEdgeExists = statement(R"sql(
    SELECT 1
      FROM {hub}.edges AS e
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} $3 AND e.upstream_id {=} $2
)sql",
                                            UUIDOID, UUIDOID, UUIDOID);

// $1 from, $2 to.
constexpr Statement kReachable = statement(R"sql(
    WITH RECURSIVE reached AS (
        SELECT $1 AS id
        UNION
        SELECT e.downstream_id
          FROM reached AS r
          JOIN {hub}.edges AS e ON e.upstream_id {=} r.id
    )
    SELECT 1 FROM reached AS r WHERE r.id {=} $2
)sql",
                                           UUIDOID, UUIDOID);

constexpr Statement kCountSinks = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM pg_catalog.unnest($1) AS n(id)
     WHERE NOT EXISTS (SELECT 1 FROM {hub}.edges AS e WHERE e.upstream_id {=} n.id)
)sql",
                                            UUIDARRAYOID);

// $1 upstreams, $2 state, $3 now, $4 limit.
constexpr Statement kResolveEdges = statement(R"sql(
    UPDATE {hub}.edges AS e
       SET state = $2, resolved_at_ms = $3
      FROM (SELECT x.flow_id, x.downstream_id, x.upstream_id
              FROM {hub}.edges AS x
             WHERE x.upstream_id {=} ANY ($1) AND x.state {=} 'unsatisfied'
             LIMIT $4) AS p
     WHERE e.flow_id {=} p.flow_id AND e.downstream_id {=} p.downstream_id
       AND e.upstream_id {=} p.upstream_id
    RETURNING e.downstream_id
)sql",
                                              UUIDARRAYOID, TEXTOID, INT8OID, INT8OID);

constexpr Statement kWithUnresolved = statement(R"sql(
    SELECT n.id
      FROM pg_catalog.unnest($1) AS n(id)
     WHERE EXISTS (SELECT 1
                     FROM {hub}.edges AS e
                    WHERE e.upstream_id {=} n.id AND e.state {=} 'unsatisfied')
)sql",
                                                UUIDARRAYOID);

constexpr Statement kResetOutgoing = statement(R"sql(
    UPDATE {hub}.edges AS e
       SET state = 'unsatisfied', resolved_at_ms = NULL
     WHERE e.upstream_id {=} $1 AND e.state {=} 'impossible'
    RETURNING e.downstream_id
)sql",
                                               UUIDOID);

// $1 flow, $2 downstream, $3 now.
constexpr Statement kResetInbound = statement(R"sql(
    UPDATE {hub}.edges AS e
       SET state = CASE WHEN u.state {=} 'completed' THEN 'satisfied' ELSE 'unsatisfied' END,
           resolved_at_ms = CASE WHEN u.state {=} 'completed' THEN $3 END
      FROM {hub}.tasks AS u
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} $2 AND u.id {=} e.upstream_id
       AND e.state {<>} 'satisfied'
       AND (e.state {=} 'impossible' OR u.state {=} 'completed')
)sql",
                                              UUIDOID, UUIDOID, INT8OID);

constexpr Statement kEndedUpstreams = statement(R"sql(
    SELECT e.upstream_id
      FROM {hub}.edges AS e
      JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} $2 AND e.state {=} 'unsatisfied'
       AND u.terminal_at_ms IS NOT NULL
     ORDER BY e.upstream_id
)sql",
                                                UUIDOID, UUIDOID);

// ---------------------------------------------------------------- groups

// $1 flow, $2 downstreams, $3 policies, $4 k, $5 on_satisfied ('' for none), $6 totals,
// $7 satisfied, $8 failed, $9 skipped, $10 states, $11 now.
constexpr Statement kInsertGroups =
    statement(R"sql(
    INSERT INTO {hub}.groups
           (flow_id, downstream_id, policy, k, on_satisfied, total, satisfied, failed, skipped,
            state, closed_at_ms)
    SELECT $1, n.downstream, n.policy, n.k, CASE WHEN n.on_satisfied {<>} '' THEN n.on_satisfied END, n.total, n.satisfied,
           n.failed, n.skipped, n.state, CASE WHEN n.state {<>} 'open' THEN $11 END
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                      pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7),
                      pg_catalog.unnest($8), pg_catalog.unnest($9), pg_catalog.unnest($10))
           AS n(downstream, policy, k, on_satisfied, total, satisfied, failed, skipped, state)
)sql",
              UUIDOID, UUIDARRAYOID, TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID, INT4ARRAYOID,
              INT4ARRAYOID, INT4ARRAYOID, INT4ARRAYOID, TEXTARRAYOID, INT8OID);

constexpr char kGroupResult[] = R"sql(
           g.downstream_id, g.policy, g.k, g.on_satisfied, g.total, g.satisfied, g.failed,
           g.skipped, g.state,
           (SELECT t.held FROM {hub}.tasks AS t WHERE t.id {=} g.downstream_id),
           (SELECT t.state FROM {hub}.tasks AS t WHERE t.id {=} g.downstream_id)
)sql";

constexpr char kSelectWord[] = R"sql( SELECT )sql";
constexpr char kOfDownstream[] = R"sql(
      FROM {hub}.groups AS g
     WHERE g.downstream_id {=} $1
)sql";
constexpr Statement kReadGroup =
    statement(joined<kSelectWord, kGroupResult, kOfDownstream>, UUIDOID);

constexpr char kOpenOfFlow[] = R"sql(
      FROM {hub}.groups AS g
     WHERE g.flow_id {=} $1 AND g.state {=} 'open'
     ORDER BY g.downstream_id
)sql";
constexpr Statement kOpenGroups =
    statement(joined<kSelectWord, kGroupResult, kOpenOfFlow>, UUIDOID);

// $1 downstream, $2 policy, $3 k, $4 on_satisfied, $5 total, $6 satisfied, $7 failed, $8 skipped,
// $9 state, $10 now.
constexpr Statement kWriteGroup = statement(R"sql(
    UPDATE {hub}.groups AS g
       SET policy = $2, k = $3, on_satisfied = $4, total = $5, satisfied = $6, failed = $7,
           skipped = $8, state = $9,
           closed_at_ms = CASE WHEN $9 {<>} 'open' THEN COALESCE(g.closed_at_ms, $10) END
     WHERE g.downstream_id {=} $1
)sql",
                                            UUIDOID, TEXTOID, INT4OID, TEXTOID, INT4OID, INT4OID,
                                            INT4OID, INT4OID, TEXTOID, INT8OID);

// $1 downstreams, $2 numbers of ends, $3 which end.
constexpr char kCountEnds[] = R"sql(
    UPDATE {hub}.groups AS g
       SET satisfied = g.satisfied {+} CASE WHEN $3 {=} 'completed' THEN n.ends ELSE 0 END,
           skipped = g.skipped {+} CASE WHEN $3 {=} 'skipped' THEN n.ends ELSE 0 END,
           failed = g.failed {+} CASE WHEN $3 {=} ANY (ARRAY['completed', 'skipped']) THEN 0
                                      ELSE n.ends END
      FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS n(id, ends)
     WHERE g.downstream_id {=} n.id
    RETURNING
)sql";
constexpr Statement kCountEndsOfGroups =
    statement(joined<kCountEnds, kGroupResult>, UUIDARRAYOID, INT4ARRAYOID, TEXTOID);

// $1 downstreams. An impossible edge counts by the state of its upstream.
constexpr char kRecount[] = R"sql(
    UPDATE {hub}.groups AS g
       SET satisfied = c.satisfied, failed = c.failed, skipped = c.skipped
      FROM (SELECT n.id,
                   CAST(pg_catalog.count(*) FILTER (WHERE e.state {=} 'satisfied')
                        AS pg_catalog.int4) AS satisfied,
                   CAST(pg_catalog.count(*) FILTER (WHERE e.state {=} 'impossible'
                                                      AND u.state {<>} 'skipped')
                        AS pg_catalog.int4) AS failed,
                   CAST(pg_catalog.count(*) FILTER (WHERE e.state {=} 'impossible'
                                                      AND u.state {=} 'skipped')
                        AS pg_catalog.int4) AS skipped
              FROM pg_catalog.unnest($1) AS n(id)
              JOIN {hub}.groups AS o ON o.downstream_id {=} n.id
              JOIN {hub}.edges AS e ON e.flow_id {=} o.flow_id AND e.downstream_id {=} n.id
              JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
             GROUP BY n.id) AS c
     WHERE g.downstream_id {=} c.id
    RETURNING
)sql";
constexpr Statement kRecountGroups = statement(joined<kRecount, kGroupResult>, UUIDARRAYOID);

// $1 downstreams, $2 state, $3 now.
constexpr Statement kSetGroupStates = statement(R"sql(
    UPDATE {hub}.groups AS g
       SET state = $2, closed_at_ms = CASE WHEN $2 {<>} 'open' THEN $3 END
     WHERE g.downstream_id {=} ANY ($1)
)sql",
                                                UUIDARRAYOID, TEXTOID, INT8OID);

// $1 flow, $2 downstreams.
constexpr Statement kIdleUpstreams = statement(R"sql(
    SELECT DISTINCT e.upstream_id
      FROM {hub}.edges AS e
      JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} ANY ($2) AND e.state {=} 'unsatisfied'
       AND u.terminal_at_ms IS NULL
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.edges AS o
                         JOIN {hub}.groups AS g ON g.downstream_id {=} o.downstream_id
                        WHERE o.upstream_id {=} e.upstream_id AND g.state {=} 'open')
     ORDER BY e.upstream_id
)sql",
                                               UUIDOID, UUIDARRAYOID);

constexpr Statement kNeeded = statement(R"sql(
    SELECT 1
      FROM {hub}.edges AS o
      JOIN {hub}.groups AS g ON g.downstream_id {=} o.downstream_id
     WHERE o.upstream_id {=} $1 AND g.state {=} 'open'
     LIMIT 1
)sql",
                                        UUIDOID);

// ---------------------------------------------------------------- what is left to duties

constexpr std::string_view kLeftNames[] = {"dispatch", "sibling_cancel", "fail_fast"};
constexpr std::optional<Left> parse_left(std::string_view word) {
    return core::parse_word<Left>(kLeftNames, word);
}

// $1 flow, $2 what, $3 tasks, $4 now.
constexpr Statement kLeave = statement(R"sql(
    INSERT INTO {hub}.cascade_queue (flow_id, task_id, what, enqueued_at_ms)
    SELECT $1, n.id, $2, $4
      FROM pg_catalog.unnest($3) AS n(id)
        ON CONFLICT (task_id, what) DO NOTHING
)sql",
                                       UUIDOID, TEXTOID, UUIDARRAYOID, INT8OID);

constexpr Statement kOldestDispatch = statement(R"sql(
    SELECT q.flow_id, q.task_id, q.what
      FROM {hub}.cascade_queue AS q
     WHERE q.what {=} 'dispatch'
     ORDER BY q.enqueued_at_ms, q.task_id
     LIMIT $1
)sql",
                                                INT8OID);
constexpr Statement kOldestCancel = statement(R"sql(
    SELECT q.flow_id, q.task_id, q.what
      FROM {hub}.cascade_queue AS q
     WHERE q.what {<>} 'dispatch'
     ORDER BY q.enqueued_at_ms, q.task_id
     LIMIT $1
)sql",
                                              INT8OID);
constexpr Statement kDeleteLeft = statement(R"sql(
    DELETE FROM {hub}.cascade_queue AS q WHERE q.task_id {=} $1 AND q.what {=} $2
)sql",
                                            UUIDOID, TEXTOID);
constexpr Statement kDeleteLeftOfTask = statement(R"sql(
    DELETE FROM {hub}.cascade_queue AS q WHERE q.task_id {=} $1
)sql",
                                                  UUIDOID);

// ---------------------------------------------------------------- backlog

// $1 flow, $2 now, $3 grace until, $4 requester, $5 reason, $6 policy.
constexpr Statement kWriteHeader = statement(R"sql(
    INSERT INTO {hub}.cancel_backlog AS b
           (flow_id, requested_at_ms, grace_until_ms, requester, reason, cancellation_policy)
    VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (flow_id) DO UPDATE
       SET requested_at_ms = $2, grace_until_ms = $3, requester = $4, reason = $5,
           cancellation_policy = $6
)sql",
                                             UUIDOID, INT8OID, INT8OID, TEXTOID, TEXTOID, TEXTOID);

// $1 flow, $2 tasks, $3 epochs, $4 workers, $5 instances.
constexpr Statement kWriteBacklogMembers =
    statement(R"sql(
    INSERT INTO {hub}.cancel_backlog_members AS m
           (flow_id, task_id, lease_epoch, worker, worker_instance)
    SELECT $1, n.id, n.epoch, n.worker, n.instance
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                      pg_catalog.unnest($5)) AS n(id, epoch, worker, instance)
        ON CONFLICT (flow_id, task_id) DO UPDATE
       SET lease_epoch = excluded.lease_epoch, worker = excluded.worker,
           worker_instance = excluded.worker_instance
)sql",
              UUIDOID, UUIDARRAYOID, INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID);

constexpr Statement kLockHeader = statement(R"sql(
    SELECT b.flow_id FROM {hub}.cancel_backlog AS b WHERE b.flow_id {=} $1 FOR UPDATE
)sql",
                                            UUIDOID);
constexpr Statement kDeleteBacklogMember = statement(R"sql(
    DELETE FROM {hub}.cancel_backlog_members AS m WHERE m.flow_id {=} $1 AND m.task_id {=} $2
)sql",
                                                     UUIDOID, UUIDOID);
constexpr Statement kDeleteEmptyHeader = statement(R"sql(
    DELETE FROM {hub}.cancel_backlog AS b
     WHERE b.flow_id {=} $1
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.cancel_backlog_members AS m
                        WHERE m.flow_id {=} b.flow_id)
)sql",
                                                   UUIDOID);
constexpr Statement kHoldOverdue = statement(R"sql(
    SELECT b.flow_id
      FROM {hub}.cancel_backlog AS b
     WHERE b.grace_until_ms {<=} $1
     ORDER BY b.grace_until_ms
     LIMIT $2
       FOR UPDATE SKIP LOCKED
)sql",
                                             INT8OID, INT8OID);
constexpr Statement kDeleteSomeMembers = statement(R"sql(
    DELETE FROM {hub}.cancel_backlog_members AS m
     WHERE m.flow_id {=} $1
       AND m.task_id {=} ANY (ARRAY(SELECT x.task_id
                                      FROM {hub}.cancel_backlog_members AS x
                                     WHERE x.flow_id {=} $1
                                     ORDER BY x.task_id
                                     LIMIT $2))
    RETURNING m.task_id
)sql",
                                                   UUIDOID, INT8OID);
constexpr Statement kBacklogIds = statement(R"sql(
    SELECT m.task_id
      FROM {hub}.cancel_backlog_members AS m
     WHERE m.flow_id {=} $1
     ORDER BY m.task_id
     LIMIT $2
)sql",
                                            UUIDOID, INT8OID);
constexpr Statement kCountBacklog = statement(R"sql(
    SELECT pg_catalog.count(*) FROM {hub}.cancel_backlog_members AS m WHERE m.flow_id {=} $1
)sql",
                                              UUIDOID);

// ---------------------------------------------------------------- helpers

std::optional<Flow> first_flow(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    const auto policy = rows.optional_text(0, 12);
    return Flow{.id = rows.uuid(0, 1),
                .state = rows.word(0, 2, core::parse_flow_state),
                .sealed = rows.boolean(0, 3),
                .fail_fast = rows.text(0, 4) == "fail_fast",
                .struck = rows.boolean(0, 5),
                .revision = rows.int8(0, 6),
                .members = rows.int8(0, 7),
                .open_members = rows.int8(0, 8),
                .bad_sinks = rows.int8(0, 9),
                .edges = rows.int8(0, 10),
                .terminal_at = rows.optional_int8(0, 11),
                .cancellation_policy = policy ? core::parse_cancel_policy(*policy) : std::nullopt,
                .cancel_reason = rows.optional_text(0, 13),
                .cancelled_by = rows.optional_text(0, 14)};
}

std::string_view on_satisfied(const core::Join& join) {
    return join.kind == core::JoinKind::kAllOf ? ""
           : join.cancels_remaining            ? "cancel_remaining"
                                               : "let_run";
}

std::span<const Group> read_groups(const Rows& rows) {
    auto* groups = static_cast<Group*>(palloc(sizeof(Group) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        groups[i] = {.downstream = rows.uuid(i, 1),
                     .join = {.kind = rows.word(i, 2, core::parse_join_kind),
                              .k = rows.int4(i, 3),
                              .cancels_remaining =
                                  rows.optional_text(i, 4).value_or("") == "cancel_remaining"},
                     .counts = {rows.int4(i, 5), rows.int4(i, 6), rows.int4(i, 7), rows.int4(i, 8)},
                     .state = rows.word(i, 9, core::parse_group_state),
                     .held = rows.boolean(i, 10),
                     .waiting = rows.word(i, 11, core::parse_task_state)};
    }
    return {groups, static_cast<std::size_t>(rows.count)};
}

// One array of a column of many structs.
template <typename Item, typename Value>
std::span<const Value> column(std::span<const Item> items, Value (*of)(const Item&)) {
    auto* values = static_cast<Value*>(palloc(sizeof(Value) * (items.size() + 1)));
    for (std::size_t i = 0; i < items.size(); ++i) {
        values[i] = of(items[i]);
    }
    return {values, items.size()};
}

}  // namespace

// ---------------------------------------------------------------- flows

std::optional<Flow> lock_flow(const Hub& hub, const pg_uuid_t& id) {
    return first_flow(run(hub, kLockFlow, Params().uuid(id)));
}

std::optional<Flow> try_lock_flow(const Hub& hub, const pg_uuid_t& id) {
    return first_flow(run(hub, kTryLockFlow, Params().uuid(id)));
}

std::optional<Flow> lock_flow_to_delete(const Hub& hub, const pg_uuid_t& id) {
    return first_flow(run(hub, kLockFlowToDelete, Params().uuid(id)));
}

std::optional<Flow> read_flow(const Hub& hub, const pg_uuid_t& id) {
    return first_flow(run(hub, kReadFlow, Params().uuid(id)));
}

bool insert_flow(const Hub& hub, const Flow& flow, std::string_view kind, Jsonb* tags, int64 now) {
    return run(hub, kInsertFlow,
               Params()
                   .uuid(flow.id)
                   .int8(now)
                   .text(core::name_of(flow.state))
                   .boolean(flow.sealed)
                   .text(flow.fail_fast ? "fail_fast" : "continue")
                   .int8(flow.members)
                   .int8(flow.open_members)
                   .int8(flow.edges)
                   .text(kind)
                   .jsonb(tags)
                   .optional_int8(flow.terminal_at))
               .count > 0;
}

void write_flow(const Hub& hub, const Flow& flow, int64 now) {
    const auto policy = flow.cancellation_policy
                            ? std::optional(core::name_of(*flow.cancellation_policy))
                            : std::nullopt;
    run_for_one(hub, kWriteFlow,
                Params()
                    .uuid(flow.id)
                    .int8(now)
                    .text(core::name_of(flow.state))
                    .boolean(flow.sealed)
                    .boolean(flow.struck)
                    .int8(flow.revision)
                    .int8(flow.members)
                    .int8(flow.open_members)
                    .int8(flow.bad_sinks)
                    .int8(flow.edges)
                    .optional_int8(flow.terminal_at)
                    .optional_text(policy)
                    .optional_text(flow.cancel_reason)
                    .optional_text(flow.cancelled_by));
}

void delete_flow(const Hub& hub, const pg_uuid_t& id) {
    run(hub, kDeleteAttempts, Params().uuid(id));
    delete_suspensions_of_flow(hub, id);
    for (const pg_uuid_t& task : read_ids(run(hub, kDeleteMembers, Params().uuid(id)))) {
        note_state(hub, task);
    }
    run(hub, kDeleteEdges, Params().uuid(id));
    run(hub, kDeleteGroups, Params().uuid(id));
    run(hub, kDeleteLeftOfFlow, Params().uuid(id));
    run_for_one(hub, kDeleteFlow, Params().uuid(id));
}

std::span<const pg_uuid_t> hold_outdated_flows(const Hub& hub, int64 now, int64 retention_ms,
                                               int limit) {
    return read_ids(run(hub, kHoldOutdatedFlows, Params().int8(now - retention_ms).int8(limit)));
}

// ---------------------------------------------------------------- edges

void insert_edges(const Hub& hub, const pg_uuid_t& flow, std::span<const NewEdge> edges,
                  int64 now) {
    if (edges.empty()) {
        return;
    }
    using Text = std::string_view;
    const auto ids = [&edges](pg_uuid_t (*of)(const NewEdge&)) {
        return uuid_array(column<NewEdge, pg_uuid_t>(edges, of));
    };
    const auto words = [&edges](Text (*of)(const NewEdge&)) {
        return text_array(column<NewEdge, Text>(edges, of));
    };
    run(hub, kInsertEdges,
        Params()
            .uuid(flow)
            .datum(ids([](const NewEdge& edge) { return edge.downstream; }))
            .datum(ids([](const NewEdge& edge) { return edge.upstream; }))
            .datum(words([](const NewEdge& edge) { return edge.pass_as.value_or(""); }))
            .datum(words([](const NewEdge& edge) { return core::name_of(edge.state); }))
            .int8(now));
}

bool edge_exists(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& upstream,
                 const pg_uuid_t& downstream) {
    return run(hub, kEdgeExists, Params().uuid(flow).uuid(upstream).uuid(downstream)).count > 0;
}

bool is_reachable(const Hub& hub, const pg_uuid_t& from, const pg_uuid_t& to) {
    return run(hub, kReachable, Params().uuid(from).uuid(to)).count > 0;
}

bool is_sink(const Hub& hub, const pg_uuid_t& task) {
    return count_sinks(hub, {&task, 1}) > 0;
}

int64 count_sinks(const Hub& hub, std::span<const pg_uuid_t> tasks) {
    return run(hub, kCountSinks, Params().datum(uuid_array(tasks))).int8(0, 1);
}

std::span<const pg_uuid_t> resolve_edges(const Hub& hub, std::span<const pg_uuid_t> upstreams,
                                         core::EdgeState state, int64 now, int64 limit) {
    return read_ids(run(
        hub, kResolveEdges,
        Params().datum(uuid_array(upstreams)).text(core::name_of(state)).int8(now).int8(limit)));
}

std::span<const pg_uuid_t> with_unresolved_edges(const Hub& hub,
                                                 std::span<const pg_uuid_t> upstreams) {
    return read_ids(run(hub, kWithUnresolved, Params().datum(uuid_array(upstreams))));
}

std::span<const pg_uuid_t> reset_outgoing(const Hub& hub, const pg_uuid_t& upstream) {
    return read_ids(run(hub, kResetOutgoing, Params().uuid(upstream)));
}

void reset_inbound(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& downstream, int64 now) {
    run(hub, kResetInbound, Params().uuid(flow).uuid(downstream).int8(now));
}

std::span<const pg_uuid_t> ended_upstreams(const Hub& hub, const pg_uuid_t& flow,
                                           const pg_uuid_t& downstream) {
    return read_ids(run(hub, kEndedUpstreams, Params().uuid(flow).uuid(downstream)));
}

// ---------------------------------------------------------------- groups

void insert_groups(const Hub& hub, const pg_uuid_t& flow, std::span<const Group> groups,
                   int64 now) {
    if (groups.empty()) {
        return;
    }
    using Text = std::string_view;
    const auto words = [&groups](Text (*of)(const Group&)) {
        return text_array(column<Group, Text>(groups, of));
    };
    const auto numbers = [&groups](int32 (*of)(const Group&)) {
        return int4_array(column<Group, int32>(groups, of));
    };
    run(hub, kInsertGroups,
        Params()
            .uuid(flow)
            .datum(uuid_array(column<Group, pg_uuid_t>(
                groups, [](const Group& group) { return group.downstream; })))
            .datum(words([](const Group& group) { return core::name_of(group.join.kind); }))
            .datum(numbers([](const Group& group) { return group.join.k; }))
            .datum(words([](const Group& group) { return on_satisfied(group.join); }))
            .datum(numbers([](const Group& group) { return group.counts.total; }))
            .datum(numbers([](const Group& group) { return group.counts.satisfied; }))
            .datum(numbers([](const Group& group) { return group.counts.failed; }))
            .datum(numbers([](const Group& group) { return group.counts.skipped; }))
            .datum(words([](const Group& group) { return core::name_of(group.state); }))
            .int8(now));
}

std::optional<Group> read_group(const Hub& hub, const pg_uuid_t& downstream) {
    const auto groups = read_groups(run(hub, kReadGroup, Params().uuid(downstream)));
    return groups.empty() ? std::nullopt : std::optional(groups[0]);
}

void write_group(const Hub& hub, const Group& group, int64 now) {
    const std::string_view satisfied = on_satisfied(group.join);
    run_for_one(hub, kWriteGroup,
                Params()
                    .uuid(group.downstream)
                    .text(core::name_of(group.join.kind))
                    .int4(group.join.k)
                    .optional_text(satisfied.empty() ? std::nullopt : std::optional(satisfied))
                    .int4(group.counts.total)
                    .int4(group.counts.satisfied)
                    .int4(group.counts.failed)
                    .int4(group.counts.skipped)
                    .text(core::name_of(group.state))
                    .int8(now));
}

std::span<const Group> count_ends(const Hub& hub, core::TaskState end,
                                  std::span<const pg_uuid_t> downstreams,
                                  std::span<const int32> ends) {
    return read_groups(run(
        hub, kCountEndsOfGroups,
        Params().datum(uuid_array(downstreams)).datum(int4_array(ends)).text(core::name_of(end))));
}

std::span<const Group> recount_groups(const Hub& hub, std::span<const pg_uuid_t> downstreams) {
    return read_groups(run(hub, kRecountGroups, Params().datum(uuid_array(downstreams))));
}

void set_group_states(const Hub& hub, std::span<const pg_uuid_t> downstreams,
                      core::GroupState state, int64 now) {
    run(hub, kSetGroupStates,
        Params().datum(uuid_array(downstreams)).text(core::name_of(state)).int8(now));
}

std::span<const Group> open_groups(const Hub& hub, const pg_uuid_t& flow) {
    return read_groups(run(hub, kOpenGroups, Params().uuid(flow)));
}

std::span<const pg_uuid_t> idle_upstreams(const Hub& hub, const pg_uuid_t& flow,
                                          std::span<const pg_uuid_t> downstreams) {
    return read_ids(run(hub, kIdleUpstreams, Params().uuid(flow).datum(uuid_array(downstreams))));
}

bool is_needed(const Hub& hub, const pg_uuid_t& task) {
    return run(hub, kNeeded, Params().uuid(task)).count > 0;
}

// ---------------------------------------------------------------- what is left to duties

void leave_to_duty(const Hub& hub, const pg_uuid_t& flow, Left what,
                   std::span<const pg_uuid_t> tasks, int64 now) {
    if (tasks.empty()) {
        return;
    }
    run(hub, kLeave,
        Params()
            .uuid(flow)
            .text(kLeftNames[static_cast<int>(what)])
            .datum(uuid_array(tasks))
            .int8(now));
    pg::wake_worker_at_commit(pg::Bell::kCascade);
}

void drop_left(const Hub& hub, const pg_uuid_t& flow) {
    run(hub, kDeleteLeftOfFlow, Params().uuid(flow));
}

std::span<const LeftOver> oldest_left(const Hub& hub, bool dispatch, int limit) {
    const Rows rows = run(hub, dispatch ? kOldestDispatch : kOldestCancel, Params().int8(limit));
    auto* left = static_cast<LeftOver*>(palloc(sizeof(LeftOver) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        left[i] = {rows.uuid(i, 1), rows.uuid(i, 2), rows.word(i, 3, parse_left)};
    }
    return {left, static_cast<std::size_t>(rows.count)};
}

void delete_left(const Hub& hub, const LeftOver& left) {
    run(hub, kDeleteLeft, Params().uuid(left.task).text(kLeftNames[static_cast<int>(left.what)]));
}

void delete_left_of_task(const Hub& hub, const pg_uuid_t& task) {
    run(hub, kDeleteLeftOfTask, Params().uuid(task));
}

// ---------------------------------------------------------------- backlog

void write_backlog(const Hub& hub, const pg_uuid_t& flow, const Backlog& backlog,
                   std::span<const Task> tasks, int64 now) {
    run_for_one(hub, kWriteHeader,
                Params()
                    .uuid(flow)
                    .int8(now)
                    .int8(backlog.grace_until)
                    .text(backlog.requester)
                    .text(backlog.reason)
                    .text(core::name_of(backlog.policy)));
    using Text = std::string_view;
    run(hub, kWriteBacklogMembers,
        Params()
            .uuid(flow)
            .datum(uuid_array(
                column<Task, pg_uuid_t>(tasks, [](const Task& task) { return task.id; })))
            .datum(int8_array(
                column<Task, int64>(tasks, [](const Task& task) { return task.lease_epoch; })))
            .datum(text_array(column<Task, Text>(
                tasks, [](const Task& task) { return task.lease_worker.value_or(""); })))
            .datum(text_array(column<Task, Text>(
                tasks, [](const Task& task) { return task.lease_owner.value_or(""); }))));
}

bool lock_backlog(const Hub& hub, const pg_uuid_t& flow) {
    return run(hub, kLockHeader, Params().uuid(flow)).count > 0;
}

void delete_backlog_member(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& task) {
    run(hub, kDeleteBacklogMember, Params().uuid(flow).uuid(task));
}

void delete_empty_backlog(const Hub& hub, const pg_uuid_t& flow) {
    run(hub, kDeleteEmptyHeader, Params().uuid(flow));
}

std::span<const pg_uuid_t> hold_overdue_backlogs(const Hub& hub, int64 now, int limit) {
    return read_ids(run(hub, kHoldOverdue, Params().int8(now).int8(limit)));
}

int64 delete_backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit) {
    return static_cast<int64>(run(hub, kDeleteSomeMembers, Params().uuid(flow).int8(limit)).count);
}

SomeIds backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit) {
    return {read_ids(run(hub, kBacklogIds, Params().uuid(flow).int8(limit))),
            run(hub, kCountBacklog, Params().uuid(flow)).int8(0, 1)};
}

}  // namespace belay::store
