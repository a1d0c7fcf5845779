-- Intents: delivery to hubs of the same database, by the duty intent_relay.
\set VERBOSITY terse
\set SHOW_CONTEXT never
CALL test.create_owner('regress_belay_inr_a');
CALL test.create_owner('regress_belay_inr_b');
SET ROLE regress_belay_inr_a;
SELECT belay.create_hub('inr_a');
SET ROLE regress_belay_inr_b;
SELECT belay.create_hub('inr_b');
SELECT belay.create_hub('inr_c');
RESET ROLE;
SELECT belay.set_hub_option('inr_a', 'max_clock_skew', '0');  -- these tests choose the time

CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), E'^(\\w+): [^\n]*\nDETAIL: ({[^\n]*})\nHINT: [^\n]+$', '\1 \2')
$$;
-- Runs the relay as if so many seconds had passed; how many intents have left the queue.
CREATE FUNCTION pg_temp.relay(seconds numeric DEFAULT 2.1) RETURNS bigint LANGUAGE sql AS $$
    SELECT rows FROM inr_a.reconcile('{intent_relay}', p_now_ms => (extract(epoch FROM clock_timestamp()) * 1000 + seconds * 1000)::bigint)
$$;
-- Sends a message with a number to an instance of a hub.
CREATE FUNCTION pg_temp.send(hub text, instance text, n int) RETURNS bigint LANGUAGE sql AS $$
    SELECT inr_a.send_to_hub(hub, 'orchestrator', format('{"CancelInstance":{"instance":"%s","reason":"%s"}}', instance, n))
$$;
CREATE VIEW test.inr_arrived AS
    SELECT hub, instance_id, string_agg(work_item::json #>> '{CancelInstance,reason}', ' ' ORDER BY id) AS arrived
      FROM (SELECT 'b' AS hub, * FROM inr_b.messages UNION ALL SELECT 'c', * FROM inr_c.messages) AS m GROUP BY 1, 2 ORDER BY 1, 2;
CREATE VIEW test.inr_waiting AS
    SELECT target_hub, target_instance, work_item::json #>> '{CancelInstance,reason}' AS n, attempts, next_try_at IS NULL AS behind, last_error FROM inr_a.intents ORDER BY intent_id;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$
    TRUNCATE inr_a.intent_queue, inr_a.dead_letters, inr_b.orchestrator_queue, inr_b.worker_queue, inr_b.intents_received, inr_c.orchestrator_queue, inr_c.intents_received
$$;

-- IN-12: the owner of the source needs level client in the target; a superuser that runs the relay does not lend its rights.
SELECT count(pg_temp.send('inr_b', 'x', n)) FROM generate_series(1, 3) AS n;
SELECT pg_temp.relay();
SELECT * FROM test.inr_waiting;
SELECT * FROM test.inr_arrived;
SELECT belay.grant_hub('inr_b', 'regress_belay_inr_a', 'client'), belay.grant_hub('inr_c', 'regress_belay_inr_a', 'client');
-- IN-6: the next attempt comes after a pause that grows: 2 s, then 4 s.
SELECT pg_temp.relay(2.1);
SELECT pg_temp.relay(4.2);
SELECT * FROM test.inr_arrived;
-- IN-4: the key is noted where it arrives; there is nothing left where it came from.
SELECT count(*), bool_and(source_uuid = (SELECT uuid FROM inr_a.belay_hub)) AS own FROM inr_b.intents_received;
SELECT count(*) FROM inr_a.intents;
CALL pg_temp.clear();
-- EXECUTE without USAGE on the schema is not enough.
REVOKE USAGE ON SCHEMA inr_b FROM regress_belay_inr_a;
SELECT pg_temp.send('inr_b', 'x', 1) > 0 AS sent;
SELECT pg_temp.relay();
SELECT attempts, last_error FROM test.inr_waiting;
GRANT USAGE ON SCHEMA inr_b TO regress_belay_inr_a;
CALL pg_temp.clear();

-- IN-6: the duty takes over what is older than belay.intent_age.
SELECT pg_temp.send('inr_b', 'x', 1) > 0 AS sent;
SELECT pg_temp.relay(0), pg_temp.relay(2.1);
-- Backoff: 2, 4, 8, ... seconds, at most 60.
SELECT pg_temp.send('nowhere', 'x', 1) > 0 AS sent;
CREATE FUNCTION pg_temp.pauses() RETURNS TABLE (attempt int, pause_s numeric) LANGUAGE plpgsql AS $$
DECLARE
    at_ms bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 3000;
BEGIN
    FOR i IN 1..8 LOOP
        PERFORM inr_a.reconcile('{intent_relay}', p_now_ms => at_ms);
        SELECT attempts, extract(epoch FROM next_try_at) - at_ms / 1000.0 INTO attempt, pause_s FROM inr_a.intents;
        RETURN NEXT;
        at_ms := (SELECT extract(epoch FROM next_try_at) * 1000 FROM inr_a.intents)::bigint;
    END LOOP;
END $$;
SELECT attempt, round(pause_s) AS pause_s FROM pg_temp.pauses();
CALL pg_temp.clear();

-- IN-5: order per pair. An intent that cannot be delivered holds up its pair, and nothing else: not other instances of the target, not other hubs.
SELECT pg_temp.send('inr_b', 'x', 1) < pg_temp.send('nowhere', 'x', 2) AS sent;
SELECT count(pg_temp.send('inr_b', 'y', n)) FROM generate_series(1, 3) AS n;
SELECT count(pg_temp.send('inr_b', 'x', n)) FROM generate_series(2, 3) AS n;
SELECT count(pg_temp.send('nowhere', 'x', n)) FROM generate_series(3, 4) AS n;
-- The owner of a hub can damage its own rows: the target checks them as it checks any caller's.
UPDATE inr_a.intent_queue SET work_item = '{"Cancel' WHERE intent_queue.work_item LIKE '%"y"%"2"%';
SELECT pg_temp.relay();
SELECT * FROM test.inr_arrived;
SELECT target_hub, target_instance, attempts, behind, last_error FROM (SELECT intent_id, target_hub, target_instance, attempts, next_try_at IS NULL AS behind, last_error FROM inr_a.intents) AS i ORDER BY intent_id;
-- Another pair of the same target instance goes its own way: its source is another.
UPDATE inr_a.intent_queue SET source_instance = 's', blocked = false WHERE target_hub = 'inr_b' AND id = (SELECT max(id) FROM inr_a.intent_queue WHERE target_hub = 'inr_b');
SELECT pg_temp.relay(3);
SELECT * FROM test.inr_arrived;
-- Repaired, it goes, and what stands behind it follows, though nothing else ever looks at the followers.
UPDATE inr_a.intent_queue SET work_item = '{"CancelInstance":{"instance":"y","reason":"2"}}' WHERE intent_queue.work_item = '{"Cancel';
SELECT pg_temp.send('inr_b', 'y', 4) > 0 AS sent;
SELECT pg_temp.relay(10);
SELECT * FROM test.inr_arrived;
-- The hub that was missing appears: all of them, in order.
ALTER SCHEMA inr_c RENAME TO nowhere;
SELECT belay.grant_hub('nowhere', 'regress_belay_inr_a', 'client');
SELECT pg_temp.relay(70);
SELECT string_agg(work_item::json #>> '{CancelInstance,reason}', ' ' ORDER BY id) FROM nowhere.messages;
ALTER SCHEMA nowhere RENAME TO inr_c;
SELECT count(*) FROM inr_a.intents;
CALL pg_temp.clear();
-- A pair that is longer than a portion and was delayed: the call that removes the first ones activates the next.
SELECT count(pg_temp.send('nowhere', 'x', n)) FROM generate_series(1, 600) AS n;
SELECT pg_temp.relay();
SELECT count(*), count(next_try_at) FROM inr_a.intents;
ALTER SCHEMA inr_c RENAME TO nowhere;
SELECT pg_temp.relay(70);
SELECT count(*) FROM inr_a.intents;
ALTER SCHEMA nowhere RENAME TO inr_c;
SELECT arrived = (SELECT string_agg(n::text, ' ' ORDER BY n) FROM generate_series(1, 600) AS n) AS in_order FROM test.inr_arrived;
CALL pg_temp.clear();
-- Without an instance there is no pair: such activities do not wait for each other.
SELECT count(inr_a.send_to_hub('inr_b', 'worker', format('{"ActivityExecute":{"name":"%s"}}', n))) FROM generate_series(1, 3) AS n;
UPDATE inr_a.intent_queue SET work_item = '{"Activity' WHERE intent_queue.work_item LIKE '%"1"%';
SELECT pg_temp.relay();
SELECT work_item FROM inr_b.work_items ORDER BY id;
SELECT attempts, last_error FROM inr_a.intents;
CALL pg_temp.clear();
-- IN-5: the order holds over incarnations, each of which gives its intents another uuid.
DO $$ BEGIN FOR n IN 1..8 LOOP PERFORM pg_temp.send('inr_b', 'x', n); PERFORM belay.new_incarnation('inr_a'); END LOOP; END $$;
SELECT count(DISTINCT source_uuid) FROM inr_a.intents;
SELECT pg_temp.relay();
SELECT * FROM test.inr_arrived;
CALL pg_temp.clear();
-- More than one portion, many pairs, in order.
SELECT count(pg_temp.send('inr_b', 'i' || n % 300, n)) FROM generate_series(1, 1500) AS n;
SELECT pg_temp.relay();
SELECT count(*), bool_and(arrived = (SELECT string_agg(n::text, ' ' ORDER BY n) FROM generate_series(1, 1500) AS n WHERE 'i' || n % 300 = instance_id)) AS in_order FROM test.inr_arrived;
SELECT count(*) FROM inr_a.intents;
CALL pg_temp.clear();

-- What arrives is enqueued as if it had been sent there: timers, times, tags, sessions; and counted from the arrival on.
SELECT inr_a.send_to_hub('inr_b', 'orchestrator', '{"TimerFired":{"instance":"t","fire_at_ms":4102444800000}}') > 0, inr_a.send_to_hub('inr_b', 'orchestrator', '{"CancelInstance":{"instance":"t"}}', '2040-01-01 00:00:00+00') > 0,
       inr_a.send_to_hub('inr_b', 'orchestrator', '{"CancelInstance":{"instance":"past"}}', '2000-01-01 00:00:00+00') > 0,
       inr_a.send_to_hub('inr_b', 'worker', '{"ActivityExecute":{"instance":"w","execution_id":1,"id":7,"session_id":"s","tag":"g"}}', '2040-01-01 00:00:00+00') > 0, inr_a.send_to_hub('inr_b', 'worker', '{"ActivityExecute":{"instance":"w","id":8}}') > 0 AS sent;
SELECT pg_temp.relay();
SELECT instance_id, CASE WHEN visible_at > '2039-01-01' THEN visible_at AT TIME ZONE 'UTC' END AS later, visible_at > now() - interval '1 hour' AS not_past FROM inr_b.messages ORDER BY id;
SELECT instance_id, execution_id, activity_id, session_id, tag, CASE WHEN visible_at > '2039-01-01' THEN visible_at AT TIME ZONE 'UTC' END AS later, attempt_count FROM inr_b.work_items ORDER BY id;
CALL pg_temp.clear();

-- IN-4: receive_intents delivers a key once; within one call, too. It is what relays of other databases call.
\set u1 '11111111-1111-4111-8111-111111111111'
CREATE FUNCTION pg_temp.intent(id bigint, n text, uuid text DEFAULT '11111111-1111-4111-8111-111111111111') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('source_uuid', uuid, 'intent_id', id, 'queue', 'orchestrator', 'work_item', format('{"CancelInstance":{"instance":"x","reason":"%s"}}', n))
$$;
SELECT inr_b.receive_intents(jsonb_build_array(pg_temp.intent(2, '2'), pg_temp.intent(1, '1'), pg_temp.intent(2, '2')));
SELECT inr_b.receive_intents(jsonb_build_array(pg_temp.intent(1, '1'), pg_temp.intent(2, '2'), pg_temp.intent(3, '3')));
SELECT inr_b.receive_intents(jsonb_build_array(pg_temp.intent(3, '3')));
SELECT inr_b.receive_intents(jsonb_build_array(pg_temp.intent(3, 'another hub', '22222222-2222-4222-8222-222222222222')));
SELECT inr_b.receive_intents(NULL), inr_b.receive_intents('[]');
SELECT inr_b.receive_intents(jsonb_build_array(jsonb_build_object('source_uuid', :'u1', 'intent_id', 9, 'queue', 'worker', 'work_item', '{"ActivityExecute":{"id":1}}'::jsonb, 'visible_at_ms', 4102444800000)));
SELECT * FROM test.inr_arrived;
SELECT activity_id, visible_at AT TIME ZONE 'UTC' AS visible_at FROM inr_b.work_items;
-- One that is refused refuses the call.
SELECT pg_temp.refused(format('SELECT inr_b.receive_intents(%L)', jsonb_build_array(pg_temp.intent(4, '4')) || v)) FROM unnest(ARRAY['7', '{}', '{"source_uuid":"x","intent_id":1,"queue":"worker","work_item":"{}"}',
    '{"source_uuid":"11111111-1111-4111-8111-11111111111g","intent_id":1,"queue":"worker","work_item":"{}"}', '{"source_uuid":"11111111-1111-4111-8111-111111111111","queue":"worker","work_item":"{}"}',
    '{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":0,"queue":"worker","work_item":"{}"}', '{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"tasks","work_item":"{}"}',
    '{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"worker"}', '{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"worker","work_item":"{}"}',
    '{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"worker","work_item":"{}","more":1}', '{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"worker","work_item":{"ActivityExecute":{}},"visible_at_ms":"x"}']::jsonb[]) AS v;
SELECT test.sqlstate($$SELECT inr_b.receive_intents('{}')$$), test.sqlstate(format('SELECT inr_b.receive_intents(%L)', (SELECT jsonb_agg(pg_temp.intent(n, '')) FROM generate_series(1, 10001) AS n)));
SELECT count(*) FROM inr_b.intents_received;
CALL pg_temp.clear();

-- IN-10: a paused queue intents lets the relay rest, nothing else: sending and receiving go on.
SELECT inr_a.pause_hub('intents', 'why');
SELECT pg_temp.send('inr_b', 'x', 1) > 0 AS sent;
SELECT pg_temp.relay(), inr_a.receive_intents(jsonb_build_array(pg_temp.intent(1, '1')));
SELECT attempts FROM inr_a.intents;
SELECT inr_a.resume_hub('intents'), inr_b.pause_hub('intents');
SELECT pg_temp.relay();
SELECT inr_b.resume_hub();
CALL pg_temp.clear();

-- IN-9, PO-9: what cannot be delivered stays, and after intent_retention goes to dead_letters, with all that a redrive needs.
SELECT belay.set_hub_option('inr_a', 'intent_retention', '1 hour');
SELECT inr_a.start_orchestration('O', '', 'src', '1', 0, 1000);
SELECT lock_token AS token FROM inr_a.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT inr_a.ack_orchestration_item(:'token', 1, '[]', '[{"ToHub":{"hub":"nowhere","item":{"ActivityExecute":{"name":"any"}}}}]', '[{"ToHub":{"hub":"nowhere","item":{"CancelInstance":{"instance":"x","reason":"1"}}}}, {"ToHub":{"hub":"nowhere","item":{"CancelInstance":{"instance":"x","reason":"2"}}}}]', '{"orchestration_name":"O","orchestration_version":"1"}', p_now_ms => 1000);
SELECT inr_a.send_to_hub('nowhere', 'orchestrator', '{"CancelInstance":{"instance":"x","reason":"3"}}', '2030-01-01 00:00:00+00') AS late \gset
SELECT rows FROM inr_a.reconcile('{intent_relay}', p_now_ms => 3599999);
SELECT rows FROM inr_a.reconcile('{intent_relay}', p_now_ms => 3601001);
SELECT queue, source_id - :late AS nr, instance_id, execution_id, activity_id, session_id, tag, work_item, attempt_count, reason, (detail::jsonb - 'source_uuid') AS detail, detail::jsonb ->> 'source_uuid' = (SELECT uuid::text FROM inr_a.belay_hub) AS uuid,
       enqueued_at AT TIME ZONE 'UTC' AS enqueued_at, dead_at AT TIME ZONE 'UTC' AS dead_at FROM inr_a.list_dead_letters();
SELECT target_instance, attempts FROM inr_a.intents;
SELECT queue, reason, items FROM inr_a.dead_letter_summary;
SELECT pg_temp.relay(3610);
SELECT source_id - :late AS nr, attempt_count, detail::jsonb -> 'visible_at_ms' AS visible_at_ms, detail::jsonb ->> 'last_error' AS last_error FROM inr_a.list_dead_letters() ORDER BY id DESC LIMIT 1;
-- The instance is one of another hub: deleting an instance of that name here leaves it alone, and explains nothing about it.
SELECT inr_a.start_orchestration('O', '', 'x', '1', 0, 1000);
SELECT reason FROM inr_a.explain_fetch('x', p_now_ms => 500);
SELECT * FROM inr_a.delete_instances_atomic('{x,src}', true);
SELECT count(*) FROM inr_a.dead_letters;
-- PO-11, PO-12: a redrive makes it an intent again, with its old key and a new created time. What was delivered before is not delivered again.
CREATE TEMP TABLE dead AS SELECT id, source_id FROM inr_a.dead_letters;
SELECT inr_a.redrive_dead_letter(id) = source_id AS old_id FROM dead ORDER BY id LIMIT 1;
SELECT inr_a.redrive_dead_letters('{"queue":"intent","instance_id":"x"}');
SELECT intent_id - :late AS nr, source_instance, target_hub, queue, target_instance, visible_at AT TIME ZONE 'UTC' AS visible_at, created_at > now() - interval '1 minute' AS new_time, attempts, last_error, source_uuid = (SELECT uuid FROM inr_a.belay_hub) AS own FROM inr_a.intents ORDER BY intent_id;
SELECT count(*) FROM inr_a.dead_letters;
ALTER SCHEMA inr_c RENAME TO nowhere;
INSERT INTO nowhere.intents_received SELECT uuid, :late, now() FROM inr_a.belay_hub;
SELECT pg_temp.relay();
SELECT string_agg(work_item::json #>> '{CancelInstance,reason}', ' ' ORDER BY id) FROM nowhere.messages;
SELECT count(*) FROM nowhere.work_items;
SELECT count(*) FROM nowhere.intents_received;
ALTER SCHEMA nowhere RENAME TO inr_c;
-- One whose detail was changed by hand is not put back; nor is a target or queue invented for it.
SELECT pg_temp.send('nowhere', 'x', 1) > 0 AS sent;
SELECT pg_temp.relay(), pg_temp.relay(3610);
UPDATE inr_a.dead_letters SET detail = '{"target_hub":"inr_b"}';
SELECT test.error(format('SELECT inr_a.redrive_dead_letter(%s)', id)) LIKE '55000: dead letter % does not tell where it was sent%' AS refused FROM inr_a.dead_letters;
UPDATE inr_a.dead_letters SET detail = 'nonsense';
SELECT test.sqlstate(format('SELECT inr_a.redrive_dead_letter(%s)', id)) FROM inr_a.dead_letters;
SELECT inr_a.discard_dead_letter(id) FROM inr_a.dead_letters;
SELECT test.sqlstate('SELECT inr_a.redrive_dead_letter(1)');
CALL pg_temp.clear();

-- IN-11: keys that arrived are kept for the target's intent_retention, and then forgotten by the duty outbox_retention.
SELECT belay.set_hub_option('inr_b', 'max_clock_skew', '0'), belay.set_hub_option('inr_b', 'intent_retention', '10 s');
INSERT INTO inr_b.intents_received SELECT :'u1', n, to_timestamp(n) FROM generate_series(1, 3) AS n;
SELECT s, (SELECT rows FROM inr_b.reconcile('{outbox_retention}', p_now_ms => s * 1000)) FROM unnest('{11,12,20}'::bigint[]) AS s;
INSERT INTO inr_b.intents_received SELECT :'u1', n, to_timestamp(1) FROM generate_series(1, 2500) AS n;
SELECT rows FROM inr_b.reconcile('{outbox_retention}', p_now_ms => 20000);
SELECT count(*) FROM inr_b.intents_received;

-- IN-7: one transaction: what is rolled back is as if it had never been.
BEGIN;
SELECT pg_temp.send('inr_b', 'x', 1) > 0 AS sent;
SELECT pg_temp.relay();
SELECT * FROM test.inr_arrived;
ROLLBACK;
SELECT count(*) FROM inr_a.intents;
SELECT count(*) FROM inr_b.messages;
-- A hub may send to itself.
SELECT inr_a.send_to_hub('inr_a', 'worker', '{"ActivityExecute":{"name":"own"}}') > 0 AS sent;
SELECT pg_temp.relay();
SELECT work_item FROM inr_a.work_items;
-- IN-12: code that the target's owner attaches to the tables runs with that owner's rights, not with those of the source's owner or the relay.
SET ROLE regress_belay_inr_b;
CREATE TABLE inr_b.who (who name);
CREATE FUNCTION inr_b.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO inr_b.who VALUES (current_user); RETURN new; END $$;
CREATE TRIGGER spy BEFORE INSERT ON inr_b.intents_received FOR EACH ROW EXECUTE FUNCTION inr_b.spy();
RESET ROLE;
SET ROLE regress_belay_inr_a;
CREATE TABLE inr_a.who (who name);
CREATE FUNCTION inr_a.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO inr_a.who VALUES (current_user); RETURN old; END $$;
CREATE TRIGGER spy BEFORE DELETE ON inr_a.intent_queue FOR EACH ROW EXECUTE FUNCTION inr_a.spy();
RESET ROLE;
SELECT pg_temp.send('inr_b', 'x', 1) > 0 AS sent;
SELECT pg_temp.relay();
SELECT who FROM inr_a.who UNION ALL SELECT who FROM inr_b.who;
-- A trigger that makes the deletion vanish leaves the intent undelivered rather than delivered for ever.
SET ROLE regress_belay_inr_a;
CREATE OR REPLACE FUNCTION inr_a.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
RESET ROLE;
SELECT pg_temp.send('inr_b', 'x', 2) > 0 AS sent;
SELECT pg_temp.relay();
SELECT attempts, last_error FROM test.inr_waiting;
SELECT count(*) FROM inr_b.messages;

DROP VIEW test.inr_arrived, test.inr_waiting;
SELECT belay.drop_hub('inr_a', true), belay.drop_hub('inr_b', true), belay.drop_hub('inr_c', true);
CALL test.drop_role('regress_belay_inr_a');
CALL test.drop_role('regress_belay_inr_b');
