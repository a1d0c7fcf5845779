// A worker of the client library that serves a family on the nodes of a cluster.
#include <map>
#include <mutex>
#include <thread>

#include "belay/family.hpp"
#include "belay/worker.hpp"
#include "nodes.hpp"

namespace belay::test {
namespace {

// SO-64: a worker that knows the coordinator serves the hubs of all nodes, and follows a hub that
// Citus moves while it works.
TEST_F(Citus, AWorkerServesAFamily) {
    Conn conn = nodes.coordinator.connect();
    nodes.insist("CALL belay.create_hub_family('f', 4)");
    ASSERT_EQ(conn.value("SELECT count(DISTINCT host) FROM belay.hub_locations"), "2");
    std::mutex mutex;
    std::map<std::string, int> completed;  // by task
    std::map<std::string, int> by_hub;
    std::string errors;
    WorkerOptions given;
    given.connection = {.conninfo = nodes.coordinator.cluster.conninfo()};
    given.family = Family("f", 4);
    given.concurrency = 4;
    given.connections = 2;
    given.retry_delay = Milliseconds(100);
    given.on_event = [&](const WorkerEvent& event) {
        const std::lock_guard lock(mutex);
        if (event.kind == WorkerEvent::Kind::kCompleted) {
            ++completed[event.task->id().text()];
            ++by_hub[event.task->hub()];
        } else if (event.kind == WorkerEvent::Kind::kError) {
            errors += event.hub + ": " + event.message + "\n";
        }
    };
    Worker worker(given);
    worker.on("mail", [](Task&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return belay::completed();
    });
    std::thread thread([&] { worker.run(); });
    const auto count = [&] {
        const std::lock_guard lock(mutex);
        return static_cast<int>(completed.size());
    };
    const auto becomes_complete = [&](int number) {
        for (int i = 0; i < 6000 && count() < number; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return count() == number;
    };
    const auto send = [&](const std::string& hub, int number) {
        const std::string sent =
            Follower(nodes).run("SELECT count(" + hub + ".send('mail', to_jsonb(n))) FROM " +
                                "generate_series(1, " + std::to_string(number) + ") AS n");
        EXPECT_EQ(sent, std::to_string(number));
    };
    for (const std::string& hub : Family("f", 4).hubs()) {
        send(hub, 20);
    }
    EXPECT_TRUE(becomes_complete(80)) << errors;
    // A hub moves with work in hand.
    send("f_001", 300);
    const bool is_first =
        conn.value("SELECT host FROM belay.hub_location('f_001')") == nodes.first.host;
    Server& to = is_first ? nodes.second : nodes.first;
    nodes.insist("SELECT belay.move_hub('f_001', " + to.place() + ", 'block_writes')");
    send("f_001", 20);
    send("f_002", 20);
    EXPECT_TRUE(becomes_complete(420)) << errors;
    worker.stop();
    thread.join();
    for (const auto& [id, times] : completed) {
        EXPECT_EQ(times, 1) << id;
    }
    EXPECT_EQ(by_hub.size(), 4U);
    EXPECT_EQ(
        Follower(nodes).run("SELECT count(*) FROM f_001.task_states WHERE state = 'completed'"),
        "340");
}

}  // namespace
}  // namespace belay::test
