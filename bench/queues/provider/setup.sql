-- A provider of durable execution in PL/pgSQL, in the usual style: text tokens, times in
-- milliseconds, JSON arguments. Its worker queue has the activity's identity, tags, sessions that
-- pin work to an owner, and the completion put into the orchestrator's queue by the ack. Items are
-- taken in the order of their ids, as such providers promise. Its turns have instances, executions,
-- history, a lock per instance, key/value state. Made anew by each run of this file.
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
    instance_id   text COLLATE "C" NOT NULL,
    work_item     text        NOT NULL,
    visible_at    timestamptz NOT NULL,
    lock_token    text,
    locked_until  bigint,
    attempt_count int         NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- The token is in no index, so that a claim is a HOT update: an ack knows the instance.
CREATE INDEX orchestrator_queue_instance ON provider.orchestrator_queue (instance_id, id);
CREATE INDEX orchestrator_queue_visible ON provider.orchestrator_queue (visible_at, id);

CREATE TABLE provider.instances (
    instance_id           text COLLATE "C" PRIMARY KEY,
    orchestration_name    text        NOT NULL,
    orchestration_version text,
    current_execution_id  bigint      NOT NULL,
    parent_instance_id    text,
    custom_status         text,
    custom_status_version bigint      NOT NULL DEFAULT 0,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL
) WITH (fillfactor = 85);
CREATE INDEX instances_parent ON provider.instances (parent_instance_id)
    WHERE parent_instance_id IS NOT NULL;
CREATE INDEX instances_created ON provider.instances (created_at, instance_id);

CREATE TABLE provider.executions (
    instance_id  text COLLATE "C" NOT NULL,
    execution_id bigint      NOT NULL,
    status       text        NOT NULL,
    output       text,
    started_at   timestamptz NOT NULL,
    completed_at timestamptz,
    PRIMARY KEY (instance_id, execution_id)
) WITH (fillfactor = 85);

CREATE TABLE provider.history (
    instance_id  text COLLATE "C" NOT NULL,
    execution_id bigint      NOT NULL,
    event_id     bigint      NOT NULL,
    event_type   text        NOT NULL,
    event_data   text        NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (instance_id, execution_id, event_id)
);

CREATE TABLE provider.instance_locks (
    instance_id  text COLLATE "C" PRIMARY KEY,
    lock_token   text   NOT NULL,
    locked_until bigint NOT NULL,
    locked_at    bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX instance_locks_token ON provider.instance_locks (lock_token);

CREATE TABLE provider.kv_store (
    instance_id        text COLLATE "C" NOT NULL,
    key                text   NOT NULL,
    value              text   NOT NULL,
    last_updated_at_ms bigint NOT NULL,
    PRIMARY KEY (instance_id, key)
);

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

-- Turns.

CREATE FUNCTION provider.enqueue_orchestrator_work(
    p_instance_id text,
    p_work_item text,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := to_timestamp(coalesce(p_now_ms, provider.now_ms()) / 1000.0);
BEGIN
    INSERT INTO provider.orchestrator_queue (instance_id, work_item, visible_at, created_at)
    VALUES (p_instance_id, p_work_item, v_now, v_now);
END
$$;

-- Finds an instance, waits for its advisory lock, looks again, and leases all its messages.
CREATE FUNCTION provider.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint)
RETURNS TABLE (out_instance_id text, out_orchestration_name text, out_orchestration_version text,
    out_execution_id bigint, out_history json, out_messages json, out_lock_token text,
    out_attempt_count int, out_kv_snapshot json)
LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms bigint := coalesce(p_now_ms, provider.now_ms());
    v_now    timestamptz := to_timestamp(v_now_ms / 1000.0);
    v_start  json;
BEGIN
    LOOP
        SELECT q.instance_id INTO out_instance_id
        FROM provider.orchestrator_queue AS q
        WHERE q.visible_at <= v_now
            AND NOT EXISTS (
                SELECT FROM provider.instance_locks AS l
                WHERE l.instance_id = q.instance_id AND l.locked_until > v_now_ms)
        ORDER BY q.visible_at, q.id
        LIMIT 1;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        PERFORM pg_advisory_xact_lock(hashtext(out_instance_id));
        PERFORM FROM provider.orchestrator_queue AS q
        WHERE q.instance_id = out_instance_id
            AND q.visible_at <= v_now
            AND NOT EXISTS (
                SELECT FROM provider.instance_locks AS l
                WHERE l.instance_id = q.instance_id AND l.locked_until > v_now_ms)
        FOR UPDATE OF q SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        out_lock_token := gen_random_uuid()::text;
        INSERT INTO provider.instance_locks AS l (instance_id, lock_token, locked_until, locked_at)
        VALUES (out_instance_id, out_lock_token, v_now_ms + p_lock_timeout_ms, v_now_ms)
        ON CONFLICT (instance_id) DO UPDATE
        SET lock_token = excluded.lock_token,
            locked_until = excluded.locked_until,
            locked_at = excluded.locked_at
        WHERE l.locked_until <= v_now_ms;
        EXIT WHEN FOUND;
    END LOOP;

    UPDATE provider.orchestrator_queue AS q
    SET lock_token = out_lock_token,
        locked_until = v_now_ms + p_lock_timeout_ms,
        attempt_count = q.attempt_count + 1
    WHERE q.instance_id = out_instance_id
        AND q.visible_at <= v_now
        AND (q.lock_token IS NULL OR q.locked_until <= v_now_ms);
    SELECT json_agg(q.work_item::json ORDER BY q.id), max(q.attempt_count)
    INTO out_messages, out_attempt_count
    FROM provider.orchestrator_queue AS q
    WHERE q.instance_id = out_instance_id AND q.lock_token = out_lock_token;

    SELECT i.orchestration_name, coalesce(i.orchestration_version, 'unknown'), i.current_execution_id
    INTO out_orchestration_name, out_orchestration_version, out_execution_id
    FROM provider.instances AS i
    WHERE i.instance_id = out_instance_id;
    IF NOT FOUND THEN
        v_start := out_messages -> 0 -> 'StartOrchestration';
        out_orchestration_name := coalesce(v_start ->> 'orchestration', 'Unknown');
        out_orchestration_version := coalesce(v_start ->> 'version', 'unknown');
        out_execution_id := 1;
    END IF;

    SELECT coalesce(json_agg(h.event_data::json ORDER BY h.event_id), '[]') INTO out_history
    FROM provider.history AS h
    WHERE h.instance_id = out_instance_id AND h.execution_id = out_execution_id;

    SELECT coalesce(json_object_agg(k.key,
        json_build_object('value', k.value, 'last_updated_at_ms', k.last_updated_at_ms)), '{}')
    INTO out_kv_snapshot
    FROM provider.kv_store AS k
    WHERE k.instance_id = out_instance_id;
    RETURN NEXT;
END
$$;

CREATE FUNCTION provider.ack_orchestration_item(
    p_lock_token text,
    p_now_ms bigint,
    p_execution_id bigint,
    p_history_delta jsonb,
    p_worker_items jsonb,
    p_orchestrator_items jsonb,
    p_metadata jsonb,
    p_cancelled_activities jsonb DEFAULT '[]'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms   bigint := coalesce(p_now_ms, provider.now_ms());
    v_now      timestamptz := to_timestamp(v_now_ms / 1000.0);
    v_instance text;
    v_name     text := p_metadata ->> 'orchestration_name';
    v_version  text := p_metadata ->> 'orchestration_version';
    v_status   text := p_metadata ->> 'status';
    v_item     jsonb;
    v_body     jsonb;
BEGIN
    SELECT l.instance_id INTO v_instance
    FROM provider.instance_locks AS l
    WHERE l.lock_token = p_lock_token AND l.locked_until > v_now_ms
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Invalid lock token';
    END IF;

    IF v_name IS NOT NULL AND v_version IS NOT NULL THEN
        INSERT INTO provider.instances AS i (instance_id, orchestration_name,
            orchestration_version, current_execution_id, parent_instance_id, created_at, updated_at)
        VALUES (v_instance, v_name, v_version, p_execution_id, p_metadata ->> 'parent_instance_id',
            v_now, v_now)
        ON CONFLICT (instance_id) DO UPDATE
        SET orchestration_name = excluded.orchestration_name,
            orchestration_version = excluded.orchestration_version,
            parent_instance_id = coalesce(i.parent_instance_id, excluded.parent_instance_id),
            updated_at = v_now;
    END IF;
    INSERT INTO provider.executions (instance_id, execution_id, status, started_at)
    VALUES (v_instance, p_execution_id, 'Running', v_now)
    ON CONFLICT (instance_id, execution_id) DO NOTHING;
    UPDATE provider.instances AS i
    SET current_execution_id = greatest(i.current_execution_id, p_execution_id),
        updated_at = v_now
    WHERE i.instance_id = v_instance;

    INSERT INTO provider.history
        (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT v_instance, p_execution_id, (e ->> 'event_id')::bigint, e ->> 'event_type',
        e ->> 'event_data', v_now
    FROM jsonb_array_elements(p_history_delta) AS e;

    IF v_status IS NOT NULL THEN
        UPDATE provider.executions AS x
        SET status = v_status,
            output = p_metadata ->> 'output',
            completed_at = CASE WHEN v_status <> 'Running' THEN v_now END
        WHERE x.instance_id = v_instance AND x.execution_id = p_execution_id;
    END IF;
    IF p_metadata ? 'custom_status_value' THEN
        UPDATE provider.instances AS i
        SET custom_status = p_metadata ->> 'custom_status_value',
            custom_status_version = i.custom_status_version + 1
        WHERE i.instance_id = v_instance;
    END IF;
    IF p_metadata ? 'kv_mutations' THEN
        FOR v_item IN SELECT jsonb_array_elements(p_metadata -> 'kv_mutations') LOOP
            IF v_item ->> 'action' = 'set' THEN
                INSERT INTO provider.kv_store (instance_id, key, value, last_updated_at_ms)
                VALUES (v_instance, v_item ->> 'key', v_item ->> 'value', v_now_ms)
                ON CONFLICT (instance_id, key) DO UPDATE
                SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
            ELSE
                DELETE FROM provider.kv_store AS k
                WHERE k.instance_id = v_instance
                    AND (v_item ->> 'action' = 'clear_all' OR k.key = v_item ->> 'key');
            END IF;
        END LOOP;
    END IF;

    FOR v_item IN SELECT jsonb_array_elements(p_worker_items) LOOP
        v_body := v_item -> 'ActivityExecute';
        INSERT INTO provider.worker_queue (work_item, visible_at, created_at, instance_id,
            execution_id, activity_id, session_id, tag)
        VALUES (v_item::text, v_now, v_now, v_body ->> 'instance',
            (v_body ->> 'execution_id')::bigint, (v_body ->> 'id')::bigint,
            v_body ->> 'session_id', v_body ->> 'tag');
    END LOOP;
    FOR v_item IN SELECT jsonb_array_elements(p_orchestrator_items) LOOP
        SELECT e.value INTO v_body FROM jsonb_each(v_item) AS e;
        INSERT INTO provider.orchestrator_queue (instance_id, work_item, visible_at, created_at)
        VALUES (coalesce(v_body ->> 'parent_instance', v_body ->> 'instance'), v_item::text,
            greatest(v_now, to_timestamp((v_body ->> 'fire_at_ms')::bigint / 1000.0)), v_now);
    END LOOP;
    FOR v_item IN SELECT jsonb_array_elements(p_cancelled_activities) LOOP
        DELETE FROM provider.worker_queue AS q
        WHERE q.instance_id = v_item ->> 'instance'
            AND q.execution_id = (v_item ->> 'execution_id')::bigint
            AND q.activity_id = (v_item ->> 'activity_id')::bigint;
    END LOOP;

    DELETE FROM provider.orchestrator_queue AS q
    WHERE q.instance_id = v_instance AND q.lock_token = p_lock_token;
    DELETE FROM provider.instance_locks AS l
    WHERE l.instance_id = v_instance AND l.lock_token = p_lock_token;
END
$$;

-- The same turns with every statement saved that can be, and without a wait in the fetch: what
-- PL/pgSQL can do.

CREATE FUNCTION provider.fetch_orchestration_item_lean(p_now_ms bigint, p_lock_timeout_ms bigint)
RETURNS TABLE (out_instance_id text, out_orchestration_name text, out_orchestration_version text,
    out_execution_id bigint, out_history json, out_messages json, out_lock_token text,
    out_attempt_count int, out_kv_snapshot json)
LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms bigint := coalesce(p_now_ms, provider.now_ms());
    v_now    timestamptz := to_timestamp(v_now_ms / 1000.0);
    v_start  json;
BEGIN
    out_lock_token := gen_random_uuid()::text;
    LOOP
        SELECT q.instance_id INTO out_instance_id
        FROM provider.orchestrator_queue AS q
        WHERE q.visible_at <= v_now
            AND (q.lock_token IS NULL OR q.locked_until <= v_now_ms)
            AND NOT EXISTS (
                SELECT FROM provider.instance_locks AS l
                WHERE l.instance_id = q.instance_id AND l.locked_until > v_now_ms)
        ORDER BY q.visible_at, q.id
        LIMIT 1
        FOR UPDATE OF q SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        INSERT INTO provider.instance_locks AS l (instance_id, lock_token, locked_until, locked_at)
        VALUES (out_instance_id, out_lock_token, v_now_ms + p_lock_timeout_ms, v_now_ms)
        ON CONFLICT (instance_id) DO UPDATE
        SET lock_token = excluded.lock_token,
            locked_until = excluded.locked_until,
            locked_at = excluded.locked_at
        WHERE l.locked_until <= v_now_ms;
        -- Otherwise another session has just taken the instance through another message.
        EXIT WHEN FOUND;
    END LOOP;

    WITH leased AS (
        UPDATE provider.orchestrator_queue AS q
        SET lock_token = out_lock_token,
            locked_until = v_now_ms + p_lock_timeout_ms,
            attempt_count = q.attempt_count + 1
        WHERE q.instance_id = out_instance_id
            AND q.visible_at <= v_now
            AND (q.lock_token IS NULL OR q.locked_until <= v_now_ms)
        RETURNING q.id, q.work_item, q.attempt_count
    )
    SELECT json_agg(m.work_item::json ORDER BY m.id), max(m.attempt_count)
    INTO out_messages, out_attempt_count
    FROM leased AS m;

    SELECT i.orchestration_name, coalesce(i.orchestration_version, 'unknown'), i.current_execution_id
    INTO out_orchestration_name, out_orchestration_version, out_execution_id
    FROM provider.instances AS i
    WHERE i.instance_id = out_instance_id;
    IF NOT FOUND THEN
        v_start := out_messages -> 0 -> 'StartOrchestration';
        out_orchestration_name := coalesce(v_start ->> 'orchestration', 'Unknown');
        out_orchestration_version := coalesce(v_start ->> 'version', 'unknown');
        out_execution_id := 1;
    END IF;

    -- Put together as text and read once, which costs less than an aggregate of JSON values.
    SELECT ('[' || coalesce(string_agg(e.event_data, ','), '') || ']')::json INTO out_history
    FROM (
        SELECT h.event_data
        FROM provider.history AS h
        WHERE h.instance_id = out_instance_id AND h.execution_id = out_execution_id
        ORDER BY h.event_id) AS e;

    SELECT coalesce(json_object_agg(k.key,
        json_build_object('value', k.value, 'last_updated_at_ms', k.last_updated_at_ms)), '{}')
    INTO out_kv_snapshot
    FROM provider.kv_store AS k
    WHERE k.instance_id = out_instance_id;
    RETURN NEXT;
END
$$;

-- The lock is checked and given back by one statement; if anything fails, nothing has happened.
CREATE FUNCTION provider.ack_orchestration_item_lean(
    p_lock_token text,
    p_now_ms bigint,
    p_execution_id bigint,
    p_history_delta jsonb,
    p_worker_items jsonb,
    p_orchestrator_items jsonb,
    p_metadata jsonb,
    p_cancelled_activities jsonb DEFAULT '[]'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms   bigint := coalesce(p_now_ms, provider.now_ms());
    v_now      timestamptz := to_timestamp(v_now_ms / 1000.0);
    v_instance text;
    v_name     text := p_metadata ->> 'orchestration_name';
    v_version  text := p_metadata ->> 'orchestration_version';
    v_status   text := p_metadata ->> 'status';
    v_change   jsonb;
BEGIN
    DELETE FROM provider.instance_locks AS l
    WHERE l.lock_token = p_lock_token AND l.locked_until > v_now_ms
    RETURNING l.instance_id INTO v_instance;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Invalid lock token';
    END IF;

    IF v_name IS NOT NULL AND v_version IS NOT NULL THEN
        INSERT INTO provider.instances AS i (instance_id, orchestration_name,
            orchestration_version, current_execution_id, parent_instance_id, created_at, updated_at)
        VALUES (v_instance, v_name, v_version, p_execution_id, p_metadata ->> 'parent_instance_id',
            v_now, v_now)
        ON CONFLICT (instance_id) DO UPDATE
        SET orchestration_name = excluded.orchestration_name,
            orchestration_version = excluded.orchestration_version,
            parent_instance_id = coalesce(i.parent_instance_id, excluded.parent_instance_id),
            current_execution_id = greatest(i.current_execution_id, excluded.current_execution_id),
            updated_at = v_now;
    ELSE
        UPDATE provider.instances AS i
        SET current_execution_id = greatest(i.current_execution_id, p_execution_id),
            updated_at = v_now
        WHERE i.instance_id = v_instance;
    END IF;
    IF v_status IS NULL THEN
        INSERT INTO provider.executions (instance_id, execution_id, status, started_at)
        VALUES (v_instance, p_execution_id, 'Running', v_now)
        ON CONFLICT (instance_id, execution_id) DO NOTHING;
    ELSE
        INSERT INTO provider.executions
            (instance_id, execution_id, status, output, started_at, completed_at)
        VALUES (v_instance, p_execution_id, v_status, p_metadata ->> 'output', v_now,
            CASE WHEN v_status <> 'Running' THEN v_now END)
        ON CONFLICT (instance_id, execution_id) DO UPDATE
        SET status = excluded.status,
            output = excluded.output,
            completed_at = excluded.completed_at;
    END IF;
    IF p_metadata ? 'custom_status_value' THEN
        UPDATE provider.instances AS i
        SET custom_status = p_metadata ->> 'custom_status_value',
            custom_status_version = i.custom_status_version + 1
        WHERE i.instance_id = v_instance;
    END IF;

    -- A second event with the same id violates the primary key.
    INSERT INTO provider.history
        (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT v_instance, p_execution_id, (e ->> 'event_id')::bigint, e ->> 'event_type',
        e ->> 'event_data', v_now
    FROM jsonb_array_elements(p_history_delta) AS e;

    IF p_metadata ? 'kv_mutations' THEN
        FOR v_change IN SELECT jsonb_array_elements(p_metadata -> 'kv_mutations') LOOP
            IF v_change ->> 'action' = 'set' THEN
                INSERT INTO provider.kv_store (instance_id, key, value, last_updated_at_ms)
                VALUES (v_instance, v_change ->> 'key', v_change ->> 'value', v_now_ms)
                ON CONFLICT (instance_id, key) DO UPDATE
                SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
            ELSE
                DELETE FROM provider.kv_store AS k
                WHERE k.instance_id = v_instance
                    AND (v_change ->> 'action' = 'clear_all' OR k.key = v_change ->> 'key');
            END IF;
        END LOOP;
    END IF;

    DELETE FROM provider.orchestrator_queue AS q
    WHERE q.instance_id = v_instance AND q.lock_token = p_lock_token;

    INSERT INTO provider.worker_queue
        (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag)
    SELECT w::text, v_now, v_now, w #>> '{ActivityExecute,instance}',
        (w #>> '{ActivityExecute,execution_id}')::bigint, (w #>> '{ActivityExecute,id}')::bigint,
        w #>> '{ActivityExecute,session_id}', w #>> '{ActivityExecute,tag}'
    FROM jsonb_array_elements(p_worker_items) AS w;

    IF jsonb_array_length(p_cancelled_activities) > 0 THEN
        DELETE FROM provider.worker_queue AS q
        USING jsonb_array_elements(p_cancelled_activities) AS c
        WHERE q.instance_id = c ->> 'instance'
            AND q.execution_id = (c ->> 'execution_id')::bigint
            AND q.activity_id = (c ->> 'activity_id')::bigint;
    END IF;

    -- A timer is visible when it fires; the end of a child goes to its parent.
    INSERT INTO provider.orchestrator_queue (instance_id, work_item, visible_at, created_at)
    SELECT coalesce(b.body ->> 'parent_instance', b.body ->> 'instance'), m::text,
        greatest(v_now, to_timestamp((b.body ->> 'fire_at_ms')::bigint / 1000.0)), v_now
    FROM jsonb_array_elements(p_orchestrator_items) AS m, jsonb_each(m) AS b (kind, body);
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

CREATE OR REPLACE PROCEDURE bench.provider_start(p_instances int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_instances LOOP
        PERFORM provider.enqueue_orchestrator_work(bench.instance_id(i), json_build_object(
            'StartOrchestration', json_build_object('instance', bench.instance_id(i),
                'orchestration', 'Bill', 'input', '', 'version', '1.0.0', 'execution_id', 1))::text);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION bench.provider_turns() RETURNS bigint LANGUAGE sql AS $$
    SELECT bench.checked_turns(
        (SELECT count(*) FROM provider.history),
        (SELECT count(*) FROM provider.worker_queue),
        (SELECT count(*) FROM provider.orchestrator_queue),
        (SELECT count(*) FROM provider.instances))
$$;
