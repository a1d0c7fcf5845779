-- serial: with preloading, an injected fault strikes whichever session passes first.
-- ER-4: every call is one unit. Each function of a hub that writes is run with its first store call failing, then with its second, and so on,
-- until it succeeds: no failure leaves anything behind, and after each of them the next call works.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_faults');
SELECT belay.set_hub_option('orch_faults', 'max_clock_skew', '0');  -- these tests choose the time

-- The hub that each of them meets. Turn: an instance in the middle of its life, leased until 100000.
SELECT orch_faults.start_orchestration('O', '', 'turn', '1', 0, 1000);
SELECT lock_token AS token FROM orch_faults.fetch_orchestration_item(99000, p_now_ms => 1000) \gset
SELECT orch_faults.ack_orchestration_item(:'token', 1, '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"stored\",\"value\":\"v\"}"}]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1","status":"ContinuedAsNew"}', p_now_ms => 1000);
SELECT orch_faults.enqueue_orchestrator_items('[{"work_item":{"ContinueAsNew":{"instance":"turn","orchestration":"O"}}}, {"work_item":{"QueueMessage":{"instance":"turn"}}}]', 1000);
SELECT lock_token AS token FROM orch_faults.fetch_orchestration_item(99000, p_now_ms => 1000) \gset
INSERT INTO orch_faults.kv_delta VALUES ('turn', 'delta', 'd', 1), ('turn', 'stored', NULL, 1);
-- A parent for it. Before the instance that is ready: one whose messages are dropped (q), one whose messages wait (c), one whose message was leased too often (p).
INSERT INTO orch_faults.instances VALUES ('parent', 'P', '1', 1, NULL, NULL, 0, now(), now());
SELECT belay.set_hub_option('orch_faults', 'max_attempts', '3');
SELECT orch_faults.raise_event('q', 'q', '', true, 1001), orch_faults.cancel_instance('c', '', 1002), orch_faults.start_orchestration('O', '', 'p', '1', 0, 1003);
UPDATE orch_faults.orchestrator_queue SET attempt_count = 3 WHERE instance_id = 'p';
SELECT orch_faults.start_orchestration('O', '', 'ready', '1', 0, 1005), orch_faults.append_history('ready', 1, '[{"event_id":1,"event_data":"{}"}]');
-- One that waits, in the memory of the process me up to its event 1.
SELECT orch_faults.start_orchestration('O', '', 'next', '1', 0, 1000);
SELECT lock_token AS next FROM orch_faults.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT orch_faults.ack_orchestration_item(:'next', 1, '[{"event_id":1,"event_data":"{}"}]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1","cache":{"owner":"me","events":1}}', p_now_ms => 1000);
-- Activities: a session that is over, leased ones of a session, ready ones, two that were leased too often; dead letters of both queues.
SELECT orch_faults.enqueue_worker_work('{"ActivityExecute":{}}', p_session_id => 'over', p_now_ms => 1000);
SELECT orch_faults.ack_worker(lock_token, p_now_ms => 1000) FROM orch_faults.fetch_work_item(10, 'owner', 10, p_now_ms => 1000);
SELECT orch_faults.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('instance', 'turn', 'execution_id', 1, 'id', n, 'session_id', 's')))) FROM generate_series(1, 6) AS n), 1000);
CREATE TEMP TABLE leased AS SELECT lock_token AS token, row_number() OVER () AS nr FROM orch_faults.fetch_work_items(99000, 'owner', 99000, p_max_items => 3, p_now_ms => 1000);
SELECT orch_faults.enqueue_worker_work('{"ActivityExecute":{"instance":"turn","execution_id":1,"id":9}}', p_now_ms => 1000);
UPDATE orch_faults.worker_queue SET attempt_count = 3 WHERE activity_id IN (4, 9);
INSERT INTO orch_faults.dead_letters SELECT 1000 + n, CASE WHEN n % 2 = 0 THEN 'worker' ELSE 'orchestrator' END, n, 'x', 1, 1, NULL, NULL, CASE WHEN n % 2 = 0 THEN '{"ActivityExecute":{}}' ELSE '{"CancelInstance":{"instance":"x"}}' END, 3, 'max_attempts', NULL, now(), now()
  FROM generate_series(1, 4) AS n;
-- For operators: a finished tree with something of everything and a child not yet born; a former execution of an instance that runs; what is old enough for the duties.
INSERT INTO orch_faults.instances VALUES ('root', 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch'), ('leaf', 'O', '1', 1, 'root', NULL, 0, 'epoch', 'epoch'), ('old', 'O', '1', 2, NULL, NULL, 0, 'epoch', 'epoch');
INSERT INTO orch_faults.executions VALUES ('root', 1, 'Completed', NULL, 'epoch', to_timestamp(1)), ('leaf', 1, 'Completed', NULL, 'epoch', to_timestamp(1)), ('old', 1, 'ContinuedAsNew', NULL, 'epoch', to_timestamp(1)), ('old', 2, 'Running', NULL, 'epoch', NULL);
INSERT INTO orch_faults.history_turns SELECT 1, e, e, 'epoch', i, ARRAY['T'], ARRAY['{}'] FROM unnest('{root,leaf,old}'::text[]) AS i, generate_series(1, 2) AS e;
INSERT INTO orch_faults.kv_store VALUES ('root', 'k', 'v', 1, 1);
INSERT INTO orch_faults.kv_delta VALUES ('leaf', 'k', 'v', 1);
INSERT INTO orch_faults.instance_locks VALUES (belay.instance_key('root'), 0, 0, 0, 0, 0, 0, 0, 0, 'root'), (belay.instance_key('idle'), 0, 0, 0, 0, 0, 0, 0, 0, 'idle');
INSERT INTO orch_faults.dead_letters SELECT 2000 + n, 'worker', n, i, 1, 1, NULL, NULL, '{"ActivityExecute":{}}', 3, 'max_attempts', NULL, 'epoch', 'epoch' FROM (VALUES (1, 'root'), (2, NULL)) AS v (n, i);
SELECT orch_faults.enqueue_worker_work('{"ActivityExecute":{}}', 'leaf', 1, 1, NULL, 'nobody serves it', p_now_ms => 1000), orch_faults.raise_event('root', 'late', '', false, 9000000), orch_faults.enqueue_orchestrator_work(NULL, '{"StartOrchestration":{"instance":"unborn","orchestration":"C","parent_instance":"leaf"}}', to_timestamp(9000));
SELECT belay.set_hub_option('orch_faults', o, '1 s') FROM unnest('{dead_letter_retention,orphan_retention,instance_retention}'::text[]) AS o;
SELECT orch_faults.cancel_instance('orphan', '', 1000);
UPDATE orch_faults.orchestrator_queue SET parked = true WHERE instance_id = 'orphan';

-- One fetch has to do with all of these.
BEGIN;
SELECT instance_id FROM orch_faults.fetch_orchestration_item(1000, p_now_ms => 2000);
SELECT instance_id, parked, lock_no <> 0 AS leased FROM orch_faults.orchestrator_queue ORDER BY id;
SELECT instance_id FROM orch_faults.dead_letters WHERE reason = 'max_attempts' AND id < 1000;
ROLLBACK;

CREATE TEMP TABLE calls (nr serial, call text);
-- Orchestrations.
INSERT INTO calls (call) VALUES
    ('enqueue_orchestrator_work(''i'', ''{"CancelInstance":{"instance":"i"}}'', NULL)'),
    ('enqueue_orchestrator_items(''[{"work_item":{"CancelInstance":{"instance":"i"}}}, {"work_item":{"TimerFired":{"instance":"i","fire_at_ms":5}}}]'', 1000)'),
    ('start_orchestration(''O'')'), ('raise_event(''i'', ''n'')'), ('cancel_instance(''i'')'),
    ('fetch_orchestration_item(1000, p_now_ms => 2000)'), ('fetch_orchestration_item(1000, p_now_ms => 200000)'),
    ('abandon_orchestration_item(''<turn>'', p_now_ms => 2000)'), ('abandon_orchestration_item(''<turn>'', 1000, true, p_now_ms => 2000)'), ('renew_orchestration_item_lock(''<turn>'', 1000, p_now_ms => 2000)'),
    ('ack_orchestration_item(''<turn>'', 2, ''[]'', ''[]'', ''[]'', ''{}'', p_now_ms => 2000)'),
    ('ack_orchestration_item(''<turn>'', 2,
        ''[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\",\"value\":\"v\"}"}, {"event_id":2,"event_data":"{\"type\":\"KeyValueCleared\",\"key\":\"l\"}"}, {"event_id":3,"event_data":"{\"type\":\"KeyValuesCleared\"}"},
           {"event_id":4,"event_data":"{\"type\":\"CustomStatusUpdated\",\"status\":\"s\"}"}, {"event_id":5,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"m\",\"value\":\"v\"}"}]'',
        ''[{"ActivityExecute":{"instance":"turn","execution_id":2,"id":1}}, {"ActivityExecute":{"instance":"turn","execution_id":2,"id":2,"tag":"t"}}]'',
        ''[{"StartOrchestration":{"instance":"child","orchestration":"C"}}, {"TimerFired":{"instance":"turn","fire_at_ms":5000}}, {"SubOrchCompleted":{"parent_instance":"parent"}}]'',
        ''{"orchestration_name":"O2","orchestration_version":"2","parent_instance_id":"parent","status":"Completed","output":"o","pinned_duroxide_version":{"major":1,"minor":0,"patch":0}}'',
        ''[{"instance":"turn","execution_id":2,"activity_id":2}, {"instance":"turn","execution_id":1,"activity_id":1}, {"instance":"turn","execution_id":1,"activity_id":5}]'', p_now_ms => 2000)'),
    ('append_history(''turn'', 7, ''[{"event_id":1,"event_data":"{}"}, {"event_id":2,"event_data":"{}"}]'')'), ('append_history(''c'', 1, ''[{"event_id":1,"event_data":"{}"}]'')');
-- The worker queue.
INSERT INTO calls (call) VALUES
    ('enqueue_worker_work(''{"ActivityExecute":{}}'', p_now_ms => 1000)'), ('enqueue_worker_items(''[{"work_item":{"ActivityExecute":{}}}, {"work_item":{"ActivityExecute":{}},"delay_ms":5}]'', 1000)'),
    ('fetch_work_item(1000, p_now_ms => 2000)'), ('fetch_work_item(1000, ''owner'', 1000, p_now_ms => 2000)'), ('fetch_work_items(1000, ''owner'', 1000, p_max_items => 10, p_now_ms => 2000)'), ('fetch_work_items(1000, ''thief'', 1000, p_max_items => 10, p_now_ms => 200000)'),
    ('ack_worker(''<work 1>'', NULL, NULL, 2000)'), ('ack_worker(''<work 1>'', ''turn'', ''{"ActivityCompleted":{"instance":"turn"}}'', 2000)'),
    ('ack_workers(''[{"lock_token":"<work 2>","completion_json":{"ActivityCompleted":{"instance":"turn"}}}, {"lock_token":"<work 1>"}, {"lock_token":"lost"}]'', 2000)'),
    ('ack_and_fetch_turns(ARRAY[''<turn>'', ''lost''], ''{2,1}'', p_worker_items => ARRAY[''[{"ActivityExecute":{}}]'', ''[]'']::jsonb[], p_metadata => ARRAY[''{"cache":{"owner":"me","events":1}}'', ''{}'']::jsonb[], p_max_turns => 5, p_cache_owner => ''me'', p_names => ''{O,C}'', p_now_ms => 2000)'),
    ('ack_and_fetch_work_item(''<work 1>'', NULL, ''{"ActivityFailed":{"instance":"turn"}}'', 1000, ''owner'', p_now_ms => 2000)'),
    ('settle_and_fetch_work_items(ARRAY[''<work 2>'', ''<work 1>'', ''lost''], ARRAY[''ack'', ''abandon'', ''ack''], ARRAY[''{"ActivityCompleted":{"instance":"turn"}}'', NULL, NULL], p_owner_id => ''owner'', p_max_items => 5, p_now_ms => 2000)'),
    ('settle_turns_and_work(ARRAY[''<turn>'', ''lost''], ''{2,1}'', p_worker_items => ARRAY[''[{"ActivityExecute":{"instance":"turn","execution_id":2,"id":9}}]'', ''[]'']::jsonb[], p_max_turns => 5, p_work_tokens => ARRAY[''<work 2>'', ''<work 1>'', ''lost''], p_outcomes => ARRAY[''ack'', ''abandon'', ''ack''], p_completions => ARRAY[''{"ActivityCompleted":{"instance":"turn"}}'', NULL, NULL], p_owner_id => ''owner'', p_max_items => 5, p_now_ms => 2000)'),
    ('settle_turns_and_work(ARRAY[''<work 1>''], ''{1}'', ARRAY[''[{"event_id":2,"event_data":"{}"}]''::jsonb], ARRAY[''[{"ActivityExecute":{"instance":"next","execution_id":1,"id":3}}]''::jsonb], p_metadata => ARRAY[''{"orchestration_name":"O","orchestration_version":"1"}''::jsonb], p_max_turns => 1, p_cache_owner => ''me'', p_work_tokens => ARRAY[''<work 2>'', ''<work 1>''], p_completions => ARRAY[''{"ActivityCompleted":{"instance":"turn"}}'', ''{"ActivityCompleted":{"instance":"next"}}''], p_owner_id => ''owner'', p_max_items => 5, p_predicted_after => ''{1}'', p_now_ms => 2000)'),
    ('renew_work_item_lock(''<work 1>'', 5000, p_now_ms => 2000)'), ('renew_work_item_locks(ARRAY[''<work 3>'', ''<work 1>'', ''lost''], 5000, p_now_ms => 2000)'),
    ('abandon_work_item(''<work 1>'', p_now_ms => 2000)'), ('abandon_work_item(''<work 1>'', 1000, true, p_now_ms => 2000)'), ('renew_session_lock(ARRAY[''owner'', ''nobody''], 5000, 100000, p_now_ms => 2000)'), ('cleanup_orphaned_sessions(2000)'),
    ('cancel_activities(''[{"instance":"turn","execution_id":1,"activity_id":1}, {"instance":"turn","execution_id":1,"activity_id":5}]'')'),
    ('redrive_dead_letter(1001)'), ('redrive_dead_letter(1002)'), ('redrive_dead_letters(''{}'')'), ('discard_dead_letter(1001)'), ('discard_dead_letters(''{}'')'), ('cancel_instances(''{}'', p_now_ms => 2000)');
-- For operators.
INSERT INTO calls (call) VALUES
    ('delete_instance(''root'')'), ('delete_instance(''turn'', true)'), ('delete_instances_atomic(''{leaf,root,nobody}'', false)'), ('delete_instances_atomic(''{turn,ready,q}'', true)'), ('delete_instances_bulk(''{}'')'), ('delete_instances_bulk(''{"instance_ids":["root"]}'')'),
    ('prune_executions(''old'')'), ('prune_executions(''old'', 1, 5000)'), ('prune_executions_bulk(''{}'')'), ('prune_executions_bulk(''{"instance_ids":["old","turn"]}'', ''{"keep_last":1}'')'), ('reconcile(p_now_ms => 90000000)');
INSERT INTO calls (call) SELECT format('reconcile(''{%s}'', p_now_ms => 90000000)', d) FROM unnest('{dead_letters,instance_retention,lock_cleanup,orphan_messages,session_cleanup}'::text[]) AS d;
-- Other hubs.
INSERT INTO calls (call) VALUES ('send_to_hub(''b'', ''worker'', ''{"ActivityExecute":{}}'')'),
    ('receive_intents(''[{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"worker","work_item":{"ActivityExecute":{}}}, {"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":2,"queue":"orchestrator","work_item":{"CancelInstance":{"instance":"i"}}}]'')'),
    ('ack_orchestration_item(''<turn>'', 2, ''[]'', ''[{"ToHub":{"hub":"b","item":{"ActivityExecute":{}}}}]'', ''[{"ToHub":{"hub":"b","item":{"CancelInstance":{"instance":"i"}}}}]'', ''{}'', p_now_ms => 2000)');
-- The outbox.
SELECT orch_faults.create_subscription('free', NULL, 'start'), orch_faults.create_subscription('taken', NULL, 'start');
SELECT upto FROM orch_faults.read_events('taken', 2, 100000, 1000) LIMIT 1 \gset
INSERT INTO calls (call) VALUES ('create_subscription(''new'', ''{instance}'')'), ('drop_subscription(''taken'')'), ('read_events(''free'', 2, 1000, 2000)'), ('ack_events(''taken'', ''<upto>'', 2000)'), ('reconcile(''{outbox_retention}'', p_now_ms => 90000000000)');
-- The hub.
INSERT INTO calls (call) VALUES ('pause_hub()'), ('pause_hub(''worker'', ''reason'')');
-- Slots: renewed by their owner; taken over from that owner, because its lease has ended; released.
SELECT orch_faults.acquire_slots('owner', 'worker', 1, 1000, 1000);
INSERT INTO calls (call) VALUES ('acquire_slots(''owner'', ''worker'', 1, 1000, 1500)'), ('acquire_slots(''heir'', ''worker'', 1, 1000, 9000)'),
    ('release_slots(''owner'', ''worker'')');

SELECT left(regexp_replace(call, '\s+', ' ', 'g'), 60) AS call, f.* FROM calls,
    LATERAL test.fail_each('orch_faults', 'SELECT * FROM orch_faults.' || replace(replace(replace(replace(replace(call, '<turn>', :'token'), '<work 1>', (SELECT token FROM leased WHERE nr = 1)), '<work 2>', (SELECT token FROM leased WHERE nr = 2)), '<work 3>', (SELECT token FROM leased WHERE nr = 3)), '<upto>', :'upto')) AS f
 ORDER BY nr;
-- All of them, that is: every function of the hub that may write, but for those of tasks, flows and the front door, which task_faults, flow_faults and front_faults run. (guard writes nothing; resume_hub follows.)
SELECT p.proname FROM pg_proc AS p WHERE p.proname !~ 'flow|edge|join|cancel_member|task|queue|revoke_lease|priority|claim|signal|waitpoint|schedule' AND p.proargnames[1] <> ALL ('{queue,queues,lease,leases,id,orchestration}') AND p.pronamespace = 'orch_faults'::regnamespace AND p.prokind = 'f' AND p.provolatile = 'v' AND NOT EXISTS (SELECT FROM calls WHERE split_part(call, '(', 1) = p.proname::text)
 ORDER BY p.proname::text COLLATE "C";
SELECT orch_faults.pause_hub('worker');
SELECT * FROM test.fail_each('orch_faults', 'SELECT orch_faults.resume_hub()');
SELECT orch_faults.resume_hub();
SELECT point, count FROM belay.faults() WHERE count <> 0;

-- At the very end, when all is done: the ack's own fault point.
SELECT test.traces('orch_faults') AS content \gset
SELECT belay.inject_fault('ack.before_commit', 1);
SELECT test.error(format('SELECT orch_faults.ack_orchestration_item(%L, 2, ''[{"event_id":1,"event_data":"{}"}]'', ''[{"ActivityExecute":{}}]'', ''[{"CancelInstance":{"instance":"x"}}]'', ''{"status":"Completed"}'', p_now_ms => 2000)', :'token'));
SELECT test.traces('orch_faults') = :'content' AS unchanged;
-- A transaction that fails as a whole, not only its statement.
SELECT belay.inject_fault('ack.before_commit', 1);
BEGIN;
SELECT orch_faults.ack_orchestration_item(:'token', 2, '[{"event_id":1,"event_data":"{}"}]', '[]', '[]', '{"status":"Completed"}', p_now_ms => 2000);
ROLLBACK;
SELECT test.traces('orch_faults') = :'content' AS unchanged;
-- No memory, no disk: the same.
SELECT belay.inject_fault('store.memory', 1);
SELECT test.error(format('SELECT orch_faults.ack_orchestration_item(%L, 2, ''[{"event_id":1,"event_data":"{}"}]'', ''[]'', ''[]'', ''{"status":"Completed"}'', p_now_ms => 2000)', :'token'));
SELECT belay.inject_fault('store.disk', 1);
SELECT test.error(format('SELECT orch_faults.ack_orchestration_item(%L, 2, ''[{"event_id":1,"event_data":"{}"}]'', ''[]'', ''[]'', ''{"status":"Completed"}'', p_now_ms => 2000)', :'token'));
SELECT test.traces('orch_faults') = :'content' AS unchanged;
-- Principle 5: the lock was kept all the time: the same token commits the turn.
SELECT orch_faults.ack_orchestration_item(:'token', 2, '[{"event_id":1,"event_data":"{}"}]', '[]', '[]', '{"status":"Completed"}', p_now_ms => 2000);
SELECT status FROM orch_faults.executions WHERE instance_id = 'turn' ORDER BY execution_id;
SELECT count(*) FROM orch_faults.renew_work_item_locks((SELECT array_agg(token) FROM leased), 1000, p_now_ms => 2000) WHERE renewed;

SELECT belay.drop_hub('orch_faults', true);
