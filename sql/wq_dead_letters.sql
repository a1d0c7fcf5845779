-- Attempts, poison items and dead letters.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_dead_letters');
SELECT belay.set_hub_option('wq_dead_letters', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('wq_dead_letters', 'max_attempts', 'off');

CREATE PROCEDURE pg_temp.add(name text, instance text DEFAULT NULL, session_id text DEFAULT NULL, tag text DEFAULT NULL) LANGUAGE sql AS $$
    SELECT wq_dead_letters.enqueue_worker_work(format('{"ActivityExecute":{"name":"%s"}}', name), instance,
                                               CASE WHEN instance IS NOT NULL THEN 1 END, CASE WHEN instance IS NOT NULL THEN 7 END, session_id, tag, p_now_ms => 1000)
$$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$
    TRUNCATE wq_dead_letters.worker_queue, wq_dead_letters.orchestrator_queue, wq_dead_letters.dead_letters, wq_dead_letters.sessions
$$;
-- A fetch with a lease of 1 ms: name and attempt of the item.
CREATE FUNCTION pg_temp.fetch(now_ms bigint, owner text DEFAULT NULL, filter text[] DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce((SELECT (work_item::jsonb #>> '{ActivityExecute,name}') || ' ' || attempt_count
                       FROM wq_dead_letters.fetch_work_item(1, owner, NULL, filter, 'default_and', p_now_ms => now_ms)), 'no row')
$$;
CREATE VIEW test.wq_dead_letters AS
    SELECT id - min(id) OVER () + 1 AS nr, queue, work_item::jsonb #>> '{ActivityExecute,name}' AS name, instance_id, attempt_count, reason FROM wq_dead_letters.dead_letters ORDER BY id;

-- PO-4: by default belay only counts; the client decides.
CALL pg_temp.add('a');
SELECT count(*), max(attempt_count) FROM generate_series(1, 30) AS n, LATERAL wq_dead_letters.fetch_work_item(1, p_now_ms => 1000 + n);
SELECT count(*) FROM wq_dead_letters.list_dead_letters();
CALL pg_temp.clear();

-- PO-5: with max_attempts = 2 a row that has been leased twice is not leased again. The fetch that meets it sets it aside and
-- goes on: it brings the next.
SELECT belay.set_hub_option('wq_dead_letters', 'max_attempts', '2');
CALL pg_temp.add('a', 'i', NULL, 't');
CALL pg_temp.add('b');
SELECT pg_temp.fetch(1000, NULL, '{t}'), pg_temp.fetch(1001, NULL, '{t}');
SELECT pg_temp.fetch(1002, NULL, '{t}');
-- PO-9: text, identity, session, tag, count and times are kept. I13: it is in one place.
SELECT id = (SELECT max(id) FROM wq_dead_letters.dead_letters) AS id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item, attempt_count, reason, detail,
       (extract(epoch FROM enqueued_at) * 1000)::bigint AS enqueued_ms, (extract(epoch FROM dead_at) * 1000)::bigint AS dead_ms
  FROM wq_dead_letters.list_dead_letters() \gx
SELECT work_item, attempt_count FROM wq_dead_letters.work_items;
-- PO-8: its orchestration is told, in the same unit.
SELECT instance_id, jsonb_pretty(work_item::jsonb) AS work_item, (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms FROM wq_dead_letters.orchestrator_queue;
-- A row without an instance has no instance to notify.
SELECT pg_temp.fetch(1003), pg_temp.fetch(1004);
SELECT * FROM test.wq_dead_letters;
SELECT count(*) AS told FROM wq_dead_letters.orchestrator_queue;
CALL pg_temp.clear();

-- A leased row is left alone, however often it was leased; abandoned, it is met by the next fetch. An ignored attempt does not count.
CALL pg_temp.add('a');
SELECT pg_temp.fetch(1000);
SELECT attempt_count, lock_token AS token FROM wq_dead_letters.fetch_work_item(1000, p_now_ms => 1001) \gset
SELECT pg_temp.fetch(1002);
SELECT count(*) AS dead FROM test.wq_dead_letters;
SELECT wq_dead_letters.abandon_work_item(:'token', NULL, true, p_now_ms => 1003);
SELECT pg_temp.fetch(1004);
SELECT pg_temp.fetch(1005);
SELECT * FROM test.wq_dead_letters;
CALL pg_temp.clear();

-- PO-9: the last reason with which the item was abandoned, by either path; without one it stays.
CALL pg_temp.add('a');
SELECT lock_token AS token FROM wq_dead_letters.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT wq_dead_letters.abandon_work_item(:'token', NULL, false, 'first', p_now_ms => 1001);
SELECT lock_token AS token FROM wq_dead_letters.fetch_work_item(1000, p_now_ms => 1002) \gset
SELECT wq_dead_letters.abandon_work_item(:'token', 5, false, repeat('x', 9000), p_now_ms => 1003);
SELECT pg_temp.fetch(1004);
SELECT pg_temp.fetch(1008);
SELECT reason, length(detail) FROM wq_dead_letters.list_dead_letters();
CALL pg_temp.clear();
CALL pg_temp.add('a');
SELECT lock_token AS token FROM wq_dead_letters.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT wq_dead_letters.abandon_work_item(:'token', NULL, false, 'the bank does not answer', p_now_ms => 1001);
SELECT lock_token AS token FROM wq_dead_letters.fetch_work_item(1000, p_now_ms => 1002) \gset
SELECT wq_dead_letters.abandon_work_item(:'token', p_now_ms => 1003);
SELECT pg_temp.fetch(1004);
SELECT reason, detail FROM wq_dead_letters.list_dead_letters();
-- Put back, it starts anew.
SELECT wq_dead_letters.redrive_dead_letters('{}');
SELECT last_error FROM wq_dead_letters.worker_queue;
CALL pg_temp.clear();

-- In a batch: all that are used up go, all others come.
DO $$ BEGIN FOR n IN 1..6 LOOP CALL pg_temp.add(n::text, 'i', CASE WHEN n % 2 = 0 THEN 's' END); END LOOP; END $$;
UPDATE wq_dead_letters.worker_queue SET attempt_count = 2 WHERE work_item ~ '"[1256]"';
SELECT work_item, attempt_count FROM wq_dead_letters.fetch_work_items(1, 'o', p_max_items => 10, p_now_ms => 1000);
SELECT nr, name, attempt_count FROM test.wq_dead_letters;
SELECT count(*) AS told FROM wq_dead_letters.orchestrator_queue;
-- Nothing but used up rows: no row, and they are gone. The session of such a row is not claimed.
CALL pg_temp.clear();
CALL pg_temp.add('a', NULL, 's');
CALL pg_temp.add('b');
UPDATE wq_dead_letters.worker_queue SET attempt_count = 2;
SELECT pg_temp.fetch(1000, 'o');
SELECT name FROM test.wq_dead_letters;
SELECT count(*) AS sessions FROM wq_dead_letters.sessions;
-- Rows that the caller does not serve stay: another tag, another's session.
CALL pg_temp.clear();
CALL pg_temp.add('tagged', NULL, NULL, 't');
CALL pg_temp.add('of s', NULL, 's');
UPDATE wq_dead_letters.worker_queue SET attempt_count = 2;
SELECT pg_temp.fetch(1000);
SELECT count(*) AS dead FROM test.wq_dead_letters;
-- A rolled back fetch has moved nothing.
BEGIN;
SELECT pg_temp.fetch(1000, 'o', '{t}');
SELECT name FROM test.wq_dead_letters;
ROLLBACK;
SELECT name FROM test.wq_dead_letters;
CALL pg_temp.clear();

-- PO-8: the option dead_letter_fails_activity. The message tells what is known: here the item is no JSON.
SELECT belay.set_hub_option('wq_dead_letters', 'dead_letter_fails_activity', 'false');
CALL pg_temp.add('a', 'i');
UPDATE wq_dead_letters.worker_queue SET attempt_count = 2;
SELECT pg_temp.fetch(1000);
SELECT count(*) AS told FROM wq_dead_letters.orchestrator_queue;
SELECT belay.set_hub_option('wq_dead_letters', 'dead_letter_fails_activity', NULL);
CALL pg_temp.add('a', '"i"');
UPDATE wq_dead_letters.worker_queue SET attempt_count = 5, work_item = E'no { json\n';
SELECT pg_temp.fetch(1000);
SELECT instance_id, work_item FROM wq_dead_letters.orchestrator_queue;
-- A name with an escaped NUL is told as it is.
SELECT wq_dead_letters.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":3,"id":0,"name":"a\u0000b"}}', p_now_ms => 1000);
UPDATE wq_dead_letters.worker_queue SET attempt_count = 2;
SELECT count(*) FROM wq_dead_letters.fetch_work_item(1, p_now_ms => 1000);
SELECT substring(work_item FROM '"execution_id":3,"activity_name":"[^"]*","activity_id":0') AS activity FROM wq_dead_letters.orchestrator_queue WHERE instance_id = 'i';
CALL pg_temp.clear();

---- PO-10: summary and list

INSERT INTO wq_dead_letters.dead_letters
    SELECT n, CASE WHEN n % 5 = 0 THEN 'orchestrator' ELSE 'worker' END, 100 + n, CASE WHEN n % 3 > 0 THEN 'i' || n % 3 END, 1, n, NULL, NULL,
           format(CASE WHEN n % 5 = 0 THEN '{"ExternalRaised":{"instance":"i%s","name":"e"}}' ELSE '{"ActivityExecute":{"id":%s}}' END, n % 3), 2,
           CASE WHEN n % 5 = 0 THEN 'orphan' ELSE 'max_attempts' END, NULL, to_timestamp(n), to_timestamp(1000 + n)
      FROM generate_series(1, 12) AS n;
SELECT queue, reason, items, extract(epoch FROM oldest_dead_at)::int AS oldest, extract(epoch FROM newest_dead_at)::int AS newest
  FROM wq_dead_letters.dead_letter_summary ORDER BY queue, reason;
-- By id ascending; filters are combined.
SELECT string_agg(id::text, ' ' ORDER BY nr) AS all FROM wq_dead_letters.list_dead_letters() WITH ORDINALITY AS l (id, b, c, d, e, f, g, h, i, j, k, m, n, o, nr);
SELECT string_agg(id::text, ' ') AS orchestrator FROM wq_dead_letters.list_dead_letters('orchestrator');
SELECT string_agg(id::text, ' ') AS max_attempts FROM wq_dead_letters.list_dead_letters(p_reason => 'max_attempts');
SELECT string_agg(id::text, ' ') AS worker_of_i1 FROM wq_dead_letters.list_dead_letters('worker', 'max_attempts', 'i1');
SELECT count(*) AS none FROM wq_dead_letters.list_dead_letters('orchestrator', 'max_attempts');
-- Pages: p_after is the last id of the page before; it need not exist any more.
SELECT string_agg(id::text, ' ') AS page_1 FROM wq_dead_letters.list_dead_letters(p_limit => 5);
SELECT wq_dead_letters.discard_dead_letter(5);
SELECT string_agg(id::text, ' ') AS page_2 FROM wq_dead_letters.list_dead_letters(p_after => 5, p_limit => 5);
SELECT string_agg(id::text, ' ') AS page_3 FROM wq_dead_letters.list_dead_letters(p_after => 10, p_limit => 5);
SELECT count(*) AS page_4 FROM wq_dead_letters.list_dead_letters(p_after => 12, p_limit => 5);
SELECT "limit", test.refused(format('SELECT wq_dead_letters.list_dead_letters(p_limit => %s)', "limit")) FROM unnest('{0,-1,1001}'::int[]) AS "limit";
SELECT count(*) AS default_limit FROM wq_dead_letters.list_dead_letters(p_limit => NULL);

---- PO-11: redrive one

-- Back into its queue: visible now, attempt 0, no lease, a new queue id; identity, session and tag are kept.
UPDATE wq_dead_letters.dead_letters SET session_id = 's', tag = 't' WHERE id = 1;
SELECT wq_dead_letters.redrive_dead_letter(1) = (SELECT last_value FROM wq_dead_letters.worker_queue_id) AS new_id;
SELECT work_item, instance_id, execution_id, activity_id, session_id, tag, attempt_count, lock_token IS NULL AS free,
       visible_at BETWEEN clock_timestamp() - interval '1 min' AND clock_timestamp() AS visible
  FROM wq_dead_letters.work_items;
SELECT count(*) AS left_over FROM wq_dead_letters.dead_letters WHERE id = 1;
SELECT work_item, attempt_count FROM wq_dead_letters.fetch_work_item(1000, 'o', NULL, '{t}', 'tags');
-- A message goes back to the orchestrator queue. Its instance need not exist.
SELECT wq_dead_letters.redrive_dead_letter(10) > 0 AS new_id;
SELECT instance_id, work_item, attempt_count FROM wq_dead_letters.orchestrator_queue;
-- Unknown, or put back before: QB002.
SELECT test.error('SELECT wq_dead_letters.redrive_dead_letter(1)');
SELECT test.refused('SELECT wq_dead_letters.redrive_dead_letter(NULL)'), test.refused('SELECT wq_dead_letters.redrive_dead_letter(-1)');
-- Rolled back, it is still there.
BEGIN;
SELECT wq_dead_letters.redrive_dead_letter(2) > 0 AS new_id;
ROLLBACK;
SELECT count(*) FROM wq_dead_letters.dead_letters WHERE id = 2;

---- PO-12: redrive many

SELECT test.refused('SELECT wq_dead_letters.redrive_dead_letters(NULL)');
SELECT filter, test.refused(format('SELECT wq_dead_letters.redrive_dead_letters(%L)', filter))
  FROM unnest(ARRAY['[]', '7', 'null', '{"id":[1]}', '{"ids":1}', '{"ids":["1"]}', '{"ids":[1,1.5]}', '{"queue":1}', '{"reason":[]}', '{"instance_ids":"i"}',
                    '{"instance_id":7}', '{"max_id":"x"}', '{"ids":[1],"queue":"worker"}', '{"Queue":"worker"}']) AS filter;
SELECT string_agg(id::text, ' ' ORDER BY id) AS before FROM wq_dead_letters.dead_letters;
-- An empty list selects nothing; ids that are not there are ignored.
SELECT wq_dead_letters.redrive_dead_letters('{"ids":[]}') AS ids, wq_dead_letters.redrive_dead_letters('{"instance_id":""}') AS instances,
       wq_dead_letters.redrive_dead_letters('{"ids":[1,99]}') AS gone, wq_dead_letters.redrive_dead_letters('{"queue":"intent"}') AS intents;
TRUNCATE wq_dead_letters.worker_queue, wq_dead_letters.orchestrator_queue;
-- Oldest first, at most p_limit. The conditions are combined.
SELECT wq_dead_letters.redrive_dead_letters('{"queue":"worker"}', p_limit => 2) - 'next' AS two;
SELECT wq_dead_letters.redrive_dead_letters('{"ids":[12,7,12]}') AS by_id;
SELECT wq_dead_letters.redrive_dead_letters('{"instance_id":"i1","reason":"max_attempts","max_id":8}') AS i1;
SELECT string_agg(id::text, ' ' ORDER BY id) AS still_dead FROM wq_dead_letters.dead_letters;
SELECT string_agg(activity_id::text, ' ' ORDER BY id) AS put_back FROM wq_dead_letters.work_items;
-- {} selects all.
SELECT wq_dead_letters.redrive_dead_letters('{}') AS the_rest;
SELECT wq_dead_letters.redrive_dead_letters('{}') AS again;
SELECT string_agg(activity_id::text, ' ' ORDER BY id) AS put_back, max(attempt_count) AS attempts FROM wq_dead_letters.work_items;
CALL pg_temp.clear();
-- A portion is 500 unless the caller says less.
INSERT INTO wq_dead_letters.dead_letters
    SELECT n, 'worker', n, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute":{}}', 2, 'max_attempts', 'off', to_timestamp(n), to_timestamp(n) FROM generate_series(1, 1005) AS n;
SELECT wq_dead_letters.redrive_dead_letters('{}') - 'next' AS first;
SELECT wq_dead_letters.redrive_dead_letters('{}', p_order => 'newest') - 'next' AS second;
SELECT wq_dead_letters.redrive_dead_letters('{}') AS third;
CALL pg_temp.clear();

---- PO-13: discard

CALL pg_temp.add('a');
UPDATE wq_dead_letters.worker_queue SET attempt_count = 2;
SELECT pg_temp.fetch(1000);
SELECT id FROM wq_dead_letters.dead_letters \gset
BEGIN;
SELECT wq_dead_letters.discard_dead_letter(:id);
ROLLBACK;
SELECT wq_dead_letters.discard_dead_letter(:id);
SELECT count(*) AS dead FROM wq_dead_letters.dead_letters;
SELECT count(*) AS queued FROM wq_dead_letters.work_items;
SELECT regexp_replace(test.error(format('SELECT wq_dead_letters.discard_dead_letter(%s)', :id)), :'id', '<id>', 'g');
SELECT test.refused('SELECT wq_dead_letters.discard_dead_letter(NULL)');

DROP VIEW test.wq_dead_letters;
SELECT belay.drop_hub('wq_dead_letters');
