// Durable functions without a database: one run of one measurement.
//
//     clients_runtime runtime local
//
// Prints lines "NAME VALUE". It fails if an orchestration did not end. bench/clients/README.md
// explains the figures.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <belay/testing.hpp>

#include "cache.hpp"
#include "common.hpp"
#include "turn.hpp"

namespace {

using belay::Context;
using belay::Durable;
using bench::cpu_seconds;
using bench::print;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double seconds_since(Clock::time_point then) {
    return Seconds(Clock::now() - then).count();
}

// ---- The orchestrations. ----

inline constexpr belay::ActivityOf<int(int)> step{"Step"};
inline constexpr belay::OrchestrationOf<int(int)> hello{"Hello"};
inline constexpr belay::OrchestrationOf<int(int)> pairs{"Pairs"};

Durable<int> run_hello(Context ctx, int n) {
    int result = co_await ctx.call(step, n);
    co_return result;
}

// Two events in, two out, in every turn.
Durable<int> run_pairs(Context ctx, int rounds) {
    int n = 0;
    for (int i = 0; i < rounds; ++i) {
        auto both = co_await belay::when_all(ctx.call(step, n), ctx.call(step, n));
        n = std::get<0>(both);
    }
    co_return n;
}

// ---- Without a database. ----

std::string start_message(const std::string& instance, const char* name, int input) {
    return json{{"StartOrchestration",
                 {{"instance", instance},
                  {"orchestration", name},
                  {"input", std::to_string(input)},
                  {"version", nullptr},
                  {"parent_instance", nullptr},
                  {"parent_id", nullptr},
                  {"execution_id", 1}}}}
        .dump();
}

std::string completed_message(const std::string& instance, std::int64_t id) {
    return json{{"ActivityCompleted",
                 {{"instance", instance}, {"execution_id", 1}, {"id", id}, {"result", "1"}}}}
        .dump();
}

// An instance of Pairs whose turns run in memory, one after the other.
class PairsInstance {
 public:
    PairsInstance() {
        registry_.on(pairs, &run_pairs);
        turn({start_message("p", pairs.name, 1 << 30)});
    }

    // A turn with the two outcomes of the last one; the time of the turn alone.
    double next() {
        const std::int64_t last = last_id_;
        return turn({completed_message("p", last - 1), completed_message("p", last)});
    }
    std::int64_t events() const { return last_id_; }
    const std::vector<std::string>& history() const { return history_; }
    const belay::Registry& registry() const { return registry_; }
    const belay::engine::TurnOptions& options() const { return options_; }

 private:
    double turn(const std::vector<std::string>& messages) {
        belay::engine::TurnRequest request;
        request.instance_id = "p";
        request.now_ms = 1800000000000;
        request.messages = {messages.begin(), messages.end()};
        const auto began = Clock::now();
        auto result = belay::engine::run_turn(request, registry_, options_, std::move(live_));
        const double took = seconds_since(began);
        if (!result.execution) {
            throw std::runtime_error("a turn was not decided: " + result.text);
        }
        live_ = std::move(result.execution);
        for (auto& event : result.decision.events) {
            last_id_ = event.id;
            history_.push_back(std::move(event.text));
        }
        return took;
    }

    belay::Registry registry_;
    belay::engine::TurnOptions options_;
    std::unique_ptr<belay::engine::Execution> live_;
    std::int64_t last_id_ = 0;
    std::vector<std::string> history_;
};

// The median of some turns, in microseconds.
double turn_microseconds(PairsInstance& instance) {
    std::vector<double> times;
    for (int i = 0; i < 201; ++i) {
        times.push_back(instance.next() * 1e6);
    }
    std::nth_element(times.begin(), times.begin() + 100, times.end());
    return times[100];
}

void measure_turns() {
    PairsInstance instance;
    for (int i = 0; i < 1000; ++i) {
        PairsInstance().next();  // Caches and allocator get warm.
    }
    std::vector<double> few;
    for (int i = 0; i < 100; ++i) {
        PairsInstance fresh;
        fresh.next();
        fresh.next();
        few.push_back(fresh.next() * 1e6);  // 11 events are stored
    }
    std::nth_element(few.begin(), few.begin() + 50, few.end());
    while (instance.events() < 10000) {
        instance.next();
    }
    print("turn_10_us", few[50]);
    print("turn_10000_us", turn_microseconds(instance));
}

// Events per second of a replay of 10,000 events, with and without reading them.
void measure_replay() {
    PairsInstance instance;
    while (instance.events() < 10000) {
        instance.next();
    }
    const std::vector<std::string_view> texts(instance.history().begin(), instance.history().end());
    const auto* const code = instance.registry().find(pairs.name, std::nullopt);
    double best_parse = 1e9;
    double best_replay = 1e9;
    for (int i = 0; i < 7; ++i) {
        const auto began = Clock::now();
        const auto events = belay::engine::parse_history(texts);
        best_parse = std::min(best_parse, seconds_since(began));
        const auto parsed = Clock::now();
        belay::engine::ExecutionFacts facts;
        facts.instance_id = "p";
        belay::engine::Execution execution(std::move(facts), *code, {});
        execution.replay(events);
        execution.boundary();
        best_replay = std::min(best_replay, seconds_since(parsed));
    }
    const auto count = static_cast<double>(texts.size());
    print("replay_rate", count / (best_parse + best_replay));
    print("replay_parsed_rate", count / best_replay);
}

std::size_t allocated_bytes() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

// 100,000 instances of Hello that wait, in the cache as those of a Runtime.
void measure_memory() {
    constexpr std::size_t kInstances = 100000;
    belay::Registry registry;
    registry.on(hello, &run_hello);
    belay::engine::CacheLimits limits;
    limits.instances = kInstances;
    belay::engine::Cache cache(limits);
    const std::size_t before = allocated_bytes();
    for (std::size_t i = 0; i < kInstances; ++i) {
        const std::string id = "instance-" + std::to_string(i);
        const std::string message = start_message(id, hello.name, 1);
        belay::engine::TurnRequest request;
        request.instance_id = id;
        request.now_ms = 1800000000000;
        request.messages = {message};
        auto result = belay::engine::run_turn(request, registry, {});
        auto& last = result.decision.events.back();
        cache.put(std::move(result.execution),
                  {.execution_id = 1, .last_event_id = last.id, .last_event_text = last.text},
                  request.now_ms);
    }
    const std::size_t after = allocated_bytes();
    if (cache.stats().instances != kInstances) {
        throw std::runtime_error(std::to_string(cache.stats().instances) +
                                 " instances are in the cache, not all");
    }
    print("instance_bytes", static_cast<double>(after - before) / kInstances);
    print("instances_mib", static_cast<double>(after - before) / (1 << 20));
    print("counted_mib", static_cast<double>(cache.stats().bytes) / (1 << 20));
}

// Orchestrations per second in a World that keeps instances in memory and verifies nothing.
void measure_world() {
    constexpr int kInstances = 20000;
    belay::testing::World world;
    world.cache(belay::testing::CacheMode::kOn);
    world.verify_replay(false);
    world.on(hello, &run_hello);
    world.on(step, [](int n) { return n + 1; });
    const double cpu = cpu_seconds();
    for (int i = 0; i < kInstances; ++i) {
        world.start(hello, i);
    }
    world.run();
    // One thread, and nothing waits: CPU time, so that other programs do not count.
    print("rate", kInstances / (cpu_seconds() - cpu));
    print("cpu_us", (cpu_seconds() - cpu) * 1e6 / kInstances);
    for (const std::string& id : world.instances()) {
        if (world.state(id).status != "Completed") {
            throw std::runtime_error(id + " has not completed");
        }
    }
}

void measure_local() {
    measure_world();
    measure_turns();
    measure_replay();
    measure_memory();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) {
            throw std::invalid_argument("usage: clients_runtime runtime local");
        }
        if (std::string(argv[1]) != "runtime" || std::string(argv[2]) != "local") {
            throw std::invalid_argument("no measurement " + std::string(argv[2]) + " of " +
                                        argv[1]);
        }
        measure_local();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "clients_runtime: %s\n", error.what());
        return 1;
    }
}
