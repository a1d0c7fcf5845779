// Tables edges and groups: what a member waits for, and what is known of it.
//
// May touch: edges and groups; tasks to read the state of an upstream or of the task that waits.
// Must not: decide what a group's counts mean; core/flow.hpp does. The caller holds the flow's row.
#include "store/edges.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- edges

// $1 flow, $2 downstreams, $3 upstreams, $4 names ('' for none), $5 states, $6 now.
constexpr auto kInsertEdges = statement<In<pg_uuid_t, ListOf<pg_uuid_t>, ListOf<pg_uuid_t>,
                                           ListOf<Text>, ListOf<core::EdgeState>, int64>,
                                        Out<>>(
    R"sql(
    INSERT INTO {hub}.edges (flow_id, downstream_id, upstream_id, pass_as, state, resolved_at_ms)
    SELECT $1, n.downstream, n.upstream, CASE WHEN n.pass_as {<>} '' THEN n.pass_as END, n.state,
           CASE WHEN n.state {<>} 'unsatisfied' THEN $6 END
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                      pg_catalog.unnest($5)) AS n(downstream, upstream, pass_as, state)
)sql");

constexpr auto kEdgeExists = statement<In<pg_uuid_t, pg_uuid_t, pg_uuid_t>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.edges AS e
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} $3 AND e.upstream_id {=} $2
)sql");

// $1 from, $2 to.
constexpr auto kReachable = statement<In<pg_uuid_t, pg_uuid_t>, Out<int32>>(R"sql(
    WITH RECURSIVE reached AS (
        SELECT $1 AS id
        UNION
        SELECT e.downstream_id
          FROM reached AS r
          JOIN {hub}.edges AS e ON e.upstream_id {=} r.id
    )
    SELECT 1 FROM reached AS r WHERE r.id {=} $2
)sql");

constexpr auto kCountSinks = statement<In<ListOf<pg_uuid_t>>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM pg_catalog.unnest($1) AS n(id)
     WHERE NOT EXISTS (SELECT 1 FROM {hub}.edges AS e WHERE e.upstream_id {=} n.id)
)sql");

// $1 upstreams, $2 state, $3 now, $4 limit.
constexpr auto kResolveEdges =
    statement<In<ListOf<pg_uuid_t>, core::EdgeState, int64, int64>, Out<pg_uuid_t>>(R"sql(
    UPDATE {hub}.edges AS e
       SET state = $2, resolved_at_ms = $3
      FROM (SELECT x.flow_id, x.downstream_id, x.upstream_id
              FROM {hub}.edges AS x
             WHERE x.upstream_id {=} ANY ($1) AND x.state {=} 'unsatisfied'
             LIMIT $4) AS p
     WHERE e.flow_id {=} p.flow_id AND e.downstream_id {=} p.downstream_id
       AND e.upstream_id {=} p.upstream_id
    RETURNING e.downstream_id
)sql");

constexpr auto kWithUnresolved = statement<In<ListOf<pg_uuid_t>>, Out<pg_uuid_t>>(R"sql(
    SELECT n.id
      FROM pg_catalog.unnest($1) AS n(id)
     WHERE EXISTS (SELECT 1
                     FROM {hub}.edges AS e
                    WHERE e.upstream_id {=} n.id AND e.state {=} 'unsatisfied')
)sql");

constexpr auto kResetOutgoing = statement<In<pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    UPDATE {hub}.edges AS e
       SET state = 'unsatisfied', resolved_at_ms = NULL
     WHERE e.upstream_id {=} $1 AND e.state {=} 'impossible'
    RETURNING e.downstream_id
)sql");

// $1 flow, $2 downstream, $3 now.
constexpr auto kResetInbound = statement<In<pg_uuid_t, pg_uuid_t, int64>, Out<>>(R"sql(
    UPDATE {hub}.edges AS e
       SET state = CASE WHEN u.state {=} 'completed' THEN 'satisfied' ELSE 'unsatisfied' END,
           resolved_at_ms = CASE WHEN u.state {=} 'completed' THEN $3 END
      FROM {hub}.tasks AS u
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} $2 AND u.id {=} e.upstream_id
       AND e.state {<>} 'satisfied'
       AND (e.state {=} 'impossible' OR u.state {=} 'completed')
)sql");

constexpr auto kEndedUpstreams = statement<In<pg_uuid_t, pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    SELECT e.upstream_id
      FROM {hub}.edges AS e
      JOIN {hub}.tasks AS u ON u.id {=} e.upstream_id
     WHERE e.flow_id {=} $1 AND e.downstream_id {=} $2 AND e.state {=} 'unsatisfied'
       AND u.terminal_at_ms IS NOT NULL
     ORDER BY e.upstream_id
)sql");

// ---------------------------------------------------------------- groups

using GroupRows = Out<pg_uuid_t, core::JoinKind, int32, Maybe<Text>, int32, int32, int32, int32,
                      core::GroupState, bool, core::TaskState>;

// $1 flow, $2 downstreams, $3 policies, $4 k, $5 on_satisfied ('' for none), $6 totals,
// $7 satisfied, $8 failed, $9 skipped, $10 states, $11 now.
constexpr auto kInsertGroups = statement<
    In<pg_uuid_t, ListOf<pg_uuid_t>, ListOf<core::JoinKind>, ListOf<int32>, ListOf<Text>,
       ListOf<int32>, ListOf<int32>, ListOf<int32>, ListOf<int32>, ListOf<core::GroupState>, int64>,
    Out<>>(R"sql(
    INSERT INTO {hub}.groups
           (flow_id, downstream_id, policy, k, on_satisfied, total, satisfied, failed, skipped,
            state, closed_at_ms)
    SELECT $1, n.downstream, n.policy, n.k, CASE WHEN n.on_satisfied {<>} '' THEN n.on_satisfied END, n.total, n.satisfied,
           n.failed, n.skipped, n.state, CASE WHEN n.state {<>} 'open' THEN $11 END
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                      pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7),
                      pg_catalog.unnest($8), pg_catalog.unnest($9), pg_catalog.unnest($10))
           AS n(downstream, policy, k, on_satisfied, total, satisfied, failed, skipped, state)
)sql");

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
constexpr auto kReadGroup =
    statement<In<pg_uuid_t>, GroupRows>(joined<kSelectWord, kGroupResult, kOfDownstream>);

constexpr char kOpenOfFlow[] = R"sql(
      FROM {hub}.groups AS g
     WHERE g.flow_id {=} $1 AND g.state {=} 'open'
     ORDER BY g.downstream_id
)sql";
constexpr auto kOpenGroups =
    statement<In<pg_uuid_t>, GroupRows>(joined<kSelectWord, kGroupResult, kOpenOfFlow>);

// $1 downstream, $2 policy, $3 k, $4 on_satisfied, $5 total, $6 satisfied, $7 failed, $8 skipped,
// $9 state, $10 now.
constexpr auto kWriteGroup = statement<In<pg_uuid_t, core::JoinKind, int32, Maybe<Text>, int32,
                                          int32, int32, int32, core::GroupState, int64>,
                                       Out<>>(R"sql(
    UPDATE {hub}.groups AS g
       SET policy = $2, k = $3, on_satisfied = $4, total = $5, satisfied = $6, failed = $7,
           skipped = $8, state = $9,
           closed_at_ms = CASE WHEN $9 {<>} 'open' THEN COALESCE(g.closed_at_ms, $10) END
     WHERE g.downstream_id {=} $1
)sql");

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
constexpr auto kCountEndsOfGroups =
    statement<In<ListOf<pg_uuid_t>, ListOf<int32>, core::TaskState>, GroupRows>(
        joined<kCountEnds, kGroupResult>);

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
constexpr auto kRecountGroups =
    statement<In<ListOf<pg_uuid_t>>, GroupRows>(joined<kRecount, kGroupResult>);

// $1 downstreams, $2 state, $3 now.
constexpr auto kSetGroupStates =
    statement<In<ListOf<pg_uuid_t>, core::GroupState, int64>, Out<>>(R"sql(
    UPDATE {hub}.groups AS g
       SET state = $2, closed_at_ms = CASE WHEN $2 {<>} 'open' THEN $3 END
     WHERE g.downstream_id {=} ANY ($1)
)sql");

// $1 flow, $2 downstreams.
constexpr auto kIdleUpstreams = statement<In<pg_uuid_t, ListOf<pg_uuid_t>>, Out<pg_uuid_t>>(R"sql(
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
)sql");

constexpr auto kNeeded = statement<In<pg_uuid_t>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.edges AS o
      JOIN {hub}.groups AS g ON g.downstream_id {=} o.downstream_id
     WHERE o.upstream_id {=} $1 AND g.state {=} 'open'
     LIMIT 1
)sql");

std::string_view on_satisfied(const core::Join& join) {
    return join.kind == core::JoinKind::kAllOf ? ""
           : join.cancels_remaining            ? "cancel_remaining"
                                               : "let_run";
}

Group group_of(pg_uuid_t downstream, core::JoinKind kind, int32 k,
               std::optional<std::string_view> satisfied_then, int32 total, int32 satisfied,
               int32 failed, int32 skipped, core::GroupState state, bool held,
               core::TaskState waiting) {
    return {.downstream = downstream,
            .join = {.kind = kind,
                     .k = k,
                     .cancels_remaining = satisfied_then.value_or("") == "cancel_remaining"},
            .counts = {total, satisfied, failed, skipped},
            .state = state,
            .held = held,
            .waiting = waiting};
}

}  // namespace

// ---------------------------------------------------------------- edges

void insert_edges(const Hub& hub, const pg_uuid_t& flow, std::span<const NewEdge> edges,
                  int64 now) {
    if (edges.empty()) {
        return;
    }
    run(hub, kInsertEdges, flow, column(edges, [](const NewEdge& edge) { return edge.downstream; }),
        column(edges, [](const NewEdge& edge) { return edge.upstream; }),
        column(edges, [](const NewEdge& edge) { return edge.pass_as.value_or(""); }),
        column(edges, [](const NewEdge& edge) { return edge.state; }), now);
}

bool edge_exists(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& upstream,
                 const pg_uuid_t& downstream) {
    return run_any(hub, kEdgeExists, flow, upstream, downstream);
}

bool is_reachable(const Hub& hub, const pg_uuid_t& from, const pg_uuid_t& to) {
    return run_any(hub, kReachable, from, to);
}

bool is_sink(const Hub& hub, const pg_uuid_t& task) {
    return count_sinks(hub, {&task, 1}) > 0;
}

int64 count_sinks(const Hub& hub, std::span<const pg_uuid_t> tasks) {
    return run_for_one(hub, kCountSinks, tasks);
}

std::span<const pg_uuid_t> resolve_edges(const Hub& hub, std::span<const pg_uuid_t> upstreams,
                                         core::EdgeState state, int64 now, int64 limit) {
    return run(hub, kResolveEdges, upstreams, state, now, limit).values();
}

std::span<const pg_uuid_t> with_unresolved_edges(const Hub& hub,
                                                 std::span<const pg_uuid_t> upstreams) {
    return run(hub, kWithUnresolved, upstreams).values();
}

std::span<const pg_uuid_t> reset_outgoing(const Hub& hub, const pg_uuid_t& upstream) {
    return run(hub, kResetOutgoing, upstream).values();
}

void reset_inbound(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& downstream, int64 now) {
    run(hub, kResetInbound, flow, downstream, now);
}

std::span<const pg_uuid_t> ended_upstreams(const Hub& hub, const pg_uuid_t& flow,
                                           const pg_uuid_t& downstream) {
    return run(hub, kEndedUpstreams, flow, downstream).values();
}

// ---------------------------------------------------------------- groups

void insert_groups(const Hub& hub, const pg_uuid_t& flow, std::span<const Group> groups,
                   int64 now) {
    if (groups.empty()) {
        return;
    }
    run(hub, kInsertGroups, flow,
        column(groups, [](const Group& group) { return group.downstream; }),
        column(groups, [](const Group& group) { return group.join.kind; }),
        column(groups, [](const Group& group) { return group.join.k; }),
        column(groups, [](const Group& group) { return on_satisfied(group.join); }),
        column(groups, [](const Group& group) { return group.counts.total; }),
        column(groups, [](const Group& group) { return group.counts.satisfied; }),
        column(groups, [](const Group& group) { return group.counts.failed; }),
        column(groups, [](const Group& group) { return group.counts.skipped; }),
        column(groups, [](const Group& group) { return group.state; }), now);
}

std::optional<Group> read_group(const Hub& hub, const pg_uuid_t& downstream) {
    return run(hub, kReadGroup, downstream).first(group_of);
}

void write_group(const Hub& hub, const Group& group, int64 now) {
    const std::string_view satisfied = on_satisfied(group.join);
    run_for_one(hub, kWriteGroup, group.downstream, group.join.kind, group.join.k,
                satisfied.empty() ? std::nullopt : std::optional(satisfied), group.counts.total,
                group.counts.satisfied, group.counts.failed, group.counts.skipped, group.state,
                now);
}

std::span<const Group> count_ends(const Hub& hub, core::TaskState end,
                                  std::span<const pg_uuid_t> downstreams,
                                  std::span<const int32> ends) {
    return run(hub, kCountEndsOfGroups, downstreams, ends, end).collect(group_of);
}

std::span<const Group> recount_groups(const Hub& hub, std::span<const pg_uuid_t> downstreams) {
    return run(hub, kRecountGroups, downstreams).collect(group_of);
}

void set_group_states(const Hub& hub, std::span<const pg_uuid_t> downstreams,
                      core::GroupState state, int64 now) {
    run(hub, kSetGroupStates, downstreams, state, now);
}

std::span<const Group> open_groups(const Hub& hub, const pg_uuid_t& flow) {
    return run(hub, kOpenGroups, flow).collect(group_of);
}

std::span<const pg_uuid_t> idle_upstreams(const Hub& hub, const pg_uuid_t& flow,
                                          std::span<const pg_uuid_t> downstreams) {
    return run(hub, kIdleUpstreams, flow, downstreams).values();
}

bool is_needed(const Hub& hub, const pg_uuid_t& task) {
    return run_any(hub, kNeeded, task);
}

}  // namespace belay::store
