-- serial: with preloading, an injected fault strikes whichever session passes first.
-- ER-4 for tasks: each function that writes is run with its first store call failing, then with its second, and so on, until it succeeds: no failure leaves
-- anything behind, and after each of them the next call works.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_faults');
SELECT belay.set_hub_option('task_faults', 'max_clock_skew', '0'), belay.set_hub_option('task_faults', 'events', 'lease,operator,completion'), belay.set_hub_option('task_faults', 'task_retention', '1000');
-- 8 suspended, 9 leased, a leased in a limited queue. 1 and 2 leased until 2000, 1 with a key; 3 ready; 4 due; 5 completed; 6 past its deadline; 7 needs gpu.
SELECT count(*) FROM task_faults.create_tasks('[{"queue":"a","task_id":"00000000-0000-4000-8000-000000000001","dedup_key":"k1","priority":9,"policy":{"on_lease_expiry":"retry"}},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000002","priority":8},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000003"},
  {"queue":"a","task_id":"00000000-0000-4000-8000-000000000004","delay_ms":100},{"queue":"b","task_id":"00000000-0000-4000-8000-000000000005","dedup_key":"k5","dedup_window_ms":10},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000006","deadline_ms":1050},{"queue":"a","task_id":"00000000-0000-4000-8000-000000000007","capabilities":["gpu"]}]', 1000);
SELECT lease_epoch FROM task_faults.claim_tasks('w', 'i', '{b}', p_now_ms => 1000);
SELECT result FROM task_faults.complete_task('00000000-0000-4000-8000-000000000005', 1, p_now_ms => 1000);
SELECT count(*) FROM task_faults.claim_tasks('w', 'i', '{a}', p_max_items => 2, p_lease_ms => 1000, p_now_ms => 1000);
SELECT count(*) FROM task_faults.create_tasks('[{"queue":"c","task_id":"00000000-0000-4000-8000-000000000008"},{"queue":"c","task_id":"00000000-0000-4000-8000-000000000009"}]', 1000);
SELECT count(*) FROM task_faults.claim_tasks('w', 'i', '{c}', p_max_items => 2, p_lease_ms => 100000, p_now_ms => 1000);
SELECT waitpoint_id AS pending FROM task_faults.create_waitpoint('00000000-0000-4000-8000-000000000009', 1, 'p', NULL, 1000) \gset
SELECT w ->> 'waitpoint_id' AS waitpoint, w ->> 'token' AS token FROM task_faults.suspend_task('00000000-0000-4000-8000-000000000008', 1, '{"waitpoints":[{"key":"k"}],"condition":{"single":{"key":"k"}},"timeout_at_ms":5000,"on_timeout":"auto_resume"}', 1000), jsonb_array_elements(waitpoints) AS w \gset
SELECT task_faults.set_queue('lim', '{"concurrency":1}');
SELECT count(*) FROM task_faults.create_tasks('[{"queue":"lim","task_id":"00000000-0000-4000-8000-00000000000a"},{"queue":"lim","task_id":"00000000-0000-4000-8000-00000000000b"}]', 1000);
SELECT count(*) FROM task_faults.claim_tasks('w', 'i', '{lim}', p_max_items => 2, p_lease_ms => 100000, p_now_ms => 1000);
SELECT task_faults.create_schedule(n, '* * * * *', '{"queue":"x","capabilities":["c"]}', p_now_ms => 1000) FROM unnest('{s,r}'::text[]) AS n;
SELECT task_faults.pause_schedule('r');
CREATE TEMP TABLE calls (nr serial, call text);
INSERT INTO calls (call) VALUES
    ('create_task(''new'', ''{}'', p_capabilities => ''{a,b}'', p_dedup_key => ''k'', p_now_ms => 1200)'), ('create_task(''b'', p_dedup_key => ''k5'', p_now_ms => 1200)'),
    ('create_tasks(''[{"queue":"x","capabilities":["c"]},{"queue":"y","dedup_key":"k"},{"queue":"a","delay_ms":5}]'', 1200)'), ('delete_task(''<5>'')'),
    ('claim_tasks(''w'', ''i'', ''{a}'', p_now_ms => 1200)'), ('claim_tasks(''w'', ''i'', NULL, ''{gpu}'', p_max_items => 10, p_now_ms => 1200)'),
    ('renew_task(''<1>'', 1, 5000, 1200)'), ('renew_tasks(''{<2>,<1>,<5>}'', ''{1,1,1}'', 5000, 1200)'), ('progress_task(''<1>'', 1, 5, ''m'', ''{}'', 5000, 1200)'),
    ('complete_task(''<1>'', 1, ''{}'', p_now_ms => 1200)'), ('complete_and_claim(''<1>'', 1, ''{}'', ''w'', ''i'', p_now_ms => 1200)'),
    ('settle_and_claim_tasks(''{<9>,<2>,<1>,<a>,<5>}'', ''{1,1,1,1,1}'', ''{suspend,fail,complete,release,complete}'', p_results => ARRAY[NULL, NULL, ''{}'', NULL, NULL]::jsonb[], p_classes => ''{NULL,transient,NULL,NULL,NULL}'', p_suspensions => ARRAY[''{"waitpoints":[{"key":"p"}],"condition":"operator_only"}'', NULL, NULL, NULL, NULL]::jsonb[], p_worker => ''w'', p_worker_instance => ''i'', p_max_items => 5, p_now_ms => 1200)'),
    ('fail_task(''<1>'', 1, ''transient'', p_now_ms => 1200)'), ('fail_task(''<1>'', 1, ''permanent'', p_now_ms => 1200)'), ('fail_task(''<1>'', 1, ''cancelled'', p_now_ms => 1200)'),
    ('delay_task(''<1>'', 1, 10, p_now_ms => 1200)'), ('release_task(''<1>'', 1, p_now_ms => 1200)'),
    ('cancel_task(''<1>'', p_now_ms => 1200)'), ('cancel_task(''<3>'', p_now_ms => 1200)'), ('revoke_lease(''<1>'', p_now_ms => 1200)'), ('change_priority(''<3>'', 5, 1200)'), ('replay_task(''<5>'', p_now_ms => 1200)'), ('cancel_tasks(''{}'', p_now_ms => 1200)'), ('replay_tasks(''{}'', p_now_ms => 1200)'),
    ('set_queue(''a'', ''{"paused":true}'')'), ('set_queue(''fresh'', ''{"retention_ms":5}'')'), ('pause_queue(''a'')'), ('resume_queue(''fresh'')'),
    ('reconcile(''{lease_expiry}'', p_now_ms => 9000)'), ('reconcile(''{deadlines}'', p_now_ms => 9000)'), ('reconcile(''{due_timers}'', p_now_ms => 9000)'), ('reconcile(''{retention}'', p_now_ms => 9000)');
INSERT INTO calls (call) VALUES
    (format('suspend_task(''<9>'', 1, ''{"waitpoints":[{"key":"p","waitpoint_id":"%s"},{"key":"q"}],"condition":"operator_only"}'', 1200)', :'pending')), ('create_waitpoint(''<9>'', 1, ''k'', 10, 1200)'), ('resume_task(''<8>'', p_now_ms => 1200)'), ('cancel_task(''<8>'', p_now_ms => 1200)'),
    (format('deliver_signal(''<8>'', %L, %L, ''{"name":"x"}'', 1200)', :'waitpoint', :'token')), (format('approve_task(''<8>'', %L, ''x'', NULL, 1200)', :'waitpoint')),
    ('set_queue(''a'', ''{"concurrency":2,"rate_per_s":5}'')'), ('set_queue(''lim'', ''{"concurrency":null}'')'), ('set_queue(''lim'', ''{"concurrency":5}'')'), ('complete_and_claim(''<a>'', 1, NULL, ''w'', ''i'', ''{lim}'', p_now_ms => 1200)'), ('release_task(''<a>'', 1, p_now_ms => 1200)'),
    ('create_schedule(''t'', ''* * * * *'', ''{"queue":"x"}'', p_now_ms => 1200)'), ('drop_schedule(''s'')'), ('pause_schedule(''s'')'), ('resume_schedule(''r'', 1200)'), ('reconcile(''{schedules}'', p_now_ms => 60000)'),
    ('seed_waitpoint_key(''s'', sha256(''s''))'), ('rotate_waitpoint_key(''s'', sha256(''s''), 0)');
UPDATE calls SET call = regexp_replace(call, '<(\w)>', '00000000-0000-4000-8000-00000000000\1', 'g');
SELECT c.call, f.* FROM calls AS c, test.fail_each('task_faults', 'SELECT * FROM task_faults.' || c.call) AS f WHERE NOT f.fails OR f.left_traces <> 0 OR f.swallowed <> 0 OR NOT f.then_works OR f.other_errors IS NOT NULL ORDER BY c.nr;
SELECT count(*) FROM calls;
-- All of them, that is: every function of the hub that may write and speaks of tasks or queues.
SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'task_faults'::regnamespace AND p.prokind = 'f' AND p.provolatile = 'v' AND p.proname ~ 'task|_queue$|revoke_lease|priority|claim|signal|waitpoint|schedule' AND p.proname <> ALL ('{guard_task,add_task_to_flow}') AND NOT EXISTS (SELECT FROM calls WHERE split_part(call, '(', 1) = p.proname::text);
SELECT * FROM task_faults.check_tasks();
SELECT belay.drop_hub('task_faults', true);
