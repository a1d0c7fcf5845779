-- A task that falls due within the transaction that created it is claimed by it, also preloaded, where
-- shared memory knows when the next task falls due.
SELECT belay.create_hub('task_own_due');
SELECT belay.set_hub_option('task_own_due', 'max_clock_skew', '0');  -- this test chooses the time
-- A claim that finds nothing lets shared memory know that nothing is due.
SELECT count(*) FROM task_own_due.claim_tasks('w', 'w-1', p_now_ms => 1000);
BEGIN;
SELECT count(*) FROM task_own_due.create_task('mail', p_delay_ms => 500, p_now_ms => 1000);
SELECT count(*) FROM task_own_due.claim_tasks('w', 'w-1', p_now_ms => 1000);
SELECT count(*) FROM task_own_due.claim_tasks('w', 'w-1', p_now_ms => 1500);
COMMIT;
SELECT belay.drop_hub('task_own_due');
