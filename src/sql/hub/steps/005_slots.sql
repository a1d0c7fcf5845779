-- Slot leases: which dispatcher serves which slots of a queue. The deadline stands with the owner, so
-- a renewal changes one row, however many slots it has. A slot without a row is free.

CREATE TABLE IF NOT EXISTS @hub@.slot_owners (
    queue        text COLLATE "C" NOT NULL,
    owner        text COLLATE "C" NOT NULL,
    locked_until bigint  NOT NULL,
    lease_inc    integer NOT NULL,
    CONSTRAINT slot_owners_pkey PRIMARY KEY (queue, owner)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.slot_owners IS 'Who has a share of the slots of a queue, and until when.';
COMMENT ON COLUMN @hub@.slot_owners.locked_until IS 'Deadline of the lease in ms.';
COMMENT ON COLUMN @hub@.slot_owners.lease_inc IS 'Incarnation of the hub in which the lease was granted.';

CREATE TABLE IF NOT EXISTS @hub@.slot_shares (
    queue text COLLATE "C" NOT NULL,
    slot  smallint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    CONSTRAINT slot_shares_pkey PRIMARY KEY (queue, slot)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.slot_shares IS 'Which owner has a slot. Read view slot_leases instead.';
