// The end of loops whose server is gone.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "belay/dispatcher.hpp"
#include "belay/events.hpp"
#include "belay/orchestrations.hpp"
#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using std::chrono::seconds;

constexpr seconds kDrain{1};

class ClientStop : public WithServer {
 protected:
    void TearDown() override {
        if (is_stopped_) {
            cluster->start();
        }
        WithServer::TearDown();
    }

    void stop_server() {
        cluster->stop("immediate");
        is_stopped_ = true;
    }

    // The server dies, the loop is stopped, and run() returns long before one reconnect_timeout.
    template <typename Loop>
    void end_without_server(Running<Loop>& running) {
        ASSERT_EQ(options().reconnect_timeout, seconds(30));
        stop_server();
        const auto begin = std::chrono::steady_clock::now();
        running.end();
        EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
    }

    WorkerOptions worker_options() {
        WorkerOptions made{.connection = options(), .hub = "app", .name = "tester"};
        made.concurrency = 4;
        made.connections = 2;
        made.prefetch = 10;
        made.prefetch_threshold = 1;
        made.drain_timeout = kDrain;
        made.on_event = [this](const WorkerEvent& event) {
            errors_ += event.kind == WorkerEvent::Kind::kError ? 1 : 0;
        };
        return made;
    }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    bool is_stopped_ = false;
    std::atomic<int> held_ = 0;
    std::atomic<int> errors_ = 0;
};

TEST_F(ClientStop, AWorkerWithTasksDoesNotWaitForItsServer) {
    Worker worker(worker_options());
    worker.on("cpu", "short", [](Task&) { return completed(); });
    worker.on("cpu", "long", [this](Task& task) {
        ++held_;
        wait_for_stop(task.stop_token());
        return completed();
    });
    hub_.tasks().create({.queue = "cpu", .kind = "short"});
    for (int i = 0; i < 20; ++i) {
        hub_.tasks().create({.queue = "cpu", .kind = "long"});
    }
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return held_ == 4; }));
    // Those in the buffer, too.
    ASSERT_TRUE(wait_until([&] {
        return connection_.exec("SELECT count(*) FROM app.tasks WHERE lease_owner IS NOT NULL")
                   .get<int>(0, 0) > 4;
    }));
    end_without_server(running);
    EXPECT_GT(errors_, 0);
}

TEST_F(ClientStop, AWorkerWithActivitiesDoesNotWaitForItsServer) {
    Worker worker(worker_options());
    worker.on_activity("Work", [this](Task& task) {
        ++held_;
        wait_for_stop(task.stop_token());
        return completed();
    });
    for (int i = 0; i < 20; ++i) {
        hub_.provider().enqueue_worker_work(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" +
                          std::to_string(i) + R"(,"name":"Work","input":""}})"});
    }
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return held_ == 4; }));
    end_without_server(running);
    EXPECT_GT(errors_, 0);
}

TEST_F(ClientStop, ADispatcherDoesNotWaitForItsServer) {
    Dispatcher dispatcher({.connection = options(),
                           .hub = "app",
                           .drain_timeout = kDrain,
                           .share_slots = true,
                           .on_event = [this](const DispatcherEvent& event) {
                               errors_ += event.kind == DispatcherEvent::Kind::kError ? 1 : 0;
                           }});
    dispatcher.on("", [this](TurnContext& turn) {
        ++held_;
        wait_for_stop(turn.stop_token());
        return TurnOutcome::retry(Milliseconds(0));
    });
    for (int i = 0; i < 8; ++i) {
        hub_.orchestrations().start_text("O", "", {.instance_id = std::to_string(i)});
    }
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return held_ == 4; }));
    end_without_server(running);
    EXPECT_GT(errors_, 0);
}

TEST_F(ClientStop, AReaderDoesNotWaitForItsServer) {
    hub_.events().subscribe("mirror");
    connection_.exec(
        "INSERT INTO app.instances VALUES ('i', 'O', '1', 1, NULL, NULL, 0, now(), now())");
    hub_.orchestrations().remove("i", true);  // an event
    std::atomic<int> lost = 0;
    EventReader reader({.connection = options(),
                        .hub = "app",
                        .subscription = "mirror",
                        .on_event = [&](const ReaderEvent& event) {
                            lost += event.kind == ReaderEvent::Kind::kLost ||
                                            event.kind == ReaderEvent::Kind::kUnknown ||
                                            event.kind == ReaderEvent::Kind::kError
                                        ? 1
                                        : 0;
                        }});
    std::atomic<bool> open = false;
    std::thread thread([&] {
        reader.run([&](const std::vector<Event>&, Connection&) {
            ++held_;
            wait_until([&] { return open.load(); });
        });
    });
    EXPECT_TRUE(wait_until([&] { return held_ > 0; }));
    stop_server();
    open = true;
    // From here on it tries to connect again.
    EXPECT_TRUE(wait_until([&] { return lost > 0; }));
    const auto begin = std::chrono::steady_clock::now();
    reader.stop();
    thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
}

// The limit's own rule: one attempt that fails after it is the last of all.
TEST_F(ClientStop, NothingIsConnectedAfterTheLastAttempt) {
    auto own = options();
    own.reconnect_limit = std::make_shared<ReconnectLimit>();
    Connection first(own);
    Connection second(own);
    const auto begin = std::chrono::steady_clock::now();
    own.reconnect_limit->set(begin);
    own.reconnect_limit->set(begin + std::chrono::hours(1));  // comes too late
    EXPECT_EQ(own.reconnect_limit->time(), begin);
    // A server that is there is connected to.
    kill_backend(first.backend_pid());
    EXPECT_EQ(first.call(Effect::kRepeatable, "SELECT 1").get<int>(0, 0), 1);
    EXPECT_FALSE(own.reconnect_limit->gave_up());
    stop_server();
    EXPECT_THROW(first.call(Effect::kRepeatable, "SELECT 1"), Error);
    EXPECT_TRUE(own.reconnect_limit->gave_up());
    cluster->start();
    is_stopped_ = false;
    EXPECT_THROW(second.call(Effect::kRepeatable, "SELECT 1"), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
}

}  // namespace
}  // namespace belay::test
