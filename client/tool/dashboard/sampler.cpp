// Samples of each hub that viewers look at, rates between samples, and events and flows that are
// new.
//
// May touch: hubs, reading; open event streams. Must not: run a statement per viewer, or take more
// than its share of the database's time.
#include "sampler.hpp"

#include <algorithm>
#include <chrono>

#include "answers.hpp"
#include "api_reads.hpp"
#include "statement.hpp"

namespace belay::tool::dashboard {
namespace {

constexpr std::int64_t kInterval = 2000;
constexpr std::int64_t kFlowInterval = 10000;  // of flows that are waited for
constexpr std::int64_t kShare = 20;            // a sample takes at most 1/20 of the time
constexpr std::size_t kMostSamples = 450;
constexpr std::int64_t kSparks = 24;  // of 15 minutes
constexpr std::int64_t kSparkPart = 15 * 60000 / kSparks;
constexpr std::int64_t kForgotten = 20 * 60000;

constexpr std::int64_t kGap = 60000;  // samples that are further apart make no rate

constexpr const char* kGlance = "SELECT {h}.glance()";

std::int64_t counter(const Json& row, const char* key) {
    return row.contains(key) && row[key].is_number_integer() ? row[key].get<std::int64_t>() : 0;
}

OptionalNumber number(const Json& value) {
    return value.is_number_integer() ? OptionalNumber(value.get<std::int64_t>()) : std::nullopt;
}

}  // namespace

Sampler::Sampler(Database& database, Streams& streams, FindHub find_hub, HideBodies hide_bodies)
    : database_(database),
      streams_(streams),
      find_hub_(std::move(find_hub)),
      hide_bodies_(std::move(hide_bodies)),
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

// What is kept of a glance.
Sampler::Sample Sampler::sample_of(const Json& raw) {
    Sample sample{.at_ms = raw["at_ms"].get<std::int64_t>()};
    Figures& all = sample.figures[""];
    for (const auto& row : raw["queues"]) {
        Figures& figures = sample.figures["/" + row["queue"].get<std::string>()];
        for (const char* key : {"enqueued", "acked", "lost_leases", "failed", "dead_lettered"}) {
            figures.counters[key] = row["counters"].is_object() ? counter(row["counters"], key) : 0;
            all.counters[key] += figures.counters[key];
        }
        figures.depth = row["ready"]["n"].get<std::int64_t>();
        figures.oldest_ms = number(row["oldest_ms"]);
        all.depth += figures.depth;
        all.oldest_ms = std::max(all.oldest_ms, figures.oldest_ms);
    }
    const bool counted = std::ranges::any_of(
        raw["queues"], [](const Json& row) { return row["counters"].is_object(); });
    for (const auto& row : raw["task_queues"]) {
        Figures& figures = sample.figures[row["queue"].get<std::string>()];
        const Json counters = row.value("counters", Json());
        // A queue of which nothing is counted yet has no counters. They have the words of tasks;
        // an older server has none.
        if (counted && row.contains("counters")) {
            for (const auto& [ours, theirs] :
                 {std::pair("enqueued", "created"), std::pair("acked", "completed"),
                  std::pair("lost_leases", "lost"), std::pair("failed", "failed")}) {
                figures.counters[ours] = counters.is_object() ? counter(counters, theirs) : 0;
            }
        }
        figures.depth = row["ready"]["n"].get<std::int64_t>();
        figures.oldest_ms = number(row["oldest_ms"]);
    }
    return sample;
}

// Whether what has changed since the sample before is known.
bool Sampler::follows(const Sample* before, const Sample& now) {
    return before != nullptr && now.at_ms > before->at_ms && now.at_ms - before->at_ms <= kGap;
}

// Rates of a queue since the sample before; null if nothing is known.
Json Sampler::rates_of(const Sample* before, const Sample& now, const std::string& queue) {
    if (!follows(before, now)) {
        return nullptr;
    }
    const auto then = before->figures.find(queue);
    const auto found = now.figures.find(queue);
    if (then == before->figures.end() || found == now.figures.end() ||
        found->second.counters.empty() || then->second.counters.empty()) {
        return nullptr;
    }
    const double seconds = static_cast<double>(now.at_ms - before->at_ms) / 1000;
    const auto rate = [&](const char* key) {
        // Counters can be reset.
        return static_cast<double>(std::max<std::int64_t>(
                   0, found->second.counters.at(key) - then->second.counters.at(key))) /
               seconds;
    };
    return {{"in", rate("enqueued")},
            {"done", rate("acked")},
            {"lost", rate("lost_leases")},
            {"failed", rate("failed")}};
}

// Puts the rates and the last ones of a queue into its row.
void Sampler::put_rates(Target& target, const Sample* before, const Sample& now,
                        const std::string& queue, Json& row) {
    row["rates"] = rates_of(before, now, queue);
    auto& spark = target.sparks[queue];
    if (!row["rates"].is_null()) {
        spark.add(now.at_ms, row["rates"]["done"].get<double>(),
                  static_cast<double>(now.at_ms - before->at_ms) / 1000);
    }
    row["spark"] = spark.values();
}

void Sampler::Spark::add(std::int64_t at_ms, double rate, double seconds) {
    Part& part = parts[at_ms / kSparkPart];
    part.done += rate * seconds;
    part.seconds += seconds;
    parts.erase(parts.begin(), parts.lower_bound(at_ms / kSparkPart - kSparks + 1));
}

Json Sampler::Spark::values() const {
    Json values = Json::array();
    if (!parts.empty()) {
        for (auto at = parts.begin()->first; at <= parts.rbegin()->first; ++at) {
            const auto part = parts.find(at);
            values.push_back(part == parts.end() ? 0.0 : part->second.done / part->second.seconds);
        }
    }
    return values;
}

// The worker queue and the orchestrator queue.
Json Sampler::provider_rows(Target& target, const Sample* before, const Sample& now,
                            const Json& raw) {
    Json dead = Json::object();
    for (const auto& group : raw["dead_letters"]) {
        Json& sum = dead[group["queue"].get<std::string>()];
        if (sum.is_null()) {
            sum = {{"n", 0}, {"capped", false}};
        }
        sum["n"] = sum["n"].get<std::int64_t>() + group["count"]["n"].get<std::int64_t>();
        sum["capped"] = sum["capped"].get<bool>() || group["count"]["capped"].get<bool>();
    }
    Json rows = Json::array();
    for (const auto& row : raw["queues"]) {
        const auto queue = row["queue"].get<std::string>();
        if (queue == "tasks") {
            continue;
        }
        Json shown = {
            {"queue", queue},
            {"ready", row["ready"]},
            {"oldest_ms", row["oldest_ms"]},
            {"leased", row["leased"]["n"]},
            {"waiting", row["waiting"]},
            {"waiters", row["waiters"]},
            {"dead", dead.contains(queue) ? dead[queue] : Json{{"n", 0}, {"capped", false}}},
            {"paused", std::ranges::any_of(raw["paused"], [&](const Json& pause) {
                 return pause["queue"] == queue;
             })}};
        put_rates(target, before, now, "/" + queue, shown);
        rows.push_back(std::move(shown));
    }
    return rows;
}

// Makes the page's answer of what was read, with rates since the sample before.
void Sampler::note(Target& target, Json& raw) {
    Sample sample = sample_of(raw);
    const Sample* before = target.samples.empty() ? nullptr : &target.samples.back();
    Durations counted = durations_of(raw);
    if (follows(before, sample)) {
        sample.durations = durations_since(target.counted, counted);
    }
    target.bounds = raw.value("duration_bounds_ms", std::vector<std::int64_t>());
    Json paused = Json::array();
    for (const auto& pause : raw["paused"]) {
        paused.push_back(
            {{"queue", pause["queue"]},
             {"reason", pause["reason"]},
             {"by", pause.value("paused_by", Json()).is_string() ? pause["paused_by"] : Json("")},
             {"at_ms", pause.value("paused_at_ms", Json())}});
    }
    Json queues = raw["task_queues"];
    for (auto& queue : queues) {
        put_rates(target, before, sample, queue["queue"].get<std::string>(), queue);
    }
    Json whole = Json::object();  // only its spark is kept, for the list of hubs
    put_rates(target, before, sample, "", whole);
    const Json loop = raw["worker_loop_age_ms"];
    const Json& estimates = raw["estimates"];
    target.last = {
        {"hub", raw["hub"]},
        {"at_ms", raw["at_ms"]},
        {"took_ms", raw["took_ms"]},
        {"sql", raw["sql"]},
        {"hub_version", raw["hub_version"]},
        {"provider", provider_rows(target, before, sample, raw)},
        {"queues", queues},
        {"queues_more", raw["task_queues_more"]},
        {"task_rates", rates_of(before, sample, "/tasks")},
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
        {"wait", latency(sample.durations, "wait", target.bounds)},
        {"run", latency(sample.durations, "run", target.bounds)}};
    if (before == nullptr || sample.at_ms > before->at_ms) {
        target.counted = std::move(counted);
        target.samples.push_back(std::move(sample));
        if (target.samples.size() > kMostSamples) {
            target.samples.pop_front();
        }
    }
}

// Rates of the whole hub and of its dead letters, for the list of hubs; null without viewers.
Json Sampler::summary(const Credential& credential, const std::string& hub) {
    const auto found = target({credential.key, hub});
    const std::lock_guard lock(found->taking);
    if (!found->last.is_object() || steady_ms() - found->taken_ms > kGap ||
        found->samples.size() < 2) {
        return nullptr;
    }
    Json dead = {{"n", 0}, {"capped", false}};
    for (const auto& group : found->last["dead_letters"]) {
        dead["n"] = dead["n"].get<std::int64_t>() + group["count"]["n"].get<std::int64_t>();
        dead["capped"] = dead["capped"].get<bool>() || group["count"]["capped"].get<bool>();
    }
    return {
        {"rates", rates_of(&found->samples[found->samples.size() - 2], found->samples.back(), "")},
        {"spark", found->sparks[""].values()},
        {"dead", dead}};
}

// The events that are new since the last look, oldest first. A page that has begun to watch gets
// some that he may have already: his page knows them by their ids.
Json Sampler::new_events(const Streams::Watched& watch, Target& target) {
    constexpr int kMostPages = 5;
    auto connection = database_.lease(watch.credential);
    Hub hub = find_hub_(*connection, *watch.credential, watch.hub);
    const bool begins = target.events_asked != watch.events_asked;
    target.events_asked = watch.events_asked;
    Json rows = Json::array();
    std::string newest;
    OptionalText after;
    for (int page = 0; page < kMostPages; ++page) {
        const Result result = hub.query(
            Effect::kRepeatable,
            "SELECT " + hub.schema() +
                ".browse_events('{}', 'newest', $1, 50, p_scan => 100, p_preview => 2000)",
            {after});
        const Json got = Json::parse(result.get<std::string>(0, 0));
        bool reached = false;
        for (const auto& row : got["rows"]) {
            const auto id = row["event_id"].get<std::string>();
            newest = newest.empty() ? id : newest;
            reached = reached || id == target.last_event;
            if (!reached || begins) {
                rows.push_back(row);
                rows.back()["details"] = row["details"].is_null() ? Json("") : row["details"];
            }
        }
        if (reached || begins || got["next"].is_null() || target.last_event.empty()) {
            break;
        }
        after = got["next"].get<std::string>();
    }
    target.last_event = newest.empty() ? target.last_event : newest;
    std::reverse(rows.begin(), rows.end());
    return rows;
}

// With target.taking locked.
void Sampler::look(const Streams::Watched& watch, Target& target) {
    const std::string& credential = watch.credential->key;
    target.due_ms = steady_ms() + kInterval;
    try {
        if (watch.glance) {
            take(watch.credential, watch.hub, target);
            Json shown = target.last;
            hide_bodies_(*watch.credential, watch.hub, shown);
            streams_.send(credential, {"glance", watch.hub, ""}, "glance", shown);
        }
        if (watch.events) {
            Json rows = new_events(watch, target);
            if (!rows.empty()) {
                hide_bodies_(*watch.credential, watch.hub, rows);
                streams_.send(credential, {"events", watch.hub, ""}, "events",
                              {{"hub", watch.hub}, {"rows", rows}});
            }
        }
    } catch (const std::exception& failure) {
        target.due_ms = steady_ms() + kInterval;
        // A page that asks for nothing learns of it here; of all else its own reads say what is
        // wrong.
        const auto* error = dynamic_cast<const Error*>(&failure);
        if (error != nullptr && database_is_away(*error)) {
            streams_.send(credential, {"glance", watch.hub, ""}, "away", {{"hub", watch.hub}});
        }
    }
}

// Whether a flow is another one than at the last look.
bool Sampler::is_other(const Streams::Watched& watch, const std::string& flow, Target& target) {
    constexpr std::size_t kMostFlows = 1000;
    try {
        auto connection = database_.lease(watch.credential);
        Hub hub = find_hub_(*connection, *watch.credential, watch.hub);
        const auto known = target.flows.find(flow);
        const Result now = hub.query(
            Effect::kRepeatable, "SELECT " + hub.schema() + ".get_flow($1, $2) ->> 'revision'",
            {Uuid{flow},
             known == target.flows.end() ? OptionalText() : OptionalText(known->second)});
        if (now.empty() || now.is_null(0, 0)) {
            return false;
        }
        if (target.flows.size() >= kMostFlows) {
            target.flows.clear();
        }
        target.flows[flow] = now.get<std::string>(0, 0);
        return true;
    } catch (const std::exception&) {
        return true;  // the page's own read says what is wrong
    }
}

void Sampler::run() {
    for (;;) {
        const auto watched = streams_.watched();
        std::int64_t next = steady_ms() + 3600000;
        for (const auto& watch : watched) {
            // Objects alone are waited for; where that is not possible they follow this clock. No
            // wait reports the progress of a flow's members.
            const auto found = target({watch.credential->key, watch.hub});
            std::unique_lock taking(found->taking);
            const bool waits = found->waits;
            const bool has_flows = std::ranges::any_of(
                watch.objects, [](const auto& object) { return object.first.what == "flow"; });
            const bool sampled = watch.glance || watch.events || !waits;
            if (!sampled && !has_flows) {
                continue;
            }
            const std::int64_t now = steady_ms();
            const bool flows_are_due = has_flows && (!waits || now >= found->flows_due_ms);
            const bool is_due = now >= found->due_ms;
            if (sampled ? is_due : flows_are_due) {
                if (is_due) {
                    look(watch, *found);
                }
                if (flows_are_due) {
                    found->flows_due_ms = now + kFlowInterval;
                }
                taking.unlock();
                for (const auto& [object, asked] : watch.objects) {
                    if (object.what == "flow" ? flows_are_due && is_other(watch, object.id, *found)
                                              : !waits) {
                        streams_.send(
                            watch.credential->key, object, "changed",
                            {{"hub", object.hub}, {"what", object.what}, {"id", object.id}});
                    }
                }
                taking.lock();
            }
            next = std::min(next, sampled ? found->due_ms : found->flows_due_ms);
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
