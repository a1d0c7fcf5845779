// Durable functions while their hub moves from one plain server to another.
#include "examples.hpp"

#include <atomic>

#include "belay/runtime.hpp"
#include "moves.hpp"

namespace {

using belay::Runtime;
using belay::RuntimeEvent;
using belay::RuntimeOptions;
using belay::test::Running;
using belay::test::Turnstile;
using belay::test::wait_until;

class RuntimeMoves : public belay::test::WithMoves {};

// SO-51: each instance ends with its result, and a client that waits for it gets it.
TEST_F(RuntimeMoves, Continues) {
    Turnstile turnstile;
    std::atomic<bool> missed = false;
    RuntimeOptions given;
    given.connection = options();
    given.hub = "app";
    given.executors = 2;
    given.activity_concurrency = 4;
    given.on_event = [&](const RuntimeEvent& event) {
        if (event.kind == RuntimeEvent::Kind::kError && belay::test::misses_the_hub(event.text)) {
            missed = true;
        }
    };
    Runtime runtime(given);
    runtime.on(examples::sum_of_squares, &examples::sum);
    runtime.on(examples::square, [&](int i) {
        turnstile.pass();
        return i * i;
    });
    belay::Connection connection(options());
    belay::Hub hub(connection, "app");
    const Running running(runtime);
    auto one = belay::start(hub, examples::sum_of_squares, 20);
    auto two = belay::start(hub, examples::sum_of_squares, 30);
    turnstile.allow(10);
    ASSERT_TRUE(wait_until([&] { return turnstile.arrived() > 10; }));
    leave();
    EXPECT_TRUE(wait_until([&] { return missed.load(); }));
    arrive();
    forget();
    turnstile.open();
    EXPECT_EQ(one.wait(), 2470);
    EXPECT_EQ(two.wait(), 8555);
    EXPECT_EQ(runtime.stats().of(RuntimeEvent::Kind::kNondeterministic), 0u);
    EXPECT_EQ(runtime.stats().of(RuntimeEvent::Kind::kCorrupt), 0u);
}

}  // namespace
