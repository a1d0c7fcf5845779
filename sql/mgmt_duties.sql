-- Duties, run through reconcile: PO-13, OR-4, DE-18 and the clean-up of sessions and locks.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_duties');
SELECT belay.set_hub_option('mgmt_duties', 'max_clock_skew', '0');  -- these tests choose the time

-- Runs one duty at a time, and tells how many rows it dealt with.
CREATE FUNCTION pg_temp.run(name text, now_ms bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT rows FROM mgmt_duties.reconcile(ARRAY[name], p_now_ms => now_ms) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$
    TRUNCATE mgmt_duties.orchestrator_queue, mgmt_duties.worker_queue, mgmt_duties.instances, mgmt_duties.executions, mgmt_duties.history_turns, mgmt_duties.instance_locks, mgmt_duties.dead_letters, mgmt_duties.kv_store, mgmt_duties.kv_delta, mgmt_duties.sessions
$$;
\set day 86400000

---- reconcile

-- Without a list all of them, a row each (there are more than those of this file); with a list those, in its order, repeated ones too; with an empty one none.
CREATE TEMP TABLE ours AS SELECT unnest('{dead_letters,instance_retention,lock_cleanup,orphan_messages,session_cleanup}'::text[]) AS duty;
SELECT duty, rows, elapsed_ms >= 0 AS timed FROM mgmt_duties.reconcile(p_now_ms => 1000) JOIN ours USING (duty) ORDER BY duty;
SELECT count(*) FROM mgmt_duties.reconcile() JOIN ours USING (duty);
SELECT count(*) FROM mgmt_duties.reconcile(NULL) JOIN ours USING (duty);
SELECT duty, rows FROM mgmt_duties.reconcile('{session_cleanup,dead_letters,session_cleanup}', p_now_ms => 1000);
SELECT count(*) FROM mgmt_duties.reconcile('{}', p_now_ms => 1000);
-- A name that is none, or NULL, refuses the whole call.
SELECT split_part(test.error('SELECT mgmt_duties.reconcile(''{dead_letters,nap}'', p_now_ms => 1000)'), 'HINT', 1);
SELECT test.sqlstate('SELECT mgmt_duties.reconcile(''{NULL}'', p_now_ms => 1000)'), test.sqlstate('SELECT mgmt_duties.reconcile(''{Dead_Letters}'', p_now_ms => 1000)'), test.sqlstate('SELECT mgmt_duties.reconcile(p_now_ms => -1)');

---- dead_letters: PO-13

CREATE PROCEDURE pg_temp.bury(VARIADIC dead_ms bigint[]) LANGUAGE sql AS $$
    INSERT INTO mgmt_duties.dead_letters SELECT nextval('mgmt_duties.dead_letters_id'), 'worker', 1, 'i', 1, 1, NULL, NULL, 'died at ' || ms, 1, 'max_attempts', NULL, 'epoch', to_timestamp(ms / 1000.0) FROM unnest(dead_ms) AS ms
$$;
CALL pg_temp.bury(1000, 2000, 3000);
-- Without a retention they are kept.
SELECT pg_temp.run('dead_letters', 9000000000);
-- Those older than it go; not one that is just as old.
SELECT belay.set_hub_option('mgmt_duties', 'dead_letter_retention', '10 s');
SELECT n, pg_temp.run('dead_letters', n) FROM unnest('{11000,11001,12000}'::bigint[]) AS n;
SELECT work_item FROM mgmt_duties.list_dead_letters();
-- More than one portion.
CALL pg_temp.bury(VARIADIC array_fill(1000::bigint, ARRAY[2500]));
SELECT pg_temp.run('dead_letters', 13000);
SELECT count(*) FROM mgmt_duties.dead_letters;
-- Many that are not old enough, of a clock that ran ahead, do not keep those behind them.
CALL pg_temp.bury(VARIADIC array_fill(99000::bigint, ARRAY[10500]));
CALL pg_temp.bury(4000);
SELECT pg_temp.run('dead_letters', 14001);
SELECT count(*), count(*) FILTER (WHERE work_item = 'died at 4000') AS old FROM mgmt_duties.dead_letters;
SELECT belay.set_hub_option('mgmt_duties', 'dead_letter_retention', NULL);
CALL pg_temp.clear();

---- orphan_messages: OR-4

CREATE VIEW test.mgmt_duties AS
    SELECT 'queue' AS place, instance_id, (SELECT string_agg(k, '') FROM json_object_keys(work_item::json) AS k) AS kind, NULL AS reason, (extract(epoch FROM created_at) * 1000)::bigint AS created_ms, NULL::bigint AS dead_ms, attempt_count FROM mgmt_duties.orchestrator_queue
    UNION ALL SELECT 'dead letters', instance_id, (SELECT string_agg(k, '') FROM json_object_keys(work_item::json) AS k), reason, (extract(epoch FROM enqueued_at) * 1000)::bigint, (extract(epoch FROM dead_at) * 1000)::bigint, attempt_count FROM mgmt_duties.dead_letters
     ORDER BY place, created_ms, instance_id, kind;
-- Messages of instances that never started, older than a day, go to dead_letters, in the order of their ids. A fetch has passed them over before.
SELECT mgmt_duties.cancel_instance('i', 'why', 1000), mgmt_duties.raise_event('i', 'q', '', true, 1000), mgmt_duties.cancel_instance('i', 'late', 5000), mgmt_duties.enqueue_orchestrator_items('[{"work_item":{"ActivityCompleted":{"instance":"j","id":1}}}]', 2000);
SELECT count(*) FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 9000);
SELECT pg_temp.run('orphan_messages', 1000 + :day);
SELECT pg_temp.run('orphan_messages', 1001 + :day);
SELECT * FROM test.mgmt_duties;
-- PO-9, I13: text, count and times are kept; it is in one place.
SELECT queue, source_id IS NOT NULL AS source, execution_id, activity_id, session_id, tag, work_item, detail FROM mgmt_duties.dead_letters ORDER BY id;
SELECT pg_temp.run('orphan_messages', 5001 + :day);
SELECT place, instance_id, kind, created_ms FROM test.mgmt_duties;
-- Put back, they wait again; with their start they are delivered.
SELECT mgmt_duties.redrive_dead_letters('{"reason":"orphan","instance_id":"i"}');
SELECT mgmt_duties.start_orchestration('O', '', 'i');
SELECT (SELECT string_agg(k, ' ' ORDER BY nr) FROM json_array_elements(messages) WITH ORDINALITY AS m (item, nr), json_object_keys(item) AS k) AS messages FROM mgmt_duties.fetch_orchestration_item(1000);
CALL pg_temp.clear();
-- The option decides.
SELECT belay.set_hub_option('mgmt_duties', 'orphan_retention', '5 s');
SELECT mgmt_duties.cancel_instance('i', '', 1000);
SELECT count(*) FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT pg_temp.run('orphan_messages', 6000), pg_temp.run('orphan_messages', 6001);
CALL pg_temp.clear();
-- The start arrives before the move: nothing is moved, whether the start is visible, hidden, or a ContinueAsNew; the messages are part of the first batch.
SELECT mgmt_duties.cancel_instance(i, '', 1000) FROM unnest('{a,b,c,d,e,f}'::text[]) AS i;
SELECT count(*) FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT mgmt_duties.start_orchestration('O', '', 'a', '1', 0, 1000), mgmt_duties.start_orchestration('O', '', 'b', '1', 1000000, 1000), mgmt_duties.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"c","orchestration":"O"}}', to_timestamp(1));
-- So it is with history, or an instance row (which an ack would make, and let the messages go on); not with an execution row or key/value state alone.
SELECT mgmt_duties.append_history('d', 1, '[{"event_id":1,"event_data":"{}"}]');
INSERT INTO mgmt_duties.instances VALUES ('e', 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch');
INSERT INTO mgmt_duties.executions VALUES ('f', 1, 'Running', NULL, 'epoch', NULL);
SELECT pg_temp.run('orphan_messages', 7000);
SELECT place, instance_id, kind FROM test.mgmt_duties ORDER BY instance_id, kind;
SELECT instance_id, json_array_length(messages) AS messages FROM generate_series(1, 9) AS n, LATERAL mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 7000 + 0 * n);
CALL pg_temp.clear();
-- More than one portion: as many instances as there are.
SELECT count(mgmt_duties.cancel_instance('i' || n, '', 1000)) FROM generate_series(1, 250) AS n;
SELECT count(*) FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT pg_temp.run('orphan_messages', 7000);
SELECT count(*) FROM mgmt_duties.dead_letters WHERE reason = 'orphan';
SELECT belay.set_hub_option('mgmt_duties', 'orphan_retention', NULL);
CALL pg_temp.clear();

---- instance_retention: DE-18

CREATE PROCEDURE pg_temp.make(instance text, status text, completed_ms bigint, parent text DEFAULT NULL) LANGUAGE sql AS $$
    INSERT INTO mgmt_duties.instances VALUES (instance, 'O', '1', 1, parent, NULL, 0, 'epoch', 'epoch');
    INSERT INTO mgmt_duties.executions VALUES (instance, 1, status, NULL, 'epoch', CASE WHEN status <> 'Running' THEN to_timestamp(completed_ms / 1000.0) END);
    INSERT INTO mgmt_duties.history_turns VALUES (1, 1, 1, 'epoch', instance, ARRAY['T'], ARRAY['{}']);
$$;
CREATE FUNCTION pg_temp.all() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT coalesce(string_agg(instance_id, ' ' ORDER BY instance_id COLLATE "C"), 'none') FROM mgmt_duties.instances $$;
-- Without a retention they are kept.
CALL pg_temp.make('completed', 'Completed', 1000);
CALL pg_temp.make('failed', 'Failed', 2000);
CALL pg_temp.make('continued', 'ContinuedAsNew', 1000);
CALL pg_temp.make('running', 'Running', NULL);
CALL pg_temp.make('child of running', 'Completed', 1000, 'running');
CALL pg_temp.make('left over', 'Completed', 1000, 'long gone');
CALL pg_temp.make('child of completed', 'Running', NULL, 'completed');
CALL pg_temp.make('again', 'ContinuedAsNew', 1000);
CALL pg_temp.make('locked', 'Completed', 1000);
SELECT mgmt_duties.raise_event('locked', 'e', '', false, 1), mgmt_duties.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"again","orchestration":"O"}}', to_timestamp(1)), mgmt_duties.enqueue_worker_work('{"ActivityExecute":{"instance":"completed","execution_id":1,"id":1}}', p_now_ms => 1000);
SELECT instance_id FROM mgmt_duties.fetch_orchestration_item(19000, p_now_ms => 1000);
INSERT INTO mgmt_duties.kv_store VALUES ('failed', 'k', 'v', 1, 1);
INSERT INTO mgmt_duties.dead_letters VALUES (1, 'worker', 1, 'failed', 1, 1, NULL, NULL, '{}', 1, 'max_attempts', NULL, now(), now());
SELECT pg_temp.run('instance_retention', 9000000000);
-- Finished roots completed before, with their trees, by the rules of a bulk delete; each root counts once. Not one that is just as old, nor one that is between two executions or at a turn.
SELECT belay.set_hub_option('mgmt_duties', 'instance_retention', '10 s');
SELECT pg_temp.run('instance_retention', 11000);
SELECT pg_temp.all();
SELECT pg_temp.run('instance_retention', 11001);
SELECT pg_temp.all();
SELECT pg_temp.run('instance_retention', 12001);
SELECT pg_temp.all(), (SELECT count(*) FROM mgmt_duties.executions) AS executions, (SELECT count(*) FROM mgmt_duties.history) AS events, (SELECT count(*) FROM mgmt_duties.worker_queue) AS work, (SELECT count(*) FROM mgmt_duties.kv_store) AS kv, (SELECT count(*) FROM mgmt_duties.dead_letters) AS dead_letters;
-- The lock is over at 20000; the continue-as-new is not.
SELECT pg_temp.run('instance_retention', 19999), pg_temp.run('instance_retention', 20000);
SELECT pg_temp.all(), (SELECT string_agg(instance_id, ' ') FROM mgmt_duties.orchestrator_queue) AS messages, (SELECT count(*) FROM mgmt_duties.instance_locks) AS locks;
SELECT belay.set_hub_option('mgmt_duties', 'instance_retention', NULL);
CALL pg_temp.clear();

---- lock_cleanup

-- Lock rows without a live lease and without messages, last taken more than a day ago.
SELECT mgmt_duties.start_orchestration('O', '', i, '1', 0, 1000) FROM unnest('{released,told,abandoned,leased}'::text[]) AS i;
CREATE TEMP TABLE lease AS SELECT instance_id AS i, lock_token AS token FROM generate_series(1, 4) AS n, LATERAL mgmt_duties.fetch_orchestration_item(5 + :day, p_now_ms => 1000 + 0 * n);
SELECT mgmt_duties.ack_orchestration_item(token, 1, '[]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1"}', p_now_ms => 1000) FROM lease WHERE i IN ('released', 'told');
SELECT mgmt_duties.raise_event('told', 'later', '', false, 9000000000), mgmt_duties.abandon_orchestration_item(token, p_now_ms => 1000) FROM lease WHERE i = 'abandoned';
-- Taken again, it is as young as that.
SELECT mgmt_duties.ack_orchestration_item(lock_token, 1, '[]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1"}', p_now_ms => 9000), instance_id FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 9000);
DELETE FROM mgmt_duties.orchestrator_queue WHERE instance_id = 'leased';
SELECT instance_id, locked_at, locked_until FROM mgmt_duties.instance_locks ORDER BY instance_id;
SELECT n, pg_temp.run('lock_cleanup', 1000 + n + :day) FROM unnest('{0,1,4,5,8000,8001}'::int[]) AS n;
-- What is left has a message, if a hidden one.
SELECT instance_id FROM mgmt_duties.instance_locks;
DELETE FROM mgmt_duties.orchestrator_queue;
SELECT pg_temp.run('lock_cleanup', 9001 + :day);
SELECT count(*) FROM mgmt_duties.instance_locks;
-- An instance that lost its row this way goes on as ever.
SELECT mgmt_duties.raise_event('released', 'e', '', false, 1000);
SELECT instance_id FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 1000);
CALL pg_temp.clear();

---- session_cleanup: CS-1, CS-2

-- Expired, and without any item of theirs, delayed or not.
SELECT mgmt_duties.enqueue_worker_work('{"ActivityExecute":{}}', p_session_id => s, p_now_ms => 1000) FROM unnest('{over,pending,delayed}'::text[]) AS s;
SELECT mgmt_duties.ack_worker(lock_token, p_now_ms => 1000) FROM mgmt_duties.fetch_work_item(1000, 'owner', 500, p_now_ms => 1000);
SELECT attempt_count FROM mgmt_duties.fetch_work_item(1000, 'owner', 500, p_now_ms => 1000);
SELECT mgmt_duties.abandon_work_item(lock_token, 9000000, p_now_ms => 1000) FROM mgmt_duties.fetch_work_item(1000, 'owner', 500, p_now_ms => 1000);
SELECT session_id, locked_until FROM mgmt_duties.sessions ORDER BY session_id;
SELECT pg_temp.run('session_cleanup', 1499), pg_temp.run('session_cleanup', 1500);
SELECT session_id FROM mgmt_duties.sessions ORDER BY session_id;
CALL pg_temp.clear();

---- All together

SELECT belay.set_hub_option('mgmt_duties', o, '1 s') FROM unnest('{dead_letter_retention,orphan_retention,instance_retention}'::text[]) AS o;
CALL pg_temp.make('done', 'Completed', 1000);
CALL pg_temp.bury(1000);
SELECT mgmt_duties.cancel_instance('orphan', '', 1000);
SELECT count(*) FROM mgmt_duties.fetch_orchestration_item(1000, p_now_ms => 1000);
INSERT INTO mgmt_duties.sessions VALUES ('s', 'owner', 1000, 1000, 0);
INSERT INTO mgmt_duties.instance_locks VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 'idle');
SELECT duty, rows FROM mgmt_duties.reconcile(p_now_ms => 9000 + :day) JOIN ours USING (duty) ORDER BY duty;
-- A second run finds nothing but the orphan, which is a dead letter now, and is old only later.
SELECT duty, rows FROM mgmt_duties.reconcile(p_now_ms => 9000 + :day) JOIN ours USING (duty) ORDER BY duty;
SELECT duty, rows FROM mgmt_duties.reconcile(p_now_ms => 11000 + :day) JOIN ours USING (duty) WHERE rows > 0;
-- CC-11: undone with the transaction.
CALL pg_temp.make('done', 'Completed', 1000);
BEGIN;
SELECT duty, rows FROM mgmt_duties.reconcile(p_now_ms => 9000) JOIN ours USING (duty) WHERE rows > 0;
ROLLBACK;
SELECT pg_temp.all();

DROP VIEW test.mgmt_duties;
SELECT belay.drop_hub('mgmt_duties', true);
