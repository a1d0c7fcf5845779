// monitoring.cpp — counters and gauges of all hubs, and the same as OpenMetrics text.
//
// Calls    pg::read_counts, store::oldest_ready_message, store::oldest_ready_work,
//          store::oldest_ready_task
// Touches  nothing
// Locks    nothing
// Raises   nothing of its own
#include "ops/monitoring/monitoring.hpp"

#include "core/time.hpp"
#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "pg/wakeups.hpp"
#include "store/grants.hpp"
#include "store/readiness.hpp"
#include "store/task_reads.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

bool may_monitor(const store::Hub& hub) {
    return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) ||
           store::may_execute(hub, "get_system_metrics", GetUserId());
}

std::optional<int64> oldest_ready(const store::Hub& hub, pg::CountedQueue queue, int64 now) {
    const auto since = pg::as_role(hub.owner, [&hub, queue, now] {
        return pg::with_spi([&hub, queue, now] {
            return queue == pg::CountedQueue::kOrchestrator ? store::oldest_ready_message(hub, now)
                   : queue == pg::CountedQueue::kTasks      ? store::oldest_ready_task(hub, now)
                                                            : store::oldest_ready_work(hub, now);
        });
    });
    return since ? std::optional(now - *since) : std::nullopt;
}

// A label's value: quotes, backslashes and line ends are escaped.
void append_label(StringInfo out, const char* text) {
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\') {
            appendStringInfoChar(out, '\\');
            appendStringInfoChar(out, *text);
        } else if (*text == '\n') {
            appendStringInfoString(out, "\\n");
        } else {
            appendStringInfoChar(out, *text);
        }
    }
}

void append_sample(StringInfo out, const char* name, const QueueStats& stats) {
    appendStringInfo(out, "%s{hub=\"", name);
    append_label(out, NameStr(stats.hub->name));
    appendStringInfo(out, "\",queue=\"%s\"} ",
                     pg::kCountedQueueNames[static_cast<int>(stats.queue)]);
}

void append_family(StringInfo out, const char* name, const char* type, const char* help) {
    appendStringInfo(out, "# TYPE belay_%s %s\n# HELP belay_%s %s\n", name, type, name, help);
}

constexpr const char* kCounterHelp[pg::kCounters] = {
    "Items and messages added.",
    "Items and turns leased.",
    "Fetches that found nothing.",
    "Leases finished.",
    "Leases given back.",
    "Leases renewed.",
    "Calls that came after their lease was over.",
    "Leases that ended without an ack, as far as shared memory knew them.",
    "Items and messages set aside.",
    "Waiting sessions that were woken.",
};

}  // namespace

std::span<const QueueStats> queue_stats() {
    pg::List<QueueStats> all;
    const int64 now = pg::server_now_ms();
    for (const Oid schema : store::all_hubs()) {
        const store::Hub* hub = store::find_hub(schema, true);
        if (hub == nullptr || !may_monitor(*hub) ||
            !OidIsValid(hub->relations.instance_locks)) {  // made by an older release
            continue;
        }
        auto* counts = static_cast<pg::HubCounts*>(palloc(sizeof(pg::HubCounts)));
        const bool counted = pg::read_counts(schema, counts);
        for (int i = 0; i < pg::kCountedQueues; ++i) {
            const auto queue = static_cast<pg::CountedQueue>(i);
            if (queue == pg::CountedQueue::kTasks && !OidIsValid(hub->relations.tasks)) {
                continue;  // made by an older release
            }
            const auto use = pg::channel_use(
                queue == pg::CountedQueue::kOrchestrator ? store::orchestrator_channel(*hub)
                : queue == pg::CountedQueue::kTasks      ? store::all_lanes_channel(*hub)
                                                         : store::worker_channel(*hub));
            all.add({.hub = hub,
                     .queue = queue,
                     .counted = counted,
                     .counters = counts->values[i],
                     .reset_at = counts->reset_at,
                     .waiters = use.waiters,
                     .leases = use.leases,
                     .oldest_ready = oldest_ready(*hub, queue, now)});
        }
        CHECK_FOR_INTERRUPTS();
    }
    return all.span();
}

const char* metrics() {
    const auto all = queue_stats();
    StringInfo out = makeStringInfo();
    for (int counter = 0; counter < pg::kCounters; ++counter) {
        append_family(out, pg::kCounterNames[counter], "counter", kCounterHelp[counter]);
        for (const auto& stats : all) {
            append_sample(out, psprintf("belay_%s_total", pg::kCounterNames[counter]), stats);
            appendStringInfo(out, INT64_FORMAT "\n", stats.counters[counter]);
        }
    }
    append_family(out, "waiters", "gauge", "Sessions that wait for work.");
    for (const auto& stats : all) {
        append_sample(out, "belay_waiters", stats);
        appendStringInfo(out, INT64_FORMAT "\n", stats.waiters);
    }
    append_family(out, "leases", "gauge", "Leases whose end shared memory knows.");
    for (const auto& stats : all) {
        append_sample(out, "belay_leases", stats);
        appendStringInfo(out, INT64_FORMAT "\n", stats.leases);
    }
    append_family(out, "oldest_ready_seconds", "gauge",
                  "How long the oldest item has been ready and free; 0 if there is none.");
    for (const auto& stats : all) {
        append_sample(out, "belay_oldest_ready_seconds", stats);
        appendStringInfo(out, "%.3f\n",
                         static_cast<double>(stats.oldest_ready.value_or(0)) / 1000.0);
    }
    appendStringInfoString(out, "# EOF\n");
    return out->data;
}

}  // namespace belay::ops
