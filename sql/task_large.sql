-- Bodies of callers' sizes: no task, signal or result can make a claim, a suspension or a read fail.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_lg');
SELECT belay.set_hub_option('task_lg', 'max_clock_skew', '0');
SET search_path = task_lg, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.epoch(n int) RETURNS bigint LANGUAGE sql AS $$ SELECT lease_epoch FROM task_lg.tasks WHERE id = pg_temp.id(n) $$;
-- What an array of signals has: names and bytes, or where it was cut.
CREATE FUNCTION pg_temp.shown(signals jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(CASE WHEN s ? 'truncated' THEN s::text ELSE concat(s ->> 'name', ':', length(s ->> 'payload')) END, ', ' ORDER BY n) FROM jsonb_array_elements(signals) WITH ORDINALITY AS e(s, n) $$;

-- ---- signals ----
-- SU-22: a claim has signals of 1 MiB at most. One that does not fit ends the list, and says behind which number the others come.
SELECT state FROM create_task('l', p_task_id => pg_temp.id(1), p_now_ms => 1000);
SELECT pg_temp.epoch(1) IS NOT NULL AS claimed FROM claim_tasks('w', 'w-1', p_now_ms => 1000);
SELECT w ->> 'waitpoint_id' AS wp, w ->> 'token' AS token FROM suspend_task(pg_temp.id(1), pg_temp.epoch(1), '{"waitpoints": [{"key": "k"}], "condition": {"count": {"n": 4, "of": "signals"}}}', 1000),
    jsonb_array_elements(waitpoints) AS w \gset
SELECT result, effect FROM deliver_signal(pg_temp.id(1), :'wp', :'token', '{"name": "a", "payload": "small", "signal_id": "1"}', 1100);
SELECT result, effect FROM deliver_signal(pg_temp.id(1), :'wp', :'token', jsonb_build_object('name', 'b', 'signal_id', '2', 'payload', repeat('x', 1000000)), 1200);
SELECT result, effect FROM deliver_signal(pg_temp.id(1), :'wp', :'token', jsonb_build_object('name', 'c', 'signal_id', '3', 'payload', repeat('y', 1000000)), 1300);
SELECT result, effect FROM deliver_signal(pg_temp.id(1), :'wp', :'token', '{"name": "d", "payload": "small", "signal_id": "4"}', 1400);
SELECT state FROM create_task('l', p_task_id => pg_temp.id(2), p_now_ms => 1400);
SELECT right(task_id::text, 1) AS task, attempt_kind, pg_temp.shown(signals) AS signals FROM claim_tasks('w', 'w-1', p_max_items => 10, p_now_ms => 1500);
-- The others are read page by page.
SELECT nr, signal_id, waitpoint_id = :'wp' AS here, key, name, source, length(payload::text) AS bytes, accepted_at_ms FROM list_signals(pg_temp.id(1), 2);
SELECT nr FROM list_signals(pg_temp.id(1), p_limit => 3);
SELECT nr FROM list_signals(pg_temp.id(1), NULL, NULL);
SELECT count(*) FROM list_signals(pg_temp.id(2));
SELECT test.refused($$SELECT task_lg.list_signals(NULL)$$), test.refused($$SELECT task_lg.list_signals(gen_random_uuid(), 0, 0)$$);
-- The same for signals that came before the task slept: the answer of suspend_task has 1 MiB of them.
SELECT waitpoint_id AS wp, token FROM create_waitpoint(pg_temp.id(2), pg_temp.epoch(2), 'early', 60000, 1500) \gset
SELECT effect FROM deliver_signal(pg_temp.id(2), :'wp', :'token', jsonb_build_object('name', 'a', 'payload', repeat('x', 1000)), 1600);
SELECT effect FROM deliver_signal(pg_temp.id(2), :'wp', :'token', jsonb_build_object('name', 'b', 'payload', repeat('x', 1 << 20)), 1600);
SELECT result, w ->> 'key' AS key, pg_temp.shown(w -> 'signals') AS signals FROM suspend_task(pg_temp.id(2), pg_temp.epoch(2), jsonb_build_object('waitpoints', jsonb_build_array(jsonb_build_object('key', 'early', 'waitpoint_id', :'wp'), '{"key": "late"}'::jsonb),
    'condition', '{"count": {"n": 2, "of": "signals"}}'::jsonb), 1700), jsonb_array_elements(waitpoints) AS w;
SELECT nr, key, name, length(payload #>> '{}') AS bytes FROM list_signals(pg_temp.id(2), 1);

-- ---- results ----
-- FX-2: a claim has results of 1 MiB at most; from the first that does not fit on they are left out, and upstream_results has them.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(100), 'tasks', jsonb_build_array(
    jsonb_build_object('key', 'a', 'queue', 'f', 'task_id', pg_temp.id(11)), jsonb_build_object('key', 'b', 'queue', 'f', 'task_id', pg_temp.id(12)),
    jsonb_build_object('key', 'c', 'queue', 'f', 'task_id', pg_temp.id(13)), jsonb_build_object('key', 'd', 'queue', 'g', 'task_id', pg_temp.id(14), 'after', '["a", "b", "c"]'::jsonb))), 2000);
SELECT count(*) FROM claim_tasks('w', 'w-1', '{f}', p_max_items => 10, p_now_ms => 2000);
SELECT result FROM complete_task(pg_temp.id(11), 1, to_jsonb(repeat('a', 1000000)), p_now_ms => 2000);
SELECT result FROM complete_task(pg_temp.id(12), 1, to_jsonb(repeat('b', 60000)), p_now_ms => 2000);
SELECT result FROM complete_task(pg_temp.id(13), 1, '3', p_now_ms => 2000);
SELECT u ->> 'key' AS key, u ->> 'state' AS state, length(u ->> 'result') AS bytes, u -> 'truncated' AS truncated FROM claim_tasks('w', 'w-1', '{g}', p_now_ms => 2100), jsonb_array_elements(upstream) AS u;
SELECT key, length(result #>> '{}') AS bytes FROM upstream_results(pg_temp.id(14));

-- ---- bodies ----
-- TC-8: a body that is small as jsonb and huge as text is refused when it comes, since every claim would have to print it.
SELECT pg_column_size(jsonb_agg('1e131071'::jsonb)) < 10000 AS small FROM generate_series(1, 600);
CREATE FUNCTION pg_temp.digits(n int) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_agg('1e131071'::jsonb) FROM generate_series(1, n) $$;
SELECT test.refused($$SELECT task_lg.create_task('l', pg_temp.digits(600))$$);
SELECT test.refused($$SELECT task_lg.complete_task(pg_temp.id(2), pg_temp.epoch(2), pg_temp.digits(600), p_now_ms => 1700)$$);
SELECT test.refused($$SELECT task_lg.deliver_signal(pg_temp.id(2), pg_temp.id(3), '', jsonb_build_object('name', 'n', 'payload', pg_temp.digits(600)))$$);
SELECT state FROM create_task('l', pg_temp.digits(500), pg_temp.id(4), p_now_ms => 3000);
SELECT length(payload::text) FROM claim_tasks('w', 'w-1', '{l}', p_now_ms => 3000);
-- Tags, policies and suspensions have the limit of bodies.
SELECT belay.set_hub_option('task_lg', 'max_body_bytes', '1 kB');
SELECT test.refused($$SELECT task_lg.create_task('l', p_tags => jsonb_build_object('t', repeat('x', 2000)))$$);
SELECT test.refused($$SELECT task_lg.create_task('l', p_policy => jsonb_build_object('retryable', (SELECT jsonb_agg('timeout'::text) FROM generate_series(1, 1000))))$$);
SELECT test.refused($$SELECT task_lg.suspend_task(pg_temp.id(4), pg_temp.epoch(4), jsonb_build_object('waitpoints', '[{"key": "k"}]'::jsonb, 'condition', jsonb_build_object('single', jsonb_build_object('key', 'k', 'names', jsonb_build_array(repeat('n', 2000))))), 3000)$$);
SELECT test.refused($$SELECT task_lg.create_flow(jsonb_build_object('tags', jsonb_build_object('t', repeat('x', 2000)), 'tasks', '[{"queue": "f"}]'::jsonb))$$);
SELECT belay.set_hub_option('task_lg', 'max_body_bytes', NULL);

-- ---- reads ----
-- TV-9: get_task has the errors of attempts with 1 MiB of details, the last attempts first.
SELECT state FROM create_task('e', p_task_id => pg_temp.id(5), p_policy => '{"max_attempts": 9, "backoff": {"kind": "fixed", "delay_ms": 0}}', p_now_ms => 4000);
DO $$
BEGIN
    FOR n IN 1..3 LOOP
        PERFORM FROM task_lg.claim_tasks('w', 'w-1', '{e}', p_now_ms => 4000);
        PERFORM FROM task_lg.fail_task(pg_temp.id(5), pg_temp.epoch(5), 'transient', 'no ' || n,
            -- Text that does not compress.
            (SELECT to_jsonb(string_agg(md5(concat(n, i)), '')) FROM generate_series(1, 20000) AS i), p_now_ms => 4000);
    END LOOP;
END $$;
SELECT a ->> 'attempt_index' AS attempt, a -> 'error' ->> 'message' AS message, length(a -> 'error' ->> 'details') AS bytes, a -> 'error' -> 'truncated' AS truncated
  FROM jsonb_array_elements(get_task(pg_temp.id(5)) -> 'attempts') AS a;
-- A task whose bodies are all as large as the option allows can be read as a whole.
SELECT belay.set_hub_option('task_lg', 'max_body_bytes', '32 MiB');
SELECT test.sqlstate($$SELECT belay.set_hub_option('task_lg', 'max_body_bytes', '33 MiB')$$);
DO $$
DECLARE
    body jsonb := to_jsonb(repeat('x', (32 << 20) - 100));
    id uuid := pg_temp.id(6);
BEGIN
    PERFORM FROM task_lg.create_task('b', body, id, p_tags => jsonb_build_object('t', body), p_policy => '{"max_attempts": 9, "backoff": {"kind": "fixed", "delay_ms": 0}}', p_now_ms => 5000);
    PERFORM FROM task_lg.claim_tasks('w', 'w-1', '{b}', p_now_ms => 5000);
    PERFORM FROM task_lg.progress_task(id, pg_temp.epoch(6), p_checkpoint => body, p_now_ms => 5000);
    PERFORM FROM task_lg.fail_task(id, pg_temp.epoch(6), 'transient', 'no', body, p_now_ms => 5000);
    PERFORM FROM task_lg.claim_tasks('w', 'w-1', '{b}', p_now_ms => 5000);
    PERFORM FROM task_lg.suspend_task(id, pg_temp.epoch(6), jsonb_build_object('waitpoints', '[{"key": "k"}]'::jsonb, 'condition', jsonb_build_object('single', jsonb_build_object('key', 'k', 'names', jsonb_build_array(repeat('x', (32 << 20) - 500))))), 5000);
END $$;
SELECT state, length(payload #>> '{}') >> 20 AS payload, length(checkpoint #>> '{}') >> 20 AS checkpoint, length(failure_details #>> '{}') >> 20 AS failure, length(tags ->> 't') >> 20 AS tags FROM tasks WHERE id = pg_temp.id(6);
SELECT pg_column_size(get_task(pg_temp.id(6))) >> 20 AS mib;
SELECT * FROM check_tasks();
SELECT belay.drop_hub('task_lg');
