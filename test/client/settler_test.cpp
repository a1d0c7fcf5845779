// Portions of a worker on a real server: what shares a commit, what stays apart, what is
// prefetched.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>

#include "belay/admin.hpp"
#include "belay/pool.hpp"
#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using std::chrono::seconds;
using Kind = WorkerEvent::Kind;

class ClientSettler : public WithServer {
 protected:
    // Every scenario leaves a hub that is sound.
    void TearDown() override {
        for (const auto& problem : hub_.tasks().check()) {
            ADD_FAILURE() << problem.object << ": " << problem.problem;
        }
        WithServer::TearDown();
    }

    WorkerOptions worker_options() {
        WorkerOptions made{.connection = options(), .hub = "app", .name = "tester"};
        made.drain_timeout = Milliseconds(20000);
        made.retry_delay = Milliseconds(20);
        made.on_event = [this](const WorkerEvent& event) {
            const std::lock_guard lock(mutex_);
            ++events_[event.kind];
        };
        return made;
    }

    int events(Kind kind) {
        const std::lock_guard lock(mutex_);
        return events_[kind];
    }

    std::vector<Uuid> create(int count, const std::string& kind = "") {
        std::vector<Uuid> ids;
        for (int i = 0; i < count; ++i) {
            ids.push_back(hub_.tasks()
                              .create({.queue = "cpu",
                                       .payload = i,
                                       .kind = kind,
                                       .policy = TaskPolicy{.max_attempts = 1}})
                              .id);
        }
        return ids;
    }

    void create_many(int count) {
        std::vector<NewTask> tasks;
        for (int i = 0; i < count; ++i) {
            tasks.push_back({.queue = "cpu", .payload = i});
        }
        hub_.tasks().create_many(tasks);
    }

    int count(const std::string& rows) {
        return connection_.exec("SELECT count(*) FROM app." + rows).get<int>(0, 0);
    }
    int in_state(const std::string& state) {
        return count("task_states WHERE state = '" + state + "'");
    }
    int leased() { return count("tasks WHERE lease_owner IS NOT NULL"); }
    // By a connection of its own, for handlers.
    int leased_by_others() {
        Connection own(options());
        return own.exec("SELECT count(*) FROM app.tasks WHERE lease_owner IS NOT NULL")
            .get<int>(0, 0);
    }
    std::string state_of(const Uuid& id) { return hub_.tasks().get(id).value()["state"]; }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    std::mutex mutex_;
    std::map<Kind, int> events_;
};

// A handler that waits until it may go on.
struct Gate {
    std::atomic<int> entered = 0;
    std::atomic<bool> open = false;

    void pass() {
        ++entered;
        wait_until([this] { return open.load(); });
    }
};

// TX-27: tasks and activities.
TEST_F(ClientSettler, ManyOutcomesShareARoundTrip) {
    const int number = 1000;
    create_many(number);
    hub_.provider().enqueue_worker_items(std::vector<NewWorkItem>(
        number, {.work_item = R"({"ActivityExecute":{"name":"Work","input":"1"}})"}));
    auto options = worker_options();
    options.concurrency = 16;
    options.prefetch = 200;
    Worker worker(options);
    worker.on("cpu", [](Task&) { return completed({{"ok", true}}); });
    worker.on_activity("Work", [](Task&) { return completed(); });
    Running running(worker);
    EXPECT_TRUE(wait_until([&] { return events(Kind::kCompleted) == 2 * number; }));
    // Each event came after the commit.
    EXPECT_EQ(in_state("completed"), number);
    EXPECT_EQ(count("worker_queue"), 0);
    running.end();
    std::cout << worker.round_trips() << " round trips for " << 2 * number << " jobs\n";
    EXPECT_LT(worker.round_trips(), static_cast<std::uint64_t>(number));
    EXPECT_EQ(events(Kind::kError), 0);
}

// TX-27: no outcome waits for others, neither for handlers that run nor for a portion to fill.
TEST_F(ClientSettler, ALoneOutcomeIsSettledAtOnce) {
    create(1, "long");
    create(1, "short");
    auto options = worker_options();
    options.concurrency = 2;
    options.connections = 1;
    Worker worker(options);
    Gate gate;
    worker.on("cpu", "long", [&](Task&) {
        gate.pass();
        return completed();
    });
    worker.on("cpu", "short", [](Task&) { return completed(); });
    Running running(worker);
    EXPECT_TRUE(wait_until([&] { return in_state("completed") == 1; }, seconds(20)));
    gate.open = true;
    EXPECT_TRUE(wait_until([&] { return in_state("completed") == 2; }, seconds(20)));
}

// TX-28: a portion waits for the row of its first task; what ends meanwhile makes up the next one.
// In that are a task that was cancelled, a result that is refused and a result that is no JSON.
TEST_F(ClientSettler, EachOutcomeHasItsOwnFate) {
    Admin(connection_).set_hub_option("app", "max_body_bytes", "1024");
    const auto first = create(1)[0];
    auto options = worker_options();
    options.concurrency = 8;
    options.connections = 1;
    Worker worker(options);
    Gate gate;
    std::atomic<int> ended = 0;
    worker.on("cpu", [&](Task&) {
        gate.pass();
        return completed();
    });
    worker.on("cpu", "fine", [&](Task&) {
        ++ended;
        return completed({{"ok", true}});
    });
    worker.on("cpu", "failed", [&](Task&) {
        ++ended;
        return failed("never", FailureClass::kPermanent);
    });
    worker.on("cpu", "refused", [&](Task&) {
        ++ended;
        return completed(std::string(5000, 'x'));
    });
    worker.on("cpu", "no JSON", [&](Task&) {
        ++ended;
        return completed_text("no JSON");
    });
    worker.on("cpu", "cancelled", [&](Task&) {
        ++ended;
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.tasks WHERE id = '" + first.text() + "' FOR UPDATE");
    gate.open = true;
    ASSERT_TRUE(wait_until(
        [&] { return connection_.exec("SELECT FROM pg_locks WHERE NOT granted").size() > 0; }));
    const auto fine = create(3, "fine");
    const auto never = create(1, "failed");
    const auto refused = create(1, "refused");
    const auto no_json = create(1, "no JSON");
    const auto cancelled = create(1, "cancelled");
    ASSERT_TRUE(wait_until([&] { return ended == 7; }));
    hub_.tasks().force_cancel(cancelled[0], "enough");
    holder.exec("COMMIT");
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 4 && in_state("failed") == 3; }));
    running.end();
    for (const auto& id : fine) {
        EXPECT_EQ(state_of(id), "completed");
    }
    EXPECT_EQ(state_of(cancelled[0]), "cancelled");
    EXPECT_EQ(ended, 7);
    EXPECT_EQ(events(Kind::kCompleted), 4);
    EXPECT_EQ(events(Kind::kCancelled), 1);
    EXPECT_EQ(events(Kind::kFailed), 3);
    EXPECT_EQ(events(Kind::kError), 2);
    EXPECT_EQ(leased(), 0);
}

// TX-13: the backend is killed while it works on a portion; the portion is sent again.
TEST_F(ClientSettler, AKilledPortionHasOneEffectPerJob) {
    const int number = 100;
    const auto ids = create(number);
    auto options = worker_options();
    options.concurrency = 16;
    options.prefetch = number;
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    Gate gate;
    std::atomic<int> runs = 0;
    worker.on("cpu", [&](Task&) {
        gate.pass();
        ++runs;
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 16; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.tasks FOR UPDATE");
    gate.open = true;
    ASSERT_TRUE(wait_until([&] { return runs == number; }));
    int kills = 0;
    ASSERT_TRUE(wait_until([&] {
        kills += connection_
                     .exec(
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                         "application_name = 'belay_worker_test' AND wait_event_type = 'Lock'")
                     .size();
        return kills >= 2;
    }));
    holder.exec("COMMIT");
    EXPECT_TRUE(wait_until([&] { return in_state("completed") == number; }));
    EXPECT_TRUE(wait_until([&] { return events(Kind::kCompleted) == number; }));
    running.end();
    EXPECT_EQ(runs, number);
    EXPECT_EQ(events(Kind::kUnknown), 0);
    EXPECT_EQ(leased(), 0);
}

// TX-29
TEST_F(ClientSettler, WithoutPrefetchNothingWaitsForAHandler) {
    create_many(10);
    auto options = worker_options();
    options.concurrency = 2;
    options.prefetch = 0;
    Worker worker(options);
    Gate gate;
    std::atomic<int> most = 0;
    worker.on("cpu", [&](Task&) {
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 2; }));
    EXPECT_EQ(leased(), 2);
    gate.open = true;
    ASSERT_TRUE(wait_until([&] {
        most = std::max(most.load(), leased());
        return in_state("completed") == 10;
    }));
    EXPECT_LE(most, 2);
}

// TX-29: with so many ready tasks, and not with fewer.
TEST_F(ClientSettler, PrefetchesOnlyFromALongQueue) {
    for (const int ready : {5, 6}) {
        const int before = in_state("completed");
        create_many(ready);
        auto options = worker_options();
        options.concurrency = 2;
        options.prefetch = 3;
        options.prefetch_threshold = 6;
        Worker worker(options);
        Gate gate;
        worker.on("cpu", [&](Task&) {
            gate.pass();
            return completed();
        });
        Running running(worker);
        ASSERT_TRUE(wait_until([&] { return gate.entered == 2; }));
        EXPECT_EQ(leased(), ready == 5 ? 2 : 5);
        gate.open = true;
        ASSERT_TRUE(wait_until([&] { return in_state("completed") == before + ready; }));
    }
}

// TX-30
TEST_F(ClientSettler, ReleasesWhatGrowsOldInTheBuffer) {
    create_many(6);
    auto options = worker_options();
    options.concurrency = 1;
    options.prefetch = 3;
    options.prefetch_threshold = 1;
    options.prefetch_max_age = Milliseconds(500);
    Worker worker(options);
    Gate gate;
    worker.on("cpu", [&](Task&) {
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1; }));
    ASSERT_TRUE(wait_until([&] { return leased() == 1; }));
    // They are not taken again, before a handler has ended.
    std::this_thread::sleep_for(Milliseconds(300));
    EXPECT_EQ(leased(), 1);
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
    gate.open = true;
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 6; }));
    running.end();
    EXPECT_EQ(events(Kind::kReleased), 0);
    EXPECT_EQ(events(Kind::kError), 0);
}

// TX-30
TEST_F(ClientSettler, WhatIsCancelledInTheBufferStaysCancelled) {
    const auto ids = create(3);
    auto options = worker_options();
    options.concurrency = 1;
    options.prefetch = 2;
    options.prefetch_threshold = 1;
    options.lease = seconds(600);
    Worker worker(options);
    Gate gate;
    std::mutex mutex;
    std::set<std::string> ran;
    worker.on("cpu", [&](Task& task) {
        {
            const std::lock_guard lock(mutex);
            ran.insert(task.id().text());
        }
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1 && leased() == 3; }));
    Uuid other;
    {
        const std::lock_guard lock(mutex);
        other = ran.contains(ids[0].text()) ? ids[1] : ids[0];
    }
    hub_.tasks().force_cancel(other, "enough");
    gate.open = true;
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 2; }));
    running.end();
    // Whether the worker has heard of it in time or only when it settled, it has one end.
    EXPECT_EQ(state_of(other), "cancelled");
    EXPECT_EQ(leased(), 0);
}

// The worker that SIGTERM stops.
std::atomic<Worker*> signalled = nullptr;

extern "C" void stop_signalled(int) {
    if (Worker* worker = signalled) {
        worker->stop();
    }
}

// TX-31: by a signal, which interrupts whatever a thread of the worker does.
TEST_F(ClientSettler, ASigtermAtAnyMomentLeavesNoLease) {
    struct Handler {
        struct sigaction before = {};
        Handler() {
            struct sigaction action = {};
            action.sa_handler = stop_signalled;
            ::sigaction(SIGTERM, &action, &before);
        }
        ~Handler() { ::sigaction(SIGTERM, &before, nullptr); }
    } const handler;
    const char* is_long = std::getenv("BELAY_LONG");
    const int rounds = is_long != nullptr && std::string(is_long) == "1" ? 200 : 20;
    const char* given = std::getenv("BELAY_SEED");
    const auto seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10))
                                       : std::random_device{}();
    std::cout << "seed " << seed << " (BELAY_SEED repeats it)\n";
    std::mt19937 random(seed);
    const auto below = [&](int limit) {
        return std::uniform_int_distribution<>(0, limit - 1)(random);
    };
    std::atomic<int> tasks = 0;
    std::atomic<int> activities = 0;
    int items = 0;
    int made = 0;
    for (int round = 0; round < rounds; ++round) {
        create_many(60);
        made += 60;
        hub_.provider().enqueue_worker_items(std::vector<NewWorkItem>(
            60, {.work_item = R"({"ActivityExecute":{"name":"Work","input":"1"}})"}));
        items += 60;
        auto options = worker_options();
        options.concurrency = 1 + below(12);
        options.connections = 1 + below(4);
        options.prefetch = below(3) * 20;
        options.prefetch_threshold = 1;
        options.settle_max = 1 + below(40);
        const Milliseconds work(below(3));
        Worker worker(options);
        worker.on("cpu", [&](Task&) {
            std::this_thread::sleep_for(work);
            ++tasks;
            return completed();
        });
        worker.on_activity("Work", [&](Task&) {
            std::this_thread::sleep_for(work);
            ++activities;
            return completed();
        });
        signalled = &worker;
        std::thread thread([&worker] { worker.run(); });
        std::this_thread::sleep_for(std::chrono::microseconds(below(60000)));
        ::kill(::getpid(), SIGTERM);
        thread.join();
        signalled = nullptr;
        ASSERT_EQ(leased(), 0) << "round " << round << ", seed " << seed;
        ASSERT_EQ(count("worker_queue WHERE locked_until > 0"), 0) << "seed " << seed;
        // All that ran was settled, and nothing else counts as an attempt.
        ASSERT_EQ(in_state("completed"), tasks) << "seed " << seed;
        ASSERT_EQ(count("worker_queue"), items - activities) << "seed " << seed;
        ASSERT_EQ(in_state("ready"), made - tasks) << "seed " << seed;
        ASSERT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0) << "seed " << seed;
        ASSERT_EQ(count("worker_queue WHERE attempt_count > 0"), 0) << "seed " << seed;
    }
    std::cout << tasks << " tasks and " << activities << " activities in " << rounds << " runs\n";
    EXPECT_EQ(events(Kind::kError), 0);
}

// A worker in a process of its own, so that it can be killed.
class WorkerProcess {
 public:
    explicit WorkerProcess(WorkerOptions options) : options_(std::move(options)) { start(); }
    ~WorkerProcess() { kill(); }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    void kill() {
        ::kill(pid_, SIGKILL);
        int status = 0;
        ::waitpid(pid_, &status, 0);
    }
    void start() {
        pid_ = ::fork();
        if (pid_ == 0) {
            try {
                Worker worker(options_);
                worker.on_activity("Work", [](Task&) {
                    std::this_thread::sleep_for(Milliseconds(2));
                    return completed();
                });
                worker.run();
            } catch (const std::exception& error) {
                std::cerr << "worker process: " << error.what() << "\n";
            }
            ::_exit(1);
        }
    }

 private:
    WorkerOptions options_;
    pid_t pid_ = -1;
};

// TX-35: whatever dies in the middle of portions, each activity sends one completion.
TEST_F(ClientSettler, AfterKillsEachJobHasOneEffect) {
    const int number = 3000;
    std::vector<NewWorkItem> items;
    for (int id = 1; id <= number; ++id) {
        items.push_back(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" +
                          std::to_string(id) + R"(,"name":"Work","input":"1"}})",
             .instance_id = "i",
             .execution_id = 1,
             .activity_id = id});
    }
    hub_.provider().enqueue_worker_items(items);
    // How many are left; none while the server recovers.
    const auto left = [] {
        try {
            return std::optional(std::stoi(admin().value("SELECT count(*) FROM app.worker_queue")));
        } catch (const std::runtime_error&) {
            return std::optional<int>();
        }
    };
    auto options = worker_options();
    options.on_event = {};
    options.concurrency = 8;
    options.lease = seconds(2);
    options.connection.conninfo += " application_name=portions";
    WorkerProcess worker(options);
    int before = number;
    for (const char* victim : {"worker", "backend", "server", "worker", "backend", "worker"}) {
        // Something was settled since the last kill.
        ASSERT_TRUE(wait_until([&] {
            const auto now = left();
            return now && *now < before;
        })) << victim;
        if (victim == std::string("worker")) {
            worker.kill();
            worker.start();
        } else if (victim == std::string("server")) {
            cluster->kill9();
            cluster->start();
        } else {
            const std::string pid = admin().value(
                "SELECT max(pid) FROM pg_stat_activity WHERE application_name = 'portions'");
            if (!pid.empty()) {
                ::kill(std::stoi(pid), SIGKILL);
            }
        }
        ASSERT_TRUE(wait_until([&] { return left().has_value(); })) << victim;
        before = *left();
        std::cout << before << " left after the end of a " << victim << "\n";
    }
    EXPECT_TRUE(wait_until([&] { return left() == 0; }, seconds(120)));
    Conn own = admin();
    EXPECT_EQ(own.value("SELECT count(*) || ' ' || count(DISTINCT work_item) FROM "
                        "app.orchestrator_queue"),
              std::to_string(number) + " " + std::to_string(number));
}

// TX-32
TEST_F(ClientSettler, AHandlerCanWaitForItsPortion) {
    const int number = 200;
    create_many(number);
    hub_.provider().enqueue_worker_items(std::vector<NewWorkItem>(
        number, {.work_item = R"({"ActivityExecute":{"name":"Work","input":"1"}})"}));
    auto options = worker_options();
    options.concurrency = 16;
    Worker worker(options);
    Pool pool(this->options(), 16);
    std::atomic<int> unsettled = 0;
    worker.on("cpu", [&](Task& task) {
        task.settle(completed({{"ok", true}}));
        auto own = pool.take();
        unsettled += Hub(*own, "app").tasks().get(task.id()).value()["state"] != "completed";
        EXPECT_THROW(task.settle(completed()), std::logic_error);
        return settled();
    });
    worker.on_activity("Work", [&](Task& task) {
        task.settle(completed());
        return settled();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return events(Kind::kCompleted) == 2 * number; }));
    running.end();
    EXPECT_EQ(unsettled, 0);
    EXPECT_EQ(in_state("completed"), number);
    EXPECT_EQ(count("worker_queue"), 0);
    EXPECT_EQ(events(Kind::kCompleted), 2 * number);
    EXPECT_EQ(events(Kind::kError), 0);
    std::cout << worker.round_trips() << " round trips for " << 2 * number << " jobs\n";
    EXPECT_LT(worker.round_trips(), static_cast<std::uint64_t>(2 * number));
}

// TX-32: what the server refuses is thrown in the handler, and the job has one end.
TEST_F(ClientSettler, AHandlerThatWaitsIsToldWhatIsWrong) {
    Admin(connection_).set_hub_option("app", "max_body_bytes", "1024");
    const auto refused = create(1, "refused");
    const auto cancelled = create(1, "cancelled");
    const auto late = create(1, "late");
    Worker worker(worker_options());
    std::atomic<int> refusals = 0;
    std::atomic<int> losses = 0;
    worker.on("cpu", "refused", [&](Task& task) {
        try {
            task.settle(completed(std::string(5000, 'x')));
        } catch (const Error& error) {
            refusals += error.sqlstate() == "QB006" && !error.lock_lost();
        }
        task.settle(failed("too long", FailureClass::kPermanent));
        return settled();
    });
    worker.on("cpu", "cancelled", [&](Task& task) -> Outcome {
        Connection own(this->options());
        Hub(own, "app").tasks().force_cancel(task.id(), "enough");
        try {
            task.settle(completed());
        } catch (const Error& error) {
            losses += error.lock_lost();
            throw;
        }
        return settled();
    });
    worker.on("cpu", "late", [&](Task& task) -> Outcome {
        task.settle(completed());
        throw std::runtime_error("after the commit");
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] {
        return in_state("failed") == 1 && in_state("cancelled") == 1 && in_state("completed") == 1;
    }));
    ASSERT_TRUE(wait_until([&] { return events(Kind::kError) == 1; }));
    running.end();
    EXPECT_EQ(refusals, 1);
    EXPECT_EQ(losses, 1);
    EXPECT_EQ(state_of(late[0]), "completed");
    EXPECT_EQ(events(Kind::kFailed), 1);
    EXPECT_EQ(events(Kind::kCancelled), 1);
    EXPECT_EQ(events(Kind::kCompleted), 1);
    EXPECT_EQ(leased(), 0);
}

// TX-33: four jobs at most would be held with a buffer of two.
TEST_F(ClientSettler, AnAutomaticBufferFollowsShortJobs) {
    const int number = 4000;
    create_many(number);
    auto options = worker_options();
    options.concurrency = 2;
    Worker worker(options);
    worker.on("cpu", [](Task&) { return completed(); });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return events(Kind::kCompleted) == number; }));
    running.end();
    std::cout << worker.round_trips() << " round trips for " << number << " jobs\n";
    EXPECT_LT(worker.round_trips(), static_cast<std::uint64_t>(number / 8));
}

// TX-33: the jobs that were prefetched because others were short go back when they take long.
TEST_F(ClientSettler, AnAutomaticBufferDoesNotKeepLongJobs) {
    const int number = 3000;
    create_many(number);
    auto options = worker_options();
    options.concurrency = 2;
    options.lease = seconds(600);
    Worker worker(options);
    Gate gate;
    std::atomic<int> begun = 0;
    std::atomic<int> most = 0;
    worker.on("cpu", [&](Task&) {
        if (++begun > 1000) {
            most = std::max(most.load(), leased_by_others());
            gate.pass();
        }
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 2; }));
    EXPECT_GT(most, 4);
    EXPECT_TRUE(wait_until([&] { return leased() <= 4; }));
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
    gate.open = true;
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == number; }));
    running.end();
    EXPECT_EQ(begun, number);
    EXPECT_EQ(events(Kind::kError), 0);
}

TEST_F(ClientSettler, RefusesOptionsThatTheServerDoesNotTake) {
    for (const int wrong : {-1, 1001}) {
        auto options = worker_options();
        options.prefetch = wrong;
        EXPECT_THROW(Worker worker(options), Error);
    }
    auto options = worker_options();
    options.prefetch_threshold = 0;
    EXPECT_THROW(Worker worker(options), Error);
    options = worker_options();
    options.settle_max = 0;
    EXPECT_THROW(Worker worker(options), Error);
}

}  // namespace
}  // namespace belay::test
