// The provider interface: the worker queue.
#include "belay/provider.hpp"

#include "by_api.hpp"
#include "provider_rows.hpp"
#include "turn_json.hpp"

namespace belay {
namespace {

std::vector<Hub::Argument> fetch_arguments(const Hub& hub, const FetchOptions& options, bool many) {
    std::vector<Hub::Argument> arguments{
        {"p_lock_timeout_ms", count_of(options.lock_timeout)},
        {"p_owner_id", options.owner_id},
        {"p_session_lock_timeout_ms", count_of(options.session_lock_timeout)},
        {"p_tag_filter", options.tag_filter},
        {"p_tag_mode", text_of(options.tag_mode)},
        {"p_slots", options.slots},
        {"p_now_ms", hub.now()}};
    if (many) {
        arguments.push_back({"p_max_items", options.max_items});
        arguments.push_back({"p_max_new_sessions", options.max_new_sessions});
    }
    return arguments;
}

}  // namespace

void read_work_item(Reader& from, WorkItem& to) {
    from >> to.work_item >> to.lock_token >> to.attempt;
}

OutcomeArguments outcome_arguments(const std::vector<WorkOutcome>& outcomes) {
    OutcomeArguments all;
    for (const auto& outcome : outcomes) {
        all.tokens.push_back(outcome.lock_token);
        all.words.emplace_back(outcome.abandon ? "abandon" : "ack");
        all.completions.push_back(outcome.completion);
        all.delays.push_back(count_of(outcome.delay));
        all.ignored.push_back(outcome.ignore_attempt);
        all.reasons.push_back(outcome.reason);
    }
    return all;
}

void Provider::enqueue_worker_work(const NewWorkItem& item, Where where) {
    if (item.delay) {
        throw Error({.message = "enqueue_worker_work has no delay; use enqueue_worker_items",
                     .sqlstate = "QB006"},
                    where);
    }
    hub().call_named(Effect::kWrite, kAll, "enqueue_worker_work",
                     {{"p_work_item", item.work_item},
                      {"p_instance_id", item.instance_id},
                      {"p_execution_id", item.execution_id},
                      {"p_activity_id", item.activity_id},
                      {"p_session_id", item.session_id},
                      {"p_tag", item.tag},
                      {"p_now_ms", hub().now()}},
                     where);
}

std::int64_t Provider::enqueue_worker_items(const std::vector<NewWorkItem>& items, Where where) {
    Json array = Json::array();
    for (const auto& item : items) {
        Json object = {{"work_item", item.work_item}};
        put(object, "instance_id", item.instance_id);
        put(object, "execution_id", item.execution_id);
        put(object, "activity_id", item.activity_id);
        put(object, "session_id", item.session_id);
        put(object, "tag", item.tag);
        put(object, "delay_ms", count_of(item.delay));
        array.push_back(std::move(object));
    }
    return number_of(hub().call(Effect::kWrite, kAll, "enqueue_worker_items",
                                {JsonText{dumped(array, where)}, hub().now()}, where));
}

std::optional<WorkItem> Provider::fetch_work_item(const FetchOptions& options, Where where) {
    return first_row<WorkItem>(hub().call_named(Effect::kRepeatable, kAll, "fetch_work_item",
                                                fetch_arguments(hub(), options, false), where),
                               read_work_item);
}

std::vector<WorkItem> Provider::fetch_work_items(const FetchOptions& options, Where where) {
    return all_rows<WorkItem>(hub().call_named(Effect::kRepeatable, kAll, "fetch_work_items",
                                               fetch_arguments(hub(), options, true), where),
                              read_work_item);
}

void Provider::ack_worker(const Ack& ack, Where where) {
    hub().call(Effect::kAck, kAll, "ack_worker",
               {ack.lock_token, ack.instance_id, ack.completion, hub().now()}, where);
}

std::vector<AckResult> Provider::ack_workers(const std::vector<Ack>& acks, Where where) {
    Json array = Json::array();
    for (const auto& ack : acks) {
        Json object = {{"lock_token", ack.lock_token}};
        put(object, "instance_id", ack.instance_id);
        put(object, "completion_json", ack.completion);
        array.push_back(std::move(object));
    }
    auto results =
        all_rows<AckResult>(hub().call(Effect::kRepeatable, kAll, "ack_workers",
                                       {JsonText{dumped(array, where)}, hub().now()}, where),
                            [](Reader& from, AckResult& to) {
                                int index = 0;
                                from >> index >> to.lock_token >> to.acked >> to.error;
                            });
    for (auto& result : results) {
        result.outcome_unknown = !result.acked && hub().connection().was_repeated();
    }
    return results;
}

std::optional<WorkItem> Provider::ack_and_fetch_work_item(const Ack& ack,
                                                          const FetchOptions& options,
                                                          Where where) {
    auto arguments = fetch_arguments(hub(), options, false);
    arguments.insert(arguments.end(), {{"p_lock_token", ack.lock_token},
                                       {"p_instance_id", ack.instance_id},
                                       {"p_completion_json", ack.completion}});
    return first_row<WorkItem>(
        hub().call_named(Effect::kAck, kAll, "ack_and_fetch_work_item", arguments, where),
        read_work_item);
}

namespace {

SettledWork settle_together(Hub& hub, const std::vector<WorkOutcome>& outcomes,
                            const FetchOptions& options, const Prefetch& prefetch,
                            const Where& where) {
    const OutcomeArguments all = outcome_arguments(outcomes);
    const Result result = hub.call(
        Effect::kAck, kAll, "settle_and_fetch_work_items",
        {all.tokens, all.words, all.completions, all.delays, all.ignored, all.reasons,
         count_of(options.lock_timeout), options.owner_id, count_of(options.session_lock_timeout),
         options.tag_filter, text_of(options.tag_mode), options.max_items, options.max_new_sessions,
         options.slots, prefetch.most, prefetch.threshold, hub.now()},
        where);
    SettledWork settled;
    const bool repeated = hub.connection().was_repeated();
    for (int row = 0; row < result.size(); ++row) {
        if (result.is_null(row, 0)) {
            constexpr int kItem = 3;  // the first column of an item
            Reader reader(result, row, kItem);
            read_work_item(reader, settled.items.emplace_back());
        } else {
            settled.outcomes.push_back(read_outcome(result, row, repeated));
        }
    }
    return settled;
}

// Where there is no settle_and_fetch_work_items. Each outcome is a call, and so is the fetch.
SettledWork settle_one_by_one(Provider provider, const std::vector<WorkOutcome>& outcomes,
                              const FetchOptions& options, const Where& where) {
    SettledWork settled;
    for (const auto& outcome : outcomes) {
        SettledOutcome& result = settled.outcomes.emplace_back();
        try {
            if (outcome.abandon) {
                provider.abandon_work_item(outcome.lock_token, outcome.delay,
                                           outcome.ignore_attempt, outcome.reason, where);
            } else {
                provider.ack_worker(
                    {.lock_token = outcome.lock_token, .completion = outcome.completion}, where);
            }
        } catch (const Error& error) {
            result.error = error.sqlstate();
            result.reason = error.code_detail();
            result.outcome_unknown = error.outcome_unknown();
        }
    }
    if (options.max_items > 0) {
        try {
            settled.items = provider.fetch_work_items(options, where);
        } catch (const Error&) {
            // The outcomes have to be reported; the next fetch meets the error again.
            if (outcomes.empty()) {
                throw;
            }
        }
    }
    return settled;
}

}  // namespace

SettledWork Provider::settle_and_fetch_work_items(const std::vector<WorkOutcome>& outcomes,
                                                  const FetchOptions& options,
                                                  const Prefetch& prefetch, Where where) {
    return call_by_api(
        hub(), where, [&] { return settle_together(hub(), outcomes, options, prefetch, where); },
        [&] { return settle_one_by_one(*this, outcomes, options, where); });
}

void Provider::renew_work_item_lock(std::string_view lock_token, Milliseconds extend, Where where) {
    renew_one(hub(), "renew_work_item_lock", lock_token, extend, where);
}

std::vector<Renewal> Provider::renew_work_item_locks(const std::vector<std::string>& lock_tokens,
                                                     Milliseconds extend, Where where) {
    return all_rows<Renewal>(hub().call_named(Effect::kRepeatable, kAll, "renew_work_item_locks",
                                              {{"p_lock_tokens", lock_tokens},
                                               {"p_extend_ms", count_of(extend)},
                                               {"p_now_ms", hub().now()}},
                                              where),
                             [](Reader& from, Renewal& to) {
                                 int index = 0;
                                 from >> index >> to.lock_token >> to.renewed >> to.locked_until >>
                                     to.error;
                             });
}

void Provider::abandon_work_item(std::string_view lock_token, std::optional<Milliseconds> delay,
                                 bool ignore_attempt, const OptionalText& reason, Where where) {
    std::vector<Hub::Argument> arguments{{"p_lock_token", lock_token},
                                         {"p_delay_ms", count_of(delay)},
                                         {"p_ignore_attempt", ignore_attempt},
                                         {"p_now_ms", hub().now()}};
    const auto abandon = [&] {
        hub().call_named(Effect::kGiveBack, kAll, "abandon_work_item", arguments, where);
    };
    if (!reason) {
        abandon();
        return;
    }
    call_by_api(
        hub(), where,
        [&] {
            arguments.push_back({"p_reason", reason});
            abandon();
        },
        [&] {
            // There is no such argument.
            std::erase_if(arguments, [](const auto& given) { return given.name == "p_reason"; });
            abandon();
        });
}

std::int64_t Provider::renew_session_lock(const std::vector<std::string>& owner_ids,
                                          Milliseconds extend, Milliseconds idle_timeout,
                                          Where where) {
    return number_of(hub().call_named(Effect::kRepeatable, kAll, "renew_session_lock",
                                      {{"p_owner_ids", owner_ids},
                                       {"p_extend_ms", count_of(extend)},
                                       {"p_idle_timeout_ms", count_of(idle_timeout)},
                                       {"p_now_ms", hub().now()}},
                                      where));
}

std::int64_t Provider::cleanup_orphaned_sessions(Where where) {
    return number_of(
        hub().call(Effect::kRepeatable, kAll, "cleanup_orphaned_sessions", {hub().now()}, where));
}

std::int64_t Provider::cancel_activities(const std::vector<ActivityKey>& activities, Where where) {
    return number_of(hub().call(Effect::kWrite, kAll, "cancel_activities",
                                {activities_json(activities, where)}, where));
}

std::vector<QueuedWorkItem> Provider::list_work_items(const Json& filter, const OptionalText& after,
                                                      int limit, Where where) {
    return all_rows<QueuedWorkItem>(
        hub().call(
            Effect::kRepeatable,
            "id, state, work_item, instance_id, execution_id, activity_id, session_id, "
            "tag, " BELAY_MS("visible_at") ", locked_until, locked_by, attempt_count, " BELAY_MS(
                "created_at") ", cursor",
            "list_work_items", {filter, after, limit, hub().now()}, where),
        [](Reader& from, QueuedWorkItem& to) {
            from >> to.id >> to.state >> to.work_item >> to.instance_id >> to.execution_id >>
                to.activity_id >> to.session_id >> to.tag >> to.visible_at >> to.locked_until >>
                to.locked_by >> to.attempt >> to.created_at >> to.cursor;
        });
}

std::vector<FetchReason> Provider::explain_work_item(std::int64_t id, Where where) {
    return all_rows<FetchReason>(
        hub().call(Effect::kRepeatable, "reason, detail, " BELAY_MS("until_at"),
                   "explain_work_item", {id, hub().now()}, where),
        [](Reader& from, FetchReason& to) { from >> to.reason >> to.detail >> to.until; });
}

}  // namespace belay
