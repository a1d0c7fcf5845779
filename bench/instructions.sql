-- The loops that bench/instructions.sh counts: each call is a transaction of its own.
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
        FROM app.claim_tasks('bench', 'bench-1', '{bench}');
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
                                        p_max_items => 100) AS s;
        COMMIT;
        IF EXISTS (SELECT FROM app.settle_and_claim_tasks(v_ids, v_epochs) AS s WHERE s.error IS NOT NULL)
           OR cardinality(v_ids) <> 100 THEN
            RAISE EXCEPTION 'not all tasks were claimed and completed';
        END IF;
        COMMIT;
    END LOOP;
END
$$;

-- The same through the front door.
CREATE PROCEDURE count.door(p_times int) LANGUAGE plpgsql AS $$
DECLARE
    v_payload jsonb := to_jsonb(repeat('x', 150));
    v_lease   text;
BEGIN
    FOR i IN 1 .. p_times LOOP
        PERFORM app.send('bench', v_payload);
        COMMIT;
        SELECT lease INTO v_lease FROM app.receive('bench', worker => 'bench-1');
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

CREATE PROCEDURE count.prepare() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.set_hub_option('app', 'task_retention', '0');
    FOR i IN 1 .. 16 LOOP
        PERFORM app.start_orchestration('Bill', '', md5(i::text)::uuid::text, '1.0.0');
    END LOOP;
END
$$;
