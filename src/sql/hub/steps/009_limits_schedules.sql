-- Limits of lanes, and schedules that create tasks.

CREATE TABLE IF NOT EXISTS @hub@.lane_limits (
    lane           text COLLATE "C" NOT NULL,
    concurrency    bigint CHECK (concurrency >= 0),
    rate_per_s     double precision CHECK (rate_per_s > 0),
    burst          double precision NOT NULL CHECK (burst >= 1),
    tokens         double precision NOT NULL CHECK (tokens >= 0),
    refilled_at_ms bigint NOT NULL,
    active         bigint NOT NULL CHECK (active >= 0),
    CONSTRAINT lane_limits_pkey PRIMARY KEY (lane),
    CONSTRAINT lane_limits_some CHECK (concurrency IS NOT NULL OR rate_per_s IS NOT NULL)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.lane_limits IS 'Limits of lanes that have some. Claims alone write it, and none waits for it.';
COMMENT ON COLUMN @hub@.lane_limits.tokens IS 'Tokens in the bucket at refilled_at_ms.';
COMMENT ON COLUMN @hub@.lane_limits.active IS 'Active tasks of the lane, and those whose place is in lane_returns.';

CREATE TABLE IF NOT EXISTS @hub@.lane_returns (
    lane text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    vacuum_truncate = off
);
COMMENT ON TABLE @hub@.lane_returns IS 'A row for each place of a limited lane that was given back and that no claim has counted yet.';
CREATE INDEX IF NOT EXISTS lane_returns_lane ON @hub@.lane_returns (lane);

CREATE TABLE IF NOT EXISTS @hub@.schedules (
    name          text COLLATE "C" NOT NULL,
    cron          text COLLATE "C" NOT NULL,
    time_zone     text COLLATE "C" NOT NULL,
    catch_up      text COLLATE "C" NOT NULL CHECK (catch_up IN ('one', 'all', 'none')),
    paused        boolean NOT NULL,
    next_due_ms   bigint NOT NULL,
    next_run_ms   bigint NOT NULL,
    last_due_ms   bigint,
    created_at_ms bigint NOT NULL,
    last_error    text,
    task          jsonb  NOT NULL,
    CONSTRAINT schedules_pkey PRIMARY KEY (name)
) WITH (fillfactor = 70);
COMMENT ON TABLE @hub@.schedules IS 'Schedules that create tasks. Read list_schedules instead.';
COMMENT ON COLUMN @hub@.schedules.next_run_ms IS 'When the duty looks at it: next_due_ms, or later after an error.';
CREATE INDEX IF NOT EXISTS schedules_due ON @hub@.schedules (next_run_ms) WHERE NOT paused;
