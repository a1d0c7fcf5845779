-- Fenced transactions that are bound to the lease of a task (GD-1 to GD-9).
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('guard_task');
SELECT belay.set_hub_option('guard_task', 'max_clock_skew', '0');
CREATE TABLE test.guard_task_writes (what text PRIMARY KEY);
-- Tasks leased for an hour by the server's clock, which counts at a commit: 1 to 6.
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid $$;
SELECT count(*) FROM generate_series(1, 6) AS n, guard_task.create_task('l', p_task_id => pg_temp.id(n));
SELECT count(*) FROM guard_task.claim_tasks('w', 'w1', p_lease_ms => 3600000, p_max_items => 6);
CREATE FUNCTION pg_temp.epoch(n int) RETURNS bigint LANGUAGE sql AS $$ SELECT lease_epoch FROM guard_task.tasks WHERE id = pg_temp.id(n) $$;
SELECT pg_temp.epoch(1) AS e1, pg_temp.epoch(2) AS e2, pg_temp.epoch(3) AS e3, pg_temp.epoch(4) AS e4, pg_temp.epoch(5) AS e5, pg_temp.epoch(6) AS e6 \gset

-- A live lease lets the transaction pass; a renewal does not disturb.
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(1), :e1);
INSERT INTO test.guard_task_writes VALUES ('live');
SELECT capped FROM guard_task.renew_task(pg_temp.id(1), :e1, 3600000);
COMMIT;
-- One that was taken away between the write and the commit does not.
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(2), :e2);
INSERT INTO test.guard_task_writes VALUES ('revoked');
SELECT result FROM guard_task.revoke_lease(pg_temp.id(2));
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT guard_task.guard_task(pg_temp.id(2), :e2);
INSERT INTO test.guard_task_writes VALUES ('cancelled');
SELECT result FROM guard_task.cancel_task(pg_temp.id(2));
COMMIT;
-- Nor one that has expired.
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(3), :e3);
INSERT INTO test.guard_task_writes VALUES ('expired');
UPDATE guard_task.tasks SET lease_until_ms = 1 WHERE id = pg_temp.id(3);
COMMIT;
-- A task that the holder itself has ended passes: completed, failed.
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(4), :e4);
INSERT INTO test.guard_task_writes VALUES ('completed');
SELECT result FROM guard_task.complete_task(pg_temp.id(4), :e4);
COMMIT;
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(5), :e5);
INSERT INTO test.guard_task_writes VALUES ('failed');
SELECT result FROM guard_task.fail_task(pg_temp.id(5), :e5, 'permanent', 'm');
COMMIT;
-- In a subtransaction that is rolled back it is void. Two guards in one transaction: each has to stand.
BEGIN;
SAVEPOINT s;
SELECT guard_task.guard_task(pg_temp.id(6), :e6);
ROLLBACK TO s;
SELECT result FROM guard_task.revoke_lease(pg_temp.id(6));
INSERT INTO test.guard_task_writes VALUES ('void');
COMMIT;
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(1), :e1);
SELECT guard_task.guard_task(pg_temp.id(3), :e3);
ROLLBACK;
-- What is wrong is refused at the call.
SELECT test.error(format('SELECT guard_task.guard_task(%L, %s)', pg_temp.id(1), :e1 + 1));
SELECT test.error(format('SELECT guard_task.guard_task(%L, %s)', pg_temp.id(9), :e1));
SELECT test.sqlstate(format('SELECT guard_task.guard_task(%L, NULL)', pg_temp.id(1))), test.sqlstate('SELECT guard_task.guard_task(NULL, 1)');
-- After a new incarnation no lease counts.
BEGIN;
SELECT guard_task.guard_task(pg_temp.id(1), :e1);
INSERT INTO test.guard_task_writes VALUES ('other incarnation');
SELECT belay.new_incarnation('guard_task');
COMMIT;
SELECT belay.new_incarnation('guard_task');
SELECT test.error(format('SELECT guard_task.guard_task(%L, %s)', pg_temp.id(1), :e1)) LIKE 'QB001%other_incarnation%' AS lost;
SELECT what FROM test.guard_task_writes ORDER BY what;
DROP TABLE test.guard_task_writes;
SELECT belay.drop_hub('guard_task', p_force => true);
