-- No queue: three calls that do nothing. What this costs, every queue pays.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS no_op CASCADE;
CREATE SCHEMA no_op;

CREATE FUNCTION no_op.nothing(p_item text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
END
$$;

-- The least that is flushed to disk: an empty message. A transaction id alone is not waited for.
CREATE FUNCTION no_op.commit_something(p_item text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_logical_emit_message(true, 'bench', '');
END
$$;

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.no_op_left() RETURNS bigint LANGUAGE sql AS $$
    SELECT 0::bigint
$$;

CREATE OR REPLACE PROCEDURE bench.no_op_cycle(p_cycles int, p_item text) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_cycles LOOP
        PERFORM no_op.nothing(p_item);
        COMMIT;
        PERFORM no_op.nothing(p_item);
        COMMIT;
        PERFORM no_op.nothing(p_item);
        COMMIT;
    END LOOP;
END
$$;
