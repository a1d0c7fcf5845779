-- A hub of version 2, as pg_dump --inserts -n old prints it. Frozen: it stands for the hubs that are out there.
--
-- Made by test/upgrade/freeze.sh with the library and the hub files of that version, and the rows of
-- test/upgrade/rows_*.sql up to its number. Roles upgrade_owner, _client, _worker, _operator and _monitor are those of
-- the cluster.
--
-- Sources: commit c3e5c87, "Add listing, deletion, pruning, duties and the duroxide-pg interface", cut down to steps 001 and 002 and the functions of
-- the worker queue and of dead letters, with 2 as the version of its hubs.

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
-- Name: kept; Type: TABLE; Schema: old; Owner: upgrade_owner
--

CREATE TABLE old.kept (
    what text NOT NULL,
    value text NOT NULL
);


ALTER TABLE old.kept OWNER TO upgrade_owner;

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

INSERT INTO old.belay_hub VALUES ('a789a490-4aae-46db-a3d8-d5f705c76b06', 'belay', 2, 1, 0, '{"paused": {"intents": "release day"}, "slot_count": "4", "max_attempts": "3", "max_clock_skew": "0", "dead_letter_retention": "30 days"}', '2026-11-16 21:34:16.554376+00', '7708885832683522906/1/5/16426');


--
-- Data for Name: dead_letters; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.dead_letters VALUES (1, 'worker', 1, 'i-dead', 1, 9, NULL, 'poison', '{"ActivityExecute": {"id": 9, "tag": "poison", "name": "Poison", "instance": "i-dead", "execution_id": 1}}', 3, 'max_attempts', NULL, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00.03+00');


--
-- Data for Name: kept; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.kept VALUES ('plain', 'wQIAAAAAAAAAAAAAAAAAAAAAAAAAAAMAAAABJ5LRRvU1hfFYiS2xWjh4Xg');
INSERT INTO old.kept VALUES ('instance', 'wQMAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAB4BOEuarShTPYOzbvhZeCNg');
INSERT INTO old.kept VALUES ('session', 'wQQAAAAAAAAAAAAAAAAAAAAAAAABAAMAAAABkJeNevuwtecsmgiLWYj1kg');
INSERT INTO old.kept VALUES ('tag', 'wQYAAAAAAAAAAAAAAAAAAAAe3qaOAAAAAAAB7O3pjeKygv8IrPnSvV_tOg');


--
-- Data for Name: orchestrator_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.orchestrator_queue VALUES (6693260915326447389, 1, '2100-01-01 00:00:00.03+00', '2100-01-01 00:00:00.03+00', 0, 0, 1, 'o', false, 'i-dead', NULL, '{"ActivityFailed":{"instance":"i-dead","execution_id":1,"id":9,"details":{"Poison":{"attempt_count":3,"max_attempts":3,"message_type":{"Activity":{"instance":"i-dead","execution_id":1,"activity_name":"Poison","activity_id":9}},"message":"{\"ActivityExecute\": {\"id\": 9, \"tag\": \"poison\", \"name\": \"Poison\", \"instance\": \"i-dead\", \"execution_id\": 1}}"}}}}');
INSERT INTO old.orchestrator_queue VALUES (3081372648846480974, 2, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 2, 'o', false, 'i-1', NULL, '{"ActivityCompleted": {"instance": "i-1", "execution_id": 1, "id": 2, "result": "ok"}}');


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.sessions VALUES ('s-1', 'worker-2', 4102448400000, 4102444800000, 1);


--
-- Data for Name: worker_queue; Type: TABLE DATA; Schema: old; Owner: upgrade_owner
--

INSERT INTO old.worker_queue VALUES (0, 3, 0, 2, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102452001000, 2851571616770786801, 6379680586893129822, 1, 1, NULL, NULL, NULL, NULL, NULL, 'worker-1', '{"ActivityExecute": {"name": "Plain", "input": "leased"}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 3, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, -2300349051686451917, -2865636335524806090, 1, 1, 1, 1, NULL, NULL, 'i-1', 'worker-1', '{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 1, "name": "Charge"}}');
INSERT INTO old.worker_queue VALUES (1, 3, 0, 5, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 2, NULL, 's-1', 'i-2', NULL, '{"ActivityExecute": {"id": 2, "instance": "i-2", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (1, 3, 0, 4, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, -8027792251416431129, 3213890678677894546, 1, 1, 1, 1, NULL, 's-1', 'i-2', 'worker-2', '{"ActivityExecute": {"id": 1, "instance": "i-2", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (517908110, 0, 0, 7, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 2, 'gpu', NULL, 'i-3', NULL, '{"ActivityExecute": {"id": 2, "instance": "i-3", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (517908110, 0, 0, 6, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102448400000, -1374185515675122945, 625149131813285178, 1, 1, 1, 1, 'gpu', NULL, 'i-3', 'worker-3', '{"ActivityExecute": {"id": 1, "instance": "i-3", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (0, 1, 4102446600000, 8, '2100-01-01 00:30:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 1, NULL, NULL, 'i-4', NULL, '{"ActivityExecute": {"instance": "i-4", "execution_id": 1, "id": 1, "name": "Delayed"}}');
INSERT INTO old.worker_queue VALUES (0, 2, 0, 9, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 4102444800001, 3338921950360781625, -8671443827304181842, 1, 1, 1, 1, NULL, NULL, 'i-5', 'worker-1', '{"ActivityExecute": {"instance": "i-5", "execution_id": 1, "id": 1, "name": "Expired"}}');
INSERT INTO old.worker_queue VALUES (0, 0, 0, 11, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute": {"name": "Ready"}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 12, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 2, 1, NULL, NULL, 'i-6', NULL, '{"ActivityExecute": {"id": 1, "name": "Ready", "instance": "i-6", "execution_id": 2}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 13, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, 1, 1, NULL, NULL, 'größe-🙂', NULL, '{"ActivityExecute": {"id": 1, "name": "Ready", "instance": "größe-🙂", "execution_id": 1}}');
INSERT INTO old.worker_queue VALUES (0, 3, 0, 14, '2100-01-01 00:00:00+00', '2100-01-01 00:00:00+00', 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"ActivityExecute": {"name": "Large", "input": "belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay belay "}}');


--
-- Name: dead_letters_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.dead_letters_id', 1, true);


--
-- Name: orchestrator_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.orchestrator_queue_id', 2, true);


--
-- Name: worker_queue_id; Type: SEQUENCE SET; Schema: old; Owner: upgrade_owner
--

SELECT pg_catalog.setval('old.worker_queue_id', 14, true);


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
-- Name: kept kept_pkey; Type: CONSTRAINT; Schema: old; Owner: upgrade_owner
--

ALTER TABLE ONLY old.kept
    ADD CONSTRAINT kept_pkey PRIMARY KEY (what);


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
-- Name: FUNCTION cancel_activities(p_cancelled_activities jsonb); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cancel_activities(p_cancelled_activities jsonb) TO upgrade_operator;


--
-- Name: FUNCTION cleanup_orphaned_sessions(p_now_ms bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_worker;
GRANT ALL ON FUNCTION old.cleanup_orphaned_sessions(p_now_ms bigint) TO upgrade_operator;


--
-- Name: FUNCTION discard_dead_letter(p_id bigint); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.discard_dead_letter(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION old.discard_dead_letter(p_id bigint) TO upgrade_operator;


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
-- Name: FUNCTION list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer); Type: ACL; Schema: old; Owner: upgrade_owner
--

REVOKE ALL ON FUNCTION old.list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION old.list_dead_letters(p_queue text, p_reason text, p_instance_id text, p_after bigint, p_limit integer) TO upgrade_operator;


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
-- Name: TABLE dead_letter_summary; Type: ACL; Schema: old; Owner: upgrade_owner
--

GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_operator;
GRANT SELECT ON TABLE old.dead_letter_summary TO upgrade_monitor;


--
-- PostgreSQL database dump complete
--


