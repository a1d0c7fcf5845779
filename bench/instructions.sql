-- The loops that bench/instructions.sh counts: each call is a transaction of its own. Tasks are leased for an hour: on a busy
-- machine callgrind takes so long that claims would look for leases that have expired meanwhile.
CREATE SCHEMA IF NOT EXISTS count;

CREATE FUNCTION count.item() RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '{"ActivityExecute":{"name":"Charge","input":"' || repeat('x', 150) || '"}}'
$$;

CREATE PROCEDURE count.cycle(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_item  text := count.item();
    v_token text;
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.enqueue_worker_work(v_item);
        COMMIT;
        SELECT lock_token INTO v_token FROM app.fetch_work_item(30000);
        COMMIT;
        PERFORM app.ack_worker(v_token);
        COMMIT;
    END LOOP;
END
$$;

-- 100 items at once; a time is a batch.
CREATE PROCEDURE count.batch(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_items jsonb := (SELECT jsonb_agg(jsonb_build_object('work_item', count.item()))
                      FROM generate_series(1, 100));
    v_acks  jsonb;
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.enqueue_worker_items(v_items);
        COMMIT;
        SELECT jsonb_agg(jsonb_build_object('lock_token', f.lock_token)) INTO v_acks
        FROM app.fetch_work_items(30000, NULL, NULL, NULL, NULL, 100) AS f;
        COMMIT;
        PERFORM app.ack_workers(v_acks);
        COMMIT;
    END LOOP;
END
$$;

CREATE PROCEDURE count.task(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_payload jsonb := to_jsonb(repeat('x', 150));
    v_id      uuid;
    v_epoch   bigint;
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.create_task('bench', v_payload);
        COMMIT;
        SELECT task_id, lease_epoch INTO v_id, v_epoch
        FROM app.claim_tasks('bench', 'bench-1', '{bench}', '{}', 3600000);
        COMMIT;
        PERFORM app.complete_task(v_id, v_epoch);
        COMMIT;
    END LOOP;
END
$$;

-- 100 tasks at once, as a worker's portions do it; a time is a batch.
CREATE PROCEDURE count.task_batch(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_tasks  jsonb := (SELECT jsonb_agg(jsonb_build_object('queue', 'bench', 'payload', repeat('x', 150)))
                       FROM generate_series(1, 100));
    v_ids    uuid[];
    v_epochs bigint[];
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.create_tasks(v_tasks);
        COMMIT;
        SELECT array_agg(s.task_id), array_agg(s.lease_epoch) INTO v_ids, v_epochs
        FROM app.settle_and_claim_tasks('{}', '{}', p_worker => 'bench', p_worker_instance => 'bench-1', p_queues => '{bench}',
                                        p_lease_ms => 3600000, p_max_items => 100) AS s;
        COMMIT;
        IF EXISTS (SELECT FROM app.settle_and_claim_tasks(v_ids, v_epochs) AS s WHERE s.error IS NOT NULL)
           OR cardinality(v_ids) <> 100 THEN
            RAISE EXCEPTION 'not all tasks were claimed and completed';
        END IF;
        COMMIT;
    END LOOP;
END
$$;

-- Portions of a worker: each call completes the tasks of the call before and claims as many; a time is a portion, with the
-- creation of its tasks.
CREATE PROCEDURE count.settle(p_times int, p_size int) LANGUAGE plpgsql AS $$
DECLARE
    v_tasks  jsonb := (SELECT jsonb_agg(jsonb_build_object('queue', 'settled', 'payload', repeat('x', 150)))
                       FROM generate_series(1, p_size));
    v_ids    uuid[] := '{}';
    v_epochs bigint[] := '{}';
BEGIN
    FOR i IN 1 .. p_times + 1 LOOP
        IF i <= p_times THEN
            PERFORM app.create_tasks(v_tasks);
            COMMIT;
        END IF;
        SELECT array_agg(s.task_id), array_agg(s.lease_epoch) INTO v_ids, v_epochs
        FROM app.settle_and_claim_tasks(v_ids, v_epochs, p_worker => 'bench', p_worker_instance => 'bench-1',
                                        p_queues => '{settled}', p_lease_ms => 3600000, p_max_items => p_size) AS s
        WHERE s.outcome_index IS NULL OR s.error IS NOT NULL;
        COMMIT;
        IF i <= p_times AND cardinality(v_ids) <> p_size THEN
            RAISE EXCEPTION 'not all tasks were settled and claimed';
        END IF;
    END LOOP;
END
$$;
CREATE PROCEDURE count.settle_100(p_times int) LANGUAGE plpgsql AS $$ BEGIN CALL count.settle(p_times, 100); END $$;
CREATE PROCEDURE count.settle_16(p_times int) LANGUAGE plpgsql AS $$ BEGIN CALL count.settle(p_times, 16); END $$;

-- The same through the front door.
CREATE PROCEDURE count.door(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_payload jsonb := to_jsonb(repeat('x', 150));
    v_lease   text;
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.send('bench', v_payload);
        COMMIT;
        SELECT lease INTO v_lease FROM app.receive('bench', lease => '1 hour', worker => 'bench-1');
        COMMIT;
        PERFORM app.complete(v_lease);
        COMMIT;
    END LOOP;
END
$$;

-- Single verbs of the front door, door_*, and the functions below them, task_*. What a loop needs is
-- made by prepare_* of the same name, which is not counted.
CREATE PROCEDURE count.task_send(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_payload jsonb := to_jsonb(repeat('x', 150));
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.create_task('sent', v_payload);
        COMMIT;
    END LOOP;
END
$$;
CREATE PROCEDURE count.door_send(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_payload jsonb := to_jsonb(repeat('x', 150));
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.send('sent', v_payload);
        COMMIT;
    END LOOP;
END
$$;

CREATE PROCEDURE count.prepare_receive(p_times int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM app.send('received', to_jsonb(repeat('x', 150))) FROM generate_series(1, p_times);
END
$$;
CREATE PROCEDURE count.task_receive(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_id    uuid;
    v_epoch bigint;
BEGIN
    FOR i IN 1 .. p_times LOOP
        SELECT task_id, lease_epoch INTO STRICT v_id, v_epoch
        FROM app.claim_tasks('bench', 'bench-1', '{received}', '{}', 3600000);
        COMMIT;
    END LOOP;
END
$$;
CREATE PROCEDURE count.door_receive(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_id    uuid;
    v_lease text;
BEGIN
    FOR i IN 1 .. p_times LOOP
        SELECT id, lease INTO STRICT v_id, v_lease
        FROM app.receive('received', 1, '1 hour', 'bench-1', '{}');
        COMMIT;
    END LOOP;
END
$$;

CREATE TABLE count.held (n int, id uuid, epoch bigint, lease text);
CREATE PROCEDURE count.prepare_complete(p_times int) LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM count.held;
    FOR i IN 1 .. p_times LOOP
        PERFORM app.send('held', to_jsonb(repeat('x', 150)));
        COMMIT;
        INSERT INTO count.held (n, id, lease)
        SELECT i, id, lease FROM app.receive('held', lease => '1 hour', worker => 'bench-1');
        COMMIT;
    END LOOP;
    UPDATE count.held SET epoch = t.lease_epoch FROM app.tasks AS t WHERE t.id = held.id;
END
$$;
CREATE PROCEDURE count.task_complete(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_ids    uuid[] := (SELECT array_agg(id ORDER BY n) FROM count.held);
    v_epochs bigint[] := (SELECT array_agg(epoch ORDER BY n) FROM count.held);
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.complete_task(v_ids[i], v_epochs[i]);
        COMMIT;
    END LOOP;
END
$$;
CREATE PROCEDURE count.door_complete(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_leases text[] := (SELECT array_agg(lease ORDER BY n) FROM count.held);
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.complete(v_leases[i]);
        COMMIT;
    END LOOP;
END
$$;

-- What the ack of a turn sends: 5 events, 2 activities, and a message to the instance itself, which
-- after 20 events continues as new.
CREATE FUNCTION count.event(p_id int, p_kind text, p_fields text) RETURNS text LANGUAGE sql AS $$
    SELECT format('{"event_id":%s,"event_type":"%s","event_data":%s}', p_id, p_kind,
                  to_json(format('{"event_id":%s,"instance_id":"i","execution_id":1,"timestamp_ms":1,'
                                 '"duroxide_version":"0.1.29","%s":{%s}}', p_id, p_kind, p_fields)))
$$;
CREATE FUNCTION count.delta(p_events int) RETURNS jsonb LANGUAGE sql AS $$
    SELECT ('[' || string_agg(count.event(p_events + e.n, e.kind, e.fields), ',') || ']')::jsonb
    FROM (VALUES (1, 'ExternalEvent', '"name":"next","data":"another image"'),
                 (2, 'ActivityCompleted', '"result":"another thumbnail"'),
                 (3, 'ActivityCompleted', '"result":"another thumbnail"'),
                 (4, 'ActivityScheduled', '"name":"Resize","input":"an image"'),
                 (5, 'ActivityScheduled', '"name":"Resize","input":"an image"')) AS e (n, kind, fields)
$$;
CREATE FUNCTION count.activities(p_instance text, p_execution bigint, p_events int) RETURNS jsonb
LANGUAGE sql AS $$
    SELECT jsonb_agg(jsonb_build_object('ActivityExecute', jsonb_build_object(
        'instance', p_instance, 'execution_id', p_execution, 'id', p_events + n, 'name', 'Resize',
        'input', 'an image')))
    FROM generate_series(4, 5) AS n
$$;
CREATE FUNCTION count.message(p_instance text, p_events int) RETURNS jsonb LANGUAGE sql AS $$
    SELECT CASE WHEN p_events = 20
        THEN jsonb_build_array(jsonb_build_object('ContinueAsNew', jsonb_build_object(
            'instance', p_instance, 'orchestration', 'Bill', 'input', '', 'version', '1.0.0')))
        ELSE jsonb_build_array(jsonb_build_object('ExternalRaised', jsonb_build_object(
            'instance', p_instance, 'name', 'next', 'data', 'another image')))
        END
$$;
CREATE FUNCTION count.metadata(p_events int) RETURNS jsonb LANGUAGE sql AS $$
    SELECT CASE p_events
        WHEN 5 THEN '{"orchestration_name": "Bill", "orchestration_version": "1.0.0"}'
        WHEN 20 THEN '{"status": "ContinuedAsNew"}' ELSE '{}' END::jsonb
$$;

CREATE PROCEDURE count.turn(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_turn      record;
    v_events    int;
    v_execution bigint;
BEGIN
    FOR i IN 1 .. p_times LOOP
        SELECT * INTO v_turn FROM app.fetch_orchestration_item(30000);
        COMMIT;
        v_events := json_array_length(v_turn.history);
        v_execution := v_turn.execution_id;
        IF v_events = 20 THEN
            v_execution := v_execution + 1;
            v_events := 0;
        END IF;
        PERFORM app.ack_orchestration_item(v_turn.lock_token, v_execution,
            count.delta(v_events), count.activities(v_turn.instance_id, v_execution, v_events),
            count.message(v_turn.instance_id, v_events + 5),
            count.metadata(v_events + 5));
        COMMIT;
    END LOOP;
END
$$;

-- The arguments of p_times turns, without the turns: what the loop itself costs.
CREATE PROCEDURE count.turn_loop(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_text text;
BEGIN
    FOR i IN 1 .. p_times LOOP
        COMMIT;
        SELECT count.delta(i % 4 * 5)::text
               || count.activities('instance', 1, i % 4 * 5)
               || count.message('instance', i % 4 * 5 + 5) || count.metadata(i % 4 * 5 + 5) INTO v_text;
        COMMIT;
    END LOOP;
END
$$;

-- All instances at once, as a dispatcher's portions do it; a time is a portion of 16 turns.
CREATE PROCEDURE count.turns(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_tokens     text[] := '{}';
    v_ids        text[];
    v_executions bigint[];
    v_events     int[];
    v_deltas     jsonb[];
    v_activities jsonb[];
    v_messages   jsonb[];
    v_metadata   jsonb[];
BEGIN
    FOR i IN 1 .. p_times + 1 LOOP
        SELECT array_agg(t.lock_token), array_agg(t.instance_id),
               array_agg(t.execution_id + (json_array_length(t.history) = 20)::int),
               array_agg(json_array_length(t.history) % 20)
          INTO v_tokens, v_ids, v_executions, v_events
          FROM app.ack_and_fetch_turns(v_tokens, v_executions, v_deltas, v_activities, v_messages, v_metadata,
                                       p_max_turns => CASE WHEN i > p_times THEN 0 ELSE 16 END) AS t
         WHERE t.outcome_index IS NULL OR t.error IS NOT NULL;
        COMMIT;
        EXIT WHEN i > p_times;
        IF cardinality(v_tokens) <> 16 OR v_tokens[1] IS NULL THEN
            RAISE EXCEPTION 'not all turns were acked and fetched: %', v_tokens;
        END IF;
        SELECT array_agg(count.delta(e.n)), array_agg(count.activities(e.id, e.execution, e.n)),
               array_agg(count.message(e.id, e.n + 5)), array_agg(count.metadata(e.n + 5))
          INTO v_deltas, v_activities, v_messages, v_metadata
          FROM unnest(v_ids, v_executions, v_events) AS e (id, execution, n);
    END LOOP;
END
$$;

-- The arguments of p_times portions, without the turns.
CREATE PROCEDURE count.turns_loop(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_deltas     jsonb[];
    v_activities jsonb[];
    v_messages   jsonb[];
    v_metadata   jsonb[];
BEGIN
    FOR i IN 1 .. p_times LOOP
        SELECT array_agg(count.delta(e.n)), array_agg(count.activities(e.id, e.execution, e.n)),
               array_agg(count.message(e.id, e.n + 5)), array_agg(count.metadata(e.n + 5))
          INTO v_deltas, v_activities, v_messages, v_metadata
          FROM unnest(array_fill('instance'::text, '{16}'), array_fill(1::bigint, '{16}'), array_fill(i % 4 * 5, '{16}'))
               AS e (id, execution, n);
        COMMIT;
    END LOOP;
END
$$;

-- What a Runtime's turns of a workflow of three steps send, in a hub of their own: turn 1 starts it, turns 1 to 3 schedule an
-- activity, turn 4 ends it.
CREATE FUNCTION count.step_event(p_instance text, p_id int, p_source int, p_kind text, p_fields text) RETURNS jsonb
LANGUAGE sql AS $$
    SELECT jsonb_build_object('event_id', p_id, 'event_data',
        format('{"event_id":%s,"source_event_id":%s,"instance_id":"%s","execution_id":1,"timestamp_ms":1763571600000,'
               '"duroxide_version":"0.1.30","type":"%s",%s}', p_id, coalesce(p_source::text, 'null'), p_instance,
               p_kind, p_fields))
$$;
CREATE FUNCTION count.step_delta(p_instance text, p_step int) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_array(
        CASE p_step WHEN 1 THEN count.step_event(p_instance, 1, NULL, 'OrchestrationStarted',
                 '"name":"Three","version":"1.0.0","input":"17"')
             ELSE count.step_event(p_instance, 2 * p_step - 1, 2 * p_step - 2, 'ActivityCompleted', '"result":"17"') END,
        CASE p_step WHEN 4 THEN count.step_event(p_instance, 8, NULL, 'OrchestrationCompleted', '"output":"20"')
             ELSE count.step_event(p_instance, 2 * p_step, NULL, 'ActivityScheduled', '"name":"Step","input":"17"') END)
$$;
CREATE FUNCTION count.step_activity(p_instance text, p_step int) RETURNS jsonb LANGUAGE sql AS $$
    SELECT CASE p_step WHEN 4 THEN '[]' ELSE jsonb_build_array(format(
        '{"ActivityExecute":{"instance":"%s","execution_id":1,"id":%s,"name":"Step","input":"17"}}',
        p_instance, 2 * p_step)) END
$$;
CREATE FUNCTION count.step_metadata(p_step int) RETURNS jsonb LANGUAGE sql AS $$
    SELECT ('{"orchestration_name":"Three","orchestration_version":"1.0.0",'
        || CASE p_step WHEN 1 THEN '"pinned_duroxide_version":{"major":0,"minor":1,"patch":30},'
                       WHEN 4 THEN '"status":"Completed","output":"20",' ELSE '' END
        || '"kv_mutations":[]'
        || CASE p_step WHEN 4 THEN '' ELSE format(',"cache":{"owner":"runtime-17","events":%s}', 2 * p_step) END
        || '}')::jsonb
$$;
CREATE FUNCTION count.step_completion(p_instance text, p_step int) RETURNS text LANGUAGE sql AS $$
    SELECT format('{"ActivityCompleted":{"instance":"%s","execution_id":1,"id":%s,"result":"17"}}', p_instance, 2 * p_step)
$$;
CREATE FUNCTION count.workflow_id(p_at_once int, p_round int, p_number int) RETURNS text LANGUAGE sql AS $$
    SELECT format('workflow-%s-%s-%s', p_at_once, p_round, p_number)
$$;

CREATE TABLE count.rounds (workflows int, done int);
INSERT INTO count.rounds VALUES (1, 0), (16, 0);

-- So many workflows of three steps from the start to the end, at once, as a Runtime runs them whose cache has them:
-- each turn is fetched, committed with what it leads to, and its activity fetched and settled.
CREATE PROCEDURE count.run_workflows(p_times int, p_at_once int) LANGUAGE plpgsql AS $$
DECLARE
    v_done        int := (SELECT done FROM count.rounds WHERE workflows = p_at_once);
    v_tokens      text[];
    v_works       text[];
    v_ids         text[];
    v_executions  bigint[] := array_fill(1::bigint, ARRAY[p_at_once]);
    v_deltas      jsonb[];
    v_activities  jsonb[];
    v_none        jsonb[] := array_fill('[]'::jsonb, ARRAY[p_at_once]);
    v_metadata    jsonb[];
    v_completions text[];
    v_outcomes    text[] := array_fill('ack'::text, ARRAY[p_at_once]);
BEGIN
    UPDATE count.rounds SET done = done + p_times WHERE workflows = p_at_once;
    COMMIT;
    FOR i IN v_done + 1 .. v_done + p_times LOOP
        FOR n IN 1 .. p_at_once LOOP
            PERFORM runs.start_orchestration('Three', '17', count.workflow_id(p_at_once, i, n));
            COMMIT;
        END LOOP;
        FOR step IN 1 .. 4 LOOP
            SELECT array_agg(t.lock_token), array_agg(t.instance_id) INTO v_tokens, v_ids
              FROM runs.ack_and_fetch_turns('{}', p_max_turns => p_at_once, p_cache_owner => 'runtime-17') AS t;
            COMMIT;
            IF cardinality(v_tokens) <> p_at_once OR v_tokens[1] IS NULL THEN
                RAISE EXCEPTION 'not all turns were fetched: %', v_tokens;
            END IF;
            SELECT array_agg(count.step_delta(e.id, step)), array_agg(count.step_activity(e.id, step)),
                   array_agg(count.step_metadata(step))
              INTO v_deltas, v_activities, v_metadata FROM unnest(v_ids) AS e (id);
            IF EXISTS (SELECT FROM runs.ack_and_fetch_turns(v_tokens, v_executions, v_deltas, v_activities, v_none,
                                  v_metadata, v_none) AS t
                        WHERE t.outcome_index IS NULL OR t.error IS NOT NULL) THEN
                RAISE EXCEPTION 'a turn was refused or fetched';
            END IF;
            COMMIT;
            CONTINUE WHEN step = 4;
            SELECT array_agg(w.lock_token), array_agg(w.work_item) INTO v_works, v_completions
              FROM runs.settle_and_fetch_work_items('{}', p_owner_id => 'runtime-17', p_tag_mode => 'any',
                                                   p_max_items => p_at_once) AS w;
            COMMIT;
            SELECT array_agg(count.step_completion(e.id, step)) INTO v_completions FROM unnest(v_ids) AS e (id);
            IF EXISTS (SELECT FROM runs.settle_and_fetch_work_items(v_works, v_outcomes, v_completions) AS w
                        WHERE w.error IS NOT NULL) THEN
                RAISE EXCEPTION 'an activity was refused';
            END IF;
            COMMIT;
        END LOOP;
    END LOOP;
END
$$;
CREATE PROCEDURE count.workflow(p_times int) LANGUAGE plpgsql AS $$
BEGIN
    CALL count.run_workflows(p_times, 1);
END
$$;
CREATE PROCEDURE count.workflows(p_times int) LANGUAGE plpgsql AS $$
BEGIN
    CALL count.run_workflows(p_times, 16);
END
$$;

-- The arguments of so many workflows, without the workflows.
CREATE PROCEDURE count.build_workflows(p_times int, p_at_once int) LANGUAGE plpgsql AS $$
DECLARE
    v_ids         text[];
    v_deltas      jsonb[];
    v_activities  jsonb[];
    v_metadata    jsonb[];
    v_completions text[];
BEGIN
    FOR i IN 1 .. p_times LOOP
        v_ids := '{}';
        FOR n IN 1 .. p_at_once LOOP
            v_ids := v_ids || count.workflow_id(p_at_once, i, n);
            COMMIT;
        END LOOP;
        FOR step IN 1 .. 4 LOOP
            COMMIT;
            SELECT array_agg(count.step_delta(e.id, step)), array_agg(count.step_activity(e.id, step)),
                   array_agg(count.step_metadata(step))
              INTO v_deltas, v_activities, v_metadata FROM unnest(v_ids) AS e (id);
            COMMIT;
            CONTINUE WHEN step = 4;
            COMMIT;
            SELECT array_agg(count.step_completion(e.id, step)) INTO v_completions FROM unnest(v_ids) AS e (id);
            COMMIT;
        END LOOP;
    END LOOP;
END
$$;
CREATE PROCEDURE count.workflow_loop(p_times int) LANGUAGE plpgsql AS $$
BEGIN
    CALL count.build_workflows(p_times, 1);
END
$$;
CREATE PROCEDURE count.workflows_loop(p_times int) LANGUAGE plpgsql AS $$
BEGIN
    CALL count.build_workflows(p_times, 16);
END
$$;

CREATE PROCEDURE count.prepare() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.create_hub('runs');
    PERFORM belay.set_hub_option('app', 'task_retention', '0');
    FOR i IN 1 .. 16 LOOP
        PERFORM app.start_orchestration('Bill', '', md5(i::text)::uuid::text, '1.0.0');
    END LOOP;
END
$$;
