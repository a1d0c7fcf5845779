-- The work of a frozen hub of api belay goes on, and new work begins. Its output is compared with work_belay.out, whichever
-- later version of belay serves the hub. The clock of all calls is that of the freeze, or some minutes later.
SET timezone = 'UTC';
SELECT max(value) FILTER (WHERE what = 'work') AS work, max(value) FILTER (WHERE what = 'session') AS session, max(value) FILTER (WHERE what = 'turn') AS turn,
       max(value) FILTER (WHERE what = 'lease') AS lease, max(value) FILTER (WHERE what = 'signal') AS signal, max(value) FILTER (WHERE what = 'upto') AS upto,
       max(value) FILTER (WHERE what = 'epoch 02') AS epoch_02, max(value) FILTER (WHERE what = 'epoch 0a') AS epoch_0a, max(value) FILTER (WHERE what = 'epoch 11') AS epoch_11
  FROM kept.entries \gset
\set t 1767225600000
\set t1 1767225660000
\set t30 1767227400000
\set t60 1767229200000
\set id '00000000-0000-4000-8000-0000000000'
-- The id of a task or flow without what all have in common; others are new.
CREATE FUNCTION pg_temp.short(id uuid) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN id::text LIKE '00000000-0000-4000-8000-0000000000%' THEN right(id::text, 2) ELSE 'new' END
$$;
CREATE FUNCTION pg_temp.activity(item text) RETURNS text LANGUAGE sql AS $$ SELECT item::jsonb #>> '{ActivityExecute,id}' $$;
CREATE FUNCTION pg_temp.state(digits text) RETURNS text LANGUAGE sql AS $$
    SELECT (old.status(('00000000-0000-4000-8000-0000000000' || digits)::uuid)).state
$$;

\echo = work items: the lease, the session and its owner, what is ready, what was set aside
SET ROLE upgrade_worker;
SELECT old.renew_work_item_lock(:'work', 3600000, :t1);
SELECT old.ack_worker(:'work', 'running', '{"ActivityCompleted": {"instance": "running", "execution_id": 1, "id": 2, "result": "charged"}}', :t1);
SELECT pg_temp.activity(work_item) AS nothing_of_the_session FROM old.fetch_work_item(60000, 'thief', 60000, p_now_ms => :t1);
SELECT old.ack_worker(:'session', p_now_ms => :t1);
SELECT pg_temp.activity(work_item), attempt_count FROM old.fetch_work_item(3600000, 'w', 3600000, p_now_ms => :t1);
SELECT pg_temp.activity(work_item), attempt_count FROM old.fetch_work_item(60000, 'w', p_tag_filter => '{gpu}', p_tag_mode => 'tags', p_now_ms => :t1);
SELECT pg_temp.activity(work_item), attempt_count FROM old.fetch_work_item(60000, 'w', p_now_ms => :t30);
SET ROLE upgrade_operator;
SELECT queue, reason, instance_id, attempt_count FROM old.list_dead_letters() ORDER BY id;
SELECT old.redrive_dead_letter(2) > 7 AS redriven;
SELECT id FROM old.list_dead_letters();

\echo = turns: the lease, and what is ready
SET ROLE upgrade_worker;
SELECT old.renew_orchestration_item_lock(:'turn', 3600000, :t1);
SELECT old.ack_orchestration_item(:'turn', 2,
    '[{"event_id": 4, "event_data": "{\"type\":\"KeyValueSet\",\"key\":\"last\",\"value\":\"3\"}"}]',
    '[]', '[]', '{"orchestration_name": "Order", "orchestration_version": "1.0.0", "status": "Completed", "output": "2"}', p_now_ms => :t1);
SELECT instance_id, execution_id, json_array_length(history) AS events, json_array_length(messages) AS messages, attempt_count, kv_snapshot, lock_token AS token
  FROM old.fetch_orchestration_item(3600000, p_now_ms => :t1) \gset turn_
\echo :turn_instance_id :turn_execution_id :turn_events :turn_messages :turn_attempt_count :turn_kv_snapshot
SELECT instance_id, execution_id, json_array_length(history) AS events, json_array_length(messages) AS messages, attempt_count, kv_snapshot, lock_token AS token
  FROM old.fetch_orchestration_item(3600000, p_now_ms => :t1) \gset other_
\echo :other_instance_id :other_execution_id :other_events :other_messages :other_attempt_count :other_kv_snapshot
SELECT count(*) AS no_more FROM old.fetch_orchestration_item(3600000, p_now_ms => :t1);
SET ROLE upgrade_monitor;
SELECT instance_id, status, output, current_execution_id FROM unnest('{completed,failed,continued,running}'::text[]) AS i, old.get_instance_info(i);
SELECT event_id, event_type FROM old.read_history('completed');
SET ROLE upgrade_client;
SELECT old.get_custom_status('completed', 0);
SELECT i, k, old.get_kv_value(i, k) FROM (VALUES ('completed', 'k'), ('continued', 'kept'), ('continued', 'new'), ('continued', 'last')) AS v (i, k);

\echo = tasks: leases, settings and dedup keys
SET ROLE upgrade_worker;
BEGIN;
SET LOCAL belay.now = :t1;
SELECT old.extend(:'lease', '1 h');
SELECT old.complete(:'lease', '{"sent": true}');
COMMIT;
SELECT old.get_task((:'id' || '02')::uuid) -> 'progress' AS progress, old.get_task((:'id' || '02')::uuid) -> 'checkpoint' AS checkpoint;
SELECT result, state FROM old.complete_task((:'id' || '02')::uuid, :epoch_02, p_now_ms => :t1);
SET ROLE upgrade_client;
SELECT pg_temp.short(task_id), created FROM old.create_task('mail', p_dedup_key => 'first', p_now_ms => :t1);
SELECT pg_temp.short(task_id), created FROM old.create_task('ends', p_dedup_key => 'once', p_now_ms => :t1);
SET ROLE upgrade_worker;
SELECT count(*) AS at_the_limit FROM old.claim_tasks('w', 'w-1', '{limited}', p_now_ms => :t1);
SELECT result, state FROM old.complete_task((:'id' || '0a')::uuid, :epoch_0a, p_now_ms => :t1);
SELECT pg_temp.short(task_id) FROM old.claim_tasks('w', 'w-1', '{limited}', p_now_ms => :t1);
SELECT pg_temp.short(task_id) FROM old.claim_tasks('w', 'w-1', '{open}', p_max_items => 9, p_now_ms => :t1);
SELECT pg_temp.short(task_id) FROM old.claim_tasks('w', 'w-1', '{open}', '{gpu}', p_max_items => 9, p_now_ms => :t1);
SELECT count(*) AS paused FROM old.claim_tasks('w', 'w-1', '{paused}', p_now_ms => :t1);
SELECT pg_temp.short(task_id), attempt_index, attempt_kind FROM old.claim_tasks('w', 'w-1', '{waited}', p_now_ms => :t1);
SELECT nr, name, payload FROM old.list_signals((:'id' || '09')::uuid);
SET ROLE upgrade_operator;
SELECT waitpoint_id AS waitpoint FROM old.list_waitpoints((:'id' || '08')::uuid) \gset
SET ROLE upgrade_client;
SELECT result, effect, state FROM old.deliver_signal((:'id' || '08')::uuid, :'waitpoint', :'signal', '{"name": "approval"}', :t1);
SET ROLE upgrade_operator;
SELECT old.resume_queue('paused');
SET ROLE upgrade_worker;
SELECT count(*) AS resumed FROM old.claim_tasks('w', 'w-1', '{paused}', p_now_ms => :t1);

\echo = flows
SET ROLE upgrade_worker;
SELECT result, state FROM old.complete_task((:'id' || '11')::uuid, :epoch_11, p_now_ms => :t1);
SET ROLE upgrade_operator;
SELECT string_agg(d || ' ' || pg_temp.state(d), ', ') FROM unnest('{11,12,13,14}'::text[]) AS d;
SELECT state FROM old.seal_flow((:'id' || 'f3')::uuid, p_now_ms => :t1);
SELECT pg_temp.state('32');
SELECT duty FROM old.reconcile('{dispatch_sweep,sibling_cancel}', p_now_ms => :t1) WHERE rows > 0 ORDER BY duty;
SELECT string_agg(d || ' ' || pg_temp.state(d), ', ') FROM unnest('{51,52,53,54,55,56,57}'::text[]) AS d;
SELECT result, replay_count FROM old.replay_task((:'id' || '61')::uuid, true, p_now_ms => :t1);
SELECT string_agg(d || ' ' || pg_temp.state(d), ', ') FROM unnest('{61,62}'::text[]) AS d;
SET ROLE upgrade_worker;
SELECT old.ack_cancel_member((:'id' || 'f4')::uuid, (:'id' || '41')::uuid);
SET ROLE upgrade_monitor;
SELECT pg_temp.short(flow_id), state, member_count, open_count FROM old.list_flows() ORDER BY 1;

\echo = duties: due tasks, schedules, limits
SET ROLE upgrade_operator;
SELECT rows FROM old.reconcile('{due_timers}', p_now_ms => :t60);
SELECT rows FROM old.reconcile('{schedules}', p_now_ms => :t60);
SET ROLE upgrade_worker;
SELECT pg_temp.short(task_id), queue, attempt_index FROM old.claim_tasks('w', 'w-1', '{open,retries,reports}', '{sql}', p_max_items => 9, p_lease_ms => 86400000, p_now_ms => :t60) ORDER BY 2;
SET ROLE upgrade_monitor;
SELECT name, cron, paused, last_due_ms FROM old.list_schedules() ORDER BY 1;

\echo = events: a leased batch, a reader that has lost some, one that has read nothing
SET ROLE upgrade_worker;
SELECT old.ack_events('audit', :'upto', :t1);
SELECT topic, type, details ->> 'count' AS lost FROM old.read_events('behind', 1, 1000, :t1);
SELECT upto FROM old.read_events('behind', 1, 1000, :t30) WHERE topic <> 'outbox' \gset
SELECT old.ack_events('behind', :'upto', :t30);
SELECT event_id, topic, type FROM old.read_events('behind', 2, 1000, :t30);
SELECT event_id, type FROM old.read_events('operators', 3, 1000, :t1);

\echo = slots, statistics, messages of other hubs
SELECT old.acquire_slots('dispatcher', 'worker', NULL, 60000, :t1);
SELECT old.receive_intents('[{"source_uuid": "11111111-1111-4111-8111-111111111111", "intent_id": 1, "queue": "worker", "work_item": {"ActivityExecute": {"instance": "far"}}}]') AS known_by_now;
SET ROLE upgrade_monitor;
SELECT queue, created, claimed, completed FROM old.stat_series(:t1, :t30, 3600000) WHERE task_queue IS NULL ORDER BY queue;
-- The hub to which messages wait appears, and gets them in order.
SET ROLE upgrade_owner;
SELECT belay.create_hub('elsewhere');
SELECT rows FROM old.reconcile('{intent_relay}', p_now_ms => :t1);
SELECT rows FROM old.reconcile('{intent_relay}', p_now_ms => :t30);
SELECT count(*) AS waiting FROM old.intents;
SELECT work_item::jsonb #>> '{CancelInstance,reason}' FROM elsewhere.messages ORDER BY id;
SELECT pg_temp.activity(work_item) FROM elsewhere.work_items;

\echo = new work
SET ROLE upgrade_client;
BEGIN;
SET LOCAL belay.now = :t1;
SELECT old.send('mail', '{"to": "b"}') AS new \gset
SELECT old.start('Order', '{}', 'new') AS instance;
COMMIT;
SET ROLE upgrade_worker;
BEGIN;
SET LOCAL belay.now = :t1;
SELECT lease AS new_lease, payload FROM old.receive('mail') \gset
SELECT old.complete(:'new_lease', '{}');
SELECT instance_id, messages -> 0 #>> '{StartOrchestration,orchestration}' FROM old.fetch_orchestration_item(60000);
COMMIT;
SET ROLE upgrade_client;
SELECT state FROM old.status(:'new');
RESET ROLE;
