-- Sending messages to instances: enqueue_orchestrator_work, enqueue_orchestrator_items and the short forms.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_enqueue');
SELECT belay.set_hub_option('orch_enqueue', 'max_clock_skew', '0');  -- these tests choose the time

CREATE FUNCTION pg_temp.ms(at timestamptz) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN at IN ('infinity', '-infinity') THEN at::text ELSE ((extract(epoch FROM at) * 1000)::numeric)::bigint::text END
$$;
CREATE VIEW test.orch_enqueue AS
    SELECT instance_id, work_item, pg_temp.ms(visible_at) AS visible_ms, lock_token IS NULL AND locked_until IS NULL AS no_lease, attempt_count
      FROM orch_enqueue.messages ORDER BY id;

---- enqueue_orchestrator_work

-- EO-1, EO-2: one message, attempt 0, no lease. There is no such instance, and none is made. DM-1: the bytes are kept.
SELECT orch_enqueue.enqueue_orchestrator_work('i', ' {"ExternalRaised" : {"instance":"i","name":"n","data":"d"}}', to_timestamp(1));
SELECT * FROM test.orch_enqueue;
SELECT (SELECT count(*) FROM orch_enqueue.instances) AS instances, (SELECT count(*) FROM orch_enqueue.executions) AS executions,
       (SELECT count(*) FROM orch_enqueue.instance_locks) AS locks;
TRUNCATE orch_enqueue.orchestrator_queue;

-- EO-3: the target is the item's routing field. p_instance_id may say the same, or nothing.
SELECT orch_enqueue.enqueue_orchestrator_work(i, item, to_timestamp(1)) FROM (VALUES
    (NULL, '{"StartOrchestration":{"instance":"a","orchestration":"O","input":"","version":null,"parent_instance":"p","parent_id":1,"execution_id":1}}'),
    ('b', '{"ActivityCompleted":{"instance":"b","execution_id":1,"id":1,"result":""}}'),
    (NULL, '{"ActivityFailed":{"instance":"c","execution_id":1,"id":1,"details":{}}}'),
    (NULL, '{"TimerFired":{"instance":"d","execution_id":1,"id":1,"fire_at_ms":5}}'),
    ('e', '{"ExternalRaised":{"instance":"e","name":"","data":""}}'),
    ('f', '{"SubOrchCompleted":{"parent_instance":"f","parent_execution_id":1,"parent_id":4,"result":""}}'),
    (NULL, '{"SubOrchFailed":{"parent_instance":"g","parent_execution_id":1,"parent_id":4,"details":{},"instance":"not the target"}}'),
    (NULL, '{"CancelInstance":{"instance":"h","reason":""}}'),
    ('i', '{"ContinueAsNew":{"instance":"i","orchestration":"O","input":"","version":"1.0.0","carry_forward_events":[["q","d"]],"parent_instance":"p"}}'),
    (NULL, '{"QueueMessage":{"instance":"j","name":"","data":""}}'),
    (NULL, '{"SomethingNewer":{"instance":"k","parent_instance":"not the target","x":[1]}}'),
    (NULL, '{"ExternalRaised":{"\u0069nstance":"l\u00e9 \"\ud83d\ude00"}}'),
    ('twice', '{"ExternalRaised":{"instance":"once","instance":"twice"}}')) AS v (i, item);
SELECT instance_id, kind FROM orch_enqueue.orchestrator_queue ORDER BY id;
TRUNCATE orch_enqueue.orchestrator_queue;
-- One row must not carry two addresses.
SELECT instance, item, test.refused(format('SELECT orch_enqueue.enqueue_orchestrator_work(%L, %L, NULL)', instance, item)) FROM (VALUES
    ('x', '{"ExternalRaised":{"instance":"i"}}'),
    ('', '{"ExternalRaised":{"instance":"i"}}'),
    ('I', '{"CancelInstance":{"instance":"i"}}'),
    ('child', '{"SubOrchCompleted":{"parent_instance":"f","instance":"child"}}')) AS v (instance, item);

-- EO-4, CL-11: p_visible_at NULL is now, by the server's clock; created_at is now in any case.
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i"}}', NULL);
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i"}}', to_timestamp(1));
SELECT clock_timestamp() - visible_at < interval '1 min' AS visible_now, clock_timestamp() - created_at BETWEEN '-1 s' AND '1 min' AS created_now
  FROM orch_enqueue.messages ORDER BY id;
TRUNCATE orch_enqueue.orchestrator_queue;
-- Otherwise the row is hidden until then. DM-6: times are truncated to milliseconds. DM-7: infinity is a time.
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i"}}', at) FROM unnest(ARRAY[
    '2040-01-01 00:00:00.123999+00', 'infinity', '-infinity', '1969-12-31 23:59:59.9999+00']::timestamptz[]) AS at;
SELECT visible_ms FROM test.orch_enqueue;
TRUNCATE orch_enqueue.orchestrator_queue;

-- EO-5: a timer is hidden until it fires, or until p_visible_at if that is later. With 0 or less only p_visible_at counts.
SELECT orch_enqueue.enqueue_orchestrator_work('i', format('{"TimerFired":{"instance":"i","execution_id":1,"id":1,"fire_at_ms":%s}}', fire), to_timestamp(at))
  FROM (VALUES ('1000', 5), ('9000', 5), ('5000', 5), ('0', 5), ('-7000', 5), ('9223372036854775807', 5), ('99999999999999999999999', 5),
               ('-99999999999999999999999', 5), ('253402300800000', 5), ('0', -5), ('-7000', -5)) AS v (fire, at);
SELECT work_item::jsonb #>> '{TimerFired,fire_at_ms}' AS fire_at_ms, visible_ms FROM test.orch_enqueue;
TRUNCATE orch_enqueue.orchestrator_queue;
-- Without p_visible_at: now counts.
SELECT orch_enqueue.enqueue_orchestrator_work('i', format('{"TimerFired":{"instance":"i","fire_at_ms":%s}}', fire), NULL) FROM unnest(ARRAY[1, 0]) AS fire;
SELECT clock_timestamp() - visible_at BETWEEN '-1 s' AND '1 min' AS visible_now FROM orch_enqueue.messages ORDER BY id;
TRUNCATE orch_enqueue.orchestrator_queue;
-- Only a timer has a time: the field means nothing in another kind.
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i","fire_at_ms":"whenever"}}', to_timestamp(1));
SELECT visible_ms FROM test.orch_enqueue;
TRUNCATE orch_enqueue.orchestrator_queue;

-- EO-7, JS-1, JS-6: what is refused.
SELECT item, test.refused(format('SELECT orch_enqueue.enqueue_orchestrator_work(NULL, %L, NULL)', item)) FROM unnest(ARRAY[
    NULL, '', '{', '[]', '7', 'null', '"text"', '{}', '{"A":{"instance":"i"},"B":{"instance":"i"}}', '{"ExternalRaised":"i"}', '{"ExternalRaised":null}',
    '{"ExternalRaised":{}}', '{"ExternalRaised":{"instance":null}}', '{"ExternalRaised":{"instance":7}}', '{"ExternalRaised":{"instance":"a\u0000b"}}',
    '{"ExternalRaised":{"instance":"\ud800"}}', '{"Newer":{"id":1}}', '{"SubOrchCompleted":{"instance":"i"}}', '{"SubOrchFailed":{"parent_instance":7}}',
    '{"ActivityExecute":{"instance":"i","execution_id":1,"id":1}}', '{"TimerFired":{"instance":"i"}}', '{"TimerFired":{"instance":"i","fire_at_ms":null}}',
    '{"TimerFired":{"instance":"i","fire_at_ms":"5"}}', '{"TimerFired":{"instance":"i","fire_at_ms":1.5}}',
    -- An item for another hub has no way out yet.
    '{"ToHub":{"hub":"other","item":{"CancelInstance":{"instance":"i"}}}}', '{"ToHub":{"hub":"other","instance":"i"}}']) AS item;
-- An instance id has 1 to 1024 bytes, not characters.
SELECT n, test.sqlstate(format('SELECT orch_enqueue.enqueue_orchestrator_work(NULL, %L, NULL)', jsonb_build_object('CancelInstance', jsonb_build_object('instance', repeat(c, n)))))
  FROM (VALUES ('x', 0), ('x', 1), ('x', 1024), ('x', 1025), ('é', 512), ('é', 513)) AS v (c, n);
TRUNCATE orch_enqueue.orchestrator_queue;
-- JS-1: an escaped NUL in any other field is legal, and so is everything else that belay does not read.
SELECT orch_enqueue.enqueue_orchestrator_work(NULL, '{"QueueMessage":{"instance":"i","name":"\u0000","data":1e999999,"x":"\udead"}}', to_timestamp(1));
SELECT * FROM test.orch_enqueue;
TRUNCATE orch_enqueue.orchestrator_queue;
-- A deep one and a large one.
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i","data":' || repeat('[', 60000) || repeat(']', 60000) || '}}', to_timestamp(1));
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i","data":"' || repeat('é', 1000000) || '"}}', to_timestamp(1));
SELECT octet_length(work_item) FROM orch_enqueue.messages ORDER BY id;
TRUNCATE orch_enqueue.orchestrator_queue;

-- EO-8: the last three arguments are accepted and ignored, with any value. The first three may be named.
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"ExternalRaised":{"instance":"i"}}', to_timestamp(1), 'name', 'version', -5);
SELECT orch_enqueue.enqueue_orchestrator_work(p_instance_id => 'i', p_work_item => '{"ExternalRaised":{"instance":"i"}}', p_visible_at => to_timestamp(1));
SELECT * FROM test.orch_enqueue;
SELECT count(*) AS instances FROM orch_enqueue.instances;
-- EO-6: fetchable as soon as it is visible: not a millisecond before.
TRUNCATE orch_enqueue.orchestrator_queue;
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"StartOrchestration":{"instance":"i","orchestration":"O"}}', to_timestamp(5));
SELECT attempt_count FROM orch_enqueue.fetch_orchestration_item(1000, p_now_ms => 4999);
SELECT attempt_count FROM orch_enqueue.fetch_orchestration_item(1000, p_now_ms => 5000);
TRUNCATE orch_enqueue.orchestrator_queue, orch_enqueue.instance_locks;
-- CC-11: rolled back, it was never sent.
BEGIN;
SELECT orch_enqueue.enqueue_orchestrator_work('i', '{"StartOrchestration":{"instance":"i","orchestration":"O"}}', to_timestamp(5));
ROLLBACK;
SELECT count(*) FROM orch_enqueue.messages;

---- enqueue_orchestrator_items

-- EB-1: like the single form, element by element. DM-3: ids in input order. EB-2: visible now if nothing else is said.
-- JS-7: an object is stored as PostgreSQL prints it, a string byte for byte.
SELECT orch_enqueue.enqueue_orchestrator_items('[
    {"work_item": {"CancelInstance": {"instance": "i", "reason": "r", "reason": "s", "n": 1.50}}},
    {"work_item": " {\"QueueMessage\":{\"instance\":\"j\",\"data\":\"\\u0000\"}}", "instance_id": "j"},
    {"work_item": {"ExternalRaised": {"instance": "i"}}, "visible_at_ms": 7000, "instance_id": null},
    {"work_item": {"TimerFired": {"instance": "k", "fire_at_ms": 8000}}, "visible_at_ms": 7000},
    {"work_item": {"TimerFired": {"instance": "k", "fire_at_ms": 8000}}, "visible_at_ms": 9000},
    {"work_item": {"TimerFired": {"instance": "k", "fire_at_ms": 0}}},
    {"work_item": {"TimerFired": {"instance": "k", "fire_at_ms": 0}}, "visible_at_ms": 10000},
    {"work_item": {"SubOrchFailed": {"parent_instance": "l"}}, "visible_at_ms": 0},
    {"work_item": {"Newer": {"instance": "m"}}, "visible_at_ms": null}]', 5000);
SELECT * FROM test.orch_enqueue;
SELECT DISTINCT pg_temp.ms(created_at) AS created_ms FROM orch_enqueue.messages;
TRUNCATE orch_enqueue.orchestrator_queue;

-- EB-3: NULL or empty: 0.
SELECT orch_enqueue.enqueue_orchestrator_items(NULL), orch_enqueue.enqueue_orchestrator_items('[]', 5000);
-- One bad element refuses the call; the DETAIL names it.
SELECT element, test.refused(format('SELECT orch_enqueue.enqueue_orchestrator_items(%L, 5000)', '[{"work_item":{"CancelInstance":{"instance":"i"}}}, ' || element || ']'))
  FROM unnest(ARRAY['7', 'null', '[]', '{}', '{"work_item":null}', '{"work_item":7}', '{"work_item":[]}', '{"work_item":"nonsense"}', '{"work_item":{}}',
    '{"work_item":{"ActivityExecute":{"instance":"i"}}}', '{"work_item":{"CancelInstance":{}}}', '{"work_item":{"TimerFired":{"instance":"i"}}}',
    '{"work_item":"{\"CancelInstance\":{\"instance\":\"\\u0000\"}}"}', '{"work_item":{"CancelInstance":{"instance":"i"}},"instance_id":"j"}',
    '{"work_item":{"CancelInstance":{"instance":"i"}},"instance_id":7}', '{"work_item":{"CancelInstance":{"instance":"i"}},"visible_at_ms":"5"}',
    '{"work_item":{"CancelInstance":{"instance":"i"}},"visible_at_ms":-1}', '{"work_item":{"CancelInstance":{"instance":"i"}},"visible_at_ms":1.5}',
    '{"work_item":{"CancelInstance":{"instance":"i"}},"delay_ms":5}', '{"work_item":{"ToHub":{"hub":"h","item":{}}}}']) AS element;
SELECT value, test.refused(format('SELECT orch_enqueue.enqueue_orchestrator_items(%L, 5000)', value)) FROM unnest(ARRAY['{}', '7', '"[]"', 'null']) AS value;
-- At most 10,000 elements.
SELECT test.refused(format('SELECT orch_enqueue.enqueue_orchestrator_items(%L, 5000)', (SELECT jsonb_agg('{"work_item":{"CancelInstance":{"instance":"i"}}}'::jsonb) FROM generate_series(1, 10001))));
SELECT count(*) FROM orch_enqueue.messages;
SELECT orch_enqueue.enqueue_orchestrator_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('CancelInstance', jsonb_build_object('instance', 'i' || n))) ORDER BY n)
                                                  FROM generate_series(1, 10000) AS n), 5000);
SELECT count(*), bool_and(instance_id = 'i' || nr) AS in_order FROM (SELECT instance_id, row_number() OVER (ORDER BY id) AS nr FROM orch_enqueue.messages) AS m;
TRUNCATE orch_enqueue.orchestrator_queue;

---- The short forms

-- EC-1: exactly a start: execution 1, no parent. The id comes back. EC-3: any text is accepted.
SELECT orch_enqueue.start_orchestration('Bill', '{"a": "b"}', 'ord-7', '1.0.0', p_now_ms => 5000);
SELECT orch_enqueue.start_orchestration(E'N"\\\n', E'\t\x01é😀', 'i"', E'v\\', 1500, 5000);
SELECT orch_enqueue.start_orchestration(p_name => 'N', p_input => NULL, p_instance_id => 'i', p_delay_ms => NULL, p_now_ms => 5000);
SELECT work_item, visible_ms FROM test.orch_enqueue;
SELECT instance_id, work_item::jsonb #>> '{StartOrchestration,orchestration}' = E'N"\\\n' AS name,
       work_item::jsonb #>> '{StartOrchestration,input}' = E'\t\x01é😀' AS input, work_item::jsonb #>> '{StartOrchestration,version}' = E'v\\' AS version
  FROM orch_enqueue.messages WHERE instance_id = 'i"';
TRUNCATE orch_enqueue.orchestrator_queue;
-- Without an id it makes a version-7 uuid: its first 48 bits are the clock.
SELECT id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' AS v7, left(id, 13) AS clock
  FROM orch_enqueue.start_orchestration('N', p_now_ms => 1800000000000) AS id;
SELECT to_hex(1800000000000) AS clock;
SELECT instance_id = work_item::jsonb #>> '{StartOrchestration,instance}' AS same FROM orch_enqueue.messages;
SELECT orch_enqueue.start_orchestration('N', p_now_ms => 5000) <> orch_enqueue.start_orchestration('N', p_now_ms => 5000) AS different;
TRUNCATE orch_enqueue.orchestrator_queue;
-- A start for an instance that has one is an ordinary message.
SELECT orch_enqueue.start_orchestration('N', '', 'i', p_now_ms => 5000), orch_enqueue.start_orchestration('M', '', 'i', p_now_ms => 5000);
SELECT count(*) FROM orch_enqueue.messages;
TRUNCATE orch_enqueue.orchestrator_queue;

-- EC-2: an event, a queue message, a request to cancel. None of them looks at the instance.
SELECT orch_enqueue.raise_event('i', 'go', '1', p_now_ms => 5000);
SELECT orch_enqueue.raise_event('i', E'"\\', NULL, NULL, 5000);
SELECT orch_enqueue.raise_event('i', 'q', 'd1', true, 5000);
SELECT orch_enqueue.cancel_instance('i', 'user', 5000);
SELECT orch_enqueue.cancel_instance('i', NULL, 5000);
SELECT * FROM test.orch_enqueue;
-- What they build is what a client would write: as JSON the same.
SELECT bool_and(work_item::jsonb = wanted::jsonb) AS as_specified FROM (SELECT work_item, row_number() OVER (ORDER BY id) AS nr FROM orch_enqueue.messages) AS m
  JOIN (VALUES (1, '{"ExternalRaised":{"instance":"i","name":"go","data":"1"}}'), (2, '{"ExternalRaised":{"instance":"i","name":"\"\\","data":""}}'),
               (3, '{"QueueMessage":{"instance":"i","name":"q","data":"d1"}}'), (4, '{"CancelInstance":{"instance":"i","reason":"user"}}'),
               (5, '{"CancelInstance":{"instance":"i","reason":""}}')) AS w (nr, wanted) USING (nr);
TRUNCATE orch_enqueue.orchestrator_queue;

-- EC-3: NULL, empty and long names. CL-9: no negative delay.
SELECT call, test.refused('SELECT orch_enqueue.' || call) FROM unnest(ARRAY[
    'start_orchestration(NULL)', 'start_orchestration('''')', 'start_orchestration(repeat(''x'', 1025))', 'start_orchestration(''N'', '''', '''')',
    'start_orchestration(''N'', '''', repeat(''x'', 1025))', 'start_orchestration(''N'', p_delay_ms => -1)', 'start_orchestration(''N'', p_now_ms => -1)',
    'raise_event(NULL, ''n'')', 'raise_event('''', ''n'')', 'raise_event(repeat(''x'', 1025), ''n'')', 'raise_event(''i'', NULL)', 'raise_event(''i'', '''')',
    'raise_event(''i'', ''n'', p_now_ms => -1)', 'cancel_instance(NULL)', 'cancel_instance('''')', 'cancel_instance(repeat(''x'', 1025))',
    'cancel_instance(''i'', p_now_ms => -1)', 'enqueue_orchestrator_items(''[]'', -1)']) AS call;
-- CL-7: a clock too far from the server's is refused. CL-3: NULL is the server's clock.
SELECT belay.set_hub_option('orch_enqueue', 'max_clock_skew', '1 h');
SELECT call, test.sqlstate('SELECT orch_enqueue.' || call) FROM unnest(ARRAY[
    'start_orchestration(''N'', p_now_ms => 5000)', 'raise_event(''i'', ''n'', p_now_ms => 5000)', 'cancel_instance(''i'', p_now_ms => 5000)',
    'enqueue_orchestrator_items(''[{"work_item":{"CancelInstance":{"instance":"i"}}}]'', 5000)']) AS call;
SELECT count(*) FROM orch_enqueue.messages;
SELECT length(orch_enqueue.start_orchestration('N', p_delay_ms => 600000));
SELECT orch_enqueue.raise_event('i', 'n');
SELECT orch_enqueue.cancel_instance('i');
SELECT orch_enqueue.enqueue_orchestrator_items('[{"work_item":{"CancelInstance":{"instance":"i"}}}]');
SELECT round(extract(epoch FROM visible_at - clock_timestamp()) / 600) * 10 AS minutes FROM orch_enqueue.messages ORDER BY id;
-- CL-10: the time inside an item is taken as it is, however far from either clock.
SELECT orch_enqueue.enqueue_orchestrator_items('[{"work_item":{"TimerFired":{"instance":"far","fire_at_ms":1}}}, {"work_item":{"TimerFired":{"instance":"far","fire_at_ms":9000000000000}}}]');
SELECT work_item::jsonb #>> '{TimerFired,fire_at_ms}' AS fire_at_ms, CASE WHEN visible_at > clock_timestamp() THEN pg_temp.ms(visible_at) ELSE 'now' END AS visible_ms
  FROM orch_enqueue.messages WHERE instance_id = 'far' ORDER BY id;

DROP VIEW test.orch_enqueue;
SELECT belay.drop_hub('orch_enqueue');
