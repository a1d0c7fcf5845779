// Functions of schema belay that show what belay is doing.
#include "ops/monitoring/monitoring.hpp"

#include "entry/call.hpp"
#include "pg/boundary.hpp"
#include "pg/wakeups.hpp"

using namespace belay;

BELAY_FUNCTION(belay_shared_memory) {
    const auto answer = entry::answer_rows(fcinfo);
    const auto counts = pg::count_waits();
    const Datum values[] = {Int64GetDatum(counts.waiters), Int64GetDatum(counts.channels),
                            Int64GetDatum(counts.leases)};
    const bool nulls[lengthof(values)] = {};
    answer.add(values, nulls);
    return 0;
}

BELAY_FUNCTION(belay_stat_queues) {
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& stats : ops::queue_stats()) {
        constexpr int kColumns = 2 + pg::kCounters + 4;
        Datum values[kColumns];
        bool nulls[kColumns] = {};
        values[0] = NameGetDatum(&stats.hub->name);
        values[1] = CStringGetTextDatum(pg::kCountedQueueNames[static_cast<int>(stats.queue)]);
        for (int i = 0; i < pg::kCounters; ++i) {
            values[2 + i] = Int64GetDatum(stats.counters[i]);
            nulls[2 + i] = !stats.counted;
        }
        int at = 2 + pg::kCounters;
        values[at++] = Int64GetDatum(stats.waiters);
        values[at++] = Int64GetDatum(stats.leases);
        nulls[at] = !stats.oldest_ready;
        values[at++] = Int64GetDatum(stats.oldest_ready.value_or(0));
        nulls[at] = !stats.counted;
        values[at] = TimestampTzGetDatum(stats.reset_at);
        answer.add(values, nulls);
    }
    return 0;
}

BELAY_FUNCTION(belay_metrics) {
    return CStringGetTextDatum(ops::metrics());
}

BELAY_FUNCTION(belay_stat_reset) {
    pg::reset_counts();
    PG_RETURN_VOID();
}
