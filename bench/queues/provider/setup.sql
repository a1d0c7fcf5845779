-- A worker queue in PL/pgSQL in the style of providers of durable execution: text tokens, times in
-- milliseconds, the activity's identity, tags, sessions that pin work to an owner, and the
-- completion put into the orchestrator's queue by the ack. Items are taken in the order of their
-- ids, as such providers promise. Made anew by each run of this file.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS provider CASCADE;
CREATE SCHEMA provider;

CREATE TABLE provider.worker_queue (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    work_item     text        NOT NULL,
    visible_at    timestamptz NOT NULL,
    lock_token    text,
    locked_until  bigint,
    attempt_count int         NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    instance_id   text,
    execution_id  bigint,
    activity_id   bigint,
    session_id    text,
    tag           text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX worker_queue_token ON provider.worker_queue (lock_token)
    WHERE lock_token IS NOT NULL;
CREATE INDEX worker_queue_activity ON provider.worker_queue (instance_id, execution_id, activity_id)
    WHERE instance_id IS NOT NULL;
CREATE INDEX worker_queue_session ON provider.worker_queue (session_id) WHERE session_id IS NOT NULL;

CREATE TABLE provider.sessions (
    session_id       text PRIMARY KEY,
    worker_id        text   NOT NULL,
    locked_until     bigint NOT NULL,
    last_activity_at bigint NOT NULL
);

CREATE TABLE provider.orchestrator_queue (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance_id   text        NOT NULL,
    work_item     text        NOT NULL,
    visible_at    timestamptz NOT NULL,
    lock_token    text,
    locked_until  bigint,
    attempt_count int         NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL
);
CREATE INDEX orchestrator_queue_instance ON provider.orchestrator_queue (instance_id, id);
CREATE INDEX orchestrator_queue_visible ON provider.orchestrator_queue (visible_at, id);

-- Whole milliseconds, cut off: a row made visible now is visible to a fetch at the same now.
CREATE FUNCTION provider.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE FUNCTION provider.enqueue_worker_work(p_work_item text, p_now_ms bigint DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_body jsonb := p_work_item::jsonb -> 'ActivityExecute';
    v_now  timestamptz := to_timestamp(coalesce(p_now_ms, provider.now_ms()) / 1000.0);
BEGIN
    INSERT INTO provider.worker_queue
        (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag)
    VALUES (p_work_item, v_now, v_now, v_body ->> 'instance', (v_body ->> 'execution_id')::bigint,
        (v_body ->> 'id')::bigint, v_body ->> 'session_id', v_body ->> 'tag');
END
$$;

CREATE FUNCTION provider.fetch_work_item(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only'
) RETURNS TABLE (out_work_item text, out_lock_token text, out_attempt_count int)
LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms     bigint := coalesce(p_now_ms, provider.now_ms());
    v_now        timestamptz := to_timestamp(v_now_ms / 1000.0);
    v_token      text := gen_random_uuid()::text;
    v_id         bigint;
    v_session_id text;
BEGIN
    IF p_tag_mode = 'none' THEN
        RETURN;
    END IF;
    SELECT q.id, q.session_id INTO v_id, v_session_id
    FROM provider.worker_queue AS q
    WHERE q.visible_at <= v_now
        AND (q.lock_token IS NULL OR q.locked_until <= v_now_ms)
        AND (q.session_id IS NULL OR (p_owner_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM provider.sessions AS s
            WHERE s.session_id = q.session_id
                AND s.locked_until > v_now_ms
                AND s.worker_id <> p_owner_id)))
        AND CASE p_tag_mode
            WHEN 'default_only' THEN q.tag IS NULL
            WHEN 'tags' THEN q.tag = ANY (p_tag_filter)
            WHEN 'default_and' THEN q.tag IS NULL OR q.tag = ANY (p_tag_filter)
            ELSE true
        END
    ORDER BY q.id
    LIMIT 1
    FOR UPDATE OF q SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;

    IF v_session_id IS NOT NULL THEN
        INSERT INTO provider.sessions AS s (session_id, worker_id, locked_until, last_activity_at)
        VALUES (v_session_id, p_owner_id,
            v_now_ms + coalesce(p_session_lock_timeout_ms, p_lock_timeout_ms), v_now_ms)
        ON CONFLICT (session_id) DO UPDATE
        SET worker_id = excluded.worker_id,
            locked_until = excluded.locked_until,
            last_activity_at = excluded.last_activity_at
        WHERE s.locked_until <= v_now_ms OR s.worker_id = excluded.worker_id;
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;

    RETURN QUERY
    UPDATE provider.worker_queue AS q
    SET lock_token = v_token,
        locked_until = v_now_ms + p_lock_timeout_ms,
        attempt_count = q.attempt_count + 1
    WHERE q.id = v_id
    RETURNING q.work_item, q.lock_token, q.attempt_count;
END
$$;

CREATE FUNCTION provider.ack_worker(
    p_lock_token text,
    p_instance_id text DEFAULT NULL,
    p_completion_json text DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms     bigint := coalesce(p_now_ms, provider.now_ms());
    v_session_id text;
BEGIN
    DELETE FROM provider.worker_queue AS q
    WHERE q.lock_token = p_lock_token AND q.locked_until > v_now_ms
    RETURNING q.session_id INTO v_session_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'lease lost';
    END IF;
    IF p_completion_json IS NOT NULL THEN
        INSERT INTO provider.orchestrator_queue (instance_id, work_item, visible_at, created_at)
        VALUES (p_instance_id, p_completion_json, to_timestamp(v_now_ms / 1000.0),
            to_timestamp(v_now_ms / 1000.0));
    END IF;
    IF v_session_id IS NOT NULL THEN
        UPDATE provider.sessions AS s
        SET last_activity_at = v_now_ms
        WHERE s.session_id = v_session_id AND s.locked_until > v_now_ms;
    END IF;
END
$$;

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.provider_left() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM provider.worker_queue
$$;

CREATE OR REPLACE PROCEDURE bench.provider_fill(p_rows int, p_delay_ms bigint, p_item text)
LANGUAGE sql AS $$
    INSERT INTO provider.worker_queue (work_item, visible_at, created_at)
    SELECT p_item, clock_timestamp() + p_delay_ms * interval '1 ms', clock_timestamp()
    FROM generate_series(1, p_rows)
$$;

CREATE OR REPLACE PROCEDURE bench.provider_cycle(p_cycles int, p_item text)
LANGUAGE plpgsql AS $$
DECLARE
    v_token text;
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM provider.enqueue_worker_work(p_item);
        COMMIT;
        SELECT out_lock_token INTO v_token FROM provider.fetch_work_item(NULL, 30000);
        COMMIT;
        PERFORM provider.ack_worker(v_token);
        COMMIT;
    END LOOP;
END
$$;
