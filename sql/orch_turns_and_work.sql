-- Committing turns, settling activities and fetching both in one call: settle_turns_and_work.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_both');
SELECT belay.set_hub_option('orch_both', 'max_clock_skew', '0');  -- these tests choose the time

CREATE TEMP TABLE token (name text PRIMARY KEY, token text);  -- instance, or instance and activity
CREATE FUNCTION pg_temp.token(VARIADIC names text[]) RETURNS text[] LANGUAGE sql AS $$ SELECT array_agg(coalesce(t.token, n) ORDER BY nr) FROM unnest(names) WITH ORDINALITY AS u (n, nr) LEFT JOIN token AS t ON t.name = n $$;
CREATE PROCEDURE pg_temp.start(VARIADIC instances text[]) LANGUAGE sql AS $$ SELECT orch_both.start_orchestration('O', '', i, '1', 0, 1000) FROM unnest(instances) WITH ORDINALITY AS u (i, nr) ORDER BY nr $$;
CREATE FUNCTION pg_temp.activity(instance text, id int, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object('ActivityExecute', jsonb_build_object('instance', instance, 'execution_id', 1, 'id', id, 'name', 'A', 'input', '') || more) $$;
CREATE FUNCTION pg_temp.completed(instance text, id int) RETURNS text LANGUAGE sql AS $$ SELECT json_build_object('ActivityCompleted', json_build_object('instance', instance, 'execution_id', 1, 'id', id, 'result', 'r'))::text $$;
-- A call and what it answered, in short; tokens are kept. work has an array of activities for each ack.
CREATE FUNCTION pg_temp.call(acks text[], work jsonb DEFAULT NULL, outcomes text[] DEFAULT NULL, completions text[] DEFAULT NULL, turns int DEFAULT 0, items int DEFAULT 0, now_ms bigint DEFAULT 1000, kinds text[] DEFAULT NULL, cancelled jsonb[] DEFAULT NULL, events jsonb[] DEFAULT NULL, mode text DEFAULT 'default_only', prefetch int DEFAULT 0, threshold int DEFAULT 1)
RETURNS TABLE (answer text) LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT * FROM orch_both.settle_turns_and_work(coalesce(pg_temp.token(VARIADIC acks), '{}'), (SELECT array_agg(1) FROM unnest(acks)), events, (SELECT array_agg(w ORDER BY nr) FROM jsonb_array_elements(work) WITH ORDINALITY AS u (w, nr)),
            p_metadata => (SELECT array_agg('{"orchestration_name":"O","orchestration_version":"1"}'::jsonb) FROM unnest(acks)), p_cancelled_activities => cancelled, p_lock_timeout_ms => 1000, p_max_turns => turns, p_work_tokens => pg_temp.token(VARIADIC outcomes),
            p_outcomes => kinds, p_completions => completions, p_owner_id => 'me', p_tag_mode => mode, p_max_items => items, p_prefetch => prefetch, p_prefetch_threshold => threshold, p_now_ms => now_ms)
    LOOP
        IF r.outcome_index IS NOT NULL THEN
            answer := format('ack %s: %s', r.outcome_index, coalesce(nullif(concat_ws(' ', r.error, r.reason), ''), 'fine'));
        ELSIF r.work_index IS NOT NULL THEN
            answer := format('outcome %s: %s', r.work_index, coalesce(nullif(concat_ws(' ', r.error, r.reason), ''), 'fine'));
        ELSIF r.instance_id IS NOT NULL THEN
            answer := format('turn of %s, attempt %s: %s', r.instance_id, r.attempt_count, test.brief(r.messages));
            INSERT INTO token VALUES (r.instance_id, r.lock_token) ON CONFLICT (name) DO UPDATE SET token = excluded.token;
        ELSE
            answer := format('activity %s %s, attempt %s', r.work_item::json #>> '{ActivityExecute,instance}', r.work_item::json #>> '{ActivityExecute,id}', r.work_attempt_count);
            INSERT INTO token VALUES (concat(r.work_item::json #>> '{ActivityExecute,instance}', r.work_item::json #>> '{ActivityExecute,id}'), r.work_token) ON CONFLICT (name) DO UPDATE SET token = excluded.token;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

---- One unit

-- BO-1, BO-2: a workflow of two activities in four calls after its start: an ack brings the activity that it schedules, an outcome the turn that it makes ready.
CALL pg_temp.start('a');
SELECT * FROM pg_temp.call(NULL, turns => 1);
SELECT * FROM pg_temp.call('{a}', jsonb_build_array(jsonb_build_array(pg_temp.activity('a', 2))), turns => 1, items => 1);
SELECT * FROM pg_temp.call(NULL, outcomes => '{a2}', completions => ARRAY[pg_temp.completed('a', 2)], turns => 1, items => 1);
SELECT * FROM pg_temp.call('{a}', jsonb_build_array(jsonb_build_array(pg_temp.activity('a', 4))), turns => 1, items => 1);
SELECT * FROM pg_temp.call(NULL, outcomes => '{a4}', completions => ARRAY[pg_temp.completed('a', 4)], turns => 1, items => 1);
SELECT * FROM pg_temp.call('{a}', turns => 1, items => 1);
-- Rows of acks, outcomes, turns and activities, in this order. Each ack and outcome has its own fate.
CALL pg_temp.start('b', 'c', 'd');
SELECT * FROM pg_temp.call(NULL, turns => 2);
SELECT * FROM pg_temp.call('{b,lost,c}', jsonb_build_array(jsonb_build_array(pg_temp.activity('b', 2), pg_temp.activity('b', 3)), '[]'::jsonb, '[]'::jsonb), turns => 1, items => 2);
SELECT * FROM pg_temp.call('{d,c}', jsonb_build_array(jsonb_build_array(pg_temp.activity('d', 2)), '[]'::jsonb), '{b3,lost,b2}', ARRAY[pg_temp.completed('b', 3), NULL, NULL], turns => 5, items => 5, kinds => '{ack,ack,abandon}');
-- Without anything to do it does nothing; NULL is no acks.
SELECT * FROM orch_both.settle_turns_and_work('{}');
SELECT * FROM orch_both.settle_turns_and_work(NULL);

---- Leases are leases

TRUNCATE orch_both.orchestrator_queue, orch_both.worker_queue, orch_both.instance_locks;
-- BO-3: no more than was asked for, and only what the caller serves.
CALL pg_temp.start('e');
SELECT * FROM pg_temp.call(NULL, turns => 1);
SELECT * FROM pg_temp.call('{e}', jsonb_build_array(jsonb_build_array(pg_temp.activity('e', 2, '{"tag":"t"}'), pg_temp.activity('e', 3), pg_temp.activity('e', 4), pg_temp.activity('e', 5))), items => 2);
SELECT activity_id, lock_token IS NOT NULL AS leased, locked_by FROM orch_both.work_items WHERE instance_id = 'e' ORDER BY activity_id;
-- With the prefetch all of them, if there are enough.
SELECT * FROM pg_temp.call(NULL, prefetch => 5, threshold => 3);
SELECT * FROM pg_temp.call(NULL, prefetch => 5, threshold => 2, mode => 'any');
-- A process that dies gives them back: the leases expire, and the old token is not accepted.
SELECT count(*) FROM pg_temp.call(NULL, items => 10, now_ms => 1999);
CREATE TEMP TABLE old AS SELECT * FROM token WHERE name IN ('e3', 'e4');
SELECT * FROM pg_temp.call(NULL, items => 2, now_ms => 2000);
SELECT o.name, r.error, r.reason FROM old AS o, orch_both.settle_turns_and_work('{}', p_work_tokens => ARRAY[o.token], p_completions => ARRAY[pg_temp.completed('e', 3)], p_now_ms => 2000) AS r ORDER BY o.name;
-- A cancellation takes them away.
SELECT orch_both.cancel_activities('[{"instance":"e","execution_id":1,"activity_id":3}]');
SELECT * FROM pg_temp.call(NULL, outcomes => '{e3,e4}', completions => ARRAY[pg_temp.completed('e', 3), pg_temp.completed('e', 4)], now_ms => 2000);
SELECT orch_both.pause_hub();
SELECT * FROM pg_temp.call(NULL, turns => 5, items => 5, now_ms => 2000, mode => 'any');
SELECT orch_both.resume_hub();

-- BO-4, and what else rejects the call; nothing is changed.
CALL pg_temp.start('f', 'g');
SELECT count(*) FROM pg_temp.call(NULL, turns => 9, items => 9, now_ms => 4000, mode => 'any');
SELECT test.content('orch_both', 'outbox_events') AS content \gset
SELECT arguments, test.refused(format('SELECT orch_both.settle_turns_and_work(%L, ''{1}'', p_work_tokens => %L, %s, p_now_ms => 4000)', pg_temp.token('f'), pg_temp.token('e5'), arguments))
  FROM unnest(ARRAY['p_cancelled_activities => ARRAY[''[{"instance":"e","execution_id":1,"activity_id":4}]''::jsonb]', 'p_outcomes => ''{}''', 'p_outcomes => ''{gone}''', 'p_metadata => ''{}''', 'p_max_items => -1', 'p_max_items => 1001', 'p_max_turns => 1001',
                    'p_prefetch => 1001', 'p_tag_mode => ''some''', 'p_lock_timeout_ms => 0', 'p_owner_id => repeat(''x'', 1025)']) AS arguments;
SELECT test.content('orch_both', 'outbox_events') = :'content' AS unchanged;
-- Each alone is fine, and so is an empty list.
SELECT * FROM pg_temp.call('{f}', outcomes => '{e5}', cancelled => ARRAY['[]'::jsonb], now_ms => 4000);
SELECT * FROM pg_temp.call('{g}', cancelled => ARRAY['[{"instance":"e","execution_id":1,"activity_id":2}]'::jsonb], now_ms => 4000);
SELECT count(*) FROM orch_both.work_items;

SELECT belay.drop_hub('orch_both', true);
