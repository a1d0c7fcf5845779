-- Attempts of messages, and messages that were leased too often.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_poison');
SELECT belay.set_hub_option('orch_poison', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('orch_poison', 'max_attempts', 'off');

CALL test.turn_helpers('orch_poison');
CREATE PROCEDURE pg_temp.raise(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_poison.raise_event(instance, name, '', false, now_ms) $$;
CREATE PROCEDURE pg_temp.start(instance text, now_ms bigint, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$ SELECT orch_poison.start_orchestration('O', '', instance, '1', delay_ms, now_ms) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_poison.orchestrator_queue, orch_poison.instance_locks, orch_poison.instances, orch_poison.executions, orch_poison.history_turns, orch_poison.dead_letters, lease $$;
CREATE VIEW test.orch_poison AS SELECT instance_id, test.brief(json_build_array(work_item::json)) AS message, m.lock_token IS NOT NULL AS leased, attempt_count FROM orch_poison.messages AS m ORDER BY id;
CREATE VIEW test.orch_poison_dead AS SELECT instance_id, test.brief(json_build_array(work_item::json)) AS message, attempt_count, reason FROM orch_poison.dead_letters ORDER BY id;

---- Counting

-- PO-1, PO-2: every fetch counts; abandon with p_ignore_attempt takes one back; abandon without it, and expiry, take nothing back.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_poison.abandon_orchestration_item(pg_temp.token('i'), p_now_ms => 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_poison.abandon_orchestration_item(pg_temp.token('i'), NULL, true, p_now_ms => 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT attempt FROM pg_temp.fetch(2000);
-- PO-3: counts are per row.
CALL pg_temp.raise('i', 'new', 2000);
SELECT attempt FROM pg_temp.fetch(3000);
SELECT * FROM test.orch_poison;
-- PO-4: by default belay only counts.
UPDATE orch_poison.orchestrator_queue SET attempt_count = 1000000;
SELECT attempt FROM pg_temp.fetch(4000);
CALL pg_temp.clear();

---- max_attempts

SELECT belay.set_hub_option('orch_poison', 'max_attempts', '2');
-- PO-5: a row that has been leased twice is not leased again: the fetch that meets it moves it to dead_letters and goes on. That needs no live lease and no ack.
CALL pg_temp.start('i', 1000);
CALL pg_temp.start('j', 1100);
SELECT instance, attempt FROM pg_temp.fetch(1000);
SELECT instance, attempt FROM pg_temp.fetch(2000);
SELECT instance, attempt FROM pg_temp.fetch(3000);
SELECT * FROM test.orch_poison;
-- PO-9, I13: it keeps text, identity, count and times, and is in one place only.
SELECT queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item, attempt_count, reason, detail,
       (extract(epoch FROM enqueued_at) * 1000)::bigint AS enqueued_ms, (extract(epoch FROM dead_at) * 1000)::bigint AS dead_ms FROM orch_poison.dead_letters \gx
-- Nothing of i is left but a lock that is over.
SELECT instance_id, locked_until <= 3000 AS expired FROM orch_poison.instance_lock_states ORDER BY instance_id;
CALL pg_temp.clear();

-- PO-6: row by row: the rest of the batch is delivered, with its own count.
CALL pg_temp.start('i', 1000);
SELECT messages, attempt FROM pg_temp.fetch(1000);
CALL pg_temp.raise('i', 'middle', 1500);
SELECT messages, attempt FROM pg_temp.fetch(2000);
CALL pg_temp.raise('i', 'new', 2500);
SELECT name, messages, attempt FROM pg_temp.fetch(3000);
SELECT * FROM test.orch_poison;
SELECT * FROM test.orch_poison_dead;
-- What is left has no start now: it waits for one (OR-2), and nothing of it is counted.
SELECT name, messages, attempt FROM pg_temp.fetch(4000);
SELECT * FROM test.orch_poison;
SELECT * FROM test.orch_poison_dead;
CALL pg_temp.clear();

-- PO-6: an instance of which nothing is left: the search goes on. Here over three of them.
CALL pg_temp.start('a', 1000);
CALL pg_temp.start('b', 1000);
CALL pg_temp.start('c', 1000);
UPDATE orch_poison.orchestrator_queue SET attempt_count = 2;
CALL pg_temp.start('d', 1001);
SELECT instance FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_poison_dead;
SELECT * FROM pg_temp.fetch(2000);
SELECT instance_id FROM orch_poison.instance_lock_states;
CALL pg_temp.clear();

-- A leased row is safe, however often: only a fetch that would lease it moves it. Ignored attempts do not count.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_poison.abandon_orchestration_item(pg_temp.token('i'), NULL, true, p_now_ms => 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_poison.abandon_orchestration_item(pg_temp.token('i'), NULL, true, p_now_ms => 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT attempt FROM pg_temp.fetch(2000);
SELECT * FROM pg_temp.fetch(2999);
SELECT * FROM test.orch_poison_dead;
CALL pg_temp.ack('i', 2999, metadata => '{"orchestration_name":"O","orchestration_version":"1","status":"Failed","output":"poison"}');
-- PO-8: the instance of a dead-lettered message stays as it is.
CALL pg_temp.raise('i', 'x', 3000);
UPDATE orch_poison.orchestrator_queue SET attempt_count = 2;
CREATE TEMP TABLE before AS SELECT i::text AS i, e::text AS e FROM orch_poison.instances AS i JOIN orch_poison.executions AS e USING (instance_id);
SELECT * FROM pg_temp.fetch(3000);
SELECT * FROM test.orch_poison_dead;
SELECT count(*) AS unchanged FROM before AS b JOIN orch_poison.instances AS i ON i::text = b.i JOIN orch_poison.executions AS e ON e::text = b.e;
-- It sends no message.
SELECT count(*) FROM orch_poison.messages;
CALL pg_temp.clear();

-- A message that is hidden, or whose instance is locked, waits for the next fetch that reads it.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.raise('i', 'x', 1000);
UPDATE orch_poison.orchestrator_queue SET attempt_count = 2 WHERE lock_no = 0;
CALL pg_temp.start('j', 1000, 5000);
UPDATE orch_poison.orchestrator_queue SET attempt_count = 2 WHERE instance_id = 'j';
SELECT * FROM pg_temp.fetch(1500);
SELECT count(*) FROM orch_poison.dead_letters;
SELECT messages, attempt FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_poison_dead;
CALL pg_temp.clear();

-- PO-6 with batch_messages: rows that are set aside make room, and a fetch does not come back empty while there is work (CC-2).
SELECT belay.set_hub_option('orch_poison', 'batch_messages', '1');
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
CALL pg_temp.raise('i', 'bad', 1000);
UPDATE orch_poison.orchestrator_queue SET attempt_count = 2;
CALL pg_temp.raise('i', 'good', 1000);
SELECT messages FROM pg_temp.fetch(2000);
SELECT * FROM test.orch_poison_dead;
SELECT belay.set_hub_option('orch_poison', 'batch_messages', NULL);
CALL pg_temp.clear();

-- PO-5: what the same transaction has leased before becomes a dead letter, too.
CALL pg_temp.start('own', 1000);
BEGIN;
SELECT attempt FROM pg_temp.fetch(1000);
SELECT attempt FROM pg_temp.fetch(3000);
SELECT * FROM pg_temp.fetch(5000);
SELECT * FROM test.orch_poison_dead;
COMMIT;
CALL pg_temp.clear();

-- CC-11: undone with the transaction.
CALL pg_temp.start('i', 1000);
UPDATE orch_poison.orchestrator_queue SET attempt_count = 2;
BEGIN;
SELECT * FROM pg_temp.fetch(1000);
SELECT count(*) FROM orch_poison.dead_letters;
ROLLBACK;
SELECT * FROM test.orch_poison;
-- Switched off again, it is delivered.
SELECT belay.set_hub_option('orch_poison', 'max_attempts', 'off');
SELECT attempt FROM pg_temp.fetch(1000);

-- PO-11: put back by an operator, it is a new message: visible now, attempt 0.
SELECT belay.set_hub_option('orch_poison', 'max_attempts', '2');
SELECT * FROM pg_temp.fetch(2000);
SELECT orch_poison.redrive_dead_letter(id) > source_id AS new_id FROM orch_poison.dead_letters;
SELECT * FROM test.orch_poison;
SELECT instance, name, messages, attempt FROM pg_temp.fetch((extract(epoch FROM clock_timestamp()) * 1000)::bigint);

DROP VIEW test.orch_poison, test.orch_poison_dead;
SELECT belay.drop_hub('orch_poison', true);
