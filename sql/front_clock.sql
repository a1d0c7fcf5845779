-- The setting belay.now: the clock of a transaction, for tests.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('front_clock');
SET search_path = front_clock, public;
SET timezone = 'UTC';
-- DR-3: bounded by max_clock_skew, as p_now_ms is. Every function of the transaction uses it.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT test.sqlstate($$SELECT front_clock.send('q')$$) AS send, test.sqlstate($$SELECT front_clock.receive('q')$$) AS receive, test.sqlstate($$SELECT front_clock.start('O')$$) AS start, test.sqlstate($$SELECT front_clock.create_task('q')$$) AS create_task;
ROLLBACK;
SELECT belay.set_hub_option('front_clock', 'max_clock_skew', '0');
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT send('q') AS id \gset
SELECT created_at FROM status(:'id');
SELECT task_id AS id FROM create_task('q') \gset
SELECT created_at FROM status(:'id');
-- An argument for the time counts more.
SELECT task_id AS id FROM create_task('q', p_now_ms => 1577836800000) \gset
SELECT created_at FROM status(:'id');
-- A timestamp without a zone is in the session's; digits are milliseconds since 1970.
SET LOCAL timezone = 'Europe/Berlin';
SET LOCAL belay.now = '2020-01-01 12:00:00';
SET LOCAL timezone = 'UTC';
SELECT send('q') AS id \gset
SELECT created_at FROM status(:'id');
SET LOCAL belay.now = 1577880000000;
SELECT send('q') AS id \gset
SELECT created_at FROM status(:'id');
-- A savepoint undoes it; an empty value means the server's clock.
SAVEPOINT s;
SET LOCAL belay.now = '2021-01-01 00:00:00+00';
SELECT send('q') AS id \gset
SELECT created_at FROM status(:'id');
ROLLBACK TO s;
SELECT send('q') AS id \gset
SELECT created_at FROM status(:'id');
SET LOCAL belay.now = '';
SELECT send('q') AS id \gset
SELECT now() - created_at < '1 min' AS is_now FROM status(:'id');
COMMIT;
SELECT send('q') AS id \gset
SELECT current_setting('belay.now') = '' AS over, now() - created_at < '1 min' AS is_now FROM status(:'id');
-- One transaction only: a value that a plain SET leaves behind is an error in the next one, not a clock that stands still.
SET belay.now = '2020-01-01 12:00:00+00';
SELECT test.error($$SELECT front_clock.send('q')$$);
SELECT test.sqlstate($$SELECT front_clock.create_task('q')$$), test.sqlstate($$SELECT front_clock.create_task('q', p_now_ms => 1000)$$);
RESET belay.now;
SELECT test.sqlstate($$SELECT front_clock.send('q')$$);
-- DR-3: leases of work items and turns are granted and expire by it, too.
SELECT enqueue_worker_items('[{"work_item": {"ActivityExecute": {"name": "A"}}, "delay_ms": 1000}]', p_now_ms => 1577879999000);
SELECT start_orchestration('O', '', 'turn', p_now_ms => 1577880000000);
BEGIN;
SET LOCAL belay.now = '2020-01-01 11:59:59.999+00';
SELECT count(*) FROM fetch_work_item(30000);
SELECT count(*) FROM fetch_orchestration_item(60000);
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT attempt_count FROM fetch_work_item(30000);
SELECT attempt_count FROM fetch_orchestration_item(60000);
COMMIT;
SELECT to_timestamp(locked_until / 1000.0) AS item_until FROM work_items;
SELECT to_timestamp(locked_until / 1000.0) AS turn_until FROM instance_lock_states;
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:29.999+00';
SELECT count(*) FROM fetch_work_item(30000);
SET LOCAL belay.now = '2020-01-01 12:00:30+00';
SELECT attempt_count FROM fetch_work_item(30000);
SET LOCAL belay.now = '2020-01-01 12:00:59.999+00';
SELECT count(*) FROM fetch_orchestration_item(60000);
SET LOCAL belay.now = '2020-01-01 12:01:00+00';
SELECT attempt_count FROM fetch_orchestration_item(60000);
COMMIT;
-- Not of a role, a database, a function or a connection, and no garbage.
ALTER ROLE CURRENT_USER SET belay.now = '2020-01-01';
CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql SET belay.now = '2020-01-01' AS 'SELECT 1';
BEGIN;
SET LOCAL belay.now = 'soon';
ROLLBACK;
BEGIN;
SET LOCAL belay.now = 'infinity';
ROLLBACK;
BEGIN;
SET LOCAL belay.now = '1969-01-01';
ROLLBACK;
BEGIN;
SET LOCAL belay.now = '99999999999999999999';
ROLLBACK;
SELECT belay.drop_hub('front_clock', p_force => true);
