-- serial: counts buffers.
-- IX-6: what a fetch of every tag, a claim of all queues and a change of a queue cost does not grow with the number of tags and queues. Shown in pages touched, not in time.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('many');
SELECT belay.set_hub_option('many', 'max_clock_skew', '0');
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
CREATE PROCEDURE pg_temp.fill(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM many.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', 'of ' || i)), 'tag', 'tenant ' || i)) FROM generate_series(first, last) AS i), 1000);
    PERFORM count(*) FROM many.create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'tenant ' || i, 'kind', 'k')) FROM generate_series(first, last) AS i), 1000);
END $$;
CREATE TEMP TABLE cost (nr int, call text, base int);
INSERT INTO cost VALUES
    (1, 'many.fetch_work_item(1000, p_tag_mode => ''any'', p_now_ms => 2000)', NULL),
    (2, 'many.fetch_work_items(1000, p_tag_mode => ''any'', p_max_items => 10, p_now_ms => 2000)', NULL),
    (3, 'many.claim_tasks(''w'', ''i'', p_max_items => 1, p_now_ms => 2000)', NULL),
    (4, 'many.claim_tasks(''w'', ''i'', p_max_items => 10, p_now_ms => 2000)', NULL),
    (5, 'many.set_queue(''tenant 1'', ''{"concurrency": 7}'')', NULL);
CALL pg_temp.fill(1, 100);
SELECT count(many.set_queue('tenant ' || i, '{"concurrency": 5}')) FROM generate_series(1, 100) AS i;
VACUUM ANALYZE many.worker_queue, many.tasks, many.queue_limits, many.queues, many.belay_hub;
UPDATE cost SET base = pg_temp.pages('SELECT * FROM ' || call);
-- Little is little.
SELECT call, base FROM cost WHERE base > 1500 ORDER BY nr;
CALL pg_temp.fill(101, 10000);
VACUUM ANALYZE many.worker_queue, many.tasks, many.queue_limits, many.queues;
-- A few more pages are allowed: the trees get deeper.
SELECT c.call, p.pages - c.base AS more_than_few FROM cost AS c, LATERAL (SELECT pg_temp.pages('SELECT * FROM ' || c.call) AS pages OFFSET 0) AS p WHERE p.pages > c.base * 1.5 + 100 ORDER BY nr;
-- The first limits of a queue, with many queues that have some.
SELECT pg_temp.pages($$ SELECT many.set_queue('first', '{"concurrency": 1}') $$) AS few \gset
SELECT count(many.set_queue('tenant ' || i, '{"concurrency": 5}')) FROM generate_series(101, 1000) AS i;
SELECT pg_temp.pages($$ SELECT many.set_queue('next', '{"concurrency": 1}') $$) <= :few + 20 AS no_more;
-- A limit holds that the hub's row does not list.
SELECT many.set_queue('tenant 1000', '{"concurrency": 0}');
SELECT count(*) FROM many.claim_tasks('w', 'i', '{tenant 1000}', p_now_ms => 2000);
SELECT many.set_queue('tenant 1000', '{"concurrency": null}');
SELECT count(*) FROM many.claim_tasks('w', 'i', '{tenant 1000}', p_now_ms => 2000);

-- FW-2: no row is returned only if none was eligible, and every tag has its turn: of a thousand with two items each, most come once before many come twice.
DELETE FROM many.worker_queue;
SELECT many.reconcile(p_duties => '{cursor_repair}') IS NOT NULL AS looked;
CALL pg_temp.fill(1, 1000);
CALL pg_temp.fill(1, 1000);
CREATE TEMP TABLE got (nr serial, tag text);
DO $$
BEGIN
    LOOP
        INSERT INTO got (tag) SELECT f.work_item FROM many.fetch_work_item(100000, p_tag_mode => 'any', p_now_ms => 2000) AS f;
        EXIT WHEN NOT FOUND;
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT tag) FROM got;
SELECT count(DISTINCT tag) > 600 AS fair FROM got WHERE nr <= 1000;
-- The same of queues.
CREATE TEMP TABLE claimed (nr serial, queue text);
DO $$
BEGIN
    LOOP
        INSERT INTO claimed (queue) SELECT c.queue FROM many.claim_tasks('w', 'i', p_max_items => 1, p_now_ms => 2000) AS c;
        EXIT WHEN NOT FOUND OR (SELECT count(*) FROM claimed) = 2000;
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT queue) > 1500 AS fair FROM claimed;
-- IX-6: an empty answer while every tag has leased items costs little, too: one fetch looks at all tags, those behind it only where something has become free since.
CREATE FUNCTION pg_temp.any_item(now_ms bigint, lease_ms bigint DEFAULT 100000) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce((SELECT work_item::jsonb #>> '{ActivityExecute,name}' FROM many.fetch_work_item(lease_ms, p_tag_mode => 'any', p_now_ms => now_ms)), 'nothing')
$$;
CREATE PROCEDURE pg_temp.add(name text, tag text, now_ms bigint, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT many.enqueue_worker_items(jsonb_build_array(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', name)), 'tag', tag, 'delay_ms', delay_ms)), now_ms)
$$;
-- Without shared memory every fetch looks at all tags.
CREATE FUNCTION pg_temp.is_cheap() RETURNS boolean LANGUAGE sql AS $$
    SELECT current_setting('shared_preload_libraries') NOT LIKE '%belay%'
           OR pg_temp.pages('SELECT * FROM many.fetch_work_item(1000, p_tag_mode => ''any'', p_now_ms => 2000)') < 100
$$;
SELECT pg_temp.any_item(2000), pg_temp.is_cheap();
-- FW-2: every item that becomes free is found: a new item, of a known tag and of a new one,
CALL pg_temp.add('new', 'tenant 500', 2000);
CALL pg_temp.add('new tag', 'somebody', 2000);
SELECT pg_temp.is_cheap();
SELECT least(a, b), greatest(a, b), c FROM (SELECT pg_temp.any_item(2000) AS a, pg_temp.any_item(2000) AS b, pg_temp.any_item(2000) AS c) AS fetched;
SELECT pg_temp.is_cheap();
-- one that was given back, or whose lease is shorter now, or over,
SELECT many.abandon_work_item(lock_token, p_now_ms => 2000) FROM many.work_items WHERE work_item LIKE '%"new"%';
SELECT pg_temp.any_item(2000, 1000), pg_temp.any_item(2999), pg_temp.any_item(3000), pg_temp.any_item(3000);
SELECT many.renew_work_item_lock(lock_token, 500, p_now_ms => 3000) FROM many.work_items WHERE work_item LIKE '%"new"%';
SELECT pg_temp.any_item(3499), pg_temp.any_item(3500), pg_temp.any_item(3500);
-- one that was delayed,
CALL pg_temp.add('later', 'tenant 7', 4000, 5000);
SELECT pg_temp.any_item(8999), pg_temp.any_item(9000), pg_temp.any_item(9000);
SELECT pg_temp.is_cheap();
-- the transaction's own, and what it undoes,
BEGIN;
CALL pg_temp.add('own', 'tenant 8', 9000);
SAVEPOINT a;
SELECT pg_temp.any_item(9000), pg_temp.any_item(9000);
ROLLBACK TO a;
SELECT pg_temp.any_item(9000), pg_temp.any_item(9000);
ROLLBACK;
SELECT pg_temp.any_item(9000);
BEGIN;
SELECT count(many.ack_worker(lock_token, p_now_ms => 9000)) FROM many.work_items WHERE work_item LIKE '%"later"%';
SELECT pg_temp.any_item(9000);
ROLLBACK;
SELECT pg_temp.any_item(109000, 1) <> 'nothing' AS found;
-- more tags than are remembered, and all of them after a new incarnation.
SELECT pg_temp.any_item(9000);
CALL pg_temp.fill(1, 300);
DO $$
DECLARE
    fetched int := 0;
BEGIN
    WHILE pg_temp.any_item(9000) <> 'nothing' LOOP
        fetched := fetched + 1;
    END LOOP;
    RAISE NOTICE 'fetched: %', fetched;
END $$;
SELECT pg_temp.any_item(9000), pg_temp.is_cheap();
SELECT belay.new_incarnation('many') IS NOT NULL AS new_life;
SELECT pg_temp.any_item(9000) <> 'nothing' AS found;
SELECT belay.drop_hub('many');

-- IX-6: neither does what a claim of all queues costs that finds nothing, because the places of every queue are taken: it looks at some queues, and the session's next claims at the others.
SELECT belay.create_hub('taken');
CREATE PROCEDURE pg_temp.fill_up(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM taken.set_queue('tenant ' || i, '{"concurrency": 1}') FROM generate_series(first, last) AS i;
    PERFORM count(*) FROM taken.create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'tenant ' || i, 'kind', 'k')) FROM generate_series(first, last) AS i, generate_series(1, 2)));
    WHILE EXISTS (SELECT FROM taken.claim_tasks('w', 'i', p_lease_ms => 3600000, p_max_items => 1000)) LOOP
    END LOOP;
    -- Of very many queues, an empty answer does not tell that nothing is left.
    PERFORM taken.claim_tasks('w', 'i', ARRAY['tenant ' || i], p_lease_ms => 3600000) FROM generate_series(first, last) AS i;
END $$;
CALL pg_temp.fill_up(1, 200);
SELECT state, count(*) FROM taken.tasks GROUP BY state ORDER BY state;
VACUUM ANALYZE taken.tasks, taken.queue_limits, taken.queue_moves, taken.queues, taken.belay_hub;
SELECT pages AS more_than_few FROM pg_temp.pages($$ SELECT * FROM taken.claim_tasks('w', 'i') $$) AS pages WHERE pages > 1500;
CALL pg_temp.fill_up(201, 3000);
SELECT state, count(*) FROM taken.tasks GROUP BY state ORDER BY state;
VACUUM ANALYZE taken.tasks, taken.queue_limits, taken.queue_moves, taken.queues;
SELECT pages AS more_than_few FROM pg_temp.pages($$ SELECT * FROM taken.claim_tasks('w', 'i') $$) AS pages WHERE pages > 1500;
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.claims_until(wanted text, most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    got text;
BEGIN
    FOR i IN 1..most LOOP
        SELECT c.queue INTO got FROM taken.claim_tasks('w', 'i', p_lease_ms => 3600000) AS c;
        IF got IS NOT NULL THEN
            ASSERT got = wanted, got;
            RETURN i;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
-- A place that is there is found by so many claims, and one that has become free lately at once.
SELECT taken.set_queue('tenant 1234', '{"concurrency": 2}');
SELECT pg_temp.claims_until('tenant 1234', 24) IS NOT NULL AS found;
-- A wait returns until all queues have been looked at, then it sleeps. The first one forgets what the session saw before.
CALL taken.wait_for_work('{queue:*}', 0) \gset
SELECT pg_temp.claims_until('nothing', 1);
CALL taken.wait_for_work('{queue:*}', 0);
SELECT pg_temp.claims_until('nothing', 22);
CALL taken.wait_for_work('{queue:*}', 0);
SELECT pg_temp.claims_until('nothing', 1);
CALL taken.wait_for_work('{queue:*}', 0);
SELECT count(c.*) FROM taken.tasks AS t, LATERAL taken.complete_task(t.id, t.lease_epoch) AS c WHERE t.queue = 'tenant 777' AND t.state = 'active';
SELECT pg_temp.claims_until('tenant 777', 24);
RESET client_min_messages;
SELECT belay.drop_hub('taken', p_force => true);
