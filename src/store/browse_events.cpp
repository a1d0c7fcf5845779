// Pages of events, histories and flows.
//
// May touch: the outbox, history and flows, to read them. Must not: write or lock, count, move a
// subscription, or look at more rows than the budget of the page.
#include "store/browse.hpp"

namespace belay::store {

namespace {

#define BELAY_NUMBER_AT(PLACE, TYPE, OTHERWISE) \
    "COALESCE(CAST($1 {->>} " PLACE " AS pg_catalog." TYPE "), " OTHERWISE ")"
#define BELAY_FIRST(PLACE, TYPE) BELAY_NUMBER_AT(PLACE, TYPE, "CAST('-1' AS pg_catalog." TYPE ")")
#define BELAY_LAST8(PLACE) BELAY_NUMBER_AT(PLACE, "int8", "9223372036854775807")
#define BELAY_LAST4(PLACE) BELAY_NUMBER_AT(PLACE, "int4", "2147483647")

// ---- Events ----

// $1 key, $2 limit, $3 budget, $4 topics, $5 types, $6 subject, $7 by, $8 and $9 time, $10 this
// incarnation, $11 the last position (null: it is not known), $12 the first xid that may run.
using EventIn = In<Jsonb*, int64, int64, Maybe<ListOf<Text>>, Maybe<ListOf<Text>>, Maybe<Text>,
                   Maybe<Text>, Maybe<int64>, Maybe<int64>, int32, Maybe<int64>, Xid>;

// Events of earlier incarnations are complete.
#define BELAY_EVENT_PAGE(CONDITION)                                                           \
    BELAY_PAGE("pg_catalog.jsonb_build_array(p.incarnation, p.position)",                     \
               "pg_catalog.jsonb_build_object("                                               \
               "    'event_id', pg_catalog.concat(r.incarnation, '-', r.position),"           \
               "    'topic', r.topic, 'type', r.type, 'subject', r.subject,"                  \
               "    'by', r.details {->>} 'by', 'via', r.details {->>} 'via',"                \
               "    'reason', r.details {->>} 'reason', 'occurred_at_ms', r.occurred_at_ms)", \
               "r.details, " BELAY_NO_DOCUMENT ", " BELAY_NO_TEXT ", " BELAY_NO_TEXT,         \
               "SELECT e.incarnation, e.position, COALESCE("                                  \
               "      ($4 IS NULL OR e.topic {=} ANY ($4))"                                   \
               "  AND ($5 IS NULL OR e.type {=} ANY ($5))"                                    \
               "  AND ($6 IS NULL OR e.subject {=} $6)"                                       \
               "  AND ($8 IS NULL OR e.occurred_at_ms {>=} $8)"                               \
               "  AND ($9 IS NULL OR e.occurred_at_ms {<=} $9)"                               \
               "  AND ($7 IS NULL OR (e.details {->>} 'by') {=} $7), false) AS browse_fits"   \
               "  FROM {hub}.outbox_events AS e WHERE " CONDITION " LIMIT $3",                \
               "JOIN {hub}.outbox_events AS r"                                                \
               "  ON r.incarnation {=} p.incarnation AND r.position {=} p.position")

// Without a last position what a running transaction may precede is left out.
#define BELAY_COMPLETE \
    " AND (e.incarnation {<} $10 OR COALESCE(e.position {<=} $11, e.xid {<} $12))"
#define BELAY_EVENT_BEFORE                                                       \
    "ROW(e.incarnation, e.position) {<} ROW(" BELAY_LAST4("0") ", " BELAY_LAST8( \
        "1") ")" BELAY_COMPLETE
#define BELAY_EVENT_AFTER                                                                \
    "ROW(e.incarnation, e.position) {>} ROW(" BELAY_FIRST("0", "int4") ", " BELAY_FIRST( \
        "1", "int8") ")" BELAY_COMPLETE
#define BELAY_AUDIT "e.topic {=} 'operator' AND e.subject {=} $6 AND "

constexpr auto kNewest = query<EventIn, PageRows>(
    BELAY_EVENT_PAGE(BELAY_EVENT_BEFORE " ORDER BY e.incarnation DESC, e.position DESC"));
constexpr auto kOldest = query<EventIn, PageRows>(
    BELAY_EVENT_PAGE(BELAY_EVENT_AFTER " ORDER BY e.incarnation, e.position"));
constexpr auto kAuditNewest = query<EventIn, PageRows>(
    BELAY_EVENT_PAGE(BELAY_AUDIT BELAY_EVENT_BEFORE
                     " ORDER BY e.subject DESC, e.incarnation DESC, e.position DESC"));
constexpr auto kAuditOldest = query<EventIn, PageRows>(BELAY_EVENT_PAGE(
    BELAY_AUDIT BELAY_EVENT_AFTER " ORDER BY e.subject, e.incarnation, e.position"));

// ---- Histories ----

// $1 key, $2 limit, $3 budget, $4 instance, $5 execution, $6 types, $7 text. Pages without $5 stay
// with the execution that the first page had.
using HistoryIn = In<Jsonb*, int64, int64, Text, Maybe<int64>, Maybe<ListOf<Text>>, Maybe<Text>>;

// The events e of the rows t, each with its place from 1 on, and the id of such an event.
#define BELAY_EVENTS_OF_T                                              \
    " CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(t.event_types)," \
    " pg_catalog.unnest(t.event_data)) WITH ORDINALITY AS e (event_type, event_data, place)"
#define BELAY_EVENT_ID "(t.first_event_id {+} (e.place {-} 1))"
#define BELAY_OF_EXECUTION(ROW)                                               \
    ROW ".instance_id {=} $4 AND " ROW                                        \
        ".execution_id {=} COALESCE($5, CAST($1 {->>} 1 AS pg_catalog.int8)," \
        " (SELECT i.current_execution_id FROM {hub}.instances AS i"           \
        "   WHERE i.instance_id {=} $4))"
#define BELAY_HISTORY_PAGE(CONDITION)                                                              \
    BELAY_PAGE("pg_catalog.jsonb_build_array(p.event_id, p.execution_id)",                         \
               "pg_catalog.jsonb_build_object('event_id', p.event_id,"                             \
               "    'execution_id', r.execution_id, 'type', r.event_types[p.place],"               \
               "    'created_at_ms', " BELAY_MS("r.created_at") ")",                               \
               BELAY_NO_DOCUMENT ", " BELAY_NO_DOCUMENT ", r.event_data[p.place], " BELAY_NO_TEXT, \
               "SELECT t.execution_id, t.last_event_id, " BELAY_EVENT_ID                           \
               " AS event_id,"                                                                     \
               "       CAST(e.place AS pg_catalog.int4) AS place,"                                 \
               "       ($6 IS NULL OR e.event_type {=} ANY ($6))"                                  \
               "       AND ($7 IS NULL OR pg_catalog.strpos(e.event_data, $7) {>} 0)"              \
               "       AS browse_fits"                                                             \
               "  FROM {hub}.history_turns AS t" BELAY_EVENTS_OF_T                                 \
               " WHERE " BELAY_OF_EXECUTION("t") " AND " CONDITION " LIMIT $3",                    \
               "JOIN {hub}.history_turns AS r ON r.instance_id {=} $4"                             \
               " AND r.execution_id {=} p.execution_id AND r.last_event_id {=} p.last_event_id")

// Backwards from the row that has the event, or the next one behind it.
#define BELAY_BEFORE BELAY_LAST8("0")
constexpr auto kHistoryNewest = query<HistoryIn, PageRows>(BELAY_HISTORY_PAGE(
    "t.last_event_id {<=} COALESCE("
    "       (SELECT u.last_event_id FROM {hub}.history_turns AS u"
    "         WHERE " BELAY_OF_EXECUTION(
        "u") " AND u.last_event_id {>=} " BELAY_BEFORE
             "         ORDER BY u.instance_id, u.execution_id, u.last_event_id LIMIT 1),"
             "       9223372036854775807) AND " BELAY_EVENT_ID " {<} " BELAY_BEFORE
             " ORDER BY t.instance_id DESC, t.execution_id DESC, t.last_event_id DESC, e.place "
             "DESC"));
constexpr auto kHistoryOldest = query<HistoryIn, PageRows>(BELAY_HISTORY_PAGE(
    "t.last_event_id {>} " BELAY_FIRST("0", "int8") " AND " BELAY_EVENT_ID " {>} " BELAY_FIRST(
        "0", "int8") " ORDER BY t.instance_id, t.execution_id, t.last_event_id, e.place"));

// ---- Flows ----

// $1 key, $2 limit, $3 budget, $4 states, $5 kind, $6 tags, $7 and $8 created.
using FlowIn =
    In<Jsonb*, int64, int64, Maybe<ListOf<Text>>, Maybe<Text>, Jsonb*, Maybe<int64>, Maybe<int64>>;

#define BELAY_FLOW_PAGE(KEY, CONDITION)                                                        \
    BELAY_PAGE("pg_catalog.jsonb_build_array(" KEY ")",                                        \
               "pg_catalog.jsonb_build_object('flow_id', r.id, 'kind', r.kind,"                \
               "    'state', r.state, 'sealed', r.sealed, 'graph_revision', r.graph_revision," \
               "    'member_count', r.member_count, 'open_count', r.open_count,"               \
               "    'bad_sink_count', r.bad_sink_count, 'edge_count', r.edge_count,"           \
               "    'fail_policy', r.fail_policy, 'cancel_reason', r.cancel_reason,"           \
               "    'cancelled_by', r.cancelled_by, 'tags', r.tags,"                           \
               "    'created_at_ms', r.created_at_ms, 'updated_at_ms', r.updated_at_ms,"       \
               "    'terminal_at_ms', r.terminal_at_ms)",                                      \
               BELAY_NO_DOCUMENT ", " BELAY_NO_DOCUMENT ", " BELAY_NO_TEXT ", " BELAY_NO_TEXT, \
               "SELECT f.id, COALESCE(($4 IS NULL OR f.state {=} ANY ($4))"                    \
               "  AND ($5 IS NULL OR f.kind {=} $5)"                                           \
               "  AND ($7 IS NULL OR f.created_at_ms {>=} $7)"                                 \
               "  AND ($8 IS NULL OR f.created_at_ms {<=} $8)"                                 \
               "  AND ($6 IS NULL OR f.tags {@>} $6), false) AS browse_fits"                   \
               "  FROM {hub}.flows AS f WHERE " CONDITION " LIMIT $3",                         \
               "JOIN {hub}.flows AS r ON r.id {=} p.id")

#define BELAY_UUID_BEFORE(PLACE)    \
    "COALESCE(CAST($1 {->>} " PLACE \
    " AS pg_catalog.uuid),"         \
    " CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS pg_catalog.uuid))"

constexpr auto kFlowsCreated = query<FlowIn, PageRows>(
    BELAY_FLOW_PAGE("p.id", "f.id {<} " BELAY_UUID_BEFORE("0") " ORDER BY f.id DESC"));
// The index has no id: those that ended in one millisecond are sorted.
constexpr auto kFlowsEnded = query<FlowIn, PageRows>(BELAY_FLOW_PAGE(
    "r.terminal_at_ms, p.id",
    "f.terminal_at_ms IS NOT NULL AND ROW(f.terminal_at_ms, f.id) {<} ROW(" BELAY_LAST8(
        "0") ", " BELAY_UUID_BEFORE("1") ") ORDER BY f.terminal_at_ms DESC, f.id DESC"));

}  // namespace

PageRows browse_events(const Hub& hub, Direction direction, const EventPageFilter& filter,
                       const EventLimit& upto, const PageRange& range) {
    const auto page = [&](const auto& statement) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.topics,
                   filter.types, filter.subject, filter.by, filter.from_ms, filter.to_ms,
                   hub.incarnation, upto.position, Xid{upto.xid});
    };
    const bool audit = filter.subject && filter.topics && filter.topics->size() == 1 &&
                       filter.topics->front() == "operator";
    if (direction == Direction::kNewest) {
        return audit ? page(kAuditNewest) : page(kNewest);
    }
    return audit ? page(kAuditOldest) : page(kOldest);
}

PageRows browse_history(const Hub& hub, Direction direction, const HistoryPageFilter& filter,
                        const PageRange& range) {
    const auto page = [&](const auto& statement) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.instance_id,
                   filter.execution_id, filter.types, filter.contains);
    };
    return direction == Direction::kNewest ? page(kHistoryNewest) : page(kHistoryOldest);
}

PageRows browse_flows(const Hub& hub, FlowOrder order, const FlowPageFilter& filter,
                      const PageRange& range) {
    const auto page = [&](const auto& statement) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.states, filter.kind,
                   filter.tags, filter.created_from, filter.created_to);
    };
    return order == FlowOrder::kEnded ? page(kFlowsEnded) : page(kFlowsCreated);
}

}  // namespace belay::store
