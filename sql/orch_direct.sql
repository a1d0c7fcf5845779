-- FP-1 of turns: what operations leave in their tables, also at the higher isolation levels. (orch_faults lets them fail.)
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_direct');
SELECT belay.set_hub_option('orch_direct', 'max_clock_skew', '0');  -- these tests choose the time

-- The same calls leave the same rows at every isolation level.
CREATE FUNCTION pg_temp.play() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    token text;
BEGIN
    PERFORM setval('orch_direct.orchestrator_queue_id', 1000), setval('orch_direct.instance_locks_no', 1000), setval('orch_direct.worker_queue_id', 1000);
    PERFORM orch_direct.start_orchestration('O', '', 'i', '1.0', p_now_ms => 1000);
    PERFORM orch_direct.start_orchestration('O', '', 'j', '1.0', p_now_ms => 1000);
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1001);
    PERFORM orch_direct.renew_orchestration_item_lock(token, 500, p_now_ms => 1002);
    PERFORM orch_direct.ack_orchestration_item(token, 1, '[{"event_id":1,"event_type":"T","event_data":"{}"},{"event_id":2,"event_type":"U","event_data":"{\"type\":\"V\"}"}]',
        '[{"ActivityExecute":{"instance":"i","execution_id":1,"id":7,"name":"a"}}]',
        '[{"ExternalRaised":{"instance":"i","name":"n"}},{"StartOrchestration":{"instance":"k","orchestration":"c","parent_instance":"i"}}]',
        '{"orchestration_name":"O","orchestration_version":"1.0","pinned_duroxide_version":{"major":1,"minor":2,"patch":3}}', p_now_ms => 1003);
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1004);
    PERFORM orch_direct.abandon_orchestration_item(token, 50, p_now_ms => 1005);
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, 1000000, 2000000, p_now_ms => 1006);
    PERFORM orch_direct.ack_orchestration_item(token, 1, '[{"event_id":3,"event_data":"{}"}]', NULL, NULL, NULL, p_now_ms => 1007);
    -- One is born and ends with a value; of another the name changes, and its parent becomes known.
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1060);
    PERFORM orch_direct.ack_orchestration_item(token, 1, '[{"event_id":4,"event_type":"T","event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\",\"value\":\"v\"}"}]', NULL,
        '[{"ContinueAsNew":{"instance":"i","orchestration":"P","input":""}}]',
        '{"orchestration_name":"P","orchestration_version":"2.0","parent_instance_id":"p","status":"ContinuedAsNew"}', p_now_ms => 1061);
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1062);
    PERFORM orch_direct.ack_orchestration_item(token, 2, '[]', NULL, '[{"ExternalRaised":{"instance":"i","name":"n"}}]', NULL, p_now_ms => 1063);
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1064);
    PERFORM orch_direct.ack_orchestration_item(token, 2, NULL, NULL, NULL, '{"status":"Completed","output":"done","orchestration_name":"P","orchestration_version":"2.0","parent_instance_id":"p"}', p_now_ms => 1065);
    -- Messages of instances that never started: set aside, put back by the start, dropped. State that is cleared.
    PERFORM orch_direct.raise_event('aside', 'e', '', false, 1066), orch_direct.raise_event('back', 'e', '', false, 1066), orch_direct.raise_event('gone', 'e', '', true, 1066);
    PERFORM orch_direct.start_orchestration('M', '', 'm', '1', p_now_ms => 1);
    SELECT lock_token INTO token FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1067);
    PERFORM orch_direct.ack_orchestration_item(token, 1, NULL, NULL, NULL,
        '{"orchestration_name":"O","orchestration_version":"1","custom_status_action":"set","custom_status_value":"s","kv_mutations":[{"action":"set","key":"a","value":"1"},{"action":"set","key":"a","value":"2"},{"action":"clear_all"},{"action":"set","key":"b","value":"3"}]}', p_now_ms => 1067);
    PERFORM * FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1068);
    PERFORM orch_direct.start_orchestration('B', '', 'back', '1.0', p_now_ms => 1069);
    PERFORM * FROM orch_direct.fetch_orchestration_item(100, p_now_ms => 1070);
    RETURN QUERY SELECT 'message ' || to_jsonb(m)::text FROM orch_direct.orchestrator_queue AS m ORDER BY id;
    RETURN QUERY SELECT 'lock ' || (to_jsonb(l) - '{nonce_hi,nonce_lo}'::text[] || jsonb_build_object('leased', l.nonce_hi <> 0))::text FROM orch_direct.instance_locks AS l ORDER BY instance_id;
    RETURN QUERY SELECT 'instance ' || to_jsonb(i)::text FROM orch_direct.instances AS i ORDER BY instance_id;
    RETURN QUERY SELECT 'execution ' || to_jsonb(e)::text FROM orch_direct.executions AS e ORDER BY instance_id, execution_id;
    RETURN QUERY SELECT 'event ' || to_jsonb(h)::text FROM orch_direct.history AS h ORDER BY instance_id, execution_id, event_id;
    RETURN QUERY SELECT 'kv ' || to_jsonb(k)::text FROM orch_direct.kv_store AS k ORDER BY instance_id, key;
    RETURN QUERY SELECT 'delta ' || to_jsonb(k)::text FROM orch_direct.kv_delta AS k ORDER BY instance_id, key;
    RETURN QUERY SELECT 'told ' || (to_jsonb(e) - '{incarnation,position}'::text[] || jsonb_build_object('xid', e.xid = pg_current_xact_id()))::text FROM orch_direct.outbox_events AS e WHERE e.topic <> 'operator' ORDER BY e.position;
    RETURN QUERY SELECT 'work ' || to_jsonb(w)::text FROM orch_direct.worker_queue AS w ORDER BY id;
END $$;
BEGIN;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
BEGIN;
SELECT md5(string_agg(t, '|')) AS played FROM pg_temp.play() AS t \gset
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT md5(string_agg(t, '|')) = :'played' AS same FROM pg_temp.play() AS t;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT md5(string_agg(t, '|')) = :'played' AS same FROM pg_temp.play() AS t;
-- What is found by the other indexes is what is there.
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT (SELECT count(*) FROM orch_direct.orchestrator_queue WHERE slot >= 0 AND NOT parked) AS by_claim,
       (SELECT count(*) FROM orch_direct.orchestrator_queue WHERE parked AND created_at > '-infinity') AS by_parked,
       (SELECT count(*) FROM orch_direct.orchestrator_queue WHERE parent_id IS NOT NULL AND parent_id >= '') AS by_parent,
       (SELECT count(*) FROM orch_direct.instances WHERE parent_instance_id IS NOT NULL AND parent_instance_id >= '') AS by_parent_instance,
       (SELECT count(*) FROM orch_direct.executions WHERE completed_at IS NOT NULL AND completed_at > '-infinity') AS by_completion;
ROLLBACK;

SELECT belay.drop_hub('orch_direct', true);
