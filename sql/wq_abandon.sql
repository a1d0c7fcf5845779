-- Giving an activity back: abandon_work_item.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_abandon');
SELECT belay.set_hub_option('wq_abandon', 'max_clock_skew', '0');  -- these tests choose the time

-- test.error, without what differs from run to run.
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;
CREATE PROCEDURE pg_temp.add(name text, now_ms bigint, session_id text DEFAULT NULL, tag text DEFAULT NULL) LANGUAGE sql AS $$
    SELECT wq_abandon.enqueue_worker_work(format('{"ActivityExecute":{"name":"%s"}}', name), p_session_id => session_id, p_tag => tag, p_now_ms => now_ms)
$$;
CREATE FUNCTION pg_temp.fetch(now_ms bigint, timeout_ms bigint DEFAULT 1000) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce((SELECT (work_item::jsonb #>> '{ActivityExecute,name}') || ' ' || attempt_count
                       FROM wq_abandon.fetch_work_item(timeout_ms, p_now_ms => now_ms)), 'no row')
$$;
CREATE FUNCTION pg_temp.token(name text) RETURNS text LANGUAGE sql AS $$
    SELECT lock_token FROM wq_abandon.work_items AS w WHERE w.work_item::jsonb #>> '{ActivityExecute,name}' = $1
$$;
CREATE VIEW test.wq_abandon AS
    SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, lock_token IS NOT NULL AS leased, locked_until, locked_by, attempt_count,
           (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms, session_id, tag
      FROM wq_abandon.work_items ORDER BY id;

-- BW-2: the lease is cleared and the row fetchable at once, in its old place. visible_at is left alone; the attempt counts
-- (PO-2). BW-4: the next fetch gives a different token.
CALL pg_temp.add('a', 1000);
CALL pg_temp.add('b', 1000);
SELECT lock_token AS token FROM wq_abandon.fetch_work_item(1000, 'o', p_now_ms => 1200) \gset
SELECT * FROM test.wq_abandon;
SELECT wq_abandon.abandon_work_item(:'token', p_now_ms => 1300);
SELECT * FROM test.wq_abandon;
SELECT pg_temp.fetch(1300), pg_temp.token('a') <> :'token' AS new_token;

-- BW-1: the token must be the row's. Abandoned once, the old token opens nothing; nor does an acked or a strange one.
SELECT pg_temp.error(format('SELECT wq_abandon.abandon_work_item(%L, p_now_ms => 1400)', :'token'));
SELECT test.refused('SELECT wq_abandon.abandon_work_item(NULL, p_now_ms => 1400)'), test.refused('SELECT wq_abandon.abandon_work_item(''nonsense'', p_now_ms => 1400)');
SELECT pg_temp.token('a') AS token \gset
SELECT wq_abandon.ack_worker(:'token', p_now_ms => 1400);
SELECT test.refused(format('SELECT wq_abandon.abandon_work_item(%L, p_now_ms => 1400)', :'token'));
-- BW-1: no liveness check: an expired lease that no session took over can be abandoned.
SELECT pg_temp.fetch(1400, 100);
SELECT wq_abandon.abandon_work_item(pg_temp.token('b'), 1, p_now_ms => 99999);
SELECT * FROM test.wq_abandon;
TRUNCATE wq_abandon.worker_queue;

-- BW-2: with a delay the row is hidden until now + delay. BW-4: id, tag and session are kept.
CALL pg_temp.add('c', 1000, 's', 't');
SELECT id FROM wq_abandon.work_items \gset
SELECT lock_token AS token FROM wq_abandon.fetch_work_item(1000, 'o', 10, '{t}', 'tags', p_now_ms => 1200) \gset
SELECT wq_abandon.abandon_work_item(:'token', 500, p_now_ms => 1300);
SELECT * FROM test.wq_abandon;
SELECT id = :id AS same_id FROM wq_abandon.work_items;
SELECT count(*) FROM wq_abandon.fetch_work_item(1000, 'o', 10, '{t}', 'tags', p_now_ms => 1799);
SELECT attempt_count FROM wq_abandon.fetch_work_item(1000, 'o', 10, '{t}', 'tags', p_now_ms => 1800);
TRUNCATE wq_abandon.worker_queue;
-- FW-3: a row that comes back from a delay has an old id, and goes before younger ones.
CALL pg_temp.add('1', 1000);
CALL pg_temp.add('2', 1000);
CALL pg_temp.add('3', 1000);
SELECT pg_temp.fetch(1000), pg_temp.fetch(1000);
SELECT wq_abandon.abandon_work_item(pg_temp.token('1'), 700, p_now_ms => 1000), wq_abandon.abandon_work_item(pg_temp.token('2'), 500, p_now_ms => 1000);
SELECT pg_temp.fetch(1499, 1);
SELECT pg_temp.fetch(1700), pg_temp.fetch(1700), pg_temp.fetch(1700), pg_temp.fetch(1700);
-- Abandoned without a delay now, a row keeps its due time and its place.
SELECT wq_abandon.abandon_work_item(pg_temp.token('1'), p_now_ms => 1800), wq_abandon.abandon_work_item(pg_temp.token('2'), p_now_ms => 1800);
SELECT name, visible_ms, attempt_count FROM test.wq_abandon;
SELECT pg_temp.fetch(1800), pg_temp.fetch(1800), pg_temp.fetch(1800);
TRUNCATE wq_abandon.worker_queue;
-- A delay of 0 is none: fetchable at once. DM-7: a huge one is for ever. CL-9: a negative one is refused, and the lease kept.
CALL pg_temp.add('d', 1000);
SELECT pg_temp.fetch(1000);
SELECT wq_abandon.abandon_work_item(pg_temp.token('d'), 0, p_now_ms => 1000);
SELECT pg_temp.fetch(1000);
SELECT delay, test.refused(format('SELECT wq_abandon.abandon_work_item(%L, %s, p_now_ms => 1000)', pg_temp.token('d'), delay)) FROM unnest('{-1,-9223372036854775808}'::bigint[]) AS delay;
SELECT test.refused(format('SELECT wq_abandon.abandon_work_item(%L, p_now_ms => -1)', pg_temp.token('d')));
SELECT leased, attempt_count FROM test.wq_abandon;
SELECT wq_abandon.abandon_work_item(pg_temp.token('d'), 9223372036854775807, p_now_ms => 1000);
SELECT visible_at, attempt_count FROM wq_abandon.work_items;
SELECT pg_temp.fetch(9224318015999999);
TRUNCATE wq_abandon.worker_queue;

-- BW-3, PO-2: an ignored attempt is taken back: fetch and ignored abandon, repeated, give attempt 1 each time.
CALL pg_temp.add('e', 1000);
SELECT pg_temp.fetch(1000), wq_abandon.abandon_work_item(pg_temp.token('e'), p_ignore_attempt => true, p_now_ms => 1000);
SELECT pg_temp.fetch(1000), wq_abandon.abandon_work_item(pg_temp.token('e'), 0, true, p_now_ms => 1000);
SELECT pg_temp.fetch(1000), wq_abandon.abandon_work_item(pg_temp.token('e'), 5, NULL, p_now_ms => 1000);
SELECT pg_temp.fetch(2000), wq_abandon.abandon_work_item(pg_temp.token('e'), 5, true, p_now_ms => 2000);
SELECT attempt_count FROM test.wq_abandon;
-- It never goes below 0 (here the owner has set it to 0 by hand).
SELECT pg_temp.fetch(3000);
UPDATE wq_abandon.worker_queue SET attempt_count = 0;
SELECT wq_abandon.abandon_work_item(pg_temp.token('e'), NULL, true, p_now_ms => 3000);
SELECT attempt_count FROM test.wq_abandon;
TRUNCATE wq_abandon.worker_queue;

-- PO-3: counts are per row.
CALL pg_temp.add('f', 1000);
CALL pg_temp.add('g', 1000);
SELECT pg_temp.fetch(1000), pg_temp.fetch(1000);
SELECT wq_abandon.abandon_work_item(pg_temp.token('f'), p_now_ms => 1000), wq_abandon.abandon_work_item(pg_temp.token('g'), NULL, true, p_now_ms => 1000);
SELECT name, attempt_count FROM test.wq_abandon;

-- CC-11.
SELECT pg_temp.fetch(1000);
BEGIN;
SELECT wq_abandon.abandon_work_item(pg_temp.token('f'), 5000, p_now_ms => 1000);
ROLLBACK;
SELECT name, leased, attempt_count FROM test.wq_abandon;

DROP VIEW test.wq_abandon;
SELECT belay.drop_hub('wq_abandon');
