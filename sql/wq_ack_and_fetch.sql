-- Finishing one activity and leasing the next in one unit: ack_and_fetch_work_item.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_ack_and_fetch');
SELECT belay.set_hub_option('wq_ack_and_fetch', 'max_clock_skew', '0');  -- these tests choose the time

-- test.error, without what differs from run to run.
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;
CREATE PROCEDURE pg_temp.add(name text, now_ms bigint, session_id text DEFAULT NULL, tag text DEFAULT NULL) LANGUAGE sql AS $$
    SELECT wq_ack_and_fetch.enqueue_worker_work(format('{"ActivityExecute":{"name":"%s"}}', name), p_session_id => session_id, p_tag => tag, p_now_ms => now_ms)
$$;
CREATE VIEW test.wq_ack_and_fetch AS
    SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, lock_token IS NOT NULL AS leased, locked_until, attempt_count, locked_by
      FROM wq_ack_and_fetch.work_items ORDER BY id;

-- AF-1: the ack of one, with its completion, and the lease of the next.
CALL pg_temp.add('a', 1000);
CALL pg_temp.add('b', 1000);
SELECT lock_token AS token FROM wq_ack_and_fetch.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT work_item, attempt_count, lock_token <> :'token' AS new_token
  FROM wq_ack_and_fetch.ack_and_fetch_work_item(:'token', 'i', '{"ActivityCompleted":{"instance":"i"}}', 700, 'owner', p_now_ms => 1500);
SELECT * FROM test.wq_ack_and_fetch;
SELECT instance_id, work_item FROM wq_ack_and_fetch.orchestrator_queue;
-- AF-3: no row means: acked, and nothing eligible.
SELECT lock_token AS token FROM wq_ack_and_fetch.work_items \gset
SELECT * FROM wq_ack_and_fetch.ack_and_fetch_work_item(:'token', NULL, NULL, 700, p_now_ms => 1600);
SELECT * FROM test.wq_ack_and_fetch;

-- AF-2: if the ack fails, nothing is fetched. The message is that of ack_worker.
CALL pg_temp.add('c', 2000);
SELECT pg_temp.error(format('SELECT wq_ack_and_fetch.ack_and_fetch_work_item(%L, NULL, NULL, 700, p_now_ms => 2000)', :'token'));
SELECT test.refused('SELECT wq_ack_and_fetch.ack_and_fetch_work_item(NULL, NULL, NULL, 700, p_now_ms => 2000)');
SELECT * FROM test.wq_ack_and_fetch;
-- A bad argument of either half refuses both: the lease is kept.
SELECT lock_token AS token FROM wq_ack_and_fetch.fetch_work_item(1000, p_now_ms => 2000) \gset
CALL pg_temp.add('d', 2000);
SELECT arguments, test.refused(format('SELECT wq_ack_and_fetch.ack_and_fetch_work_item(%L, %s)', :'token', arguments))
  FROM unnest(ARRAY['NULL, ''{}'', 700', '''j'', ''{"ActivityFailed":{"instance":"i"}}'', 700', 'NULL, NULL, 0',
                    'NULL, NULL, NULL', 'NULL, NULL, 700, p_now_ms => -1', 'NULL, NULL, 700, p_tag_mode => ''''',
                    'NULL, NULL, 700, p_session_lock_timeout_ms => 0', 'NULL, NULL, 700, repeat(''x'', 1025)']) AS arguments;
SELECT * FROM test.wq_ack_and_fetch;
-- The arguments of the fetch are those of fetch_work_item: mode none acks, and fetches nothing.
SELECT count(*) FROM wq_ack_and_fetch.ack_and_fetch_work_item(:'token', NULL, NULL, 700, p_tag_mode => 'none', p_now_ms => 2000);
SELECT * FROM test.wq_ack_and_fetch;
CALL pg_temp.add('e', 2000, tag => 't');
SELECT lock_token AS token FROM wq_ack_and_fetch.fetch_work_item(1000, p_now_ms => 2000) \gset
SELECT work_item FROM wq_ack_and_fetch.ack_and_fetch_work_item(:'token', NULL, NULL, 700, NULL, NULL, '{t}', 'tags', '{0}', p_now_ms => 2000);
TRUNCATE wq_ack_and_fetch.worker_queue;

-- CL-1: the ack is for a live lease only.
CALL pg_temp.add('a', 1000);
SELECT lock_token AS token FROM wq_ack_and_fetch.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT test.refused(format('SELECT wq_ack_and_fetch.ack_and_fetch_work_item(%L, NULL, NULL, 700, p_now_ms => 2000)', :'token'));
SELECT * FROM test.wq_ack_and_fetch;
TRUNCATE wq_ack_and_fetch.worker_queue;

-- AF-4: the session touch of the ack happens before the fetch. The fetch of a row of the same session claims it again, at
-- the same now; here the fetch finds another session.
CALL pg_temp.add('s', 1000, 'S');
CALL pg_temp.add('r', 1000, 'R');
SELECT lock_token AS token FROM wq_ack_and_fetch.fetch_work_item(1000, 'o', 5000, p_now_ms => 1000) \gset
SELECT work_item FROM wq_ack_and_fetch.ack_and_fetch_work_item(:'token', NULL, NULL, 700, 'o', 3000, p_now_ms => 1400);
SELECT session_id, worker_id, locked_until, last_activity_at FROM wq_ack_and_fetch.sessions ORDER BY session_id;

-- One unit: rolled back, both halves are undone.
SELECT lock_token AS token FROM wq_ack_and_fetch.work_items \gset
CALL pg_temp.add('t', 1400);
BEGIN;
SELECT work_item FROM wq_ack_and_fetch.ack_and_fetch_work_item(:'token', NULL, NULL, 700, 'o', p_now_ms => 1500);
ROLLBACK;
SELECT * FROM test.wq_ack_and_fetch;

DROP VIEW test.wq_ack_and_fetch;
SELECT belay.drop_hub('wq_ack_and_fetch');
