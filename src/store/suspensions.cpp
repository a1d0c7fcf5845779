#include "store/suspensions.hpp"

#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/task_row.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- suspensions

constexpr Statement kOpen = statement(R"sql(
    SELECT s.nr, s.id, s.on_timeout, CAST(s.condition AS pg_catalog.text), s.timeout_at_ms,
           s.resume_delay_ms, s.closed_by
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
     ORDER BY s.nr DESC
     LIMIT 1
)sql",
                                      UUIDOID);

constexpr Statement kByKey = statement(R"sql(
    SELECT s.nr, s.id, s.on_timeout, CAST(s.condition AS pg_catalog.text), s.timeout_at_ms,
           s.resume_delay_ms, s.closed_by
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1 AND s.idempotency_key {=} $2
)sql",
                                       UUIDOID, TEXTOID);

// $1 task, $2 id, $3 attempt, $4 timeout, $5 delay, $6 on timeout, $7 reason, $8 condition, $9 key,
// $10 now.
constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.suspensions
           (task_id, nr, id, attempt_index, created_at_ms, timeout_at_ms, resume_delay_ms,
            on_timeout, reason_code, idempotency_key, condition)
    SELECT $1, COALESCE(pg_catalog.max(s.nr), 0) {+} 1, $2, $3, $10, $4, $5, $6, $7, $9,
           CAST($8 AS pg_catalog.jsonb)
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1
    RETURNING nr
)sql",
                                        UUIDOID, UUIDOID, INT4OID, INT8OID, INT8OID, TEXTOID,
                                        TEXTOID, TEXTOID, TEXTOID, INT8OID);

// $1 task, $2 how, $3 now.
constexpr Statement kClose = statement(R"sql(
    WITH closed AS (
        UPDATE {hub}.suspensions AS s
           SET closed_at_ms = $3, closed_by = $2
         WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
        RETURNING s.nr)
    UPDATE {hub}.waitpoints AS w
       SET closed_at_ms = $3
      FROM closed AS c
     WHERE w.task_id {=} $1 AND w.suspension_nr {=} c.nr AND w.closed_at_ms IS NULL
)sql",
                                       UUIDOID, TEXTOID, INT8OID);

constexpr Statement kEscalate = statement(R"sql(
    UPDATE {hub}.suspensions AS s
       SET timeout_at_ms = NULL, condition = pg_catalog.to_jsonb(CAST('operator_only' AS pg_catalog.text))
     WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
)sql",
                                          UUIDOID);

constexpr Statement kDeleteAll = statement(R"sql(
    WITH s AS (DELETE FROM {hub}.suspensions AS x WHERE x.task_id {=} $1),
         g AS (DELETE FROM {hub}.signals AS y WHERE y.task_id {=} $1)
    DELETE FROM {hub}.waitpoints AS w WHERE w.task_id {=} $1
)sql",
                                           UUIDOID);

constexpr Statement kDeleteAllOfFlow = statement(R"sql(
    WITH s AS (DELETE FROM {hub}.suspensions AS x WHERE x.task_id {=} ANY (ARRAY(SELECT m.id FROM {hub}.tasks AS m WHERE m.flow_id {=} $1))),
         g AS (DELETE FROM {hub}.signals AS y WHERE y.task_id {=} ANY (ARRAY(SELECT m.id FROM {hub}.tasks AS m WHERE m.flow_id {=} $1)))
    DELETE FROM {hub}.waitpoints AS w WHERE w.task_id {=} ANY (ARRAY(SELECT m.id FROM {hub}.tasks AS m WHERE m.flow_id {=} $1))
)sql",
                                                 UUIDOID);

constexpr Statement kTimedOut = statement(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.suspensions AS s
      JOIN {hub}.tasks AS t ON t.id {=} s.task_id
     WHERE s.closed_at_ms IS NULL AND s.timeout_at_ms IS NOT NULL AND s.timeout_at_ms {<=} $1
     ORDER BY s.timeout_at_ms
     LIMIT $2
    OFFSET $3
)sql",
                                          INT8OID, INT8OID, INT8OID);

constexpr Statement kJson = query(R"sql(
    SELECT pg_catalog.jsonb_build_object(
               'suspension_id', s.id, 'reason_code', s.reason_code, 'condition', s.condition,
               'since_ms', s.created_at_ms, 'timeout_at_ms', s.timeout_at_ms,
               'on_timeout', s.on_timeout,
               'waitpoints', (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                        'waitpoint_id', w.id, 'key', w.key,
                        'signals', (SELECT pg_catalog.count(*)
                                      FROM {hub}.signals AS g
                                     WHERE g.task_id {=} w.task_id AND g.waitpoint_id {=} w.id))
                        ORDER BY w.key)
                   FROM {hub}.waitpoints AS w
                  WHERE w.task_id {=} s.task_id AND w.suspension_nr {=} s.nr))
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
)sql",
                                  UUIDOID);

// ---------------------------------------------------------------- waitpoints

constexpr Statement kWaitpoint = statement(R"sql(
    SELECT w.id, w.key, w.kid, w.suspension_nr, w.expires_at_ms, w.closed_at_ms IS NOT NULL,
           s.closed_by
      FROM {hub}.waitpoints AS w
      LEFT JOIN {hub}.suspensions AS s ON s.task_id {=} w.task_id AND s.nr {=} w.suspension_nr
     WHERE w.task_id {=} $1 AND w.id {=} $2
)sql",
                                           UUIDOID, UUIDOID);

constexpr Statement kWaitpointsOf = statement(R"sql(
    SELECT w.id, w.key, w.kid, w.suspension_nr, w.expires_at_ms, w.closed_at_ms IS NOT NULL,
           CAST(NULL AS pg_catalog.text)
      FROM {hub}.waitpoints AS w
     WHERE w.task_id {=} $1 AND w.suspension_nr {=} $2
     ORDER BY w.key
)sql",
                                              UUIDOID, INT4OID);

// $1 task, $2 id, $3 suspension, $4 expires, $5 key, $6 kid, $7 now.
constexpr Statement kInsertWaitpoint =
    statement(R"sql(
    INSERT INTO {hub}.waitpoints (task_id, id, suspension_nr, expires_at_ms, key, kid, created_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
)sql",
              UUIDOID, UUIDOID, INT4OID, INT8OID, TEXTOID, TEXTOID, INT8OID);

constexpr Statement kAdopt = statement(R"sql(
    UPDATE {hub}.waitpoints AS w
       SET suspension_nr = $3, expires_at_ms = NULL
     WHERE w.task_id {=} $1 AND w.id {=} $2 AND w.suspension_nr IS NULL
)sql",
                                       UUIDOID, UUIDOID, INT4OID);

constexpr Statement kAdoptSignals = statement(R"sql(
    UPDATE {hub}.signals AS g
       SET suspension_nr = $3
     WHERE g.task_id {=} $1 AND g.waitpoint_id {=} $2
)sql",
                                              UUIDOID, UUIDOID, INT4OID);

// $1 task, $2 after, $3 limit, $4 now. A terminal task takes no signal any more.
constexpr Statement kListWaitpoints = query(R"sql(
    SELECT w.id, w.key,
           CASE WHEN w.closed_at_ms IS NOT NULL OR t.terminal_at_ms IS NOT NULL THEN 'closed'
                WHEN w.suspension_nr IS NOT NULL THEN 'open'
                WHEN w.expires_at_ms {<=} $4 THEN 'expired'
                ELSE 'pending' END,
           s.id, w.kid, CAST(NULL AS pg_catalog.text),
           (SELECT pg_catalog.count(*)
              FROM {hub}.signals AS g
             WHERE g.task_id {=} w.task_id AND g.waitpoint_id {=} w.id),
           w.created_at_ms, w.expires_at_ms, w.closed_at_ms
      FROM {hub}.waitpoints AS w
      JOIN {hub}.tasks AS t ON t.id {=} w.task_id
      LEFT JOIN {hub}.suspensions AS s ON s.task_id {=} w.task_id AND s.nr {=} w.suspension_nr
     WHERE w.task_id {=} $1 AND w.id {>} $2
     ORDER BY w.id
     LIMIT $3
)sql",
                                            UUIDOID, UUIDOID, INT8OID, INT8OID);

// ---------------------------------------------------------------- signals

constexpr Statement kLastSignal = statement(R"sql(
    SELECT g.nr FROM {hub}.signals AS g WHERE g.task_id {=} $1 ORDER BY g.nr DESC LIMIT 1
)sql",
                                            UUIDOID);

// $1 task, $2 waitpoint, $3 id, $4 key.
constexpr Statement kHasSignal = statement(R"sql(
    SELECT 1
      FROM {hub}.signals AS g
     WHERE g.task_id {=} $1 AND g.waitpoint_id {=} $2 AND g.signal_id {=} $3
    UNION ALL
    SELECT 1
      FROM {hub}.signals AS g
     WHERE g.task_id {=} $1 AND g.waitpoint_id {=} $2 AND g.idempotency_key {=} $4
    LIMIT 1
)sql",
                                           UUIDOID, UUIDOID, TEXTOID, TEXTOID);

// $1 task, $2 nr, $3 waitpoint, $4 suspension, $5 id, $6 key, $7 name, $8 source, $9 payload,
// $10 now.
constexpr Statement kInsertSignal = statement(R"sql(
    INSERT INTO {hub}.signals
           (task_id, nr, waitpoint_id, suspension_nr, signal_id, idempotency_key, name, source,
            payload, accepted_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
)sql",
                                              UUIDOID, INT8OID, UUIDOID, INT4OID, TEXTOID, TEXTOID,
                                              TEXTOID, TEXTOID, JSONBOID, INT8OID);

constexpr Statement kCountSignals = statement(R"sql(
    SELECT w.key, g.name, g.source, pg_catalog.count(*)
      FROM {hub}.signals AS g
      JOIN {hub}.waitpoints AS w ON w.task_id {=} g.task_id AND w.id {=} g.waitpoint_id
     WHERE g.task_id {=} $1 AND g.suspension_nr {=} $2
     GROUP BY w.key, g.name, g.source
)sql",
                                              UUIDOID, INT4OID);

constexpr char kSignalRows[] = R"sql(
    SELECT g.nr, g.signal_id, g.waitpoint_id, w.key, g.name, g.source, g.payload, g.accepted_at_ms
      FROM {hub}.signals AS g
      LEFT JOIN {hub}.waitpoints AS w ON w.task_id {=} g.task_id AND w.id {=} g.waitpoint_id
     WHERE g.task_id {=} $1 AND g.nr {>} $2
)sql";
constexpr char kOfSuspension[] = R"sql( AND g.suspension_nr {=} $4 )sql";
// The suspension that the attempt is in, or left last.
constexpr char kOfLastSuspension[] = R"sql(
       AND g.suspension_nr {=} (SELECT x.nr
                                  FROM {hub}.suspensions AS x
                                  JOIN {hub}.tasks AS t
                                    ON t.id {=} x.task_id AND t.attempt_index {=} x.attempt_index
                                 WHERE x.task_id {=} $1
                                 ORDER BY x.nr DESC
                                 LIMIT 1)
)sql";
constexpr char kInOrder[] = R"sql( ORDER BY g.nr LIMIT $3 )sql";

// $1 task, $2 after, $3 limit, $4 suspension.
constexpr Statement kSignalPage =
    statement(joined<kSignalRows, kOfSuspension, kInOrder>, UUIDOID, INT8OID, INT8OID, INT4OID);
constexpr Statement kListSignals =
    query(joined<kSignalRows, kOfLastSuspension, kInOrder>, UUIDOID, INT8OID, INT8OID);

constexpr Statement kLeftLast = statement(R"sql(
    SELECT s.task_id, s.nr
      FROM pg_catalog.unnest($1) AS c(id)
     CROSS JOIN LATERAL (SELECT x.task_id, x.nr, x.attempt_index
                           FROM {hub}.suspensions AS x
                          WHERE x.task_id {=} c.id
                          ORDER BY x.nr DESC
                          LIMIT 1) AS s
      JOIN {hub}.tasks AS t ON t.id {=} c.id AND t.attempt_index {=} s.attempt_index
)sql",
                                          UUIDARRAYOID);

// ---------------------------------------------------------------- keys

constexpr Statement kSigningKey = statement(R"sql(
    SELECT k.kid, k.secret, k.valid_until_ms FROM {hub}.waitpoint_keys AS k WHERE k.signs
)sql");

constexpr Statement kFindKey = statement(R"sql(
    SELECT k.kid, k.secret, k.valid_until_ms FROM {hub}.waitpoint_keys AS k WHERE k.kid {=} $1
)sql",
                                         TEXTOID);

// $1 the others' last instant; null: as it is.
constexpr Statement kRetireKeys = statement(R"sql(
    UPDATE {hub}.waitpoint_keys AS k
       SET signs = false, valid_until_ms = LEAST(k.valid_until_ms, $1)
     WHERE k.signs OR $1 IS NOT NULL
)sql",
                                            INT8OID);

constexpr Statement kInsertKey = statement(R"sql(
    INSERT INTO {hub}.waitpoint_keys (kid, signs, created_at_ms, secret) VALUES ($1, true, $3, $2)
)sql",
                                           TEXTOID, BYTEAOID, INT8OID);

constexpr Statement kForgetKeys = statement(R"sql(
    DELETE FROM {hub}.waitpoint_keys AS k WHERE k.valid_until_ms {<=} $1 AND NOT k.signs
)sql",
                                            INT8OID);

std::optional<int32> optional_int4(const Rows& rows, uint64 row, int column) {
    return rows.is_null(row, column) ? std::nullopt : std::optional(rows.int4(row, column));
}

Params& add_int4(Params* params, std::optional<int32> value) {
    return value ? params->int4(*value) : params->null();
}

std::optional<Suspension> read_suspension(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    return Suspension{.nr = rows.int4(0, 1),
                      .id = rows.uuid(0, 2),
                      .on_timeout = rows.text(0, 3),
                      .condition = rows.text(0, 4),
                      .timeout_at = rows.optional_int8(0, 5),
                      .resume_delay_ms = rows.int8(0, 6),
                      .closed_by = rows.optional_text(0, 7)};
}

Waitpoint read_waitpoint_row(const Rows& rows, uint64 row) {
    return {.id = rows.uuid(row, 1),
            .key = rows.text(row, 2),
            .kid = rows.text(row, 3),
            .suspension_nr = optional_int4(rows, row, 4),
            .expires_at = rows.optional_int8(row, 5),
            .closed = rows.boolean(row, 6),
            .closed_by = rows.optional_text(row, 7)};
}

std::optional<WaitpointKey> read_key(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    const bytea* secret = DatumGetByteaPP(rows.datum(0, 2, BYTEAOID));
    return WaitpointKey{rows.text(0, 1),
                        {VARDATA_ANY(secret), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(secret))},
                        rows.optional_int8(0, 3)};
}

}  // namespace

// ---------------------------------------------------------------- suspensions

std::optional<Suspension> open_suspension(const Hub& hub, const pg_uuid_t& task) {
    return read_suspension(run(hub, kOpen, Params().uuid(task)));
}

std::optional<Suspension> suspension_by_key(const Hub& hub, const pg_uuid_t& task,
                                            std::string_view key) {
    return read_suspension(run(hub, kByKey, Params().uuid(task).text(key)));
}

int32 insert_suspension(const Hub& hub, const NewSuspension& suspension) {
    const Rows rows = run(hub, kInsert,
                          Params()
                              .uuid(suspension.task_id)
                              .uuid(suspension.id)
                              .int4(suspension.attempt_index)
                              .optional_int8(suspension.timeout_at)
                              .int8(suspension.resume_delay_ms)
                              .text(suspension.on_timeout)
                              .text(suspension.reason_code)
                              .text(suspension.condition)
                              .optional_text(suspension.idempotency_key)
                              .int8(suspension.now));
    if (rows.count != 1) {
        elog(ERROR, "a suspension could not be stored");
    }
    return rows.int4(0, 1);
}

void close_suspension(const Hub& hub, const pg_uuid_t& task, std::string_view closed_by,
                      int64 now) {
    run(hub, kClose, Params().uuid(task).text(closed_by).int8(now));
}

void escalate_suspension(const Hub& hub, const pg_uuid_t& task) {
    run_for_one(hub, kEscalate, Params().uuid(task));
}

void delete_suspensions(const Hub& hub, const pg_uuid_t& task) {
    run(hub, kDeleteAll, Params().uuid(task));
}

void delete_suspensions_of_flow(const Hub& hub, const pg_uuid_t& flow) {
    run(hub, kDeleteAllOfFlow, Params().uuid(flow));
}

std::span<const DueTask> timed_out(const Hub& hub, int64 now, int limit, int offset) {
    return read_due(run(hub, kTimedOut, Params().int8(now).int8(limit).int8(offset)));
}

Jsonb* suspension_json(const Hub& hub, const pg_uuid_t& task) {
    const Rows rows = run(hub, kJson, Params().uuid(task));
    return rows.count == 0 ? nullptr : rows.optional_jsonb(0, 1);
}

// ---------------------------------------------------------------- waitpoints

std::optional<Waitpoint> read_waitpoint(const Hub& hub, const pg_uuid_t& task,
                                        const pg_uuid_t& id) {
    const Rows rows = run(hub, kWaitpoint, Params().uuid(task).uuid(id));
    return rows.count == 0 ? std::nullopt : std::optional(read_waitpoint_row(rows, 0));
}

std::span<const Waitpoint> waitpoints_of(const Hub& hub, const pg_uuid_t& task,
                                         int32 suspension_nr) {
    const Rows rows = run(hub, kWaitpointsOf, Params().uuid(task).int4(suspension_nr));
    pg::List<Waitpoint> all;
    for (uint64 i = 0; i < rows.count; ++i) {
        all.add(read_waitpoint_row(rows, i));
    }
    return all.span();
}

void insert_waitpoint(const Hub& hub, const pg_uuid_t& task, const Waitpoint& waitpoint,
                      int64 now) {
    Params params;
    params.uuid(task).uuid(waitpoint.id);
    add_int4(&params, waitpoint.suspension_nr)
        .optional_int8(waitpoint.expires_at)
        .text(waitpoint.key)
        .text(waitpoint.kid)
        .int8(now);
    run_for_one(hub, kInsertWaitpoint, params);
}

void adopt_waitpoint(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& id,
                     int32 suspension_nr) {
    run_for_one(hub, kAdopt, Params().uuid(task).uuid(id).int4(suspension_nr));
    run(hub, kAdoptSignals, Params().uuid(task).uuid(id).int4(suspension_nr));
}

Rows list_waitpoints(const Hub& hub, const pg_uuid_t& task, std::optional<pg_uuid_t> after,
                     int limit, int64 now) {
    constexpr pg_uuid_t kLowest{};
    const pg_uuid_t& from = after ? *after : kLowest;
    return run(hub, kListWaitpoints, Params().uuid(task).uuid(from).int8(limit).int8(now));
}

// ---------------------------------------------------------------- signals

int64 last_signal(const Hub& hub, const pg_uuid_t& task) {
    const Rows rows = run(hub, kLastSignal, Params().uuid(task));
    return rows.count == 0 ? 0 : rows.int8(0, 1);
}

bool has_signal(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& waitpoint,
                std::string_view signal_id, std::optional<std::string_view> idempotency_key) {
    return run(hub, kHasSignal,
               Params().uuid(task).uuid(waitpoint).text(signal_id).optional_text(idempotency_key))
               .count > 0;
}

void insert_signal(const Hub& hub, const Signal& signal) {
    Params params;
    params.uuid(signal.task_id).int8(signal.nr);
    if (signal.waitpoint_id) {
        params.uuid(*signal.waitpoint_id);
    } else {
        params.null();
    }
    add_int4(&params, signal.suspension_nr)
        .text(signal.signal_id)
        .optional_text(signal.idempotency_key)
        .text(signal.name)
        .optional_text(signal.source)
        .jsonb(signal.payload)
        .int8(signal.now);
    run_for_one(hub, kInsertSignal, params);
}

std::span<const core::SignalCount> count_signals(const Hub& hub, const pg_uuid_t& task,
                                                 int32 suspension_nr) {
    const Rows rows = run(hub, kCountSignals, Params().uuid(task).int4(suspension_nr));
    pg::List<core::SignalCount> counts;
    for (uint64 i = 0; i < rows.count; ++i) {
        counts.add({rows.text(i, 1), rows.text(i, 2), rows.optional_text(i, 3), rows.int8(i, 4)});
    }
    return counts.span();
}

Rows read_signals(const Hub& hub, const pg_uuid_t& task, int32 suspension_nr, int64 after,
                  int limit) {
    return run(hub, kSignalPage, Params().uuid(task).int8(after).int8(limit).int4(suspension_nr));
}

Rows list_signals(const Hub& hub, const pg_uuid_t& task, int64 after, int limit) {
    return run(hub, kListSignals, Params().uuid(task).int8(after).int8(limit));
}

Rows suspensions_left_last(const Hub& hub, std::span<const pg_uuid_t> tasks) {
    return run(hub, kLeftLast, Params().datum(uuid_array(tasks)));
}

// ---------------------------------------------------------------- keys

WaitpointKey signing_key(const Hub& hub) {
    const auto key = read_key(run(hub, kSigningKey));
    if (!key) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" has no key that signs waitpoints", NameStr(hub.name)),
                        errhint("The hub's owner makes one with seed_waitpoint_key.")));
    }
    return *key;
}

std::optional<WaitpointKey> find_waitpoint_key(const Hub& hub, std::string_view kid) {
    return read_key(run(hub, kFindKey, Params().text(kid)));
}

void insert_waitpoint_key(const Hub& hub, std::string_view kid, std::string_view secret,
                          std::optional<int64> others_until, int64 now) {
    run(hub, kRetireKeys, Params().optional_int8(others_until));
    auto* value = static_cast<bytea*>(palloc(VARHDRSZ + secret.size()));
    SET_VARSIZE(value, VARHDRSZ + secret.size());
    memcpy(VARDATA(value), secret.data(), secret.size());
    run_for_one(hub, kInsertKey, Params().text(kid).datum(PointerGetDatum(value)).int8(now));
}

int64 forget_waitpoint_keys(const Hub& hub, int64 now) {
    return static_cast<int64>(run(hub, kForgetKeys, Params().int8(now)).count);
}

}  // namespace belay::store
