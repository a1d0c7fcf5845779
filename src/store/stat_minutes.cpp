// Tables stat_minutes and stat_marks.
//
// Touches  <hub>.stat_minutes, <hub>.stat_marks
// Locks    the rows that it changes; pg::LockSpace::kStatMinutes, which the duty holds, keeps other
//          writers away
#include "store/stat_minutes.hpp"

#include <algorithm>

#include "store/sparse.hpp"

namespace belay::store {

namespace {

constexpr auto kReadMarks = statement<In<>, Out<Text, Text, int64, ListOf<int64>>>(R"sql(
    SELECT m.queue, m.task_queue, m.counted_since, m.numbers
      FROM {hub}.stat_marks AS m
     WHERE m.queue {=} ANY (ARRAY['orchestrator', 'worker', 'tasks'])
)sql");

constexpr auto kWriteMark = statement<In<Text, Text, int64, ListOf<int64>>, Out<>>(R"sql(
    INSERT INTO {hub}.stat_marks AS m (queue, task_queue, counted_since, numbers)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (queue, task_queue)
    DO UPDATE SET counted_since = EXCLUDED.counted_since, numbers = EXCLUDED.numbers
)sql");

constexpr auto kHasNote = statement<In<>, Out<int32>>(R"sql(
    SELECT 1 FROM {hub}.stat_marks AS m WHERE m.queue {=} 'off'
)sql");

constexpr auto kSetNote = statement<In<>, Out<>>(R"sql(
    INSERT INTO {hub}.stat_marks (queue, task_queue, counted_since, numbers)
    VALUES ('off', '', 0, CAST(ARRAY[] AS pg_catalog.int8[]))
    ON CONFLICT (queue, task_queue) DO NOTHING
)sql");

constexpr auto kRemoveNote = statement<In<>, Out<>>(R"sql(
    DELETE FROM {hub}.stat_marks AS m WHERE m.queue {=} 'off'
)sql");

constexpr auto kDeleteMarks = statement<In<int64>, Out<>>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.queue, m.task_queue
          FROM {hub}.stat_marks AS m
         WHERE m.queue {=} ANY (ARRAY['orchestrator', 'worker', 'tasks'])
         LIMIT $1
    )
    DELETE FROM {hub}.stat_marks AS m
     USING c
     WHERE m.queue {=} c.queue AND m.task_queue {=} c.task_queue
)sql");

constexpr auto kHasMinute = statement<In<int64>, Out<int32>>(R"sql(
    SELECT 1 FROM {hub}.stat_minutes AS m WHERE m.minute_ms {=} $1 LIMIT 1
)sql");

constexpr auto kInsertMinute = statement<In<Text, Text, int64, ListOf<int64>, ListOf<int32>, int64,
                                            ListOf<int32>, int64, Maybe<int64>, Maybe<int64>>,
                                         Out<>>(R"sql(
    INSERT INTO {hub}.stat_minutes
           (queue, task_queue, minute_ms, counts, wait_buckets, wait_sum_ms, run_buckets,
            run_sum_ms, depth, oldest_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
)sql");

constexpr auto kDeleteMinutes = statement<In<int64, int64>, Out<>>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.queue, m.task_queue, m.minute_ms
          FROM {hub}.stat_minutes AS m
         WHERE m.minute_ms {<} $1
         ORDER BY m.minute_ms
         LIMIT $2
    )
    DELETE FROM {hub}.stat_minutes AS m
     USING c
     WHERE m.queue {=} c.queue AND m.task_queue {=} c.task_queue AND m.minute_ms {=} c.minute_ms
)sql");

constexpr auto kReadMinutes = query<In<Text, Text, int64, int64>, StatMinuteRows>(R"sql(
    SELECT m.minute_ms, m.counts, m.wait_buckets, m.wait_sum_ms, m.run_buckets, m.run_sum_ms,
           m.depth, m.oldest_ms
      FROM {hub}.stat_minutes AS m
     WHERE m.queue {=} $1 AND m.task_queue {=} $2 AND m.minute_ms {>=} $3 AND m.minute_ms {<} $4
     ORDER BY m.queue, m.task_queue, m.minute_ms
)sql");

std::string_view name_of(counters::Queue queue) {
    return counters::kQueueNames[static_cast<int>(queue)];
}

counters::Queue queue_of(std::string_view name) {
    for (int i = 0; i < counters::kQueues; ++i) {
        if (name == counters::kQueueNames[i]) {
            return static_cast<counters::Queue>(i);
        }
    }
    elog(ERROR, "unrecognized queue in table stat_marks");
    pg_unreachable();
}

// A duration of the numbers: its buckets, as far as they fit, and its sum.
struct Buckets {
    int32 values[core::kDurationBuckets];
    int64 sum_ms;
};
Buckets buckets_of(const StatNumbers& numbers, counters::Duration duration) {
    const int64* from =
        numbers.values + task_stats::kCounters + static_cast<int>(duration) * kStatDuration;
    Buckets buckets{};
    for (int i = 0; i < core::kDurationBuckets; ++i) {
        buckets.values[i] = static_cast<int32>(std::min<int64>(from[i], PG_INT32_MAX));
    }
    buckets.sum_ms = from[core::kDurationBuckets];
    return buckets;
}

}  // namespace

std::span<const StatMark> read_stat_marks(const Hub& hub) {
    if (!may_have_rows(hub, Sparse::kStatMarks)) {
        return {};
    }
    return run(hub, kReadMarks)
        .collect([](Text queue, Text task_queue, int64 since, ListOf<int64> numbers) {
            StatMark mark{{queue_of(queue), task_queue}, since, {}};
            std::copy_n(numbers.begin(),
                        std::min<std::size_t>(numbers.size(), std::size(mark.numbers.values)),
                        mark.numbers.values);
            return mark;
        });
}

void write_stat_mark(const Hub& hub, const StatMark& mark) {
    run(hub, kWriteMark, name_of(mark.source.queue), mark.source.task_queue, mark.counted_since,
        ListOf<int64>(mark.numbers.values));
}

bool has_stat_note(const Hub& hub) {
    return may_have_rows(hub, Sparse::kStatMarks) && run_any(hub, kHasNote);
}

void set_stat_note(const Hub& hub) {
    run(hub, kSetNote);
}

void remove_stat_note(const Hub& hub) {
    run(hub, kRemoveNote);
}

int64 delete_stat_marks(const Hub& hub, int64 limit) {
    return may_have_rows(hub, Sparse::kStatMarks) ? run(hub, kDeleteMarks, limit).changed() : 0;
}

bool has_stat_minute(const Hub& hub, int64 minute_ms) {
    return may_have_rows(hub, Sparse::kStatMinutes) && run_any(hub, kHasMinute, minute_ms);
}

void insert_stat_minute(const Hub& hub, const StatMinute& minute) {
    const Buckets wait = buckets_of(minute.numbers, counters::Duration::kWait);
    const Buckets ran = buckets_of(minute.numbers, counters::Duration::kRun);
    run(hub, kInsertMinute, name_of(minute.source.queue), minute.source.task_queue,
        minute.minute_ms, ListOf<int64>(minute.numbers.values, task_stats::kCounters),
        ListOf<int32>(wait.values), wait.sum_ms, ListOf<int32>(ran.values), ran.sum_ms,
        minute.depth, minute.oldest_ms);
}

int64 delete_stat_minutes(const Hub& hub, int64 before_ms, int64 limit) {
    return may_have_rows(hub, Sparse::kStatMinutes)
               ? run(hub, kDeleteMinutes, before_ms, limit).changed()
               : 0;
}

StatMinuteRows read_stat_minutes(const Hub& hub, const StatSource& source, int64 from_ms,
                                 int64 to_ms) {
    return run(hub, kReadMinutes, name_of(source.queue), source.task_queue, from_ms, to_ms);
}

}  // namespace belay::store
