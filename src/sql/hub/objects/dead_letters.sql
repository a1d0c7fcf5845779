-- Dead letters: items set aside, listed, put back or thrown away.

CREATE OR REPLACE FUNCTION @hub@.list_dead_letters(
    p_queue text DEFAULT NULL,
    p_reason text DEFAULT NULL,
    p_instance_id text DEFAULT NULL,
    p_after bigint DEFAULT NULL,
    p_limit integer DEFAULT 100
) RETURNS TABLE (id bigint, queue text, source_id bigint, instance_id text, execution_id bigint,
                 activity_id bigint, session_id text, tag text, work_item text,
                 attempt_count integer, reason text, detail text, enqueued_at timestamptz,
                 dead_at timestamptz)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_dead_letters';
COMMENT ON FUNCTION @hub@.list_dead_letters(text, text, text, bigint, integer) IS
    'Dead letters by id ascending; p_after is the last id of the page before.';

CREATE OR REPLACE FUNCTION @hub@.redrive_dead_letter(p_id bigint)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'redrive_dead_letter';
COMMENT ON FUNCTION @hub@.redrive_dead_letter(bigint) IS
    'Moves a dead letter back into its queue with attempt 0 and returns the new queue id.';

CREATE OR REPLACE FUNCTION @hub@.redrive_dead_letters(
    p_filter jsonb,
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 500,
    p_scan integer DEFAULT 10000
) RETURNS jsonb LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'redrive_dead_letters';
COMMENT ON FUNCTION @hub@.redrive_dead_letters(jsonb, text, text, integer, integer) IS
    'Moves one portion of the dead letters that match a filter back into their queues, oldest first, and says which could not be moved, and where the next portion begins.';

CREATE OR REPLACE FUNCTION @hub@.discard_dead_letter(p_id bigint)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'discard_dead_letter';
COMMENT ON FUNCTION @hub@.discard_dead_letter(bigint) IS 'Deletes a dead letter permanently.';

CREATE OR REPLACE FUNCTION @hub@.discard_dead_letters(
    p_filter jsonb,
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 500,
    p_scan integer DEFAULT 10000
) RETURNS jsonb LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'discard_dead_letters';
COMMENT ON FUNCTION @hub@.discard_dead_letters(jsonb, text, text, integer, integer) IS
    'Deletes one portion of the dead letters that match a filter, and says where the next portion begins.';

CREATE OR REPLACE VIEW @hub@.dead_letter_summary AS
    SELECT d.queue,
           d.reason,
           pg_catalog.count(*) AS items,
           pg_catalog.min(d.dead_at) AS oldest_dead_at,
           pg_catalog.max(d.dead_at) AS newest_dead_at
      FROM (SELECT x.queue, x.reason, x.dead_at FROM @hub@.dead_letters AS x ORDER BY x.id DESC LIMIT 10000) AS d
     GROUP BY d.queue, d.reason;
COMMENT ON VIEW @hub@.dead_letter_summary IS 'Number and age of dead letters by queue and reason, of the newest 10,000.';
COMMENT ON COLUMN @hub@.dead_letter_summary.queue IS 'worker, orchestrator or intent.';
COMMENT ON COLUMN @hub@.dead_letter_summary.reason IS 'Reason of the dead letters.';
COMMENT ON COLUMN @hub@.dead_letter_summary.items IS 'Number of dead letters.';
COMMENT ON COLUMN @hub@.dead_letter_summary.oldest_dead_at IS 'When the oldest of them was set aside.';
COMMENT ON COLUMN @hub@.dead_letter_summary.newest_dead_at IS 'When the newest of them was set aside.';
