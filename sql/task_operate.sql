-- What operators do to tasks: gates in order, exact answers, events (flow of control, not of work).
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_op');
SELECT belay.set_hub_option('task_op', 'max_clock_skew', '0');
SELECT belay.set_hub_option('task_op', 'events', 'lease,operator,completion');
SET search_path = task_op, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM task_op.outbox_events RETURNING *)
    SELECT concat_ws(' ', topic, type, pg_temp.n(subject::uuid), replace((details - 'flow_id' - 'queue' - 'kind' - 'by' - 'as' - 'via')::text, '00000000-0000-4000-8000-0000000000', '')) FROM gone WHERE subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$ SELECT replace(test.refused(statement), '00000000-0000-4000-8000-0000000000', '') $$;
-- A task in a state: made, and brought there.
CREATE FUNCTION pg_temp.make(n int, wanted text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM task_op.create_task('l', NULL, pg_temp.id(n), p_delay_ms => CASE WHEN wanted = 'delayed' THEN 100000 ELSE 0 END, p_deadline_ms => CASE WHEN wanted = 'expired' THEN 1001 END, p_now_ms => 1000);
    IF wanted NOT IN ('ready', 'delayed', 'expired', 'cancelled') THEN
        PERFORM task_op.claim_tasks('w', 'w-1', p_lease_ms => 1000, p_now_ms => 1000);
    END IF;
    IF wanted = 'completed' THEN PERFORM task_op.complete_task(pg_temp.id(n), 1, '1', p_now_ms => 1000);
    ELSIF wanted = 'failed' THEN PERFORM task_op.fail_task(pg_temp.id(n), 1, 'permanent', p_now_ms => 1000);
    ELSIF wanted = 'cancelled' THEN PERFORM task_op.cancel_task(pg_temp.id(n), 'first', p_now_ms => 1000);
    ELSIF wanted = 'expired' THEN PERFORM task_op.reconcile('{deadlines}', p_now_ms => 1001);
    ELSIF wanted = 'paused' THEN PERFORM task_op.release_task(pg_temp.id(n), 1, p_now_ms => 1000);
    END IF;
    DELETE FROM task_op.outbox_events;
    RETURN state FROM task_op.tasks WHERE id = pg_temp.id(n);
END $$;

-- ---- cancel_task ----
-- TO-1: an active task loses its lease: epoch 1 to 2, one revoked, one cancelled; a late complete gets QB012.
SELECT pg_temp.make(1, 'active');
SELECT result, public_state, previous_state, effective FROM cancel_task(pg_temp.id(1), 'wrong input', p_now_ms => 1100);
SELECT state, lease_epoch, lease_owner, lease_worker, lease_until_ms, lease_check_ms, cancel_reason, cancelled_by, terminal_at_ms, updated_at_ms FROM tasks;
SELECT * FROM pg_temp.told();
SELECT pg_temp.refused($$SELECT task_op.complete_task(pg_temp.id(1), 1, p_now_ms => 1200)$$);
SELECT outcome, ended_ms FROM task_attempts;
-- TO-2: once more: the same answer, nothing written, the first reason stays.
SELECT md5(test.content('task_op')) AS before \gset
SELECT result, public_state, previous_state, effective FROM cancel_task(pg_temp.id(1), 'other', 'me', p_now_ms => 1300);
SELECT md5(test.content('task_op')) = :'before' AS untouched;
-- Not active: no revoked. A paused attempt ends.
SELECT pg_temp.make(2, 'ready'), pg_temp.make(3, 'delayed');
SELECT result, previous_state, effective FROM cancel_task(pg_temp.id(2), p_source => 'my script', p_now_ms => 1100) UNION ALL SELECT result, previous_state, effective FROM cancel_task(pg_temp.id(3), p_now_ms => 1100);
SELECT * FROM pg_temp.told();
SELECT pg_temp.make(4, 'paused');
SELECT result, previous_state, effective FROM cancel_task(pg_temp.id(4), 'x', p_now_ms => 1100);
SELECT * FROM pg_temp.told();
SELECT pg_temp.n(id), state, cancelled_by, cancel_reason, lease_epoch FROM tasks ORDER BY id;
SELECT pg_temp.n(task_id), outcome, lease_epoch FROM task_attempts ORDER BY 1;
-- TO-3: the other gates, in order.
SELECT pg_temp.refused($$SELECT task_op.cancel_task(pg_temp.id(99), p_source => 'lease_holder')$$);
SELECT pg_temp.make(5, 'completed'), pg_temp.make(6, 'active');
SELECT pg_temp.refused($$SELECT task_op.cancel_task(pg_temp.id(5), p_source => 'lease_holder')$$);
SELECT pg_temp.refused($$SELECT task_op.cancel_task(pg_temp.id(6), p_source => 'lease_holder', p_now_ms => 1100)$$);
SELECT pg_temp.refused($$SELECT task_op.cancel_task(pg_temp.id(6), p_source => 'lease_holder', p_lease_epoch => 7, p_now_ms => 1100)$$);
SELECT * FROM pg_temp.told();
-- A lease that is over and not settled counts as leased.
SELECT result, previous_state, effective FROM cancel_task(pg_temp.id(6), 'by holder', 'lease_holder', 1, p_now_ms => 9000);
SELECT * FROM pg_temp.told();
-- TO-4: source flow_cascade publishes no completion.
SELECT pg_temp.make(7, 'active');
SELECT result, effective FROM cancel_task(pg_temp.id(7), 'flow', 'flow_cascade', 1, p_now_ms => 1100);
SELECT * FROM pg_temp.told();
SELECT * FROM check_tasks();
DELETE FROM tasks; DELETE FROM attempts;

-- ---- revoke_lease ----
-- TO-5: all six answers, in the order of the gates.
SELECT pg_temp.refused($$SELECT task_op.revoke_lease(pg_temp.id(99))$$);
SELECT pg_temp.make(1, 'ready');
SELECT result, reason, lease_id, lease_epoch FROM revoke_lease(pg_temp.id(1), 'r', 'w-9', 'x', 9, 1100);
DELETE FROM tasks; SELECT pg_temp.make(1, 'active');
SELECT result, reason, replace(lease_id, '00000000-0000-4000-8000-0000000000', '') AS lease_id, lease_epoch FROM (
    SELECT * FROM revoke_lease(pg_temp.id(1), 'r', 'w-9', 'x', 9, 1100) UNION ALL SELECT * FROM revoke_lease(pg_temp.id(1), 'r', 'w-1', 'x', 9, 1100)
    UNION ALL SELECT * FROM revoke_lease(pg_temp.id(1), 'r', NULL, 'belay:00000000-0000-4000-8000-000000000001:1:1', 9, 1100)) AS x;
SELECT * FROM pg_temp.told();
SELECT result, reason, replace(lease_id, '00000000-0000-4000-8000-0000000000', '') AS lease_id, lease_epoch FROM revoke_lease(pg_temp.id(1), 'too slow', 'w-1', 'belay:00000000-0000-4000-8000-000000000001:1:1', 1, 1100);
SELECT result, reason, lease_id, lease_epoch FROM revoke_lease(pg_temp.id(1), 'again', p_now_ms => 1100);
SELECT * FROM pg_temp.told();
-- TO-6: the same attempt, claimable at once at its old place; no counter moves; the worker finds out.
SELECT state, pending_attempt, available_at_ms, retry_count, reclaim_count FROM tasks;
SELECT pg_temp.refused($$SELECT task_op.renew_task(pg_temp.id(1), 1, 1000, 1200)$$);
SELECT attempt_index, attempt_kind, lease_epoch, reclaim_count FROM claim_tasks('w', 'w-2', p_lease_ms => 1000, p_now_ms => 1200);
SELECT pg_temp.refused($$SELECT task_op.renew_task(pg_temp.id(1), 1, 1000, 1200)$$);
-- A lease that is over and not settled is revoked like any other.
SELECT result, reason, lease_epoch FROM revoke_lease(pg_temp.id(1), p_now_ms => 9000);
SELECT * FROM pg_temp.told();
DELETE FROM tasks; DELETE FROM attempts;

-- ---- change_priority ----
-- TO-7: clamped at both ends; an event each time, also without a change; the next claim follows.
SELECT pg_temp.make(1, 'ready'), pg_temp.make(2, 'ready'), pg_temp.make(3, 'delayed');
SELECT result, old_priority, new_priority FROM change_priority(pg_temp.id(2), 10000, 1100) UNION ALL SELECT result, old_priority, new_priority FROM change_priority(pg_temp.id(2), 9000, 1100)
    UNION ALL SELECT result, old_priority, new_priority FROM change_priority(pg_temp.id(1), -1, 1100) UNION ALL SELECT result, old_priority, new_priority FROM change_priority(pg_temp.id(3), 5, 101000);
SELECT * FROM pg_temp.told();
SELECT pg_temp.n(task_id), priority FROM claim_tasks('w', 'w-1', p_max_items => 3, p_now_ms => 1100);
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM outbox_events;
SELECT pg_temp.refused($$SELECT task_op.change_priority(pg_temp.id(99), 1)$$), pg_temp.refused($$SELECT task_op.change_priority(pg_temp.id(99), NULL)$$);
SELECT state, pg_temp.refused(format($$SELECT task_op.change_priority(pg_temp.id(%s), 1, 1100)$$, n)) FROM (SELECT n, pg_temp.make(n::int, s) AS state FROM unnest('{delayed,active,completed,failed,cancelled,expired}'::text[]) WITH ORDINALITY AS u (s, n)) AS x;
SELECT count(*) FROM pg_temp.told();

-- ---- replay_task ----
-- TO-8: from each terminal state; QB011 otherwise; history stays, epoch + 1, counters and results are gone.
SELECT pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(99))$$), pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(1), p_now_ms => 1100)$$), pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(2), p_now_ms => 1100)$$);
UPDATE tasks SET state = 'skipped', failure_class = NULL WHERE id = pg_temp.id(4); DELETE FROM attempts WHERE task_id = pg_temp.id(4); UPDATE tasks SET attempt_index = 0, started_at_ms = NULL WHERE id = pg_temp.id(4);
SELECT pg_temp.n(task_id), result, public_state, replay_count, reopened, waiting_on FROM generate_series(3, 6) AS n, replay_task(pg_temp.id(n), p_now_ms => 1100);
SELECT * FROM pg_temp.told();
SELECT pg_temp.n(id), state, pending_attempt AS pending, lease_epoch, attempt_index, result, failure_class, cancel_reason, cancelled_by, terminal_at_ms, retry_count, replay_count, deadline_ms, available_at_ms FROM tasks WHERE id > pg_temp.id(2) ORDER BY id;
SELECT pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(3), p_now_ms => 1100)$$);
SELECT pg_temp.n(task_id), attempt_index, attempt_kind, replay_count, lease_epoch FROM claim_tasks('w', 'w-1', p_max_items => 4, p_now_ms => 1200);
SELECT pg_temp.n(task_id), attempt_index, kind, outcome FROM task_attempts ORDER BY 1, 2;
-- TO-12: only what the caller has seen.
SELECT replay_count, pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(3), p_expected_replay => 0)$$), pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(3), p_expected_replay => 1)$$) FROM tasks WHERE id = pg_temp.id(3);
-- TO-9: a deadline that lies ahead is kept. TO-10: the eleventh replay is refused.
SELECT state FROM create_task('l', NULL, pg_temp.id(20), p_deadline_ms => 5000, p_policy => '{"max_replays":1}', p_now_ms => 1000);
SELECT effective FROM cancel_task(pg_temp.id(20), p_now_ms => 1000);
SELECT replay_count FROM replay_task(pg_temp.id(20), p_expected_replay => 0, p_now_ms => 1000);
SELECT deadline_ms FROM tasks WHERE id = pg_temp.id(20);
SELECT effective FROM cancel_task(pg_temp.id(20), p_now_ms => 1000);
SELECT pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(20), p_now_ms => 1000)$$);
DO $$
BEGIN
    FOR n IN 2..10 LOOP
        PERFORM cancel_task('00000000-0000-4000-8000-000000000003', p_now_ms => 1000);
        PERFORM replay_task('00000000-0000-4000-8000-000000000003', p_now_ms => 1000);
    END LOOP;
END $$;
SELECT effective FROM cancel_task(pg_temp.id(3), p_now_ms => 1000);
SELECT pg_temp.refused($$SELECT task_op.replay_task(pg_temp.id(3), p_now_ms => 1000)$$);
SELECT * FROM check_tasks();

-- ---- Operators in the place of workers ----
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM outbox_events;
SELECT pg_temp.make(1, 'active'), pg_temp.make(2, 'active'), pg_temp.make(3, 'ready');
-- TW-1: no epoch and no deadline, but the task has to be active.
SELECT result, lease_epoch FROM complete_task(pg_temp.id(1), NULL, '"by hand"', 'operator_override', 9000);
SELECT result, state FROM fail_task(pg_temp.id(2), NULL, 'permanent', 'by hand', p_source => 'operator_override', p_now_ms => 9000);
SELECT pg_temp.refused($$SELECT task_op.complete_task(pg_temp.id(3), NULL, p_source => 'operator_override')$$), pg_temp.refused($$SELECT task_op.complete_task(pg_temp.id(3), NULL)$$), pg_temp.refused($$SELECT task_op.complete_task(pg_temp.id(3), 1, p_source => 'odd')$$);
SELECT * FROM pg_temp.told();

-- ---- Levels (TO-11) ----
RESET search_path;
CREATE ROLE regress_task_client; CREATE ROLE regress_task_worker; CREATE ROLE regress_task_operator; CREATE ROLE regress_task_monitor;
SELECT belay.grant_hub('task_op', 'regress_task_' || l, l) FROM unnest('{client,worker,operator,monitor}'::text[]) AS l;
CREATE FUNCTION pg_temp.may(role text, VARIADIC calls text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE c text;
BEGIN
    FOREACH c IN ARRAY calls LOOP
        EXECUTE format('SET ROLE %I', role);
        RETURN NEXT c || ': ' || test.sqlstate('SELECT * FROM task_op.' || c);
        RESET ROLE;
    END LOOP;
END $$;
GRANT USAGE ON SCHEMA test TO PUBLIC;
DELETE FROM task_op.tasks; DELETE FROM task_op.attempts; DELETE FROM task_op.queues;
SELECT pg_temp.make(10, 'active');
UPDATE task_op.tasks SET lease_until_ms = 9000000000000;
SELECT pg_temp.make(11, 'ready');
\set ten '''00000000-0000-4000-8000-000000000010'''
SELECT * FROM pg_temp.may('regress_task_client', 'create_task(''c'')', 'get_task(' || :'ten' || ')', 'claim_tasks(''w'', ''i'')', 'cancel_task(' || :'ten' || ')', 'list_tasks()', 'task_states');
SELECT * FROM pg_temp.may('regress_task_worker', 'claim_tasks(''w'', ''i'', ''{none}'')', 'revoke_lease(' || :'ten' || ')', 'cancel_task(' || :'ten' || ')', 'cancel_task(' || :'ten' || ', p_source => ''lease_holder'')',
    'cancel_task(''00000000-0000-4000-8000-000000000011'', p_source => ''lease_holder'', p_lease_epoch => 1)', 'cancel_task(' || :'ten' || ', p_source => ''lease_holder'', p_lease_epoch => 9)',
    'complete_task(' || :'ten' || ', NULL, p_source => ''operator_override'')', 'cancel_task(' || :'ten' || ', p_source => ''lease_holder'', p_lease_epoch => 1)', 'replay_task(' || :'ten' || ')', 'set_queue(''l'', ''{}'')', 'tasks');
SELECT * FROM pg_temp.may('regress_task_operator', 'replay_task(' || :'ten' || ')', 'change_priority(' || :'ten' || ', 3)', 'cancel_task(' || :'ten' || ')', 'list_tasks()', 'queue_depths', 'pause_queue(''l'')');
SELECT * FROM pg_temp.may('regress_task_monitor', 'list_tasks()', 'get_task(' || :'ten' || ')', 'queue_depths', 'task_attempts', 'explain_claim(' || :'ten' || ')', 'check_tasks()', 'create_task(''c'')');
SELECT belay.drop_hub('task_op', true);
DROP ROLE regress_task_client, regress_task_worker, regress_task_operator, regress_task_monitor;
