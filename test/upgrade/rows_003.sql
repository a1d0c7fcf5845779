-- What a frozen hub holds of orchestrations; see rows_002.sql.
SELECT length(old.start_orchestration('Order', '{"total": 42}', 'i-1', '1.0', 0, :t));
-- The first turn of i-1: an event, state, an activity, and a child with a turn of its own.
SELECT old.ack_orchestration_item(out_lock_token, :t, 1,
    '[{"event_id": 1, "event_type": "OrchestrationStarted", "event_data": "{\"event_id\": 1, \"type\": \"OrchestrationStarted\", \"name\": \"Order\", \"version\": \"1.0\"}"}]',
    '[{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 3, "name": "Ship"}}]',
    '[{"StartOrchestration": {"instance": "i-1::child", "orchestration": "Child", "input": "", "version": "1.0", "parent_instance": "i-1", "parent_id": 4, "execution_id": 1}}]',
    '{"orchestration_name": "Order", "orchestration_version": "1.0", "status": "Running",
      "custom_status_action": "set", "custom_status_value": "charged",
      "kv_mutations": [{"action": "set", "key": "total", "value": "42", "last_updated_at_ms": 1}]}')
  FROM old.fetch_orchestration_item(:t, 3600000);
SELECT old.raise_event('i-1', 'Paid', '"42"', false, :t);
-- A turn that a dispatcher holds: that of the child.
INSERT INTO old.kept SELECT 'turn', out_lock_token FROM old.fetch_orchestration_item(:t, 3600000);
INSERT INTO old.kept SELECT 'turn instance', instance_id FROM old.instance_lock_states WHERE locked_until > :t;
-- One that waits for its start, one that never started.
SELECT length(old.start_orchestration('Order', '', 'i-late', '1.0', 1800000, :t));
SELECT old.raise_event('i-orphan', 'Early', '', false, :t);
