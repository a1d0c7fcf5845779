// What operators see of hubs without counting rows.
#pragma once

#include "pg/counters.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::ops {

// One queue of one hub.
struct QueueStats {
    const store::Hub* hub;
    pg::CountedQueue queue;
    bool counted;  // false without shared memory: counters are zero
    const int64* counters;
    TimestampTz reset_at;
    int64 waiters;
    int64 leases;                       // that shared memory knows
    std::optional<int64> oldest_ready;  // ms that the oldest item has been ready and free
};

// The queues of all hubs of the database that the caller may monitor: those of which it has the
// level, or all for members of pg_monitor.
std::span<const QueueStats> queue_stats();

// The same as OpenMetrics text.
const char* metrics();

}  // namespace belay::ops
