-- serial: counts buffers.
-- IX-3, IX-4, IX-5: what a turn costs does not depend on how many others wait. Shown in pages touched, not in time.
\set long 0
\getenv long BELAY_LONG
SELECT CASE :'long' WHEN '1' THEN 1000000 ELSE 50000 END AS n \gset
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_cost');
SELECT belay.set_hub_option('orch_cost', 'max_clock_skew', '0');  -- these tests choose the time

-- Runs a statement and tells how many pages it touched.
CREATE FUNCTION pg_temp.pages(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) ' || statement INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;
-- The least of five tries, each undone.
CREATE FUNCTION pg_temp.least_pages(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    found int;
    least_found int;
BEGIN
    FOR try IN 1..5 LOOP
        BEGIN
            found := pg_temp.pages(statement);
            RAISE EXCEPTION SQLSTATE 'UNDO0';
        EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
            least_found := least(least_found, found);
        END;
    END LOOP;
    RETURN least_found;
END $$;
-- One turn of a parent that starts n children with one ack, all visible at the same instant; then the turn of each child, in a transaction of its own.
CREATE TEMP TABLE turn (run int, nr int, fetched int, acked int);
CREATE PROCEDURE pg_temp.family(n int) LANGUAGE plpgsql AS $$
DECLARE
    held text;
    pages int;
BEGIN
    PERFORM orch_cost.start_orchestration('Parent', '', 'parent of ' || n, '1', 0, 1000);
    SELECT lock_token INTO held FROM orch_cost.fetch_orchestration_item(1000000, p_now_ms => 1000);
    PERFORM orch_cost.ack_orchestration_item(held, 1, '[]', '[]', (SELECT jsonb_agg(jsonb_build_object('StartOrchestration', jsonb_build_object('instance', n || ' child ' || c, 'orchestration', 'C'))) FROM generate_series(1, n) AS c),
        '{"orchestration_name":"Parent","orchestration_version":"1"}', p_now_ms => 1000);
    COMMIT;
    FOR nr IN 1..n LOOP
        pages := pg_temp.pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000000, p_now_ms => 1000)');
        COMMIT;
        SELECT lock_token INTO STRICT held FROM orch_cost.instance_lock_states WHERE instance_id = n || ' child ' || nr;
        INSERT INTO turn VALUES (n, nr, pages, pg_temp.pages(format('SELECT orch_cost.ack_orchestration_item(%L, 1, ''[{"event_id":1,"event_data":"{}"}]'', ''[]'', ''[]'', ''{"orchestration_name":"C","orchestration_version":"1","status":"Completed"}'', p_now_ms => 1000)', held)));
        COMMIT;
    END LOOP;
END $$;
-- Ten children, to warm up and to compare; then a thousand.
CALL pg_temp.family(3);
CALL pg_temp.family(10);
CALL pg_temp.family(1000);
SELECT run, count(*) AS turns FROM turn GROUP BY run ORDER BY run;
-- The cost of a turn, on average, is the same, but for some pages of deeper indexes and of rows that no vacuum has removed yet.
CREATE TEMP TABLE average AS SELECT run, avg(fetched) AS fetched, avg(acked) AS acked FROM turn GROUP BY run;
SELECT few.fetched > 0 AS counted, many.fetched - few.fetched < 40 AS fetched, many.acked - few.acked < 40 AS acked FROM average AS few, average AS many WHERE few.run = 10 AND many.run = 1000;
-- It does not grow from the first hundred to the last, nor is there a bad one in the middle: no sort, no scan.
SELECT avg(fetched) FILTER (WHERE nr > 900) - avg(fetched) FILTER (WHERE nr <= 100) < 40 AS not_growing, max(fetched) < 250 AS no_scan FROM turn WHERE run = 1000;

---- What a fetch does not fetch

-- Rows as enqueue makes them, written by the owner (with keys of their own, for no session fetches them).
CREATE PROCEDURE pg_temp.fill(n bigint, prefix text, visible_ms bigint, parked boolean DEFAULT false) LANGUAGE plpgsql AS $$
DECLARE
    pattern orch_cost.orchestrator_queue;
BEGIN
    PERFORM orch_cost.start_orchestration('O', '', 'pattern', '1', 0, 1000);
    DELETE FROM orch_cost.orchestrator_queue WHERE instance_id = 'pattern' RETURNING * INTO pattern;
    INSERT INTO orch_cost.orchestrator_queue (instance_key, id, visible_at, created_at, lock_no, attempt_count, slot, kind, parked, instance_id, work_item)
        SELECT hashtextextended(prefix || c, 0), nextval('orch_cost.orchestrator_queue_id'), to_timestamp(visible_ms / 1000.0), pattern.created_at, 0, 0, 0, CASE WHEN fill.parked THEN 'o' ELSE 's' END, fill.parked, prefix || c, pattern.work_item
          FROM generate_series(1, n) AS c;
END $$;
SELECT orch_cost.start_orchestration('O', '', 'ready', '1', 0, 900);
VACUUM ANALYZE orch_cost.orchestrator_queue, orch_cost.instances, orch_cost.executions, orch_cost.instance_locks;
SELECT pg_temp.least_pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000, p_now_ms => 2000)') AS few \gset
SELECT :few < 150 AS few_pages;
CREATE FUNCTION pg_temp.grown(few int) RETURNS TABLE (more_than_few int) LANGUAGE sql AS $$
    SELECT p.pages - few FROM (SELECT pg_temp.least_pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000, p_now_ms => 2000)') AS pages) AS p WHERE p.pages > few + 20
$$;
-- IX-3: future-visible rows (timers), as many behind the chosen item, and IX-5: orphans that wait aside, older than it.
CALL pg_temp.fill(:n, 'timer ', 9000000);
VACUUM ANALYZE orch_cost.orchestrator_queue;
SELECT * FROM pg_temp.grown(:few);
CALL pg_temp.fill(:n, 'behind ', 1000);
VACUUM ANALYZE orch_cost.orchestrator_queue;
SELECT * FROM pg_temp.grown(:few);
CALL pg_temp.fill(:n, 'orphan ', 500, true);
VACUUM ANALYZE orch_cost.orchestrator_queue;
SELECT * FROM pg_temp.grown(:few);
-- IX-2: a token leads to its lock without a search.
SELECT lock_token AS token FROM orch_cost.fetch_orchestration_item(1000, p_now_ms => 2000) \gset
SELECT pg_temp.least_pages(format('SELECT orch_cost.renew_orchestration_item_lock(%L, 1000, p_now_ms => 2000)', :'token')) < 40 AS renew,
       pg_temp.least_pages(format('SELECT orch_cost.abandon_orchestration_item(%L, p_now_ms => 2000)', :'token')) < 60 AS abandon,
       pg_temp.least_pages(format('SELECT orch_cost.ack_orchestration_item(%L, 1, ''[]'', ''[]'', ''[]'', ''{}'', p_now_ms => 2000)', :'token')) < 80 AS ack,
       pg_temp.least_pages('SELECT orch_cost.start_orchestration(''O'', p_now_ms => 2000)') < 40 AS start;
-- Nothing ready at all is as cheap.
TRUNCATE orch_cost.orchestrator_queue;
CALL pg_temp.fill(:n, 'timer ', 9000000);
CALL pg_temp.fill(:n, 'orphan ', 500, true);
VACUUM ANALYZE orch_cost.orchestrator_queue;
SELECT pg_temp.least_pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000, p_now_ms => 2000)') < 20 AS empty;

---- Kept plans

-- A plan that was made while the tables were nearly empty is kept while they grow, until the next ANALYZE: it must not read any of them as a whole, for turns and for workers.
TRUNCATE orch_cost.orchestrator_queue, orch_cost.instances, orch_cost.executions, orch_cost.instance_locks;
INSERT INTO orch_cost.instances SELECT 'few ' || c, 'O', '1', 1, NULL, NULL, 0, now(), now() FROM generate_series(1, 3) AS c;
INSERT INTO orch_cost.executions SELECT 'few ' || c, 1, 'Running', NULL, now(), NULL, 5, 0, 0 FROM generate_series(1, 3) AS c;
INSERT INTO orch_cost.instance_locks SELECT hashtextextended('few ' || c, 0), 0, 0, 0, 0, 0, 0, 0, 0, 'few ' || c FROM generate_series(1, 3) AS c;
CALL pg_temp.fill(5000, 'behind ', 1000);
SELECT orch_cost.start_orchestration('O', '', 'ready', '1', 0, 900);
ANALYZE orch_cost.orchestrator_queue, orch_cost.instances, orch_cost.executions, orch_cost.instance_locks;
SELECT pg_temp.least_pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000, p_now_ms => 2000)') AS few \gset
INSERT INTO orch_cost.instances SELECT 'many ' || c, 'O', '1', 1, NULL, NULL, 0, now(), now() FROM generate_series(1, 20000) AS c;
INSERT INTO orch_cost.executions SELECT 'many ' || c, 1, 'Running', NULL, now(), NULL, 5, 0, 0 FROM generate_series(1, 20000) AS c;
SELECT * FROM pg_temp.grown(:few);
INSERT INTO orch_cost.instance_locks SELECT hashtextextended('many ' || c, 0), 0, 0, 0, 0, 0, 0, 0, 0, 'many ' || c FROM generate_series(1, 20000) AS c;
SELECT * FROM pg_temp.grown(:few);

-- FO-3: a history of many events costs only the turn that reads it: a fetch whose filter does not admit the instance does not touch it.
TRUNCATE orch_cost.orchestrator_queue;
INSERT INTO orch_cost.instances VALUES ('long', 'O', '1', 1, NULL, NULL, 0, now(), now());
INSERT INTO orch_cost.executions VALUES ('long', 1, 'Running', NULL, now(), NULL, 5, 0, 0);
INSERT INTO orch_cost.history_turns SELECT 1, e, e, now(), 'long', ARRAY['x'], ARRAY['{}'] FROM generate_series(1, 20000) AS e;
VACUUM ANALYZE orch_cost.history_turns;
SELECT orch_cost.raise_event('long', 'go', '', false, 1000);
SELECT pg_temp.least_pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000, 0, 1000000, p_now_ms => 2000)') < 40 AS filtered, pg_temp.least_pages('SELECT * FROM orch_cost.fetch_orchestration_item(1000, 0, 9000000, p_now_ms => 2000)') > 100 AS admitted;

SELECT belay.drop_hub('orch_cost', true);
