-- Broken payloads: with any content of history or queue, a fetch succeeds, and no other instance notices.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_broken');
SELECT belay.set_hub_option('orch_broken', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_broken');
CREATE PROCEDURE pg_temp.raise(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_broken.raise_event(instance, name, '', false, now_ms) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_broken.orchestrator_queue, orch_broken.instance_locks, orch_broken.instances, orch_broken.executions, orch_broken.history_turns, orch_broken.dead_letters, lease $$;
CREATE PROCEDURE pg_temp.instance(instance text) LANGUAGE sql AS $$ INSERT INTO orch_broken.instances VALUES (instance, 'O', '1', 1, NULL, NULL, 0, now(), now()) $$;
CREATE PROCEDURE pg_temp.history(instance text, VARIADIC events text[]) LANGUAGE sql AS $$
    INSERT INTO orch_broken.history_turns SELECT 1, nr, nr, now(), instance, ARRAY['x'], ARRAY[e] FROM unnest(events) WITH ORDINALITY AS u (e, nr)
$$;
-- The texts that jsonb cannot represent, and why.
CREATE TEMP TABLE broken (nr int, why text, broken text);
INSERT INTO broken VALUES (1, 'not JSON', 'garbage "é'), (2, 'empty', ''), (3, 'cut off', '{"event_id":1'), (4, 'more than one', '{} {}'), (5, 'escaped NUL', '{"a":"\u0000"}'),
    (6, 'lone surrogate', '{"a":"\ud800x"}'), (7, 'number out of range', '{"a":1e999999}'), (8, 'too deep', repeat('[', 6001) || repeat(']', 6001)),
    (9, 'control character', E'{"a":"\t"}'), (10, 'duplicate escapes', '{"a":"\u0000","b":"\udead"}'), (11, 'not a JSON number', '{"a":01}'), (12, 'NaN', '{"a":NaN}');
-- The texts that are JSON, though of no known shape: JS-4.
CREATE TEMP TABLE strange (nr int, strange text);
INSERT INTO strange VALUES (1, '{}'), (2, '7'), (3, 'null'), (4, '[1, 2]'), (5, '"text"'), (6, ' {"a" : 1.50,  "a":2, "b":1e3} '), (7, '{"\u0041":"\u00e9\ud83d\ude00"}'), (8, repeat('[', 6000) || repeat(']', 6000)),
    (9, '{"type":7}'), (10, '1e131071'), (11, '-0');

---- History

-- FO-19, JS-2: the item is returned, with the lease held and the attempt counted. The bad event is a string that holds the stored text; the others are as they were, byte for byte.
CALL pg_temp.instance('i');
CALL pg_temp.history('i', '{"event_id":1,"type":"OrchestrationStarted","name":"O"}', 'garbage', E'{"event_id":3,\n "n":1.50}', '{"event_id":4,"input":"\u0000"}', '{}');
CALL pg_temp.raise('i', 'go', 1000);
SELECT history, attempt_count FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT locked_until FROM orch_broken.instance_lock_states;
CALL pg_temp.clear();
-- Every one of them, alone in its history: a string, equal to what is stored. The result can be cast to jsonb. FO-21: none is in the way of another.
SELECT count(orch_broken.raise_event('b' || nr, 'go', '', false, 1000)) FROM broken;
INSERT INTO orch_broken.history_turns SELECT 1, 1, 1, now(), 'b' || nr, ARRAY['x'], ARRAY[broken] FROM broken;
SELECT b.nr, b.why, json_typeof(f.history -> 0) AS type, f.history ->> 0 = b.broken AS equal, jsonb_array_length(f.history::jsonb) AS length, f.attempt_count AS attempt
  FROM generate_series(1, 12) AS n, LATERAL (SELECT * FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000 + n - n)) AS f JOIN broken AS b ON f.instance_id = 'b' || b.nr ORDER BY b.nr;
CALL pg_temp.clear();
-- JS-4: strange ones come as they are.
SELECT count(orch_broken.raise_event('s' || nr, 'go', '', false, 1000)) FROM strange;
INSERT INTO orch_broken.history_turns SELECT 1, 1, 1, now(), 's' || nr, ARRAY['x'], ARRAY[strange] FROM strange;
SELECT s.nr, json_typeof(f.history -> 0) AS type, f.history::text = '[' || s.strange || ']' AS as_stored, jsonb_array_length(f.history::jsonb) AS length
  FROM generate_series(1, 11) AS n, LATERAL (SELECT * FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000 + n - n)) AS f JOIN strange AS s ON f.instance_id = 's' || s.nr ORDER BY s.nr;
CALL pg_temp.clear();
-- The client's way out: an ack works on corrupt history (AO-11) and reports the failure.
CALL pg_temp.instance('i');
CALL pg_temp.history('i', 'garbage');
CALL pg_temp.raise('i', 'go', 1000);
SELECT events FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(99999, 'OrchestrationFailed', '{"details":"deserialization failed"}')), '{"status":"Failed","output":"deserialization failed"}');
SELECT event_id, event_data FROM orch_broken.history ORDER BY event_id;
SELECT status, output FROM orch_broken.executions;
CALL pg_temp.clear();

---- Messages

-- FO-20: an undecodable message is delivered in the same way, in its place.
CALL pg_temp.instance('i');
SELECT count(orch_broken.raise_event('i', 'n' || n, '', false, 1000)) FROM generate_series(1, 5) AS n;
UPDATE orch_broken.orchestrator_queue SET work_item = 'garbage' WHERE work_item LIKE '%n2%';
UPDATE orch_broken.orchestrator_queue SET work_item = '7' WHERE work_item LIKE '%n4%';
SELECT orch_broken.enqueue_orchestrator_work(NULL, '{"QueueMessage":{"instance":"i","data":"\u0000"}}', to_timestamp(1));
SELECT messages FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000);
CALL pg_temp.clear();
SELECT count(orch_broken.raise_event('b' || nr, 'go', '', false, 1000)) FROM broken;
SELECT count(orch_broken.append_history('b' || nr, 1, '[{"event_id":1,"event_data":"{}"}]')) FROM broken;
UPDATE orch_broken.orchestrator_queue AS q SET work_item = broken FROM broken AS b WHERE q.instance_id = 'b' || b.nr;
SELECT b.nr, b.why, json_typeof(f.messages -> 0) AS type, f.messages ->> 0 = b.broken AS equal, jsonb_array_length(f.messages::jsonb) AS length, f.attempt_count AS attempt
  FROM generate_series(1, 12) AS n, LATERAL (SELECT * FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000 + n - n)) AS f JOIN broken AS b ON f.instance_id = 'b' || b.nr ORDER BY b.nr;
CALL pg_temp.clear();
-- A start that cannot be read is a start all the same (its kind is kept beside it): the instance has a turn, under the name Unknown.
SELECT orch_broken.start_orchestration('O', '', 'i', NULL, 0, 1000);
UPDATE orch_broken.orchestrator_queue SET work_item = 'garbage';
SELECT name, version, execution, messages, attempt FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- JS-5: a bad field elsewhere does no harm to the fields that are read.
SELECT orch_broken.enqueue_orchestrator_work(NULL, '{"StartOrchestration":{"x":1e999999,"instance":"i","y":"\u0000\ud800","orchestration":"\u004f","version":"1"}}', to_timestamp(1));
SELECT name, version, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- A poison rule works on what cannot be read, and the text goes where it goes; the rest is delivered.
SELECT belay.set_hub_option('orch_broken', 'max_attempts', '1');
CALL pg_temp.instance('i');
CALL pg_temp.raise('i', 'bad', 1000);
UPDATE orch_broken.orchestrator_queue SET work_item = E'garbage \\u0000';
SELECT messages, attempt FROM pg_temp.fetch(1000);
CALL pg_temp.raise('i', 'good', 1500);
SELECT messages, attempt FROM pg_temp.fetch(2000);
SELECT work_item, attempt_count, reason FROM orch_broken.dead_letters;
SELECT belay.set_hub_option('orch_broken', 'max_attempts', NULL);
CALL pg_temp.clear();
-- FO-21: one bad row never affects another instance: before it or behind it.
SELECT count(orch_broken.start_orchestration('O', '', i, NULL, 0, 1000)) FROM unnest('{a,b,c}'::text[]) AS i;
UPDATE orch_broken.orchestrator_queue SET work_item = 'garbage' WHERE instance_id = 'b';
CALL pg_temp.history('b', 'garbage');
SELECT instance, name FROM pg_temp.fetch(1000);
SELECT instance, name FROM pg_temp.fetch(1000);
SELECT instance, name FROM pg_temp.fetch(1000);
-- Each is finished in its own way.
CALL pg_temp.ack('a', 1000);
SELECT orch_broken.abandon_orchestration_item(pg_temp.token('b'), 100, p_now_ms => 1000);
CALL pg_temp.ack('c', 1000);
CALL pg_temp.clear();

-- Garbage in the key/value tables is text like any other.
INSERT INTO orch_broken.kv_store VALUES ('i', E'\\u0000"\n\x01', E'{"\\ud800\x02', 1, -9223372036854775808);
SELECT orch_broken.start_orchestration('O', '', 'i', NULL, 0, 1000);
SELECT kv_snapshot, kv_snapshot -> E'\\u0000"\n\x01' ->> 'value' = E'{"\\ud800\x02' AS equal FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000);
TRUNCATE orch_broken.kv_store;
CALL pg_temp.clear();

---- FO-22: size

-- A history larger than 64 MiB comes as NULL, with the lease granted; to the byte. The client pages it.
CALL pg_temp.instance('full');
CALL pg_temp.instance('over');
INSERT INTO orch_broken.history_turns SELECT 1, n, n, now(), i, ARRAY['x'], ARRAY['"' || repeat('x', 1048574 + CASE WHEN i = 'over' AND n = 64 THEN 1 ELSE 0 END) || '"'] FROM unnest('{full,over}'::text[]) AS i, generate_series(1, 64) AS n;
CALL pg_temp.raise('full', 'go', 1000);
CALL pg_temp.raise('over', 'go', 1001);
SELECT instance_id, history IS NULL AS too_large, octet_length(history::text) AS bytes, messages IS NOT NULL AND lock_token IS NOT NULL AS leased
  FROM generate_series(1, 2) AS n, LATERAL (SELECT * FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 2000 + n - n)) AS f;
SELECT count(*), max(event_id) FROM orch_broken.read_history('over', p_limit => 10);
-- Bytes, not characters, count: half as many of two bytes each.
CALL pg_temp.instance('bytes');
INSERT INTO orch_broken.history_turns SELECT 1, n, n, now(), 'bytes', ARRAY['x'], ARRAY['"' || repeat('é', 1048576) || '"'] FROM generate_series(1, 33) AS n;
CALL pg_temp.raise('bytes', 'go', 1002);
SELECT instance, events FROM pg_temp.fetch(2000);
CALL pg_temp.clear();
-- Without a row the name is found all the same, wherever the start stands.
INSERT INTO orch_broken.history_turns SELECT 1, n, n, now(), i, ARRAY['x'], ARRAY['{"a":"' || repeat('x', 1048576) || '"}'] FROM unnest('{first,last}'::text[]) AS i, generate_series(2, 66) AS n;
INSERT INTO orch_broken.history_turns VALUES (1, 1, 1, now(), 'first', ARRAY['x'], ARRAY['{"type":"OrchestrationStarted","name":"First","version":"1"}']), (1, 99999, 99999, now(), 'last', ARRAY['x'], ARRAY['{"type":"OrchestrationStarted","name":"Last","version":"2"}']);
CALL pg_temp.raise('first', 'go', 1000);
CALL pg_temp.raise('last', 'go', 1001);
SELECT instance, name, version, events FROM pg_temp.fetch(2000);
SELECT instance, name, version, events FROM pg_temp.fetch(2000);
-- An ack of such a turn is an ordinary one.
CALL pg_temp.ack('first', 2000, jsonb_build_array(test.event(100, 'x')));
CALL pg_temp.clear();

---- Input

-- JS-1: a delta is checked for syntax. JS-6: an escaped NUL in what is stored in a column is refused; AO-12: elsewhere it is kept.
SELECT orch_broken.start_orchestration('O', '', 'i', NULL, 0, 1000);
SELECT instance FROM pg_temp.fetch(1000);
SELECT delta, test.refused(format('CALL pg_temp.ack(''i'', 1000, %L)', delta)) FROM unnest(ARRAY[
    '[{"event_id":1,"event_data":"garbage"}]', '[{"event_id":1,"event_data":"[]"}]', '[{"event_id":1,"event_data":{}}]', '[{"event_id":1}]', '[{"event_data":"{}"}]', '[7]', '{}',
    '[{"event_id":0,"event_data":"{}"}]', '[{"event_id":-1,"event_data":"{}"}]', '[{"event_id":"1","event_data":"{}"}]', '[{"event_id":1.5,"event_data":"{}"}]',
    '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"\\u0000\",\"value\":\"v\"}"}]',
    '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\",\"value\":\"\\u0000\"}"}]',
    '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\"}"}]', '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"value\":\"v\"}"}]',
    '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":7,\"value\":\"v\"}"}]', '[{"event_id":1,"event_data":"{\"type\":\"KeyValueCleared\"}"}]',
    '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\",\"value\":\"v\",\"last_updated_at_ms\":\"x\"}"}]',
    '[{"event_id":1,"event_data":"{\"type\":\"CustomStatusUpdated\",\"status\":\"\\u0000\"}"}]', '[{"event_id":1,"event_data":"{\"type\":\"CustomStatusUpdated\",\"status\":7}"}]']) AS delta;
-- (In jsonb itself there is no escaped NUL, so metadata cannot hold one.)
CALL pg_temp.ack('i', 1000, '[{"event_id":1,"event_type":"Given","event_data":" {\"type\":\"Own\",\"input\":\"\\u0000\",\"n\":1e999999,\"x\":\"\\ud800\"}"},
                              {"event_id":2,"event_type":"Given","event_data":"{\"type\":\"\\u0000\"}"}, {"event_id":3,"event_type":"Given","event_data":"{}"}, {"event_id":4,"event_data":"{\"type\":7}"}]',
    '{"orchestration_name":"O","orchestration_version":"1"}',
    -- JS-7: an item may be a string: stored byte for byte. An object is stored as PostgreSQL prints it.
    '[" {\"QueueMessage\":{\"instance\":\"i\",\"data\":\"\\u0000\"}}", {"QueueMessage":{"instance":"i","name":"n","n":1.50,"n":2.50}}]',
    '[" {\"ActivityExecute\":{\"instance\":\"i\",\"input\":\"\\u0000\"}}", {"ActivityExecute":{"instance":"i","n":1.50}}]');
-- DM-2: event_type is the event's own type; the caller's word only where there is none that can be read. RH-5, DM-1: the bytes are kept.
SELECT event_id, event_type, event_data FROM orch_broken.history ORDER BY event_id;
SELECT work_item FROM orch_broken.work_items ORDER BY id;
SELECT history, messages FROM orch_broken.fetch_orchestration_item(1000, p_now_ms => 1000);

SELECT belay.drop_hub('orch_broken', true);
