-- Turns that a process runs ahead and commits with the outcome they are about: p_predicted_after of settle_turns_and_work.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub(h), belay.set_hub_option(h, 'max_clock_skew', '0') FROM unnest('{pre_plain,pre_ahead}'::name[]) AS h;

CREATE TEMP TABLE work (hub name, instance text, token text, PRIMARY KEY (hub, instance));  -- the activity that was leased last
CREATE FUNCTION pg_temp.completed(instance text, id int, execution int DEFAULT 1) RETURNS text LANGUAGE sql AS $$ SELECT json_build_object('ActivityCompleted', json_build_object('instance', instance, 'execution_id', execution, 'id', id, 'result', 'r'))::text $$;
CREATE FUNCTION pg_temp.metadata(events int, more jsonb DEFAULT '{}', owner text DEFAULT 'c') RETURNS jsonb LANGUAGE sql AS $$ SELECT '{"orchestration_name":"O","orchestration_version":"1"}'::jsonb || CASE WHEN events IS NULL THEN '{}' ELSE jsonb_build_object('cache', jsonb_build_object('owner', owner, 'events', events)) END || more $$;
CREATE FUNCTION pg_temp.activity(instance text, id int, execution int DEFAULT 1) RETURNS jsonb LANGUAGE sql AS $$ SELECT CASE WHEN id IS NULL THEN '[]'::jsonb ELSE jsonb_build_array(jsonb_build_object('ActivityExecute', jsonb_build_object('instance', instance, 'execution_id', execution, 'id', id, 'name', 'A', 'input', ''))) END $$;
-- Calls settle_turns_and_work, keeps the activity's token, and returns the token of the turn.
CREATE FUNCTION pg_temp.call(hub name, instance text, arguments text) RETURNS TABLE (turn text, said text) LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    FOR r IN EXECUTE format('SELECT * FROM %I.settle_turns_and_work(%s)', hub, arguments) LOOP
        IF r.work_token IS NOT NULL THEN
            INSERT INTO work VALUES (hub, instance, r.work_token) ON CONFLICT ON CONSTRAINT work_pkey DO UPDATE SET token = excluded.token;
        ELSIF r.instance_id IS NOT NULL THEN
            turn := r.lock_token;
            said := concat_ws(', ', said, format('turn with %s behind %s', test.brief(r.messages), r.history_after));
        ELSIF r.outcome_index IS NOT NULL THEN
            said := concat_ws(', ', said, 'ack ' || coalesce(nullif(concat_ws(' ', r.error, r.reason), ''), 'fine'));
        ELSE
            said := concat_ws(', ', said, 'outcome ' || coalesce(nullif(concat_ws(' ', r.error, r.reason), ''), 'fine'));
        END IF;
    END LOOP;
    RETURN NEXT;
END $$;
-- An instance that waits for its first activity, leased, and is in the memory of the process c up to event 2.
CREATE PROCEDURE pg_temp.first(hub name, instance text, now_ms bigint DEFAULT 1000, events int DEFAULT 2, meta jsonb DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
    turn text;
BEGIN
    EXECUTE format('SELECT %I.start_orchestration(''O'', '''', %L, ''1'', 0, %s)', hub, instance, now_ms);
    SELECT c.turn INTO turn FROM pg_temp.call(hub, instance, format('NULL, p_lock_timeout_ms => 1000, p_max_turns => 1, p_cache_owner => ''c'', p_now_ms => %s', now_ms)) AS c;
    PERFORM pg_temp.call(hub, instance, format('ARRAY[%L], ''{1}'', ARRAY[%L::jsonb], ARRAY[%L::jsonb], p_metadata => ARRAY[%L::jsonb], p_lock_timeout_ms => 1000, p_max_items => 1, p_now_ms => %s', turn,
        jsonb_build_array(test.event(1, 'OrchestrationStarted', '{"name":"O","version":"1"}'), test.event(2, 'ActivityScheduled')), pg_temp.activity(instance, 2), pg_temp.metadata(events, meta), now_ms));
END $$;
CREATE FUNCTION pg_temp.token(hub name, instance text) RETURNS text LANGUAGE sql AS $$ SELECT token FROM work AS w WHERE w.hub = $1 AND w.instance = $2 $$;
-- The arguments that say what comes of the activity that an instance waits for, and of the turn behind it.
CREATE FUNCTION pg_temp.outcome(hub name, instance text, after int, execution int DEFAULT 1) RETURNS text LANGUAGE sql AS $$ SELECT format('p_work_tokens => ARRAY[%L], p_completions => ARRAY[%L]', pg_temp.token(hub, instance), pg_temp.completed(instance, after, execution)) $$;
CREATE FUNCTION pg_temp.turn(token text, instance text, delta jsonb, next int DEFAULT NULL, send jsonb DEFAULT '[]', meta jsonb DEFAULT NULL, execution int DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    SELECT format('ARRAY[%L], ARRAY[%s], ARRAY[%L::jsonb], ARRAY[%L::jsonb], ARRAY[%L::jsonb], ARRAY[%L::jsonb]', token, execution, delta, pg_temp.activity(instance, next, execution), send, coalesce(meta, pg_temp.metadata((delta -> -1 ->> 'event_id')::int)))
$$;
CREATE FUNCTION pg_temp.delta(VARIADIC types text[]) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_agg(test.event(nr + 2, t) ORDER BY nr) FROM unnest(types) WITH ORDINALITY AS u (t, nr) $$;
CREATE FUNCTION pg_temp.ahead(hub name, instance text, after int, delta jsonb, next int DEFAULT NULL, send jsonb DEFAULT '[]', meta jsonb DEFAULT NULL, now_ms bigint DEFAULT 1500, more text DEFAULT '', execution int DEFAULT 1, owner text DEFAULT 'c') RETURNS text LANGUAGE sql AS $$
    SELECT said FROM pg_temp.call(hub, instance, format('%s, %s, p_predicted_after => ARRAY[%s], p_lock_timeout_ms => 1000, p_max_items => 1, p_cache_owner => %L, p_now_ms => %s%s', pg_temp.turn(pg_temp.token(hub, instance), instance, delta, next, send, meta, execution), pg_temp.outcome(hub, instance, after, execution), after, owner, now_ms, more))
$$;

---- BO-8: as a fetch and an ack

-- The same steps in one hub with a call that brings the turn and one that acks it, in the other ahead.
CREATE PROCEDURE pg_temp.step(instance text, after int, delta jsonb, next int DEFAULT NULL, send jsonb DEFAULT '[]', meta jsonb DEFAULT NULL, now_ms bigint DEFAULT 1500, execution int DEFAULT 1) LANGUAGE plpgsql AS $$
DECLARE
    turn text;
    plain text;
    acked text;
    ahead text;
BEGIN
    SELECT c.turn, c.said INTO turn, plain FROM pg_temp.call('pre_plain', instance, format('NULL, %s, p_lock_timeout_ms => 1000, p_max_turns => 1, p_names => ''{O}'', p_cache_owner => ''c'', p_now_ms => %s', pg_temp.outcome('pre_plain', instance, after, execution), now_ms)) AS c;
    COMMIT;
    SELECT c.said INTO acked FROM pg_temp.call('pre_plain', instance, format('%s, p_lock_timeout_ms => 1000, p_max_items => 1, p_now_ms => %s', pg_temp.turn(turn, instance, delta, next, send, meta, execution), now_ms)) AS c;
    ahead := pg_temp.ahead('pre_ahead', instance, after, delta, next, send, meta, now_ms, execution => execution);
    RAISE NOTICE '%: % | % | %', instance, plain, acked, ahead;
END $$;
-- What differs between the two: nothing but ids, nonces, and what depends on the hub's incarnation.
CREATE FUNCTION pg_temp.seen(hub name) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    q text;
BEGIN
    FOREACH q IN ARRAY ARRAY['instances', 'executions', 'history_turns', 'kv_store', 'kv_delta', 'instance_locks', 'orchestrator_queue', 'work_items', 'outbox_events'] LOOP
        RETURN QUERY EXECUTE format('SELECT %L || '' '' || ((to_jsonb(t) || CASE WHEN %1$L = ''instance_locks'' THEN jsonb_build_object(''cache_owner'', (to_jsonb(t) ->> ''cache_owner'')::bigint & 1) ELSE ''{}'' END) - ''{id,xid,lock_token,lease_id,position}''::text[])::text FROM %I.%1$I AS t WHERE to_jsonb(t) ->> ''topic'' IS DISTINCT FROM ''operator''', q, hub);
    END LOOP;
END $$;
CREATE PROCEDURE pg_temp.both(instance text, meta jsonb DEFAULT '{}') LANGUAGE sql AS $$ CALL pg_temp.first('pre_plain', instance, meta => meta); CALL pg_temp.first('pre_ahead', instance, meta => meta); $$;

-- A workflow of three activities, with a status and values; the rest of each call comes with the next activity.
CALL pg_temp.both('steps');
CALL pg_temp.step('steps', 2, pg_temp.delta('ActivityCompleted', 'ActivityScheduled'), 4);
CALL pg_temp.step('steps', 4, jsonb_build_array(test.event(5, 'ActivityCompleted'), test.event(6, 'CustomStatusUpdated', '{"status":"half"}'), test.event(7, 'KeyValueSet', '{"key":"k","value":"v","last_updated_at_ms":1500}'), test.event(8, 'ActivityScheduled')), 8, now_ms => 1700);
SELECT 'differs' AS found, * FROM ((SELECT pg_temp.seen('pre_plain') EXCEPT ALL SELECT pg_temp.seen('pre_ahead')) UNION ALL (SELECT pg_temp.seen('pre_ahead') EXCEPT ALL SELECT pg_temp.seen('pre_plain'))) AS d;
SELECT count(*) > 0 AS compared FROM pg_temp.seen('pre_ahead');
-- The end: the lock goes, and the parent gets its message. Before it, a child and a timer.
CALL pg_temp.both('parts');
CALL pg_temp.step('parts', 2, pg_temp.delta('ActivityCompleted', 'SubOrchestrationScheduled', 'TimerCreated', 'ActivityScheduled'), 6, '[{"StartOrchestration":{"instance":"child","orchestration":"P","input":"","parent_instance":"parts","parent_id":4,"execution_id":1}},{"TimerFired":{"instance":"parts","execution_id":1,"id":5,"fire_at_ms":9000}}]');
CALL pg_temp.step('steps', 8, jsonb_build_array(test.event(9, 'ActivityCompleted'), test.event(10, 'OrchestrationCompleted')), NULL, '[{"SubOrchCompleted":{"parent_instance":"parts","parent_execution_id":1,"parent_id":4,"result":"r"}}]', pg_temp.metadata(NULL, '{"status":"Completed","output":"done"}'), 1800);
SELECT 'differs' AS found, * FROM ((SELECT pg_temp.seen('pre_plain') EXCEPT ALL SELECT pg_temp.seen('pre_ahead')) UNION ALL (SELECT pg_temp.seen('pre_ahead') EXCEPT ALL SELECT pg_temp.seen('pre_plain'))) AS d;
-- Continuing as new.
CALL pg_temp.both('again');
CALL pg_temp.step('again', 2, pg_temp.delta('ActivityCompleted', 'OrchestrationContinuedAsNew'), NULL, '[{"ContinueAsNew":{"instance":"again","orchestration":"O","input":"","version":"1"}}]', pg_temp.metadata(NULL, '{"status":"ContinuedAsNew","output":"x"}'));
SELECT 'differs' AS found, * FROM ((SELECT pg_temp.seen('pre_plain') EXCEPT ALL SELECT pg_temp.seen('pre_ahead')) UNION ALL (SELECT pg_temp.seen('pre_ahead') EXCEPT ALL SELECT pg_temp.seen('pre_plain'))) AS d;
SELECT status, output FROM pre_ahead.get_instance_info('steps');
-- They are counted alike.
SELECT p.q = a.q AS counted_alike FROM (SELECT jsonb_agg(q -> 'counters' ORDER BY q ->> 'queue') AS q FROM jsonb_array_elements(pre_plain.glance() -> 'queues') AS q) AS p, (SELECT jsonb_agg(q -> 'counters' ORDER BY q ->> 'queue') AS q FROM jsonb_array_elements(pre_ahead.glance() -> 'queues') AS q) AS a;
-- A message that is not visible yet is in no batch, and speaks against nothing: the timer of parts.
SELECT * FROM pg_temp.ahead('pre_ahead', 'parts', 6, jsonb_build_array(test.event(7, 'ActivityCompleted')), now_ms => 1500);
SELECT kind, count(*) FROM pre_ahead.orchestrator_queue WHERE instance_id = 'parts' GROUP BY 1 ORDER BY 1;

---- BO-9: what a fetch would not have brought is refused, and the outcome is a message

SELECT belay.drop_hub(h, true) FROM unnest('{pre_plain,pre_ahead}'::name[]) AS h;
SELECT belay.create_hub('pre_ahead'), belay.set_hub_option('pre_ahead', 'max_clock_skew', '0');
-- Begins an instance, lets something happen, and tries a turn. What is stored then: events of history, messages, activities.
CREATE FUNCTION pg_temp.try(instance text, happens text DEFAULT NULL, later text DEFAULT '', events int DEFAULT 2, after int DEFAULT 2, owner text DEFAULT 'c', now_ms bigint DEFAULT 1500, execution int DEFAULT 1, delta jsonb DEFAULT pg_temp.delta('ActivityCompleted', 'ActivityScheduled'), meta jsonb DEFAULT NULL)
RETURNS TABLE (said text, history bigint, messages bigint, activities bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    answer text;
BEGIN
    CALL pg_temp.first('pre_ahead', instance, events => events);
    IF happens IS NOT NULL THEN
        EXECUTE happens;
    END IF;
    answer := pg_temp.ahead('pre_ahead', instance, after, delta, 4, meta => meta, now_ms => now_ms, more => later, execution => execution, owner => owner);
    RETURN QUERY SELECT answer, (SELECT count(*) FROM pre_ahead.history AS h WHERE h.instance_id = instance), (SELECT count(*) FROM pre_ahead.orchestrator_queue AS m WHERE m.instance_id = instance), (SELECT count(*) FROM pre_ahead.work_items AS w WHERE w.instance_id = instance);
END $$;
SELECT * FROM pg_temp.try('fine');
-- Other messages: an event, a cancellation, one that was abandoned.
SELECT * FROM pg_temp.try('event', $$SELECT pre_ahead.raise_event('event', 'e', '1', p_now_ms => 1400)$$);
SELECT * FROM pg_temp.try('cancelled', $$SELECT pre_ahead.cancel_instance('cancelled', 'no', 1400)$$);
SELECT * FROM pg_temp.try('abandoned', $$SELECT pre_ahead.raise_event('abandoned', 'e', '1', p_now_ms => 1400); SELECT pre_ahead.abandon_orchestration_item(lock_token, p_now_ms => 1400) FROM pre_ahead.settle_turns_and_work(NULL, p_max_turns => 9, p_now_ms => 1400) WHERE instance_id = 'abandoned'$$);
-- Another turn of it is leased.
SELECT * FROM pg_temp.try('leased', $$SELECT pre_ahead.raise_event('leased', 'e', '1', p_now_ms => 1400); SELECT FROM pre_ahead.settle_turns_and_work(NULL, p_max_turns => 9, p_now_ms => 1400)$$);
-- Another history: more of it, of another process, not in memory.
SELECT * FROM pg_temp.try('extended', $$SELECT pre_ahead.append_history('extended', 1, jsonb_build_array(test.event(3, 'KeyValueSet')))$$);
SELECT * FROM pg_temp.try('other_owner', owner => 'd');
SELECT * FROM pg_temp.try('no_owner', owner => NULL);
SELECT * FROM pg_temp.try('other_event', after => 1);
SELECT * FROM pg_temp.try('other_execution', execution => 2);
SELECT * FROM pg_temp.try('not_kept', events => NULL);
SELECT * FROM pg_temp.try('known', delta => jsonb_build_array(test.event(2, 'ActivityCompleted')));
SELECT * FROM pg_temp.try('nothing_known', events => 0, after => 0);
SELECT * FROM pg_temp.try('gone', $$SELECT pre_ahead.delete_instance('gone', true)$$);
-- What the caller does not serve: a name, a version, a slot.
SELECT * FROM pg_temp.try('named', later => ', p_names => ''{P,O}''');
SELECT * FROM pg_temp.try('unnamed', later => ', p_names => ''{P}''');
SELECT * FROM pg_temp.try('pinned', $$SELECT belay.set_hub_option('pre_ahead', 'name_pins', '{"O": "2.0.0"}')$$, later => ', p_max_version_packed => 1000000');
SELECT * FROM pg_temp.try('no_version', later => ', p_min_version_packed => 2, p_max_version_packed => 1');
SELECT * FROM pg_temp.try('other_slot', later => ', p_slots => ''{1}''');
SELECT * FROM pg_temp.try('this_slot', later => ', p_slots => ''{0}''');
-- The queue is paused.
SELECT * FROM pg_temp.try('paused', $$SELECT pre_ahead.pause_hub('orchestrator')$$);
SELECT pre_ahead.resume_hub();
-- An ack that is wrong in itself says so.
SELECT * FROM pg_temp.try('wrong', delta => '{}');
SELECT * FROM pg_temp.try('wrong_status', meta => '{"status":"Over"}');
-- Two completions for one instance, in either order, and two turns for one.
CALL pg_temp.first('pre_ahead', 'two');
CALL pg_temp.first('pre_ahead', 'twin');
CREATE FUNCTION pg_temp.two(a text, b text, a_for text, b_for text, tokens text[], predicted text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT said FROM pg_temp.call('pre_ahead', a, format('%L, %L, p_work_tokens => ARRAY[%L, %L], p_completions => ARRAY[%L, %L], p_predicted_after => %L, p_cache_owner => ''c'', p_lock_timeout_ms => 1000, p_now_ms => 1500', tokens, array_fill(1, ARRAY[cardinality(tokens)]), pg_temp.token('pre_ahead', a), pg_temp.token('pre_ahead', b), pg_temp.completed(a_for, 2), pg_temp.completed(b_for, 2), predicted))
$$;
SELECT * FROM pg_temp.two('two', 'twin', 'two', 'two', ARRAY[pg_temp.token('pre_ahead', 'two')], '{2}');
CALL pg_temp.first('pre_ahead', 'three');
CALL pg_temp.first('pre_ahead', 'four');
SELECT * FROM pg_temp.two('three', 'four', 'three', 'four', ARRAY[pg_temp.token('pre_ahead', 'four'), pg_temp.token('pre_ahead', 'three')], '{2,2}');
-- With a snapshot that stays, other messages are not seen.
CALL pg_temp.first('pre_ahead', 'old');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM pg_temp.ahead('pre_ahead', 'old', 2, pg_temp.delta('ActivityCompleted'));
COMMIT;
-- The turn of a refused one comes by a fetch, that of the same call if it asks.
SELECT * FROM pg_temp.try('asks', later => ', p_max_turns => 1', owner => 'd');

---- BO-10: a lease that is lost takes the turn with it; a turn goes once

SELECT * FROM pg_temp.try('late', now_ms => 2000);
SELECT * FROM pg_temp.try('stopped', $$SELECT pre_ahead.cancel_activities('[{"instance":"stopped","execution_id":1,"activity_id":2}]')$$);
CALL pg_temp.first('pre_ahead', 'twice');
SELECT token AS old FROM work WHERE instance = 'twice' \gset
SELECT * FROM pg_temp.ahead('pre_ahead', 'twice', 2, pg_temp.delta('ActivityCompleted', 'ActivityScheduled'), 4);
UPDATE work SET token = :'old' WHERE instance = 'twice';
SELECT * FROM pg_temp.ahead('pre_ahead', 'twice', 2, pg_temp.delta('ActivityCompleted', 'ActivityScheduled'), 4);
SELECT (SELECT count(*) FROM pre_ahead.history WHERE instance_id = 'twice') AS events, (SELECT count(*) FROM pre_ahead.orchestrator_queue WHERE instance_id = 'twice') AS messages;
-- What is wrong with the call as a whole rejects it.
SELECT test.refused(format('SELECT pre_ahead.settle_turns_and_work(ARRAY[%1$L], ''{1}'', p_work_tokens => ARRAY[%1$L], p_completions => ARRAY[%2$L], %3$s, p_cache_owner => ''c'', p_now_ms => 1500)', pg_temp.token('pre_ahead', 'fine'), pg_temp.completed('fine', 4), arguments))
  FROM unnest(ARRAY['p_predicted_after => ''{1,2}''', 'p_predicted_after => ''{4}'', p_outcomes => ''{abandon}''', 'p_predicted_after => ''{4}'', p_cancelled_activities => ARRAY[''[{"instance":"fine","execution_id":1,"activity_id":4}]''::jsonb]']) AS arguments;
SELECT test.refused(format('SELECT pre_ahead.settle_turns_and_work(ARRAY[%L], ''{1}'', p_predicted_after => ''{4}'', p_cache_owner => ''c'', p_now_ms => 1500)', pg_temp.token('pre_ahead', 'fine')));

SELECT belay.drop_hub('pre_ahead', true);
