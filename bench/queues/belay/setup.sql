-- A belay hub, app, used through its own functions only. Made anew by each run of this file.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS belay;
SELECT belay.drop_hub(h.name, true) FROM belay.hubs AS h WHERE h.name = 'app';
SELECT belay.create_hub('app');

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.belay_left() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM app.work_items);
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_fill(p_rows int, p_delay_ms bigint, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_left int := p_rows;
BEGIN
    WHILE v_left > 0 LOOP
        PERFORM app.enqueue_worker_items((
            SELECT jsonb_agg(CASE
                WHEN p_delay_ms > 0
                THEN jsonb_build_object('work_item', p_item, 'delay_ms', p_delay_ms)
                ELSE jsonb_build_object('work_item', p_item)
            END)
            FROM generate_series(1, least(v_left, 10000))));
        v_left := v_left - 10000;
        COMMIT;
    END LOOP;
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_cycle(p_cycles int, p_item text) LANGUAGE plpgsql AS $$
DECLARE
    v_token text;
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM app.enqueue_worker_work(p_item);
        COMMIT;
        SELECT lock_token INTO v_token FROM app.fetch_work_item(30000);
        COMMIT;
        PERFORM app.ack_worker(v_token);
        COMMIT;
    END LOOP;
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_ack_and_fetch(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_token text;
BEGIN
    PERFORM app.enqueue_worker_work(p_item);
    COMMIT;
    SELECT lock_token INTO v_token FROM app.fetch_work_item(30000);
    COMMIT;
    FOR i IN 1 .. p_cycles LOOP
        PERFORM app.enqueue_worker_work(p_item);
        COMMIT;
        SELECT lock_token INTO v_token
        FROM app.ack_and_fetch_work_item(v_token, NULL, NULL, 30000);
        COMMIT;
    END LOOP;
    PERFORM app.ack_worker(v_token);
    COMMIT;
END
$$;

CREATE OR REPLACE PROCEDURE bench.belay_start(p_instances int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_instances LOOP
        PERFORM app.start_orchestration('Bill', '', bench.instance_id(i), '1.0.0');
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION bench.belay_turns() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN bench.checked_turns(
        (SELECT count(*) FROM app.history),
        (SELECT count(*) FROM app.work_items),
        (SELECT count(*) FROM app.messages),
        (SELECT count(*) FROM app.instances));
END
$$;
