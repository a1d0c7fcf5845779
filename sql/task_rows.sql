-- serial: its faults would meet the calls of other tests.
-- FP-1, FP-2 of tasks: direct access serves each step at each level, and which rows a life leaves.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_rows');
SELECT belay.set_hub_option('task_rows', 'max_clock_skew', '0');  -- these tests choose the time

-- The life of a task, up to a step; the fault point fails in the last one if it is served directly.
CREATE FUNCTION pg_temp.direct(last int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    task uuid;
    epoch bigint;
BEGIN
    BEGIN
        IF last = 1 THEN PERFORM belay.inject_fault('hot_table.task', 1); END IF;
        SELECT c.task_id INTO task FROM task_rows.create_task('l', '{}', p_now_ms => 1000) AS c;
        SELECT c.lease_epoch INTO epoch FROM task_rows.claim_tasks('w', 'w-1', '{l}', p_now_ms => 1001) AS c;
        IF last = 2 THEN PERFORM belay.inject_fault('hot_table.task', 1); END IF;
        PERFORM task_rows.renew_task(task, epoch, 60000, 1002);
        IF last = 3 THEN PERFORM belay.inject_fault('hot_table.task', 1); END IF;
        PERFORM task_rows.complete_task(task, epoch, '{"x":1}', p_now_ms => 1003);
        RAISE EXCEPTION SQLSTATE 'TRY00';  -- undone
    EXCEPTION
        WHEN SQLSTATE 'TRY00' THEN
            PERFORM belay.inject_fault('hot_table.task', 0);
            RETURN 'by SQL';
        WHEN OTHERS THEN
            PERFORM belay.inject_fault('hot_table.task', 0);
            RETURN CASE WHEN SQLERRM ~ 'injected fault' THEN 'directly' ELSE SQLERRM END;
    END;
END $$;
SELECT pg_temp.direct(1) AS create, pg_temp.direct(2) AS renew, pg_temp.direct(3) AS complete;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.direct(1) AS create, pg_temp.direct(2) AS renew, pg_temp.direct(3) AS complete;
ROLLBACK;

-- The rows of tasks, attempts and events, after each end.
CREATE FUNCTION pg_temp.play() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    task uuid;
    epoch bigint;
    way int;
BEGIN
    FOREACH way IN ARRAY '{1,2,3,4,6,7,8}'::int[] LOOP
        SELECT c.task_id INTO task FROM task_rows.create_task('l' || way, jsonb_build_object('n', way), p_now_ms => 1000) AS c;
        SELECT c.lease_epoch INTO epoch FROM task_rows.claim_tasks('w', 'w-1', ARRAY['l' || way], p_now_ms => 1001) AS c;
        PERFORM task_rows.renew_task(task, epoch, 60000, 1002);
        CASE way
            WHEN 1 THEN PERFORM task_rows.complete_task(task, epoch, '{"x":1}', p_now_ms => 1003);
            WHEN 2 THEN PERFORM task_rows.fail_task(task, epoch, 'permanent', 'no', '{"y":2}', p_now_ms => 1003);
            WHEN 3 THEN PERFORM task_rows.cancel_task(task, 'enough', p_now_ms => 1003);
            WHEN 6 THEN PERFORM task_rows.fail_task(task, epoch, 'permanent', p_now_ms => 1003);
            WHEN 7 THEN PERFORM task_rows.fail_task(task, epoch, 'permanent', 'a "word"', '"a text"', p_now_ms => 1003);
            WHEN 8 THEN PERFORM task_rows.fail_task(task, epoch, 'transient', 'again', '[1,{"z":null}]', 500, p_now_ms => 1003);
            ELSE PERFORM task_rows.create_task('l5', '{}', p_delay_ms => 5000, p_now_ms => 1003);
        END CASE;
    END LOOP;
    RETURN QUERY SELECT 'task ' || (jsonb_strip_nulls(to_jsonb(t)) - '{id,lease_nonce}'::text[] || jsonb_build_object('nonce', t.lease_nonce IS NOT NULL))::text FROM task_rows.tasks AS t ORDER BY t.queue;
    RETURN QUERY SELECT 'attempt ' || (to_jsonb(a) - 'task_id')::text FROM task_rows.attempts AS a JOIN task_rows.tasks AS t ON t.id = a.task_id ORDER BY t.queue;
    RETURN QUERY SELECT 'told ' || (to_jsonb(e) - '{incarnation,position,subject,xid}'::text[] || jsonb_build_object('details', e.details - 'lease_id'))::text FROM task_rows.outbox_events AS e WHERE e.topic <> 'operator' ORDER BY e.position;
END $$;
BEGIN;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
SELECT belay.drop_hub('task_rows', true);
