// Pages of work items, messages and dead letters.
//
// May touch: the queues and dead letters, to read them with the caller's snapshot. Must not: write
// or lock, count, show a token, or look at more rows than the budget of the page.
#include "core/hash.hpp"
#include "store/browse.hpp"

namespace belay::store {

namespace {

// Items are opaque, but usually JSON of one key, the kind, with a name inside.
#define BELAY_ITEM_NAME(ITEM) \
    "(pg_catalog.regexp_match(" ITEM ", '\"name\"\\s*:\\s*\"([^\"\\\\]*)\"'))[1]"
#define BELAY_ITEM_KIND(ITEM) \
    "(pg_catalog.regexp_match(" ITEM ", '^\\s*[[:punct:]]\\s*\"(\\w+)\"'))[1]"
#define BELAY_NUMBER_AT(PLACE, TYPE, OTHERWISE) \
    "COALESCE(CAST($1 {->>} " PLACE " AS pg_catalog." TYPE "), " OTHERWISE ")"
#define BELAY_LEAST(TYPE, VALUE) "CAST('" VALUE "' AS pg_catalog." TYPE ")"

// Most items do not even contain the name.
#define BELAY_ITEM_HAS_NAME(ITEM, NAME)  \
    "(pg_catalog.strpos(" ITEM ", " NAME \
    ") {>} 0 AND COALESCE(" BELAY_ITEM_NAME(ITEM) " {=} " NAME ", false))"

// ---- Work items ----

// $1 key, $2 limit, $3 budget, $4 now, $5 incarnation, $6 instance, $7 session, $8 tag, $9 name,
// $10 state, $11 owner, $12 least attempts.
using WorkIn = In<Jsonb*, int64, int64, int64, int32, Maybe<Text>, Maybe<Text>, Maybe<Text>,
                  Maybe<Text>, Maybe<Text>, Maybe<Text>, Maybe<int64>>;

#define BELAY_WORK_LEASED(ROW) ROW ".locked_until {>} $4 AND " ROW ".lease_inc {=} $5"
#define BELAY_WORK_STATE(ROW) \
    "CASE WHEN " BELAY_WORK_LEASED(ROW) " THEN 'leased'"     \
    "     WHEN " ROW ".due {>} $4 THEN 'delayed' ELSE 'ready' END"

#define BELAY_WORK_PAGE(FROM_KEY, ORDER) \
    BELAY_PAGE("pg_catalog.jsonb_build_array(p.lane, p.slot, p.due, p.id)",                   \
               "pg_catalog.jsonb_build_object('id', r.id, 'state', " BELAY_WORK_STATE("r") "," \
               "    'name', " BELAY_ITEM_NAME("r.work_item") ","                              \
               "    'instance_id', r.instance_id, 'execution_id', r.execution_id,"            \
               "    'activity_id', r.activity_id, 'session_id', r.session_id, 'tag', r.tag,"  \
               "    'visible_at_ms', " BELAY_MS("r.visible_at") ","                           \
               "    'locked_until_ms', CASE WHEN " BELAY_WORK_LEASED("r")                     \
               "                            THEN r.locked_until END,"                         \
               "    'locked_by', CASE WHEN " BELAY_WORK_LEASED("r") " THEN r.locked_by END,"  \
               "    'attempt_count', r.attempt_count,"                                        \
               "    'created_at_ms', " BELAY_MS("r.created_at") ")",                          \
               BELAY_NO_DOCUMENT ", " BELAY_NO_DOCUMENT ", r.work_item, r.last_error",        \
               "SELECT w.lane, w.slot, w.due, w.id, COALESCE("                                \
               "      ($6 IS NULL OR w.instance_id {=} $6)"                                   \
               "  AND ($7 IS NULL OR w.session_id {=} $7)"                                    \
               "  AND ($8 IS NULL OR w.tag {=} $8)"                                           \
               "  AND ($10 IS NULL OR " BELAY_WORK_STATE("w") " {=} $10)"                     \
               "  AND ($11 IS NULL OR (w.locked_by {=} $11 AND " BELAY_WORK_LEASED("w") "))"  \
               "  AND ($12 IS NULL OR w.attempt_count {>=} $12)"                              \
               "  AND ($9 IS NULL OR " BELAY_ITEM_HAS_NAME("w.work_item", "$9") "), false)"      \
               "  AS browse_fits"                                                             \
               "  FROM {hub}.worker_queue AS w"                                               \
               " WHERE ROW(w.lane, w.slot, w.due, w.id) " FROM_KEY ORDER " LIMIT $3",               \
               "JOIN {hub}.worker_queue AS r ON r.lane {=} p.lane AND r.slot {=} p.slot"      \
               " AND r.due {=} p.due AND r.id {=} p.id")

constexpr auto kWorkOldest = query<WorkIn, PageRows>(BELAY_WORK_PAGE(
    "{>} ROW(" BELAY_NUMBER_AT("0", "int4", BELAY_LEAST("int4", "-1")) ", " BELAY_NUMBER_AT(
        "1", "int2",
        BELAY_LEAST("int2", "0")) ", " BELAY_NUMBER_AT("2", "int8",
                                                       BELAY_LEAST(
                                                           "int8",
                                                           "0")) ", " BELAY_NUMBER_AT("3", "int8",
                                                                                      BELAY_LEAST(
                                                                                          "int8",
                                                                                          "0")) ")",
    " ORDER BY w.lane, w.slot, w.due, w.id"));

constexpr auto kWorkNewest = query<WorkIn, PageRows>(BELAY_WORK_PAGE(
    "{<} ROW(" BELAY_NUMBER_AT("0", "int4", "2147483647") ", " BELAY_NUMBER_AT(
        "1", "int2",
        BELAY_LEAST(
            "int2",
            "32767")) ", " BELAY_NUMBER_AT("2", "int8",
                                           "9223372036854775807") ", " BELAY_NUMBER_AT("3", "int8",
                                                                                       "9223372"
                                                                                       "0368"
                                                                                       "5477580"
                                                                                       "7") ")",
    " ORDER BY w.lane DESC, w.slot DESC, w.due DESC, w.id DESC"));

// ---- Messages ----

// $1 key, $2 limit, $3 budget, $4 name.
template <typename... More>
using MessageIn = In<Jsonb*, int64, int64, Maybe<Text>, More...>;

#define BELAY_MESSAGE_PAGE(KEY, WHERE) \
    BELAY_PAGE("pg_catalog.jsonb_build_array(" KEY ")",                                         \
               "pg_catalog.jsonb_build_object('id', r.id, 'instance_id', r.instance_id,"        \
               "    'kind', COALESCE(" BELAY_ITEM_KIND("r.work_item") ", ''),"                  \
               "    'name', " BELAY_ITEM_NAME("r.work_item") ", 'parked', r.parked,"            \
               "    'visible_at_ms', " BELAY_MS("r.visible_at") ","                             \
               "    'attempt_count', r.attempt_count, 'leased', r.lock_no {<>} 0,"              \
               "    'created_at_ms', " BELAY_MS("r.created_at") ")",                            \
               BELAY_NO_DOCUMENT ", " BELAY_NO_DOCUMENT ", r.work_item, " BELAY_NO_TEXT,        \
               "SELECT m.instance_key, m.id, m.slot, m.visible_at, m.created_at,"               \
               "       ($4 IS NULL OR COALESCE(" BELAY_ITEM_HAS_NAME("m.work_item", "$4") ", false))" \
               "       AS browse_fits"                                                          \
               "  FROM {hub}.orchestrator_queue AS m WHERE " WHERE " LIMIT $3",                 \
               "JOIN {hub}.orchestrator_queue AS r"                                             \
               "  ON r.instance_key {=} p.instance_key AND r.id {=} p.id")

#define BELAY_TIME_AT(PLACE, OTHERWISE) \
    "COALESCE(CAST($1 {->>} " PLACE     \
    " AS pg_catalog.timestamptz),"      \
    " CAST('" OTHERWISE "' AS pg_catalog.timestamptz))"

constexpr auto kMessagesOldest = query<MessageIn<>, PageRows>(BELAY_MESSAGE_PAGE(
    "p.slot, p.visible_at, p.id",
    "NOT m.parked AND ROW(m.slot, m.visible_at, m.id) {>} ROW(" BELAY_NUMBER_AT(
        "0", "int2",
        BELAY_LEAST(
            "int2",
            "-1")) ", " BELAY_TIME_AT("1", "-infinity") ", " BELAY_NUMBER_AT("2", "int8",
                                                                             BELAY_LEAST(
                                                                                 "int8",
                                                                                 "0")) ")"
                                                                                       " ORDER BY "
                                                                                       "m.slot, "
                                                                                       "m.visible_"
                                                                                       "at, m.id"));

constexpr auto kMessagesNewest = query<MessageIn<>, PageRows>(BELAY_MESSAGE_PAGE(
    "p.slot, p.visible_at, p.id",
    "NOT m.parked AND ROW(m.slot, m.visible_at, m.id) {<} ROW(" BELAY_NUMBER_AT(
        "0", "int2",
        BELAY_LEAST(
            "int2",
            "32767")) ", " BELAY_TIME_AT("1",
                                         "infinity") ", " BELAY_NUMBER_AT("2", "int8",
                                                                          BELAY_LEAST(
                                                                              "int8",
                                                                              "0")) ")"
                                                                                    " ORDER BY "
                                                                                    "m.slot DESC, "
                                                                                    "m.visible_at "
                                                                                    "DESC, m.id "
                                                                                    "DESC"));

// The index has no id: those of one instant are sorted.
constexpr auto kMessagesParked = query<MessageIn<>, PageRows>(BELAY_MESSAGE_PAGE(
    "p.created_at, p.id",
    "m.parked AND ROW(m.created_at, m.id) {>} ROW(" BELAY_TIME_AT(
        "0", "-infinity") ", " BELAY_NUMBER_AT("1", "int8",
                                               BELAY_LEAST("int8",
                                                           "0")) ")"
                                                                 " ORDER BY m.created_at, m.id"));

// $5 key of the instance, $6 its id.
constexpr auto kInstanceOldest = query<MessageIn<int64, Text>, PageRows>(BELAY_MESSAGE_PAGE(
    "p.id", "m.instance_key {=} $5 AND m.instance_id {=} $6 AND m.id {>} " BELAY_NUMBER_AT(
                "0", "int8", BELAY_LEAST("int8", "0")) " ORDER BY m.instance_key, m.id"));

constexpr auto kInstanceNewest = query<MessageIn<int64, Text>, PageRows>(BELAY_MESSAGE_PAGE(
    "p.id", "m.instance_key {=} $5 AND m.instance_id {=} $6 AND m.id {<} " BELAY_NUMBER_AT(
                "0", "int8", "9223372036854775807") " ORDER BY m.instance_key DESC, m.id DESC"));

// ---- Dead letters ----

// $1 key, $2 limit, $3 budget, $4 queue, $5 reason, $6 name, $7 tag, $8 greatest id.
template <typename... More>
using DeadIn = In<Jsonb*, int64, int64, Maybe<Text>, Maybe<Text>, Maybe<Text>, Maybe<Text>,
                  Maybe<int64>, More...>;

#define BELAY_DEAD_PAGE(WHERE) \
    BELAY_PAGE("pg_catalog.jsonb_build_array(p.id)",                                          \
               "pg_catalog.jsonb_build_object('id', r.id, 'queue', r.queue,"                  \
               "    'reason', r.reason, 'name', " BELAY_ITEM_NAME("r.work_item") ","          \
               "    'source_id', r.source_id, 'instance_id', r.instance_id,"                  \
               "    'execution_id', r.execution_id, 'activity_id', r.activity_id,"            \
               "    'session_id', r.session_id, 'tag', r.tag,"                                \
               "    'attempt_count', r.attempt_count,"                                        \
               "    'enqueued_at_ms', " BELAY_MS("r.enqueued_at") ","                         \
               "    'dead_at_ms', " BELAY_MS("r.dead_at") ")",                                \
               BELAY_NO_DOCUMENT ", " BELAY_NO_DOCUMENT ", r.work_item, r.detail",            \
               "SELECT d.id, COALESCE(($4 IS NULL OR d.queue {=} $4)"                         \
               "  AND ($5 IS NULL OR d.reason {=} $5) AND ($7 IS NULL OR d.tag {=} $7)"       \
               "  AND ($8 IS NULL OR d.id {<=} $8)"                                           \
               "  AND ($6 IS NULL OR " BELAY_ITEM_HAS_NAME("d.work_item", "$6") "), false)"      \
               "  AS browse_fits FROM {hub}.dead_letters AS d WHERE " WHERE " LIMIT $3",      \
               "JOIN {hub}.dead_letters AS r ON r.id {=} p.id")

#define BELAY_DEAD_BEFORE \
    "d.id {<} " BELAY_NUMBER_AT("0", "int8", "9223372036854775807") " ORDER BY d.id DESC"
#define BELAY_DEAD_AFTER \
    "d.id {>} " BELAY_NUMBER_AT("0", "int8", BELAY_LEAST("int8", "0")) " ORDER BY d.id"

constexpr auto kDeadNewest = query<DeadIn<>, PageRows>(BELAY_DEAD_PAGE(BELAY_DEAD_BEFORE));
constexpr auto kDeadOldest = query<DeadIn<>, PageRows>(BELAY_DEAD_PAGE(BELAY_DEAD_AFTER));
// $9 instance.
constexpr auto kDeadNewestOf = query<DeadIn<Text>, PageRows>(
    BELAY_DEAD_PAGE("d.instance_id {=} $9 AND d.id {<} " BELAY_NUMBER_AT(
        "0", "int8", "9223372036854775807") " ORDER BY d.instance_id DESC, d.id DESC"));
constexpr auto kDeadOldestOf = query<DeadIn<Text>, PageRows>(
    BELAY_DEAD_PAGE("d.instance_id {=} $9 AND d.id {>} " BELAY_NUMBER_AT(
        "0", "int8", BELAY_LEAST("int8", "0")) " ORDER BY d.instance_id, d.id"));

}  // namespace

PageRows browse_work_items(const Hub& hub, Direction direction, const ItemPageFilter& filter,
                           int64 now, const PageRange& range) {
    const auto page = [&](const auto& statement) {
        return run(hub, statement, range.after, range.limit, range.scan, now, live_incarnation(hub),
                   filter.instance_id, filter.session_id, filter.tag, filter.name, filter.state,
                   filter.owner, filter.min_attempts);
    };
    return direction == Direction::kNewest ? page(kWorkNewest) : page(kWorkOldest);
}

PageRows browse_messages(const Hub& hub, MessageOrder order, const ItemPageFilter& filter,
                         const PageRange& range) {
    const auto page = [&](const auto& statement, const auto&... more) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.name, more...);
    };
    if (filter.instance_id) {
        const int64 key = core::instance_key(*filter.instance_id);
        return order == MessageOrder::kNewest ? page(kInstanceNewest, key, *filter.instance_id)
                                              : page(kInstanceOldest, key, *filter.instance_id);
    }
    switch (order) {
        case MessageOrder::kOldest:
            return page(kMessagesOldest);
        case MessageOrder::kParked:
            return page(kMessagesParked);
        case MessageOrder::kNewest:
            break;
    }
    return page(kMessagesNewest);
}

PageRows browse_dead_letters(const Hub& hub, Direction direction,
                             const DeadLetterPageFilter& filter, const PageRange& range) {
    const bool newest = direction == Direction::kNewest;
    const auto page = [&](const auto& statement, const auto&... more) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.queue,
                   filter.reason, filter.name, filter.tag, filter.max_id, more...);
    };
    if (filter.instance_id) {
        return newest ? page(kDeadNewestOf, *filter.instance_id)
                      : page(kDeadOldestOf, *filter.instance_id);
    }
    return newest ? page(kDeadNewest) : page(kDeadOldest);
}

}  // namespace belay::store
