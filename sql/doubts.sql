-- What is accepted, but said a word about; and what is refused, because nothing could come of it.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('doubts'), belay.create_hub('doubts_dx', 'duroxide-pg');

-- ER-6: an item of an unknown kind is stored as it is, since a newer client may know it. A session is warned once for each kind.
SELECT doubts.enqueue_worker_work('{"ActivityExcute":{"instance":"i","id":1,"name":"A"}}');
SELECT doubts.enqueue_worker_work('{"ActivityExcute":{"instance":"i","id":2,"name":"A"}}');
SELECT doubts.enqueue_orchestrator_work('i', '{"EventRaised":{"instance":"i"}}');
SELECT count(*) FROM doubts.fetch_work_items(60000, 'o', p_max_items => 10, p_now_ms => (extract(epoch FROM now()) * 1000)::bigint);
\c -
\set VERBOSITY default
SELECT doubts.enqueue_worker_items('[{"work_item":{"ActivityExcute":{}}},{"work_item":{"ActivityExcute":{}}}]');
\set VERBOSITY terse
-- A hub of api duroxide-pg says nothing, as that project.
SELECT doubts_dx.enqueue_worker_work('{"Other":{"instance":"i","id":1}}');

-- ER-6: a session that serves a queue that never had a task is told so, once.
SELECT count(*) FROM doubts.claim_tasks('w', 'i', '{emials}');
SELECT count(*) FROM doubts.claim_tasks('w', 'i', '{emials}');
SELECT count(*) FROM doubts.create_tasks('[{"queue":"emails","kind":"k"}]');
\c -
\set VERBOSITY terse
SELECT count(*) FROM doubts.claim_tasks('w', 'i', '{emails}');
SELECT count(*) FROM doubts.claim_tasks('w', 'i', '{emails}');

-- CL-1, TC-1: a task of a producer whose clock is ahead can be claimed at once.
SELECT state FROM doubts.create_task('ahead', p_now_ms => (extract(epoch FROM now()) * 1000)::bigint + 50000);
BEGIN;
SELECT set_config('belay.now', (now() + interval '50 s')::text, true) IS NOT NULL AS ahead, doubts.send('ahead') IS NOT NULL AS sent;
COMMIT;
SELECT count(*) FROM doubts.claim_tasks('w', 'i', '{ahead}', p_max_items => 10);

-- A sealed flow lists its tasks, and be it none: then it completes at once. One that is not sealed may begin empty.
SELECT test.error($$SELECT doubts.create_flow('{"kind":"k"}')$$);
SELECT a.state, b.state FROM doubts.create_flow('{"kind":"k","tasks":[]}') AS a, doubts.create_flow('{"kind":"k","tasks":null}') AS b;
SELECT state FROM doubts.create_flow('{"kind":"k","seal":false}');

-- PO-4: by default an item is set aside after 25 attempts; off lets it come back for ever. Applications of duroxide-pg count
-- attempts themselves.
SELECT hub, value, is_default FROM belay.hub_options WHERE option = 'max_attempts' AND hub LIKE 'doubts%' ORDER BY hub;
SELECT belay.set_hub_option('doubts', 'max_attempts', 'off');
SELECT value, is_default FROM belay.hub_options WHERE option = 'max_attempts' AND hub = 'doubts';
SELECT belay.set_hub_option('doubts', 'max_attempts', NULL);
SELECT test.error($$SELECT belay.set_hub_option('doubts', 'slot_count', 'off')$$);
SELECT belay.set_hub_option('doubts', 'max_clock_skew', '0');
TRUNCATE doubts.worker_queue;
SELECT doubts.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":9,"name":"A"}}', p_now_ms => 1000);
SELECT sum(n) FROM generate_series(1, 30) AS at, LATERAL (SELECT count(*) AS n FROM doubts.fetch_work_item(1000, 'o', p_now_ms => 1000 * at)) AS f;
SELECT attempt_count, reason FROM doubts.dead_letters;

-- Settings of a queue that are the same are not written: a service may declare them at every start, and often.
SELECT doubts.set_queue('emails', '{"concurrency": 5, "rate_per_s": 2, "paused": false, "policy": {"max_attempts": 3}}');
SELECT l.xmin AS queue, m.xmin AS limits FROM doubts.queues AS l JOIN doubts.queue_limits AS m ON m.queue = l.name WHERE l.name = 'emails' \gset
SELECT doubts.set_queue('emails', '{"policy": {"max_attempts": 3}, "rate_per_s": 2.0, "concurrency": 5}'), doubts.set_queue('emails', '{"paused": null}');
SELECT l.xmin = :queue AS same_queue, m.xmin = :limits AS same_limits FROM doubts.queues AS l JOIN doubts.queue_limits AS m ON m.queue = l.name WHERE l.name = 'emails';
SELECT doubts.set_queue('emails', '{"concurrency": 6}');
SELECT m.concurrency, m.xmin = :limits AS same_limits FROM doubts.queue_limits AS m WHERE m.queue = 'emails';
SELECT belay.drop_hub(h, true) FROM unnest(ARRAY['doubts', 'doubts_dx']) AS h;
