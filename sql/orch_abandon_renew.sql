-- Giving a turn back, and keeping it longer: abandon_orchestration_item, renew_orchestration_item_lock.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_abandon_renew');
SELECT belay.set_hub_option('orch_abandon_renew', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_abandon_renew');
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;
CREATE PROCEDURE pg_temp.raise(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_abandon_renew.raise_event(instance, name, '', false, now_ms) $$;
CREATE PROCEDURE pg_temp.start(instance text, now_ms bigint, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$ SELECT orch_abandon_renew.start_orchestration('O', '', instance, '1', delay_ms, now_ms) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_abandon_renew.orchestrator_queue, orch_abandon_renew.instance_locks, orch_abandon_renew.instances, orch_abandon_renew.executions, orch_abandon_renew.history_turns, lease $$;
CREATE VIEW test.orch_abandon_renew AS SELECT test.brief(json_build_array(work_item::json)) AS message, (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms, lock_token IS NOT NULL AS leased, locked_until, attempt_count FROM orch_abandon_renew.messages ORDER BY id;

---- abandon_orchestration_item

-- AB-3, AB-6: the lock is released, the instance id comes back. Without a delay it is fetchable at once; visible_at and the attempt are left alone.
CALL pg_temp.start('i', 1000);
CALL pg_temp.raise('i', 'a', 900);
SELECT messages, attempt FROM pg_temp.fetch(1500);
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), p_now_ms => 1600);
SELECT * FROM test.orch_abandon_renew;
SELECT count(*) AS locks FROM orch_abandon_renew.instance_lock_states;
SELECT messages, attempt FROM pg_temp.fetch(1600);
-- AB-4: with a delay they are hidden until now + delay. p_ignore_attempt takes one attempt back.
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 300, p_now_ms => 1700);
SELECT * FROM test.orch_abandon_renew;
SELECT messages FROM pg_temp.fetch(1999);
SELECT messages, attempt FROM pg_temp.fetch(2000);
SELECT orch_abandon_renew.abandon_orchestration_item(p_lock_token => pg_temp.token('i'), p_now_ms => 2000, p_ignore_attempt => true);
SELECT * FROM test.orch_abandon_renew;
SELECT messages, attempt FROM pg_temp.fetch(2000);
-- A delay of 0 is now. NULL for p_ignore_attempt is false.
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 0, NULL, p_now_ms => 2000);
SELECT visible_ms, attempt_count FROM test.orch_abandon_renew;
SELECT attempt FROM pg_temp.fetch(2000);
-- Both at once; a delay without end is one.
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 9223372036854775807, true, p_now_ms => 2000);
SELECT visible_at, attempt_count FROM orch_abandon_renew.messages ORDER BY id;
CALL pg_temp.clear();
-- I6: the count never goes below 0: fetch and ignored abandon, repeated, give attempt 1 each time.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), NULL, true, p_now_ms => 1000);
SELECT attempt FROM pg_temp.fetch(1000);
UPDATE orch_abandon_renew.orchestrator_queue SET attempt_count = 0;
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), NULL, true, p_now_ms => 1000);
SELECT attempt_count FROM test.orch_abandon_renew;
CALL pg_temp.clear();

-- AB-2: an expired lock that no session has taken over is accepted.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 100, p_now_ms => 500000);
SELECT * FROM test.orch_abandon_renew;
CALL pg_temp.clear();

-- AB-4, AB-5: only rows that carry the token are changed. What arrived during the lease, and what was hidden at the fetch, is neither re-timed nor decremented.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
CALL pg_temp.raise('i', 'in the batch', 1000);
CALL pg_temp.start('i', 1000, 200);
SELECT orch_abandon_renew.enqueue_orchestrator_work(NULL, '{"TimerFired":{"instance":"i","id":1,"fire_at_ms":9000}}', to_timestamp(1));
UPDATE orch_abandon_renew.orchestrator_queue SET attempt_count = 3;
CALL pg_temp.raise('j', 'of another', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.raise('i', 'arrived', 1100);
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 5000, true, p_now_ms => 1300);
SELECT * FROM test.orch_abandon_renew;
-- A message that became visible meanwhile is deliverable right after a delayed abandon, while the delayed ones really stay hidden.
SELECT messages FROM pg_temp.fetch(1300);
CALL pg_temp.ack('i', 1300);
SELECT messages FROM pg_temp.fetch(6299);
SELECT messages FROM pg_temp.fetch(6300);
CALL pg_temp.clear();
-- A row that lost the token of an expired lease to a smaller batch is no longer of that turn.
CALL pg_temp.start('i', 1000);
CALL pg_temp.raise('i', 'a', 1000);
SELECT messages FROM pg_temp.fetch(1000);
SELECT belay.set_hub_option('orch_abandon_renew', 'batch_messages', '1');
SELECT messages FROM pg_temp.fetch(2000);
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 7000, true, p_now_ms => 2000);
SELECT * FROM test.orch_abandon_renew;
SELECT belay.set_hub_option('orch_abandon_renew', 'batch_messages', NULL);
CALL pg_temp.clear();

-- AB-1: an unrecognized token: never seen, acked, abandoned, stolen.
SELECT pg_temp.error('SELECT orch_abandon_renew.abandon_orchestration_item(''nonsense'', p_now_ms => 1000)');
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), p_now_ms => 1000);
SELECT test.refused(format('SELECT orch_abandon_renew.abandon_orchestration_item(%L, p_now_ms => 1000)', pg_temp.token('i')));
SELECT attempt FROM pg_temp.fetch(1000);
SELECT pg_temp.token('i') AS stolen \gset
SELECT attempt FROM pg_temp.fetch(2000);
SELECT test.refused(format('SELECT orch_abandon_renew.abandon_orchestration_item(%L, 5000, true, p_now_ms => 2000)', :'stolen'));
SELECT * FROM test.orch_abandon_renew;
CALL pg_temp.ack('i', 2000);
SELECT test.refused(format('SELECT orch_abandon_renew.abandon_orchestration_item(%L, p_now_ms => 2000)', pg_temp.token('i')));
CALL pg_temp.clear();
-- CL-9: no negative delay, no negative clock. The turn goes on.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT arguments, test.refused(format('SELECT orch_abandon_renew.abandon_orchestration_item(%L, %s)', pg_temp.token('i'), arguments)) FROM unnest(ARRAY['p_delay_ms => -1', 'p_now_ms => -1', '0, true, p_now_ms => -1']) AS arguments;
SELECT * FROM test.orch_abandon_renew;
-- CC-11: rolled back, it never was.
BEGIN;
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), 5000, p_now_ms => 1000);
ROLLBACK;
SELECT * FROM test.orch_abandon_renew;
CALL pg_temp.ack('i', 1000);
CALL pg_temp.clear();

---- renew_orchestration_item_lock

-- RO-1: the new deadline is now + p_extend_ms: measured from now, not added to the old one; it may be sooner. It counts for the whole batch.
CALL pg_temp.start('i', 1000);
CALL pg_temp.raise('i', 'a', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT orch_abandon_renew.renew_orchestration_item_lock(pg_temp.token('i'), 500, p_now_ms => 1999);
SELECT * FROM test.orch_abandon_renew;
SELECT locked_until, locked_at FROM orch_abandon_renew.instance_lock_states;
SELECT messages FROM pg_temp.fetch(2498);
SELECT orch_abandon_renew.renew_orchestration_item_lock(pg_temp.token('i'), 1, p_now_ms => 2000);
SELECT locked_until FROM orch_abandon_renew.instance_lock_states;
-- One row is written, however many messages the batch has.
SELECT array_agg(ctid ORDER BY id) AS rows FROM orch_abandon_renew.orchestrator_queue \gset
SELECT orch_abandon_renew.renew_orchestration_item_lock(pg_temp.token('i'), 9223372036854775807, p_now_ms => 2000);
SELECT array_agg(ctid ORDER BY id)::text = :'rows' AS not_written FROM orch_abandon_renew.orchestrator_queue;
SELECT locked_until FROM orch_abandon_renew.instance_lock_states;
CALL pg_temp.ack('i', 3000);
CALL pg_temp.clear();
-- RO-2: unknown, expired, abandoned, stolen, acked. At its deadline a lock is expired; renewal does not revive it.
SELECT pg_temp.error('SELECT orch_abandon_renew.renew_orchestration_item_lock(''nonsense'', 1000, p_now_ms => 1000)');
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT pg_temp.error(format('SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, 1000, p_now_ms => 2000)', pg_temp.token('i')));
SELECT orch_abandon_renew.abandon_orchestration_item(pg_temp.token('i'), p_now_ms => 2000);
SELECT test.refused(format('SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, 1000, p_now_ms => 1000)', pg_temp.token('i')));
SELECT attempt FROM pg_temp.fetch(2000);
SELECT pg_temp.token('i') AS stolen \gset
SELECT attempt FROM pg_temp.fetch(3000);
SELECT test.refused(format('SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, 1000, p_now_ms => 2500)', :'stolen'));
SELECT locked_until FROM orch_abandon_renew.instance_lock_states;
CALL pg_temp.ack('i', 3000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT test.refused(format('SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, 1000, p_now_ms => 3000)', pg_temp.token('i')));
-- After a terminal ack, too.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, metadata => '{"status":"Completed"}');
SELECT test.refused(format('SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, 1000, p_now_ms => 1000)', pg_temp.token('i')));
SELECT test.refused('CALL pg_temp.ack(''i'', 1000)');
CALL pg_temp.clear();
-- CL-9: above 0.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000);
SELECT arguments, test.refused(format('SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, %s)', pg_temp.token('i'), arguments)) FROM unnest(ARRAY['0', '-1', 'NULL', '1000, p_now_ms => -1']) AS arguments;
SELECT locked_until FROM orch_abandon_renew.instance_lock_states;
-- CL-7, CL-3: the clock.
SELECT belay.set_hub_option('orch_abandon_renew', 'max_clock_skew', '1 h');
SELECT call, test.sqlstate(format(call, pg_temp.token('i'))) FROM unnest(ARRAY['SELECT orch_abandon_renew.renew_orchestration_item_lock(%L, 1000, p_now_ms => 1000)', 'SELECT orch_abandon_renew.abandon_orchestration_item(%L, p_now_ms => 1000)']) AS call;
CALL pg_temp.clear();
SELECT length(orch_abandon_renew.start_orchestration('O'));
SELECT attempt FROM pg_temp.fetch(NULL, 60000);
SELECT orch_abandon_renew.renew_orchestration_item_lock((SELECT token FROM lease), 600000);
SELECT round((locked_until - extract(epoch FROM clock_timestamp()) * 1000) / 600000) AS minutes_10 FROM orch_abandon_renew.instance_lock_states;
SELECT length(orch_abandon_renew.abandon_orchestration_item((SELECT token FROM lease), 600000));
SELECT round(extract(epoch FROM visible_at - clock_timestamp()) / 600) AS minutes_10 FROM orch_abandon_renew.messages;

DROP VIEW test.orch_abandon_renew;
SELECT belay.drop_hub('orch_abandon_renew', true);
