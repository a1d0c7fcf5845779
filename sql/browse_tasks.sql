-- Pages of tasks: orders, filters, cursors, budgets, previews.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('browse_task');
SELECT belay.set_hub_option('browse_task', 'max_clock_skew', '0');
SET search_path = browse_task, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.ns(page jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg(right(r ->> 'task_id', 12)::int::text, ' ' ORDER BY o) FROM jsonb_array_elements(page -> 'rows') WITH ORDINALITY AS x(r, o) $$;
-- All pages, with what a change between two of them does.
CREATE FUNCTION pg_temp.walk(filter jsonb, by text, size int, change text DEFAULT NULL, scan int DEFAULT 10000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE page jsonb; at text; all_ids text := ''; pages int := 0;
BEGIN
    LOOP
        page := browse_tasks(filter, by, at, size, scan);
        all_ids := concat_ws(' ', nullif(all_ids, ''), pg_temp.ns(page)); pages := pages + 1; at := page ->> 'next';
        EXIT WHEN at IS NULL;
        IF change IS NOT NULL THEN EXECUTE change; END IF;
    END LOOP;
    RETURN all_ids || ' / ' || pages;
END $$;
SELECT browse_tasks();
-- 1 ready, 2 delayed, 3 leased, 4 leased, 5 completed, 6 and 7 failed, 8 cancelled, 9 expired, 10 suspended, 11 ready with priority, 12 delayed.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', 'q' || n % 3, 'kind', 'k' || n % 2, 'tags', jsonb_build_object('n', n::text), 'payload', jsonb_build_object('n', n)) || CASE n WHEN 2 THEN '{"available_at_ms":9000000000000}' WHEN 12 THEN '{"available_at_ms":8000000000000}' WHEN 9 THEN '{"deadline_ms":1500}' WHEN 11 THEN '{"priority":7}' WHEN 1 THEN '{"dedup_key":"once"}' ELSE '{}' END::jsonb ORDER BY n) FROM generate_series(1, 12) AS n), 1000);
SELECT change_priority(pg_temp.id(1), 3, 1000), change_priority(pg_temp.id(11), 7, 1000);
UPDATE tasks SET priority = 100 WHERE id IN (SELECT pg_temp.id(n) FROM generate_series(3, 10) AS n);
SELECT count(*) FROM claim_tasks('w', 'i-1', '{q0,q1,q2}', p_max_items => 8, p_lease_ms => 1000, p_now_ms => 1000);
SELECT (SELECT result FROM complete_task(pg_temp.id(5), 1, '{"r":5}', p_now_ms => 1100)), (SELECT result FROM fail_task(pg_temp.id(6), 1, 'permanent', 'broken pipe', p_now_ms => 1100)), (SELECT result FROM fail_task(pg_temp.id(7), 1, 'permanent', 'broken leg', p_now_ms => 1200)),
       (SELECT effective FROM cancel_task(pg_temp.id(8), 'not needed', p_now_ms => 1150)), (SELECT state FROM release_task(pg_temp.id(9), 1, p_now_ms => 1100)), (SELECT result FROM suspend_task(pg_temp.id(10), 1, '{"waitpoints":[{"key":"a"}],"condition":"operator_only"}', p_now_ms => 1100));
SELECT state, count(*), string_agg(right(id::text, 2), ' ' ORDER BY id) FROM tasks GROUP BY state ORDER BY state;
-- BR-1: each order is that of its index.
SELECT o, pg_temp.walk('{}', o, 100) FROM unnest('{created,ended,failed,due,lease,claim,parked}'::text[]) AS o;
SELECT o, s, pg_temp.walk('{}', o, s) FROM unnest('{created,ended,failed,due,lease,claim,parked}'::text[]) AS o, unnest('{1,2}'::int[]) AS s;
SELECT pg_temp.walk('{"queue":"q1"}', 'claim', 1), pg_temp.walk('{"state":"suspended"}', 'parked', 1), pg_temp.walk('{"state":"suspended","queue":"q1"}', 'parked', 1), pg_temp.walk('{"state":"blocked"}', 'parked', 1);
-- Priorities run downwards in the index, so a page may begin in the middle of one.
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(200 + n), 'queue', 'c' || n / 6, 'priority', n % 3, 'available_at_ms', 900 - n)) FROM generate_series(0, 8) AS n), 1000);
SELECT s, pg_temp.walk('{"queue":"c0"}', 'claim', s), pg_temp.walk('{"queue":"c1"}', 'claim', s), pg_temp.walk('{"kind":""}', 'claim', s) FROM unnest('{1,2,100}'::int[]) AS s;
DELETE FROM tasks WHERE queue IN ('c0', 'c1');
-- BR-2: filters.
SELECT f, pg_temp.walk(f, 'created', 100) FROM unnest(ARRAY['{"queue":"q1"}', '{"state":"ready"}', '{"state":["failed","cancelled"]}', '{"kind":"k1","state":"active"}', '{"tags":{"n":"5"}}', '{"worker":"w"}', '{"worker_instance":"i-1"}', '{"created_from_ms":1001}', '{"created_to_ms":1000,"queue":"q2"}', '{"pending_attempt":"initial","state":"ready"}', '{"flow_id":"00000000-0000-4000-8000-000000000001"}',
       '{"payload":{"n":4}}', '{"result":{"r":5}}', '{"failure":{"class":"permanent"}}', '{"failure":{"message":"broken leg"}}', '{"message":"pipe"}', '{"dedup_key":"once"}', '{"flow_key":"x"}', '{"upto":"00000000-0000-4000-8000-000000000003"}']::jsonb[]) AS f;
-- BR-3: what is not known is refused.
SELECT test.error($$SELECT browse_task.browse_tasks('{"line":"q1"}')$$);
SELECT test.error($$SELECT browse_task.browse_tasks('{"state":"x"}')$$);
SELECT test.error($$SELECT browse_task.browse_tasks('{}', 'size')$$);
SELECT test.refused($$SELECT browse_task.browse_tasks(NULL)$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_limit => 0)$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_limit => 1001)$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_scan => 99)$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_scan => 100001)$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_preview => -1)$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_preview => 10001)$$);
-- BR-4: a cursor is refused with another filter, order or function, and if it was touched.
SELECT browse_tasks('{}', p_limit => 2) ->> 'next' AS cursor \gset
SELECT pg_temp.ns(browse_tasks('{}', p_after => :'cursor', p_limit => 3)) AS same, pg_temp.ns(browse_tasks('{}', 'created', :'cursor', 1)) AS the_default_order;
SELECT test.error(format($$SELECT browse_task.browse_tasks('{"queue":"q1"}', p_after => %L)$$, :'cursor'));
SELECT test.refused(format($$SELECT browse_task.browse_tasks('{}', 'ended', %L)$$, :'cursor')), test.refused(format($$SELECT browse_task.browse_instances('{}', p_after => %L)$$, :'cursor')), test.refused(format($$SELECT browse_task.browse_tasks('{}', p_after => %L)$$, overlay(:'cursor' PLACING '00' FROM 21))), test.refused($$SELECT browse_task.browse_tasks('{}', p_after => '')$$), test.refused($$SELECT browse_task.browse_tasks('{}', p_after => 'zz')$$);
-- BR-5: rows that come and go between two pages: the others are shown once.
SELECT browse_tasks('{}', 'ended', p_limit => 2) AS page \gset
SELECT pg_temp.ns(:'page'), delete_task((:'page'::jsonb -> 'rows' -> 1 ->> 'task_id')::uuid);
SELECT pg_temp.ns(browse_tasks('{}', 'ended', :'page'::jsonb ->> 'next')) AS behind_a_row_that_is_gone;
SELECT pg_temp.walk('{}', 'created', 3, $$SELECT browse_task.create_task('new')$$) ~ '^12 11 10 9 7 6 5 4 3 2 1 / 4$' AS only_the_old_ones;
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n), 'queue', 'late')) FROM generate_series(101, 110) AS n), 2000);
SELECT pg_temp.walk('{"queue":"late"}', 'created', 3, $$DELETE FROM browse_task.tasks WHERE id IN (pg_temp.id(108), pg_temp.id(103))$$) AS seen_ones_and_later_ones_deleted;
-- BR-6: the budget: no more rows are looked at, and the search goes on where it stopped.
INSERT INTO tasks SELECT (t).* FROM (SELECT jsonb_populate_record(x, jsonb_build_object('id', pg_temp.id(n), 'queue', 'many', 'state', 'completed', 'terminal_at_ms', 5000, 'available_at_ms', NULL)) AS t FROM tasks AS x, generate_series(1000, 1349) AS n WHERE x.id = pg_temp.id(1)) AS y;
SELECT p -> 'rows' AS rows, p -> 'scanned' AS scanned, p ->> 'next' IS NOT NULL AS goes_on FROM browse_tasks('{"kind":"none"}', p_scan => 100) AS p;
SELECT pg_temp.walk('{"queue":"late"}', 'created', 50, NULL, 100), pg_temp.walk('{"queue":"q1"}', 'created', 2, NULL, 100);
SELECT pg_temp.walk('{"queue":"many"}', 'ended', 100, NULL, 100) ~ '/ 4$' AS ties_over_pages, jsonb_array_length(browse_tasks('{}', 'ended', p_limit => 100, p_scan => 100) -> 'rows') AS rows;
SELECT browse_tasks('{}', p_limit => 3, p_scan => 100) -> 'scanned' AS looked_at_for_a_full_page;
DELETE FROM tasks WHERE queue IN ('many', 'late', 'new');
-- BR-7: bodies are cut at a character, with the full size beside them; large documents are not read.
UPDATE tasks SET payload = to_jsonb('€€€'::text), failure_message = 'a€€', result = to_jsonb(repeat('x', 100000)) WHERE id = pg_temp.id(6);
SELECT n, r -> 'payload' AS payload, r -> 'payload_bytes' AS payload_bytes, r -> 'failure_message' AS message, r -> 'failure_message_bytes' AS message_bytes, r -> 'result' AS result, (r -> 'result_bytes')::int > 100000 AS large
  FROM unnest('{0,3,4,5,6,7,200}'::int[]) AS n, jsonb_array_elements(browse_tasks('{"message":"a€"}', p_preview => n) -> 'rows') AS r;
SELECT jsonb_pretty(r - 'updated_at_ms') FROM jsonb_array_elements(browse_tasks('{"state":"active"}', 'lease', p_limit => 1) -> 'rows') AS r;
-- Level monitor may call it, and cannot read the table.
CREATE ROLE regress_browser; SELECT belay.grant_hub('browse_task', 'regress_browser', 'monitor'); SET ROLE regress_browser;
SELECT pg_temp.ns(browse_tasks('{"state":"failed"}', 'failed')); SELECT test.sqlstate('SELECT * FROM browse_task.tasks'); RESET ROLE;
SELECT belay.revoke_hub('browse_task', 'regress_browser', 'monitor'); SET ROLE regress_browser; SELECT test.sqlstate('SELECT browse_task.browse_tasks()'); RESET ROLE; DROP ROLE regress_browser;
SELECT belay.drop_hub('browse_task', true);
