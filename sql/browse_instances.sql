-- Pages of instances: orders, filters, cursors, budgets, previews.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET timezone = 'Asia/Kathmandu';
SELECT belay.create_hub('browse_run');
SET search_path = browse_run, public;
CREATE FUNCTION pg_temp.ids(page jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg(r ->> 'instance_id', ' ' ORDER BY o) FROM jsonb_array_elements(page -> 'rows') WITH ORDINALITY AS x(r, o) $$;
CREATE FUNCTION pg_temp.walk(filter jsonb, by text, size int, change text DEFAULT NULL, scan int DEFAULT 10000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE page jsonb; at text; all_ids text := ''; pages int := 0;
BEGIN
    LOOP
        page := browse_instances(filter, by, at, size, scan);
        all_ids := concat_ws(' ', nullif(all_ids, ''), pg_temp.ids(page)); pages := pages + 1; at := page ->> 'next';
        EXIT WHEN at IS NULL;
        IF change IS NOT NULL THEN EXECUTE change; END IF;
    END LOOP;
    RETURN all_ids || ' / ' || pages;
END $$;
SELECT browse_instances();
-- a has ended, b failed, c runs, d was continued as new and has ended, e failed, f has no execution.
INSERT INTO instances (instance_id, orchestration_name, orchestration_version, current_execution_id, parent_instance_id, custom_status, custom_status_version, created_at, updated_at)
VALUES ('a', 'Bill', '1.0.0', 1, NULL, 'half way', 1, to_timestamp(1), to_timestamp(9)), ('b', 'Bill', '1.1.0', 1, 'a', NULL, 0, to_timestamp(2), to_timestamp(9)), ('c', 'Ship', '1.0.0', 1, 'a', NULL, 0, to_timestamp(3), to_timestamp(9)),
       ('d', 'Ship', NULL, 2, NULL, NULL, 0, to_timestamp(4.001), to_timestamp(9)), ('e', 'Bill', '1.0.0', 1, NULL, NULL, 0, to_timestamp(5), to_timestamp(9)), ('f', 'Bill', '1.0.0', 1, NULL, NULL, 0, to_timestamp(5), to_timestamp(9));
INSERT INTO executions (instance_id, execution_id, status, output, started_at, completed_at)
VALUES ('a', 1, 'Completed', '"€€"', to_timestamp(1), to_timestamp(20)), ('b', 1, 'Failed', 'no such order', to_timestamp(2), to_timestamp(12)), ('c', 1, 'Running', NULL, to_timestamp(3), NULL),
       ('d', 1, 'ContinuedAsNew', 'x', to_timestamp(4), to_timestamp(14)), ('d', 2, 'Completed', 'y', to_timestamp(14), to_timestamp(15)), ('e', 1, 'Failed', 'lost', to_timestamp(5), to_timestamp(11));
INSERT INTO history_turns (instance_id, execution_id, first_event_id, last_event_id, event_types, event_data, created_at) VALUES ('a', 1, 1, 2, '{OrchestrationStarted,T}', ARRAY['{"input":"order 7"}', 'order 8'], to_timestamp(1)), ('b', 1, 1, 1, '{OrchestrationStarted}', ARRAY['{"input":"order 8"}'], to_timestamp(2));
-- BR-1: each order is that of its index, in pages of any size.
SELECT o, pg_temp.walk('{}', o, 100), pg_temp.walk('{}', o, 1), pg_temp.walk('{}', o, 2) FROM unnest('{created,ended,failed,running}'::text[]) AS o;
-- BR-2: filters.
SELECT f, pg_temp.walk(f, 'created', 100) FROM unnest(ARRAY['{"status":"Failed"}', '{"status":["Running","Completed"]}', '{"name":"Ship"}', '{"version":"1.0.0"}', '{"prefix":"b"}', '{"parent_id":"a"}', '{"created_from_ms":4000}', '{"created_to_ms":2000}', '{"created_to_ms":4001,"created_from_ms":4001}', '{"output":"order"}', '{"input":"order 8"}', '{"upto_ms":3000}']::jsonb[]) AS f;
SELECT pg_temp.walk('{"name":"Bill"}', 'ended', 100), pg_temp.walk('{"version":"1.1.0"}', 'failed', 100), pg_temp.walk('{"name":"Bill"}', 'running', 100);
-- BR-3, BR-4: what is not known is refused, and a cursor of another list.
SELECT test.error($$SELECT browse_run.browse_instances('{"state":"x"}')$$); SELECT test.error($$SELECT browse_run.browse_instances('{"status":"x"}')$$); SELECT test.refused($$SELECT browse_run.browse_instances('{}', 'due')$$);
SELECT test.refused(format($$SELECT browse_run.browse_instances('{"name":"Bill"}', p_after => %L)$$, browse_instances(p_limit => 1) ->> 'next'));
-- BR-5: rows that come and go between two pages.
BEGIN;
SELECT pg_temp.walk('{}', 'created', 2, $$INSERT INTO browse_run.instances SELECT 'new' || random(), 'N', NULL, 1, NULL, NULL, 0, to_timestamp(100), to_timestamp(100)$$) AS only_the_old_ones, pg_temp.walk('{}', 'created', 2, $$DELETE FROM browse_run.instances WHERE instance_id IN ('e', 'f', 'b')$$) ~ ' d c a / ' AS those_that_stay;
ROLLBACK;
-- BR-6: the budget.
INSERT INTO instances SELECT 'many' || n, 'Many', NULL, 1, NULL, NULL, 0, to_timestamp(50), to_timestamp(50) FROM generate_series(1, 250) AS n;
SELECT p -> 'rows' AS rows, p -> 'scanned' AS scanned, p ->> 'next' IS NOT NULL AS goes_on FROM browse_instances('{"name":"Bill"}', p_scan => 100) AS p;
SELECT pg_temp.walk('{"name":"Bill"}', 'created', 50, NULL, 100);
-- BR-7: previews, and times in ms in any time zone.
SELECT n, r -> 'output' AS output, r -> 'output_bytes' AS bytes, r -> 'custom_status' AS status FROM unnest('{2,4,8,200}'::int[]) AS n, jsonb_array_elements(browse_instances('{"prefix":"a"}', p_preview => n) -> 'rows') AS r;
SELECT jsonb_pretty(browse_instances('{"prefix":"d"}') -> 'rows');
RESET timezone;
SELECT belay.drop_hub('browse_run', true);
