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

-- An event for the history delta of an ack: its id, and its JSON as text.
CREATE FUNCTION pg_temp.event(id bigint, type text, fields jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('event_id', id, 'event_type', type,
                              'event_data', (jsonb_build_object('event_id', id, 'type', type) || fields)::text)
$$;

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
\echo 'both or neither. There it waits for a turn of its instance: see part 18.'
\echo
\set ECHO queries
SELECT demo.ack_worker(:'a_out_lock_token', 'order-1',
    '{"ActivityCompleted": {"instance": "order-1", "execution_id": 1, "id": 1, "result": "paid"}}') \g /dev/null
SELECT id, instance_id, work_item FROM demo.messages;
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
  FROM demo.messages WHERE instance_id = 'order-4';
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
\echo '== 15. An orchestration: the first turn ==================================='
\echo 'An orchestration is a program that runs in short turns. A turn gets messages'
\echo 'and the history so far, and answers with new events and new work. belay keeps'
\echo 'the history and hands out the turns; the program is yours, in any language.'
\echo 'Here psql plays dispatcher and worker.'
\echo
\set ECHO queries
SELECT demo.start_orchestration('ShipOrder', '{"order": 7}', 'order-7');
SELECT * FROM demo.fetch_orchestration_item(NULL, 30000) \gset t_
\set ECHO none
SELECT :'t_out_instance_id' AS instance, :'t_out_orchestration_name' AS name, :t_out_execution_id AS execution,
       :'t_out_history' AS history;
SELECT :'t_out_messages' AS messages;
SELECT pg_temp.expect(:'t_out_instance_id' = 'order-7', 'the turn of order-7') \g /dev/null
\echo 'order-1 and order-4 have messages too, from the acks above, but no instance of'
\echo 'these names was ever started: their messages were set aside and wait for a start.'
\echo
\set ECHO queries
SELECT instance_id, kind, parked FROM demo.orchestrator_queue ORDER BY id;
\set ECHO none
\echo 'The answer of turn 1: charge the card, pack the parcel, and give up after 20 s.'
\echo 'Two activities go to the worker queue; the timer is a message to oneself, in the'
\echo 'future. All of it commits in one call, or nothing does and the turn is still held.'
\echo
\set ECHO queries
SELECT demo.ack_orchestration_item(:'t_out_lock_token', NULL, 1,
    jsonb_build_array(
        pg_temp.event(1, 'OrchestrationStarted', '{"name": "ShipOrder", "version": "1.0.0"}'),
        pg_temp.event(2, 'ActivityScheduled', '{"name": "ChargeCard"}'),
        pg_temp.event(3, 'ActivityScheduled', '{"name": "PackParcel"}'),
        pg_temp.event(4, 'TimerCreated', '{}')),
    '[{"ActivityExecute": {"instance": "order-7", "execution_id": 1, "id": 2, "name": "ChargeCard"}},
      {"ActivityExecute": {"instance": "order-7", "execution_id": 1, "id": 3, "name": "PackParcel"}}]',
    jsonb_build_array(jsonb_build_object('TimerFired', jsonb_build_object('instance', 'order-7',
        'execution_id', 1, 'id', 4, 'fire_at_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 20000))),
    '{"orchestration_name": "ShipOrder", "orchestration_version": "1.0.0"}') \g /dev/null
SELECT instance_id, activity_id, state FROM demo.list_work_items();
SELECT count(*) AS turns_to_do FROM demo.fetch_orchestration_item(NULL, 30000);
\set ECHO none
\echo 'The timer has not fired yet, so there is no turn to do.'
\echo

\echo '== 16. The second turn: a completion ======================================'
\echo 'worker-a charges the card. worker-b packs, and packs, and packs.'
\echo
\set ECHO queries
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-a') \gset a_
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-b') \gset b_
SELECT demo.ack_worker(:'a_out_lock_token', 'order-7',
    '{"ActivityCompleted": {"instance": "order-7", "execution_id": 1, "id": 2, "result": "paid"}}') \g /dev/null
SELECT * FROM demo.fetch_orchestration_item(NULL, 30000) \gset t_
\set ECHO none
SELECT json_array_length(:'t_out_history') AS events_so_far, :'t_out_messages' AS messages;
SELECT pg_temp.expect(:'b_out_work_item' LIKE '%PackParcel%' AND :'t_out_messages' LIKE '%paid%',
                      'a turn with the completion') \g /dev/null
\echo 'Turn 2 notes the payment, and tells whoever watches how far it is.'
\echo
\set ECHO queries
SELECT demo.ack_orchestration_item(:'t_out_lock_token', NULL, 1,
    jsonb_build_array(pg_temp.event(5, 'ActivityCompleted', '{"source_event_id": 2, "result": "paid"}')),
    '[]', '[]',
    '{"custom_status_action": "set", "custom_status_value": "paid",
      "kv_mutations": [{"action": "set", "key": "charge", "value": "ch_42"}]}') \g /dev/null
SELECT * FROM demo.get_custom_status('order-7', 0);
SELECT * FROM demo.get_kv_value('order-7', 'charge');
\set ECHO none

\echo '== 17. The third turn: the timer, and a cancelled activity ================'
\echo 'A caller may bring a clock of its own, up to max_clock_skew away from the server.'
\echo 'This dispatcher lives 25 s ahead, so that nobody has to wait: the timer fires. The'
\echo 'orchestration gives up on the parcel and names the activity in'
\echo 'p_cancelled_activities: its row is deleted in one unit with the turn.'
\echo
\set ECHO queries
SELECT * FROM demo.fetch_orchestration_item((extract(epoch FROM clock_timestamp()) * 1000)::bigint + 25000, 30000) \gset t_
\set ECHO none
SELECT json_array_length(:'t_out_history') AS events_so_far,
       (SELECT string_agg(k, ', ') FROM json_array_elements(:'t_out_messages') AS m, json_object_keys(m) AS k) AS messages;
SELECT pg_temp.expect(:'t_out_messages' LIKE '%TimerFired%', 'the timer') \g /dev/null
\set ECHO queries
SELECT demo.ack_orchestration_item(:'t_out_lock_token', NULL, 1,
    jsonb_build_array(
        pg_temp.event(6, 'TimerFired', '{"source_event_id": 4}'),
        pg_temp.event(7, 'OrchestrationFailed', '{"reason": "nobody packed the parcel"}')),
    '[]', '[]',
    '{"status": "Failed", "output": "nobody packed the parcel"}',
    '[{"instance": "order-7", "execution_id": 1, "activity_id": 3}]') \g /dev/null
\set ECHO none
\echo 'worker-b learns it from its next call: QB001, the item is gone.'
\echo
\pset expanded on
\set ECHO queries
SELECT * FROM pg_temp.expect_error(format('SELECT demo.ack_worker(%L)', :'b_out_lock_token'));
\set ECHO none
\pset expanded off
\set ECHO queries
SELECT event_id, event_type FROM demo.read_history('order-7');
SELECT status, output, completed_at IS NOT NULL AS ended FROM demo.executions WHERE instance_id = 'order-7';
SELECT count(*) AS activities_left FROM demo.list_work_items('{"instance_id": "order-7"}');
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) FROM demo.list_work_items()) = 0, 'no activity is left') \g /dev/null
SELECT pg_temp.expect((SELECT status FROM demo.executions) = 'Failed', 'the orchestration ended') \g /dev/null

\echo '== 18. A message that came too early ======================================'
\echo 'The completion of part 5 waited for order-1 to start. Its first turn gets it.'
\echo
\set ECHO queries
SELECT demo.start_orchestration('ShipOrder', '', 'order-1') \g /dev/null
SELECT * FROM demo.fetch_orchestration_item(NULL, 30000) \gset t_
\set ECHO none
SELECT string_agg(k, ', ') AS "messages of order-1"
  FROM json_array_elements(:'t_out_messages') AS m, json_object_keys(m) AS k;
SELECT pg_temp.expect(:'t_out_messages' LIKE '%ActivityCompleted%StartOrchestration%', 'both messages') \g /dev/null
\echo 'A dispatcher that cannot do a turn gives it back.'
\echo
\set ECHO queries
SELECT demo.abandon_orchestration_item(:'t_out_lock_token', NULL);
\set ECHO none

\echo
\echo '== 19. Waiting for work ==================================================='
\echo 'A worker without work sleeps, holding nothing, until there may be some. Nothing'
\echo 'comes within 100 ms; then an item comes that is due in a second, and wakes it then.'
\echo
-- The first wait returns at once: much has happened since the first empty fetch of this session.
CALL demo.wait_for_work(ARRAY['worker'], 0) \g /dev/null
\set ECHO queries
SELECT count(*) AS fetched FROM demo.fetch_work_item(NULL, 30000, 'worker-a');
CALL demo.wait_for_work(ARRAY['worker'], 100);
SELECT demo.enqueue_worker_items('[{"delay_ms": 1000, "work_item": {"ActivityExecute":
    {"instance": "order-8", "execution_id": 1, "id": 1, "name": "SendMail"}}}]') AS enqueued;
SELECT count(*) AS fetched FROM demo.fetch_work_item(NULL, 30000, 'worker-a');
CALL demo.wait_for_work(ARRAY['worker', 'owner:worker-a'], 30000);
SELECT * FROM demo.fetch_work_item(NULL, 30000, 'worker-a') \gset a_
SELECT demo.ack_worker(:'a_out_lock_token') \g /dev/null
\set ECHO none
SELECT pg_temp.expect(:'a_out_work_item' LIKE '%order-8%', 'the delayed item') \g /dev/null

\echo
\echo '== 20. Why does it not move? =============================================='
\echo 'explain_fetch names what keeps an instance from its turn. No row: nothing does.'
\echo 'order-4 has a message from part 10, and was never started; order-7 has ended and'
\echo 'waits for nothing; order-9 starts in an hour.'
\echo
\set ECHO queries
SELECT demo.start_orchestration('ShipOrder', '', 'order-9', p_delay_ms => 3600000) \g /dev/null
SELECT i AS instance, reason, detail, until_at > now() AS later
  FROM unnest(ARRAY['order-1', 'order-4', 'order-7', 'order-9']) AS i LEFT JOIN LATERAL demo.explain_fetch(i) ON true;
\set ECHO none
SELECT pg_temp.expect((SELECT string_agg(coalesce(reason, 'ready'), ' ' ORDER BY i)
    FROM unnest(ARRAY['order-1', 'order-4', 'order-7', 'order-9']) AS i LEFT JOIN LATERAL demo.explain_fetch(i) ON true)
    = 'ready never_started no_messages not_visible', 'four answers') \g /dev/null

\echo '== 21. Lists and deletion ================================================='
\echo 'An instance that has ended stays until it is deleted, by hand or by the hub'
\echo 'option instance_retention. All of it goes: history, state, queues.'
\echo
\set ECHO queries
SELECT instance_id, orchestration_name, status, output FROM demo.list_instances() AS l (id), demo.get_instance_info(l.id);
SELECT * FROM demo.delete_instance('order-7');
SELECT count(*) AS instances FROM demo.list_instances();
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) FROM demo.history) = 0, 'no history is left') \g /dev/null

\echo '== 22. Events ============================================================='
\echo 'The hub has told all along what happened to instances. A subscription reads it in'
\echo 'leased batches and skips nothing, however late a transaction commits.'
\echo
\set ECHO queries
SELECT demo.create_subscription('audit', ARRAY['instance'], 'start');
SELECT type, subject, details ->> 'orchestration_name' AS orchestration FROM demo.read_events('audit', 1000, 60000)
 WHERE subject = 'order-7';
SELECT name, lag_rows > 0 AS unread, lease_until > now() AS leased FROM demo.subscriptions;
\set ECHO none
SELECT pg_temp.expect((SELECT lag_rows > 0 FROM demo.subscriptions), 'events were written') \g /dev/null

\echo '== 23. A task ============================================================='
\echo 'Tasks are jobs that an operator can steer. The lease has an epoch; the revoked'
\echo 'worker is fenced off, and the next one finishes the same attempt.'
\echo
\set ECHO queries
SELECT state, created FROM demo.create_task('mail', '{"to": "ada"}');
SELECT task_id AS task, lease_epoch AS epoch FROM demo.claim_tasks('mailer', 'mailer-1') \gset
SELECT result FROM demo.revoke_lease(:'task', 'host is going down');
SELECT task_id AS task, lease_epoch AS epoch2 FROM demo.claim_tasks('mailer', 'mailer-2') \gset
\set ECHO none
\echo
\echo 'mailer-1 is too late:'
\echo
\set ECHO queries
SELECT code, message, hint FROM pg_temp.expect_error(format('SELECT demo.complete_task(%L, %s)', :'task', :'epoch')) \gx
SELECT result, state FROM demo.complete_task(:'task', :epoch2);
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) = 1 FROM demo.task_states), 'a task') \g /dev/null

\echo '== 24. A flow ============================================================='
\echo 'A graph of tasks in one call. Two ways to get a quote; the first answer is enough,'
\echo 'and the other supplier is told to stop. What waits for them goes on in the same'
\echo 'transaction: no scheduler runs in between.'
\echo
\set ECHO queries
SELECT flow_id AS flow, state FROM demo.create_flow('{"kind": "quote", "tasks": [
    {"key": "north", "lane": "quotes"},
    {"key": "south", "lane": "quotes"},
    {"key": "offer", "lane": "offers", "after": ["north", "south"], "join": {"kind": "any_of"}},
    {"key": "send",  "lane": "offers", "after": ["offer"]}]}') \gset
SELECT lease_epoch AS epoch FROM demo.claim_tasks('buyer', 'buyer-1', ARRAY['quotes'], p_max => 2) WHERE flow_key = 'north' \gset
SELECT result FROM demo.complete_task((SELECT task_id FROM demo.list_tasks(jsonb_build_object('flow_id', :'flow'))
                                        WHERE flow_key = 'north'), :epoch, '{"price": 95}');
SELECT flow_key, state, cancel_reason FROM demo.list_tasks(jsonb_build_object('flow_id', :'flow')) ORDER BY flow_key;
SELECT task_id AS offer, lease_epoch AS epoch, flow_key, jsonb_path_query_first(upstream, '$[*].result ? (@ != null)') AS price
  FROM demo.claim_tasks('seller', 'seller-1', ARRAY['offers']) \gset
\echo :flow_key gets :price
SELECT result FROM demo.complete_task(:'offer', :epoch);
SELECT state, ready, completed, cancelled FROM demo.flow_summary WHERE flow_id = :'flow';
SELECT result, member_count FROM demo.cancel_flow(:'flow', 'the customer called off');
\set ECHO none
SELECT pg_temp.expect((SELECT state = 'cancelled' AND completed = 2 AND cancelled = 2 FROM demo.flow_summary WHERE flow_id = :'flow'), 'a flow') \g /dev/null

\echo '== 25. Statistics ========================================================='
\echo 'Counters of each queue, in shared memory. belay.metrics() has them for exporters.'
\echo
\set ECHO queries
SELECT queue, enqueued, fetched, empty_fetches AS empty, acked, abandoned, renewed, lost_leases AS lost, dead_lettered AS dead
  FROM belay.pg_stat_belay_queue WHERE hub = 'demo';
\set ECHO none

\echo '== 26. The hub at the end ================================================='
\echo 'check_hub has nothing to say about a healthy hub.'
\echo
\set ECHO queries
SELECT count(*) AS problems FROM belay.check_hub('demo');
SELECT (SELECT count(*) FROM demo.worker_queue) AS work_items,
       (SELECT count(*) FROM demo.messages) AS messages,
       (SELECT count(*) FROM demo.instances) AS instances,
       (SELECT count(*) FROM demo.dead_letters) AS dead_letters;
SELECT name, owner, version, is_current, paused, pg_size_pretty(size_bytes) AS size FROM belay.hubs;
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) FROM demo.worker_queue) = 0, 'an empty worker queue') \g /dev/null

\echo 'Done. Not shown: slot leases, fenced transactions, messages to other hubs. The README'
\echo 'has the list.'
\echo 'The hub "demo" is still there; belay.drop_hub(''demo'') removes it.'
\echo
