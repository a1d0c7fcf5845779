-- Runs first: the extension, and helpers for the other files.
CREATE EXTENSION belay;

SELECT belay.version() = extversion AS library_fits FROM pg_extension WHERE extname = 'belay';

CREATE SCHEMA test;
GRANT USAGE ON SCHEMA test TO PUBLIC;

-- Runs a statement and tells how it failed: SQLSTATE and message, then DETAIL and HINT. Without an
-- error the statement's effect stays.
CREATE FUNCTION test.error(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
                            detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN state || ': ' || message
           || CASE WHEN detail <> '' THEN E'\nDETAIL: ' || detail ELSE '' END
           || CASE WHEN hint <> '' THEN E'\nHINT: ' || hint ELSE '' END;
END $$;

-- As test.error, only the SQLSTATE.
CREATE FUNCTION test.sqlstate(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT pg_catalog.split_part(test.error(statement), ': ', 1)
$$;

-- A line for each statement that does not fail with that SQLSTATE: none is good.
CREATE FUNCTION test.expect(state text, VARIADIC statements text[])
RETURNS TABLE (statement text, error text) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        error := test.error(statement);
        IF split_part(error, ': ', 1) <> state THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- How a statement was refused: SQLSTATE and DETAIL (ER-2: one line of JSON; there is always a HINT, too), without what differs from run to run.
CREATE FUNCTION test.refused(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(regexp_replace(test.error(statement), E'^(\\w+): [^\n]*\nDETAIL: ({[^\n]*})\nHINT: [^\n]+$', '\1 \2'), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;

-- The value in force of a hub's option, as belay.hub_options tells it.
CREATE FUNCTION test.option(hub name, option text) RETURNS text LANGUAGE sql AS $$
    SELECT o.value FROM belay.hub_options AS o WHERE o.hub = $1 AND o.option = $2
$$;

-- A role that may own hubs, as an administrator makes one. Files that run side by side do not change the database's rights at once.
CREATE PROCEDURE test.create_owner(role name) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('rights'));
    EXECUTE format('CREATE ROLE %I', role);
    EXECUTE format('GRANT USAGE ON LANGUAGE belay TO %I', role);
    EXECUTE format('GRANT CREATE ON DATABASE %I TO %I', current_database(), role);
END $$;

-- Removes a role with all it owns and all that was granted to it.
CREATE PROCEDURE test.drop_role(role name) LANGUAGE plpgsql SET client_min_messages = warning AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('rights'));
    EXECUTE format('DROP OWNED BY %I CASCADE', role);
    EXECUTE format('DROP ROLE %I', role);
END $$;

-- A digest of every table of a schema, but for some.
CREATE FUNCTION test.content(schema name, VARIADIC but_for name[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    tab text;
    part text;
    parts text;
BEGIN
    FOR tab IN SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = quote_ident(schema)::regnamespace AND c.relkind = 'r' AND c.relname <> ALL (but_for) ORDER BY c.relname::text COLLATE "C" LOOP
        EXECUTE format('SELECT md5(string_agg(t::text, ''|'' ORDER BY t::text COLLATE "C")) FROM %s AS t', tab) INTO part;
        parts := concat_ws(E'\n', parts, tab, part);
    END LOOP;
    RETURN parts;
END $$;

-- All that a call could leave behind: the content of a schema, its functions, and the advisory locks that this session holds.
CREATE FUNCTION test.traces(schema name) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(E'\n', 'locks ' || (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
                     'functions ' || (SELECT count(*) FROM pg_proc WHERE pronamespace = quote_ident(schema)::regnamespace), test.content(schema))
$$;

-- Runs a statement until no store call is left to fail. The successful run is undone as well, so that each statement meets the same hub.
-- fails: whether at least one call failed. left_traces: after how many of the failures something was different. swallowed: runs that succeeded although a call failed.
CREATE FUNCTION test.fail_each(schema name, statement text) RETURNS TABLE (fails boolean, left_traces int, swallowed int, then_works boolean, other_errors text) LANGUAGE plpgsql AS $$
DECLARE
    before text := test.traces(schema);
    failures int := 0;
BEGIN
    left_traces := 0;
    swallowed := 0;
    FOR n IN 0..500 LOOP
        BEGIN
            PERFORM belay.inject_fault('store.call', 1, n);
            EXECUTE statement;
            IF (SELECT count FROM belay.faults() WHERE point = 'store.call') = 0 THEN
                swallowed := swallowed + 1;
                RAISE EXCEPTION SQLSTATE 'AGAIN';
            END IF;
            then_works := test.traces(schema) <> before;
            RAISE EXCEPTION SQLSTATE 'UNDO0';
        EXCEPTION
            WHEN SQLSTATE 'UNDO0' THEN
                EXIT;
            WHEN SQLSTATE 'AGAIN' THEN
                NULL;
            WHEN internal_error THEN
                failures := failures + 1;
                IF SQLERRM <> 'injected fault at "store.call"' THEN other_errors := concat_ws(', ', other_errors, SQLERRM); END IF;
                IF test.traces(schema) <> before THEN left_traces := left_traces + 1; END IF;
            WHEN OTHERS THEN
                other_errors := concat_ws(', ', other_errors, SQLSTATE || ' ' || SQLERRM);
                EXIT;
        END;
    END LOOP;
    PERFORM belay.inject_fault('store.call', 0, 0);
    fails := failures > 0;
    RETURN NEXT;
END $$;

-- Messages in brief: kind and what tells them apart.
CREATE FUNCTION test.brief(messages json) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(CASE json_typeof(m) WHEN 'object' THEN (SELECT concat_ws(' ', k, coalesce(v ->> 'name', v ->> 'reason', v ->> 'orchestration', v ->> 'id', v ->> 'parent_id')) FROM json_each(m) AS e (k, v))
                                          ELSE json_typeof(m) END, ', ' ORDER BY nr)
      FROM json_array_elements(messages) WITH ORDINALITY AS e (m, nr)
$$;

-- An element of a history delta.
CREATE FUNCTION test.event(id bigint, type text, fields jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('event_id', id, 'event_type', type, 'event_data', (jsonb_build_object('event_id', id, 'type', type) || fields)::text)
$$;

-- Gives this session functions for the turns of a hub: pg_temp.fetch, pg_temp.token and pg_temp.ack.
CREATE PROCEDURE test.turn_helpers(hub name) LANGUAGE plpgsql AS $helpers$
BEGIN
    EXECUTE replace($turns$
-- A fetch, and what it brought; the token is kept in lease.
CREATE TEMP TABLE lease (instance_id text PRIMARY KEY, token text);
CREATE FUNCTION pg_temp.fetch(now_ms bigint, timeout_ms bigint DEFAULT 1000, min_version bigint DEFAULT NULL, max_version bigint DEFAULT NULL, slots int[] DEFAULT NULL)
RETURNS TABLE (instance text, name text, version text, execution bigint, events text, messages text, attempt int, kv text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    turn record;
BEGIN
    SELECT * INTO turn FROM @hub@.fetch_orchestration_item(timeout_ms, min_version, max_version, slots, p_now_ms => now_ms);
    IF turn.lock_token IS NOT NULL THEN
        INSERT INTO lease VALUES (turn.instance_id, turn.lock_token) ON CONFLICT (instance_id) DO UPDATE SET token = excluded.token;
        RETURN QUERY SELECT turn.instance_id, turn.orchestration_name, turn.orchestration_version, turn.execution_id,
            CASE WHEN turn.history IS NULL THEN 'NULL' ELSE
                (SELECT coalesce(string_agg(CASE json_typeof(e) WHEN 'object' THEN e ->> 'event_id' ELSE json_typeof(e) END, ',' ORDER BY nr), 'none') FROM json_array_elements(turn.history) WITH ORDINALITY AS h (e, nr)) END,
            test.brief(turn.messages), turn.attempt_count, turn.kv_snapshot::text;
    END IF;
END $$;
CREATE FUNCTION pg_temp.token(instance text) RETURNS text LANGUAGE sql AS $$ SELECT token FROM lease WHERE lease.instance_id = $1 $$;
-- An ack of the turn last fetched of an instance.
CREATE PROCEDURE pg_temp.ack(instance text, now_ms bigint, delta jsonb DEFAULT '[]', metadata jsonb DEFAULT '{}', send jsonb DEFAULT '[]', work jsonb DEFAULT '[]', execution bigint DEFAULT 1, cancelled jsonb DEFAULT '[]')
LANGUAGE sql AS $$ SELECT @hub@.ack_orchestration_item(pg_temp.token(instance), execution, delta, work, send, metadata, cancelled, p_now_ms => now_ms) $$;
$turns$, '@hub@', quote_ident(hub));
END $helpers$;

-- What the extension itself makes: everything has a comment, nothing is a hub yet.
SELECT d.classid::regclass, pg_describe_object(d.classid, d.objid, 0) AS without_comment
  FROM pg_depend AS d
 WHERE d.refclassid = 'pg_extension'::regclass
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'belay')
   AND d.deptype = 'e'
   AND obj_description(d.objid, d.classid::regclass::name) IS NULL
   AND pg_describe_object(d.classid, d.objid, 0) NOT LIKE 'type belay.%'
 ORDER BY 1, 2;
SELECT * FROM belay.hubs;
