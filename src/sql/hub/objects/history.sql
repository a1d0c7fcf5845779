-- Reading and appending history, custom status and key/value state.

CREATE OR REPLACE FUNCTION @hub@.fetch_history(p_instance_id text)
    RETURNS TABLE (out_event_data text) LANGUAGE belay STABLE PARALLEL UNSAFE AS 'fetch_history';
COMMENT ON FUNCTION @hub@.fetch_history(text) IS 'The events of the latest execution, in order, as stored.';

CREATE OR REPLACE FUNCTION @hub@.fetch_history_with_execution(p_instance_id text, p_execution_id bigint)
    RETURNS TABLE (out_event_data text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'fetch_history_with_execution';
COMMENT ON FUNCTION @hub@.fetch_history_with_execution(text, bigint) IS
    'The events of one execution, in order, as stored.';

CREATE OR REPLACE FUNCTION @hub@.read_history(
    p_instance_id text,
    p_execution_id bigint DEFAULT NULL,
    p_after_event_id bigint DEFAULT NULL,
    p_limit integer DEFAULT NULL
) RETURNS TABLE (execution_id bigint, event_id bigint, event_type text, event_data text, created_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'read_history';
COMMENT ON FUNCTION @hub@.read_history(text, bigint, bigint, integer) IS
    'The events of one execution (NULL: the latest), page by page.';

CREATE OR REPLACE FUNCTION @hub@.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'append_history';
COMMENT ON FUNCTION @hub@.append_history(text, bigint, jsonb) IS 'Adds events outside a turn.';

CREATE OR REPLACE FUNCTION @hub@.get_custom_status(p_instance_id text, p_last_seen_version bigint)
    RETURNS TABLE (out_custom_status text, out_custom_status_version bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_custom_status';
COMMENT ON FUNCTION @hub@.get_custom_status(text, bigint) IS
    'The custom status, if its version is greater than the one last seen.';

CREATE OR REPLACE FUNCTION @hub@.get_kv_value(p_instance text, p_key text)
    RETURNS TABLE (out_value text, out_found boolean)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 1 AS 'get_kv_value';
COMMENT ON FUNCTION @hub@.get_kv_value(text, text) IS 'One value of an instance''s key/value state.';

CREATE OR REPLACE FUNCTION @hub@.get_kv_all_values(p_instance text)
    RETURNS TABLE (out_key text, out_value text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_kv_all_values';
COMMENT ON FUNCTION @hub@.get_kv_all_values(text) IS 'All values of an instance''s key/value state.';
