-- Fills hub "old" of api duroxide-pg, as of one fixed time. Run by freeze.sh as the hub's owner.
-- What a client would remember is in table kept.entries.
\set t 1767225600000
\set hour 3600000
CREATE TABLE kept.entries (what text PRIMARY KEY, value text NOT NULL);
SELECT belay.set_hub_option('old', 'max_clock_skew', '0');
SELECT old.start_orchestration('Order', '', 'leased', '1.0.0', 0, :t), old.enqueue_worker_work('{"ActivityExecute": {"instance": "leased", "execution_id": 1, "id": 1, "name": "A"}}', :t);
INSERT INTO kept.entries SELECT 'turn', out_lock_token FROM old.fetch_orchestration_item(:t, :hour);
INSERT INTO kept.entries SELECT 'work', out_lock_token FROM old.fetch_work_item(:t, :hour);
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "leased", "execution_id": 1, "id": 2, "name": "A", "session_id": "s"}}', :t);
INSERT INTO kept.entries SELECT 'session', out_lock_token FROM old.fetch_work_item(:t, :hour, 'w', :hour);
SELECT old.start_orchestration('Order', '', 'ready', '1.0.0', 0, :t), old.enqueue_worker_work('{"ActivityExecute": {"instance": "ready", "execution_id": 1, "id": 1, "name": "A"}}', :t);
