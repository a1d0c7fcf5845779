-- Suspensions of tasks, waitpoints and signals.

CREATE OR REPLACE FUNCTION @hub@.suspend_task(p_task_id uuid, p_epoch bigint, p_suspension jsonb, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, suspension_id uuid, waitpoints jsonb)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'suspend_task';
COMMENT ON FUNCTION @hub@.suspend_task(uuid, bigint, jsonb, bigint) IS
    'Lets a leased task wait for signals without a lease; its attempt goes on when the condition is met. Returns a token for each waitpoint.';

CREATE OR REPLACE FUNCTION @hub@.create_waitpoint(
    p_task_id uuid,
    p_epoch bigint,
    p_key text,
    p_expires_in_ms bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (waitpoint_id uuid, token text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'create_waitpoint';
COMMENT ON FUNCTION @hub@.create_waitpoint(uuid, bigint, text, bigint, bigint) IS
    'Makes a waitpoint ahead of a suspension: signals that come early are kept there until suspend_task names it.';

CREATE OR REPLACE FUNCTION @hub@.deliver_signal(
    p_task_id uuid,
    p_waitpoint_id uuid,
    p_token text,
    p_signal jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, effect text, state text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'deliver_signal';
COMMENT ON FUNCTION @hub@.deliver_signal(uuid, uuid, text, jsonb, bigint) IS
    'Sends a signal to a waitpoint, with its token. The task goes on if that meets its condition.';

CREATE OR REPLACE FUNCTION @hub@.approve_task(
    p_task_id uuid,
    p_waitpoint_id uuid,
    p_name text,
    p_idempotency text,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, effect text, state text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'approve_task';
COMMENT ON FUNCTION @hub@.approve_task(uuid, uuid, text, text, bigint) IS
    'Sends a signal of that name, from source operator, without a token.';

CREATE OR REPLACE FUNCTION @hub@.resume_task(
    p_task_id uuid,
    p_trigger text DEFAULT 'operator',
    p_delay_ms bigint DEFAULT 0,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (state text, available_at_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'resume_task';
COMMENT ON FUNCTION @hub@.resume_task(uuid, text, bigint, bigint) IS
    'Ends the wait of a suspended task, whatever its condition; its attempt goes on.';

CREATE OR REPLACE FUNCTION @hub@.list_waitpoints(p_task_id uuid, p_after uuid DEFAULT NULL, p_limit integer DEFAULT 100)
    RETURNS TABLE (waitpoint_id uuid, key text, state text, suspension_id uuid, kid text, token_hash text, signals bigint,
                   created_at_ms bigint, expires_at_ms bigint, closed_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_waitpoints';
COMMENT ON FUNCTION @hub@.list_waitpoints(uuid, uuid, integer) IS
    'Waitpoints of a task by id, page by page. Never a token: token_hash is the beginning of its SHA-256.';

CREATE OR REPLACE FUNCTION @hub@.list_signals(p_task_id uuid, p_after bigint DEFAULT 0, p_limit integer DEFAULT 100)
    RETURNS TABLE (nr bigint, signal_id text, waitpoint_id uuid, key text, name text, source text, payload jsonb, accepted_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_signals';
COMMENT ON FUNCTION @hub@.list_signals(uuid, bigint, integer) IS
    'Signals of the suspension that the task''s attempt is in or left last, in the order of acceptance, page by page.';

CREATE OR REPLACE FUNCTION @hub@.seed_waitpoint_key(p_kid text, p_secret bytea)
    RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'seed_waitpoint_key';
COMMENT ON FUNCTION @hub@.seed_waitpoint_key(text, bytea) IS
    'Signs new tokens with a secret of the owner''s choice; keys that are there go on verifying. Only the owner.';

CREATE OR REPLACE FUNCTION @hub@.rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint)
    RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'rotate_waitpoint_key';
COMMENT ON FUNCTION @hub@.rotate_waitpoint_key(text, bytea, bigint) IS
    'Signs new tokens with another secret; tokens of the keys before are good until the grace ends. Only the owner.';
