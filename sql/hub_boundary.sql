-- serial: with preloading, an injected fault strikes whichever session passes first.
-- No way out of C++ hurts the server: each becomes one clean error.
\set VERBOSITY terse
\set SHOW_CONTEXT never

CALL test.create_owner('regress_belay_hb');
SET ROLE regress_belay_hb;
SELECT belay.create_hub('hb_app');
RESET ROLE;
SELECT pg_backend_pid() AS pid \gset

SELECT point, count FROM belay.faults() WHERE point LIKE 'boundary.%' ORDER BY point COLLATE "C";

-- A C++ exception, one of an unknown type, no memory, and an ERROR deep inside.
SELECT belay.inject_fault('boundary.throw', 1);
SELECT count FROM belay.faults() WHERE point = 'boundary.throw';
SELECT test.error('SELECT hb_app.pause_hub()');
SELECT count FROM belay.faults() WHERE point = 'boundary.throw';
SELECT test.error('SELECT hb_app.pause_hub()');
SELECT belay.inject_fault('boundary.throw_unknown', 1);
SELECT test.error('SELECT hb_app.pause_hub()');
SELECT belay.inject_fault('boundary.memory', 1);
SELECT test.error('SELECT hb_app.pause_hub()');
SELECT belay.inject_fault('boundary.error', 1);
SELECT test.error('SELECT hb_app.pause_hub()');
SELECT hb_app.resume_hub();
SELECT pg_backend_pid() = :pid AS same_backend;

-- If it is not caught, the transaction fails and the session goes on.
SELECT belay.inject_fault('boundary.throw', 1);
SELECT hb_app.pause_hub();
\echo :LAST_ERROR_SQLSTATE
SELECT belay.inject_fault('boundary.memory', 1);
BEGIN;
SELECT hb_app.pause_hub();
\echo :LAST_ERROR_SQLSTATE
SELECT 1;
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT pg_backend_pid() = :pid AS same_backend;

-- The rights of the caller, its settings and its uncommitted work are as they were.
CREATE TABLE test.hb (n int, who name, path text);
GRANT ALL ON test.hb TO PUBLIC;
CREATE ROLE regress_belay_hb_caller;
SELECT belay.grant_hub('hb_app', 'regress_belay_hb_caller', 'operator');
CREATE FUNCTION test.hb_loop() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..20 LOOP
        INSERT INTO test.hb VALUES (i, current_user, current_setting('work_mem'));
        BEGIN
            PERFORM hb_app.pause_hub('tasks', i::text);
            INSERT INTO test.hb VALUES (100 + i, current_user, 'no error');
        EXCEPTION WHEN internal_error OR out_of_memory THEN
            INSERT INTO test.hb VALUES (200 + i, current_user, sqlstate);
        END;
    END LOOP;
END $$;
SELECT belay.inject_fault('boundary.throw', 5), belay.inject_fault('boundary.throw_unknown', 5),
       belay.inject_fault('boundary.memory', 5), belay.inject_fault('boundary.error', 4);
SET ROLE regress_belay_hb_caller;
SET work_mem = '5MB';
SELECT test.hb_loop();
SELECT current_user, current_setting('work_mem') AS work_mem;
RESET ROLE;
RESET work_mem;
SELECT n / 100 AS what, who, path, count(*) FROM test.hb GROUP BY 1, 2, 3 ORDER BY 1, 3;
SELECT options FROM hb_app.belay_hub;
SELECT * FROM belay.faults() WHERE count > 0;
SELECT pg_backend_pid() = :pid AS same_backend;

-- In functions of schema belay: an upgrade that fails in the middle has done nothing.
UPDATE hb_app.belay_hub SET version = 0;
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.inject_fault('upgrade.step', 1);
SELECT test.error($$SELECT belay.upgrade_hub('hb_app')$$);
SELECT version FROM hb_app.belay_hub;
UPDATE hb_app.belay_hub SET version = 1;
SELECT belay.inject_fault('upgrade.step', 1);
SELECT test.error($$SELECT belay.create_hub('hb_lost')$$);
SELECT count(*) FROM pg_namespace WHERE nspname = 'hb_lost';
SELECT belay.create_hub('hb_lost');
SELECT belay.drop_hub('hb_lost');

-- Who may inject, and what.
SELECT test.error($$SELECT belay.inject_fault('no.such', 1)$$);
SELECT test.error($$SELECT belay.inject_fault(NULL, 1)$$);
SELECT test.error($$SELECT belay.inject_fault('boundary.throw', -1)$$);
SELECT belay.inject_fault('boundary.throw', 1000);
SELECT belay.inject_fault('boundary.throw', 0);
SELECT belay.inject_fault('boundary.error', NULL);
SELECT hb_app.pause_hub();
SET ROLE regress_belay_hb;
SELECT test.error($$SELECT belay.inject_fault('boundary.throw', 1)$$);
RESET ROLE;
GRANT EXECUTE ON FUNCTION belay.inject_fault TO regress_belay_hb;
SET ROLE regress_belay_hb;
SELECT test.error($$SELECT belay.inject_fault('boundary.throw', 1)$$);
RESET ROLE;
SELECT * FROM belay.faults() WHERE count > 0;

DROP FUNCTION test.hb_loop();
DROP TABLE test.hb;
SELECT belay.drop_hub('hb_app');
CALL test.drop_role('regress_belay_hb_caller');
CALL test.drop_role('regress_belay_hb');
