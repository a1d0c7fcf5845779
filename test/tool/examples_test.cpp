// The examples of client/examples, run as programs.
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "programs.hpp"

namespace belay::test {
namespace {

using Examples = WithPrograms;

TEST_F(Examples, HelloWorker) {
    const Uuid id = Queue(hub_, "greetings").send({{"name", "Ada"}});
    std::thread stopper([&] {
        EXPECT_TRUE(hub_.tasks().await(id).ended());
        kill(running_pid(), SIGTERM);
    });
    const Ran ran = run({"hello_worker", "app"});
    stopper.join();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "Hello, Ada\nbye\n");
}

TEST_F(Examples, TransactionalEnqueue) {
    const Ran ran = run({"transactional_enqueue", "app"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "order-1: placed\norder-2: too expensive\n1 order, 1 task\n");
}

TEST_F(Examples, OutboxMirror) {
    const Ran ran = run({"outbox_mirror", "app"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "the first reader has copied 4 events\n10 success\n");
}

TEST_F(Examples, ResizePool) {
    for (int i = 0; i < 2; ++i) {  // it can be run again
        const Ran ran = run({"resize_pool", "app"});
        EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
        EXPECT_EQ(ran.out,
                  "cat: completed in attempt 1\ndog: completed in attempt 3\n"
                  "essay: failed in attempt 1\nmap: cancelled in attempt 1\n");
    }
    EXPECT_TRUE(hub_.tasks().check().empty());
}

TEST_F(Examples, ImageFlow) {
    for (int i = 0; i < 2; ++i) {  // it can be run again
        const Ran ran = run({"image_flow", "app"});
        EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
        for (const char* line :
             {"poster: cancelled\n", "publish: completed [\"cat.png@640\",\"cat.png@64\"]\n",
              "small: completed {\"file\":\"cat.png@64\"}\n", ": completed\n"}) {
            EXPECT_NE(ran.out.find(line), std::string::npos) << line << ran.out;
        }
    }
    EXPECT_TRUE(hub_.tasks().check().empty());
}

TEST_F(Examples, OrderSaga) {
    for (int i = 0; i < 2; ++i) {  // it can be run again
        const Ran ran = run({"order_saga", "app"});
        EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
        for (const char* line :
             {"order-1: Completed, shipped\n", "order-2: Failed, not shipped in time\n",
              "order-3: Cancelled, changed my mind\n", "order-3 shipping is stopped\n",
              "order-2 money is refunded\n"}) {
            EXPECT_NE(ran.out.find(line), std::string::npos) << line << ran.out;
        }
        // On a busy machine the deadline can pass before a worker has fetched the activity.
        const auto says = [&](const char* line) { return ran.out.find(line) != std::string::npos; };
        EXPECT_EQ(says("order-2 shipping is stopped\n"), says("order-2 shipping has begun\n"))
            << ran.out;
    }
    EXPECT_TRUE(hub_.provider().list_work_items().empty());
    // An order ends once, regardless of later events.
    for (const char* order : {"order-1", "order-2", "order-3"}) {
        int ends = 0;
        for (const auto& event : hub_.orchestrations().history(order)) {
            ends += event.event_type == "OrchestrationCompleted" ||
                    event.event_type == "OrchestrationFailed";
        }
        EXPECT_EQ(ends, 1) << order;
    }
}

}  // namespace
}  // namespace belay::test
