-- A hub of version 7, as pg_dump --inserts -n old prints it. Frozen: it stands for the hubs that are out there.
--
-- Made by test/upgrade/freeze.sh with the library and the hub files of that version, and the rows of
-- test/upgrade/rows_*.sql up to its number. Roles upgrade_owner, _client, _worker, _operator and _monitor are those of
-- the cluster.
--
-- Sources: commit b1bbf84, "Guard transactions with the lease of a task".

--
-- PostgreSQL database dump
--


-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.20 (Debian 15.20-0+deb12u1)

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
-- Name: old; Type: SCHEMA; Schema: -; Owner: upgrade_owner
--

CREATE SCHEMA old;


ALTER SCHEMA old OWNER TO upgrade_owner;

--
-- Name: abandon_orchestration_item(text, bigint, bigint, boolean); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint DEFAULT NULL::bigint, p_ignore_attempt boolean DEFAULT false) RETURNS text
    LANGUAGE belay
    AS $$abandon_orchestration_item$$;


ALTER FUNCTION old.abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) OWNER TO upgrade_owner;

--
-- Name: FUNCTION abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) IS 'Gives a turn back, at once or after a delay; returns the instance id.';


--
-- Name: abandon_work_item(text, bigint, bigint, boolean); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint DEFAULT NULL::bigint, p_ignore_attempt boolean DEFAULT false) RETURNS void
    LANGUAGE belay
    AS $$abandon_work_item$$;


ALTER FUNCTION old.abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) OWNER TO upgrade_owner;

--
-- Name: FUNCTION abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) IS 'Gives a leased activity back, at once or after a delay, with or without counting the attempt.';


--
-- Name: ack_and_fetch_work_item(text, text, text, bigint, bigint, text, bigint, text[], text, integer[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_slots integer[] DEFAULT NULL::integer[]) RETURNS TABLE(out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay ROWS 1
    AS $$ack_and_fetch_work_item$$;


ALTER FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) IS 'ack_worker, then fetch_work_item, in one unit. No row means: acked, and nothing eligible.';


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

COMMENT ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) IS 'Marks the leased events up to this one as read. The last one ends the lease.';


--
-- Name: ack_orchestration_item(text, bigint, bigint, jsonb, jsonb, jsonb, jsonb, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb DEFAULT '[]'::jsonb) RETURNS void
    LANGUAGE belay
    AS $$ack_orchestration_item$$;


ALTER FUNCTION old.ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb) IS 'Commits a turn in one unit: events, activities, messages, status, state. A failed ack changes nothing and keeps the lock.';


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

COMMENT ON FUNCTION old.ack_worker(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint) IS 'Finishes a leased activity and sends its completion, if one is given, in the same unit.';


--
-- Name: ack_workers(jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(out_index integer, out_lock_token text, out_acked boolean, out_error text)
    LANGUAGE belay
    AS $$ack_workers$$;


ALTER FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION ack_workers(p_acks jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.ack_workers(p_acks jsonb, p_now_ms bigint) IS 'Finishes many leased activities in one unit. A lost lease is reported in its row and undoes nothing.';


--
-- Name: acquire_slots(text, text, integer, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.acquire_slots(p_owner text, p_queue text, p_slots integer DEFAULT NULL::integer, p_lease_ms bigint DEFAULT 30000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS integer[]
    LANGUAGE belay
    AS $$acquire_slots$$;


ALTER FUNCTION old.acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) IS 'Takes or renews the caller''s share of the slots of a queue (orchestrator, worker): an even one, and as far as possible the same as before.';


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

COMMENT ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) IS 'Adds events outside a turn.';


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

COMMENT ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) IS 'Deletes activities named by instance, execution_id and activity_id, leased or not; returns how many. Their workers get QB001.';


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

COMMENT ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) IS 'Sends a request to cancel to an instance.';


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

COMMENT ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) IS 'Cancels a task in whatever state it is; a worker loses its lease. May be repeated.';


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

COMMENT ON FUNCTION old.change_priority(p_task_id uuid, p_priority integer, p_now_ms bigint) IS 'Gives a task that waits for a worker another priority, 0 to 9000.';


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

COMMENT ON FUNCTION old.check_tasks(p_flow_id uuid) IS 'Recounts what tasks and attempts say of each other; no row on a healthy hub.';


--
-- Name: claim_tasks(text, text, text[], text[], bigint, integer, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_lanes text[] DEFAULT NULL::text[], p_capabilities text[] DEFAULT '{}'::text[], p_lease_ms bigint DEFAULT 30000, p_max integer DEFAULT 1, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, lane text, kind text, payload jsonb, tags jsonb, priority integer, attempt_index integer, attempt_kind text, retry_count integer, reclaim_count integer, replay_count integer, lease_epoch bigint, lease_id text, lease_until_ms bigint, attempt_deadline_ms bigint, deadline_ms bigint, checkpoint jsonb, last_failure jsonb, flow_id uuid, flow_key text, upstream jsonb, signals jsonb)
    LANGUAGE belay ROWS 10
    AS $$claim_tasks$$;


ALTER FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) IS 'Leases the next tasks of these lanes (NULL: all) that the capabilities allow, by priority, then by time. No row: nothing is eligible.';


--
-- Name: cleanup_orphaned_sessions(bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) RETURNS bigint
    LANGUAGE belay
    AS $$cleanup_orphaned_sessions$$;


ALTER FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION cleanup_orphaned_sessions(p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) IS 'Deletes expired sessions without any activity, at most 1000 a call; returns their number.';


--
-- Name: complete_and_claim(uuid, bigint, jsonb, text, text, text[], text[], bigint, integer, integer[], bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[] DEFAULT NULL::text[], p_capabilities text[] DEFAULT '{}'::text[], p_lease_ms bigint DEFAULT 30000, p_max integer DEFAULT 1, p_slots integer[] DEFAULT NULL::integer[], p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, lane text, kind text, payload jsonb, tags jsonb, priority integer, attempt_index integer, attempt_kind text, retry_count integer, reclaim_count integer, replay_count integer, lease_epoch bigint, lease_id text, lease_until_ms bigint, attempt_deadline_ms bigint, deadline_ms bigint, checkpoint jsonb, last_failure jsonb, flow_id uuid, flow_key text, upstream jsonb, signals jsonb)
    LANGUAGE belay ROWS 10
    AS $$complete_and_claim$$;


ALTER FUNCTION old.complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) IS 'complete_task and claim_tasks in one call. If the completion is refused, nothing is claimed.';


--
-- Name: complete_task(uuid, bigint, jsonb, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb DEFAULT NULL::jsonb, p_source text DEFAULT 'lease_holder'::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, state text, lease_epoch bigint)
    LANGUAGE belay ROWS 1
    AS $$complete_task$$;


ALTER FUNCTION old.complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) IS 'Finishes a leased task and stores its result. Repeated by the same lease it answers already_completed.';


--
-- Name: create_subscription(text, text[], text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_subscription(p_name text, p_topics text[] DEFAULT NULL::text[], p_from text DEFAULT 'now'::text) RETURNS void
    LANGUAGE belay
    AS $$create_subscription$$;


ALTER FUNCTION old.create_subscription(p_name text, p_topics text[], p_from text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_subscription(p_name text, p_topics text[], p_from text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_subscription(p_name text, p_topics text[], p_from text) IS 'Makes a subscription to the events of these topics (NULL: all), from now, from the start of what is kept, or from an upto of another subscription.';


--
-- Name: create_task(text, jsonb, uuid, text, integer, bigint, bigint, bigint, text[], jsonb, text, bigint, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.create_task(p_lane text, p_payload jsonb DEFAULT NULL::jsonb, p_task_id uuid DEFAULT NULL::uuid, p_kind text DEFAULT ''::text, p_priority integer DEFAULT 0, p_delay_ms bigint DEFAULT 0, p_available_at_ms bigint DEFAULT NULL::bigint, p_deadline_ms bigint DEFAULT NULL::bigint, p_capabilities text[] DEFAULT '{}'::text[], p_policy jsonb DEFAULT NULL::jsonb, p_dedup_key text DEFAULT NULL::text, p_dedup_window_ms bigint DEFAULT NULL::bigint, p_tags jsonb DEFAULT '{}'::jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, state text, created boolean)
    LANGUAGE belay ROWS 1
    AS $$create_task$$;


ALTER FUNCTION old.create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) IS 'Creates a task, claimable at commit, or returns the one that has this id or dedup key.';


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

COMMENT ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) IS 'Creates up to 10,000 tasks in one unit; a bad item refuses them all.';


--
-- Name: delay_task(uuid, bigint, bigint, jsonb, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb DEFAULT NULL::jsonb, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, available_at_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$delay_task$$;


ALTER FUNCTION old.delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) IS 'Puts a leased task to sleep; its attempt goes on at the next claim.';


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

COMMENT ON FUNCTION old.delete_instance(p_instance_id text, p_force boolean) IS 'Deletes a root instance with its whole tree. Running instances only with p_force.';


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

COMMENT ON FUNCTION old.delete_instances_atomic(p_instance_ids text[], p_force boolean) IS 'Deletes exactly these instances, all or none; refuses to leave a child without its parent.';


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

COMMENT ON FUNCTION old.delete_instances_bulk(p_filter jsonb) IS 'Deletes finished roots with their trees, oldest first: {instance_ids?, completed_before?, limit?}; {} selects all.';


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

COMMENT ON FUNCTION old.delete_task(p_task_id uuid) IS 'Deletes a task that has ended, with its attempts and its dedup key; false if there is none.';


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

COMMENT ON FUNCTION old.discard_dead_letter(p_id bigint) IS 'Deletes a dead letter for good.';


--
-- Name: drop_subscription(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.drop_subscription(p_name text) RETURNS void
    LANGUAGE belay
    AS $$drop_subscription$$;


ALTER FUNCTION old.drop_subscription(p_name text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION drop_subscription(p_name text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.drop_subscription(p_name text) IS 'Forgets a subscription and how far it has come.';


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

COMMENT ON FUNCTION old.enqueue_orchestrator_items(p_items jsonb, p_now_ms bigint) IS 'Sends up to 10,000 messages in one unit; returns their number.';


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

COMMENT ON FUNCTION old.enqueue_worker_items(p_items jsonb, p_now_ms bigint) IS 'Adds up to 10,000 activities in one unit; returns their number.';


--
-- Name: enqueue_worker_work(text, bigint, text, bigint, bigint, text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint DEFAULT NULL::bigint, p_instance_id text DEFAULT NULL::text, p_execution_id bigint DEFAULT NULL::bigint, p_activity_id bigint DEFAULT NULL::bigint, p_session_id text DEFAULT NULL::text, p_tag text DEFAULT NULL::text) RETURNS void
    LANGUAGE belay
    AS $$enqueue_worker_work$$;


ALTER FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text) IS 'Adds one activity, fetchable at commit. An argument that is NULL is taken from the item.';


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

COMMENT ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) IS 'Why a task is not claimed: every reason that holds, the most decisive first; claimable if none does.';


--
-- Name: explain_fetch(text, bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint DEFAULT NULL::bigint, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint) RETURNS TABLE(reason text, detail text, until_at timestamp with time zone)
    LANGUAGE belay STABLE ROWS 3
    AS $$explain_fetch$$;


ALTER FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) IS 'Why an instance is not being fetched, a row per reason. No row means it can be fetched now.';


--
-- Name: fail_task(uuid, bigint, text, text, jsonb, bigint, text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text DEFAULT NULL::text, p_details jsonb DEFAULT NULL::jsonb, p_retry_after_ms bigint DEFAULT NULL::bigint, p_source text DEFAULT 'lease_holder'::text, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, state text, available_at_ms bigint, next_attempt_index integer)
    LANGUAGE belay ROWS 1
    AS $$fail_task$$;


ALTER FUNCTION old.fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) IS 'Ends the attempt of a leased task by a failure: the policy decides whether another follows.';


--
-- Name: fetch_history(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_history(p_instance_id text) RETURNS TABLE(out_event_data text)
    LANGUAGE belay STABLE
    AS $$fetch_history$$;


ALTER FUNCTION old.fetch_history(p_instance_id text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_history(p_instance_id text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_history(p_instance_id text) IS 'The events of the latest execution, in order, as stored.';


--
-- Name: fetch_history_with_execution(text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) RETURNS TABLE(out_event_data text)
    LANGUAGE belay STABLE
    AS $$fetch_history_with_execution$$;


ALTER FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_history_with_execution(p_instance_id text, p_execution_id bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_history_with_execution(p_instance_id text, p_execution_id bigint) IS 'The events of one execution, in order, as stored.';


--
-- Name: fetch_orchestration_item(bigint, bigint, bigint, bigint, integer[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint, p_slots integer[] DEFAULT NULL::integer[]) RETURNS TABLE(out_instance_id text, out_orchestration_name text, out_orchestration_version text, out_execution_id bigint, out_history json, out_messages json, out_lock_token text, out_attempt_count integer, out_kv_snapshot json)
    LANGUAGE belay ROWS 1
    AS $$fetch_orchestration_item$$;


ALTER FUNCTION old.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]) IS 'Leases the next turn: an instance with its messages, history and key/value state. No row means nothing was eligible.';


--
-- Name: fetch_work_item(bigint, bigint, text, bigint, text[], text, integer[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_slots integer[] DEFAULT NULL::integer[]) RETURNS TABLE(out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay ROWS 1
    AS $$fetch_work_item$$;


ALTER FUNCTION old.fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) IS 'Leases the next activity. A row means a lease is held; no row means nothing was eligible.';


--
-- Name: fetch_work_items(bigint, bigint, text, bigint, text[], text, integer, integer, integer[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text, p_max_items integer DEFAULT 1, p_max_new_sessions integer DEFAULT NULL::integer, p_slots integer[] DEFAULT NULL::integer[]) RETURNS TABLE(out_work_item text, out_lock_token text, out_attempt_count integer)
    LANGUAGE belay ROWS 10
    AS $$fetch_work_items$$;


ALTER FUNCTION old.fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]) IS 'Leases up to p_max_items activities in one unit, each with its own token.';


--
-- Name: get_custom_status(text, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) RETURNS TABLE(out_custom_status text, out_custom_status_version bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_custom_status$$;


ALTER FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_custom_status(p_instance_id text, p_last_seen_version bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_custom_status(p_instance_id text, p_last_seen_version bigint) IS 'The custom status, if its version is greater than the one last seen.';


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

COMMENT ON FUNCTION old.get_execution_info(p_instance_id text, p_execution_id bigint) IS 'One execution; no row if it does not exist.';


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

COMMENT ON FUNCTION old.get_instance_info(p_instance_id text) IS 'One instance with status and output of its current execution; no row if it does not exist.';


--
-- Name: get_instance_stats(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_instance_stats(p_instance text) RETURNS TABLE(out_found boolean, out_history_event_count bigint, out_history_size_bytes bigint, out_queue_pending_count bigint, out_kv_user_key_count bigint, out_kv_total_value_bytes bigint)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_instance_stats$$;


ALTER FUNCTION old.get_instance_stats(p_instance text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_instance_stats(p_instance text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_instance_stats(p_instance text) IS 'Size of the current execution''s history and of the key/value state.';


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

COMMENT ON FUNCTION old.get_instance_tree(p_instance_id text) IS 'An instance and all its descendants, parents before children.';


--
-- Name: get_kv_all_values(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_kv_all_values(p_instance text) RETURNS TABLE(out_key text, out_value text)
    LANGUAGE belay STABLE
    AS $$get_kv_all_values$$;


ALTER FUNCTION old.get_kv_all_values(p_instance text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_kv_all_values(p_instance text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_kv_all_values(p_instance text) IS 'All values of an instance''s key/value state.';


--
-- Name: get_kv_value(text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.get_kv_value(p_instance text, p_key text) RETURNS TABLE(out_value text, out_found boolean)
    LANGUAGE belay STABLE ROWS 1
    AS $$get_kv_value$$;


ALTER FUNCTION old.get_kv_value(p_instance text, p_key text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION get_kv_value(p_instance text, p_key text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.get_kv_value(p_instance text, p_key text) IS 'One value of an instance''s key/value state.';


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

COMMENT ON FUNCTION old.get_parent_id(p_instance_id text) IS 'The parent of an instance, NULL if it has none.';


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

COMMENT ON FUNCTION old.get_queue_depths(p_now_ms bigint) IS 'Rows that can be fetched now in both queues, and messages that are not due yet.';


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

COMMENT ON FUNCTION old.get_system_metrics() IS 'Totals of instances, executions and events; does not read history.';


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

COMMENT ON FUNCTION old.get_task(p_task_id uuid) IS 'All there is to know of a task; NULL if there is none.';


--
-- Name: guard(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.guard(p_token text) RETURNS void
    LANGUAGE belay
    AS $$guard$$;


ALTER FUNCTION old.guard(p_token text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION guard(p_token text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.guard(p_token text) IS 'Binds the current transaction to the lease of a work item or a turn: its commit fails with QB001 if the lease is lost by then.';


--
-- Name: guard_task(uuid, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.guard_task(p_task_id uuid, p_epoch bigint) RETURNS void
    LANGUAGE belay
    AS $$guard_task$$;


ALTER FUNCTION old.guard_task(p_task_id uuid, p_epoch bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION guard_task(p_task_id uuid, p_epoch bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.guard_task(p_task_id uuid, p_epoch bigint) IS 'Binds the current transaction to the lease of a task: its commit fails with QB001 if the lease is lost by then.';


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
-- Name: list_expired_leases(bigint, text, bigint, uuid, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_expired_leases(p_as_of_ms bigint DEFAULT NULL::bigint, p_lane text DEFAULT NULL::text, p_after_ms bigint DEFAULT NULL::bigint, p_after_id uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 1000) RETURNS TABLE(task_id uuid, lane text, lease_id text, lease_epoch bigint, lease_until_ms bigint, worker text, worker_instance text, attempt_index integer)
    LANGUAGE belay STABLE
    AS $$list_expired_leases$$;


ALTER FUNCTION old.list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer) IS 'Active tasks whose lease is over and not settled yet, oldest first, page by page.';


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
-- Name: list_tasks(jsonb, uuid, integer); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.list_tasks(p_filter jsonb DEFAULT '{}'::jsonb, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 100) RETURNS TABLE(task_id uuid, state text, lane text, kind text, priority integer, flow_id uuid, flow_key text, pending_attempt text, attempt_index integer, retry_count integer, reclaim_count integer, replay_count integer, available_at_ms bigint, deadline_ms bigint, worker text, worker_instance text, lease_epoch bigint, lease_until_ms bigint, failure_class text, cancel_reason text, tags jsonb, created_at_ms bigint, updated_at_ms bigint, terminal_at_ms bigint)
    LANGUAGE belay STABLE
    AS $$list_tasks$$;


ALTER FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) OWNER TO upgrade_owner;

--
-- Name: FUNCTION list_tasks(p_filter jsonb, p_after uuid, p_limit integer); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) IS 'Tasks by id, page by page.';


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

COMMENT ON FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) IS 'What is in the worker queue, page by page, without tokens.';


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

COMMENT ON FUNCTION old.pause_hub(p_queue text, p_reason text) IS 'Stops handing out work of a queue (orchestrator, worker, tasks, intents), or of all. Running work can finish.';


--
-- Name: pause_lane(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.pause_lane(p_lane text) RETURNS void
    LANGUAGE belay
    AS $$pause_lane$$;


ALTER FUNCTION old.pause_lane(p_lane text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION pause_lane(p_lane text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.pause_lane(p_lane text) IS 'Stops handing out tasks of a lane; running ones go on.';


--
-- Name: progress_task(uuid, bigint, numeric, text, jsonb, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric DEFAULT NULL::numeric, p_message text DEFAULT NULL::text, p_checkpoint jsonb DEFAULT NULL::jsonb, p_lease_ms bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(lease_until_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$progress_task$$;


ALTER FUNCTION old.progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) IS 'Stores percent, message and checkpoint of a leased task, as far as they are given; renews it if p_lease_ms is.';


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

COMMENT ON FUNCTION old.prune_executions(p_instance_id text, p_keep_last integer, p_completed_before_ms bigint) IS 'Deletes former executions of an instance and their history; never the current one.';


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
-- Name: read_events(text, integer, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.read_events(p_subscription text, p_limit integer DEFAULT 100, p_lease_ms bigint DEFAULT 30000, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(event_id text, topic text, type text, subject text, details jsonb, occurred_at_ms bigint, upto text)
    LANGUAGE belay
    AS $$read_events$$;


ALTER FUNCTION old.read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint) IS 'Leases the next events of a subscription. No row: there are none, or another reader has the lease.';


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

COMMENT ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) IS 'The events of one execution (NULL: the latest), page by page.';


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

COMMENT ON FUNCTION old.receive_intents(p_intents jsonb) IS 'Takes in what another hub sends; keys that have arrived before are passed over. Called by the relay. Returns how many were new.';


--
-- Name: reconcile(bigint, text[]); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.reconcile(p_now_ms bigint DEFAULT NULL::bigint, p_duties text[] DEFAULT NULL::text[]) RETURNS TABLE(duty text, rows bigint, elapsed_ms bigint)
    LANGUAGE belay ROWS 10
    AS $$reconcile$$;


ALTER FUNCTION old.reconcile(p_now_ms bigint, p_duties text[]) OWNER TO upgrade_owner;

--
-- Name: FUNCTION reconcile(p_now_ms bigint, p_duties text[]); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.reconcile(p_now_ms bigint, p_duties text[]) IS 'Runs duties of the hub now: those named, or all.';


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

COMMENT ON FUNCTION old.redrive_dead_letter(p_id bigint) IS 'Puts a dead letter back into its queue with attempt 0; returns the new queue id.';


--
-- Name: redrive_dead_letters(jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.redrive_dead_letters(p_filter jsonb) RETURNS bigint
    LANGUAGE belay
    AS $$redrive_dead_letters$$;


ALTER FUNCTION old.redrive_dead_letters(p_filter jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION redrive_dead_letters(p_filter jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.redrive_dead_letters(p_filter jsonb) IS 'Puts back all dead letters that match, oldest first; {} selects all. Returns how many.';


--
-- Name: release_slots(text, text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.release_slots(p_owner text, p_queue text) RETURNS void
    LANGUAGE belay
    AS $$release_slots$$;


ALTER FUNCTION old.release_slots(p_owner text, p_queue text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION release_slots(p_owner text, p_queue text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.release_slots(p_owner text, p_queue text) IS 'Gives the slots of an owner back at once; the others get them at their next acquire_slots.';


--
-- Name: release_task(uuid, bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint DEFAULT 0, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, available_at_ms bigint)
    LANGUAGE belay ROWS 1
    AS $$release_task$$;


ALTER FUNCTION old.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint) IS 'Gives a leased task back unharmed: no retry and no reclaim is counted.';


--
-- Name: renew_orchestration_item_lock(text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) RETURNS void
    LANGUAGE belay
    AS $$renew_orchestration_item_lock$$;


ALTER FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) IS 'Moves the deadline of a live turn to now + p_extend_ms.';


--
-- Name: renew_session_lock(text[], bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint) RETURNS bigint
    LANGUAGE belay
    AS $$renew_session_lock$$;


ALTER FUNCTION old.renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint) IS 'Extends the live sessions of these owners that were active within the idle timeout; returns their number.';


--
-- Name: renew_task(uuid, bigint, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(lease_until_ms bigint, capped boolean)
    LANGUAGE belay ROWS 1
    AS $$renew_task$$;


ALTER FUNCTION old.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint) IS 'Moves the deadline of a live lease; capped tells that a deadline of the task cut it.';


--
-- Name: renew_tasks(uuid[], bigint[], bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(task_id uuid, renewed boolean, lease_until_ms bigint, reason text)
    LANGUAGE belay
    AS $$renew_tasks$$;


ALTER FUNCTION old.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) IS 'Moves the deadlines of many leases in one unit. A lost one is reported in its row.';


--
-- Name: renew_work_item_lock(text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) RETURNS void
    LANGUAGE belay
    AS $$renew_work_item_lock$$;


ALTER FUNCTION old.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) IS 'Moves the deadline of a live lease to now + p_extend_ms. QB001 tells a running activity that it was cancelled.';


--
-- Name: renew_work_item_locks(text[], bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint) RETURNS TABLE(out_index integer, out_lock_token text, out_renewed boolean, out_locked_until bigint, out_error text)
    LANGUAGE belay
    AS $$renew_work_item_locks$$;


ALTER FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint) IS 'Renews many leases in one unit. A lost lease is reported in its row and undoes nothing.';


--
-- Name: replay_task(uuid, boolean, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean DEFAULT false, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, task_id uuid, public_state text, replay_count integer, reopened uuid[], waiting_on uuid[])
    LANGUAGE belay ROWS 1
    AS $$replay_task$$;


ALTER FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION replay_task(p_task_id uuid, p_cascade boolean, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_now_ms bigint) IS 'Runs a task that has ended once more; its history stays.';


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

COMMENT ON FUNCTION old.resume_hub(p_queue text) IS 'Hands out work of a paused queue again, or of all.';


--
-- Name: resume_lane(text); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.resume_lane(p_lane text) RETURNS void
    LANGUAGE belay
    AS $$resume_lane$$;


ALTER FUNCTION old.resume_lane(p_lane text) OWNER TO upgrade_owner;

--
-- Name: FUNCTION resume_lane(p_lane text); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.resume_lane(p_lane text) IS 'Hands out tasks of a lane again.';


--
-- Name: revoke_lease(uuid, text, text, text, bigint, bigint); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.revoke_lease(p_task_id uuid, p_reason text DEFAULT ''::text, p_worker_instance text DEFAULT ''::text, p_expected_lease_id text DEFAULT ''::text, p_expected_epoch bigint DEFAULT NULL::bigint, p_now_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(result text, reason text, lease_id text, lease_epoch bigint)
    LANGUAGE belay ROWS 1
    AS $$revoke_lease$$;


ALTER FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_epoch bigint, p_now_ms bigint) OWNER TO upgrade_owner;

--
-- Name: FUNCTION revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_epoch bigint, p_now_ms bigint); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_epoch bigint, p_now_ms bigint) IS 'Takes a lease away, if it is still the one that is meant; the same attempt can be claimed at once.';


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
-- Name: set_lane(text, jsonb); Type: FUNCTION; Schema: old; Owner: upgrade_owner
--

CREATE FUNCTION old.set_lane(p_lane text, p_settings jsonb) RETURNS void
    LANGUAGE belay
    AS $$set_lane$$;


ALTER FUNCTION old.set_lane(p_lane text, p_settings jsonb) OWNER TO upgrade_owner;

--
-- Name: FUNCTION set_lane(p_lane text, p_settings jsonb); Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON FUNCTION old.set_lane(p_lane text, p_settings jsonb) IS 'Changes the settings of a lane that are given: paused, policy, retention_ms. Null restores a default.';


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

COMMENT ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) IS 'Sends the start of an orchestration; returns the instance id, a new uuid if none is given.';


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

COMMENT ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) IS 'Returns as soon as work may be there on one of the queues (orchestrator, worker, outbox, instance:<id>, owner:<id>), else after the timeout. Holds nothing while it waits.';


SET default_tablespace = '';

SET default_table_access_method = heap;

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

COMMENT ON TABLE old.attempts IS 'Attempts that have ended; never changed. View task_attempts has the running ones, too.';


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

COMMENT ON TABLE old.belay_hub IS 'Makes this schema a belay hub. One row.';


--
-- Name: capability_sets; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.capability_sets (
    id integer NOT NULL,
    lane text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    tokens text[] NOT NULL,
    CONSTRAINT capability_sets_id_check CHECK ((id > 0))
);


ALTER TABLE old.capability_sets OWNER TO upgrade_owner;

--
-- Name: TABLE capability_sets; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.capability_sets IS 'The sets of capabilities that tasks of a lane ask for, sorted and each once.';


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
   FROM old.dead_letters d
  GROUP BY d.queue, d.reason;


ALTER TABLE old.dead_letter_summary OWNER TO upgrade_owner;

--
-- Name: VIEW dead_letter_summary; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.dead_letter_summary IS 'Number and age of dead letters by queue and reason.';


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
    lane text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    task_id uuid NOT NULL,
    window_until_ms bigint NOT NULL
)
WITH (fillfactor='90', vacuum_truncate=off);


ALTER TABLE old.dedup_keys OWNER TO upgrade_owner;

--
-- Name: TABLE dedup_keys; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.dedup_keys IS 'Keys that make the creation of a task idempotent, and until when at least.';


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
    event_count bigint DEFAULT 0 NOT NULL,
    CONSTRAINT executions_status_check CHECK ((status = ANY (ARRAY['Running'::text, 'Completed'::text, 'Failed'::text, 'ContinuedAsNew'::text])))
)
WITH (fillfactor='85', vacuum_truncate=off);


ALTER TABLE old.executions OWNER TO upgrade_owner;

--
-- Name: TABLE executions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.executions IS 'The runs of each instance, with status, output and pinned client version.';


--
-- Name: COLUMN executions.event_count; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.executions.event_count IS 'Events of the execution, so that totals need not read history.';


--
-- Name: history; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.history (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    execution_id bigint NOT NULL,
    event_id bigint NOT NULL,
    event_type text NOT NULL,
    event_data text NOT NULL,
    created_at timestamp with time zone NOT NULL
)
WITH (vacuum_truncate=off);


ALTER TABLE old.history OWNER TO upgrade_owner;

--
-- Name: TABLE history; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.history IS 'Append-only events of each execution.';


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

COMMENT ON TABLE old.intent_links IS 'Which foreign server leads to a hub of another database. Read view hub_links instead.';


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

COMMENT ON VIEW old.hub_links IS 'Through which foreign server intents reach a hub of another database. Made by belay.create_hub_link.';


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

COMMENT ON VIEW old.instance_lock_states IS 'Locks of turns, live or expired, tokens included: for the hub''s owner only.';


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

COMMENT ON SEQUENCE old.instance_locks_no IS 'Numbers of instance locks; each ties a batch to its lock.';


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

COMMENT ON TABLE old.instances IS 'Orchestration instances, born in an ack.';


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

COMMENT ON COLUMN old.intent_queue.blocked IS 'Known to stand behind another intent of its pair.';


--
-- Name: COLUMN intent_queue.source_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intent_queue.source_instance IS 'The instance whose turn sent it; empty: send_to_hub did.';


--
-- Name: COLUMN intent_queue.target_instance; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.intent_queue.target_instance IS 'The instance it is for; empty: none, so nothing orders it.';


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

COMMENT ON SEQUENCE old.intent_queue_id IS 'Ids of intents: with the uuid of the hub the key of a delivery.';


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

COMMENT ON VIEW old.intents IS 'Work items for other hubs that are not delivered yet; next_try_at is null behind another of the same pair.';


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

COMMENT ON TABLE old.intents_received IS 'Keys of intents that arrived: one that comes again is not delivered again.';


--
-- Name: kept; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.kept (
    what text NOT NULL,
    value text NOT NULL
);


ALTER TABLE old.kept OWNER TO upgrade_owner;

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

COMMENT ON TABLE old.kv_store IS 'Key/value state as of the end of the last finished execution.';


--
-- Name: lanes; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.lanes (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean NOT NULL,
    retention_ms bigint,
    created_at_ms bigint NOT NULL,
    policy jsonb,
    CONSTRAINT lanes_retention_ms_check CHECK ((retention_ms >= 0))
);


ALTER TABLE old.lanes OWNER TO upgrade_owner;

--
-- Name: TABLE lanes; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.lanes IS 'Lanes and their settings. A lane without a row has the defaults.';


--
-- Name: tasks; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.tasks (
    id uuid NOT NULL,
    flow_id uuid,
    lease_epoch bigint NOT NULL,
    lease_until_ms bigint,
    lease_check_ms bigint,
    available_at_ms bigint,
    start_delay_ms bigint NOT NULL,
    deadline_ms bigint,
    attempt_started_ms bigint,
    attempt_deadline_ms bigint,
    created_at_ms bigint NOT NULL,
    started_at_ms bigint,
    updated_at_ms bigint NOT NULL,
    terminal_at_ms bigint,
    progress_at_ms bigint,
    cap_set integer NOT NULL,
    priority integer NOT NULL,
    attempt_index integer NOT NULL,
    attempt_leases integer NOT NULL,
    retry_count integer NOT NULL,
    reclaim_count integer NOT NULL,
    replay_count integer NOT NULL,
    slot smallint NOT NULL,
    held boolean NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    pending_attempt text NOT NULL COLLATE pg_catalog."C",
    attempt_kind text COLLATE pg_catalog."C",
    lane text NOT NULL COLLATE pg_catalog."C",
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
-- Name: COLUMN tasks.lease_epoch; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.lease_epoch IS 'Grows with each acquisition and each loss of a lease, and with a replay: the fence of worker calls.';


--
-- Name: COLUMN tasks.lease_check_ms; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.lease_check_ms IS 'When the duty lease_expiry looks at the lease again; never after its deadline.';


--
-- Name: COLUMN tasks.cap_set; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.cap_set IS '0 = needs no capability; else a row of capability_sets.';


--
-- Name: COLUMN tasks.attempt_leases; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.attempt_leases IS 'Leases of the running or paused attempt.';


--
-- Name: COLUMN tasks.slot; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.slot IS 'Slot of the task, 0 unless the hub option slot_count is above 1.';


--
-- Name: COLUMN tasks.held; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.held IS 'Blocked until its open flow is sealed.';


--
-- Name: COLUMN tasks.pending_attempt; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.pending_attempt IS 'What the next claim begins (initial, retry, replay) or goes on with (reclaim, snooze, resume); of an active task, what its claim did.';


--
-- Name: COLUMN tasks.attempt_kind; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.tasks.attempt_kind IS 'How the running or paused attempt began.';


--
-- Name: lane_depths; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.lane_depths AS
 SELECT COALESCE(l.name, d.lane) AS lane,
    COALESCE(l.paused, false) AS paused,
    COALESCE(d.ready, (0)::bigint) AS ready,
    COALESCE(d.delayed, (0)::bigint) AS delayed,
    COALESCE(d.blocked, (0)::bigint) AS blocked,
    COALESCE(d.active, (0)::bigint) AS active,
    COALESCE(d.suspended, (0)::bigint) AS suspended,
    COALESCE(d.overdue_leases, (0)::bigint) AS overdue_leases,
    d.oldest_ready_age_ms
   FROM (old.lanes l
     FULL JOIN ( SELECT t.lane,
            count(*) FILTER (WHERE (t.state = 'ready'::text)) AS ready,
            count(*) FILTER (WHERE (t.state = 'delayed'::text)) AS delayed,
            count(*) FILTER (WHERE (t.state = 'blocked'::text)) AS blocked,
            count(*) FILTER (WHERE (t.state = 'active'::text)) AS active,
            count(*) FILTER (WHERE (t.state = 'suspended'::text)) AS suspended,
            count(*) FILTER (WHERE ((t.state = 'active'::text) AND ((t.lease_until_ms <= n.ms) OR (t.lease_epoch < h.epoch_floor)))) AS overdue_leases,
            max((n.ms - t.available_at_ms)) FILTER (WHERE (t.state = 'ready'::text)) AS oldest_ready_age_ms
           FROM ((old.tasks t
             CROSS JOIN old.belay_hub h)
             CROSS JOIN ( SELECT (floor((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision)))::bigint AS ms) n)
          WHERE (t.terminal_at_ms IS NULL)
          GROUP BY t.lane) d ON ((d.lane = l.name)));


ALTER TABLE old.lane_depths OWNER TO upgrade_owner;

--
-- Name: VIEW lane_depths; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.lane_depths IS 'How many tasks of each lane wait, run or are overdue, and for how long the oldest has been ready.';


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

COMMENT ON COLUMN old.orchestrator_queue.parked IS 'Message of an instance that never started; out of the claim index.';


--
-- Name: COLUMN orchestrator_queue.parent_id; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.orchestrator_queue.parent_id IS 'Parent named by a start message: a delete of the parent finds it.';


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

COMMENT ON VIEW old.messages IS 'The orchestrator queue as a reader sees it, tokens included: for the hub''s owner only.';


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

COMMENT ON TABLE old.outbox_events IS 'Events, each written in the transaction of the change that it tells of.';


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

COMMENT ON SEQUENCE old.outbox_events_position IS 'Positions of events, drawn in the order in which they were written.';


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
    created_at timestamp with time zone NOT NULL
)
WITH (fillfactor='30', vacuum_truncate=off);


ALTER TABLE old.outbox_subscriptions OWNER TO upgrade_owner;

--
-- Name: TABLE outbox_subscriptions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON TABLE old.outbox_subscriptions IS 'Readers of the outbox: how far each has come, and the lease on the batch that is being read.';


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

COMMENT ON TABLE old.sessions IS 'Which owner has claimed a session, and until when.';


--
-- Name: COLUMN sessions.lease_inc; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.sessions.lease_inc IS 'Incarnation of the hub in which the session was claimed.';


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

COMMENT ON TABLE old.slot_owners IS 'Who has a share of the slots of a queue, and until when.';


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

COMMENT ON TABLE old.slot_shares IS 'Which owner has a slot. Read view slot_leases instead.';


--
-- Name: slot_leases; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.slot_leases AS
 SELECT s.queue,
    s.slot,
    s.owner,
    o.locked_until
   FROM (old.slot_shares s
     JOIN old.slot_owners o ON (((o.queue = s.queue) AND (o.owner = s.owner))));


ALTER TABLE old.slot_leases OWNER TO upgrade_owner;

--
-- Name: VIEW slot_leases; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.slot_leases IS 'Which owner has which slot of a queue, and until when. Leases that are over stay until somebody else takes the slot.';


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
    s.created_at
   FROM (old.outbox_subscriptions s
     CROSS JOIN LATERAL ( SELECT count(*) AS lag_rows,
            GREATEST((0)::double precision, ((date_part('epoch'::text, clock_timestamp()) - (min(e.occurred_at_ms))::double precision) / (1000)::double precision)) AS lag_seconds
           FROM old.outbox_events e
          WHERE (((e.incarnation > s.seen_incarnation) OR ((e.incarnation = s.seen_incarnation) AND (e."position" > s.seen_position) AND (ROW(e.xid, e."position") > ROW(s.seen_xid, s.seen_xid_position)))) AND ((s.topics IS NULL) OR (e.topic = ANY (s.topics))))) g);


ALTER TABLE old.subscriptions OWNER TO upgrade_owner;

--
-- Name: VIEW subscriptions; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.subscriptions IS 'Subscriptions: how many events each has not read, how old the oldest of them is, until when its batch is leased, and which process keeps events from being read.';


--
-- Name: task_attempts; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.task_attempts AS
 SELECT a.task_id,
    a.attempt_index,
    a.epoch,
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
        END AS epoch,
    t.attempt_leases AS lease_count,
    t.attempt_worker AS worker,
    t.attempt_worker_instance AS worker_instance,
    t.attempt_kind AS kind,
    t.attempt_started_ms AS started_ms,
    NULL::bigint AS ended_ms,
    NULL::text AS outcome,
    NULL::jsonb AS error
   FROM old.tasks t
  WHERE (t.attempt_started_ms IS NOT NULL);


ALTER TABLE old.task_attempts OWNER TO upgrade_owner;

--
-- Name: VIEW task_attempts; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.task_attempts IS 'Attempts of tasks: those that have ended, and the running or paused ones.';


--
-- Name: task_states; Type: VIEW; Schema: old; Owner: upgrade_owner
--

CREATE VIEW old.task_states AS
 SELECT t.id AS task_id,
    t.lane,
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
            WHEN l.paused THEN 'blocked_by_lane_state'::text
            ELSE 'eligible_now'::text
        END AS eligibility_state,
        CASE
            WHEN (t.state = 'blocked'::text) THEN 'waiting_children'::text
            WHEN ((t.state = 'delayed'::text) AND (t.available_at_ms > n.ms)) THEN 'delayed'::text
            WHEN (t.state <> ALL (ARRAY['delayed'::text, 'ready'::text])) THEN t.state
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
            WHEN (t.state = 'suspended'::text) THEN 'waiting_for_signal'::text
            WHEN (t.state <> ALL (ARRAY['delayed'::text, 'ready'::text])) THEN 'none'::text
            WHEN l.paused THEN 'paused_by_operator'::text
            ELSE 'waiting_for_worker'::text
        END AS blocking_reason,
        CASE
            WHEN (t.terminal_at_ms IS NULL) THEN 'none'::text
            WHEN (t.state = 'completed'::text) THEN 'success'::text
            ELSE t.state
        END AS terminal_outcome
   FROM (((old.tasks t
     CROSS JOIN old.belay_hub h)
     CROSS JOIN ( SELECT (floor((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision)))::bigint AS ms) n)
     LEFT JOIN old.lanes l ON ((l.name = t.lane)));


ALTER TABLE old.task_states OWNER TO upgrade_owner;

--
-- Name: VIEW task_states; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON VIEW old.task_states IS 'The state of each task in the words of its parts: phase, owner, eligibility, attempt, reason, outcome.';


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
    CONSTRAINT worker_queue_attempt_count_check CHECK ((attempt_count >= 0))
)
WITH (fillfactor='70', toast_tuple_target='512', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', vacuum_truncate=off);


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

COMMENT ON COLUMN old.worker_queue.due IS '0 = never delayed; else visible_at in ms.';


--
-- Name: COLUMN worker_queue.locked_until; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.locked_until IS 'Deadline of the lease in ms; 0 = no lease.';


--
-- Name: COLUMN worker_queue.lease_inc; Type: COMMENT; Schema: old; Owner: upgrade_owner
--

COMMENT ON COLUMN old.worker_queue.lease_inc IS 'Incarnation of the hub in which the lease was granted.';


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

COMMENT ON VIEW old.work_items IS 'The worker queue as a reader sees it, tokens included: for the hub''s owner only.';


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
-- Data for Name: attempts; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.attempts VALUES ('00000000-0000-4000-8000-000000000013', 1, 1, 1, 4102444800000, 4102444800000, 'initial', 'retry', 'w', 'w-1', '{"class": "transient", "details": null, "message": "later"}');
INSERT INTO old.attempts VALUES ('00000000-0000-4000-8000-000000000014', 1, 1, 1, 4102444800000, 4102444800000, 'initial', 'success', 'w', 'w-1', NULL);


--
-- Data for Name: belay_hub; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.belay_hub VALUES ('a70082dd-09fd-437b-a3b1-c3712f96f3b7', 'belay', 7, 1, 0, '{"events": "operator,completion,instance,lease", "paused": {"intents": "release day"}, "slot_count": "4", "max_attempts": "3", "max_clock_skew": "0", "dead_letter_retention": "30 days"}', '2026-11-16 21:49:05.025332+00', '7708889656676424687/1/5/16460');


--
-- Data for Name: capability_sets; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.capability_sets VALUES (1, 'mail', '\xe3c5ba51dba85ab0c990db5e309f4d7bdb282470fb02aee75b9022c1399e91c8', '{gpu}');


--
-- Data for Name: dead_letters; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.dead_letters VALUES (1, 'worker', 1, 'i-dead', 1, 9, NULL, 'poison', '{"ActivityExecute": {"id": 9, "tag": "poison", "name": "Poison", "instance": "i-dead", "execution_id": 1}}', 3, 'max_attempts', NULL, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00.03+00');


--
-- Data for Name: dedup_keys; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.dedup_keys VALUES ('mail', 'k', '00000000-0000-4000-8000-000000000003', 4102531200000);


--
-- Data for Name: executions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.executions VALUES ('i-1', 1, 'Running', NULL, '2100-01-01 00:00:00+00', NULL, NULL, NULL, NULL, 1);


--
-- Data for Name: history; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.history VALUES ('i-1', 1, 1, 'OrchestrationStarted', '{"event_id": 1, "type": "OrchestrationStarted", "name": "Order", "version": "1.0"}', '2100-01-01 00:00:00+00');


--
-- Data for Name: instance_locks; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.instance_locks VALUES (3081372648846480974, 0, 4102444800000, 0, 0, 0, 0, 'i-1');
INSERT INTO old.instance_locks VALUES (1259753129367078712, 4102448400000, 4102444800000, 2, -3355907688375305886, -4700849785695954463, 1, 'i-1::child');


--
-- Data for Name: instances; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.instances VALUES ('i-1', 'Order', '1.0', 1, NULL, 'charged', 1, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00');


--
-- Data for Name: intent_links; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--



--
-- Data for Name: intent_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.intent_queue VALUES (1, 'a70082dd-09fd-437b-a3b1-c3712f96f3b7', '2026-11-16 21:49:05.423+00', '2026-11-16 21:49:05.423+00', NULL, 0, false, 'worker', 'elsewhere', '', '', NULL, '{"ActivityExecute": {"name": "Far"}}');


--
-- Data for Name: intents_received; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--



--
-- Data for Name: kept; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.kept VALUES ('plain', 'wQIAAAAAAAAAAAAAAAAAAAAAAAAAAAMAAAABBFkg5R-L68CTnE8AAII7_g');
INSERT INTO old.kept VALUES ('instance', 'wQMAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAABbrmMbXf4UtwXopJtPCN8-g');
INSERT INTO old.kept VALUES ('session', 'wQQAAAAAAAAAAAAAAAAAAAAAAAABAAMAAAABUu1_p4CqSy8F-PdQYebi-A');
INSERT INTO old.kept VALUES ('tag', 'wQYAAAAAAAAAAAAAAAAAAAAe3qaOAAAAAAABc9i1Rw95fkAtEZ3fI6qZLg');
INSERT INTO old.kept VALUES ('turn', 'tQIAAAAAAAAAEXuKy_SchzgAAAAB0W1rvN9jOWK-wzoGrR8Z4Q');
INSERT INTO old.kept VALUES ('turn instance', 'i-1::child');
INSERT INTO old.kept VALUES ('task epoch', '1');
INSERT INTO old.kept VALUES ('events', 'eQEAAAAAAAAAAAAAAQAAAAAAAALmncl3v1K36BgB');


--
-- Data for Name: kv_delta; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.kv_delta VALUES ('i-1', 'total', '42', 1);


--
-- Data for Name: kv_store; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--



--
-- Data for Name: lanes; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.lanes VALUES ('mail', false, 86400000, 1794865745416, '{"max_attempts": 4}');
INSERT INTO old.lanes VALUES ('hot', false, NULL, 4102444800000, NULL);
INSERT INTO old.lanes VALUES ('cold', false, NULL, 4102444800000, NULL);
INSERT INTO old.lanes VALUES ('retry', false, NULL, 4102444800000, NULL);
INSERT INTO old.lanes VALUES ('done', false, NULL, 4102444800000, NULL);
INSERT INTO old.lanes VALUES ('stop', false, NULL, 4102444800000, NULL);


--
-- Data for Name: orchestrator_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.orchestrator_queue VALUES (6693260915326447389, 1, '2100-01-01 00:00:00.03+00', '2100-01-01 00:00:00.03+00', 0, 0, 1, 'o', false, 'i-dead', NULL, '{"ActivityFailed":{"instance":"i-dead","execution_id":1,"id":9,"details":{"Poison":{"attempt_count":3,"max_attempts":3,"message_type":{"Activity":{"instance":"i-dead","execution_id":1,"activity_name":"Poison","activity_id":9}},"message":"{\"ActivityExecute\": {\"id\": 9, \"tag\": \"poison\", \"name\": \"Poison\", \"instance\": \"i-dead\", \"execution_id\": 1}}"}}}}');
INSERT INTO old.orchestrator_queue VALUES (3081372648846480974, 5, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 2, 'o', false, 'i-1', NULL, '{"ExternalRaised":{"instance":"i-1","name":"Paid","data":"\"42\""}}');
INSERT INTO old.orchestrator_queue VALUES (1259753129367078712, 4, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 2, 1, 0, 's', false, 'i-1::child', 'i-1', '{"StartOrchestration": {"input": "", "version": "1.0", "instance": "i-1::child", "parent_id": 4, "execution_id": 1, "orchestration": "Child", "parent_instance": "i-1"}}');
INSERT INTO old.orchestrator_queue VALUES (9212442979071674807, 6, '2100-01-01 00:30:00+00', '2100-01-01 00:00:00+00', 0, 0, 3, 's', false, 'i-late', NULL, '{"StartOrchestration":{"instance":"i-late","orchestration":"Order","input":"","version":"1.0","parent_instance":null,"parent_id":null,"execution_id":1}}');
INSERT INTO old.orchestrator_queue VALUES (4649590634970059765, 7, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 1, 'o', false, 'i-orphan', NULL, '{"ExternalRaised":{"instance":"i-orphan","name":"Early","data":""}}');


--
-- Data for Name: outbox_events; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.outbox_events VALUES (1, 1, '742', 'instance', 'dead_lettered', 'i-dead', '{"queue": "worker", "reason": "max_attempts", "attempt_count": 3, "dead_letter_id": 1}', 4102444800030);
INSERT INTO old.outbox_events VALUES (1, 2, '764', 'instance', 'started', 'i-1', '{"execution_id": 1, "orchestration_name": "Order", "parent_instance_id": null, "orchestration_version": "1.0"}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 3, '781', 'lease', 'acquired', '00000000-0000-4000-8000-000000000011', '{"lane": "hot", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000011:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 4, '784', 'lease', 'acquired', '00000000-0000-4000-8000-000000000012', '{"lane": "cold", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000012:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 5, '786', 'lease', 'acquired', '00000000-0000-4000-8000-000000000013', '{"lane": "retry", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000013:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 6, '786', 'lease', 'released', '00000000-0000-4000-8000-000000000013', '{"lane": "retry", "cause": "retry", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000013:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 7, '788', 'lease', 'acquired', '00000000-0000-4000-8000-000000000014', '{"lane": "done", "worker": "w", "flow_id": null, "lease_id": "belay:00000000-0000-4000-8000-000000000014:1:1", "lease_epoch": 1, "attempt_index": 1, "worker_instance": "w-1"}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 8, '788', 'completion', 'success', '00000000-0000-4000-8000-000000000014', '{"kind": "", "lane": "done", "flow_id": null, "lease_epoch": 2, "attempt_index": 1}', 4102444800000);
INSERT INTO old.outbox_events VALUES (1, 9, '790', 'completion', 'cancelled', '00000000-0000-4000-8000-000000000015', '{"kind": "", "lane": "stop", "reason": "not wanted", "flow_id": null, "lease_epoch": 0, "attempt_index": 0}', 4102444800000);


--
-- Data for Name: outbox_subscriptions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.outbox_subscriptions VALUES ('audit', NULL, 1, 0, '0', 0, '791', 9, -7076993675825780712, 4102448400000, 1, 1, 1, '2026-11-16 21:49:05.415+00');


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.sessions VALUES ('s-1', 'worker-2', 4102448400000, 4102444800000, 1);


--
-- Data for Name: slot_owners; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.slot_owners VALUES ('worker', 'dispatcher-1', 4102448400000, 1);


--
-- Data for Name: slot_shares; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.slot_shares VALUES ('worker', 0, 'dispatcher-1');
INSERT INTO old.slot_shares VALUES ('worker', 1, 'dispatcher-1');
INSERT INTO old.slot_shares VALUES ('worker', 2, 'dispatcher-1');
INSERT INTO old.slot_shares VALUES ('worker', 3, 'dispatcher-1');


--
-- Data for Name: tasks; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000001', NULL, 0, NULL, NULL, 4102444800000, 0, NULL, NULL, NULL, 4102444800000, NULL, 4102444800000, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 2, false, 'ready', 'initial', NULL, 'mail', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"to": "ready"}', NULL, NULL, '{}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000002', NULL, 0, NULL, NULL, 4102446600000, 0, NULL, NULL, NULL, 4102444800000, NULL, 4102444800000, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 3, false, 'delayed', 'initial', NULL, 'mail', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"to": "delayed"}', NULL, NULL, '{}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000003', NULL, 0, NULL, NULL, 4102444800000, 0, NULL, NULL, NULL, 4102444800000, NULL, 4102444800000, NULL, NULL, 1, 0, 0, 0, 0, 0, 0, 0, false, 'ready', 'initial', NULL, 'mail', '', NULL, 'k', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"to": "key"}', NULL, NULL, '{"of": "cap"}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000011', NULL, 1, 4102448400000, 4102448400000, 4102444800000, 0, NULL, 4102444800000, NULL, 4102444800000, 4102444800000, 4102444800000, NULL, 4102444800000, 0, 0, 1, 1, 0, 0, 0, 2, false, 'active', 'initial', 'initial', 'hot', '', NULL, NULL, 'w-1', 'w', 'w', 'w-1', NULL, NULL, NULL, NULL, 50, 'half', '{"n": 1}', NULL, '{"at": 50}', '{}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000012', NULL, 1, 4102444801000, 4102444801000, 4102444800000, 0, NULL, 4102444800000, NULL, 4102444800000, 4102444800000, 4102444800000, NULL, NULL, 0, 0, 1, 1, 0, 0, 0, 3, false, 'active', 'initial', 'initial', 'cold', '', NULL, NULL, 'w-1', 'w', 'w', 'w-1', NULL, NULL, NULL, NULL, NULL, NULL, '{"n": 2}', NULL, NULL, '{}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000013', NULL, 2, NULL, NULL, 4102444801000, 0, NULL, NULL, NULL, 4102444800000, 4102444800000, 4102444800000, NULL, NULL, 0, 0, 1, 0, 1, 0, 0, 0, false, 'delayed', 'retry', NULL, 'retry', '', NULL, NULL, NULL, NULL, NULL, NULL, 'transient', 'later', NULL, NULL, NULL, NULL, '{"n": 3}', NULL, NULL, '{}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000014', NULL, 2, NULL, NULL, NULL, 0, NULL, NULL, NULL, 4102444800000, 4102444800000, 4102444800000, 4102444800000, NULL, 0, 0, 1, 0, 0, 0, 0, 1, false, 'completed', 'initial', NULL, 'done', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"n": 4}', '{"ok": true}', NULL, '{}', NULL, NULL);
INSERT INTO old.tasks VALUES ('00000000-0000-4000-8000-000000000015', NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, 4102444800000, NULL, 4102444800000, 4102444800000, NULL, 0, 0, 0, 0, 0, 0, 0, 2, false, 'cancelled', 'initial', NULL, 'stop', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'not wanted', 'operator_override', NULL, NULL, '{"n": 5}', NULL, NULL, '{}', NULL, NULL);


--
-- Data for Name: worker_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.worker_queue VALUES (0, 3, 0, 2, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102452001000, 313317817527823296, -7810280792340153346, 1, 1, NULL, NULL, NULL, NULL, NULL, 'worker-1', '{"ActivityExecute": {"name": "Plain", "input": "leased"}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 3, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, 7978562616655631068, 1703084606957518074, 1, 1, 1, 1, NULL, NULL, 'i-1', 'worker-1', '{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 1, "name": "Charge"}}');
INSERT INTO old.worker_queue VALUES (1, 3, 0, 5, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 2, NULL, 's-1', 'i-2', NULL, '{"ActivityExecute": {"id": 2, "instance": "i-2", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (1, 3, 0, 4, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, 5975572637985426223, 430365689025848056, 1, 1, 1, 1, NULL, 's-1', 'i-2', 'worker-2', '{"ActivityExecute": {"id": 1, "instance": "i-2", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (517908110, 0, 0, 7, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 2, 'gpu', NULL, 'i-3', NULL, '{"ActivityExecute": {"id": 2, "instance": "i-3", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (517908110, 0, 0, 6, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, 8347621226138140224, 3247550388012489006, 1, 1, 1, 1, 'gpu', NULL, 'i-3', 'worker-3', '{"ActivityExecute": {"id": 1, "instance": "i-3", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (0, 1, 4102446600000, 8, '2100-01-01 00:30:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 1, NULL, NULL, 'i-4', NULL, '{"ActivityExecute": {"instance": "i-4", "execution_id": 1, "id": 1, "name": "Delayed"}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 9, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102444800001, 5668465649707649930, -6987973299367322327, 1, 1, 1, 1, NULL, NULL, 'i-5', 'worker-1', '{"ActivityExecute": {"instance": "i-5", "execution_id": 1, "id": 1, "name": "Expired"}}');
INSERT INTO old.worker_queue VALUES (0, 0, 0, 11, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute": {"name": "Ready"}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 12, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 2, 1, NULL, NULL, 'i-6', NULL, '{"ActivityExecute": {"id": 1, "name": "Ready", "instance": "i-6", "execution_id": 2}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 13, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 1, NULL, NULL, 'größe-🙂', NULL, '{"ActivityExecute": {"id": 1, "name": "Ready", "instance": "größe-🙂", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 14, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute": {"name": "Large", "input": "belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay "}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 15, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 3, NULL, NULL, 'i-1', NULL, '{"ActivityExecute": {"id": 3, "name": "Ship", "instance": "i-1", "execution_id": 1}}');


--
-- Name: capability_sets_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.capability_sets_id', 1, true);


--
-- Name: dead_letters_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.dead_letters_id', 1, true);


--
-- Name: instance_locks_no; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.instance_locks_no', 2, true);


--
-- Name: intent_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.intent_queue_id', 1, true);


--
-- Name: orchestrator_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.orchestrator_queue_id', 7, true);


--
-- Name: outbox_events_position; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.outbox_events_position', 9, true);


--
-- Name: worker_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.worker_queue_id', 15, true);


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
-- Name: capability_sets capability_sets_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.capability_sets
    ADD CONSTRAINT capability_sets_pkey PRIMARY KEY (id);


--
-- Name: dead_letters dead_letters_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);


--
-- Name: dedup_keys dedup_keys_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.dedup_keys
    ADD CONSTRAINT dedup_keys_pkey PRIMARY KEY (lane, key);


--
-- Name: executions executions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.executions
    ADD CONSTRAINT executions_pkey PRIMARY KEY (instance_id, execution_id);


--
-- Name: history history_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (instance_id, execution_id, event_id);


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
-- Name: kept kept_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.kept
    ADD CONSTRAINT kept_pkey PRIMARY KEY (what);


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
-- Name: lanes lanes_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (name);


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
-- Name: outbox_subscriptions outbox_subscriptions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.outbox_subscriptions
    ADD CONSTRAINT outbox_subscriptions_pkey PRIMARY KEY (name);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (session_id);


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
-- Name: tasks tasks_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);


--
-- Name: worker_queue worker_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.worker_queue
    ADD CONSTRAINT worker_queue_pkey PRIMARY KEY (lane, slot, due, id);


--
-- Name: capability_sets_lane; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE UNIQUE INDEX capability_sets_lane ON old.capability_sets USING btree (lane, digest);


--
-- Name: dead_letters_instance; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX dead_letters_instance ON old.dead_letters USING btree (instance_id, id) WHERE (instance_id IS NOT NULL);


--
-- Name: executions_completed; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX executions_completed ON old.executions USING btree (completed_at, instance_id, execution_id) WHERE (completed_at IS NOT NULL);


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
-- Name: tasks_claim; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_claim ON old.tasks USING btree (lane, slot, cap_set, priority DESC, available_at_ms, id) WHERE (state = 'ready'::text);


--
-- Name: tasks_deadline; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_deadline ON old.tasks USING btree (deadline_ms) WHERE ((deadline_ms IS NOT NULL) AND (state <> 'active'::text) AND (terminal_at_ms IS NULL));


--
-- Name: tasks_due; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_due ON old.tasks USING btree (available_at_ms, id) WHERE (state = 'delayed'::text);


--
-- Name: tasks_expiry; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_expiry ON old.tasks USING btree (lease_check_ms) WHERE (state = 'active'::text);


--
-- Name: tasks_flow; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_flow ON old.tasks USING btree (flow_id, id) WHERE (flow_id IS NOT NULL);


--
-- Name: tasks_terminal_at; Type: INDEX; Schema: old; Owner: upgrade_owner
--

CREATE INDEX tasks_terminal_at ON old.tasks USING btree (terminal_at_ms) WHERE (terminal_at_ms IS NOT NULL);


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
-- Name: FUNCTION abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) TO upgrade_worker;
GRANT ALL ON FUNCTION old.abandon_orchestration_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) TO upgrade_operator;


--
-- Name: FUNCTION abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION old.abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) TO upgrade_worker;
GRANT ALL ON FUNCTION old.abandon_work_item(p_lock_token text, p_now_ms bigint, p_delay_ms bigint, p_ignore_attempt boolean) TO upgrade_operator;


--
-- Name: FUNCTION ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_and_fetch_work_item(p_lock_token text, p_instance_id text, p_completion_json text, p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) TO upgrade_operator;


--
-- Name: FUNCTION ack_events(p_subscription text, p_upto text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_events(p_subscription text, p_upto text, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.ack_orchestration_item(p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb) TO upgrade_operator;


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
-- Name: FUNCTION acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.acquire_slots(p_owner text, p_queue text, p_slots integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION append_history(p_instance_id text, p_execution_id bigint, p_events jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.append_history(p_instance_id text, p_execution_id bigint, p_events jsonb) TO upgrade_operator;


--
-- Name: FUNCTION cancel_activities(p_cancelled_activities jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) TO upgrade_operator;


--
-- Name: FUNCTION cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cancel_instance(p_instance_id text, p_reason text, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cancel_task(p_task_id uuid, p_reason text, p_source text, p_lease_epoch bigint, p_now_ms bigint) TO upgrade_operator;


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
-- Name: FUNCTION claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.claim_tasks(p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION cleanup_orphaned_sessions(p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete_and_claim(p_task_id uuid, p_epoch bigint, p_result jsonb, p_worker text, p_worker_instance text, p_lanes text[], p_capabilities text[], p_lease_ms bigint, p_max integer, p_slots integer[], p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.complete_task(p_task_id uuid, p_epoch bigint, p_result jsonb, p_source text, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION create_subscription(p_name text, p_topics text[], p_from text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_subscription(p_name text, p_topics text[], p_from text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_subscription(p_name text, p_topics text[], p_from text) TO upgrade_operator;


--
-- Name: FUNCTION create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.create_task(p_lane text, p_payload jsonb, p_task_id uuid, p_kind text, p_priority integer, p_delay_ms bigint, p_available_at_ms bigint, p_deadline_ms bigint, p_capabilities text[], p_policy jsonb, p_dedup_key text, p_dedup_window_ms bigint, p_tags jsonb, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION create_tasks(p_tasks jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.create_tasks(p_tasks jsonb, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.delay_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_checkpoint jsonb, p_now_ms bigint) TO upgrade_operator;


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
-- Name: FUNCTION discard_dead_letter(p_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.discard_dead_letter(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.discard_dead_letter(p_id bigint) TO upgrade_operator;


--
-- Name: FUNCTION drop_subscription(p_name text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.drop_subscription(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.drop_subscription(p_name text) TO upgrade_operator;


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
-- Name: FUNCTION enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text) TO upgrade_client;
GRANT ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.enqueue_worker_work(p_work_item text, p_now_ms bigint, p_instance_id text, p_execution_id bigint, p_activity_id bigint, p_session_id text, p_tag text) TO upgrade_operator;


--
-- Name: FUNCTION explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_claim(p_task_id uuid, p_capabilities text[], p_slots integer[], p_now_ms bigint) TO upgrade_monitor;


--
-- Name: FUNCTION explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) TO upgrade_monitor;


--
-- Name: FUNCTION fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fail_task(p_task_id uuid, p_epoch bigint, p_class text, p_message text, p_details jsonb, p_retry_after_ms bigint, p_source text, p_now_ms bigint) TO upgrade_operator;


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
-- Name: FUNCTION fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_orchestration_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint, p_slots integer[]) TO upgrade_operator;


--
-- Name: FUNCTION fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_work_item(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_slots integer[]) TO upgrade_operator;


--
-- Name: FUNCTION fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]) TO upgrade_worker;
GRANT ALL ON FUNCTION old.fetch_work_items(p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text, p_session_lock_timeout_ms bigint, p_tag_filter text[], p_tag_mode text, p_max_items integer, p_max_new_sessions integer, p_slots integer[]) TO upgrade_operator;


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
-- Name: FUNCTION get_instance_info(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_instance_info(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_instance_info(p_instance_id text) TO upgrade_monitor;


--
-- Name: FUNCTION get_instance_stats(p_instance text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_instance_stats(p_instance text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_instance_stats(p_instance text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_instance_stats(p_instance text) TO upgrade_monitor;


--
-- Name: FUNCTION get_instance_tree(p_instance_id text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_instance_tree(p_instance_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_instance_tree(p_instance_id text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_instance_tree(p_instance_id text) TO upgrade_monitor;


--
-- Name: FUNCTION get_kv_all_values(p_instance text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_kv_all_values(p_instance text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_kv_all_values(p_instance text) TO upgrade_monitor;


--
-- Name: FUNCTION get_kv_value(p_instance text, p_key text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.get_kv_value(p_instance text, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance text, p_key text) TO upgrade_client;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance text, p_key text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance text, p_key text) TO upgrade_operator;
GRANT ALL ON FUNCTION old.get_kv_value(p_instance text, p_key text) TO upgrade_monitor;


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
-- Name: FUNCTION guard(p_token text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.guard(p_token text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.guard(p_token text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.guard(p_token text) TO upgrade_operator;


--
-- Name: FUNCTION guard_task(p_task_id uuid, p_epoch bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.guard_task(p_task_id uuid, p_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.guard_task(p_task_id uuid, p_epoch bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.guard_task(p_task_id uuid, p_epoch bigint) TO upgrade_operator;


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
-- Name: FUNCTION list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_expired_leases(p_as_of_ms bigint, p_lane text, p_after_ms bigint, p_after_id uuid, p_limit integer) TO upgrade_monitor;


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
-- Name: FUNCTION list_tasks(p_filter jsonb, p_after uuid, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.list_tasks(p_filter jsonb, p_after uuid, p_limit integer) TO upgrade_monitor;


--
-- Name: FUNCTION list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_work_items(p_filter jsonb, p_after text, p_limit integer, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION pause_hub(p_queue text, p_reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.pause_hub(p_queue text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.pause_hub(p_queue text, p_reason text) TO upgrade_operator;


--
-- Name: FUNCTION pause_lane(p_lane text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.pause_lane(p_lane text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.pause_lane(p_lane text) TO upgrade_operator;


--
-- Name: FUNCTION progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.progress_task(p_task_id uuid, p_epoch bigint, p_percent numeric, p_message text, p_checkpoint jsonb, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;


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
-- Name: FUNCTION raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.raise_event(p_instance_id text, p_name text, p_data text, p_queued boolean, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.read_events(p_subscription text, p_limit integer, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_worker;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_monitor;


--
-- Name: FUNCTION receive_intents(p_intents jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.receive_intents(p_intents jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.receive_intents(p_intents jsonb) TO upgrade_client;
GRANT ALL ON FUNCTION old.receive_intents(p_intents jsonb) TO upgrade_worker;
GRANT ALL ON FUNCTION old.receive_intents(p_intents jsonb) TO upgrade_operator;


--
-- Name: FUNCTION reconcile(p_now_ms bigint, p_duties text[]); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.reconcile(p_now_ms bigint, p_duties text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION old.reconcile(p_now_ms bigint, p_duties text[]) TO upgrade_operator;


--
-- Name: FUNCTION redrive_dead_letter(p_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.redrive_dead_letter(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.redrive_dead_letter(p_id bigint) TO upgrade_operator;


--
-- Name: FUNCTION redrive_dead_letters(p_filter jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.redrive_dead_letters(p_filter jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.redrive_dead_letters(p_filter jsonb) TO upgrade_operator;


--
-- Name: FUNCTION release_slots(p_owner text, p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.release_slots(p_owner text, p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.release_slots(p_owner text, p_queue text) TO upgrade_worker;
GRANT ALL ON FUNCTION old.release_slots(p_owner text, p_queue text) TO upgrade_operator;


--
-- Name: FUNCTION release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.release_task(p_task_id uuid, p_epoch bigint, p_delay_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_orchestration_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_session_lock(p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_task(p_task_id uuid, p_epoch bigint, p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_tasks(p_task_ids uuid[], p_epochs bigint[], p_lease_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_work_item_lock(p_lock_token text, p_now_ms bigint, p_extend_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.renew_work_item_locks(p_lock_tokens text[], p_now_ms bigint, p_extend_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION replay_task(p_task_id uuid, p_cascade boolean, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.replay_task(p_task_id uuid, p_cascade boolean, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION resume_hub(p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_hub(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_hub(p_queue text) TO upgrade_operator;


--
-- Name: FUNCTION resume_lane(p_lane text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_lane(p_lane text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_lane(p_lane text) TO upgrade_operator;


--
-- Name: FUNCTION revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_epoch bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_epoch bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.revoke_lease(p_task_id uuid, p_reason text, p_worker_instance text, p_expected_lease_id text, p_expected_epoch bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) TO upgrade_client;
GRANT ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) TO upgrade_worker;
GRANT ALL ON FUNCTION old.send_to_hub(p_target_hub name, p_queue text, p_work_item text, p_visible_at timestamp with time zone) TO upgrade_operator;


--
-- Name: FUNCTION set_lane(p_lane text, p_settings jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.set_lane(p_lane text, p_settings jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.set_lane(p_lane text, p_settings jsonb) TO upgrade_operator;


--
-- Name: FUNCTION start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: PROCEDURE wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) FROM PUBLIC;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_client;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_worker;
GRANT ALL ON PROCEDURE old.wait_for_work(IN p_queues text[], IN p_timeout_ms integer, INOUT p_queue text, INOUT p_reason text) TO upgrade_operator;


--
-- Name: TABLE dead_letter_summary; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_operator;
GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_monitor;


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
-- Name: TABLE lane_depths; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.lane_depths TO upgrade_operator;
GRANT SELECT ON TABLE old.lane_depths TO upgrade_monitor;


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


