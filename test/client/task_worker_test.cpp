// Leases of tasks and their workers on a real server.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <set>

#include "belay/admin.hpp"
#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "lease.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using std::chrono::seconds;
using Kind = WorkerEvent::Kind;

const TaskPolicy kAtOnce{.backoff = Backoff::fixed(Milliseconds(0))};

class WithTasks : public WithServer {
 protected:
    // Every scenario leaves a hub that is sound.
    void TearDown() override {
        for (const auto& problem : hub_.tasks().check()) {
            ADD_FAILURE() << problem.object << ": " << problem.problem;
        }
        WithServer::TearDown();
    }

    Uuid create(const NewTask& task) { return hub_.tasks().create(task).id; }

    void create_many(int count, const std::string& queue = "cpu") {
        std::vector<NewTask> tasks;
        for (int i = 0; i < count; ++i) {
            tasks.push_back({.queue = queue, .payload = i});
        }
        hub_.tasks().create_many(tasks);
    }

    Json task(const Uuid& id) { return hub_.tasks().get(id).value(); }
    std::string state_of(const Uuid& id) { return task(id)["state"]; }

    int in_state(const std::string& state) {
        return connection_
            .call(Effect::kRepeatable, "SELECT count(*) FROM app.task_states WHERE state = $1",
                  {state})
            .get<int>(0, 0);
    }

    // So many tasks are ready; none has been retried or reclaimed.
    void expect_untouched(std::size_t number) {
        const auto rest = hub_.tasks().list({.states = {TaskState::kReady}});
        EXPECT_EQ(rest.size(), number);
        for (const auto& left : rest) {
            EXPECT_EQ(left.retry_count + left.reclaim_count, 0);
        }
    }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
};

class ClientTaskLease : public WithTasks {
 protected:
    std::unique_ptr<HeldLease> lease(LeaseKeeper& keeper,
                                     Milliseconds length = Milliseconds(30000)) {
        create({.queue = "cpu"});
        return keeper.keep(
            TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1", .lease = length}).at(0));
    }
    static const Uuid& id_of(const std::unique_ptr<HeldLease>& lease) { return lease->facts().id; }

    static void write(const std::unique_ptr<HeldLease>& lease,
                      const std::function<void(Connection&)>& body) {
        lease->write(body, Where::current());
    }

    Pool pool_{options(), 2};
};

// TX-5
TEST_F(ClientTaskLease, IsReleasedIfItIsNotSettled) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    Uuid id;
    {
        const auto held = lease(keeper);
        id = id_of(held);
        EXPECT_FALSE(held->token().empty());
        EXPECT_EQ(keeper.held(), 1u);
    }
    EXPECT_EQ(keeper.held(), 0u);
    EXPECT_EQ(state_of(id), "ready");
    const auto again = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    EXPECT_EQ(again.attempt_kind, "reclaim");
    EXPECT_EQ(again.attempt, 1);
    EXPECT_EQ(again.reclaim_count, 0);
}

// TX-5
TEST_F(ClientTaskLease, IsSettledOnce) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    const std::vector<std::pair<Outcome, WorkerEvent::Kind>> outcomes = {
        {completed({{"n", 1}}), Kind::kCompleted},
        {failed("broken", FailureClass::kPermanent), Kind::kFailed},
        {retry_in(Milliseconds(60000), "busy"), Kind::kRetried},
        {delayed(Milliseconds(60000), {{"at", 1}}), Kind::kDelayed},
        {released(Milliseconds(60000)), Kind::kReleased}};
    for (const auto& [outcome, kind] : outcomes) {
        const auto held = lease(keeper);
        // An error that changes nothing leaves it open.
        EXPECT_THROW(held->settle(completed_text("no JSON")), Error);
        EXPECT_FALSE(held->settled());
        const Settlement settlement = held->settle(outcome);
        EXPECT_EQ(settlement.kind, kind);
        EXPECT_TRUE(held->settled());
        EXPECT_FALSE(held->lost());
        for (const auto& [other, other_kind] : outcomes) {
            EXPECT_THROW(held->settle(other), std::logic_error);
        }
        if (kind == Kind::kCompleted) {
            EXPECT_EQ(task(id_of(held))["result"], (Json{{"n", 1}}));
        }
    }
}

// TX-6
TEST_F(ClientTaskLease, IsExtendedWithTheOthers) {
    const Milliseconds length(12000);  // extended after 4 s; a busy machine may be late
    LeaseKeeper keeper(pool_, {.hub = "app", .lease = length});
    std::vector<std::unique_ptr<HeldLease>> leases;
    for (int i = 0; i < 20; ++i) {
        leases.push_back(lease(keeper, length));
    }
    const auto deadline = [this](const std::string& which) {
        return connection_.exec("SELECT " + which + "(lease_until_ms) FROM app.tasks")
            .get<std::int64_t>(0, 0);
    };
    const auto last = deadline("max");
    EXPECT_TRUE(wait_until([&] { return deadline("min") > last; }));
    for (const auto& held : leases) {
        EXPECT_FALSE(held->lost());
        held->settle(completed());
    }
    // A few extensions, and a completion for each.
    EXPECT_LT(pool_.round_trips(), 40u);
}

// TX-6
TEST_F(ClientTaskLease, NoticesItsLoss) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    const auto cancelled = lease(keeper);
    const auto revoked = lease(keeper);
    const auto expired = lease(keeper);
    hub_.tasks().cancel(id_of(cancelled), "enough");
    hub_.tasks().revoke_lease(id_of(revoked));
    Admin(connection_).new_incarnation("app");
    const std::map<HeldLease*, std::string> states = {
        {cancelled.get(), "QB012"}, {revoked.get(), "QB013"}, {expired.get(), "QB001"}};
    for (const auto& [held, sqlstate] : states) {
        EXPECT_FALSE(held->lost());
        try {
            held->progress({.percent = 50}, Where::current());
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.sqlstate(), sqlstate);
            EXPECT_TRUE(error.lock_lost());
        }
        EXPECT_TRUE(held->lost());
        EXPECT_TRUE(held->stop_token().stop_requested());
        // A late call fails and is reported.
        EXPECT_THROW(held->settle(completed()), Error);
    }
    EXPECT_EQ(cancelled->stop_reason(), StopReason::kCancelled);
    EXPECT_EQ(cancelled->stop_text(), "cancelled: enough");
    EXPECT_EQ(revoked->stop_reason(), StopReason::kLost);
    EXPECT_EQ(expired->stop_reason(), StopReason::kLost);
    EXPECT_EQ(expired->stop_text(), "the lease was lost: lease_expired");
}

// TX-6
TEST_F(ClientTaskLease, LearnsOfItsLossWhenItIsExtended) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    const auto lost = lease(keeper);
    const auto kept = lease(keeper);
    hub_.tasks().cancel(id_of(lost));
    keeper.extend_now();
    EXPECT_TRUE(wait_for_stop(lost->stop_token()));
    EXPECT_TRUE(lost->lost());
    EXPECT_FALSE(kept->lost());
}

// TX-7
TEST_F(ClientTaskLease, WritesOnlyWhileItIsHeld) {
    connection_.exec("CREATE TABLE effects (a integer)");
    const auto count = [&] { return connection_.exec("SELECT * FROM effects").size(); };
    const auto insert = [](Connection& own) { own.exec("INSERT INTO effects VALUES (1)"); };
    LeaseKeeper keeper(pool_, {.hub = "app"});
    {
        const auto held = lease(keeper);
        write(held, insert);
        EXPECT_EQ(count(), 1);
        // The completion is rejected, so nothing is written.
        EXPECT_THROW(held->complete_with(insert, "no JSON", Where::current()), Error);
        EXPECT_EQ(count(), 1);
        held->complete_with(insert, "1", Where::current());
        EXPECT_EQ(count(), 2);
        EXPECT_EQ(state_of(id_of(held)), "completed");
    }
    // Lost before the body, and while it runs.
    const auto lost = lease(keeper);
    EXPECT_THROW(write(lost,
                       [&](Connection& own) {
                           insert(own);
                           hub_.tasks().revoke_lease(id_of(lost));
                       }),
                 Error);
    EXPECT_TRUE(lost->lost());
    bool called = false;
    EXPECT_THROW(write(lost, [&](Connection&) { called = true; }), Error);
    EXPECT_FALSE(called);
    EXPECT_THROW(lost->complete_with(insert, {}, Where::current()), Error);
    EXPECT_EQ(count(), 2);
    connection_.exec("DROP TABLE effects");
}

class ClientTaskWorker : public WithTasks {
 protected:
    WorkerOptions worker_options() {
        WorkerOptions made{.connection = options(), .hub = "app", .name = "tester"};
        made.drain_timeout = Milliseconds(20000);
        made.retry_delay = Milliseconds(20);
        made.on_event = [this](const WorkerEvent& event) {
            const std::lock_guard lock(mutex_);
            ++events_[event.kind];
            messages_.insert(event.message);
        };
        return made;
    }

    int events(Kind kind) {
        const std::lock_guard lock(mutex_);
        return events_[kind];
    }

    bool said(const std::string& message) {
        const std::lock_guard lock(mutex_);
        return messages_.contains(message);
    }

    std::mutex mutex_;
    std::map<Kind, int> events_;
    std::set<std::string> messages_;
};

TEST_F(ClientTaskWorker, RunsManyTasksOnFewConnections) {
    const int count = 3000;
    create_many(count);
    auto options = worker_options();
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    std::atomic<int> runs = 0;
    worker.on("cpu", [&](Task& task) {
        ++runs;
        return completed({{"of", task.payload()}});
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == count; }));
    EXPECT_LE(connection_
                  .exec("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
                        {"belay_worker_test"})
                  .get<int>(0, 0),
              5);  // one waits, one extends leases
    running.end();
    EXPECT_EQ(runs, count);
    EXPECT_EQ(events(Kind::kCompleted), count);
    EXPECT_EQ(events(Kind::kError), 0);
    EXPECT_EQ(connection_
                  .exec("SELECT count(*) FROM app.tasks WHERE result -> 'of' = payload AND "
                        "lease_owner IS NULL")
                  .get<int>(0, 0),
              count);
}

// TX-8: one handler on one connection, and nothing prefetched. Every task is one round trip, its
// completion and the next claim.
TEST_F(ClientTaskWorker, NeedsOneRoundTripPerTask) {
    const int count = 500;
    create_many(count);
    auto options = worker_options();
    options.concurrency = 1;
    options.connections = 1;
    options.prefetch = 0;
    Worker worker(options);
    worker.on("cpu", [](Task&) { return completed(); });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == count; }));
    running.end();
    EXPECT_GE(worker.round_trips(), static_cast<std::uint64_t>(count));
    EXPECT_LE(worker.round_trips(), static_cast<std::uint64_t>(count) + 20);
}

// TX-8
TEST_F(ClientTaskWorker, FollowsTheServersOrder) {
    for (const int priority : {5, 900, 1, 9000, 42}) {
        create({.queue = priority % 2 == 0 ? "even" : "odd",
                .payload = priority,
                .priority = priority});
    }
    auto options = worker_options();
    options.concurrency = 1;
    Worker worker(options);
    std::string order;
    std::atomic<int> runs = 0;
    const auto note = [&](Task& task) {
        order += task.payload().dump() + " ";
        ++runs;
        return completed();
    };
    worker.on("even", note);
    worker.on("odd", note);
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs == 5; }));
    running.end();
    EXPECT_EQ(order, "9000 900 42 5 1 ");
}

// TX-9
TEST_F(ClientTaskWorker, FindsTheHandler) {
    for (const char* queue : {"a", "b", "c"}) {
        for (const char* kind : {"x", "y", ""}) {
            create({.queue = queue, .kind = kind});
        }
    }
    Worker worker(worker_options());
    std::mutex mutex;
    std::map<std::string, std::string> found;
    std::atomic<int> runs = 0;
    const auto handler = [&](const std::string& name) {
        return [&, name](Task& task) {
            const std::lock_guard lock(mutex);
            found[task.queue() + task.kind()] = name;
            ++runs;
            return completed();
        };
    };
    worker.on("a", "x", handler("ax"));
    worker.on("a", handler("a"));
    worker.on("b", "x", handler("bx"));
    worker.on("", "y", handler("y"));
    worker.on("", handler("any"));
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs == 9; }));
    running.end();
    EXPECT_EQ(found, (std::map<std::string, std::string>{{"ax", "ax"},
                                                         {"ay", "a"},
                                                         {"a", "a"},
                                                         {"bx", "bx"},
                                                         {"by", "y"},
                                                         {"b", "any"},
                                                         {"cx", "any"},
                                                         {"cy", "y"},
                                                         {"c", "any"}}));
}

// TX-9: other queues and tasks that ask for more are left alone; kinds without a handler are given
// back.
TEST_F(ClientTaskWorker, LeavesToOthersWhatIsNotItsOwn) {
    const auto mine = create({.queue = "a", .kind = "x", .capabilities = {"gpu"}});
    const auto unfit = create({.queue = "a", .kind = "x", .capabilities = {"tpu"}});
    const auto elsewhere = create({.queue = "b", .kind = "x"});
    const auto odd = create({.queue = "a", .kind = "y"});
    auto options = worker_options();
    options.capabilities = {"gpu"};
    Worker worker(options);
    worker.on("a", "x", [](Task&) { return completed(); });
    Running running(worker);
    ASSERT_TRUE(
        wait_until([&] { return state_of(mine) == "completed" && events(Kind::kNoHandler) >= 2; }));
    running.end();
    EXPECT_TRUE(said("no handler for kind \"y\" of queue \"a\""));
    EXPECT_EQ(task(unfit)["attempt_index"], 0);
    EXPECT_EQ(task(elsewhere)["attempt_index"], 0);
    EXPECT_EQ(task(odd)["attempt_index"], 1);
    EXPECT_EQ(task(odd)["retry_count"], 0);
    Worker idle(worker_options());
    EXPECT_THROW(idle.run(), Error);
}

TEST_F(ClientTaskWorker, TakesWhatComesLaterAndWhatFallsDue) {
    Worker worker(worker_options());
    std::atomic<int> runs = 0;
    worker.on("cpu", [&](Task&) {
        ++runs;
        return completed();
    });
    Running running(worker);
    for (int i = 1; i <= 3; ++i) {
        std::this_thread::sleep_for(Milliseconds(20));
        create({.queue = "cpu"});
        EXPECT_TRUE(wait_until([&] { return runs == i; }, seconds(20)));
    }
    create({.queue = "cpu", .delay = Milliseconds(300)});
    EXPECT_TRUE(wait_until([&] { return runs == 4; }, seconds(20)));
}

// TX-10
TEST_F(ClientTaskWorker, TellsHowAnAttemptHasFailed) {
    const auto throws = create({.queue = "cpu", .kind = "throws", .policy = kAtOnce});
    const auto final = create({.queue = "cpu", .kind = "final", .policy = kAtOnce});
    const auto later = create({.queue = "cpu", .kind = "later"});
    const auto broken = create({.queue = "cpu", .kind = "broken", .policy = kAtOnce});
    const auto given_up = create({.queue = "cpu", .kind = "given_up", .policy = kAtOnce});
    Worker worker(worker_options());
    worker.on("cpu", "throws", [](Task&) -> Outcome { throw std::runtime_error("no luck \xff"); });
    worker.on("cpu", "final", [](Task&) -> Outcome {
        throw TaskFailed({.failure_class = FailureClass::kPermanent,
                          .message = std::string("ne\0ver", 6),
                          .details = {{{"code", 7}}}});
    });
    std::atomic<int> late = 0;
    worker.on("cpu", "later", [&](Task& task) {
        ++late;
        return task.attempt() == 1 ? failed({.message = "wait", .retry_after = Milliseconds(1)})
                                   : completed();
    });
    // A result that the server does not take.
    worker.on("cpu", "broken", [](Task&) { return completed_text("no JSON"); });
    worker.on("cpu", "given_up", [](Task&) -> Outcome {
        throw TaskFailed({.failure_class = FailureClass::kCancelled, .message = "not needed"});
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return in_state("failed") == 3 && late == 2; }));
    ASSERT_TRUE(wait_until([&] { return state_of(later) == "completed"; }));
    running.end();
    EXPECT_EQ(task(throws)["attempt_index"], 4);
    EXPECT_EQ(task(throws)["attempts"][0]["error"]["class"], "transient");
    EXPECT_EQ(task(throws)["attempts"][0]["error"]["message"], "no luck \xef\xbf\xbd");
    EXPECT_EQ(task(final)["attempt_index"], 1);
    EXPECT_EQ(task(final)["attempts"][0]["error"]["class"], "permanent");
    EXPECT_EQ(task(final)["attempts"][0]["error"]["message"], "ne ver");
    EXPECT_EQ(task(final)["attempts"][0]["error"]["details"]["code"], 7);
    EXPECT_EQ(task(broken)["attempt_index"], 4);
    EXPECT_EQ(state_of(given_up), "cancelled");
    EXPECT_EQ(events(Kind::kFailed), 4);
    EXPECT_EQ(events(Kind::kRetried), 7);
    EXPECT_EQ(events(Kind::kCompleted), 1);
    EXPECT_EQ(events(Kind::kError), 4);
}

// TX-7
TEST_F(ClientTaskWorker, LeavesACheckpointForTheNextRun) {
    connection_.exec("CREATE TABLE effects (a integer)");
    const auto id = create({.queue = "cpu", .policy = kAtOnce});
    Worker worker(worker_options());
    worker.on("cpu", [&](Task& task) {
        const int step = task.checkpoint().value_or(0).get<int>() + 1;
        task.progress(25.0 * step, "step " + std::to_string(step));
        const auto insert = [&](Connection& own) {
            own.exec("INSERT INTO effects VALUES ($1)", {step});
        };
        switch (step) {
            case 1:
                task.write(insert);
                task.set_checkpoint(1);
                throw std::runtime_error("interrupted");
            case 2:
                task.write(insert);
                return delayed(Milliseconds(1), 2);
            case 3:
                task.write(insert);
                task.set_checkpoint(3);
                return released();
            default:
                task.complete_with(insert, 4);
                return settled();
        }
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return state_of(id) == "completed"; }));
    running.end();
    const Json done = task(id);
    EXPECT_EQ(done["result"], 4);
    EXPECT_EQ(done["attempt_index"], 2);
    EXPECT_EQ(done["retry_count"], 1);
    EXPECT_EQ(connection_.exec("SELECT array_agg(a ORDER BY a)::text FROM effects")
                  .get<std::string>(0, 0),
              "{1,2,3,4}");
    EXPECT_EQ(events(Kind::kDelayed), 1);
    EXPECT_EQ(events(Kind::kReleased), 1);
    connection_.exec("DROP TABLE effects");
}

// A call that sends many wakes as many workers as it has tasks for.
TEST_F(ClientTaskWorker, ManyTasksWakeManyWorkers) {
    constexpr int kWorkers = 4;
    auto options = worker_options();
    options.concurrency = 1;
    options.wait_timeout = std::chrono::seconds(600);  // nothing else wakes them
    std::atomic<int> entered = 0;
    std::atomic<bool> open = false;
    std::deque<Worker> workers;
    std::deque<Running<Worker>> running;
    for (int i = 0; i < kWorkers; ++i) {
        Worker& worker = workers.emplace_back(options);
        worker.on("cpu", [&](Task&) {
            ++entered;
            wait_until([&] { return open.load(); });
            return completed();
        });
        running.emplace_back(worker);
    }
    ASSERT_TRUE(wait_until([&] {
        return connection_
                   .exec(
                       "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND "
                       "pid <> pg_backend_pid() AND query LIKE '%wait_for_work%'")
                   .get<int>(0, 0) == kWorkers;
    }));
    create_many(kWorkers);
    EXPECT_TRUE(wait_until([&] { return entered == kWorkers; }, seconds(30))) << entered;
    open = true;
    EXPECT_TRUE(wait_until([&] { return in_state("completed") == kWorkers; }));
}

// TX-11, TX-23
TEST_F(ClientTaskWorker, ALostTaskStopsItsHandlerAtOnce) {
    auto options = worker_options();
    options.lease = seconds(600);  // so that no renewal comes by itself
    const std::map<std::string, std::pair<StopReason, Kind>> reasons = {
        {"cancel", {StopReason::kCancelled, Kind::kCancelled}},
        {"revoke", {StopReason::kLost, Kind::kLost}},
        {"timeout", {StopReason::kDeadline, Kind::kDeadline}}};
    // One handler is busy and nothing free; one of two is free.
    for (const int concurrency : {1, 2}) {
        for (const auto& [how, expected] : reasons) {
            options.concurrency = concurrency;
            const auto id = create(
                {.queue = "cpu",
                 .policy = how == "timeout" ? TaskPolicy{.max_attempts = 1,
                                                         .attempt_timeout = Milliseconds(3000)}
                                            : TaskPolicy{}});
            Worker worker(options);
            std::atomic<bool> began = false;
            std::atomic<bool> stopped = false;
            std::atomic<StopReason> reason = StopReason::kNone;
            worker.on("cpu", [&](Task& task) {
                if (began.exchange(true)) {
                    return completed();  // revoked, it comes again
                }
                EXPECT_EQ(task.stop_reason(), StopReason::kNone);
                const bool told = wait_for_stop(task.stop_token());
                reason = task.stop_reason();
                stopped = told;
                return completed();
            });
            Running running(worker);
            ASSERT_TRUE(wait_until([&] { return began.load(); }));
            std::this_thread::sleep_for(Milliseconds(50));
            const auto at = Steady::now();
            if (how == "cancel") {
                hub_.tasks().force_cancel(id, "enough");
            } else if (how == "revoke") {
                EXPECT_EQ(hub_.tasks()
                              .revoke_lease(id, "", {.worker_instance = worker.instance()})
                              .revoked,
                          true);
            }
            ASSERT_TRUE(wait_until([&] { return stopped.load(); })) << how;
            const auto took = Steady::now() - at;
            std::cout << how << " to stop: " << took / std::chrono::microseconds(1) << " us\n";
            const std::string end = how == "cancel"   ? "cancelled"
                                    : how == "revoke" ? "completed"
                                                      : "expired";
            EXPECT_TRUE(wait_until([&] { return state_of(id) == end; })) << how;
            running.end();
            EXPECT_EQ(reason, expected.first) << how;
            EXPECT_EQ(events(expected.second), concurrency) << how;
        }
    }
}

// TX-11: work comes in the transaction of the cancel: the wait returns for the one, and the next
// one for the other.
TEST_F(ClientTaskWorker, ACancelIsNotMissedBecauseOfNewTasks) {
    auto options = worker_options();
    options.lease = seconds(600);
    options.concurrency = 2;
    Worker worker(options);
    std::atomic<int> began = 0;
    std::atomic<int> stopped = 0;
    std::atomic<int> quick = 0;
    worker.on("slow", [&](Task& task) {
        ++began;
        stopped += wait_for_stop(task.stop_token());
        return completed();
    });
    worker.on("quick", [&](Task&) {
        ++quick;
        return completed();
    });
    Running running(worker);
    for (int i = 1; i <= 10; ++i) {
        const auto id = create({.queue = "slow"});
        ASSERT_TRUE(wait_until([&] { return began == i; }));
        connection_.with_transaction([&] {
            hub_.tasks().create({.queue = "quick"});
            hub_.tasks().force_cancel(id);
        });
        ASSERT_TRUE(wait_until([&] { return stopped == i && quick == i; }, seconds(20))) << i;
    }
}

// TX-11: so does work that is there all the time, and not for this worker.
TEST_F(ClientTaskWorker, ACancelIsNotMissedBecauseOfTasksThatDoNotFit) {
    create({.queue = "cpu", .capabilities = {"gpu"}});
    const auto id = create({.queue = "cpu"});
    auto options = worker_options();
    options.lease = seconds(600);
    options.concurrency = 2;
    Worker worker(options);
    std::atomic<bool> began = false;
    std::atomic<bool> stopped = false;
    worker.on("cpu", [&](Task& task) {
        began = true;
        stopped = wait_for_stop(task.stop_token());
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began.load(); }));
    // Until the loop has been woken without success a few times.
    std::this_thread::sleep_for(Milliseconds(300));
    hub_.tasks().force_cancel(id);
    EXPECT_TRUE(wait_until([&] { return stopped.load(); }, seconds(20)));
}

// TX-12
TEST_F(ClientTaskWorker, DrainsAndLeavesNoLease) {
    create_many(8);
    auto options = worker_options();
    options.concurrency = 3;
    options.drain_timeout = seconds(600);
    Worker worker(options);
    std::atomic<int> began = 0;
    std::atomic<bool> release = false;
    worker.on("cpu", [&](Task&) {
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
    EXPECT_EQ(events(Kind::kCompleted), 3);
    EXPECT_EQ(events(Kind::kAbandoned), 0);
    expect_untouched(5);
}

// TX-12
TEST_F(ClientTaskWorker, GivesBackWhatTakesTooLongToDrain) {
    create_many(7);
    auto options = worker_options();
    options.concurrency = 2;
    options.drain_timeout = Milliseconds(300);
    Worker worker(options);
    std::atomic<int> began = 0;
    worker.on("cpu", [&](Task& task) {
        ++began;
        wait_for_stop(task.stop_token());
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return began == 2; }));
    running.end();
    EXPECT_EQ(began, 2);
    EXPECT_EQ(events(Kind::kCompleted), 0);
    EXPECT_EQ(events(Kind::kAbandoned), 2);
    expect_untouched(7);
}

// TX-13
TEST_F(ClientTaskWorker, ARestartLosesNothing) {
    const int count = 200;
    create_many(count);
    auto options = worker_options();
    options.lease = Milliseconds(4000);
    options.connection.async_leases = false;
    Worker worker(options);
    Turnstile turnstile;
    worker.on("cpu", [&](Task&) {
        turnstile.pass();
        std::this_thread::sleep_for(Milliseconds(5));
        return completed();
    });
    Running running(worker);
    restart_in_the_middle(turnstile, count);
    ASSERT_TRUE(wait_until([&] { return in_state("completed") == count; }));
    running.end();
    std::cout << turnstile.arrived() << " runs for " << count << " tasks\n";
}

// TX-21: the COMMIT of complete_with is lost with its connection. The task is completed, or it is
// there again at once, long before its lease ends.
TEST_F(ClientTaskWorker, ALostCommitIsUnknownAndReleasesTheTask) {
    for (const bool commits : {true, false}) {
        BrokenCommit broken(cluster->conninfo(), commits);
        const auto id = create({.queue = "cpu"});
        events_.clear();
        auto options = worker_options();
        options.lease = seconds(600);
        Worker worker(options);
        std::atomic<int> runs = 0;
        worker.on("cpu", [&](Task& task) {
            ++runs;
            task.complete_with([&](Connection& own) { broken.write(own); });
            return settled();
        });
        Running running(worker);
        broken.let_go();
        ASSERT_TRUE(wait_until([&] { return state_of(id) == "completed"; }));
        ASSERT_TRUE(wait_until([&] { return events(Kind::kUnknown) == 1; }));
        running.end();
        EXPECT_EQ(runs, commits ? 1 : 2);
        EXPECT_EQ(broken.effects(), 1);
        EXPECT_EQ(task(id)["attempt_index"], 1);
        EXPECT_EQ(task(id)["retry_count"], 0);
        EXPECT_EQ(events(Kind::kUnknown), 1);
        EXPECT_EQ(events(Kind::kError), 0);
    }
}

// TX-22
TEST_F(ClientTaskWorker, InfrastructureErrorsAreNoAttempts) {
    const auto id = create({.queue = "cpu", .policy = TaskPolicy{.max_attempts = 1}});
    Worker worker(worker_options());
    std::atomic<int> runs = 0;
    worker.on("cpu", [&](Task& task) {
        switch (++runs) {
            case 1:
                throw Error({.message = "too many clients", .sqlstate = "53300"});
            case 2:
                task.write([](Connection& own) {
                    own.exec("SELECT pg_terminate_backend(pg_backend_pid())");
                });
                break;
            default:
                break;
        }
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return state_of(id) == "completed"; }));
    running.end();
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(task(id)["retry_count"], 0);
    EXPECT_EQ(events(Kind::kReleased), 2);
    EXPECT_TRUE(said("too many clients (53300)"));
}

// TX-13: connections die at any moment, many of them in the middle of a completion: each task has
// one effect, which is written with its completion.
TEST_F(ClientTaskWorker, AKilledConnectionEndsInOneOutcome) {
    connection_.exec("CREATE TABLE effects (a integer)");
    const int count = 200;
    create_many(count);
    auto options = worker_options();
    options.lease = Milliseconds(2000);
    options.connection.conninfo += " application_name=belay_worker_test";
    Worker worker(options);
    worker.on("cpu", [](Task& task) {
        const int number = task.payload().get<int>();
        if (number % 2 == 0) {
            return completed();
        }
        task.complete_with(
            [&](Connection& own) { own.exec("INSERT INTO effects VALUES ($1)", {number}); });
        return settled();
    });
    Running running(worker);
    Conn killer = admin();
    int kills = 0;
    ASSERT_TRUE(wait_until(
        [&] {
            // Each kill costs a new connection; after so many the rest may run in peace.
            if (kills < 60) {
                kills += std::stoi(
                    killer.value("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                                 "WHERE application_name = 'belay_worker_test' AND (state = "
                                 "'active' AND wait_event IS NULL OR random() < 0.02)"));
            }
            return in_state("completed") + in_state("failed") == count;
        },
        seconds(120)));
    running.end();
    EXPECT_EQ(in_state("failed"), 0);
    EXPECT_EQ(connection_.exec("SELECT DISTINCT a FROM effects").size(), count / 2);
    EXPECT_EQ(connection_.exec("SELECT a FROM effects").size(), count / 2);
    connection_.exec("DROP TABLE effects");
    std::cout << kills << " connections killed, " << events(Kind::kUnknown) << " outcomes unknown, "
              << events(Kind::kLost) << " lost\n";
}

// A suspension as an outcome: the handler runs again with its signals, those that came early
// included.
TEST_F(ClientTaskWorker, SuspendsByItsOutcome) {
    const auto id = create({.queue = "review"});
    Worker worker(worker_options());
    std::atomic<int> runs = 0;
    worker.on("review", [&](Task& task) {
        ++runs;
        const auto signals = task.signals();
        if (!signals.empty()) {
            return completed({{"by", signals[0].name}});
        }
        return suspended({.waitpoints = {{"approval"}},
                          .condition = Condition::single("approval", {"approved"}),
                          .reason = SuspensionReason::kApproval});
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return state_of(id) == "suspended"; }));
    const auto waitpoint = hub_.signals().waitpoints(id).at(0);
    hub_.signals().approve(id, waitpoint.id, "approved", "once");
    EXPECT_EQ(hub_.tasks().await(id).result, (Json{{"by", "approved"}}));
    running.end();
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(events(Kind::kSuspended), 1);
    EXPECT_EQ(events(Kind::kCompleted), 1);
}

}  // namespace
}  // namespace belay::test
