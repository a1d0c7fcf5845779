// What belay's client library does with jobs: one run of one measurement.
//
//     clients_belay SYSTEM MEASUREMENT [NAME=VALUE]...
//
// SYSTEM is worker (work items and belay::Worker), tasks (tasks and belay::Worker) or engine
// (the calls that a worker is made of, on one connection). The database is libpq's and empty; the
// program makes a hub in it. Prints lines "NAME VALUE". It fails if a job was not done, or not
// done exactly once. bench/clients/README.md explains measurements and figures.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <belay/admin.hpp>
#include <belay/provider.hpp>
#include <belay/queue.hpp>
#include <belay/worker.hpp>

#include "common.hpp"

namespace {

using belay::Hub;
using bench::cpu_seconds;
using bench::print;
using bench::Settings;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

const std::string kHub = "bench";
const std::string kQueue = "bench";
const std::string kPadding(80, 'x');
constexpr std::size_t kBatch = 1000;
constexpr auto kTooLong = std::chrono::minutes(10);

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values.at(static_cast<std::size_t>(share * static_cast<double>(values.size() - 1)));
}

// Counts how often each job was run, and how many completions have been reported.
class Effects {
 public:
    explicit Effects(std::size_t jobs) : runs_(jobs) {}

    void run(std::size_t job) {
        std::call_once(begun_, [this] {
            began_at_ = Clock::now();
            cpu_at_begin_ = cpu_seconds();
        });
        runs_.at(job).fetch_add(1, std::memory_order_relaxed);
    }

    void completed() {
        if (completed_.fetch_add(1) + 1 >= expected_) {
            const std::lock_guard lock(mutex_);
            changed_.notify_all();
        }
    }

    // An event that a run without faults does not have.
    void trouble(const std::string& what) {
        const std::lock_guard lock(mutex_);
        trouble_ = trouble_.empty() ? what : trouble_;
        changed_.notify_all();
    }

    // Waits until so many jobs have been completed in all.
    void wait(std::size_t count) {
        std::unique_lock lock(mutex_);
        expected_ = count;
        const bool in_time = changed_.wait_for(
            lock, kTooLong, [&] { return completed_ >= count || !trouble_.empty(); });
        if (!trouble_.empty() || !in_time) {
            throw std::runtime_error(trouble_.empty() ? "the jobs were not done in time"
                                                      : trouble_);
        }
    }

    // Since the first job was run.
    double seconds() const { return Seconds(Clock::now() - began_at_).count(); }
    double cpu() const { return cpu_seconds() - cpu_at_begin_; }

    // Throws unless the first `jobs` have been run once each, and no other.
    void check(std::size_t jobs) const {
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            if (runs_[i] != (i < jobs ? 1 : 0)) {
                throw std::runtime_error("job " + std::to_string(i) + " was run " +
                                         std::to_string(runs_[i]) + " times");
            }
        }
        if (completed_ != jobs) {
            throw std::runtime_error(std::to_string(completed_) + " completions of " +
                                     std::to_string(jobs) + " jobs");
        }
    }

 private:
    std::vector<std::atomic<int>> runs_;
    std::once_flag begun_;
    Clock::time_point began_at_{};
    double cpu_at_begin_ = 0;
    std::atomic<std::size_t> completed_ = 0;
    std::atomic<std::size_t> expected_ = SIZE_MAX;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string trouble_;
};

using Handler = std::function<void(std::size_t job)>;

// A worker that runs until this object goes.
class Running {
 public:
    virtual ~Running() = default;
};

class RunningWorker : public Running {
 public:
    template <typename SetUp>
    RunningWorker(std::size_t handlers, std::size_t connections, Effects& effects,
                  const SetUp& set_up)
        : worker_(options_of(handlers, connections, effects)) {
        set_up(worker_);
        thread_ = std::thread([this, &effects] {
            try {
                worker_.run();
            } catch (const std::exception& error) {
                effects.trouble(error.what());
            }
        });
    }
    ~RunningWorker() override {
        worker_.stop();
        thread_.join();
    }

 private:
    static belay::WorkerOptions options_of(std::size_t handlers, std::size_t connections,
                                           Effects& effects) {
        belay::WorkerOptions options;
        options.hub = kHub;
        options.concurrency = static_cast<int>(handlers);
        options.connections = static_cast<int>(connections);
        options.on_event = [&effects](const belay::WorkerEvent& event) {
            using Kind = belay::WorkerEvent::Kind;
            if (event.kind == Kind::kCompleted) {
                effects.completed();
            } else if (event.kind != Kind::kReceived) {
                effects.trouble("event of the worker: " + event.message);
            }
        };
        return options;
    }

    belay::Worker worker_;
    std::thread thread_;
};

// One of belay's two kinds of jobs.
class Jobs {
 public:
    virtual ~Jobs() = default;
    // Enqueues jobs first, first + 1, ...: one call.
    virtual void enqueue(Hub& hub, std::size_t first, std::size_t count) const = 0;
    virtual void enqueue_one(Hub& hub, std::size_t job) const = 0;
    virtual std::size_t unfinished(Hub& hub) const = 0;
    virtual std::unique_ptr<Running> work(std::size_t handlers, std::size_t connections,
                                          Effects& effects, const Handler& handler) const = 0;
};

// What stands in front of the padding.
std::size_t number_in(std::string_view text) {
    const auto digit = text.find_first_of("0123456789");
    std::size_t number = SIZE_MAX;
    if (digit != std::string_view::npos) {
        std::from_chars(text.data() + digit, text.data() + text.size(), number);
    }
    return number;
}

// The exact number of rows: depths stop counting at 10,000.
std::size_t count_of(Hub& hub, const std::string& rows) {
    return static_cast<std::size_t>(
        hub.connection().exec("SELECT count(*) FROM " + kHub + "." + rows).get<std::int64_t>(0, 0));
}

class WorkItems : public Jobs {
 public:
    void enqueue(Hub& hub, std::size_t first, std::size_t count) const override {
        std::vector<belay::NewWorkItem> items(count);
        for (std::size_t i = 0; i < count; ++i) {
            items[i].work_item = text(first + i);
        }
        hub.provider().enqueue_worker_items(items);
    }
    void enqueue_one(Hub& hub, std::size_t job) const override {
        hub.provider().enqueue_worker_work({.work_item = text(job)});
    }
    std::size_t unfinished(Hub& hub) const override { return count_of(hub, "worker_queue"); }
    std::unique_ptr<Running> work(std::size_t handlers, std::size_t connections, Effects& effects,
                                  const Handler& handler) const override {
        return std::make_unique<RunningWorker>(
            handlers, connections, effects, [&handler](belay::Worker& worker) {
                worker.on_activity("Bench", [&handler](belay::Task& task) {
                    handler(number_in(task.payload_text()));
                    return belay::completed();
                });
            });
    }

 private:
    static std::string text(std::size_t job) {
        return R"({"ActivityExecute":{"name":"Bench","input":")" + std::to_string(job) + " " +
               kPadding + R"("}})";
    }
};

class Tasks : public Jobs {
 public:
    void enqueue(Hub& hub, std::size_t first, std::size_t count) const override {
        std::vector<belay::Json> payloads(count);
        for (std::size_t i = 0; i < count; ++i) {
            payloads[i] = payload(first + i);
        }
        belay::Queue(hub, kQueue).send_many(payloads);
    }
    void enqueue_one(Hub& hub, std::size_t job) const override {
        belay::Queue(hub, kQueue).send(payload(job));
    }
    std::size_t unfinished(Hub& hub) const override {
        return count_of(hub, "tasks WHERE terminal_at_ms IS NULL");
    }
    std::unique_ptr<Running> work(std::size_t handlers, std::size_t connections, Effects& effects,
                                  const Handler& handler) const override {
        return std::make_unique<RunningWorker>(handlers, connections, effects,
                                               [&handler](belay::Worker& worker) {
                                                   worker.on(kQueue, [&handler](belay::Task& task) {
                                                       handler(number_in(task.payload_text()));
                                                       return belay::completed();
                                                   });
                                               });
    }

 private:
    static belay::Json payload(std::size_t job) { return {{"n", job}, {"padding", kPadding}}; }
};

// Enqueues all jobs before the clock starts.
void fill(Hub& hub, const Jobs& queue, std::size_t jobs) {
    for (std::size_t first = 0; first < jobs; first += kBatch) {
        queue.enqueue(hub, first, std::min(kBatch, jobs - first));
    }
    hub.connection().exec("VACUUM ANALYZE");
}

void check_left(Hub& hub, const Jobs& queue, std::size_t expected) {
    if (const auto left = queue.unfinished(hub); left != expected) {
        throw std::runtime_error(std::to_string(left) + " jobs in the queue instead of " +
                                 std::to_string(expected));
    }
}

// ---- The measurements. ----

// Jobs of a length, in handlers of one worker; 0 ms is a handler that does nothing.
void drain(Hub& hub, const Jobs& queue, const Settings& settings) {
    const std::size_t jobs = settings["jobs"];
    const milliseconds length(settings["ms"]);
    Effects effects(jobs);
    fill(hub, queue, jobs);
    const Handler handler = [&](std::size_t job) {
        effects.run(job);
        if (length.count() > 0) {
            std::this_thread::sleep_for(length);
        }
    };
    auto worker = queue.work(settings["handlers"], settings["connections"], effects, handler);
    effects.wait(jobs);
    const double seconds = effects.seconds();
    const double cpu = effects.cpu();
    worker.reset();
    effects.check(jobs);
    check_left(hub, queue, 0);
    print("rate", static_cast<double>(jobs) / seconds);
    print("cpu_us", cpu * 1e6 / static_cast<double>(jobs));
    print("cores", cpu / seconds);
}

void enqueue_bulk(Hub& hub, const Jobs& queue, const Settings& settings) {
    const std::size_t jobs = settings["jobs"];
    queue.enqueue(hub, 0, kBatch);
    const auto begin = Clock::now();
    const double cpu = cpu_seconds();
    for (std::size_t first = 0; first < jobs; first += kBatch) {
        queue.enqueue(hub, first, std::min(kBatch, jobs - first));
    }
    print("rate", static_cast<double>(jobs) / Seconds(Clock::now() - begin).count());
    print("cpu_us", (cpu_seconds() - cpu) * 1e6 / static_cast<double>(jobs));
    check_left(hub, queue, jobs + kBatch);
}

void enqueue_single(Hub& hub, const Jobs& queue, const Settings& settings) {
    const std::size_t clients = settings["clients"];
    std::vector<std::unique_ptr<belay::Connection>> connections;
    for (std::size_t i = 0; i < clients; ++i) {
        connections.push_back(std::make_unique<belay::Connection>());
        Hub client(*connections.back(), kHub);
        queue.enqueue_one(client, 0);
    }
    std::atomic<std::size_t> count = 0;
    std::mutex mutex;
    std::string failure;
    const auto begin = Clock::now();
    const double cpu = cpu_seconds();
    const auto end = begin + std::chrono::seconds(settings["seconds"]);
    {
        std::vector<std::jthread> threads;
        for (auto& connection : connections) {
            threads.emplace_back([&] {
                try {
                    Hub client(*connection, kHub);
                    while (Clock::now() < end) {
                        queue.enqueue_one(client, ++count);
                    }
                } catch (const std::exception& error) {
                    const std::lock_guard lock(mutex);
                    failure = error.what();
                }
            });
        }
    }
    const double seconds = Seconds(Clock::now() - begin).count();
    if (!failure.empty()) {
        throw std::runtime_error(failure);
    }
    print("rate", static_cast<double>(count) / seconds);
    print("cpu_us", (cpu_seconds() - cpu) * 1e6 / static_cast<double>(count));
    check_left(hub, queue, count + clients);
}

void print_latencies(std::vector<double> times, std::size_t warm_up) {
    times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(warm_up));
    print("p50_ms", percentile(times, 0.5));
    print("p99_ms", percentile(times, 0.99));
}

constexpr std::size_t kWarmUp = 10;
constexpr auto kBetweenJobs = milliseconds(10);

// One job at a time, for a worker that is idle: from the call of enqueue to the event that the
// completion has been committed.
template <typename Enqueue>
void measure_latency(Effects& effects, std::size_t jobs, const Enqueue& enqueue) {
    std::vector<double> times;
    for (std::size_t job = 0; job < jobs; ++job) {
        std::this_thread::sleep_for(kBetweenJobs);
        const auto begin = Clock::now();
        enqueue(job);
        effects.wait(job + 1);
        times.push_back(Seconds(Clock::now() - begin).count() * 1000);
    }
    print_latencies(times, kWarmUp);
}

void latency(Hub& hub, const Jobs& queue, const Settings& settings) {
    const std::size_t jobs = settings["samples"] + kWarmUp;
    Effects effects(jobs);
    const Handler handler = [&](std::size_t job) { effects.run(job); };
    auto worker = queue.work(settings["handlers"], settings["connections"], effects, handler);
    measure_latency(effects, jobs, [&](std::size_t job) { queue.enqueue_one(hub, job); });
    worker.reset();
    effects.check(jobs);
    check_left(hub, queue, 0);
}

// Several workers on a short queue: none may hold jobs while another has free handlers.
void fairness(Hub& hub, const Jobs& queue, const Settings& settings) {
    const std::size_t ready = settings["ready"];
    const std::size_t bursts = settings["bursts"];
    const std::size_t workers = settings["workers"];
    const std::size_t all_handlers = workers * settings["handlers"];
    const milliseconds length(settings["ms"]);
    const std::size_t most =
        bursts * ready + ready +
        settings["seconds"] * 2 * all_handlers * 1000 / std::max<std::size_t>(length.count(), 1);
    Effects effects(most);
    std::atomic<std::size_t> begun = 0;
    std::mutex mutex;
    Clock::time_point first_begin = Clock::time_point::max();
    Clock::time_point last_end{};
    double busy = 0;
    const Handler handler = [&](std::size_t job) {
        const auto begin = Clock::now();
        effects.run(job);
        ++begun;
        std::this_thread::sleep_until(begin + length);
        const auto end = Clock::now();
        const std::lock_guard lock(mutex);
        first_begin = std::min(first_begin, begin);
        last_end = std::max(last_end, end);
        busy += Seconds(end - begin).count();
    };
    std::vector<std::unique_ptr<Running>> running;
    for (std::size_t i = 0; i < workers; ++i) {
        running.push_back(
            queue.work(settings["handlers"], settings["connections"], effects, handler));
    }
    std::this_thread::sleep_for(milliseconds(200));

    // Bursts: all workers are idle when the jobs come, and the queue is empty at the end.
    const double rounds =
        static_cast<double>((ready + all_handlers - 1) / all_handlers);  // per handler
    const double ideal = rounds * Seconds(length).count();
    std::size_t enqueued = 0;
    std::vector<double> shares;
    for (std::size_t i = 0; i < bursts; ++i) {
        std::this_thread::sleep_for(kBetweenJobs);
        {
            const std::lock_guard lock(mutex);
            first_begin = Clock::time_point::max();
            last_end = {};
        }
        queue.enqueue(hub, enqueued, ready);
        enqueued += ready;
        effects.wait(enqueued);
        const std::lock_guard lock(mutex);
        shares.push_back(100 * ideal / Seconds(last_end - first_begin).count());
    }
    print("share", percentile(shares, 0.5));

    // A steady stream: so many jobs are always there that no handler has begun.
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::seconds(settings["seconds"]);
    {
        const std::lock_guard lock(mutex);
        busy = 0;
    }
    while (Clock::now() < end) {
        const std::size_t wanted = begun + ready;
        if (wanted > enqueued) {
            queue.enqueue(hub, enqueued, wanted - enqueued);
            enqueued = wanted;
        } else {
            std::this_thread::sleep_for(milliseconds(1));
        }
    }
    {
        const std::lock_guard lock(mutex);
        print("steady", 100 * busy / Seconds(Clock::now() - begin).count() /
                            static_cast<double>(all_handlers));
    }
    effects.wait(enqueued);
    running.clear();
    effects.check(enqueued);
    check_left(hub, queue, 0);
}

// ---- The engine alone: what a worker could reach. ----

void engine_drain(Hub& hub, const Settings& settings) {
    const WorkItems queue;
    const std::size_t jobs = settings["jobs"];
    Effects effects(jobs);
    fill(hub, queue, jobs);
    std::size_t done = 0;
    while (done < jobs) {
        const auto items =
            hub.provider().fetch_work_items({.max_items = static_cast<int>(settings["batch"])});
        if (items.empty()) {
            throw std::runtime_error("a fetch found nothing, with jobs left");
        }
        std::vector<belay::Ack> acks;
        for (const auto& item : items) {
            effects.run(number_in(item.work_item));
            acks.push_back({.lock_token = item.lock_token});
        }
        for (const auto& result : hub.provider().ack_workers(acks)) {
            if (!result.acked) {
                throw std::runtime_error("an ack was refused");
            }
            effects.completed();
            ++done;
        }
    }
    print("rate", static_cast<double>(jobs) / effects.seconds());
    print("cpu_us", effects.cpu() * 1e6 / static_cast<double>(jobs));
    effects.check(jobs);
    check_left(hub, queue, 0);
}

void engine_latency(Hub& hub, const Settings& settings) {
    const WorkItems queue;
    const std::size_t jobs = settings["samples"] + kWarmUp;
    Effects effects(jobs);
    std::thread consumer([&] {
        try {
            belay::Connection connection;
            Hub own(connection, kHub);
            for (std::size_t done = 0; done < jobs;) {
                const auto item = own.provider().fetch_work_item({});
                if (!item) {
                    own.provider().wait_for_work({"worker"}, milliseconds(1000));
                    continue;
                }
                effects.run(number_in(item->work_item));
                own.provider().ack_worker({.lock_token = item->lock_token});
                effects.completed();
                ++done;
            }
        } catch (const std::exception& error) {
            effects.trouble(error.what());
        }
    });
    measure_latency(effects, jobs, [&](std::size_t job) { queue.enqueue_one(hub, job); });
    consumer.join();
    effects.check(jobs);
    check_left(hub, queue, 0);
}

using Measure = std::function<void(Hub&, const Settings&)>;

Measure of(void (*measure)(Hub&, const Jobs&, const Settings&), std::shared_ptr<Jobs> queue) {
    return [measure, queue](Hub& hub, const Settings& settings) { measure(hub, *queue, settings); };
}

std::map<std::string, Measure> measurements_of(const std::string& system) {
    if (system == "engine") {
        return {{"drain", engine_drain}, {"latency", engine_latency}};
    }
    std::shared_ptr<Jobs> queue;
    if (system == "worker") {
        queue = std::make_shared<WorkItems>();
    } else if (system == "tasks") {
        queue = std::make_shared<Tasks>();
    } else {
        throw std::invalid_argument("no system " + system);
    }
    return {{"drain", of(drain, queue)},
            {"enqueue_bulk", of(enqueue_bulk, queue)},
            {"enqueue_single", of(enqueue_single, queue)},
            {"latency", of(latency, queue)},
            {"fairness", of(fairness, queue)}};
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) {
            throw std::invalid_argument("usage: clients_belay SYSTEM MEASUREMENT [NAME=NUMBER]...");
        }
        const auto measurements = measurements_of(argv[1]);
        const auto found = measurements.find(argv[2]);
        if (found == measurements.end()) {
            throw std::invalid_argument("no measurement " + std::string(argv[2]) + " of " +
                                        argv[1]);
        }
        belay::Connection connection;
        connection.exec("CREATE EXTENSION belay");
        belay::Admin(connection).create_hub(kHub);
        Hub hub(connection, kHub);
        found->second(hub, Settings(argc - 3, argv + 3));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "clients_belay: %s\n", error.what());
        return 1;
    }
}
