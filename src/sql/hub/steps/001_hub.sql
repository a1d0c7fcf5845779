-- What a hub stores: its tables, indexes and sequences, grouped by subject. create_hub runs it once.
-- Functions and views are in ../objects.

-- ---- hub ----

-- The hub itself: one row that makes the schema a hub.
CREATE TABLE @hub@.belay_hub (
    uuid        uuid        PRIMARY KEY,
    api         text        NOT NULL,
    version     integer     NOT NULL,
    incarnation integer     NOT NULL,
    epoch_floor bigint      NOT NULL,
    options     jsonb       NOT NULL,
    created_at  timestamptz NOT NULL,
    mark        belay.hub_mark NOT NULL
);
COMMENT ON TABLE @hub@.belay_hub IS 'The hub of this schema; exactly one row.';

-- ---- worker queue ----

-- The worker queue: activities for workers to run, sessions that pin them to an owner, and the dead
-- letters of both queues. The orchestrator queue is here too: a worker's ack sends its completion.
--
-- Lease columns are fixed width, adjacent and in no index: fetch, renew and abandon are HOT updates
-- with a small WAL span. A token holds the primary key, so it needs no index of its own.
-- autovacuum: a queue's dead rows are all at its head, so a fraction of the table means nothing.

CREATE SEQUENCE @hub@.worker_queue_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.worker_queue_id IS 'Ids of the worker queue: insertion order is delivery order.';

CREATE TABLE @hub@.worker_queue (
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
    last_error    text,
    CONSTRAINT worker_queue_pkey PRIMARY KEY (lane, slot, due, id)
) WITH (
    fillfactor = 50,
    toast_tuple_target = 512,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.worker_queue IS 'Activities for workers to run. Read view work_items instead.';
COMMENT ON COLUMN @hub@.worker_queue.lane IS 'Twice a hash of the tag (0 = untagged), plus 1 if the row has a session.';
COMMENT ON COLUMN @hub@.worker_queue.slot IS 'Slot of the row, 0 unless the hub option slot_count is above 1.';
COMMENT ON COLUMN @hub@.worker_queue.due IS '0 = never delayed, free at any time; else visible_at in ms.';
COMMENT ON COLUMN @hub@.worker_queue.locked_until IS 'Deadline of the lease in ms; 0 = no lease.';
COMMENT ON COLUMN @hub@.worker_queue.last_error IS 'Reason of the last abandon, copied into the dead letter.';
COMMENT ON COLUMN @hub@.worker_queue.lease_inc IS 'Incarnation of the hub in which the lease was granted.';

CREATE INDEX worker_queue_activity
    ON @hub@.worker_queue (instance_id, execution_id, activity_id) WHERE instance_id IS NOT NULL;
CREATE INDEX worker_queue_session
    ON @hub@.worker_queue (session_id, lane, slot, due, id) WHERE session_id IS NOT NULL;

CREATE TABLE @hub@.sessions (
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
COMMENT ON TABLE @hub@.sessions IS 'Sessions of work items, with the owner that claimed each and the deadline of the claim.';
COMMENT ON COLUMN @hub@.sessions.lease_inc IS 'Incarnation of the hub in which the session was claimed.';

CREATE SEQUENCE @hub@.orchestrator_queue_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.orchestrator_queue_id IS 'Ids of the orchestrator queue: insertion order is delivery order.';

CREATE TABLE @hub@.orchestrator_queue (
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
COMMENT ON COLUMN @hub@.orchestrator_queue.parked IS 'The message is for an instance that never started and is not in the claim index.';
COMMENT ON COLUMN @hub@.orchestrator_queue.parent_id IS 'Parent that a start message names, so that deleting the parent finds the message.';
COMMENT ON COLUMN @hub@.orchestrator_queue.kind IS 's = start, n = continue-as-new, q = queue message, t = timer, o = other.';
CREATE INDEX orchestrator_queue_claim
    ON @hub@.orchestrator_queue (slot, visible_at, id) WHERE NOT parked;
CREATE INDEX orchestrator_queue_parked
    ON @hub@.orchestrator_queue (created_at) WHERE parked;
CREATE INDEX orchestrator_queue_parent
    ON @hub@.orchestrator_queue (parent_id) WHERE parent_id IS NOT NULL;

CREATE SEQUENCE @hub@.dead_letters_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.dead_letters_id IS 'Ids of dead letters.';

CREATE TABLE @hub@.dead_letters (
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
CREATE INDEX dead_letters_dead
    ON @hub@.dead_letters (dead_at, id);
CREATE INDEX dead_letters_instance
    ON @hub@.dead_letters (instance_id, id) WHERE instance_id IS NOT NULL;

-- ---- orchestration ----

-- Orchestrations: instances, their executions and history, the locks of their turns, and their
-- key/value state. There are no foreign keys: nothing requires an instance row. vacuum_truncate is off
-- because truncation locks out readers, and a fetch does not wait.

CREATE TABLE @hub@.instances (
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
COMMENT ON TABLE @hub@.instances IS 'Orchestration instances. The ack of the first turn inserts the row.';
CREATE INDEX instances_parent
    ON @hub@.instances (parent_instance_id) WHERE parent_instance_id IS NOT NULL;
CREATE INDEX instances_created
    ON @hub@.instances (created_at, instance_id);

CREATE TABLE @hub@.executions (
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
    CONSTRAINT executions_pkey PRIMARY KEY (instance_id, execution_id)
) WITH (fillfactor = 85, vacuum_truncate = off);
COMMENT ON TABLE @hub@.executions IS 'The runs of each instance, with status, output and pinned client version.';
CREATE INDEX executions_completed
    ON @hub@.executions (completed_at, instance_id, execution_id) WHERE completed_at IS NOT NULL;
CREATE INDEX executions_failed
    ON @hub@.executions (completed_at, instance_id) WHERE status = 'Failed';
CREATE INDEX executions_running
    ON @hub@.executions (started_at, instance_id) WHERE status = 'Running';

-- A row has events of one turn whose ids are consecutive, so rows of an execution never overlap, and
-- in the order of last_event_id the row that has an event is the first one that does not end before it.
CREATE TABLE @hub@.history_turns (
    execution_id   bigint      NOT NULL,
    first_event_id bigint      NOT NULL,
    last_event_id  bigint      NOT NULL,
    created_at     timestamptz NOT NULL,
    instance_id    text COLLATE "C" NOT NULL,
    event_types    text[]      NOT NULL,
    event_data     text[]      NOT NULL,
    jsonb_bytes    bigint,
    CONSTRAINT history_turns_pkey PRIMARY KEY (instance_id, execution_id, last_event_id),
    CONSTRAINT history_turns_events CHECK (
        first_event_id <= last_event_id
        AND cardinality(event_types) = last_event_id - first_event_id + 1
        AND cardinality(event_data) = last_event_id - first_event_id + 1
        AND array_position(event_types, NULL) IS NULL
        AND array_position(event_data, NULL) IS NULL)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.history_turns IS 'Append-only events of each execution, those of a turn in one row. Read view history instead.';
COMMENT ON COLUMN @hub@.history_turns.event_types IS 'Of the events from first_event_id to last_event_id, in order; event_data likewise.';
COMMENT ON COLUMN @hub@.history_turns.jsonb_bytes IS 'What the events of event_data take as jsonb, at most; NULL if that is not known, or one cannot be jsonb. To change event_data by hand, clear it.';

CREATE SEQUENCE @hub@.instance_locks_no AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.instance_locks_no IS 'Numbers of instance locks, which connect the messages of a batch with its lock.';

-- The row stays after a release, so that the next fetch and ack are HOT updates; a terminal ack
-- deletes it.
CREATE TABLE @hub@.instance_locks (
    instance_key bigint NOT NULL,
    locked_until bigint NOT NULL,
    locked_at    bigint NOT NULL,
    lock_no      bigint NOT NULL,
    nonce_hi     bigint NOT NULL,
    nonce_lo     bigint NOT NULL,
    cache_owner  bigint NOT NULL,
    cache_event  bigint NOT NULL,
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

CREATE TABLE @hub@.kv_store (
    instance_id        text COLLATE "C" NOT NULL,
    key                text COLLATE "C" NOT NULL,
    value              text   NOT NULL,
    execution_id       bigint,
    last_updated_at_ms bigint NOT NULL,
    CONSTRAINT kv_store_pkey PRIMARY KEY (instance_id, key)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.kv_store IS 'Key/value state at the end of the last finished execution.';

CREATE TABLE @hub@.kv_delta (
    instance_id        text COLLATE "C" NOT NULL,
    key                text COLLATE "C" NOT NULL,
    value              text,
    last_updated_at_ms bigint NOT NULL,
    CONSTRAINT kv_delta_pkey PRIMARY KEY (instance_id, key)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.kv_delta IS 'Changes of the current execution; a NULL value is a tombstone.';

-- ---- outbox ----

-- The outbox: events that tell the outside what happened, and who has read how far.

CREATE SEQUENCE @hub@.outbox_events_position AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.outbox_events_position IS 'Positions of events, in the order in which they were written.';

CREATE TABLE @hub@.outbox_events (
    incarnation    integer NOT NULL,
    position       bigint  NOT NULL,
    xid            xid8    NOT NULL,
    topic          text    NOT NULL,
    type           text    NOT NULL,
    subject        text,
    details        jsonb   NOT NULL,
    occurred_at_ms bigint  NOT NULL,
    CONSTRAINT outbox_events_pkey PRIMARY KEY (incarnation, position)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.outbox_events IS 'Events, each written in the transaction of the change that it reports.';
CREATE INDEX outbox_operator
    ON @hub@.outbox_events (subject, incarnation, position) WHERE topic = 'operator';

-- A row has been seen up to seen_position, and in the order of xids up to (seen_xid,
-- seen_xid_position): which of the two moves depends on how the reader can tell what is complete.
-- When no transaction older than final_xid runs any more, the positions up to final_position are complete.
CREATE TABLE @hub@.outbox_subscriptions (
    name              text COLLATE "C" NOT NULL,
    topics            text[],
    seen_incarnation  integer     NOT NULL,
    seen_position     bigint      NOT NULL,
    seen_xid          xid8        NOT NULL,
    seen_xid_position bigint      NOT NULL,
    final_xid         xid8        NOT NULL,
    final_position    bigint      NOT NULL,
    lease             bigint      NOT NULL,
    lease_until       bigint      NOT NULL,
    lease_inc         integer     NOT NULL,
    last_incarnation  integer     NOT NULL,
    last_position     bigint      NOT NULL,
    lost_events       bigint      NOT NULL DEFAULT 0,
    untold_events     bigint      NOT NULL DEFAULT 0,
    untold_first      text COLLATE "C",
    untold_last       text COLLATE "C",
    created_at        timestamptz NOT NULL,
    CONSTRAINT outbox_subscriptions_pkey PRIMARY KEY (name)
) WITH (fillfactor = 30, vacuum_truncate = off);
COMMENT ON TABLE @hub@.outbox_subscriptions IS 'Readers of the outbox, with their positions and the leases on the batches that are being read.';
COMMENT ON COLUMN @hub@.outbox_subscriptions.lost_events IS 'Events that retention deleted before they were read, without those in outbox_gaps.';
COMMENT ON COLUMN @hub@.outbox_subscriptions.untold_events IS 'Lost events that no acknowledged batch has reported yet; untold_first and untold_last are the first and the last of their ids.';

CREATE TABLE @hub@.outbox_gaps (
    subscription      text COLLATE "C" NOT NULL,
    last_incarnation  integer NOT NULL,
    last_position     bigint  NOT NULL,
    first_incarnation integer NOT NULL,
    first_position    bigint  NOT NULL,
    events            bigint  NOT NULL CHECK (events > 0),
    CONSTRAINT outbox_gaps_pkey PRIMARY KEY (subscription, last_incarnation, last_position)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.outbox_gaps IS 'Events that retention deleted before a subscription had read them. The next read_events moves the rows into the subscription.';

-- ---- slots ----

-- Slot leases: which dispatcher serves which slots of a queue. The deadline stands with the owner, so
-- a renewal changes one row, however many slots it has. A slot without a row is free.

CREATE TABLE @hub@.slot_owners (
    queue        text COLLATE "C" NOT NULL,
    owner        text COLLATE "C" NOT NULL,
    locked_until bigint  NOT NULL,
    lease_inc    integer NOT NULL,
    CONSTRAINT slot_owners_pkey PRIMARY KEY (queue, owner)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.slot_owners IS 'Owners with a share of the slots of a queue, and the deadlines of their leases.';
COMMENT ON COLUMN @hub@.slot_owners.locked_until IS 'Deadline of the lease in ms.';
COMMENT ON COLUMN @hub@.slot_owners.lease_inc IS 'Incarnation of the hub in which the lease was granted.';

CREATE TABLE @hub@.slot_shares (
    queue text COLLATE "C" NOT NULL,
    slot  smallint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    CONSTRAINT slot_shares_pkey PRIMARY KEY (queue, slot)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.slot_shares IS 'The owner of each slot. Read view slot_leases instead.';

-- ---- intents ----

-- Intents: work items on their way to other hubs, what arrived from other hubs, and links to hubs
-- of other databases.
--
-- Only the first intent of a pair (source instance, target instance) can be tried. Those that were
-- found standing behind another are marked as blocked and leave the index of what is due, so a pair
-- that cannot be delivered costs nothing however long it grows.

CREATE SEQUENCE @hub@.intent_queue_id AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.intent_queue_id IS 'Ids of intents. The id and the uuid of the hub are the key of a delivery.';

CREATE TABLE @hub@.intent_queue (
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
COMMENT ON COLUMN @hub@.intent_queue.blocked IS 'True if an earlier intent of the same source and target instance is not delivered yet.';
COMMENT ON COLUMN @hub@.intent_queue.source_instance IS 'Instance whose turn sent the intent; empty if send_to_hub sent it.';
COMMENT ON COLUMN @hub@.intent_queue.target_instance IS 'Instance that the intent is for; empty if there is none: then it is delivered in any order.';
CREATE INDEX intent_queue_due
    ON @hub@.intent_queue (target_hub, next_try_at, id) WHERE NOT blocked;
CREATE INDEX intent_queue_pair
    ON @hub@.intent_queue (target_hub, source_instance, target_instance, id);
CREATE INDEX intent_queue_created
    ON @hub@.intent_queue (target_hub, created_at);

CREATE TABLE @hub@.intents_received (
    source_uuid uuid        NOT NULL,
    intent_id   bigint      NOT NULL,
    received_at timestamptz NOT NULL,
    CONSTRAINT intents_received_pkey PRIMARY KEY (source_uuid, intent_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.intents_received IS 'Keys of received intents, so that a repeated delivery is ignored.';
CREATE INDEX intents_received_at ON @hub@.intents_received (received_at);

CREATE TABLE @hub@.intent_links (
    target_hub text COLLATE "C" NOT NULL,
    server     text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT intent_links_pkey PRIMARY KEY (target_hub)
);
COMMENT ON TABLE @hub@.intent_links IS 'Foreign servers of hubs in other databases. Read view hub_links instead.';

-- ---- tasks ----

-- Tasks: units of work with a queue, a policy and one state; the attempts that have ended; queues,
-- capability sets and dedup keys. The running or paused attempt lives in the task's row, so that a
-- claim writes one row; so does the attempt that completed the task, until a replay.
--
-- Indexed columns stand first, those that are never null and of fixed length before the others: an update
-- compares them all, and finds the value of a column behind them by walking over the row. An index with the
-- id as its last column has no equal keys to deduplicate.
--
-- The deadline of a lease is in no index: a renewal is a HOT update. lease_check_ms, which is, only
-- moves when the deadline that it stands for has passed. Bodies go out of line early, so that
-- changes of state do not copy them.

CREATE TABLE @hub@.tasks (
    id                      uuid     NOT NULL,
    cap_set                 integer  NOT NULL,
    priority                integer  NOT NULL,
    attempt_index           integer  NOT NULL,
    slot                    smallint NOT NULL,
    held                    boolean  NOT NULL,
    available_at_ms         bigint,
    lease_check_ms          bigint,
    deadline_ms             bigint,
    terminal_at_ms          bigint,
    state                   text COLLATE "C" NOT NULL,
    queue                   text COLLATE "C" NOT NULL,
    flow_id                 uuid,
    lease_epoch             bigint   NOT NULL,
    start_delay_ms          bigint   NOT NULL,
    created_at_ms           bigint   NOT NULL,
    updated_at_ms           bigint   NOT NULL,
    lease_until_ms          bigint,
    attempt_started_ms      bigint,
    attempt_deadline_ms     bigint,
    started_at_ms           bigint,
    progress_at_ms          bigint,
    lease_nonce             uuid,
    attempt_leases          integer  NOT NULL,
    retry_count             integer  NOT NULL,
    reclaim_count           integer  NOT NULL,
    replay_count            integer  NOT NULL,
    pending_attempt         text COLLATE "C" NOT NULL,
    attempt_kind            text COLLATE "C",
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
COMMENT ON COLUMN @hub@.tasks.lease_epoch IS 'Fencing number of worker calls: increases when a lease is granted (by a random step) or lost, and at a replay.';
COMMENT ON COLUMN @hub@.tasks.lease_nonce IS '128 random bits of the current or last lease; part of the lease id that the claim returned.';
COMMENT ON COLUMN @hub@.tasks.lease_check_ms IS 'When the duty lease_expiry checks the lease next; at the latest at its deadline.';
COMMENT ON COLUMN @hub@.tasks.pending_attempt IS 'The kind of the next claim: it begins an attempt (initial, retry, replay) or continues one (reclaim, snooze, resume). For an active task, the kind of its claim.';
COMMENT ON COLUMN @hub@.tasks.attempt_kind IS 'How the attempt began that runs, is paused, or has completed the task.';
COMMENT ON COLUMN @hub@.tasks.attempt_leases IS 'Leases of the attempt that runs, is paused, or has completed the task.';
COMMENT ON COLUMN @hub@.tasks.held IS 'Blocked until its open flow is sealed.';

-- A claim merges the heads of the ranges (queue, slot, cap_set) that fit the worker.
CREATE INDEX tasks_claim
    ON @hub@.tasks (queue, slot, cap_set, priority DESC, available_at_ms, id) WITH (deduplicate_items = off) WHERE state = 'ready';
CREATE INDEX tasks_due
    ON @hub@.tasks (available_at_ms, id) WITH (deduplicate_items = off) WHERE state = 'delayed';
CREATE INDEX tasks_expiry
    ON @hub@.tasks (lease_check_ms) WHERE state = 'active';
CREATE INDEX tasks_deadline
    ON @hub@.tasks (deadline_ms) WHERE deadline_ms IS NOT NULL AND state <> 'active' AND terminal_at_ms IS NULL;
CREATE INDEX tasks_flow
    ON @hub@.tasks (flow_id, id) WHERE flow_id IS NOT NULL;
CREATE INDEX tasks_terminal_at
    ON @hub@.tasks (terminal_at_ms, id) WITH (deduplicate_items = off) WHERE terminal_at_ms IS NOT NULL;
CREATE INDEX tasks_failed
    ON @hub@.tasks (terminal_at_ms, id) WHERE state IN ('failed', 'expired');
CREATE INDEX tasks_parked
    ON @hub@.tasks (state, queue, id) WHERE state IN ('blocked', 'suspended');

CREATE TABLE @hub@.attempts (
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
COMMENT ON TABLE @hub@.attempts IS 'Attempts that have ended without completing their task, and those before a replay; rows do not change. View task_attempts has all.';
COMMENT ON COLUMN @hub@.attempts.epoch IS 'Epoch of the last lease of the attempt.';

CREATE SEQUENCE @hub@.capability_sets_id AS integer CACHE 1;
COMMENT ON SEQUENCE @hub@.capability_sets_id IS 'Ids of capability sets.';

CREATE TABLE @hub@.capability_sets (
    id     integer NOT NULL CHECK (id > 0),
    queue   text COLLATE "C" NOT NULL,
    digest bytea   NOT NULL,
    tokens text[]  NOT NULL,
    CONSTRAINT capability_sets_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE @hub@.capability_sets IS 'Distinct sets of capabilities that tasks of a queue require, sorted.';
COMMENT ON COLUMN @hub@.capability_sets.digest IS 'SHA-256 of the tokens: they may be longer than an index entry.';
CREATE UNIQUE INDEX capability_sets_queue ON @hub@.capability_sets (queue, digest);

CREATE TABLE @hub@.queues (
    name          text COLLATE "C" NOT NULL,
    paused        boolean NOT NULL,
    retention_ms  bigint CHECK (retention_ms >= 0),
    created_at_ms bigint  NOT NULL,
    policy        jsonb,
    CONSTRAINT queues_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE @hub@.queues IS 'Queues and their settings. A queue without a row has the defaults.';

CREATE TABLE @hub@.dedup_keys (
    queue            text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    task_id         uuid   NOT NULL,
    window_until_ms bigint NOT NULL,
    CONSTRAINT dedup_keys_pkey PRIMARY KEY (queue, key)
) WITH (fillfactor = 90, vacuum_truncate = off);
COMMENT ON TABLE @hub@.dedup_keys IS 'Keys that make the creation of tasks idempotent, with the time until which each is kept.';

-- ---- claims ----

-- What claim_tasks and complete_and_claim return. Later versions add attributes at the end.

CREATE TYPE @hub@.claimed_task AS (
    task_id             uuid,
    queue               text,
    kind                text,
    payload             jsonb,
    tags                jsonb,
    priority            integer,
    attempt_index       integer,
    attempt_kind        text,
    retry_count         integer,
    reclaim_count       integer,
    replay_count        integer,
    lease_epoch         bigint,
    lease_id            text,
    lease_until_ms      bigint,
    attempt_deadline_ms bigint,
    deadline_ms         bigint,
    checkpoint          jsonb,
    last_failure        jsonb,
    flow_id             uuid,
    flow_key            text,
    upstream            jsonb,
    signals             jsonb
);
COMMENT ON TYPE @hub@.claimed_task IS 'A task that a worker has claimed, with its lease.';
COMMENT ON COLUMN @hub@.claimed_task.task_id IS 'The task.';
COMMENT ON COLUMN @hub@.claimed_task.queue IS 'Its queue.';
COMMENT ON COLUMN @hub@.claimed_task.kind IS 'As given to create_task.';
COMMENT ON COLUMN @hub@.claimed_task.payload IS 'As given to create_task.';
COMMENT ON COLUMN @hub@.claimed_task.tags IS 'As given to create_task.';
COMMENT ON COLUMN @hub@.claimed_task.priority IS 'Its priority.';
COMMENT ON COLUMN @hub@.claimed_task.attempt_index IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN @hub@.claimed_task.attempt_kind IS 'How this lease came about: initial, retry, replay, reclaim, snooze or resume.';
COMMENT ON COLUMN @hub@.claimed_task.retry_count IS 'Retries so far.';
COMMENT ON COLUMN @hub@.claimed_task.reclaim_count IS 'Leases that expired so far.';
COMMENT ON COLUMN @hub@.claimed_task.replay_count IS 'Replays so far.';
COMMENT ON COLUMN @hub@.claimed_task.lease_epoch IS 'Epoch of the lease, an argument of the functions that need a lease.';
COMMENT ON COLUMN @hub@.claimed_task.lease_id IS 'Id of the lease.';
COMMENT ON COLUMN @hub@.claimed_task.lease_until_ms IS 'End of the lease unless it is renewed.';
COMMENT ON COLUMN @hub@.claimed_task.attempt_deadline_ms IS 'Deadline of the attempt and of its leases; null if there is none.';
COMMENT ON COLUMN @hub@.claimed_task.deadline_ms IS 'When the task expires; null if never.';
COMMENT ON COLUMN @hub@.claimed_task.checkpoint IS 'Checkpoint that the last attempt stored with progress_task.';
COMMENT ON COLUMN @hub@.claimed_task.last_failure IS 'Class, message and details of the last failure.';
COMMENT ON COLUMN @hub@.claimed_task.flow_id IS 'Flow of the task; null if it belongs to none.';
COMMENT ON COLUMN @hub@.claimed_task.flow_key IS 'Its key in the flow.';
COMMENT ON COLUMN @hub@.claimed_task.upstream IS 'Results of the tasks of the flow that it depends on; null if there are none.';
COMMENT ON COLUMN @hub@.claimed_task.signals IS 'Signals that ended a suspension of the task; null if there are none.';

-- ---- front door ----

-- What receive and status return. Later versions add attributes at the end.

CREATE TYPE @hub@.received AS (
    id          uuid,
    queue       text,
    kind        text,
    payload     jsonb,
    headers     jsonb,
    attempt     integer,
    lease       text,
    lease_until timestamptz,
    deadline    timestamptz,
    checkpoint  jsonb,
    signals     jsonb,
    upstream    jsonb
);
COMMENT ON TYPE @hub@.received IS 'A task that a worker has received, with its lease.';
COMMENT ON COLUMN @hub@.received.id IS 'The task.';
COMMENT ON COLUMN @hub@.received.queue IS 'Its queue.';
COMMENT ON COLUMN @hub@.received.kind IS 'As given to send; null if none was.';
COMMENT ON COLUMN @hub@.received.payload IS 'As given to send.';
COMMENT ON COLUMN @hub@.received.headers IS 'As given to send.';
COMMENT ON COLUMN @hub@.received.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN @hub@.received.lease IS 'Secret text that extend, complete, fail, release and progress take.';
COMMENT ON COLUMN @hub@.received.lease_until IS 'End of the lease unless it is extended.';
COMMENT ON COLUMN @hub@.received.deadline IS 'Deadline of the attempt and of its leases; null if there is none.';
COMMENT ON COLUMN @hub@.received.checkpoint IS 'Checkpoint that the last attempt stored with progress.';
COMMENT ON COLUMN @hub@.received.signals IS 'Signals that ended a suspension of the task; null if there are none.';
COMMENT ON COLUMN @hub@.received.upstream IS 'Results of the tasks of the flow that it depends on; null if there are none.';

CREATE TYPE @hub@.task_status AS (
    id           uuid,
    queue        text,
    kind         text,
    state        text,
    attempt      integer,
    result       jsonb,
    error        text,
    error_class  text,
    percent      numeric,
    message      text,
    worker       text,
    created_at   timestamptz,
    available_at timestamptz,
    started_at   timestamptz,
    lease_until  timestamptz,
    deadline     timestamptz,
    finished_at  timestamptz
);
COMMENT ON TYPE @hub@.task_status IS 'The state of a task.';
COMMENT ON COLUMN @hub@.task_status.id IS 'The task.';
COMMENT ON COLUMN @hub@.task_status.queue IS 'Its queue.';
COMMENT ON COLUMN @hub@.task_status.kind IS 'As given to send; null if none was.';
COMMENT ON COLUMN @hub@.task_status.state IS 'delayed, ready, active, suspended, blocked, completed, failed, cancelled, expired or skipped.';
COMMENT ON COLUMN @hub@.task_status.attempt IS 'Number of attempts that have begun.';
COMMENT ON COLUMN @hub@.task_status.result IS 'As given to complete.';
COMMENT ON COLUMN @hub@.task_status.error IS 'Message of the last failure, or reason of the cancellation.';
COMMENT ON COLUMN @hub@.task_status.error_class IS 'Class of the last failure; cancelled if the task was cancelled.';
COMMENT ON COLUMN @hub@.task_status.percent IS 'As reported with progress.';
COMMENT ON COLUMN @hub@.task_status.message IS 'As reported with progress.';
COMMENT ON COLUMN @hub@.task_status.worker IS 'Worker that has the lease.';
COMMENT ON COLUMN @hub@.task_status.created_at IS 'When it was sent.';
COMMENT ON COLUMN @hub@.task_status.available_at IS 'Earliest begin of the next attempt; null after the end.';
COMMENT ON COLUMN @hub@.task_status.started_at IS 'When the first attempt began; null before.';
COMMENT ON COLUMN @hub@.task_status.lease_until IS 'End of the lease; null if the task is not leased.';
COMMENT ON COLUMN @hub@.task_status.deadline IS 'When the task expires; null if never.';
COMMENT ON COLUMN @hub@.task_status.finished_at IS 'When the task ended; null before.';

-- ---- suspensions ----

-- Suspensions: what a task without a lease waits for, the points at which signals reach it, and the
-- signals. Their keys begin with the task: a transaction that reads them holds the task.
--
-- A token of a waitpoint is not stored: it is the waitpoint's id, signed with a key of the hub.

CREATE TABLE @hub@.suspensions (
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
COMMENT ON TABLE @hub@.suspensions IS 'Suspensions of tasks, open and closed, with their conditions. Read get_task instead.';
COMMENT ON COLUMN @hub@.suspensions.closed_by IS 'at_once: the condition was met before the task was suspended; end: the task ended meanwhile.';
CREATE UNIQUE INDEX suspensions_key
    ON @hub@.suspensions (task_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX suspensions_timeout
    ON @hub@.suspensions (timeout_at_ms) WHERE closed_at_ms IS NULL AND timeout_at_ms IS NOT NULL;

CREATE TABLE @hub@.waitpoints (
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
COMMENT ON TABLE @hub@.waitpoints IS 'Waitpoints of tasks, to which signals are sent. Read list_waitpoints instead.';
COMMENT ON COLUMN @hub@.waitpoints.suspension_nr IS 'Suspension of the waitpoint; NULL while it is pending, because it was created before the suspension.';
COMMENT ON COLUMN @hub@.waitpoints.expires_at_ms IS 'Until when a pending waitpoint accepts signals.';
COMMENT ON COLUMN @hub@.waitpoints.kid IS 'Id of the key that signed the token.';

CREATE TABLE @hub@.signals (
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
COMMENT ON COLUMN @hub@.signals.suspension_nr IS 'Suspension that the signal reached; NULL while it is stored at a pending waitpoint.';
CREATE UNIQUE INDEX signals_id
    ON @hub@.signals (task_id, waitpoint_id, signal_id);
CREATE UNIQUE INDEX signals_key
    ON @hub@.signals (task_id, waitpoint_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE @hub@.waitpoint_keys (
    kid            text COLLATE "C" NOT NULL,
    signs          boolean NOT NULL,
    created_at_ms  bigint  NOT NULL,
    valid_until_ms bigint,
    secret         bytea   NOT NULL CHECK (pg_catalog.octet_length(secret) >= 32),
    CONSTRAINT waitpoint_keys_pkey PRIMARY KEY (kid)
);
COMMENT ON TABLE @hub@.waitpoint_keys IS 'Secrets that sign the tokens of waitpoints, for the hub''s owner only. Grant nothing on this table.';
COMMENT ON COLUMN @hub@.waitpoint_keys.signs IS 'True for the one key that signs new tokens.';
CREATE UNIQUE INDEX waitpoint_keys_signs ON @hub@.waitpoint_keys (signs) WHERE signs;

-- The first key. gen_random_uuid draws from the server's strong random numbers; three of them hold
-- more than the 256 bits that are kept.
INSERT INTO @hub@.waitpoint_keys (kid, signs, created_at_ms, secret)
SELECT 'k1', true, pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint,
       pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
                         || pg_catalog.uuid_send(pg_catalog.gen_random_uuid()))
 WHERE NOT EXISTS (SELECT 1 FROM @hub@.waitpoint_keys);

-- ---- limits schedules ----

-- Limits of queues, and schedules that create tasks.

CREATE TABLE @hub@.queue_limits (
    queue           text COLLATE "C" NOT NULL,
    concurrency    bigint CHECK (concurrency >= 0),
    rate_per_s     double precision CHECK (rate_per_s > 0),
    burst          double precision NOT NULL CHECK (burst >= 1),
    tokens         double precision NOT NULL CHECK (tokens >= 0),
    refilled_at_ms bigint NOT NULL,
    active         bigint NOT NULL CHECK (active >= 0),
    CONSTRAINT queue_limits_pkey PRIMARY KEY (queue),
    CONSTRAINT queue_limits_some CHECK (concurrency IS NOT NULL OR rate_per_s IS NOT NULL)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.queue_limits IS 'Limits of queues that have one. Claims that add up queue_moves update it; no claim waits for a lock on it.';
COMMENT ON COLUMN @hub@.queue_limits.tokens IS 'Tokens in the bucket at refilled_at_ms.';
COMMENT ON COLUMN @hub@.queue_limits.active IS 'Number of active tasks of the queue, without the changes in queue_moves.';

CREATE TABLE @hub@.queue_moves (
    places bigint NOT NULL,
    at_ms  bigint NOT NULL,
    queue   text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.queue_moves IS 'Places of limited queues that claims have taken (above 0) and ended leases have returned (below 0), until a claim adds them to queue_limits.';
CREATE INDEX queue_moves_queue ON @hub@.queue_moves (queue);
-- Rows have no key, and need none but for logical replication.
ALTER TABLE @hub@.queue_moves REPLICA IDENTITY FULL;

CREATE TABLE @hub@.schedules (
    name          text COLLATE "C" NOT NULL,
    cron          text COLLATE "C" NOT NULL,
    time_zone     text COLLATE "C" NOT NULL,
    catch_up      text COLLATE "C" NOT NULL CHECK (catch_up IN ('one', 'all', 'none')),
    paused        boolean NOT NULL,
    next_due_ms   bigint NOT NULL,
    next_run_ms   bigint NOT NULL,
    last_due_ms   bigint,
    created_at_ms bigint NOT NULL,
    last_error    text,
    task          jsonb  NOT NULL,
    CONSTRAINT schedules_pkey PRIMARY KEY (name)
) WITH (fillfactor = 70);
COMMENT ON TABLE @hub@.schedules IS 'Schedules that create tasks. Read list_schedules instead.';
COMMENT ON COLUMN @hub@.schedules.next_run_ms IS 'When the duty processes the schedule next: next_due_ms, or later after an error.';
CREATE INDEX schedules_due ON @hub@.schedules (next_run_ms) WHERE NOT paused;

-- ---- flows ----

-- Flows: graphs of tasks. An edge says that its downstream task needs the success of its upstream; a group is all edges
-- into one task, with the policy that joins them and the counts of what became of them.
--
-- A transaction that changes a member other than by claim, renewal, progress or priority holds the row of its flow first. So the
-- counts of flows and groups are exact, and edges need no locks of their own.

CREATE TABLE @hub@.flows (
    id                  uuid    NOT NULL,
    graph_revision      bigint  NOT NULL CHECK (graph_revision >= 1),
    member_count        bigint  NOT NULL,
    open_count          bigint  NOT NULL CHECK (open_count BETWEEN 0 AND member_count),
    bad_sink_count      bigint  NOT NULL CHECK (bad_sink_count BETWEEN 0 AND member_count - open_count),
    edge_count          bigint  NOT NULL CHECK (edge_count >= 0),
    created_at_ms       bigint  NOT NULL,
    updated_at_ms       bigint  NOT NULL,
    terminal_at_ms      bigint,
    sealed              boolean NOT NULL,
    struck              boolean NOT NULL CHECK (NOT struck OR (state = 'failed' AND fail_policy = 'fail_fast')),
    state               text COLLATE "C" NOT NULL CHECK (state IN ('open', 'running', 'completed', 'failed', 'cancelled')),
    fail_policy         text COLLATE "C" NOT NULL CHECK (fail_policy IN ('continue', 'fail_fast')),
    cancellation_policy text COLLATE "C" CHECK (cancellation_policy IN ('cancel_all', 'cancel_pending', 'flow_only')),
    kind                text COLLATE "C" NOT NULL,
    cancel_reason       text,
    cancelled_by        text,
    tags                jsonb   NOT NULL,
    CONSTRAINT flows_pkey PRIMARY KEY (id),
    CONSTRAINT flows_sound CHECK ((terminal_at_ms IS NOT NULL) = (state IN ('completed', 'failed', 'cancelled'))
        AND (cancellation_policy IS NOT NULL) = (state = 'cancelled') AND (state = 'open') <= (NOT sealed)
        AND (state IN ('running', 'completed', 'failed')) <= sealed)
) WITH (fillfactor = 70, vacuum_truncate = off);
COMMENT ON TABLE @hub@.flows IS 'Flows and their counts. Read view flow_summary, or get_flow, instead.';
COMMENT ON COLUMN @hub@.flows.open_count IS 'Number of members that have not ended.';
COMMENT ON COLUMN @hub@.flows.bad_sink_count IS 'Number of members without outgoing edges that have ended in another state than completed.';
COMMENT ON COLUMN @hub@.flows.struck IS 'True if fail policy fail_fast has ended the flow and its other members are being cancelled.';
CREATE INDEX flows_terminal_at
    ON @hub@.flows (terminal_at_ms) WHERE terminal_at_ms IS NOT NULL;

CREATE TABLE @hub@.edges (
    flow_id        uuid   NOT NULL,
    downstream_id  uuid   NOT NULL,
    upstream_id    uuid   NOT NULL CHECK (upstream_id <> downstream_id),
    resolved_at_ms bigint,
    state          text COLLATE "C" NOT NULL CHECK (state IN ('unsatisfied', 'satisfied', 'impossible')),
    pass_as        text COLLATE "C",
    CONSTRAINT edges_pkey PRIMARY KEY (flow_id, downstream_id, upstream_id),
    CONSTRAINT edges_sound CHECK ((state = 'unsatisfied') = (resolved_at_ms IS NULL))
) WITH (fillfactor = 80, vacuum_truncate = off);
COMMENT ON TABLE @hub@.edges IS 'Edges of flows: the tasks that a task waits for.';
CREATE INDEX edges_upstream ON @hub@.edges (upstream_id, downstream_id);

CREATE TABLE @hub@.groups (
    downstream_id uuid    NOT NULL,
    flow_id       uuid    NOT NULL,
    closed_at_ms  bigint,
    k             integer NOT NULL CHECK (k >= 0),
    total         integer NOT NULL,
    satisfied     integer NOT NULL CHECK (satisfied >= 0),
    failed        integer NOT NULL CHECK (failed >= 0),
    skipped       integer NOT NULL CHECK (skipped >= 0),
    policy        text COLLATE "C" NOT NULL CHECK (policy IN ('all_of', 'any_of', 'quorum')),
    on_satisfied  text COLLATE "C" CHECK (on_satisfied IN ('cancel_remaining', 'let_run')),
    state         text COLLATE "C" NOT NULL CHECK (state IN ('open', 'satisfied', 'impossible')),
    CONSTRAINT groups_pkey PRIMARY KEY (downstream_id),
    CONSTRAINT groups_sound CHECK (satisfied + failed + skipped <= total AND (state = 'open') = (closed_at_ms IS NULL)
        AND (on_satisfied IS NULL) = (policy = 'all_of') AND (policy = 'quorum') = (k > 0))
) WITH (fillfactor = 80, vacuum_truncate = off);
COMMENT ON TABLE @hub@.groups IS 'Incoming edges of each task taken together: their join, and how many are resolved.';
CREATE INDEX groups_flow ON @hub@.groups (flow_id, downstream_id);

CREATE TABLE @hub@.cascade_queue (
    flow_id        uuid   NOT NULL,
    task_id        uuid   NOT NULL,
    enqueued_at_ms bigint NOT NULL,
    what           text COLLATE "C" NOT NULL CHECK (what IN ('dispatch', 'sibling_cancel', 'fail_fast')),
    CONSTRAINT cascade_queue_pkey PRIMARY KEY (task_id, what)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.cascade_queue IS 'Work that a call left to the duties dispatch_sweep and sibling_cancel, because there was too much of it or a row was locked.';
CREATE INDEX cascade_queue_order ON @hub@.cascade_queue (enqueued_at_ms, task_id);
CREATE INDEX cascade_queue_flow ON @hub@.cascade_queue (flow_id);

CREATE TABLE @hub@.cancel_backlog (
    flow_id             uuid   NOT NULL,
    requested_at_ms     bigint NOT NULL,
    grace_until_ms      bigint NOT NULL,
    requester           text   NOT NULL,
    reason              text   NOT NULL,
    cancellation_policy text COLLATE "C" NOT NULL,
    CONSTRAINT cancel_backlog_pkey PRIMARY KEY (flow_id)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.cancel_backlog IS 'Cancelled flows with members whose workers have not acknowledged the cancellation yet.';
CREATE INDEX cancel_backlog_grace ON @hub@.cancel_backlog (grace_until_ms);

CREATE TABLE @hub@.cancel_backlog_members (
    flow_id         uuid   NOT NULL,
    task_id         uuid   NOT NULL,
    lease_epoch     bigint NOT NULL,
    worker          text COLLATE "C" NOT NULL,
    worker_instance text COLLATE "C" NOT NULL,
    CONSTRAINT cancel_backlog_members_pkey PRIMARY KEY (flow_id, task_id)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.cancel_backlog_members IS 'Members of cancelled flows whose workers have not acknowledged the cancellation yet.';
COMMENT ON COLUMN @hub@.cancel_backlog_members.lease_epoch IS 'Epoch of the lease that was revoked.';

-- ---- statistics per minute ----

CREATE TABLE @hub@.stat_minutes (
    queue        text COLLATE "C" NOT NULL CHECK (queue IN ('orchestrator', 'worker', 'tasks')),
    task_queue   text COLLATE "C" NOT NULL,
    minute_ms    bigint NOT NULL,
    counts       bigint[] NOT NULL,
    wait_buckets integer[] NOT NULL,
    wait_sum_ms  bigint NOT NULL,
    run_buckets  integer[] NOT NULL,
    run_sum_ms   bigint NOT NULL,
    depth        bigint,
    oldest_ms    bigint,
    CONSTRAINT stat_minutes_pkey PRIMARY KEY (queue, task_queue, minute_ms)
);
CREATE INDEX stat_minutes_minute ON @hub@.stat_minutes (minute_ms);
COMMENT ON TABLE @hub@.stat_minutes IS 'What happened in each minute in which something did, as the duty stat_minutes recorded it. Read stat_series instead.';
COMMENT ON COLUMN @hub@.stat_minutes.queue IS 'orchestrator, worker or tasks.';
COMMENT ON COLUMN @hub@.stat_minutes.task_queue IS 'Queue of the tasks; empty: all, and the other queues.';
COMMENT ON COLUMN @hub@.stat_minutes.minute_ms IS 'Begin of the minute in which the row was written: it has what came since the row before.';
COMMENT ON COLUMN @hub@.stat_minutes.counts IS 'created, claimed, completed, failed, retried, cancelled, expired, lost.';
COMMENT ON COLUMN @hub@.stat_minutes.wait_buckets IS 'Durations from ready to leased, by the buckets of view belay.pg_stat_belay_latency.';
COMMENT ON COLUMN @hub@.stat_minutes.wait_sum_ms IS 'Their sum.';
COMMENT ON COLUMN @hub@.stat_minutes.run_buckets IS 'Durations of leases, of tasks those of attempts.';
COMMENT ON COLUMN @hub@.stat_minutes.run_sum_ms IS 'Their sum.';
COMMENT ON COLUMN @hub@.stat_minutes.depth IS 'How much was ready at the end, counted up to 1000; null if that was not looked at.';
COMMENT ON COLUMN @hub@.stat_minutes.oldest_ms IS 'How long the oldest of them had been ready.';

CREATE TABLE @hub@.stat_marks (
    queue         text COLLATE "C" NOT NULL CHECK (queue IN ('orchestrator', 'worker', 'tasks', 'off')),
    task_queue    text COLLATE "C" NOT NULL,
    counted_since bigint NOT NULL,
    numbers       bigint[] NOT NULL,
    CONSTRAINT stat_marks_pkey PRIMARY KEY (queue, task_queue)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.stat_marks IS 'How the counters of shared memory stood when the duty stat_minutes last recorded them.';
COMMENT ON COLUMN @hub@.stat_marks.queue IS 'orchestrator, worker or tasks; off: nothing is recorded.';
COMMENT ON COLUMN @hub@.stat_marks.task_queue IS 'Queue of the tasks; empty: all, and the other queues.';
COMMENT ON COLUMN @hub@.stat_marks.counted_since IS 'Since when the counters counted: they begin anew after a restart or a reset.';
COMMENT ON COLUMN @hub@.stat_marks.numbers IS 'The counters, then buckets and sum of each duration.';
