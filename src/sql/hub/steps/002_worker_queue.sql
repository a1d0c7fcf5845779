-- The worker queue: activities for workers to run, sessions that pin them to an owner, and the dead
-- letters of both queues. The orchestrator queue is here too: a worker's ack sends its completion.
--
-- Lease columns are fixed width, adjacent and in no index: fetch, renew and abandon are HOT updates
-- with a small WAL span. A token holds the primary key, so it needs no index of its own.
-- autovacuum: a queue's dead rows are all at its head, so a fraction of the table means nothing.

CREATE SEQUENCE IF NOT EXISTS @hub@.worker_queue_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.worker_queue_id IS 'Ids of the worker queue: insertion order is delivery order.';

CREATE TABLE IF NOT EXISTS @hub@.worker_queue (
    lane          integer     NOT NULL,
    slot          smallint    NOT NULL,
    due           bigint      NOT NULL,
    id            bigint      NOT NULL,
    visible_at    timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    locked_until  bigint      NOT NULL,
    nonce_hi      bigint      NOT NULL,
    nonce_lo      bigint      NOT NULL,
    lease_inc     integer     NOT NULL,
    attempt_count integer     NOT NULL CHECK (attempt_count >= 0),
    execution_id  bigint,
    activity_id   bigint,
    tag           text COLLATE "C",
    session_id    text COLLATE "C",
    instance_id   text COLLATE "C",
    locked_by     text COLLATE "C",
    work_item     text        NOT NULL,
    CONSTRAINT worker_queue_pkey PRIMARY KEY (lane, slot, due, id)
) WITH (
    fillfactor = 70,
    toast_tuple_target = 512,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.worker_queue IS 'Activities for workers to run. Read view work_items instead.';
COMMENT ON COLUMN @hub@.worker_queue.lane IS 'Twice a hash of the tag (0 = untagged), plus 1 if the row has a session.';
COMMENT ON COLUMN @hub@.worker_queue.slot IS 'Slot of the row, 0 unless the hub option slot_count is above 1.';
COMMENT ON COLUMN @hub@.worker_queue.due IS '0 = never delayed; else visible_at in ms.';
COMMENT ON COLUMN @hub@.worker_queue.locked_until IS 'Deadline of the lease in ms; 0 = no lease.';
COMMENT ON COLUMN @hub@.worker_queue.lease_inc IS 'Incarnation of the hub in which the lease was granted.';

CREATE INDEX IF NOT EXISTS worker_queue_activity
    ON @hub@.worker_queue (instance_id, execution_id, activity_id) WHERE instance_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS worker_queue_session
    ON @hub@.worker_queue (session_id, lane, slot, due, id) WHERE session_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS @hub@.sessions (
    session_id       text COLLATE "C" NOT NULL,
    worker_id        text COLLATE "C" NOT NULL,
    locked_until     bigint NOT NULL,
    last_activity_at bigint NOT NULL,
    lease_inc        integer NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.sessions IS 'Which owner has claimed a session, and until when.';
COMMENT ON COLUMN @hub@.sessions.lease_inc IS 'Incarnation of the hub in which the session was claimed.';

CREATE SEQUENCE IF NOT EXISTS @hub@.orchestrator_queue_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.orchestrator_queue_id IS 'Ids of the orchestrator queue: insertion order is delivery order.';

CREATE TABLE IF NOT EXISTS @hub@.orchestrator_queue (
    instance_key  bigint      NOT NULL,
    id            bigint      NOT NULL,
    visible_at    timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    lock_no       bigint      NOT NULL,
    attempt_count integer     NOT NULL CHECK (attempt_count >= 0),
    slot          smallint    NOT NULL,
    kind          "char"      NOT NULL,
    parked        boolean     NOT NULL,
    instance_id   text COLLATE "C" NOT NULL,
    parent_id     text COLLATE "C",
    work_item     text        NOT NULL,
    CONSTRAINT orchestrator_queue_pkey PRIMARY KEY (instance_key, id)
) WITH (
    fillfactor = 70,
    toast_tuple_target = 512,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.orchestrator_queue IS 'Messages to instances. Read view messages instead.';
COMMENT ON COLUMN @hub@.orchestrator_queue.lock_no IS 'Number of the instance lock that leased the message; 0 = none.';
COMMENT ON COLUMN @hub@.orchestrator_queue.parked IS 'Message of an instance that never started; out of the claim index.';
COMMENT ON COLUMN @hub@.orchestrator_queue.parent_id IS 'Parent named by a start message: a delete of the parent finds it.';
COMMENT ON COLUMN @hub@.orchestrator_queue.kind IS 's = start, n = continue-as-new, q = queue message, t = timer, o = other.';
CREATE INDEX IF NOT EXISTS orchestrator_queue_claim
    ON @hub@.orchestrator_queue (slot, visible_at, id) WHERE NOT parked;
CREATE INDEX IF NOT EXISTS orchestrator_queue_parked
    ON @hub@.orchestrator_queue (created_at) WHERE parked;
CREATE INDEX IF NOT EXISTS orchestrator_queue_parent
    ON @hub@.orchestrator_queue (parent_id) WHERE parent_id IS NOT NULL;

CREATE SEQUENCE IF NOT EXISTS @hub@.dead_letters_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.dead_letters_id IS 'Ids of dead letters.';

CREATE TABLE IF NOT EXISTS @hub@.dead_letters (
    id            bigint      NOT NULL,
    queue         text        NOT NULL CHECK (queue IN ('orchestrator', 'worker', 'intent')),
    source_id     bigint      NOT NULL,
    instance_id   text COLLATE "C",
    execution_id  bigint,
    activity_id   bigint,
    session_id    text COLLATE "C",
    tag           text COLLATE "C",
    work_item     text        NOT NULL,
    attempt_count integer     NOT NULL,
    reason        text        NOT NULL CHECK (reason IN ('max_attempts', 'orphan', 'undeliverable')),
    detail        text,
    enqueued_at   timestamptz NOT NULL,
    dead_at       timestamptz NOT NULL,
    CONSTRAINT dead_letters_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE @hub@.dead_letters IS 'Queue items set aside, with the reason.';
CREATE INDEX IF NOT EXISTS dead_letters_instance
    ON @hub@.dead_letters (instance_id, id) WHERE instance_id IS NOT NULL;
