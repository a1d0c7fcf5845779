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
    $$list_tasks('{"state":"failed"}')$$, $$list_tasks('{"state":"active"}')$$, $$list_instances(p_status => 'Failed')$$, $$list_instances(p_status => 'Running')$$, $$list_instances_by_status('Failed')$$, $$list_instances(p_status => 'Completed', p_limit => 100)$$, $$list_instances(p_prefix => 'i7777')$$, $$list_instances(p_name => 'Order', p_limit => 100)$$,
    $$list_flows('{"kind":"k"}')$$, $$list_flows('{"state":"completed"}', NULL, 1000)$$, $$list_dead_letters('worker', 'max_attempts')$$, $$list_dead_letters(p_instance_id => 'i7')$$, 'get_system_metrics()', 'get_queue_depths()', '(SELECT count(*) FROM pending_starts)', $$explain_waits('i7')$$]) AS c;
-- BR-6: no index has the id of a work item alone, and yet its place is found: in a long stream, in a short one, delayed; and that there is none.
INSERT INTO worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc, attempt_count, work_item) SELECT n, 0, 0, 200000 + n, now(), now(), 0, 0, 0, 0, 0, '{"ActivityExecute":{"name":"A"}}' FROM generate_series(2, 240, 2) AS n;
INSERT INTO worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc, attempt_count, work_item) SELECT n, 0, 9000000000000 + n, 300000 + n, now() + interval '1 day', now(), 0, 0, 0, 0, 0, '{"ActivityExecute":{"name":"A"}}' FROM generate_series(0, 240, 2) AS n;
CREATE FUNCTION pg_temp.most(call text, most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json; buffers bigint;
BEGIN
    EXECUTE 'SELECT ' || call;
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT ' || call INTO plan;
    buffers := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
    RETURN CASE WHEN buffers <= most THEN 'yes' ELSE buffers::text END;
END $$;
SELECT id, (SELECT string_agg(e.reason, ' ') FROM explain_work_item(id) AS e) AS reasons, length(b ->> 'body') AS bytes, pg_temp.most(format('explain_work_item(%s)', id), most) AS few, pg_temp.most(format($c$read_body('work_item', '%s', 'work_item')$c$, id), most) AS few_of_body
  FROM (VALUES (7, 60), (99999, 60), (200002, 60), (200240, 2000), (300000, 2000), (300240, 2000), (500000, 2000)) AS v(id, most) LEFT JOIN LATERAL read_body('work_item', id::text, 'work_item') AS b ON true ORDER BY id;
SELECT count(*) FROM list_tasks('{"state":"failed"}'); SELECT count(*) FROM list_instances(p_status => 'Failed'); SELECT total_instances > 90000 AS estimated, running_instances, failed_instances FROM get_system_metrics(); SELECT * FROM get_queue_depths();
SELECT test.error($$SELECT * FROM browse_cost.list_tasks('{"kind":"none"}')$$); SELECT test.refused($$SELECT * FROM browse_cost.list_work_items('{"state":"leased"}')$$); SELECT queue, items FROM dead_letter_summary; SELECT count(*) FROM list_tasks('{"kind":"k"}', NULL, 1000);
-- BR-11: what is rare in a large table ends the other lists as well, unless an index has it. A page that is filled does not.
SELECT c AS call, test.refused('SELECT * FROM browse_cost.' || c) AS refused FROM unnest(ARRAY['list_instances(p_name => ''none'')', 'list_instances(p_name => ''none'', p_limit => 5)', 'list_instances(p_status => ''Completed'')', 'list_instances_by_status(''ContinuedAsNew'')', 'list_instances(p_prefix => ''i1'', p_name => ''none'')',
    'list_flows(''{"kind":"none"}'')', 'list_flows(''{"state":"running"}'')', 'list_dead_letters(''orchestrator'')', 'list_dead_letters(p_reason => ''orphan'')', 'list_dead_letters(p_instance_id => ''i7'', p_reason => ''orphan'')', 'list_instances(p_status => ''Running'', p_name => ''none'')', 'list_instances(p_prefix => ''none'')']) AS c;
SELECT test.error($$SELECT * FROM browse_cost.list_instances_by_status('Completed')$$); SELECT test.error($$SELECT * FROM browse_cost.list_flows('{"kind":"none"}')$$); SELECT test.error($$SELECT * FROM browse_cost.list_dead_letters('intent')$$);
SELECT (SELECT count(*) FROM list_instances_by_status('Running')) AS running, (SELECT count(*) FROM list_instances(p_status => 'Completed', p_limit => 5000)) AS page, (SELECT count(*) FROM list_instances()) AS everything, (SELECT string_agg(instance_id, ' ') FROM list_instances(p_prefix => 'i7777')) AS prefix,
    (SELECT string_agg(instance_id, ' ') FROM list_instances('Running', p_prefix => 'i50')) AS both, (SELECT count(*) FROM list_instances('Running', p_after => 'i50009')) AS behind;
-- The end of a list within the bound is no error: here all flows and letters behind a place.
SELECT (SELECT count(*) FROM list_flows('{"kind":"none"}', (SELECT id FROM flows ORDER BY id DESC OFFSET 10000 LIMIT 1))) AS flows, (SELECT count(*) FROM list_dead_letters('intent', p_after => 90000)) AS letters;
-- An application of duroxide-pg gets all of its instances.
SELECT belay.create_hub('browse_cost_dx', p_api => 'duroxide-pg');
INSERT INTO browse_cost_dx.instances SELECT * FROM instances WHERE instance_id COLLATE "C" OPERATOR(pg_catalog.<) 'i3'; INSERT INTO browse_cost_dx.executions (instance_id, execution_id, status, output, started_at, completed_at) SELECT instance_id, execution_id, status, output, started_at, completed_at FROM executions WHERE instance_id COLLATE "C" OPERATOR(pg_catalog.<) 'i3' AND instance_id OPERATOR(pg_catalog.<>) 'i1';
SELECT s, count(l) FROM unnest('{Running,Completed,Failed,ContinuedAsNew}'::text[]) AS s LEFT JOIN LATERAL browse_cost_dx.list_instances_by_status(s) AS l ON true GROUP BY s ORDER BY s; SELECT count(*) FROM browse_cost_dx.list_instances(p_name => 'none');
SELECT belay.drop_hub('browse_cost_dx', true);
-- The duty that deletes old dead letters reads those that are due, however many others there are.
SELECT belay.set_hub_option('browse_cost', 'dead_letter_retention', '1 d');
CREATE FUNCTION pg_temp.reads(duty text, at bigint) RETURNS TABLE (rows bigint, scans bigint, few boolean) LANGUAGE plpgsql AS $$
DECLARE before bigint; before_read bigint; after_read bigint; done bigint;
BEGIN
    SELECT pg_stat_get_xact_numscans('browse_cost.dead_letters'::regclass), pg_stat_get_xact_tuples_returned('browse_cost.dead_letters_dead'::regclass) INTO before, before_read;
    SELECT r.rows FROM browse_cost.reconcile(ARRAY[duty], p_now_ms => at) AS r INTO done;
    SELECT pg_stat_get_xact_tuples_returned('browse_cost.dead_letters_dead'::regclass) INTO after_read;
    RETURN QUERY SELECT done, pg_stat_get_xact_numscans('browse_cost.dead_letters'::regclass) - before, after_read - before_read < 3000 * (done / 1000 + 1);
END $$;
SELECT * FROM pg_temp.reads('dead_letters', pg_temp.now());
UPDATE dead_letters SET dead_at = now() - interval '2 days' WHERE id OPERATOR(pg_catalog.<=) 1500;
SELECT * FROM pg_temp.reads('dead_letters', pg_temp.now());
SELECT count(*), min(id) FROM dead_letters;
-- check_hub scans no large table unless it is asked to; auto says so. Of a sample it reads 10,000 tasks, and their attempts.
CREATE FUNCTION pg_temp.check_cost(word text) RETURNS TABLE (problems bigint, scans bigint, few boolean) LANGUAGE plpgsql AS $$
DECLARE before bigint; found bigint; plan json; buffers bigint;
BEGIN
    SELECT count(*) FROM belay.check_hub('browse_cost', word) INTO found;
    SELECT sum(seq_scan) INTO before FROM pg_stat_xact_user_tables WHERE schemaname = 'browse_cost' AND relname IN ('tasks', 'dead_letters', 'outbox_events', 'worker_queue', 'orchestrator_queue', 'instance_locks');
    EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM belay.check_hub(''browse_cost'', %L)', word) INTO plan;
    buffers := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
    RETURN QUERY SELECT least(found, 1), sum(seq_scan)::bigint - before, buffers < 100000 FROM pg_stat_xact_user_tables WHERE schemaname = 'browse_cost' AND relname IN ('tasks', 'dead_letters', 'outbox_events', 'worker_queue', 'orchestrator_queue', 'instance_locks');
END $$;
UPDATE pg_class SET reltuples = 200000 WHERE oid = 'tasks'::regclass;
\set VERBOSITY default
SELECT w AS rows, c.* FROM unnest('{none,sample,auto}'::text[]) AS w, pg_temp.check_cost(w) AS c;
\set VERBOSITY terse
SELECT belay.drop_hub('browse_cost', true);
