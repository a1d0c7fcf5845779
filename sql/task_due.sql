-- What falls due: leases, attempt timeouts, deadlines, delays, retention. The precedence is the same in any order of calls.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_due');
SELECT belay.set_hub_option('task_due', 'max_clock_skew', '0');
SELECT belay.set_hub_option('task_due', 'events', 'lease,operator,completion');
SET search_path = task_due, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM task_due.outbox_events RETURNING *)
    SELECT concat_ws(' ', topic, type, pg_temp.n(subject::uuid), details - 'flow_id' - 'queue' - 'kind' - 'lease_id' - 'worker' - 'worker_instance' - 'by' - 'as' - 'via') FROM gone WHERE type <> 'acquired' AND subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;
CREATE FUNCTION pg_temp.run(now_ms bigint, VARIADIC duties text[]) RETURNS TABLE (duty text, changed bigint) LANGUAGE sql AS $$ SELECT r.duty, r.rows FROM task_due.reconcile(duties, p_now_ms => now_ms) AS r $$;
CREATE VIEW pg_temp.t AS SELECT pg_temp.n(id) AS n, state, pending_attempt AS pending, lease_epoch AS epoch, available_at_ms AS avail, attempt_index AS attempt, retry_count AS retries, reclaim_count AS reclaims, failure_class AS class FROM task_due.tasks ORDER BY id;

-- TD-1: a lease that is over: the same attempt, ready at its old place, reclaim counted. At the deadline, not before; twice is once.
SELECT state FROM create_task('l', NULL, pg_temp.id(1), p_now_ms => 500);
SELECT lease_until_ms FROM claim_tasks('w', 'i', p_lease_ms => 1000, p_now_ms => 1000);
SELECT * FROM pg_temp.run(1999, 'lease_expiry');
SELECT * FROM pg_temp.run(2000, 'lease_expiry', 'lease_expiry');
SELECT * FROM pg_temp.t; SELECT * FROM pg_temp.told();
-- TD-2: renewed: only the time to look again moves, lazily. That a renewal touches no index is in task_cost.
SELECT lease_epoch FROM claim_tasks('w', 'i', p_lease_ms => 1000, p_now_ms => 2000);
SELECT lease_until_ms FROM renew_task(pg_temp.id(1), 3, 5000, 2500);
SELECT lease_until_ms, lease_check_ms FROM tasks;
SELECT * FROM pg_temp.run(3000, 'lease_expiry');
SELECT lease_until_ms, lease_check_ms FROM tasks;
SELECT * FROM pg_temp.run(3000, 'lease_expiry');
SELECT lease_until_ms FROM renew_task(pg_temp.id(1), 3, 6000, 3000); SELECT lease_until_ms FROM progress_task(pg_temp.id(1), 3, 50, 'half', p_now_ms => 3000);
SELECT * FROM pg_temp.told();
-- TR-3: on_lease_expiry = retry makes it a failure; max_reclaims bounds the survived ones.
DELETE FROM tasks; DELETE FROM attempts;
SELECT count(*) FROM create_tasks('[{"queue":"a","task_id":"00000000-0000-4000-8000-000000000001","policy":{"on_lease_expiry":"retry","max_attempts":2}},{"queue":"b","task_id":"00000000-0000-4000-8000-000000000002","policy":{"max_reclaims":1}},{"queue":"c","task_id":"00000000-0000-4000-8000-000000000003","policy":{"max_reclaims":0}}]', 0);
SELECT count(*) FROM claim_tasks('w', 'i', p_lease_ms => 10, p_max_items => 9, p_now_ms => 0);
SELECT * FROM pg_temp.run(10, 'lease_expiry');
SELECT * FROM pg_temp.t; SELECT * FROM pg_temp.told();
SELECT count(*) FROM claim_tasks('w', 'i', p_lease_ms => 10, p_max_items => 9, p_now_ms => 2000);
SELECT * FROM pg_temp.run(2010, 'lease_expiry');
SELECT * FROM pg_temp.t; SELECT * FROM pg_temp.told();
SELECT pg_temp.n(task_id), attempt_index, outcome, error ->> 'class' AS class FROM task_attempts ORDER BY 1, 2;
SELECT * FROM check_tasks();
-- TS-1: deadline before attempt timeout before lease, whichever duty comes first. All three have passed at 100.
DELETE FROM tasks; DELETE FROM attempts;
SELECT count(*) FROM create_tasks('[{"queue":"a","task_id":"00000000-0000-4000-8000-000000000001","deadline_ms":50,"policy":{"attempt_timeout_ms":40}},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000002","policy":{"attempt_timeout_ms":40,"max_attempts":1}},
  {"queue":"a","task_id":"00000000-0000-4000-8000-000000000003","policy":{"attempt_timeout_ms":40}},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000004"}]', 0);
SELECT pg_temp.n(task_id), lease_until_ms, attempt_deadline_ms, deadline_ms FROM claim_tasks('w', 'i', p_lease_ms => 30, p_max_items => 9, p_now_ms => 0);
BEGIN;
SELECT * FROM pg_temp.run(100, 'deadlines', 'lease_expiry');
SELECT * FROM pg_temp.t; SELECT * FROM pg_temp.told();
ROLLBACK;
SELECT * FROM pg_temp.run(100, 'lease_expiry', 'deadlines');
SELECT * FROM pg_temp.t; SELECT * FROM pg_temp.told();
SELECT pg_temp.n(task_id), outcome FROM task_attempts WHERE outcome IS NOT NULL ORDER BY 1;
SELECT * FROM check_tasks();
-- TS-2: the deadline of tasks that are not active; a claim passes over them; a paused attempt ends expired.
DELETE FROM tasks; DELETE FROM attempts;
SELECT count(*) FROM create_tasks('[{"queue":"a","task_id":"00000000-0000-4000-8000-000000000001","deadline_ms":50},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000002","deadline_ms":50,"delay_ms":60},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000003","deadline_ms":50,"priority":9}]', 0);
SELECT pg_temp.n(task_id) FROM claim_tasks('w', 'i', p_now_ms => 0);
SELECT state FROM release_task(pg_temp.id(3), 1, p_now_ms => 1);
SELECT count(*) FROM claim_tasks('w', 'i', p_now_ms => 50);
SELECT * FROM pg_temp.run(49, 'deadlines'); SELECT * FROM pg_temp.run(50, 'deadlines');
SELECT * FROM pg_temp.t; SELECT * FROM pg_temp.told(); SELECT outcome FROM task_attempts;
-- TD-3: due_timers makes ready what is due.
DELETE FROM tasks; DELETE FROM attempts;
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'a', 'delay_ms', n)) FROM generate_series(1, 600) AS n), 0);
SELECT * FROM pg_temp.run(550, 'due_timers');
SELECT state, count(*) FROM tasks GROUP BY state ORDER BY state;
-- TQ-5: more than 256 due at once: the claim goes on until it finds one that it may run.
DELETE FROM tasks;
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', CASE WHEN n = 600 THEN 'mine' ELSE 'a' END, 'delay_ms', n)) FROM generate_series(1, 600) AS n), 0);
SELECT queue FROM claim_tasks('w', 'i', '{mine}', p_now_ms => 1000);
-- TD-4: retention: the hub's, or the queue's; never what has not ended or whose dedup window is open.
DELETE FROM tasks;
SELECT belay.set_hub_option('task_due', 'task_retention', '100');
SELECT set_queue('long', '{"retention_ms":1000}'), set_queue('short', '{"retention_ms":0}');
SELECT count(*) FROM create_tasks('[{"queue":"a","kind":"gone"},{"queue":"long","kind":"long"},{"queue":"short","kind":"short"},{"queue":"a","kind":"key","dedup_key":"k","dedup_window_ms":500},{"queue":"a","kind":"open"}]', 0);
SELECT count(*) FROM (SELECT c.* FROM claim_tasks('w', 'i', p_max_items => 9, p_now_ms => 0) AS t, complete_task(t.task_id, 1, p_now_ms => 10) AS c WHERE t.kind <> 'open') AS x;
SELECT * FROM pg_temp.run(109, 'retention'); SELECT kind FROM tasks ORDER BY kind;
SELECT * FROM pg_temp.run(110, 'retention'); SELECT kind FROM tasks ORDER BY kind;
SELECT * FROM pg_temp.run(500, 'retention'); SELECT kind FROM tasks ORDER BY kind;
SELECT * FROM pg_temp.run(1010, 'retention'); SELECT kind FROM tasks ORDER BY kind; SELECT count(*) AS attempts FROM attempts; SELECT count(*) AS keys FROM dedup_keys;
-- delete_task: what has ended only.
SELECT test.refused($$SELECT task_due.delete_task((SELECT id FROM task_due.tasks))$$) ~ '^QB003 {"code_detail":"running"' AS refused, delete_task(pg_temp.id(77));
SELECT effective FROM cancel_task((SELECT id FROM tasks), p_now_ms => 5);
SELECT delete_task((SELECT id FROM tasks)); SELECT count(*) FROM tasks;
-- TL-2: another incarnation ends every lease, regardless of its deadline; new epochs begin at its floor.
SELECT state FROM create_task('l', NULL, pg_temp.id(1), p_now_ms => 0);
SELECT lease_epoch FROM claim_tasks('w', 'i', p_lease_ms => 1000000, p_now_ms => 0);
SELECT belay.new_incarnation('task_due');
SELECT test.sqlstate($$SELECT task_due.complete_task('00000000-0000-4000-8000-000000000001', 1, p_now_ms => 10)$$);
SELECT reason FROM renew_tasks(ARRAY[pg_temp.id(1)], '{1}', 1000, 10);
SELECT * FROM pg_temp.run(10, 'lease_expiry'); SELECT * FROM pg_temp.run(10, 'lease_expiry');
SELECT lease_epoch, attempt_kind, attempt_index FROM claim_tasks('w', 'i', p_lease_ms => 1000, p_now_ms => 10);
-- A claim that is rolled back has made nothing ready: the next one finds what is due.
DELETE FROM attempts; DELETE FROM tasks; DELETE FROM dedup_keys;
SELECT state FROM create_task('l', NULL, pg_temp.id(90), p_delay_ms => 100, p_now_ms => 1000);
BEGIN; SELECT pg_temp.n(task_id) FROM claim_tasks('w', 'i', p_now_ms => 1200); ROLLBACK;
BEGIN; SAVEPOINT s; SELECT pg_temp.n(task_id) FROM claim_tasks('w', 'i', p_now_ms => 1200); ROLLBACK TO s; COMMIT;
SELECT pg_temp.n(task_id) FROM claim_tasks('w', 'i', p_now_ms => 1200);
SELECT pg_temp.n(task_id) FROM claim_tasks('w', 'i', p_now_ms => 1200);
RESET search_path;
SELECT belay.drop_hub('task_due', true);
