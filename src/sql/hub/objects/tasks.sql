-- Tasks: create, claim under a lease, renew, complete, fail; operator control; reads.

CREATE OR REPLACE FUNCTION @hub@.create_task(
    p_queue text,
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
    'Creates a task, which can be claimed after the commit, or returns the existing task with this id or dedup key.';

CREATE OR REPLACE FUNCTION @hub@.create_tasks(p_tasks jsonb, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (item integer, task_id uuid, state text, created boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'create_tasks';
COMMENT ON FUNCTION @hub@.create_tasks(jsonb, bigint) IS
    'Creates up to 10,000 tasks. One invalid element rejects the whole call.';

CREATE OR REPLACE FUNCTION @hub@.delete_task(p_task_id uuid)
    RETURNS boolean LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'delete_task';
COMMENT ON FUNCTION @hub@.delete_task(uuid) IS
    'Deletes a task that has ended, with its attempts and its dedup key. Returns false if it does not exist.';

CREATE OR REPLACE FUNCTION @hub@.claim_tasks(
    p_worker text,
    p_worker_instance text,
    p_queues text[] DEFAULT NULL,
    p_capabilities text[] DEFAULT '{}',
    p_lease_ms bigint DEFAULT 30000,
    p_max_items integer DEFAULT 1,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS SETOF @hub@.claimed_task LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'claim_tasks';
COMMENT ON FUNCTION @hub@.claim_tasks(text, text, text[], text[], bigint, integer, integer[], bigint) IS
    'Leases the next tasks of these queues (NULL: all) that the capabilities match, by priority, then by time. No row: no task is ready.';

CREATE OR REPLACE FUNCTION @hub@.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (lease_until_ms bigint, capped boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'renew_task';
COMMENT ON FUNCTION @hub@.renew_task(uuid, bigint, bigint, bigint) IS
    'Moves the deadline of a live lease. capped: a deadline of the task limited it.';

CREATE OR REPLACE FUNCTION @hub@.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (task_id uuid, renewed boolean, lease_until_ms bigint, reason text)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_tasks';
COMMENT ON FUNCTION @hub@.renew_tasks(uuid[], bigint[], bigint, bigint) IS
    'Moves the deadlines of many leases in one call. A lost lease is reported in its row and does not affect the others.';

CREATE OR REPLACE FUNCTION @hub@.progress_task(
    p_task_id uuid,
    p_lease_epoch bigint,
    p_percent numeric DEFAULT NULL,
    p_message text DEFAULT NULL,
    p_checkpoint jsonb DEFAULT NULL,
    p_lease_ms bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (lease_until_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'progress_task';
COMMENT ON FUNCTION @hub@.progress_task(uuid, bigint, numeric, text, jsonb, bigint, bigint) IS
    'Stores percent, message and checkpoint of a leased task, and renews its lease if p_lease_ms is given. Arguments that are NULL change nothing.';

CREATE OR REPLACE FUNCTION @hub@.complete_task(
    p_task_id uuid,
    p_lease_epoch bigint,
    p_result jsonb DEFAULT NULL,
    p_source text DEFAULT 'lease_holder',
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, task_id uuid, state text, lease_epoch bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'complete_task';
COMMENT ON FUNCTION @hub@.complete_task(uuid, bigint, jsonb, text, bigint) IS
    'Completes a leased task and stores its result. A repeated call with the same lease raises QB001 already_completed.';

CREATE OR REPLACE FUNCTION @hub@.complete_and_claim(
    p_task_id uuid,
    p_lease_epoch bigint,
    p_result jsonb,
    p_worker text,
    p_worker_instance text,
    p_queues text[] DEFAULT NULL,
    p_capabilities text[] DEFAULT '{}',
    p_lease_ms bigint DEFAULT 30000,
    p_max_items integer DEFAULT 1,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS SETOF @hub@.claimed_task LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'complete_and_claim';
COMMENT ON FUNCTION @hub@.complete_and_claim(uuid, bigint, jsonb, text, text, text[], text[], bigint, integer, integer[], bigint) IS
    'Calls complete_task and claim_tasks in one transaction. If the completion is rejected or was repeated, no task is claimed.';

CREATE OR REPLACE FUNCTION @hub@.fail_task(
    p_task_id uuid,
    p_lease_epoch bigint,
    p_class text,
    p_message text DEFAULT NULL,
    p_details jsonb DEFAULT NULL,
    p_retry_after_ms bigint DEFAULT NULL,
    p_source text DEFAULT 'lease_holder',
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, state text, available_at_ms bigint, next_attempt_index integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fail_task';
COMMENT ON FUNCTION @hub@.fail_task(uuid, bigint, text, text, jsonb, bigint, text, bigint) IS
    'Ends the attempt of a leased task with a failure. The policy decides whether another attempt follows.';

CREATE OR REPLACE FUNCTION @hub@.delay_task(
    p_task_id uuid,
    p_lease_epoch bigint,
    p_delay_ms bigint,
    p_checkpoint jsonb DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (state text, available_at_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'delay_task';
COMMENT ON FUNCTION @hub@.delay_task(uuid, bigint, bigint, jsonb, bigint) IS
    'Ends a lease and makes the task available again after a delay. The attempt continues at the next claim.';

CREATE OR REPLACE FUNCTION @hub@.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint DEFAULT 0, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (state text, available_at_ms bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'release_task';
COMMENT ON FUNCTION @hub@.release_task(uuid, bigint, bigint, bigint) IS
    'Ends a lease without an outcome; the attempt continues at the next claim. Neither a retry nor a reclaim is counted.';

CREATE OR REPLACE FUNCTION @hub@.cancel_task(
    p_task_id uuid,
    p_reason text DEFAULT '',
    p_source text DEFAULT 'operator_override',
    p_lease_epoch bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, task_id uuid, public_state text, previous_state text, effective boolean)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'cancel_task';
COMMENT ON FUNCTION @hub@.cancel_task(uuid, text, text, bigint, bigint) IS
    'Cancels a task in any state; its worker loses the lease. The call is idempotent.';

CREATE OR REPLACE FUNCTION @hub@.cancel_tasks(
    p_filter jsonb,
    p_reason text DEFAULT '',
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 500,
    p_scan integer DEFAULT 10000,
    p_now_ms bigint DEFAULT NULL
) RETURNS jsonb LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cancel_tasks';
COMMENT ON FUNCTION @hub@.cancel_tasks(jsonb, text, text, text, integer, integer, bigint) IS
    'Cancels one portion of the tasks that match a filter, and says where the next portion begins.';

CREATE OR REPLACE FUNCTION @hub@.revoke_lease(
    p_task_id uuid,
    p_reason text DEFAULT '',
    p_worker_instance text DEFAULT '',
    p_expected_lease_id text DEFAULT '',
    p_expected_lease_epoch bigint DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (result text, reason text, lease_id text, lease_epoch bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'revoke_lease';
COMMENT ON FUNCTION @hub@.revoke_lease(uuid, text, text, text, bigint, bigint) IS
    'Revokes a lease if it is still the given one. The attempt can be claimed again at once.';

CREATE OR REPLACE FUNCTION @hub@.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, task_id uuid, old_priority integer, new_priority integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'change_priority';
COMMENT ON FUNCTION @hub@.change_priority(uuid, integer, bigint) IS
    'Changes the priority, from 0 to 9000, of a task that waits for a worker.';

CREATE OR REPLACE FUNCTION @hub@.replay_task(p_task_id uuid, p_cascade boolean DEFAULT false, p_expected_replay integer DEFAULT NULL, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (result text, task_id uuid, public_state text, replay_count integer, reopened uuid[], waiting_on uuid[])
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'replay_task';
COMMENT ON FUNCTION @hub@.replay_task(uuid, boolean, integer, bigint) IS
    'Runs a task again that has ended. Its attempts are kept.';

CREATE OR REPLACE FUNCTION @hub@.replay_tasks(
    p_filter jsonb,
    p_cascade boolean DEFAULT false,
    p_order text DEFAULT NULL,
    p_after text DEFAULT NULL,
    p_limit integer DEFAULT 500,
    p_scan integer DEFAULT 10000,
    p_now_ms bigint DEFAULT NULL
) RETURNS jsonb LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'replay_tasks';
COMMENT ON FUNCTION @hub@.replay_tasks(jsonb, boolean, text, text, integer, integer, bigint) IS
    'Runs one portion of the ended tasks that match a filter again, and says where the next portion begins.';

CREATE OR REPLACE FUNCTION @hub@.set_queue(p_queue text, p_settings jsonb)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'set_queue';
COMMENT ON FUNCTION @hub@.set_queue(text, jsonb) IS
    'Changes settings of a queue: paused, policy, retention_ms, concurrency, rate_per_s, burst. Settings that are not given stay; null restores the default.';

CREATE OR REPLACE FUNCTION @hub@.pause_queue(p_queue text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'pause_queue';
COMMENT ON FUNCTION @hub@.pause_queue(text) IS 'Pauses a queue: no task is leased. Leased tasks can finish.';

CREATE OR REPLACE FUNCTION @hub@.resume_queue(p_queue text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'resume_queue';
COMMENT ON FUNCTION @hub@.resume_queue(text) IS 'Resumes a paused queue.';

CREATE OR REPLACE FUNCTION @hub@.get_task(p_task_id uuid)
    RETURNS jsonb LANGUAGE belay STABLE PARALLEL UNSAFE AS 'get_task';
COMMENT ON FUNCTION @hub@.get_task(uuid) IS 'Returns the complete state of a task as JSON; NULL if it does not exist.';

CREATE OR REPLACE FUNCTION @hub@.list_tasks(p_filter jsonb DEFAULT '{}', p_after uuid DEFAULT NULL, p_limit integer DEFAULT 100)
    RETURNS TABLE (task_id uuid, state text, queue text, kind text, priority integer, flow_id uuid, flow_key text,
                   pending_attempt text, attempt_index integer, retry_count integer, reclaim_count integer, replay_count integer,
                   available_at_ms bigint, deadline_ms bigint, worker text, worker_instance text, lease_epoch bigint,
                   lease_until_ms bigint, failure_class text, cancel_reason text, tags jsonb, created_at_ms bigint,
                   updated_at_ms bigint, terminal_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_tasks';
COMMENT ON FUNCTION @hub@.list_tasks(jsonb, uuid, integer) IS 'Returns tasks by id, page by page. Reads at most 10,000 tasks; browse_tasks has no such limit.';

CREATE OR REPLACE FUNCTION @hub@.list_expired_leases(
    p_queue text DEFAULT NULL,
    p_after_ms bigint DEFAULT NULL,
    p_after_id uuid DEFAULT NULL,
    p_limit integer DEFAULT 1000,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (task_id uuid, queue text, lease_id text, lease_epoch bigint, lease_until_ms bigint, worker text,
                 worker_instance text, attempt_index integer)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_expired_leases';
COMMENT ON FUNCTION @hub@.list_expired_leases(text, bigint, uuid, integer, bigint) IS
    'Returns active tasks whose lease has expired and was not handled yet, oldest first, page by page.';

CREATE OR REPLACE FUNCTION @hub@.explain_claim(
    p_task_id uuid,
    p_capabilities text[] DEFAULT NULL,
    p_slots integer[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (reason text, detail jsonb)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'explain_claim';
COMMENT ON FUNCTION @hub@.explain_claim(uuid, text[], integer[], bigint) IS
    'Explains why a task is not claimed: all reasons, the most decisive first, or claimable.';

CREATE OR REPLACE FUNCTION @hub@.check_tasks(p_flow_id uuid DEFAULT NULL)
    RETURNS TABLE (object text, problem text)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'check_tasks';
COMMENT ON FUNCTION @hub@.check_tasks(uuid) IS
    'Checks that tasks and attempts are consistent with each other. Returns no row on a healthy hub.';

CREATE OR REPLACE VIEW @hub@.task_states AS
    SELECT t.id AS task_id,
           t.queue,
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
                WHEN l.paused THEN 'blocked_by_queue_state'
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
      LEFT JOIN @hub@.queues AS l ON l.name = t.queue
      LEFT JOIN LATERAL (
        SELECT x.active + m.moved >= x.concurrency IS TRUE
               OR LEAST(x.burst, x.tokens + GREATEST(0, n.ms - x.refilled_at_ms) * x.rate_per_s / 1000 - m.taken) < 0.999999 IS TRUE AS used_up
          FROM @hub@.queue_limits AS x
         CROSS JOIN LATERAL (SELECT COALESCE(pg_catalog.sum(r.places), 0) AS moved,
                                    COALESCE(pg_catalog.sum(r.places) FILTER (WHERE r.places > 0), 0) AS taken
                               FROM @hub@.queue_moves AS r
                              WHERE r.queue = x.queue) AS m
         WHERE x.queue = t.queue AND t.state IN ('delayed', 'ready')) AS q ON true
      LEFT JOIN @hub@.suspensions AS s ON t.state = 'suspended' AND s.task_id = t.id AND s.closed_at_ms IS NULL;
COMMENT ON VIEW @hub@.task_states IS 'The state of each task, split into phase, ownership, eligibility, attempt, reason and outcome.';
COMMENT ON COLUMN @hub@.task_states.task_id IS 'The task.';
COMMENT ON COLUMN @hub@.task_states.queue IS 'Its queue.';
COMMENT ON COLUMN @hub@.task_states.kind IS 'As given to create_task.';
COMMENT ON COLUMN @hub@.task_states.state IS 'Stored state of the task.';
COMMENT ON COLUMN @hub@.task_states.lifecycle_phase IS 'runnable, active, suspended or terminal.';
COMMENT ON COLUMN @hub@.task_states.ownership_state IS 'unowned, leased or lease_expired_reclaimable.';
COMMENT ON COLUMN @hub@.task_states.eligibility_state IS 'eligible_now, or why the task cannot be claimed; not_applicable if it does not wait for a worker.';
COMMENT ON COLUMN @hub@.task_states.public_state IS 'The state for user interfaces: delayed, waiting, rate_limited, resumable, waiting_children, active, suspended, or its end.';
COMMENT ON COLUMN @hub@.task_states.attempt_state IS 'Whether its attempt is pending, running, interrupted or over.';
COMMENT ON COLUMN @hub@.task_states.blocking_reason IS 'Why the task waits; none if it does not wait.';
COMMENT ON COLUMN @hub@.task_states.terminal_outcome IS 'success, failed, cancelled, expired, skipped; none before its end.';

CREATE OR REPLACE VIEW @hub@.task_attempts AS
    SELECT a.task_id, a.attempt_index, a.epoch AS lease_epoch, a.lease_count, a.worker, a.worker_instance, a.kind, a.started_ms, a.ended_ms, a.outcome, a.error
      FROM @hub@.attempts AS a
     UNION ALL
    SELECT t.id AS task_id, t.attempt_index, CASE WHEN t.state = 'active' THEN t.lease_epoch ELSE t.lease_epoch - 1 END AS lease_epoch,
           t.attempt_leases AS lease_count, t.attempt_worker AS worker, t.attempt_worker_instance AS worker_instance,
           t.attempt_kind AS kind, t.attempt_started_ms AS started_ms, t.terminal_at_ms AS ended_ms,
           CASE WHEN t.state = 'completed' THEN 'success' END AS outcome, NULL::jsonb AS error
      FROM @hub@.tasks AS t
     WHERE t.attempt_started_ms IS NOT NULL;
COMMENT ON VIEW @hub@.task_attempts IS 'Attempts of tasks: those that have ended, and the running or paused ones.';
COMMENT ON COLUMN @hub@.task_attempts.task_id IS 'The task.';
COMMENT ON COLUMN @hub@.task_attempts.attempt_index IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN @hub@.task_attempts.lease_epoch IS 'Epoch of the last lease.';
COMMENT ON COLUMN @hub@.task_attempts.lease_count IS 'Number of leases of the attempt.';
COMMENT ON COLUMN @hub@.task_attempts.worker IS 'Worker that had the last lease.';
COMMENT ON COLUMN @hub@.task_attempts.worker_instance IS 'Process that had the lease.';
COMMENT ON COLUMN @hub@.task_attempts.kind IS 'How the attempt began: initial, retry or replay.';
COMMENT ON COLUMN @hub@.task_attempts.started_ms IS 'When the attempt was first claimed.';
COMMENT ON COLUMN @hub@.task_attempts.ended_ms IS 'When the attempt ended; null while it runs or is paused.';
COMMENT ON COLUMN @hub@.task_attempts.outcome IS 'Outcome of the attempt; null while it runs or is paused.';
COMMENT ON COLUMN @hub@.task_attempts.error IS 'Class, message and details of the failure; null if there is none.';
