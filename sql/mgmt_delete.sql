-- delete_instances_atomic and delete_instance.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_delete');
SELECT belay.set_hub_option('mgmt_delete', 'max_clock_skew', '0');  -- these tests choose the time

-- A turn of an instance, its last message being a start that is older than all others.
CREATE PROCEDURE pg_temp.turn(instance text, status text DEFAULT NULL, parent text DEFAULT NULL, send jsonb DEFAULT '[]', execution bigint DEFAULT 1, events int DEFAULT 2, name text DEFAULT 'O') LANGUAGE plpgsql AS $$
DECLARE
    turn record;
BEGIN
    PERFORM mgmt_delete.start_orchestration('O', '', instance, '1', 0, 1);
    SELECT * INTO STRICT turn FROM mgmt_delete.fetch_orchestration_item(1000, p_now_ms => 1000);
    ASSERT turn.instance_id = instance;
    PERFORM mgmt_delete.ack_orchestration_item(turn.lock_token, execution, (SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_data', '{"type":"T"}')) FROM generate_series(1, events) AS e), '[]', send,
        jsonb_build_object('orchestration_name', name, 'orchestration_version', '1', 'status', status, 'parent_instance_id', parent), p_now_ms => 1000);
END $$;
-- A start as an ack of the parent sends it.
CREATE FUNCTION pg_temp.start_of(instance text, parent text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('StartOrchestration', jsonb_build_object('instance', instance, 'orchestration', 'C', 'input', '', 'version', NULL, 'parent_instance', parent, 'parent_id', 2, 'execution_id', 1))
$$;
-- An instance with something of everything: two executions, five events, two messages and a leased one, three activities, one of them leased, both kinds of key/value state, a live lock, two dead letters, a session.
CREATE PROCEDURE pg_temp.fill(instance text) LANGUAGE plpgsql AS $$
BEGIN
    CALL pg_temp.turn(instance, 'ContinuedAsNew');
    CALL pg_temp.turn(instance, 'Running', NULL, '[]', 2, 3);
    INSERT INTO mgmt_delete.kv_store VALUES (instance, 'k', 'v', 1, 1);
    INSERT INTO mgmt_delete.kv_delta VALUES (instance, 'k', NULL, 1), (instance, 'l', 'v', 1);
    INSERT INTO mgmt_delete.dead_letters SELECT nextval('mgmt_delete.dead_letters_id'), q, 1, instance, 1, 1, NULL, NULL, '{}', 1, 'max_attempts', NULL, now(), now() FROM unnest('{orchestrator,worker}'::text[]) AS q;
    PERFORM mgmt_delete.enqueue_worker_work('{"ActivityExecute":{}}', instance, 1, 1, 'session of ' || instance, p_now_ms => 1);
    PERFORM mgmt_delete.fetch_work_item(100000, 'owner', 100000, p_now_ms => 1000);
    PERFORM mgmt_delete.enqueue_worker_work('{"ActivityExecute":{}}', instance, 1, 2, NULL, 'tag', p_now_ms => 1), mgmt_delete.enqueue_worker_work('{"ActivityExecute":{}}', instance, 1, NULL, p_now_ms => 1);
    PERFORM mgmt_delete.raise_event(instance, 'leased', '', false, 1);
    PERFORM mgmt_delete.fetch_orchestration_item(100000, p_now_ms => 1000);
    PERFORM mgmt_delete.raise_event(instance, 'late', '', true, 1), mgmt_delete.enqueue_orchestrator_work(NULL, format('{"TimerFired":{"instance":"%s","fire_at_ms":1000000000000000}}', instance), NULL);
END $$;
-- What there is of each instance, in every table of the hub that names instances.
CREATE FUNCTION pg_temp.left_of() RETURNS TABLE (instance text, tables text) LANGUAGE plpgsql AS $$
DECLARE
    found text := 'SELECT NULL::text, NULL::text, NULL::bigint WHERE false';
    tab text;
BEGIN
    FOR tab IN SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid WHERE c.relnamespace = 'mgmt_delete'::regnamespace AND c.relkind = 'r' AND a.attname = 'instance_id' LOOP
        found := found || format(' UNION ALL SELECT instance_id, %L, count(*) FROM mgmt_delete.%I GROUP BY 1', tab, tab);
    END LOOP;
    RETURN QUERY EXECUTE format('SELECT i, string_agg(t || '' '' || n, '', '' ORDER BY t COLLATE "C") FROM (%s) AS f (i, t, n) GROUP BY i ORDER BY i COLLATE "C"', found);
END $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$
    TRUNCATE mgmt_delete.orchestrator_queue, mgmt_delete.worker_queue, mgmt_delete.instances, mgmt_delete.executions, mgmt_delete.history_turns, mgmt_delete.instance_locks, mgmt_delete.dead_letters, mgmt_delete.kv_store, mgmt_delete.kv_delta, mgmt_delete.sessions
$$;

---- delete_instances_atomic

-- DE-1: no list, an empty one, nothing in it: one row of zeros. Unknown ids are ignored.
SELECT * FROM mgmt_delete.delete_instances_atomic(NULL, true);
SELECT * FROM mgmt_delete.delete_instances_atomic('{}', false);
SELECT * FROM mgmt_delete.delete_instances_atomic('{NULL}', false);
SELECT * FROM mgmt_delete.delete_instances_atomic('{nobody,""}', NULL);

-- DE-4, I9: everything of the listed ids, in every table, the lock included; nothing of others. DE-5: counts, messages of both queues; dead letters are not counted.
CALL pg_temp.fill('x');
CALL pg_temp.fill('y');
CALL pg_temp.turn('z', 'Completed');
SELECT * FROM pg_temp.left_of();
SELECT count(*) AS named FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r' WHERE c.relnamespace = 'mgmt_delete'::regnamespace AND a.attname LIKE '%instance_id';
BEGIN;
SELECT * FROM mgmt_delete.delete_instances_atomic('{x,nobody,z,x}', true);
SELECT * FROM pg_temp.left_of();
-- Sessions are not touched.
SELECT session_id, worker_id FROM mgmt_delete.sessions ORDER BY session_id COLLATE "C";
-- CC-11: undone with the transaction.
ROLLBACK;
SELECT count(*) FROM pg_temp.left_of();
SELECT * FROM mgmt_delete.delete_instances_atomic('{x,y,z}', true);
SELECT * FROM pg_temp.left_of();
CALL pg_temp.clear();
-- Ids are compared as such: no pattern, no prefix. Two instances whose ids differ only in case are two.
CALL pg_temp.turn('a', 'Completed');
CALL pg_temp.turn('A', 'Completed');
CALL pg_temp.turn('a%', 'Completed');
CALL pg_temp.turn('a::sub::1', 'Completed');
SELECT instances_deleted FROM mgmt_delete.delete_instances_atomic('{a}', false);
SELECT instance_id FROM mgmt_delete.list_instances();
CALL pg_temp.clear();

-- DE-2: without force, nothing goes if one of them runs: with status Running, without a status, without an execution row, with a ContinueAsNew queued (visible or hidden).
CALL pg_temp.turn('done', 'Completed');
CALL pg_temp.turn('failed', 'Failed');
CALL pg_temp.turn('continued', 'ContinuedAsNew');
CALL pg_temp.turn('running', 'Running');
CALL pg_temp.turn('silent');
CALL pg_temp.turn('again', 'ContinuedAsNew', NULL, '[{"ContinueAsNew":{"instance":"again","orchestration":"O"}}]');
CALL pg_temp.turn('later', 'Completed');
SELECT mgmt_delete.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"later","orchestration":"O"}}', '2999-01-01');
INSERT INTO mgmt_delete.instances VALUES ('bare', 'O', '1', 1, NULL, NULL, 0, now(), now());
SELECT test.error('SELECT mgmt_delete.delete_instances_atomic(''{done,running}'', false)');
SELECT i, split_part(test.error(format('SELECT mgmt_delete.delete_instances_atomic(''{done,%s}'', false)', i)), E'\n', 1) FROM unnest('{silent,again,later,bare}'::text[]) AS i;
SELECT test.sqlstate('SELECT mgmt_delete.delete_instances_atomic(''{done,running}'', NULL)') AS null_is_false;
SELECT count(*) FROM mgmt_delete.list_instances();
-- An old execution that is still Running is not the instance's status.
INSERT INTO mgmt_delete.executions VALUES ('done', 9, 'Running', NULL, now(), NULL);
SELECT * FROM mgmt_delete.delete_instances_atomic('{done,failed,continued}', false);
SELECT * FROM mgmt_delete.delete_instances_atomic('{running,silent,again,later,bare}', true);
SELECT * FROM pg_temp.left_of();

-- DE-3: a child outside the list whose parent is inside: nothing goes, also with force.
CALL pg_temp.turn('root', 'Completed');
CALL pg_temp.turn('child', 'Completed', 'root');
CALL pg_temp.turn('grandchild', 'Completed', 'child');
SELECT test.error('SELECT mgmt_delete.delete_instances_atomic(''{root}'', false)');
SELECT test.error('SELECT mgmt_delete.delete_instances_atomic(''{root,child}'', true)');
SELECT message ~ '^Orphan detected:.*child.*tree' AS words FROM substring(test.error('SELECT mgmt_delete.delete_instances_atomic(''{child}'', true)') FROM 'QB004: ([^\n]*)') AS message;
SELECT count(*) FROM mgmt_delete.list_instances();
-- The other way round it is allowed: a child without its parent, a whole tree in any order.
SELECT * FROM mgmt_delete.delete_instances_atomic('{grandchild}', false);
SELECT * FROM mgmt_delete.delete_instances_atomic('{child,root}', false);
-- A ring of parents can only be deleted as a whole.
INSERT INTO mgmt_delete.instances SELECT i, 'O', '1', 1, p, NULL, 0, now(), now() FROM (VALUES ('a', 'b'), ('b', 'a')) AS v (i, p);
SELECT test.sqlstate('SELECT mgmt_delete.delete_instances_atomic(''{a}'', true)'), test.sqlstate('SELECT mgmt_delete.delete_instance(''a'', true)');
SELECT * FROM mgmt_delete.delete_instances_atomic('{b,a}', true);
CALL pg_temp.clear();

-- DE-4: starts of children that are not born yet go with their parent, and count; other messages of theirs, and starts of others, stay.
CALL pg_temp.turn('root', 'Completed', NULL, jsonb_build_array(pg_temp.start_of('unborn 1', 'root'), pg_temp.start_of('unborn 2', 'root'), pg_temp.start_of('foreign', 'other')));
SELECT mgmt_delete.enqueue_orchestrator_work(NULL, pg_temp.start_of('hidden', 'root')::text, '2999-01-01'), mgmt_delete.enqueue_orchestrator_work(NULL, pg_temp.start_of('self', 'self')::text, NULL), mgmt_delete.cancel_instance('unborn 1', '', 1000);
SELECT * FROM mgmt_delete.delete_instances_atomic('{root}', false);
SELECT instance_id, kind FROM mgmt_delete.orchestrator_queue ORDER BY id;
CALL pg_temp.clear();
-- ... also while such a child is at its first turn: its ack fails and creates nothing (DE-7).
CALL pg_temp.turn('root', 'Completed', NULL, jsonb_build_array(pg_temp.start_of('unborn', 'root')));
SELECT mgmt_delete.cancel_instance('unborn', 'why', 1000);
SELECT instance_id, lock_token AS token FROM mgmt_delete.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT * FROM mgmt_delete.delete_instances_atomic('{root}', false);
SELECT test.sqlstate(format('SELECT mgmt_delete.ack_orchestration_item(%L, 1, ''[]'', ''[]'', ''[]'', ''{"orchestration_name":"C","orchestration_version":"1"}'', p_now_ms => 1000)', :'token'));
SELECT * FROM pg_temp.left_of();
SELECT count(*) FROM mgmt_delete.fetch_orchestration_item(1000, p_now_ms => 1000);
CALL pg_temp.clear();
-- A duplicate start that names a parent, for an instance that is born already, goes too; the instance does not.
CALL pg_temp.turn('root', 'Completed');
CALL pg_temp.turn('free', 'Completed');
SELECT mgmt_delete.enqueue_orchestrator_work(NULL, pg_temp.start_of('free', 'root')::text, NULL);
SELECT * FROM mgmt_delete.delete_instances_atomic('{root}', false);
SELECT * FROM pg_temp.left_of();
CALL pg_temp.clear();

---- delete_instance

-- DE-8: no instance row: QB002, even if other rows of it exist; those stay.
SELECT mgmt_delete.append_history('bare', 1, '[{"event_id":1,"event_data":"{}"}]'), mgmt_delete.start_orchestration('O', '', 'bare', '1', 0, 1000);
SELECT test.error('SELECT mgmt_delete.delete_instance(''bare'')');
SELECT test.sqlstate('SELECT mgmt_delete.delete_instance(''bare'', true)'), test.sqlstate('SELECT mgmt_delete.delete_instance('''')');
SELECT * FROM pg_temp.left_of();
CALL pg_temp.clear();
-- DE-9: a child is not deleted alone, also with force.
CALL pg_temp.turn('root', 'Completed');
CALL pg_temp.turn('child', 'Completed', 'root');
CALL pg_temp.turn('grandchild', 'Completed', 'child');
CALL pg_temp.turn('other', 'Completed');
SELECT test.error('SELECT mgmt_delete.delete_instance(''child'')');
SELECT test.sqlstate('SELECT mgmt_delete.delete_instance(''child'', true)'), test.sqlstate('SELECT mgmt_delete.delete_instance(''grandchild'', true)');
SELECT message ~ 'sub-orchestration' AND message ~ 'root' AND message ~ 'parent' AS words FROM substring(test.error('SELECT mgmt_delete.delete_instance(''grandchild'')') FROM 'QB004: ([^\n]*)') AS message;
-- DE-10: a root goes with its whole tree, and the counts cover it; others stay.
SELECT * FROM mgmt_delete.delete_instance('root');
SELECT * FROM pg_temp.left_of();
SELECT test.sqlstate('SELECT mgmt_delete.delete_instance(''root'')') AS again;
-- An instance whose parent row no longer exists is a root.
UPDATE mgmt_delete.instances SET parent_instance_id = 'root';
SELECT * FROM mgmt_delete.delete_instance('other');
-- DE-11, DE-2: without force a running root blocks, and so does a running descendant, or one between two executions.
CALL pg_temp.turn('root', 'Completed');
CALL pg_temp.turn('child', 'Completed', 'root');
CALL pg_temp.turn('grandchild', NULL, 'child');
SELECT test.error('SELECT mgmt_delete.delete_instance(''root'')');
CALL pg_temp.turn('grandchild', 'ContinuedAsNew', 'child', '[{"ContinueAsNew":{"instance":"grandchild","orchestration":"O"}}]', events => 0);
SELECT split_part(test.error('SELECT mgmt_delete.delete_instance(''root'')'), E'\n', 1);
SELECT count(*) FROM mgmt_delete.list_instances();
SELECT * FROM mgmt_delete.delete_instance('root', true);
SELECT * FROM pg_temp.left_of();
CALL pg_temp.turn('root');
SELECT test.sqlstate('SELECT mgmt_delete.delete_instance(''root'', NULL)');
SELECT * FROM mgmt_delete.delete_instance('root', true);
-- A tree with something of everything at each level, and unborn children below (KV-11).
CALL pg_temp.fill('root');
CALL pg_temp.fill('child');
UPDATE mgmt_delete.instances SET parent_instance_id = 'root' WHERE instance_id = 'child';
SELECT mgmt_delete.enqueue_orchestrator_work(NULL, pg_temp.start_of('unborn', 'child')::text, NULL);
SELECT * FROM mgmt_delete.delete_instance('root', true);
SELECT * FROM pg_temp.left_of();
CALL pg_temp.clear();

---- Afterwards

-- DE-7: a turn in flight and a worker in flight have lost their leases, and all their calls fail; nothing is created by it.
SELECT mgmt_delete.start_orchestration('O', '', 'x', '1', 0, 1);
CALL pg_temp.turn('x', 'Completed', NULL, '[{"CancelInstance":{"instance":"x","reason":"r"}}]');
SELECT mgmt_delete.enqueue_worker_work('{"ActivityExecute":{"instance":"x","execution_id":1,"id":1}}', p_now_ms => 1000);
SELECT lock_token AS turn FROM mgmt_delete.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT lock_token AS work FROM mgmt_delete.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT * FROM mgmt_delete.delete_instance('x');
CREATE FUNCTION pg_temp.tokens_are_dead(turn text, work text) RETURNS TABLE (statement text, error text) LANGUAGE sql AS $$
    SELECT * FROM test.expect('QB001', format('SELECT mgmt_delete.ack_orchestration_item(%L, 1, ''[{"event_id":7,"event_data":"{}"}]'', ''[{"ActivityExecute":{}}]'', ''[{"CancelInstance":{"instance":"x"}}]'', ''{"orchestration_name":"O","orchestration_version":"1"}'', p_now_ms => 1000)', turn),
        format('SELECT mgmt_delete.renew_orchestration_item_lock(%L, 1000, p_now_ms => 1000)', turn), format('SELECT mgmt_delete.abandon_orchestration_item(%L, p_now_ms => 1000)', turn),
        format('SELECT mgmt_delete.ack_worker(%L, ''x'', ''{"ActivityCompleted":{"instance":"x"}}'', 1000)', work), format('SELECT mgmt_delete.renew_work_item_lock(%L, 1000, p_now_ms => 1000)', work), format('SELECT mgmt_delete.abandon_work_item(%L, p_now_ms => 1000)', work))
$$;
SELECT * FROM pg_temp.tokens_are_dead(:'turn', :'work');
SELECT * FROM pg_temp.left_of();
-- The id can be used again at once: a new name, a new history, no stale lock, no old completion, the status from the beginning.
SELECT mgmt_delete.start_orchestration('Anew', '', 'x', '2', 0, 1000);
SELECT instance_id, orchestration_name, orchestration_version, execution_id, history, jsonb_array_length(messages::jsonb) AS messages, attempt_count, kv_snapshot, lock_token AS token FROM mgmt_delete.fetch_orchestration_item(1000, p_now_ms => 1000) \gset new_
SELECT :'new_instance_id' AS instance, :'new_orchestration_name' AS name, :'new_orchestration_version' AS version, :'new_execution_id' AS execution, :'new_history' AS history, :'new_messages' AS messages, :'new_attempt_count' AS attempt, :'new_kv_snapshot' AS kv;
-- TK-3: tokens of the earlier life stay dead, also now that the id has a lock again.
SELECT * FROM pg_temp.tokens_are_dead(:'turn', :'work');
SELECT mgmt_delete.ack_orchestration_item(:'new_token', 1, '[{"event_id":1,"event_data":"{}"}]', '[]', '[]', '{"orchestration_name":"Anew","orchestration_version":"2"}', p_now_ms => 1000);
SELECT orchestration_name, current_execution_id, status FROM mgmt_delete.get_instance_info('x');
SELECT * FROM pg_temp.left_of();
CALL pg_temp.clear();

---- Large ones

-- A tree of more instances than keys may be locked one by one (CC-9).
CALL pg_temp.turn('root', 'Completed');
INSERT INTO mgmt_delete.instances SELECT 'c' || n, 'O', '1', 1, CASE WHEN n <= 10 THEN 'root' ELSE 'c' || n / 10 END, NULL, 0, now(), now() FROM generate_series(1, 1500) AS n;
INSERT INTO mgmt_delete.executions SELECT 'c' || n, 1, 'Completed', NULL, now(), now() FROM generate_series(1, 1500) AS n;
SELECT mgmt_delete.enqueue_orchestrator_items((SELECT jsonb_agg(jsonb_build_object('work_item', pg_temp.start_of('unborn ' || n, 'c' || n))) FROM generate_series(1, 1500) AS n), 1000);
BEGIN;
SELECT * FROM mgmt_delete.delete_instance('root');
SELECT count(*) < 50 AS few_keys FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
ROLLBACK;
SELECT * FROM mgmt_delete.delete_instances_atomic((SELECT array_agg(instance_id) FROM mgmt_delete.list_instances()), false);
SELECT * FROM pg_temp.left_of();

SELECT belay.drop_hub('mgmt_delete', true);
