-- A claim that is rolled back has done nothing: what it found due is due for the next one.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_undone');
SELECT belay.set_hub_option('task_undone', 'max_clock_skew', '0');
SET search_path = task_undone, public;
CREATE FUNCTION pg_temp.claimed(now_ms bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM claim_tasks('w', 'w-1', p_max_items => 10, p_now_ms => now_ms) $$;
SELECT count(*) AS created FROM create_tasks('[{"queue": "a", "delay_ms": 1000}, {"queue": "b", "delay_ms": 1000}, {"queue": "a", "delay_ms": 9000}]', 1000);
SELECT pg_temp.claimed(1500) AS too_early;
-- The transaction,
BEGIN;
SELECT pg_temp.claimed(2000);
SELECT pg_temp.claimed(2000) AS no_more;
ROLLBACK;
-- a part of it,
BEGIN;
SAVEPOINT s;
SELECT pg_temp.claimed(2000);
ROLLBACK TO s;
SELECT pg_temp.claimed(1500) AS too_early;
ROLLBACK;
-- and one that had cancelled a delayed task before.
BEGIN;
SELECT result FROM list_tasks('{"queue": "a"}') AS t, cancel_task(t.task_id, p_now_ms => 2000);
SELECT pg_temp.claimed(2000);
ROLLBACK;
SELECT pg_temp.claimed(2000);
-- A claim that finds nothing remembers when to look again.
SELECT pg_temp.claimed(3000) AS too_early;
SELECT pg_temp.claimed(10000);
SELECT belay.drop_hub('task_undone', true);
