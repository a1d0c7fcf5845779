// Subscriptions and their events.
#include "belay/events.hpp"

#include "rows.hpp"

namespace belay {

void Events::subscribe(std::string_view name, const std::optional<std::vector<std::string>>& topics,
                       std::string_view from, Where where) {
    hub().call(Effect::kWrite, kAll, "create_subscription", {name, topics, from}, where);
}

void Events::unsubscribe(std::string_view name, Where where) {
    hub().call(Effect::kWrite, kAll, "drop_subscription", {name}, where);
}

std::vector<Event> Events::read(std::string_view subscription, int limit, Milliseconds lease,
                                Where where) {
    return all_rows<Event>(hub().call(Effect::kRepeatable, kAll, "read_events",
                                      {subscription, limit, count_of(lease), hub().now()}, where),
                           [](Reader& from, Event& to) {
                               from >> to.id >> to.topic >> to.type >> to.subject >> to.details >>
                                   to.occurred_at >> to.upto;
                           });
}

void Events::ack(std::string_view subscription, std::string_view upto, Where where) {
    hub().call(Effect::kAck, kAll, "ack_events", {subscription, upto, hub().now()}, where);
}

std::vector<SubscriptionInfo> Events::subscriptions(Where where) {
    return all_rows<SubscriptionInfo>(
        hub().query(Effect::kRepeatable,
                    "SELECT name, array_to_string(topics, ','), lag_rows, "
                    "(lag_seconds * 1000)::bigint, " BELAY_MS(
                        "lease_until") ", horizon_pid, " BELAY_MS("created_at") " FROM " +
                        hub().schema() + ".subscriptions ORDER BY name",
                    {}, where),
        [](Reader& from, SubscriptionInfo& to) {
            OptionalText topics;
            from >> to.name >> topics >> to.lag_rows >> to.lag >> to.lease_until >>
                to.horizon_pid >> to.created_at;
            if (topics) {
                to.topics = split_of(*topics);
            }
        });
}

}  // namespace belay
