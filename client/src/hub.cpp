#include "belay/hub.hpp"

#include <nlohmann/json.hpp>

#include "rows.hpp"

namespace belay {
namespace {

using nlohmann::json;

void read_work_item(Reader& from, WorkItem& to) {
    from >> to.work_item >> to.lock_token >> to.attempt_count;
}

void read_deleted(Reader& from, Deleted& to) {
    from >> to.instances >> to.executions >> to.events >> to.queue_messages;
}

void read_pruned(Reader& from, Pruned& to) {
    from >> to.instances_processed >> to.executions_deleted >> to.events_deleted;
}

Json events_json(const std::vector<NewEvent>& events, const Where& where) {
    json array = json::array();
    for (const auto& event : events) {
        json object = {{"event_id", event.event_id}, {"event_data", event.event_data}};
        put(object, "event_type", event.event_type);
        array.push_back(std::move(object));
    }
    return {dumped(array, where)};
}

Json activities_json(const std::vector<ActivityKey>& activities, const Where& where) {
    json array = json::array();
    for (const auto& [instance, execution_id, activity_id] : activities) {
        array.push_back(
            {{"instance", instance}, {"execution_id", execution_id}, {"activity_id", activity_id}});
    }
    return {dumped(array, where)};
}

Json strings_json(const std::vector<std::string>& items, const Where& where) {
    return {dumped(json(items), where)};
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
    return {
        filter.status, filter.name, filter.prefix, filter.created_from_ms, filter.created_before_ms,
        filter.after,  filter.limit};
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
    std::string quoted = "\"";
    for (const char c : name) {
        quoted += c;
        if (c == '"') {
            quoted += c;
        }
    }
    return quoted + "\"";
}

Hub::Hub(Connection& connection, std::string_view name, Clock clock)
    : connection_(&connection),
      name_(name),
      schema_(quoted_identifier(name)),
      clock_(std::move(clock)) {
    if (name.empty() || name.find('\0') != std::string_view::npos) {
        throw Error({.message = "a hub has a name, without zero bytes", .sqlstate = "QB006"});
    }
}

Result Hub::call(Effect effect, std::string_view columns, std::string_view function,
                 const Params& params, const Where& where) {
    std::string sql = "SELECT ";
    sql.append(columns).append(" FROM ").append(schema_).append(".").append(function).append("(");
    for (std::size_t i = 1; i <= params.size(); ++i) {
        sql.append(i == 1 ? "$" : ", $").append(std::to_string(i));
    }
    sql += ")";
    return connection_->call(effect, sql, params, where);
}

// ---- Worker queue. ----

void Hub::enqueue_worker_work(const NewWorkItem& item, Where where) {
    if (item.delay_ms) {
        throw Error({.message = "enqueue_worker_work has no delay; use enqueue_worker_items",
                     .sqlstate = "QB006"},
                    where);
    }
    call(Effect::kWrite, kAll, "enqueue_worker_work",
         {item.work_item, clock_(), item.instance_id, item.execution_id, item.activity_id,
          item.session_id, item.tag},
         where);
}

std::int64_t Hub::enqueue_worker_items(const std::vector<NewWorkItem>& items, Where where) {
    json array = json::array();
    for (const auto& item : items) {
        json object = {{"work_item", item.work_item}};
        put(object, "instance_id", item.instance_id);
        put(object, "execution_id", item.execution_id);
        put(object, "activity_id", item.activity_id);
        put(object, "session_id", item.session_id);
        put(object, "tag", item.tag);
        put(object, "delay_ms", item.delay_ms);
        array.push_back(std::move(object));
    }
    return number_of(call(Effect::kWrite, kAll, "enqueue_worker_items",
                          {Json{dumped(array, where)}, clock_()}, where));
}

std::optional<WorkItem> Hub::fetch_work_item(const FetchOptions& options, Where where) {
    return first_row<WorkItem>(call(Effect::kRepeatable, kAll, "fetch_work_item",
                                    {clock_(), count_of(options.lock_timeout), options.owner_id,
                                     count_of(options.session_lock_timeout), options.tag_filter,
                                     options.tag_mode, options.slots},
                                    where),
                               read_work_item);
}

std::vector<WorkItem> Hub::fetch_work_items(const FetchOptions& options, Where where) {
    return all_rows<WorkItem>(
        call(Effect::kRepeatable, kAll, "fetch_work_items",
             {clock_(), count_of(options.lock_timeout), options.owner_id,
              count_of(options.session_lock_timeout), options.tag_filter, options.tag_mode,
              options.max_items, options.max_new_sessions, options.slots},
             where),
        read_work_item);
}

void Hub::ack_worker(const Ack& ack, Where where) {
    call(Effect::kAck, kAll, "ack_worker",
         {ack.lock_token, ack.instance_id, ack.completion, clock_()}, where);
}

std::vector<AckResult> Hub::ack_workers(const std::vector<Ack>& acks, Where where) {
    json array = json::array();
    for (const auto& ack : acks) {
        json object = {{"lock_token", ack.lock_token}};
        put(object, "instance_id", ack.instance_id);
        put(object, "completion_json", ack.completion);
        array.push_back(std::move(object));
    }
    auto results = all_rows<AckResult>(
        call(Effect::kRepeatable, "out_lock_token, out_acked, out_error", "ack_workers",
             {Json{dumped(array, where)}, clock_()}, where),
        [](Reader& from, AckResult& to) { from >> to.lock_token >> to.acked >> to.error; });
    for (auto& result : results) {
        result.outcome_unknown = !result.acked && connection_->was_repeated();
    }
    return results;
}

std::optional<WorkItem> Hub::ack_and_fetch_work_item(const Ack& ack, const FetchOptions& options,
                                                     Where where) {
    return first_row<WorkItem>(call(Effect::kAck, kAll, "ack_and_fetch_work_item",
                                    {ack.lock_token, ack.instance_id, ack.completion, clock_(),
                                     count_of(options.lock_timeout), options.owner_id,
                                     count_of(options.session_lock_timeout), options.tag_filter,
                                     options.tag_mode, options.slots},
                                    where),
                               read_work_item);
}

void Hub::renew_work_item_lock(std::string_view lock_token, Milliseconds extend, Where where) {
    call(Effect::kRepeatable, kAll, "renew_work_item_lock",
         {lock_token, clock_(), count_of(extend)}, where);
}

std::vector<Renewal> Hub::renew_work_item_locks(const std::vector<std::string>& lock_tokens,
                                                Milliseconds extend, Where where) {
    return all_rows<Renewal>(
        call(Effect::kRepeatable, "out_lock_token, out_renewed, out_locked_until, out_error",
             "renew_work_item_locks", {lock_tokens, clock_(), count_of(extend)}, where),
        [](Reader& from, Renewal& to) {
            from >> to.lock_token >> to.renewed >> to.locked_until >> to.error;
        });
}

void Hub::abandon_work_item(std::string_view lock_token, std::optional<Milliseconds> delay,
                            bool ignore_attempt, const OptionalText& reason, Where where) {
    call(Effect::kGiveBack, kAll, "abandon_work_item",
         {lock_token, clock_(), count_of(delay), ignore_attempt, reason}, where);
}

std::int64_t Hub::renew_session_lock(const std::vector<std::string>& owner_ids, Milliseconds extend,
                                     Milliseconds idle_timeout, Where where) {
    return number_of(call(Effect::kRepeatable, kAll, "renew_session_lock",
                          {owner_ids, clock_(), count_of(extend), count_of(idle_timeout)}, where));
}

std::int64_t Hub::cleanup_orphaned_sessions(Where where) {
    return number_of(
        call(Effect::kRepeatable, kAll, "cleanup_orphaned_sessions", {clock_()}, where));
}

std::int64_t Hub::cancel_activities(const std::vector<ActivityKey>& activities, Where where) {
    return number_of(call(Effect::kWrite, kAll, "cancel_activities",
                          {activities_json(activities, where)}, where));
}

std::vector<QueuedWorkItem> Hub::list_work_items(std::string_view filter, const OptionalText& after,
                                                 int limit, Where where) {
    return all_rows<QueuedWorkItem>(
        call(Effect::kRepeatable,
             "id, state, work_item, instance_id, execution_id, activity_id, session_id, "
             "tag, " BELAY_MS("visible_at") ", locked_until, locked_by, attempt_count, " BELAY_MS(
                 "created_at") ", cursor",
             "list_work_items", {Json{std::string(filter)}, after, limit, clock_()}, where),
        [](Reader& from, QueuedWorkItem& to) {
            from >> to.id >> to.state >> to.work_item >> to.instance_id >> to.execution_id >>
                to.activity_id >> to.session_id >> to.tag >> to.visible_at >> to.locked_until >>
                to.locked_by >> to.attempt_count >> to.created_at >> to.cursor;
        });
}

// ---- Dead letters. ----

std::vector<DeadLetter> Hub::list_dead_letters(const DeadLetterFilter& filter, Where where) {
    return all_rows<DeadLetter>(
        call(Effect::kRepeatable,
             "id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, "
             "work_item, attempt_count, reason, detail, " BELAY_MS("enqueued_at") ", " BELAY_MS(
                 "dead_at"),
             "list_dead_letters",
             {filter.queue, filter.reason, filter.instance_id, filter.after, filter.limit}, where),
        [](Reader& from, DeadLetter& to) {
            from >> to.id >> to.queue >> to.source_id >> to.instance_id >> to.execution_id >>
                to.activity_id >> to.session_id >> to.tag >> to.work_item >> to.attempt_count >>
                to.reason >> to.detail >> to.enqueued_at >> to.dead_at;
        });
}

std::int64_t Hub::redrive_dead_letter(std::int64_t id, Where where) {
    return number_of(call(Effect::kWrite, kAll, "redrive_dead_letter", {id}, where));
}

std::int64_t Hub::redrive_dead_letters(std::string_view filter, Where where) {
    return number_of(
        call(Effect::kWrite, kAll, "redrive_dead_letters", {Json{std::string(filter)}}, where));
}

void Hub::discard_dead_letter(std::int64_t id, Where where) {
    call(Effect::kWrite, kAll, "discard_dead_letter", {id}, where);
}

// ---- Orchestrations. ----

std::string Hub::start_orchestration(std::string_view orchestration, std::string_view input,
                                     const StartOptions& options, Where where) {
    return call(Effect::kWrite, kAll, "start_orchestration",
                {orchestration, input, options.instance_id, options.version,
                 count_of(options.delay), clock_()},
                where)
        .get<std::string>(0, 0);
}

void Hub::raise_event(std::string_view instance_id, std::string_view event, std::string_view data,
                      bool queued, Where where) {
    call(Effect::kWrite, kAll, "raise_event", {instance_id, event, data, queued, clock_()}, where);
}

void Hub::cancel_instance(std::string_view instance_id, std::string_view reason, Where where) {
    call(Effect::kWrite, kAll, "cancel_instance", {instance_id, reason, clock_()}, where);
}

void Hub::enqueue_orchestrator_work(const NewMessage& message, Where where) {
    if (message.visible_at_ms) {
        throw Error({.message = "enqueue_orchestrator_work has no time; use "
                                "enqueue_orchestrator_items",
                     .sqlstate = "QB006"},
                    where);
    }
    call(Effect::kWrite, kAll, "enqueue_orchestrator_work",
         {message.instance_id, message.work_item}, where);
}

std::int64_t Hub::enqueue_orchestrator_items(const std::vector<NewMessage>& messages, Where where) {
    json array = json::array();
    for (const auto& message : messages) {
        json object = {{"work_item", message.work_item}};
        put(object, "instance_id", message.instance_id);
        put(object, "visible_at_ms", message.visible_at_ms);
        array.push_back(std::move(object));
    }
    return number_of(call(Effect::kWrite, kAll, "enqueue_orchestrator_items",
                          {Json{dumped(array, where)}, clock_()}, where));
}

std::optional<Turn> Hub::fetch_orchestration_item(const TurnOptions& options, Where where) {
    return first_row<Turn>(
        call(Effect::kRepeatable, kAll, "fetch_orchestration_item",
             {clock_(), count_of(options.lock_timeout), options.min_version_packed,
              options.max_version_packed, options.slots},
             where),
        [](Reader& from, Turn& to) {
            from >> to.instance_id >> to.orchestration_name >> to.orchestration_version >>
                to.execution_id >> to.history >> to.messages >> to.lock_token >> to.attempt_count >>
                to.kv_snapshot;
        });
}

void Hub::ack_orchestration_item(std::string_view lock_token, const Decision& decision,
                                 Where where) {
    call(Effect::kAck, kAll, "ack_orchestration_item",
         {lock_token, clock_(), decision.execution_id, events_json(decision.history_delta, where),
          strings_json(decision.worker_items, where),
          strings_json(decision.orchestrator_items, where), Json{decision.metadata},
          activities_json(decision.cancelled_activities, where)},
         where);
}

void Hub::renew_orchestration_item_lock(std::string_view lock_token, Milliseconds extend,
                                        Where where) {
    call(Effect::kRepeatable, kAll, "renew_orchestration_item_lock",
         {lock_token, clock_(), count_of(extend)}, where);
}

OptionalText Hub::abandon_orchestration_item(std::string_view lock_token,
                                             std::optional<Milliseconds> delay, bool ignore_attempt,
                                             Where where) {
    const Result result = call(Effect::kGiveBack, kAll, "abandon_orchestration_item",
                               {lock_token, clock_(), count_of(delay), ignore_attempt}, where);
    return result.empty() ? std::nullopt : result.get<OptionalText>(0, 0);
}

// ---- History and state. ----

std::vector<std::string> Hub::fetch_history(std::string_view instance_id, Where where) {
    return first_column<std::string>(
        call(Effect::kRepeatable, kAll, "fetch_history", {instance_id}, where));
}

std::vector<std::string> Hub::fetch_history_with_execution(std::string_view instance_id,
                                                           std::int64_t execution_id, Where where) {
    return first_column<std::string>(call(Effect::kRepeatable, kAll, "fetch_history_with_execution",
                                          {instance_id, execution_id}, where));
}

std::vector<HistoryEvent> Hub::read_history(std::string_view instance_id,
                                            OptionalNumber execution_id,
                                            OptionalNumber after_event_id, std::optional<int> limit,
                                            Where where) {
    return all_rows<HistoryEvent>(
        call(Effect::kRepeatable,
             "execution_id, event_id, event_type, event_data, " BELAY_MS("created_at"),
             "read_history", {instance_id, execution_id, after_event_id, limit}, where),
        [](Reader& from, HistoryEvent& to) {
            from >> to.execution_id >> to.event_id >> to.event_type >> to.event_data >>
                to.created_at;
        });
}

void Hub::append_history(std::string_view instance_id, std::int64_t execution_id,
                         const std::vector<NewEvent>& events, Where where) {
    call(Effect::kWrite, kAll, "append_history",
         {instance_id, execution_id, events_json(events, where)}, where);
}

std::optional<CustomStatus> Hub::get_custom_status(std::string_view instance_id,
                                                   std::int64_t last_seen_version, Where where) {
    return first_row<CustomStatus>(
        call(Effect::kRepeatable, kAll, "get_custom_status", {instance_id, last_seen_version},
             where),
        [](Reader& from, CustomStatus& to) { from >> to.value >> to.version; });
}

OptionalText Hub::get_kv_value(std::string_view instance_id, std::string_view key, Where where) {
    const Result result =
        call(Effect::kRepeatable, kAll, "get_kv_value", {instance_id, key}, where);
    return result.get<bool>(0, 1) ? result.get<OptionalText>(0, 0) : std::nullopt;
}

std::vector<KeyValue> Hub::get_kv_all_values(std::string_view instance_id, Where where) {
    return all_rows<KeyValue>(
        call(Effect::kRepeatable, kAll, "get_kv_all_values", {instance_id}, where),
        [](Reader& from, KeyValue& to) { from >> to.key >> to.value; });
}

// ---- Management. ----

std::vector<std::string> Hub::list_instances(const InstanceFilter& filter, Where where) {
    return first_column<std::string>(
        call(Effect::kRepeatable, kAll, "list_instances", params_of(filter), where));
}

std::vector<InstanceInfo> Hub::list_instance_infos(const InstanceFilter& filter, Where where) {
    const std::string sql = "SELECT " + std::string(kInstanceColumns) + " FROM " + schema_ +
                            ".list_instances($1, $2, $3, $4, $5, $6, $7) WITH ORDINALITY AS l (id, "
                            "place) CROSS JOIN LATERAL " +
                            schema_ + ".get_instance_info(l.id) ORDER BY l.place";
    return all_rows<InstanceInfo>(
        connection_->call(Effect::kRepeatable, sql, params_of(filter), where), read_instance);
}

std::vector<std::string> Hub::list_instances_by_status(std::string_view status, Where where) {
    return first_column<std::string>(
        call(Effect::kRepeatable, kAll, "list_instances_by_status", {status}, where));
}

std::vector<std::int64_t> Hub::list_executions(std::string_view instance_id, Where where) {
    return first_column<std::int64_t>(
        call(Effect::kRepeatable, kAll, "list_executions", {instance_id}, where));
}

OptionalNumber Hub::latest_execution_id(std::string_view instance_id, Where where) {
    return call(Effect::kRepeatable, kAll, "latest_execution_id", {instance_id}, where)
        .get<OptionalNumber>(0, 0);
}

std::optional<InstanceInfo> Hub::get_instance_info(std::string_view instance_id, Where where) {
    return first_row<InstanceInfo>(
        call(Effect::kRepeatable, kInstanceColumns, "get_instance_info", {instance_id}, where),
        read_instance);
}

std::vector<PendingStart> Hub::pending_starts(const OptionalText& instance_id, int limit,
                                              Where where) {
    return all_rows<PendingStart>(
        connection_->call(
            Effect::kRepeatable,
            "SELECT instance_id, orchestration_name, orchestration_version, " BELAY_MS(
                "visible_at") ", " BELAY_MS("created_at") ", attempt_count FROM " +
                schema_ +
                ".pending_starts WHERE $1 IS NULL OR instance_id = $1 ORDER BY "
                "created_at, instance_id LIMIT $2",
            {instance_id, limit}, where),
        [](Reader& from, PendingStart& to) {
            from >> to.instance_id >> to.orchestration_name >> to.orchestration_version >>
                to.visible_at >> to.created_at >> to.attempt_count;
        });
}

std::optional<ExecutionInfo> Hub::get_execution_info(std::string_view instance_id,
                                                     std::int64_t execution_id, Where where) {
    return first_row<ExecutionInfo>(
        call(Effect::kRepeatable,
             "execution_id, status, output, " BELAY_MS("started_at") ", " BELAY_MS(
                 "completed_at") ", event_count",
             "get_execution_info", {instance_id, execution_id}, where),
        [](Reader& from, ExecutionInfo& to) {
            from >> to.execution_id >> to.status >> to.output >> to.started_at >> to.completed_at >>
                to.event_count;
        });
}

std::optional<InstanceStats> Hub::get_instance_stats(std::string_view instance_id, Where where) {
    const Result result =
        call(Effect::kRepeatable, kAll, "get_instance_stats", {instance_id}, where);
    if (result.empty() || !result.get<bool>(0, 0)) {
        return std::nullopt;
    }
    return first_row<InstanceStats>(result, [](Reader& from, InstanceStats& to) {
        bool found = false;
        from >> found >> to.history_event_count >> to.history_size_bytes >>
            to.queue_pending_count >> to.kv_user_key_count >> to.kv_total_value_bytes;
    });
}

SystemMetrics Hub::get_system_metrics(Where where) {
    return first_row<SystemMetrics>(
               call(Effect::kRepeatable, kAll, "get_system_metrics", {}, where),
               [](Reader& from, SystemMetrics& to) {
                   from >> to.total_instances >> to.total_executions >> to.running_instances >>
                       to.completed_instances >> to.failed_instances >> to.total_events;
               })
        .value();
}

QueueDepths Hub::get_queue_depths(Where where) {
    return first_row<QueueDepths>(
               call(Effect::kRepeatable, kAll, "get_queue_depths", {clock_()}, where),
               [](Reader& from, QueueDepths& to) {
                   from >> to.orchestrator_queue >> to.worker_queue >> to.timer_queue;
               })
        .value();
}

std::vector<std::string> Hub::list_children(std::string_view instance_id, Where where) {
    return first_column<std::string>(
        call(Effect::kRepeatable, kAll, "list_children", {instance_id}, where));
}

OptionalText Hub::get_parent_id(std::string_view instance_id, Where where) {
    return call(Effect::kRepeatable, kAll, "get_parent_id", {instance_id}, where)
        .get<OptionalText>(0, 0);
}

std::vector<TreeNode> Hub::get_instance_tree(std::string_view instance_id, Where where) {
    return all_rows<TreeNode>(
        call(Effect::kRepeatable, kAll, "get_instance_tree", {instance_id}, where),
        [](Reader& from, TreeNode& to) {
            from >> to.instance_id >> to.parent_instance_id >> to.depth;
        });
}

std::vector<FetchReason> Hub::explain_fetch(std::string_view instance_id,
                                            OptionalNumber min_version_packed,
                                            OptionalNumber max_version_packed, Where where) {
    return all_rows<FetchReason>(
        call(Effect::kRepeatable, "reason, detail, " BELAY_MS("until_at"), "explain_fetch",
             {instance_id, clock_(), min_version_packed, max_version_packed}, where),
        [](Reader& from, FetchReason& to) { from >> to.reason >> to.detail >> to.until_at; });
}

std::vector<FetchReason> Hub::explain_work_item(std::int64_t id, Where where) {
    return all_rows<FetchReason>(
        call(Effect::kRepeatable, "reason, detail, " BELAY_MS("until_at"), "explain_work_item",
             {id, clock_()}, where),
        [](Reader& from, FetchReason& to) { from >> to.reason >> to.detail >> to.until_at; });
}

Deleted Hub::delete_instance(std::string_view instance_id, bool force, Where where) {
    return first_row<Deleted>(
               call(Effect::kWrite, kAll, "delete_instance", {instance_id, force}, where),
               read_deleted)
        .value_or(Deleted{});
}

Deleted Hub::delete_instances_atomic(const std::vector<std::string>& instance_ids, bool force,
                                     Where where) {
    return first_row<Deleted>(
               call(Effect::kWrite, kAll, "delete_instances_atomic", {instance_ids, force}, where),
               read_deleted)
        .value_or(Deleted{});
}

Deleted Hub::delete_instances_bulk(std::string_view filter, Where where) {
    return first_row<Deleted>(call(Effect::kWrite, kAll, "delete_instances_bulk",
                                   {Json{std::string(filter)}}, where),
                              read_deleted)
        .value_or(Deleted{});
}

Pruned Hub::prune_executions(std::string_view instance_id, std::optional<int> keep_last,
                             OptionalNumber completed_before_ms, Where where) {
    return first_row<Pruned>(call(Effect::kWrite, kAll, "prune_executions",
                                  {instance_id, keep_last, completed_before_ms}, where),
                             read_pruned)
        .value_or(Pruned{});
}

Pruned Hub::prune_executions_bulk(std::string_view filter, std::string_view options, Where where) {
    return first_row<Pruned>(call(Effect::kWrite, kAll, "prune_executions_bulk",
                                  {Json{std::string(filter)}, Json{std::string(options)}}, where),
                             read_pruned)
        .value_or(Pruned{});
}

std::vector<std::int32_t> Hub::acquire_slots(std::string_view owner, std::string_view queue,
                                             std::optional<int> slots, Milliseconds lease,
                                             Where where) {
    return first_column<std::int32_t>(
        call(Effect::kRepeatable, "unnest(acquire_slots)", "acquire_slots",
             {owner, queue, slots, count_of(lease), clock_()}, where));
}

void Hub::release_slots(std::string_view owner, std::string_view queue, Where where) {
    call(Effect::kRepeatable, kAll, "release_slots", {owner, queue}, where);
}

void Hub::guard(std::string_view lock_token, Where where) {
    call(Effect::kRepeatable, kAll, "guard", {lock_token}, where);
}

std::int64_t Hub::send_to_hub(std::string_view target_hub, std::string_view queue,
                              std::string_view work_item, OptionalNumber visible_at_ms,
                              Where where) {
    return number_of(connection_->call(
        Effect::kWrite,
        "SELECT " + schema_ + ".send_to_hub($1::name, $2, $3, to_timestamp($4 / 1000.0))",
        {target_hub, queue, work_item, visible_at_ms}, where));
}

void Hub::create_subscription(std::string_view name,
                              const std::optional<std::vector<std::string>>& topics,
                              std::string_view from, Where where) {
    call(Effect::kWrite, kAll, "create_subscription", {name, topics, from}, where);
}

void Hub::drop_subscription(std::string_view name, Where where) {
    call(Effect::kWrite, kAll, "drop_subscription", {name}, where);
}

std::vector<Event> Hub::read_events(std::string_view subscription, int limit, Milliseconds lease,
                                    Where where) {
    return all_rows<Event>(call(Effect::kRepeatable, kAll, "read_events",
                                {subscription, limit, count_of(lease), clock_()}, where),
                           [](Reader& from, Event& to) {
                               from >> to.event_id >> to.topic >> to.type >> to.subject >>
                                   to.details >> to.occurred_at_ms >> to.upto;
                           });
}

void Hub::ack_events(std::string_view subscription, std::string_view upto, Where where) {
    call(Effect::kAck, kAll, "ack_events", {subscription, upto, clock_()}, where);
}

std::vector<SubscriptionInfo> Hub::subscriptions(Where where) {
    return all_rows<SubscriptionInfo>(
        connection_->call(
            Effect::kRepeatable,
            "SELECT name, array_to_string(topics, ','), lag_rows, lag_seconds, " BELAY_MS(
                "lease_until") ", horizon_pid, " BELAY_MS("created_at") " FROM " +
                schema_ + ".subscriptions ORDER BY name",
            {}, where),
        [](Reader& from, SubscriptionInfo& to) {
            from >> to.name >> to.topics >> to.lag_rows >> to.lag_seconds >> to.lease_until >>
                to.horizon_pid >> to.created_at;
        });
}

std::vector<DutyRun> Hub::reconcile(const std::optional<std::vector<std::string>>& duties,
                                    Where where) {
    return all_rows<DutyRun>(
        call(Effect::kRepeatable, kAll, "reconcile", {clock_(), duties}, where),
        [](Reader& from, DutyRun& to) { from >> to.duty >> to.rows >> to.elapsed_ms; });
}

void Hub::pause_hub(const OptionalText& queue, std::string_view reason, Where where) {
    call(Effect::kRepeatable, kAll, "pause_hub", {queue, reason}, where);
}

void Hub::resume_hub(const OptionalText& queue, Where where) {
    call(Effect::kRepeatable, kAll, "resume_hub", {queue}, where);
}

namespace {

Wake read_wake(const Result& result) {
    return {.queue = result.get<OptionalText>(0, 0), .reason = result.get<std::string>(0, 1)};
}

std::string wait_sql(const std::string& schema) {
    return "CALL " + schema + ".wait_for_work($1, $2)";
}

}  // namespace

Wake Hub::wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout, Where where) {
    return read_wake(connection_->call(Effect::kRepeatable, wait_sql(schema_),
                                       {queues, static_cast<int>(timeout.count())}, where));
}

std::optional<Wake> Hub::wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout,
                                       const Interrupt& interrupt, Where where) {
    const auto result = connection_->call_until(interrupt, wait_sql(schema_),
                                                {queues, static_cast<int>(timeout.count())}, where);
    return result ? std::optional(read_wake(*result)) : std::nullopt;
}

// ---- Schema belay. ----

std::string Admin::version(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.version()", {}, where)
        .get<std::string>(0, 0);
}

void Admin::create_hub(std::string_view name, std::string_view api, bool adopt, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.create_hub($1::name, $2, $3)",
                      {name, api, adopt}, where);
}

void Admin::drop_hub(std::string_view name, bool force, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.drop_hub($1::name, $2)", {name, force}, where);
}

void Admin::upgrade_hub(std::string_view name, Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.upgrade_hub($1::name)", {name}, where);
}

std::vector<Problem> Admin::check_hub(std::string_view name, Where where) {
    return all_rows<Problem>(
        connection_->call(Effect::kRepeatable, "SELECT * FROM belay.check_hub($1::name)", {name},
                          where),
        [](Reader& from, Problem& to) { from >> to.object >> to.problem; });
}

void Admin::set_hub_option(std::string_view name, std::string_view option,
                           const OptionalText& value, Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.set_hub_option($1::name, $2, $3)",
                      {name, option, value}, where);
}

void Admin::grant_hub(std::string_view name, std::string_view role, std::string_view level,
                      Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.grant_hub($1::name, $2::name, $3)",
                      {name, role, level}, where);
}

void Admin::revoke_hub(std::string_view name, std::string_view role, std::string_view level,
                       Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.revoke_hub($1::name, $2::name, $3)",
                      {name, role, level}, where);
}

int Admin::new_incarnation(const OptionalText& name, Where where) {
    return connection_
        ->call(Effect::kWrite, "SELECT belay.new_incarnation($1::name)", {name}, where)
        .get<int>(0, 0);
}

void Admin::create_hub_link(std::string_view hub, std::string_view target_hub,
                            std::string_view server, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.create_hub_link($1::name, $2::name, $3)",
                      {hub, target_hub, server}, where);
}

void Admin::drop_hub_link(std::string_view hub, std::string_view target_hub, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.drop_hub_link($1::name, $2::name)",
                      {hub, target_hub}, where);
}

bool Admin::start_worker(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.start_worker()", {}, where)
        .get<bool>(0, 0);
}

bool Admin::stop_worker(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.stop_worker()", {}, where)
        .get<bool>(0, 0);
}

std::string Admin::metrics(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.metrics()", {}, where)
        .get<std::string>(0, 0);
}

void Admin::stat_reset(Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.stat_reset()", {}, where);
}

std::vector<HubInfo> Admin::hubs(Where where) {
    return all_rows<HubInfo>(
        connection_->call(Effect::kRepeatable,
                          "SELECT name, owner, api, version, is_current, paused, " BELAY_MS(
                              "created_at") ", size_bytes, array_to_string(paused_queues, ',') "
                                            "FROM belay.hubs ORDER BY name",
                          {}, where),
        [](Reader& from, HubInfo& to) {
            from >> to.name >> to.owner >> to.api >> to.version >> to.is_current >> to.paused >>
                to.created_at >> to.size_bytes >> to.paused_queues;
        });
}

std::vector<HubOption> Admin::hub_options(std::string_view name, Where where) {
    return all_rows<HubOption>(
        connection_->call(Effect::kRepeatable,
                          "SELECT option, value, is_default FROM belay.hub_options "
                          "WHERE hub = $1 ORDER BY option",
                          {name}, where),
        [](Reader& from, HubOption& to) { from >> to.option >> to.value >> to.is_default; });
}

std::vector<QueueStats> Admin::queue_stats(Where where) {
    return all_rows<QueueStats>(
        connection_->call(Effect::kRepeatable,
                          "SELECT hub, queue, enqueued, fetched, empty_fetches, acked, abandoned, "
                          "renewed, lost_leases, expired, dead_lettered, wake_ups, waiters, "
                          "leases, oldest_ready_ms "
                          "FROM belay.pg_stat_belay_queue ORDER BY hub, queue",
                          {}, where),
        [](Reader& from, QueueStats& to) {
            from >> to.hub >> to.queue >> to.enqueued >> to.fetched >> to.empty_fetches >>
                to.acked >> to.abandoned >> to.renewed >> to.lost_leases >> to.expired >>
                to.dead_lettered >> to.wake_ups >> to.waiters >> to.leases >> to.oldest_ready_ms;
        });
}

std::vector<BackgroundWorker> Admin::workers(Where where) {
    return all_rows<BackgroundWorker>(
        connection_->call(
            Effect::kRepeatable,
            "SELECT database, pid, state, " BELAY_MS("last_loop_at") ", duty, " BELAY_MS(
                "last_run") ", runs, errors, last_error FROM belay.workers ORDER BY pid, duty",
            {}, where),
        [](Reader& from, BackgroundWorker& to) {
            from >> to.database >> to.pid >> to.state >> to.last_loop_at >> to.duty >>
                to.last_run >> to.runs >> to.errors >> to.last_error;
        });
}

}  // namespace belay
