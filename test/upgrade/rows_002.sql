-- What a frozen hub holds in its worker queue. Run by test/upgrade/freeze.sh in a hub "old" of its owner.
--
-- All times are counted from :t, far ahead, so that leases are live for a test that says it is then.
-- Table kept is the application's own: it remembers what a worker would have in its memory.
SELECT belay.set_hub_option('old', 'max_clock_skew', '0');
SELECT belay.set_hub_option('old', 'slot_count', '4');
SELECT belay.set_hub_option('old', 'max_attempts', '3');
CREATE TABLE old.kept (what text PRIMARY KEY, value text NOT NULL);

-- A dead letter: leased three times, never finished. Its fourth fetch finds nothing.
SELECT old.enqueue_worker_items('[{"work_item": {"ActivityExecute": {"instance": "i-dead", "execution_id": 1, "id": 9,
    "name": "Poison", "tag": "poison"}}}]', :t);
SELECT count(*) FROM old.fetch_work_item(:t, 1, p_tag_filter => '{poison}', p_tag_mode => 'tags');
SELECT count(*) FROM old.fetch_work_item(:t + 10, 1, p_tag_filter => '{poison}', p_tag_mode => 'tags');
SELECT count(*) FROM old.fetch_work_item(:t + 20, 1, p_tag_filter => '{poison}', p_tag_mode => 'tags');
SELECT count(*) FROM old.fetch_work_item(:t + 30, 1, p_tag_filter => '{poison}', p_tag_mode => 'tags');

-- Leased: plain, renewed; of an instance; pinned to a session that has one more item; with a tag.
SELECT old.enqueue_worker_work('{"ActivityExecute": {"name": "Plain", "input": "leased"}}', :t);
INSERT INTO old.kept SELECT 'plain', out_lock_token FROM old.fetch_work_item(:t, 3600000, 'worker-1');
SELECT old.renew_work_item_lock(value, :t + 1000, 7200000) FROM old.kept WHERE what = 'plain';
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 1, "name": "Charge"}}', :t);
INSERT INTO old.kept SELECT 'instance', out_lock_token FROM old.fetch_work_item(:t, 3600000, 'worker-1');
SELECT old.enqueue_worker_items('[
    {"work_item": {"ActivityExecute": {"instance": "i-2", "execution_id": 1, "id": 1}}, "session_id": "s-1"},
    {"work_item": {"ActivityExecute": {"instance": "i-2", "execution_id": 1, "id": 2}}, "session_id": "s-1"}]', :t);
INSERT INTO old.kept SELECT 'session', out_lock_token FROM old.fetch_work_item(:t, 3600000, 'worker-2', 3600000);
SELECT old.enqueue_worker_items('[
    {"work_item": {"ActivityExecute": {"instance": "i-3", "execution_id": 1, "id": 1}}, "tag": "gpu"},
    {"work_item": {"ActivityExecute": {"instance": "i-3", "execution_id": 1, "id": 2}}, "tag": "gpu"}]', :t);
INSERT INTO old.kept
    SELECT 'tag', out_lock_token FROM old.fetch_work_item(:t, 3600000, 'worker-3', NULL, '{gpu}', 'tags');

-- Delayed by half an hour; leased once and expired; done, so that its completion waits for a turn.
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "i-4", "execution_id": 1, "id": 1, "name": "Delayed"}}', :t);
SELECT old.abandon_work_item(out_lock_token, :t, 1800000, true) FROM old.fetch_work_item(:t, 3600000, 'worker-1');
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "i-5", "execution_id": 1, "id": 1, "name": "Expired"}}', :t);
SELECT count(*) FROM old.fetch_work_item(:t, 1, 'worker-1');
SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 2, "name": "Done"}}', :t);
SELECT old.ack_worker(out_lock_token, 'i-1',
           '{"ActivityCompleted": {"instance": "i-1", "execution_id": 1, "id": 2, "result": "ok"}}', :t)
  FROM old.fetch_work_item(:t, 3600000, 'worker-1');

-- Ready: with and without an instance, a large one, one of other letters.
SELECT old.enqueue_worker_items('[
    {"work_item": {"ActivityExecute": {"name": "Ready"}}},
    {"work_item": {"ActivityExecute": {"instance": "i-6", "execution_id": 2, "id": 1, "name": "Ready"}}},
    {"work_item": {"ActivityExecute": {"instance": "größe-🙂", "execution_id": 1, "id": 1, "name": "Ready"}}}]', :t);
SELECT old.enqueue_worker_work('{"ActivityExecute": {"name": "Large", "input": "' || repeat('belay ', 1500) || '"}}', :t);

SELECT old.pause_hub('intents', 'release day');
SELECT belay.set_hub_option('old', 'dead_letter_retention', '30 days');
