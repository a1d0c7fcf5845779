-- Fenced transactions: what is written under a guard lands only while the lease is held.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('guard_commit');
SELECT belay.set_hub_option('guard_commit', 'max_clock_skew', '0');
CREATE TABLE test.guard_writes (what text PRIMARY KEY);
-- Items and turns that are leased for an hour by the server's clock, which is the one that counts at a commit.
SELECT guard_commit.enqueue_worker_items(jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
       jsonb_build_object('name', 'n' || n)), 'instance_id', 'i', 'execution_id', 1, 'activity_id', n)), NULL) FROM generate_series(1, 12) AS n;
SELECT guard_commit.start_orchestration('O', '', 't' || n, '1') FROM generate_series(1, 4) AS n;
CREATE FUNCTION pg_temp.work() RETURNS text LANGUAGE sql AS $$ SELECT lock_token FROM guard_commit.fetch_work_item(3600000) $$;
CREATE FUNCTION pg_temp.turn() RETURNS text LANGUAGE sql AS $$ SELECT lock_token FROM guard_commit.fetch_orchestration_item(3600000) $$;
-- Sets the deadline of a lease in the past, as if it had been short.
CREATE FUNCTION test.guard_expire(token text) RETURNS void LANGUAGE sql AS $$ SELECT guard_commit.renew_work_item_lock(token, 1, p_now_ms => 1000) $$;
-- What has landed.
CREATE FUNCTION pg_temp.written() RETURNS text[] LANGUAGE sql AS $$ SELECT array_agg(what ORDER BY what) FROM test.guard_writes $$;
SELECT pg_temp.work() AS w1, pg_temp.work() AS w2, pg_temp.work() AS w3, pg_temp.turn() AS t1, pg_temp.turn() AS t2 \gset

-- GD-1: a live lease lets the transaction pass, as often as one likes; of a work item and of a turn.
BEGIN;
SELECT guard_commit.guard(:'w1');
INSERT INTO test.guard_writes VALUES ('live work item');
COMMIT;
BEGIN;
SELECT guard_commit.guard(:'t1');
INSERT INTO test.guard_writes VALUES ('live turn');
SELECT guard_commit.guard(:'t1'), guard_commit.guard(:'w1'), guard_commit.guard(:'w2');
COMMIT;
SELECT pg_temp.written();
-- GD-1: lost between the write and the commit: QB001, and nothing stays. (Here by its deadline, which the transaction itself moves.)
BEGIN;
SELECT guard_commit.guard(:'w1');
INSERT INTO test.guard_writes VALUES ('lost work item');
SELECT test.guard_expire(:'w1');
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY terse
BEGIN;
SELECT guard_commit.guard(:'t1');
INSERT INTO test.guard_writes VALUES ('lost turn');
SELECT guard_commit.renew_orchestration_item_lock(:'t1', 1, p_now_ms => 1000);
COMMIT;
SELECT pg_temp.written();
-- Undone with the rest: the leases are as they were.
SELECT guard_commit.renew_work_item_lock(:'w1', 3600000), guard_commit.renew_orchestration_item_lock(:'t1', 3600000);
-- A renewal in the same transaction is seen.
BEGIN;
SELECT guard_commit.guard(:'w1');
SELECT test.guard_expire(:'w1');
SELECT guard_commit.renew_work_item_lock(:'w1', 9000000000000, p_now_ms => 1000);
COMMIT;
-- Two guards: one lost lease is enough.
BEGIN;
SELECT guard_commit.guard(:'w1'), guard_commit.guard(:'w2');
INSERT INTO test.guard_writes VALUES ('one of two');
SELECT test.guard_expire(:'w2');
COMMIT;
-- An activity that is cancelled in the same transaction is lost.
BEGIN;
SELECT guard_commit.guard(:'w2');
SELECT guard_commit.cancel_activities('[{"instance":"i","execution_id":1,"activity_id":2}]');
COMMIT;
-- A statement by itself is a transaction, too.
SELECT guard_commit.guard(:'w2');

-- GD-9: a token that does not open its lease is refused at once, with the word for what was found.
CREATE FUNCTION pg_temp.why(token text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    PERFORM guard_commit.guard(token);
    RETURN 'passes';
EXCEPTION WHEN SQLSTATE 'QB001' THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN detail::jsonb ->> 'code_detail';
END $$;
SELECT regexp_replace(test.error($$SELECT guard_commit.guard(NULL)$$), 'lock_token":"[^"]{8}"', 'lock_token":"........"');
SELECT pg_temp.why('') AS empty, pg_temp.why('nonsense') AS nonsense, pg_temp.why(upper(:'w1')) AS changed, pg_temp.why(:'w1') AS good;
SELECT test.guard_expire(:'w3');
SELECT pg_temp.why(:'w3') AS expired;
SELECT pg_temp.work() AS w3b \gset
SELECT pg_temp.why(:'w3') AS taken_over, pg_temp.why(:'w3b') AS taken;
SELECT guard_commit.ack_worker(:'w3b');
SELECT pg_temp.why(:'w3b') AS acked;
SELECT guard_commit.abandon_orchestration_item(:'t2');
SELECT pg_temp.why(:'t2') AS abandoned_turn;
SELECT pg_temp.work() AS w4, pg_temp.turn() AS t2 \gset
SELECT guard_commit.abandon_work_item(:'w4');
SELECT pg_temp.why(:'w4') AS abandoned;
-- A token of another hub.
SELECT belay.create_hub('guard_other');
SELECT test.sqlstate(format('SELECT guard_other.guard(%L)', :'w1')), test.sqlstate(format('SELECT guard_other.guard(%L)', :'t1'));

-- GD-4: a lease that this very transaction has ended passes, by ack or by abandon; before or after the guard.
SELECT pg_temp.work() AS w4, pg_temp.work() AS w5, pg_temp.work() AS w6, pg_temp.work() AS w7 \gset
BEGIN;
SELECT guard_commit.guard(:'w4'), guard_commit.guard(:'w5'), guard_commit.guard(:'w6'), guard_commit.guard(:'w7'), guard_commit.guard(:'t2');
INSERT INTO test.guard_writes VALUES ('finished');
SELECT guard_commit.ack_worker(:'w4');
SELECT acked FROM guard_commit.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', :'w5')));
SELECT guard_commit.abandon_work_item(:'w6');
SELECT guard_commit.abandon_work_item(:'w7', 1000);
SELECT guard_commit.ack_orchestration_item(:'t2', 1, '[]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1","status":"Completed"}');
SELECT guard_commit.guard(:'w4'), guard_commit.guard(:'t2');
COMMIT;
SELECT pg_temp.written();
-- But not the next transaction.
SELECT pg_temp.why(:'w4') AS work, pg_temp.why(:'t2') AS turn;
-- Nor what was only given back after it had expired.
SELECT pg_temp.work() AS w4 \gset
BEGIN;
SELECT guard_commit.guard(:'w4');
SELECT test.guard_expire(:'w4');
SELECT guard_commit.abandon_work_item(:'w4');
COMMIT;
-- An ack that was rolled back has ended nothing.
BEGIN;
SELECT guard_commit.guard(:'w4');
SAVEPOINT s;
SELECT guard_commit.ack_worker(:'w4');
ROLLBACK TO s;
SELECT test.guard_expire(:'w4');
COMMIT;

-- GD-5: a guard that was set in a rolled-back subtransaction is void; one of a released subtransaction stays.
BEGIN;
SAVEPOINT s;
SELECT guard_commit.guard(:'w4');
ROLLBACK TO s;
SELECT test.guard_expire(:'w4');
INSERT INTO test.guard_writes VALUES ('void guard');
COMMIT;
SELECT guard_commit.renew_work_item_lock(:'w4', 9000000000000, p_now_ms => 1000);
BEGIN;
SAVEPOINT s;
SAVEPOINT s2;
SELECT guard_commit.guard(:'w4');
RELEASE s2;
RELEASE s;
SELECT test.guard_expire(:'w4');
INSERT INTO test.guard_writes VALUES ('kept guard');
COMMIT;
-- Nor does a later subtransaction take it along.
BEGIN;
SAVEPOINT s;
SELECT guard_commit.guard(:'w4');
RELEASE s;
SAVEPOINT s;
ROLLBACK TO s;
RELEASE s;
SELECT test.guard_expire(:'w4');
INSERT INTO test.guard_writes VALUES ('kept guard, later rollback');
COMMIT;
-- The same of an ack.
BEGIN;
SELECT guard_commit.guard(:'w4');
SAVEPOINT s;
SELECT guard_commit.ack_worker(:'w4');
RELEASE s;
SAVEPOINT s;
ROLLBACK TO s;
SELECT guard_commit.guard(:'w4');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SAVEPOINT s2;
SELECT guard_commit.guard(:'w4');
RELEASE s2;
ROLLBACK TO s;
SELECT test.guard_expire(:'w4');
INSERT INTO test.guard_writes VALUES ('void guard, released before');
COMMIT;
SELECT pg_temp.written();
SELECT guard_commit.renew_work_item_lock(:'w4', 9000000000000, p_now_ms => 1000);

-- GD-6: deferred triggers and constraints come first.
CREATE TABLE test.guard_deferred (id int PRIMARY KEY, token text);
CREATE FUNCTION test.guard_deferred() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.guard_expire(NEW.token);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER guard_deferred AFTER INSERT ON test.guard_deferred DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION test.guard_deferred();
BEGIN;
SELECT guard_commit.guard(:'w4');
INSERT INTO test.guard_deferred VALUES (1, :'w4');
COMMIT;
DROP TRIGGER guard_deferred ON test.guard_deferred;
ALTER TABLE test.guard_deferred ADD CONSTRAINT one UNIQUE (token) DEFERRABLE INITIALLY DEFERRED;
\set VERBOSITY sqlstate
BEGIN;
SELECT guard_commit.guard(:'w4');
INSERT INTO test.guard_deferred VALUES (1, 'same'), (2, 'same');
SELECT test.guard_expire(:'w4');
COMMIT;
\set VERBOSITY terse
SELECT count(*) FROM test.guard_deferred;

-- GD-7: it cannot be prepared; nor is the lease touched by the attempt.
BEGIN;
SELECT guard_commit.guard(:'w4');
INSERT INTO test.guard_writes VALUES ('prepared');
PREPARE TRANSACTION 'regress_belay_guard';
SELECT pg_temp.why(:'w4');

-- GD-2: a transaction that writes nothing gets no transaction id by the check; so one that must not write can be guarded.
BEGIN READ ONLY;
SELECT guard_commit.guard(:'w4'), guard_commit.guard(:'t1');
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
COMMIT;
-- One that becomes read-only after it has written is checked as any other.
BEGIN;
SELECT guard_commit.guard(:'w4');
INSERT INTO test.guard_writes VALUES ('read-only later');
SET TRANSACTION READ ONLY;
COMMIT;
SELECT pg_temp.written();

-- GD-3: every isolation level.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT guard_commit.guard(:'w4'), guard_commit.guard(:'t1');
INSERT INTO test.guard_writes VALUES ('repeatable read');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT guard_commit.guard(:'w4'), guard_commit.guard(:'t1');
INSERT INTO test.guard_writes VALUES ('serializable');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT guard_commit.guard(:'w4');
INSERT INTO test.guard_writes VALUES ('serializable, lost');
SELECT test.guard_expire(:'w4');
COMMIT;
SELECT pg_temp.written();

-- A procedure that commits: each of its transactions by itself.
CREATE PROCEDURE test.guard_twice(token text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM guard_commit.guard(token);
    INSERT INTO test.guard_writes VALUES ('first half');
    COMMIT;
    PERFORM test.guard_expire(token);
    INSERT INTO test.guard_writes VALUES ('second half, not guarded');
    COMMIT;
    PERFORM guard_commit.renew_work_item_lock(token, 9000000000000, p_now_ms => 1000);
END $$;
SELECT pg_temp.work() AS w5 \gset
CALL test.guard_twice(:'w5');
SELECT pg_temp.work() AS w6 \gset
CREATE PROCEDURE test.guard_once(token text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM guard_commit.guard(token);
    INSERT INTO test.guard_writes VALUES ('lost in a procedure');
    PERFORM test.guard_expire(token);
    COMMIT;
END $$;
CALL test.guard_once(:'w6');
SELECT pg_temp.written();

-- The hub's new incarnation ends the lease; one that this transaction begins, too. A hub that is gone has no lease.
BEGIN;
SELECT guard_commit.guard(:'w6');
SELECT belay.new_incarnation('guard_commit');
COMMIT;
BEGIN;
SELECT guard_commit.guard(:'w6');
SELECT belay.drop_hub('guard_commit', p_force => true);
COMMIT;
SELECT belay.new_incarnation('guard_commit');
SELECT pg_temp.why(:'w6') AS work, pg_temp.why(:'t1') AS turn;
-- A hub that finds itself elsewhere: also before the first call that writes.
SELECT pg_temp.work() AS w7 \gset
SELECT pg_temp.why(:'w7');
UPDATE guard_commit.belay_hub SET mark = '1/1/1/1';
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT test.sqlstate(format('SELECT guard_commit.guard(%L)', :'w7'));

DROP TABLE test.guard_writes, test.guard_deferred;
DROP FUNCTION test.guard_deferred, test.guard_expire;
DROP PROCEDURE test.guard_twice, test.guard_once;
SELECT belay.drop_hub('guard_commit', p_force => true);
SELECT belay.drop_hub('guard_other');
