-- serial: open transactions of others hold readers up where there is no shared memory
-- Events and subscriptions; events of topic instance.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('outbox');
SELECT belay.set_hub_option('outbox', 'max_clock_skew', '0');  -- these tests choose the time
-- What operators do is told in audit.sql.
SELECT belay.set_hub_option('outbox', 'events', 'completion,instance,lease.expired,lease.revoked');
DELETE FROM outbox.outbox_events; SELECT setval('outbox.outbox_events_position', 1, false);
CALL test.turn_helpers('outbox');

-- Reads a batch in brief; the places are kept in batch.
CREATE TEMP TABLE batch (subscription text, nr bigint, event_id text, upto text);
CREATE FUNCTION pg_temp.read(name text, now_ms bigint, most int DEFAULT 100, lease_ms bigint DEFAULT 1000)
RETURNS TABLE (event_id text, topic text, type text, subject text, details jsonb, at bigint) LANGUAGE sql AS $$
    DELETE FROM batch WHERE subscription = name;
    WITH r AS MATERIALIZED (SELECT * FROM outbox.read_events(name, most, lease_ms, now_ms)),
         kept AS (INSERT INTO batch SELECT name, row_number() OVER (), r.event_id, r.upto FROM r)
    SELECT r.event_id, r.topic, r.type, r.subject, r.details, r.occurred_at_ms FROM r
$$;
CREATE FUNCTION pg_temp.upto(name text, which bigint DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT upto FROM batch WHERE subscription = name AND nr = coalesce(which, (SELECT max(nr) FROM batch WHERE subscription = name))
$$;
CREATE FUNCTION pg_temp.done(name text, now_ms bigint, which bigint DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT test.error(format('SELECT outbox.ack_events(%L, %L, %s)', name, pg_temp.upto(name, which), now_ms))
$$;

---- what is written (25.4; EV-1, EV-2)

SELECT outbox.create_subscription('all');
SELECT outbox.start_orchestration('Orch', '', 'a', '1.2', p_now_ms => 10);
SELECT instance FROM pg_temp.fetch(20);
-- The ack that creates the row tells of it, with its parent.
CALL pg_temp.ack('a', 30, metadata => '{"orchestration_name": "Orch", "orchestration_version": "1.2", "parent_instance_id": "p"}');
SELECT outbox.raise_event('a', 'x', '', p_now_ms => 40);
SELECT instance FROM pg_temp.fetch(50);
-- A status that is not new, an ack without a status and a refused ack tell nothing.
CALL pg_temp.ack('a', 60, metadata => '{"orchestration_name": "Orch2", "orchestration_version": "1.2", "status": "Running"}');
SELECT test.sqlstate(format('SELECT outbox.ack_orchestration_item(%L, 1, NULL, NULL, NULL, %L, p_now_ms => 61)', pg_temp.token('a'), '{"status": "Failed"}'));
SELECT outbox.raise_event('a', 'x', '', p_now_ms => 62) FROM generate_series(1, 3);
SELECT instance FROM pg_temp.fetch(63);
CALL pg_temp.ack('a', 64, metadata => '{"status": "ContinuedAsNew"}');
SELECT outbox.raise_event('a', 'x', '', p_now_ms => 65);
SELECT instance FROM pg_temp.fetch(66);
-- The same status again tells nothing; that of an earlier execution neither.
CALL pg_temp.ack('a', 67, metadata => '{"status": "ContinuedAsNew"}');
SELECT outbox.raise_event('a', 'x', '', p_now_ms => 68);
SELECT instance FROM pg_temp.fetch(69);
CALL pg_temp.ack('a', 70, execution => 2, metadata => '{"status": "Failed"}');
SELECT outbox.raise_event('a', 'x', '', p_now_ms => 71);
SELECT instance FROM pg_temp.fetch(72);
CALL pg_temp.ack('a', 73, execution => 1, metadata => '{"status": "Completed"}');
SELECT outbox.raise_event('a', 'x', '', p_now_ms => 74);
SELECT instance FROM pg_temp.fetch(75);
CALL pg_temp.ack('a', 76, execution => 2, metadata => '{"status": "Completed"}');
SELECT * FROM pg_temp.read('all', 100);
SELECT pg_temp.done('all', 100);
-- A status without an instance row tells nothing: there is no instance.
SELECT outbox.start_orchestration('Orch', '', 'rowless', '1', p_now_ms => 101);
SELECT instance FROM pg_temp.fetch(102);
CALL pg_temp.ack('rowless', 103, metadata => '{"status": "Completed"}');
SELECT * FROM pg_temp.read('all', 104);
-- Deletion, one event for each instance; dead letters of each queue, with and without an instance.
SELECT * FROM outbox.delete_instances_atomic(ARRAY['a', 'rowless', 'nobody'], true);
SELECT event_id, topic, type, subject, details FROM pg_temp.read('all', 105);
SELECT pg_temp.done('all', 105);
SELECT belay.set_hub_option('outbox', 'max_attempts', '1');
SELECT outbox.enqueue_worker_work('{"ActivityExecute": {"instance": "w", "execution_id": 1, "id": 7, "name": "n"}}', p_now_ms => 200);
SELECT outbox.enqueue_worker_work('{"ActivityExecute": {"execution_id": 1, "id": 7, "name": "n"}}', p_now_ms => 200);
SELECT outbox.start_orchestration('Orch', '', 'm', '1', p_now_ms => 200);
SELECT count(*) FROM outbox.fetch_work_items(1, NULL, NULL, NULL, 'any', 9, p_now_ms => 201);
SELECT instance FROM pg_temp.fetch(201, 1);
SELECT count(*) FROM outbox.fetch_work_items(1, NULL, NULL, NULL, 'any', 9, p_now_ms => 301);
SELECT count(*) FROM pg_temp.fetch(301, 1);
SELECT outbox.raise_event('orphan', 'x', '', p_now_ms => 302);
SELECT count(*) FROM pg_temp.fetch(303);
SELECT rows FROM outbox.reconcile('{orphan_messages}', p_now_ms => 302 + 86400001);
SELECT * FROM pg_temp.read('all', 400);
SELECT pg_temp.done('all', 400);
-- instance_retention deletes, and tells, with the time of the duty.
SELECT belay.set_hub_option('outbox', 'max_attempts', NULL);
SELECT belay.set_hub_option('outbox', 'instance_retention', '1 s');
SELECT outbox.start_orchestration('Orch', '', 'old', '1', p_now_ms => 401);
SELECT instance FROM pg_temp.fetch(402);
CALL pg_temp.ack('old', 403, metadata => '{"orchestration_name": "Orch", "orchestration_version": "1", "status": "Completed"}');
SELECT rows FROM outbox.reconcile('{instance_retention}', p_now_ms => 5000);
SELECT topic, type, subject, at FROM pg_temp.read('all', 5001);
SELECT pg_temp.done('all', 5001);

-- What the hub does not want is not written: no topic, no type.
SELECT belay.set_hub_option('outbox', 'events', 'instance.failed');
SELECT outbox.start_orchestration('Orch', '', 'quiet', '1', p_now_ms => 6000);
SELECT instance FROM pg_temp.fetch(6001);
CALL pg_temp.ack('quiet', 6002, metadata => '{"orchestration_name": "Orch", "orchestration_version": "1", "status": "Completed"}');
SELECT outbox.raise_event('quiet', 'x', '', p_now_ms => 6003);
SELECT instance FROM pg_temp.fetch(6004);
CALL pg_temp.ack('quiet', 6005, metadata => '{"status": "Failed"}');
SELECT outbox.delete_instance('quiet') IS NOT NULL;
SELECT type, subject FROM pg_temp.read('all', 6006);
SELECT pg_temp.done('all', 6006);
SELECT belay.set_hub_option('outbox', 'events', 'completion,instance,lease.expired,lease.revoked');
-- Fetch, ack, renew and abandon of the worker queue tell nothing.
SELECT outbox.enqueue_worker_work('{"ActivityExecute": {"execution_id": 1, "id": 7, "name": "n"}}', p_now_ms => 6100);
SELECT outbox.renew_work_item_lock(lock_token, 1000, p_now_ms => 6102), outbox.abandon_work_item(lock_token, NULL, p_now_ms => 6103) FROM outbox.fetch_work_item(1000, p_now_ms => 6101);
SELECT outbox.ack_worker(lock_token, p_now_ms => 6105) FROM outbox.fetch_work_item(1000, p_now_ms => 6104);
SELECT count(*) FROM pg_temp.read('all', 6106);

---- batches and leases (EV-5, EV-6)

-- Writes n events.
CREATE PROCEDURE pg_temp.tell(n int, prefix text, now_ms bigint) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..n LOOP
        INSERT INTO outbox.instances VALUES (prefix || i, 'Orch', '1', 1, NULL, NULL, 0, 'epoch', 'epoch');
        PERFORM outbox.delete_instance(prefix || i, true);
    END LOOP;
END $$;
CALL pg_temp.tell(5, 'b', 7000);
SELECT subject FROM pg_temp.read('all', 7001, 3);
-- While the lease lives no session gets events, not even the holder.
SELECT count(*) FROM outbox.read_events('all', 100, 1000, 8000);
-- Acking an earlier one keeps the rest leased. What was acked is rejected, though the lease is live:
-- the transaction of a handler that runs again after a lost answer of COMMIT must not commit again.
SELECT pg_temp.done('all', 7002, 2);
SELECT done LIKE 'QB001: the events were already acked up to this place%"gone"%' AS rejected
  FROM unnest(ARRAY[pg_temp.done('all', 7002, 2), pg_temp.done('all', 7002, 1)]) AS done;
SELECT count(*) FROM outbox.read_events('all', 100, 1000, 7003);
-- The lease is over at its deadline: QB001, and what was not acked comes again, with the same ids.
SELECT pg_temp.done('all', 8001);
SELECT event_id, upto AS old_upto FROM batch WHERE nr = 3 \gset
SELECT event_id = :'event_id' AS same, subject FROM pg_temp.read('all', 8001, 2);
-- The old lease does not open the new one.
SELECT test.error(format('SELECT outbox.ack_events(''all'', %L, 8002)', :'old_upto')) LIKE 'QB001: the batch of events was already acked%"gone"%' AS lost;
-- Acking the last one ends the lease; then it is over.
SELECT pg_temp.done('all', 8002), pg_temp.done('all', 8002) LIKE 'QB001%' AS over;
SELECT subject FROM pg_temp.read('all', 8003);
SELECT pg_temp.done('all', 8003);
SELECT count(*) FROM outbox.read_events('all', 100, 1000, 8004);
-- A rollback leaves things as they were.
CALL pg_temp.tell(1, 'c', 8000);
BEGIN;
SELECT subject FROM pg_temp.read('all', 8005);
SELECT pg_temp.done('all', 8005);
ROLLBACK;
BEGIN;
CALL pg_temp.tell(1, 'undone', 8000);
ROLLBACK;
SELECT subject FROM pg_temp.read('all', 8006);
SELECT pg_temp.done('all', 8006);
-- A transaction does not read its own events: they are not committed.
BEGIN;
CALL pg_temp.tell(1, 'own', 8000);
SELECT count(*) FROM pg_temp.read('all', 8007);
COMMIT;
SELECT subject FROM pg_temp.read('all', 8008);
SELECT pg_temp.done('all', 8008);

---- subscriptions

SELECT outbox.create_subscription('late');
SELECT outbox.create_subscription('early', p_from => 'start');
SELECT outbox.create_subscription('work', ARRAY['completion', 'lease'], 'start');
SELECT outbox.create_subscription('from_middle', ARRAY['instance'], pg_temp.upto('all'));
CALL pg_temp.tell(1, 'd', 9000);
SELECT subject FROM pg_temp.read('late', 9001);
SELECT count(*) > 10 AS from_the_start, bool_or(subject = 'd1') AS to_the_end FROM pg_temp.read('early', 9001);
SELECT subject FROM pg_temp.read('from_middle', 9001);
SELECT count(*) FROM pg_temp.read('work', 9001);
SELECT name, topics, lag_rows > 10 AS many, lag_rows = 0 AS none, lag_seconds >= 0 AS aged, lease_until, horizon_pid FROM outbox.subscriptions ORDER BY name;
-- One reader's place is not another's.
SELECT pg_temp.done('early', 9002), pg_temp.done('late', 9002);
SELECT subject FROM pg_temp.read('all', 9003);
SELECT pg_temp.done('all', 9003);
-- Dropped and made anew it begins anew; an old place does not open a new lease.
CALL pg_temp.tell(1, 'e', 9000);
SELECT subject FROM pg_temp.read('late', 9004);
SELECT outbox.drop_subscription('late');
SELECT outbox.create_subscription('late');
CALL pg_temp.tell(1, 'f', 9000);
SELECT pg_temp.done('late', 9005) LIKE 'QB001%' AS lost;
SELECT subject FROM pg_temp.read('late', 9006);

---- incarnations (EV-9)

SELECT count(*) FROM pg_temp.read('all', 9100);
SELECT belay.new_incarnation('outbox');
-- The lease is lost; events of the old incarnation come first, under their old ids.
SELECT pg_temp.done('all', 9101) LIKE 'QB001%other_incarnation%' AS lost;
CALL pg_temp.tell(2, 'g', 9000);
SELECT split_part(event_id, '-', 1) AS incarnation, subject FROM pg_temp.read('all', 9102, 3);
SELECT pg_temp.done('all', 9102, 1);
SELECT split_part(event_id, '-', 1) AS incarnation, subject FROM pg_temp.read('all', 20000, 3);
SELECT pg_temp.done('all', 20000);
SELECT count(*) FROM pg_temp.read('all', 20001);

---- a caller with one snapshot for all: places by xid (EV-4)

BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM outbox.instances;
SELECT subject FROM pg_temp.read('late', 30000, 1);
SELECT pg_temp.done('late', 30000);
COMMIT;
SELECT subject FROM pg_temp.read('late', 30001, 1);
SELECT pg_temp.done('late', 30001);
CALL pg_temp.tell(1, 'h', 9000);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT subject FROM pg_temp.read('late', 30002);
SELECT pg_temp.done('late', 30002);
COMMIT;
SELECT count(*) FROM pg_temp.read('late', 30003);
CALL pg_temp.tell(1, 'i', 9000);
SELECT subject FROM pg_temp.read('late', 30004);
SELECT pg_temp.done('late', 30004);

---- retention (EV-10)

-- Reads all there is. Without shared memory it takes later events to know that earlier ones are complete.
CREATE PROCEDURE pg_temp.catch_up(name text, now_ms bigint) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..3 LOOP
        CALL pg_temp.tell(1, 'z', 9000);
        COMMIT;
        PERFORM pg_temp.read(name, now_ms);
        PERFORM outbox.ack_events(name, pg_temp.upto(name), now_ms);
        COMMIT;
    END LOOP;
END $$;
-- What all have read goes; what one has not stays.
CALL pg_temp.catch_up('late', 31000);
SELECT rows FROM outbox.reconcile('{outbox_retention}', p_now_ms => 30000);
SELECT outbox.drop_subscription(name) FROM outbox.subscriptions WHERE name NOT IN ('all', 'late') ORDER BY name;
SELECT rows > 0 AS some FROM outbox.reconcile('{outbox_retention}', p_now_ms => 30000);
SELECT subject FROM outbox.outbox_events WHERE subject = 'h1';
CALL pg_temp.catch_up('all', 31001);
CALL pg_temp.catch_up('late', 31002);
SELECT rows > 0 AS some FROM outbox.reconcile('{outbox_retention}', p_now_ms => 30000);
SELECT DISTINCT subject FROM outbox.outbox_events WHERE subject <> 'z1';
-- Too old is gone, read or not.
CALL pg_temp.tell(1, 'j', 9000);
UPDATE outbox.outbox_events SET occurred_at_ms = 1000;
SELECT count(*) FROM outbox.reconcile('{outbox_retention}', p_now_ms => 1000 + 7 * 86400000::bigint);
SELECT count(*) > 0 AS kept FROM outbox.outbox_events;
SELECT rows > 0 AS some FROM outbox.reconcile('{outbox_retention}', p_now_ms => 1001 + 7 * 86400000::bigint);
SELECT count(*) FROM outbox.outbox_events;
SELECT count(*) FROM pg_temp.read('all', 32006);
-- Without subscriptions nothing has been read by all.
SELECT outbox.drop_subscription('all'), outbox.drop_subscription('late');
CALL pg_temp.tell(2, 'k', 9000);
SELECT rows FROM outbox.reconcile('{outbox_retention}', p_now_ms => 30000);
-- A subscription that wants none of many events does not look at them for ever.
SELECT outbox.create_subscription('picky', ARRAY['operator']);
CALL pg_temp.tell(300, 'l', 9000);
SELECT count(*) FROM pg_temp.read('picky', 40000);
SELECT count(*) FROM pg_temp.read('picky', 40000);
SELECT rows >= 300 AS some FROM outbox.reconcile('{outbox_retention}', p_now_ms => 30000);

---- bad arguments

SELECT * FROM test.expect('QB006',
    $$SELECT outbox.create_subscription(NULL)$$, $$SELECT outbox.create_subscription('')$$, $$SELECT outbox.create_subscription(repeat('x', 1025))$$,
    $$SELECT outbox.create_subscription('picky')$$, $$SELECT outbox.create_subscription('n', '{}')$$, $$SELECT outbox.create_subscription('n', '{instance,tasks}')$$,
    $$SELECT outbox.create_subscription('n', '{NULL}')$$, $$SELECT outbox.create_subscription('n', NULL, NULL)$$, $$SELECT outbox.create_subscription('n', NULL, 'then')$$,
    $$SELECT outbox.create_subscription('n', NULL, '')$$,
    $$SELECT outbox.drop_subscription(NULL)$$,
    $$SELECT outbox.read_events(NULL)$$, $$SELECT outbox.read_events('picky', 0)$$, $$SELECT outbox.read_events('picky', 10001)$$, $$SELECT outbox.read_events('picky', 1, 0)$$,
    $$SELECT outbox.read_events('picky', 1, NULL)$$, $$SELECT outbox.read_events('picky', 1, 1000, -1)$$,
    $$SELECT outbox.ack_events(NULL, 'x')$$, $$SELECT outbox.ack_events('picky', NULL)$$, $$SELECT outbox.ack_events('picky', 'x')$$);
SELECT * FROM test.expect('QB002', $$SELECT outbox.drop_subscription('nobody')$$, $$SELECT outbox.read_events('nobody')$$,
    format($$SELECT outbox.ack_events('nobody', %L)$$, pg_temp.upto('early')));
SELECT test.error($$SELECT outbox.create_subscription('picky')$$);
SELECT test.error($$SELECT outbox.create_subscription('n', '{instance,tasks}')$$);
SELECT test.error($$SELECT outbox.drop_subscription('nobody')$$);
SELECT test.error($$SELECT outbox.ack_events('picky', 'x')$$);
SELECT belay.set_hub_option('outbox', 'max_clock_skew', '1 s');
SELECT test.sqlstate($$SELECT outbox.read_events('picky', 1, 1000, 1)$$), test.sqlstate(format('SELECT outbox.ack_events(''picky'', %L, 1)', pg_temp.upto('early')));

---- rights: making and dropping is an operator's, reading a worker's, the view a monitor's

CREATE ROLE outbox_worker;
CREATE ROLE outbox_operator;
CREATE ROLE outbox_monitor;
SELECT belay.grant_hub('outbox', 'outbox_worker', 'worker'), belay.grant_hub('outbox', 'outbox_operator', 'operator'), belay.grant_hub('outbox', 'outbox_monitor', 'monitor');
SET ROLE outbox_worker;
SELECT count(*) FROM outbox.read_events('picky');
SELECT test.sqlstate($$SELECT outbox.create_subscription('n')$$), test.sqlstate($$SELECT outbox.drop_subscription('picky')$$), test.sqlstate('SELECT * FROM outbox.subscriptions'), test.sqlstate('SELECT * FROM outbox.outbox_events');
SET ROLE outbox_operator;
SELECT outbox.create_subscription('n'), outbox.drop_subscription('n');
SET ROLE outbox_monitor;
SELECT name FROM outbox.subscriptions;
SELECT test.sqlstate($$SELECT outbox.read_events('picky')$$), test.sqlstate('SELECT * FROM outbox.outbox_subscriptions');
RESET ROLE;
CALL test.drop_role('outbox_worker');
CALL test.drop_role('outbox_operator');
CALL test.drop_role('outbox_monitor');
SELECT belay.drop_hub('outbox', p_force => true);
