-- The provider interface of api belay, as far as duroxide-pg has it differently: JSON as it is stored, times in
-- milliseconds, reasons, and belay's convention for names (docs/sql-reference.md).

CREATE OR REPLACE FUNCTION @hub@.fetch_orchestration_item(
    p_lock_timeout_ms bigint,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (instance_id text, orchestration_name text, orchestration_version text,
                 execution_id bigint, history json, messages json, lock_token text,
                 attempt_count integer, kv_snapshot json)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_orchestration_item';
COMMENT ON FUNCTION @hub@.fetch_orchestration_item(bigint, bigint, bigint, integer[], bigint) IS
    'Leases the next turn: an instance with its messages, history and key/value state. No row: no instance is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_orchestration_item_lock(
    p_lock_token text,
    p_extend_ms bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_orchestration_item_lock';
COMMENT ON FUNCTION @hub@.renew_orchestration_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live turn to now + p_extend_ms.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_lock(
    p_lock_token text,
    p_extend_ms bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_lock';
COMMENT ON FUNCTION @hub@.renew_work_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live lease to now + p_extend_ms. QB001 means that the activity was cancelled or its lease is lost.';

CREATE OR REPLACE FUNCTION @hub@.abandon_work_item(
    p_lock_token text,
    p_delay_ms bigint DEFAULT NULL,
    p_ignore_attempt boolean DEFAULT false,
    p_reason text DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'abandon_work_item';
COMMENT ON FUNCTION @hub@.abandon_work_item(text, bigint, boolean, text, bigint) IS
    'Ends the lease of an activity without a result, so that it can be fetched again at once or after a delay, with or without counting the attempt. The reason is stored and becomes part of a dead letter.';

CREATE OR REPLACE FUNCTION @hub@.enqueue_worker_work(
    p_work_item text,
    p_instance_id text DEFAULT NULL,
    p_execution_id bigint DEFAULT NULL,
    p_activity_id bigint DEFAULT NULL,
    p_session_id text DEFAULT NULL,
    p_tag text DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_worker_work';
COMMENT ON FUNCTION @hub@.enqueue_worker_work(text, text, bigint, bigint, text, text, bigint) IS
    'Enqueues one activity, which can be fetched after the commit. Arguments that are NULL are taken from the item.';

CREATE OR REPLACE FUNCTION @hub@.fetch_work_item(
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_work_item';
COMMENT ON FUNCTION @hub@.fetch_work_item(bigint, text, bigint, text[], text, integer[], bigint) IS
    'Leases the next activity. No row: no activity is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_session_lock(
    p_owner_ids text[],
    p_extend_ms bigint,
    p_idle_timeout_ms bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_session_lock';
COMMENT ON FUNCTION @hub@.renew_session_lock(text[], bigint, bigint, bigint) IS
    'Extends the live sessions of these owners that were active within the idle timeout; returns their number.';

CREATE OR REPLACE FUNCTION @hub@.ack_orchestration_item(
    p_lock_token text,
    p_execution_id bigint,
    p_history_delta jsonb,
    p_worker_items jsonb,
    p_orchestrator_items jsonb,
    p_metadata jsonb,
    p_cancelled_activities jsonb DEFAULT '[]',
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_orchestration_item';
COMMENT ON FUNCTION @hub@.ack_orchestration_item(text, bigint, jsonb, jsonb, jsonb, jsonb, jsonb, bigint) IS
    'Commits a turn atomically: events, activities, messages, status, key/value state. A rejected ack changes nothing and keeps the lease.';

CREATE OR REPLACE FUNCTION @hub@.abandon_orchestration_item(
    p_lock_token text,
    p_delay_ms bigint DEFAULT NULL,
    p_ignore_attempt boolean DEFAULT false,
    p_now_ms bigint DEFAULT NULL
) RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'abandon_orchestration_item';
COMMENT ON FUNCTION @hub@.abandon_orchestration_item(text, bigint, boolean, bigint) IS
    'Ends the lease of a turn without committing it, so that it can be fetched again at once or after a delay. Returns the instance id.';

CREATE OR REPLACE FUNCTION @hub@.fetch_history(p_instance_id text)
    RETURNS TABLE (event_data text) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'fetch_history';
COMMENT ON FUNCTION @hub@.fetch_history(text) IS 'Returns the events of the latest execution, in order, as stored.';

CREATE OR REPLACE FUNCTION @hub@.fetch_history_with_execution(p_instance_id text, p_execution_id bigint)
    RETURNS TABLE (event_data text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'fetch_history_with_execution';
COMMENT ON FUNCTION @hub@.fetch_history_with_execution(text, bigint) IS
    'Returns the events of one execution, in order, as stored.';

CREATE OR REPLACE FUNCTION @hub@.get_custom_status(p_instance_id text, p_last_seen_version bigint)
    RETURNS TABLE (custom_status text, custom_status_version bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_custom_status';
COMMENT ON FUNCTION @hub@.get_custom_status(text, bigint) IS
    'Returns the custom status if its version is greater than the one last seen.';

CREATE OR REPLACE FUNCTION @hub@.get_kv_value(p_instance_id text, p_key text)
    RETURNS TABLE (value text, found boolean)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_kv_value';
COMMENT ON FUNCTION @hub@.get_kv_value(text, text) IS 'Returns one value of an instance''s key/value state.';

CREATE OR REPLACE FUNCTION @hub@.get_kv_all_values(p_instance_id text)
    RETURNS TABLE (key text, value text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_kv_all_values';
COMMENT ON FUNCTION @hub@.get_kv_all_values(text) IS 'Returns all values of an instance''s key/value state.';

CREATE OR REPLACE FUNCTION @hub@.get_instance_stats(p_instance_id text)
    RETURNS TABLE (found boolean, history_event_count bigint, history_size_bytes bigint,
                   queue_pending_count bigint, kv_user_key_count bigint,
                   kv_total_value_bytes bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_instance_stats';
COMMENT ON FUNCTION @hub@.get_instance_stats(text) IS
    'Returns the size of the current execution''s history and of the key/value state.';

CREATE OR REPLACE FUNCTION @hub@.fetch_work_items(
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_max_items integer DEFAULT 1,
    p_max_new_sessions integer DEFAULT NULL,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'fetch_work_items';
COMMENT ON FUNCTION @hub@.fetch_work_items(bigint, text, bigint, text[], text, integer, integer, integer[], bigint) IS
    'Leases up to p_max_items activities in one call, each with its own token.';

CREATE OR REPLACE FUNCTION @hub@.ack_workers(
    p_acks jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (index integer, lock_token text, acked boolean, error text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_workers';
COMMENT ON FUNCTION @hub@.ack_workers(jsonb, bigint) IS
    'Completes many leased activities in one call. A lost lease is reported in its row and does not affect the others.';

CREATE OR REPLACE FUNCTION @hub@.ack_and_fetch_work_item(
    p_lock_token text,
    p_instance_id text,
    p_completion_json text,
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'ack_and_fetch_work_item';
COMMENT ON FUNCTION @hub@.ack_and_fetch_work_item(text, text, text, bigint, text, bigint, text[], text, integer[], bigint) IS
    'Calls ack_worker and fetch_work_item in one transaction. No row: the ack succeeded, and no activity is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_locks(
    p_lock_tokens text[],
    p_extend_ms bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (index integer, lock_token text, renewed boolean, locked_until bigint, error text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_locks';
COMMENT ON FUNCTION @hub@.renew_work_item_locks(text[], bigint, bigint) IS
    'Renews many leases in one call. A lost lease is reported in its row and does not affect the others.';
