-- Ending many leases and receiving in one call: settle_and_receive.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('front_settle'), belay.create_hub('front_settle2');
SELECT belay.set_hub_option('front_settle', 'max_clock_skew', '0'), belay.set_hub_option('front_settle2', 'max_clock_skew', '0'), belay.set_hub_option('front_settle', 'max_body_bytes', '1024');
SET search_path = front_settle, public;
CREATE TEMP TABLE leases (n serial, lease text);
-- Removes all tasks and makes these many, received at 12:00 for a minute; their leases are numbered.
CREATE PROCEDURE pg_temp.start(tasks int) LANGUAGE sql AS $$
    SELECT set_config('belay.now', '2020-01-01 12:00:00+00', true);
    TRUNCATE front_settle.tasks, front_settle.attempts, pg_temp.leases RESTART IDENTITY;
    SELECT FROM front_settle.send_many('q', ARRAY(SELECT to_jsonb(n) FROM generate_series(1, tasks) AS n));
    INSERT INTO pg_temp.leases (lease) SELECT lease FROM front_settle.receive('q', 1000, '1 min');
$$;
CREATE FUNCTION pg_temp.lease(n int) RETURNS text LANGUAGE sql STABLE AS $$ SELECT lease FROM pg_temp.leases AS l WHERE l.n = lease.n $$;
CREATE FUNCTION pg_temp.all_leases() RETURNS text[] LANGUAGE sql STABLE AS $$ SELECT array_agg(lease ORDER BY n) FROM pg_temp.leases $$;
CREATE FUNCTION pg_temp.at(hour text) RETURNS void LANGUAGE sql AS $$ SELECT FROM set_config('belay.now', '2020-01-01 ' || hour || '+00', true) $$;
CREATE TEMP VIEW task_now AS SELECT payload AS n, state, attempt_index AS attempt, retry_count AS retries, to_timestamp(available_at_ms / 1000.0) AT TIME ZONE 'UTC' AS available, result, failure_class AS class, failure_message AS message FROM front_settle.tasks ORDER BY payload;

-- DR-4: a row per lease, in the order of the array, each as the single function answers; then a row per received task. What was released can be received in the same call.
CALL pg_temp.start(5);
BEGIN;
SELECT pg_temp.at('12:00:10');
SELECT count(*) FROM send_many('q', '{6,7}', headers => '{"h": "v"}', priority => 5);
SELECT outcome_index AS i, error, reason, state, next_attempt_at AT TIME ZONE 'UTC' AS next, id IS NOT NULL AS id, queue, kind, payload, headers, attempt, length(lease) AS lease, lease_until AT TIME ZONE 'UTC' AS until
  FROM settle_and_receive(pg_temp.all_leases(), '{complete,fail,fail,release,release}', results => ARRAY['{"r": 1}', NULL, NULL, NULL, NULL]::jsonb[], errors => '{NULL,again,never,NULL,NULL}', classes => '{NULL,NULL,permanent,NULL,NULL}',
           delays => ARRAY[NULL, '5 min', NULL, '1 min', NULL]::interval[], queues => '{q,r}', max => 10, lease_for => '1 h', worker => 'w');
COMMIT;
SELECT * FROM task_now;
SELECT * FROM check_tasks();
-- Without outcomes all are completed, without results. Without queues, or with max 0, nothing is received, and the other arguments of the receive are not looked at. No lease at all: only a receive.
CALL pg_temp.start(3);
BEGIN;
SELECT pg_temp.at('12:00:10');
SELECT outcome_index AS i, error, state FROM settle_and_receive(ARRAY[pg_temp.lease(1)]);
SELECT send('q', '4') IS NOT NULL AS sent;
SELECT outcome_index AS i, error, state FROM settle_and_receive(ARRAY[pg_temp.lease(2)], queues => '{q}', max => 0, lease_for => NULL);
SELECT outcome_index AS i, payload FROM settle_and_receive('{}', queues => '{q}', max => 5);
COMMIT;
SELECT n, state, result FROM task_now;
-- The columns of a received task are those of receive.
SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute AS a WHERE a.attrelid = 'front_settle.received'::regclass AND a.attnum > 0
EXCEPT SELECT x.name, format_type(x.type, NULL) FROM pg_proc AS p, unnest(p.proargnames, p.proallargtypes, p.proargmodes) AS x (name, type, mode) WHERE p.oid::regproc::text = 'settle_and_receive' AND x.mode = 't';

-- A lease that is lost and an argument that is wrong concern their own row, which has SQLSTATE and code_detail of the single function's error. The task is leased as before.
CALL pg_temp.start(9);
BEGIN;
SELECT pg_temp.at('12:00:10');
SELECT release(pg_temp.lease(2), '1 h'), complete(pg_temp.lease(3), '3'), cancel((SELECT id FROM tasks WHERE payload = '4'));
SELECT front_settle2.send('q') IS NOT NULL AS sent;
SELECT lease AS foreign_lease FROM front_settle2.receive('q') \gset
COMMIT;
CREATE TEMP TABLE given (i serial, lease text, outcome text, result jsonb, error text, class text, delay interval);
INSERT INTO given (lease, outcome, result, error, class, delay) VALUES
    (pg_temp.lease(1), 'complete', '{"r": 1}', NULL, NULL, NULL), (NULL, 'complete', NULL, NULL, NULL, NULL), ('', 'complete', NULL, NULL, NULL, NULL), ('no lease', 'release', NULL, NULL, NULL, NULL),
    (left(pg_temp.lease(5), 59), 'complete', NULL, NULL, NULL, NULL), (repeat('l', 1048576), 'fail', NULL, 'e', NULL, NULL), (:'foreign_lease', 'complete', NULL, NULL, NULL, NULL),
    (left(pg_temp.lease(5), 38) || right(pg_temp.lease(6), 22), 'complete', NULL, NULL, NULL, NULL), (left(pg_temp.lease(3), 38) || right(pg_temp.lease(6), 22), 'complete', NULL, NULL, NULL, NULL),
    (pg_temp.lease(2), 'complete', NULL, NULL, NULL, NULL), (pg_temp.lease(3), 'complete', '3', NULL, NULL, NULL), (pg_temp.lease(3), 'fail', NULL, 'e', NULL, NULL), (pg_temp.lease(4), 'release', NULL, NULL, NULL, NULL),
    (pg_temp.lease(5), 'complete', to_jsonb(repeat('x', 2000)), NULL, NULL, NULL), (pg_temp.lease(6), 'fail', NULL, NULL, NULL, NULL), (pg_temp.lease(6), 'fail', NULL, 'e', 'odd', NULL), (pg_temp.lease(6), 'fail', NULL, 'e', '', NULL),
    (pg_temp.lease(6), 'fail', NULL, 'e', NULL, '-1 ms'), (pg_temp.lease(7), 'release', NULL, NULL, NULL, '-1 s'), (pg_temp.lease(7), 'release', NULL, NULL, NULL, '102 years'), (pg_temp.lease(8), 'fail', NULL, repeat('x', 9000), 'permanent', NULL),
    (pg_temp.lease(9), NULL, NULL, NULL, NULL, NULL);
-- What the single functions say, each of them undone.
CREATE FUNCTION pg_temp.single(g given) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text := 'settled';
    detail text;
BEGIN
    BEGIN
        CASE coalesce(g.outcome, 'complete')
            WHEN 'complete' THEN PERFORM front_settle.complete(g.lease, g.result);
            WHEN 'fail' THEN PERFORM front_settle.fail(g.lease, g.error, g.delay, coalesce(g.class, 'transient'));
            WHEN 'release' THEN PERFORM front_settle.release(g.lease, g.delay);
        END CASE;
        RAISE division_by_zero;
    EXCEPTION
        WHEN division_by_zero THEN NULL;
        WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
            answer := SQLSTATE || ' ' || (detail::json ->> 'code_detail');
    END;
    RETURN answer;
END $$;
BEGIN;
SELECT pg_temp.at('12:00:20');
CREATE TEMP TABLE alone AS SELECT g.i - 1 AS i, pg_temp.single(g) AS said FROM given AS g;
CREATE TEMP TABLE together AS SELECT s.* FROM (SELECT array_agg(lease ORDER BY i) AS leases, array_agg(outcome ORDER BY i) AS outcomes, array_agg(result ORDER BY i) AS results, array_agg(error ORDER BY i) AS errors,
    array_agg(class ORDER BY i) AS classes, array_agg(delay ORDER BY i) AS delays FROM given) AS g, front_settle.settle_and_receive(leases, outcomes, results, errors, classes, delays) AS s;
COMMIT;
SELECT outcome_index AS i, error, reason, state, next_attempt_at IS NOT NULL AS next, id IS NOT NULL AS id FROM together ORDER BY i;
SELECT a.*, t.error, t.reason FROM alone AS a JOIN together AS t ON t.outcome_index = a.i WHERE a.said <> coalesce(t.error || ' ' || t.reason, 'settled');
SELECT n, state, retries, result, class, length(message) AS message FROM task_now;
-- The same call once more, as after a lost answer: nothing happens twice.
SELECT md5(test.content('front_settle')) AS before \gset
BEGIN;
SELECT pg_temp.at('12:00:30');
SELECT outcome_index AS i, error, reason FROM settle_and_receive(ARRAY[pg_temp.lease(1), pg_temp.lease(8), pg_temp.lease(1)], '{complete,fail,release}', errors => '{NULL,e,NULL}');
COMMIT;
SELECT md5(test.content('front_settle')) = :'before' AS untouched;
-- One lease twice in a call: the first outcome counts. A lease that has expired is not accepted.
CALL pg_temp.start(3);
BEGIN;
SELECT pg_temp.at('12:00:30');
SELECT outcome_index AS i, error, reason, state FROM settle_and_receive(ARRAY[pg_temp.lease(1), pg_temp.lease(2), pg_temp.lease(1), pg_temp.lease(2)], '{complete,release,complete,complete}');
SELECT pg_temp.at('12:01:00');
SELECT outcome_index AS i, error, reason, state FROM settle_and_receive(ARRAY[pg_temp.lease(3)]);
COMMIT;
-- DR-5: arrays of other lengths, an outcome that is not recognized and wrong arguments of the receive reject the whole call (front_input has them all). Nothing changes.
CALL pg_temp.start(2);
SELECT md5(test.content('front_settle')) AS before \gset
SELECT test.error(format('SELECT front_settle.settle_and_receive(%L, ''{complete,suspend}'')', pg_temp.all_leases()));
SELECT test.error(format('SELECT front_settle.settle_and_receive(%L, ''{complete}'')', pg_temp.all_leases()));
SELECT test.error(format('SELECT front_settle.settle_and_receive(%L, queues => ''{q}'', max => 1001)', pg_temp.all_leases()));
SELECT md5(test.content('front_settle')) = :'before' AS untouched;
-- DR-1: the same rows as the detailed functions: one call may follow the other.
BEGIN;
SELECT pg_temp.at('12:00:10');
SELECT c.payload AS n, s.error, s.state FROM create_task('q', '"detailed"', p_now_ms => extract(epoch FROM timestamptz '2020-01-01 12:00:10+00')::bigint * 1000), receive('q') AS c, settle_and_receive(ARRAY[c.lease]) AS s;
COMMIT;
RESET search_path;
SELECT belay.drop_hub('front_settle', p_force => true), belay.drop_hub('front_settle2', p_force => true);
