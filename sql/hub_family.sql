-- serial: makes and drops many hubs
-- Families: hubs that share a load by keys.
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- SO-22: the key decides. The same table of keys is compared with the client library's answers in test/client/family_test.cpp.
SELECT belay.family_hub_of('app', 64, k) FROM unnest(ARRAY['', 'customer-17', 'customer-18', 'ä', repeat('x', 1000)]) AS k;
SELECT belay.family_hub_of('app', 1, 'customer-17'), belay.family_hub_of('app', 1024, 'customer-17');
-- One hub more takes its share from the others, and nothing else moves.
SELECT count(*) FILTER (WHERE a <> b) AS moved, count(*) FILTER (WHERE a <> b AND b <> 'app_064') AS elsewhere
  FROM (SELECT belay.family_hub_of('app', 64, 'k' || i) AS a, belay.family_hub_of('app', 65, 'k' || i) AS b
          FROM generate_series(1, 10000) AS i) AS pair;
-- Keys spread evenly: 10,000 over 16 hubs, 625 each but for chance.
SELECT min(n) > 550 AND max(n) < 700 AS even, count(*) AS hubs
  FROM (SELECT count(*) AS n FROM generate_series(1, 10000) AS i GROUP BY belay.family_hub_of('app', 16, 'k' || i)) AS c;
SELECT provolatile FROM pg_proc WHERE oid = 'belay.family_hub_of(name, integer, text)'::regprocedure;

-- SO-25: sizes.
SELECT test.refused(s) FROM unnest(ARRAY[
    $$CALL belay.create_hub_family('hf_app', 0)$$, $$CALL belay.create_hub_family('hf_app', 1025)$$,
    $$CALL belay.create_hub_family('hf_app', NULL)$$, $$CALL belay.create_hub_family(NULL, 2)$$,
    $$CALL belay.create_hub_family(repeat('x', 60), 2)$$, $$CALL belay.create_hub_family('hf_app', 2, 'nonsense')$$,
    $$SELECT belay.family_hub_of('hf_app', 0, 'k')$$, $$SELECT belay.family_hub_of('hf_app', 2, NULL)$$,
    $$SELECT belay.family_hub('hf_app', 'k')$$, $$CALL belay.drop_hub_family('hf_app')$$]) AS s;

-- Made outside of a transaction block, each hub is a transaction of its own: locks of many hubs would not fit one.
CALL belay.create_hub_family('hf_app', 3);
SELECT name, is_current, is_here FROM belay.hubs WHERE name LIKE 'hf\_%' ORDER BY name;
SELECT count(DISTINCT xmin::text) FROM pg_namespace WHERE nspname LIKE 'hf\_app\_%';
SELECT * FROM belay.hub_families;
SELECT belay.family_hub('hf_app', 'customer-17') = belay.family_hub_of('hf_app', 3, 'customer-17') AS same;
-- Called again, it continues where it was; the number of hubs does not change.
SELECT belay.drop_hub('hf_app_001');
CALL belay.create_hub_family('hf_app', 3);
SELECT count(*) FROM belay.hubs WHERE name LIKE 'hf\_app\_%';
SELECT test.refused($$CALL belay.create_hub_family('hf_app', 4)$$);

-- SO-30: rights.
CALL test.create_owner('regress_belay_hf');
SET ROLE regress_belay_hf;
SELECT test.sqlstate($$CALL belay.drop_hub_family('hf_app')$$);
SELECT test.error($$CALL belay.create_hub_family('hf_own', 2, p_servers => ARRAY['db1:5432', 'db2:5432'], p_here => 'db1:5432')$$);
CALL belay.create_hub_family('hf_own', 1);
CALL belay.drop_hub_family('hf_own');
RESET ROLE;

-- In a transaction block all is one transaction.
BEGIN;
CALL belay.drop_hub_family('hf_app');
ROLLBACK;
SELECT count(*) FROM belay.hubs WHERE name LIKE 'hf\_app\_%';
-- A live lease stops it, as it stops drop_hub.
SELECT hf_app_001.send('mail') IS NOT NULL AS sent;
SELECT count(*) FROM hf_app_001.receive('mail');
SELECT test.sqlstate($$CALL belay.drop_hub_family('hf_app')$$);
CALL belay.drop_hub_family('hf_app', true);
SELECT count(*) FROM belay.hubs WHERE name LIKE 'hf\_app\_%';

-- SO-34: over several servers each has its share, and knows the places of the others.
CALL belay.create_hub_family('hf_wide', 5, p_servers => ARRAY['db1:5432', '::1:5433', '/run/pg:5434'], p_here => '::1:5433');
SELECT * FROM belay.hub_locations WHERE hub LIKE 'hf\_%' ORDER BY hub;
SELECT belay.family_hub('hf_wide', k), l.* FROM unnest(ARRAY['a', 'b', 'c']) AS k, belay.hub_location(belay.family_hub('hf_wide', k)) AS l;
-- What has moved since stays where it is.
SELECT belay.set_hub_place('hf_wide_000', 'db9', 5432);
SELECT belay.set_hub_place('hf_wide_001', 'db9', 5432);
CALL belay.create_hub_family('hf_wide', 5, p_servers => ARRAY['db1:5432', '::1:5433', '/run/pg:5434'], p_here => '::1:5433');
SELECT * FROM belay.hub_locations WHERE hub LIKE 'hf\_%' ORDER BY hub;
SELECT test.refused(s) FROM unnest(ARRAY[
    $$CALL belay.create_hub_family('hf_odd', 2, p_servers => ARRAY['db1', 'db2:1'], p_here => 'db2:1')$$,
    $$CALL belay.create_hub_family('hf_odd', 2, p_servers => ARRAY['db1:x', 'db2:1'], p_here => 'db2:1')$$,
    $$CALL belay.create_hub_family('hf_odd', 2, p_servers => ARRAY[NULL, 'db2:1'], p_here => 'db2:1')$$,
    $$CALL belay.create_hub_family('hf_odd', 2, p_servers => ARRAY['db1:70000', 'db2:1'], p_here => 'db2:1')$$,
    $$CALL belay.create_hub_family('hf_odd', 2, p_servers => ARRAY['db1:1', 'db2:1'], p_here => 'db3:1')$$,
    $$CALL belay.create_hub_family('hf_odd', 2, p_servers => ARRAY['db1:1', 'db2:1'])$$]) AS s;
CALL belay.drop_hub_family('hf_wide');
SELECT count(*) FROM belay.hub_locations WHERE hub LIKE 'hf\_%';
SELECT count(*) FROM belay.hub_families;
CALL test.drop_role('regress_belay_hf');
