-- A pile of messages to instances that never started does not stop the others (OR-2), and the fetch
-- that meets it does not fill the server's lock table (CC-9).
SELECT belay.create_hub('orch_pile');
SELECT belay.set_hub_option('orch_pile', 'max_clock_skew', '0');
SELECT orch_pile.enqueue_orchestrator_items(jsonb_agg(jsonb_build_object('work_item',
           jsonb_build_object('CancelInstance', jsonb_build_object('instance', 'o' || n, 'reason', '')))), 1000)
  FROM generate_series(1, 9000) AS n;
SELECT orch_pile.start_orchestration('O', p_instance_id => 'behind', p_now_ms => 1001);

-- The fetch walks past the pile once, sets it aside, and keeps only a few locks.
BEGIN;
SELECT instance_id FROM orch_pile.fetch_orchestration_item(5000, p_now_ms => 2000);
SELECT count(*) < 200 AS few_locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;
SELECT parked, count(*) FROM orch_pile.orchestrator_queue GROUP BY parked ORDER BY parked;

-- A start finds what waited for it.
SELECT orch_pile.start_orchestration('O', p_instance_id => 'o4711', p_now_ms => 2000);
SELECT instance_id, json_array_length(messages) AS messages
  FROM orch_pile.fetch_orchestration_item(5000, p_now_ms => 2000);
SELECT belay.drop_hub('orch_pile', true);
