-- Settling many tasks and claiming in one call: settle_and_claim_tasks.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_settle');
SELECT belay.set_hub_option('task_settle', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('task_settle', 'events', 'lease,completion');
SET search_path = task_settle, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.ids(VARIADIC n int[]) RETURNS uuid[] LANGUAGE sql IMMUTABLE AS $$ SELECT array_agg(pg_temp.id(i) ORDER BY nr) FROM unnest(n) WITH ORDINALITY AS u (i, nr) $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
-- Removes all tasks and makes those with these numbers, leased from 1000 to 2000, each with epoch 1.
CREATE PROCEDURE pg_temp.start(VARIADIC n int[]) LANGUAGE sql AS $$
    TRUNCATE task_settle.tasks, task_settle.attempts, task_settle.suspensions, task_settle.waitpoints, task_settle.signals, task_settle.flows, task_settle.edges, task_settle."groups", task_settle.outbox_events;
    SELECT FROM unnest(n) AS i, task_settle.create_task('l', NULL, pg_temp.id(i), p_now_ms => 1000);
    SELECT FROM task_settle.claim_tasks('w', 'w-1', p_lease_ms => 1000, p_max_items => 1000, p_now_ms => 1000);
$$;
CREATE TEMP VIEW task_now AS
    SELECT pg_temp.n(id) AS n, state, lease_epoch AS epoch, attempt_index AS attempt, pending_attempt AS pending, retry_count AS retries, available_at_ms AS available, result, checkpoint,
           failure_class AS class, failure_message AS message FROM task_settle.tasks ORDER BY id;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM task_settle.outbox_events RETURNING *)
    SELECT concat_ws(' ', type, coalesce((SELECT flow_key FROM task_settle.tasks WHERE id = subject::uuid), pg_temp.n(subject::uuid)::text), details ->> 'cause') FROM gone WHERE type <> 'acquired' AND subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;

-- GT-1: one row per outcome, in the order of the arrays, with what the single function answers; then a row per claimed task. The outcomes happen in that order.
CALL pg_temp.start(1, 2, 3, 4, 5, 6);
SELECT FROM create_task('l', '{"p": 1}', pg_temp.id(7), p_now_ms => 1000);
SELECT outcome_index AS i, error, result, state, available_at_ms AS available, next_attempt_index AS next, pg_temp.n(task_id) AS n, lease_epoch AS epoch, waitpoints #>> '{0,key}' AS waitpoint, suspension_id IS NOT NULL AS suspended,
       queue, payload, attempt_index, attempt_kind, lease_until_ms AS until, lease_id IS NOT NULL AS lease
  FROM settle_and_claim_tasks(pg_temp.ids(6, 5, 4, 3, 2, 1), '{1,1,1,1,1,1}', '{complete,fail,fail,delay,release,suspend}',
           p_results => ARRAY['{"r": 6}', NULL, NULL, NULL, NULL, NULL]::jsonb[], p_classes => '{NULL,transient,permanent,NULL,NULL,NULL}',
           p_messages => '{NULL,again,never,NULL,NULL,NULL}', p_details => ARRAY[NULL, '{"d": 5}', NULL, NULL, NULL, NULL]::jsonb[], p_delays_ms => '{NULL,700,NULL,300,900,NULL}',
           p_checkpoints => ARRAY[NULL, NULL, NULL, '{"c": 3}', NULL, NULL]::jsonb[], p_suspensions => ARRAY[NULL, NULL, NULL, NULL, NULL, '{"waitpoints": [{"key": "k"}], "condition": "operator_only"}']::jsonb[],
           p_worker => 'w', p_worker_instance => 'w-1', p_lease_ms => 5000, p_max_items => 10, p_now_ms => 1500);
SELECT * FROM task_now;
SELECT pg_temp.n(task_id) AS n, attempt_index, outcome, error FROM task_attempts WHERE ended_ms IS NOT NULL ORDER BY task_id;
SELECT * FROM pg_temp.told();
SELECT * FROM check_tasks();
-- Without p_outcomes all are completed; without p_results, without a result. What was released is there for the claim of the same call, and so are the places that the outcomes give back.
CALL pg_temp.start(1, 2);
SELECT outcome_index AS i, result, error FROM settle_and_claim_tasks(pg_temp.ids(1), '{1}', p_now_ms => 1500);
SELECT outcome_index AS i, state, available_at_ms AS available, pg_temp.n(task_id) AS n, lease_epoch AS epoch, attempt_index, attempt_kind
  FROM settle_and_claim_tasks(pg_temp.ids(2), '{1}', '{release}', p_worker => 'w', p_worker_instance => 'w-1', p_max_items => 1, p_now_ms => 1500);
SELECT set_queue('lim', '{"concurrency": 2}');
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'lim', 'task_id', pg_temp.id(n))) FROM generate_series(11, 15) AS n), 1000);
SELECT pg_temp.n(task_id) AS n FROM claim_tasks('w', 'w-1', '{lim}', p_max_items => 5, p_now_ms => 1000);
SELECT outcome_index AS i, result, pg_temp.n(task_id) AS n
  FROM settle_and_claim_tasks(pg_temp.ids(12, 11), '{1,1}', p_worker => 'w', p_worker_instance => 'w-1', p_queues => '{lim}', p_max_items => 5, p_now_ms => 1500);
SELECT set_queue('lim', '{"concurrency": null}');

-- GT-2: a lost lease, a task that there is not and a refused argument concern their own outcome alone, which says what the single function would raise. A task whose outcome was refused is leased as before.
SELECT belay.set_hub_option('task_settle', 'max_body_bytes', '1024');
CALL pg_temp.start(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
SELECT state FROM release_task(pg_temp.id(2), 1, p_now_ms => 1500);
SELECT result FROM complete_task(pg_temp.id(3), 1, '{"r": 3}', p_now_ms => 1500);
CREATE TEMP TABLE given (i serial, id uuid, epoch bigint, outcome text, result jsonb, class text, details jsonb, delay bigint, checkpoint jsonb, suspension jsonb);
INSERT INTO given (id, epoch, outcome, result, class, details, delay, checkpoint, suspension) VALUES
    (pg_temp.id(1), 1, 'complete', '{"r": 1}', NULL, NULL, NULL, NULL, NULL), (NULL, 1, 'complete', NULL, NULL, NULL, NULL, NULL, NULL),
    (pg_temp.id(99), 1, 'complete', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(99), 1, 'suspend', NULL, NULL, NULL, NULL, NULL, '{"waitpoints": [{"key": "k"}], "condition": "operator_only"}'),
    (pg_temp.id(2), 1, 'complete', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(3), 1, 'complete', '{"r": 3}', NULL, NULL, NULL, NULL, NULL),
    (pg_temp.id(3), 1, 'complete', '{"r": 4}', NULL, NULL, NULL, NULL, NULL), (pg_temp.id(3), 1, 'fail', NULL, 'permanent', NULL, NULL, NULL, NULL),
    (pg_temp.id(4), NULL, 'release', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(4), 2, 'release', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(4), 0, 'release', NULL, NULL, NULL, NULL, NULL, NULL),
    (pg_temp.id(5), 1, 'complete', to_jsonb(repeat('x', 2000)), NULL, NULL, NULL, NULL, NULL), (pg_temp.id(5), 1, 'fail', NULL, 'transient', to_jsonb(repeat('x', 2000)), NULL, NULL, NULL),
    (pg_temp.id(5), 1, 'delay', NULL, NULL, NULL, 5, to_jsonb(repeat('x', 2000)), NULL), (pg_temp.id(5), 1, 'suspend', NULL, NULL, NULL, NULL, NULL, to_jsonb(repeat('x', 2000))),
    (pg_temp.id(6), 1, 'fail', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(6), 1, 'fail', NULL, 'odd', NULL, NULL, NULL, NULL), (pg_temp.id(6), 1, 'fail', NULL, 'transient', NULL, -1, NULL, NULL),
    (pg_temp.id(7), 1, 'delay', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(7), 1, 'delay', NULL, NULL, NULL, -1, NULL, NULL), (pg_temp.id(7), 1, 'release', NULL, NULL, NULL, -1, NULL, NULL),
    (pg_temp.id(8), 1, 'suspend', NULL, NULL, NULL, NULL, NULL, NULL), (pg_temp.id(8), 1, 'suspend', NULL, NULL, NULL, NULL, NULL, '[]'), (pg_temp.id(8), 1, 'suspend', NULL, NULL, NULL, NULL, NULL, '{"waitpoints": [{"key": "k"}], "condition": "never"}'),
    (pg_temp.id(8), 1, 'suspend', NULL, NULL, NULL, NULL, NULL, '{"waitpoints": [{"key": "k"}], "condition": "timeout_only", "timeout_at_ms": 1200}'), (pg_temp.id(8), 7, 'suspend', NULL, NULL, NULL, NULL, NULL, '{"waitpoints": [{"key": "k"}], "condition": "operator_only"}'),
    (pg_temp.id(9), 1, 'fail', NULL, 'cancelled', NULL, NULL, NULL, NULL);
CREATE FUNCTION pg_temp.settle_given(now_ms bigint) RETURNS TABLE (i int, error text, reason text, result text, state text, same boolean) LANGUAGE sql AS $$
    SELECT s.outcome_index, s.error, s.reason, s.result, s.state, s.same_result
      FROM (SELECT array_agg(id ORDER BY i) AS ids, array_agg(epoch ORDER BY i) AS epochs, array_agg(outcome ORDER BY i) AS outcomes, array_agg(result ORDER BY i) AS results, array_agg(class ORDER BY i) AS classes,
                   array_agg(details ORDER BY i) AS details, array_agg(delay ORDER BY i) AS delays, array_agg(checkpoint ORDER BY i) AS checkpoints, array_agg(suspension ORDER BY i) AS suspensions FROM given) AS g,
           task_settle.settle_and_claim_tasks(ids, epochs, outcomes, results, classes, NULL, details, delays, checkpoints, suspensions, p_now_ms => now_ms) AS s
$$;
-- What the single functions say, each of them undone.
CREATE FUNCTION pg_temp.single(g given) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text := 'settled';
    detail text;
BEGIN
    BEGIN
        CASE g.outcome
            WHEN 'complete' THEN PERFORM task_settle.complete_task(g.id, g.epoch, g.result, p_now_ms => 1500);
            WHEN 'fail' THEN PERFORM task_settle.fail_task(g.id, g.epoch, g.class, NULL, g.details, g.delay, p_now_ms => 1500);
            WHEN 'delay' THEN PERFORM task_settle.delay_task(g.id, g.epoch, g.delay, g.checkpoint, p_now_ms => 1500);
            WHEN 'release' THEN PERFORM task_settle.release_task(g.id, g.epoch, g.delay, p_now_ms => 1500);
            WHEN 'suspend' THEN PERFORM task_settle.suspend_task(g.id, g.epoch, g.suspension, p_now_ms => 1500);
        END CASE;
        RAISE division_by_zero;
    EXCEPTION
        WHEN division_by_zero THEN NULL;
        WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
            answer := SQLSTATE || ' ' || (detail::json ->> 'code_detail');
    END;
    RETURN answer;
END $$;
CREATE TEMP TABLE alone AS SELECT g.i - 1 AS i, g.outcome, pg_temp.single(g) AS said FROM given AS g;
CREATE TEMP TABLE together AS SELECT * FROM pg_temp.settle_given(1500);
SELECT * FROM together ORDER BY i;
SELECT a.*, t.error, t.reason FROM alone AS a JOIN together AS t USING (i) WHERE a.said <> coalesce(t.error || ' ' || t.reason, 'settled');
SELECT * FROM task_now WHERE n <> 2;
-- A lease that is over.
CALL pg_temp.start(1, 2);
SELECT outcome_index AS i, error, reason, state FROM settle_and_claim_tasks(pg_temp.ids(2, 1), '{1,1}', '{complete,release}', p_now_ms => 2000);
-- The same call once more, as after a lost answer: each outcome says so, and nothing happens twice.
CALL pg_temp.start(1, 2, 3);
SELECT outcome_index AS i, error, reason, result, state, same_result FROM settle_and_claim_tasks(pg_temp.ids(3, 2, 1), '{1,1,1}', '{complete,fail,release}', p_classes => '{NULL,transient,NULL}', p_now_ms => 1500);
SELECT md5(test.content('task_settle')) AS before \gset
SELECT outcome_index AS i, error, reason, result, state, same_result FROM settle_and_claim_tasks(pg_temp.ids(3, 2, 1), '{1,1,1}', '{complete,fail,release}', p_classes => '{NULL,transient,NULL}', p_now_ms => 1500);
SELECT md5(test.content('task_settle')) = :'before' AS untouched;
-- One task twice in a call: the first outcome counts.
CALL pg_temp.start(1, 2);
SELECT outcome_index AS i, error, reason, result, state, same_result FROM settle_and_claim_tasks(pg_temp.ids(1, 2, 1, 2), '{1,1,1,1}', '{complete,release,complete,complete}', p_now_ms => 1500);
-- A suspension with its idempotency key is answered again, with tokens; a signal that came early ends it at once, and the lease stays.
CALL pg_temp.start(1, 2);
SELECT waitpoint_id AS early, token FROM create_waitpoint(pg_temp.id(2), 1, 'k', NULL, 1100) \gset
SELECT result, effect FROM deliver_signal(pg_temp.id(2), :'early', :'token', '{"name": "go"}', 1200);
SELECT format('{"waitpoints": [{"key": "k", "waitpoint_id": "%s"}], "condition": {"single": {"key": "k"}}}', :'early') AS adopts \gset
CREATE TEMP TABLE answers AS SELECT 1 AS nr, s.* FROM settle_and_claim_tasks(pg_temp.ids(1, 2), '{1,1}', '{suspend,suspend}',
    p_suspensions => ARRAY['{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "a"}}, "idempotency_key": "s"}', :'adopts']::jsonb[], p_now_ms => 1500) AS s;
INSERT INTO answers SELECT 2, s.* FROM settle_and_claim_tasks(pg_temp.ids(1), '{1}', '{suspend}',
    p_suspensions => ARRAY['{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "a"}}, "idempotency_key": "s"}']::jsonb[], p_now_ms => 1600) AS s;
SELECT nr, outcome_index AS i, error, result, waitpoints #>> '{0,token}' IS NOT NULL AS token, jsonb_array_length(waitpoints #> '{0,signals}') AS signals FROM answers ORDER BY nr, outcome_index;
SELECT count(DISTINCT (suspension_id, waitpoints)) AS answers FROM answers WHERE pg_temp.n(task_id) = 1;
SELECT n, state, epoch FROM task_now;

-- GT-3: members of a flow settle in one call: what the first outcome means for the flow holds for the next.
CREATE FUNCTION pg_temp.flow(tasks jsonb, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT state FROM task_settle.create_flow(jsonb_build_object('flow_id', pg_temp.id(900), 'tasks',
               (SELECT jsonb_agg(jsonb_build_object('queue', 'l', 'task_id', pg_temp.id(i::int)) || t ORDER BY i) FROM jsonb_array_elements(tasks) WITH ORDINALITY AS x (t, i))) || more, 1000)
$$;
CREATE TEMP VIEW flow_now AS SELECT f.state AS flow, f.open_count AS open, string_agg(t.flow_key || '=' || t.state, ' ' ORDER BY t.flow_key) AS members
      FROM task_settle.flows AS f JOIN task_settle.tasks AS t ON t.flow_id = f.id GROUP BY f.id;
-- A join of all: the call that completes the last upstream claims the downstream, with its results.
CALL pg_temp.start(VARIADIC '{}'::int[]);
SELECT pg_temp.flow('[{"key": "a"}, {"key": "b"}, {"key": "c"}, {"key": "d", "after": ["a", "b", "c"]}]');
SELECT count(*) FROM claim_tasks('w', 'w-1', p_max_items => 10, p_lease_ms => 1000, p_now_ms => 1000);
SELECT outcome_index AS i, error, result, flow_key, (SELECT jsonb_agg(u -> 'result' ORDER BY u ->> 'key') FROM jsonb_array_elements(upstream) AS u) AS upstream
  FROM settle_and_claim_tasks(pg_temp.ids(3, 1, 2), '{1,1,1}', p_results => ARRAY['3', '1', '2']::jsonb[], p_worker => 'w', p_worker_instance => 'w-1', p_max_items => 5, p_now_ms => 1500);
SELECT * FROM flow_now;
SELECT * FROM pg_temp.told();
SELECT result FROM settle_and_claim_tasks(pg_temp.ids(4), '{1}', p_now_ms => 1500);
SELECT * FROM flow_now;
SELECT * FROM check_tasks();
-- fail_fast: the first failure cancels the siblings, so that their outcomes of the same call come too late. In the other order the completion counts.
CALL pg_temp.start(VARIADIC '{}'::int[]);
SELECT pg_temp.flow('[{"key": "a"}, {"key": "b"}, {"key": "c"}]', '{"fail_policy": "fail_fast"}');
SELECT count(*) FROM claim_tasks('w', 'w-1', p_max_items => 10, p_lease_ms => 1000, p_now_ms => 1000);
SELECT outcome_index AS i, error, reason, result, state FROM settle_and_claim_tasks(pg_temp.ids(3, 2, 1), '{1,1,1}', '{complete,fail,complete}', p_classes => '{NULL,permanent,NULL}', p_now_ms => 1500);
SELECT * FROM flow_now;
SELECT * FROM pg_temp.told();
SELECT * FROM check_tasks();

-- GT-4: the claim follows the rules of claim_tasks; with p_max_items 0 there is none, and its arguments are not looked at.
CALL pg_temp.start(VARIADIC '{}'::int[]);
SELECT count(*) FROM create_tasks('[{"queue": "a", "task_id": "00000000-0000-4000-8000-000000000001"}, {"queue": "b", "task_id": "00000000-0000-4000-8000-000000000002", "capabilities": ["gpu"]},
    {"queue": "b", "task_id": "00000000-0000-4000-8000-000000000003", "priority": 5}, {"queue": "b", "task_id": "00000000-0000-4000-8000-000000000004"}]', 1000);
SELECT * FROM settle_and_claim_tasks(NULL, NULL, p_now_ms => 1500);
SELECT * FROM settle_and_claim_tasks('{}', '{}', p_lease_ms => -1, p_now_ms => 1500);
SELECT pg_temp.n(task_id) AS n FROM settle_and_claim_tasks('{}', '{}', p_worker => 'w', p_worker_instance => 'w-1', p_queues => '{b}', p_max_items => 5, p_slots => '{}', p_now_ms => 1500);
SELECT pg_temp.n(task_id) AS n FROM settle_and_claim_tasks('{}', '{}', p_worker => 'w', p_worker_instance => 'w-1', p_queues => '{b}', p_max_items => 5, p_now_ms => 1500);
SELECT pg_temp.n(task_id) AS n FROM settle_and_claim_tasks('{}', '{}', p_worker => 'w', p_worker_instance => 'w-1', p_queues => '{b}', p_capabilities => '{gpu}', p_max_items => 5, p_now_ms => 1500);
-- A pause ends claims, and no outcome.
SELECT pause_hub('tasks');
SELECT outcome_index AS i, result, pg_temp.n(task_id) AS n FROM settle_and_claim_tasks(pg_temp.ids(2), '{1}', p_worker => 'w', p_worker_instance => 'w-1', p_max_items => 5, p_now_ms => 1500);
SELECT resume_hub('tasks');

-- GT-6: p_prefetch more are claimed only if at least p_prefetch_threshold tasks are ready that fit; also if nothing else is claimed. What was released in the same call counts.
CALL pg_temp.start(VARIADIC '{}'::int[]);
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', CASE WHEN n > 6 THEN 'other' ELSE 'p' END, 'task_id', pg_temp.id(n))) FROM generate_series(1, 9) AS n), 1000);
CREATE FUNCTION pg_temp.taken(p_max int, p_prefetch int, p_threshold int, p_queues text[] DEFAULT '{p}') RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v_taken bigint;
    BEGIN
        SELECT count(*) INTO v_taken FROM task_settle.settle_and_claim_tasks('{}', '{}', p_worker => 'w', p_worker_instance => 'w-1', p_queues => p_queues, p_max_items => p_max,
            p_prefetch => p_prefetch, p_prefetch_threshold => p_threshold, p_now_ms => 1500);
        RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = v_taken;  -- undoes the claim
    EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
        RETURN v_taken;
    END
$$;
SELECT pg_temp.taken(2, 3, 6) AS long_enough, pg_temp.taken(2, 3, 7) AS too_short, pg_temp.taken(0, 3, 6) AS only_ahead, pg_temp.taken(0, 3, 7) AS nothing,
       pg_temp.taken(2, 0, 1) AS none_wanted, pg_temp.taken(2, 3, 9, NULL) AS all_queues, pg_temp.taken(2, 3, 10, NULL) AS all_queues_too_short, pg_temp.taken(0, 8, 1) AS what_there_is;
-- Limited queues are claimed from for p_max_items alone: what waits in a buffer takes no place, and spends no rate. Neither are their tasks counted.
SELECT set_queue('p', '{"concurrency": 4}');
SELECT pg_temp.taken(2, 3, 1) AS concurrency, pg_temp.taken(0, 3, 1) AS only_ahead, pg_temp.taken(2, 3, 1, '{p,other}') AS beside_another, pg_temp.taken(0, 5, 3, '{p,other}') AS of_the_other, pg_temp.taken(0, 5, 4, '{p,other}') AS not_counted,
       pg_temp.taken(2, 3, 3, NULL) AS all_queues, pg_temp.taken(2, 3, 4, NULL) AS all_queues_not_counted;
SELECT set_queue('p', '{"concurrency": null, "rate_per_s": 10}');
SELECT pg_temp.taken(2, 3, 1) AS rate, pg_temp.taken(0, 3, 1) AS only_ahead;
SELECT set_queue('p', '{"rate_per_s": null}');
SELECT pg_temp.taken(2, 3, 6) AS without_limits;
CALL pg_temp.start(1, 2);
SELECT outcome_index AS i, pg_temp.n(task_id) AS n FROM settle_and_claim_tasks(pg_temp.ids(1, 2), '{1,1}', '{release,release}', p_worker => 'w', p_worker_instance => 'w-1', p_prefetch => 5, p_prefetch_threshold => 2, p_now_ms => 1500);
SELECT pause_hub('tasks');
SELECT pg_temp.taken(0, 3, 1) AS paused;
SELECT resume_hub('tasks');

-- GT-5: arrays of another length, an unrecognized outcome and bad arguments of the claim refuse the call; nothing is changed.
CALL pg_temp.start(1, 2);
SELECT md5(test.content('task_settle')) AS before \gset
SELECT arguments, test.refused(format('SELECT task_settle.settle_and_claim_tasks(pg_temp.ids(1, 2), %s, p_now_ms => 1500)', arguments))
  FROM unnest(ARRAY['''{1}''', '''{}''', '''{1,1}'', ''{complete}''', '''{1,1}'', ''{complete,drop}''', '''{1,1}'', p_results => ''{}''', '''{1,1}'', p_classes => ''{}''', '''{1,1}'', p_messages => ''{}''',
                    '''{1,1}'', p_details => ''{}''', '''{1,1}'', p_delays_ms => ''{1,2,3}''', '''{1,1}'', p_checkpoints => ''{}''', '''{1,1}'', p_suspensions => ''{}''', '''{1,1}'', p_worker => ''w'', p_worker_instance => ''i'', p_max_items => -1',
                    '''{1,1}'', p_max_items => 1', '''{1,1}'', p_worker => ''w'', p_max_items => 1', '''{1,1}'', p_worker => ''w'', p_worker_instance => ''i'', p_max_items => 1001',
                    '''{1,1}'', p_worker => ''w'', p_worker_instance => ''i'', p_max_items => 1, p_lease_ms => 0',
                    '''{1,1}'', p_prefetch => 1', '''{1,1}'', p_worker => ''w'', p_worker_instance => ''i'', p_prefetch => -1', '''{1,1}'', p_worker => ''w'', p_worker_instance => ''i'', p_max_items => 1, p_prefetch => 1000',
                    '''{1,1}'', p_worker => ''w'', p_worker_instance => ''i'', p_prefetch => 1, p_prefetch_threshold => 0']) AS arguments;
SELECT test.sqlstate('SELECT task_settle.settle_and_claim_tasks(array_fill(pg_temp.id(1), ''{10001}''), array_fill(1::bigint, ''{10001}''))');
SELECT belay.set_hub_option('task_settle', 'max_clock_skew', '1000');
SELECT test.sqlstate('SELECT task_settle.settle_and_claim_tasks(pg_temp.ids(1), ''{1}'', p_now_ms => 1500)');
SELECT belay.set_hub_option('task_settle', 'max_clock_skew', '0');
SELECT md5(test.content('task_settle')) = :'before' AS untouched;

-- A transaction that is bound to leases (GD-1) commits if an outcome of its own ends one of them; a lease that another call took away keeps it from that, and from all outcomes of the portion.
CALL pg_temp.start(VARIADIC '{}'::int[]);
SELECT count(*) FROM generate_series(1, 4) AS n, create_task('l', p_task_id => pg_temp.id(n));
SELECT count(*) FROM claim_tasks('w', 'w-1', p_lease_ms => 3600000, p_max_items => 4);
BEGIN;
SELECT guard_task(pg_temp.id(n), 1) FROM generate_series(1, 2) AS n;
SELECT outcome_index AS i, result FROM settle_and_claim_tasks(pg_temp.ids(2, 1), '{1,1}');
COMMIT;
BEGIN;
SELECT guard_task(pg_temp.id(3), 1);
SELECT result FROM revoke_lease(pg_temp.id(3));
SELECT outcome_index AS i, error, reason, result FROM settle_and_claim_tasks(pg_temp.ids(4, 3), '{1,1}');
COMMIT;
SELECT n, state FROM task_now;

-- Many, in any order: each once.
SELECT array_agg(n) AS thousand FROM generate_series(1, 1000) AS n \gset
CALL pg_temp.start(VARIADIC :'thousand'::int[]);
SELECT count(*), count(DISTINCT outcome_index) AS indexes, count(error) AS errors
  FROM settle_and_claim_tasks((SELECT array_agg(pg_temp.id(n) ORDER BY md5(n::text)) FROM generate_series(1, 1000) AS n), array_fill(1::bigint, '{1000}'), p_now_ms => 1500);
SELECT state, count(*) FROM tasks GROUP BY state;
SELECT belay.drop_hub('task_settle', true);
