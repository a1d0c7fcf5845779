-- Events of what operators do: who, as which role, by which program, and why.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('audit');
SELECT belay.set_hub_option('audit', 'max_clock_skew', '0');
SET search_path = audit, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql AS $$ SELECT ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE TEMP TABLE seen (position bigint);
INSERT INTO seen VALUES (0);
-- What was told since the last look, without what differs between runs.
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE last bigint := (SELECT position FROM seen);
BEGIN
    UPDATE seen SET position = (SELECT coalesce(max(position), 0) FROM audit.outbox_events);
    RETURN QUERY SELECT concat_ws(' ', type, coalesce(subject, '-'), (details - '{by,as,via,suspension_id,waitpoint_id}'::text[])::text)
                   FROM audit.outbox_events WHERE position > last AND topic = 'operator' ORDER BY position;
END $$;
-- AU-2: by is the session user, as the role that was set, via the application.
SET application_name = 'night shift';
CREATE ROLE regress_auditor;
SELECT belay.grant_hub('audit', 'regress_auditor', 'operator');
SET belay.reason = 'ticket 7';
SET ROLE regress_auditor;
SELECT pause_hub('worker');
RESET ROLE;
SELECT details ->> 'by' = session_user AS by, details ->> 'as' AS "as", details ->> 'via' AS via, details ->> 'reason' AS reason FROM outbox_events WHERE type = 'hub_paused';
SELECT pg_temp.told();
-- AU-3: the reason of the call counts before the setting, and an empty one is none.
SELECT pause_hub(p_reason => 'deploy');
SELECT resume_hub();
RESET belay.reason;
SELECT pause_hub('tasks', '');
SELECT resume_hub('tasks');
SELECT resume_hub('tasks');
SELECT pg_temp.told();
SELECT set_config('belay.reason', repeat('x', 1000), false) IS NOT NULL;
SELECT test.sqlstate($$SELECT set_config('belay.reason', repeat('x', 1001), false)$$);
RESET belay.reason;
-- AU-1: each call that changes something tells it once, with what it touched.
SELECT set_queue('mail', '{"concurrency": 3}');
SELECT set_queue('mail', '{"concurrency": 3}');
SELECT pause_queue('mail');
SELECT pause_queue('mail');
SELECT resume_queue('mail');
SELECT pg_temp.told();
SELECT create_schedule('nightly', '0 3 * * *', '{"queue": "mail"}') IS NOT NULL;
SELECT create_schedule('nightly', '0 3 * * *', '{"queue": "mail"}', p_if_exists => 'replace') IS NOT NULL;
SELECT pause_schedule('nightly');
SELECT pause_schedule('nightly');
SELECT resume_schedule('nightly') IS NOT NULL;
SELECT resume_schedule('nightly') IS NOT NULL;
SELECT drop_schedule('nightly');
SELECT create_subscription('reader');
SELECT drop_subscription('reader');
SELECT belay.set_hub_option('audit', 'max_attempts', '2');
SELECT belay.set_hub_option('audit', 'max_attempts', NULL);
SELECT pg_temp.told();
-- Tasks.
SELECT count(*) FROM generate_series(1, 6) AS n, LATERAL create_task('cpu', p_task_id => pg_temp.id(n), p_now_ms => 1000);
SELECT task_id = pg_temp.id(1) FROM claim_tasks('w', 'w-1', ARRAY['cpu'], p_max_items => 3, p_lease_ms => 60000, p_now_ms => 2000);
SELECT result FROM change_priority(pg_temp.id(4), 7, 2000);
SELECT effective FROM cancel_task(pg_temp.id(4), 'not wanted', p_now_ms => 2000);
SELECT effective FROM cancel_task(pg_temp.id(4), 'not wanted', p_now_ms => 2000);
SELECT result FROM revoke_lease(pg_temp.id(1), 'stuck', p_now_ms => 2000);
SELECT result FROM revoke_lease(pg_temp.id(1), 'stuck', p_now_ms => 2000);
SELECT result FROM complete_task(pg_temp.id(2), NULL, '"by hand"', 'operator_override', 2000);
SELECT result FROM fail_task(pg_temp.id(3), NULL, 'permanent', 'by hand', p_source => 'operator_override', p_now_ms => 2000);
SELECT result FROM replay_task(pg_temp.id(3), p_now_ms => 2000);
SELECT delete_task(pg_temp.id(2)), delete_task(pg_temp.id(2));
SELECT pg_temp.told();
-- Approvals: one that was given before changes nothing.
SELECT count(*) FROM create_task('wait', p_task_id => pg_temp.id(7), p_now_ms => 2000), LATERAL claim_tasks('w', 'w-1', ARRAY['wait'], p_lease_ms => 60000, p_now_ms => 2000) AS c, LATERAL suspend_task(c.task_id, c.lease_epoch, '{"waitpoints": [{"key": "ok"}], "condition": {"count": {"n": 1, "of": "signals"}}}', 2000);
SELECT result, effect FROM waitpoints, LATERAL approve_task(task_id, id, 'approved', 'once', 2000);
SELECT result, effect FROM waitpoints, LATERAL approve_task(task_id, id, 'approved', 'once', 2000);
SELECT pg_temp.told();
-- A worker that ends its own task is no operator, and a client that cancels neither.
SELECT count(*) FROM claim_tasks('w', 'w-1', ARRAY['cpu'], p_max_items => 1, p_lease_ms => 60000, p_now_ms => 3000) AS c, LATERAL complete_task(c.task_id, c.lease_epoch, NULL, p_now_ms => 3000);
SELECT cancel(pg_temp.id(6));
SELECT pg_temp.told();
-- AU-4: an operator who names an epoch means the task as it was then.
SELECT lease_epoch AS seen FROM tasks WHERE id = pg_temp.id(5) \gset
SELECT count(*) FROM claim_tasks('w', 'w-1', ARRAY['cpu'], p_max_items => 9, p_lease_ms => 60000, p_now_ms => 4000);
SELECT test.refused(format($$SELECT audit.cancel_task(pg_temp.id(5), 'late', p_lease_epoch => %s, p_now_ms => 4000)$$, :seen)), test.refused(format($$SELECT audit.complete_task(pg_temp.id(5), %s, NULL, 'operator_override', 4000)$$, :seen)), test.refused(format($$SELECT audit.fail_task(pg_temp.id(5), %s, 'permanent', p_source => 'operator_override', p_now_ms => 4000)$$, :seen));
SELECT pg_temp.told();
SELECT effective FROM tasks, LATERAL cancel_task(id, 'in time', p_lease_epoch => lease_epoch, p_now_ms => 4000) WHERE id = pg_temp.id(5);
SELECT pg_temp.told();
-- Flows, instances, work items and dead letters.
SELECT create_flow('{"kind": "two", "flow_id": "01900000-0000-7000-8000-0000000000f1", "tasks": [{"key": "a", "queue": "flow"}]}', 5000) IS NOT NULL;
SELECT result FROM cancel_flow('01900000-0000-7000-8000-0000000000f1', 'no more', 'cancel_all', p_now_ms => 5000);
SELECT delete_flow('01900000-0000-7000-8000-0000000000f1');
SELECT pg_temp.told();
SELECT start('Bill', '{}', id => 'order-1');
SELECT terminate('order-1', 'fraud');
SELECT pg_temp.told();
INSERT INTO instances (instance_id, orchestration_name, current_execution_id, custom_status_version, created_at, updated_at) SELECT 'gone-' || n, 'Bill', 2, 0, to_timestamp(1), to_timestamp(2) FROM generate_series(1, 3) AS n;
INSERT INTO executions (instance_id, execution_id, status, started_at, completed_at) SELECT 'gone-' || n, e, CASE e WHEN 2 THEN 'Completed' ELSE 'ContinuedAsNew' END, to_timestamp(1), to_timestamp(2) FROM generate_series(1, 3) AS n, generate_series(1, 2) AS e;
SELECT executions_deleted FROM prune_executions('gone-1', 1) AS p(instances, executions_deleted, events);
SELECT executions_deleted FROM prune_executions_bulk('{"instance_ids": ["gone-2", "gone-3"]}', '{"keep_last": 1}') AS p(instances, executions_deleted, events);
SELECT count(*) FROM delete_instance('gone-1');
SELECT count(*) FROM delete_instances_bulk('{"instance_ids": ["gone-2"]}');
SELECT count(*) FROM delete_instances_bulk('{"instance_ids": ["gone-2"]}');
SELECT count(*) FROM delete_instances_atomic(ARRAY['gone-3']);
SELECT pg_temp.told();
SELECT count(*) FROM (SELECT enqueue_worker_work(format('{"ActivityExecute":{"instance":"i","execution_id":1,"id":%s,"name":"A","input":""}}', n), p_now_ms => 1000) FROM generate_series(1, 2) AS n) AS x;
SELECT cancel_activities('[{"instance": "i", "execution_id": 1, "activity_id": 1}]'), cancel_activities('[{"instance": "i", "execution_id": 1, "activity_id": 1}]');
INSERT INTO dead_letters (id, queue, source_id, reason, instance_id, work_item, attempt_count, enqueued_at, dead_at) SELECT n, 'orchestrator', n, 'orphan', 'order-1', '{"X": 1}', 1, to_timestamp(1), to_timestamp(2) FROM generate_series(1, 4) AS n;
SELECT redrive_dead_letter((SELECT min(id) FROM dead_letters)) IS NOT NULL;
SELECT discard_dead_letter((SELECT min(id) FROM dead_letters));
SELECT redrive_dead_letters('{"reason": "orphan"}') ->> 'done' AS first, redrive_dead_letters('{"reason": "orphan"}') ->> 'done' AS second;
SELECT pg_temp.told();
-- AU-1: a turn that cancels its activities is not the call of an operator.
SELECT start_orchestration('Turning', '', 'turning', p_now_ms => 1000);
SELECT lock_token AS turn FROM fetch_orchestration_item(60000, p_now_ms => 2000) \gset
SELECT count(*) FROM worker_queue WHERE instance_id = 'i';
SELECT ack_orchestration_item(:'turn', 1, '[]', '[]', '[]', '{}', '[{"instance": "i", "execution_id": 1, "activity_id": 2}]', p_now_ms => 2000);
SELECT count(*) FROM worker_queue WHERE instance_id = 'i';
SELECT pg_temp.told();
-- AU-1: rolled back, nothing was told; and a hub that does not want these events has none.
BEGIN;
SELECT pause_queue('mail');
ROLLBACK;
SELECT pg_temp.told();
SELECT belay.set_hub_option('audit', 'events', 'completion');
SELECT count(*) FROM pg_temp.told();
SELECT pause_queue('mail');
SELECT pg_temp.told();
RESET search_path;
SELECT belay.drop_hub('audit', true);
DROP ROLE regress_auditor;
