-- serial: its faults would meet the calls of other tests.
-- FP-1, FP-2 of tasks: what is served directly, what it falls back for, and that it leaves what SQL leaves.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_fast');
SELECT belay.set_hub_option('task_fast', 'max_clock_skew', '0');  -- these tests choose the time

-- The life of a task, up to a step; the fault point fails in the last one if it is served directly.
CREATE FUNCTION pg_temp.direct(last int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    task uuid;
    epoch bigint;
BEGIN
    BEGIN
        IF last = 1 THEN PERFORM belay.inject_fault('fastpath.task', 1); END IF;
        SELECT c.task_id INTO task FROM task_fast.create_task('l', '{}', p_now_ms => 1000) AS c;
        SELECT c.lease_epoch INTO epoch FROM task_fast.claim_tasks('w', 'w-1', '{l}', p_now_ms => 1001) AS c;
        IF last = 2 THEN PERFORM belay.inject_fault('fastpath.task', 1); END IF;
        PERFORM task_fast.renew_task(task, epoch, 60000, 1002);
        IF last = 3 THEN PERFORM belay.inject_fault('fastpath.task', 1); END IF;
        PERFORM task_fast.complete_task(task, epoch, '{"x":1}', p_now_ms => 1003);
        RAISE EXCEPTION SQLSTATE 'TRY00';  -- undone
    EXCEPTION
        WHEN SQLSTATE 'TRY00' THEN
            PERFORM belay.inject_fault('fastpath.task', 0);
            RETURN 'by SQL';
        WHEN OTHERS THEN
            PERFORM belay.inject_fault('fastpath.task', 0);
            RETURN CASE WHEN SQLERRM ~ 'injected fault' THEN 'directly' ELSE SQLERRM END;
    END;
END $$;
SET belay.fast_path = on;
SELECT pg_temp.direct(1) AS create, pg_temp.direct(2) AS renew, pg_temp.direct(3) AS complete;
SET belay.fast_path = off;
SELECT pg_temp.direct(1) AS create, pg_temp.direct(2) AS renew, pg_temp.direct(3) AS complete;
SET belay.fast_path = on;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.direct(1) AS create, pg_temp.direct(2) AS renew, pg_temp.direct(3) AS complete;
ROLLBACK;

-- Tables that are not what the hub files make are left to SQL.
CREATE PROCEDURE pg_temp.with(change text, plain_lanes bool DEFAULT false) LANGUAGE plpgsql AS $$
BEGIN
    IF NOT plain_lanes THEN
        CREATE INDEX ON task_fast.lanes (paused);  -- out of the way
    END IF;
    EXECUTE change;
    RAISE NOTICE '%, %, %: %', pg_temp.direct(1), pg_temp.direct(2), pg_temp.direct(3), change;
    ROLLBACK;
END $$;
CREATE FUNCTION pg_temp.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CALL pg_temp.with('CREATE INDEX ON task_fast.attempts (worker)');
CALL pg_temp.with('CREATE INDEX ON task_fast.tasks (kind)');
CALL pg_temp.with('CREATE INDEX ON task_fast.tasks (kind); CREATE INDEX ON task_fast.attempts (worker)');
CALL pg_temp.with('CREATE INDEX ON task_fast.tasks (kind); CREATE INDEX ON task_fast.attempts (worker)', true);
CALL pg_temp.with('CREATE TRIGGER t BEFORE INSERT OR UPDATE ON task_fast.tasks FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing(); CREATE TRIGGER t BEFORE INSERT ON task_fast.attempts FOR EACH ROW EXECUTE FUNCTION pg_temp.nothing()');
CALL pg_temp.with('ALTER TABLE task_fast.tasks ADD CHECK (priority OPERATOR(pg_catalog.>=) 0); ALTER TABLE task_fast.attempts ENABLE ROW LEVEL SECURITY');
CALL pg_temp.with('DROP INDEX task_fast.tasks_claim; CREATE INDEX tasks_claim ON task_fast.tasks (lane, slot, cap_set, priority, available_at_ms, id) WHERE state OPERATOR(pg_catalog.=) ''ready''; ALTER TABLE task_fast.attempts ENABLE ROW LEVEL SECURITY');

-- The same calls leave the same rows.
CREATE FUNCTION pg_temp.play() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    task uuid;
    epoch bigint;
    way int;
BEGIN
    FOREACH way IN ARRAY '{1,2,3,4,6,7,8}'::int[] LOOP
        SELECT c.task_id INTO task FROM task_fast.create_task('l' || way, jsonb_build_object('n', way), p_now_ms => 1000) AS c;
        SELECT c.lease_epoch INTO epoch FROM task_fast.claim_tasks('w', 'w-1', ARRAY['l' || way], p_now_ms => 1001) AS c;
        PERFORM task_fast.renew_task(task, epoch, 60000, 1002);
        CASE way
            WHEN 1 THEN PERFORM task_fast.complete_task(task, epoch, '{"x":1}', p_now_ms => 1003);
            WHEN 2 THEN PERFORM task_fast.fail_task(task, epoch, 'permanent', 'no', '{"y":2}', p_now_ms => 1003);
            WHEN 3 THEN PERFORM task_fast.cancel_task(task, 'enough', p_now_ms => 1003);
            WHEN 6 THEN PERFORM task_fast.fail_task(task, epoch, 'permanent', p_now_ms => 1003);
            WHEN 7 THEN PERFORM task_fast.fail_task(task, epoch, 'permanent', 'a "word"', '"a text"', p_now_ms => 1003);
            WHEN 8 THEN PERFORM task_fast.fail_task(task, epoch, 'transient', 'again', '[1,{"z":null}]', 500, p_now_ms => 1003);
            ELSE PERFORM task_fast.create_task('l5', '{}', p_delay_ms => 5000, p_now_ms => 1003);
        END CASE;
    END LOOP;
    RETURN QUERY SELECT 'task ' || (jsonb_strip_nulls(to_jsonb(t)) - '{id,lease_nonce}'::text[] || jsonb_build_object('nonce', t.lease_nonce IS NOT NULL))::text FROM task_fast.tasks AS t ORDER BY t.lane;
    RETURN QUERY SELECT 'attempt ' || (to_jsonb(a) - 'task_id')::text FROM task_fast.attempts AS a JOIN task_fast.tasks AS t ON t.id = a.task_id ORDER BY t.lane;
    RETURN QUERY SELECT 'told ' || (to_jsonb(e) - '{incarnation,position,subject,xid}'::text[] || jsonb_build_object('details', e.details - 'lease_id'))::text FROM task_fast.outbox_events AS e ORDER BY e.position;
END $$;
SET belay.fast_path = off;
BEGIN;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
SET belay.fast_path = on;
BEGIN;
COPY (SELECT t FROM pg_temp.play() AS t) TO STDOUT;
ROLLBACK;
RESET belay.fast_path;
SELECT belay.drop_hub('task_fast', true);
