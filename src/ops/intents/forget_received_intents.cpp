// forget_received_intents.cpp — the keys of deliveries, kept as long as one may be repeated.
//
// Calls    store::forget_received
// Touches  <hub>.intents_received
// Locks    the rows, skipping what others hold
// Raises   nothing
#include "ops/intents/intents.hpp"

namespace belay::ops {

int64 forget_received_intents(store::Tables& tables, pg::Clock* clock) {
    constexpr int kPortion = 1000;
    const int64 retention = tables.hub.options[store::Option::kIntentRetention];
    return store::forget_received(tables, clock->now() - retention, kPortion);
}

}  // namespace belay::ops
