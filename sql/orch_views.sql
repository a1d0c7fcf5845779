-- Orchestrations as callers and readers see them: functions, views, tables.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_views');
SELECT belay.set_hub_option('orch_views', 'max_clock_skew', '0');  -- these tests choose the time

-- Arguments with their defaults, and results.
CREATE TEMP TABLE surface AS SELECT p.oid, p.proname::text AS name FROM pg_proc AS p WHERE p.pronamespace = 'orch_views'::regnamespace
    AND p.proname::text IN ('enqueue_orchestrator_work', 'enqueue_orchestrator_items', 'start_orchestration', 'raise_event', 'cancel_instance', 'fetch_orchestration_item', 'ack_orchestration_item', 'abandon_orchestration_item',
                            'renew_orchestration_item_lock', 'fetch_history', 'fetch_history_with_execution', 'read_history', 'append_history', 'get_custom_status', 'get_kv_value', 'get_kv_all_values');
\pset format unaligned
SELECT format(E'%s(%s)\n  %s', s.name, pg_get_function_arguments(s.oid), pg_get_function_result(s.oid)) AS functions FROM surface AS s ORDER BY s.name COLLATE "C";
\pset format aligned
-- Those that only read are STABLE; none is STRICT, runs in parallel workers or with its owner's rights.
SELECT s.name FROM surface AS s JOIN pg_proc AS p USING (oid) WHERE p.provolatile <> 'v' ORDER BY s.name COLLATE "C";
SELECT s.name FROM surface AS s JOIN pg_proc AS p USING (oid) WHERE p.proisstrict OR p.proparallel <> 'u' OR p.prosecdef;
-- Which levels may call each.
CREATE ROLE regress_belay_orch_client;
CREATE ROLE regress_belay_orch_worker;
CREATE ROLE regress_belay_orch_operator;
CREATE ROLE regress_belay_orch_monitor;
SELECT belay.grant_hub('orch_views', ('regress_belay_orch_' || level)::name, level) FROM unnest('{client,worker,operator,monitor}'::text[]) AS level;
SELECT s.name, string_agg(level, ', ' ORDER BY nr) AS may FROM surface AS s, unnest('{client,worker,operator,monitor}'::text[]) WITH ORDINALITY AS u (level, nr)
 WHERE has_function_privilege('regress_belay_orch_' || level, s.oid, 'EXECUTE') GROUP BY s.name ORDER BY s.name COLLATE "C";
-- Views and tables show tokens, payloads and state: they are part of no level.
SELECT c.relname, level FROM pg_class AS c, unnest('{client,worker,operator,monitor}'::text[]) AS level
 WHERE c.relnamespace = 'orch_views'::regnamespace AND c.relname::text IN ('messages', 'instance_lock_states', 'instances', 'executions', 'history', 'history_turns', 'orchestrator_queue', 'instance_locks', 'kv_store', 'kv_delta')
   AND has_table_privilege('regress_belay_orch_' || level, c.oid, 'SELECT, INSERT, UPDATE, DELETE');
CALL test.drop_role('regress_belay_orch_client');
CALL test.drop_role('regress_belay_orch_worker');
CALL test.drop_role('regress_belay_orch_operator');
CALL test.drop_role('regress_belay_orch_monitor');

-- What readers see.
\pset format unaligned
SELECT format(E'%s\n  %s', a.attrelid::regclass, string_agg(a.attname || ' ' || format_type(a.atttypid, NULL) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, ', ' ORDER BY a.attnum)) AS relations
  FROM pg_attribute AS a
 WHERE a.attrelid::regclass::text COLLATE "C" IN ('orch_views.messages', 'orch_views.instance_lock_states', 'orch_views.instances', 'orch_views.executions', 'orch_views.history', 'orch_views.history_turns', 'orch_views.kv_store', 'orch_views.kv_delta')
   AND a.attnum > 0 AND NOT a.attisdropped
 GROUP BY a.attrelid ORDER BY a.attrelid::regclass::text COLLATE "C";
-- Their keys.
SELECT format('%s %s', i.indrelid::regclass, pg_get_constraintdef(c.oid)) AS keys FROM pg_index AS i JOIN pg_constraint AS c ON c.conindid = i.indexrelid AND c.contype = 'p'
 WHERE i.indrelid::regclass::text COLLATE "C" IN ('orch_views.instances', 'orch_views.executions', 'orch_views.history_turns', 'orch_views.kv_store', 'orch_views.kv_delta') ORDER BY 1;
\pset format aligned
-- Every writer states the time: no timestamptz has a default, and only executions.completed_at may be null.
SELECT a.attrelid::regclass, a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'orch_views'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND a.atttypid = 'timestamptz'::regtype AND (a.atthasdef OR NOT a.attnotnull) AND c.relname::text IN ('instances', 'executions', 'history_turns', 'orchestrator_queue', 'dead_letters');
-- No other status can be stored.
SELECT test.sqlstate($$INSERT INTO orch_views.executions VALUES ('i', 1, 'Cancelled', NULL, now(), NULL)$$);
-- Principle 9: no foreign keys, no triggers.
SELECT conname FROM pg_constraint WHERE connamespace = 'orch_views'::regnamespace AND contype = 'f';
SELECT t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid WHERE c.relnamespace = 'orch_views'::regnamespace;
-- IX-1: what a lease changes is in no index.
SELECT i.indexrelid::regclass, a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
 WHERE i.indrelid IN ('orch_views.orchestrator_queue'::regclass, 'orch_views.instance_locks'::regclass) AND a.attname::text IN ('locked_until', 'locked_at', 'lock_no', 'nonce_hi', 'nonce_lo', 'lease_inc', 'attempt_count');

---- messages and instance_lock_states

CREATE VIEW test.orch_views AS SELECT m.instance_id, m.work_item::jsonb #>> '{ExternalRaised,name}' AS name, (extract(epoch FROM m.visible_at) * 1000)::bigint AS visible_ms, m.lock_token IS NOT NULL AS token, m.locked_until, m.attempt_count,
       (extract(epoch FROM m.created_at) * 1000)::bigint AS created_ms FROM orch_views.messages AS m ORDER BY id;
CREATE VIEW test.orch_views_locks AS SELECT instance_id, lock_token IS NOT NULL AS token, locked_until, locked_at FROM orch_views.instance_lock_states ORDER BY instance_id;
INSERT INTO orch_views.instances SELECT i, 'O', '1', 1, NULL, NULL, 0, now(), now() FROM unnest('{a,b}'::text[]) AS i;
SELECT orch_views.raise_event('a', 'one', '', false, 1000), orch_views.raise_event('a', 'two', '', false, 1100), orch_views.raise_event('b', 'three', '', false, 1200);
-- Waiting: no token, no deadline, no lock.
SELECT * FROM test.orch_views;
SELECT * FROM test.orch_views_locks;
-- Leased: the batch has the token and the deadline of its lock; what arrives meanwhile has none.
SELECT lock_token AS token FROM orch_views.fetch_orchestration_item(500, p_now_ms => 2000) \gset
SELECT orch_views.raise_event('a', 'late', '', false, 2100);
SELECT * FROM test.orch_views;
SELECT * FROM test.orch_views_locks;
SELECT count(*) FILTER (WHERE lock_token = :'token') AS batch FROM orch_views.messages;
-- Expired: still shown, until a session takes it over.
SELECT orch_views.renew_orchestration_item_lock(:'token', 700, p_now_ms => 2400);
SELECT * FROM test.orch_views_locks;
SELECT instance_id, lock_token AS thief FROM orch_views.fetch_orchestration_item(500, p_now_ms => 3100) \gset
SELECT :'instance_id' AS fetched, count(*) FILTER (WHERE lock_token = :'token') AS old, count(*) FILTER (WHERE lock_token = :'thief') AS new FROM orch_views.messages;
SELECT * FROM test.orch_views_locks;
-- Given back: neither token nor lock (DM-4).
SELECT orch_views.abandon_orchestration_item(:'thief', 1000, p_now_ms => 3100);
SELECT * FROM test.orch_views;
SELECT * FROM test.orch_views_locks;
-- Finished: the messages are gone, and so is the lock; a terminal ack leaves no trace of it at all.
SELECT lock_token AS token FROM orch_views.fetch_orchestration_item(500, p_now_ms => 9000) \gset
SELECT orch_views.ack_orchestration_item(:'token', 1, '[]', '[]', '[]', '{}', p_now_ms => 9000);
SELECT lock_token AS token FROM orch_views.fetch_orchestration_item(500, p_now_ms => 9000) \gset
SELECT orch_views.ack_orchestration_item(:'token', 1, '[]', '[]', '[]', '{"status":"Completed"}', p_now_ms => 9000);
SELECT * FROM test.orch_views;
SELECT * FROM test.orch_views_locks;
SELECT instance_id, locked_until FROM orch_views.instance_locks;

DROP VIEW test.orch_views, test.orch_views_locks;
SELECT belay.drop_hub('orch_views', true);
