-- A transaction that is run once more, because the answer of its COMMIT was lost, commits its effects once.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_repeat');
SELECT belay.set_hub_option('task_repeat', 'max_clock_skew', '0');  -- these tests choose the time
SET search_path = task_repeat, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE TEMP TABLE effects (what text);
SELECT count(*) FROM generate_series(1, 3) AS n, create_task('l', NULL, pg_temp.id(n), p_now_ms => 1000);
SELECT right(task_id::text, 1) AS task, lease_epoch FROM claim_tasks('w', 'w-1', p_max_items => 2, p_now_ms => 1000);

-- TW-3: complete_task.
BEGIN;
INSERT INTO effects VALUES ('complete_task');
SELECT result FROM complete_task(pg_temp.id(1), 1, '{"n":1}', p_now_ms => 1100);
COMMIT;
BEGIN;
INSERT INTO effects VALUES ('complete_task');
SELECT result FROM complete_task(pg_temp.id(1), 1, '{"n":1}', p_now_ms => 1100);
COMMIT;
-- No result is another result than this one.
SELECT test.refused($$SELECT task_repeat.complete_task('00000000-0000-4000-8000-000000000001', 1, NULL, p_now_ms => 1100)$$);

-- TW-3, TW-4: complete_and_claim. The repetition claims nothing.
BEGIN;
INSERT INTO effects VALUES ('complete_and_claim');
SELECT right(task_id::text, 1) AS task, lease_epoch FROM complete_and_claim(pg_temp.id(2), 1, NULL, 'w', 'w-1', p_now_ms => 1100);
COMMIT;
BEGIN;
INSERT INTO effects VALUES ('complete_and_claim');
SELECT right(task_id::text, 1) AS task, lease_epoch FROM complete_and_claim(pg_temp.id(2), 1, NULL, 'w', 'w-1', p_now_ms => 1100);
COMMIT;
SELECT test.refused($$SELECT task_repeat.complete_and_claim('00000000-0000-4000-8000-000000000002', 1, NULL, 'w', 'w-1', p_now_ms => 1100)$$);
SELECT what, count(*) FROM effects GROUP BY what ORDER BY what;
SELECT right(id::text, 1) AS task, state, lease_epoch FROM tasks ORDER BY id;

-- In a savepoint that is rolled back the completion never was, and can be repeated.
BEGIN;
SAVEPOINT s;
SELECT result FROM complete_task(pg_temp.id(3), 1, p_now_ms => 1200);
ROLLBACK TO s;
SELECT result FROM complete_task(pg_temp.id(3), 1, p_now_ms => 1200);
SELECT test.sqlstate($$SELECT task_repeat.complete_task('00000000-0000-4000-8000-000000000003', 1, p_now_ms => 1200)$$);
COMMIT;
-- A task that has begun anew has nothing to do with the lease of its former life.
SELECT result FROM replay_task(pg_temp.id(3), p_now_ms => 1300);
SELECT test.refused($$SELECT task_repeat.complete_task('00000000-0000-4000-8000-000000000003', 1, p_now_ms => 1300)$$);
SET client_min_messages = warning;
SELECT belay.drop_hub('task_repeat', true);
