// belay top.
#include "top.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "tool.hpp"

namespace belay::tool {
namespace {

std::string number(const OptionalNumber& value) {
    return value ? std::to_string(*value) : "-";
}

std::string rate(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    char text[32];
    std::snprintf(text, sizeof text, *value < 1000 ? "%.1f" : "%.0f", *value);
    return text;
}

const QueueStats* find(const TopSample& sample, const QueueStats& like) {
    const auto found = std::ranges::find_if(sample.queues, [&](const QueueStats& other) {
        return other.hub == like.hub && other.queue == like.queue;
    });
    return found == sample.queues.end() ? nullptr : &*found;
}

// Tasks that could be claimed.
OptionalNumber ready_tasks(const TopSample& sample, const std::string& hub) {
    OptionalNumber sum;
    for (const auto& lane : sample.lanes) {
        if (lane.hub == hub) {
            sum = sum.value_or(0) + lane.depth.ready;
        }
    }
    return sum;
}

OptionalNumber depth_of(const TopSample& sample, const std::string& hub, const std::string& queue) {
    if (queue == "tasks") {
        return ready_tasks(sample, hub);
    }
    const auto found = sample.depths.find(hub);
    if (found == sample.depths.end()) {
        return std::nullopt;
    }
    return queue == "worker"         ? found->second.worker_queue
           : queue == "orchestrator" ? found->second.orchestrator_queue
           : queue == "timers"       ? found->second.timer_queue
                                     : OptionalNumber();
}

std::string line_of(const TopRow& row) {
    return left(printable(row.hub), 14) + " " + left(printable(row.queue), 12) + " " +
           right(number(row.depth), 7) + " " +
           right(row.oldest_ms ? duration_text(*row.oldest_ms) : "-", 6) + " " +
           right(number(row.leases), 6) + " " + right(number(row.waiters), 5) + " " +
           right(rate(row.enqueued), 7) + " " + right(rate(row.acked), 7) + " " +
           right(number(row.dead_lettered), 5);
}

std::string line_of(const TopSample::Lane& lane) {
    const auto& age = lane.depth.oldest_ready_age_ms;
    return left(printable(lane.hub), 14) + " " + left(printable(lane.depth.lane), 20) + " " +
           right(std::to_string(lane.depth.ready), 8) + " " +
           right(std::to_string(lane.depth.delayed), 8) + " " +
           right(std::to_string(lane.depth.active), 7) + " " +
           right(std::to_string(lane.depth.overdue_leases), 7) + " " +
           right(age ? duration_text(*age) : "-", 6);
}

// What hands out no work, with commas.
std::string paused_text(const TopSample& sample) {
    std::string paused;
    const auto add = [&](const std::string& hub, const std::string& what) {
        paused += (paused.empty() ? "" : ", ") + hub + " (" + what + ")";
    };
    for (const auto& hub : sample.hubs) {
        if (hub.paused) {
            add(hub.name, hub.paused_queues);
        }
    }
    for (const auto& lane : sample.lanes) {
        if (lane.depth.paused) {
            add(lane.hub, "lane " + lane.depth.lane);
        }
    }
    return paused;
}

// Ends top: Ctrl-C is how one leaves it.
Interrupt& leave() {
    static Interrupt interrupt;
    return interrupt;
}

extern "C" void leave_top(int) {
    leave().signal();
}

class Sampler {
 public:
    explicit Sampler(Tool& tool) : tool_(tool) {}

    TopSample take() {
        TopSample sample;
        const Result row = tool_.connection().call(
            Effect::kRepeatable,
            "SELECT current_database(), (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
        sample.database = row.get<std::string>(0, 0);
        sample.at_ms = row.get<std::int64_t>(0, 1);
        for (auto& hub : tool_.admin().hubs()) {
            if (is_wanted(hub.name)) {
                sample.hubs.push_back(std::move(hub));
            }
        }
        for (auto& queue : tool_.admin().queue_stats()) {
            if (is_wanted(queue.hub)) {
                sample.queues.push_back(std::move(queue));
            }
        }
        for (const auto& info : sample.hubs) {
            Hub hub(tool_.connection(), info.name);
            if_allowed([&] { sample.depths[info.name] = hub.get_queue_depths(); });
            if_allowed([&] { add_owners(sample, hub); });
            if_allowed([&] { add_lanes(sample, hub); });
        }
        if_allowed([&] { sample.background = background_of(sample.database); });
        return sample;
    }

 private:
    // Leases beyond these are not counted to their owners.
    static constexpr int kMostLeases = 1000;

    bool is_wanted(const std::string& hub) const {
        return tool_.hub_name.empty() || tool_.hub_name == hub;
    }

    // What the caller's level does not include is left out of the view.
    template <typename Body>
    static void if_allowed(Body body) {
        try {
            body();
        } catch (const Error& error) {
            // Nor has a hub of an earlier version all there is to see.
            if (error.sqlstate() != "42501" && error.sqlstate() != "42P01") {
                throw;
            }
        }
    }

    static void add_owners(TopSample& sample, Hub& hub) {
        std::map<std::string, std::int64_t> leases;
        for (const auto& item : hub.list_work_items(R"({"state":"leased"})", {}, kMostLeases)) {
            ++leases[item.locked_by.value_or("(no owner id)")];
        }
        add_leases(sample, hub, leases);
        sample.owners_known = true;
    }

    // A hub without lanes is not asked for leases of tasks.
    static void add_lanes(TopSample& sample, Hub& hub) {
        const auto lanes = hub.lane_depths();
        for (const auto& lane : lanes) {
            sample.lanes.push_back({hub.name(), lane});
        }
        if (lanes.empty()) {
            return;
        }
        std::map<std::string, std::int64_t> leases;
        for (const auto& task : hub.list_tasks(R"({"state":"active"})", {}, kMostLeases)) {
            ++leases[task.worker_instance.value_or("")];
        }
        add_leases(sample, hub, leases);
    }

    static void add_leases(TopSample& sample, const Hub& hub,
                           const std::map<std::string, std::int64_t>& leases) {
        for (const auto& [owner, count] : leases) {
            sample.owners.push_back({hub.name(), owner, count});
        }
    }

    std::string background_of(const std::string& database) {
        for (const auto& worker : tool_.admin().workers()) {
            if (worker.database == database) {
                return worker.state;
            }
        }
        return "none";
    }

    Tool& tool_;
};

struct TopOptions {
    bool once = false;
    double interval = 2;
    int count = 0;  // 0: until Ctrl-C
};

// Sleeps; false if it is time to leave.
bool sleep_for(double seconds) {
    pollfd ready{.fd = leave().descriptor(), .events = POLLIN, .revents = 0};
    return poll(&ready, 1, static_cast<int>(seconds * 1000)) == 0;
}

void show_top(Tool& tool, const TopOptions& options) {
    std::signal(SIGINT, leave_top);
    std::signal(SIGTERM, leave_top);
    const bool screen = isatty(STDOUT_FILENO) != 0 && !options.once && !tool.json;
    // The other screen, without a cursor; what was there comes back at the end.
    struct Screen {
        bool used;
        explicit Screen(bool used) : used(used) {
            if (used) {
                std::cout << "\x1b[?1049h\x1b[?25l";
            }
        }
        ~Screen() {
            if (used) {
                std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
            }
        }
    } use(screen);
    Sampler sampler(tool);
    std::optional<TopSample> before;
    for (int shown = 1;; ++shown) {
        TopSample now = sampler.take();
        const TopSample* earlier = before ? &*before : nullptr;
        if (tool.json) {
            std::cout << json_text(top_json(earlier, now)) << std::endl;
        } else {
            const std::size_t width = terminal_width().value_or(80);
            const std::size_t height = terminal_height().value_or(24);
            std::cout << (screen ? "\x1b[H\x1b[2J" : "") << render_top(earlier, now, width, height)
                      << (screen ? "" : "\n") << std::flush;
        }
        before = std::move(now);
        if (options.once || shown == options.count || !sleep_for(options.interval)) {
            return;
        }
        if (!screen && !tool.json) {
            std::cout << "\n";
        }
    }
}

}  // namespace

std::vector<TopRow> top_rows(const TopSample* before, const TopSample& now) {
    std::vector<TopRow> rows;
    const double seconds =
        before == nullptr ? 0 : static_cast<double>(now.at_ms - before->at_ms) / 1000;
    for (const auto& hub : now.hubs) {
        for (const auto& queue : now.queues) {
            if (queue.hub != hub.name) {
                continue;
            }
            const QueueStats* old = seconds > 0 ? find(*before, queue) : nullptr;
            const auto per_second = [&](std::int64_t QueueStats::*counter) {
                // Counters that went back were reset meanwhile.
                return old == nullptr || queue.*counter < old->*counter
                           ? std::optional<double>()
                           : static_cast<double>(queue.*counter - old->*counter) / seconds;
            };
            rows.push_back({.hub = queue.hub,
                            .queue = queue.queue,
                            .depth = depth_of(now, queue.hub, queue.queue),
                            .oldest_ms = queue.oldest_ready_ms,
                            .leases = queue.leases,
                            .waiters = queue.waiters,
                            .enqueued = per_second(&QueueStats::enqueued),
                            .fetched = per_second(&QueueStats::fetched),
                            .acked = per_second(&QueueStats::acked),
                            .dead_lettered = queue.dead_lettered});
        }
        if (now.depths.contains(hub.name)) {
            rows.push_back(
                {.hub = hub.name, .queue = "timers", .depth = depth_of(now, hub.name, "timers")});
        }
    }
    return rows;
}

std::string render_top(const TopSample* before, const TopSample& now, std::size_t width,
                       std::size_t height) {
    std::vector<std::string> lines;
    const std::string paused = paused_text(now);
    lines.push_back(
        "belay top  " + printable(now.database) + "  " + time_text(now.at_ms) + "  hubs " +
        std::to_string(now.hubs.size()) +
        (now.background.empty() ? "" : "  background worker " + printable(now.background)));
    lines.push_back(paused.empty() ? "" : "paused: " + printable(paused));
    lines.push_back(left("HUB", 14) + " " + left("QUEUE", 12) + " " + right("DEPTH", 7) + " " +
                    right("OLDEST", 6) + " " + right("LEASED", 6) + " " + right("WAIT", 5) + " " +
                    right("IN/s", 7) + " " + right("DONE/s", 7) + " " + right("DEAD", 5));
    for (const auto& row : top_rows(before, now)) {
        lines.push_back(line_of(row));
    }
    if (!now.lanes.empty()) {
        lines.push_back("");
        lines.push_back(left("HUB", 14) + " " + left("LANE", 20) + " " + right("READY", 8) + " " +
                        right("DELAYED", 8) + " " + right("ACTIVE", 7) + " " + right("OVERDUE", 7) +
                        " " + right("OLDEST", 6));
        for (const auto& lane : now.lanes) {
            lines.push_back(line_of(lane));
        }
    }
    if (now.owners_known || !now.owners.empty()) {
        lines.push_back("");
        lines.push_back(left("HUB", 14) + " " + left("WORKER", 57) + " " + right("LEASED", 6));
        auto owners = now.owners;
        std::ranges::stable_sort(owners, std::ranges::greater(), &TopSample::Owner::leases);
        for (const auto& owner : owners) {
            lines.push_back(left(printable(owner.hub), 14) + " " +
                            left(printable(owner.owner_id), 57) + " " +
                            right(std::to_string(owner.leases), 6));
        }
    }
    if (lines.size() > height) {
        const std::size_t hidden = lines.size() - height + 1;
        lines.resize(height - 1);
        lines.push_back("... " + std::to_string(hidden) + " more lines");
    }
    std::string text;
    for (auto& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += (text.empty() ? "" : "\n") + cut(line, width);
    }
    return text;
}

Json top_json(const TopSample* before, const TopSample& now) {
    Json queues = Json::array();
    for (const auto& row : top_rows(before, now)) {
        queues.push_back({{"hub", row.hub},
                          {"queue", row.queue},
                          {"depth", json_of(row.depth)},
                          {"oldest_ready_ms", json_of(row.oldest_ms)},
                          {"leases", json_of(row.leases)},
                          {"waiters", json_of(row.waiters)},
                          {"enqueued_per_s", json_of(row.enqueued)},
                          {"fetched_per_s", json_of(row.fetched)},
                          {"acked_per_s", json_of(row.acked)},
                          {"dead_lettered", json_of(row.dead_lettered)}});
    }
    Json lanes = Json::array();
    for (const auto& [hub, depth] : now.lanes) {
        lanes.push_back({{"hub", hub},
                         {"lane", depth.lane},
                         {"paused", depth.paused},
                         {"ready", depth.ready},
                         {"delayed", depth.delayed},
                         {"active", depth.active},
                         {"overdue_leases", depth.overdue_leases},
                         {"oldest_ready_age_ms", json_of(depth.oldest_ready_age_ms)}});
    }
    Json workers = Json::array();
    for (const auto& owner : now.owners) {
        workers.push_back(
            {{"hub", owner.hub}, {"owner_id", owner.owner_id}, {"leases", owner.leases}});
    }
    return {{"database", now.database}, {"at_ms", now.at_ms}, {"background_worker", now.background},
            {"queues", queues},         {"lanes", lanes},     {"workers", workers}};
}

void add_top(CLI::App& app, Tool& tool) {
    auto options = std::make_shared<TopOptions>();
    auto* top = app.add_subcommand("top", "watch depths, lanes, ages, leases, rates and workers");
    top->add_flag("--once", options->once, "print one picture and stop; it has no rates");
    top->add_option("--interval", options->interval, "seconds between pictures")
        ->capture_default_str()
        ->check(CLI::Range(0.05, 3600.0));
    top->add_option("--count", options->count, "stop after so many pictures")
        ->check(CLI::PositiveNumber);
    on_run(tool, top, [&tool, options] { show_top(tool, *options); });
}

}  // namespace belay::tool
