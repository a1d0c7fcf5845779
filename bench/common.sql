-- What all queues of the benchmark share.
SET client_min_messages = warning;

CREATE SCHEMA IF NOT EXISTS bench;

-- CPU time of this backend so far, in nanoseconds: the first figure of Linux's schedstat.
CREATE OR REPLACE FUNCTION bench.cpu_ns() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint
$$;

-- Makes WAL segments once, so that no run has to create and zero its own: a checkpoint recycles
-- them.
CREATE OR REPLACE PROCEDURE bench.make_wal_segments(p_count int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_count LOOP
        PERFORM pg_logical_emit_message(false, 'bench', 'x');
        PERFORM pg_switch_wal();
    END LOOP;
END
$$;

-- The instances of turns have ids of the usual length.
CREATE OR REPLACE FUNCTION bench.instance_id(p_number int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT md5(p_number::text)::uuid::text
$$;

-- How many turns have been done, by what they left: each has 5 events, 2 activities, and one message
-- that takes the place of the one it had. Anything else means that a turn was lost or done twice.
CREATE OR REPLACE FUNCTION bench.checked_turns(
    p_events bigint, p_activities bigint, p_messages bigint, p_instances bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF p_events * 2 <> p_activities * 5 OR (p_instances > 0 AND p_messages <> p_instances) THEN
        RAISE EXCEPTION '% events, % activities, % messages of % instances', p_events, p_activities,
            p_messages, p_instances;
    END IF;
    RETURN p_events / 5;
END
$$;
