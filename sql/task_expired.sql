-- TQ-7: a claim takes back leases that are over, without a duty.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_ex');
SELECT belay.set_hub_option('task_ex', 'max_clock_skew', '0');
SET search_path = task_ex, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.claim(now bigint, most int DEFAULT 1, lease bigint DEFAULT 100) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', right(task_id::text, 12)::int, attempt_kind), ', ' ORDER BY task_id) FROM task_ex.claim_tasks('w', 'w-1', '{l}', p_lease_ms => lease, p_max_items => most, p_now_ms => now) $$;
SELECT state FROM create_task('l', p_task_id => pg_temp.id(1), p_now_ms => 1000);
SELECT pg_temp.claim(1000);
-- A live lease is left alone; at its deadline it is over.
SELECT pg_temp.claim(1099);
SELECT reason FROM explain_claim(pg_temp.id(1));
SELECT pg_temp.claim(1100);
-- What ends with its lease has ended then: the policy decides, not the claim.
SELECT state FROM create_task('l', p_task_id => pg_temp.id(2), p_policy => '{"max_reclaims": 0}', p_now_ms => 2000);
SELECT state FROM create_task('l', p_task_id => pg_temp.id(3), p_policy => '{"on_lease_expiry": "retry", "backoff": {"kind": "fixed", "delay_ms": 500, "jitter": 0}}', p_now_ms => 2000);
SELECT pg_temp.claim(2000, 10);
SELECT pg_temp.claim(2200, 10);
SELECT right(id::text, 1) AS task, state, failure_class FROM tasks ORDER BY id;
SELECT pg_temp.claim(2700, 10);
-- A renewed lease is looked at again when it ends.
SELECT state FROM create_task('l', p_task_id => pg_temp.id(4), p_now_ms => 3000);
SELECT pg_temp.claim(3000, 10);
SELECT lease_until_ms FROM renew_task(pg_temp.id(4), 1, 5000, 3050);
SELECT pg_temp.claim(3500, 10);
SELECT pg_temp.claim(8050, 10);
-- Those of an earlier incarnation are over, regardless of their deadline.
SELECT pg_temp.claim(9000, 10, 3600000);
SELECT belay.new_incarnation('task_ex') > 0 AS newer;
SELECT pg_temp.claim(9100, 10);
-- More than a claim takes back at once: it goes on while it has found nothing.
SELECT count(*) FROM tasks WHERE state = 'active';
SELECT count(*) FROM create_tasks((SELECT jsonb_agg(jsonb_build_object('queue', 'other', 'task_id', pg_temp.id(100 + n))) FROM generate_series(1, 70) AS n), 10000);
SELECT count(*) FROM claim_tasks('w', 'w-1', '{other}', p_lease_ms => 100, p_max_items => 100, p_now_ms => 10000);
SELECT state FROM create_task('l', p_task_id => pg_temp.id(5), p_now_ms => 10000);
SELECT task_id = pg_temp.id(5) AS own FROM claim_tasks('w', 'w-1', '{l}', p_lease_ms => 150, p_max_items => 10, p_now_ms => 10000) ORDER BY 1;
SELECT pg_temp.claim(10200, 10) LIKE '%5 reclaim%' AS taken_back;
-- Where something is found, the others wait for the next claim.
SELECT count(*) FILTER (WHERE state = 'ready') BETWEEN 1 AND 70 AS some FROM tasks WHERE queue = 'other';
SELECT count(*) FROM claim_tasks('w', 'w-1', '{other}', p_max_items => 100, p_now_ms => 10200);
-- A clock that is ahead of the server's ends no lease.
SELECT count(*) FROM create_task('ahead', p_task_id => pg_temp.id(6));
SELECT count(*) FROM claim_tasks('w', 'w-1', '{ahead}', p_lease_ms => 60000);
SELECT count(*) FROM claim_tasks('w', 'w-1', '{ahead}', p_now_ms => (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 3600000);
SELECT * FROM check_tasks();
SELECT belay.drop_hub('task_ex', true);
