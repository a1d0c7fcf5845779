-- A wait for queues of several hubs: what a worker of a family does.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;  -- without shared memory it polls, and says so

SELECT belay.create_hub('wh_a'), belay.create_hub('wh_b'), belay.create_hub('wh.c');
CREATE TEMP TABLE item AS SELECT '{"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n","input":""}}'::text AS item;

-- SO-65: a queue with the name of a hub before it is a queue of that hub, whichever one's procedure is called.
CALL wh_a.wait_for_work('{wh_a.worker,wh_b.worker,wh.c.worker,wh_b.queue:mail,wh_b.owner:me,wh.c.outbox}', 0);
SELECT wh_b.enqueue_worker_work(item) FROM item;
CALL wh_a.wait_for_work('{worker,wh_b.worker}', 0);
CALL wh_b.wait_for_work('{wh_a.worker,wh_b.worker}', 0);
SELECT wh_b.send('mail') IS NOT NULL AS sent;
CALL wh_a.wait_for_work('{wh_a.queue:*,wh_b.queue:mail}', 0);
SELECT "wh.c".send('a.worker') IS NOT NULL AS sent;
CALL wh_a.wait_for_work('{wh_b.orchestrator,wh.c.queue:a.worker}', 0);
-- A queue without a hub is the procedure's own, also if its name has a dot.
CALL wh_a.wait_for_work('{queue:wh_b.worker}', 0);

-- SO-65: rights are those of each hub, and each hub has to be here.
\set VERBOSITY sqlstate
CALL test.create_owner('regress_belay_wh');
SELECT belay.grant_hub('wh_a', 'regress_belay_wh', 'worker'), belay.grant_hub('wh_b', 'regress_belay_wh', 'client');
SET ROLE regress_belay_wh;
CALL wh_a.wait_for_work('{worker,wh_b.instance:i}', 0);
CALL wh_a.wait_for_work('{worker,wh_b.worker}', 0);
CALL wh_a.wait_for_work('{wh.c.worker}', 0);
RESET ROLE;
CALL wh_a.wait_for_work('{worker,wh_none.worker}', 0);
CALL wh_a.wait_for_work('{worker,.worker}', 0);
CALL wh_a.wait_for_work('{worker,wh_b.none}', 0);
CALL wh_a.wait_for_work('{worker,wh_b.queue:}', 0);
CALL wh_a.wait_for_work('{worker,wh_b.worker:x}', 0);
SELECT belay.set_hub_place('wh_b', 'other', 5432);
CALL wh_a.wait_for_work('{worker,wh_b.worker}', 0);
SELECT belay.remove_hub_place('wh_b');

-- 256 queues are the most.
SELECT array_agg('wh_b.owner:' || n) AS many FROM generate_series(1, 256) AS n \gset
CALL wh_a.wait_for_work(:'many', 0);
CALL wh_a.wait_for_work(:'many'::text[] || '{worker}', 0);

SELECT belay.drop_hub(h, true) FROM unnest('{wh_a,wh_b,wh.c}'::text[]) AS h;
CALL test.drop_role('regress_belay_wh');
