-- serial: with preloading, an injected fault strikes whichever session passes first.
-- ER-4 for flows: each function that writes is run with its first store call failing, then with its second, and so on, until it succeeds: no failure leaves
-- anything behind, and after each of them the next call works. Calls on tasks are here again, with members of flows.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('flow_faults');
SELECT belay.set_hub_option('flow_faults', 'max_clock_skew', '0'), belay.set_hub_option('flow_faults', 'events', 'lease,operator,completion'), belay.set_hub_option('flow_faults', 'task_retention', '1000'), belay.set_hub_option('flow_faults', 'fanout_bound', '2');
CREATE FUNCTION pg_temp.id(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '00000000-0000-4000-8000-0000000000' || lpad(n::text, 2, '0') $$;
-- Flow 01: 11 leased, 12 to 14 behind it, 15 of an any_of with 11, 16 a sibling; fails fast. 02 completed. 03 open, with 31 ready and 32 held. 04 cancelled, with a backlog. 05 has something left to dispatch and
-- to cancel. 06 failed, with a skipped 62. 91 stands alone.
SELECT count(*) FROM flow_faults.create_flow(replace('{"flow_id":"<>01","fail_policy":"fail_fast","tasks":[{"key":"a","queue":"a","priority":9,"task_id":"<>11"},{"key":"b","queue":"a","after":["a"],"task_id":"<>12"},{"key":"c","queue":"a","after":["a"],"task_id":"<>13"},{"key":"d","queue":"a","after":["c"],"task_id":"<>14"},{"key":"s","queue":"a","task_id":"<>16"},{"key":"e","queue":"a","after":["a","s"],"join":{"kind":"any_of"},"task_id":"<>15"}]}', '<>', left(pg_temp.id(0), 34))::jsonb, 1000);
SELECT count(*) FROM flow_faults.create_flow(replace('{"flow_id":"<>02","tasks":[]}', '<>', left(pg_temp.id(0), 34))::jsonb, 1000);
SELECT count(*) FROM flow_faults.create_flow(replace('{"flow_id":"<>03","seal":false,"tasks":[{"key":"a","queue":"c","task_id":"<>31"},{"key":"b","queue":"c","hold":true,"task_id":"<>32"}]}', '<>', left(pg_temp.id(0), 34))::jsonb, 1000);
SELECT count(*) FROM flow_faults.create_flow(replace('{"flow_id":"<>04","tasks":[{"key":"a","queue":"d","task_id":"<>41"},{"key":"b","queue":"d","task_id":"<>42"}]}', '<>', left(pg_temp.id(0), 34))::jsonb, 1000);
SELECT count(*) FROM flow_faults.create_flow(replace('{"flow_id":"<>05","tasks":[{"key":"a","queue":"e","priority":9,"task_id":"<>51"},{"key":"b","queue":"e","task_id":"<>52"},{"key":"c","queue":"e","task_id":"<>53"},{"key":"d","queue":"e","task_id":"<>54"},{"key":"j","queue":"e","after":["a","b","c","d"],"join":{"kind":"any_of"},"task_id":"<>55"},{"key":"k","queue":"e","after":["a"],"task_id":"<>56"},{"key":"l","queue":"e","after":["a"],"task_id":"<>57"}]}', '<>', left(pg_temp.id(0), 34))::jsonb, 1000);
SELECT count(*) FROM flow_faults.create_flow(replace('{"flow_id":"<>06","tasks":[{"key":"a","queue":"f","task_id":"<>61"},{"key":"b","queue":"f","after":["a"],"task_id":"<>62"}]}', '<>', left(pg_temp.id(0), 34))::jsonb, 1000);
SELECT count(*) FROM flow_faults.create_task('g', p_task_id => pg_temp.id(91)::uuid, p_now_ms => 1000);
SELECT l, (SELECT count(*) FROM flow_faults.claim_tasks('w', 'i', ARRAY[l], p_lease_ms => 1000, p_now_ms => 1000)) FROM unnest('{a,d,e,f}'::text[]) AS l;
SELECT result FROM flow_faults.complete_task(pg_temp.id(51)::uuid, 1, p_now_ms => 1000);
SELECT result FROM flow_faults.fail_task(pg_temp.id(61)::uuid, 1, 'permanent', p_now_ms => 1000);
SELECT result FROM flow_faults.cancel_flow(pg_temp.id(4)::uuid, p_now_ms => 1000);
SELECT what, count(*) FROM flow_faults.cascade_queue GROUP BY 1 ORDER BY 1;
SELECT right(id::text, 2) AS flow, state, open_count FROM flow_faults.flows ORDER BY id;
CREATE TEMP TABLE calls (nr serial, call text);
INSERT INTO calls (call) VALUES
    ('create_flow(''{"tasks":[{"key":"a","queue":"new"},{"key":"b","queue":"a","after":["a"],"capabilities":["x"]}]}'', 1200)'), ('create_flow(''{"tasks":[]}'', 1200)'),
    ('add_task_to_flow(''<03>'', ''{"key":"x","queue":"new","after":["a"]}'', p_now_ms => 1200)'), ('add_task_to_flow(''<03>'', ''{"task_id":"<91>"}'', p_now_ms => 1200)'),
    ('add_edge(''<03>'', ''<31>'', ''<32>'', p_now_ms => 1200)'), ('add_edge(''<03>'', ''<32>'', ''<31>'', p_now_ms => 1200)'), ('set_join(''<03>'', ''<32>'', ''{"kind":"any_of"}'')'), ('seal_flow(''<03>'', p_now_ms => 1200)'),
    ('cancel_flow(''<01>'', p_now_ms => 1200)'), ('cancel_flow(''<05>'', p_policy => ''cancel_pending'', p_now_ms => 1200)'), ('cancel_flow(''<03>'', p_policy => ''flow_only'', p_now_ms => 1200)'),
    ('ack_cancel_member(''<04>'', ''<41>'')'), ('delete_flow(''<02>'')'), ('delete_flow(''<06>'')'),
    ('complete_task(''<11>'', 1, ''{}'', p_now_ms => 1200)'), ('complete_and_claim(''<11>'', 1, ''{}'', ''w'', ''i'', ''{a}'', p_now_ms => 1200)'), ('fail_task(''<11>'', 1, ''permanent'', p_now_ms => 1200)'), ('fail_task(''<11>'', 1, ''transient'', p_now_ms => 1200)'),
    ('release_task(''<11>'', 1, p_now_ms => 1200)'), ('revoke_lease(''<11>'', p_now_ms => 1200)'), ('cancel_task(''<11>'', p_now_ms => 1200)'), ('cancel_task(''<12>'', p_now_ms => 1200)'),
    ('replay_task(''<61>'', true, p_now_ms => 1200)'), ('replay_task(''<62>'', p_now_ms => 1200)'), ('replay_task(''<41>'', p_now_ms => 1200)'),
    ('reconcile(''{dispatch_sweep}'', p_now_ms => 1200)'), ('reconcile(''{sibling_cancel}'', p_now_ms => 1200)'), ('reconcile(''{cancel_backlog}'', p_now_ms => 90000)'), ('reconcile(''{retention}'', p_now_ms => 9000)'), ('reconcile(''{lease_expiry}'', p_now_ms => 9000)');
UPDATE calls SET call = regexp_replace(call, '<(\d\d)>', '00000000-0000-4000-8000-0000000000\1', 'g');
SELECT c.call, f.* FROM calls AS c, test.fail_each('flow_faults', 'SELECT * FROM flow_faults.' || c.call) AS f WHERE NOT f.fails OR f.left_traces <> 0 OR f.swallowed <> 0 OR NOT f.then_works OR f.other_errors IS NOT NULL ORDER BY c.nr;
SELECT count(*) FROM calls;
-- All of them, that is: every function of the hub that may write and speaks of flows.
SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'flow_faults'::regnamespace AND p.prokind = 'f' AND p.provolatile = 'v' AND p.proname ~ 'flow|edge|join|cancel_member' AND NOT EXISTS (SELECT FROM calls WHERE split_part(call, '(', 1) = p.proname::text);
SELECT * FROM flow_faults.check_tasks();
SELECT belay.drop_hub('flow_faults', true);
