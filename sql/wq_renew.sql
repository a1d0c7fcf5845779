-- Keeping a lease: renew_work_item_lock and renew_work_item_locks.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_renew');
SELECT belay.set_hub_option('wq_renew', 'max_clock_skew', '0');  -- these tests choose the time

-- test.error, without what differs from run to run.
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;
-- Adds activities of instance i with these ids and leases them from 1000 to 2000. lease tells their tokens.
CREATE TEMP TABLE lease (activity bigint, token text);
CREATE PROCEDURE pg_temp.start(VARIADIC activities bigint[]) LANGUAGE sql AS $$
    TRUNCATE wq_renew.worker_queue, lease;
    SELECT wq_renew.enqueue_worker_items((
        SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
                   jsonb_build_object('instance', 'i', 'execution_id', 1, 'id', a))) ORDER BY nr)
          FROM unnest(activities) WITH ORDINALITY AS u (a, nr)), 1000);
    INSERT INTO lease SELECT (work_item::jsonb #>> '{ActivityExecute,id}')::bigint, lock_token
      FROM wq_renew.fetch_work_items(1000, 'o', p_max_items => 1000, p_now_ms => 1000);
$$;
CREATE FUNCTION pg_temp.token(activity bigint) RETURNS text LANGUAGE sql AS $$ SELECT token FROM lease WHERE lease.activity = $1 $$;
CREATE VIEW test.wq_renew AS SELECT activity_id, locked_until, attempt_count, locked_by FROM wq_renew.work_items ORDER BY activity_id;

---- One lease

-- RW-1: the deadline is now + p_extend_ms, later or earlier than before. Nothing else changes, the token least of all.
CALL pg_temp.start(1);
SELECT wq_renew.renew_work_item_lock(pg_temp.token(1), 2000, p_now_ms => 1500);
SELECT * FROM test.wq_renew;
SELECT wq_renew.renew_work_item_lock(pg_temp.token(1), 50, p_now_ms => 1600);
SELECT * FROM test.wq_renew;
SELECT lock_token = pg_temp.token(1) AS same_token FROM wq_renew.work_items;
-- CL-1: it is live until 1649, and expired at 1650. RW-2: then it cannot be renewed, though no session took it.
SELECT wq_renew.renew_work_item_lock(pg_temp.token(1), 51, p_now_ms => 1649);
SELECT pg_temp.error(format('SELECT wq_renew.renew_work_item_lock(%L, 1000, p_now_ms => 1700)', pg_temp.token(1)));
SELECT * FROM test.wq_renew;
-- RW-2: leased again by another, acked, cancelled, never there.
SELECT lock_token AS token FROM wq_renew.fetch_work_item(1000, p_now_ms => 1700) \gset
SELECT test.refused(format('SELECT wq_renew.renew_work_item_lock(%L, 1000, p_now_ms => 1700)', pg_temp.token(1)));
SELECT wq_renew.ack_worker(:'token', p_now_ms => 1800);
SELECT test.refused(format('SELECT wq_renew.renew_work_item_lock(%L, 1000, p_now_ms => 1800)', :'token'));
CALL pg_temp.start(1);
SELECT wq_renew.cancel_activities('[{"instance":"i","execution_id":1,"activity_id":1}]');
SELECT test.refused(format('SELECT wq_renew.renew_work_item_lock(%L, 1000, p_now_ms => 1800)', pg_temp.token(1)));
SELECT test.refused('SELECT wq_renew.renew_work_item_lock(''nonsense'', 1000, p_now_ms => 1800)'), test.refused('SELECT wq_renew.renew_work_item_lock(NULL, 1000, p_now_ms => 1800)');
-- RW-3: it does not matter whether the orchestration runs or has ended; here each renewal has its own deadline.
CALL pg_temp.start(1);
INSERT INTO wq_renew.instances VALUES ('i', 'O', '1', 1, NULL, NULL, 0, now(), now());
INSERT INTO wq_renew.executions VALUES ('i', 1, 'Running', NULL, now(), NULL);
CREATE FUNCTION pg_temp.renew_as(status text, extend bigint) RETURNS SETOF test.wq_renew LANGUAGE plpgsql AS $$
BEGIN
    UPDATE wq_renew.executions SET status = renew_as.status;
    PERFORM wq_renew.renew_work_item_lock(pg_temp.token(1), extend, p_now_ms => 1500);
    RETURN QUERY SELECT * FROM test.wq_renew;
END $$;
SELECT status, r.locked_until FROM unnest('{Running,Completed,Failed,ContinuedAsNew}'::text[]) WITH ORDINALITY AS u (status, nr), LATERAL pg_temp.renew_as(status, 1000 + nr) AS r ORDER BY nr;
DROP FUNCTION pg_temp.renew_as(text, bigint);
TRUNCATE wq_renew.instances, wq_renew.executions;
-- A huge extension is a lease for ever; RW-3: there is no instance i at all.
CALL pg_temp.start(1);
SELECT wq_renew.renew_work_item_lock(pg_temp.token(1), 9223372036854775807, p_now_ms => 1500);
SELECT * FROM test.wq_renew;
SELECT wq_renew.renew_work_item_lock(pg_temp.token(1), 1, p_now_ms => 9224318015999999);
SELECT * FROM test.wq_renew;
-- CL-9: an extension is above 0.
SELECT extend, test.refused(format('SELECT wq_renew.renew_work_item_lock(%L, %L, p_now_ms => 1500)', pg_temp.token(1), extend)),
       test.refused(format('SELECT wq_renew.renew_work_item_locks(NULL, %L, p_now_ms => 1500)', extend))
  FROM unnest('{0,-1,NULL}'::bigint[]) AS extend;
SELECT test.refused(format('SELECT wq_renew.renew_work_item_lock(%L, 1000, p_now_ms => -1)', pg_temp.token(1)));

-- I11, CL-5: a renewed lease keeps its item from other fetchers past the first deadline.
CALL pg_temp.start(1);
SELECT wq_renew.renew_work_item_lock(pg_temp.token(1), 1000, p_now_ms => 1999);
SELECT count(*) FROM wq_renew.fetch_work_item(1000, p_now_ms => 2998);
SELECT attempt_count FROM wq_renew.fetch_work_item(1000, p_now_ms => 2999);

---- Many leases

-- RW-4: one row per element, in input order; nothing raises. All live: the deadlines are exact.
CALL pg_temp.start(1, 2, 3, 4);
SELECT r.index, r.lock_token = t.token AS token, r.renewed, r.locked_until, r.error
  FROM (SELECT array_agg(token ORDER BY activity DESC) AS tokens FROM lease) AS l,
       wq_renew.renew_work_item_locks(l.tokens, 2000, p_now_ms => 1500) AS r,
       LATERAL (SELECT l.tokens[r.index + 1] AS token) AS t;
SELECT * FROM test.wq_renew;
-- A lost lease undoes nothing: malformed, NULL, gone, expired. A token may come twice.
SELECT wq_renew.ack_worker(pg_temp.token(2), p_now_ms => 1500);
SELECT wq_renew.renew_work_item_lock(pg_temp.token(3), 100, p_now_ms => 1500);
SELECT index, lock_token IS NULL AS null_token, renewed, locked_until BETWEEN 4600 AND 64600 AS renewed_to, error
  FROM wq_renew.renew_work_item_locks(ARRAY['nonsense', pg_temp.token(4), NULL, pg_temp.token(2), pg_temp.token(3), pg_temp.token(4), ''], 3000, p_now_ms => 1600);
SELECT activity_id, locked_until BETWEEN 4600 AND 64600 AS renewed_to FROM test.wq_renew;
-- NULL or empty: no rows.
SELECT count(*) FROM wq_renew.renew_work_item_locks(NULL, 2000, p_now_ms => 1500);
SELECT count(*) FROM wq_renew.renew_work_item_locks('{}', 2000, p_now_ms => 1500);
SELECT count(*), bool_or(renewed) AS renewed FROM wq_renew.renew_work_item_locks('{NULL}', 2000, p_now_ms => 1500);
-- At most 10,000 tokens.
SELECT test.refused('SELECT wq_renew.renew_work_item_locks(array_fill(''x''::text, ARRAY[10001]), 2000, p_now_ms => 1500)');
SELECT count(*), count(error) AS lost FROM wq_renew.renew_work_item_locks(array_fill('x'::text, ARRAY[10000]), 2000, p_now_ms => 1500);
SELECT array_agg(n) AS thousand FROM generate_series(1, 1000) AS n \gset
CALL pg_temp.start(VARIADIC :'thousand');
SELECT count(*), bool_and(renewed) AS renewed, min(locked_until), max(locked_until)
  FROM wq_renew.renew_work_item_locks((SELECT array_agg(token ORDER BY md5(token)) FROM lease), 2000, p_now_ms => 1500);
SELECT min(locked_until), max(locked_until) FROM test.wq_renew;

-- One unit.
BEGIN;
SELECT count(*) FROM wq_renew.renew_work_item_locks((SELECT array_agg(token) FROM lease), 9000, p_now_ms => 1500);
ROLLBACK;
SELECT min(locked_until), max(locked_until) FROM test.wq_renew;

DROP VIEW test.wq_renew;
SELECT belay.drop_hub('wq_renew');
