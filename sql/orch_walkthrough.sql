-- Walk-throughs, step by step.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_walkthrough');
SELECT belay.set_hub_option('orch_walkthrough', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_walkthrough');
CREATE VIEW test.orch_walkthrough AS
    SELECT (SELECT count(*) FROM orch_walkthrough.messages) AS messages, (SELECT count(*) FROM orch_walkthrough.instances) AS instances, (SELECT string_agg(status, ', ') FROM orch_walkthrough.executions) AS status, (SELECT count(*) FROM orch_walkthrough.history) AS events,
           (SELECT count(*) FROM orch_walkthrough.work_items) AS activities, (SELECT count(*) FROM orch_walkthrough.instance_lock_states) AS locks;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_walkthrough.orchestrator_queue, orch_walkthrough.worker_queue, orch_walkthrough.instance_locks, orch_walkthrough.instances, orch_walkthrough.executions, orch_walkthrough.history_turns, orch_walkthrough.kv_store, orch_walkthrough.kv_delta, orch_walkthrough.dead_letters, lease $$;

---- One orchestration with one activity

-- 1: one message; no instance.
SELECT orch_walkthrough.enqueue_orchestrator_work('ord-7', '{"StartOrchestration":{"instance":"ord-7","orchestration":"Bill","input":"{}","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}}', to_timestamp(1));
SELECT * FROM test.orch_walkthrough;
-- 2: C4: name Bill, execution 1, no history, attempt 1; lock held.
SELECT * FROM pg_temp.fetch(1000);
SELECT * FROM test.orch_walkthrough;
-- 3: ack: the first events (one of them a key/value change), one worker item, name and version.
CALL pg_temp.ack('ord-7', 1100, jsonb_build_array(test.event(1, 'OrchestrationStarted', '{"name":"Bill","version":"1.0.0","input":"{}"}'), test.event(2, 'ActivityScheduled', '{"name":"Charge","input":"9"}'),
        test.event(3, 'KeyValueSet', '{"key":"k","value":"v"}')),
    '{"orchestration_name":"Bill","orchestration_version":"1.0.0"}', work => '[{"ActivityExecute":{"instance":"ord-7","execution_id":1,"id":2,"name":"Charge","input":"9"}}]');
SELECT * FROM test.orch_walkthrough;
-- 4: lease on the activity, attempt 1.
SELECT work_item, attempt_count, lock_token AS work FROM orch_walkthrough.fetch_work_item(1000, p_now_ms => 1200) \gset
SELECT :'work_item' AS item, :attempt_count AS attempt;
-- 5: activity gone, one message.
SELECT orch_walkthrough.ack_worker(:'work', 'ord-7', '{"ActivityCompleted":{"instance":"ord-7","execution_id":1,"id":2,"result":"ok"}}', 1300);
SELECT * FROM test.orch_walkthrough;
-- 6: C1: the events, one message.
SELECT * FROM pg_temp.fetch(1300);
-- 7: terminal; completed_at set; key/value merged.
CALL pg_temp.ack('ord-7', 1400, jsonb_build_array(test.event(4, 'ActivityCompleted', '{"result":"ok"}'), test.event(5, 'OrchestrationCompleted', '{"output":"ok"}')), '{"status":"Completed","output":"ok"}');
SELECT * FROM test.orch_walkthrough;
SELECT status, output, (extract(epoch FROM completed_at) * 1000)::bigint AS completed_ms FROM orch_walkthrough.executions;
SELECT key, value FROM orch_walkthrough.kv_store;
SELECT event_data FROM orch_walkthrough.fetch_history('ord-7');
CALL pg_temp.clear();

---- A worker dies

SELECT orch_walkthrough.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":2}}', p_now_ms => 1000);
SELECT lock_token AS first FROM orch_walkthrough.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT lock_token AS second, attempt_count FROM orch_walkthrough.fetch_work_item(1000, p_now_ms => 2000) \gset
SELECT :attempt_count AS attempt;
-- The first one comes back.
SELECT call, test.sqlstate(format(call, :'first')) FROM unnest(ARRAY['SELECT orch_walkthrough.renew_work_item_lock(%L, 1000, p_now_ms => 2000)', 'SELECT orch_walkthrough.ack_worker(%L, NULL, ''{"ActivityCompleted":{"instance":"i"}}'', 2000)']) AS call;
SELECT orch_walkthrough.ack_worker(:'second', NULL, NULL, 2000);
CALL pg_temp.clear();

---- An ack raises QB005

SELECT orch_walkthrough.start_orchestration('O', '', 'i', '1', 0, 1000);
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'OrchestrationStarted')), '{"orchestration_name":"O","orchestration_version":"1"}', '[{"ExternalRaised":{"instance":"i","name":"n"}}]');
SELECT attempt FROM pg_temp.fetch(1000);
SELECT test.refused(format('CALL pg_temp.ack(''i'', 1000, %L, ''{"status":"Completed"}'')', jsonb_build_array(test.event(1, 'again'))));
-- Nothing was stored, the lock is live. The client acks a failure event on the same token.
SELECT * FROM test.orch_walkthrough;
CALL pg_temp.ack('i', 1500, jsonb_build_array(test.event(2, 'OrchestrationFailed')), '{"status":"Failed","output":"duplicate event"}');
SELECT * FROM test.orch_walkthrough;
CALL pg_temp.clear();

---- A cancel overtakes its start

SELECT orch_walkthrough.cancel_instance('i', 'user', 1000);
SELECT orch_walkthrough.start_orchestration('O', '', 'other', '1', 0, 1001);
SELECT instance, messages FROM pg_temp.fetch(1001, 100000);
SELECT orch_walkthrough.start_orchestration('O', '', 'i', '1', 0, 2000);
SELECT instance, name, messages FROM pg_temp.fetch(2000);
CALL pg_temp.clear();

---- A broken message

SELECT belay.set_hub_option('orch_walkthrough', 'max_attempts', '20');
INSERT INTO orch_walkthrough.instances VALUES ('i', 'O', '1', 1, NULL, NULL, 0, now(), now());
SELECT orch_walkthrough.raise_event('i', 'x', '', false, 1000);
UPDATE orch_walkthrough.orchestrator_queue SET work_item = '{"ExternalRaised":{"instance":"i","name":"x"';
-- It comes as a string element; the client abandons it, twenty times.
CREATE PROCEDURE pg_temp.try() LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..20 LOOP
        IF (SELECT (messages, attempt) IS DISTINCT FROM ('string', n) FROM pg_temp.fetch(1000)) THEN RAISE 'attempt %', n; END IF;
        PERFORM orch_walkthrough.abandon_orchestration_item(pg_temp.token('i'), p_now_ms => 1000);
    END LOOP;
END $$;
CALL pg_temp.try();
-- The 21st fetch moves it to dead_letters and delivers the rest.
SELECT orch_walkthrough.raise_event('i', 'rest', '', false, 1000);
SELECT messages, attempt FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
SELECT id AS dead, attempt_count, reason, work_item FROM orch_walkthrough.dead_letters \gset
SELECT :attempt_count AS attempts, :'reason' AS reason, :'work_item' AS work_item;
-- An operator repairs the text and puts it back.
UPDATE orch_walkthrough.dead_letters SET work_item = work_item || '}}';
SELECT orch_walkthrough.redrive_dead_letter(:dead) > 0 AS redriven;
UPDATE orch_walkthrough.orchestrator_queue SET visible_at = to_timestamp(1);
SELECT messages, attempt FROM pg_temp.fetch(1000);
SELECT belay.set_hub_option('orch_walkthrough', 'max_attempts', NULL);
CALL pg_temp.clear();

---- Continue-as-new under backoff

SELECT orch_walkthrough.start_orchestration('O', '', 'i', '1', 0, 1000);
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'OrchestrationStarted')), '{"orchestration_name":"O","orchestration_version":"1","status":"ContinuedAsNew"}', '[{"ContinueAsNew":{"instance":"i","orchestration":"O"}}]');
SELECT messages FROM pg_temp.fetch(1000);
SELECT orch_walkthrough.abandon_orchestration_item(pg_temp.token('i'), 2000, p_now_ms => 1000);
-- A queue message that arrives meanwhile is delivered at once with the old history ...
SELECT orch_walkthrough.raise_event('i', 'q', '', true, 1500);
SELECT execution, events, messages FROM pg_temp.fetch(1500);
-- ... or, if abandoned, together with the ContinueAsNew later, in the order of ids. Nothing is lost.
SELECT orch_walkthrough.abandon_orchestration_item(pg_temp.token('i'), 1500, p_now_ms => 1500);
SELECT * FROM pg_temp.fetch(2999);
SELECT execution, events, messages FROM pg_temp.fetch(3000);

DROP VIEW test.orch_walkthrough;
SELECT belay.drop_hub('orch_walkthrough', true);
