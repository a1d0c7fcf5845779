-- Tasks: units of work with a lane, a policy and one state; the attempts that have ended; lanes,
-- capability sets and dedup keys. The running or paused attempt lives in the task's row, so that a
-- claim writes one row.
--
-- The deadline of a lease is in no index: a renewal is a HOT update. lease_check_ms, which is, only
-- moves when the deadline that it stands for has passed. Bodies go out of line early, so that
-- changes of state do not copy them.

CREATE TABLE IF NOT EXISTS @hub@.tasks (
    id                      uuid     NOT NULL,
    flow_id                 uuid,
    lease_epoch             bigint   NOT NULL,
    lease_until_ms          bigint,
    lease_check_ms          bigint,
    available_at_ms         bigint,
    start_delay_ms          bigint   NOT NULL,
    deadline_ms             bigint,
    attempt_started_ms      bigint,
    attempt_deadline_ms     bigint,
    created_at_ms           bigint   NOT NULL,
    started_at_ms           bigint,
    updated_at_ms           bigint   NOT NULL,
    terminal_at_ms          bigint,
    progress_at_ms          bigint,
    cap_set                 integer  NOT NULL,
    priority                integer  NOT NULL,
    attempt_index           integer  NOT NULL,
    attempt_leases          integer  NOT NULL,
    retry_count             integer  NOT NULL,
    reclaim_count           integer  NOT NULL,
    replay_count            integer  NOT NULL,
    slot                    smallint NOT NULL,
    held                    boolean  NOT NULL,
    state                   text COLLATE "C" NOT NULL,
    pending_attempt         text COLLATE "C" NOT NULL,
    attempt_kind            text COLLATE "C",
    lane                    text COLLATE "C" NOT NULL,
    kind                    text COLLATE "C" NOT NULL,
    flow_key                text COLLATE "C",
    dedup_key               text COLLATE "C",
    lease_owner             text COLLATE "C",
    lease_worker            text COLLATE "C",
    attempt_worker          text COLLATE "C",
    attempt_worker_instance text COLLATE "C",
    failure_class           text COLLATE "C",
    failure_message         text,
    cancel_reason           text,
    cancelled_by            text,
    progress_pct            numeric,
    progress_message        text,
    payload                 jsonb,
    result                  jsonb,
    checkpoint              jsonb,
    tags                    jsonb    NOT NULL,
    policy                  jsonb,
    failure_details         jsonb,
    CONSTRAINT tasks_pkey PRIMARY KEY (id),
    -- The owner, worker, deadline and check of a lease are there if and only if the task is active; an end
    -- has its time; what can be claimed has its; an attempt that runs or is paused is described. As one call,
    -- because the server reads every CHECK anew for each statement.
    CONSTRAINT tasks_sound CHECK (belay.task_is_sound(
        state, pending_attempt, attempt_kind, lease_owner, lease_worker, lease_until_ms, lease_check_ms, available_at_ms,
        terminal_at_ms, attempt_started_ms, attempt_deadline_ms, attempt_worker, attempt_worker_instance, attempt_leases,
        attempt_index, retry_count, reclaim_count, replay_count, priority, lease_epoch, start_delay_ms))
) WITH (
    fillfactor = 70,
    toast_tuple_target = 256,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.tasks IS 'Tasks. Read views task_states and task_attempts, or get_task, instead.';
COMMENT ON COLUMN @hub@.tasks.cap_set IS '0 = needs no capability; else a row of capability_sets.';
COMMENT ON COLUMN @hub@.tasks.slot IS 'Slot of the task, 0 unless the hub option slot_count is above 1.';
COMMENT ON COLUMN @hub@.tasks.lease_epoch IS 'Grows with each acquisition and each loss of a lease, and with a replay: the fence of worker calls.';
COMMENT ON COLUMN @hub@.tasks.lease_check_ms IS 'When the duty lease_expiry looks at the lease again; never after its deadline.';
COMMENT ON COLUMN @hub@.tasks.pending_attempt IS 'What the next claim begins (initial, retry, replay) or goes on with (reclaim, snooze, resume); of an active task, what its claim did.';
COMMENT ON COLUMN @hub@.tasks.attempt_kind IS 'How the running or paused attempt began.';
COMMENT ON COLUMN @hub@.tasks.attempt_leases IS 'Leases of the running or paused attempt.';
COMMENT ON COLUMN @hub@.tasks.held IS 'Blocked until its open flow is sealed.';

-- A claim merges the heads of the ranges (lane, slot, cap_set) that fit the worker.
CREATE INDEX IF NOT EXISTS tasks_claim
    ON @hub@.tasks (lane, slot, cap_set, priority DESC, available_at_ms, id) WHERE state = 'ready';
CREATE INDEX IF NOT EXISTS tasks_due
    ON @hub@.tasks (available_at_ms, id) WHERE state = 'delayed';
CREATE INDEX IF NOT EXISTS tasks_expiry
    ON @hub@.tasks (lease_check_ms) WHERE state = 'active';
CREATE INDEX IF NOT EXISTS tasks_deadline
    ON @hub@.tasks (deadline_ms) WHERE deadline_ms IS NOT NULL AND state <> 'active' AND terminal_at_ms IS NULL;
CREATE INDEX IF NOT EXISTS tasks_flow
    ON @hub@.tasks (flow_id, id) WHERE flow_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS tasks_terminal_at
    ON @hub@.tasks (terminal_at_ms) WHERE terminal_at_ms IS NOT NULL;

CREATE TABLE IF NOT EXISTS @hub@.attempts (
    task_id         uuid    NOT NULL,
    attempt_index   integer NOT NULL,
    lease_count     integer NOT NULL,
    epoch           bigint  NOT NULL,
    started_ms      bigint  NOT NULL,
    ended_ms        bigint  NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    outcome         text COLLATE "C" NOT NULL CHECK (outcome IN ('success', 'retry', 'failed', 'timed_out', 'cancelled', 'expired')),
    worker          text COLLATE "C" NOT NULL,
    worker_instance text COLLATE "C" NOT NULL,
    error           jsonb,
    CONSTRAINT attempts_pkey PRIMARY KEY (task_id, attempt_index)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.attempts IS 'Attempts that have ended; never changed. View task_attempts has the running ones, too.';
COMMENT ON COLUMN @hub@.attempts.epoch IS 'Epoch of the last lease of the attempt.';

CREATE SEQUENCE IF NOT EXISTS @hub@.capability_sets_id AS integer CACHE 1;
COMMENT ON SEQUENCE @hub@.capability_sets_id IS 'Ids of capability sets.';

CREATE TABLE IF NOT EXISTS @hub@.capability_sets (
    id     integer NOT NULL CHECK (id > 0),
    lane   text COLLATE "C" NOT NULL,
    digest bytea   NOT NULL,
    tokens text[]  NOT NULL,
    CONSTRAINT capability_sets_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE @hub@.capability_sets IS 'The sets of capabilities that tasks of a lane ask for, sorted and each once.';
COMMENT ON COLUMN @hub@.capability_sets.digest IS 'SHA-256 of the tokens: they may be longer than an index entry.';
CREATE UNIQUE INDEX IF NOT EXISTS capability_sets_lane ON @hub@.capability_sets (lane, digest);

CREATE TABLE IF NOT EXISTS @hub@.lanes (
    name          text COLLATE "C" NOT NULL,
    paused        boolean NOT NULL,
    retention_ms  bigint CHECK (retention_ms >= 0),
    created_at_ms bigint  NOT NULL,
    policy        jsonb,
    CONSTRAINT lanes_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE @hub@.lanes IS 'Lanes and their settings. A lane without a row has the defaults.';

CREATE TABLE IF NOT EXISTS @hub@.dedup_keys (
    lane            text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    task_id         uuid   NOT NULL,
    window_until_ms bigint NOT NULL,
    CONSTRAINT dedup_keys_pkey PRIMARY KEY (lane, key)
) WITH (fillfactor = 90, vacuum_truncate = off);
COMMENT ON TABLE @hub@.dedup_keys IS 'Keys that make the creation of a task idempotent, and until when at least.';
