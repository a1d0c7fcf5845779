// The end of a runtime whose server is gone.
#include "examples.hpp"

#include <atomic>
#include <chrono>

#include "belay/runtime.hpp"
#include "server.hpp"

namespace {

using belay::Milliseconds;
using belay::Runtime;
using belay::RuntimeOptions;
using belay::test::Running;
using belay::test::wait_until;

class RuntimeServerStop : public belay::test::WithServer {};

// Well before the 30 s that each call takes to give up on a lost connection.
TEST_F(RuntimeServerStop, DoesNotWaitForItsServer) {
    std::atomic<int> held = 0;
    RuntimeOptions given;
    given.connection = options();
    given.hub = "app";
    given.activity_concurrency = 4;
    given.drain_timeout = Milliseconds(1000);
    Runtime runtime(given);
    runtime.on(examples::sum_of_squares, &examples::sum);
    runtime.on(examples::square, [&](belay::Task& task, int i) {
        ++held;
        belay::test::wait_for_stop(task.stop_token());
        return i * i;
    });
    {
        belay::Connection connection(options());
        belay::Hub hub(connection, "app");
        belay::start(hub, examples::sum_of_squares, 10);
    }
    Running running(runtime);
    EXPECT_TRUE(wait_until([&] { return held == 4; }));
    cluster->stop("immediate");
    const auto begin = std::chrono::steady_clock::now();
    running.end();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
    cluster->start();
}

}  // namespace
