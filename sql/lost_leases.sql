-- serial: open transactions of others hold readers of events up where there is no shared memory
-- What a call says when its lease is lost: the message names the reason (ER-3), in a hub of api belay. A hub of api duroxide-pg
-- keeps the texts that its clients match.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('lost'), belay.create_hub('lost_dx', 'duroxide-pg');
SELECT belay.set_hub_option(h, 'max_clock_skew', '0') FROM unnest(ARRAY['lost', 'lost_dx']) AS h;
-- SQLSTATE, message and word of an error.
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(split_part(e, E'\n', 1), '[0-9a-f-]{36}', '(id)') || coalesce(' [' || substring(e FROM '"code_detail":"([^"]*)"') || ']', '')
      FROM test.error(statement) AS e
$$;
-- Hubs of api duroxide-pg have seconds, and the clock in other places: so all is named.
CREATE FUNCTION pg_temp.extend(hub text) RETURNS text LANGUAGE sql AS $$ SELECT CASE hub WHEN 'lost_dx' THEN 'p_extend_secs' ELSE 'p_extend_ms' END $$;
-- Says it for each call that takes the token of a work item.
CREATE FUNCTION pg_temp.of_work(hub text, token text, now_ms bigint) RETURNS TABLE (call text, answer text) LANGUAGE sql AS $$
    SELECT c, pg_temp.error(format('SELECT %I.' || f, hub, token, now_ms))
      FROM (VALUES ('ack', 'ack_worker(%L, p_now_ms => %s)'), ('renew', 'renew_work_item_lock(%L, p_now_ms => %s, ' || pg_temp.extend(hub) || ' => 10)'),
                   ('abandon', 'abandon_work_item(%L, p_now_ms => %s)')) AS v (c, f)
$$;
-- And of a turn.
CREATE FUNCTION pg_temp.of_turn(hub text, token text, now_ms bigint) RETURNS TABLE (call text, answer text) LANGUAGE sql AS $$
    SELECT c, pg_temp.error(format('SELECT %I.' || f, hub, token, now_ms))
      FROM (VALUES ('ack', 'ack_orchestration_item(%L, p_now_ms => %s, p_execution_id => 1, p_history_delta => ''[]'', p_worker_items => ''[]'', '
                            'p_orchestrator_items => ''[]'', p_metadata => ''{}'')'),
                   ('renew', 'renew_orchestration_item_lock(%L, p_now_ms => %s, ' || pg_temp.extend(hub) || ' => 10)'),
                   ('abandon', 'abandon_orchestration_item(%L, p_now_ms => %s)')) AS v (c, f)
$$;

---- Work items.
SELECT h, pg_temp.error(format('SELECT %I.enqueue_worker_work(%L, p_now_ms => 1000)', h,
       '{"ActivityExecute":{"instance":"i","execution_id":1,"id":' || n || ',"name":"A","input":""}}')) FROM unnest(ARRAY['lost', 'lost_dx']) AS h, generate_series(1, 4) AS n;
CREATE TEMP TABLE item (hub text, nr bigint, token text);
DO $$
BEGIN
    FOR n IN 1 .. 4 LOOP
        INSERT INTO item SELECT 'lost', n, lock_token FROM lost.fetch_work_item(1000, 'o', p_now_ms => 1000);
        INSERT INTO item SELECT 'lost_dx', n, out_lock_token FROM lost_dx.fetch_work_item(1000, 1000, 'o');
    END LOOP;
END $$;
-- Expired, and no session has taken the item. An abandon is accepted.
SELECT hub, o.* FROM item, pg_temp.of_work(hub, token, 2000) AS o WHERE nr = 1 AND call <> 'abandon';
-- Leased again.
SELECT hub, count(*) FROM item, LATERAL (SELECT test.error(format('SELECT %I.fetch_work_item(p_now_ms => 3000, p_lock_timeout_ms => 1000, p_owner_id => ''p'')', hub))) AS f WHERE nr = 1 GROUP BY hub;
SELECT hub, o.* FROM item, pg_temp.of_work(hub, token, 3500) AS o WHERE nr = 1;
-- Acked.
SELECT hub, pg_temp.error(format('SELECT %I.ack_worker(%L, p_now_ms => 1500)', hub, token)) FROM item WHERE nr = 2;
SELECT hub, o.* FROM item, pg_temp.of_work(hub, token, 1500) AS o WHERE nr = 2;
-- Abandoned.
SELECT hub, pg_temp.error(format('SELECT %I.abandon_work_item(%L, p_now_ms => 1500)', hub, token)) FROM item WHERE nr = 3;
SELECT hub, o.* FROM item, pg_temp.of_work(hub, token, 1500) AS o WHERE nr = 3;
-- Cancelled.
SELECT hub, pg_temp.error(format('SELECT %I.cancel_activities(''[{"instance":"i","execution_id":1,"activity_id":4}]'')', hub)) FROM item WHERE nr = 4;
SELECT hub, o.* FROM item, pg_temp.of_work(hub, token, 1500) AS o WHERE nr = 4;
-- Never granted: no token at all, the token of a turn, an item that this hub never had.
SELECT o.* FROM pg_temp.of_work('lost', 'nothing', 1500) AS o;
SELECT o.* FROM pg_temp.of_work('lost_dx', 'nothing', 1500) AS o;
SELECT belay.create_hub('lost_empty'), belay.set_hub_option('lost_empty', 'max_clock_skew', '0');
SELECT o.* FROM item, pg_temp.of_work('lost_empty', token, 1500) AS o WHERE hub = 'lost' AND nr = 1;

---- Turns.
SELECT test.error(format('SELECT %I.enqueue_orchestrator_work(%L, %L)', h, n,
       json_build_object('StartOrchestration', json_build_object('instance', n, 'orchestration', 'O', 'input', '', 'execution_id', 1)))) FROM unnest(ARRAY['lost', 'lost_dx']) AS h, unnest(ARRAY['a', 'b']) AS n;
CREATE TEMP TABLE turn (hub text, instance text, token text);
DO $$
BEGIN
    FOR n IN 1 .. 2 LOOP
        INSERT INTO turn SELECT 'lost', instance_id, lock_token FROM lost.fetch_orchestration_item(1000, p_now_ms => 4102444800000);
        INSERT INTO turn SELECT 'lost_dx', out_instance_id, out_lock_token FROM lost_dx.fetch_orchestration_item(4102444800000, 1000);
    END LOOP;
END $$;
-- Expired.
SELECT hub, o.* FROM turn, pg_temp.of_turn(hub, token, 4102444801000) AS o WHERE instance = 'a' AND call <> 'abandon';
-- Leased again.
SELECT count(*) FROM lost.fetch_orchestration_item(1000, p_now_ms => 4102444802000);
SELECT count(*) FROM lost_dx.fetch_orchestration_item(4102444802000, 1000);
SELECT hub, o.* FROM turn, pg_temp.of_turn(hub, token, 4102444802500) AS o WHERE instance = 'a';
-- Abandoned.
SELECT hub, pg_temp.error(format('SELECT %I.abandon_orchestration_item(%L, p_now_ms => 4102444800500)', hub, token)) FROM turn WHERE instance = 'b';
SELECT hub, o.* FROM turn, pg_temp.of_turn(hub, token, 4102444800500) AS o WHERE instance = 'b';
-- Acked, with the end of the orchestration.
SELECT lock_token AS token FROM lost.fetch_orchestration_item(1000, p_now_ms => 4102444800600) \gset
SELECT lost.ack_orchestration_item(:'token', 1, '[]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1","status":"Completed","output":"1"}', p_now_ms => 4102444800700);
SELECT o.* FROM pg_temp.of_turn('lost', :'token', 4102444800700) AS o;
-- Never granted.
SELECT o.* FROM pg_temp.of_turn('lost', 'nothing', 4102444800500) AS o;
SELECT o.* FROM turn, pg_temp.of_turn('lost_empty', token, 4102444800500) AS o WHERE hub = 'lost' AND instance = 'a';

-- The token of a live lease of a work item is none of a turn, and the other way round.
SELECT lost.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":9,"name":"A","input":""}}', p_tag => 'other', p_now_ms => 1000);
SELECT lock_token AS work FROM lost.fetch_work_item(1000, 'o', p_tag_filter => '{other}', p_tag_mode => 'tags', p_now_ms => 1000) \gset
SELECT o.* FROM pg_temp.of_turn('lost', :'work', 1500) AS o;
SELECT r.outcome_index, r.error, r.reason, r.error_message FROM lost.settle_turns_and_work(ARRAY[:'work'], '{1}', p_now_ms => 1500) AS r;
SELECT o.* FROM turn, pg_temp.of_work('lost', token, 1500) AS o WHERE hub = 'lost' AND instance = 'a';

---- Tasks.
SELECT count(*) FROM lost.create_tasks('[{"queue":"l","kind":"k"}]', 1000);
SELECT task_id AS task, lease_epoch AS epoch FROM lost.claim_tasks('w', 'i', ARRAY['l'], p_lease_ms => 1000, p_now_ms => 1000) \gset
SELECT pg_temp.error(format('SELECT lost.complete_task(%L, %s, NULL, p_now_ms => 2000)', :'task', :'epoch')) AS expired,
       pg_temp.error(format('SELECT lost.complete_task(%L, %s, NULL, p_now_ms => 1500)', :'task', :epoch + 1)) AS never_granted,
       pg_temp.error(format('SELECT lost.complete_task(%L, %s, NULL, p_now_ms => 1500)', gen_random_uuid(), :epoch)) AS never_existed;
SELECT count(*) FROM lost.claim_tasks('w', 'i', ARRAY['l'], p_lease_ms => 1000, p_now_ms => 2000);
SELECT pg_temp.error(format('SELECT lost.complete_task(%L, %s, NULL, p_now_ms => 2500)', :'task', :'epoch')) AS leased_again;
SELECT count(*) FROM lost.cancel_task(:'task', p_source => 'operator_override', p_now_ms => 2500);
SELECT pg_temp.error(format('SELECT lost.complete_task(%L, %s, NULL, p_now_ms => 2500)', :'task', :'epoch')) AS cancelled;

---- Batches of events.
SELECT lost.create_subscription('s', p_from => 'start');
SELECT max(upto) AS upto FROM lost.read_events('s', 1, 1000, 1000) \gset
SELECT pg_temp.error(format('SELECT lost.ack_events(''s'', %L, 2000)', :'upto')) AS expired;
SELECT count(*) FROM lost.read_events('s', 1, 1000, 2000);
SELECT pg_temp.error(format('SELECT lost.ack_events(''s'', %L, 2000)', :'upto')) AS read_again;
SELECT belay.drop_hub(h, true) FROM unnest(ARRAY['lost', 'lost_dx', 'lost_empty']) AS h;
