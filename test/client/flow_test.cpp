// Members of flows and suspended tasks in the hands of leases and workers, on a real server.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "belay/flows.hpp"
#include "belay/worker.hpp"
#include "lease.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using Kind = WorkerEvent::Kind;

class ClientFlow : public WithServer {
 protected:
    // Every scenario leaves a hub that is sound.
    void TearDown() override {
        for (const auto& problem : hub_.tasks().check()) {
            ADD_FAILURE() << problem.object << ": " << problem.problem;
        }
        WithServer::TearDown();
    }

    ClaimedTask claim() {
        return TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    }

    std::string state_of(const Uuid& flow_id) {
        return connection_.exec("SELECT state FROM app.flow_summary WHERE flow_id = $1", {flow_id})
            .get<std::string>(0, 0);
    }

    int backlog() {
        return connection_.exec("SELECT count(*) FROM app.cancel_backlog_open").get<int>(0, 0);
    }

    WorkerOptions worker_options() { return {.connection = options(), .hub = "app"}; }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    Pool pool_{options(), 2};
};

const Json kBigNumber = 1234567890123456789;

// TX-16: results as they were stored, also those that are too big for a claim.
TEST_F(ClientFlow, AMemberGetsTheResultsBeforeIt) {
    for (const std::size_t size : {10u, 2'000'000u}) {
        hub_.flows().create(
            {.tasks = {{.key = "a", .task = {.queue = "l"}},
                       {.key = "b", .task = {.queue = "l"}},
                       {.key = "c", .task = {.queue = "l"}, .after = {"a", {"b", "source"}}}}});
        const Json text = std::string(size, 'x') + "{[,\\\"";
        TaskCalls(hub_).complete(fence_of(claim()), kBigNumber.dump());
        TaskCalls(hub_).complete(fence_of(claim()), text.dump());
        LeaseKeeper keeper(pool_, {.hub = "app"});
        const auto lease = keeper.keep(claim());
        Task task(*lease);
        const auto upstream = task.upstream();
        ASSERT_EQ(upstream.size(), 2u);
        EXPECT_EQ(upstream[0].key, "a");
        EXPECT_EQ(upstream[0].state, TaskState::kCompleted);
        EXPECT_EQ(upstream[1].pass_as, "source");
        const std::set<Json> results = {upstream[0].result.value(), upstream[1].result.value()};
        EXPECT_EQ(results, (std::set<Json>{kBigNumber, text}));
        EXPECT_EQ(task.upstream_result("source"), upstream[1].result);
        EXPECT_EQ(task.upstream_result("a"), upstream[0].result);
        EXPECT_FALSE(task.upstream_result("z"));
        lease->settle(completed());
    }
}

// TX-17
TEST_F(ClientFlow, ASuspensionEndsTheLease) {
    hub_.tasks().create({.queue = "l"});
    LeaseKeeper keeper(pool_, {.hub = "app"});
    const auto lease = keeper.keep(claim());
    Task task(*lease);
    EXPECT_THROW(task.suspend({.waitpoints = {}, .condition = Condition::operator_only()}), Error);
    EXPECT_FALSE(lease->settled());
    // What came early leaves it as it is.
    const auto early = task.create_waitpoint("early", Milliseconds(60000));
    hub_.signals().deliver(task.id(), early.id, early.token, {.name = "go", .payload = kBigNumber});
    const auto met = task.suspend(
        {.waitpoints = {{"early", early.id}}, .condition = Condition::single("early")});
    EXPECT_EQ(met.result, SuspendResult::kAlreadySatisfied);
    EXPECT_EQ(met.waitpoints.at(0).signals.at(0).payload, kBigNumber);
    EXPECT_FALSE(lease->settled());
    const auto waiting = task.suspend({.waitpoints = {{"x"}}, .condition = Condition::single("x")});
    EXPECT_EQ(waiting.result, SuspendResult::kSuspended);
    EXPECT_TRUE(lease->settled());
    EXPECT_THROW(lease->settle(completed()), std::logic_error);
    EXPECT_THROW(task.suspend({}), std::logic_error);
    const auto& x = waiting.waitpoints.at(0);
    hub_.signals().deliver(task.id(), x.id, x.token.value(), {.name = "go"});
    const auto next = keeper.keep(claim());
    Task next_task(*next);
    bool found = false;
    for (const auto& signal : next_task.signals()) {
        found = found || (signal.key == "x" && signal.name == "go");
    }
    EXPECT_TRUE(found);
    next->settle(completed());
}

// SU-22: what an answer has no room for is read with calls of its own.
TEST_F(ClientFlow, SignalsOfAnySizeArriveWhole) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.tasks().create({.queue = "l"});
    const auto lease = keeper.keep(claim());
    Task task(*lease);
    const auto id = task.id();
    const Json large = std::string(700000, 'x');
    const auto early = task.create_waitpoint("early", Milliseconds(60000));
    for (int i = 0; i < 12; ++i) {
        hub_.signals().deliver(id, early.id, early.token,
                               {.name = "n" + std::to_string(i), .payload = large});
    }
    const auto met = task.suspend({.waitpoints = {{.key = "early", .id = early.id}},
                                   .condition = Condition::single("early")});
    ASSERT_EQ(met.waitpoints.at(0).signals.size(), 12u);
    EXPECT_EQ(met.waitpoints[0].signals[11].name, "n11");
    EXPECT_EQ(met.waitpoints[0].signals[11].payload, large);
    const auto waiting =
        task.suspend({.waitpoints = {{"x"}}, .condition = Condition::count(3, CountOf::kSignals)});
    for (int i = 0; i < 3; ++i) {
        hub_.signals().deliver(id, waiting.waitpoints.at(0).id, waiting.waitpoints[0].token.value(),
                               {.name = "n" + std::to_string(i), .payload = large});
    }
    const auto next = keeper.keep(claim());
    Task next_task(*next);
    const auto signals = next_task.signals();
    ASSERT_EQ(signals.size(), 3u);
    EXPECT_EQ(signals[0].name, "n0");
    EXPECT_EQ(signals[2].name, "n2");
    EXPECT_EQ(signals[2].payload, large);
    next->settle(completed());
}

// TX-17
TEST_F(ClientFlow, AHandlerWaitsForASignal) {
    const auto id = hub_.tasks().create({.queue = "l"}).id;
    std::atomic<int> suspensions = 0;
    auto options = worker_options();
    options.on_event = [&](const WorkerEvent& event) {
        suspensions += event.kind == Kind::kSuspended;
    };
    Worker worker(options);
    worker.on("l", [](Task& task) {
        for (const auto& signal : task.signals()) {
            return completed(signal.source.value_or(""));
        }
        task.suspend({.waitpoints = {{"approval"}}, .condition = Condition::single("approval")});
        return suspended();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return suspensions == 1; }));
    hub_.signals().approve(id, hub_.signals().waitpoints(id).at(0).id, "yes", "1");
    EXPECT_EQ(hub_.tasks().await(id).result, "operator");
}

// TX-18: the word comes after the handler has stopped, and only then.
TEST_F(ClientFlow, AWorkerConfirmsACancelOfItsFlow) {
    const auto flow = hub_.flows().create(
        {.tasks = {{.key = "a", .task = {.queue = "l"}}, {.key = "b", .task = {.queue = "l"}}}});
    Worker worker(worker_options());
    std::atomic<int> runs = 0;
    std::atomic<int> stopped = 0;
    std::atomic<bool> may_end = false;
    worker.on("l", [&](Task& task) {
        ++runs;
        stopped += wait_for_stop(task.stop_token());
        wait_until([&] { return may_end.load(); });
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs == 2; }));
    EXPECT_EQ(hub_.flows().cancel(flow.id, {.reason = "enough"}).member_count, 2);
    ASSERT_TRUE(wait_until([&] { return stopped == 2; }));
    EXPECT_EQ(backlog(), 2);
    may_end = true;
    ASSERT_TRUE(wait_until([&] { return backlog() == 0; }));
    EXPECT_EQ(state_of(flow.id), "cancelled");
}

// TX-18
TEST_F(ClientFlow, ALeaseThatWasRevokedConfirmsNothing) {
    hub_.flows().create({.tasks = {{.key = "a", .task = {.queue = "l"}}}});
    LeaseKeeper keeper(pool_, {.hub = "app"});
    const auto lease = keeper.keep(claim());
    Task task(*lease);
    hub_.tasks().revoke_lease(task.id());
    EXPECT_THROW(lease->settle(completed()), Error);
    EXPECT_TRUE(lease->lost());
    const auto next = keeper.keep(claim());
    hub_.flows().cancel(task.flow_id().value());
    EXPECT_THROW(next->settle(completed()), Error);
    EXPECT_EQ(backlog(), 1);
    lease->confirm_cancel();  // it was revoked
    EXPECT_EQ(backlog(), 1);
    next->confirm_cancel();
    EXPECT_EQ(backlog(), 0);
    next->confirm_cancel();  // no error: the grace period may have passed before a worker confirms
}

}  // namespace
}  // namespace belay::test
