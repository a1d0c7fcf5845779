// subscriptions.cpp — make and drop subscriptions, and forget what all of them have read.
//
// Calls    store::insert_subscription, store::delete_subscription, store::forget_events
// Touches  <hub>.outbox_subscriptions, <hub>.outbox_events
// Locks    the key of the subscription
// Raises   QB002 unknown subscription, QB006 bad name, topic or place
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
        pg::raise_invalid("empty", "p_name", "p_name is empty",
                          "A subscription has a name of 1 to 1024 bytes.");
    }
    check_label("p_name", name);
}

std::optional<Datum> checked_topics(std::optional<std::span<const Datum>> topics) {
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
            pg::raise(pg::kInvalidArgument, psprintf("unknown topic \"%s\"", pg::excerpt(word)),
                      pg::Facts("unknown_topic")
                          .add("path", psprintf("p_topics[%zu]", i))
                          .add("value", word),
                      kHint);
        }
        words.add(word);
    }
    return store::text_array(words.span());
}

store::Seen checked_start(const store::Hub& hub, std::string_view from) {
    if (from == "start") {
        return {};
    }
    if (from == "now") {
        const auto horizon = store::read_horizon(hub);
        return {.incarnation = hub.incarnation,
                .position = horizon.exact ? horizon.position : 0,
                .xid = horizon.exact ? 0 : horizon.xid - 1,
                .xid_position = horizon.exact ? 0 : PG_INT64_MAX};
    }
    const auto place = core::decode_event_place(from);
    if (!place || place->incarnation > hub.incarnation) {
        pg::raise(pg::kInvalidArgument, "p_from is no place to begin",
                  pg::Facts("bad_value").add("path", "p_from").add("value", from),
                  "Begin at now, at start, or at an upto that read_events returned.");
    }
    return moved_to(store::Seen{}, *place);
}

}  // namespace

void create_subscription(const store::Hub& hub, std::string_view name,
                         std::optional<std::span<const Datum>> topics, std::string_view from) {
    check_name(name);
    const auto checked = checked_topics(topics);
    const store::Seen seen = checked_start(hub, from);
    if (!store::insert_subscription(hub, name, checked, seen, pg::server_now_ms())) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("subscription \"%s\" already exists", pg::excerpt(name)),
                  pg::Facts("exists").add("path", "p_name").add("value", name),
                  "Choose another name, or drop it first with drop_subscription.");
    }
    pg::note_ready(store::outbox_channel(hub));
}

void drop_subscription(const store::Hub& hub, std::string_view name) {
    lock_subscription(hub, name);
    if (!store::delete_subscription(hub, name)) {
        raise_unknown_subscription("p_name", name);
    }
    pg::note_lease_over(store::outbox_channel(hub), store::lease_key_of_batch(name));
}

int64 forget_events(const store::Hub& hub, pg::Clock* clock) {
    const int64 retention = hub.options[store::Option::kEventRetention];
    return store::forget_events(hub, clock->now() - retention, kPortion);
}

}  // namespace belay::ops
