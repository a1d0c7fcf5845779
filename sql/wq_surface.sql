-- The worker queue as callers and readers see it: functions, views, tables.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_surface');

-- Arguments with their defaults, and results.
\pset format unaligned
SELECT format(E'%s(%s)\n  %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) AS functions
  FROM pg_proc AS p
 WHERE p.pronamespace = 'wq_surface'::regnamespace
   AND (p.proname ~ 'worker|work_item|session|dead_letter' OR p.proname = 'cancel_activities')
 ORDER BY p.proname COLLATE "C";
\pset format aligned

-- Only the lists are STABLE; none is STRICT, a NULL token is QB001; none runs in parallel workers or with its
-- owner's rights.
SELECT p.proname, p.provolatile FROM pg_proc AS p
 WHERE p.pronamespace = 'wq_surface'::regnamespace AND p.provolatile <> 'v'
   AND (p.proname ~ 'worker|work_item|session|dead_letter' OR p.proname = 'cancel_activities')
 ORDER BY p.proname COLLATE "C";
SELECT p.proname FROM pg_proc AS p
 WHERE p.pronamespace = 'wq_surface'::regnamespace AND (p.proisstrict OR p.proparallel <> 'u' OR p.prosecdef);

-- What readers see.
\pset format unaligned
SELECT format(E'%s\n  %s', a.attrelid::regclass, string_agg(a.attname || ' ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attnum)) AS relations
  FROM pg_attribute AS a
 WHERE a.attrelid::regclass::text COLLATE "C" IN ('wq_surface.work_items', 'wq_surface.sessions', 'wq_surface.dead_letters', 'wq_surface.dead_letter_summary')
   AND a.attnum > 0 AND NOT a.attisdropped
 GROUP BY a.attrelid ORDER BY a.attrelid::regclass::text COLLATE "C";
\pset format aligned

-- Every writer states the time: no timestamptz may be null, and none has a default.
SELECT a.attrelid::regclass, a.attname, a.attnotnull, a.atthasdef
  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'wq_surface'::regnamespace AND c.relkind = 'r'
   AND c.relname::text IN ('worker_queue', 'orchestrator_queue', 'sessions', 'dead_letters') AND a.atttypid = 'timestamptz'::regtype AND (a.atthasdef OR NOT a.attnotnull);

-- No foreign keys, no triggers.
SELECT conname FROM pg_constraint WHERE connamespace = 'wq_surface'::regnamespace AND contype = 'f';
SELECT t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid WHERE c.relnamespace = 'wq_surface'::regnamespace;

-- IX-1: what a lease changes is in no index, so that lock, renew and abandon are HOT updates.
SELECT i.indexrelid::regclass, a.attname
  FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
 WHERE i.indrelid = 'wq_surface.worker_queue'::regclass
   AND a.attname::text IN ('locked_until', 'lock_token', 'nonce_hi', 'nonce_lo', 'lease_inc', 'attempt_count', 'locked_by');

-- CA-5: instance, execution and activity are indexed together where an instance is given.
SELECT pg_get_indexdef('wq_surface.worker_queue_activity'::regclass);

-- DM-3: ids are not cached by a connection.
SELECT sequencename, data_type, cache_size, cycle FROM pg_sequences
 WHERE schemaname = 'wq_surface' AND sequencename::text IN ('worker_queue_id', 'orchestrator_queue_id', 'dead_letters_id')
 ORDER BY sequencename COLLATE "C";

-- Queue tables have their own autovacuum settings.
SELECT relname, array_to_string(reloptions, ', ') AS options FROM pg_class
 WHERE relnamespace = 'wq_surface'::regnamespace AND relname::text IN ('worker_queue', 'orchestrator_queue', 'sessions')
 ORDER BY relname COLLATE "C";

SELECT belay.drop_hub('wq_surface');
