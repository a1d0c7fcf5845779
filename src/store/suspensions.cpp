// Tables suspensions, waitpoints, signals and waitpoint_keys.
//
// May touch: these tables; tasks to read them. Must not: change a task; the caller holds its row.
#include "store/suspensions.hpp"

#include "store/sparse.hpp"
#include "store/tasks.hpp"

namespace belay::store {

namespace {

using SuspensionRows = Out<int32, pg_uuid_t, Text, Text, Maybe<int64>, int64, Maybe<Text>>;
using WaitpointRows = Out<pg_uuid_t, Text, Text, Maybe<int32>, Maybe<int64>, bool, Maybe<Text>>;
using KeyRows = Out<Text, Bytes, Maybe<int64>>;

// ---------------------------------------------------------------- suspensions

constexpr auto kOpen = statement<In<pg_uuid_t>, SuspensionRows>(R"sql(
    SELECT s.nr, s.id, s.on_timeout, CAST(s.condition AS pg_catalog.text), s.timeout_at_ms,
           s.resume_delay_ms, s.closed_by
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
     ORDER BY s.nr DESC
     LIMIT 1
)sql");

constexpr auto kByKey = statement<In<pg_uuid_t, Text>, SuspensionRows>(R"sql(
    SELECT s.nr, s.id, s.on_timeout, CAST(s.condition AS pg_catalog.text), s.timeout_at_ms,
           s.resume_delay_ms, s.closed_by
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1 AND s.idempotency_key {=} $2
)sql");

// $1 task, $2 id, $3 attempt, $4 timeout, $5 delay, $6 on timeout, $7 reason, $8 condition, $9 key,
// $10 now.
constexpr auto kInsert = statement<
    In<pg_uuid_t, pg_uuid_t, int32, Maybe<int64>, int64, Text, Text, Text, Maybe<Text>, int64>,
    Out<int32>>(R"sql(
    INSERT INTO {hub}.suspensions
           (task_id, nr, id, attempt_index, created_at_ms, timeout_at_ms, resume_delay_ms,
            on_timeout, reason_code, idempotency_key, condition)
    SELECT $1, COALESCE(pg_catalog.max(s.nr), 0) {+} 1, $2, $3, $10, $4, $5, $6, $7, $9,
           CAST($8 AS pg_catalog.jsonb)
      FROM {hub}.suspensions AS s
     WHERE s.task_id {=} $1
    RETURNING nr
)sql");

// $1 task, $2 how, $3 now.
constexpr auto kClose = statement<In<pg_uuid_t, Text, int64>, Out<>>(R"sql(
    WITH closed AS (
        UPDATE {hub}.suspensions AS s
           SET closed_at_ms = $3, closed_by = $2
         WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
        RETURNING s.nr)
    UPDATE {hub}.waitpoints AS w
       SET closed_at_ms = $3
      FROM closed AS c
     WHERE w.task_id {=} $1 AND w.suspension_nr {=} c.nr AND w.closed_at_ms IS NULL
)sql");

constexpr auto kEscalate = statement<In<pg_uuid_t>, Out<>>(R"sql(
    UPDATE {hub}.suspensions AS s
       SET timeout_at_ms = NULL, condition = pg_catalog.to_jsonb(CAST('operator_only' AS pg_catalog.text))
     WHERE s.task_id {=} $1 AND s.closed_at_ms IS NULL
)sql");

constexpr auto kDeleteAll = statement<In<pg_uuid_t>, Out<>>(R"sql(
    WITH s AS (DELETE FROM {hub}.suspensions AS x WHERE x.task_id {=} $1),
         g AS (DELETE FROM {hub}.signals AS y WHERE y.task_id {=} $1)
    DELETE FROM {hub}.waitpoints AS w WHERE w.task_id {=} $1
)sql");

constexpr auto kDeleteAllOfFlow = statement<In<pg_uuid_t>, Out<>>(R"sql(
    WITH s AS (DELETE FROM {hub}.suspensions AS x WHERE x.task_id {=} ANY (ARRAY(SELECT m.id FROM {hub}.tasks AS m WHERE m.flow_id {=} $1))),
         g AS (DELETE FROM {hub}.signals AS y WHERE y.task_id {=} ANY (ARRAY(SELECT m.id FROM {hub}.tasks AS m WHERE m.flow_id {=} $1)))
    DELETE FROM {hub}.waitpoints AS w WHERE w.task_id {=} ANY (ARRAY(SELECT m.id FROM {hub}.tasks AS m WHERE m.flow_id {=} $1))
)sql");

constexpr auto kTimedOut =
    statement<In<int64, int64, int64>, Out<pg_uuid_t, Maybe<pg_uuid_t>>>(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.suspensions AS s
      JOIN {hub}.tasks AS t ON t.id {=} s.task_id
     WHERE s.closed_at_ms IS NULL AND s.timeout_at_ms IS NOT NULL AND s.timeout_at_ms {<=} $1
     ORDER BY s.timeout_at_ms
     LIMIT $2
    OFFSET $3
)sql");

constexpr auto kJson = query<In<pg_uuid_t>, Out<Jsonb*>>(R"sql(
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
)sql");

// ---------------------------------------------------------------- waitpoints

constexpr auto kWaitpoint = statement<In<pg_uuid_t, pg_uuid_t>, WaitpointRows>(R"sql(
    SELECT w.id, w.key, w.kid, w.suspension_nr, w.expires_at_ms, w.closed_at_ms IS NOT NULL,
           s.closed_by
      FROM {hub}.waitpoints AS w
      LEFT JOIN {hub}.suspensions AS s ON s.task_id {=} w.task_id AND s.nr {=} w.suspension_nr
     WHERE w.task_id {=} $1 AND w.id {=} $2
)sql");

constexpr auto kWaitpointsOf = statement<In<pg_uuid_t, int32>, WaitpointRows>(R"sql(
    SELECT w.id, w.key, w.kid, w.suspension_nr, w.expires_at_ms, w.closed_at_ms IS NOT NULL,
           CAST(NULL AS pg_catalog.text)
      FROM {hub}.waitpoints AS w
     WHERE w.task_id {=} $1 AND w.suspension_nr {=} $2
     ORDER BY w.key
)sql");

// $1 task, $2 id, $3 suspension, $4 expires, $5 key, $6 kid, $7 now.
constexpr auto kInsertWaitpoint =
    statement<In<pg_uuid_t, pg_uuid_t, Maybe<int32>, Maybe<int64>, Text, Text, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.waitpoints (task_id, id, suspension_nr, expires_at_ms, key, kid, created_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
)sql");

constexpr auto kAdopt = statement<In<pg_uuid_t, pg_uuid_t, int32>, Out<>>(R"sql(
    UPDATE {hub}.waitpoints AS w
       SET suspension_nr = $3, expires_at_ms = NULL
     WHERE w.task_id {=} $1 AND w.id {=} $2 AND w.suspension_nr IS NULL
)sql");

constexpr auto kAdoptSignals = statement<In<pg_uuid_t, pg_uuid_t, int32>, Out<>>(R"sql(
    UPDATE {hub}.signals AS g
       SET suspension_nr = $3
     WHERE g.task_id {=} $1 AND g.waitpoint_id {=} $2
)sql");

// $1 task, $2 after, $3 limit, $4 now. A terminal task takes no signal any more.
constexpr auto kListWaitpoints = query<In<pg_uuid_t, pg_uuid_t, int64, int64>, WaitpointList>(R"sql(
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
)sql");

// ---------------------------------------------------------------- signals

constexpr auto kLastSignal = statement<In<pg_uuid_t>, Out<int64>>(R"sql(
    SELECT g.nr FROM {hub}.signals AS g WHERE g.task_id {=} $1 ORDER BY g.nr DESC LIMIT 1
)sql");

// $1 task, $2 waitpoint, $3 id, $4 key.
constexpr auto kHasSignal =
    statement<In<pg_uuid_t, pg_uuid_t, Text, Maybe<Text>>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.signals AS g
     WHERE g.task_id {=} $1 AND g.waitpoint_id {=} $2 AND g.signal_id {=} $3
    UNION ALL
    SELECT 1
      FROM {hub}.signals AS g
     WHERE g.task_id {=} $1 AND g.waitpoint_id {=} $2 AND g.idempotency_key {=} $4
    LIMIT 1
)sql");

// $1 task, $2 nr, $3 waitpoint, $4 suspension, $5 id, $6 key, $7 name, $8 source, $9 payload,
// $10 now.
constexpr auto kInsertSignal = statement<In<pg_uuid_t, int64, Maybe<pg_uuid_t>, Maybe<int32>, Text,
                                            Maybe<Text>, Text, Maybe<Text>, Jsonb*, int64>,
                                         Out<>>(
    R"sql(
    INSERT INTO {hub}.signals
           (task_id, nr, waitpoint_id, suspension_nr, signal_id, idempotency_key, name, source,
            payload, accepted_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
)sql");

constexpr auto kCountSignals = statement<In<pg_uuid_t, int32>, Out<Text, Text, Maybe<Text>, int64>>(
    R"sql(
    SELECT w.key, g.name, g.source, pg_catalog.count(*)
      FROM {hub}.signals AS g
      JOIN {hub}.waitpoints AS w ON w.task_id {=} g.task_id AND w.id {=} g.waitpoint_id
     WHERE g.task_id {=} $1 AND g.suspension_nr {=} $2
     GROUP BY w.key, g.name, g.source
)sql");

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
constexpr auto kSignalPage = statement<In<pg_uuid_t, int64, int64, int32>, SignalRows>(
    joined<kSignalRows, kOfSuspension, kInOrder>);
constexpr auto kListSignals =
    query<In<pg_uuid_t, int64, int64>, Listing>(joined<kSignalRows, kOfLastSuspension, kInOrder>);

constexpr auto kLeftLast = statement<In<ListOf<pg_uuid_t>>, LeftLastRows>(R"sql(
    SELECT s.task_id, s.nr
      FROM pg_catalog.unnest($1) AS c(id)
     CROSS JOIN LATERAL (SELECT x.task_id, x.nr, x.attempt_index
                           FROM {hub}.suspensions AS x
                          WHERE x.task_id {=} c.id
                          ORDER BY x.nr DESC
                          LIMIT 1) AS s
      JOIN {hub}.tasks AS t ON t.id {=} c.id AND t.attempt_index {=} s.attempt_index
)sql");

// ---------------------------------------------------------------- keys

constexpr auto kSigningKey = statement<In<>, KeyRows>(R"sql(
    SELECT k.kid, k.secret, k.valid_until_ms FROM {hub}.waitpoint_keys AS k WHERE k.signs
)sql");

constexpr auto kFindKey = statement<In<Text>, KeyRows>(R"sql(
    SELECT k.kid, k.secret, k.valid_until_ms FROM {hub}.waitpoint_keys AS k WHERE k.kid {=} $1
)sql");

// $1 the others' last instant; null: as it is.
constexpr auto kRetireKeys = statement<In<Maybe<int64>>, Out<>>(R"sql(
    UPDATE {hub}.waitpoint_keys AS k
       SET signs = false, valid_until_ms = LEAST(k.valid_until_ms, $1)
     WHERE k.signs OR $1 IS NOT NULL
)sql");

constexpr auto kInsertKey = statement<In<Text, Bytes, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.waitpoint_keys (kid, signs, created_at_ms, secret) VALUES ($1, true, $3, $2)
)sql");

constexpr auto kForgetKeys = statement<In<int64>, Out<>>(R"sql(
    DELETE FROM {hub}.waitpoint_keys AS k WHERE k.valid_until_ms {<=} $1 AND NOT k.signs
)sql");

WaitpointKey key_of(std::string_view kid, Bytes secret, std::optional<int64> valid_until) {
    return {kid, secret.value, valid_until};
}

}  // namespace

// ---------------------------------------------------------------- suspensions

std::optional<Suspension> open_suspension(const Hub& hub, const pg_uuid_t& task) {
    return run(hub, kOpen, task).first<Suspension>();
}

std::optional<Suspension> suspension_by_key(const Hub& hub, const pg_uuid_t& task,
                                            std::string_view key) {
    return run(hub, kByKey, task, key).first<Suspension>();
}

int32 insert_suspension(const Hub& hub, const NewSuspension& suspension) {
    return run_for_one(hub, kInsert, suspension.task_id, suspension.id, suspension.attempt_index,
                       suspension.timeout_at, suspension.resume_delay_ms, suspension.on_timeout,
                       suspension.reason_code, suspension.condition, suspension.idempotency_key,
                       suspension.now);
}

void close_suspension(const Hub& hub, const pg_uuid_t& task, std::string_view closed_by,
                      int64 now) {
    run(hub, kClose, task, closed_by, now);
}

void escalate_suspension(const Hub& hub, const pg_uuid_t& task) {
    run_for_one(hub, kEscalate, task);
}

void delete_suspensions(const Hub& hub, const pg_uuid_t& task) {
    run(hub, kDeleteAll, task);
}

void delete_suspensions_of_flow(const Hub& hub, const pg_uuid_t& flow) {
    run(hub, kDeleteAllOfFlow, flow);
}

std::span<const DueTask> timed_out(const Hub& hub, int64 now, int limit, int offset) {
    if (!may_have_rows(hub, Sparse::kSuspensions)) {
        return {};
    }
    return run(hub, kTimedOut, now, limit, offset).collect<DueTask>();
}

Jsonb* suspension_json(const Hub& hub, const pg_uuid_t& task) {
    return run_one(hub, kJson, task).value_or(nullptr);
}

// ---------------------------------------------------------------- waitpoints

std::optional<Waitpoint> read_waitpoint(const Hub& hub, const pg_uuid_t& task,
                                        const pg_uuid_t& id) {
    return run(hub, kWaitpoint, task, id).first<Waitpoint>();
}

std::span<const Waitpoint> waitpoints_of(const Hub& hub, const pg_uuid_t& task,
                                         int32 suspension_nr) {
    return run(hub, kWaitpointsOf, task, suspension_nr).collect<Waitpoint>();
}

void insert_waitpoint(const Hub& hub, const pg_uuid_t& task, const Waitpoint& waitpoint,
                      int64 now) {
    run_for_one(hub, kInsertWaitpoint, task, waitpoint.id, waitpoint.suspension_nr,
                waitpoint.expires_at, waitpoint.key, waitpoint.kid, now);
}

void adopt_waitpoint(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& id,
                     int32 suspension_nr) {
    run_for_one(hub, kAdopt, task, id, suspension_nr);
    run(hub, kAdoptSignals, task, id, suspension_nr);
}

WaitpointList list_waitpoints(const Hub& hub, const pg_uuid_t& task, std::optional<pg_uuid_t> after,
                              int limit, int64 now) {
    constexpr pg_uuid_t kLowest{};
    const pg_uuid_t& from = after ? *after : kLowest;
    return run(hub, kListWaitpoints, task, from, limit, now);
}

// ---------------------------------------------------------------- signals

int64 last_signal(const Hub& hub, const pg_uuid_t& task) {
    return run_one(hub, kLastSignal, task).value_or(0);
}

bool has_signal(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& waitpoint,
                std::string_view signal_id, std::optional<std::string_view> idempotency_key) {
    return run_any(hub, kHasSignal, task, waitpoint, signal_id, idempotency_key);
}

void insert_signal(const Hub& hub, const Signal& signal) {
    run_for_one(hub, kInsertSignal, signal.task_id, signal.nr, signal.waitpoint_id,
                signal.suspension_nr, signal.signal_id, signal.idempotency_key, signal.name,
                signal.source, signal.payload, signal.now);
}

std::span<const core::SignalCount> count_signals(const Hub& hub, const pg_uuid_t& task,
                                                 int32 suspension_nr) {
    return run(hub, kCountSignals, task, suspension_nr).collect<core::SignalCount>();
}

SignalRows read_signals(const Hub& hub, const pg_uuid_t& task, int32 suspension_nr, int64 after,
                        int limit) {
    return run(hub, kSignalPage, task, after, limit, suspension_nr);
}

Listing list_signals(const Hub& hub, const pg_uuid_t& task, int64 after, int limit) {
    return run(hub, kListSignals, task, after, limit);
}

LeftLastRows suspensions_left_last(const Hub& hub, std::span<const pg_uuid_t> tasks) {
    return run(hub, kLeftLast, tasks);
}

// ---------------------------------------------------------------- keys

WaitpointKey signing_key(const Hub& hub) {
    const auto key = run(hub, kSigningKey).first(key_of);
    if (!key) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" has no key that signs waitpoints", NameStr(hub.name)),
                        errhint("Ask the hub's owner to make one with seed_waitpoint_key.")));
    }
    return *key;
}

std::optional<WaitpointKey> find_waitpoint_key(const Hub& hub, std::string_view kid) {
    return run(hub, kFindKey, kid).first(key_of);
}

void insert_waitpoint_key(const Hub& hub, std::string_view kid, std::string_view secret,
                          std::optional<int64> others_until, int64 now) {
    run(hub, kRetireKeys, others_until);
    run_for_one(hub, kInsertKey, kid, Bytes{secret}, now);
}

int64 forget_waitpoint_keys(const Hub& hub, int64 now) {
    return run(hub, kForgetKeys, now).changed();
}

}  // namespace belay::store
