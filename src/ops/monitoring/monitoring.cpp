// monitoring.cpp — counters and gauges of the queues of all hubs.
//
// Calls    counters::read, task_stats::read_all, wakeups::read_queue_uses,
// store::oldest_ready_message,
//          store::oldest_ready_work, store::oldest_ready_task, store::read_task_gauges
// Touches  nothing
// Locks    nothing
// Raises   nothing itself
#include "ops/monitoring/monitoring.hpp"

#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/grants.hpp"
#include "store/readiness.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

bool may_monitor(const store::Hub& hub) {
    return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) ||
           store::may_execute(hub, "get_system_metrics", GetUserId());
}

// Whether the hub has what is counted here. One of which a table was dropped by hand is left out,
// as check_hub reports to its owner: the other hubs are shown.
bool has_queues(const store::Hub& hub) {
    const store::Relations& tables = hub.relations;
    return OidIsValid(tables.worker_queue) && OidIsValid(tables.orchestrator_queue) &&
           OidIsValid(tables.instance_locks) && OidIsValid(tables.tasks) &&
           OidIsValid(tables.dead_letters) && OidIsValid(tables.outbox_events) &&
           OidIsValid(tables.outbox_subscriptions);
}

constexpr wakeups::Topic topic_of(counters::Queue queue) {
    switch (queue) {
        case counters::Queue::kOrchestrator:
            return wakeups::Topic::kOrchestrator;
        case counters::Queue::kTasks:
            return wakeups::Topic::kQueue;
        default:
            return wakeups::Topic::kWorker;
    }
}

std::optional<int64> oldest_ready(const store::Hub& hub, counters::Queue queue, int64 now) {
    const auto since = queue == counters::Queue::kOrchestrator
                           ? store::oldest_ready_message(hub, now)
                       : queue == counters::Queue::kTasks ? store::oldest_ready_task(hub, now)
                                                          : store::oldest_ready_work(hub, now);
    return since ? std::optional(now - *since) : std::nullopt;
}

// What only the tables know.
void look(const store::Hub& hub, std::span<QueueStats> queues, int64 now) {
    pg::as_role(hub.owner, [&hub, queues, now] {
        pg::with_spi([&hub, queues, now] {
            for (QueueStats& stats : queues) {
                stats.oldest_ready = oldest_ready(hub, stats.queue, now);
                if (stats.queue == counters::Queue::kTasks) {
                    // Leases of tasks are in their rows, and in an index.
                    const auto gauges = store::read_task_gauges(hub, now, kMostCounted);
                    stats.leases = gauges.leases;
                    stats.overdue = gauges.overdue;
                    stats.ready = gauges.ready;
                    stats.delayed = gauges.delayed;
                }
            }
        });
    });
}

// Calls visit(hub) for the hubs that the caller may monitor.
template <typename Visit>
void each_hub(Visit visit) {
    for (const Oid schema : store::all_hubs()) {
        const store::Hub* hub = store::find_hub(schema, true);
        if (hub != nullptr && may_monitor(*hub)) {
            visit(*hub);
        }
    }
}

}  // namespace

std::span<const TaskClassStats> task_class_stats() {
    pg::List<TaskClassStats> all;
    const auto rows = task_stats::read_all();
    each_hub([&all, rows](const store::Hub& hub) {
        for (const auto& row : task_stats::rows_of(rows, hub.schema)) {
            all.add({&hub, row});
        }
    });
    return all.span();
}

std::span<const Latency> latencies() {
    pg::List<Latency> all;
    const auto rows = task_stats::read_all();
    each_hub([&all, rows](const store::Hub& hub) {
        counters::HubCounts counts{};
        if (counters::read(hub.schema, &counts)) {
            for (const auto queue : {counters::Queue::kOrchestrator, counters::Queue::kWorker}) {
                for (int i = 0; i < counters::kDurations; ++i) {
                    all.add({&hub, queue, std::nullopt, static_cast<counters::Duration>(i),
                             counts.durations[static_cast<int>(queue)][i], counts.reset_at});
                }
            }
        }
        for (const auto& row : task_stats::rows_of(rows, hub.schema)) {
            for (int i = 0; i < counters::kDurations; ++i) {
                all.add({&hub, counters::Queue::kTasks, row.of, static_cast<counters::Duration>(i),
                         row.counts.durations[i], row.counts.reset_at});
            }
        }
    });
    return all.span();
}

std::span<const QueueStats> queue_stats() {
    pg::List<QueueStats> all;
    pg::List<wakeups::QueueUse> uses;
    const int64 now = pg::server_now_ms();
    for (const Oid schema : store::all_hubs()) {
        const store::Hub* hub = store::find_hub(schema, true);
        if (hub == nullptr || !may_monitor(*hub) || !has_queues(*hub)) {
            continue;
        }
        auto* counts = static_cast<counters::HubCounts*>(palloc(sizeof(counters::HubCounts)));
        const bool counted = counters::read(schema, counts);
        for (int i = 0; i < counters::kQueues; ++i) {
            const auto queue = static_cast<counters::Queue>(i);
            uses.add(
                {.hub = schema, .topic = topic_of(queue), .waiters = 0, .leases = 0, .overdue = 0});
            all.add({.hub = hub,
                     .queue = queue,
                     .counted = counted,
                     .counters = counts->values[i],
                     .durations = counts->durations[i],
                     .reset_at = counts->reset_at,
                     .waiters = 0,
                     .leases = 0,
                     .overdue = 0,
                     .ready = 0,
                     .delayed = 0,
                     .oldest_ready = std::nullopt,
                     .readable = true});
        }
    }
    wakeups::read_queue_uses({uses.items, static_cast<std::size_t>(uses.count)});
    for (int i = 0; i < all.count; ++i) {
        all.items[i].waiters = uses.items[i].waiters;
        all.items[i].leases = uses.items[i].leases;
        all.items[i].overdue = uses.items[i].overdue;
    }
    for (int first = 0; first < all.count;) {
        int end = first;
        while (end < all.count && all.items[end].hub == all.items[first].hub) {
            ++end;
        }
        const store::Hub& hub = *all.items[first].hub;
        const std::span queues{all.items + first, static_cast<std::size_t>(end - first)};
        if (!try_to_read(hub, [&hub, queues, now] { look(hub, queues, now); })) {
            for (QueueStats& stats : queues) {
                stats.oldest_ready = std::nullopt;
                stats.readable = false;
            }
        }
        first = end;
        CHECK_FOR_INTERRUPTS();
    }
    return all.span();
}

}  // namespace belay::ops
