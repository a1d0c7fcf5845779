-- Messages for an instance that never started: no row, no history, no start queued. C6.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_orphans');
SELECT belay.set_hub_option('orch_orphans', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_orphans');
CREATE PROCEDURE pg_temp.queue(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_orphans.raise_event(instance, name, '', true, now_ms) $$;
CREATE PROCEDURE pg_temp.start(instance text, now_ms bigint, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$ SELECT orch_orphans.start_orchestration('O', '', instance, '1', delay_ms, now_ms) $$;
CREATE PROCEDURE pg_temp.cancel(instance text, reason text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_orphans.cancel_instance(instance, reason, now_ms) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_orphans.orchestrator_queue, orch_orphans.instance_locks, orch_orphans.instances, orch_orphans.executions, orch_orphans.history_turns, orch_orphans.dead_letters, lease $$;
CREATE VIEW test.orch_orphans AS SELECT instance_id, test.brief(json_build_array(work_item::json)) AS message, m.lock_token IS NOT NULL AS leased, attempt_count FROM orch_orphans.messages AS m ORDER BY id;
-- What an orphan must not leave behind.
CREATE VIEW test.orch_orphans_left AS
    SELECT (SELECT count(*) FROM orch_orphans.orchestrator_queue) AS messages, (SELECT count(*) FROM orch_orphans.instance_lock_states) AS locks, (SELECT count(*) FROM orch_orphans.instances) AS instances,
           (SELECT count(*) FROM orch_orphans.executions) AS executions, (SELECT count(*) FROM orch_orphans.dead_letters) AS dead_letters;

---- Queue messages alone

-- OR-1: if all visible messages are queue messages they are dropped by the fetch that meets them, and the fetch goes on.
CALL pg_temp.queue('i', 'a', 1000);
CALL pg_temp.queue('i', 'b', 1001);
CALL pg_temp.start('j', 1002);
SELECT instance, messages FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_orphans;
-- A hidden one is not met yet.
SELECT orch_orphans.enqueue_orchestrator_work(NULL, '{"QueueMessage":{"instance":"k","name":"later"}}', to_timestamp(3));
CALL pg_temp.queue('k', 'now', 2000);
SELECT * FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_orphans;
SELECT * FROM pg_temp.fetch(2999);
SELECT count(*) FROM test.orch_orphans WHERE instance_id = 'k';
CALL pg_temp.clear();
-- Nothing is left behind.
CALL pg_temp.queue('i', 'a', 1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT * FROM test.orch_orphans_left;
-- All of them go at once, also if they are more than a batch holds.
SELECT belay.set_hub_option('orch_orphans', 'batch_messages', '1');
CALL pg_temp.queue('i', 'a', 1000);
CALL pg_temp.queue('i', 'b', 1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT * FROM test.orch_orphans_left;
SELECT belay.set_hub_option('orch_orphans', 'batch_messages', NULL);
-- OR-1: what was sent before the start is lost if a fetch came between; the instance starts without it.
CALL pg_temp.start('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- CC-11: undone with the transaction.
CALL pg_temp.queue('i', 'a', 1000);
BEGIN;
SELECT * FROM pg_temp.fetch(1000);
ROLLBACK;
SELECT * FROM test.orch_orphans;
CALL pg_temp.clear();

---- Any other message

-- OR-2, E5: skipped: not returned, not deleted, not counted, no lock. A cancel that overtook its start, a completion for an unknown instance, a timer, a kind of a newer client.
CALL pg_temp.cancel('a', 'r', 1000);
SELECT orch_orphans.enqueue_orchestrator_items('[{"work_item":{"ActivityCompleted":{"instance":"b","id":1}}}, {"work_item":{"TimerFired":{"instance":"c","id":1,"fire_at_ms":0}}}, {"work_item":{"Newer":{"instance":"d"}}},
                                        {"work_item":{"SubOrchCompleted":{"parent_instance":"e","parent_id":1}}}]', 1000);
-- With queue messages among them they wait, too: in either order.
CALL pg_temp.queue('f', 'q', 1000);
CALL pg_temp.cancel('f', 'r', 1000);
CALL pg_temp.cancel('g', 'r', 1000);
CALL pg_temp.queue('g', 'q', 1000);
-- Other instances are not held up.
CALL pg_temp.start('z', 1001);
SELECT instance FROM pg_temp.fetch(2000, 100000);
SELECT * FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_orphans;
-- A queue message that comes later meets the cancel that waits, and waits with it.
CALL pg_temp.queue('a', 'later', 2000);
SELECT * FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_orphans WHERE instance_id = 'a';
-- IX-5: they are out of the way: out of the index that fetches read.
SELECT count(*) FILTER (WHERE parked) AS parked, count(*) FILTER (WHERE NOT parked) AS others FROM orch_orphans.orchestrator_queue WHERE instance_id <> 'z';
SELECT * FROM test.orch_orphans_left;
-- OR-3: when the start arrives, they are part of its first batch, in the order of ids: a cancel may stand before its start.
CALL pg_temp.start('g', 3000);
CALL pg_temp.start('a', 3001);
SELECT instance, name, messages, attempt FROM pg_temp.fetch(3001);
SELECT instance, name, messages, attempt FROM pg_temp.fetch(3001);
SELECT * FROM pg_temp.fetch(3001);
-- Abandoned, they come again.
SELECT orch_orphans.abandon_orchestration_item(pg_temp.token('g'), 100, p_now_ms => 3001);
SELECT * FROM pg_temp.fetch(3100);
SELECT messages, attempt FROM pg_temp.fetch(3101);
-- Acked, they are gone.
CALL pg_temp.ack('g', 3101, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT count(*) FROM test.orch_orphans WHERE instance_id = 'g';
CALL pg_temp.clear();

-- A ContinueAsNew is a start.
CALL pg_temp.cancel('i', 'r', 1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT orch_orphans.enqueue_orchestrator_work(NULL, '{"ContinueAsNew":{"instance":"i","orchestration":"Again"}}', to_timestamp(1));
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- History ends the wait as well: the instance is no longer one that never started.
CALL pg_temp.cancel('i', 'r', 1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT orch_orphans.append_history('i', 1, jsonb_build_array(test.event(1, 'OrchestrationStarted', '{"name":"O"}')));
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

-- Messages that waited are not lost when their first batch is split (batch_messages) ...
SELECT belay.set_hub_option('orch_orphans', 'batch_messages', '2');
CALL pg_temp.cancel('i', 'a', 1000);
CALL pg_temp.cancel('i', 'b', 1000);
CALL pg_temp.cancel('i', 'c', 1000);
SELECT * FROM pg_temp.fetch(1000);
CALL pg_temp.start('i', 1000);
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- ... or when the first part of it comes back later than the start.
CALL pg_temp.cancel('i', 'a', 1000);
CALL pg_temp.cancel('i', 'b', 1000);
SELECT * FROM pg_temp.fetch(1000);
CALL pg_temp.start('i', 1000);
SELECT name, messages FROM pg_temp.fetch(1000);
SELECT orch_orphans.abandon_orchestration_item(pg_temp.token('i'), 5000, p_now_ms => 1000);
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT name, messages FROM pg_temp.fetch(6000);
CALL pg_temp.clear();
-- ... or when the start has the lower id, because its transaction was the first to begin and the last to commit (DM-3).
SELECT belay.set_hub_option('orch_orphans', 'batch_messages', '1');
SELECT nextval('orch_orphans.orchestrator_queue_id') AS id \gset
CALL pg_temp.cancel('i', 'a', 1000);
SELECT * FROM pg_temp.fetch(1000);
CALL pg_temp.start('i', 1000);
UPDATE orch_orphans.orchestrator_queue SET id = :id WHERE kind = 's';
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT name, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- OR-1 asks for all visible messages, not for those of one batch: nothing of these is dropped.
CALL pg_temp.queue('i', 'a', 1000);
CALL pg_temp.cancel('i', 'b', 1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT * FROM test.orch_orphans;
CALL pg_temp.clear();
SELECT belay.set_hub_option('orch_orphans', 'batch_messages', NULL);

---- Not orphans

-- OR-5: a queue message in one batch with a start, or for an instance with a row or history, is delivered.
CALL pg_temp.queue('i', 'before', 1000);
CALL pg_temp.start('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
CALL pg_temp.queue('i', 'row', 1000);
SELECT messages FROM pg_temp.fetch(1000);
SELECT orch_orphans.append_history('j', 1, jsonb_build_array(test.event(1, 'x')));
CALL pg_temp.queue('j', 'history', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
-- OR-6: a start that is queued but hidden protects the instance's messages.
CALL pg_temp.start('i', 1000, 500);
CALL pg_temp.queue('i', 'q', 1000);
SELECT * FROM pg_temp.fetch(1499);
SELECT messages, attempt FROM pg_temp.fetch(1500);
CALL pg_temp.clear();
-- An execution row or key/value state alone does not make an instance that has started.
INSERT INTO orch_orphans.executions VALUES ('i', 1, 'Running', NULL, now(), NULL);
INSERT INTO orch_orphans.kv_store VALUES ('i', 'k', 'v', 1, 1);
CALL pg_temp.queue('i', 'q', 1000);
SELECT * FROM pg_temp.fetch(1000);
SELECT count(*) FROM orch_orphans.messages;
CALL pg_temp.clear();

-- An instance that is over, and of which nothing is left, never started: an empty ack left no trace, and its late completions wait.
CALL pg_temp.start('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
SELECT orch_orphans.enqueue_orchestrator_work(NULL, '{"ActivityCompleted":{"instance":"i","id":1}}', to_timestamp(1));
SELECT * FROM pg_temp.fetch(1000);
SELECT * FROM test.orch_orphans_left;

DROP VIEW test.orch_orphans, test.orch_orphans_left;
SELECT belay.drop_hub('orch_orphans', true);
