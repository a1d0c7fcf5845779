-- Leasing a turn: which instance, which messages, under which lock. fetch_orchestration_item.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_fetch');
SELECT belay.set_hub_option('orch_fetch', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('orch_fetch', 'max_attempts', 'off');

CALL test.turn_helpers('orch_fetch');
CREATE PROCEDURE pg_temp.start(instance text, now_ms bigint, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$ SELECT orch_fetch.start_orchestration('O', '', instance, '1', delay_ms, now_ms) $$;
CREATE PROCEDURE pg_temp.raise(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_fetch.raise_event(instance, name, '', false, now_ms) $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_fetch.orchestrator_queue, orch_fetch.instance_locks, orch_fetch.instances, orch_fetch.executions, orch_fetch.history_turns, orch_fetch.kv_store, orch_fetch.kv_delta, orch_fetch.dead_letters, lease $$;
CREATE VIEW test.orch_fetch AS
    SELECT m.instance_id, test.brief(json_build_array(work_item::json)) AS message, (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms,
           m.lock_token IS NOT NULL AS leased, m.locked_until, m.attempt_count FROM orch_fetch.messages AS m ORDER BY id;
CREATE VIEW test.orch_fetch_locks AS SELECT instance_id, lock_token IS NOT NULL AS token, locked_until, locked_at FROM orch_fetch.instance_lock_states ORDER BY instance_id;

-- FO-13: an empty hub: no row, no error.
SELECT * FROM orch_fetch.fetch_orchestration_item(1000, p_now_ms => 1000);
-- FO-12: it does not sleep: a hundred of them take no time to speak of.
SELECT clock_timestamp() AS began \gset
SELECT count(f.lock_token) FROM generate_series(1, 100) AS n, LATERAL orch_fetch.fetch_orchestration_item(1000, p_now_ms => 1000 + n - n) AS f;
SELECT clock_timestamp() - :'began'::timestamptz < interval '5 s' AS at_once;

-- E1, FO-5, FO-9: a row is a lease: deadline now + timeout, locked_at now, attempt 1. Its columns:
CALL pg_temp.start('i', 1000);
SELECT instance_id, orchestration_name, orchestration_version, execution_id, history, messages, attempt_count, kv_snapshot,
       lock_token IS NOT NULL AS token FROM orch_fetch.fetch_orchestration_item(700, p_now_ms => 1500) \gx
SELECT * FROM test.orch_fetch;
SELECT * FROM test.orch_fetch_locks;
-- I5: the row of the batch carries the token of the lock.
SELECT m.lock_token = l.lock_token AS same FROM orch_fetch.messages AS m JOIN orch_fetch.instance_lock_states AS l USING (instance_id);
-- Nothing else was made: belay never invents an instance, an execution or an event.
SELECT (SELECT count(*) FROM orch_fetch.instances) AS instances, (SELECT count(*) FROM orch_fetch.executions) AS executions, (SELECT count(*) FROM orch_fetch.history) AS events;

-- E2, CL-1: while the lock is live there is nothing to fetch, to its last millisecond; not for messages that arrive meanwhile (FO-7) either.
CALL pg_temp.raise('i', 'late', 1600);
SELECT * FROM pg_temp.fetch(2199);
SELECT * FROM test.orch_fetch;
-- FO-4, FO-6, PO-1: an expired lock is taken over. The old batch and what arrived meanwhile are one batch; each row has its own count, and
-- the greatest is told (FO-9).
SELECT lock_token AS old FROM orch_fetch.instance_lock_states \gset
SELECT instance, messages, attempt FROM pg_temp.fetch(2200);
SELECT * FROM test.orch_fetch;
SELECT * FROM test.orch_fetch_locks;
-- The old token is unknown.
SELECT :'old' <> pg_temp.token('i') AS new_token, test.refused(format('SELECT orch_fetch.renew_orchestration_item_lock(%L, 1000, p_now_ms => 2300)', :'old')) LIKE 'QB001%' AS lost;
-- After another expiry an old message at 3 and new ones at 2 and 1 give 3.
CALL pg_temp.raise('i', 'latest', 3000);
SELECT messages, attempt FROM pg_temp.fetch(3200);
SELECT message, attempt_count FROM test.orch_fetch;
-- The count stops at the largest integer.
UPDATE orch_fetch.orchestrator_queue SET attempt_count = 2147483646 WHERE attempt_count = 3;
SELECT attempt FROM pg_temp.fetch(5000);
SELECT attempt FROM pg_temp.fetch(7000);
CALL pg_temp.clear();

-- CL-8: leases are exact, however short or long.
CALL pg_temp.start('i', 1000);
SELECT attempt FROM pg_temp.fetch(1000, 1);
SELECT attempt FROM pg_temp.fetch(1000, 1);
SELECT attempt FROM pg_temp.fetch(1001, 50);
SELECT attempt FROM pg_temp.fetch(1050, 50);
SELECT attempt FROM pg_temp.fetch(1051, 9223372036854775807);
SELECT locked_until = 9223372036854775807 AS for_ever FROM test.orch_fetch_locks;
CALL pg_temp.clear();

-- CL-9: arguments. A refused call leases nothing.
CALL pg_temp.start('i', 1000);
SELECT arguments, test.refused(format('SELECT orch_fetch.fetch_orchestration_item(%s)', arguments))
  FROM unnest(ARRAY['0', '-1', 'NULL', '1000, p_now_ms => -1', '1000, p_now_ms => 9223372036854775807']) AS arguments;
SELECT attempt_count, leased FROM test.orch_fetch;
-- CC-10: a call that writes needs a transaction that may.
BEGIN READ ONLY;
SELECT test.sqlstate('SELECT orch_fetch.fetch_orchestration_item(1000, p_now_ms => 1000)');
ROLLBACK;
-- CC-11: rolled back, there is no lease and no attempt.
BEGIN;
SELECT attempt FROM pg_temp.fetch(1000);
ROLLBACK;
SELECT attempt FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

---- Order between instances

-- FO-2: oldest first: lowest visible_at, then lowest id, of the oldest visible message. Ten fetches get ten instances.
CALL pg_temp.start('late', 3000);
CALL pg_temp.start('early', 1000);
CALL pg_temp.start('middle', 2000);
CALL pg_temp.start('middle too', 2000);
CALL pg_temp.start('delayed', 500, 1700);
CALL pg_temp.raise('late', 'early word', 900);
CALL pg_temp.start('hidden', 500, 9000);
CALL pg_temp.raise('hidden too', 'x', 9000);
SELECT f.nr, t.* FROM generate_series(1, 7) AS f (nr), LATERAL (SELECT instance, messages FROM pg_temp.fetch(4000 + f.nr)) AS t;
CALL pg_temp.clear();
-- Also over many pages of instances with one and the same time (IX-4), and regardless of the statistics of the tables.
SELECT orch_fetch.enqueue_orchestrator_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('StartOrchestration', jsonb_build_object('instance', md5(n::text), 'orchestration', 'O')),
                                                                          'visible_at_ms', 1000 + n / 50) ORDER BY n) FROM generate_series(1, 200) AS n), 1000);
INSERT INTO orch_fetch.instances SELECT md5(n::text), 'O', '1', 1, NULL, NULL, 0, now(), now() FROM generate_series(1, 200) AS n WHERE n % 3 = 0;
INSERT INTO orch_fetch.executions SELECT md5(n::text), 1, 'Running', NULL, now(), NULL, 5, 0, 0 FROM generate_series(1, 200) AS n WHERE n % 3 = 0;
ANALYZE orch_fetch.orchestrator_queue, orch_fetch.instances, orch_fetch.executions;
CREATE TEMP TABLE fetched (nr serial, instance text);
-- First those that are not pinned: the ones pinned to 5.0.0 between them are passed over. Then these.
INSERT INTO fetched (instance) SELECT t.instance FROM generate_series(1, 134) AS n, LATERAL (SELECT instance FROM pg_temp.fetch(2000 + n - n, 100000, 0, 4999999)) AS t;
INSERT INTO fetched (instance) SELECT t.instance FROM generate_series(1, 66) AS n, LATERAL (SELECT instance FROM pg_temp.fetch(2000 + n - n, 100000)) AS t;
SELECT count(*), count(DISTINCT instance), bool_and(f.nr = w.nr) AS in_order
  FROM fetched AS f JOIN (SELECT md5(n::text) AS instance, row_number() OVER (ORDER BY n % 3 = 0, n) AS nr FROM generate_series(1, 200) AS n) AS w USING (instance);
SELECT * FROM pg_temp.fetch(2000);
CALL pg_temp.clear();
-- Every ready instance is reached once the older ones are delayed: abandon gives the next one its turn.
CALL pg_temp.start('a', 1000);
CALL pg_temp.start('b', 1001);
SELECT instance FROM pg_temp.fetch(2000);
SELECT orch_fetch.abandon_orchestration_item(pg_temp.token('a'), 500, p_now_ms => 2000);
SELECT instance FROM pg_temp.fetch(2000);
SELECT orch_fetch.abandon_orchestration_item(pg_temp.token('b'), p_now_ms => 2000);
-- Without a delay it keeps its place.
SELECT instance FROM pg_temp.fetch(2500);
CALL pg_temp.clear();

---- The batch

-- FO-6, FO-7, FO-8: every visible message, in insertion order, not in the order of visible_at; a timer that fires early does not overtake.
CALL pg_temp.start('i', 1000);
CALL pg_temp.raise('i', 'first', 1900);
SELECT orch_fetch.enqueue_orchestrator_items('[{"work_item":{"TimerFired":{"instance":"i","id":7,"fire_at_ms":1100}},"visible_at_ms":1100},
                                        {"work_item":{"TimerFired":{"instance":"i","id":8,"fire_at_ms":2001}}},
                                        {"work_item":{"ExternalRaised":{"instance":"i","name":"now"}},"visible_at_ms":2000},
                                        {"work_item":{"ExternalRaised":{"instance":"j","name":"other instance"}},"visible_at_ms":2000}]', 1000);
SELECT messages, attempt FROM pg_temp.fetch(2000);
-- Future-visible rows are untouched.
SELECT * FROM test.orch_fetch;
CALL pg_temp.clear();

-- batch_messages: the lowest ids, at least one; the others wait for the next turn.
SELECT belay.set_hub_option('orch_fetch', 'batch_messages', '2');
CALL pg_temp.start('i', 1000);
CALL pg_temp.raise('i', 'a', 900);
CALL pg_temp.raise('i', 'b', 800);
CALL pg_temp.raise('i', 'c', 700);
CALL pg_temp.raise('i', 'd', 600);
SELECT messages, attempt FROM pg_temp.fetch(2000);
SELECT message, leased, attempt_count FROM test.orch_fetch;
CALL pg_temp.ack('i', 2000);
-- (The empty ack left no instance, so what is left needs another start.)
CALL pg_temp.start('i', 1000);
SELECT messages, attempt FROM pg_temp.fetch(2000);
CALL pg_temp.ack('i', 2000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT messages, attempt FROM pg_temp.fetch(2000);
-- After an expiry, too: rows of the old batch that do not fit lose its token.
SELECT belay.set_hub_option('orch_fetch', 'batch_messages', '1');
SELECT messages, attempt FROM pg_temp.fetch(3000);
SELECT message, leased, locked_until, attempt_count FROM test.orch_fetch;
CALL pg_temp.ack('i', 3000);
SELECT messages, attempt FROM pg_temp.fetch(3000);
CALL pg_temp.clear();
SELECT belay.set_hub_option('orch_fetch', 'batch_messages', NULL);

-- batch_bytes: likewise. The bytes are those of the texts: 512 of each of these, so two fit exactly.
SELECT belay.set_hub_option('orch_fetch', 'batch_bytes', '1024');
INSERT INTO orch_fetch.instances VALUES ('i', 'O', '1', 1, NULL, NULL, 0, now(), now());
SELECT orch_fetch.raise_event('i', n, repeat('x', 456), false, 1000) FROM unnest('{a,b,c,d}'::text[]) AS n;
SELECT DISTINCT octet_length(work_item) AS bytes FROM orch_fetch.messages;
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
-- One byte more, and only one fits.
SELECT orch_fetch.raise_event('i', n, repeat('x', 456) || more, false, 1000) FROM (VALUES ('e', ''), ('f', 'x')) AS v (n, more);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
-- A message larger than the limit comes alone.
SELECT orch_fetch.raise_event('i', n, repeat('é', size), false, 1000) FROM (VALUES ('small', 1), ('large', 1000), ('small too', 1)) AS v (n, size);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000);
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();
SELECT belay.set_hub_option('orch_fetch', 'batch_bytes', NULL);

-- FO-10: the snapshot is kv_store of the instance; kv_delta is not in it.
INSERT INTO orch_fetch.kv_store VALUES ('i', 'k', 'v', 1, 1800000000002), ('i', 'é "k"', E'\n', NULL, 0), ('j', 'k', 'another instance', 1, 1);
INSERT INTO orch_fetch.kv_delta VALUES ('i', 'k', 'newer', 5), ('i', 'l', 'newer', 5), ('i', 'é "k"', NULL, 5);
CALL pg_temp.start('i', 1000);
SELECT kv FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

-- FO-11: finished instances still receive their messages.
CALL pg_temp.start('i', 1000);
SELECT instance FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'OrchestrationStarted')), '{"orchestration_name":"O","orchestration_version":"1","status":"Completed","output":"done"}');
CALL pg_temp.raise('i', 'late', 1000);
SELECT instance, name, execution, events, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

---- Others

-- FO-4: a lock affects no other instance; two turns are under way at once.
CALL pg_temp.start('a', 1000);
CALL pg_temp.start('b', 1000);
SELECT instance FROM pg_temp.fetch(1000);
SELECT instance FROM pg_temp.fetch(1000);
SELECT * FROM test.orch_fetch_locks;
CALL pg_temp.clear();

-- E6: only the caller's slots. An empty list, or one of slots that are not there, is nothing.
SELECT belay.set_hub_option('orch_fetch', 'slot_count', '4');
SELECT count(orch_fetch.start_orchestration('O', '', 'i' || n, NULL, 0, 1000)) FROM generate_series(1, 40) AS n;
SELECT count(DISTINCT slot) AS slots, min(slot), max(slot) FROM orch_fetch.orchestrator_queue;
CREATE TEMP TABLE of_slot AS SELECT s.slot, t.instance FROM generate_series(0, 3) AS s (slot), generate_series(1, 3) AS n, LATERAL (SELECT instance FROM pg_temp.fetch(1000 + n - n, 1000, NULL, NULL, ARRAY[s.slot, 99])) AS t;
SELECT o.slot, count(*), bool_and(o.slot = q.slot) AS its_own FROM of_slot AS o JOIN orch_fetch.orchestrator_queue AS q ON q.instance_id = o.instance GROUP BY o.slot ORDER BY o.slot;
SELECT * FROM pg_temp.fetch(1000, slots => '{}');
SELECT * FROM pg_temp.fetch(1000, slots => '{4,-1,NULL}');
-- Without slots: all of them, oldest first over all.
SELECT count(*), bool_and(instance = 'i' || w.n) AS in_order FROM (
    SELECT t.instance, row_number() OVER (ORDER BY n) AS nr FROM generate_series(1, 28) AS n, LATERAL (SELECT instance FROM pg_temp.fetch(1000 + n - n)) AS t) AS f
  JOIN (SELECT n, row_number() OVER (ORDER BY n) AS nr FROM generate_series(1, 40) AS n WHERE NOT EXISTS (SELECT FROM of_slot WHERE instance = 'i' || n)) AS w USING (nr);
CALL pg_temp.clear();
SELECT belay.set_hub_option('orch_fetch', 'slot_count', NULL);

-- A paused queue hands out nothing; sending, renewing and finishing go on.
CALL pg_temp.start('a', 1000);
CALL pg_temp.start('b', 1000);
SELECT instance FROM pg_temp.fetch(1000);
SELECT orch_fetch.pause_hub('orchestrator');
SELECT * FROM pg_temp.fetch(1000);
CALL pg_temp.start('c', 1000);
SELECT orch_fetch.renew_orchestration_item_lock(pg_temp.token('a'), 5000, p_now_ms => 1000);
CALL pg_temp.ack('a', 2000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT orch_fetch.resume_hub('orchestrator');
SELECT instance FROM pg_temp.fetch(1000);
-- A pause of the workers is none of ours.
SELECT orch_fetch.pause_hub('worker');
SELECT instance FROM pg_temp.fetch(1000);
SELECT orch_fetch.resume_hub();
CALL pg_temp.clear();

-- HB-2: another hub sees nothing of it.
SELECT belay.create_hub('orch_fetch_other');
SELECT belay.set_hub_option('orch_fetch_other', 'max_clock_skew', '0');
CALL pg_temp.start('i', 1000);
SELECT * FROM orch_fetch_other.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT orch_fetch_other.start_orchestration('Other', '', 'i', NULL, 0, 1000);
SELECT instance, name FROM pg_temp.fetch(1000);
SELECT instance_id, orchestration_name FROM orch_fetch_other.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT belay.drop_hub('orch_fetch_other', true);
CALL pg_temp.clear();

-- CL-3, CL-7: without a clock it is the server's; a clock too far from it is refused.
SELECT belay.set_hub_option('orch_fetch', 'max_clock_skew', '1 h');
SELECT length(orch_fetch.start_orchestration('O'));
SELECT test.sqlstate('SELECT orch_fetch.fetch_orchestration_item(1000, p_now_ms => 1000)');
SELECT attempt FROM pg_temp.fetch(NULL, 600000);
SELECT round((locked_until - extract(epoch FROM clock_timestamp()) * 1000) / 600000) AS minutes_10, locked_until - locked_at AS timeout FROM test.orch_fetch_locks;

DROP VIEW test.orch_fetch, test.orch_fetch_locks;
SELECT belay.drop_hub('orch_fetch', true);
