-- A lean queue in PL/pgSQL: a lease is a random token and a deadline, and an ack gives the token
-- back. Made anew by each run of this file.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS plpgsql_token CASCADE;
CREATE SCHEMA plpgsql_token;

CREATE TABLE plpgsql_token.queue (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    visible_at   timestamptz NOT NULL,
    locked_until timestamptz NOT NULL DEFAULT '-infinity',
    attempts     int         NOT NULL DEFAULT 0,
    token        uuid,
    item         text        NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX queue_order ON plpgsql_token.queue (visible_at, id);
CREATE UNIQUE INDEX queue_token ON plpgsql_token.queue (token) WHERE token IS NOT NULL;

CREATE FUNCTION plpgsql_token.enqueue(p_item text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO plpgsql_token.queue (visible_at, item) VALUES (clock_timestamp(), p_item);
END
$$;

-- The token is NULL if nothing is ready.
CREATE FUNCTION plpgsql_token.fetch(
    p_lock_ms bigint, OUT item text, OUT token uuid, OUT attempts int
) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    UPDATE plpgsql_token.queue AS q
    SET token = gen_random_uuid(),
        locked_until = v_now + p_lock_ms * interval '1 ms',
        attempts = q.attempts + 1
    WHERE q.id = (
        SELECT c.id
        FROM plpgsql_token.queue AS c
        WHERE c.visible_at <= v_now AND c.locked_until <= v_now
        ORDER BY c.visible_at, c.id
        LIMIT 1
        FOR UPDATE SKIP LOCKED)
    RETURNING q.item, q.token, q.attempts INTO item, token, attempts;
END
$$;

CREATE FUNCTION plpgsql_token.ack(p_token uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM plpgsql_token.queue AS q
    WHERE q.token = p_token AND q.locked_until > clock_timestamp();
    IF NOT FOUND THEN
        RAISE EXCEPTION 'lease lost';
    END IF;
END
$$;

CREATE FUNCTION plpgsql_token.ack_and_fetch(
    p_token uuid, p_lock_ms bigint, OUT item text, OUT token uuid, OUT attempts int
) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    DELETE FROM plpgsql_token.queue AS q WHERE q.token = p_token AND q.locked_until > v_now;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'lease lost';
    END IF;
    UPDATE plpgsql_token.queue AS q
    SET token = gen_random_uuid(),
        locked_until = v_now + p_lock_ms * interval '1 ms',
        attempts = q.attempts + 1
    WHERE q.id = (
        SELECT c.id
        FROM plpgsql_token.queue AS c
        WHERE c.visible_at <= v_now AND c.locked_until <= v_now
        ORDER BY c.visible_at, c.id
        LIMIT 1
        FOR UPDATE SKIP LOCKED)
    RETURNING q.item, q.token, q.attempts INTO item, token, attempts;
END
$$;

-- The same for several items: the elements of p_items are {"work_item": …}.
CREATE FUNCTION plpgsql_token.enqueue_many(p_items jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO plpgsql_token.queue (visible_at, item)
    SELECT clock_timestamp(), e ->> 'work_item' FROM jsonb_array_elements(p_items) AS e;
END
$$;

CREATE FUNCTION plpgsql_token.fetch_many(p_lock_ms bigint, p_max int)
RETURNS TABLE (item text, token uuid, attempts int) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE plpgsql_token.queue AS q
    SET token = gen_random_uuid(),
        locked_until = v_now + p_lock_ms * interval '1 ms',
        attempts = q.attempts + 1
    WHERE q.id = ANY (ARRAY(
        SELECT c.id
        FROM plpgsql_token.queue AS c
        WHERE c.visible_at <= v_now AND c.locked_until <= v_now
        ORDER BY c.visible_at, c.id
        LIMIT p_max
        FOR UPDATE SKIP LOCKED))
    RETURNING q.item, q.token, q.attempts;
END
$$;

CREATE FUNCTION plpgsql_token.ack_many(p_tokens uuid[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint;
BEGIN
    DELETE FROM plpgsql_token.queue AS q
    WHERE q.token = ANY (p_tokens) AND q.locked_until > clock_timestamp();
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.plpgsql_token_left() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM plpgsql_token.queue
$$;

CREATE OR REPLACE PROCEDURE bench.plpgsql_token_fill(p_rows int, p_delay_ms bigint, p_item text)
LANGUAGE sql AS $$
    INSERT INTO plpgsql_token.queue (visible_at, item)
    SELECT clock_timestamp() + p_delay_ms * interval '1 ms', p_item
    FROM generate_series(1, p_rows)
$$;

CREATE OR REPLACE PROCEDURE bench.plpgsql_token_cycle(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_token uuid;
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM plpgsql_token.enqueue(p_item);
        COMMIT;
        SELECT token INTO v_token FROM plpgsql_token.fetch(30000);
        COMMIT;
        PERFORM plpgsql_token.ack(v_token);
        COMMIT;
    END LOOP;
END
$$;

CREATE OR REPLACE PROCEDURE bench.plpgsql_token_ack_and_fetch(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_token uuid;
BEGIN
    PERFORM plpgsql_token.enqueue(p_item);
    SELECT token INTO v_token FROM plpgsql_token.fetch(30000);
    COMMIT;
    FOR i IN 1 .. p_cycles LOOP
        PERFORM plpgsql_token.enqueue(p_item);
        COMMIT;
        SELECT token INTO v_token FROM plpgsql_token.ack_and_fetch(v_token, 30000);
        COMMIT;
    END LOOP;
    PERFORM plpgsql_token.ack(v_token);
    COMMIT;
END
$$;
