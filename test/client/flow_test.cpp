// Members of flows and suspended tasks in the hands of leases and workers, on a real server.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "belay/worker.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using Kind = TaskEvent::Kind;

class ClientFlow : public WithServer {
 protected:
    // Every scenario leaves a hub that is sound.
    void TearDown() override {
        for (const auto& problem : hub_.check_tasks()) {
            ADD_FAILURE() << problem.object << ": " << problem.problem;
        }
        WithServer::TearDown();
    }

    ClaimedTask claim() { return hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0); }

    std::string state_of(const std::string& flow_id) {
        return connection_
            .exec("SELECT state FROM app.flow_summary WHERE flow_id = $1", {Uuid{flow_id}})
            .get<std::string>(0, 0);
    }

    int backlog() {
        return connection_.exec("SELECT count(*) FROM app.cancel_backlog_open").get<int>(0, 0);
    }

    TaskWorkerOptions worker_options() { return {.connection = options(), .hub = "app"}; }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    Pool pool_{options(), 2};
};

const std::string kBigNumber = "12345678901234567890123";

// TX-16: results as they were stored, also those that are too big for a claim.
TEST_F(ClientFlow, AMemberGetsTheResultsBeforeIt) {
    for (const std::size_t size : {10u, 2'000'000u}) {
        hub_.create_flow(
            {.tasks = {{.key = "a", .task = {.lane = "l"}},
                       {.key = "b", .task = {.lane = "l"}},
                       {.key = "c", .task = {.lane = "l"}, .after = {"a", {"b", "source"}}}}});
        const std::string text = '"' + std::string(size, 'x') + "{[,\\\"\"";
        hub_.complete_task(fence_of(claim()), kBigNumber);
        hub_.complete_task(fence_of(claim()), text);
        LeaseKeeper keeper(pool_, {.hub = "app"});
        TaskLease lease = keeper.keep(claim());
        EXPECT_EQ(lease.task().flow_key, "c");
        const auto upstream = lease.upstream();
        ASSERT_EQ(upstream.size(), 2u);
        EXPECT_EQ(upstream[0].key, "a");
        EXPECT_EQ(upstream[0].state, "completed");
        EXPECT_EQ(upstream[1].pass_as, "source");
        const std::set<std::string> results = {upstream[0].result.value(),
                                               upstream[1].result.value()};
        EXPECT_EQ(results, (std::set<std::string>{kBigNumber, text}));
        Task task(lease);
        EXPECT_EQ(task.upstream_result("source"), upstream[1].result);
        EXPECT_EQ(task.upstream_result("a"), upstream[0].result);
        EXPECT_FALSE(task.upstream_result("z"));
        lease.complete();
    }
}

// TX-17
TEST_F(ClientFlow, ASuspensionEndsTheLease) {
    hub_.create_task({.lane = "l"});
    LeaseKeeper keeper(pool_, {.hub = "app"});
    TaskLease lease = keeper.keep(claim());
    EXPECT_THROW(lease.suspend({.waitpoints = {}, .condition = Condition::operator_only()}), Error);
    EXPECT_FALSE(lease.settled());
    // What came early leaves it as it is.
    const auto early = lease.create_waitpoint("early", Milliseconds(60000));
    hub_.deliver_signal(lease.task().task_id, early.waitpoint_id, early.token,
                        {.name = "go", .payload = kBigNumber});
    const auto met = lease.suspend(
        {.waitpoints = {{"early", early.waitpoint_id}}, .condition = Condition::single("early")});
    EXPECT_EQ(met.result, "already_satisfied");
    EXPECT_EQ(met.waitpoints.at(0).signals.at(0).payload, kBigNumber);
    EXPECT_FALSE(lease.settled());
    const auto waiting =
        lease.suspend({.waitpoints = {{"x"}}, .condition = Condition::single("x")});
    EXPECT_EQ(waiting.result, "suspended");
    EXPECT_TRUE(lease.settled());
    EXPECT_THROW(lease.complete(), std::logic_error);
    EXPECT_THROW(lease.suspend({}), std::logic_error);
    const auto& x = waiting.waitpoints.at(0);
    hub_.deliver_signal(lease.task().task_id, x.waitpoint_id, x.token.value(), {.name = "go"});
    TaskLease next = keeper.keep(claim());
    bool found = false;
    for (const auto& signal : next.signals()) {
        found = found || (signal.key == "x" && signal.name == "go");
    }
    EXPECT_TRUE(found);
    next.complete();
}

// SU-22: what an answer has no room for is read with calls of its own.
TEST_F(ClientFlow, SignalsOfAnySizeArriveWhole) {
    LeaseKeeper keeper(pool_, {.hub = "app"});
    hub_.create_task({.lane = "l"});
    TaskLease lease = keeper.keep(claim());
    const auto id = lease.task().task_id;
    const std::string large = '"' + std::string(700000, 'x') + '"';
    const auto early = lease.create_waitpoint("early", Milliseconds(60000));
    for (int i = 0; i < 12; ++i) {
        hub_.deliver_signal(id, early.waitpoint_id, early.token,
                            {.name = "n" + std::to_string(i), .payload = large});
    }
    const auto met =
        lease.suspend({.waitpoints = {{.key = "early", .waitpoint_id = early.waitpoint_id}},
                       .condition = Condition::single("early")});
    ASSERT_EQ(met.waitpoints.at(0).signals.size(), 12u);
    EXPECT_EQ(met.waitpoints[0].signals[11].name, "n11");
    EXPECT_EQ(met.waitpoints[0].signals[11].payload, large);
    const auto waiting =
        lease.suspend({.waitpoints = {{"x"}}, .condition = Condition::count(3, "signals")});
    for (int i = 0; i < 3; ++i) {
        hub_.deliver_signal(id, waiting.waitpoints.at(0).waitpoint_id,
                            waiting.waitpoints[0].token.value(),
                            {.name = "n" + std::to_string(i), .payload = large});
    }
    TaskLease next = keeper.keep(claim());
    const auto signals = next.signals();
    ASSERT_EQ(signals.size(), 3u);
    EXPECT_EQ(signals[0].name, "n0");
    EXPECT_EQ(signals[2].name, "n2");
    EXPECT_EQ(signals[2].payload, large);
    next.complete();
}

// TX-17
TEST_F(ClientFlow, AHandlerWaitsForASignal) {
    const auto id = hub_.create_task({.lane = "l"}).task_id;
    std::atomic<int> suspended = 0;
    auto options = worker_options();
    options.on_event = [&](const TaskEvent& event) { suspended += event.kind == Kind::kSuspended; };
    TaskWorker worker(options);
    worker.on("l", [](Task& task) {
        for (const auto& signal : task.signals()) {
            return TaskOutcome::completed('"' + signal.source.value_or("") + '"');
        }
        task.suspend({.waitpoints = {{"approval"}}, .condition = Condition::single("approval")});
        return TaskOutcome::suspended();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return suspended == 1; }));
    hub_.approve_task(id, hub_.list_waitpoints(id).at(0).waitpoint_id, "yes", "1");
    ASSERT_TRUE(wait_until([&] {
        return hub_.get_task(id).value().find(R"("result": "operator")") != std::string::npos;
    }));
}

// TX-18: the word comes after the handler has stopped, and only then.
TEST_F(ClientFlow, AWorkerConfirmsACancelOfItsFlow) {
    const auto flow = hub_.create_flow(
        {.tasks = {{.key = "a", .task = {.lane = "l"}}, {.key = "b", .task = {.lane = "l"}}}});
    TaskWorker worker(worker_options());
    std::atomic<int> runs = 0;
    std::atomic<int> stopped = 0;
    std::atomic<bool> may_end = false;
    worker.on("l", [&](Task& task) {
        ++runs;
        stopped += wait_for_stop(task.stop_token());
        wait_until([&] { return may_end.load(); });
        return TaskOutcome::completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return runs == 2; }));
    EXPECT_EQ(hub_.cancel_flow(flow.flow_id, {.reason = "enough"}).member_count, 2);
    ASSERT_TRUE(wait_until([&] { return stopped == 2; }));
    EXPECT_EQ(backlog(), 2);
    may_end = true;
    ASSERT_TRUE(wait_until([&] { return backlog() == 0; }, std::chrono::seconds(10)));
    EXPECT_EQ(state_of(flow.flow_id), "cancelled");
}

// TX-18
TEST_F(ClientFlow, ALeaseThatWasRevokedConfirmsNothing) {
    hub_.create_flow({.tasks = {{.key = "a", .task = {.lane = "l"}}}});
    LeaseKeeper keeper(pool_, {.hub = "app"});
    TaskLease lease = keeper.keep(claim());
    hub_.revoke_lease(lease.task().task_id);
    EXPECT_THROW(lease.complete(), Error);
    EXPECT_TRUE(lease.lost());
    EXPECT_FALSE(lease.ended());
    TaskLease next = keeper.keep(claim());
    hub_.cancel_flow(lease.task().flow_id.value());
    EXPECT_THROW(next.complete(), Error);
    EXPECT_TRUE(next.ended());
    EXPECT_EQ(backlog(), 1);
    next.ack_cancel();
    EXPECT_EQ(backlog(), 0);
}

}  // namespace
}  // namespace belay::test
