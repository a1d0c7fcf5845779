// What operators see of hubs without counting rows.
#pragma once

#include "pg/pg.hpp"
#include "shmem/counters.hpp"
#include "store/hub.hpp"

namespace belay::ops {

// Where counts of rows stop.
inline constexpr int64 kMostCounted = 10000;

// One queue of one hub.
struct QueueStats {
    const store::Hub* hub;
    counters::Queue queue;
    bool counted;  // false without shared memory, or a slot of it: counters are zero
    const int64* counters;
    const counters::DurationCounts* durations;  // by counters::Duration
    TimestampTz reset_at;
    int64 waiters;
    int64 leases;                       // of work items and turns: that shared memory knows
    int64 overdue;                      // of them, those whose time is over
    int64 ready;                        // tasks
    int64 delayed;                      // tasks
    std::optional<int64> oldest_ready;  // ms that the oldest item has been ready and free
};

// The queues of all hubs of the database that the caller may monitor: those of which it has the
// level, or all for members of pg_monitor.
std::span<const QueueStats> queue_stats();

// The same and more as text for Prometheus: in the format of OpenMetrics, or in its own. A client
// that prints the text adds the last line end.
enum class MetricsFormat { kOpenMetrics, kPrometheus };
const char* metrics(MetricsFormat format);

}  // namespace belay::ops
