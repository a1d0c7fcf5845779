-- Cancelling a flow: three policies, the backlog and its acknowledgements, members that do not go back to the queue.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_cancel');
SELECT belay.set_hub_option('flow_cancel', 'max_clock_skew', '0');
SELECT belay.set_hub_option('flow_cancel', 'events', 'lease,operator,completion');
SET search_path = flow_cancel, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
-- A flow of five: a completed, b and c active, d ready, e blocked behind b. Ids n * 10 + 1 to 5.
CREATE FUNCTION pg_temp.make(n int, policy text DEFAULT 'continue') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM flow_cancel.create_flow(jsonb_build_object('flow_id', pg_temp.id(n), 'fail_policy', policy, 'tasks', jsonb_build_array(
        jsonb_build_object('key', 'a', 'queue', 'l' || n, 'task_id', pg_temp.id(n * 10 + 1), 'priority', 5),
        jsonb_build_object('key', 'b', 'queue', 'l' || n, 'task_id', pg_temp.id(n * 10 + 2), 'priority', 4),
        jsonb_build_object('key', 'c', 'queue', 'l' || n, 'task_id', pg_temp.id(n * 10 + 3), 'priority', 3),
        jsonb_build_object('key', 'd', 'queue', 'l' || n, 'task_id', pg_temp.id(n * 10 + 4)),
        jsonb_build_object('key', 'e', 'queue', 'l' || n, 'task_id', pg_temp.id(n * 10 + 5), 'after', '["b"]'::jsonb))), 1000);
    PERFORM flow_cancel.claim_tasks('w', 'w-1', ARRAY['l' || n], p_max_items => 1, p_now_ms => 1000);
    PERFORM flow_cancel.complete_task(pg_temp.id(n * 10 + 1), 1, '"kept"', p_now_ms => 1000);
    PERFORM flow_cancel.claim_tasks('w', 'w-2', ARRAY['l' || n], p_max_items => 1, p_now_ms => 1000);
    PERFORM flow_cancel.claim_tasks('w', 'w-3', ARRAY['l' || n], p_max_items => 1, p_now_ms => 1000);
    DELETE FROM flow_cancel.outbox_events;
    RETURN 'made';
END $$;
CREATE FUNCTION pg_temp.show(n int) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', f.state, '|', (SELECT string_agg(t.flow_key || '=' || t.state, ' ' ORDER BY t.flow_key) FROM flow_cancel.tasks AS t WHERE t.flow_id = f.id), '| open', f.open_count, 'bad', f.bad_sink_count)
      FROM flow_cancel.flows AS f WHERE f.id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM flow_cancel.outbox_events RETURNING *)
    SELECT concat_ws(' ', topic, type, pg_temp.n(subject::uuid), replace((details - 'queue' - 'kind' - 'lease_id' - 'worker' - 'by' - 'as' - 'via')::text, '00000000-0000-4000-8000-0000000000', '')) FROM gone WHERE subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$ SELECT replace(test.refused(statement), '00000000-0000-4000-8000-0000000000', '') $$;
CREATE FUNCTION pg_temp.cancel(n int, policy text, reason text DEFAULT 'stop') RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', c.result, c.cancellation_policy, quote_nullable(c.reason), c.member_count, (SELECT array_agg(pg_temp.n(x) ORDER BY x) FROM unnest(c.member_ids) AS x)::text)
      FROM flow_cancel.cancel_flow(pg_temp.id(n), reason, policy, 500, 'ops', 2000) AS c
$$;

-- CN-1: cancel_all: every member that has not ended; two active ones: two leases revoked, a header, two backlog rows.
SELECT pg_temp.make(1), pg_temp.show(1);
SELECT pg_temp.cancel(1, 'cancel_all');
SELECT pg_temp.show(1);
SELECT pg_temp.told();
SELECT flow_key, cancelled_by, cancel_reason, terminal_at_ms, lease_epoch, lease_owner, result FROM tasks WHERE flow_id = pg_temp.id(1) ORDER BY flow_key;
SELECT pg_temp.n(task_id), outcome, lease_epoch AS epoch FROM task_attempts WHERE ended_ms IS NOT NULL AND task_id IN (SELECT id FROM tasks WHERE flow_id = pg_temp.id(1)) ORDER BY 1;
SELECT cancellation_policy, cancel_reason, cancelled_by, terminal_at_ms FROM flows WHERE id = pg_temp.id(1);
SELECT pg_temp.n(task_id) AS task, worker, worker_instance, lease_epoch, requester, reason, requested_at_ms, grace_until_ms FROM cancel_backlog_open ORDER BY task_id;
-- The edges stay as they are; a late call of a worker is refused.
SELECT state FROM edges WHERE flow_id = pg_temp.id(1);
SELECT pg_temp.refused($$SELECT flow_cancel.complete_task(pg_temp.id(12), 1, p_now_ms => 2000)$$);
-- CN-2: again: already_terminal, with what is stored, and the members of the backlog; nothing is written.
SELECT md5(test.content('flow_cancel')) AS before \gset
SELECT pg_temp.cancel(1, 'flow_only', 'other');
SELECT md5(test.content('flow_cancel')) = :'before' AS untouched;
-- CM-1: the first ack leaves the header and one member, the second removes both; a repetition and unknown ids are refused; no events.
SELECT pg_temp.refused($$SELECT flow_cancel.ack_cancel_member(pg_temp.id(99), pg_temp.id(12))$$), pg_temp.refused($$SELECT flow_cancel.ack_cancel_member(pg_temp.id(1), pg_temp.id(99))$$);
-- A member that no worker had owes nothing.
SELECT pg_temp.refused($$SELECT flow_cancel.ack_cancel_member(pg_temp.id(1), pg_temp.id(14))$$);
SELECT pg_temp.refused($$SELECT flow_cancel.ack_cancel_member(pg_temp.id(2), pg_temp.id(21))$$) FROM pg_temp.make(2);
SELECT ack_cancel_member(pg_temp.id(1), pg_temp.id(12));
SELECT pg_temp.refused($$SELECT flow_cancel.ack_cancel_member(pg_temp.id(1), pg_temp.id(12))$$);
SELECT (SELECT count(*) FROM cancel_backlog) AS headers, (SELECT count(*) FROM cancel_backlog_members) AS members;
SELECT * FROM check_tasks();
-- A transaction that undoes what the member has done, and is run again after a lost answer of COMMIT, commits once.
CREATE TEMP TABLE undone (task uuid);
BEGIN; INSERT INTO undone VALUES (pg_temp.id(13)); SELECT ack_cancel_member(pg_temp.id(1), pg_temp.id(13)); COMMIT;
BEGIN; INSERT INTO undone VALUES (pg_temp.id(13)); SELECT ack_cancel_member(pg_temp.id(1), pg_temp.id(13)); COMMIT;
SELECT count(*) FROM undone;
SELECT (SELECT count(*) FROM cancel_backlog) AS headers, (SELECT count(*) FROM cancel_backlog_members) AS members;
SELECT count(*) FROM outbox_events;
-- With no backlog left: all members.
SELECT pg_temp.cancel(1, 'cancel_all');

-- CN-3: cancel_pending: active members may finish, but never go back to the queue.
SELECT pg_temp.cancel(2, 'cancel_pending'), pg_temp.show(2);
SELECT pg_temp.told();
SELECT (SELECT count(*) FROM cancel_backlog) AS headers;
SELECT result, state, available_at_ms FROM fail_task(pg_temp.id(22), 1, 'transient', 'try again', p_now_ms => 2100);
SELECT pg_temp.told();
SELECT state, cancelled_by, cancel_reason, failure_message FROM tasks WHERE id = pg_temp.id(22);
SELECT outcome FROM attempts WHERE task_id = pg_temp.id(22);
SELECT result FROM complete_task(pg_temp.id(23), 1, p_now_ms => 2100);
SELECT pg_temp.show(2);
SELECT pg_temp.told();
-- The same for delay, release, revoke, and a lease that ends.
SELECT pg_temp.make(3), pg_temp.cancel(3, 'cancel_pending');
SELECT state, available_at_ms FROM delay_task(pg_temp.id(32), 1, 100, p_now_ms => 2100);
SELECT state, available_at_ms FROM release_task(pg_temp.id(33), 1, p_now_ms => 2100);
SELECT pg_temp.make(4), pg_temp.cancel(4, 'cancel_pending');
SELECT result, lease_epoch FROM revoke_lease(pg_temp.id(42), 'x', p_now_ms => 2100);
SELECT rows FROM reconcile('{lease_expiry}', p_now_ms => 40000);
SELECT pg_temp.show(3), pg_temp.show(4);
SELECT DISTINCT split_part(t, ' ', 1) || ' ' || split_part(t, ' ', 2) || ' ' || split_part(t, ' ', 3) FROM pg_temp.told() AS t ORDER BY 1;

-- CN-4: flow_only (also cancel_flow_only): members go on by their edges.
SELECT pg_temp.make(5), pg_temp.cancel(5, 'cancel_flow_only'), pg_temp.show(5);
SELECT pg_temp.told();
SELECT result FROM complete_task(pg_temp.id(52), 1, p_now_ms => 2100);
SELECT result, state FROM fail_task(pg_temp.id(53), 1, 'transient', p_now_ms => 2100);
SELECT pg_temp.show(5);
SELECT result, lease_epoch FROM revoke_lease(pg_temp.id(52), p_now_ms => 2100);

-- CN-5: gates.
SELECT pg_temp.refused($$SELECT flow_cancel.cancel_flow(pg_temp.id(99))$$);
SELECT pg_temp.refused($$SELECT flow_cancel.cancel_flow(pg_temp.id(1), p_policy => 'all')$$);
SELECT pg_temp.refused($$SELECT flow_cancel.cancel_flow(NULL)$$);
SELECT pg_temp.refused($$SELECT flow_cancel.cancel_flow(pg_temp.id(1), p_grace_ms => -1)$$);
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(6), 'tasks', '[]'::jsonb), 1000);
SELECT pg_temp.cancel(6, 'cancel_all');
-- An open flow can be cancelled, and does not grow afterwards.
SELECT state FROM create_flow(jsonb_build_object('flow_id', pg_temp.id(7), 'seal', false, 'tasks', '[{"key": "a", "queue": "x", "hold": true, "task_id": "00000000-0000-4000-8000-000000000071"}]'::jsonb), 1000);
SELECT pg_temp.cancel(7, 'cancel_all');
SELECT pg_temp.refused($$SELECT flow_cancel.add_task_to_flow(pg_temp.id(7), '{"key": "b", "queue": "x"}')$$);
SELECT pg_temp.refused($$SELECT flow_cancel.seal_flow(pg_temp.id(7))$$);

-- CM-2: the duty drains the backlog when the grace is over, and only then.
SELECT pg_temp.make(8), pg_temp.cancel(8, 'cancel_all');
SELECT rows FROM reconcile('{cancel_backlog}', p_now_ms => 2499);
SELECT count(*) FROM cancel_backlog_open;
SELECT rows FROM reconcile('{cancel_backlog}', p_now_ms => 2500);
SELECT (SELECT count(*) FROM cancel_backlog) AS headers, (SELECT count(*) FROM cancel_backlog_members) AS members;
-- A member that against all rules goes on is cancelled first.
SELECT pg_temp.make(9), pg_temp.cancel(9, 'cancel_all');
UPDATE tasks SET state = 'ready', terminal_at_ms = NULL, available_at_ms = 1, cancelled_by = NULL, cancel_reason = NULL WHERE id = pg_temp.id(94);
UPDATE flows SET open_count = 1, bad_sink_count = bad_sink_count - 1 WHERE id = pg_temp.id(9);
SELECT * FROM check_tasks();
SELECT rows > 0 FROM reconcile('{cancel_backlog}', p_now_ms => 2500);
SELECT state, cancelled_by FROM tasks WHERE id = pg_temp.id(94);
-- Retention keeps a flow whose workers owe an answer.
SELECT pg_temp.make(10), pg_temp.cancel(10, 'cancel_all');
SELECT count(*) FROM (SELECT reconcile('{retention}', p_now_ms => 2000 + 24 * 3600000)) AS x;
SELECT pg_temp.n(id) FROM flows ORDER BY id;
SELECT rows > 0 FROM reconcile('{cancel_backlog}', p_now_ms => 2000 + 24 * 3600000);
SELECT rows > 0 FROM reconcile('{retention}', p_now_ms => 2000 + 24 * 3600000);
SELECT pg_temp.n(id) FROM flows ORDER BY id;
-- CN-6: a suspended member is cancelled, too, its suspension closed; places of limited queues are given back. A member of a flow that takes nothing back is cancelled rather than suspended.
SELECT set_queue('l11', '{"concurrency": 2}');
SELECT pg_temp.make(11), pg_temp.make(12);
SELECT result FROM suspend_task(pg_temp.id(112), 1, '{"waitpoints": [{"key": "k"}], "condition": {"single": {"key": "k"}}}', 1500);
SELECT pg_temp.show(11), pg_temp.cancel(11, 'cancel_all'), pg_temp.show(11);
SELECT closed_by, closed_at_ms FROM suspensions;
SELECT l.active + (SELECT sum(places) FROM queue_moves) AS active FROM queue_limits AS l;
SELECT pg_temp.cancel(12, 'cancel_pending');
SELECT result, suspension_id, waitpoints FROM suspend_task(pg_temp.id(122), 1, '{"waitpoints": [{"key": "k"}], "condition": {"single": {"key": "k"}}}', 2000);
SELECT pg_temp.show(12);
SELECT * FROM check_tasks();
SELECT belay.drop_hub('flow_cancel', true);
