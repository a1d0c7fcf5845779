// Tables cancel_backlog and cancel_backlog_members: who owes an answer to a cancelled flow.
//
// May touch: these two tables. Must not: end a member; ops/flow/cancel_flow.cpp does.
#include "store/cancel_backlog.hpp"

namespace belay::store {

namespace {

// $1 flow, $2 now, $3 grace until, $4 requester, $5 reason, $6 policy.
constexpr auto kWriteHeader =
    statement<In<pg_uuid_t, int64, int64, Text, Text, core::CancelPolicy>, Out<>>(R"sql(
    INSERT INTO {hub}.cancel_backlog AS b
           (flow_id, requested_at_ms, grace_until_ms, requester, reason, cancellation_policy)
    VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (flow_id) DO UPDATE
       SET requested_at_ms = $2, grace_until_ms = $3, requester = $4, reason = $5,
           cancellation_policy = $6
)sql");

// $1 flow, $2 tasks, $3 epochs, $4 workers, $5 instances.
constexpr auto kWriteBacklogMembers =
    statement<In<pg_uuid_t, ListOf<pg_uuid_t>, ListOf<int64>, ListOf<Text>, ListOf<Text>>, Out<>>(
        R"sql(
    INSERT INTO {hub}.cancel_backlog_members AS m
           (flow_id, task_id, lease_epoch, worker, worker_instance)
    SELECT $1, n.id, n.epoch, n.worker, n.instance
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                      pg_catalog.unnest($5)) AS n(id, epoch, worker, instance)
        ON CONFLICT (flow_id, task_id) DO UPDATE
       SET lease_epoch = excluded.lease_epoch, worker = excluded.worker,
           worker_instance = excluded.worker_instance
)sql");

constexpr auto kLockHeader = statement<In<pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    SELECT b.flow_id FROM {hub}.cancel_backlog AS b WHERE b.flow_id {=} $1 FOR UPDATE
)sql");
constexpr auto kDeleteBacklogMember = statement<In<pg_uuid_t, pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.cancel_backlog_members AS m WHERE m.flow_id {=} $1 AND m.task_id {=} $2
)sql");
constexpr auto kDeleteEmptyHeader = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.cancel_backlog AS b
     WHERE b.flow_id {=} $1
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.cancel_backlog_members AS m
                        WHERE m.flow_id {=} b.flow_id)
)sql");
constexpr auto kHoldOverdue = statement<In<int64, int64>, Out<pg_uuid_t>>(R"sql(
    SELECT b.flow_id
      FROM {hub}.cancel_backlog AS b
     WHERE b.grace_until_ms {<=} $1
     ORDER BY b.grace_until_ms
     LIMIT $2
       FOR UPDATE SKIP LOCKED
)sql");
constexpr auto kDeleteSomeMembers = statement<In<pg_uuid_t, int64>, Out<pg_uuid_t>>(R"sql(
    DELETE FROM {hub}.cancel_backlog_members AS m
     WHERE m.flow_id {=} $1
       AND m.task_id {=} ANY (ARRAY(SELECT x.task_id
                                      FROM {hub}.cancel_backlog_members AS x
                                     WHERE x.flow_id {=} $1
                                     ORDER BY x.task_id
                                     LIMIT $2))
    RETURNING m.task_id
)sql");
constexpr auto kBacklogIds = statement<In<pg_uuid_t, int64>, Out<pg_uuid_t>>(R"sql(
    SELECT m.task_id
      FROM {hub}.cancel_backlog_members AS m
     WHERE m.flow_id {=} $1
     ORDER BY m.task_id
     LIMIT $2
)sql");
constexpr auto kCountBacklog = statement<In<pg_uuid_t>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*) FROM {hub}.cancel_backlog_members AS m WHERE m.flow_id {=} $1
)sql");

}  // namespace

void write_backlog(const Hub& hub, const pg_uuid_t& flow, const Backlog& backlog,
                   std::span<const Task> tasks, int64 now) {
    run_for_one(hub, kWriteHeader, flow, now, backlog.grace_until, backlog.requester,
                backlog.reason, backlog.policy);
    run(hub, kWriteBacklogMembers, flow, column(tasks, [](const Task& task) { return task.id; }),
        column(tasks, [](const Task& task) { return task.lease_epoch; }),
        column(tasks, [](const Task& task) { return task.attempt_worker.value_or(""); }),
        column(tasks, [](const Task& task) { return task.lease_owner.value_or(""); }));
}

bool lock_backlog(const Hub& hub, const pg_uuid_t& flow) {
    return run_any(hub, kLockHeader, flow);
}

bool delete_backlog_member(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& task) {
    return run_any(hub, kDeleteBacklogMember, flow, task);
}

void delete_empty_backlog(const Hub& hub, const pg_uuid_t& flow) {
    run(hub, kDeleteEmptyHeader, flow);
}

std::span<const pg_uuid_t> hold_overdue_backlogs(const Hub& hub, int64 now, int limit) {
    return run(hub, kHoldOverdue, now, limit).values();
}

int64 delete_backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit) {
    return run(hub, kDeleteSomeMembers, flow, limit).changed();
}

SomeIds backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit) {
    return {run(hub, kBacklogIds, flow, limit).values(), run_for_one(hub, kCountBacklog, flow)};
}

}  // namespace belay::store
