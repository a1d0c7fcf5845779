-- Finishing activities: ack_worker and ack_workers.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_ack');
SELECT belay.set_hub_option('wq_ack', 'max_clock_skew', '0');  -- these tests choose the time

-- test.error, without what differs from run to run.
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;
-- Adds activities of instance i with these ids and leases them from 1000 to 2000. lease tells their tokens.
CREATE TEMP TABLE lease (activity bigint, token text);
CREATE PROCEDURE pg_temp.start(VARIADIC activities bigint[]) LANGUAGE sql AS $$
    TRUNCATE wq_ack.worker_queue, wq_ack.orchestrator_queue, lease;
    SELECT wq_ack.enqueue_worker_items((
        SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
                   jsonb_build_object('instance', 'i', 'execution_id', 1, 'id', a))) ORDER BY nr)
          FROM unnest(activities) WITH ORDINALITY AS u (a, nr)), 1000);
    INSERT INTO lease SELECT (work_item::jsonb #>> '{ActivityExecute,id}')::bigint, lock_token
      FROM wq_ack.fetch_work_items(1000, 'o', p_max_items => 1000, p_now_ms => 1000);
$$;
CREATE FUNCTION pg_temp.token(activity bigint) RETURNS text LANGUAGE sql AS $$ SELECT token FROM lease WHERE lease.activity = $1 $$;
-- What is left, and what was sent.
CREATE VIEW test.wq_ack_work AS SELECT activity_id, lock_token IS NOT NULL AS leased, locked_until, attempt_count FROM wq_ack.work_items ORDER BY activity_id;
CREATE VIEW test.wq_ack_sent AS
    SELECT instance_id, work_item, (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms,
           (extract(epoch FROM created_at) * 1000)::bigint AS created_ms, attempt_count
      FROM wq_ack.orchestrator_queue ORDER BY id;

---- ack_worker

-- AW-1, AW-3: the row is deleted; without a completion nothing is sent.
CALL pg_temp.start(1, 2);
SELECT wq_ack.ack_worker(pg_temp.token(1), p_now_ms => 1500);
SELECT * FROM test.wq_ack_work;
SELECT * FROM test.wq_ack_sent;
-- AW-2: a completion goes to its instance, visible now, in the same unit; its text is kept as written. AW-6: the instance
-- need not exist.
SELECT wq_ack.ack_worker(pg_temp.token(2), 'i', ' {"ActivityCompleted":{"instance":"i","execution_id":1,"id":2,"result":"\u0000"}}', 1999);
SELECT * FROM test.wq_ack_work;
SELECT * FROM test.wq_ack_sent;

-- AW-1: live is locked_until > now: at 1999 above, not at 2000. The row stays, and can be fetched again.
CALL pg_temp.start(1);
SELECT pg_temp.error(format('SELECT wq_ack.ack_worker(%L, NULL, ''{"ActivityCompleted":{"instance":"i"}}'', 2000)', pg_temp.token(1)));
SELECT * FROM test.wq_ack_work;
SELECT * FROM test.wq_ack_sent;
SELECT attempt_count FROM wq_ack.fetch_work_item(1000, p_now_ms => 2000);
-- Finished once, it is gone.
CALL pg_temp.start(1);
SELECT wq_ack.ack_worker(pg_temp.token(1), p_now_ms => 1500);
SELECT pg_temp.error(format('SELECT wq_ack.ack_worker(%L, p_now_ms => 1500)', pg_temp.token(1)));

-- AW-2, AW-4: ActivityFailed is a completion, too. The instance is taken from it, not from the activity.
CALL pg_temp.start(1, 2, 3, 4);
SELECT wq_ack.ack_worker(pg_temp.token(1), NULL, '{"ActivityFailed":{"instance":"j","details":{}}}', 1500);
SELECT wq_ack.ack_worker(pg_temp.token(2), 'é"', '{"ActivityFailed":{"instance":"\u00e9\""}}', 1500);
-- Without a completion p_instance_id is ignored.
SELECT wq_ack.ack_worker(pg_temp.token(3), 'someone else', NULL, 1500);
SELECT instance_id, work_item FROM test.wq_ack_sent;

-- AW-2, AW-4: what is not a completion of that instance is refused, and the lease is kept (principle 5).
SELECT instance, left(completion, 60) AS completion, test.refused(format('SELECT wq_ack.ack_worker(%L, %L, %L, 1500)', pg_temp.token(4), instance, completion))
  FROM (VALUES ('j', '{"ActivityCompleted":{"instance":"i"}}'),
               ('', '{"ActivityCompleted":{"instance":"i"}}'),
               (NULL, ''), (NULL, 'done'), (NULL, '"done"'), (NULL, '[]'), (NULL, '{}'),
               (NULL, '{"ActivityCompleted":{"instance":"i"},"ActivityFailed":{"instance":"i"}}'),
               (NULL, '{"ActivityCompleted":"i"}'), (NULL, '{"ActivityCompleted":{}}'),
               (NULL, '{"ActivityCompleted":{"instance":null}}'), (NULL, '{"ActivityCompleted":{"instance":7}}'),
               (NULL, '{"ActivityFailed":{"instance":"a\u0000b"}}'), (NULL, '{"ActivityFailed":{"instance":""}}'),
               (NULL, format('{"ActivityFailed":{"instance":"%s"}}', repeat('x', 1025)))) AS case_ (instance, completion);
SELECT kind, test.refused(format('SELECT wq_ack.ack_worker(%L, NULL, ''{"%s":{"instance":"i"}}'', 1500)', pg_temp.token(4), kind))
  FROM unnest('{StartOrchestration,ActivityExecute,TimerFired,ExternalRaised,SubOrchCompleted,SubOrchFailed,CancelInstance,
                ContinueAsNew,QueueMessage,Other}'::text[]) AS kind;
-- QB006 comes before QB001: a bad completion is refused, regardless of the token.
SELECT test.sqlstate('SELECT wq_ack.ack_worker(''nonsense'', NULL, ''{}'', 1500)'), test.sqlstate('SELECT wq_ack.ack_worker(''nonsense'', NULL, NULL, 1500)');
SELECT test.sqlstate(format('SELECT wq_ack.ack_worker(%L, NULL, NULL, -1)', pg_temp.token(4)));
SELECT * FROM test.wq_ack_work;
SELECT count(*) AS sent FROM test.wq_ack_sent;
SELECT wq_ack.ack_worker(pg_temp.token(4), 'i', format('{"ActivityCompleted":{"instance":"i","result":"%s"}}', repeat('x', 1048576)), 1500);
SELECT instance_id, length(work_item) FROM test.wq_ack_sent WHERE length(work_item) > 1000000;

-- CC-11: a part of the caller's transaction. Rolled back, the lease is live again.
CALL pg_temp.start(1);
BEGIN;
SELECT wq_ack.ack_worker(pg_temp.token(1), NULL, '{"ActivityCompleted":{"instance":"i"}}', 1500);
ROLLBACK;
SELECT * FROM test.wq_ack_work;
SELECT count(*) AS sent FROM test.wq_ack_sent;
SELECT wq_ack.ack_worker(pg_temp.token(1), NULL, NULL, 1600);

-- An ack may be made by any session that has the token, in the transaction that fetched, too.
BEGIN;
CALL pg_temp.start(1);
SELECT wq_ack.ack_worker(pg_temp.token(1), NULL, NULL, 1600);
COMMIT;
SELECT * FROM test.wq_ack_work;

---- ack_workers

-- AK-1, AK-2: one row per element, in input order. A lost lease is told in its row, and undoes nothing.
CALL pg_temp.start(1, 2, 3);
CREATE TEMP TABLE acks AS
    SELECT jsonb_build_array(
               jsonb_build_object('lock_token', pg_temp.token(3), 'completion_json', '{"ActivityCompleted":{"instance":"i","id":3}}'::jsonb),
               jsonb_build_object('lock_token', 'nonsense', 'completion_json', '{"ActivityCompleted":{"instance":"i","id":99}}'),
               jsonb_build_object('lock_token', pg_temp.token(1), 'instance_id', 'i', 'completion_json', ' {"ActivityFailed":{"instance":"i","id":1,"details":"\u0000"}}'),
               jsonb_build_object('lock_token', NULL),
               jsonb_build_object('lock_token', pg_temp.token(2), 'instance_id', NULL, 'completion_json', NULL),
               -- AK-4: the first is acked, the second is lost.
               jsonb_build_object('lock_token', pg_temp.token(3), 'completion_json', '{"ActivityCompleted":{"instance":"i","id":98}}'::jsonb)) AS list;
SELECT a.index, a.acked, a.error, a.lock_token IS NOT DISTINCT FROM list -> a.index ->> 'lock_token' AS token
  FROM acks, wq_ack.ack_workers(list, 1500) AS a;
SELECT * FROM test.wq_ack_work;
-- AK-6: completions in input order, as objects or as strings (JS-7).
SELECT instance_id, work_item FROM test.wq_ack_sent;

-- AK-2: an expired lease is lost; the row stays. The lease of 2 was renewed.
CALL pg_temp.start(1, 2);
SELECT wq_ack.renew_work_item_lock(pg_temp.token(2), 1000, p_now_ms => 1500);
SELECT index, acked, error
  FROM wq_ack.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', pg_temp.token(1)),
                                            jsonb_build_object('lock_token', pg_temp.token(2))), 2000);
SELECT * FROM test.wq_ack_work;

-- Nothing to do.
SELECT count(*) FROM wq_ack.ack_workers(NULL);
SELECT count(*) FROM wq_ack.ack_workers('[]', 1500);

-- AK-3: one malformed element, or a completion of a wrong kind, refuses the call; nothing is changed.
CALL pg_temp.start(1);
SELECT element, test.refused(format('SELECT wq_ack.ack_workers(%L, 1500)',
           jsonb_build_array(jsonb_build_object('lock_token', pg_temp.token(1), 'completion_json', '{"ActivityCompleted":{"instance":"i"}}'),
                             element::jsonb)))
  FROM unnest(ARRAY['7', 'null', '[]', '"token"', '{}', '{"lock_token":7}', '{"lock_token":[]}', '{"token":"x"}',
                    '{"lock_token":"x","instance_id":7}', '{"lock_token":"x","completion_json":7}',
                    '{"lock_token":"x","completion_json":""}', '{"lock_token":"x","completion_json":{}}',
                    '{"lock_token":"x","completion_json":[{"ActivityCompleted":{"instance":"i"}}]}',
                    '{"lock_token":"x","completion_json":{"TimerFired":{"instance":"i"}}}',
                    '{"lock_token":"x","completion_json":"{\"ActivityExecute\":{\"instance\":\"i\"}}"}',
                    '{"lock_token":"x","completion_json":{"ActivityCompleted":{}}}',
                    '{"lock_token":"x","instance_id":"j","completion_json":{"ActivityCompleted":{"instance":"i"}}}']) AS element;
SELECT acks, test.refused(format('SELECT wq_ack.ack_workers(%L, 1500)', acks)) FROM unnest(ARRAY['{}', 'null', '7']) AS acks;
SELECT test.sqlstate('SELECT wq_ack.ack_workers(''[]'', -1)');
SELECT * FROM test.wq_ack_work;
SELECT count(*) AS sent FROM test.wq_ack_sent;
-- A field that belay does not know is ignored.
SELECT acked FROM wq_ack.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', pg_temp.token(1), 'worker', 'w-7')), 1500);

-- Many, in any order: all are acked, each once (AK-5 is shown by the isolation tests).
SELECT array_agg(n) AS thousand FROM generate_series(1, 1000) AS n \gset
CALL pg_temp.start(VARIADIC :'thousand');
SELECT count(*), count(DISTINCT index) AS indexes, bool_and(acked) AS acked
  FROM wq_ack.ack_workers((SELECT jsonb_agg(jsonb_build_object('lock_token', token, 'completion_json',
                               format('{"ActivityCompleted":{"instance":"i","id":%s}}', activity)) ORDER BY md5(activity::text)) FROM lease), 1500);
SELECT count(*) AS left_over FROM test.wq_ack_work;
SELECT count(*) AS sent, bool_and(id = activity) AS in_input_order
  FROM (SELECT (work_item::jsonb #>> '{ActivityCompleted,id}')::bigint AS id, row_number() OVER (ORDER BY m.id) AS nr FROM wq_ack.orchestrator_queue AS m) AS s
  JOIN (SELECT activity, row_number() OVER (ORDER BY md5(activity::text)) AS nr FROM lease) AS l USING (nr);

DROP VIEW test.wq_ack_work, test.wq_ack_sent;
SELECT belay.drop_hub('wq_ack');
