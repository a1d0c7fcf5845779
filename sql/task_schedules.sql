-- Schedules: tasks that are created when a clock shows certain times.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_sc');
SELECT belay.set_hub_option('task_sc', 'max_clock_skew', '0');
SET search_path = task_sc, public;
CREATE FUNCTION pg_temp.ms(t text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT (extract(epoch FROM t::timestamptz) * 1000)::bigint $$;
CREATE FUNCTION pg_temp.at(ms bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT to_char(to_timestamp(ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') $$;
CREATE VIEW pg_temp.made AS SELECT queue, kind, payload, pg_temp.at(split_part(dedup_key, ':', 3)::bigint) AS due, pg_temp.at(created_at_ms) AS created, state FROM task_sc.tasks ORDER BY dedup_key;

-- SC-5: a task at each due time, with the key schedule:<name>:<due>. Not before, and once, however often any session runs the duty.
SELECT pg_temp.at(create_schedule('report', '30 8 * * mon-fri', '{"queue": "reports", "kind": "daily", "payload": {"a": 1}, "priority": 7, "capabilities": ["pdf"], "policy": {"max_attempts": 2}}', p_now_ms => pg_temp.ms('2024-03-01 08:30 UTC')));
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-04 08:29:59 UTC'));
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-04 08:30:05 UTC'));
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-04 08:30:05 UTC'));
SELECT * FROM pg_temp.made;
SELECT dedup_key = 'schedule:report:' || pg_temp.ms('2024-03-04 08:30 UTC') AS key, priority, policy FROM tasks;
SELECT name, cron, time_zone, catch_up, task, paused, pg_temp.at(next_due_ms) AS next, pg_temp.at(last_due_ms) AS last, last_error, pg_temp.at(created_at_ms) AS created FROM list_schedules();
-- The key holds even if the schedule forgets.
UPDATE schedules SET next_due_ms = pg_temp.ms('2024-03-04 08:30 UTC'), next_run_ms = 0;
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-04 08:30:30 UTC'));
SELECT count(*) FROM tasks;
SELECT drop_schedule('report');
SELECT count(*) FROM list_schedules();
DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-6: after a downtime: one creates the latest, all each up to 1000, none only what is on time.
SELECT create_schedule(c, '*/10 * * * *', jsonb_build_object('queue', c), p_catch_up => c, p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')) IS NOT NULL AS made FROM unnest('{one,all,none}'::text[]) AS c;
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-01 12:35 UTC'));
SELECT queue, due FROM pg_temp.made ORDER BY queue, due;
SELECT name, pg_temp.at(next_due_ms) AS next, pg_temp.at(last_due_ms) AS last FROM list_schedules();
DELETE FROM tasks; DELETE FROM dedup_keys;
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-01 12:40:59 UTC'));
SELECT queue, due FROM pg_temp.made ORDER BY queue, due;
DELETE FROM tasks; DELETE FROM dedup_keys;
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-06-01 12:41 UTC'));
SELECT queue, count(*), min(due), max(due) FROM pg_temp.made GROUP BY queue ORDER BY queue;
DELETE FROM tasks; DELETE FROM dedup_keys;
-- However long ago that was: the time of a call is not that of the downtime, and it can be cancelled.
SELECT create_schedule('ages', '0 0 * * *', '{"queue": "ages"}', p_catch_up => 'all', p_now_ms => 1000) IS NOT NULL AS made;
SET statement_timeout = '20s';
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('250000-01-01 12:00 UTC'));
RESET statement_timeout;
SELECT count(*), max(split_part(dedup_key, ':', 3)::bigint) - min(split_part(dedup_key, ':', 3)::bigint) = 999 * 86400000::bigint AS in_a_row FROM tasks WHERE queue = 'ages';
SELECT drop_schedule('ages'); UPDATE schedules SET next_due_ms = pg_temp.ms('2024-06-01 12:50 UTC'), next_run_ms = pg_temp.ms('2024-06-01 12:50 UTC'); DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-7: a paused schedule rests; when it goes on, what it has missed is left out. Both may be repeated.
SELECT pause_schedule('all'), pause_schedule('all'), drop_schedule('one'), drop_schedule('none');
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-06-01 13:30 UTC'));
SELECT pg_temp.at(resume_schedule('all', pg_temp.ms('2024-06-01 13:35 UTC'))), pg_temp.at(resume_schedule('all', pg_temp.ms('2024-06-01 13:55 UTC')));
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-06-01 13:40 UTC'));
SELECT queue, due FROM pg_temp.made;
SELECT drop_schedule('all'); DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-3: time zones by name, as the server knows them; where clocks go forward a time that is left out comes later by the length of the change, where they go back it comes once.
SELECT z, pg_temp.at(create_schedule(z, '30 2 * * *', '{"queue": "z"}', z, 'all', p_now_ms => pg_temp.ms(t))) AS first FROM (VALUES ('Europe/Berlin', '2024-03-30 12:00 UTC'), ('America/New_York', '2024-11-02 12:00 UTC'), ('Asia/Kolkata', '2024-03-30 12:00 UTC'), ('Australia/Lord_Howe', '2024-10-05 00:00 UTC')) AS x(z, t);
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-04-02 12:00 UTC'));
SELECT split_part(dedup_key, ':', 2) AS zone, string_agg(pg_temp.at(split_part(dedup_key, ':', 3)::bigint), ', ' ORDER BY dedup_key) AS due FROM tasks GROUP BY 1 ORDER BY 1;
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-11-05 12:00 UTC'));
SELECT split_part(dedup_key, ':', 2) AS zone, string_agg(pg_temp.at(split_part(dedup_key, ':', 3)::bigint), ', ' ORDER BY dedup_key) AS due FROM tasks WHERE dedup_key LIKE '%New_York%' GROUP BY 1;
SELECT drop_schedule(name) FROM list_schedules(); DELETE FROM tasks; DELETE FROM dedup_keys;
-- Words for common schedules, in any case.
SELECT c, pg_temp.at(create_schedule('words', c, '{"queue": "l"}', p_now_ms => pg_temp.ms('2024-03-06 08:30 UTC'))) AS due FROM unnest(ARRAY['@hourly', '@daily', '@Midnight', '@weekly', '@monthly', '@yearly', '@ANNUALLY']) AS c;
SELECT test.refused($$SELECT task_sc.create_schedule('words', '@often', '{"queue":"l"}')$$) AS refused;
SELECT drop_schedule('words');
-- SC-11: a service declares its schedules at each start. The same definition changes nothing; another one replaces it, with its next
-- due time computed anew. What has run, and a pause, stay.
SELECT pg_temp.at(create_schedule('again', '0 8 * * *', '{"queue": "l", "payload": {"a": 1, "b": 2}}', p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')));
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-02 08:00 UTC'));
SELECT xmin AS before FROM schedules WHERE name = 'again' \gset
SELECT pg_temp.at(create_schedule('again', '0 8 * * *', '{"payload": {"b": 2, "a": 1}, "queue": "l"}', p_now_ms => pg_temp.ms('2024-03-02 12:00 UTC'))) AS same_definition;
SELECT xmin = :before AS untouched FROM schedules WHERE name = 'again';
SELECT pause_schedule('again');
SELECT pg_temp.at(create_schedule('again', '0 9 * * *', '{"queue": "l", "payload": {"a": 1, "b": 2}}', p_now_ms => pg_temp.ms('2024-03-02 12:00 UTC'))) AS replaced;
SELECT cron, paused, pg_temp.at(next_due_ms) AS next, pg_temp.at(last_due_ms) AS last, pg_temp.at(created_at_ms) AS created FROM list_schedules() WHERE name = 'again';
SELECT x, test.refused(format('SELECT task_sc.create_schedule(''again'', ''0 9 * * *'', ''{"queue":"l"}'', p_if_exists => %L)', x)) AS refused FROM unnest(ARRAY['error', 'ignore']) AS x;
SELECT drop_schedule('again'); DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-1: what is no schedule is QB006, and nothing is written; unknown names are QB002.
SELECT c, test.refused(format('SELECT task_sc.create_schedule(''s'', %L, ''{"queue":"l"}'')', c)) AS refused FROM unnest(ARRAY[NULL, '', '* * * *', '60 * * * *', 'x * * * *', '* * * * * *', '0 0 30 2 *']) AS c;
SELECT t, test.refused(format('SELECT task_sc.create_schedule(''s'', ''* * * * *'', %L)', t)) AS refused FROM unnest(ARRAY[NULL, '[]', '{}', '{"queue": ""}', '{"queue": "l", "task_id": "00000000-0000-4000-8000-000000000001"}', '{"queue": "l", "dedup_key": "k"}', '{"queue": "l", "deadline_ms": 5}', '{"queue": "l", "x": 1}', '{"queue": "l", "policy": {"y": 1}}']) AS t;
SELECT test.refused($$SELECT task_sc.create_schedule('s', '* * * * *', '{"queue":"l"}', 'Europe/Atlantis')$$), test.refused($$SELECT task_sc.create_schedule('s', '* * * * *', '{"queue":"l"}', 'UTC', 'some')$$), test.refused($$SELECT task_sc.create_schedule('', '* * * * *', '{"queue":"l"}')$$), test.refused($$SELECT task_sc.create_schedule(NULL, '* * * * *', '{"queue":"l"}')$$);
SELECT count(*) FROM schedules;
SELECT create_schedule('s', '* * * * *', '{"queue":"l"}') IS NOT NULL AS made;
SELECT test.refused($$SELECT task_sc.create_schedule('s', '* * * * *', '{"queue":"l"}', p_if_exists => 'error')$$);
SELECT test.refused(format('SELECT task_sc.%s(''nobody'')', f)) FROM unnest('{drop_schedule,pause_schedule,resume_schedule}'::text[]) AS f;
SELECT drop_schedule('s');
-- SC-8: a schedule that cannot run keeps no other from it; it says why and tries again.
SELECT create_schedule('bad', '* * * * *', '{"queue":"b"}', p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')) IS NOT NULL AS made, create_schedule('good', '* * * * *', '{"queue":"g"}', p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')) IS NOT NULL AS made;
UPDATE schedules SET task = '{"queue": "b", "policy": {"broken": 1}}' WHERE name = 'bad';
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-01 12:01 UTC'));
SELECT queue, due FROM pg_temp.made;
SELECT name, last_error, pg_temp.at(next_due_ms) AS next FROM list_schedules();
UPDATE schedules SET task = '{"queue": "b"}' WHERE name = 'bad';
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-01 12:01:59 UTC'));
SELECT rows FROM reconcile('{schedules}', p_now_ms => pg_temp.ms('2024-03-01 12:02 UTC'));
SELECT queue, due FROM pg_temp.made;
SELECT name, last_error, pg_temp.at(next_due_ms) AS next FROM list_schedules();
-- SC-12: the next times of what need not be a schedule yet.
SELECT pg_temp.at(due_ms) FROM next_times('30 2 * * *', 'Europe/Berlin', 3, pg_temp.ms('2024-03-29 12:00 UTC'));
SELECT pg_temp.at(due_ms) FROM next_times('@hourly', p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC'));
SELECT test.refused($$SELECT * FROM task_sc.next_times('x')$$), test.refused($$SELECT * FROM task_sc.next_times('@daily', 'Moon')$$), test.refused($$SELECT * FROM task_sc.next_times('@daily', p_limit => 101)$$), test.refused($$SELECT * FROM task_sc.next_times('0 0 31 2 *')$$);
SELECT * FROM check_tasks();
RESET search_path;
SELECT belay.drop_hub('task_sc', true);
