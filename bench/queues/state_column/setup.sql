-- A job queue with a state column: available, running, completed. A finished job stays; a cleaner
-- deletes it later. Made anew by each run of this file.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS state_column CASCADE;
CREATE SCHEMA state_column;

CREATE TYPE state_column.job_state AS ENUM ('available', 'running', 'completed');

CREATE TABLE state_column.job (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state        state_column.job_state NOT NULL DEFAULT 'available',
    priority     smallint    NOT NULL DEFAULT 1,
    attempts     smallint    NOT NULL DEFAULT 0,
    max_attempts smallint    NOT NULL DEFAULT 25,
    created_at   timestamptz NOT NULL,
    scheduled_at timestamptz NOT NULL,
    attempted_at timestamptz,
    finished_at  timestamptz,
    args         jsonb       NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX job_order ON state_column.job (state, priority, scheduled_at, id);

CREATE FUNCTION state_column.insert_job(p_args jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_id  bigint;
BEGIN
    INSERT INTO state_column.job (created_at, scheduled_at, args) VALUES (v_now, v_now, p_args)
    RETURNING id INTO v_id;
    RETURN v_id;
END
$$;

CREATE FUNCTION state_column.take_jobs(p_max int DEFAULT 1)
RETURNS SETOF state_column.job LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE state_column.job AS j
    SET state = 'running',
        attempts = j.attempts + 1,
        attempted_at = v_now
    WHERE j.id = ANY (ARRAY(
        SELECT c.id
        FROM state_column.job AS c
        WHERE c.state = 'available' AND c.scheduled_at <= v_now
        ORDER BY c.priority, c.scheduled_at, c.id
        LIMIT p_max
        FOR UPDATE SKIP LOCKED))
    RETURNING j.*;
END
$$;

CREATE FUNCTION state_column.complete_job(p_id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE state_column.job AS j
    SET state = 'completed',
        finished_at = clock_timestamp()
    WHERE j.id = p_id AND j.state = 'running';
    RETURN FOUND;
END
$$;

-- The same for several jobs: the elements of p_items are {"work_item": …}.
CREATE FUNCTION state_column.insert_jobs(p_items jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    INSERT INTO state_column.job (created_at, scheduled_at, args)
    SELECT v_now, v_now, e -> 'work_item' FROM jsonb_array_elements(p_items) AS e;
END
$$;

CREATE FUNCTION state_column.complete_jobs(p_ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint;
BEGIN
    UPDATE state_column.job AS j
    SET state = 'completed',
        finished_at = clock_timestamp()
    WHERE j.id = ANY (p_ids) AND j.state = 'running';
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

CREATE PROCEDURE state_column.clean() LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        DELETE FROM state_column.job AS j
        WHERE j.id = ANY (ARRAY(
            SELECT c.id FROM state_column.job AS c WHERE c.state = 'completed' LIMIT 1000));
        EXIT WHEN NOT FOUND;
        COMMIT;
    END LOOP;
END
$$;

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.state_column_left() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM state_column.job WHERE state <> 'completed'
$$;

CREATE OR REPLACE PROCEDURE bench.state_column_fill(p_rows int, p_delay_ms bigint, p_item text)
LANGUAGE sql AS $$
    INSERT INTO state_column.job (created_at, scheduled_at, args)
    SELECT clock_timestamp(), clock_timestamp() + p_delay_ms * interval '1 ms', p_item::jsonb
    FROM generate_series(1, p_rows)
$$;

CREATE OR REPLACE PROCEDURE bench.state_column_cycle(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_args jsonb := p_item::jsonb;
    v_id   bigint;
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM state_column.insert_job(v_args);
        COMMIT;
        SELECT id INTO v_id FROM state_column.take_jobs();
        COMMIT;
        PERFORM state_column.complete_job(v_id);
        COMMIT;
    END LOOP;
END
$$;
