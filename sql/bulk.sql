-- Calls that act on many objects, portion by portion: tasks, instances, dead letters.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('bulk');
SELECT belay.set_hub_option('bulk', 'max_clock_skew', '0');
SET search_path = bulk, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
-- All portions: what became of the objects, and in how many calls.
CREATE FUNCTION pg_temp.walk(verb text, filter jsonb, size int, arguments text DEFAULT '', change text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer jsonb; at text; done int := 0; skipped int := 0; failed jsonb := '[]'; calls int := 0;
BEGIN
    LOOP
        EXECUTE format('SELECT bulk.%I($1, p_after => $2, p_limit => $3 %s)', verb, arguments) INTO answer USING filter, at, size;
        calls := calls + 1; done := done + (answer ->> 'done')::int; skipped := skipped + (answer ->> 'skipped')::int;
        failed := failed || (answer -> 'failed'); at := answer ->> 'next';
        EXIT WHEN at IS NULL;
        IF change IS NOT NULL THEN EXECUTE change; END IF;
    END LOOP;
    RETURN format('done %s, skipped %s, failed %s in %s calls', done, skipped, failed, calls);
END $$;
CREATE FUNCTION pg_temp.states() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(state || ' ' || ns, ', ' ORDER BY state) FROM (SELECT state, string_agg(right(id::text, 3)::int::text, ' ' ORDER BY id) AS ns FROM bulk.tasks GROUP BY state) AS s $$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$ WITH gone AS (DELETE FROM bulk.outbox_events WHERE topic = 'operator' RETURNING *) SELECT concat_ws(' ', type, coalesce(subject, '-'), (details - '{by,as,via}'::text[])::text) FROM gone ORDER BY position $$;
-- 1 to 9 are ready, then 1 and 2 active, 3 completed, 4 and 5 failed.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', 'q' || n % 2, 'priority', 100 - n) ORDER BY n) FROM generate_series(1, 9) AS n), 1000);
SELECT count(*) FROM claim_tasks('w', 'w-1', '{q0,q1}', p_max_items => 5, p_lease_ms => 60000, p_now_ms => 1000);
SELECT (SELECT result FROM complete_task(id, lease_epoch, p_now_ms => 1100)) FROM tasks WHERE id = pg_temp.id(3);
SELECT (SELECT result FROM fail_task(id, lease_epoch, 'permanent', 'broken', p_now_ms => 1100)) FROM tasks WHERE id IN (pg_temp.id(4), pg_temp.id(5)) ORDER BY id;
SELECT pg_temp.states();
DELETE FROM outbox_events;
-- BK-1: a portion acts on what matches, skips what has ended, and says where the next one begins.
SELECT pg_temp.walk('cancel_tasks', '{"queue": "q1", "upto": "00000000-0000-4000-8000-000000000007"}', 2, $$, p_reason => 'not wanted', p_now_ms => 1200$$);
SELECT pg_temp.states();
-- BK-2: one event for each call that changed something, with number, filter and reason; the task's own completion tells the rest.
SELECT pg_temp.told();
SELECT cancel_reason, cancelled_by FROM tasks WHERE id = pg_temp.id(1);
-- BK-3: named objects, which need no list.
SELECT cancel_tasks('{"ids": ["00000000-0000-4000-8000-000000000006", "00000000-0000-4000-8000-000000000006", "00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000099"]}', p_now_ms => 1200);
SELECT cancel_tasks('{"ids": []}', p_now_ms => 1200);
SELECT test.refused($$SELECT bulk.cancel_tasks('{"ids": ["x"]}')$$), test.refused($$SELECT bulk.cancel_tasks('{"ids": [], "queue": "q1"}')$$), test.refused(format('SELECT bulk.cancel_tasks(%L)', jsonb_build_object('ids', (SELECT jsonb_agg(pg_temp.id(n)) FROM generate_series(1, 501) AS n))));
-- BK-4: what came after the list was read is not touched.
SELECT pg_temp.walk('cancel_tasks', '{"state": "ready"}', 1, ', p_now_ms => 1200', $$SELECT bulk.create_task('q0', p_task_id => pg_temp.id(50), p_dedup_key => 'late', p_now_ms => 1200)$$);
SELECT pg_temp.states();
-- BK-5: arguments.
SELECT test.refused($$SELECT bulk.cancel_tasks(NULL)$$), test.refused($$SELECT bulk.cancel_tasks('{"colour": 1}')$$), test.refused($$SELECT bulk.cancel_tasks('{}', p_limit => 501)$$), test.refused($$SELECT bulk.cancel_tasks('{}', p_order => 'size')$$);
SELECT test.refused(format($$SELECT bulk.replay_tasks('{"queue": "q0"}', p_after => %L)$$, browse_tasks('{"queue": "q0"}', p_limit => 1) ->> 'next'));
SELECT test.refused($$SELECT bulk.browse_tasks('{"ids": []}')$$), test.refused($$SELECT bulk.browse_instances('{"ids": []}')$$), test.refused($$SELECT bulk.browse_dead_letters('{"ids": []}')$$);
DELETE FROM outbox_events;
-- BK-6: a replay that a task refuses undoes nothing of the others.
SELECT set_queue('q0', '{"policy": {"max_replays": 0}}');
SELECT pg_temp.walk('replay_tasks', '{"state": "failed"}', 500, $$, p_order => 'failed', p_now_ms => 1300$$);
SELECT pg_temp.states();
SELECT pg_temp.told();
-- A task that is replayed and fails anew stands before the cursor.
SELECT set_queue('q0', '{"policy": null}');
SELECT pg_temp.walk('replay_tasks', '{"state": "cancelled"}', 1, $$, p_order => 'ended', p_now_ms => 1400$$, $$SELECT bulk.cancel_tasks('{"state": "ready"}', p_now_ms => 1500)$$);
-- Members of a flow: the first takes its downstream with it.
SELECT count(*) FROM create_flow('{"flow_id": "00000000-0000-4000-8000-0000000000f1", "tasks": [{"key": "a", "task_id": "00000000-0000-4000-8000-0000000000a1", "queue": "f"}, {"key": "b", "task_id": "00000000-0000-4000-8000-0000000000b1", "queue": "f", "after": ["a"]}]}', 1000);
SELECT pg_temp.walk('cancel_tasks', '{"queue": "f"}', 500, ', p_now_ms => 1500');
SELECT flow_key, state FROM tasks WHERE queue = 'f' ORDER BY flow_key;
SELECT pg_temp.walk('replay_tasks', '{"queue": "f"}', 500, ', p_cascade => true, p_now_ms => 1600');
SELECT flow_key, state FROM tasks WHERE queue = 'f' ORDER BY flow_key;
-- Instances: those that run are asked to end.
SELECT start_orchestration('N', '{}', 'i' || n, p_now_ms => 1000) FROM generate_series(1, 3) AS n;
DO $$
DECLARE turn record;
BEGIN
    FOR n IN 1..3 LOOP
        SELECT * INTO turn FROM bulk.fetch_orchestration_item(60000, p_now_ms => 2000);
        PERFORM bulk.ack_orchestration_item(turn.lock_token, 1, '[{"event_id": 1, "event_type": "OrchestrationStarted", "event_data": "{}"}]', '[]', '[]',
            '{"orchestration_name": "N", "orchestration_version": "1.0.0"}'::jsonb || CASE turn.instance_id WHEN 'i3' THEN '{"status": "Completed", "output": "x"}' ELSE '{}' END::jsonb, p_now_ms => 2000);
    END LOOP;
END $$;
SELECT instance_id, status FROM generate_series(1, 3) AS n, LATERAL get_instance_info('i' || n) ORDER BY 1;
SELECT pg_temp.walk('cancel_instances', '{"name": "N"}', 1, $$, p_reason => 'enough', p_now_ms => 3000$$);
SELECT instance_id, work_item FROM orchestrator_queue ORDER BY instance_id;
SELECT cancel_instances('{"ids": ["i1", "nobody"]}', p_now_ms => 3000), cancel_instances('{"status": "Completed"}', p_now_ms => 3000);
SELECT t FROM pg_temp.told() AS t WHERE t LIKE 'instances%';
-- Dead letters.
INSERT INTO dead_letters SELECT n, 'worker', n, 'd' || n % 3, NULL, NULL, NULL, CASE n WHEN 4 THEN 'gpu' END, format('{"X":{"name": "N%s"}}', n % 2), 3, 'max_attempts', 'why', to_timestamp(1), to_timestamp(n) FROM generate_series(1, 9) AS n;
SELECT pg_temp.walk('discard_dead_letters', '{"name": "N1", "max_id": 5}', 2), (SELECT string_agg(id::text, ' ' ORDER BY id) FROM dead_letters) AS "left";
SELECT discard_dead_letters('{"ids": [2, 2, 99]}'), discard_dead_letters('{"tag": "gpu"}', p_order => 'oldest'), (SELECT string_agg(id::text, ' ' ORDER BY id) FROM dead_letters) AS "left";
-- Those that came after the list was read stay where they are; so do others of its name and tag.
SELECT redrive_dead_letters('{"max_id": 7, "name": "N0"}') AS n0, redrive_dead_letters('{"tag": "gpu"}') AS gpu;
SELECT (SELECT string_agg(id::text, ' ' ORDER BY id) FROM dead_letters) AS "left";
-- One that cannot be put back stays, with its reason, and keeps none of the others.
INSERT INTO dead_letters SELECT n, CASE n WHEN 21 THEN 'orchestrator' ELSE 'worker' END, n, NULL, NULL, NULL, NULL, NULL, '{"X": {}}', 1, 'max_attempts', NULL, to_timestamp(1), to_timestamp(n) FROM generate_series(20, 23) AS n;
SELECT pg_temp.walk('redrive_dead_letters', '{"max_id": 22}', 2), redrive_dead_letters('{"ids": [21, 23, 99]}') AS ids;
SELECT (SELECT string_agg(id::text, ' ' ORDER BY id) FROM dead_letters) AS "left";
SELECT pg_temp.told();
-- BK-7: only for operators.
CREATE ROLE regress_bulk_monitor;
SELECT belay.grant_hub('bulk', 'regress_bulk_monitor', 'monitor');
SET ROLE regress_bulk_monitor;
SELECT test.sqlstate($$SELECT bulk.cancel_tasks('{}')$$), test.sqlstate($$SELECT bulk.replay_tasks('{}')$$), test.sqlstate($$SELECT bulk.cancel_instances('{}')$$), test.sqlstate($$SELECT bulk.discard_dead_letters('{}')$$);
RESET ROLE;
SET client_min_messages = warning;
SELECT belay.drop_hub('bulk', true);
DROP ROLE regress_bulk_monitor;
