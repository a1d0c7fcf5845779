-- The clock: the caller's time and the server's.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_clock');

-- Now, so many seconds from now, in milliseconds.
CREATE FUNCTION pg_temp.ms(seconds numeric DEFAULT 0) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT ((extract(epoch FROM clock_timestamp()) + seconds) * 1000)::bigint
$$;

-- CL-7: by default a caller's clock may differ by 60 s from the server's, on either side.
SELECT seconds, test.sqlstate(format('SELECT wq_clock.fetch_work_item(1000, p_now_ms => %s)', pg_temp.ms(seconds))) FROM unnest('{0,50,-50,70,-70,100000000,-1000000000}'::numeric[]) AS seconds;
SELECT regexp_replace(test.error('SELECT wq_clock.fetch_work_item(1000, p_now_ms => 1000)'), '"server_ms":\d+', '"server_ms":...');
-- Every function that takes a time, before it does anything: the token is not even looked at.
SELECT call, test.sqlstate(call)
  FROM unnest(ARRAY['SELECT wq_clock.enqueue_worker_work(''{"ActivityExecute":{}}'', p_now_ms => 1000)', 'SELECT wq_clock.enqueue_worker_items(''[{"work_item":{"ActivityExecute":{}}}]'', 1000)',
                    'SELECT wq_clock.fetch_work_item(1000, p_now_ms => 1000)', 'SELECT wq_clock.fetch_work_items(1000, p_now_ms => 1000)',
                    'SELECT wq_clock.ack_worker(''x'', NULL, NULL, 1000)', 'SELECT wq_clock.ack_workers(''[{"lock_token":"x"}]'', 1000)',
                    'SELECT wq_clock.ack_and_fetch_work_item(''x'', NULL, NULL, 1000, p_now_ms => 1000)', 'SELECT wq_clock.renew_work_item_lock(''x'', 1000, p_now_ms => 1000)',
                    'SELECT wq_clock.renew_work_item_locks(''{x}'', 1000, p_now_ms => 1000)', 'SELECT wq_clock.abandon_work_item(''x'', p_now_ms => 1000)',
                    'SELECT wq_clock.renew_session_lock(''{x}'', 1000, 1000, p_now_ms => 1000)', 'SELECT wq_clock.cleanup_orphaned_sessions(1000)',
                    'SELECT wq_clock.list_work_items(p_now_ms => 1000)']) AS call;
SELECT count(*) AS written FROM wq_clock.work_items;
-- Otherwise a worker could take every lease by passing a late time.
SELECT wq_clock.enqueue_worker_work('{"ActivityExecute":{}}');
SELECT count(*) FROM wq_clock.fetch_work_item(600000);
SELECT test.sqlstate(format('SELECT wq_clock.fetch_work_item(1000, p_now_ms => %s)', pg_temp.ms(700)));
-- The option sets the distance; 0 switches the check off.
SELECT belay.set_hub_option('wq_clock', 'max_clock_skew', '1 hour');
SELECT seconds, test.sqlstate(format('SELECT wq_clock.list_work_items(p_now_ms => %s)', pg_temp.ms(seconds))) FROM unnest('{3500,-3500,3700,-3700}'::numeric[]) AS seconds;
SELECT belay.set_hub_option('wq_clock', 'max_clock_skew', '0');
SELECT test.sqlstate('SELECT wq_clock.list_work_items(p_now_ms => 0)'), test.sqlstate('SELECT wq_clock.list_work_items(p_now_ms => 9224318015999999)'),
       test.sqlstate('SELECT wq_clock.list_work_items(p_now_ms => -1)');
TRUNCATE wq_clock.worker_queue;

-- CL-2: the caller's time is honoured for visibility, for what is stored, and for lease checks.
SELECT wq_clock.enqueue_worker_work('{"ActivityExecute":{"session_id":"s"}}', p_now_ms => 5000);
SELECT lock_token AS token FROM wq_clock.fetch_work_item(1000, 'o', 2000, p_now_ms => 5001) \gset
SELECT (extract(epoch FROM created_at) * 1000)::bigint AS created_ms, (extract(epoch FROM visible_at) * 1000)::bigint AS visible_ms, locked_until FROM wq_clock.work_items;
SELECT session_id, worker_id, locked_until, last_activity_at FROM wq_clock.sessions;
SELECT wq_clock.renew_work_item_lock(:'token', 1000, p_now_ms => 5002);
SELECT locked_until FROM wq_clock.work_items;
SELECT test.sqlstate(format('SELECT wq_clock.renew_work_item_lock(%L, 1000, p_now_ms => 6002)', :'token'));
-- A clock that goes back does not spoil a lease.
SELECT wq_clock.renew_work_item_lock(:'token', 1000, p_now_ms => 4000);
SELECT locked_until FROM wq_clock.work_items;
TRUNCATE wq_clock.worker_queue, wq_clock.sessions;

-- CL-3: NULL is the server's clock, in every function.
SELECT wq_clock.enqueue_worker_work('{"ActivityExecute":{"session_id":"s","name":"a"}}');
SELECT wq_clock.enqueue_worker_items('[{"work_item":{"ActivityExecute":{"name":"b"}}}, {"work_item":{"ActivityExecute":{"name":"c"}}, "delay_ms":60000}]', NULL);
SELECT work_item, lock_token AS token FROM wq_clock.fetch_work_item(60000, 'o') \gset
SELECT count(*) FROM wq_clock.fetch_work_items(60000, 'o', p_max_items => 10);
SELECT count(*) AS rows, bool_and(locked_until BETWEEN pg_temp.ms() AND pg_temp.ms(60)) AS deadlines FROM wq_clock.work_items WHERE lock_token IS NOT NULL;
SELECT state, count(*) FROM wq_clock.list_work_items() GROUP BY state ORDER BY state COLLATE "C";
SELECT wq_clock.renew_work_item_lock(:'token', 120000);
SELECT renewed, locked_until BETWEEN pg_temp.ms(60) AND pg_temp.ms(120) AS deadline FROM wq_clock.renew_work_item_locks(ARRAY[:'token'], 120000);
SELECT wq_clock.renew_session_lock('{o}', 120000, 60000), wq_clock.cleanup_orphaned_sessions(NULL);
SELECT locked_until BETWEEN pg_temp.ms(60) AND pg_temp.ms(120) AS deadline, last_activity_at BETWEEN pg_temp.ms(-60) AND pg_temp.ms() AS activity FROM wq_clock.sessions;
SELECT wq_clock.abandon_work_item(:'token', 60000);
SELECT visible_at BETWEEN clock_timestamp() AND clock_timestamp() + interval '60 s' AS visible FROM wq_clock.work_items WHERE session_id = 's';
SELECT lock_token AS token FROM wq_clock.work_items WHERE lock_token IS NOT NULL \gset
SELECT wq_clock.ack_worker(:'token', NULL, '{"ActivityCompleted":{"instance":"i"}}', NULL);
SELECT visible_at BETWEEN clock_timestamp() - interval '60 s' AND clock_timestamp() AS visible, date_trunc('milliseconds', visible_at) = visible_at AS whole FROM wq_clock.orchestrator_queue;
-- It is never the transaction's start: what was added a moment ago, in this transaction, is visible; and its times are later.
BEGIN;
SELECT pg_sleep(0.02);
SELECT wq_clock.enqueue_worker_work('{"ActivityExecute":{"name":"late"}}');
SELECT work_item FROM wq_clock.fetch_work_item(1);
SELECT created_at > now() AS later_than_the_transaction, locked_until > extract(epoch FROM now()) * 1000 + 1 AS deadline_too FROM wq_clock.work_items WHERE work_item ~ 'late';
-- CL-8: this lease of 1 ms is really over after 2 ms.
SELECT pg_sleep(0.002);
SELECT work_item, attempt_count FROM wq_clock.fetch_work_item(1);
COMMIT;

SELECT belay.drop_hub('wq_clock', true);
