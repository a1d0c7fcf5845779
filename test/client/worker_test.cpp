// Leases and workers on a real server: what they lose, what they never lose, how they stop.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "belay/worker.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using std::chrono::seconds;

std::string item(int id, const std::string& name = "Work") {
    return R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" + std::to_string(id) +
           R"(,"name":")" + name + R"(","input":"in )" + std::to_string(id) + R"("}})";
}

class ClientLease : public WithServer {
 protected:
    Pool pool_{options(), 2};
    Connection connection_{options()};
    Hub hub_{connection_, "app"};
};

TEST_F(ClientLease, IsGivenBackIfNobodySettlesIt) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.enqueue_worker_work({.work_item = item(1)});
    {
        WorkLease lease = keeper.keep(hub_.fetch_work_item({}).value());
        EXPECT_EQ(keeper.held(), 1u);
        WorkLease moved = std::move(lease);
        EXPECT_FALSE(moved.settled());
    }
    EXPECT_EQ(keeper.held(), 0u);
    const auto again = hub_.fetch_work_item({});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->attempt_count, 2);
}

TEST_F(ClientLease, IsSettledOnce) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.enqueue_worker_work({.work_item = item(1)});
    WorkLease lease = keeper.keep(hub_.fetch_work_item({}).value());
    // An error that changes nothing leaves it open.
    EXPECT_THROW(lease.ack("no completion"), Error);
    EXPECT_FALSE(lease.settled());
    lease.ack();
    EXPECT_TRUE(lease.settled());
    EXPECT_THROW(lease.ack(), std::logic_error);
    EXPECT_THROW(lease.abandon(), std::logic_error);
    EXPECT_TRUE(hub_.list_work_items().empty());
}

TEST_F(ClientLease, RenewsItself) {
    LeaseKeeper keeper(pool_, {.hub = "app", .lock_timeout = Milliseconds(2000)});
    hub_.enqueue_worker_work({.work_item = item(1)});
    WorkLease lease =
        keeper.keep(hub_.fetch_work_item({.lock_timeout = Milliseconds(2000)}).value());
    hub_.start_orchestration("O", "", {.instance_id = "o"});
    TurnLease turn =
        keeper.keep(hub_.fetch_orchestration_item({.lock_timeout = Milliseconds(2000)}).value());
    std::this_thread::sleep_for(Milliseconds(2600));
    EXPECT_FALSE(lease.lost());
    EXPECT_FALSE(turn.lost());
    lease.ack();
    turn.abandon({}, true);
}

TEST_F(ClientLease, EndsAtItsDeadlineWithoutAServer) {
    const Milliseconds timeout(1500);
    LeaseKeeper keeper(pool_, {.hub = "app", .lock_timeout = timeout});
    hub_.enqueue_worker_work({.work_item = item(1)});
    const WorkLease lease = keeper.keep(hub_.fetch_work_item({.lock_timeout = timeout}).value());
    keeper.renew_now();  // so that the keeper has a connection to lose
    std::this_thread::sleep_for(Milliseconds(100));
    const auto began = Steady::now();
    cluster->stop();
    EXPECT_TRUE(wait_for_stop(lease.stop_token()));
    const auto took = Steady::now() - began;
    cluster->start();
    EXPECT_TRUE(lease.lost());
    EXPECT_LT(took, seconds(10));
    std::cout << "stopped after " << took / Milliseconds(1) << " ms of " << timeout.count() << "\n";
}

TEST_F(ClientLease, WritesWithTheAck) {
    connection_.exec("CREATE TABLE effects (a integer)");
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.enqueue_worker_work({.work_item = item(1)});
    WorkLease lease = keeper.keep(hub_.fetch_work_item({}).value());
    const auto write = [](Connection& own) { own.exec("INSERT INTO effects VALUES (1)"); };
    // The ack fails, so nothing is written.
    EXPECT_THROW(lease.ack_with(write, "no completion"), Error);
    EXPECT_EQ(connection_.exec("SELECT * FROM effects").size(), 0);
    lease.ack_with(write);
    EXPECT_EQ(connection_.exec("SELECT * FROM effects").size(), 1);
    connection_.exec("DROP TABLE effects");
}

TEST_F(ClientLease, ReportsALateAck) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.enqueue_worker_work({.work_item = item(1)});
    WorkLease lease = keeper.keep(hub_.fetch_work_item({}).value());
    Admin(connection_).new_incarnation("app");
    try {
        lease.ack();
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost());
    }
    EXPECT_TRUE(lease.lost());
    EXPECT_TRUE(lease.stop_token().stop_requested());
}

TEST_F(ClientLease, AcksManyInOneRoundTrip) {
    Pool one(options(), 1);
    LeaseKeeper keeper(one, {.hub = "app"});
    std::vector<WorkLease> leases;
    for (int id = 1; id <= 4; ++id) {
        hub_.enqueue_worker_work({.work_item = item(id)});
        leases.push_back(keeper.keep(hub_.fetch_work_item({}).value()));
    }
    hub_.cancel_activities({{.instance = "i", .execution_id = 1, .activity_id = 2}});
    // An error that changes nothing leaves all of them open.
    EXPECT_THROW(keeper.ack_all(leases, {"no completion", {}, {}, {}}), Error);
    EXPECT_THROW(keeper.ack_all(leases, {}), std::logic_error);
    std::uint64_t before = one.take()->round_trips();
    const auto results = keeper.ack_all(leases, {{}, {}, {}, {}});
    EXPECT_LE(one.take()->round_trips() - before, 1u);
    ASSERT_EQ(results.size(), 4u);
    for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].acked, i != 1);
        EXPECT_EQ(leases[i].lost(), i == 1);
        EXPECT_EQ(leases[i].stop_token().stop_requested(), i == 1);
        EXPECT_TRUE(leases[i].settled());
    }
    EXPECT_THROW(keeper.ack_all(leases, {{}, {}, {}, {}}), std::logic_error);
    EXPECT_TRUE(hub_.list_work_items().empty());
}

// A session stays with its owner for longer than its lock lasts, until it is idle.
TEST_F(ClientLease, RenewsSessions) {
    const Milliseconds timeout(1500);
    LeaseKeeper keeper(pool_, {.hub = "app",
                               .session_owner = "me",
                               .session_lock_timeout = timeout,
                               .session_idle_timeout = Milliseconds(4000)});
    hub_.enqueue_worker_items(
        {{.work_item = item(1), .session_id = "s"}, {.work_item = item(2), .session_id = "s"}});
    keeper.keep(hub_.fetch_work_item({.owner_id = "me", .session_lock_timeout = timeout}).value())
        .ack();
    std::this_thread::sleep_for(Milliseconds(2200));
    EXPECT_FALSE(hub_.fetch_work_item({.owner_id = "you"}));
    EXPECT_TRUE(wait_until([&] { return hub_.fetch_work_item({.owner_id = "you"}).has_value(); },
                           seconds(20)));
}

class ClientWorker : public WithServer {
 protected:
    WorkerOptions worker_options() {
        WorkerOptions made{.connection = options(), .hub = "app"};
        made.drain_timeout = Milliseconds(20000);
        made.retry_delay = Milliseconds(10);
        made.on_event = [this](const WorkerEvent& event) {
            const std::lock_guard lock(mutex_);
            ++events_[event.kind];
        };
        return made;
    }

    int events(WorkerEvent::Kind kind) {
        const std::lock_guard lock(mutex_);
        return events_[kind];
    }

    void enqueue(int count, int first = 1, const std::string& name = "Work") {
        std::vector<NewWorkItem> items;
        for (int id = first; id < first + count; ++id) {
            items.push_back({.work_item = item(id, name)});
        }
        EXPECT_EQ(Hub(connection_, "app").enqueue_worker_items(items), count);
    }

    std::size_t queued() { return Hub(connection_, "app").list_work_items("{}", {}, 1000).size(); }

    // Completions that arrived in the orchestrator queue, and how many different ones.
    std::pair<int, int> completions() {
        const Result row = connection_.call(
            Effect::kRepeatable,
            "SELECT count(*), count(DISTINCT work_item::jsonb -> 'ActivityCompleted' -> 'id') "
            "FROM app.messages WHERE work_item::jsonb ? 'ActivityCompleted'");
        return {row.get<int>(0, 0), row.get<int>(0, 1)};
    }

    Connection connection_{options()};
    std::mutex mutex_;
    std::map<WorkerEvent::Kind, int> events_;
};

TEST_F(ClientWorker, RunsManyItemsOnFewConnections) {
    const char* is_long = std::getenv("BELAY_LONG");
    const int count = is_long != nullptr && std::string(is_long) == "1" ? 50000 : 10000;
    for (int done = 0; done < count; done += 1000) {
        enqueue(1000, done + 1);
    }
    auto options = worker_options();
    options.concurrency = 8;
    options.connections = 3;
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    std::atomic<int> runs = 0;
    std::atomic<int> wrong = 0;
    worker.on("Work", [&](Activity& activity) {
        ++runs;
        wrong += activity.input() != "in " + std::to_string(activity.id().value_or(0)) ||
                 activity.instance() != "i" || activity.attempt() != 1;
        return Outcome::completed("ok");
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs >= count && queued() == 0; }));
    EXPECT_LE(connection_
                  .exec("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
                        {"belay_worker_test"})
                  .get<int>(0, 0),
              4);
    running.end();
    EXPECT_EQ(runs, count);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(completions(), std::pair(count, count));
    EXPECT_EQ(events(WorkerEvent::Kind::kError), 0);
}

// One handler on one connection: every item is one round trip, its ack and the fetch of the next.
TEST_F(ClientWorker, NeedsOneRoundTripPerItem) {
    const int count = 1000;
    enqueue(count);
    auto options = worker_options();
    options.concurrency = 1;
    options.connections = 1;
    Worker worker(options);
    std::atomic<int> runs = 0;
    worker.on("Work", [&](Activity&) {
        ++runs;
        return Outcome::completed("ok");
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs == count && queued() == 0; }));
    running.end();
    const auto counted = worker.round_trips();
    std::cout << counted << " round trips for " << count << " items\n";
    EXPECT_GE(counted, static_cast<std::uint64_t>(count));
    EXPECT_LE(counted, static_cast<std::uint64_t>(count) + 20);
}

TEST_F(ClientWorker, KeepsItsSessions) {
    std::vector<NewWorkItem> items;
    for (int id = 1; id <= 20; ++id) {
        items.push_back({.work_item = item(id), .session_id = "s" + std::to_string(id % 4)});
    }
    Hub(connection_, "app").enqueue_worker_items(items);
    auto options = worker_options();
    options.session_lock_timeout = Milliseconds(3000);
    std::mutex mutex;
    std::map<std::int64_t, std::set<int>> owners;  // of each session
    const auto handler = [&](int owner) {
        return [&, owner](Activity& activity) {
            {
                const std::lock_guard lock(mutex);
                owners[activity.id().value_or(0) % 4].insert(owner);
            }
            std::this_thread::sleep_for(Milliseconds(50));
            return Outcome::completed();
        };
    };
    options.concurrency = 2;
    Worker first(options);
    Worker second(options);
    first.on("Work", handler(1));
    second.on("Work", handler(2));
    Running running(first);
    Running running_too(second);
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    running_too.end();
    for (const auto& [session, who] : owners) {
        EXPECT_EQ(who.size(), 1u) << "session " << session;
    }
}

TEST_F(ClientWorker, TakesWhatComesLater) {
    Worker worker(worker_options());
    std::atomic<int> runs = 0;
    worker.on("Work", [&](Activity&) {
        ++runs;
        return Outcome::completed();
    });
    Running running(worker);
    for (int i = 1; i <= 5; ++i) {
        std::this_thread::sleep_for(Milliseconds(20));
        enqueue(1, i);
        EXPECT_TRUE(wait_until([&] { return runs == i; }, seconds(20)));
    }
}

TEST_F(ClientWorker, RetriesFailsAndSettles) {
    connection_.exec("CREATE TABLE effects (a integer)");
    enqueue(1, 1, "Throws");
    enqueue(1, 2, "Fails");
    enqueue(1, 3, "Settles");
    auto options = worker_options();
    options.max_attempts = 3;
    Worker worker(options);
    std::atomic<int> thrown = 0;
    worker.on("Throws", [&](Activity&) -> Outcome {
        ++thrown;
        throw std::runtime_error("no luck");
    });
    worker.on("Fails", [](Activity&) { return Outcome::failed("never"); });
    worker.on("Settles", [](Activity& activity) {
        activity.complete_with([](Connection& own) { own.exec("INSERT INTO effects VALUES (1)"); },
                               "r");
        return Outcome::settled();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(thrown, 3);
    EXPECT_EQ(events(WorkerEvent::Kind::kRetried), 2);
    EXPECT_EQ(events(WorkerEvent::Kind::kFailed), 2);
    EXPECT_EQ(events(WorkerEvent::Kind::kCompleted), 1);
    EXPECT_EQ(connection_.exec("SELECT * FROM effects").size(), 1);
    EXPECT_EQ(connection_
                  .exec("SELECT * FROM app.messages WHERE work_item::jsonb #>> "
                        "'{ActivityFailed,details,Application,message}' IN ('no luck', 'never')")
                  .size(),
              2);
    connection_.exec("DROP TABLE effects");
}

TEST_F(ClientWorker, ALostLeaseStopsTheHandler) {
    enqueue(1);
    auto options = worker_options();
    options.lock_timeout = Milliseconds(1500);
    Worker worker(options);
    std::atomic<bool> began = false;
    std::atomic<bool> stopped = false;
    worker.on("Work", [&](Activity& activity) {
        // The item comes again: the second run is short.
        if (began.exchange(true)) {
            return Outcome::completed();
        }
        stopped = wait_for_stop(activity.stop_token());
        return Outcome::completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began.load(); }));
    const auto lost = Steady::now();
    Admin(connection_).new_incarnation("app");
    ASSERT_TRUE(wait_until([&] { return stopped.load(); }));
    const auto took = Steady::now() - lost;
    std::cout << "stopped after " << took / Milliseconds(1)
              << " ms; one renewal period is 500 ms\n";
    EXPECT_LT(took, seconds(5));
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(events(WorkerEvent::Kind::kLost), 1);
}

// TX-23
TEST_F(ClientWorker, ACancelReachesTheHandlerAtOnce) {
    auto options = worker_options();
    options.lock_timeout = seconds(600);  // so that no renewal comes by itself
    // One handler is busy and nothing free; one of two is free.
    for (const int concurrency : {1, 2}) {
        options.concurrency = concurrency;
        enqueue(1);
        Worker worker(options);
        std::atomic<bool> began = false;
        std::atomic<bool> stopped = false;
        std::atomic<StopReason> reason = StopReason::kNone;
        worker.on("Work", [&](Activity& activity) {
            began = true;
            const bool told = wait_for_stop(activity.stop_token());
            reason = activity.stop_reason();
            stopped = told;
            return Outcome::completed();
        });
        Running running(worker);
        ASSERT_TRUE(wait_until([&] { return began.load(); }));
        std::this_thread::sleep_for(Milliseconds(50));
        const auto cancelled = Steady::now();
        EXPECT_EQ(Hub(connection_, "app")
                      .cancel_activities({{.instance = "i", .execution_id = 1, .activity_id = 1}}),
                  1);
        ASSERT_TRUE(wait_until([&] { return stopped.load(); }));
        const auto took = Steady::now() - cancelled;
        std::cout << "cancel to stop: " << took / std::chrono::microseconds(1) << " us\n";
        EXPECT_LT(took, seconds(5));
        running.end();
        EXPECT_EQ(reason, StopReason::kCancelled);
        EXPECT_EQ(events(WorkerEvent::Kind::kCancelled), concurrency);
        EXPECT_EQ(events(WorkerEvent::Kind::kLost), 0);
    }
}

// Work comes in the transaction of the cancel: the wait returns for the work, and the next one for
// the cancel.
TEST_F(ClientWorker, ACancelIsNotMissedBecauseOfNewWork) {
    auto options = worker_options();
    options.lock_timeout = seconds(600);  // so that no renewal comes by itself
    options.concurrency = 2;
    Worker worker(options);
    std::atomic<int> began = 0;
    std::atomic<int> stopped = 0;
    std::atomic<int> quick = 0;
    worker.on("Work", [&](Activity& activity) {
        ++began;
        stopped += wait_for_stop(activity.stop_token());
        return Outcome::completed();
    });
    worker.on("Quick", [&](Activity&) {
        ++quick;
        return Outcome::completed();
    });
    Running running(worker);
    Hub hub(connection_, "app");
    for (int i = 1; i <= 10; ++i) {
        enqueue(1, i);
        ASSERT_TRUE(wait_until([&] { return began == i; }));
        connection_.with_transaction([&] {
            hub.enqueue_worker_work({.work_item = item(100 + i, "Quick")});
            hub.cancel_activities({{.instance = "i", .execution_id = 1, .activity_id = i}});
        });
        ASSERT_TRUE(wait_until([&] { return stopped == i && quick == i; }, seconds(20))) << i;
    }
}

TEST_F(ClientWorker, DrainsAndLeavesNoLease) {
    enqueue(1, 1, "Short");
    enqueue(2, 2, "Long");
    enqueue(5, 10, "Long");
    auto options = worker_options();
    options.concurrency = 3;
    options.drain_timeout = Milliseconds(300);
    Worker worker(options);
    std::atomic<int> began = 0;
    std::atomic<bool> release = false;
    worker.on("Short", [&](Activity&) {
        ++began;
        wait_until([&] { return release.load(); });
        return Outcome::completed();
    });
    worker.on("Long", [&](Activity& activity) {
        ++began;
        wait_for_stop(activity.stop_token());
        return Outcome::completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began == 3; }));
    worker.stop();
    release = true;
    running.end();
    EXPECT_EQ(began, 3);
    EXPECT_EQ(completions().first, 1);
    EXPECT_EQ(events(WorkerEvent::Kind::kAbandoned), 2);
    const auto rest = Hub(connection_, "app").list_work_items();
    EXPECT_EQ(rest.size(), 7u);
    for (const auto& left : rest) {
        EXPECT_EQ(left.state, "ready");
        EXPECT_EQ(left.attempt_count, 0);
    }
}

TEST_F(ClientWorker, ARestartLosesNothing) {
    const int count = 200;
    enqueue(count);
    auto options = worker_options();
    options.lock_timeout = Milliseconds(4000);
    options.connection.async_leases = false;
    Worker worker(options);
    std::atomic<int> runs = 0;
    worker.on("Work", [&](Activity&) {
        ++runs;
        std::this_thread::sleep_for(Milliseconds(5));
        return Outcome::completed();
    });
    Running running(worker);
    for (const char* mode : {"fast", "immediate"}) {
        const int before = runs;
        ASSERT_TRUE(wait_until([&] { return runs >= before + 20; }));
        cluster->stop(mode);
        cluster->start();
    }
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(completions(), std::pair(count, count));
    std::cout << runs << " runs for " << count << " items\n";
}

// TX-21: the COMMIT of complete_with is lost with its connection. The item is settled, or it is
// there again at once, long before its lease ends.
TEST_F(ClientWorker, ALostCommitIsUnknownAndGivesBackTheItem) {
    for (const bool commits : {true, false}) {
        BrokenCommit broken(cluster->conninfo(), commits);
        enqueue(1);
        events_.clear();
        auto options = worker_options();
        options.lock_timeout = seconds(600);
        options.max_attempts = 1;
        Worker worker(options);
        std::atomic<int> runs = 0;
        std::atomic<int> attempt = 0;
        worker.on("Work", [&](Activity& activity) {
            ++runs;
            attempt = activity.attempt();
            activity.complete_with([&](Connection& own) { broken.write(own); }, "r");
            return Outcome::settled();
        });
        Running running(worker);
        broken.let_go();
        ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
        ASSERT_TRUE(wait_until([&] { return events(WorkerEvent::Kind::kUnknown) == 1; }));
        running.end();
        EXPECT_EQ(runs, commits ? 1 : 2);
        EXPECT_EQ(attempt, 1) << "a broken connection is no attempt";
        EXPECT_EQ(broken.effects(), 1);
        EXPECT_EQ(events(WorkerEvent::Kind::kUnknown), 1);
        EXPECT_EQ(events(WorkerEvent::Kind::kError), 0);
        EXPECT_EQ(events(WorkerEvent::Kind::kCompleted), commits ? 0 : 1);
    }
    EXPECT_EQ(completions(), std::pair(2, 1));
}

// TX-22: neither an exception of the infrastructure nor a call of the worker that fails so is an
// attempt.
TEST_F(ClientWorker, InfrastructureErrorsAreNoAttempts) {
    enqueue(1);
    auto options = worker_options();
    options.max_attempts = 2;
    Worker worker(options);
    std::vector<int> attempts;
    worker.on("Work", [&](Activity& activity) -> Outcome {
        attempts.push_back(activity.attempt());
        switch (attempts.size()) {
            case 1:
                throw Error({.message = "too many clients", .sqlstate = "53300"});
            case 2:
                throw Error({.message = "no statement", .sqlstate = "26000"});
            case 3:
                // In the body: the transaction is rolled back for certain.
                activity.complete_with(
                    [&](Connection& own) {
                        own.exec("SELECT pg_terminate_backend(pg_backend_pid())");
                    },
                    "");
                break;
            case 4:
                throw Error({.message = "wrong", .sqlstate = "22012"});
            default:
                break;
        }
        return Outcome::completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(attempts, (std::vector{1, 1, 1, 1, 2}));
    EXPECT_EQ(events(WorkerEvent::Kind::kFailed), 0);
    EXPECT_EQ(events(WorkerEvent::Kind::kRetried), 4);
}

// Connections die at any moment, many of them in the middle of an ack: each item has one
// completion.
TEST_F(ClientWorker, AKilledConnectionEndsInOneOutcome) {
    const int count = 300;
    enqueue(count);
    auto options = worker_options();
    options.lock_timeout = Milliseconds(2000);
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    worker.on("Work", [](Activity&) { return Outcome::completed(); });
    Running running(worker);
    Conn killer = admin();
    int kills = 0;
    ASSERT_TRUE(wait_until([&] {
        // Each kill costs a new connection; after so many the rest may run in peace.
        if (kills >= 60) {
            return queued() == 0;
        }
        kills +=
            std::stoi(killer.value("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                                   "WHERE application_name = 'belay_worker_test' AND "
                                   "(state = 'active' AND wait_event IS NULL OR random() < 0.02)"));
        return queued() == 0;
    }));
    running.end();
    EXPECT_EQ(completions(), std::pair(count, count));
    std::cout << kills << " connections killed, " << events(WorkerEvent::Kind::kUnknown)
              << " outcomes unknown, " << events(WorkerEvent::Kind::kLost) << " lost\n";
}

}  // namespace
}  // namespace belay::test
