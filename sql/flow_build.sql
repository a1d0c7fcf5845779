-- Flows that grow: tasks, edges and joins one by one, the seal; what create_flow refuses.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_build');
SELECT belay.set_hub_option('flow_build', 'max_clock_skew', '0');
SET search_path = flow_build, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.task(n int, key text) RETURNS uuid LANGUAGE sql AS $$ SELECT id FROM flow_build.tasks WHERE flow_id = pg_temp.id(n) AND flow_key = key $$;
CREATE FUNCTION pg_temp.show(n int) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', f.state, '|', (SELECT string_agg(coalesce(t.flow_key, '-') || '=' || t.state, ' ' ORDER BY t.flow_key) FROM flow_build.tasks AS t WHERE t.flow_id = f.id), '| revision', f.graph_revision, 'members', f.member_count, 'open', f.open_count, 'bad', f.bad_sink_count, 'edges', f.edge_count)
      FROM flow_build.flows AS f WHERE f.id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$ SELECT replace(test.refused(statement), '00000000-0000-4000-8000-0000000000', '') $$;
CREATE FUNCTION pg_temp.flow(tasks text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.refused(format('SELECT flow_build.create_flow(%L, 1000)', jsonb_build_object('tasks', tasks::jsonb) || more))
$$;
CREATE FUNCTION pg_temp.finish(n int, key text, good boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t uuid := pg_temp.task(n, key); e bigint;
BEGIN
    UPDATE flow_build.tasks SET priority = 9000 WHERE id = t AND state = 'ready';
    SELECT c.lease_epoch INTO e FROM flow_build.claim_tasks('w', 'w-1', ARRAY['l'], p_now_ms => 1000) AS c WHERE c.task_id = t;
    IF e IS NULL THEN RETURN 'not claimed';
    ELSIF good IS NULL THEN RETURN 'claimed';
    ELSIF good THEN RETURN (SELECT c.result FROM flow_build.complete_task(t, e, p_now_ms => 1000) AS c);
    ELSE RETURN (SELECT c.result FROM flow_build.fail_task(t, e, 'permanent', p_now_ms => 1000) AS c);
    END IF;
END $$;

-- ---- FC-1: what create_flow refuses, with nothing written ----
SELECT md5(test.content('flow_build')) AS before \gset
SELECT pg_temp.flow('[{"key": "a", "queue": "l"}, {"key": "a", "queue": "l"}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "after": ["b"]}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "after": ["a"]}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l"}, {"key": "b", "queue": "l", "after": ["a", {"key": "a"}]}]');
SELECT pg_temp.flow('[{"key": "s", "queue": "l"}, {"key": "a", "queue": "l", "after": ["s", "c"]}, {"key": "b", "queue": "l", "after": ["a"]}, {"key": "c", "queue": "l", "after": ["b"]}, {"key": "d", "queue": "l", "after": ["c"]}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l"}, {"key": "b", "queue": "l", "after": ["a"], "join": {"kind": "quorum", "k": 2}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": {"kind": "quorum"}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": {"kind": "quorum", "k": 0}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": {"kind": "all_of", "k": 1}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": {"kind": "most_of"}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": {"kind": "all_of", "on_satisfied": "let_run"}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": {"kind": "any_of", "on_satisfied": "stop"}}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "join": "any_of"}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "dedup_key": "x"}]');
SELECT pg_temp.flow('[{"queue": "l"}]');
SELECT pg_temp.flow('[{"key": "a"}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "after": "b"}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "after": [1]}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "hold": 1}]');
SELECT pg_temp.flow('[{"key": "a", "queue": "l", "deadline_ms": 1000}]');
SELECT pg_temp.flow('[7]');
SELECT pg_temp.flow('{}');
SELECT pg_temp.flow('[]', '{"fail_policy": "never"}');
SELECT pg_temp.flow('[]', '{"seal": "yes"}');
SELECT pg_temp.flow('[]', '{"tags": {"a": 1}}');
SELECT pg_temp.flow('[]', '{"flow_id": "x"}');
SELECT pg_temp.flow('[]', '{"more": 1}');
SELECT pg_temp.refused($$SELECT flow_build.create_flow(NULL)$$);
SELECT pg_temp.refused($$SELECT flow_build.create_flow('[]')$$);
SELECT pg_temp.refused($$SELECT flow_build.create_flow((SELECT jsonb_build_object('tasks', jsonb_agg(jsonb_build_object('key', i, 'queue', 'l'))) FROM generate_series(1, 10001) AS i))$$);
SELECT md5(test.content('flow_build')) = :'before' AS untouched;
-- A task that exists already cannot be created as a member.
SELECT task_id = pg_temp.id(500) FROM create_task('l', p_task_id => pg_temp.id(500), p_now_ms => 1000);
SELECT test.sqlstate($$SELECT flow_build.create_flow('{"tasks": [{"key": "a", "queue": "l", "task_id": "00000000-0000-4000-8000-000000000500"}]}', 1000)$$);

-- ---- FG-1: an open flow grows, and never ends ----
SELECT state, graph_revision, created, task_ids FROM create_flow('{"flow_id": "00000000-0000-4000-8000-000000000001", "seal": false, "kind": "k", "tags": {"t": "1"}}', 1000);
SELECT result, state, graph_revision, node_count FROM add_task_to_flow(pg_temp.id(1), '{"key": "a", "queue": "l"}', p_now_ms => 1000);
SELECT result, state, graph_revision, node_count FROM add_task_to_flow(pg_temp.id(1), '{"key": "b", "queue": "l", "after": ["a"]}', 2, 1000);
SELECT pg_temp.finish(1, 'a', true), pg_temp.finish(1, 'b', true), pg_temp.show(1);
-- FG-2: a late edge on a finished upstream is resolved at once: satisfied, or impossible.
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "c", "queue": "l", "after": ["b"]}', p_now_ms => 1000);
SELECT pg_temp.finish(1, 'c', false), pg_temp.show(1);
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "d", "queue": "l", "after": ["c"]}', p_now_ms => 1000);
SELECT pg_temp.show(1);
-- A task that is added without edges is ready until one comes; then it waits.
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "e", "queue": "l", "delay_ms": 5}', p_now_ms => 1000);
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "f", "queue": "l"}', p_now_ms => 1000);
SELECT * FROM add_edge(pg_temp.id(1), pg_temp.task(1, 'e'), pg_temp.task(1, 'f'), 'x', p_now_ms => 1000);
SELECT pg_temp.show(1);
-- FG-3: gates of all four calls, in order.
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(99), '{"key": "z", "queue": "new"}')$$);
SELECT count(*) FROM queues WHERE name = 'new';
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(99), pg_temp.id(1), pg_temp.id(2))$$);
SELECT pg_temp.refused($$SELECT flow_build.set_join(pg_temp.id(99), pg_temp.id(1), '{"kind": "any_of"}')$$);
SELECT pg_temp.refused($$SELECT flow_build.seal_flow(pg_temp.id(99))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(1), '{"key": "z", "queue": "l"}', 3)$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(1), '{"key": "a", "queue": "l"}')$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(1), '{"key": "z", "queue": "l", "after": ["y"]}')$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(1), '{"key": "z", "queue": "l", "after": ["z"]}')$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(1), '{"key": "z", "queue": "l", "after": ["a", "a"]}')$$);
-- FG-4: edges: both ends members, not itself, not twice, no circle, not into what has begun or is decided.
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.id(9), pg_temp.id(9))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.task(1, 'e'), pg_temp.id(500))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.id(77), pg_temp.task(1, 'e'))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.task(1, 'e'), pg_temp.task(1, 'f'))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.task(1, 'f'), pg_temp.task(1, 'e'))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.task(1, 'e'), pg_temp.task(1, 'b'))$$);
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "g", "queue": "l", "after": ["a"]}', p_now_ms => 1000);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(1), pg_temp.task(1, 'e'), pg_temp.task(1, 'g'))$$);
-- FG-5: a join is set before the first edge; the same again writes nothing.
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "h", "queue": "l", "hold": true}', p_now_ms => 1000);
SELECT * FROM set_join(pg_temp.id(1), pg_temp.task(1, 'h'), '{"kind": "any_of"}');
SELECT * FROM set_join(pg_temp.id(1), pg_temp.task(1, 'h'), '{"kind": "any_of", "on_satisfied": "cancel_remaining"}');
SELECT * FROM set_join(pg_temp.id(1), pg_temp.task(1, 'h'), '{"kind": "quorum", "k": 2, "on_satisfied": "let_run"}');
SELECT pg_temp.refused($$SELECT flow_build.set_join(pg_temp.id(1), pg_temp.task(1, 'f'), '{"kind": "any_of"}')$$);
SELECT pg_temp.refused($$SELECT flow_build.set_join(pg_temp.id(1), pg_temp.id(500), '{"kind": "any_of"}')$$);
-- FG-6: a held task waits for the seal, regardless of its edges.
SELECT result, edge_state, downstream_state, unsatisfied FROM add_edge(pg_temp.id(1), pg_temp.task(1, 'a'), pg_temp.task(1, 'h'), p_now_ms => 1000);
SELECT result, edge_state, downstream_state, unsatisfied FROM add_edge(pg_temp.id(1), pg_temp.task(1, 'b'), pg_temp.task(1, 'h'), p_now_ms => 1000);
SELECT reason FROM explain_claim(pg_temp.task(1, 'h'), p_now_ms => 1000);
-- FG-7: in an open flow any_of and quorum are never impossible; all_of is.
SELECT result, state FROM add_task_to_flow(pg_temp.id(1), '{"key": "i", "queue": "l", "after": ["c"], "join": {"kind": "any_of"}}', p_now_ms => 1000);
SELECT reason FROM explain_claim(pg_temp.task(1, 'i'), p_now_ms => 1000);
SELECT reason, detail->'upstream'->0->>'state' AS upstream FROM explain_claim(pg_temp.task(1, 'f'), p_now_ms => 1000);
-- FG-8: an existing task joins; again: already_member; not one of another flow, with a dedup key, or that has ended.
SELECT result, state, node_count FROM add_task_to_flow(pg_temp.id(1), jsonb_build_object('task_id', pg_temp.id(500)), p_now_ms => 1000);
SELECT graph_revision AS revision FROM flows WHERE id = pg_temp.id(1) \gset
SELECT result, graph_revision = :revision AS same FROM add_task_to_flow(pg_temp.id(1), jsonb_build_object('task_id', pg_temp.id(500)), p_now_ms => 1000);
SELECT created FROM create_flow('{"flow_id": "00000000-0000-4000-8000-000000000002", "seal": false}', 1000);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(2), jsonb_build_object('task_id', pg_temp.id(500)))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(2), jsonb_build_object('task_id', pg_temp.id(501)))$$);
SELECT created FROM create_task('l', p_task_id => pg_temp.id(502), p_dedup_key => 'k', p_now_ms => 1000) UNION ALL SELECT created FROM create_task('l', p_task_id => pg_temp.id(503), p_now_ms => 1000);
SELECT effective FROM cancel_task(pg_temp.id(503), p_now_ms => 1000);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(2), jsonb_build_object('task_id', pg_temp.id(502)))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(2), jsonb_build_object('task_id', pg_temp.id(503)))$$);
-- FG-9: the seal lets held tasks go, closes what is decided, and derives the state; it comes once.
SELECT * FROM check_tasks();
SELECT pg_temp.show(1);
SELECT * FROM seal_flow(pg_temp.id(1), p_now_ms => 1000);
SELECT pg_temp.show(1);
SELECT pg_temp.refused($$SELECT flow_build.seal_flow(pg_temp.id(1))$$);
SELECT pg_temp.refused($$SELECT flow_build.add_task_to_flow(pg_temp.id(1), '{"key": "z", "queue": "l"}')$$);
SELECT state FROM seal_flow(pg_temp.id(2), p_now_ms => 1000);
SELECT pg_temp.refused($$SELECT flow_build.add_edge(pg_temp.id(2), pg_temp.id(1), pg_temp.id(3))$$);
-- FG-10: fail_fast strikes a flow only from its seal on.
SELECT state FROM create_flow('{"flow_id": "00000000-0000-4000-8000-000000000003", "seal": false, "fail_policy": "fail_fast", "tasks": [{"key": "a", "queue": "l"}, {"key": "b", "queue": "l"}, {"key": "c", "queue": "l", "hold": true}]}', 1000);
SELECT pg_temp.finish(3, 'a', false), pg_temp.show(3);
SELECT state FROM seal_flow(pg_temp.id(3), p_now_ms => 1000);
SELECT pg_temp.show(3);
-- An upstream that failed is a bad sink only while nothing waits for it.
SELECT state FROM create_flow('{"flow_id": "00000000-0000-4000-8000-000000000004", "seal": false, "tasks": [{"key": "a", "queue": "l"}, {"key": "b", "queue": "l"}, {"key": "c", "queue": "l", "hold": true, "join": {"kind": "any_of"}}]}', 1000);
SELECT pg_temp.finish(4, 'a', false), pg_temp.show(4);
SELECT edge_state, downstream_state FROM add_edge(pg_temp.id(4), pg_temp.task(4, 'a'), pg_temp.task(4, 'c'), p_now_ms => 1000);
SELECT edge_state, downstream_state, unsatisfied FROM add_edge(pg_temp.id(4), pg_temp.task(4, 'b'), pg_temp.task(4, 'c'), p_now_ms => 1000);
SELECT pg_temp.show(4);
SELECT state FROM seal_flow(pg_temp.id(4), p_now_ms => 1000);
SELECT pg_temp.finish(4, 'b', true), pg_temp.finish(4, 'c', true), pg_temp.show(4);
SELECT * FROM check_tasks();

-- ---- FR-5: reads ----
SELECT jsonb_pretty(f - 'members' - 'edges' - 'groups' - 'revision') FROM (SELECT replace(get_flow(pg_temp.id(4))::text, '00000000-0000-4000-8000-0000000000', '')::jsonb AS f) AS x;
SELECT m->>'key', m->>'state', m->>'queue' FROM jsonb_array_elements(get_flow(pg_temp.id(4))->'members') AS m ORDER BY 1;
SELECT e->>'state', count(*) FROM jsonb_array_elements(get_flow(pg_temp.id(4))->'edges') AS e GROUP BY 1 ORDER BY 1;
SELECT g - 'task_id' FROM jsonb_array_elements(get_flow(pg_temp.id(4))->'groups') AS g;
SELECT get_task(pg_temp.task(4, 'c'))->'group', jsonb_array_length(get_task(pg_temp.task(4, 'c'))->'upstream'), jsonb_array_length(get_task(pg_temp.task(4, 'c'))->'downstream');
SELECT get_flow(pg_temp.id(99)) IS NULL AS none, get_flow(NULL) IS NULL AS no_id, (SELECT count(*) FROM upstream_results(pg_temp.id(99))) AS no_rows;
SELECT right(flow_id::text, 2), kind, state, sealed, member_count, open_count, edge_count, tags FROM list_flows();
SELECT right(flow_id::text, 2) FROM list_flows('{"state": ["failed", "completed"]}') UNION ALL SELECT 'kind ' || right(flow_id::text, 2) FROM list_flows('{"kind": "k", "tags": {"t": "1"}, "created_from_ms": 1000, "created_to_ms": 1000}') UNION ALL SELECT 'page ' || right(flow_id::text, 2) FROM list_flows(p_after => pg_temp.id(1), p_limit => 1);
SELECT pg_temp.refused($$SELECT flow_build.list_flows('{"state": "ended"}')$$);
SELECT pg_temp.refused($$SELECT flow_build.list_flows('{"queue": "l"}')$$);
SELECT right(flow_id::text, 2), state, members, ready, completed, failed, cancelled, skipped, last_ended_ms, age_ms > 0 AS aged FROM flow_summary ORDER BY flow_id;
SELECT right(task_id::text, 3), state FROM list_tasks(jsonb_build_object('flow_id', pg_temp.id(1), 'state', 'ready')) WHERE flow_key IS NULL;

-- ---- FD-1: delete, retention ----
SELECT pg_temp.refused($$SELECT flow_build.delete_flow(pg_temp.id(1))$$);
SELECT test.refused(format('SELECT flow_build.delete_task(%L)', pg_temp.task(4, 'a'))) ~ 'QB003.*flow_member' AS refused;
SELECT delete_flow(pg_temp.id(4)), delete_flow(pg_temp.id(4)), delete_flow(pg_temp.id(99));
SELECT count(*) FROM tasks WHERE flow_id = pg_temp.id(4) UNION ALL SELECT count(*) FROM edges WHERE flow_id = pg_temp.id(4) UNION ALL SELECT count(*) FROM groups WHERE flow_id = pg_temp.id(4);
SELECT rows FROM reconcile('{retention}', p_now_ms => 1000 + 24 * 3600000 - 1) UNION ALL SELECT count(*) FROM flows;
SELECT rows > 0 FROM reconcile('{retention}', p_now_ms => 1000 + 24 * 3600000);
SELECT right(id::text, 2), state FROM flows ORDER BY id;
SELECT count(*) FROM tasks WHERE flow_id IS NOT NULL AND flow_id NOT IN (SELECT id FROM flows);
SELECT * FROM check_tasks();
SELECT belay.drop_hub('flow_build', true);
