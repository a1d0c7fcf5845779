-- What operators use: lists, totals, single instances, deletion, pruning, duties.

CREATE OR REPLACE FUNCTION @hub@.list_instances(
    p_status text DEFAULT NULL,
    p_name text DEFAULT NULL,
    p_prefix text DEFAULT NULL,
    p_created_from_ms bigint DEFAULT NULL,
    p_created_before_ms bigint DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT NULL
) RETURNS TABLE (instance_id text) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_instances';
COMMENT ON FUNCTION @hub@.list_instances(text, text, text, bigint, bigint, text, integer) IS
    'Ids of instances, newest first. Arguments are combined with AND; p_after is the last id of the page before.';

CREATE OR REPLACE FUNCTION @hub@.list_instances_by_status(p_status text)
    RETURNS TABLE (instance_id text) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_instances_by_status';
COMMENT ON FUNCTION @hub@.list_instances_by_status(text) IS
    'Ids of instances whose current execution has this status, newest first.';

CREATE OR REPLACE FUNCTION @hub@.list_executions(p_instance_id text)
    RETURNS TABLE (execution_id bigint) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_executions';
COMMENT ON FUNCTION @hub@.list_executions(text) IS 'Execution ids of an instance, ascending.';

CREATE OR REPLACE FUNCTION @hub@.latest_execution_id(p_instance_id text)
    RETURNS bigint LANGUAGE belay STABLE PARALLEL UNSAFE AS 'latest_execution_id';
COMMENT ON FUNCTION @hub@.latest_execution_id(text) IS 'The greatest execution id of an instance.';

CREATE OR REPLACE FUNCTION @hub@.get_instance_info(p_instance_id text)
    RETURNS TABLE (instance_id text, orchestration_name text, orchestration_version text,
                   current_execution_id bigint, created_at timestamptz, updated_at timestamptz,
                   status text, output text, parent_instance_id text)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_instance_info';
COMMENT ON FUNCTION @hub@.get_instance_info(text) IS
    'Returns one instance with status and output of its current execution; no row if it does not exist.';

CREATE OR REPLACE FUNCTION @hub@.get_execution_info(p_instance_id text, p_execution_id bigint)
    RETURNS TABLE (execution_id bigint, status text, output text, started_at timestamptz,
                   completed_at timestamptz, event_count bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_execution_info';
COMMENT ON FUNCTION @hub@.get_execution_info(text, bigint) IS
    'Returns one execution; no row if it does not exist.';

CREATE OR REPLACE FUNCTION @hub@.get_system_metrics()
    RETURNS TABLE (total_instances bigint, total_executions bigint, running_instances bigint,
                   completed_instances bigint, failed_instances bigint, total_events bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_system_metrics';
COMMENT ON FUNCTION @hub@.get_system_metrics() IS
    'Returns totals of instances, executions and events. Above 10,000 instances or executions they are estimates of the last vacuum and analyze; running and failed instances are counted up to 10,000 and estimated above.';

CREATE OR REPLACE FUNCTION @hub@.get_queue_depths(p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (orchestrator_queue bigint, worker_queue bigint, timer_queue bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_queue_depths';
COMMENT ON FUNCTION @hub@.get_queue_depths(bigint) IS
    'Rows that can be fetched now in both queues, and messages that are not due yet; each counted up to 10,000 rows.';

CREATE OR REPLACE FUNCTION @hub@.list_children(p_instance_id text)
    RETURNS TABLE (child_instance_id text) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_children';
COMMENT ON FUNCTION @hub@.list_children(text) IS 'Direct children of an instance.';

CREATE OR REPLACE FUNCTION @hub@.get_parent_id(p_instance_id text)
    RETURNS text LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_parent_id';
COMMENT ON FUNCTION @hub@.get_parent_id(text) IS 'Returns the parent of an instance, NULL if it has none.';

CREATE OR REPLACE FUNCTION @hub@.get_instance_tree(p_instance_id text)
    RETURNS TABLE (instance_id text, parent_instance_id text, depth integer)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_instance_tree';
COMMENT ON FUNCTION @hub@.get_instance_tree(text) IS
    'Returns an instance and all its descendants, parents before children.';

CREATE OR REPLACE FUNCTION @hub@.explain_fetch(
    p_instance_id text,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (reason text, detail text, until_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 3 AS 'explain_fetch';
COMMENT ON FUNCTION @hub@.explain_fetch(text, bigint, bigint, bigint) IS
    'Explains why an instance is not fetched, one row per reason. No row: it can be fetched now.';

CREATE OR REPLACE FUNCTION @hub@.explain_waits(p_instance_id text, p_limit integer DEFAULT 100, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (reason text, detail text, until_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 3 AS 'explain_waits';
COMMENT ON FUNCTION @hub@.explain_waits(text, integer, bigint) IS
    'Returns what an instance waits for: activities, timers, children and events.';

CREATE OR REPLACE FUNCTION @hub@.cancel_instances(
    p_filter jsonb,
    p_reason text DEFAULT '',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 500,
    p_scan integer DEFAULT 10000,
    p_now_ms bigint DEFAULT NULL
) RETURNS jsonb LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cancel_instances';
COMMENT ON FUNCTION @hub@.cancel_instances(jsonb, text, text, text, integer, integer, bigint) IS
    'Requests the cancellation of one portion of the running instances that match a filter, and says where the next portion begins.';

CREATE OR REPLACE FUNCTION @hub@.delete_instance(p_instance_id text, p_force boolean DEFAULT false)
    RETURNS TABLE (instances_deleted bigint, executions_deleted bigint, events_deleted bigint,
                   queue_messages_deleted bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'delete_instance';
COMMENT ON FUNCTION @hub@.delete_instance(text, boolean) IS
    'Deletes a root instance with all its descendants. Running instances are deleted only with p_force.';

CREATE OR REPLACE FUNCTION @hub@.delete_instances_atomic(p_instance_ids text[], p_force boolean DEFAULT false)
    RETURNS TABLE (instances_deleted bigint, executions_deleted bigint, events_deleted bigint,
                   queue_messages_deleted bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'delete_instances_atomic';
COMMENT ON FUNCTION @hub@.delete_instances_atomic(text[], boolean) IS
    'Deletes exactly these instances, all or none. The call is rejected if it would leave a child without its parent.';

CREATE OR REPLACE FUNCTION @hub@.delete_instances_bulk(p_filter jsonb)
    RETURNS TABLE (instances_deleted bigint, executions_deleted bigint, events_deleted bigint,
                   queue_messages_deleted bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'delete_instances_bulk';
COMMENT ON FUNCTION @hub@.delete_instances_bulk(jsonb) IS
    'Deletes root instances that have ended, with their descendants, oldest first. Filter: {instance_ids?, completed_before?, limit?}; {} selects all.';

CREATE OR REPLACE FUNCTION @hub@.prune_executions(
    p_instance_id text,
    p_keep_last integer DEFAULT NULL,
    p_completed_before_ms bigint DEFAULT NULL
) RETURNS TABLE (instances_processed bigint, executions_deleted bigint, events_deleted bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'prune_executions';
COMMENT ON FUNCTION @hub@.prune_executions(text, integer, bigint) IS
    'Deletes earlier executions of an instance with their history, never the current one.';

CREATE OR REPLACE FUNCTION @hub@.prune_executions_bulk(p_filter jsonb, p_options jsonb DEFAULT '{}')
    RETURNS TABLE (instances_processed bigint, executions_deleted bigint, events_deleted bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'prune_executions_bulk';
COMMENT ON FUNCTION @hub@.prune_executions_bulk(jsonb, jsonb) IS
    'Prunes many instances: filter {instance_ids?, completed_before?, limit?}, options {keep_last?, completed_before?}.';

CREATE OR REPLACE FUNCTION @hub@.reconcile(p_duties text[] DEFAULT NULL, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (duty text, rows bigint, elapsed_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'reconcile';
COMMENT ON FUNCTION @hub@.reconcile(text[], bigint) IS
    'Runs maintenance duties of the hub now: the named ones, or all.';
