-- delete_instances_bulk. It has no clock of the caller: leases are live or not by the server's clock (CL-11).
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_delete_bulk');
SELECT belay.set_hub_option('mgmt_delete_bulk', 'max_clock_skew', '0');  -- these tests choose the time

-- Instances written by the owner: started long ago, with this status, and completed at that ms.
CREATE PROCEDURE pg_temp.make(instance text, status text, completed_ms bigint, parent text DEFAULT NULL, execution bigint DEFAULT 1) LANGUAGE sql AS $$
    INSERT INTO mgmt_delete_bulk.instances VALUES (instance, 'O', '1', execution, parent, NULL, 0, 'epoch', 'epoch');
    INSERT INTO mgmt_delete_bulk.executions VALUES (instance, execution, status, NULL, 'epoch', CASE WHEN status <> 'Running' THEN to_timestamp(completed_ms / 1000.0) END);
    INSERT INTO mgmt_delete_bulk.history_turns SELECT execution, e, e, 'epoch', instance, ARRAY['T'], ARRAY['{}'] FROM generate_series(1, 2) AS e;
$$;
CREATE FUNCTION pg_temp.all() RETURNS text LANGUAGE sql AS $$ SELECT coalesce(string_agg(instance_id, ' ' ORDER BY instance_id COLLATE "C"), 'none') FROM mgmt_delete_bulk.instances $$;
-- What a call deletes: its counts, and which instances are left; undone.
CREATE FUNCTION pg_temp.try(filter jsonb) RETURNS TABLE (instances bigint, executions bigint, events bigint, messages bigint, rest text) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO instances, executions, events, messages FROM mgmt_delete_bulk.delete_instances_bulk(filter);
    rest := pg_temp.all();
    RAISE EXCEPTION SQLSTATE 'UNDO0';
EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
    RETURN NEXT;
END $$;

-- An empty hub: zeros.
SELECT * FROM mgmt_delete_bulk.delete_instances_bulk('{}');
-- DE-12: roots that are finished, in each of the three ways. Not one that runs, nor a child. An instance whose parent is gone is a root.
CALL pg_temp.make('completed', 'Completed', 3000);
CALL pg_temp.make('failed', 'Failed', 2000);
CALL pg_temp.make('continued', 'ContinuedAsNew', 1000);
CALL pg_temp.make('running', 'Running', NULL);
CALL pg_temp.make('child of running', 'Completed', 1000, 'running');
CALL pg_temp.make('left over', 'Completed', 2500, 'long gone');
-- The current execution decides, not an earlier one.
CALL pg_temp.make('second', 'Running', NULL, NULL, 2);
INSERT INTO mgmt_delete_bulk.executions VALUES ('second', 1, 'ContinuedAsNew', NULL, 'epoch', 'epoch');
-- No execution row: it runs.
INSERT INTO mgmt_delete_bulk.instances VALUES ('bare', 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch');
SELECT pg_temp.all();
SELECT * FROM pg_temp.try('{}');
-- instance_ids; with them a child, one that runs and one that is unknown are skipped silently (DE-13). Given and empty: nothing. null counts as not given.
SELECT * FROM pg_temp.try('{"instance_ids":["failed","failed","running","child of running","second","bare","nobody"]}');
SELECT * FROM pg_temp.try('{"instance_ids":[]}');
SELECT * FROM pg_temp.try('{"instance_ids":["running"]}');
SELECT * FROM pg_temp.try('{"instance_ids":null,"completed_before":null,"limit":null}');
-- completed_before: strictly before, compared as given (CL-10).
SELECT b, t.* FROM unnest('{1000,1001,2000,2001,9999}'::bigint[]) AS b, LATERAL pg_temp.try(jsonb_build_object('completed_before', b)) AS t;
SELECT * FROM pg_temp.try('{"completed_before":0}');
SELECT * FROM pg_temp.try('{"completed_before":2001,"instance_ids":["failed","completed"]}');
-- DE-15: limit counts roots, oldest completed_at first, ids deciding among equals; repeated calls work through the rest and end with zeros.
SELECT n, t.* FROM generate_series(1, 5) AS n, LATERAL pg_temp.try(jsonb_build_object('limit', n)) AS t;
SELECT * FROM pg_temp.try('{"limit":1,"instance_ids":["completed","failed"]}');
SELECT instances_deleted, pg_temp.all() FROM mgmt_delete_bulk.delete_instances_bulk('{"limit":3}');
SELECT instances_deleted, pg_temp.all() FROM mgmt_delete_bulk.delete_instances_bulk('{"limit":3}');
SELECT * FROM mgmt_delete_bulk.delete_instances_bulk('{"limit":3}');
TRUNCATE mgmt_delete_bulk.instances, mgmt_delete_bulk.executions, mgmt_delete_bulk.history_turns;
-- The default is 1000.
INSERT INTO mgmt_delete_bulk.instances SELECT 'i' || n, 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch' FROM generate_series(1, 1100) AS n;
INSERT INTO mgmt_delete_bulk.executions SELECT 'i' || n, 1, 'Completed', NULL, 'epoch', to_timestamp(n) FROM generate_series(1, 1100) AS n;
SELECT instances_deleted FROM mgmt_delete_bulk.delete_instances_bulk('{}');
SELECT min(completed_at) = to_timestamp(1001) AS oldest_first FROM mgmt_delete_bulk.executions;
SELECT * FROM mgmt_delete_bulk.delete_instances_bulk('{"limit":100000}');
SELECT * FROM mgmt_delete_bulk.delete_instances_bulk('{"limit":100000}');

-- DE-16: each root goes with its whole tree, a child that runs included; descendants are counted, but not by the limit.
CALL pg_temp.make('root', 'Completed', 1000);
CALL pg_temp.make('child', 'Running', NULL, 'root');
CALL pg_temp.make('grandchild', 'Failed', 500, 'child');
CALL pg_temp.make('other', 'Completed', 2000);
SELECT mgmt_delete_bulk.raise_event('child', 'e'), mgmt_delete_bulk.enqueue_worker_work('{"ActivityExecute":{"instance":"grandchild","execution_id":1,"id":1}}'),
       mgmt_delete_bulk.enqueue_orchestrator_work(NULL, '{"StartOrchestration":{"instance":"unborn","orchestration":"C","parent_instance":"child"}}', NULL), mgmt_delete_bulk.enqueue_orchestrator_work(NULL, '{"StartOrchestration":{"instance":"unborn","orchestration":"C","parent_instance":"somebody"}}', NULL);
INSERT INTO mgmt_delete_bulk.kv_store VALUES ('child', 'k', 'v', 1, 1), ('other', 'k', 'v', 1, 1);
INSERT INTO mgmt_delete_bulk.kv_delta VALUES ('grandchild', 'k', 'v', 1);
INSERT INTO mgmt_delete_bulk.dead_letters SELECT n, 'worker', n, i, 1, 1, NULL, NULL, '{}', 1, 'max_attempts', NULL, now(), now() FROM (VALUES (1, 'root'), (2, 'other')) AS v (n, i);
SELECT * FROM mgmt_delete_bulk.delete_instances_bulk('{"limit":1}');
SELECT pg_temp.all(), (SELECT string_agg(instance_id, ' ') FROM mgmt_delete_bulk.executions) AS executions, (SELECT count(*) FROM mgmt_delete_bulk.history) AS events, (SELECT string_agg(instance_id, ' ') FROM mgmt_delete_bulk.orchestrator_queue) AS messages, (SELECT count(*) FROM mgmt_delete_bulk.worker_queue) AS work,
       (SELECT string_agg(instance_id, ' ') FROM mgmt_delete_bulk.kv_store) AS kv_store, (SELECT count(*) FROM mgmt_delete_bulk.kv_delta) AS kv_delta, (SELECT string_agg(instance_id, ' ') FROM mgmt_delete_bulk.dead_letters) AS dead_letters;
TRUNCATE mgmt_delete_bulk.instances, mgmt_delete_bulk.executions, mgmt_delete_bulk.history_turns, mgmt_delete_bulk.orchestrator_queue;

-- DE-14: an instance with a ContinueAsNew queued, visible or hidden, is alive between two executions; by whichever way it is selected. Any other message does not keep it.
CALL pg_temp.make('again', 'ContinuedAsNew', 1000);
CALL pg_temp.make('later', 'ContinuedAsNew', 1000);
CALL pg_temp.make('told', 'Completed', 1000);
SELECT mgmt_delete_bulk.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"again","orchestration":"O"}}', NULL), mgmt_delete_bulk.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"later","orchestration":"O"}}', '2999-01-01'), mgmt_delete_bulk.raise_event('told', 'e', p_now_ms => 1000);
SELECT * FROM pg_temp.try('{}');
SELECT * FROM pg_temp.try('{"instance_ids":["again","later","told"]}');
SELECT * FROM pg_temp.try('{"instance_ids":["again"]}');
-- ... and so is one with a live lock: the turn may be the one that continues it. A lock that has expired does not keep it.
SELECT instance_id, lock_token AS token FROM mgmt_delete_bulk.fetch_orchestration_item(3600000) \gset
SELECT :'instance_id' AS locked;
SELECT * FROM pg_temp.try('{}');
SELECT * FROM pg_temp.try('{"instance_ids":["told"]}');
SELECT mgmt_delete_bulk.abandon_orchestration_item(:'token');
SELECT lock_token AS token FROM mgmt_delete_bulk.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT * FROM pg_temp.try('{"instance_ids":["told"]}');
-- The lock of a child does not keep it.
TRUNCATE mgmt_delete_bulk.instances, mgmt_delete_bulk.executions, mgmt_delete_bulk.history_turns, mgmt_delete_bulk.orchestrator_queue, mgmt_delete_bulk.instance_locks;
CALL pg_temp.make('root', 'Completed', 1000);
CALL pg_temp.make('child', 'Running', NULL, 'root');
SELECT mgmt_delete_bulk.raise_event('child', 'e');
SELECT lock_token AS token FROM mgmt_delete_bulk.fetch_orchestration_item(3600000) \gset
SELECT * FROM mgmt_delete_bulk.delete_instances_bulk('{}');
SELECT test.sqlstate(format('SELECT mgmt_delete_bulk.ack_orchestration_item(%L, 1, NULL, NULL, NULL, NULL)', :'token'));

-- DE-17: {} selects all, NULL is refused. What is misspelt, or of a wrong type, is refused: it must not widen a deletion.
SELECT test.error('SELECT mgmt_delete_bulk.delete_instances_bulk(NULL)');
SELECT test.error('SELECT mgmt_delete_bulk.delete_instances_bulk(''{"instance_id":["x"]}'')');
SELECT test.error('SELECT mgmt_delete_bulk.delete_instances_bulk(''{"limit":0}'')');
CALL pg_temp.make('x', 'Completed', 1000);
SELECT * FROM test.expect('QB006', VARIADIC ARRAY(SELECT format('SELECT mgmt_delete_bulk.delete_instances_bulk(%L)', f) FROM unnest(ARRAY['[]', '"x"', 'null', '1', '{"Limit":1}', '{"completed_before":"1000"}', '{"completed_before":1.5}', '{"completed_before":{}}', '{"limit":-1}', '{"limit":"1"}', '{"limit":1.5}', '{"limit":[]}',
    '{"instance_ids":"x"}', '{"instance_ids":{"x":1}}', '{"instance_ids":["x",null]}', '{"instance_ids":[1]}', '{"instance_ids":[["x"]]}', '{"instance_ids":["x"],"":1}', '{"limit":99999999999999999999}']) AS f));
SELECT pg_temp.all();
-- Times at the edge of what can be said are no errors.
SELECT * FROM pg_temp.try('{"completed_before":9223372036854775807,"limit":9223372036854775807}');
SELECT * FROM pg_temp.try('{"completed_before":-9223372036854775808}');

SELECT belay.drop_hub('mgmt_delete_bulk', true);
