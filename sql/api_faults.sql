-- serial: with preloading, an injected fault strikes whichever session passes first.
-- Section 28, ER-4, for what a hub of api duroxide-pg has in a form of its own: each function that writes is run with its first store call failing, then with its second, and so on,
-- until it succeeds: no failure leaves anything behind.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('api_faults', 'duroxide-pg');
SELECT belay.set_hub_option('api_faults', 'max_clock_skew', '0');  -- these tests choose the time

-- A digest of every table of the schema, of its functions, and of the advisory locks that this session holds.
CREATE FUNCTION pg_temp.content() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    tab text;
    part text;
    parts text;
BEGIN
    parts := 'locks ' || (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') || ', functions ' || (SELECT count(*) FROM pg_proc WHERE pronamespace = 'api_faults'::regnamespace);
    FOR tab IN SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = 'api_faults'::regnamespace AND c.relkind = 'r' ORDER BY c.relname::text COLLATE "C" LOOP
        EXECUTE format('SELECT md5(string_agg(t::text, ''|'' ORDER BY t::text COLLATE "C")) FROM %s AS t', tab) INTO part;
        parts := concat_ws(E'\n', parts, tab, part);
    END LOOP;
    RETURN parts;
END $$;
-- Runs a statement until no store call is left to fail. The successful run is undone as well.
-- fails: whether at least one call failed. left_traces: after how many of the failures something was different. swallowed: runs that succeeded although a call failed.
CREATE FUNCTION pg_temp.fail_each(statement text) RETURNS TABLE (fails boolean, left_traces int, swallowed int, then_works boolean, other_errors text) LANGUAGE plpgsql AS $$
DECLARE
    before text := pg_temp.content();
    failures int := 0;
BEGIN
    left_traces := 0;
    swallowed := 0;
    FOR n IN 0..500 LOOP
        BEGIN
            PERFORM belay.inject_fault('store.call', 1, n);
            EXECUTE statement;
            IF (SELECT count FROM belay.faults() WHERE point = 'store.call') = 0 THEN
                swallowed := swallowed + 1;
                RAISE EXCEPTION SQLSTATE 'AGAIN';
            END IF;
            then_works := pg_temp.content() <> before;
            RAISE EXCEPTION SQLSTATE 'UNDO0';
        EXCEPTION
            WHEN SQLSTATE 'UNDO0' THEN
                EXIT;
            WHEN SQLSTATE 'AGAIN' THEN
                NULL;
            WHEN internal_error THEN
                failures := failures + 1;
                IF SQLERRM <> 'injected fault at "store.call"' THEN other_errors := concat_ws(', ', other_errors, SQLERRM); END IF;
                IF pg_temp.content() <> before THEN left_traces := left_traces + 1; END IF;
            WHEN OTHERS THEN
                other_errors := concat_ws(', ', other_errors, SQLSTATE || ' ' || SQLERRM);
                EXIT;
        END;
    END LOOP;
    PERFORM belay.inject_fault('store.call', 0, 0);
    fails := failures > 0;
    RETURN NEXT;
END $$;

SELECT api_faults.start_orchestration('O', '', 'turn', '1', 0, 1000), api_faults.enqueue_worker_work('{"ActivityExecute":{}}', 1000);
SELECT out_lock_token AS turn FROM api_faults.fetch_orchestration_item(1000, 1000) \gset
SELECT out_lock_token AS work FROM api_faults.fetch_work_item(1000, 1000) \gset
SELECT api_faults.start_orchestration('O', '', 'ready', '1', 0, 1000);

SELECT * FROM pg_temp.fail_each('SELECT api_faults.fetch_orchestration_item(1000, 1000)');
SELECT * FROM pg_temp.fail_each(format('SELECT api_faults.renew_orchestration_item_lock(%L, 1000, 5)', :'turn'));
SELECT * FROM pg_temp.fail_each(format('SELECT api_faults.renew_work_item_lock(%L, 1000, 5)', :'work'));
SELECT * FROM pg_temp.fail_each('SELECT api_faults.cleanup_schema()');
SELECT point, count FROM belay.faults() WHERE count <> 0;
-- The hub is whole after all of that.
SELECT * FROM belay.check_hub('api_faults');
SELECT api_faults.renew_orchestration_item_lock(:'turn', 1000, 5), api_faults.renew_work_item_lock(:'work', 1000, 5);

SELECT belay.drop_hub('api_faults', true);
