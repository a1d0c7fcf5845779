-- Replay inside flows: recounted groups, skipped members, cascades, flows that open again.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_replay');
SELECT belay.set_hub_option('flow_replay', 'max_clock_skew', '0');
SELECT belay.set_hub_option('flow_replay', 'events', 'operator,completion');
SET search_path = flow_replay, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.make(n int, tasks jsonb, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT f.state FROM flow_replay.create_flow(jsonb_build_object('flow_id', pg_temp.id(n), 'tasks',
               (SELECT jsonb_agg(jsonb_build_object('queue', 'l' || n, 'task_id', pg_temp.id(n * 1000 + i::int)) || t ORDER BY i) FROM jsonb_array_elements(tasks) WITH ORDINALITY AS x(t, i))) || more, 1000) AS f
$$;
CREATE FUNCTION pg_temp.task(n int, key text) RETURNS uuid LANGUAGE sql AS $$ SELECT id FROM flow_replay.tasks WHERE flow_id = pg_temp.id(n) AND flow_key = key $$;
CREATE FUNCTION pg_temp.done(n int, key text, how text DEFAULT 'ok') RETURNS text LANGUAGE plpgsql AS $$
DECLARE t uuid := pg_temp.task(n, key); e bigint;
BEGIN
    IF how = 'cancel' THEN RETURN (SELECT c.result FROM flow_replay.cancel_task(t, 'no', p_now_ms => 1000) AS c); END IF;
    UPDATE flow_replay.tasks SET priority = 9000 WHERE id = t AND state = 'ready';
    SELECT c.lease_epoch INTO e FROM flow_replay.claim_tasks('w', 'w-1', ARRAY['l' || n], p_lease_ms => 1000, p_now_ms => 1000) AS c WHERE c.task_id = t;
    IF e IS NULL THEN RETURN 'not claimed';
    ELSIF how = 'ok' THEN RETURN (SELECT c.result FROM flow_replay.complete_task(t, e, p_now_ms => 1000) AS c);
    ELSE RETURN (SELECT f.result FROM flow_replay.fail_task(t, e, 'permanent', 'bad', p_now_ms => 1000) AS f);
    END IF;
END $$;
CREATE FUNCTION pg_temp.show(n int) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', f.state, '|', (SELECT string_agg(t.flow_key || '=' || t.state, ' ' ORDER BY t.flow_key) FROM flow_replay.tasks AS t WHERE t.flow_id = f.id), '| open', f.open_count, 'bad', f.bad_sink_count)
      FROM flow_replay.flows AS f WHERE f.id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.groups(n int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat(t.flow_key, ':', g.state, ' ', g.satisfied, '/', g.failed, '/', g.skipped, ' of ', g.total), ', ' ORDER BY t.flow_key) FROM flow_replay.groups AS g JOIN flow_replay.tasks AS t ON t.id = g.downstream_id WHERE g.flow_id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.replay(n int, key text, cascade boolean DEFAULT false) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', r.result, r.public_state, r.replay_count,
                     'reopened', (SELECT array_agg(t.flow_key ORDER BY t.flow_key) FROM flow_replay.tasks AS t WHERE t.id = ANY (r.reopened))::text,
                     'waiting on', (SELECT array_agg(t.flow_key ORDER BY t.flow_key) FROM flow_replay.tasks AS t WHERE t.id = ANY (r.waiting_on))::text)
      FROM flow_replay.replay_task(pg_temp.task(n, key), cascade, p_now_ms => 2000) AS r
$$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM flow_replay.outbox_events RETURNING *)
    SELECT concat_ws(' ', type, coalesce((SELECT flow_key FROM flow_replay.tasks WHERE id = subject::uuid), 'flow'), (details - 'flow_id' - 'queue' - 'kind' - 'lease_epoch' - 'attempt_index' - 'by' - 'as' - 'via')::text) FROM gone WHERE subject ~ '^[0-9a-f]{8}-' AND (topic = 'operator' OR type LIKE 'flow%') ORDER BY position
$$;
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$ SELECT replace(test.refused(statement), '00000000-0000-4000-8000-0000000000', '') $$;

-- RP-1: a failed member: ready again, its edges can be satisfied; what was skipped behind it stays so. The flow opens again.
SELECT pg_temp.make(1, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c", "after": ["b"]}]');
SELECT pg_temp.done(1, 'a', 'fail'), pg_temp.show(1), pg_temp.groups(1);
SELECT pg_temp.told();
SELECT pg_temp.replay(1, 'a'), pg_temp.show(1), pg_temp.groups(1);
SELECT pg_temp.told();
SELECT state, terminal_at_ms IS NULL AS open FROM flows WHERE id = pg_temp.id(1);
-- RP-2: the skipped member is replayed later by itself: its group is recounted; it waits for its upstream.
SELECT pg_temp.replay(1, 'b'), pg_temp.show(1), pg_temp.groups(1);
SELECT pg_temp.told();
SELECT reason FROM explain_claim(pg_temp.task(1, 'b'), p_now_ms => 2000);
SELECT pg_temp.done(1, 'a'), pg_temp.show(1);
SELECT pg_temp.replay(1, 'c'), pg_temp.show(1), pg_temp.groups(1);
SELECT pg_temp.done(1, 'b'), pg_temp.done(1, 'c'), pg_temp.show(1);
SELECT pg_temp.told();
SELECT * FROM check_tasks();
-- A skipped member whose upstream has not been replayed tells what it waits for.
SELECT pg_temp.make(2, '[{"key": "a"}, {"key": "b"}, {"key": "c", "after": ["a", "b"]}]');
SELECT pg_temp.done(2, 'b'), pg_temp.done(2, 'a', 'fail'), pg_temp.show(2), pg_temp.groups(2);
SELECT pg_temp.replay(2, 'c'), pg_temp.show(2), pg_temp.groups(2);
SELECT reason, detail->'upstream'->0->>'state' AS upstream FROM explain_claim(pg_temp.task(2, 'c'), p_now_ms => 2000);
SELECT pg_temp.replay(2, 'a'), pg_temp.done(2, 'a'), pg_temp.done(2, 'c'), pg_temp.show(2), pg_temp.groups(2);
SELECT * FROM check_tasks();

-- RP-3: with a cascade the chain opens again, level by level, each with a replay and an event of its own.
SELECT pg_temp.told();
SELECT pg_temp.make(3, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c", "after": ["b"]}, {"key": "d", "after": ["c"]}, {"key": "e", "after": ["a", "x"]}, {"key": "x"}]');
SELECT pg_temp.done(3, 'x', 'fail'), pg_temp.done(3, 'a', 'fail'), pg_temp.show(3), pg_temp.groups(3);
SELECT pg_temp.replay(3, 'a', true), pg_temp.show(3), pg_temp.groups(3);
SELECT pg_temp.told();
SELECT flow_key, replay_count, pending_attempt, lease_epoch FROM tasks WHERE flow_id = pg_temp.id(3) ORDER BY 1;
-- Another upstream failed, too: that group stays closed, and its task skipped.
SELECT pg_temp.done(3, 'a'), pg_temp.done(3, 'b'), pg_temp.done(3, 'c'), pg_temp.done(3, 'd'), pg_temp.show(3);
SELECT * FROM check_tasks();
-- RP-4: what is satisfied stays satisfied, and never fires again; a downstream that runs or has ended is left alone.
SELECT pg_temp.make(4, '[{"key": "a"}, {"key": "b", "after": ["a"]}]');
SELECT pg_temp.done(4, 'a'), pg_temp.replay(4, 'a'), pg_temp.show(4), pg_temp.groups(4);
SELECT pg_temp.done(4, 'b'), pg_temp.done(4, 'a', 'fail'), pg_temp.show(4), pg_temp.groups(4);
SELECT pg_temp.replay(4, 'b'), pg_temp.show(4);
SELECT * FROM check_tasks();
-- RP-5: a member that was cancelled while it was blocked waits for its group again, or not.
SELECT pg_temp.make(5, '[{"key": "a"}, {"key": "b", "after": ["a"]}]');
SELECT pg_temp.done(5, 'b', 'cancel'), pg_temp.show(5), pg_temp.replay(5, 'b'), pg_temp.show(5);
SELECT pg_temp.done(5, 'b', 'cancel'), pg_temp.done(5, 'a'), pg_temp.show(5), pg_temp.groups(5), pg_temp.replay(5, 'b'), pg_temp.show(5);
-- RP-6: any_of: with all upstreams lost, the cascade of one opens the group; if it fails again, the task is skipped again.
SELECT pg_temp.make(6, '[{"key": "a"}, {"key": "b"}, {"key": "d", "after": ["a", "b"], "join": {"kind": "any_of"}}]');
SELECT pg_temp.done(6, 'a', 'fail'), pg_temp.done(6, 'b', 'fail'), pg_temp.show(6), pg_temp.groups(6);
SELECT pg_temp.replay(6, 'a', true), pg_temp.show(6), pg_temp.groups(6);
SELECT pg_temp.done(6, 'a', 'fail'), pg_temp.show(6), pg_temp.groups(6);
SELECT * FROM check_tasks();
-- RP-7: a cancelled flow opens again; its other members stay cancelled; the backlog row of the task goes.
SELECT pg_temp.make(7, '[{"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c"}]');
SELECT count(*) FROM claim_tasks('w', 'w-1', ARRAY['l7'], p_max_items => 2, p_now_ms => 1000) WHERE flow_id = pg_temp.id(7);
SELECT member_count FROM cancel_flow(pg_temp.id(7), 'stop', p_now_ms => 1500);
SELECT pg_temp.replay(7, 'a'), pg_temp.show(7);
SELECT state, cancellation_policy, cancel_reason, cancelled_by, terminal_at_ms FROM flows WHERE id = pg_temp.id(7);
SELECT count(*) FROM cancel_backlog_open;
SELECT pg_temp.done(7, 'a'), pg_temp.show(7), pg_temp.groups(7);
SELECT pg_temp.replay(7, 'b'), pg_temp.show(7);
SELECT pg_temp.replay(7, 'c');
SELECT count(*) FROM cancel_backlog;
SELECT pg_temp.done(7, 'b'), pg_temp.done(7, 'c'), pg_temp.show(7);
-- RP-8: fail_fast strikes again at the next bad sink after a replay, not because of those before.
SELECT pg_temp.make(8, '[{"key": "a"}, {"key": "b"}, {"key": "c"}]', '{"fail_policy": "fail_fast"}');
SELECT pg_temp.done(8, 'a', 'fail'), pg_temp.show(8);
SELECT pg_temp.replay(8, 'b'), pg_temp.replay(8, 'c'), pg_temp.show(8);
SELECT pg_temp.done(8, 'b'), pg_temp.show(8);
SELECT pg_temp.done(8, 'c', 'fail'), pg_temp.show(8);
SELECT * FROM check_tasks();
-- RP-9: limits: a task of the cascade at its limit refuses the whole call, with nothing written.
SELECT pg_temp.make(9, '[{"key": "a"}, {"key": "b", "after": ["a"], "policy": {"max_replays": 0}}]');
SELECT pg_temp.done(9, 'a', 'fail');
SELECT md5(test.content('flow_replay')) AS before \gset
SELECT pg_temp.refused($$SELECT flow_replay.replay_task(pg_temp.id(9001), true, p_now_ms => 2000)$$);
SELECT md5(test.content('flow_replay')) = :'before' AS untouched;
SELECT pg_temp.refused($$SELECT flow_replay.replay_task(pg_temp.id(9001), p_now_ms => 2000)$$), pg_temp.refused($$SELECT flow_replay.replay_task(pg_temp.id(9001), p_now_ms => 2000)$$);
-- A held member of an open flow is blocked again.
SELECT pg_temp.make(10, '[{"key": "a", "hold": true}]', '{"seal": false}');
SELECT pg_temp.done(10, 'a', 'cancel'), pg_temp.show(10), pg_temp.replay(10, 'a'), pg_temp.show(10);
SELECT state FROM seal_flow(pg_temp.id(10), p_now_ms => 2000);
SELECT pg_temp.show(10);
SELECT * FROM check_tasks();
SELECT belay.drop_hub('flow_replay', true);
