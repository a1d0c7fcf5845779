#include "store/tasks.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "pg/list.hpp"
#include "pg/counters.hpp"
#include "pg/datum.hpp"
#include "pg/durable.hpp"
#include "pg/errors.hpp"
#include "store/fast/tasks.hpp"
#include "store/lanes.hpp"
#include "store/limits.hpp"
#include "store/suspensions.hpp"
#include "store/task_row.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- creating and locking

// $1 id, $2 slot, $3 cap_set, $4 priority, $5 available_at, $6 deadline, $7 now, $8 state, $9 lane,
// $10 kind, $11 dedup key, $12 payload, $13 tags, $14 policy.
constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.tasks
           (id, slot, cap_set, priority, available_at_ms, deadline_ms, created_at_ms, updated_at_ms,
            state, lane, kind, dedup_key, payload, tags, policy, lease_epoch, start_delay_ms,
            attempt_index, attempt_leases, retry_count, reclaim_count, replay_count, held,
            pending_attempt)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11, $12, $13, $14, 0, 0, 0, 0, 0, 0, 0,
            false, 'initial')
        ON CONFLICT (id) DO NOTHING
)sql",
              UUIDOID, INT2OID, INT4OID, INT4OID, INT8OID, INT8OID, INT8OID, TEXTOID, TEXTOID,
              TEXTOID, TEXTOID, JSONBOID, JSONBOID, JSONBOID);

constexpr Statement kState = statement(R"sql(
    SELECT t.state, t.flow_id, t.lease_epoch FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql",
                                       UUIDOID);

constexpr Statement kHasResult = statement(R"sql(
    SELECT COALESCE(t.result {=} $2, t.result IS NULL AND $2 IS NULL)
      FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql",
                                           UUIDOID, JSONBOID);

constexpr Statement kReadKey = statement(R"sql(
    SELECT t.lane, t.dedup_key FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql",
                                         UUIDOID);

constexpr char kOfId[] = R"sql( WHERE t.id {=} $1 )sql";
constexpr char kOfIdAlone[] = R"sql( WHERE t.id {=} $1 AND t.flow_id IS NULL )sql";
constexpr char kOfLease[] =
    R"sql( WHERE t.id {=} $1 AND t.state {=} 'active' AND t.lease_epoch {=} $2 )sql";
constexpr char kSkipping[] = R"sql( FOR NO KEY UPDATE SKIP LOCKED )sql";
constexpr char kWaiting[] = R"sql( FOR NO KEY UPDATE )sql";
constexpr char kToDelete[] = R"sql( FOR UPDATE )sql";

constexpr Statement kTryLock = statement(joined<kTaskColumns, kOfId, kSkipping>, UUIDOID);
constexpr Statement kTryLockAlone = statement(joined<kTaskColumns, kOfIdAlone, kSkipping>, UUIDOID);
constexpr Statement kLock = statement(joined<kTaskColumns, kOfId, kWaiting>, UUIDOID);
constexpr Statement kLockToDelete = statement(joined<kTaskColumns, kOfId, kToDelete>, UUIDOID);
constexpr Statement kTryLockLease =
    statement(joined<kTaskColumns, kOfLease, kSkipping>, UUIDOID, INT8OID);
constexpr Statement kLockLease =
    statement(joined<kTaskColumns, kOfLease, kWaiting>, UUIDOID, INT8OID);

// ---------------------------------------------------------------- claiming

// $1 lanes, $2 capabilities. A row per set that fits; a lane without one has a row with null.
constexpr Statement kFits = statement(R"sql(
    SELECT n.lane, s.id
      FROM pg_catalog.unnest($1) AS n(lane)
      LEFT JOIN {hub}.capability_sets AS s ON s.lane {=} n.lane AND s.tokens {<@} $2
     WHERE NOT EXISTS (SELECT 1 FROM {hub}.lanes AS l WHERE l.name {=} n.lane AND l.paused)
)sql",
                                      TEXTARRAYOID, TEXTARRAYOID);

constexpr Statement kNextReadyLane = statement(R"sql(
    SELECT t.lane
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'ready' AND t.lane {>} $1
     ORDER BY t.lane
     LIMIT 1
)sql",
                                               TEXTOID);

// What a claim has to know of a task that it holds. The subquery is the lane's default.
constexpr char kClaimable[] = R"sql(
    SELECT t.id, t.pending_attempt, t.attempt_deadline_ms, t.deadline_ms,
           CASE WHEN pg_catalog.jsonb_exists(t.policy, 'attempt_timeout_ms')
                THEN CAST(t.policy {->>} 'attempt_timeout_ms' AS pg_catalog.int8)
                ELSE (SELECT CAST(l.policy {->>} 'attempt_timeout_ms' AS pg_catalog.int8)
                        FROM {hub}.lanes AS l
                       WHERE l.name {=} t.lane) END,
           t.lane, t.lease_epoch
      FROM {hub}.tasks AS t
)sql";

// $1 lane, $2 slot, $3 cap_set, $4 now, $5 limit.
constexpr char kAtTheHead[] = R"sql(
     WHERE t.lane {=} $1 AND t.slot {=} $2 AND t.cap_set {=} $3 AND t.state {=} 'ready'
       AND (t.deadline_ms IS NULL OR t.deadline_ms {>} $4)
     ORDER BY t.priority DESC, t.available_at_ms, t.id
     LIMIT $5
       FOR NO KEY UPDATE SKIP LOCKED
)sql";
constexpr Statement kHoldHeads =
    statement(joined<kClaimable, kAtTheHead>, TEXTOID, INT2OID, INT4OID, INT8OID, INT8OID);

// $1 ids, $2 now. The state is compared in a form that no partial index fits: a statement that
// knows ids must not walk over all ready tasks. Statements on held rows leave it out for the same
// reason.
constexpr char kStillEligible[] = R"sql(
     WHERE t.id {=} ANY ($1)
       AND ((t.state {||} '') {=} 'ready'
            OR ((t.state {||} '') {=} 'delayed' AND t.available_at_ms {<=} $2))
       AND (t.deadline_ms IS NULL OR t.deadline_ms {>} $2)
       FOR NO KEY UPDATE SKIP LOCKED
)sql";
constexpr Statement kHoldEligible =
    statement(joined<kClaimable, kStillEligible>, UUIDARRAYOID, INT8OID);

// $1 lane, $2 slot, $3 cap_set, $4 now. Whether the stream has a task, held or not.
constexpr Statement kHasHead = statement(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.lane {=} $1 AND t.slot {=} $2 AND t.cap_set {=} $3 AND t.state {=} 'ready'
       AND (t.deadline_ms IS NULL OR t.deadline_ms {>} $4)
     ORDER BY t.priority DESC, t.available_at_ms, t.id
     LIMIT 1
)sql",
                                         TEXTOID, INT2OID, INT4OID, INT8OID);

// $1 available_at and $2 id behind which, $3 now, $4 limit.
constexpr Statement kPeekDue = statement(R"sql(
    SELECT t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id,
           COALESCE(t.deadline_ms {<=} $3, false)
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed' AND ROW(t.available_at_ms, t.id) {>} ROW($1, $2)
       AND t.available_at_ms {<=} $3
     ORDER BY t.available_at_ms, t.id
     LIMIT $4
)sql",
                                         INT8OID, UUIDOID, INT8OID, INT8OID);

constexpr Statement kNextToFallDue = statement(R"sql(
    SELECT t.available_at_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed' AND t.available_at_ms {>} $1
     ORDER BY t.available_at_ms, t.id
     LIMIT 1
)sql",
                                               INT8OID);

// $1 lanes, $2 slots, $3 sets, $4 now, $5 limit per stream.
constexpr Statement kPeekHeads =
    statement(R"sql(
    SELECT CAST(s.nr AS pg_catalog.int4), t.priority, t.available_at_ms, t.id
      FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3))
           WITH ORDINALITY AS s(lane, slot, cap_set, nr)
     CROSS JOIN LATERAL (
        SELECT c.priority, c.available_at_ms, c.id
          FROM {hub}.tasks AS c
         WHERE c.lane {=} s.lane AND c.slot {=} s.slot AND c.cap_set {=} s.cap_set
           AND c.state {=} 'ready' AND (c.deadline_ms IS NULL OR c.deadline_ms {>} $4)
         ORDER BY c.priority DESC, c.available_at_ms, c.id
         LIMIT $5) AS t
)sql",
              TEXTARRAYOID, INT2ARRAYOID, INT4ARRAYOID, INT8OID, INT8OID);

// $1 lane, $2 slot, $3 cap_set, $4 priority, $5 available_at, $6 id, $7 now, $8 limit.
constexpr Statement kPeekSamePriority =
    statement(R"sql(
    SELECT t.priority, t.available_at_ms, t.id
      FROM {hub}.tasks AS t
     WHERE t.lane {=} $1 AND t.slot {=} $2 AND t.cap_set {=} $3 AND t.state {=} 'ready'
       AND t.priority {=} $4 AND ROW(t.available_at_ms, t.id) {>} ROW($5, $6)
       AND (t.deadline_ms IS NULL OR t.deadline_ms {>} $7)
     ORDER BY t.available_at_ms, t.id
     LIMIT $8
)sql",
              TEXTOID, INT2OID, INT4OID, INT4OID, INT8OID, UUIDOID, INT8OID, INT8OID);

// $1 lane, $2 slot, $3 cap_set, $4 priority, $5 now, $6 limit.
constexpr Statement kPeekLowerPriority =
    statement(R"sql(
    SELECT t.priority, t.available_at_ms, t.id
      FROM {hub}.tasks AS t
     WHERE t.lane {=} $1 AND t.slot {=} $2 AND t.cap_set {=} $3 AND t.state {=} 'ready'
       AND t.priority {<} $4 AND (t.deadline_ms IS NULL OR t.deadline_ms {>} $5)
     ORDER BY t.priority DESC, t.available_at_ms, t.id
     LIMIT $6
)sql",
              TEXTOID, INT2OID, INT4OID, INT4OID, INT8OID, INT8OID);

// $1 ids, $2 attempt deadlines (the greatest number: none), $3 lease deadlines, $4 worker,
// $5 worker instance, $6 now, $7 epochs, $8 nonces, $9 incarnation.
constexpr Statement kAcquire = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = 'active',
           lease_epoch = g.epoch,
           lease_nonce = g.nonce,
           lease_owner = $5,
           lease_worker = $4,
           lease_until_ms = g.lease_until,
           lease_check_ms = g.lease_until,
           attempt_index = CASE WHEN t.pending_attempt {=} ANY (ARRAY['initial', 'retry', 'replay'])
                                THEN t.attempt_index {+} 1 ELSE t.attempt_index END,
           attempt_kind = CASE WHEN t.pending_attempt {=} ANY (ARRAY['initial', 'retry', 'replay'])
                               THEN t.pending_attempt ELSE t.attempt_kind END,
           attempt_started_ms =
               CASE WHEN t.pending_attempt {=} ANY (ARRAY['initial', 'retry', 'replay'])
                    THEN $6 ELSE t.attempt_started_ms END,
           attempt_leases = t.attempt_leases {+} 1,
           attempt_deadline_ms = CASE WHEN g.attempt_deadline {<} 9223372036854775807
                                      THEN g.attempt_deadline END,
           attempt_worker = $4,
           attempt_worker_instance = $5,
           started_at_ms = COALESCE(t.started_at_ms, $6),
           updated_at_ms = $6
      FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3),
                      pg_catalog.unnest($7), pg_catalog.unnest($8))
           AS g(id, attempt_deadline, lease_until, epoch, nonce)
     WHERE t.id {=} g.id
    RETURNING t.id, t.lane, t.kind, t.payload, t.tags, t.priority, t.attempt_index,
              t.pending_attempt, t.retry_count, t.reclaim_count, t.replay_count, t.lease_epoch,
              pg_catalog.concat('belay:', t.id, ':', t.attempt_index, ':', t.lease_epoch, ':', $9,
                  ':', pg_catalog.replace(CAST(t.lease_nonce AS pg_catalog.text), '-', '')),
              t.lease_until_ms, t.attempt_deadline_ms, t.deadline_ms, t.checkpoint,
              CASE WHEN t.failure_class IS NOT NULL
                   THEN pg_catalog.jsonb_build_object('class', t.failure_class, 'message',
                            t.failure_message, 'details', t.failure_details) END,
              t.flow_id, t.flow_key, CAST(NULL AS pg_catalog.jsonb),
              CAST(NULL AS pg_catalog.jsonb), t.available_at_ms
)sql",
                                         UUIDARRAYOID, INT8ARRAYOID, INT8ARRAYOID, TEXTOID, TEXTOID,
                                         INT8OID, INT8ARRAYOID, UUIDARRAYOID, INT4OID);

// $1 now, $2 limit, $3 when the first can be due.
constexpr Statement kPromote = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = 'ready', updated_at_ms = $1
     WHERE t.id {=} ANY (ARRAY(
        SELECT c.id
          FROM {hub}.tasks AS c
         WHERE c.state {=} 'delayed' AND c.available_at_ms {<=} $1 AND c.available_at_ms {>=} $3
         ORDER BY c.available_at_ms, c.id
         LIMIT $2
           FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING t.state, t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id
)sql",
                                         INT8OID, INT8OID, INT8OID);

constexpr Statement kNextDelayed = statement(R"sql(
    SELECT t.available_at_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'delayed'
     ORDER BY t.available_at_ms, t.id
     LIMIT 1
)sql");

// ---------------------------------------------------------------- a lease goes on

constexpr Statement kSetLeaseUntil = statement(R"sql(
    UPDATE {hub}.tasks AS t SET lease_until_ms = $2 WHERE t.id {=} $1
)sql",
                                               UUIDOID, INT8OID);

constexpr Statement kMoveLeaseCheck = statement(R"sql(
    UPDATE {hub}.tasks AS t SET lease_check_ms = t.lease_until_ms WHERE t.id {=} $1
)sql",
                                                UUIDOID);

constexpr Statement kProgress = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET progress_pct = COALESCE($2, t.progress_pct),
           progress_message = COALESCE($3, t.progress_message),
           checkpoint = COALESCE($4, t.checkpoint),
           lease_until_ms = $5,
           progress_at_ms = $6,
           updated_at_ms = $6
     WHERE t.id {=} $1
)sql",
                                          UUIDOID, NUMERICOID, TEXTOID, JSONBOID, INT8OID, INT8OID);

// ---------------------------------------------------------------- a lease ends

// $1 id, $2 state, $3 available_at, $4 pending, $5 now, $6 retries and $7 reclaims to add,
// $8 checkpoint, $9 whether it failed, $10 to $12 failure, $13 whether the attempt ends.
constexpr Statement kRequeue =
    statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = $2,
           available_at_ms = $3,
           pending_attempt = $4,
           updated_at_ms = $5,
           lease_epoch = t.lease_epoch {+} 1,
           lease_owner = NULL,
           lease_worker = NULL,
           lease_until_ms = NULL,
           lease_check_ms = NULL,
           retry_count = t.retry_count {+} $6,
           reclaim_count = t.reclaim_count {+} $7,
           checkpoint = COALESCE($8, t.checkpoint),
           failure_class = CASE WHEN $9 THEN $10 ELSE t.failure_class END,
           failure_message = CASE WHEN $9 THEN $11 ELSE t.failure_message END,
           failure_details = CASE WHEN $9 THEN $12 ELSE t.failure_details END,
           attempt_started_ms = CASE WHEN NOT $13 THEN t.attempt_started_ms END,
           attempt_deadline_ms = CASE WHEN NOT $13 THEN t.attempt_deadline_ms END,
           attempt_kind = CASE WHEN NOT $13 THEN t.attempt_kind END,
           attempt_worker = CASE WHEN NOT $13 THEN t.attempt_worker END,
           attempt_worker_instance = CASE WHEN NOT $13 THEN t.attempt_worker_instance END,
           attempt_leases = CASE WHEN $13 THEN 0 ELSE t.attempt_leases END
     WHERE t.id {=} $1 AND t.lease_owner IS NOT NULL
    RETURNING t.state, t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id
)sql",
              UUIDOID, TEXTOID, INT8OID, TEXTOID, INT8OID, INT4OID, INT4OID, JSONBOID, BOOLOID,
              TEXTOID, TEXTOID, JSONBOID, BOOLOID);

// $1 id, $2 state, $3 available_at, $4 now.
constexpr Statement kResume = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = $2, available_at_ms = $3, updated_at_ms = $4
     WHERE t.id {=} $1 AND (t.state {||} '') {=} 'suspended'
    RETURNING t.state, t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id
)sql",
                                        UUIDOID, TEXTOID, INT8OID, INT8OID);

constexpr Statement kTouch = statement(R"sql(
    UPDATE {hub}.tasks AS t SET updated_at_ms = $2 WHERE t.id {=} $1
)sql",
                                       UUIDOID, INT8OID);

// $1 id, $2 state, $3 now, $4 result, $5 whether it failed, $6 to $8 failure, $9 cancel reason,
// $10 cancelled by.
constexpr Statement kFinish = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = $2,
           available_at_ms = NULL,
           updated_at_ms = $3,
           terminal_at_ms = $3,
           result = $4,
           lease_epoch = CASE WHEN t.state {=} 'active' THEN t.lease_epoch {+} 1
                              ELSE t.lease_epoch END,
           lease_owner = NULL,
           lease_worker = NULL,
           lease_until_ms = NULL,
           lease_check_ms = NULL,
           failure_class = CASE WHEN $5 THEN $6 ELSE t.failure_class END,
           failure_message = CASE WHEN $5 THEN $7 ELSE t.failure_message END,
           failure_details = CASE WHEN $5 THEN $8 ELSE t.failure_details END,
           cancel_reason = COALESCE(t.cancel_reason, $9),
           cancelled_by = COALESCE(t.cancelled_by, $10),
           attempt_started_ms = NULL,
           attempt_deadline_ms = NULL,
           attempt_kind = NULL,
           attempt_worker = NULL,
           attempt_worker_instance = NULL,
           attempt_leases = 0
     WHERE t.id {=} $1 AND t.terminal_at_ms IS NULL
)sql",
                                        UUIDOID, TEXTOID, INT8OID, JSONBOID, BOOLOID, TEXTOID,
                                        TEXTOID, JSONBOID, TEXTOID, TEXTOID);

// $1 task, $2 index, $3 leases, $4 epoch, $5 started, $6 ended, $7 kind, $8 outcome, $9 worker,
// $10 worker instance, $11 error class, $12 message, $13 details.
constexpr Statement kEndAttempt =
    statement(R"sql(
    INSERT INTO {hub}.attempts
           (task_id, attempt_index, lease_count, epoch, started_ms, ended_ms, kind, outcome, worker,
            worker_instance, error)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
            CASE WHEN $11 IS NOT NULL
                 THEN pg_catalog.jsonb_build_object('class', $11, 'message', $12, 'details', $13)
            END)
)sql",
              UUIDOID, INT4OID, INT4OID, INT8OID, INT8OID, INT8OID, TEXTOID, TEXTOID, TEXTOID,
              TEXTOID, TEXTOID, TEXTOID, JSONBOID);

// ---------------------------------------------------------------- operators

constexpr Statement kSetPriority = statement(R"sql(
    UPDATE {hub}.tasks AS t SET priority = $2, updated_at_ms = $3 WHERE t.id {=} $1
    RETURNING t.state, t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id
)sql",
                                             UUIDOID, INT4OID, INT8OID);

// $1 id, $2 now, $3 state.
constexpr Statement kReopen = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = $3,
           pending_attempt = 'replay',
           available_at_ms = CASE WHEN $3 {=} 'ready' THEN $2 END,
           updated_at_ms = $2,
           terminal_at_ms = NULL,
           lease_epoch = t.lease_epoch {+} 1,
           deadline_ms = CASE WHEN t.deadline_ms {>} $2 THEN t.deadline_ms END,
           retry_count = 0,
           reclaim_count = 0,
           replay_count = t.replay_count {+} 1,
           result = NULL,
           checkpoint = NULL,
           progress_pct = NULL,
           progress_message = NULL,
           progress_at_ms = NULL,
           failure_class = NULL,
           failure_message = NULL,
           failure_details = NULL,
           cancel_reason = NULL,
           cancelled_by = NULL
     WHERE t.id {=} $1
    RETURNING t.state, t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id
)sql",
                                        UUIDOID, INT8OID, TEXTOID);

constexpr Statement kDeleteAttempts = statement(R"sql(
    DELETE FROM {hub}.attempts AS a WHERE a.task_id {=} $1
)sql",
                                                UUIDOID);

constexpr Statement kDelete = statement(R"sql(
    DELETE FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql",
                                        UUIDOID);

// ---------------------------------------------------------------- duties

constexpr Statement kExpired = statement(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_check_ms {<=} $1
     ORDER BY t.lease_check_ms
     LIMIT $2 OFFSET $3
)sql",
                                         INT8OID, INT8OID, INT8OID);

constexpr Statement kNextCheck = statement(R"sql(
    SELECT t.lease_check_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active'
     ORDER BY t.lease_check_ms
     LIMIT 1
)sql");

constexpr Statement kVoid = statement(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_epoch {<} $1
     ORDER BY t.lease_check_ms
     LIMIT $2 OFFSET $3
)sql",
                                      INT8OID, INT8OID, INT8OID);

constexpr Statement kHasVoid = statement(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_epoch {<} $1
     ORDER BY t.lease_check_ms
     LIMIT 1
)sql",
                                         INT8OID);

constexpr Statement kPastDeadline = statement(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.deadline_ms IS NOT NULL AND t.state {<>} 'active' AND t.terminal_at_ms IS NULL
       AND t.deadline_ms {<=} $1
     ORDER BY t.deadline_ms
     LIMIT $2 OFFSET $3
)sql",
                                              INT8OID, INT8OID, INT8OID);

// $1 now, $2 the hub's retention, $3 limit.
constexpr Statement kHoldOutdated = statement(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.terminal_at_ms IS NOT NULL AND t.flow_id IS NULL
       AND t.terminal_at_ms {<=} ($1 {-} LEAST($2, (SELECT pg_catalog.min(m.retention_ms)
                                                      FROM {hub}.lanes AS m)))
       AND t.terminal_at_ms {<=} ($1 {-} COALESCE((SELECT l.retention_ms
                                                     FROM {hub}.lanes AS l
                                                    WHERE l.name {=} t.lane), $2))
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.dedup_keys AS k
                        WHERE k.lane {=} t.lane AND k.key {=} t.dedup_key AND k.task_id {=} t.id
                          AND k.window_until_ms {>} $1)
     ORDER BY t.terminal_at_ms
     LIMIT $3
       FOR UPDATE SKIP LOCKED
)sql",
                                              INT8OID, INT8OID, INT8OID);

constexpr Statement kAllForSlots = statement(R"sql(
    SELECT t.id, t.slot FROM {hub}.tasks AS t ORDER BY t.id FOR NO KEY UPDATE
)sql");

constexpr Statement kSetSlot = statement(R"sql(
    UPDATE {hub}.tasks AS t SET slot = $2 WHERE t.id {=} $1
)sql",
                                         UUIDOID, INT2OID);

constexpr Statement kCountLive = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_until_ms {>} $1 AND t.lease_epoch {>=} $2
)sql",
                                           INT8OID, INT8OID);

// ---------------------------------------------------------------- helpers

int16 slot_of(const pg_uuid_t& id, int32 slot_count) {
    return static_cast<int16>(
        core::slot_of({reinterpret_cast<const char*>(id.data), UUID_LEN}, slot_count));
}

std::optional<Task> first_task(const Rows& rows) {
    return rows.count == 0 ? std::nullopt : std::optional(read_task(rows, 0));
}

std::span<const HeldTask> read_held(const Rows& rows) {
    auto* held = static_cast<HeldTask*>(palloc(sizeof(HeldTask) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        held[i] = {.id = rows.uuid(i, 1),
                   .pending = rows.word(i, 2, core::parse_pending),
                   .attempt_deadline = rows.optional_int8(i, 3),
                   .deadline = rows.optional_int8(i, 4),
                   .attempt_timeout = rows.optional_int8(i, 5),
                   .lane = rows.text(i, 6),
                   .lease_epoch = rows.int8(i, 7)};
    }
    return {held, static_cast<std::size_t>(rows.count)};
}

// Class, message and details.
void add_failure(Params* params, const std::optional<Failure>& failure) {
    if (failure) {
        params->text(core::name_of(failure->failure_class))
            .optional_text(failure->message)
            .jsonb(failure->details);
    } else {
        params->null().null().null();
    }
}

void end_attempt(const Hub& hub, const Task& task, core::AttemptOutcome outcome, int64 now,
                 const std::optional<Failure>& failure) {
    if (direct::try_end_attempt(hub, task, outcome, now, failure)) {
        return;
    }
    Params params;
    params.uuid(task.id)
        .int4(task.attempt_index)
        .int4(task.attempt_leases)
        .int8(task.last_lease_epoch())
        .int8(*task.attempt_started)
        .int8(now)
        .optional_text(task.attempt_kind)
        .text(core::name_of(outcome))
        .optional_text(task.attempt_worker)
        .optional_text(task.attempt_instance);
    add_failure(&params, failure);
    run_for_one(hub, kEndAttempt, params);
}

}  // namespace

Task read_task(const Rows& rows, uint64 row) {
    return Task{.id = rows.uuid(row, 1),
                .flow_id = rows.optional_uuid(row, 2),
                .lane = rows.text(row, 3),
                .kind = rows.text(row, 4),
                .dedup_key = rows.optional_text(row, 5),
                .state = rows.word(row, 6, core::parse_task_state),
                .pending = rows.word(row, 7, core::parse_pending),
                .priority = rows.int4(row, 8),
                .attempt_index = rows.int4(row, 9),
                .attempt_leases = rows.int4(row, 10),
                .retry_count = rows.int4(row, 11),
                .reclaim_count = rows.int4(row, 12),
                .replay_count = rows.int4(row, 13),
                .lease_epoch = rows.int8(row, 14),
                .lease_until = rows.optional_int8(row, 15),
                .lease_check = rows.optional_int8(row, 16),
                .lease_nonce = rows.optional_uuid(row, 30),
                .available_at = rows.optional_int8(row, 17),
                .deadline = rows.optional_int8(row, 18),
                .attempt_started = rows.optional_int8(row, 19),
                .attempt_deadline = rows.optional_int8(row, 20),
                .lease_owner = rows.optional_text(row, 21),
                .lease_worker = rows.optional_text(row, 22),
                .attempt_kind = rows.optional_text(row, 23),
                .attempt_worker = rows.optional_text(row, 24),
                .attempt_instance = rows.optional_text(row, 25),
                .cancel_reason = rows.optional_text(row, 26),
                .cancelled_by = rows.optional_text(row, 27),
                .policy = rows.optional_jsonb(row, 28),
                .held = rows.boolean(row, 29)};
}

std::span<const Task> read_tasks(const Rows& rows) {
    auto* tasks = static_cast<Task*>(palloc(sizeof(Task) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        tasks[i] = read_task(rows, i);
    }
    return {tasks, static_cast<std::size_t>(rows.count)};
}

std::span<const pg_uuid_t> read_ids(const Rows& rows) {
    auto* ids = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        ids[i] = rows.uuid(i, 1);
    }
    return {ids, static_cast<std::size_t>(rows.count)};
}

std::span<const DueTask> read_due(const Rows& rows) {
    auto* due = static_cast<DueTask*>(palloc(sizeof(DueTask) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        due[i] = {rows.uuid(i, 1), rows.optional_uuid(i, 2)};
    }
    return {due, static_cast<std::size_t>(rows.count)};
}

int16 task_slot(const Hub& hub, const pg_uuid_t& id) {
    return slot_of(id, static_cast<int32>(hub.options[Option::kSlotCount]));
}

const char* uuid_text(const pg_uuid_t& id) {
    return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&id)));
}

void note_claimable(const Hub& hub, std::string_view lane, bool ready, int64 available_at) {
    for (const pg::Channel& channel : {lane_channel(hub, lane), all_lanes_channel(hub)}) {
        if (ready) {
            pg::note_ready(channel);
        } else {
            pg::note_due(channel, available_at);
        }
    }
    if (!ready) {
        pg::note_due(task_due_channel(hub), available_at);
    }
}

void note_place(const Hub& hub, core::TaskState state, const TaskStream& stream,
                const TaskPlace& place) {
    if (state == core::TaskState::kReady) {
        pg::note_appeared(direct::ready_gaps(hub, stream), direct::ready_place(place));
    } else if (state == core::TaskState::kDelayed) {
        pg::note_appeared(direct::delayed_gaps(hub), direct::delayed_place(place));
    }
}

void note_places(const Hub& hub, const Rows& rows) {
    for (uint64 i = 0; i < rows.count; ++i) {
        const auto state = rows.word(i, 1, core::parse_task_state);
        if (state == core::TaskState::kReady || state == core::TaskState::kDelayed) {
            note_place(hub, state, {rows.text(i, 2), rows.int2(i, 3), rows.int4(i, 4)},
                       {rows.int4(i, 5), rows.int8(i, 6), rows.uuid(i, 7)});
        }
    }
}

void note_state(const Hub& hub, const pg_uuid_t& task) {
    pg::note_changed(task_channel(hub, uuid_text(task)), pg::WakeReason::kChanged);
}

void note_state(const Hub& hub, const Task& task, const Notice& notice) {
    // The epoch afterwards tells a lost lease from those before it.
    pg::note_changed(task_channel(hub, uuid_text(task.id)), notice.reason,
                     task.lease_epoch + (task.is_active() ? 1 : 0));
    if (notice.to_owner && task.lease_owner) {
        pg::note_changed(owner_channel(hub, *task.lease_owner), notice.reason);
    }
}

void lose(const Hub& hub, const Task& task) {
    if (is_limited(hub, task.lane)) {
        return_place(hub, task.lane);
    }
}

const char* lease_id(const pg_uuid_t& task, int32 attempt_index, int64 epoch) {
    return psprintf("belay:%s:%d:" INT64_FORMAT, uuid_text(task), attempt_index, epoch);
}

const char* secret_lease_id(const Hub& hub, const LeaseName& lease) {
    char nonce[2 * UUID_LEN];
    (void)hex_encode(reinterpret_cast<const char*>(lease.nonce.data), UUID_LEN, nonce);
    return psprintf("%s:%d:%.*s", lease_id(lease.task, lease.attempt_index, lease.epoch),
                    hub.incarnation, static_cast<int>(sizeof nonce), nonce);
}

// ---------------------------------------------------------------- creating and locking

bool insert_task(const Hub& hub, const NewTask& task) {
    const bool ready = task.available_at <= task.now;
    const auto state = ready ? core::TaskState::kReady : core::TaskState::kDelayed;
    const int16 slot = task_slot(hub, task.id);
    const TaskStream stream{task.lane, slot, task.cap_set};
    const TaskPlace place{task.priority, task.available_at, task.id};
    if (task.own_id && direct::try_insert_task(hub, task, slot, state)) {
        note_place(hub, state, stream, place);
        note_claimable(hub, task.lane, ready, task.available_at);
        pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kEnqueued);
        return true;
    }
    const Rows rows = run(hub, kInsert,
                          Params()
                              .uuid(task.id)
                              .int2(slot)
                              .int4(task.cap_set)
                              .int4(task.priority)
                              .int8(task.available_at)
                              .optional_int8(task.deadline)
                              .int8(task.now)
                              .text(core::name_of(state))
                              .text(task.lane)
                              .text(task.kind)
                              .optional_text(task.dedup_key)
                              .jsonb(task.payload)
                              .jsonb(task.tags)
                              .jsonb(task.policy));
    if (rows.count == 0) {
        return false;
    }
    note_place(hub, state, stream, place);
    note_claimable(hub, task.lane, ready, task.available_at);
    pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kEnqueued);
    return true;
}

std::optional<core::TaskState> task_state(const Hub& hub, const pg_uuid_t& id) {
    const Rows rows = run(hub, kState, Params().uuid(id));
    return rows.count == 0 ? std::nullopt : core::parse_task_state(rows.text(0, 1));
}

bool has_result(const Hub& hub, const pg_uuid_t& id, Jsonb* result) {
    const Rows rows = run(hub, kHasResult, Params().uuid(id).jsonb(result));
    return rows.count > 0 && rows.boolean(0, 1);
}

std::optional<LeaseState> read_lease_state(const Hub& hub, const pg_uuid_t& id) {
    const Rows rows = run(hub, kState, Params().uuid(id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return LeaseState{rows.word(0, 1, core::parse_task_state), rows.int8(0, 3)};
}

std::optional<Membership> read_membership(const Hub& hub, const pg_uuid_t& id) {
    const Rows rows = run(hub, kState, Params().uuid(id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return Membership{rows.optional_uuid(0, 2)};
}

std::optional<TaskKey> read_task_key(const Hub& hub, const pg_uuid_t& id) {
    const Rows rows = run(hub, kReadKey, Params().uuid(id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return TaskKey{rows.text(0, 1), rows.optional_text(0, 2)};
}

namespace {

// A claim may pass the task over meanwhile.
std::optional<Task> note_hold(const Hub& hub, const std::optional<Task>& task) {
    if (task &&
        (task->state == core::TaskState::kReady || task->state == core::TaskState::kDelayed)) {
        pg::note_held(lane_channel(hub, task->lane));
        pg::note_held(all_lanes_channel(hub));
    }
    return task;
}

}  // namespace

std::optional<Task> try_lock_task(const Hub& hub, const pg_uuid_t& id) {
    return note_hold(hub, first_task(run(hub, kTryLock, Params().uuid(id))));
}

std::optional<Task> try_lock_lone_task(const Hub& hub, const pg_uuid_t& id) {
    if (const auto held = direct::try_lock_lone(hub, id)) {
        return note_hold(hub, *held);
    }
    return note_hold(hub, first_task(run(hub, kTryLockAlone, Params().uuid(id))));
}

std::optional<Task> lock_task(const Hub& hub, const pg_uuid_t& id) {
    return note_hold(hub, first_task(run(hub, kLock, Params().uuid(id))));
}

std::optional<Task> try_lock_lease(const Hub& hub, const pg_uuid_t& id, int64 epoch) {
    return first_task(run(hub, kTryLockLease, Params().uuid(id).int8(epoch)));
}

std::optional<Task> lock_lease(const Hub& hub, const pg_uuid_t& id, int64 epoch) {
    return first_task(run(hub, kLockLease, Params().uuid(id).int8(epoch)));
}

std::optional<Task> lock_task_to_delete(const Hub& hub, const pg_uuid_t& id) {
    return first_task(run(hub, kLockToDelete, Params().uuid(id)));
}

// ---------------------------------------------------------------- claiming

bool TaskPlace::before(const TaskPlace& other) const {
    if (priority != other.priority) {
        return priority > other.priority;
    }
    if (available_at != other.available_at) {
        return available_at < other.available_at;
    }
    return memcmp(id.data, other.id.data, UUID_LEN) < 0;
}

std::span<const std::string_view> ready_lanes(const Hub& hub, std::string_view after,
                                              std::optional<std::string_view> up_to, int limit) {
    if (const auto found = direct::ready_lanes(hub, after, up_to, limit)) {
        return *found;
    }
    pg::List<std::string_view> lanes;
    for (std::string_view last = after; lanes.count < limit;) {
        const Rows rows = run(hub, kNextReadyLane, Params().text(last));
        if (rows.count == 0 || (up_to && rows.text(0, 1) > *up_to)) {
            break;
        }
        last = lanes.add(rows.text(0, 1));
    }
    return lanes.span();
}

std::span<const TaskStream> fitting_streams(const Hub& hub, std::span<const std::string_view> lanes,
                                            std::span<const std::string_view> capabilities,
                                            std::span<const int16> slots) {
    if (lanes.empty()) {
        return {};
    }
    const Rows rows =
        run(hub, kFits, Params().datum(text_array(lanes)).datum(text_array(capabilities)));
    // Each lane has its set 0 beside those found; the rows of a lane come together.
    auto* streams =
        static_cast<TaskStream*>(palloc(sizeof(TaskStream) * (2 * rows.count * slots.size() + 1)));
    std::size_t count = 0;
    for (uint64 i = 0; i < rows.count; ++i) {
        const std::string_view lane = rows.text(i, 1);
        const bool first = i == 0 || lane != rows.text(i - 1, 1);
        for (const int16 slot : slots) {
            if (first) {
                streams[count++] = {lane, slot, 0};
            }
            if (!rows.is_null(i, 2)) {
                streams[count++] = {lane, slot, rows.int4(i, 2)};
            }
        }
    }
    return {streams, count};
}

namespace {

// The tasks in the order of these ids.
std::span<const HeldTask> in_order(std::span<const HeldTask> held, std::span<const pg_uuid_t> ids) {
    struct Numbered {
        pg_uuid_t id;
        std::size_t number;
        const HeldTask* task;
    };
    const auto less = [](const Numbered& a, const Numbered& b) {
        return memcmp(a.id.data, b.id.data, UUID_LEN) < 0;
    };
    auto* all = static_cast<Numbered*>(palloc(sizeof(Numbered) * ids.size()));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        all[i] = {ids[i], i, nullptr};
    }
    std::sort(all, all + ids.size(), less);
    for (const HeldTask& task : held) {
        std::lower_bound(all, all + ids.size(), Numbered{task.id, 0, nullptr}, less)->task = &task;
    }
    std::sort(all, all + ids.size(),
              [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
    auto* ordered = static_cast<HeldTask*>(palloc(sizeof(HeldTask) * (held.size() + 1)));
    std::size_t count = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (all[i].task != nullptr) {
            ordered[count++] = *all[i].task;
        }
    }
    return {ordered, count};
}

}  // namespace

std::span<const HeldTask> hold_heads(const Hub& hub, const TaskStream& stream, int64 now, int limit,
                                     bool* lost) {
    if (const auto heads = direct::hold_heads(hub, stream, now, limit)) {
        *lost = heads->lost;
        return heads->tasks.size() == heads->ids.size()
                   ? heads->tasks
                   : in_order(hold_eligible(hub, heads->ids, now), heads->ids);
    }
    Params params;
    params.text(stream.lane).int2(stream.slot).int4(stream.cap_set).int8(now);
    const auto held = read_held(run(hub, kHoldHeads, params.int8(limit)));
    *lost = held.empty() &&
            run(hub, kHasHead,
                Params().text(stream.lane).int2(stream.slot).int4(stream.cap_set).int8(now))
                    .count > 0;
    return held;
}

std::span<const TaskPeek> peek_heads(const Hub& hub, std::span<const TaskStream> streams, int64 now,
                                     int limit) {
    if (const auto peeks = direct::peek_heads(hub, streams, now, limit)) {
        return *peeks;
    }
    auto* lanes = static_cast<std::string_view*>(palloc(sizeof(std::string_view) * streams.size()));
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * streams.size()));
    auto* sets = static_cast<int32*>(palloc(sizeof(int32) * streams.size()));
    for (std::size_t i = 0; i < streams.size(); ++i) {
        lanes[i] = streams[i].lane;
        slots[i] = streams[i].slot;
        sets[i] = streams[i].cap_set;
    }
    const Rows rows = run(hub, kPeekHeads,
                          Params()
                              .datum(text_array({lanes, streams.size()}))
                              .datum(int2_array({slots, streams.size()}))
                              .datum(int4_array({sets, streams.size()}))
                              .int8(now)
                              .int8(limit));
    auto* peeks = static_cast<TaskPeek*>(palloc(sizeof(TaskPeek) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        peeks[i] = {rows.int4(i, 1) - 1, {rows.int4(i, 2), rows.int8(i, 3), rows.uuid(i, 4)}};
    }
    return {peeks, static_cast<std::size_t>(rows.count)};
}

std::span<const TaskPlace> peek_behind(const Hub& hub, const TaskStream& stream,
                                       const TaskPlace& after, int64 now, int limit) {
    if (const auto found = direct::peek_behind(hub, stream, after, now, limit)) {
        return *found;
    }
    auto* places = static_cast<TaskPlace*>(palloc(sizeof(TaskPlace) * static_cast<Size>(limit)));
    std::size_t count = 0;
    const auto add = [places, &count](const Rows& rows) {
        for (uint64 i = 0; i < rows.count; ++i) {
            places[count++] = {rows.int4(i, 1), rows.int8(i, 2), rows.uuid(i, 3)};
        }
    };
    add(run(hub, kPeekSamePriority,
            Params()
                .text(stream.lane)
                .int2(stream.slot)
                .int4(stream.cap_set)
                .int4(after.priority)
                .int8(after.available_at)
                .uuid(after.id)
                .int8(now)
                .int8(limit)));
    if (count < static_cast<std::size_t>(limit)) {
        add(run(hub, kPeekLowerPriority,
                Params()
                    .text(stream.lane)
                    .int2(stream.slot)
                    .int4(stream.cap_set)
                    .int4(after.priority)
                    .int8(now)
                    .int8(limit - static_cast<int64>(count))));
    }
    return {places, count};
}

DueLook peek_due(const Hub& hub, const std::optional<TaskPlace>& after, int64 now, int limit) {
    if (const auto look = direct::peek_due(hub, after, now, limit)) {
        return *look;
    }
    const TaskPlace behind = after.value_or(TaskPlace{0, PG_INT64_MIN, {}});
    const Rows rows = run(hub, kPeekDue,
                          Params().int8(behind.available_at).uuid(behind.id).int8(now).int8(limit));
    auto* tasks = static_cast<DueTaskPeek*>(palloc(sizeof(DueTaskPeek) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        tasks[i] = {{rows.text(i, 1), rows.int2(i, 2), rows.int4(i, 3)},
                    {rows.int4(i, 4), rows.int8(i, 5), rows.uuid(i, 6)},
                    rows.boolean(i, 7)};
    }
    const bool more = rows.count == static_cast<uint64>(limit);
    DueLook look{{tasks, static_cast<std::size_t>(rows.count)}, more, now};
    if (!more) {
        const Rows next = run(hub, kNextToFallDue, Params().int8(now));
        look.next = next.count == 0 ? core::kNever : next.int8(0, 1);
    }
    return look;
}

std::span<const HeldTask> hold_eligible(const Hub& hub, std::span<const pg_uuid_t> ids, int64 now) {
    return read_held(run(hub, kHoldEligible, Params().datum(uuid_array(ids)).int8(now)));
}

namespace {

Rows acquire_by_sql(const Hub& hub, std::span<const LeaseGrant> grants, std::string_view worker,
                    std::string_view worker_instance, int64 now) {
    auto* ids = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * grants.size()));
    auto* attempt_deadlines = static_cast<int64*>(palloc(sizeof(int64) * grants.size()));
    auto* lease_untils = static_cast<int64*>(palloc(sizeof(int64) * grants.size()));
    auto* epochs = static_cast<int64*>(palloc(sizeof(int64) * grants.size()));
    auto* nonces = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * grants.size()));
    for (std::size_t i = 0; i < grants.size(); ++i) {
        ids[i] = grants[i].id;
        attempt_deadlines[i] = grants[i].attempt_deadline.value_or(core::kNever);
        lease_untils[i] = grants[i].lease_until;
        epochs[i] = grants[i].epoch;
        nonces[i] = grants[i].nonce;
    }
    return run(hub, kAcquire,
               Params()
                   .datum(uuid_array({ids, grants.size()}))
                   .datum(int8_array({attempt_deadlines, grants.size()}))
                   .datum(int8_array({lease_untils, grants.size()}))
                   .text(worker)
                   .text(worker_instance)
                   .int8(now)
                   .datum(int8_array({epochs, grants.size()}))
                   .datum(uuid_array({nonces, grants.size()}))
                   .int4(hub.incarnation));
}

}  // namespace

Rows acquire(const Hub& hub, std::span<const LeaseGrant> grants, std::string_view worker,
             std::string_view worker_instance, int64 now) {
    // After a crash no other lease may be given under these epochs.
    pg::flush_at_commit();
    const auto taken = direct::acquire(hub, grants, worker, worker_instance, now);
    const Rows rows = taken ? *taken : acquire_by_sql(hub, grants, worker, worker_instance, now);
    if (rows.count != grants.size()) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("a claim of hub \"%s\" lost tasks that it held", NameStr(hub.name)),
                        errhint("belay.check_hub shows rules and row security on its tables.")));
    }
    for (uint64 i = 0; i < rows.count; ++i) {
        pg::note_held(lane_channel(hub, rows.text(i, 2)));
        pg::note_held(all_lanes_channel(hub));
    }
    int64 first_end = core::kNever;
    for (std::size_t i = 0; i < grants.size(); ++i) {
        pg::note_changed(task_channel(hub, uuid_text(grants[i].id)), pg::WakeReason::kChanged);
        first_end = std::min(first_end, grants[i].lease_until);
    }
    pg::note_due(task_lease_channel(hub), first_end);
    return rows;
}

int64 promote_due(const Hub& hub, int64 now, int limit) {
    const auto first = direct::first_delayed(hub);
    if (first && first->value_or(core::kNever) > now) {
        return 0;
    }
    const int64 from = first ? first->value_or(PG_INT64_MIN) : PG_INT64_MIN;
    const Rows rows = run(hub, kPromote, Params().int8(now).int8(limit).int8(from));
    note_places(hub, rows);
    for (uint64 i = 0; i < rows.count; ++i) {
        note_claimable(hub, rows.text(i, 2), true, now);
        pg::note_held(lane_channel(hub, rows.text(i, 2)));
        pg::note_held(all_lanes_channel(hub));
        pg::note_changed(task_channel(hub, uuid_text(rows.uuid(i, 7))), pg::WakeReason::kChanged);
    }
    return static_cast<int64>(rows.count);
}

int64 next_delayed(const Hub& hub, int64 now) {
    if (const auto first = direct::first_delayed(hub)) {
        return *first ? std::max(**first, now) : core::kNever;
    }
    const Rows rows = run(hub, kNextDelayed);
    // One that is due and still here is held by somebody who promotes it, or may not.
    return rows.count == 0 ? core::kNever : std::max(rows.int8(0, 1), now);
}

// ---------------------------------------------------------------- a lease goes on

void set_lease_until(const Hub& hub, const pg_uuid_t& id, int64 lease_until) {
    if (!direct::try_set_lease_until(hub, id, lease_until)) {
        run_for_one(hub, kSetLeaseUntil, Params().uuid(id).int8(lease_until));
    }
}

void move_lease_check(const Hub& hub, const pg_uuid_t& id) {
    run_for_one(hub, kMoveLeaseCheck, Params().uuid(id));
}

void set_progress(const Hub& hub, const pg_uuid_t& id, const Progress& progress, int64 now) {
    run_for_one(hub, kProgress,
                Params()
                    .uuid(id)
                    .optional_datum(progress.percent)
                    .optional_text(progress.message)
                    .jsonb(progress.checkpoint)
                    .int8(progress.lease_until)
                    .int8(now));
}

// ---------------------------------------------------------------- a lease ends

// An attempt has ended, or is given up.
static void count_run(const Hub& hub, const Task& task, int64 now) {
    if (task.is_active() && task.attempt_started) {
        pg::count_duration(hub.schema, pg::CountedQueue::kTasks, pg::Duration::kRun,
                           now - *task.attempt_started);
    }
}

void count_end(const Hub& hub, const Task& task, core::TaskState state, int64 now) {
    count_run(hub, task, now);
    switch (state) {
        case core::TaskState::kFailed:
            pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kFailed);
            break;
        case core::TaskState::kCancelled:
            pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kCancelled);
            break;
        case core::TaskState::kExpired:
            pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kTimedOut);
            break;
        default:
            break;
    }
}

core::TaskState requeue(const Hub& hub, const Task& task, const Requeue& how) {
    const bool ready = how.available_at <= how.now;
    const auto state = ready ? core::TaskState::kReady : core::TaskState::kDelayed;
    if (how.outcome) {
        end_attempt(hub, task, *how.outcome, how.now, how.failure);
    }
    Params params;
    params.uuid(task.id)
        .text(core::name_of(state))
        .int8(how.available_at)
        .text(core::name_of(how.pending))
        .int8(how.now)
        .int4(how.retries)
        .int4(how.reclaims)
        .jsonb(how.checkpoint)
        .boolean(how.failure.has_value());
    add_failure(&params, how.failure);
    note_places(hub, run_for_one(hub, kRequeue, params.boolean(how.outcome.has_value())));
    lose(hub, task);
    if (how.outcome) {
        count_run(hub, task, how.now);
        pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kRetried);
    }
    note_claimable(hub, task.lane, ready, how.available_at);
    note_state(hub, task, how.notice);
    return state;
}

void suspend(const Hub& hub, const Task& task, int64 now) {
    Params params;
    params.uuid(task.id)
        .text(core::name_of(core::TaskState::kSuspended))
        .null()
        .text(core::name_of(core::Pending::kResume))
        .int8(now)
        .int4(0)
        .int4(0)
        .null()
        .boolean(false);
    add_failure(&params, std::nullopt);
    run_for_one(hub, kRequeue, params.boolean(false));
    lose(hub, task);
    note_state(hub, task, {pg::WakeReason::kChanged, false});
}

core::TaskState resume(const Hub& hub, const Task& task, int64 available_at, int64 now) {
    const bool ready = available_at <= now;
    const auto state = ready ? core::TaskState::kReady : core::TaskState::kDelayed;
    note_places(
        hub, run_for_one(
                 hub, kResume,
                 Params().uuid(task.id).text(core::name_of(state)).int8(available_at).int8(now)));
    note_claimable(hub, task.lane, ready, available_at);
    note_state(hub, task, {pg::WakeReason::kChanged, false});
    return state;
}

void touch(const Hub& hub, const pg_uuid_t& id, int64 now) {
    run_for_one(hub, kTouch, Params().uuid(id).int8(now));
}

int64 finish(const Hub& hub, const Task& task, const Finish& how) {
    if (task.state == core::TaskState::kSuspended) {
        close_suspension(hub, task.id, "end", how.now);
    }
    if (task.has_attempt()) {
        end_attempt(hub, task, how.outcome, how.now, how.failure);
    }
    if (!direct::try_finish(hub, task, how)) {
        Params params;
        params.uuid(task.id)
            .text(core::name_of(how.state))
            .int8(how.now)
            .jsonb(how.result)
            .boolean(how.failure.has_value());
        add_failure(&params, how.failure);
        run_for_one(hub, kFinish,
                    params.optional_text(how.cancel_reason).optional_text(how.cancelled_by));
    }
    if (task.is_active()) {
        lose(hub, task);
    }
    count_end(hub, task, how.state, how.now);
    note_state(hub, task, how.notice);
    return task.lease_epoch + (task.is_active() ? 1 : 0);
}

// ---------------------------------------------------------------- operators

void set_priority(const Hub& hub, const Task& task, int32 priority, int64 now) {
    note_places(hub,
                run_for_one(hub, kSetPriority, Params().uuid(task.id).int4(priority).int8(now)));
}

int64 reopen(const Hub& hub, const Task& task, core::TaskState state, int64 now) {
    if (has_suspensions(hub)) {
        delete_suspensions(hub, task.id);
    }
    note_places(hub, run_for_one(hub, kReopen,
                                 Params().uuid(task.id).int8(now).text(core::name_of(state))));
    if (state == core::TaskState::kReady) {
        note_claimable(hub, task.lane, true, now);
    }
    note_state(hub, task, {pg::WakeReason::kChanged, false});
    return task.lease_epoch + 1;
}

void delete_task(const Hub& hub, const Task& task) {
    run(hub, kDeleteAttempts, Params().uuid(task.id));
    if (has_suspensions(hub)) {
        delete_suspensions(hub, task.id);
    }
    if (task.dedup_key) {
        delete_dedup_key(hub, task.lane, *task.dedup_key, task.id);
    }
    run_for_one(hub, kDelete, Params().uuid(task.id));
    note_state(hub, task, {pg::WakeReason::kChanged, false});
}

// ---------------------------------------------------------------- duties

std::span<const DueTask> expired_leases(const Hub& hub, int64 now, int limit, int offset) {
    return read_due(run(hub, kExpired, Params().int8(now).int8(limit).int8(offset)));
}

std::span<const DueTask> void_leases(const Hub& hub, int limit, int offset) {
    return read_due(run(hub, kVoid, Params().int8(hub.epoch_floor).int8(limit).int8(offset)));
}

int64 next_lease_check(const Hub& hub) {
    const Rows rows = run(hub, kNextCheck);
    return rows.count == 0 ? core::kNever : rows.int8(0, 1);
}

bool has_void_leases(const Hub& hub) {
    return run(hub, kHasVoid, Params().int8(hub.epoch_floor)).count > 0;
}

std::span<const DueTask> past_deadline(const Hub& hub, int64 now, int limit, int offset) {
    return read_due(run(hub, kPastDeadline, Params().int8(now).int8(limit).int8(offset)));
}

std::span<const pg_uuid_t> hold_outdated(const Hub& hub, int64 now, int64 retention_ms, int limit) {
    return read_ids(run(hub, kHoldOutdated, Params().int8(now).int8(retention_ms).int8(limit)));
}

void reslot_tasks(const Hub& hub, int32 slot_count) {
    const Rows rows = run(hub, kAllForSlots);
    for (uint64 i = 0; i < rows.count; ++i) {
        const pg_uuid_t id = rows.uuid(i, 1);
        const int16 slot = slot_of(id, slot_count);
        if (slot != rows.int2(i, 2)) {
            run_for_one(hub, kSetSlot, Params().uuid(id).int2(slot));
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
    pg::note_rearranged(hub.relations.tasks);
}

int64 count_live_tasks(const Hub& hub, int64 now) {
    return run(hub, kCountLive, Params().int8(now).int8(hub.epoch_floor)).int8(0, 1);
}

}  // namespace belay::store
