// stat_series.cpp — the recorded minutes of a hub, added up to steps.
//
// Calls    store::read_stat_minutes
// Touches  stat_minutes
// Locks    nothing
// Raises   QB006
// Races    none: a query with the caller's snapshot
// Faults   none: it only reads
#include "ops/monitoring/stat_series.hpp"

#include <algorithm>

#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "store/stat_minutes.hpp"

namespace belay::ops {

namespace {

constexpr int64 kMinuteMs = 60 * 1000;
constexpr int64 kLongestRange = int64{31} * 24 * 3600 * 1000;
constexpr int64 kMostSteps = 2000;

[[noreturn]] void raise_range(const char* path, const char* message, int64 value,
                              const char* hint) {
    pg::raise(pg::kInvalidArgument, message,
              pg::Facts("out_of_range").add("path", path).add("value", value), hint);
}

// The queues that are asked for.
std::span<const counters::Queue> checked_queues(const SeriesRange& range) {
    pg::List<counters::Queue> queues;
    for (int i = 0; i < counters::kQueues; ++i) {
        const auto queue = static_cast<counters::Queue>(i);
        const bool named = range.queue && *range.queue == counters::kQueueNames[i];
        const bool has_task_queue = !range.task_queue || queue == counters::Queue::kTasks;
        if ((named || !range.queue) && has_task_queue) {
            queues.add(queue);
        }
    }
    if (queues.count == 0) {
        pg::raise(pg::kInvalidArgument,
                  range.task_queue ? "p_task_queue is given for a queue that has none"
                                   : "p_queue is not a queue",
                  pg::Facts("bad_value").add("path", "p_queue").add("value", *range.queue),
                  "Queues are orchestrator, worker and tasks; only tasks have a p_task_queue.");
    }
    return queues.span();
}

int64 checked_time(const char* path, std::optional<int64> value) {
    if (!value) {
        pg::raise_invalid("null", path, psprintf("%s must not be null", path), "Pass a time.");
    }
    if (*value < 0) {
        raise_range(path, psprintf("%s must not be negative", path), *value,
                    "Pass milliseconds since 1970.");
    }
    return *value;
}

void add_minute(const store::StatMinuteRows::Row& row, SeriesStep* step) {
    const auto [minute, counts, wait, wait_sum, ran, ran_sum, depth, oldest] = row;
    const auto add = [](const auto& from, auto& to) {
        for (std::size_t i = 0; i < std::min(from.size(), std::size(to)); ++i) {
            to[i] += from[i];
        }
    };
    add(counts, step->values);
    counters::DurationCounts& waits = step->durations[static_cast<int>(counters::Duration::kWait)];
    counters::DurationCounts& runs = step->durations[static_cast<int>(counters::Duration::kRun)];
    add(wait, waits.buckets);
    add(ran, runs.buckets);
    waits.sum_ms += wait_sum;
    runs.sum_ms += ran_sum;
    step->depth = depth;
    if (oldest) {
        step->oldest_ms = std::max(step->oldest_ms.value_or(0), *oldest);
    }
}

}  // namespace

std::span<const SeriesStep> stat_series(store::Tables& tables, const SeriesRange& range) {
    const int64 from = checked_time("p_from_ms", range.from_ms);
    const int64 to = checked_time("p_to_ms", range.to_ms);
    const int64 step = range.step_ms.value_or(kMinuteMs);
    if (step < kMinuteMs || step > kLongestRange || step % kMinuteMs != 0) {
        raise_range("p_step_ms", "p_step_ms must be a multiple of 60000 of up to 31 days", step,
                    "Pass at least one minute.");
    }
    if (to <= from || to - from > kLongestRange) {
        raise_range("p_to_ms", "p_to_ms must be after p_from_ms, by 31 days at most", to,
                    "Ask for a shorter time.");
    }
    const auto queues = checked_queues(range);
    const auto task_queue =
        range.task_queue ? checked_queue("p_task_queue", range.task_queue) : std::string_view();
    const int64 steps = (to - from + step - 1) / step * static_cast<int64>(queues.size());
    if (steps > kMostSteps) {
        pg::raise(pg::kInvalidArgument, "the series would have more than 2000 steps",
                  pg::Facts("too_many").add("path", "p_step_ms").add("count", steps),
                  "Pass a longer p_step_ms, a shorter time, or one p_queue.");
    }
    pg::List<SeriesStep> all;
    for (const auto queue : queues) {
        SeriesStep* last = nullptr;
        for (const auto row : store::read_stat_minutes(tables, {queue, task_queue}, from, to)) {
            // Steps begin at p_from_ms.
            const int64 at = from + (std::get<0>(row) - from) / step * step;
            if (last == nullptr || last->at_ms != at) {
                SeriesStep next{};
                next.at_ms = at;
                next.queue = queue;
                all.add(next);
                last = &all.items[all.count - 1];
            }
            add_minute(row, last);
        }
    }
    return all.span();
}

}  // namespace belay::ops
