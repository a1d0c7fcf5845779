-- What a frozen hub holds of suspensions, limits and schedules; see rows_002.sql.
SELECT count(*) FROM old.create_task('ask', '{"n": 6}', '00000000-0000-4000-8000-000000000021', p_now_ms => :t);
INSERT INTO old.kept SELECT 'waitpoint', w ->> 'waitpoint_id' || ' ' || (w ->> 'token')
  FROM old.claim_tasks('w', 'w-1', '{ask}', p_now_ms => :t) AS c,
       old.suspend_task(c.task_id, c.lease_epoch, '{"waitpoints": [{"key": "yes"}], "condition": {"single": {"key": "yes"}}}', :t) AS s,
       jsonb_array_elements(s.waitpoints) AS w;
SELECT old.set_lane('narrow', '{"concurrency": 1}');
SELECT count(*) FROM generate_series(1, 2) AS n, old.create_task('narrow', jsonb_build_object('n', n), p_now_ms => :t);
SELECT count(*) FROM old.claim_tasks('w', 'w-1', '{narrow}', p_max => 2, p_lease_ms => 3600000, p_now_ms => :t);
SELECT old.create_schedule('report', '30 8 * * *', '{"lane": "reports"}', p_now_ms => :t) IS NOT NULL;
