-- What bench/reads.sh measures. Rows are written to the tables directly: few have failed, few run, most have ended.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE EXTENSION belay;
SELECT belay.create_hub('app') \g /dev/null
SET search_path = app, public;

INSERT INTO tasks (id, lease_epoch, start_delay_ms, created_at_ms, started_at_ms, updated_at_ms, terminal_at_ms, cap_set, priority, attempt_index,
                   attempt_leases, retry_count, reclaim_count, replay_count, slot, held, state, pending_attempt, queue, kind, failure_class,
                   failure_message, payload, tags)
SELECT (lpad(to_hex(1700000000000 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid, 1, 0, n, n, n, n, 0, 0, 1, 0, 0, 0, 0, 0, false,
       CASE WHEN i % 5000 = 7 THEN 'failed' ELSE 'completed' END, 'initial', 'q' || i % 20, 'k', CASE WHEN i % 5000 = 7 THEN 'c' END, 'm',
       jsonb_build_object('n', i), '{}'
  FROM generate_series(1, :rows) AS i, (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS n) AS x;
INSERT INTO instances
SELECT 'i' || i, 'Order', '1', 1, NULL, NULL, 0, now() - i * interval '1 ms', now() FROM generate_series(1, :rows) AS i;
INSERT INTO executions (instance_id, execution_id, status, output, started_at, completed_at)
SELECT 'i' || i, 1, CASE i % 5000 WHEN 7 THEN 'Failed' WHEN 9 THEN 'Running' ELSE 'Completed' END, 'x', now() - i * interval '1 ms',
       CASE WHEN i % 5000 <> 9 THEN now() - i * interval '1 ms' END
  FROM generate_series(1, :rows) AS i;
INSERT INTO dead_letters
SELECT i, 'worker', i, 'i' || i, 1, 1, NULL, NULL, '{"ActivityExecute":{"name":"A"}}', 3, 'max_attempts', NULL, now(), now()
  FROM generate_series(1, :rows) AS i;
INSERT INTO outbox_events
SELECT 0, i, '3', CASE WHEN i % 100 = 0 THEN 'operator' ELSE 'task' END, 't', 's' || i % 7, '{}',
       floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
  FROM generate_series(1, :rows) AS i;
INSERT INTO worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc, attempt_count, instance_id,
                          execution_id, activity_id, work_item)
SELECT 0, 0, 0, i, now(), now(), 0, 0, 0, 0, 0, 'i' || i, 1, 1, '{"ActivityExecute":{"name":"A"}}' FROM generate_series(1, :rows) AS i;
INSERT INTO orchestrator_queue
SELECT belay.instance_key('i' || i), i, now(), now(), 0, 0, 0, 'o', false, 'i' || i, NULL, '{}' FROM generate_series(1, :rows) AS i;
SELECT (lpad(to_hex(1700000000000 + 7), 12, '0') || '70008000' || lpad(to_hex(7), 12, '0'))::uuid AS task \gset
VACUUM ANALYZE;

-- The best of six calls; the pages are those of the last one. An error is shown with its SQLSTATE.
CREATE FUNCTION pg_temp.cost(call text) RETURNS TABLE (ms text, buffers bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    best float8;
BEGIN
    FOR i IN 1 .. 6 LOOP
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT ' || call INTO plan;
        best := least(best, (plan -> 0 ->> 'Execution Time')::float8);
        buffers := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
    END LOOP;
    ms := round(best::numeric, 2)::text;
    RETURN NEXT;
EXCEPTION WHEN OTHERS THEN
    ms := SQLSTATE;
    buffers := NULL;
    RETURN NEXT;
END $$;

\pset footer off
SELECT c AS call, (pg_temp.cost(c)).* FROM unnest(ARRAY[
    $$list_tasks('{"state":"failed"}', NULL, 21)$$, $$list_tasks('{"queue":"q1"}', NULL, 21)$$, $$list_tasks('{"kind":"k"}', NULL, 21)$$,
    $$list_tasks('{"state":"active"}', NULL, 21)$$, $$list_work_items('{"state":"leased"}')$$, 'get_queue_depths()', '(SELECT count(*) FROM queue_depths)',
    'get_system_metrics()', $$list_instances(p_status => 'Failed', p_limit => 100)$$, $$list_instances(p_status => 'Running', p_limit => 100)$$,
    $$list_instances(p_status => 'Completed', p_limit => 100)$$, $$list_instances_by_status('Failed')$$, $$list_dead_letters('worker', 'max_attempts')$$,
    format('explain_claim(%L)', :'task'), 'explain_fetch(''i7'')', 'explain_work_item(7)', format('get_task(%L)', :'task'), 'get_instance_info(''i7'')',
    'browse_tasks()', $$browse_tasks('{}', 'failed')$$, $$browse_tasks('{"state":"active"}')$$, $$browse_tasks('{"payload":{"n":7}}')$$,
    'browse_instances()', $$browse_instances('{}', 'running')$$, $$browse_instances('{"status":"Failed"}')$$, 'browse_dead_letters()', 'browse_work_items()',
    'browse_messages()', 'browse_events()', $$browse_events('{"types":"x"}', 'oldest')$$, 'glance()', 'list_owners()', 'list_queues()', $$find('i77')$$]) AS c;
\timing on
\echo check_hub with a sample, and with all rows
SELECT count(*) FROM belay.check_hub('app', 'sample');
SELECT count(*) FROM belay.check_hub('app', 'all');
