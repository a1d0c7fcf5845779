-- The front door for orchestrations, and the procedures that wait: start, raise, terminate, await, await_result.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;  -- waits of a server without preloading say once that they poll
SELECT belay.create_hub('front_runs');
SET search_path = front_runs, public;
-- start returns the id of the instance: the one given, or a new uuid. raise and terminate send it messages.
SELECT start('Order', '{"item": 7}', 'order-1', '1.0.0');
SELECT start('Order') ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7' AS is_uuid;
SELECT raise('order-1', 'paid', '{"by": "ada"}');
SELECT raise('order-1', 'note');
SELECT terminate('order-1', 'out of stock');
SELECT kind, work_item FROM (SELECT (SELECT k FROM json_object_keys(work_item::json) AS k) AS kind, work_item, id FROM orchestrator_queue WHERE instance_id = 'order-1') AS m ORDER BY id;
-- A turn of a runtime ends the instance: terminate then says that there is nothing to end.
SELECT instance_id, orchestration_name, lock_token AS token FROM fetch_orchestration_item(30000) \gset
SELECT ack_orchestration_item(:'token', 1, '[]', '[]', '[]', '{"orchestration_name":"Order","orchestration_version":"1.0.0","status":"Completed","output":"{\"ok\": true}"}');
SELECT terminate('order-1');
-- await returns at once if a task is ready, names the queue, and holds nothing.
CALL await('mail', '0 s');
SELECT send('mail', '{"to": "ada"}') AS task \gset
CALL await('mail');
CALL await('{sms,mail}'::text[], '1 min');
CALL await(ARRAY['sms'], timeout => '1 ms');
-- await_result of a task: at the timeout it tells the present state.
CALL await_result(:'task'::uuid, '0 s');
SELECT complete(lease, '{"sent": true}') FROM receive('mail');
CALL await_result(:'task'::uuid);
-- A text is the id of an orchestration, or else of a task, so that drivers need no cast.
CALL await_result('order-1');
CALL await_result(:'task', timeout => '1 s');
-- One that is started and has had no turn yet is running. An output that is no JSON is a JSON string.
SELECT start('Order', id => 'order-2');
CALL await_result('order-2', '10 ms');
SELECT instance_id, lock_token AS token FROM fetch_orchestration_item(30000) \gset
SELECT ack_orchestration_item(:'token', 1, '[]', '[]', '[]', '{"orchestration_name":"Order","orchestration_version":"1.0.0","status":"Failed","output":"no stock"}');
SELECT instance_id, lock_token AS token FROM fetch_orchestration_item(30000) \gset
SELECT ack_orchestration_item(:'token', 1, '[]', '[]', '[]', '{"orchestration_name":"Order","orchestration_version":"1.0.0","status":"Failed","output":"no stock"}');
CALL await_result('order-2');
-- One that continues as new has not ended.
SELECT start('Loop', id => 'loop') \g /dev/null
SELECT lock_token AS token FROM fetch_orchestration_item(30000) \gset
SELECT ack_orchestration_item(:'token', 1, '[]', '[]', '[{"ContinueAsNew":{"instance":"loop","orchestration":"Loop"}}]', '{"orchestration_name":"Loop","orchestration_version":"1","status":"ContinuedAsNew","output":"next"}') \g /dev/null
CALL await_result('loop', '0 s');
SELECT terminate('loop');
-- What cannot be waited for.
\set VERBOSITY default
CALL await(NULL::text);
CALL await('{}'::text[]);
CALL await('{a,b}');
CALL await('mail', NULL);
CALL await('mail', '-1 s');
CALL await('');
CALL await(repeat('q', 1048576));
CALL await('mail', '102 years');
CALL await('mail', 'soon');
CALL await_result(repeat('i', 1048576));
CALL await_result('order-1', '-1 s');
SELECT array_agg('q' || n) AS many FROM generate_series(1, 257) AS n \gset
CALL await(:'many'::text[]);
CALL await_result(NULL::uuid);
CALL await_result(NULL::text);
CALL await_result('');
CALL await_result('order-1', NULL);
CALL await_result('nobody');
CALL await_result('00000000-0000-4000-8000-000000000001'::uuid);
CALL await_result('00000000-0000-4000-8000-000000000001');
BEGIN;
CALL await('mail');
ROLLBACK;
BEGIN;
CALL await_result('order-1');
ROLLBACK;
\set VERBOSITY terse
SELECT belay.drop_hub('front_runs', p_force => true);
