-- A hostile schema: put before pg_catalog in the search_path, it shadows the functions, aggregates and operators that
-- belay could use by name.
--
-- Each shadow does what the original does, so that the tests' own statements still work, unless a statement of belay
-- calls it: then it raises 'hostile: ...'. A statement of belay is known by the context of the call: store statements
-- begin with /*belay*/, hub files name themselves.

CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;

-- The body of a shadow: the check, then the original. %1$s is what is shadowed, %2$s the original's result.
CREATE FUNCTION hostile.body(what text, original text) RETURNS text LANGUAGE sql AS $body$
    SELECT pg_catalog.format($$
DECLARE
    context pg_catalog.text;
BEGIN
    GET DIAGNOSTICS context = PG_CONTEXT;
    IF pg_catalog.strpos(context, '/*belay*/') OPERATOR(pg_catalog.>) 0
       OR pg_catalog.strpos(context, 'hub file "') OPERATOR(pg_catalog.>) 0 THEN
        RAISE EXCEPTION 'hostile: belay called %%', %1$L;
    END IF;
    %2$s;
END $$, what, original)
$body$;

CREATE TABLE hostile.shadowed (type oid PRIMARY KEY);
INSERT INTO hostile.shadowed
VALUES ('text'::regtype), ('name'::regtype), ('"char"'::regtype), ('bool'::regtype), ('int2'::regtype),
       ('int4'::regtype), ('int8'::regtype), ('numeric'::regtype), ('oid'::regtype), ('uuid'::regtype),
       ('bytea'::regtype), ('json'::regtype), ('jsonb'::regtype), ('timestamptz'::regtype), ('timestamp'::regtype),
       ('date'::regtype), ('interval'::regtype), ('text[]'::regtype), ('int4[]'::regtype), ('int8[]'::regtype),
       ('float8'::regtype);

-- Functions whose arguments and result are of these types.
DO $do$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT p.oid, p.proname, p.pronargs, p.provolatile, p.proisstrict, pg_catalog.format_type(p.prorettype, NULL) AS result,
               (SELECT coalesce(pg_catalog.string_agg(pg_catalog.format_type(t, NULL), ', ' ORDER BY n), '')
                  FROM pg_catalog.unnest(p.proargtypes) WITH ORDINALITY AS a(t, n)) AS arguments,
               (SELECT coalesce(pg_catalog.string_agg('$' || n, ', '), '')
                  FROM pg_catalog.generate_series(1, p.pronargs) AS n) AS parameters
          FROM pg_catalog.pg_proc AS p
         WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND NOT p.proretset
           AND p.provariadic = 0 AND p.proargmodes IS NULL
           AND p.prorettype IN (SELECT type FROM hostile.shadowed)
           AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proargtypes) AS t
                            WHERE t NOT IN (SELECT type FROM hostile.shadowed))
           -- A cast, or a name that means a type.
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_cast AS c WHERE c.castfunc = p.oid)
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.typname = p.proname)
    LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.%I(%s) RETURNS %s LANGUAGE plpgsql %s %s AS %L',
            f.proname, f.arguments, f.result,
            CASE f.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END,
            CASE WHEN f.proisstrict THEN 'STRICT' ELSE '' END,
            hostile.body(f.proname || '(' || f.arguments || ')',
                         pg_catalog.format('RETURN pg_catalog.%I(%s)', f.proname, f.parameters)));
    END LOOP;
END $do$;

-- Operators on these types, with all that the planner may know of them left out.
DO $do$
DECLARE
    o record;
BEGIN
    FOR o IN
        SELECT p.oid, p.oprname, p.oprleft, pg_catalog.format_type(p.oprleft, NULL) AS l,
               pg_catalog.format_type(p.oprright, NULL) AS r, pg_catalog.format_type(p.oprresult, NULL) AS result
          FROM pg_catalog.pg_operator AS p
         WHERE p.oprnamespace = 'pg_catalog'::regnamespace
           AND (p.oprleft = 0 OR p.oprleft IN (SELECT type FROM hostile.shadowed))
           AND p.oprright IN (SELECT type FROM hostile.shadowed)
           AND p.oprresult IN (SELECT type FROM hostile.shadowed)
    LOOP
        IF o.oprleft = 0 THEN
            EXECUTE pg_catalog.format('CREATE FUNCTION hostile.operator_%s(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE STRICT AS %L',
                o.oid, o.r, o.result,
                hostile.body(o.oprname || ' ' || o.r, pg_catalog.format('RETURN OPERATOR(pg_catalog.%s) $1', o.oprname)));
            EXECUTE pg_catalog.format('CREATE OPERATOR hostile.%s (FUNCTION = hostile.operator_%s, RIGHTARG = %s)',
                o.oprname, o.oid, o.r);
        ELSE
            EXECUTE pg_catalog.format('CREATE FUNCTION hostile.operator_%s(%s, %s) RETURNS %s LANGUAGE plpgsql IMMUTABLE STRICT AS %L',
                o.oid, o.l, o.r, o.result,
                hostile.body(o.l || ' ' || o.oprname || ' ' || o.r,
                             pg_catalog.format('RETURN $1 OPERATOR(pg_catalog.%s) $2', o.oprname)));
            EXECUTE pg_catalog.format('CREATE OPERATOR hostile.%s (FUNCTION = hostile.operator_%s, LEFTARG = %s, RIGHTARG = %s)',
                o.oprname, o.oid, o.l, o.r);
        END IF;
    END LOOP;
END $do$;

-- Functions that take anything, for the types that belay would give them.
DO $do$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT * FROM (VALUES
            ('jsonb_build_object(text, text)', 'jsonb', '$1, $2'),
            ('jsonb_build_object(text, int4)', 'jsonb', '$1, $2'),
            ('jsonb_build_object(text, int8)', 'jsonb', '$1, $2'),
            ('jsonb_build_object(text, jsonb)', 'jsonb', '$1, $2'),
            ('to_jsonb(anyelement)', 'jsonb', '$1'),
            ('to_json(anyelement)', 'json', '$1'),
            ('concat(text, text)', 'text', '$1, $2'),
            ('format(text, text)', 'text', '$1, $2'),
            ('jsonb_set(jsonb, text[], jsonb)', 'jsonb', '$1, $2, $3'),
            ('cardinality(anyarray)', 'int4', '$1'),
            ('array_length(anyarray, int4)', 'int4', '$1, $2'),
            ('array_append(anyarray, anyelement)', 'anyarray', '$1, $2'),
            ('pg_advisory_xact_lock(int8)', 'void', '$1'),
            ('pg_notify(text, text)', 'void', '$1, $2')) AS v (signature, result, parameters)
    LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.%s RETURNS %s LANGUAGE plpgsql VOLATILE AS %L',
            f.signature, f.result,
            hostile.body(f.signature,
                CASE f.result WHEN 'void' THEN 'PERFORM ' ELSE 'RETURN ' END
                || pg_catalog.format('pg_catalog.%s(%s)', pg_catalog.split_part(f.signature, '(', 1), f.parameters)));
    END LOOP;
    FOR f IN
        SELECT * FROM (VALUES
            ('unnest(anyarray)', 'anyelement', '$1'),
            ('generate_series(int4, int4)', 'int4', '$1, $2'),
            ('generate_series(int8, int8)', 'int8', '$1, $2'),
            ('jsonb_array_elements(jsonb)', 'jsonb', '$1'),
            ('jsonb_array_elements_text(jsonb)', 'text', '$1'),
            ('jsonb_object_keys(jsonb)', 'text', '$1')) AS v (signature, result, parameters)
    LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.%s RETURNS SETOF %s LANGUAGE plpgsql IMMUTABLE AS %L',
            f.signature, f.result,
            hostile.body(f.signature, pg_catalog.format('RETURN QUERY SELECT * FROM pg_catalog.%s(%s)',
                                                        pg_catalog.split_part(f.signature, '(', 1), f.parameters)));
    END LOOP;
END $do$;

-- Aggregates: the state goes through a shadow of the identity.
DO $do$
DECLARE
    t text;
BEGIN
    EXECUTE 'CREATE FUNCTION hostile.count_one(int8) RETURNS int8 LANGUAGE plpgsql AS '
        || pg_catalog.quote_literal(hostile.body('count(*)', 'RETURN $1 OPERATOR(pg_catalog.+) 1'));
    EXECUTE 'CREATE FUNCTION hostile.count_any(int8, anyelement) RETURNS int8 LANGUAGE plpgsql AS '
        || pg_catalog.quote_literal(hostile.body('count(x)',
            'RETURN $1 OPERATOR(pg_catalog.+) CASE WHEN $2 IS NULL THEN 0 ELSE 1 END'));
    CREATE AGGREGATE hostile.count(*) (SFUNC = hostile.count_one, STYPE = int8, INITCOND = '0');
    FOR t IN SELECT pg_catalog.format_type(type, NULL) FROM hostile.shadowed LOOP
        EXECUTE pg_catalog.format('CREATE AGGREGATE hostile.count(%s) (SFUNC = hostile.count_any, STYPE = int8, INITCOND = %L)', t, '0');
    END LOOP;
    FOREACH t IN ARRAY '{int2,int4,int8,numeric,text,timestamptz,interval,date,float8,oid}'::text[] LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.least_of(%s, %s) RETURNS %s LANGUAGE plpgsql STRICT AS %L',
            t, t, t, hostile.body('min(' || t || ')', 'RETURN LEAST($1, $2)'));
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.greatest_of(%s, %s) RETURNS %s LANGUAGE plpgsql STRICT AS %L',
            t, t, t, hostile.body('max(' || t || ')', 'RETURN GREATEST($1, $2)'));
        EXECUTE pg_catalog.format('CREATE AGGREGATE hostile.min(%s) (SFUNC = hostile.least_of, STYPE = %s)', t, t);
        EXECUTE pg_catalog.format('CREATE AGGREGATE hostile.max(%s) (SFUNC = hostile.greatest_of, STYPE = %s)', t, t);
    END LOOP;
    FOREACH t IN ARRAY '{int4=int8,int8=numeric,numeric=numeric,interval=interval}'::text[] LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.add_up(%2$s, %1$s) RETURNS %2$s LANGUAGE plpgsql AS %3$L',
            pg_catalog.split_part(t, '=', 1), pg_catalog.split_part(t, '=', 2),
            hostile.body('sum(' || pg_catalog.split_part(t, '=', 1) || ')',
                         'RETURN CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1 ELSE $1 OPERATOR(pg_catalog.+) $2 END'));
        EXECUTE pg_catalog.format('CREATE AGGREGATE hostile.sum(%s) (SFUNC = hostile.add_up, STYPE = %s)',
            pg_catalog.split_part(t, '=', 1), pg_catalog.split_part(t, '=', 2));
    END LOOP;
    FOREACH t IN ARRAY '{bool_and=AND,bool_or=OR,every=AND}'::text[] LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION hostile.%1$s_step(bool, bool) RETURNS bool LANGUAGE plpgsql STRICT AS %2$L',
            pg_catalog.split_part(t, '=', 1), hostile.body(pg_catalog.split_part(t, '=', 1),
                pg_catalog.format('RETURN $1 %s $2', pg_catalog.split_part(t, '=', 2))));
        EXECUTE pg_catalog.format('CREATE AGGREGATE hostile.%1$s(bool) (SFUNC = hostile.%1$s_step, STYPE = bool)',
            pg_catalog.split_part(t, '=', 1));
    END LOOP;
    EXECUTE 'CREATE FUNCTION hostile.collect(anyarray, anynonarray) RETURNS anyarray LANGUAGE plpgsql AS '
        || pg_catalog.quote_literal(hostile.body('array_agg', 'RETURN pg_catalog.array_append($1, $2)'));
    CREATE AGGREGATE hostile.array_agg(anynonarray) (SFUNC = hostile.collect, STYPE = anyarray);
    EXECUTE 'CREATE FUNCTION hostile.join_up(text, text, text) RETURNS text LANGUAGE plpgsql AS '
        || pg_catalog.quote_literal(hostile.body('string_agg',
            'RETURN CASE WHEN $2 IS NULL THEN $1 WHEN $1 IS NULL THEN $2 ELSE pg_catalog.concat($1, $3, $2) END'));
    CREATE AGGREGATE hostile.string_agg(text, text) (SFUNC = hostile.join_up, STYPE = text);
END $do$;

-- Tables with the names of a hub's tables, and nothing in them.
CREATE TABLE hostile.belay_hub ();

-- It works: harmless to others, and an error in a statement of belay.
DO $do$
DECLARE
    statement text;
    caught int := 0;
    statements text[] := ARRAY[
        'SELECT 1 = 1', 'SELECT 1::int8 < 2::int8', 'SELECT ''a'' || ''b''', 'SELECT -(now() - now())',
        'SELECT ''{}''::jsonb -> ''a''', 'SELECT ''{}''::jsonb - ''a''::text', 'SELECT count(*) FROM pg_class',
        'SELECT max(n) FROM (VALUES (1), (2)) AS v(n)', 'SELECT count(n) FROM (VALUES (1)) AS v(n)', 'SELECT sum(n) FROM (VALUES (1)) AS v(n)', 'SELECT gen_random_uuid()',
        'SELECT clock_timestamp()', 'SELECT jsonb_set(''{}'', ''{a}'', ''1'')', 'SELECT to_jsonb(''a''::text)',
        'SELECT nullif(1, 2)', 'SELECT 1 WHERE 1 IN (1, 2)', 'SELECT 1 BETWEEN 0 AND 2',
        'SELECT unnest(''{1}''::int[])', 'SELECT array_agg(1)', 'SELECT string_agg(''a'', ''b'')'];
BEGIN
    SET LOCAL search_path = hostile, pg_catalog, public;
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
        BEGIN
            EXECUTE '/*belay*/ ' || statement;
            RAISE WARNING 'test/hostile.sql does not shadow: %', statement;
        EXCEPTION WHEN raise_exception THEN
            caught := caught + 1;
        END;
    END LOOP;
    IF caught <> pg_catalog.array_length(statements, 1) THEN
        RAISE EXCEPTION 'test/hostile.sql is not hostile enough';
    END IF;
END $do$;
