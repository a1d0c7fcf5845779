-- Reading and appending history: fetch_history, fetch_history_with_execution, read_history, append_history.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_history');
SELECT belay.set_hub_option('orch_history', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_history');
CREATE PROCEDURE pg_temp.append(instance text, execution bigint, VARIADIC ids bigint[]) LANGUAGE sql AS $$
    SELECT orch_history.append_history(instance, execution, (SELECT jsonb_agg(jsonb_build_object('event_id', id, 'event_data', format('{"e":%s,"i":%s,"type":"T"}', execution, id)) ORDER BY nr) FROM unnest(ids) WITH ORDINALITY AS u (id, nr)))
$$;

---- Reading

-- RH-3: in the order of event ids; histories of executions are separate. RH-1: the latest execution is the greatest in executions.
CALL pg_temp.append('i', 1, 2, 1, 10);
CALL pg_temp.append('i', 3, 1, 99999);
SELECT * FROM orch_history.fetch_history('i');
-- RH-2: one of them.
SELECT * FROM orch_history.fetch_history_with_execution('i', 1);
SELECT * FROM orch_history.fetch_history_with_execution('i', 2);
-- RH-1: greatest in executions: one without events makes the latest history empty; no execution at all means 1.
INSERT INTO orch_history.executions VALUES ('i', 7, 'Running', NULL, now(), NULL);
SELECT * FROM orch_history.fetch_history('i');
SELECT execution_id, event_id FROM orch_history.read_history('i');
DELETE FROM orch_history.executions WHERE execution_id = 7;
INSERT INTO orch_history.history_turns VALUES (1, 1, 1, now(), 'bare', ARRAY['T'], ARRAY['one']), (2, 1, 1, now(), 'bare', ARRAY['T'], ARRAY['two']);
SELECT * FROM orch_history.fetch_history('bare');
SELECT event_data FROM orch_history.read_history('bare');
-- It does not depend on the instance row, nor on its current execution.
INSERT INTO orch_history.instances VALUES ('i', 'O', '1', 1, NULL, NULL, 0, now(), now());
SELECT * FROM orch_history.fetch_history('i');
DELETE FROM orch_history.instances;
-- RH-4: unknown instance or execution: no rows, no error.
SELECT * FROM orch_history.fetch_history('nobody');
SELECT * FROM orch_history.fetch_history(NULL);
SELECT * FROM orch_history.fetch_history_with_execution('nobody', 1);
SELECT * FROM orch_history.fetch_history_with_execution('i', -1);
SELECT * FROM orch_history.fetch_history_with_execution('i', NULL);
SELECT * FROM orch_history.fetch_history_with_execution(NULL, 1);
SELECT * FROM orch_history.read_history('nobody');
SELECT * FROM orch_history.read_history(NULL);
SELECT * FROM orch_history.read_history('i', 2);

-- RH-6: pages: events after an id, at most so many.
SELECT execution_id, event_id, event_type, event_data, created_at = (SELECT h.created_at FROM orch_history.history AS h WHERE h.instance_id = 'i' AND h.execution_id = r.execution_id AND h.event_id = r.event_id) AS created FROM orch_history.read_history('i') AS r;
SELECT execution_id, event_id FROM orch_history.read_history('i', 1, NULL, 2);
SELECT execution_id, event_id FROM orch_history.read_history('i', 1, 2, 2);
SELECT execution_id, event_id FROM orch_history.read_history('i', 1, 10, 2);
SELECT execution_id, event_id FROM orch_history.read_history('i', p_after_event_id => 1);
SELECT execution_id, event_id FROM orch_history.read_history('i', 1, 9223372036854775807);
SELECT execution_id, event_id FROM orch_history.read_history('i', 1, -5, 2147483647);
SELECT limits, test.refused(format('SELECT * FROM orch_history.read_history(''i'', 1, NULL, %s)', limits)) FROM unnest(ARRAY[0, -1]) AS limits;

-- RH-5: texts are returned as stored, byte for byte. A corrupt event is neither skipped nor repaired.
INSERT INTO orch_history.history_turns SELECT 1, nr, nr, now(), 'corrupt', ARRAY['x'], ARRAY[t] FROM unnest(ARRAY['{"a" : 1.50, "a":2}', 'garbage', '', ' {"\u0000":"\ud800"} ', E'{\n}', '{"n":1e999999}']) WITH ORDINALITY AS u (t, nr);
SELECT count(*) AS events, array_agg(event_data) = (SELECT array_agg(event_data ORDER BY event_id) FROM orch_history.history WHERE instance_id = 'corrupt') AS as_stored FROM orch_history.fetch_history('corrupt');
SELECT count(*) AS events, bool_and(r.event_data = h.event_data) AS as_stored FROM orch_history.read_history('corrupt') AS r JOIN orch_history.history AS h USING (event_id) WHERE h.instance_id = 'corrupt';
-- A megabyte is no matter.
SELECT orch_history.append_history('large', 1, jsonb_build_array(jsonb_build_object('event_id', 1, 'event_data', '{"a":"' || repeat('é', 1000000) || '"}')));
SELECT octet_length(event_data) FROM orch_history.fetch_history('large');
-- RH-7: during a turn, too; and in a transaction that may not write.
SELECT orch_history.start_orchestration('O', '', 'i', '1', 0, 1000);
SELECT events FROM pg_temp.fetch(1000);
BEGIN READ ONLY;
SELECT count(*) FROM orch_history.fetch_history('i');
SELECT count(*) FROM orch_history.fetch_history_with_execution('i', 1);
SELECT count(*) FROM orch_history.read_history('i');
SELECT count(*) FROM orch_history.get_custom_status('i', 0);
SELECT count(*) FROM orch_history.get_kv_value('i', 'k');
SELECT count(*) FROM orch_history.get_kv_all_values('i');
COMMIT;
-- They take no row locks: nothing of the tables was written.
SELECT count(*) AS locked FROM orch_history.history_turns WHERE xmax <> 0;

---- append_history

-- RH-8, CL-11: it creates the execution row, Running, if it is missing, and no instance. created_at is the server's clock.
CALL pg_temp.append('new', 4, 5);
SELECT execution_id, status, output, completed_at, clock_timestamp() - started_at BETWEEN '-1 s' AND '1 min' AS now FROM orch_history.executions WHERE instance_id = 'new';
SELECT event_id, event_type, clock_timestamp() - created_at BETWEEN '-1 s' AND '1 min' AS now FROM orch_history.history WHERE instance_id = 'new';
SELECT count(*) FROM orch_history.instances WHERE instance_id = 'new';
-- An existing one is left as it is.
UPDATE orch_history.executions SET status = 'Completed', output = 'o', started_at = to_timestamp(1), completed_at = to_timestamp(2), duroxide_version_major = 1 WHERE instance_id = 'new';
SELECT to_jsonb(e) AS before FROM orch_history.executions AS e WHERE instance_id = 'new' \gset
CALL pg_temp.append('new', 4, 6);
SELECT to_jsonb(e) = :'before'::jsonb AS unchanged FROM orch_history.executions AS e WHERE instance_id = 'new';
-- It does not touch queues (a turn in progress goes on), custom status or key/value state.
INSERT INTO orch_history.instances VALUES ('i', 'O', '1', 1, NULL, 'status', 5, to_timestamp(1), to_timestamp(1));
SELECT orch_history.append_history('i', 8, jsonb_build_array(test.event(1, 'CustomStatusUpdated', '{"status":"x"}'), test.event(2, 'KeyValueSet', '{"key":"k","value":"v"}')));
SELECT current_execution_id, custom_status, custom_status_version, updated_at = created_at AS not_touched FROM orch_history.instances;
SELECT (SELECT count(*) FROM orch_history.kv_delta) AS delta, (SELECT count(*) FROM orch_history.messages WHERE lock_token IS NOT NULL) AS leased;
CALL pg_temp.ack('i', 1000);
-- Not even a malformed change of state is judged here.
SELECT orch_history.append_history('i', 8, jsonb_build_array(test.event(3, 'KeyValueSet', '{"key":7}')));

-- QB005: a duplicate, stored or in the call; nothing is added, no execution made.
SELECT test.error('CALL pg_temp.append(''i'', 1, 50, 10, 51)');
SELECT test.refused('CALL pg_temp.append(''i'', 9, 1, 2, 1, 2)');
SELECT event_id FROM orch_history.read_history('i', 1);
SELECT count(*) AS executions FROM orch_history.executions WHERE execution_id = 9;
-- An id of another execution, or of another instance, is another id.
CALL pg_temp.append('i', 2, 10);
CALL pg_temp.append('I', 1, 10);
-- AO-12: what is refused.
SELECT arguments, test.refused(format('SELECT orch_history.append_history(%s)', arguments)) FROM unnest(ARRAY['NULL, 1, ''[]''', ''''', 1, ''[]''', 'repeat(''x'', 1025), 1, ''[]''', '''i'', 0, ''[]''', '''i'', -1, ''[]''', '''i'', NULL, ''[]''',
    '''i'', 1, ''{}''', '''i'', 1, ''[7]''', '''i'', 1, ''[{"event_id":0,"event_data":"{}"}]''', '''i'', 1, ''[{"event_id":-7,"event_data":"{}"}]''', '''i'', 1, ''[{"event_data":"{}"}]''', '''i'', 1, ''[{"event_id":60}]''', '''i'', 1, ''[{"event_id":60,"event_data":{}}]''',
    '''i'', 1, ''[{"event_id":60,"event_data":"[]"}]''', '''i'', 1, ''[{"event_id":60,"event_data":"{}"}, {"event_id":61,"event_data":"nonsense"}]''']) AS arguments;
SELECT event_id FROM orch_history.read_history('i', 1);
-- NULL or empty: nothing but the execution.
SELECT orch_history.append_history('empty', 1, '[]'), orch_history.append_history('null', 1, NULL);
SELECT instance_id, status FROM orch_history.executions WHERE instance_id IN ('empty', 'null') ORDER BY 1;

---- How events are stored

-- RH-9: the events of a turn whose ids are consecutive are one row, in any order; rows never overlap, so what comes later may fill a gap.
CALL pg_temp.append('packed', 1, 3, 1, 2, 8, 9);
CALL pg_temp.append('packed', 1, 10, 5, 4);
CALL pg_temp.append('packed', 1, 7);
SELECT first_event_id, last_event_id, event_types, event_data FROM orch_history.history_turns WHERE instance_id = 'packed' ORDER BY last_event_id;
SELECT event_id, event_type, event_data FROM orch_history.history WHERE instance_id = 'packed' ORDER BY event_id;
-- From and to any event, whether a row begins there or not.
SELECT a AS after, (SELECT string_agg(h.event_id::text, ' ' ORDER BY nr) FROM orch_history.read_history('packed', 1, a) WITH ORDINALITY AS h (x, event_id, t, d, c, nr)) AS all_of_them,
       (SELECT string_agg(h.event_id::text, ' ' ORDER BY nr) FROM orch_history.read_history('packed', 1, a, 2) WITH ORDINALITY AS h (x, event_id, t, d, c, nr)) AS two FROM generate_series(0, 10) AS a;
CREATE FUNCTION pg_temp.browsed(o text, size int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    page jsonb;
    at text;
    found text;
BEGIN
    LOOP
        page := orch_history.browse_history('packed', 1, '{}', o, at, size);
        found := concat_ws(' ', found, (SELECT string_agg(concat(r ->> 'event_id', r ->> 'type', r ->> 'event_data' = format('{"e":1,"i":%s,"type":"T"}', r ->> 'event_id')), ' ' ORDER BY nr) FROM jsonb_array_elements(page -> 'rows') WITH ORDINALITY AS u (r, nr)));
        at := page ->> 'next';
        EXIT WHEN at IS NULL;
    END LOOP;
    RETURN found;
END $$;
SELECT o, size, pg_temp.browsed(o, size) FROM unnest('{newest,oldest}'::text[]) AS o, unnest('{1,2,4,100}'::int[]) AS size;
SELECT e, orch_history.read_body('history', 'packed', '1/' || e) ->> 'body' AS body FROM unnest('{1,2,5,6,7,11}'::int[]) AS e;
-- QB005: each event that is there counts, in the middle of a row, too; nothing is added.
SELECT test.refused(format('CALL pg_temp.append(''packed'', 1, %s)', ids)) FROM unnest('{"2","6, 2, 4","11, 9, 10, 8","1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11","6, 6, 5"}'::text[]) AS ids;
SELECT count(*), sum(event_id) FROM orch_history.history WHERE instance_id = 'packed';
CALL pg_temp.append('packed', 1, 6);
SELECT event_count, (SELECT count(*) FROM orch_history.fetch_history('packed')) AS events FROM orch_history.get_execution_info('packed', 1);
-- What a row's events take as jsonb is known from their ack on, unless one cannot be jsonb; then a fetch need not read them again.
SELECT orch_history.append_history('known', 1, '[{"event_id":1,"event_data":"{\"a\":[1,2]}"},{"event_id":2,"event_data":"{}"}]'), orch_history.append_history('known', 1, '[{"event_id":3,"event_data":"{\"a\":\"\\u0000\"}"},{"event_id":4,"event_data":"{}"}]');
SELECT last_event_id, jsonb_bytes >= (SELECT sum(pg_column_size(e::jsonb)) FROM unnest(event_data) AS e WHERE e !~ 'u0000') AS enough FROM orch_history.history_turns WHERE instance_id = 'known' ORDER BY 1;
SELECT orch_history.start_orchestration('O', '', 'known', '1');
CREATE FUNCTION pg_temp.fetched() RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    turn record;
BEGIN
    SELECT * INTO turn FROM orch_history.fetch_orchestration_item(1000);
    PERFORM orch_history.abandon_orchestration_item(turn.lock_token, p_ignore_attempt => true);
    RETURN turn.history;
END $$;
SELECT pg_temp.fetched() AS history;
-- It is believed: a text that the owner puts there instead is handed out as it stands. Without it the text is looked at.
UPDATE orch_history.history_turns SET event_data[1] = '{"a":"\u0000"}' WHERE instance_id = 'known' AND last_event_id = 2;
SELECT pg_temp.fetched() AS history;
UPDATE orch_history.history_turns SET jsonb_bytes = NULL WHERE instance_id = 'known';
SELECT pg_temp.fetched() AS history;
-- Longer texts of a turn are compressed, if the server has LZ4.
SELECT orch_history.append_history('long', 1, (SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_data', json_build_object('x', repeat('x', 60))::text)) FROM generate_series(1, 5) AS e)), orch_history.append_history('long', 1, '[{"event_id":6,"event_data":"{}"}]');
SELECT last_event_id, pg_column_compression(event_data) IS NOT DISTINCT FROM CASE WHEN last_event_id = 5 AND 'lz4' = ANY (s.enumvals) THEN 'lz4' END AS as_expected FROM orch_history.history_turns, pg_settings AS s WHERE instance_id = 'long' AND s.name = 'default_toast_compression' ORDER BY 1;
SELECT event_id, event_data FROM orch_history.read_history('long', 1) WHERE event_id IN (1, 5, 6);
-- A row has no more than 128 events and 64 KiB, or one event.
SELECT orch_history.append_history('much', 1, (SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_data', '{}')) FROM generate_series(1, 300) AS e));
SELECT orch_history.append_history('much', 2, (SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_data', json_build_object('x', repeat('x', CASE WHEN e = 5 THEN 100000 ELSE 16374 END))::text)) FROM generate_series(1, 8) AS e));
SELECT execution_id, first_event_id, last_event_id FROM orch_history.history_turns WHERE instance_id = 'much' ORDER BY 1, 2;
SELECT e, count(*), bool_and(event_id = nr) AS in_order, sum(octet_length(event_data)) AS bytes FROM generate_series(1, 2) AS e, orch_history.read_history('much', e) WITH ORDINALITY AS h (x, event_id, t, event_data, c, nr) GROUP BY e ORDER BY e;
-- AT-8: a turn has the events behind the one that the caller has cached, be it in the middle of a row.
SELECT orch_history.start_orchestration('O', '', 'cut', '1', 0, 1000);
SELECT lock_token FROM orch_history.ack_and_fetch_turns('{}', p_max_turns => 10, p_now_ms => 1000) WHERE instance_id = 'cut' \gset
SELECT count(error) AS errors FROM orch_history.ack_and_fetch_turns(ARRAY[:'lock_token'], '{1}', ARRAY[(SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_data', format('{"event_id":%s}', e))) FROM generate_series(1, 4) AS e)],
    p_metadata => ARRAY['{"orchestration_name":"O","orchestration_version":"1","cache":{"owner":"me","events":2}}'::jsonb], p_max_turns => 0, p_now_ms => 1000);
SELECT orch_history.raise_event('cut', 'go', '', false, 1000);
SELECT history, history_after, last_event_id FROM orch_history.ack_and_fetch_turns('{}', p_max_turns => 10, p_cache_owner => 'me', p_now_ms => 1000) WHERE instance_id = 'cut';
-- The table accepts nothing else from its owner.
SELECT s AS row, test.sqlstate('INSERT INTO orch_history.history_turns SELECT ' || s) FROM unnest(ARRAY[$$1, 2, 1, now(), 'z', '{}', '{}'$$, $$1, 1, 2, now(), 'z', '{T,T}', '{a}'$$, $$1, 1, 1, now(), 'z', '{T,T}', '{a}'$$, $$1, 1, 2, now(), 'z', '{T,NULL}', '{a,b}'$$, $$1, 1, 2, now(), 'z', '{T,T}', '{a,NULL}'$$]) AS s;

SELECT belay.drop_hub('orch_history', true);
