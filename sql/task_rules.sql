-- What no other file meets: every call in every state, limits of texts, layers of policies, whole events.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_rules');
SELECT belay.set_hub_option('task_rules', 'max_clock_skew', '0');
SELECT belay.set_hub_option('task_rules', 'events', 'lease,operator,completion');
SET search_path = task_rules, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
CREATE FUNCTION pg_temp.clear() RETURNS void LANGUAGE sql AS $$
    DELETE FROM task_rules.tasks; DELETE FROM task_rules.attempts; DELETE FROM task_rules.flows; DELETE FROM task_rules.edges; DELETE FROM task_rules.groups;
    DELETE FROM task_rules.suspensions; DELETE FROM task_rules.waitpoints; DELETE FROM task_rules.cancel_backlog; DELETE FROM task_rules.cancel_backlog_members; DELETE FROM task_rules.outbox_events
$$;
-- Tasks 1 to 10, one in each state; 1 and 10 are members. The last epoch of the others is 1.
CREATE FUNCTION pg_temp.one_of_each() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_temp.clear();
    PERFORM create_flow(jsonb_build_object('tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'f'), jsonb_build_object('key', 'b', 'queue', 'x', 'task_id', pg_temp.id(1), 'after', '["a"]'::jsonb))), 0);
    PERFORM create_task('x', NULL, pg_temp.id(n), p_delay_ms => CASE WHEN n = 2 THEN 100000 ELSE 0 END, p_deadline_ms => CASE WHEN n = 9 THEN 5 END, p_now_ms => 0) FROM generate_series(2, 9) AS n;
    PERFORM cancel_task(pg_temp.id(8), p_now_ms => 0);
    PERFORM change_priority(pg_temp.id(n), 9, 0) FROM generate_series(4, 7) AS n;
    PERFORM claim_tasks('w', 'i', '{x}', p_max_items => 4, p_lease_ms => 1000000, p_now_ms => 0);
    PERFORM suspend_task(pg_temp.id(5), 1, '{"waitpoints":[{"key":"k"}],"condition":{"single":{"key":"k"}},"reason_code":"waiting_for_signal"}', 0);
    PERFORM complete_task(pg_temp.id(6), 1, '1', p_now_ms => 0);
    PERFORM fail_task(pg_temp.id(7), 1, 'permanent', p_now_ms => 0);
    PERFORM reconcile('{deadlines}', p_now_ms => 5);
    PERFORM create_flow(jsonb_build_object('tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'g', 'task_id', pg_temp.id(11)), jsonb_build_object('key', 'b', 'queue', 'x', 'task_id', pg_temp.id(10), 'after', '["a"]'::jsonb))), 0);
    PERFORM cancel_task(pg_temp.id(11), p_now_ms => 0);
    DELETE FROM outbox_events;
END $$;
SELECT pg_temp.one_of_each();
SELECT pg_temp.n(id), state FROM tasks WHERE queue = 'x' ORDER BY id;

-- ---- TS-4: every call in every state: the answer, and what it leaves; a refusal leaves everything as it was. ----
CREATE FUNCTION pg_temp.in_every_state(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answers text := '';
    before text;
    answer text;
BEGIN
    FOR n IN 1..10 LOOP
        before := test.content('task_rules');
        BEGIN
            EXECUTE format('SELECT x::text FROM task_rules.' || call || ' AS x', pg_temp.id(n)) INTO answer;
            SELECT state INTO answer FROM tasks WHERE id = pg_temp.id(n);
            answer := coalesce(answer, 'gone') || CASE WHEN test.content('task_rules') = before THEN ' untouched' ELSE '' END;
            RAISE EXCEPTION USING ERRCODE = 'ZZ001';
        EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL;
                  WHEN OTHERS THEN
            answer := SQLSTATE;
        END;
        IF test.content('task_rules') <> before THEN
            answer := answer || ' WROTE';
        END IF;
        answers := answers || ', ' || answer;
    END LOOP;
    RETURN substr(answers, 3);
END $$;
\pset format unaligned
\pset tuples_only on
SELECT rpad(split_part(call, '(', 1), 20) || pg_temp.in_every_state(call) FROM unnest(ARRAY[
    'renew_task(%L, 1, 2000000, 10)', 'progress_task(%L, 1, 50, p_now_ms => 10)', 'complete_task(%L, 1, p_now_ms => 10)', 'fail_task(%L, 1, ''transient'', p_now_ms => 10)', 'fail_task(%L, 1, ''permanent'', p_now_ms => 10)',
    'fail_task(%L, 1, ''cancelled'', p_now_ms => 10)', 'delay_task(%L, 1, 5, p_now_ms => 10)', 'release_task(%L, 1, p_now_ms => 10)', 'release_task(%L, 1, 5, 10)',
    'suspend_task(%L, 1, ''{"waitpoints":[{"key":"k"}],"condition":{"single":{"key":"k"}},"reason_code":"waiting_for_signal"}'', 10)', 'create_waitpoint(%L, 1, ''p'', 1000, 10)',
    'complete_and_claim(%L, 1, NULL, ''w'', ''i'', ''{none}'', p_now_ms => 10)', 'cancel_task(%L, p_now_ms => 10)', 'cancel_task(%L, p_source => ''lease_holder'', p_lease_epoch => 1, p_now_ms => 10)',
    'cancel_task(%L, p_source => ''system_timeout'', p_now_ms => 10)', 'revoke_lease(%L, p_now_ms => 10)', 'change_priority(%L, 3, 10)', 'replay_task(%L, p_now_ms => 10)', 'resume_task(%L, p_now_ms => 10)',
    'complete_task(%L, NULL, NULL, ''operator_override'', 10)', 'complete_task(%L, 1, NULL, ''lease_holder'', 1000000)', 'delete_task(%L)']) AS call;
\pset format aligned
\pset tuples_only off

-- ---- TC-7: reasons and messages are cut to 8 kB, at a character. ----
SELECT pg_temp.one_of_each();
SELECT result FROM cancel_task(pg_temp.id(3), 'a' || repeat('é', 8000), p_now_ms => 10);
SELECT result FROM fail_task(pg_temp.id(4), 1, 'transient', 'a' || repeat('é', 8000), p_now_ms => 10);
SELECT pg_temp.n(id), octet_length(cancel_reason) AS reason, octet_length(failure_message) AS message FROM tasks WHERE id = ANY (ARRAY[pg_temp.id(3), pg_temp.id(4)]) ORDER BY id;
SELECT type, octet_length(details ->> 'reason') AS reason FROM outbox_events WHERE details ? 'reason';
SELECT cancellation_policy, octet_length(reason) AS reason FROM cancel_flow((SELECT flow_id FROM tasks WHERE id = pg_temp.id(1)), 'a' || repeat('é', 8000), p_now_ms => 10);
SELECT octet_length(cancel_reason) AS reason FROM flows WHERE cancel_reason IS NOT NULL;
SELECT pg_temp.clear();
SELECT state FROM create_task('x', NULL, pg_temp.id(1), p_now_ms => 0);
SELECT lease_epoch FROM claim_tasks('w', 'i', p_now_ms => 0);
SELECT lease_until_ms FROM progress_task(pg_temp.id(1), 1, 10, 'a' || repeat('é', 8000), p_now_ms => 1);
SELECT progress_pct, octet_length(progress_message) FROM tasks;
SELECT result FROM revoke_lease(pg_temp.id(1), 'a' || repeat('é', 8000), p_now_ms => 2);
SELECT octet_length(details ->> 'reason') AS reason FROM outbox_events WHERE type = 'revoked';

-- ---- TV-1: what a suspended task waits for; a resumed one that has to wait. ----
SELECT pg_temp.clear();
SELECT count(*) FROM generate_series(1, 4) AS n, create_task('x', NULL, pg_temp.id(n), p_now_ms => 0);
SELECT count(*) FROM claim_tasks('w', 'i', p_max_items => 4, p_lease_ms => 1000000, p_now_ms => 0);
SELECT result FROM unnest('{signal,approval,callback,tool_result}'::text[]) WITH ORDINALITY AS u (word, n), suspend_task(pg_temp.id(n::int), 1, jsonb_build_object('waitpoints', '[{"key":"k"}]'::jsonb, 'condition', '{"single":{"key":"k"}}'::jsonb, 'reason_code', 'waiting_for_' || word), 0);
SELECT pg_temp.n(task_id), public_state, eligibility_state, attempt_state, blocking_reason FROM task_states ORDER BY 1;
SELECT state, available_at_ms > 0 AS later FROM resume_task(pg_temp.id(1), p_delay_ms => 3600000);
SELECT public_state, eligibility_state, attempt_state, blocking_reason FROM task_states WHERE task_id = pg_temp.id(1);

-- ---- TC-5: id and key of different tasks: the key wins. ----
SELECT pg_temp.clear();
SELECT created FROM create_task('x', NULL, pg_temp.id(1), p_now_ms => 0);
SELECT created FROM create_task('x', NULL, pg_temp.id(2), p_dedup_key => 'k', p_now_ms => 0);
SELECT pg_temp.n(task_id), created FROM create_task('x', NULL, pg_temp.id(1), p_dedup_key => 'k', p_now_ms => 0);
-- The window counts from the creation; 0: only while the task has not ended. After it the key is taken over.
SELECT pg_temp.n(task_id), created FROM create_task('y', NULL, pg_temp.id(3), p_dedup_key => 'k', p_dedup_window_ms => 0, p_now_ms => 0);
SELECT pg_temp.n(task_id), created FROM create_task('y', NULL, pg_temp.id(4), p_dedup_key => 'k', p_now_ms => 900000000);
SELECT effective FROM cancel_task(pg_temp.id(3), p_now_ms => 5), LATERAL (SELECT effective AS e FROM cancel_task(pg_temp.id(2), p_now_ms => 5)) AS o;
SELECT pg_temp.n(task_id), created, state FROM create_task('x', NULL, pg_temp.id(5), p_dedup_key => 'k', p_now_ms => 86399999);
SELECT pg_temp.n(task_id), created, state FROM create_task('x', NULL, pg_temp.id(5), p_dedup_key => 'k', p_now_ms => 86400000);
SELECT pg_temp.n(task_id), created, state FROM create_task('y', NULL, pg_temp.id(4), p_dedup_key => 'k', p_now_ms => 5);
SELECT * FROM check_tasks();

-- ---- TR-4: the policy of a task lies over the queue's, and that over the built-in one, key by key. ----
SELECT pg_temp.clear();
SELECT set_queue('p', '{"policy":{"max_attempts":2,"backoff":{"kind":"fixed","delay_ms":70},"attempt_timeout_ms":500}}');
SELECT count(*) FROM (VALUES ('p', 1, NULL), ('p', 2, '{"max_attempts":3,"attempt_timeout_ms":null}'), ('q', 3, NULL)) AS v (queue, n, policy), create_task(queue, NULL, pg_temp.id(n), p_policy => policy::jsonb, p_now_ms => 0);
SELECT pg_temp.n(task_id), attempt_deadline_ms FROM claim_tasks('w', 'i', p_max_items => 3, p_now_ms => 0);
SELECT n, result, available_at_ms, next_attempt_index FROM generate_series(1, 3) AS n, fail_task(pg_temp.id(n), 1, 'transient', p_now_ms => 10);
SELECT pg_temp.n(task_id), attempt_index FROM claim_tasks('w', 'i', p_max_items => 3, p_now_ms => 2000);
SELECT n, result, available_at_ms, next_attempt_index FROM generate_series(1, 3) AS n, fail_task(pg_temp.id(n), 3, 'timeout', p_now_ms => 2000);
-- A change of the queue's policy counts from the next decision on.
SELECT set_queue('q', '{"policy":{"retryable":["timeout"]}}');
SELECT pg_temp.n(task_id), retry_count FROM claim_tasks('w', 'i', '{q}', p_now_ms => 9000);
SELECT result, next_attempt_index FROM fail_task(pg_temp.id(3), 5, 'infra_crash', p_now_ms => 9000);

-- ---- Events as a whole: no key more, none less. ----
SELECT pg_temp.clear();
SELECT count(*) FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(9), 'tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'e', 'kind', 'k', 'task_id', pg_temp.id(1)), jsonb_build_object('key', 'b', 'queue', 'e', 'task_id', pg_temp.id(2)))), 0);
SELECT count(*) FROM claim_tasks('w', 'i', '{e}', p_max_items => 1, p_lease_ms => 100, p_now_ms => 0);
SELECT lease_until_ms FROM renew_task(pg_temp.id(1), 1, 200, 1);
SELECT state FROM release_task(pg_temp.id(1), 1, p_now_ms => 2);
SELECT lease_epoch FROM change_priority(pg_temp.id(1), 5, 3), claim_tasks('w', 'i', '{e}', p_lease_ms => 100, p_now_ms => 3);
SELECT result FROM revoke_lease(pg_temp.id(1), 'why', p_now_ms => 4);
SELECT lease_epoch FROM claim_tasks('w', 'i', '{e}', p_lease_ms => 100, p_now_ms => 5);
SELECT rows FROM reconcile('{lease_expiry}', p_now_ms => 105);
SELECT lease_epoch FROM claim_tasks('w', 'i', '{e}', p_lease_ms => 100, p_now_ms => 105);
SELECT result FROM fail_task(pg_temp.id(1), 7, 'permanent', 'bad', p_now_ms => 106);
SELECT result FROM replay_task(pg_temp.id(1), p_now_ms => 107);
SELECT result FROM cancel_task(pg_temp.id(1), 'no more', p_now_ms => 108);
SELECT result, member_count FROM cancel_flow(pg_temp.id(9), 'all', p_now_ms => 109);
SELECT topic, type, replace((details - '{by,as,via}'::text[])::text, '00000000-0000-4000-8000-00000000000', '') AS details FROM outbox_events ORDER BY position;
RESET search_path;
SELECT belay.drop_hub('task_rules', true);
