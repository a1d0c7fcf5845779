-- serial: with preloading, an injected fault strikes whichever session passes first.
-- Delivery that fails: fault points outbox.deliver and store.call.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('inf_a'), belay.create_hub('inf_b');
SELECT belay.set_hub_option('inf_a', 'max_clock_skew', '0');
CREATE FUNCTION pg_temp.relay(seconds numeric DEFAULT 3) RETURNS bigint LANGUAGE sql AS $$
    SELECT rows FROM inf_a.reconcile('{intent_relay}', p_now_ms => (extract(epoch FROM clock_timestamp()) * 1000 + seconds * 1000)::bigint)
$$;
CREATE FUNCTION pg_temp.send(instance text, n int) RETURNS bigint LANGUAGE sql AS $$
    SELECT inf_a.send_to_hub('inf_b', 'orchestrator', format('{"CancelInstance":{"instance":"%s","reason":"%s"}}', instance, n))
$$;
CREATE VIEW test.inf_arrived AS
    SELECT instance_id, string_agg(work_item::json #>> '{CancelInstance,reason}', ' ' ORDER BY id) AS arrived FROM inf_b.messages GROUP BY 1 ORDER BY 1;

-- IN-6: a delivery that fails is noted and tried again. The first fault breaks the batch, the second the first of its intents: its pair waits, the other has gone.
SELECT pg_temp.send('x', 1) < pg_temp.send('y', 1) AND pg_temp.send('x', 2) < pg_temp.send('y', 2) AS sent;
SELECT belay.inject_fault('outbox.deliver', 2);
SELECT pg_temp.relay();
SELECT target_instance, attempts, last_error, next_try_at IS NULL AS behind FROM inf_a.intents ORDER BY intent_id;
SELECT * FROM test.inf_arrived;
SELECT count(*) FROM belay.faults() WHERE count > 0;
SELECT pg_temp.relay(10);
SELECT * FROM test.inf_arrived;

-- Whichever store call fails: nothing is delivered twice, nothing is lost, and the order stays.
CREATE FUNCTION pg_temp.fail_each() RETURNS TABLE (failures bigint, arrived bigint, in_order boolean, rest bigint) LANGUAGE plpgsql AS $$
DECLARE
    done boolean := false;
BEGIN
    failures := 0;
    FOR n IN 0..200 LOOP
        TRUNCATE inf_b.orchestrator_queue, inf_b.intents_received, inf_a.intent_queue;
        PERFORM pg_temp.send('x', 1), pg_temp.send('y', 1), pg_temp.send('x', 2), pg_temp.send('x', 3);
        PERFORM belay.inject_fault('store.call', 1, n);
        BEGIN
            PERFORM pg_temp.relay();
        EXCEPTION WHEN internal_error THEN
            NULL;
        END;
        done := (SELECT count FROM belay.faults() WHERE point = 'store.call') > 0;
        PERFORM belay.inject_fault('store.call', 0);
        EXIT WHEN done;
        failures := failures + 1;
        PERFORM pg_temp.relay(10);
        arrived := least(arrived, (SELECT count(*) FROM inf_b.messages));
        rest := greatest(rest, (SELECT count(*) FROM inf_a.intents));
        in_order := in_order IS NOT false AND (SELECT bool_and(a.arrived = CASE a.instance_id WHEN 'x' THEN '1 2 3' ELSE '1' END) FROM test.inf_arrived AS a);
    END LOOP;
    failures := least(failures, 5);
    RETURN NEXT;
END $$;
SELECT * FROM pg_temp.fail_each();

-- A duty that fails as a whole changes nothing.
TRUNCATE inf_b.orchestrator_queue;
SELECT pg_temp.send('x', 1) > 0 AS sent;
SELECT belay.inject_fault('duty.intent_relay', 1), belay.inject_fault('duty.outbox_retention', 1);
SELECT test.error('SELECT pg_temp.relay()');
SELECT test.error($$SELECT inf_a.reconcile('{outbox_retention}')$$);
SELECT attempts FROM inf_a.intents;
-- A call that is cancelled has not failed at the intent.
CREATE FUNCTION inf_b.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN new; END $$;
CREATE TRIGGER slow BEFORE INSERT ON inf_b.intents_received FOR EACH ROW EXECUTE FUNCTION inf_b.slow();
SET statement_timeout = '200 ms';
SELECT pg_temp.relay();
RESET statement_timeout;
SELECT attempts, last_error FROM inf_a.intents;

DROP VIEW test.inf_arrived;
SELECT belay.drop_hub('inf_a', true), belay.drop_hub('inf_b', true);
