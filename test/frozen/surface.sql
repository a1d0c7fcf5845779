-- What programs call and read: functions of hub "old" and of schema belay, views, composite types, settings, hub options.
-- One row for each, with what must not change: arguments in order, how many of them have to be given, columns of the result.
SELECT 'function' AS kind, n.nspname || '.' || p.proname AS name,
       ARRAY(SELECT concat_ws(' ', a.name, format_type(a.type, NULL))
               FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes) WITH ORDINALITY AS a (type, name, mode, nr)
              WHERE coalesce(a.mode, 'i') IN ('i', 'b', 'v') ORDER BY a.nr) AS arguments,
       p.pronargs - p.pronargdefaults AS required,
       format_type(p.prorettype, NULL) ||
       ARRAY(SELECT concat_ws(' ', a.name, format_type(a.type, NULL))
               FROM unnest(p.proallargtypes, p.proargnames, p.proargmodes) WITH ORDINALITY AS a (type, name, mode, nr)
              WHERE a.mode IN ('o', 't', 'b') ORDER BY a.nr) AS results
  FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
 WHERE n.nspname IN ('old', 'belay') AND p.prorettype <> 'language_handler'::regtype
UNION ALL
SELECT CASE c.relkind WHEN 'v' THEN 'view' ELSE 'type' END, n.nspname || '.' || c.relname, '{}', 0,
       ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute AS a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname IN ('old', 'belay') AND c.relkind IN ('v', 'c')
UNION ALL
SELECT 'setting', name, '{}', 0, ARRAY[vartype] FROM pg_catalog.pg_settings WHERE name LIKE 'belay.%'
UNION ALL
SELECT 'option', option, '{}', 0, '{}' FROM belay.hub_options WHERE hub = 'old'
 ORDER BY 1, 2, 3
