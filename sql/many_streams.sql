-- serial: counts buffers.
-- IX-6: what a fetch of every tag, a claim of all lanes and a change of a lane cost does not grow with the number of tags and lanes. Shown in pages touched, not in time.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('many');
SELECT belay.set_hub_option('many', 'max_clock_skew', '0');
-- The least number of pages that a statement touches, of five tries. Each is undone.
CREATE FUNCTION pg_temp.pages(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    least_pages int;
BEGIN
    FOR try IN 1..5 LOOP
        BEGIN
            EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) ' || statement INTO plan;
            RAISE EXCEPTION SQLSTATE 'TRY00';
        EXCEPTION WHEN SQLSTATE 'TRY00' THEN
            least_pages := least(least_pages, (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int);
        END;
    END LOOP;
    RETURN least_pages;
END $$;
CREATE PROCEDURE pg_temp.fill(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM many.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', 'of ' || i)), 'tag', 'tenant ' || i)) FROM generate_series(first, last) AS i), 1000);
    PERFORM count(*) FROM many.create_tasks((SELECT jsonb_agg(jsonb_build_object('lane', 'tenant ' || i, 'kind', 'k')) FROM generate_series(first, last) AS i), 1000);
END $$;
CREATE TEMP TABLE cost (nr int, call text, base int);
INSERT INTO cost VALUES
    (1, 'many.fetch_work_item(2000, 1000, p_tag_mode => ''any'')', NULL),
    (2, 'many.fetch_work_items(2000, 1000, p_tag_mode => ''any'', p_max_items => 10)', NULL),
    (3, 'many.claim_tasks(''w'', ''i'', p_max => 1, p_now_ms => 2000)', NULL),
    (4, 'many.claim_tasks(''w'', ''i'', p_max => 10, p_now_ms => 2000)', NULL),
    (5, 'many.set_lane(''tenant 1'', ''{"concurrency": 7}'')', NULL);
CALL pg_temp.fill(1, 100);
SELECT count(many.set_lane('tenant ' || i, '{"concurrency": 5}')) FROM generate_series(1, 100) AS i;
VACUUM ANALYZE many.worker_queue, many.tasks, many.lane_limits, many.lanes, many.belay_hub;
UPDATE cost SET base = pg_temp.pages('SELECT * FROM ' || call);
-- Little is little.
SELECT call, base FROM cost WHERE base > 1500 ORDER BY nr;
CALL pg_temp.fill(101, 10000);
VACUUM ANALYZE many.worker_queue, many.tasks, many.lane_limits, many.lanes;
-- A few more pages are allowed: the trees get deeper.
SELECT c.call, p.pages - c.base AS more_than_few FROM cost AS c, LATERAL (SELECT pg_temp.pages('SELECT * FROM ' || c.call) AS pages OFFSET 0) AS p WHERE p.pages > c.base * 1.5 + 100 ORDER BY nr;
-- The first limits of a lane, with many lanes that have some.
SELECT pg_temp.pages($$ SELECT many.set_lane('first', '{"concurrency": 1}') $$) AS few \gset
SELECT count(many.set_lane('tenant ' || i, '{"concurrency": 5}')) FROM generate_series(101, 1000) AS i;
SELECT pg_temp.pages($$ SELECT many.set_lane('next', '{"concurrency": 1}') $$) <= :few + 20 AS no_more;
-- A limit holds that the hub's row does not list.
SELECT many.set_lane('tenant 1000', '{"concurrency": 0}');
SELECT count(*) FROM many.claim_tasks('w', 'i', '{tenant 1000}', p_now_ms => 2000);
SELECT many.set_lane('tenant 1000', '{"concurrency": null}');
SELECT count(*) FROM many.claim_tasks('w', 'i', '{tenant 1000}', p_now_ms => 2000);

-- FW-2: no row is returned only if none was eligible, and every tag has its turn: of a thousand with two items each, most come once before many come twice.
DELETE FROM many.worker_queue;
SELECT many.reconcile(p_duties => '{cursor_repair}') IS NOT NULL AS looked;
CALL pg_temp.fill(1, 1000);
CALL pg_temp.fill(1, 1000);
CREATE TEMP TABLE got (nr serial, tag text);
DO $$
BEGIN
    LOOP
        INSERT INTO got (tag) SELECT f.out_work_item FROM many.fetch_work_item(2000, 100000, p_tag_mode => 'any') AS f;
        EXIT WHEN NOT FOUND;
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT tag) FROM got;
SELECT count(DISTINCT tag) > 600 AS fair FROM got WHERE nr <= 1000;
-- The same of lanes.
CREATE TEMP TABLE claimed (nr serial, lane text);
DO $$
BEGIN
    LOOP
        INSERT INTO claimed (lane) SELECT c.lane FROM many.claim_tasks('w', 'i', p_max => 1, p_now_ms => 2000) AS c;
        EXIT WHEN NOT FOUND OR (SELECT count(*) FROM claimed) = 2000;
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT lane) > 1500 AS fair FROM claimed;
SELECT belay.drop_hub('many');
