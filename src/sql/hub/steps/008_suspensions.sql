-- Suspensions: what a task without a lease waits for, the points at which signals reach it, and the
-- signals. Their keys begin with the task: whoever looks at them holds it.
--
-- A token of a waitpoint is not stored: it is the waitpoint's id, signed with a key of the hub.

-- The reasons of suspensions give a column of it another collation, which a view cannot change.
DROP VIEW IF EXISTS @hub@.task_states;

CREATE TABLE IF NOT EXISTS @hub@.suspensions (
    task_id         uuid    NOT NULL,
    nr              integer NOT NULL CHECK (nr > 0),
    id              uuid    NOT NULL,
    attempt_index   integer NOT NULL,
    created_at_ms   bigint  NOT NULL,
    closed_at_ms    bigint,
    timeout_at_ms   bigint,
    resume_delay_ms bigint  NOT NULL CHECK (resume_delay_ms >= 0),
    on_timeout      text COLLATE "C" NOT NULL CHECK (on_timeout IN ('fail', 'cancel', 'expire', 'auto_resume', 'escalate')),
    reason_code     text COLLATE "C" NOT NULL CHECK (reason_code IN ('waiting_for_signal', 'waiting_for_approval', 'waiting_for_callback', 'waiting_for_tool_result')),
    closed_by       text COLLATE "C" CHECK (closed_by IN ('at_once', 'condition', 'operator', 'timeout', 'end')),
    idempotency_key text COLLATE "C",
    condition       jsonb   NOT NULL,
    CONSTRAINT suspensions_pkey PRIMARY KEY (task_id, nr),
    CONSTRAINT suspensions_closed CHECK ((closed_at_ms IS NULL) = (closed_by IS NULL))
) WITH (fillfactor = 70, vacuum_truncate = off);
COMMENT ON TABLE @hub@.suspensions IS 'What suspended tasks wait for, and waited for. Read get_task instead.';
COMMENT ON COLUMN @hub@.suspensions.closed_by IS 'at_once: signals were there before the task slept; end: the task ended meanwhile.';
CREATE UNIQUE INDEX IF NOT EXISTS suspensions_key
    ON @hub@.suspensions (task_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS suspensions_timeout
    ON @hub@.suspensions (timeout_at_ms) WHERE closed_at_ms IS NULL AND timeout_at_ms IS NOT NULL;

CREATE TABLE IF NOT EXISTS @hub@.waitpoints (
    task_id       uuid   NOT NULL,
    id            uuid   NOT NULL,
    suspension_nr integer,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    closed_at_ms  bigint,
    key           text COLLATE "C" NOT NULL,
    kid           text COLLATE "C" NOT NULL,
    CONSTRAINT waitpoints_pkey PRIMARY KEY (task_id, id)
) WITH (fillfactor = 70, vacuum_truncate = off);
COMMENT ON TABLE @hub@.waitpoints IS 'Where signals reach a task. Read list_waitpoints instead.';
COMMENT ON COLUMN @hub@.waitpoints.suspension_nr IS 'NULL: pending, made ahead of a suspension.';
COMMENT ON COLUMN @hub@.waitpoints.expires_at_ms IS 'Until when a pending one takes signals.';
COMMENT ON COLUMN @hub@.waitpoints.kid IS 'The key that signed its token.';

CREATE TABLE IF NOT EXISTS @hub@.signals (
    task_id         uuid   NOT NULL,
    nr              bigint NOT NULL CHECK (nr > 0),
    waitpoint_id    uuid,
    suspension_nr   integer,
    accepted_at_ms  bigint NOT NULL,
    signal_id       text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C",
    name            text COLLATE "C" NOT NULL,
    source          text COLLATE "C",
    payload         jsonb,
    CONSTRAINT signals_pkey PRIMARY KEY (task_id, nr)
) WITH (fillfactor = 90, vacuum_truncate = off);
COMMENT ON TABLE @hub@.signals IS 'Signals to tasks, in the order in which they were accepted.';
COMMENT ON COLUMN @hub@.signals.suspension_nr IS 'NULL: buffered at a pending waitpoint.';
CREATE UNIQUE INDEX IF NOT EXISTS signals_id
    ON @hub@.signals (task_id, waitpoint_id, signal_id);
CREATE UNIQUE INDEX IF NOT EXISTS signals_key
    ON @hub@.signals (task_id, waitpoint_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE IF NOT EXISTS @hub@.waitpoint_keys (
    kid            text COLLATE "C" NOT NULL,
    signs          boolean NOT NULL,
    created_at_ms  bigint  NOT NULL,
    valid_until_ms bigint,
    secret         bytea   NOT NULL CHECK (pg_catalog.octet_length(secret) >= 32),
    CONSTRAINT waitpoint_keys_pkey PRIMARY KEY (kid)
);
COMMENT ON TABLE @hub@.waitpoint_keys IS 'Secrets that sign the tokens of waitpoints: the hub owner''s alone. Grant nothing on it.';
COMMENT ON COLUMN @hub@.waitpoint_keys.signs IS 'Whether new tokens are made with it; one key does.';
CREATE UNIQUE INDEX IF NOT EXISTS waitpoint_keys_signs ON @hub@.waitpoint_keys (signs) WHERE signs;

-- The first key. gen_random_uuid draws from the server's strong random numbers; three of them hold
-- more than the 256 bits that are kept.
INSERT INTO @hub@.waitpoint_keys (kid, signs, created_at_ms, secret)
SELECT 'k1', true, pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint,
       pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
                         || pg_catalog.uuid_send(pg_catalog.gen_random_uuid()))
 WHERE NOT EXISTS (SELECT 1 FROM @hub@.waitpoint_keys);
