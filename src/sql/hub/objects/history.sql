-- Reading and appending history. More of it, with custom status and key/value state, is in api/*/provider.sql.

CREATE OR REPLACE VIEW @hub@.history AS
    SELECT t.instance_id,
           t.execution_id,
           t.first_event_id OPERATOR(pg_catalog.+) (e.nr OPERATOR(pg_catalog.-) 1) AS event_id,
           e.event_type,
           e.event_data,
           t.created_at
      FROM @hub@.history_turns AS t
     CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(t.event_types), pg_catalog.unnest(t.event_data))
           WITH ORDINALITY AS e (event_type, event_data, nr);
COMMENT ON VIEW @hub@.history IS 'Events of each execution.';
COMMENT ON COLUMN @hub@.history.instance_id IS 'The instance.';
COMMENT ON COLUMN @hub@.history.execution_id IS 'The execution.';
COMMENT ON COLUMN @hub@.history.event_id IS 'The event''s place in the execution.';
COMMENT ON COLUMN @hub@.history.event_type IS 'Type of the event.';
COMMENT ON COLUMN @hub@.history.event_data IS 'The event''s JSON, as it was sent.';
COMMENT ON COLUMN @hub@.history.created_at IS 'When the event was stored.';

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
