-- Intents: delivery of work items to other hubs.

CREATE OR REPLACE FUNCTION @hub@.send_to_hub(
    p_target_hub name,
    p_queue text,
    p_work_item text,
    p_visible_at timestamptz DEFAULT NULL
) RETURNS bigint
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'send_to_hub';
COMMENT ON FUNCTION @hub@.send_to_hub(name, text, text, timestamptz) IS
    'Sends a work item to queue orchestrator or worker of another hub, exactly once; returns the id of the intent.';

CREATE OR REPLACE FUNCTION @hub@.receive_intents(p_intents jsonb)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'receive_intents';
COMMENT ON FUNCTION @hub@.receive_intents(jsonb) IS
    'Receives messages from another hub and skips those that have arrived before. Called by the relay. Returns the number of new messages.';

CREATE OR REPLACE VIEW @hub@.intents AS
    SELECT q.id AS intent_id,
           q.source_uuid,
           CASE WHEN q.source_instance = '' THEN NULL ELSE q.source_instance END AS source_instance,
           q.target_hub,
           q.queue,
           CASE WHEN q.target_instance = '' THEN NULL ELSE q.target_instance END AS target_instance,
           q.work_item,
           q.visible_at,
           q.created_at,
           q.attempt_count AS attempts,
           CASE WHEN q.blocked THEN NULL ELSE q.next_try_at END AS next_try_at,
           q.last_error
      FROM @hub@.intent_queue AS q;
COMMENT ON VIEW @hub@.intents IS
    'Work items for other hubs that are not delivered yet.';
COMMENT ON COLUMN @hub@.intents.intent_id IS 'Id of the intent. Intents of the same source and target instance are delivered in this order.';
COMMENT ON COLUMN @hub@.intents.source_uuid IS 'Uuid of the sending hub. With the id it is the key by which the target recognizes a repeated delivery.';
COMMENT ON COLUMN @hub@.intents.source_instance IS 'Instance whose turn sent the intent; null if send_to_hub sent it.';
COMMENT ON COLUMN @hub@.intents.target_hub IS 'Name of the target.';
COMMENT ON COLUMN @hub@.intents.queue IS 'orchestrator or worker.';
COMMENT ON COLUMN @hub@.intents.target_instance IS 'Instance that the intent is for; null if there is none.';
COMMENT ON COLUMN @hub@.intents.work_item IS 'The item.';
COMMENT ON COLUMN @hub@.intents.visible_at IS 'When the item can be fetched from the target; null if at once.';
COMMENT ON COLUMN @hub@.intents.created_at IS 'When the intent was sent.';
COMMENT ON COLUMN @hub@.intents.attempts IS 'Number of failed deliveries.';
COMMENT ON COLUMN @hub@.intents.next_try_at IS 'When the next delivery is due; null while an earlier intent of the same source and target instance is not delivered.';
COMMENT ON COLUMN @hub@.intents.last_error IS 'Error of the last failed delivery.';

CREATE OR REPLACE VIEW @hub@.hub_links AS
    SELECT l.target_hub, l.server, l.created_at FROM @hub@.intent_links AS l;
COMMENT ON VIEW @hub@.hub_links IS
    'Foreign servers through which intents are delivered to hubs of other databases. belay.create_hub_link creates them.';
COMMENT ON COLUMN @hub@.hub_links.target_hub IS 'Name of the target, as senders use it.';
COMMENT ON COLUMN @hub@.hub_links.server IS 'Foreign server of the target''s database.';
COMMENT ON COLUMN @hub@.hub_links.created_at IS 'When the link was created.';
