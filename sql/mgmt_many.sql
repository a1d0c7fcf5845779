-- serial: counts the reads of tables.
-- Operators are qualified: with a hostile search_path these joins would take for ever.
-- 100,000 instances: lists are right and in order, and neither lists nor totals read history.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_many');
SELECT belay.set_hub_option('mgmt_many', 'max_clock_skew', '0');  -- these tests choose the time

-- Written by the owner: ten at each ms, every third a child of the one before, statuses in turn. History of the first thousand only: two events each.
INSERT INTO mgmt_many.instances SELECT 'i' || n, 'O' || n % 10, '1', 1, CASE WHEN n % 3 = 0 THEN 'i' || n - 1 END, NULL, 0, to_timestamp(n / 10 / 1000.0), to_timestamp(n / 10 / 1000.0) FROM generate_series(1, 100000) AS n;
INSERT INTO mgmt_many.executions SELECT 'i' || n, 1, (ARRAY['Running', 'Completed', 'Failed', 'ContinuedAsNew'])[n % 4 + 1], NULL, to_timestamp(n / 10 / 1000.0), CASE WHEN n % 4 > 0 THEN to_timestamp(n / 1000.0) END FROM generate_series(1, 100000) AS n;
INSERT INTO mgmt_many.history_turns SELECT 1, 1, 2, 'epoch', 'i' || n, ARRAY['T', 'T'], ARRAY['{"event_id":1}', '{"event_id":2}'] FROM generate_series(1, 1000) AS n;
VACUUM ANALYZE mgmt_many.instances, mgmt_many.executions, mgmt_many.history_turns;

-- How often this session has read the table so far, by any kind of scan. Counts are flushed at the end of a transaction, if it is asked for.
CREATE FUNCTION pg_temp.reads(tab text) RETURNS bigint LANGUAGE sql AS $$ SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_all_tables WHERE relid = ('mgmt_many.' || tab)::regclass $$;
SELECT pg_stat_force_next_flush();
SELECT pg_temp.reads('history_turns') AS history, pg_temp.reads('instances') AS instances \gset

---- Totals

-- Above 10,000 these are estimates: a sample of 30,000 rows is right to a few percent.
SELECT total_instances, total_executions, abs(running_instances - 25000) < 2500 AS running, abs(completed_instances - 25000) < 2500 AS completed, abs(failed_instances - 25000) < 2500 AS failed, total_events FROM mgmt_many.get_system_metrics();
SELECT * FROM mgmt_many.get_queue_depths(1000);

---- Lists

-- All of them, newest first, ids deciding among equals.
SELECT count(*), count(DISTINCT instance_id), bool_and(place OPERATOR(pg_catalog.=) nr) AS in_order
  FROM (SELECT l.instance_id, nr, row_number() OVER (ORDER BY i.created_at DESC, i.instance_id DESC) AS place FROM mgmt_many.list_instances() WITH ORDINALITY AS l (instance_id, nr) JOIN mgmt_many.instances AS i ON i.instance_id OPERATOR(pg_catalog.=) l.instance_id) AS x;
SELECT s, test.refused(format('SELECT mgmt_many.list_instances_by_status(%L)', s)) AS by_status, (SELECT count(*) FROM mgmt_many.list_instances(s, 'O0', p_created_from_ms => 9500)) AS and_name, (SELECT count(*) FROM mgmt_many.list_instances(s, p_prefix => 'i999')) AS and_prefix, (SELECT count(*) FROM mgmt_many.list_instances(s, p_created_from_ms => 100, p_created_before_ms => 200)) AS and_time
  FROM unnest('{Running,Completed,Failed,ContinuedAsNew}'::text[]) AS s;
-- In pages: each instance once, in the same order.
CREATE TEMP TABLE page (nr serial, instance_id text);
CREATE PROCEDURE pg_temp.turn_pages(size int, status text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    last_id text;
BEGIN
    TRUNCATE page RESTART IDENTITY;
    LOOP
        INSERT INTO page (instance_id) SELECT l.instance_id FROM mgmt_many.list_instances(status, p_after => last_id, p_limit => size) WITH ORDINALITY AS l (instance_id, nr) ORDER BY nr;
        EXIT WHEN NOT FOUND;
        SELECT instance_id INTO last_id FROM page ORDER BY nr DESC LIMIT 1;
    END LOOP;
END $$;
CALL pg_temp.turn_pages(777);
SELECT count(*), bool_and(page.instance_id OPERATOR(pg_catalog.=) l.instance_id) AS same FROM page FULL JOIN mgmt_many.list_instances() WITH ORDINALITY AS l (instance_id, nr) ON page.nr OPERATOR(pg_catalog.=) l.nr;
CALL pg_temp.turn_pages(1000, 'Failed');
SELECT count(*), bool_and(page.instance_id OPERATOR(pg_catalog.=) l.instance_id) AS same FROM page FULL JOIN (SELECT i.instance_id, row_number() OVER (ORDER BY i.created_at DESC, i.instance_id DESC) AS nr FROM mgmt_many.instances AS i JOIN mgmt_many.executions AS e ON e.instance_id OPERATOR(pg_catalog.=) i.instance_id WHERE e.status OPERATOR(pg_catalog.=) 'Failed') AS l ON page.nr OPERATOR(pg_catalog.=) l.nr;
SELECT instance_id FROM mgmt_many.list_instances(p_limit => 3);
SELECT instance_id FROM mgmt_many.list_instances(p_after => 'i50001', p_limit => 3);

-- None of that has read history, though it was counted.
SELECT pg_stat_force_next_flush();
SELECT pg_temp.reads('history_turns') - :history AS history, pg_temp.reads('instances') > :instances AS instances;
-- It is counted where it is read.
SELECT event_count FROM mgmt_many.get_execution_info('i1', 1);
SELECT pg_stat_force_next_flush();
SELECT pg_temp.reads('history_turns') - :history > 0 AS counted;

---- Cost

CREATE FUNCTION pg_temp.pages(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    FOR try IN 1..2 LOOP
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) SELECT * FROM mgmt_many.' || statement INTO plan;
    END LOOP;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;
-- A page costs a page, not a walk over all instances, wherever it is; and so does what concerns one instance. A line for each that is dearer than that.
SELECT call, pg_temp.pages(call) AS pages FROM unnest(ARRAY['list_instances(p_limit => 10)', 'list_instances(p_after => ''i50000'', p_limit => 10)', 'list_instances(p_after => ''i9'', p_limit => 10)', 'list_instances(p_created_before_ms => 5000, p_limit => 10)', 'list_instances(p_created_from_ms => 9999)', 'list_instances(''Running'', p_limit => 10)',
    'list_executions(''i5'')', 'latest_execution_id(''i5'')', 'get_instance_info(''i5'')', 'get_execution_info(''i5'', 1)', 'get_instance_stats(''i5'')', 'list_children(''i5'')', 'get_parent_id(''i6'')', 'get_instance_tree(''i5'')', 'explain_fetch(''i5'', p_now_ms => 1000)', 'prune_executions(''i5'')']) AS call WHERE pg_temp.pages(call) > 180;
BEGIN;
SELECT pg_temp.pages('delete_instances_atomic(''{i7}'', true)') < 300 AS delete_is_cheap;
SELECT * FROM mgmt_many.delete_instance('i8', true);
SELECT * FROM mgmt_many.delete_instances_bulk('{"limit":300}');
ROLLBACK;

SELECT belay.drop_hub('mgmt_many', true);
