-- get_instance_stats and get_queue_depths: how much there is of an instance, and of work.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_sizes');
SELECT belay.set_hub_option('mgmt_sizes', 'max_clock_skew', '0');  -- these tests choose the time

-- A turn: a message, a fetch, an ack with these events, numbered from first_id on, and metadata.
CREATE PROCEDURE pg_temp.turn(instance text, events text[], metadata jsonb DEFAULT '{}', execution bigint DEFAULT 1, first_id bigint DEFAULT 1) LANGUAGE plpgsql AS $$
DECLARE
    turn record;
BEGIN
    PERFORM mgmt_sizes.start_orchestration('O', '', instance, '1', 0, 1);
    SELECT * INTO STRICT turn FROM mgmt_sizes.fetch_orchestration_item(1000, p_now_ms => 1000);
    PERFORM mgmt_sizes.ack_orchestration_item(turn.lock_token, execution,
        (SELECT jsonb_agg(jsonb_build_object('event_id', first_id + nr - 1, 'event_data', e) ORDER BY nr) FROM unnest(events) WITH ORDINALITY AS u (e, nr)), '[]', '[]',
        '{"orchestration_name":"O","orchestration_version":"1"}'::jsonb || metadata, p_now_ms => 1000);
END $$;
CREATE FUNCTION pg_temp.stats(instance text) RETURNS TABLE (found boolean, events bigint, bytes bigint, carried bigint, keys bigint, value_bytes bigint) LANGUAGE sql AS $$ SELECT * FROM mgmt_sizes.get_instance_stats(instance) $$;

---- get_instance_stats

-- No instance row: not found, even if other rows of it exist.
SELECT mgmt_sizes.append_history('bare', 1, '[{"event_id":1,"event_data":"{}"}]');
INSERT INTO mgmt_sizes.kv_store VALUES ('bare', 'k', 'v', 1, 1);
SELECT * FROM pg_temp.stats('bare');
-- Events of the current execution: number and bytes as stored (bytes, not characters; as sent, blanks included).
CALL pg_temp.turn('i', ARRAY['{"type":"A"}', '{ "type" : "\u00e9" }', E'{"type":"\u00e9"}']);
SELECT * FROM pg_temp.stats('i');
SELECT count(*), sum(octet_length(event_data)) FROM mgmt_sizes.history WHERE instance_id = 'i';
-- Of the current execution only.
CALL pg_temp.turn('i', '{}', '{"status":"ContinuedAsNew"}');
CALL pg_temp.turn('i', ARRAY['{"type":"OrchestrationStarted","carry_forward_events":[["q","1"],["q","2"],["r",{"a":[1,2,3]}]]}', '{}'], '{}', 2);
SELECT events, bytes FROM pg_temp.stats('i');
-- No execution row, no event: zeros.
INSERT INTO mgmt_sizes.instances VALUES ('none', 'O', NULL, 1, NULL, NULL, 0, now(), now());
SELECT * FROM pg_temp.stats('none');
-- queue_pending_count: the carried events of event 1, and of no other event.
SELECT carried FROM pg_temp.stats('i');
CALL pg_temp.turn('j', ARRAY['{"type":"OrchestrationStarted"}', '{"type":"OrchestrationStarted","carry_forward_events":[1]}']);
SELECT events, carried FROM pg_temp.stats('j');
-- Event 1 is the event with the id 1, not the first one there is.
CALL pg_temp.turn('k', ARRAY['{"type":"OrchestrationStarted","carry_forward_events":[1]}'], first_id => 2);
SELECT events, carried FROM pg_temp.stats('k');
-- There is no error for any content of event 1: not JSON, no object, no array, empty, an escaped NUL, too deep. A bad field elsewhere in it does no harm (JS-5).
CREATE TEMP TABLE first_event (nr serial, event text);
INSERT INTO first_event (event) VALUES ('not JSON'), (''), ('{"carry_forward_events":[1,2'), ('[1,2]'), ('"x"'), ('null'), ('{"carry_forward_events":null}'), ('{"carry_forward_events":{"a":1}}'), ('{"carry_forward_events":"[1,2]"}'), ('{"carry_forward_events":[]}'),
    ('{"a":{"carry_forward_events":[1,2]}}'), ('{"carry_forward_events":["\u0000",2]}'), ('{"a":1e999999,"b":"\ud800","carry_forward_events":[1,2,3]}'), ('{"carry\u005fforward_events":[1,2,3,4]}'), (repeat('[', 100000));
CREATE FUNCTION pg_temp.stats_of(event text) RETURNS TABLE (carried bigint, events bigint, same_bytes boolean) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE mgmt_sizes.history_turns SET event_data[1] = event WHERE instance_id = 'i' AND execution_id = 2 AND first_event_id = 1;
    RETURN QUERY SELECT s.carried, s.events, s.bytes = octet_length(event) + 2 FROM pg_temp.stats('i') AS s;
END $$;
SELECT left(event, 60) AS event, s.* FROM first_event, LATERAL pg_temp.stats_of(event) AS s ORDER BY nr;

-- Keys and bytes of the merged view. While the execution runs: the delta alone.
CALL pg_temp.turn('kv', ARRAY['{"type":"KeyValueSet","key":"a","value":"12345"}', '{"type":"KeyValueSet","key":"b","value":""}', E'{"type":"KeyValueSet","key":"c","value":"\u00e9"}']);
SELECT keys, value_bytes FROM pg_temp.stats('kv');
-- After completion: the store alone, with the same result.
CALL pg_temp.turn('kv', '{}', '{"status":"ContinuedAsNew"}');
SELECT (SELECT count(*) FROM mgmt_sizes.kv_delta WHERE instance_id = 'kv') AS delta, keys, value_bytes FROM pg_temp.stats('kv');
-- In between: a is overwritten (once, with its new value), b is cleared, d and e are new, x is cleared without ever having been there.
CALL pg_temp.turn('kv', ARRAY['{"type":"KeyValueSet","key":"a","value":"1"}', '{"type":"KeyValueCleared","key":"b"}', '{"type":"KeyValueSet","key":"d","value":"12345678"}', '{"type":"KeyValueSet","key":"e","value":""}', '{"type":"KeyValueCleared","key":"x"}'], '{}', 2);
SELECT keys, value_bytes FROM pg_temp.stats('kv');
SELECT count(*), sum(octet_length(value)) FROM mgmt_sizes.get_kv_all_values('kv');
-- Another instance's keys are its own.
SELECT keys, value_bytes FROM pg_temp.stats('i');

---- get_queue_depths

CREATE VIEW test.mgmt_sizes AS SELECT now_ms, d.* FROM unnest('{999,1000,1999,2000,2999,3000}'::bigint[]) AS now_ms, LATERAL mgmt_sizes.get_queue_depths(now_ms) AS d ORDER BY now_ms;
TRUNCATE mgmt_sizes.orchestrator_queue, mgmt_sizes.worker_queue;
-- A new visible message raises orchestrator_queue by one; a hidden one counts as a timer until it is due (CL-1: visible from that very ms).
SELECT mgmt_sizes.start_orchestration('O', '', 'a', '1', 0, 1000);
SELECT mgmt_sizes.start_orchestration('O', '', 'b', '1', 1000, 1000);
SELECT mgmt_sizes.enqueue_orchestrator_work(NULL, '{"TimerFired":{"instance":"c","id":1,"fire_at_ms":3000}}', to_timestamp(1));
SELECT * FROM test.mgmt_sizes;
-- A message that is leased counts nowhere, until the lease ends. One that came later is counted: no session has leased it.
SELECT instance_id, lock_token AS token FROM mgmt_sizes.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT * FROM test.mgmt_sizes;
SELECT mgmt_sizes.raise_event('a', 'late', '', false, 1000);
SELECT * FROM test.mgmt_sizes;
-- A renewal moves the end; an abandon ends it, and a delay makes a timer of the message.
SELECT mgmt_sizes.renew_orchestration_item_lock(:'token', 1999, p_now_ms => 1000);
SELECT * FROM test.mgmt_sizes;
SELECT mgmt_sizes.abandon_orchestration_item(:'token', 1500, p_now_ms => 1000);
SELECT * FROM test.mgmt_sizes;
-- A hidden message is none of the turn that is under way: it has no lease.
SELECT mgmt_sizes.abandon_orchestration_item(lock_token, p_now_ms => 2500) FROM mgmt_sizes.fetch_orchestration_item(1000, p_now_ms => 2500);
SELECT mgmt_sizes.enqueue_orchestrator_work(NULL, '{"TimerFired":{"instance":"b","id":1,"fire_at_ms":9000}}', to_timestamp(1));
SELECT instance_id FROM mgmt_sizes.fetch_orchestration_item(10000, p_now_ms => 2000);
SELECT * FROM mgmt_sizes.get_queue_depths(8999);
-- Orphans that wait aside are visible messages without a lease.
TRUNCATE mgmt_sizes.orchestrator_queue, mgmt_sizes.instance_locks;
SELECT mgmt_sizes.cancel_instance('never', '', 1000);
SELECT count(*) FROM mgmt_sizes.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT * FROM mgmt_sizes.get_queue_depths(1000);
-- Activities: ready ones only; delayed ones and leased ones are not, and are no timers either.
TRUNCATE mgmt_sizes.orchestrator_queue;
SELECT mgmt_sizes.enqueue_worker_items('[{"work_item":{"ActivityExecute":{}}}, {"work_item":{"ActivityExecute":{}},"delay_ms":1000}, {"work_item":{"ActivityExecute":{}},"tag":"nobody serves it"}]', 1000);
SELECT * FROM test.mgmt_sizes;
SELECT attempt_count FROM mgmt_sizes.fetch_work_item(2000, p_now_ms => 1000);
SELECT * FROM test.mgmt_sizes;
-- Without a clock of the caller, the server's: all of that is long ago.
SELECT * FROM mgmt_sizes.get_queue_depths(NULL);
SELECT * FROM mgmt_sizes.get_queue_depths();
-- CL-7: the caller's clock is checked where the hub asks for it.
SELECT belay.set_hub_option('mgmt_sizes', 'max_clock_skew', NULL);
SELECT test.sqlstate('SELECT mgmt_sizes.get_queue_depths(1000)'), test.sqlstate('SELECT mgmt_sizes.get_queue_depths(NULL)');

DROP VIEW test.mgmt_sizes;
SELECT belay.drop_hub('mgmt_sizes', true);
