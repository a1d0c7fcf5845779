-- The front door for tasks, as a manual: send, receive, extend, complete, fail, release, progress, cancel, retry, status.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('front_tasks');
SELECT belay.set_hub_option('front_tasks', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('front_tasks', 'events', 'lease,operator,completion');
SET search_path = front_tasks, public;
SET timezone = 'UTC';
-- The last lease that this session received.
CREATE TEMP TABLE held (lease text);
CREATE FUNCTION pg_temp.lease() RETURNS text LANGUAGE sql AS $$ SELECT lease FROM held $$;
CREATE FUNCTION pg_temp.take(from_queue text) RETURNS TABLE (queue text, kind text, payload jsonb, headers jsonb, attempt int, lease_until timestamptz, deadline timestamptz, checkpoint jsonb) LANGUAGE plpgsql AS $$
DECLARE
    task front_tasks.received;  -- one type for every function that returns tasks to workers
BEGIN
    SELECT * INTO task FROM front_tasks.receive(from_queue);
    IF task.id IS NOT NULL THEN
        DELETE FROM held;
        INSERT INTO held VALUES (task.lease);
        RETURN QUERY SELECT task.queue, task.kind, task.payload, task.headers, task.attempt, task.lease_until, task.deadline, task.checkpoint;
    END IF;
END $$;

-- DR-1: a task is sent to a queue, received under a lease and completed.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT send('mail', '{"to": "ada@example.org"}') AS first \gset
SELECT * FROM pg_temp.take('mail');
SELECT complete(pg_temp.lease(), '{"sent": true}');
SELECT queue, state, attempt, result, error, worker, created_at, started_at, lease_until, finished_at FROM status(:'first');
COMMIT;

-- Every argument of send. The kind, the headers and the policy come back with the task.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT send('mail', payload => '[1]', kind => 'welcome', key => 'welcome:ada', delay => '5 min', priority => 7, policy => '{"max_attempts": 2}', headers => '{"trace": "t1"}') AS second \gset
-- Once per queue and key: the same task is the answer.
SELECT send('mail', key => 'welcome:ada') = :'second' AS same_task, send('sms', key => 'welcome:ada') = :'second' AS other_queue;
SELECT state, available_at FROM status(:'second');
SELECT * FROM pg_temp.take('mail');
SET LOCAL belay.now = '2020-01-01 12:05:00+00';
SELECT state FROM status(:'second');
SELECT * FROM pg_temp.take('mail');
COMMIT;

-- extend is the heartbeat. It returns the new end of the lease, which never becomes earlier.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:05:20+00';
SELECT extend(pg_temp.lease());
SELECT extend(pg_temp.lease(), '2 min');
SELECT extend(pg_temp.lease(), by => '1 s');
-- progress stores what the next attempt needs.
SELECT progress(pg_temp.lease(), 40, 'half way', '{"page": 3}');
SELECT progress(pg_temp.lease(), message => 'almost');
SELECT state, percent, message, worker IS NOT NULL AS has_worker, lease_until FROM status(:'second');
-- fail ends the attempt; the policy, or retry_in, says when the next one begins.
SELECT fail(pg_temp.lease(), 'smtp: 451', retry_in => '10 s');
SELECT state, attempt, error, error_class, available_at FROM status(:'second');
SET LOCAL belay.now = '2020-01-01 12:05:30+00';
SELECT * FROM pg_temp.take('mail');
-- release gives the task back without an outcome: the same attempt goes on.
SELECT release(pg_temp.lease(), '1 min');
SET LOCAL belay.now = '2020-01-01 12:06:30+00';
SELECT * FROM pg_temp.take('mail');
-- The second attempt was the last one.
SELECT fail(pg_temp.lease(), 'smtp: 550');
SELECT state, attempt, error, error_class, finished_at FROM status(:'second');
-- retry runs a task again that failed for good. An operator may.
SELECT retry(:'second');
SELECT state, attempt FROM status(:'second');
SELECT attempt, checkpoint FROM pg_temp.take('mail');
SELECT fail(pg_temp.lease(), 'no such mailbox', class => 'permanent');
COMMIT;

-- cancel: the worker finds out when it uses its lease.
BEGIN;
SET LOCAL belay.now = 1577880000000;  -- 2020-01-01 12:00:00+00 in milliseconds
SELECT send('mail') AS third \gset
SELECT payload, headers FROM pg_temp.take('mail');
SELECT cancel(:'third', 'not wanted');
SELECT cancel(:'third'), state, error, error_class FROM status(:'third');
SELECT test.refused(format('SELECT front_tasks.complete(%L)', pg_temp.lease())) ~ '"code_detail":"already_terminal".*"state":"cancelled".*"cancel_reason":"not wanted"' AS says_why;
SELECT retry(:'third');
SELECT cancel(:'third');
COMMIT;

-- send_many returns ids in the order of the payloads; keys may be given for each.
BEGIN;
SET LOCAL belay.now = '2020-01-01 13:00:00+00';
CREATE TEMP TABLE sent AS SELECT * FROM send_many('batch', ARRAY['1', '2', '"three"']::jsonb[], keys => '{a,NULL,b}', priority => 3) WITH ORDINALITY AS s (id, nr);
SELECT nr, s.payload FROM sent JOIN tasks AS s USING (id) ORDER BY nr;
SELECT count(*) FILTER (WHERE again.id = sent.id) AS known, count(*) AS all FROM send_many('batch', ARRAY['1', '2', '"three"']::jsonb[], keys => '{a,NULL,b}') WITH ORDINALITY AS again (id, nr) JOIN sent USING (nr);
SELECT count(*) FROM send_many('batch', '{}');
-- at: not before that time.
SELECT send('batch', at => '2020-01-01 15:00:00+01') AS later \gset
SELECT state, available_at FROM status(:'later');

-- receive takes one queue or several, by priority, then by time, up to max.
SELECT payload, attempt, length(lease) AS bytes, lease_until FROM receive('{batch,other}'::text[], max => 3, lease => '1 min', worker => 'w1');
SELECT payload FROM receive(ARRAY['other', 'batch'], 10);
SELECT count(*) FROM receive('never used');
-- A worker that tells no name shows under its session.
SET LOCAL application_name = 'mailer';
SELECT send('batch', '"named"') AS named \gset
SELECT count(*) FROM receive('batch');
SELECT worker FROM status(:'named');
COMMIT;

-- complete_and_receive saves a round trip. A completion that is rejected receives nothing.
BEGIN;
SET LOCAL belay.now = '2020-01-02 12:00:00+00';
SELECT count(*) FROM send_many('chain', '{1,2,3}');
SELECT payload FROM pg_temp.take('chain');
UPDATE held SET lease = (SELECT lease FROM complete_and_receive(pg_temp.lease(), '"one"', 'chain'));
SELECT payload FROM complete_and_receive(pg_temp.lease(), NULL, '{chain}'::text[], max => 5, lease_for => '1 h', worker => 'w2');
SAVEPOINT s;
SELECT test.refused(format($$SELECT front_tasks.complete_and_receive(%L, NULL, 'chain')$$, pg_temp.lease())) ~ '^QB001 {"code_detail":"already_completed"' AS refused;
SELECT t.payload, s.state, s.result, s.worker FROM tasks AS t, LATERAL status(t.id) AS s WHERE t.queue = 'chain' ORDER BY t.payload;
COMMIT;

-- Deadlines of the task and of the attempt bound the lease.
BEGIN;
SET LOCAL belay.now = '2020-01-03 12:00:00+00';
SELECT send('timed', policy => '{"attempt_timeout_ms": 10000}') IS NOT NULL;
SELECT lease_until, deadline FROM pg_temp.take('timed');
SELECT extend(pg_temp.lease(), '1 h');
-- Upstream results of a flow, and capabilities.
SELECT flow_id IS NOT NULL FROM create_flow('{"tasks":[{"key":"a","queue":"f1"},{"key":"b","queue":"f2","after":["a"],"capabilities":["gpu"]}]}');
SELECT complete(lease, '{"n": 1}') FROM receive('f1');
SELECT count(*) FROM receive('f2');
SELECT upstream -> 0 -> 'result' AS upstream FROM receive('f2', capabilities => '{gpu}');
COMMIT;

-- DR-1: the same rows, events and rights as the detailed functions, and both may be mixed.
BEGIN;
SET LOCAL belay.now = '2020-01-04 12:00:00+00';
-- Sent here, claimed and completed there.
SELECT send('mixed', '1') AS a \gset
SELECT lease_epoch AS epoch FROM claim_tasks('w', 'i', '{mixed}') \gset
SELECT state FROM complete_task(:'a', :epoch, '"done"');
SELECT state, result FROM status(:'a');
-- Created there, received, extended and completed here.
SELECT task_id AS b FROM create_task('mixed', '2', p_tags => '{"k":"v"}') \gset
SELECT payload, headers FROM pg_temp.take('mixed');
SELECT lease_until_ms = 1000 * extract(epoch FROM extend(pg_temp.lease(), '5 min')) AS same FROM tasks WHERE id = :'b';
SELECT capped FROM renew_task(:'b', (SELECT lease_epoch FROM tasks WHERE id = :'b'), 400000);
SELECT extend(pg_temp.lease(), '1 s');
-- An operator revokes the lease: the front door sees that it is lost.
SELECT result FROM revoke_lease(:'b');
SELECT test.refused(format('SELECT front_tasks.extend(%L)', pg_temp.lease())) ~ '^QB001 {"code_detail":"stale_epoch"' AS lost;
COMMIT;
SELECT topic, type, count(*) FROM outbox_events GROUP BY topic, type ORDER BY topic, type;
SELECT * FROM belay.check_hub('front_tasks');
SELECT * FROM check_tasks();
SELECT belay.drop_hub('front_tasks', p_force => true);
