#include "sampler.hpp"

#include <algorithm>
#include <chrono>

#include "api_reads.hpp"
#include "statement.hpp"

namespace belay::tool::dashboard {
namespace {

constexpr std::int64_t kInterval = 2000;
constexpr std::int64_t kShare = 20;  // a sample takes at most 1/20 of the time
constexpr std::size_t kMostSamples = 450;
constexpr std::size_t kMostSparks = 24;
constexpr std::int64_t kForgotten = 20 * 60000;

constexpr const char* kGlance = "SELECT {h}.glance()";

std::int64_t counter(const Json& row, const char* key) {
    return row.contains(key) && row[key].is_number_integer() ? row[key].get<std::int64_t>() : 0;
}

}  // namespace

Sampler::Sampler(Database& database, Streams& streams, FindHub find_hub)
    : database_(database),
      streams_(streams),
      find_hub_(std::move(find_hub)),
      thread_([this] { run(); }) {}

Sampler::~Sampler() {
    stop();
}

void Sampler::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    changed_.notify_all();
}

void Sampler::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

std::shared_ptr<Sampler::Target> Sampler::target(const Key& key) {
    const std::lock_guard lock(mutex_);
    auto& found = targets_[key];
    if (found == nullptr) {
        found = std::make_shared<Target>();
    }
    return found;
}

void Sampler::set_waits(const std::string& credential, const std::string& hub, bool possible) {
    const auto found = target({credential, hub});
    const std::lock_guard lock(found->taking);
    found->waits = possible;
}

Json Sampler::glance(const std::shared_ptr<const Credential>& credential, const std::string& hub,
                     std::int64_t age) {
    const auto found = target({credential->key, hub});
    const std::lock_guard lock(found->taking);
    if (found->taken_ms == 0 || steady_ms() - found->taken_ms > age) {
        take(credential, hub, *found);
    }
    return found->last;
}

// With target.taking locked.
Json Sampler::take(const std::shared_ptr<const Credential>& credential, const std::string& name,
                   Target& target) {
    auto connection = database_.lease(credential);
    Hub hub = find_hub_(*connection, *credential, name);
    const auto with_schema = [&](std::string text, const std::string& schema) {
        for (std::size_t at = 0; (at = text.find("{h}", at)) != std::string::npos;) {
            text.replace(at, 3, schema);
            at += schema.size();
        }
        return text;
    };
    const std::int64_t begin = steady_ms();
    const Result result = hub.query(Effect::kRepeatable, with_schema(kGlance, hub.schema()), {});
    const std::int64_t took = steady_ms() - begin;
    Json raw = Json::parse(result.get<std::string>(0, 0));
    raw["hub"] = name;
    raw["took_ms"] = took;
    raw["sql"] = with_schema(kGlance, shown_identifier(name)) + ";";
    note(target, raw);
    target.taken_ms = steady_ms();
    target.due_ms = target.taken_ms + std::max(kInterval - took, took * kShare);
    return target.last;
}

// Makes the page's answer of what was read, with rates since the sample before.
void Sampler::note(Target& target, Json& raw) {
    Sample sample{.at_ms = raw["at_ms"].get<std::int64_t>()};
    const auto older = [&](const Json& age) {
        if (age.is_number_integer()) {
            sample.oldest_ms = std::max(sample.oldest_ms.value_or(0), age.get<std::int64_t>());
        }
    };
    for (const auto& row : raw["queues"]) {
        auto& counters = sample.counters[row["queue"].get<std::string>()];
        for (const char* key : {"enqueued", "acked", "lost_leases", "failed", "dead_lettered"}) {
            counters[key] = row["counters"].is_object() ? counter(row["counters"], key) : 0;
        }
        sample.depth += row["ready"]["n"].get<std::int64_t>();
        older(row["oldest_ms"]);
    }
    const Sample* before = target.samples.empty() ? nullptr : &target.samples.back();
    const auto rates = [&](const std::string& queue) -> Json {
        if (before == nullptr || !before->counters.contains(queue) ||
            sample.at_ms <= before->at_ms || sample.at_ms - before->at_ms > 60000) {
            return nullptr;
        }
        const auto& now = sample.counters[queue];
        const auto& then = before->counters.at(queue);
        const double seconds = static_cast<double>(sample.at_ms - before->at_ms) / 1000;
        const auto rate = [&](const char* key) {
            // Counters can be reset.
            return static_cast<double>(std::max<std::int64_t>(0, now.at(key) - then.at(key))) /
                   seconds;
        };
        return {{"in", rate("enqueued")},
                {"done", rate("acked")},
                {"lost", rate("lost_leases")},
                {"failed", rate("failed")}};
    };
    Json dead = Json::object();
    for (const auto& group : raw["dead_letters"]) {
        const auto queue = group["queue"].get<std::string>();
        Json& sum = dead[queue];
        if (sum.is_null()) {
            sum = {{"n", 0}, {"capped", false}};
        }
        sum["n"] = sum["n"].get<std::int64_t>() + group["count"]["n"].get<std::int64_t>();
        sum["capped"] = sum["capped"].get<bool>() || group["count"]["capped"].get<bool>();
    }
    Json paused = Json::array();
    for (const auto& pause : raw["paused"]) {
        paused.push_back({{"queue", pause["queue"]},
                          {"reason", pause["reason"]},
                          {"by", ""},
                          {"at_ms", nullptr}});
    }
    Json provider = Json::array();
    for (const auto& row : raw["queues"]) {
        const auto queue = row["queue"].get<std::string>();
        if (queue == "tasks") {
            continue;
        }
        const Json rate = rates(queue);
        auto& spark = target.sparks[queue];
        if (!rate.is_null()) {
            spark.push_back(rate["done"].get<double>());
            if (spark.size() > kMostSparks) {
                spark.pop_front();
            }
        }
        provider.push_back(
            {{"queue", queue},
             {"ready", row["ready"]},
             {"oldest_ms", row["oldest_ms"]},
             {"leased", row["leased"]["n"]},
             {"waiting", row["waiting"]},
             {"waiters", row["waiters"]},
             {"dead", dead.contains(queue) ? dead[queue] : Json{{"n", 0}, {"capped", false}}},
             {"paused", std::ranges::any_of(
                            paused, [&](const Json& pause) { return pause["queue"] == queue; })},
             {"rates", rate},
             {"spark", spark}});
    }
    Json queues = raw["task_queues"];
    for (auto& queue : queues) {
        queue["rates"] = nullptr;
        queue["spark"] = Json::array();
    }
    const Json loop = raw["worker_loop_age_ms"];
    const Json& estimates = raw["estimates"];
    Json glance = {
        {"hub", raw["hub"]},
        {"at_ms", raw["at_ms"]},
        {"took_ms", raw["took_ms"]},
        {"sql", raw["sql"]},
        {"hub_version", raw["hub_version"]},
        {"provider", provider},
        {"queues", queues},
        {"queues_more", raw["task_queues_more"]},
        {"task_rates", rates("tasks")},
        {"dead_letters", raw["dead_letters"]},
        {"failed_last_hour", raw["failed_last_hour"]},
        {"expired_last_hour", raw["expired_last_hour"]},
        {"running_instances", raw["running_instances"]},
        {"schedules_with_errors", raw["schedules_with_errors"]},
        {"subscriptions", raw["subscriptions"]},
        {"intents_waiting", raw["intents_waiting"]},
        {"background_worker",
         loop.is_null() ? Json(nullptr) : Json{{"state", "running"}, {"last_loop_ms", loop}}},
        {"oldest_snapshot", raw["oldest_snapshot"]},
        {"paused", paused},
        {"estimates",
         {{"tasks", counter(estimates, "tasks")},
          {"instances", counter(estimates, "instances")},
          {"events", counter(estimates, "outbox_events")}}},
        {"wait", nullptr},
        {"run", nullptr}};
    target.last = std::move(glance);
    if (before == nullptr || sample.at_ms > before->at_ms) {
        target.samples.push_back(std::move(sample));
        if (target.samples.size() > kMostSamples) {
            target.samples.pop_front();
        }
    }
}

Json Sampler::series(const Credential& credential, const std::string& hub,
                     const std::string& range) {
    static const std::map<std::string, std::int64_t> ranges = {
        {"", 900000}, {"15m", 900000}, {"1h", 3600000}, {"24h", 86400000}, {"7d", 604800000}};
    const auto length = ranges.find(range);
    if (length == ranges.end()) {
        throw BadRequest("there is no such range");
    }
    const auto found = target({credential.key, hub});
    const std::lock_guard lock(found->taking);
    Json series = {{"at_ms", system_ms()},
                   {"took_ms", 0},
                   {"sql", found->last.is_object() ? found->last["sql"] : Json("")},
                   {"step_ms", kInterval},
                   {"wait", nullptr},
                   {"run", nullptr}};
    for (const char* key : {"t", "in", "done", "failed", "oldest_ms", "depth"}) {
        series[key] = Json::array();
    }
    const std::int64_t from =
        found->samples.empty() ? 0 : found->samples.back().at_ms - length->second;
    const Sample* before = nullptr;
    for (const auto& sample : found->samples) {
        if (sample.at_ms >= from && before != nullptr) {
            const double seconds = static_cast<double>(sample.at_ms - before->at_ms) / 1000;
            const auto rate = [&](const char* key) -> Json {
                if (seconds > 60) {
                    return nullptr;
                }
                std::int64_t sum = 0;
                for (const auto& [queue, counters] : sample.counters) {
                    const auto then = before->counters.find(queue);
                    if (then != before->counters.end()) {
                        sum += std::max<std::int64_t>(0, counters.at(key) - then->second.at(key));
                    }
                }
                return static_cast<double>(sum) / seconds;
            };
            series["t"].push_back(sample.at_ms);
            series["in"].push_back(rate("enqueued"));
            series["done"].push_back(rate("acked"));
            series["failed"].push_back(rate("failed"));
            series["oldest_ms"].push_back(sample.oldest_ms ? Json(*sample.oldest_ms)
                                                           : Json(nullptr));
            series["depth"].push_back(sample.depth);
        }
        before = &sample;
    }
    return series;
}

void Sampler::run() {
    for (;;) {
        const auto watched = streams_.watched();
        std::int64_t next = steady_ms() + 3600000;
        for (const auto& watch : watched) {
            const auto found = target({watch.credential->key, watch.hub});
            std::unique_lock taking(found->taking);
            if (steady_ms() >= found->due_ms) {
                try {
                    take(watch.credential, watch.hub, *found);
                    streams_.send(watch.credential->key, {"glance", watch.hub, ""}, "glance",
                                  found->last);
                } catch (const std::exception&) {
                    // The page's own reads say what is wrong.
                    found->due_ms = steady_ms() + kInterval;
                }
                const bool waits = found->waits;
                taking.unlock();
                for (const auto& object : watch.objects) {
                    if (!waits || object.what == "flow") {
                        streams_.send(
                            watch.credential->key, object, "changed",
                            {{"hub", object.hub}, {"what", object.what}, {"id", object.id}});
                    }
                }
                taking.lock();
            }
            next = std::min(next, found->due_ms);
        }
        std::unique_lock lock(mutex_);
        std::erase_if(targets_, [&](const auto& entry) {
            const std::unique_lock taking(entry.second->taking, std::try_to_lock);
            return taking.owns_lock() && entry.second->taken_ms != 0 &&
                   steady_ms() - entry.second->taken_ms > kForgotten;
        });
        if (stopping_) {
            return;
        }
        const std::int64_t pause = std::clamp<std::int64_t>(next - steady_ms(), 10, 3600000);
        changed_.wait_for(lock, std::chrono::milliseconds(pause),
                          [this] { return stopping_ || woken_; });
        woken_ = false;
        if (stopping_) {
            return;
        }
    }
}

}  // namespace belay::tool::dashboard
