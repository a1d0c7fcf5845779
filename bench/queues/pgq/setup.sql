-- PgQ, of the Debian package: events are taken in batches that a ticker closes. It has no leases: a
-- consumer sees every event, and has its batch again until it finishes it. Made anew by each run of
-- this file.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgq;
SELECT pgq.unregister_consumer('bench', 'one') FROM pgq.consumer AS c WHERE c.co_name = 'one';
SELECT pgq.drop_queue(q.queue_name, true) FROM pgq.queue AS q WHERE q.queue_name = 'bench';
SELECT pgq.create_queue('bench');
SELECT pgq.set_queue_config('bench', 'ticker_max_count', '1');
SELECT pgq.set_queue_config('bench', 'ticker_max_lag', '0 seconds');
SELECT pgq.set_queue_config('bench', 'ticker_idle_period', '0 seconds');
SELECT pgq.register_consumer('bench', 'one');

-- For the benchmark.

CREATE OR REPLACE FUNCTION bench.pgq_left() RETURNS bigint LANGUAGE sql AS $$
    SELECT coalesce(sum(i.pending_events), 0)::bigint FROM pgq.get_consumer_info('bench', 'one') AS i
$$;
