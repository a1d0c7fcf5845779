-- The life of a task: create, claim, renew, progress, complete, fail, delay, release.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_life');
SELECT belay.set_hub_option('task_life', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('task_life', 'events', 'lease,operator,completion');
SET search_path = task_life, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
-- What the outbox was told since the last look.
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM task_life.outbox_events RETURNING *)
    SELECT concat_ws(' ', topic, type, pg_temp.n(subject::uuid), details - 'flow_id' - 'lease_id' - 'queue' - 'kind' - 'by' - 'as' - 'via') FROM gone WHERE subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;
CREATE VIEW pg_temp.t AS SELECT pg_temp.n(id) AS n, state, pending_attempt AS pending, lease_epoch AS epoch, lease_owner AS owner, lease_until_ms AS until, available_at_ms AS avail,
    attempt_index AS attempt, retry_count AS retries, reclaim_count AS reclaims, result FROM task_life.tasks ORDER BY id;

-- TC-1: ready at once, or delayed until the later of both times. TC-9: ids made one after the other sort that way.
SELECT state, created, substr(task_id::text, 15, 1) AS version FROM create_task('mail', '{"to":"a"}', p_now_ms => 1000);
DELETE FROM tasks;
SELECT pg_temp.n(task_id), state, created FROM create_task('mail', '{"to":"a"}', pg_temp.id(1), p_now_ms => 1000);
-- The nil uuid and the max uuid are no ids: lists begin at them.
SELECT test.refused($$SELECT create_task('mail', NULL, '00000000-0000-0000-0000-000000000000')$$),
       test.refused($$SELECT create_task('mail', NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff')$$) AS max,
       test.refused($$SELECT * FROM create_tasks('[{"queue":"mail","task_id":"00000000-0000-0000-0000-000000000000"}]')$$),
       test.refused($$SELECT create_flow('{"flow_id":"00000000-0000-0000-0000-000000000000","tasks":[]}')$$),
       test.refused($$SELECT create_flow('{"tasks":[{"key":"a","queue":"mail","task_id":"00000000-0000-0000-0000-000000000000"}]}')$$);
SELECT state FROM create_task('mail', NULL, pg_temp.id(2), p_delay_ms => 500, p_now_ms => 1000);
SELECT state FROM create_task('mail', NULL, pg_temp.id(3), p_delay_ms => 500, p_available_at_ms => 1200, p_now_ms => 1000);
SELECT state FROM create_task('mail', NULL, pg_temp.id(4), p_available_at_ms => 900, p_priority => -5, p_now_ms => 1000);
-- TC-2: priorities are clamped.
SELECT state FROM create_task('mail', NULL, pg_temp.id(5), p_priority => 99999, p_now_ms => 1000);
SELECT pg_temp.n(id), state, available_at_ms, priority FROM tasks ORDER BY id;
-- TC-4: an id that is known changes nothing.
SELECT pg_temp.n(task_id), state, created FROM create_task('other', '{"x":1}', pg_temp.id(2), p_now_ms => 2000);
SELECT queue, payload FROM tasks WHERE id = pg_temp.id(2);
-- TC-3 and others: what is refused.
SELECT test.refused($$SELECT task_life.create_task('mail', p_deadline_ms => 1000, p_now_ms => 1000)$$);
SELECT test.refused($$SELECT task_life.create_task(NULL)$$);
SELECT test.refused($$SELECT task_life.create_task('')$$);
SELECT test.refused($$SELECT task_life.create_task(repeat('x', 65))$$);
SELECT test.refused($$SELECT task_life.create_task(E'a\tb')$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_kind => repeat('x', 201))$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_delay_ms => -1)$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_tags => '{"a":1}')$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_capabilities => '{"a b"}')$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_capabilities => ARRAY(SELECT 'c' || n FROM generate_series(1, 257) AS n))$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_dedup_key => '')$$);
SELECT test.refused($$SELECT task_life.create_task('l', p_now_ms => -1)$$);
SELECT test.refused(format($$SELECT task_life.create_task('l', p_policy => %L)$$, policy)) FROM (VALUES ('{"max_attempt":1}'), ('[]'), ('{"max_attempts":-1}'), ('{"max_attempts":"1"}'),
    ('{"retryable":["permanent"]}'), ('{"retryable":["cancelled"]}'), ('{"backoff":{"kind":"linear"}}'), ('{"backoff":{"kind":"fixed","initial_ms":1}}'), ('{"backoff":{"jitter":2}}'),
    ('{"on_lease_expiry":"stop"}'), ('{"attempt_timeout_ms":0}')) AS v (policy);
SELECT belay.set_hub_option('task_life', 'max_body_bytes', '1024');
SELECT test.refused($$SELECT task_life.create_task('l', to_jsonb(repeat('x', 2000)))$$);
SELECT belay.set_hub_option('task_life', 'max_body_bytes', NULL);
-- Clock skew comes after the arguments.
SELECT belay.set_hub_option('task_life', 'max_clock_skew', '60 s');
SELECT test.sqlstate($$SELECT task_life.create_task('', p_now_ms => 1)$$), test.sqlstate($$SELECT task_life.create_task('l', p_now_ms => 1)$$),
       test.sqlstate($$SELECT task_life.cancel_task('00000000-0000-4000-8000-000000000099', p_now_ms => 1)$$), test.sqlstate($$SELECT task_life.cancel_task('00000000-0000-4000-8000-000000000001', p_now_ms => 1)$$);
SELECT belay.set_hub_option('task_life', 'max_clock_skew', '0');

-- TQ-1: priority, then time, then id; a due one joins; one that is not due does not.
SELECT pg_temp.n(task_id), queue, payload, priority, attempt_index, attempt_kind, lease_epoch, regexp_replace(replace(lease_id, task_id::text, '<id>'), ':[0-9a-f]{32}$', ':<nonce>') AS lease_id, lease_until_ms FROM claim_tasks('w', 'w-1', p_max_items => 10, p_lease_ms => 100, p_now_ms => 1100);
SELECT * FROM pg_temp.told();
-- What is delayed is not claimed before its time; leases that are over come back (TQ-7).
SELECT pg_temp.n(task_id) FROM claim_tasks('w', 'w-1', p_max_items => 10, p_lease_ms => 100, p_now_ms => 1499);
SELECT pg_temp.n(task_id), lease_until_ms FROM claim_tasks('w', 'w-1', p_max_items => 10, p_lease_ms => 100, p_now_ms => 1500);
SELECT test.refused($$SELECT task_life.claim_tasks(NULL, 'i')$$), test.refused($$SELECT task_life.claim_tasks('w', '')$$);
SELECT test.refused($$SELECT task_life.claim_tasks('w', 'i', p_lease_ms => 0)$$), test.refused($$SELECT task_life.claim_tasks('w', 'i', p_lease_ms => 86400001)$$), test.refused($$SELECT task_life.claim_tasks('w', 'i', p_max_items => 1001)$$);
SELECT count(*) FROM pg_temp.told();

-- TL-4: renew extends, never shortens; an expired lease cannot be renewed, and the fence tells in order.
SELECT * FROM renew_task(pg_temp.id(2), 1, 1000, 1550);
SELECT * FROM renew_task(pg_temp.id(2), 1, 10, 1560);
SELECT * FROM pg_temp.told();
SELECT test.refused($$SELECT task_life.renew_task('00000000-0000-4000-8000-000000000099', 1, 1000, 1550)$$);
SELECT test.refused($$SELECT task_life.renew_task('00000000-0000-4000-8000-000000000002', 2, 1000, 1550)$$);
SELECT test.refused($$SELECT task_life.renew_task('00000000-0000-4000-8000-000000000002', 1, 1000, 2550)$$);
SELECT test.refused($$SELECT task_life.renew_task('00000000-0000-4000-8000-000000000002', NULL, 1000, 1550)$$);
SELECT test.refused($$SELECT task_life.renew_task('00000000-0000-4000-8000-000000000002', 1, 0, 1550)$$);
SELECT pg_temp.n(task_id), renewed, lease_until_ms, reason FROM renew_tasks(ARRAY[pg_temp.id(3), pg_temp.id(2), pg_temp.id(99), pg_temp.id(2)], '{1,1,1,7}', 1000, 1599);
SELECT test.refused($$SELECT task_life.renew_tasks('{}', '{1}', 1000, 1)$$);
SELECT count(*) FROM pg_temp.told();

-- TW-2: progress stores what is given, and renews if asked.
SELECT * FROM progress_task(pg_temp.id(2), 1, 12.5, 'half of half', '{"row":7}', p_now_ms => 1600);
SELECT * FROM progress_task(pg_temp.id(2), 1, p_message => 'more', p_lease_ms => 5000, p_now_ms => 1700);
SELECT progress_pct, progress_message, progress_at_ms, checkpoint FROM tasks WHERE id = pg_temp.id(2);
SELECT test.refused($$SELECT task_life.progress_task('00000000-0000-4000-8000-000000000002', 1, 101, p_now_ms => 1700)$$);

-- TW-3: complete; the lease that has done so is refused, and told whether the result is the stored one.
SELECT result, state, lease_epoch FROM complete_task(pg_temp.id(2), 1, '{"ok":true}', p_now_ms => 1800);
SELECT test.refused($$SELECT task_life.complete_task('00000000-0000-4000-8000-000000000002', 1, '{"ok":true}', p_now_ms => 1900)$$);
SELECT test.refused($$SELECT task_life.complete_task('00000000-0000-4000-8000-000000000002', 1, '{"ok":false}', p_now_ms => 1900)$$);
SELECT test.refused($$SELECT task_life.complete_task('00000000-0000-4000-8000-000000000002', 1, NULL, p_now_ms => 1900)$$);
SELECT test.refused($$SELECT task_life.complete_task('00000000-0000-4000-8000-000000000002', 2, NULL, p_now_ms => 1900)$$);
SELECT * FROM pg_temp.told();
SELECT * FROM pg_temp.t WHERE n = 2;
SELECT outcome, kind, lease_count, lease_epoch, worker, worker_instance, started_ms, ended_ms, error FROM task_attempts WHERE task_id = pg_temp.id(2);
-- Refused: nothing is claimed (TW-4).
SELECT test.refused($$SELECT task_life.complete_and_claim('00000000-0000-4000-8000-000000000002', 5, NULL, 'w', 'i', p_now_ms => 1900)$$);
SELECT count(*) FROM create_task('post', NULL, pg_temp.id(6), p_now_ms => 1900);
SELECT pg_temp.n(task_id), attempt_kind FROM claim_tasks('w', 'w-2', '{post}', p_now_ms => 1900, p_lease_ms => 1000);
SELECT count(*) FROM create_task('post', NULL, pg_temp.id(7), p_now_ms => 1900);
SELECT pg_temp.n(task_id) FROM complete_and_claim(pg_temp.id(6), 1, '6', 'w', 'w-2', '{post}', p_lease_ms => 1000, p_now_ms => 2000);
SELECT pg_temp.n(task_id) FROM complete_and_claim(pg_temp.id(7), 1, '7', 'w', 'w-2', '{post}', p_lease_ms => 1000, p_now_ms => 2000);
SELECT n, state, result FROM pg_temp.t WHERE n IN (6, 7);

-- Retries: classes, backoff, counts.
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM outbox_events;
SELECT state FROM create_task('mail', NULL, pg_temp.id(1), p_now_ms => 0);
CREATE FUNCTION pg_temp.fail(n int, now_ms bigint, class text, retry_after bigint DEFAULT NULL) RETURNS TABLE (attempt int, kind text, epoch bigint, retry int, result text, state text, wait bigint, next int) LANGUAGE plpgsql AS $$
DECLARE c record; f record;
BEGIN
    SELECT * INTO c FROM task_life.claim_tasks('w', 'w-1', p_now_ms => now_ms);
    SELECT * INTO f FROM task_life.fail_task(c.task_id, c.lease_epoch, class, 'no luck', '{"code":5}', retry_after, p_now_ms => now_ms);
    RETURN QUERY SELECT c.attempt_index, c.attempt_kind, c.lease_epoch, c.retry_count, f.result, f.state, f.available_at_ms - now_ms, f.next_attempt_index;
END $$;
-- TR-1: exponential from a second, doubled; four attempts in all.
SELECT * FROM pg_temp.fail(1, 0, 'transient');
SELECT * FROM pg_temp.fail(1, 10000, 'timeout');
SELECT * FROM pg_temp.fail(1, 20000, 'infra_crash', 0);
SELECT last_failure, checkpoint FROM claim_tasks('w', 'w-1', p_now_ms => 20000) AS c;
SELECT result, state, available_at_ms, next_attempt_index FROM fail_task(pg_temp.id(1), 7, 'transient', 'last', p_now_ms => 20001);
SELECT * FROM pg_temp.told();
SELECT attempt_index, kind, outcome, lease_epoch, error FROM task_attempts ORDER BY attempt_index;
SELECT failure_class, failure_message, failure_details, terminal_at_ms FROM tasks;
-- TR-2: permanent is never retried; cancelled cancels; an unknown class is refused; max_attempts 1 and 0.
SELECT count(*) FROM create_tasks('[{"queue":"a","task_id":"00000000-0000-4000-8000-000000000011"},{"queue":"b","task_id":"00000000-0000-4000-8000-000000000012"},
  {"queue":"c","task_id":"00000000-0000-4000-8000-000000000013","policy":{"max_attempts":1}},
  {"queue":"d","task_id":"00000000-0000-4000-8000-000000000014","policy":{"max_attempts":0,"backoff":{"kind":"fixed","delay_ms":7}}},
  {"queue":"e","task_id":"00000000-0000-4000-8000-000000000015","policy":{"retryable":["timeout"]}},
  {"queue":"f","task_id":"00000000-0000-4000-8000-000000000016","policy":{"backoff":{"kind":"fixed","delay_ms":1000,"jitter":0.5}}}]', 30000);
SELECT test.refused($$SELECT task_life.fail_task('00000000-0000-4000-8000-000000000011', 1, 'odd')$$);
SELECT * FROM pg_temp.fail(11, 30000, 'permanent');
SELECT * FROM pg_temp.fail(12, 30000, 'cancelled');
SELECT state, cancelled_by, cancel_reason FROM tasks WHERE id = pg_temp.id(12);
SELECT * FROM pg_temp.fail(13, 30000, 'transient');
SELECT * FROM pg_temp.fail(14, 30000, 'transient');
SELECT * FROM pg_temp.fail(15, 30000, 'transient');
SELECT result, state, wait BETWEEN 500 AND 1500 AS in_range FROM pg_temp.fail(16, 30000, 'transient');
UPDATE tasks SET retry_count = 1000, attempt_index = 1001 WHERE id = pg_temp.id(14);
SELECT result, wait, retry FROM pg_temp.fail(14, 30007, 'transient');
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM outbox_events;

-- TW-6: delay and release keep attempt, deadline and counters.
SELECT state FROM create_task('mail', NULL, pg_temp.id(1), p_deadline_ms => 100000, p_policy => '{"attempt_timeout_ms":5000}', p_now_ms => 0);
SELECT attempt_index, attempt_kind, lease_until_ms, attempt_deadline_ms, deadline_ms FROM claim_tasks('w', 'w-1', p_lease_ms => 10000, p_now_ms => 100);
SELECT * FROM renew_task(pg_temp.id(1), 1, 60000, 200);
SELECT * FROM delay_task(pg_temp.id(1), 1, 1000, '{"at":3}', p_now_ms => 300);
SELECT test.refused($$SELECT task_life.complete_task('00000000-0000-4000-8000-000000000001', 1, NULL, p_now_ms => 400)$$);
SELECT count(*) FROM claim_tasks('w', 'w-2', p_now_ms => 1299);
SELECT attempt_index, attempt_kind, lease_epoch, lease_until_ms, attempt_deadline_ms, deadline_ms, checkpoint FROM claim_tasks('w', 'w-2', p_lease_ms => 10000, p_now_ms => 1300);
SELECT * FROM release_task(pg_temp.id(1), 3, p_now_ms => 1400);
-- The attempt's deadline has passed when it is claimed again: a new full one.
SELECT attempt_index, attempt_kind, lease_epoch, lease_until_ms, attempt_deadline_ms, reclaim_count, retry_count FROM claim_tasks('w', 'w-3', p_lease_ms => 10000, p_now_ms => 6000);
SELECT * FROM release_task(pg_temp.id(1), 5, 500, p_now_ms => 6100);
SELECT * FROM task_attempts;
SELECT attempt_index, attempt_kind, lease_epoch FROM claim_tasks('w', 'w-4', p_now_ms => 6600);
SELECT result FROM complete_task(pg_temp.id(1), 7, p_now_ms => 6700);
SELECT attempt_index, lease_epoch, lease_count, worker_instance, kind, started_ms, ended_ms, outcome FROM task_attempts;
SELECT * FROM pg_temp.told();
SELECT * FROM check_tasks();

-- Batches: TC-6, one bad item refuses them all; answers in the order of the items; ids that grow.
SELECT test.refused($$SELECT * FROM task_life.create_tasks('[{"queue":"x"},{"queue":"x","delay":5}]')$$), test.refused($$SELECT * FROM task_life.create_tasks('[{"queue":"x"},{"queue":""}]')$$);
SELECT test.refused($$SELECT * FROM task_life.create_tasks('{}')$$), test.refused($$SELECT * FROM task_life.create_tasks('[{"queue":"x","task_id":"x"}]')$$), test.refused($$SELECT * FROM task_life.create_tasks('[3]')$$);
SELECT count(*) FROM tasks WHERE queue = 'x';
SELECT item, state, created FROM create_tasks('[{"queue":"x","task_id":"00000000-0000-4000-8000-000000000020"},{"queue":"x","delay_ms":5,"kind":"k","priority":10000,"tags":{"a":"b"},"payload":null},{"queue":"x","task_id":"00000000-0000-4000-8000-000000000020"},{"queue":"y","capabilities":["b","a","b"]}]', 5000);
SELECT state, kind, priority, tags, payload FROM tasks WHERE queue = 'x' ORDER BY kind;
SELECT queue, tokens FROM capability_sets;
SELECT count(*) = 100 AND bool_and(ordered) AS grow FROM (SELECT task_id > lag(task_id, 1, '00000000-0000-0000-0000-000000000000') OVER (ORDER BY item) AS ordered FROM create_tasks((SELECT jsonb_agg('{"queue":"z"}'::jsonb) FROM generate_series(1, 100)), 5000)) AS x;
-- Queues are registered.
SELECT name, paused FROM queues ORDER BY name COLLATE "C";
RESET search_path;
SELECT belay.drop_hub('task_life', true);
