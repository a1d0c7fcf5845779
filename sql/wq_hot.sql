-- serial: counts the updates of a table.
-- IX-1: lock, renew and abandon without delay are HOT updates.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_hot');
SELECT belay.set_hub_option('wq_hot', 'max_clock_skew', '0');
CREATE VIEW test.wq_hot AS
    SELECT n_tup_ins AS inserted, n_tup_upd AS updated, n_tup_upd - n_tup_hot_upd AS not_hot, n_tup_del AS deleted
      FROM pg_stat_user_tables WHERE relid = 'wq_hot.worker_queue'::regclass;

-- Rows with everything that an index could hold: instance, session, tag. (All versions fit on one page, so nothing depends on
-- whether old ones could be removed meanwhile.)
SELECT wq_hot.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
           jsonb_build_object('instance', 'i', 'execution_id', 1, 'id', n, 'session_id', 's', 'tag', 't')))) FROM generate_series(1, 3) AS n), 1000);
-- Fetch, renew, abandon; then fetch and renew, three times: 9 updates.
SELECT lock_token AS token FROM wq_hot.fetch_work_item(1000, 'o', NULL, '{t}', 'tags', p_now_ms => 1000) \gset
SELECT wq_hot.renew_work_item_lock(:'token', 2000, p_now_ms => 1000);
SELECT wq_hot.abandon_work_item(:'token', p_ignore_attempt => true, p_now_ms => 1000);
SELECT wq_hot.renew_work_item_lock(lock_token, 2000, p_now_ms => 1000)
  FROM generate_series(1, 3) AS n, LATERAL wq_hot.fetch_work_item(1000 + n, 'o', NULL, '{t}', 'tags', p_now_ms => 1000);
SELECT pg_stat_force_next_flush();
SELECT * FROM test.wq_hot;

-- The batch forms: 6 more. The acks are deletes.
SELECT count(*) FROM wq_hot.fetch_work_items(1000, 'o', NULL, '{t}', 'tags', 6, p_now_ms => 9000);
SELECT count(*) FROM wq_hot.renew_work_item_locks((SELECT array_agg(lock_token) FROM wq_hot.work_items), 1000, p_now_ms => 9000);
SELECT count(*) FROM wq_hot.ack_workers((SELECT jsonb_agg(jsonb_build_object('lock_token', lock_token)) FROM wq_hot.work_items), 9000);
SELECT pg_stat_force_next_flush();
SELECT * FROM test.wq_hot;

-- The sessions' updates are HOT, too.
SELECT pg_stat_force_next_flush();
SELECT n_tup_upd > 0 AS updated, n_tup_upd - n_tup_hot_upd AS not_hot FROM pg_stat_user_tables WHERE relid = 'wq_hot.sessions'::regclass;

DROP VIEW test.wq_hot;
SELECT belay.drop_hub('wq_hot');
