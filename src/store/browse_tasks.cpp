// Pages of tasks.
//
// May touch: the tables of tasks, to read them with the caller's snapshot. Must not: write or lock,
// count, or look at more rows than the budget of the page.
#include "store/browse.hpp"

namespace belay::store {

namespace {

// $1 key, $2 limit, $3 budget, $4 queue, $5 states, $6 flow, $7 kind, $8 tags, $9 worker,
// $10 worker instance, $11 and $12 created, $13 pending, $14 payload, $15 result, $16 failure,
// $17 message, $18 dedup key, $19 flow key, $20 upto. The cheap conditions first: the others read
// what may lie out of line.
#define BELAY_TASK_FITS                                                                      \
    "   COALESCE(($4 IS NULL OR t.queue {=} $4)"                                             \
    "   AND ($5 IS NULL OR t.state {=} ANY ($5))"                                            \
    "   AND ($6 IS NULL OR t.flow_id {=} $6)"                                                \
    "   AND ($7 IS NULL OR t.kind {=} $7)"                                                   \
    "   AND ($9 IS NULL OR t.lease_worker {=} $9)"                                           \
    "   AND ($10 IS NULL OR t.lease_owner {=} $10)"                                          \
    "   AND ($11 IS NULL OR t.created_at_ms {>=} $11)"                                       \
    "   AND ($12 IS NULL OR t.created_at_ms {<=} $12)"                                       \
    "   AND ($13 IS NULL OR t.pending_attempt {=} $13)"                                      \
    "   AND ($18 IS NULL OR t.dedup_key {=} $18)"                                            \
    "   AND ($19 IS NULL OR t.flow_key {=} $19)"                                             \
    "   AND ($20 IS NULL OR t.id {<=} $20)"                                                  \
    "   AND ($8 IS NULL OR t.tags {@>} $8)"                                                  \
    "   AND ($17 IS NULL OR pg_catalog.strpos(t.failure_message, $17) {>} 0)"                \
    "   AND ($16 IS NULL OR (t.failure_class IS NOT NULL AND pg_catalog.jsonb_build_object(" \
    "            'class', t.failure_class, 'message', t.failure_message,"                    \
    "            'details', t.failure_details) {@>} $16))"                                   \
    "   AND ($14 IS NULL OR t.payload {@>} $14)"                                             \
    "   AND ($15 IS NULL OR t.result {@>} $15), false) AS browse_fits"

#define BELAY_TASK_ROW                                                                        \
    "pg_catalog.jsonb_build_object("                                                          \
    "    'task_id', r.id, 'state', r.state, 'queue', r.queue, 'kind', r.kind,"                \
    "    'priority', r.priority, 'flow_id', r.flow_id, 'flow_key', r.flow_key,"               \
    "    'dedup_key', r.dedup_key, 'pending_attempt', r.pending_attempt,"                     \
    "    'attempt_index', r.attempt_index, 'retry_count', r.retry_count,"                     \
    "    'reclaim_count', r.reclaim_count, 'replay_count', r.replay_count,"                   \
    "    'available_at_ms', r.available_at_ms, 'deadline_ms', r.deadline_ms,"                 \
    "    'worker', r.lease_worker, 'worker_instance', r.lease_owner,"                         \
    "    'lease_epoch', r.lease_epoch, 'lease_until_ms', r.lease_until_ms,"                   \
    "    'failure_class', r.failure_class, 'cancel_reason', r.cancel_reason,"                 \
    "    'cancelled_by', r.cancelled_by, 'progress_percent', r.progress_pct, 'tags', r.tags," \
    "    'created_at_ms', r.created_at_ms, 'started_at_ms', r.started_at_ms,"                 \
    "    'updated_at_ms', r.updated_at_ms, 'terminal_at_ms', r.terminal_at_ms)"

#define BELAY_TASK_PAGE(KEY, SOURCE)                                                 \
    BELAY_PAGE("pg_catalog.jsonb_build_array(" KEY ")", BELAY_TASK_ROW,              \
               "r.payload, r.result, r.failure_message, r.progress_message", SOURCE, \
               "JOIN {hub}.tasks AS r ON r.id {=} p.id")

#define BELAY_TASKS "SELECT t.id, " BELAY_TASK_FITS " FROM {hub}.tasks AS t WHERE "

#define BELAY_UUID_AT(PLACE) "CAST($1 {->>} " PLACE " AS pg_catalog.uuid)"
#define BELAY_INT8_AT(PLACE) "CAST($1 {->>} " PLACE " AS pg_catalog.int8)"
#define BELAY_INT4_AT(PLACE) "CAST($1 {->>} " PLACE " AS pg_catalog.int4)"
#define BELAY_INT2_AT(PLACE) "CAST($1 {->>} " PLACE " AS pg_catalog.int2)"
// No task has the highest id: no uuid is made like that, and callers' are checked.
#define BELAY_UUID_BEFORE(PLACE) \
    "COALESCE(" BELAY_UUID_AT(   \
        PLACE) ", CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS pg_catalog.uuid))"
#define BELAY_UUID_AFTER(PLACE) \
    "COALESCE(" BELAY_UUID_AT(  \
        PLACE) ", CAST('00000000-0000-0000-0000-000000000000' AS pg_catalog.uuid))"
#define BELAY_INT8_BEFORE(PLACE) "COALESCE(" BELAY_INT8_AT(PLACE) ", 9223372036854775807)"
#define BELAY_INT8_AFTER(PLACE) \
    "COALESCE(" BELAY_INT8_AT(PLACE) ", CAST('-9223372036854775808' AS pg_catalog.int8))"

template <typename... More>
using PageIn =
    In<Jsonb*, int64, int64, Maybe<Text>, Maybe<ListOf<Text>>, Maybe<pg_uuid_t>, Maybe<Text>,
       Jsonb*, Maybe<Text>, Maybe<Text>, Maybe<int64>, Maybe<int64>, Maybe<Text>, Jsonb*, Jsonb*,
       Jsonb*, Maybe<Text>, Maybe<Text>, Maybe<Text>, Maybe<pg_uuid_t>, More...>;

constexpr auto kCreated = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    "p.id", BELAY_TASKS "t.id {<} " BELAY_UUID_BEFORE("0") " ORDER BY t.id DESC LIMIT $3"));

constexpr auto kEnded = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    "r.terminal_at_ms, p.id", BELAY_TASKS
    "t.terminal_at_ms IS NOT NULL AND ROW(t.terminal_at_ms, t.id) {<} ROW(" BELAY_INT8_BEFORE(
        "0") ", " BELAY_UUID_BEFORE("1") ")"
                                         " ORDER BY t.terminal_at_ms DESC, t.id DESC LIMIT $3"));

constexpr auto kFailed = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    "r.terminal_at_ms, p.id", BELAY_TASKS
    "t.state {=} ANY (ARRAY['failed', 'expired'])"
    " AND ROW(t.terminal_at_ms, t.id) {<} ROW(" BELAY_INT8_BEFORE("0") ", " BELAY_UUID_BEFORE(
        "1") ")"
             " ORDER BY t.terminal_at_ms DESC, t.id DESC LIMIT $3"));

constexpr auto kDue = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    "r.available_at_ms, p.id",
    BELAY_TASKS "t.state {=} 'delayed' AND ROW(t.available_at_ms, t.id) {>} ROW(" BELAY_INT8_AFTER(
        "0") ", " BELAY_UUID_AFTER("1") ")"
                                        " ORDER BY t.available_at_ms, t.id LIMIT $3"));

// The index has no id. Those with the same time are sorted: they were claimed in one millisecond.
constexpr auto kLease = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    "r.lease_check_ms, p.id",
    BELAY_TASKS "t.state {=} 'active' AND ROW(t.lease_check_ms, t.id) {>} ROW(" BELAY_INT8_AFTER(
        "0") ", " BELAY_UUID_AFTER("1") ")"
                                        " ORDER BY t.lease_check_ms, t.id LIMIT $3"));

// Priorities run downwards, so what follows a key is three ranges of the index: those of its
// priority, those of lower ones, those of further capability sets. $21 is added to the last one.
#define BELAY_CLAIM_KEY "r.queue, r.slot, r.cap_set, r.priority, r.available_at_ms, p.id"
#define BELAY_CLAIM_ORDER \
    " ORDER BY t.queue, t.slot, t.cap_set, t.priority DESC, t.available_at_ms, t.id LIMIT $3)"
#define BELAY_CLAIM_SET                                                               \
    "t.state {=} 'ready' AND t.queue {=} ($1 {->>} 0) AND t.slot {=} " BELAY_INT2_AT( \
        "1") " AND t.cap_set {=} " BELAY_INT4_AT("2")
#define BELAY_CLAIM_SOURCE(FIRST, OTHERS) \
    "SELECT u.* FROM (("                                                                        \
    BELAY_TASKS BELAY_CLAIM_SET " AND t.priority {=} " BELAY_INT4_AT("3")                       \
    " AND ROW(t.available_at_ms, t.id) {>} ROW(" BELAY_INT8_AT("4") ", " BELAY_UUID_AT("5") ")" \
    BELAY_CLAIM_ORDER " UNION ALL ("                                                            \
    BELAY_TASKS BELAY_CLAIM_SET " AND t.priority {<} " BELAY_INT4_AT("3")                       \
    BELAY_CLAIM_ORDER " UNION ALL ("                                                            \
    BELAY_TASKS "$1 IS NOT NULL AND t.state {=} 'ready' AND " OTHERS                            \
    BELAY_CLAIM_ORDER " UNION ALL ("                                                            \
    BELAY_TASKS "$1 IS NULL AND t.state {=} 'ready' AND " FIRST                                 \
    BELAY_CLAIM_ORDER ") AS u LIMIT $3"

constexpr auto kClaim = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    BELAY_CLAIM_KEY,
    BELAY_CLAIM_SOURCE("true", "ROW(t.queue, t.slot, t.cap_set) {>} ROW($1 {->>} 0, " BELAY_INT2_AT(
                                   "1") ", " BELAY_INT4_AT("2") ")")));

constexpr auto kClaimInQueue = query<PageIn<Text>, PageRows>(BELAY_TASK_PAGE(
    BELAY_CLAIM_KEY,
    BELAY_CLAIM_SOURCE("t.queue {=} $21",
                       "t.queue {=} $21 AND ROW(t.slot, t.cap_set) {>} ROW(" BELAY_INT2_AT(
                           "1") ", " BELAY_INT4_AT("2") ")")));

constexpr auto kParked = query<PageIn<>, PageRows>(BELAY_TASK_PAGE(
    "r.state, r.queue, p.id", BELAY_TASKS
    "t.state {=} ANY (ARRAY['blocked', 'suspended'])"
    " AND ROW(t.state, t.queue, t.id) {>} ROW(COALESCE($1 {->>} 0, ''), COALESCE($1 {->>} 1, "
    "''), " BELAY_UUID_AFTER("2") ")"
                                  " ORDER BY t.state, t.queue, t.id LIMIT $3"));

// $21 state. The planner has to know that it is one of the index.
constexpr auto kParkedInState = query<PageIn<Text>, PageRows>(
    BELAY_TASK_PAGE("r.state, r.queue, p.id", BELAY_TASKS
                    "t.state {=} ANY (ARRAY['blocked', 'suspended']) AND t.state {=} $21"
                    " AND ROW(t.queue, t.id) {>} ROW(COALESCE($1 {->>} 1, ''), " BELAY_UUID_AFTER(
                        "2") ")"
                             " ORDER BY t.state, t.queue, t.id LIMIT $3"));

// $21 state, $22 queue.
constexpr auto kParkedInQueue = query<PageIn<Text, Text>, PageRows>(
    BELAY_TASK_PAGE("r.state, r.queue, p.id", BELAY_TASKS
                    "t.state {=} ANY (ARRAY['blocked', 'suspended']) AND t.state {=} $21"
                    " AND t.queue {=} $22 AND t.id {>} " BELAY_UUID_AFTER(
                        "2") " ORDER BY t.state, t.queue, t.id LIMIT $3"));

}  // namespace

PageRows browse_tasks(const Hub& hub, TaskOrder order, const TaskPageFilter& filter,
                      const PageRange& range) {
    const auto page = [&](const auto& statement, const auto&... more) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.queue,
                   filter.states, filter.flow_id, filter.kind, filter.tags, filter.worker,
                   filter.worker_instance, filter.created_from, filter.created_to, filter.pending,
                   filter.payload, filter.result, filter.failure, filter.message, filter.dedup_key,
                   filter.flow_key, filter.upto, more...);
    };
    switch (order) {
        case TaskOrder::kEnded:
            return page(kEnded);
        case TaskOrder::kFailed:
            return page(kFailed);
        case TaskOrder::kDue:
            return page(kDue);
        case TaskOrder::kLease:
            return page(kLease);
        case TaskOrder::kClaim:
            return filter.queue ? page(kClaimInQueue, *filter.queue) : page(kClaim);
        case TaskOrder::kParked:
            if (!filter.states || filter.states->size() != 1) {
                return page(kParked);
            }
            return filter.queue ? page(kParkedInQueue, filter.states->front(), *filter.queue)
                                : page(kParkedInState, filter.states->front());
        case TaskOrder::kCreated:
            break;
    }
    return page(kCreated);
}

}  // namespace belay::store
