// metrics.cpp — what Prometheus wants to know, as text.
//
// Calls    queue_stats, store::count_messages, store::count_work, store::count_dead_letters,
//          store::count_schedule_errors, store::reader_lags, registry::live_workers,
//          registry::quarantined_hubs
// Touches  nothing
// Locks    nothing
// Raises   nothing itself
#include "core/version.hpp"
#include "ops/duties/duties.hpp"
#include "ops/monitoring/monitoring.hpp"
#include "pg/clock.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "shmem/registry.hpp"
#include "store/readiness.hpp"

namespace belay::ops {

namespace {

constexpr double kMsPerSecond = 1000.0;

// A label of a sample; null name: none.
struct Label {
    const char* name;
    const char* value;
};

class Text {
 public:
    explicit Text(MetricsFormat format) : out_(makeStringInfo()), format_(format) {
        database_ = get_database_name(MyDatabaseId);
    }

    // Announces a family. Counters are named without _total.
    void family(const char* name, const char* type, const char* help) {
        const bool open = format_ == MetricsFormat::kOpenMetrics;
        const bool counter = strcmp(type, "counter") == 0;
        suffix_ = counter ? "_total" : "";
        name_ = name;
        const char* announced = psprintf("belay_%s%s", name, counter && !open ? "_total" : "");
        appendStringInfo(out_, "# HELP %s %s\n# TYPE %s %s\n", announced, help, announced, type);
    }

    void sample(double value, Label first = {}, Label second = {}, Label third = {}) {
        add(suffix_, value, {first, second, third, {}});
    }

    // The samples of a histogram of durations.
    void histogram(const counters::DurationCounts& counts, Label first, Label second,
                   Label third = {}) {
        int64 sum = 0;
        for (int i = 0; i < core::kDurationBuckets; ++i) {
            sum += counts.buckets[i];
            const char* bound =
                i + 1 == core::kDurationBuckets
                    ? "+Inf"
                    : float_text(
                          static_cast<double>(core::kDurationBounds[static_cast<std::size_t>(i)]) /
                          kMsPerSecond);
            add("_bucket", static_cast<double>(sum), {first, second, third, {"le", bound}});
        }
        add("_sum", static_cast<double>(counts.sum_ms) / kMsPerSecond, {first, second, third, {}});
        add("_count", static_cast<double>(sum), {first, second, third, {}});
    }

    const char* end() {
        if (format_ == MetricsFormat::kOpenMetrics) {
            appendStringInfoString(out_, "# EOF");
        } else if (out_->len > 0) {
            out_->data[--out_->len] = '\0';
        }
        return out_->data;
    }

 private:
    struct Labels {
        Label first;
        Label second;
        Label third;
        Label fourth;
    };

    // As OpenMetrics writes the bounds of buckets: always with a point.
    static const char* float_text(double value) {
        const char* text = psprintf("%g", value);
        return strpbrk(text, ".e") != nullptr ? text : psprintf("%s.0", text);
    }

    void add_label(const Label& label) {
        if (label.name == nullptr) {
            return;
        }
        appendStringInfo(out_, ",%s=\"", label.name);
        for (const char* c = label.value; *c != '\0'; ++c) {
            if (*c == '"' || *c == '\\') {
                appendStringInfoChar(out_, '\\');
                appendStringInfoChar(out_, *c);
            } else if (*c == '\n') {
                appendStringInfoString(out_, "\\n");
            } else {
                appendStringInfoChar(out_, *c);
            }
        }
        appendStringInfoChar(out_, '"');
    }

    void add(const char* suffix, double value, const Labels& labels) {
        appendStringInfo(out_, "belay_%s%s{", name_, suffix);
        const int start = out_->len;
        add_label({"database", database_});
        add_label(labels.first);
        add_label(labels.second);
        add_label(labels.third);
        add_label(labels.fourth);
        // The comma before the first label.
        memmove(out_->data + start, out_->data + start + 1, static_cast<Size>(out_->len - start));
        --out_->len;
        appendStringInfo(out_, "} %.15g\n", value);
    }

    StringInfo out_;
    MetricsFormat format_;
    const char* database_;
    const char* name_ = "";
    const char* suffix_ = "";
};

// What the tables of a hub know, besides its queues.
struct HubGauges {
    const store::Hub* hub;
    bool readable;  // false: the others are missing
    int64 depth[counters::kQueues];
    int64 delayed;  // tasks
    int64 dead_letters;
    int64 schedule_errors;
    pg::List<store::ReaderLag> lags;
};

void read_gauges(HubGauges* gauges, int64 now) {
    const store::Hub& hub = *gauges->hub;
    MemoryContext memory = CurrentMemoryContext;
    pg::as_role(hub.owner, [&hub, gauges, now, memory] {
        pg::with_spi([&hub, gauges, now, memory] {
            gauges->depth[static_cast<int>(counters::Queue::kOrchestrator)] =
                store::count_messages(hub, kMostCounted);
            gauges->depth[static_cast<int>(counters::Queue::kWorker)] =
                store::count_work(hub, kMostCounted);
            gauges->dead_letters = store::count_dead_letters(hub, kMostCounted);
            gauges->schedule_errors = store::count_schedule_errors(hub);
            for (const auto& lag : store::reader_lags(hub, now)) {
                MemoryContext old = MemoryContextSwitchTo(memory);
                gauges->lags.add({pstrdup(pg::c_string(lag.name)), lag.lag_ms, lag.lost});
                MemoryContextSwitchTo(old);
            }
        });
    });
}

std::span<const HubGauges> all_gauges(std::span<const QueueStats> queues) {
    pg::List<HubGauges> all;
    const int64 now = pg::server_now_ms();
    for (const auto& stats : queues) {
        if (all.count == 0 || all.items[all.count - 1].hub != stats.hub) {
            HubGauges gauges{};
            gauges.hub = stats.hub;
            gauges.readable = stats.readable && try_to_read(*stats.hub, [&gauges, now] {
                                  read_gauges(&gauges, now);
                              });
            all.add(gauges);
            CHECK_FOR_INTERRUPTS();
        }
        if (stats.queue == counters::Queue::kTasks) {
            HubGauges& gauges = all.items[all.count - 1];
            gauges.depth[static_cast<int>(stats.queue)] = stats.ready;
            gauges.delayed = stats.delayed;
        }
    }
    return all.span();
}

Label hub_of(const store::Hub& hub) {
    return {"hub", NameStr(hub.name)};
}

Label queue_of(counters::Queue queue) {
    return {"queue", counters::kQueueNames[static_cast<int>(queue)]};
}

constexpr const char* kCounterHelp[counters::kCounters] = {
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
    "Tasks that ended as failed.",
    "Attempts of tasks that failed and are followed by another one.",
    "Tasks that were cancelled.",
    "Tasks whose deadline passed.",
};

// The counters that only tasks have.
bool applies(int counter, counters::Queue queue) {
    return counter < static_cast<int>(counters::Counter::kFailed) ||
           queue == counters::Queue::kTasks;
}

void write_counters(Text* text, std::span<const QueueStats> queues) {
    for (int counter = 0; counter < counters::kCounters; ++counter) {
        text->family(counters::kCounterNames[counter], "counter", kCounterHelp[counter]);
        for (const auto& stats : queues) {
            if (stats.counted && applies(counter, stats.queue)) {
                text->sample(static_cast<double>(stats.counters[counter]), hub_of(*stats.hub),
                             queue_of(stats.queue));
            }
        }
    }
    constexpr struct {
        const char* name;
        const char* help;
    } kHistograms[counters::kDurations] = {
        {"wait_seconds", "From ready to leased."},
        {"run_seconds", "From leased to the end by the holder; of tasks, whole attempts."},
    };
    for (int i = 0; i < counters::kDurations; ++i) {
        text->family(kHistograms[i].name, "histogram", kHistograms[i].help);
        for (const auto& stats : queues) {
            if (stats.counted) {
                text->histogram(stats.durations[i], hub_of(*stats.hub), queue_of(stats.queue));
            }
        }
    }
}

constexpr const char* kTaskCounterHelp[task_stats::kCounters] = {
    "Tasks created.",
    "Leases given.",
    "Tasks that ended with success.",
    "Tasks that ended as failed.",
    "Attempts that failed and are followed by another one.",
    "Tasks that were cancelled.",
    "Tasks whose deadline passed.",
    "Leases that ended without their holder.",
};

// By queue and kind of tasks.
void write_task_stats(Text* text, std::span<const TaskClassStats> all) {
    const auto queue = [](const TaskClassStats& stats) {
        return Label{"queue", pg::c_string(stats.row.of.queue)};
    };
    const auto kind = [](const TaskClassStats& stats) {
        return Label{"kind", pg::c_string(stats.row.of.kind)};
    };
    for (int i = 0; i < task_stats::kCounters; ++i) {
        text->family(psprintf("task_%s", task_stats::kCounterNames[i]), "counter",
                     kTaskCounterHelp[i]);
        for (const auto& stats : all) {
            text->sample(static_cast<double>(stats.row.counts.values[i]), hub_of(*stats.hub),
                         queue(stats), kind(stats));
        }
    }
    constexpr struct {
        const char* name;
        const char* help;
    } kHistograms[counters::kDurations] = {
        {"task_wait_seconds", "From ready to leased."},
        {"task_run_seconds", "Whole attempts."},
    };
    for (int i = 0; i < counters::kDurations; ++i) {
        text->family(kHistograms[i].name, "histogram", kHistograms[i].help);
        for (const auto& stats : all) {
            text->histogram(stats.row.counts.durations[i], hub_of(*stats.hub), queue(stats),
                            kind(stats));
        }
    }
}

void write_queue_gauges(Text* text, std::span<const QueueStats> queues) {
    const auto write = [text, queues](const char* name, const char* help, auto value) {
        text->family(name, "gauge", help);
        for (const auto& stats : queues) {
            if (stats.readable) {
                text->sample(value(stats), hub_of(*stats.hub), queue_of(stats.queue));
            }
        }
    };
    write("waiters", "Sessions that wait for work.",
          [](const QueueStats& stats) { return static_cast<double>(stats.waiters); });
    write(
        "leases", "Leases that are live; of tasks counted up to 10000.",
        [](const QueueStats& stats) { return static_cast<double>(stats.leases - stats.overdue); });
    write("overdue_leases", "Leases whose time is over and that were not taken back yet.",
          [](const QueueStats& stats) { return static_cast<double>(stats.overdue); });
    write("oldest_ready_seconds",
          "How long the oldest item has been ready and free; 0 if there is none.",
          [](const QueueStats& stats) {
              return static_cast<double>(stats.oldest_ready.value_or(0)) / kMsPerSecond;
          });
}

void write_hub_gauges(Text* text, std::span<const HubGauges> hubs) {
    text->family(
        "hub_unreadable", "gauge",
        "Whether the tables of the hub cannot be read, so that its other gauges are missing.");
    for (const auto& gauges : hubs) {
        text->sample(gauges.readable ? 0 : 1, hub_of(*gauges.hub));
    }
    text->family("depth", "gauge",
                 "Rows in the queue, of tasks those that are ready; counted up to 10000.");
    for (const auto& gauges : hubs) {
        for (int i = 0; gauges.readable && i < counters::kQueues; ++i) {
            text->sample(static_cast<double>(gauges.depth[i]), hub_of(*gauges.hub),
                         queue_of(static_cast<counters::Queue>(i)));
        }
    }
    const auto write = [text, hubs](const char* name, const char* help, auto value) {
        text->family(name, "gauge", help);
        for (const auto& gauges : hubs) {
            if (gauges.readable) {
                text->sample(static_cast<double>(value(gauges)), hub_of(*gauges.hub));
            }
        }
    };
    write("delayed_tasks", "Tasks that wait for their time; counted up to 10000.",
          [](const HubGauges& gauges) { return gauges.delayed; });
    write("dead_letters", "Items and messages that were set aside; counted up to 10000.",
          [](const HubGauges& gauges) { return gauges.dead_letters; });
    write("schedule_errors", "Schedules whose last run failed.",
          [](const HubGauges& gauges) { return gauges.schedule_errors; });
    text->family("subscription_lag_seconds", "gauge",
                 "Age of the first event that the subscription has not read.");
    for (const auto& gauges : hubs) {
        for (const auto& lag : gauges.lags) {
            text->sample(static_cast<double>(lag.lag_ms) / kMsPerSecond, hub_of(*gauges.hub),
                         {"subscription", pg::c_string(lag.name)});
        }
    }
    text->family("subscription_lost_events", "counter",
                 "Events that retention deleted before the subscription had read them.");
    for (const auto& gauges : hubs) {
        for (const auto& lag : gauges.lags) {
            text->sample(static_cast<double>(lag.lost), hub_of(*gauges.hub),
                         {"subscription", pg::c_string(lag.name)});
        }
    }
    const auto resting = registry::quarantined_hubs();
    text->family(
        "hub_quarantined", "gauge",
        "Whether the background worker leaves the hub alone, because a duty took too long.");
    for (const auto& gauges : hubs) {
        bool rests = false;
        for (const auto& hub : resting) {
            rests = rests || hub.hub == gauges.hub->schema;
        }
        text->sample(rests ? 1 : 0, hub_of(*gauges.hub));
    }
}

double unix_time(TimestampTz time) {
    constexpr double kUsPerSecond = 1e6;
    constexpr double kEpoch =
        static_cast<double>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
    return time == 0 ? 0 : static_cast<double>(time) / kUsPerSecond + kEpoch;
}

// The background worker of the database, for those who may see belay.workers.
void write_worker(Text* text) {
    if (!has_privs_of_role(GetUserId(), ROLE_PG_MONITOR)) {
        return;
    }
    const registry::WorkerSlot* mine = nullptr;
    int64 waiting = 0;
    int64 stuck = 0;
    for (const auto& slot : registry::live_workers()) {
        waiting += slot.state == registry::WorkerState::kWaiting ? 1 : 0;
        stuck += slot.state == registry::WorkerState::kStuck ? 1 : 0;
        if (slot.database == MyDatabaseId && slot.state != registry::WorkerState::kStuck) {
            mine = &slot;
        }
    }
    text->family("worker_last_loop_timestamp_seconds", "gauge",
                 "When the background worker last looked for something to do; 0: never.");
    text->sample(mine == nullptr ? 0 : unix_time(mine->last_loop_at));
    text->family("databases_waiting_for_worker", "gauge",
                 "Databases of the server that wait for a background worker.");
    text->sample(static_cast<double>(waiting));
    text->family("stuck_workers", "gauge",
                 "Background workers of the server that were given up and have not ended.");
    text->sample(static_cast<double>(stuck));
    const auto write = [text, mine](const char* name, const char* type, const char* help,
                                    auto value) {
        text->family(name, type, help);
        for (std::size_t i = 0; mine != nullptr && i < duties().size(); ++i) {
            text->sample(value(mine->duties[i]), {"duty", duties()[i].name});
        }
    };
    write("duty_runs", "counter", "Portions of duties that were run.",
          [](const registry::DutyTotals& totals) { return static_cast<double>(totals.runs); });
    write("duty_errors", "counter", "Portions of duties that failed.",
          [](const registry::DutyTotals& totals) { return static_cast<double>(totals.errors); });
    write("duty_timeouts", "counter", "Portions of duties that took too long.",
          [](const registry::DutyTotals& totals) { return static_cast<double>(totals.timeouts); });
    write("duty_last_run_timestamp_seconds", "gauge", "When the duty last ran; 0: never.",
          [](const registry::DutyTotals& totals) { return unix_time(totals.last_run); });
}

}  // namespace

const char* metrics(MetricsFormat format) {
    const auto queues = queue_stats();
    const auto hubs = all_gauges(queues);
    Text text(format);
    text.family("build_info", "gauge", "The version of belay and of its hubs.");
    text.sample(1, {"version", BELAY_VERSION}, {"hub_version", psprintf("%d", store::kHubVersion)});
    write_counters(&text, queues);
    write_task_stats(&text, task_class_stats());
    write_queue_gauges(&text, queues);
    write_hub_gauges(&text, hubs);
    write_worker(&text);
    return text.end();
}

}  // namespace belay::ops
