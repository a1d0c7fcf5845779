-- What a frozen hub holds of tasks, events, slots and intents; see rows_002.sql.
SELECT belay.set_hub_option('old', 'events', 'operator,completion,instance,lease');
SELECT old.create_subscription('audit', NULL, 'start');
SELECT old.set_lane('mail', '{"policy": {"max_attempts": 4}, "retention_ms": 86400000}');
SELECT old.acquire_slots('dispatcher-1', 'worker', 4, 3600000, :t);
SELECT old.send_to_hub('elsewhere', 'worker', '{"ActivityExecute": {"name": "Far"}}');

SELECT count(*) FROM old.create_task('mail', '{"to": "ready"}', '00000000-0000-4000-8000-000000000001', p_now_ms => :t);
SELECT count(*) FROM old.create_task('mail', '{"to": "delayed"}', '00000000-0000-4000-8000-000000000002', p_delay_ms => 1800000, p_now_ms => :t);
SELECT count(*) FROM old.create_task('mail', '{"to": "key"}', '00000000-0000-4000-8000-000000000003', p_dedup_key => 'k', p_now_ms => :t,
    p_capabilities => '{gpu}', p_tags => '{"of": "cap"}');
-- Leased; expired; failed once and waiting for its retry; completed; cancelled.
SELECT count(*) FROM old.create_task('hot', '{"n": 1}', '00000000-0000-4000-8000-000000000011', p_now_ms => :t);
INSERT INTO old.kept SELECT 'task epoch', lease_epoch FROM old.claim_tasks('w', 'w-1', '{hot}', p_lease_ms => 3600000, p_now_ms => :t);
SELECT count(*) FROM old.progress_task('00000000-0000-4000-8000-000000000011', (SELECT value::bigint FROM old.kept WHERE what = 'task epoch'),
    50, 'half', '{"at": 50}', p_now_ms => :t);
SELECT count(*) FROM old.create_task('cold', '{"n": 2}', '00000000-0000-4000-8000-000000000012', p_now_ms => :t);
SELECT count(*) FROM old.claim_tasks('w', 'w-1', '{cold}', p_lease_ms => 1000, p_now_ms => :t);
SELECT count(*) FROM old.create_task('retry', '{"n": 3}', '00000000-0000-4000-8000-000000000013', p_now_ms => :t);
SELECT count(f) FROM old.claim_tasks('w', 'w-1', '{retry}', p_now_ms => :t) AS c,
    old.fail_task(c.task_id, c.lease_epoch, 'transient', 'later', p_now_ms => :t) AS f;
SELECT count(*) FROM old.create_task('done', '{"n": 4}', '00000000-0000-4000-8000-000000000014', p_now_ms => :t);
SELECT count(f) FROM old.claim_tasks('w', 'w-1', '{done}', p_now_ms => :t) AS c,
    old.complete_task(c.task_id, c.lease_epoch, '{"ok": true}', p_now_ms => :t) AS f;
SELECT count(*) FROM old.create_task('stop', '{"n": 5}', '00000000-0000-4000-8000-000000000015', p_now_ms => :t);
SELECT count(*) FROM old.cancel_task('00000000-0000-4000-8000-000000000015', 'not wanted', p_now_ms => :t);
-- A reader of events that holds a batch.
INSERT INTO old.kept SELECT 'events', max(upto) FROM old.read_events('audit', 1, 3600000, :t);
