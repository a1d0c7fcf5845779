-- serial: changes rights on the database, or touches every hub
-- belay.check_hub: what is not as the hub's version asks for.
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- Shows what check_hub finds after some statements, and takes them back.
CREATE FUNCTION test.hk_after(VARIADIC statements text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    statement text;
    found text[];
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
    END LOOP;
    SELECT array_agg(object || ' ' || problem) INTO found FROM belay.check_hub('hk_app');
    RAISE EXCEPTION USING ERRCODE = 'HK000', DETAIL = coalesce(found, '{}')::text;
EXCEPTION WHEN SQLSTATE 'HK000' THEN
    GET STACKED DIAGNOSTICS statement = PG_EXCEPTION_DETAIL;
    RETURN QUERY SELECT f FROM unnest(statement::text[]) AS f;
END $$;

SELECT belay.create_hub('hk_app');
CREATE TABLE test.hk_parent ();

-- Nothing on a healthy hub: new, used, with roles, upgraded, of a new incarnation.
SELECT * FROM belay.check_hub('hk_app');
CREATE ROLE regress_belay_hk;
SELECT belay.grant_hub('hk_app', 'regress_belay_hk', level)
  FROM unnest('{client,worker,operator,monitor}'::text[]) AS level;
SELECT hk_app.pause_hub();
SELECT belay.set_hub_option('hk_app', 'slot_count', '2');
SELECT belay.new_incarnation('hk_app');
SELECT belay.upgrade_hub('hk_app');
SELECT * FROM belay.check_hub('hk_app');

-- A lost function, and one that came to another schema.
SELECT test.hk_after('DROP FUNCTION hk_app.pause_hub');
SELECT test.hk_after('DROP FUNCTION hk_app.pause_hub', 'DROP FUNCTION hk_app.resume_hub');
SELECT test.hk_after('ALTER FUNCTION hk_app.pause_hub SET SCHEMA test');
-- A function for PUBLIC.
SELECT test.hk_after('GRANT EXECUTE ON FUNCTION hk_app.pause_hub TO PUBLIC');
SELECT test.hk_after('CREATE FUNCTION hk_app.mine(text) RETURNS void LANGUAGE belay AS ''resume_hub''');
-- A function or a table of another role.
SELECT count(*) > 0 AS found FROM test.hk_after('ALTER FUNCTION hk_app.pause_hub OWNER TO regress_belay_hk');
SELECT count(*) > 0 AS found FROM test.hk_after('ALTER TABLE hk_app.belay_hub OWNER TO regress_belay_hk');
-- A table that can be read or written without the functions.
SELECT count(*) > 0 AS found FROM test.hk_after('GRANT SELECT ON hk_app.belay_hub TO PUBLIC');
SELECT count(*) > 0 AS found FROM test.hk_after('GRANT UPDATE ON hk_app.belay_hub TO regress_belay_hk');
-- Code and rules on a table.
SELECT test.hk_after('CREATE TRIGGER t BEFORE UPDATE ON hk_app.belay_hub FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()');
SELECT test.hk_after('CREATE RULE r AS ON UPDATE TO hk_app.belay_hub DO ALSO NOTHING');
SELECT test.hk_after('ALTER TABLE hk_app.belay_hub ENABLE ROW LEVEL SECURITY');
SELECT test.hk_after('ALTER TABLE hk_app.belay_hub SET UNLOGGED');
SELECT test.hk_after('CREATE TABLE test.hk_child () INHERITS (hk_app.tasks)');
SELECT test.hk_after('ALTER TABLE hk_app.queues INHERIT test.hk_parent');
-- Columns, checks and indexes that are not as the hub files say.
SELECT test.hk_after('ALTER TABLE hk_app.queues ADD COLUMN extra text', 'CREATE INDEX ON hk_app.queues (extra)');
SELECT test.hk_after('ALTER TABLE hk_app.queues ADD COLUMN extra text NOT NULL');
SELECT test.hk_after('ALTER TABLE hk_app.queues ADD COLUMN extra text NOT NULL DEFAULT 1');
SELECT test.hk_after('ALTER TABLE hk_app.schedules ALTER COLUMN last_error TYPE varchar(10)');
SELECT test.hk_after('ALTER TABLE hk_app.schedules ALTER COLUMN last_error SET NOT NULL');
SELECT test.hk_after('ALTER TABLE hk_app.schedules ALTER COLUMN name TYPE text COLLATE "POSIX"');
SELECT test.hk_after('ALTER TABLE hk_app.schedules RENAME COLUMN last_error TO failure');
SELECT test.hk_after('ALTER TABLE hk_app.schedules DROP COLUMN last_error');
SELECT test.hk_after('ALTER TABLE hk_app.schedules ADD CHECK (name <> ''x'')');
SELECT test.hk_after('ALTER TABLE hk_app.dead_letters DROP CONSTRAINT dead_letters_queue_check');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_run_ms)');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_due_ms) WHERE NOT paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_run_ms) WHERE paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_run_ms DESC) WHERE NOT paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_run_ms NULLS FIRST) WHERE NOT paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_run_ms) INCLUDE (name) WHERE NOT paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules USING hash (next_run_ms) WHERE NOT paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules ((next_run_ms + 0)) WHERE NOT paused');
SELECT test.hk_after('DROP INDEX hk_app.schedules_due', 'CREATE INDEX schedules_due ON hk_app.schedules (next_run_ms) WHERE (NOT (paused))');
SELECT test.hk_after('DROP INDEX hk_app.queue_moves_queue', 'CREATE INDEX queue_moves_queue ON hk_app.queue_moves (queue text_pattern_ops)');
SELECT test.hk_after('DROP INDEX hk_app.queue_moves_queue', 'CREATE INDEX queue_moves_queue ON hk_app.queue_moves (queue COLLATE "POSIX")');
SELECT test.hk_after('DROP INDEX hk_app.signals_id', 'CREATE UNIQUE INDEX signals_id ON hk_app.signals (task_id, waitpoint_id, signal_id) NULLS NOT DISTINCT');
SELECT test.hk_after('ALTER TABLE hk_app.schedules RENAME COLUMN paused TO resting');
-- A key of the hub's, without the key or not checked at once.
SELECT test.hk_after('ALTER TABLE hk_app.intents_received DROP CONSTRAINT intents_received_pkey', 'CREATE UNIQUE INDEX intents_received_pkey ON hk_app.intents_received (source_uuid, intent_id)');
SELECT test.hk_after('ALTER TABLE hk_app.schedules DROP CONSTRAINT schedules_pkey', 'ALTER TABLE hk_app.schedules ADD CONSTRAINT schedules_pkey PRIMARY KEY (name) DEFERRABLE');
SELECT test.hk_after('UPDATE pg_index SET indisvalid = false WHERE indexrelid = ''hk_app.schedules_due''::regclass');
SELECT test.hk_after('UPDATE pg_index SET indisready = false WHERE indexrelid = ''hk_app.schedules_due''::regclass');
-- Code in a view, and functions that were altered.
SELECT test.hk_after(format('CREATE OR REPLACE VIEW hk_app.dead_letter_summary AS %s', replace(pg_get_viewdef('hk_app.dead_letter_summary'), 'count(*)', 'count(1)')));
SELECT test.hk_after('ALTER FUNCTION hk_app.pause_hub STRICT');
SELECT test.hk_after('ALTER FUNCTION hk_app.get_task IMMUTABLE');
SELECT test.hk_after('ALTER FUNCTION hk_app.get_task PARALLEL SAFE');
SELECT test.hk_after('ALTER FUNCTION hk_app.pause_hub SECURITY DEFINER');
SELECT test.hk_after('ALTER FUNCTION hk_app.pause_hub SET search_path = hk_app');
SELECT test.hk_after('DROP FUNCTION hk_app.resume_hub(text)', 'CREATE FUNCTION hk_app.resume_hub(p_queue text DEFAULT NULL) RETURNS void LANGUAGE sql AS ''''');
-- Other code behind belay's names: a call with an untyped literal prefers text, one without arguments an exact match.
SELECT test.hk_after('CREATE FUNCTION hk_app.get_task(text) RETURNS jsonb LANGUAGE sql AS ''SELECT NULL::jsonb''');
SELECT test.hk_after('CREATE FUNCTION hk_app.pause_hub() RETURNS void LANGUAGE sql AS ''''');
-- A default runs with the caller's rights; names decide what a call means.
SELECT test.hk_after('CREATE FUNCTION hk_app.evil() RETURNS text LANGUAGE sql AS ''SELECT NULL''', 'CREATE OR REPLACE FUNCTION hk_app.pause_hub(p_queue text DEFAULT hk_app.evil(), p_reason text DEFAULT '''') RETURNS void LANGUAGE belay AS ''pause_hub''');
SELECT test.hk_after('DROP FUNCTION hk_app.pause_hub', 'CREATE FUNCTION hk_app.pause_hub(p_reason text DEFAULT NULL, p_queue text DEFAULT '''') RETURNS void LANGUAGE belay AS ''pause_hub''', 'REVOKE ALL ON FUNCTION hk_app.pause_hub FROM PUBLIC');
-- Which rows are read is the caller's choice.
SELECT hk_app.create_task('q', '{}', '00000000-0000-4000-8000-000000000001');
SELECT test.hk_after('UPDATE hk_app.tasks SET retry_count = 5');
SELECT count(*) FROM belay.check_hub('hk_app', 'all');
SELECT count(*) FROM belay.check_hub('hk_app', 'sample');
BEGIN;
UPDATE hk_app.tasks SET retry_count = 5;
SELECT * FROM belay.check_hub('hk_app', 'none');
SELECT object, problem FROM belay.check_hub('hk_app', 'sample');
UPDATE pg_class SET reltuples = 2000000 WHERE oid = 'hk_app.tasks'::regclass;
SELECT object, problem FROM belay.check_hub('hk_app');
ROLLBACK;
-- A sample includes the flows, unless there are many.
BEGIN;
SELECT created FROM hk_app.create_flow('{"flow_id":"00000000-0000-4000-8000-00000000000f","seal":false,"tasks":[{"key":"a","queue":"q"}]}');
UPDATE hk_app.flows SET member_count = 2;
SELECT object, problem FROM belay.check_hub('hk_app', 'sample');
UPDATE pg_class SET reltuples = 2000000 WHERE oid = 'hk_app.tasks'::regclass;
SELECT object, problem FROM belay.check_hub('hk_app');
UPDATE pg_class SET reltuples = 2000000 WHERE oid = 'hk_app.edges'::regclass;
SELECT object, problem FROM belay.check_hub('hk_app', 'sample');
SELECT object, problem FROM belay.check_hub('hk_app');
SELECT object, problem FROM belay.check_hub('hk_app', 'all');
ROLLBACK;
SELECT test.error($$SELECT * FROM belay.check_hub('hk_app', 'some')$$);
SELECT hk_app.cancel_task('00000000-0000-4000-8000-000000000001');
-- When the trigger is gone, all is well again.
CREATE TRIGGER t BEFORE UPDATE ON hk_app.belay_hub
    FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
DROP TRIGGER t ON hk_app.belay_hub;
SELECT * FROM belay.check_hub('hk_app');

-- A hub of another release.
UPDATE hk_app.belay_hub SET version = 2;
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT object, regexp_replace(problem, '\d+$', 'N') AS problem FROM belay.check_hub('hk_app');
SELECT is_current FROM belay.hubs WHERE name = 'hk_app';
UPDATE hk_app.belay_hub SET version = 1;
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT * FROM belay.check_hub('hk_app');

-- Only for the owner.
SET ROLE regress_belay_hk;
SELECT test.error($$SELECT * FROM belay.check_hub('hk_app')$$);
RESET ROLE;
SELECT test.error($$SELECT * FROM belay.check_hub('hk_none')$$);
SELECT test.error($$SELECT * FROM belay.check_hub(NULL)$$);

-- A hub of which tables were dropped by hand: calls that need them fail, monitoring shows the other
-- hubs, and the hub can begin an incarnation, be moved and be dropped.
SELECT belay.create_hub('hk_half');
SELECT count(*) FROM belay.pg_stat_belay_queue WHERE hub = 'hk_half';
SELECT * FROM hk_half.acquire_slots('a', 'worker');
DROP TABLE hk_half.tasks, hk_half.slot_owners, hk_half.dead_letters, hk_half.outbox_events CASCADE;
SELECT object, problem FROM belay.check_hub('hk_half') WHERE object IN ('tasks', 'slot_owners', 'dead_letters', 'outbox_events') ORDER BY 1;
SELECT test.refused($$SELECT hk_half.create_task('mail')$$);
SELECT count(*) FROM belay.pg_stat_belay_queue WHERE hub = 'hk_half';
SELECT belay.metrics() ~ 'hub="hk_app"' AS others, belay.metrics() ~ 'hub="hk_half"' AS it;
SELECT belay.new_incarnation('hk_half');
SELECT belay.set_hub_place('hk_half', 'far', 5432), belay.remove_hub_place('hk_half');
SELECT belay.drop_hub('hk_half');

SELECT belay.drop_hub('hk_app');
CALL test.drop_role('regress_belay_hk');
DROP FUNCTION test.hk_after(text[]);
DROP TABLE test.hk_parent;
