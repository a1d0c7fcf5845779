-- Committing a turn: ack_orchestration_item. One unit: all of it, or nothing and the lock is kept.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_ack');
SELECT belay.set_hub_option('orch_ack', 'max_clock_skew', '0');  -- these tests choose the time

CALL test.turn_helpers('orch_ack');
CREATE PROCEDURE pg_temp.raise(instance text, name text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_ack.raise_event(instance, name, '', false, now_ms) $$;
CREATE PROCEDURE pg_temp.start(instance text, now_ms bigint) LANGUAGE sql AS $$ SELECT orch_ack.start_orchestration('O', '', instance, '1', 0, now_ms) $$;
-- A new turn: a message, and the fetch of it, leased from 1000 to 2000.
CREATE PROCEDURE pg_temp.turn(instance text) LANGUAGE plpgsql AS $$
BEGIN
    CALL pg_temp.start(instance, 1000);
    PERFORM pg_temp.fetch(1000);
    ASSERT pg_temp.token(instance) IN (SELECT lock_token FROM orch_ack.instance_lock_states WHERE locked_until = 2000), 'another instance has the turn';
END $$;
CREATE PROCEDURE pg_temp.clear() LANGUAGE sql AS $$ TRUNCATE orch_ack.orchestrator_queue, orch_ack.worker_queue, orch_ack.instance_locks, orch_ack.instances, orch_ack.executions, orch_ack.history_turns, orch_ack.kv_store, orch_ack.kv_delta, lease $$;
CREATE FUNCTION pg_temp.ms(at timestamptz) RETURNS bigint LANGUAGE sql AS $$ SELECT (extract(epoch FROM at) * 1000)::bigint $$;
CREATE VIEW test.orch_ack_instances AS SELECT instance_id, orchestration_name AS name, orchestration_version AS version, current_execution_id AS execution, parent_instance_id AS parent, custom_status_version AS custom,
       pg_temp.ms(created_at) AS created_ms, pg_temp.ms(updated_at) AS updated_ms FROM orch_ack.instances ORDER BY instance_id;
CREATE VIEW test.orch_ack_executions AS SELECT instance_id, execution_id AS execution, status, output, pg_temp.ms(started_at) AS started_ms, pg_temp.ms(completed_at) AS completed_ms,
       concat_ws('.', duroxide_version_major, duroxide_version_minor, duroxide_version_patch) AS pin FROM orch_ack.executions ORDER BY instance_id, execution_id;
CREATE VIEW test.orch_ack_messages AS SELECT instance_id, test.brief(json_build_array(work_item::json)) AS message, pg_temp.ms(visible_at) AS visible_ms, pg_temp.ms(created_at) AS created_ms, lock_token IS NOT NULL AS leased, attempt_count
       FROM orch_ack.messages ORDER BY id;
\set named '{"orchestration_name":"O","orchestration_version":"1"}'

---- The token

-- AO-1: an unknown token; the instance stays locked for its holder, and nothing changes. (More of tokens is in orch_tokens.)
CALL pg_temp.turn('i');
SELECT test.content('orch_ack') AS content \gset
SELECT test.error('SELECT orch_ack.ack_orchestration_item(''nonsense'', 1, ''[]'', ''[]'', ''[]'', ''{}'', p_now_ms => 1000)');
SELECT test.content('orch_ack') = :'content' AS unchanged;
-- AO-3, CL-1: the lock must be live: at 1999 it is, at 2000 not, although no session has taken it over.
SELECT test.refused('CALL pg_temp.ack(''i'', 2000)');
SELECT test.content('orch_ack') = :'content' AS unchanged;
CALL pg_temp.ack('i', 1999);
-- AO-2: one token, one ack; also when both are empty.
SELECT test.refused('CALL pg_temp.ack(''i'', 1999)');
CALL pg_temp.clear();

---- Nothing at all

-- An empty ack is legal and common; it drops the batch. AO-8: of an instance that does not exist it leaves nothing behind. AO-21: nor a lock.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000);
SELECT (SELECT count(*) FROM orch_ack.messages) AS messages, (SELECT count(*) FROM orch_ack.instances) AS instances, (SELECT count(*) FROM orch_ack.executions) AS executions,
       (SELECT count(*) FROM orch_ack.history) AS events, (SELECT count(*) FROM orch_ack.instance_lock_states) AS locks;
-- NULL for an array is the empty array, for metadata {}. So is null inside it.
CALL pg_temp.turn('i');
SELECT orch_ack.ack_orchestration_item(pg_temp.token('i'), 1, NULL, NULL, NULL, NULL, NULL, p_now_ms => 1000);
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":null,"orchestration_version":null,"status":null,"output":null,"parent_instance_id":null,"pinned_duroxide_version":null,
    "custom_status_action":null,"custom_status_value":null,"kv_mutations":null,"unknown":{"field":[]}}');
SELECT (SELECT count(*) FROM orch_ack.messages) AS messages, (SELECT count(*) FROM orch_ack.instances) AS instances, (SELECT count(*) FROM orch_ack.executions) AS executions;
CALL pg_temp.clear();

---- Instance

-- AO-6: with name and version the instance row is born: current execution = the acked one, both times now; custom status NULL, version 0 (CU-1). AO-5: the execution is stored as given.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1100, metadata => '{"orchestration_name":"Bill","orchestration_version":"1.0.0","parent_instance_id":"p"}', execution => 3);
SELECT * FROM test.orch_ack_instances;
SELECT custom_status IS NULL AS no_status FROM orch_ack.instances;
SELECT * FROM test.orch_ack_executions;
-- Later acks overwrite both, or, with only one of them, neither. AO-10: updated_at is now; created_at stays.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1200, metadata => '{"orchestration_name":"Bill 2","orchestration_version":"2.0.0"}', execution => 3);
SELECT * FROM test.orch_ack_instances;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1300, metadata => '{"orchestration_name":"Bill 3"}', execution => 3);
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1400, metadata => '{"orchestration_version":"4.0.0"}', execution => 3);
SELECT * FROM test.orch_ack_instances;
-- AO-10, I3: current_execution_id never decreases; an ack of an older execution is legal.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1500, metadata => '{"status":"Completed","output":"late"}', execution => 2);
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1600, execution => 9223372036854775807);
SELECT * FROM test.orch_ack_instances;
-- The status of an older execution is its own business, nothing else's.
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.clear();
-- With only one of them the row is not created, regardless of the rest of the ack.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'x')), '{"orchestration_name":"O","status":"Completed","parent_instance_id":"p"}');
SELECT * FROM test.orch_ack_instances;
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.clear();
-- The empty text is a name and a version.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"","orchestration_version":""}');
SELECT name = '' AS name, version = '' AS version FROM test.orch_ack_instances;
CALL pg_temp.clear();

-- AO-7, I10: a parent is set at birth, filled in later if it was NULL, and never changed. It need not exist.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => :'named');
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"parent_instance_id":"p"}');
SELECT parent FROM test.orch_ack_instances;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","parent_instance_id":"p"}');
SELECT parent FROM test.orch_ack_instances;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","parent_instance_id":"q"}');
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","parent_instance_id":null}');
SELECT parent FROM test.orch_ack_instances;
-- A parent that exists is not changed by it.
CALL pg_temp.turn('p');
CALL pg_temp.ack('p', 1000, metadata => :'named');
CALL pg_temp.turn('j');
SELECT ctid AS ctid FROM orch_ack.instances WHERE instance_id = 'p' \gset
CALL pg_temp.ack('j', 1500, metadata => '{"orchestration_name":"O","orchestration_version":"1","parent_instance_id":"p"}');
SELECT instance_id, parent, updated_ms FROM test.orch_ack_instances;
SELECT ctid = :'ctid' AS same_row FROM orch_ack.instances WHERE instance_id = 'p';
CALL pg_temp.clear();

---- Execution

-- AO-8: created Running, started now; never reset. Without an instance row it needs an event, a status or a pin.
CALL pg_temp.turn('event');
CALL pg_temp.ack('event', 1000, jsonb_build_array(test.event(1, 'x')));
CALL pg_temp.turn('status');
CALL pg_temp.ack('status', 1000, metadata => '{"status":"Running"}');
CALL pg_temp.turn('pin');
CALL pg_temp.ack('pin', 1000, metadata => '{"pinned_duroxide_version":{"major":0,"minor":1,"patch":30}}');
CALL pg_temp.turn('message');
CALL pg_temp.ack('message', 1000, send => '[{"CancelInstance":{"instance":"x"}}]', work => '[{"ActivityExecute":{}}]');
CALL pg_temp.turn('row');
CALL pg_temp.ack('row', 1000, metadata => :'named');
SELECT * FROM test.orch_ack_executions;
TRUNCATE orch_ack.orchestrator_queue;
-- An empty ack of an instance that exists makes the row of its execution.
CALL pg_temp.turn('row');
CALL pg_temp.ack('row', 1100, execution => 2);
CALL pg_temp.turn('row');
CALL pg_temp.ack('row', 1200, jsonb_build_array(test.event(1, 'x')), execution => 2);
SELECT * FROM test.orch_ack_executions WHERE instance_id = 'row';
CALL pg_temp.clear();

-- AO-13, AO-14: status and output are set together, output NULL if absent; completed_at is now, or NULL for Running. Without a status both stay. Also when the delta is empty.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","output":"not without a status"}');
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1100, metadata => '{"status":"Completed","output":"done"}');
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1200, jsonb_build_array(test.event(1, 'x')));
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1200, metadata => '{"output":"not without a status"}');
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1300, metadata => '{"status":"Failed"}');
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1400, metadata => '{"status":"Running","output":""}');
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1500, metadata => '{"status":"ContinuedAsNew","output":null}');
SELECT * FROM test.orch_ack_executions;
CALL pg_temp.clear();

-- AO-9: a pin is stored on this execution, replacing an earlier one; absent or null leaves it. A new execution does not inherit it; it may come with a later ack.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","pinned_duroxide_version":{"major":0,"minor":1,"patch":30}}');
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"pinned_duroxide_version":null}');
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, execution => 2);
SELECT execution, pin FROM test.orch_ack_executions;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"pinned_duroxide_version":{"major":2,"minor":2000,"patch":0,"more":true}}', execution => 2);
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"pinned_duroxide_version":{"major":0,"minor":0,"patch":0}}');
SELECT execution, pin FROM test.orch_ack_executions;
CALL pg_temp.clear();

---- History

-- AO-4, AO-5: the events go to the lock's instance and the acked execution, regardless of their own fields. Ids need not be contiguous, nor in order.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1234, '[{"event_id":99999,"event_type":"given","event_data":"{\"event_id\":1,\"instance_id\":\"j\",\"execution_id\":8,\"type\":\"Own\"}"}, {"event_id":1,"event_data":"{}"},
                              {"event_id":9223372036854775807,"event_data":"{}"}]', execution => 5);
SELECT instance_id, execution_id, event_id, event_type, event_data, pg_temp.ms(created_at) AS created_ms FROM orch_ack.history ORDER BY event_id;
-- AO-11, I4: an id that is stored already, or twice in the delta: QB005, and the whole ack is undone; the lock is kept.
CALL pg_temp.turn('i');
SELECT test.content('orch_ack') AS content \gset
SELECT test.error(format('CALL pg_temp.ack(''i'', 1000, %L, ''{"orchestration_name":"O","orchestration_version":"1","status":"Failed"}'', ''[{"CancelInstance":{"instance":"x"}}]'', ''[{"ActivityExecute":{}}]'', 5)',
    jsonb_build_array(test.event(2, 'x'), test.event(1, 'x'), test.event(3, 'x'))));
SELECT test.refused(format('CALL pg_temp.ack(''i'', 1000, %L)', jsonb_build_array(test.event(2, 'x'), test.event(3, 'x'), test.event(2, 'y'))));
SELECT test.content('orch_ack') = :'content' AS unchanged;
-- The client tries again with the same token. Another execution has its own ids.
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'x'), test.event(2, 'x')));
SELECT execution_id, event_id FROM orch_ack.history ORDER BY 1, 2;
CALL pg_temp.clear();

---- Activities

-- AO-16, TG-3: in order, visible now, attempt 0; identity, session and tag are taken from the item, exactly as in a direct enqueue. An activity id of 0 is legal; none of the fields is needed; a kind of a newer client passes.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1100, work => '[{"ActivityExecute":{"instance":"i","execution_id":1,"id":0,"name":"a","session_id":"s","tag":"t"}}, {"ActivityExecute":{"instance":"other","execution_id":2,"id":7,"name":"b"}},
                                      {"ActivityExecute":{}}, "{\"Newer\":{\"instance\":\"i\",\"tag\":\"t\"}}"]');
SELECT instance_id, execution_id, activity_id, session_id, tag, pg_temp.ms(visible_at) AS visible_ms, pg_temp.ms(created_at) AS created_ms, attempt_count, lock_token, locked_by FROM orch_ack.work_items ORDER BY id;
CREATE TEMP TABLE acked AS SELECT lane, slot, due, visible_at, execution_id, activity_id, tag, session_id, instance_id, work_item FROM orch_ack.worker_queue;
TRUNCATE orch_ack.worker_queue;
SELECT count(orch_ack.enqueue_worker_work(work_item, p_now_ms => 1100)) FROM acked;
SELECT count(*) AS different FROM (TABLE acked EXCEPT SELECT lane, slot, due, visible_at, execution_id, activity_id, tag, session_id, instance_id, work_item FROM orch_ack.worker_queue) AS d;
-- They are fetchable at once, by those whom tag and session admit.
SELECT work_item FROM orch_ack.fetch_work_items(1000, p_max_items => 10, p_now_ms => 1100);
SELECT work_item FROM orch_ack.fetch_work_items(1000, 'owner', p_tag_filter => '{t}', p_tag_mode => 'tags', p_max_items => 10, p_now_ms => 1100);
CALL pg_temp.clear();

---- Messages

-- AO-18: in order, each to its own target, which need not exist; visible now, a timer when it fires, but not before now. Its own instance is a target like any other.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1500, metadata => :'named', send => '[{"StartOrchestration":{"instance":"child","orchestration":"C"}}, {"TimerFired":{"instance":"i","id":1,"fire_at_ms":9000}}, {"TimerFired":{"instance":"i","id":2,"fire_at_ms":5}},
    {"TimerFired":{"instance":"i","id":3,"fire_at_ms":0}}, {"TimerFired":{"instance":"i","id":4,"fire_at_ms":1500}}, {"SubOrchCompleted":{"parent_instance":"parent","parent_id":5}}, {"SubOrchFailed":{"parent_instance":"parent","parent_id":6}},
    {"ContinueAsNew":{"instance":"i","orchestration":"again"}}, {"Newer":{"instance":"x"}}, {"ExternalRaised":{"instance":"hub/x","name":"ids are not parsed"}}]');
SELECT * FROM test.orch_ack_messages;
-- A timer in the past does not overtake older work of other instances.
CALL pg_temp.start('older', 1400);
SELECT n, f.* FROM generate_series(1, 4) AS n, LATERAL (SELECT instance, messages FROM pg_temp.fetch(1500 + n - n)) AS f;
CALL pg_temp.clear();

-- AO-19, AO-12, CL-9: what refuses the whole ack. The lock is kept, and nothing is changed, by any of them.
CALL pg_temp.turn('i');
SELECT test.content('orch_ack') AS content \gset
CREATE TEMP TABLE bad (nr serial, arguments text);
INSERT INTO bad (arguments) SELECT a FROM unnest(ARRAY[
    'execution => 0', 'execution => -1', 'execution => NULL', 'send => ''[{"CancelInstance":{"instance":"x"}}, {"CancelInstance":{}}]''', 'send => ''[{"ActivityExecute":{"instance":"i"}}]''', 'send => ''[{"SubOrchCompleted":{"instance":"i"}}]''',
    'send => ''[{"TimerFired":{"instance":"i"}}]''', 'send => ''["nonsense"]''', 'send => ''[7]''', 'send => ''{}''', 'send => ''[{"CancelInstance":{"instance":""}}]''', 'send => ''[{"ToHub":{"hub":"h"}}]''',
    'work => ''[{"ActivityExecute":{}}, {"CancelInstance":{"instance":"i"}}]''', 'work => ''[{"ActivityExecute":{"id":"x"}}]''', 'work => ''[{"ActivityExecute":{"instance":7}}]''', 'work => ''[{}]''', 'work => ''7''',
    'metadata => ''[]''', 'metadata => ''7''', 'metadata => ''{"status":"Cancelled"}''', 'metadata => ''{"status":"completed"}''', 'metadata => ''{"status":7}''', 'metadata => ''{"output":7,"status":"Failed"}''', 'metadata => ''{"orchestration_name":7}''',
    'metadata => ''{"orchestration_version":{}}''', 'metadata => ''{"parent_instance_id":""}''', 'metadata => ''{"parent_instance_id":7}''', 'metadata => ''{"pinned_duroxide_version":"1.0.0"}''',
    'metadata => ''{"pinned_duroxide_version":{"major":1,"minor":0}}''', 'metadata => ''{"pinned_duroxide_version":{"major":1,"minor":0,"patch":-1}}''', 'metadata => ''{"pinned_duroxide_version":{"major":2147483648,"minor":0,"patch":0}}''',
    'metadata => ''{"custom_status_action":"reset"}''', 'metadata => ''{"custom_status_action":"set"}''', 'metadata => ''{"custom_status_value":7}''', 'metadata => ''{"kv_mutations":{}}''', 'metadata => ''{"kv_mutations":[7]}''',
    'metadata => ''{"kv_mutations":[{"action":"drop","key":"k"}]}''', 'metadata => ''{"kv_mutations":[{"action":"set","key":"k"}]}''', 'metadata => ''{"kv_mutations":[{"action":"set","value":"v"}]}''', 'metadata => ''{"kv_mutations":[{"action":"clear_key"}]}''',
    'metadata => ''{"kv_mutations":[{"key":"k"}]}''', 'cancelled => ''[7]''', 'cancelled => ''[{"instance":"i"}]''', 'cancelled => ''{}''',
    'delta => ''[{"event_id":1,"event_data":"{}"}, {"event_id":0,"event_data":"{}"}]''']) AS a;
SELECT arguments, test.refused(format('CALL pg_temp.ack(''i'', 1000, %s)', arguments)) FROM bad ORDER BY nr;
-- Names and keys have at most 1024 bytes.
SELECT what, test.refused(format('CALL pg_temp.ack(''i'', 1000, metadata => %L)', metadata)) FROM (VALUES ('name', jsonb_build_object('orchestration_name', repeat('x', 1025), 'orchestration_version', '1')),
    ('parent', jsonb_build_object('parent_instance_id', repeat('x', 1025))), ('key', jsonb_build_object('kv_mutations', jsonb_build_array(jsonb_build_object('action', 'set', 'key', repeat('x', 1025), 'value', ''))))) AS v (what, metadata);
SELECT test.refused('CALL pg_temp.ack(''i'', -1)');
SELECT test.content('orch_ack') = :'content' AS unchanged;
CALL pg_temp.ack('i', 1999);
CALL pg_temp.clear();

---- The end

-- AO-20: the messages that carry the token are deleted, and only those. What arrived during the lease stays, and is fetchable right after the ack (AO-21).
CALL pg_temp.turn('i');
CALL pg_temp.raise('i', 'arrived', 1100);
SELECT orch_ack.enqueue_orchestrator_work(NULL, '{"TimerFired":{"instance":"i","id":1,"fire_at_ms":9000}}', to_timestamp(1));
CALL pg_temp.raise('j', 'another', 1000);
CALL pg_temp.ack('i', 1200, metadata => :'named', send => '[{"ExternalRaised":{"instance":"i","name":"to itself"}}]');
SELECT instance_id, message, leased, attempt_count FROM test.orch_ack_messages;
SELECT messages, attempt FROM pg_temp.fetch(1200);
CALL pg_temp.clear();
-- Many messages in one batch, many effects in one ack.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => :'named');
SELECT count(orch_ack.raise_event('i', 'n' || n, '', false, 1000)) FROM generate_series(1, 2000) AS n;
SELECT json_array_length(messages), lock_token AS token FROM orch_ack.fetch_orchestration_item(1000, p_now_ms => 1000) \gset many_
SELECT :many_json_array_length AS messages;
SELECT orch_ack.ack_orchestration_item(:'many_token', 1, (SELECT jsonb_agg(test.event(n, 'ActivityScheduled')) FROM generate_series(1, 2000) AS n),
    (SELECT jsonb_agg(jsonb_build_object('ActivityExecute', jsonb_build_object('instance', 'i', 'execution_id', 1, 'id', n))) FROM generate_series(1, 2000) AS n),
    (SELECT jsonb_agg(jsonb_build_object('StartOrchestration', jsonb_build_object('instance', 'i::sub::' || n, 'orchestration', 'C'))) FROM generate_series(1, 2000) AS n), '{}', p_now_ms => 1000);
SELECT (SELECT count(*) FROM orch_ack.history) AS events, (SELECT count(*) FROM orch_ack.work_items) AS activities, (SELECT count(*) FROM orch_ack.messages) AS messages;
CALL pg_temp.clear();

-- CC-11: an ack that is rolled back never was: the turn goes on.
CALL pg_temp.turn('i');
SELECT test.content('orch_ack') AS content \gset
BEGIN;
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'x')), '{"orchestration_name":"O","orchestration_version":"1","status":"Completed"}', '[{"CancelInstance":{"instance":"x"}}]', '[{"ActivityExecute":{}}]');
ROLLBACK;
SELECT test.content('orch_ack') = :'content' AS unchanged;
CALL pg_temp.ack('i', 1000, metadata => :'named');
CALL pg_temp.clear();
-- Several turns in one transaction.
BEGIN;
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, metadata => '{"orchestration_name":"O","orchestration_version":"1","status":"Completed"}', send => '[{"StartOrchestration":{"instance":"i","orchestration":"O"}}]');
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1000, send => '[{"ExternalRaised":{"instance":"i","name":"again"}}]');
SELECT messages FROM pg_temp.fetch(1000);
COMMIT;
CALL pg_temp.clear();

---- Consequences

-- Continue-as-new: the old execution is acked ContinuedAsNew with a message to itself; the next turn acks execution + 1, whose new row makes the instance Running again.
CALL pg_temp.turn('i');
CALL pg_temp.ack('i', 1000, jsonb_build_array(test.event(1, 'OrchestrationStarted')), '{"orchestration_name":"O","orchestration_version":"1","status":"ContinuedAsNew","output":"2"}', '[{"ContinueAsNew":{"instance":"i","orchestration":"O"}}]');
SELECT messages FROM pg_temp.fetch(1000);
CALL pg_temp.ack('i', 1100, jsonb_build_array(test.event(1, 'OrchestrationStarted')), :'named', execution => 2);
SELECT * FROM test.orch_ack_executions;
SELECT execution FROM test.orch_ack_instances;
CALL pg_temp.clear();
-- Sub-orchestration: the child's row is born in the child's own first ack, with its own name and its parent.
CALL pg_temp.turn('p');
CALL pg_temp.ack('p', 1000, metadata => :'named', send => '[{"StartOrchestration":{"instance":"p::sub::2","orchestration":"C","version":"1","parent_instance":"p","parent_id":2,"execution_id":1}}]');
SELECT instance_id FROM test.orch_ack_instances;
SELECT instance, name FROM pg_temp.fetch(1000);
CALL pg_temp.ack('p::sub::2', 1000, metadata => '{"orchestration_name":"C","orchestration_version":"7","parent_instance_id":"p","status":"Completed","output":"r"}',
    send => '[{"SubOrchCompleted":{"parent_instance":"p","parent_execution_id":1,"parent_id":2,"result":"r"}}]');
SELECT instance_id, name, version, parent FROM test.orch_ack_instances;
SELECT instance, messages FROM pg_temp.fetch(1000);
CALL pg_temp.clear();

-- CL-7, CL-3: the clock.
SELECT belay.set_hub_option('orch_ack', 'max_clock_skew', '1 h');
SELECT length(orch_ack.start_orchestration('O', '', 'i'));
SELECT attempt FROM pg_temp.fetch(NULL, 60000);
SELECT test.sqlstate('CALL pg_temp.ack(''i'', 1000)');
CALL pg_temp.ack('i', NULL, metadata => :'named');
SELECT clock_timestamp() - created_at BETWEEN '-1 s' AND '1 min' AS now FROM orch_ack.instances;

DROP VIEW test.orch_ack_instances, test.orch_ack_executions, test.orch_ack_messages;
SELECT belay.drop_hub('orch_ack', true);
