-- What api belay has in a form of its own: JSON as it is stored, times in milliseconds, and reasons.

CREATE OR REPLACE FUNCTION @hub@.fetch_orchestration_item(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_instance_id text, out_orchestration_name text, out_orchestration_version text,
                 out_execution_id bigint, out_history json, out_messages json, out_lock_token text,
                 out_attempt_count integer, out_kv_snapshot json)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_orchestration_item';
COMMENT ON FUNCTION @hub@.fetch_orchestration_item(bigint, bigint, bigint, bigint, integer[]) IS
    'Leases the next turn: an instance with its messages, history and key/value state. No row means nothing was eligible.';

CREATE OR REPLACE FUNCTION @hub@.renew_orchestration_item_lock(
    p_lock_token text,
    p_now_ms bigint,
    p_extend_ms bigint
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_orchestration_item_lock';
COMMENT ON FUNCTION @hub@.renew_orchestration_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live turn to now + p_extend_ms.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_lock(
    p_lock_token text,
    p_now_ms bigint,
    p_extend_ms bigint
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_lock';
COMMENT ON FUNCTION @hub@.renew_work_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live lease to now + p_extend_ms. QB001 tells a running activity that it was cancelled.';

CREATE OR REPLACE FUNCTION @hub@.abandon_work_item(
    p_lock_token text,
    p_now_ms bigint,
    p_delay_ms bigint DEFAULT NULL,
    p_ignore_attempt boolean DEFAULT false,
    p_reason text DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'abandon_work_item';
COMMENT ON FUNCTION @hub@.abandon_work_item(text, bigint, bigint, boolean, text) IS
    'Gives a leased activity back, at once or after a delay, with or without counting the attempt; the reason is kept for its dead letter.';
