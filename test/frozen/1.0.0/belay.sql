-- A hub of api belay as version 1.0.0 made it. Written by test/frozen/freeze.sh; do not edit.
--
-- PostgreSQL database dump
--

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: kept; Type: SCHEMA; Schema: -; Owner: upgrade_owner
--

CREATE SCHEMA kept;

ALTER SCHEMA kept OWNER TO upgrade_owner;

--
-- Name: old; Type: SCHEMA; Schema: -; Owner: upgrade_owner
--

CREATE SCHEMA old;

ALTER SCHEMA old OWNER TO upgrade_owner;

--
-- Name: claimed_task; Type: TYPE; Schema: old; Owner: upgrade_owner
--

CREATE TYPE old.claimed_task AS (
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
);

ALTER TYPE old.claimed_task OWNER TO upgrade_owner;

--
-- Name: TYPE claimed_task; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TYPE old.claimed_task IS 'A task that a worker has claimed, with its lease.';

--
-- Name: COLUMN claimed_task.task_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.task_id IS 'The task.';

--
-- Name: COLUMN claimed_task.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.queue IS 'Its queue.';

--
-- Name: COLUMN claimed_task.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.kind IS 'As given to create_task.';

--
-- Name: COLUMN claimed_task.payload; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.payload IS 'As given to create_task.';

--
-- Name: COLUMN claimed_task.tags; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.tags IS 'As given to create_task.';

--
-- Name: COLUMN claimed_task.priority; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.priority IS 'Its priority.';

--
-- Name: COLUMN claimed_task.attempt_index; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.attempt_index IS 'Number of the attempt, from 1.';

--
-- Name: COLUMN claimed_task.attempt_kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.attempt_kind IS 'How this lease came about: initial, retry, replay, reclaim, snooze or resume.';

--
-- Name: COLUMN claimed_task.retry_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.retry_count IS 'Retries so far.';

--
-- Name: COLUMN claimed_task.reclaim_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.reclaim_count IS 'Leases that expired so far.';

--
-- Name: COLUMN claimed_task.replay_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.replay_count IS 'Replays so far.';

--
-- Name: COLUMN claimed_task.lease_epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.lease_epoch IS 'Epoch of the lease, an argument of the functions that need a lease.';

--
-- Name: COLUMN claimed_task.lease_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.lease_id IS 'Id of the lease.';

--
-- Name: COLUMN claimed_task.lease_until_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.lease_until_ms IS 'End of the lease unless it is renewed.';

--
-- Name: COLUMN claimed_task.attempt_deadline_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.attempt_deadline_ms IS 'Deadline of the attempt and of its leases; null if there is none.';

--
-- Name: COLUMN claimed_task.deadline_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.deadline_ms IS 'When the task expires; null if never.';

--
-- Name: COLUMN claimed_task.checkpoint; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.checkpoint IS 'Checkpoint that the last attempt stored with progress_task.';

--
-- Name: COLUMN claimed_task.last_failure; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.last_failure IS 'Class, message and details of the last failure.';

--
-- Name: COLUMN claimed_task.flow_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.flow_id IS 'Flow of the task; null if it belongs to none.';

--
-- Name: COLUMN claimed_task.flow_key; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.flow_key IS 'Its key in the flow.';

--
-- Name: COLUMN claimed_task.upstream; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.upstream IS 'Results of the tasks of the flow that it depends on; null if there are none.';

--
-- Name: COLUMN claimed_task.signals; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.claimed_task.signals IS 'Signals that ended a suspension of the task; null if there are none.';

--
-- Name: received; Type: TYPE; Schema: old; Owner: upgrade_owner
--

CREATE TYPE old.received AS (
	id uuid,
	queue text,
	kind text,
	payload jsonb,
	headers jsonb,
	attempt integer,
	lease text,
	lease_until timestamp with time zone,
	deadline timestamp with time zone,
	checkpoint jsonb,
	signals jsonb,
	upstream jsonb
);

ALTER TYPE old.received OWNER TO upgrade_owner;

--
-- Name: TYPE received; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TYPE old.received IS 'A task that a worker has received, with its lease.';

--
-- Name: COLUMN received.id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.id IS 'The task.';

--
-- Name: COLUMN received.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.queue IS 'Its queue.';

--
-- Name: COLUMN received.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.kind IS 'As given to send; null if none was.';

--
-- Name: COLUMN received.payload; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.payload IS 'As given to send.';

--
-- Name: COLUMN received.headers; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.headers IS 'As given to send.';

--
-- Name: COLUMN received.attempt; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.attempt IS 'Number of the attempt, from 1.';

--
-- Name: COLUMN received.lease; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.lease IS 'Secret text that extend, complete, fail, release and progress take.';

--
-- Name: COLUMN received.lease_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.lease_until IS 'End of the lease unless it is extended.';

--
-- Name: COLUMN received.deadline; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.deadline IS 'Deadline of the attempt and of its leases; null if there is none.';

--
-- Name: COLUMN received.checkpoint; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.checkpoint IS 'Checkpoint that the last attempt stored with progress.';

--
-- Name: COLUMN received.signals; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.signals IS 'Signals that ended a suspension of the task; null if there are none.';

--
-- Name: COLUMN received.upstream; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.received.upstream IS 'Results of the tasks of the flow that it depends on; null if there are none.';

--
-- Name: task_status; Type: TYPE; Schema: old; Owner: upgrade_owner
--

CREATE TYPE old.task_status AS (
	id uuid,
	queue text,
	kind text,
	state text,
	attempt integer,
	result jsonb,
	error text,
	error_class text,
	percent numeric,
	message text,
	worker text,
	created_at timestamp with time zone,
	available_at timestamp with time zone,
	started_at timestamp with time zone,
	lease_until timestamp with time zone,
	deadline timestamp with time zone,
	finished_at timestamp with time zone
);

ALTER TYPE old.task_status OWNER TO upgrade_owner;

--
-- Name: TYPE task_status; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TYPE old.task_status IS 'The state of a task.';

--
-- Name: COLUMN task_status.id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.id IS 'The task.';

--
-- Name: COLUMN task_status.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.queue IS 'Its queue.';

--
-- Name: COLUMN task_status.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.kind IS 'As given to send; null if none was.';

--
-- Name: COLUMN task_status.state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.state IS 'delayed, ready, active, suspended, blocked, completed, failed, cancelled, expired or skipped.';

--
-- Name: COLUMN task_status.attempt; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.attempt IS 'Number of attempts that have begun.';

--
-- Name: COLUMN task_status.result; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.result IS 'As given to complete.';

--
-- Name: COLUMN task_status.error; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.error IS 'Message of the last failure, or reason of the cancellation.';

--
-- Name: COLUMN task_status.error_class; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.error_class IS 'Class of the last failure; cancelled if the task was cancelled.';

--
-- Name: COLUMN task_status.percent; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.percent IS 'As reported with progress.';

--
-- Name: COLUMN task_status.message; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.message IS 'As reported with progress.';

--
-- Name: COLUMN task_status.worker; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.worker IS 'Worker that has the lease.';

--
-- Name: COLUMN task_status.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.created_at IS 'When it was sent.';

--
-- Name: COLUMN task_status.available_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.available_at IS 'Earliest begin of the next attempt; null after the end.';

--
-- Name: COLUMN task_status.started_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.started_at IS 'When the first attempt began; null before.';

--
-- Name: COLUMN task_status.lease_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.lease_until IS 'End of the lease; null if the task is not leased.';

--
-- Name: COLUMN task_status.deadline; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.deadline IS 'When the task expires; null if never.';

--
-- Name: COLUMN task_status.finished_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_status.finished_at IS 'When the task ended; null before.';

--
-- Name: abandon_orchestration_item(text, bigint, boolean, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.abandon_orchestration_item(p_lock_token text, p_delay_ms bigint DEFAULT NULL::bigint, p_ignore_attempt boolean DEFAULT false, p_now_ms bigint DEFAULT NULL::bigint) RETURNS text
    LANGUAGE belay
    AS $$abandon_orchestration_item$$;

ALTER FUNCTION old.abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint) IS 'Ends the lease of a turn without committing it, so that it can be fetched again at once or after a delay. Returns the instance id.';

--
-- Name: abandon_work_item(text, bigint, boolean, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.abandon_work_item(p_lock_token text, p_delay_ms bigint DEFAULT NULL::bigint, p_ignore_attempt boolean DEFAULT false, p_reason text DEFAULT NULL::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$abandon_work_item$$;

ALTER FUNCTION old.abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint) IS 'Ends the lease of an activity without a result, so that it can be fetched again at once or after a delay, with or without counting the attempt. The reason is stored and becomes part of a dead letter.';

--
-- Name: ack_and_fetch_turns(text[], bigint[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], bigint, bigint, bigint, integer, integer[], text, text[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[] DEFAULT NULL::bigint[], p_history_deltas jsonb[] DEFAULT NULL::jsonb[], p_worker_items jsonb[] DEFAULT NULL::jsonb[], p_orchestrator_items jsonb[] DEFAULT NULL::jsonb[], p_metadata jsonb[] DEFAULT NULL::jsonb[], p_cancelled_activities jsonb[] DEFAULT NULL::jsonb[], p_lock_timeout_ms bigint DEFAULT 30000, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint, p_max_turns integer DEFAULT 0, p_slots integer[] DEFAULT NULL::integer[], p_cache_owner text DEFAULT NULL::text, p_names text[] DEFAULT NULL::text[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(outcome_index integer, error text, reason text, error_message text, instance_id text, orchestration_name text, orchestration_version text, execution_id bigint, history json, messages json, lock_token text, attempt_count integer, kv_snapshot json, history_after bigint, last_event_id bigint, locked_until bigint)
    LANGUAGE belay ROWS 10
    AS $$ack_and_fetch_turns$$;

ALTER FUNCTION old.ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint) IS 'Commits many turns, then leases up to p_max_turns, in one transaction. Returns a row per ack, with error, reason and error_message if it was rejected, which changes nothing of it and does not affect the others; then a row per turn. The history of a turn omits what p_cache_owner has cached.';

--
-- Name: ack_and_fetch_work_item(text, text, text, bigint, text, bigint, text[], text, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay ROWS 1
    AS $$ack_and_fetch_work_item$$;

ALTER FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) IS 'Calls ack_worker and fetch_work_item in one transaction. No row: the ack succeeded, and no activity is ready.';

--
-- Name: ack_cancel_member(uuid, uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_cancel_member(p_flow_id uuid, p_task_id uuid) RETURNS void
    LANGUAGE belay
    AS $$ack_cancel_member$$;

ALTER FUNCTION old.ack_cancel_member(p_flow_id uuid, p_task_id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_cancel_member(p_flow_id uuid, p_task_id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_cancel_member(p_flow_id uuid, p_task_id uuid) IS 'Acknowledges that a worker has stopped working on a member of a cancelled flow. A repeated call raises QB001 already_completed.';

--
-- Name: ack_events(text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$ack_events$$;

ALTER FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_events(p_subscription text, p_upto text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) IS 'Marks the leased events up to this one as read. An ack of the last one ends the lease.';

--
-- Name: ack_orchestration_item(text, bigint, jsonb, jsonb, jsonb, jsonb, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb DEFAULT '[]'::jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$ack_orchestration_item$$;

ALTER FUNCTION old.ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint) IS 'Commits a turn atomically: events, activities, messages, status, key/value state. A rejected ack changes nothing and keeps the lease.';

--
-- Name: ack_worker(text, text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_worker(p_lock_token text, p_instance_id text DEFAULT NULL::text, p_completion_json text DEFAULT NULL::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$ack_worker$$;

ALTER FUNCTION old.ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint) IS 'Completes a leased activity and sends its completion message, if one is given, in the same transaction.';

--
-- Name: ack_workers(jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(index integer, lock_token text, acked boolean, error text)
    LANGUAGE belay
    AS $$ack_workers$$;

ALTER FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_workers(p_acks jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) IS 'Completes many leased activities in one call. A lost lease is reported in its row and does not affect the others.';

--
-- Name: acquire_slots(text, text, integer, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.acquire_slots(p_owner_id text, p_queue text, p_slots integer DEFAULT NULL::integer, p_lease_ms bigint DEFAULT 30000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS integer[]
    LANGUAGE belay
    AS $$acquire_slots$$;

ALTER FUNCTION old.acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) IS 'Acquires or renews the caller''s even share of the slots of a queue (orchestrator, worker). A caller keeps its slots where possible.';

--
-- Name: add_edge(uuid, uuid, uuid, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text DEFAULT NULL::text, p_expected_revision bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, edge_state text, downstream_state text, unsatisfied integer, graph_revision bigint)
    LANGUAGE belay ROWS 1
    AS $$add_edge$$;

ALTER FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint) IS 'Adds an edge to a flow that is not sealed: one task waits for another.';

--
-- Name: add_task_to_flow(uuid, jsonb, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, state text, graph_revision bigint, node_count bigint)
    LANGUAGE belay ROWS 1
    AS $$add_task_to_flow$$;

ALTER FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint) IS 'Adds a new task with its incoming edges, or an existing task, to a flow that is not sealed.';

--
-- Name: append_history(text, bigint, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) RETURNS void
    LANGUAGE belay
    AS $$append_history$$;

ALTER FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION append_history(p_instance_id text, p_execution_id bigint, p_events jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) IS 'Appends events to a history outside of a turn.';

--
-- Name: approve_task(uuid, uuid, text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, effect text, state text)
    LANGUAGE belay ROWS 1
    AS $$approve_task$$;

ALTER FUNCTION old.approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint) IS 'Sends a named signal to a waitpoint as an operator, without its token.';

--
-- Name: await(text[], interval, text, text); Type: PROCEDURE; Schema: old; Owner: upgrade_owner
--

CREATE PROCEDURE old.await(IN queues text[], IN timeout interval DEFAULT '00:00:30'::interval, INOUT queue text DEFAULT NULL::text, INOUT reason text DEFAULT NULL::text)
    LANGUAGE belay
    AS $$await$$;

ALTER PROCEDURE old.await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text) OWNER TO upgrade_owner;

--
-- Name: PROCEDURE await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON PROCEDURE old.await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text) IS 'Waits until one of the queues may have a task, at most for the timeout. Holds no transaction, snapshot or lock while it waits.';

--
-- Name: await(text, interval, text, text); Type: PROCEDURE; Schema: old; Owner: upgrade_owner
--

CREATE PROCEDURE old.await(IN queues text, IN timeout interval DEFAULT '00:00:30'::interval, INOUT queue text DEFAULT NULL::text, INOUT reason text DEFAULT NULL::text)
    LANGUAGE belay
    AS $$await_one_queue$$;

ALTER PROCEDURE old.await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text) OWNER TO upgrade_owner;

--
-- Name: PROCEDURE await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON PROCEDURE old.await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text) IS 'Waits until one of the queues may have a task, at most for the timeout. Holds no transaction, snapshot or lock while it waits.';

--
-- Name: await_result(text, interval, text, jsonb); Type: PROCEDURE; Schema: old; Owner: upgrade_owner
--

CREATE PROCEDURE old.await_result(IN id text, IN timeout interval DEFAULT '00:00:30'::interval, INOUT state text DEFAULT NULL::text, INOUT result jsonb DEFAULT NULL::jsonb)
    LANGUAGE belay
    AS $$await_result_text$$;

ALTER PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) OWNER TO upgrade_owner;

--
-- Name: PROCEDURE await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) IS 'Waits until a task or an orchestration has ended, at most for the timeout, and returns its state and result. Holds no transaction, snapshot or lock while it waits.';

--
-- Name: await_result(uuid, interval, text, jsonb); Type: PROCEDURE; Schema: old; Owner: upgrade_owner
--

CREATE PROCEDURE old.await_result(IN id uuid, IN timeout interval DEFAULT '00:00:30'::interval, INOUT state text DEFAULT NULL::text, INOUT result jsonb DEFAULT NULL::jsonb)
    LANGUAGE belay
    AS $$await_result$$;

ALTER PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) OWNER TO upgrade_owner;

--
-- Name: PROCEDURE await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) IS 'Waits until a task or an orchestration has ended, at most for the timeout, and returns its state and result. Holds no transaction, snapshot or lock while it waits.';

--
-- Name: browse_dead_letters(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_dead_letters(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_dead_letters$$;

ALTER FUNCTION old.browse_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of dead letters by id, and reads at most p_scan rows.';

--
-- Name: browse_events(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_events(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_events$$;

ALTER FUNCTION old.browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of events without a subscription. It moves no position and does not delay retention. Events behind an open transaction are not returned.';

--
-- Name: browse_flows(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_flows(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_flows$$;

ALTER FUNCTION old.browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of flows in the order of one index, and reads at most p_scan rows.';

--
-- Name: browse_history(text, bigint, jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_history(p_instance_id text, p_execution_id bigint DEFAULT NULL::bigint, p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_history$$;

ALTER FUNCTION old.browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of the history of an execution, forwards or backwards.';

--
-- Name: browse_instances(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_instances(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_instances$$;

ALTER FUNCTION old.browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of instances in the order of one index, and reads at most p_scan rows.';

--
-- Name: browse_messages(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_messages(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_messages$$;

ALTER FUNCTION old.browse_messages(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_messages(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_messages(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of the orchestrator queue, and reads at most p_scan rows.';

--
-- Name: browse_tasks(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_tasks(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_tasks$$;

ALTER FUNCTION old.browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of tasks in the order of one index, and reads at most p_scan rows.';

--
-- Name: browse_work_items(jsonb, text, text, integer, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.browse_work_items(p_filter jsonb DEFAULT '{}'::jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50, p_scan integer DEFAULT 10000, p_preview integer DEFAULT 200) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$browse_work_items$$;

ALTER FUNCTION old.browse_work_items(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION browse_work_items(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.browse_work_items(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) IS 'Returns a page of the worker queue, without tokens, and reads at most p_scan rows.';

--
-- Name: cancel(uuid, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel(id uuid, reason text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE belay
    AS $$cancel$$;

ALTER FUNCTION old.cancel(id uuid, reason text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel(id uuid, reason text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel(id uuid, reason text) IS 'Cancels a task; its worker loses the lease. Returns false if the task has already ended.';

--
-- Name: cancel_activities(jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel_activities(p_cancelled_activities jsonb) RETURNS bigint
    LANGUAGE belay
    AS $$cancel_activities$$;

ALTER FUNCTION old.cancel_activities(p_cancelled_activities jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel_activities(p_cancelled_activities jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) IS 'Deletes activities by instance, execution_id and activity_id, whether leased or not, and returns their number. Their workers get QB001.';

--
-- Name: cancel_flow(uuid, text, text, bigint, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel_flow(p_flow_id uuid, p_reason text DEFAULT ''::text, p_policy text DEFAULT 'cancel_all'::text, p_grace_ms bigint DEFAULT 30000, p_requester text DEFAULT ''::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, cancellation_policy text, reason text, member_count bigint, member_ids uuid[])
    LANGUAGE belay ROWS 1
    AS $$cancel_flow$$;

ALTER FUNCTION old.cancel_flow(p_flow_id uuid, p_reason text, p_policy text, p_grace_ms bigint, p_requester text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel_flow(p_flow_id uuid, p_reason text, p_policy text, p_grace_ms bigint, p_requester text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel_flow(p_flow_id uuid, p_reason text, p_policy text, p_grace_ms bigint, p_requester text, p_now_ms bigint) IS 'Cancels a flow and, depending on the policy (cancel_all, cancel_pending or flow_only), its members. Leases are revoked at once.';

--
-- Name: cancel_instance(text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel_instance(p_instance_id text, p_reason text DEFAULT ''::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$cancel_instance$$;

ALTER FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) IS 'Requests the cancellation of an instance.';

--
-- Name: cancel_instances(jsonb, text, text, text, integer, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel_instances(p_filter jsonb, p_reason text DEFAULT ''::text, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 500, p_scan integer DEFAULT 10000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS jsonb
    LANGUAGE belay
    AS $$cancel_instances$$;

ALTER FUNCTION old.cancel_instances(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel_instances(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel_instances(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) IS 'Requests the cancellation of one portion of the running instances that match a filter, and says where the next portion begins.';

--
-- Name: cancel_task(uuid, text, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel_task(p_task_id uuid, p_reason text DEFAULT ''::text, p_source text DEFAULT 'operator_override'::text, p_lease_epoch bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, public_state text, previous_state text, effective boolean)
    LANGUAGE belay ROWS 1
    AS $$cancel_task$$;

ALTER FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) IS 'Cancels a task in any state; its worker loses the lease. The call is idempotent.';

--
-- Name: cancel_tasks(jsonb, text, text, text, integer, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cancel_tasks(p_filter jsonb, p_reason text DEFAULT ''::text, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 500, p_scan integer DEFAULT 10000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS jsonb
    LANGUAGE belay
    AS $$cancel_tasks$$;

ALTER FUNCTION old.cancel_tasks(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cancel_tasks(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cancel_tasks(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) IS 'Cancels one portion of the tasks that match a filter, and says where the next portion begins.';

--
-- Name: change_priority(uuid, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, old_priority integer, new_priority integer)
    LANGUAGE belay ROWS 1
    AS $$change_priority$$;

ALTER FUNCTION old.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint) IS 'Changes the priority, from 0 to 9000, of a task that waits for a worker.';

--
-- Name: check_tasks(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.check_tasks(p_flow_id uuid DEFAULT NULL::uuid) RETURNS TABLE(object text, problem text)
    LANGUAGE belay STABLE
    AS $$check_tasks$$;

ALTER FUNCTION old.check_tasks(p_flow_id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION check_tasks(p_flow_id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.check_tasks(p_flow_id uuid) IS 'Checks that tasks and attempts are consistent with each other. Returns no row on a healthy hub.';

--
-- Name: claim_tasks(text, text, text[], text[], bigint, integer, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_queues text[] DEFAULT NULL::text[], p_capabilities text[] DEFAULT '{}'::text[], p_lease_ms bigint DEFAULT 30000, p_max_items integer DEFAULT 1, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS SETOF old.claimed_task
    LANGUAGE belay ROWS 10
    AS $$claim_tasks$$;

ALTER FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) IS 'Leases the next tasks of these queues (NULL: all) that the capabilities match, by priority, then by time. No row: no task is ready.';

--
-- Name: cleanup_orphaned_sessions(bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE belay
    AS $$cleanup_orphaned_sessions$$;

ALTER FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cleanup_orphaned_sessions(p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) IS 'Deletes up to 1000 expired sessions without activities and returns their number.';

--
-- Name: complete(text, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete(lease text, result jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE belay
    AS $$complete$$;

ALTER FUNCTION old.complete(lease text, result jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete(lease text, result jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete(lease text, result jsonb) IS 'Completes a task and stores its result. A repeated call with the same lease raises QB001 already_completed.';

--
-- Name: complete_and_claim(uuid, bigint, jsonb, text, text, text[], text[], bigint, integer, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[] DEFAULT NULL::text[], p_capabilities text[] DEFAULT '{}'::text[], p_lease_ms bigint DEFAULT 30000, p_max_items integer DEFAULT 1, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS SETOF old.claimed_task
    LANGUAGE belay ROWS 10
    AS $$complete_and_claim$$;

ALTER FUNCTION old.complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) IS 'Calls complete_task and claim_tasks in one transaction. If the completion is rejected or was repeated, no task is claimed.';

--
-- Name: complete_and_receive(text, jsonb, text[], integer, interval, text, text[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete_and_receive(lease text, result jsonb, queues text[], max integer DEFAULT 1, lease_for interval DEFAULT '00:00:30'::interval, worker text DEFAULT NULL::text, capabilities text[] DEFAULT '{}'::text[]) RETURNS SETOF old.received
    LANGUAGE belay ROWS 10
    AS $$complete_and_receive$$;

ALTER FUNCTION old.complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]) IS 'Calls complete and receive in one transaction. If the completion is rejected, no task is received.';

--
-- Name: complete_and_receive(text, jsonb, text, integer, interval, text, text[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete_and_receive(lease text, result jsonb, queues text, max integer DEFAULT 1, lease_for interval DEFAULT '00:00:30'::interval, worker text DEFAULT NULL::text, capabilities text[] DEFAULT '{}'::text[]) RETURNS SETOF old.received
    LANGUAGE belay ROWS 10
    AS $$complete_and_receive_one_queue$$;

ALTER FUNCTION old.complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]) IS 'Calls complete and receive in one transaction. If the completion is rejected, no task is received.';

--
-- Name: complete_task(uuid, bigint, jsonb, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb DEFAULT NULL::jsonb, p_source text DEFAULT 'lease_holder'::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, state text, lease_epoch bigint)
    LANGUAGE belay ROWS 1
    AS $$complete_task$$;

ALTER FUNCTION old.complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) IS 'Completes a leased task and stores its result. A repeated call with the same lease raises QB001 already_completed.';

--
-- Name: create_flow(jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(flow_id uuid, state text, graph_revision bigint, created boolean, task_ids jsonb)
    LANGUAGE belay ROWS 1
    AS $$create_flow$$;

ALTER FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_flow(p_flow jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint) IS 'Creates a flow with its tasks, edges and joins, or returns the existing flow with this id.';

--
-- Name: create_schedule(text, text, jsonb, text, text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text DEFAULT 'UTC'::text, p_catch_up text DEFAULT 'one'::text, p_if_exists text DEFAULT 'replace'::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE belay
    AS $$create_schedule$$;

ALTER FUNCTION old.create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text, p_catch_up text, p_if_exists text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text, p_catch_up text, p_if_exists text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text, p_catch_up text, p_if_exists text, p_now_ms bigint) IS 'Creates a schedule, or replaces the one of this name: whenever the five cron fields match the local time of the time zone, it creates a task from p_task, an item of create_tasks. Returns the next due time.';

--
-- Name: create_subscription(text, text[], text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_subscription(p_subscription text, p_topics text[] DEFAULT NULL::text[], p_from text DEFAULT 'now'::text) RETURNS void
    LANGUAGE belay
    AS $$create_subscription$$;

ALTER FUNCTION old.create_subscription(p_subscription text, p_topics text[], p_from text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_subscription(p_subscription text, p_topics text[], p_from text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_subscription(p_subscription text, p_topics text[], p_from text) IS 'Creates a subscription to the events of these topics (NULL: all). It begins now, at the oldest event that is stored, or at a position (upto) of another subscription.';

--
-- Name: create_task(text, jsonb, uuid, text, integer, bigint, bigint, bigint, text[], jsonb, text, bigint, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_task(p_queue text, p_payload jsonb DEFAULT NULL::jsonb, p_task_id uuid DEFAULT NULL::uuid, p_kind text DEFAULT ''::text, p_priority integer DEFAULT 0, p_delay_ms bigint DEFAULT 0, p_available_at_ms bigint DEFAULT NULL::bigint, p_deadline_ms bigint DEFAULT NULL::bigint, p_capabilities text[] DEFAULT '{}'::text[], p_policy jsonb DEFAULT NULL::jsonb, p_dedup_key text DEFAULT NULL::text, p_dedup_window_ms bigint DEFAULT NULL::bigint, p_tags jsonb DEFAULT '{}'::jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, state text, created boolean)
    LANGUAGE belay ROWS 1
    AS $$create_task$$;

ALTER FUNCTION old.create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) IS 'Creates a task, which can be claimed after the commit, or returns the existing task with this id or dedup key.';

--
-- Name: create_tasks(jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(item integer, task_id uuid, state text, created boolean)
    LANGUAGE belay
    AS $$create_tasks$$;

ALTER FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_tasks(p_tasks jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) IS 'Creates up to 10,000 tasks. One invalid element rejects the whole call.';

--
-- Name: create_waitpoint(uuid, bigint, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(waitpoint_id uuid, token text)
    LANGUAGE belay ROWS 1
    AS $$create_waitpoint$$;

ALTER FUNCTION old.create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint) IS 'Creates a waitpoint before a suspension. Signals that arrive early are stored until suspend_task uses the waitpoint.';

--
-- Name: delay_task(uuid, bigint, bigint, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb DEFAULT NULL::jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, available_at_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$delay_task$$;

ALTER FUNCTION old.delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) IS 'Ends a lease and makes the task available again after a delay. The attempt continues at the next claim.';

--
-- Name: delete_flow(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delete_flow(p_flow_id uuid) RETURNS boolean
    LANGUAGE belay
    AS $$delete_flow$$;

ALTER FUNCTION old.delete_flow(p_flow_id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delete_flow(p_flow_id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delete_flow(p_flow_id uuid) IS 'Deletes a flow that has ended, with its members, edges and history. Returns false if it does not exist.';

--
-- Name: delete_instance(text, boolean); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delete_instance(p_instance_id text, p_force boolean DEFAULT false) RETURNS TABLE(instances_deleted bigint, executions_deleted bigint, events_deleted bigint, queue_messages_deleted bigint)
    LANGUAGE belay ROWS 1
    AS $$delete_instance$$;

ALTER FUNCTION old.delete_instance(p_instance_id text, p_force boolean) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delete_instance(p_instance_id text, p_force boolean); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delete_instance(p_instance_id text, p_force boolean) IS 'Deletes a root instance with all its descendants. Running instances are deleted only with p_force.';

--
-- Name: delete_instances_atomic(text[], boolean); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delete_instances_atomic(p_instance_ids text[], p_force boolean DEFAULT false) RETURNS TABLE(instances_deleted bigint, executions_deleted bigint, events_deleted bigint, queue_messages_deleted bigint)
    LANGUAGE belay ROWS 1
    AS $$delete_instances_atomic$$;

ALTER FUNCTION old.delete_instances_atomic(p_instance_ids text[], p_force boolean) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delete_instances_atomic(p_instance_ids text[], p_force boolean); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delete_instances_atomic(p_instance_ids text[], p_force boolean) IS 'Deletes exactly these instances, all or none. The call is rejected if it would leave a child without its parent.';

--
-- Name: delete_instances_bulk(jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delete_instances_bulk(p_filter jsonb) RETURNS TABLE(instances_deleted bigint, executions_deleted bigint, events_deleted bigint, queue_messages_deleted bigint)
    LANGUAGE belay ROWS 1
    AS $$delete_instances_bulk$$;

ALTER FUNCTION old.delete_instances_bulk(p_filter jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delete_instances_bulk(p_filter jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delete_instances_bulk(p_filter jsonb) IS 'Deletes root instances that have ended, with their descendants, oldest first. Filter: {instance_ids?, completed_before?, limit?}; {} selects all.';

--
-- Name: delete_task(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delete_task(p_task_id uuid) RETURNS boolean
    LANGUAGE belay
    AS $$delete_task$$;

ALTER FUNCTION old.delete_task(p_task_id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delete_task(p_task_id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delete_task(p_task_id uuid) IS 'Deletes a task that has ended, with its attempts and its dedup key. Returns false if it does not exist.';

--
-- Name: deliver_signal(uuid, uuid, text, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, effect text, state text)
    LANGUAGE belay ROWS 1
    AS $$deliver_signal$$;

ALTER FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint) IS 'Sends a signal to a waitpoint, authorized by the waitpoint''s token. The task resumes if its condition is met.';

--
-- Name: discard_dead_letter(bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.discard_dead_letter(p_id bigint) RETURNS void
    LANGUAGE belay
    AS $$discard_dead_letter$$;

ALTER FUNCTION old.discard_dead_letter(p_id bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION discard_dead_letter(p_id bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.discard_dead_letter(p_id bigint) IS 'Deletes a dead letter permanently.';

--
-- Name: discard_dead_letters(jsonb, text, text, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.discard_dead_letters(p_filter jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 500, p_scan integer DEFAULT 10000) RETURNS jsonb
    LANGUAGE belay
    AS $$discard_dead_letters$$;

ALTER FUNCTION old.discard_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION discard_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.discard_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) IS 'Deletes one portion of the dead letters that match a filter, and says where the next portion begins.';

--
-- Name: drop_schedule(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.drop_schedule(p_name text) RETURNS void
    LANGUAGE belay
    AS $$drop_schedule$$;

ALTER FUNCTION old.drop_schedule(p_name text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION drop_schedule(p_name text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.drop_schedule(p_name text) IS 'Removes a schedule; the tasks that it has created stay.';

--
-- Name: drop_subscription(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.drop_subscription(p_subscription text) RETURNS void
    LANGUAGE belay
    AS $$drop_subscription$$;

ALTER FUNCTION old.drop_subscription(p_subscription text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION drop_subscription(p_subscription text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.drop_subscription(p_subscription text) IS 'Drops a subscription and its position.';

--
-- Name: enqueue_orchestrator_items(jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE belay
    AS $$enqueue_orchestrator_items$$;

ALTER FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) IS 'Sends up to 10,000 messages in one call and returns their number.';

--
-- Name: enqueue_orchestrator_work(text, text, timestamp with time zone, text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_orchestration_name text DEFAULT NULL::text, p_orchestration_version text DEFAULT NULL::text, p_execution_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$enqueue_orchestrator_work$$;

ALTER FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint) IS 'Sends one message to an instance, which need not exist. The last three arguments are ignored.';

--
-- Name: enqueue_worker_items(jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE belay
    AS $$enqueue_worker_items$$;

ALTER FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION enqueue_worker_items(p_items jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) IS 'Enqueues up to 10,000 activities in one call and returns their number.';

--
-- Name: enqueue_worker_work(text, text, bigint, bigint, text, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text DEFAULT NULL::text, p_execution_id bigint DEFAULT NULL::bigint, p_activity_id bigint DEFAULT NULL::bigint, p_session_id text DEFAULT NULL::text, p_tag text DEFAULT NULL::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$enqueue_worker_work$$;

ALTER FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint) IS 'Enqueues one activity, which can be fetched after the commit. Arguments that are NULL are taken from the item.';

--
-- Name: explain_claim(uuid, text[], integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[] DEFAULT NULL::text[], p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(reason text, detail jsonb)
    LANGUAGE belay STABLE
    AS $$explain_claim$$;

ALTER FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) IS 'Explains why a task is not claimed: all reasons, the most decisive first, or claimable.';

--
-- Name: explain_fetch(text, bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.explain_fetch(p_instance_id text, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(reason text, detail text, until_at timestamp with time zone)
    LANGUAGE belay STABLE ROWS 3
    AS $$explain_fetch$$;

ALTER FUNCTION old.explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint) IS 'Explains why an instance is not fetched, one row per reason. No row: it can be fetched now.';

--
-- Name: explain_waits(text, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.explain_waits(p_instance_id text, p_limit integer DEFAULT 100, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(reason text, detail text, until_at timestamp with time zone)
    LANGUAGE belay STABLE ROWS 3
    AS $$explain_waits$$;

ALTER FUNCTION old.explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint) IS 'Returns what an instance waits for: activities, timers, children and events.';

--
-- Name: explain_work_item(bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.explain_work_item(p_id bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(reason text, detail text, until_at timestamp with time zone)
    LANGUAGE belay STABLE ROWS 2
    AS $$explain_work_item$$;

ALTER FUNCTION old.explain_work_item(p_id bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION explain_work_item(p_id bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.explain_work_item(p_id bigint, p_now_ms bigint) IS 'Explains why a work item is not fetched: all reasons, or fetchable or tag_needed. The call scans the queue.';

--
-- Name: extend(text, interval); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.extend(lease text, by interval DEFAULT '00:00:30'::interval) RETURNS timestamp with time zone
    LANGUAGE belay
    AS $$extend$$;

ALTER FUNCTION old.extend(lease text, by interval) OWNER TO upgrade_owner;

--
-- Name: FUNCTION extend(lease text, by interval); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.extend(lease text, by interval) IS 'Heartbeat: moves the end of a lease to now + by and returns it. The end never moves backwards, and never exceeds a deadline of the task.';

--
-- Name: fail(text, text, interval, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fail(lease text, error text, retry_in interval DEFAULT NULL::interval, class text DEFAULT 'transient'::text) RETURNS timestamp with time zone
    LANGUAGE belay
    AS $$fail$$;

ALTER FUNCTION old.fail(lease text, error text, retry_in interval, class text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fail(lease text, error text, retry_in interval, class text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fail(lease text, error text, retry_in interval, class text) IS 'Ends an attempt with a failure and returns when the next attempt can begin. NULL: there is none, the task has failed permanently.';

--
-- Name: fail_task(uuid, bigint, text, text, jsonb, bigint, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text DEFAULT NULL::text, p_details jsonb DEFAULT NULL::jsonb, p_retry_after_ms bigint DEFAULT NULL::bigint, p_source text DEFAULT 'lease_holder'::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, state text, available_at_ms bigint, next_attempt_index integer)
    LANGUAGE belay ROWS 1
    AS $$fail_task$$;

ALTER FUNCTION old.fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) IS 'Ends the attempt of a leased task with a failure. The policy decides whether another attempt follows.';

--
-- Name: fetch_history(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_history(p_instance_id text) RETURNS TABLE(event_data text)
    LANGUAGE belay STABLE
    AS $$fetch_history$$;

ALTER FUNCTION old.fetch_history(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_history(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_history(p_instance_id text) IS 'Returns the events of the latest execution, in order, as stored.';

--
-- Name: fetch_history_with_execution(text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) RETURNS TABLE(event_data text)
    LANGUAGE belay STABLE
    AS $$fetch_history_with_execution$$;

ALTER FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_history_with_execution(p_instance_id text, p_execution_id bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) IS 'Returns the events of one execution, in order, as stored.';

--
-- Name: fetch_orchestration_item(bigint, bigint, bigint, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(instance_id text, orchestration_name text, orchestration_version text, execution_id bigint, history json, messages json, lock_token text, attempt_count integer, kv_snapshot json)
    LANGUAGE belay ROWS 1
    AS $$fetch_orchestration_item$$;

ALTER FUNCTION old.fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint) IS 'Leases the next turn: an instance with its messages, history and key/value state. No row: no instance is ready.';

--
-- Name: fetch_work_item(bigint, text, bigint, text[], text, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay ROWS 1
    AS $$fetch_work_item$$;

ALTER FUNCTION old.fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) IS 'Leases the next activity. No row: no activity is ready.';

--
-- Name: fetch_work_items(bigint, text, bigint, text[], text, integer, integer, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_max_items integer DEFAULT 1, p_max_new_sessions integer DEFAULT NULL::integer, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay ROWS 10
    AS $$fetch_work_items$$;

ALTER FUNCTION old.fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint) IS 'Leases up to p_max_items activities in one call, each with its own token.';

--
-- Name: find(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.find(p_text text) RETURNS TABLE(what text, id text, label text)
    LANGUAGE belay STABLE ROWS 20
    AS $$find$$;

ALTER FUNCTION old.find(p_text text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION find(p_text text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.find(p_text text) IS 'Finds tasks and flows by id, tasks by dedup key, and instances, queues and schedules by the beginning of their name; at most 20 rows.';

--
-- Name: get_custom_status(text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) RETURNS TABLE(custom_status text, custom_status_version bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_custom_status$$;

ALTER FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_custom_status(p_instance_id text, p_last_seen_version bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) IS 'Returns the custom status if its version is greater than the one last seen.';

--
-- Name: get_execution_info(text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) RETURNS TABLE(execution_id bigint, status text, output text, started_at timestamp with time zone, completed_at timestamp with time zone, event_count bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_execution_info$$;

ALTER FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_execution_info(p_instance_id text, p_execution_id bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) IS 'Returns one execution; no row if it does not exist.';

--
-- Name: get_flow(uuid, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_flow(p_flow_id uuid, p_revision text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$get_flow$$;

ALTER FUNCTION old.get_flow(p_flow_id uuid, p_revision text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_flow(p_flow_id uuid, p_revision text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_flow(p_flow_id uuid, p_revision text) IS 'Returns a flow with its members, edges and groups; NULL if it does not exist or has not changed since p_revision.';

--
-- Name: get_instance_info(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_instance_info(p_instance_id text) RETURNS TABLE(instance_id text, orchestration_name text, orchestration_version text, current_execution_id bigint, created_at timestamp with time zone, updated_at timestamp with time zone, status text, output text, parent_instance_id text)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_instance_info$$;

ALTER FUNCTION old.get_instance_info(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_instance_info(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_instance_info(p_instance_id text) IS 'Returns one instance with status and output of its current execution; no row if it does not exist.';

--
-- Name: get_instance_stats(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_instance_stats(p_instance_id text) RETURNS TABLE(found boolean, history_event_count bigint, history_size_bytes bigint, queue_pending_count bigint, kv_user_key_count bigint, kv_total_value_bytes bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_instance_stats$$;

ALTER FUNCTION old.get_instance_stats(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_instance_stats(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_instance_stats(p_instance_id text) IS 'Returns the size of the current execution''s history and of the key/value state.';

--
-- Name: get_instance_tree(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_instance_tree(p_instance_id text) RETURNS TABLE(instance_id text, parent_instance_id text, depth integer)
    LANGUAGE belay STABLE
    AS $$get_instance_tree$$;

ALTER FUNCTION old.get_instance_tree(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_instance_tree(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_instance_tree(p_instance_id text) IS 'Returns an instance and all its descendants, parents before children.';

--
-- Name: get_kv_all_values(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_kv_all_values(p_instance_id text) RETURNS TABLE(key text, value text)
    LANGUAGE belay STABLE
    AS $$get_kv_all_values$$;

ALTER FUNCTION old.get_kv_all_values(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_kv_all_values(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_kv_all_values(p_instance_id text) IS 'Returns all values of an instance''s key/value state.';

--
-- Name: get_kv_value(text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_kv_value(p_instance_id text, p_key text) RETURNS TABLE(value text, found boolean)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_kv_value$$;

ALTER FUNCTION old.get_kv_value(p_instance_id text, p_key text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_kv_value(p_instance_id text, p_key text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_kv_value(p_instance_id text, p_key text) IS 'Returns one value of an instance''s key/value state.';

--
-- Name: get_parent_id(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_parent_id(p_instance_id text) RETURNS text
    LANGUAGE belay STABLE
    AS $$get_parent_id$$;

ALTER FUNCTION old.get_parent_id(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_parent_id(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_parent_id(p_instance_id text) IS 'Returns the parent of an instance, NULL if it has none.';

--
-- Name: get_queue_depths(bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_queue_depths(p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(orchestrator_queue bigint, worker_queue bigint, timer_queue bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_queue_depths$$;

ALTER FUNCTION old.get_queue_depths(p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_queue_depths(p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_queue_depths(p_now_ms bigint) IS 'Rows that can be fetched now in both queues, and messages that are not due yet; each counted up to 10,000 rows.';

--
-- Name: get_system_metrics(); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_system_metrics() RETURNS TABLE(total_instances bigint, total_executions bigint, running_instances bigint, completed_instances bigint, failed_instances bigint, total_events bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_system_metrics$$;

ALTER FUNCTION old.get_system_metrics() OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_system_metrics(); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_system_metrics() IS 'Returns totals of instances, executions and events. Above 10,000 instances or executions they are estimates of the last vacuum and analyze; running and failed instances are counted up to 10,000 and estimated above.';

--
-- Name: get_task(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_task(p_task_id uuid) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$get_task$$;

ALTER FUNCTION old.get_task(p_task_id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_task(p_task_id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_task(p_task_id uuid) IS 'Returns the complete state of a task as JSON; NULL if it does not exist.';

--
-- Name: glance(integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.glance(p_cap integer DEFAULT 10000) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$glance$$;

ALTER FUNCTION old.glance(p_cap integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION glance(p_cap integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.glance(p_cap integer) IS 'Returns the figures of an overview in one call. Counts stop at p_cap rows and are marked as capped.';

--
-- Name: guard(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.guard(p_lock_token text) RETURNS void
    LANGUAGE belay
    AS $$guard$$;

ALTER FUNCTION old.guard(p_lock_token text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION guard(p_lock_token text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.guard(p_lock_token text) IS 'Binds the current transaction to the lease of a work item or a turn: its commit fails with QB001 if the lease is lost by then.';

--
-- Name: guard_task(uuid, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.guard_task(p_task_id uuid, p_lease_epoch bigint) RETURNS void
    LANGUAGE belay
    AS $$guard_task$$;

ALTER FUNCTION old.guard_task(p_task_id uuid, p_lease_epoch bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION guard_task(p_task_id uuid, p_lease_epoch bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.guard_task(p_task_id uuid, p_lease_epoch bigint) IS 'Binds the current transaction to the lease of a task: its commit fails with QB001 if the lease is lost by then.';

--
-- Name: latest_execution_id(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.latest_execution_id(p_instance_id text) RETURNS bigint
    LANGUAGE belay STABLE
    AS $$latest_execution_id$$;

ALTER FUNCTION old.latest_execution_id(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION latest_execution_id(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.latest_execution_id(p_instance_id text) IS 'The greatest execution id of an instance.';

--
-- Name: list_children(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_children(p_instance_id text) RETURNS TABLE(child_instance_id text)
    LANGUAGE belay STABLE
    AS $$list_children$$;

ALTER FUNCTION old.list_children(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_children(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_children(p_instance_id text) IS 'Direct children of an instance.';

--
-- Name: list_dead_letters(text, text, text, bigint, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_dead_letters(p_queue text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_instance_id text DEFAULT NULL::text, p_after bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 100) RETURNS TABLE(id bigint, queue text, source_id bigint, instance_id text, execution_id bigint, activity_id bigint, session_id text, tag text, work_item text, attempt_count integer, reason text, detail text, enqueued_at timestamp with time zone, dead_at timestamp with time zone)
    LANGUAGE belay STABLE
    AS $$list_dead_letters$$;

ALTER FUNCTION old.list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer) IS 'Dead letters by id ascending; p_after is the last id of the page before.';

--
-- Name: list_executions(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_executions(p_instance_id text) RETURNS TABLE(execution_id bigint)
    LANGUAGE belay STABLE
    AS $$list_executions$$;

ALTER FUNCTION old.list_executions(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_executions(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_executions(p_instance_id text) IS 'Execution ids of an instance, ascending.';

--
-- Name: list_expired_leases(text, bigint, uuid, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_expired_leases(p_queue text DEFAULT NULL::text, p_after_ms bigint DEFAULT NULL::bigint, p_after_id uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 1000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, queue text, lease_id text, lease_epoch bigint, lease_until_ms bigint, worker text, worker_instance text, attempt_index integer)
    LANGUAGE belay STABLE
    AS $$list_expired_leases$$;

ALTER FUNCTION old.list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint) IS 'Returns active tasks whose lease has expired and was not handled yet, oldest first, page by page.';

--
-- Name: list_flows(jsonb, uuid, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_flows(p_filter jsonb DEFAULT '{}'::jsonb, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 100) RETURNS TABLE(flow_id uuid, kind text, state text, sealed boolean, graph_revision bigint, fail_policy text, member_count bigint, open_count bigint, edge_count bigint, tags jsonb, cancel_reason text, created_at_ms bigint, updated_at_ms bigint, terminal_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_flows$$;

ALTER FUNCTION old.list_flows(p_filter jsonb, p_after uuid, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_flows(p_filter jsonb, p_after uuid, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_flows(p_filter jsonb, p_after uuid, p_limit integer) IS 'Returns flows by id, page by page.';

--
-- Name: list_instances(text, text, text, bigint, bigint, text, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_instances(p_status text DEFAULT NULL::text, p_name text DEFAULT NULL::text, p_prefix text DEFAULT NULL::text, p_created_from_ms bigint DEFAULT NULL::bigint, p_created_before_ms bigint DEFAULT NULL::bigint, p_after text DEFAULT NULL::text, p_limit integer DEFAULT NULL::integer) RETURNS TABLE(instance_id text)
    LANGUAGE belay STABLE
    AS $$list_instances$$;

ALTER FUNCTION old.list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer) IS 'Ids of instances, newest first. Arguments are combined with AND; p_after is the last id of the page before.';

--
-- Name: list_instances_by_status(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_instances_by_status(p_status text) RETURNS TABLE(instance_id text)
    LANGUAGE belay STABLE
    AS $$list_instances_by_status$$;

ALTER FUNCTION old.list_instances_by_status(p_status text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_instances_by_status(p_status text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_instances_by_status(p_status text) IS 'Ids of instances whose current execution has this status, newest first.';

--
-- Name: list_owners(text, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_owners(p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100, p_scan integer DEFAULT 10000) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$list_owners$$;

ALTER FUNCTION old.list_owners(p_after text, p_limit integer, p_scan integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_owners(p_after text, p_limit integer, p_scan integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_owners(p_after text, p_limit integer, p_scan integer) IS 'Returns the owners of leases on tasks, work items, sessions and slots, by owner id, page by page, and the number of leased turns.';

--
-- Name: list_queues(integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_queues(p_cap integer DEFAULT 10000) RETURNS TABLE(queue text, paused boolean, ready bigint, delayed bigint, blocked bigint, active bigint, suspended bigint, overdue_leases bigint, oldest_ready_age_ms bigint, concurrency bigint, rate_per_s double precision, burst double precision, owners bigint, capped text[], paused_by text, paused_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_queues$$;

ALTER FUNCTION old.list_queues(p_cap integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_queues(p_cap integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_queues(p_cap integer) IS 'Returns up to 200 queues that have settings or open tasks, with the number of tasks in each state.';

--
-- Name: list_schedules(); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_schedules() RETURNS TABLE(name text, cron text, time_zone text, catch_up text, task jsonb, paused boolean, next_due_ms bigint, last_due_ms bigint, last_error text, created_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_schedules$$;

ALTER FUNCTION old.list_schedules() OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_schedules(); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_schedules() IS 'Schedules by name, with their next and last due times.';

--
-- Name: list_signals(uuid, bigint, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_signals(p_task_id uuid, p_after bigint DEFAULT 0, p_limit integer DEFAULT 100) RETURNS TABLE(nr bigint, signal_id text, waitpoint_id uuid, key text, name text, source text, payload jsonb, accepted_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_signals$$;

ALTER FUNCTION old.list_signals(p_task_id uuid, p_after bigint, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_signals(p_task_id uuid, p_after bigint, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_signals(p_task_id uuid, p_after bigint, p_limit integer) IS 'Returns the signals of the current or the last suspension of the task''s attempt, in the order of acceptance, page by page.';

--
-- Name: list_tasks(jsonb, uuid, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_tasks(p_filter jsonb DEFAULT '{}'::jsonb, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 100) RETURNS TABLE(task_id uuid, state text, queue text, kind text, priority integer, flow_id uuid, flow_key text, pending_attempt text, attempt_index integer, retry_count integer, reclaim_count integer, replay_count integer, available_at_ms bigint, deadline_ms bigint, worker text, worker_instance text, lease_epoch bigint, lease_until_ms bigint, failure_class text, cancel_reason text, tags jsonb, created_at_ms bigint, updated_at_ms bigint, terminal_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_tasks$$;

ALTER FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_tasks(p_filter jsonb, p_after uuid, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) IS 'Returns tasks by id, page by page. Reads at most 10,000 tasks; browse_tasks has no such limit.';

--
-- Name: list_waitpoints(uuid, uuid, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_waitpoints(p_task_id uuid, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 100) RETURNS TABLE(waitpoint_id uuid, key text, state text, suspension_id uuid, kid text, token_hash text, signals bigint, created_at_ms bigint, expires_at_ms bigint, closed_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_waitpoints$$;

ALTER FUNCTION old.list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer) IS 'Returns the waitpoints of a task by id, page by page. Tokens are not returned; token_hash is a prefix of the token''s SHA-256.';

--
-- Name: list_work_items(jsonb, text, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_work_items(p_filter jsonb DEFAULT '{}'::jsonb, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(id bigint, state text, work_item text, instance_id text, execution_id bigint, activity_id bigint, session_id text, tag text, visible_at timestamp with time zone, locked_until bigint, locked_by text, attempt_count integer, created_at timestamp with time zone, cursor text)
    LANGUAGE belay STABLE
    AS $$list_work_items$$;

ALTER FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) IS 'Returns the worker queue page by page, without tokens. Reads at most 10,000 rows; browse_work_items has no such limit.';

--
-- Name: next_times(text, text, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.next_times(p_cron text, p_time_zone text DEFAULT 'UTC'::text, p_limit integer DEFAULT 5, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(due_ms bigint)
    LANGUAGE belay STABLE
    AS $$next_times$$;

ALTER FUNCTION old.next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint) IS 'Returns the next due times of a cron expression, without creating a schedule.';

--
-- Name: pause_hub(text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.pause_hub(p_queue text DEFAULT NULL::text, p_reason text DEFAULT ''::text) RETURNS void
    LANGUAGE belay
    AS $$pause_hub$$;

ALTER FUNCTION old.pause_hub(p_queue text, p_reason text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION pause_hub(p_queue text, p_reason text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.pause_hub(p_queue text, p_reason text) IS 'Pauses a queue (orchestrator, worker, tasks, intents), or all queues: no new work is leased. Leased work can finish.';

--
-- Name: pause_queue(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.pause_queue(p_queue text) RETURNS void
    LANGUAGE belay
    AS $$pause_queue$$;

ALTER FUNCTION old.pause_queue(p_queue text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION pause_queue(p_queue text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.pause_queue(p_queue text) IS 'Pauses a queue: no task is leased. Leased tasks can finish.';

--
-- Name: pause_schedule(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.pause_schedule(p_name text) RETURNS void
    LANGUAGE belay
    AS $$pause_schedule$$;

ALTER FUNCTION old.pause_schedule(p_name text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION pause_schedule(p_name text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.pause_schedule(p_name text) IS 'Pauses a schedule.';

--
-- Name: progress(text, numeric, text, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.progress(lease text, percent numeric DEFAULT NULL::numeric, message text DEFAULT NULL::text, checkpoint jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE belay
    AS $$progress$$;

ALTER FUNCTION old.progress(lease text, percent numeric, message text, checkpoint jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION progress(lease text, percent numeric, message text, checkpoint jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.progress(lease text, percent numeric, message text, checkpoint jsonb) IS 'Stores percent, message and checkpoint of a leased task; arguments that are NULL change nothing. The next attempt receives the checkpoint.';

--
-- Name: progress_task(uuid, bigint, numeric, text, jsonb, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric DEFAULT NULL::numeric, p_message text DEFAULT NULL::text, p_checkpoint jsonb DEFAULT NULL::jsonb, p_lease_ms bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(lease_until_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$progress_task$$;

ALTER FUNCTION old.progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) IS 'Stores percent, message and checkpoint of a leased task, and renews its lease if p_lease_ms is given. Arguments that are NULL change nothing.';

--
-- Name: prune_executions(text, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.prune_executions(p_instance_id text, p_keep_last integer DEFAULT NULL::integer, p_completed_before_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(instances_processed bigint, executions_deleted bigint, events_deleted bigint)
    LANGUAGE belay ROWS 1
    AS $$prune_executions$$;

ALTER FUNCTION old.prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint) IS 'Deletes earlier executions of an instance with their history, never the current one.';

--
-- Name: prune_executions_bulk(jsonb, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.prune_executions_bulk(p_filter jsonb, p_options jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(instances_processed bigint, executions_deleted bigint, events_deleted bigint)
    LANGUAGE belay ROWS 1
    AS $$prune_executions_bulk$$;

ALTER FUNCTION old.prune_executions_bulk(p_filter jsonb, p_options jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION prune_executions_bulk(p_filter jsonb, p_options jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.prune_executions_bulk(p_filter jsonb, p_options jsonb) IS 'Prunes many instances: filter {instance_ids?, completed_before?, limit?}, options {keep_last?, completed_before?}.';

--
-- Name: raise(text, text, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.raise(id text, event text, data jsonb DEFAULT 'null'::jsonb) RETURNS void
    LANGUAGE belay
    AS $$raise$$;

ALTER FUNCTION old.raise(id text, event text, data jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION raise(id text, event text, data jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.raise(id text, event text, data jsonb) IS 'Sends an event to an orchestration instance. Events that arrive before the start are stored for it.';

--
-- Name: raise_event(text, text, text, boolean, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text DEFAULT ''::text, p_queued boolean DEFAULT false, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$raise_event$$;

ALTER FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) IS 'Sends an external event to an instance, or with p_queued a queue message.';

--
-- Name: read_body(text, text, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.read_body(p_what text, p_id text, p_field text, p_offset bigint DEFAULT 0, p_length bigint DEFAULT 1048576) RETURNS jsonb
    LANGUAGE belay STABLE
    AS $$read_body$$;

ALTER FUNCTION old.read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint) IS 'Returns a slice of one stored body, at most 1 MiB; NULL if it does not exist.';

--
-- Name: read_events(text, integer, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.read_events(p_subscription text, p_max_items integer DEFAULT 100, p_lease_ms bigint DEFAULT 30000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(event_id text, topic text, type text, subject text, details jsonb, occurred_at_ms bigint, upto text)
    LANGUAGE belay
    AS $$read_events$$;

ALTER FUNCTION old.read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint) IS 'Leases the next events of a subscription. No row: there are none, or another reader has the lease. A first row of topic outbox and type events_lost reports events that retention deleted before they were read.';

--
-- Name: read_history(text, bigint, bigint, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.read_history(p_instance_id text, p_execution_id bigint DEFAULT NULL::bigint, p_after_event_id bigint DEFAULT NULL::bigint, p_limit integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, event_id bigint, event_type text, event_data text, created_at timestamp with time zone)
    LANGUAGE belay STABLE
    AS $$read_history$$;

ALTER FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) IS 'Returns the events of one execution (NULL: the latest), page by page.';

--
-- Name: receive(text[], integer, interval, text, text[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.receive(queues text[], max integer DEFAULT 1, lease interval DEFAULT '00:00:30'::interval, worker text DEFAULT NULL::text, capabilities text[] DEFAULT '{}'::text[]) RETURNS SETOF old.received
    LANGUAGE belay ROWS 10
    AS $$receive$$;

ALTER FUNCTION old.receive(queues text[], max integer, lease interval, worker text, capabilities text[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION receive(queues text[], max integer, lease interval, worker text, capabilities text[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.receive(queues text[], max integer, lease interval, worker text, capabilities text[]) IS 'Leases the next tasks of a queue, or of several, by priority, then by time. No row: no task is ready.';

--
-- Name: receive(text, integer, interval, text, text[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.receive(queues text, max integer DEFAULT 1, lease interval DEFAULT '00:00:30'::interval, worker text DEFAULT NULL::text, capabilities text[] DEFAULT '{}'::text[]) RETURNS SETOF old.received
    LANGUAGE belay ROWS 10
    AS $$receive_one_queue$$;

ALTER FUNCTION old.receive(queues text, max integer, lease interval, worker text, capabilities text[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION receive(queues text, max integer, lease interval, worker text, capabilities text[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.receive(queues text, max integer, lease interval, worker text, capabilities text[]) IS 'Leases the next tasks of a queue, or of several, by priority, then by time. No row: no task is ready.';

--
-- Name: receive_intents(jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.receive_intents(p_intents jsonb) RETURNS bigint
    LANGUAGE belay
    AS $$receive_intents$$;

ALTER FUNCTION old.receive_intents(p_intents jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION receive_intents(p_intents jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.receive_intents(p_intents jsonb) IS 'Receives messages from another hub and skips those that have arrived before. Called by the relay. Returns the number of new messages.';

--
-- Name: reconcile(text[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.reconcile(p_duties text[] DEFAULT NULL::text[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(duty text, rows bigint, elapsed_ms bigint)
    LANGUAGE belay ROWS 10
    AS $$reconcile$$;

ALTER FUNCTION old.reconcile(p_duties text[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION reconcile(p_duties text[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.reconcile(p_duties text[], p_now_ms bigint) IS 'Runs maintenance duties of the hub now: the named ones, or all.';

--
-- Name: redrive_dead_letter(bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.redrive_dead_letter(p_id bigint) RETURNS bigint
    LANGUAGE belay
    AS $$redrive_dead_letter$$;

ALTER FUNCTION old.redrive_dead_letter(p_id bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION redrive_dead_letter(p_id bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.redrive_dead_letter(p_id bigint) IS 'Moves a dead letter back into its queue with attempt 0 and returns the new queue id.';

--
-- Name: redrive_dead_letters(jsonb, text, text, integer, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.redrive_dead_letters(p_filter jsonb, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 500, p_scan integer DEFAULT 10000) RETURNS jsonb
    LANGUAGE belay
    AS $$redrive_dead_letters$$;

ALTER FUNCTION old.redrive_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION redrive_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.redrive_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) IS 'Moves one portion of the dead letters that match a filter back into their queues, oldest first, and says which could not be moved, and where the next portion begins.';

--
-- Name: release(text, interval); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.release(lease text, delay interval DEFAULT NULL::interval) RETURNS void
    LANGUAGE belay
    AS $$release$$;

ALTER FUNCTION old.release(lease text, delay interval) OWNER TO upgrade_owner;

--
-- Name: FUNCTION release(lease text, delay interval); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.release(lease text, delay interval) IS 'Ends a lease without an outcome, as in a graceful shutdown. It does not count as an attempt.';

--
-- Name: release_slots(text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.release_slots(p_owner_id text, p_queue text) RETURNS void
    LANGUAGE belay
    AS $$release_slots$$;

ALTER FUNCTION old.release_slots(p_owner_id text, p_queue text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION release_slots(p_owner_id text, p_queue text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.release_slots(p_owner_id text, p_queue text) IS 'Releases the slots of an owner at once. Other owners acquire them with their next acquire_slots.';

--
-- Name: release_task(uuid, bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint DEFAULT 0, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, available_at_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$release_task$$;

ALTER FUNCTION old.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint) IS 'Ends a lease without an outcome; the attempt continues at the next claim. Neither a retry nor a reclaim is counted.';

--
-- Name: renew_orchestration_item_lock(text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$renew_orchestration_item_lock$$;

ALTER FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) IS 'Moves the deadline of a live turn to now + p_extend_ms.';

--
-- Name: renew_session_lock(text[], bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE belay
    AS $$renew_session_lock$$;

ALTER FUNCTION old.renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint) IS 'Extends the live sessions of these owners that were active within the idle timeout; returns their number.';

--
-- Name: renew_task(uuid, bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(lease_until_ms bigint, capped boolean)
    LANGUAGE belay ROWS 1
    AS $$renew_task$$;

ALTER FUNCTION old.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint) IS 'Moves the deadline of a live lease. capped: a deadline of the task limited it.';

--
-- Name: renew_tasks(uuid[], bigint[], bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, renewed boolean, lease_until_ms bigint, reason text)
    LANGUAGE belay
    AS $$renew_tasks$$;

ALTER FUNCTION old.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) IS 'Moves the deadlines of many leases in one call. A lost lease is reported in its row and does not affect the others.';

--
-- Name: renew_work_item_lock(text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE belay
    AS $$renew_work_item_lock$$;

ALTER FUNCTION old.renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) IS 'Moves the deadline of a live lease to now + p_extend_ms. QB001 means that the activity was cancelled or its lease is lost.';

--
-- Name: renew_work_item_locks(text[], bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(index integer, lock_token text, renewed boolean, locked_until bigint, error text)
    LANGUAGE belay
    AS $$renew_work_item_locks$$;

ALTER FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint) IS 'Renews many leases in one call. A lost lease is reported in its row and does not affect the others.';

--
-- Name: replay_task(uuid, boolean, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean DEFAULT false, p_expected_replay integer DEFAULT NULL::integer, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, public_state text, replay_count integer, reopened uuid[], waiting_on uuid[])
    LANGUAGE belay ROWS 1
    AS $$replay_task$$;

ALTER FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_expected_replay integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION replay_task(p_task_id uuid, p_cascade boolean, p_expected_replay integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_expected_replay integer, p_now_ms bigint) IS 'Runs a task again that has ended. Its attempts are kept.';

--
-- Name: replay_tasks(jsonb, boolean, text, text, integer, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.replay_tasks(p_filter jsonb, p_cascade boolean DEFAULT false, p_order text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 500, p_scan integer DEFAULT 10000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS jsonb
    LANGUAGE belay
    AS $$replay_tasks$$;

ALTER FUNCTION old.replay_tasks(p_filter jsonb, p_cascade boolean, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION replay_tasks(p_filter jsonb, p_cascade boolean, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.replay_tasks(p_filter jsonb, p_cascade boolean, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) IS 'Runs one portion of the ended tasks that match a filter again, and says where the next portion begins.';

--
-- Name: resume_hub(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.resume_hub(p_queue text DEFAULT NULL::text) RETURNS void
    LANGUAGE belay
    AS $$resume_hub$$;

ALTER FUNCTION old.resume_hub(p_queue text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION resume_hub(p_queue text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.resume_hub(p_queue text) IS 'Resumes a paused queue, or all queues.';

--
-- Name: resume_queue(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.resume_queue(p_queue text) RETURNS void
    LANGUAGE belay
    AS $$resume_queue$$;

ALTER FUNCTION old.resume_queue(p_queue text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION resume_queue(p_queue text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.resume_queue(p_queue text) IS 'Resumes a paused queue.';

--
-- Name: resume_schedule(text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.resume_schedule(p_name text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE belay
    AS $$resume_schedule$$;

ALTER FUNCTION old.resume_schedule(p_name text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION resume_schedule(p_name text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.resume_schedule(p_name text, p_now_ms bigint) IS 'Resumes a paused schedule and returns its next due time. Due times that passed during the pause are skipped.';

--
-- Name: resume_task(uuid, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.resume_task(p_task_id uuid, p_trigger text DEFAULT 'operator'::text, p_delay_ms bigint DEFAULT 0, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, available_at_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$resume_task$$;

ALTER FUNCTION old.resume_task(p_task_id uuid, p_trigger text, p_delay_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION resume_task(p_task_id uuid, p_trigger text, p_delay_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.resume_task(p_task_id uuid, p_trigger text, p_delay_ms bigint, p_now_ms bigint) IS 'Resumes a suspended task regardless of its condition. Its attempt continues.';

--
-- Name: retry(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.retry(id uuid) RETURNS void
    LANGUAGE belay
    AS $$retry$$;

ALTER FUNCTION old.retry(id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION retry(id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.retry(id uuid) IS 'Runs a task again that failed permanently, expired or was cancelled. Its attempts are kept.';

--
-- Name: revoke_lease(uuid, text, text, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.revoke_lease(p_task_id uuid, p_reason text DEFAULT ''::text, p_worker_instance text DEFAULT ''::text, p_expected_lease_id text DEFAULT ''::text, p_expected_lease_epoch bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, reason text, lease_id text, lease_epoch bigint)
    LANGUAGE belay ROWS 1
    AS $$revoke_lease$$;

ALTER FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_lease_epoch bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_lease_epoch bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_lease_epoch bigint, p_now_ms bigint) IS 'Revokes a lease if it is still the given one. The attempt can be claimed again at once.';

--
-- Name: rotate_waitpoint_key(text, bytea, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint) RETURNS text
    LANGUAGE belay
    AS $$rotate_waitpoint_key$$;

ALTER FUNCTION old.rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint) IS 'Signs new tokens with another secret. Tokens signed with earlier keys stay valid until the grace period ends. For the hub''s owner only.';

--
-- Name: seal_flow(uuid, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, graph_revision bigint)
    LANGUAGE belay ROWS 1
    AS $$seal_flow$$;

ALTER FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint) IS 'Seals a flow: no tasks can be added, held tasks become available, and the flow can end.';

--
-- Name: seed_waitpoint_key(text, bytea); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.seed_waitpoint_key(p_kid text, p_secret bytea) RETURNS text
    LANGUAGE belay
    AS $$seed_waitpoint_key$$;

ALTER FUNCTION old.seed_waitpoint_key(p_kid text, p_secret bytea) OWNER TO upgrade_owner;

--
-- Name: FUNCTION seed_waitpoint_key(p_kid text, p_secret bytea); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.seed_waitpoint_key(p_kid text, p_secret bytea) IS 'Signs new tokens with the given secret. Existing keys stay valid. For the hub''s owner only.';

--
-- Name: send(text, jsonb, text, text, interval, timestamp with time zone, integer, jsonb, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.send(queue text, payload jsonb DEFAULT 'null'::jsonb, kind text DEFAULT NULL::text, key text DEFAULT NULL::text, delay interval DEFAULT NULL::interval, at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, policy jsonb DEFAULT NULL::jsonb, headers jsonb DEFAULT NULL::jsonb) RETURNS uuid
    LANGUAGE belay
    AS $$send$$;

ALTER FUNCTION old.send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) IS 'Sends a task to a queue and returns its id. Workers can receive it after the transaction has committed.';

--
-- Name: send_many(text, jsonb[], text, text[], interval, timestamp with time zone, integer, jsonb, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.send_many(queue text, payloads jsonb[], kind text DEFAULT NULL::text, keys text[] DEFAULT NULL::text[], delay interval DEFAULT NULL::interval, at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, policy jsonb DEFAULT NULL::jsonb, headers jsonb DEFAULT NULL::jsonb) RETURNS SETOF uuid
    LANGUAGE belay ROWS 100
    AS $$send_many$$;

ALTER FUNCTION old.send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) IS 'Sends up to 10,000 tasks to a queue, all or none, and returns their ids in the order of the payloads.';

--
-- Name: send_to_hub(name, text, text, timestamp with time zone); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS bigint
    LANGUAGE belay
    AS $$send_to_hub$$;

ALTER FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) OWNER TO upgrade_owner;

--
-- Name: FUNCTION send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) IS 'Sends a work item to queue orchestrator or worker of another hub, exactly once; returns the id of the intent.';

--
-- Name: set_join(uuid, uuid, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, graph_revision bigint)
    LANGUAGE belay ROWS 1
    AS $$set_join$$;

ALTER FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint) IS 'Sets how the incoming edges of a task are joined: all_of, any_of or quorum. Call it before the first edge is added.';

--
-- Name: set_queue(text, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.set_queue(p_queue text, p_settings jsonb) RETURNS void
    LANGUAGE belay
    AS $$set_queue$$;

ALTER FUNCTION old.set_queue(p_queue text, p_settings jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION set_queue(p_queue text, p_settings jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.set_queue(p_queue text, p_settings jsonb) IS 'Changes settings of a queue: paused, policy, retention_ms, concurrency, rate_per_s, burst. Settings that are not given stay; null restores the default.';

--
-- Name: settle_and_claim_tasks(uuid[], bigint[], text[], jsonb[], text[], text[], jsonb[], bigint[], jsonb[], jsonb[], text, text, text[], text[], bigint, integer, integer[], integer, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[] DEFAULT NULL::text[], p_results jsonb[] DEFAULT NULL::jsonb[], p_classes text[] DEFAULT NULL::text[], p_messages text[] DEFAULT NULL::text[], p_details jsonb[] DEFAULT NULL::jsonb[], p_delays_ms bigint[] DEFAULT NULL::bigint[], p_checkpoints jsonb[] DEFAULT NULL::jsonb[], p_suspensions jsonb[] DEFAULT NULL::jsonb[], p_worker text DEFAULT NULL::text, p_worker_instance text DEFAULT NULL::text, p_queues text[] DEFAULT NULL::text[], p_capabilities text[] DEFAULT '{}'::text[], p_lease_ms bigint DEFAULT 30000, p_max_items integer DEFAULT 0, p_slots integer[] DEFAULT NULL::integer[], p_prefetch integer DEFAULT 0, p_prefetch_threshold integer DEFAULT 1, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(outcome_index integer, error text, reason text, result text, state text, available_at_ms bigint, next_attempt_index integer, same_result boolean, suspension_id uuid, waitpoints jsonb, task_id uuid, queue text, kind text, payload jsonb, tags jsonb, priority integer, attempt_index integer, attempt_kind text, retry_count integer, reclaim_count integer, replay_count integer, lease_epoch bigint, lease_id text, lease_until_ms bigint, attempt_deadline_ms bigint, deadline_ms bigint, checkpoint jsonb, last_failure jsonb, flow_id uuid, flow_key text, upstream jsonb, signals jsonb)
    LANGUAGE belay ROWS 100
    AS $$settle_and_claim_tasks$$;

ALTER FUNCTION old.settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) IS 'Completes, fails, delays, releases or suspends many leased tasks, then claims up to p_max_items, and up to p_prefetch more if the queues are long enough, in one transaction. Returns a row per outcome, with error and reason if it was rejected, which does not affect the others; then a row per claimed task.';

--
-- Name: settle_and_fetch_work_items(text[], text[], text[], bigint[], boolean[], text[], bigint, text, bigint, text[], text, integer, integer, integer[], integer, integer, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[] DEFAULT NULL::text[], p_completions text[] DEFAULT NULL::text[], p_delays_ms bigint[] DEFAULT NULL::bigint[], p_ignore_attempts boolean[] DEFAULT NULL::boolean[], p_reasons text[] DEFAULT NULL::text[], p_lock_timeout_ms bigint DEFAULT 30000, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_max_items integer DEFAULT 0, p_max_new_sessions integer DEFAULT NULL::integer, p_slots integer[] DEFAULT NULL::integer[], p_prefetch integer DEFAULT 0, p_prefetch_threshold integer DEFAULT 1, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(outcome_index integer, error text, reason text, work_item text, lock_token text, attempt_count integer)
    LANGUAGE belay ROWS 100
    AS $$settle_and_fetch_work_items$$;

ALTER FUNCTION old.settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) IS 'Acks or abandons many leases, then leases up to p_max_items activities, and up to p_prefetch more if the queue is long enough, in one transaction. Returns a row per outcome, with error and reason if it was rejected, which does not affect the others; then a row per activity.';

--
-- Name: settle_and_receive(text[], text[], jsonb[], text[], text[], interval[], text[], integer, interval, text, text[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.settle_and_receive(leases text[], outcomes text[] DEFAULT NULL::text[], results jsonb[] DEFAULT NULL::jsonb[], errors text[] DEFAULT NULL::text[], classes text[] DEFAULT NULL::text[], delays interval[] DEFAULT NULL::interval[], queues text[] DEFAULT NULL::text[], max integer DEFAULT 1, lease_for interval DEFAULT '00:00:30'::interval, worker text DEFAULT NULL::text, capabilities text[] DEFAULT '{}'::text[]) RETURNS TABLE(outcome_index integer, error text, reason text, state text, next_attempt_at timestamp with time zone, id uuid, queue text, kind text, payload jsonb, headers jsonb, attempt integer, lease text, lease_until timestamp with time zone, deadline timestamp with time zone, checkpoint jsonb, signals jsonb, upstream jsonb)
    LANGUAGE belay ROWS 100
    AS $$settle_and_receive$$;

ALTER FUNCTION old.settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]) IS 'Completes, fails or releases many tasks, then receives the next ones, in one transaction. Returns a row per lease, with error and reason if it was rejected, which does not affect the others; then a row per received task.';

--
-- Name: settle_turns_and_work(text[], bigint[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], bigint, bigint, bigint, integer, integer[], text, text[], text[], text[], text[], bigint[], boolean[], text[], text, bigint, text[], text, integer, integer, integer, bigint[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[] DEFAULT NULL::bigint[], p_history_deltas jsonb[] DEFAULT NULL::jsonb[], p_worker_items jsonb[] DEFAULT NULL::jsonb[], p_orchestrator_items jsonb[] DEFAULT NULL::jsonb[], p_metadata jsonb[] DEFAULT NULL::jsonb[], p_cancelled_activities jsonb[] DEFAULT NULL::jsonb[], p_lock_timeout_ms bigint DEFAULT 30000, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint, p_max_turns integer DEFAULT 0, p_slots integer[] DEFAULT NULL::integer[], p_cache_owner text DEFAULT NULL::text, p_names text[] DEFAULT NULL::text[], p_work_tokens text[] DEFAULT NULL::text[], p_outcomes text[] DEFAULT NULL::text[], p_completions text[] DEFAULT NULL::text[], p_delays_ms bigint[] DEFAULT NULL::bigint[], p_ignore_attempts boolean[] DEFAULT NULL::boolean[], p_reasons text[] DEFAULT NULL::text[], p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_max_items integer DEFAULT 0, p_prefetch integer DEFAULT 0, p_prefetch_threshold integer DEFAULT 1, p_predicted_after bigint[] DEFAULT NULL::bigint[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(outcome_index integer, error text, reason text, error_message text, instance_id text, orchestration_name text, orchestration_version text, execution_id bigint, history json, messages json, lock_token text, attempt_count integer, kv_snapshot json, history_after bigint, last_event_id bigint, locked_until bigint, work_item text, work_token text, work_attempt_count integer, work_index integer)
    LANGUAGE belay ROWS 20
    AS $$settle_turns_and_work$$;

ALTER FUNCTION old.settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint) IS 'Commits turns as ack_and_fetch_turns and ends leases of activities as settle_and_fetch_work_items, then leases turns and activities, also those that the call itself has made ready, in one transaction. An ack with p_predicted_after is of a turn that was run ahead: its token is that of the activity whose outcome, in the same call, is the only message of the turn. Returns a row per ack, a row per outcome with its work_index, a row per turn, and a row per activity.';

--
-- Name: start(text, jsonb, text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.start(orchestration text, input jsonb DEFAULT 'null'::jsonb, id text DEFAULT NULL::text, version text DEFAULT NULL::text) RETURNS text
    LANGUAGE belay
    AS $$start$$;

ALTER FUNCTION old.start(orchestration text, input jsonb, id text, version text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION start(orchestration text, input jsonb, id text, version text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.start(orchestration text, input jsonb, id text, version text) IS 'Starts an orchestration and returns the instance id: the given one, or a new uuid. An existing instance is not started again.';

--
-- Name: start_orchestration(text, text, text, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.start_orchestration(p_name text, p_input text DEFAULT ''::text, p_instance_id text DEFAULT NULL::text, p_version text DEFAULT NULL::text, p_delay_ms bigint DEFAULT 0, p_now_ms bigint DEFAULT NULL::bigint) RETURNS text
    LANGUAGE belay
    AS $$start_orchestration$$;

ALTER FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) IS 'Starts an orchestration and returns the instance id: the given one, or a new uuid.';

--
-- Name: stat_series(bigint, bigint, bigint, text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint DEFAULT 60000, p_queue text DEFAULT NULL::text, p_task_queue text DEFAULT NULL::text) RETURNS TABLE(at_ms bigint, queue text, task_queue text, created bigint, claimed bigint, completed bigint, failed bigint, retried bigint, cancelled bigint, expired bigint, lost bigint, wait_buckets bigint[], wait_sum_ms bigint, run_buckets bigint[], run_sum_ms bigint, depth bigint, oldest_ms bigint)
    LANGUAGE belay STABLE
    AS $$stat_series$$;

ALTER FUNCTION old.stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text) IS 'Returns what happened over time, from the minutes that the duty stat_minutes has recorded, added up to at most 2000 steps. Steps in which nothing happened are left out.';

--
-- Name: status(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.status(id uuid) RETURNS old.task_status
    LANGUAGE belay STABLE
    AS $$status$$;

ALTER FUNCTION old.status(id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION status(id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.status(id uuid) IS 'Returns state, result, error, progress and times of a task; NULL if it does not exist.';

--
-- Name: suspend_task(uuid, bigint, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, suspension_id uuid, waitpoints jsonb)
    LANGUAGE belay ROWS 1
    AS $$suspend_task$$;

ALTER FUNCTION old.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint) IS 'Suspends a leased task until signals meet the condition; it needs no lease meanwhile, and its attempt continues afterwards. Returns a token for each waitpoint.';

--
-- Name: terminate(text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.terminate(id text, reason text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE belay
    AS $$terminate$$;

ALTER FUNCTION old.terminate(id text, reason text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION terminate(id text, reason text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.terminate(id text, reason text) IS 'Requests the cancellation of an orchestration instance, which its next turn sees. Returns false if the instance has already ended.';

--
-- Name: upstream_results(uuid); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.upstream_results(p_task_id uuid) RETURNS TABLE(upstream_id uuid, key text, pass_as text, state text, result jsonb)
    LANGUAGE belay STABLE
    AS $$upstream_results$$;

ALTER FUNCTION old.upstream_results(p_task_id uuid) OWNER TO upgrade_owner;

--
-- Name: FUNCTION upstream_results(p_task_id uuid); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.upstream_results(p_task_id uuid) IS 'Returns the upstream tasks of a member of a flow, with their results.';

--
-- Name: wait_for_work(text[], integer, text, text); Type: PROCEDURE; Schema: old; Owner: upgrade_owner
--

CREATE PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text DEFAULT NULL::text, INOUT p_reason text DEFAULT NULL::text)
    LANGUAGE belay
    AS $$wait_for_work$$;

ALTER PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) OWNER TO upgrade_owner;

--
-- Name: PROCEDURE wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) IS 'Waits until one of the queues (orchestrator, worker, outbox, queue:<name>, task:<id>, instance:<id>, owner:<id>) may have work, at most for the timeout. Holds no transaction, snapshot or lock while it waits.';

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: entries; Type: TABLE; Schema: kept; Owner: upgrade_owner
--

CREATE TABLE kept.entries (
    what text NOT NULL,
    value text NOT NULL
);

ALTER TABLE kept.entries OWNER TO upgrade_owner;

--
-- Name: attempts; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.attempts (
    task_id uuid NOT NULL,
    attempt_index integer NOT NULL,
    lease_count integer NOT NULL,
    epoch bigint NOT NULL,
    started_ms bigint NOT NULL,
    ended_ms bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    worker text NOT NULL COLLATE pg_catalog."C",
    worker_instance text NOT NULL COLLATE pg_catalog."C",
    error jsonb,
    CONSTRAINT attempts_outcome_check CHECK ((outcome = ANY (ARRAY['success'::text, 'retry'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text, 'expired'::text])))
)
WITH (vacuum_truncate=off);

ALTER TABLE old.attempts OWNER TO upgrade_owner;

--
-- Name: TABLE attempts; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.attempts IS 'Attempts that have ended without completing their task, and those before a replay; rows do not change. View task_attempts has all.';

--
-- Name: COLUMN attempts.epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.attempts.epoch IS 'Epoch of the last lease of the attempt.';

--
-- Name: belay_hub; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.belay_hub (
    uuid uuid NOT NULL,
    api text NOT NULL,
    version integer NOT NULL,
    incarnation integer NOT NULL,
    epoch_floor bigint NOT NULL,
    options jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    mark belay.hub_mark NOT NULL
);

ALTER TABLE old.belay_hub OWNER TO upgrade_owner;

--
-- Name: TABLE belay_hub; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.belay_hub IS 'The hub of this schema; exactly one row.';

--
-- Name: cancel_backlog; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.cancel_backlog (
    flow_id uuid NOT NULL,
    requested_at_ms bigint NOT NULL,
    grace_until_ms bigint NOT NULL,
    requester text NOT NULL,
    reason text NOT NULL,
    cancellation_policy text NOT NULL COLLATE pg_catalog."C"
)
WITH (vacuum_truncate=off);

ALTER TABLE old.cancel_backlog OWNER TO upgrade_owner;

--
-- Name: TABLE cancel_backlog; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.cancel_backlog IS 'Cancelled flows with members whose workers have not acknowledged the cancellation yet.';

--
-- Name: cancel_backlog_members; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.cancel_backlog_members (
    flow_id uuid NOT NULL,
    task_id uuid NOT NULL,
    lease_epoch bigint NOT NULL,
    worker text NOT NULL COLLATE pg_catalog."C",
    worker_instance text NOT NULL COLLATE pg_catalog."C"
)
WITH (vacuum_truncate=off);

ALTER TABLE old.cancel_backlog_members OWNER TO upgrade_owner;

--
-- Name: TABLE cancel_backlog_members; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.cancel_backlog_members IS 'Members of cancelled flows whose workers have not acknowledged the cancellation yet.';

--
-- Name: COLUMN cancel_backlog_members.lease_epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_members.lease_epoch IS 'Epoch of the lease that was revoked.';

--
-- Name: cancel_backlog_open; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.cancel_backlog_open AS
 SELECT b.flow_id,
    m.task_id,
    m.worker,
    m.worker_instance,
    m.lease_epoch,
    b.requester,
    b.reason,
    b.requested_at_ms,
    b.grace_until_ms
   FROM (old.cancel_backlog b
     JOIN old.cancel_backlog_members m ON ((m.flow_id = b.flow_id)));

ALTER TABLE old.cancel_backlog_open OWNER TO upgrade_owner;

--
-- Name: VIEW cancel_backlog_open; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.cancel_backlog_open IS 'Members of cancelled flows whose workers have not acknowledged the cancellation yet.';

--
-- Name: COLUMN cancel_backlog_open.flow_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.flow_id IS 'The cancelled flow.';

--
-- Name: COLUMN cancel_backlog_open.task_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.task_id IS 'The member whose lease was revoked.';

--
-- Name: COLUMN cancel_backlog_open.worker; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.worker IS 'Worker that had the lease.';

--
-- Name: COLUMN cancel_backlog_open.worker_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.worker_instance IS 'Process that had the lease.';

--
-- Name: COLUMN cancel_backlog_open.lease_epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.lease_epoch IS 'Epoch of the revoked lease.';

--
-- Name: COLUMN cancel_backlog_open.requester; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.requester IS 'As given to cancel_flow.';

--
-- Name: COLUMN cancel_backlog_open.reason; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.reason IS 'As given to cancel_flow.';

--
-- Name: COLUMN cancel_backlog_open.requested_at_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.requested_at_ms IS 'When the flow was cancelled.';

--
-- Name: COLUMN cancel_backlog_open.grace_until_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.cancel_backlog_open.grace_until_ms IS 'Until when the worker can acknowledge; then the row is deleted.';

--
-- Name: capability_sets; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.capability_sets (
    id integer NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    tokens text[] NOT NULL,
    CONSTRAINT capability_sets_id_check CHECK ((id > 0))
);

ALTER TABLE old.capability_sets OWNER TO upgrade_owner;

--
-- Name: TABLE capability_sets; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.capability_sets IS 'Distinct sets of capabilities that tasks of a queue require, sorted.';

--
-- Name: COLUMN capability_sets.digest; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.capability_sets.digest IS 'SHA-256 of the tokens: they may be longer than an index entry.';

--
-- Name: capability_sets_id; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.capability_sets_id
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.capability_sets_id OWNER TO upgrade_owner;

--
-- Name: SEQUENCE capability_sets_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.capability_sets_id IS 'Ids of capability sets.';

--
-- Name: cascade_queue; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.cascade_queue (
    flow_id uuid NOT NULL,
    task_id uuid NOT NULL,
    enqueued_at_ms bigint NOT NULL,
    what text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT cascade_queue_what_check CHECK ((what = ANY (ARRAY['dispatch'::text, 'sibling_cancel'::text, 'fail_fast'::text])))
)
WITH (vacuum_truncate=off);

ALTER TABLE old.cascade_queue OWNER TO upgrade_owner;

--
-- Name: TABLE cascade_queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.cascade_queue IS 'Work that a call left to the duties dispatch_sweep and sibling_cancel, because there was too much of it or a row was locked.';

--
-- Name: dead_letters; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.dead_letters (
    id bigint NOT NULL,
    queue text NOT NULL,
    source_id bigint NOT NULL,
    instance_id text COLLATE pg_catalog."C",
    execution_id bigint,
    activity_id bigint,
    session_id text COLLATE pg_catalog."C",
    tag text COLLATE pg_catalog."C",
    work_item text NOT NULL,
    attempt_count integer NOT NULL,
    reason text NOT NULL,
    detail text,
    enqueued_at timestamp with time zone NOT NULL,
    dead_at timestamp with time zone NOT NULL,
    CONSTRAINT dead_letters_queue_check CHECK ((queue = ANY (ARRAY['orchestrator'::text, 'worker'::text, 'intent'::text]))),
    CONSTRAINT dead_letters_reason_check CHECK ((reason = ANY (ARRAY['max_attempts'::text, 'orphan'::text, 'undeliverable'::text])))
);

ALTER TABLE old.dead_letters OWNER TO upgrade_owner;

--
-- Name: TABLE dead_letters; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.dead_letters IS 'Queue items set aside, with the reason.';

--
-- Name: dead_letter_summary; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.dead_letter_summary AS
 SELECT d.queue,
    d.reason,
    count(*) AS items,
    min(d.dead_at) AS oldest_dead_at,
    max(d.dead_at) AS newest_dead_at
   FROM ( SELECT x.queue,
            x.reason,
            x.dead_at
           FROM old.dead_letters x
          ORDER BY x.id DESC
         LIMIT 10000) d
  GROUP BY d.queue, d.reason;

ALTER TABLE old.dead_letter_summary OWNER TO upgrade_owner;

--
-- Name: VIEW dead_letter_summary; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.dead_letter_summary IS 'Number and age of dead letters by queue and reason, of the newest 10,000.';

--
-- Name: COLUMN dead_letter_summary.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.dead_letter_summary.queue IS 'worker, orchestrator or intent.';

--
-- Name: COLUMN dead_letter_summary.reason; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.dead_letter_summary.reason IS 'Reason of the dead letters.';

--
-- Name: COLUMN dead_letter_summary.items; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.dead_letter_summary.items IS 'Number of dead letters.';

--
-- Name: COLUMN dead_letter_summary.oldest_dead_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.dead_letter_summary.oldest_dead_at IS 'When the oldest of them was set aside.';

--
-- Name: COLUMN dead_letter_summary.newest_dead_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.dead_letter_summary.newest_dead_at IS 'When the newest of them was set aside.';

--
-- Name: dead_letters_id; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.dead_letters_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.dead_letters_id OWNER TO upgrade_owner;

--
-- Name: SEQUENCE dead_letters_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.dead_letters_id IS 'Ids of dead letters.';

--
-- Name: dedup_keys; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.dedup_keys (
    queue text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    task_id uuid NOT NULL,
    window_until_ms bigint NOT NULL
)
WITH (fillfactor='90', vacuum_truncate=off);

ALTER TABLE old.dedup_keys OWNER TO upgrade_owner;

--
-- Name: TABLE dedup_keys; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.dedup_keys IS 'Keys that make the creation of tasks idempotent, with the time until which each is kept.';

--
-- Name: edges; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.edges (
    flow_id uuid NOT NULL,
    downstream_id uuid NOT NULL,
    upstream_id uuid NOT NULL,
    resolved_at_ms bigint,
    state text NOT NULL COLLATE pg_catalog."C",
    pass_as text COLLATE pg_catalog."C",
    CONSTRAINT edges_check CHECK ((upstream_id <> downstream_id)),
    CONSTRAINT edges_sound CHECK (((state = 'unsatisfied'::text) = (resolved_at_ms IS NULL))),
    CONSTRAINT edges_state_check CHECK ((state = ANY (ARRAY['unsatisfied'::text, 'satisfied'::text, 'impossible'::text])))
)
WITH (fillfactor='80', vacuum_truncate=off);

ALTER TABLE old.edges OWNER TO upgrade_owner;

--
-- Name: TABLE edges; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.edges IS 'Edges of flows: the tasks that a task waits for.';

--
-- Name: executions; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.executions (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    execution_id bigint NOT NULL,
    status text NOT NULL,
    output text,
    started_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    duroxide_version_major integer,
    duroxide_version_minor integer,
    duroxide_version_patch integer,
    CONSTRAINT executions_status_check CHECK ((status = ANY (ARRAY['Running'::text, 'Completed'::text, 'Failed'::text, 'ContinuedAsNew'::text])))
)
WITH (fillfactor='85', vacuum_truncate=off);

ALTER TABLE old.executions OWNER TO upgrade_owner;

--
-- Name: TABLE executions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.executions IS 'The runs of each instance, with status, output and pinned client version.';

--
-- Name: flows; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.flows (
    id uuid NOT NULL,
    graph_revision bigint NOT NULL,
    member_count bigint NOT NULL,
    open_count bigint NOT NULL,
    bad_sink_count bigint NOT NULL,
    edge_count bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    terminal_at_ms bigint,
    sealed boolean NOT NULL,
    struck boolean NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    fail_policy text NOT NULL COLLATE pg_catalog."C",
    cancellation_policy text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    cancel_reason text,
    cancelled_by text,
    tags jsonb NOT NULL,
    CONSTRAINT flows_cancellation_policy_check CHECK ((cancellation_policy = ANY (ARRAY['cancel_all'::text, 'cancel_pending'::text, 'flow_only'::text]))),
    CONSTRAINT flows_check CHECK (((open_count >= 0) AND (open_count <= member_count))),
    CONSTRAINT flows_check1 CHECK (((bad_sink_count >= 0) AND (bad_sink_count <= (member_count - open_count)))),
    CONSTRAINT flows_check2 CHECK (((NOT struck) OR ((state = 'failed'::text) AND (fail_policy = 'fail_fast'::text)))),
    CONSTRAINT flows_edge_count_check CHECK ((edge_count >= 0)),
    CONSTRAINT flows_fail_policy_check CHECK ((fail_policy = ANY (ARRAY['continue'::text, 'fail_fast'::text]))),
    CONSTRAINT flows_graph_revision_check CHECK ((graph_revision >= 1)),
    CONSTRAINT flows_sound CHECK ((((terminal_at_ms IS NOT NULL) = (state = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text]))) AND ((cancellation_policy IS NOT NULL) = (state = 'cancelled'::text)) AND ((state = 'open'::text) <= (NOT sealed)) AND ((state = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])) <= sealed))),
    CONSTRAINT flows_state_check CHECK ((state = ANY (ARRAY['open'::text, 'running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (fillfactor='70', vacuum_truncate=off);

ALTER TABLE old.flows OWNER TO upgrade_owner;

--
-- Name: TABLE flows; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.flows IS 'Flows and their counts. Read view flow_summary, or get_flow, instead.';

--
-- Name: COLUMN flows.open_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flows.open_count IS 'Number of members that have not ended.';

--
-- Name: COLUMN flows.bad_sink_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flows.bad_sink_count IS 'Number of members without outgoing edges that have ended in another state than completed.';

--
-- Name: COLUMN flows.struck; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flows.struck IS 'True if fail policy fail_fast has ended the flow and its other members are being cancelled.';

--
-- Name: tasks; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.tasks (
    id uuid NOT NULL,
    cap_set integer NOT NULL,
    priority integer NOT NULL,
    attempt_index integer NOT NULL,
    slot smallint NOT NULL,
    held boolean NOT NULL,
    available_at_ms bigint,
    lease_check_ms bigint,
    deadline_ms bigint,
    terminal_at_ms bigint,
    state text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    flow_id uuid,
    lease_epoch bigint NOT NULL,
    start_delay_ms bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    lease_until_ms bigint,
    attempt_started_ms bigint,
    attempt_deadline_ms bigint,
    started_at_ms bigint,
    progress_at_ms bigint,
    lease_nonce uuid,
    attempt_leases integer NOT NULL,
    retry_count integer NOT NULL,
    reclaim_count integer NOT NULL,
    replay_count integer NOT NULL,
    pending_attempt text NOT NULL COLLATE pg_catalog."C",
    attempt_kind text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    flow_key text COLLATE pg_catalog."C",
    dedup_key text COLLATE pg_catalog."C",
    lease_owner text COLLATE pg_catalog."C",
    lease_worker text COLLATE pg_catalog."C",
    attempt_worker text COLLATE pg_catalog."C",
    attempt_worker_instance text COLLATE pg_catalog."C",
    failure_class text COLLATE pg_catalog."C",
    failure_message text,
    cancel_reason text,
    cancelled_by text,
    progress_pct numeric,
    progress_message text,
    payload jsonb,
    result jsonb,
    checkpoint jsonb,
    tags jsonb NOT NULL,
    policy jsonb,
    failure_details jsonb,
    CONSTRAINT tasks_sound CHECK (belay.task_is_sound(state, pending_attempt, attempt_kind, lease_owner, lease_worker, lease_until_ms, lease_check_ms, available_at_ms, terminal_at_ms, attempt_started_ms, attempt_deadline_ms, attempt_worker, attempt_worker_instance, attempt_leases, attempt_index, retry_count, reclaim_count, replay_count, priority, lease_epoch, start_delay_ms))
)
WITH (fillfactor='70', toast_tuple_target='256', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.tasks OWNER TO upgrade_owner;

--
-- Name: TABLE tasks; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.tasks IS 'Tasks. Read views task_states and task_attempts, or get_task, instead.';

--
-- Name: COLUMN tasks.cap_set; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.cap_set IS '0 = needs no capability; else a row of capability_sets.';

--
-- Name: COLUMN tasks.slot; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.slot IS 'Slot of the task, 0 unless the hub option slot_count is above 1.';

--
-- Name: COLUMN tasks.held; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.held IS 'Blocked until its open flow is sealed.';

--
-- Name: COLUMN tasks.lease_check_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.lease_check_ms IS 'When the duty lease_expiry checks the lease next; at the latest at its deadline.';

--
-- Name: COLUMN tasks.lease_epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.lease_epoch IS 'Fencing number of worker calls: increases when a lease is granted (by a random step) or lost, and at a replay.';

--
-- Name: COLUMN tasks.lease_nonce; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.lease_nonce IS '128 random bits of the current or last lease; part of the lease id that the claim returned.';

--
-- Name: COLUMN tasks.attempt_leases; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.attempt_leases IS 'Leases of the attempt that runs, is paused, or has completed the task.';

--
-- Name: COLUMN tasks.pending_attempt; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.pending_attempt IS 'The kind of the next claim: it begins an attempt (initial, retry, replay) or continues one (reclaim, snooze, resume). For an active task, the kind of its claim.';

--
-- Name: COLUMN tasks.attempt_kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.attempt_kind IS 'How the attempt began that runs, is paused, or has completed the task.';

--
-- Name: flow_summary; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.flow_summary AS
 SELECT f.id AS flow_id,
    f.kind,
    f.state,
    f.member_count AS members,
    COALESCE(c.blocked, (0)::bigint) AS blocked,
    COALESCE(c.delayed, (0)::bigint) AS delayed,
    COALESCE(c.ready, (0)::bigint) AS ready,
    COALESCE(c.active, (0)::bigint) AS active,
    COALESCE(c.suspended, (0)::bigint) AS suspended,
    COALESCE(c.completed, (0)::bigint) AS completed,
    COALESCE(c.failed, (0)::bigint) AS failed,
    COALESCE(c.cancelled, (0)::bigint) AS cancelled,
    COALESCE(c.expired, (0)::bigint) AS expired,
    COALESCE(c.skipped, (0)::bigint) AS skipped,
    c.first_started_ms,
        CASE
            WHEN (f.open_count = 0) THEN c.last_ended_ms
            ELSE NULL::bigint
        END AS last_ended_ms,
    (COALESCE(f.terminal_at_ms, n.ms) - f.created_at_ms) AS age_ms
   FROM ((old.flows f
     CROSS JOIN ( SELECT (floor((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision)))::bigint AS ms) n)
     LEFT JOIN LATERAL ( SELECT count(*) FILTER (WHERE (t.state = 'blocked'::text)) AS blocked,
            count(*) FILTER (WHERE (t.state = 'delayed'::text)) AS delayed,
            count(*) FILTER (WHERE (t.state = 'ready'::text)) AS ready,
            count(*) FILTER (WHERE (t.state = 'active'::text)) AS active,
            count(*) FILTER (WHERE (t.state = 'suspended'::text)) AS suspended,
            count(*) FILTER (WHERE (t.state = 'completed'::text)) AS completed,
            count(*) FILTER (WHERE (t.state = 'failed'::text)) AS failed,
            count(*) FILTER (WHERE (t.state = 'cancelled'::text)) AS cancelled,
            count(*) FILTER (WHERE (t.state = 'expired'::text)) AS expired,
            count(*) FILTER (WHERE (t.state = 'skipped'::text)) AS skipped,
            min(t.started_at_ms) AS first_started_ms,
            max(t.terminal_at_ms) AS last_ended_ms
           FROM old.tasks t
          WHERE (t.flow_id = f.id)) c ON (true));

ALTER TABLE old.flow_summary OWNER TO upgrade_owner;

--
-- Name: VIEW flow_summary; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.flow_summary IS 'Flows with the number of members in each state, the first start, the last end and the age.';

--
-- Name: COLUMN flow_summary.flow_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.flow_id IS 'The flow.';

--
-- Name: COLUMN flow_summary.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.kind IS 'As given to create_flow.';

--
-- Name: COLUMN flow_summary.state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.state IS 'open, running, completed, failed or cancelled.';

--
-- Name: COLUMN flow_summary.members; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.members IS 'Number of tasks of the flow.';

--
-- Name: COLUMN flow_summary.blocked; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.blocked IS 'Number of members that are blocked.';

--
-- Name: COLUMN flow_summary.delayed; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.delayed IS 'Number of members that are delayed.';

--
-- Name: COLUMN flow_summary.ready; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.ready IS 'Number of members that are ready.';

--
-- Name: COLUMN flow_summary.active; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.active IS 'Number of members that are active.';

--
-- Name: COLUMN flow_summary.suspended; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.suspended IS 'Number of members that are suspended.';

--
-- Name: COLUMN flow_summary.completed; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.completed IS 'Number of members that are completed.';

--
-- Name: COLUMN flow_summary.failed; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.failed IS 'Number of members that are failed.';

--
-- Name: COLUMN flow_summary.cancelled; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.cancelled IS 'Number of members that are cancelled.';

--
-- Name: COLUMN flow_summary.expired; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.expired IS 'Number of members that are expired.';

--
-- Name: COLUMN flow_summary.skipped; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.skipped IS 'Number of members that are skipped.';

--
-- Name: COLUMN flow_summary.first_started_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.first_started_ms IS 'When a member was claimed for the first time.';

--
-- Name: COLUMN flow_summary.last_ended_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.last_ended_ms IS 'When the last member ended; null while a member is open.';

--
-- Name: COLUMN flow_summary.age_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.flow_summary.age_ms IS 'Time from the creation of the flow to its end, or until now.';

--
-- Name: groups; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.groups (
    downstream_id uuid NOT NULL,
    flow_id uuid NOT NULL,
    closed_at_ms bigint,
    k integer NOT NULL,
    total integer NOT NULL,
    satisfied integer NOT NULL,
    failed integer NOT NULL,
    skipped integer NOT NULL,
    policy text NOT NULL COLLATE pg_catalog."C",
    on_satisfied text COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT groups_failed_check CHECK ((failed >= 0)),
    CONSTRAINT groups_k_check CHECK ((k >= 0)),
    CONSTRAINT groups_on_satisfied_check CHECK ((on_satisfied = ANY (ARRAY['cancel_remaining'::text, 'let_run'::text]))),
    CONSTRAINT groups_policy_check CHECK ((policy = ANY (ARRAY['all_of'::text, 'any_of'::text, 'quorum'::text]))),
    CONSTRAINT groups_satisfied_check CHECK ((satisfied >= 0)),
    CONSTRAINT groups_skipped_check CHECK ((skipped >= 0)),
    CONSTRAINT groups_sound CHECK (((((satisfied + failed) + skipped) <= total) AND ((state = 'open'::text) = (closed_at_ms IS NULL)) AND ((on_satisfied IS NULL) = (policy = 'all_of'::text)) AND ((policy = 'quorum'::text) = (k > 0)))),
    CONSTRAINT groups_state_check CHECK ((state = ANY (ARRAY['open'::text, 'satisfied'::text, 'impossible'::text])))
)
WITH (fillfactor='80', vacuum_truncate=off);

ALTER TABLE old.groups OWNER TO upgrade_owner;

--
-- Name: TABLE groups; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.groups IS 'Incoming edges of each task taken together: their join, and how many are resolved.';

--
-- Name: history_turns; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.history_turns (
    execution_id bigint NOT NULL,
    first_event_id bigint NOT NULL,
    last_event_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    instance_id text NOT NULL COLLATE pg_catalog."C",
    event_types text[] NOT NULL,
    event_data text[] NOT NULL,
    jsonb_bytes bigint,
    CONSTRAINT history_turns_events CHECK (((first_event_id <= last_event_id) AND (cardinality(event_types) = ((last_event_id - first_event_id) + 1)) AND (cardinality(event_data) = ((last_event_id - first_event_id) + 1)) AND (array_position(event_types, NULL::text) IS NULL) AND (array_position(event_data, NULL::text) IS NULL)))
)
WITH (vacuum_truncate=off);

ALTER TABLE old.history_turns OWNER TO upgrade_owner;

--
-- Name: TABLE history_turns; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.history_turns IS 'Append-only events of each execution, those of a turn in one row. Read view history instead.';

--
-- Name: COLUMN history_turns.event_types; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history_turns.event_types IS 'Of the events from first_event_id to last_event_id, in order; event_data likewise.';

--
-- Name: COLUMN history_turns.jsonb_bytes; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history_turns.jsonb_bytes IS 'What the events of event_data take as jsonb, at most; NULL if that is not known, or one cannot be jsonb. To change event_data by hand, clear it.';

--
-- Name: history; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.history AS
 SELECT t.instance_id,
    t.execution_id,
    (t.first_event_id + (e.nr - 1)) AS event_id,
    e.event_type,
    e.event_data,
    t.created_at
   FROM (old.history_turns t
     CROSS JOIN LATERAL UNNEST(t.event_types, t.event_data) WITH ORDINALITY e(event_type, event_data, nr));

ALTER TABLE old.history OWNER TO upgrade_owner;

--
-- Name: VIEW history; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.history IS 'Events of each execution.';

--
-- Name: COLUMN history.instance_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history.instance_id IS 'The instance.';

--
-- Name: COLUMN history.execution_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history.execution_id IS 'The execution.';

--
-- Name: COLUMN history.event_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history.event_id IS 'The event''s place in the execution.';

--
-- Name: COLUMN history.event_type; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history.event_type IS 'Type of the event.';

--
-- Name: COLUMN history.event_data; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history.event_data IS 'The event''s JSON, as it was sent.';

--
-- Name: COLUMN history.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.history.created_at IS 'When the event was stored.';

--
-- Name: intent_links; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.intent_links (
    target_hub text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE old.intent_links OWNER TO upgrade_owner;

--
-- Name: TABLE intent_links; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.intent_links IS 'Foreign servers of hubs in other databases. Read view hub_links instead.';

--
-- Name: hub_links; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.hub_links AS
 SELECT l.target_hub,
    l.server,
    l.created_at
   FROM old.intent_links l;

ALTER TABLE old.hub_links OWNER TO upgrade_owner;

--
-- Name: VIEW hub_links; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.hub_links IS 'Foreign servers through which intents are delivered to hubs of other databases. belay.create_hub_link creates them.';

--
-- Name: COLUMN hub_links.target_hub; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.hub_links.target_hub IS 'Name of the target, as senders use it.';

--
-- Name: COLUMN hub_links.server; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.hub_links.server IS 'Foreign server of the target''s database.';

--
-- Name: COLUMN hub_links.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.hub_links.created_at IS 'When the link was created.';

--
-- Name: instance_locks; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.instance_locks (
    instance_key bigint NOT NULL,
    locked_until bigint NOT NULL,
    locked_at bigint NOT NULL,
    lock_no bigint NOT NULL,
    nonce_hi bigint NOT NULL,
    nonce_lo bigint NOT NULL,
    cache_owner bigint NOT NULL,
    cache_event bigint NOT NULL,
    lease_inc integer NOT NULL,
    instance_id text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.instance_locks OWNER TO upgrade_owner;

--
-- Name: TABLE instance_locks; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.instance_locks IS 'The lock of each instance''s turn. Read view instance_lock_states instead.';

--
-- Name: instance_lock_states; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.instance_lock_states AS
 SELECT l.instance_id,
    belay.turn_token(l.instance_key, l.lock_no, l.lease_inc, l.nonce_hi, l.nonce_lo) AS lock_token,
    l.locked_until,
    l.locked_at
   FROM old.instance_locks l
  WHERE (l.lock_no <> 0);

ALTER TABLE old.instance_lock_states OWNER TO upgrade_owner;

--
-- Name: VIEW instance_lock_states; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.instance_lock_states IS 'Locks of turns, live or expired, with tokens; for the hub''s owner only.';

--
-- Name: COLUMN instance_lock_states.instance_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.instance_lock_states.instance_id IS 'The instance.';

--
-- Name: COLUMN instance_lock_states.lock_token; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.instance_lock_states.lock_token IS 'Token of the turn.';

--
-- Name: COLUMN instance_lock_states.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.instance_lock_states.locked_until IS 'Deadline of the lock in ms; expired if it is in the past.';

--
-- Name: COLUMN instance_lock_states.locked_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.instance_lock_states.locked_at IS 'When the turn was fetched.';

--
-- Name: instance_locks_no; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.instance_locks_no
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.instance_locks_no OWNER TO upgrade_owner;

--
-- Name: SEQUENCE instance_locks_no; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.instance_locks_no IS 'Numbers of instance locks, which connect the messages of a batch with its lock.';

--
-- Name: instances; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.instances (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    orchestration_name text NOT NULL,
    orchestration_version text,
    current_execution_id bigint NOT NULL,
    parent_instance_id text COLLATE pg_catalog."C",
    custom_status text,
    custom_status_version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
)
WITH (fillfactor='85', vacuum_truncate=off);

ALTER TABLE old.instances OWNER TO upgrade_owner;

--
-- Name: TABLE instances; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.instances IS 'Orchestration instances. The ack of the first turn inserts the row.';

--
-- Name: intent_queue; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.intent_queue (
    id bigint NOT NULL,
    source_uuid uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    visible_at timestamp with time zone,
    attempt_count integer NOT NULL,
    blocked boolean NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    target_hub text NOT NULL COLLATE pg_catalog."C",
    source_instance text NOT NULL COLLATE pg_catalog."C",
    target_instance text NOT NULL COLLATE pg_catalog."C",
    last_error text,
    work_item text NOT NULL,
    CONSTRAINT intent_queue_attempt_count_check CHECK ((attempt_count >= 0)),
    CONSTRAINT intent_queue_queue_check CHECK ((queue = ANY (ARRAY['orchestrator'::text, 'worker'::text])))
)
WITH (toast_tuple_target='512', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.intent_queue OWNER TO upgrade_owner;

--
-- Name: TABLE intent_queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.intent_queue IS 'Work items for other hubs that are not delivered yet. Read view intents instead.';

--
-- Name: COLUMN intent_queue.source_uuid; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intent_queue.source_uuid IS 'The uuid that this hub had when it wrote the intent.';

--
-- Name: COLUMN intent_queue.blocked; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intent_queue.blocked IS 'True if an earlier intent of the same source and target instance is not delivered yet.';

--
-- Name: COLUMN intent_queue.source_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intent_queue.source_instance IS 'Instance whose turn sent the intent; empty if send_to_hub sent it.';

--
-- Name: COLUMN intent_queue.target_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intent_queue.target_instance IS 'Instance that the intent is for; empty if there is none: then it is delivered in any order.';

--
-- Name: intent_queue_id; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.intent_queue_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.intent_queue_id OWNER TO upgrade_owner;

--
-- Name: SEQUENCE intent_queue_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.intent_queue_id IS 'Ids of intents. The id and the uuid of the hub are the key of a delivery.';

--
-- Name: intents; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.intents AS
 SELECT q.id AS intent_id,
    q.source_uuid,
        CASE
            WHEN (q.source_instance = ''::text) THEN NULL::text
            ELSE q.source_instance
        END AS source_instance,
    q.target_hub,
    q.queue,
        CASE
            WHEN (q.target_instance = ''::text) THEN NULL::text
            ELSE q.target_instance
        END AS target_instance,
    q.work_item,
    q.visible_at,
    q.created_at,
    q.attempt_count AS attempts,
        CASE
            WHEN q.blocked THEN NULL::timestamp with time zone
            ELSE q.next_try_at
        END AS next_try_at,
    q.last_error
   FROM old.intent_queue q;

ALTER TABLE old.intents OWNER TO upgrade_owner;

--
-- Name: VIEW intents; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.intents IS 'Work items for other hubs that are not delivered yet.';

--
-- Name: COLUMN intents.intent_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.intent_id IS 'Id of the intent. Intents of the same source and target instance are delivered in this order.';

--
-- Name: COLUMN intents.source_uuid; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.source_uuid IS 'Uuid of the sending hub. With the id it is the key by which the target recognizes a repeated delivery.';

--
-- Name: COLUMN intents.source_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.source_instance IS 'Instance whose turn sent the intent; null if send_to_hub sent it.';

--
-- Name: COLUMN intents.target_hub; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.target_hub IS 'Name of the target.';

--
-- Name: COLUMN intents.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.queue IS 'orchestrator or worker.';

--
-- Name: COLUMN intents.target_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.target_instance IS 'Instance that the intent is for; null if there is none.';

--
-- Name: COLUMN intents.work_item; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.work_item IS 'The item.';

--
-- Name: COLUMN intents.visible_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.visible_at IS 'When the item can be fetched from the target; null if at once.';

--
-- Name: COLUMN intents.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.created_at IS 'When the intent was sent.';

--
-- Name: COLUMN intents.attempts; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.attempts IS 'Number of failed deliveries.';

--
-- Name: COLUMN intents.next_try_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.next_try_at IS 'When the next delivery is due; null while an earlier intent of the same source and target instance is not delivered.';

--
-- Name: COLUMN intents.last_error; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intents.last_error IS 'Error of the last failed delivery.';

--
-- Name: intents_received; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.intents_received (
    source_uuid uuid NOT NULL,
    intent_id bigint NOT NULL,
    received_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.intents_received OWNER TO upgrade_owner;

--
-- Name: TABLE intents_received; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.intents_received IS 'Keys of received intents, so that a repeated delivery is ignored.';

--
-- Name: kv_delta; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.kv_delta (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text,
    last_updated_at_ms bigint NOT NULL
)
WITH (vacuum_truncate=off);

ALTER TABLE old.kv_delta OWNER TO upgrade_owner;

--
-- Name: TABLE kv_delta; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.kv_delta IS 'Changes of the current execution; a NULL value is a tombstone.';

--
-- Name: kv_store; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.kv_store (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    execution_id bigint,
    last_updated_at_ms bigint NOT NULL
)
WITH (vacuum_truncate=off);

ALTER TABLE old.kv_store OWNER TO upgrade_owner;

--
-- Name: TABLE kv_store; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.kv_store IS 'Key/value state at the end of the last finished execution.';

--
-- Name: orchestrator_queue; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.orchestrator_queue (
    instance_key bigint NOT NULL,
    id bigint NOT NULL,
    visible_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    lock_no bigint NOT NULL,
    attempt_count integer NOT NULL,
    slot smallint NOT NULL,
    kind "char" NOT NULL,
    parked boolean NOT NULL,
    instance_id text NOT NULL COLLATE pg_catalog."C",
    parent_id text COLLATE pg_catalog."C",
    work_item text NOT NULL,
    CONSTRAINT orchestrator_queue_attempt_count_check CHECK ((attempt_count >= 0))
)
WITH (fillfactor='70', toast_tuple_target='512', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.orchestrator_queue OWNER TO upgrade_owner;

--
-- Name: TABLE orchestrator_queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.orchestrator_queue IS 'Messages to instances. Read view messages instead.';

--
-- Name: COLUMN orchestrator_queue.lock_no; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.orchestrator_queue.lock_no IS 'Number of the instance lock that leased the message; 0 = none.';

--
-- Name: COLUMN orchestrator_queue.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.orchestrator_queue.kind IS 's = start, n = continue-as-new, q = queue message, t = timer, o = other.';

--
-- Name: COLUMN orchestrator_queue.parked; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.orchestrator_queue.parked IS 'The message is for an instance that never started and is not in the claim index.';

--
-- Name: COLUMN orchestrator_queue.parent_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.orchestrator_queue.parent_id IS 'Parent that a start message names, so that deleting the parent finds the message.';

--
-- Name: messages; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.messages AS
 SELECT m.id,
    m.instance_id,
    m.work_item,
    m.visible_at,
    belay.turn_token(l.instance_key, l.lock_no, l.lease_inc, l.nonce_hi, l.nonce_lo) AS lock_token,
    l.locked_until,
    m.attempt_count,
    m.created_at
   FROM (old.orchestrator_queue m
     LEFT JOIN old.instance_locks l ON (((l.instance_key = m.instance_key) AND (l.instance_id = m.instance_id) AND (l.lock_no = m.lock_no) AND (m.lock_no <> 0))));

ALTER TABLE old.messages OWNER TO upgrade_owner;

--
-- Name: VIEW messages; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.messages IS 'The orchestrator queue, with tokens; for the hub''s owner only.';

--
-- Name: COLUMN messages.id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.id IS 'Queue id: the order of delivery.';

--
-- Name: COLUMN messages.instance_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.instance_id IS 'Instance that the message is for.';

--
-- Name: COLUMN messages.work_item; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.work_item IS 'The message, byte for byte.';

--
-- Name: COLUMN messages.visible_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.visible_at IS 'When the message can become part of a turn.';

--
-- Name: COLUMN messages.lock_token; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.lock_token IS 'Token of the turn that the message belongs to; null if there is none.';

--
-- Name: COLUMN messages.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.locked_until IS 'Deadline of that turn in ms.';

--
-- Name: COLUMN messages.attempt_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.attempt_count IS 'How often the message was part of a turn.';

--
-- Name: COLUMN messages.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.messages.created_at IS 'When it was enqueued.';

--
-- Name: orchestrator_queue_id; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.orchestrator_queue_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.orchestrator_queue_id OWNER TO upgrade_owner;

--
-- Name: SEQUENCE orchestrator_queue_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.orchestrator_queue_id IS 'Ids of the orchestrator queue: insertion order is delivery order.';

--
-- Name: outbox_events; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.outbox_events (
    incarnation integer NOT NULL,
    "position" bigint NOT NULL,
    xid xid8 NOT NULL,
    topic text NOT NULL,
    type text NOT NULL,
    subject text,
    details jsonb NOT NULL,
    occurred_at_ms bigint NOT NULL
)
WITH (vacuum_truncate=off);

ALTER TABLE old.outbox_events OWNER TO upgrade_owner;

--
-- Name: TABLE outbox_events; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.outbox_events IS 'Events, each written in the transaction of the change that it reports.';

--
-- Name: outbox_events_position; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.outbox_events_position
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.outbox_events_position OWNER TO upgrade_owner;

--
-- Name: SEQUENCE outbox_events_position; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.outbox_events_position IS 'Positions of events, in the order in which they were written.';

--
-- Name: outbox_gaps; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.outbox_gaps (
    subscription text NOT NULL COLLATE pg_catalog."C",
    last_incarnation integer NOT NULL,
    last_position bigint NOT NULL,
    first_incarnation integer NOT NULL,
    first_position bigint NOT NULL,
    events bigint NOT NULL,
    CONSTRAINT outbox_gaps_events_check CHECK ((events > 0))
)
WITH (vacuum_truncate=off);

ALTER TABLE old.outbox_gaps OWNER TO upgrade_owner;

--
-- Name: TABLE outbox_gaps; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.outbox_gaps IS 'Events that retention deleted before a subscription had read them. The next read_events moves the rows into the subscription.';

--
-- Name: outbox_subscriptions; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.outbox_subscriptions (
    name text NOT NULL COLLATE pg_catalog."C",
    topics text[],
    seen_incarnation integer NOT NULL,
    seen_position bigint NOT NULL,
    seen_xid xid8 NOT NULL,
    seen_xid_position bigint NOT NULL,
    final_xid xid8 NOT NULL,
    final_position bigint NOT NULL,
    lease bigint NOT NULL,
    lease_until bigint NOT NULL,
    lease_inc integer NOT NULL,
    last_incarnation integer NOT NULL,
    last_position bigint NOT NULL,
    lost_events bigint DEFAULT 0 NOT NULL,
    untold_events bigint DEFAULT 0 NOT NULL,
    untold_first text COLLATE pg_catalog."C",
    untold_last text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL
)
WITH (fillfactor='30', vacuum_truncate=off);

ALTER TABLE old.outbox_subscriptions OWNER TO upgrade_owner;

--
-- Name: TABLE outbox_subscriptions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.outbox_subscriptions IS 'Readers of the outbox, with their positions and the leases on the batches that are being read.';

--
-- Name: COLUMN outbox_subscriptions.lost_events; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.outbox_subscriptions.lost_events IS 'Events that retention deleted before they were read, without those in outbox_gaps.';

--
-- Name: COLUMN outbox_subscriptions.untold_events; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.outbox_subscriptions.untold_events IS 'Lost events that no acknowledged batch has reported yet; untold_first and untold_last are the first and the last of their ids.';

--
-- Name: pending_starts; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.pending_starts AS
 WITH RECURSIVE slots(slot) AS (
        ( SELECT q.slot
           FROM old.orchestrator_queue q
          WHERE (NOT q.parked)
          ORDER BY q.slot
         LIMIT 1)
        UNION ALL
         SELECT ( SELECT q.slot
                   FROM old.orchestrator_queue q
                  WHERE ((NOT q.parked) AND (q.slot > x.slot))
                  ORDER BY q.slot
                 LIMIT 1) AS slot
           FROM slots x
          WHERE (x.slot IS NOT NULL)
        )
 SELECT m.instance_id,
    json_extract_path_text((m.work_item)::json, VARIADIC ARRAY['StartOrchestration'::text, 'orchestration'::text]) AS orchestration_name,
    json_extract_path_text((m.work_item)::json, VARIADIC ARRAY['StartOrchestration'::text, 'version'::text]) AS orchestration_version,
    m.visible_at,
    m.created_at,
    m.attempt_count
   FROM (slots s
     CROSS JOIN LATERAL ( SELECT q.instance_id,
            q.work_item,
            q.kind,
            q.lock_no,
            q.visible_at,
            q.created_at,
            q.attempt_count
           FROM old.orchestrator_queue q
          WHERE ((NOT q.parked) AND (q.slot = s.slot))
          ORDER BY q.visible_at, q.id
         LIMIT GREATEST((1)::bigint, (500 / ( SELECT count(x.slot) AS count
                   FROM slots x)))) m)
  WHERE ((m.kind = 's'::"char") AND (m.lock_no = 0) AND (NOT (EXISTS ( SELECT
           FROM old.instances i
          WHERE (i.instance_id = m.instance_id)))));

ALTER TABLE old.pending_starts OWNER TO upgrade_owner;

--
-- Name: VIEW pending_starts; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.pending_starts IS 'Started instances that no dispatcher has picked up yet, of the first 500 messages, shared among the slots.';

--
-- Name: COLUMN pending_starts.instance_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.pending_starts.instance_id IS 'The instance.';

--
-- Name: COLUMN pending_starts.orchestration_name; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.pending_starts.orchestration_name IS 'Name of the orchestration.';

--
-- Name: COLUMN pending_starts.orchestration_version; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.pending_starts.orchestration_version IS 'Version of the orchestration; null if the start names none.';

--
-- Name: COLUMN pending_starts.visible_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.pending_starts.visible_at IS 'When a dispatcher can fetch the start.';

--
-- Name: COLUMN pending_starts.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.pending_starts.created_at IS 'When the start was sent.';

--
-- Name: COLUMN pending_starts.attempt_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.pending_starts.attempt_count IS 'How often a dispatcher fetched and abandoned the start.';

--
-- Name: queue_depths; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.queue_depths AS
 SELECT q.queue,
    q.paused,
    q.ready,
    q.delayed,
    q.blocked,
    q.active,
    q.suspended,
    q.overdue_leases,
    q.oldest_ready_age_ms,
    q.concurrency,
    q.rate_per_s,
    q.capped
   FROM old.list_queues() q(queue, paused, ready, delayed, blocked, active, suspended, overdue_leases, oldest_ready_age_ms, concurrency, rate_per_s, burst, owners, capped, paused_by, paused_at_ms);

ALTER TABLE old.queue_depths OWNER TO upgrade_owner;

--
-- Name: VIEW queue_depths; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.queue_depths IS 'Number of waiting, active and overdue tasks of each queue, and the age of its oldest ready task.';

--
-- Name: COLUMN queue_depths.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.queue IS 'Name of the queue.';

--
-- Name: COLUMN queue_depths.paused; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.paused IS 'Whether claims skip the queue.';

--
-- Name: COLUMN queue_depths.ready; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.ready IS 'Tasks that can be claimed.';

--
-- Name: COLUMN queue_depths.delayed; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.delayed IS 'Tasks that are not due yet.';

--
-- Name: COLUMN queue_depths.blocked; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.blocked IS 'Members of flows that wait for others.';

--
-- Name: COLUMN queue_depths.active; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.active IS 'Tasks with a lease.';

--
-- Name: COLUMN queue_depths.suspended; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.suspended IS 'Tasks that wait for signals.';

--
-- Name: COLUMN queue_depths.overdue_leases; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.overdue_leases IS 'Active tasks whose lease has expired.';

--
-- Name: COLUMN queue_depths.oldest_ready_age_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.oldest_ready_age_ms IS 'How long the oldest ready task has been ready; null if there is none.';

--
-- Name: COLUMN queue_depths.concurrency; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.concurrency IS 'Maximum number of active tasks; null: no limit.';

--
-- Name: COLUMN queue_depths.rate_per_s; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.rate_per_s IS 'Maximum number of claims per second; null: no limit.';

--
-- Name: COLUMN queue_depths.capped; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_depths.capped IS 'Names of the counts that stopped at their limit; the real ones may be larger.';

--
-- Name: queue_limits; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.queue_limits (
    queue text NOT NULL COLLATE pg_catalog."C",
    concurrency bigint,
    rate_per_s double precision,
    burst double precision NOT NULL,
    tokens double precision NOT NULL,
    refilled_at_ms bigint NOT NULL,
    active bigint NOT NULL,
    CONSTRAINT queue_limits_active_check CHECK ((active >= 0)),
    CONSTRAINT queue_limits_burst_check CHECK ((burst >= (1)::double precision)),
    CONSTRAINT queue_limits_concurrency_check CHECK ((concurrency >= 0)),
    CONSTRAINT queue_limits_rate_per_s_check CHECK ((rate_per_s > (0)::double precision)),
    CONSTRAINT queue_limits_some CHECK (((concurrency IS NOT NULL) OR (rate_per_s IS NOT NULL))),
    CONSTRAINT queue_limits_tokens_check CHECK ((tokens >= (0)::double precision))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.queue_limits OWNER TO upgrade_owner;

--
-- Name: TABLE queue_limits; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.queue_limits IS 'Limits of queues that have one. Claims that add up queue_moves update it; no claim waits for a lock on it.';

--
-- Name: COLUMN queue_limits.tokens; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_limits.tokens IS 'Tokens in the bucket at refilled_at_ms.';

--
-- Name: COLUMN queue_limits.active; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.queue_limits.active IS 'Number of active tasks of the queue, without the changes in queue_moves.';

--
-- Name: queue_moves; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.queue_moves (
    places bigint NOT NULL,
    at_ms bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE ONLY old.queue_moves REPLICA IDENTITY FULL;

ALTER TABLE old.queue_moves OWNER TO upgrade_owner;

--
-- Name: TABLE queue_moves; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.queue_moves IS 'Places of limited queues that claims have taken (above 0) and ended leases have returned (below 0), until a claim adds them to queue_limits.';

--
-- Name: queues; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.queues (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean NOT NULL,
    retention_ms bigint,
    created_at_ms bigint NOT NULL,
    policy jsonb,
    CONSTRAINT queues_retention_ms_check CHECK ((retention_ms >= 0))
);

ALTER TABLE old.queues OWNER TO upgrade_owner;

--
-- Name: TABLE queues; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.queues IS 'Queues and their settings. A queue without a row has the defaults.';

--
-- Name: schedules; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.schedules (
    name text NOT NULL COLLATE pg_catalog."C",
    cron text NOT NULL COLLATE pg_catalog."C",
    time_zone text NOT NULL COLLATE pg_catalog."C",
    catch_up text NOT NULL COLLATE pg_catalog."C",
    paused boolean NOT NULL,
    next_due_ms bigint NOT NULL,
    next_run_ms bigint NOT NULL,
    last_due_ms bigint,
    created_at_ms bigint NOT NULL,
    last_error text,
    task jsonb NOT NULL,
    CONSTRAINT schedules_catch_up_check CHECK ((catch_up = ANY (ARRAY['one'::text, 'all'::text, 'none'::text])))
)
WITH (fillfactor='70');

ALTER TABLE old.schedules OWNER TO upgrade_owner;

--
-- Name: TABLE schedules; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.schedules IS 'Schedules that create tasks. Read list_schedules instead.';

--
-- Name: COLUMN schedules.next_run_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.schedules.next_run_ms IS 'When the duty processes the schedule next: next_due_ms, or later after an error.';

--
-- Name: sessions; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.sessions (
    session_id text NOT NULL COLLATE pg_catalog."C",
    worker_id text NOT NULL COLLATE pg_catalog."C",
    locked_until bigint NOT NULL,
    last_activity_at bigint NOT NULL,
    lease_inc integer NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.sessions OWNER TO upgrade_owner;

--
-- Name: TABLE sessions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.sessions IS 'Sessions of work items, with the owner that claimed each and the deadline of the claim.';

--
-- Name: COLUMN sessions.lease_inc; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.sessions.lease_inc IS 'Incarnation of the hub in which the session was claimed.';

--
-- Name: signals; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.signals (
    task_id uuid NOT NULL,
    nr bigint NOT NULL,
    waitpoint_id uuid,
    suspension_nr integer,
    accepted_at_ms bigint NOT NULL,
    signal_id text NOT NULL COLLATE pg_catalog."C",
    idempotency_key text COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    source text COLLATE pg_catalog."C",
    payload jsonb,
    CONSTRAINT signals_nr_check CHECK ((nr > 0))
)
WITH (fillfactor='90', vacuum_truncate=off);

ALTER TABLE old.signals OWNER TO upgrade_owner;

--
-- Name: TABLE signals; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.signals IS 'Signals to tasks, in the order in which they were accepted.';

--
-- Name: COLUMN signals.suspension_nr; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.signals.suspension_nr IS 'Suspension that the signal reached; NULL while it is stored at a pending waitpoint.';

--
-- Name: slot_owners; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.slot_owners (
    queue text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    locked_until bigint NOT NULL,
    lease_inc integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.slot_owners OWNER TO upgrade_owner;

--
-- Name: TABLE slot_owners; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.slot_owners IS 'Owners with a share of the slots of a queue, and the deadlines of their leases.';

--
-- Name: COLUMN slot_owners.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.slot_owners.locked_until IS 'Deadline of the lease in ms.';

--
-- Name: COLUMN slot_owners.lease_inc; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.slot_owners.lease_inc IS 'Incarnation of the hub in which the lease was granted.';

--
-- Name: slot_shares; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.slot_shares (
    queue text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.slot_shares OWNER TO upgrade_owner;

--
-- Name: TABLE slot_shares; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.slot_shares IS 'The owner of each slot. Read view slot_leases instead.';

--
-- Name: slot_leases; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.slot_leases AS
 SELECT s.queue,
    s.slot,
    s.owner AS owner_id,
    o.locked_until
   FROM (old.slot_shares s
     JOIN old.slot_owners o ON (((o.queue = s.queue) AND (o.owner = s.owner))));

ALTER TABLE old.slot_leases OWNER TO upgrade_owner;

--
-- Name: VIEW slot_leases; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.slot_leases IS 'Owners of the slots of each queue, with the end of their lease. An expired lease stays until another owner takes the slot.';

--
-- Name: COLUMN slot_leases.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.slot_leases.queue IS 'orchestrator or worker.';

--
-- Name: COLUMN slot_leases.slot; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.slot_leases.slot IS 'Number of the slot.';

--
-- Name: COLUMN slot_leases.owner_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.slot_leases.owner_id IS 'Owner of the slot.';

--
-- Name: COLUMN slot_leases.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.slot_leases.locked_until IS 'End of the lease in ms.';

--
-- Name: stat_marks; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.stat_marks (
    queue text NOT NULL COLLATE pg_catalog."C",
    task_queue text NOT NULL COLLATE pg_catalog."C",
    counted_since bigint NOT NULL,
    numbers bigint[] NOT NULL,
    CONSTRAINT stat_marks_queue_check CHECK ((queue = ANY (ARRAY['orchestrator'::text, 'worker'::text, 'tasks'::text, 'off'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.stat_marks OWNER TO upgrade_owner;

--
-- Name: TABLE stat_marks; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.stat_marks IS 'How the counters of shared memory stood when the duty stat_minutes last recorded them.';

--
-- Name: COLUMN stat_marks.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_marks.queue IS 'orchestrator, worker or tasks; off: nothing is recorded.';

--
-- Name: COLUMN stat_marks.task_queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_marks.task_queue IS 'Queue of the tasks; empty: all, and the other queues.';

--
-- Name: COLUMN stat_marks.counted_since; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_marks.counted_since IS 'Since when the counters counted: they begin anew after a restart or a reset.';

--
-- Name: COLUMN stat_marks.numbers; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_marks.numbers IS 'The counters, then buckets and sum of each duration.';

--
-- Name: stat_minutes; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.stat_minutes (
    queue text NOT NULL COLLATE pg_catalog."C",
    task_queue text NOT NULL COLLATE pg_catalog."C",
    minute_ms bigint NOT NULL,
    counts bigint[] NOT NULL,
    wait_buckets integer[] NOT NULL,
    wait_sum_ms bigint NOT NULL,
    run_buckets integer[] NOT NULL,
    run_sum_ms bigint NOT NULL,
    depth bigint,
    oldest_ms bigint,
    CONSTRAINT stat_minutes_queue_check CHECK ((queue = ANY (ARRAY['orchestrator'::text, 'worker'::text, 'tasks'::text])))
);

ALTER TABLE old.stat_minutes OWNER TO upgrade_owner;

--
-- Name: TABLE stat_minutes; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.stat_minutes IS 'What happened in each minute in which something did, as the duty stat_minutes recorded it. Read stat_series instead.';

--
-- Name: COLUMN stat_minutes.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.queue IS 'orchestrator, worker or tasks.';

--
-- Name: COLUMN stat_minutes.task_queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.task_queue IS 'Queue of the tasks; empty: all, and the other queues.';

--
-- Name: COLUMN stat_minutes.minute_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.minute_ms IS 'Begin of the minute in which the row was written: it has what came since the row before.';

--
-- Name: COLUMN stat_minutes.counts; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.counts IS 'created, claimed, completed, failed, retried, cancelled, expired, lost.';

--
-- Name: COLUMN stat_minutes.wait_buckets; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.wait_buckets IS 'Durations from ready to leased, by the buckets of view belay.pg_stat_belay_latency.';

--
-- Name: COLUMN stat_minutes.wait_sum_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.wait_sum_ms IS 'Their sum.';

--
-- Name: COLUMN stat_minutes.run_buckets; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.run_buckets IS 'Durations of leases, of tasks those of attempts.';

--
-- Name: COLUMN stat_minutes.run_sum_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.run_sum_ms IS 'Their sum.';

--
-- Name: COLUMN stat_minutes.depth; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.depth IS 'How much was ready at the end, counted up to 1000; null if that was not looked at.';

--
-- Name: COLUMN stat_minutes.oldest_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.stat_minutes.oldest_ms IS 'How long the oldest of them had been ready.';

--
-- Name: subscriptions; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.subscriptions AS
 SELECT s.name,
    s.topics,
    g.lag_rows,
    g.lag_seconds,
        CASE
            WHEN (s.lease_until > 0) THEN to_timestamp(((s.lease_until)::double precision / (1000)::double precision))
            ELSE NULL::timestamp with time zone
        END AS lease_until,
    belay.event_horizon_pid(s.tableoid) AS horizon_pid,
    s.created_at,
    (s.lost_events + l.events) AS lost_events
   FROM ((old.outbox_subscriptions s
     CROSS JOIN LATERAL ( SELECT count(*) FILTER (WHERE x.wanted) AS lag_rows,
            GREATEST((0)::double precision, (date_part('epoch'::text, clock_timestamp()) - ((COALESCE(min(x.occurred_at_ms) FILTER (WHERE x.wanted),
                CASE
                    WHEN (count(*) >= 10000) THEN max(x.occurred_at_ms)
                    ELSE NULL::bigint
                END))::double precision / (1000)::double precision))) AS lag_seconds
           FROM ( SELECT e.occurred_at_ms,
                    (((e.incarnation > s.seen_incarnation) OR (ROW(e.xid, e."position") > ROW(s.seen_xid, s.seen_xid_position))) AND ((s.topics IS NULL) OR (e.topic = ANY (s.topics)))) AS wanted
                   FROM old.outbox_events e
                  WHERE (ROW(e.incarnation, e."position") > ROW(s.seen_incarnation, s.seen_position))
                  ORDER BY e.incarnation, e."position"
                 LIMIT 10000) x) g)
     CROSS JOIN LATERAL ( SELECT (COALESCE(sum(p.events), (0)::numeric))::bigint AS events
           FROM old.outbox_gaps p
          WHERE (p.subscription = s.name)) l);

ALTER TABLE old.subscriptions OWNER TO upgrade_owner;

--
-- Name: VIEW subscriptions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.subscriptions IS 'Subscriptions, with the number and age of the events that each has not read, the lease of its batch, and the process that delays it.';

--
-- Name: COLUMN subscriptions.name; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.name IS 'Name of the subscription.';

--
-- Name: COLUMN subscriptions.topics; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.topics IS 'Topics of the subscription; null for all.';

--
-- Name: COLUMN subscriptions.lag_rows; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.lag_rows IS 'Number of events that it has not read, of the 10,000 after its position.';

--
-- Name: COLUMN subscriptions.lag_seconds; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.lag_seconds IS 'Age of the oldest of these events; if its topics match none of the next 10,000 events, age of the last of those.';

--
-- Name: COLUMN subscriptions.lease_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.lease_until IS 'End of the lease on its batch; null if there is none.';

--
-- Name: COLUMN subscriptions.horizon_pid; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.horizon_pid IS 'Process whose open transaction keeps the latest events from being read; null if there is none.';

--
-- Name: COLUMN subscriptions.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.created_at IS 'When the subscription was created.';

--
-- Name: COLUMN subscriptions.lost_events; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.subscriptions.lost_events IS 'Number of events that retention deleted before the subscription had read them.';

--
-- Name: suspensions; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.suspensions (
    task_id uuid NOT NULL,
    nr integer NOT NULL,
    id uuid NOT NULL,
    attempt_index integer NOT NULL,
    created_at_ms bigint NOT NULL,
    closed_at_ms bigint,
    timeout_at_ms bigint,
    resume_delay_ms bigint NOT NULL,
    on_timeout text NOT NULL COLLATE pg_catalog."C",
    reason_code text NOT NULL COLLATE pg_catalog."C",
    closed_by text COLLATE pg_catalog."C",
    idempotency_key text COLLATE pg_catalog."C",
    condition jsonb NOT NULL,
    CONSTRAINT suspensions_closed CHECK (((closed_at_ms IS NULL) = (closed_by IS NULL))),
    CONSTRAINT suspensions_closed_by_check CHECK ((closed_by = ANY (ARRAY['at_once'::text, 'condition'::text, 'operator'::text, 'timeout'::text, 'end'::text]))),
    CONSTRAINT suspensions_nr_check CHECK ((nr > 0)),
    CONSTRAINT suspensions_on_timeout_check CHECK ((on_timeout = ANY (ARRAY['fail'::text, 'cancel'::text, 'expire'::text, 'auto_resume'::text, 'escalate'::text]))),
    CONSTRAINT suspensions_reason_code_check CHECK ((reason_code = ANY (ARRAY['waiting_for_signal'::text, 'waiting_for_approval'::text, 'waiting_for_callback'::text, 'waiting_for_tool_result'::text]))),
    CONSTRAINT suspensions_resume_delay_ms_check CHECK ((resume_delay_ms >= 0))
)
WITH (fillfactor='70', vacuum_truncate=off);

ALTER TABLE old.suspensions OWNER TO upgrade_owner;

--
-- Name: TABLE suspensions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.suspensions IS 'Suspensions of tasks, open and closed, with their conditions. Read get_task instead.';

--
-- Name: COLUMN suspensions.closed_by; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.suspensions.closed_by IS 'at_once: the condition was met before the task was suspended; end: the task ended meanwhile.';

--
-- Name: task_attempts; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.task_attempts AS
 SELECT a.task_id,
    a.attempt_index,
    a.epoch AS lease_epoch,
    a.lease_count,
    a.worker,
    a.worker_instance,
    a.kind,
    a.started_ms,
    a.ended_ms,
    a.outcome,
    a.error
   FROM old.attempts a
UNION ALL
 SELECT t.id AS task_id,
    t.attempt_index,
        CASE
            WHEN (t.state = 'active'::text) THEN t.lease_epoch
            ELSE (t.lease_epoch - 1)
        END AS lease_epoch,
    t.attempt_leases AS lease_count,
    t.attempt_worker AS worker,
    t.attempt_worker_instance AS worker_instance,
    t.attempt_kind AS kind,
    t.attempt_started_ms AS started_ms,
    t.terminal_at_ms AS ended_ms,
        CASE
            WHEN (t.state = 'completed'::text) THEN 'success'::text
            ELSE NULL::text
        END AS outcome,
    NULL::jsonb AS error
   FROM old.tasks t
  WHERE (t.attempt_started_ms IS NOT NULL);

ALTER TABLE old.task_attempts OWNER TO upgrade_owner;

--
-- Name: VIEW task_attempts; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.task_attempts IS 'Attempts of tasks: those that have ended, and the running or paused ones.';

--
-- Name: COLUMN task_attempts.task_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.task_id IS 'The task.';

--
-- Name: COLUMN task_attempts.attempt_index; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.attempt_index IS 'Number of the attempt, from 1.';

--
-- Name: COLUMN task_attempts.lease_epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.lease_epoch IS 'Epoch of the last lease.';

--
-- Name: COLUMN task_attempts.lease_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.lease_count IS 'Number of leases of the attempt.';

--
-- Name: COLUMN task_attempts.worker; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.worker IS 'Worker that had the last lease.';

--
-- Name: COLUMN task_attempts.worker_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.worker_instance IS 'Process that had the lease.';

--
-- Name: COLUMN task_attempts.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.kind IS 'How the attempt began: initial, retry or replay.';

--
-- Name: COLUMN task_attempts.started_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.started_ms IS 'When the attempt was first claimed.';

--
-- Name: COLUMN task_attempts.ended_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.ended_ms IS 'When the attempt ended; null while it runs or is paused.';

--
-- Name: COLUMN task_attempts.outcome; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.outcome IS 'Outcome of the attempt; null while it runs or is paused.';

--
-- Name: COLUMN task_attempts.error; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_attempts.error IS 'Class, message and details of the failure; null if there is none.';

--
-- Name: task_states; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.task_states AS
 SELECT t.id AS task_id,
    t.queue,
    t.kind,
    t.state,
        CASE
            WHEN (t.terminal_at_ms IS NOT NULL) THEN 'terminal'::text
            WHEN (t.state = 'active'::text) THEN 'active'::text
            WHEN (t.state = 'suspended'::text) THEN 'suspended'::text
            ELSE 'runnable'::text
        END AS lifecycle_phase,
        CASE
            WHEN (t.state <> 'active'::text) THEN 'unowned'::text
            WHEN ((t.lease_until_ms > n.ms) AND (t.lease_epoch >= h.epoch_floor)) THEN 'leased'::text
            ELSE 'lease_expired_reclaimable'::text
        END AS ownership_state,
        CASE
            WHEN (t.state = 'blocked'::text) THEN 'blocked_by_dependencies'::text
            WHEN ((t.state = 'delayed'::text) AND (t.available_at_ms > n.ms)) THEN 'not_eligible_until_time'::text
            WHEN (t.state <> ALL (ARRAY['delayed'::text, 'ready'::text])) THEN 'not_applicable'::text
            WHEN l.paused THEN 'blocked_by_queue_state'::text
            WHEN q.used_up THEN 'blocked_by_quota'::text
            ELSE 'eligible_now'::text
        END AS eligibility_state,
        CASE
            WHEN (t.state = 'blocked'::text) THEN 'waiting_children'::text
            WHEN ((t.state = 'delayed'::text) AND (t.available_at_ms > n.ms)) THEN 'delayed'::text
            WHEN (t.state <> ALL (ARRAY['delayed'::text, 'ready'::text])) THEN t.state
            WHEN (q.used_up AND (l.paused IS NOT TRUE)) THEN 'rate_limited'::text
            WHEN (t.pending_attempt = 'resume'::text) THEN 'resumable'::text
            ELSE 'waiting'::text
        END AS public_state,
        CASE
            WHEN (t.state = 'active'::text) THEN 'running_attempt'::text
            WHEN ((t.state = 'skipped'::text) OR ((t.terminal_at_ms IS NOT NULL) AND (t.attempt_index = 0))) THEN 'none'::text
            WHEN (t.terminal_at_ms IS NOT NULL) THEN 'attempt_terminal'::text
            WHEN ((t.state = 'suspended'::text) OR (t.pending_attempt = ANY (ARRAY['reclaim'::text, 'snooze'::text, 'resume'::text]))) THEN 'attempt_interrupted'::text
            WHEN (t.pending_attempt = 'initial'::text) THEN 'pending_first_attempt'::text
            WHEN (t.pending_attempt = 'retry'::text) THEN 'pending_retry_attempt'::text
            ELSE 'pending_replay_attempt'::text
        END AS attempt_state,
        CASE
            WHEN (t.state = 'blocked'::text) THEN 'waiting_for_children'::text
            WHEN ((t.state = 'delayed'::text) AND (t.available_at_ms > n.ms)) THEN
            CASE t.pending_attempt
                WHEN 'retry'::text THEN 'waiting_for_retry_backoff'::text
                WHEN 'resume'::text THEN 'waiting_for_resume_delay'::text
                ELSE 'waiting_for_delay'::text
            END
            WHEN (t.state = 'suspended'::text) THEN COALESCE(s.reason_code, 'waiting_for_signal'::text)
            WHEN (t.state <> ALL (ARRAY['delayed'::text, 'ready'::text])) THEN 'none'::text
            WHEN l.paused THEN 'paused_by_operator'::text
            WHEN q.used_up THEN 'waiting_for_quota'::text
            ELSE 'waiting_for_worker'::text
        END AS blocking_reason,
        CASE
            WHEN (t.terminal_at_ms IS NULL) THEN 'none'::text
            WHEN (t.state = 'completed'::text) THEN 'success'::text
            ELSE t.state
        END AS terminal_outcome
   FROM (((((old.tasks t
     CROSS JOIN old.belay_hub h)
     CROSS JOIN ( SELECT (floor((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision)))::bigint AS ms) n)
     LEFT JOIN old.queues l ON ((l.name = t.queue)))
     LEFT JOIN LATERAL ( SELECT (((((x.active)::numeric + m.moved) >= (x.concurrency)::numeric) IS TRUE) OR ((LEAST(x.burst, ((x.tokens + (((GREATEST((0)::bigint, (n.ms - x.refilled_at_ms)))::double precision * x.rate_per_s) / (1000)::double precision)) - (m.taken)::double precision)) < (0.999999)::double precision) IS TRUE)) AS used_up
           FROM (old.queue_limits x
             CROSS JOIN LATERAL ( SELECT COALESCE(sum(r.places), (0)::numeric) AS moved,
                    COALESCE(sum(r.places) FILTER (WHERE (r.places > 0)), (0)::numeric) AS taken
                   FROM old.queue_moves r
                  WHERE (r.queue = x.queue)) m)
          WHERE ((x.queue = t.queue) AND (t.state = ANY (ARRAY['delayed'::text, 'ready'::text])))) q ON (true))
     LEFT JOIN old.suspensions s ON (((t.state = 'suspended'::text) AND (s.task_id = t.id) AND (s.closed_at_ms IS NULL))));

ALTER TABLE old.task_states OWNER TO upgrade_owner;

--
-- Name: VIEW task_states; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.task_states IS 'The state of each task, split into phase, ownership, eligibility, attempt, reason and outcome.';

--
-- Name: COLUMN task_states.task_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.task_id IS 'The task.';

--
-- Name: COLUMN task_states.queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.queue IS 'Its queue.';

--
-- Name: COLUMN task_states.kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.kind IS 'As given to create_task.';

--
-- Name: COLUMN task_states.state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.state IS 'Stored state of the task.';

--
-- Name: COLUMN task_states.lifecycle_phase; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.lifecycle_phase IS 'runnable, active, suspended or terminal.';

--
-- Name: COLUMN task_states.ownership_state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.ownership_state IS 'unowned, leased or lease_expired_reclaimable.';

--
-- Name: COLUMN task_states.eligibility_state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.eligibility_state IS 'eligible_now, or why the task cannot be claimed; not_applicable if it does not wait for a worker.';

--
-- Name: COLUMN task_states.public_state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.public_state IS 'The state for user interfaces: delayed, waiting, rate_limited, resumable, waiting_children, active, suspended, or its end.';

--
-- Name: COLUMN task_states.attempt_state; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.attempt_state IS 'Whether its attempt is pending, running, interrupted or over.';

--
-- Name: COLUMN task_states.blocking_reason; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.blocking_reason IS 'Why the task waits; none if it does not wait.';

--
-- Name: COLUMN task_states.terminal_outcome; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.task_states.terminal_outcome IS 'success, failed, cancelled, expired, skipped; none before its end.';

--
-- Name: waitpoint_keys; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.waitpoint_keys (
    kid text NOT NULL COLLATE pg_catalog."C",
    signs boolean NOT NULL,
    created_at_ms bigint NOT NULL,
    valid_until_ms bigint,
    secret bytea NOT NULL,
    CONSTRAINT waitpoint_keys_secret_check CHECK ((octet_length(secret) >= 32))
);

ALTER TABLE old.waitpoint_keys OWNER TO upgrade_owner;

--
-- Name: TABLE waitpoint_keys; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.waitpoint_keys IS 'Secrets that sign the tokens of waitpoints, for the hub''s owner only. Grant nothing on this table.';

--
-- Name: COLUMN waitpoint_keys.signs; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.waitpoint_keys.signs IS 'True for the one key that signs new tokens.';

--
-- Name: waitpoints; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.waitpoints (
    task_id uuid NOT NULL,
    id uuid NOT NULL,
    suspension_nr integer,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    closed_at_ms bigint,
    key text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='70', vacuum_truncate=off);

ALTER TABLE old.waitpoints OWNER TO upgrade_owner;

--
-- Name: TABLE waitpoints; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.waitpoints IS 'Waitpoints of tasks, to which signals are sent. Read list_waitpoints instead.';

--
-- Name: COLUMN waitpoints.suspension_nr; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.waitpoints.suspension_nr IS 'Suspension of the waitpoint; NULL while it is pending, because it was created before the suspension.';

--
-- Name: COLUMN waitpoints.expires_at_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.waitpoints.expires_at_ms IS 'Until when a pending waitpoint accepts signals.';

--
-- Name: COLUMN waitpoints.kid; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.waitpoints.kid IS 'Id of the key that signed the token.';

--
-- Name: worker_queue; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.worker_queue (
    lane integer NOT NULL,
    slot smallint NOT NULL,
    due bigint NOT NULL,
    id bigint NOT NULL,
    visible_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    locked_until bigint NOT NULL,
    nonce_hi bigint NOT NULL,
    nonce_lo bigint NOT NULL,
    lease_inc integer NOT NULL,
    attempt_count integer NOT NULL,
    execution_id bigint,
    activity_id bigint,
    tag text COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    instance_id text COLLATE pg_catalog."C",
    locked_by text COLLATE pg_catalog."C",
    work_item text NOT NULL,
    last_error text,
    CONSTRAINT worker_queue_attempt_count_check CHECK ((attempt_count >= 0))
)
WITH (fillfactor='50', toast_tuple_target='512', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);

ALTER TABLE old.worker_queue OWNER TO upgrade_owner;

--
-- Name: TABLE worker_queue; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.worker_queue IS 'Activities for workers to run. Read view work_items instead.';

--
-- Name: COLUMN worker_queue.lane; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.lane IS 'Twice a hash of the tag (0 = untagged), plus 1 if the row has a session.';

--
-- Name: COLUMN worker_queue.slot; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.slot IS 'Slot of the row, 0 unless the hub option slot_count is above 1.';

--
-- Name: COLUMN worker_queue.due; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.due IS '0 = never delayed, free at any time; else visible_at in ms.';

--
-- Name: COLUMN worker_queue.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.locked_until IS 'Deadline of the lease in ms; 0 = no lease.';

--
-- Name: COLUMN worker_queue.lease_inc; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.lease_inc IS 'Incarnation of the hub in which the lease was granted.';

--
-- Name: COLUMN worker_queue.last_error; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.last_error IS 'Reason of the last abandon, copied into the dead letter.';

--
-- Name: work_items; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.work_items AS
 SELECT w.id,
    w.work_item,
    w.visible_at,
        CASE
            WHEN (w.locked_until <> 0) THEN belay.work_token(w.lane, w.slot, w.due, w.id, w.lease_inc, w.nonce_hi, w.nonce_lo)
            ELSE NULL::text
        END AS lock_token,
        CASE
            WHEN (w.locked_until <> 0) THEN w.locked_until
            ELSE NULL::bigint
        END AS locked_until,
    w.attempt_count,
    w.created_at,
    w.instance_id,
    w.execution_id,
    w.activity_id,
    w.session_id,
    w.tag,
    w.locked_by
   FROM old.worker_queue w;

ALTER TABLE old.work_items OWNER TO upgrade_owner;

--
-- Name: VIEW work_items; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.work_items IS 'The worker queue, with tokens; for the hub''s owner only.';

--
-- Name: COLUMN work_items.id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.id IS 'Queue id.';

--
-- Name: COLUMN work_items.work_item; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.work_item IS 'The item, byte for byte.';

--
-- Name: COLUMN work_items.visible_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.visible_at IS 'When the item can be fetched if it was delayed, otherwise when it was enqueued.';

--
-- Name: COLUMN work_items.lock_token; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.lock_token IS 'Token of its lease; null if it was never leased or was abandoned.';

--
-- Name: COLUMN work_items.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.locked_until IS 'Deadline of the lease in ms, expired if it is in the past; null without a lease.';

--
-- Name: COLUMN work_items.attempt_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.attempt_count IS 'How often the item was leased.';

--
-- Name: COLUMN work_items.created_at; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.created_at IS 'When the item was enqueued.';

--
-- Name: COLUMN work_items.instance_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.instance_id IS 'Instance that scheduled the activity.';

--
-- Name: COLUMN work_items.execution_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.execution_id IS 'Execution that scheduled the activity.';

--
-- Name: COLUMN work_items.activity_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.activity_id IS 'Number of the activity in the execution.';

--
-- Name: COLUMN work_items.session_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.session_id IS 'Session that binds the item to an owner.';

--
-- Name: COLUMN work_items.tag; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.tag IS 'Tag by which workers select items.';

--
-- Name: COLUMN work_items.locked_by; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.work_items.locked_by IS 'Owner id of the last fetch.';

--
-- Name: worker_queue_id; Type: SEQUENCE; Schema: old; Owner: upgrade_owner
--

CREATE SEQUENCE old.worker_queue_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE old.worker_queue_id OWNER TO upgrade_owner;

--
-- Name: SEQUENCE worker_queue_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON SEQUENCE old.worker_queue_id IS 'Ids of the worker queue: insertion order is delivery order.';

--
-- Data for Name: entries; Type: TABLE DATA; Schema: kept; Owner: upgrade_owner
--

COPY kept.entries (what, value) FROM stdin;
turn	tQcAAAAAAAAANV7UoIIpmEAAAAABnRvvo_eUAgOTzx_5v6TV5g
work	wQIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABRyqXNcw-UBtmzVVZhNTmdQ
session	wQQAAAAAAAAAAAAAAAAAAAAAAAABAAAAAAABTMr-l8Wp_xVN9p84Q8sUcQ
lease	lQAAAAAAAEAAgAAAAAAAAAEAAAAAAAAAAQAAAAEiF1yBBjMYqSJJSN1iEpM6
epoch 02	1
epoch 0a	1
signal	k1:10738f3f8d3ff4a7c18bbd71cdf88c99596a9688dde18896d0e5969e8f256594
epoch 11	1
epoch 41	1
upto	eQoAAAAAAAAAAAAAAQAAAAAAAALo3EOURQvdTR8A
\.

--
-- Data for Name: attempts; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.attempts (task_id, attempt_index, lease_count, epoch, started_ms, ended_ms, kind, outcome, worker, worker_instance, error) FROM stdin;
00000000-0000-4000-8000-000000000006	1	1	1	1767225600000	1767225600000	initial	failed	w	w-1	{"class": "permanent", "details": null, "message": "no such address"}
00000000-0000-4000-8000-00000000000e	1	1	1	1767225600000	1767225600000	initial	retry	w	w-1	{"class": "transient", "details": null, "message": "busy"}
00000000-0000-4000-8000-000000000061	1	1	1	1767225600000	1767225600000	initial	failed	w	w-1	{"class": "permanent", "details": null, "message": "broken"}
00000000-0000-4000-8000-000000000041	1	1	1	1767225600000	1767225600000	initial	cancelled	w	w-1	\N
\.

--
-- Data for Name: belay_hub; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.belay_hub (uuid, api, version, incarnation, epoch_floor, options, created_at, mark) FROM stdin;
c3d1f3b6-6c86-459c-ac2d-1f8d0f6801e3	belay	1	1	0	{"events": "operator,completion,instance,lease", "paused": {}, "name_pins": "{\\"rust.*\\": \\"0.1.30\\"}", "slot_count": "4", "fanout_bound": "2", "max_attempts": "2", "limited_queues": ["limited"], "max_clock_skew": "0"}	2026-11-19 22:35:15.414967+00	7710014762169518664/1/16389/16510
\.

--
-- Data for Name: cancel_backlog; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.cancel_backlog (flow_id, requested_at_ms, grace_until_ms, requester, reason, cancellation_policy) FROM stdin;
00000000-0000-4000-8000-0000000000f4	1767225600000	1767225630000			cancel_all
\.

--
-- Data for Name: cancel_backlog_members; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.cancel_backlog_members (flow_id, task_id, lease_epoch, worker, worker_instance) FROM stdin;
00000000-0000-4000-8000-0000000000f4	00000000-0000-4000-8000-000000000041	1	w	w-1
\.

--
-- Data for Name: capability_sets; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.capability_sets (id, queue, digest, tokens) FROM stdin;
1	open	\\xe3c5ba51dba85ab0c990db5e309f4d7bdb282470fb02aee75b9022c1399e91c8	{gpu}
\.

--
-- Data for Name: cascade_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.cascade_queue (flow_id, task_id, enqueued_at_ms, what) FROM stdin;
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000051	1767225600000	dispatch
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000054	1767225600000	sibling_cancel
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000052	1767225600000	dispatch
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000053	1767225600000	dispatch
\.

--
-- Data for Name: dead_letters; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.dead_letters (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item, attempt_count, reason, detail, enqueued_at, dead_at) FROM stdin;
1	orchestrator	1	poisoned	\N	\N	\N	\N	{"StartOrchestration":{"instance":"poisoned","orchestration":"Order","input":"","version":"1.0.0","parent_instance":null,"parent_id":null,"execution_id":1}}	2	max_attempts	\N	2026-01-01 00:00:00+00	2026-01-01 00:00:00.02+00
2	worker	1	gone	1	1	\N	\N	{"ActivityExecute": {"instance": "gone", "execution_id": 1, "id": 1, "name": "A"}}	2	max_attempts	\N	2026-01-01 00:00:00+00	2026-01-01 00:00:00.02+00
\.

--
-- Data for Name: dedup_keys; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.dedup_keys (queue, key, task_id, window_until_ms) FROM stdin;
ends	once	00000000-0000-4000-8000-000000000005	1767312000000
mail	first	00000000-0000-4000-8000-000000000001	1767312000000
\.

--
-- Data for Name: edges; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.edges (flow_id, downstream_id, upstream_id, resolved_at_ms, state, pass_as) FROM stdin;
00000000-0000-4000-8000-0000000000f1	00000000-0000-4000-8000-000000000012	00000000-0000-4000-8000-000000000011	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f1	00000000-0000-4000-8000-000000000013	00000000-0000-4000-8000-000000000011	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f1	00000000-0000-4000-8000-000000000013	00000000-0000-4000-8000-000000000014	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000055	00000000-0000-4000-8000-000000000052	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000055	00000000-0000-4000-8000-000000000053	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000055	00000000-0000-4000-8000-000000000054	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000057	00000000-0000-4000-8000-000000000051	\N	unsatisfied	\N
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000055	00000000-0000-4000-8000-000000000051	1767225600000	satisfied	\N
00000000-0000-4000-8000-0000000000f5	00000000-0000-4000-8000-000000000056	00000000-0000-4000-8000-000000000051	1767225600000	satisfied	\N
00000000-0000-4000-8000-0000000000f6	00000000-0000-4000-8000-000000000062	00000000-0000-4000-8000-000000000061	1767225600000	impossible	\N
\.

--
-- Data for Name: executions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.executions (instance_id, execution_id, status, output, started_at, completed_at, duroxide_version_major, duroxide_version_minor, duroxide_version_patch) FROM stdin;
completed	1	Completed	done	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	\N	\N
failed	1	Failed	broken	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	\N	\N
continued	1	ContinuedAsNew	\N	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	\N	\N
continued	2	Running	\N	2026-01-01 00:00:00+00	\N	\N	\N	\N
again	1	ContinuedAsNew	\N	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	\N	\N
running	1	Running	\N	2026-01-01 00:00:00+00	\N	0	1	30
\.

--
-- Data for Name: flows; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.flows (id, graph_revision, member_count, open_count, bad_sink_count, edge_count, created_at_ms, updated_at_ms, terminal_at_ms, sealed, struck, state, fail_policy, cancellation_policy, kind, cancel_reason, cancelled_by, tags) FROM stdin;
00000000-0000-4000-8000-0000000000f1	1	4	4	0	3	1767225600000	1767225600000	\N	t	f	running	continue	\N	order	\N	\N	{"tenant": "t"}
00000000-0000-4000-8000-0000000000f2	1	0	0	0	0	1767225600000	1767225600000	1767225600000	t	f	completed	continue	\N		\N	\N	{}
00000000-0000-4000-8000-0000000000f3	1	2	2	0	0	1767225600000	1767225600000	\N	f	f	open	continue	\N		\N	\N	{}
00000000-0000-4000-8000-0000000000f5	1	7	4	0	6	1767225600000	1767225600000	\N	t	f	running	continue	\N		\N	\N	{}
00000000-0000-4000-8000-0000000000f6	1	2	0	1	1	1767225600000	1767225600000	1767225600000	t	f	failed	continue	\N		\N	\N	{}
00000000-0000-4000-8000-0000000000f4	1	2	0	2	0	1767225600000	1767225600000	1767225600000	t	f	cancelled	continue	cancel_all				{}
\.

--
-- Data for Name: groups; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.groups (downstream_id, flow_id, closed_at_ms, k, total, satisfied, failed, skipped, policy, on_satisfied, state) FROM stdin;
00000000-0000-4000-8000-000000000012	00000000-0000-4000-8000-0000000000f1	\N	0	1	0	0	0	all_of	\N	open
00000000-0000-4000-8000-000000000013	00000000-0000-4000-8000-0000000000f1	\N	0	2	0	0	0	any_of	cancel_remaining	open
00000000-0000-4000-8000-000000000057	00000000-0000-4000-8000-0000000000f5	\N	0	1	0	0	0	all_of	\N	open
00000000-0000-4000-8000-000000000055	00000000-0000-4000-8000-0000000000f5	1767225600000	0	4	1	0	0	any_of	cancel_remaining	satisfied
00000000-0000-4000-8000-000000000056	00000000-0000-4000-8000-0000000000f5	1767225600000	0	1	1	0	0	all_of	\N	satisfied
00000000-0000-4000-8000-000000000062	00000000-0000-4000-8000-0000000000f6	1767225600000	0	1	0	1	0	all_of	\N	impossible
\.

--
-- Data for Name: history_turns; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.history_turns (execution_id, first_event_id, last_event_id, created_at, instance_id, event_types, event_data, jsonb_bytes) FROM stdin;
1	1	3	2026-01-01 00:00:00+00	completed	{OrchestrationStarted,CustomStatusUpdated,KeyValueSet}	{"{\\"name\\": \\"Order\\", \\"type\\": \\"OrchestrationStarted\\", \\"input\\": \\"{}\\", \\"event_id\\": 1}","{\\"type\\": \\"CustomStatusUpdated\\", \\"status\\": \\"half\\", \\"event_id\\": 2}","{\\"key\\": \\"k\\", \\"type\\": \\"KeyValueSet\\", \\"value\\": \\"v\\", \\"event_id\\": 3}"}	383
1	1	1	2026-01-01 00:00:00+00	failed	{OrchestrationStarted}	{"{\\"name\\": \\"Order\\", \\"type\\": \\"OrchestrationStarted\\", \\"input\\": \\"{}\\", \\"event_id\\": 1}"}	141
1	1	2	2026-01-01 00:00:00+00	continued	{OrchestrationStarted,KeyValueSet}	{"{\\"name\\": \\"Order\\", \\"type\\": \\"OrchestrationStarted\\", \\"input\\": \\"{}\\", \\"event_id\\": 1}","{\\"key\\": \\"kept\\", \\"type\\": \\"KeyValueSet\\", \\"value\\": \\"1\\", \\"event_id\\": 2}"}	270
2	1	3	2026-01-01 00:00:00+00	continued	{OrchestrationStarted,KeyValueSet,KeyValueCleared}	{"{\\"name\\": \\"Order\\", \\"type\\": \\"OrchestrationStarted\\", \\"input\\": \\"2\\", \\"event_id\\": 1}","{\\"key\\": \\"new\\", \\"type\\": \\"KeyValueSet\\", \\"value\\": \\"2\\", \\"event_id\\": 2}","{\\"key\\": \\"kept\\", \\"type\\": \\"KeyValueCleared\\", \\"event_id\\": 3}"}	377
1	1	1	2026-01-01 00:00:00+00	again	{OrchestrationStarted}	{"{\\"name\\": \\"Order\\", \\"type\\": \\"OrchestrationStarted\\", \\"input\\": \\"{}\\", \\"event_id\\": 1}"}	141
1	1	3	2026-01-01 00:00:00+00	running	{OrchestrationStarted,ActivityScheduled,KeyValueSet}	{"{\\"name\\": \\"Order\\", \\"type\\": \\"OrchestrationStarted\\", \\"input\\": \\"{}\\", \\"event_id\\": 1}","{\\"name\\": \\"Charge\\", \\"type\\": \\"ActivityScheduled\\", \\"input\\": \\"9\\", \\"event_id\\": 2}","{\\"key\\": \\"k\\", \\"type\\": \\"KeyValueSet\\", \\"value\\": \\"v\\", \\"event_id\\": 3}"}	405
\.

--
-- Data for Name: instance_locks; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.instance_locks (instance_key, locked_until, locked_at, lock_no, nonce_hi, nonce_lo, cache_owner, cache_event, lease_inc, instance_id) FROM stdin;
-4120989423281386648	1767225600011	1767225600010	2	-8441203395191052216	5139057467825074117	0	0	1	poisoned
3845744917664602176	1767229200000	1767225600000	7	-7125838497871298045	-7795977272432470554	0	0	1	continued
-5801764325852793393	1767229200000	1767225600000	9	-6889124259900796984	-6961143088443523435	0	0	1	again
6923298942445325836	0	1767225600000	0	0	0	0	0	0	running
5987017559425259394	1767229200000	1767225600000	11	-8189887620730566342	-8526053322972821251	0	0	1	running::sub::8
\.

--
-- Data for Name: instances; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.instances (instance_id, orchestration_name, orchestration_version, current_execution_id, parent_instance_id, custom_status, custom_status_version, created_at, updated_at) FROM stdin;
completed	Order	1.0.0	1	\N	half	1	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00
failed	Order	1.0.0	1	\N	\N	0	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00
continued	Order	1.0.0	2	\N	\N	0	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00
again	Order	1.0.0	1	\N	\N	0	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00
running	Order	1.0.0	1	\N	\N	0	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00
\.

--
-- Data for Name: intent_links; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.intent_links (target_hub, server, created_at) FROM stdin;
billing	billing_server	2026-01-01 00:00:00+00
\.

--
-- Data for Name: intent_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.intent_queue (id, source_uuid, created_at, next_try_at, visible_at, attempt_count, blocked, queue, target_hub, source_instance, target_instance, last_error, work_item) FROM stdin;
1	c3d1f3b6-6c86-459c-ac2d-1f8d0f6801e3	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	0	f	worker	elsewhere		x	\N	{"ActivityExecute": {"instance": "x", "id": 1}}
2	c3d1f3b6-6c86-459c-ac2d-1f8d0f6801e3	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	0	f	orchestrator	elsewhere		x	\N	{"CancelInstance": {"instance": "x", "reason": "1"}}
3	c3d1f3b6-6c86-459c-ac2d-1f8d0f6801e3	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	\N	0	f	orchestrator	elsewhere		x	\N	{"CancelInstance": {"instance": "x", "reason": "2"}}
\.

--
-- Data for Name: intents_received; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.intents_received (source_uuid, intent_id, received_at) FROM stdin;
11111111-1111-4111-8111-111111111111	1	2026-01-01 00:00:00+00
\.

--
-- Data for Name: kv_delta; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.kv_delta (instance_id, key, value, last_updated_at_ms) FROM stdin;
continued	new	2	0
continued	kept	\N	1767225600000
running	k	v	0
\.

--
-- Data for Name: kv_store; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.kv_store (instance_id, key, value, execution_id, last_updated_at_ms) FROM stdin;
completed	k	v	1	0
continued	kept	1	1	0
\.

--
-- Data for Name: orchestrator_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.orchestrator_queue (instance_key, id, visible_at, created_at, lock_no, attempt_count, slot, kind, parked, instance_id, parent_id, work_item) FROM stdin;
5987017559425259394	12	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	11	1	2	s	f	running::sub::8	running	{"StartOrchestration": {"input": "", "version": "1.0.0", "instance": "running::sub::8", "parent_id": 8, "orchestration": "Child", "parent_instance": "running"}}
-8559729963808099148	14	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	0	0	0	s	f	ready	\N	{"StartOrchestration":{"instance":"ready","orchestration":"Order","input":"{}","version":"1.0.0","parent_instance":null,"parent_id":null,"execution_id":1}}
-7140180741905663794	2	2026-01-01 00:00:00.02+00	2026-01-01 00:00:00.02+00	0	0	2	o	f	gone	\N	{"ActivityFailed":{"instance":"gone","execution_id":1,"id":1,"details":{"Poison":{"attempt_count":2,"max_attempts":2,"message_type":{"Activity":{"instance":"gone","execution_id":1,"activity_name":"A","activity_id":1}},"message":"{\\"ActivityExecute\\": {\\"instance\\": \\"gone\\", \\"execution_id\\": 1, \\"id\\": 1, \\"name\\": \\"A\\"}}"}}}}
-6996591695215936663	15	2026-01-01 00:30:00+00	2026-01-01 00:00:00+00	0	0	1	s	f	later	\N	{"StartOrchestration":{"instance":"later","orchestration":"Order","input":"{}","version":"1.0.0","parent_instance":null,"parent_id":null,"execution_id":1}}
6923298942445325836	16	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	0	0	0	q	f	running	\N	{"QueueMessage":{"instance":"running","name":"approved","data":"{}"}}
3845744917664602176	7	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	7	1	0	o	f	continued	\N	{"ExternalRaised":{"instance":"continued","name":"go","data":""}}
-5801764325852793393	9	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	9	1	3	n	f	again	\N	{"ContinueAsNew": {"input": "2", "version": "1.0.0", "instance": "again", "orchestration": "Order"}}
6923298942445325836	11	2026-01-01 01:00:00+00	2026-01-01 00:00:00+00	0	0	0	t	f	running	\N	{"TimerFired": {"id": 7, "instance": "running", "fire_at_ms": 1767229200000, "execution_id": 1}}
2106416412898623006	13	2025-12-31 23:59:59+00	2025-12-31 23:59:59+00	0	0	2	o	t	nobody	\N	{"ExternalRaised":{"instance":"nobody","name":"e","data":"{}"}}
\.

--
-- Data for Name: outbox_events; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.outbox_events (incarnation, "position", xid, topic, type, subject, details, occurred_at_ms) FROM stdin;
1	10	3	operator	option_changed	old	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "value": null, "option": "event_retention", "reason": null}	1795127716487
1	11	3	instance	dead_lettered	poisoned	{"queue": "orchestrator", "reason": "max_attempts", "attempt_count": 2, "dead_letter_id": 1}	1767225600020
1	12	3	instance	dead_lettered	gone	{"queue": "worker", "reason": "max_attempts", "attempt_count": 2, "dead_letter_id": 2}	1767225600020
1	13	3	instance	started	completed	{"execution_id": 1, "orchestration_name": "Order", "parent_instance_id": null, "orchestration_version": "1.0.0"}	1767225600000
1	14	3	instance	completed	completed	{"execution_id": 1, "orchestration_name": "Order"}	1767225600000
1	15	3	instance	started	failed	{"execution_id": 1, "orchestration_name": "Order", "parent_instance_id": null, "orchestration_version": "1.0.0"}	1767225600000
1	16	3	instance	failed	failed	{"execution_id": 1, "orchestration_name": "Order"}	1767225600000
1	17	3	instance	started	continued	{"execution_id": 1, "orchestration_name": "Order", "parent_instance_id": null, "orchestration_version": "1.0.0"}	1767225600000
1	18	3	instance	continued_as_new	continued	{"execution_id": 1, "orchestration_name": "Order"}	1767225600000
1	19	3	instance	started	again	{"execution_id": 1, "orchestration_name": "Order", "parent_instance_id": null, "orchestration_version": "1.0.0"}	1767225600000
1	20	3	instance	continued_as_new	again	{"execution_id": 1, "orchestration_name": "Order"}	1767225600000
1	21	3	instance	started	running	{"execution_id": 1, "orchestration_name": "Order", "parent_instance_id": null, "orchestration_version": "1.0.0"}	1767225600000
1	22	3	operator	queue_changed	limited	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "reason": null, "settings": {"rate_per_s": 1000, "concurrency": 1}}	1795127716680
1	23	3	operator	queue_changed	open	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "reason": null, "settings": {"retention_ms": 86400000}}	1795127716680
1	24	3	operator	queue_changed	paused	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "reason": null, "settings": {"paused": true}}	1795127716680
1	25	3	lease	acquired	00000000-0000-4000-8000-000000000001	{"queue": "mail", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000001:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w"}	1767225600000
1	26	3	lease	acquired	00000000-0000-4000-8000-000000000002	{"queue": "progress", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000002:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	27	3	lease	acquired	00000000-0000-4000-8000-000000000005	{"queue": "ends", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000005:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	28	3	lease	acquired	00000000-0000-4000-8000-000000000006	{"queue": "fails", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000006:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	29	3	lease	acquired	00000000-0000-4000-8000-000000000008	{"queue": "waits", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000008:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	30	3	lease	acquired	00000000-0000-4000-8000-000000000009	{"queue": "waited", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000009:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	31	3	lease	acquired	00000000-0000-4000-8000-00000000000a	{"queue": "limited", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-00000000000a:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	32	3	lease	acquired	00000000-0000-4000-8000-00000000000e	{"queue": "retries", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-00000000000e:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	33	3	completion	success	00000000-0000-4000-8000-000000000005	{"kind": "", "queue": "ends", "flow_id": null, "lease_epoch": 2, "attempt_index": 1}	1767225600000
1	34	3	completion	failed	00000000-0000-4000-8000-000000000006	{"kind": "", "queue": "fails", "flow_id": null, "lease_epoch": 2, "attempt_index": 1, "failure_class": "permanent"}	1767225600000
1	35	3	lease	released	00000000-0000-4000-8000-00000000000e	{"cause": "retry", "queue": "retries", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-00000000000e:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	36	3	completion	cancelled	00000000-0000-4000-8000-00000000000c	{"kind": "", "queue": "open", "reason": "not wanted", "flow_id": null, "lease_epoch": 0, "attempt_index": 0}	1767225600000
1	37	3	operator	task_cancelled	00000000-0000-4000-8000-00000000000c	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "queue": "open", "reason": "not wanted", "previous_state": "ready"}	1767225600000
1	38	3	lease	released	00000000-0000-4000-8000-000000000008	{"cause": "suspend", "queue": "waits", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000008:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	39	3	lease	released	00000000-0000-4000-8000-000000000009	{"cause": "suspend", "queue": "waited", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000009:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	40	3	operator	resumed	00000000-0000-4000-8000-000000000009	{"trigger": "condition", "suspension_id": "019b76da-a800-7378-9d07-bff4e8285d6d"}	1767225600000
1	41	3	operator	schedule_created	hourly	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "cron": "0 * * * *", "task": {"queue": "reports", "capabilities": ["sql"]}, "reason": null, "catch_up": "one", "time_zone": "UTC"}	1767225600000
1	42	3	operator	schedule_created	stopped	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "cron": "0 0 * * *", "task": {"queue": "reports"}, "reason": null, "catch_up": "one", "time_zone": "UTC"}	1767225600000
1	43	3	operator	schedule_paused	stopped	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "reason": null}	1795127716905
1	44	3	completion	flow_completed	00000000-0000-4000-8000-0000000000f2	{}	1767225600000
1	45	3	lease	acquired	00000000-0000-4000-8000-000000000011	{"queue": "f1", "worker": "w", "flow_id": "00000000-0000-4000-8000-0000000000f1", "lease_id": "belay:00000000-0000-4000-8000-000000000011:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	46	3	lease	acquired	00000000-0000-4000-8000-000000000041	{"queue": "f4", "worker": "w", "flow_id": "00000000-0000-4000-8000-0000000000f4", "lease_id": "belay:00000000-0000-4000-8000-000000000041:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	47	3	lease	acquired	00000000-0000-4000-8000-000000000051	{"queue": "f5", "worker": "w", "flow_id": "00000000-0000-4000-8000-0000000000f5", "lease_id": "belay:00000000-0000-4000-8000-000000000051:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	48	3	lease	acquired	00000000-0000-4000-8000-000000000061	{"queue": "f6", "worker": "w", "flow_id": "00000000-0000-4000-8000-0000000000f6", "lease_id": "belay:00000000-0000-4000-8000-000000000061:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	49	3	completion	success	00000000-0000-4000-8000-000000000051	{"kind": "", "queue": "f5", "flow_id": "00000000-0000-4000-8000-0000000000f5", "lease_epoch": 2, "attempt_index": 1}	1767225600000
1	50	3	completion	cancelled	00000000-0000-4000-8000-000000000052	{"kind": "", "queue": "f5b", "reason": "sibling_quorum_satisfied", "flow_id": "00000000-0000-4000-8000-0000000000f5", "lease_epoch": 0, "attempt_index": 0}	1767225600000
1	51	3	completion	cancelled	00000000-0000-4000-8000-000000000053	{"kind": "", "queue": "f5b", "reason": "sibling_quorum_satisfied", "flow_id": "00000000-0000-4000-8000-0000000000f5", "lease_epoch": 0, "attempt_index": 0}	1767225600000
1	52	3	completion	failed	00000000-0000-4000-8000-000000000061	{"kind": "", "queue": "f6", "flow_id": "00000000-0000-4000-8000-0000000000f6", "lease_epoch": 2, "attempt_index": 1, "failure_class": "permanent"}	1767225600000
1	53	3	completion	skipped	00000000-0000-4000-8000-000000000062	{"kind": "", "queue": "f6b", "flow_id": "00000000-0000-4000-8000-0000000000f6", "lease_epoch": 0, "attempt_index": 0}	1767225600000
1	54	3	completion	flow_failed	00000000-0000-4000-8000-0000000000f6	{"failed": 1, "skipped": 1}	1767225600000
1	55	3	lease	revoked	00000000-0000-4000-8000-000000000041	{"queue": "f4", "reason": "", "source": "flow_cascade", "worker": "w", "flow_id": "00000000-0000-4000-8000-0000000000f4", "lease_id": "belay:00000000-0000-4000-8000-000000000041:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}	1767225600000
1	56	3	operator	flow_cancel_requested	00000000-0000-4000-8000-0000000000f4	{"as": "upgrade_owner", "by": "upgrade_owner", "via": "psql", "reason": null, "flow_id": "00000000-0000-4000-8000-0000000000f4", "member_count": 2, "cancellation_policy": "cancel_all"}	1767225600000
1	57	3	completion	flow_cancelled	00000000-0000-4000-8000-0000000000f4	{"cancelled": 2}	1767225600000
1	58	3	completion	expired	00000000-0000-4000-8000-00000000000d	{"kind": "", "queue": "late", "flow_id": null, "lease_epoch": 0, "attempt_index": 0}	1767225602000
\.

--
-- Data for Name: outbox_gaps; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.outbox_gaps (subscription, last_incarnation, last_position, first_incarnation, first_position, events) FROM stdin;
behind	1	9	1	1	9
\.

--
-- Data for Name: outbox_subscriptions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.outbox_subscriptions (name, topics, seen_incarnation, seen_position, seen_xid, seen_xid_position, final_xid, final_position, lease, lease_until, lease_inc, last_incarnation, last_position, lost_events, untold_events, untold_first, untold_last, created_at) FROM stdin;
behind	\N	0	0	0	0	0	0	0	0	0	0	0	0	0	\N	\N	2026-11-19 22:35:16.443+00
operators	{operator}	0	0	0	0	0	0	0	0	0	0	0	0	0	\N	\N	2026-11-19 22:35:17.057+00
audit	\N	1	0	0	0	0	0	-2575051537653084897	1798761600000	1	1	12	0	0	\N	\N	2026-11-19 22:35:17.056+00
\.

--
-- Data for Name: queue_limits; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.queue_limits (queue, concurrency, rate_per_s, burst, tokens, refilled_at_ms, active) FROM stdin;
limited	1	1000	1000	1000	1795127716680	0
\.

--
-- Data for Name: queue_moves; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.queue_moves (places, at_ms, queue) FROM stdin;
1	1767225600000	limited
\.

--
-- Data for Name: queues; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.queues (name, paused, retention_ms, created_at_ms, policy) FROM stdin;
ends	f	\N	1767225600000	\N
fails	f	\N	1767225600000	\N
late	f	\N	1767225600000	\N
mail	f	\N	1767225600000	\N
progress	f	\N	1767225600000	\N
retries	f	\N	1767225600000	\N
waited	f	\N	1767225600000	\N
waits	f	\N	1767225600000	\N
limited	f	\N	1767225600000	\N
open	f	86400000	1767225600000	\N
paused	t	\N	1795127716680	\N
f1	f	\N	1767225600000	\N
f1b	f	\N	1767225600000	\N
f3	f	\N	1767225600000	\N
f4	f	\N	1767225600000	\N
f4b	f	\N	1767225600000	\N
f5	f	\N	1767225600000	\N
f5b	f	\N	1767225600000	\N
f6	f	\N	1767225600000	\N
f6b	f	\N	1767225600000	\N
\.

--
-- Data for Name: schedules; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.schedules (name, cron, time_zone, catch_up, paused, next_due_ms, next_run_ms, last_due_ms, created_at_ms, last_error, task) FROM stdin;
hourly	0 * * * *	UTC	one	f	1767229200000	1767229200000	\N	1767225600000	\N	{"queue": "reports", "capabilities": ["sql"]}
stopped	0 0 * * *	UTC	one	t	1767312000000	1767312000000	\N	1767225600000	\N	{"queue": "reports"}
\.

--
-- Data for Name: sessions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.sessions (session_id, worker_id, locked_until, last_activity_at, lease_inc) FROM stdin;
s	w	1767229200000	1767225600000	1
\.

--
-- Data for Name: signals; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.signals (task_id, nr, waitpoint_id, suspension_nr, accepted_at_ms, signal_id, idempotency_key, name, source, payload) FROM stdin;
00000000-0000-4000-8000-000000000009	1	019b76da-a800-7378-9d08-d8da8ced5b9a	1	1767225600000	019b76da-a800-7378-9d09-42f327996b7f	\N	approval	\N	{"by": "ada"}
\.

--
-- Data for Name: slot_owners; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.slot_owners (queue, owner, locked_until, lease_inc) FROM stdin;
worker	dispatcher	1767229200000	1
\.

--
-- Data for Name: slot_shares; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.slot_shares (queue, slot, owner) FROM stdin;
worker	0	dispatcher
worker	1	dispatcher
worker	2	dispatcher
worker	3	dispatcher
\.

--
-- Data for Name: stat_marks; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.stat_marks (queue, task_queue, counted_since, numbers) FROM stdin;
orchestrator		848442916496014	{16,11,6,1,0,0,0,0,10,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,10,6,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1}
worker		848442916496014	{7,4,0,1,0,0,0,2,3,0,0,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,30,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	ends	848442916674562	{1,1,1,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f1	848442916914179	{1,1,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f1b	848442916914179	{3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f3	848442916931424	{2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f4	848442916935510	{1,1,0,0,0,1,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f4b	848442916935511	{1,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f5	848442916945029	{1,1,1,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f5b	848442916945029	{6,0,0,0,0,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f6	848442916956067	{1,1,0,1,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	f6b	848442916956068	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	fails	848442916674563	{1,1,0,1,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	late	848442916674564	{1,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	limited	848442916674564	{2,1,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	mail	848442916674561	{1,1,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	open	848442916674562	{4,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	paused	848442916705938	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	progress	848442916674562	{1,1,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	retries	848442916674564	{1,1,0,0,1,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	waited	848442916674564	{1,1,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks	waits	848442916674563	{1,1,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
tasks		848442916674561	{32,12,2,2,1,5,1,0,12,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,6,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}
\.

--
-- Data for Name: stat_minutes; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.stat_minutes (queue, task_queue, minute_ms, counts, wait_buckets, wait_sum_ms, run_buckets, run_sum_ms, depth, oldest_ms) FROM stdin;
orchestrator		1767225660000	{16,11,6,1,0,0,0,0}	{10,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	10	{6,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	1	6	60000
worker		1767225660000	{7,4,0,1,0,0,0,2}	{3,0,0,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	30	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	3	60000
tasks	ends	1767225660000	{1,1,1,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	f1	1767225660000	{1,1,0,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	f1b	1767225660000	{3,0,0,0,0,0,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	1	60000
tasks	f3	1767225660000	{2,0,0,0,0,0,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	1	60000
tasks	f4	1767225660000	{1,1,0,0,0,1,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	f4b	1767225660000	{1,0,0,0,0,1,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	f5	1767225660000	{1,1,1,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	f5b	1767225660000	{6,0,0,0,0,2,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	3	60000
tasks	f6	1767225660000	{1,1,0,1,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	f6b	1767225660000	{1,0,0,0,0,0,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	fails	1767225660000	{1,1,0,1,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	late	1767225660000	{1,0,0,0,0,0,1,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	limited	1767225660000	{2,1,0,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	1	60000
tasks	mail	1767225660000	{1,1,0,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	open	1767225660000	{4,0,0,0,0,1,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	2	60000
tasks	paused	1767225660000	{1,0,0,0,0,0,0,0}	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	1	60000
tasks	progress	1767225660000	{1,1,0,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	retries	1767225660000	{1,1,0,0,1,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks	waited	1767225660000	{1,1,0,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	1	60000
tasks	waits	1767225660000	{1,1,0,0,0,0,0,0}	{1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	0	\N
tasks		1767225660000	{32,12,2,2,1,5,1,0}	{12,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	{6,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}	0	10	60000
\.

--
-- Data for Name: suspensions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.suspensions (task_id, nr, id, attempt_index, created_at_ms, closed_at_ms, timeout_at_ms, resume_delay_ms, on_timeout, reason_code, closed_by, idempotency_key, condition) FROM stdin;
00000000-0000-4000-8000-000000000008	1	019b76da-a800-7378-9d05-f21de01efdec	1	1767225600000	\N	1798761600000	0	fail	waiting_for_signal	\N	\N	{"single": {"key": "approval"}}
00000000-0000-4000-8000-000000000009	1	019b76da-a800-7378-9d07-bff4e8285d6d	1	1767225600000	1767225600000	\N	0	fail	waiting_for_signal	condition	\N	{"single": {"key": "approval"}}
\.

--
-- Data for Name: tasks; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.tasks (id, cap_set, priority, attempt_index, slot, held, available_at_ms, lease_check_ms, deadline_ms, terminal_at_ms, state, queue, flow_id, lease_epoch, start_delay_ms, created_at_ms, updated_at_ms, lease_until_ms, attempt_started_ms, attempt_deadline_ms, started_at_ms, progress_at_ms, lease_nonce, attempt_leases, retry_count, reclaim_count, replay_count, pending_attempt, attempt_kind, kind, flow_key, dedup_key, lease_owner, lease_worker, attempt_worker, attempt_worker_instance, failure_class, failure_message, cancel_reason, cancelled_by, progress_pct, progress_message, payload, result, checkpoint, tags, policy, failure_details) FROM stdin;
00000000-0000-4000-8000-000000000003	0	5	0	0	f	1767225600000	\N	\N	\N	ready	open	\N	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000004	0	0	0	1	f	1767227400000	\N	\N	\N	delayed	open	\N	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000007	1	0	0	0	f	1767225600000	\N	\N	\N	ready	open	\N	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-00000000000b	0	0	0	0	f	1767225600000	\N	\N	\N	ready	limited	\N	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
019b76da-a800-7378-9d04-263ac1a2d87b	0	0	0	1	f	1767225600000	\N	\N	\N	ready	paused	\N	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000001	0	0	1	2	f	1767225600000	1767229200000	\N	\N	active	mail	\N	1	0	1767225600000	1767225600000	1767229200000	1767225600000	\N	1767225600000	\N	22175c81-0633-18a9-2249-48dd6212933a	1	0	0	0	initial	initial	welcome	\N	first	w	w	w	w	\N	\N	\N	\N	\N	\N	{"to": "a"}	\N	\N	{"tenant": "t"}	\N	\N
00000000-0000-4000-8000-00000000000a	0	5	1	3	f	1767225600000	1767229200000	\N	\N	active	limited	\N	1	0	1767225600000	1767225600000	1767229200000	1767225600000	\N	1767225600000	\N	5325d147-7ac5-dbf1-d421-d75e4e6dfe72	1	0	0	0	initial	initial		\N	\N	w-1	w	w	w-1	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000002	0	0	1	3	f	1767225600000	1767229200000	\N	\N	active	progress	\N	1	0	1767225600000	1767225600000	1767229200000	1767225600000	\N	1767225600000	1767225600000	2ffafec4-0d99-877a-7526-a0bfa46dbebb	1	0	0	0	initial	initial		\N	\N	w-1	w	w	w-1	\N	\N	\N	\N	50	half	\N	\N	{"at": 50}	{}	\N	\N
00000000-0000-4000-8000-000000000005	0	0	1	2	f	\N	\N	\N	1767225600000	completed	ends	\N	2	0	1767225600000	1767225600000	\N	1767225600000	\N	1767225600000	\N	4514c8a1-6477-2d22-58f3-8bd52afc403d	1	0	0	0	initial	initial		\N	once	\N	\N	w	w-1	\N	\N	\N	\N	\N	\N	\N	{"sent": true}	\N	{}	\N	\N
00000000-0000-4000-8000-000000000006	0	0	1	3	f	\N	\N	\N	1767225600000	failed	fails	\N	2	0	1767225600000	1767225600000	\N	\N	\N	1767225600000	\N	326e747d-2bf3-ff8c-60fe-ec7e11fa6f12	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	permanent	no such address	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-00000000000e	0	0	1	3	f	1767225601000	\N	\N	\N	delayed	retries	\N	2	0	1767225600000	1767225600000	\N	\N	\N	1767225600000	\N	c7e7a2e9-b5d2-f21b-a130-5d1015d45a67	0	1	0	0	retry	\N		\N	\N	\N	\N	\N	\N	transient	busy	\N	\N	\N	\N	\N	\N	\N	{}	{"max_attempts": 3, "on_lease_expiry": "retry"}	\N
00000000-0000-4000-8000-00000000000c	0	0	0	1	f	\N	\N	\N	1767225600000	cancelled	open	\N	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	not wanted	operator_override	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000008	0	0	1	1	f	\N	\N	\N	\N	suspended	waits	\N	2	0	1767225600000	1767225600000	\N	1767225600000	\N	1767225600000	\N	3bf6bbbd-32ad-2445-54d1-737b39a7b991	1	0	0	0	resume	initial		\N	\N	\N	\N	w	w-1	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000009	0	0	1	2	f	1767225600000	\N	\N	\N	ready	waited	\N	2	0	1767225600000	1767225600000	\N	1767225600000	\N	1767225600000	\N	d995c5e2-4b4e-6b11-313f-95062e13765e	1	0	0	0	resume	initial		\N	\N	\N	\N	w	w-1	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000012	0	0	0	3	f	\N	\N	\N	\N	blocked	f1b	00000000-0000-4000-8000-0000000000f1	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		b	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000014	0	0	0	1	f	1767225600000	\N	\N	\N	ready	f1b	00000000-0000-4000-8000-0000000000f1	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		d	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000013	0	0	0	0	f	\N	\N	\N	\N	blocked	f1b	00000000-0000-4000-8000-0000000000f1	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		c	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000031	0	0	0	2	f	1767225600000	\N	\N	\N	ready	f3	00000000-0000-4000-8000-0000000000f3	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		a	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000032	0	0	0	3	t	\N	\N	\N	\N	blocked	f3	00000000-0000-4000-8000-0000000000f3	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		b	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000054	0	0	0	1	f	1767225600000	\N	\N	\N	ready	f5b	00000000-0000-4000-8000-0000000000f5	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		d	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000011	0	9	1	2	f	1767225600000	1767229200000	\N	\N	active	f1	00000000-0000-4000-8000-0000000000f1	1	0	1767225600000	1767225600000	1767229200000	1767225600000	\N	1767225600000	\N	4a92c821-a111-671d-0fd0-22ab8afc478c	1	0	0	0	initial	initial		a	\N	w-1	w	w	w-1	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000051	0	9	1	2	f	\N	\N	\N	1767225600000	completed	f5	00000000-0000-4000-8000-0000000000f5	2	0	1767225600000	1767225600000	\N	1767225600000	\N	1767225600000	\N	2ad44414-bac3-1a1b-c295-9b199a836043	1	0	0	0	initial	initial		a	\N	\N	\N	w	w-1	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000052	0	0	0	3	f	\N	\N	\N	1767225600000	cancelled	f5b	00000000-0000-4000-8000-0000000000f5	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		b	\N	\N	\N	\N	\N	\N	\N	sibling_quorum_satisfied	engine	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000053	0	0	0	0	f	\N	\N	\N	1767225600000	cancelled	f5b	00000000-0000-4000-8000-0000000000f5	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		c	\N	\N	\N	\N	\N	\N	\N	sibling_quorum_satisfied	engine	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000041	0	0	1	2	f	\N	\N	\N	1767225600000	cancelled	f4	00000000-0000-4000-8000-0000000000f4	2	0	1767225600000	1767225600000	\N	\N	\N	1767225600000	\N	609bb1a6-2ca8-ae91-63a8-5bde91e3e9b4	0	0	0	0	initial	\N		a	\N	\N	\N	\N	\N	\N	\N		flow_cascade	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000042	0	0	0	3	f	\N	\N	\N	1767225600000	cancelled	f4b	00000000-0000-4000-8000-0000000000f4	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		b	\N	\N	\N	\N	\N	\N	\N		flow_cascade	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-00000000000d	0	0	0	2	f	\N	\N	1767225601000	1767225602000	expired	late	\N	0	0	1767225600000	1767225602000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000057	0	0	0	0	f	\N	\N	\N	\N	blocked	f5b	00000000-0000-4000-8000-0000000000f5	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		l	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000055	0	0	0	2	f	1767225600000	\N	\N	\N	ready	f5b	00000000-0000-4000-8000-0000000000f5	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		j	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000056	0	0	0	3	f	1767225600000	\N	\N	\N	ready	f5b	00000000-0000-4000-8000-0000000000f5	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		k	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000061	0	0	1	2	f	\N	\N	\N	1767225600000	failed	f6	00000000-0000-4000-8000-0000000000f6	2	0	1767225600000	1767225600000	\N	\N	\N	1767225600000	\N	e23d35a8-b61f-c13d-cec0-023cdd9b7d64	0	0	0	0	initial	\N		a	\N	\N	\N	\N	\N	permanent	broken	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
00000000-0000-4000-8000-000000000062	0	0	0	3	f	\N	\N	\N	1767225600000	skipped	f6b	00000000-0000-4000-8000-0000000000f6	0	0	1767225600000	1767225600000	\N	\N	\N	\N	\N	\N	0	0	0	0	initial	\N		b	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{}	\N	\N
\.

--
-- Data for Name: waitpoint_keys; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.waitpoint_keys (kid, signs, created_at_ms, valid_until_ms, secret) FROM stdin;
k1	f	1795127714781	1826663716884	\\xb61560dda4db662fff0982cc7830980b679e329a5c46e92b8549bdf6ef436f1d
k2	t	1795127716884	\N	\\x015f7e6bc5aeaf483724089e9252cc13b50951a6b69412522765cff4d780306e
\.

--
-- Data for Name: waitpoints; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.waitpoints (task_id, id, suspension_nr, created_at_ms, expires_at_ms, closed_at_ms, key, kid) FROM stdin;
00000000-0000-4000-8000-000000000008	019b76da-a800-7378-9d06-2c8dd9cc96e2	1	1767225600000	\N	\N	approval	k1
00000000-0000-4000-8000-000000000009	019b76da-a800-7378-9d08-d8da8ced5b9a	1	1767225600000	\N	1767225600000	approval	k1
\.

--
-- Data for Name: worker_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

COPY old.worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, nonce_hi, nonce_lo, lease_inc, attempt_count, execution_id, activity_id, tag, session_id, instance_id, locked_by, work_item, last_error) FROM stdin;
517908110	0	0	3	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	0	0	0	0	0	1	4	gpu	\N	running	\N	{"ActivityExecute": {"id": 4, "tag": "gpu", "name": "Mail", "input": "", "instance": "running", "execution_id": 1}}	\N
1	0	0	5	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	0	0	0	0	0	1	6	\N	s	running	\N	{"ActivityExecute": {"id": 6, "name": "Chat", "input": "", "instance": "running", "session_id": "s", "execution_id": 1}}	\N
0	0	0	2	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	1767229200000	5128077383030427675	7407670805063329397	1	1	1	2	\N	\N	running	w	{"ActivityExecute": {"id": 2, "name": "Charge", "input": "9", "instance": "running", "execution_id": 1}}	\N
1	0	0	4	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	1767229200000	5533515019987844885	5617852649195639921	1	1	1	5	\N	s	running	w	{"ActivityExecute": {"id": 5, "name": "Chat", "input": "", "instance": "running", "session_id": "s", "execution_id": 1}}	\N
0	0	1767227400000	6	2026-01-01 00:30:00+00	2026-01-01 00:00:00+00	0	0	0	0	0	1	9	\N	\N	running	\N	{"ActivityExecute": {"id": 9, "name": "Later", "input": "", "instance": "running", "execution_id": 1}}	\N
1670146496	2	0	7	2026-01-01 00:00:00+00	2026-01-01 00:00:00+00	0	0	0	0	0	1	1	far	\N	far	\N	{"ActivityExecute": {"id": 1, "tag": "far", "instance": "far", "execution_id": 1}}	\N
\.

--
-- Name: capability_sets_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.capability_sets_id', 1, true);

--
-- Name: dead_letters_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.dead_letters_id', 2, true);

--
-- Name: instance_locks_no; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.instance_locks_no', 11, true);

--
-- Name: intent_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.intent_queue_id', 3, true);

--
-- Name: orchestrator_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.orchestrator_queue_id', 16, true);

--
-- Name: outbox_events_position; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.outbox_events_position', 58, true);

--
-- Name: worker_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.worker_queue_id', 7, true);

--
-- Name: entries entries_pkey; Type: CONSTRAINT; Schema: kept; Owner: upgrade_owner
--

ALTER TABLE ONLY kept.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (what);

--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (task_id, attempt_index);

--
-- Name: belay_hub belay_hub_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.belay_hub
    ADD CONSTRAINT belay_hub_pkey PRIMARY KEY (uuid);

--
-- Name: cancel_backlog_members cancel_backlog_members_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.cancel_backlog_members
    ADD CONSTRAINT cancel_backlog_members_pkey PRIMARY KEY (flow_id, task_id);

--
-- Name: cancel_backlog cancel_backlog_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.cancel_backlog
    ADD CONSTRAINT cancel_backlog_pkey PRIMARY KEY (flow_id);

--
-- Name: capability_sets capability_sets_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.capability_sets
    ADD CONSTRAINT capability_sets_pkey PRIMARY KEY (id);

--
-- Name: cascade_queue cascade_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.cascade_queue
    ADD CONSTRAINT cascade_queue_pkey PRIMARY KEY (task_id, what);

--
-- Name: dead_letters dead_letters_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

--
-- Name: dedup_keys dedup_keys_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.dedup_keys
    ADD CONSTRAINT dedup_keys_pkey PRIMARY KEY (queue, key);

--
-- Name: edges edges_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.edges
    ADD CONSTRAINT edges_pkey PRIMARY KEY (flow_id, downstream_id, upstream_id);

--
-- Name: executions executions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.executions
    ADD CONSTRAINT executions_pkey PRIMARY KEY (instance_id, execution_id);

--
-- Name: flows flows_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.flows
    ADD CONSTRAINT flows_pkey PRIMARY KEY (id);

--
-- Name: groups groups_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.groups
    ADD CONSTRAINT groups_pkey PRIMARY KEY (downstream_id);

--
-- Name: history_turns history_turns_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.history_turns
    ADD CONSTRAINT history_turns_pkey PRIMARY KEY (instance_id, execution_id, last_event_id);

--
-- Name: instance_locks instance_locks_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.instance_locks
    ADD CONSTRAINT instance_locks_pkey PRIMARY KEY (instance_key, instance_id);

--
-- Name: instances instances_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (instance_id);

--
-- Name: intent_links intent_links_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.intent_links
    ADD CONSTRAINT intent_links_pkey PRIMARY KEY (target_hub);

--
-- Name: intent_queue intent_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.intent_queue
    ADD CONSTRAINT intent_queue_pkey PRIMARY KEY (id);

--
-- Name: intents_received intents_received_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.intents_received
    ADD CONSTRAINT intents_received_pkey PRIMARY KEY (source_uuid, intent_id);

--
-- Name: kv_delta kv_delta_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.kv_delta
    ADD CONSTRAINT kv_delta_pkey PRIMARY KEY (instance_id, key);

--
-- Name: kv_store kv_store_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.kv_store
    ADD CONSTRAINT kv_store_pkey PRIMARY KEY (instance_id, key);

--
-- Name: orchestrator_queue orchestrator_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.orchestrator_queue
    ADD CONSTRAINT orchestrator_queue_pkey PRIMARY KEY (instance_key, id);

--
-- Name: outbox_events outbox_events_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.outbox_events
    ADD CONSTRAINT outbox_events_pkey PRIMARY KEY (incarnation, "position");

--
-- Name: outbox_gaps outbox_gaps_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.outbox_gaps
    ADD CONSTRAINT outbox_gaps_pkey PRIMARY KEY (subscription, last_incarnation, last_position);

--
-- Name: outbox_subscriptions outbox_subscriptions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.outbox_subscriptions
    ADD CONSTRAINT outbox_subscriptions_pkey PRIMARY KEY (name);

--
-- Name: queue_limits queue_limits_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.queue_limits
    ADD CONSTRAINT queue_limits_pkey PRIMARY KEY (queue);

--
-- Name: queues queues_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

--
-- Name: schedules schedules_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (name);

--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (session_id);

--
-- Name: signals signals_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.signals
    ADD CONSTRAINT signals_pkey PRIMARY KEY (task_id, nr);

--
-- Name: slot_owners slot_owners_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.slot_owners
    ADD CONSTRAINT slot_owners_pkey PRIMARY KEY (queue, owner);

--
-- Name: slot_shares slot_shares_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.slot_shares
    ADD CONSTRAINT slot_shares_pkey PRIMARY KEY (queue, slot);

--
-- Name: stat_marks stat_marks_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.stat_marks
    ADD CONSTRAINT stat_marks_pkey PRIMARY KEY (queue, task_queue);

--
-- Name: stat_minutes stat_minutes_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.stat_minutes
    ADD CONSTRAINT stat_minutes_pkey PRIMARY KEY (queue, task_queue, minute_ms);

--
-- Name: suspensions suspensions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.suspensions
    ADD CONSTRAINT suspensions_pkey PRIMARY KEY (task_id, nr);

--
-- Name: tasks tasks_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

--
-- Name: waitpoint_keys waitpoint_keys_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.waitpoint_keys
    ADD CONSTRAINT waitpoint_keys_pkey PRIMARY KEY (kid);

--
-- Name: waitpoints waitpoints_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.waitpoints
    ADD CONSTRAINT waitpoints_pkey PRIMARY KEY (task_id, id);

--
-- Name: worker_queue worker_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.worker_queue
    ADD CONSTRAINT worker_queue_pkey PRIMARY KEY (lane, slot, due, id);

--
-- Name: cancel_backlog_grace; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX cancel_backlog_grace ON old.cancel_backlog USING btree (grace_until_ms);

--
-- Name: capability_sets_queue; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE UNIQUE INDEX capability_sets_queue ON old.capability_sets USING btree (queue, digest);

--
-- Name: cascade_queue_flow; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX cascade_queue_flow ON old.cascade_queue USING btree (flow_id);

--
-- Name: cascade_queue_order; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX cascade_queue_order ON old.cascade_queue USING btree (enqueued_at_ms, task_id);

--
-- Name: dead_letters_dead; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX dead_letters_dead ON old.dead_letters USING btree (dead_at, id);

--
-- Name: dead_letters_instance; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX dead_letters_instance ON old.dead_letters USING btree (instance_id, id) WHERE (instance_id IS NOT NULL);

--
-- Name: edges_upstream; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX edges_upstream ON old.edges USING btree (upstream_id, downstream_id);

--
-- Name: executions_completed; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX executions_completed ON old.executions USING btree (completed_at, instance_id, execution_id) WHERE (completed_at IS NOT NULL);

--
-- Name: executions_failed; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX executions_failed ON old.executions USING btree (completed_at, instance_id) WHERE (status = 'Failed'::text);

--
-- Name: executions_running; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX executions_running ON old.executions USING btree (started_at, instance_id) WHERE (status = 'Running'::text);

--
-- Name: flows_terminal_at; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX flows_terminal_at ON old.flows USING btree (terminal_at_ms) WHERE (terminal_at_ms IS NOT NULL);

--
-- Name: groups_flow; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX groups_flow ON old.groups USING btree (flow_id, downstream_id);

--
-- Name: instances_created; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX instances_created ON old.instances USING btree (created_at, instance_id);

--
-- Name: instances_parent; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX instances_parent ON old.instances USING btree (parent_instance_id) WHERE (parent_instance_id IS NOT NULL);

--
-- Name: intent_queue_created; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX intent_queue_created ON old.intent_queue USING btree (target_hub, created_at);

--
-- Name: intent_queue_due; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX intent_queue_due ON old.intent_queue USING btree (target_hub, next_try_at, id) WHERE (NOT blocked);

--
-- Name: intent_queue_pair; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX intent_queue_pair ON old.intent_queue USING btree (target_hub, source_instance, target_instance, id);

--
-- Name: intents_received_at; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX intents_received_at ON old.intents_received USING btree (received_at);

--
-- Name: orchestrator_queue_claim; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX orchestrator_queue_claim ON old.orchestrator_queue USING btree (slot, visible_at, id) WHERE (NOT parked);

--
-- Name: orchestrator_queue_parent; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX orchestrator_queue_parent ON old.orchestrator_queue USING btree (parent_id) WHERE (parent_id IS NOT NULL);

--
-- Name: orchestrator_queue_parked; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX orchestrator_queue_parked ON old.orchestrator_queue USING btree (created_at) WHERE parked;

--
-- Name: outbox_operator; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX outbox_operator ON old.outbox_events USING btree (subject, incarnation, "position") WHERE (topic = 'operator'::text);

--
-- Name: queue_moves_queue; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX queue_moves_queue ON old.queue_moves USING btree (queue);

--
-- Name: schedules_due; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX schedules_due ON old.schedules USING btree (next_run_ms) WHERE (NOT paused);

--
-- Name: signals_id; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE UNIQUE INDEX signals_id ON old.signals USING btree (task_id, waitpoint_id, signal_id);

--
-- Name: signals_key; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE UNIQUE INDEX signals_key ON old.signals USING btree (task_id, waitpoint_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

--
-- Name: stat_minutes_minute; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX stat_minutes_minute ON old.stat_minutes USING btree (minute_ms);

--
-- Name: suspensions_key; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE UNIQUE INDEX suspensions_key ON old.suspensions USING btree (task_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

--
-- Name: suspensions_timeout; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX suspensions_timeout ON old.suspensions USING btree (timeout_at_ms) WHERE ((closed_at_ms IS NULL) AND (timeout_at_ms IS NOT NULL));

--
-- Name: tasks_claim; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_claim ON old.tasks USING btree (queue, slot, cap_set, priority DESC, available_at_ms, id) WITH (deduplicate_items=off) WHERE (state = 'ready'::text);

--
-- Name: tasks_deadline; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_deadline ON old.tasks USING btree (deadline_ms) WHERE ((deadline_ms IS NOT NULL) AND (state <> 'active'::text) AND (terminal_at_ms IS NULL));

--
-- Name: tasks_due; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_due ON old.tasks USING btree (available_at_ms, id) WITH (deduplicate_items=off) WHERE (state = 'delayed'::text);

--
-- Name: tasks_expiry; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_expiry ON old.tasks USING btree (lease_check_ms) WHERE (state = 'active'::text);

--
-- Name: tasks_failed; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_failed ON old.tasks USING btree (terminal_at_ms, id) WHERE (state = ANY (ARRAY['failed'::text, 'expired'::text]));

--
-- Name: tasks_flow; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_flow ON old.tasks USING btree (flow_id, id) WHERE (flow_id IS NOT NULL);

--
-- Name: tasks_parked; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_parked ON old.tasks USING btree (state, queue, id) WHERE (state = ANY (ARRAY['blocked'::text, 'suspended'::text]));

--
-- Name: tasks_terminal_at; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_terminal_at ON old.tasks USING btree (terminal_at_ms, id) WITH (deduplicate_items=off) WHERE (terminal_at_ms IS NOT NULL);

--
-- Name: waitpoint_keys_signs; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE UNIQUE INDEX waitpoint_keys_signs ON old.waitpoint_keys USING btree (signs) WHERE signs;

--
-- Name: worker_queue_activity; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX worker_queue_activity ON old.worker_queue USING btree (instance_id, execution_id, activity_id) WHERE (instance_id IS NOT NULL);

--
-- Name: worker_queue_session; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX worker_queue_session ON old.worker_queue USING btree (session_id, lane, slot, due, id) WHERE (session_id IS NOT NULL);

--
-- Name: SCHEMA old; Type: ACL; Schema: -; Owner: upgrade_owner
--

GRANT USAGE ON SCHEMA old TO upgrade_client;
GRANT USAGE ON SCHEMA old TO upgrade_worker;
GRANT USAGE ON SCHEMA old TO upgrade_operator;
GRANT USAGE ON SCHEMA old TO upgrade_monitor;

--
-- Name: FUNCTION abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.abandon_work_item(p_lock_token text, p_delay_ms bigint, p_ignore_attempt boolean, p_reason text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_and_fetch_turns(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION ack_cancel_member(p_flow_id uuid, p_task_id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_cancel_member(p_flow_id uuid, p_task_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_cancel_member(p_flow_id uuid, p_task_id uuid) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_cancel_member(p_flow_id uuid, p_task_id uuid) TO upgrade_operator;

--
-- Name: FUNCTION ack_events(p_subscription text, p_upto text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION ack_workers(p_acks jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.acquire_slots(p_owner_id text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.add_edge(p_flow_id uuid, p_upstream_id uuid, p_downstream_id uuid, p_pass_as text, p_expected_revision bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.add_task_to_flow(p_flow_id uuid, p_task jsonb, p_expected_revision bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION append_history(p_instance_id text, p_execution_id bigint, p_events jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) TO upgrade_operator;

--
-- Name: FUNCTION approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.approve_task(p_task_id uuid, p_waitpoint_id uuid, p_name text, p_idempotency text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: PROCEDURE await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON PROCEDURE old.await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text) FROM PUBLIC;
GRANT ALL ON PROCEDURE old.await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text) TO upgrade_worker;
GRANT ALL ON PROCEDURE old.await(IN queues text[], IN timeout interval, INOUT queue text, INOUT reason text) TO upgrade_operator;

--
-- Name: PROCEDURE await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON PROCEDURE old.await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text) FROM PUBLIC;
GRANT ALL ON PROCEDURE old.await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text) TO upgrade_worker;
GRANT ALL ON PROCEDURE old.await(IN queues text, IN timeout interval, INOUT queue text, INOUT reason text) TO upgrade_operator;

--
-- Name: PROCEDURE await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) FROM PUBLIC;
GRANT ALL ON PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_client;
GRANT ALL ON PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_worker;
GRANT ALL ON PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_operator;
GRANT ALL ON PROCEDURE old.await_result(IN id text, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_monitor;

--
-- Name: PROCEDURE await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) FROM PUBLIC;
GRANT ALL ON PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_client;
GRANT ALL ON PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_worker;
GRANT ALL ON PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_operator;
GRANT ALL ON PROCEDURE old.await_result(IN id uuid, IN timeout interval, INOUT state text, INOUT result jsonb) TO upgrade_monitor;

--
-- Name: FUNCTION browse_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;

--
-- Name: FUNCTION browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.browse_events(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_monitor;

--
-- Name: FUNCTION browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.browse_flows(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_monitor;

--
-- Name: FUNCTION browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.browse_history(p_instance_id text, p_execution_id bigint, p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_monitor;

--
-- Name: FUNCTION browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.browse_instances(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_monitor;

--
-- Name: FUNCTION browse_messages(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_messages(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_messages(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;

--
-- Name: FUNCTION browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.browse_tasks(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_monitor;

--
-- Name: FUNCTION browse_work_items(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.browse_work_items(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.browse_work_items(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer, p_preview integer) TO upgrade_operator;

--
-- Name: FUNCTION cancel(id uuid, reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel(id uuid, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel(id uuid, reason text) TO upgrade_client;
GRANT ALL ON FUNCTION old.cancel(id uuid, reason text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cancel(id uuid, reason text) TO upgrade_operator;

--
-- Name: FUNCTION cancel_activities(p_cancelled_activities jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) TO upgrade_operator;

--
-- Name: FUNCTION cancel_flow(p_flow_id uuid, p_reason text, p_policy text, p_grace_ms bigint, p_requester text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_flow(p_flow_id uuid, p_reason text, p_policy text, p_grace_ms bigint, p_requester text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_flow(p_flow_id uuid, p_reason text, p_policy text, p_grace_ms bigint, p_requester text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION cancel_instances(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_instances(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_instances(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION cancel_tasks(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_tasks(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_tasks(p_filter jsonb, p_reason text, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION check_tasks(p_flow_id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.check_tasks(p_flow_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.check_tasks(p_flow_id uuid) TO upgrade_operator;
GRANT ALL ON FUNCTION old.check_tasks(p_flow_id uuid) TO upgrade_monitor;

--
-- Name: FUNCTION claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION cleanup_orphaned_sessions(p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION complete(lease text, result jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete(lease text, result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete(lease text, result jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete(lease text, result jsonb) TO upgrade_operator;

--
-- Name: FUNCTION complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete_and_claim(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text[], max integer, lease_for interval, worker text, capabilities text[]) TO upgrade_operator;

--
-- Name: FUNCTION complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete_and_receive(lease text, result jsonb, queues text, max integer, lease_for interval, worker text, capabilities text[]) TO upgrade_operator;

--
-- Name: FUNCTION complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete_task(p_task_id uuid, p_lease_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION create_flow(p_flow jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.create_flow(p_flow jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text, p_catch_up text, p_if_exists text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text, p_catch_up text, p_if_exists text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_schedule(p_name text, p_cron text, p_task jsonb, p_time_zone text, p_catch_up text, p_if_exists text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION create_subscription(p_subscription text, p_topics text[], p_from text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_subscription(p_subscription text, p_topics text[], p_from text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_subscription(p_subscription text, p_topics text[], p_from text) TO upgrade_operator;

--
-- Name: FUNCTION create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.create_task(p_queue text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION create_tasks(p_tasks jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.create_waitpoint(p_task_id uuid, p_lease_epoch bigint, p_key text, p_expires_in_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.delay_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION delete_flow(p_flow_id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delete_flow(p_flow_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delete_flow(p_flow_id uuid) TO upgrade_operator;

--
-- Name: FUNCTION delete_instance(p_instance_id text, p_force boolean); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delete_instance(p_instance_id text, p_force boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delete_instance(p_instance_id text, p_force boolean) TO upgrade_operator;

--
-- Name: FUNCTION delete_instances_atomic(p_instance_ids text[], p_force boolean); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delete_instances_atomic(p_instance_ids text[], p_force boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delete_instances_atomic(p_instance_ids text[], p_force boolean) TO upgrade_operator;

--
-- Name: FUNCTION delete_instances_bulk(p_filter jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delete_instances_bulk(p_filter jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delete_instances_bulk(p_filter jsonb) TO upgrade_operator;

--
-- Name: FUNCTION delete_task(p_task_id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delete_task(p_task_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delete_task(p_task_id uuid) TO upgrade_operator;

--
-- Name: FUNCTION deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.deliver_signal(p_task_id uuid, p_waitpoint_id uuid, p_token text, p_signal jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION discard_dead_letter(p_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.discard_dead_letter(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.discard_dead_letter(p_id bigint) TO upgrade_operator;

--
-- Name: FUNCTION discard_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.discard_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.discard_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) TO upgrade_operator;

--
-- Name: FUNCTION drop_schedule(p_name text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.drop_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.drop_schedule(p_name text) TO upgrade_operator;

--
-- Name: FUNCTION drop_subscription(p_subscription text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.drop_subscription(p_subscription text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.drop_subscription(p_subscription text) TO upgrade_operator;

--
-- Name: FUNCTION enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.enqueue_orchestrator_work(p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text, p_orchestration_version text, p_execution_id bigint) TO upgrade_operator;

--
-- Name: FUNCTION enqueue_worker_items(p_items jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_min_version_packed bigint, p_max_version_packed bigint, p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_waits(p_instance_id text, p_limit integer, p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION explain_work_item(p_id bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_work_item(p_id bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_work_item(p_id bigint, p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_work_item(p_id bigint, p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION extend(lease text, by interval); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.extend(lease text, by interval) FROM PUBLIC;
GRANT ALL ON FUNCTION old.extend(lease text, by interval) TO upgrade_worker;
GRANT ALL ON FUNCTION old.extend(lease text, by interval) TO upgrade_operator;

--
-- Name: FUNCTION fail(lease text, error text, retry_in interval, class text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fail(lease text, error text, retry_in interval, class text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fail(lease text, error text, retry_in interval, class text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fail(lease text, error text, retry_in interval, class text) TO upgrade_operator;

--
-- Name: FUNCTION fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fail_task(p_task_id uuid, p_lease_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION fetch_history(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_history(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_history(p_instance_id text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_history(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.fetch_history(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION fetch_history_with_execution(p_instance_id text, p_execution_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) TO upgrade_monitor;

--
-- Name: FUNCTION fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_orchestration_item(p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_work_item(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_work_items(p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION find(p_text text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.find(p_text text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.find(p_text text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.find(p_text text) TO upgrade_monitor;

--
-- Name: FUNCTION get_custom_status(p_instance_id text, p_last_seen_version bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) TO upgrade_monitor;

--
-- Name: FUNCTION get_execution_info(p_instance_id text, p_execution_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) TO upgrade_monitor;

--
-- Name: FUNCTION get_flow(p_flow_id uuid, p_revision text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_flow(p_flow_id uuid, p_revision text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_flow(p_flow_id uuid, p_revision text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_flow(p_flow_id uuid, p_revision text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_flow(p_flow_id uuid, p_revision text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_flow(p_flow_id uuid, p_revision text) TO upgrade_monitor;

--
-- Name: FUNCTION get_instance_info(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_instance_info(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION get_instance_stats(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_instance_stats(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_instance_stats(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_instance_stats(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION get_instance_tree(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_instance_tree(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_instance_tree(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_instance_tree(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION get_kv_all_values(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_kv_all_values(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance_id text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance_id text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION get_kv_value(p_instance_id text, p_key text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_kv_value(p_instance_id text, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance_id text, p_key text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance_id text, p_key text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance_id text, p_key text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance_id text, p_key text) TO upgrade_monitor;

--
-- Name: FUNCTION get_parent_id(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_parent_id(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_parent_id(p_instance_id text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_parent_id(p_instance_id text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_parent_id(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_parent_id(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION get_queue_depths(p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_queue_depths(p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_queue_depths(p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_queue_depths(p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION get_system_metrics(); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_system_metrics() FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_system_metrics() TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_system_metrics() TO upgrade_monitor;

--
-- Name: FUNCTION get_task(p_task_id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_task(p_task_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_task(p_task_id uuid) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_task(p_task_id uuid) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_task(p_task_id uuid) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_task(p_task_id uuid) TO upgrade_monitor;

--
-- Name: FUNCTION glance(p_cap integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.glance(p_cap integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.glance(p_cap integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.glance(p_cap integer) TO upgrade_monitor;

--
-- Name: FUNCTION guard(p_lock_token text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.guard(p_lock_token text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.guard(p_lock_token text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.guard(p_lock_token text) TO upgrade_operator;

--
-- Name: FUNCTION guard_task(p_task_id uuid, p_lease_epoch bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.guard_task(p_task_id uuid, p_lease_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.guard_task(p_task_id uuid, p_lease_epoch bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.guard_task(p_task_id uuid, p_lease_epoch bigint) TO upgrade_operator;

--
-- Name: FUNCTION latest_execution_id(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.latest_execution_id(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.latest_execution_id(p_instance_id text) TO upgrade_client;
GRANT ALL ON FUNCTION old.latest_execution_id(p_instance_id text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.latest_execution_id(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.latest_execution_id(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION list_children(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_children(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_children(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_children(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer) TO upgrade_operator;

--
-- Name: FUNCTION list_executions(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_executions(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_executions(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_executions(p_instance_id text) TO upgrade_monitor;

--
-- Name: FUNCTION list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_expired_leases(p_queue text, p_after_ms bigint, p_after_id uuid, p_limit integer, p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION list_flows(p_filter jsonb, p_after uuid, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_flows(p_filter jsonb, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_flows(p_filter jsonb, p_after uuid, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_flows(p_filter jsonb, p_after uuid, p_limit integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_instances(p_status text, p_name text, p_prefix text, p_created_from_ms bigint, p_created_before_ms bigint, p_after text, p_limit integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_instances_by_status(p_status text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_instances_by_status(p_status text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_instances_by_status(p_status text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_instances_by_status(p_status text) TO upgrade_monitor;

--
-- Name: FUNCTION list_owners(p_after text, p_limit integer, p_scan integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_owners(p_after text, p_limit integer, p_scan integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_owners(p_after text, p_limit integer, p_scan integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_owners(p_after text, p_limit integer, p_scan integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_queues(p_cap integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_queues(p_cap integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_queues(p_cap integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_queues(p_cap integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_schedules(); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_schedules() FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_schedules() TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_schedules() TO upgrade_monitor;

--
-- Name: FUNCTION list_signals(p_task_id uuid, p_after bigint, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_signals(p_task_id uuid, p_after bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_signals(p_task_id uuid, p_after bigint, p_limit integer) TO upgrade_worker;
GRANT ALL ON FUNCTION old.list_signals(p_task_id uuid, p_after bigint, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_signals(p_task_id uuid, p_after bigint, p_limit integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_tasks(p_filter jsonb, p_after uuid, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_waitpoints(p_task_id uuid, p_after uuid, p_limit integer) TO upgrade_monitor;

--
-- Name: FUNCTION list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.next_times(p_cron text, p_time_zone text, p_limit integer, p_now_ms bigint) TO upgrade_monitor;

--
-- Name: FUNCTION pause_hub(p_queue text, p_reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.pause_hub(p_queue text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.pause_hub(p_queue text, p_reason text) TO upgrade_operator;

--
-- Name: FUNCTION pause_queue(p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.pause_queue(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.pause_queue(p_queue text) TO upgrade_operator;

--
-- Name: FUNCTION pause_schedule(p_name text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.pause_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.pause_schedule(p_name text) TO upgrade_operator;

--
-- Name: FUNCTION progress(lease text, percent numeric, message text, checkpoint jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.progress(lease text, percent numeric, message text, checkpoint jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.progress(lease text, percent numeric, message text, checkpoint jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.progress(lease text, percent numeric, message text, checkpoint jsonb) TO upgrade_operator;

--
-- Name: FUNCTION progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.progress_task(p_task_id uuid, p_lease_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION prune_executions_bulk(p_filter jsonb, p_options jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.prune_executions_bulk(p_filter jsonb, p_options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.prune_executions_bulk(p_filter jsonb, p_options jsonb) TO upgrade_operator;

--
-- Name: FUNCTION raise(id text, event text, data jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.raise(id text, event text, data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.raise(id text, event text, data jsonb) TO upgrade_client;
GRANT ALL ON FUNCTION old.raise(id text, event text, data jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.raise(id text, event text, data jsonb) TO upgrade_operator;

--
-- Name: FUNCTION raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.read_body(p_what text, p_id text, p_field text, p_offset bigint, p_length bigint) TO upgrade_monitor;

--
-- Name: FUNCTION read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.read_events(p_subscription text, p_max_items integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_worker;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_monitor;

--
-- Name: FUNCTION receive(queues text[], max integer, lease interval, worker text, capabilities text[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.receive(queues text[], max integer, lease interval, worker text, capabilities text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.receive(queues text[], max integer, lease interval, worker text, capabilities text[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.receive(queues text[], max integer, lease interval, worker text, capabilities text[]) TO upgrade_operator;

--
-- Name: FUNCTION receive(queues text, max integer, lease interval, worker text, capabilities text[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.receive(queues text, max integer, lease interval, worker text, capabilities text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.receive(queues text, max integer, lease interval, worker text, capabilities text[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.receive(queues text, max integer, lease interval, worker text, capabilities text[]) TO upgrade_operator;

--
-- Name: FUNCTION receive_intents(p_intents jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.receive_intents(p_intents jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.receive_intents(p_intents jsonb) TO upgrade_client;
GRANT ALL ON FUNCTION old.receive_intents(p_intents jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.receive_intents(p_intents jsonb) TO upgrade_operator;

--
-- Name: FUNCTION reconcile(p_duties text[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.reconcile(p_duties text[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.reconcile(p_duties text[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION redrive_dead_letter(p_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.redrive_dead_letter(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.redrive_dead_letter(p_id bigint) TO upgrade_operator;

--
-- Name: FUNCTION redrive_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.redrive_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.redrive_dead_letters(p_filter jsonb, p_order text, p_after text, p_limit integer, p_scan integer) TO upgrade_operator;

--
-- Name: FUNCTION release(lease text, delay interval); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.release(lease text, delay interval) FROM PUBLIC;
GRANT ALL ON FUNCTION old.release(lease text, delay interval) TO upgrade_worker;
GRANT ALL ON FUNCTION old.release(lease text, delay interval) TO upgrade_operator;

--
-- Name: FUNCTION release_slots(p_owner_id text, p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.release_slots(p_owner_id text, p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.release_slots(p_owner_id text, p_queue text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.release_slots(p_owner_id text, p_queue text) TO upgrade_operator;

--
-- Name: FUNCTION release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.release_task(p_task_id uuid, p_lease_epoch bigint, p_delay_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_extend_ms bigint, p_idle_timeout_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_task(p_task_id uuid, p_lease_epoch bigint, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_extend_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_extend_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION replay_task(p_task_id uuid, p_cascade boolean, p_expected_replay integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_expected_replay integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_expected_replay integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION replay_tasks(p_filter jsonb, p_cascade boolean, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.replay_tasks(p_filter jsonb, p_cascade boolean, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.replay_tasks(p_filter jsonb, p_cascade boolean, p_order text, p_after text, p_limit integer, p_scan integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION resume_hub(p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_hub(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_hub(p_queue text) TO upgrade_operator;

--
-- Name: FUNCTION resume_queue(p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_queue(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_queue(p_queue text) TO upgrade_operator;

--
-- Name: FUNCTION resume_schedule(p_name text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_schedule(p_name text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_schedule(p_name text, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION resume_task(p_task_id uuid, p_trigger text, p_delay_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_task(p_task_id uuid, p_trigger text, p_delay_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_task(p_task_id uuid, p_trigger text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION retry(id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.retry(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.retry(id uuid) TO upgrade_operator;

--
-- Name: FUNCTION revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_lease_epoch bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_lease_epoch bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_lease_epoch bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.rotate_waitpoint_key(p_kid text, p_secret bytea, p_grace_ms bigint) FROM PUBLIC;

--
-- Name: FUNCTION seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.seal_flow(p_flow_id uuid, p_expected_revision bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION seed_waitpoint_key(p_kid text, p_secret bytea); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.seed_waitpoint_key(p_kid text, p_secret bytea) FROM PUBLIC;

--
-- Name: FUNCTION send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) TO upgrade_client;
GRANT ALL ON FUNCTION old.send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.send(queue text, payload jsonb, kind text, key text, delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) TO upgrade_operator;

--
-- Name: FUNCTION send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) TO upgrade_client;
GRANT ALL ON FUNCTION old.send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.send_many(queue text, payloads jsonb[], kind text, keys text[], delay interval, at timestamp with time zone, priority integer, policy jsonb, headers jsonb) TO upgrade_operator;

--
-- Name: FUNCTION send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) TO upgrade_client;
GRANT ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) TO upgrade_worker;
GRANT ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) TO upgrade_operator;

--
-- Name: FUNCTION set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.set_join(p_flow_id uuid, p_task_id uuid, p_join jsonb, p_expected_revision bigint) TO upgrade_operator;

--
-- Name: FUNCTION set_queue(p_queue text, p_settings jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.set_queue(p_queue text, p_settings jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.set_queue(p_queue text, p_settings jsonb) TO upgrade_operator;

--
-- Name: FUNCTION settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.settle_and_claim_tasks(p_task_ids uuid[], p_lease_epochs bigint[], p_outcomes text[], p_results jsonb[], p_classes text[], p_messages text[], p_details jsonb[], p_delays_ms bigint[], p_checkpoints jsonb[], p_suspensions jsonb[], p_worker text, p_worker_instance text, p_queues text[], p_capabilities text[], p_lease_ms bigint, p_max_items integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.settle_and_fetch_work_items(p_lock_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[], p_prefetch integer, p_prefetch_threshold integer, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.settle_and_receive(leases text[], outcomes text[], results jsonb[], errors text[], classes text[], delays interval[], queues text[], max integer, lease_for interval, worker text, capabilities text[]) TO upgrade_operator;

--
-- Name: FUNCTION settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.settle_turns_and_work(p_lock_tokens text[], p_execution_ids bigint[], p_history_deltas jsonb[], p_worker_items jsonb[], p_orchestrator_items jsonb[], p_metadata jsonb[], p_cancelled_activities jsonb[], p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_max_turns integer, p_slots integer[], p_cache_owner text, p_names text[], p_work_tokens text[], p_outcomes text[], p_completions text[], p_delays_ms bigint[], p_ignore_attempts boolean[], p_reasons text[], p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_prefetch integer, p_prefetch_threshold integer, p_predicted_after bigint[], p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION start(orchestration text, input jsonb, id text, version text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.start(orchestration text, input jsonb, id text, version text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.start(orchestration text, input jsonb, id text, version text) TO upgrade_client;
GRANT ALL ON FUNCTION old.start(orchestration text, input jsonb, id text, version text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.start(orchestration text, input jsonb, id text, version text) TO upgrade_operator;

--
-- Name: FUNCTION start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.stat_series(p_from_ms bigint, p_to_ms bigint, p_step_ms bigint, p_queue text, p_task_queue text) TO upgrade_monitor;

--
-- Name: FUNCTION status(id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.status(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.status(id uuid) TO upgrade_client;
GRANT ALL ON FUNCTION old.status(id uuid) TO upgrade_worker;
GRANT ALL ON FUNCTION old.status(id uuid) TO upgrade_operator;
GRANT ALL ON FUNCTION old.status(id uuid) TO upgrade_monitor;

--
-- Name: FUNCTION suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.suspend_task(p_task_id uuid, p_lease_epoch bigint, p_suspension jsonb, p_now_ms bigint) TO upgrade_operator;

--
-- Name: FUNCTION terminate(id text, reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.terminate(id text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.terminate(id text, reason text) TO upgrade_operator;

--
-- Name: FUNCTION upstream_results(p_task_id uuid); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.upstream_results(p_task_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION old.upstream_results(p_task_id uuid) TO upgrade_client;
GRANT ALL ON FUNCTION old.upstream_results(p_task_id uuid) TO upgrade_worker;
GRANT ALL ON FUNCTION old.upstream_results(p_task_id uuid) TO upgrade_operator;
GRANT ALL ON FUNCTION old.upstream_results(p_task_id uuid) TO upgrade_monitor;

--
-- Name: PROCEDURE wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) FROM PUBLIC;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_client;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_worker;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_operator;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_monitor;

--
-- Name: TABLE cancel_backlog_open; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.cancel_backlog_open TO upgrade_operator;
GRANT SELECT ON TABLE old.cancel_backlog_open TO upgrade_monitor;

--
-- Name: TABLE dead_letter_summary; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_operator;
GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_monitor;

--
-- Name: TABLE flow_summary; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.flow_summary TO upgrade_operator;
GRANT SELECT ON TABLE old.flow_summary TO upgrade_monitor;

--
-- Name: TABLE hub_links; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.hub_links TO upgrade_operator;
GRANT SELECT ON TABLE old.hub_links TO upgrade_monitor;

--
-- Name: TABLE intents; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.intents TO upgrade_operator;

--
-- Name: TABLE pending_starts; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.pending_starts TO upgrade_operator;
GRANT SELECT ON TABLE old.pending_starts TO upgrade_monitor;

--
-- Name: TABLE queue_depths; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.queue_depths TO upgrade_operator;
GRANT SELECT ON TABLE old.queue_depths TO upgrade_monitor;

--
-- Name: TABLE slot_leases; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.slot_leases TO upgrade_operator;
GRANT SELECT ON TABLE old.slot_leases TO upgrade_monitor;

--
-- Name: TABLE subscriptions; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.subscriptions TO upgrade_operator;
GRANT SELECT ON TABLE old.subscriptions TO upgrade_monitor;

--
-- Name: TABLE task_attempts; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.task_attempts TO upgrade_operator;
GRANT SELECT ON TABLE old.task_attempts TO upgrade_monitor;

--
-- Name: TABLE task_states; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.task_states TO upgrade_operator;
GRANT SELECT ON TABLE old.task_states TO upgrade_monitor;

--
-- PostgreSQL database dump complete
--

