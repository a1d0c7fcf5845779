-- Which tasks a claim finds: queues, capabilities, slots, pauses, keys. What it costs is in task_cost.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_claim');
SELECT belay.set_hub_option('task_claim', 'max_clock_skew', '0');
SET search_path = task_claim, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
-- A claim, undone: the numbers of the tasks, in order.
CREATE FUNCTION pg_temp.would(queues text[] DEFAULT NULL, caps text[] DEFAULT '{}', most int DEFAULT 100, slots int[] DEFAULT NULL, now_ms bigint DEFAULT 1000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
    BEGIN
        SELECT string_agg(pg_temp.n(task_id)::text, ' ') INTO found FROM task_claim.claim_tasks('w', 'i', queues, caps, 1000, most, slots, now_ms);
        RAISE EXCEPTION SQLSTATE 'UNDO0';
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
        RETURN found;
    END;
END $$;
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('task_id', pg_temp.id(n::int), 'queue', queue, 'priority', priority, 'capabilities', caps)) FROM (VALUES
    (1, 'a', 0, '[]'::jsonb), (2, 'a', 5, '["gpu"]'), (3, 'a', 3, '["gpu", "eu"]'), (4, 'b', 4, '[]'), (5, 'b', 9, '["eu"]'), (6, 'c', 1, '[]'), (7, 'a', 0, '[]'), (8, 'b', 9, '["EU"]')) AS v (n, queue, priority, caps)), 1000);
-- TQ-1 and TQ-2: one order over all queues; exactly the sets that lie within the capabilities.
SELECT pg_temp.would() AS plain, pg_temp.would(caps => '{gpu}') AS gpu, pg_temp.would(caps => '{eu,gpu,x}') AS both, pg_temp.would('{a}') AS a, pg_temp.would('{b,a,b}', '{eu}') AS b_a_eu, pg_temp.would('{none}') AS none, pg_temp.would('{}') AS empty;
SELECT pg_temp.would(most => 2) AS two, pg_temp.would('{a,c}', '{gpu}', 3) AS three;
-- TQ-3: a paused queue, a paused hub.
SELECT pause_queue('b'); SELECT pg_temp.would() AS without_b, pg_temp.would('{b}') AS b; SELECT paused FROM queues WHERE name = 'b';
SELECT resume_queue('b'); SELECT pg_temp.would('{b}') AS b;
SELECT pause_hub('tasks', 'release day'); SELECT pg_temp.would() AS paused; SELECT resume_hub('tasks'); SELECT pg_temp.would('{c}') AS c;
-- TQ-4: slots.
SELECT belay.set_hub_option('task_claim', 'slot_count', '4');
SELECT pg_temp.would() AS plain, pg_temp.would(slots => '{}') AS none, cardinality(string_to_array(concat_ws(' ', pg_temp.would(slots => '{0}'), pg_temp.would(slots => '{1}'), pg_temp.would(slots => '{2,3}')), ' ')) AS all_of_them;
SELECT bool_and(pg_temp.would(slots => ARRAY[slot]) ~ ('\m' || pg_temp.n(id) || '\M')) AS each_in_its_own FROM tasks WHERE cap_set = 0;
SELECT task_id FROM claim_tasks('w', 'i', '{c}', p_now_ms => 1000, p_lease_ms => 86400000) \gset
SELECT belay.set_hub_option('task_claim', 'slot_count', '1');
SELECT count(*) FILTER (WHERE slot <> 0) FROM tasks;
-- Queues: set_queue changes what is given; the queue's policy lies under the task's.
SELECT set_queue('a', '{"policy":{"attempt_timeout_ms":77,"max_attempts":1},"retention_ms":5}');
SELECT set_queue('a', '{"paused":false}'); SELECT paused, policy, retention_ms FROM queues WHERE name = 'a';
SELECT set_queue('a', '{"retention_ms":null}'); SELECT retention_ms FROM queues WHERE name = 'a';
SELECT state FROM create_task('a', NULL, pg_temp.id(20), p_priority => 9000, p_policy => '{"max_attempts":2}', p_now_ms => 1000);
SELECT state FROM create_task('a', NULL, pg_temp.id(21), p_priority => 8999, p_policy => '{"attempt_timeout_ms":null}', p_now_ms => 1000);
SELECT pg_temp.n(task_id), attempt_deadline_ms FROM claim_tasks('w', 'i', '{a}', p_max_items => 2, p_now_ms => 1000);
SELECT (SELECT result FROM fail_task(pg_temp.id(20), 1, 'transient', p_now_ms => 1010)), (SELECT result FROM fail_task(pg_temp.id(21), 1, 'transient', p_now_ms => 1010));
SELECT test.refused($$SELECT task_claim.set_queue('a', '{"pause":true}')$$), test.refused($$SELECT task_claim.set_queue('a', '{"paused":1}')$$), test.refused($$SELECT task_claim.set_queue('a', '{"policy":{"x":1}}')$$), test.refused($$SELECT task_claim.set_queue('', '{}')$$);
-- A queue has at most 1000 sets.
INSERT INTO capability_sets SELECT 100000 + n, 'many', int4send(n), '{x}' FROM generate_series(1, 1000) AS n;
SELECT test.refused($$SELECT task_claim.create_task('many', p_capabilities => '{new}')$$);

-- TC-5: dedup keys.
CREATE FUNCTION pg_temp.keyed(n int, queue text, now_ms bigint, window_ms bigint DEFAULT NULL) RETURNS TABLE (n int, state text, created boolean) LANGUAGE sql AS $$
    SELECT pg_temp.n(task_id), state, created FROM task_claim.create_task(queue, NULL, pg_temp.id(n), p_dedup_key => 'k', p_dedup_window_ms => window_ms, p_now_ms => now_ms) $$;
SELECT * FROM pg_temp.keyed(31, 'd', 1000, 100); SELECT * FROM pg_temp.keyed(32, 'd', 1050); SELECT * FROM pg_temp.keyed(33, 'e', 1050);
SELECT * FROM pg_temp.keyed(34, 'd', 9000);  -- the window has passed, the task has not ended
SELECT effective FROM cancel_task(pg_temp.id(31), p_now_ms => 1060);
SELECT * FROM pg_temp.keyed(34, 'd', 1099); SELECT * FROM pg_temp.keyed(34, 'd', 1100, 0); SELECT queue, key, pg_temp.n(task_id), window_until_ms FROM dedup_keys ORDER BY queue;
SELECT effective FROM cancel_task(pg_temp.id(34), p_now_ms => 1100); SELECT * FROM pg_temp.keyed(35, 'd', 1100);
-- Id and key name different tasks: the key wins. An id that is known keeps the key free.
SELECT * FROM pg_temp.keyed(33, 'd', 1200);
SELECT pg_temp.n(task_id), state, created FROM create_task('d', NULL, pg_temp.id(33), p_dedup_key => 'free', p_now_ms => 1200); SELECT count(*) FROM dedup_keys WHERE key = 'free';
-- In a batch: one of two.
SELECT item, pg_temp.n(task_id), created FROM create_tasks('[{"queue":"d","dedup_key":"b","task_id":"00000000-0000-4000-8000-000000000042"},{"queue":"d","dedup_key":"b","task_id":"00000000-0000-4000-8000-000000000041"},{"queue":"d","dedup_key":"k"}]', 1200);
-- A rolled-back creation leaves the key free; a deleted task, too.
BEGIN; SELECT created FROM create_task('d', p_dedup_key => 'r', p_now_ms => 1200); ROLLBACK; SELECT created FROM create_task('d', NULL, pg_temp.id(50), p_dedup_key => 'r', p_now_ms => 1200);
SELECT effective FROM cancel_task(pg_temp.id(50), p_now_ms => 1200); SELECT delete_task(pg_temp.id(50)); SELECT created FROM create_task('d', p_dedup_key => 'r', p_now_ms => 1200);
SELECT * FROM check_tasks();

RESET search_path;
SELECT belay.drop_hub('task_claim', true);
