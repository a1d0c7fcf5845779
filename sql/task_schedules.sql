-- Schedules: tasks that are created when a clock shows certain times.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_sc');
SELECT belay.set_hub_option('task_sc', 'max_clock_skew', '0');
SET search_path = task_sc, public;
CREATE FUNCTION pg_temp.ms(t text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT (extract(epoch FROM t::timestamptz) * 1000)::bigint $$;
CREATE FUNCTION pg_temp.at(ms bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT to_char(to_timestamp(ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') $$;
CREATE VIEW pg_temp.made AS SELECT lane, kind, payload, pg_temp.at(split_part(dedup_key, ':', 3)::bigint) AS due, pg_temp.at(created_at_ms) AS created, state FROM task_sc.tasks ORDER BY dedup_key;

-- SC-5: a task at each due time, with the key schedule:<name>:<due>. Not before, once, whoever runs the duty how often.
SELECT pg_temp.at(create_schedule('report', '30 8 * * mon-fri', '{"lane": "reports", "kind": "daily", "payload": {"a": 1}, "priority": 7, "capabilities": ["pdf"], "policy": {"max_attempts": 2}}', p_now_ms => pg_temp.ms('2024-03-01 08:30 UTC')));
SELECT rows FROM reconcile(pg_temp.ms('2024-03-04 08:29:59 UTC'), '{schedules}');
SELECT rows FROM reconcile(pg_temp.ms('2024-03-04 08:30:05 UTC'), '{schedules}');
SELECT rows FROM reconcile(pg_temp.ms('2024-03-04 08:30:05 UTC'), '{schedules}');
SELECT * FROM pg_temp.made;
SELECT dedup_key = 'schedule:report:' || pg_temp.ms('2024-03-04 08:30 UTC') AS key, priority, policy FROM tasks;
SELECT name, cron, time_zone, catch_up, task, paused, pg_temp.at(next_due_ms) AS next, pg_temp.at(last_due_ms) AS last, last_error, pg_temp.at(created_at_ms) AS created FROM list_schedules();
-- The key holds even if the schedule forgets.
UPDATE schedules SET next_due_ms = pg_temp.ms('2024-03-04 08:30 UTC'), next_run_ms = 0;
SELECT rows FROM reconcile(pg_temp.ms('2024-03-04 08:30:30 UTC'), '{schedules}');
SELECT count(*) FROM tasks;
SELECT drop_schedule('report');
SELECT count(*) FROM list_schedules();
DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-6: after a downtime: one creates the latest, all each up to 1000, none only what is on time.
SELECT create_schedule(c, '*/10 * * * *', jsonb_build_object('lane', c), p_catch_up => c, p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')) IS NOT NULL AS made FROM unnest('{one,all,none}'::text[]) AS c;
SELECT rows FROM reconcile(pg_temp.ms('2024-03-01 12:35 UTC'), '{schedules}');
SELECT lane, due FROM pg_temp.made ORDER BY lane, due;
SELECT name, pg_temp.at(next_due_ms) AS next, pg_temp.at(last_due_ms) AS last FROM list_schedules();
DELETE FROM tasks; DELETE FROM dedup_keys;
SELECT rows FROM reconcile(pg_temp.ms('2024-03-01 12:40:59 UTC'), '{schedules}');
SELECT lane, due FROM pg_temp.made ORDER BY lane, due;
DELETE FROM tasks; DELETE FROM dedup_keys;
SELECT rows FROM reconcile(pg_temp.ms('2024-06-01 12:41 UTC'), '{schedules}');
SELECT lane, count(*), min(due), max(due) FROM pg_temp.made GROUP BY lane ORDER BY lane;
DELETE FROM tasks; DELETE FROM dedup_keys;
-- However long ago that was: the time of a call is not that of the downtime, and it can be cancelled.
SELECT create_schedule('ages', '0 0 * * *', '{"lane": "ages"}', p_catch_up => 'all', p_now_ms => 1000) IS NOT NULL AS made;
SET statement_timeout = '20s';
SELECT rows FROM reconcile(pg_temp.ms('250000-01-01 12:00 UTC'), '{schedules}');
RESET statement_timeout;
SELECT count(*), max(split_part(dedup_key, ':', 3)::bigint) - min(split_part(dedup_key, ':', 3)::bigint) = 999 * 86400000::bigint AS in_a_row FROM tasks WHERE lane = 'ages';
SELECT drop_schedule('ages'); UPDATE schedules SET next_due_ms = pg_temp.ms('2024-06-01 12:50 UTC'), next_run_ms = pg_temp.ms('2024-06-01 12:50 UTC'); DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-7: a paused schedule rests; when it goes on, what it has missed is left out. Both may be repeated.
SELECT pause_schedule('all'), pause_schedule('all'), drop_schedule('one'), drop_schedule('none');
SELECT rows FROM reconcile(pg_temp.ms('2024-06-01 13:30 UTC'), '{schedules}');
SELECT pg_temp.at(resume_schedule('all', pg_temp.ms('2024-06-01 13:35 UTC'))), pg_temp.at(resume_schedule('all', pg_temp.ms('2024-06-01 13:55 UTC')));
SELECT rows FROM reconcile(pg_temp.ms('2024-06-01 13:40 UTC'), '{schedules}');
SELECT lane, due FROM pg_temp.made;
SELECT drop_schedule('all'); DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-3: time zones by name, as the server knows them; where clocks go forward a time that is left out comes later by the length of the change, where they go back it comes once.
SELECT z, pg_temp.at(create_schedule(z, '30 2 * * *', '{"lane": "z"}', z, 'all', pg_temp.ms(t))) AS first FROM (VALUES ('Europe/Berlin', '2024-03-30 12:00 UTC'), ('America/New_York', '2024-11-02 12:00 UTC'), ('Asia/Kolkata', '2024-03-30 12:00 UTC'), ('Australia/Lord_Howe', '2024-10-05 00:00 UTC')) AS x(z, t);
SELECT rows FROM reconcile(pg_temp.ms('2024-04-02 12:00 UTC'), '{schedules}');
SELECT split_part(dedup_key, ':', 2) AS zone, string_agg(pg_temp.at(split_part(dedup_key, ':', 3)::bigint), ', ' ORDER BY dedup_key) AS due FROM tasks GROUP BY 1 ORDER BY 1;
SELECT rows FROM reconcile(pg_temp.ms('2024-11-05 12:00 UTC'), '{schedules}');
SELECT split_part(dedup_key, ':', 2) AS zone, string_agg(pg_temp.at(split_part(dedup_key, ':', 3)::bigint), ', ' ORDER BY dedup_key) AS due FROM tasks WHERE dedup_key LIKE '%New_York%' GROUP BY 1;
SELECT drop_schedule(name) FROM list_schedules(); DELETE FROM tasks; DELETE FROM dedup_keys;
-- SC-1: what is no schedule is QB006, and nothing is written; unknown names are QB002.
SELECT c, test.refused(format('SELECT task_sc.create_schedule(''s'', %L, ''{"lane":"l"}'')', c)) AS refused FROM unnest(ARRAY[NULL, '', '* * * *', '60 * * * *', 'x * * * *', '* * * * * *', '0 0 30 2 *']) AS c;
SELECT t, test.refused(format('SELECT task_sc.create_schedule(''s'', ''* * * * *'', %L)', t)) AS refused FROM unnest(ARRAY[NULL, '[]', '{}', '{"lane": ""}', '{"lane": "l", "task_id": "00000000-0000-4000-8000-000000000001"}', '{"lane": "l", "dedup_key": "k"}', '{"lane": "l", "deadline_ms": 5}', '{"lane": "l", "x": 1}', '{"lane": "l", "policy": {"y": 1}}']) AS t;
SELECT test.refused($$SELECT task_sc.create_schedule('s', '* * * * *', '{"lane":"l"}', 'Europe/Atlantis')$$), test.refused($$SELECT task_sc.create_schedule('s', '* * * * *', '{"lane":"l"}', 'UTC', 'some')$$), test.refused($$SELECT task_sc.create_schedule('', '* * * * *', '{"lane":"l"}')$$), test.refused($$SELECT task_sc.create_schedule(NULL, '* * * * *', '{"lane":"l"}')$$);
SELECT count(*) FROM schedules;
SELECT create_schedule('s', '* * * * *', '{"lane":"l"}') IS NOT NULL AS made;
SELECT test.refused($$SELECT task_sc.create_schedule('s', '* * * * *', '{"lane":"l"}')$$);
SELECT test.refused(format('SELECT task_sc.%s(''nobody'')', f)) FROM unnest('{drop_schedule,pause_schedule,resume_schedule}'::text[]) AS f;
SELECT drop_schedule('s');
-- SC-8: a schedule that cannot run keeps no other from it; it says why and tries again.
SELECT create_schedule('bad', '* * * * *', '{"lane":"b"}', p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')) IS NOT NULL AS made, create_schedule('good', '* * * * *', '{"lane":"g"}', p_now_ms => pg_temp.ms('2024-03-01 12:00 UTC')) IS NOT NULL AS made;
UPDATE schedules SET task = '{"lane": "b", "policy": {"broken": 1}}' WHERE name = 'bad';
SELECT rows FROM reconcile(pg_temp.ms('2024-03-01 12:01 UTC'), '{schedules}');
SELECT lane, due FROM pg_temp.made;
SELECT name, last_error, pg_temp.at(next_due_ms) AS next FROM list_schedules();
UPDATE schedules SET task = '{"lane": "b"}' WHERE name = 'bad';
SELECT rows FROM reconcile(pg_temp.ms('2024-03-01 12:01:59 UTC'), '{schedules}');
SELECT rows FROM reconcile(pg_temp.ms('2024-03-01 12:02 UTC'), '{schedules}');
SELECT lane, due FROM pg_temp.made;
SELECT name, last_error, pg_temp.at(next_due_ms) AS next FROM list_schedules();
SELECT * FROM check_tasks();
RESET search_path;
SELECT belay.drop_hub('task_sc', true);
