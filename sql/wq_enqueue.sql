-- Adding activities to the worker queue: enqueue_worker_work and enqueue_worker_items.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_enqueue');
SELECT belay.set_hub_option('wq_enqueue', 'max_clock_skew', '0');  -- these tests choose the time


---- One activity

-- EW-1: visible now, attempt 0, no lease. Identity, session and tag are taken from the item.
SELECT wq_enqueue.enqueue_worker_work(
    '{"ActivityExecute":{"instance":"ord-7","execution_id":1,"id":2,"name":"Charge","input":"9","session_id":"s1","tag":"gpu"}}', p_now_ms => 1800000000123);
SELECT * FROM wq_enqueue.work_items \gx

-- EW-2: no instance is needed, neither a row of one nor the name of one. Absent and null are the same.
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{"name":"bare"}}', p_now_ms => 1000);
SELECT wq_enqueue.enqueue_worker_work(
    '{"ActivityExecute":{"instance":null,"execution_id":null,"id":null,"session_id":null,"tag":null}}', p_now_ms => 1000);
-- Activity ids begin with 0, execution ids with 1.
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":0}}', p_now_ms => 1000);
-- EW-3: a given argument wins over the item, each on its own.
SELECT wq_enqueue.enqueue_worker_work(
    '{"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"session_id":"s","tag":"t"}}', 'j', 2, 3, 'r', 'u', p_now_ms => 1000);
SELECT wq_enqueue.enqueue_worker_work(
    '{"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"session_id":"s","tag":"t"}}', p_tag => 'u', p_now_ms => 1000);
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}', p_instance_id => 'k', p_execution_id => 9, p_activity_id => 0, p_now_ms => 1000);
-- A kind that belay does not know is accepted, so that newer clients work.
SELECT wq_enqueue.enqueue_worker_work('{"ActivityOfTomorrow":{"instance":"i","execution_id":4,"id":5,"tag":"new"}}', p_now_ms => 1000);
SELECT id - (SELECT min(id) FROM wq_enqueue.work_items) AS nr, instance_id, execution_id, activity_id, session_id, tag
  FROM wq_enqueue.work_items ORDER BY id;
TRUNCATE wq_enqueue.worker_queue;

-- DM-1, JS-1, JS-5: the text is kept byte for byte. A field that belay does not read may hold anything: an escaped
-- NUL, half a surrogate pair, a number that no type can hold.
SELECT wq_enqueue.enqueue_worker_work(E' {"ActivityExecute" : {"input":"a\\u0000b", "name":"\\ud800", "n":1e999999,\t"x":[[{}]]} }\n', p_now_ms => 1000);
-- Of duplicate keys the last counts. Escapes in keys and values are read.
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{"tag":"a","tag":"b","instance":"x","instance":null}}', p_now_ms => 1000);
SELECT wq_enqueue.enqueue_worker_work('{"\u0041ctivityExecute":{"t\u0061g":"\u00e9\ud83d\ude00\"","id":7}}', p_now_ms => 1000);
SELECT to_json(work_item) AS work_item, instance_id, activity_id, tag FROM wq_enqueue.work_items ORDER BY id;
TRUNCATE wq_enqueue.worker_queue;

-- Payloads have no limit of ours: 1 MB, as random as text can be, comes back as it was.
CREATE TEMP TABLE payload AS
    SELECT '{"ActivityExecute":{"input":"' || string_agg(md5(n::text), '') || '"}}' AS item FROM generate_series(1, 32768) AS n;
SELECT wq_enqueue.enqueue_worker_work(item, p_now_ms => 1000) FROM payload;
SELECT length(work_item), work_item = item AS same FROM wq_enqueue.fetch_work_item(1000, p_now_ms => 1000), payload;
TRUNCATE wq_enqueue.worker_queue;

-- An instance id has 1 to 1024 bytes; session id and tag at most 1024.
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}', p_instance_id => repeat('x', 1024),
                                      p_session_id => repeat('y', 1024), p_tag => repeat('z', 1024), p_now_ms => 1000);
SELECT wq_enqueue.enqueue_worker_work(format('{"ActivityExecute":{"instance":"%s"}}', repeat('é', 512)), p_now_ms => 1000);
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}', p_session_id => '', p_tag => '', p_now_ms => 1000);
SELECT octet_length(instance_id) AS instance, octet_length(session_id) AS session, octet_length(tag) AS tag
  FROM wq_enqueue.work_items ORDER BY id;
TRUNCATE wq_enqueue.worker_queue;
SELECT argument, length(value), test.refused(format(
           'SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{}}'', %I => %L, p_now_ms => 1000)', argument, value))
  FROM (VALUES ('p_instance_id', ''), ('p_instance_id', repeat('x', 1025)), ('p_instance_id', repeat('é', 513)),
               ('p_instance_id', repeat('x', 1048576)), ('p_session_id', repeat('x', 1025)),
               ('p_tag', repeat('x', 1025))) AS case_ (argument, value);
SELECT field, length(value), test.refused(format(
           'SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{"%s":"%s"}}'', p_now_ms => 1000)', field, value))
  FROM (VALUES ('instance', ''), ('instance', repeat('x', 1025)), ('session_id', repeat('x', 1025)),
               ('tag', repeat('x', 1025))) AS case_ (field, value);
SELECT test.refused('SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{}}'', p_execution_id => 0, p_now_ms => 1000)');
SELECT test.refused('SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{}}'', p_execution_id => -1, p_now_ms => 1000)');
SELECT test.refused('SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{}}'', p_activity_id => -1, p_now_ms => 1000)');

-- EW-4, JS-1: not a JSON object with one key whose value is an object, too.
SELECT item, test.refused(format('SELECT wq_enqueue.enqueue_worker_work(%L, p_now_ms => 1000)', item))
  FROM unnest(ARRAY[NULL, '', ' ', 'nonsense', '{"ActivityExecute":{}', '{"ActivityExecute":{}}}', '{''ActivityExecute'':{}}',
                    '{"ActivityExecute":{"input":"\u00"}}', E'{"ActivityExecute":{"input":"\t"}}', '[]', 'null', '7', '"text"',
                    '{}', '{"ActivityExecute":{},"tag":"t"}', '{"ActivityExecute":{},"ActivityExecute":{}}',
                    '{"ActivityExecute":[]}', '{"ActivityExecute":null}', '{"ActivityExecute":"x"}']) AS item;
-- EW-4: a kind of the orchestrator queue.
SELECT kind, test.refused(format('SELECT wq_enqueue.enqueue_worker_work(''{"%s":{"instance":"i"}}'', p_now_ms => 1000)', kind))
  FROM unnest('{StartOrchestration,ActivityCompleted,ActivityFailed,TimerFired,ExternalRaised,SubOrchCompleted,
                SubOrchFailed,CancelInstance,ContinueAsNew,QueueMessage}'::text[]) AS kind;
-- JS-1, JS-6: the fields that belay reads have the right type, and are storable.
SELECT field, test.refused(format('SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{%s}}'', p_now_ms => 1000)', field))
  FROM unnest(ARRAY['"instance":7', '"instance":{}', '"instance":"a\u0000"', '"instance":"\udc00"',
                    '"execution_id":"1"', '"execution_id":1.5', '"execution_id":0', '"execution_id":99999999999999999999',
                    '"execution_id":true', '"id":"2"', '"id":-1', '"id":[]', '"session_id":1', '"session_id":"\u0000"',
                    '"tag":{}', '"tag":false', '"tag":"\u0000"', '"input":"\u0000","tag":"\u0000"']) AS field;

-- The caller's time is not negative and fits timestamptz.
SELECT now_ms, test.refused(format('SELECT wq_enqueue.enqueue_worker_work(''{"ActivityExecute":{}}'', p_now_ms => %s)', now_ms))
  FROM unnest('{-1,-9223372036854775808,9224318016000000,9223372036854775807}'::bigint[]) AS now_ms;
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 0);
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 9224318015999999);
SELECT visible_at = '1970-01-01 00:00:00Z' AS first, visible_at = '294276-12-31 23:59:59.999Z' AS last
  FROM wq_enqueue.work_items ORDER BY id;
TRUNCATE wq_enqueue.worker_queue;

-- CL-3, DM-6: without a time it is the server's, in whole milliseconds.
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}');
SELECT created_at BETWEEN clock_timestamp() - interval '1 min' AND clock_timestamp() AS is_now,
       visible_at = created_at AS visible, date_trunc('milliseconds', created_at) = created_at AS whole
  FROM wq_enqueue.work_items;
TRUNCATE wq_enqueue.worker_queue;

-- CC-11: a part of the caller's transaction.
BEGIN;
SELECT wq_enqueue.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000);
ROLLBACK;
SELECT count(*) FROM wq_enqueue.work_items;

---- Many at once

-- EB-1: in one unit, with ids in input order; it returns the number. The members of an element are the arguments of the
-- single function. JS-7: an item as an object, stored as PostgreSQL prints it ...
SELECT wq_enqueue.enqueue_worker_items($$[
    {"work_item": {"ActivityExecute": {"tag": "t", "instance": "i", "execution_id": 1, "id": 1, "session_id": "s"}}},
    {"work_item": {"ActivityExecute": {"instance":"i"}}, "instance_id":"j", "execution_id":2, "activity_id":3, "session_id":"r", "tag":"u"},
    {"work_item": {"ActivityExecute":{"n":[1.0,1e2],"n":[1.50,2e1]}}, "tag":null, "delay_ms":null},
    {"work_item": {"ActivityOfTomorrow":{"instance":"i"}}, "delay_ms":0},
    {"work_item": {"ActivityExecute":{}}, "delay_ms":5000}]$$, 1000);
-- ... or as a string, stored byte for byte: so an escaped NUL can pass through jsonb.
SELECT wq_enqueue.enqueue_worker_items($$[
    {"work_item": "{ \"ActivityExecute\":{\"n\":[1.0,1e2],\"n\":[1.50,2e1],\"input\":\"\\u0000\",  \"tag\":\"t\"}}"}]$$, 1000);
SELECT w.id - (SELECT min(id) FROM wq_enqueue.work_items) AS nr, w.work_item, w.instance_id, w.execution_id AS exec, w.activity_id AS act,
       w.session_id AS session, w.tag
  FROM wq_enqueue.work_items AS w ORDER BY w.id;
-- EB-2: a delayed row is hidden until now + delay.
SELECT (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms, (extract(epoch FROM created_at) * 1000)::bigint AS created_ms,
       count(*) FROM wq_enqueue.work_items GROUP BY 1, 2 ORDER BY 1;
TRUNCATE wq_enqueue.worker_queue;

-- DM-7: a time too far away is infinity.
SELECT wq_enqueue.enqueue_worker_items('[{"work_item":{"ActivityExecute":{}}, "delay_ms":9223372036854775807}]', 1000);
SELECT wq_enqueue.enqueue_worker_items('[{"work_item":{"ActivityExecute":{}}, "delay_ms":9224318015999999}]', 1000);
SELECT visible_at FROM wq_enqueue.work_items;
SELECT count(*) FROM wq_enqueue.fetch_work_item(1000, p_now_ms => 9224318015999999);
TRUNCATE wq_enqueue.worker_queue;

-- EB-3: nothing to do.
SELECT wq_enqueue.enqueue_worker_items(NULL), wq_enqueue.enqueue_worker_items('[]'), wq_enqueue.enqueue_worker_items('[]', 1000);
-- EB-3: one bad element refuses the call; the path names it.
SELECT items, test.refused(format('SELECT wq_enqueue.enqueue_worker_items(%L, 1000)', items))
  FROM unnest(ARRAY['{}', 'null', '7', '[7]', '[[]]', '[null]', '["{}"]', '[{}]', '[{"work_item":null}]', '[{"work_item":7}]',
                    '[{"work_item":""}]', '[{"work_item":"{"}]', '[{"work_item":{}}]',
                    '[{"work_item":{"TimerFired":{}}}]', '[{"work_item":{"ActivityExecute":[]}}]',
                    '[{"work_item":{"ActivityExecute":{"id":-1}}}]',
                    '[{"work_item":"{\"ActivityExecute\":{\"tag\":\"\\u0000\"}}"}]',
                    '[{"work_item":{"ActivityExecute":{}},"item":1}]', '[{"work_item":{"ActivityExecute":{}},"Tag":"t"}]',
                    '[{"work_item":{"ActivityExecute":{}},"delay_ms":-1}]', '[{"work_item":{"ActivityExecute":{}},"delay_ms":"1"}]',
                    '[{"work_item":{"ActivityExecute":{}},"delay_ms":1.5}]', '[{"work_item":{"ActivityExecute":{}},"delay_ms":1e30}]',
                    '[{"work_item":{"ActivityExecute":{}},"tag":7}]', '[{"work_item":{"ActivityExecute":{}},"session_id":[]}]',
                    '[{"work_item":{"ActivityExecute":{}},"instance_id":""}]', '[{"work_item":{"ActivityExecute":{}},"instance_id":1}]',
                    '[{"work_item":{"ActivityExecute":{}},"execution_id":0}]', '[{"work_item":{"ActivityExecute":{}},"execution_id":"1"}]',
                    '[{"work_item":{"ActivityExecute":{}},"activity_id":-1}]']) AS items;
SELECT test.refused(format('SELECT wq_enqueue.enqueue_worker_items(%L, 1000)',
           (SELECT jsonb_agg(jsonb_build_object('work_item', CASE n WHEN 7 THEN '{"Activity": {}, "Execute": {}}'::jsonb
                                                                   ELSE '{"ActivityExecute":{}}'::jsonb END) ORDER BY n)
              FROM generate_series(0, 9) AS n)));
SELECT test.refused('SELECT wq_enqueue.enqueue_worker_items(''[{"work_item":{"ActivityExecute":{}}}]'', -1)');
-- At most 10,000 elements.
CREATE TEMP TABLE many AS
    SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', n))) ORDER BY n) AS items
      FROM generate_series(1, 10000) AS n;
SELECT test.refused(format('SELECT wq_enqueue.enqueue_worker_items(%L, 1000)', items || '[{}]'::jsonb)) FROM many;
SELECT count(*) AS written FROM wq_enqueue.work_items;
SELECT wq_enqueue.enqueue_worker_items(items, 1000) FROM many;
SELECT count(*), bool_and(name = nr) AS in_order
  FROM (SELECT (work_item::jsonb #>> '{ActivityExecute,name}')::bigint AS name, row_number() OVER (ORDER BY id) AS nr
          FROM wq_enqueue.work_items) AS w;

SELECT belay.drop_hub('wq_enqueue');
