-- The custom status of an instance.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_custom_status');
SELECT belay.set_hub_option('orch_custom_status', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_custom_status');
-- A turn of i from 1000 on, with these changes.
CREATE PROCEDURE pg_temp.turn(metadata jsonb DEFAULT '{}', delta jsonb DEFAULT '[]', execution bigint DEFAULT 1, instance text DEFAULT 'i') LANGUAGE plpgsql AS $$
BEGIN
    PERFORM orch_custom_status.start_orchestration('O', '', instance, '1', 0, 1000);
    PERFORM pg_temp.fetch(1000);
    CALL pg_temp.ack(instance, 1000, delta, metadata, execution => execution);
END $$;
CREATE VIEW test.orch_custom_status AS SELECT custom_status, custom_status IS NULL AS is_null, custom_status_version AS version FROM orch_custom_status.instances;
-- Events: set to a text, or clear with NULL; ids go on.
CREATE TEMP SEQUENCE ids;
CREATE FUNCTION pg_temp.status(VARIADIC texts text[]) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_agg(test.event(nextval('ids'), 'CustomStatusUpdated', jsonb_build_object('status', t))) FROM unnest(texts) AS t
$$;

-- CU-1: at birth NULL, version 0. CU-7: nothing to tell a reader who has seen version 0.
CALL pg_temp.turn('{"orchestration_name":"O","orchestration_version":"1"}');
SELECT * FROM test.orch_custom_status;
SELECT * FROM orch_custom_status.get_custom_status('i', 0);
-- CU-2: the last event of the delta decides; the version grows by 1, once per ack (I7).
CALL pg_temp.turn(delta => pg_temp.status('10%'));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn(delta => pg_temp.status('20%', NULL, '30%'));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn(delta => pg_temp.status('40%', NULL));
SELECT * FROM test.orch_custom_status;
-- The same text again is a change; so is the empty text, and one of 256 KiB.
CALL pg_temp.turn(delta => pg_temp.status(NULL));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn(delta => pg_temp.status(''));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn(delta => pg_temp.status(repeat('é', 131072)));
SELECT octet_length(custom_status), version FROM test.orch_custom_status;
-- Last in the order of the delta, not of the ids.
CALL pg_temp.turn(delta => jsonb_build_array(test.event(1002, 'CustomStatusUpdated', '{"status":"id 1002"}'), test.event(1001, 'CustomStatusUpdated', '{"status":"id 1001"}')));
SELECT * FROM test.orch_custom_status;
-- CU-3: no such event: untouched. It is the event's own type that counts, not the caller's word.
CALL pg_temp.turn(delta => '[{"event_id":2001,"event_type":"CustomStatusUpdated","event_data":"{\"type\":\"Other\",\"status\":\"x\"}"}, {"event_id":2002,"event_type":"CustomStatusUpdated","event_data":"{\"status\":\"x\"}"}]');
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn(delta => '[{"event_id":2003,"event_type":"Other","event_data":"{\"status\":\"own type\",\"type\":\"CustomStatus\\u0055pdated\"}"}]');
SELECT * FROM test.orch_custom_status;

-- CU-4, AO-15: metadata: set with a value, a value alone, clear; each wins over the events, and counts once.
CALL pg_temp.turn('{"custom_status_action":"set","custom_status_value":"m1"}');
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn('{"custom_status_value":"m2"}', pg_temp.status('event'));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn('{"custom_status_action":"clear"}', pg_temp.status('event'));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn('{"custom_status_action":"clear","custom_status_value":"ignored"}');
SELECT * FROM test.orch_custom_status;
-- Both null or absent: the events count.
CALL pg_temp.turn('{"custom_status_action":null,"custom_status_value":null}', pg_temp.status('event'));
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn('{"custom_status_action":null,"custom_status_value":null}');
SELECT * FROM test.orch_custom_status;
-- Each for its own part: key/value changes of metadata leave the status to the events.
CALL pg_temp.turn('{"kv_mutations":[]}', pg_temp.status('with kv'));
SELECT * FROM test.orch_custom_status;

-- CU-5: it is the instance's, and survives a CAN.
CALL pg_temp.turn('{"status":"ContinuedAsNew"}');
CALL pg_temp.turn('{"orchestration_name":"O","orchestration_version":"2"}', execution => 2);
SELECT * FROM test.orch_custom_status;
CALL pg_temp.turn(delta => pg_temp.status('execution 2'), execution => 2);
-- An ack of an older execution changes it all the same.
CALL pg_temp.turn(delta => pg_temp.status('execution 1'));
SELECT * FROM test.orch_custom_status;

-- CU-7: a row only if the version is greater than the one last seen. NULL has seen nothing.
SELECT version FROM test.orch_custom_status \gset
SELECT * FROM orch_custom_status.get_custom_status('i', :version - 1);
SELECT * FROM orch_custom_status.get_custom_status('i', :version);
SELECT * FROM orch_custom_status.get_custom_status('i', :version + 1);
SELECT custom_status_version = :version AS current FROM orch_custom_status.get_custom_status('i', 0);
SELECT custom_status_version = :version AS current FROM orch_custom_status.get_custom_status('i', -1);
SELECT custom_status_version = :version AS current FROM orch_custom_status.get_custom_status('i', NULL);
-- A cleared one is told as NULL. An unknown instance: no row.
CALL pg_temp.turn('{"custom_status_action":"clear"}');
SELECT custom_status IS NULL AS cleared, custom_status_version - :version AS more FROM orch_custom_status.get_custom_status('i', :version);
SELECT * FROM orch_custom_status.get_custom_status('nobody', 0);
SELECT * FROM orch_custom_status.get_custom_status(NULL, 0);
SELECT * FROM orch_custom_status.get_custom_status('nobody', NULL);

-- CU-6: without an instance row the change is lost; the event is not.
CALL pg_temp.turn(delta => pg_temp.status('lost'), instance => 'j');
SELECT count(*) AS events FROM orch_custom_status.history WHERE instance_id = 'j';
CALL pg_temp.turn('{"orchestration_name":"O","orchestration_version":"1"}', instance => 'j');
SELECT custom_status, custom_status_version FROM orch_custom_status.instances WHERE instance_id = 'j';
-- The ack that makes the row can set it.
CALL pg_temp.turn('{"orchestration_name":"O","orchestration_version":"1"}', pg_temp.status('born with it'), instance => 'k');
SELECT custom_status, custom_status_version FROM orch_custom_status.instances WHERE instance_id = 'k';
-- A failed ack changes neither.
SELECT orch_custom_status.start_orchestration('O', '', 'k', '1', 0, 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT test.sqlstate(format('CALL pg_temp.ack(''k'', 1000, %L)', pg_temp.status('x') || pg_temp.status('y') || jsonb_build_array(test.event(currval('ids'), 'x'))));
SELECT custom_status, custom_status_version FROM orch_custom_status.instances WHERE instance_id = 'k';

DROP VIEW test.orch_custom_status;
SELECT belay.drop_hub('orch_custom_status', true);
