-- serial: open transactions of others hold readers up where there is no shared memory
-- Events that retention deletes before a subscription has read them: the reader is told, and the view counts them.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('lost');
SELECT belay.set_hub_option('lost', 'max_clock_skew', '0'), belay.set_hub_option('lost', 'events', 'completion'),
       belay.set_hub_option('lost', 'event_retention', '1 s');
-- What operators do is told in audit.sql.
DELETE FROM lost.outbox_events; SELECT setval('lost.outbox_events_position', 1, false);
SELECT lost.create_subscription('all'), lost.create_subscription('operators', '{operator}'), lost.create_subscription('fast');

-- n events of topic completion, each at its own time.
CREATE FUNCTION pg_temp.finish(n int, at_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t record;
BEGIN
    FOR i IN 1..n LOOP
        PERFORM lost.create_task('q', p_now_ms => at_ms);
        SELECT task_id, lease_epoch INTO t FROM lost.claim_tasks('w', 'w-1', '{q}', p_now_ms => at_ms);
        PERFORM lost.complete_task(t.task_id, t.lease_epoch, p_now_ms => at_ms);
    END LOOP;
END $$;
CREATE TEMP VIEW lag AS SELECT name, lag_rows, lost_events FROM lost.subscriptions ORDER BY name;

-- EV-13: the lag is the age of the oldest event that was not read: these are from the year 1970.
SELECT pg_temp.finish(3, 1000);
SELECT name, lag_rows, lag_seconds > 86400 * 365 AS years FROM lost.subscriptions ORDER BY name;
-- "fast" reads in time.
SELECT upto FROM lost.read_events('fast', 100, 1000, 1500) ORDER BY event_id DESC LIMIT 1 \gset
SELECT lost.ack_events('fast', :'upto', 1500);

-- EV-14: retention deletes; only those that had not read, and wanted, the events lose some.
SELECT rows FROM lost.reconcile('{outbox_retention}', p_now_ms => 10000);
SELECT count(*) FROM lost.outbox_events;
TABLE lag;
SELECT event_id, topic, type, subject, details, occurred_at_ms FROM lost.read_events('operators', 100, 1000, 10000);
SELECT event_id, topic, type, subject, details, occurred_at_ms FROM lost.read_events('fast', 100, 1000, 10000);
-- The report is leased like an event, and comes again if it is not acknowledged.
SELECT event_id, topic, type, subject, details, occurred_at_ms FROM lost.read_events('all', 100, 1000, 10000);
SELECT count(*) FROM lost.read_events('all', 100, 1000, 10000);
-- More is lost meanwhile: one report says it all. What follows it is read.
SELECT pg_temp.finish(2, 12000);
SELECT rows FROM lost.reconcile('{outbox_retention}', p_now_ms => 20000);
SELECT pg_temp.finish(1, 20000);
TABLE lag;
SELECT event_id, type, details ->> 'count' AS lost, details ->> 'first_event_id' AS first, details ->> 'last_event_id' AS last FROM lost.read_events('all', 100, 1000, 20000);
SELECT upto FROM lost.read_events('all', 100, 1000, 30000) ORDER BY type DESC LIMIT 1 \gset
SELECT lost.ack_events('all', :'upto', 30000);
SELECT event_id, type FROM lost.read_events('all', 100, 1000, 40000);
TABLE lag;

-- A report alone can be acknowledged, and moves nothing.
SELECT lost.create_subscription('alone', NULL, 'start');
SELECT rows FROM lost.reconcile('{outbox_retention}', p_now_ms => 50000);
SELECT type, details ->> 'count' AS lost FROM lost.read_events('alone', 100, 1000, 50000);
SELECT upto FROM lost.read_events('alone', 100, 1000, 60000) \gset
SELECT lost.ack_events('alone', :'upto', 60000);
SELECT count(*) FROM lost.read_events('alone', 100, 1000, 60000);
SELECT pg_temp.finish(1, 60000);
SELECT type FROM lost.read_events('alone', 100, 1000, 60000);
TABLE lag;
-- With the subscription its gaps go.
SELECT rows FROM lost.reconcile('{outbox_retention}', p_now_ms => 90000);
SELECT lost.drop_subscription('all'), lost.drop_subscription('operators'), lost.drop_subscription('fast'), lost.drop_subscription('alone');
SELECT count(*) FROM lost.outbox_gaps;
SELECT belay.drop_hub('lost', p_force => true);
