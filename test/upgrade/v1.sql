-- A hub of version 1, as pg_dump --inserts prints it. Frozen: it stands for the hubs that are out there.
--
-- It was made in another cluster by role regress_belay_hu_owner:
--   SELECT belay.create_hub('hu_old');
--   SELECT belay.grant_hub('hu_old', 'regress_belay_hu_operator', 'operator');
--   SELECT belay.set_hub_option('hu_old', 'slot_count', '4');
--   SELECT hu_old.pause_hub('tasks', 'release day');
--   SELECT belay.new_incarnation('hu_old');

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
-- Name: hu_old; Type: SCHEMA; Schema: -; Owner: regress_belay_hu_owner
--

CREATE SCHEMA hu_old;

ALTER SCHEMA hu_old OWNER TO regress_belay_hu_owner;

--
-- Name: pause_hub(text, text); Type: FUNCTION; Schema: hu_old; Owner: regress_belay_hu_owner
--

CREATE FUNCTION hu_old.pause_hub(p_queue text DEFAULT NULL::text, p_reason text DEFAULT ''::text) RETURNS void
    LANGUAGE belay
    AS $$pause_hub$$;

ALTER FUNCTION hu_old.pause_hub(p_queue text, p_reason text) OWNER TO regress_belay_hu_owner;

--
-- Name: FUNCTION pause_hub(p_queue text, p_reason text); Type: COMMENT; Schema: hu_old; Owner: regress_belay_hu_owner
--

COMMENT ON FUNCTION hu_old.pause_hub(p_queue text, p_reason text) IS 'Stops handing out work of a queue (orchestrator, worker, tasks, intents), or of all. Running work can finish.';

--
-- Name: resume_hub(text); Type: FUNCTION; Schema: hu_old; Owner: regress_belay_hu_owner
--

CREATE FUNCTION hu_old.resume_hub(p_queue text DEFAULT NULL::text) RETURNS void
    LANGUAGE belay
    AS $$resume_hub$$;

ALTER FUNCTION hu_old.resume_hub(p_queue text) OWNER TO regress_belay_hu_owner;

--
-- Name: FUNCTION resume_hub(p_queue text); Type: COMMENT; Schema: hu_old; Owner: regress_belay_hu_owner
--

COMMENT ON FUNCTION hu_old.resume_hub(p_queue text) IS 'Hands out work of a paused queue again, or of all.';

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: belay_hub; Type: TABLE; Schema: hu_old; Owner: regress_belay_hu_owner
--

CREATE TABLE hu_old.belay_hub (
    uuid uuid NOT NULL,
    api text NOT NULL,
    version integer NOT NULL,
    incarnation integer NOT NULL,
    epoch_floor bigint NOT NULL,
    options jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    mark belay.hub_mark NOT NULL
);

ALTER TABLE hu_old.belay_hub OWNER TO regress_belay_hu_owner;

--
-- Name: TABLE belay_hub; Type: COMMENT; Schema: hu_old; Owner: regress_belay_hu_owner
--

COMMENT ON TABLE hu_old.belay_hub IS 'Makes this schema a belay hub. One row.';

--
-- Data for Name: belay_hub; Type: TABLE DATA; Schema: hu_old; Owner: regress_belay_hu_owner
--

INSERT INTO hu_old.belay_hub VALUES ('11111111-1111-4111-8111-111111111111', 'belay', 1, 2, 4294967296, '{"paused": {"tasks": "release day"}, "slot_count": "4"}', '2026-11-16 06:41:11.512518+00', '7708655708515019044/1/5/16420');

--
-- Name: belay_hub belay_hub_pkey; Type: CONSTRAINT; Schema: hu_old; Owner: regress_belay_hu_owner
--

ALTER TABLE ONLY hu_old.belay_hub
    ADD CONSTRAINT belay_hub_pkey PRIMARY KEY (uuid);

--
-- Name: SCHEMA hu_old; Type: ACL; Schema: -; Owner: regress_belay_hu_owner
--

GRANT USAGE ON SCHEMA hu_old TO regress_belay_hu_operator;

--
-- Name: FUNCTION pause_hub(p_queue text, p_reason text); Type: ACL; Schema: hu_old; Owner: regress_belay_hu_owner
--

REVOKE ALL ON FUNCTION hu_old.pause_hub(p_queue text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION hu_old.pause_hub(p_queue text, p_reason text) TO regress_belay_hu_operator;

--
-- Name: FUNCTION resume_hub(p_queue text); Type: ACL; Schema: hu_old; Owner: regress_belay_hu_owner
--

REVOKE ALL ON FUNCTION hu_old.resume_hub(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION hu_old.resume_hub(p_queue text) TO regress_belay_hu_operator;
