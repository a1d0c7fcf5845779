// Connections of a worker: what handlers do in transactions of their own delays neither portions
// nor the extension of leases, and a lease is extended until the call that ends it is sent.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>

#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "server.hpp"
#include "settler.hpp"

namespace belay::test {
namespace {

using std::chrono::seconds;
using Kind = WorkerEvent::Kind;

constexpr seconds kLease{6};

class ClientSettlerConnections : public WithServer {
 protected:
    WorkerOptions worker_options() {
        WorkerOptions made{.connection = options(), .hub = "app", .name = "tester"};
        made.connections = 1;
        made.lease = kLease;
        made.prefetch = 0;
        made.drain_timeout = Milliseconds(20000);
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

    void create(const std::string& kind, int count = 1) {
        for (int i = 0; i < count; ++i) {
            hub_.tasks().create({.queue = "cpu", .payload = i, .kind = kind});
        }
    }

    int count(const std::string& rows) {
        Connection own(options());
        return own.exec("SELECT count(*) FROM app." + rows).get<int>(0, 0);
    }
    int completed_tasks() { return count("task_states WHERE state = 'completed'"); }

    // When the first of the leases ends, in milliseconds from now by the server's clock.
    std::int64_t first_deadline() {
        Connection own(options());
        return own
            .exec(
                "SELECT coalesce(min(lease_until_ms), 0) FROM app.tasks "
                "WHERE lease_owner IS NOT NULL")
            .get<std::int64_t>(0, 0);
    }

    // Until all leases that there are have been extended for longer than one lease.
    bool outlive_a_lease(std::int64_t deadline) {
        return wait_until(
            [&] { return first_deadline() > deadline + Milliseconds(kLease).count(); });
    }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    std::mutex mutex_;
    std::map<Kind, int> events_;
};

// TX-36: with one connection, and a transaction in it that takes longer than the lease.
TEST_F(ClientSettlerConnections, ASlowTransactionDelaysNoPortionAndNoExtension) {
    create("slow", 2);
    create("long");
    auto options = worker_options();
    options.concurrency = 4;
    Worker worker(options);
    std::atomic<bool> open = false;
    std::atomic<int> bodies = 0;
    std::atomic<int> held = 0;
    worker.on("cpu", "slow", [&](Task& task) {
        ++held;
        task.complete_with([&](Connection&) {
            ++bodies;
            wait_until([&] { return open.load(); });
        });
        return settled();
    });
    worker.on("cpu", "long", [&](Task&) {
        ++held;
        wait_until([&] { return open.load(); });
        return completed();
    });
    worker.on("cpu", "short", [](Task&) { return completed(); });
    Running running(worker);
    // The other slow one waits for the connection.
    ASSERT_TRUE(wait_until([&] { return held == 3 && bodies == 1; }));
    const auto deadline = first_deadline();
    create("short", 5);
    EXPECT_TRUE(wait_until([&] { return completed_tasks() == 5; }, seconds(30)));
    EXPECT_TRUE(outlive_a_lease(deadline));
    open = true;
    EXPECT_TRUE(wait_until([&] { return completed_tasks() == 8; }));
    running.end();
    EXPECT_EQ(events(Kind::kCompleted), 8);
    EXPECT_EQ(events(Kind::kLost), 0);
    EXPECT_EQ(events(Kind::kError), 0);
    EXPECT_EQ(bodies, 2);
    EXPECT_EQ(count("tasks WHERE retry_count + reclaim_count > 0"), 0);
}

// What a settler needs to be tested without a worker.
struct Host final : SettlerHost {
    void settled(Job&, Settlement) override { ++settlements; }
    void settle_alone(Job&) override { ++others; }
    void failed_call(Job&, const Error& error) override { unknown += error.outcome_unknown(); }
    void lost_unused(Job&) override { ++others; }
    Milliseconds delay_after(const Task&) const override { return Milliseconds(0); }
    bool stopping() const override { return false; }
    void look_again() noexcept override { ++looks; }
    void tell_error(const std::exception&) const noexcept override { ++errors; }

    std::atomic<int> settlements = 0;
    std::atomic<int> others = 0;
    std::atomic<int> unknown = 0;
    std::atomic<int> looks = 0;
    mutable std::atomic<int> errors = 0;
};

// TX-36: a portion that waits for a connection is extended meanwhile.
TEST_F(ClientSettlerConnections, AJobIsExtendedUntilItsPortionIsSent) {
    create("");
    Pool portions(options(), 1);
    Pool leases(options(), 1);
    Host host;
    LeaseKeeper keeper(leases, {.hub = "app", .lease = kLease});
    HubServer server{portions, portions, keeper};
    Settler settler(
        server,
        {.hub = "app",
         .tasks = ClaimOptions{.worker = "w", .worker_instance = "w1", .lease = kLease}},
        host);
    ASSERT_EQ(settler.free_handlers(), 1);
    ASSERT_EQ(settler.receive(hub_), 1);
    auto job = settler.take();
    const auto deadline = first_deadline();
    job->outcome = completed();
    std::optional<PooledConnection> held(portions.take());
    auto handler = std::async([&] { return settler.hand_over(std::move(job)); });
    EXPECT_TRUE(outlive_a_lease(deadline));
    held.reset();
    EXPECT_TRUE(wait_until([&] { return host.settlements == 1; }));
    EXPECT_EQ(completed_tasks(), 1);
    settler.stop_receiving();
    EXPECT_EQ(handler.get(), nullptr);
    EXPECT_EQ(host.others, 0);
    EXPECT_EQ(host.errors, 0);
}

// A thread that has found no free handler, because the call of another one was to bring work for
// all of them, is notified when that call has brought less.
TEST_F(ClientSettlerConnections, HandlersThatACallLeavesFreeAreAnnounced) {
    create("");
    Pool portions(options(), 1);
    Pool leases(options(), 1);
    Host host;
    LeaseKeeper keeper(leases, {.hub = "app", .lease = kLease});
    HubServer server{portions, portions, keeper};
    Settler settler(
        server,
        {.hub = "app",
         .concurrency = 2,
         .tasks = ClaimOptions{.worker = "w", .worker_instance = "w1", .lease = kLease}},
        host);
    // A call reads the clock when its handlers are reserved.
    int free_meanwhile = -1;
    Hub hub(connection_, "app", [&]() -> std::optional<Time> {
        free_meanwhile = settler.free_handlers();
        return std::nullopt;
    });
    EXPECT_EQ(settler.receive(hub), 1);
    EXPECT_EQ(free_meanwhile, 0);
    EXPECT_EQ(host.looks, 1);
    EXPECT_EQ(settler.free_handlers(), 1);
    settler.stop_receiving();
    EXPECT_TRUE(settler.await_idle(Steady::now() + seconds(30)));
    EXPECT_EQ(host.errors, 0);
}

// TX-36: an answer without outcomes says nothing about any of them.
TEST_F(ClientSettlerConnections, AShortAnswerLeavesEachOutcomeUnknown) {
    const int number = 3;
    hub_.provider().enqueue_worker_items(std::vector<NewWorkItem>(
        number, {.work_item = R"({"ActivityExecute":{"name":"Work","input":"1"}})"}));
    Conn owner = admin();
    owner.exec(
        "ALTER FUNCTION app.settle_and_fetch_work_items RENAME TO whole_answer; "
        "CREATE FUNCTION app.settle_and_fetch_work_items(text[], text[], text[], bigint[], "
        "boolean[], text[], bigint, text, bigint, text[], text, integer, integer, integer[], "
        "integer, integer, bigint) RETURNS TABLE (outcome_index integer, error text, reason text, "
        "work_item text, lock_token text, attempt_count integer) LANGUAGE sql AS "
        "'SELECT * FROM app.whole_answer($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
        "$14, $15, $16, $17) a WHERE a.outcome_index IS NULL'");
    {
        auto options = worker_options();
        options.concurrency = number;
        Worker worker(options);
        std::atomic<int> held = 0;
        worker.on_activity("Work", [&](Task&) {
            ++held;
            wait_until([&] { return held >= number; });
            return completed();
        });
        Running running(worker);
        EXPECT_TRUE(wait_until([&] { return events(Kind::kUnknown) == number; }, seconds(30)));
        EXPECT_EQ(held, number);
    }
    EXPECT_EQ(count("worker_queue"), 0);
    EXPECT_EQ(events(Kind::kCompleted), 0);
    owner.exec(
        "DROP FUNCTION app.settle_and_fetch_work_items; "
        "ALTER FUNCTION app.whole_answer RENAME TO settle_and_fetch_work_items");
}

}  // namespace
}  // namespace belay::test
