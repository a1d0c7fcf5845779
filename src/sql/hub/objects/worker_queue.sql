-- The worker queue: enqueue, fetch under a lease, renew, ack, abandon. What duroxide-pg has differently is in
-- api/*/provider.sql.

CREATE OR REPLACE FUNCTION @hub@.enqueue_worker_items(
    p_items jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_worker_items';
COMMENT ON FUNCTION @hub@.enqueue_worker_items(jsonb, bigint) IS
    'Enqueues up to 10,000 activities in one call and returns their number.';

CREATE OR REPLACE FUNCTION @hub@.ack_worker(
    p_lock_token text,
    p_instance_id text DEFAULT NULL,
    p_completion_json text DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_worker';
COMMENT ON FUNCTION @hub@.ack_worker(text, text, text, bigint) IS
    'Completes a leased activity and sends its completion message, if one is given, in the same transaction.';

CREATE OR REPLACE FUNCTION @hub@.cleanup_orphaned_sessions(p_now_ms bigint DEFAULT NULL)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cleanup_orphaned_sessions';
COMMENT ON FUNCTION @hub@.cleanup_orphaned_sessions(bigint) IS
    'Deletes up to 1000 expired sessions without activities and returns their number.';

CREATE OR REPLACE FUNCTION @hub@.cancel_activities(p_cancelled_activities jsonb)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cancel_activities';
COMMENT ON FUNCTION @hub@.cancel_activities(jsonb) IS
    'Deletes activities by instance, execution_id and activity_id, whether leased or not, and returns their number. Their workers get QB001.';

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
    'Returns the worker queue page by page, without tokens. Reads at most 10,000 rows; browse_work_items has no such limit.';

CREATE OR REPLACE FUNCTION @hub@.explain_work_item(
    p_id bigint,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (reason text, detail text, until_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE ROWS 2 AS 'explain_work_item';
COMMENT ON FUNCTION @hub@.explain_work_item(bigint, bigint) IS
    'Explains why a work item is not fetched: all reasons, or fetchable or tag_needed. The call scans the queue.';

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
COMMENT ON VIEW @hub@.work_items IS 'The worker queue, with tokens; for the hub''s owner only.';
COMMENT ON COLUMN @hub@.work_items.id IS 'Queue id.';
COMMENT ON COLUMN @hub@.work_items.work_item IS 'The item, byte for byte.';
COMMENT ON COLUMN @hub@.work_items.visible_at IS 'When the item can be fetched if it was delayed, otherwise when it was enqueued.';
COMMENT ON COLUMN @hub@.work_items.lock_token IS 'Token of its lease; null if it was never leased or was abandoned.';
COMMENT ON COLUMN @hub@.work_items.locked_until IS 'Deadline of the lease in ms, expired if it is in the past; null without a lease.';
COMMENT ON COLUMN @hub@.work_items.attempt_count IS 'How often the item was leased.';
COMMENT ON COLUMN @hub@.work_items.created_at IS 'When the item was enqueued.';
COMMENT ON COLUMN @hub@.work_items.instance_id IS 'Instance that scheduled the activity.';
COMMENT ON COLUMN @hub@.work_items.execution_id IS 'Execution that scheduled the activity.';
COMMENT ON COLUMN @hub@.work_items.activity_id IS 'Number of the activity in the execution.';
COMMENT ON COLUMN @hub@.work_items.session_id IS 'Session that binds the item to an owner.';
COMMENT ON COLUMN @hub@.work_items.tag IS 'Tag by which workers select items.';
COMMENT ON COLUMN @hub@.work_items.locked_by IS 'Owner id of the last fetch.';
