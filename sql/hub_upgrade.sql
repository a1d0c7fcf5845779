-- serial: DROP EXTENSION locks the tables of every hub.
-- belay.upgrade_hub brings a hub made by an older release to this one. Steps of versions are run by
-- the cluster test upgrade_test, which installs synthetic ones; here the hub has the current version.
\set VERBOSITY terse
\set SHOW_CONTEXT never

CALL test.create_owner('regress_belay_hu_owner');
CREATE ROLE regress_belay_hu_operator;
SET ROLE regress_belay_hu_owner;
SELECT belay.create_hub('hu_old');
SELECT belay.grant_hub('hu_old', 'regress_belay_hu_operator', 'operator');
-- It lacks a function and a view of this release.
DROP FUNCTION hu_old.list_expired_leases;
DROP VIEW hu_old.dead_letter_summary;
RESET ROLE;
SET ROLE regress_belay_hu_operator;
SELECT hu_old.pause_hub('worker', 'old');
RESET ROLE;

-- What a hub consists of, without its name.
CREATE FUNCTION test.hu_shape(hub name) RETURNS TABLE (line text) LANGUAGE sql AS $$
    SELECT replace(line, hub, '@hub@') FROM (
        SELECT format('function %s(%s) returns %s: %s %s %s %s', proname, pg_get_function_arguments(oid),
                      pg_get_function_result(oid), prosrc, provolatile, proparallel, obj_description(oid, 'pg_proc'))
          FROM pg_proc WHERE pronamespace = hub::regnamespace
        UNION ALL
        SELECT format('%s %s %s: %s', relkind, relname, reloptions, obj_description(oid, 'pg_class'))
          FROM pg_class WHERE relnamespace = hub::regnamespace AND relkind <> 'i'
        UNION ALL
        SELECT format('column %s.%s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                      a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
          FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
          LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
         WHERE c.relnamespace = hub::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT 'index ' || pg_get_indexdef(i.indexrelid) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
         WHERE c.relnamespace = hub::regnamespace
        UNION ALL
        SELECT format('constraint %s on %s %s', k.conname, c.relname, pg_get_constraintdef(k.oid))
          FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid WHERE c.relnamespace = hub::regnamespace
        UNION ALL
        SELECT format('view %s %s', relname, pg_get_viewdef(oid)) FROM pg_class
         WHERE relnamespace = hub::regnamespace AND relkind = 'v'
        UNION ALL
        SELECT format('sequence %s %s', relname, row(s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmax, s.seqmin,
                                                     s.seqcache, s.seqcycle))
          FROM pg_class AS c JOIN pg_sequence AS s ON s.seqrelid = c.oid WHERE c.relnamespace = hub::regnamespace
    ) AS shape (line)
$$;
CREATE TEMP TABLE old_shape AS SELECT line FROM test.hu_shape('hu_old');
CREATE TEMP TABLE old_row AS SELECT * FROM hu_old.belay_hub;
CREATE TEMP TABLE old_function AS SELECT oid, proname FROM pg_proc WHERE pronamespace = 'hu_old'::regnamespace;

-- Rolled back, it never was.
BEGIN;
SELECT belay.upgrade_hub('hu_old');
ROLLBACK;
SELECT line FROM test.hu_shape('hu_old') EXCEPT SELECT line FROM old_shape;

-- Only the owner upgrades.
SET ROLE regress_belay_hu_operator;
SELECT test.error($$SELECT belay.upgrade_hub('hu_old')$$);
SET ROLE regress_belay_hu_owner;
SELECT belay.upgrade_hub('hu_old');
SELECT is_current, owner, paused_queues FROM belay.hubs WHERE name = 'hu_old';
SELECT * FROM belay.check_hub('hu_old');
RESET ROLE;

-- HB-5: the rows are there,
SELECT incarnation, epoch_floor, options, h.created_at = o.created_at AS same_date
  FROM hu_old.belay_hub AS h JOIN old_row AS o USING (uuid, api, incarnation, epoch_floor, options);
-- the functions are the same objects, so views and grants on them stay,
SELECT o.proname AS lost FROM old_function AS o
 WHERE NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.oid = o.oid);
-- and the hub is what create_hub would make.
SET ROLE regress_belay_hu_owner;
SELECT belay.create_hub('hu_new');
SELECT belay.grant_hub('hu_new', 'regress_belay_hu_operator', 'operator');
RESET ROLE;
SELECT 'missing' AS what, line FROM (
    SELECT line FROM test.hu_shape('hu_new') EXCEPT SELECT line FROM test.hu_shape('hu_old')) AS m
UNION ALL
SELECT 'too much', line FROM (
    SELECT line FROM test.hu_shape('hu_old') EXCEPT SELECT line FROM test.hu_shape('hu_new')) AS m;
-- A role that had a level has what it gives now, and no role got anything else.
CREATE VIEW test.hu_grants AS
    SELECT n.nspname AS hub, p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' AS object,
           a.grantee::regrole::text AS grantee, a.privilege_type AS privilege
      FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace,
           aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
     WHERE n.nspname IN ('hu_old', 'hu_new')
    UNION ALL
    SELECT n.nspname, c.relname, a.grantee::regrole::text, a.privilege_type
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace,
           aclexplode(coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) AS a
     WHERE n.nspname IN ('hu_old', 'hu_new') AND c.relkind IN ('r', 'v', 'S')
    UNION ALL
    SELECT n.nspname, 'schema', a.grantee::regrole::text, a.privilege_type
      FROM pg_namespace AS n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a
     WHERE n.nspname IN ('hu_old', 'hu_new');
SELECT 'missing' AS what, m.* FROM (
    SELECT object, grantee, privilege FROM test.hu_grants WHERE hub = 'hu_new'
    EXCEPT SELECT object, grantee, privilege FROM test.hu_grants WHERE hub = 'hu_old') AS m
UNION ALL
SELECT 'too much', m.* FROM (
    SELECT object, grantee, privilege FROM test.hu_grants WHERE hub = 'hu_old'
    EXCEPT SELECT object, grantee, privilege FROM test.hu_grants WHERE hub = 'hu_new') AS m;
SET ROLE regress_belay_hu_operator;
SELECT hu_old.resume_hub();
RESET ROLE;

-- Once more does no harm.
CREATE TEMP TABLE new_function AS SELECT oid FROM pg_proc WHERE pronamespace = 'hu_old'::regnamespace;
CREATE TEMP TABLE new_shape AS SELECT line FROM test.hu_shape('hu_old');
SELECT belay.upgrade_hub('hu_old');
SELECT belay.upgrade_hub('hu_old');
SELECT count(*) AS replaced FROM new_function AS n WHERE NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.oid = n.oid);
SELECT line FROM test.hu_shape('hu_old') EXCEPT SELECT line FROM new_shape;
SELECT count(*) AS rows, count(o.uuid) AS same_uuid FROM hu_old.belay_hub AS h LEFT JOIN old_row AS o USING (uuid);
SELECT * FROM belay.check_hub('hu_old');

-- HB-5: live leases and their tokens stay valid: here a turn and an activity.
SELECT length(hu_new.start_orchestration('O', '', 'i'));
SELECT hu_new.enqueue_worker_work('{"ActivityExecute":{"instance":"i","execution_id":1,"id":1}}');
SELECT lock_token AS turn FROM hu_new.fetch_orchestration_item(600000) \gset
SELECT lock_token AS work FROM hu_new.fetch_work_item(600000) \gset
SELECT belay.upgrade_hub('hu_new');
SELECT hu_new.renew_orchestration_item_lock(:'turn', 600000), hu_new.renew_work_item_lock(:'work', 600000);
SELECT count(*) FROM hu_new.fetch_orchestration_item(1000);
SELECT hu_new.ack_worker(:'work', NULL, '{"ActivityCompleted":{"instance":"i","execution_id":1,"id":1,"result":""}}');
SELECT hu_new.ack_orchestration_item(:'turn', 1, '[]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1"}');
SELECT messages FROM hu_new.fetch_orchestration_item(1);

-- What was removed or changed by mistake comes back with an upgrade.
DROP FUNCTION hu_new.pause_hub(text, text);
GRANT EXECUTE ON FUNCTION hu_new.resume_hub(text) TO PUBLIC;
SELECT count(*) FROM belay.check_hub('hu_new');
SELECT belay.upgrade_hub('hu_new');
SELECT * FROM belay.check_hub('hu_new');

-- A hub made by a newer release is left alone.
UPDATE hu_new.belay_hub SET version = 1000000;
\c -
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT regexp_replace(test.error($$SELECT belay.upgrade_hub('hu_new')$$), 'knows \d+', 'knows N');
SELECT version FROM hu_new.belay_hub;
SELECT hu_new.pause_hub();

-- The extension cannot go while a hub exists.
SELECT test.sqlstate('DROP EXTENSION belay');

DROP VIEW test.hu_grants;
DROP FUNCTION test.hu_shape(name);
SELECT belay.drop_hub('hu_old');
SELECT belay.drop_hub('hu_new');
CALL test.drop_role('regress_belay_hu_owner');
CALL test.drop_role('regress_belay_hu_operator');
