// Functions of schema belay that show what belay is doing.
#include "ops/monitoring/monitoring.hpp"

#include "entry/call.hpp"
#include "pg/boundary.hpp"
#include "pg/datum.hpp"
#include "shmem/wakeups/wakeups.hpp"

using namespace belay;

BELAY_FUNCTION(belay_shared_memory) {
    const auto answer = entry::answer_rows(fcinfo);
    const auto counts = wakeups::count_waits();
    const Datum values[] = {Int64GetDatum(counts.waiters), Int64GetDatum(counts.channels),
                            Int64GetDatum(counts.leases), Int64GetDatum(counters::used_slots()),
                            Int64GetDatum(task_stats::used_slots())};
    const bool nulls[lengthof(values)] = {};
    answer.add(values, nulls);
    return 0;
}

BELAY_FUNCTION(belay_stat_queues) {
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& stats : ops::queue_stats()) {
        // Counters that came later stand behind the gauges.
        constexpr int kFirstCounters = static_cast<int>(counters::Counter::kFailed);
        constexpr int kColumns = 2 + counters::kCounters + 4;
        Datum values[kColumns];
        bool nulls[kColumns] = {};
        values[0] = NameGetDatum(&stats.hub->name);
        values[1] = CStringGetTextDatum(counters::kQueueNames[static_cast<int>(stats.queue)]);
        int at = 2;
        const auto add_counters = [&](int from, int to) {
            for (int i = from; i < to; ++i) {
                nulls[at] = !stats.counted;
                values[at++] = Int64GetDatum(stats.counters[i]);
            }
        };
        add_counters(0, kFirstCounters);
        values[at++] = Int64GetDatum(stats.waiters);
        values[at++] = Int64GetDatum(stats.leases);
        nulls[at] = !stats.oldest_ready;
        values[at++] = Int64GetDatum(stats.oldest_ready.value_or(0));
        nulls[at] = !stats.counted;
        values[at++] = TimestampTzGetDatum(stats.reset_at);
        add_counters(kFirstCounters, counters::kCounters);
        answer.add(values, nulls);
    }
    return 0;
}

namespace {

// The bound of the bucket in which this share of the durations has ended; none if there are no
// durations, or if that bucket has no bound.
std::optional<int64> percentile(const counters::DurationCounts& counts, int64 count, int percent) {
    int64 seen = 0;
    for (std::size_t i = 0; count > 0 && i < core::kDurationBounds.size(); ++i) {
        seen += counts.buckets[i];
        if (seen * 100 >= count * percent) {
            return core::kDurationBounds[i];
        }
    }
    return std::nullopt;
}

}  // namespace

BELAY_FUNCTION(belay_stat_task_queues) {
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& [hub, row] : ops::task_class_stats()) {
        Datum values[3 + task_stats::kCounters + 1];
        const bool nulls[lengthof(values)] = {};
        values[0] = NameGetDatum(&hub->name);
        values[1] = pg::text_datum(row.of.queue);
        values[2] = pg::text_datum(row.of.kind);
        for (int i = 0; i < task_stats::kCounters; ++i) {
            values[3 + i] = Int64GetDatum(row.counts.values[i]);
        }
        values[3 + task_stats::kCounters] = TimestampTzGetDatum(row.counts.reset_at);
        answer.add(values, nulls);
    }
    return 0;
}

BELAY_FUNCTION(belay_stat_latency) {
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& latency : ops::latencies()) {
        int64 count = 0;
        for (const int64 bucket : latency.counts.buckets) {
            count += bucket;
        }
        Datum values[12];
        bool nulls[lengthof(values)] = {};
        values[0] = NameGetDatum(&latency.hub->name);
        values[1] = CStringGetTextDatum(counters::kQueueNames[static_cast<int>(latency.queue)]);
        nulls[2] = !latency.of;
        nulls[3] = !latency.of;
        values[2] = latency.of ? pg::text_datum(latency.of->queue) : 0;
        values[3] = latency.of ? pg::text_datum(latency.of->kind) : 0;
        values[4] =
            CStringGetTextDatum(counters::kDurationNames[static_cast<int>(latency.duration)]);
        values[5] = Int64GetDatum(count);
        values[6] = Int64GetDatum(latency.counts.sum_ms);
        int at = 7;
        for (const int percent : {50, 95, 99}) {
            const auto bound = percentile(latency.counts, count, percent);
            nulls[at] = !bound;
            values[at++] = Int64GetDatum(bound.value_or(0));
        }
        values[at++] = pg::int8_array_datum(latency.counts.buckets);
        values[at] = TimestampTzGetDatum(latency.reset_at);
        answer.add(values, nulls);
    }
    return 0;
}

BELAY_FUNCTION(belay_metrics) {
    const char* format = PG_ARGISNULL(0) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(0));
    if (strcmp(format, "openmetrics") == 0) {
        return CStringGetTextDatum(ops::metrics(ops::MetricsFormat::kOpenMetrics));
    }
    if (strcmp(format, "prometheus") == 0) {
        return CStringGetTextDatum(ops::metrics(ops::MetricsFormat::kPrometheus));
    }
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("unrecognized format of metrics \"%s\"", format),
                    errhint("The formats are openmetrics and prometheus.")));
}

BELAY_FUNCTION(belay_stat_reset) {
    counters::reset();
    PG_RETURN_VOID();
}
