-- Key/value state: kv_delta for the changes of the current execution, kv_store for what finished ones left.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_kv');
SELECT belay.set_hub_option('orch_kv', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_kv');
-- A turn of an instance from 1000 on, acked at 1500, with these changes. Gives the snapshot that it was told.
CREATE FUNCTION pg_temp.turn(delta jsonb DEFAULT '[]', metadata jsonb DEFAULT '{}', execution bigint DEFAULT 1, instance text DEFAULT 'i') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    snapshot text;
BEGIN
    PERFORM orch_kv.start_orchestration('O', '', instance, '1', 0, 1000);
    SELECT kv INTO snapshot FROM pg_temp.fetch(1000) AS f WHERE f.instance = turn.instance;
    CALL pg_temp.ack(instance, 1500, coalesce(delta, '[]'), metadata, execution => execution);
    RETURN snapshot;
END $$;
CREATE TEMP SEQUENCE ids;
CREATE FUNCTION pg_temp.set(key text, value text, at bigint DEFAULT 7) RETURNS jsonb LANGUAGE sql AS $$ SELECT test.event(nextval('ids'), 'KeyValueSet', jsonb_build_object('key', key, 'value', value, 'last_updated_at_ms', at)) $$;
CREATE FUNCTION pg_temp.clear(key text) RETURNS jsonb LANGUAGE sql AS $$ SELECT test.event(nextval('ids'), 'KeyValueCleared', jsonb_build_object('key', key)) $$;
CREATE FUNCTION pg_temp.clear_all() RETURNS jsonb LANGUAGE sql AS $$ SELECT test.event(nextval('ids'), 'KeyValuesCleared') $$;
CREATE FUNCTION pg_temp.list(VARIADIC events jsonb[]) RETURNS jsonb LANGUAGE sql AS $$ SELECT to_jsonb(events) $$;
CREATE PROCEDURE pg_temp.reset() LANGUAGE sql AS $$ TRUNCATE orch_kv.kv_store, orch_kv.kv_delta, orch_kv.instances, orch_kv.executions, orch_kv.history_turns, orch_kv.orchestrator_queue, orch_kv.instance_locks, lease $$;
-- Both tables; a NULL in the delta is a tombstone.
CREATE VIEW test.orch_kv AS
    SELECT 'delta' AS place, instance_id, key, coalesce(value, '(tombstone)') AS value, NULL::bigint AS execution, last_updated_at_ms AS at FROM orch_kv.kv_delta
    UNION ALL SELECT 'store', instance_id, key, value, execution_id, last_updated_at_ms FROM orch_kv.kv_store ORDER BY 1, 2, 3;

---- The timeline of one key

-- Set "a" in execution 1: in the delta; a client reads it, the next turn is not told (I8). KV-1: with the event's own time.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', 'a', 11)), '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_value('i', 'k');
-- Ack ContinuedAsNew (KV-5): merged.
SELECT pg_temp.turn(metadata => '{"status":"ContinuedAsNew"}') AS snapshot;
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_value('i', 'k');
-- Set "b" in execution 2: over the store for readers, not for the turn.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', 'b', 22)), execution => 2) AS snapshot;
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_value('i', 'k');
-- Clear in execution 2 (KV-2): a tombstone, time now.
SELECT pg_temp.turn(pg_temp.list(pg_temp.clear('k')), execution => 2) AS snapshot;
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_value('i', 'k');
-- Ack Completed: gone.
SELECT pg_temp.turn(metadata => '{"status":"Completed"}', execution => 2) AS snapshot;
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_value('i', 'k');
SELECT pg_temp.turn(execution => 2) AS snapshot;
CALL pg_temp.reset();

---- Changes

-- KV-2: clearing an unknown key is no error. KV-13: a time that is absent is 0 in an event.
SELECT pg_temp.turn(pg_temp.list(pg_temp.clear('unknown'), test.event(nextval('ids'), 'KeyValueSet', '{"key":"no time","value":"v"}'), test.event(nextval('ids'), 'KeyValueSet', '{"key":"null time","value":"v","last_updated_at_ms":null}')));
SELECT * FROM test.orch_kv;
-- KV-4: events apply in the order of the delta.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', '1'), pg_temp.clear('k'), pg_temp.set('k', '2'), pg_temp.set('k', '3'), pg_temp.set('l', '1'), pg_temp.clear('l')));
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_all_values('i');
CALL pg_temp.reset();
-- KV-3: clear all: all delta rows become tombstones, and every store key without a delta row gets one; time now. A set after it wins.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('stored', 'a'), pg_temp.set('stored too', 'a')), '{"status":"Completed"}');
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('stored', 'b'), pg_temp.set('new', 'c')));
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('newer', 'd'), pg_temp.clear_all(), pg_temp.set('after', 'e'))) AS snapshot;
SELECT * FROM test.orch_kv;
SELECT * FROM orch_kv.get_kv_all_values('i');
-- KV-5: the merge copies the texts, deletes the tombstoned keys, and empties the delta.
SELECT pg_temp.turn(metadata => '{"status":"Failed"}', execution => 3);
SELECT * FROM test.orch_kv;
CALL pg_temp.reset();
-- KV-5: an ack with a terminal status applies its own changes first. An overwritten key is replaced, others stay.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('a', '1'), pg_temp.set('b', '1')), '{"status":"Completed"}');
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('a', '2', 8), pg_temp.set('c', '2', 8), pg_temp.clear('d')), '{"status":"ContinuedAsNew"}', 2);
SELECT * FROM test.orch_kv;
-- Without a terminal status nothing is merged: none at all, Running, an ack of another execution (KV-6).
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('a', '3')), execution => 3);
SELECT pg_temp.turn(metadata => '{"status":"Running"}', execution => 4);
SELECT pg_temp.turn(execution => 5);
SELECT * FROM test.orch_kv;
-- KV-6: the delta is the instance's: a terminal ack of any execution merges all of it.
SELECT pg_temp.turn(metadata => '{"status":"Completed"}', execution => 1);
SELECT * FROM test.orch_kv;
CALL pg_temp.reset();

---- Metadata (AO-15)

-- kv_mutations win over the events, each action like its event. KV-13: a time that is absent is now.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('event', 'x')), '{"kv_mutations":[{"action":"set","key":"k","value":"v","last_updated_at_ms":5},{"action":"set","key":"now","value":"v"},{"action":"set","key":"null","value":"v","last_updated_at_ms":null},
    {"action":"clear_key","key":"gone"}]}');
SELECT * FROM test.orch_kv;
SELECT pg_temp.turn(metadata => '{"kv_mutations":[{"action":"clear_all","key":"ignored"},{"action":"set","key":"k","value":"again","last_updated_at_ms":6}]}');
SELECT * FROM test.orch_kv;
-- An empty array counts as carried: the events change nothing. NULL does not.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', 'event')), '{"kv_mutations":[]}');
SELECT * FROM orch_kv.get_kv_value('i', 'k');
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', 'event')), '{"kv_mutations":null}');
SELECT * FROM orch_kv.get_kv_value('i', 'k');
-- Each for its own part: a custom status of metadata leaves key/value changes to the events.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', 'both')), '{"custom_status_action":"clear"}');
SELECT * FROM orch_kv.get_kv_value('i', 'k');
CALL pg_temp.reset();

---- Reads

-- KV-7, KV-9: a delta text wins, a tombstone means absent, otherwise the store. The empty string is a value; keys are arbitrary Unicode.
INSERT INTO orch_kv.kv_store VALUES ('i', 'store', 's', 1, 1), ('i', 'both', 'old', 1, 1), ('i', 'gone', 'old', 1, 1), ('i', 'empty', 'old', 1, 1), ('i', '😀 . / " é', 'emoji', 1, 1), ('i', '', 'empty key', 1, 1);
INSERT INTO orch_kv.kv_delta VALUES ('i', 'both', 'new', 2), ('i', 'gone', NULL, 2), ('i', 'empty', '', 2), ('i', 'never', NULL, 2), ('i', 'delta', 'd', 2);
SELECT k, value, value = '' AS empty, found FROM unnest(ARRAY['store', 'both', 'gone', 'empty', 'never', 'delta', '😀 . / " é', '', 'Store', 'unknown', NULL]) WITH ORDINALITY AS u (k, nr), LATERAL orch_kv.get_kv_value('i', k) ORDER BY nr;
SELECT * FROM orch_kv.get_kv_all_values('i') ORDER BY key COLLATE "C";
-- KV-8: unknown instances: one row that says not found, or no rows. Never an error.
SELECT * FROM orch_kv.get_kv_value('nobody', 'k');
SELECT * FROM orch_kv.get_kv_value(NULL, 'k');
SELECT * FROM orch_kv.get_kv_all_values('nobody');
SELECT * FROM orch_kv.get_kv_all_values(NULL);
-- KV-9: they come in as they are; a value of 64 KiB; a key of 1024 bytes, not more.
CALL pg_temp.reset();
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('😀 . / " é', E'\n\\'), pg_temp.set('', ''), pg_temp.set(repeat('k', 1024), repeat('é', 32768))), '{"status":"Completed"}');
SELECT left(key, 20) AS key, octet_length(key) AS key_bytes, octet_length(value) AS bytes FROM orch_kv.get_kv_all_values('i') ORDER BY key COLLATE "C";
SELECT key, value FROM json_each(pg_temp.turn()::json) AS e (key, value) WHERE length(key) < 1024 ORDER BY key COLLATE "C";
SELECT test.sqlstate(format('SELECT pg_temp.turn(%L)', pg_temp.list(pg_temp.set(repeat('k', 1025), 'v')))), test.sqlstate(format('SELECT pg_temp.turn(%L)', pg_temp.list(pg_temp.clear(repeat('k', 1025)))));
CALL pg_temp.reset();

-- KV-10: instances are isolated. KV-12: no instance row is needed.
SELECT pg_temp.turn(pg_temp.list(pg_temp.set('k', 'of i')), instance => 'i'), pg_temp.turn(pg_temp.list(pg_temp.set('k', 'of j')), instance => 'j');
SELECT pg_temp.turn(pg_temp.list(pg_temp.clear_all()), '{"status":"Completed"}', instance => 'i');
SELECT * FROM test.orch_kv;
SELECT count(*) AS instances FROM orch_kv.instances;
-- A failed ack changes neither table.
SELECT orch_kv.start_orchestration('O', '', 'j', '1', 0, 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT test.sqlstate(format('CALL pg_temp.ack(''j'', 1500, %L, ''{"status":"Completed"}'')', pg_temp.list(pg_temp.set('k', 'x'), pg_temp.clear_all(), test.event(currval('ids'), 'x'))));
SELECT * FROM test.orch_kv;
-- append_history touches neither (RH-8).
SELECT orch_kv.append_history('j', 1, pg_temp.list(pg_temp.set('k', 'appended'), pg_temp.clear_all()));
SELECT * FROM test.orch_kv;

DROP VIEW test.orch_kv;
SELECT belay.drop_hub('orch_kv', true);
