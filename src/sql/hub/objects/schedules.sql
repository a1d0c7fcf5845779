-- Schedules.

CREATE OR REPLACE FUNCTION @hub@.create_schedule(
    p_name text,
    p_cron text,
    p_task jsonb,
    p_time_zone text DEFAULT 'UTC',
    p_catch_up text DEFAULT 'one',
    p_if_exists text DEFAULT 'replace',
    p_now_ms bigint DEFAULT NULL
) RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'create_schedule';
COMMENT ON FUNCTION @hub@.create_schedule(text, text, jsonb, text, text, text, bigint) IS
    'Creates a schedule, or replaces the one of this name: whenever the five cron fields match the local time of the time zone, it creates a task from p_task, an item of create_tasks. Returns the next due time.';

CREATE OR REPLACE FUNCTION @hub@.drop_schedule(p_name text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'drop_schedule';
COMMENT ON FUNCTION @hub@.drop_schedule(text) IS 'Removes a schedule; the tasks that it has created stay.';

CREATE OR REPLACE FUNCTION @hub@.pause_schedule(p_name text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'pause_schedule';
COMMENT ON FUNCTION @hub@.pause_schedule(text) IS 'Pauses a schedule.';

CREATE OR REPLACE FUNCTION @hub@.resume_schedule(p_name text, p_now_ms bigint DEFAULT NULL)
    RETURNS bigint LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'resume_schedule';
COMMENT ON FUNCTION @hub@.resume_schedule(text, bigint) IS
    'Resumes a paused schedule and returns its next due time. Due times that passed during the pause are skipped.';

CREATE OR REPLACE FUNCTION @hub@.next_times(p_cron text, p_time_zone text DEFAULT 'UTC', p_limit integer DEFAULT 5, p_now_ms bigint DEFAULT NULL)
    RETURNS TABLE (due_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'next_times';
COMMENT ON FUNCTION @hub@.next_times(text, text, integer, bigint) IS
    'Returns the next due times of a cron expression, without creating a schedule.';

CREATE OR REPLACE FUNCTION @hub@.list_schedules()
    RETURNS TABLE (name text, cron text, time_zone text, catch_up text, task jsonb, paused boolean, next_due_ms bigint,
                   last_due_ms bigint, last_error text, created_at_ms bigint)
    LANGUAGE belay STABLE PARALLEL UNSAFE AS 'list_schedules';
COMMENT ON FUNCTION @hub@.list_schedules() IS 'Schedules by name, with their next and last due times.';
