-- What can be read of tasks: views, get_task, lists, explain_claim, check_tasks.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_read');
SELECT belay.set_hub_option('task_read', 'max_clock_skew', '0');
SET search_path = task_read, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
CREATE FUNCTION pg_temp.now() RETURNS bigint LANGUAGE sql AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
SELECT get_task(pg_temp.id(1)) IS NULL AS missing, get_task(NULL) IS NULL AS of_null;
-- One of each kind. 1 ready, 2 delayed, 3 leased, 4 overdue, 5 completed, 6 failed, 7 cancelled and never claimed, 8 waits for a retry, 9 interrupted, 10 replayed, 11 in a paused queue, 12 snoozed, 13 needs gpu, 14 past its deadline.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', CASE n WHEN 11 THEN 'paused' ELSE 'l' || n END, 'kind', 'k' || n % 2, 'tags', jsonb_build_object('n', n::text)) || CASE n WHEN 2 THEN '{"available_at_ms":9000000000000}' WHEN 13 THEN '{"capabilities":["gpu","eu"]}' ELSE '{}' END::jsonb) FROM generate_series(1, 13) AS n), 1000);
SELECT count(*) FROM (SELECT claim_tasks('w', 'i-' || n, ARRAY['l' || n], p_lease_ms => CASE n WHEN 3 THEN 86400000 ELSE 1000 END, p_now_ms => CASE n WHEN 3 THEN pg_temp.now() ELSE 1000 END) FROM unnest('{3,4,5,6,8,9,10,12}'::int[]) AS n) AS x;
SELECT (SELECT result FROM complete_task(pg_temp.id(5), 1, '{"r":5}', p_now_ms => 1100)), (SELECT result FROM fail_task(pg_temp.id(6), 1, 'permanent', 'broken', p_now_ms => 1100)), (SELECT effective FROM cancel_task(pg_temp.id(7), 'not needed', p_now_ms => 1100)),
       (SELECT result FROM fail_task(pg_temp.id(8), 1, 'transient', 'try again', p_retry_after_ms => 9000000000000, p_now_ms => 1100)), (SELECT state FROM release_task(pg_temp.id(9), 1, p_now_ms => 1100)), (SELECT result FROM complete_task(pg_temp.id(10), 1, p_now_ms => 1100)),
       (SELECT result FROM replay_task(pg_temp.id(10), p_now_ms => 1100)), (SELECT state FROM delay_task(pg_temp.id(12), 1, 9000000000000, p_now_ms => 1100));
SELECT pause_queue('paused');
-- TV-1: every state in the words of its parts.
SELECT pg_temp.n(task_id), state, lifecycle_phase, ownership_state, eligibility_state, public_state, attempt_state, blocking_reason, terminal_outcome FROM task_states ORDER BY task_id;
-- TV-2: the whole task.
SELECT jsonb_pretty(get_task(pg_temp.id(6)) - 'updated_at_ms');
SELECT jsonb_pretty(jsonb_set(get_task(pg_temp.id(3)), '{lease,until_ms}', '0') -> 'lease'), get_task(pg_temp.id(4)) -> 'lease' -> 'live' AS live, get_task(pg_temp.id(13)) -> 'capabilities' AS capabilities, get_task(pg_temp.id(9)) -> 'attempts' AS attempts;
-- TV-3: lists: filters, pages, a cursor row that is gone.
SELECT string_agg(pg_temp.n(task_id)::text, ' ') FROM list_tasks();
SELECT f, (SELECT string_agg(pg_temp.n(task_id)::text, ' ') FROM list_tasks(f)) FROM unnest(ARRAY['{"queue":"l3"}', '{"state":"ready"}', '{"state":["failed","cancelled"]}', '{"kind":"k1","state":"active"}', '{"tags":{"n":"5"}}', '{"worker":"w"}', '{"worker_instance":"i-4"}', '{"created_from_ms":1001}', '{"created_to_ms":1000,"queue":"l1"}', '{"pending_attempt":"retry"}', '{"flow_id":"00000000-0000-4000-8000-000000000001"}']::jsonb[]) AS f;
SELECT string_agg(pg_temp.n(task_id)::text, ' ') FROM list_tasks('{}', pg_temp.id(10), 2); SELECT count(*) FROM list_tasks('{}', NULL, 0);
SELECT delete_task(pg_temp.id(7)); SELECT string_agg(pg_temp.n(task_id)::text, ' ') FROM list_tasks('{}', pg_temp.id(7), 2);
SELECT test.refused($$SELECT * FROM task_read.list_tasks('{"stat":"x"}')$$), test.refused($$SELECT * FROM task_read.list_tasks('{"state":"x"}')$$), test.refused($$SELECT * FROM task_read.list_tasks('{}', NULL, 1001)$$);
-- TV-4: expired leases, ties kept over pages.
SELECT pg_temp.n(task_id), queue, lease_epoch, lease_until_ms, worker, worker_instance, attempt_index FROM list_expired_leases(p_now_ms => 2000);
SELECT count(*) FROM list_expired_leases(p_now_ms => 1999); SELECT count(*) FROM list_expired_leases(p_queue => 'l1');
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', 'ties')) FROM generate_series(21, 24) AS n), 1000); SELECT count(*) FROM claim_tasks('w', 'i', '{ties}', p_max_items => 9, p_lease_ms => 5, p_now_ms => 1000);
SELECT pg_temp.n(task_id) FROM list_expired_leases('ties', p_limit => 2, p_now_ms => 1005); SELECT pg_temp.n(task_id) FROM list_expired_leases('ties', 1005, pg_temp.id(22), 2, p_now_ms => 1005);
-- TV-5: queue_depths equals a count.
SELECT queue, paused, ready, delayed, active, overdue_leases, oldest_ready_age_ms > 0 AS aged FROM queue_depths ORDER BY queue COLLATE "C";
-- TV-6: every reason of explain_claim. How many sessions wait is known with shared memory only.
CREATE FUNCTION pg_temp.why(id uuid, capabilities text[] DEFAULT NULL, slots integer[] DEFAULT NULL, p_now_ms bigint DEFAULT NULL) RETURNS TABLE (reason text, detail jsonb) LANGUAGE sql
    AS $$ SELECT e.reason, nullif(e.detail - 'waiting_sessions', '{}') FROM explain_claim(id, capabilities, slots, p_now_ms) AS e $$;
SELECT n, e.* FROM unnest('{1,2,4,5,9,11,13,99}'::int[]) AS n, pg_temp.why(pg_temp.id(n), p_now_ms => 5000) AS e;
SELECT e.reason, e.detail - 'until_ms' AS detail FROM pg_temp.why(pg_temp.id(3)) AS e;
SELECT e.* FROM pg_temp.why(pg_temp.id(13), '{eu}', '{}', 5000) AS e; SELECT e.* FROM pg_temp.why(pg_temp.id(13), '{eu,gpu}', '{0}', 5000) AS e;
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', 'behind', 'priority', 100 - n)) FROM generate_series(31, 33) AS n), 1000);
SELECT e.* FROM pg_temp.why(pg_temp.id(33), p_now_ms => 5000) AS e;
-- Tasks behind it are not read, however many are ready.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'behind', 'priority', 1)) FROM generate_series(1, 500)), 1000);
BEGIN;
SELECT e.* FROM pg_temp.why(pg_temp.id(33), p_now_ms => 5000) AS e;
SELECT pg_stat_get_xact_tuples_returned('tasks_claim'::regclass) < 100 AS few;
COMMIT;
DELETE FROM tasks WHERE queue = 'behind' AND priority = 1;
SELECT state FROM create_task('dl', NULL, pg_temp.id(14), p_deadline_ms => 3000, p_now_ms => 1000); SELECT e.* FROM pg_temp.why(pg_temp.id(14), p_now_ms => 5000) AS e;
SELECT pause_hub('tasks'); SELECT e.* FROM pg_temp.why(pg_temp.id(11), p_now_ms => 5000) AS e; SELECT resume_hub('tasks');
-- TV-8: what a wait sees at once.
SET client_min_messages = warning;  -- without shared memory it polls, and says so
CALL wait_for_work('{queue:l1}', 0); CALL wait_for_work('{queue:none,queue:*}', 0); CALL wait_for_work('{queue:paused}', 0); CALL wait_for_work('{task:00000000-0000-4000-8000-000000000002}', 0); CALL wait_for_work('{task:00000000-0000-4000-8000-000000000001}', 0);
SELECT effective FROM cancel_task(pg_temp.id(13), p_now_ms => 5000); SELECT get_task(pg_temp.id(12)) ->> 'state' AS state; SELECT effective FROM cancel_task(pg_temp.id(12), p_now_ms => 5000);
CALL wait_for_work('{task:00000000-0000-4000-8000-000000000012}', 0);
CALL wait_for_work('{task:7}', 0); CALL wait_for_work('{queue:}', 0);
RESET client_min_messages;
-- TV-7: check_tasks finds what the CHECKs cannot; check_hub includes it.
SELECT * FROM check_tasks(); SELECT count(*) FROM belay.check_hub('task_read');
BEGIN;
UPDATE tasks SET attempt_index = 5 WHERE id = pg_temp.id(5); DELETE FROM attempts WHERE task_id = pg_temp.id(10); UPDATE tasks SET lease_check_ms = 9000000000000 WHERE id = pg_temp.id(4); INSERT INTO attempts SELECT pg_temp.id(77), 1, 1, 1, 0, 0, 'initial', 'failed', 'w', 'i';
SELECT replace(object, '00000000-0000-4000-8000-0000000000', '') AS object, problem FROM check_tasks() ORDER BY object COLLATE "C", problem COLLATE "C"; SELECT count(*) FROM belay.check_hub('task_read');
ROLLBACK;
-- The CHECKs of the table: what can never be stored (TS-3).
SELECT x, test.sqlstate('UPDATE task_read.tasks SET ' || x || ' WHERE id = ''00000000-0000-4000-8000-000000000003''') FROM unnest(ARRAY['lease_owner = NULL', 'lease_until_ms = NULL', 'state = ''ready''', 'terminal_at_ms = 1', 'state = ''odd''', 'priority = 9001', 'available_at_ms = NULL', 'attempt_started_ms = NULL', 'pending_attempt = ''odd''', 'lease_epoch = -1']) AS x;
RESET search_path;
SELECT belay.drop_hub('task_read', true);
