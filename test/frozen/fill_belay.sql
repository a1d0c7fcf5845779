-- Fills hub "old" of api belay with a row of every kind, as of one fixed time. Run by freeze.sh as the hub's owner.
-- What a client would remember is in table kept.entries: tokens, leases, ids that the server draws.
\set t 1767225600000
\set hour 3600000
\set year 31536000000
CREATE TABLE kept.entries (what text PRIMARY KEY, value text NOT NULL);
SELECT belay.set_hub_option('old', o, v)
  FROM (VALUES ('max_clock_skew', '0'), ('fanout_bound', '2'), ('max_attempts', '2'), ('slot_count', '4'),
               ('events', 'operator,completion,instance,lease'), ('event_retention', '1 s'), ('name_pins', '{"rust.*": "0.1.30"}')) AS v (o, v);

-- A reader that has lost events to retention.
SELECT old.create_subscription('behind', NULL, 'start');
BEGIN;
SET LOCAL belay.now = :t;
SELECT old.pause_hub('tasks', 'maintenance'), old.resume_hub('tasks');
COMMIT;
SELECT rows FROM old.reconcile('{outbox_retention}', p_now_ms => :t + :year);
SELECT belay.set_hub_option('old', 'event_retention', NULL);

-- ---- orchestrations and activities ----

CREATE FUNCTION pg_temp.event(id int, type text, fields jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('event_id', id, 'event_type', type, 'event_data',
                              (jsonb_build_object('event_id', id, 'type', type) || fields)::text)
$$;
CREATE FUNCTION pg_temp.metadata(status text, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('orchestration_name', 'Order', 'orchestration_version', '1.0.0', 'status', status) || more
$$;
-- One turn of an instance that was just started, from its start to its ack.
CREATE FUNCTION pg_temp.first_turn(instance text, at_ms bigint, more jsonb, worker_items jsonb, messages jsonb, metadata jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    token text;
BEGIN
    PERFORM old.start_orchestration('Order', '{"n": 1}', instance, '1.0.0', 0, at_ms);
    SELECT lock_token INTO STRICT token FROM old.fetch_orchestration_item(3600000, p_now_ms => at_ms) AS f WHERE f.instance_id = instance;
    PERFORM old.ack_orchestration_item(token, 1,
        jsonb_build_array(pg_temp.event(1, 'OrchestrationStarted', '{"name": "Order", "input": "{}"}')) || more,
        worker_items, messages, metadata, p_now_ms => at_ms);
END $$;

-- Set aside: a message and an item that were leased twice and never acknowledged.
SELECT old.start_orchestration('Order', '', 'poisoned', '1.0.0', 0, :t);
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "gone", "execution_id": 1, "id": 1, "name": "A"}}', p_now_ms => :t);
SELECT count(lock_token) FROM (VALUES (0), (10), (20)) AS v (later), old.fetch_orchestration_item(1, p_now_ms => :t + later);
SELECT count(lock_token) FROM (VALUES (0), (10), (20)) AS v (later), old.fetch_work_item(1, p_now_ms => :t + later);

-- Ended: completed with custom status and state, failed, continued as new.
SELECT pg_temp.first_turn('completed', :t, jsonb_build_array(pg_temp.event(2, 'CustomStatusUpdated', '{"status": "half"}'), pg_temp.event(3, 'KeyValueSet', '{"key": "k", "value": "v"}')),
                          '[]', '[]', pg_temp.metadata('Completed', '{"output": "done"}'));
SELECT pg_temp.first_turn('failed', :t, '[]', '[]', '[]', pg_temp.metadata('Failed', '{"output": "broken"}'));
SELECT pg_temp.first_turn('continued', :t, jsonb_build_array(pg_temp.event(2, 'KeyValueSet', '{"key": "kept", "value": "1"}')), '[]',
                          '[{"ContinueAsNew": {"instance": "continued", "orchestration": "Order", "input": "2", "version": "1.0.0"}}]', pg_temp.metadata('ContinuedAsNew'));
-- Its second execution has changed the state, and its next turn is leased.
SELECT lock_token AS second FROM old.fetch_orchestration_item(:hour, p_now_ms => :t) \gset
SELECT old.ack_orchestration_item(:'second', 2, jsonb_build_array(pg_temp.event(1, 'OrchestrationStarted', '{"name": "Order", "input": "2"}'),
        pg_temp.event(2, 'KeyValueSet', '{"key": "new", "value": "2"}'), pg_temp.event(3, 'KeyValueCleared', '{"key": "kept"}')),
    '[]', '[]', pg_temp.metadata('Running'), p_now_ms => :t);
SELECT old.raise_event('continued', 'go', '', false, :t);
INSERT INTO kept.entries SELECT 'turn', lock_token FROM old.fetch_orchestration_item(:hour, p_now_ms => :t);
-- The first turn of a next execution is leased.
SELECT pg_temp.first_turn('again', :t, '[]', '[]', '[{"ContinueAsNew": {"instance": "again", "orchestration": "Order", "input": "2", "version": "1.0.0"}}]', pg_temp.metadata('ContinuedAsNew'));
SELECT count(*) FROM old.fetch_orchestration_item(:hour, p_now_ms => :t);

-- Running: an activity that is leased, two of a session, one with a tag, one that is delayed; a timer, a child.
SELECT pg_temp.first_turn('running', :t, jsonb_build_array(pg_temp.event(2, 'ActivityScheduled', '{"name": "Charge", "input": "9"}'), pg_temp.event(3, 'KeyValueSet', '{"key": "k", "value": "v"}')),
    '[{"ActivityExecute": {"instance": "running", "execution_id": 1, "id": 2, "name": "Charge", "input": "9"}},
      {"ActivityExecute": {"instance": "running", "execution_id": 1, "id": 4, "name": "Mail", "input": "", "tag": "gpu"}},
      {"ActivityExecute": {"instance": "running", "execution_id": 1, "id": 5, "name": "Chat", "input": "", "session_id": "s"}},
      {"ActivityExecute": {"instance": "running", "execution_id": 1, "id": 6, "name": "Chat", "input": "", "session_id": "s"}}]',
    format('[{"TimerFired": {"instance": "running", "execution_id": 1, "id": 7, "fire_at_ms": %s}},
             {"StartOrchestration": {"instance": "running::sub::8", "orchestration": "Child", "version": "1.0.0", "input": "", "parent_instance": "running", "parent_id": 8}}]', :t + :hour)::jsonb,
    pg_temp.metadata('Running', '{"pinned_duroxide_version": {"major": 0, "minor": 1, "patch": 30}}'));
INSERT INTO kept.entries SELECT 'work', lock_token FROM old.fetch_work_item(:hour, 'w', p_now_ms => :t);
INSERT INTO kept.entries SELECT 'session', lock_token FROM old.fetch_work_item(:hour, 'w', :hour, p_now_ms => :t);
SELECT old.enqueue_worker_items('[{"work_item": {"ActivityExecute": {"instance": "running", "execution_id": 1, "id": 9, "name": "Later", "input": ""}}, "delay_ms": 1800000}]', :t);

-- Messages: one for an instance that never started, parked by a fetch that met it; a start that is ready; one that is not yet visible.
SELECT old.raise_event('nobody', 'e', '{}', false, :t - 1000);
SELECT count(*) FROM old.fetch_orchestration_item(:hour, p_now_ms => :t) AS f WHERE f.instance_id = 'running::sub::8';
SELECT old.start_orchestration('Order', '{}', 'ready', '1.0.0', 0, :t);
SELECT old.start_orchestration('Order', '{}', 'later', '1.0.0', 1800000, :t);
SELECT old.raise_event('running', 'approved', '{}', true, :t);

SELECT count(*) FROM old.acquire_slots('dispatcher', 'worker', NULL, :hour, :t);

-- ---- intents ----

BEGIN;
SET LOCAL belay.now = :t;
SELECT old.send_to_hub('elsewhere', 'worker', '{"ActivityExecute": {"instance": "x", "id": 1}}'),
       old.send_to_hub('elsewhere', 'orchestrator', '{"CancelInstance": {"instance": "x", "reason": "1"}}'),
       old.send_to_hub('elsewhere', 'orchestrator', '{"CancelInstance": {"instance": "x", "reason": "2"}}');
SELECT old.receive_intents('[{"source_uuid": "11111111-1111-4111-8111-111111111111", "intent_id": 1, "queue": "worker",
                              "work_item": {"ActivityExecute": {"instance": "far", "execution_id": 1, "id": 1, "tag": "far"}}}]');
COMMIT;
INSERT INTO old.intent_links (target_hub, server, created_at) VALUES ('billing', 'billing_server', to_timestamp(:t / 1000));

-- ---- tasks ----

CREATE FUNCTION pg_temp.id(digits text) RETURNS uuid LANGUAGE sql AS $$ SELECT ('00000000-0000-4000-8000-0000000000' || digits)::uuid $$;
CREATE FUNCTION pg_temp.epoch(digits text) RETURNS bigint LANGUAGE sql AS $$ SELECT (old.get_task(pg_temp.id(digits)) ->> 'lease_epoch')::bigint $$;
-- 01 leased by the front door, 02 leased with progress, 03 ready, 04 delayed, 05 completed, 06 failed, 07 for workers with a GPU,
-- 08 suspended, 09 suspended and resumed, 0a leased in a limited queue where 0b waits, 0c cancelled, 0d expired, 0e between two attempts.
SELECT count(*) FROM old.create_tasks(format('[{"queue": "mail", "task_id": "%s", "kind": "welcome", "payload": {"to": "a"}, "dedup_key": "first", "tags": {"tenant": "t"}},
    {"queue": "progress", "task_id": "%s"}, {"queue": "open", "task_id": "%s", "priority": 5}, {"queue": "open", "task_id": "%s", "delay_ms": 1800000},
    {"queue": "ends", "task_id": "%s", "dedup_key": "once", "dedup_window_ms": 86400000}, {"queue": "fails", "task_id": "%s"},
    {"queue": "open", "task_id": "%s", "capabilities": ["gpu"]}, {"queue": "waits", "task_id": "%s"}, {"queue": "waited", "task_id": "%s"},
    {"queue": "limited", "task_id": "%s", "priority": 5}, {"queue": "limited", "task_id": "%s"}, {"queue": "open", "task_id": "%s"},
    {"queue": "late", "task_id": "%s", "deadline_ms": %s}, {"queue": "retries", "task_id": "%s", "policy": {"max_attempts": 3, "on_lease_expiry": "retry"}}]',
    pg_temp.id('01'), pg_temp.id('02'), pg_temp.id('03'), pg_temp.id('04'), pg_temp.id('05'), pg_temp.id('06'), pg_temp.id('07'), pg_temp.id('08'), pg_temp.id('09'),
    pg_temp.id('0a'), pg_temp.id('0b'), pg_temp.id('0c'), pg_temp.id('0d'), :t + 1000, pg_temp.id('0e'))::jsonb, :t);
SELECT old.set_queue('limited', '{"concurrency": 1, "rate_per_s": 1000}'), old.set_queue('open', '{"retention_ms": 86400000}'), old.pause_queue('paused');
SELECT count(*) FROM old.create_task('paused', p_now_ms => :t);
BEGIN;
SET LOCAL belay.now = :t;
INSERT INTO kept.entries SELECT 'lease', lease FROM old.receive('mail', lease => '1 h', worker => 'w');
COMMIT;
SELECT count(*) FROM unnest('{progress,ends,fails,waits,waited,limited,retries}'::text[]) AS q, old.claim_tasks('w', 'w-1', ARRAY[q], p_lease_ms => :hour, p_now_ms => :t);
INSERT INTO kept.entries SELECT 'epoch ' || d, pg_temp.epoch(d) FROM unnest('{02,0a}'::text[]) AS d;
SELECT old.progress_task(pg_temp.id('02'), pg_temp.epoch('02'), 50, 'half', '{"at": 50}', p_now_ms => :t);
SELECT old.complete_task(pg_temp.id('05'), pg_temp.epoch('05'), '{"sent": true}', p_now_ms => :t);
SELECT old.fail_task(pg_temp.id('06'), pg_temp.epoch('06'), 'permanent', 'no such address', p_now_ms => :t);
SELECT old.fail_task(pg_temp.id('0e'), pg_temp.epoch('0e'), 'transient', 'busy', p_now_ms => :t);
SELECT old.cancel_task(pg_temp.id('0c'), 'not wanted', p_now_ms => :t);
INSERT INTO kept.entries
SELECT 'signal', w ->> 'token' FROM old.suspend_task(pg_temp.id('08'), pg_temp.epoch('08'),
    format('{"waitpoints": [{"key": "approval"}], "condition": {"single": {"key": "approval"}}, "timeout_at_ms": %s, "on_timeout": "fail"}', :t + :year)::jsonb, :t) AS s, jsonb_array_elements(s.waitpoints) AS w;
SELECT w ->> 'token' AS token, w ->> 'waitpoint_id' AS waitpoint
  FROM old.suspend_task(pg_temp.id('09'), pg_temp.epoch('09'), '{"waitpoints": [{"key": "approval"}], "condition": {"single": {"key": "approval"}}}', :t) AS s, jsonb_array_elements(s.waitpoints) AS w \gset
SELECT result FROM old.deliver_signal(pg_temp.id('09'), :'waitpoint', :'token', '{"name": "approval", "payload": {"by": "ada"}}', :t);
-- The tokens above are signed with k1, which signs no longer.
SELECT old.rotate_waitpoint_key('k2', sha256('k2'), :year);
SELECT old.create_schedule('hourly', '0 * * * *', '{"queue": "reports", "capabilities": ["sql"]}', p_now_ms => :t), old.create_schedule('stopped', '0 0 * * *', '{"queue": "reports"}', p_now_ms => :t);
SELECT old.pause_schedule('stopped');

-- ---- flows ----

-- f1 runs: 11 leased, 12 behind it, 13 behind any of 11 and 14, 14 ready. f2 completed. f3 open: 31 ready, 32 held.
-- f4 cancelled while a worker has 41. f5: 51 has ended, and the call has left some of what follows to the duties. f6 failed: 61 failed, 62 skipped.
SELECT count(*) FROM old.create_flow(format('{"flow_id": "%s", "kind": "order", "tags": {"tenant": "t"}, "tasks": [{"key": "a", "queue": "f1", "priority": 9, "task_id": "%s"},
    {"key": "b", "queue": "f1b", "after": ["a"], "task_id": "%s"}, {"key": "d", "queue": "f1b", "task_id": "%s"},
    {"key": "c", "queue": "f1b", "after": ["a", "d"], "join": {"kind": "any_of"}, "task_id": "%s"}]}', pg_temp.id('f1'), pg_temp.id('11'), pg_temp.id('12'), pg_temp.id('14'), pg_temp.id('13'))::jsonb, :t);
SELECT count(*) FROM old.create_flow(format('{"flow_id": "%s", "tasks": []}', pg_temp.id('f2'))::jsonb, :t);
SELECT count(*) FROM old.create_flow(format('{"flow_id": "%s", "seal": false, "tasks": [{"key": "a", "queue": "f3", "task_id": "%s"}, {"key": "b", "queue": "f3", "hold": true, "task_id": "%s"}]}',
    pg_temp.id('f3'), pg_temp.id('31'), pg_temp.id('32'))::jsonb, :t);
SELECT count(*) FROM old.create_flow(format('{"flow_id": "%s", "tasks": [{"key": "a", "queue": "f4", "task_id": "%s"}, {"key": "b", "queue": "f4b", "task_id": "%s"}]}', pg_temp.id('f4'), pg_temp.id('41'), pg_temp.id('42'))::jsonb, :t);
SELECT count(*) FROM old.create_flow(format('{"flow_id": "%s", "tasks": [{"key": "a", "queue": "f5", "priority": 9, "task_id": "%s"}, {"key": "b", "queue": "f5b", "task_id": "%s"}, {"key": "c", "queue": "f5b", "task_id": "%s"},
    {"key": "d", "queue": "f5b", "task_id": "%s"}, {"key": "j", "queue": "f5b", "after": ["a", "b", "c", "d"], "join": {"kind": "any_of"}, "task_id": "%s"},
    {"key": "k", "queue": "f5b", "after": ["a"], "task_id": "%s"}, {"key": "l", "queue": "f5b", "after": ["a"], "task_id": "%s"}]}',
    pg_temp.id('f5'), pg_temp.id('51'), pg_temp.id('52'), pg_temp.id('53'), pg_temp.id('54'), pg_temp.id('55'), pg_temp.id('56'), pg_temp.id('57'))::jsonb, :t);
SELECT count(*) FROM old.create_flow(format('{"flow_id": "%s", "tasks": [{"key": "a", "queue": "f6", "task_id": "%s"}, {"key": "b", "queue": "f6b", "after": ["a"], "task_id": "%s"}]}', pg_temp.id('f6'), pg_temp.id('61'), pg_temp.id('62'))::jsonb, :t);
SELECT count(*) FROM unnest('{f1,f4,f5,f6}'::text[]) AS q, old.claim_tasks('w', 'w-1', ARRAY[q], p_lease_ms => :hour, p_now_ms => :t);
INSERT INTO kept.entries SELECT 'epoch ' || d, pg_temp.epoch(d) FROM unnest('{11,41}'::text[]) AS d;
SELECT old.complete_task(pg_temp.id('51'), pg_temp.epoch('51'), p_now_ms => :t);
SELECT old.fail_task(pg_temp.id('61'), pg_temp.epoch('61'), 'permanent', 'broken', p_now_ms => :t);
SELECT old.cancel_flow(pg_temp.id('f4'), p_now_ms => :t);
SELECT rows FROM old.reconcile('{deadlines}', p_now_ms => :t + 2000);

-- ---- events and statistics ----

-- Two more readers: one leases a batch, one has read nothing.
SELECT old.create_subscription('audit', NULL, 'start'), old.create_subscription('operators', '{operator}', 'start');
INSERT INTO kept.entries SELECT 'upto', upto FROM old.read_events('audit', 3, :year, :t) LIMIT 1;
SELECT rows FROM unnest('{1,2}'::int[]) AS minute, old.reconcile('{stat_minutes}', p_now_ms => :t + minute * 60000);
-- A dump says nothing about the transactions of the server that it goes to.
UPDATE old.outbox_events SET xid = '3';
