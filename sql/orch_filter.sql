-- The capability filter: a client fetches only instances whose pin it supports.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_filter');
SELECT belay.set_hub_option('orch_filter', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_filter');
-- An instance with a message, pinned to a version or not.
CREATE PROCEDURE pg_temp.add(instance text, pin int[] DEFAULT NULL, now_ms bigint DEFAULT 1000) LANGUAGE sql AS $$
    INSERT INTO orch_filter.instances VALUES (instance, 'O', '1', 1, NULL, NULL, 0, to_timestamp(1), to_timestamp(1));
    INSERT INTO orch_filter.executions VALUES (instance, 1, 'Running', NULL, to_timestamp(1), NULL, pin[1], pin[2], pin[3]);
    SELECT orch_filter.raise_event(instance, 'go', '', false, now_ms);
$$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_filter.orchestrator_queue, orch_filter.instance_locks, orch_filter.instances, orch_filter.executions, orch_filter.history_turns, lease $$;
-- What a filter lets through of everything there is, oldest first.
CREATE FUNCTION pg_temp.passing(min_version bigint, max_version bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
    answer text;
BEGIN
    BEGIN
        LOOP
            found := (SELECT instance FROM pg_temp.fetch(1000, 1000, min_version, max_version));
            EXIT WHEN found IS NULL;
            answer := concat_ws(', ', answer, found);
        END LOOP;
        RAISE EXCEPTION SQLSTATE 'UNDO0';
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
        RETURN coalesce(answer, 'none');
    END;
END $$;

CALL pg_temp.add('0.1.30', '{0,1,30}');
CALL pg_temp.add('1.0.0', '{1,0,0}');
CALL pg_temp.add('1.9.99', '{1,9,99}');
CALL pg_temp.add('1.9.100', '{1,9,100}');
CALL pg_temp.add('2.0.0', '{2,0,0}');
CALL pg_temp.add('no pin');
SELECT orch_filter.start_orchestration('O', '', 'no row', NULL, 0, 1000);

-- E4, CF-1: without bounds all pass; a bound of NULL is open on that side.
SELECT pg_temp.passing(NULL, NULL);
SELECT pg_temp.passing(1000000, NULL);
SELECT pg_temp.passing(NULL, 1000000);
-- CF-3: both ends are inclusive. CF-4: compared part by part. CF-5: without a pin, or without a row, an instance passes.
SELECT pg_temp.passing(1000000, 1009099);
SELECT pg_temp.passing(1000001, 1009098);
SELECT pg_temp.passing(1009099, 1009099);
SELECT pg_temp.passing(0, 0);
SELECT pg_temp.passing(2000000, 9223372036854775807);
SELECT pg_temp.passing(-5, 1030);
-- CF-2, FO-1: a minimum above the maximum is the empty filter: nothing passes, not even what has no pin.
SELECT pg_temp.passing(1, 0), pg_temp.passing(1009100, 1009099);
-- CF-7: one range per call. Two calls serve two ranges.
SELECT pg_temp.passing(1000000, 1000000), pg_temp.passing(2000000, 2000000);
CALL pg_temp.clear();

-- CF-4: stored parts may be 1000 or more: 1.1500.0 is above 1.999.999 and below 2.0.0, although its packed number is not.
CALL pg_temp.add('1.1500.0', '{1,1500,0}');
CALL pg_temp.add('1.0.2000', '{1,0,2000}');
CALL pg_temp.add('0.0.1000000', '{0,0,1000000}');
CALL pg_temp.add('2147483647.0.0', '{2147483647,0,0}');
SELECT pg_temp.passing(1000000, 1999999);
SELECT pg_temp.passing(2000000, NULL);
SELECT pg_temp.passing(1001000, 2000000);
SELECT pg_temp.passing(NULL, 1000000);
CALL pg_temp.clear();

-- CF-5: a pin that is not whole is no pin.
CALL pg_temp.add('half', '{1,2,NULL}');
SELECT pg_temp.passing(5000000, 5000000);
CALL pg_temp.clear();

-- CF-8, FO-3: an instance that does not pass is not locked, its attempts do not move, its corrupt history is not noticed; one behind it is returned.
CALL pg_temp.add('old', '{1,0,0}', 900);
INSERT INTO orch_filter.history_turns VALUES (1, 1, 1, now(), 'old', ARRAY['x'], ARRAY['garbage']);
CALL pg_temp.add('new', '{2,0,0}', 1000);
SELECT instance FROM pg_temp.fetch(1000, 1000, 2000000, 2999999);
SELECT * FROM pg_temp.fetch(1000, 1000, 2000000, 2999999);
SELECT instance_id, attempt_count, lock_token IS NOT NULL AS leased FROM orch_filter.messages ORDER BY id;
SELECT instance_id FROM orch_filter.instance_locks;
-- The next, compatible fetch gets it.
SELECT instance, events, attempt FROM pg_temp.fetch(1000, 1000, 1000000, 1999999);
CALL pg_temp.clear();

-- CF-6: the pin of the current execution decides, given by an ack.
SELECT orch_filter.start_orchestration('O', '', 'i', NULL, 0, 1000);
SELECT instance FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","pinned_duroxide_version":{"major":1,"minor":0,"patch":0}}');
SELECT orch_filter.raise_event('i', 'go', '', false, 1000);
SELECT pg_temp.passing(1000000, 1000000) AS old, pg_temp.passing(2000000, 2000000) AS new;
-- After a CAN the old execution is still current, and its pin decides, until the new one's first ack.
SELECT instance FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"status":"ContinuedAsNew"}', send => '[{"ContinueAsNew":{"instance":"i","orchestration":"O"}}]');
SELECT pg_temp.passing(1000000, 1000000) AS old, pg_temp.passing(2000000, 2000000) AS new;
SELECT instance FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"pinned_duroxide_version":{"major":2,"minor":0,"patch":0}}', execution => 2);
SELECT orch_filter.raise_event('i', 'go', '', false, 1000);
SELECT pg_temp.passing(1000000, 1000000) AS old, pg_temp.passing(2000000, 2000000) AS new;
-- AO-9: a new execution does not inherit a pin: without one it passes every filter.
SELECT instance FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'x')), execution => 3);
SELECT orch_filter.raise_event('i', 'go', '', false, 1000);
SELECT pg_temp.passing(1000000, 1000000) AS old, pg_temp.passing(2000000, 2000000) AS new, pg_temp.passing(1, 0) AS nothing;
CALL pg_temp.clear();

-- The filter is for leasing: a filtered fetch that meets orphans, or nothing it may take, comes back without a row.
SELECT orch_filter.cancel_instance('nobody', '', 1000);
CALL pg_temp.add('old', '{1,0,0}');
SELECT * FROM pg_temp.fetch(1000, 1000, 2000000, 2000000);

SELECT belay.drop_hub('orch_filter', true);
