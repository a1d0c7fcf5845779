-- Cancellation of activities by identity: cancel_activities, the routine behind p_cancelled_activities.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_cancel');
SELECT belay.set_hub_option('wq_cancel', 'max_clock_skew', '0');  -- these tests choose the time

CREATE PROCEDURE pg_temp.add(instance text, execution_id bigint, activity_id bigint, session_id text DEFAULT NULL, tag text DEFAULT NULL, delay_ms bigint DEFAULT 0) LANGUAGE sql AS $$
    SELECT wq_cancel.enqueue_worker_items(jsonb_build_array(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', '{}'::jsonb), 'instance_id', instance,
        'execution_id', execution_id, 'activity_id', activity_id, 'session_id', session_id, 'tag', tag, 'delay_ms', delay_ms)), 1000)
$$;
CREATE VIEW test.wq_cancel AS SELECT instance_id, execution_id AS execution, activity_id AS activity, lock_token IS NOT NULL AS leased FROM wq_cancel.work_items ORDER BY id;

CALL pg_temp.add('i', 1, 1);                        -- leased below
CALL pg_temp.add('i', 1, 2);                        -- ready
CALL pg_temp.add('i', 1, 3, NULL, NULL, 9000);      -- delayed
CALL pg_temp.add('i', 1, 4, 's', 't');              -- with session and tag
CALL pg_temp.add('i', 1, 0);
CALL pg_temp.add('i', 2, 1);                        -- another execution
CALL pg_temp.add('j', 1, 1);                        -- another instance
CALL pg_temp.add('i', 1, 5);
CALL pg_temp.add('i', 1, 5);                        -- twice, as after a repeated enqueue
CALL pg_temp.add('I', 1, 5);
CALL pg_temp.add('i', 1, NULL);
CALL pg_temp.add(NULL, 1, 5);
SELECT lock_token AS token FROM wq_cancel.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT * FROM test.wq_cancel;
-- CA-1: leased or not, in any state, of any session and tag; all rows of that identity and no other.
SELECT wq_cancel.cancel_activities('[{"instance":"i","execution_id":1,"activity_id":1}, {"instance":"i","execution_id":1,"activity_id":2},
                                     {"instance":"i","execution_id":1,"activity_id":3}, {"instance":"i","execution_id":1,"activity_id":4},
                                     {"instance":"i","execution_id":1,"activity_id":0}, {"instance":"i","execution_id":1,"activity_id":5}]');
SELECT * FROM test.wq_cancel;
-- CA-4: the worker that holds it learns it from the next renew or ack; so it does from an abandon.
SELECT call, test.refused(format(call, :'token'))
  FROM unnest(ARRAY['SELECT wq_cancel.renew_work_item_lock(%L, 1000, p_now_ms => 1500)', 'SELECT wq_cancel.ack_worker(%L, NULL, ''{"ActivityCompleted":{"instance":"i"}}'', 1500)',
                    'SELECT wq_cancel.ack_and_fetch_work_item(%L, NULL, NULL, 1000, p_now_ms => 1500)', 'SELECT wq_cancel.abandon_work_item(%L, p_now_ms => 1500)']) AS call;
SELECT renewed, error FROM wq_cancel.renew_work_item_locks(ARRAY[:'token'], 1000, p_now_ms => 1500);
SELECT count(*) AS sent FROM wq_cancel.orchestrator_queue;

-- CA-3: names that match nothing are ignored; repeating, also in one call, is harmless.
SELECT wq_cancel.cancel_activities('[{"instance":"i","execution_id":1,"activity_id":1}, {"instance":"nobody","execution_id":1,"activity_id":1},
                                     {"instance":"j","execution_id":1,"activity_id":1}, {"instance":"j","execution_id":1,"activity_id":1},
                                     {"instance":"","execution_id":-1,"activity_id":-1}]');
SELECT wq_cancel.cancel_activities('[{"instance":"j","execution_id":1,"activity_id":1}]');
-- NULL and empty: nothing.
SELECT wq_cancel.cancel_activities(NULL), wq_cancel.cancel_activities('[]');
-- A field that belay does not know is ignored.
SELECT wq_cancel.cancel_activities('[{"instance":"i","execution_id":2,"activity_id":1,"reason":"too late"}]');
SELECT * FROM test.wq_cancel;

-- Bad elements refuse the call; nothing is deleted.
SELECT element, test.refused(format('SELECT wq_cancel.cancel_activities(''[{"instance":"I","execution_id":1,"activity_id":5}, %s]'')', element))
  FROM unnest(ARRAY['7', 'null', '[]', '{}', '{"execution_id":1,"activity_id":1}', '{"instance":"i","activity_id":1}', '{"instance":"i","execution_id":1}',
                    '{"instance":null,"execution_id":1,"activity_id":1}', '{"instance":7,"execution_id":1,"activity_id":1}', '{"instance":"i","execution_id":"1","activity_id":1}',
                    '{"instance":"i","execution_id":1,"activity_id":1.5}', '{"instance":"i","execution_id":1,"activity_id":null}']) AS element;
SELECT test.refused('SELECT wq_cancel.cancel_activities(''{}'')'), test.refused('SELECT wq_cancel.cancel_activities(''7'')');
SELECT count(*) FROM test.wq_cancel;

-- CC-11: rolled back, the lease is live.
TRUNCATE wq_cancel.worker_queue;
CALL pg_temp.add('i', 1, 1);
SELECT lock_token AS token FROM wq_cancel.fetch_work_item(1000, p_now_ms => 1000) \gset
BEGIN;
SELECT wq_cancel.cancel_activities('[{"instance":"i","execution_id":1,"activity_id":1}]');
ROLLBACK;
SELECT wq_cancel.ack_worker(:'token', p_now_ms => 1500);

-- Many at once.
SELECT wq_cancel.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
           jsonb_build_object('instance', 'many', 'execution_id', 1, 'id', n)))) FROM generate_series(1, 1000) AS n), 1000);
SELECT wq_cancel.cancel_activities((SELECT jsonb_agg(jsonb_build_object('instance', 'many', 'execution_id', 1, 'activity_id', n) ORDER BY md5(n::text))
                                      FROM generate_series(1, 999) AS n));
SELECT * FROM test.wq_cancel;

DROP VIEW test.wq_cancel;
SELECT belay.drop_hub('wq_cancel');
