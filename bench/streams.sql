-- What bench/streams.sh measures. Each call is a transaction of its own; the figures are the median and the least.
\set ON_ERROR_STOP 1
\set QUIET 1
SET client_min_messages = warning;
CREATE EXTENSION belay;
SELECT belay.create_hub('app') \g /dev/null
SELECT belay.set_hub_option('app', 'max_clock_skew', '0') \g /dev/null
CREATE SCHEMA streams;
CREATE TABLE streams.result (nr serial, tags int, call text, median float8, least float8);

CREATE PROCEDURE streams.fill(p_first int, p_last int, p_each int DEFAULT 1) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM app.enqueue_worker_items((
        SELECT jsonb_agg(jsonb_build_object('work_item', '{"ActivityExecute":{}}'::jsonb, 'tag', 'tenant ' || i))
          FROM generate_series(p_first, p_last) AS i, generate_series(1, p_each)), 1000);
    PERFORM count(*) FROM app.create_tasks((
        SELECT jsonb_agg(jsonb_build_object('queue', 'tenant ' || i, 'kind', 'k'))
          FROM generate_series(p_first, p_last) AS i, generate_series(1, p_each)), 1000);
END $$;

-- Calls a statement so often, and keeps the times.
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
    INSERT INTO streams.result (tags, call, median, least)
    SELECT p_tags, p_call, percentile_cont(0.5) WITHIN GROUP (ORDER BY t), min(t) FROM unnest(v_times) AS t;
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
    CALL streams.measure(p_tags, 'receive from 10 queues', 'SELECT count(*) FROM app.receive(ARRAY(SELECT ''tenant '' || i FROM generate_series(1, 10) AS i))', 50);
    -- All items are leased, then the leases of all are over.
    CALL streams.lease_all('p_tag_mode => ''any''');
    CALL streams.measure(p_tags, 'fetch of any tag, all items leased', format(v_any, 2000), 50);
    CALL streams.measure(p_tags, 'fetch of any tag, all leases over', format(v_any, 200000), 50);
END $$;

CALL streams.fill(1, 10, 30);
VACUUM ANALYZE app.worker_queue, app.tasks, app.queues;
CALL streams.all_calls(10);
CALL streams.fill(11, 1000);
VACUUM ANALYZE app.worker_queue, app.tasks, app.queues;
CALL streams.all_calls(1000);
CALL streams.fill(1001, 10000);
VACUUM ANALYZE app.worker_queue, app.tasks, app.queues;
CALL streams.all_calls(10000);

-- One tag with many leased items: what a fetch costs does not grow with them.
CREATE PROCEDURE streams.one_tag(p_items int) LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM app.worker_queue;
    COMMIT;
    PERFORM app.enqueue_worker_items((SELECT jsonb_agg('{"work_item": {"ActivityExecute":{}}}'::jsonb) FROM generate_series(1, greatest(p_items, 60))), 1000);
    COMMIT;
    CALL streams.lease_all('p_tag_mode => ''default_only''');
    -- Each item that is measured has a lease that is over.
    CALL streams.measure(p_items, 'fetch of one tag, all leases over', 'SELECT count(*) FROM app.fetch_work_item(100000, p_now_ms => 200000)', 50);
END $$;
CALL streams.one_tag(10);
CALL streams.one_tag(1000);
CALL streams.one_tag(10000);

-- So many changes of queues in one transaction; the figure is for one of them.
CREATE PROCEDURE streams.settings(p_calls int) LANGUAGE plpgsql AS $$
DECLARE
    v_begin timestamptz;
    v_name  text;
    v_call  text;
    v_ms    float8;
BEGIN
    FOR v_name, v_call IN VALUES
        ('set_queue, other queues', 'SELECT app.set_queue(''%1$s of %2$s'', ''{"retention_ms": 1000}'')'),
        ('set_queue, limits of other queues', 'SELECT app.set_queue(''limited %1$s of %2$s'', ''{"concurrency": 5}'')'),
        ('set_queue, the same queue', 'SELECT app.set_queue(''one of %2$s'', ''{"retention_ms": %1$s}'')') LOOP
        v_begin := clock_timestamp();
        FOR i IN 1 .. p_calls LOOP
            EXECUTE format(v_call, i, p_calls);
        END LOOP;
        v_ms := extract(epoch FROM clock_timestamp() - v_begin)::float8 * 1000 / p_calls;
        COMMIT;
        INSERT INTO streams.result (tags, call, median, least) VALUES (p_calls, v_name, v_ms, v_ms);
        COMMIT;
    END LOOP;
END $$;
CALL streams.settings(10);
CALL streams.settings(1000);
CALL streams.settings(10000);
\pset footer off
SELECT call,
       max(round(median::numeric, 3)) FILTER (WHERE tags = 10) AS "ms at 10",
       max(round(median::numeric, 3)) FILTER (WHERE tags = 1000) AS "ms at 1,000",
       max(round(median::numeric, 3)) FILTER (WHERE tags = 10000) AS "ms at 10,000",
       max(round(least::numeric, 3)) FILTER (WHERE tags = 10000) AS "least at 10,000"
  FROM streams.result GROUP BY call ORDER BY min(nr);
