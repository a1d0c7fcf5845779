-- Links to hubs of other databases: who may make them, and what waits for the background worker. Delivery itself is tested in test/cluster and test/stress.
\set VERBOSITY terse
\set SHOW_CONTEXT never
CALL test.create_owner('regress_belay_inl_owner');
CALL test.create_owner('regress_belay_inl_other');
SET ROLE regress_belay_inl_owner;
SELECT belay.create_hub('inl_a');
RESET ROLE;
SELECT belay.set_hub_option('inl_a', 'max_clock_skew', '0');
CREATE FOREIGN DATA WRAPPER inl_wrapper;
CREATE SERVER inl_server FOREIGN DATA WRAPPER inl_wrapper OPTIONS (dbname 'other');
CREATE SERVER inl_second FOREIGN DATA WRAPPER inl_wrapper;
CREATE FUNCTION pg_temp.relay(seconds numeric DEFAULT 3) RETURNS bigint LANGUAGE sql AS $$
    SELECT rows FROM inl_a.reconcile('{intent_relay}', p_now_ms => (extract(epoch FROM clock_timestamp()) * 1000 + seconds * 1000)::bigint)
$$;

-- IN-8: only the owner makes links, to servers that the owner may use.
SELECT test.error($$SELECT belay.create_hub_link(NULL, 'far', 'inl_server')$$), test.error($$SELECT belay.create_hub_link('inl_a', NULL, 'inl_server')$$), test.error($$SELECT belay.create_hub_link('inl_a', 'far', NULL)$$);
SELECT test.error($$SELECT belay.create_hub_link('inl_none', 'far', 'inl_server')$$);
SELECT test.error($$SELECT belay.create_hub_link('inl_a', 'pg_far', 'inl_server')$$);
SELECT test.error($$SELECT belay.create_hub_link('inl_a', 'far', 'inl_none')$$);
SET ROLE regress_belay_inl_other;
SELECT test.error($$SELECT belay.create_hub_link('inl_a', 'far', 'inl_server')$$);
SELECT test.error($$SELECT belay.drop_hub_link('inl_a', 'far')$$);
SET ROLE regress_belay_inl_owner;
SELECT test.error($$SELECT belay.create_hub_link('inl_a', 'far', 'inl_server')$$);
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER inl_server, inl_second TO regress_belay_inl_owner;
SET ROLE regress_belay_inl_owner;
SELECT belay.create_hub_link('inl_a', 'far', 'inl_server');
SELECT target_hub, server FROM inl_a.hub_links;
-- Made again it leads elsewhere.
SELECT belay.create_hub_link('inl_a', 'far', 'inl_second');
SELECT target_hub, server FROM inl_a.hub_links;
RESET ROLE;
BEGIN READ ONLY;
SELECT test.sqlstate($$SELECT belay.create_hub_link('inl_a', 'far', 'inl_server')$$), test.sqlstate($$SELECT belay.drop_hub_link('inl_a', 'far')$$);
ROLLBACK;

-- A link comes before a hub of that name in this database. reconcile, which may not wait for a network, leaves it to the background worker.
SET ROLE regress_belay_inl_owner;
SELECT belay.create_hub('far');
RESET ROLE;
SELECT inl_a.send_to_hub('far', 'worker', '{"ActivityExecute":{}}') > 0 AS sent;
SELECT pg_temp.relay();
SELECT attempts, last_error FROM inl_a.intents;
-- IN-9: where no background worker is, it dies of old age all the same.
BEGIN;
SELECT pg_temp.relay(604810);
SELECT reason, attempt_count, detail::jsonb ->> 'target_hub' AS target_hub FROM inl_a.list_dead_letters();
ROLLBACK;
-- Without the link the hub of this database gets it.
SELECT belay.drop_hub_link('inl_a', 'far');
SELECT test.error($$SELECT belay.drop_hub_link('inl_a', 'far')$$);
SELECT pg_temp.relay();
SELECT count(*) FROM far.work_items;
-- A change of links makes what waits for its next attempt due at once.
SELECT inl_a.send_to_hub('near', 'worker', '{"ActivityExecute":{}}') > 0 AS sent;
SELECT pg_temp.relay();
SELECT next_try_at > now() AS waits FROM inl_a.intents;
SELECT belay.create_hub_link('inl_a', 'near', 'inl_server');
SELECT next_try_at > now() + interval '100 ms' AS waits, attempts FROM inl_a.intents;
SELECT * FROM belay.check_hub('inl_a');

SELECT belay.drop_hub('inl_a', true), belay.drop_hub('far', true);
DROP FOREIGN DATA WRAPPER inl_wrapper CASCADE;
CALL test.drop_role('regress_belay_inl_owner');
CALL test.drop_role('regress_belay_inl_other');
