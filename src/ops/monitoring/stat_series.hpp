// What happened over time, from what the duty stat_minutes has recorded.
#pragma once

#include "pg/pg.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

struct SeriesRange {
    std::optional<int64> from_ms;
    std::optional<int64> to_ms;
    std::optional<int64> step_ms;
    std::optional<std::string_view> queue;
    std::optional<std::string_view> task_queue;
};

// The minutes of one step of one queue together.
struct SeriesStep {
    int64 at_ms;
    counters::Queue queue;
    int64 values[task_stats::kCounters];
    counters::DurationCounts durations[counters::kDurations];
    std::optional<int64> depth;      // at the end of the step
    std::optional<int64> oldest_ms;  // the greatest
};

// By queue and time; steps without a minute are left out. QB006.
std::span<const SeriesStep> stat_series(store::Tables& tables, const SeriesRange& range);

}  // namespace belay::ops
