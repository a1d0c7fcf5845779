-- Flows against bad input, time at its end, decisions that come late, and callers without the right.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_hard');
SELECT belay.set_hub_option('flow_hard', 'max_clock_skew', '0');
SET search_path = flow_hard, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.show(n int) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', f.state, '|', (SELECT string_agg(coalesce(t.flow_key, '-') || '=' || t.state, ' ' ORDER BY t.id) FROM flow_hard.tasks AS t WHERE t.flow_id = f.id), '| open', f.open_count, 'bad', f.bad_sink_count)
      FROM flow_hard.flows AS f WHERE f.id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$ SELECT replace(test.refused(statement), '00000000-0000-4000-8000-0000000000', '') $$;

-- ---- FM-13: anything that is no flow, task or join is rejected, with nothing written ----
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(1), 'seal', false, 'tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'l', 'task_id', pg_temp.id(11)))), 1000);
SELECT md5(test.content('flow_hard')) AS before \gset
SELECT j, pg_temp.refused(format('SELECT flow_hard.create_flow(%L, 1000)', j)) FROM unnest(ARRAY[
    'null', '[]', '1', '"x"', '{"x": 1}', '{"tasks": {}}', '{"tasks": [1]}', '{"tasks": [null]}', '{"seal": 1}', '{"fail_policy": "x"}', '{"fail_policy": 1}', '{"kind": 1}', '{"kind": "\u0007"}', '{"tags": 1}', '{"tags": {"a": 1}}',
    '{"flow_id": "x"}', '{"flow_id": 1}']) AS j;
SELECT j, pg_temp.refused(format('SELECT flow_hard.create_flow(%L, 1000)', '{"tasks": [{"key": "r", "queue": "l"}, ' || j || ']}')) FROM unnest(ARRAY[
    '{}', '{"key": "a"}', '{"queue": "l"}', '{"key": "", "queue": "l"}', '{"key": 1, "queue": "l"}', '{"key": "a", "queue": 1}', '{"key": "a", "queue": ""}', '{"key": "a", "queue": "l", "x": 1}', '{"key": "a", "queue": "l", "dedup_key": "x"}',
    '{"key": "a", "queue": "l", "after": "r"}', '{"key": "a", "queue": "l", "after": [1]}', '{"key": "a", "queue": "l", "after": [null]}', '{"key": "a", "queue": "l", "after": [{}]}', '{"key": "a", "queue": "l", "after": [{"key": "r", "x": 1}]}',
    '{"key": "a", "queue": "l", "after": [{"key": "r", "pass_as": 1}]}', '{"key": "a", "queue": "l", "after": [{"key": "r", "pass_as": ""}]}', '{"key": "a", "queue": "l", "hold": 1}', '{"key": "a", "queue": "l", "task_id": "x"}',
    '{"key": "a", "queue": "l", "join": 1}', '{"key": "a", "queue": "l", "join": {}}', '{"key": "a", "queue": "l", "join": {"kind": "x"}}', '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "quorum"}}',
    '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "quorum", "k": 0}}', '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "quorum", "k": 1.5}}', '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "quorum", "k": 1e30}}',
    '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "quorum", "k": "1"}}', '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "any_of", "k": 1}}', '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "all_of", "on_satisfied": "let_run"}}',
    '{"key": "a", "queue": "l", "after": ["r"], "join": {"kind": "any_of", "on_satisfied": "x"}}', '{"key": "a", "queue": "l", "delay_ms": -1}', '{"key": "a", "queue": "l", "deadline_ms": 1}', '{"key": "a", "queue": "l", "policy": {"x": 1}}']) AS j;
SELECT j, pg_temp.refused(format('SELECT flow_hard.add_task_to_flow(%L, %L, p_now_ms => 1000)', pg_temp.id(1), j)) FROM unnest(ARRAY[
    'null', '[]', '{}', '{"task_id": null}', '{"task_id": "x"}', '{"key": "b"}', '{"key": "b", "queue": "l", "after": ["b"]}', '{"key": "b", "queue": "l", "after": ["x"]}', '{"key": "b", "queue": "l", "after": ["a", "a"]}', '{"key": "a", "queue": "l"}']) AS j;
SELECT j, pg_temp.refused(format('SELECT flow_hard.set_join(%L, %L, %L)', pg_temp.id(1), pg_temp.id(11), j)) FROM unnest(ARRAY['null', '1', '{}', '{"kind": "quorum", "k": 0}']) AS j;
SELECT pg_temp.refused(format('SELECT flow_hard.cancel_flow(%L, p_policy => %L)', pg_temp.id(1), 'all')), pg_temp.refused(format('SELECT flow_hard.cancel_flow(%L, p_grace_ms => -1)', pg_temp.id(1)));
SELECT c, pg_temp.refused('SELECT flow_hard.' || c) FROM unnest(ARRAY['create_flow(NULL)', 'add_task_to_flow(NULL, ''{}'')', 'add_edge(NULL, gen_random_uuid(), gen_random_uuid())', 'set_join(NULL, gen_random_uuid(), ''{}'')', 'seal_flow(NULL)', 'cancel_flow(NULL)', 'ack_cancel_member(NULL, gen_random_uuid())', 'delete_flow(NULL)']) AS c;
SELECT md5(test.content('flow_hard')) = :'before' AS nothing_written;

-- ---- FM-14: delays and graces beyond all time do no harm ----
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(2), 'tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'm', 'task_id', pg_temp.id(21)),
    jsonb_build_object('key', 'b', 'queue', 'm', 'after', '["a"]'::jsonb, 'delay_ms', 9223372036854775807, 'task_id', pg_temp.id(22)), jsonb_build_object('key', 'c', 'queue', 'm', 'delay_ms', 9223372036854775807, 'task_id', pg_temp.id(23)))), 1000);
SELECT c.result FROM claim_tasks('w', 'w-1', ARRAY['m'], p_now_ms => 1000) AS t, complete_task(t.task_id, t.lease_epoch, p_now_ms => 1000) AS c;
SELECT pg_temp.show(2);
SELECT result, member_count FROM cancel_flow(pg_temp.id(2), p_grace_ms => 9223372036854775807, p_now_ms => 1000);

-- ---- FM-15: nothing would release a task that is held in a flow created sealed, so it is not held ----
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(3), 'tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'n', 'hold', true, 'task_id', pg_temp.id(31)),
    jsonb_build_object('key', 'b', 'queue', 'n', 'hold', true, 'after', '["a"]'::jsonb, 'task_id', pg_temp.id(32)))), 1000);
SELECT c.result FROM claim_tasks('w', 'w-1', ARRAY['n'], p_now_ms => 1000) AS t, complete_task(t.task_id, t.lease_epoch, p_now_ms => 1000) AS c;
SELECT c.result FROM claim_tasks('w', 'w-1', ARRAY['n'], p_now_ms => 1000) AS t, complete_task(t.task_id, t.lease_epoch, p_now_ms => 1000) AS c;
SELECT pg_temp.show(3);

-- ---- FM-16: a flow that failed fast and is opened again leaves no member waiting for what has been decided ----
SELECT belay.set_hub_option('flow_hard', 'fanout_bound', '1');
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(4), 'fail_policy', 'fail_fast', 'tasks', (SELECT jsonb_agg(jsonb_build_object('key', k, 'queue', 'o' || k, 'task_id', pg_temp.id(40 + n::int), 'after', a::jsonb) ORDER BY n)
    FROM (VALUES (1, 'a', '[]'), (2, 'y', '[]'), (3, 'b', '[]'), (4, 'c', '["b"]'), (5, 'd', '[]'), (6, 'e', '["d"]')) AS t(n, k, a))), 1000);
SELECT count(*) FROM claim_tasks('w', 'w-1', ARRAY['oa', 'ob', 'od'], p_max_items => 3, p_now_ms => 1000);
SELECT result FROM fail_task(pg_temp.id(41), 1, 'permanent', p_now_ms => 1000);
SELECT pg_temp.show(4);
SELECT what, right(task_id::text, 2) AS task FROM cascade_queue ORDER BY task_id;
SELECT result FROM complete_task(pg_temp.id(43), 1, p_now_ms => 1000) UNION ALL SELECT result FROM fail_task(pg_temp.id(45), 1, 'permanent', p_now_ms => 1000);
SELECT pg_temp.show(4);
-- c is ready now, e is skipped; a can run again, because that was decided before.
SELECT result, public_state FROM replay_task(pg_temp.id(41), p_now_ms => 1000);
SELECT pg_temp.show(4);
SELECT count(*) > 0 AS did FROM reconcile('{sibling_cancel,dispatch_sweep}', p_now_ms => 1000);
SELECT pg_temp.show(4);
SELECT count(*) FROM cascade_queue;
SELECT * FROM check_tasks();

-- ---- FM-17: each call needs its level ----
CREATE ROLE regress_flow_client; CREATE ROLE regress_flow_worker; CREATE ROLE regress_flow_operator; CREATE ROLE regress_flow_monitor;
SELECT belay.grant_hub('flow_hard', 'regress_flow_' || l, l) FROM unnest(ARRAY['client', 'worker', 'operator', 'monitor']) AS l;
CREATE FUNCTION pg_temp.level(p_level text) RETURNS TABLE (call text, client text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SET LOCAL ROLE regress_flow_' || p_level;
    FOREACH call IN ARRAY ARRAY['create_flow(''{"seal": false}'')', 'add_task_to_flow(''00000000-0000-4000-8000-000000000001'', ''{"task_id": "00000000-0000-4000-8000-000000000011"}'')', 'add_edge(gen_random_uuid(), gen_random_uuid(), gen_random_uuid())',
        'set_join(gen_random_uuid(), gen_random_uuid(), ''{"kind": "any_of"}'')', 'seal_flow(gen_random_uuid())', 'get_flow(gen_random_uuid())', 'upstream_results(gen_random_uuid())', 'list_flows()', 'ack_cancel_member(gen_random_uuid(), gen_random_uuid())',
        'cancel_flow(gen_random_uuid())', 'delete_flow(gen_random_uuid())', 'flows', 'edges', 'groups', 'cascade_queue', 'cancel_backlog', 'cancel_backlog_members', 'flow_summary', 'cancel_backlog_open'] LOOP
        BEGIN
            EXECUTE 'SELECT count(*) FROM flow_hard.' || call;
            client := 'may';
        EXCEPTION WHEN insufficient_privilege THEN client := '42501'; WHEN OTHERS THEN client := 'may: ' || SQLSTATE;
        END;
        RETURN NEXT;
    END LOOP;
    RESET ROLE;
END $$;
SELECT split_part(c.call, '(', 1) AS call, c.client, w.client AS worker, o.client AS operator, m.client AS monitor
  FROM pg_temp.level('client') WITH ORDINALITY AS c(call, client, n) JOIN pg_temp.level('worker') AS w USING (call) JOIN pg_temp.level('operator') AS o USING (call) JOIN pg_temp.level('monitor') AS m USING (call) ORDER BY n;
SELECT * FROM check_tasks();
SELECT belay.drop_hub('flow_hard', p_force => true);
DROP ROLE regress_flow_client, regress_flow_worker, regress_flow_operator, regress_flow_monitor;
