-- Rules of flows that need many members, or ends that no other file has.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_rules');
SELECT belay.set_hub_option('flow_rules', 'max_clock_skew', '0');
SELECT belay.set_hub_option('flow_rules', 'events', 'lease,operator,completion');
SET search_path = flow_rules, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;

-- CN-3: nor does an attempt that times out, or a lease whose end is a failure, bring a member back. The lease event comes, no completion does.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(1), 'tasks', (SELECT jsonb_agg(jsonb_build_object('key', 'k' || n, 'queue', 'l', 'task_id', pg_temp.id(10 + n), 'policy', policy)) FROM (VALUES
    (1, '{"attempt_timeout_ms":50}'::jsonb), (2, '{"attempt_timeout_ms":50,"max_attempts":1}'), (3, '{"on_lease_expiry":"retry"}'), (4, '{"on_lease_expiry":"retry","max_attempts":1}'), (5, '{"max_reclaims":0}'), (6, '{}')) AS v (n, policy))), 0);
SELECT count(*) FROM claim_tasks('w', 'i', p_max_items => 6, p_lease_ms => 100, p_now_ms => 0);
SELECT result, member_count FROM cancel_flow(pg_temp.id(1), 'stop', 'cancel_pending', p_now_ms => 10);
DELETE FROM outbox_events;
SELECT rows FROM reconcile('{lease_expiry}', p_now_ms => 100);
SELECT flow_key, state, cancelled_by, cancel_reason, failure_class, retry_count, reclaim_count FROM tasks ORDER BY id;
SELECT pg_temp.n(task_id), outcome, error ->> 'class' AS class FROM attempts ORDER BY 1;
SELECT topic, type, pg_temp.n(subject::uuid), details ->> 'cause' AS cause FROM outbox_events ORDER BY 3, position;
SELECT state, open_count, bad_sink_count FROM flows;
SELECT * FROM check_tasks();

-- JN-7: results of upstreams as they are: at the claim, and later, with let_run, those that came after it.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(2), 'tasks', jsonb_build_array(jsonb_build_object('key', 'a', 'queue', 'u', 'task_id', pg_temp.id(21)), jsonb_build_object('key', 'b', 'queue', 'u', 'task_id', pg_temp.id(22)),
    jsonb_build_object('key', 'z', 'queue', 'd', 'task_id', pg_temp.id(23), 'after', '[{"key":"b","pass_as":"second"},"a"]'::jsonb, 'join', '{"kind":"any_of","on_satisfied":"let_run"}'::jsonb))), 0);
SELECT count(*) FROM claim_tasks('w', 'i', '{u}', p_max_items => 2, p_now_ms => 0);
SELECT result FROM complete_task(pg_temp.id(22), 1, '{"b":1}', p_now_ms => 1);
SELECT replace(upstream::text, '00000000-0000-4000-8000-0000000000', '') AS upstream FROM claim_tasks('w', 'i', '{d}', p_now_ms => 2);
SELECT result FROM fail_task(pg_temp.id(21), 1, 'permanent', p_now_ms => 3);
SELECT pg_temp.n(upstream_id), key, pass_as, state, result FROM upstream_results(pg_temp.id(23)) ORDER BY key;
SELECT result FROM complete_task(pg_temp.id(23), 1, p_now_ms => 4);
SELECT state FROM flows WHERE id = pg_temp.id(2);

-- CQ-4: a sibling that waits for the duty, and is needed again by then, is spared: d has lost x, so only c needs b2; the replay of x opens d again.
SELECT belay.set_hub_option('flow_rules', 'fanout_bound', '1');
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(4), 'tasks', (SELECT jsonb_agg(jsonb_build_object('key', key, 'queue', key, 'task_id', pg_temp.id(40 + n), 'after', after::jsonb, 'join', jsonb_build_object('kind', kind)) ORDER BY n) FROM (VALUES
    (1, 'a', '[]', 'all_of'), (2, 'b1', '[]', 'all_of'), (3, 'b2', '[]', 'all_of'), (4, 'x', '[]', 'all_of'), (5, 'c', '["a","b1","b2"]', 'any_of'), (6, 'd', '["b2","x"]', 'all_of')) AS v (n, key, after, kind))), 0);
SELECT count(*) FROM claim_tasks('w', 'i', '{a,x}', p_max_items => 2, p_now_ms => 0);
SELECT result FROM fail_task(pg_temp.id(44), 1, 'permanent', p_now_ms => 1);
SELECT result FROM complete_task(pg_temp.id(41), 1, p_now_ms => 2);
SELECT flow_key, state FROM tasks WHERE flow_id = pg_temp.id(4) ORDER BY id;
SELECT what, pg_temp.n(task_id) FROM cascade_queue ORDER BY 1, 2;
BEGIN;
SELECT rows FROM reconcile('{sibling_cancel}', p_now_ms => 3);
SELECT flow_key, state, cancel_reason FROM tasks WHERE id = pg_temp.id(43);
ROLLBACK;
SELECT result, (SELECT array_agg(pg_temp.n(x)) FROM unnest(reopened) AS x) AS reopened FROM replay_task(pg_temp.id(44), true, p_now_ms => 3);
SELECT rows FROM reconcile('{sibling_cancel}', p_now_ms => 4);
SELECT flow_key, state, cancel_reason FROM tasks WHERE flow_id = pg_temp.id(4) ORDER BY id;
SELECT what, pg_temp.n(task_id) FROM cascade_queue ORDER BY 1, 2;
SELECT * FROM check_tasks();
-- The cancel of the whole flow drops what is queued of it.
SELECT result, member_count FROM cancel_flow(pg_temp.id(4), p_now_ms => 5);
SELECT count(*) AS queued FROM cascade_queue;
SELECT * FROM check_tasks();
SELECT belay.set_hub_option('flow_rules', 'fanout_bound', '256');

-- FG-4: a task that was claimed and given back has begun, though it is ready, delayed or suspended.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(5), 'seal', false, 'tasks', (SELECT jsonb_agg(jsonb_build_object('key', 'k' || n, 'queue', 'g' || n, 'task_id', pg_temp.id(50 + n))) FROM generate_series(1, 5) AS n)), 0);
SELECT count(*) FROM claim_tasks('w', 'i', '{g2,g3,g4}', p_max_items => 3, p_now_ms => 0);
SELECT state FROM release_task(pg_temp.id(52), 1, p_now_ms => 1);
SELECT state FROM delay_task(pg_temp.id(53), 1, 1000, p_now_ms => 1);
SELECT result FROM suspend_task(pg_temp.id(54), 1, '{"waitpoints":[{"key":"k"}],"condition":{"single":{"key":"k"}},"reason_code":"waiting_for_signal"}', 1);
SELECT pg_temp.n(d), (test.refused(format('SELECT flow_rules.add_edge(%L, %L, %L, p_now_ms => 2)', pg_temp.id(5), pg_temp.id(51), d))) ~ '^QB014 .*"downstream_started"' AS refused FROM (SELECT pg_temp.id(50 + n) AS d FROM generate_series(2, 4) AS n) AS x;
SELECT result, downstream_state, unsatisfied, graph_revision FROM add_edge(pg_temp.id(5), pg_temp.id(51), pg_temp.id(55), p_now_ms => 2);
SELECT * FROM check_tasks();

-- FR-6: more members than an answer lists. get_flow says that it is cut; a repeated cancel lists a thousand and counts all.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(3), 'seal', false, 'tasks', (SELECT jsonb_agg(jsonb_build_object('key', 'k' || n, 'queue', 'm')) FROM generate_series(1, 10000) AS n)), 0);
SELECT g -> 'truncated' AS truncated, jsonb_array_length(g -> 'members') AS members, g -> 'counts' AS counts FROM get_flow(pg_temp.id(3)) AS g;
SELECT node_count FROM add_task_to_flow(pg_temp.id(3), '{"key":"one more","queue":"m"}', p_now_ms => 0);
SELECT g -> 'truncated' AS truncated, jsonb_array_length(g -> 'members') AS members, g -> 'counts' AS counts FROM get_flow(pg_temp.id(3)) AS g;
SELECT result, member_count, cardinality(member_ids) AS ids FROM cancel_flow(pg_temp.id(3), 'stop', p_now_ms => 10);
SELECT result, reason, member_count, cardinality(member_ids) AS ids, member_ids = ARRAY(SELECT id FROM tasks WHERE flow_id = pg_temp.id(3) ORDER BY id LIMIT 1000) AS by_id FROM cancel_flow(pg_temp.id(3), 'again', p_now_ms => 11);
SELECT state, count(*) FROM tasks WHERE flow_id = pg_temp.id(3) GROUP BY state;
SELECT * FROM check_tasks();
SELECT delete_flow(pg_temp.id(3));
SELECT count(*) FROM tasks WHERE flow_id = pg_temp.id(3);
-- FR-6: all edges of a wide flow of as many members as one call creates.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(6), 'tasks', jsonb_build_array('{"key":"plan","queue":"m"}'::jsonb, jsonb_build_object('key', 'pack', 'queue', 'm', 'after', (SELECT jsonb_agg('part-' || n) FROM generate_series(1, 9998) AS n)))
    || (SELECT jsonb_agg(jsonb_build_object('key', 'part-' || n, 'queue', 'm', 'after', '["plan"]'::jsonb)) FROM generate_series(1, 9998) AS n)), 0);
SELECT g -> 'truncated' AS truncated, jsonb_array_length(g -> 'members') AS members, jsonb_array_length(g -> 'edges') AS edges, g -> 'edge_count' AS edge_count FROM get_flow(pg_temp.id(6)) AS g;
RESET search_path;
SELECT belay.drop_hub('flow_rules', true);
