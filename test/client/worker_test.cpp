// Leases and workers on a real server: what they lose, what they never lose, how they stop.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "belay/admin.hpp"
#include "belay/orchestrations.hpp"
#include "belay/worker.hpp"
#include "lease.hpp"
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

TEST_F(ClientLease, IsGivenBackIfItIsNotSettled) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.provider().enqueue_worker_work({.work_item = item(1)});
    {
        const auto lease = keeper.keep(hub_.provider().fetch_work_item({}).value());
        EXPECT_EQ(keeper.held(), 1u);
        EXPECT_FALSE(lease->settled());
    }
    EXPECT_EQ(keeper.held(), 0u);
    const auto again = hub_.provider().fetch_work_item({});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->attempt, 2);
}

// Items that are read at once, and those that need a parser, look the same to a handler.
TEST_F(ClientLease, ReadsActivitiesHoweverTheyAreSpelt) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    struct Spelling {
        std::string item;
        std::string kind;
        std::string payload;
        OptionalText instance = {};
        OptionalNumber id = {};
    };
    const std::vector<Spelling> spellings = {
        {R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":7,"name":"W","input":"a b"}})",
         "W", "a b", "i", 7},
        {" { \"ActivityExecute\" : { \"name\" : \"W\" , \"input\" : null , \"id\" : 12 } } ",
         "W",
         "",
         {},
         12},
        {R"({"ActivityExecute":{"name":"W","input":"a \"b\" \u00e9"}})", "W", "a \"b\" \u00e9"},
        {R"({"ActivityExecute":{"name":"W","input":"ü"}})", "W", "ü"},
        {R"({"ActivityExecute":{"name":"W","input":{"b":1}}})", "W", R"({"b":1})"},
        {R"({"ActivityExecute":{"name":"W","input":5,"id":0}})", "W", "5", {}, 0},
        {R"({"ActivityExecute":{"name":"V","name":"W","input":""}})", "W", ""},
    };
    for (const auto& spelling : spellings) {
        hub_.provider().enqueue_worker_work({.work_item = spelling.item});
        const auto lease = keeper.keep(hub_.provider().fetch_work_item({}).value());
        const TaskFacts& facts = lease->facts();
        EXPECT_EQ(facts.kind, spelling.kind) << spelling.item;
        EXPECT_EQ(facts.payload, spelling.payload) << spelling.item;
        EXPECT_EQ(facts.instance, spelling.instance) << spelling.item;
        EXPECT_EQ(facts.activity_id, spelling.id) << spelling.item;
        lease->settle(completed());
    }
}

TEST_F(ClientLease, IsSettledOnce) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    Queue(hub_, "q").send({{"a", 1}});
    const auto lease =
        keeper.keep(TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0));
    // An error that changes nothing leaves it open.
    EXPECT_THROW(lease->settle(completed_text("no JSON")), Error);
    EXPECT_FALSE(lease->settled());
    lease->settle(completed());
    EXPECT_TRUE(lease->settled());
    EXPECT_THROW(lease->settle(completed()), std::logic_error);
    EXPECT_THROW(lease->give_back({}, false), std::logic_error);
    EXPECT_EQ(hub_.tasks().status(lease->facts().id)->state, TaskState::kCompleted);
}

TEST_F(ClientLease, IsExtended) {
    const Milliseconds length(12000);  // extended after 4 s; a busy machine may be late
    LeaseKeeper keeper(pool_, {.hub = "app", .lease = length});
    hub_.provider().enqueue_worker_work({.work_item = item(1)});
    const auto lease =
        keeper.keep(hub_.provider().fetch_work_item({.lock_timeout = length}).value());
    Queue(hub_, "q").send(nullptr);
    const auto task = keeper.keep(
        TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1", .lease = length}).at(0));
    hub_.orchestrations().start("O", nullptr, {.instance_id = "o"});
    TurnLease turn =
        keeper.keep(hub_.provider().fetch_orchestration_item({.lock_timeout = length}).value());
    const auto deadlines = [this] {
        const Result rows = connection_.exec(
            "SELECT q.locked_until, t.lease_until_ms, l.locked_until FROM app.worker_queue AS q, "
            "app.tasks AS t, app.instance_locks AS l");
        return std::array{rows.get<std::int64_t>(0, 0), rows.get<std::int64_t>(0, 1),
                          rows.get<std::int64_t>(0, 2)};
    };
    const auto first = deadlines();
    EXPECT_TRUE(
        wait_until([&] { return std::ranges::equal(deadlines(), first, std::ranges::greater()); }));
    EXPECT_FALSE(lease->lost());
    EXPECT_FALSE(task->lost());
    EXPECT_FALSE(turn.lost());
    lease->settle(completed());
    task->settle(completed());
    turn.give_back({}, true);
}

TEST_F(ClientLease, EndsAtItsDeadlineWithoutAServer) {
    const Milliseconds timeout(1500);
    LeaseKeeper keeper(pool_, {.hub = "app", .lease = timeout});
    hub_.provider().enqueue_worker_work({.work_item = item(1)});
    const auto lease =
        keeper.keep(hub_.provider().fetch_work_item({.lock_timeout = timeout}).value());
    keeper.extend_now();  // so that the keeper has a connection to lose
    std::this_thread::sleep_for(Milliseconds(100));
    const auto began = Steady::now();
    cluster->stop();
    EXPECT_TRUE(wait_for_stop(lease->stop_token()));
    const auto took = Steady::now() - began;
    cluster->start();
    EXPECT_TRUE(lease->lost());
    EXPECT_LT(took, seconds(40));
    std::cout << "stopped after " << took / Milliseconds(1) << " ms of " << timeout.count() << "\n";
}

TEST_F(ClientLease, WritesWithTheCompletion) {
    connection_.exec("CREATE TABLE effects (a integer)");
    LeaseKeeper keeper(pool_, {.hub = "app"});
    Queue(hub_, "q").send(nullptr);
    const auto lease =
        keeper.keep(TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0));
    const auto write = [](Connection& own) { own.exec("INSERT INTO effects VALUES (1)"); };
    // The completion fails, so nothing is written.
    EXPECT_THROW(lease->complete_with(write, "no JSON", Where::current()), Error);
    EXPECT_EQ(connection_.exec("SELECT * FROM effects").size(), 0);
    lease->complete_with(write, std::nullopt, Where::current());
    EXPECT_EQ(connection_.exec("SELECT * FROM effects").size(), 1);
    connection_.exec("DROP TABLE effects");
}

TEST_F(ClientLease, ReportsALateCompletion) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.provider().enqueue_worker_work({.work_item = item(1)});
    const auto lease = keeper.keep(hub_.provider().fetch_work_item({}).value());
    Admin(connection_).new_incarnation("app");
    try {
        lease->settle(completed());
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost());
    }
    EXPECT_TRUE(lease->lost());
    EXPECT_TRUE(lease->stop_token().stop_requested());
}

// A session stays with its owner for longer than its lock lasts, until it is idle.
TEST_F(ClientLease, ExtendsSessions) {
    const Milliseconds timeout(1500);
    const auto began = std::chrono::time_point_cast<Milliseconds>(std::chrono::system_clock::now());
    TestClock clock(began);
    Hub hub(connection_, "app", clock.clock());
    LeaseKeeper keeper(pool_, {.hub = "app",
                               .clock = clock.clock(),
                               .session_owner = "me",
                               .session_lock_timeout = timeout,
                               .session_idle_timeout = Milliseconds(4000)});
    const auto is_locked_until = [&](Milliseconds then) {
        return wait_until([&] {
            return connection_.exec("SELECT locked_until FROM app.sessions WHERE session_id = 's'")
                       .get<std::int64_t>(0, 0) == to_ms(began + then);
        });
    };
    hub.provider().enqueue_worker_items(
        {{.work_item = item(1), .session_id = "s"}, {.work_item = item(2), .session_id = "s"}});
    keeper
        .keep(hub.provider()
                  .fetch_work_item({.owner_id = "me", .session_lock_timeout = timeout})
                  .value())
        ->settle(completed());
    for (int i = 1; i <= 3; ++i) {
        clock.advance(Milliseconds(1000));
        EXPECT_TRUE(is_locked_until(i * Milliseconds(1000) + timeout));
    }
    EXPECT_FALSE(hub.provider().fetch_work_item({.owner_id = "you"}));
    // Idle for too long.
    clock.advance(Milliseconds(2000));
    EXPECT_TRUE(wait_until(
        [&] { return hub.provider().fetch_work_item({.owner_id = "you"}).has_value(); }));
}

// Lanes, which have the names of hubs, go before the keeper, whose thread may be extending leases.
TEST_F(ClientLease, KeepsTheNameOfItsHub) {
    std::atomic<int> errors = 0;
    LeaseKeeper keeper(pool_, {.session_owner = "me", .on_error = [&](const auto&) { ++errors; }});
    hub_.provider().enqueue_worker_items({{.work_item = item(1), .session_id = "s"}});
    std::string name = "app";
    const auto leases = keeper.keep_all(
        {hub_.provider()
             .fetch_work_item({.owner_id = "me", .session_lock_timeout = Milliseconds(30000)})
             .value()},
        name);
    name = "gone";
    const auto is_extended = [&](const char* table) {
        const auto until = [&] {
            return connection_.exec("SELECT max(locked_until) FROM app." + std::string(table))
                .get<std::int64_t>(0, 0);
        };
        const auto first = until();
        return wait_until(
            [&] {
                keeper.extend_now();
                return until() > first;
            },
            seconds(20));
    };
    EXPECT_TRUE(is_extended("worker_queue"));
    leases.at(0)->settle(completed());
    EXPECT_TRUE(is_extended("sessions"));
    EXPECT_EQ(errors, 0);
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

    // The queue has this many items; none is leased or has an attempt.
    void expect_untouched(std::size_t number) {
        const auto rest = Hub(connection_, "app").provider().list_work_items();
        EXPECT_EQ(rest.size(), number);
        for (const auto& left : rest) {
            EXPECT_EQ(left.state, WorkItemState::kReady);
            EXPECT_EQ(left.attempt, 0);
        }
    }

    void enqueue(int count, int first = 1, const std::string& name = "Work") {
        std::vector<NewWorkItem> items;
        for (int id = first; id < first + count; ++id) {
            items.push_back({.work_item = item(id, name)});
        }
        EXPECT_EQ(Hub(connection_, "app").provider().enqueue_worker_items(items), count);
    }

    std::size_t queued() {
        return Hub(connection_, "app").provider().list_work_items(Json::object(), {}, 1000).size();
    }

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
    worker.on_activity("Work", [&](Task& activity) {
        ++runs;
        wrong +=
            activity.payload_text() != "in " + std::to_string(activity.activity_id().value_or(0)) ||
            activity.instance() != "i" || activity.attempt() != 1;
        return completed("ok");
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs >= count && queued() == 0; }));
    EXPECT_LE(connection_
                  .exec("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
                        {"belay_worker_test"})
                  .get<int>(0, 0),
              5);  // one waits, one extends leases
    running.end();
    EXPECT_EQ(runs, count);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(completions(), std::pair(count, count));
    EXPECT_EQ(events(WorkerEvent::Kind::kError), 0);
}

// One handler on one connection, and nothing prefetched: every item is one round trip, its ack and
// the fetch of the next.
TEST_F(ClientWorker, NeedsOneRoundTripPerItem) {
    const int count = 1000;
    enqueue(count);
    auto options = worker_options();
    options.concurrency = 1;
    options.connections = 1;
    options.prefetch = 0;
    Worker worker(options);
    std::atomic<int> runs = 0;
    worker.on_activity("Work", [&](Task&) {
        ++runs;
        return completed("ok");
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
    Hub(connection_, "app").provider().enqueue_worker_items(items);
    auto options = worker_options();
    options.session_lock_timeout = Milliseconds(10000);
    std::mutex mutex;
    std::map<std::int64_t, std::set<int>> owners;  // of each session
    const auto handler = [&](int owner) {
        return [&, owner](Task& activity) {
            {
                const std::lock_guard lock(mutex);
                owners[activity.activity_id().value_or(0) % 4].insert(owner);
            }
            std::this_thread::sleep_for(Milliseconds(50));
            return completed();
        };
    };
    options.concurrency = 2;
    Worker first(options);
    Worker second(options);
    first.on_activity("Work", handler(1));
    second.on_activity("Work", handler(2));
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
    worker.on_activity("Work", [&](Task&) {
        ++runs;
        return completed();
    });
    Running running(worker);
    for (int i = 1; i <= 5; ++i) {
        std::this_thread::sleep_for(Milliseconds(20));
        enqueue(1, i);
        EXPECT_TRUE(wait_until([&] { return runs == i; }, seconds(20)));
    }
}

// TX-26: one worker, both kinds of work; neither keeps the other from its handlers.
TEST_F(ClientWorker, RunsTasksAndActivities) {
    Hub hub(connection_, "app");
    Queue mail(hub, "mail");
    enqueue(50);
    mail.send_many(std::vector<Json>(50, {{"to", "ada"}}));
    auto options = worker_options();
    options.concurrency = 2;
    Worker worker(options);
    std::atomic<int> tasks = 0;
    std::atomic<int> activities = 0;
    std::atomic<int> wrong = 0;
    worker.on("mail", [&](Task& task) {
        ++tasks;
        wrong += task.is_activity() || task.payload() != Json{{"to", "ada"}};
        return completed({{"sent", true}});
    });
    worker.on_activity("Work", [&](Task& task) {
        ++activities;
        wrong += !task.is_activity() || task.kind() != "Work" || !task.id().is_nil();
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return tasks == 50 && activities == 50 && queued() == 0; }));
    enqueue(1, 100);
    mail.send({{"to", "ada"}});
    ASSERT_TRUE(wait_until([&] { return tasks == 51 && activities == 51 && queued() == 0; }));
    running.end();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(completions(), std::pair(51, 51));
    EXPECT_EQ(events(WorkerEvent::Kind::kCompleted), 102);
    EXPECT_EQ(hub.tasks().list({.states = {TaskState::kCompleted}}).size(), 51u);
    EXPECT_EQ(events(WorkerEvent::Kind::kError), 0);
}

TEST_F(ClientWorker, NeedsAHandler) {
    Worker worker(worker_options());
    EXPECT_THROW(worker.run(), Error);
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
    worker.on_activity("Throws", [&](Task&) -> Outcome {
        ++thrown;
        throw std::runtime_error("no luck");
    });
    worker.on_activity("Fails", [](Task&) { return failed("never"); });
    worker.on_activity("Settles", [](Task& activity) {
        activity.complete_with([](Connection& own) { own.exec("INSERT INTO effects VALUES (1)"); },
                               "r");
        return settled();
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
    options.lease = Milliseconds(6000);
    Worker worker(options);
    std::atomic<bool> began = false;
    std::atomic<bool> stopped = false;
    worker.on_activity("Work", [&](Task& activity) {
        // The item comes again: the second run is short.
        if (began.exchange(true)) {
            return completed();
        }
        stopped = wait_for_stop(activity.stop_token());
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began.load(); }));
    const auto lost = Steady::now();
    Admin(connection_).new_incarnation("app");
    ASSERT_TRUE(wait_until([&] { return stopped.load(); }));
    const auto took = Steady::now() - lost;
    std::cout << "stopped after " << took / Milliseconds(1)
              << " ms; one renewal period is 2000 ms\n";
    EXPECT_LT(took, seconds(40));
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(events(WorkerEvent::Kind::kLost), 1);
}

// TX-23
TEST_F(ClientWorker, ACancelReachesTheHandlerAtOnce) {
    auto options = worker_options();
    options.lease = seconds(600);  // so that no renewal comes by itself
    // One handler is busy and nothing free; one of two is free.
    for (const int concurrency : {1, 2}) {
        options.concurrency = concurrency;
        enqueue(1);
        Worker worker(options);
        std::atomic<bool> began = false;
        std::atomic<bool> stopped = false;
        std::atomic<StopReason> reason = StopReason::kNone;
        worker.on_activity("Work", [&](Task& activity) {
            began = true;
            const bool told = wait_for_stop(activity.stop_token());
            reason = activity.stop_reason();
            stopped = told;
            return completed();
        });
        Running running(worker);
        ASSERT_TRUE(wait_until([&] { return began.load(); }));
        std::this_thread::sleep_for(Milliseconds(50));
        const auto cancelled = Steady::now();
        EXPECT_EQ(Hub(connection_, "app")
                      .provider()
                      .cancel_activities({{.instance = "i", .execution_id = 1, .activity_id = 1}}),
                  1);
        ASSERT_TRUE(wait_until([&] { return stopped.load(); }));
        const auto took = Steady::now() - cancelled;
        std::cout << "cancel to stop: " << took / std::chrono::microseconds(1) << " us\n";
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
    options.lease = seconds(600);  // so that no renewal comes by itself
    options.concurrency = 2;
    Worker worker(options);
    std::atomic<int> began = 0;
    std::atomic<int> stopped = 0;
    std::atomic<int> quick = 0;
    worker.on_activity("Work", [&](Task& activity) {
        ++began;
        stopped += wait_for_stop(activity.stop_token());
        return completed();
    });
    worker.on_activity("Quick", [&](Task&) {
        ++quick;
        return completed();
    });
    Running running(worker);
    Hub hub(connection_, "app");
    for (int i = 1; i <= 10; ++i) {
        enqueue(1, i);
        ASSERT_TRUE(wait_until([&] { return began == i; }));
        connection_.with_transaction([&] {
            hub.provider().enqueue_worker_work({.work_item = item(100 + i, "Quick")});
            hub.provider().cancel_activities(
                {{.instance = "i", .execution_id = 1, .activity_id = i}});
        });
        ASSERT_TRUE(wait_until([&] { return stopped == i && quick == i; }, seconds(20))) << i;
    }
}

TEST_F(ClientWorker, DrainsAndLeavesNoLease) {
    enqueue(8);
    auto options = worker_options();
    options.concurrency = 3;
    options.drain_timeout = seconds(600);
    Worker worker(options);
    std::atomic<int> began = 0;
    std::atomic<bool> release = false;
    worker.on_activity("Work", [&](Task&) {
        ++began;
        wait_until([&] { return release.load(); });
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began == 3; }));
    worker.stop();
    release = true;
    running.end();
    EXPECT_EQ(began, 3);
    EXPECT_EQ(completions().first, 3);
    EXPECT_EQ(events(WorkerEvent::Kind::kAbandoned), 0);
    expect_untouched(5);
}

TEST_F(ClientWorker, GivesBackWhatTakesTooLongToDrain) {
    enqueue(7);
    auto options = worker_options();
    options.concurrency = 2;
    options.drain_timeout = Milliseconds(300);
    Worker worker(options);
    std::atomic<int> began = 0;
    worker.on_activity("Work", [&](Task& activity) {
        ++began;
        wait_for_stop(activity.stop_token());
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began == 2; }));
    running.end();
    EXPECT_EQ(began, 2);
    EXPECT_EQ(completions().first, 0);
    EXPECT_EQ(events(WorkerEvent::Kind::kAbandoned), 2);
    expect_untouched(7);
}

TEST_F(ClientWorker, ARestartLosesNothing) {
    const int count = 200;
    enqueue(count);
    auto options = worker_options();
    options.lease = Milliseconds(4000);
    options.connection.async_leases = false;
    Worker worker(options);
    Turnstile turnstile;
    worker.on_activity("Work", [&](Task&) {
        turnstile.pass();
        std::this_thread::sleep_for(Milliseconds(5));
        return completed();
    });
    Running running(worker, &turnstile);
    restart_in_the_middle(turnstile, count);
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(completions(), std::pair(count, count));
    std::cout << turnstile.arrived() << " runs for " << count << " items\n";
}

// TX-21: the COMMIT of complete_with is lost with its connection. The item is settled, or it is
// there again at once, long before its lease ends.
TEST_F(ClientWorker, ALostCommitIsUnknownAndGivesBackTheItem) {
    for (const bool commits : {true, false}) {
        BrokenCommit broken(cluster->conninfo(), commits);
        enqueue(1);
        events_.clear();
        auto options = worker_options();
        options.lease = seconds(600);
        options.max_attempts = 1;
        Worker worker(options);
        std::atomic<int> runs = 0;
        std::atomic<int> attempt = 0;
        worker.on_activity("Work", [&](Task& activity) {
            ++runs;
            attempt = activity.attempt();
            activity.complete_with([&](Connection& own) { broken.write(own); }, "r");
            return settled();
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
    worker.on_activity("Work", [&](Task& activity) -> Outcome {
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
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return queued() == 0; }));
    running.end();
    EXPECT_EQ(attempts, (std::vector{1, 1, 1, 1, 2}));
    EXPECT_EQ(events(WorkerEvent::Kind::kFailed), 0);
    EXPECT_EQ(events(WorkerEvent::Kind::kReleased), 3);
    EXPECT_EQ(events(WorkerEvent::Kind::kRetried), 1);
}

// Connections die at any moment, many of them in the middle of an ack: each item has one
// completion.
TEST_F(ClientWorker, AKilledConnectionEndsInOneOutcome) {
    const int count = 300;
    enqueue(count);
    auto options = worker_options();
    options.lease = Milliseconds(2000);
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    worker.on_activity("Work", [](Task&) { return completed(); });
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
