-- Hot tables that their owner has altered: what is served, and what the first call refuses (QB018), with the object's name and
-- what to do, before anything is written. check_hub tells the same.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('ta_app');
SELECT belay.set_hub_option('ta_app', 'max_clock_skew', '0');
SELECT * FROM belay.check_hub('ta_app');

-- Alters a table, makes a call, and tells how it ended and what check_hub says; then takes the alterations back.
CREATE FUNCTION test.ta_after(call text, VARIADIC alterations text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    alteration text;
    lines text[];
BEGIN
    FOREACH alteration IN ARRAY alterations LOOP
        EXECUTE alteration;
    END LOOP;
    lines := string_to_array(test.error('SELECT ta_app.' || call), E'\n');
    RAISE EXCEPTION USING ERRCODE = 'TA000',
        DETAIL = (lines || ARRAY(SELECT 'check_hub: ' || object || ' ' || problem FROM belay.check_hub('ta_app')))::text;
EXCEPTION WHEN SQLSTATE 'TA000' THEN
    GET STACKED DIAGNOSTICS alteration = PG_EXCEPTION_DETAIL;
    RETURN QUERY SELECT f FROM unnest(alteration::text[]) AS f;
END $$;
\set put '\'enqueue_worker_work(\'\'{"ActivityExecute":{}}\'\', p_now_ms => 0)\''
\set take '\'fetch_work_item(1000, p_now_ms => 1000)\''
SELECT ta_app.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 0);

-- Code that would run, and rows that would not be seen.
CREATE FUNCTION test.ta_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT test.ta_after(:put, 'CREATE TRIGGER mine BEFORE INSERT ON ta_app.worker_queue FOR EACH ROW EXECUTE FUNCTION test.ta_trigger()');
SELECT test.ta_after(:put, 'CREATE TABLE test.ta_more (lane int, slot smallint, due bigint, id bigint, CONSTRAINT mine FOREIGN KEY (lane, slot, due, id) REFERENCES ta_app.worker_queue)');
SELECT test.ta_after(:put, 'CREATE RULE mine AS ON INSERT TO ta_app.worker_queue DO INSTEAD NOTHING');
SELECT test.ta_after(:take, 'ALTER TABLE ta_app.worker_queue ENABLE ROW LEVEL SECURITY');
SELECT test.ta_after(:take, 'CREATE TABLE test.ta_child () INHERITS (ta_app.worker_queue)');
-- As a partition of another table, and as a partitioned table itself.
SELECT test.ta_after(:put, 'CREATE TABLE test.ta_whole (LIKE ta_app.worker_queue INCLUDING CONSTRAINTS) PARTITION BY RANGE (lane)',
    'ALTER TABLE test.ta_whole ATTACH PARTITION ta_app.worker_queue DEFAULT');
SELECT * FROM test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue RENAME TO ta_old',
    'CREATE TABLE ta_app.worker_queue (LIKE ta_app.ta_old INCLUDING CONSTRAINTS) PARTITION BY RANGE (lane)') AS f WHERE f !~ 'ta_old';
-- Columns, checks, keys and indexes of ours.
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue ALTER last_error TYPE varchar(10)');
SELECT test.ta_after(:put, 'DELETE FROM ta_app.worker_queue', 'ALTER TABLE ta_app.worker_queue ALTER last_error SET NOT NULL');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue RENAME last_error TO mine');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue DROP last_error');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue ADD CONSTRAINT mine CHECK (id <> 7)');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue ADD CONSTRAINT mine CHECK (id <> 7) NOT VALID');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue DROP CONSTRAINT worker_queue_attempt_count_check');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue DROP CONSTRAINT worker_queue_pkey');
SELECT test.ta_after(:put, 'DROP INDEX ta_app.worker_queue_session');
SELECT test.ta_after(:put, 'DROP INDEX ta_app.worker_queue_session', 'CREATE INDEX worker_queue_session ON ta_app.worker_queue (session_id)');
SELECT test.ta_after(:put, 'UPDATE pg_index SET indisvalid = false WHERE indexrelid = ''ta_app.worker_queue_session''::regclass');
-- Columns of the owner's that an insert cannot fill.
SELECT test.ta_after(:put, 'DELETE FROM ta_app.worker_queue', 'ALTER TABLE ta_app.worker_queue ADD mine text NOT NULL');
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue ADD mine bigint GENERATED ALWAYS AS (id + 1) STORED');
SELECT test.ta_after(:put, 'CREATE DOMAIN test.ta_domain AS text NOT NULL', 'DELETE FROM ta_app.worker_queue', 'ALTER TABLE ta_app.worker_queue ADD mine test.ta_domain');
-- Rights.
CREATE ROLE regress_belay_ta;
SELECT test.ta_after(:put, 'ALTER TABLE ta_app.worker_queue OWNER TO regress_belay_ta');
DROP ROLE regress_belay_ta;
-- Of every alteration the first is told, and check_hub lists them all.
SELECT test.ta_after(:put, 'CREATE RULE mine AS ON INSERT TO ta_app.worker_queue DO INSTEAD NOTHING', 'ALTER TABLE ta_app.worker_queue ADD CHECK (id <> 7)', 'DROP INDEX ta_app.worker_queue_session');
-- Every hot table refuses, by the first call that needs it.
CREATE FUNCTION ta_app.turn() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    token text;
BEGIN
    PERFORM ta_app.start_orchestration('Orch', '', 'i', '1', p_now_ms => 0);
    SELECT lock_token INTO token FROM ta_app.fetch_orchestration_item(1000, p_now_ms => 1000);
    PERFORM ta_app.ack_orchestration_item(token, 1, '[{"event_id": 1, "event_type": "E", "event_data": "{\"type\": \"E\"}"},
          {"event_id": 2, "event_type": "KeyValueSet", "event_data": "{\"type\": \"KeyValueSet\", \"key\": \"k\", \"value\": \"v\", \"last_updated_at_ms\": 7}"}]', '[]', '[]',
        '{"orchestration_name": "Orch", "orchestration_version": "1"}', p_now_ms => 1000);
END $$;
CREATE FUNCTION ta_app.task() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    claimed record;
BEGIN
    PERFORM ta_app.create_task('q', '{}', p_now_ms => 0);
    SELECT * INTO claimed FROM ta_app.claim_tasks('w', 'i', p_now_ms => 0);
    PERFORM ta_app.complete_task(claimed.task_id, claimed.lease_epoch, p_now_ms => 0);
    PERFORM ta_app.replay_task(claimed.task_id, p_now_ms => 0);
END $$;
-- FP-2: nothing of a refused call is written, to any table.
CREATE FUNCTION test.ta_rows() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    name text;
    rows text;
    sum  text := '';
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'ta_app'::regnamespace AND relkind = 'r' ORDER BY relname LOOP
        EXECUTE format('SELECT string_agg(t::text, %L ORDER BY t::text) FROM ta_app.%I AS t', ',', name) INTO rows;
        sum := md5(sum || name || coalesce(rows, ''));
    END LOOP;
    RETURN sum;
END $$;
SELECT test.ta_rows() AS before \gset
SELECT t, left(found, 60) FROM (VALUES ('worker_queue', 'enqueue_worker_work(''{"ActivityExecute":{}}'', p_now_ms => 0)'), ('orchestrator_queue', 'turn()'), ('instance_locks', 'turn()'), ('instances', 'turn()'),
    ('executions', 'turn()'), ('history_turns', 'turn()'), ('kv_store', 'turn()'), ('kv_delta', 'turn()'), ('outbox_events', 'task()'), ('tasks', 'task()'), ('attempts', 'task()'), ('queues', 'task()')) AS x(t, c),
    test.ta_after(c, format('ALTER TABLE ta_app.%I ADD CONSTRAINT mine CHECK (true)', t)) WITH ORDINALITY AS f(found, n) WHERE n = 1;
SELECT test.ta_rows() = :'before' AS unchanged, count(*), max(locked_until) FROM ta_app.worker_queue;
-- The same of what is written by statements: a rule of the owner's would make deletion, pruning, retention and a change of slot_count lie.
CREATE FUNCTION ta_app.slots() RETURNS void LANGUAGE sql AS $$ SELECT belay.set_hub_option('ta_app', 'slot_count', '4') $$;
SELECT test.ta_rows() AS before \gset
SELECT c AS call, t AS "table", left(found, 60) AS found FROM (VALUES ('prune_executions(''i'')', 'executions history_turns'), ('prune_executions_bulk(''{}'', ''{}'')', 'executions history_turns'),
    ('delete_instance(''i'')', 'executions history_turns instance_locks instances kv_delta kv_store orchestrator_queue worker_queue'), ('delete_instances_atomic(''{i}'')', 'history_turns'),
    ('delete_instances_bulk(''{}'')', 'history_turns'), ('delete_task(gen_random_uuid())', 'attempts tasks'), ('delete_flow(gen_random_uuid())', 'attempts tasks'),
    ('reconcile(''{retention}'')', 'attempts tasks'), ('reconcile(''{outbox_retention}'')', 'outbox_events'), ('reconcile(''{lock_cleanup}'')', 'instance_locks'),
    ('set_queue(''q'', ''{}'')', 'queues'), ('pause_queue(''q'')', 'queues'), ('slots()', 'worker_queue orchestrator_queue tasks')) AS v(c, ts),
    string_to_table(ts, ' ') AS t, test.ta_after(c, format('CREATE RULE mine AS ON %s TO ta_app.%I DO INSTEAD NOTHING', CASE WHEN c ~ 'queue|slots' THEN 'UPDATE' ELSE 'DELETE' END, t)) WITH ORDINALITY AS f(found, n)
 WHERE n = 1 ORDER BY c, t;
SELECT test.ta_rows() = :'before' AS unchanged;
-- The duty instance_retention does nothing unless a time is set.
SELECT belay.set_hub_option('ta_app', 'instance_retention', '1h');
SELECT left(found, 60) AS found FROM test.ta_after('reconcile(''{instance_retention}'')', 'CREATE RULE mine AS ON DELETE TO ta_app.history_turns DO INSTEAD NOTHING') WITH ORDINALITY AS f(found, n) WHERE n = 1;
SELECT belay.set_hub_option('ta_app', 'instance_retention', NULL);

-- What is served: columns of the owner's behind ours, with and without defaults; a trigger that does not fire; indexes of any kind.
ALTER TABLE ta_app.worker_queue ADD note text, ADD seen bigint DEFAULT 7, ADD gone int, ADD must text NOT NULL DEFAULT upper('here');
ALTER TABLE ta_app.worker_queue DROP gone;
CREATE TRIGGER mine BEFORE INSERT ON ta_app.worker_queue FOR EACH ROW EXECUTE FUNCTION test.ta_trigger();
ALTER TABLE ta_app.worker_queue DISABLE TRIGGER mine;
CREATE INDEX ta_attempts ON ta_app.worker_queue (attempt_count);
CREATE INDEX ta_tag ON ta_app.worker_queue USING hash (tag);
CREATE INDEX ta_text ON ta_app.worker_queue USING gin (to_tsvector('simple', work_item));
CREATE INDEX ta_brin ON ta_app.worker_queue USING brin (locked_until);
CREATE INDEX ta_long ON ta_app.worker_queue (length(work_item)) WHERE attempt_count > 0;
CREATE UNIQUE INDEX ta_unique ON ta_app.worker_queue (id);
SELECT * FROM belay.check_hub('ta_app');
SELECT ta_app.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"act","input":""}}', p_tag => 't', p_now_ms => 0);
SELECT ta_app.enqueue_worker_items(jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute', jsonb_build_object('name', 'batch'))::text)), 0) FROM generate_series(1, 70);
SELECT count(*) FROM ta_app.fetch_work_items(1000, p_tag_mode => 'any', p_max_items => 5, p_now_ms => 1000);
SELECT ta_app.renew_work_item_lock(lock_token, 5000, p_now_ms => 1000) FROM ta_app.fetch_work_item(1000, p_now_ms => 1000);
SELECT ta_app.abandon_work_item(lock_token, 500, p_now_ms => 1000) FROM ta_app.fetch_work_item(1000, p_now_ms => 1000);
SELECT ta_app.ack_worker(lock_token, p_now_ms => 1000) FROM ta_app.fetch_work_item(1000, p_now_ms => 1000);
SELECT attempt_count, due > 0 AS delayed, seen, must, note, count(*) FROM ta_app.worker_queue GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2;
-- Their entries are there, as many as rows.
SET enable_seqscan = off;
SELECT (SELECT count(*) FROM ta_app.worker_queue WHERE attempt_count >= 0) AS by_attempts,
       (SELECT count(*) FROM ta_app.worker_queue WHERE attempt_count = 1) AS leased_once,
       (SELECT count(*) FROM ta_app.worker_queue WHERE tag = 't') AS by_tag,
       (SELECT count(*) FROM ta_app.worker_queue WHERE to_tsvector('simple', work_item) @@ 'batch'::tsquery) AS by_text,
       (SELECT count(*) FROM ta_app.worker_queue WHERE locked_until > 0) AS by_brin,
       (SELECT count(*) FROM ta_app.worker_queue WHERE length(work_item) > 0 AND attempt_count > 0) AS by_length,
       (SELECT count(*) FROM ta_app.worker_queue WHERE id > 0) AS by_id,
       (SELECT count(*) FROM ta_app.worker_queue WHERE lane >= 0) AS by_key;
RESET enable_seqscan;
-- A unique index of the owner's is one that the server enforces.
CREATE UNIQUE INDEX ta_once ON ta_app.worker_queue (instance_id);
SELECT test.error($$SELECT ta_app.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":3,"name":"act","input":""}}', p_now_ms => 0)$$);
-- A default that gives null where none may be.
ALTER TABLE ta_app.worker_queue ALTER must SET DEFAULT nullif('a', 'a');
SELECT test.sqlstate($$SELECT ta_app.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 0)$$);
ALTER TABLE ta_app.worker_queue ALTER must SET DEFAULT 'there';
SELECT ta_app.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 0);
-- More columns than the longest table of ours has.
SELECT string_agg(format('ADD more_%s int', i), ', ') AS more FROM generate_series(1, 80) AS i \gset
ALTER TABLE ta_app.worker_queue :more;
SELECT ta_app.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 0);
SELECT ta_app.abandon_work_item(lock_token, 500, p_now_ms => 1000) FROM ta_app.fetch_work_item(1000, p_now_ms => 1000);
SELECT count(*) FROM ta_app.worker_queue WHERE lane = 0;
-- The same for turns and tasks.
ALTER TABLE ta_app.tasks ADD note text, ADD seen int DEFAULT 7;
CREATE INDEX ta_tasks ON ta_app.tasks (state, (queue || kind));
ALTER TABLE ta_app.orchestrator_queue ADD seen int DEFAULT 7;
CREATE INDEX ta_messages ON ta_app.orchestrator_queue (attempt_count);
ALTER TABLE ta_app.history_turns ADD seen int DEFAULT 7;
SELECT created FROM ta_app.create_task('q', '{}', p_now_ms => 0);
SELECT result FROM ta_app.claim_tasks('w', 'i', p_now_ms => 0) AS c, ta_app.complete_task(c.task_id, c.lease_epoch, p_now_ms => 0);
SELECT ta_app.start_orchestration('Orch', '', 'i', '1', p_now_ms => 0);
SELECT ta_app.ack_orchestration_item(lock_token, 1, '[{"event_id": 1, "event_type": "E", "event_data": "{\"type\": \"E\"}"}]', '[]', '[]', '{"orchestration_name": "Orch", "orchestration_version": "1"}', p_now_ms => 1000)
  FROM ta_app.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT (SELECT string_agg(concat(state, ' ', seen), ', ') FROM ta_app.tasks) AS tasks, (SELECT count(*) FROM ta_app.orchestrator_queue) AS messages, (SELECT sum(seen) FROM ta_app.history_turns) AS events;
SET enable_seqscan = off;
SELECT count(*) FROM ta_app.tasks WHERE state = 'completed';
RESET enable_seqscan;
SELECT belay.drop_hub('ta_app', p_force => true);
DROP FUNCTION test.ta_after, test.ta_trigger, test.ta_rows;
