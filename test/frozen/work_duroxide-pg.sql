-- The work of a frozen hub of api duroxide-pg goes on, as work_belay.sql has it for api belay.
SELECT max(value) FILTER (WHERE what = 'work') AS work, max(value) FILTER (WHERE what = 'session') AS session, max(value) FILTER (WHERE what = 'turn') AS turn FROM kept.entries \gset
\set t1 1767225660000
SET ROLE upgrade_worker;
SELECT old.renew_work_item_lock(:'work', :t1, 3600);
SELECT old.ack_worker(:'work', 'leased', '{"ActivityCompleted": {"instance": "leased", "execution_id": 1, "id": 1, "result": ""}}', :t1);
SELECT old.ack_worker(:'session', p_now_ms => :t1);
SELECT out_work_item::jsonb #>> '{ActivityExecute,instance}', out_attempt_count FROM old.fetch_work_item(:t1, 60000);
SELECT old.renew_orchestration_item_lock(:'turn', :t1, 3600);
SELECT old.ack_orchestration_item(:'turn', :t1, 1,
    '[{"event_id": 1, "event_type": "OrchestrationStarted", "event_data": "{\"event_id\":1,\"type\":\"OrchestrationStarted\",\"name\":\"Order\"}"}]',
    '[]', '[]', '{"orchestration_name": "Order", "orchestration_version": "1.0.0", "status": "Running"}');
SELECT out_instance_id, jsonb_array_length(out_messages), out_attempt_count FROM unnest('{1,2,3}'::int[]) AS n, old.fetch_orchestration_item(:t1 + n, 60000);
SET ROLE upgrade_client;
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "new", "execution_id": 1, "id": 1, "name": "A"}}', :t1);
SET ROLE upgrade_worker;
SELECT out_work_item::jsonb #>> '{ActivityExecute,instance}' FROM old.fetch_work_item(:t1, 60000);
SET ROLE upgrade_owner;
SELECT count(*) AS migrations FROM old._duroxide_migrations;
RESET ROLE;
