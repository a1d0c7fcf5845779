-- Slot leases.

CREATE OR REPLACE FUNCTION @hub@.acquire_slots(
    p_owner text,
    p_queue text,
    p_slots integer DEFAULT NULL,
    p_lease_ms bigint DEFAULT 30000,
    p_now_ms bigint DEFAULT NULL
) RETURNS integer[] LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'acquire_slots';
COMMENT ON FUNCTION @hub@.acquire_slots(text, text, integer, bigint, bigint) IS
    'Takes or renews the caller''s share of the slots of a queue (orchestrator, worker): an even one, and as far as possible the same as before.';

CREATE OR REPLACE FUNCTION @hub@.release_slots(p_owner text, p_queue text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'release_slots';
COMMENT ON FUNCTION @hub@.release_slots(text, text) IS
    'Gives the slots of an owner back at once; the others get them at their next acquire_slots.';

CREATE OR REPLACE VIEW @hub@.slot_leases AS
    SELECT s.queue, s.slot, s.owner, o.locked_until
      FROM @hub@.slot_shares AS s
      JOIN @hub@.slot_owners AS o
        ON o.queue OPERATOR(pg_catalog.=) s.queue AND o.owner OPERATOR(pg_catalog.=) s.owner;
COMMENT ON VIEW @hub@.slot_leases IS 'Which owner has which slot of a queue, and until when. Leases that are over stay until somebody else takes the slot.';
COMMENT ON COLUMN @hub@.slot_leases.queue IS 'orchestrator or worker.';
COMMENT ON COLUMN @hub@.slot_leases.slot IS 'Number of the slot.';
COMMENT ON COLUMN @hub@.slot_leases.owner IS 'Who has it.';
COMMENT ON COLUMN @hub@.slot_leases.locked_until IS 'Until when, in ms.';
