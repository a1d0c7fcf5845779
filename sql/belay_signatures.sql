-- Api belay: one convention for the arguments and columns of all functions of a hub.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('belay_signatures');

-- A row for each argument and result column. Front door: the functions of tasks and orchestrations that people meet first.
CREATE TEMP TABLE part AS
SELECT p.oid, p.proname::text AS function, mode IN ('i', 'b') AS is_argument, mode, name, format_type(type, NULL) AS type,
       nr, p.pronargs, nr > p.pronargs - p.pronargdefaults AS has_default,
       p.pronargs > 0 AND p.proargnames[1] !~ '^p_' AS is_front_door
  FROM pg_proc AS p, unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes, p.proargnames) WITH ORDINALITY AS a (type, given_mode, name, nr),
       coalesce(given_mode, 'i') AS mode
 WHERE p.pronamespace = 'belay_signatures'::regnamespace;

-- DR-7: every argument and column has a name, and none says out_.
SELECT function, nr FROM part WHERE coalesce(name, '') = '' OR name LIKE 'out\_%';
-- Arguments of the front door have plain names, all others begin with p_; columns never do.
SELECT function, name FROM part WHERE is_argument AND mode = 'i' AND (name LIKE 'p\_%') = is_front_door ORDER BY 1, 2;
SELECT function, name FROM part WHERE NOT is_argument AND name LIKE 'p\_%';
-- The clock is last and optional, and the front door has none.
SELECT function FROM part WHERE name LIKE '%now%' AND (name <> 'p_now_ms' OR type <> 'bigint' OR nr <> pronargs OR NOT has_default);
SELECT count(*) > 50 AS have_a_clock FROM part WHERE name = 'p_now_ms';
-- One word per idea: none of the words that others replace.
SELECT function, name FROM part
 WHERE name ~ '(^|_)(lane|lanes|job|jobs|item_count|max_count)(_|$)' OR name IN ('p_instance', 'p_owner', 'p_epoch', 'p_max', 'p_count', 'p_why');
-- Arguments of one name have one type, and so have columns, with these exceptions.
SELECT is_argument, name, array_agg(DISTINCT type ORDER BY type) AS types FROM part
 WHERE NOT is_front_door AND mode <> 'b' GROUP BY is_argument, name HAVING count(DISTINCT type) > 1 ORDER BY is_argument DESC, name COLLATE "C";
-- Durations and times of the front door are types, not numbers.
SELECT function, name, type FROM part WHERE is_front_door AND name ~ '_ms$';
SELECT DISTINCT name, type FROM part WHERE is_front_door AND is_argument AND name IN ('delay', 'lease', 'by', 'retry_in', 'timeout', 'at') ORDER BY name, type;
-- Functions that return tasks to workers return one of two types, defined once.
SELECT t.typname AS type, string_agg(p.proname, ' ' ORDER BY p.proname COLLATE "C") AS functions
  FROM pg_proc AS p JOIN pg_type AS t ON t.oid = p.prorettype
 WHERE p.pronamespace = 'belay_signatures'::regnamespace AND t.typnamespace = p.pronamespace
 GROUP BY t.typname ORDER BY t.typname COLLATE "C";
SELECT belay.drop_hub('belay_signatures');
