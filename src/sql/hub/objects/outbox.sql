-- Events and their readers.

CREATE OR REPLACE FUNCTION @hub@.create_subscription(p_subscription text, p_topics text[] DEFAULT NULL, p_from text DEFAULT 'now')
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'create_subscription';
COMMENT ON FUNCTION @hub@.create_subscription(text, text[], text) IS
    'Creates a subscription to the events of these topics (NULL: all). It begins now, at the oldest event that is stored, or at a position (upto) of another subscription.';

CREATE OR REPLACE FUNCTION @hub@.drop_subscription(p_subscription text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'drop_subscription';
COMMENT ON FUNCTION @hub@.drop_subscription(text) IS 'Drops a subscription and its position.';

CREATE OR REPLACE FUNCTION @hub@.read_events(
    p_subscription text,
    p_max_items integer DEFAULT 100,
    p_lease_ms bigint DEFAULT 30000,
    p_now_ms bigint DEFAULT NULL
) RETURNS TABLE (
    event_id text,
    topic text,
    type text,
    subject text,
    details jsonb,
    occurred_at_ms bigint,
    upto text
) LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'read_events';
COMMENT ON FUNCTION @hub@.read_events(text, integer, bigint, bigint) IS
    'Leases the next events of a subscription. No row: there are none, or another reader has the lease. A first row of topic outbox and type events_lost reports events that retention deleted before they were read.';

CREATE OR REPLACE FUNCTION @hub@.ack_events(p_subscription text, p_upto text, p_now_ms bigint DEFAULT NULL)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'ack_events';
COMMENT ON FUNCTION @hub@.ack_events(text, text, bigint) IS
    'Marks the leased events up to this one as read. An ack of the last one ends the lease.';

CREATE OR REPLACE VIEW @hub@.subscriptions AS
    SELECT s.name,
           s.topics,
           g.lag_rows,
           g.lag_seconds,
           CASE WHEN s.lease_until OPERATOR(pg_catalog.>) 0
                THEN pg_catalog.to_timestamp(s.lease_until::double precision OPERATOR(pg_catalog./) 1000)
           END AS lease_until,
           belay.event_horizon_pid(s.tableoid) AS horizon_pid,
           s.created_at,
           s.lost_events OPERATOR(pg_catalog.+) l.events AS lost_events
      FROM @hub@.outbox_subscriptions AS s
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) FILTER (WHERE x.wanted) AS lag_rows,
               GREATEST(0, pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                           OPERATOR(pg_catalog.-)
                           (COALESCE(pg_catalog.min(x.occurred_at_ms) FILTER (WHERE x.wanted),
                                     CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.>=) 10000
                                          THEN pg_catalog.max(x.occurred_at_ms) END)::double precision OPERATOR(pg_catalog./) 1000)) AS lag_seconds
          FROM (SELECT e.occurred_at_ms,
                       (e.incarnation OPERATOR(pg_catalog.>) s.seen_incarnation
                        OR ROW(e.xid, e.position) OPERATOR(pg_catalog.>) ROW(s.seen_xid, s.seen_xid_position))
                       AND (s.topics IS NULL OR e.topic OPERATOR(pg_catalog.=) ANY (s.topics)) AS wanted
                  FROM @hub@.outbox_events AS e
                 WHERE ROW(e.incarnation, e.position) OPERATOR(pg_catalog.>) ROW(s.seen_incarnation, s.seen_position)
                 ORDER BY e.incarnation, e.position
                 LIMIT 10000) AS x) AS g
     CROSS JOIN LATERAL (
        SELECT COALESCE(pg_catalog.sum(p.events), 0)::bigint AS events
          FROM @hub@.outbox_gaps AS p
         WHERE p.subscription OPERATOR(pg_catalog.=) s.name) AS l;
COMMENT ON VIEW @hub@.subscriptions IS
    'Subscriptions, with the number and age of the events that each has not read, the lease of its batch, and the process that delays it.';
COMMENT ON COLUMN @hub@.subscriptions.name IS 'Name of the subscription.';
COMMENT ON COLUMN @hub@.subscriptions.topics IS 'Topics of the subscription; null for all.';
COMMENT ON COLUMN @hub@.subscriptions.lag_rows IS 'Number of events that it has not read, of the 10,000 after its position.';
COMMENT ON COLUMN @hub@.subscriptions.lag_seconds IS 'Age of the oldest of these events; if its topics match none of the next 10,000 events, age of the last of those.';
COMMENT ON COLUMN @hub@.subscriptions.lease_until IS 'End of the lease on its batch; null if there is none.';
COMMENT ON COLUMN @hub@.subscriptions.horizon_pid IS 'Process whose open transaction keeps the latest events from being read; null if there is none.';
COMMENT ON COLUMN @hub@.subscriptions.created_at IS 'When the subscription was created.';
COMMENT ON COLUMN @hub@.subscriptions.lost_events IS 'Number of events that retention deleted before the subscription had read them.';
