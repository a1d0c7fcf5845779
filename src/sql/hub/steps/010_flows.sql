-- Flows: graphs of tasks. An edge says that its downstream task needs the success of its upstream; a group is all edges
-- into one task, with the policy that joins them and the counts of what became of them.
--
-- Whoever changes a member other than by claim, renewal, progress or priority holds the row of its flow first. So the
-- counts of flows and groups are exact, and edges need no locks of their own.

CREATE TABLE IF NOT EXISTS @hub@.flows (
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
COMMENT ON COLUMN @hub@.flows.open_count IS 'Members that have not ended.';
COMMENT ON COLUMN @hub@.flows.bad_sink_count IS 'Members without outgoing edges that have ended other than completed.';
COMMENT ON COLUMN @hub@.flows.struck IS 'Ended by its fail policy fail_fast; members that are left are being cancelled.';
CREATE INDEX IF NOT EXISTS flows_terminal_at
    ON @hub@.flows (terminal_at_ms) WHERE terminal_at_ms IS NOT NULL;

CREATE TABLE IF NOT EXISTS @hub@.edges (
    flow_id        uuid   NOT NULL,
    downstream_id  uuid   NOT NULL,
    upstream_id    uuid   NOT NULL CHECK (upstream_id <> downstream_id),
    resolved_at_ms bigint,
    state          text COLLATE "C" NOT NULL CHECK (state IN ('unsatisfied', 'satisfied', 'impossible')),
    pass_as        text COLLATE "C",
    CONSTRAINT edges_pkey PRIMARY KEY (flow_id, downstream_id, upstream_id),
    CONSTRAINT edges_sound CHECK ((state = 'unsatisfied') = (resolved_at_ms IS NULL))
) WITH (fillfactor = 80, vacuum_truncate = off);
COMMENT ON TABLE @hub@.edges IS 'What the tasks of flows wait for.';
CREATE INDEX IF NOT EXISTS edges_upstream ON @hub@.edges (upstream_id, downstream_id);

CREATE TABLE IF NOT EXISTS @hub@.groups (
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
COMMENT ON TABLE @hub@.groups IS 'The edges into one task together: how they are joined, and how many have been resolved.';
CREATE INDEX IF NOT EXISTS groups_flow ON @hub@.groups (flow_id, downstream_id);

CREATE TABLE IF NOT EXISTS @hub@.cascade_queue (
    flow_id        uuid   NOT NULL,
    task_id        uuid   NOT NULL,
    enqueued_at_ms bigint NOT NULL,
    what           text COLLATE "C" NOT NULL CHECK (what IN ('dispatch', 'sibling_cancel', 'fail_fast')),
    CONSTRAINT cascade_queue_pkey PRIMARY KEY (task_id, what)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.cascade_queue IS 'What a call left to the duties dispatch_sweep and sibling_cancel, because it was too much or the row was not free.';
CREATE INDEX IF NOT EXISTS cascade_queue_order ON @hub@.cascade_queue (enqueued_at_ms, task_id);
CREATE INDEX IF NOT EXISTS cascade_queue_flow ON @hub@.cascade_queue (flow_id);

CREATE TABLE IF NOT EXISTS @hub@.cancel_backlog (
    flow_id             uuid   NOT NULL,
    requested_at_ms     bigint NOT NULL,
    grace_until_ms      bigint NOT NULL,
    requester           text   NOT NULL,
    reason              text   NOT NULL,
    cancellation_policy text COLLATE "C" NOT NULL,
    CONSTRAINT cancel_backlog_pkey PRIMARY KEY (flow_id)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.cancel_backlog IS 'Cancelled flows whose workers have not all said that they stopped.';
CREATE INDEX IF NOT EXISTS cancel_backlog_grace ON @hub@.cancel_backlog (grace_until_ms);

CREATE TABLE IF NOT EXISTS @hub@.cancel_backlog_members (
    flow_id         uuid   NOT NULL,
    task_id         uuid   NOT NULL,
    lease_epoch     bigint NOT NULL,
    worker          text COLLATE "C" NOT NULL,
    worker_instance text COLLATE "C" NOT NULL,
    CONSTRAINT cancel_backlog_members_pkey PRIMARY KEY (flow_id, task_id)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.cancel_backlog_members IS 'The members whose workers are still to acknowledge the cancellation.';
COMMENT ON COLUMN @hub@.cancel_backlog_members.lease_epoch IS 'Epoch of the lease that was revoked.';
