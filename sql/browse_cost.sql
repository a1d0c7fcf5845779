-- What the reads of an overview cost at size: no sequential scan of a table that grows, and few buffers.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('browse_cost');
SET search_path = browse_cost, public;
CREATE FUNCTION pg_temp.now() RETURNS bigint LANGUAGE sql AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
-- A hundred thousand of each; few have failed, few run.
INSERT INTO tasks (id, lease_epoch, start_delay_ms, created_at_ms, started_at_ms, updated_at_ms, terminal_at_ms, cap_set, priority, attempt_index, attempt_leases, retry_count, reclaim_count, replay_count, slot, held, state, pending_attempt, queue, kind, failure_class, failure_message, payload, tags)
SELECT (lpad(to_hex(1700000000000 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid, 1, 0, n, n, n, n, 0, 0, 1, 0, 0, 0, 0, 0, false, CASE WHEN i % 5000 = 7 THEN 'failed' ELSE 'completed' END, 'initial', 'q' || i % 20, 'k', CASE WHEN i % 5000 = 7 THEN 'c' END, 'm', jsonb_build_object('n', i), '{}'
  FROM generate_series(1, 100000) AS i, (SELECT pg_temp.now() AS n) AS x;
INSERT INTO instances SELECT 'i' || i, 'Order', '1', 1, NULL, NULL, 0, now() - i * interval '1 ms', now() FROM generate_series(1, 100000) AS i;
INSERT INTO executions (instance_id, execution_id, status, output, started_at, completed_at) SELECT 'i' || i, 1, CASE WHEN i % 5000 = 7 THEN 'Failed' WHEN i % 5000 = 9 THEN 'Running' ELSE 'Completed' END, 'x', now() - i * interval '1 ms', CASE WHEN i % 5000 <> 9 THEN now() - i * interval '1 ms' END FROM generate_series(1, 100000) AS i;
INSERT INTO dead_letters SELECT i, 'worker', i, 'i' || i, 1, 1, NULL, NULL, '{"ActivityExecute":{"name":"A"}}', 3, 'max_attempts', NULL, now(), now() FROM generate_series(1, 100000) AS i;
INSERT INTO outbox_events SELECT 0, i, '3', CASE WHEN i % 100 = 0 THEN 'operator' ELSE 'task' END, 't', 's' || i % 7, '{}', pg_temp.now() FROM generate_series(1, 100000) AS i;
INSERT INTO worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc, attempt_count, instance_id, execution_id, activity_id, work_item) SELECT 0, 0, 0, i, now(), now(), 0, 0, 0, 0, 0, 'i' || i, 1, 1, '{"ActivityExecute":{"name":"A"}}' FROM generate_series(1, 100000) AS i;
INSERT INTO orchestrator_queue SELECT belay.instance_key('i' || i), i, now(), now(), 0, 0, 0, 'o', false, 'i' || i, NULL, '{}' FROM generate_series(1, 100000) AS i;
-- Most instances have a lock that no turn holds. One flow in five thousand runs. One instance has a long history.
INSERT INTO instance_locks SELECT belay.instance_key('i' || i), CASE WHEN i % 5000 = 9 THEN 9000000000000 ELSE 0 END, 1, CASE WHEN i % 5000 = 9 THEN i ELSE 0 END, 0, 0, 0, 0, 1, 'i' || i FROM generate_series(1, 100000) AS i;
INSERT INTO flows (id, graph_revision, member_count, open_count, bad_sink_count, edge_count, created_at_ms, updated_at_ms, terminal_at_ms, sealed, struck, state, fail_policy, kind, tags)
SELECT (lpad(to_hex(1700000000000 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid, 1, 1, 0, 0, 0, n, n, CASE WHEN i % 5000 <> 9 THEN n + i END, true, false, CASE WHEN i % 5000 = 9 THEN 'running' ELSE 'completed' END, 'continue', 'k', '{}' FROM generate_series(1, 100000) AS i, (SELECT pg_temp.now() AS n) AS x;
INSERT INTO history_turns SELECT 1, 5 * i + 1, 5 * i + 5, now(), 'i7', ARRAY['A', 'B', 'A', 'B', 'A'], array_fill(format('{"n":%s}', i), ARRAY[5]) FROM generate_series(0, 19999) AS i;
VACUUM ANALYZE tasks, instances, executions, dead_letters, outbox_events, worker_queue, orchestrator_queue, instance_locks, flows, history_turns;
CREATE FUNCTION pg_temp.cost(call text) RETURNS TABLE (scans bigint, few_buffers text) LANGUAGE plpgsql AS $$
DECLARE before bigint; plan json; buffers bigint;
BEGIN
    EXECUTE 'SELECT ' || call;  -- plans are made and kept
    SELECT sum(seq_scan) INTO before FROM pg_stat_xact_user_tables WHERE schemaname = 'browse_cost' AND relname IN ('tasks', 'instances', 'executions', 'dead_letters', 'outbox_events', 'worker_queue', 'orchestrator_queue', 'history_turns', 'flows', 'instance_locks');
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT ' || call INTO plan;
    buffers := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
    RETURN QUERY SELECT sum(seq_scan)::bigint - before, CASE WHEN buffers <= 2000 THEN 'yes' ELSE buffers::text END FROM pg_stat_xact_user_tables WHERE schemaname = 'browse_cost' AND relname IN ('tasks', 'instances', 'executions', 'dead_letters', 'outbox_events', 'worker_queue', 'orchestrator_queue', 'history_turns', 'flows', 'instance_locks');
END $$;
-- BR-6, GL-4: for any arguments.
SELECT c AS call, (pg_temp.cost(c)).* FROM unnest(ARRAY[
    'browse_tasks()', $$browse_tasks('{"state":"active"}')$$, $$browse_tasks('{"payload":{"n":7}}')$$, $$browse_tasks('{}', 'ended')$$, $$browse_tasks('{}', 'failed')$$, $$browse_tasks('{}', 'due')$$, $$browse_tasks('{}', 'lease')$$, $$browse_tasks('{}', 'claim')$$, $$browse_tasks('{"queue":"q1"}', 'claim')$$, $$browse_tasks('{}', 'parked')$$, $$browse_tasks('{"state":"suspended"}', 'parked')$$, $$browse_tasks('{"state":"blocked","queue":"q1"}', 'parked')$$,
    'browse_instances()', $$browse_instances('{"status":"Failed"}')$$, $$browse_instances('{"name":"x"}')$$, $$browse_instances('{"name":"x"}', 'ended')$$, $$browse_instances('{}', 'failed')$$, $$browse_instances('{}', 'running')$$,
    'browse_dead_letters()', $$browse_dead_letters('{"name":"B"}', 'oldest')$$, $$browse_dead_letters('{"instance_id":"i7"}')$$, 'browse_work_items()', $$browse_work_items('{"state":"leased"}', 'oldest')$$, 'browse_messages()', $$browse_messages('{"name":"x"}', 'oldest')$$, $$browse_messages('{"instance_id":"i7"}')$$,
    'browse_events()', $$browse_events('{"types":"x"}', 'oldest')$$, $$browse_events('{"topics":"operator","subject":"s1"}')$$, $$browse_history('i7')$$, $$browse_history('i7', NULL, '{"contains":"none"}', 'oldest')$$, 'browse_flows()', $$browse_flows('{"kind":"none"}')$$, $$browse_flows('{"state":"running"}')$$, $$browse_flows('{}', 'ended')$$, 'glance()', 'list_queues()', 'list_owners()', $$find('i77')$$,
    $$list_tasks('{"state":"failed"}')$$, $$list_tasks('{"state":"active"}')$$, $$list_instances(p_status => 'Failed')$$, 'get_system_metrics()', 'get_queue_depths()', '(SELECT count(*) FROM pending_starts)', $$explain_waits('i7')$$]) AS c;
SELECT count(*) FROM list_tasks('{"state":"failed"}'); SELECT count(*) FROM list_instances(p_status => 'Failed'); SELECT total_instances > 90000 AS estimated, running_instances, failed_instances FROM get_system_metrics(); SELECT * FROM get_queue_depths();
SELECT test.error($$SELECT * FROM browse_cost.list_tasks('{"kind":"none"}')$$); SELECT test.refused($$SELECT * FROM browse_cost.list_work_items('{"state":"leased"}')$$); SELECT queue, items FROM dead_letter_summary; SELECT count(*) FROM list_tasks('{"kind":"k"}', NULL, 1000);
SELECT belay.drop_hub('browse_cost', true);
