-- What is in the worker queue, for operators: list_work_items.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_list');
SELECT belay.set_hub_option('wq_list', 'max_clock_skew', '0');  -- these tests choose the time

CREATE PROCEDURE pg_temp.add(name text, instance text DEFAULT NULL, session_id text DEFAULT NULL, tag text DEFAULT NULL, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT wq_list.enqueue_worker_items(jsonb_build_array(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', name)),
        'instance_id', instance, 'execution_id', 1, 'activity_id', 2, 'session_id', session_id, 'tag', tag, 'delay_ms', delay_ms)), 1000)
$$;
-- The names of a list, in its order.
CREATE FUNCTION pg_temp.names(filter jsonb, now_ms bigint DEFAULT 1500, after text DEFAULT NULL, page int DEFAULT 100) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(l.work_item::jsonb #>> '{ActivityExecute,name}', ', ' ORDER BY nr)
      FROM ROWS FROM (wq_list.list_work_items(filter, after, page, now_ms)) WITH ORDINALITY
           AS l (id, state, work_item, instance_id, execution_id, activity_id, session_id, tag, visible_at, locked_until, locked_by, attempt_count, created_at, cursor, nr)
$$;

-- An empty queue.
SELECT count(*) FROM wq_list.list_work_items();

CALL pg_temp.add('1 leased', 'i');
CALL pg_temp.add('2 expired');
CALL pg_temp.add('3 ready', 'j');
CALL pg_temp.add('4 due 2000', 'i', NULL, NULL, 1000);
CALL pg_temp.add('5 due 1200', NULL, NULL, NULL, 200);
CALL pg_temp.add('6 of s', NULL, 's');
CALL pg_temp.add('7 gpu', 'i', NULL, 'gpu');
CALL pg_temp.add('8 gpu of s', 'i', 's', 'gpu');
SELECT count(*) FROM wq_list.fetch_work_item(1000, 'o', p_now_ms => 1000);
SELECT count(*) FROM wq_list.fetch_work_item(100, 'p', p_now_ms => 1000);
-- All columns; no token among them. Rows come in the order of the queue's key: what was delayed is behind, tags are apart.
SELECT id, state, work_item::jsonb #>> '{ActivityExecute,name}' AS name, instance_id AS inst, execution_id AS exec, activity_id AS act, session_id AS session, tag,
       (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms, locked_until, locked_by, attempt_count AS attempts,
       (extract(epoch FROM created_at) * 1000)::bigint AS created_ms, cursor IS NOT NULL AS cursor
  FROM wq_list.list_work_items(p_now_ms => 1500);
-- The state is that at now.
SELECT now_ms, (SELECT string_agg(id || ' ' || state, ', ' ORDER BY id) FROM wq_list.list_work_items(p_now_ms => now_ms) WHERE id IN (1, 2, 4, 5))
  FROM unnest('{1000,1099,1100,1199,1200,1999,2000}'::bigint[]) AS now_ms;

-- Filters, alone and combined; {} and null members select all.
SELECT filter, pg_temp.names(filter)
  FROM unnest(ARRAY['{}', '{"state":"ready"}', '{"state":"delayed"}', '{"state":"leased"}', '{"instance_id":"i"}', '{"session_id":"s"}', '{"tag":"gpu"}',
                    '{"tag":""}', '{"locked_by":"o"}', '{"locked_by":"p"}', '{"min_attempts":1}', '{"min_attempts":2}', '{"min_attempts":0}',
                    '{"instance_id":"i","tag":"gpu","session_id":"s"}', '{"state":"leased","instance_id":"i","locked_by":"o","min_attempts":1}',
                    '{"state":"leased","tag":"gpu"}', '{"state":null,"tag":null,"instance_id":"j"}']::jsonb[]) AS filter;
SELECT filter, test.refused(format('SELECT wq_list.list_work_items(%L)', filter))
  FROM unnest(ARRAY['[]', '7', 'null', '{"State":"ready"}', '{"instance":"i"}', '{"state":"done"}', '{"state":1}', '{"tag":["gpu"]}', '{"min_attempts":"1"}',
                    '{"min_attempts":1.5}', '{"session_id":{}}']) AS filter;
SELECT test.refused('SELECT wq_list.list_work_items(NULL)');

-- Pages: the cursor of the last row is the next page's p_after.
SELECT pg_temp.names('{}', 1500, NULL, 3) AS page_1;
SELECT cursor AS after FROM wq_list.list_work_items('{}', NULL, 3, 1500) OFFSET 2 \gset
SELECT pg_temp.names('{}', 1500, :'after', 3) AS page_2;
SELECT cursor AS after_2, id FROM wq_list.list_work_items('{}', :'after', 3, 1500) OFFSET 2 \gset
-- A row deleted meanwhile does no harm; a filter goes on from there, too.
DELETE FROM wq_list.worker_queue WHERE id = :id;
SELECT pg_temp.names('{}', 1500, :'after_2', 3) AS page_3;
SELECT pg_temp.names('{"instance_id":"i"}', 1500, :'after_2', 3) AS of_i, pg_temp.names('{"state":"leased"}', 1500, :'after_2', 3) AS leased;
SELECT cursor AS after_3 FROM wq_list.list_work_items('{}', :'after_2', 3, 1500) OFFSET 1 \gset
SELECT count(*) AS page_4 FROM wq_list.list_work_items('{}', :'after_3', 3, 1500);
-- All pages together are the queue, regardless of their size.
DO $$
DECLARE
    after text;
    seen bigint[];
    page int;
BEGIN
    FOR page IN 1..9 LOOP
        after := NULL;
        seen := '{}';
        LOOP
            SELECT seen || array_agg(l.id), max(l.cursor) FILTER (WHERE nr = last) INTO seen, after
              FROM (SELECT id, cursor, row_number() OVER () AS nr, count(*) OVER () AS last FROM wq_list.list_work_items('{}', after, page, 1500)) AS l;
            EXIT WHEN after IS NULL;
        END LOOP;
        IF seen IS DISTINCT FROM (SELECT array_agg(id ORDER BY lane, slot, due, id) FROM wq_list.worker_queue) THEN
            RAISE WARNING 'pages of % show %', page, seen;
        END IF;
    END LOOP;
END $$;

-- Limit 1 to 1000, 100 by default. A cursor is a cursor.
SELECT "limit", test.refused(format('SELECT wq_list.list_work_items(p_limit => %s)', "limit")) FROM unnest('{0,-1,1001}'::int[]) AS "limit";
SELECT after, test.refused(format('SELECT wq_list.list_work_items(p_after => %L)', after)) FROM unnest(ARRAY['', 'x', '1', '0/0/0', '0/0/0/1/2', '0/0/0/x', '0/0/0/99999999999999999999', '9999999999/0/0/1', ' ']) AS after;
SELECT test.refused('SELECT wq_list.list_work_items(p_now_ms => -1)');
SELECT wq_list.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', '{}'::jsonb))) FROM generate_series(1, 1100)), 1000);
SELECT (SELECT count(*) FROM wq_list.list_work_items()) AS default_limit, (SELECT count(*) FROM wq_list.list_work_items(p_limit => NULL)) AS null_limit,
       (SELECT count(*) FROM wq_list.list_work_items(p_limit => 1000)) AS most;

-- A lease of another incarnation is none: the row is ready.
TRUNCATE wq_list.worker_queue;
CALL pg_temp.add('a');
SELECT count(*) FROM wq_list.fetch_work_item(1000, 'o', p_now_ms => 1000);
SELECT belay.new_incarnation('wq_list');
SELECT state, locked_until, locked_by, attempt_count FROM wq_list.list_work_items(p_now_ms => 1500);

-- Why an item is not fetched: explain_work_item. How many sessions wait is known with shared memory only.
TRUNCATE wq_list.worker_queue, wq_list.sessions;
CALL pg_temp.add('1 leased');
CALL pg_temp.add('2 of s', NULL, 's');
CALL pg_temp.add('3 of s', NULL, 's');
CALL pg_temp.add('4 due 9000', NULL, NULL, NULL, 8000);
CALL pg_temp.add('5 gpu', NULL, NULL, 'gpu');
CALL pg_temp.add('6 ready');
SELECT count(*) FROM wq_list.fetch_work_item(1000, 'o', 60000, p_now_ms => 1000);
SELECT count(*) FROM wq_list.fetch_work_item(1000, 'o', 60000, p_now_ms => 1000);
CREATE FUNCTION pg_temp.why(now_ms bigint) RETURNS TABLE (name text, reason text, detail text, until_ms bigint) LANGUAGE sql AS $$
    SELECT w.work_item::jsonb #>> '{ActivityExecute,name}', e.reason, nullif(regexp_replace(e.detail, '(; )?waiting sessions: 0', ''), ''), (extract(epoch FROM e.until_at) * 1000)::bigint
      FROM wq_list.worker_queue AS w, LATERAL wq_list.explain_work_item(w.id, now_ms) AS e ORDER BY 1, 2
$$;
SELECT * FROM pg_temp.why(1500);
-- The lease is over, the session is not.
SELECT * FROM pg_temp.why(2000) WHERE name < '4';
SELECT wq_list.pause_hub('worker');
SELECT belay.set_hub_option('wq_list', 'max_attempts', '1');
SELECT * FROM pg_temp.why(9000) WHERE name < '2' OR name > '4';
SELECT wq_list.resume_hub('worker');
SELECT reason FROM wq_list.explain_work_item(-1, 1500);
SELECT test.refused('SELECT wq_list.explain_work_item(NULL)');

SELECT belay.drop_hub('wq_list', true);
