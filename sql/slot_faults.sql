-- serial: with preloading, an injected fault strikes whichever session passes first.
-- ER-4: acquire_slots, release_slots and guard fail as a whole, at whichever store call.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('slot_faults');
SELECT belay.set_hub_option('slot_faults', 'max_clock_skew', '0');
SELECT belay.set_hub_option('slot_faults', 'slot_count', '4');
SELECT slot_faults.acquire_slots('a', 'worker', 4, 1000, 1000);
SELECT slot_faults.acquire_slots('b', 'worker', 4, 1000, 1000);
CREATE FUNCTION pg_temp.content() RETURNS text LANGUAGE sql AS $$
    SELECT concat((SELECT string_agg(o::text, ' ' ORDER BY o.owner) FROM slot_faults.slot_owners AS o),
                  (SELECT string_agg(s::text, ' ' ORDER BY s.slot) FROM slot_faults.slot_shares AS s),
                  (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'))
$$;
-- Runs a statement with its first store call failing, then its second, and so on; the run that succeeds is undone.
CREATE FUNCTION pg_temp.fail_each(statement text) RETURNS TABLE (fails int, left_traces int, then_works boolean) LANGUAGE plpgsql AS $$
DECLARE
    before text := pg_temp.content();
BEGIN
    fails := 0;
    left_traces := 0;
    FOR n IN 0..50 LOOP
        BEGIN
            PERFORM belay.inject_fault('store.call', 1, n);
            EXECUTE statement;
            then_works := pg_temp.content() <> before;
            RAISE EXCEPTION SQLSTATE 'UNDO0';
        EXCEPTION
            WHEN SQLSTATE 'UNDO0' THEN
                EXIT;
            WHEN internal_error THEN
                fails := fails + 1;
                IF pg_temp.content() <> before THEN left_traces := left_traces + 1; END IF;
        END;
    END LOOP;
    PERFORM belay.inject_fault('store.call', 0, 0);
    RETURN NEXT;
END $$;
SELECT * FROM pg_temp.fail_each($$SELECT slot_faults.acquire_slots('a', 'worker', 4, 1000, 1500)$$);
SELECT * FROM pg_temp.fail_each($$SELECT slot_faults.acquire_slots('c', 'worker', 4, 1000, 5000)$$);
SELECT * FROM pg_temp.fail_each($$SELECT slot_faults.release_slots('a', 'worker')$$);
SELECT belay.drop_hub('slot_faults', p_force => true);
