-- A hub of version 3, as pg_dump --inserts -n old prints it. Frozen: it stands for the hubs that are out there.
--
-- Made by test/upgrade/freeze.sh with the library and the hub files of that version, and the rows of
-- test/upgrade/rows_*.sql up to its number. Roles upgrade_owner, _client, _worker, _operator and _monitor are those of
-- the cluster.
--
-- Sources: commit c3e5c87, "Add listing, deletion, pruning, duties and the duroxide-pg interface".

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


SET default_tablespace = '';

SET default_table_access_method = heap;

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
-- Data for Name: belay_hub; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.belay_hub VALUES ('3a723b40-bd30-43ad-be43-ee22367cc031', 'belay', 3, 1, 0, '{"paused": {"intents": "release day"}, "slot_count": "4", "max_attempts": "3", "max_clock_skew": "0", "dead_letter_retention": "30 days"}', '2026-11-16 21:34:49.550541+00', '7708885968330760271/1/5/16426');


--
-- Data for Name: dead_letters; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.dead_letters VALUES (1, 'worker', 1, 'i-dead', 1, 9, NULL, 'poison', '{"ActivityExecute": {"id": 9, "tag": "poison", "name": "Poison", "instance": "i-dead", "execution_id": 1}}', 3, 'max_attempts', NULL, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00.03+00');


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
INSERT INTO old.instance_locks VALUES (1259753129367078712, 4102448400000, 4102444800000, 2, 5943271313718341806, -7686331651914962642, 1, 'i-1::child');


--
-- Data for Name: instances; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.instances VALUES ('i-1', 'Order', '1.0', 1, NULL, 'charged', 1, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00');


--
-- Data for Name: kept; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.kept VALUES ('plain', 'wQIAAAAAAAAAAAAAAAAAAAAAAAAAAAMAAAABxHGyHgWxpdCY700dCWS9VA');
INSERT INTO old.kept VALUES ('instance', 'wQMAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAABDfCOF2cZxm4-o8HAr0I7OA');
INSERT INTO old.kept VALUES ('session', 'wQQAAAAAAAAAAAAAAAAAAAAAAAABAAMAAAABAZXqBr-krmA6ptEjvdyzqA');
INSERT INTO old.kept VALUES ('tag', 'wQYAAAAAAAAAAAAAAAAAAAAe3qaOAAAAAAABxwXVl58lNStzqOy1IxhmYg');
INSERT INTO old.kept VALUES ('turn', 'tQIAAAAAAAAAEXuKy_SchzgAAAABUnq9xWHzcK6VVKoWJcRpLg');
INSERT INTO old.kept VALUES ('turn instance', 'i-1::child');


--
-- Data for Name: kv_delta; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.kv_delta VALUES ('i-1', 'total', '42', 1);


--
-- Data for Name: kv_store; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--



--
-- Data for Name: orchestrator_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.orchestrator_queue VALUES (6693260915326447389, 1, '2100-01-01 00:00:00.03+00', '2100-01-01 00:00:00.03+00', 0, 0, 1, 'o', false, 'i-dead', NULL, '{"ActivityFailed":{"instance":"i-dead","execution_id":1,"id":9,"details":{"Poison":{"attempt_count":3,"max_attempts":3,"message_type":{"Activity":{"instance":"i-dead","execution_id":1,"activity_name":"Poison","activity_id":9}},"message":"{\"ActivityExecute\": {\"id\": 9, \"tag\": \"poison\", \"name\": \"Poison\", \"instance\": \"i-dead\", \"execution_id\": 1}}"}}}}');
INSERT INTO old.orchestrator_queue VALUES (3081372648846480974, 5, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 2, 'o', false, 'i-1', NULL, '{"ExternalRaised":{"instance":"i-1","name":"Paid","data":"\"42\""}}');
INSERT INTO old.orchestrator_queue VALUES (1259753129367078712, 4, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 2, 1, 0, 's', false, 'i-1::child', 'i-1', '{"StartOrchestration": {"input": "", "version": "1.0", "instance": "i-1::child", "parent_id": 4, "execution_id": 1, "orchestration": "Child", "parent_instance": "i-1"}}');
INSERT INTO old.orchestrator_queue VALUES (9212442979071674807, 6, '2100-01-01 00:30:00+00', '2100-01-01 00:00:00+00', 0, 0, 3, 's', false, 'i-late', NULL, '{"StartOrchestration":{"instance":"i-late","orchestration":"Order","input":"","version":"1.0","parent_instance":null,"parent_id":null,"execution_id":1}}');
INSERT INTO old.orchestrator_queue VALUES (4649590634970059765, 7, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 1, 'o', false, 'i-orphan', NULL, '{"ExternalRaised":{"instance":"i-orphan","name":"Early","data":""}}');


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.sessions VALUES ('s-1', 'worker-2', 4102448400000, 4102444800000, 1);


--
-- Data for Name: worker_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.worker_queue VALUES (0, 3, 0, 2, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102452001000, -4291453127893080624, -7426632473403671212, 1, 1, NULL, NULL, NULL, NULL, NULL, 'worker-1', '{"ActivityExecute": {"name": "Plain", "input": "leased"}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 3, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, 1004458948068755054, 4513664284873603896, 1, 1, 1, 1, NULL, NULL, 'i-1', 'worker-1', '{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 1, "name": "Charge"}}');
INSERT INTO old.worker_queue VALUES (1, 3, 0, 5, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 2, NULL, 's-1', 'i-2', NULL, '{"ActivityExecute": {"id": 2, "instance": "i-2", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (1, 3, 0, 4, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, 114254680273759840, 4226295251773207464, 1, 1, 1, 1, NULL, 's-1', 'i-2', 'worker-2', '{"ActivityExecute": {"id": 1, "instance": "i-2", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (517908110, 0, 0, 7, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 2, 'gpu', NULL, 'i-3', NULL, '{"ActivityExecute": {"id": 2, "instance": "i-3", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (517908110, 0, 0, 6, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, -4105640638091545301, 8334171373171140194, 1, 1, 1, 1, 'gpu', NULL, 'i-3', 'worker-3', '{"ActivityExecute": {"id": 1, "instance": "i-3", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (0, 1, 4102446600000, 8, '2100-01-01 00:30:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 1, NULL, NULL, 'i-4', NULL, '{"ActivityExecute": {"instance": "i-4", "execution_id": 1, "id": 1, "name": "Delayed"}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 9, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102444800001, -7457864200451812450, -4237606371382706853, 1, 1, 1, 1, NULL, NULL, 'i-5', 'worker-1', '{"ActivityExecute": {"instance": "i-5", "execution_id": 1, "id": 1, "name": "Expired"}}');
INSERT INTO old.worker_queue VALUES (0, 0, 0, 11, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute": {"name": "Ready"}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 12, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 2, 1, NULL, NULL, 'i-6', NULL, '{"ActivityExecute": {"id": 1, "name": "Ready", "instance": "i-6", "execution_id": 2}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 13, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 1, NULL, NULL, 'größe-🙂', NULL, '{"ActivityExecute": {"id": 1, "name": "Ready", "instance": "größe-🙂", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 14, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute": {"name": "Large", "input": "belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay "}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 15, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 3, NULL, NULL, 'i-1', NULL, '{"ActivityExecute": {"id": 3, "name": "Ship", "instance": "i-1", "execution_id": 1}}');


--
-- Name: dead_letters_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.dead_letters_id', 1, true);


--
-- Name: instance_locks_no; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.instance_locks_no', 2, true);


--
-- Name: orchestrator_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.orchestrator_queue_id', 7, true);


--
-- Name: worker_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.worker_queue_id', 15, true);


--
-- Name: belay_hub belay_hub_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.belay_hub
    ADD CONSTRAINT belay_hub_pkey PRIMARY KEY (uuid);


--
-- Name: dead_letters dead_letters_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);


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
-- Name: orchestrator_queue orchestrator_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.orchestrator_queue
    ADD CONSTRAINT orchestrator_queue_pkey PRIMARY KEY (instance_key, id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (session_id);


--
-- Name: worker_queue worker_queue_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.worker_queue
    ADD CONSTRAINT worker_queue_pkey PRIMARY KEY (lane, slot, due, id);


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
-- Name: FUNCTION cleanup_orphaned_sessions(p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_operator;


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
-- Name: FUNCTION discard_dead_letter(p_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.discard_dead_letter(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.discard_dead_letter(p_id bigint) TO upgrade_operator;


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
-- Name: FUNCTION explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) TO upgrade_operator;
GRANT ALL ON FUNCTION old.explain_fetch(p_instance_id text, p_now_ms bigint, p_min_version_packed bigint, p_max_version_packed bigint) TO upgrade_monitor;


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
-- Name: FUNCTION read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_worker;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_operator;
GRANT ALL ON FUNCTION old.read_history(p_instance_id text, p_execution_id bigint, p_after_event_id bigint, p_limit integer) TO upgrade_monitor;


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
-- Name: FUNCTION resume_hub(p_queue text); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.resume_hub(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION old.resume_hub(p_queue text) TO upgrade_operator;


--
-- Name: FUNCTION start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_client;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.start_orchestration(p_name text, p_input text, p_instance_id text, p_version text, p_delay_ms bigint, p_now_ms bigint) TO upgrade_operator;


--
-- Name: TABLE dead_letter_summary; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_operator;
GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_monitor;


--
-- PostgreSQL database dump complete
--


