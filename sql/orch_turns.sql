-- Committing many turns and fetching others in one call: ack_and_fetch_turns.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_turns');
SELECT belay.set_hub_option('orch_turns', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_turns');
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_turns.orchestrator_queue, orch_turns.worker_queue, orch_turns.instance_locks, orch_turns.instances, orch_turns.executions, orch_turns.history_turns, orch_turns.kv_store, orch_turns.kv_delta, orch_turns.dead_letters, lease $$;
CREATE PROCEDURE pg_temp.start(VARIADIC instances text[]) LANGUAGE sql AS $$ SELECT orch_turns.start_orchestration('O', '', i, '1', 0, 1000) FROM unnest(instances) WITH ORDINALITY AS u (i, nr) ORDER BY nr $$;
CREATE FUNCTION pg_temp.events(VARIADIC ids int[]) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_type', 'E', 'event_data', json_build_object('type', 'E', 'event_id', e)::text) ORDER BY nr) FROM unnest(ids) WITH ORDINALITY AS u (e, nr)
$$;
\set named '{"orchestration_name":"O","orchestration_version":"1"}'
-- A call and what it answered, in short; tokens are kept in lease. Acks are given as an array of objects: instance, or token; and what the ack says.
CREATE FUNCTION pg_temp.call(acks jsonb, now_ms bigint, max_turns int DEFAULT 0, owner text DEFAULT NULL, names text[] DEFAULT NULL, min_version bigint DEFAULT NULL, max_version bigint DEFAULT NULL, slots int[] DEFAULT NULL, timeout_ms bigint DEFAULT 1000)
RETURNS TABLE (nr int, answer text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_row record;
BEGIN
    FOR v_row IN
        SELECT f.* FROM (
            SELECT coalesce(array_agg(coalesce(e ->> 'token', pg_temp.token(e ->> 'instance')) ORDER BY nr), '{}') AS tokens, array_agg(coalesce((e ->> 'execution')::bigint, 1) ORDER BY nr) AS executions,
                   array_agg(e -> 'events' ORDER BY nr) AS events, array_agg(e -> 'work' ORDER BY nr) AS work, array_agg(e -> 'send' ORDER BY nr) AS send,
                   array_agg(coalesce(e -> 'metadata', '{"orchestration_name":"O","orchestration_version":"1"}') ORDER BY nr) AS metadata, array_agg(e -> 'cancelled' ORDER BY nr) AS cancelled
              FROM jsonb_array_elements(acks) WITH ORDINALITY AS u (e, nr)) AS a,
            LATERAL orch_turns.ack_and_fetch_turns(a.tokens, a.executions, a.events, a.work, a.send, a.metadata, a.cancelled, timeout_ms, min_version, max_version, max_turns, slots, owner, names, now_ms) AS f
    LOOP
        IF v_row.lock_token IS NOT NULL THEN
            INSERT INTO lease VALUES (v_row.instance_id, v_row.lock_token) ON CONFLICT (instance_id) DO UPDATE SET token = excluded.token;
        END IF;
        nr := v_row.outcome_index;
        answer := CASE WHEN v_row.error IS NOT NULL THEN format('%s %s: %s', v_row.error, v_row.reason, v_row.error_message)
                       WHEN v_row.outcome_index IS NOT NULL THEN 'committed'
                       ELSE format('turn of %s %s %s/%s: events %s after %s of %s, messages %s, attempt %s, until %s', v_row.instance_id, v_row.orchestration_name, v_row.orchestration_version, v_row.execution_id,
                            (SELECT coalesce(string_agg(e ->> 'event_id', ',' ORDER BY at), 'none') FROM json_array_elements(v_row.history) WITH ORDINALITY AS h (e, at)), v_row.history_after, v_row.last_event_id, test.brief(v_row.messages), v_row.attempt_count, v_row.locked_until) END;
        RETURN NEXT;
    END LOOP;
END $$;
CREATE VIEW test.orch_turns_locks AS SELECT instance_id, lock_no <> 0 AS locked, locked_until, cache_owner NOT IN (0, 1) AS owned, cache_event FROM orch_turns.instance_locks ORDER BY instance_id;

---- One unit

-- AT-1, AT-4: without acks it is a fetch of several turns, one per instance, the oldest first.
CALL pg_temp.start('a', 'b', 'c');
SELECT orch_turns.raise_event('a', 'more', '', false, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 2);
SELECT * FROM pg_temp.call('[]', 1000, 5);
SELECT * FROM pg_temp.call('[]', 1000, 5);
-- AT-1: a row per ack in the order of the arrays, then a row per turn. AT-3: what they send arrives in that order. AT-4: what an ack has sent can be fetched by the same call, and a turn of an instance that was just committed.
SELECT * FROM pg_temp.call(jsonb_build_array(
    jsonb_build_object('instance', 'c', 'events', pg_temp.events(1, 2), 'send', '[{"StartOrchestration":{"instance":"child","orchestration":"C","version":"2","parent_instance":"c","parent_id":2}},{"ExternalRaised":{"instance":"b","name":"from c","data":""}}]'::jsonb),
    jsonb_build_object('instance', 'a', 'events', pg_temp.events(1), 'work', '[{"ActivityExecute":{"instance":"a","execution_id":1,"id":7}}]'::jsonb, 'send', '[{"ExternalRaised":{"instance":"b","name":"from a","data":""}}]'::jsonb),
    jsonb_build_object('instance', 'b', 'events', pg_temp.events(1), 'metadata', '{"orchestration_name":"O","orchestration_version":"1","custom_status_action":"set","custom_status_value":"s"}'::jsonb)), 1500, 5);
SELECT instance_id, execution_id, event_id FROM orch_turns.history ORDER BY instance_id, event_id;
SELECT instance_id, custom_status FROM orch_turns.instances ORDER BY instance_id;
SELECT instance_id, activity_id FROM orch_turns.work_items;
-- A terminal ack removes its lock.
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'b', 'events', pg_temp.events(2), 'metadata', '{"orchestration_name":"O","orchestration_version":"1","status":"Completed","output":"done"}'::jsonb),
    jsonb_build_object('instance', 'child', 'metadata', '{"orchestration_name":"C","orchestration_version":"2","parent_instance_id":"c"}'::jsonb)), 1600);
SELECT * FROM test.orch_turns_locks;
SELECT instance_id, status, output FROM orch_turns.executions ORDER BY instance_id;
SELECT instance_id, parent_instance_id FROM orch_turns.instances ORDER BY instance_id;
-- Without acks and turns it does nothing.
SELECT * FROM orch_turns.ack_and_fetch_turns('{}');
SELECT * FROM orch_turns.ack_and_fetch_turns(NULL);
CALL pg_temp.clear();

---- Each ack has its own fate

-- AT-2: a lost lock, events that are stored already or twice in the delta, bad arguments: each is reported in its row, changes nothing and keeps its lock; the others are committed.
CALL pg_temp.start('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
SELECT count(*) FROM pg_temp.call('[]', 1000, 10);
SELECT orch_turns.append_history('b', 1, pg_temp.events(5));
SELECT orch_turns.abandon_orchestration_item(pg_temp.token('g'), 5000, p_now_ms => 1000);
SELECT * FROM pg_temp.call(jsonb_build_array(
    jsonb_build_object('instance', 'h', 'events', pg_temp.events(1)),
    jsonb_build_object('token', 'nonsense'),
    jsonb_build_object('instance', 'b', 'events', pg_temp.events(4, 5)),
    jsonb_build_object('instance', 'c', 'events', pg_temp.events(1, 2, 1)),
    jsonb_build_object('instance', 'd', 'events', '[{"event_id":0}]'::jsonb),
    jsonb_build_object('instance', 'd', 'execution', 0),
    jsonb_build_object('instance', 'e', 'work', '[{"TimerFired":{}}]'::jsonb),
    jsonb_build_object('instance', 'f', 'metadata', '{"status":"Sleeping"}'::jsonb),
    jsonb_build_object('instance', 'f', 'cancelled', '[{"instance":"f"}]'::jsonb),
    jsonb_build_object('instance', 'f', 'send', '[{"ExternalRaised":{"name":"no instance"}}]'::jsonb),
    jsonb_build_object('instance', 'g', 'events', pg_temp.events(1)),
    jsonb_build_object('instance', 'h', 'events', pg_temp.events(2)),
    jsonb_build_object('instance', 'a', 'events', pg_temp.events(1))), 1500);
SELECT instance_id, event_id FROM orch_turns.history ORDER BY instance_id, event_id;
SELECT instance_id FROM orch_turns.instances ORDER BY instance_id;
SELECT * FROM test.orch_turns_locks;
-- One that was refused can be acked with a better decision. A token that was given twice is accepted once, also if the first try with it was refused.
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'b', 'events', pg_temp.events(5)), jsonb_build_object('instance', 'b', 'events', pg_temp.events(6)), jsonb_build_object('instance', 'b', 'events', pg_temp.events(7))), 1500);
-- CL-1: at 2000 the locks of 1000 have expired. The call may take such an instance itself.
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'c', 'events', pg_temp.events(1))), 2000, 1);
CALL pg_temp.clear();
-- Cancelled activities of all acks are deleted after the activities of all are inserted.
CALL pg_temp.start('a', 'b');
SELECT count(*) FROM pg_temp.call('[]', 1000, 10);
SELECT * FROM pg_temp.call('[{"instance":"a","work":[{"ActivityExecute":{"instance":"a","execution_id":1,"id":1}},{"ActivityExecute":{"instance":"a","execution_id":1,"id":2}}],"cancelled":[{"instance":"a","execution_id":1,"activity_id":2},{"instance":"b","execution_id":1,"activity_id":4}]},
    {"instance":"b","work":[{"ActivityExecute":{"instance":"b","execution_id":1,"id":3}},{"ActivityExecute":{"instance":"b","execution_id":1,"id":4}}]}]', 1500);
SELECT instance_id, activity_id FROM orch_turns.work_items ORDER BY activity_id;
CALL pg_temp.clear();

-- AT-6: arrays of another length, bad arguments of the fetch and a clock that is off refuse the call; nothing is changed.
CALL pg_temp.start('a');
SELECT count(*) FROM pg_temp.call('[]', 1000, 10);
SELECT test.content('orch_turns', 'outbox_events') AS content \gset
SELECT arguments, test.refused(format('SELECT orch_turns.ack_and_fetch_turns(ARRAY[%L], %s)', pg_temp.token('a'), arguments))
  FROM unnest(ARRAY['''{}'', p_now_ms => 1500', '''{1,1}'', p_now_ms => 1500', '''{1}'', p_history_deltas => ''{}'', p_now_ms => 1500', '''{1}'', p_worker_items => ''{}'', p_now_ms => 1500', '''{1}'', p_orchestrator_items => ''{}'', p_now_ms => 1500',
                    '''{1}'', p_metadata => ''{}'', p_now_ms => 1500', '''{1}'', p_cancelled_activities => ''{}'', p_now_ms => 1500', '''{1}'', p_lock_timeout_ms => 0, p_now_ms => 1500', '''{1}'', p_max_turns => -1, p_now_ms => 1500', '''{1}'', p_max_turns => 1001, p_now_ms => 1500',
                    '''{1}'', p_names => ARRAY[''O'', NULL], p_now_ms => 1500', '''{1}'', p_cache_owner => repeat(''x'', 1025), p_now_ms => 1500']) AS arguments;
SELECT belay.set_hub_option('orch_turns', 'max_clock_skew', '60 s');
SELECT test.sqlstate(format('SELECT orch_turns.ack_and_fetch_turns(ARRAY[%L], ''{1}'', p_now_ms => 1500)', pg_temp.token('a')));
SELECT belay.set_hub_option('orch_turns', 'max_clock_skew', '0');
SELECT test.content('orch_turns', 'outbox_events') = :'content' AS unchanged;
CALL pg_temp.clear();

-- AT-4: pauses, slots and versions hold as in fetch_orchestration_item.
CALL pg_temp.start('a');
SELECT * FROM pg_temp.call('[]', 1000, 5, slots => '{1}');
SELECT * FROM pg_temp.call('[]', 1000, 5, min_version => 2, max_version => 1);
SELECT orch_turns.pause_hub('orchestrator');
SELECT * FROM pg_temp.call('[]', 1000, 5);
SELECT orch_turns.resume_hub('orchestrator');
CALL pg_temp.clear();

-- AT-5: turns that are large together come with several calls. (Each of these has 30 MiB.)
CALL pg_temp.start('a', 'b', 'c', 'd');
SELECT count(*) FROM pg_temp.call('[]', 1000, 10);
SELECT * FROM pg_temp.call((SELECT jsonb_agg(jsonb_build_object('instance', i, 'events', '[{"event_id":1,"event_type":"E","event_data":"{}"}]'::jsonb, 'send', jsonb_build_array(jsonb_build_object('ExternalRaised', jsonb_build_object('instance', i, 'name', 'n', 'data', ''))))) FROM unnest('{a,b,c,d}'::text[]) AS i), 1500);
UPDATE orch_turns.history_turns SET event_data = array_fill(json_build_object('d', repeat('x', 30 << 20))::text, ARRAY[cardinality(event_data)]);
SELECT count(*) FROM orch_turns.ack_and_fetch_turns('{}', p_max_turns => 10, p_now_ms => 1500);
SELECT count(*) FROM orch_turns.ack_and_fetch_turns('{}', p_max_turns => 10, p_now_ms => 1500);
CALL pg_temp.clear();

---- What the caller has cached

-- A turn of an instance with two events, and a message for the next one.
CREATE PROCEDURE pg_temp.prepare(cache jsonb) LANGUAGE plpgsql AS $$
BEGIN
    CALL pg_temp.clear();
    CALL pg_temp.start('a');
    PERFORM pg_temp.call('[]', 1000, 1);
    PERFORM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'events', pg_temp.events(1, 2), 'metadata', jsonb_build_object('orchestration_name', 'O', 'orchestration_version', '1', 'cache', cache))), 1000);
    PERFORM orch_turns.raise_event('a', 'e', '', false, 1000);
END $$;
-- AT-8: the owner of the cache gets what comes behind it; all others, and a fetch without an owner, get the whole.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT * FROM test.orch_turns_locks;
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'you');
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT * FROM pg_temp.call('[]', 1000, 1);
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT events FROM pg_temp.fetch(1000);
-- Events that were added meanwhile come; a hint that reaches beyond the history is not believed.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT orch_turns.append_history('a', 1, pg_temp.events(3, 4));
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
CALL pg_temp.prepare('{"owner":"me","events":3}');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
-- One that comes before the cached one is in the memory of no process: the history is complete.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'events', pg_temp.events(5), 'metadata', :'named'::jsonb || '{"cache":{"owner":"me","events":5}}')), 1000);
SELECT orch_turns.append_history('a', 1, pg_temp.events(4)), orch_turns.raise_event('a', 'e', '', false, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
-- Those that come while the owner of the cache has the turn are not in its memory, either: its ack may not repeat them, and leaves no hint.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
SELECT orch_turns.append_history('a', 1, pg_temp.events(3, 6));
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'events', pg_temp.events(3), 'metadata', :'named'::jsonb || '{"cache":{"owner":"me","events":3}}')), 1000);
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'events', pg_temp.events(4, 5), 'metadata', :'named'::jsonb || '{"cache":{"owner":"me","events":5}}')), 1000);
SELECT orch_turns.raise_event('a', 'e', '', false, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
-- An ack that repeats a cached event, or one of its own, is refused as well; one without events leaves the hint as it is.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'events', pg_temp.events(2, 3), 'metadata', :'named'::jsonb || '{"cache":{"owner":"me","events":3}}')), 1000);
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'events', pg_temp.events(3, 3), 'metadata', :'named'::jsonb || '{"cache":{"owner":"me","events":3}}')), 1000);
SELECT * FROM pg_temp.call(jsonb_build_array(jsonb_build_object('instance', 'a', 'metadata', :'named'::jsonb || '{"cache":{"owner":"me","events":2}}')), 1000);
SELECT orch_turns.raise_event('a', 'e', '', false, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
CALL pg_temp.prepare('{"owner":"me","events":0}');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
-- AT-7: abandon, expiry and takeover leave the hint.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT count(*) FROM pg_temp.call('[]', 1000, 1, 'you');
SELECT orch_turns.abandon_orchestration_item(pg_temp.token('a'), p_now_ms => 1000);
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
SELECT * FROM pg_temp.call('[]', 2000, 1, 'you');
SELECT * FROM pg_temp.call('[]', 3000, 1, 'me');
-- An ack without the field resets it, also that of ack_orchestration_item, which can set it, too.
CALL pg_temp.ack('a', 3000, pg_temp.events(3), :'named');
SELECT * FROM test.orch_turns_locks;
SELECT orch_turns.raise_event('a', 'e', '', false, 3000);
SELECT * FROM pg_temp.call('[]', 3000, 1, 'me');
CALL pg_temp.ack('a', 3000, '[]', '{"orchestration_name":"O","orchestration_version":"1","cache":{"owner":"me","events":3}}');
SELECT orch_turns.raise_event('a', 'e', '', false, 3000);
SELECT * FROM pg_temp.call('[]', 3000, 1, 'me');
-- Another execution is another history.
CALL pg_temp.ack('a', 3000, '[]', '{"orchestration_name":"O","orchestration_version":"1","cache":{"owner":"me","events":3}}');
UPDATE orch_turns.instances SET current_execution_id = 2;
SELECT orch_turns.append_history('a', 2, pg_temp.events(3));
SELECT orch_turns.raise_event('a', 'e', '', false, 3000);
SELECT * FROM pg_temp.call('[]', 3000, 1, 'me');
-- So is another incarnation.
CALL pg_temp.prepare('{"owner":"me","events":2}');
UPDATE orch_turns.belay_hub SET incarnation = incarnation + 1;
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
-- An instance that was deleted and made again has no hint.
CALL pg_temp.prepare('{"owner":"me","events":2}');
SELECT count(*) FROM orch_turns.delete_instance('a', true);
CALL pg_temp.start('a');
SELECT * FROM pg_temp.call('[]', 1000, 1, 'me');
-- AT-7: what is wrong with the field refuses the ack.
CALL pg_temp.clear();
CALL pg_temp.start('a');
SELECT count(*) FROM pg_temp.call('[]', 1000, 1);
SELECT nr, answer FROM pg_temp.call((SELECT jsonb_agg(jsonb_build_object('instance', 'a', 'metadata', jsonb_build_object('cache', c))) FROM unnest('{true,"{}","{\"owner\":\"me\"}","{\"owner\":1,\"events\":1}","{\"owner\":\"me\",\"events\":-1}","{\"owner\":\"me\",\"events\":\"1\"}"}'::jsonb[]) AS c), 1000);
CALL pg_temp.clear();

---- Names

-- AT-9: only instances of these names: of the row, else of the start. Others are not touched, and not delayed.
SELECT orch_turns.start_orchestration('A', '', 'a', '1', 0, 1000), orch_turns.start_orchestration('B', '', 'b', '1', 0, 1000), orch_turns.start_orchestration('C', '', 'c', '1', 0, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 10, names => '{}');
SELECT * FROM pg_temp.call('[]', 1000, 10, names => '{C,A,Z}');
SELECT instance_id, attempt_count FROM orch_turns.orchestrator_queue ORDER BY id;
SELECT * FROM pg_temp.call('[{"instance":"a","metadata":{"orchestration_name":"A","orchestration_version":"1"},"send":[{"ExternalRaised":{"instance":"a","name":"e","data":""}}]}, {"instance":"c","metadata":{"orchestration_name":"C","orchestration_version":"1"},"send":[{"ExternalRaised":{"instance":"c","name":"e","data":""}}]}]', 1000, 10, names => '{B,C}');
-- A message to an instance that never started has no name: it is set aside as always, so that no fetch meets it again.
CALL pg_temp.clear();
SELECT orch_turns.raise_event('nobody', 'e', '', false, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 10, names => '{A}');
SELECT instance_id, parked FROM orch_turns.orchestrator_queue;
-- A history without a row has the name of its start event.
CALL pg_temp.clear();
SELECT orch_turns.append_history('h', 1, '[{"event_id":1,"event_type":"OrchestrationStarted","event_data":"{\"type\":\"OrchestrationStarted\",\"event_id\":1,\"name\":\"A\",\"version\":\"3\"}"}]');
SELECT orch_turns.raise_event('h', 'e', '', false, 1000);
SELECT * FROM pg_temp.call('[]', 1000, 10, names => '{B}');
SELECT * FROM pg_temp.call('[]', 1000, 10, names => '{A}');
CALL pg_temp.clear();

-- AT-10: by option name_pins an instance without a pin counts as pinned to the version of the first pattern that its name matches; a pin of its own is what counts.
SELECT belay.set_hub_option('orch_turns', 'name_pins', '{"cpp.*": "1000.0.0", "*.rs": "0.1.27"}');
SELECT value FROM belay.hub_options WHERE hub = 'orch_turns' AND option = 'name_pins';
SELECT orch_turns.start_orchestration(n, '', n, '1', 0, 1000) FROM unnest('{cpp.a,b.rs,cpp.c.rs,other,cpp}'::text[]) AS n;
SELECT * FROM pg_temp.call('[]', 1000, 10, min_version => 1027, max_version => 1027);
SELECT orch_turns.abandon_orchestration_item(token, p_now_ms => 1000) FROM lease;
SELECT * FROM pg_temp.call('[]', 1000, 10, min_version => 1000000000, max_version => 1000000000);
SELECT * FROM pg_temp.call('[{"instance":"cpp.a","metadata":{"orchestration_name":"cpp.a","orchestration_version":"1","pinned_duroxide_version":{"major":0,"minor":1,"patch":27}},"send":[{"ExternalRaised":{"instance":"cpp.a","name":"e","data":""}}]},
    {"instance":"cpp.c.rs","metadata":{"orchestration_name":"cpp.c.rs","orchestration_version":"1"},"send":[{"ExternalRaised":{"instance":"cpp.c.rs","name":"e","data":""}}]}]', 1000, 10, min_version => 1027, max_version => 1027);
-- Without a version filter nothing is filtered. fetch_orchestration_item has the same rule.
SELECT instance, attempt FROM pg_temp.fetch(1500, 1000, 1027, 1027);
SELECT instance, attempt FROM pg_temp.fetch(1500);
SELECT v, test.refused(format('SELECT belay.set_hub_option(''orch_turns'', ''name_pins'', %L)', v)) FROM unnest('{no JSON,[],"{\"a\":1}","{\"a\":\"1.2\"}","{\"a\":\"1.2.3.4\"}","{\"a\":\"-1.2.3\"}","{\"a\":\"1.2.99999999999\"}"}'::text[]) AS v;
SELECT test.sqlstate(format('SELECT belay.set_hub_option(''orch_turns'', ''name_pins'', %L)', (SELECT json_object_agg(n, '1.0.0') FROM generate_series(1, 101) AS n)));
SELECT belay.set_hub_option('orch_turns', 'name_pins', 'off');
CALL pg_temp.clear();

---- Many

-- AT-3: two hundred turns, acked in any order.
SELECT orch_turns.enqueue_orchestrator_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('StartOrchestration', jsonb_build_object('instance', 'i' || n, 'orchestration', 'O', 'version', '1', 'input', '')))) FROM generate_series(1, 200) AS n), 1000);
SELECT count(*) FROM pg_temp.call('[]', 1000, 200);
SELECT count(*), count(DISTINCT nr) AS indexes, count(*) FILTER (WHERE answer = 'committed') AS committed
  FROM pg_temp.call((SELECT jsonb_agg(jsonb_build_object('instance', 'i' || n, 'events', pg_temp.events(1), 'send', jsonb_build_array(jsonb_build_object('ExternalRaised', jsonb_build_object('instance', 'sink', 'name', n::text, 'data', '')))) ORDER BY md5(n::text)) FROM generate_series(1, 200) AS n), 1500);
SELECT bool_and(s.name = o.name) AS in_order FROM (SELECT work_item::json #>> '{ExternalRaised,name}' AS name, row_number() OVER (ORDER BY id) AS nr FROM orch_turns.orchestrator_queue) AS s JOIN (SELECT n::text AS name, row_number() OVER (ORDER BY md5(n::text)) AS nr FROM generate_series(1, 200) AS n) AS o USING (nr);
DROP VIEW test.orch_turns_locks;
SELECT belay.drop_hub('orch_turns', true);

---- Api duroxide-pg

-- AT-11: the same under the names and types of that api: the clock is the second argument, JSON is jsonb, a lost lock has the text that its clients match.
SELECT belay.create_hub('orch_turns', p_api => 'duroxide-pg');
SELECT belay.set_hub_option('orch_turns', 'max_clock_skew', '0');
SELECT orch_turns.start_orchestration('O', '', 'a', '1', 0, 1000);
SELECT out_lock_token AS token, pg_typeof(out_history), out_messages, out_history_after, out_last_event_id, out_locked_until FROM orch_turns.ack_and_fetch_turns('{}', 1000, p_max_turns => 5, p_lock_timeout_ms => 1000) \gset
SELECT out_outcome_index, out_error, out_reason, out_error_message FROM orch_turns.ack_and_fetch_turns(ARRAY['x', :'token', :'token'], 1500, '{1,1,1}', p_metadata => ARRAY['{}', '{"orchestration_name":"O","orchestration_version":"1"}', '{}']::jsonb[]);
SELECT instance_id, orchestration_name FROM orch_turns.instances;
SELECT belay.drop_hub('orch_turns', true);
