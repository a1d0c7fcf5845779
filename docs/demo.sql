-- A worked example. `make demo` runs it on a throw-away server; psql -X -q -f docs/demo.sql runs it
-- in a database of your own, as a superuser. Each statement is shown before its result.
\set QUIET on
\set ON_ERROR_STOP on
\pset footer off
\pset null '-'
\pset pager off
SET client_min_messages = warning;
-- Colours of titles, if the caller wants them.
\if :{?title}
\else
    \set title ''
    \set plain ''
\endif

-- Runs a statement that has to fail, and shows the error as a row.
CREATE FUNCTION pg_temp.expect_error(statement text)
    RETURNS TABLE (code text, message text, hint text)
    LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
        message := regexp_replace(message, '[0-9a-f]{8}-[0-9a-f-]{27}', '…');
        RETURN NEXT;
        RETURN;
    END;
    RAISE EXCEPTION 'no error from: %', statement;
END $$;

-- Stops the demo if something is not as the text says.
CREATE FUNCTION pg_temp.expect(fact boolean, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF fact IS NOT TRUE THEN
        RAISE EXCEPTION 'the demo expected: %', what;
    END IF;
END $$;

\echo
\echo :title'1. A hub, and a first task':plain
\echo 'A hub is a schema with its own queues, functions and rights. Send a task, receive it'
\echo 'under a lease, complete it.'
\echo
\set ECHO queries
CREATE EXTENSION belay;
SELECT belay.create_hub('demo') \g /dev/null
SELECT demo.send('mail', '{"to": "ada@example.org"}') AS id \gset
SELECT lease, payload, attempt, lease_until - now() AS granted FROM demo.receive('mail') \gset
\echo :payload
SELECT demo.complete(:'lease', '{"sent": true}') \g /dev/null
SELECT state, result, attempt FROM demo.status(:'id');
\set ECHO none
SELECT pg_temp.expect((SELECT state = 'completed' FROM demo.status(:'id')), 'a completed task') \g /dev/null

\echo :title'2. One transaction with your data':plain
\echo 'What the handler writes and the completion commit together, or not at all.'
\echo
\set ECHO queries
CREATE TABLE payments (order_id text, amount numeric);
SELECT demo.send('charge', '{"order": "order-7", "amount": 42}') AS id \gset
SELECT lease FROM demo.receive('charge') \gset
BEGIN;
INSERT INTO payments VALUES ('order-7', 42);
SELECT demo.complete(:'lease') \g /dev/null
ROLLBACK;
SELECT (SELECT count(*) FROM payments) AS payments, state FROM demo.status(:'id');
BEGIN;
INSERT INTO payments VALUES ('order-7', 42);
SELECT demo.complete(:'lease') \g /dev/null
COMMIT;
SELECT (SELECT count(*) FROM payments) AS payments, state FROM demo.status(:'id');
\set ECHO none
\echo 'Run twice, for example after a lost connection, the transaction fails: no second payment.'
\echo
\set ECHO queries
SELECT * FROM pg_temp.expect_error(format('SELECT demo.complete(%L)', :'lease')) \gx
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) = 1 FROM payments), 'one payment') \g /dev/null

\echo :title'3. A worker that is too late':plain
\echo 'A worker takes a task for 50 ms and stalls. The next one gets it; the late completion'
\echo 'is rejected by its fencing token.'
\echo
\set ECHO queries
SELECT demo.send('charge', '{"order": "order-8"}') AS id \gset
SELECT lease AS late FROM demo.receive('charge', lease => '50 ms', worker => 'worker-a') \gset
SELECT pg_sleep(0.1) \g /dev/null
SELECT lease, attempt FROM demo.receive('charge', worker => 'worker-b') \gset
SELECT * FROM pg_temp.expect_error(format('SELECT demo.complete(%L)', :'late')) \gx
SELECT demo.complete(:'lease') \g /dev/null
\set ECHO none
SELECT pg_temp.expect((SELECT state = 'completed' FROM demo.status(:'id')), 'one completion') \g /dev/null

\echo
\echo :title'4. Failures, retries, backoff':plain
\echo 'The policy of a task says how often it is tried, and when. A task that fails for good'
\echo 'stays, with its error, until an operator retries or deletes it.'
\echo
\set ECHO queries
SELECT demo.send('mail', '{"to": "bob@example.org"}',
    policy => '{"max_attempts": 2, "backoff": {"kind": "fixed", "delay_ms": 100}}') AS id \gset
SELECT lease FROM demo.receive('mail') \gset
SELECT demo.fail(:'lease', 'mail server is busy') > now() AS tried_again_later;
SELECT pg_sleep(0.2) \g /dev/null
SELECT lease FROM demo.receive('mail') \gset
SELECT demo.fail(:'lease', 'no such mailbox') AS next_attempt;
SELECT state, attempt, error FROM demo.status(:'id');
SELECT demo.retry(:'id') \g /dev/null
SELECT state FROM demo.status(:'id');
SELECT demo.cancel(:'id', 'wrong address') AS cancelled;
\set ECHO none

\echo :title'5. Once, later, first':plain
\echo 'A key makes a send idempotent. Tasks can be delayed, and have priorities.'
\echo
\set ECHO queries
SELECT demo.send('mail', '{"to": "eve"}', key => 'welcome:eve') = demo.send('mail', '{"to": "eve"}', key => 'welcome:eve') AS same_task;
SELECT demo.send('mail', '{"to": "zoe"}', delay => '1 hour') \g /dev/null
SELECT demo.send('mail', '{"to": "the boss"}', priority => 10) \g /dev/null
SELECT payload FROM demo.receive('mail', max => 10);
\set ECHO none

\echo :title'6. Waiting without polling':plain
\echo 'A worker without work sleeps until there may be some. It holds no transaction, no'
\echo 'snapshot and no lock meanwhile. A client can wait for a result.'
\echo
\set ECHO queries
SELECT count(*) AS received FROM demo.receive('reports');
CALL demo.await('reports', '100 ms');
SELECT demo.send('reports', delay => '500 ms') AS id \gset
SELECT count(*) AS received FROM demo.receive('reports');
CALL demo.await('reports', '30 s');
SELECT lease FROM demo.receive('reports') \gset
SELECT demo.complete(:'lease', '{"pages": 12}') \g /dev/null
CALL demo.await_result(:'id', '1 s');
\set ECHO none

\echo :title'7. Cancellation takes running work away':plain
\echo 'A task is cancelled while a worker runs it. The worker learns it from its next'
\echo 'heartbeat: QB001 means stop.'
\echo
\set ECHO queries
SELECT demo.send('render', '{"film": 1}') AS id \gset
SELECT lease FROM demo.receive('render') \gset
SELECT demo.progress(:'lease', 40, 'scene 12') \g /dev/null
SELECT state, percent, message FROM demo.status(:'id');
SELECT demo.cancel(:'id', 'the customer called') AS cancelled;
SELECT * FROM pg_temp.expect_error(format('SELECT demo.extend(%L)', :'lease')) \gx
\set ECHO none

\echo :title'8. A flow: tasks that depend on each other':plain
\echo 'A directed acyclic graph in one call. Two ways to get a quote; the first answer is'
\echo 'enough, and the other supplier is cancelled. What depends on it becomes ready in the'
\echo 'same transaction.'
\echo
\set ECHO queries
SELECT flow_id AS flow FROM demo.create_flow('{"kind": "quote", "tasks": [
    {"key": "north", "queue": "quotes"},
    {"key": "south", "queue": "quotes"},
    {"key": "offer", "queue": "offers", "after": ["north", "south"], "join": {"kind": "any_of"}}]}') \gset
SELECT lease FROM demo.receive('quotes') \gset
SELECT demo.complete(:'lease', '{"price": 95}') \g /dev/null
SELECT flow_key, state FROM demo.list_tasks(jsonb_build_object('flow_id', :'flow')) ORDER BY flow_key;
SELECT queue, jsonb_path_query_first(upstream, '$[*].result ? (@ != null)') AS price FROM demo.receive('offers');
\set ECHO none

\echo :title'9. A schedule':plain
\echo 'Every night at three, in the time zone of your customers, clock changes included.'
\echo
\set ECHO queries
SELECT to_timestamp(demo.create_schedule('nightly', '0 3 * * *', '{"queue": "reports"}', 'Europe/Berlin') / 1000)
       AT TIME ZONE 'Europe/Berlin' AS next_run;
\set ECHO none

\echo :title'10. Why is it not running?':plain
\echo 'Every task that waits has a reason, and the functions that say it.'
\echo
\set ECHO queries
SELECT demo.send('print', delay => '1 hour') AS id \gset
SELECT reason FROM demo.explain_claim(:'id');
\set ECHO none

\echo :title'11. Numbers and health':plain
\echo 'Counters in shared memory, without count(*). belay.metrics() has them for Prometheus.'
\echo 'check_hub has nothing to say about a healthy hub.'
\echo
\set ECHO queries
SELECT queue, enqueued, fetched, acked, lost_leases AS lost FROM belay.pg_stat_belay_queue WHERE hub = 'demo';
SELECT count(*) AS problems FROM belay.check_hub('demo');
\set ECHO none
SELECT pg_temp.expect((SELECT count(*) = 0 FROM belay.check_hub('demo')), 'a healthy hub') \g /dev/null

\echo 'The hub "demo" is still there; belay.drop_hub(''demo'') removes it.'
