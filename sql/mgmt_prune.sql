-- prune_executions and prune_executions_bulk.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_prune');
SELECT belay.set_hub_option('mgmt_prune', 'max_clock_skew', '0');  -- these tests choose the time

-- Executions written by the owner: execution e with e events, completed at e * 1000 ms, unless it runs. The greatest is the current one.
CREATE PROCEDURE pg_temp.make(instance text, VARIADIC statuses text[]) LANGUAGE sql AS $$
    INSERT INTO mgmt_prune.instances VALUES (instance, 'O', '1', array_length(statuses, 1), NULL, 'custom', 3, 'epoch', 'epoch');
    INSERT INTO mgmt_prune.executions SELECT instance, e, s, 'output', 'epoch', CASE WHEN s <> 'Running' THEN to_timestamp(e) END FROM unnest(statuses) WITH ORDINALITY AS u (s, e);
    INSERT INTO mgmt_prune.history_turns SELECT e, n, n, 'epoch', instance, ARRAY['T'], ARRAY['{}'] FROM generate_series(1, array_length(statuses, 1)) AS e, generate_series(1, e) AS n;
$$;
CREATE FUNCTION pg_temp.executions() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(i || ':' || e, ' ' ORDER BY i COLLATE "C") FROM (SELECT instance_id, string_agg(execution_id::text, ',' ORDER BY execution_id) FROM mgmt_prune.executions GROUP BY 1) AS x (i, e)
$$;
-- What a call prunes: its counts, and which executions and how many events are left; undone.
CREATE FUNCTION pg_temp.try(call text) RETURNS TABLE (instances bigint, executions bigint, events bigint, rest text, events_left bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT * FROM mgmt_prune.' || call INTO instances, executions, events;
    rest := pg_temp.executions();
    events_left := count(*) FROM mgmt_prune.history;
    RAISE EXCEPTION SQLSTATE 'UNDO0';
EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
    RETURN NEXT;
END $$;

---- One instance

-- PR-1: no instance row: QB002, also where executions are.
SELECT mgmt_prune.append_history('bare', 1, '[{"event_id":1,"event_data":"{}"}]');
SELECT test.error('SELECT mgmt_prune.prune_executions(''bare'')');
SELECT test.error('SELECT mgmt_prune.prune_executions(''nobody'', 1, 1000)');
DELETE FROM mgmt_prune.executions;
DELETE FROM mgmt_prune.history_turns;
CALL pg_temp.make('i', 'ContinuedAsNew', 'Failed', 'Running', 'Completed', 'ContinuedAsNew', 'Completed');
CALL pg_temp.make('other', 'ContinuedAsNew', 'Running');
-- PR-2, PR-5: without options all that are neither current nor Running. PR-7: one instance. Others are untouched.
SELECT * FROM pg_temp.try('prune_executions(''i'')');
-- PR-3: keep the n greatest ids, the current one included; NULL, 0 and 1 have the same effect; one that runs is kept in any case, and counts among the n.
SELECT n, t.* FROM unnest(ARRAY[NULL, 0, 1, 2, 3, 4, 5, 6, 7, 2147483647]) AS n, LATERAL pg_temp.try(format('prune_executions(''i'', %L)', n)) AS t;
SELECT test.error('SELECT mgmt_prune.prune_executions(''i'', -1)');
-- PR-4: completed strictly before.
SELECT b, t.* FROM unnest(ARRAY[0, 1000, 1001, 4000, 4001, 9000, 9223372036854775807, -9223372036854775808]) AS b, LATERAL pg_temp.try(format('prune_executions(''i'', NULL, %L)', b)) AS t;
-- A completed_at that is NULL never matches, regardless of the status.
UPDATE mgmt_prune.executions SET completed_at = NULL WHERE instance_id = 'i' AND execution_id = 1;
SELECT * FROM pg_temp.try('prune_executions(''i'', NULL, 9223372036854775807)');
UPDATE mgmt_prune.executions SET completed_at = to_timestamp(1) WHERE instance_id = 'i' AND execution_id = 1;
-- Both: an execution must pass both.
SELECT * FROM pg_temp.try('prune_executions(''i'', 3, 2001)');
SELECT * FROM pg_temp.try('prune_executions(''i'', 5, 9000)');
-- The current execution is the instance's, not the greatest there is; never pruned, regardless of its status.
UPDATE mgmt_prune.instances SET current_execution_id = 4 WHERE instance_id = 'i';
SELECT * FROM pg_temp.try('prune_executions(''i'')');
UPDATE mgmt_prune.instances SET current_execution_id = 6 WHERE instance_id = 'i';
-- PR-6, KV-11: events and execution rows, nothing else: key/value state, queues, lock, dead letters, custom status stay as they are.
INSERT INTO mgmt_prune.kv_store VALUES ('i', 'k', 'v', 1, 1);
INSERT INTO mgmt_prune.kv_delta VALUES ('i', 'l', 'v', 1);
INSERT INTO mgmt_prune.dead_letters VALUES (1, 'worker', 1, 'i', 1, 1, NULL, NULL, '{}', 1, 'max_attempts', NULL, now(), now());
SELECT mgmt_prune.raise_event('i', 'e', '', false, 1000), mgmt_prune.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":1}}', p_now_ms => 1000);
SELECT lock_token AS token FROM mgmt_prune.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT test.content('mgmt_prune', 'executions', 'history_turns', 'outbox_events') AS content \gset
SELECT * FROM mgmt_prune.prune_executions('i');
SELECT test.content('mgmt_prune', 'executions', 'history_turns', 'outbox_events') = :'content' AS unchanged, pg_temp.executions(), (SELECT count(*) FROM mgmt_prune.history WHERE instance_id = 'i') AS events;
SELECT * FROM mgmt_prune.prune_executions('i');
-- The turn in progress is acked as ever. The totals follow.
SELECT mgmt_prune.ack_orchestration_item(:'token', 6, '[{"event_id":7,"event_data":"{}"}]', '[]', '[]', '{}', p_now_ms => 1000);
SELECT total_executions, total_events, (SELECT count(*) FROM mgmt_prune.history) AS stored FROM mgmt_prune.get_system_metrics();
TRUNCATE mgmt_prune.instances, mgmt_prune.executions, mgmt_prune.history_turns, mgmt_prune.worker_queue, mgmt_prune.orchestrator_queue, mgmt_prune.instance_locks;
-- An instance without any execution row.
INSERT INTO mgmt_prune.instances VALUES ('empty', 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch');
SELECT * FROM mgmt_prune.prune_executions('empty');
DELETE FROM mgmt_prune.instances;

---- Many

-- PR-9: instances of any status, running ones and children included. The counts are summed.
CALL pg_temp.make('completed', 'ContinuedAsNew', 'Failed', 'Completed');
CALL pg_temp.make('running', 'ContinuedAsNew', 'ContinuedAsNew', 'Running');
CALL pg_temp.make('child', 'ContinuedAsNew', 'Failed');
UPDATE mgmt_prune.instances SET parent_instance_id = 'running' WHERE instance_id = 'child';
CALL pg_temp.make('single', 'Completed');
INSERT INTO mgmt_prune.instances VALUES ('empty', 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch');
SELECT * FROM pg_temp.try($$prune_executions_bulk('{}', '{}')$$);
SELECT * FROM pg_temp.try($$prune_executions_bulk('{}')$$);
SELECT * FROM pg_temp.try($$prune_executions_bulk('{}', NULL)$$);
-- instance_ids: given and empty: zeros; unknown ones are skipped; those not selected are untouched.
SELECT * FROM pg_temp.try($$prune_executions_bulk('{"instance_ids":[]}', '{}')$$);
SELECT * FROM pg_temp.try($$prune_executions_bulk('{"instance_ids":["child","child","nobody"]}', '{}')$$);
SELECT * FROM pg_temp.try($$prune_executions_bulk('{"instance_ids":["nobody"]}', '{}')$$);
-- completed_before of the filter looks at the current execution; one that runs, or has none, has not completed.
SELECT b, t.* FROM unnest('{2000,2001,3000,3001}'::bigint[]) AS b, LATERAL pg_temp.try(format($$prune_executions_bulk('{"completed_before":%s}', '{}')$$, b)) AS t;
SELECT * FROM pg_temp.try($$prune_executions_bulk('{"completed_before":9000,"instance_ids":["running","completed"]}', '{}')$$);
-- The options are those of a single prune: keep_last, completed_before.
SELECT * FROM pg_temp.try($$prune_executions_bulk('{}', '{"keep_last":2}')$$);
SELECT * FROM pg_temp.try($$prune_executions_bulk('{}', '{"keep_last":null,"completed_before":1001}')$$);
SELECT * FROM pg_temp.try($$prune_executions_bulk('{"completed_before":3001}', '{"keep_last":3,"completed_before":9000}')$$);
-- limit counts instances; so that repeated calls get on, those that have something to prune come first.
SELECT n, t.instances, t.executions FROM generate_series(1, 6) AS n, LATERAL pg_temp.try(format($$prune_executions_bulk('{"limit":%s}', '{}')$$, n)) AS t;
SELECT * FROM mgmt_prune.prune_executions_bulk('{"limit":2}');
SELECT * FROM mgmt_prune.prune_executions_bulk('{"limit":2}');
SELECT executions_deleted, events_deleted FROM mgmt_prune.prune_executions_bulk('{"limit":2}');
SELECT pg_temp.executions();
-- One that runs stays Running.
SELECT status, current_execution_id FROM mgmt_prune.get_instance_info('running');
-- The default is 1000.
INSERT INTO mgmt_prune.instances SELECT 'i' || n, 'O', '1', 2, NULL, NULL, 0, 'epoch', 'epoch' FROM generate_series(1, 1100) AS n;
INSERT INTO mgmt_prune.executions SELECT 'i' || n, e, 'Completed', NULL, 'epoch', 'epoch' FROM generate_series(1, 1100) AS n, generate_series(1, 2) AS e;
SELECT * FROM mgmt_prune.prune_executions_bulk('{}');
SELECT executions_deleted FROM mgmt_prune.prune_executions_bulk('{}');

-- Wrong filters and options are refused, and nothing is pruned.
CALL pg_temp.make('x', 'ContinuedAsNew', 'Completed');
SELECT test.error('SELECT mgmt_prune.prune_executions_bulk(NULL, ''{}'')');
SELECT test.error('SELECT mgmt_prune.prune_executions_bulk(''{}'', ''{"keep":1}'')');
SELECT test.error('SELECT mgmt_prune.prune_executions_bulk(''{}'', ''{"keep_last":-1}'')');
SELECT * FROM test.expect('QB006', VARIADIC ARRAY(SELECT format('SELECT mgmt_prune.prune_executions_bulk(%L, %L)', f, o) FROM (VALUES ('[]', '{}'), ('{"keep_last":1}', '{}'), ('{"instance_ids":"x"}', '{}'), ('{"instance_ids":[null]}', '{}'), ('{"completed_before":"1"}', '{}'), ('{"limit":0}', '{}'), ('{"limit":-1}', '{}'),
    ('{"limit":"1"}', '{}'), ('{}', '[]'), ('{}', '1'), ('{}', '{"limit":1}'), ('{}', '{"instance_ids":[]}'), ('{}', '{"keep_last":"1"}'), ('{}', '{"keep_last":1.5}'), ('{}', '{"completed_before":true}'), ('{"instance_ids":[]}', '{"keep_last":-1}')) AS v (f, o)));
SELECT count(*) FROM mgmt_prune.list_executions('x');

SELECT belay.drop_hub('mgmt_prune', true);
