// What operators see of hubs without counting rows.
#pragma once

#include "pg/pg.hpp"
#include "pg/subtransaction.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
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
    bool readable;  // false: the tables could not be read, so what they know is missing
};

// The queues of all hubs of the database that the caller may monitor: those of which it has the
// level, or all for members of pg_monitor. A hub that cannot be read is a WARNING.
std::span<const QueueStats> queue_stats();

// A queue and kind of tasks of one hub.
struct TaskClassStats {
    const store::Hub* hub;
    task_stats::Row row;
};

// What happened to the tasks of all hubs that the caller may monitor, by queue and kind. Reads no
// table.
std::span<const TaskClassStats> task_class_stats();

// How long something took in one hub.
struct Latency {
    const store::Hub* hub;
    counters::Queue queue;
    std::optional<task_stats::TaskClass> of;  // of tasks
    counters::Duration duration;
    counters::DurationCounts counts;
    TimestampTz reset_at;
};

// Of the same hubs. Of tasks by queue and kind. Reads no table.
std::span<const Latency> latencies();

// Runs body, which reads a hub. False: it failed; the error is reported as a WARNING, so that one
// broken hub does not hide the others. A cancelled query stays cancelled.
template <pg::JumpSafe Body>
bool try_to_read(const store::Hub& hub, Body body) {
    const auto end = pg::try_in_subtransaction([body] {
        body();
        return true;
    });
    if (end.error != nullptr) {
        if (end.error->sqlerrcode == ERRCODE_QUERY_CANCELED) {
            ReThrowError(end.error);
        }
        ereport(WARNING, (errcode(end.error->sqlerrcode),
                          errmsg("could not read hub \"%s\": %s", NameStr(hub.name),
                                 end.error->message != nullptr ? end.error->message : "")));
    }
    return end.error == nullptr;
}

// The same and more as text for Prometheus: in the format of OpenMetrics, or in its own. A client
// that prints the text adds the last line end.
enum class MetricsFormat { kOpenMetrics, kPrometheus };
const char* metrics(MetricsFormat format);

}  // namespace belay::ops
