-- What api duroxide-pg has in a form of its own: its column types, its seconds, its clean-up and its ledger of migrations.

-- Level 21 is that of crate 0.1.33. The owner may add or delete versions, all of them too: they are written once, before the
-- functions below are there.
CREATE TABLE IF NOT EXISTS @hub@._duroxide_migrations (
    version    bigint      NOT NULL,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT _duroxide_migrations_pkey PRIMARY KEY (version)
);
COMMENT ON TABLE @hub@._duroxide_migrations IS 'The level of duroxide-pg that this hub stands for: applications look here before they migrate.';
INSERT INTO @hub@._duroxide_migrations (version, name)
SELECT v, 'provided by belay'
  FROM generate_series(1, 21) AS v
 WHERE NOT EXISTS (SELECT
                     FROM @hub@.belay_hub AS h
                     JOIN pg_class AS c ON c.oid = h.tableoid
                     JOIN pg_proc AS p ON p.pronamespace = c.relnamespace AND p.proname = 'cleanup_schema');

CREATE OR REPLACE FUNCTION @hub@.fetch_orchestration_item(
    p_now_ms bigint,
    p_lock_timeout_ms bigint,
    p_min_version_packed bigint DEFAULT NULL,
    p_max_version_packed bigint DEFAULT NULL,
    p_slots integer[] DEFAULT NULL
) RETURNS TABLE (out_instance_id text, out_orchestration_name text, out_orchestration_version text,
                 out_execution_id bigint, out_history jsonb, out_messages jsonb, out_lock_token text,
                 out_attempt_count integer, out_kv_snapshot jsonb)
    LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 1 AS 'fetch_orchestration_item_jsonb';
COMMENT ON FUNCTION @hub@.fetch_orchestration_item(bigint, bigint, bigint, bigint, integer[]) IS
    'Leases the next turn: an instance with its messages, history and key/value state. No row means nothing was eligible.';

CREATE OR REPLACE FUNCTION @hub@.renew_orchestration_item_lock(
    p_lock_token text,
    p_now_ms bigint,
    p_extend_secs bigint
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_orchestration_item_lock_secs';
COMMENT ON FUNCTION @hub@.renew_orchestration_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live lease to now + p_extend_secs, never to an earlier time.';

CREATE OR REPLACE FUNCTION @hub@.renew_work_item_lock(
    p_lock_token text,
    p_now_ms bigint,
    p_extend_secs bigint
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'renew_work_item_lock_secs';
COMMENT ON FUNCTION @hub@.renew_work_item_lock(text, bigint, bigint) IS
    'Moves the deadline of a live lease to now + p_extend_secs, never to an earlier time.';

CREATE OR REPLACE FUNCTION @hub@.cleanup_schema()
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cleanup_schema';
COMMENT ON FUNCTION @hub@.cleanup_schema() IS
    'Removes the hub''s tables and functions with all that is in them, and keeps the schema. For the hub''s owner only.';

CREATE OR REPLACE FUNCTION @hub@.abandon_work_item(
    p_lock_token text,
    p_now_ms bigint,
    p_delay_ms bigint DEFAULT NULL,
    p_ignore_attempt boolean DEFAULT false
) RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'abandon_work_item_without_reason';
COMMENT ON FUNCTION @hub@.abandon_work_item(text, bigint, bigint, boolean) IS
    'Gives a leased activity back, at once or after a delay, with or without counting the attempt.';
