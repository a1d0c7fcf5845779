// Functions of schema belay that show what belay is doing.
#include "ops/monitoring/monitoring.hpp"

#include "entry/call.hpp"
#include "pg/boundary.hpp"
#include "shmem/wakeups/wakeups.hpp"

using namespace belay;

BELAY_FUNCTION(belay_shared_memory) {
    const auto answer = entry::answer_rows(fcinfo);
    const auto counts = wakeups::count_waits();
    const Datum values[] = {Int64GetDatum(counts.waiters), Int64GetDatum(counts.channels),
                            Int64GetDatum(counts.leases), Int64GetDatum(counters::used_slots())};
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
