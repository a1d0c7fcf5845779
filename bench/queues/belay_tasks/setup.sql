-- A belay hub, task_app, whose tasks are used through its own functions only. Made anew by each run
-- of this file.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS belay;
SELECT belay.drop_hub(h.name, true) FROM belay.hubs AS h WHERE h.name = 'task_app';
SELECT belay.create_hub('task_app');
SELECT belay.set_hub_option('task_app', 'task_retention', '0');

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.belay_tasks_left() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM task_app.tasks WHERE terminal_at_ms IS NULL);
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_tasks_fill(p_rows int, p_delay_ms bigint, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_left int := p_rows;
BEGIN
    WHILE v_left > 0 LOOP
        PERFORM task_app.create_tasks((
            SELECT jsonb_agg(jsonb_build_object('queue', 'bench', 'payload', p_item::jsonb,
                                                'delay_ms', p_delay_ms))
            FROM generate_series(1, least(v_left, 10000))));
        v_left := v_left - 10000;
        COMMIT;
    END LOOP;
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_tasks_cycle(p_cycles int, p_item text) LANGUAGE plpgsql AS $$
DECLARE
    v_id    uuid;
    v_epoch bigint;
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM task_app.create_task('bench', p_item::jsonb);
        COMMIT;
        SELECT task_id, lease_epoch INTO v_id, v_epoch
        FROM task_app.claim_tasks('bench', 'bench-1', '{bench}');
        COMMIT;
        PERFORM task_app.complete_task(v_id, v_epoch);
        COMMIT;
    END LOOP;
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_tasks_ack_and_fetch(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_id    uuid;
    v_epoch bigint;
BEGIN
    PERFORM task_app.create_task('bench', p_item::jsonb);
    COMMIT;
    SELECT task_id, lease_epoch INTO v_id, v_epoch
    FROM task_app.claim_tasks('bench', 'bench-1', '{bench}');
    COMMIT;
    FOR i IN 1 .. p_cycles LOOP
        PERFORM task_app.create_task('bench', p_item::jsonb);
        COMMIT;
        SELECT task_id, lease_epoch INTO v_id, v_epoch
        FROM task_app.complete_and_claim(v_id, v_epoch, NULL, 'bench', 'bench-1', '{bench}');
        COMMIT;
    END LOOP;
    PERFORM task_app.complete_task(v_id, v_epoch);
    COMMIT;
END
$$;
