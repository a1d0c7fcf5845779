-- Slot leases: dispatchers of one queue share its slots.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('slot_acquire');
SELECT belay.set_hub_option('slot_acquire', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('slot_acquire', 'slot_count', '8');
SET search_path = slot_acquire, public;

-- SL-2: who comes alone gets every slot. The lease is 30 s long unless told otherwise.
SELECT acquire_slots('a', 'worker', p_now_ms => 1000);
SELECT * FROM slot_leases ORDER BY slot LIMIT 2;
-- SL-3, SL-4: a second one takes nothing away; when the first one renews, it gives up the half of it.
SELECT acquire_slots('b', 'worker', 8, 1000, 2000);
SELECT acquire_slots('a', 'worker', 8, 1000, 2001);
SELECT acquire_slots('b', 'worker', 8, 1000, 2002);
-- A renewal changes nothing but the deadline.
SELECT acquire_slots('a', 'worker', 8, 1000, 2500);
SELECT owner_id, array_agg(slot ORDER BY slot) AS slots, locked_until FROM slot_leases GROUP BY owner_id, locked_until ORDER BY owner_id;
-- SL-2: three owners of eight slots have three, three and two.
SELECT acquire_slots('c', 'worker', 8, 1000, 2600);
SELECT acquire_slots('a', 'worker', 8, 1000, 2601);
SELECT acquire_slots('b', 'worker', 8, 1000, 2602);
SELECT acquire_slots('c', 'worker', 8, 1000, 2603);
-- SL-5: b stops. Until its deadline its slots are its own; at it they go to the others.
SELECT acquire_slots('a', 'worker', 8, 2000, 3601);
SELECT acquire_slots('a', 'worker', 8, 2000, 3602);
SELECT acquire_slots('c', 'worker', 8, 2000, 3602);
SELECT owner, locked_until FROM slot_owners ORDER BY owner;
-- SL-5: a comes too late: c has taken everything, and a waits for its share as a newcomer does.
SELECT acquire_slots('c', 'worker', 8, 2000, 5601);
SELECT acquire_slots('c', 'worker', 8, 2000, 5602);
SELECT acquire_slots('a', 'worker', 8, 2000, 5603);
SELECT release_slots('c', 'worker');
-- SL-5: who comes too late and finds its slots untouched keeps them.
SELECT acquire_slots('a', 'worker', 8, 100, 5700) AS first, acquire_slots('a', 'worker', 8, 100, 9000) AS late;
-- SL-6: a release takes effect at once. Who has nothing may release it.
SELECT acquire_slots('b', 'worker', 8, 1000, 9001);
SELECT acquire_slots('a', 'worker', 8, 1000, 9002);
SELECT release_slots('a', 'worker');
SELECT release_slots('a', 'worker');
SELECT release_slots('nobody', 'orchestrator');
SELECT owner_id, count(*) FROM slot_leases GROUP BY owner_id;
SELECT acquire_slots('b', 'worker', 8, 1000, 9003);

-- SL-1: the two queues are shared by themselves.
SELECT acquire_slots('o', 'orchestrator', NULL, 1000, 9003);
-- SL-2: more owners than slots: some wait.
SELECT release_slots(owner, queue) FROM slot_owners;
SELECT n, acquire_slots('w' || n, 'worker', 8, 1000, 10000) FROM generate_series(1, 10) AS n;
SELECT n, acquire_slots('w' || n, 'worker', 8, 1000, 10000) FROM generate_series(1, 10) AS n;
SELECT count(DISTINCT slot), count(DISTINCT owner_id) FROM slot_leases;

-- SL-5: a new incarnation ends all these leases; a fresh owner finds everything free.
SELECT belay.new_incarnation('slot_acquire');
SELECT acquire_slots('x', 'worker', 8, 1000, 10001);
SELECT owner FROM slot_owners;

-- SL-8: the number of slots changes only when no owner is live; afterwards all come again. (Server's clock.)
SELECT acquire_slots('y', 'worker');
SELECT test.error($$SELECT belay.set_hub_option('slot_acquire', 'slot_count', '3')$$);
SELECT release_slots('y', 'worker');
SELECT belay.set_hub_option('slot_acquire', 'slot_count', '3');
SELECT count(*) FROM slot_owners;
SELECT acquire_slots('x', 'worker', 3);
-- A hub with a live owner is not dropped.
SELECT test.sqlstate($$SELECT belay.drop_hub('slot_acquire')$$);
SELECT release_slots('x', 'worker');

-- SL-7: what is refused.
SELECT test.error($$SELECT acquire_slots('a', 'worker', 4)$$);
SELECT test.error($$SELECT acquire_slots('a', 'tasks')$$);
SELECT test.error($$SELECT acquire_slots('', 'worker')$$);
SELECT test.error($$SELECT acquire_slots(NULL, 'worker')$$);
SELECT test.error($$SELECT acquire_slots(repeat('a', 1025), 'worker')$$);
SELECT * FROM test.expect('QB006',
    $$SELECT acquire_slots('a', NULL)$$, $$SELECT acquire_slots('a', 'intents')$$, $$SELECT acquire_slots('a', '')$$,
    $$SELECT acquire_slots('a', 'worker', 0)$$, $$SELECT acquire_slots('a', 'worker', -1)$$,
    $$SELECT acquire_slots('a', 'worker', 3, 0)$$, $$SELECT acquire_slots('a', 'worker', 3, -1)$$,
    $$SELECT acquire_slots('a', 'worker', 3, NULL)$$, $$SELECT acquire_slots('a', 'worker', 3, 1000, -1)$$,
    $$SELECT release_slots(NULL, 'worker')$$, $$SELECT release_slots('', 'worker')$$, $$SELECT release_slots('a', NULL)$$,
    $$SELECT release_slots('a', 'outbox')$$);
SELECT count(*) FROM slot_owners;
SELECT acquire_slots('a', 'worker', 3, 9223372036854775807, 1000);
SELECT locked_until FROM slot_owners;
SELECT release_slots('a', 'worker');
BEGIN READ ONLY;
SELECT * FROM test.expect('25006', $$SELECT acquire_slots('a', 'worker')$$, $$SELECT release_slots('a', 'worker')$$);
COMMIT;

-- The slots that were acquired are those to fetch from.
SELECT enqueue_worker_items(jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
       jsonb_build_object('name', n)), 'instance_id', 'i' || n)), 1000) FROM generate_series(1, 6) AS n;
SELECT acquire_slots('a', 'worker', 3, 1000, 1000) AS a, acquire_slots('b', 'worker', 3, 1000, 1000) AS b;
SELECT acquire_slots('a', 'worker', 3, 1000, 1000) AS a \gset
SELECT acquire_slots('b', 'worker', 3, 1000, 1000) AS b \gset
SELECT array_agg(work_item::jsonb #>> '{ActivityExecute,name}') FROM fetch_work_items(1000, p_max_items => 9, p_slots => :'a', p_now_ms => 1000);
SELECT array_agg(work_item::jsonb #>> '{ActivityExecute,name}') FROM fetch_work_items(1000, p_max_items => 9, p_slots => :'b', p_now_ms => 1000);

-- Rolled back, nothing was acquired.
BEGIN;
SELECT acquire_slots('z', 'worker', 3, 1000, 5000);
ROLLBACK;
SELECT owner FROM slot_owners ORDER BY owner;

RESET search_path;
SELECT belay.drop_hub('slot_acquire', p_force => true);
