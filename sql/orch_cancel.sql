-- Cancelling activities inside an ack: p_cancelled_activities. What the names may look like is in wq_cancel.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_cancel');
SELECT belay.set_hub_option('orch_cancel', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_cancel');
-- A new turn of i, leased from 1000 to 2000.
CREATE PROCEDURE pg_temp.turn() LANGUAGE sql AS $$ SELECT orch_cancel.start_orchestration('O', '', 'i', '1', 0, 1000); SELECT pg_temp.fetch(1000); $$;
CREATE FUNCTION pg_temp.activity(id bigint, instance text DEFAULT 'i', execution bigint DEFAULT 1, session_id text DEFAULT NULL, tag text DEFAULT NULL) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('ActivityExecute', jsonb_build_object('instance', instance, 'execution_id', execution, 'id', id, 'name', 'a', 'session_id', session_id, 'tag', tag))
$$;
CREATE FUNCTION pg_temp.names(VARIADIC ids bigint[]) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_agg(jsonb_build_object('instance', 'i', 'execution_id', 1, 'activity_id', id)) FROM unnest(ids) AS id $$;
CREATE VIEW test.orch_cancel AS SELECT instance_id, execution_id AS execution, activity_id AS activity, lock_token IS NOT NULL AS leased FROM orch_cancel.work_items ORDER BY id;

-- CA-1: the rows of the named activities are deleted, leased or not, in any state; the others stay, of any instance and execution.
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1"}', work => jsonb_build_array(pg_temp.activity(1), pg_temp.activity(2), pg_temp.activity(3, session_id => 's', tag => 't'),
    pg_temp.activity(0), pg_temp.activity(1, 'j'), pg_temp.activity(1, 'i', 2), pg_temp.activity(4)));
SELECT lock_token AS leased FROM orch_cancel.fetch_work_item(1000, 'o', p_now_ms => 1000) \gset
SELECT lock_token AS delayed FROM orch_cancel.fetch_work_item(1000, 'o', p_now_ms => 1000) \gset
SELECT orch_cancel.abandon_work_item(:'delayed', 9000, p_now_ms => 1000);
SELECT * FROM test.orch_cancel;
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, cancelled => pg_temp.names(1, 2, 3, 0));
SELECT * FROM test.orch_cancel;
-- CA-4: a worker that holds one learns it from the next renew or ack.
SELECT call, test.refused(format(call, :'leased')) FROM unnest(ARRAY['SELECT orch_cancel.renew_work_item_lock(%L, 1000, p_now_ms => 1500)', 'SELECT orch_cancel.ack_worker(%L, NULL, ''{"ActivityCompleted":{"instance":"i"}}'', 1500)']) AS call;
SELECT count(*) AS completions FROM orch_cancel.messages;

-- CA-3: names that match nothing are ignored; repeating is harmless, in one ack and in the next.
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, cancelled => pg_temp.names(1, 77, 4, 4));
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, cancelled => pg_temp.names(4));
SELECT * FROM test.orch_cancel;
-- CA-1: an ack may name activities of another instance.
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, cancelled => '[{"instance":"j","execution_id":1,"activity_id":1}, {"instance":"i","execution_id":2,"activity_id":1}]');
SELECT count(*) FROM orch_cancel.work_items;

-- CA-2, AO-17: the deletion comes after the inserts: an activity both scheduled and cancelled in one ack ends absent; its siblings stay.
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, work => jsonb_build_array(pg_temp.activity(5), pg_temp.activity(6), pg_temp.activity(7)), cancelled => pg_temp.names(6));
SELECT * FROM test.orch_cancel;
-- Cancelled and scheduled again by a later ack, it is there.
CALL pg_temp.turn();
CALL pg_temp.ack('i', 1000, work => jsonb_build_array(pg_temp.activity(6)));
SELECT * FROM test.orch_cancel;

-- A failed ack cancels nothing: the worker's lease is as it was.
SELECT lock_token AS held FROM orch_cancel.fetch_work_item(1000, 'o', p_now_ms => 1000) \gset
CALL pg_temp.turn();
SELECT test.refused(format('CALL pg_temp.ack(''i'', 1000, %L, cancelled => %L)', jsonb_build_array(test.event(1, 'x'), test.event(1, 'x')), pg_temp.names(5, 6, 7)));
SELECT test.refused(format('CALL pg_temp.ack(''i'', 2000, cancelled => %L)', pg_temp.names(5, 6, 7)));
SELECT test.refused(format('CALL pg_temp.ack(''i'', 1000, cancelled => %L)', pg_temp.names(5, 6, 7) || '[{"instance":"i"}]'));
SELECT * FROM test.orch_cancel;
SELECT orch_cancel.renew_work_item_lock(:'held', 1000, p_now_ms => 1500);
-- CA-3: many in one ack. CA-5 (no scan) is in wq_cost.
SELECT orch_cancel.ack_orchestration_item(pg_temp.token('i'), 1, '[]', (SELECT jsonb_agg(pg_temp.activity(n)) FROM generate_series(100, 1099) AS n), '[]', '{}',
                                  (SELECT pg_temp.names(VARIADIC array_agg(n::bigint)) FROM generate_series(1, 1098) AS n), p_now_ms => 1500);
SELECT * FROM test.orch_cancel;
SELECT test.refused(format('SELECT orch_cancel.renew_work_item_lock(%L, 1000, p_now_ms => 1500)', :'held'));

DROP VIEW test.orch_cancel;
SELECT belay.drop_hub('orch_cancel', true);
