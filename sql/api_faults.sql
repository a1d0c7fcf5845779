-- serial: with preloading, an injected fault strikes whichever session passes first.
-- ER-4, for what a hub of api duroxide-pg has in a form of its own: each function that writes is run with its first store call failing, then with its second, and so on,
-- until it succeeds: no failure leaves anything behind.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('api_faults', 'duroxide-pg');
SELECT belay.set_hub_option('api_faults', 'max_clock_skew', '0');  -- these tests choose the time

SELECT api_faults.start_orchestration('O', '', 'turn', '1', 0, 1000), api_faults.enqueue_worker_work('{"ActivityExecute":{}}', 1000);
SELECT out_lock_token AS turn FROM api_faults.fetch_orchestration_item(1000, 1000) \gset
SELECT out_lock_token AS work FROM api_faults.fetch_work_item(1000, 1000) \gset
SELECT api_faults.start_orchestration('O', '', 'ready', '1', 0, 1000);

SELECT * FROM test.fail_each('api_faults', 'SELECT api_faults.fetch_orchestration_item(1000, 1000)');
SELECT * FROM test.fail_each('api_faults', format('SELECT api_faults.renew_orchestration_item_lock(%L, 1000, 5)', :'turn'));
SELECT * FROM test.fail_each('api_faults', format('SELECT api_faults.renew_work_item_lock(%L, 1000, 5)', :'work'));
SELECT * FROM test.fail_each('api_faults', 'SELECT api_faults.cleanup_schema()');
SELECT point, count FROM belay.faults() WHERE count <> 0;
-- The hub is whole after all of that.
SELECT * FROM belay.check_hub('api_faults');
SELECT api_faults.renew_orchestration_item_lock(:'turn', 1000, 5), api_faults.renew_work_item_lock(:'work', 1000, 5);

SELECT belay.drop_hub('api_faults', true);
