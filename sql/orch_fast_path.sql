-- serial: its faults would meet the calls of other tests.
-- FP-1, FP-2 of turns: which tables the fast path serves, what it falls back for, and that it leaves what SQL leaves.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_fast');
SELECT belay.set_hub_option('orch_fast', 'max_clock_skew', '0');  -- these tests choose the time

-- One turn, and a second one.
CREATE FUNCTION pg_temp.turn() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    token text;
BEGIN
    PERFORM orch_fast.start_orchestration('O', '', 'i', '1.0', p_now_ms => 1000);
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1001, 1000);
    PERFORM orch_fast.ack_orchestration_item(token, 1002, 1, '[{"event_id":1,"event_data":"{}"}]', NULL,
        '[{"ExternalRaised":{"instance":"i","name":"n"}}]', '{"orchestration_name":"O","orchestration_version":"1.0"}');
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1003, 1000);
    PERFORM orch_fast.ack_orchestration_item(token, 1004, 1, '[{"event_id":2,"event_data":"{}"}]', NULL, NULL, NULL);
END $$;
-- Whether a point is passed at all.
CREATE FUNCTION pg_temp.passes(point text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.inject_fault(point, 1);
    BEGIN
        PERFORM pg_temp.turn();
        RAISE EXCEPTION SQLSTATE 'TRY00';
    EXCEPTION
        WHEN SQLSTATE 'TRY00' THEN
            PERFORM belay.inject_fault(point, 0);
            RETURN false;
        WHEN OTHERS THEN
            PERFORM belay.inject_fault(point, 0);
            RETURN SQLERRM ~ 'injected fault';
    END;
END $$;
SET belay.fast_path = on;
SELECT pg_temp.passes('fastpath.enqueue') AS enqueue, pg_temp.passes('fastpath.turn') AS turn;
SET belay.fast_path = off;
SELECT pg_temp.passes('fastpath.enqueue') AS enqueue, pg_temp.passes('fastpath.turn') AS turn;
SET belay.fast_path = on;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.passes('fastpath.enqueue') AS enqueue, pg_temp.passes('fastpath.turn') AS turn;
ROLLBACK;

-- A table that is not what the hub files make is left to SQL. All others out of the way, the point tells of one.
CREATE PROCEDURE pg_temp.with(own text, change text) LANGUAGE plpgsql AS $$
DECLARE
    other text;
BEGIN
    FOREACH other IN ARRAY '{orchestrator_queue,instance_locks,instances,executions,history,worker_queue,kv_store,kv_delta,outbox_events}'::text[] LOOP
        IF other <> own THEN
            EXECUTE format('CREATE INDEX ON orch_fast.%I ((1))', other);
        END IF;
    END LOOP;
    RAISE NOTICE '%: plain %', own, pg_temp.passes(CASE own WHEN 'orchestrator_queue' THEN 'fastpath.enqueue' WHEN 'outbox_events' THEN 'fastpath.event' ELSE 'fastpath.turn' END);
    EXECUTE format(change, own);
    RAISE NOTICE '%: % %', own, pg_temp.passes(CASE own WHEN 'orchestrator_queue' THEN 'fastpath.enqueue' WHEN 'outbox_events' THEN 'fastpath.event' ELSE 'fastpath.turn' END), change;
    ROLLBACK;
END $$;
CREATE FUNCTION pg_temp.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CALL pg_temp.with('orchestrator_queue', 'CREATE TRIGGER t BEFORE INSERT ON orch_fast.%I FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing()');
CALL pg_temp.with('orchestrator_queue', 'ALTER TABLE orch_fast.%I ENABLE ROW LEVEL SECURITY');
CALL pg_temp.with('orchestrator_queue', 'CREATE RULE r AS ON INSERT TO orch_fast.%I DO ALSO SELECT 1');
CALL pg_temp.with('orchestrator_queue', 'DROP INDEX orch_fast.orchestrator_queue_claim; CREATE INDEX orchestrator_queue_claim ON orch_fast.%I (slot, visible_at, id)');
CALL pg_temp.with('orchestrator_queue', 'DROP INDEX orch_fast.orchestrator_queue_claim; CREATE INDEX orchestrator_queue_claim ON orch_fast.%I (slot, visible_at, id) WHERE parked');
CALL pg_temp.with('orchestrator_queue', 'ALTER TABLE orch_fast.%I ADD CHECK (slot >= 0)');
CALL pg_temp.with('orchestrator_queue', 'ALTER TABLE orch_fast.%I ADD COLUMN more int');
CALL pg_temp.with('instance_locks', 'CREATE TRIGGER t BEFORE UPDATE ON orch_fast.%I FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing()');
CALL pg_temp.with('instance_locks', 'ALTER TABLE orch_fast.%I ADD CHECK (locked_until >= 0)');
CALL pg_temp.with('instances', 'CREATE TRIGGER t BEFORE UPDATE ON orch_fast.%I FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing()');
CALL pg_temp.with('executions', 'ALTER TABLE orch_fast.%I DROP CONSTRAINT executions_status_check, ADD CONSTRAINT executions_status_check CHECK (status <> '''')');
CALL pg_temp.with('history', 'CREATE TRIGGER t BEFORE INSERT ON orch_fast.%I FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing()');
CALL pg_temp.with('history', 'ALTER TABLE orch_fast.%I SET UNLOGGED');
CALL pg_temp.with('kv_store', 'ALTER TABLE orch_fast.%I ADD COLUMN more int');
CALL pg_temp.with('outbox_events', 'ALTER TABLE orch_fast.%I ADD CHECK (incarnation > 0)');

-- A trigger of the owner does run then.
CREATE FUNCTION test.orch_fast_shout() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.event_type := pg_catalog.upper(NEW.event_data); RETURN NEW; END$$;
BEGIN;
CREATE TRIGGER shout BEFORE INSERT ON orch_fast.history FOR EACH ROW EXECUTE FUNCTION test.orch_fast_shout();
SELECT pg_temp.turn();
SELECT event_id, event_type FROM orch_fast.history;
ROLLBACK;

-- The same calls leave the same rows.
CREATE FUNCTION pg_temp.play() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    token text;
BEGIN
    PERFORM setval('orch_fast.orchestrator_queue_id', 1000), setval('orch_fast.instance_locks_no', 1000), setval('orch_fast.worker_queue_id', 1000);
    PERFORM orch_fast.start_orchestration('O', '', 'i', '1.0', p_now_ms => 1000);
    PERFORM orch_fast.start_orchestration('O', '', 'j', '1.0', p_now_ms => 1000);
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1001, 100);
    PERFORM orch_fast.renew_orchestration_item_lock(token, 1002, 500);
    PERFORM orch_fast.ack_orchestration_item(token, 1003, 1, '[{"event_id":1,"event_type":"T","event_data":"{}"},{"event_id":2,"event_type":"U","event_data":"{\"type\":\"V\"}"}]',
        '[{"ActivityExecute":{"instance":"i","execution_id":1,"id":7,"name":"a"}}]',
        '[{"ExternalRaised":{"instance":"i","name":"n"}},{"StartOrchestration":{"instance":"k","orchestration":"c","parent_instance":"i"}}]',
        '{"orchestration_name":"O","orchestration_version":"1.0","pinned_duroxide_version":{"major":1,"minor":2,"patch":3}}');
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1004, 100);
    PERFORM orch_fast.abandon_orchestration_item(token, 1005, 50);
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1006, 100, 1000000, 2000000);
    PERFORM orch_fast.ack_orchestration_item(token, 1007, 1, '[{"event_id":3,"event_data":"{}"}]', NULL, NULL, NULL);
    -- One is born and ends with a value; of another the name changes, and its parent becomes known.
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1060, 100);
    PERFORM orch_fast.ack_orchestration_item(token, 1061, 1, '[{"event_id":4,"event_type":"T","event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\",\"value\":\"v\"}"}]', NULL,
        '[{"ContinueAsNew":{"instance":"i","orchestration":"P","input":""}}]',
        '{"orchestration_name":"P","orchestration_version":"2.0","parent_instance_id":"p","status":"ContinuedAsNew"}');
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1062, 100);
    PERFORM orch_fast.ack_orchestration_item(token, 1063, 2, '[]', NULL, '[{"ExternalRaised":{"instance":"i","name":"n"}}]', NULL);
    SELECT out_lock_token INTO token FROM orch_fast.fetch_orchestration_item(1064, 100);
    PERFORM orch_fast.ack_orchestration_item(token, 1065, 2, NULL, NULL, NULL, '{"status":"Completed","output":"done","orchestration_name":"P","orchestration_version":"2.0","parent_instance_id":"p"}');
    PERFORM * FROM orch_fast.fetch_orchestration_item(1066, 100);
    RETURN QUERY SELECT 'message ' || to_jsonb(m)::text FROM orch_fast.orchestrator_queue AS m ORDER BY id;
    RETURN QUERY SELECT 'lock ' || (to_jsonb(l) - '{nonce_hi,nonce_lo}'::text[] || jsonb_build_object('leased', l.nonce_hi <> 0))::text FROM orch_fast.instance_locks AS l ORDER BY instance_id;
    RETURN QUERY SELECT 'instance ' || to_jsonb(i)::text FROM orch_fast.instances AS i ORDER BY instance_id;
    RETURN QUERY SELECT 'execution ' || to_jsonb(e)::text FROM orch_fast.executions AS e ORDER BY instance_id, execution_id;
    RETURN QUERY SELECT 'event ' || to_jsonb(h)::text FROM orch_fast.history AS h ORDER BY instance_id, execution_id, event_id;
    RETURN QUERY SELECT 'kv ' || to_jsonb(k)::text FROM orch_fast.kv_store AS k ORDER BY instance_id, key;
    RETURN QUERY SELECT 'delta ' || to_jsonb(k)::text FROM orch_fast.kv_delta AS k ORDER BY instance_id, key;
    RETURN QUERY SELECT 'told ' || (to_jsonb(e) - '{incarnation,position}'::text[] || jsonb_build_object('xid', e.xid = pg_current_xact_id()))::text FROM orch_fast.outbox_events AS e ORDER BY e.position;
    RETURN QUERY SELECT 'work ' || to_jsonb(w)::text FROM orch_fast.worker_queue AS w ORDER BY id;
END $$;
SET belay.fast_path = off;
BEGIN;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
SET belay.fast_path = on;
BEGIN;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
RESET belay.fast_path;
DROP FUNCTION test.orch_fast_shout();
SELECT belay.drop_hub('orch_fast', true);
