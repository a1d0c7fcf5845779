// Charts: of the last 15 minutes from the samples, of longer ranges as the hub has recorded them.
#include <algorithm>

#include "api_reads.hpp"
#include "sampler.hpp"
#include "statement.hpp"

namespace belay::tool::dashboard {

namespace {

constexpr std::int64_t kMinuteMs = 60000;
constexpr std::int64_t kRecordedFor = 30000;  // the hub records once a minute
constexpr std::size_t kMostRecorded = 64;

struct SeriesRange {
    std::int64_t length;
    std::int64_t step;
};

const std::map<std::string, SeriesRange> kSeriesRanges = {
    {"15m", {15 * kMinuteMs, kMinuteMs}},
    {"1h", {60 * kMinuteMs, kMinuteMs}},
    {"24h", {24 * 60 * kMinuteMs, 5 * kMinuteMs}},
    {"7d", {7 * 24 * 60 * kMinuteMs, 30 * kMinuteMs}}};

constexpr const char* kSeries =
    "SELECT at_ms, sum(created)::bigint, sum(completed)::bigint, sum(failed)::bigint, "
    "max(oldest_ms), sum(depth)::bigint, json_agg(wait_buckets)::text, json_agg(run_buckets)::text "
    "FROM {h}.stat_series($1, $2, $3, $4, $5) GROUP BY at_ms ORDER BY at_ms";

Json empty_series(std::int64_t step) {
    Json series = {{"at_ms", system_ms()}, {"took_ms", 0}, {"sql", ""}, {"step_ms", step}};
    for (const char* key : {"t", "in", "done", "failed", "oldest_ms", "depth"}) {
        series[key] = Json::array();
    }
    return series;
}

std::string with_schema(std::string text, const std::string& schema) {
    return text.replace(text.find("{h}"), 3, schema);
}

}  // namespace

Json Sampler::series(const std::shared_ptr<const Credential>& credential, const std::string& hub,
                     const std::string& range, const std::string& queue) {
    const std::string name = range.empty() ? "15m" : range;
    if (!kSeriesRanges.contains(name)) {
        throw BadRequest("there is no such range");
    }
    const auto found = target({credential->key, hub});
    const std::lock_guard lock(found->taking);
    if (name != "15m") {
        return recorded(credential, hub, *found, name, queue);
    }
    Json series = sampled(*found, queue);
    // Samples have the durations of the whole hub only.
    if (!queue.empty() && found->last.is_object()) {
        const Json minutes = recorded(credential, hub, *found, name, queue);
        series["wait"] = minutes["wait"];
        series["run"] = minutes["run"];
        series["durations_sql"] = minutes["sql"];
    }
    return series;
}

// With target.taking locked.
Json Sampler::sampled(const Target& target, const std::string& queue) {
    Json series = empty_series(2000);
    series["sql"] = target.last.is_object() ? target.last["sql"] : Json("");
    series["durations_sql"] = series["sql"];
    const std::int64_t from =
        target.samples.empty() ? 0 : target.samples.back().at_ms - kSeriesRanges.at("15m").length;
    Durations durations;
    const Sample* before = nullptr;
    for (const auto& sample : target.samples) {
        const auto figures = sample.figures.find(queue);
        if (sample.at_ms >= from && before != nullptr) {
            const bool known = figures != sample.figures.end();
            const Json rates = rates_of(before, sample, queue);
            series["t"].push_back(sample.at_ms);
            for (const char* key : {"in", "done", "failed"}) {
                series[key].push_back(rates.is_null() ? Json(nullptr) : rates[key]);
            }
            series["oldest_ms"].push_back(known && figures->second.oldest_ms
                                              ? Json(*figures->second.oldest_ms)
                                              : Json(nullptr));
            series["depth"].push_back(known ? Json(figures->second.depth) : Json(nullptr));
            add(durations, sample.durations);
        }
        before = &sample;
    }
    for (const char* what : {"wait", "run"}) {
        series[what] = queue.empty() ? latency(durations, what, target.bounds) : Json(nullptr);
    }
    return series;
}

// With target.taking locked. From the first step of which something is known, those without a row
// are steps in which nothing happened.
Json Sampler::recorded(const std::shared_ptr<const Credential>& credential, const std::string& name,
                       Target& target, const std::string& range, const std::string& queue) {
    const std::string key = range + "/" + queue;
    if (const auto known = target.recorded.find(key);
        known != target.recorded.end() && steady_ms() - known->second.taken_ms < kRecordedFor) {
        return known->second.series;
    }
    if (!target.last.is_object()) {
        take(credential, name, target);  // has the bounds of durations, and the hub's clock
    }
    const auto [length, step] = kSeriesRanges.at(range);
    const std::int64_t now =
        target.last["at_ms"].get<std::int64_t>() + steady_ms() - target.taken_ms;
    const std::int64_t to = now / step * step + step;
    const Values values = {
        to - length, to, step,
        queue.starts_with("/") ? OptionalText(queue.substr(1)) : OptionalText(),
        queue.empty() || queue.starts_with("/") ? OptionalText() : OptionalText(queue)};
    const std::int64_t begin = steady_ms();
    auto connection = database_.lease(credential);
    Hub hub = find_hub_(*connection, *credential, name);
    const Result rows =
        hub.query(Effect::kRepeatable, with_schema(kSeries, hub.schema()), params_of(values));
    Json series = empty_series(step);
    series["at_ms"] = now;
    series["took_ms"] = steady_ms() - begin;
    series["sql"] = shown(with_schema(kSeries, shown_identifier(name)), values) + ";";
    series["durations_sql"] = series["sql"];
    Durations durations;
    const double seconds = static_cast<double>(step) / 1000;
    std::int64_t next = 0;
    const auto put = [&series](std::int64_t at, const Json& in, const Json& done,
                               const Json& failed, const Json& oldest, const Json& depth) {
        series["t"].push_back(at);
        series["in"].push_back(in);
        series["done"].push_back(done);
        series["failed"].push_back(failed);
        series["oldest_ms"].push_back(oldest);
        series["depth"].push_back(depth);
    };
    for (int row = 0; row < rows.size(); ++row) {
        const auto at = rows.get<std::int64_t>(row, 0);
        for (; next != 0 && next < at; next += step) {
            put(next, 0, 0, 0, nullptr, nullptr);
        }
        const auto per_second = [&](int column) {
            return static_cast<double>(rows.get<std::int64_t>(row, column)) / seconds;
        };
        const auto gauge = [&](int column) {
            return rows.is_null(row, column) ? Json(nullptr)
                                             : Json(rows.get<std::int64_t>(row, column));
        };
        put(at, per_second(1), per_second(2), per_second(3), gauge(4), gauge(5));
        for (const auto& [what, column] : {std::pair("wait", 6), std::pair("run", 7)}) {
            for (const auto& buckets : Json::parse(rows.get<std::string>(row, column))) {
                add(durations, {{what, buckets.get<std::vector<std::int64_t>>()}});
            }
        }
        next = at + step;
    }
    for (; next != 0 && next < to; next += step) {
        put(next, 0, 0, 0, nullptr, nullptr);
    }
    for (const char* what : {"wait", "run"}) {
        series[what] = latency(durations, what, target.bounds);
    }
    if (target.recorded.size() >= kMostRecorded) {
        target.recorded.clear();
    }
    target.recorded[key] = {steady_ms(), series};
    return series;
}

}  // namespace belay::tool::dashboard
