-- serial: changes rights on the database
-- Api duroxide-pg: the hub around the application: rights, ledger, upgrade, clean-up, adoption.
\set VERBOSITY terse
\set SHOW_CONTEXT never
CALL test.create_owner('regress_belay_ah_owner');
CREATE ROLE regress_belay_ah_client;
CREATE ROLE regress_belay_ah_worker;
CREATE ROLE regress_belay_ah_operator;
CREATE ROLE regress_belay_ah_monitor;
CREATE ROLE regress_belay_ah_app;
SET ROLE regress_belay_ah_owner;
SELECT belay.create_hub('api_hub', p_api => 'duroxide-pg');
SELECT * FROM belay.check_hub('api_hub');
SELECT api, is_current FROM belay.hubs WHERE name = 'api_hub';
SELECT belay.grant_hub('api_hub', 'regress_belay_ah_' || level, level) FROM unnest('{client,worker,operator,monitor}'::text[]) AS level;

---- Rights on tables

-- CP-5: every level reads the tables that applications read, and the ledger. None has more, and none has another table.
CREATE VIEW pg_temp.rights AS
SELECT c.relname, a.privilege_type, string_agg(substr(a.grantee::regrole::text, length('regress_belay_ah_') + 1), ' ' ORDER BY a.grantee) AS roles
  FROM pg_class AS c, aclexplode(c.relacl) AS a
 WHERE c.relnamespace = 'api_hub'::regnamespace AND (c.relkind = 'r' OR c.relname = 'history') AND a.grantee <> c.relowner
 GROUP BY c.relname, a.privilege_type ORDER BY c.relname COLLATE "C", a.privilege_type;
SELECT * FROM pg_temp.rights;
-- A level that goes takes them along. A hub of api belay gives no table to any role.
SELECT belay.revoke_hub('api_hub', 'regress_belay_ah_monitor', 'monitor');
SELECT * FROM pg_temp.rights;
SELECT belay.create_hub('api_hub_belay');
SELECT belay.grant_hub('api_hub_belay', 'regress_belay_ah_operator', 'operator');
SELECT relname FROM pg_class WHERE relnamespace = 'api_hub_belay'::regnamespace AND relkind = 'r' AND relacl::text LIKE '%regress_belay_ah_operator%';
SELECT belay.drop_hub('api_hub_belay');
-- No role but the owner may clean up.
SELECT a.grantee::regrole, a.privilege_type FROM pg_proc AS p, aclexplode(p.proacl) AS a WHERE p.oid = 'api_hub.cleanup_schema()'::regprocedure;

---- The application's role (CP-2)

-- Its start-up asks for the schema and the ledger "if not exists": that needs CREATE on the database and on the schema.
SELECT belay.grant_hub('api_hub', 'regress_belay_ah_app', 'worker');
SELECT belay.grant_hub('api_hub', 'regress_belay_ah_app', 'operator');
\set ledger 'CREATE TABLE IF NOT EXISTS api_hub._duroxide_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP)'
SET ROLE regress_belay_ah_app;
CREATE SCHEMA IF NOT EXISTS api_hub;
:ledger;
RESET ROLE;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_belay_ah_app', current_database()) \gexec
SET ROLE regress_belay_ah_owner;
GRANT CREATE ON SCHEMA api_hub TO regress_belay_ah_app;
SET ROLE regress_belay_ah_app;
CREATE SCHEMA IF NOT EXISTS api_hub;
:ledger;
SELECT count(*), max(version) FROM api_hub._duroxide_migrations;
SELECT EXISTS(SELECT 1 FROM information_schema.tables WHERE table_schema = 'api_hub' AND table_name = 'instances');

-- A newer application finds its version 22 missing and migrates, in one transaction. Every statement of it gets a permission error.
RESET ROLE;
CREATE TEMP VIEW state AS
SELECT (SELECT md5(string_agg(p.oid::text || pg_get_functiondef(p.oid) || p.proowner, '' ORDER BY p.oid)) FROM pg_proc AS p WHERE p.pronamespace = 'api_hub'::regnamespace) AS functions,
       (SELECT md5(string_agg(a.attrelid::text || a.attname || a.atttypid, '' ORDER BY a.attrelid, a.attnum)) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid WHERE c.relnamespace = 'api_hub'::regnamespace) AS relations,
       (SELECT md5(string_agg(m::text, '' ORDER BY version)) FROM api_hub._duroxide_migrations AS m) AS ledger;
CREATE TEMP TABLE before AS SELECT * FROM state;
SET ROLE regress_belay_ah_app;
SELECT test.error(migration || $$; INSERT INTO api_hub._duroxide_migrations (version, name) VALUES (22, '0022_next.sql')$$) AS error FROM unnest(ARRAY[
    -- a function replaced, dropped, or replaced in a block that builds its statements
    $$SET LOCAL search_path TO api_hub; CREATE OR REPLACE FUNCTION cleanup_orphaned_sessions(p_now_ms BIGINT) RETURNS BIGINT AS 'SELECT 0::bigint' LANGUAGE sql$$,
    $$SET LOCAL search_path TO api_hub; DROP FUNCTION IF EXISTS cleanup_schema()$$,
    $$SET LOCAL search_path TO api_hub; DO 'BEGIN EXECUTE format(''DROP FUNCTION IF EXISTS %I.renew_work_item_lock(TEXT, BIGINT, BIGINT)'', current_schema()); END'$$,
    -- a table changed
    $$SET LOCAL search_path TO api_hub; ALTER TABLE instances ADD COLUMN IF NOT EXISTS priority INTEGER$$,
    $$SET LOCAL search_path TO api_hub; CREATE INDEX IF NOT EXISTS idx_next ON worker_queue (tag)$$,
    $$SET LOCAL search_path TO api_hub; UPDATE executions SET status = 'Running'$$,
    $$SET LOCAL search_path TO api_hub; DELETE FROM _duroxide_migrations$$,
    -- only new things: then the ledger stops it
    $$SET LOCAL search_path TO api_hub; CREATE TABLE next (a int); CREATE FUNCTION next() RETURNS int LANGUAGE sql AS 'SELECT 1'$$]) WITH ORDINALITY AS m (migration, nr) ORDER BY nr;
SELECT test.error('SELECT api_hub.cleanup_schema()');
SELECT test.error('DROP SCHEMA IF EXISTS api_hub CASCADE');
-- What only belay's functions touch it cannot even read.
SELECT * FROM test.expect('42501', 'SELECT FROM api_hub.orchestrator_queue', 'SELECT FROM api_hub.worker_queue', 'SELECT FROM api_hub.messages', 'SELECT FROM api_hub.work_items',
    'SELECT FROM api_hub.instance_locks', 'SELECT FROM api_hub.sessions', 'SELECT FROM api_hub.kv_store', 'SELECT FROM api_hub.kv_delta', 'SELECT FROM api_hub.belay_hub',
    'DELETE FROM api_hub.instances', 'SELECT FROM api_hub.history_turns', 'INSERT INTO api_hub.history_turns DEFAULT VALUES', 'TRUNCATE api_hub._duroxide_migrations');
RESET ROLE;
-- Nothing has changed.
SELECT functions, relations, ledger FROM state EXCEPT SELECT * FROM before;
SELECT * FROM belay.check_hub('api_hub');

---- The ledger (CP-3)

-- The owner may add and delete versions; an upgrade leaves them alone, and the rights too.
SET ROLE regress_belay_ah_owner;
DELETE FROM api_hub._duroxide_migrations WHERE version IN (3, 21);
INSERT INTO api_hub._duroxide_migrations (version, name) VALUES (22, '0022_next.sql');
SELECT belay.upgrade_hub('api_hub');
SELECT count(*), array_agg(version ORDER BY version) AS versions FROM api_hub._duroxide_migrations;
SELECT * FROM pg_temp.rights;
DELETE FROM api_hub._duroxide_migrations;
SELECT belay.upgrade_hub('api_hub');
SELECT count(*) FROM api_hub._duroxide_migrations;
SELECT * FROM belay.check_hub('api_hub');

---- cleanup_schema

-- It removes the hub with its content, and keeps the schema with what others have in it.
SET ROLE regress_belay_ah_app;
CREATE TABLE api_hub.of_the_application (a int);
SELECT api_hub.start_orchestration('O', '', 'i', '1');
SELECT count(*) FROM api_hub.fetch_orchestration_item((extract(epoch FROM clock_timestamp()) * 1000)::bigint, 60000, NULL, NULL);
SELECT api_hub.cleanup_schema();
SET ROLE regress_belay_ah_owner;
-- As all else it can be taken back.
BEGIN;
SELECT api_hub.cleanup_schema();
SELECT count(*) FROM pg_proc WHERE pronamespace = 'api_hub'::regnamespace;
ROLLBACK;
SELECT * FROM belay.check_hub('api_hub');
-- With its first store call failing, then with its second, and so on, until it succeeds: it removes all or nothing.
RESET ROLE;
DO $$
DECLARE
    left_traces int := 0;
    failures int := 0;
BEGIN
    FOR n IN 0..500 LOOP
        BEGIN
            PERFORM belay.inject_fault('store.call', 1, n);
            PERFORM api_hub.cleanup_schema();
            EXIT;
        EXCEPTION WHEN internal_error THEN
            failures := failures + 1;
            left_traces := left_traces + (SELECT count(*) FROM belay.check_hub('api_hub')) + (SELECT count(*) - 1 FROM api_hub.messages);
        END;
    END LOOP;
    PERFORM belay.inject_fault('store.call', 0, 0);
    RAISE NOTICE 'failed %, left traces %', failures > 0, left_traces;
END $$;
SET ROLE regress_belay_ah_owner;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'api_hub'::regnamespace;
SELECT proname FROM pg_proc WHERE pronamespace = 'api_hub'::regnamespace;
SELECT count(*) FROM belay.hubs WHERE name = 'api_hub';
SELECT nspname, nspowner::regrole FROM pg_namespace WHERE nspname = 'api_hub';
SELECT api_hub.cleanup_schema();

-- The schema can become a hub again: a new one, with nothing of the old.
SELECT belay.create_hub('api_hub', p_api => 'duroxide-pg');
SELECT belay.create_hub('api_hub', p_api => 'duroxide-pg', p_adopt => true);
SELECT * FROM belay.check_hub('api_hub');
SELECT (SELECT count(*) FROM api_hub._duroxide_migrations) AS ledger, (SELECT count(*) FROM api_hub.messages) AS messages;
SELECT * FROM pg_temp.rights;
SELECT api_hub.start_orchestration('O', '', 'i', '1');
SELECT count(*) FROM api_hub.fetch_orchestration_item((extract(epoch FROM clock_timestamp()) * 1000)::bigint, 60000, NULL, NULL);
SELECT api_hub.cleanup_schema();
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'api_hub'::regnamespace;

-- What duroxide-pg itself left in a schema stands in the way of a hub: tables, the ledger, and functions by their names.
CREATE TABLE api_hub._duroxide_migrations (version bigint);
SELECT test.error($$SELECT belay.create_hub('api_hub', 'duroxide-pg', true)$$);
DROP TABLE api_hub._duroxide_migrations;
CREATE FUNCTION api_hub.cleanup_schema() RETURNS void LANGUAGE sql AS '';
SELECT test.error($$SELECT belay.create_hub('api_hub', 'duroxide-pg', true)$$);
DROP FUNCTION api_hub.cleanup_schema();
CREATE FUNCTION api_hub.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_secs bigint) RETURNS void LANGUAGE sql AS '';
SELECT test.error($$SELECT belay.create_hub('api_hub', 'duroxide-pg', true)$$);
DROP FUNCTION api_hub.renew_work_item_lock(text, bigint, bigint);
CREATE FUNCTION api_hub.fetch_orchestration_item(bigint, bigint, bigint, bigint) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT test.error($$SELECT belay.create_hub('api_hub', 'duroxide-pg', true)$$);
DROP FUNCTION api_hub.fetch_orchestration_item(bigint, bigint, bigint, bigint);

RESET ROLE;
CALL test.drop_role('regress_belay_ah_app');
CALL test.drop_role('regress_belay_ah_client');
CALL test.drop_role('regress_belay_ah_worker');
CALL test.drop_role('regress_belay_ah_operator');
CALL test.drop_role('regress_belay_ah_monitor');
CALL test.drop_role('regress_belay_ah_owner');
