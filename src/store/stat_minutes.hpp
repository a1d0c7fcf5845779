// Tables stat_minutes and stat_marks: what happened per minute, and up to where it was recorded.
#pragma once

#include "core/histogram.hpp"
#include "pg/pg.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// What is counted: the messages, the work items or all tasks of a hub, or the tasks of one queue.
struct StatSource {
    counters::Queue queue;
    std::string_view task_queue;  // empty: all
};

// Numbers of a source: the counters, then the buckets and the sum of each duration.
inline constexpr int kStatDuration = core::kDurationBuckets + 1;
inline constexpr int kStatNumbers = task_stats::kCounters + counters::kDurations * kStatDuration;
struct StatNumbers {
    int64 values[kStatNumbers];
};

// Up to where a source was recorded. counted_since distinguishes the lives of a counter: after a
// restart or a reset it begins at 0 again.
struct StatMark {
    StatSource source;
    int64 counted_since;
    StatNumbers numbers;
};
std::span<const StatMark> read_stat_marks(const Hub& hub);
void write_stat_mark(const Hub& hub, const StatMark& mark);

// While nothing is recorded a note takes the place of all marks.
bool has_stat_note(const Hub& hub);
void set_stat_note(const Hub& hub);
void remove_stat_note(const Hub& hub);
// Deletes up to limit marks; the note stays.
int64 delete_stat_marks(const Hub& hub, int64 limit);

// Whether something was recorded in that minute.
bool has_stat_minute(const Hub& hub, int64 minute_ms);

// What has happened in a minute; how much was ready at its end, and for how long the oldest.
struct StatMinute {
    StatSource source;
    int64 minute_ms;
    StatNumbers numbers;
    std::optional<int64> depth;
    std::optional<int64> oldest_ms;
};
void insert_stat_minute(const Hub& hub, const StatMinute& minute);
// Deletes up to limit rows of minutes before that one.
int64 delete_stat_minutes(const Hub& hub, int64 before_ms, int64 limit);

// The minutes of a source from one to before another, in order.
using StatMinuteRows = Out<int64, ListOf<int64>, ListOf<int32>, int64, ListOf<int32>, int64,
                           Maybe<int64>, Maybe<int64>>;
StatMinuteRows read_stat_minutes(const Hub& hub, const StatSource& source, int64 from_ms,
                                 int64 to_ms);

}  // namespace belay::store
