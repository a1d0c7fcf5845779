// subscriptions.cpp — make and drop subscriptions, and forget what all of them have read.
//
// Calls    store::insert_subscription, store::delete_subscription, store::forget_events
// Touches  <hub>.outbox_subscriptions, <hub>.outbox_events
// Locks    the key of the subscription
// Raises   QB002 unknown subscription, QB006 bad name, topic or place
#include "ops/audit.hpp"
#include "ops/enter.hpp"
#include "ops/input.hpp"
#include "ops/outbox/outbox.hpp"
#include "ops/outbox/places.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int64 kPortion = 1000;

void check_name(std::string_view name) {
    if (name.empty()) {
        pg::raise_invalid("empty", "p_subscription", "p_subscription must not be empty",
                          "Pass a name of 1 to 1024 bytes.");
    }
    check_label("p_subscription", name);
}

store::Topics checked_topics(std::optional<std::span<const Datum>> topics) {
    if (!topics) {
        return std::nullopt;
    }
    constexpr const char* kHint =
        "Topics are lease, operator, completion and instance; NULL is all.";
    if (topics->empty()) {
        pg::raise_invalid("empty", "p_topics", "p_topics names no topic", kHint);
    }
    pg::List<std::string_view> words;
    for (std::size_t i = 0; i < topics->size(); ++i) {
        const auto word = (*topics)[i] == 0 ? std::string_view() : pg::text_view((*topics)[i]);
        if (!core::is_topic(word)) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("unrecognized topic \"%s\"", pg::excerpt(word)),
                      pg::Facts("unknown_topic")
                          .add("path", psprintf("p_topics[%zu]", i))
                          .add("value", word),
                      kHint);
        }
        words.add(word);
    }
    return words.span();
}

store::Seen checked_start(store::Tables& tables, std::string_view from) {
    if (from == "start") {
        return {};
    }
    if (from == "now") {
        const auto horizon = store::read_horizon(tables);
        return {.incarnation = tables.hub.incarnation,
                .position = horizon.exact ? horizon.position : 0,
                .xid = horizon.exact ? 0 : horizon.xid - 1,
                .xid_position = horizon.exact ? 0 : PG_INT64_MAX};
    }
    const auto place = core::decode_event_place(from);
    if (!place || place->incarnation > tables.hub.incarnation) {
        pg::raise(pg::kInvalidArgument, "p_from is no place to begin",
                  pg::Facts("bad_value").add("path", "p_from").add("value", from),
                  "Begin at now, at start, or at an upto that read_events returned.");
    }
    return moved_to(store::Seen{}, *place);
}

}  // namespace

void create_subscription(store::Tables& tables, std::string_view name,
                         std::optional<std::span<const Datum>> topics, std::string_view from) {
    check_name(name);
    const auto checked = checked_topics(topics);
    const store::Seen seen = checked_start(tables, from);
    if (!store::insert_subscription(tables, name, checked, seen, pg::server_now_ms())) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("subscription \"%s\" already exists", pg::excerpt(name)),
                  pg::Facts("exists").add("path", "p_subscription").add("value", name),
                  "Choose another name, or drop it first with drop_subscription.");
    }
    wakeups::ready(store::outbox_channel(tables));
}

void drop_subscription(store::Tables& tables, std::string_view name) {
    lock_subscription(tables, name);
    if (!store::delete_subscription(tables, name)) {
        raise_unknown_subscription("p_subscription", name);
    }
    wakeups::lease_ended(store::outbox_channel(tables), store::lease_key_of_batch(name));
    constexpr int kDropped = core::event_place("operator", "subscription_dropped");
    emit_operator_event(tables, {.event = kDropped, .subject = name});
}

int64 forget_events(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.events = true})) {
        return 0;
    }
    const int64 retention = tables.hub.options[store::Option::kEventRetention];
    return store::forget_events(tables, clock->now() - retention, kPortion);
}

}  // namespace belay::ops
