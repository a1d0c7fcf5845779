// Time, random numbers, recorded values, versions of changes; events, queues, values, status;
// continue-as-new; retries.
#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "driver.hpp"

namespace {

using namespace driver;
using namespace std::chrono_literals;
using belay::Context;
using belay::Durable;
using belay::testing::World;

constexpr belay::ActivityOf<std::string(std::string)> step{"Step"};
constexpr belay::OrchestrationOf<std::string(std::string)> code{"Code"};
constexpr belay::OrchestrationOf<int(int)> loop{"Loop"};

using Code = Durable<std::string> (*)(Context, std::string);

Driver started(Code function, bool cached = false, belay::OrchestrationOptions options = {}) {
    Driver d;
    d.cached = cached;
    d.registry.on(code, function, std::move(options));
    d.turn({start("Code", "x")});
    return d;
}

int recorded_runs = 0;

Durable<std::string> draws(Context ctx, std::string) {
    const auto began = ctx.now();
    std::string text = ctx.uuid() + " " + std::to_string(ctx.random());
    std::string first = co_await ctx.call(step, text);
    const int value = ctx.record([] { return ++recorded_runs; });
    std::string second = co_await ctx.call(step, std::to_string(value));
    EXPECT_GE(ctx.now(), began);
    co_return std::to_string((ctx.now() - began).count());
}

// DT-1, DT-3, DT-4: equal in a replay; record runs once, again after a lost turn.
TEST(Values, TimeRandomRecord) {
    for (const bool cached : {false, true}) {
        recorded_runs = 0;
        Driver d = started(&draws, cached);
        const std::string drawn = d.event(1).at("input");
        EXPECT_EQ(drawn.size(), drawn.find(' ') + 1 + drawn.substr(drawn.find(' ') + 1).size());
        EXPECT_EQ(drawn[14], '4');
        EXPECT_NE(std::string("89ab").find(drawn[19]), std::string::npos);
        d.now_ms = 2000;
        EXPECT_EQ(d.turn({completed(2, "")}), "ActivityCompleted,KeyValueSet,ActivityScheduled");
        EXPECT_EQ(recorded_runs, 1);
        EXPECT_EQ(d.event(1).at("key"), "belay:value");  // DT-5
        EXPECT_EQ(d.metadata().at("kv_mutations"), json::array());
        d.now_ms = 3500;
        d.turn({completed(5, "")});
        EXPECT_EQ(d.metadata().at("output"), "2500");
        EXPECT_EQ(recorded_runs, 1);
    }
    // Another instance or execution draws others.
    Driver one = started(&draws);
    Driver two;
    two.registry.on(code, &draws);
    two.now_ms = 1001;
    two.turn({start("Code")});
    EXPECT_NE(one.event(1).at("input"), two.event(1).at("input"));
}

Durable<std::string> draws_in_each_round(Context ctx, int round) {
    ctx.set_status(ctx.uuid() + " " + std::to_string(ctx.random()));
    if (round == 0) {
        co_return ctx.continue_as_new(1);
    }
    co_await ctx.sleep(1h);
    co_return "";
}

// DT-3: the numbers depend on the instance, the execution, and the time at which that began.
TEST(Values, RandomOfEachExecution) {
    constexpr belay::OrchestrationOf<std::string(int)> rounds{"Rounds"};
    std::set<std::string> drawn;
    const auto draw = [&](const std::string& instance, std::int64_t now_ms) {
        Driver d;
        d.instance = instance;
        d.now_ms = now_ms;
        d.registry.on(rounds, &draws_in_each_round);
        d.turn({start("Rounds", "0")});
        drawn.insert(d.event(1).at("status"));
        const std::string next = d.last.decision.orchestrator_items.at(0);
        EXPECT_EQ(d.turn({next}), "OrchestrationStarted,CustomStatusUpdated,TimerCreated");
        EXPECT_EQ(d.execution, 2);
        EXPECT_EQ(d.event(0).at("timestamp_ms"), now_ms);  // as in the first execution
        drawn.insert(d.event(1).at("status"));
    };
    draw("a", 1000);
    EXPECT_EQ(drawn.size(), 2u);
    draw("b", 1000);
    EXPECT_EQ(drawn.size(), 4u);
    draw("a", 1001);
    EXPECT_EQ(drawn.size(), 6u);
    draw("a", 1000);
    EXPECT_EQ(drawn.size(), 6u);
}

Durable<std::string> sleeps(Context ctx, std::string) {
    auto past = ctx.sleep(-1s);
    auto now = ctx.sleep(0s);
    auto later = ctx.sleep(1500ms);
    auto until = ctx.sleep_until(ctx.now() + 2s);
    const auto never = ctx.sleep(belay::Milliseconds::max());
    co_await belay::when_all(std::move(past), std::move(now), std::move(later), std::move(until));
    co_return "woke";
}

// DT-2: timers are counted from now(); what is not in the future fires at once.
TEST(Values, Timers) {
    Driver d = started(&sleeps);
    const auto now = d.now_ms;
    const auto fires_at = [&](std::size_t item) {
        return d.item(item).at("TimerFired").at("fire_at_ms").get<std::int64_t>();
    };
    EXPECT_LE(fires_at(0), now);
    EXPECT_EQ(fires_at(1), now);
    EXPECT_EQ(fires_at(2), now + 1500);
    EXPECT_EQ(fires_at(3), now + 2000);
    EXPECT_EQ(fires_at(4), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(d.event(3).at("fire_at_ms"), now + 1500);
    World world;
    world.on(code, &sleeps);
    const auto began = world.now();
    EXPECT_EQ(world.start(code, "x").result(), "woke");
    EXPECT_EQ(world.now() - began, 2s);
}

Durable<std::string> before_change(Context ctx, std::string) {
    std::string one = co_await ctx.call(step, "1");
    std::string two = co_await ctx.call(step, "2");
    co_return "v0";
}

template <int kVersion>
Durable<std::string> with_change(Context ctx, std::string) {
    const int version = ctx.version("change", kVersion);
    if (version >= 1) {
        std::string added = co_await ctx.call(step, "added " + std::to_string(version));
    }
    std::string one = co_await ctx.call(step, "1");
    EXPECT_EQ(ctx.version("change", kVersion), version);  // VE-2
    std::string two = co_await ctx.call(step, "2");
    co_return "v" + std::to_string(version);
}

Durable<std::string> change_retired(Context ctx, std::string) {
    std::string added = co_await ctx.call(step, "added 1");
    std::string one = co_await ctx.call(step, "1");
    std::string two = co_await ctx.call(step, "2");
    co_return "v1 for ever";
}

void swap(Driver& d, Code function, belay::OrchestrationOptions options = {}) {
    d.registry = {};
    d.registry.on(code, function, std::move(options));
}

// VE-1 to VE-5: three generations of code over histories of each.
TEST(Values, VersionOfChange) {
    Driver old = started(&before_change);
    swap(old, &with_change<1>);
    EXPECT_EQ(old.turn({completed(2, "")}), "ActivityCompleted,ActivityScheduled");
    swap(old, &with_change<2>);
    EXPECT_EQ(old.turn({completed(4, "")}), "ActivityCompleted,OrchestrationCompleted");
    EXPECT_EQ(old.metadata().at("output"), "v0");

    Driver first = started(&with_change<1>);
    EXPECT_EQ(first.stored(2).at("key"), "belay:version:change");
    EXPECT_EQ(first.stored(2).at("value"), "1");
    swap(first, &with_change<2>);
    EXPECT_EQ(first.turn({completed(3, "")}), "ActivityCompleted,ActivityScheduled");
    // VE-5: the call of version() was removed.
    swap(first, &change_retired);
    EXPECT_EQ(first.turn({completed(5, "")}), "given back");
    swap(first, &change_retired, belay::OrchestrationOptions().retired_version("change"));
    EXPECT_EQ(first.turn({completed(5, "")}), "ActivityCompleted,ActivityScheduled");
    // VE-4: not supported any more.
    swap(first, &with_change<2>, belay::OrchestrationOptions().min_version("change", 2));
    EXPECT_EQ(first.turn({completed(7, "")}), "given back");
    EXPECT_NE(first.last.text.find("change \"change\""), std::string::npos);

    // VE-3: made by newer code.
    Driver second = started(&with_change<2>);
    swap(second, &with_change<1>);
    EXPECT_EQ(second.turn({completed(3, "")}), "given back");
    EXPECT_NE(second.last.text.find("made by newer code"), std::string::npos);
    swap(second, &with_change<2>);
    EXPECT_EQ(second.turn({completed(3, "")}), "ActivityCompleted,ActivityScheduled");

    Driver none = started(&before_change);
    swap(none, &with_change<1>, belay::OrchestrationOptions().min_version("change", 1));
    EXPECT_EQ(none.turn({completed(2, "")}), "given back");
}

Durable<std::string> two_events(Context ctx, std::string) {
    std::string got;
    {
        auto dropped = ctx.event<std::string>("e");
        auto timer = ctx.sleep(1s);
        auto won = co_await belay::when_any(std::move(dropped), std::move(timer));
        got += won.index() == 0 ? std::get<0>(won) : "-";
    }
    got += co_await ctx.event<std::string>("e");
    got += co_await ctx.event<std::string>("e");
    co_return got;
}

// EQ-1: an arrival without a subscription is only recorded; a cancelled one has no place.
TEST(Events, Positional) {
    for (const bool cached : {false, true}) {
        Driver d = started(&two_events, cached);
        EXPECT_EQ(d.turn({fired(3)}), "TimerFired,ExternalSubscribed,ExternalSubscribedCancelled");
        EXPECT_EQ(d.turn({raised("other", "x"), raised("e", "1"), raised("e", "lost")}),
                  "ExternalEvent,ExternalEvent,ExternalEvent,ExternalSubscribed");
        d.turn({raised("e", "2")});
        EXPECT_EQ(d.metadata().at("output"), "-12");
        // In the turn in which it is dropped, a subscription still has its place; what it would
        // have got goes to the next when its cancellation is written.
        Driver same = started(&two_events, cached);
        EXPECT_EQ(same.turn({fired(3), raised("e", "1")}),
                  "TimerFired,ExternalEvent,ExternalSubscribed,ExternalSubscribedCancelled,"
                  "ExternalSubscribed");
    }
}

Durable<std::string> one_event(Context ctx, std::string) {
    int value = co_await ctx.event<int>("e");
    co_return std::to_string(value);
}

Durable<std::string> two_messages(Context ctx, std::string) {
    std::string one = co_await ctx.call(step, "x");
    auto first = ctx.dequeue<std::string>("q");
    auto second = ctx.dequeue<std::string>("q");
    std::string b = co_await std::move(second);
    std::string a = co_await std::move(first);
    co_return a + b;
}

// EQ-4: what arrives before the start is recorded and not delivered. RY-9: nor is what arrives in
// the turn that requests the subscription, which takes effect at the end of the turn.
TEST(Events, BeforeTheStart) {
    Driver d;
    d.registry.on(code, &one_event);
    EXPECT_EQ(d.turn({raised("e", "1"), start("Code", "x"), raised("e", "2")}),
              "OrchestrationStarted,ExternalEvent,ExternalEvent,ExternalSubscribed");
    d.turn({raised("e", "3")});
    EXPECT_EQ(d.metadata().at("output"), "3");
}

// EQ-2: messages wait; subscriptions are served in order.
TEST(Events, Queue) {
    for (const bool cached : {false, true}) {
        Driver d = started(&two_messages, cached);
        EXPECT_EQ(d.turn({queued("q", "1"), queued("r", "no"), queued("q", "2")}),
                  "ExternalEventPersistent,ExternalEventPersistent,ExternalEventPersistent");
        EXPECT_EQ(d.turn({completed(2, "")}),
                  "ActivityCompleted,ExternalSubscribedPersistent,ExternalSubscribedPersistent,"
                  "OrchestrationCompleted");
        EXPECT_EQ(d.metadata().at("output"), "12");
    }
}

Durable<int> counts(Context ctx, int round) {
    const int sum = ctx.get<int>("sum").value_or(0);
    std::string message = co_await ctx.dequeue<std::string>("q");
    ctx.set("sum", sum + static_cast<int>(message.size()));
    ctx.set_status("round " + std::to_string(round));
    EXPECT_EQ(ctx.get<int>("sum"), sum + static_cast<int>(message.size()));
    if (message == "stop") {
        co_return sum + 4;
    }
    auto open = ctx.call(step, "open");
    co_return ctx.continue_as_new(round + 1);
}

// SB-3, SB-4, EQ-3, ST-1, VE-7: executions follow each other.
TEST(ContinueAsNew, CarriesMessagesAndValues) {
    Driver d;
    d.registry.on(loop, &counts);
    std::vector<std::string> batch{start("Loop", "1")};
    int told = 0;
    d.options.hook = [&](const belay::RuntimeEvent& event) {
        told += event.kind == belay::RuntimeEvent::Kind::kCarriedTooMany;
    };
    for (int i = 0; i < 102; ++i) {
        batch.push_back(queued("q", i == 1 ? "stop" : "abc"));
    }
    d.turn(batch);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(d.metadata().at("status"), "ContinuedAsNew");
    EXPECT_EQ(d.last.decision.cancelled_activities.size(), 1u);
    ASSERT_EQ(d.last.decision.orchestrator_items.size(), 1u);
    const json next = d.item(0).at("ContinueAsNew");
    EXPECT_EQ(next.at("input"), "2");
    EXPECT_TRUE(next.at("version").is_null());
    EXPECT_EQ(next.at("initial_custom_status"), "round 1");
    EXPECT_EQ(next.at("carry_forward_events").size(), 100u);
    EXPECT_EQ(next.at("carry_forward_events").at(0), (json{"q", "stop"}));
    const std::string continuation = d.item(0).dump();
    // TU-1: without its message the batch is released.
    EXPECT_EQ(d.turn({queued("q", "early")}), "given back");
    EXPECT_EQ(d.last.kind, belay::engine::TurnResult::Kind::kEarly);
    d.values["sum"] = "3";
    // The rest of the batch is the next execution's; outcomes of the old one are dropped.
    d.turn({completed(3, "old"), continuation});
    EXPECT_EQ(d.execution, 2);
    EXPECT_EQ(d.last.dropped.other_execution, 1u);
    EXPECT_EQ(d.metadata().at("output"), "7");
    EXPECT_EQ(d.stored(1).at("initial_custom_status"), "round 1");
    EXPECT_EQ(d.stored(2).at("type"), "ExternalEventPersistent");
    EXPECT_TRUE(d.metadata().contains("pinned_duroxide_version"));
}

TEST(ContinueAsNew, InWorld) {
    World world(7);
    world.on(loop, &counts);
    world.on(step, [](std::string text) { return text; });
    auto started = world.start(loop, 1, "l");
    world.settle();
    for (const char* message : {"aa", "bbb", "stop"}) {
        world.enqueue("l", "q", std::string(message));
        world.settle();
    }
    EXPECT_EQ(started.result(), 9);
    EXPECT_EQ(world.value("l", "sum"), "9");
    EXPECT_EQ(started.state().execution_id, 3);
}

Durable<std::string> sets(Context ctx, std::string) {
    ctx.set("a", 1);
    ctx.clear_all();
    ctx.set("b", std::string("two"));
    ctx.clear("c");
    EXPECT_EQ(ctx.get<int>("a"), std::nullopt);
    EXPECT_EQ(ctx.get<std::string>("b"), "two");
    EXPECT_EQ(ctx.get<int>("c"), std::nullopt);
    EXPECT_THROW(ctx.set("belay:x", 1), std::invalid_argument);
    EXPECT_THROW(ctx.set("k", std::string(65537, 'x')), std::length_error);
    EXPECT_THROW(ctx.set(std::string(1025, 'k'), 1), std::length_error);
    EXPECT_THROW(ctx.set_status(std::string(262145, 'x')), std::length_error);
    EXPECT_THROW(
        static_cast<void>(ctx.call(step, "x", belay::CallOptions().tag(std::string(257, 't')))),
        std::length_error);
    EXPECT_THROW(static_cast<void>(ctx.call(code, "x", belay::CallOptions().instance("sub::1"))),
                 std::invalid_argument);
    for (int i = 0; i < 149; ++i) {
        ctx.set("k" + std::to_string(i), i);
    }
    EXPECT_THROW(ctx.set("one too many", 1), std::length_error);
    // The function does not use the context; what it throws is stored.
    EXPECT_THROW(ctx.record([&] { return ctx.random(); }), belay::Failure);
    co_return "";
}

// TA-3: limits throw at the call; changes go into the ack in their order.
TEST(State, ValuesAndLimits) {
    Driver d = started(&sets);
    const json mutations = d.metadata().at("kv_mutations");
    EXPECT_EQ(mutations.at(0).at("action"), "set");
    EXPECT_EQ(mutations.at(1).at("action"), "clear_all");
    EXPECT_EQ(mutations.at(2).at("value"), "two");
    EXPECT_EQ(mutations.at(3), json::parse(R"({"action":"clear_key","key":"c"})"));
    EXPECT_EQ(d.last.decision.events.size(), 1u + 4 + 149 + 1 + 1);
}

Durable<std::string> retries(Context ctx, std::string input) {
    auto retry = belay::Retry(3).backoff(100ms, 2.0, 150ms);
    if (input == "attempt timeout") {
        retry = std::move(retry).attempt_timeout(1s);
    } else if (input.starts_with("total timeout")) {
        retry = std::move(retry).total_timeout(50ms);
    } else if (input == "predicate") {
        retry = std::move(retry).only_if([](const belay::Failure&) { return false; });
    }
    std::string text = co_await ctx.retry(step, input, retry);
    co_return text;
}

// RT-1, RT-2: attempts, delays, timeouts, what is not tried again.
TEST(Retries, Attempts) {
    struct Case {
        std::string input;
        int failures;
        int runs;
        belay::Milliseconds took;
        std::string end;
    };
    const std::vector<Case> cases = {
        {"at once", 0, 1, 0ms, "ok"},
        {"third", 2, 3, 250ms, "ok"},
        {"never", 9, 3, 250ms, "busy"},
        {"final", 9, 1, 0ms, "final"},
        {"predicate", 9, 1, 0ms, "busy"},
        {"total timeout", 9, 1, 0ms, "busy"},
        {"total timeout of an attempt", 0, 1, 50ms, "activity \"Step\" took longer than 50 ms"},
        {"attempt timeout", 0, 3, 3250ms, "activity \"Step\" took longer than 1000 ms"},
    };
    for (const auto& c : cases) {
        World world;
        world.on(code, &retries);
        int runs = 0;
        world.on(step, [&](std::string input) {
            ++runs;
            if (input.ends_with("attempt timeout") || input.ends_with("of an attempt")) {
                world.sleep(10s);
            }
            if (runs <= c.failures) {
                throw belay::Failure(input == "final" ? "final" : "busy", input != "final");
            }
            return std::string("ok");
        });
        const auto began = world.now();
        auto started = world.start(code, c.input);
        std::string end;
        try {
            end = started.result();
        } catch (const belay::Failure& failure) {
            end = failure.what();
        }
        EXPECT_EQ(end, c.end) << c.input;
        EXPECT_EQ(runs, c.runs) << c.input;
        EXPECT_EQ(world.now() - began, c.took) << c.input;
        world.torture();
    }
    EXPECT_THROW(belay::Retry(0), std::invalid_argument);
}

std::optional<Context> kept;

Durable<std::string> leaks_context(Context ctx, std::string) {
    kept.emplace(ctx);  // Also by the replay that compares.
    std::string text = co_await ctx.call(step, "x");
    co_return text;
}

// LT-7: a context outside of its instance throws.
TEST(Context, UsedOutside) {
    Driver d = started(&leaks_context, true);
    EXPECT_THROW(kept->now(), std::logic_error);
    d.crash();
    EXPECT_THROW(static_cast<void>(kept->call(step, "y")), std::logic_error);
    EXPECT_THROW(static_cast<void>(retries(*kept, "x")), std::logic_error);
    kept.reset();
}

Durable<std::string> logs(Context ctx, std::string) {
    ctx.log("one");
    std::string text = co_await ctx.call(step, "x");
    ctx.log("two");
    EXPECT_GT(ctx.history_size(), 2);
    EXPECT_FALSE(ctx.replaying());
    co_return text;
}

Durable<std::string> waits_often(Context ctx, std::string) {
    for (int i = 0; i < 10; ++i) {
        std::string text = co_await ctx.call(step, "x");
    }
    co_return "";
}

// TH-4, RY-10: logs are not repeated by a replay. SB-5: long histories are told once.
TEST(Context, Logs) {
    Driver d;
    d.options.verify = false;
    std::string told;
    d.options.history_warning = 1;
    d.options.hook = [&](const belay::RuntimeEvent& event) {
        using Kind = belay::RuntimeEvent::Kind;
        if (event.kind == Kind::kLog) {
            told += event.text + " ";
        } else {
            told += event.kind == Kind::kStarted       ? "started "
                    : event.kind == Kind::kEnded       ? "ended "
                    : event.kind == Kind::kLongHistory ? "long "
                                                       : "? ";
        }
    };
    d.registry.on(code, &logs);
    d.turn({start("Code")});
    EXPECT_EQ(told, "started one long ");
    d.turn({completed(2, "")});
    EXPECT_EQ(told, "started one long two ended ");
}

// SB-5: a long history is reported by the turn that crosses the limit, and by no replay of it.
TEST(Context, LongHistoryOnce) {
    for (const bool cached : {false, true}) {
        int reported = 0;
        Driver d;
        d.cached = cached;
        d.options.history_warning = 5;
        d.options.hook = [&](const belay::RuntimeEvent& event) {
            reported += event.kind == belay::RuntimeEvent::Kind::kLongHistory;
        };
        d.registry.on(code, &waits_often);
        d.turn({start("Code", "x")});
        d.turn({completed(2, "")});
        EXPECT_EQ(reported, 0);
        for (int id = 4; id <= 12; id += 2) {
            d.turn({completed(id, "")});
            EXPECT_EQ(reported, 1) << id;
        }
    }
}

Durable<std::string> records_much(Context ctx, std::string) {
    const std::string most = ctx.record([] { return std::string(65536, 'x'); });
    // Recorded as a failure, as what the function throws is: a replay meets it again.
    EXPECT_THROW(ctx.record([] { return std::string(65537, 'x'); }), belay::Failure);
    std::string text = co_await ctx.call(step, "x");
    co_return std::to_string(most.size()) + text;
}

// DT-4, TA-3: at most 64 KiB are recorded.
TEST(Values, RecordedValueIsLimited) {
    Driver d = started(&records_much);
    EXPECT_EQ(d.event(2).at("key"), "belay:failure");
    d.turn({completed(4, "!")});
    EXPECT_EQ(d.metadata().at("output"), "65536!");
}

// Their characters have two bytes and begin at an odd place, so that the limit is within one.
const std::string kLongText = "x" + [] {
    std::string text;
    for (int i = 0; i < 40000; ++i) {
        text += "\u00e9";
    }
    return text;
}();

Durable<std::string> records_failure(Context ctx, std::string input) {
    std::string what;
    try {
        ctx.record(
            [&] { throw std::runtime_error(input == "long" ? kLongText : "no UTF-8: \xff"); });
    } catch (const belay::Failure& failure) {
        what = failure.what();
    }
    std::string text = co_await ctx.call(step, "x");
    co_return std::to_string(what.size()) + what.substr(0, 13);
}

// DT-4: what is recorded of a failure is text that the server takes, now and in a replay.
TEST(Values, RecordedFailureIsUtf8) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"long", kLongText.substr(0, 65535)}, {"bytes", "no UTF-8: \uFFFD"}};
    for (const auto& [input, kept] : cases) {
        Driver d;
        d.registry.on(code, &records_failure);
        d.turn({start("Code", input)});
        EXPECT_EQ(d.event(1).at("key"), "belay:failure");
        EXPECT_EQ(d.event(1).at("value"), kept);
        d.turn({completed(3, "")});
        EXPECT_EQ(d.metadata().at("output"), std::to_string(kept.size()) + kept.substr(0, 13));
    }
}

// DT-4: an ack that is lost takes the recorded value with it, and it is made again.
TEST(Values, RecordAfterLostAck) {
    recorded_runs = 0;
    World world;
    world.verify_replay(false);
    world.on(code, &draws);
    std::string recorded;
    world.on(step, [&](std::string input) {
        recorded = input;
        return std::string();
    });
    auto started = world.start(code, std::string("x"), "i");
    world.step();  // the first turn
    world.step();  // the first activity
    world.fail_ack_once();
    started.result();
    EXPECT_EQ(recorded_runs, 2);
    EXPECT_EQ(recorded, "2");  // What is stored is what the code has seen.
}

Durable<std::string> retries_with_jitter(Context ctx, std::string) {
    std::string text = co_await ctx.retry(step, "x", belay::Retry(3).backoff(1s, 1.0).jitter(0.5));
    co_return text;
}

// RT-1: jitter shortens delays by a part that is drawn from the instance's random numbers, so that
// a replay has the same.
TEST(Retries, Jitter) {
    std::set<std::int64_t> delays;
    for (int i = 0; i < 20; ++i) {
        World world;
        world.on(code, &retries_with_jitter);
        int runs = 0;
        world.on(step, [&](std::string) -> std::string {
            if (++runs < 3) {
                throw belay::Failure("busy");
            }
            return "ok";
        });
        const std::string id = "i" + std::to_string(i);
        world.start(code, std::string("x"), id).result();
        belay::testing::Replayer replayer;
        replayer.on(code, &retries_with_jitter);
        replayer.strict();
        const auto report = replayer.replay(world.history(id));
        EXPECT_TRUE(report.ok) << report.text;
        for (const std::string& text : world.events(id)) {
            const json event = json::parse(text);
            if (event.at("type") == "TimerCreated") {
                delays.insert(event.at("fire_at_ms").get<std::int64_t>() -
                              event.at("timestamp_ms").get<std::int64_t>());
            }
        }
    }
    EXPECT_GT(delays.size(), 10u);
    EXPECT_GE(*delays.begin(), 500);
    EXPECT_LE(*delays.rbegin(), 1000);
    EXPECT_THROW(belay::Retry(2).jitter(1.5), std::invalid_argument);
}

// PY-1, PY-2: texts of values.
TEST(Payload, TextAndBack) {
    using belay::detail::decode;
    using belay::detail::encode;
    EXPECT_EQ(encode(std::string("a \"b\"")), "a \"b\"");
    EXPECT_EQ(encode(json{{"b", 1}, {"a", "\u00e9\n"}}), "{\"a\":\"\u00e9\\n\",\"b\":1}");
    EXPECT_EQ(encode(json("text")), "text");
    EXPECT_EQ(encode(true), "true");
    // A string stays a string, also where the type of its reader does not say so.
    for (const char* const text : {"123", "true", "null", "{}", "[1]", " 7 ", "\"quoted\""}) {
        EXPECT_EQ(decode<json>(encode(json(text)), ""), json(text)) << text;
        EXPECT_EQ(decode<std::string>(encode(json(text)), ""), text);
        EXPECT_EQ(decode<std::string>(encode(std::string(text)), ""), text);
    }
    EXPECT_EQ(encode(json("123")), "\"123\"");
    EXPECT_EQ(encode(std::string("123")), "123");
    EXPECT_EQ(decode<std::string>("12", ""), "12");
    EXPECT_EQ(decode<std::string>("", ""), "");
    EXPECT_EQ(decode<std::string>("\"quoted\"", ""), "quoted");
    EXPECT_EQ(decode<std::string>(std::string("a\0b", 3), ""), std::string("a\0b", 3));
    EXPECT_EQ(decode<int>("12", ""), 12);
    EXPECT_EQ(decode<json>("no json", ""), json("no json"));
    EXPECT_THROW(decode<int>("x", "this"), belay::DecodeError);
    try {
        decode<int>(std::string(100, 'y'), "result of activity \"A\"");
    } catch (const belay::DecodeError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "result of activity \"A\" is no int: " + std::string(80, 'y'));
    }
    // Not in the middle of a character.
    try {
        decode<int>(std::string(79, 'y') + "\u00e9", "x");
    } catch (const belay::DecodeError& error) {
        EXPECT_EQ(std::string(error.what()), "x is no int: " + std::string(79, 'y'));
    }
}

}  // namespace
