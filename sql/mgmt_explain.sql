-- explain_fetch: why is this instance not being fetched? A row per reason; no row means that it can be fetched now.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_explain');
SELECT belay.set_hub_option('mgmt_explain', 'max_clock_skew', '0');  -- these tests choose the time

-- The reasons, and whether a fetch brings the instance: it does if and only if there is no reason. The fetch is undone.
CREATE FUNCTION pg_temp.why(instance text, now_ms bigint, min_version bigint DEFAULT NULL, max_version bigint DEFAULT NULL) RETURNS TABLE (reason text, detail text, until_ms bigint) LANGUAGE plpgsql AS $$
DECLARE
    fetched boolean := false;
    explained boolean;
    got text;
BEGIN
    RETURN QUERY SELECT e.reason, e.detail, (extract(epoch FROM e.until_at) * 1000)::bigint FROM mgmt_explain.explain_fetch(instance, min_version, max_version, p_now_ms => now_ms) AS e;
    explained := FOUND;
    BEGIN
        LOOP
            SELECT instance_id INTO got FROM mgmt_explain.fetch_orchestration_item(1000, min_version, max_version, p_now_ms => now_ms);
            EXIT WHEN got IS NULL;
            fetched := fetched OR got = instance;
        END LOOP;
        RAISE EXCEPTION SQLSTATE 'UNDO0';
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
        NULL;
    END;
    IF fetched = explained THEN
        RETURN QUERY SELECT 'explained: ' || explained, 'fetched: ' || fetched, NULL::bigint;
    END IF;
END $$;
CREATE PROCEDURE pg_temp.ack(token text, now_ms bigint, metadata jsonb DEFAULT '{}', work jsonb DEFAULT '[]', send jsonb DEFAULT '[]') LANGUAGE sql AS $$
    SELECT mgmt_explain.ack_orchestration_item(token, 1, '[]', work, send, '{"orchestration_name":"O","orchestration_version":"1"}'::jsonb || metadata, p_now_ms => now_ms)
$$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$
    TRUNCATE mgmt_explain.orchestrator_queue, mgmt_explain.worker_queue, mgmt_explain.instances, mgmt_explain.executions, mgmt_explain.history_turns, mgmt_explain.instance_locks, mgmt_explain.dead_letters
$$;

-- no_messages: nothing there at all, not even an instance row.
SELECT * FROM pg_temp.why('x', 1000);
-- No row: fetchable. So is an instance without a row: its start is there.
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
SELECT * FROM pg_temp.why('x', 1000);
-- not_visible: all hidden; until the earliest is due.
SELECT * FROM pg_temp.why('x', 999);
SELECT mgmt_explain.raise_event('x', 'later', '', false, 5000), mgmt_explain.raise_event('x', 'still later', '', false, 6000);
SELECT * FROM pg_temp.why('x', 999);
-- locked: until the deadline, to the very ms (CL-1).
SELECT lock_token AS token FROM mgmt_explain.fetch_orchestration_item(500, p_now_ms => 1000) \gset
SELECT * FROM pg_temp.why('x', 1000);
SELECT * FROM pg_temp.why('x', 1499);
SELECT * FROM pg_temp.why('x', 1500);
SELECT mgmt_explain.renew_orchestration_item_lock(:'token', 700, p_now_ms => 1000);
SELECT * FROM pg_temp.why('x', 1500);
-- What it waits for: activities by state, and children that are not finished: one that runs, one that runs without an execution row, none that has completed, none of another instance.
CALL pg_temp.ack(:'token', 1000, '{}', '[{"ActivityExecute":{"instance":"x","execution_id":1,"id":1}}, {"ActivityExecute":{"instance":"x","execution_id":1,"id":2}}, {"ActivityExecute":{"instance":"x","execution_id":1,"id":3}}, {"ActivityExecute":{"instance":"x","execution_id":1,"id":4}}, {"ActivityExecute":{"instance":"x","execution_id":1,"id":5}}, {"ActivityExecute":{"instance":"x","execution_id":1,"id":6}}, {"ActivityExecute":{"instance":"y","execution_id":1,"id":1}}]');
SELECT * FROM pg_temp.why('x', 1000);
DELETE FROM mgmt_explain.orchestrator_queue;
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.abandon_work_item(lock_token, 500, p_now_ms => 1000) FROM mgmt_explain.fetch_work_item(1000, p_now_ms => 1000);
SELECT count(*) FROM mgmt_explain.fetch_work_items(1000, p_max_items => 2, p_now_ms => 1000);
INSERT INTO mgmt_explain.instances SELECT i, 'O', '1', 1, p, NULL, 0, now(), now() FROM (VALUES ('c1', 'x'), ('c2', 'x'), ('c3', 'x'), ('c4', 'y'), ('c5', 'c1')) AS v (i, p);
INSERT INTO mgmt_explain.executions VALUES ('c1', 1, 'Running', NULL, now(), NULL), ('c3', 1, 'Completed', NULL, now(), now());
SELECT * FROM pg_temp.why('x', 1000);
-- ... each at its time: the delayed one becomes ready, the leases end.
SELECT detail FROM pg_temp.why('x', 1500);
SELECT detail FROM pg_temp.why('x', 2000);
-- A terminal instance still gets its messages (FO-11).
SELECT mgmt_explain.raise_event('c3', 'e', '', false, 1000);
SELECT * FROM pg_temp.why('c3', 1000);
CALL pg_temp.clear();

-- version_filter: the pin does not pass; the detail has it. Both ends are in; no filter, or no pin, passes.
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
SELECT * FROM pg_temp.why('x', 1000, 0, 1);
SELECT lock_token AS token FROM mgmt_explain.fetch_orchestration_item(500, p_now_ms => 1000) \gset
CALL pg_temp.ack(:'token', 1000, '{"pinned_duroxide_version":{"major":1,"minor":2000,"patch":3}}');
SELECT mgmt_explain.raise_event('x', 'e', '', false, 1000);
SELECT * FROM pg_temp.why('x', 1000, 1000000, 1999003);
SELECT * FROM pg_temp.why('x', 1000, 2000000);
SELECT * FROM pg_temp.why('x', 1000, NULL, 1999999);
SELECT * FROM pg_temp.why('x', 1000, NULL, 2000000);
SELECT * FROM pg_temp.why('x', 1000, 1000000);
SELECT * FROM pg_temp.why('x', 1000);
-- CF-2: the empty filter admits no instance, pinned or not.
SELECT * FROM pg_temp.why('x', 1000, 2, 1);
SELECT mgmt_explain.start_orchestration('O', '', 'unpinned', '1', 0, 1000);
SELECT * FROM pg_temp.why('unpinned', 1000, 2, 1);
CALL pg_temp.clear();

-- start_hidden: C5; until the start is visible.
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 500, 1000), mgmt_explain.cancel_instance('x', '', 1000), mgmt_explain.raise_event('x', 'q', '', true, 1000), mgmt_explain.raise_event('x', 'late', '', false, 1100);
SELECT * FROM pg_temp.why('x', 1000);
SELECT * FROM pg_temp.why('x', 1499);
SELECT * FROM pg_temp.why('x', 1500);
-- A hidden ContinueAsNew is a start too. FO-18: with history, or a row, the others are delivered meanwhile.
CALL pg_temp.clear();
SELECT mgmt_explain.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"x","orchestration":"O"}}', to_timestamp(2)), mgmt_explain.cancel_instance('x', '', 1000);
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.append_history('x', 1, '[{"event_id":1,"event_data":"{}"}]');
SELECT * FROM pg_temp.why('x', 1000);
CALL pg_temp.clear();

-- never_started: OR-2; until the oldest is moved to dead_letters (OR-4, orphan_retention, a day unless set), before and after a fetch has set them aside.
SELECT mgmt_explain.cancel_instance('x', '', 1000), mgmt_explain.raise_event('x', 'q', '', true, 900);
SELECT * FROM pg_temp.why('x', 2000);
SELECT count(*) FROM mgmt_explain.fetch_orchestration_item(1000, p_now_ms => 2000);
SELECT * FROM pg_temp.why('x', 2000);
SELECT belay.set_hub_option('mgmt_explain', 'orphan_retention', '5 s');
SELECT * FROM pg_temp.why('x', 2000);
-- The start ends it.
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 2000);
SELECT * FROM pg_temp.why('x', 2000);
SELECT belay.set_hub_option('mgmt_explain', 'orphan_retention', NULL);
CALL pg_temp.clear();
-- OR-1: queue messages alone are dropped by the next fetch.
SELECT mgmt_explain.raise_event('x', 'q', '', true, 900);
SELECT * FROM pg_temp.why('x', 2000);
CALL pg_temp.clear();

-- dead_lettered (PO-8): its items in dead_letters, counted by reason; those of others do not count. They block nothing: an instance that can be fetched has no row.
INSERT INTO mgmt_explain.dead_letters SELECT 1000 + n, 'orchestrator', n, CASE WHEN n < 4 THEN 'x' ELSE 'y' END, NULL, NULL, NULL, NULL, '{"CancelInstance":{"instance":"x"}}', 3, CASE WHEN n = 1 THEN 'orphan' ELSE 'max_attempts' END, NULL, now(), now() FROM generate_series(1, 5) AS n;
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
SELECT * FROM pg_temp.why('x', 1000);
CALL pg_temp.clear();
-- A message that was leased too often will be set aside by the next fetch: it cannot be fetched either (PO-5). With another beside it the rest is delivered (PO-6).
SELECT belay.set_hub_option('mgmt_explain', 'max_attempts', '2');
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
UPDATE mgmt_explain.orchestrator_queue SET attempt_count = 1;
SELECT * FROM pg_temp.why('x', 1000);
UPDATE mgmt_explain.orchestrator_queue SET attempt_count = 2;
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.cancel_instance('x', '', 1000);
SELECT * FROM pg_temp.why('x', 1000);
SELECT belay.set_hub_option('mgmt_explain', 'max_attempts', NULL);
CALL pg_temp.clear();

-- paused: the orchestrator queue, or all of the hub; not by a pause of the workers.
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
SELECT mgmt_explain.pause_hub('worker');
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.pause_hub('orchestrator', 'stock-taking');
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.resume_hub('orchestrator');
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.pause_hub();
SELECT * FROM pg_temp.why('x', 1000);
SELECT mgmt_explain.resume_hub();
CALL pg_temp.clear();

-- Several at once, a row each.
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
SELECT lock_token AS token FROM mgmt_explain.fetch_orchestration_item(500, p_now_ms => 1000) \gset
CALL pg_temp.ack(:'token', 1000, '{"pinned_duroxide_version":{"major":1,"minor":0,"patch":0}}');
SELECT mgmt_explain.raise_event('x', 'e', '', false, 1000);
SELECT lock_token AS token FROM mgmt_explain.fetch_orchestration_item(500, p_now_ms => 1000) \gset
INSERT INTO mgmt_explain.dead_letters SELECT 1, 'worker', 1, 'x', NULL, NULL, NULL, NULL, '{"ActivityExecute":{}}', 3, 'max_attempts', NULL, now(), now();
SELECT mgmt_explain.pause_hub();
SELECT * FROM pg_temp.why('x', 1200, 0, 5) ORDER BY reason COLLATE "C";
UPDATE mgmt_explain.orchestrator_queue SET visible_at = to_timestamp(7);
SELECT * FROM pg_temp.why('x', 1200, 0, 5) ORDER BY reason COLLATE "C";
SELECT mgmt_explain.resume_hub();

-- Read-only, and it leaves no lock: neither on keys nor on rows, not even until the end of the transaction.
BEGIN READ ONLY;
SELECT count(*) FROM mgmt_explain.explain_fetch('x', p_now_ms => 1200), generate_series(1, 100);
SELECT count(*) FROM generate_series(1, 100) AS n, LATERAL mgmt_explain.explain_fetch('x' || n, p_now_ms => 1200);
SELECT locktype, count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND (locktype IN ('advisory', 'tuple', 'transactionid') OR mode NOT IN ('AccessShareLock', 'ExclusiveLock')) GROUP BY 1;
SELECT mgmt_explain.explain_fetch('x', 0, 5, p_now_ms => 1200) IS NULL AS writes, pg_current_xact_id_if_assigned() IS NOT NULL AS has_xid LIMIT 1;
COMMIT;
-- What the own transaction holds is not another's: its fetch shows as the lock that it is, and is still its own afterwards.
CALL pg_temp.clear();
SELECT mgmt_explain.start_orchestration('O', '', 'x', '1', 0, 1000);
BEGIN;
SELECT lock_token AS token FROM mgmt_explain.fetch_orchestration_item(500, p_now_ms => 1000) \gset
SELECT count(*) > 0 AS keys_held FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' \gset
SELECT reason FROM mgmt_explain.explain_fetch('x', p_now_ms => 1000);
SELECT reason FROM mgmt_explain.explain_fetch('x', p_now_ms => 1500);
SELECT (count(*) > 0) = :'keys_held'::boolean AS keys_kept FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
ROLLBACK;

-- Without a clock of the caller, the server's. QB006: no instance. QB007: a wrong clock.
SELECT count(*) FROM mgmt_explain.explain_fetch('x');
SELECT test.error('SELECT mgmt_explain.explain_fetch(NULL)');
SELECT test.sqlstate('SELECT mgmt_explain.explain_fetch(''x'', p_now_ms => -1)');
SELECT belay.set_hub_option('mgmt_explain', 'max_clock_skew', NULL);
SELECT test.sqlstate('SELECT mgmt_explain.explain_fetch(''x'', p_now_ms => 1000)');

-- Started, and no dispatcher has picked it up: view pending_starts.
SELECT belay.set_hub_option('mgmt_explain', 'max_clock_skew', '0');
SELECT mgmt_explain.start_orchestration('Bill', '', p_instance_id => 'unborn', p_now_ms => 1000);
SELECT mgmt_explain.start_orchestration('Bill', '', p_instance_id => 'later', p_version => '1.2.3', p_delay_ms => 500, p_now_ms => 1000);
SELECT mgmt_explain.raise_event('orphan', 'e', '', p_now_ms => 1000);
SELECT instance_id, orchestration_name, orchestration_version, (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms, attempt_count
  FROM mgmt_explain.pending_starts WHERE instance_id IN ('unborn', 'later', 'orphan') ORDER BY instance_id;

-- BR-10: what an instance waits for: activities by worker and time, timers, children that run, events that it subscribed to.
CALL pg_temp.clear();
SELECT mgmt_explain.start_orchestration('O', '', 'w', '1', 0, 1000);
SELECT lock_token AS token FROM mgmt_explain.fetch_orchestration_item(500, p_now_ms => 1000) \gset
SELECT mgmt_explain.ack_orchestration_item(:'token', 1, '[{"event_id":1,"event_type":"ExternalSubscribed","event_data":"{\"name\":\"go\"}"}, {"event_id":2,"event_type":"ExternalSubscribed","event_data":"{\"name\":\"stop\"}"}, {"event_id":3,"event_type":"ExternalSubscribed","event_data":"{\"name\":\"go\"}"}, {"event_id":4,"event_type":"ExternalSubscribedPersistent","event_data":"{\"name\":\"mail\"}"}, {"event_id":5,"event_type":"ExternalEvent","event_data":"{\"name\":\"go\"}"}, {"event_id":6,"event_type":"ExternalSubscribedCancelled","event_data":"{\"source_event_id\":2}"}]',
    '[{"ActivityExecute":{"instance":"w","execution_id":1,"id":7,"name":"Charge"}}, {"ActivityExecute":{"instance":"w","execution_id":1,"id":8,"name":"Ship"}}, {"ActivityExecute":{"instance":"w","execution_id":1,"id":9}}]', '[{"TimerFired":{"instance":"w","execution_id":1,"id":10,"fire_at_ms":9000}}]', '{"orchestration_name":"O","orchestration_version":"1"}', p_now_ms => 1000);
SELECT mgmt_explain.raise_event('w', 'later', '', false, 5000);
INSERT INTO mgmt_explain.instances SELECT i, 'O', '1', 1, 'w', NULL, 0, now(), now() FROM unnest('{w-1,w-2,w-3}'::text[]) AS i;
INSERT INTO mgmt_explain.executions VALUES ('w-2', 1, 'Completed', NULL, now(), now());
SELECT attempt_count FROM mgmt_explain.fetch_work_item(500, 'w-18', p_now_ms => 1000);
SELECT mgmt_explain.abandon_work_item(lock_token, 700, p_now_ms => 1000) FROM mgmt_explain.fetch_work_item(500, p_now_ms => 1000);
SELECT reason, detail, (extract(epoch FROM until_at) * 1000)::bigint AS until_ms FROM mgmt_explain.explain_waits('w', p_now_ms => 1000);
SELECT reason, count(*) FROM mgmt_explain.explain_waits('w', 1, 1000) GROUP BY reason ORDER BY reason;
SELECT * FROM mgmt_explain.explain_waits('nobody', p_now_ms => 1000);
SELECT test.refused($$SELECT * FROM mgmt_explain.explain_waits('w', 1001)$$), test.refused($$SELECT * FROM mgmt_explain.explain_waits(NULL)$$);

SELECT belay.drop_hub('mgmt_explain', true);
