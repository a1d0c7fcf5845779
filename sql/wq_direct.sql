-- serial: its faults would meet the calls of other tests.
-- FP-1: what operations on the worker queue leave in its table, its indexes and the statistics, also at the higher isolation levels and when they fail.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_direct');
SELECT belay.set_hub_option('wq_direct', 'max_clock_skew', '0');  -- these tests choose the time

-- The same calls leave the same rows at every isolation level.
CREATE FUNCTION pg_temp.play() RETURNS TABLE (id bigint, lane int, slot smallint, due bigint, visible_at timestamptz, created_at timestamptz, locked_until bigint,
        leased bool, lease_inc int, attempt_count int, execution_id bigint, activity_id bigint, tag text, session_id text, instance_id text, locked_by text, work_item text)
    LANGUAGE plpgsql AS $$
DECLARE
    token text;
    big text := jsonb_build_object('ActivityExecute', jsonb_build_object('name', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) AS n)));
BEGIN
    TRUNCATE wq_direct.worker_queue, wq_direct.sessions;
    PERFORM setval('wq_direct.worker_queue_id', 1000);
    PERFORM wq_direct.enqueue_worker_work('{"ActivityExecute":{"name":"1"}}', p_now_ms => 1000);
    PERFORM wq_direct.enqueue_worker_work(big, 'i', 2, 3, 's', 't', p_now_ms => 1000);
    PERFORM wq_direct.enqueue_worker_items('[{"work_item":{"ActivityExecute":{}},"delay_ms":500},{"work_item":{"ActivityExecute":{}},"instance_id":"i","session_id":"s"},{"work_item":{"ActivityExecute":{}}}]', 1001);
    SELECT lock_token INTO token FROM wq_direct.fetch_work_item(100, 'me', p_now_ms => 1002);
    PERFORM wq_direct.renew_work_item_lock(token, 200, p_now_ms => 1003);
    PERFORM wq_direct.abandon_work_item(token, 300, true, p_now_ms => 1004);
    PERFORM * FROM wq_direct.fetch_work_items(100, 'me', 100, '{t}', 'any', 2, p_now_ms => 1005);
    PERFORM wq_direct.ack_worker(f.lock_token, NULL, NULL, 1401) FROM wq_direct.fetch_work_item(100, 'me', p_now_ms => 1400) AS f;
    PERFORM * FROM wq_direct.fetch_work_items(100, NULL, NULL, NULL, NULL, 2, p_now_ms => 1502);
    RETURN QUERY SELECT w.id, w.lane, w.slot, w.due, w.visible_at, w.created_at, w.locked_until, w.nonce_hi <> 0 AND w.nonce_lo <> 0, w.lease_inc, w.attempt_count,
        w.execution_id, w.activity_id, w.tag, w.session_id, w.instance_id, w.locked_by, md5(w.work_item) FROM wq_direct.worker_queue AS w;
END $$;
CREATE TEMP TABLE played AS SELECT * FROM pg_temp.play();
SELECT * FROM played ORDER BY id;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM (SELECT * FROM pg_temp.play() EXCEPT ALL SELECT * FROM played) AS other;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM (SELECT * FROM pg_temp.play() EXCEPT ALL SELECT * FROM played) AS other;
COMMIT;
-- What is found by the other indexes is what is there.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT (SELECT count(*) FROM wq_direct.worker_queue WHERE instance_id IS NOT NULL AND instance_id >= '') AS by_activity,
       (SELECT count(*) FROM wq_direct.worker_queue WHERE session_id IS NOT NULL AND session_id >= '') AS by_session,
       (SELECT count(*) FROM wq_direct.worker_queue WHERE lane >= 0) AS by_key;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Statistics are counted, and lease updates are HOT.
SELECT belay.create_hub('wq_direct_stats');
BEGIN;
SELECT count(wq_direct_stats.enqueue_worker_work('{"ActivityExecute":{}}')) FROM generate_series(1, 10);
SELECT count(wq_direct_stats.ack_worker(lock_token)) FROM wq_direct_stats.fetch_work_items(1000, p_max_items => 4);
SELECT n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del FROM pg_stat_xact_user_tables WHERE relid = 'wq_direct_stats.worker_queue'::regclass;
ROLLBACK;

-- Nothing of a call is left if it fails in the middle.
CREATE FUNCTION pg_temp.failing(point text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.inject_fault(point, 1);
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
TRUNCATE wq_direct.worker_queue;
SELECT pg_temp.failing('hot_table.enqueue', $$SELECT wq_direct.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000)$$);
SELECT wq_direct.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000);
SELECT pg_temp.failing('hot_table.fetch', $$SELECT * FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000)$$);
SELECT lock_token AS token FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT pg_temp.failing('hot_table.hold', format('SELECT wq_direct.abandon_work_item(%L, p_now_ms => 1000)', :'token'));
SELECT pg_temp.failing('hot_table.renew', format('SELECT wq_direct.renew_work_item_lock(%L, 1000, p_now_ms => 1000)', :'token'));
SELECT pg_temp.failing('hot_table.abandon', format('SELECT wq_direct.abandon_work_item(%L, p_now_ms => 1000)', :'token'));
SELECT pg_temp.failing('hot_table.ack', format('SELECT wq_direct.ack_worker(%L, NULL, NULL, 1000)', :'token'));
SELECT locked_until, attempt_count FROM wq_direct.worker_queue;
SELECT wq_direct.ack_worker(:'token', NULL, NULL, 1000);
SELECT count(*) FROM wq_direct.worker_queue;

-- What the server refuses for SQL it refuses here: a publication of updates needs a replica identity.
SELECT wq_direct.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000);
ALTER TABLE wq_direct.worker_queue REPLICA IDENTITY NOTHING;
SET client_min_messages = error;  -- wal_level may be too low to publish; that is not the point
CREATE PUBLICATION wq_direct FOR TABLE wq_direct.worker_queue;
SELECT * FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000);
DROP PUBLICATION wq_direct;
RESET client_min_messages;
ALTER TABLE wq_direct.worker_queue REPLICA IDENTITY DEFAULT;

-- A row that an owner has changed by hand is found again at the latest when the cursors are repaired.
TRUNCATE wq_direct.worker_queue;
SELECT wq_direct.enqueue_worker_work('{"ActivityExecute":{"name":"a"}}', p_now_ms => 1000);
SELECT count(*) FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000);
SELECT count(*) FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000);
UPDATE wq_direct.worker_queue SET locked_until = 0;
SELECT duty FROM wq_direct.reconcile('{cursor_repair}', p_now_ms => 1000);
SELECT count(*) FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000);
INSERT INTO wq_direct.worker_queue SELECT lane, slot, due, 1, visible_at, created_at, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, work_item FROM wq_direct.worker_queue;
SELECT duty FROM wq_direct.reconcile('{cursor_repair}', p_now_ms => 1000);
SELECT count(*) FROM wq_direct.fetch_work_item(1000, p_now_ms => 1000);

SELECT belay.drop_hub('wq_direct', true);
SELECT belay.drop_hub('wq_direct_stats', true);
