-- A queue with a visibility timeout: a read hides the message until vt, a delete by id ends it.
-- The statements are static, not built for each call from a queue's name. Made anew by each run of
-- this file.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS visibility CASCADE;
CREATE SCHEMA visibility;

CREATE TABLE visibility.queue (
    msg_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    read_ct     int         NOT NULL DEFAULT 0,
    enqueued_at timestamptz NOT NULL,
    vt          timestamptz NOT NULL,
    message     jsonb       NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX queue_vt ON visibility.queue (vt, msg_id);

CREATE FUNCTION visibility.send(p_message jsonb, p_delay_ms bigint DEFAULT 0)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_msg_id bigint;
BEGIN
    INSERT INTO visibility.queue (enqueued_at, vt, message)
    VALUES (v_now, v_now + p_delay_ms * interval '1 ms', p_message)
    RETURNING msg_id INTO v_msg_id;
    RETURN v_msg_id;
END
$$;

CREATE FUNCTION visibility.read(p_vt_ms bigint, p_quantity int DEFAULT 1)
RETURNS SETOF visibility.queue LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE visibility.queue AS q
    SET vt = v_now + p_vt_ms * interval '1 ms',
        read_ct = q.read_ct + 1
    WHERE q.msg_id = ANY (ARRAY(
        SELECT c.msg_id
        FROM visibility.queue AS c
        WHERE c.vt <= v_now
        ORDER BY c.vt, c.msg_id
        LIMIT p_quantity
        FOR UPDATE SKIP LOCKED))
    RETURNING q.*;
END
$$;

CREATE FUNCTION visibility.delete(p_msg_id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM visibility.queue AS q WHERE q.msg_id = p_msg_id;
    RETURN FOUND;
END
$$;

-- The same for several messages: the elements of p_items are {"work_item": …}.
CREATE FUNCTION visibility.send_many(p_items jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    INSERT INTO visibility.queue (enqueued_at, vt, message)
    SELECT v_now, v_now, e -> 'work_item' FROM jsonb_array_elements(p_items) AS e;
END
$$;

CREATE FUNCTION visibility.delete_many(p_msg_ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint;
BEGIN
    DELETE FROM visibility.queue AS q WHERE q.msg_id = ANY (p_msg_ids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.visibility_left() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM visibility.queue
$$;

CREATE OR REPLACE PROCEDURE bench.visibility_fill(p_rows int, p_delay_ms bigint, p_item text)
LANGUAGE sql AS $$
    INSERT INTO visibility.queue (enqueued_at, vt, message)
    SELECT clock_timestamp(), clock_timestamp() + p_delay_ms * interval '1 ms', p_item::jsonb
    FROM generate_series(1, p_rows)
$$;

CREATE OR REPLACE PROCEDURE bench.visibility_cycle(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_message jsonb := p_item::jsonb;
    v_msg_id  bigint;
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM visibility.send(v_message);
        COMMIT;
        SELECT msg_id INTO v_msg_id FROM visibility.read(30000);
        COMMIT;
        PERFORM visibility.delete(v_msg_id);
        COMMIT;
    END LOOP;
END
$$;
