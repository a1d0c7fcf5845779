-- serial: with preloading, an injected fault strikes whichever session passes first.
-- ER-4 for the front door: each function that writes is run with its first store call failing, then with its second, and so on, until it succeeds.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('front_faults');
SELECT belay.set_hub_option('front_faults', 'max_clock_skew', '0'), belay.set_hub_option('front_faults', 'events', 'lease,operator,completion');
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:00+00';
SELECT front_faults.send('q', '1') AS held, front_faults.send('r', '2') AS failed \gset
SELECT lease FROM front_faults.receive('q', lease => '1 h') \gset
SELECT front_faults.fail(lease, 'x', class => 'permanent') FROM front_faults.receive('r');
SELECT front_faults.send('q', '3') IS NOT NULL, front_faults.start('O', id => 'i');
COMMIT;
CREATE TEMP TABLE calls (nr serial, call text);
INSERT INTO calls (call) VALUES
    ('send(''new'', ''{}'', ''k'', ''key'', ''1 s'')'), ('send_many(''new'', ''{1,2}'', keys => ''{a,b}'')'), ('receive(''q'')'), ('receive(''{q,r}''::text[], 5)'), ('extend(%, ''2 h'')'), ('complete(%, ''{}'')'),
    ('complete_and_receive(%, NULL, ''q'')'), ('complete_and_receive(%, NULL, ''{q}''::text[])'), ('fail(%, ''e'')'), ('fail(%, ''e'', class => ''permanent'')'), ('release(%)'), ('release(%, ''5 s'')'), ('progress(%, 5, ''m'', ''{}'')'),
    ('settle_and_receive(ARRAY[%, ''lost''], ''{complete,release}'', queues => ''{q}'', max => 5)'), ('settle_and_receive(ARRAY[%], ''{fail}'', errors => ''{e}'')'), ('cancel(#)'), ('retry(@)'), ('start(''O'')'), ('raise(''i'', ''e'')'), ('terminate(''i'')');
SELECT nr, c.call, f.* FROM calls AS c, LATERAL test.fail_each('front_faults', 'SELECT set_config(''belay.now'', ''2020-01-01 12:00:10+00'', true), (SELECT count(*) FROM front_faults.' ||
    replace(replace(replace(c.call, '%', quote_literal(:'lease')), '#', quote_literal(:'held')), '@', quote_literal(:'failed')) || ')') AS f ORDER BY nr;
-- All of them, that is: every function of the front door that may write.
SELECT p.proname FROM pg_proc AS p WHERE p.proargnames[1] = ANY ('{queue,queues,lease,leases,id,orchestration}') AND p.pronamespace = 'front_faults'::regnamespace AND p.prokind = 'f' AND p.provolatile = 'v' AND NOT EXISTS (SELECT FROM calls WHERE split_part(call, '(', 1) = p.proname::text)
 ORDER BY p.proname::text COLLATE "C";
BEGIN;
SET LOCAL belay.now = '2020-01-01 12:00:10+00';
SELECT front_faults.complete(:'lease');
COMMIT;
SELECT * FROM belay.check_hub('front_faults');
SELECT belay.drop_hub('front_faults', p_force => true);
