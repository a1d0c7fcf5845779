-- Lists and single instances: what an operator sees of instances, executions and their trees.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_list');
SELECT belay.set_hub_option('mgmt_list', 'max_clock_skew', '0');  -- these tests choose the time

-- One turn of an instance: started, fetched and acked. Its start is older than all other messages, so the fetch brings it.
CREATE PROCEDURE pg_temp.turn(instance text, now_ms bigint, status text DEFAULT NULL, parent text DEFAULT NULL, name text DEFAULT 'O', version text DEFAULT '1', output text DEFAULT NULL, execution bigint DEFAULT 1, events int DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
    turn record;
BEGIN
    PERFORM mgmt_list.start_orchestration('O', '', instance, '1', 0, 1);
    SELECT * INTO STRICT turn FROM mgmt_list.fetch_orchestration_item(1000, p_now_ms => now_ms);
    ASSERT turn.instance_id = instance;
    PERFORM mgmt_list.ack_orchestration_item(turn.lock_token, execution, (SELECT jsonb_agg(jsonb_build_object('event_id', e, 'event_type', 'T', 'event_data', '{"type":"T"}')) FROM generate_series(1, events) AS e), '[]', '[]',
        jsonb_build_object('orchestration_name', name, 'orchestration_version', version, 'status', status, 'parent_instance_id', parent, 'output', output), p_now_ms => now_ms);
END $$;
-- The ids that a call gives, in its order.
CREATE FUNCTION pg_temp.ids(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    EXECUTE format('SELECT string_agg(x::text, '' '' ORDER BY nr) FROM ROWS FROM (mgmt_list.%s) WITH ORDINALITY AS t (x, nr)', statement) INTO found;
    RETURN coalesce(found, 'none');
END $$;
-- The ids of all pages, pages set apart; each page asks for what comes after the last id of the page before.
CREATE FUNCTION pg_temp.pages(size int, filter text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    after_id text;
    page text;
    pages text;
BEGIN
    LOOP
        page := pg_temp.ids(format('list_instances(%sp_after => %L, p_limit => %s)', filter, after_id, size));
        EXIT WHEN page = 'none';
        pages := concat_ws(' | ', pages, page);
        after_id := reverse(split_part(reverse(page), ' ', 1));
    END LOOP;
    RETURN pages;
END $$;

---- An empty hub

SELECT pg_temp.ids('list_instances()') AS all, pg_temp.ids('list_instances_by_status(''Running'')') AS running, pg_temp.ids('list_executions(''x'')') AS executions, pg_temp.ids('list_children(''x'')') AS children;
SELECT count(*) FROM mgmt_list.get_instance_info('x');
SELECT count(*) FROM mgmt_list.get_execution_info('x', 1);
SELECT count(*) FROM mgmt_list.get_instance_tree('x');
SELECT * FROM mgmt_list.get_system_metrics();
SELECT * FROM mgmt_list.get_queue_depths(1000);
SELECT * FROM mgmt_list.get_instance_stats('x');
SELECT test.error($$SELECT mgmt_list.latest_execution_id('x')$$);
SELECT test.error($$SELECT mgmt_list.get_parent_id('x')$$);

---- list_instances

-- Newest first: created_at, then id, both descending: b, c and a are of the same time; d is newest though its id is not; e has no execution row.
CALL pg_temp.turn('b', 2000, 'Completed');
CALL pg_temp.turn('c', 2000, 'Failed', name => 'P');
CALL pg_temp.turn('a', 2000, name => 'P');
CALL pg_temp.turn('ab', 1000, 'ContinuedAsNew');
CALL pg_temp.turn('d', 3000, name => 'p');
INSERT INTO mgmt_list.instances VALUES ('e', 'O', NULL, 1, NULL, NULL, 0, to_timestamp(2.5), to_timestamp(2.5));
-- What is no instance is not listed: a message, an execution or history alone (principles 9, 10).
SELECT mgmt_list.start_orchestration('O', '', 'unborn', '1', 0, 5000), mgmt_list.append_history('bare', 1, '[{"event_id":1,"event_data":"{}"}]');
SELECT pg_temp.ids('list_instances()');
-- p_status: of the current execution; one without a row runs. A word that is no status finds nothing.
SELECT s, pg_temp.ids(format('list_instances(p_status => %L)', s)) AS by_argument, pg_temp.ids(format('list_instances_by_status(%L)', s)) AS by_function
  FROM unnest('{Running,Completed,Failed,ContinuedAsNew,running,Cancelled,""}'::text[]) AS s;
SELECT pg_temp.ids('list_instances_by_status(NULL)');
-- The status of another execution counts for nothing, even of a later one.
INSERT INTO mgmt_list.executions VALUES ('d', 7, 'Failed', NULL, now(), now());
SELECT pg_temp.ids('list_instances_by_status(''Failed'')');
DELETE FROM mgmt_list.executions WHERE execution_id = 7;
-- p_name: exact.
SELECT n, pg_temp.ids(format('list_instances(p_name => %L)', n)) FROM unnest('{O,P,p,"",Q}'::text[]) AS n;
-- p_prefix: literally; the empty text is a prefix of all.
CALL pg_temp.turn('50%', 1500);
CALL pg_temp.turn('50x', 1500);
CALL pg_temp.turn('a_b', 1500);
CALL pg_temp.turn('a\b', 1500);
CALL pg_temp.turn('axb', 1500);
CALL pg_temp.turn(E'\u00e9\u00e9', 1500);
SELECT p, pg_temp.ids(format('list_instances(p_prefix => %L)', p)) FROM unnest(ARRAY['a', 'ab', 'a_', 'a%', '50%', '50', 'a\', '%', '_', '', 'A', 'axbx', E'\u00e9']) AS p;
-- p_created_from_ms, p_created_before_ms: from is in, before is out.
SELECT f, b, pg_temp.ids(format('list_instances(p_created_from_ms => %L, p_created_before_ms => %L)', f, b))
  FROM (VALUES (1500, 2000), (2000, NULL), (2001, NULL), (NULL, 1500), (NULL, 1501), (2000, 2000), (3000, 2000), (2000, 2501), (-5, 1001)) AS v (f, b);
-- All with AND.
SELECT pg_temp.ids($$list_instances('Running', 'P', 'a', 2000, 2001)$$) AS found, pg_temp.ids($$list_instances('Failed', 'P', 'a', 2000, 2001)$$) AS status, pg_temp.ids($$list_instances('Running', 'O', 'a', 2000, 2001)$$) AS name,
       pg_temp.ids($$list_instances('Running', 'P', 'c', 2000, 2001)$$) AS prefix, pg_temp.ids($$list_instances('Running', 'P', 'a', 2001, 2001)$$) AS from_ms, pg_temp.ids($$list_instances('Running', 'P', 'a', 1000, 2000)$$) AS before_ms;
-- p_limit, p_after: pages of every size give all, once, in the same order, across the ties too; with a filter likewise.
SELECT size, pg_temp.pages(size) FROM unnest('{1,2,3,100}'::int[]) AS size;
SELECT pg_temp.pages(2, 'p_status => ''Running'', '), pg_temp.pages(1, 'p_name => ''P'', '), pg_temp.pages(1, 'p_prefix => ''a'', p_created_from_ms => 1500, ');
-- p_after names a place; that instance itself need not pass the filter.
SELECT pg_temp.ids('list_instances(p_status => ''Running'', p_after => ''c'')'), pg_temp.ids('list_instances(p_after => ''ab'')');
-- With p_created_before_ms the lesser of the two places counts.
SELECT b, pg_temp.ids(format('list_instances(p_created_before_ms => %s, p_after => ''b'')', b)) FROM unnest('{1500,2000,2001,9000}'::int[]) AS b;
-- It must exist: begin again, or page by time.
SELECT test.error($$SELECT mgmt_list.list_instances(p_after => 'gone')$$);
SELECT test.error($$SELECT mgmt_list.list_instances(p_after => 'unborn')$$);
-- Instances born between two pages do not disturb the next one.
CALL pg_temp.turn('new', 9000);
SELECT pg_temp.ids('list_instances(p_after => ''d'', p_limit => 2)');

---- Executions

-- In ascending order; no instance row is needed.
INSERT INTO mgmt_list.executions SELECT 'many', e, 'ContinuedAsNew', NULL, to_timestamp(1), to_timestamp(2) FROM unnest('{10,9,2,100}'::bigint[]) AS e;
SELECT pg_temp.ids('list_executions(''many'')'), mgmt_list.latest_execution_id('many'), pg_temp.ids('list_executions(''bare'')'), mgmt_list.latest_execution_id('bare');
-- The greatest in executions, not the current one; an instance without an execution row is not found.
INSERT INTO mgmt_list.executions VALUES ('d', 5, 'Running', NULL, to_timestamp(1), NULL);
SELECT mgmt_list.latest_execution_id('d'), current_execution_id FROM mgmt_list.get_instance_info('d');
DELETE FROM mgmt_list.executions WHERE instance_id = 'd' AND execution_id = 5;
SELECT test.error($$SELECT mgmt_list.latest_execution_id('e')$$);

-- get_instance_info: status and output of the current execution.
CALL pg_temp.turn('full', 4000, 'ContinuedAsNew', 'd', 'Name', '2', 'first', 1, 2);
SELECT instance_id, orchestration_name, orchestration_version, current_execution_id, created_at = to_timestamp(4) AS created, updated_at = to_timestamp(4) AS updated, status, output, parent_instance_id FROM mgmt_list.get_instance_info('full') \gx
CALL pg_temp.turn('full', 4500, 'Failed', 'd', 'Name', '2', 'second', 2, 3);
SELECT current_execution_id, created_at = to_timestamp(4) AS created, updated_at = to_timestamp(4.5) AS updated, status, output FROM mgmt_list.get_instance_info('full');
-- A version that is NULL is unknown; no execution row is Running.
SELECT orchestration_version, status, output IS NULL AS no_output, parent_instance_id IS NULL AS no_parent FROM mgmt_list.get_instance_info('e');
-- get_execution_info: each execution its own, without an instance row too. event_count counts the stored events.
SELECT execution_id, status, output, started_at = to_timestamp(4) AS started, completed_at = to_timestamp(4) AS completed, event_count FROM mgmt_list.get_execution_info('full', 1);
SELECT execution_id, status, output, started_at = to_timestamp(4.5) AS started, completed_at = to_timestamp(4.5) AS completed, event_count FROM mgmt_list.get_execution_info('full', 2);
SELECT execution_id, status, output IS NULL AS no_output, completed_at IS NULL AS not_completed, event_count FROM mgmt_list.get_execution_info('bare', 1);
SELECT count(*) FROM mgmt_list.get_execution_info('full', 3);
SELECT count(*) FROM mgmt_list.get_execution_info('e', 1);

---- Totals

-- ContinuedAsNew counts in the total only; what runs is counted by the current execution, one without a row included.
SELECT * FROM mgmt_list.get_system_metrics();
SELECT (SELECT count(*) FROM mgmt_list.instances) AS instances, (SELECT count(*) FROM mgmt_list.executions) AS executions,
       array_length(string_to_array(pg_temp.ids('list_instances_by_status(''Running'')'), ' '), 1) AS running, array_length(string_to_array(pg_temp.ids('list_instances_by_status(''ContinuedAsNew'')'), ' '), 1) AS continued, (SELECT count(*) FROM mgmt_list.history) AS events;
-- An ack that is refused (QB005) adds no events, one that is acked does, and so does append_history.
SELECT mgmt_list.raise_event('full', 'go', '', false, 1);
SELECT lock_token AS token FROM mgmt_list.fetch_orchestration_item(1000, p_now_ms => 5000) \gset
SELECT test.sqlstate(format('SELECT mgmt_list.ack_orchestration_item(%L, 2, ''[{"event_id":9,"event_data":"{}"}, {"event_id":1,"event_data":"{}"}]'', ''[]'', ''[]'', ''{}'', p_now_ms => 5000)', :'token')),
       test.sqlstate($$SELECT mgmt_list.append_history('full', 2, '[{"event_id":9,"event_data":"{}"}, {"event_id":1,"event_data":"{}"}]')$$);
SELECT total_events - (SELECT count(*) FROM mgmt_list.history) AS difference FROM mgmt_list.get_system_metrics();
SELECT mgmt_list.ack_orchestration_item(:'token', 2, '[{"event_id":9,"event_data":"{}"}]', '[]', '[]', '{}', p_now_ms => 5000), mgmt_list.append_history('full', 1, '[{"event_id":9,"event_data":"{}"}]'), mgmt_list.append_history('new bare', 3, '[{"event_id":9,"event_data":"{}"}]');
SELECT total_events - (SELECT count(*) FROM mgmt_list.history) AS difference FROM mgmt_list.get_system_metrics();
-- Of more than 10,000 turns they are estimated: those that came since the last ANALYZE are not read.
BEGIN;
INSERT INTO mgmt_list.history_turns SELECT 1, n * 2 - 1, n * 2, 'epoch', 'estimated', ARRAY['T', 'T'], ARRAY['{"n":1}', '{"n":2}'] FROM generate_series(1, 10500) AS n;
ANALYZE mgmt_list.history_turns;
INSERT INTO mgmt_list.history_turns SELECT 2, n, n, 'epoch', 'estimated', ARRAY['T'], ARRAY['{}'] FROM generate_series(1, 1000) AS n;
SELECT total_instances = (SELECT count(*) FROM mgmt_list.instances) AS counted, total_events BETWEEN 20500 AND 21500 AS estimated FROM mgmt_list.get_system_metrics();
ROLLBACK;

---- Trees

CALL pg_temp.turn('root', 6000);
CALL pg_temp.turn('root::2', 6001, parent => 'root');
CALL pg_temp.turn('root::1', 6002, parent => 'root', status => 'Completed');
CALL pg_temp.turn('leaf', 6003, parent => 'root::2');
CALL pg_temp.turn('a leaf', 6004, parent => 'root::1');
-- Direct children only. An instance without a parent, a leaf, an unknown id: no rows, no error.
SELECT i, pg_temp.ids(format('list_children(%L)', i)) FROM unnest('{root,root::2,leaf,gone}'::text[]) AS i;
-- The parent; NULL for an instance without one, QB002 for none at all.
SELECT mgmt_list.get_parent_id('leaf'), mgmt_list.get_parent_id('root::1'), mgmt_list.get_parent_id('root') IS NULL AS root_has_none;
-- A parent that is gone is told all the same.
INSERT INTO mgmt_list.instances VALUES ('orphan', 'O', '1', 1, 'gone', NULL, 0, now(), now());
SELECT mgmt_list.get_parent_id('orphan'), pg_temp.ids('list_children(''gone'')');
-- The instance and all its descendants, parents before children, each once.
SELECT * FROM mgmt_list.get_instance_tree('root');
SELECT * FROM mgmt_list.get_instance_tree('root::2');
SELECT * FROM mgmt_list.get_instance_tree('leaf');
SELECT * FROM mgmt_list.get_instance_tree('gone');
-- Cycles do not come about by acks (I10); a walk ends all the same, wherever it begins.
UPDATE mgmt_list.instances SET parent_instance_id = 'leaf' WHERE instance_id = 'root';
SELECT * FROM mgmt_list.get_instance_tree('root');
SELECT * FROM mgmt_list.get_instance_tree('leaf');
SELECT count(*), count(DISTINCT instance_id) FROM mgmt_list.get_instance_tree('root::2');
UPDATE mgmt_list.instances SET parent_instance_id = 'leaf' WHERE instance_id = 'leaf';
SELECT * FROM mgmt_list.get_instance_tree('leaf');
SELECT pg_temp.ids('list_children(''leaf'')');

SELECT belay.drop_hub('mgmt_list', true);
