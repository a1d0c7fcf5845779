-- Pages of what a hub holds, an overview and a search: for dashboards and for people who look.

CREATE OR REPLACE FUNCTION @hub@.browse_tasks(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_tasks';
COMMENT ON FUNCTION @hub@.browse_tasks(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of tasks in the order of one index, and reads at most p_scan rows.';

CREATE OR REPLACE FUNCTION @hub@.browse_instances(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_instances';
COMMENT ON FUNCTION @hub@.browse_instances(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of instances in the order of one index, and reads at most p_scan rows.';

CREATE OR REPLACE FUNCTION @hub@.browse_work_items(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_work_items';
COMMENT ON FUNCTION @hub@.browse_work_items(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of the worker queue, without tokens, and reads at most p_scan rows.';

CREATE OR REPLACE FUNCTION @hub@.browse_messages(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_messages';
COMMENT ON FUNCTION @hub@.browse_messages(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of the orchestrator queue, and reads at most p_scan rows.';

CREATE OR REPLACE FUNCTION @hub@.browse_dead_letters(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_dead_letters';
COMMENT ON FUNCTION @hub@.browse_dead_letters(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of dead letters by id, and reads at most p_scan rows.';

CREATE OR REPLACE FUNCTION @hub@.browse_events(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_events';
COMMENT ON FUNCTION @hub@.browse_events(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of events without a subscription. It moves no position and does not delay retention. Events behind an open transaction are not returned.';

CREATE OR REPLACE FUNCTION @hub@.browse_history(
    p_instance_id text,
    p_execution_id bigint DEFAULT NULL,
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_history';
COMMENT ON FUNCTION @hub@.browse_history(text, bigint, jsonb, text, text, integer, integer, integer) IS
    'Returns a page of the history of an execution, forwards or backwards.';

CREATE OR REPLACE FUNCTION @hub@.browse_flows(
    p_filter jsonb DEFAULT '{}',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 50,
    p_scan integer DEFAULT 10000,
    p_preview integer DEFAULT 200
) RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'browse_flows';
COMMENT ON FUNCTION @hub@.browse_flows(jsonb, text, text, integer, integer, integer) IS
    'Returns a page of flows in the order of one index, and reads at most p_scan rows.';

CREATE OR REPLACE FUNCTION @hub@.read_body(p_what text, p_id text, p_field text, p_offset bigint DEFAULT 0, p_length bigint DEFAULT 1048576)
    RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'read_body';
COMMENT ON FUNCTION @hub@.read_body(text, text, text, bigint, bigint) IS
    'Returns a slice of one stored body, at most 1 MiB; NULL if it does not exist.';

CREATE OR REPLACE FUNCTION @hub@.glance(p_cap integer DEFAULT 10000)
    RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'glance';
COMMENT ON FUNCTION @hub@.glance(integer) IS
    'Returns the figures of an overview in one call. Counts stop at p_cap rows and are marked as capped.';

CREATE OR REPLACE FUNCTION @hub@.stat_series(
    p_from_ms bigint,
    p_to_ms bigint,
    p_step_ms bigint DEFAULT 60000,
    p_queue text DEFAULT NULL,
    p_task_queue text DEFAULT NULL
) RETURNS TABLE (at_ms bigint, queue text, task_queue text, created bigint, claimed bigint, completed bigint, failed bigint,
                 retried bigint, cancelled bigint, expired bigint, lost bigint, wait_buckets bigint[], wait_sum_ms bigint,
                 run_buckets bigint[], run_sum_ms bigint, depth bigint, oldest_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'stat_series';
COMMENT ON FUNCTION @hub@.stat_series(bigint, bigint, bigint, text, text) IS
    'Returns what happened over time, from the minutes that the duty stat_minutes has recorded, added up to at most 2000 steps. Steps in which nothing happened are left out.';

CREATE OR REPLACE FUNCTION @hub@.list_queues(p_cap integer DEFAULT 10000)
    RETURNS TABLE (queue text, paused boolean, ready bigint, delayed bigint, blocked bigint, active bigint, suspended bigint,
                   overdue_leases bigint, oldest_ready_age_ms bigint, concurrency bigint, rate_per_s double precision,
                   burst double precision, owners bigint, capped text[], paused_by text, paused_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_queues';
COMMENT ON FUNCTION @hub@.list_queues(integer) IS
    'Returns up to 200 queues that have settings or open tasks, with the number of tasks in each state.';

CREATE OR REPLACE FUNCTION @hub@.list_owners(p_after text DEFAULT NULL, p_limit integer DEFAULT 100, p_scan integer DEFAULT 10000)
    RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_owners';
COMMENT ON FUNCTION @hub@.list_owners(text, integer, integer) IS
    'Returns the owners of leases on tasks, work items, sessions and slots, by owner id, page by page, and the number of leased turns.';

CREATE OR REPLACE FUNCTION @hub@.find(p_text text)
    RETURNS TABLE (what text, id text, label text)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 20 AS 'find';
COMMENT ON FUNCTION @hub@.find(text) IS
    'Finds tasks and flows by id, tasks by dedup key, and instances, queues and schedules by the beginning of their name; at most 20 rows.';

CREATE OR REPLACE VIEW @hub@.queue_depths AS
    SELECT q.queue AS queue, q.paused, q.ready, q.delayed, q.blocked, q.active, q.suspended, q.overdue_leases,
           q.oldest_ready_age_ms, q.concurrency, q.rate_per_s, q.capped
      FROM @hub@.list_queues() AS q;
COMMENT ON VIEW @hub@.queue_depths IS 'Number of waiting, active and overdue tasks of each queue, and the age of its oldest ready task.';
COMMENT ON COLUMN @hub@.queue_depths.queue IS 'Name of the queue.';
COMMENT ON COLUMN @hub@.queue_depths.paused IS 'Whether claims skip the queue.';
COMMENT ON COLUMN @hub@.queue_depths.ready IS 'Tasks that can be claimed.';
COMMENT ON COLUMN @hub@.queue_depths.delayed IS 'Tasks that are not due yet.';
COMMENT ON COLUMN @hub@.queue_depths.blocked IS 'Members of flows that wait for others.';
COMMENT ON COLUMN @hub@.queue_depths.active IS 'Tasks with a lease.';
COMMENT ON COLUMN @hub@.queue_depths.suspended IS 'Tasks that wait for signals.';
COMMENT ON COLUMN @hub@.queue_depths.overdue_leases IS 'Active tasks whose lease has expired.';
COMMENT ON COLUMN @hub@.queue_depths.oldest_ready_age_ms IS 'How long the oldest ready task has been ready; null if there is none.';
COMMENT ON COLUMN @hub@.queue_depths.concurrency IS 'Maximum number of active tasks; null: no limit.';
COMMENT ON COLUMN @hub@.queue_depths.rate_per_s IS 'Maximum number of claims per second; null: no limit.';
COMMENT ON COLUMN @hub@.queue_depths.capped IS 'Names of the counts that stopped at their limit; the real ones may be larger.';
