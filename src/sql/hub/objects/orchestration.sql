-- Orchestrations: messages. Turns are in api/*/provider.sql.

CREATE OR REPLACE FUNCTION @hub@.enqueue_orchestrator_work(
    p_instance_id text,
    p_work_item text,
    p_visible_at timestamptz DEFAULT NULL,
    p_orchestration_name text DEFAULT NULL,
    p_orchestration_version text DEFAULT NULL,
    p_execution_id bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_orchestrator_work';
COMMENT ON FUNCTION @hub@.enqueue_orchestrator_work(text, text, timestamptz, text, text, bigint) IS
    'Sends one message to an instance, which need not exist. The last three arguments are ignored.';

CREATE OR REPLACE FUNCTION @hub@.enqueue_orchestrator_items(
    p_items jsonb,
    p_now_ms bigint DEFAULT NULL
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'enqueue_orchestrator_items';
COMMENT ON FUNCTION @hub@.enqueue_orchestrator_items(jsonb, bigint) IS
    'Sends up to 10,000 messages in one call and returns their number.';

CREATE OR REPLACE FUNCTION @hub@.start_orchestration(
    p_name text,
    p_input text DEFAULT '',
    p_instance_id text DEFAULT NULL,
    p_version text DEFAULT NULL,
    p_delay_ms bigint DEFAULT 0,
    p_now_ms bigint DEFAULT NULL
) RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'start_orchestration';
COMMENT ON FUNCTION @hub@.start_orchestration(text, text, text, text, bigint, bigint) IS
    'Starts an orchestration and returns the instance id: the given one, or a new uuid.';

CREATE OR REPLACE FUNCTION @hub@.raise_event(
    p_instance_id text,
    p_name text,
    p_data text DEFAULT '',
    p_queued boolean DEFAULT false,
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'raise_event';
COMMENT ON FUNCTION @hub@.raise_event(text, text, text, boolean, bigint) IS
    'Sends an external event to an instance, or with p_queued a queue message.';

CREATE OR REPLACE FUNCTION @hub@.cancel_instance(
    p_instance_id text,
    p_reason text DEFAULT '',
    p_now_ms bigint DEFAULT NULL
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cancel_instance';
COMMENT ON FUNCTION @hub@.cancel_instance(text, text, bigint) IS
    'Requests the cancellation of an instance.';

CREATE OR REPLACE VIEW @hub@.messages AS
    SELECT m.id,
           m.instance_id,
           m.work_item,
           m.visible_at,
           belay.turn_token(l.instance_key, l.lock_no, l.lease_inc, l.nonce_hi, l.nonce_lo) AS lock_token,
           l.locked_until,
           m.attempt_count,
           m.created_at
      FROM @hub@.orchestrator_queue AS m
      LEFT JOIN @hub@.instance_locks AS l
        ON l.instance_key OPERATOR(pg_catalog.=) m.instance_key
       AND l.instance_id OPERATOR(pg_catalog.=) m.instance_id
       AND l.lock_no OPERATOR(pg_catalog.=) m.lock_no
       AND m.lock_no OPERATOR(pg_catalog.<>) 0;
COMMENT ON VIEW @hub@.messages IS 'The orchestrator queue, with tokens; for the hub''s owner only.';
COMMENT ON COLUMN @hub@.messages.id IS 'Queue id: the order of delivery.';
COMMENT ON COLUMN @hub@.messages.instance_id IS 'Instance that the message is for.';
COMMENT ON COLUMN @hub@.messages.work_item IS 'The message, byte for byte.';
COMMENT ON COLUMN @hub@.messages.visible_at IS 'When the message can become part of a turn.';
COMMENT ON COLUMN @hub@.messages.lock_token IS 'Token of the turn that the message belongs to; null if there is none.';
COMMENT ON COLUMN @hub@.messages.locked_until IS 'Deadline of that turn in ms.';
COMMENT ON COLUMN @hub@.messages.attempt_count IS 'How often the message was part of a turn.';
COMMENT ON COLUMN @hub@.messages.created_at IS 'When it was enqueued.';

-- Of each slot only the first messages, so that a look costs little however long the queue is.
-- The slots that have messages are found one after the other in the claim index.
CREATE OR REPLACE VIEW @hub@.pending_starts AS
    WITH RECURSIVE slots (slot) AS (
        (SELECT q.slot
           FROM @hub@.orchestrator_queue AS q
          WHERE NOT q.parked
          ORDER BY q.slot
          LIMIT 1)
        UNION ALL
        SELECT (SELECT q.slot
                  FROM @hub@.orchestrator_queue AS q
                 WHERE NOT q.parked AND q.slot OPERATOR(pg_catalog.>) x.slot
                 ORDER BY q.slot
                 LIMIT 1)
          FROM slots AS x
         WHERE x.slot IS NOT NULL)
    SELECT m.instance_id,
           pg_catalog.json_extract_path_text(m.work_item::pg_catalog.json, 'StartOrchestration', 'orchestration')
               AS orchestration_name,
           pg_catalog.json_extract_path_text(m.work_item::pg_catalog.json, 'StartOrchestration', 'version')
               AS orchestration_version,
           m.visible_at,
           m.created_at,
           m.attempt_count
      FROM slots AS s
     CROSS JOIN LATERAL (
           SELECT q.instance_id, q.work_item, q.kind, q.lock_no, q.visible_at, q.created_at, q.attempt_count
             FROM @hub@.orchestrator_queue AS q
            WHERE NOT q.parked
              AND q.slot OPERATOR(pg_catalog.=) s.slot
            ORDER BY q.visible_at, q.id
            LIMIT GREATEST(1, 500 OPERATOR(pg_catalog./) (SELECT pg_catalog.count(x.slot) FROM slots AS x))) AS m
     WHERE m.kind OPERATOR(pg_catalog.=) 's'::"char"
       AND m.lock_no OPERATOR(pg_catalog.=) 0
       AND NOT EXISTS (
           SELECT
             FROM @hub@.instances AS i
            WHERE i.instance_id OPERATOR(pg_catalog.=) m.instance_id);
COMMENT ON VIEW @hub@.pending_starts IS 'Started instances that no dispatcher has picked up yet, of the first 500 messages, shared among the slots.';
COMMENT ON COLUMN @hub@.pending_starts.instance_id IS 'The instance.';
COMMENT ON COLUMN @hub@.pending_starts.orchestration_name IS 'Name of the orchestration.';
COMMENT ON COLUMN @hub@.pending_starts.orchestration_version IS 'Version of the orchestration; null if the start names none.';
COMMENT ON COLUMN @hub@.pending_starts.visible_at IS 'When a dispatcher can fetch the start.';
COMMENT ON COLUMN @hub@.pending_starts.created_at IS 'When the start was sent.';
COMMENT ON COLUMN @hub@.pending_starts.attempt_count IS 'How often a dispatcher fetched and abandoned the start.';

CREATE OR REPLACE VIEW @hub@.instance_lock_states AS
    SELECT l.instance_id,
           belay.turn_token(l.instance_key, l.lock_no, l.lease_inc, l.nonce_hi, l.nonce_lo) AS lock_token,
           l.locked_until,
           l.locked_at
      FROM @hub@.instance_locks AS l
     WHERE l.lock_no OPERATOR(pg_catalog.<>) 0;
COMMENT ON VIEW @hub@.instance_lock_states IS 'Locks of turns, live or expired, with tokens; for the hub''s owner only.';
COMMENT ON COLUMN @hub@.instance_lock_states.instance_id IS 'The instance.';
COMMENT ON COLUMN @hub@.instance_lock_states.lock_token IS 'Token of the turn.';
COMMENT ON COLUMN @hub@.instance_lock_states.locked_until IS 'Deadline of the lock in ms; expired if it is in the past.';
COMMENT ON COLUMN @hub@.instance_lock_states.locked_at IS 'When the turn was fetched.';
