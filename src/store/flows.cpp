// Table flows; and deletion of a flow, which takes everything that names it.
//
// May touch: flows; edges, groups, tasks and attempts to delete them with their flow. Must not:
// judge a group or change a member; ops/flow does, through edges.hpp and members.hpp. The caller
// holds the flow's row.
#include "store/flows.hpp"

#include "store/cascade_queue.hpp"
#include "store/suspensions.hpp"
#include "store/task_rows.hpp"

namespace belay::store {

namespace {

using FlowRows = Out<pg_uuid_t, core::FlowState, bool, Text, bool, int64, int64, int64, int64,
                     int64, Maybe<int64>, Maybe<core::CancelPolicy>, Maybe<Text>, Maybe<Text>>;

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

constexpr auto kLockFlow = statement<In<pg_uuid_t>, FlowRows>(joined<kFlowColumns, kWaiting>);
constexpr auto kTryLockFlow = statement<In<pg_uuid_t>, FlowRows>(joined<kFlowColumns, kSkipping>);
constexpr auto kLockFlowToDelete =
    statement<In<pg_uuid_t>, FlowRows>(joined<kFlowColumns, kToDelete>);
constexpr auto kReadFlow = statement<In<pg_uuid_t>, FlowRows>(kFlowColumns);

// $1 id, $2 now, $3 state, $4 sealed, $5 fail policy, $6 members, $7 open, $8 edges, $9 kind,
// $10 tags, $11 terminal_at.
constexpr auto kInsertFlow = statement<In<pg_uuid_t, int64, core::FlowState, bool, Text, int64,
                                          int64, int64, Text, Jsonb*, Maybe<int64>>,
                                       Out<>>(
    R"sql(
    INSERT INTO {hub}.flows
           (id, graph_revision, member_count, open_count, bad_sink_count, edge_count, created_at_ms,
            updated_at_ms, terminal_at_ms, sealed, struck, state, fail_policy, kind, tags)
    VALUES ($1, 1, $6, $7, 0, $8, $2, $2, $11, $4, false, $3, $5, $9, $10)
        ON CONFLICT (id) DO NOTHING
)sql");

constexpr auto kWriteFlow =
    statement<In<pg_uuid_t, int64, core::FlowState, bool, bool, int64, int64, int64, int64, int64,
                 Maybe<int64>, Maybe<core::CancelPolicy>, Maybe<Text>, Maybe<Text>>,
              Out<>>(R"sql(
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
)sql");

constexpr auto kDeleteAttempts = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.attempts AS a
     USING {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND a.task_id {=} t.id
)sql");
constexpr auto kDeleteMembers = statement<In<pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    DELETE FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 RETURNING t.id
)sql");
constexpr auto kDeleteEdges = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.edges AS e WHERE e.flow_id {=} $1
)sql");
constexpr auto kDeleteGroups = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.groups AS g WHERE g.flow_id {=} $1
)sql");
constexpr auto kDeleteFlow = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.flows AS f WHERE f.id {=} $1
)sql");

// $1 the latest end, $2 limit.
constexpr auto kHoldOutdatedFlows = statement<In<int64, int64>, Out<pg_uuid_t>>(R"sql(
    SELECT f.id
      FROM {hub}.flows AS f
     WHERE f.terminal_at_ms IS NOT NULL AND f.terminal_at_ms {<=} $1 AND f.open_count {=} 0
       AND NOT EXISTS (SELECT 1 FROM {hub}.cancel_backlog AS b WHERE b.flow_id {=} f.id)
     ORDER BY f.terminal_at_ms
     LIMIT $2
       FOR UPDATE SKIP LOCKED
)sql");

Flow flow_of(pg_uuid_t id, core::FlowState state, bool sealed, std::string_view fail_policy,
             bool struck, int64 revision, int64 members, int64 open_members, int64 bad_sinks,
             int64 edges, std::optional<int64> terminal_at,
             std::optional<core::CancelPolicy> cancellation_policy,
             std::optional<std::string_view> cancel_reason,
             std::optional<std::string_view> cancelled_by) {
    return {.id = id,
            .state = state,
            .sealed = sealed,
            .fail_fast = fail_policy == "fail_fast",
            .struck = struck,
            .revision = revision,
            .members = members,
            .open_members = open_members,
            .bad_sinks = bad_sinks,
            .edges = edges,
            .terminal_at = terminal_at,
            .cancellation_policy = cancellation_policy,
            .cancel_reason = cancel_reason,
            .cancelled_by = cancelled_by};
}

}  // namespace

std::optional<Flow> lock_flow(const Hub& hub, const pg_uuid_t& id) {
    return run(hub, kLockFlow, id).first(flow_of);
}

std::optional<Flow> try_lock_flow(const Hub& hub, const pg_uuid_t& id) {
    return run(hub, kTryLockFlow, id).first(flow_of);
}

std::optional<Flow> lock_flow_to_delete(const Hub& hub, const pg_uuid_t& id) {
    return run(hub, kLockFlowToDelete, id).first(flow_of);
}

std::optional<Flow> read_flow(const Hub& hub, const pg_uuid_t& id) {
    return run(hub, kReadFlow, id).first(flow_of);
}

bool insert_flow(const Hub& hub, const Flow& flow, std::string_view kind, Jsonb* tags, int64 now) {
    const bool inserted = run_any(hub, kInsertFlow, flow.id, now, flow.state, flow.sealed,
                                  flow.fail_fast ? "fail_fast" : "continue", flow.members,
                                  flow.open_members, flow.edges, kind, tags, flow.terminal_at);
    if (inserted) {
        wake_flow_waiters(hub, flow.id);
    }
    return inserted;
}

void write_flow(const Hub& hub, const Flow& flow, int64 now) {
    run_for_one(hub, kWriteFlow, flow.id, now, flow.state, flow.sealed, flow.struck, flow.revision,
                flow.members, flow.open_members, flow.bad_sinks, flow.edges, flow.terminal_at,
                flow.cancellation_policy, flow.cancel_reason, flow.cancelled_by);
    wake_flow_waiters(hub, flow.id);
}

void delete_flow(const Hub& hub, const pg_uuid_t& id) {
    run(hub, kDeleteAttempts, id);
    delete_suspensions_of_flow(hub, id);
    for (const auto [task] : run(hub, kDeleteMembers, id)) {
        wake_task_waiters(hub, task);
    }
    run(hub, kDeleteEdges, id);
    run(hub, kDeleteGroups, id);
    drop_left(hub, id);
    run_for_one(hub, kDeleteFlow, id);
    wake_flow_waiters(hub, id);
}

std::span<const pg_uuid_t> hold_outdated_flows(const Hub& hub, int64 now, int64 retention_ms,
                                               int limit) {
    return run(hub, kHoldOutdatedFlows, now - retention_ms, limit).values();
}

}  // namespace belay::store
