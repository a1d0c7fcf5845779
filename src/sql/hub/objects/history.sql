-- Reading and appending history. More of it, with custom status and key/value state, is in api/*/provider.sql.

CREATE OR REPLACE FUNCTION @hub@.read_history(
    p_instance_id text,
    p_execution_id bigint DEFAULT NULL,
    p_after_event_id bigint DEFAULT NULL,
    p_limit integer DEFAULT NULL
) RETURNS TABLE (execution_id bigint, event_id bigint, event_type text, event_data text, created_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'read_history';
COMMENT ON FUNCTION @hub@.read_history(text, bigint, bigint, integer) IS
    'Returns the events of one execution (NULL: the latest), page by page.';

CREATE OR REPLACE FUNCTION @hub@.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'append_history';
COMMENT ON FUNCTION @hub@.append_history(text, bigint, jsonb) IS 'Appends events to a history outside of a turn.';
