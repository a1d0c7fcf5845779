-- serial: counts buffers and updates of tables.
-- What the claim and the renewal of a task cost.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_cost');
SELECT belay.set_hub_option('task_cost', 'max_clock_skew', '0');
SET search_path = task_cost, public;

-- TD-2: a renewal touches no index.
CREATE FUNCTION pg_temp.not_hot() RETURNS bigint LANGUAGE sql AS $$ SELECT pg_stat_get_xact_tuples_updated('task_cost.tasks'::regclass) - pg_stat_get_xact_tuples_hot_updated('task_cost.tasks'::regclass) $$;
SELECT state FROM create_task('l', p_now_ms => 500);
SELECT task_id AS id, lease_epoch AS epoch FROM claim_tasks('w', 'i', p_lease_ms => 1000, p_now_ms => 1000) \gset
BEGIN;
SELECT pg_temp.not_hot() AS before \gset
SELECT lease_until_ms FROM renew_task(:'id', :epoch, 6000, 1500); SELECT lease_until_ms FROM progress_task(:'id', :epoch, 50, 'half', p_now_ms => 1500);
SELECT pg_temp.not_hot() - :before AS not_hot;
COMMIT;
SELECT count(*) FROM complete_task(:'id', :epoch, p_now_ms => 1500);

-- TQ-6: neither unfit, delayed, blocked nor finished tasks cost a claim anything.
CREATE FUNCTION pg_temp.buffers(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || statement INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
CREATE FUNCTION pg_temp.cost() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    claim CONSTANT text := 'SELECT * FROM task_cost.claim_tasks(''w'', ''i'', ''{a}'', ''{eu}'', p_now_ms => 1000)';
    least bigint;
    one bigint;
BEGIN
    FOR n IN 1..5 LOOP
        PERFORM task_cost.create_task('a', p_now_ms => 1000);
        one := pg_temp.buffers(claim);
        least := LEAST(least, one);
        DELETE FROM task_cost.tasks WHERE state = 'active';
    END LOOP;
    RETURN least;
END $$;
SELECT pg_temp.cost() AS alone \gset
SELECT count(*) FROM create_task('a', p_capabilities => '{gpu}', p_now_ms => 1000);
INSERT INTO tasks (id, slot, cap_set, priority, available_at_ms, created_at_ms, updated_at_ms, terminal_at_ms, state, queue, kind, tags, lease_epoch, start_delay_ms, attempt_index, attempt_leases, retry_count, reclaim_count, replay_count, held, pending_attempt)
SELECT gen_random_uuid(), 0, CASE WHEN n % 4 = 0 THEN s.id ELSE 0 END, 9000, CASE n % 4 WHEN 1 THEN 9000000000000 WHEN 0 THEN 0 END, 0, 0, CASE WHEN n % 4 = 3 THEN 0 END, (ARRAY['ready', 'delayed', 'blocked', 'skipped'])[n % 4 + 1], 'a', '', '{}', 0, 0, 0, 0, 0, 0, 0, false, 'initial'
  FROM generate_series(1, 20000) AS n, capability_sets AS s WHERE s.tokens = '{gpu}';
INSERT INTO tasks (id, slot, cap_set, priority, available_at_ms, created_at_ms, updated_at_ms, state, queue, kind, tags, lease_epoch, start_delay_ms, attempt_index, attempt_leases, retry_count, reclaim_count, replay_count, held, pending_attempt)
SELECT gen_random_uuid(), 0, 0, 9000, 0, 0, 0, 'ready', 'other', '', '{}', 0, 0, 0, 0, 0, 0, 0, false, 'initial' FROM generate_series(1, 5000) AS n;
SELECT state, queue, count(*) FROM tasks GROUP BY 1, 2 ORDER BY 1, 2;
-- An index of this size is at most a level deeper: a block more for each probe.
SELECT pg_temp.cost() - :alone <= 12 AS flat;
RESET search_path;
SELECT belay.drop_hub('task_cost', true);
