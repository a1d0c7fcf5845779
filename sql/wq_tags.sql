-- Tags: which activities a worker serves.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_tags');
SELECT belay.set_hub_option('wq_tags', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('wq_tags', 'max_attempts', 'off');

CREATE PROCEDURE pg_temp.add(name text, tag text, session_id text DEFAULT NULL, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT wq_tags.enqueue_worker_items(jsonb_build_array(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
        jsonb_build_object('name', name)), 'tag', tag, 'session_id', session_id, 'delay_ms', delay_ms)), 1000)
$$;
-- The names of all rows that one fetch brings, in order. The next millisecond they are free again.
CREATE FUNCTION pg_temp.all(mode text, filter text[], now_ms bigint, owner text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(work_item::jsonb #>> '{ActivityExecute,name}', ', ' ORDER BY nr)
      FROM wq_tags.fetch_work_items(1, owner, 9000, filter, mode, 1000, p_now_ms => now_ms) WITH ORDINALITY AS f (work_item, t, a, nr)
$$;

---- The modes

CALL pg_temp.add('plain 1', NULL);
CALL pg_temp.add('gpu 1', 'gpu');
CALL pg_temp.add('cpu 1', 'cpu');
CALL pg_temp.add('empty tag', '');
CALL pg_temp.add('plain 2', NULL);
CALL pg_temp.add('gpu 2', 'gpu');
CALL pg_temp.add('GPU', 'GPU');
-- Every mode with every kind of filter. TG-1: an empty or NULL filter matches no tag; so does a NULL inside it.
SELECT mode, filter, pg_temp.all(mode, filter, 1000 + nr) AS rows
  FROM (SELECT mode, filter, row_number() OVER () AS nr
          FROM unnest('{default_only,NULL,tags,default_and,any,none}'::text[]) AS mode,
               (VALUES (NULL::text[]), ('{}'), ('{gpu}'), ('{cpu,gpu}'), ('{gpu,gpu,nobody,NULL}'), ('{""}'), ('{NULL}')) AS f (filter)) AS t
 ORDER BY nr;
-- The single fetch has the same modes, and default_only by default.
SELECT work_item FROM wq_tags.fetch_work_item(1, p_now_ms => 2000);
SELECT work_item FROM wq_tags.fetch_work_item(1, NULL, NULL, '{gpu}', p_now_ms => 2001);
SELECT work_item FROM wq_tags.fetch_work_item(1, NULL, NULL, '{gpu}', NULL, p_now_ms => 2002);
SELECT work_item FROM wq_tags.fetch_work_item(1, NULL, NULL, '{gpu}', 'tags', p_now_ms => 2003);
-- FW-1: none returns no row at once.
SELECT count(*) FROM wq_tags.fetch_work_item(1, NULL, NULL, '{gpu}', 'none', p_now_ms => 2004);
-- TG-1: any other word.
SELECT mode, test.refused(format('SELECT wq_tags.fetch_work_item(1, p_tag_mode => %L, p_now_ms => 2000)', mode)),
       test.refused(format('SELECT wq_tags.fetch_work_items(1, p_tag_mode => %L, p_now_ms => 2000)', mode))
  FROM unnest(ARRAY['', 'all', 'Any', 'default-only', ' tags', 'none; DROP']) AS mode;
TRUNCATE wq_tags.worker_queue;

---- Order

-- FW-3 over all lanes that the caller serves: ids across tags.
CALL pg_temp.add('1 b', 'b');
CALL pg_temp.add('2', NULL);
CALL pg_temp.add('3 a', 'a');
CALL pg_temp.add('4 b', 'b');
CALL pg_temp.add('5', NULL);
SELECT pg_temp.all('default_and', '{a,b}', 1000), pg_temp.all('any', NULL, 1001);
TRUNCATE wq_tags.worker_queue;
-- Delayed rows: (due time, id) across tags, too. Then the lower id of the two heads.
CALL pg_temp.add('1 b due 3000', 'b', NULL, 2000);
CALL pg_temp.add('2 a due 2000', 'a', NULL, 1000);
CALL pg_temp.add('3 due 1500', NULL, NULL, 500);
CALL pg_temp.add('4 b', 'b');
SELECT pg_temp.all('default_and', '{a,b}', 3000), pg_temp.all('any', NULL, 3001);
TRUNCATE wq_tags.worker_queue;

---- An array has at most 10,000 elements, wherever a call takes one

SELECT count(*) FROM wq_tags.fetch_work_item(1000, NULL, NULL, (SELECT array_agg('t' || n) FROM generate_series(1, 10000) AS n), 'tags', p_now_ms => 1000);
SELECT x, test.refused(format('SELECT * FROM wq_tags.%s', replace(x, '$', format('(SELECT array_agg(%L::text) FROM generate_series(1, 10001))', 'deadlines')))) AS refused
  FROM unnest(ARRAY['fetch_work_item(1000, NULL, NULL, $, ''tags'', p_now_ms => 1000)', 'fetch_work_items(1000, NULL, NULL, $, p_now_ms => 1000)', 'renew_session_lock($, 1000, 1000, p_now_ms => 1000)', 'renew_work_item_locks($, 1000, p_now_ms => 1000)',
                    'delete_instances_atomic($)', 'delete_instances_bulk(jsonb_build_object(''instance_ids'', to_jsonb($)))', 'redrive_dead_letters(jsonb_build_object(''ids'', to_jsonb($)))',
                    'reconcile($, p_now_ms => 1000)', 'create_subscription(''s'', $)', 'claim_tasks(''w'', ''i'', $)']) AS x;
SELECT test.refused('SELECT * FROM wq_tags.fetch_work_item(1000, p_slots => (SELECT array_agg(0) FROM generate_series(1, 10001)), p_now_ms => 1000)');

---- TG-2: tag and session rules are both required

CALL pg_temp.add('1', NULL);
CALL pg_temp.add('2 gpu', 'gpu');
CALL pg_temp.add('3 of S', NULL, 'S');
CALL pg_temp.add('4 gpu of S', 'gpu', 'S');
CALL pg_temp.add('5 cpu of S', 'cpu', 'S');
SELECT pg_temp.all('any', NULL, 1000) AS without_owner, pg_temp.all('tags', '{gpu}', 1001) AS gpu_without_owner,
       pg_temp.all('tags', '{gpu}', 1002, 'A') AS gpu_of_a, pg_temp.all('any', NULL, 1003, 'B') AS any_of_b, pg_temp.all('any', NULL, 1004, 'A') AS any_of_a;
TRUNCATE wq_tags.worker_queue, wq_tags.sessions;

---- TG-3: the tag survives abandon and expiry, and is in the item

SELECT wq_tags.enqueue_worker_work('{"ActivityExecute":{"name":"x","tag":"gpu"}}', p_now_ms => 1000);
SELECT lock_token AS token FROM wq_tags.fetch_work_item(1000, NULL, NULL, '{gpu}', 'tags', p_now_ms => 1000) \gset
SELECT wq_tags.abandon_work_item(:'token', 100, p_now_ms => 1000);
SELECT pg_temp.all('default_only', NULL, 1100), pg_temp.all('tags', '{gpu}', 1100);
SELECT pg_temp.all('default_only', NULL, 1200);
SELECT work_item, attempt_count FROM wq_tags.fetch_work_item(1, NULL, NULL, '{gpu}', 'tags', p_now_ms => 1200);
SELECT tag FROM wq_tags.work_items;
TRUNCATE wq_tags.worker_queue;

---- TG-4, TG-5: filters may overlap; every row goes to one fetcher. An item that no filter matches waits, and blocks no other.

DO $$ BEGIN FOR n IN 1..9 LOOP CALL pg_temp.add(n::text, ('{a,b,c}'::text[])[n % 3 + 1]); END LOOP; END $$;
SELECT work_item FROM wq_tags.fetch_work_items(9000, NULL, NULL, '{a,b}', 'tags', 3, p_now_ms => 1000);
SELECT work_item FROM wq_tags.fetch_work_items(9000, NULL, NULL, '{b}', 'tags', 9, p_now_ms => 1000);
SELECT work_item FROM wq_tags.fetch_work_items(9000, NULL, NULL, '{b,a,z}', 'default_and', 9, p_now_ms => 1000);
SELECT count(*), min(tag), max(tag) FROM wq_tags.work_items WHERE lock_token IS NULL;
TRUNCATE wq_tags.worker_queue;

---- Two tags may have the same hash, as these have: the row's tag decides

CALL pg_temp.add('1 other', 'tag-571008');
CALL pg_temp.add('2 wanted', 'tag-68130');
CALL pg_temp.add('3 other of S', 'tag-571008', 'S');
CALL pg_temp.add('4 wanted of S', 'tag-68130', 'S');
CALL pg_temp.add('5 other due 1100', 'tag-571008', NULL, 100);
CALL pg_temp.add('6 wanted due 1200', 'tag-68130', NULL, 200);
SELECT count(DISTINCT tag) AS tags, count(DISTINCT lane - CASE WHEN session_id IS NULL THEN 0 ELSE 1 END) AS lanes FROM wq_tags.worker_queue;
SELECT pg_temp.all('tags', '{tag-68130}', 2000) AS wanted, pg_temp.all('tags', '{tag-571008}', 2001) AS other,
       pg_temp.all('default_and', '{tag-68130,tag-571008}', 2002) AS both, pg_temp.all('tags', '{tag-68130}', 2003, 'A') AS wanted_with_sessions;
SELECT work_item FROM wq_tags.fetch_work_item(1, NULL, NULL, '{tag-68130}', 'tags', p_now_ms => 2004);
SELECT pg_temp.all('default_only', NULL, 2005) AS untagged;
-- The lane is made by a function that never changes: twice (1 + fnv1a64(tag) mod (2^30 - 1)), plus 1 for a session.
TRUNCATE wq_tags.worker_queue;
CALL pg_temp.add('a', NULL);
CALL pg_temp.add('b', NULL, 's');
CALL pg_temp.add('c', 'gpu');
CALL pg_temp.add('d', 'gpu', 's');
CALL pg_temp.add('e', '');
SELECT tag, session_id, lane FROM wq_tags.worker_queue ORDER BY id;

SELECT belay.drop_hub('wq_tags');
