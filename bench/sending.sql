-- What sending in batches costs the server: CPU of the backend, user and kernel, in us per element of about 100 bytes.
-- Ten calls of 10,000 elements each, with a commit after each; the arguments are built before. Reads /proc, so Linux only.
--
--   test/stage.sh && test/server.sh --preload -- psql -Xqf bench/sending.sql
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE EXTENSION belay;
SELECT belay.create_hub('app') \g /dev/null
CREATE SCHEMA sending;
CREATE TABLE sending.result (nr serial, call text, us float8);

-- The kernel counts in hundredths of a second. The name of the program, in parentheses, comes before the fields.
CREATE FUNCTION sending.cpu_us() RETURNS float8 LANGUAGE sql VOLATILE AS $$
    SELECT (fields[12]::float8 + fields[13]::float8) * 10000
      FROM string_to_array(split_part(pg_read_file('/proc/' || pg_backend_pid() || '/stat'), ') ', 2), ' ') AS fields
$$;

CREATE PROCEDURE sending.measure(p_call text, p_statement text, p_times int DEFAULT 10) LANGUAGE plpgsql AS $$
DECLARE
    v_body jsonb := jsonb_build_object('to', 'ada@example.org', 'text', repeat('x', 60));
    v_payloads jsonb[] := array_fill(v_body, ARRAY[10000]);
    v_tasks jsonb := (SELECT jsonb_agg(jsonb_build_object('queue', 'mail', 'kind', 'k', 'payload', v_body)) FROM generate_series(1, 10000));
    v_items jsonb := (SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', v_body)))
                        FROM generate_series(1, 10000));
    v_begin float8;
BEGIN
    COMMIT;
    v_begin := sending.cpu_us();
    FOR i IN 1 .. p_times LOOP
        EXECUTE p_statement USING v_payloads, v_tasks, v_items;
        COMMIT;
    END LOOP;
    INSERT INTO sending.result (call, us) VALUES (p_call, (sending.cpu_us() - v_begin) / (10000 * p_times));
    COMMIT;
END $$;

-- The first call of each fills caches.
CALL sending.measure('', 'SELECT count(*) FROM app.send_many(''mail'', $1)', 1);
CALL sending.measure('', 'SELECT app.enqueue_worker_items($3)', 1);
DELETE FROM sending.result;
CALL sending.measure('send_many', 'SELECT count(*) FROM app.send_many(''mail'', $1)');
CALL sending.measure('create_tasks', 'SELECT count(*) FROM app.create_tasks($2)');
CALL sending.measure('enqueue_worker_items', 'SELECT app.enqueue_worker_items($3)');
SELECT call, round(us::numeric, 1) AS "CPU us per element" FROM sending.result ORDER BY nr;
