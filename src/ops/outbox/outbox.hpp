// Subscriptions to the events of a hub.
#pragma once

#include "core/token.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/outbox.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// from: now, start, or an upto of another subscription.
void create_subscription(store::Tables& tables, std::string_view name,
                         std::optional<std::span<const Datum>> topics, std::string_view from);
void drop_subscription(store::Tables& tables, std::string_view name);

// Events of one batch: rows as store::read_events_upto has them, and the places to be acked.
struct EventBatch {
    store::EventRows old;      // of earlier incarnations; they come first
    store::EventRows current;  // of this one
    bool by_xid;               // the order of the second
    int64 lease;
    // Events that retention deleted before they were read; the report of them comes first.
    int64 lost;
    std::string_view lost_first;  // ids
    std::string_view lost_last;
    core::EventPlace lost_upto;  // a place that moves nothing
    int64 reported_at;
};

// Leases the next events; no rows if there are none, or if another reader has the lease.
EventBatch read_events(store::Tables& tables, std::string_view name, std::optional<int32> limit,
                       std::optional<int64> lease_ms, pg::Clock* clock);
void ack_events(store::Tables& tables, std::string_view name, std::string_view upto,
                pg::Clock* clock);

// Deletes events that no subscription needs any more.
int64 forget_events(store::Tables& tables, pg::Clock* clock);

}  // namespace belay::ops
