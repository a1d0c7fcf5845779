// Pages of instances.
//
// May touch: the tables of orchestrations, to read them with the caller's snapshot. Must not: write
// or lock, count, or look at more rows than the budget of the page.
#include "store/browse.hpp"

namespace belay::store {

namespace {

// $1 key, $2 limit, $3 budget, $4 statuses, $5 name, $6 version, $7 prefix, $8 parent, $9 and $10
// created, $11 input, $12 output, $13 upto. An instance without an execution is running.
#define BELAY_INSTANCE_FITS                                               \
    "   COALESCE(i.instance_id IS NOT NULL"                               \
    "   AND ($4 IS NULL OR COALESCE(e.status, 'Running') {=} ANY ($4))"   \
    "   AND ($5 IS NULL OR i.orchestration_name {=} $5)"                  \
    "   AND ($6 IS NULL OR i.orchestration_version {=} $6)"               \
    "   AND ($7 IS NULL OR pg_catalog.starts_with(i.instance_id, $7))"    \
    "   AND ($8 IS NULL OR i.parent_instance_id {=} $8)"                  \
    "   AND ($9 IS NULL OR i.created_at {>=} $9)"                         \
    "   AND ($10 IS NULL OR i.created_at {<=} $10)"                       \
    "   AND ($13 IS NULL OR i.created_at {<=} $13)"                       \
    "   AND ($12 IS NULL OR pg_catalog.strpos(e.output, $12) {>} 0)"      \
    "   AND ($11 IS NULL OR EXISTS (SELECT 1"                             \
    "             FROM (SELECT t.first_event_id, t.event_data"            \
    "                     FROM {hub}.history_turns AS t"                  \
    "                    WHERE t.instance_id {=} i.instance_id"           \
    "                      AND t.execution_id {=} i.current_execution_id" \
    "                    ORDER BY t.last_event_id LIMIT 1) AS h"          \
    "            WHERE h.first_event_id {=} 1"                            \
    "              AND pg_catalog.strpos(h.event_data[1], $11) {>} 0)), false) AS browse_fits"

#define BELAY_INSTANCE_ROW \
    "pg_catalog.jsonb_build_object("                                                 \
    "    'instance_id', r.instance_id, 'name', r.orchestration_name,"                \
    "    'version', r.orchestration_version, 'status', COALESCE(x.status, 'Running'),"  \
    "    'execution_id', r.current_execution_id, 'parent_id', r.parent_instance_id," \
    "    'created_at_ms', " BELAY_MS("r.created_at") ","                             \
    "    'updated_at_ms', " BELAY_MS("r.updated_at") ","                             \
    "    'started_at_ms', " BELAY_MS("x.started_at") ","                             \
    "    'ended_at_ms', " BELAY_MS("x.completed_at") ")"

#define BELAY_INSTANCE_PAGE(SOURCE)                                                                \
    BELAY_PAGE("pg_catalog.jsonb_build_array(p.browse_time, p.browse_id, p.browse_execution)",     \
               BELAY_INSTANCE_ROW,                                                                 \
               BELAY_NO_DOCUMENT ", " BELAY_NO_DOCUMENT ", r.custom_status, x.output", SOURCE,     \
               "LEFT JOIN {hub}.instances AS r ON p.browse_fits AND r.instance_id {=} p.browse_id" \
               " LEFT JOIN {hub}.executions AS x ON x.instance_id {=} r.instance_id"               \
               " AND x.execution_id {=} r.current_execution_id")

#define BELAY_TIME_BEFORE                                  \
    "COALESCE(CAST($1 {->>} 0 AS pg_catalog.timestamptz)," \
    " CAST('infinity' AS pg_catalog.timestamptz))"

using PageIn = In<Jsonb*, int64, int64, Maybe<ListOf<Text>>, Maybe<Text>, Maybe<Text>, Maybe<Text>,
                  Maybe<Text>, Maybe<Ms>, Maybe<Ms>, Maybe<Text>, Maybe<Text>, Maybe<Ms>>;

#define BELAY_CREATED(EXECUTION)                                                       \
    BELAY_INSTANCE_PAGE(                                                               \
        "SELECT i.created_at AS browse_time, i.instance_id AS browse_id,"              \
        "       i.current_execution_id AS browse_execution, " BELAY_INSTANCE_FITS      \
        "  FROM (SELECT c.instance_id, c.orchestration_name, c.orchestration_version," \
        "               c.current_execution_id, c.parent_instance_id, c.created_at"    \
        "          FROM {hub}.instances AS c"                                          \
        "         WHERE ROW(c.created_at, c.instance_id) {<}"                          \
        "               ROW(" BELAY_TIME_BEFORE                                        \
        ", COALESCE($1 {->>} 1, ''))"                                                  \
        "         ORDER BY c.created_at DESC, c.instance_id DESC LIMIT $3) AS i " EXECUTION)

// Executions are only looked up if the filter asks for them.
constexpr auto kCreated = query<PageIn, PageRows>(
    BELAY_CREATED("CROSS JOIN (SELECT CAST(NULL AS pg_catalog.text) AS status,"
                  "                   CAST(NULL AS pg_catalog.text) AS output) AS e"));
constexpr auto kCreatedWithExecution =
    query<PageIn, PageRows>(BELAY_CREATED("LEFT JOIN {hub}.executions AS e"
                                          "  ON e.instance_id {=} i.instance_id"
                                          " AND e.execution_id {=} i.current_execution_id"));

// An execution that is not the present one of its instance fits no filter.
#define BELAY_BY_EXECUTION(TIME, CONDITION)                                     \
    "SELECT e." TIME                                                            \
    " AS browse_time, e.instance_id AS browse_id,"                              \
    "       e.execution_id AS browse_execution, " BELAY_INSTANCE_FITS           \
    "  FROM (SELECT y.instance_id, y.execution_id, y.status, y.output, y." TIME \
    "          FROM {hub}.executions AS y WHERE " CONDITION                     \
    " LIMIT $3) AS e"                                                           \
    "  LEFT JOIN {hub}.instances AS i"                                          \
    "    ON i.instance_id {=} e.instance_id AND i.current_execution_id {=} e.execution_id"

constexpr auto kEnded =
    query<PageIn, PageRows>(BELAY_INSTANCE_PAGE(BELAY_BY_EXECUTION(
        "completed_at",
        "y.completed_at IS NOT NULL AND ROW(y.completed_at, y.instance_id, y.execution_id) {<}"
        " ROW(" BELAY_TIME_BEFORE ", COALESCE($1 {->>} 1, ''),"
        " COALESCE(CAST($1 {->>} 2 AS pg_catalog.int8), 0))"
        " ORDER BY y.completed_at DESC, y.instance_id DESC, y.execution_id DESC")));

// An instance fails once.
constexpr auto kFailed = query<PageIn, PageRows>(BELAY_INSTANCE_PAGE(
    BELAY_BY_EXECUTION("completed_at",
                       "y.status {=} 'Failed' AND ROW(y.completed_at, y.instance_id) {<}"
                       " ROW(" BELAY_TIME_BEFORE ", COALESCE($1 {->>} 1, ''))"
                       " ORDER BY y.completed_at DESC, y.instance_id DESC")));

// An instance has one execution that runs.
constexpr auto kRunning = query<PageIn, PageRows>(BELAY_INSTANCE_PAGE(
    BELAY_BY_EXECUTION("started_at",
                       "y.status {=} 'Running' AND ROW(y.started_at, y.instance_id) {<}"
                       " ROW(" BELAY_TIME_BEFORE ", COALESCE($1 {->>} 1, ''))"
                       " ORDER BY y.started_at DESC, y.instance_id DESC")));

}  // namespace

PageRows browse_instances(const Hub& hub, InstanceOrder order, const InstancePageFilter& filter,
                          const PageRange& range) {
    const auto page = [&](const auto& statement) {
        return run(hub, statement, range.after, range.limit, range.scan, filter.statuses,
                   filter.name, filter.version, filter.prefix, filter.parent,
                   as_ms(filter.created_from), as_ms(filter.created_to), filter.input,
                   filter.output, as_ms(filter.upto));
    };
    switch (order) {
        case InstanceOrder::kEnded:
            return page(kEnded);
        case InstanceOrder::kFailed:
            return page(kFailed);
        case InstanceOrder::kRunning:
            return page(kRunning);
        case InstanceOrder::kCreated:
            break;
    }
    return filter.statuses || filter.output ? page(kCreatedWithExecution) : page(kCreated);
}

}  // namespace belay::store
