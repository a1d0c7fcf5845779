-- What happened over time: stat_series, and what the duty stat_minutes keeps. What it records is in test/cluster/stat_minutes_test.cpp, because it needs shared memory.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('browse_series');
SELECT belay.set_hub_option('browse_series', 'max_clock_skew', '0');
SET search_path = browse_series, public;
CREATE FUNCTION pg_temp.minute(n int, queue text, task_queue text, created bigint, depth bigint DEFAULT NULL, oldest bigint DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
    INSERT INTO browse_series.stat_minutes VALUES (queue, task_queue, n * 60000::bigint, ARRAY[created, 2, 3, 4, 5, 6, 7, 8], array_fill(1, ARRAY[22]), 100, array_fill(2, ARRAY[22]), 200, depth, oldest) $$;
-- SM-1: nothing was recorded.
SELECT * FROM stat_series(0, 3600000);
SELECT pg_temp.minute(n, 'tasks', '', n, n * 10, 1000 - n), pg_temp.minute(n, 'tasks', 'mail', 1), pg_temp.minute(n, 'worker', '', 100) FROM generate_series(10, 20) AS n WHERE n <> 15;
-- Minutes of the range, its end left out; those without a row are left out.
SELECT at_ms / 60000 AS minute, queue, task_queue, created, claimed, completed, failed, retried, cancelled, expired, lost, depth, oldest_ms FROM stat_series(14 * 60000, 17 * 60000, p_queue => 'tasks');
-- Added up: counters and buckets, the last depth, the greatest age. Steps begin at p_from_ms.
SELECT at_ms / 60000 AS minute, queue, created, lost, wait_buckets[1:2] AS wait, wait_sum_ms, run_buckets[22] AS longest, run_sum_ms, cardinality(run_buckets) AS buckets, depth, oldest_ms FROM stat_series(9 * 60000, 21 * 60000, 6 * 60000);
-- Of one queue of tasks.
SELECT at_ms / 60000 AS minute, queue, task_queue, created FROM stat_series(0, 3600000, 3600000, p_task_queue => 'mail');
SELECT count(*) FROM stat_series(0, 3600000, 3600000, 'tasks', 'mail'); SELECT count(*) FROM stat_series(0, 3600000, 3600000, 'tasks', 'none');
-- SM-2: what is refused.
SELECT test.refused(format('SELECT * FROM browse_series.stat_series(%s)', a)) FROM unnest(ARRAY['NULL, 1', '1, NULL', '-1, 1', '5, 5', '0, 2678400001', '0, 60000, 0', '0, 60000, 90000', '0, 120060000', '0, 60000, NULL, $$no$$', '0, 60000, NULL, $$worker$$, $$mail$$', '0, 60000, NULL, NULL, $$$$']) AS a;
SELECT count(*) FROM stat_series(0, 120000000, p_queue => 'tasks');
-- SM-3: rows older than the retention go; without one, all, in as many portions as it takes.
SELECT rows FROM reconcile('{stat_minutes}', p_now_ms => 13 * 60000 + 7 * 86400000::bigint); SELECT min(minute_ms) / 60000 AS first FROM stat_minutes;
SELECT count(*) FROM generate_series(100, 1400) AS n, pg_temp.minute(n, 'orchestrator', '', 1);
SELECT belay.set_hub_option('browse_series', 'stat_retention', '0'); SELECT rows > 1300 AS all_rows FROM reconcile('{stat_minutes}', p_now_ms => 60000); SELECT count(*) FROM stat_minutes; SELECT queue FROM stat_marks;
SELECT belay.set_hub_option('browse_series', 'stat_retention', NULL);
-- Level monitor may look.
CREATE ROLE regress_series; SELECT belay.grant_hub('browse_series', 'regress_series', 'monitor'); SET ROLE regress_series; SELECT count(*) FROM stat_series(0, 60000); SELECT test.sqlstate('SELECT * FROM browse_series.stat_minutes'); RESET ROLE;
SELECT belay.revoke_hub('browse_series', 'regress_series', 'monitor'), belay.grant_hub('browse_series', 'regress_series', 'worker'); SET ROLE regress_series; SELECT test.sqlstate('SELECT * FROM browse_series.stat_series(0, 60000)'); RESET ROLE;
SELECT belay.revoke_hub('browse_series', 'regress_series', 'worker'); DROP ROLE regress_series;
SELECT belay.drop_hub('browse_series', true);
