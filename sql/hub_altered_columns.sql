-- A table whose columns an owner has altered: a statement finds out before it reads a row, and works again once the column is back.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('hub_ac');
SET search_path = hub_ac, public;
SELECT create_schedule('nightly', '0 3 * * *', '{"queue": "a"}') IS NOT NULL AS made;
SELECT pause_schedule('nightly');
-- A number of another width is not taken for the number, nor for a pointer.
ALTER TABLE schedules ALTER COLUMN next_due_ms TYPE integer USING 0;
SELECT resume_schedule('nightly');
SELECT name FROM list_schedules();
-- Also where no row is found.
SELECT resume_schedule('missing');
ALTER TABLE schedules ALTER COLUMN next_due_ms TYPE bigint;
-- Text that is no text.
ALTER TABLE schedules ALTER COLUMN time_zone TYPE varchar(10);
SELECT resume_schedule('nightly');
SELECT name FROM list_schedules();
ALTER TABLE schedules ALTER COLUMN time_zone TYPE text;
-- A value that is missing.
ALTER TABLE schedules ALTER COLUMN cron DROP NOT NULL;
UPDATE schedules SET cron = NULL;
SELECT resume_schedule('nightly');
UPDATE schedules SET cron = '0 3 * * *';
-- A rule that swallows a change; once it is gone, the session does not keep the plan that it made empty.
CREATE RULE nothing AS ON UPDATE TO schedules DO INSTEAD NOTHING;
SELECT resume_schedule('nightly');
DROP RULE nothing ON schedules;
SELECT resume_schedule('nightly') IS NOT NULL AS resumed;
SELECT name, paused FROM list_schedules();
RESET search_path;
SELECT belay.drop_hub('hub_ac', true);
