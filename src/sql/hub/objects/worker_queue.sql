-- The worker queue: enqueue, fetch under a lease, renew, ack, abandon.

CREATE OR REPLACE FUNCTION @hub@.enqueue_worker_work(
    p_work_item text,
    p_now_ms bigint DEFAULT NULL,
    p_instance_id text DEFAULT NULL,
    p_execution_id bigint DEFAULT NULL,
    p_activity_id bigint DEFAULT NULL,
    p_session_id text DEFAULT NULL,
    p_tag text DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_worker_work';
COMMENT ON FUNCTION @hub@.enqueue_worker_work(text, bigint, text, bigint, bigint, text, text) IS
    'Adds one activity, fetchable at commit. An argument that is NULL is taken from the item.';

CREATE OR REPLACE FUNCTION @hub@.enqueue_worker_items(
    p_items jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_worker_items';
COMMENT ON FUNCTION @hub@.enqueue_worker_items(jsonb, bigint) IS
    'Adds up to 10,000 activities in one unit; returns their number.';

CREATE OR REPLACE FUNCTION @hub@.fetch_work_item(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_work_item';
COMMENT ON FUNCTION @hub@.fetch_work_item(bigint, bigint, text, bigint, text[], text, integer[]) IS
    'Leases the next activity. A row means a lease is held; no row means nothing was eligible.';

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
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'fetch_work_items';
COMMENT ON FUNCTION @hub@.fetch_work_items(bigint, bigint, text, bigint, text[], text, integer, integer, integer[]) IS
    'Leases up to p_max_items activities in one unit, each with its own token.';

CREATE OR REPLACE FUNCTION @hub@.ack_worker(
    p_lock_token text,
    p_instance_id text DEFAULT NULL,
    p_completion_json text DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_worker';
COMMENT ON FUNCTION @hub@.ack_worker(text, text, text, bigint) IS
    'Finishes a leased activity and sends its completion, if one is given, in the same unit.';

CREATE OR REPLACE FUNCTION @hub@.ack_workers(
    p_acks jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (out_index integer, out_lock_token text, out_acked boolean, out_error text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_workers';
COMMENT ON FUNCTION @hub@.ack_workers(jsonb, bigint) IS
    'Finishes many leased activities in one unit. A lost lease is reported in its row and undoes nothing.';

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
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'ack_and_fetch_work_item';
COMMENT ON FUNCTION @hub@.ack_and_fetch_work_item(text, text, text, bigint, bigint, text, bigint, text[], text, integer[]) IS
    'ack_worker, then fetch_work_item, in one unit. No row means: acked, and nothing eligible.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_locks(
    p_lock_tokens text[],
    p_now_ms bigint,
    p_extend_ms bigint
) RETURNS TABLE (out_index integer, out_lock_token text, out_renewed boolean, out_locked_until bigint, out_error text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_locks';
COMMENT ON FUNCTION @hub@.renew_work_item_locks(text[], bigint, bigint) IS
    'Renews many leases in one unit. A lost lease is reported in its row and undoes nothing.';

CREATE OR REPLACE FUNCTION @hub@.renew_session_lock(
    p_owner_ids text[],
    p_now_ms bigint,
    p_extend_ms bigint,
    p_idle_timeout_ms bigint
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_session_lock';
COMMENT ON FUNCTION @hub@.renew_session_lock(text[], bigint, bigint, bigint) IS
    'Extends the live sessions of these owners that were active within the idle timeout; returns their number.';

CREATE OR REPLACE FUNCTION @hub@.cleanup_orphaned_sessions(p_now_ms bigint)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cleanup_orphaned_sessions';
COMMENT ON FUNCTION @hub@.cleanup_orphaned_sessions(bigint) IS
    'Deletes expired sessions without any activity, at most 1000 a call; returns their number.';

CREATE OR REPLACE FUNCTION @hub@.cancel_activities(p_cancelled_activities jsonb)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cancel_activities';
COMMENT ON FUNCTION @hub@.cancel_activities(jsonb) IS
    'Deletes activities named by instance, execution_id and activity_id, leased or not; returns how many. Their workers get QB001.';

CREATE OR REPLACE FUNCTION @hub@.list_work_items(
    p_filter jsonb DEFAULT '{}',
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 100,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (id bigint, state text, work_item text, instance_id text, execution_id bigint,
                 activity_id bigint, session_id text, tag text, visible_at timestamptz,
                 locked_until bigint, locked_by text, attempt_count integer,
                 created_at timestamptz, cursor text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_work_items';
COMMENT ON FUNCTION @hub@.list_work_items(jsonb, text, integer, bigint) IS
    'What is in the worker queue, page by page, without tokens.';

CREATE OR REPLACE FUNCTION @hub@.explain_work_item(
    p_id bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (reason text, detail text, until_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 2 AS 'explain_work_item';
COMMENT ON FUNCTION @hub@.explain_work_item(bigint, bigint) IS
    'Why a work item is not fetched: every reason that holds; fetchable or tag_needed if none does. Looks through the queue for it.';

CREATE OR REPLACE VIEW @hub@.work_items AS
    SELECT w.id,
           w.work_item,
           w.visible_at,
           CASE WHEN w.locked_until OPERATOR(pg_catalog.<>) 0
                THEN belay.work_token(w.lane, w.slot, w.due, w.id, w.lease_inc, w.nonce_hi, w.nonce_lo)
           END AS lock_token,
           CASE WHEN w.locked_until OPERATOR(pg_catalog.<>) 0 THEN w.locked_until END AS locked_until,
           w.attempt_count,
           w.created_at,
           w.instance_id,
           w.execution_id,
           w.activity_id,
           w.session_id,
           w.tag,
           w.locked_by
      FROM @hub@.worker_queue AS w;
COMMENT ON VIEW @hub@.work_items IS 'The worker queue as a reader sees it, tokens included: for the hub''s owner only.';
COMMENT ON COLUMN @hub@.work_items.id IS 'Queue id.';
COMMENT ON COLUMN @hub@.work_items.work_item IS 'The item, byte for byte.';
COMMENT ON COLUMN @hub@.work_items.visible_at IS 'From when it can be fetched, if it was delayed; else when it came.';
COMMENT ON COLUMN @hub@.work_items.lock_token IS 'Token of its lease; null if it was never leased or was given back.';
COMMENT ON COLUMN @hub@.work_items.locked_until IS 'Deadline of the lease in ms; null without a lease. In the past: expired.';
COMMENT ON COLUMN @hub@.work_items.attempt_count IS 'How often it was leased.';
COMMENT ON COLUMN @hub@.work_items.created_at IS 'When it was enqueued.';
COMMENT ON COLUMN @hub@.work_items.instance_id IS 'Part of its identity.';
COMMENT ON COLUMN @hub@.work_items.execution_id IS 'Part of its identity.';
COMMENT ON COLUMN @hub@.work_items.activity_id IS 'Part of its identity.';
COMMENT ON COLUMN @hub@.work_items.session_id IS 'Session that pins it to an owner.';
COMMENT ON COLUMN @hub@.work_items.tag IS 'For routing.';
COMMENT ON COLUMN @hub@.work_items.locked_by IS 'Owner id of the last fetch.';
