-- serial: changes rights on the database, or touches every hub
-- Who may do what in a hub, and with whose rights it is done.
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- ---------------------------------------------------------------- owning hubs
-- It takes USAGE on the language and CREATE on the database; no superuser.
CREATE ROLE regress_belay_hr_none;
CREATE ROLE regress_belay_hr_database;
CREATE ROLE regress_belay_hr_language;
DO $$ BEGIN
    EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_belay_hr_database', current_database());
END $$;
GRANT USAGE ON LANGUAGE belay TO regress_belay_hr_language;
SET ROLE regress_belay_hr_none;
SELECT test.error($$SELECT belay.create_hub('hr_app')$$);
SET ROLE regress_belay_hr_database;
SELECT test.error($$SELECT belay.create_hub('hr_app')$$);
SET ROLE regress_belay_hr_language;
SELECT test.sqlstate($$SELECT belay.create_hub('hr_app')$$);
RESET ROLE;
CALL test.create_owner('regress_belay_hr_owner');
SET ROLE regress_belay_hr_owner;
SELECT belay.create_hub('hr_app');
SELECT hr_app.pause_hub();
SELECT hr_app.resume_hub();
SELECT belay.set_hub_option('hr_app', 'slot_count', '2');
SELECT belay.upgrade_hub('hr_app');
SELECT * FROM belay.check_hub('hr_app');
RESET ROLE;
SELECT owner FROM belay.hubs WHERE name = 'hr_app';

-- ---------------------------------------------------------------- levels
CREATE ROLE regress_belay_hr_client;
CREATE ROLE regress_belay_hr_worker;
CREATE ROLE regress_belay_hr_operator;
CREATE ROLE regress_belay_hr_monitor;
CREATE TEMP TABLE level (n int, name text, role name);
INSERT INTO level SELECT n, name, 'regress_belay_hr_' || name
  FROM unnest('{client,worker,operator,monitor}'::text[]) WITH ORDINALITY AS l(name, n);
SET ROLE regress_belay_hr_owner;
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_client', 'client');
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_worker', 'worker');
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_operator', 'operator');
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_monitor', 'monitor');
RESET ROLE;

-- The levels of every function and view.
SELECT p.proname AS function,
       (SELECT string_agg(l.name, ' ' ORDER BY l.n) FROM level AS l
         WHERE has_function_privilege(l.role, p.oid, 'EXECUTE')) AS levels
  FROM pg_proc AS p WHERE p.pronamespace = 'hr_app'::regnamespace
 ORDER BY p.proname COLLATE "C", p.oid;
SELECT c.relname AS view,
       (SELECT string_agg(l.name, ' ' ORDER BY l.n) FROM level AS l
         WHERE has_table_privilege(l.role, c.oid, 'SELECT')) AS levels
  FROM pg_class AS c WHERE c.relnamespace = 'hr_app'::regnamespace AND c.relkind = 'v'
 ORDER BY c.relname COLLATE "C";
-- Of tables and sequences no role has anything, of views no role more than SELECT, and PUBLIC has nothing at all.
SELECT c.relname, a.grantee::regrole, a.privilege_type
  FROM pg_class AS c, aclexplode(c.relacl) AS a
 WHERE c.relnamespace = 'hr_app'::regnamespace AND a.grantee <> c.relowner
   AND (c.relkind <> 'v' OR a.privilege_type <> 'SELECT' OR a.grantee = 0);
SELECT p.proname FROM pg_proc AS p
 WHERE p.pronamespace = 'hr_app'::regnamespace
   AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) AS a WHERE a.grantee = 0));
SELECT a.grantee::regrole, a.privilege_type FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
 WHERE n.nspname = 'hr_app' AND a.grantee <> n.nspowner ORDER BY 1;

-- Calls of all functions, with NULLs.
CREATE TEMP TABLE call AS
SELECT p.oid, format('%s hr_app.%I(%s)', CASE p.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, p.proname,
                     (SELECT string_agg('NULL::' || format_type(t, NULL), ', ') FROM unnest(p.proargtypes) AS t)) AS call
  FROM pg_proc AS p WHERE p.pronamespace = 'hr_app'::regnamespace;
-- Whether a role may make a call: makes it, and takes everything back.
CREATE FUNCTION test.hr_may(role name, call text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('role', role, true), set_config('statement_timeout', '5s', true);
    EXECUTE call;
    RAISE EXCEPTION 'undo';
EXCEPTION
    WHEN insufficient_privilege THEN RETURN false;
    WHEN OTHERS THEN RETURN true;
END $$;
-- A role with a level can call its functions and no other; a role without one, none, even if it sees the schema.
SELECT l.role, c.call AS wrong FROM level AS l, call AS c
 WHERE test.hr_may(l.role, c.call) <> has_function_privilege(l.role, c.oid, 'EXECUTE');
SELECT c.call AS wrong FROM call AS c WHERE NOT test.hr_may('regress_belay_hr_owner', c.call);
SELECT c.call AS wrong FROM call AS c WHERE test.hr_may('regress_belay_hr_none', c.call);
GRANT USAGE ON SCHEMA hr_app TO regress_belay_hr_none;
SELECT c.call AS wrong FROM call AS c WHERE test.hr_may('regress_belay_hr_none', c.call);
REVOKE USAGE ON SCHEMA hr_app FROM regress_belay_hr_none;
-- Neither a level nor its absence gives anything of the administration.
CREATE FUNCTION test.hr_admin(role name) RETURNS TABLE (statement text, error text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('role', role, true);
    RETURN QUERY SELECT * FROM test.expect('42501',
        $x$SELECT belay.create_hub('hr_new')$x$,
        $x$SELECT belay.create_hub('hr_app', p_adopt => true)$x$,
        $x$SELECT belay.drop_hub('hr_app')$x$,
        $x$SELECT belay.drop_hub('hr_app', true)$x$,
        $x$SELECT belay.upgrade_hub('hr_app')$x$,
        $x$SELECT * FROM belay.check_hub('hr_app')$x$,
        $x$SELECT belay.set_hub_option('hr_app', 'slot_count', '3')$x$,
        $x$SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', 'client')$x$,
        $x$SELECT belay.revoke_hub('hr_app', 'regress_belay_hr_client', 'client')$x$,
        $x$SELECT belay.new_incarnation('hr_app')$x$,
        $x$SELECT belay.inject_fault('boundary.throw', 1)$x$,
        $x$SELECT * FROM hr_app.belay_hub$x$,
        $x$UPDATE hr_app.belay_hub SET version = 7$x$,
        $x$CREATE FUNCTION hr_app.mine(text) RETURNS void LANGUAGE belay AS 'resume_hub'$x$);
    PERFORM set_config('role', 'none', true);
END $$;
SELECT l.role, a.* FROM level AS l, test.hr_admin(l.role) AS a;
SELECT * FROM test.hr_admin('regress_belay_hr_none');
-- Every role sees the list of hubs and their options.
SET ROLE regress_belay_hr_none;
SELECT name, owner FROM belay.hubs WHERE name = 'hr_app';
SELECT test.option('hr_app', 'slot_count');
RESET ROLE;

-- Granting and revoking may be repeated, and take effect at once.
CREATE VIEW test.hr_grants AS
    SELECT coalesce(string_agg(p.proname, ' ' ORDER BY p.proname), '') AS functions,
           has_schema_privilege('regress_belay_hr_none', 'hr_app', 'USAGE') AS schema
      FROM pg_proc AS p WHERE p.pronamespace = 'hr_app'::regnamespace
       AND p.proname IN ('pause_hub', 'resume_hub')
       AND has_function_privilege('regress_belay_hr_none', p.oid, 'EXECUTE');
SELECT array_agg(p.proacl::text ORDER BY p.oid) AS acls FROM pg_proc AS p
 WHERE p.pronamespace = 'hr_app'::regnamespace \gset
GRANT SELECT ON test.hr_grants TO regress_belay_hr_owner;
SET ROLE regress_belay_hr_owner;
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', 'operator');
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', 'operator');
SELECT * FROM test.hr_grants;
SELECT belay.revoke_hub('hr_app', 'regress_belay_hr_none', 'operator');
SELECT belay.revoke_hub('hr_app', 'regress_belay_hr_none', 'operator');
SELECT * FROM test.hr_grants;
RESET ROLE;
SELECT array_agg(p.proacl::text ORDER BY p.oid) = :'acls' AS as_before FROM pg_proc AS p
 WHERE p.pronamespace = 'hr_app'::regnamespace;
-- The owner is the grantor, for any caller.
SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', 'operator');
SELECT DISTINCT a.grantor::regrole FROM pg_proc AS p, aclexplode(p.proacl) AS a
 WHERE p.pronamespace = 'hr_app'::regnamespace;
SELECT belay.revoke_hub('hr_app', 'regress_belay_hr_none', 'operator');
SELECT * FROM test.hr_grants;

SELECT test.error($$SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', 'admin')$$);
SELECT test.error($$SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', 'Client')$$);
SELECT test.error($$SELECT belay.grant_hub('hr_app', 'regress_belay_hr_none', NULL)$$);
SELECT test.error($$SELECT belay.grant_hub('hr_app', NULL, 'client')$$);
SELECT test.error($$SELECT belay.grant_hub(NULL, 'regress_belay_hr_none', 'client')$$);
SELECT test.error($$SELECT belay.grant_hub('hr_nohub', 'regress_belay_hr_none', 'client')$$);
SELECT test.error($$SELECT belay.grant_hub('hr_app', 'regress_belay_nobody', 'client')$$);
SELECT test.error($$SELECT belay.grant_hub('hr_app', 'public', 'client')$$);
SELECT test.error($$SELECT belay.revoke_hub('hr_app', 'regress_belay_hr_none', 'all')$$);
SELECT test.error($$SELECT belay.revoke_hub('hr_app', 'regress_belay_nobody', 'client')$$);
SELECT test.error($$SELECT belay.revoke_hub('hr_nohub', 'regress_belay_hr_none', 'client')$$);

-- Default privileges of the owner do not apply to the owner's hubs.
ALTER DEFAULT PRIVILEGES FOR ROLE regress_belay_hr_owner GRANT SELECT ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_belay_hr_owner GRANT USAGE ON SCHEMAS TO PUBLIC;
SET ROLE regress_belay_hr_owner;
SELECT belay.create_hub('hr_default');
RESET ROLE;
SELECT has_table_privilege('regress_belay_hr_none', 'hr_default.belay_hub', 'SELECT');
SELECT belay.drop_hub('hr_default');
ALTER DEFAULT PRIVILEGES FOR ROLE regress_belay_hr_owner REVOKE SELECT ON TABLES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_belay_hr_owner REVOKE USAGE ON SCHEMAS FROM PUBLIC;

-- Members of the owner's role administer the hub.
CREATE ROLE regress_belay_hr_member IN ROLE regress_belay_hr_owner;
SET ROLE regress_belay_hr_member;
SELECT belay.set_hub_option('hr_app', 'slot_count', '4');
SELECT hr_app.pause_hub();
SELECT hr_app.resume_hub();
RESET ROLE;
DROP ROLE regress_belay_hr_member;

-- ---------------------------------------------------------------- functions of language belay
-- Only the owner's functions, in a hub, with a verb and its signature.
SET ROLE regress_belay_hr_owner;
CREATE FUNCTION hr_app.mine(text DEFAULT NULL) RETURNS void LANGUAGE belay AS 'resume_hub';
SELECT hr_app.mine();
DROP FUNCTION hr_app.mine(text);
SELECT test.error($$CREATE FUNCTION hr_app.mine(text) RETURNS void LANGUAGE belay AS 'no_such'$$);
SELECT test.error($$CREATE FUNCTION hr_app.mine(text) RETURNS void LANGUAGE belay AS ''$$);
SELECT test.error($$CREATE FUNCTION hr_app.mine(int) RETURNS void LANGUAGE belay AS 'resume_hub'$$);
SELECT * FROM test.expect('42P13',
    $$CREATE FUNCTION hr_app.mine() RETURNS void LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(text, text) RETURNS void LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(name) RETURNS void LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(VARIADIC text[]) RETURNS void LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(text) RETURNS text LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(text) RETURNS SETOF void LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(text, OUT text) LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(INOUT text) LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine() RETURNS trigger LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE FUNCTION hr_app.mine(text) RETURNS void WINDOW LANGUAGE belay AS 'resume_hub'$$,
    $$CREATE PROCEDURE hr_app.mine(text) LANGUAGE belay AS 'resume_hub'$$);
CREATE SCHEMA hr_plain;
SELECT test.error($$CREATE FUNCTION hr_plain.mine(text) RETURNS void LANGUAGE belay AS 'resume_hub'$$);
SELECT test.sqlstate($$DO LANGUAGE belay 'resume_hub'$$);
-- With check_function_bodies off, as in a restore, the handler looks at the first call.
SET check_function_bodies = off;
SELECT test.sqlstate($$CREATE FUNCTION hr_plain.mine(text) RETURNS void LANGUAGE belay AS 'no_such'$$);
SELECT test.sqlstate($$CREATE FUNCTION hr_plain.mine(int) RETURNS void LANGUAGE belay AS 'resume_hub'$$);
CREATE FUNCTION hr_plain.mine(text) RETURNS void LANGUAGE belay AS 'resume_hub';
SELECT test.error($$SELECT hr_plain.mine('tasks')$$);
RESET check_function_bodies;
RESET ROLE;
-- A function of another role in the hub.
SELECT test.error($$CREATE FUNCTION hr_app.foreign(text) RETURNS void LANGUAGE belay AS 'resume_hub'$$);
SET check_function_bodies = off;
CREATE FUNCTION hr_app.foreign(text) RETURNS void LANGUAGE belay AS 'resume_hub';
RESET check_function_bodies;
SELECT test.error($$SELECT hr_app.foreign('tasks')$$);
DROP FUNCTION hr_app.foreign(text);
-- A function that changes its owner or its schema, and comes back; a call before must not help.
SELECT hr_app.resume_hub();
ALTER FUNCTION hr_app.resume_hub(text) OWNER TO CURRENT_USER;
SELECT test.error($$SELECT hr_app.resume_hub()$$);
ALTER FUNCTION hr_app.resume_hub(text) OWNER TO regress_belay_hr_owner;
SELECT hr_app.resume_hub();
ALTER FUNCTION hr_app.resume_hub(text) SET SCHEMA hr_plain;
SELECT test.error($$SELECT hr_plain.resume_hub()$$);
ALTER FUNCTION hr_plain.resume_hub(text) SET SCHEMA hr_app;
SELECT hr_app.resume_hub();
-- A hub that changes its owner takes its functions with it, or refuses to work.
ALTER TABLE hr_app.belay_hub OWNER TO CURRENT_USER;
SELECT test.sqlstate($$SELECT hr_app.resume_hub()$$);
ALTER TABLE hr_app.belay_hub OWNER TO regress_belay_hr_owner;
SELECT hr_app.resume_hub();
CALL test.create_owner('regress_belay_hr_heir');
BEGIN;
REASSIGN OWNED BY regress_belay_hr_owner TO regress_belay_hr_heir;
SET ROLE regress_belay_hr_operator;
SELECT hr_app.pause_hub();
SET ROLE regress_belay_hr_owner;
SELECT test.sqlstate($$SELECT hr_app.resume_hub()$$);
SET ROLE regress_belay_hr_heir;
SELECT hr_app.resume_hub();
SELECT * FROM belay.check_hub('hr_app');
RESET ROLE;
SELECT owner FROM belay.hubs WHERE name = 'hr_app';
ROLLBACK;

-- ---------------------------------------------------------------- whose rights
-- Triggers of the owner's tables run with the owner's rights only, for any caller. This trigger records the role
-- and tries to become more.
SET ROLE regress_belay_hr_owner;
CREATE TABLE hr_plain.log (n serial, who name, what text);
CREATE FUNCTION hr_plain.try(what text, statement text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    EXECUTE statement;
    INSERT INTO hr_plain.log (who, what) VALUES (current_user, what || ': done');
EXCEPTION WHEN OTHERS THEN
    INSERT INTO hr_plain.log (who, what) VALUES (current_user, what || ': ' || sqlstate);
END $$;
CREATE FUNCTION hr_plain.spy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hr_plain.try('nothing', 'SELECT 1');
    PERFORM hr_plain.try('be superuser', pg_catalog.format('SET LOCAL ROLE %I', SESSION_USER));
    PERFORM hr_plain.try('be session user', 'SET LOCAL ROLE none');
    PERFORM hr_plain.try('session authorization', 'SET LOCAL SESSION AUTHORIZATION DEFAULT');
    PERFORM hr_plain.try('make me superuser', 'ALTER ROLE regress_belay_hr_owner SUPERUSER');
    PERFORM hr_plain.try('read secrets', 'SELECT rolpassword FROM pg_catalog.pg_authid');
    PERFORM hr_plain.try('temporary table', 'CREATE TEMPORARY TABLE spy (x int)');
    PERFORM pg_catalog.set_config('work_mem', '7MB', false), pg_catalog.set_config('hr.spy', 'was here', false),
            pg_catalog.set_config('search_path', 'hr_plain', false), pg_catalog.set_config('row_security', 'off', false);
    RETURN new;
END $$;
CREATE TRIGGER spy BEFORE UPDATE ON hr_app.belay_hub FOR EACH ROW EXECUTE FUNCTION hr_plain.spy();
RESET ROLE;
SELECT current_user AS superuser \gset
SET ROLE regress_belay_hr_operator;
SELECT hr_app.pause_hub('worker');
RESET ROLE;
SELECT hr_app.resume_hub('worker');
SELECT current_user = :'superuser' AS still_me, current_setting('work_mem') = '7MB' AS work_mem_leaked,
       current_setting('hr.spy', true) AS hr_spy, current_setting('search_path') = 'hr_plain' AS path_leaked,
       current_setting('row_security') AS row_security;
SELECT who, what, count(*) FROM hr_plain.log GROUP BY who, what ORDER BY min(n);
-- The same for the functions of schema belay when a superuser calls them,
TRUNCATE hr_plain.log;
SELECT belay.set_hub_option('hr_app', 'slot_count', '5');
SELECT belay.set_hub_option('hr_app', 'slot_count', NULL);
SELECT belay.new_incarnation('hr_app');
SELECT belay.upgrade_hub('hr_app');
SELECT who, what FROM hr_plain.log GROUP BY who, what ORDER BY min(n);
-- for the beginning of a new incarnation,
ALTER TABLE hr_app.belay_hub DISABLE TRIGGER spy;
UPDATE hr_app.belay_hub SET mark = '1/1/1/1';
ALTER TABLE hr_app.belay_hub ENABLE TRIGGER spy;
TRUNCATE hr_plain.log;
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT hr_app.pause_hub('worker');
SELECT who, what FROM hr_plain.log GROUP BY who, what ORDER BY min(n);
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_belay_hr_owner';
DROP TRIGGER spy ON hr_app.belay_hub;
-- for policies of row security and constraints,
SET ROLE regress_belay_hr_owner;
TRUNCATE hr_plain.log;
CREATE FUNCTION hr_plain.look(what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hr_plain.try(what, 'SET LOCAL ROLE none');
    RETURN true;
END $$;
ALTER TABLE hr_app.belay_hub ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY,
    ADD CHECK (hr_plain.look('check'));
CREATE POLICY p ON hr_app.belay_hub USING (hr_plain.look('policy'));
RESET ROLE;
TRUNCATE hr_plain.log;
SELECT hr_app.resume_hub('worker');
SELECT name, paused FROM belay.hubs WHERE name = 'hr_app';
SELECT test.option('hr_app', 'slot_count');
SELECT DISTINCT who, what FROM hr_plain.log ORDER BY 2;
ALTER TABLE hr_app.belay_hub DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY, DROP CONSTRAINT belay_hub_check;
DROP POLICY p ON hr_app.belay_hub;
-- and what would run later, with the rights of the role that commits, is refused.
SET ROLE regress_belay_hr_owner;
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON hr_app.belay_hub DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION hr_plain.spy();
RESET ROLE;
SELECT test.error($$SELECT hr_app.pause_hub()$$);
SELECT test.error($$SELECT belay.set_hub_option('hr_app', 'slot_count', '6')$$);
DROP TRIGGER later ON hr_app.belay_hub;
-- A trigger that calls the hub, and looks at the hubs, in the middle of a call.
SET ROLE regress_belay_hr_owner;
CREATE FUNCTION hr_plain.nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.pg_trigger_depth() OPERATOR(pg_catalog.<) 3 THEN
        PERFORM hr_app.pause_hub('tasks', 'nested');
        PERFORM name FROM belay.hubs;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER nested AFTER UPDATE ON hr_app.belay_hub FOR EACH STATEMENT EXECUTE FUNCTION hr_plain.nested();
SELECT hr_app.pause_hub();
DROP TRIGGER nested ON hr_app.belay_hub;
SELECT options -> 'paused' AS paused FROM hr_app.belay_hub;
-- One that gives the hub another name: for any outcome, the server lives and the hub works.
CREATE FUNCTION hr_plain.renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.pg_trigger_depth() OPERATOR(pg_catalog.=) 1 THEN
        ALTER SCHEMA hr_app RENAME TO hr_moved;
        EXECUTE 'SELECT hr_moved.resume_hub(''worker'')';
        ALTER SCHEMA hr_moved RENAME TO hr_app;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER renamed AFTER UPDATE ON hr_app.belay_hub FOR EACH STATEMENT EXECUTE FUNCTION hr_plain.renamed();
SELECT test.sqlstate('SELECT hr_app.pause_hub()') <> '' AS lives;
DROP TRIGGER renamed ON hr_app.belay_hub;
SELECT hr_app.resume_hub();
SELECT options -> 'paused' AS paused FROM hr_app.belay_hub;
RESET ROLE;

-- ---------------------------------------------------------------- who may cancel
-- DR-6: every role that can call cancel may cancel any task, running ones included.
SET ROLE regress_belay_hr_client;
SELECT hr_app.send('mail') AS first \gset
SELECT hr_app.send('mail') AS second \gset
SET ROLE regress_belay_hr_worker;
SELECT lease FROM hr_app.receive('mail') \gset
SET ROLE regress_belay_hr_client;
SELECT hr_app.cancel(:'first', 'changed my mind');
-- The owner decides who can: a right on the function, which a later upgrade leaves as it is.
SET ROLE regress_belay_hr_owner;
REVOKE EXECUTE ON FUNCTION hr_app.cancel(uuid, text) FROM regress_belay_hr_client, regress_belay_hr_worker;
SELECT belay.upgrade_hub('hr_app');
SELECT * FROM belay.check_hub('hr_app');
SET ROLE regress_belay_hr_client;
SELECT test.sqlstate(format('SELECT hr_app.cancel(%L)', :'second'));
SELECT hr_app.send('mail') AS third \gset
SET ROLE regress_belay_hr_worker;
SELECT test.sqlstate(format('SELECT hr_app.cancel(%L)', :'second'));
-- A worker may still give up the task that it holds, and no other.
SELECT test.sqlstate(format('SELECT hr_app.cancel_task(%L, NULL, ''lease_holder'', 1)', :'third'));
SELECT task_id = :'second' AS leased, lease_epoch FROM hr_app.claim_tasks('w', 'w-1', '{mail}') \gset
SELECT cancelled.effective FROM hr_app.cancel_task(:'second', 'cannot do it', 'lease_holder', :lease_epoch) AS cancelled;
SET ROLE regress_belay_hr_operator;
SELECT hr_app.cancel(:'third');
RESET ROLE;
SELECT state, count(*) FROM hr_app.tasks GROUP BY state;

DROP VIEW test.hr_grants;
DROP FUNCTION test.hr_admin(name), test.hr_may(name, text);
SELECT belay.drop_hub('hr_app');
DO $$
DECLARE
    role name;
BEGIN
    FOR role IN SELECT rolname FROM pg_roles WHERE rolname LIKE 'regress\_belay\_hr\_%' LOOP
        CALL test.drop_role(role);
    END LOOP;
END $$;
