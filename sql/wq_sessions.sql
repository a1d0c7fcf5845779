-- Sessions: activities that belong together go to one owner.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_sessions');
SELECT belay.set_hub_option('wq_sessions', 'max_clock_skew', '0');  -- these tests choose the time

CREATE PROCEDURE pg_temp.add(name text, session_id text, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT wq_sessions.enqueue_worker_items(jsonb_build_array(jsonb_build_object(
        'work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', name)), 'session_id', session_id, 'delay_ms', delay_ms)), 1000)
$$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE wq_sessions.worker_queue, wq_sessions.sessions $$;
-- A fetch by an owner: name and attempt of the item.
CREATE FUNCTION pg_temp.fetch(owner text, now_ms bigint, timeout_ms bigint DEFAULT 1000, session_ms bigint DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce((SELECT (work_item::jsonb #>> '{ActivityExecute,name}') || ' ' || attempt_count
                       FROM wq_sessions.fetch_work_item(timeout_ms, owner, session_ms, p_now_ms => now_ms)), 'no row')
$$;
CREATE FUNCTION pg_temp.token(name text) RETURNS text LANGUAGE sql AS $$
    SELECT lock_token FROM wq_sessions.work_items AS w WHERE w.work_item::jsonb #>> '{ActivityExecute,name}' = $1
$$;
CREATE VIEW test.wq_sessions AS SELECT session_id, worker_id, locked_until, last_activity_at FROM wq_sessions.sessions ORDER BY session_id;
CREATE VIEW test.wq_sessions_work AS
    SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, session_id, locked_until, locked_by, attempt_count FROM wq_sessions.work_items ORDER BY id;

---- Claims

CALL pg_temp.add('s1', 'S');
CALL pg_temp.add('s2', 'S');
CALL pg_temp.add('free', NULL);
-- SE-3: without an owner only rows without a session.
SELECT pg_temp.fetch(NULL, 1000), pg_temp.fetch(NULL, 1000);
-- SE-2, SE-4, FW-5: with an owner also rows of a session that is not live; the fetch claims it, for p_session_lock_timeout_ms.
SELECT pg_temp.fetch('A', 1000, 1000, 5000);
SELECT * FROM test.wq_sessions;
SELECT * FROM test.wq_sessions_work;
-- SE-2: while it is live, other owners get nothing of it.
SELECT pg_temp.fetch('B', 1100), pg_temp.fetch('B', 1999);
-- SE-1: any slot of the owner may take its rows. SE-4: every fetch claims again; without a session timeout it is the item's
-- lock timeout, even if that ends sooner.
SELECT pg_temp.fetch('A', 1100, 300);
SELECT * FROM test.wq_sessions;
-- DM-5: the session's key is its id alone: it is the same session for every instance.
SELECT wq_sessions.enqueue_worker_work('{"ActivityExecute":{"instance":"other","session_id":"S","name":"s3"}}', p_now_ms => 1000);
SELECT pg_temp.fetch('B', 1399), pg_temp.fetch('A', 1399, 1000, 1);
-- SE-9, CL-1: at its deadline the session is expired. Any owner may claim it, the former one included. s2's lease is over, too.
SELECT pg_temp.fetch('B', 1400, 1000, 10);
SELECT * FROM test.wq_sessions;
CALL pg_temp.add('s4', 'S');
SELECT pg_temp.fetch('A', 1409, 1000, 10), pg_temp.fetch('A', 1410, 1000, 10);
SELECT * FROM test.wq_sessions;
CALL pg_temp.clear();

-- SE-2: the order is that of FW-3 over all rows that the owner may take.
CALL pg_temp.add('1 of B', 'B');
CALL pg_temp.add('2 of A', 'A');
CALL pg_temp.add('3 free', NULL);
CALL pg_temp.add('4 of C', 'C');
CALL pg_temp.add('5 of A', 'A');
CALL pg_temp.add('6 free', NULL);
CALL pg_temp.add('7 of A due 2000', 'A', 1000);
SELECT pg_temp.fetch('b', 1000, 1, 9000);
SELECT pg_temp.fetch('a', 1500, 9000, 9000), pg_temp.fetch('a', 1500), pg_temp.fetch('a', 1500), pg_temp.fetch('a', 1500), pg_temp.fetch('a', 1500), pg_temp.fetch('a', 1500);
SELECT pg_temp.fetch('a', 2000), pg_temp.fetch('a', 2000), pg_temp.fetch('b', 2000);
SELECT session_id, worker_id FROM test.wq_sessions;
CALL pg_temp.clear();

---- SE-7: the lease of the item and the session are independent

-- Lease expired, session live: only the owner gets the item again.
CALL pg_temp.add('i', 'S');
SELECT pg_temp.fetch('A', 1000, 100, 5000), pg_temp.fetch('B', 1200), pg_temp.fetch('A', 1200);
CALL pg_temp.clear();
-- Lease live, session expired: another owner may claim the session and its other items; the first worker's ack succeeds.
-- SE-8: it does not refresh the new owner's session; nor does a renewal.
CALL pg_temp.add('i', 'S');
CALL pg_temp.add('j', 'S');
SELECT pg_temp.fetch('A', 1000, 5000, 100), pg_temp.fetch('B', 1200, 5000, 3000), pg_temp.fetch('B', 1200);
SELECT wq_sessions.renew_work_item_lock(pg_temp.token('i'), 5000, p_now_ms => 1300);
SELECT wq_sessions.ack_worker(pg_temp.token('i'), p_now_ms => 1400);
SELECT * FROM test.wq_sessions;
SELECT name FROM test.wq_sessions_work;
CALL pg_temp.clear();
-- Lease live, then abandoned, session taken over: the new owner gets the item.
CALL pg_temp.add('i', 'S');
CALL pg_temp.add('j', 'S');
SELECT pg_temp.fetch('A', 1000, 5000, 100), pg_temp.fetch('B', 1200, 5000, 3000);
SELECT wq_sessions.abandon_work_item(pg_temp.token('i'), p_now_ms => 1300);
SELECT pg_temp.fetch('A', 1300), pg_temp.fetch('B', 1300);
CALL pg_temp.clear();
-- Both expired: any owner may claim both.
CALL pg_temp.add('i', 'S');
SELECT pg_temp.fetch('A', 1000, 100, 100), pg_temp.fetch('B', 1100, 100, 100);
SELECT * FROM test.wq_sessions;
SELECT pg_temp.fetch('A', 1200, 100, 100);
SELECT * FROM test.wq_sessions;
CALL pg_temp.clear();

---- SE-8: touch

CALL pg_temp.add('i', 'S');
CALL pg_temp.add('j', 'S');
CALL pg_temp.add('k', 'S');
CALL pg_temp.add('l', 'S');
SELECT pg_temp.fetch('A', 1000, 9000, 1000), pg_temp.fetch('A', 1000, 9000, 1000), pg_temp.fetch('A', 1000, 9000, 1000), pg_temp.fetch('A', 1000, 9000, 1000);
-- Renewals and acks, single and in lists, tell that the session is in use. Its deadline does not move.
SELECT wq_sessions.renew_work_item_lock(pg_temp.token('i'), 9000, p_now_ms => 1100);
SELECT * FROM test.wq_sessions;
SELECT renewed FROM wq_sessions.renew_work_item_locks(ARRAY[pg_temp.token('i'), pg_temp.token('j')], 9000, p_now_ms => 1200);
SELECT * FROM test.wq_sessions;
SELECT wq_sessions.ack_worker(pg_temp.token('i'), p_now_ms => 1300);
SELECT * FROM test.wq_sessions;
SELECT acked FROM wq_sessions.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', pg_temp.token('j'))), 1400);
SELECT * FROM test.wq_sessions;
-- An abandon does not.
SELECT wq_sessions.abandon_work_item(pg_temp.token('k'), p_now_ms => 1500);
SELECT * FROM test.wq_sessions;
-- AW-5: at 2000 the session is over; it is not touched, and the ack succeeds all the same.
SELECT wq_sessions.ack_worker(pg_temp.token('l'), p_now_ms => 2000);
SELECT * FROM test.wq_sessions;
SELECT name FROM test.wq_sessions_work;
CALL pg_temp.clear();

---- Many rows of sessions that others own stand in front

SELECT wq_sessions.enqueue_worker_items((
    SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', n || ' of ' || s)), 'session_id', s) ORDER BY n)
      FROM generate_series(1, 400) AS n, LATERAL (SELECT CASE WHEN n <= 300 THEN 'F' || n % 3 ELSE 'G' || n % 4 END AS s) AS t), 1000);
-- Owner f takes one row of F0, F1 and F2 and so owns them; g finds the first of the others, and then all of them, in order.
SELECT pg_temp.fetch('f', 1000, 9000, 9000), pg_temp.fetch('f', 1000, 9000, 9000), pg_temp.fetch('f', 1000, 9000, 9000);
SELECT pg_temp.fetch('g', 1000, 9000, 9000), pg_temp.fetch('g', 1000, 9000, 9000), pg_temp.fetch('h', 1000, 9000, 9000), pg_temp.fetch('g', 1000, 9000, 9000);
SELECT count(*), bool_and(nr > coalesce(before, 0)) AS in_order, min(nr), max(nr), string_agg(DISTINCT session, ' ' ORDER BY session) AS sessions
  FROM (SELECT split_part(name, ' ', 1)::int AS nr, split_part(name, ' ', 3) AS session, lag(split_part(name, ' ', 1)::int) OVER (ORDER BY place) AS before
          FROM (SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, row_number() OVER () AS place
                  FROM wq_sessions.fetch_work_items(9000, 'g', 9000, p_max_items => 1000, p_now_ms => 1000)) AS f) AS f;
SELECT pg_temp.fetch('i', 1000);
SELECT worker_id, string_agg(session_id, ' ') FROM test.wq_sessions GROUP BY worker_id ORDER BY worker_id;
CALL pg_temp.clear();
-- The same for delayed rows: order of (due, id).
SELECT wq_sessions.enqueue_worker_items((
    SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', n)),
                                        'session_id', CASE WHEN n <= 100 THEN 'F' ELSE 'G' || n % 2 END,
                                        'delay_ms', CASE WHEN n <= 100 THEN 1 ELSE 1000 - n END) ORDER BY n)
      FROM generate_series(1, 104) AS n), 1000);
SELECT pg_temp.fetch('f', 2000, 9000, 9000);
SELECT work_item FROM wq_sessions.fetch_work_items(9000, 'g', 9000, p_max_items => 1000, p_now_ms => 2000);
CALL pg_temp.clear();

---- renew_session_lock

CALL pg_temp.add('i', 'S');
CALL pg_temp.add('j', 'R');
CALL pg_temp.add('k', 'Q');
SELECT pg_temp.fetch('A', 1000, 9000, 1000), pg_temp.fetch('A', 1200, 9000, 1000), pg_temp.fetch('B', 1200, 9000, 1000);
SELECT * FROM test.wq_sessions;
-- RS-1: of these owners, live, and active within the idle timeout, strictly: S was used at 1000. RS-3: last_activity_at stays.
SELECT wq_sessions.renew_session_lock('{A}', 2000, 500, p_now_ms => 1500);
SELECT * FROM test.wq_sessions;
SELECT wq_sessions.renew_session_lock('{A}', 2000, 502, p_now_ms => 1501);
SELECT wq_sessions.renew_session_lock('{B,A,nobody,A,NULL}', 2000, 9000, p_now_ms => 1600);
SELECT * FROM test.wq_sessions;
-- RS-2: an empty list, an unknown owner, no time to be idle.
SELECT wq_sessions.renew_session_lock('{}', 9000, 9000, p_now_ms => 1600), wq_sessions.renew_session_lock(NULL, 9000, 9000, p_now_ms => 1600),
       wq_sessions.renew_session_lock('{C}', 9000, 9000, p_now_ms => 1600), wq_sessions.renew_session_lock('{A,B}', 9000, 0, p_now_ms => 1600);
-- RS-4: held past the original deadline.
SELECT wq_sessions.abandon_work_item(pg_temp.token('k'), p_now_ms => 1600);
SELECT pg_temp.fetch('A', 3599), pg_temp.fetch('B', 3599, 1, 1);
-- RS-2: expired sessions are not revived: at 3600 all are over.
SELECT wq_sessions.renew_session_lock('{A,B}', 2000, 9000, p_now_ms => 3600);
SELECT * FROM test.wq_sessions;
-- CL-9 and other bad arguments.
SELECT arguments, test.refused(format('SELECT wq_sessions.renew_session_lock(%s)', arguments))
  FROM unnest(ARRAY['''{A}'', 0, 9000', '''{A}'', -1, 9000', '''{A}'', NULL, 9000', '''{A}'', 1000, -1',
                    '''{A}'', 1000, NULL', '''{A}'', 1000, 1000, p_now_ms => -1']) AS arguments;
-- Huge ones: active at any time, held for ever.
SELECT pg_temp.fetch('A', 20000, 1000, 1000);
SELECT wq_sessions.renew_session_lock('{A}', 9223372036854775807, 9223372036854775807, p_now_ms => 20000);
SELECT * FROM test.wq_sessions WHERE worker_id = 'A' AND locked_until > 20000;
CALL pg_temp.clear();

---- cleanup_orphaned_sessions

CALL pg_temp.add('live', 'Live');
CALL pg_temp.add('ready', 'Ready');
CALL pg_temp.add('leased', 'Leased');
CALL pg_temp.add('delayed', 'Delayed');
CALL pg_temp.add('done', 'Done');
CALL pg_temp.add('done too', 'Done too');
SELECT pg_temp.fetch('A', 1000, 1000, 9000), pg_temp.fetch('A', 1000, 10, 10), pg_temp.fetch('A', 1000, 99999, 10), pg_temp.fetch('A', 1000, 10, 10),
       pg_temp.fetch('A', 1000, 10, 10), pg_temp.fetch('A', 1000, 10, 10);
SELECT wq_sessions.ack_worker(pg_temp.token('live'), p_now_ms => 1005), wq_sessions.abandon_work_item(pg_temp.token('delayed'), 99999, p_now_ms => 1005),
       wq_sessions.ack_worker(pg_temp.token('done'), p_now_ms => 1005), wq_sessions.ack_worker(pg_temp.token('done too'), p_now_ms => 1005);
SELECT name, session_id FROM test.wq_sessions_work;
-- CS-1: expired at 1010, and without a row of any state.
SELECT wq_sessions.cleanup_orphaned_sessions(1009), wq_sessions.cleanup_orphaned_sessions(1010), wq_sessions.cleanup_orphaned_sessions(1010);
-- CS-2: live sessions, and sessions with items, are kept.
SELECT session_id, locked_until FROM test.wq_sessions;
SELECT wq_sessions.cleanup_orphaned_sessions(10000);
SELECT session_id FROM test.wq_sessions;
-- CS-3: a cleaned session can be claimed anew.
CALL pg_temp.add('again', 'Done');
SELECT pg_temp.fetch('B', 20000), pg_temp.fetch('B', 20000);
SELECT session_id, worker_id FROM test.wq_sessions;
SELECT test.refused('SELECT wq_sessions.cleanup_orphaned_sessions(-1)');
SELECT wq_sessions.cleanup_orphaned_sessions(NULL) AS by_the_server_clock;

-- SE-2, FW-3: the order is that of the rows which the caller may take. A delayed row of a session that another owner has, or
-- beyond p_max_new_sessions, is no head: an older one behind it, due later, does not wait for ids to pass the one in front.
CREATE FUNCTION pg_temp.fetch_all(owner text, now_ms bigint, max_new int DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(work_item::jsonb #>> '{ActivityExecute,name}', ' ')
      FROM wq_sessions.fetch_work_items(1000, owner, p_max_items => 9, p_max_new_sessions => max_new, p_now_ms => now_ms)
$$;
DO $$
BEGIN
    CALL pg_temp.clear();
    CALL pg_temp.add('claim', 'S');
    RAISE NOTICE 'A has %', pg_temp.fetch('A', 1000, 1000, 5000);
    CALL pg_temp.add('1', NULL, 900);
    CALL pg_temp.add('2', NULL);
    CALL pg_temp.add('3', 'S', 500);
    CALL pg_temp.add('4', 'T', 600);
    CALL pg_temp.add('5', NULL);
    CALL pg_temp.add('6', 'S', 700);
    RAISE NOTICE 'B, no new session: %', pg_temp.fetch_all('B', 2000, 0);
    RAISE NOTICE 'B later: %', pg_temp.fetch_all('B', 4000);
END $$;

-- CC-11: a rolled back fetch has claimed nothing.
CALL pg_temp.clear();
CALL pg_temp.add('i', 'S');
BEGIN;
SELECT pg_temp.fetch('A', 1000);
ROLLBACK;
SELECT * FROM test.wq_sessions;
SELECT pg_temp.fetch('B', 1000);

DROP VIEW test.wq_sessions, test.wq_sessions_work;
SELECT belay.drop_hub('wq_sessions');
