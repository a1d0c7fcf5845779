-- Pages of work items, messages, dead letters, events, histories and flows; slices of bodies.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('browse_queue');
SELECT belay.set_hub_option('browse_queue', 'max_clock_skew', '0');
SET search_path = browse_queue, public;
CREATE FUNCTION pg_temp.ids(page jsonb, id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg(r ->> id, ' ' ORDER BY o) FROM jsonb_array_elements(page -> 'rows') WITH ORDINALITY AS x(r, o) $$;
CREATE FUNCTION pg_temp.walk(what text, filter jsonb, by text, size int, id text DEFAULT 'id', change text DEFAULT NULL, scan int DEFAULT 10000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE page jsonb; at text; all_ids text := ''; pages int := 0;
BEGIN
    LOOP
        EXECUTE format('SELECT browse_queue.browse_%s(%s$1, $2, $3, $4, $5)', CASE what WHEN 'history' THEN what ELSE what END, CASE what WHEN 'history' THEN quote_literal('h') || ', NULL, ' ELSE '' END) INTO page USING filter, by, at, size, scan;
        EXIT WHEN pages > 0 AND page -> 'rows' = '[]' AND page ->> 'next' = at;
        all_ids := concat_ws(' ', nullif(all_ids, ''), pg_temp.ids(page, id)); pages := pages + 1; at := page ->> 'next';
        EXIT WHEN at IS NULL;
        IF change IS NOT NULL THEN EXECUTE change; END IF;
    END LOOP;
    RETURN all_ids || ' / ' || pages;
END $$;
-- Work items: 1 to 5 are ready, 6 is delayed, 7 has a session, 1 is leased.
SELECT count(*) FROM (SELECT enqueue_worker_work(format('{"ActivityExecute":{"instance":"i%s","execution_id":1,"id":%s,"name":"A%s","input":"€€€"%s}}', n % 2, n, n % 3, CASE n WHEN 7 THEN ',"session_id":"s"' ELSE '' END), p_tag => CASE n WHEN 5 THEN 'gpu' END, p_now_ms => 1000) FROM generate_series(1, 7) AS n) AS x;
SELECT abandon_work_item(lock_token, 8000000000000, p_now_ms => 2000) FROM fetch_work_items(1000, 'w', p_max_items => 6, p_now_ms => 2000) WHERE work_item LIKE '%"id":6%';
SELECT count(*) FROM fetch_work_item(86400000, 'w-1', p_now_ms => floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
-- BR-1, BR-2: orders and filters.
SELECT o, pg_temp.walk('work_items', '{}', o, 100), pg_temp.walk('work_items', '{}', o, 2) FROM unnest('{newest,oldest}'::text[]) AS o;
SELECT f, pg_temp.walk('work_items', f, 'oldest', 100) FROM unnest(ARRAY['{"instance_id":"i1"}', '{"session_id":"s"}', '{"tag":"gpu"}', '{"name":"A2"}', '{"state":"leased"}', '{"state":"delayed"}', '{"owner":"w-1"}', '{"min_attempts":2}']::jsonb[]) AS f;
SELECT jsonb_pretty(r - '{visible_at_ms,created_at_ms,locked_until_ms}'::text[]) FROM jsonb_array_elements(browse_work_items('{"state":"leased"}', p_preview => 75) -> 'rows') AS r;
SELECT test.refused($$SELECT browse_queue.browse_work_items('{"queue":1}')$$), test.refused($$SELECT browse_queue.browse_work_items('{"state":"gone"}')$$), test.refused($$SELECT browse_queue.browse_work_items('{}', 'created')$$);
-- Messages.
INSERT INTO orchestrator_queue SELECT belay.instance_key('m' || n % 2), n, to_timestamp(100 - n), to_timestamp(n), 0, 0, 0, 'o', n > 4, 'm' || n % 2, NULL, format('{"StartOrchestration":{"name":"N%s"}}', n % 2) FROM generate_series(1, 6) AS n;
SELECT o, pg_temp.walk('messages', '{}', o, 100), pg_temp.walk('messages', '{}', o, 1), pg_temp.walk('messages', '{"instance_id":"m1"}', o, 1) FROM unnest('{newest,oldest,parked}'::text[]) AS o;
SELECT pg_temp.walk('messages', '{"name":"N0"}', 'oldest', 100), jsonb_pretty(browse_messages('{"instance_id":"m0"}', p_limit => 1) -> 'rows');
-- Dead letters.
INSERT INTO dead_letters SELECT n, CASE WHEN n % 2 = 0 THEN 'worker' ELSE 'orchestrator' END, n, 'd' || n % 3, NULL, NULL, NULL, CASE n WHEN 4 THEN 'gpu' END, format('{"X":{"name": "N%s"}}', n % 2), 3, CASE n WHEN 1 THEN 'orphan' ELSE 'max_attempts' END, 'why €', to_timestamp(1), to_timestamp(n) FROM generate_series(1, 7) AS n;
SELECT o, pg_temp.walk('dead_letters', '{}', o, 100), pg_temp.walk('dead_letters', '{}', o, 3), pg_temp.walk('dead_letters', '{"instance_id":"d1"}', o, 1) FROM unnest('{newest,oldest}'::text[]) AS o;
SELECT f, pg_temp.walk('dead_letters', f, 'oldest', 100) FROM unnest(ARRAY['{"queue":"worker"}', '{"reason":"orphan"}', '{"name":"N1"}', '{"tag":"gpu"}', '{"max_id":3}', '{"queue":"worker","instance_id":"d1"}']::jsonb[]) AS f;
SELECT jsonb_pretty(browse_dead_letters(p_limit => 1, p_preview => 6) -> 'rows');
-- BR-4, BR-5, BR-6: cursors and budgets.
SELECT test.refused(format($$SELECT browse_queue.browse_dead_letters('{"tag":"x"}', p_after => %L)$$, browse_dead_letters(p_limit => 1) ->> 'next'));
BEGIN; SELECT pg_temp.walk('dead_letters', '{}', 'newest', 2, 'id', $$DELETE FROM browse_queue.dead_letters WHERE id IN (6, 3)$$) AS six_was_seen; ROLLBACK;
INSERT INTO dead_letters SELECT n, 'worker', n, NULL, NULL, NULL, NULL, NULL, '{}', 1, 'orphan', NULL, to_timestamp(1), to_timestamp(2) FROM generate_series(100, 299) AS n;
SELECT pg_temp.walk('dead_letters', '{"tag":"gpu"}', 'newest', 50, 'id', NULL, 100), browse_dead_letters('{"tag":"gpu"}', p_scan => 100) -> 'scanned' AS scanned;
-- Events of an earlier incarnation are complete, regardless of other transactions in the server.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0')), 'queue', 'q', 'payload', repeat('€', 10))) FROM generate_series(1, 3) AS n), 1000);
DELETE FROM outbox_events;
INSERT INTO outbox_events SELECT 0, n, '3', CASE WHEN n % 2 = 0 THEN 'operator' ELSE 'task' END, 't' || n % 4, 's' || n % 3, jsonb_build_object('by', CASE WHEN n < 9 THEN 'ada' ELSE 'bob' END, 'via', 'psql', 'reason', 'because'), n FROM generate_series(1, 12) AS n;
SELECT f, pg_temp.walk('events', f, 'newest', 5, 'event_id'), pg_temp.walk('events', f, 'oldest', 100, 'event_id') FROM unnest(ARRAY['{}', '{"topics":["task"]}', '{"topics":["task","operator"],"types":"t1"}', '{"types":["t0","t2"]}', '{"types":["none"]}', '{"subject":"s1"}', '{"by":"bob"}', '{"from_ms":11}', '{"to_ms":2}']::jsonb[]) AS f;
SELECT jsonb_pretty(browse_events(p_limit => 1) -> 'rows');
-- BR-8: a tail goes on where it ended.
SELECT browse_events('{}', 'oldest') ->> 'next' AS tail \gset
SELECT browse_events('{}', 'oldest', :'tail') -> 'rows' AS rows, browse_events('{}', 'oldest', :'tail') ->> 'next' = :'tail' AS stays;
INSERT INTO outbox_events SELECT 0, n, '3', 'task', 'late', 's', '{}', n FROM generate_series(13, 14) AS n; SELECT pg_temp.ids(browse_events('{}', 'oldest', :'tail'), 'event_id'); DELETE FROM outbox_events WHERE type = 'late';
-- The audit of one object has an index of its own.
SELECT o, pg_temp.walk('events', '{"topics":["operator"],"subject":"s0"}', o, 1, 'event_id'), pg_temp.walk('events', '{"subject":"s0","by":"ada"}', o, 100, 'event_id') FROM unnest('{newest,oldest}'::text[]) AS o;
-- History.
INSERT INTO instances VALUES ('h', 'H', NULL, 2, NULL, 'half', 0, to_timestamp(1), to_timestamp(1)); INSERT INTO executions (instance_id, execution_id, status, output, started_at) VALUES ('h', 2, 'Running', NULL, to_timestamp(1));
INSERT INTO history_turns SELECT e, min(n), max(n), to_timestamp(max(n)), 'h', array_agg('T' || n % 2 ORDER BY n), array_agg(format('{"e":%s,"n":%s}', e, n) ORDER BY n) FROM generate_series(1, 2) AS e, generate_series(1, 5) AS n GROUP BY e, n > 2;
SELECT o, pg_temp.walk('history', '{}', o, 100, 'event_id'), pg_temp.walk('history', '{}', o, 2, 'event_id'), pg_temp.walk('history', '{"types":["T1"]}', o, 100, 'event_id'), pg_temp.walk('history', '{"contains":"\"n\":3"}', o, 100, 'event_id') FROM unnest('{newest,oldest}'::text[]) AS o;
SELECT browse_history('h', 1, p_limit => 1) -> 'rows' AS of_another_execution, browse_history('none') -> 'rows' AS of_none;
SELECT test.refused(format($$SELECT browse_queue.browse_history('h', 2, p_after => %L)$$, browse_history('h', 1, p_limit => 1) ->> 'next')), test.refused($$SELECT browse_queue.browse_history(NULL)$$);
-- The pages of the current execution stay with it, if another begins between them.
SELECT browse_history('h', p_order => 'oldest', p_limit => 3) ->> 'next' AS next \gset
UPDATE instances SET current_execution_id = 1 WHERE instance_id = 'h';
SELECT o ->> 'execution_id' AS execution, o ->> 'event_id' AS event FROM jsonb_array_elements(browse_history('h', p_order => 'oldest', p_after => :'next') -> 'rows') AS o;
UPDATE instances SET current_execution_id = 2 WHERE instance_id = 'h';
-- Flows.
INSERT INTO flows (id, graph_revision, member_count, open_count, bad_sink_count, edge_count, created_at_ms, updated_at_ms, terminal_at_ms, sealed, struck, state, fail_policy, kind, tags)
SELECT format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 1, 1, CASE WHEN n > 3 THEN 1 ELSE 0 END, 0, 0, n, n, CASE WHEN n <= 3 THEN 10 END, true, false, CASE WHEN n > 3 THEN 'running' WHEN n = 2 THEN 'failed' ELSE 'completed' END, 'continue', 'k' || n % 2, '{"a":1}' FROM generate_series(1, 5) AS n;
SELECT o, pg_temp.walk('flows', '{}', o, 100, 'created_at_ms'), pg_temp.walk('flows', '{}', o, 1, 'created_at_ms') FROM unnest('{created,ended}'::text[]) AS o;
SELECT f, pg_temp.walk('flows', f, 'created', 100, 'created_at_ms') FROM unnest(ARRAY['{"state":"running"}', '{"state":["failed","completed"]}', '{"kind":"k1"}', '{"tags":{"a":1}}', '{"tags":{"a":2}}', '{"created_from_ms":2,"created_to_ms":3}']::jsonb[]) AS f;
SELECT test.refused($$SELECT browse_queue.browse_flows('{"state":"x"}')$$);
-- BR-9: bodies in slices.
SELECT string_agg(read_body('task', '00000000-0000-4000-8000-000000000003', 'payload', n * 7, 7) ->> 'body', '' ORDER BY n) AS whole, (SELECT read_body('task', '00000000-0000-4000-8000-000000000003', 'payload', 2, 3)) AS one FROM generate_series(0, 10) AS n;
SELECT read_body('instance', 'h', 'custom_status'), read_body('instance', 'h', 'input') ->> 'body' AS input, read_body('instance', 'h', 'output') AS output, read_body('history', 'h', '1/3') ->> 'body' AS event, read_body('event', '0-2', 'details') ->> 'body' AS details, read_body('dead_letter', '4', 'work_item') ->> 'body' AS item, read_body('dead_letter', '4', 'detail', 4) AS detail, read_body('work_item', (SELECT min(id)::text FROM work_items), 'work_item') ->> 'body' = (SELECT work_item FROM work_items ORDER BY id LIMIT 1) AS work_item, read_body('task', '00000000-0000-4000-8000-0000000000ff', 'payload') AS none;
SELECT s, test.refused(s) FROM unnest(ARRAY[$$SELECT browse_queue.read_body('x', 'y', 'z')$$, $$SELECT browse_queue.read_body('task', 'y', 'payload')$$, $$SELECT browse_queue.read_body('task', 'y', 'secret')$$, $$SELECT browse_queue.read_body('history', 'h', '1')$$, $$SELECT browse_queue.read_body('event', '1', 'details')$$, $$SELECT browse_queue.read_body('dead_letter', 'x', 'detail')$$, $$SELECT browse_queue.read_body('task', 'y', 'payload', -1)$$, $$SELECT browse_queue.read_body('task', 'y', 'payload', 0, 1048577)$$]) AS s;
-- All that is previewed can be read.
UPDATE tasks SET progress_message = 'half way' WHERE id = '00000000-0000-4000-8000-000000000003'; UPDATE worker_queue SET last_error = 'no route';
SELECT read_body('task', '00000000-0000-4000-8000-000000000003', 'progress_message') ->> 'body' AS progress, read_body('work_item', (SELECT min(id)::text FROM work_items), 'last_error') ->> 'body' AS last_error;
-- Levels: queues and dead letters are the operator's.
CREATE ROLE regress_queue_browser; SELECT belay.grant_hub('browse_queue', 'regress_queue_browser', 'monitor'); SET ROLE regress_queue_browser;
SELECT s, test.sqlstate('SELECT browse_queue.' || s) FROM unnest('{browse_work_items(),browse_messages(),browse_dead_letters(),browse_events(),browse_history(''h''),browse_flows(),"read_body(''instance'',''h'',''input'')","read_body(''dead_letter'',''4'',''detail'')","read_body(''work_item'',''4'',''work_item'')"}'::text[]) AS s;
RESET ROLE; SELECT belay.grant_hub('browse_queue', 'regress_queue_browser', 'operator'); SET ROLE regress_queue_browser;
SELECT s, test.sqlstate('SELECT browse_queue.' || s) FROM unnest('{browse_work_items(),browse_messages(),browse_dead_letters(),"read_body(''dead_letter'',''4'',''detail'')","read_body(''work_item'',''4'',''work_item'')"}'::text[]) AS s;
RESET ROLE; SELECT belay.drop_hub('browse_queue', true); DROP ROLE regress_queue_browser;
