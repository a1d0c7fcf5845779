// Portions of a worker on a real server: what shares a commit, what stays apart, what is
// prefetched.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "belay/admin.hpp"
#include "belay/pool.hpp"
#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "faults.hpp"
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

    // True once a worker on more and more tasks holds more than this number of leases. How many it
    // holds follows from how long its jobs take, of which a busy machine makes some long.
    bool comes_to_hold_more_than(int number) {
        return wait_until([&] {
            if (in_state("ready") < 1000) {
                create_many(1000);
            }
            return leased() > number;
        });
    }
    std::string state_of(const Uuid& id) { return hub_.tasks().get(id).value()["state"]; }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    std::mutex mutex_;
    std::map<Kind, int> events_;
};

// A handler that waits until it may continue.
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

// TX-27: a job of an idle worker takes the calls that it takes without portions: the wait that
// brings it, its claim, and its completion.
TEST_F(ClientSettler, ALoneJobTakesNoMoreCalls) {
    const int number = 50;
    auto options = worker_options();
    options.concurrency = 8;
    Worker worker(options);
    worker.on("cpu", [](Task&) { return completed(); });
    Running running(worker);
    for (int i = 1; i <= number; ++i) {
        create(1);
        ASSERT_TRUE(wait_until([&] { return events(Kind::kCompleted) == i; }));
    }
    running.end();
    std::cout << worker.round_trips() << " round trips for " << number << " jobs\n";
    EXPECT_LT(worker.round_trips(), static_cast<std::uint64_t>(4 * number));
}

// Tells which events come from the thread of the handler.
class ByItself {
 public:
    explicit ByItself(WorkerOptions& options) {
        options.on_event = [this, tell = options.on_event](const WorkerEvent& event) {
            if (event.kind == Kind::kCompleted) {
                const std::lock_guard lock(mutex_);
                count_ += handler_ == std::this_thread::get_id();
            }
            tell(event);
        };
    }

    Outcome run() {
        const std::lock_guard lock(mutex_);
        handler_ = std::this_thread::get_id();
        return completed();
    }

    int count() {
        const std::lock_guard lock(mutex_);
        return count_;
    }

 private:
    std::mutex mutex_;
    std::thread::id handler_ = {};  // of the last job
    int count_ = 0;
};

// TX-38: no settler has to be woken for a lone job, if another handler is free.
TEST_F(ClientSettler, ALoneJobIsSettledByTheThreadOfItsHandler) {
    for (const int concurrency : {1, 4}) {
        auto options = worker_options();
        options.concurrency = concurrency;
        ByItself by_itself(options);
        Worker worker(options);
        worker.on("cpu", [&](Task&) { return by_itself.run(); });
        Running running(worker);
        const int before = events(Kind::kCompleted);
        int number = 0;
        const auto job_is_done = [&] {
            create(1);
            ++number;
            return wait_until([&] { return events(Kind::kCompleted) == before + number; });
        };
        if (concurrency == 1) {
            for (int i = 0; i < 20; ++i) {
                ASSERT_TRUE(job_is_done());
            }
            EXPECT_EQ(by_itself.count(), 0);
        } else {
            // A thread that has just begun does not wait yet.
            EXPECT_TRUE(wait_until([&] { return job_is_done() && by_itself.count() > 0; }));
        }
        running.end();
        EXPECT_EQ(events(Kind::kError), 0);
    }
}

// TX-38: a handler's thread that settles takes nothing from the others but its own place.
TEST_F(ClientSettler, ALoneJobThatWaitsForALockDelaysNoOther) {
    auto options = worker_options();
    options.concurrency = 2;
    options.connections = 2;
    ByItself by_itself(options);
    Worker worker(options);
    Gate gate;
    worker.on("cpu", "", [&](Task&) { return by_itself.run(); });
    worker.on("cpu", "held", [&](Task&) {
        gate.pass();
        return completed();
    });
    Running running(worker);
    int others = 0;
    const auto job_is_done = [&] {
        create(1);
        ++others;
        return wait_until([&] { return events(Kind::kCompleted) == others; });
    };
    ASSERT_TRUE(wait_until([&] { return job_is_done() && by_itself.count() > 0; }));

    const auto held = create(1, "held")[0];
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.tasks WHERE id = '" + held.text() + "' FOR UPDATE");
    gate.open = true;
    ASSERT_TRUE(wait_until([&] {
        return connection_
                   .exec(
                       "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                       "cardinality(pg_blocking_pids(pid)) > 0")
                   .get<int>(0, 0) == 1;
    }));
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(job_is_done());
    }
    EXPECT_EQ(state_of(held), "active");
    holder.exec("COMMIT");
    EXPECT_TRUE(wait_until([&] { return state_of(held) == "completed"; }));
    running.end();
    EXPECT_EQ(events(Kind::kError), 0);
    EXPECT_EQ(leased(), 0);
}

// TX-27: what ends during a call goes with the next ones, settle_max outcomes with each.
TEST_F(ClientSettler, APortionIsBounded) {
    const auto first = create(1)[0];
    auto options = worker_options();
    options.concurrency = 61;
    options.connections = 1;
    options.settle_max = 7;
    Worker worker(options);
    Gate gate;
    std::atomic<int> ended = 0;
    worker.on("cpu", [&](Task&) {
        gate.pass();
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
    create_many(60);
    ASSERT_TRUE(wait_until([&] { return ended == 61; }));
    holder.exec("COMMIT");
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 61; }));
    running.end();
    const std::string portions = "(SELECT count(*) AS n FROM app.tasks GROUP BY xmin) AS portions";
    EXPECT_EQ(connection_.exec("SELECT max(n) FROM " + portions).get<int>(0, 0), 7);
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

// TX-28: the same of activities. With the second portion end one that was cancelled, an outcome
// that activities cannot have, and one whose input is no JSON, which its handler does not expect.
TEST_F(ClientSettler, EachActivityHasItsOwnFate) {
    int last_id = 0;
    const auto enqueue = [&](const std::string& name) {
        const std::string id = std::to_string(++last_id);
        hub_.provider().enqueue_worker_work(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" + id +
                          R"(,"name":")" + name + R"(","input":"{broken"}})",
             .instance_id = "i",
             .execution_id = 1,
             .activity_id = last_id});
        return last_id;
    };
    const int first = enqueue("first");
    auto options = worker_options();
    options.concurrency = 8;
    options.connections = 1;
    options.max_attempts = 1;
    Worker worker(options);
    Gate gate;
    std::atomic<int> ended = 0;
    worker.on_activity("first", [&](Task&) {
        gate.pass();
        return completed();
    });
    worker.on_activity("failed", [&](Task&) {
        ++ended;
        return failed("never", FailureClass::kPermanent);
    });
    worker.on_activity("poisoned", [&](Task& task) {
        ++ended;
        return completed(task.payload().at("n"));
    });
    worker.on_activity("refused", [&](Task& task) {
        ++ended;
        return task.attempt() == 1 ? delayed(Milliseconds(1), {{"at", 1}}) : completed();
    });
    worker.on_activity("", [&](Task&) {
        ++ended;
        return completed({{"ok", true}});
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.worker_queue WHERE activity_id = " + std::to_string(first) +
                " FOR UPDATE");
    gate.open = true;
    ASSERT_TRUE(wait_until(
        [&] { return connection_.exec("SELECT FROM pg_locks WHERE NOT granted").size() > 0; }));
    for (const char* name : {"fine", "fine", "fine", "failed", "refused", "poisoned"}) {
        enqueue(name);
    }
    const int cancelled = enqueue("cancelled");
    ASSERT_TRUE(wait_until([&] { return ended == 7; }));
    EXPECT_EQ(hub_.provider().cancel_activities(
                  {{.instance = "i", .execution_id = 1, .activity_id = cancelled}}),
              1);
    holder.exec("COMMIT");
    ASSERT_TRUE(wait_until([&] { return count("worker_queue") == 0; }));
    ASSERT_TRUE(wait_until([&] { return events(Kind::kCompleted) == 5; }));
    running.end();
    EXPECT_EQ(ended, 8);
    EXPECT_EQ(events(Kind::kFailed), 2);
    EXPECT_EQ(events(Kind::kCancelled), 1);
    EXPECT_EQ(events(Kind::kError), 1);
    // Of all but the one that was cancelled.
    EXPECT_EQ(connection_
                  .exec("SELECT count(*) || ' ' || count(DISTINCT coalesce(work_item::jsonb #>> "
                        "'{ActivityCompleted,id}', work_item::jsonb #>> '{ActivityFailed,id}')) "
                        "FROM app.orchestrator_queue")
                  .get<std::string>(0, 0),
              "7 7");
}

// TX-37: the portion of a long job waits for the job's row, and its handler runs the next ones.
TEST_F(ClientSettler, AFreeHandlerDoesNotWaitForTheCommitOfItsJob) {
    create_many(3);
    auto options = worker_options();
    options.concurrency = 1;
    options.connections = 2;
    options.prefetch = 0;
    Worker worker(options);
    Gate gate;
    worker.on("cpu", [&](Task&) {
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.tasks WHERE lease_owner IS NOT NULL FOR UPDATE");
    gate.open = true;
    EXPECT_TRUE(wait_until([&] { return gate.entered == 3; }, seconds(30))) << gate.entered;
    EXPECT_LE(in_state("completed"), 2);
    holder.exec("COMMIT");
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 3; }));
    running.end();
    EXPECT_EQ(events(Kind::kError), 0);
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

// TX-29: with prefetch 0 a lease has a handler.
TEST_F(ClientSettler, WithoutPrefetchNothingWaitsForAHandler) {
    create_many(10);
    auto options = worker_options();
    options.concurrency = 2;
    options.prefetch = 0;
    Worker worker(options);
    Gate gate;
    std::set<std::string> begun;
    worker.on("cpu", [&](Task& task) {
        {
            const std::lock_guard lock(mutex_);
            begun.insert(task.id().text());
        }
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 2; }));
    EXPECT_EQ(leased(), 2);
    gate.open = true;
    // Beside those that have ended and are not settled yet.
    int most = 0;
    ASSERT_TRUE(wait_until([&] {
        const Result ids =
            connection_.exec("SELECT id FROM app.tasks WHERE lease_owner IS NOT NULL");
        int waiting = 0;
        const std::lock_guard lock(mutex_);
        for (int row = 0; row < ids.size(); ++row) {
            waiting += begun.contains(ids.get<Uuid>(row, 0).text()) ? 0 : 1;
        }
        most = std::max(most, waiting);
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
        const int expected = ready == 5 ? 2 : 5;
        EXPECT_TRUE(wait_until([&] { return leased() == expected; })) << leased();
        gate.open = true;
        ASSERT_TRUE(wait_until([&] { return in_state("completed") == before + ready; }));
    }
}

// TX-30: prefetched jobs that grow too old are released, and not taken again at once.
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

// TX-30: a prefetched job is leased as a running one, so its cancellation is noticed.
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

// TX-30: what is prefetched is extended as running jobs are, for longer than one lease.
TEST_F(ClientSettler, ExtendsWhatWaitsInTheBuffer) {
    create_many(4);
    auto options = worker_options();
    options.concurrency = 1;
    options.prefetch = 3;
    options.prefetch_threshold = 1;
    options.lease = seconds(6);
    options.prefetch_max_age = seconds(600);
    Worker worker(options);
    Gate gate;
    worker.on("cpu", [&](Task&) {
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1 && leased() == 4; }));
    const auto deadline = [this](const std::string& which) {
        return connection_
            .exec("SELECT " + which +
                  "(lease_until_ms) FROM app.tasks WHERE lease_owner IS NOT NULL")
            .get<std::int64_t>(0, 0);
    };
    const auto first = deadline("max");
    ASSERT_TRUE(wait_until([&] { return deadline("min") > first; }));
    EXPECT_EQ(leased(), 4);
    EXPECT_EQ(gate.entered, 1);
    gate.open = true;
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 4; }));
    running.end();
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
    EXPECT_EQ(events(Kind::kLost), 0);
}

// TX-30: after a call that failed nothing stays in the buffer, and no attempt is counted.
TEST_F(ClientSettler, ReleasesTheBufferAfterAFailedCall) {
    create_many(12);
    auto options = worker_options();
    options.concurrency = 2;
    options.connections = 1;
    options.prefetch = 6;
    options.prefetch_threshold = 1;
    options.lease = seconds(600);
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    std::atomic<int> entered = 0;
    std::atomic<int> allowed = 0;
    worker.on("cpu", [&](Task&) {
        const int mine = ++entered;
        wait_until([&] { return allowed >= mine; });
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return entered == 2 && leased() == 8; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.tasks FOR UPDATE");
    allowed = 1;
    // The one that ended waits for its row; its handler runs the next one.
    ASSERT_TRUE(wait_until([&] { return entered == 3; }));
    ASSERT_TRUE(wait_until([&] {
        connection_.exec(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
            "'belay_worker_test' AND wait_event_type = 'Lock'");
        return events(Kind::kUnknown) + events(Kind::kError) > 0;
    }));
    holder.exec("COMMIT");
    // Two run; the one that ended is settled or was released.
    EXPECT_TRUE(wait_until([&] { return leased() == 2; }));
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
    allowed = 100;
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == 12; }));
    running.end();
    EXPECT_EQ(leased(), 0);
}

// TX-27: a portion settles in the order in which handlers ended, and is told in that order. With
// one handler the order of the ends is that of the calls.
TEST_F(ClientSettler, SettlesInTheOrderOfTheEnds) {
    const int number = 20;
    std::vector<NewWorkItem> items;
    for (int id = 1; id <= number; ++id) {
        items.push_back(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" +
                          std::to_string(id) + R"(,"name":"Work","input":")" + std::to_string(id) +
                          R"("}})",
             .instance_id = "i",
             .execution_id = 1,
             .activity_id = id});
    }
    hub_.provider().enqueue_worker_items(items);
    std::vector<std::string> ran;
    std::vector<std::string> told;
    auto options = worker_options();
    options.concurrency = 1;
    options.connections = 1;
    options.prefetch = number;
    options.prefetch_threshold = 1;
    options.on_event = [&](const WorkerEvent& event) {
        const std::lock_guard lock(mutex_);
        if (event.kind == Kind::kCompleted) {
            told.push_back(event.task->payload_text());
        }
        ++events_[event.kind];
    };
    Worker worker(options);
    Gate gate;
    std::atomic<int> runs = 0;
    worker.on_activity("Work", [&](Task& task) {
        gate.pass();
        const std::lock_guard lock(mutex_);
        ran.push_back(task.payload_text());
        ++runs;
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return gate.entered == 1; }));
    Conn holder = admin();
    holder.exec("BEGIN; SELECT FROM app.worker_queue FOR UPDATE");
    gate.open = true;
    ASSERT_TRUE(wait_until([&] { return runs == number; }));
    holder.exec("COMMIT");
    ASSERT_TRUE(wait_until([&] { return events(Kind::kCompleted) == number; }));
    running.end();
    EXPECT_EQ(told, ran);
    std::string expected;
    for (const auto& input : ran) {
        expected += (expected.empty() ? "" : " ") + input;
    }
    EXPECT_EQ(connection_
                  .exec("SELECT string_agg(work_item::jsonb #>> '{ActivityCompleted,id}', ' ' "
                        "ORDER BY id) FROM app.orchestrator_queue")
                  .get<std::string>(0, 0),
              expected);
}

// TX-27: when an event is told, its own commit is visible to others.
TEST_F(ClientSettler, AnEventFollowsItsOwnCommit) {
    const int number = 200;
    create_many(number);
    Pool pool(this->options(), 4);
    std::atomic<int> early = 0;
    auto options = worker_options();
    options.on_event = [&](const WorkerEvent& event) {
        if (event.kind == Kind::kCompleted) {
            auto own = pool.take();
            early += Hub(*own, "app").tasks().get(event.task->id()).value()["state"] != "completed";
        }
        const std::lock_guard lock(mutex_);
        ++events_[event.kind];
    };
    Worker worker(options);
    worker.on("cpu", [](Task&) { return completed(); });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return events(Kind::kCompleted) == number; }));
    running.end();
    EXPECT_EQ(early, 0);
}

// Workers that all run at once.
class Crew {
 public:
    Crew(int workers, const WorkerOptions& options, const Handler& handler) {
        for (int i = 0; i < workers; ++i) {
            workers_.push_back(std::make_unique<Worker>(options));
            workers_.back()->on("cpu", handler);
            running_.push_back(std::make_unique<Running<Worker>>(*workers_.back()));
        }
    }

 private:
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<Running<Worker>>> running_;  // ends before them
};

// TX-33: no worker holds a job for which another one has a free handler, whether it has run
// short jobs before or none.
TEST_F(ClientSettler, LongJobsFindEveryFreeHandler) {
    for (const auto& [workers, short_jobs] :
         {std::pair(2, 0), std::pair(4, 0), std::pair(2, 2000), std::pair(4, 2000)}) {
        const int handlers = workers * 8;
        const int before = in_state("completed");
        Gate gate;
        std::atomic<bool> gated = false;
        auto options = worker_options();
        options.lease = seconds(600);  // so that nothing goes back for its age
        Crew crew(workers, options, [&](Task&) {
            if (gated) {
                gate.pass();
            }
            return completed();
        });
        if (short_jobs > 0) {
            create_many(short_jobs);
            ASSERT_TRUE(wait_until([&] { return in_state("completed") == before + short_jobs; }));
        }
        gated = true;
        create_many(handlers);
        EXPECT_TRUE(wait_until([&] { return gate.entered == handlers; }, seconds(40)))
            << gate.entered << " of " << handlers << " handlers run";
        gate.open = true;
        ASSERT_TRUE(
            wait_until([&] { return in_state("completed") == before + short_jobs + handlers; }));
    }
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
}

// TX-31: by a signal, which interrupts every thread of the worker.
TEST_F(ClientSettler, ASigtermAtAnyMomentLeavesNoLease) {
    RandomRounds random;
    const int rounds = random.rounds();
    const unsigned seed = random.seed();
    const auto below = [&](int limit) { return random.below(limit); };
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
        const int before = tasks + activities;
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
        const StopsAtSigterm stops(worker);
        std::thread thread([&worker] { worker.run(); });
        // At a random time, and, as a busy machine may have begun nothing by then, after so many
        // jobs.
        if (round % 2 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(below(60000)));
        } else {
            const int wanted = before + below(100);
            EXPECT_TRUE(wait_until([&] { return tasks + activities >= wanted; }));
        }
        ::kill(::getpid(), SIGTERM);
        thread.join();
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

// TX-35: if a process dies in the middle of portions, each activity sends one completion.
TEST_F(ClientSettler, AfterKillsEachJobHasOneEffect) {
    RandomRounds random;
    const int portion = 3000;
    const int number = portion * (random.is_long() ? kLongWork : 1);
    std::vector<NewWorkItem> items;
    for (int id = 1; id <= number; ++id) {
        items.push_back(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" +
                          std::to_string(id) + R"(,"name":"Work","input":"1"}})",
             .instance_id = "i",
             .execution_id = 1,
             .activity_id = id});
        if (id % portion == 0) {
            hub_.provider().enqueue_worker_items(std::exchange(items, {}));
        }
    }
    auto options = worker_options();
    options.on_event = {};
    options.concurrency = 8;
    options.lease = seconds(2);
    options.connection.conninfo += " application_name=portions";
    Turnstile turnstile;
    Process process([&] {
        Worker worker(options);
        worker.on_activity("Work", [&](Task&) {
            turnstile.pass();
            std::this_thread::sleep_for(Milliseconds(2));
            return completed();
        });
        worker.run();
    });
    kill_in_the_middle(*cluster, process, turnstile, "portions", "app.worker_queue", random);
    Conn own = admin();
    EXPECT_EQ(own.value("SELECT count(*) || ' ' || count(DISTINCT work_item) FROM "
                        "app.orchestrator_queue"),
              std::to_string(number) + " " + std::to_string(number));
}

// TX-35: of tasks, too. Each ends once, in one attempt that was completed; what every second one
// writes with its completion is there once.
TEST_F(ClientSettler, AfterKillsEachTaskHasOneEffect) {
    RandomRounds random;
    const int portion = 1600;
    const int number = portion * (random.is_long() ? kLongWork : 1);
    admin().exec("CREATE TABLE effects (n int NOT NULL)");
    std::vector<NewTask> tasks;
    for (int i = 0; i < number; ++i) {
        tasks.push_back({.queue = "cpu", .payload = i, .policy = TaskPolicy{.max_attempts = 100}});
        if ((i + 1) % portion == 0) {
            hub_.tasks().create_many(std::exchange(tasks, {}));
        }
    }
    auto options = worker_options();
    options.on_event = {};
    options.concurrency = 8;
    options.lease = seconds(2);
    options.connection.conninfo += " application_name=portions";
    Turnstile turnstile;
    Process process([&] {
        Worker worker(options);
        worker.on("cpu", [&](Task& task) {
            turnstile.pass();
            std::this_thread::sleep_for(Milliseconds(2));
            if (task.payload().get<int>() % 2 == 0) {
                return completed();
            }
            task.complete_with([&](Connection& own) {
                own.exec("INSERT INTO effects VALUES (" + task.payload_text() + ")");
            });
            return settled();
        });
        worker.run();
    });
    kill_in_the_middle(*cluster, process, turnstile, "portions",
                       "app.tasks WHERE terminal_at_ms IS NULL", random);
    Conn own = admin();
    const std::string all = std::to_string(number) + " " + std::to_string(number);
    const std::string half = std::to_string(number / 2) + " " + std::to_string(number / 2);
    EXPECT_EQ(own.value("SELECT count(*) || ' ' || count(*) FILTER (WHERE state = 'completed') "
                        "FROM app.task_states"),
              all);
    EXPECT_EQ(own.value("SELECT count(*) || ' ' || count(DISTINCT task_id) FROM app.task_attempts "
                        "WHERE outcome = 'success'"),
              all);
    EXPECT_EQ(own.value("SELECT count(*) || ' ' || count(DISTINCT n) FROM effects"), half);
    own.exec("DROP TABLE effects");
}

// TX-32: Task::settle returns after the commit, and the event is told once.
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

// TX-33: two jobs at most would be held without a buffer.
TEST_F(ClientSettler, AnAutomaticBufferFollowsShortJobs) {
    auto options = worker_options();
    options.concurrency = 2;
    Worker worker(options);
    worker.on("cpu", [](Task&) { return completed(); });
    Running running(worker);
    EXPECT_TRUE(comes_to_hold_more_than(40));
    running.end();
    std::cout << worker.round_trips() << " round trips for " << events(Kind::kCompleted)
              << " jobs\n";
    EXPECT_EQ(leased(), 0);
}

// TX-33: the jobs that were prefetched because others were short go back when they take long.
TEST_F(ClientSettler, AnAutomaticBufferDoesNotKeepLongJobs) {
    auto options = worker_options();
    options.concurrency = 2;
    options.lease = seconds(600);
    Worker worker(options);
    Gate gate;
    gate.open = true;
    std::atomic<int> begun = 0;
    worker.on("cpu", [&](Task&) {
        ++begun;
        gate.pass();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(comes_to_hold_more_than(4));
    gate.open = false;
    EXPECT_TRUE(wait_until([&] { return leased() <= 2; }));
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
    gate.open = true;
    const int number = count("tasks");
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == number; }));
    running.end();
    EXPECT_EQ(begun, number);
    EXPECT_EQ(events(Kind::kError), 0);
}

// TX-33: the lengths of jobs count that their handlers have settled themselves.
TEST_F(ClientSettler, AnAutomaticBufferFollowsJobsThatSettleThemselves) {
    auto options = worker_options();
    options.concurrency = 50;
    Worker worker(options);
    worker.on("cpu", [](Task& task) {
        task.settle(completed());
        return settled();
    });
    Running running(worker);
    EXPECT_TRUE(comes_to_hold_more_than(50));
    running.end();
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
