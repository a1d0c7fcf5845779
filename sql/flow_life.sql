-- Flows: created in one call, advancing with their upstreams, ended by their sinks.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_life');
SELECT belay.set_hub_option('flow_life', 'max_clock_skew', '0');
SELECT belay.set_hub_option('flow_life', 'events', 'lease,operator,completion');
SET search_path = flow_life, public;
-- A flow with the id n; its tasks have ids by their keys, so that the output is the same in every run.
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.make(n int, tasks jsonb, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', f.state, f.graph_revision, f.created)
      FROM flow_life.create_flow(jsonb_build_object('flow_id', pg_temp.id(n), 'tasks',
               (SELECT jsonb_agg(jsonb_build_object('queue', 'l', 'task_id', pg_temp.id(n * 1000 + i::int)) || t ORDER BY i) FROM jsonb_array_elements(tasks) WITH ORDINALITY AS x(t, i))) || more, 1000) AS f
$$;
CREATE FUNCTION pg_temp.task(n int, key text) RETURNS uuid LANGUAGE sql AS $$ SELECT id FROM flow_life.tasks WHERE flow_id = pg_temp.id(n) AND flow_key = key $$;
-- Ends a member: claims it first, if it has to.
CREATE FUNCTION pg_temp.done(n int, key text, how text DEFAULT 'ok', result jsonb DEFAULT NULL, now_ms bigint DEFAULT 1000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t uuid := pg_temp.task(n, key); e bigint;
BEGIN
    IF how = 'cancel' THEN RETURN (SELECT concat_ws(' ', c.result, c.effective) FROM flow_life.cancel_task(t, 'no', p_now_ms => now_ms) AS c); END IF;
    UPDATE flow_life.tasks SET priority = 9000 WHERE id = t AND state IN ('ready', 'delayed');
    SELECT c.lease_epoch INTO e FROM flow_life.claim_tasks('w', 'w-1', ARRAY['l'], p_lease_ms => 1000, p_now_ms => now_ms) AS c WHERE c.task_id = t;
    IF e IS NULL THEN RETURN 'not claimed'; END IF;
    IF how = 'ok' THEN RETURN (SELECT c.result FROM flow_life.complete_task(t, e, result, p_now_ms => now_ms) AS c);
    ELSIF how = 'fail' THEN RETURN (SELECT f.result FROM flow_life.fail_task(t, e, 'permanent', 'bad', p_now_ms => now_ms) AS f);
    END IF;
    RETURN 'claimed';
END $$;
CREATE FUNCTION pg_temp.show(n int) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', f.state, '|', (SELECT string_agg(t.flow_key || '=' || t.state, ' ' ORDER BY t.flow_key) FROM flow_life.tasks AS t WHERE t.flow_id = f.id), '| open', f.open_count, 'bad', f.bad_sink_count)
      FROM flow_life.flows AS f WHERE f.id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM flow_life.outbox_events RETURNING *)
    SELECT concat_ws(' ', topic, type, coalesce((SELECT flow_key FROM flow_life.tasks WHERE id = subject::uuid), 'flow'), replace((details - 'flow_id' - 'queue' - 'kind' - 'lease_id' - 'worker' - 'worker_instance' - 'by' - 'as' - 'via')::text, '00000000-0000-4000-8000-0000000000', '')) FROM gone WHERE subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;

-- FL-1: tasks with edges are blocked, the others ready or delayed; the answer maps keys to ids.
SELECT pg_temp.make(1, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c", "after": ["a"], "delay_ms": 500}, {"key": "d", "after": ["b", {"key": "c", "pass_as": "x"}]}, {"key": "z", "delay_ms": 100}]');
SELECT pg_temp.show(1);
SELECT jsonb_object_agg(k, right(v, 4)) FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(1)), 1000) AS f, jsonb_each_text(f.task_ids) AS x(k, v);
SELECT state, graph_revision, created FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(1), 'kind', 'other'), 1000);
-- FR-1: an end resolves the edges that leave it in the same transaction; a start delay counts from then.
SELECT pg_temp.done(1, 'a', 'ok', '{"n": 1}');
SELECT pg_temp.show(1);
SELECT available_at_ms FROM tasks WHERE id = pg_temp.task(1, 'c');
SELECT pg_temp.done(1, 'b', 'ok', '2', 1100);
SELECT pg_temp.show(1);
SELECT pg_temp.done(1, 'c', 'ok', '3', 1600);
SELECT pg_temp.show(1);
-- FX-1: the claim tells of the upstreams and their results, by key.
SELECT flow_key, replace(upstream::text, '00000000-0000-4000-8000-0000000000', '') FROM claim_tasks('w', 'w-1', ARRAY['l'], p_max_items => 2, p_now_ms => 1700);
SELECT key, pass_as, state, result FROM upstream_results(pg_temp.task(1, 'd'));
SELECT pg_temp.told();
SELECT result FROM complete_task(pg_temp.task(1, 'd'), 1, p_now_ms => 1800) UNION ALL SELECT result FROM complete_task(pg_temp.task(1, 'z'), 1, p_now_ms => 1800);
-- FS-1: the last end completes the flow, with one event.
SELECT pg_temp.show(1);
SELECT pg_temp.told();
SELECT * FROM check_tasks();

-- ---- joins ----
-- JN-1: all_of: one failure makes it impossible, and what lies behind is skipped, to any depth.
SELECT pg_temp.make(2, '[{"key": "a"}, {"key": "b"}, {"key": "c", "after": ["a", "b"]}, {"key": "d", "after": ["c"]}, {"key": "e", "after": ["d"]}]');
SELECT pg_temp.done(2, 'a', 'fail');
SELECT pg_temp.show(2);
SELECT pg_temp.told();
SELECT pg_temp.done(2, 'b');
SELECT pg_temp.show(2);
SELECT policy, total, satisfied, failed, skipped, state FROM groups WHERE flow_id = pg_temp.id(2) ORDER BY downstream_id;
SELECT pg_temp.told();
-- JN-2: any_of: the first success satisfies it and cancels the others; a failure before it does not matter.
SELECT pg_temp.make(3, '[{"key": "a"}, {"key": "b"}, {"key": "c"}, {"key": "d", "after": ["a", "b", "c"], "join": {"kind": "any_of"}}]');
SELECT pg_temp.done(3, 'a', 'fail');
SELECT pg_temp.show(3);
SELECT pg_temp.done(3, 'b', 'claim');
SELECT pg_temp.told();
SELECT pg_temp.done(3, 'c');
SELECT pg_temp.show(3);
SELECT pg_temp.told();
SELECT flow_key, cancelled_by, cancel_reason FROM tasks WHERE flow_id = pg_temp.id(3) AND state = 'cancelled';
SELECT pg_temp.done(3, 'd');
SELECT pg_temp.show(3);
SELECT pg_temp.told();
-- JN-3: any_of is impossible when all have failed.
SELECT pg_temp.make(4, '[{"key": "a"}, {"key": "b"}, {"key": "d", "after": ["a", "b"], "join": {"kind": "any_of", "on_satisfied": "let_run"}}]');
SELECT pg_temp.done(4, 'a', 'fail'), pg_temp.show(4);
SELECT pg_temp.done(4, 'b', 'cancel'), pg_temp.show(4);
-- JN-4: let_run cancels none; a closed group only keeps counting.
SELECT pg_temp.make(5, '[{"key": "a"}, {"key": "b"}, {"key": "d", "after": ["a", "b"], "join": {"kind": "any_of", "on_satisfied": "let_run"}}]');
SELECT pg_temp.done(5, 'a'), pg_temp.show(5);
SELECT pg_temp.done(5, 'd'), pg_temp.show(5);
SELECT pg_temp.done(5, 'b', 'fail'), pg_temp.show(5);
SELECT satisfied, failed, skipped, state FROM groups WHERE flow_id = pg_temp.id(5);
-- JN-5: a quorum of two in three: satisfied by two, impossible once two are lost; a skipped upstream counts as lost.
SELECT pg_temp.make(6, '[{"key": "a"}, {"key": "b"}, {"key": "c"}, {"key": "d", "after": ["a", "b", "c"], "join": {"kind": "quorum", "k": 2}}]');
SELECT pg_temp.done(6, 'a'), pg_temp.show(6);
SELECT pg_temp.done(6, 'b'), pg_temp.show(6);
SELECT pg_temp.make(7, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c"}, {"key": "d", "after": ["a", "b", "c"], "join": {"kind": "quorum", "k": 2}}]');
SELECT pg_temp.done(7, 'a', 'fail'), pg_temp.show(7);
SELECT failed, skipped, state FROM groups WHERE downstream_id = pg_temp.task(7, 'd');
SELECT pg_temp.done(7, 'c'), pg_temp.show(7);
-- JN-6: a sibling that another open group needs is spared.
SELECT pg_temp.make(8, '[{"key": "a"}, {"key": "b"}, {"key": "d", "after": ["a", "b"], "join": {"kind": "any_of"}}, {"key": "e", "after": ["b"]}]');
SELECT pg_temp.done(8, 'a'), pg_temp.show(8);
-- FS-2: a failure that is absorbed further down does not fail the flow; one of a sink does.
SELECT pg_temp.done(8, 'b', 'fail'), pg_temp.show(8);
SELECT pg_temp.done(8, 'd'), pg_temp.show(8);
SELECT * FROM check_tasks();
DELETE FROM outbox_events;

-- ---- fail policies ----
-- FF-1: fail_fast ends the flow at the first bad sink, cancels the others and revokes their leases.
SELECT pg_temp.make(9, '[{"key": "a"}, {"key": "b"}, {"key": "c", "after": ["b"]}, {"key": "d"}]', '{"fail_policy": "fail_fast"}');
SELECT pg_temp.done(9, 'b', 'claim'), pg_temp.done(9, 'a', 'fail'), pg_temp.show(9);
SELECT struck FROM flows WHERE id = pg_temp.id(9);
SELECT pg_temp.told();
SELECT flow_key, cancelled_by, cancel_reason, lease_epoch FROM tasks WHERE flow_id = pg_temp.id(9) AND state = 'cancelled' ORDER BY flow_key;
-- A failure of a member that is no sink does not strike by itself, but by what it makes impossible.
SELECT pg_temp.make(10, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c"}]', '{"fail_policy": "fail_fast"}');
SELECT pg_temp.done(10, 'a', 'fail'), pg_temp.show(10);
-- FF-2: a flow that goes on (continue) runs what can still run.
SELECT pg_temp.make(11, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c"}]');
SELECT pg_temp.done(11, 'a', 'fail'), pg_temp.show(11);
SELECT pg_temp.done(11, 'c'), pg_temp.show(11);
-- FF-3: a retry is no end.
SELECT pg_temp.make(12, '[{"key": "a"}, {"key": "b", "after": ["a"]}]', '{"fail_policy": "fail_fast"}');
SELECT pg_temp.done(12, 'a', 'claim');
SELECT result, state FROM fail_task(pg_temp.task(12, 'a'), 1, 'transient', p_now_ms => 1000);
SELECT pg_temp.show(12);
-- A sealed flow without members is completed; an expired and a skipped sink are bad.
SELECT pg_temp.make(13, '[]'), pg_temp.show(13);
SELECT pg_temp.make(14, '[{"key": "a", "deadline_ms": 2000}, {"key": "b", "after": ["a"]}]');
SELECT rows FROM reconcile('{deadlines}', p_now_ms => 2000);
SELECT pg_temp.show(14);
SELECT * FROM check_tasks();

-- ---- the bound ----
-- CQ-1: one call resolves at most fanout_bound edges; the rest is queued, and done by the duty.
SELECT belay.set_hub_option('flow_life', 'fanout_bound', '3');
SELECT pg_temp.make(20, (SELECT jsonb_agg(CASE WHEN i = 0 THEN '{"key": "a"}' ELSE jsonb_build_object('key', 'b' || i, 'after', '["a"]'::jsonb) END ORDER BY i) FROM generate_series(0, 8) AS i));
SELECT pg_temp.done(20, 'a'), pg_temp.show(20);
SELECT what, count(*) FROM cascade_queue GROUP BY 1;
SELECT * FROM check_tasks();
SELECT duty, rows FROM reconcile('{dispatch_sweep}', p_now_ms => 1000);
SELECT pg_temp.show(20);
SELECT count(*) FROM cascade_queue;
-- CQ-2: skips count too, over the whole cascade: a chain of eight.
SELECT pg_temp.make(21, (SELECT jsonb_agg(CASE WHEN i = 0 THEN '{"key": "c0"}' ELSE jsonb_build_object('key', 'c' || i, 'after', jsonb_build_array('c' || i - 1)) END ORDER BY i) FROM generate_series(0, 8) AS i));
SELECT pg_temp.done(21, 'c0', 'fail'), pg_temp.show(21);
SELECT duty, rows > 0 FROM reconcile('{dispatch_sweep}', p_now_ms => 1000);
SELECT pg_temp.show(21);
-- CQ-3: siblings beyond the bound are cancelled by the duty; so are the members of a flow that failed fast.
SELECT pg_temp.make(22, (SELECT jsonb_agg(jsonb_build_object('key', 'a' || i) ORDER BY i) || jsonb_build_array(jsonb_build_object('key', 'j', 'after', jsonb_agg('a' || i), 'join', '{"kind": "any_of"}'::jsonb)) FROM generate_series(1, 8) AS i));
SELECT pg_temp.done(22, 'a1'), pg_temp.show(22);
SELECT what, count(*) FROM cascade_queue GROUP BY 1;
SELECT duty, rows > 0 FROM reconcile('{sibling_cancel}', p_now_ms => 1000);
SELECT pg_temp.show(22);
SELECT pg_temp.make(23, (SELECT jsonb_agg(jsonb_build_object('key', 'a' || i) ORDER BY i) FROM generate_series(1, 8) AS i), '{"fail_policy": "fail_fast"}');
SELECT pg_temp.done(23, 'a1', 'fail'), pg_temp.show(23);
SELECT duty, rows FROM reconcile('{sibling_cancel}', p_now_ms => 1000);
SELECT pg_temp.show(23);
-- A flow that has ended otherwise has nothing left to do: the edges of cancelled siblings.
SELECT rows FROM reconcile('{dispatch_sweep}', p_now_ms => 1000);
SELECT count(*) FROM cascade_queue;
SELECT * FROM check_tasks();
-- FR-7: the revision changes with what get_flow tells, and a flow that has not changed is not told again.
SELECT count(*) FROM create_flow('{"flow_id": "00000000-0000-4000-8000-0000000000f1", "tasks": [{"key": "a", "queue": "rev", "task_id": "00000000-0000-4000-8000-0000000000a1"}, {"key": "b", "queue": "rev", "after": ["a"], "task_id": "00000000-0000-4000-8000-0000000000b1"}]}', 1000);
CREATE FUNCTION pg_temp.news(OUT changed boolean, OUT told text) LANGUAGE plpgsql AS $$
DECLARE known text := current_setting('test.revision', true); flow jsonb := get_flow('00000000-0000-4000-8000-0000000000f1', known);
BEGIN
    changed := flow IS NOT NULL;
    told := (SELECT string_agg(concat_ws(' ', m ->> 'key', m ->> 'state', m ->> 'attempt_index', m ->> 'started_at_ms', m ->> 'terminal_at_ms', m ->> 'failure_class', m ->> 'worker', m #>> '{progress,percent}'), ', ' ORDER BY m ->> 'key') FROM jsonb_array_elements(flow -> 'members') AS m);
    IF changed THEN PERFORM set_config('test.revision', flow ->> 'revision', false); END IF;
END $$;
SELECT * FROM pg_temp.news();
SELECT * FROM pg_temp.news();
SELECT lease_epoch AS epoch FROM claim_tasks('w', 'w-1', '{rev}', p_lease_ms => 60000, p_now_ms => 2000) \gset
SELECT * FROM pg_temp.news();
SELECT count(*) FROM renew_task('00000000-0000-4000-8000-0000000000a1', :epoch, 60000, 2000);
SELECT count(*) FROM progress_task('00000000-0000-4000-8000-0000000000a1', :epoch, 40, 'm', p_now_ms => 2000);
SELECT * FROM pg_temp.news();
SELECT result FROM fail_task('00000000-0000-4000-8000-0000000000a1', :epoch, 'permanent', 'no', p_now_ms => 3000);
SELECT * FROM pg_temp.news();
SELECT * FROM pg_temp.news();
SELECT belay.drop_hub('flow_life', true);
