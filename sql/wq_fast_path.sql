-- serial: its faults would meet the calls of other tests.
-- FP-1, FP-2: which tables the fast path serves, what it falls back for, and that it leaves what SQL leaves.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_fast');
SELECT belay.set_hub_option('wq_fast', 'max_clock_skew', '0');  -- these tests choose the time

-- Whether calls go directly to the table: then they pass its fault points.
CREATE FUNCTION pg_temp.direct() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.inject_fault('fastpath.enqueue', 1);
    BEGIN
        PERFORM wq_fast.enqueue_worker_work('{"ActivityExecute":{"name":"probe"}}', 1000);
        RAISE EXCEPTION SQLSTATE 'TRY00';  -- undone
    EXCEPTION
        WHEN SQLSTATE 'TRY00' THEN
            PERFORM belay.inject_fault('fastpath.enqueue', 0);
            RETURN 'by SQL';
        WHEN OTHERS THEN
            PERFORM belay.inject_fault('fastpath.enqueue', 0);
            RETURN CASE WHEN SQLERRM ~ 'injected fault' THEN 'directly' ELSE 'by SQL' END;
    END;
END $$;
SET belay.fast_path = on;
SELECT pg_temp.direct();
SET belay.fast_path = off;
SELECT pg_temp.direct();
SET belay.fast_path = on;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.direct();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT pg_temp.direct();
ROLLBACK;
BEGIN ISOLATION LEVEL READ UNCOMMITTED;
SELECT pg_temp.direct();
ROLLBACK;

-- A table that is not what the hub files make is left to SQL; back in its shape it is served directly again.
CREATE PROCEDURE pg_temp.with(change text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE change;
    RAISE NOTICE '%: %', pg_temp.direct(), change;
    ROLLBACK;
END $$;
CREATE FUNCTION pg_temp.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE test.wq_fast_child_of (LIKE wq_fast.worker_queue);
CALL pg_temp.with('CREATE TRIGGER t BEFORE INSERT ON wq_fast.worker_queue FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing()');
CALL pg_temp.with('CREATE RULE r AS ON INSERT TO wq_fast.worker_queue DO ALSO SELECT 1');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue ENABLE ROW LEVEL SECURITY');
CALL pg_temp.with('CREATE INDEX more ON wq_fast.worker_queue (created_at)');
CALL pg_temp.with('DROP INDEX wq_fast.worker_queue_session');
CALL pg_temp.with('DROP INDEX wq_fast.worker_queue_session; CREATE INDEX worker_queue_session ON wq_fast.worker_queue (session_id, lane, slot, due, id)');
CALL pg_temp.with('DROP INDEX wq_fast.worker_queue_session; CREATE INDEX worker_queue_session ON wq_fast.worker_queue (session_id, lane, slot, due DESC, id) WHERE session_id IS NOT NULL');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue ADD COLUMN more int');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue ADD COLUMN more int; ALTER TABLE wq_fast.worker_queue DROP COLUMN more');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue ADD CHECK (lane >= 0)');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue DROP CONSTRAINT worker_queue_attempt_count_check, ADD CONSTRAINT worker_queue_attempt_count_check CHECK (attempt_count >= 1) NOT VALID');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue ALTER tag SET NOT NULL');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue SET UNLOGGED');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue INHERIT test.wq_fast_child_of; ALTER TABLE wq_fast.worker_queue NO INHERIT test.wq_fast_child_of');
CALL pg_temp.with('CREATE TABLE test.wq_fast_child () INHERITS (wq_fast.worker_queue)');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue DROP CONSTRAINT worker_queue_pkey, ADD CONSTRAINT worker_queue_pkey PRIMARY KEY (lane, slot, due, id) DEFERRABLE');
CALL pg_temp.with('REVOKE DELETE ON wq_fast.worker_queue FROM CURRENT_USER');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue REPLICA IDENTITY FULL');
CALL pg_temp.with('ALTER TABLE wq_fast.worker_queue SET (fillfactor = 50)');
CALL pg_temp.with('REINDEX TABLE wq_fast.worker_queue');
SELECT pg_temp.direct();

-- The same calls leave the same rows.
CREATE FUNCTION pg_temp.play() RETURNS TABLE (id bigint, lane int, slot smallint, due bigint, visible_at timestamptz, created_at timestamptz, locked_until bigint,
        leased bool, lease_inc int, attempt_count int, execution_id bigint, activity_id bigint, tag text, session_id text, instance_id text, locked_by text, work_item text)
    LANGUAGE plpgsql AS $$
DECLARE
    token text;
    big text := jsonb_build_object('ActivityExecute', jsonb_build_object('name', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) AS n)));
BEGIN
    TRUNCATE wq_fast.worker_queue, wq_fast.sessions;
    PERFORM setval('wq_fast.worker_queue_id', 1000);
    PERFORM wq_fast.enqueue_worker_work('{"ActivityExecute":{"name":"1"}}', 1000);
    PERFORM wq_fast.enqueue_worker_work(big, 1000, 'i', 2, 3, 's', 't');
    PERFORM wq_fast.enqueue_worker_items('[{"work_item":{"ActivityExecute":{}},"delay_ms":500},{"work_item":{"ActivityExecute":{}},"instance_id":"i","session_id":"s"},{"work_item":{"ActivityExecute":{}}}]', 1001);
    SELECT out_lock_token INTO token FROM wq_fast.fetch_work_item(1002, 100, 'me');
    PERFORM wq_fast.renew_work_item_lock(token, 1003, 200);
    PERFORM wq_fast.abandon_work_item(token, 1004, 300, true);
    PERFORM * FROM wq_fast.fetch_work_items(1005, 100, 'me', 100, '{t}', 'any', 2);
    PERFORM wq_fast.ack_worker(f.out_lock_token, NULL, NULL, 1401) FROM wq_fast.fetch_work_item(1400, 100, 'me') AS f;
    PERFORM * FROM wq_fast.fetch_work_items(1502, 100, NULL, NULL, NULL, NULL, 2);
    RETURN QUERY SELECT w.id, w.lane, w.slot, w.due, w.visible_at, w.created_at, w.locked_until, w.nonce_hi <> 0 AND w.nonce_lo <> 0, w.lease_inc, w.attempt_count,
        w.execution_id, w.activity_id, w.tag, w.session_id, w.instance_id, w.locked_by, md5(w.work_item) FROM wq_fast.worker_queue AS w;
END $$;
SET belay.fast_path = off;
CREATE TEMP TABLE by_sql AS SELECT * FROM pg_temp.play();
SET belay.fast_path = on;
CREATE TEMP TABLE directly AS SELECT * FROM pg_temp.play();
SELECT count(*) FROM directly;
(TABLE by_sql EXCEPT ALL TABLE directly) UNION ALL (TABLE directly EXCEPT ALL TABLE by_sql);
-- What is found by the other indexes is what is there.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT (SELECT count(*) FROM wq_fast.worker_queue WHERE instance_id IS NOT NULL AND instance_id >= '') AS by_activity,
       (SELECT count(*) FROM wq_fast.worker_queue WHERE session_id IS NOT NULL AND session_id >= '') AS by_session,
       (SELECT count(*) FROM wq_fast.worker_queue WHERE lane >= 0) AS by_key;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Statistics are counted, and lease updates are HOT.
SELECT belay.create_hub('wq_fast_stats');
BEGIN;
SELECT count(wq_fast_stats.enqueue_worker_work('{"ActivityExecute":{}}')) FROM generate_series(1, 10);
SELECT count(wq_fast_stats.ack_worker(out_lock_token)) FROM wq_fast_stats.fetch_work_items(NULL, 1000, p_max_items => 4);
SELECT n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del FROM pg_stat_xact_user_tables WHERE relid = 'wq_fast_stats.worker_queue'::regclass;
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
TRUNCATE wq_fast.worker_queue;
SELECT pg_temp.failing('fastpath.enqueue', $$SELECT wq_fast.enqueue_worker_work('{"ActivityExecute":{}}', 1000)$$);
SELECT wq_fast.enqueue_worker_work('{"ActivityExecute":{}}', 1000);
SELECT pg_temp.failing('fastpath.fetch', $$SELECT * FROM wq_fast.fetch_work_item(1000, 1000)$$);
SELECT out_lock_token AS token FROM wq_fast.fetch_work_item(1000, 1000) \gset
SELECT pg_temp.failing('fastpath.hold', format('SELECT wq_fast.abandon_work_item(%L, 1000)', :'token'));
SELECT pg_temp.failing('fastpath.renew', format('SELECT wq_fast.renew_work_item_lock(%L, 1000, 1000)', :'token'));
SELECT pg_temp.failing('fastpath.abandon', format('SELECT wq_fast.abandon_work_item(%L, 1000)', :'token'));
SELECT pg_temp.failing('fastpath.ack', format('SELECT wq_fast.ack_worker(%L, NULL, NULL, 1000)', :'token'));
SELECT locked_until, attempt_count FROM wq_fast.worker_queue;
SELECT wq_fast.ack_worker(:'token', NULL, NULL, 1000);
SELECT count(*) FROM wq_fast.worker_queue;

-- What the server refuses for SQL it refuses here: a publication of updates needs a replica identity.
SELECT wq_fast.enqueue_worker_work('{"ActivityExecute":{}}', 1000);
ALTER TABLE wq_fast.worker_queue REPLICA IDENTITY NOTHING;
SET client_min_messages = error;  -- wal_level may be too low to publish; that is not the point
CREATE PUBLICATION wq_fast FOR TABLE wq_fast.worker_queue;
SELECT * FROM wq_fast.fetch_work_item(1000, 1000);
SET belay.fast_path = off;
SELECT * FROM wq_fast.fetch_work_item(1000, 1000);
DROP PUBLICATION wq_fast;
RESET client_min_messages;
RESET belay.fast_path;
ALTER TABLE wq_fast.worker_queue REPLICA IDENTITY DEFAULT;

-- A row that an owner has changed by hand is found again at the latest when the cursors are repaired.
TRUNCATE wq_fast.worker_queue;
SELECT wq_fast.enqueue_worker_work('{"ActivityExecute":{"name":"a"}}', 1000);
SELECT count(*) FROM wq_fast.fetch_work_item(1000, 1000);
SELECT count(*) FROM wq_fast.fetch_work_item(1000, 1000);
UPDATE wq_fast.worker_queue SET locked_until = 0;
SELECT duty FROM wq_fast.reconcile(1000, '{cursor_repair}');
SELECT count(*) FROM wq_fast.fetch_work_item(1000, 1000);
INSERT INTO wq_fast.worker_queue SELECT lane, slot, due, 1, visible_at, created_at, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, work_item FROM wq_fast.worker_queue;
SELECT duty FROM wq_fast.reconcile(1000, '{cursor_repair}');
SELECT count(*) FROM wq_fast.fetch_work_item(1000, 1000);

DROP TABLE test.wq_fast_child_of;
SELECT belay.drop_hub('wq_fast', true);
SELECT belay.drop_hub('wq_fast_stats', true);
