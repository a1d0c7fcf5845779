-- What a turn is told about its instance: name, version, execution and history. Cases C1 to C5; C6 is in orch_orphans.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_context');
SELECT belay.set_hub_option('orch_context', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_context');
CREATE PROCEDURE pg_temp.raise(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_context.raise_event(instance, name, '', false, now_ms) $$;
CREATE PROCEDURE pg_temp.start(name text, instance text, now_ms bigint, version text DEFAULT '1', delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$ SELECT orch_context.start_orchestration(name, '', instance, version, delay_ms, now_ms) $$;
CREATE PROCEDURE pg_temp.append(instance text, execution bigint, VARIADIC events jsonb[]) LANGUAGE sql AS $$ SELECT orch_context.append_history(instance, execution, to_jsonb(events)) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_context.orchestrator_queue, orch_context.instance_locks, orch_context.instances, orch_context.executions, orch_context.history_turns, orch_context.dead_letters, lease $$;
-- All of the hub, to see that nothing changed.
CREATE FUNCTION pg_temp.content() RETURNS text LANGUAGE sql AS $$
    SELECT md5(concat((SELECT string_agg(q::text, '|' ORDER BY id) FROM orch_context.orchestrator_queue AS q), (SELECT string_agg(l::text, '|') FROM orch_context.instance_locks AS l), (SELECT count(*) FROM orch_context.dead_letters)))
$$;

---- C1: an instance row

-- Name and version come from the row, execution and history are the current ones. FO-15: a start in the batch overrides nothing.
INSERT INTO orch_context.instances VALUES ('i', 'Row', '3.2.1', 2, NULL, NULL, 0, now(), now());
CALL pg_temp.append('i', 1, test.event(1, 'OrchestrationStarted', '{"name":"Event 1"}'), test.event(2, 'x'));
CALL pg_temp.append('i', 2, test.event(10, 'OrchestrationStarted', '{"name":"Event 2"}'), test.event(30, 'x'), test.event(20, 'x'));
CALL pg_temp.append('i', 3, test.event(7, 'OrchestrationStarted', '{"name":"Event 3"}'));
CALL pg_temp.start('Message', 'i', 1000);
SELECT * FROM pg_temp.fetch(1000);
-- A version of NULL is told as unknown. Without events the history is empty, never NULL.
UPDATE orch_context.instances SET orchestration_version = NULL, current_execution_id = 9;
SELECT * FROM pg_temp.fetch(2000);
CALL pg_temp.clear();
-- FO-17: once the row exists, the version is that of the ack, not of the start. FO-15, EC-1: a second start with another name changes nothing.
CALL pg_temp.start('Asked', 'i', 1000, '1.0.0');
SELECT name, version FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"Resolved","orchestration_version":"1.7.0"}');
CALL pg_temp.start('Another', 'i', 1000, '9.0.0');
SELECT name, version, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

---- C2: no row, but history with a readable start

-- From the first such event of the greatest execution that has history. FO-14: executions are never concatenated; one without events does not count.
CALL pg_temp.append('i', 1, test.event(1, 'OrchestrationStarted', '{"name":"First","version":"1"}'));
CALL pg_temp.append('i', 4, test.event(3, 'OrchestrationStarted', '{"name":"Second","version":"2"}'), test.event(4, 'OrchestrationStarted', '{"name":"Third","version":"3"}'), test.event(2, 'x'));
INSERT INTO orch_context.executions VALUES ('i', 5, 'Running', NULL, now(), NULL);
CALL pg_temp.raise('i', 'go', 1000);
SELECT * FROM pg_temp.fetch(1000);
-- FO-15: not overridden by a start.
CALL pg_temp.start('Message', 'i', 1000);
SELECT name, version, execution, events, messages FROM pg_temp.fetch(2000);
CALL pg_temp.clear();
-- That is the normal case after an ack without name or version.
CALL pg_temp.start('Message', 'i', 1000, '1');
SELECT name, version, execution FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'OrchestrationStarted', '{"name":"Event","version":"2"}')));
SELECT count(*) AS instances FROM orch_context.instances;
CALL pg_temp.raise('i', 'go', 1000);
SELECT name, version, execution, events, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- A version absent, null, or no text: unknown. An event is readable if its type and name are, in any spelling, and with any other content.
CREATE TEMP TABLE history (nr int, event text);
INSERT INTO history VALUES (1, '{"type":"OrchestrationStarted","name":"A"}'), (2, '{"name":"A","type":"OrchestrationStarted","version":null}'), (3, '{"type":"OrchestrationStarted","name":"A","version":7}'),
    (4, '{"type":"OrchestrationStarted","name":"A","version":"\u0000"}'), (5, ' { "typ\u0065" : "Orchestration\u0053tarted","name":"\u0041","version":"\u0031","input":"\u0000","n":1e999999}'),
    (6, '{"type":"OrchestrationStarted","name":"","version":""}');
SELECT h.nr, t.name, t.version FROM history AS h,
    LATERAL (SELECT orch_context.append_history('h' || nr, 1, jsonb_build_array(jsonb_build_object('event_id', 1, 'event_data', event))), orch_context.raise_event('h' || nr, 'go', '', false, 1000)) AS s,
    LATERAL (SELECT name, version FROM pg_temp.fetch(1000 + h.nr)) AS t ORDER BY nr;
CALL pg_temp.clear();

---- C3: no row, history without a readable start

-- Name and version from the first start message of the batch, else Unknown and unknown; execution and history as in C2. Neither of these can be read:
INSERT INTO orch_context.history_turns SELECT 3, row_number() OVER (), row_number() OVER (), now(), 'i', ARRAY['OrchestrationStarted'], ARRAY[event] FROM unnest(ARRAY['garbage', '{"type":"OrchestrationStarted"', '{"type":"OrchestrationStarted"}',
    '{"type":"OrchestrationStarted","name":null}', '{"type":"OrchestrationStarted","name":7}', '{"type":"OrchestrationStarted","name":"\u0000"}', '{"type":"orchestrationstarted","name":"A"}',
    '{"OrchestrationStarted":{"name":"A"}}', '["OrchestrationStarted"]']) AS event;
CALL pg_temp.raise('i', 'go', 1000);
SELECT name, version, execution, messages FROM pg_temp.fetch(1000);
CALL pg_temp.start('Message', 'i', 1000, '5');
CALL pg_temp.start('Message too', 'i', 1000, '6');
SELECT name, version, execution, messages FROM pg_temp.fetch(2000);
-- A hidden start is not in the batch.
SELECT orch_context.abandon_orchestration_item(pg_temp.token('i'), 5000, p_now_ms => 2000);
CALL pg_temp.raise('i', 'more', 2000);
SELECT name, version, execution, messages FROM pg_temp.fetch(2000);
CALL pg_temp.clear();

---- C4: neither row nor history, but a start

-- Anywhere in the batch, not only first. Execution 1, empty history. Of several starts the first counts; a version of null is unknown.
CALL pg_temp.raise('i', 'before', 1000);
CALL pg_temp.start('First', 'i', 1000, NULL);
CALL pg_temp.start('Second', 'i', 900, '2');
SELECT * FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- ContinueAsNew is a start, too. An execution row alone is neither row nor history.
INSERT INTO orch_context.executions VALUES ('i', 5, 'Running', NULL, now(), NULL);
SELECT orch_context.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"i","orchestration":"Again","input":"","version":"4"}}', to_timestamp(1));
SELECT name, version, execution, events, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- A start that names nothing.
SELECT orch_context.enqueue_orchestrator_work(NULL, '{"StartOrchestration":{"instance":"i","orchestration":7}}', to_timestamp(1));
SELECT name, version, execution, events FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

---- C5: neither row nor history, and the start is hidden

-- The instance waits: nothing is delivered, changed or counted; queue messages are not dropped (OR-6). Others have their turn.
CALL pg_temp.start('O', 'i', 1000, '1', 5000);
CALL pg_temp.raise('i', 'early', 1000);
SELECT orch_context.raise_event('i', 'queued', '', true, 1000);
CALL pg_temp.start('O', 'j', 2000);
BEGIN;
SELECT instance FROM pg_temp.fetch(5999);
ROLLBACK;
DELETE FROM orch_context.orchestrator_queue WHERE instance_id = 'j';
SELECT pg_temp.content() AS content \gset
SELECT * FROM pg_temp.fetch(5999);
SELECT pg_temp.content() = :'content' AS unchanged;
-- Then it comes with its start.
SELECT name, messages, attempt FROM pg_temp.fetch(6000);
-- A delayed abandon hides the start again, and with it everything else.
SELECT orch_context.abandon_orchestration_item(pg_temp.token('i'), 1000, p_now_ms => 6000);
CALL pg_temp.raise('i', 'meanwhile', 6000);
SELECT * FROM pg_temp.fetch(6999);
SELECT name, messages, attempt FROM pg_temp.fetch(7000);
CALL pg_temp.clear();
-- A hidden ContinueAsNew does as well.
SELECT orch_context.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"i","orchestration":"Again"}}', to_timestamp(5));
SELECT orch_context.raise_event('i', 'queued', '', true, 1000);
SELECT * FROM pg_temp.fetch(4999);
SELECT name, messages FROM pg_temp.fetch(5000);
CALL pg_temp.clear();

---- Continue-as-new

-- FO-16: after the ack the next fetch gives the old execution's id and history, plus the message. belay never counts up by itself.
CALL pg_temp.start('O', 'i', 1000);
SELECT instance FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'OrchestrationStarted', '{"name":"O"}'), test.event(2, 'OrchestrationContinuedAsNew')),
    '{"orchestration_name":"O","orchestration_version":"1","status":"ContinuedAsNew"}', '[{"ContinueAsNew":{"instance":"i","orchestration":"O","input":"2","version":"2"}}]');
SELECT name, version, execution, events, messages FROM pg_temp.fetch(1000);
-- FO-18: other messages are delivered at once, with the old history, while the start is hidden by a delayed abandon; abandoned, they come together, in the order of ids.
SELECT orch_context.abandon_orchestration_item(pg_temp.token('i'), 2000, p_now_ms => 1000);
CALL pg_temp.raise('i', 'meanwhile', 1100);
SELECT execution, events, messages FROM pg_temp.fetch(1100);
SELECT orch_context.abandon_orchestration_item(pg_temp.token('i'), p_now_ms => 1100);
SELECT execution, events, messages, attempt FROM pg_temp.fetch(3000);
-- The next execution begins with its own ack.
CALL pg_temp.ack('i', 3000, jsonb_build_array(test.event(1, 'OrchestrationStarted', '{"name":"O"}')), '{"orchestration_name":"O","orchestration_version":"2"}', execution => 2);
CALL pg_temp.raise('i', 'go', 3000);
SELECT name, version, execution, events, messages FROM pg_temp.fetch(3000);
CALL pg_temp.clear();
-- FO-18 with history alone, without a row.
CALL pg_temp.append('i', 1, test.event(1, 'OrchestrationStarted', '{"name":"O"}'));
CALL pg_temp.start('O', 'i', 1000, '1', 9000);
SELECT orch_context.raise_event('i', 'q', '', true, 1000);
SELECT name, execution, messages FROM pg_temp.fetch(1000);

SELECT belay.drop_hub('orch_context', true);
