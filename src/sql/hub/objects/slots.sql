-- Slot leases.

CREATE OR REPLACE FUNCTION @hub@.acquire_slots(
    p_owner_id text,
    p_queue text,
    p_slots integer DEFAULT NULL,
    p_lease_ms bigint DEFAULT 30000,
    p_now_ms bigint DEFAULT NULL
) RETURNS integer[] LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'acquire_slots';
COMMENT ON FUNCTION @hub@.acquire_slots(text, text, integer, bigint, bigint) IS
    'Acquires or renews the caller''s even share of the slots of a queue (orchestrator, worker). A caller keeps its slots where possible.';

CREATE OR REPLACE FUNCTION @hub@.release_slots(p_owner_id text, p_queue text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'release_slots';
COMMENT ON FUNCTION @hub@.release_slots(text, text) IS
    'Releases the slots of an owner at once. Other owners acquire them with their next acquire_slots.';

CREATE OR REPLACE VIEW @hub@.slot_leases AS
    SELECT s.queue, s.slot, s.owner AS owner_id, o.locked_until
      FROM @hub@.slot_shares AS s
      JOIN @hub@.slot_owners AS o
        ON o.queue OPERATOR(pg_catalog.=) s.queue AND o.owner OPERATOR(pg_catalog.=) s.owner;
COMMENT ON VIEW @hub@.slot_leases IS 'Owners of the slots of each queue, with the end of their lease. An expired lease stays until another owner takes the slot.';
COMMENT ON COLUMN @hub@.slot_leases.queue IS 'orchestrator or worker.';
COMMENT ON COLUMN @hub@.slot_leases.slot IS 'Number of the slot.';
COMMENT ON COLUMN @hub@.slot_leases.owner_id IS 'Owner of the slot.';
COMMENT ON COLUMN @hub@.slot_leases.locked_until IS 'End of the lease in ms.';
