-- Tasks: create, claim under a lease, renew, complete, fail; operator control; reads.

CREATE OR REPLACE FUNCTION @hub@.create_task(
    p_lane text,
    p_payload jsonb DEFAULT NULL,
    p_task_id uuid DEFAULT NULL,
    p_kind text DEFAULT '',
    p_priority integer DEFAULT 0,
    p_delay_ms bigint DEFAULT 0,
    p_available_at_ms bigint DEFAULT NULL,
    p_deadline_ms bigint DEFAULT NULL,
    p_capabilities text[] DEFAULT '{}',
    p_policy jsonb DEFAULT NULL,
    p_dedup_key text DEFAULT NULL,
    p_dedup_window_ms bigint DEFAULT NULL,
    p_tags jsonb DEFAULT '{}',
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (task_id uuid, state text, created boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'create_task';
COMMENT ON FUNCTION @hub@.create_task(text, jsonb, uuid, text, integer, bigint, bigint, bigint, text[], jsonb, text, bigint, jsonb, bigint) IS
    'Creates a task, claimable at commit, or returns the one that has this id or dedup key.';

CREATE OR REPLACE FUNCTION @hub@.create_tasks(p_tasks jsonb, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (item integer, task_id uuid, state text, created boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'create_tasks';
COMMENT ON FUNCTION @hub@.create_tasks(jsonb, bigint) IS
    'Creates up to 10,000 tasks in one unit; a bad item refuses them all.';

CREATE OR REPLACE FUNCTION @hub@.delete_task(p_task_id uuid)
    RETURNS boolean LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'delete_task';
COMMENT ON FUNCTION @hub@.delete_task(uuid) IS
    'Deletes a task that has ended, with its attempts and its dedup key; false if there is none.';

CREATE OR REPLACE FUNCTION @hub@.claim_tasks(
    p_worker text,
    p_worker_instance text,
    p_lanes text[] DEFAULT NULL,
    p_capabilities text[] DEFAULT '{}',
    p_lease_ms bigint DEFAULT 30000,
    p_max integer DEFAULT 1,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (
    task_id uuid,
    lane text,
    kind text,
    payload jsonb,
    tags jsonb,
    priority integer,
    attempt_index integer,
    attempt_kind text,
    retry_count integer,
    reclaim_count integer,
    replay_count integer,
    lease_epoch bigint,
    lease_id text,
    lease_until_ms bigint,
    attempt_deadline_ms bigint,
    deadline_ms bigint,
    checkpoint jsonb,
    last_failure jsonb,
    flow_id uuid,
    flow_key text,
    upstream jsonb,
    signals jsonb
) LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'claim_tasks';
COMMENT ON FUNCTION @hub@.claim_tasks(text, text, text[], text[], bigint, integer, integer[], bigint) IS
    'Leases the next tasks of these lanes (NULL: all) that the capabilities allow, by priority, then by time. No row: nothing is eligible.';

CREATE OR REPLACE FUNCTION @hub@.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (lease_until_ms bigint, capped boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'renew_task';
COMMENT ON FUNCTION @hub@.renew_task(uuid, bigint, bigint, bigint) IS
    'Moves the deadline of a live lease; capped tells that a deadline of the task cut it.';

CREATE OR REPLACE FUNCTION @hub@.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (task_id uuid, renewed boolean, lease_until_ms bigint, reason text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_tasks';
COMMENT ON FUNCTION @hub@.renew_tasks(uuid[], bigint[], bigint, bigint) IS
    'Moves the deadlines of many leases in one unit. A lost one is reported in its row.';

CREATE OR REPLACE FUNCTION @hub@.progress_task(
    p_task_id uuid,
    p_epoch bigint,
    p_percent numeric DEFAULT NULL,
    p_message text DEFAULT NULL,
    p_checkpoint jsonb DEFAULT NULL,
    p_lease_ms bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (lease_until_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'progress_task';
COMMENT ON FUNCTION @hub@.progress_task(uuid, bigint, numeric, text, jsonb, bigint, bigint) IS
    'Stores percent, message and checkpoint of a leased task, as far as they are given; renews it if p_lease_ms is.';

CREATE OR REPLACE FUNCTION @hub@.complete_task(
    p_task_id uuid,
    p_epoch bigint,
    p_result jsonb DEFAULT NULL,
    p_source text DEFAULT 'lease_holder',
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, task_id uuid, state text, lease_epoch bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'complete_task';
COMMENT ON FUNCTION @hub@.complete_task(uuid, bigint, jsonb, text, bigint) IS
    'Finishes a leased task and stores its result. Repeated by the same lease it is QB001 already_completed.';

CREATE OR REPLACE FUNCTION @hub@.complete_and_claim(
    p_task_id uuid,
    p_epoch bigint,
    p_result jsonb,
    p_worker text,
    p_worker_instance text,
    p_lanes text[] DEFAULT NULL,
    p_capabilities text[] DEFAULT '{}',
    p_lease_ms bigint DEFAULT 30000,
    p_max integer DEFAULT 1,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (
    task_id uuid,
    lane text,
    kind text,
    payload jsonb,
    tags jsonb,
    priority integer,
    attempt_index integer,
    attempt_kind text,
    retry_count integer,
    reclaim_count integer,
    replay_count integer,
    lease_epoch bigint,
    lease_id text,
    lease_until_ms bigint,
    attempt_deadline_ms bigint,
    deadline_ms bigint,
    checkpoint jsonb,
    last_failure jsonb,
    flow_id uuid,
    flow_key text,
    upstream jsonb,
    signals jsonb
) LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'complete_and_claim';
COMMENT ON FUNCTION @hub@.complete_and_claim(uuid, bigint, jsonb, text, text, text[], text[], bigint, integer, integer[], bigint) IS
    'complete_task and claim_tasks in one call. If the completion is refused, or repeated, nothing is claimed.';

CREATE OR REPLACE FUNCTION @hub@.fail_task(
    p_task_id uuid,
    p_epoch bigint,
    p_class text,
    p_message text DEFAULT NULL,
    p_details jsonb DEFAULT NULL,
    p_retry_after_ms bigint DEFAULT NULL,
    p_source text DEFAULT 'lease_holder',
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, state text, available_at_ms bigint, next_attempt_index integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fail_task';
COMMENT ON FUNCTION @hub@.fail_task(uuid, bigint, text, text, jsonb, bigint, text, bigint) IS
    'Ends the attempt of a leased task by a failure: the policy decides whether another follows.';

CREATE OR REPLACE FUNCTION @hub@.delay_task(
    p_task_id uuid,
    p_epoch bigint,
    p_delay_ms bigint,
    p_checkpoint jsonb DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (state text, available_at_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'delay_task';
COMMENT ON FUNCTION @hub@.delay_task(uuid, bigint, bigint, jsonb, bigint) IS
    'Puts a leased task to sleep; its attempt goes on at the next claim.';

CREATE OR REPLACE FUNCTION @hub@.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint DEFAULT 0, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (state text, available_at_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'release_task';
COMMENT ON FUNCTION @hub@.release_task(uuid, bigint, bigint, bigint) IS
    'Gives a leased task back unharmed: no retry and no reclaim is counted.';

CREATE OR REPLACE FUNCTION @hub@.cancel_task(
    p_task_id uuid,
    p_reason text DEFAULT '',
    p_source text DEFAULT 'operator_override',
    p_lease_epoch bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, task_id uuid, public_state text, previous_state text, effective boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'cancel_task';
COMMENT ON FUNCTION @hub@.cancel_task(uuid, text, text, bigint, bigint) IS
    'Cancels a task in whatever state it is; a worker loses its lease. May be repeated.';

CREATE OR REPLACE FUNCTION @hub@.revoke_lease(
    p_task_id uuid,
    p_reason text DEFAULT '',
    p_worker_instance text DEFAULT '',
    p_expected_lease_id text DEFAULT '',
    p_expected_epoch bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, reason text, lease_id text, lease_epoch bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'revoke_lease';
COMMENT ON FUNCTION @hub@.revoke_lease(uuid, text, text, text, bigint, bigint) IS
    'Takes a lease away, if it is still the one that is meant; the same attempt can be claimed at once.';

CREATE OR REPLACE FUNCTION @hub@.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, task_id uuid, old_priority integer, new_priority integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'change_priority';
COMMENT ON FUNCTION @hub@.change_priority(uuid, integer, bigint) IS
    'Gives a task that waits for a worker another priority, 0 to 9000.';

CREATE OR REPLACE FUNCTION @hub@.replay_task(p_task_id uuid, p_cascade boolean DEFAULT false, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, task_id uuid, public_state text, replay_count integer, reopened uuid[], waiting_on uuid[])
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'replay_task';
COMMENT ON FUNCTION @hub@.replay_task(uuid, boolean, bigint) IS
    'Runs a task that has ended once more; its history stays.';

CREATE OR REPLACE FUNCTION @hub@.set_lane(p_lane text, p_settings jsonb)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'set_lane';
COMMENT ON FUNCTION @hub@.set_lane(text, jsonb) IS
    'Changes the settings of a lane that are given: paused, policy, retention_ms, concurrency, rate_per_s, burst. Null restores a default.';

CREATE OR REPLACE FUNCTION @hub@.pause_lane(p_lane text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'pause_lane';
COMMENT ON FUNCTION @hub@.pause_lane(text) IS 'Stops handing out tasks of a lane; running ones go on.';

CREATE OR REPLACE FUNCTION @hub@.resume_lane(p_lane text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'resume_lane';
COMMENT ON FUNCTION @hub@.resume_lane(text) IS 'Hands out tasks of a lane again.';

CREATE OR REPLACE FUNCTION @hub@.get_task(p_task_id uuid)
    RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_task';
COMMENT ON FUNCTION @hub@.get_task(uuid) IS 'All there is to know of a task; NULL if there is none.';

CREATE OR REPLACE FUNCTION @hub@.list_tasks(p_filter jsonb DEFAULT '{}', p_after uuid DEFAULT NULL, p_limit integer DEFAULT 100)
    RETURNS TABLE (task_id uuid, state text, lane text, kind text, priority integer, flow_id uuid, flow_key text,
                   pending_attempt text, attempt_index integer, retry_count integer, reclaim_count integer, replay_count integer,
                   available_at_ms bigint, deadline_ms bigint, worker text, worker_instance text, lease_epoch bigint,
                   lease_until_ms bigint, failure_class text, cancel_reason text, tags jsonb, created_at_ms bigint,
                   updated_at_ms bigint, terminal_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_tasks';
COMMENT ON FUNCTION @hub@.list_tasks(jsonb, uuid, integer) IS 'Tasks by id, page by page.';

CREATE OR REPLACE FUNCTION @hub@.list_expired_leases(
    p_as_of_ms bigint DEFAULT NULL,
    p_lane text DEFAULT NULL,
    p_after_ms bigint DEFAULT NULL,
    p_after_id uuid DEFAULT NULL,
    p_limit integer DEFAULT 1000
) RETURNS TABLE (task_id uuid, lane text, lease_id text, lease_epoch bigint, lease_until_ms bigint, worker text,
                 worker_instance text, attempt_index integer)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_expired_leases';
COMMENT ON FUNCTION @hub@.list_expired_leases(bigint, text, bigint, uuid, integer) IS
    'Active tasks whose lease is over and not settled yet, oldest first, page by page.';

CREATE OR REPLACE FUNCTION @hub@.explain_claim(
    p_task_id uuid,
    p_capabilities text[] DEFAULT NULL,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (reason text, detail jsonb)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'explain_claim';
COMMENT ON FUNCTION @hub@.explain_claim(uuid, text[], integer[], bigint) IS
    'Why a task is not claimed: every reason that holds, the most decisive first; claimable if none does.';

CREATE OR REPLACE FUNCTION @hub@.check_tasks(p_flow_id uuid DEFAULT NULL)
    RETURNS TABLE (object text, problem text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'check_tasks';
COMMENT ON FUNCTION @hub@.check_tasks(uuid) IS
    'Recounts what tasks and attempts say of each other; no row on a healthy hub.';

CREATE OR REPLACE VIEW @hub@.task_states AS
    SELECT t.id AS task_id,
           t.lane,
           t.kind,
           t.state,
           CASE WHEN t.terminal_at_ms IS NOT NULL THEN 'terminal'
                WHEN t.state = 'active' THEN 'active'
                WHEN t.state = 'suspended' THEN 'suspended'
                ELSE 'runnable' END AS lifecycle_phase,
           CASE WHEN t.state <> 'active' THEN 'unowned'
                WHEN t.lease_until_ms > n.ms AND t.lease_epoch >= h.epoch_floor THEN 'leased'
                ELSE 'lease_expired_reclaimable' END AS ownership_state,
           CASE WHEN t.state = 'blocked' THEN 'blocked_by_dependencies'
                WHEN t.state = 'delayed' AND t.available_at_ms > n.ms THEN 'not_eligible_until_time'
                WHEN t.state NOT IN ('delayed', 'ready') THEN 'not_applicable'
                WHEN l.paused THEN 'blocked_by_lane_state'
                WHEN q.used_up THEN 'blocked_by_quota'
                ELSE 'eligible_now' END AS eligibility_state,
           CASE WHEN t.state = 'blocked' THEN 'waiting_children'
                WHEN t.state = 'delayed' AND t.available_at_ms > n.ms THEN 'delayed'
                WHEN t.state NOT IN ('delayed', 'ready') THEN t.state
                WHEN q.used_up AND l.paused IS NOT TRUE THEN 'rate_limited'
                WHEN t.pending_attempt = 'resume' THEN 'resumable'
                ELSE 'waiting' END AS public_state,
           CASE WHEN t.state = 'active' THEN 'running_attempt'
                WHEN t.state = 'skipped' OR (t.terminal_at_ms IS NOT NULL AND t.attempt_index = 0) THEN 'none'
                WHEN t.terminal_at_ms IS NOT NULL THEN 'attempt_terminal'
                WHEN t.state = 'suspended' OR t.pending_attempt IN ('reclaim', 'snooze', 'resume') THEN 'attempt_interrupted'
                WHEN t.pending_attempt = 'initial' THEN 'pending_first_attempt'
                WHEN t.pending_attempt = 'retry' THEN 'pending_retry_attempt'
                ELSE 'pending_replay_attempt' END AS attempt_state,
           CASE WHEN t.state = 'blocked' THEN 'waiting_for_children'
                WHEN t.state = 'delayed' AND t.available_at_ms > n.ms THEN
                    CASE t.pending_attempt WHEN 'retry' THEN 'waiting_for_retry_backoff'
                                           WHEN 'resume' THEN 'waiting_for_resume_delay'
                                           ELSE 'waiting_for_delay' END
                WHEN t.state = 'suspended' THEN COALESCE(s.reason_code, 'waiting_for_signal')
                WHEN t.state NOT IN ('delayed', 'ready') THEN 'none'
                WHEN l.paused THEN 'paused_by_operator'
                WHEN q.used_up THEN 'waiting_for_quota'
                ELSE 'waiting_for_worker' END AS blocking_reason,
           CASE WHEN t.terminal_at_ms IS NULL THEN 'none'
                WHEN t.state = 'completed' THEN 'success'
                ELSE t.state END AS terminal_outcome
      FROM @hub@.tasks AS t
     CROSS JOIN @hub@.belay_hub AS h
     CROSS JOIN (SELECT pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint AS ms) AS n
      LEFT JOIN @hub@.lanes AS l ON l.name = t.lane
      LEFT JOIN LATERAL (
        SELECT x.active - (SELECT pg_catalog.count(*) FROM @hub@.lane_returns AS r WHERE r.lane = x.lane) >= x.concurrency IS TRUE
               OR LEAST(x.burst, x.tokens + GREATEST(0, n.ms - x.refilled_at_ms) * x.rate_per_s / 1000) < 0.999999 IS TRUE AS used_up
          FROM @hub@.lane_limits AS x
         WHERE x.lane = t.lane AND t.state IN ('delayed', 'ready')) AS q ON true
      LEFT JOIN @hub@.suspensions AS s ON t.state = 'suspended' AND s.task_id = t.id AND s.closed_at_ms IS NULL;
COMMENT ON VIEW @hub@.task_states IS 'The state of each task in the words of its parts: phase, owner, eligibility, attempt, reason, outcome.';
COMMENT ON COLUMN @hub@.task_states.task_id IS 'The task.';
COMMENT ON COLUMN @hub@.task_states.lane IS 'Its lane.';
COMMENT ON COLUMN @hub@.task_states.kind IS 'As given to create_task.';
COMMENT ON COLUMN @hub@.task_states.state IS 'The one state that is stored.';
COMMENT ON COLUMN @hub@.task_states.lifecycle_phase IS 'runnable, active, suspended or terminal.';
COMMENT ON COLUMN @hub@.task_states.ownership_state IS 'unowned, leased or lease_expired_reclaimable.';
COMMENT ON COLUMN @hub@.task_states.eligibility_state IS 'eligible_now, or what keeps it from being claimed; not_applicable of a task that does not wait for a worker.';
COMMENT ON COLUMN @hub@.task_states.public_state IS 'The state for people: delayed, waiting, rate_limited, resumable, waiting_children, active, suspended, or its end.';
COMMENT ON COLUMN @hub@.task_states.attempt_state IS 'Whether its attempt is pending, running, interrupted or over.';
COMMENT ON COLUMN @hub@.task_states.blocking_reason IS 'What it waits for; none if it waits for nothing.';
COMMENT ON COLUMN @hub@.task_states.terminal_outcome IS 'success, failed, cancelled, expired, skipped; none before its end.';

CREATE OR REPLACE VIEW @hub@.task_attempts AS
    SELECT a.task_id, a.attempt_index, a.epoch, a.lease_count, a.worker, a.worker_instance, a.kind, a.started_ms, a.ended_ms, a.outcome, a.error
      FROM @hub@.attempts AS a
     UNION ALL
    SELECT t.id AS task_id, t.attempt_index, CASE WHEN t.state = 'active' THEN t.lease_epoch ELSE t.lease_epoch - 1 END AS epoch,
           t.attempt_leases AS lease_count, t.attempt_worker AS worker, t.attempt_worker_instance AS worker_instance,
           t.attempt_kind AS kind, t.attempt_started_ms AS started_ms, NULL::bigint AS ended_ms, NULL::text AS outcome, NULL::jsonb AS error
      FROM @hub@.tasks AS t
     WHERE t.attempt_started_ms IS NOT NULL;
COMMENT ON VIEW @hub@.task_attempts IS 'Attempts of tasks: those that have ended, and the running or paused ones.';
COMMENT ON COLUMN @hub@.task_attempts.task_id IS 'The task.';
COMMENT ON COLUMN @hub@.task_attempts.attempt_index IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN @hub@.task_attempts.epoch IS 'Epoch of its last lease.';
COMMENT ON COLUMN @hub@.task_attempts.lease_count IS 'Leases that it had.';
COMMENT ON COLUMN @hub@.task_attempts.worker IS 'Who had the last one.';
COMMENT ON COLUMN @hub@.task_attempts.worker_instance IS 'Which process had it.';
COMMENT ON COLUMN @hub@.task_attempts.kind IS 'How it began: initial, retry or replay.';
COMMENT ON COLUMN @hub@.task_attempts.started_ms IS 'First claim.';
COMMENT ON COLUMN @hub@.task_attempts.ended_ms IS 'End; null while it runs or pauses.';
COMMENT ON COLUMN @hub@.task_attempts.outcome IS 'How it ended; null while it runs or pauses.';
COMMENT ON COLUMN @hub@.task_attempts.error IS 'Class, message and details of a failure.';

CREATE OR REPLACE VIEW @hub@.lane_depths AS
    SELECT COALESCE(l.name, d.lane) AS lane,
           COALESCE(l.paused, false) AS paused,
           COALESCE(d.ready, 0) AS ready,
           COALESCE(d.delayed, 0) AS delayed,
           COALESCE(d.blocked, 0) AS blocked,
           COALESCE(d.active, 0) AS active,
           COALESCE(d.suspended, 0) AS suspended,
           COALESCE(d.overdue_leases, 0) AS overdue_leases,
           d.oldest_ready_age_ms,
           q.concurrency,
           q.rate_per_s
      FROM @hub@.lanes AS l
      FULL JOIN (
        SELECT t.lane,
               pg_catalog.count(*) FILTER (WHERE t.state = 'ready') AS ready,
               pg_catalog.count(*) FILTER (WHERE t.state = 'delayed') AS delayed,
               pg_catalog.count(*) FILTER (WHERE t.state = 'blocked') AS blocked,
               pg_catalog.count(*) FILTER (WHERE t.state = 'active') AS active,
               pg_catalog.count(*) FILTER (WHERE t.state = 'suspended') AS suspended,
               pg_catalog.count(*) FILTER (WHERE t.state = 'active' AND (t.lease_until_ms <= n.ms OR t.lease_epoch < h.epoch_floor)) AS overdue_leases,
               pg_catalog.max(n.ms - t.available_at_ms) FILTER (WHERE t.state = 'ready') AS oldest_ready_age_ms
          FROM @hub@.tasks AS t
         CROSS JOIN @hub@.belay_hub AS h
         CROSS JOIN (SELECT pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint AS ms) AS n
         WHERE t.terminal_at_ms IS NULL
         GROUP BY t.lane) AS d ON d.lane = l.name
      LEFT JOIN @hub@.lane_limits AS q ON q.lane = COALESCE(l.name, d.lane);
COMMENT ON VIEW @hub@.lane_depths IS 'How many tasks of each lane wait, run or are overdue, and for how long the oldest has been ready.';
COMMENT ON COLUMN @hub@.lane_depths.lane IS 'Name of the lane.';
COMMENT ON COLUMN @hub@.lane_depths.paused IS 'Whether claims pass it over.';
COMMENT ON COLUMN @hub@.lane_depths.ready IS 'Tasks that can be claimed.';
COMMENT ON COLUMN @hub@.lane_depths.delayed IS 'Tasks that wait for their time.';
COMMENT ON COLUMN @hub@.lane_depths.blocked IS 'Members of flows that wait for others.';
COMMENT ON COLUMN @hub@.lane_depths.active IS 'Tasks with a lease.';
COMMENT ON COLUMN @hub@.lane_depths.suspended IS 'Tasks that wait for signals.';
COMMENT ON COLUMN @hub@.lane_depths.overdue_leases IS 'Of the active ones: those whose lease is over.';
COMMENT ON COLUMN @hub@.lane_depths.oldest_ready_age_ms IS 'How long the oldest ready task has been ready; null if there is none.';
COMMENT ON COLUMN @hub@.lane_depths.concurrency IS 'Most tasks that are active at once; null: no limit.';
COMMENT ON COLUMN @hub@.lane_depths.rate_per_s IS 'Most claims in a second; null: no limit.';
