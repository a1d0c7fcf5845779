// Orchestrations, as clients and operators see them.
#include "belay/orchestrations.hpp"

#include "rows.hpp"

namespace belay {
namespace {

void read_deleted(Reader& from, Deleted& to) {
    from >> to.instances >> to.executions >> to.events >> to.queue_messages;
}

void read_pruned(Reader& from, Pruned& to) {
    from >> to.instances_processed >> to.executions_deleted >> to.events_deleted;
}

constexpr std::string_view kInstanceColumns =
    "instance_id, orchestration_name, orchestration_version, current_execution_id, " BELAY_MS(
        "created_at") ", " BELAY_MS("updated_at") ", status, output, parent_instance_id";

void read_instance(Reader& from, InstanceInfo& to) {
    from >> to.instance_id >> to.orchestration_name >> to.orchestration_version >>
        to.current_execution_id >> to.created_at >> to.updated_at >> to.status >> to.output >>
        to.parent_instance_id;
}

Params params_of(const InstanceFilter& filter) {
    return {filter.status ? OptionalText(text_of(*filter.status)) : std::nullopt,
            filter.name,
            filter.prefix,
            filter.created_from,
            filter.created_before,
            filter.after,
            filter.limit};
}

}  // namespace

std::string Orchestrations::start(std::string_view orchestration, const Json& input,
                                  const StartOptions& options, Where where) {
    return start_text(orchestration, dumped(input, where), options, where);
}

void Orchestrations::raise(std::string_view instance_id, std::string_view event, const Json& data,
                           Where where) {
    raise_text(instance_id, event, dumped(data, where), false, where);
}

bool Orchestrations::terminate(std::string_view instance_id, std::string_view reason, Where where) {
    return hub()
        .query_at_clock(Effect::kRepeatable, "SELECT " + hub().schema() + ".terminate($1, $2)",
                        {instance_id, reason}, where)
        .get<bool>(0, 0);
}

InstanceResult Orchestrations::await(std::string_view instance_id, Milliseconds timeout,
                                     Where where) {
    hub().check_can_wait(where);
    const Result result = hub().connection().call(
        Effect::kRepeatable,
        "CALL " + hub().schema() + ".await_result($1::text, $2 * interval '1 ms')",
        {instance_id, count_of(timeout)}, where);
    return {.state = result.get<Word<InstanceState>>(0, 0),
            .result = result.get<std::optional<Json>>(0, 1)};
}

std::string Orchestrations::start_text(std::string_view orchestration, std::string_view input,
                                       const StartOptions& options, Where where) {
    return hub()
        .call(Effect::kWrite, kAll, "start_orchestration",
              {orchestration, input, options.instance_id, options.version, count_of(options.delay),
               hub().now()},
              where)
        .get<std::string>(0, 0);
}

void Orchestrations::raise_text(std::string_view instance_id, std::string_view event,
                                std::string_view data, bool queued, Where where) {
    hub().call(Effect::kWrite, kAll, "raise_event", {instance_id, event, data, queued, hub().now()},
               where);
}

void Orchestrations::cancel(std::string_view instance_id, std::string_view reason, Where where) {
    hub().call(Effect::kWrite, kAll, "cancel_instance", {instance_id, reason, hub().now()}, where);
}

std::vector<HistoryEvent> Orchestrations::history(std::string_view instance_id,
                                                  OptionalNumber execution_id,
                                                  OptionalNumber after_event_id,
                                                  std::optional<int> limit, Where where) {
    return all_rows<HistoryEvent>(
        hub().call(Effect::kRepeatable,
                   "execution_id, event_id, event_type, event_data, " BELAY_MS("created_at"),
                   "read_history", {instance_id, execution_id, after_event_id, limit}, where),
        [](Reader& from, HistoryEvent& to) {
            from >> to.execution_id >> to.event_id >> to.event_type >> to.event_data >>
                to.created_at;
        });
}

std::optional<CustomStatus> Orchestrations::custom_status(std::string_view instance_id,
                                                          std::int64_t last_seen_version,
                                                          Where where) {
    return first_row<CustomStatus>(
        hub().call(Effect::kRepeatable, kAll, "get_custom_status", {instance_id, last_seen_version},
                   where),
        [](Reader& from, CustomStatus& to) { from >> to.value >> to.version; });
}

OptionalText Orchestrations::value(std::string_view instance_id, std::string_view key,
                                   Where where) {
    const Result result =
        hub().call(Effect::kRepeatable, kAll, "get_kv_value", {instance_id, key}, where);
    return result.get<bool>(0, 1) ? result.get<OptionalText>(0, 0) : std::nullopt;
}

std::vector<KeyValue> Orchestrations::values(std::string_view instance_id, Where where) {
    return all_rows<KeyValue>(
        hub().call(Effect::kRepeatable, kAll, "get_kv_all_values", {instance_id}, where),
        [](Reader& from, KeyValue& to) { from >> to.key >> to.value; });
}

std::vector<std::string> Orchestrations::list_ids(const InstanceFilter& filter, Where where) {
    return first_column<std::string>(
        hub().call(Effect::kRepeatable, kAll, "list_instances", params_of(filter), where));
}

std::vector<InstanceInfo> Orchestrations::list(const InstanceFilter& filter, Where where) {
    const std::string sql = "SELECT " + std::string(kInstanceColumns) + " FROM " + hub().schema() +
                            ".list_instances($1, $2, $3, $4, $5, $6, $7) WITH ORDINALITY AS l (id, "
                            "place) CROSS JOIN LATERAL " +
                            hub().schema() + ".get_instance_info(l.id) ORDER BY l.place";
    return all_rows<InstanceInfo>(hub().query(Effect::kRepeatable, sql, params_of(filter), where),
                                  read_instance);
}

std::vector<std::int64_t> Orchestrations::executions(std::string_view instance_id, Where where) {
    return first_column<std::int64_t>(
        hub().call(Effect::kRepeatable, kAll, "list_executions", {instance_id}, where));
}

OptionalNumber Orchestrations::latest_execution(std::string_view instance_id, Where where) {
    return hub()
        .call(Effect::kRepeatable, kAll, "latest_execution_id", {instance_id}, where)
        .get<OptionalNumber>(0, 0);
}

std::optional<InstanceInfo> Orchestrations::get(std::string_view instance_id, Where where) {
    return first_row<InstanceInfo>(hub().call(Effect::kRepeatable, kInstanceColumns,
                                              "get_instance_info", {instance_id}, where),
                                   read_instance);
}

std::vector<PendingStart> Orchestrations::pending_starts(const OptionalText& instance_id, int limit,
                                                         Where where) {
    return all_rows<PendingStart>(
        hub().query(Effect::kRepeatable,
                    "SELECT instance_id, orchestration_name, orchestration_version, " BELAY_MS(
                        "visible_at") ", " BELAY_MS("created_at") ", attempt_count FROM " +
                        hub().schema() +
                        ".pending_starts WHERE $1 IS NULL OR instance_id = $1 ORDER BY "
                        "created_at, instance_id LIMIT $2",
                    {instance_id, limit}, where),
        [](Reader& from, PendingStart& to) {
            from >> to.instance_id >> to.orchestration_name >> to.orchestration_version >>
                to.visible_at >> to.created_at >> to.attempt;
        });
}

std::optional<ExecutionInfo> Orchestrations::execution(std::string_view instance_id,
                                                       std::int64_t execution_id, Where where) {
    return first_row<ExecutionInfo>(
        hub().call(Effect::kRepeatable,
                   "execution_id, status, output, " BELAY_MS("started_at") ", " BELAY_MS(
                       "completed_at") ", event_count",
                   "get_execution_info", {instance_id, execution_id}, where),
        [](Reader& from, ExecutionInfo& to) {
            from >> to.execution_id >> to.status >> to.output >> to.started_at >> to.completed_at >>
                to.event_count;
        });
}

std::optional<InstanceStats> Orchestrations::stats(std::string_view instance_id, Where where) {
    const Result result =
        hub().call(Effect::kRepeatable, kAll, "get_instance_stats", {instance_id}, where);
    if (result.empty() || !result.get<bool>(0, 0)) {
        return std::nullopt;
    }
    return first_row<InstanceStats>(result, [](Reader& from, InstanceStats& to) {
        bool found = false;
        from >> found >> to.history_event_count >> to.history_size_bytes >>
            to.queue_pending_count >> to.kv_user_key_count >> to.kv_total_value_bytes;
    });
}

std::vector<std::string> Orchestrations::children(std::string_view instance_id, Where where) {
    return first_column<std::string>(
        hub().call(Effect::kRepeatable, kAll, "list_children", {instance_id}, where));
}

OptionalText Orchestrations::parent(std::string_view instance_id, Where where) {
    return hub()
        .call(Effect::kRepeatable, kAll, "get_parent_id", {instance_id}, where)
        .get<OptionalText>(0, 0);
}

std::vector<TreeNode> Orchestrations::tree(std::string_view instance_id, Where where) {
    return all_rows<TreeNode>(
        hub().call(Effect::kRepeatable, kAll, "get_instance_tree", {instance_id}, where),
        [](Reader& from, TreeNode& to) {
            from >> to.instance_id >> to.parent_instance_id >> to.depth;
        });
}

std::vector<FetchReason> Orchestrations::explain(std::string_view instance_id,
                                                 OptionalNumber min_version_packed,
                                                 OptionalNumber max_version_packed, Where where) {
    return all_rows<FetchReason>(
        hub().call(Effect::kRepeatable, "reason, detail, " BELAY_MS("until_at"), "explain_fetch",
                   {instance_id, min_version_packed, max_version_packed, hub().now()}, where),
        [](Reader& from, FetchReason& to) { from >> to.reason >> to.detail >> to.until; });
}

Deleted Orchestrations::remove(std::string_view instance_id, bool force, Where where) {
    return first_row<Deleted>(
               hub().call(Effect::kWrite, kAll, "delete_instance", {instance_id, force}, where),
               read_deleted)
        .value_or(Deleted{});
}

Deleted Orchestrations::remove_all(const std::vector<std::string>& instance_ids, bool force,
                                   Where where) {
    return first_row<Deleted>(hub().call(Effect::kWrite, kAll, "delete_instances_atomic",
                                         {instance_ids, force}, where),
                              read_deleted)
        .value_or(Deleted{});
}

Deleted Orchestrations::remove_matching(const Json& filter, Where where) {
    return first_row<Deleted>(
               hub().call(Effect::kWrite, kAll, "delete_instances_bulk", {filter}, where),
               read_deleted)
        .value_or(Deleted{});
}

Pruned Orchestrations::prune(std::string_view instance_id, std::optional<int> keep_last,
                             OptionalTime completed_before, Where where) {
    return first_row<Pruned>(hub().call(Effect::kWrite, kAll, "prune_executions",
                                        {instance_id, keep_last, completed_before}, where),
                             read_pruned)
        .value_or(Pruned{});
}

Pruned Orchestrations::prune_matching(const Json& filter, const Json& options, Where where) {
    return first_row<Pruned>(
               hub().call(Effect::kWrite, kAll, "prune_executions_bulk", {filter, options}, where),
               read_pruned)
        .value_or(Pruned{});
}

}  // namespace belay
