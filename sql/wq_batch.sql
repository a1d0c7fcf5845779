-- Leasing many activities at once: fetch_work_items.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_batch');
SELECT belay.set_hub_option('wq_batch', 'max_clock_skew', '0');  -- these tests choose the time

CREATE PROCEDURE pg_temp.add(name text, now_ms bigint, delay_ms bigint DEFAULT 0, session_id text DEFAULT NULL, tag text DEFAULT NULL)
LANGUAGE sql AS $$
    SELECT wq_batch.enqueue_worker_items(jsonb_build_array(jsonb_build_object(
        'work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', name)),
        'delay_ms', delay_ms, 'session_id', session_id, 'tag', tag)), now_ms)
$$;
CREATE VIEW test.wq_batch AS
    SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, session_id, lock_token IS NOT NULL AS leased, locked_until, attempt_count, locked_by
      FROM wq_batch.work_items ORDER BY id;

-- Nothing there, nothing served, default of one.
SELECT * FROM wq_batch.fetch_work_items(1000, p_max_items => 10, p_now_ms => 1000);
SELECT wq_batch.enqueue_worker_items('[{"work_item":{"ActivityExecute":{"name":"a"}}}, {"work_item":{"ActivityExecute":{"name":"b"}}},
                                       {"work_item":{"ActivityExecute":{"name":"c"}}}, {"work_item":{"ActivityExecute":{"name":"d"}}}]', 1000);
SELECT count(*) FROM wq_batch.fetch_work_items(1000, p_tag_mode => 'none', p_max_items => 10, p_now_ms => 1000);
SELECT work_item, attempt_count FROM wq_batch.fetch_work_items(1000, p_now_ms => 1000);
SELECT work_item, attempt_count FROM wq_batch.fetch_work_items(1000, p_max_items => NULL, p_now_ms => 1000);

-- FB-1: each row has its own token and lease; all deadlines start at the grant. FB-2: fewer rows than asked means that
-- nothing else was eligible.
CREATE TEMP TABLE lease AS
    SELECT row_number() OVER () AS nr, f.* FROM wq_batch.fetch_work_items(500, 'owner-1', p_max_items => 10, p_now_ms => 1200) AS f;
SELECT nr, work_item, attempt_count FROM lease ORDER BY nr;
SELECT count(DISTINCT lock_token) FROM lease;
SELECT * FROM test.wq_batch;
-- One is finished, the other stays leased.
SELECT wq_batch.ack_worker(lock_token, p_now_ms => 1300) FROM lease WHERE nr = 2;
SELECT * FROM test.wq_batch;
TRUNCATE wq_batch.worker_queue;
DROP TABLE lease;

-- FB-2: rows come in the order of FW-3, as single fetches would bring them.
CALL pg_temp.add('1', 1000);
CALL pg_temp.add('2 due 3000', 1000, 2000);
CALL pg_temp.add('3', 1000);
CALL pg_temp.add('4 due 2000', 1000, 1000);
CALL pg_temp.add('5', 1000);
CALL pg_temp.add('6 due 9000', 1000, 8000);
CALL pg_temp.add('7 tagged', 1000, 0, NULL, 't');
SELECT work_item FROM wq_batch.fetch_work_items(10, p_max_items => 10, p_now_ms => 3000);
SELECT work_item FROM wq_batch.fetch_work_items(10, p_max_items => 3, p_now_ms => 4000);
SELECT work_item FROM wq_batch.fetch_work_items(10, NULL, NULL, '{t}', 'default_and', 10, p_now_ms => 5000);
TRUNCATE wq_batch.worker_queue;

-- FB-3: 1 to 1000.
SELECT max_items, test.refused(format('SELECT wq_batch.fetch_work_items(1000, p_max_items => %s, p_now_ms => 1000)', max_items))
  FROM unnest('{0,-1,1001,2147483647}'::int[]) AS max_items;
SELECT test.refused('SELECT wq_batch.fetch_work_items(0, p_now_ms => 1000)'), test.refused('SELECT wq_batch.fetch_work_items(NULL, p_max_items => 5, p_now_ms => 1000)');
SELECT test.refused('SELECT wq_batch.fetch_work_items(1000, p_max_new_sessions => -1, p_now_ms => 1000)');
SELECT wq_batch.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', n))) ORDER BY n)
                                        FROM generate_series(1, 1200) AS n), 1000);
SELECT count(*), count(DISTINCT token) AS tokens, bool_and(name = nr) AS in_order
  FROM (SELECT (work_item::jsonb #>> '{ActivityExecute,name}')::bigint AS name, row_number() OVER () AS nr, lock_token AS token
          FROM wq_batch.fetch_work_items(1000, p_max_items => 1000, p_now_ms => 1000)) AS f;
SELECT count(*) FROM wq_batch.fetch_work_items(1000, p_max_items => 1000, p_now_ms => 1000);
TRUNCATE wq_batch.worker_queue;

---- FB-4: how many sessions may be claimed that are not the caller's yet

CALL pg_temp.add('1 of A', 1000, 0, 'A');
CALL pg_temp.add('2 of B', 1000, 0, 'B');
CALL pg_temp.add('3 of A', 1000, 0, 'A');
CALL pg_temp.add('4 of C', 1000, 0, 'C');
CALL pg_temp.add('5 free', 1000);
-- 0: none; only rows without a session, or of sessions that the caller owns.
SELECT work_item FROM wq_batch.fetch_work_items(100, 'o', 5000, p_max_items => 10, p_max_new_sessions => 0, p_now_ms => 1000);
-- 1: the first one met, and all of its rows. The others are skipped, untouched.
SELECT work_item FROM wq_batch.fetch_work_items(100, 'o', 5000, p_max_items => 10, p_max_new_sessions => 1, p_now_ms => 1100);
SELECT * FROM test.wq_batch;
SELECT session_id, worker_id, locked_until FROM wq_batch.sessions ORDER BY session_id;
-- A is the caller's now and does not count.
SELECT work_item FROM wq_batch.fetch_work_items(100, 'o', 5000, p_max_items => 10, p_max_new_sessions => 0, p_now_ms => 1200);
SELECT work_item FROM wq_batch.fetch_work_items(100, 'o', 5000, p_max_items => 10, p_max_new_sessions => 1, p_now_ms => 1300);
-- NULL: no limit. Another owner gets what is left: C.
SELECT work_item FROM wq_batch.fetch_work_items(100, 'p', 5000, p_max_items => 10, p_max_new_sessions => NULL, p_now_ms => 1400);
-- Limits beyond what there is do no harm.
SELECT count(*) FROM wq_batch.fetch_work_items(100, 'q', 5000, p_max_items => 10, p_max_new_sessions => 2147483647, p_now_ms => 9000);

-- CC-11: one unit, also through a cursor that is not read to its end.
TRUNCATE wq_batch.worker_queue;
CALL pg_temp.add('1', 1000);
CALL pg_temp.add('2', 1000);
BEGIN;
DECLARE c CURSOR FOR SELECT work_item FROM wq_batch.fetch_work_items(1000, p_max_items => 2, p_now_ms => 1000);
FETCH 1 FROM c;
SELECT name, leased FROM test.wq_batch;
ROLLBACK;
SELECT name, leased FROM test.wq_batch;

-- JS-1: an item that stands as an object is kept as the server prints it.
TRUNCATE wq_batch.worker_queue;
WITH items(item) AS (VALUES
    ('{"ActivityExecute":{"name":"a","input":"quote \" backslash \\ slash \/ tab \t newline \n bell \u0007 del \u007f ä € 𝄞"}}'::jsonb),
    ('{"ActivityExecute":{"a":[],"b":{},"c":[[],[{}],null,true,false,{"k":[1,{"z":2}]}],"":""}}'),
    ('{"ActivityExecute":{"n":[0,-0,1,-1.50,1e3,1.0e-7,123456789012345678901234567890.123456789]}}'),
    (jsonb_build_object('ActivityExecute', jsonb_build_object('long', repeat('"é\', 5000)))))
SELECT wq_batch.enqueue_worker_items(jsonb_agg(jsonb_build_object('work_item', item)), 1000),
    (SELECT array_agg(item::text) FROM items) AS printed
FROM items \gset
SELECT array_agg(work_item ORDER BY id) = :'printed'::text[] AS as_printed FROM wq_batch.worker_queue;
-- A plain value is no array.
SELECT wq_batch.enqueue_worker_items('"text"', 1000);
SELECT wq_batch.enqueue_worker_items('{}', 1000);
-- More rows than are written at once keep their order.
TRUNCATE wq_batch.worker_queue;
SELECT wq_batch.enqueue_worker_items(jsonb_agg(jsonb_build_object('work_item', format('{"ActivityExecute":{"n":%s}}', n)) ORDER BY n), 1000)
FROM generate_series(1, 150) AS n;
SELECT count(*), bool_and(work_item = format('{"ActivityExecute":{"n":%s}}', n)) AS in_order
FROM (SELECT work_item, row_number() OVER (ORDER BY id) AS n FROM wq_batch.worker_queue) AS w;
SELECT count(*) AS fetched FROM wq_batch.fetch_work_items(1000, p_max_items => 200, p_now_ms => 1000);
TRUNCATE wq_batch.worker_queue;

DROP VIEW test.wq_batch;
SELECT belay.drop_hub('wq_batch');
