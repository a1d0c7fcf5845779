-- serial: counts buffers.
-- HB-8: a list of hubs, and the metrics and statistics of all, cost some pages more with each hub. Shown in pages touched by sessions that have not used a hub before, not in time.
\set VERBOSITY terse
\set SHOW_CONTEXT never
CREATE SCHEMA hub_many;
CREATE TABLE hub_many.cost (call text, hubs int, pages int);
CREATE PROCEDURE hub_many.measure(call text) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) SELECT * FROM belay.' || call INTO plan;
    INSERT INTO hub_many.cost VALUES (call, (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'hub_many_%'), (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int);
END $$;
CREATE VIEW hub_many.make AS SELECT format('DO $$ BEGIN PERFORM belay.create_hub(%L); END $$', 'hub_many_' || i) AS statement, i FROM generate_series(1, 40) AS i;

SELECT statement FROM hub_many.make WHERE i <= 10 ORDER BY i \gexec
VACUUM ANALYZE pg_class, pg_namespace;
\c
CALL hub_many.measure('hubs');
\c
CALL hub_many.measure('hub_options');
\c
CALL hub_many.measure('metrics(''prometheus'')');
\c
CALL hub_many.measure('pg_stat_belay_queue');
\c
CALL hub_many.measure('pg_stat_belay_latency');
\c
CALL hub_many.measure('pg_stat_belay_task_queue');

SELECT statement FROM hub_many.make WHERE i > 10 ORDER BY i \gexec
VACUUM ANALYZE pg_class, pg_namespace;
\c
CALL hub_many.measure('hubs');
\c
CALL hub_many.measure('hub_options');
\c
CALL hub_many.measure('metrics(''prometheus'')');
\c
CALL hub_many.measure('pg_stat_belay_queue');
\c
CALL hub_many.measure('pg_stat_belay_latency');
\c
CALL hub_many.measure('pg_stat_belay_task_queue');

-- The pages of a hub, where there are too many of them.
CREATE VIEW hub_many.of_a_hub AS SELECT call, (max(pages) - min(pages)) / 30 AS pages FROM hub_many.cost GROUP BY call;
SELECT call, pages FROM hub_many.of_a_hub WHERE pages > CASE WHEN call = 'hub_options' THEN 50 WHEN call = 'hubs' THEN 80 WHEN call LIKE 'metrics%' THEN 400 ELSE 300 END ORDER BY call;
SELECT count(*) AS hubs, count(*) FILTER (WHERE size_bytes > 0) AS sizes FROM belay.hubs WHERE name LIKE 'hub_many_%';

SELECT replace(statement, 'create_hub', 'drop_hub') FROM hub_many.make ORDER BY i \gexec
DROP SCHEMA hub_many CASCADE;
