-- The extension: the language belay, the type of hub marks, and the functions of schema belay.
\echo Use "CREATE EXTENSION belay" to load this file. \quit

GRANT USAGE ON SCHEMA belay TO PUBLIC;

-- ---------------------------------------------------------------- language

CREATE FUNCTION belay.call_handler() RETURNS language_handler
    LANGUAGE C AS 'MODULE_PATHNAME', 'belay_call_handler';
COMMENT ON FUNCTION belay.call_handler() IS 'Handler of language belay.';

CREATE FUNCTION belay.validator(oid) RETURNS void
    LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'belay_validator';
COMMENT ON FUNCTION belay.validator(oid) IS 'Validator of language belay.';

CREATE TRUSTED LANGUAGE belay HANDLER belay.call_handler VALIDATOR belay.validator;
REVOKE USAGE ON LANGUAGE belay FROM PUBLIC;
COMMENT ON LANGUAGE belay IS
    'The functions of hubs. Granting USAGE, with CREATE on the database, lets a role own hubs.';

-- ---------------------------------------------------------------- type of hub marks

CREATE TYPE belay.hub_mark;

CREATE FUNCTION belay.hub_mark_in(cstring) RETURNS belay.hub_mark
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_hub_mark_in';
CREATE FUNCTION belay.hub_mark_out(belay.hub_mark) RETURNS cstring
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_hub_mark_out';
CREATE FUNCTION belay.hub_mark_recv(internal) RETURNS belay.hub_mark
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_hub_mark_recv';
CREATE FUNCTION belay.hub_mark_send(belay.hub_mark) RETURNS bytea
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_hub_mark_send';
COMMENT ON FUNCTION belay.hub_mark_in(cstring) IS 'Input of type belay.hub_mark.';
COMMENT ON FUNCTION belay.hub_mark_out(belay.hub_mark) IS 'Output of type belay.hub_mark.';
COMMENT ON FUNCTION belay.hub_mark_recv(internal) IS 'Binary input of type belay.hub_mark.';
COMMENT ON FUNCTION belay.hub_mark_send(belay.hub_mark) IS 'Binary output of type belay.hub_mark.';

CREATE TYPE belay.hub_mark (
    INPUT = belay.hub_mark_in,
    OUTPUT = belay.hub_mark_out,
    RECEIVE = belay.hub_mark_recv,
    SEND = belay.hub_mark_send,
    INTERNALLENGTH = 24,
    ALIGNMENT = double
);
COMMENT ON TYPE belay.hub_mark IS
    'Cluster, timeline, database and schema under which a hub last ran.';

-- ---------------------------------------------------------------- hubs

CREATE FUNCTION belay.version() RETURNS text
    LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_version';
COMMENT ON FUNCTION belay.version() IS 'Version of the loaded library.';

CREATE FUNCTION belay.create_hub(
    p_name name,
    p_api text DEFAULT 'belay',
    p_adopt boolean DEFAULT false
) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_create_hub';
COMMENT ON FUNCTION belay.create_hub(name, text, boolean) IS
    'Creates a hub: a schema with its own queues, functions and rights. With p_adopt, an existing schema of the caller becomes the hub.';

CREATE FUNCTION belay.drop_hub(
    p_name name,
    p_force boolean DEFAULT false
) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_drop_hub';
COMMENT ON FUNCTION belay.drop_hub(name, boolean) IS
    'Drops a hub with all its data. Rejected while a lease is live, unless p_force is set.';

CREATE FUNCTION belay.upgrade_hub(p_name name) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_upgrade_hub';
COMMENT ON FUNCTION belay.upgrade_hub(name) IS
    'Brings a hub made by an older release to this one, in place, keeping rows, leases and grants.';

CREATE FUNCTION belay.check_hub(p_name name, p_rows text DEFAULT 'auto')
    RETURNS TABLE (object text, problem text)
    LANGUAGE C STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_check_hub';
COMMENT ON FUNCTION belay.check_hub(name, text) IS
    'Returns deviations of a hub from its version; no row on a healthy hub. p_rows selects the rows that are read: all, sample (the newest 10,000 tasks, and flows if they are few), none, or auto (all tasks up to 100,000, else a sample). Only all compares sequences with tables that have no index by number and more than 500 pages.';

CREATE FUNCTION belay.run_as_owner(p_hub name, p_statement text) RETURNS TABLE (nr bigint, fields text[])
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_run_as_owner';
COMMENT ON FUNCTION belay.run_as_owner(name, text) IS
    'Runs a statement with the rights of the hub''s owner and none of the caller''s, so that superusers can read hubs of other owners safely. Row 0 has the names of the columns.';

CREATE FUNCTION belay.set_hub_option(p_name name, p_option text, p_value text) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_set_hub_option';
COMMENT ON FUNCTION belay.set_hub_option(name, text, text) IS
    'Sets an option of a hub; NULL restores the default. See belay.hub_options.';

CREATE FUNCTION belay.grant_hub(p_name name, p_role name, p_level text) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_grant_hub';
COMMENT ON FUNCTION belay.grant_hub(name, name, text) IS
    'Grants a role the functions of a level: client, worker, operator or monitor.';

CREATE FUNCTION belay.revoke_hub(p_name name, p_role name, p_level text) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_revoke_hub';
COMMENT ON FUNCTION belay.revoke_hub(name, name, text) IS
    'Revokes all rights of a level from a role, including those of lower levels.';

CREATE FUNCTION belay.new_incarnation(p_name name DEFAULT NULL) RETURNS integer
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_new_incarnation';
COMMENT ON FUNCTION belay.new_incarnation(name) IS
    'Invalidates every lease of a hub, or of all hubs of the caller; for use after a cold copy of a data directory.';

CREATE FUNCTION belay.hub_rows()
    RETURNS TABLE (schema oid, owner oid, api text, version integer, is_current boolean,
                   paused_queues text[], created_at timestamptz, is_here boolean)
    LANGUAGE C STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_hub_rows';
COMMENT ON FUNCTION belay.hub_rows() IS 'Behind view belay.hubs.';

CREATE FUNCTION belay.shard_rows()
    RETURNS TABLE (schema oid, shell oid, shard oid, toast oid, pages bigint)
    LANGUAGE C STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_shard_rows';
COMMENT ON FUNCTION belay.shard_rows() IS 'The shards that the hubs on this node of Citus have for their tables.';

CREATE FUNCTION belay.live_leases(p_name name) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_live_leases';
COMMENT ON FUNCTION belay.live_leases(name) IS 'How many leases belay.drop_hub would end; Citus asks the node that has the hub.';

CREATE VIEW belay.hubs AS
    SELECT n.nspname AS name,
           pg_catalog.pg_get_userbyid(h.owner) AS owner,
           h.api,
           h.version,
           h.is_current,
           pg_catalog.cardinality(h.paused_queues) > 0 AS paused,
           h.created_at,
           CASE WHEN h.api IS NOT NULL THEN s.bytes + coalesce(d.bytes, 0) END AS size_bytes,
           h.paused_queues,
           h.is_here
      FROM belay.hub_rows() AS h
      JOIN pg_catalog.pg_namespace AS n ON n.oid = h.schema
      -- Two looks at pg_class for all hubs, and none in a query that does not ask for the size. Asking each file for its length
      -- takes 2,000 buffers a hub; OFFSET keeps the planner from looking for each toast table by itself.
      LEFT JOIN (SELECT c.relnamespace,
                        (pg_catalog.sum(c.relpages::bigint + coalesce(t.relpages, 0))
                         * pg_catalog.current_setting('block_size')::bigint)::bigint AS bytes
                   FROM pg_catalog.pg_class AS c
                   LEFT JOIN (SELECT x.oid, x.relpages
                                FROM pg_catalog.pg_class AS x
                               WHERE x.relkind = 't'
                              OFFSET 0) AS t ON t.oid = c.reltoastrelid
                  WHERE c.relkind IN ('r', 'S', 'i')
                    AND c.relnamespace IN (SELECT k.relnamespace
                                             FROM pg_catalog.pg_class AS k
                                            WHERE k.relname = 'belay_hub')
                  GROUP BY c.relnamespace) AS s ON s.relnamespace = h.schema
      -- Citus leaves shards out of pg_class.
      LEFT JOIN (SELECT r.schema,
                        (pg_catalog.sum(r.pages) * pg_catalog.current_setting('block_size')::bigint)::bigint AS bytes
                   FROM belay.shard_rows() AS r
                  GROUP BY r.schema) AS d ON d.schema = h.schema;
COMMENT ON VIEW belay.hubs IS 'The hubs of this database.';
COMMENT ON COLUMN belay.hubs.name IS 'Name of the hub and of its schema.';
COMMENT ON COLUMN belay.hubs.owner IS 'Role whose rights the functions of the hub run with.';
COMMENT ON COLUMN belay.hubs.api IS 'belay or duroxide-pg.';
COMMENT ON COLUMN belay.hubs.version IS 'Version of the tables and functions of the hub.';
COMMENT ON COLUMN belay.hubs.is_current IS 'Whether the hub has the version of the loaded library.';
COMMENT ON COLUMN belay.hubs.paused IS 'Whether any queue is paused.';
COMMENT ON COLUMN belay.hubs.created_at IS 'When the hub was created.';
COMMENT ON COLUMN belay.hubs.size_bytes IS 'Tables, sequences and indexes of the schema, with toast, as of their last VACUUM, ANALYZE or index build.';
COMMENT ON COLUMN belay.hubs.paused_queues IS 'The queues that are paused.';
COMMENT ON COLUMN belay.hubs.is_here IS 'Whether this server serves the hub. If not, belay.hub_locations has the place of the server that does, and the other columns describe what was left here; of a hub that Citus has on another node they are null, but for name and owner.';
GRANT SELECT ON belay.hubs TO PUBLIC;

CREATE FUNCTION belay.hub_option_rows()
    RETURNS TABLE (hub name, option text, value text, is_default boolean)
    LANGUAGE C STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_hub_option_rows';
COMMENT ON FUNCTION belay.hub_option_rows() IS 'Behind view belay.hub_options.';

CREATE VIEW belay.hub_options AS
    SELECT o.hub, o.option, o.value, o.is_default FROM belay.hub_option_rows() AS o;
COMMENT ON VIEW belay.hub_options IS 'The options of every hub, with their values in force.';
COMMENT ON COLUMN belay.hub_options.hub IS 'The hub.';
COMMENT ON COLUMN belay.hub_options.option IS 'Name of the option.';
COMMENT ON COLUMN belay.hub_options.value IS 'The value in force; null: off.';
COMMENT ON COLUMN belay.hub_options.is_default IS 'Whether the value is the default.';
GRANT SELECT ON belay.hub_options TO PUBLIC;

-- ---------------------------------------------------------------- hubs of other servers

CREATE TABLE belay.hub_places (
    hub  name    NOT NULL,
    host text    NOT NULL,
    port integer NOT NULL,
    CONSTRAINT hub_places_pkey PRIMARY KEY (hub)
);
COMMENT ON TABLE belay.hub_places IS 'Hubs on other servers, set by belay.set_hub_place.';
COMMENT ON COLUMN belay.hub_places.hub IS 'The hub.';
COMMENT ON COLUMN belay.hub_places.host IS 'Host of the server that has the hub.';
COMMENT ON COLUMN belay.hub_places.port IS 'Port of that server.';
GRANT SELECT ON belay.hub_places TO PUBLIC;

CREATE TABLE belay.hub_families (
    family name    NOT NULL,
    hubs   integer NOT NULL,
    CONSTRAINT hub_families_pkey PRIMARY KEY (family)
);
COMMENT ON TABLE belay.hub_families IS 'Families of hubs, created by belay.create_hub_family.';
COMMENT ON COLUMN belay.hub_families.family IS 'Name of the family. The names of its hubs are this name, an underscore and three digits.';
COMMENT ON COLUMN belay.hub_families.hubs IS 'Number of hubs of the family, on all servers.';
GRANT SELECT ON belay.hub_families TO PUBLIC;

SELECT pg_catalog.pg_extension_config_dump('belay.hub_places', '');
SELECT pg_catalog.pg_extension_config_dump('belay.hub_families', '');

CREATE FUNCTION belay.set_hub_place(p_name name, p_host text, p_port integer) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_set_hub_place';
COMMENT ON FUNCTION belay.set_hub_place(name, text, integer) IS
    'Sets the server that has a hub. If the hub is in this database, it is no longer served here: its functions raise QB017 with the place. For superusers, unless granted.';

CREATE FUNCTION belay.remove_hub_place(p_name name) RETURNS boolean
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_remove_hub_place';
COMMENT ON FUNCTION belay.remove_hub_place(name) IS
    'Removes the place of a hub. A hub in this database is served again. Returns false if no place was set. For superusers, unless granted.';

CREATE FUNCTION belay.hub_location(p_name name) RETURNS TABLE (host text, port integer, is_here boolean)
    LANGUAGE C STABLE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'belay_hub_location';
COMMENT ON FUNCTION belay.hub_location(name) IS
    'Returns where a hub is. Host and port are null for a hub of this database that Citus has not distributed.';

CREATE VIEW belay.hub_locations AS
    -- OFFSET keeps the planner from asking for the location of each schema of the database and joining with the hubs then, as
    -- it does from PostgreSQL 16 on: the function refuses what is no hub.
    SELECT n.hub, l.host, l.port, l.is_here, l.host IS NOT NULL AS distributed
      FROM (SELECT n.nspname AS hub
              FROM belay.hub_rows() AS h
              JOIN pg_catalog.pg_namespace AS n ON n.oid = h.schema
             WHERE NOT EXISTS (SELECT FROM belay.hub_places AS p WHERE p.hub = n.nspname)
            OFFSET 0) AS n
     CROSS JOIN LATERAL belay.hub_location(n.hub) AS l
    UNION ALL
    SELECT p.hub, p.host, p.port, false, false FROM belay.hub_places AS p;
COMMENT ON VIEW belay.hub_locations IS 'Hubs of this database, and hubs on other servers whose places are set.';
COMMENT ON COLUMN belay.hub_locations.hub IS 'The hub.';
COMMENT ON COLUMN belay.hub_locations.host IS 'Host of the server that has the hub; null for this server, unless Citus has put the hub on it.';
COMMENT ON COLUMN belay.hub_locations.port IS 'Port of that server; null where host is.';
COMMENT ON COLUMN belay.hub_locations.is_here IS 'Whether this server serves the hub.';
COMMENT ON COLUMN belay.hub_locations.distributed IS 'Whether Citus has the hub on a node, from where it can be moved.';
GRANT SELECT ON belay.hub_locations TO PUBLIC;

CREATE FUNCTION belay.distribute_hub(p_name name, p_host text DEFAULT NULL, p_port integer DEFAULT NULL) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_distribute_hub';
COMMENT ON FUNCTION belay.distribute_hub(name, text, integer) IS
    'Lets Citus put a hub on a node: the one with the fewest hubs, or the named one. It is served there only. On the coordinator, by the owner of the hub.';

CREATE FUNCTION belay.undistribute_hub(p_name name) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_undistribute_hub';
COMMENT ON FUNCTION belay.undistribute_hub(name) IS
    'Brings a hub that Citus has distributed back to the coordinator. On the coordinator, by the owner of the hub.';

CREATE FUNCTION belay.move_hub(p_name name, p_host text, p_port integer, p_mode text DEFAULT 'auto') RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_move_hub';
COMMENT ON FUNCTION belay.move_hub(name, text, integer, text) IS
    'Moves a hub that Citus has distributed to another node while it works. Nothing committed is lost; leases end. On the coordinator, by the owner of the hub.';

CREATE FUNCTION belay.rebalance_hubs(p_mode text DEFAULT 'auto', p_dry_run boolean DEFAULT false)
    RETURNS TABLE (hub name, from_host text, from_port integer, to_host text, to_port integer, moved boolean)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_rebalance_hubs';
COMMENT ON FUNCTION belay.rebalance_hubs(text, boolean) IS
    'Moves one hub from the node that has most of them to the one that has fewest, and returns it with the moves that are left until the numbers of hubs differ by at most one: call it until it returns no row. A dry run moves nothing. On the coordinator of Citus; hubs of other owners stay.';

CREATE FUNCTION belay.adopt_distribution(p_name name) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_adopt_distribution';
COMMENT ON FUNCTION belay.adopt_distribution(name) IS
    'Completes the distribution of a hub whose schema was distributed with citus_schema_distribute: brings its functions to all nodes and removes the rows that Citus left. On the coordinator, by the owner of the hub.';

CREATE PROCEDURE belay.create_hub_family(
    p_family name,
    p_hubs integer,
    p_api text DEFAULT 'belay',
    p_servers text[] DEFAULT NULL,
    p_here text DEFAULT NULL
)
    LANGUAGE C AS 'MODULE_PATHNAME', 'belay_create_hub_family';
COMMENT ON PROCEDURE belay.create_hub_family(name, integer, text, text[], text) IS
    'Creates a family of hubs that share a load by keys: all here, on the coordinator of Citus distributed evenly over the nodes, or with p_servers every n-th one, and places for the others. Outside of a transaction block it commits after each hub; called again, it continues.';

CREATE PROCEDURE belay.drop_hub_family(p_family name, p_force boolean DEFAULT false)
    LANGUAGE C AS 'MODULE_PATHNAME', 'belay_drop_hub_family';
COMMENT ON PROCEDURE belay.drop_hub_family(name, boolean) IS
    'Drops the hubs of a family that are in this database, and removes the family. Outside of a transaction block it commits after each hub.';

CREATE FUNCTION belay.family_hub(p_family name, p_key text) RETURNS name
    LANGUAGE C STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_family_hub';
COMMENT ON FUNCTION belay.family_hub(name, text) IS
    'Returns the hub of a family that has a key.';

CREATE FUNCTION belay.family_hub_of(p_family name, p_hubs integer, p_key text) RETURNS name
    LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_family_hub_of';
COMMENT ON FUNCTION belay.family_hub_of(name, integer, text) IS
    'Returns the hub that has a key in a family of this number of hubs, which need not be known here.';

-- ---------------------------------------------------------------- links to hubs of other databases

CREATE FUNCTION belay.create_hub_link(p_hub name, p_target_hub name, p_server text) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_create_hub_link';
COMMENT ON FUNCTION belay.create_hub_link(name, name, text) IS
    'Delivers work items that a hub sends to p_target_hub through a foreign server, with the user mapping of the hub''s owner.';

CREATE FUNCTION belay.drop_hub_link(p_hub name, p_target_hub name) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_drop_hub_link';
COMMENT ON FUNCTION belay.drop_hub_link(name, name) IS
    'Removes a link. Undelivered messages then wait for a hub of that name in this database.';

-- ---------------------------------------------------------------- leases

CREATE FUNCTION belay.random_int8() RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_random_int8';
COMMENT ON FUNCTION belay.random_int8() IS 'A number from the cryptographic random generator.';

CREATE FUNCTION belay.event_horizon_pid(hub_table oid) RETURNS integer
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_event_horizon_pid';
COMMENT ON FUNCTION belay.event_horizon_pid(oid) IS
    'The process whose open transaction keeps the latest events of the hub with this table from being read; NULL if there is none, or if it is a prepared transaction.';

CREATE FUNCTION belay.instance_key(instance_id text) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_instance_key';
COMMENT ON FUNCTION belay.instance_key(text) IS
    'The number under which the rows of an instance are found in the orchestrator queue and the instance locks.';

CREATE FUNCTION belay.work_token(
    lane integer, slot smallint, due bigint, id bigint, incarnation integer,
    nonce_hi bigint, nonce_lo bigint
) RETURNS text
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_work_token';
COMMENT ON FUNCTION belay.work_token(integer, smallint, bigint, bigint, integer, bigint, bigint) IS
    'The token of a lease, from the columns of its row. Behind view work_items.';

CREATE FUNCTION belay.turn_token(
    instance_key bigint, lock_no bigint, incarnation integer, nonce_hi bigint, nonce_lo bigint
) RETURNS text
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_turn_token';
COMMENT ON FUNCTION belay.turn_token(bigint, bigint, integer, bigint, bigint) IS
    'The token of a turn, from the columns of its lock. Behind view messages.';

CREATE FUNCTION belay.task_is_sound(
    state text, pending_attempt text, attempt_kind text, lease_owner text, lease_worker text,
    lease_until_ms bigint, lease_check_ms bigint, available_at_ms bigint, terminal_at_ms bigint,
    attempt_started_ms bigint, attempt_deadline_ms bigint, attempt_worker text,
    attempt_worker_instance text, attempt_leases integer, attempt_index integer,
    retry_count integer, reclaim_count integer, replay_count integer, priority integer,
    lease_epoch bigint, start_delay_ms bigint
) RETURNS boolean
    LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'belay_task_is_sound';
COMMENT ON FUNCTION belay.task_is_sound(text, text, text, text, text, bigint, bigint, bigint, bigint, bigint, bigint, text, text, integer, integer, integer, integer, integer, integer, bigint, bigint) IS
    'Whether state, lease, attempt and times of a task fit each other. The CHECK of table tasks.';

-- ---------------------------------------------------------------- monitoring

CREATE FUNCTION belay.shared_memory()
    RETURNS TABLE (waiters bigint, channels bigint, leases bigint, counter_slots bigint,
                   stat_slots bigint)
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'belay_shared_memory';
COMMENT ON FUNCTION belay.shared_memory() IS
    'Returns the use of belay''s shared memory, in all databases: waits, channels, leases with their deadline, hubs with counters, queues and kinds of tasks with counters.';

CREATE FUNCTION belay.stat_queues()
    RETURNS TABLE (hub name, queue text, enqueued bigint, fetched bigint, empty_fetches bigint,
                   acked bigint, abandoned bigint, renewed bigint, lost_leases bigint,
                   expired bigint, dead_lettered bigint, wake_ups bigint, waiters bigint,
                   leases bigint, oldest_ready_ms bigint, stats_reset timestamptz, failed bigint,
                   retried bigint, cancelled bigint, timed_out bigint)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_stat_queues';
COMMENT ON FUNCTION belay.stat_queues() IS 'Rows behind view pg_stat_belay_queue.';

CREATE VIEW belay.pg_stat_belay_queue AS SELECT s.* FROM belay.stat_queues() AS s;
COMMENT ON VIEW belay.pg_stat_belay_queue IS
    'What happened in each queue since the server start or the last reset, and how it stands now. Hubs of which the caller has level monitor; all for pg_monitor.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.hub IS 'The hub.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.queue IS 'orchestrator, worker or tasks.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.enqueued IS 'Items or messages added.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.fetched IS 'Items or turns leased.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.empty_fetches IS 'Fetches that found nothing.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.acked IS 'Leases ended with an outcome.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.abandoned IS 'Leases ended without an outcome.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.renewed IS 'Leases renewed.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.lost_leases IS 'Calls with a lost lease (QB001).';
COMMENT ON COLUMN belay.pg_stat_belay_queue.expired IS 'Leases that ended without an ack, as far as shared memory knew them.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.dead_lettered IS 'Items or messages set aside.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.wake_ups IS 'Waiting sessions that were woken.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.waiters IS 'Sessions that wait now, as far as shared memory knows.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.leases IS 'Leases that are live now, as far as shared memory knows; of tasks those in the table, counted up to 10000.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.oldest_ready_ms IS 'How long the oldest item that could be fetched has been ready; null if there is none.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.stats_reset IS 'Since when the counters count; null, as are the counters, without shared memory or if it has no room for the hub.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.failed IS 'Tasks that ended as failed.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.retried IS 'Attempts of tasks that failed and are followed by another one.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.cancelled IS 'Tasks that were cancelled.';
COMMENT ON COLUMN belay.pg_stat_belay_queue.timed_out IS 'Tasks whose deadline passed.';
GRANT SELECT ON belay.pg_stat_belay_queue TO PUBLIC;

CREATE FUNCTION belay.stat_task_queues()
    RETURNS TABLE (hub name, queue text, kind text, created bigint, claimed bigint,
                   completed bigint, failed bigint, retried bigint, cancelled bigint,
                   expired bigint, lost bigint, stats_reset timestamptz)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_stat_task_queues';
COMMENT ON FUNCTION belay.stat_task_queues() IS 'Rows behind view pg_stat_belay_task_queue.';

CREATE VIEW belay.pg_stat_belay_task_queue AS SELECT s.* FROM belay.stat_task_queues() AS s;
COMMENT ON VIEW belay.pg_stat_belay_task_queue IS
    'What happened to the tasks of each queue and kind since the server start or the last reset, from shared memory. Hubs of which the caller has level monitor; all for pg_monitor. If there are more than belay.stat_slots queues and kinds, the rest of a hub is in one row with queue and kind *.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.hub IS 'The hub.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.queue IS 'Queue of the tasks.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.kind IS 'Kind of the tasks.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.created IS 'Tasks created.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.claimed IS 'Leases given.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.completed IS 'Tasks that ended with success.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.failed IS 'Tasks that ended as failed.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.retried IS 'Attempts that failed and are followed by another one.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.cancelled IS 'Tasks that were cancelled.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.expired IS 'Tasks whose deadline passed.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.lost IS 'Leases that ended without their holder.';
COMMENT ON COLUMN belay.pg_stat_belay_task_queue.stats_reset IS 'Since when the row counts: its first committed count.';
GRANT SELECT ON belay.pg_stat_belay_task_queue TO PUBLIC;

CREATE FUNCTION belay.stat_latency()
    RETURNS TABLE (hub name, queue text, task_queue text, kind text, duration text, count bigint,
                   sum_ms bigint, p50_ms bigint, p95_ms bigint, p99_ms bigint, buckets bigint[],
                   stats_reset timestamptz)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_stat_latency';
COMMENT ON FUNCTION belay.stat_latency() IS 'Rows behind view pg_stat_belay_latency.';

CREATE VIEW belay.pg_stat_belay_latency AS SELECT s.* FROM belay.stat_latency() AS s;
COMMENT ON VIEW belay.pg_stat_belay_latency IS
    'How long items and tasks waited and ran since the server start or the last reset, from shared memory: of the worker and the orchestrator queue, and of tasks by queue and kind. Hubs of which the caller has level monitor; all for pg_monitor.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.hub IS 'The hub.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.queue IS 'orchestrator, worker or tasks.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.task_queue IS 'Queue of the tasks; null for the other queues.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.kind IS 'Kind of the tasks; null for the other queues.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.duration IS 'wait: from ready to leased. run: from leased to the end of the lease by its holder; of tasks, whole attempts.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.count IS 'How many there were.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.sum_ms IS 'Their sum.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.p50_ms IS 'Upper bound of the bucket that reaches half of them; null if there are none, or above 1 day.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.p95_ms IS 'The same for 95 of 100.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.p99_ms IS 'The same for 99 of 100.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.buckets IS 'How many took up to 1, 2, 5, 10, 20, 50, 100, 200, 500 ms, 1, 2, 5, 10, 30 s, 1, 5, 10, 30 min, 1, 6 h, 1 day, and longer.';
COMMENT ON COLUMN belay.pg_stat_belay_latency.stats_reset IS 'Since when the row counts.';
GRANT SELECT ON belay.pg_stat_belay_latency TO PUBLIC;

CREATE VIEW belay.pg_stat_belay_hub AS
    SELECT s.hub,
           pg_catalog.sum(s.enqueued)::bigint AS enqueued,
           pg_catalog.sum(s.fetched)::bigint AS fetched,
           pg_catalog.sum(s.empty_fetches)::bigint AS empty_fetches,
           pg_catalog.sum(s.acked)::bigint AS acked,
           pg_catalog.sum(s.abandoned)::bigint AS abandoned,
           pg_catalog.sum(s.renewed)::bigint AS renewed,
           pg_catalog.sum(s.lost_leases)::bigint AS lost_leases,
           pg_catalog.sum(s.expired)::bigint AS expired,
           pg_catalog.sum(s.dead_lettered)::bigint AS dead_lettered,
           pg_catalog.sum(s.wake_ups)::bigint AS wake_ups,
           pg_catalog.sum(s.waiters)::bigint AS waiters,
           pg_catalog.sum(s.leases)::bigint AS leases,
           pg_catalog.max(s.oldest_ready_ms) AS oldest_ready_ms,
           pg_catalog.max(s.stats_reset) AS stats_reset,
           pg_catalog.sum(s.failed)::bigint AS failed,
           pg_catalog.sum(s.retried)::bigint AS retried,
           pg_catalog.sum(s.cancelled)::bigint AS cancelled,
           pg_catalog.sum(s.timed_out)::bigint AS timed_out
      FROM belay.stat_queues() AS s
     GROUP BY s.hub;
COMMENT ON VIEW belay.pg_stat_belay_hub IS 'The sums of pg_stat_belay_queue for each hub.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.hub IS 'The hub.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.enqueued IS 'Items or messages added.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.fetched IS 'Items or turns leased.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.empty_fetches IS 'Fetches that found nothing.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.acked IS 'Leases ended with an outcome.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.abandoned IS 'Leases ended without an outcome.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.renewed IS 'Leases renewed.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.lost_leases IS 'Calls with a lost lease (QB001).';
COMMENT ON COLUMN belay.pg_stat_belay_hub.expired IS 'Leases that ended without an ack, as far as shared memory knew them.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.dead_lettered IS 'Items or messages set aside.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.wake_ups IS 'Waiting sessions that were woken.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.waiters IS 'Sessions that wait now, as far as shared memory knows.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.leases IS 'Leases that are live now, as far as shared memory knows.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.oldest_ready_ms IS 'The oldest of the three ages.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.stats_reset IS 'Since when the counters count.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.failed IS 'Tasks that ended as failed.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.retried IS 'Attempts of tasks that failed and are followed by another one.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.cancelled IS 'Tasks that were cancelled.';
COMMENT ON COLUMN belay.pg_stat_belay_hub.timed_out IS 'Tasks whose deadline passed.';
GRANT SELECT ON belay.pg_stat_belay_hub TO PUBLIC;

CREATE VIEW belay.hub_sizes AS
    SELECT n.nspname AS hub,
           c.relname AS "table",
           pg_catalog.pg_stat_get_live_tuples(t.rows) AS live_rows,
           pg_catalog.pg_stat_get_dead_tuples(t.rows) AS dead_rows,
           pg_catalog.pg_relation_size(t.rows) AS table_bytes,
           pg_catalog.pg_indexes_size(t.rows) AS index_bytes,
           CASE WHEN t.toast = 0 THEN 0
                ELSE pg_catalog.pg_total_relation_size(t.toast) END AS toast_bytes,
           pg_catalog.pg_stat_get_last_autovacuum_time(t.rows) AS last_autovacuum
      FROM belay.hub_rows() AS h
      JOIN pg_catalog.pg_namespace AS n ON n.oid = h.schema
      JOIN pg_catalog.pg_class AS c ON c.relnamespace = h.schema AND c.relkind = 'r'
      LEFT JOIN belay.shard_rows() AS r ON r.shell = c.oid
     CROSS JOIN LATERAL (SELECT coalesce(r.shard, c.oid) AS rows,
                                coalesce(r.toast, c.reltoastrelid) AS toast) AS t
     WHERE h.is_here;
COMMENT ON VIEW belay.hub_sizes IS 'Estimated rows and sizes of the tables of every hub that is served here.';
COMMENT ON COLUMN belay.hub_sizes.hub IS 'The hub.';
COMMENT ON COLUMN belay.hub_sizes."table" IS 'A table of it.';
COMMENT ON COLUMN belay.hub_sizes.live_rows IS 'Estimate.';
COMMENT ON COLUMN belay.hub_sizes.dead_rows IS 'Estimate.';
COMMENT ON COLUMN belay.hub_sizes.table_bytes IS 'Without indexes and toast.';
COMMENT ON COLUMN belay.hub_sizes.index_bytes IS 'All its indexes.';
COMMENT ON COLUMN belay.hub_sizes.toast_bytes IS 'Large values, with their index.';
COMMENT ON COLUMN belay.hub_sizes.last_autovacuum IS 'When autovacuum was last done with it.';
GRANT SELECT ON belay.hub_sizes TO PUBLIC;

CREATE FUNCTION belay.metrics(p_format text DEFAULT 'openmetrics') RETURNS text
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_metrics';
COMMENT ON FUNCTION belay.metrics(text) IS
    'Counters, durations and gauges of the hubs that the caller may monitor as text for Prometheus: openmetrics or prometheus.';

CREATE FUNCTION belay.stat_reset() RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_stat_reset';
COMMENT ON FUNCTION belay.stat_reset() IS
    'Resets the counters of all hubs of this database. For superusers, unless granted.';

-- ---------------------------------------------------------------- background worker

CREATE FUNCTION belay.start_worker() RETURNS boolean
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_start_worker';
COMMENT ON FUNCTION belay.start_worker() IS
    'Starts the background worker of this database where the library is not preloaded; false if it runs already.';

CREATE FUNCTION belay.stop_worker() RETURNS boolean
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_stop_worker';
COMMENT ON FUNCTION belay.stop_worker() IS
    'Ends the background worker of this database where the library is not preloaded; false if none is running.';

CREATE FUNCTION belay.worker_rows()
    RETURNS TABLE (database oid, pid integer, state text, started_at timestamptz,
                   last_loop_at timestamptz, duty text, last_run timestamptz, runs bigint,
                   rows bigint, errors bigint, last_error text, last_error_hub text,
                   last_error_at timestamptz, timeouts bigint)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_worker_rows';
COMMENT ON FUNCTION belay.worker_rows() IS 'Behind view belay.workers.';

CREATE VIEW belay.workers AS
    SELECT d.datname AS database,
           w.pid,
           w.state,
           w.started_at,
           w.last_loop_at,
           w.duty,
           w.last_run,
           w.runs,
           w.rows,
           w.errors,
           w.last_error,
           w.last_error_hub,
           w.last_error_at,
           w.timeouts
      FROM belay.worker_rows() AS w
      LEFT JOIN pg_catalog.pg_database AS d ON d.oid = w.database;
COMMENT ON VIEW belay.workers IS
    'The background workers of all databases, with a row per duty that has run.';
COMMENT ON COLUMN belay.workers.database IS 'Its database.';
COMMENT ON COLUMN belay.workers.pid IS 'Its process; null while the database waits for one.';
COMMENT ON COLUMN belay.workers.state IS 'starting, idle, working, or resting while belay.reconcile_interval is 0; waiting: belay.max_workers are busy with other databases; stuck: a portion is over its limit, its process does not end, and another one has its place.';
COMMENT ON COLUMN belay.workers.started_at IS 'When it started.';
COMMENT ON COLUMN belay.workers.last_loop_at IS 'When it last looked for something to do.';
COMMENT ON COLUMN belay.workers.duty IS 'A duty that has run; null in the only row of a worker that has run none yet.';
COMMENT ON COLUMN belay.workers.last_run IS 'When it last ran.';
COMMENT ON COLUMN belay.workers.runs IS 'How often.';
COMMENT ON COLUMN belay.workers.rows IS 'Rows that it changed, in all hubs of the database.';
COMMENT ON COLUMN belay.workers.errors IS 'Runs that failed.';
COMMENT ON COLUMN belay.workers.last_error IS 'The message, cut to 191 bytes.';
COMMENT ON COLUMN belay.workers.last_error_hub IS 'In which hub.';
COMMENT ON COLUMN belay.workers.last_error_at IS 'When.';
COMMENT ON COLUMN belay.workers.timeouts IS 'Runs that took longer than belay.duty_timeout.';
GRANT SELECT ON belay.workers TO pg_monitor;

CREATE FUNCTION belay.quarantined_hubs()
    RETURNS TABLE (hub name, duty text, times integer, since timestamptz, until timestamptz,
                   stuck_pid integer)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_quarantined_hubs';
COMMENT ON FUNCTION belay.quarantined_hubs() IS 'Behind view belay.pg_stat_belay_quarantine.';

CREATE VIEW belay.pg_stat_belay_quarantine AS
    SELECT q.hub, q.duty, q.times, q.since, q.until, q.stuck_pid
      FROM belay.quarantined_hubs() AS q;
COMMENT ON VIEW belay.pg_stat_belay_quarantine IS
    'The hubs of this database that the background worker leaves alone, because a portion took longer than belay.duty_timeout.';
COMMENT ON COLUMN belay.pg_stat_belay_quarantine.hub IS 'The hub.';
COMMENT ON COLUMN belay.pg_stat_belay_quarantine.duty IS 'What took so long.';
COMMENT ON COLUMN belay.pg_stat_belay_quarantine.times IS 'How often in a row; each time the pause doubles, up to an hour.';
COMMENT ON COLUMN belay.pg_stat_belay_quarantine.since IS 'When the pause began.';
COMMENT ON COLUMN belay.pg_stat_belay_quarantine.until IS 'When it ends.';
COMMENT ON COLUMN belay.pg_stat_belay_quarantine.stuck_pid IS 'Process that does not end, if there is one; the hub stays paused until it has ended.';
GRANT SELECT ON belay.pg_stat_belay_quarantine TO pg_monitor;

CREATE VIEW belay.pg_stat_belay_duty AS
    SELECT w.duty, w.last_run, w.runs, w.rows, w.errors, w.last_error, w.last_error_hub,
           w.last_error_at, w.timeouts,
           (SELECT pg_catalog.count(*) FROM belay.quarantined_hubs() AS q WHERE q.duty = w.duty)
               AS quarantined
      FROM belay.workers AS w
     WHERE w.database = pg_catalog.current_database() AND w.duty IS NOT NULL;
COMMENT ON VIEW belay.pg_stat_belay_duty IS
    'What the background worker of this database did for each duty since it started.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.duty IS 'A duty that has run.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.last_run IS 'When it last ran.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.runs IS 'How often.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.rows IS 'Rows that it changed, in all hubs of the database.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.errors IS 'Runs that failed.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.last_error IS 'The message, cut to 191 bytes.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.last_error_hub IS 'In which hub.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.last_error_at IS 'When.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.timeouts IS 'Runs that took longer than belay.duty_timeout.';
COMMENT ON COLUMN belay.pg_stat_belay_duty.quarantined IS 'Hubs that are paused because of it.';
GRANT SELECT ON belay.pg_stat_belay_duty TO pg_monitor;

-- ---------------------------------------------------------------- faults, for tests

CREATE FUNCTION belay.inject_fault(p_point text, p_count integer, p_skip integer DEFAULT 0)
    RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_inject_fault';
-- Callers need no other right: each function checks what it does.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA belay TO PUBLIC;
REVOKE ALL ON FUNCTION belay.inject_fault(text, integer, integer), belay.start_worker(),
    belay.stop_worker(), belay.worker_rows(), belay.quarantined_hubs(), belay.stat_reset(),
    belay.set_hub_place(name, text, integer), belay.remove_hub_place(name)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION belay.worker_rows(), belay.quarantined_hubs() TO pg_monitor;
COMMENT ON FUNCTION belay.inject_fault(text, integer, integer) IS
    'Makes the next passes of a fault point fail, after p_skip that do not. Superusers only; for tests.';

CREATE FUNCTION belay.faults() RETURNS TABLE (point text, count integer)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'belay_faults';
COMMENT ON FUNCTION belay.faults() IS 'The fault points, and how many of their next passes fail.';
