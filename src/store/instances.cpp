#include "store/instances.hpp"

#include "store/fast/turns.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constexpr Statement kRead = query(R"sql(
    SELECT i.orchestration_name, i.orchestration_version, i.current_execution_id,
           e.duroxide_version_major, e.duroxide_version_minor, e.duroxide_version_patch
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.instance_id {=} $1
)sql",
                                  TEXTOID);

constexpr Statement kExecutionMark = statement(R"sql(
    SELECT e.status, i.current_execution_id, i.orchestration_name
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e ON e.instance_id {=} i.instance_id AND e.execution_id {=} $2
     WHERE i.instance_id {=} $1
)sql",
                                               TEXTOID, INT8OID);

constexpr Statement kHoldParent = statement(R"sql(
    SELECT i.instance_id
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
       FOR KEY SHARE
)sql",
                                            TEXTOID);

// $1 instance, $2 name, $3 version, $4 parent, $5 execution, $6 now.
constexpr Statement kUpsert =
    statement(R"sql(
    INSERT INTO {hub}.instances AS i
           (instance_id, orchestration_name, orchestration_version, current_execution_id,
            parent_instance_id, custom_status, custom_status_version, created_at, updated_at)
    VALUES ($1, $2, $3, $5, $4, NULL, 0, $6, $6)
    ON CONFLICT (instance_id) DO UPDATE
       SET orchestration_name = $2,
           orchestration_version = $3,
           parent_instance_id = COALESCE(i.parent_instance_id, $4),
           current_execution_id = GREATEST(i.current_execution_id, $5),
           updated_at = $6
    RETURNING (xmax {=} CAST('0' AS pg_catalog.xid))
)sql",
              TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kTouch = statement(R"sql(
    UPDATE {hub}.instances AS i
       SET current_execution_id = GREATEST(i.current_execution_id, $2), updated_at = $3
     WHERE i.instance_id {=} $1
)sql",
                                       TEXTOID, INT8OID, TIMESTAMPTZOID);

// $1 instance, $2 execution, $3 status or null, $4 output, $5 now, $6 terminal, $7 to $9 pin or
// null, $10 new events.
constexpr Statement kUpsertExecution = statement(R"sql(
    INSERT INTO {hub}.executions AS e
           (instance_id, execution_id, status, output, started_at, completed_at,
            duroxide_version_major, duroxide_version_minor, duroxide_version_patch, event_count)
    VALUES ($1, $2, COALESCE($3, 'Running'), CASE WHEN $3 IS NOT NULL THEN $4 END, $5,
            CASE WHEN $6 THEN $5 END, $7, $8, $9, $10)
    ON CONFLICT (instance_id, execution_id) DO UPDATE
       SET status = COALESCE($3, e.status),
           output = CASE WHEN $3 IS NULL THEN e.output ELSE $4 END,
           completed_at = CASE WHEN $3 IS NULL THEN e.completed_at WHEN $6 THEN $5 END,
           duroxide_version_major = COALESCE($7, e.duroxide_version_major),
           duroxide_version_minor = COALESCE($8, e.duroxide_version_minor),
           duroxide_version_patch = COALESCE($9, e.duroxide_version_patch),
           event_count = e.event_count {+} $10
)sql",
                                                 TEXTOID, INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID,
                                                 BOOLOID, INT4OID, INT4OID, INT4OID, INT8OID);

constexpr Statement kCountEvents = statement(R"sql(
    INSERT INTO {hub}.executions AS e (instance_id, execution_id, status, started_at, event_count)
    VALUES ($1, $2, 'Running', $3, $4)
    ON CONFLICT (instance_id, execution_id) DO UPDATE SET event_count = e.event_count {+} $4
)sql",
                                             TEXTOID, INT8OID, TIMESTAMPTZOID, INT8OID);

constexpr Statement kEnsureExecution = statement(R"sql(
    INSERT INTO {hub}.executions (instance_id, execution_id, status, started_at)
    SELECT $1, $2, 'Running', $3
     WHERE NOT EXISTS (SELECT 1
                         FROM {hub}.executions AS e
                        WHERE e.instance_id {=} $1 AND e.execution_id {=} $2)
    ON CONFLICT (instance_id, execution_id) DO NOTHING
)sql",
                                                 TEXTOID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kSetCustomStatus = statement(R"sql(
    UPDATE {hub}.instances AS i
       SET custom_status = $2, custom_status_version = i.custom_status_version {+} 1
     WHERE i.instance_id {=} $1
)sql",
                                                 TEXTOID, TEXTOID);

constexpr Statement kReadCustomStatus = query(R"sql(
    SELECT i.custom_status, i.custom_status_version
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
)sql",
                                              TEXTOID);

constexpr Statement kLatestExecution = query(R"sql(
    SELECT e.execution_id
      FROM {hub}.executions AS e
     WHERE e.instance_id {=} $1
     ORDER BY e.execution_id DESC
     LIMIT 1
)sql",
                                             TEXTOID);

}  // namespace

std::optional<Instance> read_instance(const Hub& hub, std::string_view instance_id) {
    if (const auto found = direct::read_instance(hub, instance_id)) {
        return *found;
    }
    const Rows rows = run(hub, kRead, Params().text(instance_id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    const bool pinned = !rows.is_null(0, 4) && !rows.is_null(0, 5) && !rows.is_null(0, 6);
    return Instance{
        .name = rows.text(0, 1),
        .version = rows.optional_text(0, 2),
        .current_execution_id = rows.int8(0, 3),
        .pin = pinned ? std::optional(Pin{rows.int4(0, 4), rows.int4(0, 5), rows.int4(0, 6)})
                      : std::nullopt};
}

void hold_parent(const Hub& hub, std::string_view instance_id) {
    run(hub, kHoldParent, Params().text(instance_id)).release();
}

bool upsert_instance(const Hub& hub, std::string_view instance_id, std::string_view name,
                     std::string_view version, std::optional<std::string_view> parent,
                     int64 execution_id, int64 now) {
    if (direct::try_rename_instance(hub, instance_id, name, version, parent, execution_id, now)) {
        return false;
    }
    const Rows rows = run(hub, kUpsert,
                          Params()
                              .text(instance_id)
                              .text(name)
                              .text(version)
                              .optional_text(parent)
                              .int8(execution_id)
                              .timestamp(now));
    return rows.count == 1 && rows.boolean(0, 1);
}

bool touch_instance(const Hub& hub, std::string_view instance_id, int64 execution_id, int64 now) {
    if (const auto touched = direct::touch_instance(hub, instance_id, execution_id, now)) {
        return *touched;
    }
    return run(hub, kTouch, Params().text(instance_id).int8(execution_id).timestamp(now)).count ==
           1;
}

void upsert_execution(const Hub& hub, std::string_view instance_id, int64 execution_id,
                      const ExecutionChange& change, int64 now) {
    if (direct::try_upsert_execution(hub, instance_id, execution_id, change, now)) {
        return;
    }
    if (!change.status && !change.pin) {
        Params params;
        params.text(instance_id).int8(execution_id).timestamp(now);
        if (change.new_events == 0) {
            run(hub, kEnsureExecution, params);
        } else {
            run(hub, kCountEvents, params.int8(change.new_events));
        }
        return;
    }
    Params params;
    params.text(instance_id)
        .int8(execution_id)
        .optional_text(change.status)
        .optional_text(change.output)
        .timestamp(now)
        .boolean(change.terminal);
    if (change.pin) {
        params.int4(change.pin->major).int4(change.pin->minor).int4(change.pin->patch);
    } else {
        params.null().null().null();
    }
    run(hub, kUpsertExecution, params.int8(change.new_events));
}

void set_custom_status(const Hub& hub, std::string_view instance_id,
                       std::optional<std::string_view> status) {
    run(hub, kSetCustomStatus, Params().text(instance_id).optional_text(status));
}

std::optional<CustomStatus> read_custom_status(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kReadCustomStatus, Params().text(instance_id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return CustomStatus{rows.optional_text(0, 1), rows.int8(0, 2)};
}

std::optional<ExecutionMark> read_execution_mark(const Hub& hub, std::string_view instance_id,
                                                 int64 execution_id) {
    if (const auto mark = direct::read_execution_mark(hub, instance_id, execution_id)) {
        return *mark;
    }
    const Rows rows = run(hub, kExecutionMark, Params().text(instance_id).int8(execution_id));
    return rows.count == 0 ? std::nullopt
                           : std::optional(ExecutionMark{rows.optional_text(0, 1), rows.int8(0, 2),
                                                         rows.text(0, 3)});
}

std::optional<int64> latest_execution(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kLatestExecution, Params().text(instance_id));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int8(0, 1));
}

}  // namespace belay::store
