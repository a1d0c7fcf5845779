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
