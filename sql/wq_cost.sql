-- serial: counts buffers.
-- IX-3: what a fetch costs does not depend on what it does not fetch. Shown in pages touched, not in time.
\set VERBOSITY terse
\set SHOW_CONTEXT never
\set long 0
\getenv long BELAY_LONG
SELECT CASE :'long' WHEN '1' THEN 1000000 ELSE 100000 END AS n \gset
SELECT belay.create_hub('wq_cost');
SELECT belay.set_hub_option('wq_cost', 'max_clock_skew', '0');

-- Rows as enqueue makes them, written by the owner: n of them, with the tag and the session of a pattern row.
CREATE PROCEDURE pg_temp.fill(n bigint, due bigint DEFAULT 0, tag text DEFAULT NULL, session_id text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    pattern wq_cost.worker_queue;
BEGIN
    PERFORM wq_cost.enqueue_worker_work('{"ActivityExecute":{"name":"filler"}}', p_tag => tag, p_session_id => session_id, p_now_ms => 1000);
    DELETE FROM wq_cost.worker_queue WHERE id = (SELECT max(id) FROM wq_cost.worker_queue) RETURNING * INTO pattern;
    INSERT INTO wq_cost.worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc, attempt_count, tag, session_id, work_item)
        SELECT pattern.lane, pattern.slot, due, nextval('wq_cost.worker_queue_id'), to_timestamp(greatest(due, 1000) / 1000.0), pattern.created_at,
               0, 0, 0, 0, 0, pattern.tag, pattern.session_id, pattern.work_item
          FROM generate_series(1::bigint, n);
END $$;
-- The least number of pages that a statement touches, of five tries. Each is undone.
CREATE FUNCTION pg_temp.pages(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    least_pages int;
BEGIN
    FOR try IN 1..5 LOOP
        BEGIN
            EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) ' || statement INTO plan;
            RAISE EXCEPTION SQLSTATE 'TRY00';
        EXCEPTION WHEN SQLSTATE 'TRY00' THEN
            least_pages := least(least_pages, (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int);
        END;
    END LOOP;
    RETURN least_pages;
END $$;
-- The fetches to compare: their pages with little in the queue, and later with much. A few more are allowed: the trees get deeper.
CREATE TEMP TABLE cost (nr int, call text, base int);
CREATE FUNCTION pg_temp.grown() RETURNS TABLE (call text, more_than_few int) LANGUAGE sql AS $$
    SELECT c.call, p.pages - c.base FROM cost AS c, LATERAL (SELECT pg_temp.pages('SELECT * FROM ' || c.call) AS pages OFFSET 0) AS p WHERE p.pages > c.base + 100 ORDER BY nr
$$;
CALL pg_temp.fill(50);
CALL pg_temp.fill(50, 0, 'mine');
CALL pg_temp.fill(50, 0, 'other');
CALL pg_temp.fill(50, 0, NULL, 'session');
CALL pg_temp.fill(50, 9000, NULL);
CALL pg_temp.fill(50, 9000, 'mine');
VACUUM ANALYZE wq_cost.worker_queue;
INSERT INTO cost SELECT row_number() OVER (), c FROM unnest(ARRAY[
    'wq_cost.fetch_work_item(1000, p_now_ms => 2000)',
    'wq_cost.fetch_work_item(1000, p_tag_filter => ''{mine}'', p_tag_mode => ''tags'', p_now_ms => 2000)',
    'wq_cost.fetch_work_item(1000, p_tag_filter => ''{mine}'', p_tag_mode => ''default_and'', p_now_ms => 2000)',
    'wq_cost.fetch_work_item(1000, p_tag_filter => ''{nothing}'', p_tag_mode => ''tags'', p_now_ms => 2000)',
    'wq_cost.fetch_work_item(1000, p_tag_mode => ''any'', p_now_ms => 2000)',
    'wq_cost.fetch_work_item(1000, ''owner'', p_now_ms => 2000)',
    'wq_cost.fetch_work_items(1000, p_max_items => 10, p_now_ms => 2000)']) AS c;
UPDATE cost SET base = pg_temp.pages('SELECT * FROM ' || call);
-- Little is little.
SELECT call, base FROM cost WHERE base > 150;
SELECT * FROM pg_temp.grown();

-- A hundred thousand (in the long run a million) rows that are not visible yet, in each lane that is served.
CALL pg_temp.fill(:n, 9000000);
CALL pg_temp.fill(:n, 9000000, 'mine');
CALL pg_temp.fill(:n, 9000000, NULL, 'session');
VACUUM ANALYZE wq_cost.worker_queue;
SELECT * FROM pg_temp.grown();
-- As many of a tag that is not served, ready and delayed.
CALL pg_temp.fill(:n, 0, 'other');
CALL pg_temp.fill(:n, 1500, 'other');
VACUUM ANALYZE wq_cost.worker_queue;
SELECT * FROM pg_temp.grown();
-- As many behind the chosen item.
CALL pg_temp.fill(:n);
CALL pg_temp.fill(:n, 0, 'mine');
CALL pg_temp.fill(:n, 0, NULL, 'session');
VACUUM ANALYZE wq_cost.worker_queue;
SELECT * FROM pg_temp.grown();

-- IX-2: a token leads to its row without a search.
SELECT lock_token AS token FROM wq_cost.fetch_work_item(1000, p_now_ms => 2000) \gset
SELECT pg_temp.pages(format('SELECT wq_cost.renew_work_item_lock(%L, 1000, p_now_ms => 2000)', :'token')) < 40 AS renew,
       pg_temp.pages(format('SELECT wq_cost.abandon_work_item(%L, p_now_ms => 2000)', :'token')) < 40 AS abandon,
       pg_temp.pages(format('SELECT wq_cost.ack_worker(%L, NULL, NULL, 2000)', :'token')) < 40 AS ack,
       pg_temp.pages('SELECT wq_cost.enqueue_worker_work(''{"ActivityExecute":{}}'', p_now_ms => 2000)') < 40 AS enqueue;
-- CA-5: cancellation does not scan the queue, cleanup of sessions neither, a page of the list reads its rows only.
SELECT wq_cost.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":1}}', p_now_ms => 2000);
SELECT pg_temp.pages('SELECT wq_cost.cancel_activities(''[{"instance":"i","execution_id":1,"activity_id":1}]'')') < 40 AS cancel,
       pg_temp.pages('SELECT wq_cost.cleanup_orphaned_sessions(9000)') < 40 AS cleanup,
       pg_temp.pages('SELECT * FROM wq_cost.list_work_items(p_limit => 10, p_now_ms => 2000)') < 40 AS list;

-- A queue with nothing for the caller is as cheap: of the first lane all is leased or to come.
TRUNCATE wq_cost.worker_queue;
CALL pg_temp.fill(:n, 9000000);
CALL pg_temp.fill(:n, 0, 'other');
VACUUM ANALYZE wq_cost.worker_queue;
SELECT pg_temp.pages('SELECT * FROM wq_cost.fetch_work_item(1000, p_now_ms => 2000)') < 150 AS empty, pg_temp.pages('SELECT * FROM wq_cost.fetch_work_item(1000, ''owner'', p_now_ms => 2000)') < 150 AS empty_with_owner;

-- Rows of a session that another owns stand in front, and the caller's session has many rows of a tag that is not asked for.
CALL pg_temp.fill(200, 0, NULL, 'foreign');
CALL pg_temp.fill(:n, 0, 'other', 'own');
CALL pg_temp.fill(1, 0, NULL, 'own');
VACUUM ANALYZE wq_cost.worker_queue;
SELECT count(*) FROM wq_cost.fetch_work_item(1000, 'someone', 100000, p_now_ms => 2000);
SELECT pg_temp.pages('SELECT * FROM wq_cost.fetch_work_item(1000, ''owner'', p_now_ms => 2000)') < 400 AS one_session;

SELECT belay.drop_hub('wq_cost');
