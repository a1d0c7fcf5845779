-- Settling many leases and fetching or claiming in one call, for workers that run many handlers and for dispatchers.

CREATE OR REPLACE FUNCTION @hub@.settle_and_fetch_work_items(
    p_lock_tokens text[],
    p_outcomes text[] DEFAULT NULL,
    p_completions text[] DEFAULT NULL,
    p_delays_ms bigint[] DEFAULT NULL,
    p_ignore_attempts boolean[] DEFAULT NULL,
    p_reasons text[] DEFAULT NULL,
    p_lock_timeout_ms bigint DEFAULT 30000,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_max_items integer DEFAULT 0,
    p_max_new_sessions integer DEFAULT NULL,
    p_slots integer[] DEFAULT NULL,
    p_prefetch integer DEFAULT 0,
    p_prefetch_threshold integer DEFAULT 1,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (outcome_index integer, error text, reason text, work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 100 AS 'settle_and_fetch_work_items';
COMMENT ON FUNCTION @hub@.settle_and_fetch_work_items(text[], text[], text[], bigint[], boolean[], text[], bigint, text, bigint, text[], text, integer, integer, integer[], integer, integer, bigint) IS
    'Acks or abandons many leases, then leases up to p_max_items activities, and up to p_prefetch more if the queue is long enough, in one transaction. Returns a row per outcome, with error and reason if it was rejected, which does not affect the others; then a row per activity.';

CREATE OR REPLACE FUNCTION @hub@.ack_and_fetch_turns(
    p_lock_tokens text[],
    p_execution_ids bigint[] DEFAULT NULL,
    p_history_deltas jsonb[] DEFAULT NULL,
    p_worker_items jsonb[] DEFAULT NULL,
    p_orchestrator_items jsonb[] DEFAULT NULL,
    p_metadata jsonb[] DEFAULT NULL,
    p_cancelled_activities jsonb[] DEFAULT NULL,
    p_lock_timeout_ms bigint DEFAULT 30000,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_max_turns integer DEFAULT 0,
    p_slots integer[] DEFAULT NULL,
    p_cache_owner text DEFAULT NULL,
    p_names text[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (outcome_index integer, error text, reason text, error_message text,
                 instance_id text, orchestration_name text, orchestration_version text, execution_id bigint,
                 history json, messages json, lock_token text, attempt_count integer, kv_snapshot json,
                 history_after bigint, last_event_id bigint, locked_until bigint)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'ack_and_fetch_turns';
COMMENT ON FUNCTION @hub@.ack_and_fetch_turns(text[], bigint[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], bigint, bigint, bigint, integer, integer[], text, text[], bigint) IS
    'Commits many turns, then leases up to p_max_turns, in one transaction. Returns a row per ack, with error, reason and error_message if it was rejected, which changes nothing of it and does not affect the others; then a row per turn. The history of a turn omits what p_cache_owner has cached.';

CREATE OR REPLACE FUNCTION @hub@.settle_turns_and_work(
    p_lock_tokens text[],
    p_execution_ids bigint[] DEFAULT NULL,
    p_history_deltas jsonb[] DEFAULT NULL,
    p_worker_items jsonb[] DEFAULT NULL,
    p_orchestrator_items jsonb[] DEFAULT NULL,
    p_metadata jsonb[] DEFAULT NULL,
    p_cancelled_activities jsonb[] DEFAULT NULL,
    p_lock_timeout_ms bigint DEFAULT 30000,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_max_turns integer DEFAULT 0,
    p_slots integer[] DEFAULT NULL,
    p_cache_owner text DEFAULT NULL,
    p_names text[] DEFAULT NULL,
    p_work_tokens text[] DEFAULT NULL,
    p_outcomes text[] DEFAULT NULL,
    p_completions text[] DEFAULT NULL,
    p_delays_ms bigint[] DEFAULT NULL,
    p_ignore_attempts boolean[] DEFAULT NULL,
    p_reasons text[] DEFAULT NULL,
    p_owner_id text DEFAULT NULL,
    p_session_lock_timeout_ms bigint DEFAULT NULL,
    p_tag_filter text[] DEFAULT NULL,
    p_tag_mode text DEFAULT 'default_only',
    p_max_items integer DEFAULT 0,
    p_prefetch integer DEFAULT 0,
    p_prefetch_threshold integer DEFAULT 1,
    p_predicted_after bigint[] DEFAULT NULL,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (outcome_index integer, error text, reason text, error_message text,
                 instance_id text, orchestration_name text, orchestration_version text, execution_id bigint,
                 history json, messages json, lock_token text, attempt_count integer, kv_snapshot json,
                 history_after bigint, last_event_id bigint, locked_until bigint,
                 work_item text, work_token text, work_attempt_count integer, work_index integer)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 20 AS 'settle_turns_and_work';
COMMENT ON FUNCTION @hub@.settle_turns_and_work(text[], bigint[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], bigint, bigint, bigint, integer, integer[], text, text[], text[], text[], text[], bigint[], boolean[], text[], text, bigint, text[], text, integer, integer, integer, bigint[], bigint) IS
    'Commits turns as ack_and_fetch_turns and ends leases of activities as settle_and_fetch_work_items, then leases turns and activities, also those that the call itself has made ready, in one transaction. An ack with p_predicted_after is of a turn that was run ahead: its token is that of the activity whose outcome, in the same call, is the only message of the turn. Returns a row per ack, a row per outcome with its work_index, a row per turn, and a row per activity.';

CREATE OR REPLACE FUNCTION @hub@.settle_and_claim_tasks(
    p_task_ids uuid[],
    p_lease_epochs bigint[],
    p_outcomes text[] DEFAULT NULL,
    p_results jsonb[] DEFAULT NULL,
    p_classes text[] DEFAULT NULL,
    p_messages text[] DEFAULT NULL,
    p_details jsonb[] DEFAULT NULL,
    p_delays_ms bigint[] DEFAULT NULL,
    p_checkpoints jsonb[] DEFAULT NULL,
    p_suspensions jsonb[] DEFAULT NULL,
    p_worker text DEFAULT NULL,
    p_worker_instance text DEFAULT NULL,
    p_queues text[] DEFAULT NULL,
    p_capabilities text[] DEFAULT '{}',
    p_lease_ms bigint DEFAULT 30000,
    p_max_items integer DEFAULT 0,
    p_slots integer[] DEFAULT NULL,
    p_prefetch integer DEFAULT 0,
    p_prefetch_threshold integer DEFAULT 1,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (
    outcome_index integer,
    error text,
    reason text,
    result text,
    state text,
    available_at_ms bigint,
    next_attempt_index integer,
    same_result boolean,
    suspension_id uuid,
    waitpoints jsonb,
    task_id uuid,
    queue text,
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
) LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 100 AS 'settle_and_claim_tasks';
COMMENT ON FUNCTION @hub@.settle_and_claim_tasks(uuid[], bigint[], text[], jsonb[], text[], text[], jsonb[], bigint[], jsonb[], jsonb[], text, text, text[], text[], bigint, integer, integer[], integer, integer, bigint) IS
    'Completes, fails, delays, releases or suspends many leased tasks, then claims up to p_max_items, and up to p_prefetch more if the queues are long enough, in one transaction. Returns a row per outcome, with error and reason if it was rejected, which does not affect the others; then a row per claimed task.';
