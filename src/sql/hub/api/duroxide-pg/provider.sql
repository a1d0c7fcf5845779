-- The provider interface as duroxide-pg has it: its names, its column types, its seconds, its clean-up and its ledger of
-- migrations. Names and signatures of that project never change. The batches
-- of belay follow the functions for one item.

-- Level 21 is that of crate 0.1.33. The owner may add or delete versions, all of them too: they are written once, before the
-- functions below are there. The condition names no table of the hub: Citus would ask the node that has the hub, where there are
-- no functions yet when it is being distributed.
CREATE TABLE IF NOT EXISTS @hub@._duroxide_migrations (
    version    bigint      NOT NULL,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT _duroxide_migrations_pkey PRIMARY KEY (version)
);
COMMENT ON TABLE @hub@._duroxide_migrations IS 'The migration level of duroxide-pg that this hub provides. Applications check it before they migrate.';
INSERT INTO @hub@._duroxide_migrations (version, name)
SELECT v, 'provided by belay'
  FROM generate_series(1, 21) AS v
 WHERE NOT EXISTS (SELECT
                     FROM pg_proc AS p
                    WHERE p.pronamespace = $hub$@hub@$hub$::regnamespace AND p.proname = 'cleanup_schema');

CREATE OR REPLACE FUNCTION @hub@.fetch_orchestration_item(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_instance_id text, out_orchestration_name text, out_orchestration_version text,
                 out_execution_id bigint, out_history jsonb, out_messages jsonb, out_lock_token text,
                 out_attempt_count integer, out_kv_snapshot jsonb)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_orchestration_item_jsonb';
COMMENT ON FUNCTION @hub@.fetch_orchestration_item(bigint, bigint, bigint, bigint, integer[]) IS
    'Leases the next turn: an instance with its messages, history and key/value state. No row: no instance is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_orchestration_item_lock(
    p_lock_token text,
    p_now_ms bigint,
    p_extend_secs bigint
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_orchestration_item_lock_secs';
COMMENT ON FUNCTION @hub@.renew_orchestration_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live lease to now + p_extend_secs, never to an earlier time.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_lock(
    p_lock_token text,
    p_now_ms bigint,
    p_extend_secs bigint
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_lock_secs';
COMMENT ON FUNCTION @hub@.renew_work_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live lease to now + p_extend_secs, never to an earlier time.';

CREATE OR REPLACE FUNCTION @hub@.cleanup_schema()
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cleanup_schema';
COMMENT ON FUNCTION @hub@.cleanup_schema() IS
    'Removes the hub''s tables and functions with all that is in them, and keeps the schema. For the hub''s owner only.';

CREATE OR REPLACE FUNCTION @hub@.abandon_work_item(
    p_lock_token text,
    p_now_ms bigint,
    p_delay_ms bigint DEFAULT NULL,
    p_ignore_attempt boolean DEFAULT false
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'abandon_work_item_without_reason';
COMMENT ON FUNCTION @hub@.abandon_work_item(text, bigint, bigint, boolean) IS
    'Ends the lease of an activity without a result, so that it can be fetched again at once or after a delay, with or without counting the attempt.';

CREATE OR REPLACE FUNCTION @hub@.enqueue_worker_work(
    p_work_item text,
    p_now_ms bigint DEFAULT NULL,
    p_instance_id text DEFAULT NULL,
    p_execution_id bigint DEFAULT NULL,
    p_activity_id bigint DEFAULT NULL,
    p_session_id text DEFAULT NULL,
    p_tag text DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_worker_work_duroxide_pg';
COMMENT ON FUNCTION @hub@.enqueue_worker_work(text, bigint, text, bigint, bigint, text, text) IS
    'Enqueues one activity, which can be fetched after the commit. Arguments that are NULL are taken from the item.';

CREATE OR REPLACE FUNCTION @hub@.fetch_work_item(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_work_item_duroxide_pg';
COMMENT ON FUNCTION @hub@.fetch_work_item(bigint, bigint, text, bigint, text[], text, integer[]) IS
    'Leases the next activity. No row: no activity is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_session_lock(
    p_owner_ids text[],
    p_now_ms bigint,
    p_extend_ms bigint,
    p_idle_timeout_ms bigint
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_session_lock_duroxide_pg';
COMMENT ON FUNCTION @hub@.renew_session_lock(text[], bigint, bigint, bigint) IS
    'Extends the live sessions of these owners that were active within the idle timeout; returns their number.';

CREATE OR REPLACE FUNCTION @hub@.ack_orchestration_item(
    p_lock_token text,
    p_now_ms bigint,
    p_execution_id bigint,
    p_history_delta jsonb,
    p_worker_items jsonb,
    p_orchestrator_items jsonb,
    p_metadata jsonb,
    p_cancelled_activities jsonb DEFAULT '[]'
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_orchestration_item_duroxide_pg';
COMMENT ON FUNCTION @hub@.ack_orchestration_item(text, bigint, bigint, jsonb, jsonb, jsonb, jsonb, jsonb) IS
    'Commits a turn atomically: events, activities, messages, status, key/value state. A rejected ack changes nothing and keeps the lease.';

CREATE OR REPLACE FUNCTION @hub@.abandon_orchestration_item(
    p_lock_token text,
    p_now_ms bigint,
    p_delay_ms bigint DEFAULT NULL,
    p_ignore_attempt boolean DEFAULT false
) RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'abandon_orchestration_item_duroxide_pg';
COMMENT ON FUNCTION @hub@.abandon_orchestration_item(text, bigint, bigint, boolean) IS
    'Ends the lease of a turn without committing it, so that it can be fetched again at once or after a delay. Returns the instance id.';

CREATE OR REPLACE FUNCTION @hub@.fetch_history(p_instance_id text)
    RETURNS TABLE (out_event_data text) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'fetch_history';
COMMENT ON FUNCTION @hub@.fetch_history(text) IS 'Returns the events of the latest execution, in order, as stored.';

CREATE OR REPLACE FUNCTION @hub@.fetch_history_with_execution(p_instance_id text, p_execution_id bigint)
    RETURNS TABLE (out_event_data text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'fetch_history_with_execution';
COMMENT ON FUNCTION @hub@.fetch_history_with_execution(text, bigint) IS
    'Returns the events of one execution, in order, as stored.';

CREATE OR REPLACE FUNCTION @hub@.get_custom_status(p_instance_id text, p_last_seen_version bigint)
    RETURNS TABLE (out_custom_status text, out_custom_status_version bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_custom_status';
COMMENT ON FUNCTION @hub@.get_custom_status(text, bigint) IS
    'Returns the custom status if its version is greater than the one last seen.';

CREATE OR REPLACE FUNCTION @hub@.get_kv_value(p_instance text, p_key text)
    RETURNS TABLE (out_value text, out_found boolean)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_kv_value';
COMMENT ON FUNCTION @hub@.get_kv_value(text, text) IS 'Returns one value of an instance''s key/value state.';

CREATE OR REPLACE FUNCTION @hub@.get_kv_all_values(p_instance text)
    RETURNS TABLE (out_key text, out_value text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_kv_all_values';
COMMENT ON FUNCTION @hub@.get_kv_all_values(text) IS 'Returns all values of an instance''s key/value state.';

CREATE OR REPLACE FUNCTION @hub@.get_instance_stats(p_instance text)
    RETURNS TABLE (out_found boolean, out_history_event_count bigint, out_history_size_bytes bigint,
                   out_queue_pending_count bigint, out_kv_user_key_count bigint,
                   out_kv_total_value_bytes bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_instance_stats';
COMMENT ON FUNCTION @hub@.get_instance_stats(text) IS
    'Returns the size of the current execution''s history and of the key/value state.';

CREATE OR REPLACE FUNCTION @hub@.fetch_work_items(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_max_items integer DEFAULT 1,
    p_max_new_sessions integer DEFAULT NULL,
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'fetch_work_items_duroxide_pg';
COMMENT ON FUNCTION @hub@.fetch_work_items(bigint, bigint, text, bigint, text[], text, integer, integer, integer[]) IS
    'Leases up to p_max_items activities in one call, each with its own token.';

CREATE OR REPLACE FUNCTION @hub@.ack_workers(
    p_acks jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (out_index integer, out_lock_token text, out_acked boolean, out_error text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_workers';
COMMENT ON FUNCTION @hub@.ack_workers(jsonb, bigint) IS
    'Completes many leased activities in one call. A lost lease is reported in its row and does not affect the others.';

CREATE OR REPLACE FUNCTION @hub@.ack_and_fetch_turns(
    p_lock_tokens text[],
    p_now_ms bigint,
    p_execution_ids bigint[] DEFAULT NULL,
    p_history_deltas jsonb[] DEFAULT NULL,
    p_worker_items jsonb[] DEFAULT NULL,
    p_orchestrator_items jsonb[] DEFAULT NULL,
    p_metadata jsonb[] DEFAULT NULL,
    p_cancelled_activities jsonb[] DEFAULT NULL,
    p_lock_timeout_ms bigint DEFAULT 30000,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_max_turns integer DEFAULT 0,
    p_slots integer[] DEFAULT NULL,
    p_cache_owner text DEFAULT NULL,
    p_names text[] DEFAULT NULL
) RETURNS TABLE (out_outcome_index integer, out_error text, out_reason text, out_error_message text,
                 out_instance_id text, out_orchestration_name text, out_orchestration_version text, out_execution_id bigint,
                 out_history jsonb, out_messages jsonb, out_lock_token text, out_attempt_count integer, out_kv_snapshot jsonb,
                 out_history_after bigint, out_last_event_id bigint, out_locked_until bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'ack_and_fetch_turns_jsonb';
COMMENT ON FUNCTION @hub@.ack_and_fetch_turns(text[], bigint, bigint[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], bigint, bigint, bigint, integer, integer[], text, text[]) IS
    'Commits many turns, then leases up to p_max_turns, in one transaction. Returns a row per ack, with error, reason and error_message if it was rejected, which changes nothing of it and does not affect the others; then a row per turn. The history of a turn omits what p_cache_owner has cached.';

CREATE OR REPLACE FUNCTION @hub@.ack_and_fetch_work_item(
    p_lock_token text,
    p_instance_id text,
    p_completion_json text,
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'ack_and_fetch_work_item_duroxide_pg';
COMMENT ON FUNCTION @hub@.ack_and_fetch_work_item(text, text, text, bigint, bigint, text, bigint, text[], text, integer[]) IS
    'Calls ack_worker and fetch_work_item in one transaction. No row: the ack succeeded, and no activity is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_locks(
    p_lock_tokens text[],
    p_now_ms bigint,
    p_extend_ms bigint
) RETURNS TABLE (out_index integer, out_lock_token text, out_renewed boolean, out_locked_until bigint, out_error text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_locks_duroxide_pg';
COMMENT ON FUNCTION @hub@.renew_work_item_locks(text[], bigint, bigint) IS
    'Renews many leases in one call. A lost lease is reported in its row and does not affect the others.';
