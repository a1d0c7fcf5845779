// Longer scenarios in a World, and payloads of every kind. Each scenario also runs with a crash
// after every step, and ends as without.
#include <numeric>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "scenarios.hpp"

namespace {

using namespace examples;
using namespace scenarios;
using belay::OrchestrationOf;
using belay::testing::CacheMode;
using belay::testing::World;

// ---- Fan-out. ----

class FanOut : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, FanOut, ::testing::Values(1, 10, 1000, 2000));

TEST_P(FanOut, Sums) {
    World world;
    world.verify_replay(false);
    world.on(sum_of_squares, &sum);
    world.on(square, [](int i) { return i % 1000; });
    const int n = GetParam();
    long expected = 0;
    for (int i = 0; i < n; ++i) {
        expected += i % 1000;
    }
    EXPECT_EQ(world.start(sum_of_squares, n, "f").result(), expected);
    EXPECT_EQ(world.events("f").size(), static_cast<std::size_t>(2 * n + 2));
}

// ---- An actor. ----

// Messages that arrive at any time are handled once and in order, over 100 executions. EQ-2, EQ-3
TEST(Scenarios, ActorOfThousandRounds) {
    World world;
    world.on(actor, &act);
    int checks = 0;
    world.on(check_health, [&](int) { ++checks; });
    world.manual_time();
    const Actor fresh;
    auto started = world.start(actor, fresh, "actor");
    world.settle();  // A message for an instance that does not exist is dropped by the hub.
    for (int i = 1; i <= 1000; ++i) {
        world.enqueue("actor", "inbox", i);
        if (i % 7 == 0) {
            world.settle();
        }
        if (i % 100 == 0) {
            world.advance(5min);
        }
    }
    world.enqueue("actor", "inbox", -1);
    world.settle();
    EXPECT_EQ(started.result(), 500500);
    EXPECT_EQ(world.value("actor", "handled"), "1000");
    EXPECT_GE(checks, 10);
    EXPECT_GE(started.state().execution_id, 100);
    world.torture();
}

// ---- Children. ----

TEST(Scenarios, NestedChildren) {
    World world;
    world.on(nested, &nest);
    world.on(square, [](int i) { return i * i; });
    EXPECT_EQ(world.start(nested, 3, "n").result(), 12);
    EXPECT_EQ(world.instances(), (std::vector<std::string>{"n", "n::sub::2", "n::sub::2::sub::2",
                                                           "n::sub::2::sub::2::sub::2"}));
    EXPECT_EQ(world.state("n::sub::2").parent, "n");
}

TEST(Scenarios, DetachedStartAtTheEnd) {
    World world;
    world.on(starter, &start_other);
    world.on(hello, &say_hello);
    world.on(greet, [](std::string name) { return "Hello " + name; });
    EXPECT_EQ(world.start(starter, "x", "s").result(), "started");
    world.run();
    EXPECT_EQ(world.state("other").output, "Hello x");
    EXPECT_EQ(world.state("other").parent, std::nullopt);
}

// ---- Sessions and tags. ----

inline constexpr OrchestrationOf<int()> in_session{"InSession"};
Durable<int> use_session(Context ctx) {
    int first = co_await ctx.call(square, 2, belay::CallOptions().session("s1").tag("gpu"));
    int second = co_await ctx.call(square, first, belay::CallOptions().session("s1").tag("gpu"));
    co_return second;
}

// RT-3: session and tag reach the worker.
TEST(Scenarios, SessionAndTag) {
    World world;
    world.on(in_session, &use_session);
    std::vector<std::string> seen;
    world.on(square, [&](const belay::testing::Activity& activity, int i) {
        seen.push_back(activity.session.value_or("") + "/" + activity.tag.value_or(""));
        return i * i;
    });
    EXPECT_EQ(world.start(in_session).result(), 16);
    EXPECT_EQ(seen, (std::vector<std::string>{"s1/gpu", "s1/gpu"}));
}

// ---- Deployments. ----

inline constexpr OrchestrationOf<std::string(std::string)> hello_2{"Hello", "2.0.0"};
Durable<std::string> say_hello_twice(Context ctx, std::string name) {
    std::string once = co_await ctx.call(greet, name);
    std::string twice = co_await ctx.call(greet, once);
    co_return twice;
}

// VE-6, TU-2: both versions run side by side; an instance stays with its version.
TEST(Scenarios, RollingDeployment) {
    World world;
    world.on(greet, [](std::string name) { return "Hello " + name; });
    world.on(hello, &say_hello);
    auto before = world.start(hello, "a", "a");
    world.step();
    belay::Registry both;
    both.on(hello, &say_hello);
    both.on(hello_2, &say_hello_twice);
    world.deploy(std::move(both));
    auto after = world.start(hello, "b", "b");
    auto pinned = world.start(hello, "c", "c", "1.0.0");
    EXPECT_EQ(before.result(), "Hello a");
    EXPECT_EQ(after.result(), "Hello Hello b");
    EXPECT_EQ(pinned.result(), "Hello c");
    EXPECT_EQ(after.state().version, "2.0.0");
}

inline constexpr OrchestrationOf<std::string(int)> rounds_1{"Rounds"};
inline constexpr OrchestrationOf<std::string(int)> rounds_2{"Rounds", "2.0.0"};
Durable<std::string> old_rounds(Context ctx, int n) {
    co_await ctx.sleep(1h);
    co_return ctx.continue_as_new(n + 1);
}
Durable<std::string> new_rounds(Context, int n) {
    co_return "new code in round " + std::to_string(n);
}

// VE-7: a loop moves to new code at its next round.
TEST(Scenarios, NextRoundRunsNewerCode) {
    World world;
    world.manual_time();
    world.on(rounds_1, &old_rounds);
    auto started = world.start(rounds_1, 1, "r");
    world.advance(90min);
    EXPECT_EQ(started.state().version, "1.0.0");
    belay::Registry both;
    both.on(rounds_1, &old_rounds);
    both.on(rounds_2, &new_rounds);
    world.deploy(std::move(both));
    world.advance(10min);
    EXPECT_EQ(started.state().execution_id, 2);  // This round is the old code's.
    world.advance(1h);
    EXPECT_EQ(started.state().output, "new code in round 3");
    EXPECT_EQ(started.state().version, "2.0.0");
}

inline constexpr OrchestrationOf<std::string()> parent_of_cancelled{"ParentOfCancelled"};
inline constexpr OrchestrationOf<std::string()> waits_for_ever{"WaitsForEver"};
Durable<std::string> wait_for_ever(Context ctx) {
    co_await ctx.event<int>("never");
    co_return "";
}
Durable<std::string> await_child(Context ctx) {
    std::string text =
        co_await ctx.call(waits_for_ever, belay::CallOptions().instance("the-child"));
    co_return text;
}

// PY-4: a parent that fails with its cancelled child was not cancelled, though its output says so.
TEST(Scenarios, FailureOfCancelledChild) {
    World world;
    world.on(parent_of_cancelled, &await_child);
    world.on(waits_for_ever, &wait_for_ever);
    auto started = world.start(parent_of_cancelled, "p");
    world.settle();
    world.cancel("the-child", "enough");
    try {
        started.result();
        FAIL();
    } catch (const belay::Cancelled&) {
        FAIL() << "the parent was not cancelled";
    } catch (const belay::Failure& failure) {
        EXPECT_STREQ(failure.what(), "canceled: enough");
        EXPECT_FALSE(failure.retryable());
        EXPECT_NE(failure.details().find("OrchestrationFailed"), std::string::npos);
    }
    auto cancelled = world.start(waits_for_ever, "c");
    world.settle();
    world.cancel("c", "too late");
    try {
        cancelled.result();
        FAIL();
    } catch (const belay::Cancelled& found) {
        EXPECT_EQ(found.reason(), "too late");
    }
}

// ND-3: other code is swapped in and out again; the instance waits meanwhile, unharmed.
TEST(Scenarios, CodeSwapAndSwapBack) {
    World world;
    world.keep_going();
    world.on(greet, [&world](std::string name) {
        world.sleep(1s);
        return "Hello " + name;
    });
    world.on(check, [](Order) { return std::string("fine"); });
    world.on(hello, &say_hello);
    auto started = world.start(hello, "a", "a");
    world.manual_time();
    world.settle();
    belay::Registry other;
    other.on(
        hello, +[](Context ctx, std::string name) { return say_hello_twice(ctx, "x" + name); });
    world.deploy(std::move(other));
    world.advance(10s);
    EXPECT_EQ(world.events("a").size(), 2u);
    EXPECT_GE(world.stats().given_back, 3u);  // After 1, 2 and 4 seconds.
    belay::Registry old;
    old.on(hello, &say_hello);
    world.deploy(std::move(old));
    world.advance(1min);
    EXPECT_EQ(started.state().output, "Hello a");
}

// ---- A compensation that fails. ----

// The others are tried; the instance fails with the compensation's failure.
TEST(Scenarios, FailingCompensation) {
    World world;
    register_all(world);
    register_activities(world);
    int tries = 0;
    world.on(ship, [](Order) -> std::string { throw belay::Failure("no truck", false); });
    world.on(refund, [&](Receipt) -> std::string {
        ++tries;
        throw belay::Failure("bank is closed");
    });
    const Order order{"o", 1};
    auto started = world.start(order_saga, order);
    try {
        started.result();
        FAIL();
    } catch (const belay::Failure& failure) {
        EXPECT_STREQ(failure.what(), "bank is closed");
    }
    EXPECT_EQ(tries, 5);
}

// ---- Payloads. ----

inline constexpr OrchestrationOf<std::string(std::string)> echo_twice{"EchoTwice"};
inline constexpr belay::ActivityOf<std::string(std::string)> echo{"Echo"};
Durable<std::string> run_echo(Context ctx, std::string text) {
    std::string once = co_await ctx.call(echo, text);
    std::string twice = co_await ctx.call(echo, once);
    co_return twice;
}

// PY-1: any text comes back as it was.
TEST(Scenarios, Payloads) {
    World world;
    world.on(echo_twice, &run_echo);
    world.on(echo, [](std::string text) { return text; });
    const std::vector<std::string> texts = {"",
                                            "plain",
                                            "\"quoted\"",
                                            "{\"a\":1}",
                                            "null",
                                            "42",
                                            "äöü € 漢字 \U0001F600",
                                            "a\nb\t",
                                            std::string("a\0b", 3),
                                            "\\u0041",
                                            std::string(200000, 'x')};
    for (const std::string& text : texts) {
        EXPECT_EQ(world.start(echo_twice, text).result(), text) << text.substr(0, 40);
    }
    world.run();
    world.torture();
}

inline constexpr OrchestrationOf<int(int)> long_chain{"LongChain"};
Durable<int> run_long_chain(Context ctx, int length) {
    int value = 0;
    for (int i = 0; i < length; ++i) {
        value = co_await ctx.call(square, value);
    }
    co_return value;
}

// Two equal activities get their own results, a thousand times, over replays. RY-4
TEST(Scenarios, ThousandInSequence) {
    for (const int length : {1000, 100}) {
        World world;
        world.cache(length == 1000 ? CacheMode::kOn : CacheMode::kRandom);
        world.verify_replay(false);
        int calls = 0;
        world.on(long_chain, &run_long_chain);
        world.on(square, [&](int i) {
            EXPECT_EQ(i, calls++);
            return i + 1;
        });
        EXPECT_EQ(world.start(long_chain, length, "c").result(), length);
        EXPECT_EQ(calls, length);
    }
}

// ---- A crash after every step of every scenario. ----

void start_all(World& world) {
    register_all(world);
    register_activities(world);
    register_scenarios(world);
    world.on(echo_twice, &run_echo);
    world.on(echo, [](std::string text) { return text; });
    const Order order{"o1", 500};
    const Round round{1, 3};
    const std::vector<Order> orders{{"a", 1}, {"b", 0}};
    world.start(hello, "world", "hello");
    world.start(order_saga, order, "saga");
    world.start(approval, order, "approval");
    world.start(cleaner, round, "cleaner");
    world.start(bulk, orders, "bulk");
    world.start(versioned, order, "versioned");
    world.start(mixed, 5, "mixed");
    world.start(nested, 2, "nested");
    world.start(parent_of_counting, "counting");
    world.start(starter, "x", "starter");
    world.start(echo_twice, "y", "echo");
}

std::string ends_of(World& world) {
    std::string ends;
    for (const std::string& id : world.instances()) {
        const auto state = world.state(id);
        ends += id + ": " + state.status + " " + state.output + " " +
                std::to_string(world.events(id).size()) + "\n";
    }
    return ends;
}

TEST(Scenarios, CrashAfterEveryStep) {
    std::string expected;
    int steps = 0;
    {
        World world;
        world.cache(CacheMode::kOn);
        start_all(world);
        while (world.step()) {
            ++steps;
        }
        world.run();
        expected = ends_of(world);
        EXPECT_EQ(world.state("counting").output, "40");
        world.torture();
    }
    for (int crash_at = 0; crash_at < steps; ++crash_at) {
        World world;
        world.cache(CacheMode::kOn);
        world.verify_replay(false);
        start_all(world);
        for (int step = 0; step < crash_at; ++step) {
            world.step();
        }
        world.crash();
        world.run();
        ASSERT_EQ(ends_of(world), expected) << crash_at;
    }
}

}  // namespace
