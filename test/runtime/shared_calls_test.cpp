// A runtime whose calls lease turns and activities together.
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "belay/runtime.hpp"
#include "server.hpp"

namespace {

using belay::Context;
using belay::Durable;
using belay::Milliseconds;
using belay::Runtime;
using belay::RuntimeOptions;
using belay::test::Running;
using belay::test::wait_until;

inline constexpr belay::ActivityOf<int(int)> step{"Step"};
inline constexpr belay::OrchestrationOf<int(int)> chain{"Chain"};
inline constexpr belay::OrchestrationOf<int(int)> fan_out{"FanOut"};

Durable<int> run_chain(Context ctx, int length) {
    int n = 0;
    for (int i = 0; i < length; ++i) {
        n = co_await ctx.call(step, n);
    }
    co_return n;
}

Durable<int> run_fan_out(Context ctx, int width) {
    std::vector<belay::Call<int>> calls;
    for (int i = 0; i < width; ++i) {
        calls.push_back(ctx.call(step, i));
    }
    std::vector<int> results = co_await belay::when_all(std::move(calls));
    int sum = 0;
    for (const int result : results) {
        sum += result;
    }
    co_return sum;
}

class RuntimeServerSharedCalls : public belay::test::WithServer {
 protected:
    RuntimeOptions runtime_options() {
        RuntimeOptions given;
        given.connection = options();
        given.hub = "app";
        given.activity_concurrency = 2;
        return given;
    }
};

// BO-2, BO-6: an activity comes with the ack that schedules it, and a turn with the outcome that
// makes it ready, so that a step takes two calls. With a fetch and a wait for each of them it would
// take six.
TEST_F(RuntimeServerSharedCalls, StepTakesTwoCalls) {
    constexpr int kSteps = 100;
    RuntimeOptions given = runtime_options();
    given.run_ahead = false;
    Runtime runtime(given);
    runtime.on(chain, &run_chain);
    runtime.on(step, [](int n) { return n + 1; });
    {
        const Running running(runtime);
        belay::Connection connection(options());
        belay::Hub hub(connection, "app");
        EXPECT_EQ(belay::start(hub, chain, kSteps).wait(std::chrono::seconds(120)), kSteps);
    }
    const auto stats = runtime.stats();
    EXPECT_EQ(stats.turns, kSteps + 1u);
    EXPECT_EQ(stats.cache_hits, static_cast<std::uint64_t>(kSteps));
    std::cout << stats.round_trips << " round trips for " << kSteps << " steps\n";
    EXPECT_LE(stats.round_trips, 3u * kSteps);
    EXPECT_EQ(stats.turns_ahead, 0u);
}

// BO-11: the turn is run before the outcome is settled, and committed with it: a step takes a call.
TEST_F(RuntimeServerSharedCalls, StepRunAheadTakesOneCall) {
    constexpr int kSteps = 100;
    Runtime runtime(runtime_options());
    runtime.on(chain, &run_chain);
    runtime.on(step, [](int n) { return n + 1; });
    {
        const Running running(runtime);
        belay::Connection connection(options());
        belay::Hub hub(connection, "app");
        EXPECT_EQ(belay::start(hub, chain, kSteps).wait(std::chrono::seconds(120)), kSteps);
    }
    const auto stats = runtime.stats();
    EXPECT_EQ(stats.turns, kSteps + 1u);
    // A thread that is held up for long makes a step one of two calls.
    EXPECT_GT(stats.turns_ahead, kSteps / 2u);
    std::cout << stats.round_trips << " round trips for " << kSteps << " steps, "
              << stats.turns_ahead << " turns ahead, " << stats.ahead_refused << " refused\n";
}

// BO-11: what the server refuses is forgotten, and the turn comes as ever: here while the queue is
// paused.
TEST_F(RuntimeServerSharedCalls, RefusedTurnIsRunAgain) {
    constexpr int kSteps = 3;
    Runtime runtime(runtime_options());
    std::atomic<int> paused = 0;
    runtime.on(chain, &run_chain);
    runtime.on(step, [&](int n) {
        if (n == 1) {
            belay::Connection connection(options());
            connection.exec("SELECT app.pause_hub('orchestrator')");
            ++paused;
        }
        return n + 1;
    });
    {
        const Running running(runtime);
        belay::Connection connection(options());
        belay::Hub hub(connection, "app");
        auto started = belay::start(hub, chain, kSteps);
        ASSERT_TRUE(wait_until([&] { return runtime.stats().ahead_refused > 0; }));
        connection.exec("SELECT app.resume_hub('orchestrator')");
        EXPECT_EQ(started.wait(std::chrono::seconds(60)), kSteps);
    }
    EXPECT_EQ(paused, 1);
    const auto stats = runtime.stats();
    EXPECT_EQ(stats.turns, kSteps + 1u);
    EXPECT_LE(stats.turns_ahead, kSteps - 1u);
    EXPECT_GE(stats.ahead_refused, 1u);
}

// BO-6: activities that no handler of the process is free for are left to others.
TEST_F(RuntimeServerSharedCalls, LeavesToOthersWhatItCannotRun) {
    constexpr int kWidth = 6;
    std::atomic<int> began = 0;
    std::atomic<bool> may_end = false;
    Runtime runtime(runtime_options());
    runtime.on(fan_out, &run_fan_out);
    runtime.on(step, [&](int n) {
        ++began;
        EXPECT_TRUE(wait_until([&] { return may_end.load(); }));
        return n;
    });
    std::atomic<int> others = 0;
    belay::Worker other({.connection = options(), .hub = "app", .concurrency = kWidth});
    other.on_activity(step.name, [&](belay::Task& task) {
        ++others;
        return belay::completed_text(task.payload_text());
    });
    const Running running(runtime);
    belay::Connection connection(options());
    belay::Hub hub(connection, "app");
    auto started = belay::start(hub, fan_out, kWidth);
    ASSERT_TRUE(wait_until([&] { return began == 2; }));
    {
        const Running its_running(other);
        EXPECT_TRUE(wait_until([&] { return others == kWidth - 2; }));
    }
    may_end = true;
    EXPECT_EQ(started.wait(std::chrono::seconds(60)), kWidth * (kWidth - 1) / 2);
    EXPECT_EQ(began, 2);
}

// BO-3: an activity that came with an ack is taken away when its instance is cancelled.
TEST_F(RuntimeServerSharedCalls, CancelledActivityStops) {
    std::atomic<bool> began = false;
    std::atomic<bool> stopped = false;
    Runtime runtime(runtime_options());
    runtime.on(chain, &run_chain);
    runtime.on(step, [&](belay::Task& task, int n) {
        began = true;
        belay::test::wait_for_stop(task.stop_token());
        stopped = true;
        return n;
    });
    const Running running(runtime);
    belay::Connection connection(options());
    belay::Hub hub(connection, "app");
    auto started = belay::start(hub, chain, 1);
    ASSERT_TRUE(wait_until([&] { return began.load(); }));
    started.cancel("enough");
    EXPECT_THROW(started.wait(std::chrono::seconds(60)), belay::Failure);
    EXPECT_TRUE(wait_until([&] { return stopped.load(); }));
}

// A dispatcher leases only for a worker of its own hub, with leases that last as long.
TEST_F(RuntimeServerSharedCalls, OtherHubsAreRefused) {
    belay::Dispatcher dispatcher({.connection = options(), .hub = "app"});
    belay::Worker elsewhere({.connection = options(), .hub = "other"});
    EXPECT_THROW(dispatcher.share_calls_with(elsewhere), belay::Error);
    belay::Worker shorter({.connection = options(), .hub = "app", .lease = Milliseconds(1000)});
    EXPECT_THROW(dispatcher.share_calls_with(shorter), belay::Error);
}

}  // namespace
