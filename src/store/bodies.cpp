// One body of one thing.
//
// May touch: tasks, instances, executions, history, events and dead letters, to read one row by its
// key with the caller's snapshot. Must not: write or lock.
#include "store/bodies.hpp"

#include "store/work_of_id.hpp"

namespace belay::store {

namespace {

constexpr auto kTask = query<In<pg_uuid_t, Text>, BodyRows>(R"sql(
    SELECT CASE WHEN $2 {=} 'failure_message' THEN t.failure_message
                WHEN $2 {=} 'progress_message' THEN t.progress_message END,
           CASE WHEN $2 {=} 'payload' THEN t.payload
                WHEN $2 {=} 'result' THEN t.result
                WHEN $2 {=} 'checkpoint' THEN t.checkpoint
                WHEN $2 {=} 'tags' THEN t.tags
                WHEN $2 {=} 'policy' THEN t.policy
                WHEN $2 {=} 'failure_details' THEN t.failure_details END
      FROM {hub}.tasks AS t
     WHERE t.id {=} $1
)sql");

constexpr auto kInstance = query<In<Text, Text>, BodyRows>(R"sql(
    SELECT CASE WHEN $2 {=} 'custom_status' THEN i.custom_status
                WHEN $2 {=} 'output'
                THEN (SELECT e.output
                        FROM {hub}.executions AS e
                       WHERE e.instance_id {=} i.instance_id
                         AND e.execution_id {=} i.current_execution_id)
                WHEN $2 {=} 'input'
                THEN (SELECT h.event_data[1]
                        FROM (SELECT t.first_event_id, t.event_data
                                FROM {hub}.history_turns AS t
                               WHERE t.instance_id {=} i.instance_id
                                 AND t.execution_id {=} i.current_execution_id
                               ORDER BY t.last_event_id
                               LIMIT 1) AS h
                       WHERE h.first_event_id {=} 1) END,
           CAST(NULL AS pg_catalog.jsonb)
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
)sql");

constexpr auto kHistory = query<In<Text, int64, int64>, BodyRows>(R"sql(
    SELECT h.event_data[CAST(($3 {-} h.first_event_id) {+} 1 AS pg_catalog.int4)],
           CAST(NULL AS pg_catalog.jsonb)
      FROM (SELECT t.first_event_id, t.event_data
              FROM {hub}.history_turns AS t
             WHERE t.instance_id {=} $1 AND t.execution_id {=} $2 AND t.last_event_id {>=} $3
             ORDER BY t.last_event_id
             LIMIT 1) AS h
     WHERE h.first_event_id {<=} $3
)sql");

constexpr auto kEvent = query<In<int32, int64>, BodyRows>(R"sql(
    SELECT CAST(NULL AS pg_catalog.text), e.details
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $1 AND e.position {=} $2
)sql");

constexpr auto kDeadLetter = query<In<int64, Text>, BodyRows>(R"sql(
    SELECT CASE WHEN $2 {=} 'work_item' THEN d.work_item ELSE d.detail END,
           CAST(NULL AS pg_catalog.jsonb)
      FROM {hub}.dead_letters AS d
     WHERE d.id {=} $1
)sql");

constexpr auto kWorkItem = query<In<int64, Text>, BodyRows>(BELAY_WORK_OF_ID R"sql(
    SELECT CASE WHEN $2 {=} 'work_item' THEN w.work_item ELSE w.last_error END,
           CAST(NULL AS pg_catalog.jsonb))sql" BELAY_FROM_FOUND);

}  // namespace

BodyRows task_body(const Hub& hub, const pg_uuid_t& id, std::string_view field) {
    return run(hub, kTask, id, field);
}

BodyRows instance_body(const Hub& hub, std::string_view instance_id, std::string_view field) {
    return run(hub, kInstance, instance_id, field);
}

BodyRows history_body(const Hub& hub, std::string_view instance_id, int64 execution_id,
                      int64 event_id) {
    return run(hub, kHistory, instance_id, execution_id, event_id);
}

BodyRows event_body(const Hub& hub, int32 incarnation, int64 position) {
    return run(hub, kEvent, incarnation, position);
}

BodyRows dead_letter_body(const Hub& hub, int64 id, std::string_view field) {
    return run(hub, kDeadLetter, id, field);
}

BodyRows work_item_body(const Hub& hub, int64 id, std::string_view field) {
    return run(hub, kWorkItem, id, field);
}

}  // namespace belay::store
