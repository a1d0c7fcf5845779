-- Suspensions of tasks, waitpoints and signals.

CREATE OR REPLACE FUNCTION @hub@.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, suspension_id uuid, waitpoints jsonb)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'suspend_task';
COMMENT ON FUNCTION @hub@.suspend_task(uuid, bigint, jsonb, bigint) IS
    'Suspends a leased task until signals meet the condition; it needs no lease meanwhile, and its attempt continues afterwards. Returns a token for each waitpoint.';

CREATE OR REPLACE FUNCTION @hub@.create_waitpoint(
    p_task_id uuid,
    p_lease_epoch bigint,
    p_key text,
    p_expires_in_ms bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (waitpoint_id uuid, token text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'create_waitpoint';
COMMENT ON FUNCTION @hub@.create_waitpoint(uuid, bigint, text, bigint, bigint) IS
    'Creates a waitpoint before a suspension. Signals that arrive early are stored until suspend_task uses the waitpoint.';

CREATE OR REPLACE FUNCTION @hub@.deliver_signal(
    p_task_id uuid,
    p_waitpoint_id uuid,
    p_token text,
    p_signal jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, effect text, state text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'deliver_signal';
COMMENT ON FUNCTION @hub@.deliver_signal(uuid, uuid, text, jsonb, bigint) IS
    'Sends a signal to a waitpoint, authorized by the waitpoint''s token. The task resumes if its condition is met.';

CREATE OR REPLACE FUNCTION @hub@.approve_task(
    p_task_id uuid,
    p_waitpoint_id uuid,
    p_name text,
    p_idempotency text,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, effect text, state text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'approve_task';
COMMENT ON FUNCTION @hub@.approve_task(uuid, uuid, text, text, bigint) IS
    'Sends a named signal to a waitpoint as an operator, without its token.';

CREATE OR REPLACE FUNCTION @hub@.resume_task(
    p_task_id uuid,
    p_trigger text DEFAULT 'operator',
    p_delay_ms bigint DEFAULT 0,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (state text, available_at_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'resume_task';
COMMENT ON FUNCTION @hub@.resume_task(uuid, text, bigint, bigint) IS
    'Resumes a suspended task regardless of its condition. Its attempt continues.';

CREATE OR REPLACE FUNCTION @hub@.list_waitpoints(p_task_id uuid, p_after uuid DEFAULT NULL, p_limit integer DEFAULT 100)
    RETURNS TABLE (waitpoint_id uuid, key text, state text, suspension_id uuid, kid text, token_hash text, signals bigint,
                   created_at_ms bigint, expires_at_ms bigint, closed_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_waitpoints';
COMMENT ON FUNCTION @hub@.list_waitpoints(uuid, uuid, integer) IS
    'Returns the waitpoints of a task by id, page by page. Tokens are not returned; token_hash is a prefix of the token''s SHA-256.';

CREATE OR REPLACE FUNCTION @hub@.list_signals(p_task_id uuid, p_after bigint DEFAULT 0, p_limit integer DEFAULT 100)
    RETURNS TABLE (nr bigint, signal_id text, waitpoint_id uuid, key text, name text, source text, payload jsonb, accepted_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_signals';
COMMENT ON FUNCTION @hub@.list_signals(uuid, bigint, integer) IS
    'Returns the signals of the current or the last suspension of the task''s attempt, in the order of acceptance, page by page.';

CREATE OR REPLACE FUNCTION @hub@.seed_waitpoint_key(p_kid text, p_secret bytea)
    RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'seed_waitpoint_key';
COMMENT ON FUNCTION @hub@.seed_waitpoint_key(text, bytea) IS
    'Signs new tokens with the given secret. Existing keys stay valid. For the hub''s owner only.';

CREATE OR REPLACE FUNCTION @hub@.rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint)
    RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'rotate_waitpoint_key';
COMMENT ON FUNCTION @hub@.rotate_waitpoint_key(text, bytea, bigint) IS
    'Signs new tokens with another secret. Tokens signed with earlier keys stay valid until the grace period ends. For the hub''s owner only.';
