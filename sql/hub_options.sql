-- Options of hubs.
\set VERBOSITY terse
\set SHOW_CONTEXT never

SELECT belay.create_hub('ho_app');

-- HB-7: the options and their defaults.
SELECT option, value, is_default FROM belay.hub_options WHERE hub = 'ho_app' ORDER BY option COLLATE "C";

-- Sets an option and shows what belay.hub_options then says; or the error.
CREATE FUNCTION test.ho_set(option text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    error text := test.error(format('SELECT belay.set_hub_option(''ho_app'', %L, %L)', option, value));
BEGIN
    RETURN CASE WHEN error = 'no error' THEN test.option('ho_app', option) ELSE split_part(error, E'\n', 1) END;
END $$;

-- Durations: a number of milliseconds, or amounts with units.
SELECT option, test.ho_set(option, '1500') AS ms, test.ho_set(option, '90 s') AS seconds,
       test.ho_set(option, '1 day') AS days
  FROM unnest('{dead_letter_retention,event_retention,instance_retention,intent_retention,max_clock_skew,
                orphan_retention,task_retention}'::text[]) AS option;
SELECT value, test.ho_set('task_retention', value) AS answer
  FROM unnest('{0, 90s,1.5 h,2 days 3 hours,00:01:30,10 MIN,1 w,250 ms}'::text[]) AS value;
SELECT value, test.ho_set('task_retention', value) AS answer
  FROM unnest(ARRAY['', ' ', '-1', '-1 s', '+1 s', '1 month', '1 year', '1 m', '5 parsecs', 's', '1.5', '1e3',
                    '1 day -1 h', '1 day,', 'infinity', '99999999999999999999', '200000 weeks', '101 y',
                    '9223372036854775807', E'1\n', '１ s', 'NULL']) AS value;

-- Integers.
SELECT option, value, test.ho_set(option, value) AS answer
  FROM (VALUES ('max_attempts', '1'), ('max_attempts', '2147483647'), ('max_attempts', ' +5 '),
               ('max_attempts', '0'), ('max_attempts', '-1'), ('max_attempts', '2147483648'),
               ('max_attempts', '1.0'), ('max_attempts', 'many'), ('max_attempts', ''), ('max_attempts', '0x10'),
               ('slot_count', '1024'), ('slot_count', '1'), ('slot_count', '0'), ('slot_count', '1025'),
               ('batch_messages', '1'), ('batch_messages', '1000000'), ('batch_messages', '0'),
               ('batch_messages', '1000001'), ('fanout_bound', '1'), ('fanout_bound', '0'),
               ('fanout_bound', '18446744073709551617')) AS case_(option, value);

-- Sizes.
SELECT option, value, test.ho_set(option, value) AS answer
  FROM (VALUES ('max_body_bytes', '4096'), ('max_body_bytes', '64 kB'), ('max_body_bytes', '32MiB'),
               ('max_body_bytes', '33554433'), ('max_body_bytes', '1 TB'), ('max_body_bytes', '1023'),
               ('max_body_bytes', '-1'), ('max_body_bytes', '1.5 MiB'), ('max_body_bytes', 'MiB'),
               ('batch_bytes', '1 mb'), ('batch_bytes', '256 MiB'), ('batch_bytes', '2048 B'), ('batch_bytes', '0'), ('batch_bytes', '257 MiB'),
               ('batch_bytes', '99999999999 GB')) AS case_(option, value);

-- Switches.
SELECT value, test.ho_set('dead_letter_fails_activity', value) AS answer
  FROM unnest('{false,ON,no,1,TRUE,off,yes,0,t,2,"",maybe}'::text[]) AS value;

-- Events: topics, or single types of a topic; an empty list writes none.
SELECT value, test.ho_set('events', value) AS answer
  FROM unnest(ARRAY['operator', 'lease', 'lease.expired , completion', '', ' ', 'leases', 'lease.', '.expired',
                    'lease.lost', 'operator,', ',operator', 'operator;lease', 'Operator']) AS value;

-- What was refused has changed nothing.
SELECT option, value, is_default FROM belay.hub_options
 WHERE hub = 'ho_app' AND NOT is_default ORDER BY option COLLATE "C";

-- NULL restores the default; so does NULL for an option that has it.
SELECT count(test.error(format('SELECT belay.set_hub_option(''ho_app'', %L, NULL)', option)))
  FROM belay.hub_options WHERE hub = 'ho_app';
SELECT option FROM belay.hub_options WHERE hub = 'ho_app' AND NOT is_default;
SELECT options FROM ho_app.belay_hub;
SELECT belay.set_hub_option('ho_app', 'max_attempts', NULL);

-- Errors in full.
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'slot_count', '1025')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'task_retention', 'a while')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'events', 'weather')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'no_such', '1')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'Slot_Count', '1')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_app', '', '1')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_app', NULL, '1')$$);
SELECT test.error($$SELECT belay.set_hub_option(NULL, 'slot_count', '1')$$);
SELECT test.error($$SELECT belay.set_hub_option('ho_none', 'slot_count', '1')$$);
SELECT test.error($$SELECT belay.set_hub_option('test', 'slot_count', '1')$$);
-- The pauses and the adoption are kept beside the options and are none.
SELECT test.sqlstate($$SELECT belay.set_hub_option('ho_app', 'paused', '{}')$$);
SELECT test.sqlstate($$SELECT belay.set_hub_option('ho_app', 'adopted', 'true')$$);

-- Only the hub's owner sets options; every role sees them.
CREATE ROLE regress_belay_ho;
SET ROLE regress_belay_ho;
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'slot_count', '2')$$);
SELECT test.option('ho_app', 'slot_count');
RESET ROLE;
SELECT belay.grant_hub('ho_app', 'regress_belay_ho', 'operator');
SET ROLE regress_belay_ho;
SELECT test.error($$SELECT belay.set_hub_option('ho_app', 'slot_count', '2')$$);
RESET ROLE;
CALL test.drop_role('regress_belay_ho');

-- A change is seen by the next call of the transaction, and gone if that, or a part of it, is rolled back.
BEGIN;
SELECT belay.set_hub_option('ho_app', 'max_clock_skew', '5 s');
SELECT test.option('ho_app', 'max_clock_skew');
SAVEPOINT s;
SELECT belay.set_hub_option('ho_app', 'max_clock_skew', '7 s');
SELECT belay.set_hub_option('ho_app', 'slot_count', '4');
SELECT test.option('ho_app', 'max_clock_skew'), test.option('ho_app', 'slot_count');
ROLLBACK TO s;
SELECT test.option('ho_app', 'max_clock_skew'), test.option('ho_app', 'slot_count');
ROLLBACK;
SELECT test.option('ho_app', 'max_clock_skew'), test.option('ho_app', 'slot_count');

-- An option survives a pause, a rename and an upgrade.
SELECT belay.set_hub_option('ho_app', 'slot_count', '9');
SELECT ho_app.pause_hub();
ALTER SCHEMA ho_app RENAME TO ho_new;
SELECT belay.upgrade_hub('ho_new');
SELECT ho_new.resume_hub();
SELECT test.option('ho_new', 'slot_count');

DROP FUNCTION test.ho_set(text, text);
SELECT belay.drop_hub('ho_new');
