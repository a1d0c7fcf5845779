-- What a fresh hub "app" and schema belay consist of, for generate.sh. Records end with 0x1e, fields
-- with 0x1f, elements of lists with 0x1d. Nothing stays: the transaction is rolled back.
\set ON_ERROR_STOP on
\set QUIET on
\o /dev/null
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION belay;
SELECT belay.create_hub('app');
DO $$
DECLARE
    word text;
BEGIN
    FOREACH word IN ARRAY ARRAY['client', 'worker', 'operator', 'monitor'] LOOP
        EXECUTE format('CREATE ROLE %I', 'belay_reference_' || word);
        PERFORM belay.grant_hub('app', ('belay_reference_' || word)::name, word);
    END LOOP;
END $$;
-- The lowest levels that have a right: worker has those of client, operator those of worker and monitor.
CREATE FUNCTION pg_temp.lowest(has boolean[]) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(nullif(concat_ws(', ', CASE WHEN has[1] THEN 'client' WHEN has[2] THEN 'worker' END,
                                           CASE WHEN has[4] THEN 'monitor' WHEN has[3] AND NOT has[2] THEN 'operator' END), ''), 'owner')
$$;
CREATE FUNCTION pg_temp.short_type(type text) RETURNS text LANGUAGE sql AS $$
    SELECT replace(type, 'timestamp with time zone', 'timestamptz')
$$;
\o
\pset format unaligned
\pset tuples_only on
\pset fieldsep '\x1f'
\pset recordsep '\x1e'

-- function, name, kind, comment, levels, arguments (name, type, default), result columns or type
SELECT 'function',
       n.nspname || '.' || p.proname,
       CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END,
       coalesce(obj_description(p.oid, 'pg_proc'), ''),
       CASE n.nspname WHEN 'app' THEN pg_temp.lowest(ARRAY(
           SELECT has_function_privilege('belay_reference_' || l, p.oid, 'EXECUTE')
             FROM unnest(ARRAY['client', 'worker', 'operator', 'monitor']) WITH ORDINALITY AS x (l, n) ORDER BY n))
           ELSE '' END,
       coalesce((SELECT string_agg(concat_ws(E'\x1c', coalesce(p.proargnames[i], ''),
                                             pg_temp.short_type(format_type(coalesce(p.proallargtypes[i], p.proargtypes[i - 1]), NULL)),
                                             coalesce(regexp_replace(pg_get_function_arg_default(p.oid, i), '::[a-z \[\]]+$', ''), '')),
                                   E'\x1d' ORDER BY i)
                   FROM generate_series(1, p.pronargs) AS i), ''),
       CASE WHEN p.prokind = 'p' THEN ''
            ELSE regexp_replace(regexp_replace(pg_temp.short_type(pg_get_function_result(p.oid)), '^TABLE\(', 'table ('), '^SETOF ', 'set of ') END
  FROM pg_proc AS p
  JOIN pg_namespace AS n ON n.oid = p.pronamespace
 WHERE n.nspname IN ('app', 'belay')
 ORDER BY 2, oidvectortypes(p.proargtypes);
\echo -n '\x1e'

-- type, name, comment, columns (name, type, comment)
SELECT 'type',
       n.nspname || '.' || t.typname,
       coalesce(obj_description(t.oid, 'pg_type'), ''),
       (SELECT string_agg(concat_ws(E'\x1c', a.attname, pg_temp.short_type(format_type(a.atttypid, NULL)),
                                    coalesce(col_description(c.oid, a.attnum), '')), E'\x1d' ORDER BY a.attnum)
          FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
  FROM pg_type AS t
  JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind = 'c'
  JOIN pg_namespace AS n ON n.oid = t.typnamespace
 WHERE n.nspname IN ('app', 'belay')
 ORDER BY 2;
\echo -n '\x1e'

-- view, name, comment, levels, columns (name, type, comment)
SELECT 'view',
       n.nspname || '.' || c.relname,
       coalesce(obj_description(c.oid, 'pg_class'), ''),
       CASE n.nspname WHEN 'app' THEN pg_temp.lowest(ARRAY(
           SELECT has_table_privilege('belay_reference_' || l, c.oid, 'SELECT')
             FROM unnest(ARRAY['client', 'worker', 'operator', 'monitor']) WITH ORDINALITY AS x (l, n) ORDER BY n))
           ELSE '' END,
       (SELECT string_agg(concat_ws(E'\x1c', a.attname, pg_temp.short_type(format_type(a.atttypid, NULL)),
                                    coalesce(col_description(c.oid, a.attnum), '')), E'\x1d' ORDER BY a.attnum)
          FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
  FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname IN ('app', 'belay') AND c.relkind = 'v'
 ORDER BY 2;
\echo -n '\x1e'

-- setting, name, default, range, who, description
SELECT 'setting',
       s.name,
       CASE WHEN s.unit = 'ms' THEN s.boot_val::bigint / 1000 || ' s'
            WHEN s.unit = 'kB' THEN s.boot_val::bigint / 1024 || ' MB' ELSE s.boot_val END,
       CASE WHEN s.vartype <> 'integer' THEN ''
            WHEN s.unit = 'ms' THEN s.min_val::bigint / 1000 || ' to ' || s.max_val::bigint / 1000 || ' s'
            WHEN s.unit = 'kB' THEN s.min_val::bigint / 1024 || ' to ' || s.max_val::bigint / 1024 || ' MB'
            ELSE s.min_val || ' to ' || s.max_val END,
       CASE s.context WHEN 'user' THEN 'any user, per session or transaction'
                      WHEN 'superuser' THEN 'superuser, per session or configuration'
                      WHEN 'sighup' THEN 'server configuration, reload'
                      WHEN 'postmaster' THEN 'server configuration, restart; only where preloaded' END,
       s.short_desc || ' ' || s.extra_desc
  FROM pg_settings AS s
 WHERE s.name LIKE 'belay.%'
 ORDER BY 2;
\echo -n '\x1e'

-- option, name, default
SELECT 'option', o.option, coalesce(o.value, 'off') FROM belay.hub_options AS o WHERE o.hub = 'app' ORDER BY 2;
\echo -n '\x1e'

-- duty, name
SELECT 'duty', r.duty FROM app.reconcile() AS r ORDER BY 2;
ROLLBACK;
