-- Api duroxide-pg: the values that differ from api belay: jsonb columns, and seconds.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('api_payloads', p_api => 'duroxide-pg');
SELECT belay.set_hub_option('api_payloads', 'max_clock_skew', '0');  -- these tests choose the time
CREATE PROCEDURE pg_temp.send(instance text, item text, at_ms bigint DEFAULT 1000) LANGUAGE sql AS $$
    SELECT api_payloads.enqueue_orchestrator_work(instance, item, to_timestamp(at_ms / 1000.0))
$$;
CREATE FUNCTION pg_temp.start(instance text) RETURNS text LANGUAGE sql AS $$
    SELECT format('{"StartOrchestration":{"instance":"%s","orchestration":"O","input":"","version":"1","parent_instance":null,"parent_id":null,"execution_id":1}}', instance)
$$;
-- The elements of a result column: their types, and what a string holds.
CREATE FUNCTION pg_temp.elements(list jsonb) RETURNS TABLE (nr bigint, type text, content text) LANGUAGE sql AS $$
    SELECT nr, jsonb_typeof(e), e #>> '{}' FROM jsonb_array_elements(list) WITH ORDINALITY AS l (e, nr)
$$;

---- Texts that jsonb cannot hold (JS-2)

-- An escaped NUL is legal in a payload. Such an item or event comes as a string element that holds the stored text; those beside it
-- are not affected. An application that cannot decode a string reports that one turn, as it does for a corrupt one.
CALL pg_temp.send('i', pg_temp.start('i'));
CALL pg_temp.send('i', '{"ExternalRaised":{"instance":"i","name":"nul","data":"a\u0000b"}}');
CALL pg_temp.send('i', '{"ExternalRaised": {"name":"plain","instance":"i","data":"c","n":1.50}}');
SELECT * FROM api_payloads.fetch_orchestration_item(1000, 5000, NULL, NULL) \gset turn_
SELECT :'turn_out_history'::jsonb AS history, :'turn_out_kv_snapshot'::jsonb AS kv;
SELECT * FROM pg_temp.elements(:'turn_out_messages');
-- The text of an event stands in a string of the delta, so it may have one too.
SELECT api_payloads.ack_orchestration_item(:'turn_out_lock_token', 1100, 1, jsonb_build_array(
        jsonb_build_object('event_id', 1, 'event_type', 'Event', 'event_data', '{"event_id":1,"type":"OrchestrationStarted","name":"O","version":"1","input":"a\u0000b"}'),
        jsonb_build_object('event_id', 2, 'event_type', 'Event', 'event_data', '{"event_id":2,"type":"ExternalEvent","name":"plain","data":"c"}')),
    '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1","kv_mutations":[{"action":"set","key":"ключ/🔑","value":"{\"a\": 1}","last_updated_at_ms":7}],"status":"ContinuedAsNew"}', '[]');
CALL pg_temp.send('i', '{"ExternalRaised":{"instance":"i","name":"again","data":""}}');
SELECT * FROM api_payloads.fetch_orchestration_item(1200, 5000, NULL, NULL) \gset turn_
SELECT * FROM pg_temp.elements(:'turn_out_history');
SELECT * FROM pg_temp.elements(:'turn_out_messages');
SELECT :'turn_out_kv_snapshot'::jsonb AS kv;
-- The reading functions return texts, as stored.
SELECT out_event_data FROM api_payloads.fetch_history('i');
SELECT api_payloads.abandon_orchestration_item(:'turn_out_lock_token', 1200);

-- Stored texts of every bad kind, one message each, among good ones: no fetch fails, and each comes in its place.
DO $$
DECLARE
    bad text;
BEGIN
    FOREACH bad IN ARRAY ARRAY['', 'no JSON', '{"ExternalRaised":', '{"n":1e400000}', '{"s":"\ud800"}', '{"s":"\u0000"}', '{"s":"\u0000', repeat('[', 7000) || repeat(']', 7000)] LOOP
        PERFORM api_payloads.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i","name":"bad","data":""}}', to_timestamp(1));
        UPDATE api_payloads.orchestrator_queue SET work_item = bad WHERE id = (SELECT max(id) FROM api_payloads.messages);
        PERFORM api_payloads.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i","name":"good","data":""}}', to_timestamp(1));
    END LOOP;
END $$;
SELECT * FROM api_payloads.fetch_orchestration_item(1300, 5000, NULL, NULL) \gset turn_
SELECT type, left(content, 20) AS content, count(*) FROM pg_temp.elements(:'turn_out_messages') GROUP BY 1, 2 ORDER BY min(nr);
SELECT string_agg(type, ' ' ORDER BY nr) FROM pg_temp.elements(:'turn_out_messages');
SELECT api_payloads.ack_orchestration_item(:'turn_out_lock_token', 1300, 1, '[]', '[]', '[]', '{}', '[]');

-- JS-6: a value cannot hold a NUL.
CALL pg_temp.send('i', '{"ExternalRaised":{"instance":"i","name":"x","data":""}}');
SELECT out_lock_token AS token FROM api_payloads.fetch_orchestration_item(1400, 5000, NULL, NULL) \gset
SELECT test.refused(format($$SELECT api_payloads.ack_orchestration_item(%L, 1400, 1, %L, '[]', '[]', '{}', '[]')$$, :'token',
    jsonb_build_array(jsonb_build_object('event_id', 9, 'event_type', 'Event', 'event_data', '{"event_id":9,"type":"KeyValueSet","key":"k","value":"\u0000"}'))));
SELECT api_payloads.abandon_orchestration_item(:'token', 1400);

---- Renewal in seconds

-- A turn leased until 7000. A caller that rounds 900 ms down to 0 seconds does not lose its lease; the later deadline counts.
SELECT out_lock_token AS token FROM api_payloads.fetch_orchestration_item(2000, 5000, NULL, NULL) \gset
CREATE FUNCTION pg_temp.renew_turn(token text, now_ms bigint, secs bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM api_payloads.renew_orchestration_item_lock(token, now_ms, secs);
    RETURN (SELECT locked_until FROM api_payloads.instance_lock_states WHERE instance_id = 'i');
END $$;
SELECT now_ms, secs, pg_temp.renew_turn(:'token', now_ms, secs) AS locked_until FROM (VALUES (1, 2000, 0), (2, 3000, 3), (3, 6999, 0), (4, 3000, 4), (5, 3000, 5), (6, 7500, 1)) AS v (nr, now_ms, secs) ORDER BY nr;
-- NULL and negative seconds are refused, and change nothing.
SELECT test.refused(format('SELECT api_payloads.renew_orchestration_item_lock(%L, 8000, %L)', :'token', secs)) FROM unnest('{NULL,-1}'::bigint[]) AS secs;
-- Seconds without end are a lease without end.
SELECT pg_temp.renew_turn(:'token', 8000, 9223372036854775807) > 9000000000000 AS far_away;
SELECT api_payloads.abandon_orchestration_item(:'token', 8000);
SELECT out_lock_token AS token FROM api_payloads.fetch_orchestration_item(8000, 1000, NULL, NULL) \gset
-- A lapsed lease is not revived.
SELECT test.refused(format('SELECT api_payloads.renew_orchestration_item_lock(%L, 9000, %s)', :'token', secs)) FROM unnest('{0,5}'::int[]) AS secs;

-- The same for an activity, here one with a session: a renewal also keeps its session from being idle.
SELECT api_payloads.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"A","input":"","session_id":"s"}}', 10000, 'i', 1, 2, 's', NULL);
SELECT out_lock_token AS token FROM api_payloads.fetch_work_item(10000, 5000, 'w', 60000, '{}', 'default_only') \gset
CREATE FUNCTION pg_temp.renew_work(token text, now_ms bigint, secs bigint) RETURNS TABLE (locked_until bigint, last_activity_at bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM api_payloads.renew_work_item_lock(token, now_ms, secs);
    RETURN QUERY SELECT w.locked_until, s.last_activity_at FROM api_payloads.work_items AS w, api_payloads.sessions AS s;
END $$;
SELECT now_ms, secs, r.* FROM (VALUES (1, 10000, 0), (2, 11000, 3), (3, 14999, 0), (4, 14999, 1), (5, 15500, 30)) AS v (nr, now_ms, secs), pg_temp.renew_work(:'token', now_ms, secs) AS r ORDER BY nr;
SELECT test.refused(format('SELECT api_payloads.renew_work_item_lock(%L, 16000, %L)', :'token', secs)) FROM unnest('{NULL,-1}'::bigint[]) AS secs;
SELECT locked_until > 9000000000000 AS far_away FROM pg_temp.renew_work(:'token', 16000, 9223372036854775807);
SELECT api_payloads.abandon_work_item(:'token', 16000);
SELECT out_lock_token AS token FROM api_payloads.fetch_work_item(17000, 1000, 'w', 60000, '{}', 'default_only') \gset
SELECT test.refused(format('SELECT api_payloads.renew_work_item_lock(%L, 18000, %s)', :'token', secs)) FROM unnest('{0,5}'::int[]) AS secs;
-- What belay adds takes milliseconds here too.
SELECT api_payloads.abandon_work_item(:'token', 18000);
SELECT out_lock_token AS token FROM api_payloads.fetch_work_item(18000, 1000, 'w', 60000, '{}', 'default_only') \gset
SELECT out_renewed, out_locked_until FROM api_payloads.renew_work_item_locks(ARRAY[:'token'], 18000, 900);

SELECT belay.drop_hub('api_payloads', true);
