-- Intents: what is sent to other hubs, and what is refused.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('ins_a');
SELECT belay.set_hub_option('ins_a', 'max_clock_skew', '0');  -- these tests choose the time

CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), E'^(\\w+): [^\n]*\nDETAIL: ({[^\n]*})\nHINT: [^\n]+$', '\1 \2')
$$;
CREATE VIEW test.ins_a AS
    SELECT intent_id - min(intent_id) OVER () + 1 AS nr, source_uuid = (SELECT uuid FROM ins_a.belay_hub) AS own_uuid, source_instance, target_hub, queue, target_instance, work_item, visible_at, attempts, last_error
      FROM ins_a.intents ORDER BY intent_id;

-- IN-1: send_to_hub writes an intent and returns its id. The target need not exist. A time is kept; without one it is visible when it arrives.
SELECT ins_a.send_to_hub('elsewhere', 'orchestrator', '{"CancelInstance":{"instance":"x","reason":""}}') AS first \gset
SELECT ins_a.send_to_hub('elsewhere', 'worker', '{"ActivityExecute":{"instance":"x","id":1,"tag":"t"}}', '2030-01-01 00:00:00+00') = :first + 1 AS next;
SELECT ins_a.send_to_hub('other', 'worker', '{"ActivityExecute":{}}') = :first + 2 AS next;
SELECT ins_a.send_to_hub('other', 'orchestrator', '{"SubOrchCompleted":{"parent_instance":"p","parent_id":1}}') = :first + 3 AS next;
SELECT ins_a.send_to_hub('other', 'worker', '{"NewerKind":{"instance":"n"}}', 'infinity') = :first + 4 AS next;
SELECT nr, own_uuid, source_instance, target_hub, queue, target_instance, work_item, visible_at AT TIME ZONE 'UTC' AS visible_at, attempts, last_error FROM test.ins_a;
-- Nothing went into the hub's own queues.
SELECT count(*) FROM ins_a.messages;
SELECT count(*) FROM ins_a.work_items;

-- IN-2: target, queue and item are checked as the target would.
SELECT pg_temp.refused(format('SELECT ins_a.send_to_hub(%s)', arguments)) FROM unnest(ARRAY[
    $$NULL, 'worker', '{"ActivityExecute":{}}'$$, $$'', 'worker', '{"ActivityExecute":{}}'$$, $$'pg_x', 'worker', '{"ActivityExecute":{}}'$$, $$'belay', 'worker', '{"ActivityExecute":{}}'$$,
    $$'b', NULL, '{"ActivityExecute":{}}'$$, $$'b', 'tasks', '{"ActivityExecute":{}}'$$, $$'b', 'Worker', '{"ActivityExecute":{}}'$$,
    $$'b', 'worker', NULL$$, $$'b', 'worker', 'nonsense'$$, $$'b', 'worker', '[]'$$, $$'b', 'worker', '{}'$$, $$'b', 'worker', '{"CancelInstance":{"instance":"i"}}'$$,
    $$'b', 'worker', '{"ActivityExecute":{"id":-1}}'$$, $$'b', 'worker', '{"ActivityExecute":{"instance":""}}'$$, $$'b', 'worker', '{"ToHub":{"hub":"c","item":{"ActivityExecute":{}}}}'$$,
    $$'b', 'orchestrator', '{"ActivityExecute":{"instance":"i"}}'$$, $$'b', 'orchestrator', '{"CancelInstance":{}}'$$, $$'b', 'orchestrator', '{"TimerFired":{"instance":"i"}}'$$,
    $$'b', 'orchestrator', '{"ToHub":{"hub":"c","item":{"CancelInstance":{"instance":"i"}}}}'$$]) AS arguments;
SELECT count(*) FROM ins_a.intents;
TRUNCATE ins_a.intent_queue;

-- AO-18, IN-1: wrapped items of an ack leave in the same unit, those for workers first, in order. Others go where they always went.
CREATE FUNCTION pg_temp.turn(instance text, now_ms bigint) RETURNS text LANGUAGE sql AS $$
    SELECT ins_a.start_orchestration('O', '', instance, '1', 0, now_ms);
    SELECT lock_token FROM ins_a.fetch_orchestration_item(60000, p_now_ms => now_ms);
$$;
CREATE FUNCTION pg_temp.ack(token text, worker jsonb, messages jsonb, now_ms bigint DEFAULT 1000) RETURNS void LANGUAGE sql AS $$
    SELECT ins_a.ack_orchestration_item(token, 1, '[]', worker, messages, '{"orchestration_name":"O","orchestration_version":"1"}', p_now_ms => now_ms)
$$;
SELECT pg_temp.turn('src', 1000) AS token \gset
SELECT pg_temp.ack(:'token',
    '[{"ToHub":{"hub":"billing","item":{"ActivityExecute":{"instance":"x","id":1}}}}, {"ActivityExecute":{"instance":"src","execution_id":1,"id":1}}]',
    '[{"CancelInstance":{"instance":"near"}}, {"ToHub":{"hub":"billing","item":{"CancelInstance":{"instance":"x"}}}}, "{\"ToHub\":{\"hub\":\"Other Hub\",\"item\":\"{ \\\"CancelInstance\\\":{\\\"instance\\\":\\\"y\\\"} }\"}}", {"To\u0048ub":{"hub":"ins_a","item":{"TimerFired":{"instance":"src","fire_at_ms":5000}},"more":1}}]');
SELECT nr, own_uuid, source_instance, target_hub, queue, target_instance, work_item, visible_at, attempts FROM test.ins_a;
SELECT created_at AT TIME ZONE 'UTC' AS created_at, count(*) FROM ins_a.intents GROUP BY 1;
SELECT instance_id FROM ins_a.messages;
SELECT activity_id FROM ins_a.work_items;
TRUNCATE ins_a.intent_queue, ins_a.orchestrator_queue, ins_a.worker_queue;

-- IN-1: an ack that fails, or is rolled back, sends nothing.
SELECT pg_temp.turn('src2', 2000) AS token \gset
SELECT test.sqlstate(format($$SELECT pg_temp.ack(%L, '[]', '[{"ToHub":{"hub":"b","item":{"CancelInstance":{"instance":"x"}}}}]', 99000000)$$, :'token'));
BEGIN;
SELECT pg_temp.ack(:'token', '[]', '[{"ToHub":{"hub":"b","item":{"CancelInstance":{"instance":"x"}}}}]', 2000);
SELECT count(*) FROM ins_a.intents;
ROLLBACK;
SELECT count(*) FROM ins_a.intents;
-- IN-2: and one with an item that is refused.
SELECT pg_temp.refused(format($$SELECT pg_temp.ack(%L, %L, %L, 2000)$$, :'token', worker, messages)) FROM (VALUES
    ('[]', '[{"ToHub":{}}]'), ('[]', '[{"ToHub":{"hub":"b"}}]'), ('[]', '[{"ToHub":{"hub":7,"item":{"CancelInstance":{"instance":"x"}}}}]'), ('[]', '[{"ToHub":{"hub":"b","item":7}}]'), ('[]', '[{"ToHub":{"hub":"b","item":null}}]'),
    ('[]', '[{"ToHub":{"hub":"","item":{"CancelInstance":{"instance":"x"}}}}]'), ('[]', '["{\"ToHub\":{\"hub\":\"a\\u0000\",\"item\":{\"CancelInstance\":{\"instance\":\"x\"}}}}"]'), ('[]', '["{\"ToHub\":{\"hub\":\"a\\ud800\",\"item\":{\"CancelInstance\":{\"instance\":\"x\"}}}}"]'),
    ('[]', '[{"CancelInstance":{"instance":"x"}}, {"ToHub":{"hub":"pg_b","item":{"CancelInstance":{"instance":"x"}}}}]'), ('[]', '[{"ToHub":{"hub":"b","item":{"ActivityExecute":{"instance":"x"}}}}]'), ('[]', '[{"ToHub":{"hub":"b","item":{"CancelInstance":{}}}}]'),
    ('[]', '[{"ToHub":{"hub":"b","item":{"ToHub":{"hub":"c","item":{"CancelInstance":{"instance":"x"}}}}}}]'), ('[{"ToHub":{"hub":"b","item":{"CancelInstance":{"instance":"x"}}}}]', '[]'), ('[{"ToHub":{"hub":"b","item":{"ActivityExecute":{"id":-1}}}}]', '[]'),
    ('[{"ToHub":[]}]', '[]'), ('[{"ToHub":{"hub":"b","item":{"ActivityExecute":{}}},"Other":{}}]', '[]')) AS v (worker, messages);
SELECT repeat('x', 64) AS long \gset
SELECT pg_temp.refused(format($$SELECT pg_temp.ack(%L, '[]', '[{"ToHub":{"hub":"%s","item":{"CancelInstance":{"instance":"x"}}}}]', 2000)$$, :'token', :'long'));
SELECT count(*) FROM ins_a.intents;

-- IN-3: an intent keeps the uuid under which it was written; ids go on.
SELECT ins_a.send_to_hub('b', 'worker', '{"ActivityExecute":{}}') AS old \gset
SELECT belay.new_incarnation('ins_a');
SELECT ins_a.send_to_hub('b', 'worker', '{"ActivityExecute":{}}') > :old AS greater;
SELECT own_uuid FROM test.ins_a ORDER BY nr;

-- IN-12: levels. Sending takes level client; view intents, which shows items, level operator; view hub_links level monitor.
CREATE ROLE regress_belay_ins_client;
CREATE ROLE regress_belay_ins_monitor;
SELECT belay.grant_hub('ins_a', 'regress_belay_ins_client', 'client'), belay.grant_hub('ins_a', 'regress_belay_ins_monitor', 'monitor');
SET ROLE regress_belay_ins_client;
SELECT ins_a.send_to_hub('b', 'worker', '{"ActivityExecute":{}}') > :old AS sent;
SELECT ins_a.receive_intents('[]');
SELECT test.sqlstate('SELECT * FROM ins_a.intents'), test.sqlstate('SELECT * FROM ins_a.hub_links'), test.sqlstate('SELECT * FROM ins_a.intent_queue');
SET ROLE regress_belay_ins_monitor;
SELECT test.sqlstate($$SELECT ins_a.send_to_hub('b', 'worker', '{"ActivityExecute":{}}')$$), test.sqlstate($$SELECT ins_a.receive_intents('[]')$$), test.sqlstate('SELECT * FROM ins_a.intents');
SELECT * FROM ins_a.hub_links;
RESET ROLE;
-- A read-only transaction sends nothing.
BEGIN READ ONLY;
SELECT test.sqlstate($$SELECT ins_a.send_to_hub('b', 'worker', '{"ActivityExecute":{}}')$$), test.sqlstate($$SELECT ins_a.receive_intents('[]')$$);
ROLLBACK;
SELECT * FROM belay.check_hub('ins_a');

SELECT belay.drop_hub('ins_a', true);
DROP VIEW IF EXISTS test.ins_a;
DROP ROLE regress_belay_ins_client, regress_belay_ins_monitor;
