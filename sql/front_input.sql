-- Bad input of the front door: the error names the argument and says what to do, and nothing changes.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('front_input');
SELECT belay.set_hub_option('front_input', 'max_body_bytes', '1 MB');
SELECT front_input.send('q') AS task \gset
SELECT lease FROM front_input.receive('q', lease => '1 h') \gset
SELECT front_input.start('O', id => 'instance');
-- Each call, with % for the lease and # for the task; message and hint of its error.
CREATE TEMP TABLE calls (nr serial, call text);
INSERT INTO calls (call) VALUES
    -- NULL
    ('send(NULL)'), ('send(''q'', priority => NULL)'), ('send_many(NULL, ''{1}'')'), ('send_many(''q'', NULL)'), ('send_many(''q'', ARRAY[''1'', NULL]::jsonb[])'),
    ('receive(NULL::text)'), ('receive(NULL::text[])'), ('receive(ARRAY[''q'', NULL])'), ('receive(''q'', NULL)'), ('receive(''q'', lease => NULL)'), ('receive(''q'', capabilities => ARRAY[NULL])'),
    ('extend(NULL)'), ('extend(%, NULL)'), ('complete(NULL)'), ('fail(NULL, ''e'')'), ('fail(%, NULL)'), ('fail(%, ''e'', class => NULL)'), ('release(NULL)'), ('progress(NULL)'),
    ('complete_and_receive(NULL, NULL, ''q'')'), ('complete_and_receive(%, NULL, NULL::text)'), ('complete_and_receive(%, NULL, ''q'', NULL)'), ('complete_and_receive(%, NULL, ''q'', lease_for => NULL)'),
    ('settle_and_receive(NULL)'), ('settle_and_receive(ARRAY[%], queues => ARRAY[NULL])'), ('settle_and_receive(ARRAY[%], queues => ''{q}'', max => NULL)'), ('settle_and_receive(ARRAY[%], queues => ''{q}'', lease_for => NULL)'),
    ('cancel(NULL)'), ('retry(NULL)'), ('status(NULL)'), ('start(NULL)'), ('raise(NULL, ''e'')'), ('raise(''i'', NULL)'), ('terminate(NULL)'),
    -- empty
    ('send('''')'), ('send(''q'', kind => '''')'), ('send(''q'', key => '''')'), ('send_many(''q'', ''{1}'', keys => ''{""}'')'), ('receive('''')'), ('receive(''{}''::text[])'), ('receive(''{""}''::text[])'), ('receive(''q'', worker => '''')'),
    ('receive(''q'', capabilities => ''{""}'')'), ('fail(%, ''e'', class => '''')'), ('start('''')'), ('start(''O'', id => '''')'), ('start(''O'', version => '''')'), ('raise('''', ''e'')'), ('raise(''i'', '''')'), ('terminate('''')'),
    ('settle_and_receive(ARRAY[%], ''{""}'')'), ('settle_and_receive(ARRAY[%], ''{}'')'), ('settle_and_receive(ARRAY[%], queues => ''{}'')'), ('settle_and_receive(ARRAY[%], queues => ''{q}'', worker => '''')'),
    -- wrong values
    ('settle_and_receive(ARRAY[%], ''{done}'')'), ('settle_and_receive(ARRAY[%], ''{delay}'')'), ('settle_and_receive(ARRAY[%], results => ''{1,2}'')'), ('settle_and_receive(ARRAY[%], errors => ''{a,b}'')'), ('settle_and_receive(ARRAY[%], classes => ''{}'')'),
    ('settle_and_receive(ARRAY[%], delays => ''{1 s,2 s}'')'), ('settle_and_receive(array_fill(%::text, ''{10001}''))'), ('settle_and_receive(ARRAY[%], queues => ''{q}'', max => -1)'), ('settle_and_receive(ARRAY[%], queues => ''{q}'', max => 1001)'),
    ('settle_and_receive(ARRAY[%], queues => ''{q}'', lease_for => ''25 h'')'), ('settle_and_receive(ARRAY[%], queues => ''{q}'', capabilities => ''{a b}'')'),
    ('complete_and_receive(%, NULL, ''q'', 0)'), ('complete_and_receive(%, NULL, ''q'', 1001)'), ('complete_and_receive(%, NULL, ''q'', lease_for => ''25 h'')'), ('complete_and_receive(%, NULL, ''{}''::text[])'), ('complete_and_receive(%, NULL, ''q'', worker => '''')'),
    ('complete_and_receive(%, NULL, ''q'', capabilities => ''{a b}'')'), ('send_many(''q'', ''{1}'', priority => NULL)'), ('send_many(''q'', ''{1}'', delay => ''-1 s'')'), ('send_many(''q'', ''{1}'', at => ''infinity'')'), ('send_many(''q'', ''{1}'', policy => ''[]'')'),
    ('send_many(''q'', ''{1}'', headers => ''{"a": 1}'')'), ('send_many('''', ''{1}'')'), ('send_many(''q'', ''{1}'', kind => '''')'),
    ('send(E''a\tb'')'), ('send(''q'', priority => -1)'), ('send(''q'', priority => 9001)'), ('send(''q'', delay => ''-1 s'')'), ('send(''q'', delay => ''102 years'')'), ('send(''q'', at => ''infinity'')'), ('send(''q'', at => ''-infinity'')'),
    ('send(''q'', delay => ''1 s'', at => ''2020-01-01'')'), ('send_many(''q'', ''{1,2}'', keys => ''{a}'')'), ('send_many(''q'', array_fill(''1''::jsonb, ''{10001}''))'),
    ('receive(''{a,b}'')'), ('receive(''q'', 0)'), ('receive(''q'', 1001)'), ('receive(''q'', lease => ''0'')'), ('receive(''q'', lease => ''-1 s'')'), ('receive(''q'', lease => ''25 h'')'), ('receive(''q'', lease => ''1 month'')'), ('receive(''q'', capabilities => ''{a b}'')'),
    ('receive(ARRAY(SELECT ''q'' || n FROM generate_series(1, 1001) AS n))'),
    ('extend(%, ''0'')'), ('extend(%, ''-1 h'')'), ('extend(%, ''2 days'')'), ('fail(%, ''e'', retry_in => ''-1 ms'')'), ('fail(%, ''e'', retry_in => ''102 years'')'), ('fail(%, ''e'', class => ''fatal'')'), ('release(%, ''-1 s'')'), ('release(%, ''102 years'')'), ('progress(%, -1)'), ('progress(%, 100.5)'), ('progress(%, ''NaN'')'),
    -- wrong JSON
    ('send(''q'', policy => ''[]'')'), ('send(''q'', policy => ''{"max_attempt": 1}'')'), ('send(''q'', policy => ''{"max_attempts": "1"}'')'), ('send(''q'', headers => ''[]'')'), ('send(''q'', headers => ''{"a": 1}'')'), ('send(''q'', headers => ''{"a": {"b": "c"}}'')'),
    -- too long: 1 MB and more
    ('send(repeat(''q'', 65))'), ('send(repeat(''q'', 1048576))'), ('send(''q'', to_jsonb(repeat(''x'', 1048576)))'), ('send(''q'', kind => repeat(''x'', 1048576))'), ('send(''q'', key => repeat(''x'', 1048576))'),
    ('send(''q'', headers => jsonb_build_object(''h'', repeat(''x'', 1048576)))'), ('send(''q'', policy => jsonb_build_object(repeat(''x'', 1048570), 1))'), ('send_many(''q'', ARRAY[''1'', to_jsonb(repeat(''x'', 1048576))])'),
    ('receive(repeat(''q'', 1048576))'), ('receive(''q'', worker => repeat(''x'', 1048576))'), ('receive(''q'', capabilities => ARRAY[repeat(''x'', 1048576)])'), ('complete(%, to_jsonb(repeat(''x'', 1048576)))'), ('progress(%, checkpoint => to_jsonb(repeat(''x'', 1048576)))'),
    ('fail(%, ''e'', class => repeat(''x'', 1048576))'), ('start(repeat(''x'', 1048576))'), ('start(''O'', to_jsonb(repeat(''x'', 1048576)))'), ('start(''O'', id => repeat(''x'', 1048576))'), ('start(''O'', version => repeat(''x'', 1048576))'),
    ('raise(repeat(''x'', 1048576), ''e'')'), ('raise(''i'', repeat(''x'', 1048576))'), ('raise(''i'', ''e'', to_jsonb(repeat(''x'', 1048576)))'), ('terminate(repeat(''x'', 1048576))'),
    ('complete_and_receive(%, to_jsonb(repeat(''x'', 1048576)), ''q'')'), ('settle_and_receive(ARRAY[%], ARRAY[repeat(''x'', 1048576)])'), ('settle_and_receive(ARRAY[%], queues => ARRAY[repeat(''x'', 1048576)])'), ('send_many(''q'', ''{1}'', keys => ARRAY[repeat(''x'', 1048576)])'),
    ('extend(repeat(''x'', 1048576))'), ('complete(repeat(''x'', 1048576))'),
    -- what does not exist, or has not the right state
    ('cancel(''00000000-0000-4000-8000-000000000001'')'), ('retry(''00000000-0000-4000-8000-000000000001'')'), ('retry(#)'), ('terminate(''nobody'')'),
    -- wrong types: PostgreSQL's own errors
    ('send(''q'', ''no json'')'), ('send(''q'', delay => ''soon'')'), ('send(''q'', at => ''soon'')'), ('receive(1)'), ('extend(%, 30)'), ('cancel(''x'')'), ('complete(%, 1)'), ('settle_and_receive(''x'')'), ('settle_and_receive(ARRAY[%], delays => ''{soon}'')');
SELECT test.traces('front_input') AS before \gset
CREATE TEMP TABLE errors AS SELECT nr, call, test.error(replace(replace('SELECT front_input.' || call, '%', quote_literal(:'lease')), '#', quote_literal(:'task'))) AS error FROM calls;
SELECT nr, left(regexp_replace(call, '\s+', ' ', 'g'), 60) AS call, regexp_replace(regexp_replace(regexp_replace(error, E'\nDETAIL: {[^\n]*}', ''), 'x{60,}', 'xx…', 'g'), :'task', '<task>') AS error
  FROM errors ORDER BY nr;
SELECT test.traces('front_input') = :'before' AS nothing_changed;
-- Every QB006 names its argument in DETAIL, too, and no error repeats 1 MB.
SELECT call FROM errors
 WHERE (error LIKE 'QB006%' AND error !~ '"path":"[a-z_]+(\[\d+\])?') OR length(error) > 2000;
-- A wrong lease or result of one outcome is reported in its row.
SELECT outcome_index, error, reason FROM front_input.settle_and_receive(ARRAY[:'lease', repeat('x', 1048576)], results => ARRAY[to_jsonb(repeat('x', 1048576)), NULL]);
-- A procedure that waits cannot be called by a function: each of these reports its error here.
\set VERBOSITY default
\set failed 'INSERT INTO errors (call, error) SELECT :''call'', format(''%s: %s'', :''LAST_ERROR_SQLSTATE'', :''LAST_ERROR_MESSAGE'')'
\set call 'await(NULL::text)'
CALL front_input.:call;
:failed;
\set call 'await(''{}''::text[])'
CALL front_input.:call;
:failed;
\set call 'await(''q'', ''-1 s'')'
CALL front_input.:call;
:failed;
\set call 'await(ARRAY[''q''], NULL)'
CALL front_input.:call;
:failed;
\set call 'await_result(NULL::uuid)'
CALL front_input.:call;
:failed;
\set call 'await_result('''')'
CALL front_input.:call;
:failed;
\set call 'await_result(''instance'', ''102 years'')'
CALL front_input.:call;
:failed;
\set VERBOSITY terse
-- The calls are complete: each argument of each function and procedure of the front door was rejected at least once. Listed are texts that are cut instead, see below.
SELECT DISTINCT p.proname, argument FROM pg_proc AS p, unnest(p.proargnames[1:p.pronargs], p.proargmodes::text[]) AS a (argument, mode)
 WHERE p.proargnames[1] = ANY ('{queue,queues,lease,leases,id,orchestration}') AND p.pronamespace = 'front_input'::regnamespace AND coalesce(mode, 'i') = 'i' AND argument IS NOT NULL
   AND NOT EXISTS (SELECT FROM errors WHERE split_part(call, '(', 1) = p.proname::text
                      AND (error ~ ('"path":"' || argument || '("|\[|\.)') OR p.prokind = 'p' AND error ~ ('^QB006: ' || argument || '[ \[]')))
 ORDER BY 1, 2;
-- What may be NULL: it means the default.
SELECT front_input.send('other', NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL) AS plain \gset
SELECT payload, kind, headers, front_input.release(lease, NULL) FROM front_input.receive('other', worker => NULL, capabilities => NULL);
-- Messages and reasons are cut to 8 kB.
SELECT id AS long, lease AS long_lease FROM front_input.receive('other') \gset
SELECT front_input.progress(:'long_lease', message => repeat('x', 1048576));
SELECT max(length(t.progress_message)) FROM front_input.tasks AS t;
SELECT front_input.release(:'long_lease');
SELECT front_input.send('other') AS cancelled \gset
SELECT front_input.cancel(:'cancelled', repeat('x', 1048576)), front_input.terminate('instance', repeat('x', 1048576));
SELECT length(error) FROM front_input.status(:'cancelled');
SELECT max(length(work_item)) BETWEEN 8192 AND 9000 AS cut FROM front_input.orchestrator_queue;
SELECT front_input.fail(lease, repeat('x', 1048576), class => 'permanent') FROM front_input.receive('other');
SELECT length(error) FROM front_input.status(:'plain');
SELECT front_input.status('00000000-0000-4000-8000-000000000001');
-- An empty message of a failure is stored as it is.
SELECT front_input.send('blank') AS blank \gset
SELECT front_input.fail(lease, '', class => 'permanent') FROM front_input.receive('blank');
SELECT state, error = '' AS is_empty FROM front_input.status(:'blank');
-- A key that is twice in one send_many is one task, as with two calls of send.
SELECT count(*), count(DISTINCT id) FROM front_input.send_many('keys', '{1,2,3}', keys => '{a,b,a}') AS id;
SELECT state, count(*) FROM front_input.tasks WHERE queue = 'keys' GROUP BY state;
-- A lease that is good stays good after all that.
SELECT front_input.complete(:'lease');
SELECT test.error(format('SELECT front_input.retry(%L)', :'task')) ~ E'^QB012: task .* is completed already\n.*HINT: Use replay_task' AS refused;
-- The types that functions return cannot be changed under them: the next call says so.
ALTER TYPE front_input.task_status DROP ATTRIBUTE worker;
SELECT test.error(format('SELECT front_input.status(%L)', :'task'));
ALTER TYPE front_input.received ALTER ATTRIBUTE attempt TYPE bigint CASCADE;
SELECT test.error('SELECT front_input.receive(''q'')');
ALTER TYPE front_input.received ALTER ATTRIBUTE attempt TYPE integer CASCADE;
SELECT count(*) FROM front_input.receive('q');
SELECT belay.drop_hub('front_input', p_force => true);
