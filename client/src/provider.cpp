// The provider interface: turns, slots, guards and waits.
#include "belay/provider.hpp"

#include "by_api.hpp"
#include "provider_rows.hpp"
#include "turn_json.hpp"

namespace belay {

void Provider::enqueue_orchestrator_work(const NewMessage& message, Where where) {
    if (message.visible_at) {
        throw Error({.message = "enqueue_orchestrator_work has no time; use "
                                "enqueue_orchestrator_items",
                     .sqlstate = "QB006"},
                    where);
    }
    hub().call(Effect::kWrite, kAll, "enqueue_orchestrator_work",
               {message.instance_id, message.work_item}, where);
}

std::int64_t Provider::enqueue_orchestrator_items(const std::vector<NewMessage>& messages,
                                                  Where where) {
    Json array = Json::array();
    for (const auto& message : messages) {
        Json object = {{"work_item", message.work_item}};
        put(object, "instance_id", message.instance_id);
        put(object, "visible_at_ms", count_of(message.visible_at));
        array.push_back(std::move(object));
    }
    return number_of(hub().call(Effect::kWrite, kAll, "enqueue_orchestrator_items",
                                {JsonText{dumped(array, where)}, hub().now()}, where));
}

namespace {

void read_turn(Reader& from, Turn& to) {
    from >> to.instance_id >> to.orchestration_name >> to.orchestration_version >>
        to.execution_id >> to.history >> to.messages >> to.lock_token >> to.attempt >>
        to.kv_snapshot;
}

}  // namespace

AckedTurn read_acked(const Result& result, int row, bool repeated) {
    const SettledOutcome outcome = read_outcome(result, row, repeated);
    return {.error = outcome.error,
            .reason = outcome.reason,
            .message = result.get<OptionalText>(row, 3),
            .outcome_unknown = outcome.outcome_unknown};
}

Turn read_leased_turn(const Result& result, int row, int first_column, Milliseconds lock_timeout) {
    Reader reader(result, row, first_column);
    Turn turn;
    read_turn(reader, turn);
    reader >> turn.history_after >> turn.last_event_id >> turn.locked_until;
    if (turn.locked_until) {
        turn.fetched_at = *turn.locked_until - lock_timeout;
    }
    return turn;
}

AckArguments ack_arguments(const std::vector<TurnAck>& acks, const Where& where) {
    AckArguments all;
    for (const auto& [token, decision, predicted_after] : acks) {
        all.tokens.emplace_back(token);
        all.executions.push_back(decision.execution_id);
        all.deltas.push_back(events_json(decision.history_delta, where));
        all.worker_items.push_back(strings_json(decision.worker_items, where));
        all.orchestrator_items.push_back(strings_json(decision.orchestrator_items, where));
        all.metadata.push_back(JsonText{decision.metadata});
        all.cancelled.push_back(activities_json(decision.cancelled_activities, where));
        all.predicted_after.push_back(predicted_after);
    }
    return all;
}

std::optional<Turn> Provider::fetch_orchestration_item(const TurnOptions& options, Where where) {
    return first_row<Turn>(hub().call_named(Effect::kRepeatable, kAll, "fetch_orchestration_item",
                                            {{"p_lock_timeout_ms", count_of(options.lock_timeout)},
                                             {"p_min_version_packed", options.min_version_packed},
                                             {"p_max_version_packed", options.max_version_packed},
                                             {"p_slots", options.slots},
                                             {"p_now_ms", hub().now()}},
                                            where),
                           read_turn);
}

AckedTurns Provider::ack_and_fetch_turns(const std::vector<TurnAck>& acks,
                                         const TurnOptions& options, Where where) {
    const AckArguments all = ack_arguments(acks, where);
    const Result result = hub().call_named(acks.empty() ? Effect::kRepeatable : Effect::kAck, kAll,
                                           "ack_and_fetch_turns",
                                           {{"p_lock_tokens", all.tokens},
                                            {"p_execution_ids", all.executions},
                                            {"p_history_deltas", all.deltas},
                                            {"p_worker_items", all.worker_items},
                                            {"p_orchestrator_items", all.orchestrator_items},
                                            {"p_metadata", all.metadata},
                                            {"p_cancelled_activities", all.cancelled},
                                            {"p_lock_timeout_ms", count_of(options.lock_timeout)},
                                            {"p_min_version_packed", options.min_version_packed},
                                            {"p_max_version_packed", options.max_version_packed},
                                            {"p_max_turns", options.max_turns},
                                            {"p_slots", options.slots},
                                            {"p_cache_owner", options.cache_owner},
                                            {"p_names", options.names},
                                            {"p_now_ms", hub().now()}},
                                           where);
    AckedTurns answer;
    const bool repeated = hub().connection().was_repeated();
    for (int row = 0; row < result.size(); ++row) {
        if (!result.is_null(row, 0)) {
            answer.acks.push_back(read_acked(result, row, repeated));
            continue;
        }
        constexpr int kTurn = 4;  // the first column of a turn
        answer.turns.push_back(read_leased_turn(result, row, kTurn, options.lock_timeout));
    }
    return answer;
}

void Provider::ack_orchestration_item(std::string_view lock_token, const Decision& decision,
                                      Where where) {
    hub().call_named(
        Effect::kAck, kAll, "ack_orchestration_item",
        {{"p_lock_token", lock_token},
         {"p_execution_id", decision.execution_id},
         {"p_history_delta", events_json(decision.history_delta, where)},
         {"p_worker_items", strings_json(decision.worker_items, where)},
         {"p_orchestrator_items", strings_json(decision.orchestrator_items, where)},
         {"p_metadata", JsonText{decision.metadata}},
         {"p_cancelled_activities", activities_json(decision.cancelled_activities, where)},
         {"p_now_ms", hub().now()}},
        where);
}

void Provider::renew_orchestration_item_lock(std::string_view lock_token, Milliseconds extend,
                                             Where where) {
    renew_one(hub(), "renew_orchestration_item_lock", lock_token, extend, where);
}

OptionalText Provider::abandon_orchestration_item(std::string_view lock_token,
                                                  std::optional<Milliseconds> delay,
                                                  bool ignore_attempt, Where where) {
    const Result result = hub().call_named(Effect::kGiveBack, kAll, "abandon_orchestration_item",
                                           {{"p_lock_token", lock_token},
                                            {"p_delay_ms", count_of(delay)},
                                            {"p_ignore_attempt", ignore_attempt},
                                            {"p_now_ms", hub().now()}},
                                           where);
    return result.empty() ? std::nullopt : result.get<OptionalText>(0, 0);
}

std::vector<std::string> Provider::fetch_history(std::string_view instance_id, Where where) {
    return first_column<std::string>(
        hub().call(Effect::kRepeatable, kAll, "fetch_history", {instance_id}, where));
}

std::vector<std::string> Provider::fetch_history_with_execution(std::string_view instance_id,
                                                                std::int64_t execution_id,
                                                                Where where) {
    return first_column<std::string>(hub().call(Effect::kRepeatable, kAll,
                                                "fetch_history_with_execution",
                                                {instance_id, execution_id}, where));
}

void Provider::append_history(std::string_view instance_id, std::int64_t execution_id,
                              const std::vector<NewEvent>& events, Where where) {
    hub().call(Effect::kWrite, kAll, "append_history",
               {instance_id, execution_id, events_json(events, where)}, where);
}

std::vector<std::int32_t> Provider::acquire_slots(std::string_view owner,
                                                  const Word<ProviderQueue>& queue,
                                                  std::optional<int> slots, Milliseconds lease,
                                                  Where where) {
    return first_column<std::int32_t>(
        hub().call(Effect::kRepeatable, "unnest(acquire_slots)", "acquire_slots",
                   {owner, queue, slots, count_of(lease), hub().now()}, where));
}

void Provider::release_slots(std::string_view owner, const Word<ProviderQueue>& queue,
                             Where where) {
    hub().call(Effect::kRepeatable, kAll, "release_slots", {owner, queue}, where);
}

void Provider::guard(std::string_view lock_token, Where where) {
    hub().call(Effect::kRepeatable, kAll, "guard", {lock_token}, where);
}

std::int64_t Provider::send_to_hub(std::string_view target_hub, const Word<ProviderQueue>& queue,
                                   std::string_view work_item, OptionalTime visible_at,
                                   Where where) {
    return number_of(hub().query(
        Effect::kWrite,
        "SELECT " + hub().schema() + ".send_to_hub($1::name, $2, $3, to_timestamp($4 / 1000.0))",
        {target_hub, queue, work_item, visible_at}, where));
}

namespace {

Wake read_wake(const Result& result) {
    return {.queue = result.get<OptionalText>(0, 0), .reason = result.get<Word<WakeReason>>(0, 1)};
}

std::string wait_sql(const Hub& hub) {
    return "CALL " + hub.schema() + ".wait_for_work($1, $2)";
}

}  // namespace

Wake Provider::wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout,
                             Where where) {
    hub().check_can_wait(where);
    return read_wake(hub().connection().call(Effect::kRepeatable, wait_sql(hub()),
                                             {queues, static_cast<int>(timeout.count())}, where));
}

std::optional<Wake> Provider::wait_for_work(const std::vector<std::string>& queues,
                                            Milliseconds timeout, const Interrupt& interrupt,
                                            Where where) {
    hub().check_can_wait(where);
    const auto result = hub().connection().call_until(
        interrupt, wait_sql(hub()), {queues, static_cast<int>(timeout.count())}, where);
    return result ? std::optional(read_wake(*result)) : std::nullopt;
}

}  // namespace belay
