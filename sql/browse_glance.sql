-- The overview, the queues of tasks, who has leases, and the search.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('browse_look');
SELECT belay.set_hub_option('browse_look', 'max_clock_skew', '0');
SET search_path = browse_look, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.now() RETURNS bigint LANGUAGE sql AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
-- What differs from run to run, or with shared memory.
CREATE FUNCTION pg_temp.plain(g jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT (g - '{at_ms,hub_version,oldest_snapshot,worker_loop_age_ms,queues,task_queues,estimates,paused,duration_bounds_ms}'::text[]) || jsonb_build_object(
        'queues', (SELECT jsonb_agg(q - '{counters,durations,waiters,oldest_ms}'::text[] || jsonb_build_object('aged', (q ->> 'oldest_ms')::bigint > 0)) FROM jsonb_array_elements(g -> 'queues') AS q),
        'task_queues', (SELECT jsonb_agg(q - '{oldest_ms,paused_by,paused_at_ms,counters,durations}'::text[] || jsonb_build_object('aged', (q ->> 'oldest_ms')::bigint > 0)) FROM jsonb_array_elements(g -> 'task_queues') AS q),
        'estimates', (SELECT jsonb_agg(k ORDER BY k COLLATE "C") FROM jsonb_object_keys(g -> 'estimates') AS k)) $$;
-- GL-1: an empty hub.
SELECT jsonb_pretty(pg_temp.plain(glance()));
SELECT glance() ?& '{at_ms,hub_version,oldest_snapshot,worker_loop_age_ms}' AS has_the_rest, jsonb_typeof(glance() -> 'at_ms') AS at_ms; SELECT * FROM list_queues(); SELECT list_owners(); SELECT * FROM find('x');
-- GL-2: one of each kind.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', 'q' || n % 2, 'available_at_ms', CASE WHEN n = 2 THEN 9000000000000 ELSE 1000 END)) FROM generate_series(1, 9) AS n), 1000);
SELECT create_task('dedup', p_dedup_key => 'order-7', p_task_id => pg_temp.id(20), p_now_ms => 1000) IS NOT NULL AS made; SELECT set_queue('q0', '{"concurrency": 5, "rate_per_s": 2.5}'), set_queue('empty', '{"paused": true}');
SELECT count(*) FROM claim_tasks('w', 'i-1', '{q1}', p_max_items => 3, p_lease_ms => 86400000); SELECT count(*) FROM claim_tasks('w', 'i-2', '{q0}', p_max_items => 1, p_lease_ms => 1, p_now_ms => 2000);
SELECT result FROM fail_task(pg_temp.id(1), (SELECT lease_epoch FROM tasks WHERE id = pg_temp.id(1)), 'permanent', 'no');
SELECT result FROM suspend_task(pg_temp.id(3), (SELECT lease_epoch FROM tasks WHERE id = pg_temp.id(3)), '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}');
SELECT enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"A","input":""}}', p_now_ms => 1000), enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"A","input":""}}', p_session_id => 's-1', p_now_ms => 1000), enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":3,"name":"A","input":""}}', p_now_ms => 1000);
SELECT attempt_count FROM fetch_work_item(86400000, 'i-1', 86400000, p_now_ms => pg_temp.now()); SELECT acquire_slots('i-3', 'worker', NULL, 86400000);
SELECT start_orchestration('order-7', 'Bill', '{}') IS NOT NULL AS started;
INSERT INTO dead_letters SELECT n, CASE WHEN n < 3 THEN 'worker' ELSE 'orchestrator' END, n, NULL, NULL, NULL, NULL, NULL, '{}', 1, 'max_attempts', NULL, to_timestamp(1), to_timestamp(n) FROM generate_series(1, 5) AS n;
INSERT INTO executions (instance_id, execution_id, status, started_at) VALUES ('order-8', 1, 'Running', now()); INSERT INTO instances VALUES ('order-8', 'Bill', '1', 1, NULL, NULL, 0, now(), now());
SELECT create_subscription('all', p_from => 'start'); SELECT create_schedule('order-daily', '0 0 * * *', '{"queue":"q1"}') IS NOT NULL AS scheduled; UPDATE schedules SET last_error = repeat('€', 300); SELECT pause_hub('worker', 'deploy');
SELECT jsonb_pretty(pg_temp.plain(glance()) - 'subscriptions'); SELECT s ->> 'name' AS name, s #> '{lag,n}' = to_jsonb(count) AS all_events, s #> '{lag,capped}' AS capped FROM jsonb_array_elements(glance() -> 'subscriptions') AS s, (SELECT count(*) FROM outbox_events) AS e;
-- GL-3: list_queues and queue_depths equal a count, as far as they count.
SELECT queue, paused, ready, delayed, blocked, active, suspended, overdue_leases, oldest_ready_age_ms > 0 AS aged, concurrency, rate_per_s, burst, owners, capped FROM list_queues();
SELECT queue, ready, delayed, active, suspended, capped FROM queue_depths ORDER BY queue COLLATE "C";
-- GL-7: who paused what, and since when, as long as the events tell.
SELECT pause_hub('worker', 'deploy'), pause_queue('q0'), resume_queue('q0'), pause_queue('q0');
SELECT p ->> 'queue' AS queue, p ->> 'reason' AS reason, p ->> 'paused_by' = session_user AS by_me, (p ->> 'paused_at_ms')::bigint BETWEEN pg_temp.now() - 600000 AND pg_temp.now() AS now FROM jsonb_array_elements(glance() -> 'paused') AS p;
SELECT queue, paused_by = session_user AS by_me, paused_at_ms IS NOT NULL AS at FROM list_queues() WHERE paused;
BEGIN; DELETE FROM outbox_events; SELECT queue, paused_by, paused_at_ms FROM list_queues() WHERE paused; SELECT glance() -> 'paused'; ROLLBACK;
SELECT resume_queue('q0');
-- GL-8: durations beside the counters.
SELECT jsonb_array_length(glance() -> 'duration_bounds_ms') AS bounds, (SELECT bool_and(q -> 'counters' = 'null' AND q -> 'durations' = 'null' OR jsonb_array_length(q #> '{durations,wait,buckets}') = 22 AND jsonb_array_length(q #> '{durations,run,buckets}') = 22) FROM jsonb_array_elements(glance() -> 'queues') AS q) AS all_queues, (SELECT bool_and(q ? 'counters' AND (q -> 'counters' = 'null' AND q -> 'durations' = 'null' OR (q #>> '{counters,created}')::int > 0 AND jsonb_array_length(q #> '{durations,run,buckets}') = 22)) FROM jsonb_array_elements(glance() -> 'task_queues') AS q WHERE q ->> 'queue' <> 'empty') AS all_task_queues;
-- GL-4: a count stops at the cap and says so.
INSERT INTO dead_letters SELECT n, 'worker', n, NULL, NULL, NULL, NULL, NULL, '{}', 1, 'orphan', NULL, to_timestamp(1), to_timestamp(2) FROM generate_series(100, 300) AS n;
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'many')) FROM generate_series(1, 300) AS n), 1000);
SELECT glance(100) -> 'dead_letters' AS dead_letters; SELECT ready, capped FROM list_queues(100) WHERE queue = 'many'; SELECT ready, capped FROM list_queues() WHERE queue = 'many';
SELECT test.refused('SELECT browse_look.glance(99)'), test.refused('SELECT * FROM browse_look.list_queues(100001)'), test.refused('SELECT browse_look.list_owners(p_scan => 1)'), test.refused('SELECT browse_look.list_owners(p_limit => 1001)'), test.refused('SELECT * FROM browse_look.find(NULL)');
-- GL-5: who has leases, page by page.
CREATE FUNCTION pg_temp.owners(o jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT o || jsonb_build_object('rows', (SELECT jsonb_agg(r - '{oldest_ms,next_deadline_ms}'::text[]) FROM jsonb_array_elements(o -> 'rows') AS r)) $$;
SELECT jsonb_pretty(pg_temp.owners(list_owners())); SELECT pg_temp.owners(list_owners(p_limit => 1)); SELECT pg_temp.owners(list_owners('i-1', 1));
-- Turns have no owner: they are counted, those whose lease is over and those of an earlier incarnation as overdue.
SELECT count(*) FROM (SELECT start_orchestration('N', '{}', 'turn' || n, p_now_ms => 1000) FROM generate_series(1, 3) AS n) AS x; SELECT count(*) FROM (SELECT fetch_orchestration_item(86400000) FROM generate_series(1, 3) AS n) AS x;
UPDATE instance_locks SET lease_inc = lease_inc - 1 WHERE instance_id = 'turn1'; UPDATE instance_locks SET locked_until = 9000 WHERE instance_id = 'turn2';
SELECT o -> 'turns' ->> 'live' AS live, o -> 'turns' ->> 'overdue' AS overdue, (o -> 'turns' ->> 'oldest_ms')::bigint = (SELECT min(locked_at) FROM instance_locks) AS oldest, (o -> 'turns' ->> 'next_deadline_ms')::bigint = (SELECT locked_until FROM instance_locks WHERE instance_id = 'turn3') AS deadline, o -> 'turns' -> 'complete' AS complete FROM list_owners() AS o;
INSERT INTO instance_locks SELECT belay.instance_key('free' || n), 0, 0, 0, 0, 0, 0, 0, 1, 'free' || n FROM generate_series(1, 20) AS n; SELECT o -> 'turns' -> 'complete' AS complete, o -> 'complete' AS of_owners FROM list_owners(p_scan => 100) AS o; DELETE FROM instance_locks; DELETE FROM orchestrator_queue; DELETE FROM instances WHERE instance_id LIKE 'turn%';
SELECT count(*) FROM (SELECT enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":4,"name":"A","input":""}}', p_now_ms => 1000) FROM generate_series(1, 150)) AS x; SELECT p -> 'complete' AS complete, p -> 'scanned' AS scanned FROM list_owners(p_scan => 100) AS p;
-- GL-6: the search.
SELECT * FROM find('order-7'); SELECT * FROM find('order'); SELECT * FROM find(pg_temp.id(1)::text); SELECT * FROM find('em'); SELECT * FROM find('zzz'); SELECT count(*) FROM find('');
INSERT INTO instances SELECT 'p' || n, 'P', NULL, 1, NULL, NULL, 0, now(), now() FROM generate_series(1, 50) AS n; SELECT count(*) FROM find('p');
-- Level monitor may look.
CREATE ROLE regress_looker; SELECT belay.grant_hub('browse_look', 'regress_looker', 'monitor'); SET ROLE regress_looker;
SELECT glance() IS NOT NULL AS glance, list_owners() IS NOT NULL AS owners, (SELECT count(*) > 0 FROM list_queues()) AS queues, (SELECT count(*) > 0 FROM queue_depths) AS depths, (SELECT count(*) FROM find('order-8')) AS found; RESET ROLE;
SELECT belay.revoke_hub('browse_look', 'regress_looker', 'monitor'); SET ROLE regress_looker; SELECT test.sqlstate(s) FROM unnest('{SELECT browse_look.glance(),SELECT browse_look.list_owners(),SELECT browse_look.list_queues(),SELECT browse_look.find(''x'')}'::text[]) AS s; RESET ROLE; DROP ROLE regress_looker;
SELECT belay.drop_hub('browse_look', true);
