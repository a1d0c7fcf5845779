-- Orchestrations: instances, their executions and history, the locks of their turns, and their
-- key/value state. There are no foreign keys: nothing requires an instance row. vacuum_truncate is off
-- because truncation locks out readers, and a fetch does not wait.

CREATE TABLE IF NOT EXISTS @hub@.instances (
    instance_id           text COLLATE "C" NOT NULL,
    orchestration_name    text        NOT NULL,
    orchestration_version text,
    current_execution_id  bigint      NOT NULL,
    parent_instance_id    text COLLATE "C",
    custom_status         text,
    custom_status_version bigint      NOT NULL,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    CONSTRAINT instances_pkey PRIMARY KEY (instance_id)
) WITH (fillfactor = 85, vacuum_truncate = off);
COMMENT ON TABLE @hub@.instances IS 'Orchestration instances, born in an ack.';
CREATE INDEX IF NOT EXISTS instances_parent
    ON @hub@.instances (parent_instance_id) WHERE parent_instance_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS instances_created
    ON @hub@.instances (created_at, instance_id);

CREATE TABLE IF NOT EXISTS @hub@.executions (
    instance_id            text COLLATE "C" NOT NULL,
    execution_id           bigint      NOT NULL,
    status                 text        NOT NULL
        CHECK (status IN ('Running', 'Completed', 'Failed', 'ContinuedAsNew')),
    output                 text,
    started_at             timestamptz NOT NULL,
    completed_at           timestamptz,
    duroxide_version_major integer,
    duroxide_version_minor integer,
    duroxide_version_patch integer,
    event_count            bigint      NOT NULL DEFAULT 0,
    CONSTRAINT executions_pkey PRIMARY KEY (instance_id, execution_id)
) WITH (fillfactor = 85, vacuum_truncate = off);
COMMENT ON TABLE @hub@.executions IS 'The runs of each instance, with status, output and pinned client version.';
COMMENT ON COLUMN @hub@.executions.event_count IS 'Events of the execution, so that totals need not read history.';
CREATE INDEX IF NOT EXISTS executions_completed
    ON @hub@.executions (completed_at, instance_id, execution_id) WHERE completed_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS @hub@.history (
    instance_id  text COLLATE "C" NOT NULL,
    execution_id bigint      NOT NULL,
    event_id     bigint      NOT NULL,
    event_type   text        NOT NULL,
    event_data   text        NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT history_pkey PRIMARY KEY (instance_id, execution_id, event_id)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.history IS 'Append-only events of each execution.';

CREATE SEQUENCE IF NOT EXISTS @hub@.instance_locks_no AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.instance_locks_no IS 'Numbers of instance locks; each ties a batch to its lock.';

-- The row stays after a release, so that the next fetch and ack are HOT updates; a terminal ack
-- deletes it.
CREATE TABLE IF NOT EXISTS @hub@.instance_locks (
    instance_key bigint NOT NULL,
    locked_until bigint NOT NULL,
    locked_at    bigint NOT NULL,
    lock_no      bigint NOT NULL,
    nonce_hi     bigint NOT NULL,
    nonce_lo     bigint NOT NULL,
    lease_inc    integer NOT NULL,
    instance_id  text COLLATE "C" NOT NULL,
    CONSTRAINT instance_locks_pkey PRIMARY KEY (instance_key, instance_id)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.instance_locks IS 'The lock of each instance''s turn. Read view instance_lock_states instead.';

CREATE TABLE IF NOT EXISTS @hub@.kv_store (
    instance_id        text COLLATE "C" NOT NULL,
    key                text COLLATE "C" NOT NULL,
    value              text   NOT NULL,
    execution_id       bigint,
    last_updated_at_ms bigint NOT NULL,
    CONSTRAINT kv_store_pkey PRIMARY KEY (instance_id, key)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.kv_store IS 'Key/value state as of the end of the last finished execution.';

CREATE TABLE IF NOT EXISTS @hub@.kv_delta (
    instance_id        text COLLATE "C" NOT NULL,
    key                text COLLATE "C" NOT NULL,
    value              text,
    last_updated_at_ms bigint NOT NULL,
    CONSTRAINT kv_delta_pkey PRIMARY KEY (instance_id, key)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.kv_delta IS 'Changes of the current execution; a NULL value is a tombstone.';
