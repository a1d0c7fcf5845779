-- serial: changes rights on the database, or touches every hub
-- Making, renaming and removing hubs.
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- HB-1: a hub is a schema with its own tables and functions.
SELECT belay.create_hub('hc_app');
SELECT name, owner = current_user AS mine, api, is_current, paused, paused_queues,
       created_at <= now() + interval '1 min' AS has_date, size_bytes > 0 AS has_size
  FROM belay.hubs WHERE name = 'hc_app';
SELECT api, incarnation, epoch_floor, options FROM hc_app.belay_hub;
SELECT hc_app.pause_hub('worker', 'maintenance');
SELECT paused, paused_queues FROM belay.hubs WHERE name = 'hc_app';
SELECT hc_app.pause_hub();
SELECT hc_app.pause_hub();
SELECT paused, paused_queues FROM belay.hubs WHERE name = 'hc_app';
SELECT hc_app.resume_hub('tasks');
SELECT paused, paused_queues FROM belay.hubs WHERE name = 'hc_app';
SELECT hc_app.resume_hub();
SELECT hc_app.resume_hub();
SELECT paused, paused_queues FROM belay.hubs WHERE name = 'hc_app';
SELECT test.error($$SELECT hc_app.pause_hub('Worker')$$);
SELECT test.error($$SELECT hc_app.resume_hub('')$$);

-- Its objects are ordinary objects, not members of the extension, and have comments.
SELECT pg_describe_object(d.classid, d.objid, 0) AS extension_member
  FROM pg_depend AS d
  LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
  LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND 'hc_app'::regnamespace IN (c.relnamespace, p.pronamespace);
SELECT oid::regprocedure AS without_comment FROM pg_proc
 WHERE pronamespace = 'hc_app'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL;
SELECT oid::regclass AS without_comment FROM pg_class
 WHERE relnamespace = 'hc_app'::regnamespace AND relkind IN ('r', 'v', 'S')
   AND obj_description(oid, 'pg_class') IS NULL;

-- SO-14: rows of every table can be told apart by logical replication.
SELECT c.oid::regclass AS without_identity FROM pg_class AS c
 WHERE c.relnamespace = 'hc_app'::regnamespace AND c.relkind = 'r' AND c.relreplident <> 'f'
   AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary);

-- Every function is PARALLEL UNSAFE, not STRICT, not SECURITY DEFINER, without SET clauses.
SELECT oid::regprocedure FROM pg_proc
 WHERE pronamespace = 'hc_app'::regnamespace
   AND (proparallel <> 'u' OR proisstrict OR prosecdef OR proconfig IS NOT NULL
        OR provolatile = 'i');
-- No triggers, no foreign keys, no row security.
SELECT c.oid::regclass FROM pg_class AS c
 WHERE c.relnamespace = 'hc_app'::regnamespace
   AND (c.relhastriggers OR c.relrowsecurity
        OR EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = c.oid AND k.contype = 'f'));

-- Removed and made again under the same name: new functions, new identity, same session.
SELECT uuid AS old_uuid FROM hc_app.belay_hub \gset
SELECT belay.set_hub_option('hc_app', 'slot_count', '7');
SELECT belay.drop_hub('hc_app');
SELECT count(*) FROM belay.hubs WHERE name = 'hc_app';
SELECT count(*) FROM pg_namespace WHERE nspname = 'hc_app';
SELECT test.error($$SELECT belay.drop_hub('hc_app')$$);
SELECT belay.create_hub('hc_app');
SELECT hc_app.pause_hub('tasks');
SELECT uuid <> :'old_uuid' AS new_identity, options FROM hc_app.belay_hub;
SELECT test.option('hc_app', 'slot_count');
-- The same inside one function, with its kept plans, twice.
CREATE FUNCTION test.hc_again() RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    found jsonb;
BEGIN
    PERFORM belay.drop_hub('hc_app');
    PERFORM belay.create_hub('hc_app');
    PERFORM hc_app.pause_hub('worker', 'again');
    SELECT options INTO found FROM hc_app.belay_hub;
    RETURN found;
END $$;
SELECT test.hc_again();
SELECT test.hc_again();

-- HB-1: bad names, a schema that is there already and unknown apis are refused, and change nothing.
SELECT test.error($$SELECT belay.create_hub('')$$);
SELECT test.error($$SELECT belay.create_hub(NULL)$$);
SELECT test.error($$SELECT belay.create_hub('pg_app')$$);
SELECT test.error($$SELECT belay.create_hub('belay')$$);
SELECT test.error($$SELECT belay.create_hub('information_schema', p_adopt => true)$$);
SELECT test.error($$SELECT belay.create_hub('pg_catalog', p_adopt => true)$$);
SELECT test.error($$SELECT belay.create_hub('hc_app')$$);
SELECT test.error($$SELECT belay.create_hub('hc_app', p_adopt => NULL)$$);
SELECT test.error($$SELECT belay.create_hub('hc_app', p_adopt => true)$$);
SELECT test.error($$SELECT belay.create_hub('hc_none', 'oracle')$$);
SELECT test.error($$SELECT belay.create_hub('hc_none', '')$$);
SELECT test.error($$SELECT belay.create_hub('hc_none', NULL)$$);
SELECT nspname FROM pg_namespace WHERE nspname IN ('hc_none', '', 'pg_app');
SELECT options FROM hc_app.belay_hub;
SELECT test.error($$SELECT belay.drop_hub(NULL)$$);
SELECT test.error($$SELECT belay.drop_hub('test')$$);
SELECT test.error($$SELECT belay.upgrade_hub('hc_none')$$);
SELECT test.error($$SELECT belay.upgrade_hub(NULL)$$);

-- A read-only transaction reads, and changes nothing.
BEGIN READ ONLY;
SELECT name FROM belay.hubs WHERE name = 'hc_app';
SELECT * FROM belay.check_hub('hc_app');
SELECT * FROM test.expect('25006',
    $$SELECT belay.create_hub('hc_none')$$,
    $$SELECT belay.drop_hub('hc_app')$$,
    $$SELECT belay.upgrade_hub('hc_app')$$,
    $$SELECT belay.set_hub_option('hc_app', 'slot_count', '2')$$,
    $$SELECT belay.grant_hub('hc_app', 'pg_monitor', 'client')$$,
    $$SELECT belay.revoke_hub('hc_app', 'pg_monitor', 'client')$$,
    $$SELECT belay.new_incarnation('hc_app')$$,
    $$SELECT hc_app.pause_hub()$$,
    $$SELECT hc_app.resume_hub()$$);
COMMIT;

-- Names with blanks, quotes, upper case and letters of other alphabets; 63 bytes is the longest.
CREATE TEMP TABLE odd (name name);
INSERT INTO odd VALUES ('App 2'), ('o''brien'), ('say "hub"'), ('Größe 数'), ('select'), ('@hub@'),
    ('{hub}'), ('$1'), ('%s'), ('a.b'), (E'back\\slash'), (repeat('ä', 31) || 'x'), (repeat('"', 63));
SELECT name, octet_length(name::text), belay.create_hub(name) FROM odd;
SELECT o.name, h.is_current FROM odd AS o LEFT JOIN belay.hubs AS h USING (name) ORDER BY o.name COLLATE "C";
DO $$
DECLARE
    hub name;
BEGIN
    FOR hub IN SELECT name FROM odd LOOP
        EXECUTE format('SELECT %I.pause_hub(''worker'', ''odd'')', hub);
        PERFORM belay.set_hub_option(hub, 'slot_count', '3');
        PERFORM belay.upgrade_hub(hub);
        PERFORM belay.new_incarnation(hub);
        PERFORM belay.grant_hub(hub, 'pg_monitor', 'operator');
        PERFORM belay.revoke_hub(hub, 'pg_monitor', 'operator');
    END LOOP;
END $$;
SELECT o.name, h.paused_queues, test.option(o.name, 'slot_count')
  FROM odd AS o JOIN belay.hubs AS h USING (name) ORDER BY o.name COLLATE "C";
SELECT o.name, c.* FROM odd AS o, belay.check_hub(o.name) AS c;
SELECT name, belay.drop_hub(name) FROM odd WHERE name <> 'App 2';
SELECT name FROM belay.hubs JOIN odd USING (name);

-- HB-3: renaming the schema renames the hub, also for statements that are already prepared.
SELECT "App 2".resume_hub();
ALTER SCHEMA "App 2" RENAME TO hc_renamed;
SELECT hc_renamed.pause_hub('intents');
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('App 2', 'hc_renamed');
SELECT belay.create_hub('App 2');
SELECT "App 2".pause_hub('tasks');
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('App 2', 'hc_renamed') ORDER BY 1;
SELECT belay.drop_hub('App 2');
-- Two hubs that swap their names keep their rows.
SELECT belay.create_hub('hc_swap');
SELECT hc_swap.pause_hub('worker');
BEGIN;
ALTER SCHEMA hc_swap RENAME TO hc_tmp;
ALTER SCHEMA hc_renamed RENAME TO hc_swap;
ALTER SCHEMA hc_tmp RENAME TO hc_renamed;
COMMIT;
SELECT hc_swap.resume_hub('intents');
SELECT hc_renamed.pause_hub('tasks');
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('hc_swap', 'hc_renamed') ORDER BY 1;
-- HB-3: a function works for the hub that it lies in, not for one on the search_path.
BEGIN;
SET LOCAL search_path = hc_swap, pg_catalog;
SELECT hc_renamed.pause_hub('intents');
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('hc_swap', 'hc_renamed') ORDER BY 1;
ROLLBACK;
SELECT belay.drop_hub('hc_swap');

-- HB-6: DROP SCHEMA ... CASCADE removes a hub and leaves nothing behind.
DROP SCHEMA hc_renamed;
SET client_min_messages = warning;
DROP SCHEMA hc_renamed CASCADE;
RESET client_min_messages;
SELECT count(*) FROM belay.hubs WHERE name IN ('hc_swap', 'hc_renamed');

-- ---------------------------------------------------------------- adoption
-- A schema that exists becomes a hub and keeps what it has, also when the hub goes.
CREATE SCHEMA hc_mine;
CREATE TABLE hc_mine.orders (id int PRIMARY KEY);
INSERT INTO hc_mine.orders VALUES (1);
CREATE FUNCTION hc_mine.answer() RETURNS int LANGUAGE sql AS 'SELECT 42';
SELECT test.error($$SELECT belay.create_hub('hc_mine')$$);
SELECT belay.create_hub('hc_mine', p_adopt => true);
SELECT hc_mine.pause_hub();
SELECT * FROM belay.check_hub('hc_mine');
SELECT belay.upgrade_hub('hc_mine');
SELECT belay.drop_hub('hc_mine');
SELECT hc_mine.answer(), id FROM hc_mine.orders;
SELECT relname FROM pg_class WHERE relnamespace = 'hc_mine'::regnamespace AND relkind IN ('r', 'v', 'S');
SELECT proname FROM pg_proc WHERE pronamespace = 'hc_mine'::regnamespace;
SELECT name FROM belay.hubs WHERE name = 'hc_mine';
-- And again.
SELECT belay.create_hub('hc_mine', p_adopt => true);
SELECT belay.drop_hub('hc_mine');
-- A new schema can be asked for in the same way.
SELECT belay.create_hub('hc_fresh', p_adopt => true);
SELECT belay.drop_hub('hc_fresh');
SELECT count(*) FROM pg_namespace WHERE nspname = 'hc_fresh';

-- A name that any object of the database has is rejected, and nothing is changed.
CREATE VIEW hc_mine.belay_hub AS SELECT 1 AS one;
SELECT test.error($$SELECT belay.create_hub('hc_mine', p_adopt => true)$$);
DROP VIEW hc_mine.belay_hub;
CREATE FUNCTION hc_mine.pause_hub(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT test.error($$SELECT belay.create_hub('hc_mine', p_adopt => true)$$);
DROP FUNCTION hc_mine.pause_hub(int);
CREATE TYPE hc_mine.belay_hub AS ENUM ('x');
SELECT test.sqlstate($$SELECT belay.create_hub('hc_mine', p_adopt => true)$$);
DROP TYPE hc_mine.belay_hub;
SELECT relname FROM pg_class WHERE relnamespace = 'hc_mine'::regnamespace AND relkind IN ('r', 'v', 'S');

-- Schema public can be a hub. (Undone: other tests run beside this one.)
BEGIN;
SELECT belay.create_hub('public', p_adopt => true);
SELECT public.pause_hub();
SELECT paused FROM belay.hubs WHERE name = 'public';
SELECT belay.drop_hub('public');
SELECT count(*) FROM pg_namespace WHERE nspname = 'public';
ROLLBACK;

-- Only the schema's owner adopts it.
CALL test.create_owner('regress_belay_hc');
SET ROLE regress_belay_hc;
SELECT test.error($$SELECT belay.create_hub('hc_mine', p_adopt => true)$$);
RESET ROLE;
ALTER SCHEMA hc_mine OWNER TO regress_belay_hc;
SET ROLE regress_belay_hc;
SELECT belay.create_hub('hc_mine', p_adopt => true);
SELECT name, owner FROM belay.hubs WHERE name = 'hc_mine';
SELECT belay.drop_hub('hc_mine');
RESET ROLE;
CALL test.drop_role('regress_belay_hc');

-- ---------------------------------------------------------------- transactions
-- What is rolled back has never been: a hub made,
BEGIN;
SELECT belay.create_hub('hc_tx');
SELECT hc_tx.pause_hub();
ROLLBACK;
SELECT count(*) FROM belay.hubs WHERE name = 'hc_tx';
SELECT test.sqlstate('SELECT hc_tx.pause_hub()');
SELECT belay.create_hub('hc_tx');
SELECT hc_tx.pause_hub('worker');
-- a hub removed,
BEGIN;
SELECT belay.drop_hub('hc_tx');
SELECT test.sqlstate('SELECT hc_tx.pause_hub()');
SELECT name FROM belay.hubs WHERE name = 'hc_tx';
ROLLBACK;
SELECT name, paused_queues FROM belay.hubs WHERE name = 'hc_tx';
SELECT hc_tx.resume_hub();
-- a hub removed and made again,
BEGIN;
SELECT belay.drop_hub('hc_tx');
SELECT belay.create_hub('hc_tx');
SELECT hc_tx.pause_hub('tasks');
SELECT paused_queues FROM belay.hubs WHERE name = 'hc_tx';
ROLLBACK;
SELECT paused_queues FROM belay.hubs WHERE name = 'hc_tx';
SELECT hc_tx.pause_hub('intents');
-- a pause or a new name, up to a savepoint.
BEGIN;
SELECT hc_tx.pause_hub('orchestrator');
SAVEPOINT one;
SELECT hc_tx.resume_hub();
ALTER SCHEMA hc_tx RENAME TO hc_ty;
SELECT hc_ty.pause_hub('tasks');
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('hc_tx', 'hc_ty');
ROLLBACK TO one;
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('hc_tx', 'hc_ty');
SAVEPOINT two;
SELECT belay.drop_hub('hc_tx');
SELECT name FROM belay.hubs WHERE name IN ('hc_tx', 'hc_ty');
ROLLBACK TO two;
SELECT hc_tx.pause_hub('worker');
COMMIT;
SELECT hc_tx.resume_hub('intents');
SELECT name, paused_queues FROM belay.hubs WHERE name IN ('hc_tx', 'hc_ty');

-- Calls work at every isolation level, through cursors, and in a session that was reset.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT hc_tx.pause_hub();
SELECT paused FROM belay.hubs WHERE name = 'hc_tx';
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT hc_tx.pause_hub('tasks', n::text) FROM generate_series(1, 9) AS n;
FETCH 3 FROM c;
SELECT options #>> '{paused,tasks}' AS reason FROM hc_tx.belay_hub;
COMMIT;
PREPARE pause AS SELECT hc_tx.pause_hub('tasks', 'prepared');
EXECUTE pause;
SELECT belay.drop_hub('hc_tx');
SELECT test.sqlstate('EXECUTE pause');
SELECT belay.create_hub('hc_tx');
EXECUTE pause;
DISCARD ALL;
SELECT hc_tx.resume_hub();
SELECT belay.drop_hub('hc_tx');

-- A table that only looks like a hub's harms no other hub. (Not committed: other tests look, too.)
BEGIN;
CREATE SCHEMA hc_false;
CREATE TABLE hc_false.belay_hub (mark belay.hub_mark);
CREATE TEMP TABLE belay_hub (LIKE hc_app.belay_hub);
SELECT name FROM belay.hubs WHERE name = 'hc_app' OR name LIKE 'pg\_temp%';
SELECT test.option('hc_app', 'slot_count');
ROLLBACK;

SELECT belay.drop_hub('hc_app');
DROP FUNCTION test.hc_again();
