-- serial: reads statistics of all hubs, and other tests drop theirs
-- Hubs of other servers: their places, and what becomes of a hub that goes to one.
\set VERBOSITY terse
\set SHOW_CONTEXT never

SELECT belay.create_hub('hl_app');
SELECT hl_app.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n"}}');

-- SO-31: a hub of this database is here; a place is of another server; anything else is not known.
SELECT * FROM belay.hub_location('hl_app');
SELECT belay.set_hub_place('hl_far', 'db2.example', 5433);
SELECT * FROM belay.hub_location('hl_far');
SELECT * FROM belay.hub_locations WHERE hub LIKE 'hl\_%' ORDER BY hub;
-- Schemas that are no hubs are not looked up, in any order of the joins.
SELECT count(*) FILTER (WHERE hub LIKE 'hl\_%') FROM belay.hub_locations;
SELECT test.error($$SELECT * FROM belay.hub_location('hl_none')$$);
SELECT test.error($$SELECT * FROM belay.hub_location(NULL)$$);
SELECT belay.set_hub_place('hl_far', 'db3.example', 5432);
SELECT * FROM belay.hub_places WHERE hub LIKE 'hl\_%';

-- What is asked for by name of a hub that is elsewhere tells the place (SO-11).
SELECT test.error($$SELECT belay.set_hub_option('hl_far', 'slot_count', '2')$$);
SELECT * FROM test.expect('QB017', $$SELECT belay.check_hub('hl_far')$$, $$SELECT belay.drop_hub('hl_far')$$,
    $$SELECT belay.new_incarnation('hl_far')$$, $$SELECT belay.upgrade_hub('hl_far')$$, $$SELECT belay.create_hub('hl_far')$$,
    $$SELECT belay.grant_hub('hl_far', current_user, 'worker')$$, $$SELECT belay.run_as_owner('hl_far', 'SELECT 1')$$);

-- SO-30: bad places are refused.
SELECT test.refused(s) FROM unnest(ARRAY[
    $$SELECT belay.set_hub_place('hl_x', '', 5432)$$, $$SELECT belay.set_hub_place('hl_x', 'a b', 5432)$$,
    $$SELECT belay.set_hub_place('hl_x', 'a,b', 5432)$$, $$SELECT belay.set_hub_place('hl_x', repeat('x', 256), 5432)$$,
    $$SELECT belay.set_hub_place('hl_x', 'h', 0)$$, $$SELECT belay.set_hub_place('hl_x', 'h', 65536)$$,
    $$SELECT belay.set_hub_place('hl_x', 'h', NULL)$$, $$SELECT belay.set_hub_place('hl_x', NULL, 1)$$,
    $$SELECT belay.set_hub_place(NULL, 'h', 1)$$, $$SELECT belay.set_hub_place('pg_x', 'h', 1)$$,
    $$SELECT belay.remove_hub_place(NULL)$$]) AS s;

-- SO-30: places are an administrator's matter, and of a hub that is here also its owner's.
CALL test.create_owner('regress_belay_hl');
SET ROLE regress_belay_hl;
SELECT test.error($$SELECT belay.set_hub_place('hl_app', 'h', 1)$$);
SELECT test.sqlstate($$SELECT belay.remove_hub_place('hl_far')$$);
SELECT test.sqlstate($$INSERT INTO belay.hub_places VALUES ('hl_y', 'h', 1)$$);
SELECT host, is_here FROM belay.hub_location('hl_far');
RESET ROLE;
GRANT EXECUTE ON FUNCTION belay.set_hub_place(name, text, integer), belay.remove_hub_place(name) TO regress_belay_hl;
SET ROLE regress_belay_hl;
SELECT test.error($$SELECT belay.set_hub_place('hl_app', 'h', 1)$$);
SELECT test.error($$SELECT belay.remove_hub_place('hl_app')$$);
SELECT belay.set_hub_place('hl_other', 'h', 1);
SELECT belay.remove_hub_place('hl_other');
SELECT belay.remove_hub_place('hl_other');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION belay.set_hub_place(name, text, integer), belay.remove_hub_place(name) FROM regress_belay_hl;

-- SO-11: a hub that has gone to another server is not served here, neither for reads nor for writes. Rolled back, it never went.
BEGIN;
SELECT belay.set_hub_place('hl_app', 'db2.example', 5433);
SELECT test.sqlstate('SELECT * FROM hl_app.fetch_work_item(1000)');
ROLLBACK;
SELECT count(*) FROM hl_app.work_items;
SELECT belay.set_hub_place('hl_app', 'db2.example', 5433);
SELECT test.error('SELECT * FROM hl_app.fetch_work_item(1000)');
SELECT * FROM test.expect('QB017', 'SELECT hl_app.pause_hub()', $$SELECT belay.set_hub_option('hl_app', 'slot_count', '2')$$,
    $$SELECT hl_app.send('mail')$$, $$SELECT * FROM hl_app.receive('mail')$$, $$SELECT * FROM belay.check_hub('hl_app')$$,
    $$SELECT hl_app.enqueue_worker_work('{"ActivityExecute":{"name":"n"}}')$$, 'SELECT hl_app.reconcile()',
    $$SELECT * FROM hl_app.get_system_metrics()$$, $$SELECT belay.create_hub('hl_app')$$);
SELECT * FROM belay.hub_location('hl_app');
SELECT name, is_here FROM belay.hubs WHERE name LIKE 'hl\_%';
SELECT * FROM belay.hub_locations WHERE hub LIKE 'hl\_%' ORDER BY hub;
SELECT count(*) FROM belay.pg_stat_belay_queue WHERE hub = 'hl_app';
SELECT count(*) FROM belay.hub_sizes WHERE hub = 'hl_app';
-- What other hubs send to it waits, and says where it is.
SELECT belay.create_hub('hl_from'), belay.set_hub_option('hl_from', 'max_clock_skew', '0');
SELECT hl_from.send_to_hub(h, 'worker', '{"ActivityExecute":{"name":"n"}}') IS NOT NULL AS sent FROM unnest('{hl_app,hl_far,hl_none}'::text[]) AS h;
SELECT count(*) > 0 AS ran FROM hl_from.reconcile('{intent_relay}', p_now_ms => (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 600000);
SELECT target_hub, last_error FROM hl_from.intents ORDER BY target_hub;
SELECT belay.drop_hub('hl_from', true);
-- Its rows are still there, for a dump.
SELECT count(*) FROM hl_app.worker_queue;

-- SO-32: without the place it is served again.
SELECT belay.remove_hub_place('hl_app');
SELECT attempt_count FROM hl_app.fetch_work_item(60000);
SELECT is_here FROM belay.hubs WHERE name = 'hl_app';

-- SO-33: what was left behind can be dropped, even with leases; the place stays.
SELECT belay.set_hub_place('hl_app', 'db2.example', 5433);
SET ROLE regress_belay_hl;
SELECT test.sqlstate($$SELECT belay.drop_hub('hl_app')$$);
RESET ROLE;
SELECT belay.drop_hub('hl_app');
SELECT * FROM belay.hub_location('hl_app');
SELECT test.sqlstate($$SELECT belay.create_hub('hl_app')$$);
SELECT belay.remove_hub_place('hl_app'), belay.remove_hub_place('hl_far');
SELECT test.sqlstate($$SELECT * FROM belay.hub_location('hl_app')$$);

-- A dump of the database takes the places along.
SELECT c::regclass FROM pg_extension, unnest(extconfig) AS c WHERE extname = 'belay' ORDER BY 1;

CALL test.drop_role('regress_belay_hl');
