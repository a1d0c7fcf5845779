-- serial: counts the updates of a table.
-- IX-1: fetch, renewal and abandon without delay of a turn are HOT updates, as they are for activities (wq_hot).
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_hot');
SELECT belay.set_hub_option('orch_hot', 'max_clock_skew', '0');
CREATE VIEW test.orch_hot AS
    SELECT relname, n_tup_ins AS inserted, n_tup_upd AS updated, n_tup_upd - n_tup_hot_upd AS not_hot, n_tup_del AS deleted
      FROM pg_stat_user_tables WHERE relid IN ('orch_hot.orchestrator_queue'::regclass, 'orch_hot.instance_locks'::regclass) ORDER BY relname COLLATE "C";

-- Three messages of one instance. (All versions fit on one page, so nothing depends on whether old ones could be removed meanwhile.)
SELECT orch_hot.start_orchestration('O', '', 'i', '1', 0, 1000), orch_hot.raise_event('i', 'a', '', false, 1000), orch_hot.raise_event('i', 'b', '', false, 1000);
-- The first fetch makes the lock row. Renewal, abandon, fetch, abandon, fetch, takeover: 6 updates of it, and for each fetch and abandon
-- one of every message.
SELECT lock_token AS token FROM orch_hot.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT orch_hot.renew_orchestration_item_lock(:'token', 2000, p_now_ms => 1000);
SELECT orch_hot.abandon_orchestration_item(:'token', p_now_ms => 1000);
SELECT lock_token AS token FROM orch_hot.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT orch_hot.abandon_orchestration_item(:'token', NULL, true, p_now_ms => 1000);
SELECT count(*) FROM orch_hot.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT lock_token AS token FROM orch_hot.fetch_orchestration_item(1000, p_now_ms => 2000) \gset
SELECT pg_stat_force_next_flush();
SELECT * FROM test.orch_hot;

DROP VIEW test.orch_hot;
SELECT belay.drop_hub('orch_hot', true);
