-- serial: counts buffers.
-- AT-12: a turn whose history the caller has cached costs the same, however long that history is. Shown in pages touched, not in time.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_turns_cost');
SELECT belay.set_hub_option('orch_turns_cost', 'max_clock_skew', '0');  -- these tests choose the time
-- Makes an instance with so many events that 'me' has cached, and a message for its next turn, and tells how many pages a fetch touches: the least of five tries, each undone.
CREATE FUNCTION pg_temp.pages(instance text, events int, owner text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_token text;
    v_plan json;
    v_found int;
    v_least int;
BEGIN
    PERFORM orch_turns_cost.start_orchestration('O', '', instance, '1', 0, 1000);
    SELECT lock_token INTO v_token FROM orch_turns_cost.ack_and_fetch_turns('{}', p_max_turns => 1, p_now_ms => 1000);
    PERFORM orch_turns_cost.ack_and_fetch_turns(ARRAY[v_token], '{1}', ARRAY[(SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_type', 'E', 'event_data', format('{"type":"E","of":"%s"}', md5(e::text)))) FROM generate_series(1, events) AS e)],
        p_metadata => ARRAY[jsonb_build_object('orchestration_name', 'O', 'orchestration_version', '1', 'cache', jsonb_build_object('owner', 'me', 'events', events))], p_now_ms => 1000);
    PERFORM orch_turns_cost.raise_event(instance, 'e', '', false, 1000);
    FOR try IN 1..5 LOOP
        BEGIN
            EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) SELECT * FROM orch_turns_cost.ack_and_fetch_turns(''{}'', p_max_turns => 1, p_cache_owner => %L, p_now_ms => 1000)', owner) INTO v_plan;
            v_found := (v_plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (v_plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
            RAISE EXCEPTION SQLSTATE 'UNDO0';
        EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
            v_least := least(v_least, v_found);
        END;
    END LOOP;
    PERFORM orch_turns_cost.delete_instance(instance, true);
    RETURN v_least;
END $$;
SELECT pg_temp.pages('few', 20, 'me') AS few, pg_temp.pages('many', 20000, 'me') AS many, pg_temp.pages('whole', 20000, 'other') AS whole \gset
-- Indexes may be a level deeper. Without the cache all is read.
SELECT :many - :few <= 6 AS as_cheap, :whole > :many + 100 AS whole_is_read;
SELECT belay.drop_hub('orch_turns_cost', true);
