-- belay.run_as_owner: what a superuser reads of another owner's hub runs with the owner's rights.
\set VERBOSITY terse
\set SHOW_CONTEXT never
CALL test.create_owner('regress_belay_ho_owner');
CREATE ROLE regress_belay_ho_other;
SET ROLE regress_belay_ho_owner;
SELECT belay.create_hub('ho');
SELECT ho.create_task('mail', '{"n": 1}', '00000000-0000-4000-8000-000000000001');
-- The owner puts code into a view and replaces a function.
CREATE FUNCTION ho.spy(x text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'runs as %, superuser %', current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    BEGIN
        RESET ROLE;
    EXCEPTION WHEN OTHERS THEN
        RAISE NOTICE 'RESET ROLE: %', SQLERRM;
    END;
    PERFORM set_config('search_path', 'ho', false);
    RETURN x;
END $$;
CREATE OR REPLACE VIEW ho.dead_letter_summary AS
    SELECT ho.spy('x') AS queue, 'r'::text AS reason, 1::bigint AS items, now() AS oldest_dead_at, now() AS newest_dead_at;
RESET ROLE;
SELECT current_setting('search_path') AS path \gset
SELECT nr, fields[1:3] FROM belay.run_as_owner('ho', 'SELECT * FROM ho.dead_letter_summary');
SELECT current_setting('search_path') = :'path' AS same_path;
SELECT current_user = session_user AS same_user;
-- Names of columns first, NULL stays NULL, no columns is an empty array, and a command has no rows.
SELECT nr, fields FROM belay.run_as_owner('ho', $$SELECT 1 AS a, NULL AS b, 'x,y' AS "c d"$$);
SELECT nr, fields FROM belay.run_as_owner('ho', 'SELECT');
SELECT count(*) FROM belay.run_as_owner('ho', $$SET statement_timeout = 0$$);
-- It changes what the owner may change, and nothing else.
SELECT nr, fields[1] FROM belay.run_as_owner('ho', $$SELECT result FROM ho.cancel_task('00000000-0000-4000-8000-000000000001')$$);
SELECT test.sqlstate($$SELECT belay.run_as_owner('ho', 'CREATE ROLE regress_belay_ho_evil SUPERUSER')$$) AS no_right,
       test.sqlstate($$SELECT belay.run_as_owner('ho', 'SET ROLE postgres')$$) AS set_role,
       test.sqlstate($$SELECT belay.run_as_owner('ho', 'COMMIT')$$) AS commit;
-- For those who have the owner's rights.
SET ROLE regress_belay_ho_other;
SELECT test.sqlstate($$SELECT belay.run_as_owner('ho', 'SELECT 1')$$);
RESET ROLE;
GRANT regress_belay_ho_owner TO regress_belay_ho_other;
SET ROLE regress_belay_ho_other;
SELECT nr, fields FROM belay.run_as_owner('ho', 'SELECT current_user');
RESET ROLE;
SELECT * FROM test.expect('QB006', $$SELECT belay.run_as_owner(NULL, 'SELECT 1')$$, $$SELECT belay.run_as_owner('ho', NULL)$$);
SELECT * FROM test.expect('QB002', $$SELECT belay.run_as_owner('ho_none', 'SELECT 1')$$);
SELECT belay.drop_hub('ho', p_force => true);
CALL test.drop_role('regress_belay_ho_other');
CALL test.drop_role('regress_belay_ho_owner');
