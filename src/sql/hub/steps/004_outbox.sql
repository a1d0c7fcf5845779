-- The outbox: events that tell the outside what happened, and who has read how far.

CREATE SEQUENCE IF NOT EXISTS @hub@.outbox_events_position AS bigint CACHE 1;
COMMENT ON SEQUENCE @hub@.outbox_events_position IS 'Positions of events, drawn in the order in which they were written.';

CREATE TABLE IF NOT EXISTS @hub@.outbox_events (
    incarnation    integer NOT NULL,
    position       bigint  NOT NULL,
    xid            xid8    NOT NULL,
    topic          text    NOT NULL,
    type           text    NOT NULL,
    subject        text,
    details        jsonb   NOT NULL,
    occurred_at_ms bigint  NOT NULL,
    CONSTRAINT outbox_events_pkey PRIMARY KEY (incarnation, position)
) WITH (vacuum_truncate = off);
COMMENT ON TABLE @hub@.outbox_events IS 'Events, each written in the transaction of the change that it tells of.';

-- A row has been seen up to seen_position, and in the order of xids up to (seen_xid,
-- seen_xid_position): which of the two moves depends on how the reader can tell what is complete.
-- When no transaction older than final_xid runs any more, the positions up to final_position are complete.
CREATE TABLE IF NOT EXISTS @hub@.outbox_subscriptions (
    name              text COLLATE "C" NOT NULL,
    topics            text[],
    seen_incarnation  integer     NOT NULL,
    seen_position     bigint      NOT NULL,
    seen_xid          xid8        NOT NULL,
    seen_xid_position bigint      NOT NULL,
    final_xid         xid8        NOT NULL,
    final_position    bigint      NOT NULL,
    lease             bigint      NOT NULL,
    lease_until       bigint      NOT NULL,
    lease_inc         integer     NOT NULL,
    last_incarnation  integer     NOT NULL,
    last_position     bigint      NOT NULL,
    created_at        timestamptz NOT NULL,
    CONSTRAINT outbox_subscriptions_pkey PRIMARY KEY (name)
) WITH (fillfactor = 30, vacuum_truncate = off);
COMMENT ON TABLE @hub@.outbox_subscriptions IS 'Readers of the outbox: how far each has come, and the lease on the batch that is being read.';
