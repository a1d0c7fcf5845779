// read_events.cpp — lease the next events of a subscription, and take them as read.
//
// Calls    store::read_horizon, store::read_events_upto, store::take_gaps,
//          store::update_subscription
// Touches  <hub>.outbox_subscriptions, <hub>.outbox_events, <hub>.outbox_gaps
// Locks    the key of the subscription: a reader without waiting, an ack waiting
// Raises   QB001 lease lost, QB002 unknown subscription, QB006 bad argument, QB007 clock skew
#include "core/lease.hpp"
#include "core/time.hpp"
#include "ops/input.hpp"
#include "ops/outbox/outbox.hpp"
#include "ops/outbox/places.hpp"
#include "pg/random.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int32 kDefaultLimit = 100;
constexpr int32 kMaxLimit = 10000;
// A subscription that wants nothing of what there is moves on only after so many events: each move
// is a write.
constexpr int64 kWorthMoving = 256;

bool is_leased(store::Tables& tables, const store::Subscription& subscription, int64 now) {
    return subscription.lease != 0 && subscription.lease_inc == tables.hub.incarnation &&
           subscription.lease_until > now;
}

int64 random_lease() {
    int64 lease = 0;
    while (lease == 0) {
        pg::fill_random(&lease, sizeof lease);
    }
    return lease;
}

// Where the positions are complete though the reader goes by xids: what was drawn when the last
// probe was taken, once every transaction of that time has ended. So the range of positions that is
// read again and again does not grow.
void advance_by_probe(store::Tables& tables, const store::Horizon& horizon,
                      store::Subscription* subscription) {
    if (horizon.exact || horizon.xid < subscription->final_xid) {
        return;
    }
    if (subscription->final_position > subscription->seen.position) {
        const auto unseen =
            store::first_unseen(tables, *subscription, subscription->final_position);
        subscription->seen.position = unseen ? *unseen - 1 : subscription->final_position;
    }
    const auto probe = store::probe_positions(tables);
    subscription->final_xid = probe.xid;
    subscription->final_position = probe.position;
}

// The subscription as it stands in this incarnation.
store::Subscription in_this_incarnation(store::Tables& tables, store::Subscription subscription) {
    if (subscription.seen.incarnation < tables.hub.incarnation) {
        subscription.seen = {
            .incarnation = tables.hub.incarnation, .position = 0, .xid = 0, .xid_position = 0};
    }
    return subscription;
}

// There is nothing to read up to the horizon: remembers that, if it spares the next reader much.
// Returns whether it did.
bool move_past_others(store::Tables& tables, std::string_view name, const store::Horizon& horizon,
                      const store::Subscription& before) {
    store::Subscription subscription = in_this_incarnation(tables, before);
    const int64 begin = subscription.seen.position;
    if (horizon.exact) {
        subscription.seen.position = horizon.position;
    } else {
        advance_by_probe(tables, horizon, &subscription);
    }
    const bool probed = subscription.final_xid != before.final_xid;
    if (subscription.seen.position - begin >= kWorthMoving ||
        (probed && subscription.final_position - begin >= kWorthMoving)) {
        store::update_subscription(tables, name, subscription);
        wakeups::ready(store::outbox_channel(tables));  // who came meanwhile found the key taken
        return true;
    }
    return false;
}

// A reader that changed nothing unlocks the subscription at once: its transaction may stay open for
// long without blocking others.
EventBatch nothing_read(store::Tables& tables, std::string_view name) {
    unlock_subscription(tables, name);
    return {};
}

// Puts a report of lost events at the head of the batch. Its place is one that has been seen.
void report_lost(const store::Subscription& subscription, int64 now, EventBatch* batch) {
    batch->lost = subscription.untold;
    batch->lost_first = subscription.untold_first;
    batch->lost_last = subscription.untold_last;
    batch->lost_upto = {.lease = batch->lease,
                        .incarnation = subscription.seen.incarnation,
                        .position = subscription.seen.position};
    batch->reported_at = now;
}

EventBatch read_now(store::Tables& tables, std::string_view name, int64 limit, int64 lease_ms,
                    pg::Clock* clock) {
    EventBatch batch{};
    if (!try_lock_subscription(tables, name)) {
        return batch;
    }
    auto subscription = store::read_subscription(tables, name);
    if (!subscription) {
        raise_unknown_subscription("p_subscription", name);
    }
    if (is_leased(tables, *subscription, clock->now())) {
        return nothing_read(tables, name);
    }
    store::take_gaps(tables, name, &*subscription);
    const auto horizon = store::read_horizon(tables);
    batch.by_xid = !horizon.exact;
    if (subscription->seen.incarnation < tables.hub.incarnation) {
        batch.old = store::read_old_events(tables, *subscription, limit);
    }
    const int64 left = limit - static_cast<int64>(batch.old.count);
    if (left > 0) {
        batch.current = store::read_events_upto(tables, in_this_incarnation(tables, *subscription),
                                                horizon, left);
    }
    if (batch.old.count + batch.current.count == 0 && subscription->untold == 0) {
        return move_past_others(tables, name, horizon, *subscription) ? EventBatch{}
                                                                      : nothing_read(tables, name);
    }
    const int64 now = clock->now();
    batch.lease = random_lease();
    if (batch.old.count == 0) {
        *subscription = in_this_incarnation(tables, *subscription);
        advance_by_probe(tables, horizon, &*subscription);
    }
    subscription->lease = batch.lease;
    subscription->lease_until = core::add_ms(now, lease_ms);
    subscription->lease_inc = tables.hub.incarnation;
    report_lost(*subscription, now, &batch);
    if (const auto& last = batch.current.count > 0 ? batch.current : batch.old; last.count > 0) {
        const auto row = last[last.count - 1];
        subscription->last_incarnation = std::get<0>(row);
        subscription->last_position = std::get<1>(row);
    } else {
        subscription->last_incarnation = batch.lost_upto.incarnation;
        subscription->last_position = batch.lost_upto.position;
    }
    store::update_subscription(tables, name, *subscription);
    wakeups::lease_moved(store::outbox_channel(tables), store::lease_key_of_batch(name),
                         subscription->lease_until, 0);
    return batch;
}

[[noreturn]] void raise_lease_lost(const char* what, std::string_view upto, core::LeaseFault fault,
                                   int64 lease_until) {
    auto facts = pg::Facts(core::code_detail(fault)).add_token("upto", upto);
    if (fault == core::LeaseFault::kExpired) {
        facts.add("lease_until", lease_until);
    }
    pg::raise(pg::kLockLost, psprintf("the batch of events %s", what), facts,
              "Read the next batch with read_events, which delivers the events again.");
}

}  // namespace

EventBatch read_events(store::Tables& tables, std::string_view name, std::optional<int32> limit,
                       std::optional<int64> lease_ms, pg::Clock* clock) {
    const int64 checked = checked_limit("p_max_items", limit, kDefaultLimit, kMaxLimit);
    const int64 lease = checked_timeout("p_lease_ms", lease_ms);
    const wakeups::Channel channel = store::outbox_channel(tables);
    const uint64 version = wakeups::queue_version(channel);
    const EventBatch batch = read_now(tables, name, checked, lease, clock);
    if (batch.lease == 0) {
        wakeups::remember_empty(channel, version);
    } else {
        wakeups::resolve_hint(channel, false);
    }
    return batch;
}

void ack_events(store::Tables& tables, std::string_view name, std::string_view upto,
                pg::Clock* clock) {
    using core::LeaseFault;
    const auto place = core::decode_event_place(upto);
    if (!place) {
        pg::raise(pg::kInvalidArgument, "p_upto is not a place among events",
                  pg::Facts("bad_value").add("path", "p_upto").add_token("value", upto),
                  "Pass an upto that read_events returned.");
    }
    lock_subscription(tables, name);
    auto subscription = store::read_subscription(tables, name);
    if (!subscription) {
        raise_unknown_subscription("p_subscription", name);
    }
    if (subscription->lease == 0) {
        raise_lease_lost("was already acked", upto, LeaseFault::kGone, 0);
    }
    if (subscription->lease != place->lease) {
        raise_lease_lost("was already acked, or its events have been read again", upto,
                         LeaseFault::kGone, 0);
    }
    if (subscription->lease_inc != tables.hub.incarnation) {
        raise_lease_lost("was read in another incarnation of the hub", upto,
                         LeaseFault::kOtherIncarnation, 0);
    }
    if (subscription->lease_until <= clock->now()) {
        raise_lease_lost("is not leased any more: its lease has expired", upto,
                         LeaseFault::kExpired, subscription->lease_until);
    }
    if (!is_seen(subscription->seen, *place)) {
        subscription->seen = moved_to(subscription->seen, *place);
    } else if (subscription->untold == 0) {
        // A transaction with the effects of these events that runs again must not commit twice. The
        // place of a report of lost events is one that was seen before, until the report is acked.
        pg::raise(
            pg::kLockLost, "the events were already acked up to this place",
            pg::Facts(core::code_detail(LeaseFault::kGone)).add_token("upto", upto),
            "Do nothing if this repeats a transaction: its first attempt was committed. Else "
            "continue with a later place of the batch, or read the next batch with read_events.");
    }
    subscription->untold = 0;  // the report is the first row of a batch: each place covers it
    if (place->incarnation == subscription->last_incarnation &&
        place->position == subscription->last_position) {
        subscription->lease = 0;
        subscription->lease_until = 0;
        // More may be there for another reader.
        wakeups::lease_ended(store::outbox_channel(tables), store::lease_key_of_batch(name));
        wakeups::ready(store::outbox_channel(tables));
    }
    store::update_subscription(tables, name, *subscription);
}

}  // namespace belay::ops
