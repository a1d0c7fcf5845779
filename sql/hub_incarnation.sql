-- serial: changes rights on the database, or touches every hub
-- Incarnations: one life of a hub in one database of one cluster on one timeline.
\set VERBOSITY terse
\set SHOW_CONTEXT never

CALL test.create_owner('regress_belay_hi');
SET ROLE regress_belay_hi;
SELECT belay.create_hub('hi_one');
SELECT belay.create_hub('hi_two');
RESET ROLE;

-- What makes a new one visible: its number, another uuid, a higher floor for epochs.
CREATE TEMP TABLE before AS SELECT uuid FROM hi_one.belay_hub;
CREATE VIEW test.hi AS
    SELECT incarnation, epoch_floor, mark::text = format('%s/%s/%s/%s', s.system_identifier, c.timeline_id, d.oid,
               'hi_one'::regnamespace::oid) AS mark_is_ours
      FROM hi_one.belay_hub, pg_control_system() AS s, pg_control_checkpoint() AS c, pg_database AS d
     WHERE d.datname = current_database();
SELECT * FROM test.hi;
SELECT belay.new_incarnation('hi_one');
SELECT * FROM test.hi;
SELECT count(*) AS old_uuid FROM hi_one.belay_hub JOIN before USING (uuid);

-- Without a name: of all hubs that the caller owns.
SET ROLE regress_belay_hi;
SELECT belay.new_incarnation();
SELECT belay.new_incarnation(NULL);
RESET ROLE;
SELECT incarnation, epoch_floor FROM hi_one.belay_hub
UNION ALL SELECT incarnation, epoch_floor FROM hi_two.belay_hub;
SELECT test.error($$SELECT belay.new_incarnation('hi_none')$$);
CREATE ROLE regress_belay_hi_other;
SET ROLE regress_belay_hi_other;
SELECT test.error($$SELECT belay.new_incarnation('hi_one')$$);
SELECT belay.new_incarnation();
RESET ROLE;

-- SO-15: its numbers are above those of all earlier ones.
SELECT hi_two.enqueue_worker_work('{"ActivityExecute":{"name":"n"}}') IS NOT NULL AS sent;
SELECT id >> 40 AS incarnation, id & 1099511627775 AS number FROM hi_two.worker_queue;
SELECT relname, last_value >> 40 AS incarnation
  FROM pg_class AS c, pg_sequence_last_value(c.oid) AS last_value
 WHERE relnamespace = 'hi_one'::regnamespace AND relkind = 'S' ORDER BY relname;
-- A sequence that fell behind its rows is reported, and set right by the next incarnation; an integer one by its table.
SELECT setval('hi_two.worker_queue_id', 5);
SELECT hi_two.create_task('q', p_capabilities => ARRAY['a']) IS NOT NULL AS made;
SELECT hi_two.create_task('q', p_capabilities => ARRAY['b']) IS NOT NULL AS made;
SELECT setval('hi_two.capability_sets_id', 1);
SELECT * FROM belay.check_hub('hi_two');
SELECT belay.new_incarnation('hi_two');
SELECT * FROM belay.check_hub('hi_two');
SELECT hi_two.create_task('q', p_capabilities => ARRAY['c']) IS NOT NULL AS made;
SELECT id FROM hi_two.capability_sets ORDER BY id;
SELECT last_value >> 40 AS incarnation FROM hi_two.worker_queue_id;

-- Rolled back, it never was.
BEGIN;
SELECT belay.new_incarnation('hi_one');
SELECT hi_one.pause_hub();
ROLLBACK;
SELECT hi_one.resume_hub();
SELECT * FROM test.hi;

-- A hub that finds itself elsewhere (here: a mark changed by hand) begins a new incarnation at the first call
-- that writes, and once. Reading is not enough.
UPDATE hi_one.belay_hub SET mark = '1/1/1/1', options = '{"slot_count": "3"}';
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT name, paused FROM belay.hubs WHERE name = 'hi_one';
SELECT test.option('hi_one', 'slot_count');
SELECT * FROM belay.check_hub('hi_one');
SELECT * FROM test.hi;
SELECT hi_one.pause_hub('worker');
SELECT * FROM test.hi;
SELECT hi_one.resume_hub('worker');
SELECT * FROM test.hi;
SELECT options FROM hi_one.belay_hub;
-- Nothing happens in a read-only transaction.
UPDATE hi_one.belay_hub SET mark = '1/1/1/1';
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
BEGIN READ ONLY;
SELECT test.sqlstate('SELECT hi_one.pause_hub()');
COMMIT;
SELECT * FROM test.hi;
-- If the call fails, the next one begins it.
SELECT test.sqlstate($$SELECT hi_one.pause_hub('nonsense')$$);
SELECT * FROM test.hi;
SELECT hi_one.pause_hub();
SELECT * FROM test.hi;
-- Every part of the mark counts.
CREATE PROCEDURE test.hi_shift(part int) LANGUAGE sql AS $$
    UPDATE hi_one.belay_hub
       SET mark = (SELECT string_agg(CASE WHEN n = part THEN '7' ELSE p END, '/' ORDER BY n)
                     FROM unnest(string_to_array(mark::text, '/')) WITH ORDINALITY AS u(p, n))::belay.hub_mark
$$;
CALL test.hi_shift(1);
\c -
SELECT hi_one.pause_hub();
CALL test.hi_shift(2);
\c -
SELECT hi_one.pause_hub();
CALL test.hi_shift(3);
\c -
SELECT hi_one.pause_hub();
CALL test.hi_shift(4);
\c -
SELECT hi_one.pause_hub();
SELECT * FROM test.hi;

-- The text of a mark: system identifier, timeline, database, schema.
SELECT '18446744073709551615/4294967295/0/12'::belay.hub_mark;
SELECT * FROM test.expect('22P02',
    $$SELECT ''::belay.hub_mark$$, $$SELECT '1/2/3'::belay.hub_mark$$, $$SELECT '1/2/3/4/'::belay.hub_mark$$,
    $$SELECT '1/2/3/4/5'::belay.hub_mark$$, $$SELECT ' 1/2/3/4'::belay.hub_mark$$, $$SELECT '1/-2/3/4'::belay.hub_mark$$,
    $$SELECT '1/4294967296/3/4'::belay.hub_mark$$, $$SELECT '18446744073709551616/1/1/1'::belay.hub_mark$$,
    $$SELECT '1//3/4'::belay.hub_mark$$, $$SELECT 'one/2/3/4'::belay.hub_mark$$);
SELECT belay.hub_mark_send('1/2/3/4');

DROP PROCEDURE test.hi_shift(int);
DROP VIEW test.hi;
SET ROLE regress_belay_hi;
SELECT belay.drop_hub('hi_one');
SELECT belay.drop_hub('hi_two');
RESET ROLE;
CALL test.drop_role('regress_belay_hi');
DROP ROLE regress_belay_hi_other;
