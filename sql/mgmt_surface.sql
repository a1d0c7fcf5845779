-- What all functions of operators have in common: arguments that are wrong or missing, and transactions in which nothing may be written.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_surface');
SELECT belay.set_hub_option('mgmt_surface', 'max_clock_skew', '0');  -- these tests choose the time
INSERT INTO mgmt_surface.instances VALUES ('i', 'O', '1', 2, NULL, NULL, 0, 'epoch', 'epoch'), ('child', 'O', '1', 1, 'i', NULL, 0, 'epoch', 'epoch');
INSERT INTO mgmt_surface.executions VALUES ('i', 1, 'ContinuedAsNew', NULL, 'epoch', 'epoch'), ('i', 2, 'Completed', NULL, 'epoch', 'epoch'), ('child', 1, 'Completed', NULL, 'epoch', 'epoch');

---- Arguments

-- NULL for an id: those that find nothing for an unknown id find nothing, those that raise refuse it.
SELECT count(*) FROM mgmt_surface.list_executions(NULL);
SELECT count(*) FROM mgmt_surface.list_children(NULL);
SELECT count(*) FROM mgmt_surface.get_instance_info(NULL);
SELECT count(*) FROM mgmt_surface.get_execution_info(NULL, 1);
SELECT count(*) FROM mgmt_surface.get_execution_info('i', NULL);
SELECT count(*) FROM mgmt_surface.get_instance_tree(NULL);
SELECT count(*) FROM mgmt_surface.list_instances_by_status(NULL);
SELECT found FROM mgmt_surface.get_instance_stats(NULL);
SELECT split_part(test.error(s), E'\n', 1) AS error, regexp_replace(test.error(s), '.*\nDETAIL: ([^\n]*)\n.*', '\1') AS detail
  FROM unnest(ARRAY['SELECT mgmt_surface.latest_execution_id(NULL)', 'SELECT mgmt_surface.get_parent_id(NULL)', 'SELECT mgmt_surface.explain_fetch(NULL)', 'SELECT mgmt_surface.delete_instance(NULL)', 'SELECT mgmt_surface.delete_instance(NULL, true)', 'SELECT mgmt_surface.prune_executions(NULL)',
                    'SELECT mgmt_surface.delete_instances_bulk(NULL)', 'SELECT mgmt_surface.prune_executions_bulk(NULL)']) AS s;
-- An id that cannot be is an unknown one: empty, too long, with a newline in it.
SELECT test.expect('QB002', VARIADIC ARRAY(SELECT format('SELECT mgmt_surface.%s(%L)', f, i) FROM unnest('{latest_execution_id,get_parent_id,delete_instance,prune_executions}'::text[]) AS f, unnest(ARRAY['', repeat('x', 5000), E'a\nb']) AS i));
SELECT octet_length(split_part(test.error(format('SELECT mgmt_surface.delete_instance(%L)', repeat('x', 100000))), E'\n', 1)) < 1000 AS message_is_short;
SELECT count(*) FROM unnest(ARRAY['', repeat('x', 5000)]) AS i, LATERAL mgmt_surface.explain_fetch(i);
-- Execution ids that cannot be are unknown ones.
SELECT count(*) FROM unnest('{0,-1,3,9223372036854775807}'::bigint[]) AS e, LATERAL mgmt_surface.get_execution_info('i', e);
-- A page has at least one line.
SELECT split_part(test.error(format('SELECT mgmt_surface.list_instances(p_limit => %s)', n)), E'\nHINT', 1) FROM unnest('{0,-1,-2147483648}'::int[]) AS n;
SELECT count(*) FROM mgmt_surface.list_instances(p_limit => 2147483647);
-- Times at the edge of what can be said are no errors.
SELECT f, b, count(i) FROM unnest('{-9223372036854775808,-1,0,9223372036854775807}'::bigint[]) AS f, unnest('{-9223372036854775808,1,9223372036854775807}'::bigint[]) AS b LEFT JOIN LATERAL mgmt_surface.list_instances(p_created_from_ms => f, p_created_before_ms => b) AS i ON true GROUP BY 1, 2 ORDER BY 1, 2;
-- Lists of ids may have any shape, and holes.
SELECT instances_deleted FROM mgmt_surface.delete_instances_atomic('{{a,b},{NULL,d}}', true);
SELECT instances_deleted FROM mgmt_surface.delete_instances_atomic('[5:6]={NULL,e}', true);
-- The caller's clock: below zero, beyond what a timestamp can hold.
SELECT test.expect('QB006', VARIADIC ARRAY(SELECT format('SELECT mgmt_surface.%s)', format(f, n)) FROM unnest('{get_queue_depths(%s,"explain_fetch(''i'', p_now_ms => %s",reconcile(p_now_ms => %s}'::text[]) AS f, unnest('{-1,-9223372036854775808,9223372036854775807}'::bigint[]) AS n));
SELECT belay.set_hub_option('mgmt_surface', 'max_clock_skew', NULL);
SELECT test.expect('QB007', 'SELECT mgmt_surface.get_queue_depths(1000)', 'SELECT mgmt_surface.explain_fetch(''i'', p_now_ms => 1000)', 'SELECT mgmt_surface.reconcile(p_now_ms => 1000)');
SELECT belay.set_hub_option('mgmt_surface', 'max_clock_skew', '0');

---- Where nothing may be written

CREATE TEMP TABLE calls (call text, writes boolean);
INSERT INTO calls SELECT c, false FROM unnest(ARRAY['list_instances()', 'list_instances(''Running'', ''O'', ''i'', 0, 1000, ''i'', 5)', 'list_instances_by_status(''Running'')', 'list_executions(''i'')', 'latest_execution_id(''i'')', 'get_instance_info(''i'')', 'get_execution_info(''i'', 1)', 'get_instance_stats(''i'')',
    'get_system_metrics()', 'get_queue_depths(1000)', 'list_children(''i'')', 'get_parent_id(''i'')', 'get_instance_tree(''i'')', 'explain_fetch(''i'', p_now_ms => 1000)', 'explain_fetch(''nobody'')']) AS c;
INSERT INTO calls SELECT c, true FROM unnest(ARRAY['delete_instance(''i'')', 'delete_instance(''nobody'')', 'delete_instances_atomic(''{i}'', true)', 'delete_instances_atomic(''{}'', true)', 'delete_instances_bulk(''{}'')', 'delete_instances_bulk(''{"instance_ids":[]}'')', 'prune_executions(''i'')', 'prune_executions(''nobody'')', 'prune_executions_bulk(''{}'')',
    'prune_executions_bulk(''{"instance_ids":[]}'')', 'reconcile()', 'reconcile(''{}'')']) AS c;
-- Reads work in a read-only transaction; every function that might write raises 25006 (CC-10), even if there is nothing to write.
BEGIN READ ONLY;
SELECT * FROM test.expect('no error', VARIADIC ARRAY(SELECT 'SELECT * FROM mgmt_surface.' || call FROM calls WHERE NOT writes));
SELECT * FROM test.expect('25006', VARIADIC ARRAY(SELECT 'SELECT * FROM mgmt_surface.' || call FROM calls WHERE writes));
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT * FROM test.expect('no error', VARIADIC ARRAY(SELECT 'SELECT * FROM mgmt_surface.' || call FROM calls WHERE NOT writes));
COMMIT;
-- A function is volatile if and only if it writes.
SELECT DISTINCT p.proname, p.provolatile FROM calls JOIN pg_proc AS p ON p.pronamespace = 'mgmt_surface'::regnamespace AND p.proname = split_part(call, '(', 1) WHERE (p.provolatile = 'v') <> writes;
-- CC-10: at higher isolation levels they work as well.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM test.expect('no error', VARIADIC ARRAY(SELECT 'SELECT * FROM mgmt_surface.' || call FROM calls WHERE NOT writes));
SELECT * FROM mgmt_surface.prune_executions('i');
SELECT * FROM mgmt_surface.delete_instance('i');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM mgmt_surface.prune_executions_bulk('{}');
SELECT * FROM mgmt_surface.delete_instances_bulk('{}');
SELECT count(*) > 0 AS reconciled FROM mgmt_surface.reconcile(p_now_ms => 1000);
ROLLBACK;
SELECT count(*) FROM mgmt_surface.list_instances();

SELECT belay.drop_hub('mgmt_surface', true);
