-- Flows: graphs of tasks; build, cancel, read.

CREATE OR REPLACE FUNCTION @hub@.create_flow(p_flow jsonb, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (flow_id uuid, state text, graph_revision bigint, created boolean, task_ids jsonb)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'create_flow';
COMMENT ON FUNCTION @hub@.create_flow(jsonb, bigint) IS
    'Creates a flow with its tasks, edges and joins, or returns the existing flow with this id.';

CREATE OR REPLACE FUNCTION @hub@.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint DEFAULT NULL, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, task_id uuid, state text, graph_revision bigint, node_count bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'add_task_to_flow';
COMMENT ON FUNCTION @hub@.add_task_to_flow(uuid, jsonb, bigint, bigint) IS
    'Adds a new task with its incoming edges, or an existing task, to a flow that is not sealed.';

CREATE OR REPLACE FUNCTION @hub@.add_edge(
    p_flow_id uuid,
    p_upstream_id uuid,
    p_downstream_id uuid,
    p_pass_as text DEFAULT NULL,
    p_expected_revision bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, edge_state text, downstream_state text, unsatisfied integer, graph_revision bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'add_edge';
COMMENT ON FUNCTION @hub@.add_edge(uuid, uuid, uuid, text, bigint, bigint) IS
    'Adds an edge to a flow that is not sealed: one task waits for another.';

CREATE OR REPLACE FUNCTION @hub@.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint DEFAULT NULL)
    RETURNS TABLE (result text, graph_revision bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'set_join';
COMMENT ON FUNCTION @hub@.set_join(uuid, uuid, jsonb, bigint) IS
    'Sets how the incoming edges of a task are joined: all_of, any_of or quorum. Call it before the first edge is added.';

CREATE OR REPLACE FUNCTION @hub@.seal_flow(p_flow_id uuid, p_expected_revision bigint DEFAULT NULL, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (state text, graph_revision bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'seal_flow';
COMMENT ON FUNCTION @hub@.seal_flow(uuid, bigint, bigint) IS
    'Seals a flow: no tasks can be added, held tasks become available, and the flow can end.';

CREATE OR REPLACE FUNCTION @hub@.cancel_flow(
    p_flow_id uuid,
    p_reason text DEFAULT '',
    p_policy text DEFAULT 'cancel_all',
    p_grace_ms bigint DEFAULT 30000,
    p_requester text DEFAULT '',
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, cancellation_policy text, reason text, member_count bigint, member_ids uuid[])
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'cancel_flow';
COMMENT ON FUNCTION @hub@.cancel_flow(uuid, text, text, bigint, text, bigint) IS
    'Cancels a flow and, depending on the policy (cancel_all, cancel_pending or flow_only), its members. Leases are revoked at once.';

CREATE OR REPLACE FUNCTION @hub@.ack_cancel_member(p_flow_id uuid, p_task_id uuid)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_cancel_member';
COMMENT ON FUNCTION @hub@.ack_cancel_member(uuid, uuid) IS
    'Acknowledges that a worker has stopped working on a member of a cancelled flow. A repeated call raises QB001 already_completed.';

CREATE OR REPLACE FUNCTION @hub@.delete_flow(p_flow_id uuid)
    RETURNS boolean LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'delete_flow';
COMMENT ON FUNCTION @hub@.delete_flow(uuid) IS
    'Deletes a flow that has ended, with its members, edges and history. Returns false if it does not exist.';

CREATE OR REPLACE FUNCTION @hub@.get_flow(p_flow_id uuid, p_revision text DEFAULT NULL)
    RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_flow';
COMMENT ON FUNCTION @hub@.get_flow(uuid, text) IS
    'Returns a flow with its members, edges and groups; NULL if it does not exist or has not changed since p_revision.';

CREATE OR REPLACE FUNCTION @hub@.list_flows(p_filter jsonb DEFAULT '{}', p_after uuid DEFAULT NULL, p_limit integer DEFAULT 100)
    RETURNS TABLE (flow_id uuid, kind text, state text, sealed boolean, graph_revision bigint, fail_policy text, member_count bigint,
                   open_count bigint, edge_count bigint, tags jsonb, cancel_reason text, created_at_ms bigint, updated_at_ms bigint,
                   terminal_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_flows';
COMMENT ON FUNCTION @hub@.list_flows(jsonb, uuid, integer) IS 'Returns flows by id, page by page.';

CREATE OR REPLACE FUNCTION @hub@.upstream_results(p_task_id uuid)
    RETURNS TABLE (upstream_id uuid, key text, pass_as text, state text, result jsonb)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'upstream_results';
COMMENT ON FUNCTION @hub@.upstream_results(uuid) IS 'Returns the upstream tasks of a member of a flow, with their results.';

CREATE OR REPLACE VIEW @hub@.flow_summary AS
    SELECT f.id AS flow_id,
           f.kind,
           f.state,
           f.member_count AS members,
           COALESCE(c.blocked, 0) AS blocked,
           COALESCE(c.delayed, 0) AS delayed,
           COALESCE(c.ready, 0) AS ready,
           COALESCE(c.active, 0) AS active,
           COALESCE(c.suspended, 0) AS suspended,
           COALESCE(c.completed, 0) AS completed,
           COALESCE(c.failed, 0) AS failed,
           COALESCE(c.cancelled, 0) AS cancelled,
           COALESCE(c.expired, 0) AS expired,
           COALESCE(c.skipped, 0) AS skipped,
           c.first_started_ms,
           CASE WHEN f.open_count = 0 THEN c.last_ended_ms END AS last_ended_ms,
           COALESCE(f.terminal_at_ms, n.ms) - f.created_at_ms AS age_ms
      FROM @hub@.flows AS f
     CROSS JOIN (SELECT pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint AS ms) AS n
      LEFT JOIN LATERAL (
        SELECT pg_catalog.count(*) FILTER (WHERE t.state = 'blocked') AS blocked,
               pg_catalog.count(*) FILTER (WHERE t.state = 'delayed') AS delayed,
               pg_catalog.count(*) FILTER (WHERE t.state = 'ready') AS ready,
               pg_catalog.count(*) FILTER (WHERE t.state = 'active') AS active,
               pg_catalog.count(*) FILTER (WHERE t.state = 'suspended') AS suspended,
               pg_catalog.count(*) FILTER (WHERE t.state = 'completed') AS completed,
               pg_catalog.count(*) FILTER (WHERE t.state = 'failed') AS failed,
               pg_catalog.count(*) FILTER (WHERE t.state = 'cancelled') AS cancelled,
               pg_catalog.count(*) FILTER (WHERE t.state = 'expired') AS expired,
               pg_catalog.count(*) FILTER (WHERE t.state = 'skipped') AS skipped,
               pg_catalog.min(t.started_at_ms) AS first_started_ms,
               pg_catalog.max(t.terminal_at_ms) AS last_ended_ms
          FROM @hub@.tasks AS t
         WHERE t.flow_id = f.id) AS c ON true;
COMMENT ON VIEW @hub@.flow_summary IS 'Flows with the number of members in each state, the first start, the last end and the age.';
COMMENT ON COLUMN @hub@.flow_summary.flow_id IS 'The flow.';
COMMENT ON COLUMN @hub@.flow_summary.kind IS 'As given to create_flow.';
COMMENT ON COLUMN @hub@.flow_summary.state IS 'open, running, completed, failed or cancelled.';
COMMENT ON COLUMN @hub@.flow_summary.members IS 'Number of tasks of the flow.';
COMMENT ON COLUMN @hub@.flow_summary.blocked IS 'Number of members that are blocked.';
COMMENT ON COLUMN @hub@.flow_summary.delayed IS 'Number of members that are delayed.';
COMMENT ON COLUMN @hub@.flow_summary.ready IS 'Number of members that are ready.';
COMMENT ON COLUMN @hub@.flow_summary.active IS 'Number of members that are active.';
COMMENT ON COLUMN @hub@.flow_summary.suspended IS 'Number of members that are suspended.';
COMMENT ON COLUMN @hub@.flow_summary.completed IS 'Number of members that are completed.';
COMMENT ON COLUMN @hub@.flow_summary.failed IS 'Number of members that are failed.';
COMMENT ON COLUMN @hub@.flow_summary.cancelled IS 'Number of members that are cancelled.';
COMMENT ON COLUMN @hub@.flow_summary.expired IS 'Number of members that are expired.';
COMMENT ON COLUMN @hub@.flow_summary.skipped IS 'Number of members that are skipped.';
COMMENT ON COLUMN @hub@.flow_summary.first_started_ms IS 'When a member was claimed for the first time.';
COMMENT ON COLUMN @hub@.flow_summary.last_ended_ms IS 'When the last member ended; null while a member is open.';
COMMENT ON COLUMN @hub@.flow_summary.age_ms IS 'Time from the creation of the flow to its end, or until now.';

CREATE OR REPLACE VIEW @hub@.cancel_backlog_open AS
    SELECT b.flow_id,
           m.task_id,
           m.worker,
           m.worker_instance,
           m.lease_epoch,
           b.requester,
           b.reason,
           b.requested_at_ms,
           b.grace_until_ms
      FROM @hub@.cancel_backlog AS b
      JOIN @hub@.cancel_backlog_members AS m ON m.flow_id = b.flow_id;
COMMENT ON VIEW @hub@.cancel_backlog_open IS 'Members of cancelled flows whose workers have not acknowledged the cancellation yet.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.flow_id IS 'The cancelled flow.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.task_id IS 'The member whose lease was revoked.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.worker IS 'Worker that had the lease.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.worker_instance IS 'Process that had the lease.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.lease_epoch IS 'Epoch of the revoked lease.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.requester IS 'As given to cancel_flow.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.reason IS 'As given to cancel_flow.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.requested_at_ms IS 'When the flow was cancelled.';
COMMENT ON COLUMN @hub@.cancel_backlog_open.grace_until_ms IS 'Until when the worker can acknowledge; then the row is deleted.';
