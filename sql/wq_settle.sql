-- Settling many leases and fetching in one call: settle_and_fetch_work_items.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_settle');
SELECT belay.set_hub_option('wq_settle', 'max_clock_skew', '0');  -- these tests choose the time

-- Adds activities of instance i with these ids and leases them from 1000 to 2000. lease tells their tokens.
CREATE TEMP TABLE lease (activity bigint, token text);
CREATE PROCEDURE pg_temp.start(VARIADIC activities bigint[]) LANGUAGE sql AS $$
    TRUNCATE wq_settle.worker_queue, wq_settle.orchestrator_queue, wq_settle.dead_letters, lease;
    SELECT wq_settle.enqueue_worker_items((
        SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
                   jsonb_build_object('instance', 'i', 'execution_id', 1, 'id', a))) ORDER BY nr)
          FROM unnest(activities) WITH ORDINALITY AS u (a, nr)), 1000);
    INSERT INTO lease SELECT (work_item::jsonb #>> '{ActivityExecute,id}')::bigint, lock_token
      FROM wq_settle.fetch_work_items(1000, 'o', p_max_items => 1000, p_now_ms => 1000);
$$;
CREATE FUNCTION pg_temp.token(activity bigint) RETURNS text LANGUAGE sql AS $$ SELECT token FROM lease WHERE lease.activity = $1 $$;
CREATE FUNCTION pg_temp.completion(activity bigint) RETURNS text LANGUAGE sql AS $$
    SELECT format('{"ActivityCompleted":{"instance":"i","execution_id":1,"id":%s,"result":"r"}}', activity)
$$;
-- What is left, and what was sent.
CREATE VIEW test.wq_settle_work AS
    SELECT w.activity_id, w.lock_token IS NOT NULL AS leased, w.locked_until, w.attempt_count, q.due, q.last_error
      FROM wq_settle.work_items AS w JOIN wq_settle.worker_queue AS q USING (id) ORDER BY w.activity_id;
CREATE VIEW test.wq_settle_sent AS SELECT instance_id, work_item FROM wq_settle.orchestrator_queue ORDER BY id;

-- SW-1: one row per outcome, in the order of the arrays; then a row per item that was fetched. Completions are sent in that order.
CALL pg_temp.start(1, 2, 3);
SELECT wq_settle.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":4}}', p_now_ms => 1000);
SELECT outcome_index, error, reason, work_item, lock_token IS NOT NULL AS token, attempt_count
  FROM wq_settle.settle_and_fetch_work_items(ARRAY[pg_temp.token(3), pg_temp.token(1), pg_temp.token(2)],
           p_completions => ARRAY[pg_temp.completion(3), NULL, pg_temp.completion(2)],
           p_lock_timeout_ms => 1000, p_owner_id => 'o', p_max_items => 10, p_now_ms => 1500);
SELECT * FROM test.wq_settle_work;
SELECT * FROM test.wq_settle_sent;

-- SW-2: an abandon gives the item back: with a delay, without counting the attempt, with a reason.
CALL pg_temp.start(1, 2, 3, 4);
SELECT outcome_index, error, reason
  FROM wq_settle.settle_and_fetch_work_items(ARRAY[pg_temp.token(1), pg_temp.token(2), pg_temp.token(3), pg_temp.token(4)],
           ARRAY['abandon', 'abandon', 'abandon', 'ack'],
           p_delays_ms => ARRAY[NULL, 500, NULL, NULL], p_ignore_attempts => ARRAY[NULL, false, true, NULL],
           p_reasons => ARRAY[NULL, 'later', NULL, NULL], p_now_ms => 1500);
SELECT * FROM test.wq_settle_work;
-- What was given back without a delay can be fetched by the same call.
CALL pg_temp.start(1);
SELECT outcome_index, error, work_item IS NOT NULL AS item, attempt_count
  FROM wq_settle.settle_and_fetch_work_items(ARRAY[pg_temp.token(1)], ARRAY['abandon'], p_max_items => 1, p_now_ms => 1500);

-- SW-3: a lost lease, a completion that is none and a negative delay concern their own outcome alone. An item that was refused is
-- still leased.
CALL pg_temp.start(1, 2, 3, 4, 5, 6, 7);
SELECT wq_settle.ack_worker(pg_temp.token(7), p_now_ms => 1500);
SELECT outcome_index, error, reason
  FROM wq_settle.settle_and_fetch_work_items(
           ARRAY[pg_temp.token(1), pg_temp.token(2), 'nonsense', NULL, pg_temp.token(3), pg_temp.token(4), pg_temp.token(5), pg_temp.token(6),
                 pg_temp.token(7), pg_temp.token(1)],
           ARRAY['ack', 'ack', 'ack', 'abandon', 'ack', 'abandon', 'ack', 'ack', 'ack', 'abandon'],
           ARRAY[pg_temp.completion(1), '{"ActivityCompleted":{}}', NULL, NULL, 'no JSON', NULL, '{"TimerFired":{"instance":"i"}}',
                 '{"ActivityFailed":{"instance":""}}', NULL, NULL],
           ARRAY[NULL, NULL, NULL, NULL, NULL, -1, NULL, NULL, NULL, NULL]::bigint[], p_now_ms => 1500);
SELECT * FROM test.wq_settle_work;
SELECT * FROM test.wq_settle_sent;
-- An expired lease: its ack is lost; its abandon is accepted, as long as no other worker has the item.
CALL pg_temp.start(1, 2);
SELECT outcome_index, error, reason
  FROM wq_settle.settle_and_fetch_work_items(ARRAY[pg_temp.token(1), pg_temp.token(2)], ARRAY['ack', 'abandon'], p_now_ms => 2000);
SELECT * FROM test.wq_settle_work;

-- SW-4: without outcomes it is a fetch, without p_max_items it only settles; both may be absent.
CALL pg_temp.start(1);
SELECT * FROM wq_settle.settle_and_fetch_work_items('{}', p_now_ms => 1500);
SELECT * FROM wq_settle.settle_and_fetch_work_items(NULL, p_now_ms => 1500);
SELECT outcome_index, work_item, attempt_count FROM wq_settle.settle_and_fetch_work_items('{}', p_max_items => 5, p_now_ms => 2000);
-- The fetch is that of fetch_work_items: tags, sessions, slots and pauses hold.
CALL pg_temp.start(VARIADIC '{}');
SELECT wq_settle.enqueue_worker_items('[{"work_item":{"ActivityExecute":{"id":1,"tag":"a"}}}, {"work_item":{"ActivityExecute":{"id":2,"tag":"b"}}},
                                        {"work_item":{"ActivityExecute":{"id":3,"session_id":"s"}}}, {"work_item":{"ActivityExecute":{"id":4,"session_id":"t"}}}]', 1000);
SELECT work_item FROM wq_settle.settle_and_fetch_work_items('{}', p_tag_filter => '{b}', p_tag_mode => 'tags', p_max_items => 5, p_now_ms => 1500);
SELECT work_item FROM wq_settle.settle_and_fetch_work_items('{}', p_max_items => 5, p_now_ms => 1500);
SELECT work_item FROM wq_settle.settle_and_fetch_work_items('{}', p_owner_id => 'o', p_max_items => 5, p_max_new_sessions => 1, p_now_ms => 1500);
SELECT wq_settle.pause_hub('worker');
SELECT work_item FROM wq_settle.settle_and_fetch_work_items('{}', p_tag_mode => 'any', p_max_items => 5, p_now_ms => 1500);
SELECT wq_settle.resume_hub('worker');

-- SW-6: p_prefetch more are leased only if at least p_prefetch_threshold items are free that the fetch could take; also if nothing else is fetched.
CALL pg_temp.start(VARIADIC '{}');
SELECT wq_settle.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('id', n, 'tag', CASE WHEN n > 6 THEN 'a' END)))) FROM generate_series(1, 9) AS n), 1000);
CREATE FUNCTION pg_temp.taken(p_max int, p_prefetch int, p_threshold int, p_mode text DEFAULT 'default_only') RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v_taken bigint;
    BEGIN
        SELECT count(*) INTO v_taken FROM wq_settle.settle_and_fetch_work_items('{}', p_max_items => p_max, p_tag_mode => p_mode, p_prefetch => p_prefetch, p_prefetch_threshold => p_threshold, p_now_ms => 1500);
        RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = v_taken;  -- undoes the fetch
    EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
        RETURN v_taken;
    END
$$;
SELECT pg_temp.taken(2, 3, 6) AS long_enough, pg_temp.taken(2, 3, 7) AS too_short, pg_temp.taken(0, 3, 6) AS only_ahead, pg_temp.taken(0, 3, 7) AS nothing,
       pg_temp.taken(2, 0, 1) AS none_wanted, pg_temp.taken(2, 3, 9, 'any') AS all_tags, pg_temp.taken(2, 3, 10, 'any') AS all_tags_too_short, pg_temp.taken(0, 8, 1) AS what_there_is, pg_temp.taken(0, 3, 1, 'none') AS no_tags;

-- SW-6: items of sessions are such only if their session is the caller's, or new and within p_max_new_sessions. Here 4 are of a session of o, 80 of one of b, and 2 of each of two without an owner.
CALL pg_temp.start(VARIADIC '{}');
SELECT wq_settle.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('id', n, 'session_id', CASE WHEN n <= 5 THEN 'own' WHEN n <= 86 THEN 'other' WHEN n <= 88 THEN 'new 1' ELSE 'new 2' END)))) FROM generate_series(1, 90) AS n), 1000);
SELECT count(*) FROM wq_settle.settle_and_fetch_work_items('{}', p_owner_id => 'o', p_max_items => 1, p_now_ms => 1500);
SELECT count(*) FROM wq_settle.settle_and_fetch_work_items('{}', p_owner_id => 'b', p_max_items => 1, p_now_ms => 1500);
CREATE FUNCTION pg_temp.taken_by(p_owner text, p_threshold int, p_max_new_sessions int DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE v_taken bigint;
    BEGIN
        SELECT count(*) INTO v_taken FROM wq_settle.settle_and_fetch_work_items('{}', p_owner_id => p_owner, p_max_items => 0, p_max_new_sessions => p_max_new_sessions, p_prefetch => 1, p_prefetch_threshold => p_threshold, p_now_ms => 1500);
        RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = v_taken;  -- undoes the fetch
    EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
        RETURN v_taken;
    END
$$;
SELECT pg_temp.taken_by('o', 8) AS own_and_new, pg_temp.taken_by('o', 9) AS too_short, pg_temp.taken_by('o', 6, 1) AS one_new, pg_temp.taken_by('o', 7, 1) AS one_new_too_short,
       pg_temp.taken_by('o', 4, 0) AS none_new, pg_temp.taken_by('o', 5, 0) AS none_new_too_short, pg_temp.taken_by('b', 84) AS of_b, pg_temp.taken_by('b', 85) AS of_b_too_short;
TRUNCATE wq_settle.sessions;

-- SW-5: arrays of another length, an unrecognized outcome and bad arguments of the fetch refuse the call; nothing is changed.
CALL pg_temp.start(1, 2);
SELECT arguments, test.refused(format('SELECT wq_settle.settle_and_fetch_work_items(ARRAY[%L, %L], %s, p_now_ms => 1500)', pg_temp.token(1), pg_temp.token(2), arguments))
  FROM unnest(ARRAY['ARRAY[''ack'']', '''{}''', 'ARRAY[''ack'', ''drop'']', 'p_completions => ''{}''', 'p_delays_ms => ''{1,2,3}''',
                    'p_ignore_attempts => ''{true}''', 'p_reasons => ''{a}''', 'p_max_items => -1', 'p_max_items => 1001',
                    'p_lock_timeout_ms => 0', 'p_tag_mode => ''all''', 'p_max_new_sessions => -1', 'p_prefetch => -1', 'p_max_items => 1, p_prefetch => 1000', 'p_prefetch => 1, p_prefetch_threshold => 0']) AS arguments;
SELECT test.sqlstate('SELECT wq_settle.settle_and_fetch_work_items(array_fill(''x''::text, ''{10001}''))');
SELECT * FROM test.wq_settle_work;

-- Sessions: an ack is activity of its session.
CALL pg_temp.start(VARIADIC '{}');
SELECT wq_settle.enqueue_worker_items('[{"work_item":{"ActivityExecute":{"id":1,"session_id":"s"}}}, {"work_item":{"ActivityExecute":{"id":2,"session_id":"s"}}}]', 1000);
SELECT lock_token AS s1 FROM wq_settle.settle_and_fetch_work_items('{}', p_owner_id => 'o', p_session_lock_timeout_ms => 10000, p_max_items => 1, p_now_ms => 1000) \gset
SELECT error FROM wq_settle.settle_and_fetch_work_items(ARRAY[:'s1'], p_now_ms => 1700);
SELECT session_id, last_activity_at AS active_ms FROM wq_settle.sessions ORDER BY session_id;

-- Many, in any order: each once.
SELECT array_agg(n) AS thousand FROM generate_series(1, 1000) AS n \gset
CALL pg_temp.start(VARIADIC :'thousand');
SELECT count(*), count(DISTINCT outcome_index) AS indexes, count(error) AS errors
  FROM wq_settle.settle_and_fetch_work_items((SELECT array_agg(token ORDER BY md5(activity::text)) FROM lease),
           p_completions => (SELECT array_agg(pg_temp.completion(activity) ORDER BY md5(activity::text)) FROM lease), p_now_ms => 1500);
SELECT count(*) AS left_over FROM test.wq_settle_work;
SELECT count(*) AS sent, bool_and(id = activity) AS in_order
  FROM (SELECT (work_item::jsonb #>> '{ActivityCompleted,id}')::bigint AS id, row_number() OVER (ORDER BY m.id) AS nr FROM wq_settle.orchestrator_queue AS m) AS s
  JOIN (SELECT activity, row_number() OVER (ORDER BY md5(activity::text)) AS nr FROM lease) AS l USING (nr);
DROP VIEW test.wq_settle_work, test.wq_settle_sent;
SELECT belay.drop_hub('wq_settle');
