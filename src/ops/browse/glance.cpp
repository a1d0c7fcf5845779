// glance.cpp — the numbers of an overview in one call, who has leases, a search by ids.
//
// Calls    store::task_queues and the other functions of store/glance, counters::read,
//          task_stats::read, wakeups::read_queue_uses, registry::live_workers
// Touches  nothing
// Locks    nothing
// Raises   QB006
// Races    none: queries with the caller's snapshot
// Faults   none: it only reads
#include "ops/browse/glance.hpp"

#include <algorithm>

#include "ops/input.hpp"
#include "ops/monitoring/monitoring.hpp"
#include "pg/clock.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "shmem/counters.hpp"
#include "shmem/registry.hpp"
#include "shmem/task_stats.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/hub_row.hpp"
#include "store/readiness.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

constexpr int64 kMostQueues = 200;
constexpr int64 kMostErrors = 100;
constexpr int64 kHourMs = 3600 * 1000;

// A JSON text that is written member by member.
struct Writer {
    StringInfo out = makeStringInfo();
    bool first = true;

    void separate() {
        if (!first) {
            appendStringInfoString(out, ", ");
        }
        first = false;
    }
    void key(const char* name) {
        separate();
        appendStringInfo(out, "\"%s\": ", name);
    }
    void open(char bracket) {
        appendStringInfoChar(out, bracket);
        first = true;
    }
    void close(char bracket) {
        appendStringInfoChar(out, bracket);
        first = false;
    }
    void number(const char* name, int64 value) {
        key(name);
        appendStringInfo(out, INT64_FORMAT, value);
    }
    void number(const char* name, std::optional<int64> value) {
        if (value) {
            number(name, *value);
        } else {
            null(name);
        }
    }
    void real(const char* name, std::optional<double> value) {
        key(name);
        appendStringInfoString(out, value ? psprintf("%.15g", *value) : "null");
    }
    void flag(const char* name, bool value) {
        key(name);
        appendStringInfoString(out, value ? "true" : "false");
    }
    void text(const char* name, std::string_view value) {
        key(name);
        append_json(out, value);
    }
    void null(const char* name) {
        key(name);
        appendStringInfoString(out, "null");
    }
    void count(const char* name, int64 value, bool capped) {
        key(name);
        appendStringInfo(out, "{\"n\": " INT64_FORMAT ", \"capped\": %s}", value,
                         capped ? "true" : "false");
    }
};

void write_counters(Writer* json, const int64* counts) {
    json->key("counters");
    json->open('{');
    for (int i = 0; i < counters::kCounters; ++i) {
        json->number(counters::kCounterNames[i], counts[i]);
    }
    json->close('}');
}

// How long things took, as counts of the buckets whose upper bounds duration_bounds_ms lists; the
// last bucket has none.
void write_durations(Writer* json, const counters::DurationCounts* durations) {
    json->key("durations");
    json->open('{');
    for (int i = 0; i < counters::kDurations; ++i) {
        json->key(counters::kDurationNames[i]);
        json->open('{');
        json->number("sum_ms", durations[i].sum_ms);
        json->key("buckets");
        json->open('[');
        for (const int64 count : durations[i].buckets) {
            json->separate();
            appendStringInfo(json->out, INT64_FORMAT, count);
        }
        json->close(']');
        json->close('}');
    }
    json->close('}');
}

void write_bounds(Writer* json) {
    json->key("duration_bounds_ms");
    json->open('[');
    for (const int64 bound : core::kDurationBounds) {
        json->separate();
        appendStringInfo(json->out, INT64_FORMAT, bound);
    }
    json->close(']');
}

// What happened to the tasks of a queue, of all kinds, as shared memory knows; null if it knows
// nothing of them.
void write_task_counts(Writer* json, std::span<const task_stats::Row> rows,
                       std::string_view queue) {
    task_stats::Counts counts{};
    bool any = false;
    for (auto row = std::lower_bound(
             rows.begin(), rows.end(), queue,
             [](const task_stats::Row&one, std::string_view name) { return one.of.queue < name; });
         row != rows.end() && row->of.queue == queue; ++row) {
        counts.add(row->counts);
        any = true;
    }
    if (!any) {
        json->null("counters");
        json->null("durations");
        return;
    }
    json->key("counters");
    json->open('{');
    for (int i = 0; i < task_stats::kCounters; ++i) {
        json->number(task_stats::kCounterNames[i], counts.values[i]);
    }
    json->close('}');
    write_durations(json, counts.durations);
}

// The tasks of all queues that are shown.
struct TaskSums {
    int64 ready = 0;
    int64 delayed = 0;
    int64 active = 0;
    int64 overdue = 0;
    bool ready_capped = false;
    bool delayed_capped = false;
    bool active_capped = false;
};

// What shared memory knows of the queues, and how much is in them.
void write_queues(Writer* json, const store::Hub& hub, const TaskSums& tasks, int64 now,
                  int64 cap) {
    counters::HubCounts counts{};
    const bool counted = counters::read(hub.schema, &counts);
    wakeups::QueueUse uses[] = {
        {hub.schema, wakeups::Topic::kOrchestrator, 0, 0, 0},
        {hub.schema, wakeups::Topic::kWorker, 0, 0, 0},
        {hub.schema, wakeups::Topic::kQueue, 0, 0, 0},
    };
    wakeups::read_queue_uses(uses);
    const auto messages = store::message_depth(hub, now, cap);
    const auto work = store::work_depth(hub, now, cap);
    const std::optional<int64> oldest[] = {store::oldest_ready_message(hub, now),
                                           store::oldest_ready_work(hub, now),
                                           store::oldest_ready_task(hub, now)};
    const int64 ready[] = {messages.ready, work.ready, tasks.ready};
    const int64 waiting[] = {messages.waiting, work.waiting, tasks.delayed};
    const int64 leased[] = {uses[0].leases, work.leased, tasks.active};
    const int64 overdue[] = {uses[0].overdue, uses[1].overdue, tasks.overdue};
    const bool capped[] = {messages.capped, work.capped, tasks.ready_capped};
    json->key("queues");
    json->open('[');
    for (int i = 0; i < counters::kQueues; ++i) {
        json->separate();
        json->open('{');
        json->text("queue", counters::kQueueNames[i]);
        json->count("ready", ready[i], capped[i]);
        json->count("waiting", waiting[i], i < 2 ? capped[i] : tasks.delayed_capped);
        json->count("leased", leased[i], i == 2 ? tasks.active_capped : i == 1 && work.capped);
        json->number("overdue", overdue[i]);
        json->number("waiters", uses[i].waiters);
        json->number("oldest_ms", oldest[i] ? std::optional(now - *oldest[i]) : std::nullopt);
        if (counted) {
            write_counters(json, counts.values[i]);
            write_durations(json, counts.durations[i]);
        } else {
            json->null("counters");
            json->null("durations");
        }
        json->close('}');
    }
    json->close(']');
    write_bounds(json);
}

// Who paused a queue and when, from the events of operators; null if they do not say.
void write_pause(Writer* json, std::optional<std::string_view> by, std::optional<int64> at) {
    if (by) {
        json->text("paused_by", *by);
    } else {
        json->null("paused_by");
    }
    json->number("paused_at_ms", at);
}

TaskSums write_task_queues(Writer* json, store::Tables& tables, int64 now, int64 cap) {
    TaskSums sums;
    json->key("task_queues");
    json->open('[');
    // One more than is shown: whether there are more.
    const auto rows = store::task_queues(tables, now, cap, kMostQueues + 1);
    const auto counted = task_stats::read(tables.hub.schema);
    int64 shown = 0;
    for (const auto [name, paused, ready, delayed, blocked, active, suspended, overdue, oldest,
                     concurrency, rate, burst, owners, capped, by, at] : rows) {
        if (++shown > kMostQueues) {
            break;
        }
        const auto stopped = [&counts = capped](std::string_view count) {
            for (const auto one : counts) {
                if (one == count) {
                    return true;
                }
            }
            return false;
        };
        sums.ready += ready;
        sums.delayed += delayed;
        sums.active += active;
        sums.overdue += overdue;
        sums.ready_capped |= stopped("ready");
        sums.delayed_capped |= stopped("delayed");
        sums.active_capped |= stopped("active");
        json->separate();
        json->open('{');
        json->text("queue", name);
        json->flag("paused", paused);
        write_pause(json, by, at);
        json->count("ready", ready, stopped("ready"));
        json->count("delayed", delayed, stopped("delayed"));
        json->count("active", active, stopped("active"));
        json->count("suspended", suspended, stopped("suspended"));
        json->count("blocked", blocked, stopped("blocked"));
        json->count("overdue", overdue, stopped("active"));
        json->number("oldest_ms", oldest);
        json->number("owners", owners);
        json->number("concurrency", concurrency);
        json->real("rate_per_s", rate);
        json->real("burst", burst);
        write_task_counts(json, counted, name);
        json->close('}');
    }
    json->close(']');
    const bool more = shown > kMostQueues;
    json->flag("task_queues_more", more);
    sums.ready_capped |= more;
    sums.delayed_capped |= more;
    sums.active_capped |= more;
    return sums;
}

void write_dead_letters(Writer* json, const store::Hub& hub, int64 cap) {
    const auto groups = store::dead_letter_groups(hub, cap);
    int64 sum = 0;
    for (const auto [queue, reason, count, newest] : groups) {
        sum += count;
    }
    json->key("dead_letters");
    json->open('[');
    for (const auto [queue, reason, count, newest] : groups) {
        json->separate();
        json->open('{');
        json->text("queue", queue);
        json->text("reason", reason);
        json->count("count", count, sum >= cap);
        json->number("newest_ms", newest.value);
        json->close('}');
    }
    json->close(']');
}

void write_counts(Writer* json, const store::Hub& hub, int64 now, int64 cap) {
    const auto ended = store::failed_since(hub, now - kHourMs, cap);
    json->count("failed_last_hour", ended.failed.count, ended.failed.capped);
    json->count("expired_last_hour", ended.expired.count, ended.expired.capped);
    const auto running = store::count_running(hub, cap);
    json->count("running_instances", running.count, running.capped);
    const auto intents = store::count_intents(hub, cap);
    json->count("intents_waiting", intents.count, intents.capped);
}

void write_readers(Writer* json, const store::Hub& hub, int64 now, int64 cap) {
    json->key("schedules_with_errors");
    json->open('[');
    for (const auto [name, error] : store::schedule_errors(hub, kMostErrors)) {
        json->separate();
        json->open('{');
        json->text("name", name);
        json->text("error", error);
        json->close('}');
    }
    json->close(']');
    json->key("subscriptions");
    json->open('[');
    for (const auto [name, events, capped, lag] : store::subscription_lags(hub, now, cap)) {
        json->separate();
        json->open('{');
        json->text("name", name);
        json->count("lag", events, capped);
        json->number("lag_ms", lag);
        json->close('}');
    }
    json->close(']');
    json->key("paused");
    json->open('[');
    for (const auto [queue, reason, by, at] : store::paused_queues(hub)) {
        json->separate();
        json->open('{');
        json->text("queue", queue);
        json->text("reason", reason);
        write_pause(json, by, at);
        json->close('}');
    }
    json->close(']');
}

// The background worker of the database, and what keeps dead rows.
void write_server(Writer* json, const store::Hub& hub, int64 now) {
    std::optional<int64> last_loop;
    for (const auto& slot : registry::live_workers()) {
        if (slot.database == MyDatabaseId && slot.state != registry::WorkerState::kStuck &&
            slot.last_loop_at != 0) {
            last_loop = now - core::pg_us_to_ms(slot.last_loop_at);
        }
    }
    json->number("worker_loop_age_ms", last_loop);
    const auto snapshot = store::oldest_snapshot(hub);
    json->key("oldest_snapshot");
    if (snapshot.count == 0) {
        appendStringInfoString(json->out, "null");
    } else {
        const auto [pid, age] = snapshot[0];
        appendStringInfo(json->out, "{\"pid\": %d, \"age_ms\": " INT64_FORMAT "}", pid, age);
    }
    json->key("estimates");
    json->open('{');
    for (const auto [table, rows] : store::row_estimates(hub)) {
        json->number(pg::c_string(table), rows);
    }
    json->close('}');
}

int64 checked_budget(const char* path, std::optional<int32> value) {
    const int64 number = value.value_or(10000);
    if (number < 100 || number > 100000) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be from 100 to 100000", path),
                  pg::Facts("out_of_range").add("path", path).add("value", number),
                  "Leave it out for the default of 10000.");
    }
    return number;
}

}  // namespace

int64 checked_cap(std::optional<int32> value) {
    return checked_budget("p_cap", value);
}

Jsonb* glance(store::Tables& tables, int64 cap) {
    const store::Hub& hub = tables.hub;
    const int64 now = pg::server_now_ms();
    Writer json;
    json.open('{');
    json.number("at_ms", now);
    json.number("hub_version", hub.version);
    const TaskSums tasks = write_task_queues(&json, tables, now, cap);
    write_queues(&json, hub, tasks, now, cap);
    write_dead_letters(&json, hub, cap);
    write_counts(&json, hub, now, cap);
    write_readers(&json, hub, now, cap);
    write_server(&json, hub, now);
    json.close('}');
    return DatumGetJsonbP(
        pg::jsonb_datum({json.out->data, static_cast<std::size_t>(json.out->len)}));
}

store::TaskQueueRows list_queues(store::Tables& tables, int64 cap) {
    return store::task_queues(tables, pg::server_now_ms(), cap, kMostQueues);
}

Jsonb* list_owners(store::Tables& tables, std::optional<std::string_view> after,
                   std::optional<int32> limit, std::optional<int32> scan) {
    const int64 most = checked_limit("p_limit", limit, 100, 1000);
    return store::list_owners(tables, pg::server_now_ms(),
                              {.after = after,
                               .limit = std::max<int64>(1, most),
                               .scan = checked_budget("p_scan", scan)});
}

store::Listing find(store::Tables& tables, std::string_view text) {
    return store::find(tables, text, parse_uuid(text));
}

}  // namespace belay::ops
