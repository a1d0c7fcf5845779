-- Limits of queues: how many tasks may be active at once, and how fast they are claimed.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_li');
SELECT belay.set_hub_option('task_li', 'max_clock_skew', '0');
SET search_path = task_li, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
CREATE FUNCTION pg_temp.make(queue text, first int, last int, priority int DEFAULT 0) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM generate_series(first, last) AS n, task_li.create_task(queue, NULL, pg_temp.id(n), p_priority => priority, p_now_ms => 1000) $$;
CREATE FUNCTION pg_temp.claim(queues text[], max int, now bigint DEFAULT 1000) RETURNS text LANGUAGE sql AS $$ SELECT coalesce(string_agg(pg_temp.n(task_id)::text, ' ' ORDER BY o), 'nothing') FROM task_li.claim_tasks('w', 'i', queues, p_lease_ms => 1000, p_max_items => max, p_now_ms => now) WITH ORDINALITY AS c(task_id, queue, a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t, u, o) $$;
CREATE FUNCTION pg_temp.epoch(n int) RETURNS bigint LANGUAGE sql AS $$ SELECT lease_epoch FROM task_li.tasks WHERE id = pg_temp.id(n) $$;
CREATE VIEW pg_temp.places AS SELECT queue, concurrency, active + (SELECT coalesce(sum(places), 0) FROM task_li.queue_moves AS r WHERE r.queue = l.queue) AS active FROM task_li.queue_limits AS l ORDER BY queue;

-- LI-1: no more tasks are active at once than concurrency allows, however many a claim asks for. Other queues go on.
SELECT set_queue('a', '{"concurrency": 3}');
SELECT pg_temp.make('a', 1, 9, 5), pg_temp.make('b', 11, 14);
SELECT pg_temp.claim('{a}', 2), pg_temp.claim('{a}', 2), pg_temp.claim('{a}', 2);
SELECT pg_temp.claim(NULL, 3);
SELECT * FROM pg_temp.places;
SELECT reason, detail FROM explain_claim(pg_temp.id(4), p_now_ms => 1000);
SELECT eligibility_state, public_state, blocking_reason FROM task_states WHERE task_id IN (pg_temp.id(4), pg_temp.id(14));
SELECT queue, ready, active, concurrency, rate_per_s FROM queue_depths ORDER BY queue;
-- LI-2: every end of a lease gives the place back: complete, fail, retry, delay, release, suspend, expiry, revoke, cancel, deadline, attempt timeout.
CREATE FUNCTION pg_temp.ends(how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    n int := (SELECT min(pg_temp.n(id)) FROM task_li.tasks WHERE state = 'active' AND queue = 'a');
    claimed text;
BEGIN
    EXECUTE format(how, pg_temp.id(n), pg_temp.epoch(n));
    claimed := pg_temp.claim('{a}', 9, 1500);
    RETURN format('%s: %s then %s claimed', split_part(how, '(', 1), (SELECT state FROM task_li.tasks WHERE id = pg_temp.id(n)), (SELECT cardinality(string_to_array(claimed, ' ')) - (claimed = 'nothing')::int));
END $$;
SELECT pg_temp.ends(how) FROM unnest(ARRAY['SELECT complete_task(%L, %s, p_now_ms => 1500)', 'SELECT fail_task(%L, %s, ''permanent'', p_now_ms => 1500)', 'SELECT fail_task(%L, %s, ''transient'', p_now_ms => 1500)', 'SELECT delay_task(%L, %s, 100000, p_now_ms => 1500)']) AS how;
SELECT pg_temp.make('a', 20, 40);
SELECT pg_temp.ends(how) FROM unnest(ARRAY['SELECT release_task(%L, %s, 100000, 1500)', 'SELECT suspend_task(%L, %s, ''{"waitpoints":[{"key":"k"}],"condition":"operator_only"}'', 1500)', 'SELECT revoke_lease(%L, p_now_ms => 1500) -- %s', 'SELECT cancel_task(%L, p_now_ms => 1500) -- %s']) AS how;
SELECT * FROM pg_temp.places;
SELECT rows FROM reconcile('{lease_expiry}', p_now_ms => 9000);
SELECT * FROM pg_temp.places;
SELECT * FROM check_tasks();
SELECT pg_temp.claim('{a}', 9, 9000);
-- A member of a batch that ends and is claimed in one transaction; a rollback changes nothing.
BEGIN;
SELECT result FROM complete_task((SELECT id FROM tasks WHERE state = 'active' AND queue = 'a' ORDER BY id LIMIT 1), (SELECT lease_epoch FROM tasks WHERE state = 'active' AND queue = 'a' ORDER BY id LIMIT 1), p_now_ms => 9000);
SELECT pg_temp.claim('{a}', 9, 9000);
ROLLBACK;
SELECT * FROM pg_temp.places;
SELECT count(*) FROM complete_and_claim((SELECT id FROM tasks WHERE state = 'active' AND queue = 'a' ORDER BY id LIMIT 1), (SELECT lease_epoch FROM tasks WHERE state = 'active' AND queue = 'a' ORDER BY id LIMIT 1), NULL, 'w', 'i', '{a}', p_max_items => 9, p_lease_ms => 1000, p_now_ms => 9000);
SELECT * FROM pg_temp.places;
-- LI-3: limits can be raised, lowered and removed while tasks run. Lowered below what runs, nothing is claimed until enough has ended.
SELECT set_queue('a', '{"concurrency": 5}');
SELECT pg_temp.claim('{a}', 9, 9000);
SELECT set_queue('a', '{"concurrency": 2}');
SELECT pg_temp.claim('{a}', 9, 9000);
SELECT count(*) FROM (SELECT id, lease_epoch FROM tasks WHERE state = 'active' AND queue = 'a' ORDER BY id LIMIT 4) AS t, LATERAL complete_task(t.id, t.lease_epoch, p_now_ms => 9000);
SELECT pg_temp.claim('{a}', 9, 9000);
SELECT * FROM pg_temp.places;
SELECT set_queue('a', '{"concurrency": 0}');
SELECT pg_temp.claim('{a}', 9, 9000);
SELECT set_queue('a', '{"concurrency": null}');
SELECT count(*) FROM queue_limits; SELECT count(*) FROM queue_moves; SELECT options -> 'limited_queues' AS limited FROM belay_hub;
SELECT pg_temp.claim('{a}', 4, 9000);
-- Set again: what runs already is counted.
SELECT set_queue('a', '{"concurrency": 7}');
SELECT * FROM pg_temp.places;
SELECT pg_temp.claim('{a}', 9, 9000);
SELECT * FROM check_tasks();
-- Without limits nothing is written for a queue.
SELECT queue, count(*) FROM queue_moves WHERE queue <> 'a' GROUP BY queue;
-- LI-4: check_tasks counts anew.
UPDATE queue_limits SET active = active + 1;
SELECT * FROM check_tasks();
UPDATE queue_limits SET active = active - 1;
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM queue_moves; DELETE FROM suspensions; DELETE FROM waitpoints;
SELECT set_queue('a', '{"concurrency": null}');

-- LI-5: a bucket: burst at once, then so many a second, by the time that has passed; fractions are kept, a clock that goes back takes nothing away.
SELECT set_queue('r', '{"rate_per_s": 4, "burst": 3}');
SELECT refilled_at_ms AS t FROM queue_limits \gset
SELECT pg_temp.make('r', 1, 30);
SELECT pg_temp.claim('{r}', 9, :t), pg_temp.claim('{r}', 9, :t);
SELECT reason, (detail ->> 'until_ms')::bigint - :t AS after FROM explain_claim(pg_temp.id(9), p_now_ms => :t) WHERE reason <> 'not_due';
SELECT pg_temp.claim('{r}', 9, :t + 249), pg_temp.claim('{r}', 9, :t + 250), pg_temp.claim('{r}', 9, :t + 600), pg_temp.claim('{r}', 9, :t + 400), pg_temp.claim('{r}', 9, :t + 750);
SELECT pg_temp.claim('{r}', 9, :t + 60000);
-- Given back is only the place, not the token.
SELECT count(*) FROM tasks AS x, LATERAL complete_task(x.id, x.lease_epoch, p_source => 'operator_override', p_now_ms => :t + 60000) WHERE x.state = 'active';
SELECT pg_temp.claim('{r}', 9, :t + 60000);
SELECT eligibility_state FROM task_states WHERE task_id = pg_temp.id(29);
-- Both limits together; a slow rate.
SELECT set_queue('r', '{"concurrency": 1, "rate_per_s": 0.5, "burst": null}');
SELECT concurrency, rate_per_s, burst FROM queue_limits;
UPDATE queue_limits SET refilled_at_ms = :t + 60000, tokens = 1;
SELECT pg_temp.claim('{r}', 9, :t + 60000);
SELECT reason FROM explain_claim(pg_temp.id(29), p_now_ms => :t + 60000) WHERE reason LIKE 'queue%';
SELECT result FROM complete_task((SELECT id FROM tasks WHERE state = 'active'), (SELECT lease_epoch FROM tasks WHERE state = 'active'), p_now_ms => :t + 60000);
SELECT reason FROM explain_claim(pg_temp.id(29), p_now_ms => :t + 60000) WHERE reason LIKE 'queue%';
SELECT pg_temp.claim('{r}', 9, :t + 61999), pg_temp.claim('{r}', 9, :t + 62000);
SELECT * FROM check_tasks();
-- LI-6: several queues in one claim: a full queue is passed over, the order of the others stays, and no queue gets more than its limit.
SELECT set_queue('x', '{"concurrency": 2}'), set_queue('y', '{"concurrency": 1}');
SELECT pg_temp.make('x', 51, 55, 9), pg_temp.make('y', 61, 65, 8), pg_temp.make('z', 71, 75, 7);
SELECT pg_temp.claim('{x,y,z}', 6), pg_temp.claim('{x,y,z}', 6), pg_temp.claim('{x,y}', 6);
SELECT * FROM pg_temp.places;
-- Capability sets and slots are streams of one queue: they share its limit.
SELECT set_queue('c', '{"concurrency": 3}');
SELECT count(*) FROM create_tasks('[{"queue":"c"},{"queue":"c","capabilities":["gpu"]},{"queue":"c","capabilities":["gpu"]},{"queue":"c"},{"queue":"c","capabilities":["cpu"]}]', 1000);
SELECT count(*) FROM claim_tasks('w', 'i', '{c}', '{cpu,gpu}', p_max_items => 2, p_now_ms => 1000);
SELECT count(*) FROM claim_tasks('w', 'i', '{c}', '{cpu,gpu}', p_max_items => 9, p_now_ms => 1000);
SELECT * FROM check_tasks();
-- LI-7: what is no limit is QB006.
SELECT s, test.refused(format('SELECT task_li.set_queue(''q'', %L)', s)) FROM unnest('{"{\"concurrency\": -1}","{\"concurrency\": 1.5}","{\"concurrency\": \"1\"}","{\"concurrency\": 1000001}","{\"rate_per_s\": 0}","{\"rate_per_s\": -1}","{\"rate_per_s\": true}","{\"burst\": 2}","{\"rate_per_s\": 1, \"burst\": 0.5}"}'::text[]) AS s;
SELECT count(*) FROM queues WHERE name = 'q';
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT set_queue('q', '{"concurrency": 1}');
ROLLBACK;
-- Other settings leave limits as they are; pause wins over quota.
SELECT set_queue('x', '{"retention_ms": 5}'), pause_queue('x');
SELECT concurrency FROM queue_limits WHERE queue = 'x';
SELECT eligibility_state, public_state, blocking_reason FROM task_states WHERE task_id = pg_temp.id(55);
RESET search_path;
SELECT belay.drop_hub('task_li', true);
