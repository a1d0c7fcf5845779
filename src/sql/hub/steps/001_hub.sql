-- The hub itself: one row that makes the schema a hub.
CREATE TABLE IF NOT EXISTS @hub@.belay_hub (
    uuid        uuid        PRIMARY KEY,
    api         text        NOT NULL,
    version     integer     NOT NULL,
    incarnation integer     NOT NULL,
    epoch_floor bigint      NOT NULL,
    options     jsonb       NOT NULL,
    created_at  timestamptz NOT NULL,
    mark        belay.hub_mark NOT NULL
);
COMMENT ON TABLE @hub@.belay_hub IS 'Makes this schema a belay hub. One row.';
