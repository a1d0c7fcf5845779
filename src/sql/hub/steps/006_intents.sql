-- Intents: work items on their way to other hubs, what arrived from other hubs, and links to hubs
-- of other databases.
--
-- Only the first intent of a pair (source instance, target instance) can be tried. Those that were
-- found standing behind another are marked as blocked and leave the index of what is due, so a pair
-- that cannot be delivered costs nothing however long it grows.

CREATE SEQUENCE IF NOT EXISTS @hub@.intent_queue_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.intent_queue_id IS 'Ids of intents: with the uuid of the hub the key of a delivery.';

CREATE TABLE IF NOT EXISTS @hub@.intent_queue (
    id              bigint      NOT NULL,
    source_uuid     uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    next_try_at     timestamptz NOT NULL,
    visible_at      timestamptz,
    attempt_count   integer     NOT NULL CHECK (attempt_count >= 0),
    blocked         boolean     NOT NULL,
    queue           text COLLATE "C" NOT NULL CHECK (queue IN ('orchestrator', 'worker')),
    target_hub      text COLLATE "C" NOT NULL,
    source_instance text COLLATE "C" NOT NULL,
    target_instance text COLLATE "C" NOT NULL,
    last_error      text,
    work_item       text        NOT NULL,
    CONSTRAINT intent_queue_pkey PRIMARY KEY (id)
) WITH (
    toast_tuple_target = 512,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.intent_queue IS 'Work items for other hubs that are not delivered yet. Read view intents instead.';
COMMENT ON COLUMN @hub@.intent_queue.source_uuid IS 'The uuid that this hub had when it wrote the intent.';
COMMENT ON COLUMN @hub@.intent_queue.blocked IS 'Known to stand behind another intent of its pair.';
COMMENT ON COLUMN @hub@.intent_queue.source_instance IS 'The instance whose turn sent it; empty: send_to_hub did.';
COMMENT ON COLUMN @hub@.intent_queue.target_instance IS 'The instance it is for; empty: none, so nothing orders it.';
CREATE INDEX IF NOT EXISTS intent_queue_due
    ON @hub@.intent_queue (target_hub, next_try_at, id) WHERE NOT blocked;
CREATE INDEX IF NOT EXISTS intent_queue_pair
    ON @hub@.intent_queue (target_hub, source_instance, target_instance, id);
CREATE INDEX IF NOT EXISTS intent_queue_created
    ON @hub@.intent_queue (target_hub, created_at);

CREATE TABLE IF NOT EXISTS @hub@.intents_received (
    source_uuid uuid        NOT NULL,
    intent_id   bigint      NOT NULL,
    received_at timestamptz NOT NULL,
    CONSTRAINT intents_received_pkey PRIMARY KEY (source_uuid, intent_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.intents_received IS 'Keys of intents that arrived: one that comes again is not delivered again.';
CREATE INDEX IF NOT EXISTS intents_received_at ON @hub@.intents_received (received_at);

CREATE TABLE IF NOT EXISTS @hub@.intent_links (
    target_hub text COLLATE "C" NOT NULL,
    server     text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT intent_links_pkey PRIMARY KEY (target_hub)
);
COMMENT ON TABLE @hub@.intent_links IS 'Which foreign server leads to a hub of another database. Read view hub_links instead.';
