-- serial: changes rights on the database
-- Api duroxide-pg: an unchanged application (CP-1), from its start-up to the end of its orchestrations. The statements, the types of their
-- parameters and the shapes of their JSON are those of crate 0.1.33. Each call is a prepared statement, as in the application.
\set VERBOSITY terse
\set SHOW_CONTEXT never
CALL test.create_owner('regress_belay_aa_owner');
SET ROLE regress_belay_aa_owner;
SELECT belay.create_hub('api_application', p_api => 'duroxide-pg');
SELECT belay.set_hub_option('api_application', 'max_clock_skew', '0');  -- these tests choose the time

-- CP-2: the application's role does not own the hub. It has two levels, and CREATE on the schema and the database.
RESET ROLE;
CREATE ROLE regress_belay_aa_app;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_belay_aa_app', current_database()) \gexec
SET ROLE regress_belay_aa_owner;
SELECT belay.grant_hub('api_application', 'regress_belay_aa_app', 'worker');
SELECT belay.grant_hub('api_application', 'regress_belay_aa_app', 'operator');
GRANT CREATE ON SCHEMA api_application TO regress_belay_aa_app;
RESET ROLE;
SET ROLE regress_belay_aa_app;

---- Start-up

-- It looks for its schema, its ledger and its tables, and has nothing to apply.
PREPARE lock_for_migrations(bigint) AS SELECT pg_advisory_lock($1);
PREPARE unlock_for_migrations(bigint) AS SELECT pg_advisory_unlock($1);
PREPARE applied_versions AS SELECT version FROM api_application._duroxide_migrations ORDER BY version;
PREPARE check_tables_exist(text) AS SELECT EXISTS(SELECT 1 FROM information_schema.tables WHERE table_schema = $1 AND table_name = 'instances');
EXECUTE lock_for_migrations(7138781004118851161);
CREATE SCHEMA IF NOT EXISTS api_application;
CREATE TABLE IF NOT EXISTS api_application._duroxide_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP);
EXECUTE applied_versions;
EXECUTE check_tables_exist('api_application');
EXECUTE unlock_for_migrations(7138781004118851161);

---- Its statements

PREPARE enqueue_for_orchestrator(text, text, timestamptz, text, text, bigint) AS SELECT api_application.enqueue_orchestrator_work($1, $2, $3, $4, $5, $6);
PREPARE fetch_orchestration_item(bigint, bigint, bigint, bigint) AS SELECT * FROM api_application.fetch_orchestration_item($1, $2, $3, $4);
PREPARE ack_orchestration_item(text, bigint, bigint, jsonb, jsonb, jsonb, jsonb, jsonb) AS SELECT api_application.ack_orchestration_item($1, $2, $3, $4, $5, $6, $7, $8);
PREPARE abandon_orchestration_item(text, bigint, bigint, boolean) AS SELECT api_application.abandon_orchestration_item($1, $2, $3, $4);
PREPARE renew_orchestration_item_lock(text, bigint, bigint) AS SELECT api_application.renew_orchestration_item_lock($1, $2, $3);
PREPARE read(text) AS SELECT out_event_data FROM api_application.fetch_history($1);
PREPARE read_with_execution(text, bigint) AS SELECT event_data FROM api_application.history WHERE instance_id = $1 AND execution_id = $2 ORDER BY event_id;
PREPARE append_with_execution(text, bigint, jsonb) AS SELECT api_application.append_history($1, $2, $3);
PREPARE enqueue_for_worker(text, bigint, text, bigint, bigint, text, text) AS SELECT api_application.enqueue_worker_work($1, $2, $3, $4, $5, $6, $7);
PREPARE fetch_work_item(bigint, bigint, text, bigint, text[], text) AS SELECT * FROM api_application.fetch_work_item($1, $2, $3, $4, $5, $6);
PREPARE ack_work_item(text, text, text, bigint) AS SELECT api_application.ack_worker($1, $2, $3, $4);
PREPARE ack_without_completion(text, bigint) AS SELECT api_application.ack_worker($1, NULL, NULL, $2);
PREPARE renew_work_item_lock(text, bigint, bigint) AS SELECT api_application.renew_work_item_lock($1, $2, $3);
PREPARE abandon_work_item(text, bigint, bigint, boolean) AS SELECT api_application.abandon_work_item($1, $2, $3, $4);
PREPARE renew_session_lock(text[], bigint, bigint, bigint) AS SELECT api_application.renew_session_lock($1, $2, $3, $4);
PREPARE cleanup_orphaned_sessions(bigint) AS SELECT api_application.cleanup_orphaned_sessions($1);
PREPARE get_custom_status(text, bigint) AS SELECT * FROM api_application.get_custom_status($1, $2);
PREPARE get_kv_value(text, text) AS SELECT * FROM api_application.get_kv_value($1, $2);
PREPARE get_kv_all_values(text) AS SELECT * FROM api_application.get_kv_all_values($1);
PREPARE get_instance_stats(text) AS SELECT * FROM api_application.get_instance_stats($1);
PREPARE list_instances AS SELECT instance_id FROM api_application.list_instances();
PREPARE list_instances_by_status(text) AS SELECT instance_id FROM api_application.list_instances_by_status($1);
PREPARE list_executions(text) AS SELECT execution_id FROM api_application.list_executions($1);
PREPARE read_history_with_execution_id(text, bigint) AS SELECT out_event_data FROM api_application.fetch_history_with_execution($1, $2);
PREPARE latest_execution_id(text) AS SELECT api_application.latest_execution_id($1);
PREPARE get_instance_info(text) AS SELECT * FROM api_application.get_instance_info($1);
PREPARE get_execution_info(text, bigint) AS SELECT * FROM api_application.get_execution_info($1, $2);
PREPARE get_system_metrics AS SELECT * FROM api_application.get_system_metrics();
PREPARE get_queue_depths(bigint) AS SELECT * FROM api_application.get_queue_depths($1);
PREPARE list_children(text) AS SELECT child_instance_id FROM api_application.list_children($1);
PREPARE get_parent_id(text) AS SELECT api_application.get_parent_id($1);
PREPARE delete_instances_atomic(text[], boolean) AS SELECT * FROM api_application.delete_instances_atomic($1, $2);
PREPARE prune_executions(text, integer, bigint) AS SELECT * FROM api_application.prune_executions($1, $2, $3);
-- Its bulk deletion and bulk pruning choose instances themselves (CP-5): by ids, by time and with a limit.
PREPARE bulk_delete(text, text, bigint, bigint) AS
    SELECT i.instance_id FROM api_application.instances i
      LEFT JOIN api_application.executions e ON i.instance_id = e.instance_id AND i.current_execution_id = e.execution_id
     WHERE i.parent_instance_id IS NULL AND e.status IN ('Completed', 'Failed', 'ContinuedAsNew')
       AND i.instance_id IN ($1, $2) AND e.completed_at < TO_TIMESTAMP($3 / 1000.0) LIMIT $4;
PREPARE bulk_prune(bigint, bigint) AS
    SELECT i.instance_id FROM api_application.instances i
      LEFT JOIN api_application.executions e ON i.instance_id = e.instance_id AND i.current_execution_id = e.execution_id
     WHERE 1=1 AND e.completed_at < TO_TIMESTAMP($1 / 1000.0) LIMIT $2;

-- Its JSON. An element of a history delta holds the event as a text; the type beside it is always the same word.
CREATE FUNCTION pg_temp.event(instance text, execution bigint, id bigint, type text, fields jsonb DEFAULT '{}', source bigint DEFAULT NULL) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('event_id', id, 'event_type', 'Event', 'event_data', (jsonb_build_object('event_id', id, 'source_event_id', source,
        'instance_id', instance, 'execution_id', execution, 'timestamp_ms', 1800000000000, 'type', type, 'duroxide_version', '0.1.30') || fields)::text)
$$;
-- Its metadata has every field, and the custom status and the key/value changes of the delta ready-made (CP-6).
CREATE FUNCTION pg_temp.metadata(name text DEFAULT NULL, version text DEFAULT NULL, status text DEFAULT NULL, output text DEFAULT NULL, parent text DEFAULT NULL, pin jsonb DEFAULT NULL,
    custom_status_action text DEFAULT NULL, custom_status_value text DEFAULT NULL, kv_mutations jsonb DEFAULT '[]') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('orchestration_name', name, 'orchestration_version', version, 'status', status, 'output', output, 'parent_instance_id', parent,
        'pinned_duroxide_version', pin, 'custom_status_action', custom_status_action, 'custom_status_value', custom_status_value, 'kv_mutations', kv_mutations)
$$;
-- What a fetch of a turn brought: the token is in turn_out_lock_token.
\set show_turn 'SELECT :\'turn_out_instance_id\' AS instance, :\'turn_out_orchestration_name\' AS name, :\'turn_out_orchestration_version\' AS version, :turn_out_execution_id AS execution, (SELECT count(*) FROM jsonb_array_elements(:\'turn_out_history\'::jsonb)) AS events, (SELECT string_agg(k, \', \' ORDER BY nr) FROM jsonb_array_elements(:\'turn_out_messages\'::jsonb) WITH ORDINALITY AS m (m, nr), jsonb_object_keys(m) AS k) AS messages, :turn_out_attempt_count AS attempt, :\'turn_out_kv_snapshot\'::jsonb AS kv;'

---- The first turn

EXECUTE fetch_orchestration_item(1000, 5000, 0, 1030);
EXECUTE enqueue_for_orchestrator('ord-7', '{"StartOrchestration":{"instance":"ord-7","orchestration":"Bill","input":"{}","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}}',
    to_timestamp(1), NULL, NULL, NULL);
EXECUTE fetch_orchestration_item(1000, 5000, 0, 1030) \gset turn_
:show_turn
SELECT :'turn_out_history'::jsonb AS history, :'turn_out_messages'::jsonb AS messages;
-- The instance is leased: no other session gets it, a renewal keeps it.
EXECUTE fetch_orchestration_item(1000, 5000, 0, 1030);
EXECUTE renew_orchestration_item_lock(:'turn_out_lock_token', 5900, 5);
EXECUTE fetch_orchestration_item(6100, 5000, 0, 1030);
-- The ack: an activity with a session and a tag, one without, a timer, a child, the custom status, two keys; pinned to 0.1.30.
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 6200, 1,
    jsonb_build_array(
        pg_temp.event('ord-7', 1, 1, 'OrchestrationStarted', '{"name":"Bill","version":"1.0.0","input":"{}","parent_instance":null,"parent_id":null}'),
        pg_temp.event('ord-7', 1, 2, 'ActivityScheduled', '{"name":"Charge","input":"9","session_id":"s1","tag":"gpu"}'),
        pg_temp.event('ord-7', 1, 3, 'ActivityScheduled', '{"name":"Mail","input":"x"}'),
        pg_temp.event('ord-7', 1, 4, 'TimerCreated', '{"fire_at_ms":20000}'),
        pg_temp.event('ord-7', 1, 5, 'SubOrchestrationScheduled', '{"name":"Ship","instance":"ord-7::sub::5","input":"7"}'),
        pg_temp.event('ord-7', 1, 6, 'CustomStatusUpdated', '{"status":"charging"}'),
        pg_temp.event('ord-7', 1, 7, 'KeyValueSet', '{"key":"k","value":"v","last_updated_at_ms":6200}'),
        pg_temp.event('ord-7', 1, 8, 'KeyValueSet', '{"key":"gone","value":"","last_updated_at_ms":6200}'),
        pg_temp.event('ord-7', 1, 9, 'KeyValueCleared', '{"key":"gone"}')),
    '[{"ActivityExecute":{"instance":"ord-7","execution_id":1,"id":2,"name":"Charge","input":"9","session_id":"s1","tag":"gpu"}},
      {"ActivityExecute":{"instance":"ord-7","execution_id":1,"id":3,"name":"Mail","input":"x"}}]',
    '[{"TimerFired":{"instance":"ord-7","execution_id":1,"id":4,"fire_at_ms":20000}},
      {"StartOrchestration":{"instance":"ord-7::sub::5","orchestration":"Ship","input":"7","version":null,"parent_instance":"ord-7","parent_id":5,"execution_id":1,"parent_execution_id":1}}]',
    pg_temp.metadata('Bill', '1.0.0', pin => '{"major":0,"minor":1,"patch":30}', custom_status_action => 'set', custom_status_value => 'charging',
        kv_mutations => '[{"action":"set","key":"k","value":"v","last_updated_at_ms":6200},{"action":"set","key":"gone","value":"","last_updated_at_ms":6200},{"action":"clear_key","key":"gone"}]'),
    '[]');

-- What its management reads tell now.
EXECUTE get_instance_info('ord-7');
EXECUTE get_execution_info('ord-7', 1);
EXECUTE get_custom_status('ord-7', 0);
EXECUTE get_custom_status('ord-7', 1);
EXECUTE get_kv_value('ord-7', 'k');
EXECUTE get_kv_value('ord-7', 'gone');
EXECUTE get_kv_all_values('ord-7');
SELECT out_found, out_history_event_count, out_history_size_bytes > 0 AS has_size, out_queue_pending_count, out_kv_user_key_count, out_kv_total_value_bytes FROM api_application.get_instance_stats('ord-7');
EXECUTE get_instance_stats('nobody');
EXECUTE get_system_metrics;
-- The application reads the first two columns (CP-4).
EXECUTE get_queue_depths(6200);
EXECUTE list_instances_by_status('Running');
EXECUTE read('ord-7') \g (format=unaligned)

---- Activities: tags, sessions, leases

-- Owner w1 serves only the untagged ones first.
EXECUTE fetch_work_item(7000, 30000, 'w1', 30000, '{}', 'default_only') \gset work_
SELECT :'work_out_work_item' AS item, :work_out_attempt_count AS attempt;
EXECUTE fetch_work_item(7000, 30000, 'w1', 30000, '{}', 'default_only');
EXECUTE fetch_work_item(7000, 30000, 'w1', 30000, '{cpu,disk}', 'tags');
-- Put back with a delay, without counting the attempt.
EXECUTE abandon_work_item(:'work_out_lock_token', 7000, 500, true);
EXECUTE fetch_work_item(7400, 30000, 'w1', 30000, '{}', 'default_only');
EXECUTE fetch_work_item(7500, 30000, NULL, NULL, '{}', 'default_only') \gset work_
SELECT :'work_out_work_item' AS item, :work_out_attempt_count AS attempt;
EXECUTE ack_work_item(:'work_out_lock_token', 'ord-7', '{"ActivityCompleted":{"instance":"ord-7","execution_id":1,"id":3,"result":"sent"}}', 7600);
-- The tagged one is bound to a session: w1 claims it, w2 cannot have it.
EXECUTE fetch_work_item(8000, 1000, NULL, NULL, '{gpu}', 'default_and');
EXECUTE fetch_work_item(8000, 1000, 'w1', 30000, '{gpu}', 'default_and') \gset work_
SELECT :'work_out_work_item' AS item, :work_out_attempt_count AS attempt;
EXECUTE renew_session_lock('{w1,w2}', 8500, 30000, 300000);
EXECUTE fetch_work_item(9500, 1000, 'w2', 30000, '{}', 'any');
EXECUTE fetch_work_item(9500, 1000, 'w1', 30000, '{}', 'any') \gset work_
SELECT :work_out_attempt_count AS attempt;
EXECUTE renew_work_item_lock(:'work_out_lock_token', 10000, 10);
EXECUTE fetch_work_item(19000, 1000, 'w1', 30000, '{}', 'any');
EXECUTE ack_work_item(:'work_out_lock_token', 'ord-7', '{"ActivityFailed":{"instance":"ord-7","execution_id":1,"id":2,"details":{"Application":{"kind":"ActivityFailed","message":"no","retryable":false}}}}', 19000);
EXECUTE cleanup_orphaned_sessions(19000);
EXECUTE cleanup_orphaned_sessions(60000);
EXECUTE fetch_work_item(19000, 1000, 'w1', 30000, '{}', 'none');

---- A child

EXECUTE fetch_orchestration_item(19000, 5000, 0, 1030) \gset turn_
:show_turn
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 19100, 1,
    jsonb_build_array(
        pg_temp.event('ord-7::sub::5', 1, 1, 'OrchestrationStarted', '{"name":"Ship","version":"1.0.0","input":"7","parent_instance":"ord-7","parent_id":5}'),
        pg_temp.event('ord-7::sub::5', 1, 2, 'OrchestrationCompleted', '{"output":"shipped"}')),
    '[]', '[{"SubOrchCompleted":{"parent_instance":"ord-7","parent_execution_id":1,"parent_id":5,"result":"shipped"}}]',
    pg_temp.metadata('Ship', '1.0.0', 'Completed', 'shipped', 'ord-7', '{"major":0,"minor":1,"patch":30}'), '[]');
EXECUTE list_children('ord-7');
EXECUTE get_parent_id('ord-7::sub::5');
EXECUTE get_parent_id('ord-7');

---- Capabilities

-- ord-7 is pinned to 0.1.30: an application up to 0.1.29 does not get it, a newer one does.
EXECUTE fetch_orchestration_item(19200, 5000, 0, 1029);
EXECUTE fetch_orchestration_item(19200, 5000, 1031, 2000000);
EXECUTE fetch_orchestration_item(19200, 5000, 0, 1033) \gset turn_
:show_turn
-- Back with a delay; the answer is the instance. The timer fires meanwhile and is delivered with the rest.
EXECUTE abandon_orchestration_item(:'turn_out_lock_token', 19300, 1000, false);
EXECUTE fetch_orchestration_item(19999, 5000, NULL, NULL);
EXECUTE enqueue_for_orchestrator('ord-7', '{"ExternalRaised":{"instance":"ord-7","name":"go","data":"1"}}', to_timestamp(20.1), NULL, NULL, NULL);
EXECUTE enqueue_for_orchestrator('ord-7', '{"QueueMessage":{"instance":"ord-7","name":"q","data":"d1"}}', to_timestamp(20.1), NULL, NULL, NULL);
EXECUTE fetch_orchestration_item(20300, 5000, NULL, NULL) \gset turn_
:show_turn

---- Continue as new

EXECUTE ack_orchestration_item(:'turn_out_lock_token', 20400, 1,
    jsonb_build_array(
        pg_temp.event('ord-7', 1, 10, 'ActivityCompleted', '{"result":"sent"}', 3),
        pg_temp.event('ord-7', 1, 11, 'OrchestrationContinuedAsNew', '{"input":"2"}')),
    '[]', '[{"ContinueAsNew":{"instance":"ord-7","orchestration":"Bill","input":"2","version":"1.0.0","carry_forward_events":[["q","d1"]],"initial_custom_status":"charging"}}]',
    pg_temp.metadata('Bill', '1.0.0', 'ContinuedAsNew', '2'), '[]');
-- The next turn shows the old execution with its history; the ack of execution 2 begins the new one. Keys have been merged.
EXECUTE fetch_orchestration_item(20500, 5000, 0, 1030) \gset turn_
:show_turn
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 20600, 2,
    jsonb_build_array(
        pg_temp.event('ord-7', 2, 1, 'OrchestrationStarted', '{"name":"Bill","version":"1.0.0","input":"2","parent_instance":null,"parent_id":null,"carry_forward_events":[["q","d1"]]}'),
        pg_temp.event('ord-7', 2, 2, 'ActivityScheduled', '{"name":"Slow","input":""}'),
        pg_temp.event('ord-7', 2, 3, 'CustomStatusUpdated', '{"status":null}'),
        pg_temp.event('ord-7', 2, 4, 'KeyValuesCleared')),
    '[{"ActivityExecute":{"instance":"ord-7","execution_id":2,"id":2,"name":"Slow","input":""}}]', '[]',
    pg_temp.metadata('Bill', '1.0.0', pin => '{"major":0,"minor":1,"patch":30}', custom_status_action => 'clear', kv_mutations => '[{"action":"clear_all"}]'), '[]');
EXECUTE list_executions('ord-7');
EXECUTE latest_execution_id('ord-7');
EXECUTE get_custom_status('ord-7', 1);
EXECUTE get_kv_all_values('ord-7');
EXECUTE get_execution_info('ord-7', 1);
SELECT out_history_event_count, out_queue_pending_count, out_kv_user_key_count FROM api_application.get_instance_stats('ord-7');
-- The reads of one execution agree: by function, by table, and of the latest.
EXECUTE read_history_with_execution_id('ord-7', 1) \g (format=unaligned)
EXECUTE read_with_execution('ord-7', 2) \g (format=unaligned)
EXECUTE read('ord-7') \g (format=unaligned)

---- Cancellation

-- The slow activity runs. A cancellation arrives; the turn that ends the instance steals the activity's lease.
EXECUTE fetch_work_item(21000, 30000, 'w1', 30000, '{}', 'any') \gset work_
EXECUTE enqueue_for_orchestrator('ord-7', '{"CancelInstance":{"instance":"ord-7","reason":"user"}}', to_timestamp(21), NULL, NULL, NULL);
EXECUTE fetch_orchestration_item(21000, 5000, 0, 1030) \gset turn_
:show_turn
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 21100, 2,
    jsonb_build_array(
        pg_temp.event('ord-7', 2, 5, 'OrchestrationCancelRequested', '{"reason":"user"}'),
        pg_temp.event('ord-7', 2, 6, 'ActivityCancelRequested', '{"reason":"orchestration_terminal_failed"}', 2),
        pg_temp.event('ord-7', 2, 7, 'OrchestrationFailed', '{"details":{"Application":{"kind":{"Cancelled":{"reason":"user"}},"message":"","retryable":false}}}')),
    '[]', '[]', pg_temp.metadata(status => 'Failed', output => 'canceled: user'), '[{"instance":"ord-7","execution_id":2,"activity_id":2}]');
-- CP-1: the texts that it matches. A cancelled activity learns its fate from them.
EXECUTE renew_work_item_lock(:'work_out_lock_token', 21200, 30);
\echo :LAST_ERROR_SQLSTATE
EXECUTE ack_without_completion(:'work_out_lock_token', 21200);
\echo :LAST_ERROR_SQLSTATE
EXECUTE ack_work_item(:'work_out_lock_token', 'ord-7', '{"ActivityCompleted":{"instance":"ord-7","execution_id":2,"id":2,"result":"late"}}', 21200);
EXECUTE abandon_work_item(:'work_out_lock_token', 21200, NULL, false);
\echo :LAST_ERROR_SQLSTATE
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 21200, 2, '[]', '[]', '[]', pg_temp.metadata(), '[]');
\echo :LAST_ERROR_SQLSTATE
EXECUTE abandon_orchestration_item(:'turn_out_lock_token', 21200, NULL, false);
\echo :LAST_ERROR_SQLSTATE
EXECUTE renew_orchestration_item_lock(:'turn_out_lock_token', 21200, 5);
\echo :LAST_ERROR_SQLSTATE
EXECUTE get_instance_info('ord-7');
EXECUTE get_system_metrics;
EXECUTE get_queue_depths(21200);

---- Other errors

-- A lease that has lapsed.
EXECUTE enqueue_for_worker('{"ActivityExecute":{"instance":"ord-8","execution_id":1,"id":2,"name":"Charge","input":"9"}}', 22000, 'ord-8', 1, 2, NULL, NULL);
EXECUTE fetch_work_item(22000, 1000, 'w1', 30000, '{}', 'default_only') \gset work_
EXECUTE ack_work_item(:'work_out_lock_token', 'ord-8', '{"ActivityCompleted":{"instance":"ord-8","execution_id":1,"id":2,"result":"ok"}}', 23000);
EXECUTE renew_work_item_lock(:'work_out_lock_token', 23000, 30);
EXECUTE abandon_work_item(:'work_out_lock_token', 23000, NULL, false);
EXECUTE fetch_work_item(23000, 1000, 'w1', 30000, '{}', 'default_only') \gset work_
SELECT :work_out_attempt_count AS attempt;
EXECUTE ack_without_completion(:'work_out_lock_token', 23000);
-- An event that exists already: nothing is done, and a failure can be acked on the same token.
EXECUTE enqueue_for_orchestrator('ord-8', '{"StartOrchestration":{"instance":"ord-8","orchestration":"Bill","input":"{}","version":"2.0.0","parent_instance":null,"parent_id":null,"execution_id":1}}',
    to_timestamp(24), NULL, NULL, NULL);
EXECUTE append_with_execution('ord-8', 1, jsonb_build_array(pg_temp.event('ord-8', 1, 1, 'OrchestrationStarted', '{"name":"Bill","version":"2.0.0","input":"{}","parent_instance":null,"parent_id":null}')));
EXECUTE fetch_orchestration_item(24000, 5000, 0, 1030) \gset turn_
:show_turn
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 24000, 1, jsonb_build_array(pg_temp.event('ord-8', 1, 1, 'OrchestrationStarted')), '[]', '[]', pg_temp.metadata('Bill', '2.0.0'), '[]');
\echo :LAST_ERROR_SQLSTATE
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 24000, 1, jsonb_build_array(pg_temp.event('ord-8', 1, 99999, 'OrchestrationFailed', '{"details":{"Infrastructure":{"operation":"ack","message":"duplicate","retryable":false}}}')), '[]', '[]',
    pg_temp.metadata('Bill', '2.0.0', 'Failed', 'duplicate'), '[]');
EXECUTE append_with_execution('ord-8', 1, jsonb_build_array(pg_temp.event('ord-8', 1, 1, 'OrchestrationStarted')));
\echo :LAST_ERROR_SQLSTATE
-- What is not there.
EXECUTE get_parent_id('nobody');
\echo :LAST_ERROR_SQLSTATE
EXECUTE latest_execution_id('nobody');
\echo :LAST_ERROR_SQLSTATE
EXECUTE get_instance_info('nobody');
EXECUTE get_execution_info('nobody', 1);
EXECUTE get_custom_status('nobody', 0);
EXECUTE prune_executions('nobody', 1, NULL);
\echo :LAST_ERROR_SQLSTATE

---- Queue messages before the start

-- They are not supported: the application drops them itself, or finds that they are gone.
EXECUTE enqueue_for_orchestrator('early', '{"QueueMessage":{"instance":"early","name":"q","data":"d1"}}', to_timestamp(25), NULL, NULL, NULL);
EXECUTE fetch_orchestration_item(25000, 5000, 0, 1030);
EXECUTE get_queue_depths(25000);

---- Pruning

EXECUTE bulk_prune(20000, 1000);
EXECUTE prune_executions('ord-7', NULL, 20400);
EXECUTE prune_executions('ord-7', 2, NULL);
EXECUTE prune_executions('ord-7', 1, 20401);
EXECUTE list_executions('ord-7');

---- Deletion

EXECUTE enqueue_for_orchestrator('ord-9', '{"StartOrchestration":{"instance":"ord-9","orchestration":"Bill","input":"{}","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}}',
    to_timestamp(26), NULL, NULL, NULL);
EXECUTE fetch_orchestration_item(26000, 5000, 0, 1030) \gset turn_
EXECUTE ack_orchestration_item(:'turn_out_lock_token', 26000, 1, jsonb_build_array(pg_temp.event('ord-9', 1, 1, 'OrchestrationStarted', '{"name":"Bill","version":"1.0.0","input":"{}","parent_instance":null,"parent_id":null}')),
    '[]', '[]', pg_temp.metadata('Bill', '1.0.0'), '[]');
-- Not while it runs, not without its child.
EXECUTE delete_instances_atomic('{ord-9}', false);
\echo :LAST_ERROR_SQLSTATE
EXECUTE delete_instances_atomic('{ord-7}', true);
\echo :LAST_ERROR_SQLSTATE
-- In bulk: it chooses roots, walks down to the children of each, and deletes the tree, children first.
EXECUTE bulk_delete('ord-7', 'ord-9', 22000, 1000);
EXECUTE list_children('ord-7');
EXECUTE list_children('ord-7::sub::5');
EXECUTE delete_instances_atomic('{ord-7::sub::5,ord-7}', true);
EXECUTE delete_instances_atomic('{ord-9}', true);
EXECUTE delete_instances_atomic('{nobody}', false);
EXECUTE list_instances;
EXECUTE read('ord-7');

---- Belay: nothing is left behind, and the hub is healthy

RESET ROLE;
DEALLOCATE ALL;
SET ROLE regress_belay_aa_owner;
SELECT * FROM belay.check_hub('api_application');
SELECT (SELECT count(*) FROM api_application.messages) AS messages, (SELECT count(*) FROM api_application.work_items) AS work_items, (SELECT count(*) FROM api_application.instance_lock_states WHERE locked_until > 26000) AS locks,
       (SELECT count(*) FROM api_application.sessions) AS sessions, (SELECT count(*) FROM api_application.kv_store) + (SELECT count(*) FROM api_application.kv_delta) AS keys;
SELECT belay.drop_hub('api_application');
RESET ROLE;
CALL test.drop_role('regress_belay_aa_app');
CALL test.drop_role('regress_belay_aa_owner');
