-- Slots: a fetch can be narrowed to a share of the queue.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_slots');
SELECT belay.set_hub_option('wq_slots', 'max_clock_skew', '0');  -- these tests choose the time

CREATE PROCEDURE pg_temp.add(name text, instance_id text, session_id text DEFAULT NULL, tag text DEFAULT NULL, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT wq_slots.enqueue_worker_items(jsonb_build_array(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
        jsonb_build_object('name', name)), 'instance_id', instance_id, 'session_id', session_id, 'tag', tag, 'delay_ms', delay_ms)), 1000)
$$;
-- The names of all rows that one fetch brings, in order. The next millisecond they are free again.
CREATE FUNCTION pg_temp.all(slots int[], now_ms bigint, owner text DEFAULT NULL, mode text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(work_item::jsonb #>> '{ActivityExecute,name}', ', ' ORDER BY nr)
      FROM wq_slots.fetch_work_items(1, owner, 9000, NULL, mode, 1000, NULL, slots, p_now_ms => now_ms) WITH ORDINALITY AS f (work_item, t, a, nr)
$$;
CREATE VIEW test.wq_slots AS
    SELECT work_item::jsonb #>> '{ActivityExecute,name}' AS name, instance_id, session_id, slot FROM wq_slots.worker_queue ORDER BY id;

-- With the default slot_count of 1 all rows are in slot 0.
CALL pg_temp.add('a', 'a');
CALL pg_temp.add('b', 'b');
SELECT * FROM test.wq_slots;
SELECT pg_temp.all(NULL, 1000) AS all, pg_temp.all('{0}', 1001) AS zero, pg_temp.all('{1}', 1002) AS one, pg_temp.all('{}', 1003) AS none;

-- A new slot_count gives queued rows their new slots in the same transaction: fnv1a64(instance id) mod slot_count; without an
-- instance the session id, without both the eight bytes of the queue id.
CALL pg_temp.add('c', 'c', 'a');
CALL pg_temp.add('d due 2000', 'd', NULL, NULL, 1000);
CALL pg_temp.add('e gpu', 'e', NULL, 'gpu');
CALL pg_temp.add('of session f', NULL, 'f');
CALL pg_temp.add('id 7', NULL);
SELECT belay.set_hub_option('wq_slots', 'slot_count', '4');
CALL pg_temp.add('g', 'g');
CALL pg_temp.add('h of session a', 'h', 'a');
CALL pg_temp.add('of session b', NULL, 'b');
CALL pg_temp.add('id 11', NULL, NULL, 'gpu');
CALL pg_temp.add('id 12', NULL);
SELECT * FROM test.wq_slots;
-- NULL: all slots, merged in the order of FW-3. Slots that do not exist, and NULLs, select nothing.
CREATE TEMP TABLE share (nr int, slots int[]);
INSERT INTO share VALUES (1, NULL), (2, '{0}'), (3, '{1}'), (4, '{2}'), (5, '{3}'), (6, '{3,0}'), (7, '{0,0,7,-1,NULL,65536}'), (8, '{0,1,2,3}'),
                         (9, '{}'), (10, '{NULL}'), (11, '{4}');
SELECT slots, pg_temp.all(slots, 1500 + 2 * nr) AS without_owner, pg_temp.all(slots, 1501 + 2 * nr, 'o') AS with_owner FROM share ORDER BY nr;
SELECT slots, pg_temp.all(slots, 2000 + nr, 'o', 'any') AS any_tag_one_due FROM share ORDER BY nr;
-- The other functions that fetch.
SELECT work_item, lock_token AS token FROM wq_slots.fetch_work_item(1000, p_slots => '{1}', p_now_ms => 3000) \gset
\echo :work_item
SELECT work_item FROM wq_slots.ack_and_fetch_work_item(:'token', NULL, '{"ActivityCompleted":{"instance":"c"}}', 1000, p_slots => '{3}', p_now_ms => 3000);
-- A message has the slot of its instance, too.
SELECT instance_id, slot FROM wq_slots.orchestrator_queue;

-- Delayed rows of several slots: (due time, id) over all of them.
TRUNCATE wq_slots.worker_queue, wq_slots.sessions;
CALL pg_temp.add('1 due 3000', 'a', NULL, NULL, 2000);
CALL pg_temp.add('2 due 2000', 'b', NULL, NULL, 1000);
CALL pg_temp.add('3 due 1500', 'c', NULL, NULL, 500);
CALL pg_temp.add('4', 'd');
SELECT pg_temp.all(NULL, 3000);

-- Not while a lease is live, by the server's clock; the lease and its token stay as they are.
TRUNCATE wq_slots.worker_queue;
CALL pg_temp.add('d', 'd');
SELECT lock_token AS token FROM wq_slots.fetch_work_item(600000) \gset
SELECT test.error($$SELECT belay.set_hub_option('wq_slots', 'slot_count', '3')$$);
SELECT test.option('wq_slots', 'slot_count');
SELECT wq_slots.renew_work_item_lock(:'token', 600000);
SELECT wq_slots.abandon_work_item(:'token');
-- An expired lease does not stand in the way, and its token is lost.
SELECT lock_token AS token FROM wq_slots.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT belay.set_hub_option('wq_slots', 'slot_count', '3');
SELECT * FROM test.wq_slots;
SELECT test.sqlstate(format('SELECT wq_slots.abandon_work_item(%L, p_now_ms => 2000)', :'token'));
SELECT pg_temp.all('{1}', 2000), pg_temp.all('{0,2}', 2001);
SELECT instance_id, slot FROM wq_slots.orchestrator_queue;
-- A bad value changes nothing; NULL is the default of 1 again. A rolled back change has not happened.
SELECT test.sqlstate(format('SELECT belay.set_hub_option(''wq_slots'', ''slot_count'', %L)', value)) FROM unnest('{0,-1,1025,x}'::text[]) AS value;
BEGIN;
SELECT belay.set_hub_option('wq_slots', 'slot_count', '1024');
SELECT * FROM test.wq_slots;
ROLLBACK;
SELECT * FROM test.wq_slots;
SELECT belay.set_hub_option('wq_slots', 'slot_count', NULL);
SELECT * FROM test.wq_slots;
SELECT pg_temp.all('{0}', 3000);
SELECT belay.set_hub_option('wq_slots', 'slot_count', '1024');
SELECT * FROM test.wq_slots;
SELECT pg_temp.all('{883}', 4000) AS here, pg_temp.all(NULL, 4001) AS all, pg_temp.all('{0}', 4002) AS not_here;

DROP VIEW test.wq_slots;
SELECT belay.drop_hub('wq_slots');
