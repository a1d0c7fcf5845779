-- A worked example. `make demo` runs it on a throw-away server; psql -X -q -f docs/demo.sql runs it
-- in a database of your own, as a superuser. Each statement is shown before its result.
\set QUIET on
\set ON_ERROR_STOP on
\pset footer off
\pset null '-'
\pset pager off
SET client_min_messages = warning;

-- Runs a statement that has to fail, and shows the error as a row.
CREATE FUNCTION pg_temp.expect_error(statement text)
    RETURNS TABLE (code text, message text, detail text, hint text)
    LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
            detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        RETURN NEXT;
        RETURN;
    END;
    RAISE EXCEPTION 'no error from: %', statement;
END $$;

-- Stops the demo if something is not as the text says.
CREATE FUNCTION pg_temp.expect(fact boolean, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF fact IS NOT TRUE THEN
        RAISE EXCEPTION 'the demo expected: %', what;
    END IF;
END $$;

\echo
\echo '== 1. A hub ==============================================================='
\echo 'A hub is a schema with its own queues and functions.'
\echo
\set ECHO queries
CREATE EXTENSION belay;
SELECT belay.create_hub('demo') \g /dev/null
SELECT name, owner, api, version, is_current, paused FROM belay.hubs;
\set ECHO none

\echo '== 2. Enqueue ============================================================='
\echo 'A work item is one JSON object with one key, its kind. belay reads instance,'
\echo 'execution_id, id, session_id and tag inside it; all else is yours.'
\echo
\set ECHO queries
SELECT demo.enqueue_worker_work('{"ActivityExecute": {"instance": "order-1", "execution_id": 1, "id": 1,
    "name": "ChargeCard", "input": "42.00"}}') \g /dev/null
SELECT demo.enqueue_worker_items('[
    {"work_item": {"ActivityExecute": {"instance": "order-2", "execution_id": 1, "id": 1, "name": "ChargeCard"}}},
    {"work_item": {"ActivityExecute": {"instance": "order-3", "execution_id": 1, "id": 1, "name": "ChargeCard"}}}
  ]') AS enqueued;
SELECT id, state, instance_id, activity_id, attempt_count FROM demo.list_work_items();
\set ECHO none

\echo '== 3. Fetch under a lease ================================================='
\echo 'A row means that you hold a lease, here for 30 s. NULL is the server clock.'
\echo 'A second worker skips the leased item and gets the next one.'
\echo
\set ECHO queries
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-a') \gset a_
\set ECHO none
SELECT :'a_out_work_item' AS "worker-a has", :a_out_attempt_count AS attempt;
\set ECHO queries
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-b') \gset b_
\set ECHO none
SELECT :'b_out_work_item' AS "worker-b has", :b_out_attempt_count AS attempt;
SELECT pg_temp.expect(:'a_out_work_item' LIKE '%order-1%' AND :'b_out_work_item' LIKE '%order-2%',
                      'two workers get two items, in order') \g /dev/null
\set ECHO queries
SELECT id, state, instance_id, locked_by, attempt_count FROM demo.list_work_items();
\set ECHO none

\echo '== 4. Renew ==============================================================='
\echo 'Long work keeps its lease by moving the deadline. Many leases go in one call.'
\echo
\set ECHO queries
SELECT demo.renew_work_item_lock(:'a_out_lock_token', NULL, 60000) \g /dev/null
SELECT out_index, out_renewed, out_error
  FROM demo.renew_work_item_locks(ARRAY[:'a_out_lock_token', 'not a token'], NULL, 60000);
\set ECHO none

\echo '== 5. Ack ================================================================='
\echo 'The ack deletes the item and sends its completion to the orchestrator queue,'
\echo 'both or neither. (The turns that will read this queue are not built yet.)'
\echo
\set ECHO queries
SELECT demo.ack_worker(:'a_out_lock_token', 'order-1',
    '{"ActivityCompleted": {"instance": "order-1", "execution_id": 1, "id": 1, "result": "paid"}}') \g /dev/null
SELECT id, instance_id, work_item FROM demo.orchestrator_queue;
\set ECHO none

\echo '== 6. In your transaction ================================================='
\echo 'Calls take part in the transaction around them: the write of the application'
\echo 'and the ack commit together, or not at all.'
\echo
\set ECHO queries
CREATE TEMP TABLE payments (order_id text, amount numeric);
BEGIN;
INSERT INTO payments VALUES ('order-2', 17.50);
SELECT demo.ack_worker(:'b_out_lock_token') \g /dev/null
ROLLBACK;
SELECT (SELECT count(*) FROM payments) AS payments, state, instance_id, locked_by
  FROM demo.list_work_items('{"instance_id": "order-2"}');
BEGIN;
INSERT INTO payments VALUES ('order-2', 17.50);
SELECT demo.ack_worker(:'b_out_lock_token') \g /dev/null
COMMIT;
SELECT (SELECT count(*) FROM payments) AS payments,
       (SELECT count(*) FROM demo.list_work_items('{"instance_id": "order-2"}')) AS items_left;
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) FROM payments) = 1, 'one payment') \g /dev/null

\echo '== 7. A lost lease is refused ============================================='
\echo 'worker-a takes order-3 for 50 ms and falls asleep. worker-b gets the item'
\echo 'again, as attempt 2. When worker-a wakes up, its ack is fenced off.'
\echo
\set ECHO queries
SELECT * FROM demo.fetch_work_item(NULL, 50, 'worker-a') \gset a_
SELECT pg_sleep(0.1) \g /dev/null
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-b') \gset b_
\set ECHO none
SELECT pg_temp.expect(:b_out_attempt_count = 2, 'the second attempt') \g /dev/null
\pset expanded on
\set ECHO queries
SELECT * FROM pg_temp.expect_error(format('SELECT demo.ack_worker(%L)', :'a_out_lock_token'));
\set ECHO none
\pset expanded off

\echo '== 8. Cancel steals the lock =============================================='
\echo 'An operator cancels by identity, leased or not. The worker learns it from its'
\echo 'next renewal or ack: QB001 means stop.'
\echo
\set ECHO queries
SELECT demo.cancel_activities('[{"instance": "order-3", "execution_id": 1, "activity_id": 1}]') AS cancelled;
\set ECHO none
\pset expanded on
\set ECHO queries
SELECT * FROM pg_temp.expect_error(format('SELECT demo.renew_work_item_lock(%L, NULL, 30000)', :'b_out_lock_token'));
\set ECHO none
\pset expanded off

\echo '== 9. Retry later ========================================================='
\echo 'A worker that cannot do it now gives the item back, to be tried in a second.'
\echo
\set ECHO queries
SELECT demo.enqueue_worker_work('{"ActivityExecute": {"instance": "order-4", "execution_id": 1, "id": 1,
    "name": "SendMail"}}') \g /dev/null
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-a') \gset a_
SELECT demo.abandon_work_item(:'a_out_lock_token', NULL, 1000) \g /dev/null
SELECT instance_id, state, attempt_count FROM demo.list_work_items();
SELECT count(*) AS fetched_at_once FROM demo.fetch_work_item(NULL, 30000);
SELECT pg_sleep(1.1) \g /dev/null
SELECT out_attempt_count AS attempt_after_the_delay FROM demo.fetch_work_item(NULL, 50);
\set ECHO none

\echo '== 10. Poison goes to the dead letters ===================================='
\echo 'order-4 has now been leased twice, and its worker is gone. With max_attempts'
\echo 'the next fetch sets the item aside, and tells its orchestration.'
\echo
\set ECHO queries
SELECT belay.set_hub_option('demo', 'max_attempts', '2') \g /dev/null
SELECT pg_sleep(0.1) \g /dev/null
SELECT count(*) AS fetched FROM demo.fetch_work_item(NULL, 30000);
SELECT id, queue, reason, instance_id, attempt_count FROM demo.list_dead_letters();
SELECT jsonb_pretty(work_item::jsonb #> '{ActivityFailed,details,Poison}' #- '{message}') AS "what order-4 is told"
  FROM demo.orchestrator_queue WHERE instance_id = 'order-4';
\set ECHO none
\echo 'The cause is mended: put it back, with its attempts at 0.'
\echo
\set ECHO queries
SELECT demo.redrive_dead_letters('{"reason": "max_attempts"}') AS put_back;
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-a') \gset a_
SELECT demo.ack_worker(:'a_out_lock_token') \g /dev/null
SELECT belay.set_hub_option('demo', 'max_attempts', NULL) \g /dev/null
\set ECHO none
SELECT pg_temp.expect(:a_out_attempt_count = 1, 'attempts begin anew') \g /dev/null

\echo
\echo '== 11. Tags route ========================================================='
\echo 'A tagged item goes only to workers that serve the tag.'
\echo
\set ECHO queries
SELECT demo.enqueue_worker_work('{"ActivityExecute": {"instance": "order-5", "execution_id": 1, "id": 1,
    "name": "RenderInvoice", "tag": "gpu"}}') \g /dev/null
SELECT count(*) AS untagged_worker FROM demo.fetch_work_item(NULL, 30000);
SELECT * FROM demo.fetch_work_item(NULL, 30000, p_tag_filter => ARRAY['gpu'], p_tag_mode => 'tags') \gset a_
\set ECHO none
SELECT :'a_out_work_item' AS "the gpu worker has";
\set ECHO queries
SELECT demo.ack_worker(:'a_out_lock_token') \g /dev/null
\set ECHO none
SELECT pg_temp.expect(:'a_out_work_item' LIKE '%gpu%', 'the tagged item') \g /dev/null

\echo
\echo '== 12. Sessions pin ======================================================='
\echo 'Items of one session go to one owner: whoever takes the first has the others.'
\echo
\set ECHO queries
SELECT demo.enqueue_worker_items('[
    {"work_item": {"ActivityExecute": {"instance": "chat-1", "execution_id": 1, "id": 1, "name": "Reply"}}, "session_id": "chat"},
    {"work_item": {"ActivityExecute": {"instance": "chat-1", "execution_id": 1, "id": 2, "name": "Reply"}}, "session_id": "chat"}
  ]') AS enqueued;
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-a') \gset a_
SELECT count(*) AS "for worker-b" FROM demo.fetch_work_item(NULL, 30000, 'worker-b');
\set ECHO none
\echo 'worker-a finishes the first and takes the second in one call.'
\echo
\set ECHO queries
SELECT * FROM demo.ack_and_fetch_work_item(:'a_out_lock_token', NULL, NULL, NULL, 30000, 'worker-a') \gset a_
SELECT session_id, worker_id FROM demo.sessions;
\set ECHO none
SELECT pg_temp.expect(:'a_out_work_item' LIKE '%"id": 2%', 'the second item of the session') \g /dev/null

\echo '== 13. Pause and resume ==================================================='
\echo 'A paused queue hands out nothing; work that runs can still finish.'
\echo
\set ECHO queries
SELECT demo.pause_hub('worker', 'maintenance') \g /dev/null
SELECT demo.enqueue_worker_work('{"ActivityExecute": {"instance": "order-6", "execution_id": 1, "id": 1,
    "name": "ChargeCard"}}') \g /dev/null
SELECT count(*) AS fetched_while_paused FROM demo.fetch_work_item(NULL, 30000);
SELECT demo.ack_worker(:'a_out_lock_token') \g /dev/null
SELECT name, paused, paused_queues FROM belay.hubs;
SELECT demo.resume_hub('worker') \g /dev/null
\set ECHO none

\echo
\echo '== 14. Rights ============================================================='
\echo 'A level is a set of functions. Nobody but the owner touches the tables.'
\echo
\set ECHO queries
CREATE ROLE belay_demo_worker;
SELECT belay.grant_hub('demo', 'belay_demo_worker', 'worker') \g /dev/null
SET ROLE belay_demo_worker;
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-c') \gset c_
SELECT demo.ack_worker(:'c_out_lock_token') \g /dev/null
SELECT code, message FROM pg_temp.expect_error('SELECT * FROM demo.worker_queue');
SELECT code, message FROM pg_temp.expect_error('SELECT demo.pause_hub()');
RESET ROLE;
SELECT belay.revoke_hub('demo', 'belay_demo_worker', 'worker') \g /dev/null
\set ECHO none
DROP ROLE belay_demo_worker;

\echo
\echo '== 15. The hub at the end ================================================='
\echo 'check_hub has nothing to say about a healthy hub.'
\echo
\set ECHO queries
SELECT count(*) AS problems FROM belay.check_hub('demo');
SELECT (SELECT count(*) FROM demo.worker_queue) AS work_items,
       (SELECT count(*) FROM demo.orchestrator_queue) AS messages,
       (SELECT count(*) FROM demo.dead_letters) AS dead_letters;
SELECT name, owner, version, is_current, paused, pg_size_pretty(size_bytes) AS size FROM belay.hubs;
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) FROM demo.worker_queue) = 0, 'an empty worker queue') \g /dev/null

\echo 'Done. The hub "demo" is still there; belay.drop_hub(''demo'') removes it.'
\echo
