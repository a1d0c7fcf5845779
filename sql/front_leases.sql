-- Leases of the front door: one opaque text, and every text that is not the live lease of its task is QB001 and changes nothing.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('front_leases'), belay.create_hub('front_leases2');
SELECT belay.set_hub_option('front_leases', 'max_clock_skew', '0'), belay.set_hub_option('front_leases2', 'max_clock_skew', '0');
SET search_path = front_leases, public;
-- How each verb that takes a lease answers to a text: the same for all, or the table tells. Nothing may change.
CREATE FUNCTION pg_temp.verdict(lease text, at text DEFAULT '2020-01-01 12:00:00+00') RETURNS TABLE (verbs text, answer text) LANGUAGE plpgsql AS $$
DECLARE
    before text := test.content('front_leases');
    r record;
BEGIN
    PERFORM set_config('belay.now', at, true);
    RETURN QUERY
        SELECT string_agg(v.verb, ' ' ORDER BY v.nr), v.said
          FROM (SELECT c.verb, c.nr, regexp_replace(test.refused(format('SELECT front_leases.' || c.call, lease)), '"(task_id|lease_epoch|lease)":("[^"]*"|\d+)', '"\1":…', 'g') AS said
                  FROM (VALUES (1, 'extend', 'extend(%L)'), (2, 'complete', 'complete(%L)'), (3, 'fail', 'fail(%L, ''e'')'), (4, 'release', 'release(%L)'), (5, 'progress', 'progress(%L, 1)'),
                               (6, 'complete_and_receive', 'complete_and_receive(%L, NULL, ''q'')')) AS c (nr, verb, call)) AS v
         GROUP BY v.said ORDER BY min(v.nr);
    IF test.content('front_leases') <> before THEN
        RAISE EXCEPTION 'something has changed';
    END IF;
END $$;
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT send('q', '1') AS one, send('q', '2') AS two, send('q', '3') AS three \gset
SELECT id AS id1, lease AS lease1 FROM receive('q') \gset
SELECT lease AS lease2 FROM receive('q', lease => '1 h') \gset
SELECT front_leases2.send('q') IS NOT NULL;
SELECT lease AS foreign_lease FROM front_leases2.receive('q') \gset
COMMIT;
-- LE-1: at most 120 bytes, in the alphabet of base64url. Two leases of one task are never equal.
SELECT length(:'lease1'), :'lease1' ~ '^l[A-Za-z0-9_-]+$' AS is_opaque, :'lease1' <> :'lease2' AS differ;
-- LE-2: texts that are no lease: empty, cut, longer, with another character, 1 MB, a token of the worker queue.
SELECT v.* FROM (VALUES (''), (left(:'lease1', 59)), (:'lease1' || 'A'), (left(:'lease1', 59) || '='), (' ' || left(:'lease1', 59)), (upper(left(:'lease1', 1)) || substr(:'lease1', 2))) AS t (lease), LATERAL pg_temp.verdict(t.lease) AS v;
SELECT verbs, answer ~ '^QB001 {"code_detail":"malformed_lease","path":"lease","bytes":1048576,' AS refused FROM pg_temp.verdict(repeat('l', 1048576));
-- LE-3: a lease of another hub.
SELECT * FROM pg_temp.verdict(:'foreign_lease');
-- LE-4: forged: the task and epoch are right, the nonce is not. The last 22 characters are the nonce.
SELECT * FROM pg_temp.verdict(left(:'lease1', 38) || right(:'lease2', 22));
SELECT * FROM pg_temp.verdict(left(:'lease1', 59) || CASE right(:'lease1', 1) WHEN 'A' THEN 'B' ELSE 'A' END);
-- Expired, and not received again yet.
SELECT * FROM pg_temp.verdict(:'lease1', '2020-01-01 12:00:30+00');
-- Received again after it expired: the old lease is stale, the new one works.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:01:00+00';
SELECT id = :'id1' AS again, attempt, lease AS lease1b FROM receive('q', lease => '1 h') \gset
SELECT :'again' AS again, :attempt AS attempt, :'lease1b' <> :'lease1' AS differ;
COMMIT;
SELECT * FROM pg_temp.verdict(:'lease1', '2020-01-01 12:01:00+00');
-- LE-5: a transaction that received and rolled back leaves a lease that nothing accepts, even while the next one has the same epoch.
BEGIN;
SET LOCAL belay.dense_epochs = on;
SET LOCAL belay.now = '2020-01-01 12:01:00+00';
SELECT lease AS undone FROM receive('q') \gset
ROLLBACK;
BEGIN;
SET LOCAL belay.dense_epochs = on;
SET LOCAL belay.now = '2020-01-01 12:01:00+00';
SELECT lease AS lease3, left(:'undone', 38) = left(lease, 38) AS same_epoch FROM receive('q', lease => '1 h') \gset
SELECT :'same_epoch' AS same_epoch;
COMMIT;
SELECT * FROM pg_temp.verdict(:'undone', '2020-01-01 12:01:00+00');
-- DR-2: used twice. complete says so exactly, so that a client that lost its connection knows; nothing of the second transaction is committed.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:02:00+00';
SELECT complete(:'lease3', '"done"');
COMMIT;
SELECT * FROM pg_temp.verdict(:'lease3', '2020-01-01 12:02:00+00');
SELECT test.error(format('SELECT front_leases.complete(%L, ''"done"'')', :'lease3')) ~ E'was completed by this lease already\n.*"same_result":true}\nHINT: Do not write the results again' AS says_so;
-- A forged lease does not learn that the task was completed.
SELECT * FROM pg_temp.verdict(left(:'lease3', 38) || right(:'lease2', 22), '2020-01-01 12:02:00+00');
-- Ended by fail or release: gone as well.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:02:00+00';
SELECT fail(:'lease1b', 'x') IS NOT NULL AS retried, release(:'lease2');
COMMIT;
SELECT * FROM pg_temp.verdict(:'lease1b', '2020-01-01 12:02:00+00');
SELECT * FROM pg_temp.verdict(:'lease2', '2020-01-01 12:02:00+00');
-- A new incarnation voids leases.
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:03:00+00';
SELECT lease AS old_lease FROM receive('q', lease => '1 h') \gset
COMMIT;
SELECT belay.new_incarnation('front_leases');
SELECT * FROM pg_temp.verdict(:'old_lease', '2020-01-01 12:03:01+00');
-- The nonce is in no view and in no answer but receive's.
SELECT count(*) FROM tasks AS t, get_task(t.id) AS g WHERE g::text LIKE '%' || replace(t.lease_nonce::text, '-', '') || '%';
SELECT belay.drop_hub('front_leases', p_force => true), belay.drop_hub('front_leases2', p_force => true);
