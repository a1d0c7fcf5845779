-- What bench/streams.sh measures. Each call is a transaction of its own; the figure is the median.
\set ON_ERROR_STOP 1
\set QUIET 1
SET client_min_messages = warning;
CREATE EXTENSION belay;
SELECT belay.create_hub('app') \g /dev/null
SELECT belay.set_hub_option('app', 'max_clock_skew', '0') \g /dev/null
CREATE SCHEMA streams;
CREATE TABLE streams.result (tags int, call text, ms float8);

CREATE PROCEDURE streams.fill(p_first int, p_last int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM app.enqueue_worker_items((
        SELECT jsonb_agg(jsonb_build_object('work_item', '{"ActivityExecute":{}}'::jsonb, 'tag', 'tenant ' || i))
          FROM generate_series(p_first, p_last) AS i), 1000);
    PERFORM count(*) FROM app.create_tasks((
        SELECT jsonb_agg(jsonb_build_object('queue', 'tenant ' || i, 'kind', 'k'))
          FROM generate_series(p_first, p_last) AS i), 1000);
END $$;

-- Calls a statement so often, and keeps the median of the times.
CREATE PROCEDURE streams.measure(p_tags int, p_call text, p_statement text, p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_times float8[] := '{}';
    v_begin timestamptz;
BEGIN
    FOR i IN 1 .. p_times LOOP
        v_begin := clock_timestamp();
        EXECUTE p_statement;
        v_times := v_times || extract(epoch FROM clock_timestamp() - v_begin)::float8 * 1000;
        COMMIT;
    END LOOP;
    INSERT INTO streams.result
    SELECT p_tags, p_call, percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(v_times) AS t;
    COMMIT;
END $$;

-- Leases what is there.
CREATE PROCEDURE streams.lease_all(p_filter text) LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint;
BEGIN
    LOOP
        EXECUTE format('SELECT count(*) FROM app.fetch_work_items(100000, %s, p_max_items => 1000, p_now_ms => 2000)', p_filter) INTO v_count;
        COMMIT;
        EXIT WHEN v_count = 0;
    END LOOP;
END $$;

CREATE PROCEDURE streams.all_calls(p_tags int) LANGUAGE plpgsql AS $$
DECLARE
    v_any   text := 'SELECT count(*) FROM app.fetch_work_item(100000, p_tag_mode => ''any'', p_now_ms => %s)';
    v_claim text := 'SELECT count(*) FROM app.claim_tasks(''w'', ''i'', p_max_items => 1, p_lease_ms => 100000, p_now_ms => %s)';
BEGIN
    CALL streams.measure(p_tags, 'fetch of any tag', format(v_any, 2000), 50);
    CALL streams.measure(p_tags, 'claim of all queues', format(v_claim, 2000), 50);
    -- All items are leased, then the leases of all are over.
    CALL streams.lease_all('p_tag_mode => ''any''');
    CALL streams.measure(p_tags, 'fetch of any tag, all items leased', format(v_any, 2000), 50);
    CALL streams.measure(p_tags, 'fetch of any tag, all leases over', format(v_any, 200000), 50);
END $$;

CALL streams.fill(1, 100);
VACUUM ANALYZE app.worker_queue, app.tasks, app.queues;
CALL streams.all_calls(100);
CALL streams.fill(101, 10000);
VACUUM ANALYZE app.worker_queue, app.tasks, app.queues;
CALL streams.all_calls(10000);
-- One tag with many leased items: what a fetch costs does not grow with them.
CREATE PROCEDURE streams.one_tag(p_items int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM app.enqueue_worker_items((SELECT jsonb_agg('{"work_item": {"ActivityExecute":{}}}'::jsonb) FROM generate_series(1, p_items)), 1000);
    COMMIT;
    CALL streams.lease_all('p_tag_mode => ''default_only''');
    -- Each item that is measured has a lease that is over.
    CALL streams.measure(p_items, 'fetch of one tag, all leases over', 'SELECT count(*) FROM app.fetch_work_item(100000, p_now_ms => 200000)', 50);
END $$;
CALL streams.one_tag(100);
DELETE FROM app.worker_queue;
CALL streams.one_tag(10000);
\pset footer off
SELECT call, max(round(ms::numeric, 3)) FILTER (WHERE tags = 100) AS "ms at 100", max(round(ms::numeric, 3)) FILTER (WHERE tags = 10000) AS "ms at 10,000"
  FROM streams.result GROUP BY call ORDER BY call;
