// Orchestrations against a server: one run of one measurement.
//
//     clients_durable SYSTEM MEASUREMENT [NAME=VALUE]...
//
// SYSTEM is runtime (belay::Runtime, durable functions) or dispatcher (belay::Dispatcher and
// belay::Worker, the same turns written by hand). The database is libpq's and empty; the program
// makes a hub in it. Prints lines "NAME VALUE". It fails unless every instance has ended with its
// own result, every activity was run once, and the histories are whole. bench/clients/README.md
// explains measurements and figures.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <belay/admin.hpp>
#include <belay/dispatcher.hpp>
#include <belay/runtime.hpp>
#include <belay/worker.hpp>

#include "common.hpp"

namespace {

using belay::Context;
using belay::Durable;
using belay::Hub;
using bench::cpu_seconds;
using bench::print;
using bench::Settings;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

const std::string kHub = "bench";
const std::string kSystemName = "bench_system";  // of its connections
constexpr auto kWarmUp = milliseconds(500);
constexpr auto kTooLong = std::chrono::minutes(10);

double seconds_since(Clock::time_point then) {
    return Seconds(Clock::now() - then).count();
}

// ---- The orchestrations. ----

// An activity's input is its own number, its result the next one; so an orchestration of n
// activities in a row returns its input + n.
inline constexpr belay::ActivityOf<int(int)> step{"Step"};
inline constexpr belay::OrchestrationOf<int(int)> one{"Steps1"};
inline constexpr belay::OrchestrationOf<int(int)> three{"Steps3"};
inline constexpr belay::OrchestrationOf<int(std::pair<int, int>)> chain{"Chain"};
inline constexpr belay::OrchestrationOf<int(int)> fan_out{"FanOut"};
inline constexpr belay::OrchestrationOf<int(int)> listener{"Listener"};

Durable<int> run_one(Context ctx, int n) {
    int result = co_await ctx.call(step, n);
    co_return result;
}

Durable<int> run_three(Context ctx, int n) {
    for (int i = 0; i < 3; ++i) {
        n = co_await ctx.call(step, n);
    }
    co_return n;
}

Durable<int> run_chain(Context ctx, std::pair<int, int> from_and_length) {
    int n = from_and_length.first;
    for (int i = 0; i < from_and_length.second; ++i) {
        n = co_await ctx.call(step, n);
    }
    co_return n;
}

Durable<int> run_fan_out(Context ctx, int width) {
    std::vector<belay::Call<int>> calls;
    for (int i = 0; i < width; ++i) {
        calls.push_back(ctx.call(step, i));
    }
    std::vector<int> results = co_await belay::when_all(std::move(calls));
    int sum = 0;
    for (const int result : results) {
        sum += result;
    }
    co_return sum;
}

// Takes so many messages and returns their sum; its status is how many it has taken.
Durable<int> listen(Context ctx, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        ctx.set_status(std::to_string(i));
        int number = co_await ctx.dequeue<int>("numbers");
        sum += number;
    }
    co_return sum;
}

// Counts how often each activity was run.
class Effects {
 public:
    explicit Effects(std::size_t most) : runs_(most) {}

    int run(int activity) {
        runs_.at(static_cast<std::size_t>(activity)).fetch_add(1, std::memory_order_relaxed);
        return activity + 1;
    }

    // Throws unless the first `activities` have been run once each, and no other.
    void check(std::size_t activities) const {
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            if (runs_[i] != (i < activities ? 1 : 0)) {
                throw std::runtime_error("activity " + std::to_string(i) + " was run " +
                                         std::to_string(runs_[i]) + " times");
            }
        }
    }

 private:
    std::vector<std::atomic<std::uint8_t>> runs_;
};

void check_count(Hub& hub, const std::string& rows, std::size_t expected) {
    const auto count =
        hub.connection().exec("SELECT count(*) FROM " + kHub + "." + rows).get<std::int64_t>(0, 0);
    if (count != static_cast<std::int64_t>(expected)) {
        throw std::runtime_error(std::to_string(count) + " rows of " + rows + " instead of " +
                                 std::to_string(expected));
    }
}

// ---- The systems. ----

struct Sizes {
    int activities = 8;  // at once
    std::optional<std::size_t> cache_bytes = {};
    std::function<void(int activity)> on_activity = {};
};

// Serves all orchestrations until it is stopped.
class System {
 public:
    virtual ~System() = default;
    virtual void stop() = 0;
    // Known when it has stopped.
    virtual std::uint64_t turns() const = 0;
    // Waits for the server, for work included, without those of activities.
    virtual std::uint64_t turn_round_trips() const = 0;
    // The same with those of activities.
    virtual std::uint64_t round_trips() const = 0;
    virtual std::uint64_t cache_hits() const = 0;
};

[[noreturn]] void fail_loudly(const std::string& what) {
    std::fprintf(stderr, "clients_durable: %s\n", what.c_str());
    std::_Exit(1);
}

template <typename Loop>
std::thread run_in_thread(Loop& loop) {
    return std::thread([&loop] {
        try {
            loop.run();
        } catch (const std::exception& error) {
            fail_loudly(error.what());
        }
    });
}

class RuntimeSystem : public System {
 public:
    RuntimeSystem(const Sizes& sizes, Effects& effects) : runtime_(options_of(sizes)) {
        runtime_.on(one, &run_one);
        runtime_.on(three, &run_three);
        runtime_.on(chain, &run_chain);
        runtime_.on(fan_out, &run_fan_out);
        runtime_.on(listener, &listen);
        runtime_.on(step, [&effects, told = sizes.on_activity](int activity) {
            if (told) {
                told(activity);
            }
            return effects.run(activity);
        });
        thread_ = run_in_thread(runtime_);
    }
    ~RuntimeSystem() override { stop(); }
    void stop() override {
        runtime_.stop();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    std::uint64_t turns() const override { return runtime_.stats().turns; }
    std::uint64_t turn_round_trips() const override { return runtime_.stats().turn_round_trips; }
    std::uint64_t round_trips() const override { return runtime_.stats().round_trips; }
    std::uint64_t cache_hits() const override { return runtime_.stats().cache_hits; }

 private:
    static belay::RuntimeOptions options_of(const Sizes& sizes) {
        belay::RuntimeOptions options;
        options.connection.conninfo = "application_name=" + kSystemName;
        options.hub = kHub;
        options.activity_concurrency = sizes.activities;
        options.cache_bytes = sizes.cache_bytes.value_or(options.cache_bytes);
        return options;
    }

    belay::Runtime runtime_;
    std::thread thread_;
};

// The number behind a name in a message: {"ActivityCompleted":{…,"id":2,"result":"7"}}.
std::int64_t number_behind(std::string_view text, std::string_view name) {
    const auto at = text.find(name);
    const auto digit =
        at == std::string_view::npos ? at : text.find_first_of("0123456789", at + name.size());
    std::int64_t number = 0;
    if (digit == std::string_view::npos ||
        std::from_chars(text.data() + digit, text.data() + text.size(), number).ec != std::errc()) {
        throw std::runtime_error("no " + std::string(name) + " in " + std::string(text));
    }
    return number;
}

// The turns of Steps1 and Steps3. Each follows from its message alone: events 2, 4, … schedule the
// activities, 3, 5, … are their completions. The server leaves out the history, which is not read.
class Hand {
 public:
    explicit Hand(int steps) : steps_(steps) {}

    belay::TurnOutcome operator()(belay::TurnContext& turn) const {
        const std::string& message = turn.messages().at(0).text;
        belay::Decision decision = turn.decision();
        std::string metadata =
            R"({"orchestration_name":")" + turn.name() + R"(","orchestration_version":"1.0.0")";
        std::int64_t last = 1;
        std::int64_t value = 0;
        if (message.starts_with(R"({"StartOrchestration")")) {
            value = number_behind(message, R"("input":)");
            add(decision, turn, 1, "null", "OrchestrationStarted",
                R"("name":")" + turn.name() + R"(","version":"1.0.0","input":")" +
                    std::to_string(value) + R"(","parent_instance":null,"parent_id":null)");
        } else {
            const std::int64_t scheduled = number_behind(message, R"("id":)");
            value = number_behind(message, R"("result":)");
            last = scheduled + 1;
            add(decision, turn, last, std::to_string(scheduled), "ActivityCompleted",
                R"("result":")" + std::to_string(value) + '"');
        }
        const std::string text = std::to_string(value);
        if (last == 2 * steps_ + 1) {
            add(decision, turn, last + 1, "null", "OrchestrationCompleted",
                R"("output":")" + text + '"');
            metadata += R"(,"status":"Completed","output":")" + text + '"';
        } else {
            add(decision, turn, last + 1, "null", "ActivityScheduled",
                R"("name":"Step","input":")" + text + '"');
            decision.worker_items.push_back(R"({"ActivityExecute":{"instance":")" +
                                            turn.instance_id() + R"(","execution_id":1,"id":)" +
                                            std::to_string(last + 1) +
                                            R"(,"name":"Step","input":")" + text + R"("}})");
        }
        decision.metadata = metadata + R"(,"cache":{"owner":")" + kOwner + R"(","events":)" +
                            std::to_string(last + 1) + "}}";
        return belay::TurnOutcome::decided(std::move(decision));
    }

    static constexpr const char* kOwner = "hand";

 private:
    static void add(belay::Decision& decision, const belay::TurnContext& turn, std::int64_t id,
                    const std::string& source, const std::string& type, const std::string& fields) {
        const auto now = std::chrono::duration_cast<milliseconds>(
            std::chrono::system_clock::now().time_since_epoch());
        decision.history_delta.push_back(
            {.event_id = id,
             .event_data = R"({"event_id":)" + std::to_string(id) + R"(,"source_event_id":)" +
                           source + R"(,"instance_id":")" + turn.instance_id() +
                           R"(","execution_id":1,"timestamp_ms":)" + std::to_string(now.count()) +
                           R"(,"duroxide_version":"0.1.30","type":")" + type + "\"," + fields + "}",
             .event_type = type});
    }

    int steps_;
};

class DispatcherSystem : public System {
 public:
    DispatcherSystem(const Sizes& sizes, Effects& effects)
        : dispatcher_(dispatcher_options()), worker_(worker_options(sizes)) {
        dispatcher_.on(one.name, Hand(1));
        dispatcher_.on(three.name, Hand(3));
        worker_.on_activity(step.name, [&effects](belay::Task& task) {
            const int input = static_cast<int>(number_behind(task.payload_text(), ""));
            return belay::completed_text(std::to_string(effects.run(input)));
        });
        dispatcher_.share_calls_with(worker_);
        threads_.push_back(run_in_thread(dispatcher_));
        threads_.push_back(run_in_thread(worker_));
    }
    ~DispatcherSystem() override { stop(); }
    void stop() override {
        dispatcher_.stop();
        worker_.stop();
        for (std::thread& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }
    std::uint64_t turns() const override { return turns_; }
    std::uint64_t turn_round_trips() const override { return dispatcher_.round_trips(); }
    std::uint64_t round_trips() const override {
        return dispatcher_.round_trips() + worker_.round_trips();
    }
    std::uint64_t cache_hits() const override { return 0; }

 private:
    // As those of a Runtime.
    belay::DispatcherOptions dispatcher_options() {
        const belay::RuntimeOptions runtime;
        belay::DispatcherOptions options;
        options.hub = kHub;
        options.concurrency =
            std::max(16, 2 * static_cast<int>(std::thread::hardware_concurrency()));
        options.connections = runtime.connections;
        options.cache_owner = Hand::kOwner;
        options.on_event = [this](const belay::DispatcherEvent& event) {
            using Kind = belay::DispatcherEvent::Kind;
            if (event.kind == Kind::kDecided) {
                ++turns_;
            } else if (event.kind != Kind::kFetched) {
                fail_loudly("event of the dispatcher: " + event.message);
            }
        };
        return options;
    }
    static belay::WorkerOptions worker_options(const Sizes& sizes) {
        belay::WorkerOptions options;
        options.hub = kHub;
        options.concurrency = sizes.activities;
        options.connections = belay::RuntimeOptions().connections;
        return options;
    }

    std::atomic<std::uint64_t> turns_ = 0;
    belay::Dispatcher dispatcher_;
    belay::Worker worker_;
    std::vector<std::thread> threads_;
};

std::unique_ptr<System> make_system(const std::string& name, const Sizes& sizes, Effects& effects) {
    if (name == "runtime") {
        return std::make_unique<RuntimeSystem>(sizes, effects);
    }
    if (name == "dispatcher") {
        return std::make_unique<DispatcherSystem>(sizes, effects);
    }
    throw std::invalid_argument("no system " + name);
}

// ---- The measurements. ----

// CPU seconds of the server's processes whose row of pg_stat_activity meets the condition.
double server_seconds(Hub& hub, const std::string& condition) {
    double sum = 0;
    const auto pids =
        hub.connection().exec("SELECT pid::bigint FROM pg_stat_activity WHERE " + condition);
    for (int row = 0; row < pids.size(); ++row) {
        std::ifstream file("/proc/" + std::to_string(pids.get<std::int64_t>(row, 0)) +
                           "/schedstat");
        std::int64_t nanoseconds = 0;
        if (!(file >> nanoseconds)) {
            throw std::runtime_error("the CPU time of the server's processes cannot be read");
        }
        sum += static_cast<double>(nanoseconds) * 1e-9;
    }
    return sum;
}

// Of those that serve the system. They stay while it runs.
double system_seconds(Hub& hub) {
    return server_seconds(hub, "application_name = '" + kSystemName + "'");
}

// Of all sessions of the database but the caller's.
double session_seconds(Hub& hub) {
    return server_seconds(hub,
                          "datname = current_database() AND backend_type = 'client backend' AND "
                          "pid <> pg_backend_pid()");
}

// Transactions of the database that have committed, when the other sessions have ended.
double commits(Hub& hub) {
    return static_cast<double>(
        hub.connection()
            .exec("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
            .get<std::int64_t>(0, 0));
}

// What is left when everything has ended: the histories, and nothing in the queues.
void check_end(Hub& hub, System& system, std::size_t instances, std::size_t events) {
    system.stop();
    check_count(hub, "instances", instances);
    check_count(hub, "executions WHERE status = 'Completed'", instances);
    check_count(hub, "history", events);
    check_count(hub, "orchestrator_queue", 0);
    check_count(hub, "worker_queue", 0);
}

// Starts an instance, and waits until it has ended with this result.
template <typename Orchestration, typename Input>
void run_instance(Hub& hub, const Orchestration& orchestration, const Input& input, int expected) {
    const int result = belay::start(hub, orchestration, input).wait(kTooLong);
    if (result != expected) {
        throw std::runtime_error("an instance returned " + std::to_string(result) + " instead of " +
                                 std::to_string(expected));
    }
}

// So many instances at once: each of `handlers` clients, with a connection of its own, starts one,
// waits for its result, and starts the next one.
void workflow(const std::string& name, Hub& hub, const Settings& settings) {
    const int steps = static_cast<int>(settings["steps"]);
    if (steps != 1 && steps != 3) {
        throw std::invalid_argument("steps must be 1 or 3");
    }
    const auto& orchestration = steps == 1 ? one : three;
    const std::size_t clients = settings["handlers"];
    constexpr std::size_t kMostPerSecond = 50000;
    Effects effects((settings["seconds"] + 1) * kMostPerSecond * static_cast<std::size_t>(steps));
    auto system = make_system(name, {.activities = static_cast<int>(clients)}, effects);
    std::vector<std::unique_ptr<belay::Connection>> connections;
    for (std::size_t i = 0; i < clients; ++i) {
        connections.push_back(std::make_unique<belay::Connection>());
    }
    std::atomic<int> count = 0;
    std::mutex mutex;
    std::string failure;
    const auto run_for = [&](milliseconds length) {
        const auto end = Clock::now() + length;
        {
            std::vector<std::jthread> threads;
            for (auto& connection : connections) {
                threads.emplace_back([&] {
                    try {
                        Hub client(*connection, kHub);
                        while (Clock::now() < end) {
                            const int input = steps * count++;
                            run_instance(client, orchestration, input, input + steps);
                        }
                    } catch (const std::exception& error) {
                        const std::lock_guard lock(mutex);
                        failure = error.what();
                    }
                });
            }
        }
        if (!failure.empty()) {
            throw std::runtime_error(failure);
        }
    };
    run_for(kWarmUp);
    const int before = count;
    const std::uint64_t turns_before = system->turns();
    const auto begin = Clock::now();
    const double cpu = cpu_seconds();
    const double server = session_seconds(hub);
    run_for(std::chrono::seconds(settings["seconds"]));
    const double seconds = seconds_since(begin);
    const double ended = count - before;
    print("rate", ended / seconds);
    print("server_us", (session_seconds(hub) - server) * 1e6 / ended);
    print("cpu_us", (cpu_seconds() - cpu) * 1e6 / ended);
    print("turns_rate", static_cast<double>(system->turns() - turns_before) / seconds);
    const auto instances = static_cast<std::size_t>(count);
    const auto each = static_cast<std::size_t>(steps);
    check_end(hub, *system, instances, instances * (2 + 2 * each));
    effects.check(instances * each);
    const std::uint64_t turns = system->turns();
    if (turns != instances * (1 + each)) {
        throw std::runtime_error(std::to_string(turns) + " turns of " + std::to_string(instances) +
                                 " instances");
    }
    print("trips", static_cast<double>(system->turn_round_trips()) / static_cast<double>(turns));
    // Of a workflow, with what its client does.
    std::uint64_t all_trips = system->round_trips();
    for (const auto& connection : connections) {
        all_trips += connection->round_trips();
    }
    print("all_trips", static_cast<double>(all_trips) / count);
    connections.clear();
    print("commits", commits(hub) / count);
}

// Activities one after the other. The time of one, with its turn: of short chains, and of the last
// tenth of a long one; with instances in memory, and with a replay in every turn.
void chains(const std::string& name, Hub& hub, const Settings& settings) {
    constexpr int kShort = 20;
    constexpr int kShortChains = 10;
    const int length = static_cast<int>(settings["length"]);
    std::size_t instances = 0;
    std::size_t activities = 0;
    for (const bool cached : {true, false}) {
        std::atomic<int> measured_from = -1;
        Clock::time_point since;
        const int all = kShort * kShortChains + length;
        Effects effects(static_cast<std::size_t>(all));
        Sizes sizes;
        if (!cached) {
            sizes.cache_bytes = 0;
        }
        sizes.on_activity = [&](int activity) {
            if (activity == measured_from) {
                since = Clock::now();
            }
        };
        auto system = make_system(name, sizes, effects);
        run_instance(hub, chain, std::pair(0, kShort), kShort);  // Caches get warm.
        const auto began = Clock::now();
        for (int i = 1; i < kShortChains; ++i) {
            run_instance(hub, chain, std::pair(i * kShort, kShort), (i + 1) * kShort);
        }
        print(cached ? "short_us" : "replayed_short_us",
              seconds_since(began) * 1e6 / (kShort * (kShortChains - 1)));
        const int tenth = std::max(1, length / 10);
        measured_from = all - tenth;
        run_instance(hub, chain, std::pair(all - length, length), all);
        print(cached ? "long_us" : "replayed_long_us", seconds_since(since) * 1e6 / tenth);
        instances += kShortChains + 1;
        activities += static_cast<std::size_t>(all);
        check_end(hub, *system, instances, 2 * instances + 2 * activities);
        effects.check(static_cast<std::size_t>(all));
        if ((system->cache_hits() > 0) != cached) {
            throw std::runtime_error(std::to_string(system->cache_hits()) + " turns of the cache");
        }
    }
}

// The same number of activities of one instance, and as items of the bare worker queue.
void fan_out_and_queue(const std::string& name, Hub& hub, const Settings& settings) {
    const int width = static_cast<int>(settings["width"]);
    const Sizes sizes{.activities = static_cast<int>(settings["handlers"])};
    {
        Effects effects(static_cast<std::size_t>(width) + 1);
        auto system = make_system(name, sizes, effects);
        run_instance(hub, chain, std::pair(width, 1), width + 1);  // Caches get warm.
        const std::uint64_t turns_before = system->turns();
        const auto began = Clock::now();
        run_instance(hub, fan_out, width, width * (width + 1) / 2);
        print("fan_ms", seconds_since(began) * 1000);
        system->stop();
        print("turns", static_cast<double>(system->turns() - turns_before));
        const auto events = 2 * (static_cast<std::size_t>(width) + 1) + 2 * 2;
        check_end(hub, *system, 2, events);
        effects.check(static_cast<std::size_t>(width) + 1);
    }
    Effects effects(static_cast<std::size_t>(width));
    std::atomic<int> done = 0;
    belay::WorkerOptions options;
    options.hub = kHub;
    options.concurrency = sizes.activities;
    options.on_event = [&done](const belay::WorkerEvent& event) {
        if (event.kind == belay::WorkerEvent::Kind::kCompleted && ++done > 0) {
            done.notify_one();
        }
    };
    belay::Worker worker(options);
    worker.on_activity(step.name, [&effects](belay::Task& task) {
        effects.run(static_cast<int>(number_behind(task.payload_text(), "")));
        return belay::completed();
    });
    std::thread thread = run_in_thread(worker);
    std::vector<belay::NewWorkItem> items;
    for (int i = 0; i < width; ++i) {
        items.push_back({.work_item = R"({"ActivityExecute":{"name":"Step","input":")" +
                                      std::to_string(i) + R"("}})"});
    }
    const auto began = Clock::now();
    hub.provider().enqueue_worker_items(items);
    for (int seen = done; seen < width; seen = done) {
        done.wait(seen);
    }
    print("queue_ms", seconds_since(began) * 1000);
    worker.stop();
    thread.join();
    effects.check(static_cast<std::size_t>(width));
    check_count(hub, "worker_queue", 0);
}

// Adds events that nothing waits for, so many that the instance has `events`.
void fill_history(Hub& hub, const std::string& id, int events) {
    hub.connection().exec(
        "INSERT INTO " + kHub +
        ".history_turns (instance_id, execution_id, first_event_id, last_event_id, event_types, "
        "event_data, created_at) SELECT '" +
        id +
        "', 1, e, e, ARRAY['ExternalEvent'], ARRAY[jsonb_build_object('event_id', e, "
        "'source_event_id', null, 'instance_id', '" +
        id +
        "', 'execution_id', 1, 'timestamp_ms', 1, 'duroxide_version', '0.1.30', 'type', "
        "'ExternalEvent', 'name', 'nobody', 'data', repeat('x', 60))::text], now() FROM "
        "generate_series((SELECT max(last_event_id) + 1 FROM " +
        kHub + ".history_turns WHERE instance_id = '" + id + "'), " + std::to_string(events) +
        ") AS e");
    hub.connection().exec("VACUUM ANALYZE");
}

// Of the turns of one kind of instance.
struct Costs {
    double turns = 0;
    double seconds = 0;
    double server = 0;  // CPU seconds
    double client = 0;
};

// Turns of an instance in memory, each with one message and three events.
void listen_to_messages(const std::string& name, Hub& hub, const std::string& id, int events,
                        int turns, Costs& costs) {
    Effects effects(0);
    auto started = belay::start(hub, listener, turns + 1, {.instance_id = id});
    const auto wait_for = [&](int taken) {
        const std::string wanted = std::to_string(taken);
        started.wait_status([&](const belay::OptionalText& status) { return status == wanted; },
                            kTooLong);
    };
    {
        auto first = make_system(name, {}, effects);
        wait_for(0);
    }
    fill_history(hub, id, events);
    auto system = make_system(name, {}, effects);
    hub.orchestrations().raise_text(id, "numbers", "0", true);
    wait_for(1);  // Replays.
    const double server = system_seconds(hub);
    const double client = cpu_seconds();
    const auto began = Clock::now();
    for (int i = 1; i < turns; ++i) {
        hub.orchestrations().raise_text(id, "numbers", std::to_string(i), true);
        wait_for(i + 1);
    }
    costs.turns += turns - 1;
    costs.seconds += seconds_since(began);
    costs.server += system_seconds(hub) - server;
    costs.client += cpu_seconds() - client;
    hub.orchestrations().raise_text(id, "numbers", std::to_string(turns), true);
    const int sum = started.wait(kTooLong);
    if (sum != turns * (turns + 1) / 2) {
        throw std::runtime_error("the sum is " + std::to_string(sum));
    }
    system->stop();
    if (system->cache_hits() != static_cast<std::uint64_t>(turns)) {
        throw std::runtime_error(std::to_string(system->cache_hits()) + " turns of the cache");
    }
}

// A turn of an instance with few events and of one with many, in turn: time, and CPU time of the
// server's processes that serve turns and of this process, which also sends the messages.
void history(const std::string& name, Hub& hub, const Settings& settings) {
    constexpr int kRounds = 5;
    constexpr int kShort = 20;
    const int turns = static_cast<int>(settings["turns"]);
    Costs few;
    Costs many;
    for (int round = 0; round < kRounds; ++round) {
        const std::string number = std::to_string(round);
        listen_to_messages(name, hub, "short" + number, kShort, turns, few);
        const int events = static_cast<int>(settings["events"]);
        listen_to_messages(name, hub, "long" + number, events, turns, many);
    }
    check_count(hub, "executions WHERE status = 'Completed'", 2 * kRounds);
    for (const Costs* const costs : {&few, &many}) {
        const std::string prefix = costs == &few ? "short" : "long";
        print((prefix + "_us").c_str(), costs->seconds * 1e6 / costs->turns);
        print((prefix + "_server_us").c_str(), costs->server * 1e6 / costs->turns);
        print((prefix + "_client_us").c_str(), costs->client * 1e6 / costs->turns);
    }
}

using Measure = void (*)(const std::string&, Hub&, const Settings&);

Measure measurement_of(const std::string& name, const std::string& system) {
    if (name == "workflow") {
        return workflow;
    }
    if (name == "chain" && system == "runtime") {
        return chains;
    }
    if (name == "history" && system == "runtime") {
        return history;
    }
    if (name == "fan_out" && system == "runtime") {
        return fan_out_and_queue;
    }
    throw std::invalid_argument("no measurement " + name + " of " + system);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) {
            throw std::invalid_argument(
                "usage: clients_durable SYSTEM MEASUREMENT [NAME=NUMBER]...");
        }
        const Measure measure = measurement_of(argv[2], argv[1]);
        belay::Connection connection;
        connection.exec("CREATE EXTENSION belay");
        belay::Admin(connection).create_hub(kHub);
        Hub hub(connection, kHub);
        measure(argv[1], hub, Settings(argc - 3, argv + 3));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "clients_durable: %s\n", error.what());
        return 1;
    }
}
