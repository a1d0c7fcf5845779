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

CREATE PROCEDURE count.prepare() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.set_hub_option('app', 'task_retention', '0');
    FOR i IN 1 .. 16 LOOP
        PERFORM app.start_orchestration('Bill', '', md5(i::text)::uuid::text, '1.0.0');
    END LOOP;
END
$$;
