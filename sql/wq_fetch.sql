-- Leasing one activity: fetch_work_item. Order, visibility, leases, attempts.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_fetch');
SELECT belay.set_hub_option('wq_fetch', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('wq_fetch', 'max_attempts', 'off');

CREATE PROCEDURE pg_temp.add(name text, now_ms bigint, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT wq_fetch.enqueue_worker_items(jsonb_build_array(jsonb_build_object(
        'work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', name)), 'delay_ms', delay_ms)), now_ms)
$$;
-- A fetch, and what it brought.
CREATE FUNCTION pg_temp.fetch(now_ms bigint, timeout_ms bigint DEFAULT 1000) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce((SELECT (work_item::jsonb #>> '{ActivityExecute,name}') || ' ' || attempt_count
                       FROM wq_fetch.fetch_work_item(timeout_ms, p_now_ms => now_ms)), 'no row')
$$;
-- The queue, without tokens.
CREATE VIEW test.wq_fetch AS
    SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, lock_token IS NOT NULL AS leased, locked_until, attempt_count, locked_by
      FROM wq_fetch.work_items ORDER BY id;

-- Empty: no row, no error.
SELECT * FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);

-- FW-4, FW-7, CL-5: a row is a lease: the text as stored, a token, the attempt; deadline now + timeout.
SELECT wq_fetch.enqueue_worker_work(' {"ActivityExecute":{"name" : "a","input":"\u0000"}}', p_now_ms => 1000);
SELECT work_item, length(lock_token) AS token, attempt_count FROM wq_fetch.fetch_work_item(500, 'owner-1', p_now_ms => 1000);
SELECT work_item, lock_token IS NOT NULL AS leased, locked_until, attempt_count, locked_by FROM wq_fetch.work_items;
-- FW-8: a second fetch does not see it while the lease is live. CL-1: at 1499 it is live, at 1500 expired.
SELECT attempt_count FROM wq_fetch.fetch_work_item(500, p_now_ms => 1499);
-- PO-1, PO-2: after the deadline it is delivered again, with a new token; the attempt counts. A new owner, or none.
SELECT lock_token AS old FROM wq_fetch.work_items \gset
SELECT attempt_count, lock_token <> :'old' AS new_token FROM wq_fetch.fetch_work_item(500, 'owner-2', p_now_ms => 1500);
SELECT locked_until, attempt_count, locked_by FROM wq_fetch.work_items;
SELECT attempt_count FROM wq_fetch.fetch_work_item(500, p_now_ms => 2000);
SELECT locked_until, attempt_count, locked_by FROM wq_fetch.work_items;
TRUNCATE wq_fetch.worker_queue;

-- CL-8: leases are exact to the millisecond, however short or long.
CALL pg_temp.add('short', 1000);
SELECT pg_temp.fetch(1000, 1), pg_temp.fetch(1000, 1), pg_temp.fetch(1001, 50), pg_temp.fetch(1050, 50), pg_temp.fetch(1051, 50);
SELECT pg_temp.fetch(2000, 9223372036854775807), pg_temp.fetch(9224318015999999, 1);
SELECT locked_until FROM wq_fetch.work_items;
TRUNCATE wq_fetch.worker_queue;

-- CL-9: a timeout is above 0; so is the one for sessions, if given. Nothing is leased by a refused call.
CALL pg_temp.add('a', 1000);
SELECT arguments, test.refused(format('SELECT wq_fetch.fetch_work_item(%s)', arguments))
  FROM unnest(ARRAY['0', '-1', 'NULL', '1000, p_now_ms => -1', '1000, p_now_ms => 9223372036854775807',
                    '1000, p_session_lock_timeout_ms => 0', '1000, p_session_lock_timeout_ms => -5',
                    '1000, p_owner_id => repeat(''x'', 1025)', '1000, p_tag_mode => ''all''']) AS arguments;
SELECT * FROM test.wq_fetch;
SELECT attempt_count FROM wq_fetch.fetch_work_item(1000, repeat('x', 1024), NULL, NULL, NULL, NULL, p_now_ms => 1000);
TRUNCATE wq_fetch.worker_queue;

---- Order

-- FW-3: rows that were never delayed come in the order of their ids, regardless of their times.
CALL pg_temp.add('a', 3000);
CALL pg_temp.add('b', 1000);
CALL pg_temp.add('c', 2000);
SELECT pg_temp.fetch(3000) FROM generate_series(1, 4);
-- A row whose lease expired counts in its old place: first again.
SELECT pg_temp.fetch(4000), pg_temp.fetch(4000);
TRUNCATE wq_fetch.worker_queue;

-- FW-2, CL-1, CL-2: visible is visible_at <= now, by the caller's clock. DM-6: at the same millisecond it is visible.
CALL pg_temp.add('d', 1000, 500);
SELECT pg_temp.fetch(1499), pg_temp.fetch(1500);
TRUNCATE wq_fetch.worker_queue;
-- CL-1: a row never delayed is visible at once: neither its producer's clock nor a fetcher's hides it.
CALL pg_temp.add('ahead', 5000);
SELECT pg_temp.fetch(4999), pg_temp.fetch(5000);
TRUNCATE wq_fetch.worker_queue;

-- FW-3: delayed rows come back in the order (due time, id). Of the two heads the lower id is taken.
CALL pg_temp.add('1 due 3000', 1000, 2000);
CALL pg_temp.add('2 due 2000', 1000, 1000);
CALL pg_temp.add('3 due 2000', 1000, 1000);
CALL pg_temp.add('4', 1000);
CALL pg_temp.add('5 due 1500', 1000, 500);
CALL pg_temp.add('6', 1000);
-- At 1000 only 4 and 6 are visible. At 1500 the heads are 5 and 6.
SELECT pg_temp.fetch(1000), pg_temp.fetch(1500), pg_temp.fetch(1500);
SELECT pg_temp.fetch(1500, 9000);
TRUNCATE wq_fetch.worker_queue;
-- A delayed row, whose id is old, goes first once it is due. (2000, 2), (2000, 3), (3000, 1): due time before id, also if all
-- are due. The heads are now 2 and 4, then 3 and 4, then 1 and 4, then 4.
CALL pg_temp.add('1 due 3000', 1000, 2000);
CALL pg_temp.add('2 due 2000', 1000, 1000);
CALL pg_temp.add('3 due 2000', 1000, 1000);
CALL pg_temp.add('4', 1000);
SELECT pg_temp.fetch(3000) FROM generate_series(1, 5);
TRUNCATE wq_fetch.worker_queue;
-- A late id with an early due time waits behind all lower ids of the other range; what is behind it waits with it.
CALL pg_temp.add('1', 1000);
CALL pg_temp.add('2 due 3000', 1000, 2000);
CALL pg_temp.add('3', 1000);
CALL pg_temp.add('4 due 2000', 1000, 1000);
CALL pg_temp.add('5', 1000);
SELECT pg_temp.fetch(3000) FROM generate_series(1, 6);
-- PO-3: attempts are counted per row. The deadlines have passed: the same order again.
SELECT pg_temp.fetch(9000) FROM generate_series(1, 2);
SELECT * FROM test.wq_fetch;
TRUNCATE wq_fetch.worker_queue;

-- FW-9: there are no priorities. A field of that name is the caller's own; no argument has it.
SELECT wq_fetch.enqueue_worker_items('[{"work_item":{"ActivityExecute":{"name":"first","priority":1}}}, {"work_item":{"ActivityExecute":{"name":"second","priority":9}}}]', 1000);
SELECT pg_temp.fetch(1000), pg_temp.fetch(1000);
SELECT test.refused('SELECT wq_fetch.enqueue_worker_items(''[{"work_item":{"ActivityExecute":{}},"priority":9}]'', 1000)');
TRUNCATE wq_fetch.worker_queue;

---- Items that are not what they should be

-- FW-7, I12: an item that is no JSON is delivered like any other, and counts. (The owner wrote it; enqueue refuses it.)
CALL pg_temp.add('good', 1000);
UPDATE wq_fetch.worker_queue SET work_item = 'not { json';
CALL pg_temp.add('next', 1000);
SELECT work_item, attempt_count FROM wq_fetch.fetch_work_item(10, p_now_ms => 1000);
SELECT work_item, attempt_count FROM wq_fetch.fetch_work_item(10, p_now_ms => 1000);
SELECT work_item, attempt_count FROM wq_fetch.fetch_work_item(10, p_now_ms => 2000);
TRUNCATE wq_fetch.worker_queue;

-- FW-6: whether the instance runs, has ended or never was is irrelevant.
INSERT INTO wq_fetch.instances SELECT status, 'O', '1', 1, NULL, NULL, 0, now(), now() FROM unnest('{Running,Completed,Failed,ContinuedAsNew}'::text[]) AS status;
INSERT INTO wq_fetch.executions SELECT instance_id, 1, instance_id, NULL, now(), NULL FROM wq_fetch.instances;
SELECT wq_fetch.enqueue_worker_items((
    SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('instance', i, 'execution_id', 1, 'id', 9))) ORDER BY nr)
      FROM unnest('{Running,Completed,Failed,ContinuedAsNew,nobody}'::text[]) WITH ORDINALITY AS u (i, nr)), 1000);
SELECT work_item::jsonb #>> '{ActivityExecute,instance}' AS instance FROM wq_fetch.fetch_work_items(1000, p_max_items => 10, p_now_ms => 1000);
TRUNCATE wq_fetch.worker_queue, wq_fetch.instances, wq_fetch.executions;

-- The count stops at the largest integer.
CALL pg_temp.add('a', 1000);
UPDATE wq_fetch.worker_queue SET attempt_count = 2147483646;
SELECT pg_temp.fetch(1000, 1), pg_temp.fetch(2000, 1), pg_temp.fetch(3000, 1);
TRUNCATE wq_fetch.worker_queue;

---- A paused queue hands out nothing

CALL pg_temp.add('a', 1000);
CALL pg_temp.add('b', 1000);
SELECT lock_token AS token FROM wq_fetch.fetch_work_item(500, p_now_ms => 1000) \gset
SELECT wq_fetch.pause_hub('worker', 'maintenance');
SELECT pg_temp.fetch(1000), (SELECT count(*) FROM wq_fetch.fetch_work_items(1000, p_max_items => 10, p_now_ms => 1000));
-- Running work can finish, new work is accepted.
SELECT wq_fetch.renew_work_item_lock(:'token', 500, p_now_ms => 1100);
CALL pg_temp.add('c', 1000);
SELECT * FROM wq_fetch.ack_and_fetch_work_item(:'token', NULL, NULL, 500, p_now_ms => 1200);
SELECT name FROM test.wq_fetch;
-- Another queue's pause is not ours.
SELECT wq_fetch.resume_hub('worker');
SELECT wq_fetch.pause_hub('orchestrator');
SELECT pg_temp.fetch(1000);
SELECT wq_fetch.pause_hub();
SELECT pg_temp.fetch(1000);
SELECT wq_fetch.resume_hub();
SELECT pg_temp.fetch(1000);
TRUNCATE wq_fetch.worker_queue;

---- How it can be called

DO $$ BEGIN FOR n IN 1..20 LOOP CALL pg_temp.add(n::text, 1000); END LOOP; END $$;
-- In FROM, in the target list, for each row of a table, in a subquery, in a prepared statement, through a cursor.
SELECT work_item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
SELECT (f).attempt_count FROM (SELECT wq_fetch.fetch_work_item(1000, p_now_ms => 1000) AS f OFFSET 0) AS t;
SELECT n, work_item FROM generate_series(1, 2) AS n, LATERAL wq_fetch.fetch_work_item(1000 + n, p_now_ms => 1000) ORDER BY n;
SELECT (SELECT work_item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000)) AS item;
PREPARE lease(bigint, bigint) AS SELECT work_item FROM wq_fetch.fetch_work_item($2, p_now_ms => $1);
EXECUTE lease(1000, 1000);
EXECUTE lease(1000, 1000);
EXECUTE lease(1000, 1000);
DEALLOCATE lease;
BEGIN;
DECLARE c CURSOR FOR SELECT work_item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
FETCH 2 FROM c;
COMMIT;
-- With a LIMIT or EXISTS the lease is held all the same.
SELECT EXISTS (SELECT FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000));
SELECT count(*) AS leased FROM wq_fetch.work_items WHERE lock_token IS NOT NULL;
-- Several in one statement are several fetches: no row is leased twice.
SELECT count(DISTINCT token) AS tokens, count(DISTINCT item) AS items
  FROM (SELECT (f).lock_token AS token, (f).work_item AS item
          FROM (SELECT wq_fetch.fetch_work_item(1000, p_now_ms => 1000) AS f FROM generate_series(1, 5) OFFSET 0) AS t) AS t;

-- CC-11: a rolled back fetch has not happened: no lease, no attempt.
BEGIN;
SELECT work_item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
SAVEPOINT one;
SELECT work_item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
ROLLBACK TO one;
SELECT work_item, attempt_count FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
ROLLBACK;
SELECT work_item, attempt_count FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
-- The same with an exception block of PL/pgSQL.
DO $$
DECLARE item text;
BEGIN
    BEGIN
        SELECT work_item INTO item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
        RAISE NOTICE 'inside: %', item;
        PERFORM 1 / 0;
    EXCEPTION WHEN division_by_zero THEN
        RAISE NOTICE 'the lease is gone';
    END;
    SELECT work_item || ', attempt ' || attempt_count INTO item FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
    RAISE NOTICE 'again: %', item;
END $$;

-- CC-10: a call that writes is refused in a read-only transaction, also if there is nothing to fetch; a list is not.
BEGIN READ ONLY;
SELECT test.error('SELECT wq_fetch.fetch_work_item(1000, p_now_ms => 1000)');
SELECT test.error('SELECT wq_fetch.fetch_work_items(1000, p_tag_mode => ''none'', p_now_ms => 1000)');
SELECT test.sqlstate(call) AS state, call
  FROM unnest(ARRAY['SELECT wq_fetch.enqueue_worker_work(''{"ActivityExecute":{}}'')', 'SELECT wq_fetch.enqueue_worker_items(''[]'')',
                    'SELECT wq_fetch.ack_worker(''x'')', 'SELECT wq_fetch.ack_workers(''[]'')',
                    'SELECT wq_fetch.ack_and_fetch_work_item(''x'', NULL, NULL, 1000, p_now_ms => 1000)',
                    'SELECT wq_fetch.renew_work_item_lock(''x'', 1000, p_now_ms => 1000)', 'SELECT wq_fetch.renew_work_item_locks(NULL, 1000, p_now_ms => 1000)',
                    'SELECT wq_fetch.abandon_work_item(''x'', p_now_ms => 1000)', 'SELECT wq_fetch.renew_session_lock(NULL, 1000, 1000, p_now_ms => 1000)',
                    'SELECT wq_fetch.cleanup_orphaned_sessions(1000)', 'SELECT wq_fetch.cancel_activities(NULL)',
                    'SELECT wq_fetch.redrive_dead_letter(1)', 'SELECT wq_fetch.redrive_dead_letters(''{}'')',
                    'SELECT wq_fetch.discard_dead_letter(1)']) AS call;
SELECT count(*) > 0 AS listed FROM wq_fetch.list_work_items();
SELECT count(*) FROM wq_fetch.list_dead_letters();
COMMIT;
-- At higher isolation levels, alone, everything works; also on what the transaction itself did.
TRUNCATE wq_fetch.worker_queue;
BEGIN ISOLATION LEVEL SERIALIZABLE;
CALL pg_temp.add('serial', 1000);
SELECT work_item, lock_token AS token FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT wq_fetch.renew_work_item_lock(:'token', 1000, p_now_ms => 1000);
SELECT wq_fetch.abandon_work_item(:'token', p_now_ms => 1000);
SELECT attempt_count, lock_token AS token FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT wq_fetch.ack_worker(:'token', NULL, '{"ActivityCompleted":{"instance":"i"}}', 1000);
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM wq_fetch.fetch_work_item(1000, p_now_ms => 1000);
CALL pg_temp.add('repeatable', 1000);
SELECT pg_temp.fetch(1000), pg_temp.fetch(1000);
COMMIT;
SELECT * FROM test.wq_fetch;

DROP VIEW test.wq_fetch;
SELECT belay.drop_hub('wq_fetch');
