-- Api duroxide-pg: what an application of duroxide-pg finds in a hub, at level 21 of its migrations (crate 0.1.33).
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('api_signatures', p_api => 'duroxide-pg');

---- Functions

-- The functions of level 21: arguments (? where one has a default) and result, for a table its columns. Four more
-- are left over from earlier levels (ack_orchestration, enqueue_completion, enqueue_message, enqueue_orchestration_work);
-- no application calls them, and a hub does not have them.
CREATE TEMP TABLE wanted (function text PRIMARY KEY, arguments text, result text);
INSERT INTO wanted VALUES
    ('abandon_orchestration_item', 'p_lock_token text, p_now_ms bigint, p_delay_ms bigint?, p_ignore_attempt boolean?', 'text'),
    ('abandon_work_item', 'p_lock_token text, p_now_ms bigint, p_delay_ms bigint?, p_ignore_attempt boolean?', 'void'),
    ('ack_orchestration_item', 'p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, '
        'p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb?', 'void'),
    ('ack_worker', 'p_lock_token text, p_instance_id text?, p_completion_json text?, p_now_ms bigint?', 'void'),
    ('append_history', 'p_instance_id text, p_execution_id bigint, p_events jsonb', 'void'),
    ('cleanup_orphaned_sessions', 'p_now_ms bigint', 'bigint'),
    ('cleanup_schema', '', 'void'),
    ('delete_instances_atomic', 'p_instance_ids text[], p_force boolean',
        'instances_deleted bigint, executions_deleted bigint, events_deleted bigint, queue_messages_deleted bigint'),
    ('enqueue_orchestrator_work', 'p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, '
        'p_orchestration_name text?, p_orchestration_version text?, p_execution_id bigint?', 'void'),
    ('enqueue_worker_work', 'p_work_item text, p_now_ms bigint, p_instance_id text?, p_execution_id bigint?, '
        'p_activity_id bigint?, p_session_id text?, p_tag text?', 'void'),
    ('fetch_history', 'p_instance_id text', 'out_event_data text'),
    ('fetch_history_with_execution', 'p_instance_id text, p_execution_id bigint', 'out_event_data text'),
    ('fetch_orchestration_item', 'p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint?, p_max_version_packed bigint?',
        'out_instance_id text, out_orchestration_name text, out_orchestration_version text, out_execution_id bigint, '
        'out_history jsonb, out_messages jsonb, out_lock_token text, out_attempt_count integer, out_kv_snapshot jsonb'),
    ('fetch_work_item', 'p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text?, p_session_lock_timeout_ms bigint?, '
        'p_tag_filter text[]?, p_tag_mode text?', 'out_work_item text, out_lock_token text, out_attempt_count integer'),
    ('get_custom_status', 'p_instance_id text, p_last_seen_version bigint', 'out_custom_status text, out_custom_status_version bigint'),
    ('get_execution_info', 'p_instance_id text, p_execution_id bigint', 'execution_id bigint, status text, output text, '
        'started_at timestamp with time zone, completed_at timestamp with time zone, event_count bigint'),
    ('get_instance_info', 'p_instance_id text', 'instance_id text, orchestration_name text, orchestration_version text, '
        'current_execution_id bigint, created_at timestamp with time zone, updated_at timestamp with time zone, status text, '
        'output text, parent_instance_id text'),
    ('get_instance_stats', 'p_instance text', 'out_found boolean, out_history_event_count bigint, out_history_size_bytes bigint, '
        'out_queue_pending_count bigint, out_kv_user_key_count bigint, out_kv_total_value_bytes bigint'),
    ('get_kv_all_values', 'p_instance text', 'out_key text, out_value text'),
    ('get_kv_value', 'p_instance text, p_key text', 'out_value text, out_found boolean'),
    ('get_parent_id', 'p_instance_id text', 'text'),
    ('get_queue_depths', 'p_now_ms bigint', 'orchestrator_queue bigint, worker_queue bigint'),
    ('get_system_metrics', '', 'total_instances bigint, total_executions bigint, running_instances bigint, '
        'completed_instances bigint, failed_instances bigint, total_events bigint'),
    ('latest_execution_id', 'p_instance_id text', 'bigint'),
    ('list_children', 'p_instance_id text', 'child_instance_id text'),
    ('list_executions', 'p_instance_id text', 'execution_id bigint'),
    ('list_instances', '', 'instance_id text'),
    ('list_instances_by_status', 'p_status text', 'instance_id text'),
    ('prune_executions', 'p_instance_id text, p_keep_last integer?, p_completed_before_ms bigint?',
        'instances_processed bigint, executions_deleted bigint, events_deleted bigint'),
    ('renew_orchestration_item_lock', 'p_lock_token text, p_now_ms bigint, p_extend_secs bigint', 'void'),
    ('renew_session_lock', 'p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint', 'bigint'),
    ('renew_work_item_lock', 'p_lock_token text, p_now_ms bigint, p_extend_secs bigint', 'void');

-- One row for each argument and result column; a result that is no table is a column without a name.
CREATE TEMP TABLE wanted_part AS
SELECT function, is_result, nr, rtrim(part, '?') AS part, part LIKE '%?' AS has_default
  FROM wanted, (VALUES (false), (true)) AS r (is_result),
       regexp_split_to_table(CASE WHEN is_result THEN result ELSE arguments END, ', ') WITH ORDINALITY AS p (part, nr)
 WHERE part <> '';
-- The same of the hub's functions.
CREATE TEMP TABLE found_part AS
SELECT p.proname::text AS function, mode IN ('o', 't') AS is_result, row_number() OVER (PARTITION BY p.oid, mode IN ('o', 't') ORDER BY nr) AS nr,
       name || ' ' || format_type(type, NULL) AS part, mode = 'i' AND nr > p.pronargs - p.pronargdefaults AS has_default
  FROM pg_proc AS p, unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes, p.proargnames) WITH ORDINALITY AS a (type, given_mode, name, nr),
       coalesce(given_mode, 'i') AS mode
 WHERE p.pronamespace = 'api_signatures'::regnamespace
UNION ALL
SELECT p.proname, true, 1, format_type(p.prorettype, NULL), false
  FROM pg_proc AS p WHERE p.pronamespace = 'api_signatures'::regnamespace AND NOT p.proretset;

-- CP-1: every function is there, once, with these arguments and columns in this order, and at least these defaults.
SELECT function, count(p.oid) FROM wanted LEFT JOIN pg_proc AS p ON p.proname = function AND p.pronamespace = 'api_signatures'::regnamespace
 GROUP BY function HAVING count(p.oid) <> 1;
SELECT w.*, f.part AS found FROM wanted_part AS w LEFT JOIN found_part AS f USING (function, is_result, nr)
 WHERE f.part IS DISTINCT FROM w.part OR (w.has_default AND NOT f.has_default);
-- What a hub has more stands behind it: arguments with defaults, and columns that come last (CP-4).
SELECT f.* FROM found_part AS f LEFT JOIN wanted_part AS w USING (function, is_result, nr)
 WHERE f.function IN (SELECT function FROM wanted) AND w.part IS NULL
 ORDER BY f.function COLLATE "C", f.is_result, f.nr;

-- Of these only the following are not what a hub of api belay has.
SELECT belay.create_hub('api_signatures_belay');
\pset format unaligned
SELECT p.proname AS function, pg_get_function_arguments(b.oid) AS of_belay, pg_get_function_result(b.oid) AS result
  FROM pg_proc AS p LEFT JOIN pg_proc AS b ON b.proname = p.proname AND b.pronamespace = 'api_signatures_belay'::regnamespace
 WHERE p.pronamespace = 'api_signatures'::regnamespace
   AND (pg_get_function_arguments(b.oid), replace(pg_get_function_result(b.oid), 'api_signatures_belay.', 'api_signatures.'))
       IS DISTINCT FROM (pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
 ORDER BY p.proname COLLATE "C";
\pset format aligned
-- The other way round a hub of this api lacks nothing but the front door and the calls that settle in portions.
SELECT proname FROM pg_proc WHERE pronamespace = 'api_signatures_belay'::regnamespace AND proargnames[1] <> ALL ('{queue,queues,lease,id,orchestration}')
EXCEPT SELECT proname FROM pg_proc WHERE pronamespace = 'api_signatures'::regnamespace ORDER BY proname;
SELECT belay.drop_hub('api_signatures_belay');

---- Tables

-- CP-5: the tables that applications read, by these names and types.
CREATE TEMP TABLE columns (relation text, name text, type text);
INSERT INTO columns
SELECT relation, split_part(c, ' ', 1), substr(c, position(' ' IN c) + 1)
  FROM (VALUES
    ('_duroxide_migrations', 'version bigint, name text, applied_at timestamp with time zone'),
    ('instances', 'instance_id text, orchestration_name text, orchestration_version text, current_execution_id bigint, '
        'created_at timestamp with time zone, updated_at timestamp with time zone, parent_instance_id text, custom_status text'),
    ('executions', 'instance_id text, execution_id bigint, status text, output text, started_at timestamp with time zone, '
        'completed_at timestamp with time zone, duroxide_version_major integer, duroxide_version_minor integer, duroxide_version_patch integer'),
    ('history', 'instance_id text, execution_id bigint, event_id bigint, event_type text, event_data text, created_at timestamp with time zone')
  ) AS t (relation, columns), unnest(string_to_array(columns, ', ')) AS c;
SELECT * FROM columns AS c
 WHERE NOT EXISTS (SELECT FROM pg_attribute AS a
                    WHERE a.attrelid = ('api_signatures.' || c.relation)::regclass AND a.attname = c.name AND format_type(a.atttypid, NULL) = c.type);

-- The ledger: versions 1 to 21, each once; an insert need not state the time.
SELECT count(*), min(version), max(version), count(DISTINCT version), bool_and(applied_at <= now()) AS dated FROM api_signatures._duroxide_migrations;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'api_signatures._duroxide_migrations'::regclass AND contype = 'p';
INSERT INTO api_signatures._duroxide_migrations (version, name) VALUES (22, '0022_next.sql') RETURNING version, applied_at = now() AS now;

SELECT belay.drop_hub('api_signatures');
