-- What duties and bulk calls take in one portion, and what they get round to: OR-4, DE-18, PR-9.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('mgmt_portions');
SELECT belay.set_hub_option('mgmt_portions', 'max_clock_skew', '0');  -- these tests choose the time

---- orphan_messages: OR-4 also where no fetch has set them aside

SELECT mgmt_portions.cancel_instance('nobody', '', 1000);
SELECT mgmt_portions.cancel_instance('young', '', 86400000);
SELECT mgmt_portions.start_orchestration('O', '', 'waiting', p_now_ms => 1000);
SELECT mgmt_portions.cancel_instance('waiting', '', 1000);
SELECT reason, until_at FROM mgmt_portions.explain_fetch('nobody', p_now_ms => 2000);
-- The retention is a day. One that has a start is none, however old.
SELECT n, rows FROM unnest('{86400999,86401001}'::bigint[]) AS n, mgmt_portions.reconcile('{orphan_messages}', p_now_ms => n);
SELECT queue, instance_id, reason FROM mgmt_portions.list_dead_letters();
SELECT instance_id FROM mgmt_portions.messages ORDER BY id;

-- Many that wait for a hidden start do not keep others from being moved.
SELECT count(mgmt_portions.raise_event('many', 'go', p_now_ms => 1000)) FROM generate_series(1, 150);
SELECT instance_id FROM mgmt_portions.fetch_orchestration_item(1000000000, p_now_ms => 1000);
SELECT count(*) FROM mgmt_portions.fetch_orchestration_item(1000, p_now_ms => 1000);
SELECT mgmt_portions.start_orchestration('O', '', 'many', p_delay_ms => 1000000000, p_now_ms => 1000);
SELECT mgmt_portions.raise_event('few', 'go', p_now_ms => 2000);
SELECT count(*) FROM mgmt_portions.fetch_orchestration_item(1000, p_now_ms => 2000);
SELECT rows FROM mgmt_portions.reconcile('{orphan_messages}', p_now_ms => 86403000);
SELECT instance_id FROM mgmt_portions.list_dead_letters(p_reason => 'orphan');

---- instance_retention: at most 100 roots in a transaction (DE-18)

SELECT belay.set_hub_option('mgmt_portions', 'instance_retention', '1 s');
INSERT INTO mgmt_portions.instances SELECT 'r' || n, 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch' FROM generate_series(1, 250) AS n;
INSERT INTO mgmt_portions.executions (instance_id, execution_id, status, started_at, completed_at) SELECT 'r' || n, 1, 'Completed', 'epoch', to_timestamp(n) FROM generate_series(1, 250) AS n;
SELECT rows FROM mgmt_portions.reconcile('{instance_retention}', p_now_ms => 1000000);
-- The oldest went first.
SELECT count(*), min(completed_at) FROM mgmt_portions.executions;
SELECT rows FROM mgmt_portions.reconcile('{instance_retention}', p_now_ms => 1000000);
SELECT rows FROM mgmt_portions.reconcile('{instance_retention}', p_now_ms => 1000000);
SELECT rows FROM mgmt_portions.reconcile('{instance_retention}', p_now_ms => 1000000);

---- prune_executions_bulk: instances with something to prune come first, so that repeated calls get through (PR-9)

INSERT INTO mgmt_portions.instances SELECT i, 'O', '1', 3, NULL, NULL, 0, 'epoch', 'epoch' FROM unnest('{a,b,z}'::text[]) AS i;
INSERT INTO mgmt_portions.executions (instance_id, execution_id, status, started_at, completed_at)
    SELECT i, e, CASE WHEN e = 3 THEN 'Running' ELSE 'ContinuedAsNew' END, 'epoch', CASE WHEN e < 3 THEN to_timestamp(e) END
      FROM (VALUES ('a', 2), ('a', 3), ('b', 2), ('b', 3), ('z', 1), ('z', 2), ('z', 3)) AS x(i, e);
SELECT * FROM mgmt_portions.prune_executions_bulk('{"limit": 2}', '{"keep_last": 2}');
SELECT instance_id, execution_id FROM mgmt_portions.executions ORDER BY 1, 2;
SELECT * FROM mgmt_portions.prune_executions_bulk('{"limit": 2, "instance_ids": ["a", "b", "z"]}', '{"completed_before": 2000}');
SELECT * FROM mgmt_portions.prune_executions_bulk('{"limit": 1}');
SELECT * FROM mgmt_portions.prune_executions_bulk('{"limit": 1}');
SELECT * FROM mgmt_portions.prune_executions_bulk('{"limit": 1}');
SELECT instance_id, execution_id FROM mgmt_portions.executions ORDER BY 1, 2;

SELECT belay.drop_hub('mgmt_portions', true);
