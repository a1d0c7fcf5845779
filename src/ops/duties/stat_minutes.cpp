// stat_minutes.cpp — record once a minute what happened in a hub, and how its queues stand.
//
// Calls    counters::read, task_stats::read, store::read_stat_marks, write_stat_mark,
//          insert_stat_minute, delete_stat_minutes, message_depth, work_depth, task_queues and the
//          like
// Touches  stat_minutes, stat_marks; reads the queues
// Locks    pg::LockSpace::kStatMinutes of the hub, without waiting; the rows that it changes
// Raises   nothing itself
#include <algorithm>

#include "ops/duties/duties.hpp"
#include "pg/list.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "store/glance.hpp"
#include "store/readiness.hpp"
#include "store/stat_minutes.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

constexpr int64 kMinuteMs = 60 * 1000;
constexpr int64 kMostDeleted = 1000;
// Where the depth of a queue is no longer counted.
constexpr int64 kMostDepth = 1000;
constexpr int64 kMostQueues = 200;

using store::StatMark;
using store::StatSource;

void put_durations(const counters::DurationCounts* durations, store::StatNumbers* numbers) {
    int64* at = numbers->values + task_stats::kCounters;
    for (int i = 0; i < counters::kDurations; ++i) {
        at = std::copy(std::begin(durations[i].buckets), std::end(durations[i].buckets), at);
        *at++ = durations[i].sum_ms;
    }
}

// What the words of tasks mean for items and messages.
StatMark mark_of_queue(const counters::HubCounts& counts, counters::Queue queue) {
    const auto value = [&](counters::Counter counter) {
        return counts.values[static_cast<int>(queue)][static_cast<int>(counter)];
    };
    StatMark mark{{queue, {}}, counts.reset_at, {}};
    const auto put = [&mark](task_stats::Counter counter, int64 number) {
        mark.numbers.values[static_cast<int>(counter)] = number;
    };
    put(task_stats::Counter::kCreated, value(counters::Counter::kEnqueued));
    put(task_stats::Counter::kClaimed, value(counters::Counter::kFetched));
    put(task_stats::Counter::kCompleted, value(counters::Counter::kAcked));
    put(task_stats::Counter::kFailed, value(counters::Counter::kDeadLettered));
    put(task_stats::Counter::kRetried, value(counters::Counter::kAbandoned));
    put(task_stats::Counter::kLost, value(counters::Counter::kExpired));
    put_durations(counts.durations[static_cast<int>(queue)], &mark.numbers);
    return mark;
}

StatMark mark_of_tasks(std::string_view task_queue, const task_stats::Counts& counts) {
    StatMark mark{{counters::Queue::kTasks, task_queue}, counts.reset_at, {}};
    std::copy(std::begin(counts.values), std::end(counts.values), mark.numbers.values);
    put_durations(counts.durations, &mark.numbers);
    return mark;
}

// How all sources stand now.
std::span<const StatMark> count_all(Oid hub) {
    pg::List<StatMark> all;
    counters::HubCounts counts{};
    if (counters::read(hub, &counts)) {
        all.add(mark_of_queue(counts, counters::Queue::kOrchestrator));
        all.add(mark_of_queue(counts, counters::Queue::kWorker));
    }
    const auto rows = task_stats::read(hub);
    task_stats::Counts of_all{};
    for (std::size_t i = 0; i < rows.size();) {
        task_stats::Counts of_queue{};
        const std::string_view queue = rows[i].of.queue;
        for (; i < rows.size() && rows[i].of.queue == queue; ++i) {
            of_queue.add(rows[i].counts);
        }
        of_all.add(of_queue);
        all.add(mark_of_tasks(queue, of_queue));
    }
    if (!rows.empty()) {
        all.add(mark_of_tasks({}, of_all));
    }
    return all.span();
}

// What has come since a mark; everything if the counters have begun anew.
store::StatNumbers since(const StatMark& now, const StatMark* before) {
    store::StatNumbers numbers = now.numbers;
    if (before == nullptr || before->counted_since != now.counted_since) {
        return numbers;
    }
    for (int i = 0; i < store::kStatNumbers; ++i) {
        numbers.values[i] = std::max<int64>(0, numbers.values[i] - before->numbers.values[i]);
    }
    return numbers;
}

const StatMark* find_mark(std::span<const StatMark> marks, const StatSource& source) {
    const auto found = std::find_if(marks.begin(), marks.end(), [&source](const StatMark& mark) {
        return mark.source.queue == source.queue && mark.source.task_queue == source.task_queue;
    });
    return found == marks.end() ? nullptr : &*found;
}

// How much is ready, and for how long the oldest.
struct Gauge {
    StatSource source;
    int64 depth;
    std::optional<int64> oldest_ms;
};

std::span<const Gauge> look(const store::Hub& hub, int64 now) {
    pg::List<Gauge> gauges;
    const auto age = [now](std::optional<int64> time) {
        return time ? std::optional(std::max<int64>(0, now - *time)) : std::nullopt;
    };
    gauges.add({{counters::Queue::kOrchestrator, {}},
                store::message_depth(hub, now, kMostDepth).ready,
                age(store::oldest_ready_message(hub, now))});
    gauges.add({{counters::Queue::kWorker, {}},
                store::work_depth(hub, now, kMostDepth).ready,
                age(store::oldest_ready_work(hub, now))});
    Gauge tasks{{counters::Queue::kTasks, {}}, 0, age(store::oldest_ready_task(hub, now))};
    for (const auto [name, paused, ready, delayed, blocked, active, suspended, overdue, oldest,
                     concurrency, rate, burst, owners, capped, by, at] :
         store::task_queues(hub, now, kMostDepth, kMostQueues)) {
        gauges.add({{counters::Queue::kTasks, name}, ready, oldest});
        tasks.depth += ready;
    }
    gauges.add(tasks);
    return gauges.span();
}

int64 record(store::Tables& tables, int64 now) {
    const store::Hub& hub = tables.hub;
    const auto counted = count_all(hub.schema);
    if (counted.empty()) {
        return 0;
    }
    // Recording has been off: what has come meanwhile is not this minute's.
    const bool begins = store::has_stat_note(hub);
    const auto marks = store::read_stat_marks(hub);
    std::optional<std::span<const Gauge>> gauges;
    int64 recorded = 0;
    for (const StatMark& mark : counted) {
        const auto numbers = since(mark, find_mark(marks, mark.source));
        const bool any = std::any_of(std::begin(numbers.values), std::end(numbers.values),
                                     [](int64 number) { return number != 0; });
        if (!any) {
            continue;
        }
        ++recorded;
        store::write_stat_mark(hub, mark);
        if (begins) {
            continue;
        }
        if (!gauges) {
            gauges = pg::with_one_view([&hub, now] { return look(hub, now); });
        }
        const auto gauge = std::find_if(gauges->begin(), gauges->end(), [&](const Gauge& one) {
            return one.source.queue == mark.source.queue &&
                   one.source.task_queue == mark.source.task_queue;
        });
        const bool known = gauge != gauges->end();
        store::insert_stat_minute(hub, {.source = mark.source,
                                        .minute_ms = now - now % kMinuteMs,
                                        .numbers = numbers,
                                        .depth = known ? std::optional(gauge->depth) : std::nullopt,
                                        .oldest_ms = known ? gauge->oldest_ms : std::nullopt});
    }
    if (begins) {
        store::remove_stat_note(hub);
    }
    return recorded;
}

}  // namespace

int64 record_stat_minutes(store::Tables& tables, pg::Clock* clock) {
    const store::Hub& hub = tables.hub;
    const int64 now = clock->now();
    const int64 retention = hub.options[store::Option::kStatRetention];
    if (!pg::try_lock_key(pg::LockSpace::kStatMinutes, hub.schema, 0)) {
        return 0;
    }
    if (retention <= 0) {
        if (!store::has_stat_note(hub)) {
            store::set_stat_note(hub);
        }
        return store::delete_stat_minutes(hub, PG_INT64_MAX, kMostDeleted) +
               store::delete_stat_marks(hub, kMostDeleted);
    }
    const int64 recorded =
        store::has_stat_minute(hub, now - now % kMinuteMs) ? 0 : record(tables, now);
    return recorded + store::delete_stat_minutes(hub, now - retention, kMostDeleted);
}

}  // namespace belay::ops
